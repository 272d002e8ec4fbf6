"""Convert masks from and to run lengths of COCO and Label Studio, and from those of CVAT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...metrics.numeric.arrays import BoolArray, IntArray

#: most pixels of the box around a mask, so that no file can fill the memory
MOST_PIXELS = 1 << 26
#: the possible numbers of bits of a run length in Label Studio's streams that we write
_BRUSH_SIZES = (3, 4, 8, 16)
#: most bits of a run length in COCO's text; no image has longer runs
_MOST_BITS = 60


@dataclass(frozen=True, slots=True)
class Mask:
    """A mask in an image; only its own box is ever filled, and only when its pixels are asked for."""

    left: int  #: column of its first pixel in the image
    top: int  #: row of its first pixel
    shape: tuple[int, ...]  #: height and width of the box around it
    pixels: Callable[[], BoolArray]  #: makes the pixels in its box; a ValueError if there are too many

    @classmethod
    def of_pixels(cls, pixels: BoolArray, left: int, top: int) -> Mask:
        """The mask with these pixels, the first of which is in column ``left`` and row ``top`` of the image."""
        return cls(left, top, pixels.shape, lambda: pixels)


def _decoded(lengths: Sequence[int], length: int, n_lines: int, *, is_by_column: bool) -> Mask:
    """The mask with these run lengths, by turns outside and inside, in ``n_lines`` lines of ``length`` pixels."""
    _check_size(length, n_lines)
    runs = np.asarray(lengths, np.int64)
    n_pixels = length * n_lines
    if runs.ndim != 1 or (runs < 0).any() or (runs > n_pixels).any() or runs.sum() != n_pixels:
        raise ValueError(f"Run lengths must add up to {length} x {n_lines} pixels, got others")
    ends = np.cumsum(runs)
    inside = runs[1::2] > 0
    starts, stops = (ends[1::2] - runs[1::2])[inside], ends[1::2][inside]
    return _filled(starts, stops, length, is_by_column=is_by_column)


def _filled(starts: IntArray, stops: IntArray, length: int, *, is_by_column: bool) -> Mask:
    """The mask with these runs of pixels inside, which are not empty and in order.

    Args:
        starts: first pixels of the runs, counted along the lines (rows or columns) of an image
        stops: pixels after the last ones
        length: pixels of a line
        is_by_column: whether the lines are columns
    """
    if not len(starts):
        return Mask.of_pixels(np.zeros((0, 0), np.bool_), 0, 0)
    first, last = starts // length, (stops - 1) // length
    is_whole = bool((first != last).any())  # a run over several lines reaches their ends
    low = 0 if is_whole else int((starts % length).min())
    high = length if is_whole else int(((stops - 1) % length).max()) + 1
    first_line, n_lines, n_along = int(first[0]), int(last[-1]) + 1 - int(first[0]), high - low

    def fill() -> BoolArray:
        if n_lines * n_along > MOST_PIXELS:
            raise ValueError(f"the box around a mask has more than {MOST_PIXELS:,} pixels")
        n_parts = last - first + 1  # every run is split into parts of one line each
        part = np.arange(n_parts.sum()) - np.repeat(np.cumsum(n_parts) - n_parts, n_parts)
        line = np.repeat(first, n_parts) + part
        # one more cell for each line, for the ends of parts that end with the line
        place = (line - first_line) * (n_along + 1) - line * length - low
        steps = np.zeros(n_lines * (n_along + 1), np.int8)
        steps[np.maximum(np.repeat(starts, n_parts), line * length) + place] += 1
        steps[np.minimum(np.repeat(stops, n_parts), (line + 1) * length) + place] -= 1
        inside = np.cumsum(steps, dtype=np.int8, out=steps).view(np.bool_).reshape(n_lines, n_along + 1)[:, :-1]
        return np.ascontiguousarray(inside.T if is_by_column else inside)

    return Mask(first_line, low, (n_along, n_lines), fill) if is_by_column else Mask(
        low, first_line, (n_lines, n_along), fill)  # fmt: skip


def coco_mask(counts: Sequence[int] | str | bytes, width: int, height: int) -> Mask:
    """The mask of a COCO annotation: run lengths by column, as a list or as COCO's text of six bits a character.

    In the text a length is in groups of five bits; from the fourth length on it is the difference to the last but one.

    Raises:
        ValueError: if the run lengths are not those of an image of this size
    """
    lengths: list[int] = [] if isinstance(counts, str | bytes) else list(counts)
    value = shift = 0
    for character in counts.encode("ascii") if isinstance(counts, str) else counts if not lengths else ():
        bits = int(character) - 48
        if shift > _MOST_BITS:
            raise ValueError("A run length must be that of an image, got a longer number")
        value |= (bits & 0x1F) << shift
        shift += 5
        if not bits & 0x20:
            value |= -1 << shift if bits & 0x10 else 0
            lengths.append(value + (lengths[-2] if len(lengths) > 2 else 0))
            value = shift = 0
    return _decoded(lengths, height, width, is_by_column=True)


def cvat_mask(lengths: Sequence[int], left: int, top: int, width: int, height: int) -> Mask:
    """The mask of a CVAT label: run lengths by row within its box.

    Raises:
        ValueError: if the run lengths are not those of a mask of this size
    """
    mask = _decoded(lengths, width, height, is_by_column=False)
    return replace(mask, left=left + mask.left, top=top + mask.top)


def label_studio_mask(rle: Sequence[int], width: int, height: int) -> Mask:
    """The mask of a Label Studio brush: bytes of a stream of bits, which give red, green, blue and opacity by pixel.

    Raises:
        ValueError: if they are not those of an image of this size
    """
    _check_size(width, height)
    content, n_values = np.asarray(rle, np.uint8).tobytes(), 4 * width * height
    position, n_bits = 0, 8 * len(content)

    def number(n: int) -> int:
        nonlocal position
        end = position + n
        if end > n_bits:
            raise ValueError("The run lengths of a brush end too early")
        found = int.from_bytes(content[position >> 3 : (end + 7) >> 3], "big") >> (-end & 7)
        position = end
        return found & ((1 << n) - 1)

    stated = number(32)
    if stated != n_values:
        raise ValueError(f"The run lengths of a brush must be those of {n_values} values, got {stated}")
    word = number(5) + 1
    widths = [number(4) + 1 for _ in range(4)]
    starts: list[int] = []
    stops: list[int] = []
    done = 0
    while done < n_values:
        is_run = number(1)
        end = min(n_values, done + 1 + number(widths[number(2)]))
        # of the four values of a pixel the last one is its opacity
        first, last = done // 4, end // 4
        if is_run:
            if number(word) and first < last:
                starts.append(first)
                stops.append(last)
        else:
            n_read = (end - done) * word
            if position + n_read > n_bits:
                raise ValueError("The run lengths of a brush end too early")
            stretch = content[position >> 3 : (position + n_read + 7) >> 3]
            bits = np.unpackbits(np.frombuffer(stretch, np.uint8))[position & 7 :][:n_read]
            opaque: BoolArray = np.any(bits.reshape(-1, word), axis=1)[3 - done % 4 :: 4]
            edges = np.flatnonzero(np.diff(np.pad(opaque.astype(np.int8), 1)))
            starts += (edges[::2] + first).tolist()
            stops += (edges[1::2] + first).tolist()
            position += n_read
        done = end
    return _filled(np.array(starts, np.int64), np.array(stops, np.int64), width, is_by_column=False)


def column_runs(mask: Mask, width: int, height: int) -> list[int]:
    """COCO's run lengths of a mask in an image: by column, by turns outside and inside."""
    return _lengths(mask.pixels().T, mask.top, mask.left, height, width)


def brush_runs(mask: Mask, width: int, height: int) -> list[int]:
    """Bytes of Label Studio's stream of bits for a mask in an image; a pixel has four equal values."""
    lengths = _lengths(mask.pixels(), mask.left, mask.top, width, height)
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
    """Lengths of runs, by turns outside and inside, by row of an image that is empty around the pixels."""
    rows = np.pad(pixels, ((0, 0), (left, width - left - pixels.shape[1]))).ravel()
    ends = np.flatnonzero(np.diff(rows, prepend=False, append=False)) + top * width
    lengths: list[int] = np.diff(ends, prepend=0, append=width * height).tolist()
    return lengths


def _check_size(length: int, n_lines: int) -> None:
    """Refuse sides of an image whose pixels cannot be counted."""
    if length < 1 or n_lines < 1 or length * n_lines > 1 << _MOST_BITS:
        raise ValueError(f"A mask must have a width and height of an image, got {length} and {n_lines}")
