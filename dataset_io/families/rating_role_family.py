"""Read, compare and write classes and numbers of a reference and of models beside those of the annotators."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...agreement.ratings.compute import RatingAgreement, agreeing
from ...agreement.roles.matching import SAID
from ...agreement.statistics.codes import ClassCodes
from ...agreement.statistics.records import Records, compact
from ...agreement.statistics.report import ReportContext
from ...metrics.numeric.arrays import BoolArray, FloatArray
from ...names import REFERENCE
from ..labels.source import Role, Source
from ..labels.stored import StoredSample
from .protocol import LabelsRead
from .ratings import RatingFamily, RatingLabels
from .role_rows import FamilyWithRoles, RoleRows


@dataclass(frozen=True, slots=True)
class RatingsWithRoles:
    """The ratings of annotators, and of every role, on some samples."""

    own: RatingLabels
    roles: FloatArray  #: shape ``(S, roles)``, in the codes of the classes of roles; nan where there is none


class _RatingRole(RoleRows):
    """Reads the ratings of one role."""

    def __init__(self, source: Source, role: Role, number: int, codes: ClassCodes) -> None:
        self.ratings = RatingFamily(source.of_role(role))
        self.ratings.codes = codes
        super().__init__(source, role, number, self.ratings)

    def projection(self) -> dict[str, Any]:
        found = super().projection()
        if self.least_confidence is not None:
            found[f"role{self.number}_confidence"] = f"${self.path}.confidence"
        return found

    def read(self, rows: list[dict[str, Any]], samples: list[StoredSample]) -> FloatArray:
        """The ratings of the role, shape ``(S,)``."""
        ratings = self.ratings.read(self.rows(rows), self.samples(samples)).labels.ratings[:, 0]
        if self.least_confidence is not None:
            given = [row.get(f"role{self.number}_confidence") or 0.0 for row in rows]
            ratings = np.where(np.array(given) >= self.least_confidence, ratings, np.nan)
        return ratings


class RatingRoleFamily(FamilyWithRoles[RatingsWithRoles, RatingAgreement]):
    """The ratings of annotators, compared with each other as without roles, and those of roles beside them."""

    def __init__(self, inner: RatingFamily, known: ReportContext | None = None) -> None:
        self._inner, source = inner, inner.source
        codes = ClassCodes(source.config.aliases, () if known is None else known.role_class_names)
        self._readers = [_RatingRole(source, role, k, codes) for k, role in enumerate(source.roles)]
        super().__init__(inner, codes, self._readers)

    def load(self, row: dict[str, Any]) -> int:
        """Number of ratings."""
        return self._inner.load(row) + len(self._readers)

    def read(self, rows: list[dict[str, Any]], samples: list[StoredSample]) -> LabelsRead[RatingsWithRoles]:
        """The ratings of query results."""
        read = self._inner.read(rows, samples)
        roles = np.column_stack([reader.read(rows, samples) for reader in self._readers])
        return dataclasses.replace(read, labels=RatingsWithRoles(read.labels, roles))  # type: ignore[arg-type, return-value]

    def without(self, labels: RatingsWithRoles, kept: BoolArray) -> RatingsWithRoles:
        """The ratings of some of the samples."""
        return RatingsWithRoles(self._inner.without(labels.own, kept), labels.roles[kept])

    def compute(self, labels: RatingsWithRoles) -> RatingAgreement:
        """The agreement of the annotators."""
        return self._inner.compute(labels.own)

    def values(self, labels: RatingsWithRoles, result: RatingAgreement) -> list[dict[str, Any]]:
        """The values of every sample by path."""
        updates, config = self._inner.values(labels.own, result), self.source.config
        if config.reference is None:
            return updates
        true = labels.roles[:, 0]
        tolerance = config.tolerance
        if not self._inner.numbers:
            codes, tolerance = np.append(self._role_codes.codes_in(self._inner.codes), 0).astype(np.float64), 0.0
            true = np.where(np.isnan(true), np.nan, codes[np.nan_to_num(true).astype(np.int64)])
        right = agreeing(result.ratings, true[:, None], tolerance)
        judged = ~np.isnan(result.ratings) & ~np.isnan(true)[:, None]
        places = zip(self.source.kinds, self.source.label_paths, self.source.field_annotator, strict=True)
        for kind, path, annotator in places:
            for k in np.flatnonzero(judged[:, annotator]).tolist() if kind.is_label else ():
                updates[k][f"{path}.{config.run_key}{REFERENCE}"] = SAID[int(not right[k, annotator])]
        return updates

    def record(self, labels: RatingsWithRoles, result: RatingAgreement) -> Records:
        """The records of a batch."""
        records = self._inner.record(labels.own, result)
        table = labels.roles if self._inner.numbers else compact(np.nan_to_num(labels.roles).astype(np.int64))
        return dataclasses.replace(records, parts=({**records.parts[0], "role_ratings": table},))
