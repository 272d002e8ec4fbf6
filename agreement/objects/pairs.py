"""Agreement of every pair of annotators, of sessions of one person, and on object counts; clusters of annotators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...metrics.alpha import nominal_alpha_of_sums
from ...metrics.alpha.kappas import coefficients_by_pair
from ...metrics.bootstrap.draws import SparseColumns, hstack, scatter_rows, sparse
from ...metrics.geometry.objects import dice_from_iou
from ...metrics.matching.pairs import Alignment, average_linkage, f1_score, panoptic_quality, segmentation_quality
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..evidence.ranking import MIN_IMAGES, MIN_LABELS, in_order
from ..matching.tables import NO_TRACK, Tables
from ..settings.annotators import AnnotatorPairs
from ..settings.config import AgreementConfig, Undefined
from ..statistics.codes import MISSING
from ..statistics.estimates import Fields
from ..statistics.image_alpha import pair_alpha
from ..statistics.main_numbers import MEASURES
from ..statistics.numbers import GroupNumbers, Numbers, ratio, ratio_formula
from ..statistics.report import ReportContext, number, numbers_for_json
from ..statistics.values import masked_means
from .classes import listed_by_row
from .records import Gathered, ObjectRecords, count_codes, moments
from .report import Cluster, PairSummary, SampleMean, Sessions

#: 95 % of normally distributed values are within this many standard deviations of their mean
NORMAL_95 = 1.96
#: pairs of classes listed for a pair of annotators in a report, and for all of them together, but at least one for each
MAX_LISTED, MAX_LISTED_IN_ALL = 20, 100_000

#: numbers as quotients of two columns of meetings, by name; the last, the mean distance (1 - score) over all shared
#: images, only serves the alpha of images
_RATIOS = {
    "score": ("score", "n_scored"),
    "f1": ("twice_matched", "n_a_and_b"),
    "jaccard": ("n_matched", "n_drawn_by_either"),
    "class_agreement": ("n_same_class", "n_matched"),
    "mean_iou": ("iou", "n_matched"),
    "mean_dice": ("dice", "n_matched"),
    "percent_agreement": ("n_agreed", "n_units"),
    "distance": ("distance", "n_shared"),
}
_OF_RATIOS, _QUOTIENTS, _ = ratio_formula(_RATIOS)
#: columns of a meeting in the order of the sums that formulas take; the ratings by category follow
_COLUMNS = (*_OF_RATIOS, "difference", "square")
_AT = {name: place for place, name in enumerate(_COLUMNS)}
_NAMES = tuple(_RATIOS)
#: directions of the best IoU of the labels of two annotators
_DIRECTIONS = ("a_to_b", "b_to_a", "symmetric")
#: numbers averaged over the intra and inter pairs
_MEANS = ("score", "f1", "mean_iou")


def meeting_columns(t: Tables) -> tuple[dict[str, FloatArray | IntArray], SparseColumns]:
    """The columns of ``_COLUMNS`` by name, shape ``(Q,)``, and the ratings of every category for alpha, ``(Q, K)``.

    Units are those that at least one of the two drew, or, if missing ones are ignored, those that both drew; and images
    that everybody left empty, if these agree.
    """
    meetings, pairs, row, category = t.sample_pairs, t.pairs, t.pair_meeting, t.objects.category
    n = len(meetings.sample)
    n_matched = np.bincount(row, minlength=n)
    n_same_class = np.bincount(row[pairs.same_class], minlength=n)
    n_both, difference = meetings.n_a + meetings.n_b, (meetings.n_a - meetings.n_b).astype(np.float64)
    n_lone = (n_both - 2 * n_matched) * t.rates_missing
    n_empty = ((t.n_objects[meetings.sample] == 0) & t.rates_empty).astype(np.int64)
    columns = {
        "score": np.nan_to_num(t.pair_score),
        "n_scored": ~np.isnan(t.pair_score),
        "n_matched": n_matched,
        "twice_matched": 2 * n_matched,
        "n_a_and_b": n_both,
        "n_drawn_by_either": n_both - n_matched,
        "n_same_class": n_same_class,
        "iou": sums_by(row, pairs.iou, n),
        "dice": sums_by(row, dice_from_iou(pairs.iou), n),
        "n_agreed": n_same_class + n_empty,
        "n_units": n_matched + n_lone + n_empty,
        # 0 where everybody drew nothing
        "distance": 1.0 - np.nan_to_num(t.pair_score, nan=1.0),
        "n_shared": np.ones(n),
        "difference": difference,
        "square": difference**2,
    }
    if t.rates_missing:  # all labels of both
        seats, n_labels = t.seats, len(category)
        of_seat = sparse(seats.own, category, np.ones(n_labels), (len(seats.sample), t.n_categories))
        a, b = (seats.at[meetings.sample, side] for side in (meetings.a, meetings.b))
        rated = of_seat[a] + of_seat[b]
    else:
        rated = sparse(np.tile(row, 2), category[t.pair_ends], np.ones(2 * len(row)), (n, t.n_categories))
    # ratings as missing: one of a unit that one of the two drew, two of an empty image
    missing = sparse(np.arange(n), np.full(n, MISSING), n_lone + 2 * n_empty, (n, t.n_categories))
    return {name: columns[name] for name in _COLUMNS}, rated + missing


def pair_numbers(
    t: Tables, annotators: Sequence[str], wanted: IntArray, resampled: IntArray, expected: float
) -> Iterator[GroupNumbers]:
    """The numbers of some pairs of annotators.

    Agreement on the number of objects of every image, without crowd, is the mean difference over shared images, and the
    limits that contain 95 % of the differences if these are normally distributed.

    Args:
        annotators: their names
        wanted: the pairs, as rows of ``t.pairs_met``
        resampled: those with intervals
        expected: expected distance of annotations of different images

    References:
        J. M. Bland, D. G. Altman, "Statistical methods for assessing agreement between two methods", 1986
    """
    names, meetings, (columns, classes) = t.pairs_met.names(annotators), t.sample_pairs, meeting_columns(t)
    n, row, same = len(meetings.sample), t.pair_meeting, t.pairs.same_class
    # columns of which the report has sums
    also: dict[str, FloatArray | IntArray] = {
        "n_a": meetings.n_a,
        "n_b": meetings.n_b,
        "n_beside_others": (meetings.n_a + meetings.n_b) * (t.n_assigned[meetings.sample] > 2),
        "iou_same_class": sums_by(row[same], t.pairs.iou[same], n),
    }
    if "aligned" in t.part:
        also |= dict(zip(("n_aligned", "recall", "precision"), t.part["aligned"].T, strict=True))
    if "visibility" in t.part:
        also["visibility"] = sums_by(row, t.part["visibility"], n)
    undefined, group, sample = t.config.undefined, t.meeting_pair, meetings.sample
    if len(wanted) < len(t.pairs_met):
        rows = np.flatnonzero(np.isin(group, wanted))
        group, sample, classes = group[rows], sample[rows], classes[rows]
        columns, also = ({name: column[rows] for name, column in some.items()} for some in (columns, also))

    def formula(sums: FloatArray) -> FloatArray:
        quotients = _QUOTIENTS(sums)
        n, total, squares = (sums[..., _AT[name]] for name in ("n_shared", "difference", "square"))
        mean, spread = ratio(total, n), np.sqrt(ratio(n * squares - total**2, n * (n - 1)))
        # the distance, the last quotient, becomes the alpha of images
        more = [_alpha(sums, undefined), pair_alpha(quotients[..., -1], expected), mean]
        more += [mean - NORMAL_95 * spread, mean + NORMAL_95 * spread]
        return np.concatenate([quotients[..., :-1], np.stack(more, axis=-1)], axis=-1)

    found = (*_NAMES[:-1], "alpha", "image_alpha", "count_difference", "count_limit_low", "count_limit_high")
    yield GroupNumbers(
        table="pairs",
        keys={pair: ("pairs", *names[pair]) for pair in wanted.tolist()},
        n_groups=len(names),
        names=found,
        group=group,
        sample=sample,
        columns=columns,
        formula=formula,
        basis=np.full(len(found), _AT["n_shared"]),
        resampled=resampled,
        categories=classes,
        also=also,
    )


def _alpha(sums: FloatArray, undefined: Undefined) -> FloatArray:
    """Alpha of units with two ratings, from sums of columns of meetings and categories."""
    # a unit with two ratings that differ adds (m² - Σ n²) / (m - 1) = 2
    observed = 2.0 * (sums[..., _AT["n_units"]] - sums[..., _AT["n_agreed"]])
    return nominal_alpha_of_sums(observed, sums[..., len(_COLUMNS) :], undefined)


def count_numbers(t: Tables) -> Iterator[Numbers]:
    """Agreement of all annotators on the number of objects of every image, without crowd: ICC(2,1) over the images that
    all were asked for.

    References:
        P. E. Shrout, J. L. Fleiss, "Intraclass correlations: uses in assessing rater reliability", 1979
    """
    cells = np.bincount(t.objects.sample * t.n_annotators + t.objects.annotator, minlength=t.assigned.size)
    counts = cells.reshape(t.assigned.shape).astype(np.float64)
    columns = np.column_stack([np.ones(len(counts)), counts.sum(axis=1) ** 2, (counts**2).sum(axis=1), counts])
    of_all = hstack([columns * (t.n_assigned == t.n_annotators)[:, None]])

    def icc(sums: FloatArray) -> FloatArray:
        """From sums over images: 1, squared totals, squared counts, and the count of every annotator."""
        n, squared_totals, squares, totals = sums[..., 0], sums[..., 1], sums[..., 2], sums[..., 3:]
        k = totals.shape[-1]
        # sums of squares times n k: whole numbers, so exactly 0 if nothing varies
        whole = totals.sum(axis=-1) ** 2
        of_images, of_annotators = n * squared_totals - whole, k * (totals**2).sum(axis=-1) - whole
        residual = n * k * squares - n * squared_totals - k * (totals**2).sum(axis=-1) + whole
        images, residual = ratio(of_images, n - 1), ratio(residual, (n - 1) * (k - 1))
        annotators = ratio(of_annotators, np.full_like(n, k - 1))
        return ratio(images - residual, images + (k - 1) * residual + ratio(k * (annotators - residual), n))[..., None]

    yield Numbers((("counts.icc",),), of_all, icc, basis=np.array([0]), table="counts")


def session_numbers(t: Tables, annotators: Sequence[str], *, by_sample: bool) -> Iterator[Numbers]:
    """Agreement between sessions of one person (intra), between different persons (inter), and intra minus inter.

    Args:
        annotators: their names
        by_sample: whether there are intervals
    """
    persons = [person for name, person in persons_of(t.config).items() if name in annotators]
    if len(set(persons)) == len(persons):  # no two of them are sessions of one person
        return
    intra = intra_pairs(t.pairs_met.names(annotators), t.config)
    columns, classes = meeting_columns(t)
    plain = np.column_stack(list(columns.values())).astype(np.float64)
    of_meetings, n_plain = hstack([plain, classes]), len(_COLUMNS)
    sample, pair = t.sample_pairs.sample, t.meeting_pair
    entries, width = hstack([plain]).tocoo(), of_meetings.shape[1]
    place = pair[entries.row] * n_plain + entries.col
    of_pairs = sparse(sample[entries.row], place, entries.data, (t.n_samples, len(intra) * n_plain))
    # alpha is of all meetings of a kind together; the other numbers are means over pairs, with columns of their own
    kinds, undefined = (intra, ~intra), t.config.undefined
    of_kinds = [scatter_rows(of_meetings[kind[pair]], sample[kind[pair]], t.n_samples) for kind in kinds]

    def formula(sums: FloatArray) -> FloatArray:
        quotients = _QUOTIENTS(sums[..., 2 * width :].reshape(*sums.shape[:-1], len(intra), n_plain))
        found = []
        for k, kind in enumerate(kinds):
            found.append(_alpha(sums[..., k * width : (k + 1) * width], undefined))
            for name in _MEANS:
                values = quotients[..., kind, _NAMES.index(name)]
                found.append(masked_means(values, ~np.isnan(values)))
        values = np.stack(found, axis=-1)
        n = values.shape[-1] // 2
        return np.concatenate([values, values[..., :n] - values[..., n:]], axis=-1)

    names, shared = ("alpha", *_MEANS), _AT["n_shared"]
    keys = tuple(("sessions", f"{kind}_{name}") for kind in ("intra", "inter", "difference") for name in names)
    basis = np.repeat([shared, width + shared, shared], len(names))
    table = hstack([*of_kinds, of_pairs])
    yield Numbers(keys, table, formula, basis=basis, by_sample=by_sample, table="sessions")


def add_pairs(gathered: Gathered, t: Tables) -> None:
    """Add to ``gathered`` counts of classes of matched labels, and moments of the best IoU, by pair of annotators."""
    pair, n, category = t.meeting_pair, len(t.pairs_met), t.objects.category
    gathered.add_counts({"confused": count_codes(pair[t.pair_meeting], category[t.pairs.i], category[t.pairs.j])})
    best = t.part["best_iou"].T
    neither = np.isnan(best).all(axis=0)
    values = np.vstack([best, np.where(neither, np.nan, np.nan_to_num(best).sum(axis=0) / 2.0)])
    known = ~np.isnan(values)
    cells = np.arange(len(_DIRECTIONS))[:, None] * n + pair
    gathered.add_moments({"best_iou": moments(cells[known], values[known], len(_DIRECTIONS) * n)})


def track_consistency(records: ObjectRecords, video: IntArray) -> FloatArray:
    """Share of frames in which tracks keep their partner, for every pair of annotators.

    For every track of ``a``: (frames matched with its most frequent partner among the tracks of ``b``) / (frames in
    which it is drawn and ``b`` is assigned). These shares are averaged over tracks, weighted by frames, then over both
    directions.

    Args:
        video: shape ``(S,)``, video of every frame

    Returns:
        shape ``(R, R)``, symmetric, in [0, 1]

    Undefined:
        nan if one of the two has no track, and on the diagonal
    """
    gathered, n, done, first = Gathered(), records.n_annotators, 0, 0
    # numbers of tracks from 1; 0 for objects without a track
    track = np.unique(np.append(records.column("track"), NO_TRACK), return_inverse=True)[1].ravel()
    for t in records.tables():
        of_video, own = video[done : done + t.n_samples], track[first : first + len(t.unit)]
        done, first = done + t.n_samples, first + len(t.unit)
        sample, annotator, pairs = t.objects.sample, t.objects.annotator, t.pairs
        others = t.assigned[sample] & (own > 0)[:, None]
        others[np.arange(len(own)), annotator] = False
        partner = np.zeros(others.shape, np.int64)  # no match: 0
        partner[pairs.i, annotator[pairs.j]] = own[pairs.j]
        partner[pairs.j, annotator[pairs.i]] = own[pairs.i]
        row, other = np.nonzero(others)
        keys = of_video[sample[row]], annotator[row], own[row], other, partner[row, other]
        gathered.add_counts({"frames": count_codes(*keys)})
    *of_track, partners, n_frames = gathered.counts("frames")
    _, a, _, b = of_track  # video, annotator, track, other annotator
    starts = np.flatnonzero((np.diff(of_track, axis=1, prepend=-1) != 0).any(axis=0))
    kept = np.maximum.reduceat(np.where(partners > 0, n_frames, 0), starts) if len(starts) else n_frames
    of_pair, n_pairs = a * n + b, n * n
    share = ratio(sums_by(of_pair[starts], kept, n_pairs), sums_by(of_pair, n_frames, n_pairs)).reshape(n, n)
    both: FloatArray = (share + share.T) / 2.0
    return both


def pair_summaries(
    fields: Fields,
    sums: Mapping[str, FloatArray],
    gathered: Gathered,
    pairs_met: AnnotatorPairs,
    tracks: FloatArray | None,
    context: ReportContext,
) -> list[PairSummary]:
    """The summaries of all pairs with a shared sample, in the order of the annotators.

    Args:
        sums: of the columns of meetings by name, for all pairs ``(M,)``
        pairs_met: the pairs
        tracks: see :func:`track_consistency`; None without tracks
    """
    config, names, n = context.config, context.annotators, len(pairs_met)
    pair_of, a, b, times = gathered.counts("confused")
    kappa, ac1 = coefficients_by_pair(pair_of, a, b, times, n)
    at_most, apart = max(1, min(MAX_LISTED, MAX_LISTED_IN_ALL // max(n, 1))), a != b
    confused = pair_of[apart], a[apart], b[apart], times[apart]
    confusions = listed_by_row(*confused, context.class_names, n, at_most)
    undefined = np.full(n, np.nan)
    of_points = MEASURES[context.measure].of_points
    values = {
        "pq": panoptic_quality(sums["iou_same_class"], sums["n_a"], sums["n_b"]),
        "sq": segmentation_quality(sums["iou_same_class"], sums["n_same_class"]),
        "rq": f1_score(sums["n_same_class"], sums["n_a"], sums["n_b"]),
        "visibility": ratio(sums["visibility"], sums["n_matched"]) if of_points else undefined,
        "track_consistency": undefined if tracks is None else tracks[pairs_met.a, pairs_met.b],
        "kappa": kappa,
        "ac1": ac1,
    }
    columns: dict[str, list[Any]] = {name: numbers_for_json(column) for name, column in values.items()}
    columns |= {name: sums[name].astype(np.int64).tolist() for name in ("n_a", "n_b", "n_matched")}
    columns["n_samples"] = sums["n_shared"].astype(np.int64).tolist()
    columns["a"], columns["b"] = ([names[of] for of in side.tolist()] for side in (pairs_met.a, pairs_met.b))
    n_means, mean, squares = gathered.moments("best_iou").reshape(3, len(_DIRECTIONS), n)
    found = np.where(n_means > 0, mean, np.nan), np.sqrt(ratio(squares, n_means)), n_means
    directions = [
        [SampleMean(mean, std, int(n)) for mean, std, n in zip(*map(numbers_for_json, of), strict=True)]
        for of in zip(*found, strict=True)
    ]
    columns["mean_max_iou"] = [dict(zip(_DIRECTIONS, each, strict=True)) for each in zip(*directions, strict=True)]
    columns["confusion"], columns["n_unlisted"] = ([listed[k] for listed in confusions] for k in (0, 1))
    columns["intra"] = intra_pairs(pairs_met.names(names), config).tolist()
    columns["alignment"] = [None] * n
    if config.method == "mutual_best":
        for pair in range(n):
            of = (float(sums[name][pair]) for name in ("n_a", "n_b", "n_aligned", "recall", "precision"))
            n_a, n_b, n_aligned, recall, precision = of
            aligned = Alignment(int(n_a), int(n_b), int(n_aligned), recall, precision)
            shares = {name: number(getattr(aligned, name)) for name in ("recall", "precision", "f_score")}
            columns["alignment"][pair] = {"n_aligned": aligned.n_aligned, **shares}
    return [
        PairSummary(
            **{name: column[pair] for name, column in columns.items()},
            **fields.of("pairs", columns["a"][pair], columns["b"][pair]),
        )
        for pair in range(n)
        if columns["n_samples"][pair]
    ]


def persons_of(config: AgreementConfig) -> dict[str, str]:
    """Person of every annotator that is one of several sessions, by the annotator's name."""
    named = config.named_persons()
    sessions = Counter(named.values())
    return {name: person for name, person in named.items() if sessions[person] > 1}


def intra_pairs(pairs: Sequence[tuple[str, str]], config: AgreementConfig) -> BoolArray:
    """True for pairs that are two sessions of one person, shape ``(P,)``, from their names."""
    persons = persons_of(config)
    return np.array([a in persons and persons[a] == persons.get(b) for a, b in pairs], np.bool_)


def sessions(pairs: Sequence[PairSummary], fields: Fields) -> Sessions | None:
    """Intra and inter agreement; None if nobody labelled several times."""
    numbers: dict[str, Any] = fields.of("sessions")
    if "intra_alpha" not in numbers:
        return None
    return Sessions(
        # of differences only the interval is kept
        **{name: value for name, value in numbers.items() if not name.startswith("difference_")},
        n_intra_pairs=sum(pair.intra for pair in pairs),
        n_inter_pairs=sum(not pair.intra for pair in pairs),
    )


def clusters(pairs: Sequence[PairSummary], annotators: Sequence[str]) -> list[Cluster]:
    """The joins of an average-linkage clustering of annotators by the score of their pairs, the closest first.

    Pairs without a score, or with fewer labels or images than a ranking needs, are ignored; groups without such a pair
    between them are not joined. Ties go to the first by name.
    """
    paired = {name for pair in pairs for name in (pair.a, pair.b)}
    names = [name for name in in_order(annotators) if name in paired]
    place = {name: k for k, name in enumerate(names)}
    similarity = np.full((len(names), len(names)), np.nan)
    for pair in pairs:
        if pair.score is not None and pair.n_samples >= MIN_IMAGES and pair.n_labels >= MIN_LABELS:
            a, b = place[pair.a], place[pair.b]
            similarity[a, b] = similarity[b, a] = pair.score
    return [Cluster([names[k] for k in members], value) for members, value in average_linkage(similarity)]
