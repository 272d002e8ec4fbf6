"""Read, compare and write the objects of a reference and of models in the pass over those of the annotators."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...agreement.matching.batch import Batch
from ...agreement.matching.compute import MatchedBatch
from ...agreement.roles.matching import MatchedRole, matched_role, role_columns
from ...agreement.roles.person import left_out_columns
from ...agreement.statistics.codes import ClassCodes
from ...agreement.statistics.records import Columns
from ...agreement.statistics.report import ReportContext, RunFacts
from ...metrics.numeric.arrays import BoolArray, IntArray
from ..labels.source import Role, Source
from ..labels.stored import StoredSample, half_of, id_bytes
from .family_with_roles import FamilyWithRoles, RoleRows, WithRoles, role_values
from .objects import ObjectFamily, ObjectLabels
from .protocol import LabelsRead


@dataclass(frozen=True, slots=True)
class ComparedRoles:
    """The agreement of annotators, and every role against them."""

    own: MatchedBatch
    roles: list[MatchedRole]


class RoleReader(RoleRows):
    """Reads the labels of one role from the query results on the samples of a run.

    Args:
        source: the labels of the annotators
        role: the role
        number: its number
        inner: reads the labels of the annotators
        known: the context of an earlier run, where only some samples are read
        codes: codes of the classes of all roles
    """

    def __init__(
        self,
        source: Source,
        role: Role,
        number: int,
        inner: ObjectFamily,
        known: ReportContext | None,
        codes: ClassCodes,
    ) -> None:
        if known is not None:
            details = known.details["roles"][number]
            known = dataclasses.replace(known, class_names=known.role_class_names, details=details)
        of_role = source.of_role(role)
        family = ObjectFamily(of_role, known)
        if family.in_pixels and not inner.in_pixels:  # annotators who drew boxes are compared with boxes
            of_role = dataclasses.replace(of_role, config=dataclasses.replace(of_role.config, geometry="box"))
            family = ObjectFamily(of_role, known)
        family.in_pixels = inner.in_pixels
        family.codes, family.attribute_codes = codes, inner.attribute_codes
        family.reads_confidence, family.needs_attributes = role.is_model, False
        self.objects = family
        super().__init__(source, role, number, family)

    def read(self, rows: Sequence[dict[str, Any]], samples: Sequence[StoredSample]) -> ObjectLabels:
        """The labels of the role on some samples."""
        labels: ObjectLabels = super().read(rows, samples)
        if not self.role.thresholds:
            return labels
        least = np.array(self.role.thresholds)[half_of(samples)][labels.batch.objects.sample]
        return self.objects.among(labels, labels.confidence >= least)

    def details(self) -> dict[str, Any]:
        """Entries on the role in the context of a report."""
        return {**super().details(), **self.objects.context(RunFacts()).details}


class RoleFamily(FamilyWithRoles[ObjectLabels, ComparedRoles]):
    """The objects of annotators, compared with each other as without roles, and those of roles beside them."""

    inner: ObjectFamily

    def __init__(self, inner: ObjectFamily, known: ReportContext | None = None) -> None:
        source = inner.source
        codes = inner.codes_of(known.role_class_names) if known is not None else ClassCodes(source.config.aliases)
        readers = [RoleReader(source, role, number, inner, known, codes) for number, role in enumerate(source.roles)]
        super().__init__(inner, codes, readers)

    def read(self, rows: list[dict[str, Any]], samples: list[StoredSample]) -> LabelsRead[WithRoles[ObjectLabels]]:
        """The labels of query results."""
        read, decided = super().read(rows, samples), self.decided_labels(rows)
        if decided is None:
            return read
        own = read.labels.own
        of_labels = zip(own.batch.objects.sample.tolist(), own.label_ids, strict=True)
        undecided = np.array([str(label_id) not in decided[sample] for sample, label_id in of_labels], np.bool_)
        return dataclasses.replace(read, labels=dataclasses.replace(read.labels, undecided=undecided))

    def without(self, labels: WithRoles[ObjectLabels], kept: BoolArray) -> WithRoles[ObjectLabels]:
        """The labels of some of the samples."""
        undecided = labels.undecided
        if undecided is not None:
            undecided = undecided[kept[labels.own.batch.objects.sample]]
        return dataclasses.replace(super().without(labels, kept), undecided=undecided)

    def compute(self, labels: WithRoles[ObjectLabels]) -> ComparedRoles:
        """The agreement of annotators, and every role against them."""
        own = self.inner.compute(labels.own)
        read: Batch = labels.own.batch
        codes = self.class_codes()
        roles = [
            matched_role(own, read, each.batch, codes, id_bytes(each.label_ids), each.position, each.confidence,
                         self.source.config, None if role.log is None else labels.undecided)
            for role, each in zip(self.source.roles, labels.roles, strict=True)
        ]  # fmt: skip
        return ComparedRoles(own, roles)

    def class_codes(self) -> IntArray:
        """For every code of the classes of roles, the code of the annotators' classes."""
        return self.role_codes.codes_in(self.inner.codes)

    def values(self, labels: WithRoles[ObjectLabels], result: ComparedRoles) -> list[dict[str, Any]]:
        """The values of every sample by path."""
        updates = self.inner.values(labels.own, result.own)
        role_values(self.source, labels.own, result.own, result.roles, updates)
        return updates

    def own(self, result: ComparedRoles) -> MatchedBatch:
        """The agreement of the annotators."""
        return result.own

    def role_columns(self, labels: WithRoles[ObjectLabels], result: ComparedRoles) -> Columns:
        """The columns of the records on roles."""
        columns = role_columns(result.roles, result.own.n_objects)
        if self.source.config.models:
            columns |= left_out_columns(result.own, self.source.config)
        return columns
