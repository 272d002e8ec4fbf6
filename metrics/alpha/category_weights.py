"""Weights of pairs of categories: how much a disagreement counts."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np

from ..arrays import FloatArray, IntArray
from .ratings import Distance

#: how much two categories agree, by their distance in the list of categories
Weights: TypeAlias = Literal["identity", "linear", "quadratic", "ordinal"]


def category_weights(weights: Weights, n_categories: int) -> FloatArray:
    """Weights of agreement of all pairs of categories.

    With the distance ``d = |c - k|`` of their positions and the largest one ``D = K - 1``: identity ``1[d = 0]``,
    linear ``1 - d / D``, quadratic ``1 - (d / D)²``, ordinal ``1 - d (d + 1) / (D (D + 1))``.

    Args:
        weights: kind of weights; ``"ordinal"`` are those of Gwet, not the difference of Krippendorff's ordinal alpha
        n_categories: number of categories ``K``, ``>= 0``

    Returns:
        shape ``(K, K)`` in [0, 1]; entry ``[c, k]`` is 1 where ``c == k``

    Raises:
        ValueError: if the weights have another name, or the number is negative

    Example:
        >>> category_weights("ordinal", 3).round(4)
        array([[1.    , 0.6667, 0.    ],
               [0.6667, 1.    , 0.6667],
               [0.    , 0.6667, 1.    ]])

    References:
        K. L. Gwet, "Handbook of Inter-Rater Reliability", 4th ed., 2014, section 3.5
    """
    if n_categories < 0:
        raise ValueError(f"`n_categories` must be >= 0, got {n_categories}")
    codes = np.arange(n_categories)
    agreement: FloatArray = 1.0 - disagreement_weights(weights, n_categories)(codes[:, None], codes[None, :])
    return agreement


def disagreement_weights(weights: Weights, n_categories: int) -> Distance:
    """One minus the weights, as a function of two index columns of categories.

    Raises:
        ValueError: if the weights have another name
    """
    if weights not in get_args(Weights):
        raise ValueError(f"`weights` must be one of {', '.join(get_args(Weights))}, got {weights!r}")
    largest = max(n_categories - 1, 1)

    def disagreement(c: IntArray, k: IntArray) -> FloatArray:
        distance: FloatArray = np.abs(c - k).astype(np.float64)
        if weights == "identity":
            return np.minimum(distance, 1.0)
        if weights == "linear":
            return distance / largest
        if weights == "quadratic":
            return np.square(distance / largest)
        return distance * (distance + 1) / (largest * (largest + 1))

    return disagreement


def expected_disagreement(weights: Weights, a: FloatArray, b: FloatArray) -> float:
    """``Σ_ck v_ck a_c b_k`` of two columns ``(K,)`` with the disagreement ``v = 1 - w``; exactly 0 for one category.

    Weighted, it takes ``K × K`` numbers; with identity weights ``K``.
    """
    if weights == "identity":
        return float((a * (b.sum() - b)).sum())
    codes = np.arange(len(a))
    return float(a @ disagreement_weights(weights, len(a))(codes[:, None], codes[None, :]) @ b)
