"""Pairs of annotators by number."""

from __future__ import annotations

import numpy as np

from ..metrics.arrays import IntArray


def pair_rows(a: IntArray, b: IntArray, n_annotators: int) -> IntArray:
    """Number of the pair of annotators ``a`` before ``b``, in the order (0, 1), (0, 2) … (R - 2, R - 1)."""
    number: IntArray = a * n_annotators - a * (a + 1) // 2 + (b - a - 1)
    return number


def pair_names(n_annotators: int) -> tuple[IntArray, IntArray]:
    """Annotators ``(a, b)`` of every pair, in the order of :func:`pair_rows`."""
    a, b = np.triu_indices(n_annotators, 1)
    return a, b
