"""Conditions on labels, samples or frames that a view of a run shows; ids of labels and samples from its records.

Ids are used where fields do not suffice: samples by the score of a pair, labels that name no annotators, models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial

import fiftyone as fo
import numpy as np
from fiftyone import ViewField as F
from fiftyone.core.collections import SampleCollection
from fiftyone.core.expressions import ViewExpression
from fiftyone.core.view import DatasetView

from ... import names
from ...agreement.families.family import TAGS
from ...agreement.matching.compute import differs_from, missed_by
from ...agreement.matching.tables import Tables
from ...agreement.matching.verdicts import MOST_NAMED
from ...agreement.objects.classes import SIZES
from ...agreement.objects.records import ObjectRecords
from ...agreement.ratings.compute import CLASS_CONFLICT, RatingRecords, agreeing
from ...agreement.ratings.compute import VERDICTS as RATING_VERDICTS
from ...agreement.roles.numbers import part_of_labels
from ...agreement.roles.role_labels import EXTRA, SAID, Comparison, compared_roles, role_names
from ...agreement.settings.errors import AgreementInputError
from ...agreement.statistics.records import AnyColumns
from ...metrics.numeric.arrays import FloatArray, IntArray, sums_by
from ...names import DIFFERING_PAIRS, DIFFERS_FROM, FRAMES_PREFIX, MISSED_BY, REFERENCE, pair_name
from ..database.fiftyone_private import sample_collection, with_stages
from ..families.ratings import LARGEST, LARGEST_INTEGER
from ..labels.checks import NOT_COMPARED
from ..record.run_labels import RunLabels, open_run_labels
from .view_request import MISSED, ViewRequest, class_values, contains_any, in_range, is_one_of, stored_as

#: the verdict of all labels of an object with two classes
_CONFLICT = "class_conflict"
#: with more label fields, labels are chosen by ids instead of conditions on the other labels of their object: these
#: would name all fields once for every field
MOST_FIELDS = 8


def with_labels(view: DatasetView, labels: RunLabels, request: ViewRequest) -> DatasetView:
    """Keep the requested labels, and the samples with such labels."""
    conditions = _LabelConditions(labels, request)
    # what every sample with requested labels meets: the database answers it much faster than conditions on each label
    classes = (request.classes, request.confusion[:1], request.confusion[1:])
    wanted = [("label", class_values(labels, each)) for each in classes]
    possible = [
        {"$or": [{f"{path}.{attribute}": {"$in": values}} for path in labels.label_paths]}
        for attribute, values in (*wanted, (labels.field_key, list(request.verdicts)))
        if values
    ]
    if possible:
        view = view.match({"$and": possible})
    shown = dict.fromkeys(map(labels.field_of, request.shown(labels.annotators)))
    alone = len(shown) == 1
    view = with_stages(view, [fo.FilterLabels(each, conditions.on_field(each), only_matches=alone) for each in shown])
    if alone:
        return view
    paths = dict(zip(labels.config.fields, labels.label_paths, strict=True))
    return view.match({"$or": [{f"{paths[field]}.0": {"$exists": True}} for field in shown]})


def missed_of_reference(view: DatasetView, labels: RunLabels, request: ViewRequest) -> DatasetView:
    """The labels of the reference that an annotator (any of the requested ones, if any are) did not draw."""
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
        # needed for every field, computed once
        self._are_named = cache(partial(are_named, labels))
        self._met_by = cache(partial(ids_of_labels_met_by, labels))
        self._naming = cache(partial(ids_of_labels_naming, labels))

    def on_field(self, field: str) -> ViewExpression:
        """Condition for a label of a field to be shown."""
        request, shown = self._request, self._request.shown(self._labels.annotators)
        in_field = [name for name in shown if self._labels.field_of(name) == field]
        least, most = request.votes or (None, None)
        if request.missed_by is not None:
            least = max(least or 2, 2)
        elif request.votes or not request.verdicts or request.is_pair or request.confusion:
            least = least or 1  # labels that the run did not count have no votes
        verdicts = ((self._key, request.verdicts), (f"{self._key}{REFERENCE}", request.reference))
        parts = [is_one_of(F(name), wanted) for name, wanted in verdicts if wanted]
        parts += in_range(F(f"{self._key}_votes"), least, most)
        parts += in_range(F(f"{self._key}_of"), *(request.assigned or (None, None)))
        if self._attribute is not None and len(in_field) < len(self._labels.annotators):
            parts.append(self._is_by(in_field))
        if request.classes:  # that any label of the unit has
            own = self._has_class(*request.classes)
            is_in_conflict = (F(self._key) == _CONFLICT) & self._unit_has(field, request.classes)
            parts.append(own if self._labels.family is TAGS else own | is_in_conflict)
        if request.confusion:
            # the label has one of the two classes, and its unit the other one
            (first, second), asked, confused = request.confusion, request.annotators, list[ViewExpression]()
            for own, other, by, of in ((first, second, asked[:1], asked[1:]), (second, first, asked[1:], asked[:1])):
                if request.is_pair and self._attribute is None and self._labels.field_of(by[0]) != field:
                    continue
                if not request.is_pair and asked and own != first:
                    continue  # a single requested annotator gave the first class
                has_own = [F(self._key) == _CONFLICT, self._has_class(own)]
                if request.is_pair and self._attribute is not None:
                    has_own.append(self._is_by(by))
                confused.append(F.all([*has_own, self._unit_has(field, [other], of if request.is_pair else ())]))
            parts.append(F.any(confused))
        if request.missed_by is not None:
            parts.append(self._names(field, [MISSED_BY], [request.missed_by]))
        if request.is_pair:  # a label names other annotators only: a label by one of the two must name the other one
            relations = [name for name in (MISSED_BY, DIFFERS_FROM) if name in self._labels.kinds[0].fields.label]
            others = [name for name in request.annotators if self._attribute is not None or name not in in_field]
            parts.append(self._names(field, relations, others))
        return F.all(parts)

    def _is_by(self, annotators: Sequence[str]) -> ViewExpression:
        """Condition that a label names one of some annotators."""
        return is_one_of(
            F(self._attribute),
            [each for name in annotators for each in stored_as(self._labels.config.annotator_value(name))],
        )

    def _has_class(self, *classes: str) -> ViewExpression:
        return is_one_of(F("label"), class_values(self._labels, classes))

    def _unit_has(self, field: str, classes: Sequence[str], annotators: Sequence[str] = ()) -> ViewExpression:
        """Condition that another label of the unit has one of some classes, and is by one of some annotators."""
        if self._attribute is None and len(self._labels.config.fields) > MOST_FIELDS:
            ids = self._met_by(tuple(classes), tuple(annotators) or self._labels.annotators)
            return F("_id").to_string().is_in(ids.get(field, []))
        wanted = self._has_class(*classes)
        if annotators and self._attribute is not None:
            wanted = wanted & self._is_by(annotators)
        fields = dict.fromkeys(map(self._labels.field_of, annotators or self._labels.annotators))
        others = [name for name in fields if name != field] or [field]
        unit, on_frames = F(f"{self._key}_id"), self._labels.on_frames
        paths = [self._labels.label_paths[self._labels.config.fields.index(name)] for name in others]
        lists = [f"$$frame.{path.removeprefix(FRAMES_PREFIX)}" if on_frames else f"${path}" for path in paths]
        return F.any([F(each).filter(wanted).map(unit).contains([unit]) for each in lists])

    def _names(self, field: str, relations: Sequence[str], annotators: Sequence[str]) -> ViewExpression:
        """Condition that a label names any of some annotators in one of these lists of names."""
        if not self._are_named():
            return F("_id").to_string().is_in(self._naming(tuple(relations), tuple(annotators)).get(field, []))
        return F.any([contains_any(F(self._key + relation), annotators) for relation in relations])


def with_documents(view: DatasetView, labels: RunLabels, request: ViewRequest) -> DatasetView:
    """Keep the requested samples, or frames of videos; with a condition on votes, only the labels that meet it."""
    key, everybody = labels.field_key, labels.annotators
    parts = [F(f"{key}_n_annotators").exists()]  # those on fields of the sample come first
    if request.verdicts:
        disputed = [verdict == RATING_VERDICTS[CLASS_CONFLICT] for verdict in request.verdicts]
        parts.append(F(f"{key}_disputed").is_in(disputed))
    parts += [_is_given(labels, name) for name in request.annotators]
    if request.reference:
        own = [name for name in request.annotators or everybody if labels.kind_of(name).is_label]
        said = f"{key}{REFERENCE}"
        parts.append(F.any([is_one_of(F(f"{_path(labels, name)}.{said}"), request.reference) for name in own]))
    if request.is_pair:
        # masks have no verdict: show all samples with a score
        parts.append(_differ(labels, *request.annotators) if labels.family.verdicts else F(f"{key}_score").exists())
    if request.classes:
        parts.append(F.any([_gave(labels, name, request.classes) for name in everybody]))
    # if annotators are requested, the first one gave the first class
    asked = (request.annotators[:1], request.annotators[1:])
    for name, annotators in zip(request.confusion, asked, strict=False):
        parts.append(F.any([_gave(labels, each, [name]) for each in annotators or everybody]))
    condition = F.all(parts)
    view = view.match_frames(condition) if labels.on_frames else view.match(condition)
    if request.votes is None:
        return view
    shown = [labels.field_of(name) for name in request.shown(labels.annotators) if labels.kind_of(name).is_label]
    least, most = request.votes
    wanted = F.all([*in_range(F(f"{labels.field_key}_votes"), least or 1, most)])
    for field in shown:
        view = view.filter_labels(field, wanted, only_matches=False)
    return view.match({"$or": [{f"{field}._cls": {"$type": "string"}} for field in shown]})


def _path(labels: RunLabels, annotator: str) -> str:
    return labels.field_of(annotator).removeprefix(FRAMES_PREFIX)


def _is_given(labels: RunLabels, annotator: str) -> ViewExpression:
    """Condition that the run compared the label, or value, of an annotator."""
    kind, path = labels.kind_of(annotator), _path(labels, annotator)
    if kind.is_label:
        return F(f"{path}.{labels.field_key}_of").exists()
    value = F(path)
    stored = ViewExpression({"$type": value})
    if not kind.is_number:
        return value.exists() & ~stored.is_in(NOT_COMPARED)
    # in MongoDB nan is less than any number, and a text more; the run left out unusable values
    usable = (value >= -LARGEST) & (value <= LARGEST)
    return usable & (~stored.is_in(["int", "long"]) | (value.abs() <= LARGEST_INTEGER))


def _gave(labels: RunLabels, annotator: str, classes: Sequence[str]) -> ViewExpression:
    """Condition that an annotator gave one of some classes, or numbers."""
    value = F(labels.kind_of(annotator).value_path(_path(labels, annotator)))
    return _is_given(labels, annotator) & is_one_of(value, class_values(labels, classes))


def _differ(labels: RunLabels, *pair: str) -> ViewExpression:
    """Condition that two annotators gave different values."""
    if not are_named(labels):
        return F("_id").to_string().is_in(ids_of_samples_differing(labels, pair))
    for name, other in (pair, pair[::-1]):
        if labels.kind_of(name).is_label:
            return contains_any(F(f"{_path(labels, name)}.{labels.field_key}{DIFFERS_FROM}"), [other])
    return contains_any(F(labels.field_key + DIFFERING_PAIRS), [pair_name(*pair)])


#: maximum number of samples that are sorted by pair; more would take seconds
MAX_SAMPLES = 10_000


def ids_by_pair_score(labels: RunLabels, pair: tuple[str, ...]) -> list[str] | None:
    """Ids of the samples on which two annotators disagreed about an object, the lowest score of this pair first.

    Ties are sorted by id; videos by the mean over their frames. Later changes of labels do not matter.

    Returns:
        the ids; None if the run has no records of objects, or the dataset has more than ``MAX_SAMPLES``
    """
    dataset = labels.dataset
    n_samples = sample_collection(dataset).count_documents({}, limit=MAX_SAMPLES + 1)
    if not labels.family.has_objects or n_samples > MAX_SAMPLES:
        return None
    loaded = labels.run.records()
    if not isinstance(loaded.records, ObjectRecords):
        return None
    a, b = sorted(labels.annotators.index(name) for name in pair)
    parts = list[tuple[FloatArray, IntArray]]()  # score of the two, nan where undefined, and labels that only one has
    for agreement in loaded.records.tables(loaded.context.config):
        shared, objects, pairs = agreement.sample_pairs, agreement.objects, agreement.pairs
        rows = np.flatnonzero((shared.a == a) & (shared.b == b))
        i, j = pairs.i[pairs.same_class], pairs.j[pairs.same_class]
        is_pair = (objects.annotator[i] == a) & (objects.annotator[j] == b)
        n_agreeing = np.bincount(objects.sample[i[is_pair]], minlength=agreement.n_samples)
        score = np.full(agreement.n_samples, np.nan)
        score[shared.sample[rows]] = agreement.pair_score[rows]
        n_labels = np.zeros(agreement.n_samples, np.int64)
        n_labels[shared.sample[rows]] = shared.n_a[rows] + shared.n_b[rows]
        parts.append((score, np.where(n_labels > 0, n_labels - 2 * n_agreeing, 0)))
    score, n_disagreeing = (np.concatenate(column) for column in zip(*parts, strict=True))
    number = loaded.index.numbers()
    n = int(number.max(initial=-1)) + 1
    scored = ~np.isnan(score)
    n_scored = np.bincount(number[scored], minlength=n)
    mean = sums_by(number[scored], score[scored], n) / np.maximum(n_scored, 1)
    disagree = np.flatnonzero(sums_by(number, n_disagreeing, n) > 0)
    ids = np.empty(n, object)
    ids[number] = loaded.index.ids()
    chosen: list[str] = ids[disagree[np.argsort(mean[disagree], kind="stable")]].tolist()
    return chosen


def labels_of_size(samples: SampleCollection, run_key: str, model: str, size: str) -> DatasetView:
    """Labels of one size, of a model and of annotators, on samples that the model and two or more annotators have.

    A label of an annotator has the size of the label of the model with which it is matched.

    Args:
        model: a model of the run
        size: one of ``SIZES``
    """
    labels = open_run_labels(samples, run_key)
    compared = _compared_with(labels, model)
    rows = np.concatenate([compared.judged, compared.own])
    shared = compared.both.sum(axis=1)[compared.labels.sample[rows]] >= 2
    return _selected(
        samples, labels, compared, rows[shared & (part_of_labels(compared, "sizes")[rows] == SIZES.index(size))]
    )


def labels_beside_model(view: DatasetView, labels: RunLabels, request: ViewRequest) -> DatasetView:
    """The labels of a model, and of the requested annotators (of all if none is), with the requested verdicts."""
    compared, verdicts = _compared_with(labels, str(request.model)), request.verdicts
    asked = [labels.annotators.index(name) for name in request.annotators or labels.annotators]
    pairs, judged = compared.pairs, compared.judged
    kinds = [kind for kind, said in SAID.items() if said in verdicts]
    paired = np.flatnonzero(np.isin(pairs.kind, kinds) & np.isin(compared.annotator, asked))
    missed = np.isin(compared.labels.who[judged], asked) & (compared.pair_of[judged] < 0)
    rows, said = compared.matched_by(asked)
    alone = rows if not verdicts else rows[(said == EXTRA) & (EXTRA in verdicts)]
    drawn = judged[missed] if MISSED in verdicts else judged[:0]
    return _selected(view, labels, compared, np.concatenate([pairs.drawn[paired], drawn, pairs.label[paired], alone]))


def _compared_with(labels: RunLabels, model: str) -> Comparison:
    loaded = labels.run.records()
    number = [name for name, _ in role_names(loaded.context)].index(model)
    return compared_roles(loaded.records, loaded.context)[number]


def _selected(samples: SampleCollection, labels: RunLabels, compared: Comparison, rows: IntArray) -> DatasetView:
    """A view of the labels of annotators and of a role in some rows of the records."""
    records = compared.labels.records
    text = np.concatenate([records.column("label_id"), records.column("uncounted_label_id")])[rows].tobytes().hex()
    fields = [name for name in (*labels.config.fields, *labels.config.roles) if samples.has_field(name)]
    for name in fields:
        if not hasattr(field := samples.get_field(name), "document_type"):
            raise AgreementInputError(
                f"The field {name!r} must hold the labels that the run {labels.run_key!r} compared, got a "
                f"{type(field).__name__}; compute the run again"
            )
    return samples.select_labels(ids=[text[k : k + 24] for k in range(0, len(text), 24)], fields=fields)


def are_named(labels: RunLabels) -> bool:
    """True if labels, or samples, name the annotators who differ: no sample has more than ``MOST_NAMED`` annotators."""
    if len(labels.annotators) <= MOST_NAMED:
        return True
    return int(labels.run.records().records.sample_values().n_annotators.max(initial=0)) <= MOST_NAMED


def ids_of_labels_naming(
    labels: RunLabels, relations: Sequence[str], annotators: Sequence[str]
) -> dict[str, list[str]]:
    """Ids, by field, of the labels that would name any of some annotators in one of the relations.

    Raises:
        AgreementInputError: for tags
    """
    asked = [labels.annotators.index(name) for name in annotators]
    found = []
    for part, agreement, _ in _objects(labels):
        for name, relation in ((names.MISSED_BY, missed_by), (names.DIFFERS_FROM, differs_from)):
            if name in relations:
                related = relation(agreement)
                found.append((part, np.unique(related.row[np.isin(related.annotator, asked)])))
    return _ids_by_field(labels, found)


def ids_of_labels_met_by(labels: RunLabels, classes: Sequence[str], annotators: Sequence[str]) -> dict[str, list[str]]:
    """Ids, by field, of labels whose object has a label of given classes and annotators in another field.

    Raises:
        AgreementInputError: for tags, of which the run keeps no label ids
    """
    asked = [labels.annotators.index(name) for name in annotators]
    found = []
    for part, agreement, class_names in _objects(labels):
        codes = [code for code, name in enumerate(class_names) if name in classes]
        objects, unit = agreement.objects, agreement.unit
        is_meant = np.isin(objects.category, codes) & np.isin(objects.annotator, asked)
        _, in_field = np.unique(unit * len(labels.annotators) + part["field"], return_inverse=True)
        n_in_unit, n_in_field = np.bincount(unit, is_meant)[unit], np.bincount(in_field, is_meant)[in_field]
        found.append((part, np.flatnonzero(n_in_unit > n_in_field)))
    return _ids_by_field(labels, found)


def _objects(labels: RunLabels) -> Iterator[tuple[AnyColumns, Tables, Sequence[str]]]:
    """Columns of the records of objects, the agreement on them, and the names of the classes."""
    loaded = labels.run.records()
    records, context = loaded.records, loaded.context
    if not isinstance(records, ObjectRecords):
        raise _too_many(labels)
    for t in records.tables(context.config):
        yield t.part, t, context.class_names


def _ids_by_field(labels: RunLabels, found: Sequence[tuple[AnyColumns, IntArray]]) -> dict[str, list[str]]:
    ids: dict[str, list[str]] = {}
    for part, rows in found:
        fields = part["field"][rows]
        for place in np.unique(fields).tolist():
            named = [each.tobytes().hex() for each in part["label_id"][rows[fields == place]]]
            ids.setdefault(labels.config.fields[place], []).extend(named)
    return ids


def ids_of_samples_differing(labels: RunLabels, pair: Sequence[str]) -> list[str]:
    """Ids of the samples on which two annotators gave different values; from the records of the run.

    Raises:
        AgreementInputError: for frames, of which the run keeps no ids
    """
    loaded = labels.run.records()
    records = loaded.records
    if not isinstance(records, RatingRecords) or labels.on_frames:
        raise _too_many(labels)
    a, b = (records.ratings[:, labels.annotators.index(name)] for name in pair)
    differ = ~agreeing(a, b, labels.config.tolerance) & ~np.isnan(a) & ~np.isnan(b)
    return [each for each, differs in zip(loaded.index.ids(), differ.tolist(), strict=True) if differs]


def _too_many(labels: RunLabels) -> AgreementInputError:
    return AgreementInputError(
        f"A view of a pair, or of what an annotator missed, needs samples with at most {MOST_NAMED} annotators "
        f"for {labels.title}, got samples with more; filter by verdict instead"
    )
