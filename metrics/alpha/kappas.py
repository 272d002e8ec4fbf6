"""Chance-corrected agreement of ratings: the kappas, Brennan-Prediger, Gwet's AC1 and AC2, weighted or not.

All are ``(p_a - p_e) / (1 - p_e)``, computed as ``1 - D_o / D_e`` with the observed disagreement ``D_o = 1 - p_a`` and
the expected disagreement ``D_e = 1 - p_e``. They differ in ``D_e`` only.

Missing ratings as in Gwet (2014): ``D_o`` is the mean over the units with at least two ratings, and the proportions of
the categories come from all units with a rating.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np

from ..numeric.arrays import FloatArray, IntArray, sums_by
from .nominal import Undefined, alpha_of, chance_corrected, unit_disagreement
from .rated import Distance, RatingCounts, category_positions, check_ratings, count_ratings

#: weights of agreement by the distance of two categories in the list of categories
Weights: TypeAlias = Literal["identity", "linear", "quadratic", "ordinal"]
Categories = Sequence[float] | FloatArray | None


def category_weights(weights: Weights, n_categories: int, values: FloatArray | None = None) -> FloatArray:
    """Weights of agreement of all pairs of categories.

    With the distance ``d = |c - k|`` of two positions and ``D = K - 1``: identity ``1[d = 0]``, linear ``1 - d / D``,
    quadratic ``1 - (d / D)²``, ordinal ``1 - d (d + 1) / (D (D + 1))``. With values, ``d`` of linear and quadratic
    weights is the difference of two values, and ``D`` the largest difference.

    Args:
        weights: kind of weights; ``"ordinal"`` means Gwet's weights, not Krippendorff's ordinal difference
        n_categories: number of categories ``K``, ``>= 0``
        values: shape ``(K,)``, the numbers that the categories stand for; None: categories are one step apart

    Returns:
        shape ``(K, K)`` in [0, 1]; entry ``[c, k]`` is 1 where ``c == k``

    Raises:
        ValueError: if the weights are unknown, or the number is negative

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
    if values is not None and n_categories > 1 and weights in ("linear", "quadratic"):
        share = np.abs(values[:, None] - values[None, :]) / (values.max() - values.min())
        agreement = 1.0 - (share if weights == "linear" else np.square(share))
    return agreement


def disagreement_weights(weights: Weights | FloatArray, n_categories: int) -> Distance:
    """One minus the weights, as a function of two index columns of categories.

    Raises:
        ValueError: if the weights are unknown, or a table of them does not have the shape ``(K, K)``
    """
    if isinstance(weights, np.ndarray):
        table = weights
        if table.shape != (n_categories, n_categories):
            raise ValueError(f"`weights` must have shape ({n_categories}, {n_categories}), got {table.shape}")
        return lambda c, k: 1.0 - table[c, k]
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


def expected_disagreement(weights: Weights | FloatArray, a: FloatArray, b: FloatArray) -> float:
    """``Σ_ck v_ck a_c b_k`` of two columns ``(K,)`` with the disagreement ``v = 1 - w``; exactly 0 for one category.

    Memory: ``K × K`` numbers; ``K`` with identity weights.
    """
    if _is_identity(weights):
        return float((a * (b.sum() - b)).sum())
    codes = np.arange(len(a))
    return float(a @ disagreement_weights(weights, len(a))(codes[:, None], codes[None, :]) @ b)


def _is_identity(weights: Weights | FloatArray) -> bool:
    return isinstance(weights, str) and weights == "identity"


def _total_weight(weights: Weights | FloatArray, n_categories: int) -> float:
    """``Σ_ck w_ck``."""
    if _is_identity(weights):
        return float(n_categories)
    codes = np.arange(n_categories)
    apart = disagreement_weights(weights, n_categories)(codes[:, None], codes[None, :])
    return float((1.0 - apart).sum())


def _differing(counts: RatingCounts, weights: Weights | FloatArray) -> FloatArray:
    """Weighted number of ordered pairs of ratings that differ, for every unit; shape ``(U,)``."""
    if _is_identity(weights):
        return unit_disagreement(counts.unit, counts.count, counts.n_units)[1].astype(np.float64)
    return counts.disagreement(disagreement_weights(weights, counts.n_categories))


def _observe(
    ratings: FloatArray, weights: Weights | FloatArray, categories: Categories
) -> tuple[int, FloatArray, float]:
    """What all coefficients of a table have in common.

    Returns:
        number ``K`` of categories; proportion of every category ``(K,)``, the mean over the rated units; weighted share
        of differing pairs, the mean over the units with at least two ratings, nan without such units
    """
    counts = count_ratings(ratings, categories)
    disagreement_weights(weights, counts.n_categories)  # unknown weights are an error even without ratings
    m = counts.per_unit()
    rated, several = m >= 1, m >= 2
    category_sums = sums_by(counts.category, counts.count / m[counts.unit], counts.n_categories)
    share = category_sums / max(int(rated.sum()), 1)
    differing = _differing(counts, weights)[several] / (m[several] * (m[several] - 1))
    return counts.n_categories, share, float(differing.mean()) if len(differing) else math.nan


def _two_columns(a: FloatArray, b: FloatArray, categories: Categories) -> tuple[IntArray, IntArray, int]:
    """Category positions of the units that both rated, and the number of categories."""
    columns = [np.asarray(column, dtype=np.float64) for column in (a, b)]
    if columns[0].ndim != 1 or columns[0].shape != columns[1].shape:
        raise ValueError(f"`a` and `b` must have the same shape (U,), got {columns[0].shape} and {columns[1].shape}")
    table = check_ratings(np.column_stack(columns))
    table = table[~np.isnan(table).any(axis=1)]
    position, n_categories = category_positions(table.ravel(), categories)
    return position[::2], position[1::2], n_categories


def cohen_kappa(
    a: FloatArray, b: FloatArray, *, weights: Weights | FloatArray | None = None, categories: Categories = None
) -> float:
    """Cohen's kappa of two annotators with separate marginals, over the units that both rated.

    Args:
        a: shape ``(U,)``, category codes of one annotator, nan where not rated
        b: shape ``(U,)``, category codes of the other
        weights: see :func:`category_weights`, which also gives the table of weights by value; None is ``"identity"``
        categories: all categories in their order; by default the categories that occur, ascending. Matters for weights
            only: distances are steps in this list (not differences of the codes)

    Undefined:
        nan without a unit that both rated, and where both always gave the same single category

    Raises:
        ValueError: if the shapes differ, a rating is infinite or not in ``categories``, or the weights are unknown

    Example:
        >>> cohen_kappa(np.array([1, 1, 2, 2.]), np.array([1, 2, 2, 2.]))
        0.5

    References:
        J. Cohen, "A coefficient of agreement for nominal scales", 1960; "Weighted kappa", 1968
    """
    first, second, n_categories = _two_columns(a, b, categories)
    kind: Weights | FloatArray = "identity" if weights is None else weights
    differing = disagreement_weights(kind, n_categories)(first, second)
    if not len(differing):
        return math.nan
    shares = [np.bincount(column, minlength=n_categories) / len(column) for column in (first, second)]
    return float(chance_corrected(float(differing.mean()), expected_disagreement(kind, shares[0], shares[1])))


def scott_pi(a: FloatArray, b: FloatArray, *, weights: Weights = "identity", categories: Categories = None) -> float:
    """Scott's pi of two annotators with pooled marginals; arguments as in :func:`cohen_kappa`.

    Undefined:
        nan without a unit that both rated, and where both always gave the same single category

    Raises:
        ValueError: as :func:`cohen_kappa`

    Example:
        >>> round(scott_pi(np.array([1, 1, 2, 2.]), np.array([1, 2, 2, 2.])), 6)
        0.466667

    References:
        W. A. Scott, "Reliability of content analysis: the case of nominal scale coding", 1955
    """
    first, second, n_categories = _two_columns(a, b, categories)
    both = np.column_stack([first, second]).astype(np.float64)
    return fleiss_kappa(both, weights=weights, categories=np.arange(n_categories, dtype=np.float64))


def fleiss_kappa(
    ratings: FloatArray, *, weights: Weights | FloatArray = "identity", categories: Categories = None
) -> float:
    """Fleiss' kappa: chance agreement from the pooled proportions of the categories, ``p_e = Σ w_ck π_c π_k``.

    Args:
        ratings: shape ``(U, R)``, category codes, nan where an annotator did not rate a unit
        weights: see :func:`category_weights`; a kind of weights, or the table ``(K, K)`` of them
        categories: all categories that could have been given, in their order; by default the categories that occur,
            ascending. Distances are steps in this list (not differences of the codes)

    Undefined:
        nan without a unit that two annotators rated, and where all ratings are of one category

    Raises:
        ValueError: if the table does not have two dimensions, a value is infinite or not in ``categories``, or the
            weights are unknown

    Example:
        >>> round(fleiss_kappa(np.array([[1, 1], [1, 2], [2, 2], [2, 2.]])), 6)
        0.466667

    References:
        J. L. Fleiss, "Measuring nominal scale agreement among many raters", 1971; K. L. Gwet, "Handbook of
        Inter-Rater Reliability", 4th ed., 2014
    """
    _, share, disagreement = _observe(ratings, weights, categories)
    return float(chance_corrected(disagreement, expected_disagreement(weights, share, share)))


def conger_kappa(
    ratings: FloatArray, *, weights: Weights | FloatArray = "identity", categories: Categories = None
) -> float:
    """Conger's kappa: separate marginals; ``p_e`` is the mean of Cohen's ``p_e`` over the pairs of annotators.

    Equals Cohen's kappa for two annotators who rated everything. Arguments as in :func:`fleiss_kappa`; annotators
    without a rating do not count.

    Undefined:
        nan without a unit that two annotators rated, and where all ratings are of one category

    Raises:
        ValueError: as :func:`fleiss_kappa`

    Example:
        >>> conger_kappa(np.array([[1, 1], [1, 2], [2, 2], [2, 2.]]))
        0.5

    References:
        A. J. Conger, "Integration and generalization of kappas for multiple raters", 1980; K. L. Gwet, "Handbook of
        Inter-Rater Reliability", 4th ed., 2014
    """
    _, _, disagreement = _observe(ratings, weights, categories)
    table = check_ratings(ratings)
    listed = np.unique(table[~np.isnan(table)]) if categories is None else categories
    columns = (category_positions(column[~np.isnan(column)], listed) for column in table.T)
    counted = (np.bincount(position, minlength=k) for position, k in columns if len(position))
    by_annotator = np.array(list(counted))
    if len(by_annotator) < 2:
        return math.nan
    share = by_annotator / by_annotator.sum(axis=1, keepdims=True)
    # sum over all ordered pairs, minus every annotator paired with itself
    total = share.sum(axis=0)
    own = sum(expected_disagreement(weights, row, row) for row in share)
    n_pairs = len(share) * (len(share) - 1)
    return float(chance_corrected(disagreement, (expected_disagreement(weights, total, total) - own) / n_pairs))


def brennan_prediger(
    ratings: FloatArray,
    n_categories: int | None = None,
    *,
    weights: Weights | FloatArray = "identity",
    categories: Categories = None,
) -> float:
    """Brennan and Prediger's coefficient: chance gives every category equally often, ``p_e = Σ w_ck / K²``.

    Args:
        ratings: as in :func:`fleiss_kappa`
        n_categories: number ``K`` of categories that could have been given; with weights, give ``categories`` instead
        weights: as in :func:`fleiss_kappa`
        categories: as in :func:`fleiss_kappa`

    Undefined:
        nan without a unit that two annotators rated, and with one category

    Raises:
        ValueError: as :func:`fleiss_kappa`; if ``n_categories`` is given together with ``categories`` or weights, or
            is less than the number of categories that occur

    Example:
        >>> brennan_prediger(np.array([[1, 1], [1, 2], [2, 2], [2, 2.]]))
        0.5

    References:
        R. L. Brennan, D. J. Prediger, "Coefficient kappa: some uses, misuses, and alternatives", 1981
    """
    k, _, disagreement = _observe(ratings, weights, categories)
    if n_categories is not None:
        if categories is not None or not _is_identity(weights):
            raise ValueError(f"`n_categories` must be None with `categories` or `weights`, got {n_categories}")
        if n_categories < k:
            raise ValueError(f"`n_categories` must be at least the {k} that occur, got {n_categories}")
        k = n_categories
    return float(chance_corrected(disagreement, 1.0 - _total_weight(weights, k) / k**2 if k else 0.0))


def gwet_ac2(
    ratings: FloatArray, *, weights: Weights | FloatArray = "quadratic", categories: Categories = None
) -> float:
    """Gwet's AC2: chance agreement ``p_e = Σ w_ck Σ π_c (1 - π_c) / (K (K - 1))``, on hard ratings only.

    Rises where one category prevails, where kappa and alpha fall. Arguments as in :func:`fleiss_kappa`; the number of
    ``categories`` matters, so list all that could have been chosen.

    Undefined:
        nan without a unit that two annotators rated, and with one category

    Raises:
        ValueError: as :func:`fleiss_kappa`

    Example:
        >>> round(gwet_ac2(np.array([[1, 1], [1, 2], [3, 3], [3, 3.]])), 6)
        0.846154

    References:
        K. L. Gwet, "Computing inter-rater reliability and its variance in the presence of high agreement", 2008;
        "Handbook of Inter-Rater Reliability", 4th ed., 2014
    """
    k, share, disagreement = _observe(ratings, weights, categories)
    if k < 2:
        return math.nan
    chance = _total_weight(weights, k) / (k * (k - 1)) * float((share * (1.0 - share)).sum())
    return float(chance_corrected(disagreement, 1.0 - chance))


def gwet_ac1(ratings: FloatArray, *, categories: Categories = None) -> float:
    """Gwet's AC1: :func:`gwet_ac2` without weights, ``p_e = Σ π_c (1 - π_c) / (K - 1)``.

    Undefined:
        as :func:`gwet_ac2`
    """
    return gwet_ac2(ratings, weights="identity", categories=categories)


def weighted_alpha(
    ratings: FloatArray,
    *,
    weights: Weights | FloatArray = "quadratic",
    categories: Categories = None,
    undefined: Undefined = "none",
) -> float:
    """Krippendorff's alpha with the disagreement ``1 - w``; other arguments as in :func:`fleiss_kappa`.

    Equals nominal alpha with ``"identity"``, and interval alpha of equally spaced categories with ``"quadratic"``.

    Args:
        undefined: as in :func:`alpha_of`

    Undefined:
        nan without two ratings of one unit; where all of these ratings are of one category nan, or 1 if ``undefined``
        says so

    Raises:
        ValueError: as :func:`fleiss_kappa`

    Example:
        >>> round(weighted_alpha(np.array([[1, 1], [1, 2], [2, 2.]]), weights="linear"), 6)
        0.444444

    References:
        K. L. Gwet, "On the Krippendorff's alpha coefficient", 2011
    """
    counts = count_ratings(ratings, categories)
    disagreement_weights(weights, counts.n_categories)
    counts = counts.pairable_units()
    m = counts.per_unit()
    several = m >= 2
    category_sums = sums_by(counts.category, counts.count, counts.n_categories)
    observed = float((_differing(counts, weights)[several] / (m[several] - 1)).sum())
    expected = expected_disagreement(weights, category_sums, category_sums)
    return float(alpha_of(observed, expected, m.sum(), undefined=undefined))


#: rows (pair of annotators, two categories, count) that are counted at once
_ROWS_AT_ONCE = 500_000


def coefficients_by_pair(
    pair: IntArray, a: IntArray, b: IntArray, count: IntArray, n_pairs: int
) -> tuple[FloatArray, FloatArray]:
    """Cohen's kappa and Gwet's AC1 of every pair of annotators.

    Args:
        pair: shape ``(T,)``, number of the pair of annotators
        a: shape ``(T,)``, category ``>= 0`` given by the first annotator of the pair
        b: shape ``(T,)``, category given by the second
        count: shape ``(T,)``, number of units with these two categories; (pair, a, b) may occur several times
        n_pairs: number ``P`` of pairs

    Returns:
        kappa and AC1, each of shape ``(P,)``; AC1 counts the categories that the pair used

    Undefined:
        nan without a unit, and where both always gave the same single category

    Example:
        >>> once = np.ones(4, np.int64)
        >>> kappa, ac1 = coefficients_by_pair(0 * once, np.array([1, 1, 2, 2]), np.array([1, 2, 2, 2]), once, 1)
        >>> round(float(kappa[0]), 6), round(float(ac1[0]), 6)
        (0.5, 0.529412)

    References:
        J. Cohen, "A coefficient of agreement for nominal scales", 1960; K. L. Gwet, "Computing inter-rater reliability
        and its variance in the presence of high agreement", 2008
    """
    if (np.diff(pair) < 0).any():
        order = np.argsort(pair, kind="stable")
        pair, a, b, count = pair[order], a[order], b[order], count[order]
    ends = np.searchsorted(pair, np.arange(n_pairs + 1))
    found = np.full((2, n_pairs), np.nan)
    first = 0
    while first < n_pairs:  # some pairs at a time, which bounds the memory
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + _ROWS_AT_ONCE, side="right")) - 1)
        rows, n_here = slice(ends[first], ends[last]), last - first
        of, one, other, times = pair[rows] - first, a[rows], b[rows], count[rows]
        n = sums_by(of, times, n_here)
        differing = sums_by(of, np.where(one == other, 0, times), n_here)
        n_categories = int(max(one.max(initial=0), other.max(initial=0))) + 1
        cells = np.concatenate([of * n_categories + one, of * n_categories + other])
        keys, given = np.unique(cells, return_inverse=True)
        count_a, count_b = (sums_by(each, times, len(keys)) for each in (given[: len(of)], given[len(of) :]))
        used = count_a + count_b > 0  # rows with a count of 0 do not count
        keys, count_a, count_b = keys[used], count_a[used], count_b[used]
        pair_of_key = keys // n_categories
        # disagreement expected by chance, times n² for kappa
        found[0, first:last] = chance_corrected(n * differing, n * n - sums_by(pair_of_key, count_a * count_b, n_here))
        share = (count_a + count_b) / (2.0 * n[pair_of_key])
        k = np.bincount(pair_of_key, minlength=n_here)
        hard = sums_by(pair_of_key, share * (1.0 - share), n_here) / np.maximum(k - 1, 1)
        found[1, first:last] = chance_corrected(differing / np.maximum(n, 1.0), np.where(k > 1, 1.0 - hard, 0.0))
        first = last
    return found[0], found[1]
