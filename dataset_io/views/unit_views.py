"""Views for label types with lists of labels (objects and tags), selected by unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fiftyone.core.view import DatasetView

from ...agreement.matching.verdicts import CROWD
from ...names import DIFFERS_FROM, MISSED_BY
from ..database.fiftyone_private import mongo_stage
from ..record.run_labels import RunLabels
from .from_records import ids_of_labels_naming
from .label_expressions import Expression, LabelLists, class_values, is_in, stored_as
from .view_request import ViewRequest

#: a verdict that no label has
_NO_VERDICT = ""

#: temporary attribute that stages of a view pass on to later stages; removed at the end
_SETS = "_agreement_view"


class UnitView:
    """The stages of a view of label lists."""

    def __init__(self, labels: RunLabels, request: ViewRequest) -> None:
        self._labels = labels
        self._request = request
        self._lists = LabelLists(labels)
        self._shown = request.shown(labels.annotators)
        self._set_path = f"$$frame.{_SETS}" if labels.on_frames else f"${_SETS}"

    def apply(self, view: DatasetView) -> DatasetView:
        """Keep the requested labels, and the samples with such labels."""
        query = self._query()
        if query:
            view = view.match(query)
        sets = self._sets()
        if sets:
            view = view.add_stage(mongo_stage([self._set(sets)], needs_frames=self._labels.on_frames))
        for field, condition in self._conditions().items():
            view = view.filter_labels(field, condition, only_matches=False)
        last: list[dict[str, Any]] = [{"$match": {"$or": [{f"{path}.0": {"$exists": True}} for path in self._paths()]}}]
        if sets:
            last.append({"$project": {f"frames.{_SETS}" if self._labels.on_frames else _SETS: False}})
            return view.add_stage(mongo_stage(last, needs_frames=self._labels.on_frames))
        return view.match(last[0]["$match"])

    def _paths(self) -> list[str]:
        """Paths of the shown label lists."""
        fields = dict.fromkeys(map(self._labels.field_of, self._shown))
        of_field = dict(zip(self._labels.config.fields, self._labels.label_paths, strict=True))
        return [of_field[field] for field in fields]

    # ---- which samples may have such labels (uses indexes, saves time) ----

    def _query(self) -> dict[str, Any]:
        request = self._request
        label: dict[str, Any] = {}
        verdicts = self._verdicts()
        if verdicts:
            label[self._labels.field_key] = {"$in": verdicts}
        least, most = request.votes or (None, None)
        if request.missed_by is not None:
            least = max(least or 2, 2)
        limits = {operator: limit for operator, limit in (("$gte", least), ("$lte", most)) if limit is not None}
        if limits:
            label[self._lists.votes] = limits
        attribute = self._labels.config.annotator_attribute
        if label and attribute is not None and len(self._shown) < len(self._labels.annotators):
            label[attribute] = {
                "$in": [value for name in self._shown for value in stored_as(self._labels.value_of(name))]
            }
        conditions: list[dict[str, Any]] = []
        if verdicts and not {"agreed", CROWD} & set(verdicts):
            key, counted = self._labels.field_key, self._labels.family.has_objects
            conditions.append({f"{key}_n_disputed": {"$gt": 0}} if counted else {f"{key}_disputed": True})
        if label:
            conditions.append({"$or": [{path: {"$elemMatch": label}} for path in self._paths()]})
        for classes in (request.classes, request.confusion[:1], request.confusion[1:]):
            if classes:
                given = {"$in": class_values(self._labels, classes)}
                paths = self._labels.label_paths
                conditions.append({"$or": [{path: {"$elemMatch": {"label": given}}} for path in paths]})
        return {"$and": conditions} if conditions else {}

    def _verdicts(self) -> list[str]:
        """The verdicts of the requested labels; empty for all verdicts."""
        asked, every = self._request.verdicts, self._labels.family.verdicts
        verdicts = [verdict for verdict in asked or every if verdict in self._disputed()]
        return [] if len(verdicts) == len(every) else verdicts or [_NO_VERDICT]

    def _disputed(self) -> tuple[str, ...]:
        """The verdicts that labels of the requested units can have.

        A unit with a disagreement, or that somebody missed, cannot be agreed.
        """
        verdicts = self._labels.family.verdicts
        if self._request.confusion:
            return tuple(verdict for verdict in verdicts if verdict == "class_conflict")
        if self._request.is_pair or self._request.missed_by is not None:
            return self._labels.family.disputed
        return verdicts

    # ---- which units are requested ----

    def _sets(self) -> dict[str, Any]:
        """Sets of units of a document, collected before labels are filtered: later stages do not see removed labels."""
        request, everybody = self._request, self._labels.annotators
        unit = self._lists.unit("$$label")
        # most units are agreed, and none of these can be requested
        disputed = [is_in(f"$$label.{self._labels.field_key}", self._disputed())]
        sets: dict[str, Any] = {}
        if request.classes:
            sets["of_classes"] = self._lists.collected(everybody, unit, [self._has_class(request.classes, "$$label")])
        for k, name in enumerate(request.confusion):
            # with two annotators, the first gave the first class, the other the second
            of = [self._request.annotators[k]] if request.is_pair else everybody
            said = [*disputed, self._has_class([name], "$$label")]
            sets[f"confused{k}"] = self._lists.collected(of, unit, said)
        return sets

    def _set(self, sets: dict[str, Any]) -> dict[str, Any]:
        if not self._labels.on_frames:
            return {"$set": {_SETS: sets}}
        every = {"$mergeObjects": ["$$frame", {_SETS: sets}]}
        return {"$set": {"frames": {"$map": {"input": {"$ifNull": ["$frames", []]}, "as": "frame", "in": every}}}}

    def _has_class(self, classes: Sequence[str], label: str) -> Expression:
        return is_in(f"{label}.label", class_values(self._labels, classes))

    # ---- which labels are shown ----

    def _conditions(self) -> dict[str, Expression]:
        """The condition on the labels (``$$this``) of every shown field."""
        conditions: dict[str, list[Expression]] = {}
        for annotators, wanted in self._wanted():
            for name in dict.fromkeys(map(self._labels.field_of, annotators)):
                all_of = [*self._lists.is_of(annotators, "$$this"), *wanted]
                conditions.setdefault(name, []).append({"$and": all_of})
        return {name: {"$or": parts} if len(parts) > 1 else parts[0] for name, parts in conditions.items()}

    def _wanted(self) -> list[tuple[Sequence[str], list[Expression]]]:
        """Annotators, and the conditions on their labels."""
        request, common = self._request, self._common()
        if not request.confusion:
            return [(self._shown, common)]
        units = [{"$in": [self._lists.unit("$$this"), f"{self._set_path}.confused{k}"]} for k in (0, 1)]
        classes = [self._has_class([name], "$$this") for name in request.confusion]
        if request.is_pair:
            sides = [([name], [classes[k], units[1 - k], *common]) for k, name in enumerate(request.annotators)]
            return [(names, wanted) for names, wanted in sides if names[0] in self._shown]
        if request.annotators:
            return [(self._shown, [classes[0], units[1], *common])]
        return [(self._shown, [{"$or": classes}, *units, *common])]

    def _common(self) -> list[Expression]:
        """The conditions on labels that hold for all annotators, the cheap ones first."""
        request, votes = self._request, f"$$this.{self._lists.votes}"
        unit = self._lists.unit("$$this")
        verdicts = self._verdicts()
        conditions: list[Expression] = [is_in(f"$$this.{self._labels.field_key}", verdicts)] if verdicts else []
        least, most = request.votes or (None, None)
        if request.missed_by is not None:
            least = max(least or 2, 2)
        if not request.verdicts or request.is_pair or request.confusion or request.missed_by or request.votes:
            conditions.append({"$gte": [votes, least or 1]})
        if most is not None:
            conditions.append({"$lte": [votes, most]})
        if request.classes:
            of_unit = {"$in": [unit, f"{self._set_path}.of_classes"]}
            conditions.append({"$or": [self._has_class(request.classes, "$$this"), of_unit]})
        if request.missed_by is not None:
            conditions.append(self._names([MISSED_BY], [request.missed_by]))
        if request.is_pair:  # a label never names its own annotator: that of one of the two names the other
            relations = [name for name in (MISSED_BY, DIFFERS_FROM) if name in self._labels.kinds[0].fields.label]
            conditions.append(self._names(relations, request.annotators))
        return conditions

    def _names(self, relations: Sequence[str], annotators: Sequence[str]) -> Expression:
        """Whether ``$$this`` names any of some annotators in one of its lists of them."""
        ids = ids_of_labels_naming(self._labels, relations, annotators)
        if ids is not None:
            return {"$in": ["$$this._id", {"$literal": ids}]}
        lists = [{"$ifNull": [f"$$this.{self._labels.field_key}{relation}", []]} for relation in relations]
        return {"$or": [{"$in": [{"$literal": name}, named]} for named in lists for name in annotators]}
