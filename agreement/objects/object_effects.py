"""Effects of annotators, classes and sizes on objects: counts on every image, from which findings are tested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, distinct, ranges, sums_by
from ..evidence.confusions import Conflicts, conflict_rows
from ..evidence.hypotheses import (
    Column,
    EffectRows,
    Effects,
    effect_groups,
    findings_of,
    group_subjects,
    kind_mask,
    part_groups,
)
from ..evidence.ranking import MIN_IMAGES
from ..settings.annotators import AnnotatorPairs
from ..statistics.codes import MISSING
from ..statistics.numbers import Numbers
from .annotators import AssignedCells, missed_columns, verdict_columns
from .sizes import SIZES
from .sums import Chunk

#: kinds of findings on boxes
_BOXES = ("box_size", "box_right", "box_down")


class ObjectEffects:
    """Collector of the effects on rated samples.

    Args:
        assigned: shape ``(S, R)``, of rated samples
        clusters: shape ``(S,)``, video or group of every sample; None without
    """

    def __init__(self, pairs: AnnotatorPairs, clusters: IntArray | None) -> None:
        self._rows = EffectRows(clusters)
        self._pairs = pairs
        self._often = pairs.n_shared >= MIN_IMAGES

    def add(self, chunk: Chunk) -> None:
        self._rows.add(_effects_on(chunk, self._often), chunk.agreement.n_samples)

    def numbers(self) -> Iterator[Numbers]:
        yield from ()

    def found(
        self, annotators: Sequence[str], classes: Sequence[str], n_labels: IntArray, n_of_pairs: IntArray
    ) -> dict[str, Any]:
        """The fields of a report: what the tests confirm, of how many, and the classes that are confused.

        Args:
            n_labels: shape ``(K,)``, labels of every class
            n_of_pairs: shape ``(P,)``, labels of every pair of annotators on the samples that they share
        """
        moments = self._rows.moments()
        conflicts = Conflicts.of(moments, n_labels)
        expected = dict(zip(moments.group[conflicts.row].tolist(), conflicts.by_chance.tolist(), strict=True))
        close = moments.group[kind_mask(moments.group, "close")]
        ends = np.sort(group_subjects(close), axis=0)
        of_close = n_of_pairs[self._pairs.rows(ends[0], ends[1])]
        counted = dict(zip(close.tolist(), of_close.tolist(), strict=True))
        found = findings_of(moments, annotators, classes, SIZES, expected=expected, n_labels=counted)
        return {**found, "confused": conflicts.named(moments, classes)}


def _effects_on(chunk: Chunk, often: BoolArray) -> Iterator[Effects]:
    cells = AssignedCells.of(chunk)
    several = chunk.agreement.n_annotators > 2
    yield from _annotator_effects(cells, several=several)
    yield from _match_effects(cells)
    yield from _box_effects(cells, several=several)
    lead = _leading_class(chunk)
    if several:
        yield from _missed_by_class(cells, lead)
        yield from _pair_effects(cells, often)
    yield from _class_effects(cells, lead, several=several)
    yield from _size_effects(cells, several=several)


def _table(*columns: Column) -> FloatArray:
    return np.stack(columns).astype(np.float64, copy=False)


def _against_others(cells: AssignedCells, kind: str, second: int, own: Column, whole: Column) -> Effects:
    """An annotator against the other annotators on the same image."""
    n = cells.chunk.agreement.n_samples
    others = [sums_by(cells.sample, column, n)[cells.sample] - column for column in (own, whole)]
    return effect_groups(kind, cells.annotator, second), cells.sample, _table(own, whole, *others)


def _annotator_effects(cells: AssignedCells, *, several: bool) -> Iterator[Effects]:
    """Annotators' rates of misses, lone objects and duplicates, against the others'."""
    if several:
        missed = missed_columns(cells)
        yield _against_others(cells, "misses", 0, missed["n_missed"], missed["n_could_miss"])
        for k, size in enumerate(SIZES):
            yield _against_others(cells, "misses_size", k, missed[f"n_missed_{size}"], missed[f"n_could_miss_{size}"])
    verdicts = verdict_columns(cells)
    yield _against_others(cells, "lone", 0, verdicts["lone"], verdicts["n_judged"])
    yield _against_others(cells, "twice", 0, verdicts["duplicate"], verdicts["n_judged"])


def _match_effects(cells: AssignedCells) -> Iterator[Effects]:
    """Annotators' distance from the others in class and extent, against that of the others among themselves."""
    chunk = cells.chunk
    pairs, n = chunk.agreement.pairs, len(cells.sample)
    ends = cells.own[np.concatenate([pairs.i, pairs.j])]
    n_pairs = np.bincount(ends, minlength=n)
    of_sample = np.bincount(chunk.match_sample, minlength=chunk.agreement.n_samples)[cells.sample]
    for kind, values in (("conflicts", (~pairs.same_class).astype(np.float64)), ("loose", 1.0 - pairs.iou)):
        own = sums_by(ends, np.tile(values, 2), n)
        all_together = sums_by(chunk.match_sample, values, chunk.agreement.n_samples)[cells.sample]
        table = _table(own, n_pairs, all_together - own, of_sample - n_pairs)
        yield effect_groups(kind, cells.annotator), cells.sample, table


def _box_effects(cells: AssignedCells, *, several: bool) -> Iterator[Effects]:
    """Bias of annotators' boxes in size and position; of two annotators, the first against the second."""
    row, offsets = cells.chunk.offsets
    rows, n = cells.own[row], len(cells.sample)
    n_boxes = np.bincount(rows, minlength=n)
    size, left, top, right, bottom = offsets.T / 100.0
    for kind, values in zip(_BOXES, (size, (left + right) / 2, (top + bottom) / 2), strict=True):
        group, sample, table = _against_others(cells, kind, 0, sums_by(rows, values, n), n_boxes)
        kept = slice(None) if several else cells.annotator == 0
        yield group[kept], sample[kept], table[:, kept]


def _leading_class(chunk: Chunk) -> IntArray:
    """Class of more than half of the labels of every unit, shape ``(U,)``; -1 without."""
    ratings, units = chunk.agreement.ratings, chunk.agreement.units
    drawn = ratings.category != MISSING  # the others may be of images without any object
    unit, category, count = ratings.unit[drawn], ratings.category[drawn], ratings.count[drawn]
    leads = chunk.rated_unit[unit] & (2 * count > units.votes[unit])
    lead = np.full(len(units.votes), -1)
    lead[unit[leads]] = category[leads]
    return lead


def _missed_by(cells: AssignedCells, code: IntArray) -> tuple[IntArray, ...]:
    """Count misses of the objects of every class (size) that two drew, by image and annotator.

    Args:
        cells: of the samples
        code: shape ``(U,)``, class (size) of every unit; -1 without

    Returns:
        sample, class, annotator, and numbers of objects: missed, that two others drew, and assigned; shapes ``(T,)``
    """
    agreement = cells.chunk.agreement
    units, k = agreement.units, int(code.max(initial=0)) + 1
    chosen = (units.votes >= 2) & (code >= 0)
    cell, cell_of = distinct((units.sample * k + code)[chosen], agreement.n_samples * k)
    n_units = np.bincount(cell_of, minlength=len(cell))
    cell_of_unit = np.full(len(code), -1)
    cell_of_unit[chosen] = cell_of
    start = np.searchsorted(cells.sample, np.arange(agreement.n_samples + 1))
    first, length = start[cell // k], np.diff(start)[cell // k]
    owner = np.repeat(np.arange(len(cell)), length)
    annotator = cells.annotator[ranges(first, length)]
    moved_by = np.cumsum(length) - length - first  # from the first annotator of the cell's sample

    def count(unit: IntArray, row: IntArray) -> IntArray:
        own = cell_of_unit[unit]
        kept = own >= 0
        return np.bincount(moved_by[own[kept]] + row[kept], minlength=len(owner))

    unit, assigned = agreement.unit, n_units[owner]
    of_three = units.votes[unit] >= 3
    missed = assigned - count(unit, cells.own)
    could = missed + count(unit[of_three], cells.own[of_three])
    return cell[owner] // k, cell[owner] % k, annotator, missed, could, assigned


def _missed_by_class(cells: AssignedCells, lead: IntArray) -> Iterator[Effects]:
    """Annotators' rates of misses by class against the others', and their contributions to those of the classes."""
    sample, code, annotator, missed, could, assigned = _missed_by(cells, lead)
    place = distinct(
        sample * cells.chunk.n_categories + code, cells.chunk.agreement.n_samples * cells.chunk.n_categories
    )[1]
    others = [sums_by(place, column, int(place.max(initial=-1)) + 1)[place] - column for column in (missed, could)]
    yield effect_groups("misses_class", annotator, code), sample, _table(missed, could, *others)
    yield _parts("class_missed", cells, cells.row[sample, annotator], code, missed, assigned)


def _parts(kind: str, cells: AssignedCells, row: IntArray, code: IntArray, own: Column, whole: Column) -> Effects:
    """Contribution of every annotator to the classes (sizes) of a kind; ``row`` and ``code`` in any order."""
    n = int(code.max(initial=0)) + 1
    group, row, table = _cell_effects(kind, row * n + code, n, own, whole)
    return part_groups(kind, group_subjects(group)[0], cells.annotator[row]), cells.sample[row], table


def _pair_effects(cells: AssignedCells, often: BoolArray) -> Iterator[Effects]:
    """Distance of every two annotators, against the distance of either from the others."""
    agreement = cells.chunk.agreement
    shared, n = agreement.sample_pairs, len(cells.sample)
    scored = ~np.isnan(agreement.pair_score)
    score = agreement.pair_score[scored]
    ends = [cells.row[shared.sample[scored], side[scored]] for side in (shared.a, shared.b)]
    total = sums_by(np.concatenate(ends), np.tile(score, 2), n)
    count = np.bincount(np.concatenate(ends), minlength=n)
    kept = often[cells.chunk.shared_pair[scored]]
    a, b, sample = shared.a[scored][kept], shared.b[scored][kept], shared.sample[scored][kept]
    for own, other, end in ((a, b, ends[0][kept]), (b, a, ends[1][kept])):
        table = _table(score[kept], np.ones(len(own)), total[end] - score[kept], count[end] - 1)
        yield effect_groups("close", own, other), sample, table


def _cell_effects(kind: str, cell: IntArray, n_kinds: int, own: Column, whole: Column) -> Effects:
    """A class, or size, against the others on the same image; cells are ``sample * n_kinds + kind``, in any order."""
    different, place = distinct(cell, int(cell.max(initial=-1)) + 1)
    sums = [sums_by(place, column, len(different)) for column in (own, whole)]
    sample = different // n_kinds
    n = int(sample.max(initial=-1)) + 1
    others = [sums_by(sample, column, n)[sample] - column for column in sums]
    return effect_groups(kind, different % n_kinds), sample, _table(*sums, *others)


def _missing(chunk: Chunk, kept: BoolArray, *, several: bool) -> tuple[IntArray, IntArray]:
    """Numbers of misses and of possible misses of every unit; of two annotators, 1 if only one drew it, of 1."""
    units = chunk.agreement.units
    votes, assigned = units.votes[kept], units.assigned[kept]
    return (assigned - votes, assigned) if several else ((votes == 1).astype(np.int64), np.ones_like(votes))


def _class_effects(cells: AssignedCells, lead: IntArray, *, several: bool) -> Iterator[Effects]:
    """Rates of misses and of confusions by class against other classes, and confusions of every two classes."""
    chunk = cells.chunk
    agreement, k = chunk.agreement, chunk.n_categories
    units, pairs, category = agreement.units, agreement.pairs, agreement.objects.category
    kept = (lead >= 0) & ((units.votes >= 2) | (not several))
    yield _cell_effects("class_missed", units.sample[kept] * k + lead[kept], k, *_missing(chunk, kept, several=several))
    apart, sample = ~pairs.same_class, chunk.match_sample
    a, b = category[pairs.i], category[pairs.j]
    given, in_conflict = np.concatenate([a, b[apart]]), np.concatenate([apart, apart[apart]])
    pair = np.concatenate([np.arange(len(a)), np.flatnonzero(apart)])
    yield _cell_effects("class_conflicts", sample[pair] * k + given, k, in_conflict, np.ones(len(given)))
    if several:
        row = np.concatenate([cells.own[side[pair]] for side in (pairs.i, pairs.j)])
        twice = (np.tile(column, 2) for column in (given, in_conflict, np.ones(len(given))))
        yield _parts("class_conflicts", cells, row, *twice)
    yield conflict_rows(a[apart], b[apart], sample[apart], agreement.n_samples)


def _size_effects(cells: AssignedCells, *, several: bool) -> Iterator[Effects]:
    """Rates of misses by size against other sizes."""
    chunk = cells.chunk
    units = chunk.agreement.units
    kept = (chunk.size >= 0) & chunk.rated_unit & ((units.votes >= 2) | (not several))
    cell = units.sample[kept] * len(SIZES) + chunk.size[kept]
    yield _cell_effects("size_missed", cell, len(SIZES), *_missing(chunk, kept, several=several))
    if several:
        sample, code, annotator, missed, _, assigned = _missed_by(cells, np.where(kept, chunk.size, -1))
        yield _parts("size_missed", cells, cells.row[sample, annotator], code, missed, assigned)
