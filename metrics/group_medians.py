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
        members = [values[order[start[groups] + k]] for k in range(size)]
        medians[groups] = _median(members)
    return medians


def _median(members: list[FloatArray]) -> FloatArray:
    """The median of arrays of one shape, value by value; nan where any is."""
    # most groups are this small, and sorting them takes several times as long
    if len(members) <= 2:
        return (members[0] + members[-1]) / 2.0
    if len(members) == 3:
        a, b, c = members
        return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))
    ordered = np.sort(members, axis=0)  # nan comes last
    middle = (ordered[(len(members) - 1) // 2] + ordered[len(members) // 2]) / 2.0
    return np.where(np.isnan(ordered[-1]), np.nan, middle)
