"""Read, compare and write classes, numbers, tags and masks of a reference and of models."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agreement.pixels.compute import PixelAgreement, TooManyValuesError, compare_masks
from ...agreement.pixels.counts import SampleMasks
from ...agreement.ratings.compute import RatingAgreement, agreeing
from ...agreement.roles.given_labels import RoleAreas, given_columns
from ...agreement.roles.matching import EXTRA, RIGHT, SAID, WRONG_CLASS
from ...agreement.statistics.codes import ClassCodes
from ...agreement.statistics.records import Columns, compact
from ...agreement.statistics.report import ReportContext
from ...agreement.tags.compute import TagAgreement, first_labels
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ...names import REFERENCE, REFERENCE_F1, REFERENCE_IOU
from ..labels.mask_reading import PhotographError, UnusableMaskError, check_same_shape, masks_error, read_mask
from ..labels.roles import check_roles
from ..labels.source import Role
from ..labels.stored import StoredSample
from .family_with_roles import FamilyWithRoles, RoleRows, WithRoles, write_missed, write_of_annotators
from .pixels import PixelFamily, PixelLabels, n_workers
from .protocol import Labels, LabelsRead, Result
from .ratings import RatingFamily, RatingLabels
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


#: the mask of every annotator with that of a role, by annotator; None where the role has no mask
_Compared = dict[int, SampleMasks] | None


class _MaskRole(RoleRows):
    """Reads the masks of one role, and compares each with those of the annotators."""

    def __init__(self, inner: PixelFamily, role: Role, number: int) -> None:
        self._masks, self._inner = PixelFamily(inner.source.of_role(role)), inner
        super().__init__(inner.source, role, number, self._masks)

    def read(self, rows: Sequence[dict[str, Any]], samples: Sequence[StoredSample]) -> list[_Compared]:
        """The compared masks of every sample."""
        with ThreadPoolExecutor(n_workers(), "agreement-role") as workers:
            compared = list(workers.map(self._compare, rows, self.rows(rows)))
        problems = [(sample.title, error) for sample, (_, error) in zip(samples, compared, strict=True) if error]
        if problems and self._inner.source.config.invalid == "error":
            raise masks_error(problems)
        return [found for found, _ in compared]

    def _compare(self, row: dict[str, Any], own: dict[str, Any]) -> tuple[_Compared, UnusableMaskError | None]:
        """Masks of one sample, and the defect of that of the role, if any."""
        inner, config = self._inner, self._inner.source.config
        stored, error = self._masks.stored_mask(own, 0), None
        if stored is None:
            return None, None
        try:
            true = read_mask(stored)
        except UnusableMaskError as problem:
            return None, problem
        found: dict[int, SampleMasks] = {}
        for field in inner.present(row):
            mask = inner.stored_mask(row, field)
            try:
                drawn = None if mask is None else read_mask(mask)
            except UnusableMaskError:  # it is none of the annotators' masks
                drawn = None
            if drawn is None:
                continue
            try:
                check_same_shape({config.fields[field]: drawn.shape, self.role.name: true.shape}, inner.is_rgb)
                pair, areas_alone = (drawn.values, true.values), dataclasses.replace(config, boundaries=False)
                found[inner.source.field_annotator[field]] = compare_masks(pair, (0, 1), inner.meaning, areas_alone)
            except UnusableMaskError as problem:
                error = problem
            except TooManyValuesError as problem:
                error = PhotographError(str(problem))
        return found, error

    def without(self, labels: list[_Compared], kept: BoolArray) -> list[_Compared]:
        """The masks of some of the samples."""
        return [found for found, keep in zip(labels, kept.tolist(), strict=True) if keep]


class MaskRoleFamily(FamilyWithRoles[PixelLabels, PixelAgreement]):
    """The masks of annotators, and those of roles beside them."""

    inner: PixelFamily

    def __init__(self, inner: PixelFamily, known: ReportContext | None = None) -> None:
        super().__init__(inner, ClassCodes(), [_MaskRole(inner, role, k) for k, role in enumerate(inner.source.roles)])

    def check(self) -> None:
        """Refuse options and masks that cannot be used; sizes and mask targets must be those of the annotators."""
        check_roles(self.source)
        config, n = self.source.config, len(self.source.kinds_read)
        config = dataclasses.replace(config, fields=(*config.fields, *config.roles), reference=None, models=())
        everybody = dataclasses.replace(self.source, config=config, kinds=self.source.kinds_read, roles=(),
                                        annotators=config.fields, field_annotator=tuple(range(n)))  # fmt: skip
        family = PixelFamily(everybody)
        family.check()
        self.inner.is_rgb = family.is_rgb

    def _areas(self, labels: WithRoles[PixelLabels], roles: Sequence[list[_Compared]]) -> RoleAreas:
        """The areas of the masks of annotators whose masks count."""
        assigned = labels.own.batch.assigned
        return RoleAreas.of(
            [
                (sample, role, annotator, masks)
                for sample in range(len(assigned))
                for role, compared in enumerate(roles)
                for annotator, masks in sorted((compared[sample] or {}).items())
                if assigned[sample, annotator]
            ]
        )

    def values(self, labels: WithRoles[PixelLabels], result: PixelAgreement) -> list[dict[str, Any]]:
        """The values of every sample by path."""
        updates, source = self.inner.values(labels.own, result), self.source
        if source.config.reference is None:
            return updates
        shape, background = labels.own.batch.assigned.shape, self.inner.meaning.background
        iou = self._areas(labels, labels.roles[:1]).iou_of_images(shape, background, source.config)
        write_of_annotators(source, REFERENCE_IOU, iou, updates)
        for path, annotator in zip(source.label_paths, source.field_annotator, strict=True):
            for k in np.flatnonzero(~np.isnan(iou[:, annotator])).tolist():
                updates[k][f"{path}.{source.config.run_key}{REFERENCE_IOU}"] = float(iou[k, annotator])
        return updates

    def role_columns(self, labels: WithRoles[PixelLabels], result: PixelAgreement) -> Columns:
        """The columns of the records on roles."""
        present = np.array([[found is not None for found in role] for role in labels.roles], np.bool_).T
        return self._areas(labels, labels.roles).columns(present)
