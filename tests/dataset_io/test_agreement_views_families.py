"""Views behind the numbers of reports on classes, numbers, tags and masks."""

from __future__ import annotations

from itertools import permutations

import fiftyone as fo
import numpy as np
import pytest

from tests.dataset_io.masked import masked_dataset, random_masks
from tests.dataset_io.rated import rated_dataset
from tests.dataset_io.shown_labels import keys, table_of

from annotator_agreement.dataset_io import compute_agreement, view_agreement

NAMES = ["alice", "bob", "carol"]
CLASSES = ["night", "dusk", "day"]
TAGS = ["rain", "snow", "crowd"]


def _classes(seed=3, n_samples=40):
    rng = np.random.default_rng(seed)
    table = {name: [] for name in NAMES}
    for _ in range(n_samples):
        truth = rng.integers(0, 3)
        for name in NAMES:
            given = truth if rng.random() < 0.75 else rng.integers(0, 3)
            table[name].append(None if rng.random() < 0.15 else CLASSES[given])
    return table


def _numbers(seed=4, n_samples=40):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 20, n_samples) / 10
    return {
        name: [None if rng.random() < 0.15 else round(float(value + rng.integers(-3, 4) / 10), 1) for value in truth]
        for name in NAMES
    }


def _rows(table):
    """For every sample what the annotators gave, by name."""
    return [{name: table[name][k] for name in NAMES if table[name][k] is not None} for k in range(len(table[NAMES[0]]))]


def _found(dataset, view):
    order = dataset.values("id")
    return sorted(order.index(sample_id) for sample_id in view.values("id"))


def _where(table, condition):
    return [k for k, row in enumerate(_rows(table)) if condition(row)]


@pytest.fixture(params=["Classification", "StringField", "mixed"])
def rated(request, make_dataset):
    table = _classes()
    stored = {"alice": "Classification", "bob": "StringField", "carol": "Classification"}
    dataset = rated_dataset(make_dataset, table, stored if request.param == "mixed" else request.param)
    return dataset, table, compute_agreement(dataset, NAMES), request.param


@pytest.mark.few(2)
def test_verdicts_of_classes_show_as_many_samples_as_the_report_counts(rated):
    dataset, table, report, _ = rated
    conflict = _where(table, lambda row: len(set(row.values())) > 1)
    agreed = _where(table, lambda row: len(row) > 1 and len(set(row.values())) == 1)
    assert _found(dataset, view_agreement(dataset, verdict="class_conflict")) == conflict
    assert _found(dataset, view_agreement(dataset, verdict="agreed")) == agreed
    assert _found(dataset, view_agreement(dataset, verdict=["agreed", "class_conflict"])) == sorted(conflict + agreed)
    assert len(conflict) == report.n_disputed > 5
    for annotator in report.annotators:
        for verdict, n in annotator.verdicts.items():
            assert len(view_agreement(dataset, verdict=verdict, annotators=annotator.name)) == n


@pytest.mark.long
def test_two_who_gave_different_classes_are_shown(rated):
    dataset, table, report, _ = rated
    for pair in report.pairs:
        view = view_agreement(dataset, annotators=[pair.a, pair.b])
        expected = _where(table, lambda row, p=pair: p.a in row and p.b in row and row[p.a] != row[p.b])
        assert _found(dataset, view) == expected
        assert len(expected) == pair.n_samples - round(pair.score * pair.n_samples) > 0
        assert view.values("agreement_score") == sorted(view.values("agreement_score"))
        (other,) = set(NAMES) - {pair.a, pair.b}
        assert view.get_field(other) is None


@pytest.mark.long
def test_classes_and_confusions_show_the_samples_with_them(rated):
    dataset, table, report, _ = rated
    assert _found(dataset, view_agreement(dataset, classes="dusk")) == _where(table, lambda row: "dusk" in row.values())
    for first, second in permutations(CLASSES, 2):
        view = view_agreement(dataset, confusion=[first, second])
        assert _found(dataset, view) == _where(table, lambda row, c=(first, second): set(c) <= set(row.values()))
        for pair in report.pairs:
            view = view_agreement(dataset, annotators=[pair.a, pair.b], confusion=[first, second])
            counts = {(entry["a"], entry["b"]): entry["n"] for entry in pair.confusion}
            assert len(view) == counts.get((first, second), 0)
        view = view_agreement(dataset, annotators="bob", confusion=[first, second])
        assert _found(dataset, view) == _where(
            table, lambda row, c=(first, second): row.get("bob") == c[0] and c[1] in row.values()
        )


@pytest.mark.long
def test_votes_show_the_labels_with_which_so_many_agree(make_dataset):
    table = _classes()
    dataset = rated_dataset(make_dataset, table, "Classification")
    compute_agreement(dataset, NAMES)
    view = view_agreement(dataset, votes=1)
    expected = {
        (k, name)
        for k, row in enumerate(_rows(table))
        for name, given in row.items()
        if list(row.values()).count(given) == 1
    }
    order = dataset.values("id")
    found = {
        (order.index(sample.id), name) for sample in view.iter_samples() for name in NAMES if sample[name] is not None
    }
    assert found == expected
    assert len(view_agreement(dataset, votes=(4, None))) == 0


@pytest.mark.parametrize("stored", ["Regression", "FloatField"])
@pytest.mark.parametrize("tolerance", [0.0, 0.2])
@pytest.mark.long
def test_numbers_disagree_by_the_tolerance_of_the_run(make_dataset, stored, tolerance):
    table = _numbers()
    dataset = rated_dataset(make_dataset, table, stored)
    report = compute_agreement(dataset, NAMES, tolerance=tolerance)
    for pair in report.pairs:
        n = pair.n_samples - round(pair.score * pair.n_samples)
        expected = _where(
            table, lambda row, p=pair: p.a in row and p.b in row and round(abs(row[p.a] - row[p.b]), 6) > tolerance
        )
        assert _found(dataset, view_agreement(dataset, annotators=[pair.a, pair.b])) == expected
        assert len(expected) == n > 0
    assert len(view_agreement(dataset, verdict="class_conflict")) == report.n_disputed
    value = next(row["bob"] for row in _rows(table) if "bob" in row)
    assert _found(dataset, view_agreement(dataset, classes=f"{value:g}")) == _where(
        table, lambda row: value in row.values()
    )


@pytest.mark.long
def test_numbers_that_were_left_out_are_not_shown(make_dataset):
    dataset = rated_dataset(make_dataset, {"alice": [1.0, 2.0], "bob": [float("nan"), 3.0]}, "Regression")
    report = compute_agreement(dataset, ["alice", "bob"], invalid="skip")
    assert report.run.n_invalid == 1
    assert _found(dataset, view_agreement(dataset, annotators=["alice", "bob"])) == [1]
    assert _found(dataset, view_agreement(dataset, annotators="bob")) == [1]


@pytest.mark.long
def test_true_is_the_same_as_the_text(make_dataset):
    table = {"alice": [True, True, False], "bob": ["True", "False", "True"]}
    dataset = rated_dataset(make_dataset, table, {"alice": "BooleanField", "bob": "StringField"})
    report = compute_agreement(dataset, ["alice", "bob"])
    assert report.n_disputed == 2
    assert _found(dataset, view_agreement(dataset, annotators=["alice", "bob"])) == [1, 2]
    assert _found(dataset, view_agreement(dataset, annotators=["alice", "bob"], confusion=["True", "False"])) == [1]


@pytest.mark.long
def test_classes_on_frames_show_their_videos_and_only_such_labels(make_videos):
    table = _classes(5, 30)
    frames = {name: [None if c is None else fo.Classification(label=c) for c in table[name]] for name in NAMES}
    videos = [{name: frames[name][start : start + 5] for name in NAMES} for start in range(0, 30, 5)]
    dataset = make_videos(videos)
    fields = [f"frames.{name}" for name in NAMES]
    report = compute_agreement(dataset, fields, resamples=0)
    rows = _rows(table)

    def shown(view, name):
        order = dataset.values("id")
        return {
            order.index(sample.id) * 5 + number - 1
            for sample in view.iter_samples()
            for number, frame in sample.frames.items()
            if frame.has_field(name) and frame[name] is not None
        }

    conflicts = {k for k, row in enumerate(rows) if len(set(row.values())) > 1}
    view = view_agreement(dataset, verdict="class_conflict")
    for annotator in report.annotators:
        assert shown(view, annotator.name) == {k for k in conflicts if annotator.name in rows[k]}
        assert len(shown(view, annotator.name)) == annotator.verdicts["class_conflict"]
    assert len(view) == len({k // 5 for k in conflicts})
    for pair in report.pairs:
        view = view_agreement(dataset, annotators=[pair.a, pair.b])
        expected = {k for k, row in enumerate(rows) if pair.a in row and pair.b in row and row[pair.a] != row[pair.b]}
        assert shown(view, pair.a) == shown(view, pair.b) == expected
    assert shown(view_agreement(dataset, votes=1, annotators="bob"), "bob") == {
        k for k, row in enumerate(rows) if "bob" in row and list(row.values()).count(row["bob"]) == 1
    }


def _tags(seed=6, n_samples=30):
    rng = np.random.default_rng(seed)
    table = {name: [] for name in NAMES}
    for _ in range(n_samples):
        truth = rng.random(len(TAGS)) < 0.5
        for name in NAMES:
            seen = truth ^ (rng.random(len(TAGS)) < 0.2)
            given = [tag for tag, there in zip(TAGS, seen, strict=True) if there]
            table[name].append(None if rng.random() < 0.15 else given)
    return table


@pytest.fixture(params=["fields", "attribute"])
def tagged(request, make_dataset):
    table = _tags()
    if request.param == "fields":
        dataset = rated_dataset(make_dataset, table, "Classifications")
        return dataset, compute_agreement(dataset, NAMES), {"fields": NAMES, "unit": "label"}
    dataset = make_dataset({})
    for k in range(len(table["alice"])):
        labels = [fo.Classification(label=tag, rater=name) for name in NAMES for tag in table[name][k] or []]
        raters = [name for name in NAMES if table[name][k] is not None]
        dataset.add_sample(
            fo.Sample(filepath=f"{k}.jpg", labels=fo.Classifications(classifications=labels), raters=raters),
            dynamic=True,
        )
    options = {"annotator_attribute": "rater", "assigned_field": "raters"}
    where = {"fields": ["labels"], "unit": "label", "attribute": "rater", "assigned_field": "raters"}
    return dataset, compute_agreement(dataset, "labels", **options), where


def _shown(view, where):
    return table_of(view, **{**where, "fields": [name for name in where["fields"] if view.get_field(name) is not None]})


@pytest.mark.long
def test_tags_are_shown_by_verdict_miss_pair_and_votes(tagged):
    dataset, report, where = tagged
    table = table_of(dataset, **where)
    for annotator in report.annotators:
        for verdict, n in annotator.verdicts.items():
            shown = _shown(view_agreement(dataset, verdict=verdict, annotators=annotator.name), where)
            assert len(shown.labels) == n
        shown = _shown(view_agreement(dataset, missed_by=annotator.name), where)
        expected = table.where(
            lambda label, unit, name=annotator.name: (
                len(unit) >= 2
                and (label.document, name) in table.assigned
                and name not in {member.annotator for member in unit}
            )
        )
        assert keys(shown) == expected
        assert len({(label.document, label.label) for label in shown.labels}) == annotator.n_missed > 0
    for pair in report.pairs:
        shown = _shown(view_agreement(dataset, annotators=[pair.b, pair.a]), where)
        expected = table.where(
            lambda label, unit, names=(pair.a, pair.b): (
                label.annotator in names
                and all((label.document, name) in table.assigned for name in names)
                and not set(names) <= {member.annotator for member in unit}
            )
        )
        assert keys(shown) == expected
        assert len({label.document for label in shown.labels}) == pair.n_samples - round(
            pair.same_tags * pair.n_samples
        )
    shown = _shown(view_agreement(dataset, votes=2, classes=["rain", "snow"]), where)
    assert keys(shown) == table.where(lambda label, unit: len(unit) == 2 and label.label in ("rain", "snow"))


@pytest.mark.long
def test_masks_are_shown_by_annotators_and_score(make_dataset):
    masks = random_masks(20)
    dataset = masked_dataset(make_dataset, masks)
    report = compute_agreement(dataset, NAMES)
    given = [{name for name in NAMES if masks[name][k] is not None} for k in range(20)]
    assert _found(dataset, view_agreement(dataset, annotators="bob")) == [k for k in range(20) if "bob" in given[k]]
    view = view_agreement(dataset, annotators=["bob", "carol"])
    assert _found(dataset, view) == [k for k in range(20) if {"bob", "carol"} <= given[k]]
    scores = view.values("agreement_score")
    assert scores == sorted(scores)
    assert (view.get_field("alice"), view.get_field("bob") is None) == (None, False)
    lowest = view_agreement(dataset, max_score=0.6)
    assert len(lowest) == sum(score is not None and score <= 0.6 for score in dataset.values("agreement_score"))
    assert len(view_agreement(dataset, max_score=1.0)) == report.score.n
