"""Wrong arguments of ``view_agreement``: each gives one clear sentence."""

from __future__ import annotations

import numpy as np
import pytest

from tests.dataset_io.masked import masked_dataset, random_masks
from tests.dataset_io.quick_runs import compute_quickly, refused, run_on
from tests.dataset_io.rated import rated_dataset

from annotator_agreement.dataset_io import view_agreement
from annotator_agreement.dataset_io.record import run

NAMES = ["alice", "bob", "carol"]


BAD = [
    ({"verdict": "wrong"}, "`verdict` must be one of agreed, class_conflict, .*crowd, got 'wrong'"),
    ({"verdict": []}, r"`verdict` must be a name or a list of names, got \[\]"),
    ({"annotators": ["eve", "dave"]}, r"annotators of the run 'agreement' \(alice, bob, carol\), got 'eve', 'dave'"),
    ({"annotators": NAMES}, r"`annotators` must be one annotator, or two who disagree, got 3 \(alice, bob, carol\)"),
    ({"missed_by": "dave"}, "`missed_by` must name annotators of the run 'agreement' .*, got 'dave'"),
    ({"missed_by": ["bob"]}, r"`missed_by` must be the name of an annotator, got \['bob'\]"),
    ({"missed_by": "bob", "annotators": "bob"}, "`missed_by` must not be one of `annotators`"),
    ({"confusion": ["cat", "cat"]}, "`confusion` must be two different classes"),
    ({"classes": "dgo"}, "`classes` must be classes of labels of the run 'agreement', got 'dgo'; did you mean 'dog'"),
    ({"confusion": ["cat", "cheri"]}, "`confusion` must be classes .*, got 'cheri'; classes are .*cat"),
    ({"annotators": "bobb"}, "got 'bobb'; did you mean 'bob'[?]"),
    ({"votes": 0}, r"`votes` must be a number of annotators, or the least and the most \(least, most\), got 0"),
    ({"votes": (3, 2)}, r"`votes` must be .*, got \(3, 2\)"),
    ({"votes": True}, "`votes` must be .*, got True"),
    ({"min_score": "low"}, "`min_score` must be a number, got 'low'"),
    ({"max_score": float("nan")}, "`max_score` must be a number, got nan"),
    ({"min_score": 0.5, "max_score": 0.2}, "`min_score` must be at most `max_score`, got 0.5 and 0.2"),
    ({"run_key": "other"}, "`run_key` must be an agreement run of .*, got 'other'; runs are 'agreement'"),
]


def test_what_is_not_usable_is_named(lend):
    dataset = lend(run_on(10))
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
def test_what_was_deleted_by_hand_is_named(lend):
    for path in ("bob.detections.agreement_of", "agreement_score", "alice"):
        dataset = lend(run_on(10))
        dataset.delete_sample_field(path)
        refused(f"got no `{path}`; if it was renamed, rename it back; else", view_agreement, dataset, verdict="lone")


def test_of_two_annotators_none_can_miss_what_two_others_drew(make_dataset):
    dataset = make_dataset({"a": [[("cat", [0, 0, 0.5, 0.5])]], "b": [[]]})
    compute_quickly(dataset, ["a", "b"])
    message = "use annotators='b', verdict='lone' for what only the other one has"
    refused(message, view_agreement, dataset, missed_by="a")
    assert len(view_agreement(dataset, annotators="a", verdict="lone")) == 1


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


def _found(dataset, view):
    order = dataset.values("id")
    return sorted(order.index(sample_id) for sample_id in view.values("id"))


@pytest.mark.parametrize("stored", ["Classification", "StringField", "mixed"])
@pytest.mark.few(2)
def test_verdicts_of_classes_show_as_many_samples_as_the_report_counts(make_dataset, stored):
    table, mixed = _classes(), {"alice": "Classification", "bob": "StringField", "carol": "Classification"}
    dataset = rated_dataset(make_dataset, table, mixed if stored == "mixed" else stored)
    report = compute_quickly(dataset, NAMES)
    rows = [[value for value in row if value is not None] for row in zip(*table.values(), strict=True)]
    conflict = [k for k, row in enumerate(rows) if len(set(row)) > 1]
    agreed = [k for k, row in enumerate(rows) if len(row) > 1 and len(set(row)) == 1]
    assert _found(dataset, view_agreement(dataset, verdict="class_conflict")) == conflict
    assert _found(dataset, view_agreement(dataset, verdict="agreed")) == agreed
    assert _found(dataset, view_agreement(dataset, verdict=["agreed", "class_conflict"])) == sorted(conflict + agreed)
    assert len(conflict) == report.n_disputed > 5
    for annotator in report.annotators:
        for verdict, n in annotator.verdicts.items():
            assert len(view_agreement(dataset, verdict=verdict, annotators=annotator.name)) == n
