"""Check labels with database queries before anything is written."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bson import ObjectId

from ... import names
from ...agreement.config import AgreementConfig
from ...agreement.errors import AgreementInputError, shown
from ...agreement.options import value_name
from ..run.stored import MOST_BYTES, NoRoomError, frame_title
from .geometry_readers import is_usable_box, lies_outside, outside_boxes
from .source import Source, annotators_found


def check_labels(source: Source) -> None:
    """Refuse labels that cannot be compared.

    Raises:
        AgreementInputError: if a label has no id or no annotator (attribute mode), or unusable geometry
            (``invalid="error"``)
    """
    config, attribute = source.config, source.config.annotator_attribute
    without_id: list[str] = []
    unnamed: list[str] = []
    unusable: list[tuple[str, str]] = []
    outside = _OutsideBoxes(source)
    for label, sample, field in _labels_where(source):
        geometry = source.kinds[field].geometry
        if not isinstance(label.get("_id"), ObjectId):
            without_id.append(sample)
        elif attribute is not None and label.get(attribute) is None:
            unnamed.append(str(label["_id"]))
        elif geometry is not None and _is_compared(label, config):
            outside.count(label, sample, field)
            if config.invalid == "error" and not geometry.is_usable(label, config):
                unusable.append((sample, geometry.requirement))
    if without_id:
        raise AgreementInputError(
            f"Every label must have an id, got {len(without_id)} without, on samples {shown(sorted(set(without_id)))}; "
            "load and save these samples with FiftyOne"
        )
    if unnamed:
        raise AgreementInputError(
            f"Every label of `{config.fields[0]}` must name its annotator in `{attribute}`, got {len(unnamed)} "
            f"without (label ids {shown(sorted(unnamed))})"
        )
    if unusable:
        samples, requirements = zip(*unusable, strict=True)
        raise unusable_labels_error(set(requirements), len(unusable), sorted(set(samples)))
    outside.refuse_most()


def _is_compared(label: dict[str, Any], config: AgreementConfig) -> bool:
    """Condition: the annotator of a label is one of the requested ones."""
    name = config.annotator_attribute
    return name is None or not config.annotators or value_name(label.get(name)) in config.annotators


class _OutsideBoxes:
    """The boxes outside of their images, as those in pixels are, by field and annotator."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._attribute = source.config.annotator_attribute
        self._n: Counter[tuple[int, Any]] = Counter()
        self._first: dict[tuple[int, Any], str] = {}

    def count(self, label: dict[str, Any], sample: str, field: int) -> None:
        """Count a label, if its box is outside."""
        box: Any = label.get("bounding_box")
        if is_usable_box(box) and lies_outside(box):
            key = (field, None if self._attribute is None else label.get(self._attribute))
            self._n[key] += 1
            self._first.setdefault(key, f"{box} on sample {sample}")

    def refuse_most(self) -> None:
        """Refuse the boxes of an annotator of which most are outside.

        Raises:
            AgreementInputError: naming the field, and the annotator in it
        """
        for field in sorted({field for field, _ in self._n}):
            owner = {"$literal": None} if self._attribute is None else {"$ifNull": [f"$$this.{self._attribute}", None]}
            owners = {"$map": {"input": f"${self._source.label_paths[field]}", "in": owner}}
            counted = {"$group": {"_id": "$owner", "n": {"$sum": 1}}}
            for row in self._source.aggregate([{"$project": {"owner": owners}}, {"$unwind": "$owner"}, counted]):
                n = self._n[field, row["_id"]]
                if 2 * n > row["n"]:
                    whose = "" if self._attribute is None else f" of {row['_id']!r}"
                    raise AgreementInputError(
                        f"Boxes must be shares of the image, in [0, 1], got {n} of {row['n']}{whose} in "
                        f"{self._source.config.fields[field]!r} outside, such as {self._first[field, row['_id']]}; "
                        "boxes in pixels must be divided by the width and height of their image"
                    )


def _labels_where(source: Source) -> Iterator[tuple[dict[str, Any], str, int]]:
    """``(label, sample id, number of the field)`` of all labels of samples that may have an unusable label."""
    config = source.config
    every: list[dict[str, Any]] = [{"_id": {"$not": {"$type": "objectId"}}}]
    if config.annotator_attribute is not None:
        every.append({config.annotator_attribute: None})
    conditions = []
    for kind, path in zip(source.kinds, source.label_paths, strict=True):
        has_boxes = kind.geometry is not None and "bounding_box" in kind.geometry.columns.values()
        general = [*every, outside_boxes()] if has_boxes else every
        geometry = [kind.geometry.unusable(config)] if kind.geometry is not None and config.invalid == "error" else []
        conditions.append({path: {"$elemMatch": {"$or": [*general, *geometry]}}})
        if geometry and kind.geometry is not None:
            conditions += kind.geometry.unusable_lists(path)
    wanted = dict.fromkeys((*source.label_paths, *NAMING), True)
    for document in source.aggregate([{"$match": {"$or": conditions}}, {"$project": wanted}]):
        for field, (kind, name) in enumerate(zip(source.kinds, source.fields, strict=True)):
            for label in (document.get(name) or {}).get(kind.list_name) or []:
                yield label, document_title(document), field


#: fields that identify a frame in messages, in addition to its id
NAMING = ("_sample_id", "frame_number")


def document_title(document: dict[str, Any]) -> str:
    """Name of a sample or frame in messages."""
    if "_sample_id" not in document:
        return str(document["_id"])
    return frame_title(document["_sample_id"], document["frame_number"])


def check_sizes(source: Source) -> None:
    """Refuse labelled samples without the size of their image.

    Raises:
        AgreementInputError: naming the first samples
    """
    labelled = [{f"{path}.0": {"$exists": True}} for path in source.label_paths]
    prefix = "metadata.frame_" if source.on_frames else "metadata."
    unknown = {"$nor": [{f"{prefix}width": {"$gt": 0}, f"{prefix}height": {"$gt": 0}}]}
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
        source: the samples
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
    found = {document["_id"]: document_title(document) for document in source.collection.aggregate(stages)}
    if found and source.is_view:
        compared = source.aggregate([{"$match": {"_id": {"$in": list(found)}}}, {"$project": {"_id": True}}])
        found = {document["_id"]: found[document["_id"]] for document in compared}
    if found:
        raise NoRoomError(sorted(found.values()))


def check_files(source: Source) -> None:
    """Refuse labels whose files do not exist.

    Raises:
        AgreementInputError: naming the first samples and files
    """
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
                    for label in document["labels"]
                    if label.get(attribute) is not None and not label[stored] and _is_compared(label, source.config)
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
        raise AgreementInputError(
            f"`annotators` must be found in `{attribute}`, got {shown(absent)}; found are "
            f"{shown(annotators_found(source)) or 'none'}"
        )
    if len(source.annotators) < 2:
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
