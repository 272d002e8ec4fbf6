"""Numbers of classes, confusions between classes, the effect of merging two, and similar class names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...metrics.alpha import nominal_alpha_of_squares, nominal_alpha_of_sums
from ...metrics.bootstrap.draws import SparseColumns, Summable, sparse
from ...metrics.numeric.arrays import FloatArray, IntArray, sums_by
from ..evidence.confusions import Confused
from ..evidence.ranking import in_order, natural_key
from ..matching.compute import Counting
from ..settings.config import Undefined
from ..statistics.codes import MISSING
from ..statistics.estimates import Fields
from ..statistics.numbers import BySample, Numbers, Rows, ratio
from ..statistics.records import compact
from ..statistics.report import number
from .report import ClassSummary, Confusion, Merge
from .sums import Additive, Chunk, Matches, SparseCounts, median

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

_SEPARATORS = re.compile(r"[\s_\-]+")

#: columns of every class
_COLUMNS = ("observed", "n_ratings", "n_alike", "n_met", "iou", "n_missing", "n_expected")
#: numbers as quotients of two of these columns, by name
_RATIOS = {
    "agreement_given_match": ("n_alike", "n_met"),
    "mean_iou": ("iou", "n_alike"),
    "miss_rate": ("n_missing", "n_expected"),
}
#: a number uses the samples in which this column is not 0
_BASIS = {"alpha": "n_ratings"} | {name: below for name, (_, below) in _RATIOS.items()}


@dataclass(frozen=True, slots=True)
class ClassSums(Additive):
    """Sums over rated samples."""

    n_objects: IntArray  #: shape ``(K,)``, labels of every class
    n_units: IntArray  #: shape ``(K,)``, units with a label of every class
    n_lone: IntArray  #: shape ``(K,)``, units of a single label
    cost: FloatArray  #: shape ``(K,)``, what the labels of every class lack to full agreement, see :func:`_costs`
    #: counts of (ratings of the unit, class, other class) over pairs of labels of one unit with different classes
    pair_counts: SparseCounts

    @classmethod
    def of(cls, chunk: Chunk) -> ClassSums:
        """The sums of some samples."""
        agreement, ratings, k = chunk.agreement, chunk.agreement.ratings, chunk.n_categories
        category, pairs, units = agreement.objects.category, agreement.pairs, agreement.units
        i, j = pairs.i[~pairs.same_class], pairs.j[~pairs.same_class]
        n_ratings = Counting.of(agreement.config).n_ratings(units.votes, units.assigned)
        rated = chunk.rated_unit[agreement.unit]
        return cls(
            n_objects=np.bincount(category[rated], minlength=k),
            n_lone=np.bincount(category[rated & (units.votes == 1)[agreement.unit]], minlength=k),
            cost=sums_by(category, _costs(chunk), k),
            n_units=np.bincount(ratings.category[ratings.category != MISSING], minlength=k),
            pair_counts=SparseCounts.of(n_ratings[agreement.unit[i]], category[i], category[j]),
        )

    def most_frequent(self, names: Sequence[str]) -> IntArray:
        """Codes of the classes that occur, the most frequent first; ties by name."""
        order = np.lexsort((name_ranks(names), -self.n_objects))
        codes: IntArray = order[self.n_objects[order] > 0]
        return codes


def _costs(chunk: Chunk) -> FloatArray:
    """Missing agreement of every label, shape ``(N,)``.

    It is 1 for every other assigned annotator who did not draw the object or called it otherwise, 1 - IoU for one who
    called it the same. All labels together cost ``(n_a + n_b) (1 - pq)``, summed over the pairs of annotators.
    """
    agreement, pairs = chunk.agreement, chunk.agreement.pairs
    lack = np.where(pairs.same_class, 1.0 - pairs.iou, 1.0)
    missing = np.where(chunk.rated_unit, agreement.units.assigned - agreement.units.votes, 0)
    costs: FloatArray = missing[agreement.unit] + sums_by(
        np.concatenate([pairs.i, pairs.j]), np.tile(lack, 2), len(agreement.unit)
    )
    return costs


class ClassNumbers:
    """The numbers of classes; only the ``MAX_RESAMPLED`` most frequent classes have intervals."""

    def __init__(self, class_names: Sequence[str], undefined: Undefined, *, by_sample: BySample) -> None:
        self._names = class_names
        self._undefined = undefined
        self._n_objects = np.zeros(len(class_names), np.int64)
        self._rows = Rows(by_sample=by_sample)

    def add(self, chunk: Chunk) -> None:
        agreement = chunk.agreement
        rated = agreement.objects.category[chunk.rated_unit[agreement.unit]]
        self._n_objects += np.bincount(rated, minlength=len(self._names))
        self._rows.add(_columns(chunk))

    def numbers(self) -> Iterator[Numbers]:
        columns = self._rows.columns()
        order = np.lexsort((name_ranks(self._names), -self._n_objects))[:MAX_CLASSES]
        codes = order[self._n_objects[order] > 0]
        for some, by_sample in ((codes[:MAX_RESAMPLED], self._rows.by_sample), (codes[MAX_RESAMPLED:], False)):
            if len(some):
                found = self._of(some, columns)
                yield found if by_sample else found.summed()

    def _of(self, codes: IntArray, columns: Summable) -> Numbers:
        n, k, undefined = len(codes), len(self._names), self._undefined

        def formula(sums: FloatArray) -> FloatArray:
            by_class = sums[..., 1:].reshape(*sums.shape[:-1], len(_COLUMNS), n)
            column = {name: by_class[..., place, :] for place, name in enumerate(_COLUMNS)}
            own, every = column["n_ratings"], sums[..., :1]
            squares = own**2 + (every - own) ** 2
            alpha = nominal_alpha_of_squares(column["observed"], every, squares, undefined)
            return np.concatenate([alpha, *(ratio(column[a], column[b]) for a, b in _RATIOS.values())], axis=-1)

        kept = np.concatenate([[0], *(1 + place * k + codes for place in range(len(_COLUMNS)))])
        return Numbers(
            tuple(("classes", self._names[code], name) for name in _BASIS for code in codes.tolist()),
            columns[:, kept],
            formula,
            basis=np.concatenate([1 + _COLUMNS.index(name) * n + np.arange(n) for name in _BASIS.values()]),
            by_sample=self._rows.by_sample,
        )


def _columns(chunk: Chunk) -> SparseColumns:
    """The columns of every sample, shape ``(S, 1 + 7 K)``: all ratings, then the first column of all classes …

    ``observed`` is the disagreement between a class and all others, ``2 n_uc (m - n_uc) / (m - 1)`` for a unit.
    """
    agreement, ratings, k = chunk.agreement, chunk.agreement.ratings, chunk.n_categories
    units, pairs, category = agreement.units, agreement.pairs, agreement.objects.category
    n_ratings = sums_by(ratings.unit, ratings.count, len(ratings.sample))
    compared = n_ratings[ratings.unit] >= 2
    m, n = n_ratings[ratings.unit[compared]], ratings.count[compared]
    rated_sample, rated_class = ratings.sample[ratings.unit[compared]], ratings.category[compared]

    alike, apart = pairs.same_class, ~pairs.same_class
    met_sample = np.concatenate([chunk.match_sample, chunk.match_sample[apart]])
    met_class = np.concatenate([category[pairs.i], category[pairs.j[apart]]])

    drawn = ratings.category != MISSING
    of_unit, given, count = ratings.unit[drawn], ratings.category[drawn], ratings.count[drawn]
    votes, assigned = units.votes[of_unit], units.assigned[of_unit]
    leads = (votes >= 2) & (2 * count > votes)
    led_sample, led_class = units.sample[of_unit[leads]], given[leads]
    alike_sample, alike_class = chunk.match_sample[alike], category[pairs.i[alike]]

    entries = {
        "observed": (rated_sample, rated_class, 2.0 * n * (m - n) / (m - 1)),
        "n_ratings": (rated_sample, rated_class, n),
        "n_alike": (alike_sample, alike_class, np.ones(len(alike_sample))),
        "n_met": (met_sample, met_class, np.ones(len(met_sample))),
        "iou": (alike_sample, alike_class, pairs.iou[alike]),
        "n_missing": (led_sample, led_class, (assigned - votes)[leads]),
        # of two annotators none can miss what two others drew
        "n_expected": (led_sample, led_class, assigned[leads] * (agreement.n_annotators > 2)),
    }
    of_samples = sums_by(chunk.rows_of(ratings.sample), np.where(n_ratings >= 2, n_ratings, 0.0), chunk.n_rows)
    rows, classes, values = zip(*(entries[name] for name in _COLUMNS), strict=True)
    columns = [1 + place * k + each for place, each in enumerate(classes)]
    return sparse(
        np.concatenate([np.arange(chunk.n_rows), *map(chunk.rows_of, rows)]),
        np.concatenate([np.zeros(chunk.n_rows, np.int64), *columns]),
        np.concatenate([of_samples, *values]),
        (chunk.n_rows, 1 + len(_COLUMNS) * k),
    )


def class_summaries(
    fields: Fields, sums: ClassSums, pair_counts: SparseCounts, matches: Matches, names: Sequence[str]
) -> tuple[list[ClassSummary], int]:
    """The summaries of the most frequent classes, and the number of classes not listed.

    Args:
        sums: sums over all samples
        pair_counts: counts of (class, other class) over all pairs of labels of one unit
        matches: the pairs of matched labels
    """
    codes = sums.most_frequent(names)
    n_labels = int(sums.n_objects.sum())
    total = float(sums.cost.sum())
    confused = _confused(pair_counts, names)
    listed = codes[:MAX_CLASSES].tolist()
    summaries = []
    for code, of_class in zip(listed, _class_ious(matches, listed), strict=True):
        summaries.append(
            ClassSummary(
                name=names[code],
                n_objects=int(sums.n_objects[code]),
                n_units=int(sums.n_units[code]),
                n_lone=int(sums.n_lone[code]),
                share_of_disagreement=float(sums.cost[code]) / total if total else None,
                prevalence=int(sums.n_objects[code]) / n_labels,
                **fields.of("classes", names[code]),
                median_iou=median(of_class),
                confused_with=confused[code],
            )
        )
    return summaries, max(len(codes) - MAX_CLASSES, 0)


def _class_ious(matches: Matches, codes: Sequence[int]) -> Iterator[FloatArray]:
    """IoU of the pairs of labels that both have one of some classes, class by class."""
    parts = []
    for category, iou in zip(matches.category_parts.parts, matches.iou_parts.parts, strict=True):
        order = np.argsort(compact(category), kind="stable")  # faster with few bits
        parts.append((np.searchsorted(category[order], np.arange(max(codes, default=-1) + 2)).tolist(), iou[order]))
    for code in codes:
        yield np.concatenate([iou[start[code] : start[code + 1]] for start, iou in parts])


def _confused(pair_counts: SparseCounts, names: Sequence[str]) -> list[list[dict[str, object]]]:
    """The classes that every class was confused with, the most frequent first; ties by name."""
    a, b = pair_counts.columns()
    differ = a != b
    own, other = np.r_[a[differ], b[differ]], np.r_[b[differ], a[differ]]
    n = np.tile(pair_counts.counts[differ], 2)
    order = np.lexsort((name_ranks(names)[other], -n, own))
    ends = np.searchsorted(own[order], np.arange(len(names) + 1))
    lists = []
    for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        rows = order[start : min(end, start + MAX_CONFUSED)]
        lists.append(
            [{"class": names[k], "n": count} for k, count in zip(other[rows].tolist(), n[rows].tolist(), strict=True)]
        )
    return lists


@dataclass(frozen=True, slots=True)
class Listed:
    """The most frequent entries of a list, and the total count of the others."""

    entries: list[Confusion]
    n_unlisted: int


def name_ranks(names: Sequence[str]) -> IntArray:
    """Rank of every name in alphabetical order."""
    ranks = np.empty(len(names), np.int64)
    ranks[np.argsort(np.array(names, dtype=str), kind="stable")] = np.arange(len(names))
    return ranks


def class_pairs(confusion: SparseCounts, names: Sequence[str]) -> SparseCounts:
    """Confusion counts of pairs of classes, summed over pairs of annotators and both directions.

    Args:
        confusion: counts of (pair of annotators, class of the first, class of the second)

    Returns:
        counts of (class, class), the first by name; including equal classes
    """
    _, a, b = confusion.columns()
    ranks = name_ranks(names)
    first = ranks[a] <= ranks[b]
    return confusion.regrouped(np.where(first, a, b), np.where(first, b, a))


def list_confusions(counts: SparseCounts, names: Sequence[str], at_most: int) -> Listed:
    """The most frequent pairs of different classes; ties by name.

    Args:
        counts: counts of (class, class)
        at_most: maximum length of the list
    """
    a, b = counts.columns()
    differ = a != b
    return listed_by_row(np.zeros(int(differ.sum()), np.int64), a[differ], b[differ], counts.counts[differ], names, 1,
                         at_most)[0]  # fmt: skip


def listed_by_row(
    row: IntArray, a: IntArray, b: IntArray, n: IntArray, names: Sequence[str], n_rows: int, at_most: int
) -> list[Listed]:
    """The most frequent pairs of classes of every row; ties by name.

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
    return [Listed(entries[p:q], k) for p, q, k in zip(starts, ends, unlisted.tolist(), strict=True)]


def merges(
    pair_counts: SparseCounts, observed: FloatArray, counts: FloatArray, names: Sequence[str], undefined: Undefined
) -> list[Merge]:
    """The effect of merging the most confused pairs of classes, largest first; the units do not change.

    Args:
        pair_counts: counts of (ratings of the unit, class, other class), over all pairs of labels of one unit
        observed: observed disagreement of alpha
        counts: shape ``(K,)``, ratings of every category in alpha
    """
    apart = class_pairs(pair_counts, names)
    a, b = apart.columns()
    ranks = name_ranks(names)
    order = np.lexsort((ranks[b], ranks[a], -apart.counts))[:MAX_MERGES]
    n_ratings, first, second = pair_counts.columns()
    before = number(float(nominal_alpha_of_sums(observed, counts, undefined)))
    found = []
    for row in order.tolist():
        p, q = int(a[row]), int(b[row])
        both = ((first == p) & (second == q)) | ((first == q) & (second == p))
        # after the merge, these pairs of ratings (in both orders) are equal
        no_longer = (2.0 * pair_counts.counts[both] / (n_ratings[both] - 1)).sum()
        merged = counts.copy()
        merged[p] += merged[q]
        merged[q] = 0
        after = number(float(nominal_alpha_of_sums(observed - no_longer, merged, undefined)))
        found.append(Merge([names[p], names[q]], int(apart.counts[row]), before, after))
    return sorted(found, key=_effect)


def _effect(merge: Merge) -> tuple[bool, float, int, list[str]]:
    """Sort key of merges: by the gain of alpha; undefined ones last."""
    if merge.alpha_before is None or merge.alpha_after is None:
        return True, 0.0, -merge.n_confused, merge.classes
    return False, merge.alpha_before - merge.alpha_after, -merge.n_confused, merge.classes


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


def synonyms(counts: SparseCounts, names: Sequence[str], confused: Iterable[Confused]) -> Iterator[tuple[str, str]]:
    """Pairs of names that mean one class as far as the labels can tell.

    The labels of the rarer name meet the other name on the same object more often than anything else, their own name
    included, and the two meet on 10 images (so on 20 labels) or more. Names of two classes that are now and then
    confused do not.

    Args:
        counts: counts of (class, class) over all pairs of labels of one unit, equal classes included
        confused: the pairs of classes that met on enough images
    """
    first, second = counts.columns()
    differ = first != second
    own = sums_by(first, counts.counts, len(names)) + sums_by(second[differ], counts.counts[differ], len(names))
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

    for a, b in _one_letter_apart(sorted(by_form)):
        first, second = sorted((root(a), root(b)))
        group[second] = first
    joined: dict[str, list[str]] = defaultdict(list)
    for form, own in by_form.items():
        joined[root(form)] += own
    return sorted(sorted(own) for own in joined.values() if len(own) > 1)


def _one_letter_apart(forms: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs of forms that differ by one added, missing or replaced letter."""
    long = {form for form in forms if len(form) >= MIN_LENGTH}
    by_gap: dict[tuple[int, str], str] = {}
    for form in sorted(long):
        for place, letter in enumerate(form):
            if letter.isdigit() or (letter == " " and form[place - 1].isdigit() and form[place + 1].isdigit()):
                continue
            rest = form[:place] + form[place + 1 :]
            if rest in long:
                yield rest, form
            # forms that are equal apart from this gap form one group: linking neighbours is enough
            previous = by_gap.get((place, rest))
            if previous is not None:
                yield previous, form
            by_gap[place, rest] = form
