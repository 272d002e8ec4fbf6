"""Views for label types with at most one label per annotator and sample (or frame): classes, numbers and masks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fiftyone import ViewField as F
from fiftyone.core.expressions import ViewExpression
from fiftyone.core.view import DatasetView

from ...agreement.ratings.compute import CLASS_CONFLICT
from ...agreement.ratings.compute import VERDICTS as RATING_VERDICTS
from ...names import DIFFERING_PAIRS, DIFFERS_FROM, FRAMES_PREFIX, REFERENCE, pair_name
from ..families.ratings import LARGEST, LARGEST_INTEGER
from ..labels.label_facts import NOT_COMPARED
from ..record.run_labels import RunLabels
from .class_values import class_values, contains_any, in_range, is_one_of
from .from_records import are_named, ids_of_samples_differing
from .view_request import ViewRequest


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
