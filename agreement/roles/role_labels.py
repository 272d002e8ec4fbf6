"""The labels of annotators and of roles (a reference, models) in one table, and those of a role beside the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...metrics.geometry.boxes import box_area
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, ranges
from ..objects.attributes import Values
from ..objects.records import ObjectRecords
from ..objects.sizes import SizeRule
from ..pixels.records import PixelRecords
from ..ratings.compute import agreeing
from ..statistics.codes import NOT_GIVEN
from ..statistics.records import Records, unpacked
from ..statistics.report import ReportContext
from ..tags.compute import TagRecords
from .matching import COVERED, LOOSELY, RIGHT, WRONG_CLASS, RolePairs

#: what the reference says of labels of annotators: of those in such pairs, of right ones of which an attribute differs
#: that both have, of those without a pair; and of its own labels that an annotator did not draw
SAID = {RIGHT: "right", WRONG_CLASS: "wrong_class", LOOSELY: "loose"}
WRONG_ATTRIBUTE, EXTRA, MISSED = "wrong_attribute", "extra", "missed"


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


@dataclass(frozen=True, slots=True)
class RoleKind:
    """What is said of labels of one kind; numbers by their names in the report."""

    shown: Mapping[str, str]  #: of annotators
    of_parts: Mapping[str, str]  #: of their classes and sizes
    of_image: tuple[str, str]  #: of an annotator on an image, and its name there
    has_kappa: bool = True  #: whether there is Cohen's kappa of the classes of matched labels
    has_persons: bool = True  #: whether annotators can be left out in turn, and compared with a model


_OF_OBJECTS = ("precision", "recall", "f1", "pq", "class_accuracy", "mean_iou", "jaccard", "class_precision",
               "class_recall", "class_jaccard")  # fmt: skip
_OF_BOXES = tuple(f"bias.{measure}" for measure in ("size", "left", "top", "right", "bottom"))
_PARTS_OF_CLASSES = _same("precision", "recall", "f1", "class_jaccard")
KINDS = {
    "objects": RoleKind(_same(*_OF_OBJECTS, *_OF_BOXES), {**_PARTS_OF_CLASSES, "mean_iou": "mean_iou"}, ("f1", "f1")),
    "tags": RoleKind(_same("precision", "recall", "f1", "jaccard"), _PARTS_OF_CLASSES, ("f1", "f1"), has_kappa=False),
    "classes": RoleKind({"accuracy": "accuracy"}, _PARTS_OF_CLASSES, ("accuracy", "accuracy")),
    "numbers": RoleKind(
        _same("accuracy", "mean_error", "mean_absolute_error"), {}, ("accuracy", "accuracy"), False, False
    ),
    "masks": RoleKind(
        {"mean_iou": "iou_of_images", "accuracy": "accuracy"},
        {**_same("precision", "recall", "f1"), "iou": "jaccard"},
        ("iou_of_images", "iou"),
        has_persons=False,
    ),
}


def role_names(context: ReportContext) -> list[tuple[str, bool]]:
    """The roles of a run, in the order of their columns, and whether each is a model."""
    return [(role["name"], role["is_model"]) for role in context.details.get("roles", ())]


@dataclass(frozen=True)
class Labels:
    """All ``L`` labels of a run: first those of the ``R`` annotators, then those of roles, who have the numbers from
    ``R`` on. Pixels of masks are none."""

    records: Records
    context: ReportContext
    kind: str  #: key of ``KINDS``
    present: BoolArray  #: shape ``(S, R + roles)``, who was asked, or has labels, on every sample
    sample: IntArray  #: shape ``(L,)``
    who: IntArray  #: shape ``(L,)``, who gave it
    value: NDArray[Any]  #: shape ``(L,)``, the number, or the place of the class among ``names``
    names: list[str]  #: of all classes, first of those of annotators
    rule: SizeRule | None = None  #: of sizes, where not that of these records

    @classmethod
    def of(cls, records: Records, context: ReportContext, rule: SizeRule | None = None) -> Labels:
        """The labels of records."""
        kinds = {ObjectRecords: "objects", TagRecords: "tags", PixelRecords: "masks"}
        kind = kinds.get(type(records), "numbers" if context.details.get("numbers") else "classes")
        present = unpacked(records.column("role_present"), len(role_names(context)))
        present, none = np.column_stack([records.assigned, present]), np.empty(0, np.int64)
        names = list(dict.fromkeys([*context.class_names, *context.role_class_names]))
        if kind == "masks":
            return cls(records, context, kind, present, none, none, none, names)
        sample, annotator, value = records.labels()
        of_roles, theirs = (records.column(name) for name in ("n_role_labels", "role_category"))
        if kind != "numbers":
            place = {name: k for k, name in enumerate(names)}
            codes = [np.array([place[name] for name in given], np.int64)
                     for given in (context.class_names, context.role_class_names)]  # fmt: skip
            value, theirs = codes[0][value.astype(np.int64)], codes[1][theirs]
        sample = np.r_[sample, np.repeat(np.arange(records.n_samples), of_roles)]
        who = np.r_[annotator, records.n_annotators + records.column("role").astype(np.int64)]
        return cls(records, context, kind, present, sample, who, np.r_[value, theirs], names, rule)

    def more(self, name: str) -> NDArray[Any] | None:
        """A column of all labels, of annotators and of roles; None where one of them has none."""
        columns, of_roles = self.records.parts[0], f"role_{name.removesuffix('_xyxy')}"
        if name not in columns or of_roles not in columns:
            return None
        return np.concatenate(
            [self.records.column(name).astype(columns[of_roles].dtype), self.records.column(of_roles)]
        )

    @cached_property
    def boxes(self) -> FloatArray | None:
        """Boxes of all labels, shape ``(L, 4)``."""
        found = self.more("boxes_xyxy")
        return None if found is None else found.astype(np.float64)

    @cached_property
    def size_rule(self) -> SizeRule:
        """Rule that divides labels into small, medium and large."""
        return self.rule or SizeRule.of(self.records, self.context.config)  # type: ignore[arg-type]  # these are objects

    @cached_property
    def size(self) -> IntArray:
        """Index into ``SIZES`` of every label, shape ``(L,)``; -1 without a size."""
        area, boxes, rule = self.more("area"), self.boxes, self.size_rule
        if area is None or boxes is None or rule.limits is None:
            return np.full(len(self.sample), -1)
        of_boxes = "visibility" in self.records.parts[0] or self.context.config.line_tolerance is not None
        areas = box_area(boxes) if of_boxes else area.astype(np.float64)
        if rule.unit == "px²" and not rule.in_pixels:
            areas = areas * self.records.column("size_px").astype(np.float64).prod(axis=1)[self.sample]
        return rule.of_areas(areas)

    @cached_property
    def attributes(self) -> list[tuple[Values, IntArray]]:
        """The compared attributes, with the codes of the values of all labels ``(L,)``."""
        names, found = ("attributes", "role_attributes"), []
        if names[1] not in self.records.parts[0]:
            return []
        codes = np.concatenate([self.records.column(name).astype(np.int64) for name in names])
        for name, of_labels in zip(self.context.config.attributes, codes.T, strict=True):
            given = self.context.attribute_values.get(name, [None])
            found.append((Values.of(name, given, self.context.config.tolerance), of_labels))
        return found

    @cached_property
    def _stored(self) -> tuple[IntArray, RolePairs]:
        """All stored pairs of objects, and who has the first label of each."""
        column = self.records.column
        n_objects, n_labels, n_pairs = (
            column(name).astype(np.int64) for name in ("n_objects", "n_role_labels", "n_role_pairs")
        )
        sample = np.repeat(np.arange(len(n_pairs)), n_pairs)
        first, n, n_before = (np.cumsum(n_objects) - n_objects)[sample], n_objects[sample], int(n_objects.sum())
        first_of_role = (n_before + np.cumsum(n_labels) - n_labels)[sample] - n
        label, drawn = (
            np.where(place < 0, -1, place + np.where(place < n, first, first_of_role))
            for place in (column("pair_label").astype(np.int64), column("pair_drawn").astype(np.int64))
        )
        kind, party = (column(name).astype(np.int64) for name in ("pair_kind", "pair_party"))
        return party, RolePairs(label, drawn, kind, column("pair_iou"))

    def pairs_of(self, who: int) -> RolePairs:
        """The labels of a role, or of an annotator left out, with those of all other annotators."""
        if self.kind == "objects":
            party, every = self._stored
            second = (party < self.records.n_annotators) & (self.who[every.drawn] == who)
            rows = np.flatnonzero(second | (party == who))
            label, drawn, turned = every.label[rows], every.drawn[rows], second[rows]
            own, others = np.where(turned, drawn, label), np.where(turned, label, drawn)
            return RolePairs(own, others, every.kind[rows], every.iou[rows])
        # a sample has one class, or number, of everybody; a tag is paired with the same tag alone
        key = self.sample * len(self.names) + self.value if self.kind == "tags" else self.sample
        own, others = np.flatnonzero(self.who == who), self.who < self.records.n_annotators
        own, others = own[np.argsort(key[own], kind="stable")], np.flatnonzero(others & (self.who != who))
        place = np.searchsorted(key[own], key[others])
        found = np.append(key[own], -1)[place] == key[others]
        label, drawn = np.append(own, -1)[place[found]], others[found]
        tolerance = self.context.config.tolerance if self.kind == "numbers" else 0.0
        kind = np.where(agreeing(self.value[drawn], self.value[label], tolerance), RIGHT, WRONG_CLASS)
        return RolePairs(label, drawn, kind, np.ones(len(label)))


@dataclass(frozen=True, slots=True)
class AttributeValues:
    """An attribute of matched labels that both have a value of it, shapes ``(P,)``."""

    values: Values  #: what the codes mean
    rows: IntArray  #: rows of these pairs
    own: IntArray  #: code of the value of the label of the annotator
    true: IntArray  #: of that of the role
    differ: BoolArray

    @property
    def are_numbers(self) -> bool:
        """True if all values are numbers."""
        return not np.isnan(self.values.numbers[np.concatenate([self.own, self.true])]).any()


@dataclass(frozen=True)
class RoleMeetings:
    """The labels of annotators beside those of a role, or of an annotator left out, on the samples that both have.

    Every label of the role is there once for every annotator who was asked: these are the ``Q`` wanted labels.
    """

    labels: Labels
    who: int  #: number of the role, or annotator

    @property
    def kind(self) -> RoleKind:
        """What is said of such labels."""
        return KINDS[self.labels.kind]

    @property
    def context(self) -> ReportContext:
        """The context of the report."""
        return self.labels.context

    @property
    def n_annotators(self) -> int:
        """Number of annotators."""
        return self.labels.records.n_annotators

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.labels.records.n_samples

    @property
    def is_model(self) -> bool:
        """True for a model."""
        return self.who >= self.n_annotators and role_names(self.context)[self.who - self.n_annotators][1]

    @cached_property
    def present(self) -> BoolArray:
        """Samples with labels of the role, shape ``(S,)``."""
        found: BoolArray = self.labels.present[:, self.who]
        return found

    @cached_property
    def both(self) -> BoolArray:
        """Samples that the role and an annotator have, shape ``(S, R)``."""
        both: BoolArray = self.labels.present[:, : self.n_annotators] & self.present[:, None]
        if self.who < self.n_annotators:
            both[:, self.who] = False
        return both

    @cached_property
    def own(self) -> IntArray:
        """Rows of the labels of the role, shape ``(M,)``."""
        return np.flatnonzero(self.labels.who == self.who)

    @cached_property
    def pairs(self) -> RolePairs:
        """The matches."""
        return self.labels.pairs_of(self.who)

    @cached_property
    def annotator(self) -> IntArray:
        """The annotator of every pair, shape ``(P,)``."""
        return self.labels.who[self.pairs.drawn]

    @cached_property
    def partner(self) -> tuple[IntArray, IntArray]:
        """Kind of the pair of every label of annotators, and its row among pairs, shape ``(L,)``; -1 without a pair."""
        kind, row = np.full((2, len(self.labels.who)), -1)
        kind[self.pairs.drawn], row[self.pairs.drawn] = self.pairs.kind, np.arange(len(self.pairs.drawn))
        return kind, row

    @cached_property
    def judged(self) -> IntArray:
        """Rows of the labels of annotators that count: not in a crowd region of the role, nor undecided; on samples of
        both."""
        rows = np.flatnonzero(self.labels.who < self.n_annotators)
        both = self.both[self.labels.sample[rows], self.labels.who[rows]]
        return rows[both & (self.partner[0][rows] < COVERED)]

    @cached_property
    def wanted(self) -> tuple[IntArray, IntArray]:
        """The labels of the role that every annotator should have drawn: rows ``(Q,)``, and the annotators."""
        asked = self.both.sum(axis=1)
        of_label = self.labels.sample[self.own]
        annotator = np.nonzero(self.both)[1]
        first = (np.cumsum(asked) - asked)[of_label]
        return np.repeat(self.own, asked[of_label]), annotator[ranges(first, asked[of_label])]

    @cached_property
    def matched(self) -> IntArray:
        """Rows of the pairs that reach the threshold."""
        return np.flatnonzero(self.pairs.kind <= WRONG_CLASS)

    @cached_property
    def missed(self) -> tuple[IntArray, IntArray]:
        """The wanted labels that are not matched: rows, and the annotators."""
        label, annotator = self.wanted
        key = self.pairs.label[self.matched] * self.n_annotators + self.annotator[self.matched]
        left = ~np.isin(label * self.n_annotators + annotator, key)
        return label[left], annotator[left]

    def matched_by(self, annotators: Sequence[int]) -> tuple[IntArray, NDArray[np.object_]]:
        """What annotators, by number, say of the labels of the role that they should have drawn.

        Returns:
            rows of these labels, ascending, and of each ``right`` where any of the annotators has a matching label of
            the same class, ``wrong_class`` where all matching ones have another, ``extra`` where nobody has one
        """
        label, annotator = self.wanted
        said = np.full(len(self.labels.who), EXTRA, object)
        for kind in (WRONG_CLASS, RIGHT):
            said[self.pairs.label[(self.pairs.kind == kind) & np.isin(self.annotator, annotators)]] = SAID[kind]
        rows = np.unique(label[np.isin(annotator, annotators)])
        return rows, said[rows]

    @cached_property
    def attributes(self) -> list[AttributeValues]:
        """The compared attributes of matched labels."""
        found = []
        for values, codes in self.labels.attributes:
            own, true = codes[self.pairs.drawn[self.matched]], codes[self.pairs.label[self.matched]]
            given = (own != NOT_GIVEN) & (true != NOT_GIVEN)
            own, true = own[given], true[given]
            found.append(AttributeValues(values, self.matched[given], own, true, values.differ(own, true)))
        return found

    @cached_property
    def differing(self) -> IntArray:
        """Rows of the pairs of equal classes of which an attribute differs."""
        rows = np.unique(np.concatenate([np.empty(0, np.int64), *(each.rows[each.differ] for each in self.attributes)]))
        found: IntArray = rows[self.pairs.kind[rows] == RIGHT]
        return found

    @cached_property
    def said(self) -> NDArray[np.object_]:
        """What the role says of every label of annotators, shape ``(L,)``; None of those that do not count."""
        said = np.full(len(self.labels.who), None, object)
        kind = self.partner[0]
        said[self.judged] = EXTRA
        for code, word in SAID.items():
            said[self.judged[kind[self.judged] == code]] = word
        said[self.pairs.drawn[self.differing]] = WRONG_ATTRIBUTE
        return said

    def most_matched(self, unit: IntArray) -> IntArray:
        """A label of annotators in the unit with which every label of the role is matched most often; -1 without one.

        Args:
            unit: shape ``(N,)``, unit of every label of annotators

        Returns:
            shape ``(M,)``
        """
        drawn, number = self.pairs.drawn[self.matched], np.full(len(self.labels.who), -1)
        number[self.own] = np.arange(len(self.own))
        label, of = number[self.pairs.label[self.matched]], unit[drawn]
        key = label * (int(of.max(initial=0)) + 1) + of
        keys, first, row = np.unique(key, return_index=True, return_inverse=True)
        n, iou = np.bincount(row, minlength=len(keys)), np.bincount(row, self.pairs.iou[self.matched], len(keys))
        # the last of every label: most labels, then the greatest overlap, then the first unit
        order = np.lexsort((-keys, iou, n))
        found = np.full(len(self.own), -1)
        found[label[first[order]]] = drawn[first[order]]
        return found
