"""Geometry as plain arrays, to be stored and read again without loss."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from .boxes import Boxes
from .keypoints import Keypoints
from .lines import Lines
from .masks import MaskCrops
from .objects import Geometry
from .polygons import Polygons
from .regions import Regions
from .temporal import Intervals

#: what a geometry consists of, by name
_CLASSES: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Boxes, Keypoints, Lines, MaskCrops, Polygons, Regions, Intervals)
}
_Arrays = dict[str, NDArray[Any]]


def pack_geometry(geometry: Geometry) -> _Arrays:
    """The geometry as arrays of numbers, by name; :func:`unpack_geometry` is the inverse.

    Masks take one bit a pixel; polygons and lines are stored as well-known binary (WKB).
    """
    arrays: _Arrays = {}
    described = _packed(geometry, "", arrays)
    return {**arrays, "described": np.frombuffer(json.dumps(described).encode(), np.uint8)}


def unpack_geometry(arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The geometry that :func:`pack_geometry` gave."""
    return _unpacked(json.loads(arrays["described"].tobytes()), arrays)


def _packed(value: Any, name: str, arrays: _Arrays) -> Any:
    """A description of a value as JSON, which refers to arrays by name; adds these."""
    if dataclasses.is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        described = {part: _packed(own, f"{name}.{part}", arrays) for part, own in parts.items()}
        return {"class": type(value).__name__, "parts": described}
    if not isinstance(value, np.ndarray):
        return {"value": value}
    if value.dtype.kind == "O":  # shapely's
        binary = [bytes(each) for each in shapely.to_wkb(value)]
        arrays[name] = np.frombuffer(b"".join(binary), np.uint8)
        arrays[f"{name}.length"] = np.array([len(each) for each in binary], np.int64)
        return {"shapes": name}
    if value.dtype.kind == "b":
        arrays[name] = np.packbits(value)
        return {"bits": name, "shape": list(value.shape)}
    arrays[name] = value
    return {"array": name}


def _unpacked(described: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    if "class" in described:
        parts = {name: _unpacked(part, arrays) for name, part in described["parts"].items()}
        return _CLASSES[described["class"]](**parts)
    if "shapes" in described:
        binary, end = arrays[described["shapes"]].tobytes(), np.cumsum(arrays[f"{described['shapes']}.length"]).tolist()
        each = [binary[start:stop] for start, stop in zip([0, *end], end, strict=False)]
        return shapely.from_wkb(np.array(each, dtype=object)) if each else np.empty(0, object)
    if "bits" in described:
        n = int(np.prod(described["shape"], dtype=np.int64))
        return np.unpackbits(arrays[described["bits"]], count=n).astype(np.bool_).reshape(described["shape"])
    return arrays[described["array"]] if "array" in described else described["value"]
