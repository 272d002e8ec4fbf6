"""Which labels of every field a view shows, for lists of labels and for one label per sample or frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import Any

import fiftyone as fo
from fiftyone import ViewField as F
from fiftyone.core.expressions import ViewExpression
from fiftyone.core.view import DatasetView

from ...agreement.families.family import TAGS
from ...agreement.ratings.compute import CLASS_CONFLICT
from ...agreement.ratings.compute import VERDICTS as RATING_VERDICTS
from ...names import DIFFERING_PAIRS, DIFFERS_FROM, FRAMES_PREFIX, MISSED_BY, REFERENCE, pair_name
from ..database.fiftyone_private import with_stages
from ..families.ratings import LARGEST, LARGEST_INTEGER
from ..labels.checks import NOT_COMPARED
from ..record.run_labels import RunLabels
from .from_records import are_named, ids_of_labels_met_by, ids_of_labels_naming, ids_of_samples_differing
from .view_request import ViewRequest, class_values, contains_any, in_range, is_one_of, stored_as

#: the verdict of all labels of an object with two classes
_CONFLICT = "class_conflict"
#: with more label fields, conditions about the other labels of an object are ids: an expression names all fields for
#: every field
MOST_FIELDS = 8


def with_labels(view: DatasetView, labels: RunLabels, request: ViewRequest) -> DatasetView:
    """Keep the requested labels, and the samples with such labels."""
    conditions = _LabelConditions(labels, request)
    possible = [*_on_samples(labels, request)]
    if possible:
        view = view.match({"$and": possible})
    shown = dict.fromkeys(map(labels.field_of, request.shown(labels.annotators)))
    alone = len(shown) == 1
    view = with_stages(view, [fo.FilterLabels(each, conditions.on_field(each), only_matches=alone) for each in shown])
    if alone:
        return view
    paths = dict(zip(labels.config.fields, labels.label_paths, strict=True))
    return view.match({"$or": [{f"{paths[field]}.0": {"$exists": True}} for field in shown]})


def _on_samples(labels: RunLabels, request: ViewRequest) -> Iterator[dict[str, Any]]:
    """Queries that samples with such labels fulfil: the database answers them much faster than what is asked of each
    label."""
    classes = (request.classes, request.confusion[:1], request.confusion[1:])
    wanted = [("label", class_values(labels, each)) for each in classes]
    for attribute, values in (*wanted, (labels.field_key, list(request.verdicts))):
        if values:
            yield {"$or": [{f"{path}.{attribute}": {"$in": values}} for path in labels.label_paths]}


def missed_of_reference(view: DatasetView, labels: RunLabels, request: ViewRequest) -> DatasetView:
    """The labels of the reference that annotators did not draw; those of any of the requested annotators."""
    reference = str(labels.config.reference)
    field = reference if view.has_field(reference) else labels.config.fields[0]
    missed = F(f"{labels.field_key}{MISSED_BY}")
    named = contains_any(missed, request.annotators) if request.annotators else missed.length() > 0
    conditions = [missed.exists(), named]
    if field == labels.config.fields[0]:
        conditions.append(is_one_of(F(labels.config.annotator_attribute), stored_as(reference)))
    if request.classes:
        conditions.append(is_one_of(F("label"), class_values(labels, request.classes)))
    others = [name for name in labels.config.fields if name != field]
    return view.filter_labels(field, F.all(conditions)).exclude_fields(others)


class _LabelConditions:
    """Conditions on the labels of a field; a unit is an object, or all tags of one name on a sample."""

    def __init__(self, labels: RunLabels, request: ViewRequest) -> None:
        self._labels = labels
        self._request = request
        self._key = labels.field_key
        self._attribute = labels.config.annotator_attribute

    def on_field(self, field: str) -> ViewExpression:
        """Condition for a label of a field to be shown."""
        request, shown = self._request, self._request.shown(self._labels.annotators)
        in_field = [name for name in shown if self._labels.field_of(name) == field]
        parts = [*self._label_conditions()]
        if self._attribute is not None and len(in_field) < len(self._labels.annotators):
            parts.append(self._is_by(in_field))
        if request.classes:  # of the unit
            own = self._has_class(*request.classes)
            is_in_conflict = (F(self._key) == _CONFLICT) & self._unit_has(field, request.classes)
            parts.append(own if self._labels.family is TAGS else own | is_in_conflict)
        if request.confusion:
            parts.append(F.any([*self._are_confused(field)]))
        if request.missed_by is not None:
            parts.append(self._names(field, [MISSED_BY], [request.missed_by]))
        if request.is_pair:  # a label never names its own annotator: that of one of the two names the other
            relations = [name for name in (MISSED_BY, DIFFERS_FROM) if name in self._labels.kinds[0].fields.label]
            others = [name for name in request.annotators if self._attribute is not None or name not in in_field]
            parts.append(self._names(field, relations, others))
        return F.all(parts)

    def _label_conditions(self) -> Iterator[ViewExpression]:
        """Conditions on a label alone: its verdict, and the votes for its unit."""
        request = self._request
        if request.verdicts:
            yield is_one_of(F(self._key), request.verdicts)
        if request.reference:
            yield is_one_of(F(f"{self._key}{REFERENCE}"), request.reference)
        least, most = request.votes or (None, None)
        if request.missed_by is not None:
            least = max(least or 2, 2)
        elif request.votes or not request.verdicts or request.is_pair or request.confusion:
            least = least or 1  # labels that the run did not count have no votes
        yield from in_range(F(f"{self._key}_votes"), least, most)
        yield from in_range(F(f"{self._key}_of"), *(request.assigned or (None, None)))

    def _is_by(self, annotators: Sequence[str]) -> ViewExpression:
        """Condition that a label names one of some annotators."""
        return is_one_of(
            F(self._attribute), [each for name in annotators for each in stored_as(self._labels.value_of(name))]
        )

    def _has_class(self, *classes: str) -> ViewExpression:
        return is_one_of(F("label"), class_values(self._labels, classes))

    def _are_confused(self, field: str) -> Iterator[ViewExpression]:
        """Condition that a label has one of the two classes, and its unit the other one."""
        first, second = self._request.confusion
        asked, in_conflict = self._request.annotators, F(self._key) == _CONFLICT
        for own, other, by, of in ((first, second, asked[:1], asked[1:]), (second, first, asked[1:], asked[:1])):
            if self._request.is_pair and self._attribute is None and self._labels.field_of(by[0]) != field:
                continue
            if not self._request.is_pair and asked and own != first:
                continue  # one annotator gave the first class
            parts = [in_conflict, self._has_class(own)]
            if self._request.is_pair and self._attribute is not None:
                parts.append(self._is_by(by))
            yield F.all([*parts, self._unit_has(field, [other], of if self._request.is_pair else ())])

    def _unit_has(self, field: str, classes: Sequence[str], annotators: Sequence[str] = ()) -> ViewExpression:
        """Condition that another label of the unit has one of some classes, and is by one of some annotators."""
        if self._attribute is None and len(self._labels.config.fields) > MOST_FIELDS:
            return self._is_listed(self._met_by(tuple(classes), tuple(annotators)), field)
        wanted = self._has_class(*classes)
        if annotators and self._attribute is not None:
            wanted = wanted & self._is_by(annotators)
        fields = dict.fromkeys(map(self._labels.field_of, annotators or self._labels.annotators))
        others = [name for name in fields if name != field] or [field]
        unit, on_frames = F(f"{self._key}_id"), self._labels.on_frames
        paths = [self._labels.label_paths[self._labels.config.fields.index(name)] for name in others]
        lists = [f"$$frame.{path.removeprefix(FRAMES_PREFIX)}" if on_frames else f"${path}" for path in paths]
        return F.any([F(each).filter(wanted).map(unit).contains([unit]) for each in lists])

    @cached_property
    def _are_named(self) -> bool:
        return are_named(self._labels)

    @cache  # noqa: B019  it lives as long as one view is built
    def _met_by(self, classes: tuple[str, ...], annotators: tuple[str, ...]) -> dict[str, list[str]]:
        return ids_of_labels_met_by(self._labels, classes, annotators or self._labels.annotators)

    @cache  # noqa: B019
    def _naming(self, relations: tuple[str, ...], annotators: tuple[str, ...]) -> dict[str, list[str]]:
        return ids_of_labels_naming(self._labels, relations, annotators)

    def _names(self, field: str, relations: Sequence[str], annotators: Sequence[str]) -> ViewExpression:
        """Condition that a label names any of some annotators in one of its lists of them."""
        if not self._are_named:
            return self._is_listed(self._naming(tuple(relations), tuple(annotators)), field)
        return F.any([contains_any(F(self._key + relation), annotators) for relation in relations])

    @staticmethod
    def _is_listed(ids: dict[str, list[str]], field: str) -> ViewExpression:
        return F("_id").to_string().is_in(ids.get(field, []))


def with_documents(view: DatasetView, labels: RunLabels, request: ViewRequest) -> DatasetView:
    """Keep the requested samples, or the requested frames of videos; with a condition on votes, such labels alone."""
    condition = F.all([*_DocumentConditions(labels, request).all()])
    view = view.match_frames(condition) if labels.on_frames else view.match(condition)
    if request.votes is None:
        return view
    shown = [labels.field_of(name) for name in request.shown(labels.annotators) if labels.kind_of(name).is_label]
    least, most = request.votes
    wanted = F.all([*in_range(F(f"{labels.field_key}_votes"), least or 1, most)])
    for field in shown:
        view = view.filter_labels(field, wanted, only_matches=False)
    return view.match({"$or": [{f"{field}._cls": {"$type": "string"}} for field in shown]})


class _DocumentConditions:
    """Conditions on a sample, or on a frame."""

    def __init__(self, labels: RunLabels, request: ViewRequest) -> None:
        self._labels = labels
        self._request = request
        self._key = labels.field_key

    def all(self) -> Iterator[ViewExpression]:
        """The conditions, those on fields of the sample first."""
        request, everybody = self._request, self._labels.annotators
        yield F(f"{self._key}_n_annotators").exists()
        if request.verdicts:
            disputed = [verdict == RATING_VERDICTS[CLASS_CONFLICT] for verdict in request.verdicts]
            yield F(f"{self._key}_disputed").is_in(disputed)
        for name in request.annotators:
            yield self._is_given(name)
        if request.reference:
            own = [name for name in request.annotators or everybody if self._labels.kind_of(name).is_label]
            said = f"{self._key}{REFERENCE}"
            yield F.any([is_one_of(F(f"{self._path(name)}.{said}"), request.reference) for name in own])
        if request.is_pair:
            # masks differ by degrees; those that count have a score
            yield (
                self._differ(*request.annotators) if self._labels.family.verdicts else F(f"{self._key}_score").exists()
            )
        if request.classes:
            yield F.any([self._gave(name, request.classes) for name in everybody])
        # with annotators, the first gave the first class
        asked = (request.annotators[:1], request.annotators[1:])
        for name, annotators in zip(request.confusion, asked, strict=False):
            yield F.any([self._gave(each, [name]) for each in annotators or everybody])

    def _path(self, annotator: str) -> str:
        return self._labels.field_of(annotator).removeprefix(FRAMES_PREFIX)

    def _is_given(self, annotator: str) -> ViewExpression:
        """Condition that the run compared the label, or value, of an annotator."""
        kind, path = self._labels.kind_of(annotator), self._path(annotator)
        if kind.is_label:
            return F(f"{path}.{self._key}_of").exists()
        value = F(path)
        stored = ViewExpression({"$type": value})
        if not kind.is_number:
            return value.exists() & ~stored.is_in(NOT_COMPARED)
        # nan is less than any number, and a text more; the run left out unusable values
        usable = (value >= -LARGEST) & (value <= LARGEST)
        return usable & (~stored.is_in(["int", "long"]) | (value.abs() <= LARGEST_INTEGER))

    def _gave(self, annotator: str, classes: Sequence[str]) -> ViewExpression:
        """Condition that an annotator gave one of some classes, or numbers."""
        value = F(self._labels.kind_of(annotator).value_path(self._path(annotator)))
        return self._is_given(annotator) & is_one_of(value, class_values(self._labels, classes))

    def _differ(self, *pair: str) -> ViewExpression:
        """Condition that two annotators gave different values."""
        if not are_named(self._labels):
            return F("_id").to_string().is_in(ids_of_samples_differing(self._labels, pair))
        for name, other in (pair, pair[::-1]):
            if self._labels.kind_of(name).is_label:
                return contains_any(F(f"{self._path(name)}.{self._key}{DIFFERS_FROM}"), [other])
        return contains_any(F(self._key + DIFFERING_PAIRS), [pair_name(*pair)])
