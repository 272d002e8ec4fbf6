"""Attributes that are compared among the labels of one object."""

from __future__ import annotations

import datetime

import fiftyone as fo
import pytest

from tests.dataset_io.quick_runs import compute_quickly
from tests.dataset_io.shaped import box, shapes_dataset
from tests.datasets import stored

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io.families import objects

TRIO = ["alice", "bob", "carol"]
NAN = float("nan")


AGREED, CONFLICT = "agreed", "attribute_conflict"

#: values of the three annotators (... for no value), the tolerance, and the verdict
VALUES = [
    (("front", "front", "front"), 0, AGREED),
    (("front", "front", "Front"), 0, CONFLICT),
    (("front", "front ", "front"), 0, CONFLICT),
    ((True, True, True), 0, AGREED),
    ((True, True, False), 0, CONFLICT),
    ((False, None, ...), 0, AGREED),
    ((None, ..., None), 0, AGREED),
    ((1, 1.0, 1), 0, AGREED),
    ((1, True, 1), 0, CONFLICT),
    ((0, False, 0), 0, CONFLICT),
    ((1, "1", 1), 0, CONFLICT),
    ((1, 2, 1), 0, CONFLICT),
    ((NAN, 5, 5.0), 0, AGREED),
    ((2**62, 2**62, 2.0**62), 0, AGREED),
    ((1, 2, 1), 1, AGREED),
    ((1, 2, 3), 1, CONFLICT),
    ((0.3, 0.4, 0.35), 0.1, AGREED),
    ((0.3, 0.41, 0.35), 0.1, CONFLICT),
    ((2, "two", NAN), 100, CONFLICT),
]


def test_values_that_were_given_must_be_equal(make_dataset):
    dataset = shapes_dataset(
        make_dataset, *({name: [box(4, 3, 20, 10), box(30, 1, 5, 5)] for name in TRIO} for _ in VALUES)
    )
    ids = dataset.values("id")
    for sample_id, (values, *_) in zip(dataset.values("_id"), VALUES, strict=True):
        stored_as = {f"{name}.detections.1.state": "x" for name in TRIO}
        given = zip(TRIO, values, strict=True)
        stored_as |= {f"{name}.detections.0.state": value for name, value in given if value is not ...}
        dataset._sample_collection.update_one({"_id": sample_id}, {"$set": stored_as})
    dataset.reload()
    for tolerance in (0, 0.1, 1, 100):
        chosen = [k for k, (_, of_case, _) in enumerate(VALUES) if of_case == tolerance]
        options = {"tolerance": tolerance} if tolerance else {}
        view = dataset.select([ids[k] for k in chosen])
        compute_quickly(view, TRIO, attributes=["state"], overwrite=True, **options)
        for k in chosen:
            for name in TRIO:
                found = [label.agreement for label in dataset[ids[k]][name].detections]
                assert found == [VALUES[k][-1], AGREED], VALUES[k]


def test_an_attribute_conflict_comes_after_a_class_conflict_and_before_a_miss(make_dataset):
    def labels(state, label="cat"):
        places = [(4, 3, 10, 10), (20, 3, 6, 5), (30, 1, 5, 5)]
        return [box(*place, label=label if k == 0 else "cat", state=state) for k, place in enumerate(places)]

    dataset = shapes_dataset(make_dataset, {"alice": labels("a"), "bob": labels("b", "dog"), "carol": labels("a")[:2]})
    report = compute_quickly(dataset, TRIO, attributes=["state"])
    assert [label.agreement for label in dataset.first().alice.detections] == ["class_conflict", CONFLICT, CONFLICT]
    assert dataset.first().agreement_n_disputed == 3
    assert [entry.verdicts[CONFLICT] for entry in report.annotators] == [2, 2, 1]
    assert report.alpha.pooled == compute_quickly(dataset, TRIO, run_key="without").alpha.pooled


def test_any_of_several_attributes_is_enough_and_those_not_asked_for_do_not_matter(make_dataset):
    drawn = {"alice": {"a": 1, "b": 1, "c": 1}, "bob": {"a": 1, "b": 2, "c": 1}}
    dataset = shapes_dataset(make_dataset, {name: [box(4, 3, 10, 10, **given)] for name, given in drawn.items()})
    for key, attributes, verdict in (("k1", ["a", "c"], AGREED), ("k2", ["c", "b"], CONFLICT), ("k3", "b", CONFLICT)):
        compute_quickly(dataset, ["alice", "bob"], run_key=key, attributes=attributes)
        assert dataset.first().bob.detections[0][key] == verdict


def test_attributes_of_older_datasets_are_found_where_they_keep_them(make_dataset):
    old_a, old_b = ({"attributes": {"state": fo.CategoricalAttribute(value=value)}} for value in "ab")
    drawn = [
        {"alice": [box(4, 3, 10, 10, **old_a)], "bob": [box(4, 3, 10, 10, **bob)]} for bob in (old_b, {"state": "a"})
    ]
    dataset = shapes_dataset(make_dataset, *drawn)
    compute_quickly(dataset, ["alice", "bob"], attributes=["state"])
    assert [sample.alice.detections[0].agreement for sample in dataset] == [CONFLICT, AGREED]


@pytest.mark.parametrize("method", ["optimal", "recursive", "mutual_best"])
@pytest.mark.few(2)
def test_attributes_of_the_labels_that_count_are_compared(make_dataset, method):
    """Crowd regions, labels without an area, and samples that changed are left out of every column."""
    labels = [box(20, 1, 5, 5, state="a", iscrowd=1), box(30, 1, 5, NAN, state="b"), box(4, 3, 10, 10, state="c")]
    other = [box(4, 3, 10, 10, state="c"), box(1, 15, 2, 2, state="d")]
    dataset = shapes_dataset(make_dataset, {"alice": labels, "bob": other}, {"alice": other, "bob": labels[1:]})
    compute_quickly(dataset, ["alice", "bob"], attributes=["state"], invalid="skip", method=method)
    first, second = dataset
    assert [getattr(label, "agreement", None) for label in first.alice.detections] == ["crowd", None, AGREED]
    assert [label.agreement for label in first.bob.detections] == [AGREED, "lone"]
    assert [getattr(label, "agreement", None) for label in second.bob.detections] == [None, AGREED]


def test_attributes_of_an_annotator_who_is_not_compared_are_left_out(make_dataset):
    labels = [box(4, 3, 10, 10, rater=rater, state=state) for rater, state in (("a", 1), ("b", 2), ("c", 1))]
    dataset = shapes_dataset(make_dataset, {"labels": labels})
    options = {"annotator_attribute": "rater", "attributes": ["state"]}
    compute_quickly(dataset, "labels", annotators=["a", "c"], **options)
    assert [getattr(label, "agreement", None) for label in dataset.first().labels.detections] == [AGREED, None, AGREED]


def test_an_attribute_that_no_label_has_is_an_error(make_dataset):
    dataset = shapes_dataset(make_dataset, {"alice": [box(4, 3, 10, 10, state=1)], "bob": [box(4, 3, 10, 10)]})
    before = stored(dataset)
    with pytest.raises(AgreementInputError, match="must be found on labels, got 'stat', which no label of alice, bob"):
        compute_quickly(dataset, ["alice", "bob"], attributes=["state", "stat"])
    assert stored(dataset) == before


@pytest.mark.parametrize("value", [["a"], {"a": 1}, datetime.datetime(2020, 1, 1), float("inf")], ids=repr)
@pytest.mark.few(2)
def test_values_that_cannot_be_compared_are_an_error_that_names_the_attribute_also_later(
    make_dataset, monkeypatch, value
):
    drawn = {"alice": [box(4, 3, 10, 10, state="a")], "bob": [box(4, 3, 10, 10, state=value)]}
    dataset = shapes_dataset(make_dataset, drawn)
    for _ in range(2):
        with pytest.raises(AgreementInputError, match="got other values in 'state'; leave it out of `attributes`"):
            compute_quickly(dataset, ["alice", "bob"], attributes=["state"], overwrite=True)
        monkeypatch.setattr(objects, "check_attributes", lambda *_, **more: None)  # changed after the check


def test_attributes_of_labels_on_frames_are_compared(make_videos):
    dataset = make_videos([{"alice": [fo.Detections()], "bob": [fo.Detections()]}])
    for name, state in (("alice", 1), ("bob", 2)):
        sample = dataset.first()
        sample.frames[1][name] = fo.Detections(detections=[box(4, 3, 10, 10, state=state)])
        sample.save()
    compute_quickly(dataset, ["frames.alice", "frames.bob"], attributes=["state"])
    assert dataset.first().frames[1].alice.detections[0].agreement == CONFLICT
