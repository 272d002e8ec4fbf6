"""Wrong arguments of ``view_agreement``: each gives one clear sentence."""

from __future__ import annotations

import fiftyone as fo
import numpy as np
import pytest

from tests.dataset_io.masked import masked_dataset, random_masks
from tests.dataset_io.quick_runs import compute_quickly, refused, run_on
from tests.dataset_io.rated import rated_dataset

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import rename_agreement, view_agreement
from annotator_agreement.dataset_io.record import run

NAMES = ["alice", "bob", "carol"]


@pytest.fixture
def dataset(lend):
    return lend(run_on(10))


BAD = [
    ({"verdict": "wrong"}, "`verdict` must be one of agreed, class_conflict, .*crowd, got 'wrong'"),
    ({"verdict": []}, r"`verdict` must be a name or a list of names, got \[\]"),
    ({"verdict": 3}, "`verdict` must be a name or a list of names, got 3"),
    (
        {"annotators": "dave"},
        r"`annotators` must name annotators of the run 'agreement' \(alice, bob, carol\), got 'dave'",
    ),
    ({"annotators": ["alice", "eve", "dave"]}, "got 'eve', 'dave'"),
    ({"annotators": NAMES}, r"`annotators` must be one annotator, or two who disagree, got 3 \(alice, bob, carol\)"),
    ({"missed_by": "dave"}, "`missed_by` must name annotators of the run 'agreement' .*, got 'dave'"),
    ({"missed_by": ["bob"]}, r"`missed_by` must be the name of an annotator, got \['bob'\]"),
    ({"missed_by": "bob", "annotators": "bob"}, "`missed_by` must not be one of `annotators`"),
    ({"classes": [""]}, r"`classes` must be classes of labels of the run 'agreement', got ''"),
    ({"confusion": "cat"}, "`confusion` must be two different classes, got 'cat'"),
    ({"confusion": ["cat", "cat"]}, "`confusion` must be two different classes"),
    ({"confusion": ["cat"]}, "`confusion` must be two different classes"),
    (
        {"classes": "dgo"},
        "`classes` must be classes of labels of the run 'agreement', got 'dgo'; did you mean 'dog'[?];",
    ),
    ({"confusion": ["cat", "cheri"]}, "`confusion` must be classes .*, got 'cheri'; classes are .*cat"),
    ({"annotators": "bobb"}, "got 'bobb'; did you mean 'bob'[?]"),
    ({"votes": 0}, r"`votes` must be a number of annotators, or the least and the most \(least, most\), got 0"),
    ({"votes": (3, 2)}, r"`votes` must be .*, got \(3, 2\)"),
    ({"votes": "2"}, "`votes` must be .*, got '2'"),
    ({"votes": (1, 2, 3)}, "`votes` must be"),
    ({"votes": True}, "`votes` must be .*, got True"),
    ({"votes": 1.5}, "`votes` must be .*, got 1.5"),
    ({"min_score": "low"}, "`min_score` must be a number, got 'low'"),
    ({"max_score": float("nan")}, "`max_score` must be a number, got nan"),
    ({"min_score": 0.5, "max_score": 0.2}, "`min_score` must be at most `max_score`, got 0.5 and 0.2"),
    ({"run_key": "other"}, "`run_key` must be an agreement run of .*, got 'other'; runs are 'agreement'"),
]


def test_what_is_not_usable_is_named(dataset):
    for asked, message in BAD:
        refused(message, view_agreement, dataset, **asked)
    refused("must be a FiftyOne dataset or view, got NoneType", view_agreement, None)
    for view, message in (
        (dataset.to_patches("alice"), "must be a dataset or a view of its samples, got a view of parts of"),
        (dataset.exclude_fields("carol"), "got no `carol`"),
    ):
        refused(message, view_agreement, view)
    run.Run(dataset, "agreement").update(status=run.RUNNING)
    refused("'agreement' must be completed, got the status 'running'", view_agreement, dataset)


OTHER_FAMILIES = {
    "Classification": [
        ({"missed_by": "bob"}, "`missed_by` must be None for a run on Classification, got 'bob'"),
        ({"verdict": "lone"}, "`verdict` must be one of agreed, class_conflict, got 'lone'"),
    ],
    "StringField": [({"votes": 2}, "`votes` must be None for a run on text, got 2")],
    "Classifications": [
        ({"confusion": ["a", "b"]}, "`confusion` must be None for a run on Classifications"),
        ({"verdict": "class_conflict"}, "`verdict` must be one of agreed, missed, lone"),
    ],
    "Segmentation": [
        ({"verdict": "agreed"}, "`verdict` must be None for a run on Segmentation, got 'agreed'"),
        ({"classes": "cat"}, "`classes` must be None for a run on Segmentation"),
    ],
}


def test_what_does_not_concern_the_labels_is_named(make_dataset):
    for stored, questions in OTHER_FAMILIES.items():
        if stored == "Segmentation":
            dataset = masked_dataset(make_dataset, random_masks(3, ["alice", "bob"]))
        else:
            given = ["a", "b", "a"] if stored != "Classifications" else [["a"], [], ["a", "b"]]
            dataset = rated_dataset(make_dataset, {"alice": given, "bob": given[::-1]}, stored)
        compute_quickly(dataset, ["alice", "bob"])
        for asked, message in questions:
            refused(message, view_agreement, dataset, **asked)


@pytest.mark.long
def test_what_was_deleted_by_hand_is_named_and_does_not_hinder_other_fields(lend):
    for path in ("other", "bob.detections.agreement_of", "agreement_score", "alice"):
        dataset = lend(run_on(10))
        dataset.add_sample_field("other", fo.FloatField)
        dataset.delete_sample_field(path)
        if path == "other":
            assert len(view_agreement(dataset, verdict="agreed")) > 0
            continue
        refused(f"got no `{path}`; if it was renamed, rename it back; else", view_agreement, dataset, verdict="lone")


def test_of_two_annotators_none_can_miss_what_two_others_drew(make_dataset):
    dataset = make_dataset({"a": [[("cat", [0, 0, 0.5, 0.5])]], "b": [[]]})
    compute_quickly(dataset, ["a", "b"])
    with pytest.raises(AgreementInputError, match="use annotators='b', verdict='lone' for what only the other one has"):
        view_agreement(dataset, missed_by="a")
    assert len(view_agreement(dataset, annotators="a", verdict="lone")) == 1


def test_a_renamed_run_has_the_same_views(dataset):
    expected = {asked: view_agreement(dataset, missed_by=asked).values("id") for asked in NAMES}
    assert sum(map(len, expected.values())) > 3
    dataset.rename_run("agreement", "again")
    for key in ("again", "renamed"):  # renamed by FiftyOne, and by us
        for name, ids in expected.items():
            assert view_agreement(dataset, key, missed_by=name).values("id") == ids
        if key == "again":
            rename_agreement(dataset, "again", "renamed")


# ---- views behind the numbers of reports on classes, numbers, tags and masks ----


CLASSES = ["night", "dusk", "day"]


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
    return dataset, table, compute_quickly(dataset, NAMES)


@pytest.mark.few(2)
def test_verdicts_of_classes_show_as_many_samples_as_the_report_counts(rated):
    dataset, table, report = rated
    conflict = _where(table, lambda row: len(set(row.values())) > 1)
    agreed = _where(table, lambda row: len(row) > 1 and len(set(row.values())) == 1)
    assert _found(dataset, view_agreement(dataset, verdict="class_conflict")) == conflict
    assert _found(dataset, view_agreement(dataset, verdict="agreed")) == agreed
    assert _found(dataset, view_agreement(dataset, verdict=["agreed", "class_conflict"])) == sorted(conflict + agreed)
    assert len(conflict) == report.n_disputed > 5
    for annotator in report.annotators:
        for verdict, n in annotator.verdicts.items():
            assert len(view_agreement(dataset, verdict=verdict, annotators=annotator.name)) == n


@pytest.mark.parametrize("stored", ["Regression", "FloatField"])
@pytest.mark.parametrize("tolerance", [0.0, 0.2])
@pytest.mark.long
def test_numbers_disagree_by_the_tolerance_of_the_run(make_dataset, stored, tolerance):
    table = _numbers()
    dataset = rated_dataset(make_dataset, table, stored)
    report = compute_quickly(dataset, NAMES, tolerance=tolerance)
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
