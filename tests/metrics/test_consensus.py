"""Consensus of the members of units, and votes on them, against loops, NumPy and counting pixel by pixel."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import shapely
from numpy.testing import assert_array_equal

from tests.chance import seeds
from tests.metrics.published import NAN

from annotator_agreement.metrics import MaskCrops, Polygons, Regions, consensus, lines_from_points, unit_votes
from annotator_agreement.metrics.consensus import NO_CLASS, consensus_score, interval_medians, medoids, quorum_votes
from annotator_agreement.metrics.geometry import region_pixels

SEEDS = pytest.mark.parametrize("seed", seeds(8))


def _units(rng: np.random.Generator, n: int = 40, n_units: int = 9) -> np.ndarray:
    """Units of members in ascending order, none of them empty."""
    return np.sort(np.concatenate([np.arange(n_units), rng.integers(0, n_units, n - n_units)]))


@SEEDS
def test_classes_medoids_keypoints_and_frames_are_those_of_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    unit = rng.integers(0, 12, 40)
    category = rng.integers(1, 5, 40)
    votes = consensus.vote_classes(unit, category, 14)
    for k in range(14):
        counted = Counter(category[unit == k].tolist()).most_common()
        leading = [name for name, n in counted if n == counted[0][1]]
        assert votes.tie[k] == (len(leading) > 1)
        assert votes.category[k] == (leading[0] if len(leading) == 1 else NO_CLASS)
        assert votes.votes[k] == (counted[0][1] if counted else 0)
    unit = _units(rng)
    similarity = rng.integers(0, 4, 40) / 4 + rng.choice([0.0, 1e-12], 40)
    similarity[rng.random(40) < 0.2] = np.nan
    found = medoids(unit, similarity, 9)
    for k in range(9):
        rows = np.flatnonzero(unit == k).tolist()
        known = [-1.0 if math.isnan(similarity[row]) else similarity[row] for row in rows]
        assert found[k] == next(row for row, value in zip(rows, known, strict=True) if value >= max(known) - 1e-9)
    unit, points = _units(rng), rng.random((40, 3, 2))
    points[rng.random((40, 3)) < 0.4] = np.nan
    found = consensus.keypoint_medians(unit, points, 9)
    for k in range(9):
        of_unit = points[unit == k]
        for joint in range(3):
            labelled = [tuple(point) for point in of_unit[:, joint] if not np.isnan(point).any()]
            if 2 * len(labelled) < len(of_unit):
                assert np.isnan(found[k, joint]).all()
            else:
                x, y = zip(*labelled, strict=True)
                assert found[k, joint].tolist() == [statistics.median(x), statistics.median(y)]
    unit = rng.permutation(_units(rng))
    first = rng.integers(1, 60, 40)
    frames = np.stack([first, first + rng.integers(0, 30, 40)], axis=1)
    found = interval_medians(unit, frames, 9)
    for k in range(9):
        expected = [math.floor(statistics.median(frames[unit == k, column].tolist())) for column in (0, 1)]
        assert found[k].tolist() == expected
    assert (found[:, 0] <= found[:, 1]).all()
    largest, smallest = 2**63 - 1, -(2**63)  # that the database can hold
    frames = np.array([[smallest, largest], [smallest + 1, largest - 2]])
    assert interval_medians(np.array([0, 0]), frames, 1).tolist() == [[smallest, largest - 1]]


def test_a_quorum_is_the_smallest_number_that_reaches_the_share_and_a_score_votes_times_iou() -> None:
    assigned = np.arange(1, 101)
    for quorum in (0.1, 0.25, 0.3, 1 / 3, 0.5, 0.6, 2 / 3, 0.7, 0.9, 1.0):
        share = Fraction(quorum).limit_denominator(100)
        expected = [next(n for n in range(1, 101) if n >= share * of) for of in assigned.tolist()]
        assert quorum_votes(assigned, quorum).tolist() == expected
    score = consensus_score(np.array([3, 2, 1, 1]), np.array([3, 5, 1, 4]), np.array([0.5, 0.75, np.nan, np.nan]))
    np.testing.assert_allclose(score, [0.5, 0.3, np.nan, np.nan], rtol=1e-15)


def test_what_has_no_consensus_or_is_no_table_is_an_error_and_an_empty_table_has_no_votes() -> None:
    for quorum in (0.0, -0.5, 1.01, math.nan):
        with pytest.raises(ValueError, match=r"`quorum` must be in \(0, 1\], got"):
            quorum_votes(np.array([3]), quorum)
    with pytest.raises(ValueError, match=r"`unit` must name every unit, got none of \[1\]"):
        medoids(np.array([0, 2]), np.array([0.5, 0.5]), 3)
    ends, zero = np.array([[0.0, 0.0], [5.0, 5.0]]), np.zeros(2, np.int64)
    line = Regions.of_lines(lines_from_points(ends, zero, zero[:1], 1, tolerance_px=1.0))
    with pytest.raises(ValueError, match="`regions` must be boxes, polygons or masks, got lines"):
        region_pixels(line, np.array([SIZE]))
    for shape in ((0, 3), (3, 0), (0, 0)):
        votes = unit_votes(np.zeros(shape))
        assert_array_equal(votes.n_ratings, np.zeros(shape[0]))
        for column in (votes.agreement, votes.majority, votes.entropy_bits):
            assert_array_equal(column, np.full(shape[0], NAN))
    with pytest.raises(ValueError, match=r"`ratings` must have the shape \(U, R\), got \(3,\)"):
        unit_votes(np.zeros(3))
    with pytest.raises(ValueError, match="`ratings` must be finite or nan, got inf"):
        unit_votes(np.array([[1, np.inf]]))


SIZE = (13, 7)


def _image(masks: MaskCrops, row: int, size: tuple[int, int] = SIZE) -> np.ndarray:
    """The pixels of a mask on its image."""
    image = np.zeros((size[1], size[0]), np.bool_)
    crop, left, top = masks.crop(row), int(masks.left[row]), int(masks.top[row])
    image[top : top + crop.shape[0], left : left + crop.shape[1]] = crop
    return image


def _centres(size: tuple[int, int] = SIZE) -> list[list[tuple[float, float]]]:
    return [[(x + 0.5, y + 0.5) for x in range(size[0])] for y in range(size[1])]


@SEEDS
def test_the_pixels_of_boxes_and_polygons_are_those_with_the_centre_inside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.uniform(-3, 10, (12, 2))
    boxes = np.hstack([low, low + rng.uniform(0, 8, (12, 2))])
    shapes = [shapely.convex_hull(shapely.multipoints(rng.uniform(-2, 14, (5, 2)))) for _ in range(6)]
    holed = [shapely.difference(shape, shapely.buffer(shapely.centroid(shape), 1.3)) for shape in shapes]
    polygons = np.array([*shapes, *holed], np.object_)
    for regions, geometry in (
        (Regions.of_boxes(boxes), shapely.box(*boxes.T)),
        (Regions.of_polygons(Polygons.from_geometry(polygons)), polygons),
    ):
        masks = region_pixels(regions, np.tile(SIZE, (12, 1)))
        for row, shape in enumerate(geometry):
            inside = [[shapely.covers(shape, shapely.Point(x, y)) for x, y in line] for line in _centres()]
            assert_array_equal(_image(masks, row), inside)


def test_rectangles_have_the_pixels_of_boxes_and_masks_keep_theirs() -> None:
    for shift in (0.0, 0.25, 0.5):
        boxes = np.array([[0, 0, 3, 2], [2, 1, 9, 6.5], [-2, -1, 4, 3], [5, 5, 40, 40]]) + shift
        polygons = Polygons.from_geometry(shapely.box(*boxes.T))
        sizes = np.tile(SIZE, (4, 1))
        found = region_pixels(Regions.of_polygons(polygons), sizes)
        expected = region_pixels(Regions.of_boxes(boxes), sizes)
        for row, (x_min, y_min, x_max, y_max) in enumerate(boxes.tolist()):
            inside = [[x_min <= x < x_max and y_min <= y < y_max for x, y in line] for line in _centres()]
            assert_array_equal(_image(expected, row), inside)
            assert_array_equal(_image(found, row), inside)
            assert expected.area[row] > 0
    rng = np.random.default_rng(3)
    crop = rng.random((6, 9)) < 0.5
    masks = MaskCrops.from_crops([(crop, 2, 1), (crop, -3, -2), (crop, 9, 4), (crop, 20, 20)])
    found = region_pixels(Regions.of_masks(masks), np.tile(SIZE, (4, 1)))
    for row, (left, top) in enumerate([(2, 1), (-3, -2), (9, 4), (20, 20)]):
        large = np.zeros((40, 50), np.bool_)
        large[10 + top : 16 + top, 10 + left : 19 + left] = crop
        assert_array_equal(_image(found, row), large[10 : 10 + SIZE[1], 10 : 10 + SIZE[0]])


@SEEDS
def test_a_pixel_is_in_the_majority_if_half_of_the_masks_have_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    group = np.sort(rng.integers(0, 5, 14))
    crops = []
    for _ in group:
        width, height = int(rng.integers(0, 7)), int(rng.integers(1, 5))
        left, top = int(rng.integers(0, SIZE[0] - width + 1)), int(rng.integers(0, SIZE[1] - height + 1))
        crops.append((rng.random((height, width)) < 0.6, left, top))
    masks = MaskCrops.from_crops(crops)
    found = consensus.majority_pixels(masks, group, 6)
    for k in range(6):
        images = [_image(masks, row) for row in np.flatnonzero(group == k).tolist()]
        expected = np.zeros((SIZE[1], SIZE[0]), np.bool_)
        for y, x in np.ndindex(expected.shape):
            votes = sum(bool(image[y, x]) for image in images)
            expected[y, x] = votes > 0 and votes >= len(images) / 2
        assert_array_equal(_image(found, k), expected)
        assert found.area[k] == expected.sum()
        if expected.any():
            crop = found.crop(k)
            assert all(edge.any() for edge in (crop[0], crop[-1], crop[:, 0], crop[:, -1]))
