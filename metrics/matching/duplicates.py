"""Objects that one annotator drew twice."""

from __future__ import annotations

import numpy as np

from ..arrays import BoolArray, FloatArray, group_ends, pairs_between
from ..geometry.extents import Geometry
from ..geometry.objects import MAX_PAIRS_AT_ONCE, Objects
from ..geometry.overlaps import iou_from_areas
from .partition import TIE

#: least IoU of an object with what it repeats
LEAST_IOU = 0.9


def find_duplicates(objects: Objects, lone: BoolArray, geometry: Geometry, area: FloatArray) -> BoolArray:
    """Which objects repeat another one of the same annotator, sample and class.

    An object does if nobody else drew it, and its IoU with one that somebody else drew too is at least 0.9, give or
    take 1e-9; of objects that nobody else drew, each repeats those that come before it. It depends on the order of the
    rows of one annotator on one sample alone.

    Args:
        objects: ``N`` objects
        lone: shape ``(N,)``, objects that are alone in their unit, of which some may repeat another one
        geometry: their extent
        area: shape ``(N,)``, area of every object, as the overlaps of the geometry count it

    Returns:
        shape ``(N,)``

    Undefined:
        never; an object without area repeats nothing

    Example:
        >>> from ..geometry.extents import Boxes
        >>> boxes = Boxes(np.array([[0, 0, 10, 10.], [0, 0, 10, 9.5], [5, 5, 9, 9.]]))
        >>> of_one = Objects(np.zeros(3, np.int64), np.zeros(3, np.int64), np.ones(3, np.int64))
        >>> find_duplicates(of_one, np.array([True, True, True]), boxes, boxes.area)
        array([False,  True, False])
    """
    repeats = np.zeros(len(objects), np.bool_)
    rows = np.flatnonzero(lone)
    if not len(rows):
        return repeats
    block = objects.sample * (int(objects.annotator.max()) + 1) + objects.annotator
    first, end = np.searchsorted(block, block[rows]), group_ends(block)[rows]
    for number, other in pairs_between(first, end, MAX_PAIRS_AT_ONCE):
        own = rows[number]
        smaller, larger = np.minimum(area[own], area[other]), np.maximum(area[own], area[other])
        near = (objects.category[own] == objects.category[other]) & (smaller >= (LEAST_IOU - TIE) * larger)
        near &= ~lone[other] | (other < own)
        own, other = own[near], other[near]
        iou = iou_from_areas(geometry.intersection_of(own, other), area[own], area[other])
        repeats[own[iou >= LEAST_IOU - TIE]] = True
    return repeats
