"""What cannot be computed is refused in one clear sentence, and nothing is written."""

from __future__ import annotations

import io
from itertools import permutations

import fiftyone as fo
import pandas as pd
import pytest
from fiftyone import ViewField as F

from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, refused, refused_run
from tests.datasets import detections, join_fields, stored

from annotator_agreement import dataset_io
from annotator_agreement.dataset_io import compute_agreement, view_agreement

TWO, RATER = ["alice", "bob"], {"annotator_attribute": "rater"}


def _with_other_fields(make_dataset):
    dataset = make_dataset()
    dataset.add_sample_field("scene", fo.EmbeddedDocumentField, embedded_doc_type=fo.Classification)
    dataset.add_sample_field("place", fo.EmbeddedDocumentField, embedded_doc_type=fo.GeoLocation)
    return dataset


#: fields, options, and what is said of them; of options that need no dataset see tests/agreement/test_config.py
UNFIT = [
    (["alice"], {}, r"needs at least 2 annotators, got 1 \('alice'\)"),
    (["alice", "zoe"], {}, "got 'zoe', which does not exist; label fields are alice, bob, carol"),
    (["alice.detections", "bob"], {}, "got 'alice.detections', which .*; did you mean 'alice'[?]"),
    (["alice", "bobb"], {}, "got 'bobb', which does not exist; did you mean 'bob'[?]; label fields"),
    ("alice, bob", {}, r"got 1 \('alice, bob'\); several fields are a list: \['alice', 'bob'\]"),
    (TWO, {"run_key": "carol"}, "got 'carol': `carol` is a label field of the dataset"),
    (TWO, {"method": "optimum"}, "got 'optimum'; did you mean 'optimal'[?]"),
    (["alice", "filepath"], {}, "got 'filepath' with StringField"),
    (["alice", "place"], {}, r"can be compared \(Detections, Polylines.*\), got 'place' with GeoLocation"),
    (TWO, {"assigned_field": "x"}, "`assigned_field` must be a sample field .* got 'x'"),
    ("alice", {**RATER, "assigned_field": "nowhere"}, "`assigned_field` must be .* got 'nowhere', which does not"),
    ("alice", {**RATER, "assigned_field": "scene"}, "`assigned_field` must be .* got 'scene' with Classification"),
    (TWO, RATER, "must be one label field, got 2"),
    (TWO, {"overwrite": "no"}, "`overwrite` must be True or False, got 'no'"),
    (TWO, {"overwrite": pd.NA}, "`overwrite` must be True or False, got <NA>"),
    *(("alice", {"annotator_attribute": name}, "`annotator_attribute` must be the name of")
      for name in ("", 5, "$rater", "rater.x")),
    *((TWO, {"run_key": key}, "`run_key` must be lower-case letters") for key in ("", "Upper", "a.b", "$set", None)),
    *((TWO, {"run_key": key}, f"`{key}` is a field of Detection; choose")
      for key in ("label", "tags", "bounding_box", "confidence", "index", "mask", "id", "attributes",
                  "clean", "validate", "has_mask", "field_names", "copy", "pk", "instance")),  # methods of labels too
]  # fmt: skip


def test_options_fields_and_keys_that_do_not_fit_are_refused(lend):
    dataset = lend(_with_other_fields)
    before = stored(dataset)
    for fields, options, match in UNFIT:
        refused(match, compute_agreement, dataset, fields, **options)
    assert stored(dataset) == before


def test_what_holds_no_samples_is_refused(make_dataset):
    refused("must be a FiftyOne dataset or view, got list", compute_agreement, [1, 2], ANNOTATORS)
    refused_run("Agreement needs samples, got an empty dataset", make_dataset({"alice": [], "bob": []}), TWO)
    dataset = make_dataset()
    dataset.set_values("scene", ["day", "day", "night", "night", "night"])
    message = "grouped by a field; pass the view that it was made from"
    refused(message, compute_agreement, dataset.group_by("scene"), ANNOTATORS)


def test_annotators_named_by_an_attribute_are_checked(make_dataset):
    dataset = make_dataset()
    for sample in dataset.iter_samples(autosave=True):
        sample["labels"] = detections([("cat", (0, 0, 1, 1))], rater="ann", iscrowd=0)
    others = "got 'annotator', which none of them has; their attributes are (rater, iscrowd|iscrowd, rater)"
    for options, match in (
        ({}, "needs at least 2 annotators, got 1 .'ann'. in the attribute `rater`"),
        ({"annotators": ["ann", "bea"]}, "`annotators` must be found in `rater`, got bea; found are ann"),
        ({"annotator_attribute": "annotator"}, f"must be an attribute of the labels of 'labels', {others}"),
        ({"annotator_attribute": "ratr", "invalid": "skip"}, "got 'ratr', .*; did you mean 'rater'[?]"),
    ):
        refused_run(match, dataset, "labels", **{**RATER, **options})
    both = [fo.Detection(label="cat", bounding_box=[0, 0, 0.5, 0.5], **more) for more in ({"rater": "ann"}, {})]
    dataset.add_samples([fo.Sample(f"/more/{k}.jpg", labels=fo.Detections(detections=[x.copy() for x in both]))
                         for k in range(7)])  # fmt: skip
    without = sorted(labels[1] for labels in dataset.values("labels.detections.id") if len(labels) > 1)
    found = f"got 7 without .*{', '.join(without[:5])}, … .7 in all"
    refused_run(f"must name its annotator in `rater`, {found}", dataset, "labels", **RATER)
    # slips in the names of a list and an annotator; and others do not matter where some are chosen
    dataset.add_sample_field("raters", fo.ListField, subfield=fo.StringField)
    refused_run(r"got 'rater', which does not exist; did you mean 'raters'\?", dataset, TWO, assigned_field="rater")
    join_fields(dataset, TWO, "both")
    options, message = {"annotator_attribute": "annotator"}, r"got bb; did you mean 'bob'\?; found are alice, bob"
    refused_run(message, dataset, "both", **options, annotators=["alice", "bb"])
    bad = detections([("cat", (0, 0, -0.5, 0.5))], annotator="zoe").detections[0].to_dict()
    dataset._sample_collection.update_one({"both.detections.0": {"$exists": True}}, {"$push": {"both.detections": bad}})
    assert compute_quickly(dataset, "both", **options, annotators=TWO).n_rated == 5
    refused_run("got 1 that are not", dataset, "both", **options, run_key="all_of_them")


INSIDE, REACHING_OUT = ("cat", (0.1, 0.1, 0.5, 0.5)), ("cat", (-0.1, 0.7, 0.9, 0.5))
IN_PIXELS = ("cat", (10, 10, 50, 50))
NAN, INFINITE = float("nan"), float("inf")
UNUSABLE_BOXES = [
    [0.1, 0.1, -0.2, 0.4], [0.1, 0.1, 0.2, -0.4], [NAN, 0.1, 0.2, 0.4], [0.1, INFINITE, 0.2, 0.4],
    [0.1, 0.1, INFINITE, 0.4], [0.1, -INFINITE, 0.2, 0.4], [0.1, 0.1, 0.2, NAN], [0.1, 0.1, 0.2],
    [0.1, 0.1, 0.2, 0.4, 0.5], [0.1, "a", 0.2, 0.4], None,
]  # fmt: skip


@pytest.mark.long
def test_unusable_boxes_but_not_flat_ones_are_counted_with_their_samples_unless_a_view_leaves_them_out(make_dataset):
    good, n = [[INSIDE, INSIDE]] * (len(UNUSABLE_BOXES) + 1), len(UNUSABLE_BOXES)
    dataset = make_dataset({"alice": good, "bob": good})
    ids = dataset.values("_id")
    flat = [0.1, 0.1, 0.0, 0.5]  # which is compared
    for sample_id, box in zip(ids, [*UNUSABLE_BOXES, flat], strict=True):
        change = {"$set": {"alice.detections.0.bounding_box": box}}
        dataset._sample_collection.update_one({"_id": sample_id}, change)
    dataset.reload()
    found = f"got {n} that are not, on samples {', '.join(map(str, ids[:5]))}, "
    refused_run(f"{found}.*; correct them, or .* with invalid=", dataset, TWO)
    report = compute_quickly(dataset, TWO, invalid="skip")
    assert (report.run.n_invalid, report.n_objects) == (n, 4 * (n + 1) - n)
    has_verdict = [[each is not None for each in found] for found in dataset.values("alice.detections.agreement")]
    assert has_verdict == [*[[False, True]] * n, [True, True]]
    others = dataset.exclude([str(each) for each in ids[1:-1]]).filter_labels("alice", F("bounding_box")[2] > 0)
    assert compute_quickly(others, TWO, run_key="others").n_rated == 2


def test_boxes_of_which_most_are_in_pixels_are_refused(make_dataset, make_videos):
    dataset = make_dataset({"alice": [[INSIDE], [INSIDE]], "bob": [[INSIDE], [IN_PIXELS, IN_PIXELS]]})
    for invalid in ("error", "skip"):
        message = r"got 2 of 3 in 'bob' outside, such as \[10.*divided by the width"
        refused_run(message, dataset, TWO, invalid=invalid)
    assert compute_quickly(dataset.limit(1), TWO).score.mean == 1.0  # a view without them can be compared
    some = make_dataset({"alice": [[INSIDE, IN_PIXELS], [REACHING_OUT]], "bob": [[INSIDE], [REACHING_OUT]]})
    assert compute_quickly(some, TWO).n_rated == 2
    joined = make_dataset({"labels": [[INSIDE, INSIDE, IN_PIXELS]]})
    joined.set_values("labels.detections.rater", [["a", "b", "c"]], dynamic=True)
    refused_run(r"got 1 of 1 of 'c' in 'labels' outside", joined, "labels", **RATER)
    assert compute_quickly(joined, "labels", **RATER, annotators=["a", "b"]).score.mean == 1.0
    boxes = detections([IN_PIXELS])
    videos = make_videos([{"alice": [boxes, boxes.copy()], "bob": [boxes.copy(), None]}])
    refused_run(r"in 'frames.alice' outside", videos, ["frames.alice", "frames.bob"])


@pytest.mark.long
def test_the_key_of_a_run_and_keys_that_collide_with_it_are_refused(make_dataset):
    dataset = make_dataset()
    for first, second in permutations(["agreement", "agreement_iou"]):
        compute_quickly(dataset, run_key=first)
        refused_run(f"must be new, got '{first}', which is a run of this dataset", dataset, run_key=first)
        message = f"got '{second}': `.*agreement_iou.*` belongs to the run '{first}'"
        refused_run(message, dataset, run_key=second)
        dataset_io.delete_agreement(dataset, first)


def test_fields_of_somebody_else_under_the_key_are_refused_and_cost_no_run(make_dataset):
    for path in ("agreement_score", "agreement_units", "agreement_map", "bob.detections.agreement_of"):
        dataset = make_dataset()
        dataset.add_sample_field(path, fo.StringField)
        for overwrite in (False, True):
            refused_run(f"`{path}` is a field of the dataset; choose another key", dataset, TWO, overwrite=overwrite)
    for path in ("agreement_score", "agreement_units", "bob.detections.0.agreement_votes"):
        dataset = make_dataset()
        dataset._sample_collection.update_one({"_id": dataset.values("_id")[0]}, {"$set": {path: 7}})
        message = f"`{path.replace('.0.', '.')}` exists, undeclared, in the database on 1 samples"
        for overwrite in (False, True):
            refused_run(message, dataset, overwrite=overwrite)
    dataset = make_dataset()
    compute_quickly(dataset, TWO)
    change = {"$set": {"carol.detections.0.agreement_votes": 7}}
    dataset._sample_collection.update_one({"_id": dataset.values("_id")[0]}, change)
    refused_run("`carol.detections.agreement_votes` exists, undeclared", dataset, overwrite=True)


def test_read_only_fields_and_labels_without_an_id_are_refused(make_dataset):
    for path in ("alice", "alice.detections"):
        dataset = make_dataset()
        field = dataset.get_field(path)
        field.read_only = True
        field.save()
        refused_run(f"must not be read-only, got {path}", dataset)
    dataset = make_dataset()
    first = dataset.values("_id")[0]
    dataset._sample_collection.update_one({"_id": first}, {"$unset": {"bob.detections.0._id": ""}})
    refused_run(f"Every label must have an id, got 1 without, on samples {first}", dataset)


def test_a_call_with_other_arguments_hears_how_to_call(lend):
    for function, arguments, options, match in (
        (compute_agreement, ("alice", "bob"), {}, r"got 'bob' beside them; .*\(samples, \['alice', 'bob'\]\)"),
        (compute_agreement, (TWO, "agreement_2"), {}, r"them; give .* compute_agreement\(samples, fields, …=…\)"),
        (compute_agreement, (TWO,), {"iou_thresh": 0.5}, r"compute_agreement\(\) has no option 'iou_thresh'; did you"),
        (view_agreement, ("agreement", "missed"), {}, r"view_agreement\(\) takes samples, run_key, got 'missed' besi"),
        (view_agreement, (), {"zzz": 1}, r"view_agreement\(\) has no option 'zzz'; its options are verdict, .*, max_"),
    ):
        with pytest.raises(TypeError, match=match):
            function(lend(_with_other_fields), *arguments, **options)


@pytest.mark.long
def test_labels_that_have_no_class_are_a_warning(make_dataset):
    place = (0.1, 0.1, 0.2, 0.4)
    for alice, warning in (
        (None, "Nothing is said about classes: every label is without one (`label` is None)"),
        ("cat", "1 label has no class (bob 1), which was compared as a class of its own, '(no label)'"),
    ):
        dataset = make_dataset({"alice": [[(alice, place)]], "bob": [[(None, place)]]})
        assert compute_quickly(dataset, TWO).warnings == [warning]


@pytest.mark.long
def test_a_run_on_what_another_run_chose_says_so(make_dataset):
    dataset = make_dataset()
    assert compute_quickly(dataset).run.chosen_by is None
    again = compute_quickly(view_agreement(dataset, annotators=TWO), TWO, run_key="again")
    assert again.run.chosen_by == "agreement"
    assert any("the results of the run 'agreement' chose them" in text for text in again.warnings)
    assert compute_quickly(dataset.limit(2), run_key="part").run.chosen_by is None


@pytest.mark.long
def test_a_view_that_filters_the_labels_of_some_annotators_is_a_warning(make_dataset):
    dataset, is_cat = make_dataset(), F("label") == "cat"
    dataset.clone_sample_field("alice", "other")
    for view, filtered in (
        (dataset.filter_labels("alice", is_cat, only_matches=False), ["alice"]),
        (dataset.limit_labels("bob", 1).limit_labels("carol", 1), ["bob", "carol"]),
        (dataset.exclude_labels(tags="x", fields=["bob"]), ["bob"]),
        (dataset.exclude_labels(tags="x"), []),
        (dataset.match_labels(fields="alice", filter=is_cat), []),
        (dataset.filter_labels("other", is_cat, only_matches=False), []),
    ):
        report = compute_quickly(view, overwrite=True)
        assert report.run.filtered == filtered
        said = [text for text in report.warnings if text.startswith("The view filters the labels of")]
        assert len(said) == bool(filtered)
        assert all(repr(name) in said[0] for name in filtered)


def test_a_run_on_a_view_that_is_not_possible_any_more_is_a_sentence(make_dataset):
    dataset = make_dataset()
    compute_quickly(dataset.filter_labels("alice", F("label") == "cat"))
    dataset.rename_sample_field("alice", "anna")
    dataset.first().save()
    text = io.StringIO()
    dataset_io.load_agreement(dataset).print_report(file=text)
    assert "Score" in text.getvalue()
    refused(r"the run 'agreement' .* has no field 'alice'; .* rename it back", dataset_io.changed_since, dataset)
    refused(r"got no `alice`; if it was renamed, rename it back; else", dataset_io.update_agreement, dataset)
    dataset.rename_sample_field("anna", "alice")
    assert dataset_io.update_agreement(dataset).n_samples > 0
