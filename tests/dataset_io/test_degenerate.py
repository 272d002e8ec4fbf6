"""Degenerate datasets (FIELD 3.2) through the whole run: a stored report that says what is undefined, never a crash."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import fiftyone as fo
import pytest

from tests.datasets import Label

from annotator_agreement import dataset_io

CAT, DOG = ("cat", (0.1, 0.1, 0.2, 0.3)), ("dog", (0.5, 0.4, 0.3, 0.5))
MakeDataset = Callable[..., fo.Dataset]


def run(dataset: fo.Dataset, fields: Sequence[str] | str, **options: Any) -> Any:
    """The report, which was printed, and equals what was stored."""
    report = dataset_io.compute_agreement(dataset, fields, progress=False, **options)
    for full in (False, True):
        report.print_report(full=full, file=io.StringIO())
    assert dataset_io.load_agreement(dataset).to_dict() == report.to_dict()
    return report


def test_images_that_all_left_empty(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({name: [[], [], []] for name in ("alice", "bob")})
    report = run(dataset, ["alice", "bob"])
    assert (report.score.mean, report.alpha.pooled, report.n_empty) == (None, None, 3)
    assert dataset.values("agreement_score") == dataset.values("agreement_alpha") == [None] * 3
    assert run(dataset, ["alice", "bob"], empty="agree", overwrite=True).score.mean == 1.0
    assert dataset.values("agreement_score") == [1.0] * 3


def test_nobody_is_assigned(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({name: [None, None] for name in ("alice", "bob", "carol")})
    report = run(dataset, ["alice", "bob", "carol"])
    assert (report.n_samples, report.n_rated, report.score.mean) == (2, 0, None)
    assert dataset.values("agreement_n_annotators") == [0, 0]


def test_one_annotator_on_every_sample(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"alice": [[CAT], None, [DOG]], "bob": [None, [CAT, DOG], None]})
    report = run(dataset, ["alice", "bob"])
    assert (report.n_rated, report.score.mean, report.alpha.undefined["one_annotator"]) == (0, None, 3)
    assert dataset.values("alice.detections.agreement") == [[None], None, [None]]


def test_one_sample_with_one_object(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"alice": [[CAT]], "bob": [[]]})
    report = run(dataset, ["alice", "bob"])
    assert (report.score.mean, report.alpha.pooled, report.n_units) == (0.0, 0.0, 1)
    assert dataset.values("alice.detections.agreement") == [["lone"]]


def test_fields_that_are_clones_agree_perfectly(make_dataset: MakeDataset) -> None:
    """Cloned fields share the label ids; every unit has an id of its own all the same."""
    dataset = make_dataset({"alice": [[CAT, DOG], [DOG], []]})
    for name in ("bob", "carol"):
        dataset.clone_sample_field("alice", name)
    report = run(dataset, ["alice", "bob", "carol"])
    assert (report.score.mean, report.alpha.pooled, report.localisation.mean_iou) == (1.0, 1.0, 1.0)
    ids = dataset.values("bob.detections.agreement_id")
    assert ids == dataset.values("carol.detections.agreement_id")
    assert len({unit for sample in ids for unit in sample}) == 3


def test_the_classes_of_lvis_are_not_too_many(make_dataset: MakeDataset) -> None:
    def sample(first: int) -> list[Label]:
        places = [(0.1 * (k % 10) + 0.01, 0.2 * (k // 10) + 0.01, 0.08, 0.18) for k in range(50)]
        return [(f"class {first + k:04d}", place) for k, place in enumerate(places) if first + k < 1_203]

    labels = [sample(first) for first in range(0, 1_203, 50)]
    dataset = make_dataset({"alice": labels, "bob": labels})
    report = run(dataset, ["alice", "bob"])
    assert (report.alpha.pooled, report.n_units) == (1.0, 1_203)
    assert len(report.annotators[0].classes) == 1_203


def test_sixty_annotators_are_not_too_many(make_dataset: MakeDataset) -> None:
    names = [f"annotator_{k:02d}" for k in range(60)]
    dataset = make_dataset({name: [[CAT, DOG], []] for name in names})
    report = run(dataset, names)
    assert (report.alpha.pooled, len(report.pairs), report.n_empty) == (1.0, 1_770, 1)
    assert dataset.values("annotator_59.detections.agreement_votes") == [[60, 60], []]


@pytest.mark.parametrize("value", [fo.Classification(label="cat"), fo.Classifications(), fo.Regression(value=2.0)])
def test_whole_images_without_variation(make_dataset: MakeDataset, value: fo.Label) -> None:
    dataset = make_dataset({"boxes": [[], [], []]})
    for name in ("alice", "bob"):
        dataset.set_values(name, [value.copy() for _ in range(3)])
    report = run(dataset, ["alice", "bob"])
    assert (report.alpha.pooled, report.n_rated) == (None, 3)
