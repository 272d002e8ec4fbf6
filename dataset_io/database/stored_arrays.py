"""Decode stored mask arrays and image files into arrays of numbers; refuse anything else, and execute nothing."""

from __future__ import annotations

import io
import re
import struct
import tokenize
import zlib
from typing import Any

import cv2
import numpy as np
from fiftyone.utils.image import read as read_image

#: errors of zlib and numpy for bytes of anything else, values that are no bytes, and arrays larger than the memory
UNREADABLE = (
    *(zlib.error, struct.error, tokenize.TokenError, ValueError, TypeError, EOFError, SyntaxError),
    *(MemoryError, OverflowError, RecursionError),
)
#: header of a numpy file with a two-dimensional array of booleans or bytes
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '\|([bu]1)', 'fortran_order': False, 'shape': \((\d+), (\d+)\), \} *\n", re.DOTALL
)


def stored_array(stored: Any) -> Any:
    """The array of numbers that FiftyOne stored as bytes.

    Raises:
        ValueError: if the value is anything else
    """
    try:
        content = zlib.decompress(stored)
        # numpy takes longer to read the header than zlib to inflate a mask of 100 x 100 pixels
        header = _HEADER.match(content)
        if header is None:
            array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
        else:
            kind, height, width = header.groups()
            pixels = np.frombuffer(memoryview(content)[header.end() :], kind.decode())
            array = pixels.reshape(int(height), int(width))
    except UNREADABLE as error:
        raise ValueError(f"A mask must be stored as FiftyOne stores arrays, got something else: {error}") from error
    if array.dtype.kind not in "biuf":
        raise ValueError(f"A mask must hold numbers, got the type {array.dtype}")
    return array


def stored_image(path: str) -> Any:
    """The pixels of an image file, as FiftyOne reads them.

    Raises:
        ValueError: if the file is no image, or cannot be read
    """
    try:
        image = read_image(path, flag=cv2.IMREAD_UNCHANGED)
    except (OSError, cv2.error) as error:
        raise ValueError(f"A mask must be an image, got {path!r}, which cannot be read") from error
    if image is None:
        raise ValueError(f"A mask must be an image, got {path!r}, which cannot be read")
    return image
