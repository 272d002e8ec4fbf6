"""Mean average precision: from match counts of every image with intervals, and from ranked detections.

Axes: ``K`` classes of ordered pairs of annotators, ``D`` ordered pairs, ``T`` thresholds, ``S`` images.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...metrics.bootstrap.draws import SparseColumns, sparse
from ...metrics.detection.average_precision import (
    average_precision,
    average_precision_near,
    expected_average_precision,
)
from ...metrics.numeric.arrays import FloatArray, IntArray, sums_by
from ..statistics.estimates import Fields, estimates
from ..statistics.numbers import Key, Numbers
from ..statistics.values import masked_means
from .directed import AREAS, LEFT_OUT, N_AREAS, N_THRESHOLDS, RIGHT, Directed, PairCounts, key_of, parts_of_key

#: thresholds of the numbers
_OF_NUMBERS = {"map": slice(None), "map_50": slice(0, 1), "map_75": slice(5, 6)}
#: most average precisions that are computed for intervals, about two seconds
MOST_RESAMPLED = 4_000_000


@dataclass(frozen=True, slots=True)
class Scored:
    """Average precision of every class of every ordered pair: keys ascending."""

    key: IntArray  #: shape ``(K,)``, see :func:`~.directed.key_of`
    value: FloatArray  #: shape ``(A, K, T)``; nan where the reference drew no such object
    n_objects: IntArray  #: shape ``(A, K)``, objects to be found


@dataclass(frozen=True, slots=True)
class Means:
    """Means of average precision: by pair over its classes, over the pairs, and by class over the pairs."""

    pair: IntArray  #: shape ``(K,)``, number of the pair of every key
    category: IntArray  #: shape ``(K,)``, number of the class of every key
    pairs: IntArray  #: shape ``(D,)``, ``reference * R + detector``
    categories: IntArray  #: class codes

    @classmethod
    def of(cls, key: IntArray, n_annotators: int) -> Means:
        """Groups to average over, from the key (class, reference, detector) of every row."""
        category, reference, detector = parts_of_key(key, n_annotators)
        pairs, of_pair = np.unique(reference * n_annotators + detector, return_inverse=True)
        categories, of_category = np.unique(category, return_inverse=True)
        return cls(of_pair, of_category, pairs, categories)

    def __call__(self, value: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Means over all, by pair ``(..., D)`` and by class, of values ``(..., K)``; nan where undefined."""
        by_pair = _grouped(value, self.pair, len(self.pairs))
        return masked_means(by_pair, ~np.isnan(by_pair)), by_pair, _grouped(value, self.category, len(self.categories))


def _grouped(value: FloatArray, group: IntArray, n_groups: int) -> FloatArray:
    """Mean of the defined values of every group, nan without any; shape ``(..., n_groups)``."""
    members = sparse(np.arange(len(group)), group, np.ones(len(group)), (len(group), n_groups))
    flat = value.reshape(-1, len(group))
    defined = ~np.isnan(flat)
    n = defined.astype(np.float64) @ members
    means = np.where(n > 0, (np.where(defined, flat, 0.0) @ members) / np.maximum(n, 1.0), np.nan)
    return means.reshape(*value.shape[:-1], n_groups)


def expected(counts: Sequence[PairCounts]) -> Scored:
    """Expected average precision, of all images."""
    key, place = np.unique(np.concatenate([each.key for each in counts]), return_inverse=True)
    right, wrong, objects = (_summed(counts, name, place, len(key)) for name in ("right", "wrong", "objects"))
    n_objects = np.repeat(objects[..., None], N_THRESHOLDS, axis=2)
    value = expected_average_precision(right, right + wrong, n_objects)
    return Scored(key, np.moveaxis(value, 0, 1), objects.T)


def _summed(counts: Sequence[PairCounts], name: str, place: IntArray, n_keys: int) -> IntArray:
    """The sum of a count by key, ``(K, A, …)``."""
    column: IntArray = np.concatenate([getattr(each, name) for each in counts]).astype(np.int64)
    order = np.argsort(place, kind="stable")  # every key occurs
    starts = np.searchsorted(place[order], np.arange(n_keys))
    return np.add.reduceat(column[order], starts, axis=0) if n_keys else np.zeros((0, *column.shape[1:]), np.int64)


@dataclass(frozen=True, slots=True)
class Ordered:
    """Detections of a batch with what decides their order."""

    labels: Directed
    score: FloatArray  #: shape ``(E,)``, confidence of every detection; all alike where there is none
    image: NDArray[np.bytes_]  #: shape ``(E,)``, id of the image


def by_confidence(parts: Sequence[Ordered], n_annotators: int) -> Scored:
    """Average precision of detections by confidence; equal ones in the order of image ids, then of labels."""
    of = [each.labels for each in parts]
    category, other, annotator, label = (
        np.concatenate([getattr(each, name) for each in of]) for name in ("category", "other", "annotator", "label")
    )
    status = np.concatenate([each.status for each in of], axis=2)
    counted = np.concatenate([each.counted for each in of], axis=1)
    score = np.concatenate([each.score for each in parts])
    image = np.unique(np.concatenate([each.image for each in parts]), return_inverse=True)[1]
    as_detection = key_of(category, other, annotator, n_annotators)
    as_object = key_of(category, annotator, other, n_annotators)
    key = np.unique(np.concatenate([as_detection, as_object]))
    place = np.searchsorted(key, as_object)
    objects = np.stack([np.bincount(place[within], minlength=len(key)) for within in counted])
    order = np.lexsort((label, image, -score, as_detection))
    start, end = (np.searchsorted(as_detection[order], key, side=side) for side in ("left", "right"))
    value = np.full((N_AREAS, len(key), N_THRESHOLDS), np.nan)
    for area in range(N_AREAS):
        for k in np.flatnonzero(objects[area]).tolist():
            found = status[area][:, order[start[k] : end[k]]].T
            value[area, k] = average_precision(found == RIGHT, int(objects[area, k]), found != LEFT_OUT)
    return Scored(key, value, objects)


def intervals(
    counts: Sequence[PairCounts], ranks: IntArray, n_annotators: int, *, has_areas: bool, resamples: int, seed: int
) -> Fields:
    """Intervals of the expected numbers by resampling images.

    Of many images, pairs and classes average precision is taken as linear in the counts of an image, near its value of
    all images.

    Args:
        counts: counts of all images; ``sample`` is a number below ``S``
        ranks: shape ``(S,)``, rank of every image by its id; images of one video or group have one
        n_annotators: number of annotators
        has_areas: whether there are numbers of areas
        resamples: number of resamples; 0 for none
        seed: seed of the random numbers
    """
    if not resamples:
        return Fields({})
    n_keys = len(np.unique(np.concatenate([each.key for each in counts])))
    is_linear = n_keys * N_THRESHOLDS * (resamples + len(ranks)) > MOST_RESAMPLED
    numbers = _numbers(counts, len(ranks), n_annotators, N_AREAS if has_areas else 1, is_linear=is_linear)
    return Fields(estimates(numbers, ranks, resamples=resamples, seed=seed))


def _numbers(
    counts: Sequence[PairCounts], n_samples: int, n_annotators: int, n_areas: int, *, is_linear: bool
) -> Iterator[Numbers]:
    """The numbers of all objects, of pairs and classes, and those of areas."""
    sample = np.concatenate([each.sample for each in counts])
    key, place = np.unique(np.concatenate([each.key for each in counts]), return_inverse=True)
    means = Means.of(key, n_annotators)
    for area in range(n_areas):
        right, wrong, objects = (
            np.concatenate([getattr(each, name)[:, area] for each in counts]) for name in ("right", "wrong", "objects")
        )
        columns = np.column_stack([right, right + wrong, objects]).astype(np.float64)
        width = columns.shape[1]
        row, column = np.nonzero(columns)
        cells = place[row] * width + column
        total = sums_by(cells, columns[row, column], len(key) * width)
        formula = _Formula(means, total.reshape(-1, width), area)
        if is_linear:
            linear = _Linear.of(formula, columns, place)
            yield Numbers(_keys(means, area), linear.table(sample, n_samples), linear)
        else:
            table = sparse(sample[row], cells, columns[row, column], (n_samples, len(total)))
            yield Numbers(_keys(means, area), table, formula)


def _keys(means: Means, area: int) -> tuple[Key, ...]:
    if area:
        return (("areas", AREAS[area], "map"),)
    of_pairs = [("pairs", str(pair), name) for name in ("map", "map_50") for pair in means.pairs.tolist()]
    of_classes = [("classes", str(code), name) for name in ("map", "map_50") for code in means.categories.tolist()]
    return (*((name,) for name in _OF_NUMBERS), *of_pairs, *of_classes)


@dataclass(frozen=True, slots=True)
class _Formula:
    """Maps sums to the numbers of :func:`_keys`."""

    means: Means
    total: FloatArray  #: shape ``(K, 2 T + 1)``, the sums of all images
    area: int

    def __call__(self, sums: FloatArray) -> FloatArray:
        """The numbers ``(..., V)`` of sums ``(..., C)``."""
        right, all_, objects = _split(sums.reshape(*sums.shape[:-1], *self.total.shape))
        value = average_precision_near(right, all_, objects, _split(self.total))
        if self.area:
            return self.means(value.mean(axis=-1))[0][..., None]
        over_all, of_pairs, of_classes = zip(
            *(self.means(value[..., chosen].mean(axis=-1)) for chosen in _OF_NUMBERS.values()), strict=True
        )
        return np.concatenate([np.stack(over_all, axis=-1), *of_pairs[:2], *of_classes[:2]], axis=-1)


@dataclass(frozen=True, slots=True)
class _Linear:
    """The numbers as their values plus a sum over the images: average precision goes with ``M² / (N G)``."""

    values: FloatArray  #: shape ``(V,)``
    row: IntArray  #: rows of counts
    column: IntArray  #: numbers to which they add
    part: FloatArray  #: what they add

    @classmethod
    def of(cls, formula: _Formula, columns: FloatArray, place: IntArray) -> _Linear:
        """The parts of rows of counts ``(G, 2 T + 1)``, each with the place of its key."""
        means, total = formula.means, formula.total
        precision = expected_average_precision(*_split(total))
        with np.errstate(divide="ignore", invalid="ignore"):
            right, all_, objects = (mine / of for mine, of in zip(_split(columns), _split(total[place]), strict=True))
            change = np.nan_to_num(precision[place] * (2.0 * right - all_ - objects))
        defined = total[:, -1] > 0
        in_pair = np.bincount(means.pair[defined], minlength=len(means.pairs))
        in_class = np.bincount(means.category[defined], minlength=len(means.categories))
        pair, category, rows = means.pair[place], means.category[place], np.arange(len(place))
        parts, start = [], 0
        names = list(_OF_NUMBERS)[: 1 if formula.area else None]
        of_names = {name: change[:, _OF_NUMBERS[name]].mean(axis=1) for name in names}
        for name in names:
            share = of_names[name] / np.maximum(in_pair, 1)[pair] / max((in_pair > 0).sum(), 1)
            parts.append((rows, np.full(len(rows), start), share))
            start += 1
        for group, n in () if formula.area else ((pair, in_pair), (category, in_class)):
            for name in names[:2]:
                parts.append((rows, start + group, of_names[name] / np.maximum(n, 1)[group]))
                start += len(n)
        return cls(formula(total.reshape(-1)), *(np.concatenate(each) for each in zip(*parts, strict=True)))

    def table(self, sample: IntArray, n_samples: int) -> SparseColumns:
        """Contribution of every image to every value, ``(S, V)``."""
        return sparse(sample[self.row], self.column, self.part, (n_samples, len(self.values)))

    def __call__(self, sums: FloatArray) -> FloatArray:
        """The numbers of sums ``(..., V)``."""
        return self.values + sums


def _split(sums: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Right detections, all of them, and objects, ``(..., K, T)`` each."""
    objects = np.broadcast_to(sums[..., 2 * N_THRESHOLDS :], (*sums.shape[:-1], N_THRESHOLDS))
    return sums[..., :N_THRESHOLDS], sums[..., N_THRESHOLDS : 2 * N_THRESHOLDS], objects


def values(scored: Scored, means: Means, area: int = 0) -> dict[str, tuple[FloatArray, FloatArray, FloatArray]]:
    """The means of every number: over all, by pair and by class."""
    return {name: means(scored.value[area][:, chosen].mean(axis=-1)) for name, chosen in _OF_NUMBERS.items()}
