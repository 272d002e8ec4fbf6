"""Effects of annotators, classes and sizes on objects: counts on every image, from which findings are tested."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, distinct, ranges, sums_by
from ..evidence.confusions import conflict_rows, findings_and_confusions
from ..evidence.hypotheses import (
    Column,
    EffectRows,
    Effects,
    effect_groups,
    group_subjects,
    kind_mask,
    part_groups,
)
from ..evidence.ranking import MIN_IMAGES
from ..matching.tables import Tables
from ..settings.annotators import AnnotatorPairs
from ..statistics.report import ReportContext
from .annotators import missed_columns, verdict_columns
from .sizes import SIZES

#: kinds of findings on boxes
_BOXES = ("box_size", "box_right", "box_down")


def object_effects(t: Tables) -> Iterator[Effects]:
    """The effects on some rated samples."""
    yield from _effects_of_annotators(t)
    yield from _effects_of_classes(t)


def findings_on_objects(
    rows: EffectRows,
    context: ReportContext,
    n_labels: IntArray,
    met: AnnotatorPairs,
    n_of_pairs: FloatArray,
) -> dict[str, Any]:
    """The fields of a report: what the tests confirm, of how many, and the classes that are confused.

    Args:
        rows: the effects on all rated samples
        n_labels: shape ``(K,)``, labels of every class
        met: the pairs of annotators
        n_of_pairs: shape ``(M,)``, labels of every pair of annotators on the samples that they share
    """
    moments = rows.moments()
    close = moments.group[kind_mask(moments.group, "close")]
    ends = np.sort(group_subjects(close), axis=0)
    of_close = n_of_pairs[met.rows(ends[0], ends[1])].astype(np.int64)
    counted = dict(zip(close.tolist(), of_close.tolist(), strict=True))
    return findings_and_confusions(
        moments, context.annotators, context.class_names, SIZES, of_classes=n_labels, n_labels=counted
    )


def _table(*columns: Column) -> FloatArray:
    return np.stack(columns).astype(np.float64, copy=False)


def _against_others(t: Tables, kind: str, second: int, own: Column, whole: Column) -> Effects:
    """An annotator against the other annotators on the same image."""
    n = t.n_samples
    others = [sums_by(t.seats.sample, column, n)[t.seats.sample] - column for column in (own, whole)]
    return effect_groups(kind, t.seats.annotator, second), t.seats.sample, _table(own, whole, *others)


def _effects_of_annotators(t: Tables) -> Iterator[Effects]:
    """Annotators against the others on the same images, and every two of them."""
    seats, pairs, several, n = t.seats, t.pairs, t.n_annotators > 2, len(t.seats.sample)
    # rates of misses, lone objects and duplicates
    if several:
        missed = missed_columns(t)
        yield _against_others(t, "misses", 0, missed["n_missed"], missed["n_could_miss"])
        for k, size in enumerate(SIZES):
            yield _against_others(t, "misses_size", k, missed[f"n_missed_{size}"], missed[f"n_could_miss_{size}"])
    verdicts = verdict_columns(t)
    yield _against_others(t, "lone", 0, verdicts["lone"], verdicts["n_judged"])
    yield _against_others(t, "twice", 0, verdicts["duplicate"], verdicts["n_judged"])
    # distance from the others in class and extent, against that of the others among themselves
    ends = seats.own[t.pair_ends]
    n_pairs = np.bincount(ends, minlength=n)
    of_sample = np.bincount(t.pair_sample, minlength=t.n_samples)[seats.sample]
    for kind, values in (("conflicts", (~pairs.same_class).astype(np.float64)), ("loose", 1.0 - pairs.iou)):
        own = sums_by(ends, np.tile(values, 2), n)
        all_together = sums_by(t.pair_sample, values, t.n_samples)[seats.sample]
        table = _table(own, n_pairs, all_together - own, of_sample - n_pairs)
        yield effect_groups(kind, seats.annotator), seats.sample, table
    # bias of boxes in size and position; of two annotators, the first against the second
    row, offsets = t.offsets
    rows = seats.own[row]
    n_boxes = np.bincount(rows, minlength=n)
    size_of, left, top, right, bottom = offsets.T / 100.0
    for kind, values in zip(_BOXES, (size_of, (left + right) / 2, (top + bottom) / 2), strict=True):
        group, sample, table = _against_others(t, kind, 0, sums_by(rows, values, n), n_boxes)
        kept = slice(None) if several else seats.annotator == 0
        yield group[kept], sample[kept], table[:, kept]
    if not several:
        return
    # distance of every two annotators, against the distance of either from the others
    shared, scored = t.sample_pairs, ~np.isnan(t.pair_score)
    score = t.pair_score[scored]
    of_pair = [seats.at[shared.sample[scored], side[scored]] for side in (shared.a, shared.b)]
    total = sums_by(np.concatenate(of_pair), np.tile(score, 2), n)
    count = np.bincount(np.concatenate(of_pair), minlength=n)
    often = (t.met.n_shared >= MIN_IMAGES)[t.meeting_met[scored]]
    a, b, sample = shared.a[scored][often], shared.b[scored][often], shared.sample[scored][often]
    for first, second, end in ((a, b, of_pair[0][often]), (b, a, of_pair[1][often])):
        table = _table(score[often], np.ones(len(first)), total[end] - score[often], count[end] - 1)
        yield effect_groups("close", first, second), sample, table


def _missed_by(t: Tables, code: IntArray) -> tuple[IntArray, ...]:
    """Count misses of the objects of every class (size) that two drew, by image and annotator.

    Args:
        code: shape ``(U,)``, class (size) of every unit; -1 without

    Returns:
        sample, class, annotator, and numbers of objects: missed, that two others drew, and assigned; shapes ``(T,)``
    """
    units, k = t.units, int(code.max(initial=0)) + 1
    chosen = (units.votes >= 2) & (code >= 0)
    cell, cell_of = distinct((units.sample * k + code)[chosen], t.n_samples * k)
    n_units = np.bincount(cell_of, minlength=len(cell))
    cell_of_unit = np.full(len(code), -1)
    cell_of_unit[chosen] = cell_of
    start = np.searchsorted(t.seats.sample, np.arange(t.n_samples + 1))
    first, length = start[cell // k], np.diff(start)[cell // k]
    owner = np.repeat(np.arange(len(cell)), length)
    annotator = t.seats.annotator[ranges(first, length)]
    moved_by = np.cumsum(length) - length - first  # from the first annotator of the cell's sample

    def count(unit: IntArray, row: IntArray) -> IntArray:
        own = cell_of_unit[unit]
        kept = own >= 0
        return np.bincount(moved_by[own[kept]] + row[kept], minlength=len(owner))

    unit, assigned = t.unit, n_units[owner]
    of_three = units.votes[unit] >= 3
    missed = assigned - count(unit, t.seats.own)
    could = missed + count(unit[of_three], t.seats.own[of_three])
    return cell[owner] // k, cell[owner] % k, annotator, missed, could, assigned


def _parts(kind: str, t: Tables, row: IntArray, code: IntArray, own: Column, whole: Column) -> Effects:
    """Contribution of every annotator to the classes (sizes) of a kind; ``row`` and ``code`` in any order."""
    n = int(code.max(initial=0)) + 1
    group, row, table = _cell_effects(kind, row * n + code, n, own, whole)
    return part_groups(kind, group_subjects(group)[0], t.seats.annotator[row]), t.seats.sample[row], table


def _cell_effects(kind: str, cell: IntArray, n_kinds: int, own: Column, whole: Column) -> Effects:
    """A class, or size, against the others on the same image; cells are ``sample * n_kinds + kind``, in any order."""
    different, place = distinct(cell, int(cell.max(initial=-1)) + 1)
    sums = [sums_by(place, column, len(different)) for column in (own, whole)]
    sample = different // n_kinds
    n = int(sample.max(initial=-1)) + 1
    others = [sums_by(sample, column, n)[sample] - column for column in sums]
    return effect_groups(kind, different % n_kinds), sample, _table(*sums, *others)


def _missing(t: Tables, kept: BoolArray) -> tuple[IntArray, IntArray]:
    """Numbers of misses and of possible misses of every unit; of two annotators, 1 if only one drew it, of 1."""
    votes, assigned = t.units.votes[kept], t.units.assigned[kept]
    return (assigned - votes, assigned) if t.n_annotators > 2 else ((votes == 1).astype(np.int64), np.ones_like(votes))


def _effects_of_classes(t: Tables) -> Iterator[Effects]:
    """Rates of misses and of confusions by class and size, confusions of every two classes, and who causes them."""
    k, lead, units, pairs, category = t.n_categories, t.lead, t.units, t.pairs, t.objects.category
    several, n_sizes = t.n_annotators > 2, len(SIZES)
    if several:  # annotators' rates of misses by class against the others', and their parts of those of the classes
        sample, code, annotator, missed, could, assigned = _missed_by(t, lead)
        place = distinct(sample * k + code, t.n_samples * k)[1]
        others = [sums_by(place, column, int(place.max(initial=-1)) + 1)[place] - column for column in (missed, could)]
        yield effect_groups("misses_class", annotator, code), sample, _table(missed, could, *others)
        yield _parts("class_missed", t, t.seats.at[sample, annotator], code, missed, assigned)
    drawn = (units.votes >= 2) | (not several)
    kept = (lead >= 0) & drawn
    yield _cell_effects("class_missed", units.sample[kept] * k + lead[kept], k, *_missing(t, kept))
    apart, sample = ~pairs.same_class, t.pair_sample
    a, b = category[pairs.i], category[pairs.j]
    given, in_conflict = np.concatenate([a, b[apart]]), np.concatenate([apart, apart[apart]])
    pair = np.concatenate([np.arange(len(a)), np.flatnonzero(apart)])
    yield _cell_effects("class_conflicts", sample[pair] * k + given, k, in_conflict, np.ones(len(given)))
    if several:
        row = np.concatenate([t.seats.own[side[pair]] for side in (pairs.i, pairs.j)])
        twice = (np.tile(column, 2) for column in (given, in_conflict, np.ones(len(given))))
        yield _parts("class_conflicts", t, row, *twice)
    yield conflict_rows(a[apart], b[apart], sample[apart], t.n_samples)
    kept = (t.size >= 0) & t.rated_unit & drawn
    yield _cell_effects("size_missed", units.sample[kept] * n_sizes + t.size[kept], n_sizes, *_missing(t, kept))
    if several:
        sample, code, annotator, missed, _, assigned = _missed_by(t, np.where(kept, t.size, -1))
        yield _parts("size_missed", t, t.seats.at[sample, annotator], code, missed, assigned)
