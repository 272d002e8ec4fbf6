"""Geometry of every kind is the same after it was stored as plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import shapely
from numpy.testing import assert_array_equal

from annotator_agreement.metrics import Objects
from annotator_agreement.metrics.geometry.boxes import Boxes
from annotator_agreement.metrics.geometry.keypoints import Keypoints
from annotator_agreement.metrics.geometry.lines import Lines
from annotator_agreement.metrics.geometry.masks import MaskCrops
from annotator_agreement.metrics.geometry.objects import Geometry
from annotator_agreement.metrics.geometry.packing import pack_geometry, unpack_geometry
from annotator_agreement.metrics.geometry.polygons import Polygons
from annotator_agreement.metrics.geometry.regions import Regions
from annotator_agreement.metrics.geometry.temporal import Intervals

_BOXES = np.array([[0.1, 0.2, 1 / 3, 0.7], [0.15, 0.25, 0.4, 0.75], [0.0, 0.0, 0.0, 0.0]])
_WITH_HOLE = shapely.Polygon([(0, 0), (9, 0), (9, 5.1), (0, 5.1)], [[(1, 1), (2, 1), (2, 2)]])
_TWO_PARTS = shapely.MultiPolygon([shapely.box(2, 1, 7, 4), shapely.box(8, 0, 9, 1)])
_MASKS = [(np.eye(3, 5, dtype=np.bool_), 2, 1), (np.ones((2, 4), np.bool_), -1, 0), (np.zeros((0, 0), np.bool_), 0, 0)]
_LINES = [shapely.LineString([(0, 0), (5, 0.5)]), shapely.LineString([(0, 0.1), (5, 0.6)]), shapely.LineString()]


def _polygons() -> Polygons:
    shapes = np.array([_WITH_HOLE, _TWO_PARTS, shapely.Polygon()], dtype=object)
    return Polygons.from_geometry(shapes, np.array([False, True, False]))


def _lines() -> Lines:
    shapes = np.array(_LINES, dtype=object)
    return Lines(shapes, shapely.length(shapes), 1.5)


CASES: dict[str, Geometry] = {
    "boxes": Boxes(_BOXES),
    "intervals": Intervals(np.array([1, 3, 9]), np.array([4, 5, 9])),
    "keypoints": Keypoints(np.array([[[1, 2], [np.nan, np.nan]], [[1.5, 2], [3, 4]], [[7, 7], [8, 9]]]), 0.1),
    "keypoints with a sigma each": Keypoints(np.arange(12.0).reshape(3, 2, 2), np.array([0.1, 0.2])),
    "regions of boxes": Regions.of_boxes(_BOXES),
    "regions of polygons": Regions.of_polygons(_polygons()),
    "regions of masks": Regions.of_masks(MaskCrops.from_crops(_MASKS)),
    "regions of lines": Regions.of_lines(_lines()),
    "regions of several kinds": Regions.of_boxes(_BOXES).joined(
        [Regions.of_polygons(_polygons()), Regions.of_masks(MaskCrops.from_crops(_MASKS)), Regions.of_lines(_lines())]
    ),
    "no boxes": Boxes(_BOXES[:0]),
    "no regions": Regions.of_polygons(_polygons()).take(np.empty(0, np.int64)).detached(),
}


def _stored(arrays: dict[str, Any]) -> dict[str, Any]:
    """The arrays as read from bytes."""
    return {name: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape) for name, a in arrays.items()}


@pytest.mark.parametrize("geometry", CASES.values(), ids=CASES.keys())
def test_geometry_is_the_same_after_it_was_stored(geometry: Geometry) -> None:
    packed = pack_geometry(geometry)
    assert all(values.dtype.kind in "biuf" for values in packed.values())
    found = unpack_geometry(_stored(packed))
    assert type(found) is type(geometry)
    assert len(found) == len(geometry)
    assert_array_equal(found.area, geometry.area)
    assert_array_equal(found.repaired, geometry.repaired)
    assert_array_equal(found.boxes_xyxy(), geometry.boxes_xyxy())
    n = len(geometry)
    objects = Objects(np.zeros(n, np.int64), np.arange(n), np.ones(n, np.int64))
    expected, overlaps = geometry.overlaps(objects), found.overlaps(objects)
    for name in ("i", "j", "intersection", "area"):
        assert_array_equal(getattr(overlaps, name), getattr(expected, name), err_msg=name)


def test_a_mask_takes_a_bit_for_a_pixel() -> None:
    packed = pack_geometry(Regions.of_masks(MaskCrops.from_crops([(np.ones((100, 80), np.bool_), 0, 0)])))
    assert sum(values.nbytes for values in packed.values()) < 100 * 80 / 8 + 1_500
