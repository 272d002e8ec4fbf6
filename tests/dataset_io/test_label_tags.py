"""Tags on the annotators' own labels from any view of them, where FiftyOne itself tags only its copy."""

from __future__ import annotations

from collections import Counter

import fiftyone as fo
import pytest
from bson import ObjectId
from fiftyone import ViewField as F

from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly
from tests.dataset_io.unit_oracle import documents_of
from tests.datasets import detections, random_annotators, stored, user_values

from annotator_agreement import (
    AgreementInputError,
    agreement_patches,
    compute_agreement,
    tag_agreement_labels,
    view_agreement,
)


def _made(make_dataset):
    dataset = make_dataset(random_annotators(20, seed=4))
    compute_quickly(dataset, units=True)
    return dataset


@pytest.fixture
def dataset(lend):
    return lend(_made)


def _tagged(dataset, tag="needs_review"):
    """``(field, label id)`` of all labels with a tag, as the database has them."""
    return {
        (name, str(label["_id"]))
        for document in documents_of(dataset)
        for name in ANNOTATORS
        for label in (document.get(name) or {}).get("detections") or []
        if tag in (label.get("tags") or [])
    }


def _shown(view):
    """``(field, label id)`` of all labels of a view, read with FiftyOne."""
    return {
        (name, label.id)
        for sample in view
        for name in ANNOTATORS
        if sample.has_field(name) and sample[name] is not None
        for label in sample[name].detections
    }


# ---- what FiftyOne does by itself: if this changes, so can we ----


def test_fiftyone_does_not_sync_tags_on_other_fields_of_a_patches_view(dataset):
    view = agreement_patches(dataset)
    view.tag_labels("from_patches", label_fields=["alice", "agreement_units"])
    dataset.reload()
    assert view.count_label_tags("alice") != {}
    assert dataset.count_label_tags("alice") == {}
    assert dataset.count_label_tags("agreement_units") == {"from_patches": len(view)}


def test_fiftyone_does_not_sync_edits_of_other_fields_of_a_patches_view(dataset):
    before = user_values(dataset, ["agreement"])
    patch = agreement_patches(dataset, verdict="lone").match(F("alice.detections").length() > 0).first()
    patch.alice.detections[0].label = "edited"
    patch.alice.detections[0].tags.append("edited")
    patch.save()
    dataset.reload()
    assert user_values(dataset, ["agreement"]) == before


# ---- labels ----


def test_the_labels_of_a_patches_view_are_tagged_in_the_dataset(dataset):
    before = user_values(dataset, ["agreement"])
    view = agreement_patches(dataset, max_units=5)
    expected = _shown(view)
    assert tag_agreement_labels(view) == len(expected) > 5
    assert _tagged(dataset) == expected
    assert dataset.count_label_tags(ANNOTATORS) == {"needs_review": len(expected)}
    assert {tag for patch in view for name in ANNOTATORS if patch[name] for label in patch[name].detections
            for tag in label.tags} == {"needs_review"}  # fmt: skip
    assert tag_agreement_labels(view, remove=True) == len(expected)
    assert _tagged(dataset) == set()
    assert user_values(dataset, ["agreement"]) == before


def test_only_the_labels_of_some_annotators_are_tagged(dataset):
    view = agreement_patches(dataset)
    tag_agreement_labels(view, annotators="alice", tag="for alice")
    tag_agreement_labels(view, annotators=["bob", "carol"], tag="for others")
    shown = _shown(view)
    assert _tagged(dataset, "for alice") == {entry for entry in shown if entry[0] == "alice"}
    assert _tagged(dataset, "for others") == {entry for entry in shown if entry[0] != "alice"}


def test_only_selected_labels_are_tagged(dataset):
    view = agreement_patches(dataset)
    chosen = sorted(_shown(view))[::3]
    tag_agreement_labels(view, selected=[label_id for _, label_id in chosen])
    assert _tagged(dataset) == set(chosen)
    tag_agreement_labels(dataset, selected=[chosen[0][1]], remove=True)
    assert _tagged(dataset) == set(chosen[1:])


def test_fields_that_were_cloned_share_label_ids_and_are_told_apart(make_dataset):
    dataset = make_dataset({"alice": [[("cat", (0.1, 0.1, 0.2, 0.4)), ("dog", (0.5, 0.5, 0.3, 0.2))]]})
    dataset.clone_sample_field("alice", "bob")
    dataset.add_sample_field("carol", fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    compute_agreement(dataset, ["alice", "bob"], resamples=0)
    first, second = dataset.first().alice.detections
    assert dataset.first().bob.detections[0].id == first.id
    assert tag_agreement_labels(dataset, selected={"bob": [first.id]}) == 1
    assert _tagged(dataset) == {("bob", first.id)}
    assert tag_agreement_labels(dataset, selected=[second.id], tag="both") == 2
    assert tag_agreement_labels(dataset, selected={}, tag="nothing") == 0
    with pytest.raises(AgreementInputError, match="`selected` must be labels of alice, bob, got labels of 'carol'"):
        tag_agreement_labels(dataset, selected={"carol": [first.id]})


def test_labels_in_patches_that_fiftyone_makes_of_them_are_tagged(dataset):
    shown = {("alice", label_id) for ids in dataset.values("alice.detections.id") for label_id in ids or []}
    view = dataset.to_patches("alice", other_fields=["bob"]).limit(5)
    own = {("alice", patch.alice.id) for patch in view}
    others = {("bob", label.id) for patch in view if patch.bob for label in patch.bob.detections}
    assert len(own) == 5
    assert own < shown
    assert tag_agreement_labels(view, annotators="alice") == 5
    assert _tagged(dataset) == own
    assert all(patch.alice.tags == ["needs_review"] for patch in view)
    assert tag_agreement_labels(view, tag="every") == len(own | others) > 5
    assert _tagged(dataset, "every") == own | others


def test_clips_that_fiftyone_makes_of_temporal_detections_are_tagged(make_videos):
    dataset = make_videos([{"alice": [None] * 9}], size=(20, 10))
    for name in ("ann", "bob"):
        spans = [fo.TemporalDetection(label="run", support=[1, 4]), fo.TemporalDetection(label="jump", support=[5, 9])]
        dataset.set_values(name, [fo.TemporalDetections(detections=spans)])
    compute_agreement(dataset, ["ann", "bob"], resamples=0)
    view = dataset.to_clips("ann").limit(1)
    assert tag_agreement_labels(view) == 1
    (first, second) = dataset.reload() or dataset.first().ann.detections
    assert (first.tags, second.tags) == (["needs_review"], [])


def test_read_only_labels_stay_as_they_are(dataset):
    field = dataset.get_field("alice")
    field.read_only = True
    field.save()
    before = stored(dataset)
    with pytest.raises(AgreementInputError, match="must not be read-only, got alice"):
        tag_agreement_labels(dataset)
    assert stored(dataset) == before
    assert tag_agreement_labels(dataset, annotators="bob") > 0


def test_a_selection_of_patches_is_a_view_like_any_other(dataset):
    view = agreement_patches(dataset)
    part = view.select(view.values("id")[2:4])
    tag_agreement_labels(part)
    assert _tagged(dataset) == _shown(part)


def test_the_labels_of_a_view_of_samples_are_tagged(dataset):
    view = view_agreement(dataset, verdict="missed")
    assert tag_agreement_labels(view) == len(_shown(view))
    assert _tagged(dataset) == _shown(view)


def test_labels_that_the_run_did_not_compare_are_not_tagged(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset.limit(1), ANNOTATORS, resamples=0)
    assert tag_agreement_labels(dataset) == 6
    assert _tagged(dataset) == _shown(dataset.limit(1))


def test_a_tag_is_given_once_and_keeps_those_that_are_there(dataset):
    sample = next(iter(dataset.match(F("alice.detections").length() > 0)))
    sample.alice.detections[0].tags = ["first", "$odd"]
    sample.save()
    for _ in range(2):
        tag_agreement_labels(dataset, tag="$later.on")
    label = next(entry for entry in documents_of(dataset) if str(entry["_id"]) == sample.id)["alice"]["detections"][0]
    assert label["tags"] == ["first", "$odd", "$later.on"]
    tag_agreement_labels(dataset, tag="$odd", remove=True)
    label = next(entry for entry in documents_of(dataset) if str(entry["_id"]) == sample.id)["alice"]["detections"][0]
    assert label["tags"] == ["first", "$later.on"]


@pytest.mark.parametrize("tags", [None, "missing"])
def test_labels_without_a_list_of_tags_get_one(dataset, tags):
    update = {"$unset": {"bob.detections.$[].tags": ""}} if tags else {"$set": {"bob.detections.$[].tags": None}}
    dataset._sample_collection.update_many({"bob.detections.0": {"$exists": True}}, update)
    tag_agreement_labels(dataset, annotators="bob")
    assert _tagged(dataset) == {entry for entry in _shown(dataset) if entry[0] == "bob"}


@pytest.mark.parametrize("remove", [False, True])
@pytest.mark.parametrize("tags", ["needs_review", "text", 5, {"a": 1}], ids=repr)
def test_what_is_no_list_of_tags_is_left_as_it_is(dataset, tags, remove):
    n_labels, n_samples = (tag_agreement_labels(dataset, tag="x", on=on) for on in ("labels", "samples"))
    first = next(entry for entry in documents_of(dataset) if entry["alice"] and entry["alice"]["detections"])
    path = "alice.detections.0.tags"
    dataset._sample_collection.update_one({"_id": first["_id"]}, {"$set": {path: tags, "tags": tags}})
    patches = agreement_patches(dataset)
    assert tag_agreement_labels(dataset, remove=remove) == n_labels - 1
    tag_agreement_labels(patches, remove=remove)
    assert tag_agreement_labels(dataset, on="samples", remove=remove) == n_samples - 1
    changed = dataset._sample_collection.find_one({"_id": first["_id"]})
    assert (changed["tags"], changed["alice"]["detections"][0]["tags"]) == (tags, tags)


def test_labels_whose_id_is_none_are_skipped(dataset):
    n_labels = tag_agreement_labels(dataset)
    first = next(entry for entry in documents_of(dataset) if entry["alice"] and entry["alice"]["detections"])
    dataset._sample_collection.update_one({"_id": first["_id"]}, {"$set": {"alice.detections.0._id": [1]}})
    assert tag_agreement_labels(dataset) == n_labels - 1


def test_a_label_deleted_meanwhile_does_not_shift_the_tag(dataset):
    view = agreement_patches(dataset, verdict="class_conflict")
    expected = _shown(view)
    deleted = sorted(entry for entry in expected if entry[0] == "alice")[0]
    dataset._sample_collection.update_many({}, {"$pull": {"alice.detections": {"_id": ObjectId(deleted[1])}}})
    tag_agreement_labels(view)
    assert _tagged(dataset) == expected - {deleted}


def test_of_one_field_the_labels_of_one_annotator_are_tagged(make_dataset):
    dataset = make_dataset({})
    place = [0.1, 0.1, 0.4, 0.3]
    labels = [fo.Detection(label=name, bounding_box=place, rater=name) for name in ("ann", "bea", "eva")]
    dataset.add_samples([fo.Sample("1.jpg", labels=fo.Detections(detections=labels))], dynamic=True)
    compute_agreement(dataset, "labels", annotator_attribute="rater", resamples=0, units=True)
    assert tag_agreement_labels(agreement_patches(dataset), annotators=["ann", "eva"]) == 2
    assert dataset.values("labels.detections.tags") == [[["needs_review"], [], ["needs_review"]]]


def test_labels_on_frames_are_tagged_from_patches_and_from_videos(make_videos):
    videos = [random_annotators(5, seed=seed) for seed in (5, 6)]
    dataset = make_videos([{name: [detections(entry) for entry in of[name]] for name in ANNOTATORS} for of in videos])
    compute_agreement(dataset, [f"frames.{name}" for name in ANNOTATORS], resamples=0, units=True)

    def tagged():
        return {
            (name, str(label["_id"]))
            for document in dataset._frame_collection.find({})
            for name in ANNOTATORS
            for label in (document.get(name) or {}).get("detections") or []
            if "needs_review" in label["tags"]
        }

    view = agreement_patches(dataset, max_units=6)
    assert tag_agreement_labels(view) == len(_shown(view))
    assert tagged() == _shown(view)
    tag_agreement_labels(dataset, remove=True)
    assert tagged() == set()
    lone = view_agreement(dataset, verdict="lone")
    assert tag_agreement_labels(lone) == len(tagged()) == len(agreement_patches(dataset, verdict="lone")) > 0
    tag_agreement_labels(dataset, remove=True)
    frames = dataset.to_frames(sample_frames="dynamic", sparse=True).limit(2)
    assert tag_agreement_labels(frames) == len(_shown(frames)) > 0
    assert {label_id for _, label_id in tagged()} == {label_id for _, label_id in _shown(frames)}


def test_temporal_detections_are_tagged_from_clips(make_videos):
    dataset = make_videos([{}])
    sample = dataset.first()
    for name, label in {"alice": "run", "bob": "jump"}.items():
        sample[name] = fo.TemporalDetections(detections=[fo.TemporalDetection(label=label, support=[3, 20])])
    sample.save()
    compute_agreement(dataset, ["alice", "bob"], resamples=0, units=True)
    assert tag_agreement_labels(agreement_patches(dataset)) == 2
    assert dataset.values("bob.detections.tags") == [[["needs_review"]]]


def test_single_labels_are_tagged_too(make_dataset):
    dataset = make_dataset({})
    dataset.add_samples(
        [
            fo.Sample("1.jpg", a=fo.Classification(label="x"), b=fo.Classification(label="y", tags=["old"])),
            fo.Sample("2.jpg", a=fo.Classification(label="x")),
        ]
    )
    compute_agreement(dataset, ["a", "b"])
    assert tag_agreement_labels(dataset, annotators="b") == 1
    assert tag_agreement_labels(view_agreement(dataset, verdict="class_conflict"), tag="conflict") == 2
    assert (dataset.values("a.tags"), dataset.values("b.tags")) == (
        [["conflict"], []],
        [["old", "needs_review", "conflict"], None],
    )
    assert stored(dataset)["samples"][1].count("tags") == 2  # the sample's and a's


# ---- samples ----


def test_the_samples_of_a_view_are_tagged(dataset):
    view = view_agreement(dataset, verdict="class_conflict")
    assert tag_agreement_labels(view, on="samples") == len(view)
    assert dataset.match_tags("needs_review").values("id") == sorted(view.values("id"))
    assert _tagged(dataset) == set()
    tag_agreement_labels(dataset, on="samples", remove=True)
    assert dataset.count_sample_tags() == {}


def test_the_samples_with_labels_of_one_annotator_are_tagged(make_dataset):
    dataset = make_dataset({"alice": [[("cat", (0.1, 0.1, 0.4, 0.3))], None], "bob": [[], []]})
    compute_quickly(dataset, ["alice", "bob"])
    assert tag_agreement_labels(dataset, on="samples", annotators="alice") == 1
    assert dataset.values("tags") == [["needs_review"], []]


def test_samples_that_are_grouped_by_a_field_are_refused(dataset):
    before = stored(dataset)
    for options in ({}, {"on": "samples"}):
        with pytest.raises(AgreementInputError, match="grouped by a field; pass the view that it was made from"):
            tag_agreement_labels(dataset.group_by("filepath"), **options)
    with pytest.raises(AgreementInputError, match="grouped by a field; pass the view that it was made from"):
        agreement_patches(dataset.group_by("filepath"))
    assert stored(dataset) == before


def test_the_samples_of_selected_labels_are_tagged(dataset):
    chosen = dataset.match(F("bob.detections").length() > 1).first()
    assert tag_agreement_labels(dataset, on="samples", selected={"bob": [chosen.bob.detections[1].id]}) == 1
    assert dataset.match_tags("needs_review").values("id") == [chosen.id]


def test_the_samples_of_patches_are_tagged(dataset):
    view = agreement_patches(dataset, max_units=6)
    ids = set(view.values("sample_id"))
    assert tag_agreement_labels(view, on="samples", tag="look") == len(ids)
    assert set(dataset.match_tags("look").values("id")) == ids
    assert Counter(view.values("tags", unwind=True)) == {"look": 6}


def test_the_videos_of_frames_are_tagged(make_videos):
    place = (0.1, 0.1, 0.4, 0.3)
    conflict = {"alice": [detections([("cat", place)])], "bob": [detections([("dog", place)])]}
    agreed = {name: [detections([("cat", place)])] for name in ("alice", "bob")}
    dataset = make_videos([agreed, conflict])
    compute_agreement(dataset, ["frames.alice", "frames.bob"], resamples=0, units=True)
    assert tag_agreement_labels(agreement_patches(dataset), on="samples") == 1
    assert dataset.values("tags") == [[], ["needs_review"]]


# ---- bad input ----


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tag": ""}, "`tag` must be a text, got ''"),
        ({"tag": None}, "`tag` must be a text, got None"),
        ({"on": "everything"}, "`on` must be one of labels, samples, got 'everything'"),
        ({"remove": "yes"}, "`remove` must be True or False, got 'yes'"),
        ({"annotators": "eve"}, "`annotators` must name annotators of the run"),
        ({"annotators": 5}, "`annotators` must be a name, or a list of names, got 5"),
        ({"annotators": ["alice", None]}, "`annotators` must be a name, or a list of names"),
        ({"selected": [None]}, "`selected` must be ids of labels"),
        ({"selected": ["no id"]}, "`selected` must be ids of labels"),
        ({"run_key": "nobody"}, "`run_key` must be an agreement run"),
    ],
)
def test_unusable_arguments_are_refused_before_anything_is_written(dataset, options, message):
    before = stored(dataset)
    with pytest.raises(AgreementInputError, match=message):
        tag_agreement_labels(dataset, **options)
    assert stored(dataset) == before


def test_a_view_must_show_labels_of_the_run(dataset):
    with pytest.raises(AgreementInputError, match="The view must show labels that the run 'agreement' compared"):
        tag_agreement_labels(dataset.exclude_fields(ANNOTATORS))
