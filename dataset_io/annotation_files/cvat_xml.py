"""Read CVAT's XML for images and for video, of tasks, jobs and projects."""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from xml.etree.ElementTree import Element

from ...agreement.settings.errors import AgreementInputError
from .annotation_set import AnnotationSet, DrawnLabel, ImageLabels, NotReadError
from .file_values import Point, ellipse_ring, stored_size
from .run_length import cvat_mask

#: most frames of a video that are read, so that no file can fill the memory
MOST_FRAMES = 1_000_000
#: bytes that a frame of a video, and a shape between two key frames, take before they become pages and labels
_OF_FRAME, _OF_BETWEEN = 100, 700
#: attributes of shapes with numbers, which are interpolated between key frames; all attributes that are used
_MOVING = ("xtl", "ytl", "xbr", "ybr", "cx", "cy", "rx", "ry", "points")
_USED = {
    *_MOVING,
    *["label", "occluded", "rotation", "rle", "left", "top", "width", "height", "frame", "outside", "keyframe", "id"],
}
#: input type of every attribute of shapes, by class and name
Types = dict[tuple[str, str], str]
#: the question that tags of an image answer
TAGS = "tags"


def read_cvat(found: AnnotationSet, root: Element) -> None:
    """Add all labels of an export; their annotator is the one given by the user, the assignee, or the file's name."""
    meta = root.find("meta")
    types: Types = {
        (text_in(label, "name"), text_in(attribute, "name")): text_in(attribute, "input_type")
        for label in (meta.iter("label") if meta is not None else ())
        for attribute in label.findall("attributes/attribute")
    }
    assignees = (text_in(meta, f"{place}/assignee/username") for place in ("job", "task", "project"))
    owner = found.annotator or next(filter(None, assignees), found.owner)
    is_video = any(text_in(meta, f"{place}/mode") == "interpolation" for place in ("job", "task"))
    if root.find("image") is None and (root.find("track") is not None or is_video):
        _read_video(found, root, meta, owner, types)
        return
    tasks = meta.findall("project/tasks/task") if meta is not None and found.annotator is None else []
    owners = {text_in(entry, "id"): text_in(entry, "assignee/username") for entry in reversed(tasks)}
    n_times = Counter(image.get("name") for image in root.findall("image"))
    for image in root.findall("image"):
        name, subset = str(image.get("name")), image.get("subset")
        if n_times[image.get("name")] > 1 and subset:  # subsets of a project may have images of the same name
            name = f"{subset}/{name}"
        page = found.page(owners.get(image.get("task_id") or "") or owner, name, is_new=True)
        page.size_px = stored_size(image.get("width"), image.get("height"))
        for element in image:
            _add_shape(found, page, name, element, str(element.get("label")), types, None)


def text_in(element: Element | None, path: str) -> str:
    """The text of the element on a path; empty where there is none."""
    return (element.findtext(path) or "").strip() if element is not None else ""


def _add_shape(
    found: AnnotationSet, page: ImageLabels, where: str, element: Element, label: str, types: Types, index: int | None
) -> None:
    """Add the label of an element, if it is one; ``index`` is the number of its track."""
    if element.tag == "attribute":
        return
    found.say_unused("shapes", element.attrib, _USED)
    with found.reading(page, "shapes", where):
        drawn = DrawnLabel(label or None, index=index)
        if element.get("occluded") is not None:
            drawn.attributes["occluded"] = element.get("occluded") == "1"
        for attribute in element.findall("attribute"):
            name = str(attribute.get("name"))
            if attribute.text is not None:  # the task gives the type of the value; without one it is a text
                text, input_type = attribute.text.strip(), types.get((label, name))
                drawn.attributes[name] = text.lower() == "true" if input_type == "checkbox" else text
                if input_type == "number":
                    with contextlib.suppress(ValueError):
                        drawn.attributes[name] = float(text)
        if element.tag == "box":
            left, top, right, bottom = (float(element.attrib[key]) for key in ("xtl", "ytl", "xbr", "ybr"))
            drawn.set_corners(left, top, right, bottom, float(element.get("rotation") or 0.0))
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
            place = (int(float(element.attrib[key])) for key in ("left", "top", "width", "height"))
            lengths = [int(length) for length in element.attrib["rle"].split(",")]
            drawn.mask = functools.partial(cvat_mask, lengths, *place)
        elif element.tag == "tag":
            drawn.question = TAGS
        else:
            raise NotReadError(f"shapes of the type {element.tag}")
        found.add_label(page, drawn)


def _points(element: Element) -> list[Point]:
    pairs = [pair.split(",") for pair in element.attrib["points"].split(";")]
    return [(float(x), float(y)) for x, y in pairs]


def _read_video(found: AnnotationSet, root: Element, meta: Element | None, owner: str, types: Types) -> None:
    """Add the shapes of tracks; every frame of the task or job counts as reviewed.

    The export of a job does not name its video: it is called as the file, or is the only one of the dataset.
    """
    place = "job" if meta is not None and meta.find("job") is not None else "task"
    name = text_in(meta, "source") or text_in(meta, f"{place}/source") or text_in(meta, f"{place}/name")
    found.other_names[name] = tuple(filter(None, (text_in(meta, f"{place}/name"), text_in(meta, "task/name"))))
    if not name:
        name = found.path.stem
        found.unnamed.add(name)
    size = stored_size(*(
        text_in(meta, f"{place}/original_size/{side}") or text_in(meta, f"original_size/{side}")
        for side in ("width", "height")
    ))  # fmt: skip
    step = int(text_in(meta, f"{place}/frame_filter").rpartition("step=")[2] or 1)
    start, stop = text_in(meta, f"{place}/start_frame"), text_in(meta, f"{place}/stop_frame")
    drawn = [int(element.get("frame") or 0) for track in root.findall("track") for element in track]
    last = max([*drawn, int(stop or 0)])
    if last > MOST_FRAMES or min([*drawn, int(start or 0)]) < 0:
        raise AgreementInputError(f"Frames of a video must be numbers from 0 to {MOST_FRAMES:,}, got up to {last:,}")
    every = range(int(start), int(stop) + 1, step) if start and stop else range(0)
    found.reserve(_OF_FRAME * len(every), "frames")
    # the frames in which every track is visible, with its shape; None where it cannot be interpolated
    shapes: list[tuple[Element, list[tuple[int, Element | None]]]] = []
    for track in root.findall("track"):
        with_frame = (element for element in track if element.get("frame") is not None)
        keys = sorted(with_frame, key=lambda element: int(element.attrib["frame"]))
        visible: list[tuple[int, Element | None]] = []
        for key, following in zip(keys, [*keys[1:], None], strict=True):
            if key.get("outside") == "1":
                continue
            first = int(key.attrib["frame"])
            visible.append((first, key))
            if following is not None:
                end = int(following.attrib["frame"])
                between = range(first + step, end, step)
                n_points = sum(len(_numbers(part.attrib.get("points", "0"))) for part in key.iter())
                what = "shapes between the key frames of tracks"
                found.reserve(len(between) * _OF_BETWEEN, what, n_points=len(between) * n_points)
                visible += [(frame, _between(key, following, (frame - first) / (end - first))) for frame in between]
        shapes.append((track, visible))
    for frame in sorted({*every, *(frame for _, visible in shapes for frame, _ in visible)}):
        found.page(owner, name, frame + 1).size_px = size
    for number, (track, visible) in enumerate(shapes):
        index = int(track.get("id") or number)
        for frame, element in visible:
            page, where = found.page(owner, name, frame + 1), f"{name}, frame {frame + 1}"
            if element is None:
                found.not_read(page, "shapes between key frames with different numbers of points", where)
            else:
                _add_shape(found, page, where, element, str(track.get("label")), types, index)


def _between(first: Element, last: Element, share: float) -> Element | None:
    """The shape between two key frames of a track, interpolated linearly; it turns the shorter way, as in CVAT.

    None if the two have different numbers of points.
    """
    between = Element(first.tag, dict(first.attrib))
    is_moving = last.get("outside") != "1" and first.tag == last.tag
    for key in _MOVING if is_moving else ():
        a, b = (_numbers(element.attrib.get(key, "")) for element in (first, last))
        if len(a) != len(b):
            return None
        moved = [x + (y - x) * share for x, y in zip(a, b, strict=True)]
        pairs = [",".join(map(repr, moved[k : k + 2])) for k in range(0, len(moved), 2)]
        if pairs:
            between.set(key, ";".join(pairs))
    if is_moving and (first.get("rotation") or last.get("rotation")):
        start, end = (float(element.get("rotation") or 0.0) for element in (first, last))
        between.set("rotation", repr((start + ((end - start + 180.0) % 360.0 - 180.0) * share) % 360.0))
    nodes = {node.get("label"): node for node in last.findall("points")} if is_moving else {}
    for part in first:  # the points of a skeleton, and attributes
        node = nodes.get(part.get("label")) if part.tag == "points" else None
        moved_part = part if node is None else _between(part, node, share)
        if moved_part is None:
            return None
        between.append(moved_part)
    return between


def _numbers(text: str) -> list[float]:
    return [float(number) for number in text.replace(";", ",").split(",")] if text else []
