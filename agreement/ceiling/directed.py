"""Match the labels of one annotator as detections of another's objects, at every threshold and size range.

Axes: ``A`` areas (all, small, medium, large), ``T`` thresholds, ``E`` labels, once for every other annotator who was
asked about the image, ``N`` labels, ``R`` annotators, ``S`` images.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...metrics.detection.detection_matching import COCO_THRESHOLDS, match_detections
from ...metrics.geometry.objects import iou_from_areas
from ...metrics.matching.merging import TIE
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ..matching.batch import Batch
from ..objects.sizes import COCO_LIMITS, SIZES, own_areas
from ..settings.config import AgreementConfig

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
        by_score: bool = False,
        model: int | None = None,
    ) -> Directed:
        """Match the labels of every two annotators who were asked about the same image.

        Args:
            batch: the labels
            config: the options of the run
            in_pixels: whether their geometry is in pixels
            score: shape ``(N,)``, confidence of every label; None: all are alike, in the order of the batch
            by_score: whether detections choose one after the other, by their confidence; else as
                :func:`~...metrics.detection.detection_matching.match_detections` says
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
            matched = match_detections(number, of_gt, overlap, left_out, by_score=by_score)
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
