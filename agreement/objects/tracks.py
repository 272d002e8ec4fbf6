"""Tracks: whether an object that an annotator follows through a video keeps its partner among another's tracks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...metrics.arrays import BoolArray, FloatArray, IntArray, sums_by

#: track of an object that belongs to none
NO_TRACK = int(np.iinfo(np.int64).min)

#: columns of counts
_VIDEO, _A, _TRACK_A, _B, _TRACK_B = range(5)


@dataclass(frozen=True, slots=True)
class Tracks:
    """The videos and tracks of a batch whose samples are frames.

    Attributes:
        video: shape ``(S,)``, video of every frame
        track: shape ``(N,)``, track of every object, its number within video and annotator; ``NO_TRACK`` without one
    """

    video: IntArray
    track: IntArray


@dataclass(frozen=True, slots=True)
class TrackCounts:
    """How often the tracks of one annotator met those of another, over any number of frames.

    Batches are kept apart until enough of them came together, so that adding many takes no longer than sorting once.

    Attributes:
        parts: ``(keys, counts)``; keys ``(5, T)``, each once and in ascending order: video, annotator, track, other
            annotator, their track (``NO_TRACK`` on frames where they have none as a partner); counts ``(T,)``, frames
    """

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

        Of a track of ``a``, over the frames in which it is drawn and ``b`` is assigned, the share in which it is
        matched with the track of ``b`` that it is matched with most often; over all tracks the mean, weighted by their
        frames. The result is the mean of both directions.

        Returns:
            shape ``(R, R)``, symmetric, in [0, 1]

        Undefined:
            nan where one of the two has no track, and on the diagonal
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
    """Count, on the frames of a batch, which tracks are matched.

    Args:
        tracks: videos of the frames, tracks of the objects
        sample: shape ``(N,)``, frame of every object
        annotator: shape ``(N,)``
        assigned: shape ``(S, R)``, who was assigned to every frame
        pairs: index columns ``(i, j)`` of the objects that were matched
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
    """Where a new key begins among sorted ones ``(k, T)``."""
    if not keys.shape[1]:
        return np.empty(0, np.int64)
    return np.flatnonzero(np.r_[True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)])


def _counted(keys: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """Every key once, in ascending order, with the sum of its counts."""
    order = np.lexsort(keys[::-1])
    keys, counts = keys[:, order], counts[order]
    starts = _starts(keys)
    return keys[:, starts], np.add.reduceat(counts, starts) if len(starts) else counts
