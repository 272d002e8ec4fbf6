"""Degenerate datasets (FIELD 3.2) through the whole run: a stored report that says what is undefined, never a crash."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import fiftyone as fo
import pytest

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


def test_one_annotator_on_every_sample(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"alice": [[CAT], None, [DOG]], "bob": [None, [CAT, DOG], None]})
    report = run(dataset, ["alice", "bob"])
    assert (report.n_rated, report.score.mean, report.alpha.undefined["one_annotator"]) == (0, None, 3)
    assert dataset.values("alice.detections.agreement") == [[None], None, [None]]


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


@pytest.mark.parametrize("value", [fo.Classification(label="cat"), fo.Classifications(), fo.Regression(value=2.0)])
@pytest.mark.few(2)
def test_whole_images_without_variation(make_dataset: MakeDataset, value: fo.Label) -> None:
    dataset = make_dataset({"boxes": [[], [], []]})
    for name in ("alice", "bob"):
        dataset.set_values(name, [value.copy() for _ in range(3)])
    report = run(dataset, ["alice", "bob"])
    assert (report.alpha.pooled, report.n_rated) == (None, 3)
