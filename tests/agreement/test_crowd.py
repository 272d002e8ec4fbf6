"""Crowd regions, and what lies mostly within one of another annotator, are in no number; against loops over boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.agreement.agreement_oracle import config_of, object_report

from annotator_agreement.agreement.matching import Batch
from annotator_agreement.metrics import Objects
from annotator_agreement.metrics.geometry import Boxes

N_ANNOTATORS = 4
CLASSES = ("", "cat", "dog", "owl")


def random_case(seed: int, n_samples: int = 25) -> tuple[np.ndarray, np.ndarray]:
    """Rows (sample, annotator, class, box, is a crowd region), sorted, and who was assigned."""
    rng = np.random.default_rng(seed)
    assigned = rng.random((n_samples, N_ANNOTATORS)) < 0.9
    rows = []
    for sample in range(n_samples):
        true = [
            (rng.integers(0, 40, 2), rng.integers(5, 12, 2), int(rng.integers(1, 4))) for _ in range(rng.integers(0, 6))
        ]
        for annotator in np.flatnonzero(assigned[sample]).tolist():
            for corner, size, kind in true:
                given = int(rng.integers(1, 4)) if rng.random() < 0.15 else kind
                if rng.random() < 0.75:
                    low = corner + rng.integers(-1, 2, 2)
                    rows.append((sample, annotator, given, *low, *(low + size), 0))
                elif rng.random() < 0.4:  # a region instead, which may cover its neighbours too
                    low = corner - rng.integers(0, 8, 2)
                    rows.append((sample, annotator, 1, *low, *(low + size + 8), 1))
    return np.array(rows, float).reshape(-1, 8), assigned


def inside(box: np.ndarray, region: np.ndarray) -> float:
    """Intersection over the smaller area."""
    width = min(box[2], region[2]) - max(box[0], region[0])
    height = min(box[3], region[3]) - max(box[1], region[1])
    areas = [(b[2] - b[0]) * (b[3] - b[1]) for b in (box, region)]
    return max(width, 0) * max(height, 0) / min(areas)


def counts(rows: np.ndarray, k: int) -> bool:
    """Whether a label is neither a crowd region nor mostly within one of somebody else."""
    sample, annotator, *_ = rows[k]
    regions = rows[(rows[:, 7] > 0) & (rows[:, 0] == sample) & (rows[:, 1] != annotator)]
    return not rows[k, 7] and all(inside(rows[k, 3:7], region[3:7]) < 0.5 for region in regions)


def batch_of(rows: np.ndarray, assigned: np.ndarray, *, crowd: bool) -> Batch:
    objects = Objects(*rows[:, :3].astype(np.int64).T)
    return Batch(objects, Boxes(rows[:, 3:7]), assigned, rows[:, 7] > 0 if crowd else None)


def report_of(batch: Batch, options: dict[str, Any]) -> dict[str, Any]:
    return object_report(batch, config_of(N_ANNOTATORS, resamples=30, **options), CLASSES).to_dict()


RULES: list[dict[str, Any]] = [
    {}, {"missing": "ignore", "empty": "agree", "classes": "ignore"}, {"method": "recursive", "classes": "ignore"},
    {"method": "mutual_best"}, {"iou": 0.3, "similarity": "dice", "classes": "require", "undefined": "one"},
]  # fmt: skip


@pytest.mark.parametrize("options", RULES, ids=lambda options: " ".join(map(str, options.values())) or "defaults")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.few(4)
def test_the_report_is_that_of_the_labels_that_count_and_the_others_are_counted(
    seed: int, options: dict[str, Any]
) -> None:
    rows, assigned = random_case(seed)
    counted = np.array([counts(rows, k) for k in range(len(rows))])
    found = report_of(batch_of(rows, assigned, crowd=True), options)
    expected = report_of(batch_of(rows[counted], assigned, crowd=False), options)
    left_out = rows[~counted]
    for who, (entry, other) in enumerate(zip(found["annotators"], expected["annotators"], strict=True)):
        assert entry.pop("n_crowd") == int((left_out[:, 1] == who).sum())
        assert other.pop("n_crowd") == 0
    assert found == expected
