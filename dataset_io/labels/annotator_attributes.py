"""Attributes of labels that could name annotators; guesses of models, references and lists of assigned annotators."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import fiftyone as fo
from fiftyone.core.collections import SampleCollection

from ...agreement.settings.config import AgreementConfig
from ...agreement.settings.errors import AgreementInputError, did_you_mean, shown
from ...agreement.settings.options import value_name
from ...names import FRAMES_PREFIX
from ..database.fiftyone_private import stored_dataset
from .kinds import LabelKind
from .source import Source, flattened
from .stored import all_fields, gold_of, is_marked, is_of_frames, mark_of, of_each_label

#: attributes of FiftyOne's own labels
_OF_FIFTYONE = {
    *("id", "tags", "attributes", "label", "confidence", "index", "logits"),
    *("bounding_box", "mask", "mask_path", "points", "closed", "filled", "support", "instance"),
}
#: words for annotators, in names of attributes or of fields that list the assigned annotators
_WORDS = {
    *("annotator", "rater", "labeler", "labeller", "worker", "coder", "annotated", "labeled", "labelled"),
    *("reader", "expert", "reviewer", "author", "user", "assigned"),
}
#: how many samples, and how many labels of each, are looked at
_MOST_SAMPLES, _MOST_LABELS = 100, 100
#: an attribute with more values in these labels is not offered: it is a number or a description
_MOST_VALUES = 1_000


def label_attributes(samples: SampleCollection, field: str, kind: LabelKind) -> dict[str, set[str]]:
    """The attributes of the labels of a field that users gave, and the values that the first labels have.

    Attributes need not be declared; those of FiftyOne, and what our runs wrote, are left out.

    Args:
        field: a field with lists of labels
        kind: its label type
    """
    of_frames = is_of_frames(field)
    source = Source(flattened(samples, on_frames=of_frames), AgreementConfig((field,)), (kind,), (), ())
    path = kind.label_path(field)
    declared = {entry.removeprefix(f"{path}."): each for entry, each in all_fields(source.dataset).items()
                if entry.startswith(f"{path}.")}  # fmt: skip
    ours = {name for name, each in declared.items() if is_marked(each)}
    found: dict[str, set[str]] = {name: set() for name in declared if "." not in name}
    inner = source.label_paths[0]
    value = {"$cond": [{"$in": [{"$type": "$of.v"}, ["string", "int", "long", "bool", "double"]]}, "$of.v", None]}
    stages: list[dict[str, Any]] = [
        {"$match": {f"{inner}.0": {"$exists": True}}},
        {"$limit": _MOST_SAMPLES},
        {"$project": {"label": {"$slice": [f"${inner}", _MOST_LABELS]}}},
        {"$unwind": "$label"},
        {"$project": {"of": {"$objectToArray": "$label"}}},
        {"$unwind": "$of"},
        {"$match": {"of.k": {"$nin": sorted(_OF_FIFTYONE)}}},
        {"$group": {"_id": "$of.k", "values": {"$addToSet": value}}},
    ]
    for entry in source.aggregate(stages):
        given = {value_name(value) for value in entry["values"] if value is not None}
        found.setdefault(entry["_id"], set()).update(given)
    left_out = _OF_FIFTYONE | ours
    return {
        name: values
        for name, values in found.items()
        if name not in left_out and not name.startswith("_") and len(values) <= _MOST_VALUES
    }


def likely_annotator(attributes: Mapping[str, set[str]]) -> str | None:
    """The attribute with two or more values whose name has a word for annotators; None if there is none."""
    likely = [name for name, values in attributes.items() if len(values) > 1 and stands_for_annotators(name)]
    return min(likely, key=lambda name: (len(name), name), default=None)


def stands_for_annotators(name: str) -> bool:
    """True if the name of an attribute, or of a field, has a word for annotators: ``rater``, ``worker_id``."""
    words = re.split(r"[\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return bool(_WORDS & {word.removesuffix("s") for word in words})


def lists_of_names(dataset: fo.Dataset) -> list[str]:
    """The fields of samples that could list the assigned annotators: lists and texts of the user, not of our runs."""
    return [
        path
        for path, field in dataset.get_field_schema().items()
        if isinstance(field, fo.ListField | fo.StringField)
        and mark_of(field) is None
        and path not in ("id", "filepath", "tags")
    ]


def likely_assigned(dataset: fo.Dataset, annotators: set[str]) -> str | None:
    """The field whose name has a word for annotators, with any of these on the first samples; None if none is."""
    lists = [name for name in lists_of_names(dataset) if stands_for_annotators(name)]
    named = (name for name in lists if annotators & set(map(value_name, dataset.limit(_MOST_SAMPLES).distinct(name))))
    return next(named, None)


def is_copy_of_ours(samples: SampleCollection, field: str, kind: LabelKind) -> bool:
    """True if a field holds labels that a run wrote, under another name (a clone of the consensus), or decisions."""
    schema = all_fields(stored_dataset(samples))
    of_labels = {f"{kind.label_path(field)}.{name}" for name in ("unit", "votes", "of")}
    return is_marked(schema.get(field)) or of_labels <= set(schema)


def values_of_attribute(samples: SampleCollection, field: str, kind: LabelKind, attribute: str) -> dict[str, str]:
    """The values of an attribute of labels, and the option that each looks like: ``models``, ``reference`` or ``""``.

    A value looks like a model, or a reference, by its name; like a model also if most of its labels have a confidence.

    Args:
        field: a field with lists of labels
        kind: its label type
        attribute: one of :func:`label_attributes`
    """
    on_frames = is_of_frames(field)
    source = Source(flattened(samples, on_frames=on_frames), AgreementConfig((field,)), (kind,), (), ())
    given = {"value": f"$$this.{attribute}", "sure": {"$cond": [{"$gt": ["$$this.confidence", None]}, 1, 0]}}
    stages: list[dict[str, Any]] = [
        {"$project": {"of": of_each_label(source.label_paths[0], given)}},
        {"$unwind": "$of"},
        {"$group": {"_id": "$of.value", "n": {"$sum": 1}, "sure": {"$sum": "$of.sure"}}},
    ]
    found = {value_name(row["_id"]): 2 * row["sure"] > row["n"]
             for row in source.aggregate(stages) if row["_id"] is not None}  # fmt: skip
    return {
        name: "models" if is_sure or _is_called_prediction(name) else "reference" * _is_called_reference(name)
        for name, is_sure in sorted(found.items())
    }


def _is_called_prediction(name: str) -> bool:
    return any(word.startswith("predict") for word in _words_of(name))


def is_of_model(samples: SampleCollection, field: str, kind: LabelKind) -> bool:
    """True if a field looks like predictions: by its name, or because most of its first labels have a confidence."""
    if _is_called_prediction(field):
        return True
    if not kind.is_label or is_marked(all_fields(stored_dataset(samples)).get(field)):
        return False
    path = kind.label_path(field)
    first = stored_dataset(samples).limit(_MOST_SAMPLES)
    n = first.count(path)
    return bool(n) and 2 * first.count(f"{path}.confidence") > n


def is_likely_reference(samples: SampleCollection, field: str) -> bool:
    """True if a field looks like a reference: by its name, or because it holds decisions."""
    name = field.removeprefix(FRAMES_PREFIX)
    is_gold = gold_of(all_fields(stored_dataset(samples)).get(field)) == name
    return is_gold or _is_called_reference(name)


def _is_called_reference(name: str) -> bool:
    return "gold" in _words_of(name) or name.lower() in ("ground_truth", "reference")


def _words_of(field: str) -> list[str]:
    return re.split(r"[^a-z]+", field.removeprefix(FRAMES_PREFIX).lower())


def check_annotator_attribute(source: Source) -> None:
    """Refuse an attribute that no label has."""
    attribute, field = source.config.annotator_attribute, source.config.fields[0]
    path = source.label_paths[0]
    if attribute is None:
        return
    has_attribute = source.has_any({path: {"$elemMatch": {attribute: {"$ne": None}}}})
    if not has_attribute and source.has_any({f"{path}.0": {"$exists": True}}):
        known = label_attributes(source.samples, field, source.kinds[0])
        raise AgreementInputError(
            f"`annotator_attribute` must be an attribute of the labels of {field!r}, got {attribute!r}, which none of "
            f"them has{did_you_mean(attribute, known)}; their attributes are {shown(known, limit=20) or '(none)'}"
        )
