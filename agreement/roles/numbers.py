"""Numbers of annotators against a reference or model: of each annotator, and by class, size and attribute.

Every number is a quotient of two columns, summed over meetings: an annotator and the role, on a sample that both have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ...metrics.bootstrap.draws import sparse
from ...metrics.geometry.boxes import box_area
from ...metrics.geometry.objects import iou_from_areas
from ...metrics.numeric.arrays import FloatArray, IntArray, distinct, sums_by
from ..matching.tables import MEASURES
from ..objects.sizes import SIZES
from ..pixels.counts import MaskValues, are_classes
from ..statistics.numbers import GroupNumbers, Joined, Key, Numbers, ratio
from ..statistics.records import Records
from ..statistics.report import ReportContext
from .matching import LOOSELY, RIGHT
from .role_labels import Labels, RoleMeetings, role_names

#: columns of every annotator, class or size; the offsets of boxes follow
COLUMNS = (
    *("n_labels", "n_reference", "n_both", "n_matched", "n_right", "n_loose", "iou", "iou_right", "n_boxes"),
    *("n_numbers", "error", "absolute_error", "n_images", "iou_of_images"),
)
_PLACE = {name: k for k, name in enumerate((*COLUMNS, *MEASURES))}
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
_OF_ATTRIBUTES = {name: name for name in ("accuracy", "mean_error", "mean_absolute_error")}
#: numbers of a model that are those of the annotators the other way round
_OF_MODELS = {
    "precision": "recall",
    "recall": "precision",
    "class_precision": "class_recall",
    "class_recall": "class_precision",
}
#: classes and sizes of annotators with intervals, at most
MAX_RESAMPLED = 200
#: a column, and the part (class, size or attribute; -1: none), annotator, sample and value (None: 1) of what it sums
Entry = tuple[str, IntArray, IntArray, IntArray, FloatArray | None]
#: group, sample and columns of every (group, sample) that occurs, and the number of groups
Rows = tuple[IntArray, IntArray, FloatArray, int]


def formula(columns: Mapping[str, FloatArray], names: Sequence[str]) -> FloatArray:
    """Some of the numbers from sums of columns by name; the last axis in the order of the names."""
    if "n_both" in columns and "n_matched" in columns:
        columns = {**columns, "n_either": columns["n_both"] - columns["n_matched"]}
    chosen = (NUMBERS[name] for name in names)
    return np.stack([ratio(factor * columns[above], columns[below]) for factor, above, below in chosen], axis=-1)


def rows_of(entries: Sequence[Entry], n_parts: int, n_samples: int, n_annotators: int) -> Rows:
    """Sum entries; groups are annotators times parts."""
    kept = [part >= 0 for _, part, *_ in entries]
    keys = [
        ((annotator * n_parts + part) * n_samples + sample)[known]
        for (_, part, annotator, sample, _), known in zip(entries, kept, strict=True)
    ]
    every = np.concatenate([np.empty(0, np.int64), *keys])
    found, row = distinct(every, int(every.max(initial=-1)) + 1)
    columns = np.zeros((len(found), len(_PLACE)))
    ends = pairwise(np.cumsum([0, *map(len, keys)]).tolist())
    for (name, *_, values), known, (start, end) in zip(entries, kept, ends, strict=True):
        weights = None if values is None else values[known]
        columns[:, _PLACE[name]] += np.bincount(row[start:end], weights, len(found))
    return found // n_samples, found % n_samples, columns, n_annotators * n_parts


@dataclass(frozen=True)
class Comparison(RoleMeetings):
    """The numbers of all annotators against one role."""

    @property
    def titles(self) -> dict[str, Sequence[str]]:
        """The names of the classes, sizes and attributes, by the name of the part of the report."""
        kind, found = self.kind, dict[str, Sequence[str]]()
        if kind.of_parts:
            found["classes"] = self.labels.names
        return {**found, "sizes": SIZES} if self.labels.kind == "objects" else found

    def part(self, part: str) -> IntArray:
        """The class or size of every label, shape ``(L,)``; without a part 0.

        A matched label of an annotator has the size of the label of the role.
        """
        if part == "classes":
            return self.labels.value
        if part == "sizes":
            size = self.labels.size.copy()
            size[self.pairs.drawn[self.matched]] = size[self.pairs.label[self.matched]]
            return size
        return np.zeros(len(self.labels.who), np.int64)

    @cached_property
    def _rows(self) -> dict[str, Rows]:
        return {}

    def rows(self, part: str = "") -> Rows:
        """Columns of every (group, sample): group, sample, columns ``(T, C)``, and the number of groups.

        Args:
            part: groups are annotators; with ``"classes"``, ``"sizes"`` or ``"attributes"`` annotators times these
        """
        if part not in self._rows:
            n_parts = len(self.attributes if part == "attributes" else self.titles[part]) if part else 1
            self._rows[part] = rows_of(self.entries(part), n_parts, self.n_samples, self.n_annotators)
        return self._rows[part]

    def entries(self, part: str) -> list[Entry]:
        """What is summed."""
        if part == "attributes":
            return self._of_attributes()
        labels, pairs, part_of = self.labels, self.pairs, self.part(part)
        label, annotator = self.wanted
        own = part_of[self.judged], labels.who[self.judged], labels.sample[self.judged], None
        wanted = part_of[label], annotator, labels.sample[label], None
        right, loose = np.flatnonzero(pairs.kind == RIGHT), np.flatnonzero(pairs.kind == LOOSELY)
        matched = right if part == "classes" else self.matched
        found: list[Entry] = [
            ("n_labels", *own), ("n_reference", *wanted), ("n_both", *own), ("n_both", *wanted),
            self._of_pairs("n_matched", part_of, matched), self._of_pairs("n_right", part_of, right),
            self._of_pairs("n_loose", part_of, loose), self._of_pairs("iou", part_of, matched, pairs.iou),
            self._of_pairs("iou_right", part_of, right, pairs.iou),
        ]  # fmt: skip
        return found if part or self.who < self.n_annotators else [*found, *self._measured(part_of)]

    def _of_pairs(self, name: str, part: IntArray, rows: IntArray, values: FloatArray | None = None) -> Entry:
        """A column of some pairs; parts are those of labels ``(L,)``, values of all pairs ``(P,)``."""
        label = self.pairs.label[rows]
        values = None if values is None else values[rows]
        return name, part[label], self.annotator[rows], self.labels.sample[label], values

    def _measured(self, part: IntArray) -> Iterator[Entry]:
        """Errors of numbers, and offsets of boxes from those of the role in per cent of its size."""
        rows, pairs, boxes = self.matched, self.pairs, self.labels.boxes if self.labels.kind == "objects" else None
        if self.labels.kind == "numbers":
            error: FloatArray = self.labels.value[pairs.drawn] - self.labels.value[pairs.label]
            yield self._of_pairs("n_numbers", part, rows)
            yield self._of_pairs("error", part, rows, error)
            yield self._of_pairs("absolute_error", part, rows, np.abs(error))
        if boxes is None:
            return
        true = boxes[pairs.label[rows]]
        rows = rows[(true[:, 2:] > true[:, :2]).all(axis=1)]
        own, true = boxes[pairs.drawn[rows]], boxes[pairs.label[rows]]
        sides = np.tile(true[:, 2:] - true[:, :2], 2)
        offsets = np.full((len(pairs.kind), len(MEASURES)), np.nan)
        offsets[rows, 0] = 100.0 * (np.sqrt(box_area(own) / box_area(true)) - 1.0)
        offsets[rows, 1:] = 100.0 * (own - true) / sides
        yield self._of_pairs("n_boxes", part, rows)
        for k, name in enumerate(MEASURES):
            yield self._of_pairs(name, part, rows, offsets[:, k])

    def _of_attributes(self) -> list[Entry]:
        found: list[Entry] = []
        for place, each in enumerate(self.attributes):
            part, error = np.full(len(self.labels.who), place), np.full(len(self.pairs.kind), np.nan)
            found += [self._of_pairs(name, part, each.rows) for name in ("n_labels", "n_both")]
            found.append(self._of_pairs("n_right", part, each.rows[~each.differ]))
            if each.are_numbers:
                error[each.rows] = each.values.numbers[each.own] - each.values.numbers[each.true]
                found += [self._of_pairs("n_numbers", part, each.rows), self._of_pairs("error", part, each.rows, error)]
                found.append(self._of_pairs("absolute_error", part, each.rows, np.abs(error)))
        return found

    def values_of_images(self) -> FloatArray:
        """The number ``of_image`` of every annotator on every sample, shape ``(S, R)``.

        Undefined:
            nan where the role or the annotator is not there, and where it is undefined, as neither has a label
        """
        group, sample, columns, _ = self.rows()
        values = np.full((self.n_samples, self.n_annotators), np.nan)
        named = dict(zip(_PLACE, columns.T, strict=True))
        values[sample, group] = formula(named, self.kind.of_image[:1])[:, 0]
        return values

    # ---- numbers ----

    def numbers(self, key: Key, *, by_sample: bool) -> Iterator[Numbers]:
        """The numbers of every annotator, and by class, size and attribute.

        Args:
            key: what the keys begin with: the table, and the name of a model
            by_sample: whether they have intervals
        """
        annotators, kind = self.context.annotators, self.kind

        def owners(part: str, titles: Sequence[str]) -> list[Key]:
            return [(f"{key[0]}_{part}", *key[1:], name, title) for name in annotators for title in titles]

        every: list[Key] = [(*key, name) for name in annotators]
        yield from self._of_groups("", every, kind.shown, by_sample=by_sample)
        if kind.has_kappa:
            yield from self._kappas(every, self.classes_said())
        if self.attributes:
            of_attributes = owners("attributes", [each.values.name for each in self.attributes])
            yield from self._of_groups("attributes", of_attributes, _OF_ATTRIBUTES, by_sample=by_sample)
            for place, each in enumerate(self.attributes):
                if not each.are_numbers:
                    said = self._said(each.rows, each.own, each.true)
                    yield from self._kappas(of_attributes[place :: len(self.attributes)], said)
        for part, titles in self.titles.items():
            yield from self._of_groups(part, owners(part, titles), kind.of_parts, by_sample=by_sample)

    def _of_groups(
        self, part: str, owners: list[Key], shown: Mapping[str, str], *, by_sample: bool
    ) -> Iterator[Numbers]:
        group, sample, columns, n_groups = self.rows(part)
        total = np.bincount(group, columns[:, _PLACE["n_both"]], n_groups)
        order = np.argsort(-total, kind="stable")[:MAX_RESAMPLED]
        computed = [_OF_MODELS.get(name, name) if self.is_model else name for name in shown.values()]
        named = {name for each in computed for name in NUMBERS[each][1:]} | {"n_both", "n_matched"}
        used = [name for name in _PLACE if name in named]
        basis = np.array([used.index(NUMBERS[name][2].replace("n_either", "n_both")) for name in computed])
        found = {k: owner for k, owner in enumerate(owners) if total[k] > 0}

        def of_sums(sums: FloatArray) -> FloatArray:
            return formula({name: sums[..., k] for k, name in enumerate(used)}, computed)

        joined = Joined(by_sample)
        of_groups = GroupNumbers(
            table=part,
            keys=found,
            n_groups=n_groups,
            names=list(shown),
            group=group,
            sample=sample,
            columns={name: columns[:, _PLACE[name]] for name in used},
            formula=of_sums,
            basis=basis,
            resampled=order[total[order] > 0][: None if by_sample else 0],
        )
        joined.add(0, [of_groups], self.n_samples)
        yield from joined.numbers()

    def classes_said(self) -> list[Entry]:
        """Counted classes of annotators and of the role, over matched labels."""
        value, rows = self.labels.value, self.matched
        return self._said(rows, value[self.pairs.drawn[rows]], value[self.pairs.label[rows]])

    def _said(self, rows: IntArray, own: IntArray, true: IntArray) -> list[Entry]:
        """The codes of what annotators and the role say in some of the pairs."""
        annotator, sample = self.annotator[rows], self.labels.sample[self.pairs.label[rows]]
        both = np.where(own == true, own, -1)
        names = ("n_labels", own), ("n_reference", true), ("n_right", both)
        return [(name, codes, annotator, sample, None) for name, codes in names]

    def _kappas(self, owners: Sequence[Key], said: Sequence[Entry]) -> Iterator[Numbers]:
        """Cohen's kappa of every annotator; columns: the labels, the right ones, those of every class of both."""
        n_codes = 1 + max(int(codes.max(initial=0)) for _, codes, *_ in said)
        group, sample, columns, _ = rows_of(said, n_codes, self.n_samples, self.n_annotators)
        of_annotator, column = group // n_codes, dict(zip(_PLACE, columns.T, strict=True))
        for k, owner in enumerate(owners):
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


def _kappa(sums: FloatArray) -> FloatArray:
    """Cohen's kappa; nan where both said the same of everything."""
    n, agreed = sums[..., 0], sums[..., 1]
    own, true = np.split(sums[..., 2:], 2, axis=-1)
    chance = (own * true).sum(axis=-1)
    return ratio(n * agreed - chance, n * n - chance)[..., None]


@dataclass(frozen=True)
class MaskComparison(Comparison):
    """Masks, whose pixels are labels: all that both have are matched, and right where the values are equal."""

    @cached_property
    def areas(self) -> dict[str, IntArray]:
        """Pixels of every value that the role or an annotator gave, by sample and annotator: columns of shape ``(V,)``.

        ``drawn`` are those in the mask of the annotator, ``wanted`` those of the role, ``shared`` those of both.
        """
        records = self.labels.records
        names = ("annotator", "value", "drawn", "wanted", "shared")
        own = records.column("area_role") == self.who - self.n_annotators
        sample = np.repeat(np.arange(records.n_samples), records.column("n_role_areas"))[own]
        return {"sample": sample, **{name: records.column(f"area_{name}")[own].astype(np.int64) for name in names}}

    @cached_property
    def _meaning(self) -> MaskValues:
        return MaskValues.from_dict(self.context.details)

    @cached_property
    def _values(self) -> IntArray:
        return np.unique(self.areas["value"])

    @property
    def titles(self) -> dict[str, Sequence[str]]:
        """The names of the values."""
        is_rgb = bool(self.context.details["is_rgb"])
        return {"classes": [self._meaning.name(value, is_rgb=is_rgb) for value in self._values.tolist()]}

    def _pixels(self, part: IntArray, **columns: str) -> list[Entry]:
        areas = self.areas
        return [
            (name, part, areas["annotator"], areas["sample"], areas[of].astype(np.float64))
            for name, of in columns.items()
        ]

    def classes_said(self) -> list[Entry]:
        """The values of all pixels."""
        place = np.searchsorted(self._values, self.areas["value"])
        return self._pixels(place, n_labels="drawn", n_reference="wanted", n_right="shared")

    def entries(self, part: str) -> list[Entry]:
        """As of labels; classes are the values without the background, and a pixel is matched in all of them."""
        areas, is_class = self.areas, are_classes(self.areas["value"], self._meaning.background)
        place = np.where(is_class, np.searchsorted(self._values, areas["value"]), -1) if part else 0 * areas["value"]
        found = self._pixels(place, n_labels="drawn", n_reference="wanted", n_both="drawn", n_right="shared")
        found += self._pixels(place, n_both="wanted", n_matched="shared" if part else "drawn")
        if part:
            return found
        # mean IoU of the classes that the role or the annotator used, on every sample that both have
        cell, n_cells = areas["sample"] * self.n_annotators + areas["annotator"], self.n_samples * self.n_annotators
        iou = iou_from_areas(*(areas[name].astype(np.float64) for name in ("shared", "drawn", "wanted")))
        n = np.bincount(cell[is_class], minlength=n_cells)
        mean = sums_by(cell[is_class], iou[is_class], n_cells) / np.where(n > 0, n, np.nan)
        if self.context.config.empty == "agree":
            mean[(n == 0) & (np.bincount(cell, minlength=n_cells) > 0)] = 1.0
        defined = np.flatnonzero(~np.isnan(mean))
        where = np.zeros(len(defined), np.int64), defined % self.n_annotators, defined // self.n_annotators
        return [*found, ("n_images", *where, None), ("iou_of_images", *where, mean[defined])]


def compared_with(labels: Labels, who: int) -> Comparison:
    """The labels of annotators against those of one of the roles, or of an annotator left out."""
    return (MaskComparison if labels.kind == "masks" else Comparison)(labels, who)


def compared_roles(records: Records, context: ReportContext) -> list[Comparison]:
    """Every role of a run."""
    n = len(role_names(context))
    labels = Labels.of(records, context) if n else None
    return [] if labels is None else [compared_with(labels, records.n_annotators + k) for k in range(n)]
