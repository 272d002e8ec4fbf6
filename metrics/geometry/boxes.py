"""Overlap of axis-aligned boxes: of all pairs of two sets, or row by row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import FloatArray
from .overlaps import dice_from_areas, iom_from_areas, iou_from_areas

_Ratio = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def check_boxes(boxes_xyxy: FloatArray, name: str = "boxes") -> FloatArray:
    """Return the boxes as float64.

    Raises:
        ValueError: if the array is not ``(_, 4)``, has a non-finite value, or max < min
    """
    boxes = np.asarray(boxes_xyxy, dtype=np.float64)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        if boxes.size:
            raise ValueError(f"`{name}` must have the shape (N, 4), got {boxes.shape}")
        boxes = boxes.reshape(0, 4)
    if not np.isfinite(boxes).all():
        raise ValueError(f"`{name}` must be finite, got {boxes[~np.isfinite(boxes).all(axis=1)][0].tolist()}")
    negative = (boxes[:, 2:] < boxes[:, :2]).any(axis=1)
    if negative.any():
        raise ValueError(f"`{name}` must have max >= min, got {boxes[negative][0].tolist()}")
    return boxes


def box_area(boxes_xyxy: FloatArray) -> FloatArray:
    """Areas of boxes ``(..., 4)``, ``(x_min, y_min, x_max, y_max)``, in the square of their unit; never undefined."""
    area: FloatArray = (boxes_xyxy[..., 2] - boxes_xyxy[..., 0]) * (boxes_xyxy[..., 3] - boxes_xyxy[..., 1])
    return area


def box_intersection(boxes_a: FloatArray, boxes_b: FloatArray) -> FloatArray:
    """Areas shared by boxes ``(..., 4)`` of two broadcastable arrays, 0 where they do not meet; never undefined."""
    width = np.minimum(boxes_a[..., 2], boxes_b[..., 2]) - np.maximum(boxes_a[..., 0], boxes_b[..., 0])
    height = np.minimum(boxes_a[..., 3], boxes_b[..., 3]) - np.maximum(boxes_a[..., 1], boxes_b[..., 1])
    shared: FloatArray = np.maximum(width, 0.0) * np.maximum(height, 0.0)
    return shared


def _all_pairs(ratio: _Ratio, boxes_a: FloatArray, boxes_b: FloatArray) -> FloatArray:
    a = check_boxes(boxes_a, "boxes_a")[:, None, :]
    b = check_boxes(boxes_b, "boxes_b")[None, :, :]
    return ratio(box_intersection(a, b), box_area(a), box_area(b))


def _row_by_row(ratio: _Ratio, boxes_a: FloatArray, boxes_b: FloatArray) -> FloatArray:
    a, b = check_boxes(boxes_a, "boxes_a"), check_boxes(boxes_b, "boxes_b")
    if len(a) != len(b):
        raise ValueError(f"`boxes_a` and `boxes_b` must have the same length, got {len(a)} and {len(b)}")
    return ratio(box_intersection(a, b), box_area(a), box_area(b))


def box_iou(boxes_a: FloatArray, boxes_b: FloatArray) -> FloatArray:
    """Intersection over union of every box of one annotator with every box of another.

    Symmetric: ``box_iou(a, b) == box_iou(b, a).T``.

    Args:
        boxes_a: shape ``(N, 4)``, ``(x_min, y_min, x_max, y_max)``, any one unit; ``N`` may be 0
        boxes_b: shape ``(M, 4)``, same unit

    Returns:
        shape ``(N, M)`` in [0, 1]; entry ``[i, j]`` compares ``boxes_a[i]`` with ``boxes_b[j]``

    Undefined:
        nan where both boxes have zero area; 0 where one has

    Raises:
        ValueError: if an array is not ``(_, 4)``, has a non-finite value, or max < min

    Example:
        >>> box_iou(np.array([[0, 0, 2, 2.]]), np.array([[1, 0, 3, 2.]])).round(4)
        array([[0.3333]])
    """
    return _all_pairs(iou_from_areas, boxes_a, boxes_b)


def box_dice(boxes_a: FloatArray, boxes_b: FloatArray) -> FloatArray:
    """Dice coefficient of every box of one annotator with every box of another; arguments as in :func:`box_iou`.

    Undefined:
        nan where both boxes have zero area; 0 where one has

    Example:
        >>> box_dice(np.array([[0, 0, 2, 2.]]), np.array([[1, 0, 3, 2.]]))
        array([[0.5]])
    """
    return _all_pairs(dice_from_areas, boxes_a, boxes_b)


def box_iom(boxes_a: FloatArray, boxes_b: FloatArray) -> FloatArray:
    """Intersection over the smaller area, of every pair of boxes; arguments as in :func:`box_iou`.

    Undefined:
        nan where both boxes have zero area; 0 where one has

    Example:
        >>> box_iom(np.array([[0, 0, 4, 4.]]), np.array([[1, 1, 2, 2.]]))
        array([[1.]])
    """
    return _all_pairs(iom_from_areas, boxes_a, boxes_b)


def box_iou_rowwise(boxes_a: FloatArray, boxes_b: FloatArray) -> FloatArray:
    """Intersection over union of row ``p`` of one array with row ``p`` of the other, shape ``(P,)``.

    For index pairs across many samples: ``box_iou_rowwise(boxes[i], boxes[j])``.

    Undefined:
        nan where both boxes have zero area; 0 where one has

    Raises:
        ValueError: as :func:`box_iou`, and if the lengths differ

    Example:
        >>> box_iou_rowwise(np.array([[0, 0, 2, 2.]]), np.array([[1, 0, 3, 2.]])).round(4)
        array([0.3333])
    """
    return _row_by_row(iou_from_areas, boxes_a, boxes_b)


def box_dice_rowwise(boxes_a: FloatArray, boxes_b: FloatArray) -> FloatArray:
    """Dice coefficient row by row, shape ``(P,)``; as :func:`box_iou_rowwise`.

    Undefined:
        nan where both boxes have zero area; 0 where one has
    """
    return _row_by_row(dice_from_areas, boxes_a, boxes_b)


def box_iom_rowwise(boxes_a: FloatArray, boxes_b: FloatArray) -> FloatArray:
    """Intersection over the smaller area row by row, shape ``(P,)``; as :func:`box_iou_rowwise`.

    Undefined:
        nan where both boxes have zero area; 0 where one has
    """
    return _row_by_row(iom_from_areas, boxes_a, boxes_b)
