"""A subsample to estimate the matching threshold from the data; independent of the batch size."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...metrics.geometry.objects import Geometry, Objects, Overlaps, Similarity
from ...metrics.geometry.packing import pack_geometry, unpack_geometry
from ...metrics.matching.threshold import (
    MAX_PAIRS,
    ThresholdFromData,
    best_similarities,
    similarities_between_samples,
    threshold_from_data,
)
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, concatenated, ranges, sums_by
from ..matching.batch import Batch
from ..settings.config import AgreementConfig
from ..statistics.report import number
from .report import DataThreshold

#: maximum number of samples: for boxes and temporal intervals, and for shapes that take longer to compare
MAX_SAMPLES, MAX_SAMPLES_OF_SHAPES = 2_000, 200
#: samples of a half, by which a threshold is confirmed
MIN_OF_HALF, MAX_OF_HALF = 2, 500
#: maximum number of best similarities within samples, if two samples do not have more
MAX_OBSERVED = 2_000_000
#: maximum number of compared pairs of objects of different samples, for shapes that take longer
MAX_PAIRS_OF_SHAPES = 100_000


#: the columns of samples in what is kept
_OF_SAMPLES = ("row", "keys", "assigned", "n_objects", "n_observed")


@dataclass(frozen=True, slots=True)
class _Kept:
    """Columns of ``S`` samples (ascending key), their ``N`` objects, and ``V`` best similarities within samples."""

    row: IntArray  # (S,) of the sample among those of the records
    keys: IntArray  # (S,)
    assigned: BoolArray  # (S, R)
    n_objects: IntArray  # (S,)
    n_observed: IntArray  # (S,)
    annotator: IntArray  # (N,)
    geometry: Geometry
    observed: FloatArray  # (V,)

    @property
    def limit(self) -> int:
        """Maximum number of samples."""
        return MAX_SAMPLES if self.geometry.is_quick else MAX_SAMPLES_OF_SHAPES

    def take(self, samples: IntArray) -> _Kept:
        rows = _rows_of(samples, self.n_objects)
        return _Kept(
            annotator=self.annotator[rows],
            geometry=self.geometry.take(rows).detached(),
            observed=self.observed[_rows_of(samples, self.n_observed)],
            **{name: getattr(self, name)[samples] for name in _OF_SAMPLES},
        )

    def joined(self, other: _Kept) -> _Kept:
        """Join two subsamples and keep the smallest keys; for equal keys, samples of ``self`` come first."""
        parts = [self, other]
        chosen = _first_samples(**concatenated(parts, "keys", "n_observed"), limit=self.limit)
        if len(chosen) == len(self.keys) and not (chosen >= len(self.keys)).any():
            return self
        columns = concatenated(parts, *_OF_SAMPLES, "annotator", "observed")
        return _Kept(geometry=self.geometry.joined([other.geometry]), **columns).take(chosen)


@dataclass(frozen=True, slots=True)
class ThresholdSample:
    """The rated samples with the smallest keys: at most 2,000 for boxes, 200 for other shapes, and 2,000,000 values.

    The choice depends only on the keys, so it is the same for any batch size. It is kept with its geometry beside the
    records of a run; the subsample of some samples of the run is what it has of these.
    """

    kept: _Kept | None = None

    @classmethod
    def of(cls, batch: Batch, overlaps: Overlaps, similarity: Similarity) -> ThresholdSample:
        """The samples of a batch.

        Args:
            overlaps: the overlapping pairs among them
            similarity: IoU or Dice
        """
        objects, assigned = batch.objects, batch.assigned
        n_assigned = assigned.sum(axis=1)
        n_objects = np.bincount(objects.sample, minlength=batch.n_samples)
        observed = best_similarities(objects, overlaps, assigned, similarity=similarity)
        of_others = assigned[objects.sample]
        of_others[np.arange(len(objects)), objects.annotator] = False
        n_observed = np.bincount(objects.sample[np.nonzero(of_others)[0]], minlength=batch.n_samples)
        keys = np.zeros(batch.n_samples, np.int64) if batch.sample_keys is None else batch.sample_keys
        every = _Kept(
            np.arange(batch.n_samples),
            keys,
            assigned,
            n_objects,
            n_observed,
            objects.annotator,
            batch.geometry,
            observed,
        )
        rated = np.flatnonzero(n_assigned >= 2)
        if not len(rated):
            return cls()
        return cls(every.take(rated[_first_samples(keys[rated], n_observed[rated], every.limit)]))

    def __add__(self, other: ThresholdSample) -> ThresholdSample:
        if self.kept is None or other.kept is None:
            return other if self.kept is None else self
        return ThresholdSample(self.kept.joined(other.kept))

    def moved(self, rows: IntArray) -> ThresholdSample:
        """The subsample where the records of samples have other rows ``(S,)``, or are left out (-1)."""
        if self.kept is None:
            return self
        row = rows[self.kept.row]
        chosen = np.flatnonzero(row >= 0)
        if not len(chosen):
            return ThresholdSample()
        moved = dataclasses.replace(self.kept, row=row)
        return ThresholdSample(moved.take(chosen[np.lexsort((row[chosen], self.kept.keys[chosen]))]))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The subsample as arrays, for storing."""
        if self.kept is None:
            return {}
        columns = {field.name: getattr(self.kept, field.name) for field in dataclasses.fields(self.kept)}
        geometry = pack_geometry(columns.pop("geometry"))
        return {**columns, **{f"geometry{name}": values for name, values in geometry.items()}}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> ThresholdSample:
        """The subsample that :meth:`to_arrays` gave."""
        if not arrays:
            return cls()
        prefix = "geometry"
        columns = {name: arrays[name] for name in arrays if not name.startswith(prefix)}
        packed = {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}
        return cls(_Kept(**columns, geometry=unpack_geometry(packed)))

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return 0 if self.kept is None else len(self.kept.keys)

    @property
    def is_full(self) -> bool:
        """True if the maximum number of samples is reached."""
        return self.kept is not None and self.n_samples == self.kept.limit

    def halves(self) -> list[ThresholdSample]:
        """Every other sample, in an order by content (neither ids nor the order matter), and the rest; none of fewer
        than four samples."""
        kept = self.kept
        if kept is None or self.n_samples < 2 * MIN_OF_HALF:
            return []
        samples = np.arange(self.n_samples)
        observed = sums_by(np.repeat(samples, kept.n_observed), kept.observed, self.n_samples).round(9)
        areas = np.nan_to_num(kept.geometry.area)
        area = sums_by(np.repeat(samples, kept.n_objects), areas, self.n_samples)
        counts = (kept.assigned.sum(axis=1), kept.n_observed, kept.n_objects)
        order = np.lexsort((area.round(9), observed, *counts))
        return [ThresholdSample(kept.take(order[first::2][:MAX_OF_HALF])) for first in (0, 1)]

    def threshold(self, similarity: Similarity, seed: int) -> ThresholdFromData:
        """The threshold; objects of different samples are compared as if all images had the same size.

        Args:
            similarity: IoU or Dice
            seed: seed of the random choice of compared samples, if there are too many
        """
        kept = self.kept
        if kept is None:
            return threshold_from_data(np.empty(0), np.empty(0), 0)
        sample = np.repeat(np.arange(len(kept.keys)), kept.n_objects)
        expected = similarities_between_samples(
            Objects(sample, kept.annotator, np.zeros(len(sample), np.int64)),
            kept.geometry,
            kept.assigned,
            similarity=similarity,
            rng=np.random.default_rng(seed),
            max_pairs=MAX_PAIRS if kept.geometry.is_quick else MAX_PAIRS_OF_SHAPES,
        )
        return threshold_from_data(kept.observed, expected, len(sample))


def data_threshold(sample: ThresholdSample, config: AgreementConfig) -> DataThreshold | None:
    """The threshold that the data suggest; None without samples."""
    if not sample.n_samples:
        return None
    found = sample.threshold(config.similarity, config.seed)
    halves = [half.threshold(config.similarity, config.seed).threshold for half in sample.halves()]
    return DataThreshold(
        threshold=number(found.threshold),
        ks=number(found.ks),
        n_samples=sample.n_samples,
        n_observed=found.n_observed,
        n_expected=found.n_expected,
        observed=found.observed.tolist(),
        expected=found.expected.tolist(),
        reason=found.reason or None,
        halves=[number(half) for half in halves],
    )


def _first_samples(keys: IntArray, n_observed: IntArray, limit: int) -> IntArray:
    """The samples with the smallest keys that together have no more than :data:`MAX_OBSERVED` values, at least two."""
    order = np.argsort(keys, kind="stable")[:limit]
    n = int(np.searchsorted(np.cumsum(n_observed[order]), MAX_OBSERVED, side="right"))
    return order[: max(2, n)]


def _rows_of(samples: IntArray, counts: IntArray) -> IntArray:
    """Rows of the chosen samples, given the number of consecutive rows of every sample."""
    return ranges((np.cumsum(counts) - counts)[samples], counts[samples])
