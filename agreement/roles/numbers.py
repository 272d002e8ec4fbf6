"""Numbers of annotators against a reference or model: of each annotator, and by class and size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...metrics.bootstrap.draws import sparse
from ...metrics.geometry.boxes import box_area
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, distinct, ranges
from ..objects.attributes import Values
from ..objects.records import shown_area
from ..objects.sizes import SIZES, SizeRule
from ..objects.tables import MEASURES
from ..statistics.numbers import GroupRows, Key, Numbers, ratio
from ..statistics.records import Records
from ..statistics.report import ReportContext
from .matching import COVERED, EXTRA, LOOSELY, RIGHT, SAID, WRONG_CLASS, StoredRole, compared_values

#: columns of every annotator, class or size; the offsets of boxes follow
COLUMNS = (
    *("n_labels", "n_reference", "n_both", "n_matched", "n_right", "n_loose", "iou", "iou_right", "n_boxes"),
    *("n_numbers", "error", "absolute_error", "n_images", "iou_of_images"),
)
#: numbers: a factor, and the columns above and below; ``n_either`` are the labels of both that are not matched, and the
#: matched ones once
NUMBERS: dict[str, tuple[float, str, str]] = {
    "precision": (1.0, "n_matched", "n_labels"),
    "recall": (1.0, "n_matched", "n_reference"),
    "f1": (2.0, "n_matched", "n_both"),
    "pq": (2.0, "iou_right", "n_both"),
    "class_accuracy": (1.0, "n_right", "n_matched"),
    "mean_iou": (1.0, "iou", "n_matched"),
    "jaccard": (1.0, "n_matched", "n_either"),
    "class_precision": (1.0, "n_right", "n_labels"),
    "class_recall": (1.0, "n_right", "n_reference"),
    "class_jaccard": (1.0, "n_right", "n_either"),
    **{f"bias.{measure}": (1.0, measure, "n_boxes") for measure in MEASURES},
    "accuracy": (1.0, "n_right", "n_labels"),
    "mean_error": (1.0, "error", "n_numbers"),
    "mean_absolute_error": (1.0, "absolute_error", "n_numbers"),
    "iou_of_images": (1.0, "iou_of_images", "n_images"),
}
#: numbers of a model that are those of the annotators the other way round
_OF_MODELS = {
    "precision": "recall",
    "recall": "precision",
    "class_precision": "class_recall",
    "class_recall": "class_precision",
}
#: classes and sizes of annotators with intervals, at most
MAX_RESAMPLED = 200


def formula(columns: Mapping[str, FloatArray], names: Sequence[str]) -> FloatArray:
    """Some of the numbers from sums of ``COLUMNS`` and offsets, by name; the last axis in the order of the names."""
    if "n_both" in columns and "n_matched" in columns:
        columns = {**columns, "n_either": columns["n_both"] - columns["n_matched"]}
    chosen = (NUMBERS[name] for name in names)
    return np.stack([ratio(factor * columns[above], columns[below]) for factor, above, below in chosen], axis=-1)


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
class AgainstRole:
    """The labels of all annotators and those of one role, on the samples that both have.

    Every label of the role is there once for every annotator who was assigned: these are the ``Q`` wanted labels. This
    class is that of objects; other labels have subclasses.
    """

    records: Records
    context: ReportContext
    stored: StoredRole
    is_model: bool
    annotator: int | None = None  #: one of the annotators who takes the place of the role

    #: numbers of an annotator, and of their classes and sizes, by their names in the report
    shown: ClassVar[Mapping[str, str]] = {name: name for name in list(NUMBERS)[: 10 + len(MEASURES)]}
    of_parts: ClassVar[Mapping[str, str]] = {
        name: name for name in ("precision", "recall", "f1", "class_jaccard", "mean_iou")
    }
    #: numbers of compared attributes
    of_attributes: ClassVar[Mapping[str, str]] = {
        name: name for name in ("accuracy", "mean_error", "mean_absolute_error")
    }
    #: number of an annotator on an image, and its name there
    of_image: ClassVar[tuple[str, str]] = ("f1", "f1")
    has_kappa: ClassVar[bool] = True  #: whether there is Cohen's kappa of the classes of matched labels
    has_persons: ClassVar[bool] = True  #: whether annotators can be left out in turn, and compared with a model

    @classmethod
    def of(cls, records: Records, context: ReportContext, role: int) -> AgainstRole:
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
        both: BoolArray = self.records.assigned & self.stored.present[:, None]
        if self.annotator is not None:
            both[:, self.annotator] = False
        return both

    @cached_property
    def drawn(self) -> tuple[IntArray, IntArray, NDArray[Any]]:
        """Sample, annotator and class code of every label of annotators, shape ``(N,)``."""
        return self.records.labels()

    @property
    def drawn_sample(self) -> IntArray:
        """Sample of every label of annotators, shape ``(N,)``."""
        return self.drawn[0]

    @property
    def drawn_annotator(self) -> IntArray:
        """Annotator of every label, shape ``(N,)``."""
        return self.drawn[1]

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
        """Rows of the labels of annotators that count: not in a crowd region of the role, nor undecided; on samples of
        both."""
        kind, _ = self.partner
        return np.flatnonzero(self.both[self.drawn_sample, self.drawn_annotator] & (kind < COVERED))

    @cached_property
    def wanted(self) -> tuple[IntArray, IntArray]:
        """The labels of the role that every annotator should have drawn: rows ``(Q,)``, and the annotators."""
        asked = self.both.sum(axis=1)
        label = np.repeat(np.arange(len(self.stored.sample)), asked[self.stored.sample])
        annotator = np.nonzero(self.both)[1]
        first = (np.cumsum(asked) - asked)[self.stored.sample]
        return label, annotator[ranges(first, asked[self.stored.sample])]

    def matched_by(self, annotators: Sequence[int]) -> tuple[IntArray, NDArray[np.object_]]:
        """What annotators, by number, say of the labels of the role that they should have drawn.

        Returns:
            rows of these labels, ascending, and of each ``right`` where any of the annotators has a matching label of
            the same class, ``wrong_class`` where all matching ones have another, ``extra`` where nobody has one
        """
        label, annotator = self.wanted
        pairs, said = self.stored.pairs, np.full(len(self.stored.sample), EXTRA, object)
        for kind in (WRONG_CLASS, RIGHT):
            said[pairs.label[(pairs.kind == kind) & np.isin(pairs.annotator, annotators)]] = SAID[kind]
        rows = np.unique(label[np.isin(annotator, annotators)])
        return rows, said[rows]

    @cached_property
    def matched(self) -> IntArray:
        """Rows of the pairs that reach the threshold."""
        return np.flatnonzero(self.stored.pairs.kind <= WRONG_CLASS)

    @cached_property
    def classes(self) -> tuple[list[str], IntArray, IntArray]:
        """The names of all classes; the class of every label of annotators ``(N,)``, and of the role ``(M,)``."""
        names, of_annotators, of_roles = class_table(self.context)
        drawn = of_annotators[self.drawn[2]]
        return names, drawn, of_roles[self.stored.category] if len(self.stored.category) else self.stored.category

    @cached_property
    def sizes(self) -> tuple[IntArray, IntArray]:
        """Index into ``SIZES`` of every label of annotators ``(N,)``, and of the role ``(M,)``; -1 without a size."""
        areas = self.label_areas
        if areas is None:
            return np.full(len(self.drawn_sample), -1), np.full(len(self.stored.sample), -1)
        return self.size_rule.of_areas(areas[0]), self.size_rule.of_areas(areas[1])

    @cached_property
    def label_areas(self) -> tuple[FloatArray, FloatArray] | None:
        """Area of every label of annotators ``(N,)`` and of the role ``(M,)`` in the unit of sizes; None without."""
        rule, config = self.size_rule, self.context.config
        if rule.limits is None or "role_boxes" not in self.records.parts[0]:
            return None
        of_boxes = "visibility" in self.records.parts[0] or config.line_tolerance is not None
        columns = {"area": self.records.column("area")}
        drawn, wanted = shown_area(columns), self.role_area
        if of_boxes:
            drawn, wanted = (box_area(each) for each in self.boxes)
        if rule.unit == "px²" and not rule.in_pixels:
            pixels = self.records.column("size_px").astype(np.float64).prod(axis=1)
            drawn, wanted = drawn * pixels[self.drawn_sample], wanted * pixels[self.stored.sample]
        return drawn, wanted

    @cached_property
    def size_rule(self) -> SizeRule:
        """Rule that divides labels into small, medium and large."""
        return SizeRule.of(self.records, self.context.config)  # type: ignore[arg-type]  # these are objects

    @property
    def role_area(self) -> FloatArray:
        """Area of the labels of the role, shape ``(M,)``."""
        return self.records.column("role_area")[self.stored.row].astype(np.float64)

    @property
    def boxes(self) -> tuple[FloatArray, FloatArray]:
        """Boxes of the labels of annotators ``(N, 4)``, and of the role ``(M, 4)``."""
        of_role = self.records.column("role_boxes")[self.stored.row].astype(np.float64)
        return self.records.column("boxes_xyxy").astype(np.float64), of_role

    def measured(self) -> Iterator[tuple[str, IntArray, FloatArray | None]]:
        """More columns of pairs: name, rows and values; offsets of boxes from those of the role in per cent."""
        columns = self.records.parts[0]
        if "role_boxes" not in columns or "boxes_xyxy" not in columns:
            return
        pairs, (drawn, wanted) = self.stored.pairs, self.boxes
        own, true = drawn[pairs.drawn[self.matched]], wanted[pairs.label[self.matched]]
        width, height = true[:, 2] - true[:, 0], true[:, 3] - true[:, 1]
        kept = (width > 0) & (height > 0)
        own, true, sides = own[kept], true[kept], np.column_stack([width, height, width, height])[kept]
        size = np.sqrt(box_area(own) / box_area(true)) - 1.0
        offsets = 100.0 * np.column_stack([size, (own - true) / sides])
        yield "n_boxes", self.matched[kept], None
        for k, name in enumerate(MEASURES):
            yield name, self.matched[kept], offsets[:, k]

    @cached_property
    def attributes(self) -> list[AttributeValues]:
        """The compared attributes of matched labels."""
        config, context = self.context.config, self.context
        if "role_attributes" not in self.records.parts[0]:
            return []
        own, true = self.records.column("attributes"), self.records.column("role_attributes")[self.stored.row]
        found = []
        for k, name in enumerate(config.attributes):
            values = Values.of(name, context.attribute_values.get(name, [None]), config.tolerance)
            codes = own[:, k].astype(np.int64), true[:, k].astype(np.int64)
            rows, differ = compared_values(self.stored.pairs, *codes, values)
            of_pairs = codes[0][self.stored.pairs.drawn[rows]], codes[1][self.stored.pairs.label[rows]]
            found.append(AttributeValues(values, rows, *of_pairs, differ))
        return found

    @cached_property
    def differing(self) -> IntArray:
        """Rows of the pairs of equal classes of which an attribute differs."""
        rows = np.unique(np.concatenate([np.empty(0, np.int64), *(each.rows[each.differ] for each in self.attributes)]))
        found: IntArray = rows[self.stored.pairs.kind[rows] == RIGHT]
        return found

    # ---- columns ----

    def rows(self, part: str = "") -> tuple[IntArray, IntArray, FloatArray, int]:
        """Columns of every (group, sample): group, sample, columns ``(T, C)``, and the number of groups.

        Args:
            part: groups are annotators; with ``"classes"``, ``"sizes"`` or ``"attributes"`` annotators times these
        """
        if part == "attributes":
            return self._rows_of_attributes()
        pairs, matched, judged = self.stored.pairs, self.matched, self.judged
        label, annotator = self.wanted
        right = matched[pairs.kind[matched] == RIGHT]
        drawn_part, role_part, n_parts = self.parts_of_labels(part)
        if part == "classes":
            matched = right
        of_pairs = role_part[pairs.label]

        def of_matched(rows: IntArray, values: FloatArray | None = None) -> Entry:
            return of_pairs[rows], *self._of_pairs(rows), values

        loose = np.flatnonzero(pairs.kind == LOOSELY)
        own = drawn_part[judged], self.drawn_annotator[judged], self.drawn_sample[judged], None
        wanted = role_part[label], annotator, self.stored.sample[label], None
        entries: list[tuple[str, Entry]] = [
            ("n_labels", own), ("n_reference", wanted), ("n_both", own), ("n_both", wanted),
            ("n_matched", of_matched(matched)), ("n_right", of_matched(right)), ("n_loose", of_matched(loose)),
            ("iou", of_matched(matched, pairs.iou[matched])), ("iou_right", of_matched(right, pairs.iou[right])),
        ]  # fmt: skip
        if not part:
            entries += [(name, of_matched(rows, values)) for name, rows, values in self.measured()]
        return (*sums_of_entries(entries, n_parts, self.records.n_samples), self.n_annotators * n_parts)

    def rows_once(self, part: str = "") -> tuple[IntArray, IntArray, FloatArray, int]:
        """The same as :meth:`rows`, computed once."""
        if part not in self._rows:
            self._rows[part] = self.rows(part)
        return self._rows[part]

    def values_of_images(self) -> FloatArray:
        """The number ``of_image`` of every annotator on every sample, shape ``(S, R)``.

        Undefined:
            nan where the role or the annotator is not there, and where it is undefined, as neither has a label
        """
        group, sample, columns, _ = self.rows_once()
        values = np.full((self.records.n_samples, self.n_annotators), np.nan)
        named = dict(zip((*COLUMNS, *MEASURES), columns.T, strict=True))
        values[sample, group] = formula(named, self.of_image[:1])[:, 0]
        return values

    @cached_property
    def _rows(self) -> dict[str, tuple[IntArray, IntArray, FloatArray, int]]:
        return {}

    def _rows_of_attributes(self) -> tuple[IntArray, IntArray, FloatArray, int]:
        entries: list[tuple[str, Entry]] = []
        for place, each in enumerate(self.attributes):

            def of(rows: IntArray, values: FloatArray | None = None, place: int = place) -> Entry:
                return np.full(len(rows), place), *self._of_pairs(rows), values

            entries += [(name, of(each.rows)) for name in ("n_labels", "n_both")]
            entries.append(("n_right", of(each.rows[~each.differ])))
            if each.are_numbers:
                error = each.values.numbers[each.own] - each.values.numbers[each.true]
                entries += [("n_numbers", of(each.rows)), ("error", of(each.rows, error))]
                entries.append(("absolute_error", of(each.rows, np.abs(error))))
        n = len(self.attributes)
        return (*sums_of_entries(entries, n, self.records.n_samples), self.n_annotators * n)

    def _of_pairs(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Annotator and sample of some of the pairs."""
        pairs = self.stored.pairs
        return pairs.annotator[rows], self.stored.sample[pairs.label[rows]]

    def parts_of_labels(self, part: str) -> tuple[IntArray, IntArray, int]:
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
        annotators = self.context.annotators

        def owners_of(part: str, titles: Sequence[str]) -> dict[int, Key]:
            names = ((name, title) for name in annotators for title in titles)
            return {k: (f"{key[0]}_{part}", *key[1:], *both) for k, both in enumerate(names)}

        owners: dict[int, Key] = {k: (*key, name) for k, name in enumerate(annotators)}
        yield from self._of_groups("", owners, self.shown, by_sample=by_sample)
        if self.has_kappa:
            yield from self._kappas(owners, self.classes_said())
        if self.attributes:
            owners = owners_of("attributes", [each.values.name for each in self.attributes])
            yield from self._of_groups("attributes", owners, self.of_attributes, by_sample=by_sample)
            for place, each in enumerate(self.attributes):
                if not each.are_numbers:
                    of_attribute = {k: owners[k * len(self.attributes) + place] for k in range(len(annotators))}
                    yield from self._kappas(of_attribute, self._said(each.rows, each.own, each.true))
        for part, titles in self.titles().items() if self.of_parts else ():
            yield from self._of_groups(part, owners_of(part, titles), self.of_parts, by_sample=by_sample)

    def classes_said(self) -> list[tuple[str, Entry]]:
        """Counted classes of annotators and of the role, over matched labels."""
        _, drawn, wanted = self.classes
        pairs, rows = self.stored.pairs, self.matched
        return self._said(rows, drawn[pairs.drawn[rows]], wanted[pairs.label[rows]])

    def _said(self, rows: IntArray, own: IntArray, true: IntArray) -> list[tuple[str, Entry]]:
        """The codes of what annotators and the role say in some of the pairs."""
        annotator, sample = self._of_pairs(rows)
        right = own == true
        equal = own[right], annotator[right], sample[right], None
        either = [
            (name, (codes, annotator, sample, None)) for name, codes in (("n_labels", own), ("n_reference", true))
        ]
        return [*either, ("n_right", equal)]

    def _kappas(self, owners: Mapping[int, Key], said: Sequence[tuple[str, Entry]]) -> Iterator[Numbers]:
        """Cohen's kappa of every annotator; columns: the labels, the right ones, those of every class of both."""
        n_codes = 1 + max(int(codes.max(initial=0)) for _, (codes, *_) in said)
        group, sample, columns = sums_of_entries(said, n_codes, self.records.n_samples)
        of_annotator, column = group // n_codes, dict(zip(COLUMNS, columns.T, strict=False))
        for k, owner in owners.items():
            rows = np.flatnonzero(of_annotator == k)
            if not len(rows):
                continue
            used, place = np.unique(group[rows], return_inverse=True)
            samples, row = np.unique(sample[rows], return_inverse=True)
            zero, n = np.zeros(len(rows), np.int64), len(used)
            found = sparse(
                np.tile(row, 4),
                np.concatenate([zero, zero + 1, 2 + place, 2 + n + place]),
                np.concatenate([column[each][rows] for each in ("n_labels", "n_right", "n_labels", "n_reference")]),
                (len(samples), 2 + 2 * n),
            )
            yield Numbers(((*owner, "kappa"),), found, _kappa, samples, np.zeros(1, np.int64))

    def titles(self) -> dict[str, Sequence[str]]:
        """The names of the classes and sizes, by the name of the part of the report."""
        return {"classes": self.classes[0], "sizes": SIZES}

    def _of_groups(
        self, part: str, owners: dict[int, Key], shown: Mapping[str, str], *, by_sample: bool
    ) -> Iterator[Numbers]:
        group, sample, columns, n_groups = self.rows_once(part)
        total = np.bincount(group, columns[:, COLUMNS.index("n_both")], n_groups)
        order = np.argsort(-total, kind="stable")[:MAX_RESAMPLED]
        rows = GroupRows(n_groups, order[total[order] > 0] if by_sample else np.empty(0, np.int64))
        computed = [_OF_MODELS.get(name, name) if self.is_model else name for name in shown.values()]
        named = {name for each in computed for name in NUMBERS[each][1:]} | {"n_both", "n_matched"}
        place = {name: k for k, name in enumerate((*COLUMNS, *MEASURES)) if name in named}
        rows.add(group, sample, columns[:, list(place.values())], self.records.n_samples)
        basis = [list(place).index(NUMBERS[name][2].replace("n_either", "n_both")) for name in computed]
        found = {k: owner for k, owner in owners.items() if total[k] > 0}

        def of_sums(sums: FloatArray) -> FloatArray:
            return formula({name: sums[..., k] for k, name in enumerate(place)}, computed)

        yield from rows.numbers(found, list(shown), of_sums, np.array(basis), len(place))


def _kappa(sums: FloatArray) -> FloatArray:
    """Cohen's kappa; nan where both said the same of everything."""
    n, agreed = sums[..., 0], sums[..., 1]
    own, true = np.split(sums[..., 2:], 2, axis=-1)
    chance = (own * true).sum(axis=-1)
    return ratio(n * agreed - chance, n * n - chance)[..., None]


#: part, annotator, sample and value (None: 1) of some labels
Entry = tuple[IntArray, IntArray, IntArray, FloatArray | None]


def sums_of_entries(
    entries: Sequence[tuple[str, Entry]], n_parts: int, n_samples: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Group, sample and columns of every (group, sample) that occurs."""
    place = {name: k for k, name in enumerate((*COLUMNS, *MEASURES))}
    keys, kept = [], []
    for name, (part, annotator, sample, values) in entries:
        known = part >= 0
        keys.append(((annotator * n_parts + part) * n_samples + sample)[known])
        kept.append((place[name], None if values is None else values[known]))
    every = np.concatenate(keys)
    found, row = distinct(every, int(every.max(initial=-1)) + 1)
    ends = np.cumsum([0, *map(len, keys)]).tolist()
    columns = np.zeros((len(found), len(place)))
    for (k, values), (start, end) in zip(kept, pairwise(ends), strict=True):
        columns[:, k] += np.bincount(row[start:end], values, len(found))
    return found // n_samples, found % n_samples, columns
