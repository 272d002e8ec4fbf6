"""Read formats that do not name annotators: YOLO, Pascal VOC and LabelMe (a file per image), and VIA's projects."""

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
from .annotation_set import AnnotationSet, DrawnLabel, ImageLabels, NotReadError
from .coco_json import joined_rings
from .cvat_xml import text_in
from .file_values import Point, as_number, ellipse_ring, plain_attributes, stored_size
from .image_names import files_in

#: folders that tools make for annotations, beside those of images
_OF_LABELS = {"labels", "annotations", "annots", "anns", "xml", "xmls", "json", "jsons", "txt", "obj_train_data"}
#: files with the names of YOLO's classes, a line each; darknet's ends in ``.names``
_CLASS_FILES = {"classes.txt", "labels.txt", "obj.names", "_darknet.labels"}
#: names of texts beside YOLO's labels that hold no labels, and how other such names begin
_NO_LABELS = {*_CLASS_FILES, "labelmap.txt", "train.txt", "val.txt", "valid.txt", "test.txt", "trainval.txt"}
_NO_LABELS_BEGIN = ("readme", "license", "requirements")
#: largest coordinate of YOLO, as a share of the image: labels reach out of the image by less than its size
_FARTHEST_SHARE = 2.0
#: said where there are any, as a line of a pose may look like one of a polygon
_POLYGONS_OF_YOLO = "Lines of YOLO with more than a box are read as polygons; if they are poses, give them as COCO"
#: names of attributes of a region that hold its class, in VIA
_CLASS_NAMES = ("label", "class", "type", "name", "category", "object", "class_name")
#: the columns of VIA's CSV
_VIA_COLUMNS = {"filename", "region_count", "region_id", "region_shape_attributes", "region_attributes"}
#: keys of LabelMe's files and shapes, and of VOC's files and objects, that are read; all others are counted
_OF_LABELME = {"version", "flags", "shapes", "imagePath", "imageHeight", "imageWidth"}
_OF_SHAPE = {"label", "points", "shape_type", "group_id", "flags", "description", "mask", "score", "attributes"}
_OF_VOC = {"folder", "filename", "path", "source", "size", "segmented", "object"}
#: places of objects that are not read
_NOT_OF_VOC = {"robndbox": "rotated boxes (`robndbox`)", "polygon": "polygons without a `bndbox`"}
_OF_OBJECT = {"name", "bndbox", "attributes", "deleted", "pose", "truncated", "difficult", "occluded"}


def is_yolo_file(path: Path) -> bool:
    """True if a text may hold labels of YOLO, and is none of the lists and notes that are often beside them."""
    name = path.name.lower()
    return not (name in _NO_LABELS or name.startswith(_NO_LABELS_BEGIN) or "ImageSets" in path.parts)


def _page(found: AnnotationSet, name: str = "", *, own_first: bool = False) -> ImageLabels:
    """The labels on the image of a file, which is called ``name`` or, if that has no ending, like the file.

    The image is looked for in the folders of the file without those for labels, or with ``images`` in their place; with
    ``own_first`` the image that is called like the file comes before one that is called ``name``.
    """
    path, own = PureWindowsPath(name), found.path  # splits at both kinds of slashes
    names = [path.name if path.suffix else own.name]
    if own_first and PureWindowsPath(names[0]).stem != own.stem:
        names.insert(0, own.name)
    folders = own.relative_to(found.root).parts[:-1]
    plain = [part for part in folders if part.lower() not in _OF_LABELS]
    beside = ["images" if part.lower() in _OF_LABELS else part for part in folders]
    called = ["/".join([*place, each]) for each in names for place in (plain, beside)]
    key = called[0] if len(names) == 1 else f"{called[0]} ({names[1]})"
    found.other_names.setdefault(key, tuple(called))
    return found.page(found.owner, key, is_new=True)


def yolo_classes(folder: Path) -> tuple[dict[int, str] | None, str]:
    """Classes of a folder of YOLO's labels, and the file that names them: in the folder, or in one of two above it."""
    source = ""
    found: dict[int, str] | None = None
    places: list[Iterable[Path]] = [map(Path, files_in(folder, "source")), folder.parent.iterdir()]
    for place in [*places, folder.parent.parent.iterdir()]:
        for file in sorted(path for path in place if path.name.lower() in _CLASS_FILES or
                           path.suffix.lower() in (".yaml", ".yml", ".names")):  # fmt: skip
            try:
                text = file.read_text("utf-8-sig")
                names: dict[int, str] | None = dict(enumerate(map(str.strip, text.rstrip().splitlines()))) or None
                if file.suffix.lower() in (".yaml", ".yml"):
                    content = yaml.safe_load(text)
                    given = content.get("names") if isinstance(content, dict) else None
                    if not isinstance(given, list | dict):
                        continue
                    if "kpt_shape" in content:
                        raise AgreementInputError(
                            f"Labels of YOLO must be boxes or polygons, got poses (`kpt_shape` in {str(file)!r}); give "
                            "them as COCO"
                        )
                    numbered = given.items() if isinstance(given, dict) else enumerate(given)
                    names = {int(number): str(name) for number, name in numbered}
                    if isinstance(content.get("nc"), int) and content["nc"] != len(names):
                        raise AgreementInputError(
                            f"{str(file)!r} must name all classes, got {len(names)} names, and nc: {content['nc']}"
                        )
            except (OSError, UnicodeDecodeError, yaml.YAMLError, ValueError, RecursionError) as error:
                raise AgreementInputError(
                    f"{str(file)!r} must hold the classes of YOLO, got an error: {' '.join(str(error).split())}"
                ) from error
            if names is not None and found not in (None, names):
                raise AgreementInputError(
                    f"A folder of YOLO must have one list of classes, got others in {source!r} than in {str(file)!r}"
                )
            if names is not None:
                found, source = names, str(file)
        if found is not None:
            break
    return found, source


def read_yolo(found: AnnotationSet, lines: tuple[str, ...]) -> None:
    """Add the labels of one image, one a line: a class, a box or a polygon, and perhaps a confidence."""
    page, (names, source) = _page(found), found.classes or yolo_classes(found.root)
    page.scale = (1.0, 1.0)
    found.numbered.add(names is None)
    for k, line in enumerate(lines, 1):
        if not line.strip():
            continue
        with found.reading(page, "lines", place := f"{found.place}, line {k}"):
            code, *numbers = map(float, line.split())
            if code < 0 or code != int(code):
                raise ValueError(f"the class must be a whole number, got {code:g}")
            label = DrawnLabel(str(int(code)))
            if len(numbers) == 5 or (len(numbers) > 6 and len(numbers) % 2 == 1):
                label.confidence = numbers.pop()
                if not 0 <= label.confidence <= 1:
                    raise ValueError(f"the last number must be a confidence in [0, 1], got {label.confidence:g}")
            if not (len(numbers) == 4 or len(numbers) >= 6):
                raise ValueError(f"a box has 4 numbers and a polygon 6 or more, got {len(numbers)}")
            if not all(abs(value) <= _FARTHEST_SHARE for value in numbers):
                raise ValueError("coordinates must be shares of the image")
            if names is not None and int(code) not in names:
                raise AgreementInputError(
                    f"Classes of YOLO must be among the {len(names)} of {source!r}, got {int(code)} in {place}"
                )
            label.label = str(int(code)) if names is None else names[int(code)]
            if len(numbers) == 4:
                x, y, width, height = numbers
                if min(width, height) < 0:
                    raise ValueError("width and height must be at least 0")
                label.box = (x - width / 2, y - height / 2, width, height)
            else:
                label.rings = [list(zip(numbers[::2], numbers[1::2], strict=True))]
                found.notes += [_POLYGONS_OF_YOLO] if _POLYGONS_OF_YOLO not in found.notes else []
            found.add_label(page, label)


def read_voc(found: AnnotationSet, root: Element) -> None:
    """Add the objects of one image."""
    page = _page(found, text_in(root, "filename"), own_first=True)
    page.size_px = stored_size(*(text_in(root, f"size/{side}") for side in ("width", "height")))
    found.say_unused("files", (child.tag for child in root), _OF_VOC)
    if text_in(root, "segmented") not in ("", "0"):
        found.left_out.add("masks in other files (`segmented`), which are not read", found.place)
    for number, element in enumerate(root.findall("object"), 1):
        if text_in(element, "deleted") == "1":
            found.left_out.add("objects that are marked as deleted", found.place)
            continue
        with found.reading(page, "objects", f"{found.place}, object {number}"):
            flags = {name: text_in(element, name) for name in ("truncated", "difficult", "occluded")}
            label = DrawnLabel(text_in(element, "name") or None)
            label.attributes = {name: text == "1" for name, text in flags.items() if text in ("0", "1")}
            if text_in(element, "pose") not in ("", "Unspecified"):
                label.attributes["pose"] = text_in(element, "pose")
            for entry in element.findall("attributes/attribute"):
                label.attributes[text_in(entry, "name")] = text_in(entry, "value")
            box = element.find("bndbox")
            for kind, what in _NOT_OF_VOC.items():
                if box is None and element.find(kind) is not None:
                    raise NotReadError(what)
            if box is None:
                raise ValueError("there must be a `bndbox`")
            label.set_corners(*(float(text_in(box, side)) for side in ("xmin", "ymin", "xmax", "ymax")))
            found.add_label(page, label)
            found.say_unused("objects", (child.tag for child in element), _OF_OBJECT)


def read_labelme(found: AnnotationSet, content: dict[str, Any]) -> None:
    """Add the shapes of one image; polygons of one class and ``group_id`` are one label, their union."""
    page = _page(found, str(content["imagePath"] or ""))
    page.size_px = stored_size(content.get("imageWidth"), content.get("imageHeight"))
    found.say_unused("files", (name for name, value in content.items() if value), _OF_LABELME)
    flags = [content.get("flags") or {}]
    groups: dict[tuple[str, object], DrawnLabel] = {}
    for number, shape in enumerate(content["shapes"], 1):
        n_before = len(page.labels)
        with found.reading(page, "shapes", f"{found.place}, shape {number}"):
            points: list[Point] = [(float(x), float(y)) for x, y in shape["points"]]
            kind = shape.get("shape_type") or "polygon"
            label = DrawnLabel(str(shape["label"]), confidence=as_number(shape.get("score")))
            label.attributes = plain_attributes(shape.get("attributes") or {})
            label.attributes |= {name: shape[name] for name in ("group_id", "description")
                                 if shape.get(name) not in (None, "")}  # fmt: skip
            if kind == "rectangle" and len(points) in (2, 4):
                (left, right), (top, bottom) = ((min(ends), max(ends)) for ends in zip(*points, strict=True))
                label.set_corners(left, top, right, bottom)
            elif kind in ("polygon", "rotation") and len(points) > 2:
                label.rings, label.rotated = [points], kind == "rotation"
            elif kind == "circle" and len(points) == 2:
                radius = math.dist(*points)
                label.rings = [ellipse_ring(*points[0], radius, radius, 0.0)]
            elif kind in ("line", "linestrip") and len(points) > 1:
                label.rings, label.closed = [points], False
            elif kind in ("point", "points") and points:
                label.points = points
            elif kind == "mask":
                raise NotReadError("masks of LabelMe (`mask`)")
            else:
                raise ValueError(f"a shape of the type {kind!r} with {len(points)} points")
            found.add_label(page, label)
            found.say_unused("shapes", (name for name, value in shape.items() if value), _OF_SHAPE)
            flags.append(shape.get("flags") or {})
        for label in page.labels[n_before:]:
            if label.rings and label.closed and shape.get("group_id") is not None:
                whole = groups.setdefault((str(label.label), shape["group_id"]), label)
                if whole is not label:
                    whole.rings = [*(whole.rings or []), *label.rings]
                    page.labels.pop()
    for whole in groups.values():
        whole.rings = joined_rings(whole.rings or [], may_be_holes=False)
    found.say_unused("flags", (name for own in flags for name, value in own.items() if value))


def via_entries(content: Any) -> dict[str, Any] | None:
    """The entries of images in VIA's JSON (a project, or annotations alone) or CSV; None for any other content."""
    if not isinstance(content, pd.DataFrame):
        entries = content.get("_via_img_metadata", content) if isinstance(content, dict) else None
        is_via = isinstance(entries, dict) and all(isinstance(entry, dict) and {"filename", "regions"} <= entry.keys()
                                                   for entry in entries.values())  # fmt: skip
        return entries if is_via and (entries or "_via_img_metadata" in content) else None
    table = content.rename(columns={"#filename": "filename"})
    if not {*map(str, table.columns)} >= _VIA_COLUMNS:
        return None
    entries = {}
    for row in table.to_dict("records"):
        entry = {"filename": row["filename"], "regions": [], "file_attributes": json.loads(row["file_attributes"])}
        entry = entries.setdefault(f"{row['filename']}{row.get('file_size')}", entry)
        shape, said = (json.loads(row[f"region_{name}attributes"]) for name in ("shape_", ""))
        if shape:
            entry["regions"].append({"shape_attributes": shape, "region_attributes": said})
    return entries


def read_via(found: AnnotationSet, content: Any) -> None:
    """Add all regions of a project; their class is the attribute that the user names, the only one, or a usual one."""
    entries, class_name = via_entries(content) or {}, found.columns.get("label")
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
    for place, entry in entries.items():
        file_name, of_file = str(entry["filename"]), (entry.get("file_attributes") or {}).items()
        found.say_unused("images", (f"file_attributes.{key}" for key, value in of_file if value not in ("", None, {})))
        page = found.page(found.owner, file_name, is_new=True)
        for number, region in enumerate(regions[place], 1):
            with found.reading(page, "regions", f"{file_name}, region {number}"):
                # an attribute with checkboxes has the names of the ticked ones as its value
                said = {name: ", ".join(sorted(each for each, is_on in value.items() if is_on))
                        if isinstance(value, Mapping) else str(value)
                        for name, value in region["region_attributes"].items()}  # fmt: skip
                label = DrawnLabel(said.pop(class_name, "") or None if class_name is not None else None)
                label.attributes = {name: value for name, value in said.items() if value != ""}
                shape = region["shape_attributes"]
                kind = shape["name"]
                if kind == "rect":
                    x, y, width, height = (float(shape[name]) for name in ("x", "y", "width", "height"))
                    label.box = (x, y, width, height)
                elif kind in ("polygon", "polyline"):
                    x_s, y_s = (list(map(float, shape[f"all_points_{axis}"])) for axis in "xy")
                    label.rings, label.closed = [list(zip(x_s, y_s, strict=True))], kind == "polygon"
                elif kind == "point":
                    label.points = [(float(shape["cx"]), float(shape["cy"]))]
                elif kind in ("circle", "ellipse"):
                    radii = (shape["r"], shape["r"]) if kind == "circle" else (shape["rx"], shape["ry"])
                    turn = math.degrees(float(shape.get("theta") or 0.0))
                    x, y, radius_x, radius_y = map(float, (shape["cx"], shape["cy"], *radii))
                    label.rings = [ellipse_ring(x, y, radius_x, radius_y, turn)]
                else:
                    raise ValueError(f"a shape of the type {kind!r}")
                found.add_label(page, label)
