"""Objects that one annotator drew twice: cases by hand, and against sets of pixels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tests.chance import examples

from annotator_agreement.metrics import Intervals, Keypoints, MaskCrops, Objects, Regions, lines_from_points
from annotator_agreement.metrics.geometry.boxes import Boxes
from annotator_agreement.metrics.geometry.objects import Geometry
from annotator_agreement.metrics.matching import splits
from annotator_agreement.metrics.matching.splits import find_duplicates

SETTINGS = examples(200)


def _objects(*rows: tuple[int, int, int]) -> Objects:
    """Objects of (sample, annotator, class)."""
    return Objects(*np.array(rows, np.int64).reshape(-1, 3).T)


def _found(geometry: Geometry, lone: list[bool], objects: Objects | None = None) -> list[bool]:
    objects = objects or _objects(*[(0, 0, 1)] * len(lone))
    area = geometry.overlaps(objects).area
    return find_duplicates(objects, np.array(lone, np.bool_), geometry, area).tolist()


LONE, MATCHED = True, False


def test_objects_of_any_geometry_can_be_duplicates() -> None:
    assert _found(Boxes(np.array([(3, 1, 3, 6.0)] * 2)), [MATCHED, LONE]) == [False, False], "without area"
    lone = [LONE, LONE, LONE]
    crop, shorter = np.ones((5, 20), np.bool_), np.ones((5, 18), np.bool_)
    masks = Regions.of_masks(MaskCrops.from_crops([(crop, 4, 2), (shorter, 4, 2), (crop, 7, 2)]))
    assert _found(masks, lone) == [False, True, False]
    assert _found(Intervals(np.array([1, 1, 3]), np.array([20, 18, 22])), lone) == [False, True, False]
    points = np.array([[0, 0], [40, 0], [40, 20.0]])
    assert _found(Keypoints(np.stack([points, points + 0.1, points + 15])), lone) == [False, True, False]
    ends = np.array([[0, 0], [20, 0], [0, 1], [19, 1], [0, 6], [20, 6.0]])
    lines = lines_from_points(ends, np.repeat(range(3), 2), np.arange(3), 3, tolerance_px=1.5)
    assert _found(Regions.of_lines(lines), lone) == [False, True, False]


rows = st.tuples(
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(1, 2)),
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(9, 11), st.integers(9, 11)),
    st.booleans(),
)


@pytest.mark.parametrize("at_once", [1, 1000])
@SETTINGS
@given(drawn=st.lists(rows, max_size=12))
def test_duplicates_are_those_of_sets_of_pixels(at_once: int, drawn: list) -> None:
    drawn = sorted(drawn, key=lambda entry: entry[0][:2])
    pixels = [{(x, y) for x in range(a, a + w) for y in range(b, b + h)} for _, (a, b, w, h), _ in drawn]
    expected = [
        lone
        and any(
            (other == own and n != k and (not other_lone or n < k))
            and len(pixels[k] & pixels[n]) / len(pixels[k] | pixels[n]) >= 0.9
            for n, (other, _, other_lone) in enumerate(drawn)
        )
        for k, (own, _, lone) in enumerate(drawn)
    ]
    boxes = np.array([(a, b, a + w, b + h) for _, (a, b, w, h), _ in drawn], float).reshape(-1, 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splits, "MAX_PAIRS_AT_ONCE", at_once)
        found = _found(Boxes(boxes), [lone for *_, lone in drawn], _objects(*(own for own, *_ in drawn)))
    assert_array_equal(found, expected)
