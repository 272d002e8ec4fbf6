"""Convert labels of files to labels as FiftyOne stores them, and back; which fields an import needs for them."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import bson
import fiftyone as fo
import fiftyone.core.labels as fol
import numpy as np
import shapely
from bson import ObjectId
from fiftyone.core.utils import serialize_numpy_array

from ...agreement.settings.arguments import texts_of
from ...agreement.settings.errors import AgreementInputError, shown
from ...agreement.settings.options import value_name
from ...charts.text.words import counted
from ...metrics.geometry.polygons import polygons_from_rings
from ...metrics.geometry.rasterize import region_pixels
from ...metrics.geometry.regions import Regions
from ...metrics.numeric.arrays import BoolArray, FloatArray
from ..database.fiftyone_private import document_fields, list_of
from ..labels.geometry_readers import LARGEST, is_finite, is_usable_box, lies_outside
from ..labels.kinds import LabelKind
from ..labels.shape_readers import decode_mask, placed_masks, read_mask_file
from ..labels.stored import MOST_BYTES
from .annotation_set import QUESTION, AnnotationSet, DrawnLabel, ImageLabels, Tally
from .file_values import Point, as_number, plain_attributes
from .run_length import MOST_PIXELS, Mask

Document = dict[str, Any]

DETECTIONS, MASKS, POLYLINES, KEYPOINTS, CLASSES = LABEL_TYPES = (
    *("detections", "segmentations", "polylines", "keypoints", "classifications"),
)
#: types of the fields for drawn labels, by label type
_STORED = {DETECTIONS: fol.Detections, MASKS: fol.Detections, POLYLINES: fol.Polylines, KEYPOINTS: fol.Keypoints}
#: label types by type of the field; fields of other types are not exported
LABEL_TYPES_OF: dict[type, str] = {
    **{stored: name for name, stored in _STORED.items() if name != MASKS},
    **dict.fromkeys((fol.Classification, fol.Classifications, fol.Regression), CLASSES),
    **dict.fromkeys((fo.StringField, fo.BooleanField, fo.IntField, fo.FloatField), CLASSES),
}
#: attribute of the labels that names their annotator, where one field holds the labels of all
ANNOTATOR_ATTRIBUTE = "annotator"
#: attributes with the place, class or value of a label; files get all others as attributes
_OWN = (
    *("_id", "_cls", "label", "bounding_box", "mask", "mask_path", "points", "closed", "filled", "confidence", "value"),
    *("index", "instance", "logits"),
)
#: a coordinate may be this much outside of the image by rounding
_ROUNDING = 1e-6
#: not possible in names of fields of FiftyOne and MongoDB: dots, NUL, and halves of surrogate pairs
_NOT_IN_NAMES = re.compile(r"[.\x00\ud800-\udfff]")


class TargetField:
    """What one field of every annotator holds: labels of one label type, or the answers to one question.

    Attributes:
        name: the label type, or the question
        stored: type of the field
        is_answer: whether the field holds answers, which are on whole images
        list_name: name of the list in the field; None where it is one label
        own: names of the attributes that FiftyOne declares for the labels
        template: what FiftyOne stores of every label, without id and tags
        most: number of labels above which they surely do not fit into one document
    """

    def __init__(self, name: str, stored: type[fol.Label], *, is_answer: bool = False) -> None:
        self.name, self.stored, self.is_answer = name, stored, is_answer
        of_list: tuple[str | None, type[fol.Label]] = list_of(stored) or (None, stored)
        self.list_name, label_class = of_list
        self.own = {"_id", "_cls", *document_fields(label_class)}
        self.template: Document = label_class().to_dict()
        self.most = MOST_BYTES // len(bson.encode(self.template))
        del self.template["_id"], self.template["tags"]

    def fits(self, declared: fo.Field) -> bool:
        """True if a field of the dataset can hold the labels."""
        return getattr(declared, "document_type", None) is self.stored

    def value(self, labels: list[Document]) -> Document:
        """The value of the field for these labels, as FiftyOne stores it."""
        return {"_cls": self.stored.__name__, self.list_name: labels} if self.list_name else labels[0]


def no_room(n_labels: int, where: str) -> AgreementInputError:
    """The error for labels of one image that are more than MongoDB holds."""
    labels = counted(n_labels, "label")
    return AgreementInputError(
        f"The labels of an image must fit into the 16 MB that the database holds of it, got {labels} of {where}; leave "
        "some out, or import masks as polygons"
    )


def target_fields(found: AnnotationSet, label_types: str | Iterable[str] | None) -> list[TargetField]:
    """Target fields of an import: for the requested label types, or those of the drawn labels, and for questions.

    Raises:
        AgreementInputError: if a label type is unknown, or no label has any of them
    """
    objects = [label for label in found.labels() if not label.question]
    if label_types is not None:
        types = texts_of("label_types", label_types)
        unknown = [kind for kind in types if kind not in LABEL_TYPES]
        if unknown or not types:
            raise AgreementInputError(
                f"`label_types` must be among {shown(LABEL_TYPES, 9)}, got {shown(map(repr, unknown)) or 'none'}"
            )
    else:  # boxes where there are any, but polygons where some are rotated
        natural = {kind for label in objects for kind in _natural_types(label)}
        if any(label.rotated for label in objects):
            types = [POLYLINES, CLASSES]
        elif DETECTIONS in natural or not natural:
            types = [DETECTIONS, CLASSES]
        else:
            types = [*[kind for kind in LABEL_TYPES if kind in natural][: 1 if found.every_type else None], CLASSES]
    counts_of: dict[str, Counter[type[fol.Label]]] = defaultdict(Counter)  # number of answers by question and type
    several: set[str] = set()
    for _, page in found.every_page() if CLASSES in types else ():
        own = [label for label in page.labels if label.question]
        several |= {question for question, n in Counter(label.question for label in own).items() if n > 1}
        for label in own:
            stored = fol.Classification if label.value is None else fol.Regression
            counts_of[label.question][stored if label.document is None else getattr(fol, label.document["_cls"])] += 1
    for question in found.several if CLASSES in types else ():  # also if nobody chose an answer
        if fol.Regression not in counts_of[question]:
            several.add(question)
    answers = []
    for question, counts in sorted(counts_of.items()):
        if len(counts) > 1 or (question in several and fol.Regression in counts):
            given = shown(f"{n} of type {kind.__name__}" for kind, n in counts.items())
            raise AgreementInputError(
                f"The answers to {question!r} must be one number an image, or classes, got {given}; correct the file"
            )
        stored = fol.Classifications if question in several else next(iter(counts))
        answers.append(TargetField(question, stored, is_answer=True))
    is_drawn = bool(objects) or label_types is not None or not answers
    drawn = [TargetField(kind, _STORED[kind]) for kind in dict.fromkeys(types) if kind != CLASSES and is_drawn]
    if not drawn and not answers:
        raise AgreementInputError(
            f"`label_types` must be found in the files, got {shown(map(repr, types))}, which is not"
        )
    return [*drawn, *answers]


def _natural_types(label: DrawnLabel) -> tuple[str, ...]:
    """The label types that a label has without conversion."""
    if label.document is not None:
        return (label.document_type,)
    drawn = (label.box is not None, label.mask is not None, bool(label.rings), label.points is not None)
    return tuple(itertools.compress(LABEL_TYPES, drawn))


class _HoldsNothing(ValueError):
    """A label without any extent."""


@dataclass(slots=True)
class LabelMaker:
    """Makes the documents of the labels of an import; counts labels converted, left out, and outside of their image."""

    slots: list[TargetField]
    left_out: Tally
    every_type: bool
    clip: bool
    most_pixels: float  #: pixels that the boxes of all masks may have
    converted: Counter[str] = field(default_factory=Counter)  #: labels given as another type than they were drawn
    n_drawn: int = 0  #: labels with a box, shape or points
    n_far_outside: int = 0  #: of these, labels outside of their image
    n_reach_out: int = 0  #: of these, labels that reach out of their image
    has_open_lines: bool = False
    has_single_points: bool = False
    _n_pixels: int = field(init=False, default=0)

    def documents(self, page: ImageLabels, place: str) -> dict[TargetField, list[Document]]:
        """Documents of the labels on an image, for every target field that gets a list, or has an answer.

        Raises:
            AgreementInputError: if the database cannot hold so many; raised before most are made
        """
        made: dict[TargetField, list[Document]] = {slot: [] for slot in self.slots if slot.list_name}
        for label in page.labels:
            for slot in self._chosen(label, place):
                document = label.document
                if document is not None:
                    self._count_box(document.get("bounding_box"))
                else:
                    try:
                        extent = self._extent(slot, label, page)
                    except AgreementInputError:
                        raise  # the masks of the whole file are too large, not this label
                    except (ValueError, TypeError, OverflowError, ZeroDivisionError) as error:
                        is_nothing = isinstance(error, _HoldsNothing)
                        self.left_out.add(
                            f"labels that {'hold nothing' if is_nothing else 'cannot be used'} ({error})", place
                        )
                        page.n_unread += not is_nothing
                        continue
                    given = {"label": label.label, "confidence": label.confidence, "index": label.index}
                    document = {**slot.template, "_id": ObjectId(), "tags": [], **extent}
                    document |= {name: value for name, value in given.items() if value is not None}
                    if slot.name == KEYPOINTS:  # with a confidence for each point
                        n_points = len(extent["points"])
                        self.has_single_points |= n_points == 1
                        document["confidence"] = [] if label.confidence is None else [label.confidence] * n_points
                    for name, value in label.attributes.items():
                        name = _NOT_IN_NAMES.sub("_", name).lstrip("$_") or "attribute"
                        is_taken = name in slot.own or name == ANNOTATOR_ATTRIBUTE
                        document[f"attribute_{name}" if is_taken else name] = value
                made.setdefault(slot, []).append(document)
                if len(made[slot]) > slot.most:
                    raise no_room(len(page.labels), place)
        return made

    def _chosen(self, label: DrawnLabel, place: str) -> list[TargetField]:
        """Fields of a label: those of the label types that it has, else the first to which it can be converted."""
        by_name = {slot.name: slot for slot in self.slots if slot.is_answer == bool(label.question)}
        if label.question:
            if label.question not in by_name:
                self.left_out.add(f"answers to {label.question!r}, which is not among the label types", place)
            return [by_name[label.question]] if label.question in by_name else []
        natural = possible = _natural_types(label)
        if label.document is None and natural != (KEYPOINTS,):
            possible = (DETECTIONS, MASKS, POLYLINES, *natural)
        fitting = [slot for name, slot in by_name.items() if name in (possible if self.every_type else natural)]
        if fitting:
            return fitting
        others = [slot for name, slot in by_name.items() if name in possible]
        if not others:
            self.left_out.add(f"{natural[0]} that cannot be given as {shown(by_name) or 'such a field'}", place)
        elif label.document is None:
            self.converted[f"{natural[0]} given as {others[0].name}"] += 1
        return others[:1]

    def _extent(self, slot: TargetField, label: DrawnLabel, page: ImageLabels) -> Document:
        """The attributes with the place of a label, as shares of the image, or with its value."""
        if slot.is_answer:
            return {} if label.value is None else {"value": label.value}
        if slot.name == KEYPOINTS:
            points = self._shares(label.points or [], page, may_lack=True)
            self._count_box(_bounds([points[~np.isnan(points).any(axis=1)]]))
            return {"points": points.tolist()}
        mask: Mask | None = label.mask() if label.mask is not None else None
        if mask is not None and 0 in mask.shape:
            raise _HoldsNothing("the mask is empty")
        is_filled = slot.name == MASKS and mask is None and label.closed and page.size_px is not None
        rings: list[FloatArray] = []
        if label.rings and (slot.name == POLYLINES or is_filled or (label.box is None and mask is None)):
            rings = [self._shares(ring, page) for ring in label.rings]
        if slot.name == POLYLINES:
            if rings:
                self.has_open_lines |= not label.closed
            elif mask is not None:
                self._reserve(math.prod(mask.shape))
                box = np.array(_box_of(mask, page))
                rings = [box[:2] + ring / mask.shape[::-1] * box[2:] for ring in _outline_rings(mask.pixels())]
            else:
                x, y, width, height = label.box or (0.0,) * 4
                corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
                rings = [self._shares(corners, page)]
            self._count_box(_bounds(rings))
            return {"points": [ring.tolist() for ring in rings], "closed": label.closed, "filled": label.closed}
        if is_filled and rings:  # the pixels of the image whose centres are in the polygon
            size_px, points = np.array(page.size_px), np.concatenate(rings)
            low, high = (np.clip(ends, 0.0, 1.0) * size_px for ends in (points.min(axis=0), points.max(axis=0)))
            self._reserve(math.prod(math.ceil(side) for side in high - low))
            ring = np.repeat(np.arange(len(rings)), [len(entry) for entry in rings])
            polygons = polygons_from_rings(points * size_px, ring, np.zeros(len(rings), np.int64), 1)
            masks = region_pixels(Regions.of_polygons(polygons), size_px[None])
            mask = Mask.of_pixels(masks.crop(0), int(masks.left[0]), int(masks.top[0]))
        if slot.name == MASKS and mask is not None and 0 not in mask.shape:
            self._reserve(math.prod(mask.shape))
            return {"bounding_box": self._box(_box_of(mask, page)), "mask": serialize_numpy_array(mask.pixels())}
        if label.box is not None:
            shares = [side / scale for side, scale in zip(label.box, 2 * _scale(page), strict=True)]
            return {"bounding_box": self._box(shares)}
        return {"bounding_box": self._box(_bounds(rings) if mask is None else _box_of(mask, page))}

    def _shares(self, points: list[Point], page: ImageLabels, *, may_lack: bool = False) -> FloatArray:
        """Points as shares of the image; with ``may_lack`` points that are not labelled are nan."""
        found = np.array(points, np.float64).reshape(-1, 2)
        numbers = found
        if may_lack or (np.abs(found) <= LARGEST).all():
            found = found / _scale(page)
            numbers = found[~np.isnan(found)]
            if not len(numbers):
                raise _HoldsNothing("no point is labelled")
        if not (np.abs(numbers) <= LARGEST).all():
            raise ValueError("coordinates are not finite")
        return np.clip(found, 0.0, 1.0) if self.clip else found

    def _box(self, box: list[float]) -> list[float]:
        if not all(map(is_finite, box)) or min(box[2:]) < 0:
            raise ValueError("the box is not four finite numbers with a width and height of at least 0")
        self._count_box(box)
        if not self.clip:
            return box
        corners = (box[0], box[1], box[0] + box[2], box[1] + box[3])
        left, top, right, bottom = (min(max(value, 0.0), 1.0) for value in corners)
        return [left, top, right - left, bottom - top]

    def _reserve(self, n_pixels: int) -> None:
        """Account for the pixels of a mask before they are made."""
        if n_pixels > MOST_PIXELS:
            raise ValueError(f"the box around a mask has more than {MOST_PIXELS:,} pixels")
        self._n_pixels += n_pixels
        if self._n_pixels > self.most_pixels:
            raise AgreementInputError(
                f"The masks of a file must have at most {self.most_pixels:,.0f} pixels in their boxes, got "
                "more all together; split the file, or leave masks out with `label_types`"
            )

    def _count_box(self, box: list[float] | None) -> None:
        if box is not None:
            self.n_drawn += 1
            self.n_far_outside += lies_outside(box)
            ends = (-box[0], -box[1], box[0] + box[2] - 1, box[1] + box[3] - 1)
            self.n_reach_out += max(ends) > _ROUNDING


def _scale(page: ImageLabels, *, in_pixels: bool = False) -> tuple[float, float]:
    """Width and height of the image in the unit of coordinates, or in pixels."""
    scale = page.size_px if in_pixels else page.scale or page.size_px
    if scale is None:
        raise ValueError("the size of the image is unknown")
    return scale


def _box_of(mask: Mask, page: ImageLabels) -> list[float]:
    """The box of a mask as shares of the image."""
    width, height = _scale(page, in_pixels=True)
    rows, columns = mask.shape
    return [mask.left / width, mask.top / height, columns / width, rows / height]


def _outline_rings(pixels: BoolArray) -> list[FloatArray]:
    """The rings around the pixels of a mask and around its holes, along the edges of pixels."""
    edges = np.diff(np.pad(pixels, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    (row, start), end = np.nonzero(edges == 1), np.nonzero(edges == -1)[1]
    union = shapely.union_all(shapely.box(start, row, end, row + 1))
    # simplified: without the points between others of a line
    rings = shapely.get_rings(shapely.get_parts(shapely.simplify(union, 0)))
    if not len(rings):
        raise _HoldsNothing("the mask is empty")
    return [shapely.get_coordinates(ring)[:-1] for ring in rings]


def _bounds(rings: list[FloatArray]) -> list[float]:
    """The box around points."""
    every = np.concatenate(rings)
    low, high = every.min(axis=0), every.max(axis=0)
    return [*low.tolist(), *(high - low).tolist()]


def drawn_label(
    kind: LabelKind, document: Document, size_px: tuple[int, int] | None, of_run: dict[str, str]
) -> DrawnLabel:
    """A stored label as files have it; coordinates are shares of the image.

    Raises:
        ValueError: if it has no usable place or value
    """
    name, value, confidence = (document.get(key) for key in ("label", "value", "confidence"))
    if isinstance(confidence, list):  # one for each point: files get it if all are equal
        confidence = confidence[0] if confidence and confidence.count(confidence[0]) == len(confidence) else None
    drawn = DrawnLabel(
        None if name is None else value_name(name),
        attributes=plain_attributes(document, _OWN),
        confidence=as_number(confidence),
        document=document,
        of_run=of_run,
    )
    drawn_as = LABEL_TYPES_OF[kind.stored]
    if drawn_as == CLASSES:
        drawn.question = QUESTION
        drawn.value = as_number(value) if kind.is_number else None
        if drawn.value is None and drawn.label is None:
            raise ValueError("no class or number")
    elif drawn_as == DETECTIONS:
        if not is_usable_box(document.get("bounding_box")):
            raise ValueError("no box")
        x, y, width, height = map(float, document["bounding_box"])
        if not (width or height):
            raise ValueError("a box without a width and height holds nothing")
        drawn.box = (x, y, width, height)
        if document.get("mask") is not None or document.get("mask_path"):

            def mask_in_image() -> Mask:
                size, box = np.array([size_px or (0, 0)], np.float64), np.array([document["bounding_box"]], np.float64)
                crops = placed_masks([mask_of(document)], box, size)
                return Mask.of_pixels(crops.crop(0), int(crops.left[0]), int(crops.top[0]))

            drawn.mask = mask_in_image
    else:
        points = document.get("points") or []
        rings = [[(float(x), float(y)) for x, y in ring] for ring in ([points] if drawn_as == KEYPOINTS else points)]
        seen = [point for ring in rings for point in ring if drawn_as == POLYLINES or point[0] == point[0]]
        if not seen or not all(is_finite(number) for point in seen for number in point) or not all(rings):
            raise ValueError("no points")
        if drawn_as == KEYPOINTS:
            drawn.points = rings[0]
        else:
            drawn.rings, drawn.closed = rings, bool(document.get("closed") or document.get("filled"))
    return drawn


def mask_of(document: Document) -> BoolArray:
    """The pixels of the instance mask of a stored label, which has one.

    Raises:
        ValueError: if the mask cannot be read
    """
    stored = document.get("mask")
    return decode_mask(stored) if stored is not None else read_mask_file(str(document["mask_path"]))
