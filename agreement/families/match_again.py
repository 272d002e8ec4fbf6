"""What samples had added to the totals of a run, from their records, so that it can be subtracted when they change."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...metrics.alpha.nominal import NominalTally, add_padded
from ...metrics.geometry.boxes import Boxes
from ...metrics.geometry.objects import Overlaps
from ...metrics.numeric.arrays import BoolArray, IntArray
from ..matching.batch import Batch, TrackCounts, Tracks, count_tracks
from ..matching.compute import Agreement, MatchedBatch, matching_of
from ..objects.records import MAX_OBJECTS_AT_ONCE, ObjectRecords, RunTotals, agreement_of_part, totals_of
from ..objects.sensitivity import RuleStatistics, RuleSums, SweepPoint, SweepStatistics
from ..objects.vitality import Rematched
from ..settings.config import AgreementConfig

#: fields of the totals that are no sums over samples
_NOT_SUMS = {"tracks", "threshold_sample"}


def _totals_again(records: ObjectRecords, config: AgreementConfig) -> RunTotals | None:
    """What some samples had added to the totals of their run, without tracks and the subsample for the threshold.

    Returns:
        the totals; None if the records do not tell, as objects were left out that had been matched before, or a sample
        has too many overlapping pairs
    """
    part = {name: records.column(name) for name in records.parts[0]}
    if part["n_alone"].any() or part["without_overlaps"].any():
        return None
    agreement = agreement_of_part(part, records.n_annotators, config)
    objects, n_samples = agreement.objects, agreement.n_samples
    start = np.cumsum(agreement.n_objects) - agreement.n_objects
    first = np.repeat(start, part["n_overlaps"])
    crowded = np.repeat(part["crowded"].astype(np.bool_), agreement.n_objects)
    overlaps = Overlaps(
        first + part["overlap_i"],
        first + part["overlap_j"],
        part["intersection"],
        part["area"],
        crowded if crowded.any() else None,
    )
    matching = matching_of(objects, overlaps, config)
    if not np.array_equal(matching.unit, agreement.unit):
        return None
    covered = np.repeat(start, part["n_covered"]) + part["covered_row"], part["covered_by"].astype(np.int64)
    of_agreement = {field.name: getattr(agreement, field.name) for field in dataclasses.fields(Agreement)}
    again = MatchedBatch(
        **of_agreement,
        batch=Batch(objects, Boxes(np.zeros((len(objects), 4))), agreement.assigned),
        counted=np.ones(len(objects), np.bool_),
        matching=matching,
        overlaps=overlaps,
        covered=covered,
        n_alone=np.zeros(n_samples, np.int64),
    )
    return dataclasses.replace(
        totals_of(again),
        n_crowded=int(part["crowded"].sum()),
        n_repaired=int(part["n_repaired"].sum()),
        n_points=int(part["n_points"].sum()),
    )


def _minus(a: Any, b: Any) -> Any:
    """A total without some of what was added to it."""
    if isinstance(a, np.ndarray):
        return a - b if a.dtype.kind == "f" else add_padded(a, -b)
    if isinstance(a, tuple):
        return tuple(map(_minus, a, b)) if b else a
    if dataclasses.is_dataclass(a) and not isinstance(a, type):
        kept = getattr(a, "fixed", ())
        names = [field.name for field in dataclasses.fields(a) if field.name not in kept]
        return dataclasses.replace(a, **{name: _minus(getattr(a, name), getattr(b, name)) for name in names})
    return a - b


def tracks_again(records: ObjectRecords, video: IntArray, config: AgreementConfig) -> TrackCounts:
    """The matched tracks of all samples, from the video ``(S,)`` of every frame."""
    total, done = TrackCounts(), 0
    for part in records.chunks("n_objects", MAX_OBJECTS_AT_ONCE):
        agreement = agreement_of_part(part, records.n_annotators, config)
        n = agreement.n_samples
        pairs, excused = agreement.pairs, agreement.excuses.of_objects(agreement.unit)
        tracks = Tracks(video[done : done + n], part["track"].astype(np.int64))
        objects = agreement.objects
        total += count_tracks(
            tracks, objects.sample, objects.annotator, agreement.assigned, (pairs.i, pairs.j), excused
        )
        done += n
    return total


# ---- storing ----


def _totals_to_json(totals: RunTotals) -> dict[str, Any]:
    """The totals of a run that are sums, as JSON values."""
    names = {field.name for field in dataclasses.fields(RunTotals)} - _NOT_SUMS
    return {name: _json(getattr(totals, name)) for name in sorted(names)}


def _json(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return list(map(_json, value)) if isinstance(value, tuple) else value


def _totals_from_json(stored: Mapping[str, Any]) -> RunTotals:
    """The totals that :func:`_totals_to_json` gave."""
    values = dict(stored)
    sums = tuple(
        RuleSums(
            **{
                **entry,
                "joint": _tally(entry["joint"]),
                "alpha": np.array(entry["alpha"], np.float64),
                "n_defined": np.array(entry["n_defined"], np.int64),
            }
        )
        for entry in stored["rules"]["sums"]
    )
    points = (SweepPoint(**{**entry, "joint": _tally(entry["joint"])}) for entry in stored["sweep"]["points"])
    values["sweep"] = SweepStatistics(tuple(points))
    values["rules"] = RuleStatistics(sums, _tally(stored["rules"]["empty"]), stored["rules"]["n_empty"])
    values["rematched"] = Rematched(tuple(map(_tally, stored["rematched"]["tallies"])))
    return RunTotals(**values)


def _tally(stored: Mapping[str, Sequence[int]]) -> NominalTally:
    return NominalTally(**{name: np.array(values, np.int64) for name, values in stored.items()})


def sums_to_json(records: ObjectRecords) -> dict[str, Any]:
    """The sums of a whole run, as JSON values."""
    return _totals_to_json(records.totals or RunTotals())


def with_sums(records: ObjectRecords, stored: Mapping[str, Any]) -> ObjectRecords:
    """Records of a whole run, from columns and :func:`sums_to_json`."""
    return dataclasses.replace(records, totals=_totals_from_json(stored))


def without_samples(records: ObjectRecords, samples: BoolArray, config: AgreementConfig) -> ObjectRecords | None:
    """The records of a whole run without the samples in a mask ``(S,)``.

    Tracks and the subsample for the threshold are left as they are.

    Returns:
        the records; None if they do not tell what the samples had added, see :func:`_totals_again`
    """
    kept = records.select(~samples)
    if records.totals is None or not samples.any():
        return dataclasses.replace(kept, totals=records.totals)
    gone = _totals_again(records.select(samples), config)
    if gone is None:
        return None
    names = {field.name for field in dataclasses.fields(RunTotals)} - _NOT_SUMS
    values = {name: _minus(getattr(records.totals, name), getattr(gone, name)) for name in names}
    if not values["n_inexact"]:
        values |= {"inexact_surplus": 0.0, "inexact_bound": 0.0}  # exactly
    return dataclasses.replace(kept, totals=dataclasses.replace(records.totals, **values))
