"""The alternative annotator test: may a model take the place of an annotator?

Axes: ``S`` items (images), ``R`` annotators.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .arrays import BoolArray, FloatArray, IntArray
from .rate_tests import N_COLUMNS, ROUNDING, RateMoments, false_discoveries, rate_tests

#: annotators with fewer items are not tested
MIN_ITEMS = 30
#: with fewer annotators that are tested, nothing is said
MIN_ANNOTATORS = 3
#: expected share of wrong ones among the annotators that the model is said to stand in for, at most
FALSE_DISCOVERY_RATE = 0.05


@dataclass(frozen=True, slots=True)
class AlternativeAnnotatorTest:
    """The result of the test; arrays have the shape ``(R,)``."""

    n: IntArray  #: items on which the annotator, left out, and the model were compared; or clusters of items
    tested: BoolArray  #: whether the annotator was tested
    advantage: FloatArray  #: share of items on which the model is at least as good as the annotator
    advantage_of_annotator: FloatArray  #: the other way round; a tie counts in both
    p_value: FloatArray  #: of the hypothesis that the annotator is better by epsilon or more; nan: not tested
    won: BoolArray  #: whether that is rejected
    winning_rate: float  #: omega: share of the tested annotators for whom that is rejected
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
    one-sided t-test over items. Of all annotators together, the false discovery rate is controlled under any
    dependence (Benjamini and Yekutieli), for they are compared on the same items. Items of one cluster are added up,
    and clusters take the place of items in the variance (that of a ratio) and in the degrees of freedom.

    Args:
        model: shape ``(S, R)``, finite agreement of the model with the annotators that remain without each; nan where
            absent
        annotators: shape ``(S, R)``, the same of the annotator left out
        epsilon: what the model may be worse by, in [0, 1); the authors take 0.2 where annotators are experts, 0.15 if
            skilled, 0.1 if crowd workers
        clusters: shape ``(S,)``, cluster (video, group) of every item; None: items are independent

    Undefined:
        annotators with fewer than ``MIN_ITEMS`` items or clusters have the p-value nan; of fewer than
        ``MIN_ANNOTATORS`` others, all have, and the winning rate and the advantage probability are nan. An advantage
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
    if clusters is not None:
        number = np.unique(np.asarray(clusters), return_inverse=True)[1].ravel()
        added = np.zeros((int(number.max(initial=-1)) + 1, N_COLUMNS, ahead.shape[1]))
        np.add.at(added, number, table.swapaxes(0, 1))
        table = added.swapaxes(0, 1)
    n_annotators = ahead.shape[1]
    moments = RateMoments.of_table(np.arange(n_annotators), table)
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
