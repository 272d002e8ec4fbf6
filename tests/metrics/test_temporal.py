"""Overlap of temporal intervals: cases by hand, sets of frames, and matching."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.chance import examples
from tests.metrics.matching_oracle import compared_pairs

from annotator_agreement.metrics import Intervals, Objects
from annotator_agreement.metrics.geometry import iou_from_areas
from annotator_agreement.metrics.geometry import objects as objects_module

few = examples(100)


# (id, a, b, shared frames, iou); closed intervals (first, last), by hand
CASES = [
    ("identical", (3, 9), (3, 9), 7, 1.0),
    ("one frame, the same", (4, 4), (4, 4), 1, 1.0),
    ("one frame of many", (1, 10), (7, 7), 1, 1 / 10),
    ("nested", (1, 12), (3, 5), 3, 3 / 12),
    ("the last frame of one is the first of the other", (1, 3), (3, 5), 1, 1 / 5),
    ("neighbours", (1, 3), (4, 9), 0, 0.0),
    ("apart", (1, 3), (20, 21), 0, 0.0),
    ("half", (0, 3), (2, 5), 2, 2 / 6),
    ("shifted by one frame", (1, 30), (2, 31), 29, 29 / 31),
    ("from the least to the greatest number", (-(2**63), 2**63 - 1), (0, 5), 6, 6 / 2**64),
    ("at the two ends of all numbers", (-(2**63), -(2**63) + 1), (2**63 - 3, 2**63 - 1), 0, 0.0),
    ("late in a long video", (2_000_000_001, 2_000_000_004), (2_000_000_003, 2_000_000_004), 2, 0.5),
]


def _columns(*rows: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _shared_and_iou(a: tuple, b: tuple) -> tuple[np.ndarray, np.ndarray]:
    """Frames shared by row ``p`` of the intervals of ``a`` and of ``b``, and their IoU."""
    frames = Intervals(*a).joined([Intervals(*b)])
    i, j = np.arange(len(a[0])), np.arange(len(a[0]), len(frames))
    shared = frames.intersection_of(i, j)
    return shared, iou_from_areas(shared, frames.area[i], frames.area[j])


def test_cases_have_the_value_computed_by_hand_and_narrow_numbers_do_not_wrap_round() -> None:
    for name, a, b, shared, iou in CASES:
        for first, second in ((a, b), (b, a)):
            found = _shared_and_iou(_columns(first), _columns(second))
            assert_array_equal(found[0], [shared], err_msg=name)
            assert_allclose(found[1], [iou], rtol=0, atol=1e-15, err_msg=name)
    for dtype, last, iou in ((np.uint8, 255, 56 / 300), (np.int16, 30_000, 100 / 30_001)):
        narrow = np.array([0], dtype), np.array([last], dtype)
        assert_allclose(_shared_and_iou(narrow, _columns((200, 299)))[1], [iou], rtol=0, atol=1e-15)
        assert_array_equal(Intervals(*narrow).area, [last + 1])


interval = st.tuples(st.integers(-3, 25), st.integers(0, 12)).map(lambda start: (start[0], sum(start)))


@few
@given(st.lists(st.tuples(interval, interval), min_size=1, max_size=6))
def test_intervals_overlap_as_their_sets_of_frames_do(pairs: list) -> None:
    a, b = ([set(range(row[side][0], row[side][1] + 1)) for row in pairs] for side in (0, 1))
    of_a, of_b = (_columns(*(row[side] for row in pairs)) for side in (0, 1))
    shared = [len(p & q) for p, q in zip(a, b, strict=True)]
    union = [len(p | q) for p, q in zip(a, b, strict=True)]
    assert_array_equal(_shared_and_iou(of_a, of_b)[0], shared)
    assert_array_equal(Intervals(*of_a).area, [len(p) for p in a])
    assert_allclose(_shared_and_iou(of_a, of_b)[1], np.array(shared) / union, rtol=0, atol=1e-15)
    assert_array_equal(_shared_and_iou(of_b, of_a), _shared_and_iou(of_a, of_b))
    assert_array_equal(_shared_and_iou(of_a, of_a)[1], np.ones(len(pairs)))


ONE = np.array([1])
ERRORS = [
    (np.ones((1, 2), int), ONE, r"`first` must have the shape \(N,\), got \(1, 2\)"),
    (np.array([1.5]), ONE * 3, r"`first` must be integers, got float64"),
    (ONE, np.array([1, 2]), r"`first` and `last` must have the same length, got 1 and 2"),
    (np.array([1, 5]), np.array([1, 4]), r"`last` must be >= `first`, got \[5, 4\]"),
]


def test_unusable_intervals_are_an_error_that_names_the_argument() -> None:
    for first, last, message in ERRORS:
        with pytest.raises(ValueError, match=message):
            Intervals(first, last)
    with pytest.raises(ValueError, match=r"`objects` must have the length 1, got 2"):
        Intervals(ONE, ONE).overlaps(Objects(*np.zeros((3, 2), np.int64)))


def test_overlaps_are_those_of_all_pairs_of_two_annotators_whatever_the_size_of_a_chunk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = np.random.default_rng(7).integers(0, 90, 24)
    frames = Intervals(first, first + np.random.default_rng(8).integers(10, 40, 24))
    objects = Objects(np.repeat([0, 1], 12), np.tile(np.repeat([0, 1, 2], 4), 2), np.ones(24, np.int64))
    sets = [set(range(a, b + 1)) for a, b in zip(frames.first.tolist(), frames.last.tolist(), strict=True)]
    shared = {(i, j): len(sets[i] & sets[j]) for i, j in compared_pairs(objects) if sets[i] & sets[j]}
    for max_pairs in (1, 7, 500_000):
        monkeypatch.setattr(objects_module, "MAX_PAIRS_AT_ONCE", max_pairs)
        overlaps = frames.overlaps(objects)
        assert list(zip(overlaps.i.tolist(), overlaps.j.tolist(), strict=True)) == list(shared)
        assert_array_equal(overlaps.intersection, [*shared.values()])
        assert_array_equal(overlaps.area, [len(frames) for frames in sets])
    nothing = Intervals(*_columns()).overlaps(Objects(*np.zeros((3, 0), np.int64)))
    assert (len(nothing.i), len(nothing.similarity("iou")), len(nothing.area)) == (0, 0, 0)


def test_some_of_the_intervals_are_taken_by_index_and_by_mask_and_joined_in_order() -> None:
    frames = Intervals(*_columns((1, 2), (3, 5), (6, 6)))
    assert len(frames) == 3
    for rows in (np.array([2, 0]), np.array([True, False, True])):
        taken = frames.take(rows)
        assert (taken.first.tolist(), taken.last.tolist()) == (frames.first[rows].tolist(), frames.last[rows].tolist())
    joined = frames.joined([frames.take(np.array([1])), frames.take(np.empty(0, np.int64))])
    assert (joined.first.tolist(), joined.last.tolist()) == ([1, 3, 6, 3], [2, 5, 6, 5])
