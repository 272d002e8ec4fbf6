"""Read and write Label Studio's JSON, tasks with the annotations of every annotator; read its JSON-MIN and CSV."""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import numpy as np
import pandas as pd

from ...agreement.settings.errors import AgreementInputError, shown
from ...metrics.numeric.arrays import components
from .annotation_set import AnnotationSet, DrawnLabel, ImageKey, ImageLabels, NotReadError, StoredImage
from .file_values import ABSENT, Point, as_number, ellipse_ring, id_text, number_in, stored_size, turned
from .run_length import brush_runs, label_studio_mask

GROUND_TRUTH = "ground_truth"

Result = dict[str, Any]
#: names of the images of a task, by control and page
Names = dict[tuple[str, int], str]

#: keys of a task's data whose text is the address of its image, even if it does not look like one
_IMAGE_KEYS = ("image", "img", "image_url", "url", "photo", "picture")
#: patterns of addresses: of images, by ending or beginning; of videos; and of other files
_IMAGE_FILE = re.compile(
    r"\.(jpe?g|png|tiff?|bmp|gif|webp|jfif|avif|heic|dcm|dicom|svg)([?#].*)?$|^([a-z][a-z0-9+.-]*:/)?/\S+$",
    re.IGNORECASE,
)
_VIDEO = re.compile(r"\.(mp4|avi|mov|mkv|webm|m4v|mpe?g)([?#]|$)|<video", re.IGNORECASE)
_OTHER_FILE = re.compile(rf"\.(mp3|wav|ogg|flac|csv|tsv|txt|json|html?|pdf)([?#]|$)|{_VIDEO.pattern}", re.IGNORECASE)
#: types of results on the frames of videos
_OF_VIDEOS = ("videorectangle", "timelinelabels")
#: ends of the types of results that are regions
_OF_REGIONS = ("labels", "bitmask", "vector", *_OF_VIDEOS)
#: keys of tasks, and of their annotations, that are used
_OF_TASKS = ("id", "data", "annotations", "predictions", "file_upload", "inner_id")
_OF_ANNOTATIONS = (
    *("id", "completed_by", "was_cancelled", "ground_truth", "result", "lead_time", "updated_at", "created_username"),
    *("last_created_by", "updated_by", "task", "project"),
)
#: Label Studio puts this before the names of files that were uploaded
_UPLOAD_PREFIX = re.compile(r"^[0-9a-f]{8}-")
#: types of results on the whole image, and the key of their value
_ANSWERS = {"choices": "choices", "taxonomy": "taxonomy", "rating": "rating", "number": "number"}
_DRAWN = ("rectangle", "polygon", "keypoint", "brush", "ellipse")
#: most regions that are parts of one label, so that no file can fill the memory
_MOST_PARTS = 100_000
#: names of the control and of the image of regions that we write
_CONTROL, _IMAGE = "label", "image"


def read_label_studio(found: AnnotationSet, content: Any) -> None:
    """Add all annotations, predictions and ground truths of an export.

    The image of a task is the entry of its data that the user names, or whose name fits that of the control.

    Raises:
        AgreementInputError: if the tasks are of other media, or have several images and nothing says which is meant
    """
    image_key = found.columns.get("image")
    if isinstance(content, pd.DataFrame):
        found.title, content = "Label Studio CSV", content.to_dict("records")
    tasks = content if isinstance(content, list) else [content]
    if not (tasks and isinstance(tasks[0], dict) and "data" in tasks[0]):
        tasks = _tasks_of_records(tasks)
    tasks = [task if isinstance(task, dict) else {} for task in tasks]
    data_of_tasks = [task["data"] if isinstance(task.get("data"), dict) else {} for task in tasks]
    entries = [[*_dicts(task.get("annotations")), *_dicts(task.get("predictions"))] for task in tasks]
    results = [[result for entry in own for result in _dicts(entry.get("result"))] for own in entries]
    controls = {str(result["to_name"]) for own in results for result in own if result.get("to_name")}
    keys_of: dict[tuple[str, ...], dict[str, str]] = {}
    videos, others = [], []
    for task, data, own in zip(tasks, data_of_tasks, results, strict=True):
        # the addresses of images in the task's data, by key; several of one key are pages
        lists = {key: value if isinstance(value, list) else [value] for key, value in data.items()}
        images = {key: texts for key, texts in lists.items() if texts and (
            all(_is_image(text, key) for text in texts) if image_key is None
            else key == image_key and all(isinstance(text, str) for text in texts))}  # fmt: skip
        named = [text for text in data.values() if isinstance(text, str) and _VIDEO.search(text)]
        if images:
            keys = tuple(images)
            if keys not in keys_of:
                keys_of[keys] = _image_of_controls(keys, controls - (data.keys() - images.keys()))
            meant = keys_of[keys]
            found.say_unused("tasks", [f"data.{key}" for key in data if key not in meant.values()])
            found.say_unused("tasks", task, _OF_TASKS)
            _read_task(found, task, {control: images[key] for control, key in meant.items()})
        elif named or any(str(result.get("type")) in _OF_VIDEOS for result in own):
            videos += named[:1] or [task.get("id")]
            found.left_out.add("tasks of videos, which are not read", task.get("id"))
        else:
            others.append(task.get("id"))
            found.left_out.add("tasks without an image", task.get("id"))
    if videos and not keys_of:
        raise AgreementInputError(
            f"Tasks of Label Studio must be of images, got {len(videos)} of videos ({shown([*videos, *others], 3)}); "
            "labels on frames of videos are read from CVAT's XML for video"
        )
    if others and not keys_of:
        named = sorted({str(key) for data in data_of_tasks for key in data})
        raise AgreementInputError(
            f"Tasks of Label Studio must have the address of an image in their data, got {len(others)} without (their "
            f"data has {shown(map(repr, named), 9) or 'nothing'}); if one of these is the image, say "
            "columns={'image': …}"
        )


def _dicts(value: Any) -> list[Result]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _is_image(text: Any, key: str = "") -> bool:
    """True for the address of an image; under a key that is usual for images also without the ending of one."""
    if not isinstance(text, str) or _OTHER_FILE.search(text):
        return False
    is_named = key.lower() in _IMAGE_KEYS and text.strip() and not re.search(r"\s", text)
    return bool(_IMAGE_FILE.search(text) or is_named)


def _image_of_controls(keys: tuple[str, ...], controls: Collection[str]) -> dict[str, str]:
    """The key of the image that every control (``to_name``) draws on, where tasks have images under these keys."""
    if len(keys) == 1:
        return dict.fromkeys(controls or ("",), keys[0])
    usual = [key for key in keys if key.lower() in _IMAGE_KEYS[:2]]
    found = {}
    for control in controls or ("",):
        fits = [(key == control, len(_words(key) & _words(control)), key) for key in keys]
        best = max(fits)
        if sum(each[:2] == best[:2] for each in fits) == 1 and any(best[:2]):
            found[control] = best[2]
        elif len(usual) == 1 and not any(best[:2]):
            found[control] = usual[0]
    unknown = sorted({*controls} - found.keys())
    if unknown or not found:
        raise AgreementInputError(
            f"Results must say which image of their task they are on, got images in {shown(map(repr, keys))} "
            f"and results on {shown(map(repr, unknown)) or 'none of them'} (`to_name`); say which it is with "
            "columns={'image': …}"
        )
    return found


def _words(name: str) -> set[str]:
    """The words of a name, in which every word for an image is the same."""
    words = re.findall(r"[a-z]+|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return {"image" if word in ("img", "image", "images", "photo", "picture") else word for word in words}


def _read_task(found: AnnotationSet, task: Result, images: dict[str, list[str]]) -> None:
    """Add all annotations and predictions of a task; ``images`` are the addresses of its images by control."""
    names: Names = {}
    is_single = len({address for addresses in images.values() for address in addresses}) == 1
    for control, addresses in images.items():
        for number, address in enumerate(addresses):
            names[control, number] = name = name_in(address)
            others = [name, str(task.get("file_upload") or "") if is_single else ""]
            others += [_UPLOAD_PREFIX.sub("", other.rpartition("/")[2]) for other in others]
            found.other_names[name] = tuple(dict.fromkeys(other for other in others[1:] if other))
    first = next(iter(names.values()))
    # the latest first: only this one counts if an annotator has several
    annotations = [entry for entry in task.get("annotations") or [] if isinstance(entry, dict)]
    annotations.sort(
        key=lambda entry: (str(entry.get("updated_at") or ""), str(entry.get("id") or "").zfill(20)), reverse=True
    )
    done: set[str] = set()
    for annotation in annotations:
        found.say_unused("annotations", annotation, _OF_ANNOTATIONS)
        who = annotation.get("completed_by")
        if isinstance(who, dict):
            who = next((who[key] for key in ("email", "username", "id") if who.get(key)), None)
        for key in ("created_username", "last_created_by", "updated_by"):
            who = who if who is not None else annotation.get(key)
        who = "unknown" if who is None else id_text(who).strip()
        if annotation.get("was_cancelled"):
            found.left_out.add("tasks that their annotator skipped (was_cancelled), which are not assigned", first)
        elif annotation.get("ground_truth"):
            _add(found, GROUND_TRUTH, names, annotation, is_separate=True)
        elif who in done:
            found.left_out.add("annotations of somebody who has a later one of the task", first)
        else:
            done.add(who)
            _add(found, who, names, annotation)
    for prediction in task.get("predictions") or []:
        if isinstance(prediction, dict):  # exports without predictions have their ids, or a number
            model = str(prediction.get("model_version") or "").strip()
            _add(found, f"prediction_{model}" if model else "prediction", names, prediction, is_separate=True)


def _add(found: AnnotationSet, owner: str, names: Names, annotation: Result, *, is_separate: bool = False) -> None:
    """Add the results of an annotation to their images."""
    on_image: dict[str, list[Result]] = {name: [] for name in names.values()}
    any_control, links = next(iter(names))[0], []
    for result in (each for each in annotation.get("result") or [] if isinstance(each, dict)):
        number = result.get("item_index") or 0
        name = names.get((str(result.get("to_name")), number), names.get((any_control, number)))
        if result.get("type") == "relation":
            links.append((result.get("from_id"), result.get("to_id")))
        if name is None:
            found.left_out.add("results on a page that the task does not have", next(iter(names.values())))
        elif result.get("type") != "relation":
            on_image[name].append(result)
    seconds = number_in(annotation.get("lead_time"))
    for name, own in on_image.items():
        if ImageKey(name) in (found.separate if is_separate else found.pages).get(owner, ()):
            found.left_out.add("annotations of somebody who has the image in another task, too", name)
            continue
        page = found.page(owner, name, is_separate=is_separate)
        page.scale = (100.0, 100.0)  # coordinates are in percent
        sizes = (stored_size(result.get("original_width"), result.get("original_height")) for result in own)
        page.size_px = next(filter(None, sizes), None)
        for label in _labels(found, page, name, own, links):
            if seconds is not None and seconds >= 0:  # the annotator's time for all labels of the task
                label.attributes.setdefault("lead_time", seconds)
            found.add_label(page, label)


#: keys of a record of JSON-MIN or CSV, beside data and results
_OF_RECORD = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement", "updated_by")
#: keys of a region in these formats that concern its image
_OF_SIZES = ("original_width", "original_height", "image_rotation")
#: keys of the value of a region, and the type of result that they show
_KEYS_OF_SHAPES = {"radiusX": "ellipse", "points": "polygon", "rle": "brush", "height": "rectangle", "x": "keypoint"}


def _tasks_of_records(records: Sequence[Result]) -> list[Result]:
    """The tasks of JSON-MIN, or of CSV, which have a record for every annotation, with results by control.

    These formats have no types and ids of results: the keys of a value show its type, and a list of texts has the
    choices of single regions, as an answer on the image is a single value.
    """
    tasks: dict[str, Result] = {}
    for record in records:
        values = {str(key): decoded(value) for key, value in record.items() if value is not None and value == value}
        data: Result = {}
        results: list[Result] = []
        names = list(values)
        first = names.index("id") + 1 if "id" in names[1:] else 0  # data come before the id, results after it
        for place, (name, value) in enumerate(values.items()):
            entries = value if isinstance(value, list) else [value]
            is_answer = place >= first and isinstance(value, str | int | float) and not _is_image(value, name)
            if entries and all(isinstance(entry, dict) for entry in entries):
                for entry in entries:
                    sizes = {key: entry[key] for key in _OF_SIZES if key in entry}
                    kind = next((key for key in entry if key.endswith("labels") or key in _ANSWERS), "unknown")
                    shape = next((shape for key, shape in _KEYS_OF_SHAPES.items() if key in entry), "")
                    if kind in ("labels", "unknown"):
                        kind = shape or kind
                    elif kind in _ANSWERS and shape:
                        kind = f"{kind} of regions"
                    results.append({"type": kind, "from_name": name, "value": entry, **sizes})
            elif isinstance(value, list) and not all(map(_is_image, value)):
                results += [{"type": "choices of regions", "from_name": name} for _ in value]
            elif is_answer and name not in _OF_RECORD and not isinstance(value, bool):
                results.append(_answer(name, [value]))
            elif name not in _OF_RECORD:
                data[name] = value
        key = id_text(values.get("id", json.dumps(data, default=str)))
        annotation = {"id": values.get("annotation_id"), "completed_by": values.get("annotator"), "result": results}
        annotation |= {name: values[name] for name in ("updated_at", "lead_time") if name in values}
        task = tasks.setdefault(key, {"id": values.get("id"), "data": data, "annotations": []})
        task["annotations"].append(annotation)
    return list(tasks.values())


def are_records(records: Iterable[Any]) -> bool:
    """True for records of JSON-MIN or CSV: with an annotator, and with regions or an ``annotation_id``."""
    for record in records:
        if isinstance(record, dict) and "annotator" in record:
            values = map(decoded, record.values())
            firsts = (value[0] if isinstance(value, list) and value else value for value in values)
            keys = (str(key) for first in firsts if isinstance(first, dict) for key in first)
            if "annotation_id" in record or any(key.endswith("labels") for key in keys):
                return True
    return False


def decoded(cell: Any) -> Any:
    """The list or mapping that a cell or text spells; anything else as it is."""
    if isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{"):
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(cell)
    return cell


def name_in(address: str) -> str:
    """The path in the address of an image."""
    parts = urlsplit(address)
    local = parse_qs(parts.query).get("d")
    return local[0] if local else unquote(parts.path)


def _labels(
    found: AnnotationSet, page: ImageLabels, name: str, results: list[Result], links: list[tuple[Any, Any]]
) -> Iterator[DrawnLabel]:
    """The labels of an annotation; results with the same id are of one region, and ``links`` connect regions."""
    regions: dict[str, list[Result]] = defaultdict(list)
    for number, result in enumerate(results):
        regions[str(result.get("id") or f"result {number}")].append(result)
    points: dict[str, DrawnLabel] = {}
    drawn: dict[str, DrawnLabel] = {}
    for region, entries in regions.items():
        shapes = [entry for entry in entries if str(entry.get("type")).startswith(_DRAWN)]
        others = [entry for entry in entries if not str(entry.get("type")).startswith(_DRAWN)]
        found.reserve(0, "results of one region", n_points=len(shapes) * len(others))
        for entry in others if not shapes else ():  # beside a shape a result is its class or an attribute
            kind = str(entry.get("type"))
            if kind.endswith(_OF_REGIONS) and "start" not in (entry.get("value") or ()):
                found.not_read(page, f"regions of the type {kind}, which are not read", f"{name}: {region}")
            else:
                question, values = _answers(found, name, entry)
                for value in values:
                    is_text = isinstance(value, str)
                    yield DrawnLabel(value if is_text else None, value=as_number(value), question=question)
        made: list[tuple[str, DrawnLabel, tuple[str, int, int] | None]] = []
        for number, shape in enumerate(shapes):
            with found.reading(page, "regions", f"{name}: {region}"):
                made.append((f"{region} {number}" if number else region, *_drawn(shape, others)))
        further = [entry for entry in others if not str(entry.get("type")).endswith("labels")]
        for key, label, part in made:
            for entry in further:  # choices, ratings and numbers become attributes, named after the control
                question, values = _answers(found, name, entry)
                if values:
                    label.attributes[question] = values[0] if len(values) == 1 else _as_set(values)
            if part is None:
                (points if label.points else drawn)[key] = label
                continue
            owner, position, n_parts = part
            whole, one = drawn.setdefault(owner, label), label.points
            if whole is label:  # the first part makes the label
                found.reserve(0, "parts of labels", n_points=n_parts)
                whole.points = one and [ABSENT] * n_parts
            elif not one:
                whole.rings = [*(whole.rings or []), *(label.rings or [])]
            if one and whole.points:
                whole.points[position : position + 1] = one
    yield from drawn.values()
    links = [*((result.get("id"), result.get("parentID")) for result in results), *links]
    if points:
        yield from _keypoints(links, points, drawn)


def _drawn(shape: Result, others: list[Result]) -> tuple[DrawnLabel, tuple[str, int, int] | None]:
    """The label of a region, whose class may be in another result; of a part also its whole, position and total."""
    kind, value = str(shape["type"]), shape["value"]
    if shape.get("image_rotation"):
        raise NotReadError("regions on images that are shown rotated (image_rotation)")
    classes = next((entry["value"].get(str(entry["type"])) for entry in (shape, *others)
                    if str(entry["type"]).endswith("labels")), None) or []  # fmt: skip
    classes = [classes] if isinstance(classes, str) else classes
    # several classes are a set: their order has no meaning
    label = DrawnLabel(_as_set(classes) or None, confidence=number_in(shape.get("score")))
    if kind.startswith("rectangle"):
        x, y, width, height = (float(value[key]) for key in ("x", "y", "width", "height"))
        if float(value.get("rotation") or 0.0) % 360.0:
            # turned clockwise, in pixels, about its upper left corner
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
    meta = shape.get("meta")
    if not isinstance(meta, dict) or "part_of" not in meta:  # only in files that we wrote
        return label, None
    position, n_parts = int(meta["part"]), int(meta["parts"])
    if not 0 <= position < n_parts <= _MOST_PARTS:
        raise ValueError(f"part {position} of {n_parts}")
    return label, (str(meta["part_of"]), position, n_parts)


def _as_set(values: Iterable[Any]) -> str:
    """Values as one text that does not depend on their order."""
    return ", ".join(sorted({str(value) for value in values}))


def _answers(found: AnnotationSet, name: str, entry: Result) -> tuple[str, list[Any]]:
    """The question that a result answers for the whole image, and its answer: a number, or the names of classes."""
    kind, question = str(entry.get("type")), str(entry.get("from_name") or entry.get("type"))
    value = (entry.get("value") or {}).get(_ANSWERS.get(kind, ""))
    if as_number(value) is not None:
        return question, [value]
    if isinstance(value, list):
        return question, ["/".join(map(str, choice if isinstance(choice, list) else [choice])) for choice in value]
    found.left_out.add(f"results of the type {kind}, which are not read", name)
    return question, []


def _keypoints(
    links: list[tuple[Any, Any]], points: dict[str, DrawnLabel], drawn: dict[str, DrawnLabel]
) -> Iterator[DrawnLabel]:
    """Keypoints that belong together (by their parent, or by relations) as one label each; others one by one."""
    links = [(a, b) for a, b in links if isinstance(a, str) and isinstance(b, str) and (a in points or b in points)]
    number = {region: k for k, region in enumerate(dict.fromkeys(chain(points, *links)))}
    a, b = np.array([[number[region] for region in link] for link in links], np.int64).reshape(-1, 2).T
    _, part = components(a, b, len(number))
    groups: dict[int, list[str]] = defaultdict(list)
    for region, group in zip(number, part.tolist(), strict=True):
        groups[group].append(region)
    for regions in groups.values():
        members = [points[region] for region in regions if region in points]
        parents = sorted(str(drawn[region].label) for region in regions if region in drawn)
        if not parents and len(members) == 1:
            yield members[0]
            continue
        named: dict[str, Point] = {}
        counts: Counter[str] = Counter()
        for member in members:
            for point in member.points or ():
                counts[name := str(member.label)] += 1
                named[name if counts[name] == 1 else f"{name}#{counts[name]}"] = point
        yield DrawnLabel(parents[0] if parents else "keypoints", named_points=named)


def address_of(path: str) -> str:
    """The address of an image; of a local file that at which Label Studio serves it from the root of the disk."""
    if len(urlsplit(path).scheme) > 1:  # one letter is a disk of Windows
        return path
    disk_path = PureWindowsPath(path) if PureWindowsPath(path).drive else PurePosixPath(path)
    return f"/data/local-files/?d={quote(disk_path.as_posix().removeprefix(disk_path.drive).lstrip('/'))}"


def label_studio_tasks(images: Sequence[StoredImage], found: AnnotationSet) -> list[Result]:
    """All labels as tasks with annotations, labels of no annotator as predictions.

    Args:
        images: the images; the sizes of those with regions are known
        found: the labels on them, in shares of the image
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
    """The results of an annotation with the labels of an image."""
    results: list[Result] = []
    for number, label in enumerate(label for label in page.labels if not label.question):
        size = image.size_px or (0, 0)
        own = {"to_name": _IMAGE, "original_width": size[0], "original_height": size[1], "image_rotation": 0}
        score = {} if label.confidence is None else {"score": label.confidence}
        name = f"r{number}"
        drawn = label.scaled(100, 100)
        shapes: list[tuple[str, Result, int]]  # kind, value and position of every region
        if drawn.points is not None:
            shapes = [("keypoint", {"x": x, "y": y, "width": 0.5}, place)
                      for place, (x, y) in enumerate(drawn.points) if x == x and y == y]  # fmt: skip
        elif label.mask is not None:
            shapes = [("brush", {"format": "rle", "rle": brush_runs(label.mask(), *size)}, 0)]
        elif drawn.rings:
            shapes = [("polygon", {"points": [[*point] for point in ring], "closed": label.closed}, place)
                      for place, ring in enumerate(drawn.rings)]  # fmt: skip
        else:
            sides = zip(("x", "y", "width", "height"), drawn.box or (0.0,) * 4, strict=True)
            shapes = [("rectangle", {**dict(sides), "rotation": 0}, 0)]
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
