"""Tests of a rate against that of the others on the same images, false discoveries, the alternative annotator test.

Axes: ``G`` groups (such as annotators), ``T`` rows (a group on an image), ``S`` items (images), ``R`` annotators.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from .arrays import BoolArray, FloatArray, IntArray, distinct, sums_by

#: columns of a row: numerator and denominator of the rate (missed, could have been missed), and those of the others
N_COLUMNS = 4
_UPPER = np.triu_indices(N_COLUMNS)
#: smaller differences and errors are rounding
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class RateMoments:
    """Sums over images of the four columns of every group, and of their products; they add up over batches."""

    group: IntArray  #: shape ``(G,)``, ascending
    n: IntArray  #: shape ``(G,)``, images on which the denominator of the group is not 0
    sums: FloatArray  #: shape ``(G, 4)``
    products: FloatArray  #: shape ``(G, 10)``, of the columns (0, 0), (0, 1) … (3, 3)
    n_others: FloatArray  #: shape ``(G,)``, labels of the others

    @classmethod
    def of(cls, group: IntArray, columns: FloatArray) -> RateMoments:
        """The moments of rows.

        Args:
            group: shape ``(T,)``, group of every row
            columns: shape ``(4, T)``, a row for every image of a group: numerator, denominator, those of the others;
                or ``(5, T)``, if the labels of the others, the last column, are not their denominator
        """
        lowest = group.min(initial=np.iinfo(np.int64).max)
        different, place = distinct(group - lowest, int((group - lowest).max(initial=-1)) + 1)
        n = len(different)
        products = (columns[k] * columns[m] for k, m in zip(*_UPPER, strict=True))
        n_observed = np.bincount(place[columns[1] != 0], minlength=n)
        sums = _sums(place, columns, n)
        return cls(different + lowest, n_observed, sums[:, :N_COLUMNS], _sums(place, products, n), sums[:, -1])

    @classmethod
    def of_table(cls, group: IntArray, columns: FloatArray, clusters: IntArray | None = None) -> RateMoments:
        """The moments of groups that have a row for every image.

        Args:
            group: shape ``(G,)``, ascending, each once
            columns: shape ``(4, S, G)`` or ``(5, S, G)``, as of :meth:`of`
            clusters: shape ``(S,)``, number of the video or group of every image, which counts as one image; None: none
        """
        if clusters is not None:
            added = np.zeros((int(clusters.max(initial=-1)) + 1, len(columns), len(group)))
            np.add.at(added, clusters, columns.swapaxes(0, 1))
            columns = added.swapaxes(0, 1)
        products = [(columns[i] * columns[j]).sum(axis=0) for i, j in zip(*_UPPER, strict=True)]
        n = np.count_nonzero(columns[1], axis=0)
        sums = columns.sum(axis=1).T
        return cls(group, n, sums[:, :N_COLUMNS], np.stack(products, axis=1), sums[:, -1])

    def only(self, groups: BoolArray | IntArray) -> RateMoments:
        """The moments of the groups in a mask ``(G,)``, or in these rows."""
        sums, products = self.sums[groups], self.products[groups]
        return RateMoments(self.group[groups], self.n[groups], sums, products, self.n_others[groups])

    def times(self, factor: FloatArray) -> RateMoments:
        """The moments with the numerators of all groups multiplied, by factors of shape ``(G,)``."""
        sums, products = self.sums.copy(), self.products.copy()
        sums[:, 0] *= factor
        products[:, :N_COLUMNS] *= factor[:, None]
        products[:, 0] *= factor
        return RateMoments(self.group, self.n, sums, products, self.n_others)

    @classmethod
    def added(cls, parts: Sequence[RateMoments]) -> RateMoments:
        """The moments of all parts together; empty without parts."""
        parts = [cls.of(np.empty(0, np.int64), np.empty((N_COLUMNS, 0))), *parts]
        group, place = np.unique(np.concatenate([part.group for part in parts]), return_inverse=True)
        n = sums_by(place, np.concatenate([part.n for part in parts]), len(group)).astype(np.int64)
        sums, products, n_others = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("sums", "products", "n_others")
        )
        sums, products = (_sums(place, each.T, len(group)) for each in (sums, products))
        return cls(group, n, sums, products, sums_by(place, n_others, len(group)))


def _sums(place: IntArray, columns: Iterable[FloatArray], n: int) -> FloatArray:
    return np.column_stack([sums_by(place, column, n) for column in columns])


@dataclass(frozen=True, slots=True)
class RateTests:
    """The rate of every group, that of the others, and the test of their difference; each of shape ``(G,)``."""

    rate: FloatArray
    others: FloatArray
    difference: FloatArray
    error: FloatArray  #: standard error of the difference
    low: FloatArray  #: interval of the difference
    high: FloatArray
    p_greater: FloatArray  #: of the null hypothesis that the rate is at most that of the others, plus the margin
    p_different: FloatArray  #: of the null hypothesis that both differ by at most the margin


def rate_tests(
    moments: RateMoments,
    expected: FloatArray | None = None,
    margin: FloatArray | float = 0.0,
    error_of_expected: FloatArray | float = 0.0,
    limits: tuple[FloatArray | float, FloatArray | float] = (-np.inf, np.inf),
    level: float = 0.95,
) -> RateTests:
    """Test whether the rate of every group is that of the others on the same images.

    The null hypothesis is that ``E(numerator) / E(denominator)`` of the group equals that of the others, up to a
    margin. An image is one independent draw: labels on one image, of one annotator or of several, may depend on each
    other in any way. The variance of the difference is that of the linearised ratios over images (the
    infinitesimal jackknife), and the statistic is compared with Student's t with one degree of freedom less than there
    are images.

    Args:
        moments: sums over images; whole videos or groups count as one image
        expected: shape ``(G,)``, known rate to compare with; nan: that of the others. None: the others everywhere
        margin: a difference up to this belongs to the null hypothesis
        error_of_expected: shape ``(G,)``, standard error of the expected rate, where that is itself estimated
        limits: the smallest and the largest possible difference, shape ``(G,)`` each; intervals end there
        level: confidence level of the intervals

    Undefined:
        nan for a group with fewer than two images, or where its denominator, or that of the others, is 0. If
        nothing varies, the p-value is 0 where the rates differ by more than the margin, and 1 where they do not

    References:
        W. G. Cochran, "Sampling techniques", 1977, section 6.4 (variance of a ratio); B. Efron, "The jackknife, the
        bootstrap and other resampling plans", 1982, chapter 6; J. N. K. Rao, A. J. Scott, "A simple method for the
        analysis of clustered binary data", 1992 (images as clusters)
    """
    known = np.full(len(moments.n), np.nan) if expected is None else expected
    is_known = ~np.isnan(known)
    own, whole, count, others_whole = moments.sums.T
    defined = (moments.n >= 2) & (whole > 0) & (is_known | (others_whole > 0))
    whole, others_whole = np.where(whole > 0, whole, 1.0), np.where(others_whole > 0, others_whole, 1.0)
    rate, others = own / whole, np.where(is_known, known, count / others_whole)
    against = np.where(is_known, 0.0, 1.0 / others_whole)
    weights = np.column_stack([1.0 / whole, -rate / whole, -against, others * against])
    first, second = _UPPER
    terms = moments.products * weights[:, first] * weights[:, second] * np.where(first == second, 1, 2)
    squares = terms.sum(axis=1)
    n = np.maximum(moments.n, 2)
    variance = np.where(squares > ROUNDING * np.abs(terms).sum(axis=1), squares, 0.0) * n / (n - 1)
    error = np.sqrt(variance + np.where(is_known, error_of_expected, 0.0) ** 2)
    difference = rate - others
    reach = stdtrit(n - 1, 0.5 + level / 2) * error

    def where(values: FloatArray) -> FloatArray:
        return np.where(defined, values, np.nan)

    return RateTests(
        rate=where(rate),
        others=where(others),
        difference=where(difference),
        error=where(error),
        low=where(np.maximum(difference - reach, limits[0])),
        high=where(np.minimum(difference + reach, limits[1])),
        p_greater=where(_tail(difference - margin, error, n)),
        p_different=where(np.minimum(1.0, 2.0 * _tail(np.abs(difference) - margin, error, n))),
    )


def _tail(excess: FloatArray, error: FloatArray, n: IntArray) -> FloatArray:
    """Probability of at least this excess; 0 or 1 where nothing varies."""
    varies = error > ROUNDING
    tail: FloatArray = stdtr(n - 1, -excess / np.where(varies, error, 1.0))
    return np.where(varies, tail, np.where(excess > ROUNDING, 0.0, 1.0))


def p_values_of_reach(
    difference: FloatArray, reach: FloatArray, n: FloatArray, added_error: FloatArray | float = 0.0
) -> FloatArray:
    """Two-sided p-values of differences, from their 95 % intervals.

    By Student's t with ``n - 1`` degrees of freedom, of which 97.5 % are below ``reach`` / error.

    Args:
        difference: shape ``(N,)``
        reach: shape ``(N,)``, positive: from the difference to the end of its interval that is nearer to 0
        n: shape ``(N,)``, independent draws, such as images; fewer than 2 count as 2
        added_error: shape ``(N,)``, an error in addition to that of the interval

    Undefined:
        never

    References:
        D. G. Altman, J. M. Bland, "How to obtain the P value from a confidence interval", BMJ 343:d2304, 2011
    """
    df = np.maximum(n - 1.0, 1.0)
    error = np.hypot(reach / stdtrit(df, 0.975), added_error)
    p_values: FloatArray = 2.0 * stdtr(df, -np.abs(difference) / error)
    return p_values


def false_discoveries(p_values: FloatArray, rate: float = 0.05, *, any_dependence: bool = False) -> BoolArray:
    """The hypotheses that are rejected at a false discovery rate, by the procedure of Benjamini and Hochberg.

    Args:
        p_values: shape ``(G,)``, of all hypotheses that were tested; nan: not tested
        rate: greatest expected share of wrong rejections among all rejections
        any_dependence: keep the rate however the p-values depend on each other (Benjamini and Yekutieli), not only if
            they are independent or positively dependent

    Undefined:
        never; nothing is rejected where nothing was tested

    References:
        Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate: a practical and powerful approach to multiple
        testing", 1995; Y. Benjamini, D. Yekutieli, "The control of the false discovery rate in multiple testing under
        dependency", 2001, theorem 1.3
    """
    tested = ~np.isnan(p_values)
    ordered = np.sort(p_values[tested])
    if any_dependence:
        rate /= max((1 / np.arange(1, len(ordered) + 1)).sum(), 1.0)
    limits = rate * np.arange(1, len(ordered) + 1) / max(len(ordered), 1)
    below = np.flatnonzero(ordered <= limits)
    if not len(below):
        return np.zeros(len(p_values), np.bool_)
    with np.errstate(invalid="ignore"):
        found: BoolArray = p_values <= ordered[below[-1]]
    return found


#: annotators with fewer items are not tested
MIN_ITEMS = 30
#: with fewer annotators who have enough items there is no test
MIN_ANNOTATORS = 3
#: greatest expected share of wrong ones among the annotators against whom the model wins
FALSE_DISCOVERY_RATE = 0.05


@dataclass(frozen=True, slots=True)
class AlternativeAnnotatorTest:
    """The result of the test; arrays have the shape ``(R,)``."""

    n: IntArray  #: items on which the annotator, left out, and the model were compared; or clusters of items
    tested: BoolArray  #: whether the annotator was tested
    advantage: FloatArray  #: share of items on which the model is at least as good as the annotator
    advantage_of_annotator: FloatArray  #: the other way round; a tie counts in both
    p_value: FloatArray  #: of the hypothesis that the annotator is better by epsilon or more; nan: not tested
    won: BoolArray  #: whether this hypothesis is rejected
    winning_rate: float  #: omega: share of the tested annotators for whom it is rejected
    advantage_probability: float  #: rho: mean advantage over the tested annotators

    @property
    def passed(self) -> bool | None:
        """True if the model wins against at least half of the annotators; None if fewer than three were tested."""
        return None if np.isnan(self.winning_rate) else self.winning_rate >= 0.5


def alternative_annotator_test(
    model: ArrayLike, annotators: ArrayLike, *, epsilon: float, clusters: ArrayLike | None = None
) -> AlternativeAnnotatorTest:
    """Test whether a model agrees with the annotators at least as well as one of them does.

    Every annotator is left out in turn. On every item, the model and the one left out are each scored by their
    agreement with the remaining annotators. With ``W^f = [model >= annotator]`` and ``W^h = [annotator >= model]`` (a
    tie within rounding counts for both), the hypothesis that ``mean(W^h) - mean(W^f) >= epsilon`` is tested by a
    one-sided t-test over items. Over all annotators, the false discovery rate is controlled under any
    dependence (Benjamini and Yekutieli), for they are compared on the same items. Items of one cluster are added up,
    and clusters take the place of items in the variance (that of a ratio) and in the degrees of freedom.

    Args:
        model: shape ``(S, R)``, finite agreement of the model with the annotators that remain without each; nan where
            absent
        annotators: shape ``(S, R)``, the same of the annotator left out
        epsilon: by how much the model may be worse, in [0, 1); the authors take 0.2 where annotators are experts,
            0.15 if skilled, 0.1 if crowd workers
        clusters: shape ``(S,)``, cluster (video, group) of every item; None: items are independent

    Undefined:
        annotators with fewer than ``MIN_ITEMS`` items or clusters have the p-value nan; with fewer than
        ``MIN_ANNOTATORS`` others, all p-values, the winning rate and the advantage probability are nan. An advantage
        is nan without items. If the outcome is the same on all items, the p-value is 0 where the annotator is better
        by less than epsilon, else 1

    Raises:
        ValueError: if the shapes differ, or epsilon is not in [0, 1)

    Example:
        >>> rng = np.random.default_rng(5)
        >>> annotators = rng.normal(0.7, 0.1, (60, 3))
        >>> result = alternative_annotator_test(annotators + 0.05, annotators, epsilon=0.1)
        >>> result.winning_rate, result.advantage_probability
        (1.0, 1.0)

    References:
        N. Calderon, R. Reichart, R. Dror, "The alternative annotator test for LLM-as-a-judge", ACL 2025, section 3; Y.
        Benjamini, D. Yekutieli, "The control of the false discovery rate in multiple testing under dependency", 2001
    """
    of_model, of_annotators = np.asarray(model, np.float64), np.asarray(annotators, np.float64)
    if of_model.ndim != 2 or of_model.shape != of_annotators.shape:
        raise ValueError(
            f"`model` and `annotators` must have one shape (S, R), got {of_model.shape} and {of_annotators.shape}"
        )
    if not 0 <= epsilon < 1:
        raise ValueError(f"`epsilon` must be in [0, 1), got {epsilon!r}")
    ahead = of_model - of_annotators
    # comparisons with nan are False
    model_wins, annotator_wins, given = ahead >= -ROUNDING, ahead <= ROUNDING, ~np.isnan(ahead)
    table = np.zeros((N_COLUMNS, *ahead.shape))
    table[0], table[1] = model_wins.astype(np.float64) - annotator_wins, given
    number = None if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1].ravel()
    n_annotators = ahead.shape[1]
    moments = RateMoments.of_table(np.arange(n_annotators), table, number)
    tested = moments.n >= MIN_ITEMS
    tested &= tested.sum() >= MIN_ANNOTATORS
    p_value = rate_tests(moments, np.full(n_annotators, -epsilon)).p_greater
    p_value = np.where(tested, p_value, np.nan)
    won = false_discoveries(p_value, FALSE_DISCOVERY_RATE, any_dependence=True)
    n_items = np.where(given.any(axis=0), given.sum(axis=0), np.nan)
    advantage = model_wins.sum(axis=0) / n_items
    return AlternativeAnnotatorTest(
        n=moments.n,
        tested=tested,
        advantage=advantage,
        advantage_of_annotator=annotator_wins.sum(axis=0) / n_items,
        p_value=p_value,
        won=won,
        winning_rate=float(won[tested].mean()) if tested.any() else np.nan,
        advantage_probability=float(advantage[tested].mean()) if tested.any() else np.nan,
    )
