"""Counting, block by block, whether tracks of two annotators stay matched to each other."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agreement.agreement_oracle import config_of, records_of
from tests.chance import examples

from annotator_agreement.agreement.matching import NO_TRACK, Batch
from annotator_agreement.agreement.objects import track_consistency
from annotator_agreement.metrics import Objects
from annotator_agreement.metrics.geometry import Boxes

N_ANNOTATORS = 3


@st.composite
def matched_frames(draw):
    """Frames as ``(video, assigned, {annotator: [(track or None, unit)]})``; one object a unit and annotator."""
    frames = []
    for _ in range(draw(st.integers(0, 8))):
        assigned = draw(st.sets(st.integers(0, N_ANNOTATORS - 1)))
        objects = {
            annotator: [
                (draw(st.sampled_from([None, 0, 1, -3])), unit)
                for unit in draw(st.lists(st.integers(0, 2), unique=True, max_size=3))
            ]
            for annotator in sorted(assigned)
        }
        frames.append((draw(st.integers(0, 1)), assigned, objects))
    return frames


def _records(frames):
    """The records of the frames, and their videos; objects of one unit have the same box."""
    rows = [
        (frame, annotator, NO_TRACK if track is None else track, unit)
        for frame, (_, _, objects) in enumerate(frames)
        for annotator, labels in objects.items()
        for track, unit in labels
    ]
    sample, annotator, track, unit = np.array(rows, np.int64).reshape(-1, 4).T
    assigned = np.zeros((len(frames), N_ANNOTATORS), np.bool_)
    for frame, (_, who, _) in enumerate(frames):
        assigned[frame, sorted(who)] = True
    left, zero = 2.0 * unit, np.zeros(len(unit))
    boxes = Boxes(np.column_stack([left, zero, left + 1.0, zero + 1.0]))
    batch = Batch(Objects(sample, annotator, np.ones(len(unit), np.int64)), boxes, assigned, track=track)
    return records_of(batch, config_of(N_ANNOTATORS))


def _consistency_by_loops(frames, a, b):
    """Mean of both directions, in plain Python."""
    directions = []
    for one, other in ((a, b), (b, a)):
        partners: dict[tuple[int, int], Counter] = {}
        for video, assigned, objects in frames:
            if one not in assigned or other not in assigned:
                continue
            for track, unit in objects[one]:
                if track is None:
                    continue
                found = [their for their, their_unit in objects[other] if their_unit == unit]
                partners.setdefault((video, track), Counter())[found[0] if found else None] += 1
        n_frames = sum(sum(counts.values()) for counts in partners.values())
        if not n_frames:
            return None
        kept = sum(max((n for track, n in counts.items() if track is not None), default=0)
                   for counts in partners.values())  # fmt: skip
        directions.append(kept / n_frames)
    return sum(directions) / 2


@examples(100)
@given(matched_frames(), st.integers(1, 4))
def test_consistency_is_that_of_loops_in_batches_of_any_size(frames, size):
    records = _records(frames[:size])
    for start in range(size, len(frames), size):
        records += _records(frames[start : start + size])
    consistency = track_consistency(records, np.array([video for video, _, _ in frames], np.int64))
    assert consistency.shape == (N_ANNOTATORS, N_ANNOTATORS)
    for a in range(N_ANNOTATORS):
        assert np.isnan(consistency[a, a])
        for b in range(N_ANNOTATORS):
            if a != b:
                expected = _consistency_by_loops(frames, a, b)
                value = None if np.isnan(consistency[a, b]) else consistency[a, b]
                assert value == (None if expected is None else pytest.approx(expected, abs=1e-12))
