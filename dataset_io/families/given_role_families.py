"""Read, compare and write classes, numbers and tags of a reference and of models beside those of the annotators."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agreement.ratings.compute import RatingAgreement, agreeing
from ...agreement.roles.given_labels import given_columns
from ...agreement.roles.matching import EXTRA, RIGHT, SAID, WRONG_CLASS
from ...agreement.statistics.codes import ClassCodes
from ...agreement.statistics.records import Columns, compact
from ...agreement.statistics.report import ReportContext
from ...agreement.tags.compute import TagAgreement, first_labels
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ...names import REFERENCE, REFERENCE_F1
from ..labels.stored import StoredSample
from .protocol import Labels, LabelsRead, Result
from .ratings import RatingFamily, RatingLabels
from .role_rows import FamilyWithRoles, RoleRows, WithRoles
from .role_values import write_missed, write_of_annotators
from .tags import TagFamily, TagLabels, counted_labels


class _GivenLabels(FamilyWithRoles[Labels, Result]):
    """The labels of every role are read by a family of its own, all with the same codes."""

    def __init__(self, inner: Any, known: ReportContext | None = None) -> None:
        codes = ClassCodes(inner.source.config.aliases, () if known is None else known.role_class_names)
        readers = []
        for number, role in enumerate(inner.source.roles):
            family = type(inner)(inner.source.of_role(role))
            family.codes = codes
            readers.append(RoleRows(inner.source, role, number, family))
        super().__init__(inner, codes, readers)


class RatingRoleFamily(_GivenLabels[RatingLabels, RatingAgreement]):
    """The ratings of annotators, and those of roles beside them."""

    inner: RatingFamily

    def values(self, labels: WithRoles[RatingLabels], result: RatingAgreement) -> list[dict[str, Any]]:
        """The values of every sample by path."""
        updates, config = self.inner.values(labels.own, result), self.source.config
        if config.reference is None:
            return updates
        true: FloatArray = labels.roles[0].ratings[:, 0]
        tolerance = config.tolerance
        if not self.inner.numbers:
            codes, tolerance = np.append(self.role_codes.codes_in(self.inner.codes), 0).astype(np.float64), 0.0
            true = np.where(np.isnan(true), np.nan, codes[np.nan_to_num(true).astype(np.int64)])
        right = agreeing(result.ratings, true[:, None], tolerance)
        judged = ~np.isnan(result.ratings) & ~np.isnan(true)[:, None]
        places = zip(self.source.kinds, self.source.label_paths, self.source.field_annotator, strict=True)
        for kind, path, annotator in places:
            for k in np.flatnonzero(judged[:, annotator]).tolist() if kind.is_label else ():
                updates[k][f"{path}.{config.run_key}{REFERENCE}"] = SAID[RIGHT if right[k, annotator] else WRONG_CLASS]
        return updates

    def role_columns(self, labels: WithRoles[RatingLabels], result: RatingAgreement) -> Columns:
        """The columns of the records on roles."""
        table = np.column_stack([each.ratings[:, 0] for each in labels.roles])
        table = table if self.inner.numbers else compact(np.nan_to_num(table).astype(np.int64))
        columns, n_samples = {"role_ratings": table}, len(table)
        ids = [each.label_ids for each in labels.roles]
        if any(each is not None for each in ids):
            none = np.zeros((n_samples, 1, 12), np.uint8)
            columns["role_label_id"] = np.concatenate([none if each is None else each for each in ids], axis=1)
        return columns


class TagRoleFamily(_GivenLabels[TagLabels, TagAgreement]):
    """The tags of annotators, and those of roles beside them."""

    inner: TagFamily

    def read(self, rows: list[dict[str, Any]], samples: list[StoredSample]) -> LabelsRead[WithRoles[TagLabels]]:
        """The labels of query results; decisions are no reference where somebody gave a tag that nobody decided."""
        read, decided = super().read(rows, samples), self.decided_labels(rows)
        if decided is None:
            return read
        own, roles = read.labels.own, list(read.labels.roles)
        complete = np.ones((len(samples), 1), np.bool_)
        columns = (column.tolist() for column in (own.batch.sample, own.field, own.position))
        for sample, field, position in zip(*columns, strict=True):
            complete[sample] &= str((samples[sample].label_ids[field] or ())[position]) in decided[sample]
        for number, reader in enumerate(self.readers):
            if reader.role.log is not None:
                batch = roles[number].batch
                roles[number] = dataclasses.replace(
                    roles[number], batch=dataclasses.replace(batch, assigned=batch.assigned & complete)
                )
        return dataclasses.replace(read, labels=dataclasses.replace(read.labels, roles=roles))

    def values(self, labels: WithRoles[TagLabels], result: TagAgreement) -> list[dict[str, Any]]:
        """The values of every sample by path."""
        updates, source = self.inner.values(labels.own, result), self.source
        if source.config.reference is None:
            return updates
        own, reference = labels.own, labels.roles[0]
        drawn, true = own.batch, reference.batch
        tag = self.role_codes.codes_in(self.inner.codes)[true.tag]
        n_tags = int(max(drawn.tag.max(initial=0), tag.max(initial=0))) + 1
        wanted, given = true.sample * n_tags + tag, drawn.sample * n_tags + drawn.tag
        right, judged = np.isin(given, wanted), np.flatnonzero(true.assigned[drawn.sample, 0] & counted_labels(drawn))
        columns = (drawn.sample[judged], own.field[judged], own.position[judged], right[judged])
        for sample, field, position, is_right in zip(*(column.tolist() for column in columns), strict=True):
            path = f"{source.label_paths[field]}.{position}.{source.config.run_key}{REFERENCE}"
            updates[sample][path] = SAID[RIGHT] if is_right else EXTRA
        both: BoolArray = drawn.assigned & true.assigned
        shape, n_annotators = both.shape, both.shape[1]
        by_annotator = given * n_annotators + drawn.annotator
        missed = both[true.sample] & ~np.isin(wanted[:, None] * n_annotators + np.arange(n_annotators), by_annotator)
        missed &= counted_labels(true)[:, None]
        write_missed(source, source.roles[0], (true.sample, reference.position), missed, updates)
        first = first_labels(drawn)  # who gave a tag twice gave it once
        cell = drawn.sample[first] * n_annotators + drawn.annotator[first]
        n_given, n_right = (np.bincount(cell[kept], minlength=both.size) for kept in (slice(None), right[first]))
        n_wanted = np.bincount(np.unique(wanted) // n_tags, minlength=len(both))
        n_both = n_given.reshape(shape) + n_wanted[:, None]
        f1 = np.where(both & (n_both > 0), 2.0 * n_right.reshape(shape) / np.maximum(n_both, 1), np.nan)
        write_of_annotators(source, REFERENCE_F1, f1, updates)
        return updates

    def role_columns(self, labels: WithRoles[TagLabels], result: TagAgreement) -> Columns:
        """The columns of the records on roles."""
        return given_columns([_different(each) for each in labels.roles])


def _different(labels: TagLabels) -> tuple[BoolArray, IntArray, IntArray, NDArray[np.uint8]]:
    """Samples with labels of a role; sample, code and id of its tags, each once, in the order of the database."""
    batch, first = labels.batch, np.sort(first_labels(labels.batch))
    return batch.assigned[:, 0], batch.sample[first], batch.tag[first], labels.label_ids[first]
