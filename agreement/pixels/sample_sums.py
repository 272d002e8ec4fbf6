"""The numbers of a report on semantic masks as functions of sums over samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...metrics.alpha.nominal import nominal_alpha_of_sums
from ...metrics.arrays import FloatArray, IntArray
from ...metrics.bootstrap.draws import SparseColumns, hstack, sparse, vstack
from ..config import Undefined
from ..numbers import Numbers, ratio
from ..pairs import chosen_pairs, pair_names, pair_rows
from ..report import ReportContext
from .compute import NUMBERS, PixelAgreement
from .counts import MaskCounts
from .mask_values import MaskValues
from .records import PixelRecords

#: at most so many values have intervals, those with the most pixels
MAX_VALUES = 200
#: alpha over all pixels has no interval where there are more different values
MAX_CATEGORIES = 5_000

#: what a number of ``NUMBERS`` is called in the report and in its summaries of pairs
_NAMES = tuple("score" if name == "score" else f"mean.{name}" for name in NUMBERS)
_HEADLINE = tuple("score.mean" if name == "score" else f"mean.{name}" for name in NUMBERS)


def pixel_sums(records: PixelRecords, context: ReportContext) -> Iterator[Numbers]:
    """All numbers that are functions of sums over samples; those not rated have rows of zeros."""
    meaning, undefined = MaskValues.from_dict(context.details), context.config.undefined
    values = np.unique(records.column("values")).astype(np.int64)
    headline, classes, pairs = _Headline(values), _Classes(values), _Pairs(records, context, values)
    for agreement in records.agreements(meaning.background, context.config):
        headline.add(agreement)
        classes.add(agreement)
        pairs.add(agreement)
    yield headline.sums(undefined)
    yield from classes.sums()
    yield from pairs.sums(undefined)


def _alpha(observed: FloatArray, counts: FloatArray, undefined: Undefined) -> FloatArray:
    """Alpha over pixels; without variation, what the config says."""
    alpha = nominal_alpha_of_sums(observed, counts)
    return np.where(np.isnan(alpha) & (counts.sum(axis=-1) > 0), 1.0, alpha) if undefined == "one" else alpha


def _means(numbers: FloatArray) -> FloatArray:
    """Columns of the sums and numbers of defined values, ``(N, 2 len(NUMBERS))``."""
    return np.hstack([np.nan_to_num(numbers), ~np.isnan(numbers)]).astype(np.float64)


def _of_values(counts: MaskCounts) -> IntArray:
    """Sample of every value of every sample, shape ``(V,)``."""
    return np.repeat(np.arange(len(counts.n_values)), counts.n_values)


class _Headline:
    """Collects means over samples, and alpha over the pixels of all."""

    def __init__(self, values: IntArray) -> None:
        self._values = values
        self._plain: list[FloatArray] = []
        self._counts: list[SparseColumns] = []

    def add(self, agreement: PixelAgreement) -> None:
        """Add the agreement on the next samples."""
        counts, n_pixels = agreement.counts, agreement.n_pixels
        m = counts.n_masks
        observed = agreement.differing / np.maximum(m - 1, 1)
        alpha = np.column_stack([np.nan_to_num(agreement.alpha), ~np.isnan(agreement.alpha)])
        pixels = np.column_stack([observed, observed / np.maximum(m, 1), n_pixels])
        self._plain.append(np.hstack([_means(agreement.numbers), alpha, pixels]).astype(np.float64))
        column = np.searchsorted(self._values, counts.values)
        shape = (len(m), len(self._values))
        self._counts.append(sparse(_of_values(counts), column, agreement.area.sum(axis=1), shape))

    def sums(self, undefined: Undefined) -> Numbers:
        """The means, and alpha unless there are too many values."""
        n = len(NUMBERS)
        keys = tuple((name,) for name in (*_HEADLINE, "alpha.mean", "alpha.percent_agreement"))
        plain = np.concatenate(self._plain)

        def means(sums: FloatArray) -> FloatArray:
            of_alpha, pixels = sums[..., 2 * n : 2 * n + 2], sums[..., 2 * n + 2 : 2 * n + 5]
            differing = ratio(pixels[..., 1], pixels[..., 2])
            return np.concatenate(
                [
                    ratio(sums[..., :n], sums[..., n : 2 * n]),
                    ratio(of_alpha[..., :1], of_alpha[..., 1:]),
                    1.0 - differing[..., None],
                ],
                axis=-1,
            )

        if len(self._values) > MAX_CATEGORIES:
            return Numbers(keys, hstack([plain]), means)

        def statistic(sums: FloatArray) -> FloatArray:
            alpha = _alpha(sums[..., 2 * n + 2], sums[..., 2 * n + 5 :], undefined)
            return np.concatenate([means(sums), alpha[..., None]], axis=-1)

        return Numbers((*keys, ("alpha.pooled",)), hstack([plain, vstack(self._counts)]), statistic)


class _Classes:
    """Collects the areas of every value over all pairs, and the means of its IoU and Dice over samples."""

    _COLUMNS = ("shared", "of_both", "mean_iou", "mean_dice", "n")

    def __init__(self, values: IntArray) -> None:
        self._values = values
        self._n_pixels = np.zeros(len(values))
        self._columns: list[SparseColumns] = []

    def add(self, agreement: PixelAgreement) -> None:
        """Add the agreement on the next samples."""
        counts = agreement.counts
        place, n_values = np.searchsorted(self._values, counts.values), len(self._values)
        np.add.at(self._n_pixels, place, agreement.area.sum(axis=1))
        shared, of_both = np.zeros(len(place)), np.zeros(len(place))
        for table in counts.tables():
            shared[table.of_value] = table.shared.sum(axis=0)[table.is_value]
            # every mask is in as many pairs as there are others
            of_both[table.of_value] = (len(table.areas) - 1) * table.areas.sum(axis=0)[table.is_value]
        entries = (shared, of_both, agreement.class_iou, agreement.class_dice, np.ones(len(place)))
        self._columns.append(
            sparse(
                np.tile(_of_values(counts), len(entries)),
                np.concatenate([k * n_values + place for k in range(len(entries))]),
                np.concatenate(entries),
                (len(counts.n_values), len(entries) * n_values),
            )
        )

    def sums(self) -> Iterator[Numbers]:
        """IoU and Dice of the values with the most pixels, by their number."""
        chosen = np.lexsort((self._values, -self._n_pixels))[:MAX_VALUES]
        n = len(chosen)
        if not n:
            return
        kept = np.concatenate([k * len(self._values) + chosen for k in range(len(self._COLUMNS))])

        def statistic(sums: FloatArray) -> FloatArray:
            shared, of_both, iou, dice, n_samples = (sums[..., k * n : (k + 1) * n] for k in range(len(self._COLUMNS)))
            pooled = [ratio(shared, of_both - shared), ratio(2.0 * shared, of_both)]
            return np.concatenate([*pooled, ratio(iou, n_samples), ratio(dice, n_samples)], axis=-1)

        names = [str(value) for value in self._values[chosen].tolist()]
        yield Numbers(
            tuple(("classes", name, number) for number in ("iou", "dice", "mean_iou", "mean_dice") for name in names),
            vstack(self._columns)[:, kept],
            statistic,
            basis=np.tile(4 * n + np.arange(n), 4),
        )


class _Pairs:
    """Collects the numbers of pairs and annotators, a row for every sample that two share."""

    def __init__(self, records: PixelRecords, context: ReportContext, values: IntArray) -> None:
        self._names: Sequence[str] = context.annotators
        self._chosen = chosen_pairs(records.assigned, self._names)
        self._values = values
        self._n_samples = 0
        self._sample: list[IntArray] = []
        self._pair: list[IntArray] = []
        self._columns: list[SparseColumns] = []
        self._scores: list[SparseColumns] = []

    def add(self, agreement: PixelAgreement) -> None:
        """Add the agreement on the next samples."""
        counts, n_samples, n = agreement.counts, len(agreement.n_pixels), len(self._names)
        sample = np.repeat(np.arange(n_samples), counts.n_pairs)
        pair = pair_rows(agreement.pair[:, 0], agreement.pair[:, 1], n)
        rows, columns, areas = [], [], []
        agreed = np.zeros(len(pair))
        for table in counts.tables():
            value = np.searchsorted(self._values, table.spread(counts.values))
            for k, (a, b) in enumerate(zip(*table.pairs, strict=True)):
                of_pair = np.broadcast_to((table.sample_pair + k)[:, None], value.shape)
                rows.append(of_pair[table.is_value])
                columns.append(value[table.is_value])
                areas.append((table.areas[a] + table.areas[b])[table.is_value])
                agreed[table.sample_pair + k] = table.shared[k].sum(axis=1)
        n_pixels = agreement.n_pixels[sample]
        plain = np.column_stack([_means(agreement.pair_numbers), agreed, n_pixels, np.ones(len(pair))])
        shape = (len(pair), len(self._values))
        none = [np.empty(0, np.int64)]
        row, column, area = (np.concatenate(none + parts) for parts in (rows, columns, areas))
        counted = sparse(row, column, area, shape)
        kept = np.isin(pair, self._chosen)
        self._columns.append(hstack([plain[kept], counted[kept]]))
        self._pair.append(pair[kept])
        self._sample.append(self._n_samples + sample[kept])
        self._n_samples += n_samples

        score = agreement.pair_numbers[:, 0]
        scored = np.tile(~np.isnan(score), 2)
        member = agreement.pair.T.ravel()[scored]
        of_sample, scores = np.tile(sample, 2)[scored], np.tile(score, 2)[scored]
        total, number = (sparse(of_sample, member, each, (n_samples, n)) for each in (scores, np.ones(len(scores))))
        self._scores.append(hstack([total, number]))

    def sums(self, undefined: Undefined) -> Iterator[Numbers]:
        """The numbers of every pair, and the score of every annotator."""
        pair, sample, columns = np.concatenate(self._pair), np.concatenate(self._sample), vstack(self._columns)
        a, b = pair_names(len(self._names))
        n, first = len(NUMBERS), 2 * len(NUMBERS) + 3

        def statistic(sums: FloatArray) -> FloatArray:
            agreed, n_pixels, counts = sums[..., 2 * n], sums[..., 2 * n + 1], sums[..., first:]
            alpha = _alpha(2.0 * (n_pixels - agreed), counts, undefined)
            pooled = np.stack([ratio(agreed, n_pixels), alpha], axis=-1)
            return np.concatenate([ratio(sums[..., :n], sums[..., n : 2 * n]), pooled], axis=-1)

        for number in self._chosen.tolist() if len(self._values) <= MAX_CATEGORIES else ():
            rows = np.flatnonzero(pair == number)
            of_pair = columns[rows]
            used = np.flatnonzero(of_pair.sum(axis=0)[first:])
            names = (self._names[a[number]], self._names[b[number]])
            yield Numbers(
                tuple(("pairs", *names, name) for name in (*_NAMES, "accuracy", "alpha")),
                of_pair[:, np.concatenate([np.arange(first), first + used])],
                statistic,
                sample[rows],
                np.full(n + 2, first - 1),
            )
        n_names = len(self._names)
        yield Numbers(
            tuple(("annotators", name, "score") for name in self._names),
            vstack(self._scores),
            lambda sums: ratio(sums[..., :n_names], sums[..., n_names:]),
            basis=n_names + np.arange(n_names),
        )
