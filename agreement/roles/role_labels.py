"""The labels of annotators and of roles (a reference, models) in one table, matched with each other.

A meeting is an image and two parties who were asked: a role and an annotator, or two annotators, one of whom is left
out and takes the place of a model. Every meeting is matched by itself, as an image of two annotators: with units of
three and more annotators the comparison would not be fair, as a role that is matched by itself finds more matches.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...metrics.geometry.objects import Geometry, Objects, Overlaps
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, ranges
from ..matching.compute import in_crowd, matched_pairs, matching_of
from ..matching.tables import Batch
from ..objects.attributes import Values
from ..objects.classes import SizeRule, own_areas
from ..objects.records import ObjectRecords
from ..pixels.records import PixelRecords
from ..ratings.compute import agreeing
from ..settings.config import AgreementConfig
from ..statistics.codes import NOT_GIVEN
from ..statistics.records import (
    Columns,
    Hashes,
    Records,
    assignment_hashes,
    combined,
    compact,
    hash_sums,
    mixed,
    name_hashes,
    packed,
    unpacked,
    with_numbers,
)
from ..statistics.report import ReportContext
from ..tags.compute import TagRecords

#: least similarity of a label that was drawn loosely: below it two labels share too little to mean one object
LOOSE = 0.1
#: kinds of pairs: matched with equal classes, matched with different classes, overlapping below the threshold; a label
#: of the annotator in a crowd region of the role; one whose object is not decided, where the role holds decisions
RIGHT, WRONG_CLASS, LOOSELY, COVERED, UNDECIDED = range(5)


@dataclass(frozen=True, slots=True)
class RolePairs:
    """``P`` pairs of a label of a role and one of an annotator, as rows of the table of all labels."""

    label: IntArray  #: shape ``(P,)``, row of the label of the role; -1 for ``COVERED`` and ``UNDECIDED``
    drawn: IntArray  #: shape ``(P,)``, row of the label of the annotator
    kind: IntArray  #: shape ``(P,)``
    iou: FloatArray  #: shape ``(P,)``, nan from ``COVERED`` on


@dataclass(frozen=True, slots=True)
class Meetings:
    """Meetings as samples of two annotators; every label occurs once for every meeting of its party."""

    objects: Objects
    geometry: Geometry
    overlaps: Overlaps
    row: IntArray  #: shape ``(N',)``, row of every object in the batch
    party: IntArray  #: shape ``(N',)``, first party of its meeting: a role, or the first of two annotators
    covered: BoolArray  #: shape ``(N',)``, labels of annotators in a crowd region of the role
    counted: BoolArray  #: shape ``(N',)``, all others that count
    kept: BoolArray  #: shape ``(N,)``, the objects of the batch that count

    @classmethod
    def of(cls, people: Batch, n: int, counted: BoolArray, *, of_annotators: bool = False) -> Meetings:
        """The meetings of roles with annotators.

        Args:
            people: objects of ``n`` annotators, and of roles with the numbers from ``n`` on, with crowd regions
            n: number of annotators
            counted: shape ``(N,)``, the objects of annotators that count
            of_annotators: whether every two annotators meet, too
        """
        objects, (n_samples, n_people) = people.objects, people.assigned.shape
        met = np.zeros((n_people, n_people), np.bool_)
        met[n:, :n], met[:n, :n] = True, of_annotators & np.triu(np.ones((n, n), np.bool_), 1)
        sample, first, second = np.nonzero(people.assigned[:, :, None] & people.assigned[:, None, :] & met)
        counts = np.bincount(objects.sample * n_people + objects.annotator, minlength=n_samples * n_people)
        cell = np.column_stack([sample * n_people + first, sample * n_people + second]).ravel()
        row = ranges((np.cumsum(counts) - counts)[cell], counts[cell])
        place = np.repeat(np.arange(len(cell)), counts[cell])
        two, geometry = Objects(place // 2, place % 2, objects.category[row]), people.geometry.take(row)
        overlaps, of_role = geometry.overlaps(two), objects.annotator >= n
        inside, kept = np.zeros(len(row), np.bool_), counted | of_role
        if people.crowd is not None and people.crowd.any():
            inside = in_crowd(two, people.crowd[row], overlaps)
            kept &= ~people.crowd
            kept[row[inside & of_role[row]]] = False
        inside &= kept[row]
        return cls(two, geometry, overlaps, row, first[two.sample], inside, kept[row] & ~inside, kept)

    def matched(self, config: AgreementConfig) -> tuple[IntArray, RolePairs]:
        """Match every meeting by the method ``optimal``, and unmatched labels once more at the similarity ``LOOSE``.

        Returns:
            the first party of every pair, shape ``(P,)``, and the pairs, as rows of these objects
        """
        found, config, left = [], optimal(config), self.counted.copy()
        for threshold, kinds in ((config.iou, (RIGHT, WRONG_CLASS)), (LOOSE, (LOOSELY, LOOSELY))):
            if left.any() and (threshold == config.iou or config.iou > LOOSE):
                objects, geometry, overlaps, place = self.among(left)
                matching = matching_of(objects, overlaps, config, threshold)
                pairs = matched_pairs(objects, geometry, overlaps, matching)
                i, j = place[pairs.i], place[pairs.j]
                found.append((i, j, np.where(pairs.same_class, *kinds), pairs.iou))
                left[i] = left[j] = False
        none = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        i, j, kind, iou = (np.concatenate(column) for column in zip(none, *found, strict=True))
        return self.party[i], RolePairs(i, j, kind, iou)

    def among(self, chosen: BoolArray) -> tuple[Objects, Geometry, Overlaps, IntArray]:
        """Some of the objects, with their geometry, overlaps and rows."""
        rows, of = np.flatnonzero(chosen), self.objects
        if len(rows) == len(of):
            return of, self.geometry, self.overlaps, rows
        objects = Objects(of.sample[rows], of.annotator[rows], of.category[rows])
        return objects, self.geometry.take(rows), self.overlaps.among(chosen), rows


def optimal(config: AgreementConfig) -> AgreementConfig:
    """The options for matching a role: those of the run, with the method ``optimal``."""
    return dataclasses.replace(config, method="optimal")


def role_columns(
    people: Batch, n: int, counted: BoolArray, config: AgreementConfig, undecided: BoolArray | None = None
) -> tuple[IntArray, Columns]:
    """Match the objects of roles with those of every annotator; if there is a model, also those of two annotators.

    A label is stored as its number on its sample: labels of annotators that count come first, then the others.

    Args:
        people: as of :meth:`Meetings.of`
        n: likewise
        counted: likewise
        config: the options
        undecided: shape ``(N, roles)``, labels of annotators whose object is not decided in a role that holds
            decisions; None if no role does

    Returns:
        the rows of the other objects: those of annotators that do not count, and those of roles in no crowd region;
        and the columns of records on roles
    """
    meetings = Meetings.of(people, n, counted, of_annotators=bool(config.models))
    party, pairs = meetings.matched(config)
    alone, row, sample = np.where(meetings.covered, COVERED, -1), meetings.row, people.objects.sample
    if undecided is not None:
        of_role = np.flatnonzero(meetings.counted & (meetings.party >= n) & (meetings.objects.annotator == 1))
        alone[of_role[undecided[row[of_role], meetings.party[of_role] - n]]] = UNDECIDED
        alone[pairs.drawn[pairs.kind <= WRONG_CLASS]] = -1
    kept = (alone[pairs.drawn] < 0) & ((party >= n) | (pairs.kind <= WRONG_CLASS))
    rows, others = np.flatnonzero(alone >= 0), ~counted & (meetings.kept | (people.objects.annotator < n))
    # places of the labels on their samples; the last entry is for no label
    place, before = np.full(len(sample) + 1, -1), np.zeros(people.n_samples, np.int64)
    for chosen in (counted, others):
        number = np.bincount(sample[chosen], minlength=people.n_samples)
        place[:-1][chosen], before = ranges(before, number), before + number
    label = np.r_[row[pairs.label[kept]], np.full(len(rows), len(sample))]
    drawn, party = np.r_[row[pairs.drawn[kept]], row[rows]], np.r_[party[kept], meetings.party[rows]]
    order = np.lexsort((place[drawn], place[label], party, sample[drawn]))
    return np.flatnonzero(others), {
        "role_present": packed(people.assigned[:, n:]),
        "n_role_pairs": compact(np.bincount(sample[drawn], minlength=people.n_samples)),
        "pair_party": compact(party[order]),
        "pair_label": compact(place[label[order]]),
        "pair_drawn": compact(place[drawn[order]]),
        "pair_kind": np.r_[pairs.kind[kept], alone[rows]][order].astype(np.uint8),
        "pair_iou": np.r_[pairs.iou[kept], np.full(len(rows), np.nan)][order],
    }


#: outcome of a label of an annotator against the reference, by kind of its pair; of a right one with another value of
#: an attribute, and of one without a pair; and outcome of a label of the reference that an annotator did not draw
SAID = {RIGHT: "right", WRONG_CLASS: "wrong_class", LOOSELY: "loose"}
WRONG_ATTRIBUTE, EXTRA, MISSED = "wrong_attribute", "extra", "missed"


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


@dataclass(frozen=True, slots=True)
class RoleKind:
    """Numbers of one kind of labels against a role: by name in the report, the name in ``numbers.NUMBERS``."""

    shown: Mapping[str, str]  #: numbers of annotators
    of_parts: Mapping[str, str]  #: numbers of their classes and sizes
    of_image: tuple[str, str]  #: the number of an annotator on an image, and its name in a field
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
    """All ``L`` labels of a run: first those of the ``R`` annotators, then those in no unit, such as labels of roles,
    whose numbers start at ``R``. Runs on masks have none."""

    records: Records
    context: ReportContext
    kind: str  #: key of ``KINDS``
    present: BoolArray  #: shape ``(S, R + roles)``, who was asked, or has labels, on every sample
    sample: IntArray  #: shape ``(L,)``
    #: shape ``(L,)``, who gave it; ``R + roles`` for labels of annotators that make no unit
    who: IntArray
    value: NDArray[Any]  #: shape ``(L,)``, the number, or the place of the class among ``names``
    names: list[str]  #: names of all classes, those of annotators first

    @classmethod
    def of(cls, records: Records, context: ReportContext) -> Labels:
        """The labels of records."""
        kinds = {ObjectRecords: "objects", TagRecords: "tags", PixelRecords: "masks"}
        kind = kinds.get(type(records), "numbers" if context.details.get("numbers") else "classes")
        present = unpacked(records.column("role_present"), len(role_names(context)))
        present, none = np.column_stack([records.assigned, present]), np.empty(0, np.int64)
        names = list(dict.fromkeys(context.names_of_codes))
        if kind == "masks":
            return cls(records, context, kind, present, none, none, none, names)
        sample, annotator, value = records.labels()
        value, others = np.r_[value, records.column("uncounted_category")], records.column("uncounted_annotator")
        if kind != "numbers":
            place = {name: k for k, name in enumerate(names)}
            value = np.array([place[name] for name in context.names_of_codes], np.int64)[value.astype(np.int64)]
        sample = np.r_[sample, np.repeat(np.arange(records.n_samples), records.column("n_uncounted"))]
        who = np.r_[annotator, np.where(others < records.n_annotators, present.shape[1], others).astype(np.int64)]
        return cls(records, context, kind, present, sample, who, value, names)

    def more(self, name: str) -> NDArray[Any] | None:
        """A stored column for all labels; None if it is not stored."""
        columns, of_others = self.records.parts[0], f"uncounted_{name.removesuffix('_xyxy')}"
        if name not in columns or of_others not in columns:
            return None
        own = self.records.column(name).astype(columns[of_others].dtype)
        return np.concatenate([own, self.records.column(of_others)])

    @cached_property
    def boxes(self) -> FloatArray | None:
        """Boxes of all labels, shape ``(L, 4)``; None without any."""
        found = self.more("boxes_xyxy") if self.kind == "objects" else None
        return None if found is None else found.astype(np.float64)

    @cached_property
    def sizes(self) -> IntArray:
        """Index into ``SIZES`` of every label, shape ``(L,)``; -1 without a size."""
        area, boxes, records, config = self.more("area"), self.boxes, self.records, self.context.config
        rule = SizeRule.of(records, config) if isinstance(records, ObjectRecords) else None
        if area is None or boxes is None or rule is None or rule.limits is None:
            return np.full(len(self.sample), -1)
        areas = own_areas(area.astype(np.float64), boxes, records.parts[0].get("visibility"), config)
        if rule.unit == "px²" and not rule.in_pixels:
            areas = areas * records.column("size_px").astype(np.float64).prod(axis=1)[self.sample]
        return rule.of_areas(areas)

    def pairs_of(self, who: int) -> RolePairs:
        """The pairs of labels of a role, or of an annotator left out, with labels of all other annotators."""
        n = self.records.n_annotators
        if self.kind == "objects":
            party, every = self.stored_pairs
            second = (party < n) & (self.who[every.drawn] == who)
            rows = np.flatnonzero(second | (party == who))
            label, drawn, turned = every.label[rows], every.drawn[rows], second[rows]
            own, others = np.where(turned, drawn, label), np.where(turned, label, drawn)
            return RolePairs(own, others, every.kind[rows], every.iou[rows])
        # everybody gives a sample one class, or number; a tag is paired only with the same tag
        key = self.sample * len(self.names) + self.value if self.kind == "tags" else self.sample
        own, others = np.flatnonzero(self.who == who), np.flatnonzero((self.who < n) & (self.who != who))
        own = own[np.argsort(key[own], kind="stable")]
        place = np.searchsorted(key[own], key[others])
        found = np.append(key[own], -1)[place] == key[others]
        label, drawn = np.append(own, -1)[place[found]], others[found]
        tolerance = self.context.config.tolerance if self.kind == "numbers" else 0.0
        kind = np.where(agreeing(self.value[drawn], self.value[label], tolerance), RIGHT, WRONG_CLASS)
        return RolePairs(label, drawn, kind, np.ones(len(label)))

    @cached_property
    def stored_pairs(self) -> tuple[IntArray, RolePairs]:
        """The first party of every stored pair of objects, and the pairs."""
        names = "n_objects", "n_uncounted", "n_role_pairs", "pair_label", "pair_drawn", "pair_kind", "pair_party"
        columns = (self.records.column(name).astype(np.int64) for name in names)
        n_objects, n_labels, n_pairs, *places, kind, party = columns
        sample = np.repeat(np.arange(len(n_pairs)), n_pairs)
        first, n = (np.cumsum(n_objects) - n_objects)[sample], n_objects[sample]
        first_of_role = (n_objects.sum() + np.cumsum(n_labels) - n_labels)[sample] - n
        label, drawn = (np.where(place < 0, -1, place + np.where(place < n, first, first_of_role)) for place in places)
        return party, RolePairs(label, drawn, kind, self.records.column("pair_iou"))


@dataclass(frozen=True, slots=True)
class AttributeValues:
    """Values of an attribute, of the matched pairs in which both labels have one; shapes ``(P,)``."""

    values: Values  #: what the codes mean
    rows: IntArray  #: rows of these pairs
    own: IntArray  #: code of the value of the label of the annotator
    true: IntArray  #: code of the value of the label of the role
    differ: BoolArray
    are_numbers: bool  #: whether all values are numbers


@dataclass(frozen=True, slots=True)
class Comparison:
    """The labels of annotators against those of a role, or of an annotator left out, where both were asked.

    The ``Q`` wanted labels are the labels of the role, once for every annotator who was asked.
    """

    labels: Labels
    who: int  #: number of the role, or annotator
    both: BoolArray  #: shape ``(S, R)``, whether both the role and an annotator were asked
    own: IntArray  #: shape ``(M,)``, rows of the labels of the role
    pairs: RolePairs  #: the matches
    annotator: IntArray  #: shape ``(P,)``, the annotator of every pair
    matched: IntArray  #: rows of the pairs that reach the threshold
    #: shape ``(L,)``, row of the pair of every label of annotators; -1 without one
    pair_of: IntArray
    #: rows of the labels of annotators that count: not in a crowd region of the role, nor undecided; on samples of both
    judged: IntArray
    wanted: IntArray  #: shape ``(Q,)``, rows of the labels of the role that every annotator should have drawn
    wanted_of: IntArray  #: shape ``(Q,)``, these annotators
    attributes: list[AttributeValues]  #: the compared attributes of matched labels
    differing: IntArray  #: rows of the pairs of equal classes with different values of an attribute

    @classmethod
    def of(cls, labels: Labels, who: int, chosen: BoolArray | None = None) -> Comparison:
        """The labels of annotators against those of one of the roles, or of an annotator left out, on chosen samples.

        Args:
            chosen: shape ``(S,)``; None: all
        """
        n, context, pairs = labels.records.n_annotators, labels.context, labels.pairs_of(who)
        both = labels.present[:, :n] & labels.present[:, [who]]
        both[:, who : who + 1] = False  # not with itself
        if chosen is not None:
            both &= chosen[:, None]
            rows = np.flatnonzero(chosen[labels.sample[pairs.drawn]])
            pairs = RolePairs(pairs.label[rows], pairs.drawn[rows], pairs.kind[rows], pairs.iou[rows])
        pair_of = np.full(len(labels.who), -1)
        pair_of[pairs.drawn] = np.arange(len(pairs.drawn))
        drawn, own = np.flatnonzero(labels.who < n), np.flatnonzero(labels.who == who)
        judged = drawn[both[labels.sample[drawn], labels.who[drawn]]]
        judged = judged[np.append(pairs.kind, RIGHT)[pair_of[judged]] < COVERED]
        asked, of_label = both.sum(axis=1), labels.sample[own]
        first = (np.cumsum(asked) - asked)[of_label]
        wanted_of = np.nonzero(both)[1][ranges(first, asked[of_label])]
        matched, attributes = np.flatnonzero(pairs.kind <= WRONG_CLASS), list[AttributeValues]()
        differ = np.zeros(len(pairs.kind), np.bool_)
        columns, names = labels.records.parts[0], ("attributes", "uncounted_attributes")
        if who >= n and "uncounted_attributes" in columns:
            codes = np.concatenate([labels.records.column(name).astype(np.int64) for name in names])
            for name, of_labels in zip(context.config.attributes, codes.T, strict=True):
                values = Values.of(name, context.attribute_values.get(name, [None]), context.config.tolerance)
                a, b = of_labels[pairs.drawn[matched]], of_labels[pairs.label[matched]]
                given = (a != NOT_GIVEN) & (b != NOT_GIVEN)
                a, b, rows = a[given], b[given], matched[given]
                are_numbers = not np.isnan(values.numbers[np.concatenate([a, b])]).any()
                each = AttributeValues(values, rows, a, b, values.differ(a, b), are_numbers)
                attributes.append(each)
                differ[rows[each.differ]] = True
        return cls(
            *(labels, who, both, own, pairs, labels.who[pairs.drawn], matched, pair_of, judged),
            *(np.repeat(own, asked[of_label]), wanted_of, attributes, np.flatnonzero(differ & (pairs.kind == RIGHT))),
        )

    @property
    def kind(self) -> RoleKind:
        """The numbers of labels of this kind."""
        return KINDS[self.labels.kind]

    @property
    def is_model(self) -> bool:
        """True if the role is a model."""
        number = self.who - self.labels.records.n_annotators
        return number >= 0 and role_names(self.labels.context)[number][1]

    def missed(self) -> BoolArray:
        """True for wanted labels that are not matched, shape ``(Q,)``."""
        n = self.labels.records.n_annotators
        key = self.pairs.label[self.matched] * n + self.annotator[self.matched]
        return ~np.isin(self.wanted * n + self.wanted_of, key)

    def matched_by(self, annotators: Sequence[int]) -> tuple[IntArray, NDArray[np.object_]]:
        """Outcomes of the labels of the role that annotators, given by number, should have drawn.

        Returns:
            rows of these labels, ascending, and of each ``right`` where any of the annotators has a matching label of
            the same class, ``wrong_class`` where all matching ones have another, ``extra`` where nobody has one
        """
        said = np.full(len(self.labels.who), EXTRA, object)
        for kind in (WRONG_CLASS, RIGHT):
            said[self.pairs.label[(self.pairs.kind == kind) & np.isin(self.annotator, annotators)]] = SAID[kind]
        rows = np.unique(self.wanted[np.isin(self.wanted_of, annotators)])
        return rows, said[rows]

    def said(self) -> NDArray[np.object_]:
        """Outcome of every label of annotators against the role, shape ``(L,)``; None for labels that do not count."""
        said, words = np.full(len(self.labels.who), None, object), np.array([*SAID.values(), EXTRA], object)
        said[self.judged] = words[np.append(self.pairs.kind, len(SAID))[self.pair_of[self.judged]]]
        said[self.pairs.drawn[self.differing]] = WRONG_ATTRIBUTE
        return said

    def most_matched(self, unit: IntArray) -> IntArray:
        """A label of annotators in the unit with which every label of the role is matched most often; -1 without one.

        Args:
            unit: shape ``(N,)``, unit of every label of annotators

        Returns:
            shape ``(M,)``
        """
        drawn, label = self.pairs.drawn[self.matched], np.searchsorted(self.own, self.pairs.label[self.matched])
        of = unit[drawn]
        key = label * (int(of.max(initial=0)) + 1) + of
        keys, first, row = np.unique(key, return_index=True, return_inverse=True)
        n, iou = np.bincount(row, minlength=len(keys)), np.bincount(row, self.pairs.iou[self.matched], len(keys))
        # the last of every label: most labels, then the greatest overlap, then the first unit
        order = np.lexsort((-keys, iou, n))
        found = np.full(len(self.own), -1)
        found[label[first[order]]] = drawn[first[order]]
        return found


def role_hashes(records: Records, context: ReportContext) -> Hashes:
    """Hashes of the labels of roles, and of how they are matched, on every sample ``(S,)``; 0 without roles.

    With the content of the annotators' labels they say all on which the numbers of roles depend, whatever its order.
    """
    n, n_samples, roles = records.n_annotators, records.n_samples, role_names(context)
    if not roles:
        return np.zeros(n_samples, np.uint64)
    labels = Labels.of(records, context)
    people = mixed(name_hashes([*context.annotators, *(name for name, _ in roles), ""]))
    total = assignment_hashes(labels.present, people)
    if labels.kind == "masks":
        names = "role", "annotator", "value", "drawn", "wanted", "shared"
        role, annotator, *counts = (records.column(f"area_{name}").astype(np.int64) for name in names)
        area = combined(people[n + role], people[annotator].view(np.int64))
        for count in counts:
            area = combined(area, count)
        return total + hash_sums(np.repeat(np.arange(n_samples), records.column("n_role_areas")), area, n_samples)
    values = (
        name_hashes(labels.names)[labels.value] if labels.kind != "numbers" else np.zeros(len(labels.who), np.uint64)
    )
    given = combined(people[labels.who], values.view(np.int64))
    numbers = [labels.value if labels.kind == "numbers" else None, labels.more("area"), labels.boxes]
    for each in (each.astype(np.float64) for each in numbers if each is not None):
        given = with_numbers(given, each)
    codes = labels.more("attributes")
    for k, name in enumerate(context.config.attributes):
        if codes is None:
            break
        of_values = name_hashes([repr(value) for value in context.attribute_values.get(name, [None])])
        given = combined(given, of_values[codes[:, k]].view(np.int64))
    total += hash_sums(labels.sample, given, n_samples)
    if labels.kind == "objects":
        party, pairs = labels.stored_pairs
        # of two annotators either may be the first
        other = np.where(pairs.label < 0, people[party], given[pairs.label])
        pair = combined(other + given[pairs.drawn], pairs.kind)
        total += hash_sums(labels.sample[pairs.drawn], with_numbers(pair, np.round(pairs.iou, 9)), n_samples)
    return total


def compared_roles(records: Records, context: ReportContext) -> list[Comparison]:
    """The comparison of every role of a run with the annotators."""
    n = len(role_names(context))
    labels = Labels.of(records, context) if n else None
    return [] if labels is None else [Comparison.of(labels, records.n_annotators + k) for k in range(n)]
