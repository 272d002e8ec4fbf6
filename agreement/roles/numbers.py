"""Numbers of annotators against a reference or model: of each annotator, and by class and size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...metrics.geometry.boxes import box_area
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, ranges, sums_by
from ..objects.records import ObjectRecords, shown_area
from ..objects.sizes import SIZES, SizeRule
from ..objects.sums import MEASURES
from ..statistics.codes import MISSING
from ..statistics.numbers import GroupRows, Key, Numbers, ratio
from ..statistics.report import ReportContext
from .columns import StoredRole
from .matching import COVERED, EXCUSED, LOOSELY, RIGHT, WRONG_CLASS

#: columns of every annotator, class or size; the offsets of boxes follow
COLUMNS = ("n_labels", "n_reference", "n_both", "n_matched", "n_right", "n_loose", "iou", "iou_right", "n_boxes")
#: numbers, and the column that is not 0 on the samples that each uses
NUMBERS = {
    "precision": "n_labels",
    "recall": "n_reference",
    "f1": "n_both",
    "pq": "n_both",
    "class_accuracy": "n_matched",
    "mean_iou": "n_matched",
    "jaccard": "n_both",
    **{f"bias.{measure}": "n_boxes" for measure in MEASURES},
}
#: numbers of a model that are those of the annotators the other way round
_OF_MODELS = {"precision": "recall", "recall": "precision"}
#: numbers of classes and sizes
OF_PARTS = ("precision", "recall", "f1", "mean_iou")
#: classes and sizes of annotators with intervals, at most
MAX_RESAMPLED = 200


def formula(sums: FloatArray) -> FloatArray:
    """The numbers from sums of ``COLUMNS`` and offsets, in the order of ``NUMBERS``."""
    column = {name: sums[..., place] for place, name in enumerate((*COLUMNS, *MEASURES))}
    n_matched, n_both = column["n_matched"], column["n_both"]
    found = [
        ratio(n_matched, column["n_labels"]),
        ratio(n_matched, column["n_reference"]),
        ratio(2.0 * n_matched, n_both),
        ratio(2.0 * column["iou_right"], n_both),
        ratio(column["n_right"], n_matched),
        ratio(column["iou"], n_matched),
        ratio(n_matched, n_both - n_matched),
        *(ratio(column[measure], column["n_boxes"]) for measure in MEASURES),
    ]
    return np.stack(found, axis=-1)


def role_names(context: ReportContext) -> list[tuple[str, bool]]:
    """The roles of a run, in the order of their columns, and whether each is a model."""
    return [(role["name"], role["is_model"]) for role in context.details.get("roles", ())]


def class_table(context: ReportContext) -> tuple[list[str], IntArray, IntArray]:
    """The names of all classes, and for every code of annotators and of roles the place among them."""
    names: dict[str, int] = {}
    places = [
        np.array([names.setdefault(name, len(names)) for name in given], np.int64)
        for given in (context.class_names, context.role_class_names)
    ]
    return list(names), places[0], places[1]


@dataclass(frozen=True)
class AgainstRole:
    """The labels of all annotators and those of one role, on the samples that both have.

    Every label of the role is there once for every annotator who was assigned: these are the ``Q`` wanted labels.
    """

    records: ObjectRecords
    context: ReportContext
    stored: StoredRole
    is_model: bool

    @classmethod
    def of(cls, records: ObjectRecords, context: ReportContext, role: int) -> AgainstRole:
        """One of the roles of a run."""
        names = role_names(context)
        return cls(records, context, StoredRole.of(records, role, len(names)), names[role][1])

    @property
    def n_annotators(self) -> int:
        """Number of annotators."""
        return self.records.n_annotators

    @cached_property
    def both(self) -> BoolArray:
        """Samples that the role and an annotator have, shape ``(S, R)``."""
        return self.records.assigned & self.stored.present[:, None]

    @cached_property
    def drawn_sample(self) -> IntArray:
        """Sample of every label of annotators, shape ``(N,)``."""
        return np.repeat(np.arange(self.records.n_samples), self.records.column("n_objects"))

    @cached_property
    def drawn_annotator(self) -> IntArray:
        """Annotator of every label, shape ``(N,)``."""
        return self.records.column("annotator").astype(np.int64)

    @cached_property
    def partner(self) -> tuple[IntArray, IntArray]:
        """Kind of the pair of every label of annotators, and its row among pairs, shape ``(N,)``; -1 without a pair."""
        pairs = self.stored.pairs
        kind, row = np.full((2, len(self.drawn_sample)), -1)
        own = np.flatnonzero(pairs.drawn >= 0)
        kind[pairs.drawn[own]], row[pairs.drawn[own]] = pairs.kind[own], own
        return kind, row

    @cached_property
    def judged(self) -> IntArray:
        """Rows of the labels of annotators that count: not in a crowd region of the role; on samples of both."""
        kind, _ = self.partner
        return np.flatnonzero(self.both[self.drawn_sample, self.drawn_annotator] & (kind != COVERED))

    @cached_property
    def wanted(self) -> tuple[IntArray, IntArray]:
        """The labels of the role that every annotator should have drawn: rows ``(Q,)``, and the annotators."""
        asked, pairs = self.both.sum(axis=1), self.stored.pairs
        label = np.repeat(np.arange(len(self.stored.sample)), asked[self.stored.sample])
        annotator = np.nonzero(self.both)[1]
        first = (np.cumsum(asked) - asked)[self.stored.sample]
        annotator = annotator[ranges(first, asked[self.stored.sample])]
        excused = pairs.kind == EXCUSED
        key, r = label * self.n_annotators + annotator, self.n_annotators
        kept = ~np.isin(key, pairs.label[excused] * r + pairs.annotator[excused])
        return label[kept], annotator[kept]

    @cached_property
    def matched(self) -> IntArray:
        """Rows of the pairs that reach the threshold."""
        return np.flatnonzero(self.stored.pairs.kind <= WRONG_CLASS)

    @cached_property
    def classes(self) -> tuple[list[str], IntArray, IntArray]:
        """The names of all classes; the class of every label of annotators ``(N,)``, and of the role ``(M,)``."""
        names, of_annotators, of_roles = class_table(self.context)
        drawn = of_annotators[self.records.column("category").astype(np.int64)]
        return names, drawn, of_roles[self.stored.category] if len(self.stored.category) else self.stored.category

    @cached_property
    def sizes(self) -> tuple[IntArray, IntArray]:
        """Index into ``SIZES`` of every label of annotators ``(N,)``, and of the role ``(M,)``; -1 without a size."""
        rule, config = self.size_rule, self.context.config
        n = len(self.drawn_sample), len(self.stored.sample)
        if rule.limits is None or "role_boxes" not in self.records.parts[0]:
            return np.full(n[0], -1), np.full(n[1], -1)
        of_boxes = "visibility" in self.records.parts[0] or config.line_tolerance is not None
        columns = {"area": self.records.column("area")}
        drawn, wanted = shown_area(columns), self.role_area
        if of_boxes:
            drawn, wanted = (box_area(each) for each in self.boxes)
        if rule.unit == "px²" and not rule.in_pixels:
            pixels = self.records.column("size_px").astype(np.float64).prod(axis=1)
            drawn, wanted = drawn * pixels[self.drawn_sample], wanted * pixels[self.stored.sample]
        return rule.of_areas(drawn), rule.of_areas(wanted)

    @cached_property
    def size_rule(self) -> SizeRule:
        """Which labels are small, medium and large."""
        return SizeRule.of(self.records, self.context.config)

    @property
    def role_area(self) -> FloatArray:
        """Area of the labels of the role, shape ``(M,)``."""
        return self.records.column("role_area")[self.stored.row].astype(np.float64)

    @property
    def boxes(self) -> tuple[FloatArray, FloatArray]:
        """Boxes of the labels of annotators ``(N, 4)``, and of the role ``(M, 4)``."""
        of_role = self.records.column("role_boxes")[self.stored.row].astype(np.float64)
        return self.records.column("boxes_xyxy").astype(np.float64), of_role

    def offsets(self) -> tuple[IntArray, FloatArray]:
        """Offsets of the boxes of annotators from those of the role in per cent, of pairs at these rows."""
        columns = self.records.parts[0]
        if "role_boxes" not in columns or "boxes_xyxy" not in columns:
            return np.empty(0, np.int64), np.empty((0, len(MEASURES)))
        pairs, (drawn, wanted) = self.stored.pairs, self.boxes
        own, true = drawn[pairs.drawn[self.matched]], wanted[pairs.label[self.matched]]
        width, height = true[:, 2] - true[:, 0], true[:, 3] - true[:, 1]
        kept = (width > 0) & (height > 0)
        own, true, sides = own[kept], true[kept], np.column_stack([width, height, width, height])[kept]
        size = np.sqrt(box_area(own) / box_area(true)) - 1.0
        return self.matched[kept], 100.0 * np.column_stack([size, (own - true) / sides])

    # ---- columns ----

    def rows(self, part: str = "") -> tuple[IntArray, IntArray, FloatArray, int]:
        """Columns of every (group, sample): group, sample, columns ``(T, C)``, and the number of groups.

        Args:
            part: groups are annotators; with ``"classes"`` or ``"sizes"`` annotators times classes or sizes
        """
        pairs, matched, judged = self.stored.pairs, self.matched, self.judged
        label, annotator = self.wanted
        right = matched[pairs.kind[matched] == RIGHT]
        drawn_part, role_part, n_parts = self._parts(part)
        if part == "classes":
            matched = right
        of_pairs = role_part[pairs.label]

        def of_matched(rows: IntArray, values: FloatArray | None = None) -> _Entry:
            return of_pairs[rows], pairs.annotator[rows], self.stored.sample[pairs.label[rows]], values

        loose = np.flatnonzero(pairs.kind == LOOSELY)
        own = drawn_part[judged], self.drawn_annotator[judged], self.drawn_sample[judged], None
        wanted = role_part[label], annotator, self.stored.sample[label], None
        entries: list[tuple[str, _Entry]] = [
            ("n_labels", own), ("n_reference", wanted), ("n_both", own), ("n_both", wanted),
            ("n_matched", of_matched(matched)), ("n_right", of_matched(right)), ("n_loose", of_matched(loose)),
            ("iou", of_matched(matched, pairs.iou[matched])), ("iou_right", of_matched(right, pairs.iou[right])),
        ]  # fmt: skip
        if not part:
            boxed, offsets = self.offsets()
            entries.append(("n_boxes", of_matched(boxed)))
            entries += [(name, of_matched(boxed, offsets[:, k])) for k, name in enumerate(MEASURES)]
        return (*_summed(entries, n_parts, self.records.n_samples), self.n_annotators * n_parts)

    def _parts(self, part: str) -> tuple[IntArray, IntArray, int]:
        """The class or size of every label of annotators and of the role, and the number of these; 0 for all."""
        if part == "classes":
            names, drawn, wanted = self.classes
            return drawn, wanted, len(names)
        if part == "sizes":
            drawn, wanted = self.sizes
            kind, row = self.partner
            paired = np.flatnonzero((kind >= 0) & (kind <= WRONG_CLASS))
            drawn = drawn.copy()
            drawn[paired] = wanted[self.stored.pairs.label[row[paired]]]
            return drawn, wanted, len(SIZES)
        return np.zeros(len(self.drawn_sample), np.int64), np.zeros(len(self.stored.sample), np.int64), 1

    # ---- numbers ----

    def numbers(self, key: Key, *, by_sample: bool) -> Iterator[Numbers]:
        """The numbers of every annotator, and by class and size.

        Args:
            key: what the keys begin with: the table, and the name of a model
            by_sample: whether they have intervals
        """
        names = list(NUMBERS)
        yield from self._of_groups("", {k: (*key, name) for k, name in enumerate(self.context.annotators)}, names,
                                   by_sample=by_sample)  # fmt: skip
        for part, titles in (("classes", self.classes[0]), ("sizes", SIZES)):
            owners = {
                k * len(titles) + place: (f"{key[0]}_{part}", *key[1:], name, title)
                for k, name in enumerate(self.context.annotators)
                for place, title in enumerate(titles)
                if not (part == "classes" and place == MISSING)
            }
            yield from self._of_groups(part, owners, list(OF_PARTS), by_sample=by_sample)

    def _of_groups(
        self, part: str, owners: dict[int, Key], names: Sequence[str], *, by_sample: bool
    ) -> Iterator[Numbers]:
        group, sample, columns, n_groups = self.rows(part)
        total = np.bincount(group, columns[:, COLUMNS.index("n_both")], n_groups)
        order = np.argsort(-total, kind="stable")[:MAX_RESAMPLED]
        rows = GroupRows(n_groups, order[total[order] > 0] if by_sample else np.empty(0, np.int64))
        rows.add(group, sample, columns, self.records.n_samples)
        computed = [_OF_MODELS.get(name, name) if self.is_model else name for name in names]
        places = [list(NUMBERS).index(name) for name in computed]
        basis = np.array([COLUMNS.index(NUMBERS[name]) for name in computed])
        found = {k: owner for k, owner in owners.items() if total[k] > 0}
        yield from rows.numbers(
            found, names, lambda sums: formula(sums)[..., places], basis, len(COLUMNS) + len(MEASURES)
        )


#: part, annotator, sample and value (None: 1) of some labels
_Entry = tuple[IntArray, IntArray, IntArray, FloatArray | None]


def _summed(
    entries: Sequence[tuple[str, _Entry]], n_parts: int, n_samples: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Group, sample and columns of every (group, sample) that occurs."""
    place = {name: k for k, name in enumerate((*COLUMNS, *MEASURES))}
    keys, kept = [], []
    for name, (part, annotator, sample, values) in entries:
        known = part >= 0
        key = ((annotator * n_parts + part) * n_samples + sample)[known]
        keys.append(key)
        kept.append((place[name], np.ones(len(key)) if values is None else values[known]))
    found, row = np.unique(np.concatenate(keys), return_inverse=True)
    ends = np.cumsum([len(key) for key in keys])
    columns = np.zeros((len(found), len(place)))
    for (k, values), end in zip(kept, ends.tolist(), strict=True):
        columns[:, k] += sums_by(row[end - len(values) : end], values, len(found))
    return found // n_samples, found % n_samples, columns
