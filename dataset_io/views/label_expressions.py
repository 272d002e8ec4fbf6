"""Conditions on the labels of a run as MongoDB expressions.

Values of a sample are ``$name``, values of a frame ``$$frame.name``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...agreement.families.family import TAGS
from ...agreement.settings.options import value_name
from ...agreement.statistics.codes import NO_LABEL
from ..labels.paths import is_of_frames, places
from ..record.run_labels import RunLabels

#: documents, or the paths of values
Expression = dict[str, Any] | str

_FRAMES = "frames."


def document_path(labels: RunLabels, path: str) -> str:
    """A path of the schema as an expression in a document."""
    return f"$$frame.{path.removeprefix(_FRAMES)}" if is_of_frames(path) else f"${path}"


def stored_as(name: str) -> list[Any]:
    """All stored values that are displayed as a text: the text itself, and the number or boolean of that name."""
    values: list[Any] = [None] if name == NO_LABEL else []
    values.append(name)
    if name in ("True", "False"):
        values.append(name == "True")
    try:
        number = float(name)
    except ValueError:
        return values
    if str(number) == name or (number.is_integer() and abs(number) < 2**63 and str(int(number)) == name):
        values.append(int(number) if number.is_integer() else number)
    return values


def class_values(labels: RunLabels, classes: Iterable[str]) -> list[Any]:
    """The stored names of some classes, including aliases."""
    aliases = labels.config.aliases
    meant = [name for name in classes if name not in aliases]
    meant += [alias for alias, name in aliases.items() if name in meant]
    return [value for name in meant for value in stored_as(name)]


def has_class(labels: RunLabels, name: str) -> bool:
    """Whether any label of the fields of a run has a class."""
    values = class_values(labels, [name])
    return any(
        place.collection.find_one({path: {"$in": values}}, {"_id": True}) is not None
        for place in places(labels.dataset, _class_paths(labels))
        for path in place.paths
    )


def classes_of(labels: RunLabels) -> list[str]:
    """The classes of the labels in the fields of a run, sorted."""
    found = [
        value
        for place in places(labels.dataset, _class_paths(labels))
        for path in place.paths
        for value in place.collection.distinct(path)
    ]
    names = {NO_LABEL if value is None else value_name(value) for value in found}
    return sorted({labels.config.aliases.get(name, name) for name in names})


def _class_paths(labels: RunLabels) -> list[str]:
    """Paths of the classes of labels, or of plain values, in the schema."""
    pairs = zip(labels.kinds, labels.label_paths, strict=True)
    return [f"{path}.label" if kind.list_name else kind.value_path(path) for kind, path in pairs]


def class_of(labels: RunLabels, value: Any) -> Any:
    """The class of a stored value, with aliases replaced; `NO_LABEL` without a value."""
    given: Any = {"$ifNull": [value, NO_LABEL]}
    branches = [
        {"case": {"$eq": [value, alias]}, "then": {"$literal": name}} for alias, name in labels.config.aliases.items()
    ]
    return {"$switch": {"branches": branches, "default": given}} if branches else given


def is_in(value: str, values: Sequence[Any]) -> Expression:
    """Whether a value is one of the given values; a missing value counts as None."""
    return {"$in": [{"$ifNull": [value, None]}, {"$literal": list(values)}]}


class LabelLists:
    """The label lists of a run. A unit is an object, or all tags of one name on a sample."""

    def __init__(self, labels: RunLabels) -> None:
        self._labels = labels
        self._key = labels.field_key
        self._attribute = labels.config.annotator_attribute

    @property
    def votes(self) -> str:
        """Attribute with the number of annotators in the unit; labels that the run did not compare have none."""
        return f"{self._key}_votes"

    def unit(self, label: str) -> Any:
        """The unit of a label."""
        if self._labels.family is TAGS:
            return class_of(self._labels, f"{label}.label")
        return f"{label}.{self._key}_id"

    def is_of(self, annotators: Sequence[str], label: str) -> list[Expression]:
        """Conditions that a label is by some of the annotators (attribute mode); none in field mode."""
        if self._attribute is None:
            return []
        return [is_in(f"{label}.{self._attribute}", self._values_of(annotators))]

    def _values_of(self, annotators: Sequence[str]) -> list[Any]:
        """Stored values of the annotator attribute, or of the list of assigned annotators, for some annotators."""
        return [value for name in annotators for value in stored_as(self._labels.value_of(name))]

    def collected(self, annotators: Sequence[str], value: Any, conditions: Sequence[Expression] = ()) -> Expression:
        """The set of ``value`` (an expression of ``$$label``) over the compared labels of some annotators that meet all
        conditions."""
        counted: Expression = {"$gt": [f"$$label.{self.votes}", 0]}
        every = {"$and": [*conditions, counted, *self.is_of(annotators, "$$label")]}
        lists = dict.fromkeys(self.list_of(name) for name in annotators)
        return {
            "$setUnion": [
                {
                    "$map": {
                        "input": {"$filter": {"input": {"$ifNull": [path, []]}, "as": "label", "cond": every}},
                        "as": "label",
                        "in": value,
                    }
                }
                for path in lists
            ]
        }

    def list_of(self, annotator: str) -> str:
        """The list with the labels of an annotator."""
        return document_path(self._labels, self._schema_path(annotator))

    def _schema_path(self, annotator: str) -> str:
        fields, paths = self._labels.config.fields, self._labels.label_paths
        return paths[fields.index(self._labels.field_of(annotator))]
