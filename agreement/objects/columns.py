"""The objects of a batch of samples as columns."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from ...metrics.arrays import BoolArray, FloatArray, IntArray, pairs_within
from ...metrics.geometry.objects import Geometry, Objects
from .tracks import Tracks


@dataclass(frozen=True, slots=True)
class Batch:
    """The objects of some samples, and who was assigned to these.

    Attributes:
        objects: ``N`` objects, sorted by sample, annotator, label id; categories from 1
        geometry: extent of every object
        assigned: shape ``(S, R)``, whether an annotator was assigned to a sample
        crowd: shape ``(N,)``, objects that are crowd regions; None if there are none
        tracks: videos and tracks, where the samples are frames; None elsewhere
        attributes: for every compared attribute the codes of its values, shape ``(N,)``; 0 where not given
        attribute_numbers: for every compared attribute the number that a code stands for, one entry for each code; nan
            where it stands for something else
        size_px: shape ``(S, 2)``, width and height of the images, nan where not known; None where it does not matter
        sample_keys: shape ``(S,)``, numbers as if drawn by chance; where some samples stand for all, those with the
            smallest do, and where this is None, the first ones
    """

    objects: Objects
    geometry: Geometry
    assigned: BoolArray
    crowd: BoolArray | None = None
    tracks: Tracks | None = None
    attributes: tuple[IntArray, ...] = ()
    attribute_numbers: tuple[FloatArray, ...] = ()
    size_px: FloatArray | None = None
    sample_keys: IntArray | None = None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.assigned)

    def select(self, samples: BoolArray) -> Batch:
        """The batch of the samples that a mask ``(S,)`` keeps."""
        number = np.cumsum(samples) - 1
        kept = self.among(samples[self.objects.sample])
        objects = Objects(number[kept.objects.sample], kept.objects.annotator, kept.objects.category)
        tracks = None if kept.tracks is None else Tracks(kept.tracks.video[samples], kept.tracks.track)
        size_px = None if self.size_px is None else self.size_px[samples]
        keys = None if self.sample_keys is None else self.sample_keys[samples]
        return dataclasses.replace(
            kept, objects=objects, assigned=self.assigned[samples], tracks=tracks, size_px=size_px, sample_keys=keys
        )

    def among(self, rows: BoolArray) -> Batch:
        """The batch of the objects that a mask ``(N,)`` keeps, on all of the samples."""
        kept = Objects(self.objects.sample[rows], self.objects.annotator[rows], self.objects.category[rows])
        crowd = None if self.crowd is None else self.crowd[rows]
        tracks = None if self.tracks is None else Tracks(self.tracks.video, self.tracks.track[rows])
        attributes = tuple(codes[rows] for codes in self.attributes)
        return dataclasses.replace(
            self, objects=kept, geometry=self.geometry.take(rows), crowd=crowd, tracks=tracks, attributes=attributes
        )


@dataclass(frozen=True, slots=True)
class SamplePairs:
    """The pairs of annotators assigned to the same sample, over the samples of a batch.

    Attributes:
        sample: shape ``(Q,)``
        a: shape ``(Q,)``, annotator who comes first
        b: shape ``(Q,)``
        n_a: shape ``(Q,)``, objects of ``a`` on the sample
        n_b: shape ``(Q,)``
    """

    sample: IntArray
    a: IntArray
    b: IntArray
    n_a: IntArray
    n_b: IntArray
    _start: IntArray
    _rank: IntArray
    _n_assigned: IntArray

    @classmethod
    def of(cls, objects: Objects, assigned: BoolArray) -> SamplePairs:
        """All pairs of assigned annotators, ordered by (sample, a, b)."""
        n_samples, n_annotators = assigned.shape
        sample, annotator = np.nonzero(assigned)
        first, second = pairs_within(sample)
        a, b, of = annotator[first], annotator[second], sample[first]
        n_objects = np.bincount(
            objects.sample * n_annotators + objects.annotator, minlength=n_samples * n_annotators
        ).reshape(n_samples, n_annotators)
        n_assigned = assigned.sum(axis=1)
        start = np.concatenate([[0], np.cumsum(n_assigned * (n_assigned - 1) // 2)])[:-1]
        rank = np.cumsum(assigned, axis=1) - 1
        return cls(of, a, b, n_objects[of, a], n_objects[of, b], start, rank, n_assigned)

    def rank(self, sample: IntArray, annotator: IntArray) -> IntArray:
        """Position of an annotator among those assigned to the sample."""
        rank: IntArray = self._rank[sample, annotator]
        return rank

    def row(self, sample: IntArray, a: IntArray, b: IntArray) -> IntArray:
        """Row of the pair ``a`` before ``b`` of a sample."""
        p, q, n = self.rank(sample, a), self.rank(sample, b), self._n_assigned[sample]
        row: IntArray = self._start[sample] + p * n - p * (p + 1) // 2 + (q - p - 1)
        return row
