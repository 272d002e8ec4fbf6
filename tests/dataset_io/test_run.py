"""A whole run on boxes: from labels to written fields and report."""

from __future__ import annotations

from collections import Counter

import fiftyone as fo
import pytest

from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly
from tests.datasets import join_fields, random_annotators

from annotator_agreement.dataset_io import load_agreement
from annotator_agreement.dataset_io.run import read

SAMPLE_FIELDS = {"score", "cost", "alpha", "iou", "dice", "n_annotators", "n_units", "n_disputed"}


def test_fields_are_those_documented_and_declared_with_their_origin(make_dataset):
    dataset = make_dataset()
    before = set(dataset.get_field_schema(flat=True))
    sample = dataset.first()
    compute_quickly(dataset)
    assert sample.agreement_score == 1.0, "samples in memory show what was written"
    schema = dataset.get_field_schema(flat=True)
    added = set(schema) - before
    suffixes = ("", "_id", "_iou", "_votes", "_of", "_missed_by", "_differs_from")
    of_labels = {f"{name}.detections.agreement{suffix}" for name in ANNOTATORS for suffix in suffixes}
    assert added == {f"agreement_{name}" for name in SAMPLE_FIELDS} | of_labels
    for path in added:
        assert schema[path].info == {"annotator_agreement": "agreement"}
        assert schema[path].description


def test_verdicts_votes_and_ids_of_the_example(computed):
    samples = list(computed)
    verdicts = [[[label.agreement for label in sample[name].detections] if sample[name] else None
                 for name in ANNOTATORS] for sample in samples]  # fmt: skip
    assert verdicts == [
        [["agreed", "agreed"]] * 3,
        [["class_conflict", "missed"], ["class_conflict", "missed"], ["class_conflict"]],
        [[], [], []],
        [["lone"], [], None],
        [[None], None, None],
    ]
    conflict = [samples[1][name].detections[0] for name in ANNOTATORS]
    assert {label.agreement_id for label in conflict} == {conflict[0].id}
    assert [label.agreement_votes for label in conflict] == [3, 3, 3]
    missed = samples[1].bob.detections[1]
    assert (missed.agreement_votes, missed.agreement_of) == (2, 3)
    assert missed.agreement_id == samples[1].alice.detections[1].id
    assert missed.agreement_iou == pytest.approx(5 / 6, abs=1e-9)
    lone = samples[3].alice.detections[0]
    assert (lone.agreement_id, lone.agreement_iou, lone.agreement_votes, lone.agreement_of) == (lone.id, None, 1, 2)
    unrated = samples[4].alice.detections[0]
    assert (unrated.agreement, unrated.agreement_votes, unrated.agreement_of) == (None, 1, 1)


def test_scores_and_coverage_of_the_example(computed):
    report = load_agreement(computed)
    assert load_agreement(computed.limit(1)) == report
    iou_of_carol = 0.38 / 0.42  # alice and carol: same box, moved by 0.02 of 0.4
    alice_bob = 2 * (5 / 6) / 4  # the dogs; the others differ in class
    alice_carol = 2 * iou_of_carol / 3
    score = (alice_bob + alice_carol + 0.0) / 3
    assert computed.values("agreement_score") == pytest.approx([1.0, score, None, 0.0, None], abs=1e-9)
    assert computed.values("agreement_n_annotators") == [3, 3, 3, 2, 1]
    assert computed.values("agreement_n_units") == [2, 2, 0, 1, 1]
    assert computed.values("agreement_n_disputed") == [0, 2, 0, 1, None]
    # cat dog cat | dog dog missing: 1 - 5 * 4 / (36 - 14), n = 6, counts 2, 3, 1
    assert computed.values("agreement_alpha") == pytest.approx([1.0, 1 - 5 * 2 * 2 / 22, None, 0.0, None], abs=1e-9)
    assert report.score.mean == pytest.approx((1.0 + score + 0.0) / 3, abs=1e-9)
    assert (report.n_samples, report.n_rated, report.n_empty, report.n_units, report.n_objects) == (5, 4, 1, 5, 12)
    assert Counter(report.alpha.undefined) == Counter({"no_objects": 1, "one_annotator": 1})
    assert [worst["score"] for worst in report.worst_samples] == pytest.approx([0.0, score], abs=1e-9)
    assert report.worst_samples[0]["filepath"] == "/images/3.jpg"
    coverage = {each.name: (each.n_assigned, each.n_drew_nothing, each.n_not_assigned) for each in report.annotators}
    assert coverage == {"alice": (5, 1, 0), "bob": (4, 2, 1), "carol": (3, 1, 2)}


def test_a_list_that_was_emptied_in_fiftyone_is_empty_not_unassigned(make_dataset):
    dataset = make_dataset()
    sample = dataset.first()
    sample.alice.detections = []
    sample.save()
    assert "detections" not in dataset._sample_collection.find_one({"_id": sample._id})["alice"]
    compute_quickly(dataset, ANNOTATORS)
    assert dataset.values("agreement_n_annotators")[0] == 3
    assert dataset.values("bob.detections.agreement")[0] == ["missed", "missed"]
    view = dataset.filter_labels("alice", fo.ViewField("label") == "cat", only_matches=False)
    compute_quickly(view, ANNOTATORS, run_key="of_view")
    assert dataset.values("of_view_n_annotators") == dataset.values("agreement_n_annotators")


def test_two_runs_stand_side_by_side_and_empty_images_can_count_as_agreement(computed, monkeypatch):
    monkeypatch.setattr(read, "BATCH_SAMPLES", 2)
    seen, options = [], {"run_key": "two_of_them", "iou": 0.9, "empty": "agree"}
    options["progress"] = lambda bar: seen.append((bar.iteration, bar.total))
    report = compute_quickly(computed, ["alice", "bob"], **options)
    assert load_agreement(computed, "two_of_them") == report
    assert [computed.values(f"two_of_them_{name}")[2] for name in ("score", "alpha")] == [1.0, 1.0]
    assert report.score.n == 4
    label = computed.first().alice.detections[0]
    assert (label.agreement_votes, label.two_of_them_votes) == (3, 2)
    assert seen[-1] == (5, 5)


@pytest.mark.long
def test_attribute_mode_gives_what_field_mode_gives(make_dataset):
    dataset = make_dataset(random_annotators(30))
    by_field = compute_quickly(dataset, run_key="by_field")
    join_fields(dataset, ["carol", "alice", "bob"], "labels")
    options = {"annotator_attribute": "annotator", "assigned_field": "labels_assigned"}
    by_attribute = compute_quickly(dataset, "labels", run_key="by_attribute", **options)
    assert by_attribute.run.coverage == "given"
    assert dataset.values("by_attribute_score") == pytest.approx(dataset.values("by_field_score"), abs=1e-12)
    assert dataset.values("by_attribute_n_annotators") == dataset.values("by_field_n_annotators")
    assert by_attribute.alpha.pooled == by_field.alpha.pooled
    for one, other in zip(by_attribute.annotators, by_field.annotators, strict=True):
        assert one.n_drew_nothing == other.n_drew_nothing


def _attribute_dataset(make_dataset, samples):
    dataset = make_dataset({})
    dataset.add_samples([fo.Sample(filepath=f"/images/{k}.jpg", **values) for k, values in enumerate(samples)])
    return dataset


def _labels(*names):
    one = {"label": "cat", "bounding_box": [0.1, 0.1, 0.5, 0.2]}
    return fo.Detections(detections=[fo.Detection(**one, rater=name) for name in names])


OF_RATERS = {"annotator_attribute": "rater"}


def test_an_annotator_who_draws_without_being_listed_counts_as_assigned_and_nobody_is_not_called_none(make_dataset):
    given = [(_labels("ann", "None"), ["ann"]), (None, ["ann", "None"]), (_labels("ann"), None)]
    dataset = _attribute_dataset(make_dataset, [{"labels": labels, "raters": raters} for labels, raters in given])
    report = compute_quickly(dataset, "labels", assigned_field="raters", **OF_RATERS)
    assert (dataset.values("agreement_n_annotators"), report.run.n_added_assignments) == ([2, 2, 1], 2)
    assert [entry.n_drew_nothing for entry in report.annotators] == [1, 1]
    assert dataset.values("labels.detections.agreement") == [["agreed", "agreed"], None, [None]]


def test_without_an_assigned_field_everybody_is_assumed_to_be_assigned_or_those_who_are_named(make_dataset):
    drawn = [{"labels": _labels("ann", "bea")}, {"labels": _labels("ann")}, {"labels": _labels()}, {}]
    dataset = _attribute_dataset(make_dataset, drawn)
    report = compute_quickly(dataset, ["labels"], **OF_RATERS)
    assert (dataset.values("agreement_n_annotators"), report.run.coverage) == ([2, 2, 2, 0], "assumed")
    assert report.alpha.undefined["one_annotator"] == 1
    dataset = _attribute_dataset(make_dataset, [{"labels": _labels("ann", "bea", "cid")}, {"labels": _labels("cid")}])
    report = compute_quickly(dataset, "labels", annotators=["bea", "ann"], **OF_RATERS)
    assert [entry.name for entry in report.annotators] == ["ann", "bea"]
    assert dataset.values("labels.detections.agreement") == [["agreed", "agreed", None], [None]]


@pytest.mark.long
def test_annotator_names_may_be_anything_and_whole_numbers_of_two_types_are_the_same(make_dataset):
    dataset = _attribute_dataset(make_dataset, [{"labels": _labels("Dr. $mith", 7)} for _ in range(2)])
    second, stored_as = dataset.values("_id")[1], {"labels.detections.1.rater": 7.0}
    dataset._sample_collection.update_one({"_id": second}, {"$set": stored_as})
    report = compute_quickly(dataset, "labels", **OF_RATERS)
    assert [(entry.name, entry.n_objects) for entry in report.annotators] == [("7", 2), ("Dr. $mith", 2)]
    assert dataset.values("labels.detections.agreement") == [["agreed", "agreed"], ["agreed", "agreed"]]
    report = compute_quickly(make_dataset(), ["alice", "bob"], annotators={"alice": "a.b c$"})
    assert [entry.name for entry in report.annotators] == ["a.b c$", "bob"]


def test_units_of_cloned_fields_have_ids_of_their_own(make_dataset):
    dataset = make_dataset({"alice": [[("cat", (0.1, 0.1, 0.3, 0.2)), ("dog", (0.6, 0.6, 0.2, 0.3))]]})
    dataset.clone_sample_field("alice", "bob")
    sample = dataset.first()
    for label in sample.bob.detections:
        label.bounding_box = [label.bounding_box[0], 0.75, 0.1, 0.05]
    sample.save()
    compute_quickly(dataset, ["alice", "bob"])
    sample.reload()
    ids = [label.id for label in sample.alice.detections]
    assert [label.agreement_id for label in sample.alice.detections] == ids
    assert [label.agreement_id for label in sample.bob.detections] == [f"{label_id}-bob" for label_id in ids]


@pytest.mark.long
def test_a_label_id_that_stands_twice_in_a_list_gets_both_values(make_dataset):
    boxes = [("cat", (0.1, 0.1, 0.2, 0.2)), ("dog", (0.6, 0.6, 0.2, 0.2)), ("cow", (0.6, 0.1, 0.2, 0.2))]
    dataset = make_dataset({"alice": [boxes], "bob": [boxes[:1]]})
    first, ids = dataset.values("_id")[0], dataset.values("alice.detections._id")[0]
    dataset._sample_collection.update_one({"_id": first}, {"$set": {"alice.detections.1._id": ids[0]}})
    dataset.reload()
    compute_quickly(dataset, ["alice", "bob"], run_key="all_labels")
    assert dataset.values("alice.detections.all_labels")[0] == ["agreed", "lone", "lone"]
    view = dataset.filter_labels("alice", fo.ViewField("label").is_in(["cat", "dog"]))
    compute_quickly(view, ["alice", "bob"])
    assert dataset.values("alice.detections.agreement")[0] == ["agreed", "lone", None]
    assert len(set(dataset.values("alice.detections.agreement_id")[0][:2])) == 2


@pytest.mark.long
def test_more_annotators_than_bits_of_a_word(make_dataset):
    names = [f"rater_{k:03d}" for k in range(70)]
    dataset = _attribute_dataset(make_dataset, [{"labels": _labels(*names)}, {"labels": _labels(*names[:69])}])
    report = compute_quickly(dataset, "labels", **OF_RATERS)
    assert dataset.values("agreement_n_units") == [1, 1]
    assert dataset.values("labels.detections.agreement_votes") == [[70] * 70, [69] * 69]
    assert len(report.pairs) == 70 * 69 // 2
    report.print_report()
