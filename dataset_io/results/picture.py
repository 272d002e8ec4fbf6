"""``picture_of``: the part of an image around an object, with the outlines of all annotators, as a small JPEG."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from ...metrics.numeric.arrays import BoolArray, FloatArray
from ..labels.geometry_readers import LARGEST, is_usable_box
from ..labels.mask_reading import UnusableMaskError, read_mask

#: the longer side of the picture in pixels, and what is shown around the object, as a share of its size
_LONGEST, _AROUND = 460, 0.6
#: the least part of the image that is shown
_LEAST_SHARE = 0.08
_OPENED_AS = ("JPEG", "PNG", "BMP", "GIF", "TIFF", "WEBP")


def picture_of(filepath: str, labels: Mapping[str, Mapping[str, Any]], colours: Mapping[str, str]) -> str | None:
    """The part of the image around an object, with all outlines in the colours of the annotators, as a data URI.

    The whole image if there are no outlines, as of labels of whole samples; of masks, the edges of their classes.

    None if the image cannot be read.

    Args:
        filepath: the image
        labels: the stored label of each annotator who drew the object
        colours: CSS colour of every annotator
    """
    outlines = {name: _outline(label) for name, label in labels.items()}
    known = [outline for outline in outlines.values() if len(outline)]
    points = np.concatenate(known) if known else np.array([[0.0, 0.0], [1.0, 1.0]])
    least, most = points.min(axis=0), points.max(axis=0)
    half = np.maximum((most - least) * (0.5 + _AROUND), _LEAST_SHARE / 2)
    middle = (least + most) / 2
    try:
        with Image.open(filepath, formats=_OPENED_AS) as image:
            size = np.array(image.size, np.float64)
            low = np.floor(np.clip(middle - half, 0.0, 1.0) * size)  # corners of the picture in the image, in pixels
            high = np.maximum(np.ceil(np.clip(middle + half, 0.0, 1.0) * size), low + 1)
            image.draft("RGB", tuple((2 * _LONGEST * size / (high - low)).astype(int).tolist()))
            drawn_on = np.array(image.size, np.float64) / size
            box = tuple(np.concatenate([low * drawn_on, high * drawn_on]).round().astype(int).tolist())
            part = image.convert("RGB").crop(box)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
    scale = _LONGEST / max(part.size)
    part = part.resize((max(1, round(part.width * scale)), max(1, round(part.height * scale))))
    draw = ImageDraw.Draw(part)
    across = [low[axis] + (np.arange(n) + 0.5) / n * (high - low)[axis] for axis, n in enumerate(part.size)]
    for k, (name, outline) in enumerate(outlines.items()):
        edges = _edges(labels[name], [places / size[axis] for axis, places in enumerate(across)])
        if edges is not None:  # those drawn first are wider: of equal masks, all are seen
            wide = Image.fromarray(edges).convert("L").filter(ImageFilter.MaxFilter(3 + 2 * (len(outlines) - k - 1)))
            part.paste(colours.get(name, "white"), mask=wide)
            continue
        corners = [tuple(point) for point in ((outline * size - low) / (high - low) * part.size).tolist()]
        if len(corners) > 1:
            draw.line([*corners, corners[0]], fill=colours.get(name, "white"), width=3)
    content = io.BytesIO()
    part.save(content, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{base64.b64encode(content.getvalue()).decode()}"


def _outline(label: Mapping[str, Any]) -> FloatArray:
    """The corners of a label in shares of the image, shape ``(P, 2)``: of its first shape, or of its box.

    No corners if the label has no usable shape or box.
    """
    points = label.get("points")
    if isinstance(points, list) and points:
        try:
            found = np.array(points[0] if label.get("_cls") == "Polyline" else points, np.float64).reshape(-1, 2)
        except (TypeError, ValueError):  # they are not points
            return np.empty((0, 2))
        return found[(np.abs(found) <= LARGEST).all(axis=1)]
    box: Any = label.get("bounding_box")
    if not is_usable_box(box):
        return np.empty((0, 2))
    x, y, width, height = map(float, box)
    return np.array([[x, y], [x + width, y], [x + width, y + height], [x, y + height]])


def _edges(label: Mapping[str, Any], places: Sequence[FloatArray]) -> BoolArray | None:
    """Where the classes of a mask meet, for every pixel of the picture; None if the label has no readable mask.

    Args:
        label: a mask of the whole image, or of an object, which fills its box
        places: the columns and rows of the picture in shares of the image
    """
    if label.get("mask") is None and label.get("mask_path") is None:
        return None
    box: Any = label.get("bounding_box", [0.0, 0.0, 1.0, 1.0])
    try:
        mask = read_mask(label.get("mask"), label.get("mask_path")).values
    except (UnusableMaskError, OSError):
        return None
    if not is_usable_box(box) or not box[2] or not box[3]:
        return None
    columns, rows = (
        np.floor((places[axis] - box[axis]) / box[2 + axis] * mask.shape[1 - axis]).astype(int) for axis in (0, 1)
    )
    inside = (columns >= 0) & (columns < mask.shape[1]), (rows >= 0) & (rows < mask.shape[0])
    shown = np.zeros((len(rows), len(columns)), mask.dtype)
    shown[np.ix_(inside[1], inside[0])] = mask[np.ix_(rows[inside[1]], columns[inside[0]])]
    edges = np.zeros(shown.shape, np.bool_)
    edges[:, 1:] |= shown[:, 1:] != shown[:, :-1]
    edges[1:] |= shown[1:] != shown[:-1]
    return edges
