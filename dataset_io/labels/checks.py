"""Check labels with database queries before anything is written; which optional parts labels have."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np
from bson import ObjectId

from ... import names
from ...agreement.settings.config import AgreementConfig
from ...agreement.settings.errors import AgreementInputError, did_you_mean, shown
from ...agreement.settings.options import value_name
from ...agreement.statistics.codes import MISSING, ClassCodes, attribute_error
from ...metrics.numeric.arrays import BoolArray, IntArray
from .geometry_readers import LARGEST, LARGEST_SHARE, is_usable_box, lies_outside
from .source import Source, annotators_found
from .stored import MOST_BYTES, NoRoomError, frame_title, of_each_label

#: BSON types that values of compared attributes must not have
NOT_COMPARED = ["array", "object", "objectId", "date", "timestamp", "binData", "regex", "decimal"]
_HAS_MASK = {"$or": [{"mask": {"$ne": None}}, {"mask_path": {"$ne": None}}]}


@dataclass(frozen=True, slots=True)
class LabelFacts:
    """Optional parts that the labels of a source have."""

    masks: frozenset[int]  #: indices of fields with instance masks to compare
    crowd: bool  #: whether any label is marked as a crowd region


def label_facts(source: Source) -> LabelFacts:
    """Look for masks and crowd regions: one query for all fields, then one per field if any are found."""
    config = source.config
    fields = range(len(source.kinds))
    boxed = [field for field in fields if source.kinds[field].mask_geometry is not None]
    masks = [(field, _HAS_MASK) for field in boxed if config.geometry == "auto"]
    crowd: list[tuple[int, dict[str, Any]]] = []
    if config.crowd_attribute is not None:
        crowd = [(field, _where(config.crowd_attribute, {"$nin": [None, False, 0]})) for field in fields]
    shaped = frozenset(boxed) if config.geometry == "shape" else frozenset[int]()
    if not _any_label(source, [*masks, *crowd]):
        return LabelFacts(shaped, crowd=False)
    found = frozenset(field for field, condition in masks if _any_label(source, [(field, condition)]))
    return LabelFacts(shaped | found, _any_label(source, crowd))


def with_masks(source: Source, facts: LabelFacts) -> Source:
    """The source with readers for masks on the given fields."""
    kinds = [
        dataclasses.replace(kind, geometry=kind.mask_geometry) if field in facts.masks else kind
        for field, kind in enumerate(source.kinds)
    ]
    return dataclasses.replace(source, kinds=tuple(kinds))


def value_of(attribute: str) -> dict[str, Any]:
    """Expression for an attribute of the label ``$$this`` (dynamic or in ``attributes``); None if absent."""
    # a plain "$path.attribute" would skip labels without the attribute and shift the others
    return {"$ifNull": [*(f"$$this.{place}" for place in _places(attribute)), None]}


def _places(attribute: str) -> tuple[str, str]:
    return attribute, f"attributes.{attribute}.value"


def _where(attribute: str, condition: dict[str, Any]) -> dict[str, Any]:
    """Condition on an attribute in either place where FiftyOne may store it."""
    return {"$or": [{place: condition} for place in _places(attribute)]}


def check_attributes(source: Source, n_needed: int) -> None:
    """Refuse attributes that no label of the first fields has, or with values in any field that cannot be compared."""
    fields = range(len(source.kinds))
    for attribute in source.config.attributes:
        if not _any_label(source, [(field, _where(attribute, {"$ne": None})) for field in fields[:n_needed]]):
            raise AgreementInputError(
                f"`attributes` must be found on labels, got {attribute!r}, which no label of "
                f"{shown(source.config.fields[:n_needed])} has"
            )
        if _any_label(source, [(field, _where(attribute, {"$type": NOT_COMPARED})) for field in fields]):
            raise attribute_error(attribute)


def codes_of(codes: ClassCodes, classes: Sequence[Any]) -> IntArray:
    """The codes of the classes of labels; arbitrary for entries that are no labels, which are left out."""
    if set(map(type, classes)) <= {str, NoneType}:
        return np.fromiter(map(codes.__getitem__, classes), np.int64, len(classes))
    found = (codes[name] if is_class(name) else MISSING for name in classes)
    return np.fromiter(found, np.int64, len(classes))


def is_class(value: object) -> bool:
    """True if a value can be the class of a label: a text, a number, true or false, or none."""
    return value is None or isinstance(value, str | int | float)


def are_labels(ids: Sequence[Any], classes: Sequence[Any]) -> BoolArray:
    """True for entries of lists that are labels, with an id and a class, shape ``(N,)``."""
    if set(map(type, ids)) <= {ObjectId} and set(map(type, classes)) <= {str, NoneType}:
        return np.ones(len(ids), np.bool_)
    found = (label_id is not None and is_class(name) for label_id, name in zip(ids, classes, strict=True))
    return np.fromiter(found, np.bool_, len(ids))


def is_crowd(value: object) -> bool:
    """True if the value of a crowd attribute marks a crowd region."""
    return bool(value) and str(value).lower() not in ("0", "false", "no")


def _any_label(source: Source, wanted: Iterable[tuple[int, dict[str, Any]]]) -> bool:
    """True if any label of a field meets the condition for that field."""
    conditions = [{source.label_paths[field]: {"$elemMatch": condition}} for field, condition in wanted]
    return bool(conditions) and source.has_any({"$or": conditions})


#: requirement of every label, for messages
LABEL_REQUIREMENT = "Labels must be documents with an id, and a class that is a text or none"


def check_labels(source: Source) -> None:
    """Refuse labels that cannot be compared.

    Raises:
        AgreementInputError: if most boxes of an annotator lie outside of their images; if a label is none, has no
            annotator (attribute mode), or unusable geometry (``invalid="error"``)
    """
    config, naming = source.config, [source.naming(field) for field in range(len(source.kinds))]
    no_labels: list[str] = []
    without_id: list[str] = []
    unnamed: list[str] = []
    unusable: list[tuple[str, str]] = []
    n_outside, first_outside = Counter[tuple[int, str]](), dict[tuple[int, str], str]()
    for label, sample, field in _labels_where(source):
        geometry, attribute = source.kinds[field].geometry, naming[field]
        if not isinstance(label, dict) or not is_class(label.get("label")):
            no_labels.append(sample)
        elif not isinstance(label.get("_id"), ObjectId):
            without_id.append(sample)
        elif attribute is not None and label.get(attribute) is None:
            unnamed.append(str(label["_id"]))
        elif geometry is not None and _is_compared(label, attribute, config):
            box: Any = label.get("bounding_box")
            if is_usable_box(box) and lies_outside(box):
                key = (field, value_name(None if attribute is None else label.get(attribute)))
                n_outside[key] += 1
                first_outside.setdefault(key, f"{box} on sample {sample}")
            if not geometry.is_usable(label, config):
                unusable.append((sample, geometry.requirement))
    if config.invalid == "skip":  # whatever is wrong with a label, it is left out and counted as it is read
        no_labels, without_id, unnamed, unusable = [], [], [], []
    if no_labels:
        raise unusable_labels_error({LABEL_REQUIREMENT}, len(no_labels), sorted(set(no_labels)))
    if without_id:
        raise AgreementInputError(
            f"Every label must have an id, got {len(without_id)} without, on samples {shown(sorted(set(without_id)))}; "
            'load and save these samples with FiftyOne, or leave these labels out with invalid="skip"'
        )
    if unnamed:
        raise AgreementInputError(
            f"Every label of `{config.fields[0]}` must name its annotator in `{attribute}`, got {len(unnamed)} "
            f'without (label ids {shown(sorted(unnamed))}); correct them, or leave them out with invalid="skip"'
        )
    if unusable:
        samples, requirements = zip(*unusable, strict=True)
        raise unusable_labels_error(set(requirements), len(unusable), sorted(set(samples)))
    for field in sorted({field for field, _ in n_outside}):  # boxes in pixels are outside
        attribute = naming[field]
        owner = {"$literal": None} if attribute is None else {"$ifNull": [f"$$this.{attribute}", None]}
        owners = of_each_label(source.label_paths[field], owner)
        counted = {"$group": {"_id": "$owner", "n": {"$sum": 1}}}
        for row in source.aggregate([{"$project": {"owner": owners}}, {"$unwind": "$owner"}, counted]):
            key = (field, value_name(row["_id"]))
            if 2 * n_outside[key] > row["n"]:
                whose = "" if attribute is None else f" of {row['_id']!r}"
                raise AgreementInputError(
                    f"Boxes must be shares of the image, in [0, 1], got {n_outside[key]} of {row['n']}{whose} in "
                    f"{config.fields[field]!r} outside, such as {first_outside[key]}; boxes in pixels must be divided "
                    "by the width and height of their image"
                )


def _is_compared(label: dict[str, Any], naming: str | None, config: AgreementConfig) -> bool:
    """True if the annotator of a label, named by an attribute, is one of the requested ones."""
    return naming is None or not config.annotators or value_name(label.get(naming)) in config.annotators


def _labels_where(source: Source) -> Iterator[tuple[Any, str, int]]:
    """``(label, sample id, number of the field)`` of all labels of samples that may have an unusable label.

    If unusable labels are left out (``invalid="skip"``), of samples that have a box outside of the image.
    """
    config = source.config
    outside: dict[str, Any] = {
        "$or": [{"bounding_box": {"$gt": LARGEST_SHARE}}, {"bounding_box": {"$lt": -LARGEST_SHARE}}]
    }
    every: list[dict[str, Any]] = [{"_id": {"$not": {"$type": "objectId"}}}, {"label": {"$type": NOT_COMPARED}}]
    conditions: list[dict[str, Any]] = []
    for field, (kind, path) in enumerate(zip(source.kinds, source.label_paths, strict=True)):
        has_boxes = kind.geometry is not None and "bounding_box" in kind.geometry.columns.values()
        wanted = [outside] if has_boxes else []  # any of the four numbers, as :func:`lies_outside`
        if config.invalid == "error":
            wanted += [*every, *([] if kind.geometry is None else [kind.geometry.unusable(config)])]
            wanted += [] if (attribute := source.naming(field)) is None else [{attribute: None}]
            conditions.append({path: {"$elemMatch": {"$not": {"$type": "object"}}}})
            conditions += [] if kind.geometry is None else kind.geometry.unusable_lists(path)
        conditions += [{path: {"$elemMatch": {"$or": wanted}}}] if wanted else []
    if not conditions:
        return
    projection = dict.fromkeys((*source.label_paths, *NAMING), True)
    for document in source.aggregate([{"$match": {"$or": conditions}}, {"$project": projection}]):
        for field, (kind, name) in enumerate(zip(source.kinds, source.fields, strict=True)):
            held = document.get(name)
            labels = held.get(kind.list_name) if isinstance(held, dict) else None
            for label in labels if isinstance(labels, list) else ():
                yield label, document_title(document), field


#: fields that identify a frame in messages, in addition to its id
NAMING = ("_sample_id", "frame_number")


def document_title(document: dict[str, Any]) -> str:
    """Name of a sample or frame in messages."""
    if "_sample_id" not in document:
        return str(document["_id"])
    return frame_title(document["_sample_id"], document["frame_number"])


def check_sizes(source: Source) -> None:
    """Refuse labelled samples without the size of their image."""
    labelled = [{f"{path}.0": {"$exists": True}} for path in source.label_paths]
    prefix = "metadata.frame_" if source.on_frames else "metadata."
    unknown = {"$nor": [{f"{prefix}{name}": {"$gt": 0, "$lte": LARGEST} for name in ("width", "height")}]}
    if source.on_frames:
        videos = source.aggregate([{"$match": {"$or": labelled}}, {"$group": {"_id": "$_sample_id"}}])
        with_labels = {document["_id"] for document in videos}
        found = source.aggregate_samples([{"$match": unknown}, {"$project": {"_id": True}}])
        without = sorted({document["_id"] for document in found} & with_labels)
    else:
        found = source.aggregate([{"$match": {"$or": labelled, **unknown}}, {"$project": {"_id": True}}])
        without = [document["_id"] for document in found]
    if without:
        raise unknown_sizes_error(list(map(str, without)))


def unknown_sizes_error(ids: list[str]) -> AgreementInputError:
    """The error for samples without the size of their image."""
    return AgreementInputError(
        f"Samples must have an image size to compare these labels, got {len(ids)} without (ids {shown(ids)}); run "
        "dataset.compute_metadata() first"
    )


#: bytes of values as they are stored, at least: of the shortest verdict; lists and maps are not on every label
_BYTES = {"float": 8, "int": 4, "bool": 1, "str": 9}
_ID_BYTES = 29
#: smaller samples need no check: with the values of a run, labels take at most 8 times as much
_SMALL = MOST_BYTES // 8


def check_room(source: Source, fields: Mapping[str, names.FieldSpec]) -> None:
    """Refuse samples that would be larger than MongoDB can hold once the values of a run are written.

    A few bytes a label depend on the verdicts: what is found to be too large only when it is written ends the run, too.

    Args:
        fields: what the run writes, by path in the schema

    Raises:
        NoRoomError: naming the first samples
    """
    added: list[Any] = [0]
    for path, spec in fields.items():
        parent, _, name = path.rpartition(".")
        if spec.type not in _BYTES:
            continue
        size = len(name) + 2 + (_ID_BYTES if name.endswith("_id") else _BYTES[spec.type])
        if parent in source.schema_paths:
            labels = f"${source.label_paths[source.schema_paths.index(parent)]}"
            added.append({"$multiply": [size, {"$cond": [{"$isArray": labels}, {"$size": labels}, 1]}]})
        else:
            added[0] += size
    now = {"$bsonSize": "$$ROOT"}
    too_large = {"$and": [{"$gt": [now, _SMALL]}, {"$gt": [{"$add": [now, *added]}, MOST_BYTES]}]}
    stages: list[dict[str, Any]] = [{"$match": {"$expr": too_large}}, {"$project": dict.fromkeys(NAMING, True)}]
    found = {document["_id"]: document_title(document) for document in source.aggregate_stored(stages)}
    if found and source.is_view:
        compared = source.aggregate([{"$match": {"_id": {"$in": list(found)}}}, {"$project": {"_id": True}}])
        found = {document["_id"]: found[document["_id"]] for document in compared}
    if found:
        raise NoRoomError(sorted(found.values()))


def check_files(source: Source) -> None:
    """Refuse labels whose files do not exist."""
    missing: list[tuple[str, str]] = []
    for field, (kind, path) in enumerate(zip(source.kinds, source.label_paths, strict=True)):
        annotator = source.naming(field)
        for attribute in kind.geometry.files if kind.geometry is not None else ():
            stored = attribute.removesuffix("_path")  # if this is set, FiftyOne ignores the file
            named = {path: {"$elemMatch": {attribute: {"$ne": None}, stored: None}}}
            label = {attribute: f"$$this.{attribute}", stored: {"$gt": [f"$$this.{stored}", None]}}
            if annotator is not None:
                label[annotator] = f"$$this.{annotator}"
            labels = {"$map": {"input": f"${path}", "in": label}}
            for document in source.aggregate(
                [{"$match": named}, {"$project": {"labels": labels, **dict.fromkeys(NAMING, True)}}]
            ):
                files = {
                    label[attribute]
                    for label in document["labels"]  # a path that is no text is refused when it is read
                    if isinstance(label.get(attribute), str)
                    and not label[stored]
                    and _is_compared(label, annotator, source.config)
                }
                missing += [(document_title(document), file) for file in sorted(files) if not os.path.isfile(file)]
    if missing:
        samples, absent = zip(*missing, strict=True)
        raise AgreementInputError(
            f"Files of masks must exist, got {len(absent)} that do not ({shown(absent)}), on samples "
            f'{shown(sorted(set(samples)))}; restore them, or leave these labels out with invalid="skip"'
        )


def check_annotators(source: Source) -> None:
    """Refuse an attribute without the requested annotators, or with only one.

    Raises:
        AgreementInputError: if an annotator is not found, or fewer than two are
    """
    attribute, chosen = source.config.annotator_attribute, source.config.annotators
    if attribute is None:
        return
    absent = sorted(set(chosen) - set(source.annotator_values))
    if absent:
        found = annotators_found(source)
        raise AgreementInputError(
            f"`annotators` must be found in `{attribute}`, got {shown(absent)}{did_you_mean(absent[0], found)}; found "
            f"are {shown(found) or 'none'}"
        )
    if len(source.annotators) < (1 if source.config.roles else 2):
        raise AgreementInputError(
            f"Agreement needs at least 2 annotators, got {len(source.annotators)} "
            f"({shown(map(repr, source.annotators))}) in the attribute `{attribute}`"
        )


def unusable_labels_error(requirements: Iterable[str], n: int, sample_ids: list[str]) -> AgreementInputError:
    """The error for ``n`` labels that cannot be compared."""
    return AgreementInputError(
        f"{'. '.join(sorted(requirements))}, got {n} that are not, on samples {shown(sample_ids)}; correct them, or "
        'leave them out with invalid="skip"'
    )
