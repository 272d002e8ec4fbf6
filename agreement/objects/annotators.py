"""Numbers of annotators: misses, verdicts, conflicts, bias of boxes, and agreement with the consensus."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..matching.verdicts import NO_VERDICT, VERDICTS
from ..settings.annotators import AnnotatorPairs
from ..statistics.estimates import Fields
from ..statistics.numbers import BySample, GroupRows, Numbers
from ..statistics.numbers import ratio as ratio_of_sums
from ..statistics.report import ReportContext
from .classes import Listed, listed_by_row
from .pairs import PairSums, persons_of
from .report import AnnotatorSummary, Bias, ConsensusAgreement
from .sizes import SIZES
from .sums import MEASURES, MIN_OTHERS, Additive, Chunk, Moments, SparseCounts

#: pairs of classes listed for an annotator in a report
MAX_LISTED = 20
#: columns of all (sample, assigned annotator) of a chunk, by name
_Columns = dict[str, FloatArray | IntArray]


class AnnotatorNumbers:
    """Numbers of all annotators that are quotients of two sums over their assigned samples.

    Attributes:
        total: sums of every column, shape ``(R,)``, by name

    Args:
        part: part of the annotator's summary that contains the numbers
        ratios: the two columns of every number, by the number's name
        columns_of: reads the columns from a chunk
    """

    def __init__(
        self,
        annotators: Sequence[str],
        part: tuple[str, ...],
        ratios: Mapping[str, tuple[str, str]],
        columns_of: Callable[[AssignedCells], _Columns],
        *,
        by_sample: BySample,
    ) -> None:
        n = len(annotators)
        self._keys = {k: ("annotators", name, *part) for k, name in enumerate(annotators)}
        self._ratios = ratios
        self._columns_of = columns_of
        self._names = tuple(dict.fromkeys(column for names in ratios.values() for column in names))
        self._rows = GroupRows(n, np.arange(n if by_sample else 0), by_sample=by_sample)
        self.total = {name: np.zeros(n) for name in self._names}

    def add(self, chunk: Chunk) -> None:
        assigned = AssignedCells.of(chunk)
        columns = self._columns_of(assigned)
        for name in self._names:
            self.total[name] += np.bincount(assigned.annotator, columns[name], minlength=len(self._keys))
        rows = np.column_stack([columns[name] for name in self._names]).astype(np.float64)
        self._rows.add(assigned.annotator, assigned.sample, rows, chunk.agreement.n_samples)

    def numbers(self) -> Iterator[Numbers]:
        place = {name: k for k, name in enumerate(self._names)}

        def formula(sums: FloatArray) -> FloatArray:
            quotients = [ratio_of_sums(sums[..., place[a]], sums[..., place[b]]) for a, b in self._ratios.values()]
            return np.stack(quotients, axis=-1)

        basis = np.array([place[below] for _, below in self._ratios.values()])
        rows = self._rows
        del self._rows  # frees its memory after the last number
        yield from rows.numbers(self._keys, tuple(self._ratios), formula, basis, len(self._names))


@dataclass(frozen=True, slots=True)
class AssignedCells:
    """The ``V`` (sample, assigned annotator) of a chunk."""

    chunk: Chunk  #: the samples
    sample: IntArray  #: shape ``(V,)``
    annotator: IntArray  #: shape ``(V,)``
    row: IntArray  #: shape ``(S, R)``, row of every (sample, annotator) among these
    own: IntArray  #: shape ``(N,)``, row of (sample, annotator) of every object

    @classmethod
    def of(cls, chunk: Chunk) -> AssignedCells:
        assigned, objects = chunk.agreement.assigned, chunk.agreement.objects
        row = (np.cumsum(assigned) - 1).reshape(assigned.shape)
        sample, annotator = np.nonzero(assigned)
        return cls(chunk, sample, annotator, row, row[objects.sample, objects.annotator])

    def count(self, rows: BoolArray) -> IntArray:
        """Number of objects in a mask ``(N,)``, shape ``(V,)``."""
        return np.bincount(self.own[rows], minlength=len(self.sample))

    def cells(self, rows: BoolArray, kind: IntArray, n_kinds: int) -> IntArray:
        """Number of objects in a mask ``(N,)``, by kind, shape ``(n_kinds, V)``."""
        cells = kind[rows] * len(self.sample) + self.own[rows]
        return np.bincount(cells, minlength=n_kinds * len(self.sample)).reshape(n_kinds, -1)

    def sums(self, row: IntArray, values: FloatArray) -> FloatArray:
        """Sums of values by row, shape ``(V,)``."""
        return sums_by(row, values, len(self.sample))


def annotator_numbers(annotators: Sequence[str], *, by_sample: BySample) -> list[AnnotatorNumbers]:
    """The collectors of all numbers of annotators except vitality."""
    readers: list[tuple[tuple[str, ...], Mapping[str, tuple[str, str]], Callable[[AssignedCells], _Columns]]] = [
        ((), _RATIOS, lambda of: missed_columns(of) | verdict_columns(of) | _class_columns(of) | _pairs(of)),
        (("consensus",), _OF_CONSENSUS, _consensus),
        (("bias",), {name: (name, "n_boxes") for name in MEASURES}, _bias),
    ]
    return [AnnotatorNumbers(annotators, *reader, by_sample=by_sample) for reader in readers]


#: numbers of an annotator as quotients of two columns, by name
_RATIOS = {
    "miss_rate": ("n_missed", "n_could_miss"),
    **{f"miss_rate_by_size.{size}": (f"n_missed_{size}", f"n_could_miss_{size}") for size in SIZES},
    **{f"verdict_shares.{verdict}": (verdict, "n_judged") for verdict in VERDICTS},
    "other_class": ("n_other_class", "n_majority"),
    "score": ("score", "n_scored"),
    "mean_iou": ("iou", "n_matched"),
}
_OF_CONSENSUS = {
    "precision": ("n_both", "n_objects"),
    "recall": ("n_both", "n_units"),
    "f1": ("twice_both", "n_objects_and_units"),
    "mean_iou": ("iou", "n_pairs"),
}


def missed_columns(assigned: AssignedCells) -> _Columns:
    """Units of two or more other annotators: how many each annotator missed, and could have missed; also by size."""
    chunk, units = assigned.chunk, assigned.chunk.agreement.units
    unit, n_sizes = chunk.agreement.unit, len(SIZES) + 1  # unknown size comes last
    size = chunk.size % n_sizes
    several = chunk.rated_unit & (units.votes >= 2)
    n_samples = chunk.agreement.n_samples
    cells = size[several] * n_samples + units.sample[several]
    of_sample = np.bincount(cells, minlength=n_sizes * n_samples).reshape(n_sizes, n_samples)
    drawn = [assigned.cells(rows[unit], size[unit], n_sizes) for rows in (several, several & (units.votes >= 3))]
    missed = of_sample[:, assigned.sample] - drawn[0]
    could_miss = missed + drawn[1]
    columns: _Columns = {"n_missed": missed.sum(axis=0), "n_could_miss": could_miss.sum(axis=0)}
    for k, name in enumerate(SIZES):
        columns |= {f"n_missed_{name}": missed[k], f"n_could_miss_{name}": could_miss[k]}
    return columns


def verdict_columns(assigned: AssignedCells) -> _Columns:
    """Labels with every verdict."""
    verdict = assigned.chunk.agreement.object_verdict
    counts = assigned.cells(verdict != NO_VERDICT, verdict, len(VERDICTS))
    return {**dict(zip(VERDICTS, counts, strict=True)), "n_judged": counts.sum(axis=0)}


def _class_columns(assigned: AssignedCells) -> _Columns:
    """Labels to whose objects most of the others gave one class, and those of them with another class."""
    majority = assigned.chunk.others_class
    other = ~np.isnan(majority) & (majority != assigned.chunk.agreement.objects.category)
    return {"n_majority": assigned.count(~np.isnan(majority)), "n_other_class": assigned.count(other)}


def _pairs(assigned: AssignedCells) -> _Columns:
    """Scores of the pairs with other annotators, and matched labels."""
    agreement = assigned.chunk.agreement
    shared, pairs, n = agreement.sample_pairs, agreement.pairs, len(assigned.sample)
    scored = ~np.isnan(agreement.pair_score)
    rows = np.concatenate([assigned.row[shared.sample, side][scored] for side in (shared.a, shared.b)])
    ends = assigned.own[np.concatenate([pairs.i, pairs.j])]
    return {
        "score": assigned.sums(rows, np.tile(agreement.pair_score[scored], 2)),
        "n_scored": np.bincount(rows, minlength=n),
        "iou": assigned.sums(ends, np.tile(pairs.iou, 2)),
        "n_matched": np.bincount(ends, minlength=n),
    }


def _in_consensus(chunk: Chunk) -> tuple[BoolArray, BoolArray]:
    """Two masks of objects: on samples with enough other annotators; of these, in the consensus of the others."""
    units, unit = chunk.agreement.units, chunk.agreement.unit
    own = units.assigned > MIN_OTHERS
    both = own & (2 * (units.votes - 1) >= units.assigned - 1)
    return own[unit], both[unit]


def _consensus(assigned: AssignedCells) -> _Columns:
    """Objects against the units that at least half of the others drew."""
    agreement = assigned.chunk.agreement
    units, pairs = agreement.units, agreement.pairs
    own, both = _in_consensus(assigned.chunk)
    without = (units.assigned > MIN_OTHERS) & (2 * units.votes >= units.assigned - 1)
    of_sample = np.bincount(units.sample[without], minlength=agreement.n_samples)
    n_both, n_objects = assigned.count(both), assigned.count(own)
    # the other annotators have all votes of a unit, minus one if this annotator drew it: so take out the units that
    # this annotator drew, then put back those with enough votes of the others
    n_units = of_sample[assigned.sample] - assigned.count(without[agreement.unit]) + n_both
    ends = np.concatenate([pairs.i, pairs.j])
    kept = both[ends]
    of_pair = assigned.own[ends[kept]]
    return {
        "n_both": n_both,
        "twice_both": 2 * n_both,
        "n_objects": n_objects,
        "n_units": n_units,
        "n_objects_and_units": n_objects + n_units,
        "n_pairs": np.bincount(of_pair, minlength=len(assigned.sample)),
        "iou": assigned.sums(of_pair, np.tile(pairs.iou, 2)[kept]),
    }


def _bias(assigned: AssignedCells) -> _Columns:
    """Sums of the offsets of boxes from the median box of their unit."""
    row, offsets = assigned.chunk.offsets
    rows = assigned.own[row]
    columns: _Columns = {name: assigned.sums(rows, offsets[:, k]) for k, name in enumerate(MEASURES)}
    return {**columns, "n_boxes": np.bincount(rows, minlength=len(assigned.sample))}


@dataclass(frozen=True, slots=True)
class AnnotatorSums(Additive):
    """Parts of the report on annotators in addition to their numbers."""

    n_assigned: IntArray  #: shape ``(R,)``, samples each annotator was assigned to
    n_drew_nothing: IntArray  #: shape ``(R,)``, assigned samples without an object
    n_crowd: IntArray  #: shape ``(R,)``, labels that are crowd regions, or lie in those of all others
    classes: SparseCounts  #: counts of (annotator, class) of all objects
    #: counts of (annotator, class, class that most of the others gave) of objects where these differ
    other_classes: SparseCounts
    bias: Moments  #: moments of the offsets of boxes; rows are (annotator, measure)
    n_judged: IntArray  #: shape ``(R,)``, objects in the others' consensus, if that has a class
    n_same_class: IntArray  #: shape ``(R,)``, of these, objects with the class of the consensus

    @classmethod
    def of(cls, chunk: Chunk) -> AnnotatorSums:
        """The sums of some samples."""
        agreement, objects, n = chunk.agreement, chunk.agreement.objects, chunk.agreement.n_annotators
        row, offsets = chunk.offsets
        cells = objects.annotator[row][:, None] * len(MEASURES) + np.arange(len(MEASURES))
        judged, same = _class_by_others(chunk)
        majority = chunk.others_class
        other = np.flatnonzero(~np.isnan(majority) & (majority != objects.category))
        return cls(
            n_assigned=agreement.assigned.sum(axis=0),
            n_drew_nothing=(agreement.assigned & ~chunk.drew).sum(axis=0),
            n_crowd=agreement.n_crowd.sum(axis=0),
            classes=SparseCounts.of(objects.annotator, objects.category),
            other_classes=SparseCounts.of(
                objects.annotator[other], objects.category[other], majority[other].astype(np.int64)
            ),
            bias=Moments.of(cells.ravel(), offsets.ravel(), n * len(MEASURES)),
            n_judged=np.bincount(objects.annotator[judged], minlength=n),
            n_same_class=np.bincount(objects.annotator[same], minlength=n),
        )


def _class_by_others(chunk: Chunk) -> tuple[BoolArray, BoolArray]:
    """Two masks over the objects in the consensus of the others: the others have a majority class (no tie), and the
    object has that class."""
    agreement, category = chunk.agreement, chunk.agreement.objects.category
    _, both = _in_consensus(chunk)
    # the three largest class counts of every unit; one object for every (unit, class)
    _, first = np.unique(agreement.unit * chunk.n_categories + category, return_index=True)
    order = first[np.lexsort((-chunk.n_same_class[first], agreement.unit[first]))]
    unit, n_same_class = agreement.unit[order], chunk.n_same_class[order]
    start = np.searchsorted(unit, np.arange(len(agreement.units.votes) + 1))
    place = np.arange(len(unit)) - start[unit]
    largest = np.zeros((3, len(agreement.units.votes)), np.int64)
    largest[place[place < 3], unit[place < 3]] = n_same_class[place < 3]
    top = largest[:, agreement.unit]
    own = chunk.n_same_class
    # without the object itself: the largest class count of the others, and the next one
    most = np.where(own == top[0], top[1], top[0])
    next_most = np.where(own >= top[1], top[2], top[1])
    same = both & (own - 1 > most)
    judged = same | (both & (own - 1 < most) & (next_most < most))
    return judged, same


def annotator_summaries(
    fields: Fields,
    total: Mapping[str, Mapping[str, FloatArray]],
    sums: AnnotatorSums,
    pairs: PairSums,
    annotator_pairs: AnnotatorPairs,
    n_samples: int,
    context: ReportContext,
) -> list[AnnotatorSummary]:
    """The summaries of all annotators, in order.

    Args:
        total: sums of the numbers, by part of the summary
        sums: other parts of the summaries
        pairs: sums of all pairs of annotators
        annotator_pairs: these pairs
    """
    names, config = context.annotators, context.config
    persons = persons_of(config)
    classes = _classes(sums.classes, context)
    conflicts = _conflicts(pairs.confusion, annotator_pairs, context)
    other_classes = _by_annotator(sums.other_classes.columns(), sums.other_classes.counts, context)
    own = total[""]
    has_sizes = any(own[f"n_could_miss_{size}"].any() for size in SIZES)
    summaries = []
    for k, name in enumerate(names):
        found = fields.of("annotators", name)
        if not has_sizes:
            found["miss_rate_by_size"] = {}
        summaries.append(
            AnnotatorSummary(
                name=name,
                n_assigned=int(sums.n_assigned[k]),
                n_drew_nothing=int(sums.n_drew_nothing[k]),
                n_not_assigned=n_samples - int(sums.n_assigned[k]),
                n_objects=sum(classes[k].values()),
                n_missed=int(own["n_missed"][k]),
                n_crowd=int(sums.n_crowd[k]),
                verdicts={verdict: int(own[verdict][k]) for verdict in VERDICTS},
                classes=classes[k],
                person=persons.get(name),
                n_could_miss=int(own["n_could_miss"][k]),
                class_conflicts=conflicts[k].entries,
                n_majority=int(own["n_majority"][k]),
                n_other_class=int(own["n_other_class"][k]),
                other_classes=other_classes[k].entries,
                bias=_bias_summary(fields, sums.bias, name, k),
                consensus=_consensus_summary(fields, total["consensus"], sums, name, k),
                **found,
            )
        )
    return summaries


def _bias_summary(fields: Fields, moments: Moments, name: str, annotator: int) -> Bias | None:
    """The bias of an annotator, None without a unit."""
    first = annotator * len(MEASURES)
    n = int(moments.n[first])
    if not n:
        return None
    found = fields.of("annotators", name, "bias")
    spread = moments.squares[first : first + len(MEASURES)].tolist()
    return Bias(
        n=n,
        mean={measure: found[measure] for measure in MEASURES},
        std={measure: math.sqrt(squares / n) for measure, squares in zip(MEASURES, spread, strict=True)},
        intervals=found["intervals"],
    )


def _consensus_summary(
    fields: Fields, total: Mapping[str, FloatArray], sums: AnnotatorSums, name: str, annotator: int
) -> ConsensusAgreement | None:
    """The agreement of an annotator with the consensus, None without a sample with two other assigned annotators."""
    if not total["n_objects_and_units"][annotator]:
        return None
    n_judged = int(sums.n_judged[annotator])
    return ConsensusAgreement(
        n_units=int(total["n_units"][annotator]),
        n_objects=int(total["n_objects"][annotator]),
        class_agreement=int(sums.n_same_class[annotator]) / n_judged if n_judged else None,
        **fields.of("annotators", name, "consensus"),
    )


def _classes(counts: SparseCounts, context: ReportContext) -> list[dict[str, int]]:
    """Number of objects of every class that each annotator drew, by name."""
    classes: list[dict[str, int]] = [{} for _ in context.annotators]
    annotator, category = counts.columns()
    for k, code, n in zip(annotator.tolist(), category.tolist(), counts.counts.tolist(), strict=True):
        name = context.class_names[code]
        classes[k][name] = classes[k].get(name, 0) + n
    return [dict(sorted(entry.items())) for entry in classes]


def _conflicts(confusion: SparseCounts, pairs: AnnotatorPairs, context: ReportContext) -> list[Listed]:
    """The class of each annotator and the different class of another one, the most frequent pairs."""
    pair, own, other = confusion.columns()
    both = confusion.regrouped(pairs.a[pair], own, other) + confusion.regrouped(pairs.b[pair], other, own)
    _, said, others = both.columns()
    differ = said != others
    return _by_annotator([column[differ] for column in both.columns()], both.counts[differ], context)


def _by_annotator(columns: Sequence[IntArray], counts: IntArray, context: ReportContext) -> list[Listed]:
    """Most frequent pairs of an own class and the others' class, for every annotator; from these columns."""
    annotator, said, others = columns
    return listed_by_row(annotator, said, others, counts, context.class_names, len(context.annotators), MAX_LISTED)
