"""One field for each annotator becomes one field for all, and back, without any loss."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.datasets import detections

from annotator_agreement import AgreementInputError, compute_agreement, join_annotators, split_annotators

ANNOTATORS = ("alice", "bob", "carol")
_labels = st.lists(st.tuples(st.sampled_from(["cat", "dog"]), st.just((0.1, 0.1, 0.2, 0.2))), max_size=2)
_lists = st.lists(st.tuples(*[st.none() | _labels for _ in ANNOTATORS]), min_size=1, max_size=3)


def _stored(dataset, field):
    return [row.get(field) for row in dataset._sample_collection.find({}).sort("_id")]


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(_lists)
def test_fields_joined_and_split_again_are_the_same(make_dataset, rows):
    lists = dict(zip(ANNOTATORS, (list(column) for column in zip(*rows, strict=True)), strict=True))
    if not any(labels for column in lists.values() for labels in column):
        return
    dataset = make_dataset(lists)
    assert join_annotators(dataset, ANNOTATORS) == ["annotations", "annotations_assigned"]
    assigned = [[name for name in ANNOTATORS if lists[name][k] is not None] or None for k in range(len(rows))]
    assert dataset.values("annotations_assigned") == assigned
    split_annotators(dataset, "annotations", prefix="again_")
    for name in ANNOTATORS:
        if any(column is not None for column in lists[name]):
            assert [value or {"detections": None} for value in _stored(dataset, f"again_{name}")] == [
                value or {"detections": None} for value in _stored(dataset, name)
            ]
    join_annotators(
        dataset, {f"again_{name}": name for name in ANNOTATORS if dataset.has_field(f"again_{name}")}, "two"
    )
    assert _stored(dataset, "two") == _stored(dataset, "annotations")


def test_attributes_stay_and_those_of_runs_do_not(make_dataset):
    dataset = make_dataset({"alice": [[("cat", (0.1, 0.1, 0.2, 0.2))]], "bob": [[("cat", (0.1, 0.1, 0.2, 0.2))]]})
    dataset.set_values("alice.detections.occluded", [[True]], dynamic=True)
    report = compute_agreement(dataset, ["alice", "bob"])
    join_annotators(dataset, {"alice": "Alice A.", "bob": "Bob"}, "both", attribute="rater")
    first, second = dataset.first().both.detections
    assert (first.rater, first.occluded, second.rater) == ("Alice A.", True, "Bob")
    assert first.id == dataset.first().alice.detections[0].id
    assert not first.has_attribute("agreement")
    assert dataset.get_field("both.detections.occluded") is not None
    again = compute_agreement(
        dataset, "both", annotator_attribute="rater", assigned_field="both_assigned", run_key="both_run"
    )
    assert again.score.mean == report.score.mean
    assert split_annotators(dataset, "both", "rater", prefix="x_") == ["x_Alice_A", "x_Bob"]
    assert dataset.first().x_Alice_A.detections[0].occluded is True


def test_without_a_list_of_the_assigned_everybody_is(make_dataset):
    dataset = make_dataset({"labels": [[("cat", (0.1, 0.1, 0.2, 0.2))] * 2, [], None]})
    dataset.set_values("labels.detections.rater", [["a", "b"], [], None], dynamic=True)
    split_annotators(dataset, "labels", "rater")
    assert [value and len(value["detections"]) for value in _stored(dataset, "a")] == [1, 0, None]


def test_on_frames(make_videos):
    drawn = detections([("cat", (0.1, 0.1, 0.2, 0.2))])
    dataset = make_videos([{"alice": [drawn, detections([])], "bob": [drawn.copy(), drawn.copy()]}])
    assert join_annotators(dataset, ["frames.alice", "frames.bob"]) == ["frames.annotations", "annotations_assigned"]
    assert dataset.values("annotations_assigned") == [["alice", "bob"]]
    assert split_annotators(dataset, "frames.annotations", prefix="n_") == ["frames.n_alice", "frames.n_bob"]
    assert dataset.values("frames.n_alice.detections.label") == [[["cat"], []]]


def test_bad_input(make_dataset):
    dataset = make_dataset()
    with pytest.raises(AgreementInputError, match=r"must name its annotator in 'rater', got 4 without"):
        split_annotators(dataset, "bob", "rater")
    with pytest.raises(AgreementInputError, match=r"`fields` must be a list of fields"):
        join_annotators(dataset, "alice")
    with pytest.raises(AgreementInputError, match=r"an annotator of its own, got 'x', 'x'"):
        join_annotators(dataset, {"alice": "x", "bob": "x"})
    with pytest.raises(AgreementInputError, match=r"has the fields 'carol' already"):
        join_annotators(dataset, ["alice", "bob"], "carol")
    dataset.set_values("quality", [1.0] * len(dataset))
    with pytest.raises(AgreementInputError, match=r"Only fields with lists of labels .* got quality \(numbers\)"):
        join_annotators(dataset, ["quality"], "x")
