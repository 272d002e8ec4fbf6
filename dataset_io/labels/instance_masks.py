"""Instance masks as FiftyOne stores them, placed on the pixels of their image as FiftyOne paints them."""

from __future__ import annotations

import re
import tokenize
import zlib
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from fiftyone.core.utils import deserialize_numpy_array
from fiftyone.utils.image import read as read_image

from ...metrics.arrays import BoolArray, FloatArray, IntArray
from ...metrics.geometry.masks import MaskCrops

#: relative coordinates times a size give 2.9999999996 where 3 is meant
_SNAP = 1e-6
#: what zlib and numpy raise for bytes that are damaged, beside ValueError
_DAMAGED = (zlib.error, EOFError, TypeError, SyntaxError, tokenize.TokenError, MemoryError)
#: how numpy begins a file of truth values or bytes in two dimensions
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '\|([bu]1)', 'fortran_order': False, 'shape': \((\d+), (\d+)\), \} *\n", re.DOTALL
)


def decode_mask(stored: bytes) -> BoolArray:
    """The mask of a label from its bytes in the database; what is not 0 is inside.

    Raises:
        ValueError: if the bytes are no array of two dimensions
    """
    try:
        content = zlib.decompress(stored)
        header = _HEADER.match(content)
        if header is None:
            return _inside(deserialize_numpy_array(stored))
        # numpy takes longer to read the header than zlib to inflate a mask of 100 x 100 pixels
        kind, height, width = header.groups()
        pixels = np.frombuffer(memoryview(content)[header.end() :], kind.decode())
        return _inside(pixels.reshape(int(height), int(width)))
    except _DAMAGED as error:
        raise ValueError(f"A mask must be stored as FiftyOne stores arrays, got bytes that are not: {error}") from error


def read_mask_file(path: str) -> BoolArray:
    """The mask in an image file, as FiftyOne reads it; what is not 0 is inside.

    Raises:
        ValueError: if the file is no image of two dimensions
        OSError: if it cannot be read
    """
    try:
        image = read_image(path, flag=cv2.IMREAD_UNCHANGED)
    except cv2.error as error:
        raise ValueError(f"A mask must be an image, got {path!r}, which cannot be read") from error
    if image is None:
        raise ValueError(f"A mask must be an image, got {path!r}, which cannot be read")
    return _inside(image)


def _inside(array: Any) -> BoolArray:
    if array.ndim == 3 and array.shape[2] == 1:  # FiftyOne paints these, and no others of three dimensions
        array = array[:, :, 0]
    if array.ndim != 2:
        raise ValueError(f"A mask must have two dimensions, got {array.ndim}")
    inside: BoolArray = array if array.dtype == np.bool_ else array != 0
    return inside


def pixel_boxes(boxes_xywh_rel: FloatArray, size_px: FloatArray) -> IntArray:
    """The pixels that FiftyOne gives to boxes: ``(left, top, width, height)``, shape ``(N, 4)``.

    Boxes are cut at the border of the image, and their edges rounded down; an edge that rounding errors alone keep
    below a border of pixels is taken to be on it.
    """
    low = np.clip(boxes_xywh_rel[:, :2], 0.0, 1.0)
    high = np.clip(boxes_xywh_rel[:, :2] + boxes_xywh_rel[:, 2:], 0.0, 1.0)
    first = np.floor(low * size_px + _SNAP).astype(np.int64)
    last = np.floor(high * size_px + _SNAP).astype(np.int64)
    return np.hstack([first, last - first])


def placed_masks(masks: Sequence[BoolArray], boxes_xywh_rel: FloatArray, size_px: FloatArray) -> MaskCrops:
    """Masks of any resolution on the pixels of their boxes, as :meth:`fiftyone.Detection.to_segmentation` paints them.

    A mask of another size than its box is scaled bilinearly; a pixel is inside from one half on. A mask with other
    values than 0 and 1 is treated as one of 0 and 1, so that the same shape has the same pixels however it is stored
    (FiftyOne itself takes every pixel that such a mask touches after scaling).

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
