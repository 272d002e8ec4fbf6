"""Disputed units one by one, each with every annotator's own label of it, against loops over the documents."""

from __future__ import annotations

from collections import Counter

import fiftyone as fo
import pytest

from tests.dataset_io.quick_runs import ANNOTATORS, LISTS, compute_quickly, refused
from tests.dataset_io.shaped import polygon, rectangle, shapes_dataset
from tests.dataset_io.unit_oracle import documents_of, facts_of, units_of
from tests.datasets import frames_of, random_annotators, stored

from annotator_agreement.dataset_io import add_units, agreement_patches
from annotator_agreement.dataset_io.record import run
from annotator_agreement.dataset_io.units import DISPUTED


def _made(make_dataset):
    dataset = make_dataset(random_annotators(20, seed=4))
    compute_quickly(dataset)
    add_units(dataset)
    return dataset


@pytest.fixture
def dataset(lend):
    return lend(_made)


def _shown(patch):
    return {name: [label.id for label in patch[name].detections] for name in ANNOTATORS
            if patch[name] is not None and patch[name].detections}  # fmt: skip


def _ids(members):
    return {name: [str(label["_id"])] for name, label in members.items()}


def test_every_disputed_unit_is_a_patch_with_its_own_labels_alone_the_worst_first_also_as_a_saved_view(dataset):
    rank, every = {verdict: k for k, verdict in enumerate(DISPUTED)}, []
    for document in documents_of(dataset):
        n_assigned = sum(document.get(name) is not None for name in ANNOTATORS)
        for unit_id, members in units_of(document, LISTS).items():
            facts = facts_of(members, n_assigned)
            every.append((facts["verdict"], facts["votes"] / n_assigned, facts["mean_iou"] or 0.0, unit_id, members))
    disputed = sorted((each for each in every if each[0] in DISPUTED), key=lambda each: (rank[each[0]], *each[1:4]))
    assert (len(disputed) > 20, disputed[0][0]) == (True, "class_conflict")
    worst = agreement_patches(dataset, max_units=9)
    dataset.save_view("worst", worst)
    saved = fo.load_dataset(dataset.name).load_saved_view("worst")
    again = fo.DatasetView._build(dataset, worst._serialize())
    for view, n in ((agreement_patches(dataset), None), (worst, 9), (saved, 9), (again, 9)):
        found = [(patch.agreement_units.unit, _shown(patch)) for patch in view]
        assert found == [(unit_id, _ids(members)) for *_, unit_id, members in disputed[:n]]
    counted = Counter(each[0] for each in every)
    for verdict in ("agreed", "missed", ["lone", "class_conflict"]):
        wanted = [verdict] if isinstance(verdict, str) else verdict
        found = agreement_patches(dataset, verdict=verdict).count_values("agreement_units.verdict")
        assert found == {name: counted[name] for name in wanted}


@pytest.mark.long
def test_a_view_shows_the_units_of_its_samples(dataset):
    part = dataset.limit(5)
    view = agreement_patches(part)
    assert set(view.values("sample_id")) <= set(part.values("id"))
    verdicts = part.values("agreement_units.detections.verdict", unwind=True)
    assert len(view) == sum(verdict in DISPUTED for verdict in verdicts)
    hidden = agreement_patches(dataset.filter_labels("alice", fo.ViewField("label") == "cat", only_matches=False))
    assert len(hidden) == len(agreement_patches(dataset))
    assert set(hidden.distinct("alice.detections.label")) == {"cat"}


def test_edits_and_tags_of_the_units_label_arrive_at_the_dataset(dataset):
    n_units, view = dataset.count("agreement_units.detections"), agreement_patches(dataset)
    patch = view.first()
    patch.agreement_units.label = "decided"
    patch.save()
    view.limit(1).tag_labels("settled", label_fields="agreement_units")
    dataset.reload()
    found = dataset.filter_labels("agreement_units", fo.ViewField("label") == "decided")
    assert found.values("agreement_units.detections.unit") == [[patch.agreement_units.unit]]
    assert dataset.count_label_tags("agreement_units") == {"settled": 1}
    assert dataset.count("agreement_units.detections") == n_units


def test_polylines_and_keypoints_are_patches_too(make_dataset):
    places, points = {"alice": (3, 2, 12, 9), "bob": (4, 2, 12, 9)}, [[0.1, 0.2], [0.2, 0.2], [0.2, 0.6]]
    polygons = {name: [polygon(rectangle(*place), label=name)] for name, place in places.items()}
    dataset = shapes_dataset(make_dataset, polygons)
    for name in places:
        pose = fo.Keypoint(label=name, points=points)
        dataset.set_values(f"{name}_pose", [fo.Keypoints(keypoints=[pose])])
    for key, ending, kind in (("polygons", "", "polylines"), ("poses", "_pose", "keypoints")):
        fields = [f"{name}{ending}" for name in places]
        compute_quickly(dataset, fields, run_key=key)
        add_units(dataset, key)
        (patch,) = agreement_patches(dataset, key)
        assert [patch[name][kind][0].label for name in fields] == ["alice", "bob"]


def test_units_of_temporal_detections_are_clips(make_videos):
    dataset = make_videos([{}])
    sample = dataset.first()
    spans = {"alice": [("run", [3, 20]), ("sit", [40, 60])], "bob": [("jump", [4, 23])], "carol": [("run", [3, 21])]}
    for name, of in spans.items():
        labels = [fo.TemporalDetection(label=label, support=support) for label, support in of]
        sample[name] = fo.TemporalDetections(detections=labels)
    sample.save()
    compute_quickly(dataset, ANNOTATORS)
    add_units(dataset)
    view = agreement_patches(dataset)
    assert [clip.support for clip in view] == [[3, 21], [40, 60]]
    assert [_shown(clip).keys() for clip in view] == [set(ANNOTATORS), {"alice"}]
    clip = view.first()
    clip.agreement_units.label = "decided"
    clip.save()
    dataset.reload()
    assert dataset.values("agreement_units.detections.label", unwind=True) == ["decided", "sit"]
    assert dataset.values("agreement_units.detections.support", unwind=True)[:2] == [3, 21]


@pytest.mark.long
def test_units_of_frames_are_patches_of_frames(make_videos):
    labels = random_annotators(6, seed=5)
    dataset = make_videos([{name: frames_of(*labels[name]) for name in ANNOTATORS}] * 2)
    compute_quickly(dataset, [f"frames.{name}" for name in ANNOTATORS])
    add_units(dataset)
    expected = {}
    for document in dataset._frame_collection.find({}):
        for unit_id, members in units_of(document, LISTS).items():
            if facts_of(members, 3)["verdict"] in DISPUTED:
                expected[unit_id] = _ids(members)
    view = agreement_patches(dataset)
    assert {patch.agreement_units.unit: _shown(patch) for patch in view} == expected
    patch = view.first()
    patch.agreement_units.label = "decided"
    patch.save()
    dataset.reload()
    assert dataset.count_values("frames.agreement_units.detections.label")["decided"] == 1


def test_units_must_be_made_first_and_arguments_that_cannot_be_used_are_refused(make_dataset):
    dataset = make_dataset()
    compute_quickly(dataset, ANNOTATORS)
    before = stored(dataset)
    refused(r"must be written first: run\.objects\.write\(\)", agreement_patches, dataset)
    assert stored(dataset) == before
    add_units(dataset)
    run.Run(dataset, "agreement").update(derived_fields={"_units": {"status": "running"}})
    refused("must be complete, got the status 'running'; write them again", agreement_patches, dataset)
    add_units(dataset)
    assert len(agreement_patches(dataset)) == 3
    message = "The view must have the field `agreement_units`"
    refused(message, agreement_patches, dataset.exclude_fields("agreement_units"))
    for options, message in (
        ({"verdict": "wrong"}, "`verdict` must be one of agreed, class_conflict, .*, got 'wrong'"),
        ({"verdict": []}, r"`verdict` must be a verdict, or a list of them, got \[\]"),
        ({"verdict": 3}, "`verdict` must be a verdict, or a list of them, got 3"),
        ({"max_units": 0}, "`max_units` must be None or at least 1, got 0"),
        ({"max_units": True}, "`max_units` must be None or at least 1, got True"),
        ({"run_key": "nobody"}, "`run_key` must be an agreement run"),
    ):
        refused(message, agreement_patches, dataset, **options)
    alike = make_dataset({name: [[("cat", (0.1, 0.1, 0.4, 0.3))]] for name in ANNOTATORS})
    compute_quickly(alike)
    add_units(alike)
    assert len(agreement_patches(alike)) == 0
