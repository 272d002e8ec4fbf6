"""Datasets of semantic masks, one field for each annotator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cv2
import fiftyone as fo
import numpy as np
from numpy.typing import NDArray

Mask = NDArray[Any]


def masked_dataset(
    make_dataset: Any, annotators: Mapping[str, Sequence[Mask | None]], folder: Path | None = None
) -> fo.Dataset:
    """A dataset with one mask an annotator and sample, None where there is none.

    Args:
        make_dataset: the fixture
        annotators: masks of every annotator
        folder: where the masks become files; None puts them into the database
    """
    dataset = make_dataset({})
    # all at once: add_sample_field() saves and reads the dataset for every field
    dataset._merge_sample_field_schema({name: fo.EmbeddedDocumentField(fo.Segmentation) for name in annotators})
    n_samples = max(map(len, annotators.values()))
    dataset.add_samples(
        [
            fo.Sample(
                filepath=f"/images/{k}.jpg",
                **{name: segmentation(masks[k], folder, f"{k}-{name}") for name, masks in annotators.items()},
            )
            for k in range(n_samples)
        ]
    )
    return dataset


def segmentation(mask: Mask | None, folder: Path | None = None, name: str = "mask") -> fo.Segmentation | None:
    """A mask as a label, in a file if a folder is given."""
    if mask is None or folder is None:
        return None if mask is None else fo.Segmentation(mask=mask)
    path = folder / f"{name}.png"
    cv2.imwrite(str(path), mask if mask.ndim == 2 else mask[:, :, ::-1])
    return fo.Segmentation(mask_path=str(path))


def random_masks(
    n_samples: int,
    names: Sequence[str] = ("alice", "bob", "carol"),
    *,
    values: Sequence[int] = (0, 1, 2, 5, 9),
    seed: int = 51,
    gaps: bool = True,
) -> dict[str, list[Mask | None]]:
    """Noisy versions of random masks of different sizes; some annotators without a mask, some classes absent."""
    rng = np.random.default_rng(seed)
    result: dict[str, list[Mask | None]] = {name: [] for name in names}
    for _ in range(n_samples):
        shape = tuple(rng.integers(4, 15, 2))
        used = rng.choice(values, int(rng.integers(1, len(values) + 1)), replace=False)
        true = rng.choice(used, shape)
        for name in names:
            noisy = np.where(rng.random(shape) < 0.3, rng.choice(used, shape), true).astype(np.uint8)
            result[name].append(None if gaps and rng.random() < 0.15 else noisy)
    return result
