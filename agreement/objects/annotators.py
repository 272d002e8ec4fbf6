"""Numbers of annotators: misses, verdicts, conflicts, bias of boxes, agreement with the consensus, and vitality."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ..matching.tables import MEASURES, MIN_OTHERS, Tables
from ..matching.verdicts import VERDICTS
from ..settings.annotators import AnnotatorPairs
from ..statistics.estimates import Fields
from ..statistics.numbers import GroupNumbers, Joined, ratio_formula
from ..statistics.report import ReportContext
from .classes import listed_by_row
from .pairs import persons_of
from .records import ObjectRecords
from .report import AnnotatorSummary, Bias, ConsensusAgreement
from .rest import Rest, count_codes, moments
from .sizes import SIZES

#: pairs of classes listed for an annotator in a report
MAX_LISTED = 20
#: columns whose sums are in the report
_COUNTED = ("n_missed", "n_could_miss", "n_majority", "n_other_class")
#: columns of seats by name, shape ``(V,)``
_Columns = dict[str, FloatArray | IntArray]

#: numbers of an annotator as quotients of two columns, by name; those of the consensus, and of the bias of boxes
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
_OF_BIAS = {name: (name, "n_boxes") for name in MEASURES}


def annotator_numbers(t: Tables, annotators: Sequence[str]) -> Iterator[GroupNumbers]:
    """The numbers of all annotators except vitality: quotients of two sums over the samples they were asked for."""
    seats, meetings, (labels, offsets) = t.seats, t.sample_pairs, t.offsets
    n, known, scored, of_box = len(seats.sample), ~np.isnan(t.others_class), ~np.isnan(t.pair_score), seats.own[labels]
    ends, rows = seats.own[t.pair_ends], [seats.at[meetings.sample, side][scored] for side in (meetings.a, meetings.b)]
    in_meetings = np.concatenate(rows)
    own: _Columns = {
        **missed_columns(t),
        **verdict_columns(t),
        "n_majority": seats.count(known),  # labels to whose objects most of the others gave one class
        "n_other_class": seats.count(known & (t.others_class != t.objects.category)),
        "score": seats.sums(in_meetings, np.tile(t.pair_score[scored], 2)),
        "n_scored": np.bincount(in_meetings, minlength=n),
        "iou": seats.sums(ends, np.tile(t.pairs.iou, 2)),
        "n_matched": np.bincount(ends, minlength=n),
    }
    bias: _Columns = {name: seats.sums(of_box, offsets[:, k]) for k, name in enumerate(MEASURES)}
    bias["n_boxes"] = np.bincount(of_box, minlength=n)
    consensus = _consensus_columns(t)
    parts = (((), _RATIOS, own), (("consensus",), _OF_CONSENSUS, consensus), (("bias",), _OF_BIAS, bias))
    for part, ratios, columns in parts:
        names, formula, below = ratio_formula(ratios)
        yield GroupNumbers(
            table=".".join(("annotators", *part)),
            keys={k: ("annotators", name, *part) for k, name in enumerate(annotators)},
            n_groups=len(annotators),
            names=tuple(ratios),
            group=t.seats.annotator,
            sample=t.seats.sample,
            columns={name: columns[name] for name in names},
            formula=formula,
            basis=below,
            resampled=np.arange(len(annotators)),
            also={name: column for name, column in columns.items() if name not in names},
        )


def missed_columns(t: Tables) -> _Columns:
    """Units of two or more other annotators: how many each annotator missed, and could have missed; also by size."""
    seats, units, unit, n_sizes = t.seats, t.units, t.unit, len(SIZES) + 1  # unknown size comes last
    size = t.size % n_sizes
    several = t.rated_unit & (units.votes >= 2)
    cells = size[several] * t.n_samples + units.sample[several]
    of_sample = np.bincount(cells, minlength=n_sizes * t.n_samples).reshape(n_sizes, t.n_samples)
    drawn, drawn_by_three = (
        seats.count_kinds(units_kept[unit], size[unit], n_sizes)
        for units_kept in (several, several & (units.votes >= 3))
    )
    missed = of_sample[:, seats.sample] - drawn
    could_miss = missed + drawn_by_three
    columns: _Columns = {"n_missed": missed.sum(axis=0), "n_could_miss": could_miss.sum(axis=0)}
    for k, name in enumerate(SIZES):
        columns |= {f"n_missed_{name}": missed[k], f"n_could_miss_{name}": could_miss[k]}
    return columns


def verdict_columns(t: Tables) -> _Columns:
    """Labels with every verdict."""
    counts = t.seats.count_kinds(t.object_verdict >= 0, t.object_verdict, len(VERDICTS))
    return {**dict(zip(VERDICTS, counts, strict=True)), "n_judged": counts.sum(axis=0)}


def _consensus_columns(t: Tables) -> _Columns:
    """Labels against the units that at least half of the others drew, where two or more others were asked."""
    seats, units, unit = t.seats, t.units, t.unit
    enough = units.assigned > MIN_OTHERS
    both = (enough & (2 * (units.votes - 1) >= units.assigned - 1))[unit]
    without = enough & (2 * units.votes >= units.assigned - 1)
    n_both, n_objects = seats.count(both), seats.count(enough[unit])
    # the others have all votes of a unit, minus one if this annotator drew it: so take out the units that this
    # annotator drew, then put back those with enough votes of the others
    n_units = np.bincount(units.sample[without], minlength=t.n_samples)[seats.sample]
    n_units = n_units - seats.count(without[unit]) + n_both
    kept = both[t.pair_ends]
    of_pair = seats.own[t.pair_ends[kept]]
    judged, same = _class_by_others(t, both)
    return {
        "n_both": n_both,
        "twice_both": 2 * n_both,
        "n_objects": n_objects,
        "n_units": n_units,
        "n_objects_and_units": n_objects + n_units,
        "n_pairs": np.bincount(of_pair, minlength=len(seats.sample)),
        "iou": seats.sums(of_pair, np.tile(t.pairs.iou, 2)[kept]),
        "n_with_class": seats.count(judged),
        "n_same_class": seats.count(same),
    }


def _class_by_others(t: Tables, both: BoolArray) -> tuple[BoolArray, BoolArray]:
    """Labels in the consensus of the others where these have a majority class (no tie), and those that have it.

    Args:
        both: shape ``(N,)``, labels in the consensus of the others

    Returns:
        two masks ``(N,)``
    """
    n_units, own = len(t.units.votes), t.n_same
    # the three largest class counts of every unit; one label for every (unit, class)
    _, first = np.unique(t.unit * t.n_categories + t.objects.category, return_index=True)
    order = first[np.lexsort((-own[first], t.unit[first]))]
    unit = t.unit[order]
    place = np.arange(len(unit)) - np.searchsorted(unit, np.arange(n_units + 1))[unit]
    largest = np.zeros((3, n_units), np.int64)
    largest[place[place < 3], unit[place < 3]] = own[order][place < 3]
    top = largest[:, t.unit]
    # without the label itself: the largest class count of the others, and the next one
    most = np.where(own == top[0], top[1], top[0])
    next_most = np.where(own >= top[1], top[2], top[1])
    same = both & (own - 1 > most)
    return same | (both & (own - 1 < most) & (next_most < most)), same


def add_annotators(rest: Rest, t: Tables) -> None:
    """Add what is said of annotators besides numbers: other classes than most gave, and how much the bias varies."""
    category, annotator = t.objects.category, t.objects.annotator
    other = np.flatnonzero(~np.isnan(t.others_class) & (t.others_class != category))
    given = t.others_class[other].astype(np.int64)
    rest.add_counts({"other_classes": count_codes(annotator[other], category[other], given)})
    labels, offsets = t.offsets
    cells = annotator[labels][:, None] * len(MEASURES) + np.arange(len(MEASURES))
    rest.add_moments({"bias": moments(cells.ravel(), offsets.ravel(), t.n_annotators * len(MEASURES))})


def annotator_summaries(
    fields: Fields, joined: Joined, rest: Rest, met: AnnotatorPairs, records: ObjectRecords, context: ReportContext
) -> list[AnnotatorSummary]:
    """The summaries of all annotators, in order.

    Args:
        joined: sums of the columns of seats
        met: the pairs of annotators
        records: of all samples, also of those with one annotator
    """
    own, persons, assigned = joined.of_groups("annotators"), persons_of(context.config), records.assigned
    n, class_names = len(context.annotators), context.class_names
    sample, annotator, category = records.labels()
    drew = np.zeros(assigned.shape, np.bool_)
    drew[sample, annotator] = True
    classes: list[dict[str, int]] = [{} for _ in context.annotators]
    for k, code, n_labels in count_codes(annotator, category).T.tolist():
        classes[k][class_names[code]] = classes[k].get(class_names[code], 0) + n_labels
    confused = rest.counts("confused")
    pair, a, b, times = confused[:, confused[1] != confused[2]]
    by_both = count_codes(np.r_[met.a[pair], met.b[pair]], np.r_[a, b], np.r_[b, a], times=np.tile(times, 2))
    conflicts, other_classes = (
        listed_by_row(who, given, others, times, class_names, n, MAX_LISTED)
        for who, given, others, times in (by_both, rest.counts("other_classes"))
    )
    has_sizes = any(own[f"n_could_miss_{size}"].any() for size in SIZES)
    n_assigned, n_drew_nothing = assigned.sum(axis=0), (assigned & ~drew).sum(axis=0)
    n_crowd = np.bincount(records.column("crowd_annotator").astype(np.int64), minlength=n)
    of_consensus = {name: sums for name, sums in joined.of_groups("annotators.consensus").items() if name != "iou"}
    boxes, _, squares = rest.moments("bias").reshape(3, n, len(MEASURES))
    summaries = []
    for k, name in enumerate(context.annotators):
        found, bias, consensus = fields.of("annotators", name), None, None
        found |= {column: int(own[column][k]) for column in _COUNTED}
        if not has_sizes:
            found["miss_rate_by_size"] = {}
        if boxes[k, 0]:  # units with several boxes
            means = fields.of("annotators", name, "bias")
            bias = Bias(
                n=int(boxes[k, 0]),
                mean={measure: means[measure] for measure in MEASURES},
                std=dict(zip(MEASURES, np.sqrt(squares[k] / boxes[k, 0]).tolist(), strict=True)),
                intervals=means["intervals"],
            )
        judged = {column: int(sums[k]) for column, sums in of_consensus.items()}
        if judged["n_objects_and_units"]:  # two others were asked for one of the samples
            consensus = ConsensusAgreement(
                n_units=judged["n_units"],
                n_objects=judged["n_objects"],
                class_agreement=judged["n_same_class"] / judged["n_with_class"] if judged["n_with_class"] else None,
                **fields.of("annotators", name, "consensus"),
            )
        summaries.append(
            AnnotatorSummary(
                name=name,
                n_assigned=int(n_assigned[k]),
                n_drew_nothing=int(n_drew_nothing[k]),
                n_not_assigned=records.n_samples - int(n_assigned[k]),
                n_objects=sum(classes[k].values()),
                n_crowd=int(n_crowd[k]),
                verdicts={verdict: int(own[verdict][k]) for verdict in VERDICTS},
                classes=dict(sorted(classes[k].items())),
                person=persons.get(name),
                class_conflicts=conflicts[k].entries,
                other_classes=other_classes[k].entries,
                bias=bias,
                consensus=consensus,
                **found,
            )
        )
    return summaries
