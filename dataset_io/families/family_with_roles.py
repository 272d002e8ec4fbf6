"""A family whose labels are compared with a reference and models: their labels are read beside the annotators'."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import compress
from typing import Any, Generic

import numpy as np

from ...agreement.matching.compute import MatchedBatch
from ...agreement.matching.relations import Relation
from ...agreement.roles.matching import (
    COVERED,
    EXTRA,
    SAID,
    WRONG_ATTRIBUTE,
    WRONG_CLASS,
    MatchedRole,
    most_matched,
)
from ...agreement.statistics.codes import ClassCodes, CodeNames
from ...agreement.statistics.records import Columns, Records
from ...agreement.statistics.report import ReportContext, RunFacts
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ...names import MISSED_BY, REFERENCE, REFERENCE_F1, REFERENCE_WORST
from ..labels.roles import check_roles
from ..labels.source import Role, Source
from ..labels.stored import StoredSample, of_each_label
from .objects import ObjectLabels, ids_of_objects
from .protocol import LabelFamily, Labels, LabelsRead, Result

#: the confidence of labels in a query result
_CONFIDENCE = "confidence"
#: names of the labels in the decisions of the reference, in a query result; they end with the id of the label
_DECIDED, _ID_LENGTH = "decided_labels", 24
#: parts of a query result that all readers of a sample need
_OF_SAMPLES = ("size", "assigned", "video", "_sample_id", "frame_number")


@dataclass(frozen=True, slots=True)
class WithRoles(Generic[Labels]):
    """The labels of annotators and of every role on some samples."""

    own: Labels
    roles: list[Any]
    #: shape ``(N,)``, labels of annotators of which the decisions in the reference say nothing; None without decisions
    undecided: BoolArray | None = None


class RoleRows:
    """Query results on the samples of a run, as those of a source with one role alone.

    Args:
        source: the labels of the annotators
        role: the role
        number: its number
        family: reads and compares its labels
    """

    def __init__(self, source: Source, role: Role, number: int, family: LabelFamily[Any, Any]) -> None:
        self.role, self.number, self.family = role, number, family
        self._field = source.number_read(role)
        self._projection = {name: value for name, value in family.projection().items() if name not in _OF_SAMPLES}
        if role.thresholds and not source.family.has_objects:
            path = source.paths_read[self._field]
            of_label = of_each_label(path, {"$ifNull": ["$$this.confidence", None]})
            self._projection[_CONFIDENCE] = f"${path}.confidence" if role.kind.list_name is None else of_label
        self._needs_label = role.of_attribute and source.config.assigned_field is None

    def projection(self) -> dict[str, Any]:
        """Projection of a document, with names of its own."""
        return {f"role{self.number}_{name}": value for name, value in self._projection.items()}

    def rows(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The query results as those of a source with the role alone."""
        place, prefix = f"id{self._field}", f"role{self.number}_"
        found = []
        for row in rows:
            own = {name: row.get(prefix + name) for name in self._projection} | {"id0": row[place]}
            if _CONFIDENCE in own:
                own = self._sure(own)
            own |= {name: row[name] for name in _OF_SAMPLES if name in row}
            if "labelled" in row:
                own["labelled"] = row["labelled"][self._field : self._field + 1]
            found.append(own)
        return found

    def _sure(self, own: dict[str, Any]) -> dict[str, Any]:
        """A query result without the labels below the threshold, which is the same for all images."""
        confidence, least = own.pop(_CONFIDENCE), self.role.thresholds[0]
        if self.role.kind.list_name is None:
            return own if (confidence or 0.0) >= least else dict.fromkeys(own)
        kept = [(value or 0.0) >= least for value in confidence or ()]
        return {name: None if values is None else list(compress(values, kept)) for name, values in own.items()}

    def samples(self, samples: Sequence[StoredSample]) -> list[StoredSample]:
        """The samples with the labels of the role alone."""
        return [dataclasses.replace(sample, label_ids=(sample.label_ids[self._field],)) for sample in samples]

    def read(self, rows: Sequence[dict[str, Any]], samples: Sequence[StoredSample]) -> Any:
        """The labels of the role on some samples."""
        read = self.family.read(self.rows(rows), self.samples(samples))
        if not self._needs_label or read.drew is None:
            return read.labels
        # nobody says that it is there on other samples
        return dataclasses.replace(read.labels, batch=dataclasses.replace(read.labels.batch, assigned=read.drew))

    def without(self, labels: Any, kept: BoolArray) -> Any:
        """The labels of some of the samples."""
        return self.family.without(labels, kept)

    def details(self) -> dict[str, Any]:
        """Entries on the role in the context of a report."""
        role = self.role
        return {
            "name": role.name,
            "is_model": role.is_model,
            "of_attribute": role.of_attribute,
            "thresholds": list(role.thresholds),
            **({} if role.decided is None else {"decided": role.decided}),
        }


class FamilyWithRoles(LabelFamily[WithRoles[Labels], Result]):
    """A family that reads, compares and writes the labels of roles beside those of annotators.

    What is found, computed and written of annotators is that of a run without roles.

    Args:
        inner: the family of the annotators' labels
        codes: codes of the classes of all roles
        readers: reads the labels of every role, each with a family of its own
    """

    def __init__(self, inner: LabelFamily[Labels, Any], codes: ClassCodes, readers: Sequence[RoleRows]) -> None:
        self.source, self.inner, self.role_codes, self.readers = inner.source, inner, codes, readers

    def check(self) -> None:
        """Refuse labels that cannot be compared."""
        self.inner.check()
        check_roles(self.source)
        with ThreadPoolExecutor() as threads:  # each waits for queries
            list(threads.map(lambda reader: reader.family.check(), self.readers))

    def projection(self) -> dict[str, Any]:
        """Projection of the annotators' labels and of the labels of every role."""
        projection = self.inner.projection()
        for reader in self.readers:
            projection |= reader.projection()
            if reader.role.log is not None:
                projection[_DECIDED] = f"${reader.role.log}.labels"
        return projection

    def decided_labels(self, rows: Sequence[dict[str, Any]]) -> list[set[str]] | None:
        """Ids of the labels that were decided on every sample; None if the reference holds no decisions."""
        if all(reader.role.log is None for reader in self.readers):
            return None
        return [{name[-_ID_LENGTH:] for names in row.get(_DECIDED) or () for name in names} for row in rows]

    def load(self, row: dict[str, Any]) -> int:
        """Number of labels."""
        return self.inner.load(row) + sum(reader.family.load(reader.rows([row])[0]) for reader in self.readers)

    def read(self, rows: list[dict[str, Any]], samples: list[StoredSample]) -> LabelsRead[WithRoles[Labels]]:
        """The labels of query results."""
        read = self.inner.read(rows, samples)
        labels = WithRoles(read.labels, [reader.read(rows, samples) for reader in self.readers])
        return dataclasses.replace(read, labels=labels)  # type: ignore[arg-type, return-value]

    def without(self, labels: WithRoles[Labels], kept: BoolArray) -> WithRoles[Labels]:
        """The labels of some of the samples."""
        roles = [reader.without(each, kept) for reader, each in zip(self.readers, labels.roles, strict=True)]
        return WithRoles(self.inner.without(labels.own, kept), roles)

    def compute(self, labels: WithRoles[Labels]) -> Result:
        """The agreement of the annotators."""
        found: Result = self.inner.compute(labels.own)
        return found

    def role_columns(self, labels: WithRoles[Labels], result: Result) -> Columns:
        """The columns of the records on roles."""
        raise NotImplementedError

    def record(self, labels: WithRoles[Labels], result: Result) -> Records:
        """The records of a batch."""
        records = self.inner.record(labels.own, self.own(result))
        return dataclasses.replace(records, parts=({**records.parts[0], **self.role_columns(labels, result)},))

    def own(self, result: Result) -> Any:
        """The agreement of the annotators in the result of a batch."""
        return result

    def code_names(self) -> CodeNames:
        """The classes and attribute values that were read so far."""
        return dataclasses.replace(self.inner.code_names(), roles=self.role_codes.looked_up())

    def context(self, run: RunFacts) -> ReportContext:
        """The context of the report."""
        context = self.inner.context(run)
        details = {**context.details, "roles": [reader.details() for reader in self.readers]}
        return dataclasses.replace(context, details=details, role_class_names=self.role_codes.names())


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
    there = pairs.kind <= WRONG_CLASS
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
