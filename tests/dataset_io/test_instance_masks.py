"""Instance masks from the database and from files, on the pixels that FiftyOne paints."""

from __future__ import annotations

import io
import zlib
from pathlib import Path

import cv2
import fiftyone as fo
import numpy as np
import pytest
from fiftyone.core.utils import deserialize_numpy_array, serialize_numpy_array
from numpy.testing import assert_array_equal

from annotator_agreement.dataset_io.labels import decode_mask, pixel_boxes, placed_masks, read_mask_file

PIXELS = np.array([[0, 1, 1, 0, 7], [1, 0, 0, 255, 0], [0, 0, 1, 0, 0]], np.uint8)


def painted_by_fiftyone(mask: np.ndarray, box: tuple[float, ...], size: tuple[int, int]) -> np.ndarray:
    """The pixels of an image of ``(width, height)`` that FiftyOne itself paints."""
    return fo.Detection(bounding_box=list(box), mask=mask).to_segmentation(frame_size=size, target=255).mask == 255


def painted(mask: np.ndarray, box: tuple[float, ...], size: tuple[int, int]) -> np.ndarray:
    """The same with our placement."""
    masks = placed_masks([mask], np.array([box]), np.array([size], float))
    image = np.zeros(size[::-1], np.bool_)
    left, top, right, bottom = masks.bounds[0].astype(int).tolist()
    assert 0 <= left <= right <= size[0]
    assert 0 <= top <= bottom <= size[1]
    image[top:bottom, left:right] = masks.crop(0)
    return image


STORED = {
    "bytes": PIXELS,
    "truth values by column": np.asfortranarray(PIXELS.astype(bool)),
    "every second pixel": np.repeat(PIXELS, 2, axis=1)[:, ::2],
    "64 bits": PIXELS.astype(np.int64) * 256,
    "16 bits, other byte order": PIXELS.astype(">u2"),
    "fractions": PIXELS.astype(float) / 1000,
    "one channel": PIXELS[:, :, None],
    "no rows": PIXELS[:0],
    "no columns": PIXELS[:, :0].astype(bool),
    "large": np.random.default_rng(1).random((700, 1300)) < 0.5,
}


def test_what_is_not_zero_in_the_array_that_fiftyone_reads_is_inside() -> None:
    for name, array in STORED.items():
        stored = serialize_numpy_array(array)
        expected = deserialize_numpy_array(stored) != 0
        mask = decode_mask(stored)
        assert mask.dtype == np.bool_
        assert_array_equal(mask, expected[:, :, 0] if name == "one channel" else expected, err_msg=name)


PLAIN = zlib.decompress(serialize_numpy_array(PIXELS))


class _Unpickled:
    def __reduce__(self) -> tuple:
        return (pytest.fail, ("a mask was unpickled",))


def _pickled() -> bytes:
    file = io.BytesIO()
    np.save(file, np.array([[_Unpickled()]], dtype=object), allow_pickle=True)
    return zlib.compress(file.getvalue())


STORE = "A mask must be stored as FiftyOne stores arrays"
UNREADABLE = {
    "not compressed": (PLAIN, STORE),
    "compressed nothing": (zlib.compress(b""), STORE),
    "cut off": (zlib.compress(PLAIN[:-1]), "cannot reshape array of size 14"),
    "cut off before it was compressed": (serialize_numpy_array(PIXELS)[:-9], "as FiftyOne stores arrays"),
    "open bracket": (zlib.compress(PLAIN.replace(b"5), }", b"5 , }")), STORE),
    "no type": (zlib.compress(PLAIN.replace(b"|u1", b"<08")), STORE),
    "text": ("a mask", STORE),
    "one dimension": (serialize_numpy_array(PIXELS[0]), "A mask must have two dimensions, got 1"),
    "colours": (serialize_numpy_array(np.ones((2, 4, 3), np.uint8)), "A mask must have two dimensions, got 3"),
    "Python objects": (_pickled(), "pickle"),
}


def test_unreadable_masks_are_an_error_and_nothing_is_unpickled() -> None:
    for stored, message in UNREADABLE.values():
        with pytest.raises(ValueError, match=message):
            decode_mask(stored)


def test_files_that_fiftyone_writes_are_read_as_it_reads_them_and_others_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "mask.png"
    for mask in (PIXELS, PIXELS.astype(bool), PIXELS.astype(np.uint16) * 257):
        fo.Detection(mask=mask).export_mask(str(path))
        read = read_mask_file(str(path))
        assert read.dtype == np.bool_
        assert_array_equal(read, fo.Detection(mask_path=str(path)).get_mask() != 0)
        assert_array_equal(read, mask != 0)
    colours = cv2.imencode(".png", np.full((4, 6, 3), 255, np.uint8))[1].tobytes()
    for content, message in ((b"", r"mask\.png"), (b"no image", r"mask\.png"), (colours, "two dimensions, got 3")):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            read_mask_file(str(path))
    path.unlink()
    with pytest.raises(ValueError, match=r"mask\.png"):
        read_mask_file(str(path))


def test_masks_of_any_resolution_have_the_pixels_that_fiftyone_paints() -> None:
    rng, some = np.random.default_rng(1), 0
    for _ in range(300):
        size = tuple(rng.integers(1, (300, 120)).tolist())
        # boxes that stick out on any side, or are far out, or smaller than a pixel
        corner = rng.uniform(-0.5, 1.1, 2)
        box = (*corner.tolist(), *rng.uniform(0, rng.choice([1.5, 0.3, 0.01]), 2).tolist())
        mask = rng.random(rng.integers(1, (40, 60))) < rng.uniform(0.1, 0.9)
        expected = painted_by_fiftyone(mask, box, size)
        assert_array_equal(painted(mask, box, size), expected, err_msg=f"{mask.shape} in {box} of {size}")
        some += expected.any()
    assert some > 80  # the others have no pixel of the image


#: boxes and sizes of images for a mask of 3 x 5 pixels
PLACES = {
    "the whole image": ((0, 0, 1, 1), (64, 16)),
    "no width": ((0.5, 0.25, 0, 0.5), (64, 16)),
    "no height": ((0.5, 0.25, 0.25, 0), (64, 16)),
    "outside, before the image": ((-2.5, -0.25, 0.5, 0.125), (64, 16)),
    "an image of one pixel": ((0, 0, 1, 1), (1, 1)),
}


def test_masks_at_the_borders_have_the_pixels_that_fiftyone_paints_and_empty_ones_none() -> None:
    mask = PIXELS.astype(bool)
    for name, (box, size) in PLACES.items():
        assert_array_equal(painted(mask, box, size), painted_by_fiftyone(mask, box, size), err_msg=name)
    empty, inside = [[0.51, 0.51, 0.001, 0.01], [0.5, 0.5, 0.25, 0.0], [1.5, 0.5, 0.5, 0.5]], [0.25, 0.25, 0.5, 0.5]
    boxes = np.array([*empty, inside, inside])
    given = [mask] * 3 + [np.zeros((0, 5), np.bool_), np.zeros((0, 0), np.bool_)]
    masks = placed_masks(given, boxes, np.full((5, 2), (64.0, 16.0)))
    assert (masks.area.tolist(), (masks.width * masks.height)[:3].tolist()) == ([0] * 5, [0, 0, 0])
    assert len(placed_masks([], np.empty((0, 4)), np.empty((0, 2)))) == 0


@pytest.mark.long
def test_a_mask_that_was_cut_out_of_an_image_goes_back_to_where_it_was() -> None:
    n_lost = 0
    for width, height in ((49, 98), (640, 480), (1000, 333), (107, 7)):
        rng = np.random.default_rng(width)
        for _ in range(60):
            size = rng.integers(1, (width, height))
            left, top = rng.integers(0, (width - size[0] + 1, height - size[1] + 1))
            image = np.zeros((height, width), np.bool_)
            image[top : top + size[1], left : left + size[0]] = rng.random(size[::-1]) < 0.5
            if not image.any():
                continue
            detection = fo.Detection.from_mask(image)
            assert_array_equal(painted(detection.mask, tuple(detection.bounding_box), (width, height)), image)
            n_lost += not np.array_equal(detection.to_segmentation(frame_size=(width, height)).mask != 0, image)
    # FiftyOne itself rounds 48.99999999 down to 48; without this the test would not test the rounding
    assert n_lost > 0


def test_boxes_have_their_pixels_row_by_row() -> None:
    boxes = np.array([[0.1, 0.5, 0.2, 0.25], [0.0, 0.0, 1.0, 1.0], [0.9, -0.5, 0.5, 1.0]])
    sizes = np.array([[50.0, 8.0], [7.0, 3.0], [50.0, 8.0]])
    assert pixel_boxes(boxes, sizes).tolist() == [[5, 4, 10, 2], [0, 0, 7, 3], [45, 0, 5, 4]]
