"""Confused pairs of classes: their share of all class conflicts, with its interval, against chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...metrics.numeric.arrays import FloatArray, IntArray, sums_by
from ...metrics.numeric.rate_tests import RateMoments, rate_tests
from .hypotheses import ALL_CONFLICTS, effect_groups, findings_of, group_subjects, kind_mask
from .ranking import MIN_IMAGES, in_order, natural_key

#: pairs of classes listed in a report
MAX_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class Confused:
    """Two classes that annotators gave to the same objects, or images, on 10 images (so 20 labels) or more.

    ``n`` pairs of labels have these classes, on ``n_images`` images. That is a ``share`` of all pairs of labels with
    different classes, with its 95 % interval from ``low`` to ``high``. ``by_chance`` is the share if conflicts fell on
    all other classes evenly, or as frequent as these are, whichever is larger.
    """

    classes: list[str]
    n: int
    n_images: int
    share: float
    low: float
    high: float
    by_chance: float

    @property
    def is_clear(self) -> bool:
        """True if the whole interval is above the share by chance."""
        return self.low > self.by_chance


def conflict_rows(
    a: IntArray, b: IntArray, sample: IntArray, n_samples: int, times: IntArray | None = None
) -> tuple[IntArray, IntArray, FloatArray]:
    """Count conflicts between every two classes on every image, beside all conflicts there.

    Args:
        a: shape ``(Q,)``, class of one label of every pair with different classes
        b: shape ``(Q,)``, class of the other
        sample: shape ``(Q,)``
        n_samples: number of samples
        times: shape ``(Q,)``, how many pairs every row stands for; None: one

    Returns:
        group ``(T,)``, sample ``(T,)`` and columns ``(4, T)``, for :class:`~.hypotheses.EffectRows`
    """
    times = np.ones(len(sample), np.int64) if times is None else times
    n_conflicts = sums_by(sample, times, n_samples)
    of_pair = effect_groups("confused", np.minimum(a, b), np.maximum(a, b))
    group, of_row = np.concatenate([of_pair, np.full(len(sample), ALL_CONFLICTS)]), np.tile(sample, 2)
    order = np.lexsort((of_row, group))
    group, of_row = group[order], of_row[order]
    first = np.flatnonzero(np.r_[True, (np.diff(group) != 0) | (np.diff(of_row) != 0)][: len(group)])
    n = np.add.reduceat(np.tile(times, 2)[order], first) if len(first) else first
    zero = np.zeros(len(first))
    return group[first], of_row[first], np.stack([n, n_conflicts[of_row[first]], zero, zero])


def findings_and_confusions(
    moments: RateMoments,
    annotators: Sequence[str],
    classes: Sequence[str],
    sizes: Sequence[str] = (),
    *,
    of_classes: IntArray,
    expected: Mapping[int, float] | None = None,
    n_labels: Mapping[int, int] | None = None,
) -> dict[str, Any]:
    """As :func:`~.hypotheses.findings_of`, and ``confused``: the pairs of classes, the surest first.

    Args:
        of_classes: shape ``(K,)``, labels of every class
    """
    is_all = moments.group == ALL_CONFLICTS
    row = np.flatnonzero(kind_mask(moments.group, "confused") & (moments.n >= MIN_IMAGES) & ~is_all)
    n_images, n = moments.n[row], moments.sums[row, 0].astype(np.int64)
    # the whole of these pairs is all conflicts, also those of images where the two did not meet
    for column, place in ((moments.sums, 1), (moments.products, 4)):
        column[row, place] = column[is_all, place]
    moments.n[row] = moments.n[is_all]
    share = of_classes / max(of_classes.sum(), 1)
    a, b = group_subjects(moments.group[row])
    as_frequent = 2.0 * share[a] * share[b] / max(1.0 - (share**2).sum(), 1e-12)
    by_chance = np.maximum(as_frequent, (share[a] + share[b]) / max(np.count_nonzero(of_classes) - 1, 1))
    chance = dict(zip(moments.group[row].tolist(), by_chance.tolist(), strict=True))
    found = findings_of(moments, annotators, classes, sizes, expected={**(expected or {}), **chance}, n_labels=n_labels)

    of_pairs = RateMoments(moments.group[row], moments.n[row], moments.sums[row], moments.products[row])
    tested = rate_tests(of_pairs, by_chance, limits=(-by_chance, 1.0 - by_chance))
    columns = (n, n_images, tested.rate, by_chance + tested.low, by_chance + tested.high, by_chance)
    pairs = [
        Confused(in_order([classes[first], classes[second]]), *values)
        for first, second, *values in zip(a.tolist(), b.tolist(), *(each.tolist() for each in columns), strict=True)
    ]
    pairs.sort(key=lambda pair: (-round(pair.low, 9), [natural_key(name) for name in pair.classes]))
    return {**found, "confused": pairs[:MAX_LISTED]}
