"""Read and write COCO JSON of several annotators: named on annotations or images, or listed on images."""

from __future__ import annotations

import contextlib
import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import shapely
import shapely.errors

from ...agreement.settings.errors import AgreementInputError, shown
from ...metrics.geometry.polygons import polygons_from_rings
from ...metrics.geometry.rasterize import region_pixels
from ...metrics.geometry.regions import Regions
from ...metrics.numeric.arrays import components
from ..labels.checks import is_crowd
from .annotation_set import OF_RUN, AnnotationSet, DrawnLabel, ImageLabels, NotReadError, StoredImage
from .file_values import ABSENT, Point, id_text, number_in, plain_attributes, stored_size
from .run_length import Mask, coco_mask, column_runs

Entry = dict[str, Any]

#: keys that name the annotator of an annotation, or of an entry of an image
_RATER_KEYS = ("rater_id", "annotator", "annotator_id", "rater")
_RATER_LIST = "rater_list"
#: keys of an annotation that are no attributes
_OWN_KEYS = (
    *("id", "image_id", "category_id", "bbox", "segmentation", "keypoints", "num_keypoints", "score", "area"),
    *("session_id", "attributes", *_RATER_KEYS),
)
#: keys that are used, of every other kind of entry
_USED = {
    "images": ("id", "file_name", "width", "height", _RATER_LIST, *_RATER_KEYS),
    "categories": ("id", "name"),
    "the file": ("images", "annotations", "categories"),
}
#: attribute with the degrees by which CVAT and Datumaro turn a box clockwise about its centre
_ROTATION = "rotation"
#: most parts of a polygon that are compared with each other
_MOST_RINGS = 1000
#: most points of a ring that is repaired because it crosses itself; the share of an area that may be rounding
_MOST_CROSSED, _ROUNDING = 2000, 1e-6
#: larger coordinates are on no image, and areas of them cannot be computed
_FARTHEST = 1e9


def read_coco(found: AnnotationSet, content: Entry) -> None:
    """Add all annotations of a file.

    Raises:
        AgreementInputError: if it does not say who drew what, or its parts do not belong together
    """
    by_id: dict[str, dict[str, Entry]] = {"images": {}, "categories": {}}  # files have numbers or texts as ids
    for key, found_by_id in by_id.items():
        entries = content.get(key)
        if not isinstance(entries, list) or not all(isinstance(entry, dict) and "id" in entry for entry in entries):
            raise AgreementInputError(f"A COCO file must have a list `{key}` of entries with an `id`, got none")
        for entry in entries:
            is_named = key != "images" or isinstance(entry.get("file_name"), str)
            if id_text(entry["id"]) in found_by_id or not is_named:
                raise AgreementInputError(
                    f"Entries of `{key}` must have an `id` of their own (images also a `file_name`), got "
                    f"{entry['id']!r} without"
                )
            found_by_id[id_text(entry["id"])] = entry
    images, categories = by_id.values()
    annotations = [entry for entry in content.get("annotations") or [] if isinstance(entry, dict)]
    classes = {number: str(entry.get("name", number)) for number, entry in categories.items()}
    found.every_type = True
    lost = [entry.get("id") for entry in annotations if id_text(entry.get("image_id")) not in images]
    if lost:
        raise AgreementInputError(
            f"Annotations of a COCO file must refer to its images, got {len(lost)} that do not (ids {shown(lost)})"
        )
    _refuse_corners(annotations)
    looked, drawn_by, has_one_entry = _raters(found, images, annotations)
    pages: dict[tuple[str, str], ImageLabels] = {}  # by annotator and image

    def open_page(name: str, number: str, *, is_new: bool = False) -> None:
        image = images[number]
        page = pages[name, number] = found.page(name, str(image["file_name"]), is_new=is_new)
        size = stored_size(image.get("width"), image.get("height"))
        if page.size_px is None and size is not None:
            page.scale, page.size_px = (number_in(image["width"]) or 0.0, number_in(image["height"]) or 0.0), size
        elif size not in (None, page.size_px):
            raise AgreementInputError(
                f"Entries of one image must have one size, got {page.size_px} and {size} for {image['file_name']!r}"
            )

    for number in images:
        for name in looked[number]:
            open_page(name, number, is_new=has_one_entry)
    n_listed, n_turned = sum(map(len, found.pages.values())), 0
    for entry in annotations:
        number = id_text(entry["image_id"])
        name, place = drawn_by(entry, looked[number]), f"{images[number]['file_name']}: id {entry.get('id')}"
        if (name, number) not in pages:
            open_page(name, number)
        with found.reading(pages[name, number], "annotations", place):
            label = _label(found, entry, classes, images[number])
            if label.box or label.rings or label.mask or label.points:
                n_turned += label.rotated
                found.add_label(pages[name, number], label)
            else:
                found.left_out.add("annotations without a box, polygon, mask or points", place)
    for thing, own in {**by_id, "the file": {"": content}}.items():
        for entry in own.values():
            found.say_unused(thing, entry, _USED[thing])
    if n_turned:
        found.notes.append(f"{n_turned} boxes are turned about their centre by their attribute {_ROTATION!r}")
    n_unlisted = sum(map(len, found.pages.values())) - n_listed
    if n_unlisted:
        found.notes.append(f"{n_unlisted} times somebody drew on an image whose {_RATER_LIST} lacks them; they count "
                           "as assigned to it")  # fmt: skip


def _refuse_corners(annotations: list[Entry]) -> None:
    """Refuse a file whose boxes are corners, as shown by most polygons and areas that can show it."""
    n_corners = n_sizes = 0
    for entry in annotations:
        with contextlib.suppress(KeyError, TypeError, ValueError, ZeroDivisionError):
            x, y, a, b = map(float, entry["bbox"])
            ring, area = entry.get("segmentation"), number_in(entry.get("area"))
            if isinstance(ring, list) and len(ring) == 1 and isinstance(ring[0], list) and len(ring[0]) >= 6:
                told = max(map(float, ring[0][::2])) - x, max(map(float, ring[0][1::2])) - y
            elif not ring and area:
                told = (a - x, b - y) if abs((a - x) * (b - y) - area) < 1e-3 * area else (a, area / a)
            else:
                continue
            by_sizes, by_corners = (max(abs(told[0] - w), abs(told[1] - h)) for w, h in ((a, b), (a - x, b - y)))
            n_corners += by_corners <= 1.0 < by_sizes
            n_sizes += by_sizes <= 1.0
    if n_corners > n_sizes:
        raise AgreementInputError(
            f"A `bbox` of COCO must be x, y, width and height, got corners (x, y, x, y) on {n_corners} of "
            f"{len(annotations)} annotations, as their polygons or areas tell; correct the file"
        )


def _raters(
    found: AnnotationSet, images: dict[str, Entry], annotations: list[Entry]
) -> tuple[dict[str, list[str]], Callable[[Entry, list[str]], str], bool]:
    """Annotators by image; a function for the annotator of an annotation; whether to refuse repeated images."""
    image_key, key = (next((name for name in _RATER_KEYS if any(name in entry for entry in entries)), None)
                      for entries in (images.values(), annotations))  # fmt: skip
    has_lists = any(_RATER_LIST in image for image in images.values())
    if image_key is None and key is None and not has_lists:
        if found.annotator is None and not found.is_of_folder:
            raise AgreementInputError(
                f"A COCO file of several annotators must name them, by {_RATER_KEYS[0]!r} on annotations, "
                f"{_RATER_LIST!r} or {_RATER_KEYS[1]!r} on images, got a file without; give one file for each "
                'annotator: {"alice": path, "bob": path}'
            )
        return {number: [found.owner] for number in images}, lambda entry, looked: found.owner, True
    listed: dict[str, list[tuple[str, str]]] = {}  # persons and their sessions by image
    for number, image in images.items():
        raters = image.get(_RATER_LIST) or ()
        by_person = raters.items() if isinstance(raters, dict) else ((id_text(person), "") for person in raters)
        listed[number] = [(str(person), id_text(session)) for person, own in by_person
                          for session in (own if isinstance(own, list) else [own])]  # fmt: skip
    sessions: dict[str, set[str]] = defaultdict(set)
    drawn = [(id_text(entry[key]), id_text(entry.get("session_id") or "")) for entry in annotations if key in entry]
    for person, session in chain(*listed.values(), drawn):
        sessions[person].add(session)
    has_sessions = any(len(own) > 1 for own in sessions.values())
    called = {(person, session): f"{person}_{session}" if has_sessions and session else person
              for person, own in sessions.items() for session in own}  # fmt: skip
    if has_sessions:
        found.persons = {name: person for (person, _), name in called.items()}
    if has_lists:
        looked = {number: [called[each] for each in own] for number, own in listed.items()}
    elif image_key is None:
        looked = dict.fromkeys(images, sorted({*called.values()}))
        found.notes.append(
            f"The images have no {_RATER_LIST}: everybody is taken to have looked at every image of the file"
        )
    else:
        unnamed = next((image["id"] for image in images.values() if image.get(image_key) is None), None)
        if unnamed is not None:
            raise AgreementInputError(
                f"Every image must name its annotator in {image_key!r}, got id {unnamed!r} without"
            )
        looked = {number: [id_text(image[image_key])] for number, image in images.items()}

    def drawn_by(entry: Entry, looked: list[str]) -> str:
        if key is None and len(looked) == 1:
            return looked[0]
        if key is None or entry.get(key) is None:
            raise AgreementInputError(
                f"Every annotation must name its annotator in {key or _RATER_KEYS[0]!r}, got id {entry.get('id')!r} "
                "without"
            )
        return called[id_text(entry[key]), id_text(entry.get("session_id") or "")]

    return looked, drawn_by, has_lists or image_key is not None


def _label(found: AnnotationSet, entry: Entry, classes: dict[str, str], image: Entry) -> DrawnLabel:
    """The label of an annotation, which may have no geometry."""
    category = entry.get("category_id")
    if category is not None and id_text(category) not in classes:
        raise AgreementInputError(
            f"Annotations of a COCO file must refer to its categories, got category_id {category!r} (annotation "
            f"{entry.get('id')!r})"
        )
    said = entry.get("attributes")
    extra: Entry = said if isinstance(said, dict) else {}
    own = (*_OWN_KEYS, *OF_RUN) if OF_RUN[0] in entry else _OWN_KEYS
    box, shape, points = entry.get("bbox"), entry.get("segmentation"), entry.get("keypoints")
    if isinstance(shape, dict) and "rings" in shape:  # a polygon with holes that we exported
        shape = shape["rings"]
    if isinstance(said, dict) and entry.get("iscrowd") == 0:
        own = (*own, "iscrowd")  # a field of the format; an attribute stands among the attributes
    attributes = plain_attributes(entry, own) | plain_attributes(extra, ("id", *((_ROTATION,) if box else ())))
    strange = (name for name, value in (*entry.items(), *extra.items()) if value not in (None, [], {}))
    found.say_unused("annotations", strange, {*own, *attributes, "id", _ROTATION})
    name = None if category is None else classes[id_text(category)]
    label = DrawnLabel(name or None, attributes=attributes, confidence=number_in(entry.get("score")))
    if box:
        x, y, width, height = map(float, box)
        label.box = (x, y, width, height)
        degrees = (number_in(extra.get(_ROTATION)) or 0.0) % 360.0
        if degrees and not shape:
            label.set_corners(x, y, x + width, y + height, degrees)
    if isinstance(shape, list) and shape:
        if any(len(ring) >= 6 and len(ring) % 2 for ring in shape):
            raise ValueError("a polygon must be pairs of coordinates, got an odd number of them")
        rings = [[(float(x), float(y)) for x, y in zip(ring[::2], ring[1::2], strict=True)]
                 for ring in shape if len(ring) >= 6]  # fmt: skip
        if not rings and any(shape) and label.box is None:
            raise NotReadError("lines and points among polygons")
        label.rings = joined_rings(rings) or None
    elif isinstance(shape, dict):
        height_px, width_px = shape.get("size") or (image["height"], image["width"])
        size = stored_size(image.get("width"), image.get("height"))
        if size not in (None, (int(width_px), int(height_px))):
            raise ValueError("the mask has another size than the image")
        label.mask = functools.partial(coco_mask, shape["counts"], int(width_px), int(height_px))
    if points and any(points[2::3]):
        x_y_v = [points[k : k + 3] for k in range(0, len(points), 3)]
        label.points = [(float(x), float(y)) if v else ABSENT for x, y, v in x_y_v]
    return label


def joined_rings(rings: list[list[Point]], *, may_be_holes: bool = True) -> list[list[Point]]:
    """The rings of a polygon of several parts; rings that overlap partly, or are equal, become one.

    A ring within another one stays, and so becomes a hole, unless no ring may be one.

    Raises:
        ValueError: if there are too many parts that cover each other
    """
    if len(rings) < 2 or not all(abs(value) < _FARTHEST for ring in rings for point in ring for value in point):
        return rings
    try:
        shapes = np.array([shapely.Polygon(ring) for ring in rings])
        crossed = ~shapely.is_valid(shapes)
        if any(len(rings[k]) > _MOST_CROSSED for k in np.flatnonzero(crossed)):
            return rings
        shapes[crossed] = shapely.make_valid(shapes[crossed])
        if len(rings) > _MOST_RINGS:
            area = shapely.area(shapes).sum()
            if area - shapely.union_all(shapes).area > _ROUNDING * area:
                raise ValueError(f"more than {_MOST_RINGS:,} parts that cover each other")
            return rings
        tree = shapely.STRtree(shapes)
        in_part = tree.query(shapes, "overlaps" if may_be_holes else "intersects")
        outer, inner = tree.query(shapes, "covers")
        same = np.isin(outer * len(rings) + inner, inner * len(rings) + outer)
        a, b = np.hstack([in_part, (outer[same], inner[same])])
        n_parts, part = components(a, b, len(rings))
        groups = [np.flatnonzero(part == k) for k in range(n_parts)]
        joined = [shapely.union_all(shapes[group]) for group in groups if len(group) > 1]
    except shapely.errors.GEOSException as error:
        raise ValueError("coordinates that no polygon has") from error
    return [rings[group[0]] for group in groups if len(group) == 1] + _rings_of(joined)


def _rings_of(shapes: Iterable[Any]) -> list[list[Point]]:
    """The rings of polygons of one or several parts, without the lines that repaired ones may have."""
    return [[(x, y) for x, y in ring.coords[:-1]] for ring in shapely.get_rings(shapely.get_parts(list(shapes)))]


def not_in_coco(label: DrawnLabel) -> str:
    """Reason why COCO cannot hold a label; empty if it can."""
    if label.question:
        return "classes and numbers of whole images, which COCO does not have"
    if not label.closed:
        return "open lines, which COCO does not have"
    if any(len(ring) < 3 for ring in label.rings or ()):
        return "polygons with fewer than 3 points, which COCO does not have"
    return ""


def coco_content(images: Sequence[StoredImage], found: AnnotationSet) -> Entry:
    """All annotations as COCO JSON: ``rater_list`` on images, ``rater_id`` on annotations.

    Args:
        images: the images, whose sizes are known
        found: the labels on them, in shares of the image; only labels that COCO can hold
    """
    # a label without a class is of a category without a name, as readers need one
    names = sorted({str(label.label or "") for label in found.labels()})
    classes = {name: number for number, name in enumerate(names, 1)}
    entries: dict[str, Entry] = {}
    for number, image in enumerate(images, 1):
        width, height = image.size_px or (1, 1)
        own = {"id": number, "file_name": image.name, "width": width, "height": height}
        entries[image.path] = {**own, "rater_list": [], **image.numbers}
    annotations: list[Entry] = []
    for rater, pages in found.pages.items():
        for key, page in pages.items():
            entry = entries[key.name]
            entry["rater_list"].append(rater)
            for label in page.labels:
                said: Entry = {"id": len(annotations) + 1, "image_id": entry["id"], "rater_id": rater}
                said |= {"category_id": classes[str(label.label or "")]}
                said |= _extent(label, entry["width"], entry["height"])
                said |= {} if label.confidence is None else {"score": label.confidence}
                said |= {"iscrowd": int(is_crowd(label.attributes.get("iscrowd"))), "attributes": label.attributes}
                annotations.append(said | label.of_run)
    categories = [{"id": number, "name": name} for name, number in classes.items()]
    return {"images": list(entries.values()), "annotations": annotations, "categories": categories}


def _extent(label: DrawnLabel, width: int, height: int) -> Entry:
    """Geometry of a label, in pixels."""
    drawn = label.scaled(width, height)
    rings, mask, region = drawn.rings or [], label.mask() if label.mask is not None else None, None
    seen = [point for point in drawn.points or () if point[0] == point[0]]
    if rings:  # by the even-odd rule, as holes are rings
        number = np.repeat(np.arange(len(rings)), [len(ring) for ring in rings])
        region = polygons_from_rings(np.concatenate(rings), number, np.zeros(len(rings), np.int64), 1)
        if joined_rings(rings) != rings:  # COCO would take their union
            rings = _rings_of(region.geometry)
        if len(rings) > 1 and shapely.get_num_interior_rings(shapely.get_parts(region.geometry)).any():
            # in COCO only masks have holes
            pixels = region_pixels(Regions.of_polygons(region), np.array([[width, height]]))
            mask = Mask.of_pixels(pixels.crop(0), int(pixels.left[0]), int(pixels.top[0]))
    if drawn.box is None:
        x_s, y_s = zip(*(seen or chain.from_iterable(rings)), strict=True)
        drawn.box = (min(x_s), min(y_s), max(x_s) - min(x_s), max(y_s) - min(y_s))
    area = float(mask.pixels().sum()) if mask is not None else drawn.box[2] * drawn.box[3]
    extent: Entry = {"bbox": list(drawn.box), "area": area if region is None else float(region.area[0])}
    flat = [[value for point in ring for value in point] for ring in rings]
    if mask is not None:
        extent["segmentation"] = {"size": [height, width], "counts": column_runs(mask, width, height)}
        extent["segmentation"] |= {"rings": flat} if flat else {}
    elif flat:
        extent["segmentation"] = flat
    if drawn.points:
        extent["keypoints"] = [value for x, y in drawn.points for value in ((x, y, 2) if x == x else (0, 0, 0))]
        extent["num_keypoints"] = len(seen)
    return extent
