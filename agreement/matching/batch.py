"""The objects of a batch of samples as columns, the pairs of annotators on these samples, and tracks through videos."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from ...metrics.geometry.objects import Geometry, Objects
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, pairs_within, ranges, sums_by

#: track of an object without a track
NO_TRACK = int(np.iinfo(np.int64).min)

#: columns of counts
_VIDEO, _A, _TRACK_A, _B, _TRACK_B = range(5)


@dataclass(frozen=True, slots=True)
class Tracks:
    """The videos and tracks of a batch of frames."""

    video: IntArray  #: shape ``(S,)``, video of every frame
    #: shape ``(N,)``, track of every object, its number within video and annotator; ``NO_TRACK`` without one
    track: IntArray


@dataclass(frozen=True, slots=True)
class Batch:
    """The objects of a batch of samples, and the assigned annotators."""

    objects: Objects  #: ``N`` objects, sorted by sample, annotator, label id; categories from 1
    geometry: Geometry  #: geometry of every object
    assigned: BoolArray  #: shape ``(S, R)``, whether an annotator was assigned to a sample
    crowd: BoolArray | None = None  #: shape ``(N,)``, objects that are crowd regions; None if there are none
    tracks: Tracks | None = None  #: videos and tracks if the samples are frames; else None
    #: for every compared attribute the codes of its values, shape ``(N,)``; 0 where not given
    attributes: tuple[IntArray, ...] = ()
    #: for every compared attribute the number of each code; nan where the value is not a number
    attribute_numbers: tuple[FloatArray, ...] = ()
    #: shape ``(S, 2)``, width and height of the images, nan where unknown; None if not needed
    size_px: FloatArray | None = None
    #: shape ``(S, R)``, who would be assigned if a null label list had the other meaning; None: the same
    otherwise: BoolArray | None = None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.assigned)

    def take(self, samples: IntArray) -> Batch:
        """The batch of the samples at some rows, in that order."""
        n_objects = np.bincount(self.objects.sample, minlength=self.n_samples)
        rows = ranges((np.cumsum(n_objects) - n_objects)[samples], n_objects[samples])
        kept = self._with(rows, np.repeat(np.arange(len(samples)), n_objects[samples]))
        tracks = None if kept.tracks is None else Tracks(kept.tracks.video[samples], kept.tracks.track)
        size_px = None if self.size_px is None else self.size_px[samples]
        otherwise = None if self.otherwise is None else self.otherwise[samples]
        return dataclasses.replace(
            kept, assigned=self.assigned[samples], otherwise=otherwise, tracks=tracks, size_px=size_px
        )

    def among(self, rows: BoolArray) -> Batch:
        """The batch with all samples, but only the objects in a mask ``(N,)``."""
        return self._with(rows, self.objects.sample[rows])

    def _with(self, rows: IntArray | BoolArray, sample: IntArray) -> Batch:
        """The batch with some of the objects, and the sample of each of them."""
        kept = Objects(sample, self.objects.annotator[rows], self.objects.category[rows])
        crowd = None if self.crowd is None else self.crowd[rows]
        tracks = None if self.tracks is None else Tracks(self.tracks.video, self.tracks.track[rows])
        attributes = tuple(codes[rows] for codes in self.attributes)
        return dataclasses.replace(
            self, objects=kept, geometry=self.geometry.take(rows), crowd=crowd, tracks=tracks, attributes=attributes
        )


@dataclass(frozen=True, slots=True)
class SamplePairs:
    """The pairs of annotators assigned to the same sample, over the samples of a batch."""

    sample: IntArray  #: shape ``(Q,)``
    a: IntArray  #: shape ``(Q,)``, first annotator
    b: IntArray  #: shape ``(Q,)``
    n_a: IntArray  #: shape ``(Q,)``, objects of ``a`` on the sample
    n_b: IntArray  #: shape ``(Q,)``
    _start: IntArray
    _rank: IntArray
    _n_assigned: IntArray

    @classmethod
    def of(cls, objects: Objects, assigned: BoolArray) -> SamplePairs:
        """All pairs of assigned annotators, ordered by (sample, a, b).

        Args:
            assigned: shape ``(S, R)``
        """
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


@dataclass(frozen=True, slots=True)
class TrackCounts:
    """Number of frames in which tracks of two annotators are matched.

    Batches are merged in steps of doubling size, so adding many takes no longer than sorting once.
    """

    #: ``(keys, counts)``; keys ``(5, T)``, each once and in ascending order: video, annotator, track, other annotator,
    #: matched track of the other (``NO_TRACK`` on frames without a match); counts ``(T,)``, frames
    parts: tuple[tuple[IntArray, IntArray], ...] = ()

    def __add__(self, other: TrackCounts) -> TrackCounts:
        parts = [*self.parts, *other.parts]
        while len(parts) > 1 and 2 * len(parts[-1][1]) >= len(parts[-2][1]):
            last, before = parts.pop(), parts.pop()
            parts.append(_counted(np.hstack([before[0], last[0]]), np.concatenate([before[1], last[1]])))
        return TrackCounts(tuple(parts))

    def totals(self) -> tuple[IntArray, IntArray]:
        """All keys ``(5, T)`` and counts ``(T,)``."""
        if not self.parts:
            return np.empty((5, 0), np.int64), np.empty(0, np.int64)
        keys, counts = zip(*self.parts, strict=True)
        return _counted(np.hstack(keys), np.concatenate(counts))

    def consistency(self, n_annotators: int) -> FloatArray:
        """Share of frames in which tracks keep their partner, for every pair of annotators.

        For every track of ``a``: (frames matched with its most frequent partner among the tracks of ``b``) / (frames in
        which it is drawn and ``b`` is assigned). These shares are averaged over tracks, weighted by frames, then over
        both directions.

        Returns:
            shape ``(R, R)``, symmetric, in [0, 1]

        Undefined:
            nan if one of the two has no track, and on the diagonal
        """
        keys, counts = self.totals()
        of_track = _starts(keys[:_TRACK_B])
        pair = keys[_A] * n_annotators + keys[_B]
        frames = sums_by(pair, counts, n_annotators**2)
        matched = np.where(keys[_TRACK_B] == NO_TRACK, 0, counts)
        kept = np.maximum.reduceat(matched, of_track) if len(of_track) else matched
        total = sums_by(pair[of_track], kept, n_annotators**2)
        share = np.where(frames > 0, total / np.maximum(frames, 1), np.nan).reshape(n_annotators, n_annotators)
        both: FloatArray = (share + share.T) / 2.0
        return both


def count_tracks(
    tracks: Tracks,
    sample: IntArray,
    annotator: IntArray,
    assigned: BoolArray,
    pairs: tuple[IntArray, IntArray],
) -> TrackCounts:
    """Count the matched tracks on the frames of a batch.

    Args:
        tracks: videos of the frames, tracks of the objects
        sample: shape ``(N,)``, frame of every object
        annotator: shape ``(N,)``
        assigned: shape ``(S, R)``, whether an annotator was assigned to a frame
        pairs: index columns ``(i, j)`` of matched objects
    """
    others = assigned[sample] & (tracks.track != NO_TRACK)[:, None]
    others[np.arange(len(sample)), annotator] = False
    partner = np.full(others.shape, NO_TRACK)
    i, j = pairs
    partner[i, annotator[j]] = tracks.track[j]
    partner[j, annotator[i]] = tracks.track[i]
    row, other = np.nonzero(others)
    if not len(row):
        return TrackCounts()
    keys = np.stack([tracks.video[sample[row]], annotator[row], tracks.track[row], other, partner[row, other]])
    return TrackCounts((_counted(keys, np.ones(len(row), np.int64)),))


def _starts(keys: IntArray) -> IntArray:
    """Start of every run of equal keys among sorted keys ``(k, T)``."""
    if not keys.shape[1]:
        return np.empty(0, np.int64)
    return np.flatnonzero(np.r_[True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)])


def _counted(keys: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """Every key once, in ascending order, with the sum of its counts."""
    order = np.lexsort(keys[::-1])
    keys, counts = keys[:, order], counts[order]
    starts = _starts(keys)
    return keys[:, starts], np.add.reduceat(counts, starts) if len(starts) else counts
