"""What families of labels with a reference and models share: reading the labels of each role, beside annotators'."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ...agreement.statistics.codes import ClassCodes, CodeNames
from ...agreement.statistics.report import ReportContext, RunFacts
from ..labels.roles import check_roles
from ..labels.source import Role, Source
from ..labels.stored import StoredSample
from .protocol import LabelFamily, Labels, Result

#: parts of a query result that all readers of a sample need
_OF_SAMPLES = ("size", "assigned", "video", "_sample_id", "frame_number")


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
        self.path = source.paths_read[self._field]
        self._projection = {name: value for name, value in family.projection().items() if name not in _OF_SAMPLES}

    def projection(self) -> dict[str, Any]:
        """Projection of a document, with names of its own."""
        return {f"role{self.number}_{name}": value for name, value in self._projection.items()}

    def rows(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The query results as those of a source with the role alone."""
        place, prefix = f"id{self._field}", f"role{self.number}_"
        found = []
        for row in rows:
            own = {name: row[prefix + name] for name in self._projection}
            own |= {name: row[name] for name in _OF_SAMPLES if name in row}
            if "labelled" in row:
                own["labelled"] = row["labelled"][self._field : self._field + 1]
            found.append({**own, "id0": row[place]})
        return found

    def samples(self, samples: Sequence[StoredSample]) -> list[StoredSample]:
        """The samples with the labels of the role alone."""
        return [dataclasses.replace(sample, label_ids=(sample.label_ids[self._field],)) for sample in samples]

    @property
    def least_confidence(self) -> float | None:
        """Least confidence of the labels that are compared, if there is one for all images."""
        return self.role.thresholds[0] if self.role.thresholds else None

    def details(self) -> dict[str, Any]:
        """What the context of a report holds of the role."""
        role = self.role
        return {
            "name": role.name,
            "is_model": role.is_model,
            "of_attribute": role.of_attribute,
            "thresholds": list(role.thresholds),
        }


class FamilyWithRoles(LabelFamily[Labels, Result]):
    """A family that reads, compares and writes the labels of roles beside those of annotators.

    Args:
        inner: the family of the annotators' labels
        codes: codes of the classes of all roles
        readers: reads the labels of every role, each with a family of its own
    """

    def __init__(self, inner: LabelFamily[Any, Any], codes: ClassCodes, readers: Sequence[RoleRows]) -> None:
        self.source, self._family, self._role_codes, self._roles = inner.source, inner, codes, readers

    def check(self) -> None:
        """Refuse labels that cannot be compared."""
        self._family.check()
        check_roles(self.source)
        for reader in self._roles:
            reader.family.check()

    def projection(self) -> dict[str, Any]:
        """What is read of the annotators' labels, then of every role."""
        projection = self._family.projection()
        for reader in self._roles:
            projection |= reader.projection()
        return projection

    def code_names(self) -> CodeNames:
        """The classes and attribute values that were read so far."""
        return dataclasses.replace(self._family.code_names(), roles=self._role_codes.looked_up())

    def context(self, run: RunFacts) -> ReportContext:
        """The context of the report."""
        context = self._family.context(run)
        details = {**context.details, "roles": [reader.details() for reader in self._roles]}
        return dataclasses.replace(context, details=details, role_class_names=self._role_codes.names())
