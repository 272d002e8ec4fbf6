"""Numbers of classes and sizes, confusions between classes, the effect of merging two, and similar class names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...metrics.alpha import nominal_alpha_of_squares, nominal_alpha_of_sums
from ...metrics.bootstrap.draws import sparse
from ...metrics.consensus.consensus import medians_by_group
from ...metrics.geometry.boxes import box_area
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..evidence.hypotheses import Confused
from ..evidence.ranking import in_order, natural_key
from ..matching.tables import Tables
from ..settings.config import AgreementConfig, Undefined
from ..statistics.codes import MISSING
from ..statistics.estimates import Fields
from ..statistics.numbers import Numbers, ratio
from ..statistics.records import compact
from ..statistics.report import number
from .records import Gathered, ObjectRecords, count_codes, mean, median, rows_by_code
from .report import ClassSummary, Confusion, Merge, SizeSummary

SIZES = ("small", "medium", "large")
#: smallest area in px² of medium and large objects, as in COCO
COCO_LIMITS = (32.0**2, 96.0**2)
#: relative coordinates are not much larger than this; pixel coordinates are
_LARGEST_RELATIVE = 2.0
#: areas are compared to about seven digits, so that a box of 32 by 32 px is medium
_SLACK = 1e-6


@dataclass(frozen=True, slots=True)
class SizeRule:
    """Definition of small, medium and large."""

    limits: tuple[float, float] | None  #: smallest areas of medium and large; None if objects have no size
    unit: str  #: unit of these areas
    in_pixels: bool  #: whether the labels' geometry is in pixels

    @classmethod
    def of(cls, records: ObjectRecords, config: AgreementConfig) -> SizeRule:
        """The rule for all samples.

        COCO's rule if the geometry is in pixels or all image sizes are known, else terciles of the units.
        """
        boxes = [part["boxes_xyxy"] for part in records.parts if "boxes_xyxy" in part]
        if not any(len(part) for part in boxes):
            return cls(None, "", False)
        in_pixels = max(float(np.fmax.reduce(part, axis=None, initial=0.0)) for part in boxes) > _LARGEST_RELATIVE
        known = all("size_px" in part for part in records.parts)
        if in_pixels or (known and not np.isnan(records.column("size_px")[records.rated]).any()):
            return cls(COCO_LIMITS, "px²", in_pixels)
        relative = cls(None, "share of the image", False)
        areas = np.concatenate([relative.areas_of_units(t)[t.rated_unit] for t in records.tables(config)])
        areas = areas[~np.isnan(areas)]
        if not len(areas):
            return relative
        low, high = np.quantile(areas, [1 / 3, 2 / 3]).tolist()
        return cls((low, high), relative.unit, False)

    def areas_of_units(self, t: Tables) -> FloatArray:
        """Median area of the labels of every unit, shape ``(U,)``; nan if a label has no area."""
        area = own_areas(t.area, t.boxes_xyxy, t.part.get("visibility"), t.config)
        if self.unit == "px²" and not self.in_pixels:
            area = area * t.part["size_px"].astype(np.float64).prod(axis=1)[t.objects.sample]
        return medians_by_group(t.unit, area[:, None], len(t.units.sample))[:, 0]

    def of_units(self, t: Tables) -> IntArray:
        """Index into ``SIZES`` for every unit, shape ``(U,)``; -1 without a size."""
        return np.full(len(t.units.sample), -1) if self.limits is None else self.of_areas(self.areas_of_units(t))

    def of_areas(self, areas: FloatArray) -> IntArray:
        """Index into ``SIZES`` for areas in ``unit``; -1 for nan."""
        size: IntArray = np.searchsorted(self.limits or (), areas * (1.0 + _SLACK), side="right")
        return np.where(np.isnan(areas), -1, size)


def own_areas(
    area: FloatArray, boxes_xyxy: FloatArray | None, visibility: FloatArray | None, config: AgreementConfig
) -> FloatArray:
    """Areas of objects in label coordinates; for keypoints and lines the area of the bounding box."""
    if boxes_xyxy is not None and (visibility is not None or config.line_tolerance is not None):
        return box_area(boxes_xyxy)
    return area


def add_sizes(gathered: Gathered, t: Tables) -> None:
    """Add to ``gathered`` counts of units by size, votes and assigned annotators, and the sizes of pairs of labels."""
    known = (t.size >= 0) & t.rated_unit
    units = t.units
    gathered.add_counts({"sizes": count_codes(t.size[known], units.votes[known], units.assigned[known])})
    gathered.add({"pair_size": t.size[t.unit[t.pairs.i]].astype(np.int8)})


def missed_of_units(votes: IntArray, assigned: IntArray) -> tuple[IntArray, IntArray]:
    """How many annotators missed each of some units, and how many could have, shapes ``(U,)``.

    As for annotators: who was asked could miss what two others drew. Of two who drew it, neither could.
    """
    missed = np.where(votes >= 2, assigned - votes, 0)
    return missed, missed + np.where(votes >= 3, votes, 0)


def size_summaries(gathered: Gathered, rule: SizeRule) -> list[SizeSummary]:
    """Agreement on every size; empty if objects have no size."""
    if rule.limits is None:
        return []
    ends = [None, *rule.limits, None]
    of_pair, pair_iou, units = gathered.rows("pair_size"), gathered.rows("pair_iou"), gathered.counts("sizes")
    summaries = []
    for k, size in enumerate(SIZES):
        iou = pair_iou[of_pair == k]
        _, votes, assigned, n = units[:, units[0] == k]
        n_missed, n_could_miss = (int((n * each).sum()) for each in missed_of_units(votes, assigned))
        n_labels = int((n * votes * (assigned - 1)).sum())
        summaries.append(
            SizeSummary(
                size=size,
                area_from=ends[k],
                area_to=ends[k + 1],
                unit=rule.unit,
                n_units=int(n.sum()),
                n_lone=int(n[votes == 1].sum()),
                n_pairs=len(iou),
                mean_iou=mean(iou),
                median_iou=median(iou),
                miss_rate=n_missed / n_could_miss if n_could_miss else None,
                f1=int((n * votes * (votes - 1)).sum()) / n_labels if n_labels else None,
            )
        )
    return summaries


#: classes listed in a report
MAX_CLASSES = 1_000
#: maximum number of classes with intervals (the most frequent ones)
MAX_RESAMPLED = 200
#: confused classes listed for each class
MAX_CONFUSED = 20
#: number of pairs of classes for which a merge is tried
MAX_MERGES = 10
#: shorter names are not compared letter by letter: "car" and "cat" are different classes
MIN_LENGTH = 5
#: class of a pair of labels with different classes
NO_CLASS = -1

_SEPARATORS = re.compile(r"[\s_\-]+")

#: columns of every class
_COLUMNS = ("observed", "n_ratings", "n_alike", "n_met", "iou", "n_missed", "n_could_miss")
#: numbers as quotients of two of these columns, by name
_RATIOS = {
    "agreement_given_match": ("n_alike", "n_met"),
    "mean_iou": ("iou", "n_alike"),
    "miss_rate": ("n_missed", "n_could_miss"),
}
#: every number rests on the samples on which this column is not 0
_BASIS = {"alpha": "n_ratings"} | {name: below for name, (_, below) in _RATIOS.items()}


def by_frequency(n_labels: IntArray, names: Sequence[str]) -> IntArray:
    """Codes of the classes that occur, the most frequent first; ties by name. ``n_labels`` has the shape ``(K,)``."""
    order = np.lexsort((name_ranks(names), -n_labels))
    codes: IntArray = order[n_labels[order] > 0]
    return codes


def class_numbers(t: Tables, codes: IntArray, names: Sequence[str]) -> Iterator[Numbers]:
    """The numbers of the most frequent classes; only ``MAX_RESAMPLED`` of them have intervals.

    ``observed`` is the disagreement between a class and all others, ``2 n_uc (m - n_uc) / (m - 1)`` for a unit.
    """
    ratings, units, pairs, category, undefined = t.ratings, t.units, t.pairs, t.objects.category, t.config.undefined
    n_ratings = sums_by(ratings.unit, ratings.count, len(ratings.sample))
    of_samples = sums_by(ratings.sample, np.where(n_ratings >= 2, n_ratings, 0.0), t.n_samples)
    compared = n_ratings[ratings.unit] >= 2
    m, n = n_ratings[ratings.unit[compared]], ratings.count[compared]
    rated = ratings.sample[ratings.unit[compared]], ratings.category[compared]
    alike, apart = pairs.same_class, ~pairs.same_class
    both = t.pair_sample[alike], category[pairs.i[alike]]
    met = np.r_[t.pair_sample, t.pair_sample[apart]], np.r_[category[pairs.i], category[pairs.j[apart]]]
    led = np.flatnonzero((t.lead >= 0) & (units.votes >= 2))
    drawn, (missed, could_miss) = (
        (units.sample[led], t.lead[led]),
        missed_of_units(units.votes[led], units.assigned[led]),
    )
    # sample, class and value of the entries of every column
    entries: dict[str, tuple[IntArray, IntArray, Any]] = {
        "observed": (*rated, 2.0 * n * (m - n) / (m - 1)),
        "n_ratings": (*rated, n),
        "n_alike": (*both, np.ones(len(both[0]))),
        "n_met": (*met, np.ones(len(met[0]))),
        "iou": (*both, pairs.iou[alike]),
        "n_missed": (*drawn, missed),
        "n_could_miss": (*drawn, could_miss),
    }

    def formula(sums: FloatArray) -> FloatArray:
        by_class = sums[..., 1:].reshape(*sums.shape[:-1], len(_COLUMNS), -1)
        found = {name: by_class[..., k, :] for k, name in enumerate(_COLUMNS)}
        own, every = found["n_ratings"], sums[..., :1]
        squares = own**2 + (every - own) ** 2
        alpha = nominal_alpha_of_squares(found["observed"], every, squares, undefined)
        return np.concatenate([alpha, *(ratio(found[a], found[b]) for a, b in _RATIOS.values())], axis=-1)

    for some, by_sample in ((codes[:MAX_RESAMPLED], True), (codes[MAX_RESAMPLED:MAX_CLASSES], False)):
        n_some, place = len(some), np.full(len(names), -1)
        if not n_some:
            continue
        place[some] = np.arange(n_some)
        rows, columns, values = [np.arange(t.n_samples)], [np.zeros(t.n_samples, np.int64)], [of_samples]
        for k, name in enumerate(_COLUMNS):
            sample, code, value = entries[name]
            kept = place[code] >= 0
            rows.append(sample[kept])
            columns.append(1 + k * n_some + place[code[kept]])
            values.append(value[kept])
        shape = t.n_samples, 1 + len(_COLUMNS) * n_some
        yield Numbers(
            tuple(("classes", names[code], name) for name in _BASIS for code in some.tolist()),
            sparse(np.concatenate(rows), np.concatenate(columns), np.concatenate(values), shape),
            formula,
            basis=np.concatenate([1 + _COLUMNS.index(name) * n_some + np.arange(n_some) for name in _BASIS.values()]),
            by_sample=by_sample,
            table="classes",
        )


def add_classes(gathered: Gathered, t: Tables) -> None:
    """Add to ``gathered`` units and cost of every class, the class of every pair of labels, and counts of conflicts.

    The cost of a class is the disagreement on its labels: 1 for every other annotator who was asked and did not draw
    the object or gave it another class, 1 - IoU for one who gave it the same class. All labels together cost ``(n_a +
    n_b) (1 - pq)``, summed over the pairs of annotators.
    """
    units, unit, pairs, category, k = t.units, t.unit, t.pairs, t.objects.category, t.n_categories
    lack = np.where(pairs.same_class, 1.0 - pairs.iou, 1.0)
    missing = np.where(t.rated_unit, units.assigned - units.votes, 0)
    cost = missing[unit] + sums_by(t.pair_ends, np.tile(lack, 2), len(unit))
    ratings = t.ratings
    columns = {
        "n_units": np.bincount(ratings.category[ratings.category != MISSING], minlength=k),
        "n_lone": np.bincount(category[(units.votes == 1)[unit]], minlength=k),
        "cost": sums_by(category, cost, k),
    }
    gathered.add({"classes": np.stack(list(columns.values()))[None]})
    of_pair = np.where(pairs.same_class, category[pairs.i], NO_CLASS)
    gathered.add({"pair_class": of_pair.astype(np.int32)})
    i, j = pairs.i[~pairs.same_class], pairs.j[~pairs.same_class]
    n_ratings = units.assigned if t.rates_missing else units.votes
    gathered.add_counts({"conflicts": count_codes(n_ratings[unit[i]], category[i], category[j])})


def class_summaries(
    fields: Fields, gathered: Gathered, n_labels: IntArray, confused: IntArray, names: Sequence[str]
) -> tuple[list[ClassSummary], int]:
    """The summaries of the most frequent classes, and the number of classes not listed.

    Args:
        n_labels: shape ``(K,)``
        confused: counts of (class, other class) over all pairs of labels of one unit
    """
    codes = by_frequency(n_labels, names)
    n_units, n_lone, cost = gathered.rows("classes").sum(axis=0)
    total, (a, b, n) = float(cost.sum()), confused[:, confused[0] != confused[1]]
    met = listed_by_row(np.r_[a, b], np.r_[b, a], np.r_[b, a], np.tile(n, 2), names, len(names), MAX_CONFUSED)
    iou, listed = gathered.rows("pair_iou"), codes[:MAX_CLASSES].tolist()
    of_class = list(rows_by_code(compact(gathered.rows("pair_class") + 1), len(names) + 1))[1:]
    summaries = [
        ClassSummary(
            name=names[code],
            n_objects=int(n_labels[code]),
            n_units=int(n_units[code]),
            n_lone=int(n_lone[code]),
            share_of_disagreement=float(cost[code]) / total if total else None,
            prevalence=int(n_labels[code]) / int(n_labels.sum()),
            **fields.of("classes", names[code]),
            median_iou=median(iou[of_class[code]]),
            confused_with=[{"class": entry["a"], "n": entry["n"]} for entry in met[code][0]],
        )
        for code in listed
    ]
    return summaries, max(len(codes) - MAX_CLASSES, 0)


def name_ranks(names: Sequence[str]) -> IntArray:
    """Rank of every name in alphabetical order."""
    ranks = np.empty(len(names), np.int64)
    ranks[np.argsort(np.array(names, dtype=str), kind="stable")] = np.arange(len(names))
    return ranks


def class_pairs(confused: IntArray, names: Sequence[str]) -> IntArray:
    """Counts of unordered pairs of classes (sorted by name), equal ones included, over all pairs of annotators.

    Args:
        confused: counts of (pair of annotators, class of the first, class of the second)
    """
    _, a, b, n = confused
    ranks = name_ranks(names)
    first = ranks[a] <= ranks[b]
    return count_codes(np.where(first, a, b), np.where(first, b, a), times=n)


def listed_by_row(
    row: IntArray, a: IntArray, b: IntArray, n: IntArray, names: Sequence[str], n_rows: int, at_most: int
) -> list[tuple[list[Confusion], int]]:
    """The most frequent pairs of classes of every row, and the total count of its other pairs; ties by name.

    Args:
        row: shape ``(T,)``, rows ``0 … n_rows - 1``
        a: shape ``(T,)``, class code
        b: shape ``(T,)``, another class code
        n: shape ``(T,)``, count
        n_rows: number of rows
        at_most: maximum length of a list
    """
    ranks = name_ranks(names)
    order = np.lexsort((ranks[b], ranks[a], -n, row))
    row, n = row[order], n[order]
    start, end = (np.searchsorted(row, np.arange(n_rows), side) for side in ("left", "right"))
    listed = np.arange(len(row)) < start[row] + at_most
    unlisted = sums_by(row[~listed], n[~listed], n_rows).astype(np.int64)
    codes = (a[order[listed]].tolist(), b[order[listed]].tolist(), n[listed].tolist())
    entries: list[Confusion] = [{"a": names[p], "b": names[q], "n": count} for p, q, count in zip(*codes, strict=True)]
    n_listed = np.minimum(end - start, at_most)
    starts = (np.cumsum(n_listed) - n_listed).tolist()
    ends = np.cumsum(n_listed).tolist()
    return [(entries[p:q], k) for p, q, k in zip(starts, ends, unlisted.tolist(), strict=True)]


def merges(
    conflicts: IntArray, observed: FloatArray, counts: FloatArray, names: Sequence[str], undefined: Undefined
) -> list[Merge]:
    """The effect of merging the most confused pairs of classes, largest first; the units do not change.

    Args:
        conflicts: counts of (ratings of the unit, class, other class), over all pairs of labels of one unit
        observed: observed disagreement of alpha
        counts: shape ``(K,)``, ratings of every category in alpha
    """
    apart = class_pairs(conflicts, names)
    a, b, n = apart
    ranks = name_ranks(names)
    order = np.lexsort((ranks[b], ranks[a], -n))[:MAX_MERGES]
    n_ratings, first, second, times = conflicts
    before = number(float(nominal_alpha_of_sums(observed, counts, undefined)))
    found = []
    for p, q, n_confused in apart[:, order].T.tolist():
        both: BoolArray = ((first == p) & (second == q)) | ((first == q) & (second == p))
        # after the merge, these pairs of ratings (in both orders) are equal
        no_longer = (2.0 * times[both] / (n_ratings[both] - 1)).sum()
        merged = counts.copy()
        merged[p] += merged[q]
        merged[q] = 0
        after = number(float(nominal_alpha_of_sums(observed - no_longer, merged, undefined)))
        found.append(Merge([names[p], names[q]], n_confused, before, after))

    def by_gain(merge: Merge) -> tuple[bool, float, int, list[str]]:
        if merge.alpha_before is None or merge.alpha_after is None:  # undefined ones last
            return True, 0.0, -merge.n_confused, merge.classes
        return False, merge.alpha_before - merge.alpha_after, -merge.n_confused, merge.classes

    return sorted(found, key=by_gain)


def similar_names(names: Sequence[str], together: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Groups of names that are spelled alike and given to the same objects; nothing is merged.

    Args:
        names: class names, each once
        together: names that annotators give to the same objects, see :func:`synonyms`

    Returns:
        groups of at least two names, everything in natural order
    """
    group = {name: {name} for name in names}
    for a, b in together:
        if a in group and b in group and group[a] is not group[b] and similar_spellings([a, b]):
            group[a] |= group[b]
            for name in group[a]:
                group[name] = group[a]
    found = {id(own): in_order(own) for own in group.values() if len(own) > 1}
    return sorted(found.values(), key=lambda own: list(map(natural_key, own)))


def synonyms(counts: IntArray, names: Sequence[str], confused: Iterable[Confused]) -> Iterator[tuple[str, str]]:
    """Pairs of names that seem to mean one class.

    Of the pairs of labels of one unit in which the rarer name occurs, more than half have the other name, too; and the
    two names met on 10 images (so on 20 labels) or more. Names of two classes that are sometimes confused do not fulfil
    this.

    Args:
        counts: counts of (class, class) over all pairs of labels of one unit, equal classes included
        confused: the pairs of classes that met on enough images
    """
    first, second, n = counts
    differ = first != second
    own = sums_by(first, n, len(names)) + sums_by(second[differ], n[differ], len(names))
    n_labels = dict(zip(names, own.tolist(), strict=True))
    for pair in confused:
        a, b = pair.classes
        if 2 * pair.n > min(n_labels[a], n_labels[b]):
            yield a, b


def similar_spellings(names: Sequence[str]) -> list[list[str]]:
    """Groups of names that differ in case, spaces, underscores, hyphens or one letter.

    One added, missing or replaced letter (or space) counts only in names of at least ``MIN_LENGTH`` characters. Digits
    are not letters: "class_01" and "class_02" are different. A name joins the group of any similar name.

    Returns:
        groups of at least two names, everything in alphabetical order
    """
    by_form: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        by_form[" ".join(_SEPARATORS.split(name.casefold())).strip()].append(name)
    group = {form: form for form in by_form}

    def root(form: str) -> str:
        while group[form] != form:
            form = group[form]
        return form

    long = {form for form in by_form if len(form) >= MIN_LENGTH}
    by_gap: dict[tuple[int, str], str] = {}
    for form in sorted(long):
        for place, letter in enumerate(form):
            if letter.isdigit() or (letter == " " and form[place - 1].isdigit() and form[place + 1].isdigit()):
                continue
            gathered = form[:place] + form[place + 1 :]
            # forms that are equal apart from this gap form one group: linking neighbours is enough
            for similar in (gathered if gathered in long else None, by_gap.get((place, gathered))):
                if similar is not None:
                    first, second = sorted((root(similar), root(form)))
                    group[second] = first
            by_gap[place, gathered] = form
    joined: dict[str, list[str]] = defaultdict(list)
    for form, own in by_form.items():
        joined[root(form)] += own
    return sorted(sorted(own) for own in joined.values() if len(own) > 1)
