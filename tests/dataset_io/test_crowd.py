"""Crowd regions, and what somebody else drew mostly within them, form no units and are in no number."""

from __future__ import annotations

import fiftyone as fo
import numpy as np
import pytest

from tests.dataset_io.quick_runs import compute_quickly
from tests.dataset_io.shaped import box, shapes_dataset
from tests.datasets import stored

from annotator_agreement.dataset_io import delete_agreement

PAIR = ["alice", "bob"]
TRIO = ["alice", "bob", "carol"]
CROWD = {"iscrowd": 1}


def _region(**attributes):
    return box(4, 2, 20, 10, **attributes)


IS_CROWD = [(1, True), (True, True), ("1", True), ("yes", True), (0, False), (False, False), ("0", False),
            ("no", False), ("False", False), ("", False), (None, False), (1.0, True)]  # fmt: skip


@pytest.mark.long
def test_values_of_the_attribute_are_read_as_people_mean_them_and_it_can_be_another_or_none(make_dataset):
    samples = [{"alice": [box(6, 4, 3, 3)], "bob": [_region(is_group=k == 0)]} for k in range(len(IS_CROWD) + 1)]
    samples[-1]["bob"] = [_region(attributes={"iscrowd": fo.BooleanAttribute(value=True)})]  # the old kind
    dataset = shapes_dataset(make_dataset, *samples)
    for sample_id, (value, _) in zip(dataset.values("_id"), IS_CROWD, strict=False):
        dataset._sample_collection.update_one({"_id": sample_id}, {"$set": {"bob.detections.0.iscrowd": value}})
    of_group, nowhere = [True, *[False] * len(IS_CROWD)], [False] * (len(IS_CROWD) + 1)
    for options, expected in (
        ({}, [is_crowd for _, is_crowd in (*IS_CROWD, (None, True))]),
        ({"crowd_attribute": "is_group"}, of_group),
        ({"crowd_attribute": None}, nowhere),
        ({"crowd_attribute": "nowhere"}, nowhere),
    ):
        compute_quickly(dataset, PAIR, overwrite=True, **options)
        found = [["crowd" if is_crowd else "lone"] for is_crowd in expected]
        assert dataset.values("alice.detections.agreement") == dataset.values("bob.detections.agreement") == found


@pytest.mark.long
def test_regions_of_samples_that_are_not_rated_have_no_verdict_and_people_in_one_field_may_draw_them(make_dataset):
    region = _region(**CROWD)
    samples = {"alice": None, "bob": [region.copy()]}, {"alice": [box(6, 4, 3, 3)], "bob": [region]}
    dataset = shapes_dataset(make_dataset, *samples)
    before = stored(dataset)
    report = compute_quickly(dataset, PAIR)
    assert (dataset.values("bob.detections.agreement"), report.n_rated) == ([[None], ["crowd"]], 1)
    delete_agreement(dataset, "agreement")
    assert stored(dataset) == before
    labels = [box(6, 4, 3, 3, rater="ann"), _region(rater="bea", **CROWD), box(30, 2, 5, 5, rater="bea")]
    dataset = shapes_dataset(make_dataset, {"labels": labels})
    compute_quickly(dataset, "labels", annotator_attribute="rater")
    assert dataset.values("labels.detections.agreement") == [["crowd", "crowd", "lone"]]


@pytest.mark.long
@pytest.mark.parametrize("method", ["optimal", "recursive", "mutual_best"])
def test_regions_and_what_they_explain_count_nowhere(make_dataset, method):
    rng = np.random.default_rng(12)
    # the right half has crowd regions of bob and carol with objects of alice, the left half objects of all
    samples = [{field: [box(x, y, *rng.integers(3, 6, 2).tolist(), str(rng.choice(["cat", "dog"])))
                        for x, y in rng.integers(0, (14, 14), (int(rng.integers(1, 4)), 2)).tolist()]
                for field in TRIO} for _ in range(6)]  # fmt: skip
    plain = shapes_dataset(make_dataset, *samples)
    right = {"alice": lambda: box(26, 3, 4, 4), **dict.fromkeys(TRIO[1:], lambda: box(22, 1, 15, 15, **CROWD))}
    extra = [{name: [*(label.copy() for label in sample[name]), right[name]()] for name in TRIO} for sample in samples]
    crowded = shapes_dataset(make_dataset, *extra)
    options = {"iou": 0.3, "method": method, "resamples": 20}
    reports = [compute_quickly(dataset, TRIO, **options).to_dict() for dataset in (plain, crowded)]
    assert [entry.pop("n_crowd") for entry in reports[0]["annotators"]] == [0, 0, 0]
    assert [entry.pop("n_crowd") for entry in reports[1]["annotators"]] == [6, 6, 6]
    for report in reports:
        for name in ("run", "worst_samples", "look_first", "config"):
            report.pop(name)
        for part in ("existence", "class_given_match", "localisation"):  # of another dataset
            report[part]["worst_samples"] = [entry["value"] for entry in report[part]["worst_samples"]]
    assert reports[0] == reports[1]
    assert plain.values("agreement_score") == crowded.values("agreement_score")


def _lies_in(label, region):
    (x, y, w, h), (left, top, width, height) = label.bounding_box, region.bounding_box
    shared = max(min(x + w, left + width) - max(x, left), 0) * max(min(y + h, top + height) - max(y, top), 0)
    return shared / min(w * h, width * height)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.long
def test_a_reference_says_of_an_annotator_what_it_says_without_crowd(make_dataset, seed):
    """Against the same labels without those that lie mostly within a region of somebody else."""
    names, samples = [*PAIR, "gold"], _random_crowds(seed)
    crowded = shapes_dataset(make_dataset, *samples)

    def without_crowd(drawn_by):
        """The labels without regions, and without what lies within those of others who are named."""
        plain = []
        for sample in samples:
            regions = {name: [each for each in sample[name] if each.has_field("iscrowd")] for name in names}
            others = {name: [r for other in drawn_by if other != name for r in regions[other]] for name in names}
            plain.append({name: [each.copy() for each in sample[name] if not each.has_field("iscrowd")
                                 and all(_lies_in(each, region) < 0.5 for region in others[name])]
                          for name in names})  # fmt: skip
        return shapes_dataset(make_dataset, *plain)

    # what lies in a region of the reference is in no number of the reference, and in all others
    plain, own = without_crowd(names), without_crowd(PAIR)
    found, expected = (compute_quickly(each, PAIR, reference="gold", iou=0.3) for each in (crowded, plain))
    of_reference, as_expected = (each.to_dict()["reference"] for each in (found, expected))
    assert of_reference == as_expected
    assert any(each.n_missed for each in found.reference.annotators)
    without = compute_quickly(own, PAIR, iou=0.3, run_key="own")
    assert (found.score.mean, found.alpha.pooled, found.n_units) == (
        without.score.mean, without.alpha.pooled, without.n_units)  # fmt: skip
    assert without.n_units > expected.n_units


def _random_crowds(seed):
    """Boxes of two annotators and a reference, who now and then draw a region instead of a box."""
    rng, samples = np.random.default_rng(seed), []
    for _ in range(12):
        true = [(rng.uniform(0, (28, 14)), rng.uniform(4, 8, 2), str(rng.choice(["cat", "dog"]))) for _ in range(4)]
        sample = {name: [] for name in (*PAIR, "gold")}
        for labels in sample.values():
            for (x, y), (w, h), kind in true:
                if rng.random() < 0.75:
                    labels.append(box(x + rng.uniform(0, 1), y, w, h, kind))
                elif rng.random() < 0.3:
                    labels.append(box(max(x - 3, 0), max(y - 3, 0), w + 4, h + 4, **CROWD))
        samples.append(sample)
    return samples
