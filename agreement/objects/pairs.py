"""Pairs of annotators: agreement of every pair, of sessions of one person, on counts; clustering of annotators."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...metrics.alpha import nominal_alpha_of_sums
from ...metrics.alpha.kappas import coefficients_by_pair
from ...metrics.bootstrap.draws import SparseColumns, hstack, scatter_rows, sparse
from ...metrics.geometry.objects import dice_from_iou
from ...metrics.matching.pairs import Alignment, average_linkage, f1_score, panoptic_quality, segmentation_quality
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, ranges, sums_by
from ..evidence.ranking import MIN_IMAGES, MIN_LABELS, in_order
from ..image_alpha.expected import pair_alpha
from ..matching.batch import TrackCounts
from ..matching.compute import Agreement, Counting
from ..settings.annotators import AnnotatorPairs
from ..settings.config import AgreementConfig, Undefined
from ..statistics.codes import MISSING
from ..statistics.estimates import Fields
from ..statistics.main_numbers import MEASURES
from ..statistics.numbers import BySample, GroupRows, Numbers, Rows, ratio
from ..statistics.report import ReportContext, number, numbers_for_json
from ..statistics.values import masked_means
from .classes import Listed, listed_by_row
from .report import Cluster, PairSummary, SampleMean, Sessions
from .sums import Additive, Chunk, Moments, SparseCounts

#: number of (pair, shared sample) whose columns are collected at once
MAX_SHARED_AT_ONCE = 500_000
#: 95 % of normally distributed values are within this many standard deviations of their mean
NORMAL_95 = 1.96
#: pairs of classes listed for a pair of annotators in a report, and for all of them together, but one for each
MAX_LISTED, MAX_LISTED_IN_ALL = 20, 100_000

#: numbers as quotients of two columns, by name
_RATIOS = {
    "score": ("score", "n_scored"),
    "f1": ("twice_matched", "n_a_and_b"),
    "jaccard": ("n_matched", "n_drawn_by_either"),
    "class_agreement": ("n_same_class", "n_matched"),
    "mean_iou": ("iou", "n_matched"),
    "mean_dice": ("dice", "n_matched"),
    "percent_agreement": ("n_agreed", "n_units"),
}
#: mean distance over all shared images; of one that everybody left empty it is 0
_DISTANCE = ("distance", "n_shared")
_PLAIN = (*dict.fromkeys(column for names in _RATIOS.values() for column in names), *_DISTANCE)
_SHARED = _PLAIN.index("n_shared")
#: numbers averaged over the intra and inter pairs
_MEANS = ("score", "f1", "mean_iou")


def pair_numbers(
    pairs: AnnotatorPairs, annotators: Sequence[str], config: AgreementConfig, expected: float, *, by_sample: BySample
) -> list[PairNumbers | SessionNumbers | CountNumbers]:
    """The collectors of all numbers of pairs of annotators, and of the agreement on counts.

    Args:
        expected: expected distance of annotations of different images
    """
    names = pairs.names(annotators)
    chosen = pairs.chosen(annotators) if by_sample else np.empty(0, np.int64)
    group = np.zeros(len(pairs), np.int64)
    if by_sample is True:  # moments take little memory
        group[chosen] = (np.cumsum(pairs.n_shared[chosen]) - 1) // MAX_SHARED_AT_ONCE
    groups = [np.flatnonzero(group == k) for k in np.unique(group)] or [np.empty(0, np.int64)]
    found: list[PairNumbers | SessionNumbers | CountNumbers] = [
        *(PairNumbers(names, some, chosen, config, expected, by_sample=by_sample) for some in groups),
        CountNumbers(names, chosen, by_sample=by_sample),
    ]
    if has_sessions(annotators, config):
        all_chosen = len(chosen) == len(pairs) and len(groups) == 1
        intra = intra_pairs(names, config)
        found.append(SessionNumbers(intra, config.undefined, by_sample=all_chosen and by_sample))
    return found


class PairNumbers:
    """The numbers of some pairs of annotators; their columns have a row for every shared sample of a pair.

    Args:
        names: names of both annotators of all pairs
        pairs: the pairs, by number
        resampled: pairs with intervals
        expected: expected distance of annotations of different images
        by_sample: what is kept of the resampled pairs
    """

    def __init__(
        self,
        names: Sequence[tuple[str, str]],
        pairs: IntArray,
        resampled: IntArray,
        config: AgreementConfig,
        expected: float,
        *,
        by_sample: BySample,
    ) -> None:
        self._keys = {pair: ("pairs", *names[pair]) for pair in pairs.tolist()}
        self._undefined = config.undefined
        self._expected = expected
        self._wanted = np.zeros(len(names), np.bool_)
        self._wanted[pairs] = True
        self._rows = GroupRows(len(names), resampled, by_sample=by_sample)

    def add(self, chunk: Chunk) -> None:
        pair, columns, sample = chunk.shared_pair, pair_columns(chunk), chunk.agreement.sample_pairs.sample
        kept = self._wanted[pair]
        if not kept.all():
            pair, columns, sample = pair[kept], columns[kept], sample[kept]
        self._rows.add(pair, sample, columns, chunk.agreement.n_samples)

    def numbers(self) -> Iterator[Numbers]:

        def formula(sums: FloatArray) -> FloatArray:
            ratios = _ratios(sums)
            of_images = pair_alpha(ratio(*(sums[..., _PLAIN.index(name)] for name in _DISTANCE)), self._expected)
            return np.stack([*ratios.values(), _alpha(sums, self._undefined), of_images], axis=-1)

        names = (*_RATIOS, "alpha", "image_alpha")
        rows = self._rows
        del self._rows  # frees its memory after the last number
        yield from rows.numbers(self._keys, names, formula, np.full(len(names), _SHARED), len(_PLAIN))


class CountNumbers:
    """Agreement on the number of objects of every image, without crowd.

    For all annotators: ICC(2,1) over the images that all were assigned to. For every pair: the mean difference over
    shared images, and the limits that contain 95 % of the differences if these are normally distributed.

    References:
        P. E. Shrout, J. L. Fleiss, "Intraclass correlations: uses in assessing rater reliability", 1979
        J. M. Bland, D. G. Altman, "Statistical methods for assessing agreement between two methods", 1986
    """

    def __init__(self, names: Sequence[tuple[str, str]], chosen: IntArray, *, by_sample: BySample) -> None:
        self._keys = {pair: ("pairs", *both) for pair, both in enumerate(names)}
        self._of_all = Rows(by_sample=by_sample)
        self._of_pairs = GroupRows(len(names), chosen, by_sample=by_sample)

    def add(self, chunk: Chunk) -> None:
        agreement, objects, shared = chunk.agreement, chunk.agreement.objects, chunk.agreement.sample_pairs
        by_all, k = agreement.n_assigned == agreement.n_annotators, agreement.n_annotators
        cells = np.bincount(objects.sample * k + objects.annotator, minlength=agreement.assigned.size)
        counts = cells.reshape(agreement.assigned.shape).astype(np.float64)
        columns = np.column_stack([np.ones(len(counts)), counts.sum(axis=1) ** 2, (counts**2).sum(axis=1), counts])
        self._of_all.add(hstack([columns * by_all[:, None]]))
        difference = (shared.n_a - shared.n_b).astype(np.float64)
        columns = np.column_stack([np.ones(len(difference)), difference, difference**2])
        self._of_pairs.add(chunk.shared_pair, shared.sample, columns, agreement.n_samples)

    def numbers(self) -> Iterator[Numbers]:
        """ICC, then the difference and its limits of every pair."""
        yield self._of_all.numbers((("counts.icc",),), lambda sums: _icc(sums)[..., None], np.array([0]))
        names = ("count_difference", "count_limit_low", "count_limit_high")
        rows = self._of_pairs
        del self._of_pairs  # frees its memory after the last number
        yield from rows.numbers(self._keys, names, _limits, np.zeros(3, np.int64), 3)


def _icc(sums: FloatArray) -> FloatArray:
    """ICC(2,1) from sums over images: 1, squared totals, squared counts, and the count of every annotator."""
    n, squared_totals, squares, totals = sums[..., 0], sums[..., 1], sums[..., 2], sums[..., 3:]
    k = totals.shape[-1]
    # n k times the sums of squares are whole numbers: no rounding if nothing varies
    whole = totals.sum(axis=-1) ** 2
    of_images, of_annotators = n * squared_totals - whole, k * (totals**2).sum(axis=-1) - whole
    rest = n * k * squares - n * squared_totals - k * (totals**2).sum(axis=-1) + whole
    images, rest = ratio(of_images, n - 1), ratio(rest, (n - 1) * (k - 1))
    annotators = ratio(of_annotators, np.full_like(n, k - 1))
    return ratio(images - rest, images + (k - 1) * rest + ratio(k * (annotators - rest), n))


def _limits(sums: FloatArray) -> FloatArray:
    """Mean difference and limits of agreement, from the sums over samples of 1, differences and their squares."""
    n, total, squares = np.moveaxis(sums, -1, 0)
    mean, spread = ratio(total, n), np.sqrt(ratio(n * squares - total**2, n * (n - 1)))
    return np.stack([mean, mean - NORMAL_95 * spread, mean + NORMAL_95 * spread], axis=-1)


class SessionNumbers:
    """Agreement between sessions of one person (intra), between different persons (inter), and intra minus inter.

    Args:
        intra: shape ``(P,)``, whether a pair of annotators is one person
    """

    def __init__(self, intra: BoolArray, undefined: Undefined, *, by_sample: BySample) -> None:
        self._intra = intra
        self._undefined = undefined
        self._rows = Rows(by_sample=by_sample)
        self._width = 0

    def add(self, chunk: Chunk) -> None:
        pair, sample, columns = chunk.shared_pair, chunk.agreement.sample_pairs.sample, pair_columns(chunk)
        n_samples, n_plain, self._width = chunk.agreement.n_samples, len(_PLAIN), columns.shape[1]
        kinds = (self._intra[pair], ~self._intra[pair])
        plain = columns[:, :n_plain].tocoo()
        place = pair[plain.row] * n_plain + plain.col
        of_pairs = sparse(sample[plain.row], place, plain.data, (n_samples, len(self._intra) * n_plain))
        self._rows.add(hstack([*(scatter_rows(columns[kind], sample[kind], n_samples) for kind in kinds), of_pairs]))

    def numbers(self) -> Iterator[Numbers]:
        """The numbers of both kinds of pairs, and their differences (``difference_alpha``)."""
        kinds, width, n_plain = (self._intra, ~self._intra), self._width, len(_PLAIN)

        def formula(sums: FloatArray) -> FloatArray:
            of_pairs = _ratios(sums[..., 2 * width :].reshape(*sums.shape[:-1], len(self._intra), n_plain))
            found = []
            for k, kind in enumerate(kinds):
                found.append(_alpha(sums[..., k * width : (k + 1) * width], self._undefined))
                means = (of_pairs[name][..., kind] for name in _MEANS)
                found += [masked_means(values, ~np.isnan(values)) for values in means]
            values = np.stack(found, axis=-1)
            n = values.shape[-1] // 2
            return np.concatenate([values, values[..., :n] - values[..., n:]], axis=-1)

        names = ("alpha", *_MEANS)
        keys = tuple(("sessions", f"{kind}_{name}") for kind in ("intra", "inter", "difference") for name in names)
        yield self._rows.numbers(keys, formula, np.repeat([_SHARED, width + _SHARED, _SHARED], len(names)))


def _ratios(sums: FloatArray) -> dict[str, FloatArray]:
    """The quotients, each of shape ``(...,)``, from sums of the columns ``(..., C)``."""
    column = dict(zip(_PLAIN, np.moveaxis(sums[..., : len(_PLAIN)], -1, 0), strict=True))
    return {name: ratio(column[above], column[below]) for name, (above, below) in _RATIOS.items()}


def _alpha(sums: FloatArray, undefined: Undefined) -> FloatArray:
    """Alpha of units with two ratings, shape ``(...,)``, from sums of the columns ``(..., C + K)``."""
    n_units, n_agreed = sums[..., _PLAIN.index("n_units")], sums[..., _PLAIN.index("n_agreed")]
    return nominal_alpha_of_sums(2.0 * (n_units - n_agreed), sums[..., len(_PLAIN) :], undefined)


def pair_columns(chunk: Chunk) -> SparseColumns:
    """The columns of every sample pair, shape ``(Q, C + K)``: ``_PLAIN``, then ratings of every category.

    Alpha of a pair uses the units on shared samples that at least one of the two drew.
    """
    agreement = chunk.agreement
    objects, pairs, shared = agreement.objects, agreement.pairs, agreement.sample_pairs
    n_rows = len(shared.sample)
    row = shared.row(objects.sample[pairs.i], objects.annotator[pairs.i], objects.annotator[pairs.j])
    n_matched = np.bincount(row, minlength=n_rows)
    n_same_class = np.bincount(row[pairs.same_class], minlength=n_rows)
    n_both, rules = shared.n_a + shared.n_b, Counting.of(agreement.config)
    # units that count besides the matched ones: objects that only one of the two drew, and images without any
    n_lone = (n_both - 2 * n_matched) * rules.rates_missing
    n_empty = (agreement.n_objects[shared.sample] == 0) & rules.rates_empty
    columns = {
        "score": np.nan_to_num(agreement.pair_score),
        "n_scored": ~np.isnan(agreement.pair_score),
        "n_matched": n_matched,
        "twice_matched": 2 * n_matched,
        "n_a_and_b": n_both,
        "n_drawn_by_either": n_both - n_matched,
        "n_same_class": n_same_class,
        "iou": sums_by(row, pairs.iou, n_rows),
        "dice": sums_by(row, dice_from_iou(pairs.iou), n_rows),
        "n_agreed": n_same_class + n_empty,
        "n_units": n_matched + n_lone + n_empty,
        "distance": 1.0 - np.nan_to_num(agreement.pair_score, nan=1.0),
        "n_shared": np.ones(n_rows),
    }
    if rules.rates_missing:
        rated, category = _pair_objects(agreement)
    else:
        rated, category = np.tile(row, 2), np.concatenate([objects.category[pairs.i], objects.category[pairs.j]])
    rows = np.concatenate([np.arange(n_rows), rated])
    codes = np.concatenate([np.full(n_rows, MISSING), category])
    counts = np.concatenate([n_lone + 2 * n_empty, np.ones(len(rated), np.int64)])
    plain = np.column_stack([columns[name] for name in _PLAIN]).astype(np.float64)
    return hstack([plain, sparse(rows, codes, counts, (n_rows, chunk.n_categories))])


def _pair_objects(agreement: Agreement) -> tuple[IntArray, IntArray]:
    """Sample pair and class of every object of either annotator of every sample pair."""
    objects, shared, n = agreement.objects, agreement.sample_pairs, agreement.n_annotators
    block = objects.sample * n + objects.annotator  # the objects of one annotator on one sample are consecutive
    rows, categories = [], []
    for annotator in (shared.a, shared.b):
        first, end = (np.searchsorted(block, shared.sample * n + annotator, side) for side in ("left", "right"))
        row, of_row = np.repeat(np.arange(len(first)), end - first), ranges(first, end - first)
        rows.append(row)
        categories.append(objects.category[of_row])
    return np.concatenate(rows), np.concatenate(categories)


@dataclass(frozen=True, slots=True)
class PairSums(Additive):
    """Parts of the report on pairs in addition to their numbers; dense columns have the shape ``(P,)``.

    ``P`` counts the pairs of annotators who share a sample, see :class:`~..settings.annotators.AnnotatorPairs`.
    """

    n_samples: IntArray  #: shared samples
    n_a: IntArray  #: objects of the first annotator
    n_b: IntArray  #: objects of the second
    n_matched: IntArray  #: units that both drew
    n_same_class: IntArray  #: matched units with the same class
    iou_same_class: FloatArray  #: sum of IoU over matched units with the same class
    a_to_b: Moments  #: over samples, mean over ``a``'s objects of the best IoU with an object of ``b``
    b_to_a: Moments  #: the other direction
    symmetric: Moments  #: over samples, mean of the two directions
    #: shape ``(3, P)``, mutual best pairs (method ``mutual_best``): number, and sums of shared area / area of ``a``'s
    #: object and of shared area / area of ``b``'s object
    aligned: FloatArray
    #: sum over pairs of matched keypoints of the share of points that both labelled; 0 for other labels
    visibility: FloatArray
    confusion: SparseCounts  #: counts of (pair, class from ``a``, class from ``b``) over matched units

    @classmethod
    def of(cls, chunk: Chunk) -> PairSums:
        """The sums of some samples."""
        agreement, of_sample, of_match = chunk.agreement, chunk.shared_pair, chunk.match_pair
        objects, pairs, shared = agreement.objects, agreement.pairs, agreement.sample_pairs
        count = functools.partial(np.bincount, minlength=len(chunk.annotator_pairs))
        add = functools.partial(sums_by, n=len(chunk.annotator_pairs))

        def moments(values: FloatArray) -> Moments:
            defined = ~np.isnan(values)
            return Moments.of(of_sample[defined], values[defined], len(chunk.annotator_pairs))

        a_to_b, b_to_a = agreement.best_iou.T
        both_empty = np.isnan(a_to_b) & np.isnan(b_to_a)
        symmetric = np.where(both_empty, np.nan, (np.nan_to_num(a_to_b) + np.nan_to_num(b_to_a)) / 2.0)
        aligned = np.zeros((len(of_sample), 3)) if agreement.aligned is None else agreement.aligned
        visibility = np.zeros(len(pairs.i)) if agreement.visibility is None else agreement.visibility
        return cls(
            n_samples=count(of_sample),
            n_a=add(of_sample, shared.n_a).astype(np.int64),
            n_b=add(of_sample, shared.n_b).astype(np.int64),
            n_matched=count(of_match),
            n_same_class=count(of_match[pairs.same_class]),
            iou_same_class=add(of_match[pairs.same_class], pairs.iou[pairs.same_class]),
            a_to_b=moments(a_to_b),
            b_to_a=moments(b_to_a),
            symmetric=moments(symmetric),
            aligned=np.stack([add(of_sample, column) for column in aligned.T]),
            visibility=add(of_match, visibility),
            confusion=SparseCounts.of(of_match, objects.category[pairs.i], objects.category[pairs.j]),
        )


def pair_summaries(
    fields: Fields, sums: PairSums, pairs: AnnotatorPairs, tracks: TrackCounts | None, context: ReportContext
) -> list[PairSummary]:
    """The summaries of all pairs with a shared sample, in the order of the annotators."""
    config, names = context.config, context.annotators
    n_pairs = len(sums.n_samples)
    kappa, ac1, confusions = _class_numbers(sums.confusion, n_pairs, context.class_names)
    consistency = np.full(n_pairs, np.nan)
    if tracks is not None:
        consistency = tracks.consistency(len(names))[pairs.a, pairs.b]
    visibility = np.full(n_pairs, np.nan)
    if MEASURES[context.measure].of_points:
        visibility = ratio(sums.visibility, sums.n_matched.astype(np.float64))
    numbers = {
        "pq": panoptic_quality(sums.iou_same_class, sums.n_a, sums.n_b),
        "sq": segmentation_quality(sums.iou_same_class, sums.n_same_class),
        "rq": f1_score(sums.n_same_class, sums.n_a, sums.n_b),
        "visibility": visibility,
        "track_consistency": consistency,
        "kappa": kappa,
        "ac1": ac1,
    }
    columns: dict[str, list[Any]] = {name: numbers_for_json(values) for name, values in numbers.items()}
    columns |= {name: getattr(sums, name).tolist() for name in ("n_samples", "n_a", "n_b", "n_matched")}
    columns["a"], columns["b"] = ([names[of] for of in side.tolist()] for side in (pairs.a, pairs.b))
    columns["mean_max_iou"] = [
        {"a_to_b": there, "b_to_a": back, "symmetric": both}
        for there, back, both in zip(*map(_sample_means, (sums.a_to_b, sums.b_to_a, sums.symmetric)), strict=True)
    ]
    columns["confusion"] = [listed.entries for listed in confusions]
    columns["n_unlisted"] = [listed.n_unlisted for listed in confusions]
    columns["intra"] = intra_pairs(pairs.names(names), config).tolist()
    columns["alignment"] = [
        _alignment(sums, pair) if config.method == "mutual_best" else None for pair in range(n_pairs)
    ]
    return [
        PairSummary(
            **{name: values[pair] for name, values in columns.items()},
            **fields.of("pairs", columns["a"][pair], columns["b"][pair]),
        )
        for pair in np.flatnonzero(sums.n_samples).tolist()
    ]


def _class_numbers(
    confusion: SparseCounts, n_pairs: int, class_names: Sequence[str]
) -> tuple[FloatArray, FloatArray, list[Listed]]:
    """Kappa and AC1 of every pair, and its confused classes; the counts behind them are freed at once."""
    of_pair, class_a, class_b = confusion.columns()
    kappa, ac1 = coefficients_by_pair(of_pair, class_a, class_b, confusion.counts, n_pairs)
    rows = np.flatnonzero(class_a != class_b)
    of_pair, class_a, class_b = of_pair[rows], class_a[rows], class_b[rows]
    at_most = max(1, min(MAX_LISTED, MAX_LISTED_IN_ALL // max(n_pairs, 1)))
    return kappa, ac1, listed_by_row(of_pair, class_a, class_b, confusion.counts[rows], class_names, n_pairs, at_most)


def _sample_means(moments: Moments) -> list[SampleMean]:
    """Mean and standard deviation of every pair."""
    n = moments.n.astype(np.float64)
    spread = np.sqrt(ratio(moments.squares, n))
    mean = np.where(moments.n > 0, moments.mean, np.nan)
    columns = (numbers_for_json(mean), numbers_for_json(spread), moments.n.tolist())
    return [SampleMean(*values) for values in zip(*columns, strict=True)]


def _alignment(sums: PairSums, pair: int) -> dict[str, float | int | None]:
    n_aligned, recall, precision = sums.aligned[:, pair].tolist()
    alignment = Alignment(int(sums.n_a[pair]), int(sums.n_b[pair]), int(n_aligned), recall, precision)
    return {
        "n_aligned": alignment.n_aligned,
        "recall": number(alignment.recall),
        "precision": number(alignment.precision),
        "f_score": number(alignment.f_score),
    }


def persons_of(config: AgreementConfig) -> dict[str, str]:
    """Person of every annotator that is one of several sessions, by the annotator's name."""
    named = config.named_persons()
    sessions = Counter(named.values())
    return {name: person for name, person in named.items() if sessions[person] > 1}


def has_sessions(annotators: Sequence[str], config: AgreementConfig) -> bool:
    """True if two of the annotators are sessions of one person."""
    persons = [person for name, person in persons_of(config).items() if name in annotators]
    return len(set(persons)) < len(persons)


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
