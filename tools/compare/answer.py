"""The answer of a program (numbers and units), and our alpha of its units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.dev.plugin import load_plugin

from .annotations import Annotations

#: value of a missed object, and of an image that everybody left empty
MISSING = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """The numbers of a program and its units.

    Attributes:
        mean: mean of the alphas of the images
        pooled: alpha of all units together; None where the program has none
        unit: shape ``(N,)``, unit of every annotation
    """

    mean: float
    pooled: float | None
    unit: NDArray[np.int64]


def units_from_ids(annotations: Annotations, units: Iterable[Sequence[int]]) -> NDArray[np.int64]:
    """Unit of every annotation, from lists of ids."""
    row = {number: k for k, number in enumerate(annotations.ids.tolist())}
    unit = np.full(len(row), -1)
    for number, members in enumerate(units):
        unit[[row[member] for member in members]] = number
    if (unit < 0).any():
        raise ValueError(f"Every annotation must be in a unit, got {int((unit < 0).sum())} that are in none")
    return unit


def reliability_tables(annotations: Annotations, unit: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """Ratings of the units of every image, shape ``(U, R)``; an image without labels is one unit that all missed."""
    _, unit = np.unique(unit, return_inverse=True)
    table = np.full((int(unit.max(initial=-1)) + 1, len(annotations.annotators)), float(MISSING))
    table[unit, annotations.annotator] = annotations.category
    sample = np.zeros(len(table), np.int64)
    sample[unit] = annotations.sample
    order = np.argsort(sample, kind="stable")
    parts = np.split(table[order], np.searchsorted(sample[order], np.arange(1, annotations.n_samples)))
    return [part if len(part) else np.full((1, table.shape[1]), float(MISSING)) for part in parts]


def our_alphas(tables: Sequence[NDArray[np.float64]], decimals: int | None = None) -> tuple[float, float]:
    """Mean and pooled alpha under the rules of the other programs: missing is a category, no variation counts 1.

    Args:
        tables: ratings of every image
        decimals: digits to which the alpha of every image is rounded
    """
    metrics = load_plugin().metrics
    alphas = np.array([metrics.krippendorff_alpha(table) for table in tables])
    alphas[np.isnan(alphas)] = 1.0
    if decimals is not None:
        alphas = np.round(alphas, decimals)
    return float(alphas.mean()), float(metrics.krippendorff_alpha(np.concatenate(tables)))
