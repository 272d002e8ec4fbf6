"""Views for label types with at most one label per annotator and sample (or frame): classes, numbers and masks."""

from __future__ import annotations

from typing import Any

import fiftyone as fo
from fiftyone.core.view import DatasetView

from ...agreement.ratings.compute import CLASS_CONFLICT, ROUNDING
from ...agreement.ratings.compute import VERDICTS as RATING_VERDICTS
from ..database.fiftyone_private import mongo_stage
from ..families.ratings import LARGEST, LARGEST_INTEGER
from ..labels.kinds import LabelKind
from ..record.run_labels import RunLabels
from .label_expressions import Expression, class_of, class_values, document_path, is_in
from .view_request import ViewRequest

#: temporary attribute of frames within the pipeline: whether the frame is selected
_CHOSEN = "_agreement_view"


class DocumentView:
    """Selects samples or frames by their single label per annotator."""

    def __init__(self, labels: RunLabels, request: ViewRequest) -> None:
        self._labels = labels
        self._request = request
        self._shown = request.shown(labels.annotators)

    def apply(self, view: DatasetView) -> DatasetView:
        """Keep the requested samples; for videos, the labels of the requested frames."""
        condition = {"$and": self._conditions()}
        if not self._labels.on_frames:
            query: dict[str, Any] = {"$expr": condition}
            # these conditions can use an index
            if self._request.verdicts:
                query[f"{self._labels.field_key}_disputed"] = {"$in": self._disputed()}
            elif self._request.is_pair and self._labels.family.verdicts:
                query[f"{self._labels.field_key}_disputed"] = True
            view = view.match(query)
            return view if self._request.votes is None else self._with_votes(view)
        set_chosen = {"$mergeObjects": ["$$frame", {_CHOSEN: condition}]}
        frames = {"$map": {"input": {"$ifNull": ["$frames", []]}, "as": "frame", "in": set_chosen}}
        mark: list[dict[str, Any]] = [{"$set": {"frames": frames}}, {"$match": {f"frames.{_CHOSEN}": True}}]
        view = view.add_stage(mongo_stage(mark, needs_frames=True))
        for name in self._label_fields():
            view = view.filter_labels(name, {"$eq": [f"$$frame.{_CHOSEN}", True]}, only_matches=False)
        if self._request.votes is not None:
            view = self._with_votes(view)
        return view.add_stage(mongo_stage([{"$project": {f"frames.{_CHOSEN}": False}}], needs_frames=True))

    def _with_votes(self, view: DatasetView) -> DatasetView:
        """Keep the labels with the requested number of votes, and the samples with such labels."""
        least, most = self._request.votes or (None, None)
        names = self._label_fields()
        for name in names:
            votes = document_path(self._labels, f"{name}.{self._labels.field_key}_votes")
            limits: list[Expression] = [{"$gte": [votes, least or 1]}]
            if most is not None:
                limits.append({"$lte": [votes, most]})
            view = view.filter_labels(name, {"$and": limits}, only_matches=False)
        return view.match({"$or": [{f"{name}._cls": {"$type": "string"}} for name in names]})

    def _label_fields(self) -> list[str]:
        """The label fields of the shown annotators; plain fields are left out."""
        kinds = dict(zip(self._labels.config.fields, self._labels.kinds, strict=True))
        return [field for field in map(self._labels.field_of, self._shown) if kinds[field].is_label]

    # ---- conditions on a document ----

    def _conditions(self) -> list[Expression]:
        request, labels = self._request, self._labels
        conditions: list[Expression] = []
        compared = (
            f"$$frame.{labels.field_key}_n_annotators" if labels.on_frames else f"${labels.field_key}_n_annotators"
        )
        conditions.append({"$gte": [compared, 2 if request.is_pair else 1]})
        if request.verdicts and labels.on_frames:
            conditions.append({"$in": [f"$$frame.{labels.field_key}_disputed", self._disputed()]})
        conditions += [self._is_given(name) for name in request.annotators]
        if request.is_pair and labels.family.verdicts:
            conditions.append({"$not": [self._agree(*request.annotators)]})
        if request.classes:
            conditions.append({"$or": [self._has_class(name, request.classes) for name in labels.annotators]})
        if request.confusion:
            conditions.append(self._confused())
        return conditions

    def _disputed(self) -> list[bool]:
        """The values of the field `disputed` for the requested verdicts."""
        return [verdict == RATING_VERDICTS[CLASS_CONFLICT] for verdict in self._request.verdicts]

    def _confused(self) -> Expression:
        """Whether two annotators gave the two classes; if annotators are requested, the first gave the first class."""
        first, second = ([name] for name in self._request.confusion)
        asked = self._request.annotators
        one = asked[:1] or self._labels.annotators
        other = asked[1:] or self._labels.annotators
        gave = [
            {"$or": [self._has_class(name, classes) for name in annotators]}
            for annotators, classes in ((one, first), (other, second))
        ]
        return {"$and": gave}

    def _kind(self, annotator: str) -> LabelKind:
        return self._labels.kinds[self._labels.config.fields.index(self._labels.field_of(annotator))]

    def _value(self, annotator: str) -> str:
        """The class or number that an annotator gave."""
        kind, path = self._kind(annotator), document_path(self._labels, self._labels.field_of(annotator))
        if not kind.is_label:
            return path
        return f"{path}.value" if kind.comparable == "numbers" else f"{path}.label"

    def _is_given(self, annotator: str) -> Expression:
        """Whether an annotator gave a label, or a value, that can be compared."""
        kind, path = self._kind(annotator), document_path(self._labels, self._labels.field_of(annotator))
        given: Expression = {"$eq": [{"$type": f"{path}._cls"}, "string"]} if kind.is_label else {"$gt": [path, None]}
        if kind.comparable != "numbers":
            return given
        value = self._value(annotator)
        # nan is less than any number; the run left out unusable values
        size = {"$abs": {"$cond": [{"$isNumber": value}, value, float("nan")]}}
        whole = {"$in": [{"$type": value}, ["int", "long"]]}
        largest = {"$cond": [whole, LARGEST_INTEGER, LARGEST]}
        return {"$and": [given, {"$gte": [size, 0]}, {"$lte": [size, largest]}]}

    def _agree(self, a: str, b: str) -> Expression:
        """Whether two annotators who both gave something agree, by the rule of the run."""
        first, second = self._value(a), self._value(b)
        if self._kind(a).comparable != "numbers":
            return {"$eq": [self._class(a), self._class(b)]}
        tolerance = self._labels.config.tolerance
        if not tolerance:
            return {"$eq": [first, second]}
        largest = {"$max": [{"$abs": first}, {"$abs": second}]}
        limit = {"$add": [tolerance, {"$multiply": [ROUNDING, largest]}]}
        return {"$lte": [{"$abs": {"$subtract": [first, second]}}, limit]}

    def _class(self, annotator: str) -> Any:
        """The class that an annotator gave, as text."""
        value: Any = self._value(annotator)
        if self._kind(annotator).stored is fo.BooleanField:
            value = {"$cond": [value, "True", "False"]}
        return class_of(self._labels, value)

    def _has_class(self, annotator: str, classes: list[str] | tuple[str, ...]) -> Expression:
        values = class_values(self._labels, classes)
        return {"$and": [self._is_given(annotator), is_in(self._value(annotator), values)]}
