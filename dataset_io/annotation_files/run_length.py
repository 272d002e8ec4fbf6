"""Masks from run lengths, as COCO, CVAT and Label Studio write them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...metrics.arrays import BoolArray, IntArray
from .annotation_set import PlacedMask

#: the most pixels of a mask: a file cannot make us fill the memory
MOST_PIXELS = 1 << 28
#: bits of the lengths of runs in Label Studio's streams
_BRUSH_SIZES = (3, 4, 8, 16)


def coco_mask(counts: Sequence[int] | str | bytes, width: int, height: int) -> PlacedMask:
    """The mask of a COCO annotation: run lengths by column, as a list or as COCO's text of six bits a character.

    Raises:
        ValueError: if the run lengths are not those of an image of this size
    """
    if isinstance(counts, str):
        counts = counts.encode("ascii")
    lengths = _decoded_counts(counts) if isinstance(counts, bytes) else list(counts)
    return cut_out(_from_lengths(lengths, height, width).T)


def cvat_mask(lengths: Sequence[int], left: int, top: int, width: int, height: int) -> PlacedMask:
    """The mask of a CVAT label: run lengths by row within its box.

    Raises:
        ValueError: if the run lengths are not those of a mask of this size
    """
    mask = cut_out(_from_lengths(lengths, width, height))
    return PlacedMask(mask.pixels, mask.left + left, mask.top + top)


def label_studio_mask(rle: Sequence[int], width: int, height: int) -> PlacedMask:
    """The mask of a Label Studio brush: bytes of a stream of bits, which give red, green, blue and opacity by pixel.

    Raises:
        ValueError: if they are not those of an image of this size
    """
    values = _unpacked(np.asarray(rle, np.uint8), 4 * _checked(width, height))
    return cut_out(values.reshape(height, width, 4)[:, :, 3] > 0)


def column_runs(mask: PlacedMask, width: int, height: int) -> list[int]:
    """COCO's run lengths of a mask in an image: by column, in turn outside and inside."""
    return _lengths(mask.pixels.T, mask.top, mask.left, height, width)


def brush_runs(mask: PlacedMask, width: int, height: int) -> list[int]:
    """Bytes of Label Studio's stream of bits for a mask in an image; every value stands four times in it."""
    lengths = _lengths(mask.pixels, mask.left, mask.top, width, height)
    bits = [f"{4 * width * height:032b}{7:05b}", *(f"{size - 1:04b}" for size in _BRUSH_SIZES)]
    for number, length in enumerate(lengths):
        value = f"{255 * (number % 2):08b}"
        for start in range(0, 4 * length, 1 << _BRUSH_SIZES[-1]):
            n_values = min(1 << _BRUSH_SIZES[-1], 4 * length - start)
            size = next(k for k, bits_of in enumerate(_BRUSH_SIZES) if n_values <= 1 << bits_of)
            bits.append(f"1{size:02b}{n_values - 1:0{_BRUSH_SIZES[size]}b}{value}")
    stream = "".join(bits)
    stream += "0" * (-len(stream) % 8)
    return list(int(stream, 2).to_bytes(len(stream) // 8, "big"))


def _lengths(pixels: BoolArray, left: int, top: int, width: int, height: int) -> list[int]:
    """Lengths of runs, in turn outside and inside, by row of an image that is empty around the pixels."""
    edges = np.diff(np.pad(pixels.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    row, column = np.nonzero(edges)
    ends = (row + top) * width + column + left
    # a run that ends with a row goes on where the next row begins inside
    if pixels.shape[1] == width and len(ends):
        kept = np.ones(len(ends), np.bool_)
        joined = ends[1:] == ends[:-1]
        kept[1:] &= ~joined
        kept[:-1] &= ~joined
        ends = ends[kept]
    lengths: list[int] = np.diff(ends, prepend=0, append=width * height).tolist()
    return lengths


def cut_out(mask: BoolArray) -> PlacedMask:
    """A mask of an image without the empty rows and columns around it."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return PlacedMask(np.zeros((0, 0), np.bool_), 0, 0)
    top, left = int(rows[0]), int(columns[0])
    return PlacedMask(np.ascontiguousarray(mask[top : rows[-1] + 1, left : columns[-1] + 1]), left, top)


def _checked(width: int, height: int) -> int:
    if width < 1 or height < 1 or width * height > MOST_PIXELS:
        raise ValueError(f"A mask must have 1 to {MOST_PIXELS:,} pixels, got {width} x {height}")
    return width * height


def _from_lengths(lengths: Sequence[int], width: int, height: int) -> BoolArray:
    """Rows of pixels from the lengths of runs that are in turn outside and inside."""
    n_pixels = _checked(width, height)
    runs = np.asarray(lengths, np.int64)
    if runs.ndim != 1 or (runs < 0).any() or runs.sum() != n_pixels:
        raise ValueError(f"Run lengths must add up to {width} x {height} pixels, got a sum of {int(runs.sum())}")
    inside: BoolArray = np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(height, width)
    return inside


def _decoded_counts(text: bytes) -> list[int]:
    """Run lengths from COCO's text: groups of five bits, and from the fourth on differences to the last but one."""
    counts: list[int] = []
    value = shift = 0
    for character in text:
        bits = character - 48
        value |= (bits & 0x1F) << shift
        shift += 5
        if bits & 0x20:
            continue
        if bits & 0x10:
            value |= -1 << shift
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
        value = shift = 0
    return counts


def _unpacked(content: NDArray[np.uint8], n_values: int) -> IntArray:
    """Values from Label Studio's stream: runs of one value, and stretches of single values."""
    bits = np.unpackbits(content)
    position = 0

    def number(width: int) -> int:
        nonlocal position
        position += width
        if position > len(bits):
            raise ValueError("The run lengths of a brush end too early")
        return int("".join(map(str, bits[position - width : position].tolist())), 2)

    stated = number(32)
    if stated != n_values:
        raise ValueError(f"The run lengths of a brush must be those of {n_values} values, got {stated}")
    word = number(5) + 1
    widths = [number(4) + 1 for _ in range(4)]
    weights = 1 << np.arange(word)[::-1]
    values = np.zeros(n_values, np.int64)
    done = 0
    while done < n_values:
        is_run = number(1)
        end = min(n_values, done + 1 + number(widths[number(2)]))
        if is_run:
            values[done:end] = number(word)
        else:
            stretch = bits[position : position + (end - done) * word]
            if len(stretch) < (end - done) * word:
                raise ValueError("The run lengths of a brush end too early")
            values[done:end] = stretch.reshape(-1, word) @ weights
            position += len(stretch)
        done = end
    return values
