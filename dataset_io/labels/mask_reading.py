"""Read semantic masks from arrays and image files, and check them before anything is written."""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...agreement.pixels.compute import MAX_VALUES
from ...agreement.settings.config import AgreementConfig
from ...agreement.settings.errors import AgreementInputError, shown
from ...metrics.pixels.joint_counts import ClassMask
from ..database.stored_arrays import UNREADABLE, stored_array, stored_image

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_END = b"\x00\x00\x00\x00IEND\xaeB`\x82"
_PNG_GRAYSCALE = 0
#: number of bytes that surely contain the header of an array file
_ARRAY_HEADER_BYTES = 256


#: what masks must be, each named by how it can be broken; a message reports the first broken one in this order
MISSING, UNUSABLE, COLOURS, SIZES, PHOTOGRAPH = RULES = (
    "Files of masks must exist",
    "Segmentations must have a mask with an integer or an RGB colour of 8 bits a channel for every pixel",
    "Masks must be all in colour (RGB, palettes) or all not",
    "The masks of a sample must have one size",
    f"Masks must hold at most {MAX_VALUES} values on a sample (they are no photographs, and must not be stored with "
    "loss, as in JPEG files)",
)


class UnusableMaskError(ValueError):
    """Masks that cannot be compared; the message says how they break a rule, one of ``RULES``."""

    def __init__(self, message: str, rule: str = UNUSABLE) -> None:
        super().__init__(message)
        self.rule = rule


@dataclass(frozen=True, slots=True)
class MaskShape:
    """Size of a mask in pixels, and whether its values are colours."""

    height: int
    width: int
    is_rgb: bool


@dataclass(frozen=True, slots=True)
class ReadMask:
    """A mask with one value per pixel."""

    values: ClassMask  #: shape ``(H, W)``, integers; a colour is the integer ``0xrrggbb``, as in FiftyOne
    is_rgb: bool  #: whether values are colours

    @property
    def shape(self) -> MaskShape:
        """Size and kind."""
        height, width = self.values.shape
        return MaskShape(height, width, self.is_rgb)


def read_mask(array: Any, path: Any) -> ReadMask:
    """The values of a mask, stored as an array (bytes) or at a path; as in FiftyOne, the array wins.

    Raises:
        UnusableMaskError: if its file does not exist, or is not a mask with an integer or a colour for every pixel
    """
    if array is not None:
        try:
            pixels: Any = stored_array(array)
        except ValueError as error:
            raise UnusableMaskError(f"one is not stored as FiftyOne stores arrays ({error})") from error
    else:
        path = _existing(path)
        try:
            pixels = stored_image(path)
        except ValueError as error:
            raise UnusableMaskError(f"{path!r} cannot be read as an image") from error
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (3, 4)):
        raise UnusableMaskError(f"one has the shape {pixels.shape}")
    if not pixels.size:
        raise UnusableMaskError("one has no pixels")
    if not _are_integers(pixels.dtype):
        integers = np.zeros(pixels.shape, np.int64)
        if pixels.dtype.kind in "uf" and np.isfinite(pixels).all() and float(np.abs(pixels).max()) < 2**62:
            integers = pixels.astype(np.int64)
        if pixels.dtype.kind not in "uf" or (integers != pixels).any():
            raise UnusableMaskError("one has values that are not integers")
        pixels = integers
    if pixels.ndim == 2:
        return ReadMask(pixels, is_rgb=False)
    if pixels.dtype != np.uint8 and not (pixels.min() >= 0 and pixels.max() <= 255):
        raise UnusableMaskError("one has more bits")
    red, green, blue = (pixels[:, :, channel].astype(np.int32) for channel in range(3))
    return ReadMask((red << 16) | (green << 8) | blue, is_rgb=True)


def _existing(path: Any) -> str:
    if path is None:
        raise UnusableMaskError("one has neither an array nor a path")
    if not isinstance(path, str):
        raise UnusableMaskError(f"one has a path that is no text but {type(path).__name__}")
    if not os.path.isfile(path):
        raise UnusableMaskError(repr(path), MISSING)
    return path


def _are_integers(dtype: np.dtype[Any]) -> bool:
    """True for a type whose values are integers that fit into 64 bits with a sign."""
    return dtype.kind in "bi" or (dtype.kind == "u" and dtype.itemsize < 8)


def mask_shape(array: Any, path: Any) -> MaskShape:
    """Size and kind of a mask, from its first and last bytes if possible; else the whole mask is read.

    Raises:
        UnusableMaskError: if its file does not exist, or the part that was read is not a mask
    """
    shape = _shape_of_png(_existing(path)) if array is None else _shape_of_array(array)
    return shape if shape is not None else read_mask(array, path).shape


def _shape_of_png(path: str) -> MaskShape | None:
    """Size and kind from the first and last bytes of a complete PNG file; None for other files."""
    try:
        with open(path, "rb") as file:
            start = file.read(26)
            if len(start) < 26 or not start.startswith(_PNG_SIGNATURE):
                return None
            file.seek(-len(_PNG_END), os.SEEK_END)
            if file.read() != _PNG_END:
                return None
    except OSError:  # reading the whole file will report the reason
        return None
    width, height, depth, color_type = struct.unpack(">IIBB", start[16:26])
    is_rgb = color_type != _PNG_GRAYSCALE  # OpenCV gives colours for palettes, and for gray with transparency
    return None if is_rgb and depth > 8 else MaskShape(height, width, is_rgb)


def _shape_of_array(stored: Any) -> MaskShape | None:
    """Size and kind from the header of an array; None if it may be unusable."""
    try:
        start = io.BytesIO(zlib.decompressobj().decompress(stored, _ARRAY_HEADER_BYTES))
        if np.lib.format.read_magic(start) != (1, 0):
            return None
        shape, _, dtype = np.lib.format.read_array_header_1_0(start)
    except UNREADABLE:
        return None
    usable = _are_integers(dtype) and len(shape) == 2 and min(shape) > 0
    return MaskShape(shape[0], shape[1], is_rgb=False) if usable else None


def check_masks(samples: Iterable[tuple[str, Mapping[str, tuple[Any, Any]]]], config: AgreementConfig) -> bool | None:
    """Refuse masks that cannot be compared; returns whether they are in colour (None if there are none).

    Args:
        samples: title and masks (array and path), by field, of every sample
        config: the options; ``invalid="skip"`` leaves out unusable masks, and all masks of samples whose masks do not
            match; but either all masks of the dataset must be in colour, or none
    """
    problems: list[tuple[str, UnusableMaskError]] = []
    first: dict[bool, tuple[str, str]] = {}
    for title, masks in samples:
        found = {field: _shape_of(*stored) for field, stored in masks.items()}
        problems += [(title, error) for error in found.values() if isinstance(error, UnusableMaskError)]
        shapes = {field: shape for field, shape in found.items() if isinstance(shape, MaskShape)}
        try:
            check_same_shape(shapes)
        except UnusableMaskError as error:
            problems.append((title, error))
            continue
        for field, shape in shapes.items():
            first.setdefault(shape.is_rgb, (title, field))
    if problems and config.invalid == "error":
        raise masks_error(problems)
    if len(first) > 1:
        (title, field), (other_title, other_field) = first[True], first[False]
        raise AgreementInputError(
            f"{COLOURS}, got colours in {field!r} on sample {title} and none in {other_field!r} on "
            f"sample {other_title}; convert them with fiftyone.utils.labels.transform_segmentations()"
        )
    return next(iter(first), None)


def _shape_of(array: Any, path: Any) -> MaskShape | UnusableMaskError:
    try:
        return mask_shape(array, path)
    except UnusableMaskError as error:
        return error


def check_same_shape(shapes: Mapping[str, MaskShape], is_rgb: bool | None = None) -> None:
    """Raise :class:`UnusableMaskError` unless the masks of a sample can be compared with each other.

    Args:
        shapes: size and kind of the masks, by field
        is_rgb: whether all masks of the run are in colour; None if unknown
    """
    expected = {is_rgb} - {None}
    if len({shape.is_rgb for shape in shapes.values()} | expected) > 1:
        found = shown(f"{name}{'' if shape.is_rgb else ' not'}" for name, shape in shapes.items())
        raise UnusableMaskError(found, COLOURS)
    if len({(shape.height, shape.width) for shape in shapes.values()}) > 1:
        found = shown(f"{name} {shape.width} x {shape.height}" for name, shape in shapes.items())
        raise UnusableMaskError(found, SIZES)


def masks_error(problems: Sequence[tuple[str, UnusableMaskError]]) -> AgreementInputError:
    """The error for masks that cannot be compared: ``(sample, what is wrong)``."""
    rule = min((error.rule for _, error in problems), key=RULES.index)
    found = [(title, error) for title, error in problems if error.rule == rule]
    return AgreementInputError(
        f"{rule}, got {len(found)} that do not (first: {found[0][1]}), on samples "
        f"{shown(dict.fromkeys(title for title, _ in found))}; correct them, or leave these masks out with "
        'invalid="skip"'
    )
