"""Read instance masks and place them on the pixels of their image, as FiftyOne does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np

from ...metrics.geometry.masks import MaskCrops
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ..database.stored_arrays import stored_array, stored_image

#: rounding errors of relative coordinates times image size (2.9999999996 for 3)
_SNAP = 1e-6


def decode_mask(stored: bytes) -> BoolArray:
    """The mask of a label from its bytes in the database; pixels that are not 0 are inside.

    Raises:
        ValueError: if the bytes are not a two-dimensional array
    """
    return _inside(stored_array(stored))


def read_mask_file(path: str) -> BoolArray:
    """The mask in an image file; pixels that are not 0 are inside.

    Raises:
        ValueError: if the file is not a two-dimensional image
    """
    return _inside(stored_image(path))


def _inside(array: Any) -> BoolArray:
    if array.ndim == 3 and array.shape[2] == 1:  # the only three-dimensional masks that FiftyOne accepts
        array = array[:, :, 0]
    if array.ndim != 2:
        raise ValueError(f"A mask must have two dimensions, got {array.ndim}")
    inside: BoolArray = array if array.dtype == np.bool_ else array != 0
    return inside


def pixel_boxes(boxes_xywh_rel: FloatArray, size_px: FloatArray) -> IntArray:
    """The pixels that FiftyOne gives to boxes: ``(left, top, width, height)``, shape ``(N, 4)``.

    Boxes are clipped to the image and their edges rounded down; edges within rounding error below a whole number are
    rounded to it first.
    """
    low = np.clip(boxes_xywh_rel[:, :2], 0.0, 1.0)
    high = np.clip(boxes_xywh_rel[:, :2] + boxes_xywh_rel[:, 2:], 0.0, 1.0)
    first = np.floor(low * size_px + _SNAP).astype(np.int64)
    last = np.floor(high * size_px + _SNAP).astype(np.int64)
    return np.hstack([first, last - first])


def placed_masks(masks: Sequence[BoolArray], boxes_xywh_rel: FloatArray, size_px: FloatArray) -> MaskCrops:
    """Masks of any resolution on the pixels of their boxes, as :meth:`fiftyone.Detection.to_segmentation` paints them.

    A mask that differs in size from its box is scaled bilinearly; values from 0.5 on are inside. All values except 0
    count as 1, so that the same shape always has the same pixels (FiftyOne itself takes every touched pixel of a scaled
    mask with other values).

    Args:
        masks: ``N`` masks, shape ``(H, W)`` each
        boxes_xywh_rel: shape ``(N, 4)``, relative to the image
        size_px: shape ``(N, 2)``, width and height of the images in pixels
    """
    places = pixel_boxes(boxes_xywh_rel, size_px).tolist()
    return MaskCrops.from_crops(
        [
            (_scaled(mask, width, height), left, top)
            for mask, (left, top, width, height) in zip(masks, places, strict=True)
        ]
    )


def _scaled(mask: BoolArray, width: int, height: int) -> BoolArray:
    if mask.shape == (height, width):
        return mask
    if not mask.size or not width or not height:
        return np.zeros((height, width), np.bool_)
    scaled: BoolArray = cv2.resize(mask.astype(np.uint8), (width, height)).astype(np.bool_)
    return scaled
