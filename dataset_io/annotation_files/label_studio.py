"""Label Studio's JSON, read and written: tasks with the annotations of everybody, by who completed them."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from .annotation_set import (
    OF_POINT,
    AnnotationSet,
    DrawnLabel,
    ImageKey,
    ImageLabels,
    Point,
    StoredImage,
    as_number,
    ellipse_ring,
    turned,
)
from .run_length import brush_runs, label_studio_mask

GROUND_TRUTH = "ground_truth"

Result = dict[str, Any]

#: keys of a task's data that may hold its image, in this order; else the first text
_IMAGE_KEYS = ("image", "img", "image_url", "url", "photo", "picture")
#: Label Studio puts this before the names of files that were uploaded
_UPLOAD_PREFIX = re.compile(r"^[0-9a-f]{8}-")
#: results on the whole image, and the key of their value
_ANSWERS = {"choices": "choices", "taxonomy": "taxonomy", "rating": "rating", "number": "number"}
_DRAWN = ("rectangle", "polygon", "keypoint", "brush", "ellipse")
#: regions that we write as one label: a file cannot make us fill the memory
_MOST_PARTS = 100_000
#: a keypoint that is not labelled
_ABSENT = (math.nan, math.nan)
#: what Label Studio takes for the name of the control of regions that we write
_CONTROL, _IMAGE = "label", "image"


def read_label_studio(found: AnnotationSet, tasks: list[Any]) -> None:
    """Add all annotations, predictions and ground truths of an export."""
    for task in tasks:
        name, others = _image_names(task)
        if name is None:
            found.left_out.add("tasks without an image", task.get("id") if isinstance(task, dict) else task)
            continue
        found.other_names[name] = others
        annotations = [entry for entry in task.get("annotations") or [] if isinstance(entry, dict)]
        # the latest first, which counts where somebody has several
        annotations.sort(
            key=lambda entry: (str(entry.get("updated_at") or ""), int(entry.get("id") or 0)), reverse=True
        )
        for annotation in annotations:
            if annotation.get("was_cancelled"):
                found.left_out.add("tasks that their annotator skipped (was_cancelled), which are not assigned", name)
            elif annotation.get("ground_truth"):
                _add(found, found.separate.setdefault(GROUND_TRUTH, {}), name, annotation)
            else:
                _add(found, found.pages.setdefault(_annotator(annotation), {}), name, annotation)
        for prediction in task.get("predictions") or []:
            if isinstance(prediction, dict):  # exports without predictions have their ids, or their number
                model = str(prediction.get("model_version") or "").strip()
                owner = f"prediction_{model}" if model else "prediction"
                _add(found, found.separate.setdefault(owner, {}), name, prediction)
    found.order_named_points()


def _add(found: AnnotationSet, pages: dict[ImageKey, ImageLabels], name: str, annotation: Result) -> None:
    """Add the results of an annotation, unless there is a later one by the same annotator."""
    if ImageKey(name) in pages:
        found.left_out.add("annotations that a later one of the same annotator replaces", name)
        return
    page = found.page_in(pages, ImageKey(name))
    page.scale = (100.0, 100.0)  # coordinates are percent
    results = [result for result in annotation.get("result") or [] if isinstance(result, dict)]
    for result in results:
        width, height = result.get("original_width"), result.get("original_height")
        if isinstance(width, int) and isinstance(height, int) and width > 0 and height > 0:
            page.size_px = (width, height)
            break
    seconds = as_number(annotation.get("lead_time"))
    for label in _labels(found, name, results):
        if seconds is not None and seconds >= 0:  # what the annotator took for all labels of the task
            label.attributes.setdefault("lead_time", seconds)
        found.add_label(page, label)


def _annotator(annotation: Result) -> str:
    """Mail address, name or number of who completed an annotation."""
    who = annotation.get("completed_by")
    if isinstance(who, dict):
        who = next((who[key] for key in ("email", "username", "id") if who.get(key)), None)
    for key in ("created_username", "last_created_by", "updated_by"):
        who = who if who is not None else annotation.get(key)
    return "unknown" if who is None else str(who).strip()


def _image_names(task: Any) -> tuple[str | None, tuple[str, ...]]:
    """The path in a task's address of an image, and the names that its file may have had before its upload."""
    data = task.get("data") if isinstance(task, dict) else None
    if not isinstance(data, dict):
        return None, ()
    values = [data[key] for key in (*_IMAGE_KEYS, *data) if isinstance(data.get(key), str)]
    if not values:
        return None, ()
    path = name_in(values[0])
    names = [path, str(task.get("file_upload") or "")]
    names += [_UPLOAD_PREFIX.sub("", name.rpartition("/")[2]) for name in names]
    return path, tuple(dict.fromkeys(name for name in names[1:] if name))


def name_in(address: str) -> str:
    """The path in the address of an image."""
    parts = urlsplit(address)
    local = parse_qs(parts.query).get("d")
    return local[0] if local else unquote(parts.path)


def _labels(found: AnnotationSet, name: str, results: list[Result]) -> Iterator[DrawnLabel]:
    """The labels of an annotation; results of one id are of one region."""
    regions: dict[str, list[Result]] = defaultdict(list)
    for number, result in enumerate(results):
        if result.get("type") != "relation":
            regions[str(result.get("id") or f"result {number}")].append(result)
    points: dict[str, DrawnLabel] = {}
    drawn: dict[str, DrawnLabel] = {}
    for region, entries in regions.items():
        shapes = [entry for entry in entries if str(entry.get("type")).startswith(_DRAWN)]
        others = [entry for entry in entries if not str(entry.get("type")).startswith(_DRAWN)]
        found.reserve(OF_POINT * len(shapes) * len(others), "results of one region")
        if not shapes:
            yield from _answers(found, name, others)
        for number, shape in enumerate(shapes):
            try:
                label, part = _drawn(shape, others), _part_of(shape)
            except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
                found.left_out.add(f"regions that cannot be read ({error})", f"{name}: {region}")
                continue
            label.attributes.update(_region_attributes(found, name, others))
            if part is None:
                (points if label.points else drawn)[f"{region} {number}" if number else region] = label
                continue
            owner, position, n_parts = part
            if owner not in drawn:  # the first part makes the label
                found.reserve(OF_POINT * n_parts, "parts of labels")
                drawn[owner] = label
                if label.points:
                    label.points = [*([_ABSENT] * position), *label.points, *([_ABSENT] * (n_parts - position - 1))]
            elif label.points:
                (drawn[owner].points or [])[position : position + 1] = label.points
            else:
                drawn[owner].rings = [*(drawn[owner].rings or []), *(label.rings or [])]
    yield from drawn.values()
    yield from _keypoints(results, points, drawn)


def _drawn(shape: Result, others: list[Result]) -> DrawnLabel:
    """The label of a region; its class may stand in another result."""
    kind, value = str(shape["type"]), shape["value"]
    if shape.get("image_rotation"):
        raise ValueError("the image is rotated")
    classes = next((entry["value"].get(str(entry["type"])) for entry in (shape, *others)
                    if str(entry["type"]).endswith("labels")), None) or [None]  # fmt: skip
    label = DrawnLabel(None if classes[0] is None else str(classes[0]), confidence=as_number(shape.get("score")))
    if len(classes) > 1:
        label.attributes["other_labels"] = ", ".join(map(str, classes[1:]))
    if kind.startswith("rectangle"):
        x, y, width, height = (float(value[key]) for key in ("x", "y", "width", "height"))
        if float(value.get("rotation") or 0.0) % 360.0:
            # clockwise, in pixels, about its upper left corner
            width_px, height_px = float(shape["original_width"]), float(shape["original_height"])
            a, b = width * width_px, height * height_px
            corners = turned(((0.0, 0.0), (a, 0.0), (a, b), (0.0, b)), 0.0, 0.0, float(value["rotation"]))
            label.rings, label.rotated = [[(x + a / width_px, y + b / height_px) for a, b in corners]], True
        else:
            label.box = (x, y, width, height)
    elif kind.startswith("ellipse"):
        across, down = float(shape["original_width"]) / 100, float(shape["original_height"]) / 100
        x, y, radius_x, radius_y = (float(value[key]) for key in ("x", "y", "radiusX", "radiusY"))
        ring = ellipse_ring(x * across, y * down, radius_x * across, radius_y * down, float(value.get("rotation") or 0))
        label.rings = [[(x / across, y / down) for x, y in ring]]
    elif kind.startswith("polygon"):
        label.rings = [[(float(x), float(y)) for x, y in value["points"]]]
        label.closed = value.get("closed") is not False
    elif kind.startswith("keypoint"):
        label.points = [(float(value["x"]), float(value["y"]))]
    elif value.get("format") == "rle":
        size = int(shape["original_width"]), int(shape["original_height"])
        label.mask = functools.partial(label_studio_mask, value["rle"], *size)
    else:
        raise ValueError(f"a brush in the format {value.get('format')!r}")
    return label


def _part_of(shape: Result) -> tuple[str, int, int] | None:
    """Label, position and number of parts, if we wrote the region as a part of a label; None if it is a whole label."""
    meta = shape.get("meta")
    if not isinstance(meta, dict) or "part_of" not in meta:
        return None
    position, n_parts = int(meta["part"]), int(meta["parts"])
    if not 0 <= position < n_parts <= _MOST_PARTS:
        raise ValueError(f"part {position} of {n_parts}")
    return str(meta["part_of"]), position, n_parts


def _answers(found: AnnotationSet, name: str, entries: list[Result]) -> Iterator[DrawnLabel]:
    """Classes and numbers of the whole image."""
    for entry in entries:
        kind, question = str(entry.get("type")), str(entry.get("from_name") or entry.get("type"))
        value = (entry.get("value") or {}).get(_ANSWERS.get(kind, ""))
        number = as_number(value)
        if number is not None:
            yield DrawnLabel(None, value=number, question=question)
        elif isinstance(value, list):
            for choice in value:
                path = choice if isinstance(choice, list) else [choice]
                yield DrawnLabel("/".join(map(str, path)), question=question)
        else:
            found.left_out.add(f"results of the type {kind}, which are not read", name)


def _region_attributes(found: AnnotationSet, name: str, entries: list[Result]) -> Iterator[tuple[str, Any]]:
    """Attributes of a region: its choices, ratings and numbers, by the name of the control."""
    for entry in entries:
        if str(entry.get("type")).endswith("labels") and str(entry.get("type")) not in _ANSWERS:
            continue
        question = str(entry.get("from_name") or entry.get("type"))
        answers = list(_answers(found, name, [entry]))
        if answers:
            values = [answer.label if answer.value is None else entry["value"][entry["type"]] for answer in answers]
            yield question, values[0] if len(values) == 1 else ", ".join(map(str, values))


def _keypoints(
    results: list[Result], points: dict[str, DrawnLabel], drawn: dict[str, DrawnLabel]
) -> Iterator[DrawnLabel]:
    """Keypoints that belong together (by their parent, or by relations) as one label each; others one by one."""
    neighbours: dict[str, set[str]] = defaultdict(set)
    links = [(result.get("id"), result.get("parentID")) for result in results]
    links += [(result.get("from_id"), result.get("to_id")) for result in results if result.get("type") == "relation"]
    for a, b in links:
        if isinstance(a, str) and isinstance(b, str) and (a in points or b in points):
            neighbours[a].add(b)
            neighbours[b].add(a)
    seen: set[str] = set()
    for first in points:
        group, queue = [], [first]
        while queue:
            region = queue.pop()
            if region not in seen:
                seen.add(region)
                group.append(region)
                queue += neighbours[region]
        members = [points[region] for region in group if region in points]
        parents = sorted(str(drawn[region].label) for region in group if region in drawn)
        if not parents and len(members) == 1:
            yield members[0]
        elif members:
            named: dict[str, Point] = {}
            counts: Counter[str] = Counter()
            for member in members:
                for point in member.points or ():
                    counts[str(member.label)] += 1
                    number = counts[str(member.label)]
                    named[str(member.label) if number <= 1 else f"{member.label}#{number}"] = point
            yield DrawnLabel(parents[0] if parents else "keypoints", named_points=named)


def address_of(path: str) -> str:
    """The address of an image: of a file as Label Studio serves local files, whose root must be that of the disk."""
    if len(urlsplit(path).scheme) > 1:  # one letter is a disk of Windows
        return path
    disk_path = PureWindowsPath(path) if PureWindowsPath(path).drive else PurePosixPath(path)
    return f"/data/local-files/?d={quote(disk_path.as_posix().removeprefix(disk_path.drive).lstrip('/'))}"


def label_studio_tasks(images: Sequence[StoredImage], found: AnnotationSet) -> list[Result]:
    """All annotations as tasks, those of nobody as predictions.

    Args:
        images: the images; the sizes of those with regions are known
        found: what was drawn on them, as shares of the image
    """
    tasks = []
    for number, image in enumerate(images, 1):
        key = ImageKey(image.path)
        by_owner, ownerless = (
            [(owner, _results(pages[key], image)) for owner, pages in entries.items() if key in pages]
            for entries in (found.pages, found.separate)
        )
        annotations = []
        for owner, results in by_owner:  # Label Studio names annotators by number or mail address
            who = int(owner) if owner.isdecimal() and str(int(owner)) == owner else {"email": owner}
            annotations.append({"completed_by": who, "was_cancelled": False, "ground_truth": False, "result": results})
        predictions = [{"model_version": owner, "result": results} for owner, results in ownerless]
        data = {"image": address_of(image.path), **image.numbers}
        tasks.append({"id": number, "data": data, "annotations": annotations, "predictions": predictions})
    return tasks


def _results(page: ImageLabels, image: StoredImage) -> list[Result]:
    """The results of an annotation."""
    results: list[Result] = []
    for number, label in enumerate(label for label in page.labels if not label.question):
        size = image.size_px or (0, 0)
        own = {"to_name": _IMAGE, "original_width": size[0], "original_height": size[1], "image_rotation": 0}
        score = {} if label.confidence is None else {"score": label.confidence}
        name = f"r{number}"
        shapes = list(_shapes(label, size))
        is_parted = len(shapes) > 1 or label.points is not None
        for kind, value, part in shapes:
            classes = {} if label.label is None else {f"{kind}labels": [label.label]}
            kind = f"{kind}labels" if classes else kind
            meta: dict[str, Any] = {"text": list(label.of_run.values())} if label.of_run else {}
            if is_parted:
                meta |= {"part_of": name, "part": part, "parts": len(label.points or shapes)}
            region = {"id": f"{name}p{part}" if part else name, **own, **({"meta": meta} if meta else {})}
            results.append({**region, "type": kind, "from_name": _CONTROL, "value": {**value, **classes}, **score})
            score = {}
            if part == shapes[0][2]:
                results += [{**region, **_answer(question, [value])} for question, value in label.attributes.items()]
    answers: dict[str, list[Any]] = {}
    for label in page.labels:
        if label.question:
            answers.setdefault(label.question, []).append(label.label if label.value is None else label.value)
    return [*results, *({"id": f"a{number}", "to_name": _IMAGE, **_answer(question, values)}
                        for number, (question, values) in enumerate(answers.items()))]  # fmt: skip


def _answer(question: str, values: list[Any]) -> Result:
    """The result that answers a question, by a number or by classes."""
    if as_number(values[0]) is not None:
        return {"type": "number", "from_name": question, "value": {"number": values[0]}}
    texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
    return {"type": "choices", "from_name": question, "value": {"choices": texts}}


def _shapes(label: DrawnLabel, size: tuple[int, int]) -> Iterator[tuple[str, Result, int]]:
    """Kind, value and position of every region of a label."""
    if label.points is not None:
        for number, (x, y) in enumerate(label.points):
            if x == x and y == y:
                yield "keypoint", {"x": 100 * x, "y": 100 * y, "width": 0.5}, number
    elif label.mask is not None:
        yield "brush", {"format": "rle", "rle": brush_runs(label.mask(), *size)}, 0
    elif label.rings:
        for number, ring in enumerate(label.rings):
            yield "polygon", {"points": [[100 * x, 100 * y] for x, y in ring], "closed": label.closed}, number
    else:
        x, y, width, height = (100 * value for value in label.box or (0.0,) * 4)
        yield "rectangle", {"x": x, "y": y, "width": width, "height": height, "rotation": 0}, 0
