"""Coarse outlines: what shapes share by them, against GEOS and counted pixels."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from numpy.testing import assert_allclose, assert_array_equal

from annotator_agreement.metrics import MaskCrops, Objects, Regions
from annotator_agreement.metrics.geometry.polygons import Polygons
from annotator_agreement.metrics.geometry.regions import OUTLINE_BYTES, Outlines


def _outlines(regions: Regions) -> Outlines:
    return Outlines.of(regions.bounds, regions.places()["outline"])


def _polygons(geometry: list[shapely.Geometry]) -> Regions:
    return Regions.of_polygons(Polygons.from_geometry(np.array(geometry, np.object_)))


def _star(rng: np.random.Generator, kind: str) -> shapely.Geometry:
    """A shape around the middle of an image of 640 x 480."""
    angle, radius = np.linspace(0, 2 * np.pi, 40, endpoint=False), rng.uniform(90, 180) * rng.normal(1, 0.08, 40)
    ring = np.stack([1.3 * radius * np.cos(angle), 0.8 * radius * np.sin(angle)], 1) + rng.normal([320, 240], 25)
    blob = shapely.make_valid(shapely.Polygon(ring)).buffer(0)
    if kind == "ring":
        return blob.difference(shapely.affinity.scale(blob, 0.6, 0.6))
    if kind == "two":
        return blob.difference(shapely.box(300, 0, 330, 480))
    if kind == "bar":
        ends = shapely.LineString(rng.normal([[120, 80], [520, 400]], 12))
        return ends.buffer(20)
    return blob


@pytest.mark.parametrize(
    ("kind", "bias", "spread"), [("blob", 3e-3, 8e-3), ("ring", 6e-3, 0.02), ("two", 6e-3, 0.02), ("bar", 4e-3, 0.01)]
)
@pytest.mark.few(1)
def test_the_iou_of_shapes_is_close_to_that_of_exact_areas(kind: str, bias: float, spread: float) -> None:
    rng = np.random.default_rng(3)
    shapes = [_star(rng, kind) for _ in range(60)]
    i, j = np.triu_indices(len(shapes), 1)
    a, b = (np.array(shapes, np.object_)[rows] for rows in (i, j))
    exact = shapely.area(shapely.intersection(a, b)) / shapely.area(shapely.union(a, b))
    found = _outlines(_polygons(shapes))
    shared = found.intersection_of(i, j)
    error = shared / (found.area[i] + found.area[j] - shared) - exact
    assert exact.mean() > 0.2
    assert abs(error.mean()) < bias
    assert error.std() < spread
    assert_allclose(found.intersection_of(j, i), shared, rtol=1e-12)


def test_rectangles_and_triangles_are_exact_up_to_the_255th_part_of_their_width() -> None:
    shapes = [
        shapely.box(10, 20, 50, 100),
        shapely.box(30, 60, 90, 90),
        shapely.Polygon([(10, 20), (90, 20), (10, 100)]),
    ]
    found = _outlines(_polygons(shapes))
    assert_allclose(found.area, [3200, 1800, 3200], rtol=0.002)
    assert_allclose(found.intersection_of(np.array([0, 0, 1]), np.array([1, 2, 2])), [600, 2400, 200], rtol=0.01)


def test_equal_shapes_share_their_area_and_distant_ones_nothing() -> None:
    rng = np.random.default_rng(4)
    shapes = [_star(rng, kind) for kind in ("blob", "ring", "bar")]
    found = _outlines(_polygons([*shapes, *shapes, shapely.box(900, 0, 950, 50)]))
    assert_array_equal(found.intersection_of(np.arange(3), np.arange(3, 6)), found.area[:3])
    assert_array_equal(found.intersection_of(np.arange(3), np.full(3, 6)), 0.0)


def test_a_mask_has_the_outline_of_a_polygon_of_its_shape() -> None:
    rng = np.random.default_rng(5)
    shapes = [_star(rng, kind) for kind in ("blob", "ring", "two") for _ in range(5)]
    x, y = np.meshgrid(np.arange(640) + 0.5, np.arange(480) + 0.5)
    crops = []
    for shape in shapes:
        image = shapely.contains_xy(shape, x, y)
        (rows,), (columns,) = (np.nonzero(image.any(axis=axis)) for axis in (1, 0))
        crops.append((image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1], int(columns[0]), int(rows[0])))
    masks, polygons = _outlines(Regions.of_masks(MaskCrops.from_crops(crops))), _outlines(_polygons(shapes))
    both = masks.joined([polygons])
    i, j = np.arange(15), np.arange(15, 30)
    shared = both.intersection_of(i, j)
    assert_allclose(masks.area, polygons.area, rtol=0.03)
    assert (shared / (both.area[i] + both.area[j] - shared) > 0.94).all()


def test_boxes_lines_and_shapes_without_area_have_the_outline_of_a_box() -> None:
    boxes = Regions.of_boxes(np.array([[0, 0, 4, 2.0]]))
    empty = Regions.of_masks(
        MaskCrops.from_crops([(np.zeros((2, 3), np.bool_), 1, 1), (np.zeros((0, 0), np.bool_), 0, 0)])
    )
    nothing = _polygons([shapely.Polygon()])
    for regions, area in ((boxes, [8.0]), (empty, [6.0, 0.0]), (nothing, [0.0])):
        assert_array_equal(_outlines(regions).area, area)
    assert _polygons([]).places()["outline"].shape == (0, OUTLINE_BYTES)


def test_the_overlapping_pairs_are_those_of_different_annotators() -> None:
    shapes = [shapely.box(0, 0, 2, 2), shapely.box(1, 0, 3, 2), shapely.box(1, 1, 3, 3)]
    found = _outlines(_polygons(shapes))
    overlaps = found.take(np.array([0, 1, 2])).overlaps(Objects(np.zeros(3, int), np.array([0, 1, 1]), np.ones(3, int)))
    assert_array_equal([overlaps.i, overlaps.j], [[0, 0], [1, 2]])
    assert_allclose(overlaps.intersection, [2, 1], rtol=0.01)
    assert np.isnan(found.union_area(np.array([0, 1]), np.array([0, 0]), 1)).all()
