"""Coefficients of many pairs of annotators at once, from how often the two gave which categories."""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray, IntArray, sums_by


def coefficients_by_pair(
    pair: IntArray, a: IntArray, b: IntArray, count: IntArray, n_pairs: int
) -> tuple[FloatArray, FloatArray]:
    """Cohen's kappa and Gwet's AC1 of every pair of annotators.

    Args:
        pair: shape ``(T,)``, numbers of pairs of annotators
        a: shape ``(T,)``, category ``>= 0`` that the first of the two gave
        b: shape ``(T,)``, that of the second
        count: shape ``(T,)``, how many units got these two; each (pair, a, b) may stand there several times
        n_pairs: number ``P`` of pairs

    Returns:
        kappa and AC1, each of shape ``(P,)``; the number of categories of AC1 is that which the two gave

    Undefined:
        nan without a unit, and where both gave one and the same category throughout

    Example:
        >>> once = np.ones(4, np.int64)
        >>> kappa, ac1 = coefficients_by_pair(0 * once, np.array([1, 1, 2, 2]), np.array([1, 2, 2, 2]), once, 1)
        >>> round(float(kappa[0]), 6), round(float(ac1[0]), 6)
        (0.5, 0.529412)

    References:
        J. Cohen, "A coefficient of agreement for nominal scales", 1960; K. L. Gwet, "Computing inter-rater reliability
        and its variance in the presence of high agreement", 2008
    """
    n = sums_by(pair, count, n_pairs)
    differing = sums_by(pair, np.where(a == b, 0, count), n_pairs)
    n_categories = int(max(a.max(initial=0), b.max(initial=0))) + 1
    keys, given = np.unique(np.concatenate([pair * n_categories + a, pair * n_categories + b]), return_inverse=True)
    of_a = sums_by(given[: len(a)], count, len(keys))
    of_b = sums_by(given[len(a) :], count, len(keys))
    # a count of 0 is as if it did not stand there
    keys, of_a, of_b = keys[of_a + of_b > 0], of_a[of_a + of_b > 0], of_b[of_a + of_b > 0]
    of_pair = keys // n_categories
    # disagreement expected by chance, times n² for kappa
    expected = n * n - sums_by(of_pair, of_a * of_b, n_pairs)
    kappa = np.where(expected > 0, 1.0 - n * differing / np.where(expected > 0, expected, 1.0), np.nan)
    share = (of_a + of_b) / (2.0 * n[of_pair])
    k = np.bincount(of_pair, minlength=n_pairs)
    hard = sums_by(of_pair, share * (1.0 - share), n_pairs) / np.maximum(k - 1, 1)
    observed = differing / np.maximum(n, 1.0)
    return kappa, np.where(k > 1, 1.0 - observed / (1.0 - hard), np.nan)
