"""The numbers of a report on semantic masks: sums over samples, formulas, effects of annotators and classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...metrics.alpha import alpha_of
from ...metrics.bootstrap.draws import hstack, sparse
from ...metrics.numeric.arrays import FloatArray, IntArray, sums_by
from ..evidence.hypotheses import EffectRows, Effects, effect_groups, findings_of, kind_mask
from ..image_alpha.expected import ExpectedDistances, image_distances, pair_alpha
from ..settings.annotators import AnnotatorPairs
from ..settings.config import Undefined
from ..statistics.content_order import Hashes, assignment_hashes, combined, hash_sums, name_hashes
from ..statistics.estimates import sample_numbers
from ..statistics.numbers import GroupRows, Key, Numbers, Rows, ratio
from ..statistics.report import ReportContext
from .compute import NUMBERS, SCORE, PixelAgreement, kappa_of_areas
from .counts import MaskValues, are_classes
from .records import PixelRecords, mask_distances


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


#: maximum number of values with intervals (those with the most pixels)
MAX_VALUES = 200
#: maximum number of different values for intervals of alpha and of pairs
MAX_CATEGORIES = 5_000

#: columns of every value: shared pixels, pixels of both, IoU, Dice, samples
_N_COLUMNS_OF_CLASSES = 5

#: columns of pairs before those of every value: ``_means``, pixels on which both agree, pixels, 1; for the alpha of
#: images the distance, and 1 where there is one
_N_PLAIN = 2 * len(NUMBERS) + 5
_N_IMAGES = _N_PLAIN - 1
#: names of ``NUMBERS`` in the summaries of pairs
_NAMES = tuple("score" if name == "score" else f"mean.{name}" for name in NUMBERS)


def pixel_numbers(
    records: PixelRecords,
    context: ReportContext,
    effects: PixelEffects | None = None,
    expected: ExpectedDistances | None = None,
    pair_scores: list[FloatArray] | None = None,
) -> Iterator[Numbers]:
    """All numbers of rated samples.

    Args:
        effects: gets the samples too
        expected: distances of masks of different images, if they are known
        pair_scores: gets the scores of all pairs of masks
    """
    expected = mask_distances(records, context) if expected is None else expected
    values = np.unique(records.column("values")).astype(np.int64)
    pairs = _Pairs(records, context, values, expected.mean)
    headline, classes = _Headline(values, context), _Classes(values, context)
    yield sample_numbers(records)
    yield expected.numbers(records)
    for agreement in records.agreements(MaskValues.from_dict(context.details).background, context.config):
        headline.add(agreement)
        classes.add(agreement)
        pairs.add(agreement)
        if effects is not None:
            effects.add(agreement)
        if pair_scores is not None:
            pair_scores.append(agreement.pair_numbers[:, SCORE])
    yield from headline.numbers()
    yield from classes.numbers()
    yield from pairs.numbers()


def headline_numbers(records: PixelRecords, context: ReportContext) -> Iterator[Numbers]:
    """The headline as functions of sums over any samples: without the alpha of images, whose chance is not one."""
    config = replace(context.config, resamples=max(context.config.resamples, 1))  # else only the sums are kept
    headline = _Headline(np.unique(records.column("values")).astype(np.int64), replace(context, config=config))
    yield sample_numbers(records)
    for agreement in records.agreements(MaskValues.from_dict(context.details).background, config):
        headline.add(agreement)
    yield from (each for each in headline.numbers() if each.by_sample)


def sample_contents(records: PixelRecords, context: ReportContext) -> tuple[Hashes, FloatArray]:
    """Content of the samples for :func:`~..statistics.content_order.content_ranks`; independent of order and ids.

    Returns:
        hashes of the areas of every value in every mask ``(S,)``, and values ``(S, 2)``
    """
    annotators = name_hashes(context.annotators)
    total = assignment_hashes(records.assigned, annotators)
    for sample, annotator, value, area in records.areas():
        total += hash_sums(sample, combined(combined(annotators[annotator], value), area), records.n_samples)
    return total, np.column_stack([records.column("score"), records.column("alpha")])


def _alpha(observed: FloatArray, counts: FloatArray, undefined: Undefined) -> FloatArray:
    """Alpha over pixels."""
    n = counts.sum(axis=-1)
    # avoids a difference of squares, which would be too large to be exact
    expected = (counts * (n[..., None] - counts)).sum(axis=-1)
    return alpha_of(observed, expected, n, undefined=undefined)


def _kappa(sums: FloatArray) -> FloatArray:
    """Cohen's kappa of pairs from sums of pixels, agreeing pixels and areas in the two masks."""
    n, agreed = sums[..., 0], sums[..., 1]
    areas_a, areas_b = np.split(sums[..., 2:], 2, axis=-1)
    return kappa_of_areas(n, agreed, (areas_a * (n[..., None] - areas_b)).sum(axis=-1))[..., None]


def _means(numbers: FloatArray) -> FloatArray:
    """Columns for means: the values, then whether each is defined, ``(N, 2 len(NUMBERS))``."""
    return np.hstack([np.nan_to_num(numbers), ~np.isnan(numbers)]).astype(np.float64)


class _Headline:
    """Means over samples except the score, and pooled alpha over all pixels."""

    def __init__(self, values: IntArray, context: ReportContext) -> None:
        self._values, self._undefined = values, context.config.undefined
        resampled = context.config.resamples > 0
        self._means = Rows(by_sample=resampled)
        self._alpha = Rows(by_sample=resampled and len(values) <= MAX_CATEGORIES)

    def add(self, agreement: PixelAgreement) -> None:
        """Add the agreement on the next samples."""
        counts, m = agreement.counts, agreement.counts.n_masks
        observed = agreement.differing / np.maximum(m - 1, 1)
        alpha = np.column_stack([np.nan_to_num(agreement.alpha), ~np.isnan(agreement.alpha)])
        differing = np.column_stack([observed / np.maximum(m, 1), agreement.n_pixels])
        self._means.add(hstack([np.hstack([_means(agreement.numbers[:, 1:]), alpha, differing]).astype(np.float64)]))
        column = np.searchsorted(self._values, counts.values)
        of_values = sparse(counts.sample, column, agreement.area.sum(axis=1), (len(m), len(self._values)))
        self._alpha.add(hstack([observed[:, None], of_values]))

    def numbers(self) -> Iterator[Numbers]:
        """The means, and alpha."""
        names, undefined = [f"mean.{name}" for name in NUMBERS[1:]], self._undefined
        n = len(names)

        def means(sums: FloatArray) -> FloatArray:
            of_alpha = ratio(sums[..., 2 * n], sums[..., 2 * n + 1])
            differing = ratio(sums[..., 2 * n + 2], sums[..., 2 * n + 3])
            return np.concatenate(
                [ratio(sums[..., :n], sums[..., n : 2 * n]), np.stack([of_alpha, 1.0 - differing], axis=-1)], axis=-1
            )

        yield self._means.numbers(tuple((name,) for name in (*names, "alpha.mean", "alpha.percent_agreement")), means)
        yield self._alpha.numbers(
            (("alpha.pooled",),), lambda sums: _alpha(sums[..., 0], sums[..., 1:], undefined)[..., None]
        )


class _Classes:
    """The areas of every value over all pairs, and the means of its IoU and Dice over samples."""

    def __init__(self, values: IntArray, context: ReportContext) -> None:
        self._values = values
        self._n_pixels = np.zeros(len(values))
        self._rows = Rows(by_sample=context.config.resamples > 0)

    def add(self, agreement: PixelAgreement) -> None:
        """Add the agreement on the next samples."""
        counts = agreement.counts
        place, n_values = np.searchsorted(self._values, counts.values), len(self._values)
        np.add.at(self._n_pixels, place, agreement.area.sum(axis=1))
        shared, of_both = np.zeros(len(place)), np.zeros(len(place))
        for table in counts.tables():
            shared[table.of_value] = table.shared.sum(axis=0)[table.is_value]
            # every mask is in n - 1 pairs
            of_both[table.of_value] = (len(table.areas) - 1) * table.areas.sum(axis=0)[table.is_value]
        entries = (shared, of_both, agreement.class_iou, agreement.class_dice, np.ones(len(place)))
        self._rows.add(
            sparse(
                np.tile(counts.sample, len(entries)),
                np.concatenate([k * n_values + place for k in range(len(entries))]),
                np.concatenate(entries),
                (len(counts.n_values), len(entries) * n_values),
            )
        )

    def numbers(self) -> Iterator[Numbers]:
        """IoU and Dice of the values, most pixels first; only the first ones have intervals."""
        order = np.lexsort((self._values, -self._n_pixels))
        rows = self._rows.columns()
        for chosen, by_sample in ((order[:MAX_VALUES], self._rows.by_sample), (order[MAX_VALUES:], False)):
            n = len(chosen)
            if not n:
                continue
            names = [str(value) for value in self._values[chosen].tolist()]
            kept = np.concatenate([k * len(self._values) + chosen for k in range(_N_COLUMNS_OF_CLASSES)])
            numbers = Numbers(
                tuple(("classes", name, key) for key in ("iou", "dice", "mean_iou", "mean_dice") for name in names),
                rows[:, kept],
                _class_numbers,
                basis=np.tile(4 * n + np.arange(n), 4),
                by_sample=by_sample,
            )
            yield numbers if by_sample else numbers.summed()


def _class_numbers(sums: FloatArray) -> FloatArray:
    shared, of_both, iou, dice, n_samples = np.split(sums, _N_COLUMNS_OF_CLASSES, axis=-1)
    pooled = [ratio(shared, of_both - shared), ratio(2.0 * shared, of_both)]
    return np.concatenate([*pooled, ratio(iou, n_samples), ratio(dice, n_samples)], axis=-1)


class _Pairs:
    """The numbers of pairs and annotators; one row for every pair and shared sample."""

    def __init__(self, records: PixelRecords, context: ReportContext, values: IntArray, expected: float) -> None:
        self._expected = expected
        names, assigned, resampled = context.annotators, records.assigned, context.config.resamples > 0
        self._pairs = pairs = AnnotatorPairs.of(assigned)
        self._names, self._values, self._undefined = names, values, context.config.undefined
        self._keys: dict[int, Key] = {pair: ("pairs", *both) for pair, both in enumerate(pairs.names(names))}
        nobody = np.empty(0, np.int64)
        few_values = len(values) <= MAX_CATEGORIES
        self._rows = GroupRows(len(pairs), pairs.chosen(names) if resampled and few_values else nobody)
        self._areas = GroupRows(len(pairs), nobody)
        self._scores = Rows(by_sample=resampled)
        # images that everybody left empty, which are left out of all other numbers if they have no score
        counted, _ = image_distances(records)
        empty = np.flatnonzero(counted & np.isnan(records.column("score")))
        sample, a, b = np.nonzero(np.triu(assigned[empty, :, None] & assigned[empty, None, :], 1))
        row, shape = np.arange(len(sample)), (len(sample), _N_PLAIN + len(values))
        columns = sparse(row, np.full_like(row, _N_IMAGES), np.ones(len(row)), shape)
        self._rows.add(pairs.rows(a, b), empty[sample], columns, 0)

    def add(self, agreement: PixelAgreement) -> None:
        """Add the agreement on the next samples."""
        counts, n_samples, n = agreement.counts, len(agreement.n_pixels), len(self._names)
        sample = np.repeat(np.arange(n_samples), counts.n_pairs)
        pair = self._pairs.rows(agreement.pair[:, 0], agreement.pair[:, 1])
        none = [np.empty(0, np.int64)]
        rows, columns, areas_a, areas_b = none[:], none[:], none[:], none[:]
        agreed = np.zeros(len(pair))
        for table in counts.tables():
            value = np.searchsorted(self._values, table.spread(counts.values))
            for k, (a, b) in enumerate(zip(*table.pairs, strict=True)):
                of_pair = np.broadcast_to((table.sample_pair + k)[:, None], value.shape)
                rows.append(of_pair[table.is_value])
                columns.append(value[table.is_value])
                areas_a.append(table.areas[a][table.is_value])
                areas_b.append(table.areas[b][table.is_value])
                agreed[table.sample_pair + k] = table.shared[k].sum(axis=1)
        n_pixels = agreement.n_pixels[sample].astype(np.float64)
        shape = (len(pair), len(self._values))
        row, column = np.concatenate(rows), np.concatenate(columns)
        of_a, of_b = (sparse(row, column, np.concatenate(areas), shape) for areas in (areas_a, areas_b))
        score = agreement.pair_numbers[:, SCORE]
        of_images = (1.0 - np.nan_to_num(score, nan=1.0), ~np.isnan(score))
        plain = np.column_stack([_means(agreement.pair_numbers), agreed, n_pixels, np.ones(len(pair)), *of_images])
        self._rows.add(pair, sample, hstack([plain, of_a + of_b]), n_samples)
        self._areas.add(pair, sample, hstack([np.column_stack([n_pixels, agreed]), of_a, of_b]), n_samples)

        scored = np.tile(~np.isnan(score), 2)
        member = agreement.pair.T.ravel()[scored]
        of_sample, scores = np.tile(sample, 2)[scored], np.tile(score, 2)[scored]
        total, number = (sparse(of_sample, member, each, (n_samples, n)) for each in (scores, np.ones(len(scores))))
        self._scores.add(hstack([total, number]))

    def numbers(self) -> Iterator[Numbers]:
        """The numbers of every pair, and the score of every annotator."""
        n, undefined = len(NUMBERS), self._undefined

        def formula(sums: FloatArray) -> FloatArray:
            agreed, n_pixels, counts = sums[..., 2 * n], sums[..., 2 * n + 1], sums[..., _N_PLAIN:]
            alpha = _alpha(2.0 * (n_pixels - agreed), counts, undefined)
            means = ratio(sums[..., :n], sums[..., n : 2 * n])
            of_images = pair_alpha(ratio(sums[..., _N_IMAGES - 1], sums[..., _N_IMAGES]), self._expected)
            pooled = np.stack([ratio(agreed, n_pixels), alpha, of_images], axis=-1)
            return np.concatenate([means, pooled], axis=-1)

        names = (*_NAMES, "accuracy", "alpha", "image_alpha")
        basis = np.array([_N_IMAGES - 2] * (len(names) - 1) + [_N_IMAGES])
        yield from self._rows.numbers(self._keys, names, formula, basis, _N_PLAIN)
        yield from self._areas.numbers(self._keys, ("kappa",), _kappa, np.array([0]), 2 + 2 * len(self._values))
        n_names = len(self._names)
        yield self._scores.numbers(
            tuple(("annotators", name, "score") for name in self._names),
            lambda sums: ratio(sums[..., :n_names], sums[..., n_names:]),
            n_names + np.arange(n_names),
        )
