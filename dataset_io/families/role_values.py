"""Values that a run writes on roles: on the labels of annotators, of a reference and of models, and on samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...agreement.matching.compute import MatchedBatch
from ...agreement.matching.relations import Relation
from ...agreement.roles.columns import MatchedRole, most_matched
from ...agreement.roles.matching import COVERED, EXCUSED, EXTRA, SAID, WRONG_ATTRIBUTE, WRONG_CLASS
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ...names import MISSED_BY, REFERENCE, REFERENCE_F1, REFERENCE_WORST
from ..labels.source import Role, Source
from .objects import ObjectLabels, ids_of_objects


def role_values(
    source: Source,
    labels: ObjectLabels,
    agreement: MatchedBatch,
    roles: Sequence[MatchedRole],
    updates: list[dict[str, Any]],
) -> None:
    """Add the values about roles to those of every sample, by path.

    Args:
        source: the labels of the annotators
        labels: these labels
        agreement: their agreement
        roles: the matched roles
        updates: the values of every sample
    """
    key = source.config.run_key
    unit_ids = ids_of_objects(labels, agreement, source.annotators)
    for role, matched in zip(source.roles, roles, strict=True):
        path = source.paths_read[source.number_read(role)]
        own = matched.labels
        units = most_matched(matched.pairs, agreement.unit, len(own.sample))
        places = zip(own.sample.tolist(), own.position.tolist(), units.tolist(), strict=True)
        for sample, position, drawn in places:
            updates[sample][f"{path}.{position}.{key}_id"] = unit_ids[drawn] if drawn >= 0 else None
        if not role.is_model:
            _on_annotators(source, labels, agreement, matched, updates)
            missed = _missed(matched, agreement)
            write_missed(source, role, (own.sample, own.position), missed, updates)
            _on_samples(source, agreement, matched, missed, updates)


def _on_annotators(
    source: Source, labels: ObjectLabels, agreement: MatchedBatch, matched: MatchedRole, updates: list[dict[str, Any]]
) -> None:
    """Add the reference's verdict on every label of annotators to the updates."""
    key, pairs, objects = source.config.run_key, matched.pairs, agreement.objects
    kind, differs = np.full(len(objects), -1), np.zeros(len(objects), np.bool_)
    own = pairs.drawn >= 0
    kind[pairs.drawn[own]], differs[pairs.drawn[own]] = pairs.kind[own], matched.differs[own]
    judged = np.flatnonzero(matched.labels.present[objects.sample] & (kind < COVERED))
    counted = np.flatnonzero(agreement.counted)[judged]
    columns = (objects.sample[judged], labels.field[counted], labels.position[counted], kind[judged], differs[judged])
    for sample, field, position, found, differ in zip(*(column.tolist() for column in columns), strict=True):
        said = WRONG_ATTRIBUTE if differ else SAID.get(found, EXTRA)
        updates[sample][f"{source.label_paths[field]}.{position}.{key}{REFERENCE}"] = said


def _missed(matched: MatchedRole, agreement: MatchedBatch) -> BoolArray:
    """True where an annotator was assigned and has no label matched with a label of the role, shape ``(M, R)``."""
    own, pairs = matched.labels, matched.pairs
    missed: BoolArray = agreement.assigned[own.sample].copy()
    there = (pairs.kind <= WRONG_CLASS) | (pairs.kind == EXCUSED)
    missed[pairs.label[there], pairs.annotator[there]] = False
    return missed


def write_missed(
    source: Source, role: Role, place: tuple[IntArray, IntArray], missed: BoolArray, updates: list[dict[str, Any]]
) -> None:
    """Name on every label of the reference the annotators who have no such label.

    Args:
        source: the labels of the annotators
        role: the reference
        place: sample and position of its labels, shapes ``(M,)``
        missed: shape ``(M, R)``
        updates: the values of every sample
    """
    path = source.paths_read[source.number_read(role)]
    sample, position = (column.tolist() for column in place)
    for label, names in Relation(*np.nonzero(missed)).names(source.annotators).items():
        updates[sample[label]][f"{path}.{position[label]}.{source.config.run_key}{MISSED_BY}"] = names


def write_of_annotators(source: Source, suffix: str, values: FloatArray, updates: list[dict[str, Any]]) -> None:
    """Write the mean over annotators of their values ``(S, R)`` on every sample, and who has the lowest below 1."""
    key = source.config.run_key
    for sample in np.flatnonzero(~np.isnan(values).all(axis=1)).tolist():
        lowest = np.nanmin(values[sample])
        updates[sample][f"{key}{suffix}"] = float(np.nanmean(values[sample]))
        if lowest < 1.0:
            worst = np.flatnonzero(values[sample] <= lowest).tolist()
            updates[sample][f"{key}{REFERENCE_WORST}"] = [source.annotators[k] for k in worst]


def _on_samples(
    source: Source, agreement: MatchedBatch, matched: MatchedRole, missed: BoolArray, updates: list[dict[str, Any]]
) -> None:
    """The mean F1 of the annotators on every sample, and who has the lowest."""
    pairs, objects, own = matched.pairs, agreement.objects, matched.labels
    shape = agreement.assigned.shape
    n_both, n_matched = np.zeros(shape), np.zeros(shape)
    np.add.at(n_both, (objects.sample, objects.annotator), 1)
    covered = pairs.drawn[pairs.kind >= COVERED]
    np.subtract.at(n_both, (objects.sample[covered], objects.annotator[covered]), 1)
    rows = np.flatnonzero(pairs.kind <= WRONG_CLASS)
    np.add.at(n_matched, (own.sample[pairs.label[rows]], pairs.annotator[rows]), 1)
    label, annotator = np.nonzero(missed)
    np.add.at(n_both, (own.sample[label], annotator), 1)
    n_both += n_matched
    defined = (n_both > 0) & agreement.assigned & own.present[:, None]
    f1 = np.where(defined, 2.0 * n_matched / np.maximum(n_both, 1.0), np.nan)
    write_of_annotators(source, REFERENCE_F1, f1, updates)
