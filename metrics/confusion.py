"""How often two annotators gave each pair of categories."""

from __future__ import annotations

import numpy as np

from .alpha.ratings import check_ratings
from .arrays import FloatArray, IntArray


def confusion_matrix(a: FloatArray | IntArray, b: FloatArray | IntArray, n_categories: int) -> IntArray:
    """Count the units by the categories that two annotators gave them.

    Neither is the truth: swapping them transposes the matrix, ``confusion_matrix(b, a, K)`` is
    ``confusion_matrix(a, b, K).T``. Where it does not matter who gave which (a matrix over many pairs of annotators),
    use the sum of the two: symmetric, with every agreement counted twice.

    Args:
        a: shape ``(U,)``, category codes ``0 … K - 1``, nan where the first did not rate
        b: shape ``(U,)``, those of the second
        n_categories: number of categories ``K``

    Returns:
        shape ``(K, K)``; entry ``[c, k]`` is the number of units that got ``c`` in ``a`` and ``k`` in ``b``

    Undefined:
        never; all 0 without a unit that both rated

    Raises:
        ValueError: if the shapes differ or a code is not one of ``0 … K - 1``

    Example:
        >>> confusion_matrix(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), 2)
        array([[1, 1],
               [0, 2]])
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"`a` and `b` must have the same shape (U,), got {first.shape} and {second.shape}")
    table = check_ratings(np.column_stack([first, second]))
    given = table[~np.isnan(table)]
    wrong = given[(given < 0) | (given >= n_categories) | (given % 1 != 0)]
    if len(wrong):
        raise ValueError(f"`a` and `b` must be codes from 0 to {n_categories - 1}, got {np.unique(wrong)[:5].tolist()}")
    codes = table[~np.isnan(table).any(axis=1)].astype(np.int64)
    counts = np.bincount(codes[:, 0] * n_categories + codes[:, 1], minlength=n_categories**2)
    return counts.reshape(n_categories, n_categories)
