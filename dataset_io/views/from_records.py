"""Ids for views from the records of a run: samples by the score of a pair, labels that cannot name annotators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView

from ... import names
from ...agreement.matching.relations import MOST_NAMED, differs_from, missed_by
from ...agreement.matching.tables import Tables
from ...agreement.objects.records import ObjectRecords
from ...agreement.objects.sizes import SIZES
from ...agreement.ratings.compute import RatingRecords, agreeing
from ...agreement.roles.numbers import part_of_labels
from ...agreement.roles.role_labels import EXTRA, SAID, Comparison, compared_roles, role_names
from ...agreement.settings.errors import AgreementInputError
from ...agreement.statistics.records import AnyColumns
from ...metrics.numeric.arrays import FloatArray, IntArray, sums_by
from ..database.fiftyone_private import sample_collection
from ..record.run_labels import RunLabels, open_run_labels
from .view_request import MISSED, ViewRequest

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
    parts = [_pair_scores(t, a, b) for t in loaded.records.tables(loaded.context.config)]
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


def _pair_scores(agreement: Tables, a: int, b: int) -> tuple[FloatArray, IntArray]:
    """Score of two annotators on every sample (nan where undefined), and number of labels on which they disagree."""
    shared, objects, pairs = agreement.sample_pairs, agreement.objects, agreement.pairs
    rows = np.flatnonzero((shared.a == a) & (shared.b == b))
    i, j = pairs.i[pairs.same_class], pairs.j[pairs.same_class]
    is_pair = (objects.annotator[i] == a) & (objects.annotator[j] == b)
    n_agreeing = np.bincount(objects.sample[i[is_pair]], minlength=agreement.n_samples)
    score = np.full(agreement.n_samples, np.nan)
    score[shared.sample[rows]] = agreement.pair_score[rows]
    n_labels = np.zeros(agreement.n_samples, np.int64)
    n_labels[shared.sample[rows]] = shared.n_a[rows] + shared.n_b[rows]
    return score, np.where(n_labels > 0, n_labels - 2 * n_agreeing, 0)


def labels_of_size(samples: SampleCollection, run_key: str, model: str, size: str) -> DatasetView:
    """The labels of a model and of the annotators that are small, medium or large, where it is compared with two.

    A label of an annotator has the size of the label of the model with which it is matched.

    Args:
        model: one of its models
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
    """The labels of a model, and those of the requested annotators (all without any), with the requested verdicts."""
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
    """Some labels of annotators and of a role alone."""
    records = compared.labels.records
    text = np.concatenate([records.column("label_id"), records.column("role_label_id")])[rows].tobytes().hex()
    fields = [name for name in (*labels.config.fields, *labels.config.roles) if samples.has_field(name)]
    for name in fields:
        if not hasattr(field := samples.get_field(name), "document_type"):
            raise AgreementInputError(
                f"The field {name!r} must hold the labels that the run {labels.run_key!r} compared, got a "
                f"{type(field).__name__}; compute the run again"
            )
    return samples.select_labels(ids=[text[k : k + 24] for k in range(0, len(text), 24)], fields=fields)


def are_named(labels: RunLabels) -> bool:
    """True if labels, or samples, name those who differ: at most ``MOST_NAMED`` annotators were asked for any."""
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
    """Ids, by field, of the labels whose object has one of some classes in another field, by one of some annotators.

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
    """Ids of the samples on which two annotators gave something else; from the records of the run.

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
