"""Crowd regions form no units, and explain what somebody else drew inside of them."""

from __future__ import annotations

import fiftyone as fo
import numpy as np
import pytest

from tests.dataset_io.quick_runs import compute_quickly
from tests.dataset_io.shaped import HEIGHT, WIDTH, box, cut_out, polygon, rectangle, shapes_dataset
from tests.datasets import stored

from annotator_agreement.dataset_io import add_units, delete_agreement, resolve_units, view_agreement

PAIR = ["alice", "bob"]
TRIO = ["alice", "bob", "carol"]
CROWD = {"iscrowd": 1}


def _verdicts(dataset, field):
    labels = dataset.first()[field]
    return [label["agreement"] for label in labels[labels._LABEL_LIST_FIELD]]


def _region(kind, **attributes):
    """A crowd region of 20 x 10 pixels from (4, 2) on."""
    if kind == "box":
        return box(4, 2, 20, 10, **attributes)
    if kind == "polygon":
        return polygon(rectangle(4, 2, 20, 10), **attributes)
    image = np.zeros((HEIGHT, WIDTH), np.bool_)
    image[2:12, 4:24] = True
    return cut_out(image, **attributes)


@pytest.mark.parametrize("kind", ["box", "polygon", "mask"])
@pytest.mark.parametrize("inside", ["box", "polygon"])
def test_a_crowd_region_is_no_object_and_explains_what_lies_in_it(make_dataset, kind, inside):
    small = box(6, 4, 3, 3) if inside == "box" else polygon(rectangle(6, 4, 3, 3))
    far = box(30, 2, 5, 5) if inside == "box" else polygon(rectangle(30, 2, 5, 5))
    other = {"box": lambda: box(30, 2, 5, 5), "polygon": lambda: polygon(rectangle(30, 2, 5, 5))}
    dataset = shapes_dataset(
        make_dataset,
        {"alice": [small, far], "bob": [_region(kind, **CROWD), other["polygon" if kind == "polygon" else "box"]()]},
    )
    report = compute_quickly(dataset, PAIR)
    assert (_verdicts(dataset, "alice"), _verdicts(dataset, "bob")) == (["crowd", "agreed"], ["crowd", "agreed"])
    assert (report.n_objects, report.n_units, report.score.mean) == (2, 1, 1.0)
    assert dataset.values("agreement_n_disputed") == [0]
    assert [entry.n_crowd for entry in report.annotators] == [1, 1]
    assert sum(sum(entry.verdicts.values()) for entry in report.annotators) == 2
    (labels,) = [dataset.first().bob[dataset.first().bob._LABEL_LIST_FIELD]]
    crowd = labels[0]
    assert (crowd.agreement_id, crowd.agreement_iou, crowd.agreement_votes, crowd.agreement_of) == (None, None, None, 2)


# (object beside the region of 20 x 10 from (4, 2) on, whether half of it or more is inside)
INSIDE = [
    ((6, 4, 3, 3), True),
    ((22, 4, 4, 5), True),  # exactly half
    ((22.1, 4, 4, 5), False),
    ((24, 4, 4, 5), False),  # touching
    ((30, 15, 4, 4), False),
]


@pytest.mark.parametrize(("place", "is_inside"), INSIDE, ids=str)
def test_half_of_an_object_must_lie_in_the_region(make_dataset, place, is_inside):
    dataset = shapes_dataset(make_dataset, {"alice": [box(*place)], "bob": [_region("box", **CROWD)]})
    compute_quickly(dataset, PAIR)
    assert _verdicts(dataset, "alice") == ["crowd" if is_inside else "lone"]


def test_the_own_region_explains_nothing(make_dataset):
    dataset = shapes_dataset(make_dataset, {"alice": [box(6, 4, 3, 3), _region("box", **CROWD)], "bob": []})
    compute_quickly(dataset, PAIR)
    assert _verdicts(dataset, "alice") == ["lone", "crowd"]


def test_objects_that_match_inside_a_region_are_objects(make_dataset):
    dataset = shapes_dataset(
        make_dataset, {"alice": [box(6, 4, 3, 3)], "bob": [box(6, 4, 3, 3), _region("box", **CROWD)]}
    )
    report = compute_quickly(dataset, PAIR)
    assert (_verdicts(dataset, "alice"), _verdicts(dataset, "bob")) == (["agreed"], ["agreed", "crowd"])
    assert (report.score.mean, report.n_units) == (1.0, 1)


def test_a_region_is_matched_with_nothing_even_if_it_is_drawn_alike(make_dataset):
    dataset = shapes_dataset(make_dataset, {"alice": [_region("box", **CROWD)], "bob": [_region("box", **CROWD)]})
    report = compute_quickly(dataset, PAIR)
    assert (_verdicts(dataset, "alice"), _verdicts(dataset, "bob")) == (["crowd"], ["crowd"])
    assert (report.n_units, report.n_empty, report.score.mean) == (0, 1, None)


def test_an_object_of_two_in_the_region_of_a_third_is_agreed(make_dataset):
    drawn = box(6, 4, 3, 3)
    dataset = shapes_dataset(
        make_dataset, {"alice": [drawn], "bob": [drawn.copy()], "carol": [_region("box", **CROWD)]}
    )
    report = compute_quickly(dataset, TRIO)
    assert [_verdicts(dataset, field) for field in TRIO] == [["agreed"], ["agreed"], ["crowd"]]
    assert dataset.first().alice.detections[0].agreement_of == 2
    assert [entry.n_missed for entry in report.annotators] == [0, 0, 0]
    assert (report.n_units, report.score.mean, report.existence.f1) == (1, 1.0, 1.0)


def test_who_drew_no_region_is_asked_for_an_object_in_one(make_dataset):
    dataset = shapes_dataset(make_dataset, {"alice": [box(6, 4, 3, 3)], "bob": [_region("box", **CROWD)], "carol": []})
    report = compute_quickly(dataset, TRIO)
    assert [_verdicts(dataset, field) for field in TRIO] == [["lone"], ["crowd"], []]
    label = dataset.first().alice.detections[0]
    assert (label.agreement_votes, label.agreement_of) == (1, 2)
    assert dataset.values("agreement_n_annotators") == [3]
    assert report.existence.votes == [{"assigned": 2, "votes": 1, "units": 1}]


def test_a_view_does_not_say_that_the_excused_missed_it(make_dataset):
    drawn = box(6, 4, 3, 3)
    far = box(30, 2, 5, 5)
    dataset = shapes_dataset(
        make_dataset,
        {
            "alice": [drawn, far],
            "bob": [drawn.copy(), far.copy()],
            "carol": [_region("box", **CROWD)],
            "dave": [],
        },
    )
    compute_quickly(dataset, [*TRIO, "dave"])
    shown = {name: view_agreement(dataset, missed_by=name).values("alice.detections.id") for name in ("carol", "dave")}
    (ids,) = dataset.values("alice.detections.id")
    assert shown == {"carol": [[ids[1]]], "dave": [ids]}
    pair = view_agreement(dataset, annotators=["alice", "carol"])
    assert pair.values("alice.detections.id") == [[ids[1]]]


def test_the_units_of_a_run_know_who_was_asked(make_dataset):
    drawn = box(6, 4, 3, 3)
    dataset = shapes_dataset(
        make_dataset, {"alice": [drawn], "bob": [drawn.copy()], "carol": [_region("box", **CROWD)]}
    )
    compute_quickly(dataset, TRIO)
    made = add_units(dataset), resolve_units(dataset, quorum=1.0)
    assert [entry.n_labels for entry in made] == [1, 1], made
    (unit,) = dataset.first().agreement_units.detections
    assert (unit.votes, unit.of, unit.verdict) == (2, 2, "agreed")
    assert len(dataset.first().agreement_consensus.detections) == 1


def test_a_region_does_not_excuse_those_who_did_not_draw_it(make_dataset):
    drawn = box(6, 4, 3, 3)
    dataset = shapes_dataset(
        make_dataset, {"alice": [drawn], "bob": [drawn.copy(), _region("box", **CROWD)], "carol": []}
    )
    report = compute_quickly(dataset, TRIO)
    assert _verdicts(dataset, "alice") == ["missed"]
    assert [entry.n_missed for entry in report.annotators] == [0, 0, 1]


def test_a_dispute_over_the_class_in_a_region_stays_one(make_dataset):
    dataset = shapes_dataset(
        make_dataset,
        {"alice": [box(6, 4, 3, 3)], "bob": [box(6, 4, 3, 3, "dog")], "carol": [_region("box", **CROWD)]},
    )
    compute_quickly(dataset, TRIO)
    assert [_verdicts(dataset, field) for field in PAIR] == [["class_conflict"], ["class_conflict"]]


@pytest.mark.parametrize(
    ("value", "is_crowd"),
    [(1, True), (True, True), ("1", True), ("yes", True), (0, False), (False, False), ("0", False), ("no", False),
     ("False", False), ("", False), (None, False), (1.0, True)],
)  # fmt: skip
def test_values_of_the_attribute_are_read_as_people_mean_them(make_dataset, value, is_crowd):
    dataset = shapes_dataset(make_dataset, {"alice": [box(6, 4, 3, 3)], "bob": [_region("box")]})
    dataset._sample_collection.update_one({}, {"$set": {"bob.detections.0.iscrowd": value}})
    compute_quickly(dataset, PAIR)
    assert _verdicts(dataset, "alice") == ["crowd" if is_crowd else "lone"]


def test_the_attribute_can_be_another_or_none(make_dataset):
    dataset = shapes_dataset(
        make_dataset, {"alice": [box(6, 4, 3, 3)], "bob": [_region("box", is_group=True, iscrowd=0)]}
    )
    for options, verdict in (
        ({}, "lone"),
        ({"crowd_attribute": "is_group"}, "crowd"),
        ({"crowd_attribute": None}, "lone"),
        ({"crowd_attribute": "nowhere"}, "lone"),
    ):
        compute_quickly(dataset, PAIR, overwrite=True, **options)
        assert _verdicts(dataset, "alice") == [verdict]
    dataset = shapes_dataset(make_dataset, {"alice": [box(6, 4, 3, 3)], "bob": [_region("box", **CROWD)]})
    compute_quickly(dataset, PAIR, crowd_attribute=None)
    assert _verdicts(dataset, "bob") == ["lone"]


def test_the_attribute_may_stand_among_the_old_kind_of_attributes(make_dataset):
    region = _region("box", attributes={"iscrowd": fo.BooleanAttribute(value=True)})
    dataset = shapes_dataset(make_dataset, {"alice": [box(6, 4, 3, 3)], "bob": [region]})
    compute_quickly(dataset, PAIR)
    assert (_verdicts(dataset, "alice"), _verdicts(dataset, "bob")) == (["crowd"], ["crowd"])


def test_regions_of_samples_that_are_not_rated_have_no_verdict(make_dataset):
    dataset = shapes_dataset(
        make_dataset,
        {"alice": None, "bob": [_region("box", **CROWD)]},
        {"alice": [box(6, 4, 3, 3)], "bob": [_region("box", **CROWD)]},
    )
    report = compute_quickly(dataset, PAIR)
    assert dataset.values("bob.detections.agreement") == [[None], ["crowd"]]
    assert report.n_rated == 1


def test_annotators_named_by_an_attribute_may_draw_regions(make_dataset):
    labels = [box(6, 4, 3, 3, rater="ann"), _region("box", rater="bea", **CROWD), box(30, 2, 5, 5, rater="bea")]
    dataset = shapes_dataset(make_dataset, {"labels": labels})
    compute_quickly(dataset, "labels", annotator_attribute="rater")
    assert dataset.values("labels.detections.agreement") == [["crowd", "crowd", "lone"]]


def test_deleting_a_run_with_regions_leaves_the_dataset_as_it_was(make_dataset):
    dataset = shapes_dataset(make_dataset, {"alice": [box(6, 4, 3, 3)], "bob": [_region("box", **CROWD)]})
    before = stored(dataset)
    compute_quickly(dataset, PAIR)
    delete_agreement(dataset, "agreement")
    assert stored(dataset) == before


METHODS = ["optimal", "recursive", "mutual_best"]


@pytest.mark.parametrize("method", METHODS)
def test_regions_and_what_they_explain_count_nowhere(make_dataset, method):
    """Without them, everything that is reported is the same."""
    rng = np.random.default_rng(12)
    samples: list[dict[str, list[fo.Detection]]] = []
    for _ in range(10):
        # the right half has crowd regions of bob and carol with objects of alice, the left half objects of all
        sample = {field: [] for field in TRIO}
        for field in TRIO:
            for x, y in rng.integers(0, (14, 14), (int(rng.integers(1, 4)), 2)).tolist():
                label = box(x, y, *rng.integers(3, 6, 2).tolist(), str(rng.choice(["cat", "dog"])))
                sample[field].append(label)
        samples.append(sample)
    plain = shapes_dataset(make_dataset, *samples)
    extra = [
        {
            "alice": [*(label.copy() for label in sample["alice"]), box(26, 3, 4, 4)],
            "bob": [*(label.copy() for label in sample["bob"]), box(22, 1, 15, 15, **CROWD)],
            "carol": [*(label.copy() for label in sample["carol"]), box(22, 1, 15, 15, **CROWD)],
        }
        for sample in samples
    ]
    crowded = shapes_dataset(make_dataset, *extra)
    reports = [
        compute_quickly(dataset, TRIO, iou=0.3, method=method, resamples=20).to_dict() for dataset in (plain, crowded)
    ]
    assert [entry.pop("n_crowd") for entry in reports[0]["annotators"]] == [0, 0, 0]
    assert [entry.pop("n_crowd") for entry in reports[1]["annotators"]] == [10, 10, 10]
    for report in reports:
        for name in ("run", "worst_samples", "look_first", "config"):
            report.pop(name)
        for part in ("existence", "class_given_match", "localisation"):  # of another dataset
            report[part]["worst_samples"] = [entry["value"] for entry in report[part]["worst_samples"]]
    assert reports[0] == reports[1]
    assert plain.values("agreement_score") == crowded.values("agreement_score")


def test_an_explained_object_that_was_aligned_is_aligned_no_more(make_dataset):
    # alice's second box and carol's are each other's best, but carol's forms a unit with the other two boxes, so that
    # alice's second box is alone, and in the regions of both others
    boxes = {"alice": [box(0, 0, 10, 5)], "bob": [box(1, 0, 10, 5)], "carol": [box(3, 0, 10, 5)]}
    second, region = box(5.5, 0, 10, 5), box(5, 0, 12, 6, **CROWD)
    plain = shapes_dataset(make_dataset, {**boxes, "alice": [*boxes["alice"], second]})
    report = compute_quickly(plain, TRIO, method="mutual_best")
    assert plain.values("alice.detections.agreement") == [["agreed", "lone"]]
    assert {(pair.a, pair.b): pair.alignment["n_aligned"] for pair in report.pairs}["alice", "carol"] == 1
    crowded = shapes_dataset(
        make_dataset,
        {
            "alice": [boxes["alice"][0].copy(), second.copy()],
            "bob": [boxes["bob"][0].copy(), region],
            "carol": [boxes["carol"][0].copy(), region.copy()],
        },
    )
    report = compute_quickly(crowded, TRIO, method="mutual_best")
    assert crowded.values("alice.detections.agreement") == [["agreed", "crowd"]]
    alignment = {(pair.a, pair.b): pair.alignment for pair in report.pairs}
    assert alignment["alice", "carol"]["n_aligned"] == 0
    assert alignment["alice", "bob"]["recall"] == pytest.approx(0.9, rel=1e-12)
    assert alignment["bob", "carol"]["recall"] == pytest.approx(0.8, rel=1e-12)
