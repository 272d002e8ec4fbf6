"""Formats that do not say who drew: YOLO, Pascal VOC and LabelMe, with a file for each image, and VIA's projects."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path, PureWindowsPath
from typing import Any
from xml.etree.ElementTree import Element

import pandas as pd
import yaml

from ...agreement.settings.errors import AgreementInputError, shown
from .annotation_set import (
    AnnotationSet,
    DrawnLabel,
    ImageKey,
    Point,
    as_number,
    ellipse_ring,
    plain_attributes,
    stored_size,
)
from .image_names import files_in

#: folders that tools make for annotations, beside those of images
_OF_LABELS = {"labels", "annotations", "annots", "anns", "xml", "xmls", "json", "jsons", "txt", "obj_train_data"}
#: files with the names of YOLO's classes, a line each; darknet's ends in ``.names``
_CLASS_FILES = {"classes.txt", "labels.txt", "obj.names", "_darknet.labels"}
#: texts beside YOLO's labels that are no labels, and how others begin
_NO_LABELS = {*_CLASS_FILES, "labelmap.txt", "train.txt", "val.txt", "valid.txt", "test.txt", "trainval.txt"}
_NO_LABELS_BEGIN = ("readme", "license", "requirements")
#: YOLO's coordinates are shares of the image, and reach out of it by less than its size
_FARTHEST_SHARE = 2.0
#: names of attributes of a region that hold its class, in VIA
_CLASS_NAMES = ("label", "class", "type", "name", "category", "object", "class_name")
#: the columns of VIA's CSV
VIA_COLUMNS = {"filename", "region_count", "region_id", "region_shape_attributes", "region_attributes"}
#: what of VIA's CSV and JSON, LabelMe's shapes and VOC's objects is read; the rest is counted
_OF_LABELME = {"version", "flags", "shapes", "imagePath", "imageData", "imageHeight", "imageWidth"}
_OF_SHAPE = {"label", "points", "shape_type", "group_id", "flags", "description", "mask", "score", "attributes"}
_OF_VOC = {"folder", "filename", "path", "source", "size", "segmented", "object"}
_OF_OBJECT = {"name", "bndbox", "polygon", "attributes", "deleted", "pose", "truncated", "difficult", "occluded"}


def is_yolo_file(path: Path) -> bool:
    """True if a text may hold labels of YOLO: it is none of the lists and notes that stand beside them."""
    name = path.name.lower()
    return not (name in _NO_LABELS or name.startswith(_NO_LABELS_BEGIN) or "ImageSets" in path.parts)


def _key(found: AnnotationSet, file: Path, root: Path, name: str = "") -> ImageKey:
    """The image that a file is about: the name that it gives, in the folders in which the file lies.

    Without a name that ends as one of an image it is called like the file, which has the name of its image.
    """
    name = PureWindowsPath(name).name  # parts by both kinds of slashes
    folders = file.relative_to(root).parts[:-1]
    name = name if PureWindowsPath(name).suffix else file.name
    plain, beside = ("/".join([*parts, name]) for parts in (
        [part for part in folders if part.lower() not in _OF_LABELS],
        ["images" if part.lower() in _OF_LABELS else part for part in folders]))  # fmt: skip
    found.other_names.setdefault(plain, (beside,))
    return ImageKey(plain)


def _say_unused(found: AnnotationSet, values: Iterable[str], used: set[str], where: str) -> None:
    for name in values:
        if name not in used:
            found.left_out.add(f"values of `{name}`, which are not read", where)


class YoloClasses:
    """Names of the classes of a folder of YOLO's labels, from the files in it, or else in the folders around it."""

    def __init__(self, folder: Path) -> None:
        places: list[Iterable[Path]] = [map(Path, files_in(folder, "source")), folder.parent.iterdir()]
        self.names: dict[int, str] | None = None
        self.source = ""
        self.n_numbers_of_points = (0, 0)  #: points of a pose, and numbers of each
        for place in [*places, folder.parent.parent.iterdir()]:
            for file in sorted(path for path in place if path.name.lower() in _CLASS_FILES or
                               path.suffix.lower() in (".yaml", ".yml", ".names")):  # fmt: skip
                names = self._named_in(file)
                if names is not None and self.names not in (None, names):
                    raise AgreementInputError(
                        f"A folder of YOLO must have one list of classes, got others in {self.source!r} than in "
                        f"{str(file)!r}"
                    )
                if names is not None:
                    self.names, self.source = names, str(file)
            if self.names is not None:
                break

    def _named_in(self, file: Path) -> dict[int, str] | None:
        """The classes in a file; None if it has none."""
        try:
            text = file.read_text("utf-8-sig")
            if file.suffix.lower() not in (".yaml", ".yml"):
                lines = text.rstrip().splitlines()
                return {number: line.strip() for number, line in enumerate(lines)} if lines else None
            content = yaml.safe_load(text)
        except (OSError, UnicodeDecodeError, yaml.YAMLError, ValueError, RecursionError) as error:
            said = " ".join(str(error).split())
            raise AgreementInputError(f"{str(file)!r} must hold the classes of YOLO, got an error: {said}") from error
        given = content.get("names") if isinstance(content, dict) else None
        if not isinstance(given, list | dict):
            return None
        names = {int(number): str(name) for number, name in
                 (given.items() if isinstance(given, dict) else enumerate(given))}  # fmt: skip
        if isinstance(content.get("nc"), int) and content["nc"] != len(names):
            raise AgreementInputError(f"{str(file)!r} must name all classes, got {len(names)} names, and nc: "
                                      f"{content['nc']}")  # fmt: skip
        if isinstance(content.get("kpt_shape"), list):
            n_points, n_of_each = map(int, content["kpt_shape"])
            self.n_numbers_of_points = n_points, n_of_each
        return names


def read_yolo(found: AnnotationSet, text: str, annotator: str, file: Path, root: Path, classes: YoloClasses) -> None:
    """Add the labels of one image: a class, and a box, a polygon or a box with keypoints, and perhaps a confidence."""
    where = str(file.relative_to(root))
    page = found.page(annotator, _key(found, file, root), is_new=True)
    page.scale = (1.0, 1.0)
    found.numbered.add(classes.names is None)
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            code, *numbers = map(float, line.split())
            label = _yolo_label(code, numbers, classes)
        except ValueError as error:
            found.not_read(page, "lines that cannot be read", f"{where}, line {number}: {error}")
            continue
        if classes.names is not None and int(code) not in classes.names:
            raise AgreementInputError(
                f"Classes of YOLO must be among the {len(classes.names)} of {classes.source!r}, got {int(code)} in "
                f"line {number} of {where!r}"
            )
        label.label = str(int(code)) if classes.names is None else classes.names[int(code)]
        found.add_label(page, label)


def _yolo_label(code: float, numbers: list[float], classes: YoloClasses) -> DrawnLabel:
    """A label without its class.

    Raises:
        ValueError: if it is none
    """
    n_points, n_of_each = classes.n_numbers_of_points
    if code < 0 or code != int(code):
        raise ValueError(f"the class must be a whole number, got {code:g}")
    label = DrawnLabel(None)
    is_pose = n_points > 0 and len(numbers) - 4 - n_points * n_of_each in (0, 1)
    has_confidence = len(numbers) - 4 - n_points * n_of_each == 1 if is_pose else len(numbers) == 5 or (
        len(numbers) > 6 and len(numbers) % 2 == 1)  # fmt: skip
    if has_confidence:
        label.confidence = numbers.pop()
        if not 0 <= label.confidence <= 1:
            raise ValueError(f"the last number must be a confidence in [0, 1], got {label.confidence:g}")
    if not (len(numbers) == 4 or len(numbers) >= 6):
        raise ValueError(f"a box has 4 numbers and a polygon 6 or more, got {len(numbers)}")
    places = numbers if not is_pose else [value for k, value in enumerate(numbers) if k < 4 or (k - 4) % n_of_each < 2]
    if not all(abs(value) <= _FARTHEST_SHARE for value in places):
        raise ValueError("coordinates must be shares of the image")
    if is_pose or len(numbers) == 4:
        x, y, width, height = numbers[:4]
        if min(width, height) < 0:
            raise ValueError("width and height must be at least 0")
        label.box = (x - width / 2, y - height / 2, width, height)
    else:
        label.rings = [list(zip(numbers[::2], numbers[1::2], strict=True))]
    if is_pose:
        points = [numbers[k : k + n_of_each] for k in range(4, len(numbers), n_of_each)]
        label.points = [(math.nan, math.nan) if [*point, 1][2] == 0 else (point[0], point[1]) for point in points]
    return label


def read_voc(found: AnnotationSet, root_element: Element, annotator: str, file: Path, root: Path) -> None:
    """Add the objects of one image: boxes, and polygons where a tool has written them."""

    def text(element: Element, path: str) -> str:
        return (element.findtext(path) or "").strip()

    where = str(file.relative_to(root))
    page = found.page(annotator, _key(found, file, root, text(root_element, "filename")), is_new=True)
    width, height = (_number(text(root_element, f"size/{side}")) for side in ("width", "height"))
    page.size_px = stored_size(width, height)
    _say_unused(found, (child.tag for child in root_element), _OF_VOC, where)
    if text(root_element, "segmented") not in ("", "0"):
        found.left_out.add("masks in other files (`segmented`), which are not read", where)
    for number, element in enumerate(root_element.findall("object"), 1):
        if text(element, "deleted") == "1":
            found.left_out.add("objects that are marked as deleted", where)
            continue
        label = DrawnLabel(text(element, "name") or None)
        for name in ("truncated", "difficult", "occluded"):
            if text(element, name) in ("0", "1"):
                label.attributes[name] = text(element, name) == "1"
        if text(element, "pose") not in ("", "Unspecified"):
            label.attributes["pose"] = text(element, "pose")
        for entry in element.findall("attributes/attribute"):
            label.attributes[text(entry, "name")] = text(entry, "value")
        try:
            box, polygon = element.find("bndbox"), element.find("polygon")
            if polygon is not None:
                ends = {end: [float(node.text or "") for node in polygon.iter() if node.tag[:1] == end
                              and node.tag[1:].isdecimal() | (node.tag == end)] for end in "xy"}  # fmt: skip
                label.rings = [list(zip(ends["x"], ends["y"], strict=True))] if len(ends["x"]) > 2 else None
            if box is not None:
                left, top, right, bottom = (float(text(box, side)) for side in ("xmin", "ymin", "xmax", "ymax"))
                if right < left or bottom < top:
                    raise ValueError("xmax and ymax must not be below xmin and ymin")
                label.box = (left, top, right - left, bottom - top)
            if not (label.box or label.rings):
                raise ValueError("there must be a `bndbox` or a `polygon`")
        except ValueError as error:
            found.not_read(page, "objects that cannot be read", f"{where}, object {number}: {error}")
            continue
        _say_unused(found, (child.tag for child in element), _OF_OBJECT, where)
        found.add_label(page, label)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def read_labelme(found: AnnotationSet, content: dict[str, Any], annotator: str, file: Path, root: Path) -> None:
    """Add the shapes of one image; polygons of one class and ``group_id`` are parts of one label."""
    where = str(file.relative_to(root))
    page = found.page(annotator, _key(found, file, root, str(content["imagePath"] or "")), is_new=True)
    page.size_px = stored_size(content.get("imageWidth"), content.get("imageHeight"))
    _say_unused(found, (name for name, value in content.items() if value), _OF_LABELME, where)
    if content.get("imageData"):
        found.left_out.add("copies of the images in the files (`imageData`), which are not read", where)
    groups: dict[tuple[str, object], DrawnLabel] = {}
    for number, shape in enumerate(content["shapes"], 1):
        try:
            label = _labelme_label(shape)
        except (KeyError, TypeError, ValueError) as error:
            found.not_read(page, "shapes that cannot be read", f"{where}, shape {number}: {error}")
            continue
        _say_unused(found, (name for name, value in shape.items() if value), _OF_SHAPE, where)
        flags = {**(content.get("flags") or {} if number == 1 else {}), **(shape.get("flags") or {})}
        for name in (name for name, value in flags.items() if value):
            found.left_out.add(f"the flag {name!r}, which is not read", where)
        group = (str(label.label), shape.get("group_id"))
        if group[1] is not None and label.rings and label.closed and group in groups:
            groups[group].rings = [*(groups[group].rings or []), *label.rings]
            continue
        if label.rings and label.closed:
            groups[group] = label
        found.add_label(page, label)


def _labelme_label(shape: dict[str, Any]) -> DrawnLabel:
    """A shape as a label.

    Raises:
        ValueError: if it is of a type that is not read
    """
    points: list[Point] = [(float(x), float(y)) for x, y in shape["points"]]
    kind = shape.get("shape_type") or "polygon"
    label = DrawnLabel(str(shape["label"]), confidence=as_number(shape.get("score")))
    label.attributes = plain_attributes(shape.get("attributes") or {})
    label.attributes |= {name: shape[name] for name in ("group_id", "description") if shape.get(name) not in (None, "")}
    if kind == "rectangle" and len(points) in (2, 4):
        (left, right), (top, bottom) = ((min(ends), max(ends)) for ends in zip(*points, strict=True))
        label.box = (left, top, right - left, bottom - top)
    elif kind in ("polygon", "rotation") and len(points) > 2:
        label.rings, label.rotated = [points], kind == "rotation"
    elif kind == "circle" and len(points) == 2:
        radius = math.dist(*points)
        label.rings = [ellipse_ring(*points[0], radius, radius, 0.0)]
    elif kind in ("line", "linestrip") and len(points) > 1:
        label.rings, label.closed = [points], False
    elif kind in ("point", "points") and points:
        label.points = points
    else:
        raise ValueError(f"a shape of the type {kind!r} with {len(points)} points")
    return label


def via_entries(content: Any) -> dict[str, Any] | None:
    """The entries of images in VIA's JSON, of a project or of annotations alone; None if it is other JSON."""
    entries = content.get("_via_img_metadata", content) if isinstance(content, dict) else None
    is_via = isinstance(entries, dict) and all(isinstance(entry, dict) and {"filename", "regions"} <= entry.keys()
                                               for entry in entries.values())  # fmt: skip
    return entries if is_via and (entries or "_via_img_metadata" in content) else None


def via_rows(table: pd.DataFrame) -> dict[str, Any]:
    """The entries of images of VIA's CSV, as its JSON has them."""
    entries: dict[str, Any] = {}
    for row in table.rename(columns={"#filename": "filename"}).to_dict("records"):
        entry = {"filename": row["filename"], "regions": [], "file_attributes": json.loads(row["file_attributes"])}
        entry = entries.setdefault(f"{row['filename']}{row.get('file_size')}", entry)
        if json.loads(row["region_shape_attributes"]):
            names = ("shape_attributes", "region_attributes")
            entry["regions"].append({name: json.loads(row[f"region_{name.removeprefix('region_')}"]) for name in names})
    return entries


def read_via(found: AnnotationSet, entries: dict[str, Any], annotator: str, class_name: str | None) -> None:
    """Add all regions of a project.

    Args:
        class_name: attribute of regions that holds their class; None: the only one, or one with a usual name
    """
    regions = {key: list(entry["regions"].values()) if isinstance(entry["regions"], dict) else entry["regions"]
               for key, entry in entries.items()}  # fmt: skip
    names = dict.fromkeys(name for own in regions.values() for region in own for name in region["region_attributes"])
    usual = [name for name in names if name.lower() in _CLASS_NAMES]
    if class_name is None and len(names) > 1 and len(usual) != 1:
        raise AgreementInputError(
            f"One attribute of the regions must be their class, got {shown(map(repr, names), 20)}; say which with "
            'columns={"label": …}'
        )
    if class_name is not None and class_name not in names:
        raise AgreementInputError(f"The class of regions must be one of their attributes ({shown(map(repr, names), 20)}"
                                  f"), got {class_name!r}")  # fmt: skip
    class_name = class_name or next(iter([*usual, *names]), None)
    found.notes.append(f"The class of regions is their attribute {class_name!r}")
    n_empty = sum(not own for own in regions.values())
    if n_empty:
        found.notes.append(f"{n_empty} images have no region: they count as looked at, as VIA does not say who looked")
    for key, entry in entries.items():
        name = str(entry["filename"])
        _say_unused(found, (f"file_attributes: {said}" for said, value in (entry.get("file_attributes") or {}).items()
                            if value not in ("", None, {})), set(), name)  # fmt: skip
        page = found.page(annotator, ImageKey(name), is_new=True)
        for number, region in enumerate(regions[key], 1):
            try:
                label = _via_label(region["shape_attributes"])
            except (KeyError, TypeError, ValueError) as error:
                found.not_read(page, "regions that cannot be read", f"{name}, region {number}: {error}")
                continue
            said = {name: _via_value(value) for name, value in region["region_attributes"].items()}
            label.label = said.pop(class_name, "") or None if class_name is not None else None
            label.attributes = {name: value for name, value in said.items() if value != ""}
            found.add_label(page, label)


def _via_value(value: Any) -> str:
    """The value of an attribute; of checkboxes those that are ticked."""
    if isinstance(value, Mapping):
        return ", ".join(sorted(name for name, is_on in value.items() if is_on))
    return str(value)


def _via_label(shape: dict[str, Any]) -> DrawnLabel:
    """The shape of a region as a label without a class.

    Raises:
        ValueError: if it is of a type that is not read
    """
    kind = shape["name"]
    if kind == "rect":
        x, y, width, height = (float(shape[name]) for name in ("x", "y", "width", "height"))
        return DrawnLabel(None, box=(x, y, width, height))
    if kind in ("polygon", "polyline"):
        x_s, y_s = (list(map(float, shape[f"all_points_{axis}"])) for axis in "xy")
        return DrawnLabel(None, rings=[list(zip(x_s, y_s, strict=True))], closed=kind == "polygon")
    if kind == "point":
        return DrawnLabel(None, points=[(float(shape["cx"]), float(shape["cy"]))])
    if kind not in ("circle", "ellipse"):
        raise ValueError(f"a shape of the type {kind!r}")
    radii = (shape["r"], shape["r"]) if kind == "circle" else (shape["rx"], shape["ry"])
    turn = math.degrees(float(shape.get("theta") or 0.0))
    x, y, radius_x, radius_y = map(float, (shape["cx"], shape["cy"], *radii))
    return DrawnLabel(None, rings=[ellipse_ring(x, y, radius_x, radius_y, turn)])
