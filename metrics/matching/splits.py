"""Find splits (one annotator drew a whole, another drew its parts) and duplicates (one annotator drew it twice)."""

from __future__ import annotations

import numpy as np

from ..geometry.objects import MAX_PAIRS_AT_ONCE, Geometry, Objects, Overlaps, iom_from_areas, iou_from_areas
from ..numeric.arrays import BoolArray, FloatArray, IntArray, group_ends, number_by_first, pairs_between
from .merging import TIE

#: least intersection over minimum (IoM) of a part and its whole, and of a part within a larger part
LEAST_INCLUSION = 0.7

#: least IoU of a duplicate with the object that it repeats
LEAST_IOU = 0.9


def find_splits(
    objects: Objects, candidates: BoolArray, overlaps: Overlaps, geometry: Geometry, threshold: float
) -> BoolArray:
    """Mask of objects that are the whole, or a part, of a split.

    The parts of a whole are smaller objects of one other annotator that share at least 0.7 of their area with the
    whole, except objects that share as much with a larger part. A split has at least 2 parts, and the IoU of their
    union with the whole reaches the threshold. Classes do not matter: parts often have own class names. All
    comparisons have a tolerance of 1e-9.

    Args:
        objects: ``N`` objects
        candidates: shape ``(N,)``, objects that can be marked; other objects may belong to a split, too
        overlaps: the overlapping pairs
        geometry: geometry of the objects
        threshold: least IoU of the union of the parts with the whole

    Returns:
        shape ``(N,)``

    Undefined:
        never; False where objects cover no area (lines, keypoints)

    Example:
        >>> from ..geometry.boxes import Boxes
        >>> boxes = Boxes(np.array([[0, 0, 10, 10.], [0, 0, 5, 10.], [5, 0, 9, 10.]]))
        >>> one_and_two = Objects(np.zeros(3, np.int64), np.array([0, 1, 1]), np.ones(3, np.int64))
        >>> find_splits(one_and_two, np.ones(3, bool), boxes.overlaps(one_and_two), boxes, 0.5)
        array([ True,  True,  True])
    """
    found = np.zeros(len(objects), np.bool_)
    # the pairs whose smaller object lies mostly in the larger one
    mostly = overlaps.inclusion() >= LEAST_INCLUSION - TIE
    i, j = overlaps.i[mostly], overlaps.j[mostly]
    swapped = overlaps.area[i] < overlaps.area[j]
    whole, part = np.where(swapped, j, i), np.where(swapped, i, j)
    smaller = overlaps.area[part] < (1.0 - TIE) * overlaps.area[whole]
    whole, part = whole[smaller], part[smaller]
    group, n_groups = number_by_first(whole * (int(objects.annotator.max(initial=0)) + 1) + objects.annotator[part])
    whole, part, group = _several(whole, part, group, n_groups, candidates)
    if not len(group):
        return found
    # without parts that lie mostly in a larger part (of equal ones: an earlier part) of their group
    alone = np.ones(len(part), np.bool_)
    for a, b in pairs_between(np.arange(1, len(part) + 1), group_ends(group), MAX_PAIRS_AT_ONCE):
        i, j = part[a], part[b]
        area_i, area_j = overlaps.area[i], overlaps.area[j]
        mostly = iom_from_areas(geometry.intersection_of(i, j), area_i, area_j) >= LEAST_INCLUSION - TIE
        i_is_smaller = area_i < (1.0 - TIE) * area_j
        alone[a[mostly & i_is_smaller]] = False
        alone[b[mostly & ~i_is_smaller]] = False
    whole, part, group = _several(whole[alone], part[alone], group[alone], int(group[-1]) + 1, candidates)
    if not len(group):
        return found
    n_groups = int(group[-1]) + 1
    first = np.flatnonzero(np.r_[True, np.diff(group) > 0])
    parts_area = geometry.union_area(part, group, n_groups)
    rows, groups = np.r_[part, whole[first]], np.r_[group, group[first]]
    order = np.argsort(groups, kind="stable")
    union_area = geometry.union_area(rows[order], groups[order], n_groups)
    shared = parts_area + overlaps.area[whole[first]] - union_area
    split = shared >= (threshold - TIE) * union_area
    found[whole[first[split]]] = True
    found[part[split[group]]] = True
    return found & candidates


def _several(
    whole: IntArray, part: IntArray, group: IntArray, n_groups: int, candidates: BoolArray
) -> tuple[IntArray, IntArray, IntArray]:
    """The groups with at least 2 parts and a candidate, numbered from 0 and sorted; parts by row."""
    asked = np.zeros(n_groups, np.bool_)
    asked[group[candidates[whole] | candidates[part]]] = True
    kept = np.flatnonzero((asked & (np.bincount(group, minlength=n_groups) >= 2))[group])
    order = kept[np.lexsort((part[kept], group[kept]))]
    return whole[order], part[order], number_by_first(group[order])[0]


def find_duplicates(objects: Objects, lone: BoolArray, geometry: Geometry, area: FloatArray) -> BoolArray:
    """Mask of duplicates: objects that repeat another object of the same annotator, sample and class.

    A lone object is a duplicate if its IoU is at least 0.9 (with a tolerance of 1e-9) with an object that is not lone,
    or with an earlier lone object. The result depends only on the order of the rows of one annotator on one sample.

    Args:
        objects: ``N`` objects
        lone: shape ``(N,)``, whether an object is alone in its unit
        geometry: geometry of the objects
        area: shape ``(N,)``, area of every object, as in the overlaps of the geometry

    Returns:
        shape ``(N,)``

    Undefined:
        never; an object without area is no duplicate

    Example:
        >>> from ..geometry.boxes import Boxes
        >>> boxes = Boxes(np.array([[0, 0, 10, 10.], [0, 0, 10, 9.5], [5, 5, 9, 9.]]))
        >>> one_annotator = Objects(np.zeros(3, np.int64), np.zeros(3, np.int64), np.ones(3, np.int64))
        >>> find_duplicates(one_annotator, np.array([True, True, True]), boxes, boxes.area)
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
