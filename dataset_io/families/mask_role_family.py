"""Read, compare and write semantic masks of a reference and of models beside those of the annotators."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ...agreement.pixels.compute import PixelAgreement, TooManyValuesError, compare_masks
from ...agreement.pixels.counts import SampleMasks
from ...agreement.roles.mask_roles import RoleAreas
from ...agreement.statistics.codes import ClassCodes
from ...agreement.statistics.records import Columns
from ...agreement.statistics.report import ReportContext
from ...metrics.numeric.arrays import BoolArray
from ...names import REFERENCE_IOU
from ..labels.mask_checks import check_same_shape, masks_error
from ..labels.mask_reading import PhotographError, UnusableMaskError, read_mask
from ..labels.roles import check_roles
from ..labels.source import Role
from ..labels.stored import StoredSample
from .pixels import PixelFamily, PixelLabels, n_workers
from .role_rows import FamilyWithRoles, RoleRows, WithRoles
from .role_values import write_of_annotators

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
