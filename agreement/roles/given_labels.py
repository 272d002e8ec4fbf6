"""Compare classes, numbers and tags of annotators with those of a role (a reference or model), by value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ..ratings.compute import agreeing
from ..statistics.records import Columns, Records, compact, packed, unpacked
from ..statistics.report import ReportContext
from .columns import StoredRole
from .matching import RIGHT, WRONG_CLASS, RolePairs
from .numbers import AgainstRole, class_table, role_names


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
