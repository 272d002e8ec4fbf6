"""CVAT's XML for images and for video, of tasks, jobs and projects."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

from ...agreement.settings.errors import AgreementInputError
from .annotation_set import OF_POINT, AnnotationSet, DrawnLabel, ImageKey, Page, Point, ellipse_ring, refuse_repeated
from .run_length import cvat_mask

TITLE = "CVAT XML"

#: frames of a video that can be read: a file cannot make us fill the memory
MOST_FRAMES = 1_000_000
#: bytes that a frame of a video, and a shape between two key frames take before they become pages and labels
_OF_FRAME, _OF_BETWEEN = 100, 700
#: the question that tags of an image answer
TAGS = "tags"


def read_cvat(root: Element, annotator: str | None, file_name: str, room: int) -> AnnotationSet:
    """All labels of an export.

    Args:
        root: its first element
        annotator: whose labels they are; None: the assignee's, or where there is none that of the file's name
        file_name: name of the file
        room: bytes that may be made of it
    """
    found = AnnotationSet(TITLE, room=room)
    meta = root.find("meta")
    types = _attribute_types(meta)
    if root.find("image") is None and (root.find("track") is not None or _is_video(meta)):
        _read_video(found, root, meta, annotator or _assignee(meta) or file_name, types)
    else:
        _read_images(found, root, meta, annotator, file_name, types)
    found.order_named_points()
    return found


def _text(element: Element | None, path: str) -> str:
    return (element.findtext(path) or "").strip() if element is not None else ""


def _assignee(meta: Element | None) -> str:
    """User name of who a job, task or project was assigned to."""
    places = ("job", "task", "project")
    return next((name for place in places if (name := _text(meta, f"{place}/assignee/username"))), "")


def _assignees(meta: Element | None) -> dict[str, str]:
    """User names of who the tasks of a project were assigned to, by number of the task."""
    tasks = meta.findall("project/tasks/task") if meta is not None else []
    return {_text(entry, "id"): _text(entry, "assignee/username") for entry in reversed(tasks)}


def _is_video(meta: Element | None) -> bool:
    return any(_text(meta, f"{place}/mode") == "interpolation" for place in ("job", "task"))


def _attribute_types(meta: Element | None) -> dict[tuple[str, str], str]:
    """Input type of every attribute, by class and name."""
    labels = meta.iter("label") if meta is not None else ()
    return {
        (_text(label, "name"), _text(attribute, "name")): _text(attribute, "input_type")
        for label in labels
        for attribute in label.findall("attributes/attribute")
    }


def _read_images(
    found: AnnotationSet,
    root: Element,
    meta: Element | None,
    annotator: str | None,
    file_name: str,
    types: dict[tuple[str, str], str],
) -> None:
    images = root.findall("image")
    names = [str(image.get("name")) for image in images]
    assignees, otherwise = _assignees(meta), _assignee(meta) or file_name
    repeated = {name for name, n in Counter(names).items() if n > 1}
    for image, name in zip(images, names, strict=True):
        subset = image.get("subset")
        if name in repeated and subset:  # subsets of a project may have images of one name
            name = f"{subset}/{name}"
        owner = annotator or assignees.get(image.get("task_id") or "") or otherwise
        key = ImageKey(name)
        if key in found.pages.get(owner, {}):
            refuse_repeated(owner, [key])
        page = found.page(owner, key)
        page.scale, page.size_px = _sizes(image.get("width"), image.get("height"))
        for element in image:
            _add_shape(found, page, key.name, element, str(element.get("label")), types)


def _sizes(width: Any, height: Any) -> tuple[tuple[float, float] | None, tuple[int, int] | None]:
    """Scale and size of a page; unknown where the file does not say them."""
    try:
        size = int(width), int(height)
    except (TypeError, ValueError):
        return None, None
    return ((float(size[0]), float(size[1])), size) if min(size) > 0 else (None, None)


def _add_shape(
    found: AnnotationSet, page: Page, name: str, element: Element, label: str, types: dict[tuple[str, str], str]
) -> DrawnLabel | None:
    try:
        shape = _shape(element, label, types)
    except (KeyError, TypeError, ValueError) as error:
        found.left_out.add(f"shapes that cannot be read ({error})", name)
        return None
    if shape is None:
        if element.tag != "attribute":
            found.left_out.add(f"shapes of the type {element.tag}, which are not read", name)
        return None
    found.add_label(page, shape)
    return shape


def _shape(element: Element, label: str, types: dict[tuple[str, str], str]) -> DrawnLabel | None:
    """The label of an element; None if it is none that we read."""
    drawn = DrawnLabel(label or None)
    if element.get("occluded") is not None:
        drawn.attributes["occluded"] = element.get("occluded") == "1"
    for attribute in element.findall("attribute"):
        name = str(attribute.get("name"))
        if attribute.text is not None:
            drawn.attributes[name] = _value(attribute.text.strip(), types.get((label, name), ""))
    if element.tag == "box":
        left, top, right, bottom = (float(element.attrib[key]) for key in ("xtl", "ytl", "xbr", "ybr"))
        angle = float(element.get("rotation") or 0.0) % 360.0
        if angle:
            drawn.rings, drawn.rotated = [_rotated(left, top, right, bottom, math.radians(angle))], True
        else:
            drawn.box = (left, top, right - left, bottom - top)
    elif element.tag == "ellipse":
        x, y, radius_x, radius_y = (float(element.attrib[key]) for key in ("cx", "cy", "rx", "ry"))
        drawn.rings = [ellipse_ring(x, y, radius_x, radius_y, float(element.get("rotation") or 0.0))]
    elif element.tag in ("polygon", "polyline"):
        drawn.rings, drawn.closed = [_points(element)], element.tag == "polygon"
    elif element.tag == "points":
        drawn.points = _points(element)
    elif element.tag == "skeleton":
        nodes = [node for node in element.findall("points") if node.get("outside") != "1"]
        drawn.named_points = {str(node.get("label")): _points(node)[0] for node in nodes}
    elif element.tag == "mask":
        left, top, width, height = (int(float(element.attrib[key])) for key in ("left", "top", "width", "height"))
        lengths = [int(length) for length in element.attrib["rle"].split(",")]
        drawn.mask = functools.partial(cvat_mask, lengths, left, top, width, height)
    elif element.tag == "tag":
        drawn.question = TAGS
    else:
        return None
    return drawn


def _points(element: Element) -> list[Point]:
    pairs = [pair.split(",") for pair in element.attrib["points"].split(";")]
    return [(float(x), float(y)) for x, y in pairs]


def _value(text: str, input_type: str) -> str | float | bool:
    """The value of an attribute, as its type in the task says; without one as text."""
    if input_type == "checkbox":
        return text.lower() == "true"
    if input_type == "number":
        try:
            return float(text)
        except ValueError:
            return text
    return text


def _rotated(left: float, top: float, right: float, bottom: float, angle: float) -> list[Point]:
    """Corners of a box that is rotated clockwise about its centre."""
    x, y = (left + right) / 2, (top + bottom) / 2
    cos, sin = math.cos(angle), math.sin(angle)
    corners = ((left, top), (right, top), (right, bottom), (left, bottom))
    return [(x + (a - x) * cos - (b - y) * sin, y + (a - x) * sin + (b - y) * cos) for a, b in corners]


def _read_video(
    found: AnnotationSet, root: Element, meta: Element | None, owner: str, types: dict[tuple[str, str], str]
) -> None:
    """Tracks, on every frame that the task or job has."""
    place = "job" if meta is not None and meta.find("job") is not None else "task"
    name = _text(meta, "source") or _text(meta, f"{place}/source") or _text(meta, f"{place}/name")
    found.other_names[name] = tuple(filter(None, (_text(meta, f"{place}/name"), _text(meta, "task/name"))))
    scale, size = _sizes(_text(meta, f"{place}/original_size/width"), _text(meta, f"{place}/original_size/height"))
    step = int(_text(meta, f"{place}/frame_filter").rpartition("step=")[2] or 1)
    start, stop = _text(meta, f"{place}/start_frame"), _text(meta, f"{place}/stop_frame")
    drawn = [int(element.get("frame") or 0) for track in root.findall("track") for element in track]
    last = max([*drawn, int(stop or 0)])
    if last > MOST_FRAMES or min([*drawn, int(start or 0)]) < 0:
        raise AgreementInputError(f"Frames of a video must be numbers from 0 to {MOST_FRAMES:,}, got up to {last:,}")
    every = range(int(start), int(stop) + 1, step) if start and stop else range(0)
    found.reserve(_OF_FRAME * len(every), "frames")
    frames = set(every)
    shapes = [(track, list(_track(found, track, step))) for track in root.findall("track")]
    frames |= {frame for _, track in shapes for frame, _ in track}
    for frame in sorted(frames):
        page = found.page(owner, ImageKey(name, frame + 1))
        page.scale, page.size_px = scale, size
    for number, (track, visible) in enumerate(shapes):
        index = int(track.get("id") or number)
        for frame, element in visible:
            page = found.page(owner, ImageKey(name, frame + 1))
            shape = _add_shape(found, page, f"{name}, frame {frame + 1}", element, str(track.get("label")), types)
            if shape is not None:
                shape.index = index


def _track(found: AnnotationSet, track: Element, step: int) -> Iterator[tuple[int, Element]]:
    """Frames in which a track is seen, and its shape there; between key frames the shapes that lie between theirs."""
    shapes = sorted(
        (element for element in track if element.get("frame") is not None), key=lambda e: int(e.attrib["frame"])
    )
    for shape, following in zip(shapes, [*shapes[1:], None], strict=True):
        if shape.get("outside") == "1":
            continue
        first = int(shape.attrib["frame"])
        yield first, shape
        if following is not None:
            last = int(following.attrib["frame"])
            n_points = len(_numbers(shape.attrib.get("points", "0")))
            n_between = len(range(first + step, last, step))
            found.reserve(n_between * (_OF_BETWEEN + OF_POINT * n_points), "shapes between the key frames of tracks")
            for frame in range(first + step, last, step):
                yield frame, _between(shape, following, (frame - first) / (last - first))


def _between(first: Element, last: Element, share: float) -> Element:
    """The shape between two key frames of a track: every coordinate moves evenly, as in CVAT."""
    keys = [key for key in ("xtl", "ytl", "xbr", "ybr", "points") if key in first.attrib and key in last.attrib]
    between = Element(first.tag, dict(first.attrib))
    between.extend(first)
    for key in keys if last.get("outside") != "1" else ():
        a, b = (_numbers(element.attrib[key]) for element in (first, last))
        if len(a) == len(b):
            moved = [x + (y - x) * share for x, y in zip(a, b, strict=True)]
            pairs = [",".join(map(repr, moved[k : k + 2])) for k in range(0, len(moved), 2)]
            between.set(key, ";".join(pairs))
    return between


def _numbers(text: str) -> list[float]:
    return [float(number) for number in text.replace(";", ",").split(",")]
