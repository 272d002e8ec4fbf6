"""The findings of a run in compact columns: kept for every sample, stored with the run, and read again for any view.

A sample with 21 objects of three annotators takes about 800 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...metrics.arrays import BoolArray, FloatArray, IntArray, pairs_within, sums_by
from ...metrics.geometry import Boxes, Geometry
from ...metrics.keypoints import Keypoints, visibility_agreement
from ...metrics.objects import Objects
from ..config import AgreementConfig
from .columns import SamplePairs
from .compute import Agreement, MatchedPairs, Units
from .findings import Findings
from .totals import RunTotals, totals_of

Columns = dict[str, NDArray[Any]]

#: objects of which findings are made at once
MAX_OBJECTS_AT_ONCE = 100_000

#: what the rows of a column are, and the column with their number in every sample
_SAMPLE, _OBJECT, _UNIT, _MATCHED, _SAMPLE_PAIR, _CROWD = "", "n_objects", "n_units", "n_matched", "n_pairs", "n_crowd"
_ROWS = {
    "n_objects": _SAMPLE,
    "n_units": _SAMPLE,
    "n_matched": _SAMPLE,
    "n_pairs": _SAMPLE,
    "n_crowd": _SAMPLE,
    "assigned": _SAMPLE,
    "size_px": _SAMPLE,
    "score": _SAMPLE,
    "alpha": _SAMPLE,
    "alpha_reason": _SAMPLE,
    "annotator": _OBJECT,
    "category": _OBJECT,
    "unit": _OBJECT,
    "verdict": _OBJECT,
    "area": _OBJECT,
    "boxes_xyxy": _OBJECT,
    "attributes": _OBJECT,
    "unit_verdict": _UNIT,
    "iou": _MATCHED,
    "visibility": _MATCHED,
    "best_iou": _SAMPLE_PAIR,
    "aligned": _SAMPLE_PAIR,
    "crowd_annotator": _CROWD,
}


@dataclass(frozen=True, slots=True)
class ObjectRecords:
    """What was found in any number of samples; records of batches are added with ``+``.

    Attributes:
        n_annotators: number of annotators ``R``
        parts: columns of every batch, by name
        totals: what is only known of the run as a whole; None of a selection of samples
    """

    n_annotators: int
    parts: tuple[Columns, ...]
    totals: RunTotals | None = None

    def __add__(self, other: ObjectRecords) -> ObjectRecords:
        totals = None if self.totals is None or other.totals is None else self.totals + other.totals
        return ObjectRecords(self.n_annotators, self.parts + other.parts, totals)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return sum(len(part["score"]) for part in self.parts)

    def column(self, name: str) -> NDArray[Any]:
        """A column of all samples."""
        return np.concatenate([part[name] for part in self.parts])

    def select(self, samples: BoolArray) -> ObjectRecords:
        """The records of the samples that a mask ``(S,)`` keeps, without what is only known of all."""
        parts, start = [], 0
        for part in self.parts:
            kept = samples[start : start + len(part["score"])]
            start += len(part["score"])
            parts.append({name: values[_mask(part, name, kept)] for name, values in part.items()})
        return ObjectRecords(self.n_annotators, tuple(parts))

    def findings(self, config: AgreementConfig) -> Iterator[Findings]:
        """The findings of all samples in their order, some at a time."""
        for part in self.parts:
            n_objects = np.cumsum(part["n_objects"], dtype=np.int64)
            start, n_samples = 0, len(n_objects)
            while start < n_samples or (n_samples == 0 and start == 0):
                done = int(n_objects[start - 1]) if start else 0
                end = max(start + 1, int(np.searchsorted(n_objects, done + MAX_OBJECTS_AT_ONCE, side="right")))
                yield _findings(_slice(part, start, end), self.n_annotators, config)
                start = end

    def to_arrays(self) -> Columns:
        """The columns of all samples, for storing."""
        return {name: self.column(name) for name in self.parts[0]}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_annotators: int) -> ObjectRecords:
        """The records that :meth:`to_arrays` gave, without what is only known of the run as a whole."""
        return cls(n_annotators, (dict(arrays),))


def record(agreement: Agreement, config: AgreementConfig) -> ObjectRecords:
    """The findings of a batch."""
    batch, units, pairs, shared = agreement.batch, agreement.units, agreement.pairs, agreement.sample_pairs
    objects, unit = batch.objects, agreement.matching.unit
    n_samples, n_annotators = batch.assigned.shape
    n_units = np.bincount(units.sample, minlength=n_samples)
    first_unit = np.cumsum(n_units) - n_units
    boxes = batch.geometry.xyxy if isinstance(batch.geometry, Boxes) else None
    crowd = np.repeat(np.arange(agreement.n_crowd.size), agreement.n_crowd.ravel())
    columns: Columns = {
        "n_objects": _compact(agreement.n_objects),
        "n_units": _compact(n_units),
        "n_matched": _compact(np.bincount(objects.sample[pairs.i], minlength=n_samples)),
        "n_pairs": _compact(np.bincount(shared.sample, minlength=n_samples)),
        "n_crowd": _compact(agreement.n_crowd.sum(axis=1)),
        "assigned": np.packbits(batch.assigned, axis=1),
        "score": agreement.score,
        "alpha": agreement.alpha,
        "alpha_reason": agreement.alpha_reason.astype(np.uint8),
        "annotator": _compact(objects.annotator),
        "category": _compact(objects.category),
        "unit": _compact(unit - first_unit[objects.sample]),
        "verdict": units.verdict[unit].astype(np.int8),
        "area": agreement.overlaps.area.astype(np.float32),
        "unit_verdict": units.verdict.astype(np.int8),
        "iou": pairs.iou,
        "best_iou": _best_iou(agreement),
        "crowd_annotator": _compact(crowd % n_annotators),
    }
    if boxes is not None:
        columns["boxes_xyxy"] = boxes.astype(np.float32)
    if isinstance(batch.geometry, Keypoints):
        columns["visibility"] = _visibility(batch.geometry, pairs).astype(np.float32)
    if agreement.matching.aligned is not None:
        columns["aligned"] = _aligned(agreement)
    return ObjectRecords(n_annotators, (columns,), totals_of(agreement))


def _compact(values: IntArray) -> NDArray[Any]:
    """Counts and codes in the smallest type that holds them."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def _mask(part: Columns, name: str, samples: BoolArray) -> BoolArray:
    """The rows of a column that belong to the samples of a mask."""
    counted = _ROWS[name]
    return samples if counted == _SAMPLE else np.repeat(samples, part[counted])


def _slice(part: Columns, start: int, end: int) -> Columns:
    """The columns of consecutive samples."""
    cut = {}
    for name, values in part.items():
        counted = _ROWS[name]
        if counted == _SAMPLE:
            cut[name] = values[start:end]
            continue
        first = int(part[counted][:start].sum(dtype=np.int64))
        cut[name] = values[first : first + int(part[counted][start:end].sum(dtype=np.int64))]
    return cut


def _findings(part: Columns, n_annotators: int, config: AgreementConfig) -> Findings:
    n_objects, n_units = part["n_objects"].astype(np.int64), part["n_units"].astype(np.int64)
    n_samples = len(n_objects)
    sample = np.repeat(np.arange(n_samples), n_objects)
    objects = Objects(sample, part["annotator"].astype(np.int64), part["category"].astype(np.int64))
    unit = part["unit"].astype(np.int64) + np.repeat(np.cumsum(n_units) - n_units, n_objects)
    assigned = np.unpackbits(part["assigned"], axis=1, count=n_annotators).astype(np.bool_)
    n_assigned = assigned.sum(axis=1)
    of_unit = np.repeat(np.arange(n_samples), n_units)
    order = np.argsort(unit, kind="stable")
    first, second = pairs_within(unit[order])
    i, j = order[first], order[second]
    n_crowd = np.repeat(np.arange(n_samples), part["n_crowd"]) * n_annotators + part["crowd_annotator"]
    return Findings(
        objects=objects,
        assigned=assigned,
        unit=unit,
        units=Units(
            of_unit,
            np.bincount(unit, minlength=len(of_unit)),
            n_assigned[of_unit],
            part["unit_verdict"].astype(np.int64),
        ),
        pairs=MatchedPairs(i, j, part["iou"], objects.category[i] == objects.category[j]),
        sample_pairs=SamplePairs.of(objects, assigned),
        object_verdict=part["verdict"].astype(np.int64),
        area=part["area"].astype(np.float64),
        boxes_xyxy=part["boxes_xyxy"].astype(np.float64) if "boxes_xyxy" in part else None,
        size_px=part["size_px"].astype(np.float64) if "size_px" in part else np.full((n_samples, 2), np.nan),
        attributes=tuple(part["attributes"].astype(np.int64).T) if "attributes" in part else (),
        visibility=part["visibility"].astype(np.float64) if "visibility" in part else None,
        best_iou=part["best_iou"],
        aligned=part.get("aligned"),
        n_crowd=np.bincount(n_crowd, minlength=n_samples * n_annotators).reshape(n_samples, n_annotators),
        score=part["score"],
        alpha=part["alpha"],
        alpha_reason=part["alpha_reason"].astype(np.int64),
        config=config,
    )


def _visibility(geometry: Geometry, pairs: MatchedPairs) -> FloatArray:
    """Share of points that both labelled, of every pair of matched keypoints."""
    assert isinstance(geometry, Keypoints)
    points = geometry.points_xy
    return visibility_agreement(points[pairs.i], points[pairs.j])


def _best_iou(agreement: Agreement) -> FloatArray:
    """Mean best IoU of both annotators of every sample pair with the other's objects, ``(Q, 2)``; nan without any."""
    batch, shared, overlaps = agreement.batch, agreement.sample_pairs, agreement.overlaps
    objects = batch.objects
    iou = overlaps.similarity("iou")
    width = int(agreement.n_assigned.max(initial=0))
    best = np.zeros(len(objects) * width)  # of every object with each annotator assigned to its sample
    for own, other in ((overlaps.i, overlaps.j), (overlaps.j, overlaps.i)):
        np.maximum.at(best, own * width + shared.rank(objects.sample[other], objects.annotator[other]), iou)
    block = objects.sample * batch.assigned.shape[1] + objects.annotator
    starts = np.flatnonzero(np.r_[True, np.diff(block) != 0]) if len(block) else np.empty(0, np.int64)
    sums = np.zeros((batch.n_samples * width, width))
    if len(starts):
        rank = shared.rank(objects.sample[starts], objects.annotator[starts])
        sums[objects.sample[starts] * width + rank] = np.add.reduceat(best.reshape(-1, width), starts, axis=0)
    rank_a, rank_b = shared.rank(shared.sample, shared.a), shared.rank(shared.sample, shared.b)
    a_to_b = sums[shared.sample * width + rank_a, rank_b]
    b_to_a = sums[shared.sample * width + rank_b, rank_a]
    n_a, n_b = np.where(shared.n_a > 0, shared.n_a, np.nan), np.where(shared.n_b > 0, shared.n_b, np.nan)
    return np.column_stack([a_to_b / n_a, b_to_a / n_b])


def _aligned(agreement: Agreement) -> FloatArray:
    """Number, recall and precision of the mutual best pairs of every sample pair, ``(Q, 3)``."""
    assert agreement.matching.aligned is not None
    i, j = agreement.matching.aligned
    objects, overlaps, shared = agreement.batch.objects, agreement.overlaps, agreement.sample_pairs
    area = overlaps.values_at(overlaps.intersection, i, j)
    rows = shared.row(objects.sample[i], objects.annotator[i], objects.annotator[j])
    n = len(shared.sample)
    columns = (np.ones(len(i)), area / overlaps.area[i], area / overlaps.area[j])
    return np.column_stack([sums_by(rows, values, n) for values in columns])
