"""Several sessions of one person: as fields, and as values of the attribute that names the annotator."""

from __future__ import annotations

import dataclasses

import pytest

from tests.dataset_io.quick_runs import compute_quickly, refused
from tests.dataset_io.rated import rated_dataset
from tests.datasets import join_fields, random_annotators

from annotator_agreement.dataset_io import agreement_on, load_agreement, view_agreement

NAMES = ("alice_1", "alice_2", "bob")
SESSIONS = {"alice_1": "alice", "alice_2": "alice"}
SHOWN = ["alice (alice_1)", "alice (alice_2)", "bob"]
PAIRS = [(SHOWN[0], SHOWN[1]), (SHOWN[0], "bob"), (SHOWN[1], "bob")]


@pytest.fixture
def in_fields(make_dataset):
    """Three fields of labels."""
    return make_dataset(random_annotators(12, NAMES))


@pytest.fixture
def in_an_attribute(make_dataset):
    """The same labels in one field; the attribute is a number, and so are the entries of the assigned list."""
    dataset = make_dataset(random_annotators(12, NAMES))
    join_fields(dataset, NAMES, "labels")
    for path, new in (("labels.detections.annotator", "labels.detections.rater"), ("labels_assigned", "raters")):
        of_samples = dataset.values(path)
        dataset.set_values(new, [of and [8 + NAMES.index(name) for name in of] for of in of_samples], dynamic=True)
    return dataset


def numbers(report) -> list[tuple]:
    """What does not depend on names."""
    of_annotators = [(entry.n_objects, entry.n_missed, entry.verdicts) for entry in report.annotators]
    of_pairs = [(pair.n_matched, pair.alpha, pair.score, pair.f1) for pair in report.pairs]
    return [report.alpha, report.score, report.existence.f1, report.n_units, *of_annotators, *of_pairs]


@pytest.mark.long
def test_fields_of_one_person_stay_apart_and_are_compared_as_sessions(in_fields) -> None:
    plain = compute_quickly(in_fields, list(NAMES), run_key="plain")
    report = compute_quickly(in_fields, list(NAMES), annotators=SESSIONS)
    assert [entry.name for entry in report.annotators] == SHOWN
    assert [entry.person for entry in report.annotators] == ["alice", "alice", None]
    assert [(pair.a, pair.b) for pair in report.pairs] == PAIRS
    assert [pair.intra for pair in report.pairs] == [True, False, False]
    assert numbers(report) == numbers(plain)
    assert plain.sessions is None
    sessions = report.sessions
    assert (sessions.intra_score, sessions.intra_f1) == (plain.pairs[0].score, plain.pairs[0].f1)
    assert sessions.inter_f1 == pytest.approx((plain.pairs[1].f1 + plain.pairs[2].f1) / 2)
    assert load_agreement(in_fields).sessions == sessions
    assert agreement_on(in_fields.limit(6)).sessions is not None


@pytest.mark.long
def test_values_of_the_attribute_may_be_sessions(in_fields, in_an_attribute) -> None:
    expected = compute_quickly(in_fields, list(NAMES), annotators=SESSIONS)
    options = {"annotator_attribute": "rater", "assigned_field": "raters"}
    options["annotators"] = {"8": "alice", "9": "alice", "10": "bob"}
    report = compute_quickly(in_an_attribute, "labels", **options)
    assert [entry.name for entry in report.annotators] == ["alice (8)", "alice (9)", "bob"]
    assert numbers(report) == numbers(expected)
    assert dataclasses.replace(report.sessions, intervals={}) == dataclasses.replace(expected.sessions, intervals={})
    bobs = view_agreement(in_an_attribute, annotators=["bob"], verdict="lone")
    assert {value for values in bobs.values("labels.detections.rater") for value in values} == {10}
    assert bobs.count("labels.detections") == report.annotators[2].verdicts["lone"] > 0
    missed = view_agreement(in_an_attribute, missed_by="alice (9)")
    ids = {(s, i) for s, own in zip(missed.values("id"), missed.values("labels.detections.agreement_id"), strict=True)
           for i in own}  # fmt: skip
    assert len(ids) == report.annotators[1].n_missed


def test_values_that_are_not_mapped_are_not_compared(in_an_attribute) -> None:
    persons = {"10": "bob", "8": "alice"}
    report = compute_quickly(in_an_attribute, "labels", annotator_attribute="rater", annotators=persons)
    assert [entry.name for entry in report.annotators] == ["alice", "bob"]
    assert report.sessions is None
    message = "`annotators` must be found in `rater`, got 11; found are 10, 8, 9"
    options = {"annotator_attribute": "rater", "annotators": {"11": "bob", "8": "alice"}, "run_key": "other"}
    refused(message, compute_quickly, in_an_attribute, "labels", **options)


@pytest.mark.long
def test_other_label_types_keep_the_sessions_apart(make_dataset) -> None:
    given = {"alice_1": ["cat", "dog", "cat"], "alice_2": ["cat", "cat", "cat"], "bob": ["dog", "dog", "cat"]}
    tags = {name: [[value] for value in values] for name, values in given.items()}
    for values, stored in ((given, "Classification"), (tags, "Classifications")):
        dataset = rated_dataset(make_dataset, values, stored)
        plain = compute_quickly(dataset, list(NAMES), run_key="plain")
        report = compute_quickly(dataset, list(NAMES), annotators=SESSIONS)
        assert [(pair.a, pair.b) for pair in report.pairs] == PAIRS, stored
        assert report.score == plain.score
        assert [pair.score for pair in report.pairs] == [pair.score for pair in plain.pairs]
