"""Effects of annotators and classes on semantic masks: counts on every image, from which findings are tested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...metrics.numeric.arrays import IntArray, sums_by
from ..evidence.hypotheses import EffectRows, Effects, effect_groups, findings_of, kind_mask
from .compute import SCORE, PixelAgreement
from .counts import are_classes


class PixelEffects:
    """Collector of the effects on rated samples.

    Args:
        values: shape ``(K,)``, the values that occur, ascending
        background: value of the background; None if there is none
        clusters: shape ``(S,)``, video or group of every sample; None without
    """

    def __init__(self, values: IntArray, background: int | None, clusters: IntArray | None) -> None:
        self._values, self._background = values, background
        self._rows = EffectRows(clusters)

    def add(self, agreement: PixelAgreement) -> None:
        """Add the next samples."""
        n_samples = len(agreement.n_pixels)
        self._rows.add([self._pair_effects(agreement), *self._class_effects(agreement)], n_samples)

    @staticmethod
    def _pair_effects(agreement: PixelAgreement) -> Effects:
        """Annotators' distance from the others, against that of the others among themselves."""
        n_samples, n = agreement.counts.assigned.shape
        score = agreement.pair_numbers[:, SCORE]
        scored = ~np.isnan(score)
        sample = np.repeat(np.arange(n_samples), agreement.counts.n_pairs)[scored]
        ends = (sample[:, None] * n + agreement.pair[scored]).T.ravel()
        apart = 1.0 - score[scored]
        own = sums_by(ends, np.tile(apart, 2), n_samples * n).reshape(n_samples, n)
        whole = np.bincount(ends, minlength=n_samples * n).reshape(n_samples, n)
        others = [sums_by(sample, each, n_samples)[:, None] for each in (apart, np.ones(len(sample)))]
        of_sample, annotator = np.nonzero(whole)
        columns = [column[of_sample, annotator] for column in (own, whole, others[0] - own, others[1] - whole)]
        return effect_groups("loose", annotator), of_sample, np.stack(columns)

    def _class_effects(self, agreement: PixelAgreement) -> list[Effects]:
        """Area that annotators give to each class, against the others', and classes with low agreement."""
        counts = agreement.counts
        drawn = are_classes(counts.values, self._background)
        code = np.searchsorted(self._values, counts.values[drawn])
        sample = counts.sample[drawn]
        apart, n = 1.0 - agreement.class_iou[drawn], len(counts.n_values)
        others = [sums_by(sample, each, n)[sample] - each for each in (apart, np.ones(len(sample)))]
        loose = np.stack([apart, np.ones(len(sample)), *others])

        assigned = counts.assigned[sample]
        share = agreement.area[drawn] / np.maximum(agreement.n_pixels[sample], 1)[:, None]
        mean = np.where(assigned, share, 0.0).sum(axis=1) / np.maximum(assigned.sum(axis=1), 1)
        two = assigned.shape[1] == 2
        # of two annotators the difference between them, counted once
        own = share[:, :1] - share[:, 1:] if two else share - mean[:, None]
        row, annotator = np.nonzero(assigned[:, : own.shape[1]] & (mean > 0)[:, None])
        zero = np.zeros(len(row))
        areas = np.stack([own[row, annotator], mean[row], zero, zero])
        return [
            (effect_groups("class_loose", code), sample, loose),
            (effect_groups("class_area", annotator, code[row]), sample[row], areas),
        ]

    def found(self, annotators: Sequence[str], classes: Sequence[str]) -> dict[str, Any]:
        """The fields of a report: what the tests confirm, and of how many.

        Args:
            classes: name of every value that occurs
        """
        moments = self._rows.moments()
        areas = moments.group[kind_mask(moments.group, "class_area")].tolist()
        # of two annotators, the difference between them is compared with none
        expected = dict.fromkeys(areas, 0.0)
        return findings_of(moments, annotators, classes, expected=expected)
