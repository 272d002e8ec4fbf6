"""Compare classes, numbers, tags and masks of annotators with those of a role (a reference or model)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...metrics.geometry.objects import iou_from_areas
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..pixels.counts import MaskValues, SampleMasks, are_classes
from ..ratings.compute import agreeing
from ..settings.config import AgreementConfig
from ..statistics.records import Columns, Records, compact, packed, unpacked
from ..statistics.report import ReportContext
from .matching import RIGHT, WRONG_CLASS, RolePairs, StoredRole
from .numbers import AgainstRole, Entry, class_table, role_names, sums_of_entries


@dataclass(frozen=True)
class AgainstGiven(AgainstRole):
    """Labels without a place: a sample has one of an annotator (a class or number), or several different ones (tags).

    Attributes:
        values: shape ``(N,)``, places of the annotators' classes among those of annotators and roles, or numbers
    """

    values: NDArray[Any] = field(kw_only=True)

    @classmethod
    def of(cls, records: Records, context: ReportContext, role: int) -> AgainstGiven:
        """One of the roles of a run."""
        names = role_names(context)
        present, sample, row, given = _given(records, role, len(names))
        _, of_annotators, of_roles = class_table(context)
        drawn = records.labels()[2]
        if drawn.dtype.kind != "f":
            drawn, given = of_annotators[drawn.astype(np.int64)], of_roles[given.astype(np.int64)]
        return cls._of_values(records, context, (present, sample, row, given), drawn, names[role][1], None)

    @classmethod
    def of_annotator(cls, records: Records, context: ReportContext, annotator: int) -> AgainstGiven:
        """An annotator in the place of the role, with the others, on samples that they were assigned to."""
        sample, who, drawn = records.labels()
        if drawn.dtype.kind != "f":
            drawn = class_table(context)[1][drawn.astype(np.int64)]
        row = np.flatnonzero(who == annotator)
        own = records.assigned[:, annotator], sample[row], row, drawn[row]
        return cls._of_values(records, context, own, drawn, False, annotator)

    @classmethod
    def _of_values(
        cls,
        records: Records,
        context: ReportContext,
        role: tuple[BoolArray, IntArray, IntArray, NDArray[Any]],
        drawn: NDArray[Any],
        is_model: bool,
        annotator: int | None,
    ) -> AgainstGiven:
        present, of_role, row, given = role
        sample, who, _ = records.labels()
        key, wanted = of_role, sample
        if cls is AgainstTags:  # a tag is paired with the same tag alone
            n = int(max(drawn.max(initial=0), given.max(initial=0))) + 1
            key, wanted = of_role * n + given, sample * n + drawn
        order = np.argsort(key, kind="stable")
        place = np.append(order, -1)[np.searchsorted(key[order], wanted)]
        others = who != annotator
        own = np.flatnonzero((np.append(key, -1)[place] == wanted) & others)
        label = place[own]
        tolerance = context.config.tolerance if drawn.dtype.kind == "f" else 0.0
        kind = np.where(agreeing(drawn[own], given[label], tolerance), RIGHT, WRONG_CLASS)
        pairs = RolePairs(label, own, who[own], kind, np.ones(len(own)))
        stored = StoredRole(present, row, of_role, given, pairs)
        return cls(records, context, stored, is_model, annotator=annotator, values=drawn)

    @cached_property
    def classes(self) -> tuple[list[str], IntArray, IntArray]:
        """Names of the classes, and the places of the classes of all labels, of annotators and of the role."""
        return class_table(self.context)[0], self.values, self.stored.category

    def titles(self) -> dict[str, Sequence[str]]:
        """The classes: these labels have no size."""
        return {"classes": self.classes[0]}


class AgainstTags(AgainstGiven):
    """Tags."""

    shown: ClassVar[Mapping[str, str]] = {name: name for name in ("precision", "recall", "f1", "jaccard")}
    of_parts: ClassVar[Mapping[str, str]] = {name: name for name in ("precision", "recall", "f1", "class_jaccard")}
    has_kappa: ClassVar[bool] = False


class AgainstClasses(AgainstGiven):
    """Classes of samples."""

    shown: ClassVar[Mapping[str, str]] = {"accuracy": "accuracy"}
    of_image: ClassVar[tuple[str, str]] = ("accuracy", "accuracy")
    of_parts: ClassVar[Mapping[str, str]] = AgainstTags.of_parts


class AgainstNumbers(AgainstGiven):
    """Numbers of samples."""

    shown: ClassVar[Mapping[str, str]] = {name: name for name in ("accuracy", "mean_error", "mean_absolute_error")}
    of_image: ClassVar[tuple[str, str]] = AgainstClasses.of_image
    of_parts: ClassVar[Mapping[str, str]] = {}
    has_kappa: ClassVar[bool] = False
    has_persons: ClassVar[bool] = False

    def measured(self) -> Iterator[tuple[str, IntArray, FloatArray | None]]:
        """The errors."""
        pairs = self.stored.pairs
        error: FloatArray = self.values[pairs.drawn] - self.stored.category[pairs.label]
        for name, values in (("n_numbers", None), ("error", error), ("absolute_error", np.abs(error))):
            yield name, self.matched, values


def given_columns(roles: Sequence[tuple[BoolArray, IntArray, IntArray, NDArray[np.uint8]]]) -> Columns:
    """Tags of all roles as columns of stored records: who has which samples, then sample, class and id of every tag."""
    n_samples = len(roles[0][0])
    sample, category, ids = (np.concatenate([role[k] for role in roles]) for k in (1, 2, 3))
    number = np.repeat(np.arange(len(roles)), [len(role[1]) for role in roles])
    order = np.argsort(sample, kind="stable")
    return {
        "role_present": packed(np.column_stack([role[0] for role in roles])),
        "n_role_labels": compact(np.bincount(sample, minlength=n_samples)),
        "role": compact(number[order]),
        "role_category": compact(category[order]),
        "role_label_id": ids[order],
    }


def _given(records: Records, role: int, n_roles: int) -> tuple[BoolArray, IntArray, IntArray, NDArray[Any]]:
    """Samples that a role has ``(S,)``; sample, row and class code or number of each of its labels ``(M,)``."""
    if "role_ratings" in records.parts[0]:
        table = records.column("role_ratings")[:, role]
        present: BoolArray = ~np.isnan(table) if table.dtype.kind == "f" else table > 0
        sample = np.flatnonzero(present)
        return present, sample, sample, table[sample]
    row = np.flatnonzero(records.column("role") == role)
    sample = np.repeat(np.arange(records.n_samples), records.column("n_role_labels"))
    present = unpacked(records.column("role_present"), n_roles)[:, role]
    return present, sample[row], row, records.column("role_category")[row].astype(np.int64)


@dataclass(frozen=True, slots=True)
class RoleAreas:
    """Pixels of every value that a role or an annotator gave, by sample, role and annotator; shapes ``(V,)``."""

    sample: IntArray
    role: IntArray  #: number of the role
    annotator: IntArray
    value: IntArray
    drawn: IntArray  #: pixels in the mask of the annotator
    wanted: IntArray  #: pixels in the mask of the role
    shared: IntArray  #: pixels in both

    @classmethod
    def of(cls, compared: Sequence[tuple[int, int, int, SampleMasks]]) -> RoleAreas:
        """From sample, role, annotator, and their two masks, in this order, the role's last."""
        n = [len(masks.values) for *_, masks in compared]
        where = np.repeat(np.array([place for *place, _ in compared], np.int64).reshape(-1, 3), n, axis=0)
        none = np.zeros((4, 0), np.int64)
        areas = [np.stack([masks.values, *masks.areas, *masks.shared]) for *_, masks in compared]
        return cls(*where.T, *np.concatenate([none, *areas], axis=1).astype(np.int64))

    @classmethod
    def of_records(cls, records: Records) -> RoleAreas:
        """Those that are stored."""
        names = [field.name for field in dataclasses.fields(cls)][1:]
        sample = np.repeat(np.arange(records.n_samples), records.column("n_role_areas"))
        return cls(sample, *(records.column(f"area_{name}").astype(np.int64) for name in names))

    def columns(self, present: BoolArray) -> Columns:
        """The columns of stored records; ``present`` ``(S, roles)`` are the samples that every role has."""
        names = [field.name for field in dataclasses.fields(self)][1:]
        return {
            "role_present": packed(present),
            "n_role_areas": compact(np.bincount(self.sample, minlength=len(present))),
            **{f"area_{name}": compact(getattr(self, name)) for name in names},
        }

    def rows(self, kept: BoolArray) -> RoleAreas:
        """Some of the rows, by mask ``(V,)``."""
        return RoleAreas(*(getattr(self, field.name)[kept] for field in dataclasses.fields(self)))

    def iou_of_images(self, shape: tuple[int, int], background: int | None, config: AgreementConfig) -> FloatArray:
        """Mean IoU of the classes that the role or the annotator used on every sample, shape ``(S, R)``.

        Undefined:
            nan where one of the two has no mask, and where both are only background, unless that counts as agreement
        """
        cell = self.sample * shape[1] + self.annotator
        n_cells = shape[0] * shape[1]
        is_class = are_classes(self.value, background)
        iou = iou_from_areas(*(each.astype(np.float64) for each in (self.shared, self.drawn, self.wanted)))
        n = np.bincount(cell[is_class], minlength=n_cells)
        mean = sums_by(cell[is_class], iou[is_class], n_cells) / np.where(n > 0, n, np.nan)
        if config.empty == "agree":
            mean[(n == 0) & (np.bincount(cell, minlength=n_cells) > 0)] = 1.0
        return mean.reshape(shape)


@dataclass(frozen=True)
class AgainstMasks(AgainstRole):
    """Masks, whose pixels are labels: all that both have are matched, and right where the values are equal."""

    areas: RoleAreas = field(kw_only=True)

    shown: ClassVar[Mapping[str, str]] = {"mean_iou": "iou_of_images", "accuracy": "accuracy"}
    of_parts: ClassVar[Mapping[str, str]] = {"precision": "precision", "recall": "recall", "f1": "f1", "iou": "jaccard"}
    of_image: ClassVar[tuple[str, str]] = ("iou_of_images", "iou")
    has_persons: ClassVar[bool] = False

    @classmethod
    def of(cls, records: Records, context: ReportContext, role: int) -> AgainstMasks:
        """One of the roles of a run."""
        names, areas, none = role_names(context), RoleAreas.of_records(records), np.empty(0, np.int64)
        present = unpacked(records.column("role_present"), len(names))[:, role]
        pairs = RolePairs(none, none, none, none, np.empty(0))
        stored = StoredRole(present, none, np.flatnonzero(present), none, pairs)
        return cls(records, context, stored, names[role][1], areas=areas.rows(areas.role == role))

    @cached_property
    def _meaning(self) -> MaskValues:
        return MaskValues.from_dict(self.context.details)

    @cached_property
    def classes(self) -> tuple[list[str], IntArray, IntArray]:
        """The names of all values, and nothing of labels."""
        is_rgb, none = bool(self.context.details["is_rgb"]), np.empty(0, np.int64)
        return [self._meaning.name(value, is_rgb=is_rgb) for value in np.unique(self.areas.value).tolist()], none, none

    def titles(self) -> dict[str, Sequence[str]]:
        """The classes."""
        return {"classes": self.classes[0]}

    def classes_said(self) -> list[tuple[str, Entry]]:
        """The values of all pixels."""
        areas, place = self.areas, np.unique(self.areas.value, return_inverse=True)[1]
        columns = ("n_labels", areas.drawn), ("n_reference", areas.wanted), ("n_right", areas.shared)
        return [(name, (place, areas.annotator, areas.sample, of.astype(np.float64))) for name, of in columns]

    def rows(self, part: str = "") -> tuple[IntArray, IntArray, FloatArray, int]:
        """As of objects; groups are annotators, with ``"classes"`` annotators times values without the background."""
        areas, n_samples, place = self.areas, self.records.n_samples, np.zeros(len(self.areas.value), np.int64)
        if part:
            place = np.unique(areas.value, return_inverse=True)[1]
            place = np.where(are_classes(areas.value, self._meaning.background), place, -1)

        def pixels(of: IntArray) -> Entry:
            return place, areas.annotator, areas.sample, of.astype(np.float64)

        entries = [("n_labels", pixels(areas.drawn)), ("n_reference", pixels(areas.wanted))]
        entries += [("n_both", entry) for _, entry in entries]
        entries += [("n_matched", pixels(areas.shared if part else areas.drawn)), ("n_right", pixels(areas.shared))]
        if not part:
            shape, meaning = (n_samples, self.n_annotators), self._meaning
            iou = areas.iou_of_images(shape, meaning.background, self.context.config)
            sample, annotator = np.nonzero(~np.isnan(iou))
            nowhere = np.zeros(len(sample), np.int64)
            entries.append(("n_images", (nowhere, annotator, sample, None)))
            entries.append(("iou_of_images", (nowhere, annotator, sample, iou[sample, annotator])))
        n_parts = len(self.classes[0]) if part else 1
        return (*sums_of_entries(entries, n_parts, n_samples), self.n_annotators * n_parts)
