"""What cannot be computed is refused in one clear sentence, and nothing is written."""

from __future__ import annotations

import io

import fiftyone as fo
import numpy as np
import pandas as pd
import pytest
from fiftyone import ViewField as F

from tests.datasets import detections, join_fields, stored

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import (
    changed_since,
    compute_agreement,
    load_agreement,
    update_agreement,
    view_agreement,
)

ANNOTATORS = ["alice", "bob", "carol"]


def _refused(dataset, match, *arguments, **options):
    before = stored(dataset)
    with pytest.raises(AgreementInputError, match=match):
        compute_agreement(dataset, *arguments, **options)
    assert stored(dataset) == before


@pytest.mark.parametrize(
    ("fields", "options", "match"),
    [
        pytest.param(["alice"], {}, r"needs at least 2 annotators, got 1 \('alice'\)", id="one field"),
        pytest.param([], {}, r"needs at least 2 annotators, got 0", id="no field"),
        pytest.param(["alice", "alice"], {}, "must be different fields, got alice more than once", id="field twice"),
        pytest.param(
            ["alice", "zoe"], {}, "got 'zoe', which does not exist; label fields are alice, bob, carol", id="absent"
        ),
        pytest.param(
            ["alice.detections", "bob"], {}, "got 'alice.detections', which .*; did you mean 'alice'[?]", id="list"
        ),
        pytest.param(
            ["alice", "bobb"], {}, "got 'bobb', which does not exist; did you mean 'bob'[?]; label fields", id="slip"
        ),
        pytest.param(
            "alice, bob", {}, r"got 1 \('alice, bob'\); several fields are a list: \['alice', 'bob'\]", id="one text"
        ),
        pytest.param(
            ["alice", "bob"], {"run_key": "carol"}, "got 'carol': `carol` is a label field of the dataset", id="key"
        ),
        pytest.param(
            ["alice", "bob"], {"method": "optimum"}, "got 'optimum'; did you mean 'optimal'[?]", id="slip in a value"
        ),
        pytest.param(["alice", "filepath"], {}, "got 'filepath' with StringField", id="no labels"),
        pytest.param(
            ["alice", "place"], {}, r"can be compared \(Detections.*\), got 'place' with GeoLocation", id="type"
        ),
        pytest.param(
            ["alice", "bob"], {"method": "magic"}, "`method` must be one of optimal, .* got 'magic'", id="method"
        ),
        pytest.param(["alice", "bob"], {"classes": "no"}, "`classes` must be one of prefer, .* got 'no'", id="classes"),
        pytest.param(
            ["alice", "bob"], {"missing": 1}, "`missing` must be one of category, ignore, got 1", id="missing"
        ),
        pytest.param(["alice", "bob"], {"iou": 0}, r"`iou` must be in \(0, 1\], got 0", id="threshold 0"),
        pytest.param(["alice", "bob"], {"iou": 1.5}, r"`iou` must be in \(0, 1\], got 1.5", id="threshold 1.5"),
        pytest.param(
            ["alice", "bob"], {"iou": float("nan")}, r"`iou` must be in \(0, 1\], got nan", id="threshold nan"
        ),
        pytest.param(
            ["alice", "bob"], {"assigned_field": "x"}, "`assigned_field` must be a sample field .* got 'x'", id="mode"
        ),
        pytest.param(
            "alice",
            {"annotator_attribute": "rater", "assigned_field": "nowhere"},
            "`assigned_field` must be a sample field .* got 'nowhere', which does not exist",
            id="assigned field",
        ),
        pytest.param(
            "alice",
            {"annotator_attribute": "rater", "assigned_field": "scene"},
            "`assigned_field` must be .* got 'scene' with Classification",
            id="type of the assigned field",
        ),
        pytest.param(
            ["alice", "bob"], {"annotator_attribute": "rater"}, "must be one label field, got 2", id="attribute of two"
        ),
    ],
)
@pytest.mark.few(3)
def test_options_and_fields_that_do_not_fit_are_refused(make_dataset, fields, options, match):
    dataset = make_dataset()
    dataset.add_sample_field("scene", fo.EmbeddedDocumentField, embedded_doc_type=fo.Classification)
    dataset.add_sample_field("place", fo.EmbeddedDocumentField, embedded_doc_type=fo.GeoLocation)
    _refused(dataset, match, fields, **options)


def test_something_that_is_no_dataset_is_refused():
    with pytest.raises(AgreementInputError, match="must be a FiftyOne dataset or view, got list"):
        compute_agreement([1, 2], ANNOTATORS)


def test_fields_of_mixed_types_are_refused(make_dataset):
    dataset = make_dataset()
    dataset.add_sample_field("sound", fo.EmbeddedDocumentField, embedded_doc_type=fo.GeoLocation)
    _refused(dataset, r"can be compared \(Detections, Polylines.*\), got 'sound' with GeoLocation", ["alice", "sound"])


def test_an_empty_dataset_is_refused(make_dataset):
    _refused(make_dataset({"alice": [], "bob": []}), "Agreement needs samples, got an empty dataset", ["alice", "bob"])


def test_labels_without_an_annotator_are_counted_and_named(make_dataset):
    dataset = make_dataset()
    rater = {"label": "cat", "bounding_box": [0, 0, 0.5, 0.5]}
    dataset.add_samples(
        [
            fo.Sample(
                filepath=f"/more/{k}.jpg",
                labels=fo.Detections(detections=[fo.Detection(**rater, rater="ann"), fo.Detection(**rater)]),
            )
            for k in range(7)
        ]
    )
    without = sorted(labels[1] for labels in dataset.values("labels.detections.id") if labels)
    _refused(
        dataset,
        f"must name its annotator in `rater`, got 7 without .*{', '.join(without[:5])}, … .7 in all",
        "labels",
        annotator_attribute="rater",
    )


def test_one_annotator_in_an_attribute_is_refused(make_dataset):
    dataset = make_dataset()
    for sample in dataset.iter_samples(autosave=True):
        sample["labels"] = detections([("cat", (0, 0, 1, 1))], rater="ann")
    _refused(
        dataset, "needs at least 2 annotators, got 1 .'ann'. in the attribute `rater`", "labels",
        annotator_attribute="rater",
    )  # fmt: skip
    _refused(
        dataset, "`annotators` must be found in `rater`, got bea; found are ann", "labels",
        annotator_attribute="rater", annotators=["ann", "bea"],
    )  # fmt: skip


@pytest.mark.parametrize(
    "box",
    [
        [0.1, 0.1, -0.2, 0.4],
        [0.1, 0.1, 0.2, -0.4],
        [float("nan"), 0.1, 0.2, 0.4],
        [0.1, float("inf"), 0.2, 0.4],
        [0.1, 0.1, float("inf"), 0.4],
        [0.1, -float("inf"), 0.2, 0.4],
        [0.1, 0.1, 0.2, float("nan")],
        [0.1, 0.1, 0.2],
        [0.1, 0.1, 0.2, 0.4, 0.5],
        [0.1, "a", 0.2, 0.4],
        None,
    ],
    ids=str,
)
@pytest.mark.few(3)
def test_unusable_boxes_are_counted_with_their_samples(make_dataset, box):
    dataset = make_dataset()
    ids = dataset.values("_id")
    for sample_id, field in ((ids[0], "alice"), (ids[1], "bob")):
        dataset._sample_collection.update_one({"_id": sample_id}, {"$set": {f"{field}.detections.0.bounding_box": box}})
    dataset.reload()
    _refused(
        dataset, f"got 2 that are not, on samples {ids[0]}, {ids[1]}; correct them, or .* with invalid=", ANNOTATORS
    )
    report = compute_agreement(dataset, ANNOTATORS, invalid="skip")
    assert report.run.n_invalid == 2
    assert report.n_objects == 10


def test_an_unusable_box_that_a_view_leaves_out_does_not_matter(make_dataset):
    dataset = make_dataset()
    sample = dataset.first()
    sample.alice.detections[0].bounding_box[2] = -0.5
    sample.save()
    view = dataset.filter_labels("alice", fo.ViewField("label") == "dog", only_matches=False)
    assert compute_agreement(view, ANNOTATORS).n_rated == 4


def test_boxes_without_area_are_compared(make_dataset):
    dataset = make_dataset(
        {"alice": [[("cat", (0.1, 0.1, 0.0, 0.5))]], "bob": [[("cat", (0.1, 0.1, 0.0, 0.5)), ("dog", (0, 0, 1, 1))]]}
    )
    report = compute_agreement(dataset, ["alice", "bob"])
    assert dataset.values("alice.detections.agreement") == [["lone"]]
    assert np.isclose(report.score.mean, 0.0)


# ---- run keys ----


@pytest.mark.parametrize("key", ["", "Upper", "1st", "with space", "a.b", "$set", "_private", "näme", None, 7])
@pytest.mark.few(3)
def test_a_run_key_that_cannot_begin_a_field_name_is_refused(make_dataset, key):
    _refused(make_dataset(), "`run_key` must be lower-case letters", ANNOTATORS, run_key=key)


@pytest.mark.parametrize("key", ["label", "tags", "bounding_box", "confidence", "index", "mask", "id", "attributes"])
@pytest.mark.few(2)
def test_a_run_key_that_is_part_of_a_label_is_refused(make_dataset, key):
    _refused(make_dataset(), f"got '{key}': `{key}` is a field of Detection; choose", ANNOTATORS, run_key=key)


def test_the_key_of_an_existing_run_is_refused(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset, ANNOTATORS)
    _refused(dataset, "must be new, got 'agreement', which is a run of this dataset", ANNOTATORS)


@pytest.mark.parametrize(("first", "second"), [("agreement", "agreement_iou"), ("agreement_iou", "agreement")])
def test_keys_that_collide_on_labels_are_refused(make_dataset, first, second):
    dataset = make_dataset()
    compute_agreement(dataset, ANNOTATORS, run_key=first)
    _refused(dataset, f"got '{second}': `.*agreement_iou.*` belongs to the run '{first}'", ANNOTATORS, run_key=second)


@pytest.mark.parametrize("path", ["agreement_score", "agreement_units", "agreement_map", "bob.detections.agreement_of"])
@pytest.mark.few(2)
def test_a_key_under_which_somebody_declared_a_field_is_refused(make_dataset, path):
    dataset = make_dataset()
    dataset.add_sample_field(path, fo.StringField)
    for overwrite in (False, True):
        _refused(dataset, f"`{path}` is a field of the dataset; choose another key", ANNOTATORS, overwrite=overwrite)


@pytest.mark.parametrize("path", ["agreement_score", "agreement_units", "bob.detections.0.agreement_votes"])
def test_a_key_that_exists_undeclared_in_the_database_is_refused(make_dataset, path):
    dataset = make_dataset()
    dataset._sample_collection.update_one({"_id": dataset.values("_id")[0]}, {"$set": {path: 7}})
    name = path.replace(".0.", ".")
    for overwrite in (False, True):
        _refused(dataset, f"`{name}` exists, undeclared, in the database on 1 samples", ANNOTATORS, overwrite=overwrite)


def test_an_undeclared_attribute_does_not_cost_the_run_that_would_be_overwritten(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset, ["alice", "bob"])
    dataset._sample_collection.update_one(
        {"_id": dataset.values("_id")[0]}, {"$set": {"carol.detections.0.agreement_votes": 7}}
    )
    _refused(dataset, "`carol.detections.agreement_votes` exists, undeclared", ANNOTATORS, overwrite=True)


@pytest.mark.parametrize("key", ["clean", "validate", "has_mask", "field_names", "copy", "pk", "instance"])
@pytest.mark.few(2)
def test_a_run_key_that_would_hide_a_method_of_a_label_is_refused(make_dataset, key):
    _refused(make_dataset(), f"`{key}` is a field of Detection", ANNOTATORS, run_key=key)


@pytest.mark.parametrize("path", ["alice", "alice.detections"])
def test_a_read_only_label_field_is_refused(make_dataset, path):
    dataset = make_dataset()
    field = dataset.get_field(path)
    field.read_only = True
    field.save()
    _refused(dataset, f"must not be read-only, got {path}", ANNOTATORS)


def test_labels_without_an_id_are_counted(make_dataset):
    dataset = make_dataset()
    first = dataset.values("_id")[0]
    dataset._sample_collection.update_one({"_id": first}, {"$unset": {"bob.detections.0._id": ""}})
    _refused(dataset, f"Every label must have an id, got 1 without, on samples {first}", ANNOTATORS)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"annotators": 5}, "`annotators` must map field names"),
        ({"annotators": {"alice": None}}, "`annotators` must give every field a name"),
        ({"overwrite": "no"}, "`overwrite` must be True or False, got 'no'"),
        ({"overwrite": pd.NA}, "`overwrite` must be True or False, got <NA>"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(make_dataset, options, match):
    _refused(make_dataset(), match, ANNOTATORS, **options)


@pytest.mark.parametrize("attribute", ["", 5, "$rater", "rater.x"])
def test_an_attribute_that_is_no_name_is_refused(make_dataset, attribute):
    _refused(make_dataset(), "`annotator_attribute` must be the name of", "alice", annotator_attribute=attribute)


def test_other_annotators_do_not_matter_where_some_are_chosen(make_dataset):
    dataset = make_dataset({})
    good, bad = {"bounding_box": [0, 0, 0.5, 0.5]}, {"bounding_box": [0, 0, -0.5, 0.5]}
    labels = [fo.Detection(label="cat", rater=name, **box) for name, box in (("a", good), ("b", good), ("z", bad))]
    dataset.add_sample(fo.Sample(filepath="/images/1.jpg", labels=fo.Detections(detections=labels)))
    report = compute_agreement(dataset, "labels", annotator_attribute="rater", annotators=["a", "b"])
    assert report.score.mean == 1.0
    _refused(dataset, "got 1 that are not", "labels", annotator_attribute="rater", run_key="all_of_them")


def test_a_view_grouped_by_a_field_is_refused_with_advice(make_dataset):
    dataset = make_dataset()
    dataset.set_values("scene", ["day", "day", "night", "night", "night"])
    with pytest.raises(AgreementInputError, match="grouped by a field; pass the view that it was made from"):
        compute_agreement(dataset.group_by("scene"), ANNOTATORS)


def test_the_attributes_that_there_are_are_named(make_dataset):
    dataset = make_dataset()
    for sample in dataset.iter_samples(autosave=True):
        sample["labels"] = detections([("cat", (0, 0, 1, 1))], rater="ann", iscrowd=0)
    message = (
        "must be an attribute of the labels of 'labels', got 'annotator', which none of them has; their attributes"
    )
    _refused(dataset, f"{message} are (rater, iscrowd|iscrowd, rater)", "labels", annotator_attribute="annotator")
    _refused(dataset, "got 'ratr', .*; did you mean 'rater'[?]", "labels", annotator_attribute="ratr", invalid="skip")


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (
            lambda dataset: compute_agreement(dataset, "alice", "bob"),
            r"got 'bob' beside them; .*: compute_agreement\(samples, \['alice', 'bob'\]\)",
        ),
        (
            lambda dataset: compute_agreement(dataset, ["alice", "bob"], "agreement_2"),
            r"got 'agreement_2' beside them; give options by name: compute_agreement\(samples, fields, …=…\)",
        ),
        (
            lambda dataset: compute_agreement(dataset, ["alice", "bob"], iou_thresh=0.5),
            r"compute_agreement\(\) has no option 'iou_thresh'; did you mean 'iou'[?]",
        ),
        (
            lambda dataset: view_agreement(dataset, "agreement", "missed"),
            r"view_agreement\(\) takes samples, run_key, got 'missed' beside them; give options by name",
        ),
        (
            lambda dataset: view_agreement(dataset, zzz=1),
            r"view_agreement\(\) has no option 'zzz'; its options are verdict, annotators, .*, max_score",
        ),
    ],
)
def test_a_call_with_other_arguments_hears_how_to_call(make_dataset, call, match):
    with pytest.raises(TypeError, match=match):
        call(make_dataset())


def test_labels_that_have_no_class_are_a_warning(make_dataset):
    dataset = make_dataset({name: [[(None, (0.1, 0.1, 0.2, 0.4))]] * 2 for name in ("alice", "bob")})
    report = compute_agreement(dataset, ["alice", "bob"])
    assert report.warnings == ["Nothing is said about classes: every label is without one (`label` is None)"]
    named = make_dataset({"alice": [[("cat", (0.1, 0.1, 0.2, 0.4))]], "bob": [[(None, (0.1, 0.1, 0.2, 0.4))]]})
    assert compute_agreement(named, ["alice", "bob"]).warnings == [
        "1 label has no class (bob 1), which was compared as a class of its own, '(no label)'"
    ]


def test_a_run_on_what_another_run_chose_says_so(make_dataset):
    dataset = make_dataset()
    report = compute_agreement(dataset, ANNOTATORS)
    assert report.run.chosen_by is None
    disputed = view_agreement(dataset, annotators=["alice", "bob"])
    again = compute_agreement(disputed, ["alice", "bob"], run_key="again")
    assert again.run.chosen_by == "agreement"
    assert any("the results of the run 'agreement' chose them" in text for text in again.warnings)
    assert compute_agreement(dataset.limit(2), ANNOTATORS, run_key="part").run.chosen_by is None


@pytest.mark.parametrize(
    ("narrow", "filtered"),
    [
        (lambda view: view.filter_labels("alice", F("label") == "cat", only_matches=False), ["alice"]),
        (lambda view: view.limit_labels("bob", 1).limit_labels("carol", 1), ["bob", "carol"]),
        (lambda view: view.exclude_labels(tags="x", fields=["bob"]), ["bob"]),
        (lambda view: view.exclude_labels(tags="x"), []),
        (lambda view: view.match_labels(fields="alice", filter=F("label") == "cat"), []),
        (lambda view: view.filter_labels("other", F("label") == "cat", only_matches=False), []),
    ],
)
@pytest.mark.few(2)
def test_a_view_that_filters_the_labels_of_some_annotators_is_a_warning(make_dataset, narrow, filtered):
    dataset = make_dataset()
    dataset.clone_sample_field("alice", "other")
    report = compute_agreement(narrow(dataset.view()), ANNOTATORS)
    assert report.run.filtered == filtered
    said = [text for text in report.warnings if text.startswith("The view filters the labels of")]
    assert len(said) == bool(filtered)
    assert all(repr(name) in said[0] for name in filtered)


def test_a_run_on_a_view_that_is_not_possible_any_more_is_a_sentence(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset.filter_labels("alice", F("label") == "cat"), ANNOTATORS)
    dataset.rename_sample_field("alice", "anna")
    dataset.first().save()
    text = io.StringIO()
    load_agreement(dataset).print_report(file=text)
    assert "Score" in text.getvalue()
    with pytest.raises(AgreementInputError, match=r"the run 'agreement' .* has no field 'alice'; .* rename it back"):
        changed_since(dataset)
    with pytest.raises(AgreementInputError, match=r"got no `alice`; if it was renamed, rename it back; else"):
        update_agreement(dataset)
    dataset.rename_sample_field("anna", "alice")
    assert update_agreement(dataset).n_samples > 0


def test_a_slip_in_the_name_of_a_list_or_an_annotator_is_told(make_dataset):
    dataset = make_dataset()
    dataset.add_sample_field("raters", fo.ListField, subfield=fo.StringField)
    with pytest.raises(AgreementInputError, match=r"got 'rater', which does not exist; did you mean 'raters'\?"):
        compute_agreement(dataset, ["alice", "bob"], assigned_field="rater")
    join_fields(dataset, ["alice", "bob"], "both")
    with pytest.raises(AgreementInputError, match=r"got bb; did you mean 'bob'\?; found are alice, bob"):
        compute_agreement(dataset, "both", annotator_attribute="annotator", annotators=["alice", "bb"])
