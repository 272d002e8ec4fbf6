"""Medians of many small groups of rows."""

from __future__ import annotations

import numpy as np

from .arrays import FloatArray, IntArray


def medians_by_group(group: IntArray, values: FloatArray, n_groups: int) -> FloatArray:
    """The median of every column over the rows of every group; of an even number, the mean of the middle two.

    Args:
        group: shape ``(N,)``, group ``0 … G - 1`` of every row
        values: shape ``(N, C)``
        n_groups: number ``G`` of groups

    Returns:
        shape ``(G, C)``

    Undefined:
        nan for a group without rows, and in a column in which it has a nan

    Example:
        >>> medians_by_group(np.array([1, 1, 0, 1]), np.array([[3.0], [1.0], [5.0], [8.0]]), 2).ravel()
        array([5., 3.])
    """
    sizes = np.bincount(group, minlength=n_groups)
    order = np.argsort(group, kind="stable")
    start = np.cumsum(sizes) - sizes
    medians = np.full((n_groups, values.shape[1]), np.nan)
    # groups of one size are a dense array
    for size in np.unique(sizes[sizes > 0]).tolist():
        groups = np.flatnonzero(sizes == size)
        members = values[order[start[groups][:, None] + np.arange(size)]]
        members.sort(axis=1)  # nan comes last
        middle = (members[:, (size - 1) // 2] + members[:, size // 2]) / 2.0
        medians[groups] = np.where(np.isnan(members[:, -1]), np.nan, middle)
    return medians
