"""The agreement on objects as compact columns: stored with the run, and read again for any view.

About 1.5 kB for a sample with 21 boxes of three annotators; polygons and masks take 96 bytes each in addition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...metrics.geometry.objects import Objects
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, pairs_within
from ..matching.batch import SamplePairs, TrackCounts, Tracks, count_tracks
from ..matching.compute import Agreement, MatchedBatch, MatchedPairs, Units
from ..matching.verdicts import AGREED, NO_VERDICT
from ..settings.config import AgreementConfig
from ..statistics.records import (
    OF_SAMPLE,
    AnyColumns,
    Columns,
    Records,
    SampleValues,
    compact,
    packed,
    rows_by_column,
    unpacked,
)

#: objects that are unpacked at once
MAX_OBJECTS_AT_ONCE = 100_000

#: the columns with one row per sample, object, unit, pair of matched objects, pair of annotators, and so on, by the
#: column with their number per sample
_ROWS = rows_by_column(
    {
        OF_SAMPLE: (
            *("n_objects", "n_units", "n_matched", "n_pairs", "n_crowd", "n_coordinates"),
            *("assigned", "otherwise", "size_px", "score", "cost", "alpha", "alpha_reason"),
            *("n_hard", "n_inexact", "crowded", "n_repaired", "n_points", "n_in_another_order"),
        ),
        "n_objects": (
            *("label_id", "field", "annotator", "category", "unit", "verdict", "attributes", "track"),
            *("area", "boxes_xyxy", "boxes_rest", "first_frame", "outline"),
        ),
        "n_units": ("unit_verdict",),
        "n_matched": ("iou", "visibility"),
        "n_pairs": ("best_iou", "aligned"),
        "n_crowd": ("crowd_annotator",),
        "n_coordinates": ("coordinates",),
        "n_inexact": ("inexact_surplus",),
    }
)


@dataclass(frozen=True, slots=True)
class ObjectRecords(Records):
    """The agreement on objects of any number of samples."""

    family: ClassVar[str] = "objects"
    rows: ClassVar[Mapping[str, str]] = _ROWS
    of_classes: ClassVar[str | None] = "category"

    def sample_values(self) -> SampleValues:
        # the short form of super() does not work in classes with slots
        found, disputed = super(ObjectRecords, self).sample_values(), self.column("unit_verdict") > AGREED
        of_unit = np.repeat(np.arange(self.n_samples), found.n_units)
        return replace(found, n_disputed=np.bincount(of_unit[disputed], minlength=self.n_samples))

    def agreements(self, config: AgreementConfig) -> Iterator[Agreement]:
        """The agreement on all samples, in order and in chunks."""
        for part in self.chunks("n_objects", MAX_OBJECTS_AT_ONCE):
            yield agreement_of_part(part, self.n_annotators, config)


def record(
    agreement: MatchedBatch, label_ids: NDArray[np.uint8] | None = None, field: IntArray | None = None
) -> ObjectRecords:
    """The agreement on a batch in compact columns.

    Args:
        label_ids: id of every object, shape ``(N, 12)``; None where labels have none
        field: index of the field of every object, shape ``(N,)``
    """
    columns = {**agreement_columns(agreement), **_matching_columns(agreement), **_places(agreement)}
    if label_ids is not None and field is not None:
        columns |= {"label_id": label_ids, "field": compact(field)}
    if agreement.batch.otherwise is not None:
        columns["otherwise"] = packed(agreement.batch.otherwise)
    if agreement.batch.size_px is not None:
        columns["size_px"] = agreement.size_px.astype(np.float32)
    if agreement.batch.tracks is not None:
        columns["track"] = agreement.batch.tracks.track
    return ObjectRecords(agreement.n_annotators, (columns,))


def agreement_columns(agreement: Agreement) -> Columns:
    """The columns of what an agreement says without its labels."""
    units, objects = agreement.units, agreement.objects
    n_units = agreement.n_units
    first_unit = np.cumsum(n_units) - n_units
    crowd = np.repeat(np.arange(agreement.n_crowd.size), agreement.n_crowd.ravel())
    columns: Columns = {
        "n_objects": compact(agreement.n_objects),
        "n_units": compact(n_units),
        "n_matched": compact(np.bincount(objects.sample[agreement.pairs.i], minlength=agreement.n_samples)),
        "n_pairs": compact(np.bincount(agreement.sample_pairs.sample, minlength=agreement.n_samples)),
        "n_crowd": compact(agreement.n_crowd.sum(axis=1)),
        "assigned": packed(agreement.assigned),
        "score": agreement.score,
        "cost": agreement.cost,
        "alpha": agreement.alpha,
        "alpha_reason": agreement.alpha_reason.astype(np.uint8),
        "annotator": compact(objects.annotator),
        "category": compact(objects.category),
        "unit": compact(agreement.unit - first_unit[objects.sample]),
        "verdict": agreement.object_verdict.astype(np.int8),
        "area": agreement.area,
        "unit_verdict": units.verdict.astype(np.int8),
        "iou": agreement.pairs.iou,
        "best_iou": agreement.best_iou,
        "crowd_annotator": compact(crowd % agreement.n_annotators),
    }
    if agreement.attributes:
        columns["attributes"] = compact(np.column_stack(agreement.attributes))
    if agreement.visibility is not None:
        columns["visibility"] = agreement.visibility
    if agreement.aligned is not None:
        columns["aligned"] = agreement.aligned
    return columns


def _places(agreement: MatchedBatch) -> Columns:
    """Positions of objects, to compare those of different images: boxes, outlines, points, or first frames."""
    places = agreement.batch.geometry.places()
    columns: Columns = {}
    if agreement.boxes_xyxy is not None:
        columns["boxes_xyxy"] = agreement.boxes_xyxy.astype(np.float32)
    columns |= {name: places[name] for name in ("boxes_rest", "outline") if name in places}
    if "first" in places:
        columns["first_frame"] = compact(places["first"].astype(np.int64))
    if "points_xy" in places:
        columns["n_coordinates"] = compact(agreement.n_objects * 2 * places["points_xy"].shape[1])
        columns["coordinates"] = places["points_xy"].astype(np.float32).ravel()
    return columns


def _matching_columns(agreement: MatchedBatch) -> Columns:
    """Columns on the matching of every sample: hard and inexact components, crowding, repaired shapes."""
    objects, matching, geometry = agreement.objects, agreement.matching, agreement.batch.geometry
    nobody = np.zeros(len(objects), np.bool_)
    alone = agreement.units.votes[agreement.unit] == 1
    crowded = nobody if agreement.overlaps.crowded is None else agreement.overlaps.crowded
    order = np.argsort(matching.inexact, kind="stable")

    def count(sample: IntArray) -> NDArray[Any]:
        return compact(np.bincount(sample, minlength=agreement.n_samples))

    return {
        "n_hard": count(matching.hard),
        "n_inexact": count(matching.inexact),
        "inexact_surplus": matching.inexact_surplus[order],
        "crowded": count(objects.sample[crowded]) > 0,
        "n_repaired": count(objects.sample[geometry.repaired]),
        "n_points": count(objects.sample[geometry.without_extent]),
        "n_in_another_order": count(objects.sample[geometry.in_another_order(objects, alone)]),
    }


def shown_area(part: AnyColumns) -> FloatArray:
    """Area of every object for the report, in which more digits would mean nothing."""
    return part["area"].astype(np.float32).astype(np.float64)


def units_of_objects(part: AnyColumns) -> IntArray:
    """The unit of every object; units are numbered across samples."""
    n_units = part["n_units"].astype(np.int64)
    return part["unit"].astype(np.int64) + np.repeat(np.cumsum(n_units) - n_units, part["n_objects"])


@dataclass(frozen=True, slots=True)
class UnitColumns:
    """The units of some samples, without what takes longer to unpack (:func:`agreement_of_part`)."""

    sample: IntArray  #: shape ``(U,)``
    votes: IntArray  #: shape ``(U,)``, members
    asked: IntArray  #: shape ``(U,)``, annotators who should have drawn it
    verdict: IntArray  #: shape ``(U,)``
    unit: IntArray  #: shape ``(N,)``, unit of every object
    annotator: IntArray  #: shape ``(N,)``
    category: IntArray  #: shape ``(N,)``
    assigned: BoolArray  #: shape ``(S, R)``

    @classmethod
    def of(cls, part: AnyColumns, n_annotators: int) -> UnitColumns:
        """The units of the samples of some columns."""
        n_units = part["n_units"].astype(np.int64)
        sample, unit = np.repeat(np.arange(len(n_units)), n_units), units_of_objects(part)
        assigned = unpacked(part["assigned"], n_annotators)
        return cls(
            sample=sample,
            votes=np.bincount(unit, minlength=len(sample)),
            asked=assigned.sum(axis=1)[sample],
            verdict=part["unit_verdict"].astype(np.int64),
            unit=unit,
            annotator=part["annotator"].astype(np.int64),
            category=part["category"].astype(np.int64),
            assigned=assigned,
        )

    def classes(self, kept: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
        """Every class of some units ``(U,)``: the unit, the class, and the number of labels with it."""
        rows = kept[self.unit]
        n = int(self.category.max(initial=0)) + 1
        key, count = np.unique(self.unit[rows] * n + self.category[rows], return_counts=True)
        return key // n, key % n, count

    def with_class(self, category: int) -> BoolArray:
        """Units to which somebody gave a class, shape ``(U,)``."""
        return np.bincount(self.unit[self.category == category], minlength=len(self.sample)) > 0

    def missed_by(self, annotator: int) -> BoolArray:
        """Units of two others that an annotator should have drawn and did not, shape ``(U,)``."""
        missed: BoolArray = (self.votes >= 2) & (self.verdict != NO_VERDICT) & self.assigned[self.sample, annotator]
        missed[self.unit[self.annotator == annotator]] = False
        return missed


def unit_columns(records: ObjectRecords) -> Iterator[tuple[int, UnitColumns]]:
    """The units in chunks, each with the row of its first sample."""
    start = 0
    for part in records.chunks("n_objects", MAX_OBJECTS_AT_ONCE):
        yield start, UnitColumns.of(part, records.n_annotators)
        start += len(part["n_units"])


def track_counts(records: ObjectRecords, video: IntArray, config: AgreementConfig) -> TrackCounts:
    """Number of frames in which the tracks of annotators are matched, from the video ``(S,)`` of every frame."""
    total, done = TrackCounts(), 0
    for part in records.chunks("n_objects", MAX_OBJECTS_AT_ONCE):
        agreement = agreement_of_part(part, records.n_annotators, config)
        objects, pairs, n = agreement.objects, agreement.pairs, agreement.n_samples
        total += count_tracks(
            Tracks(video[done : done + n], part["track"].astype(np.int64)),
            objects.sample,
            objects.annotator,
            agreement.assigned,
            (pairs.i, pairs.j),
        )
        done += n
    return total


def unit_ids(first: Sequence[str], sample: IntArray, annotator: IntArray, annotators: Sequence[str]) -> list[str]:
    """The id of every object: the id of its first label.

    If another object of the sample already has this id (cloned fields share label ids), the annotator of the first
    label is appended.

    Args:
        first: id of the first label of every object ``(U,)``
        sample: its sample
        annotator: its annotator
    """
    ids = list(first)
    if len(set(ids)) == len(ids):
        return ids
    taken: set[tuple[int, str]] = set()
    for k, (of_sample, of_annotator) in enumerate(zip(sample.tolist(), annotator.tolist(), strict=True)):
        suffixed, repeat = ids[k], 1
        while (of_sample, suffixed) in taken:
            suffixed = f"{first[k]}-{annotators[of_annotator]}" + (f"-{repeat}" if repeat > 1 else "")
            repeat += 1
        taken.add((of_sample, suffixed))
        ids[k] = suffixed
    return ids


def agreement_of_part(part: AnyColumns, n_annotators: int, config: AgreementConfig) -> Agreement:
    """The agreement on the samples of some columns."""
    units, n_objects = UnitColumns.of(part, n_annotators), part["n_objects"].astype(np.int64)
    n_samples, assigned = len(n_objects), units.assigned
    objects = Objects(np.repeat(np.arange(n_samples), n_objects), units.annotator, units.category)
    order = np.argsort(units.unit, kind="stable")
    first, second = pairs_within(units.unit[order])
    i, j = order[first], order[second]
    n_crowd = np.repeat(np.arange(n_samples), part["n_crowd"]) * n_annotators + part["crowd_annotator"]
    return Agreement(
        objects=objects,
        assigned=assigned,
        otherwise=unpacked(part["otherwise"], n_annotators) if "otherwise" in part else assigned,
        unit=units.unit,
        units=Units(units.sample, units.votes, units.asked, units.verdict),
        pairs=MatchedPairs(i, j, part["iou"], objects.category[i] == objects.category[j]),
        sample_pairs=SamplePairs.of(objects, assigned),
        object_verdict=part["verdict"].astype(np.int64),
        area=shown_area(part),
        boxes_xyxy=part["boxes_xyxy"].astype(np.float64) if "boxes_xyxy" in part else None,
        size_px=part["size_px"].astype(np.float64) if "size_px" in part else np.full((n_samples, 2), np.nan),
        attributes=tuple(part["attributes"].astype(np.int64).T) if "attributes" in part else (),
        visibility=part["visibility"].astype(np.float64) if "visibility" in part else None,
        best_iou=part["best_iou"],
        aligned=part.get("aligned"),
        n_crowd=np.bincount(n_crowd, minlength=n_samples * n_annotators).reshape(n_samples, n_annotators),
        score=part["score"],
        cost=part["cost"],
        alpha=part["alpha"],
        alpha_reason=part["alpha_reason"].astype(np.int64),
        config=config,
    )
