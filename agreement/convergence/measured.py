"""Mean average precision of labels as detections of another's objects: match counts, intervals, ranked detections.

Axes: ``K`` classes of ordered pairs of annotators, ``D`` ordered pairs, ``A`` areas (all, small, medium, large), ``T``
thresholds, ``E`` labels, once for every other annotator who was asked about the image, ``N`` labels, ``R`` annotators,
``S`` images.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...metrics.bootstrap.draws import SparseColumns, sparse
from ...metrics.detection.average_precision import (
    COCO_THRESHOLDS,
    average_precision,
    match_detections,
)
from ...metrics.geometry.objects import iou_from_areas
from ...metrics.matching.merging import TIE
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..matching.batch import Batch
from ..objects.sizes import COCO_LIMITS, SIZES, own_areas
from ..settings.config import AgreementConfig
from ..statistics.estimates import Fields, estimates
from ..statistics.numbers import Key, Numbers
from ..statistics.values import masked_means

#: what a label is as a detection
RIGHT, WRONG, LEFT_OUT = 1, 0, -1
AREAS = ("all", *SIZES)
N_AREAS, N_THRESHOLDS = len(AREAS), len(COCO_THRESHOLDS)
#: the smallest and largest area of each of ``AREAS``, both included
_RANGES = np.array([(0.0, np.inf), *zip((0.0, *COCO_LIMITS), (*COCO_LIMITS, np.inf), strict=True)])
#: areas are compared to about seven digits
_SLACK = 1e-6


@dataclass(frozen=True, slots=True)
class Directed:
    """Labels of a batch in pairs of annotators: ``reference``, whose objects are to be found, and ``detector``."""

    sample: IntArray  #: shape ``(E,)``
    annotator: IntArray  #: shape ``(E,)``, who drew the label
    other: IntArray  #: shape ``(E,)``, the other annotator
    category: IntArray  #: shape ``(E,)``, class code
    label: IntArray  #: shape ``(E,)``, row of the label in the batch
    #: shape ``(A, T, E)``, the label as detection of the other's objects: ``RIGHT``, ``WRONG`` or ``LEFT_OUT``
    status: NDArray[np.int8]
    counted: BoolArray  #: shape ``(A, E)``, whether the other has to find the label
    has_areas: bool  #: whether sizes in pixels are known; without, only the first area means anything

    @classmethod
    def of(
        cls,
        batch: Batch,
        config: AgreementConfig,
        *,
        in_pixels: bool,
        score: FloatArray | None = None,
        model: int | None = None,
    ) -> Directed:
        """Match the labels of every two annotators who were asked about the same image.

        Args:
            batch: the labels
            config: the options of the run
            in_pixels: whether their geometry is in pixels
            score: shape ``(N,)``, confidence of every label, by which they choose; None: all are alike, in the order of
                the batch
            model: number of the annotator whose labels alone are detections; None: those of everybody
        """
        objects, n_annotators = batch.objects, batch.assigned.shape[1]
        asked = batch.assigned[objects.sample]
        asked[np.arange(len(objects)), objects.annotator] = False
        if model is not None:
            asked[objects.annotator != model] &= np.arange(n_annotators) == model
        label, other = np.nonzero(asked)
        crowd = np.zeros(len(objects), np.bool_) if batch.crowd is None else batch.crowd
        within, has_areas = _within(batch, config, in_pixels)
        status = np.where(within[:, None, label] & ~crowd[label], WRONG, LEFT_OUT).astype(np.int8)
        status = np.repeat(status, N_THRESHOLDS, axis=1)
        counted = within & ~crowd
        if model is not None:
            status[..., objects.annotator[label] != model] = LEFT_OUT
            counted &= objects.annotator != model
        found = batch.geometry.overlaps(objects)
        same = np.flatnonzero(objects.category[found.i] == objects.category[found.j])
        i, j = found.i[same], found.j[same]
        detection, gt = np.concatenate([i, j]), np.concatenate([j, i])
        shared = np.tile(found.intersection[same], 2)
        overlap = np.where(
            crowd[gt],
            shared / np.where(found.area[detection] > 0, found.area[detection], 1.0),
            iou_from_areas(shared, found.area[detection], found.area[gt]),
        )
        key = label * n_annotators + other
        kept = (overlap >= COCO_THRESHOLDS[0] - TIE) & ~crowd[detection]
        wanted = detection * n_annotators + objects.annotator[gt]
        place = np.searchsorted(key, wanted)
        if model is not None:
            kept &= objects.annotator[detection] == model
        kept &= key[np.minimum(place, len(key) - 1)] == wanted if len(key) else False
        detection, gt, overlap, place = (each[kept] for each in (detection, gt, overlap, place))
        rank = np.arange(len(objects)) if score is None else np.argsort(np.argsort(-score, kind="stable"))
        number = rank[detection] * n_annotators + objects.annotator[gt]
        of_gt = gt * n_annotators + objects.annotator[detection]
        of_gt = np.where(crowd[gt], len(objects) * n_annotators + np.arange(len(gt)), of_gt)
        for area in range(N_AREAS if has_areas else 1):
            left_out = ~counted[area, gt]
            matched = match_detections(number, of_gt, overlap, left_out)
            threshold, pair = np.nonzero(matched)
            status[area, threshold, place[pair]] = np.where(left_out[pair], LEFT_OUT, RIGHT)
        return cls(
            *(objects.sample[label], objects.annotator[label], other, objects.category[label], label, status),
            counted[:, label],
            has_areas,
        )

    def n_labels(self, n_codes: int) -> IntArray:
        """Number of different labels that somebody has to find, by area and class, ``(A, n_codes)``."""
        once = np.unique(self.label, return_index=True)[1]
        return np.stack([np.bincount(self.category[once[within[once]]], minlength=n_codes) for within in self.counted])


def _within(batch: Batch, config: AgreementConfig, in_pixels: bool) -> tuple[BoolArray, bool]:
    """True where a label's area is in a range, shape ``(A, N)``, and whether all areas in pixels are known."""
    geometry = batch.geometry
    boxes = geometry.boxes_xyxy()
    nobody = np.empty(0, np.int64)
    area = own_areas(geometry.area, boxes, geometry.visibility(nobody, nobody), config)
    if boxes is None:
        area = np.full(len(geometry), np.nan)
    if not in_pixels:
        size = np.full((batch.n_samples, 2), np.nan) if batch.size_px is None else batch.size_px
        area = area * size.prod(axis=1)[batch.objects.sample]
    within = (area >= _RANGES[:, :1] * (1.0 - _SLACK)) & (area <= _RANGES[:, 1:] * (1.0 + _SLACK))
    within[0] = True
    return within, not bool(np.isnan(area).any())


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Detections and objects of every image, pair of annotators and class."""

    sample: IntArray  #: shape ``(G,)``, number of the image
    key: IntArray  #: shape ``(G,)``, see :func:`key_of`
    right: NDArray[np.int32]  #: shape ``(G, A, T)``, detections that are right
    wrong: NDArray[np.int32]  #: shape ``(G, A, T)``, detections that are wrong
    objects: NDArray[np.int32]  #: shape ``(G, A)``, objects to be found

    @classmethod
    def of(cls, labels: Directed, n_annotators: int) -> PairCounts:
        """The counts of a batch."""
        as_detection = key_of(labels.category, labels.other, labels.annotator, n_annotators)
        as_object = key_of(labels.category, labels.annotator, labels.other, n_annotators)
        sample = np.tile(labels.sample, 2)
        keys = np.concatenate([as_detection, as_object])
        n_keys = int(keys.max(initial=-1)) + 1
        found, group = np.unique(sample * n_keys + keys, return_inverse=True)
        of_detection, of_object = np.split(group, 2)
        shape = (len(found), N_AREAS, N_THRESHOLDS)
        right, wrong = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        objects = np.zeros(shape[:2], np.int32)
        for area in range(N_AREAS):
            objects[:, area] = np.bincount(of_object[labels.counted[area]], minlength=len(found))
            for place in range(N_THRESHOLDS):
                for value, counts in ((RIGHT, right), (WRONG, wrong)):
                    chosen = labels.status[area, place] == value
                    counts[:, area, place] = np.bincount(of_detection[chosen], minlength=len(found))
        return cls(found // max(n_keys, 1), found % max(n_keys, 1), right, wrong, objects)


def key_of(category: IntArray, reference: IntArray, detector: IntArray, n_annotators: int) -> IntArray:
    """A number for every class of every ordered pair of annotators."""
    keys: IntArray = (category * n_annotators + reference) * n_annotators + detector
    return keys


def parts_of_key(key: IntArray, n_annotators: int) -> tuple[IntArray, IntArray, IntArray]:
    """Class, reference and detector of :func:`key_of`."""
    return key // n_annotators**2, key // n_annotators % n_annotators, key % n_annotators


#: thresholds of the numbers
_OF_NUMBERS = {"map": slice(None), "map_50": slice(0, 1), "map_75": slice(5, 6)}


@dataclass(frozen=True, slots=True)
class Scored:
    """Average precision of every class of every ordered pair: keys ascending."""

    key: IntArray  #: shape ``(K,)``, see :func:`~.measured.key_of`
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
    counts: Sequence[PairCounts],
    scored: Scored,
    ranks: IntArray,
    n_annotators: int,
    *,
    has_areas: bool,
    resamples: int,
    seed: int,
) -> Fields:
    """Intervals by resampling images, with average precision linear in the counts of an image.

    Of ``M`` right ones among ``N`` detections of ``G`` objects it goes with ``M² / (N G)``, precision times recall; the
    order of the detections is held.

    Args:
        counts: counts of all images; ``sample`` is a number below ``S``
        scored: average precision of all images
        ranks: shape ``(S,)``, rank of every image by its id; images of one video or group have one
        n_annotators: number of annotators
        has_areas: whether there are numbers of areas
        resamples: number of resamples; 0 for none
        seed: seed of the random numbers
    """
    if not resamples:
        return Fields({})
    numbers = _numbers(counts, scored, len(ranks), n_annotators, N_AREAS if has_areas else 1)
    return Fields(estimates(numbers, ranks, resamples=resamples, seed=seed))


def _numbers(
    counts: Sequence[PairCounts], scored: Scored, n_samples: int, n_annotators: int, n_areas: int
) -> Iterator[Numbers]:
    """The numbers of all objects, of pairs and classes, and those of areas."""
    sample, place = np.concatenate([each.sample for each in counts]), np.concatenate([each.key for each in counts])
    place, means = np.searchsorted(scored.key, place), Means.of(scored.key, n_annotators)
    for area in range(n_areas):
        right, wrong, objects = (
            np.concatenate([getattr(each, name)[:, area] for each in counts]).astype(np.float64)
            for name in ("right", "wrong", "objects")
        )
        linear = _Linear.of(scored, means, area, (right, right + wrong, objects[:, None]), place)
        yield Numbers(_keys(means, area), linear.table(sample, n_samples), linear)


def _keys(means: Means, area: int) -> tuple[Key, ...]:
    if area:
        return (("areas", AREAS[area], "map"),)
    of_pairs = [("pairs", str(pair), name) for name in ("map", "map_50") for pair in means.pairs.tolist()]
    of_classes = [("classes", str(code), name) for name in ("map", "map_50") for code in means.categories.tolist()]
    return (*((name,) for name in _OF_NUMBERS), *of_pairs, *of_classes)


@dataclass(frozen=True, slots=True)
class _Linear:
    """The numbers of :func:`_keys` as their values plus a sum over the images."""

    values: FloatArray  #: shape ``(V,)``
    row: IntArray  #: rows of counts
    column: IntArray  #: numbers to which they add
    part: FloatArray  #: what they add

    @classmethod
    def of(
        cls,
        scored: Scored,
        means: Means,
        area: int,
        columns: tuple[FloatArray, FloatArray, FloatArray],
        place: IntArray,
    ) -> _Linear:
        """The parts of rows of counts: right detections, all of them, objects, each with the place of its key."""
        n_keys = len(scored.key)
        total = [np.stack([sums_by(place, one, n_keys) for one in each.T], axis=1) for each in columns]
        with np.errstate(divide="ignore", invalid="ignore"):
            right, all_, objects = (mine / of[place] for mine, of in zip(columns, total, strict=True))
            change = np.nan_to_num(scored.value[area][place] * (2.0 * right - all_ - objects))
        defined = scored.n_objects[area] > 0
        in_pair = np.bincount(means.pair[defined], minlength=len(means.pairs))
        in_class = np.bincount(means.category[defined], minlength=len(means.categories))
        pair, category, rows = means.pair[place], means.category[place], np.arange(len(place))
        names = list(_OF_NUMBERS)[: 1 if area else None]
        of_names = {name: change[:, _OF_NUMBERS[name]].mean(axis=1) for name in names}
        of_all = [values(scored, means, area)[name] for name in names]
        found = [np.array([over_all for over_all, *_ in of_all])]
        parts = [
            (rows, np.full(len(rows), k), of_names[name] / np.maximum(in_pair, 1)[pair] / max((in_pair > 0).sum(), 1))
            for k, name in enumerate(names)
        ]
        start = len(names)
        for k, (group, n) in enumerate(() if area else ((pair, in_pair), (category, in_class)), 1):
            for name, mean in zip(names[:2], of_all, strict=False):
                parts.append((rows, start + group, of_names[name] / np.maximum(n, 1)[group]))
                found.append(mean[k])
                start += len(n)
        return cls(np.concatenate(found), *(np.concatenate(each) for each in zip(*parts, strict=True)))

    def table(self, sample: IntArray, n_samples: int) -> SparseColumns:
        """Contribution of every image to every value, ``(S, V)``."""
        return sparse(sample[self.row], self.column, self.part, (n_samples, len(self.values)))

    def __call__(self, sums: FloatArray) -> FloatArray:
        """The numbers of sums ``(..., V)``."""
        return self.values + sums


def values(scored: Scored, means: Means, area: int = 0) -> dict[str, tuple[FloatArray, FloatArray, FloatArray]]:
    """The means of every number: over all, by pair and by class."""
    return {name: means(scored.value[area][:, chosen].mean(axis=-1)) for name, chosen in _OF_NUMBERS.items()}
