"""Numbers of annotators: misses, verdicts, conflicts, bias of boxes, agreement with the consensus, and vitality.

Vitality is alpha with all annotators minus alpha without one of them, with unchanged units, both on the samples with
two or more of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...metrics.alpha import nominal_alpha_of_sums
from ...metrics.alpha.nominal import unit_disagreement
from ...metrics.bootstrap.draws import SparseColumns, column_sums, hstack, scatter_rows, sparse
from ...metrics.geometry.objects import Objects
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, ranges, sums_by
from ..matching.tables import MEASURES, MIN_OTHERS, Ratings, Tables, ratings_of
from ..matching.verdicts import VERDICTS
from ..settings.annotators import AnnotatorPairs
from ..settings.config import Undefined
from ..statistics.estimates import Fields
from ..statistics.numbers import GroupNumbers, Joined, Numbers, ratio_formula
from ..statistics.report import ReportContext
from .classes import SIZES, listed_by_row
from .pairs import persons_of
from .records import Gathered, ObjectRecords, count_codes, moments
from .report import AnnotatorSummary, Bias, ConsensusAgreement

#: pairs of classes listed for an annotator in a report
MAX_LISTED = 20
#: columns whose sums are in the report
_COUNTED = ("n_missed", "n_could_miss", "n_majority", "n_other_class")
#: numbers of an annotator as quotients of two columns of seats, by the part of the summary that they belong to
_RATIOS: dict[str, dict[str, tuple[str, str]]] = {
    "": {
        "miss_rate": ("n_missed", "n_could_miss"),
        **{f"miss_rate_by_size.{size}": (f"n_missed_{size}", f"n_could_miss_{size}") for size in SIZES},
        **{f"verdict_shares.{verdict}": (verdict, "n_judged") for verdict in VERDICTS},
        "other_class": ("n_other_class", "n_majority"),
        "score": ("score", "n_scored"),
        "mean_iou": ("iou", "n_matched"),
    },
    "consensus": {
        "precision": ("n_both", "n_objects"),
        "recall": ("n_both", "n_units"),
        "f1": ("twice_both", "n_objects_and_units"),
        "mean_iou": ("iou_both", "n_pairs_both"),
    },
    "bias": {name: (name, "n_boxes") for name in MEASURES},
}
#: columns of which the report has sums only
_ALSO = ("n_with_class", "n_same_class")


def annotator_numbers(t: Tables, annotators: Sequence[str]) -> Iterator[GroupNumbers]:
    """The numbers of all annotators except vitality: quotients of two sums over the samples they were asked for."""
    columns, everybody = seat_columns(t), np.arange(len(annotators))
    for part, ratios in _RATIOS.items():
        names, formula, below = ratio_formula(ratios)
        yield GroupNumbers(
            table=f"annotators {part}",
            keys={k: ("annotators", name, *([part] if part else [])) for k, name in enumerate(annotators)},
            n_groups=len(annotators),
            names=tuple(ratios),
            group=t.seats.annotator,
            sample=t.seats.sample,
            columns={name: columns[name] for name in names},
            formula=formula,
            basis=below,
            resampled=everybody,
            also={name: columns[name] for name in _ALSO} if part == "consensus" else {},
        )


def seat_columns(t: Tables) -> dict[str, FloatArray | IntArray]:
    """The columns of all numbers of annotators by name, shape ``(V,)``."""
    seats, meetings, units, unit, category = t.seats, t.sample_pairs, t.units, t.unit, t.objects.category
    n, ends, iou, (labels, offsets) = len(seats.sample), seats.own[t.pair_ends], np.tile(t.pairs.iou, 2), t.offsets

    def count(chosen: BoolArray) -> IntArray:
        return np.bincount(seats.own[chosen], minlength=n)

    known, scored, of_box = t.others_class >= 0, ~np.isnan(t.pair_score), seats.own[labels]
    of_scored = np.concatenate([seats.at[meetings.sample, side][scored] for side in (meetings.a, meetings.b)])
    # a unit is in the consensus of the others if at least half of them drew it, and two or more were asked. ``both``:
    # labels of such units; ``without``: units that are in the consensus for an annotator who did not draw them
    enough = units.assigned > MIN_OTHERS
    both = (enough & (2 * (units.votes - 1) >= units.assigned - 1))[unit]
    without = enough & (2 * units.votes >= units.assigned - 1)
    n_both, n_objects, in_both = count(both), count(enough[unit]), both[t.pair_ends]
    # units of the consensus that this annotator did not draw (``without``), and that they drew (``both``)
    n_units = np.bincount(units.sample[without], minlength=t.n_samples)[seats.sample]
    n_units = n_units - count(without[unit]) + n_both
    # the class of a consensus unit is the most frequent one of the others, if there is no tie
    label, given, n_given = t.opinions
    most = np.zeros(len(unit), np.int64)
    np.maximum.at(most, label, n_given)
    label, given = label[n_given == most[label]], given[n_given == most[label]]
    with_class, same_class = both & (np.bincount(label, minlength=len(unit)) == 1), np.zeros(len(unit), np.bool_)
    same_class[label[given == category[label]]] = True
    return {
        **missed_columns(t),
        **verdict_columns(t),
        "n_majority": count(known),  # labels to whose objects most of the others gave one class
        "n_other_class": count(known & (t.others_class != category)),
        "score": sums_by(of_scored, np.tile(t.pair_score[scored], 2), n),
        "n_scored": np.bincount(of_scored, minlength=n),
        "iou": sums_by(ends, iou, n),
        "n_matched": np.bincount(ends, minlength=n),
        "n_both": n_both,
        "twice_both": 2 * n_both,
        "n_objects": n_objects,  # labels where enough others were asked
        "n_units": n_units,
        "n_objects_and_units": n_objects + n_units,
        "iou_both": sums_by(ends[in_both], iou[in_both], n),
        "n_pairs_both": np.bincount(ends[in_both], minlength=n),
        "n_with_class": count(with_class),
        "n_same_class": count(with_class & same_class),
        **{name: sums_by(of_box, offsets[:, k], n) for k, name in enumerate(MEASURES)},
        "n_boxes": np.bincount(of_box, minlength=n),
    }


def missed_columns(t: Tables) -> dict[str, IntArray]:
    """By seat: how many units that two or more others drew there are, and how many the annotator missed; also by size.

    With two annotators there are none.
    """
    seats, units, unit, n, n_sizes = t.seats, t.units, t.unit, len(t.seats.sample), len(SIZES) + 1
    # -1, unknown, becomes the last size
    size, several = t.size % n_sizes, t.rated_unit & (units.votes >= 2)
    cells = (size * t.n_samples + units.sample)[several]
    of_sample = np.bincount(cells, minlength=n_sizes * t.n_samples).reshape(n_sizes, t.n_samples)
    cells = size[unit] * n + seats.own
    drawn, drawn_with_two_others = (
        np.bincount(cells[chosen[unit]], minlength=n_sizes * n).reshape(n_sizes, n)
        for chosen in (several, several & (units.votes >= 3))
    )
    missed = of_sample[:, seats.sample] - drawn
    could_miss = missed + drawn_with_two_others
    columns = {"n_missed": missed.sum(axis=0), "n_could_miss": could_miss.sum(axis=0)}
    for k, name in enumerate(SIZES):
        columns |= {f"n_missed_{name}": missed[k], f"n_could_miss_{name}": could_miss[k]}
    return columns


def verdict_columns(t: Tables) -> dict[str, IntArray]:
    """Number of labels of each verdict, and of all labels with a verdict, by seat."""
    judged, n = t.object_verdict >= 0, len(t.seats.sample)
    cells = (t.object_verdict * n + t.seats.own)[judged]
    counts = np.bincount(cells, minlength=len(VERDICTS) * n).reshape(len(VERDICTS), n)
    return {**dict(zip(VERDICTS, counts, strict=True)), "n_judged": counts.sum(axis=0)}


def add_annotators(gathered: Gathered, t: Tables) -> None:
    """Add to ``gathered`` counts of labels with another class than most others gave, and moments of the bias."""
    category, annotator = t.objects.category, t.objects.annotator
    other = np.flatnonzero((t.others_class >= 0) & (t.others_class != category))
    given = t.others_class[other]
    gathered.add_counts({"other_classes": count_codes(annotator[other], category[other], given)})
    labels, offsets = t.offsets
    cells = annotator[labels][:, None] * len(MEASURES) + np.arange(len(MEASURES))
    gathered.add_moments({"bias": moments(cells.ravel(), offsets.ravel(), t.n_annotators * len(MEASURES))})


def annotator_summaries(
    fields: Fields,
    joined: Joined,
    gathered: Gathered,
    pairs_met: AnnotatorPairs,
    records: ObjectRecords,
    context: ReportContext,
) -> list[AnnotatorSummary]:
    """The summaries of all annotators, in order.

    Args:
        joined: sums of the columns of seats
        pairs_met: the pairs of annotators
        records: of all samples, also of those with one annotator
    """
    own, persons, assigned = joined.of_groups("annotators "), persons_of(context.config), records.assigned
    n, class_names = len(context.annotators), context.class_names
    sample, annotator, category = records.labels()
    drew = np.zeros(assigned.shape, np.bool_)
    drew[sample, annotator] = True
    classes: list[dict[str, int]] = [{} for _ in context.annotators]
    for k, code, n_labels in count_codes(annotator, category).T.tolist():  # codes may share a name
        classes[k][class_names[code]] = classes[k].get(class_names[code], 0) + n_labels
    confused = gathered.counts("confused")
    pair, a, b, times = confused[:, confused[1] != confused[2]]
    by_both = count_codes(
        np.r_[pairs_met.a[pair], pairs_met.b[pair]], np.r_[a, b], np.r_[b, a], times=np.tile(times, 2)
    )
    conflicts, other_classes = (
        listed_by_row(who, given, others, times, class_names, n, MAX_LISTED)
        for who, given, others, times in (by_both, gathered.counts("other_classes"))
    )
    has_sizes = any(own[f"n_could_miss_{size}"].any() for size in SIZES)
    n_assigned, n_drew_nothing = assigned.sum(axis=0), (assigned & ~drew).sum(axis=0)
    n_crowd = np.bincount(records.column("crowd_annotator").astype(np.int64), minlength=n)
    of_consensus = joined.of_groups("annotators consensus")
    boxes, _, squares = gathered.moments("bias").reshape(3, n, len(MEASURES))
    summaries = []
    for k, name in enumerate(context.annotators):
        found, bias, consensus = fields.of("annotators", name), None, None
        found |= {column: int(own[column][k]) for column in _COUNTED}
        if not has_sizes:
            found["miss_rate_by_size"] = {}
        if boxes[k, 0]:  # they have boxes of objects that others drew, too
            means = fields.of("annotators", name, "bias")
            bias = Bias(
                n=int(boxes[k, 0]),
                mean={measure: means[measure] for measure in MEASURES},
                std=dict(zip(MEASURES, np.sqrt(squares[k] / boxes[k, 0]).tolist(), strict=True)),
                intervals=means["intervals"],
            )
        of_others = {column: int(sums[k]) for column, sums in of_consensus.items()}
        if of_others["n_objects_and_units"]:  # two others were asked for one of the samples
            consensus = ConsensusAgreement(
                n_units=of_others["n_units"],
                n_objects=of_others["n_objects"],
                class_agreement=of_others["n_same_class"] / of_others["n_with_class"]
                if of_others["n_with_class"]
                else None,
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
                class_conflicts=conflicts[k][0],
                other_classes=other_classes[k][0],
                bias=bias,
                consensus=consensus,
                **found,
            )
        )
    return summaries


#: minimum number of annotators to leave one out: two others are needed
MIN_ANNOTATORS = 3
#: maximum number of columns (one per class and annotator) for intervals of vitality
MAX_COLUMNS = 5_000
#: labels (with one annotator left out) that are counted at once
MAX_OBJECTS = 1_000_000


def with_vitality(annotators: Sequence[str], assigned: BoolArray, n_categories: int) -> IntArray:
    """The annotators whose vitality has an interval: with very many, those who were asked for the most samples.

    Args:
        assigned: shape ``(S, R)``
        n_categories: number ``K`` of category codes
    """
    by_name = np.argsort(np.array(annotators, dtype=object), kind="stable")
    order = by_name[np.argsort(-assigned.sum(axis=0)[by_name], kind="stable")]
    return np.sort(order[: MAX_COLUMNS // (n_categories + 1)])


def vitality_numbers(t: Tables, annotators: Sequence[str], resampled: IntArray, *, with_two: bool) -> Iterator[Numbers]:
    """The vitality of all annotators.

    Args:
        annotators: their names
        resampled: those with an interval
        with_two: whether some sample of the run has two annotators alone: the vitality of neither counts it
    """
    if len(annotators) < MIN_ANNOTATORS:
        return
    n, width, sample, annotator = len(annotators), t.n_categories + 1, t.seats.sample, t.seats.annotator
    n_own = width + 1 + width * with_two
    full = _alpha_columns(t.ratings, t.n_samples, t.n_categories)
    place = np.full(n, -1)
    place[resampled] = np.arange(len(resampled))
    nothing = np.empty(0, np.int64)  # if nobody was asked
    rows, columns, values = [nothing], [nothing], [nothing.astype(np.float64)]
    of_rest = np.zeros((n, n_own))
    block = np.cumsum(t.n_objects[sample]) // MAX_OBJECTS
    for number in np.unique(block):
        some, who = sample[block == number], annotator[block == number]
        changes = _alpha_columns(_ratings_without(t, some, who), len(some), t.n_categories) - full[some]
        enough = (t.n_assigned[some] > MIN_OTHERS).astype(np.float64)[:, None]
        # without one of two nothing is left of a sample: its change is the whole of it
        own = hstack([changes, enough, *([changes.multiply(1.0 - enough)] if with_two else [])])
        kept = place[who] >= 0
        of_rest += scatter_rows(own[~kept], who[~kept], n).toarray()
        found, some, first = own[kept].tocoo(), some[kept], place[who[kept]] * n_own
        rows.append(some[found.row])
        columns.append(first[found.row] + found.col)
        values.append(found.data)
    if len(resampled):
        shape = t.n_samples, n_own * len(resampled)
        of_each = sparse(np.concatenate(rows), np.concatenate(columns), np.concatenate(values), shape)
        yield _numbers([annotators[k] for k in resampled.tolist()], hstack([full, of_each]), width, t.config.undefined)
    gathered = np.flatnonzero(place < 0)
    if len(gathered):
        sums = np.concatenate([column_sums(full), of_rest[gathered].ravel()])
        found = _numbers([annotators[k] for k in gathered.tolist()], hstack([sums[None, :]]), width, t.config.undefined)
        yield replace(found, by_sample=False)


def _numbers(annotators: Sequence[str], columns: SparseColumns, width: int, undefined: Undefined) -> Numbers:
    """The vitality of some annotators.

    Args:
        columns: ``width`` columns of alpha; then for each annotator how they change without, number of samples with two
            others, and, unless no sample has two annotators alone, the changes on samples without two others
    """
    n = len(annotators)
    n_own = (columns.shape[1] - width) // n

    def alpha(sums: FloatArray) -> FloatArray:
        return nominal_alpha_of_sums(sums[..., 0], sums[..., 1:], undefined)

    def formula(sums: FloatArray) -> FloatArray:
        full = sums[..., :width]
        of_each, found = sums[..., width:].reshape(*sums.shape[:-1], n, n_own), []
        alpha_of_all = alpha(full)
        for k in range(n):  # one by one: all together would take n times the memory
            own = of_each[..., k, :]
            alpha_with = alpha_of_all if n_own == width + 1 else alpha(full + own[..., width + 1 :])
            found.append(np.where(own[..., width] > 0, alpha_with - alpha(full + own[..., :width]), np.nan))
        return np.stack(found, axis=-1)

    keys = tuple(("annotators", name, "vitality") for name in annotators)
    return Numbers(keys, columns, formula, basis=2 * width + np.arange(n) * n_own, table="vitality")


def _alpha_columns(ratings: Ratings, n_rows: int, n_categories: int) -> SparseColumns:
    """The columns of alpha: observed disagreement, and the number of ratings of every category, ``(S, 1 + K)``."""
    m, differing = unit_disagreement(ratings.unit, ratings.count, len(ratings.sample))
    rated = m[ratings.unit] >= 2
    of_unit = ratings.unit[rated]
    observed = sums_by(ratings.sample, np.where(m >= 2, differing / np.maximum(m - 1, 1), 0.0), n_rows)
    return sparse(
        np.concatenate([np.arange(n_rows), ratings.sample[of_unit]]),
        np.concatenate([np.zeros(n_rows, np.int64), 1 + ratings.category[rated]]),
        np.concatenate([observed, ratings.count[rated]]),
        (n_rows, 1 + n_categories),
    )


def _ratings_without(t: Tables, sample: IntArray, annotator: IntArray) -> Ratings:
    """The ratings for alpha on samples ``(V,)``, each without one of the annotators who were asked."""
    rows = ranges((np.cumsum(t.n_objects) - t.n_objects)[sample], t.n_objects[sample])
    case = np.repeat(np.arange(len(sample)), t.n_objects[sample])
    others = t.objects.annotator[rows] != annotator[case]
    rows, case = rows[others], case[others]
    n_of_case = t.n_units[sample]
    # the units of every case get new numbers
    moved_by = np.cumsum(n_of_case) - n_of_case - (np.cumsum(t.n_units) - t.n_units)[sample]
    case_of_unit = np.repeat(np.arange(len(sample)), n_of_case)
    objects = Objects(case, t.objects.annotator[rows], t.objects.category[rows])
    unit, n_assigned = t.unit[rows] + moved_by[case], t.n_assigned[sample] - 1
    return ratings_of(objects, unit, case_of_unit, n_assigned, t.config.missing, t.config.empty)
