"""Hierarchical clustering by average linkage, where some similarities may be unknown."""

from __future__ import annotations

import numpy as np

from .arrays import FloatArray
from .matching.partition import TIE


def average_linkage(similarity: FloatArray) -> list[tuple[tuple[int, ...], float]]:
    """Join the two most similar groups, again and again; the similarity of two groups is the mean over their members.

    The average is over the pairs of members, one of each group, whose similarity is known: an unknown one is neither
    guessed nor taken for 0. Groups without any known pair are never joined. Of equally similar groups (by less than
    ``TIE``) those are joined whose members come first.

    Args:
        similarity: shape ``(N, N)``, symmetric, nan where unknown; the diagonal is not looked at

    Returns:
        for every join, in order: the members, ascending, and the similarity of the two groups; ``N - 1`` joins, or
        fewer where not everything is known

    Undefined:
        never; no join where nothing is known

    Raises:
        ValueError: if the matrix is not square or not symmetric

    Example:
        >>> average_linkage(np.array([[1, 0.9, 0.5], [0.9, 1, 0.4], [0.5, 0.4, 1]]))
        [((0, 1), 0.9), ((0, 1, 2), 0.45)]

    References:
        R. R. Sokal, C. D. Michener, "A statistical method for evaluating systematic relationships", 1958 (UPGMA)
    """
    matrix = np.asarray(similarity, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"`similarity` must have the shape (N, N), got {matrix.shape}")
    if not np.array_equal(matrix, matrix.T, equal_nan=True):
        raise ValueError("`similarity` must be symmetric")
    known = (~np.isnan(matrix)).astype(np.float64)
    total = np.nan_to_num(matrix)
    groups: list[tuple[int, ...]] = [(k,) for k in range(len(matrix))]
    joins = []
    while len(groups) > 1:
        first, second = np.triu_indices(len(groups), 1)
        n = known[first, second]
        mean = np.where(n > 0, total[first, second] / np.maximum(n, 1.0), -np.inf)
        if not (n > 0).any():
            break
        equal = np.flatnonzero(mean >= mean.max() - TIE)
        chosen = min(equal.tolist(), key=lambda k: (groups[first[k]], groups[second[k]]))
        a, b = int(first[chosen]), int(second[chosen])
        members = tuple(sorted(groups[a] + groups[b]))
        joins.append((members, float(mean[chosen])))
        for sums in (total, known):
            sums[a] += sums[b]
            sums[:, a] += sums[:, b]
        total, known = (np.delete(np.delete(sums, b, axis=0), b, axis=1) for sums in (total, known))
        groups[a] = members
        del groups[b]
    return joins
