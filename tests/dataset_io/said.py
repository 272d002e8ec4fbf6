"""Datasets on which annotators gave whole samples a class, number, mask or tags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fiftyone as fo
import numpy as np

from tests.dataset_io.quick_runs import ANNOTATORS

from annotator_agreement.dataset_io import compute_agreement


def _said(kind: str, n: int, seed: int = 3) -> dict[str, list[Any]]:
    """What every annotator says of every sample; None where they said nothing."""
    rng = np.random.default_rng(seed)
    made: dict[str, Callable[[], Any]] = {
        "labels": lambda: fo.Classification(label=str(rng.choice(["cat", "dog", "owl"])), confidence=0.5),
        "texts": lambda: str(rng.choice(["cat", "dog", "owl"])),
        "numbers": lambda: fo.Regression(value=float(rng.integers(1, 6))),
        "integers": lambda: int(rng.integers(1, 6)),
        "tags": lambda: fo.Classifications(
            classifications=[fo.Classification(label=tag) for tag in ("sun", "rain", "snow") if rng.random() < 0.5]
        ),
        "masks": lambda: fo.Segmentation(mask=rng.integers(0, 2, (2, 3)).astype(np.uint8)),
    }
    return {name: [made[kind]() if rng.random() < 0.9 else None for _ in range(n)] for name in ANNOTATORS}


def said_dataset(make_dataset: Any, kind: str, n: int = 24, **options: Any) -> Any:
    """A dataset on which annotators said something of whole samples, with a run."""
    dataset = make_dataset({"unused": [None] * n})
    dataset.delete_sample_field("unused")
    for name, values in _said(kind, n).items():
        if kind in ("texts", "integers"):
            dataset.add_sample_field(name, fo.StringField if kind == "texts" else fo.IntField)
        dataset.set_values(name, values)
    compute_agreement(dataset, ANNOTATORS, **{"resamples": 0, **options})
    return dataset
