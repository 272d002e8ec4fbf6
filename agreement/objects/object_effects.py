"""Counts on every image by annotator, class and size (misses, conflicts, offsets of boxes), for tests of findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...metrics.numeric.arrays import FloatArray, IntArray, distinct, ranges, sums_by
from ..evidence.hypotheses import (
    Column,
    EffectRows,
    Effects,
    conflict_rows,
    effect_groups,
    findings_and_confusions,
    group_subjects,
    kind_mask,
    on_equal_images,
    part_groups,
)
from ..evidence.ranking import MIN_IMAGES
from ..matching.tables import Tables
from ..settings.annotators import AnnotatorPairs
from ..statistics.report import ReportContext
from .annotators import missed_columns, verdict_columns
from .classes import SIZES, missed_of_units

#: kinds of findings on boxes
_BOXES = ("box_size", "box_right", "box_down")


def findings_on_objects(
    rows: EffectRows,
    context: ReportContext,
    n_labels: IntArray,
    pairs_met: AnnotatorPairs,
    n_of_pairs: FloatArray,
) -> dict[str, Any]:
    """The fields ``findings``, ``n_tested`` and ``confused`` of a report.

    Args:
        rows: the counts on all rated samples
        n_labels: shape ``(K,)``, labels of every class
        pairs_met: the pairs of annotators
        n_of_pairs: shape ``(M,)``, labels of every pair of annotators on the samples that they share with others
    """
    moments = rows.moments()
    close = moments.group[kind_mask(moments.group, "close")]
    ends = np.sort(group_subjects(close), axis=0)
    of_close = n_of_pairs[pairs_met.rows(ends[0], ends[1])].astype(np.int64)
    counted = dict(zip(close.tolist(), of_close.tolist(), strict=True))
    return findings_and_confusions(
        moments, context.annotators, context.class_names, SIZES, of_classes=n_labels, n_labels=counted
    )


def object_effects(t: Tables) -> Iterator[Effects]:
    """The counts on some rated samples: of annotators, of pairs of annotators, of classes and of sizes."""
    yield from _effects_of_annotators(t)
    if t.n_annotators > 2:
        # score of every two annotators who met often, against the scores of either of them with other annotators
        meetings, scored = t.sample_pairs, np.flatnonzero(~np.isnan(t.pair_score))
        both = [t.seats.at[meetings.sample, side][scored] for side in (meetings.a, meetings.b)]
        n, rows = len(t.seats.sample), np.concatenate(both)
        score = np.tile(t.pair_score[scored], 2)
        total, count = sums_by(rows, score, n)[rows] - score, np.bincount(rows, minlength=n)[rows] - 1
        often = np.flatnonzero(np.tile((t.pairs_met.n_shared >= MIN_IMAGES)[t.meeting_pair[scored]], 2))
        first, second = rows[often], np.concatenate(both[::-1])[often]
        group = effect_groups("close", t.seats.annotator[first], t.seats.annotator[second])
        columns = on_equal_images((score, np.ones(len(score)), total, count), count)
        yield group, t.seats.sample[first], columns[:, often]
    yield from _effects_of_classes(t)


def _sums_of_others(own: Column, whole: Column, beside: IntArray) -> list[FloatArray]:
    """The sums of count and denominator over the other rows with the same ``beside``."""
    n = int(beside.max(initial=-1)) + 1
    return [sums_by(beside, column, n)[beside] - column for column in (own, whole)]


def _against_others(group: IntArray, sample: IntArray, own: Column, whole: Column, beside: IntArray) -> Effects:
    """Count and denominator of groups on samples, and those of the other rows with the same ``beside``."""
    columns = np.stack([own, whole, *_sums_of_others(own, whole, beside)])
    return group, sample, columns.astype(np.float64, copy=False)


def _against_annotators(group: IntArray, sample: IntArray, own: Column, whole: Column, beside: IntArray) -> Effects:
    """As :func:`_against_others` for annotators, who have a row each: the others weigh as much as one of them."""
    n_others = np.bincount(beside)[beside] - 1
    return group, sample, on_equal_images((own, whole, *_sums_of_others(own, whole, beside)), n_others)


def _effects_of_annotators(t: Tables) -> Iterator[Effects]:
    """Annotators against the others on the same images."""
    seats, pairs, n, verdicts = t.seats, t.pairs, len(t.seats.sample), verdict_columns(t)
    # rates of lone objects, duplicates and misses
    rates = [("lone", 0, verdicts["lone"], verdicts["n_judged"])]
    rates.append(("twice", 0, verdicts["duplicate"], verdicts["n_judged"]))
    if t.n_annotators > 2:
        missed = missed_columns(t)
        rates.append(("misses", 0, missed["n_missed"], missed["n_could_miss"]))
        rates += [
            ("misses_size", k, missed[f"n_missed_{size}"], missed[f"n_could_miss_{size}"])
            for k, size in enumerate(SIZES)
        ]
    for kind, second, own, whole in rates:
        group = effect_groups(kind, seats.annotator, second)
        yield _against_annotators(group, seats.sample, own, whole, seats.sample)
    # distance from the others in class and extent, against that of the others among themselves
    ends, of_sample = seats.own[t.pair_ends], t.n_matched[seats.sample]
    n_pairs = np.bincount(ends, minlength=n)
    for kind, values in (("conflicts", (~pairs.same_class).astype(np.float64)), ("loose", 1.0 - pairs.iou)):
        distance = sums_by(ends, np.tile(values, 2), n)
        gathered = sums_by(t.pair_sample, values, t.n_samples)[seats.sample] - distance
        times = (t.n_assigned[seats.sample] - 2) / 2
        table = on_equal_images((distance, n_pairs, gathered, of_sample - n_pairs), times)
        yield effect_groups(kind, seats.annotator), seats.sample, table
    # bias of boxes in size and position, from the others; of two annotators, the first against the second
    labels, offsets = t.offsets_from_others if t.n_annotators > 2 else t.offsets
    of_box, (size, left, top, right, bottom) = seats.own[labels], offsets.T / 100.0
    n_boxes, kept = np.bincount(of_box, minlength=n), (seats.annotator == 0) | (t.n_annotators > 2)
    for kind, values in zip(_BOXES, (size, (left + right) / 2, (top + bottom) / 2), strict=True):
        bias, group = sums_by(of_box, values, n), effect_groups(kind, seats.annotator)
        group, sample, table = _against_others(group, seats.sample, bias, n_boxes, seats.sample)
        yield group[kept], sample[kept], table[:, kept]


def _missed_by(t: Tables, code: IntArray) -> tuple[IntArray, ...]:
    """Count misses of the objects of every class (size) that two drew, by image and annotator.

    Args:
        code: shape ``(U,)``, class (size) of every unit; -1 without

    Returns:
        seat, class, and numbers of objects: missed, and that two others drew; shapes ``(T,)``
    """
    units, unit, k = t.units, t.unit, int(code.max(initial=0)) + 1
    chosen, cell_of_unit = (units.votes >= 2) & (code >= 0), np.full(len(code), -1)
    cell, cell_of_unit[chosen] = distinct((units.sample * k + code)[chosen], t.n_samples * k)
    n_seats = t.n_assigned[cell // k]
    owner, start = np.repeat(np.arange(len(cell)), n_seats), (np.cumsum(t.n_assigned) - t.n_assigned)[cell // k]
    seat, moved_by = ranges(start, n_seats), np.cumsum(n_seats) - n_seats - start  # from seats to rows
    of_cell, of_three = cell_of_unit[unit], units.votes[unit] >= 3
    assigned = np.bincount(cell_of_unit[chosen], minlength=len(cell))[owner]
    drawn, drawn_by_three = (
        np.bincount(moved_by[of_cell[kept]] + t.seats.own[kept], minlength=len(owner))
        for kept in (of_cell >= 0, (of_cell >= 0) & of_three)
    )
    missed = assigned - drawn
    return seat, cell[owner] % k, missed, missed + drawn_by_three


def _cells(row: IntArray, code: IntArray, own: Column, whole: Column) -> tuple[IntArray, IntArray, list[FloatArray]]:
    """The different pairs of a row (a sample or a seat) and a code, with the sums of both columns."""
    k = int(code.max(initial=0)) + 1
    cell, place = distinct(row * k + code, (int(row.max(initial=-1)) + 1) * k)
    return cell // k, cell % k, [sums_by(place, column, len(cell)) for column in (own, whole)]


def _effects_of_classes(t: Tables) -> Iterator[Effects]:
    """Misses and conflicts by class and size, conflicts of every two classes, and what each annotator adds."""
    units, pairs, seats, category, several = t.units, t.pairs, t.seats, t.objects.category, t.n_annotators > 2

    def against_the_rest(kind: str, sample: IntArray, code: IntArray, own: Column, whole: Column) -> Effects:
        """A class, or size, against the others on the same image; rows in any order."""
        sample, code, sums = _cells(sample, code, own, whole)
        return _against_others(effect_groups(kind, code), sample, sums[0], sums[1], sample)

    def parts(kind: str, seat: IntArray, code: IntArray, own: Column, whole: Column) -> Effects:
        """Contribution of every annotator to the classes (sizes) of a kind; rows in any order."""
        seat, code, sums = _cells(seat, code, own, whole)
        group = part_groups(kind, code, seats.annotator[seat])
        return _against_others(group, seats.sample[seat], sums[0], sums[1], seat)

    # misses of units by the class of most of their labels, and by size; of two annotators, units that only one drew
    drawn = t.rated_unit & ((units.votes >= 2) | (not several))
    for kind, of_unit in (("class_missed", t.lead), ("size_missed", t.size)):
        code = np.where(drawn, of_unit, -1)
        kept = code >= 0
        votes, assigned = units.votes[kept], units.assigned[kept]
        own, whole = missed_of_units(votes, assigned) if several else (votes == 1, np.ones(len(votes)))
        yield against_the_rest(kind, units.sample[kept], code[kept], own, whole)
        if several:
            seat, code, missed, could_miss = _missed_by(t, code)
            sample = seats.sample[seat]
            if kind == "class_missed":  # misses of a class by an annotator, against the other annotators
                group = effect_groups("misses_class", seats.annotator[seat], code)
                beside = distinct(sample * t.n_categories + code, t.n_samples * t.n_categories)[1]
                yield _against_annotators(group, sample, missed, could_miss, beside)
            yield parts(kind, seat, code, missed, could_miss)
    # labels that met another class
    apart, sample = ~pairs.same_class, t.pair_sample
    a, b = category[pairs.i], category[pairs.j]
    pair = np.concatenate([np.arange(len(a)), np.flatnonzero(apart)])
    given, in_conflict = np.concatenate([a, b[apart]]), apart[pair]
    yield against_the_rest("class_conflicts", sample[pair], given, in_conflict, np.ones(len(pair)))
    if several:
        seat = seats.own[np.concatenate([pairs.i[pair], pairs.j[pair]])]
        yield parts("class_conflicts", seat, np.tile(given, 2), np.tile(in_conflict, 2), np.ones(len(seat)))
    yield conflict_rows(a[apart], b[apart], sample[apart], t.n_samples)
