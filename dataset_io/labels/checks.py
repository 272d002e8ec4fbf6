"""Check labels with database queries before anything is written."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import NoneType
from typing import Any

from bson import ObjectId

from ... import names
from ...agreement.settings.config import AgreementConfig
from ...agreement.settings.errors import AgreementInputError, did_you_mean, shown
from ...agreement.settings.options import value_name
from .geometry_readers import LARGEST, is_usable_box, lies_outside, outside_boxes
from .label_facts import NOT_COMPARED, is_class
from .source import Source, annotators_found
from .stored import MOST_BYTES, NoRoomError, frame_title, of_each_label

#: requirement of every label, for messages
LABEL_REQUIREMENT = "Labels must be documents with an id, and a class that is a text or none"


def check_labels(source: Source) -> None:
    """Refuse labels that cannot be compared.

    Raises:
        AgreementInputError: if most boxes of an annotator lie outside of their images; if a label is damaged, has no
            annotator (attribute mode), or unusable geometry (``invalid="error"``)
    """
    config, attribute = source.config, source.config.annotator_attribute
    damaged: list[str] = []
    without_id: list[str] = []
    unnamed: list[str] = []
    unusable: list[tuple[str, str]] = []
    outside = _OutsideBoxes(source)
    for label, sample, field in _labels_where(source):
        geometry = source.kinds[field].geometry
        if not isinstance(label, dict) or not is_class(label.get("label")):
            damaged.append(sample)
        elif not isinstance(label.get("_id"), ObjectId):
            without_id.append(sample)
        elif attribute is not None and label.get(attribute) is None:
            unnamed.append(str(label["_id"]))
        elif geometry is not None and _is_compared(label, config):
            outside.count(label, sample, field)
            if not geometry.is_usable(label, config):
                unusable.append((sample, geometry.requirement))
    if config.invalid == "skip":
        outside.refuse_most()
        return  # whatever else is wrong with a label, it is left out and counted as it is read
    if damaged:
        raise unusable_labels_error({LABEL_REQUIREMENT}, len(damaged), sorted(set(damaged)))
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
    outside.refuse_most()


def count_damaged_fields(source: Source) -> int:
    """The number of label fields of samples that hold something else than labels, such as a text."""
    columns = zip(source.kinds, source.fields, source.label_paths, strict=True)
    labels = [(kind, field, path) for kind, field, path in columns if kind.is_label]
    conditions: list[dict[str, Any]] = []
    for kind, field, path in labels:
        conditions += [{field: {"$nin": [None], "$not": {"$type": "object"}}}, {field: {"$type": "array"}}]
        if kind.list_name is not None:
            conditions.append({path: {"$nin": [None, []], "$not": {"$type": "array"}}})
    if not conditions:
        return 0
    wanted = dict.fromkeys(("_id", *source.fields, *NAMING), True)
    found = [
        document_title(document)
        for document in source.aggregate([{"$match": {"$or": conditions}}, {"$project": wanted}])
        for kind, field, _ in labels
        if not _holds_labels(document.get(field), kind.list_name)
    ]
    if found and source.config.invalid == "error":
        raise unusable_labels_error({"Label fields must hold labels"}, len(found), sorted(set(found)))
    return len(found)


def _holds_labels(value: Any, list_name: str | None) -> bool:
    """True for a document, with a list if its labels stand in one; or for nothing."""
    if not isinstance(value, dict):
        return value is None
    return list_name is None or isinstance(value.get(list_name), list | NoneType)


def _is_compared(label: dict[str, Any], config: AgreementConfig) -> bool:
    """Condition: the annotator of a label is one of the requested ones."""
    name = config.annotator_attribute
    return name is None or not config.annotators or value_name(label.get(name)) in config.annotators


class _OutsideBoxes:
    """The boxes outside of their images, as those in pixels are, by field and annotator."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._attribute = source.config.annotator_attribute
        self._n: Counter[tuple[int, str]] = Counter()
        self._first: dict[tuple[int, str], str] = {}

    def count(self, label: dict[str, Any], sample: str, field: int) -> None:
        """Count a label, if its box is outside."""
        box: Any = label.get("bounding_box")
        if is_usable_box(box) and lies_outside(box):
            key = (field, value_name(None if self._attribute is None else label.get(self._attribute)))
            self._n[key] += 1
            self._first.setdefault(key, f"{box} on sample {sample}")

    def refuse_most(self) -> None:
        """Refuse the boxes of an annotator of which most are outside."""
        for field in sorted({field for field, _ in self._n}):
            owner = {"$literal": None} if self._attribute is None else {"$ifNull": [f"$$this.{self._attribute}", None]}
            owners = of_each_label(self._source.label_paths[field], owner)
            counted = {"$group": {"_id": "$owner", "n": {"$sum": 1}}}
            for row in self._source.aggregate([{"$project": {"owner": owners}}, {"$unwind": "$owner"}, counted]):
                key = (field, value_name(row["_id"]))
                n = self._n[key]
                if 2 * n > row["n"]:
                    whose = "" if self._attribute is None else f" of {row['_id']!r}"
                    raise AgreementInputError(
                        f"Boxes must be shares of the image, in [0, 1], got {n} of {row['n']}{whose} in "
                        f"{self._source.config.fields[field]!r} outside, such as {self._first[key]}; "
                        "boxes in pixels must be divided by the width and height of their image"
                    )


def _labels_where(source: Source) -> Iterator[tuple[Any, str, int]]:
    """``(label, sample id, number of the field)`` of all labels of samples that may have an unusable label.

    Where these are left out, of samples that have a box outside of the image.
    """
    config = source.config
    every: list[dict[str, Any]] = [{"_id": {"$not": {"$type": "objectId"}}}, {"label": {"$type": NOT_COMPARED}}]
    if config.annotator_attribute is not None:
        every.append({config.annotator_attribute: None})
    conditions: list[dict[str, Any]] = []
    for kind, path in zip(source.kinds, source.label_paths, strict=True):
        has_boxes = kind.geometry is not None and "bounding_box" in kind.geometry.columns.values()
        wanted = [outside_boxes()] if has_boxes else []
        if config.invalid == "error":
            wanted += [*every, *([] if kind.geometry is None else [kind.geometry.unusable(config)])]
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


#: bytes of values as they are stored, at most; those of lists and maps are not known before
_BYTES = {"float": 8, "int": 8, "bool": 1, "str": 32, "list": 0, "heatmap": 0}
#: smaller samples need not be looked at: values take at most so many times what the labels take
_SMALL = MOST_BYTES // 8


def check_room(source: Source, fields: Mapping[str, names.FieldSpec]) -> None:
    """Refuse samples that would be larger than MongoDB can hold once the values of a run are written.

    Args:
        fields: what the run writes, by path in the schema

    Raises:
        NoRoomError: naming the first samples
    """
    added: list[Any] = [0]
    for path, spec in fields.items():
        parent, _, name = path.rpartition(".")
        size = len(name) + 2 + _BYTES[spec.type]
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
    annotator = source.config.annotator_attribute
    for kind, path in zip(source.kinds, source.label_paths, strict=True):
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
                    for label in document["labels"]  # what is no text cannot be read, and is refused then
                    if isinstance(label.get(attribute), str)
                    and not label[stored]
                    and _is_compared(label, source.config)
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
    """The error for ``n`` labels whose geometry cannot be compared."""
    return AgreementInputError(
        f"{'. '.join(sorted(requirements))}, got {n} that are not, on samples {shown(sample_ids)}; correct them, or "
        'leave them out with invalid="skip"'
    )
