"""Sensitivity: main numbers of a run at other thresholds and under other rules; a threshold suggested by the data.

They are computed on request, block by block, from the objects of the run. The rules reproduce published numbers of
other programs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import get_args

import numpy as np

from ...metrics.alpha.nominal import NominalTally, alpha_by_group
from ...metrics.geometry.boxes import Boxes
from ...metrics.geometry.objects import Objects, Overlaps
from ...metrics.geometry.temporal import Intervals
from ...metrics.matching import ClassHandling, Matching, Method
from ...metrics.matching.merging import TIE
from ...metrics.matching.pairs import f1_score
from ...metrics.matching.sweep import THRESHOLDS, sweep_thresholds
from ...metrics.matching.threshold import (
    MAX_PAIRS,
    ThresholdFromData,
    best_similarities,
    similarities_between_samples,
    threshold_from_data,
)
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, concatenated, ranges, sums_by
from ..matching.compute import matching_of, without_crowd
from ..matching.tables import Batch, MatchedPairs, Ratings, SamplePairs, Tables, pair_scores, ratings_of
from ..settings.config import AgreementConfig, Empty, Missing, Undefined
from ..settings.no_labels import NOT_ASSIGNED, OtherReading, null_policy
from ..statistics.records import AnyColumns, Hashes, hash_sums, mixed, with_numbers
from ..statistics.report import number
from .records import ANY_OPTIONS, ObjectRecords

#: objects whose numbers at all thresholds are computed at once
MAX_OBJECTS_OF_BLOCK = 40_000
#: most samples for the threshold from the data: of boxes and temporal intervals, and of shapes, which take longer
MAX_SAMPLES, MAX_SAMPLES_OF_SHAPES = 2_000, 200
#: fewest and most samples of each half of the images, of which thresholds are found, too
MIN_OF_HALF, MAX_OF_HALF = 2, 500
#: largest number of best similarities within samples; the first two samples are taken in any case
MAX_OBSERVED = 2_000_000
#: maximum number of compared pairs of objects of different samples, for shapes that take longer
MAX_PAIRS_OF_SHAPES = 100_000


@dataclass(frozen=True, slots=True)
class ThresholdPoint:
    """The main numbers at another matching threshold.

    ``n_hard`` groups of overlapping objects can be divided in several ways; ``n_inexact`` of them were too large for an
    exact solution. Groups of more than 9 objects are solved exactly only at the threshold of the run.
    """

    threshold: float
    alpha: float | None
    score: float | None
    f1: float | None
    n_units: int
    n_hard: int
    n_inexact: int


@dataclass(frozen=True, slots=True)
class RuleAlpha:
    """Alpha under other rules, at the threshold of the run.

    ``no_labels`` is what a null label list means: ``not_assigned``, ``drew_nothing``, ``by_annotator`` (the option is a
    mapping), or ``assigned_field`` (which says who was assigned).
    """

    method: str
    classes: str
    missing: str
    empty: str
    undefined: str
    pooled: float | None
    mean: float | None
    n_defined: int
    no_labels: str = NOT_ASSIGNED


@dataclass(frozen=True, slots=True)
class DataThreshold:
    """The matching threshold that the data suggest.

    It compares the best similarity of every object with another annotator's objects on the same image (observed) and on
    another image (expected). ``threshold`` is where the two densities cross; ``ks`` is the largest distance of their
    cumulative distributions (1: a threshold separates them, 0: they are equal). ``observed`` and ``expected`` are
    histograms with bins of 0.05 from 0 to 1. ``reason`` says why there is no threshold. ``halves`` are the thresholds
    of two halves of the images (None: there is none), of at most 500 images each: do not use a threshold if they
    differ much.
    """

    threshold: float | None
    ks: float | None
    n_samples: int
    n_observed: int
    n_expected: int
    observed: list[int]
    expected: list[int]
    reason: str | None = None
    halves: list[float | None] = dataclasses.field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """Results of the analyses that were requested: thresholds, rules, threshold from the data."""

    thresholds: list[ThresholdPoint] = dataclasses.field(default_factory=list)
    rules: list[RuleAlpha] = dataclasses.field(default_factory=list)
    data_threshold: DataThreshold | None = None
    note: str = ""  #: which labels the numbers are of, or why there are none; empty for the labels of the run


# ---- the objects ----


@dataclass(frozen=True, slots=True)
class Block:
    """The objects of some samples, and how the run matches them."""

    objects: Objects  #: ``N`` objects, without crowd
    overlaps: Overlaps  #: overlapping pairs of objects
    assigned: BoolArray  #: shape ``(S, R)``
    matching: Matching  #: at the threshold and under the rules of the run

    @classmethod
    def of(cls, batch: Batch, config: AgreementConfig) -> Block:
        """The block of a batch of labels."""
        batch, overlaps, _ = without_crowd(batch)
        return cls(batch.objects, overlaps, batch.assigned, matching_of(batch.objects, overlaps, config))


def has_stored_geometry(records: ObjectRecords) -> bool:
    """True if the records have the whole geometry that was compared: boxes or temporal intervals."""
    return bool({"first_frame", "boxes_rest"} & {*records.parts[0]})


def stored_geometry(part: AnyColumns) -> Boxes | Intervals:
    """The boxes or temporal intervals that were compared; see :func:`has_stored_geometry`."""
    if "first_frame" in part:
        first = part["first_frame"].astype(np.int64)
        return Intervals(first, first + part["area"].astype(np.int64) - 1)
    return Boxes(part["boxes_xyxy"].astype(np.float64) + part["boxes_rest"])


def stored_blocks(records: ObjectRecords) -> Iterator[Block]:
    """All samples of records with :func:`stored_geometry`."""
    for part in records.blocks("n_objects", MAX_OBJECTS_OF_BLOCK):
        t = Tables(part, records.n_annotators, ANY_OPTIONS)
        hard, inexact = (np.repeat(np.arange(t.n_samples), part[name]) for name in ("n_hard", "n_inexact"))
        matching = Matching(t.unit, int(t.n_units.sum()), hard, inexact)
        yield Block(t.objects, stored_geometry(part).overlaps(t.objects), t.assigned, matching)


# ---- other thresholds and rules ----


class ThresholdNumbers:
    """The main numbers at other thresholds, under the rules of the run; ``mutual_best`` has no threshold."""

    def __init__(self, config: AgreementConfig) -> None:
        self._config = config
        self._thresholds = () if config.method == "mutual_best" else THRESHOLDS
        n = len(self._thresholds)
        self._tallies, self._score, self._n_scored, self._n_drawn = [NominalTally.empty()] * n, np.zeros(n), 0, 0
        self._n_units, self._n_matched, self._n_hard, self._n_inexact = np.zeros((4, n), np.int64)

    def add(self, block: Block) -> None:
        """Add the samples of a block."""
        config, objects, overlaps = self._config, block.objects, block.overlaps
        n_assigned, n_objects = block.assigned.sum(axis=1), np.bincount(objects.sample, minlength=len(block.assigned))
        shared = SamplePairs.of(objects, block.assigned)
        # a score is the mean over pairs of annotators of 2 Σ IoU / (n_a + n_b), so every match adds a share of its own
        nothing = np.empty(0, np.int64)
        no_matches = MatchedPairs(nothing, nothing, np.empty(0), np.empty(0, np.bool_))
        unmatched = pair_scores(objects, no_matches, shared, n_objects, empty=config.empty)
        is_scored = ~np.isnan(unmatched)
        n_scored = np.bincount(shared.sample[is_scored], minlength=len(n_objects))
        same = np.flatnonzero(objects.category[overlaps.i] == objects.category[overlaps.j])
        i, j = overlaps.i[same], overlaps.j[same]
        row = shared.row(objects.sample[i], objects.annotator[i], objects.annotator[j])
        share = 2.0 * overlaps.iou[same] / ((shared.n_a + shared.n_b)[row] * n_scored[objects.sample[i]])
        self._score += (unmatched[is_scored] / n_scored[shared.sample[is_scored]]).sum()
        self._n_scored += int((n_scored > 0).sum())
        self._n_drawn += int((shared.n_a + shared.n_b).sum())
        sweep = None
        if config.method == "optimal":
            sweep = sweep_thresholds(objects, overlaps, similarity=config.similarity, classes=config.classes)
        for at, threshold in enumerate(self._thresholds):
            if abs(threshold - config.iou) <= TIE:  # the units of the run
                matching = block.matching
            else:
                matching = matching_of(objects, overlaps, config, threshold) if sweep is None else sweep[at]
            unit, sample = matching.unit, np.zeros(matching.n_units, np.int64)
            sample[unit] = objects.sample
            votes = np.bincount(unit, minlength=matching.n_units)[n_assigned[sample] >= 2]
            ratings = ratings_of(objects, unit, sample, n_assigned, config.missing, config.empty)
            self._tallies[at] += _tally(ratings)
            self._score[at] += share[unit[i] == unit[j]].sum()
            self._n_units[at] += len(votes)
            self._n_matched[at] += (votes * (votes - 1) // 2).sum()
            self._n_hard[at] += matching.n_hard
            self._n_inexact[at] += matching.n_inexact

    def points(self) -> list[ThresholdPoint]:
        """The numbers at every threshold."""
        return [
            ThresholdPoint(
                threshold=threshold,
                alpha=number(self._tallies[at].alpha(self._config.undefined)),
                score=float(self._score[at]) / self._n_scored if self._n_scored else None,
                f1=number(float(f1_score(self._n_matched[at], self._n_drawn, 0))),
                n_units=int(self._n_units[at]),
                n_hard=int(self._n_hard[at]),
                n_inexact=int(self._n_inexact[at]),
            )
            for at, threshold in enumerate(self._thresholds)
        ]


class RuleNumbers:
    """Alpha under every combination of the rules, at the threshold of the run, with the same meaning of null lists."""

    def __init__(self, config: AgreementConfig) -> None:
        self._config = config
        self._rules = [*product(matching_rules(config), get_args(Missing), get_args(Empty), get_args(Undefined))]
        #: for every rule the ratings of all samples, the sum of the samples' alphas, and their number
        self._found = [(NominalTally.empty(), 0.0, 0)] * len(self._rules)

    def add(self, block: Block) -> None:
        """Add the samples of a block."""
        config, objects, n_assigned = self._config, block.objects, block.assigned.sum(axis=1)
        is_empty = (n_assigned >= 2) & (np.bincount(objects.sample, minlength=len(n_assigned)) == 0)
        of_empty, n_empty = np.bincount(n_assigned[is_empty]), int(is_empty.sum())
        empty_images = NominalTally(np.array([n_assigned[is_empty].sum()]), np.zeros_like(of_empty), of_empty)
        tallies, alphas = {}, {}
        for method, classes in matching_rules(config):
            rule, matching = (method, classes), block.matching
            if rule != (config.method, config.classes):  # else the units of the run
                matching = matching_of(objects, block.overlaps, replace(config, method=method, classes=classes))
            sample = np.zeros(matching.n_units, np.int64)
            sample[matching.unit] = objects.sample
            for missing in get_args(Missing):
                found = ratings_of(objects, matching.unit, sample, n_assigned, missing, "skip")
                columns = (found.unit, found.category, found.count, found.sample, len(n_assigned))
                tallies[rule, missing] = _tally(found)
                for undefined in get_args(Undefined):
                    alphas[rule, missing, undefined] = alpha_by_group(*columns, undefined)
        for at, (rule, missing, empty, undefined) in enumerate(self._rules):
            before, total, n = self._found[at]
            tally, alpha = before + tallies[rule, missing], alphas[rule, missing, undefined]
            if missing == "category" and empty == "agree":
                tally += empty_images
            agreed = n_empty if empty == "agree" else 0
            n += int(np.count_nonzero(~np.isnan(alpha))) + agreed
            self._found[at] = tally, total + float(np.nansum(alpha)) + agreed, n

    def alphas(self, other: OtherReading | None = None) -> list[RuleAlpha]:
        """The alphas; with another reading of null lists also alpha under the run's rules with that reading."""
        config = self._config
        policy = null_policy(config.no_labels, config.assigned_field)
        alphas = [
            RuleAlpha(
                *rule, missing, empty, undefined, number(tally.alpha(undefined)), total / n if n else None, n, policy
            )
            for (rule, missing, empty, undefined), (tally, total, n) in zip(self._rules, self._found, strict=True)
        ]
        if other is not None:
            own = (config.method, config.classes, config.missing, config.empty, config.undefined)
            numbers = (other.alpha, other.mean_alpha, other.n_alpha)
            alphas.append(RuleAlpha(*own, *numbers, null_policy(other.no_labels, None)))
        return alphas


def matching_rules(config: AgreementConfig) -> list[tuple[Method, ClassHandling]]:
    """The rules for matching that are compared: all of ``optimal``, ``recursive`` as published, and the run's."""
    own: tuple[Method, ClassHandling] = (config.method, config.classes)
    every: list[tuple[Method, ClassHandling]] = [("optimal", classes) for classes in get_args(ClassHandling)]
    every.append(("recursive", "ignore"))
    return every if config.method == "optimal" else [own, *(rule for rule in every if rule != own)]


def _tally(ratings: Ratings) -> NominalTally:
    if not len(ratings.unit):
        return NominalTally.empty()
    return NominalTally.from_counts(ratings.unit, ratings.category, ratings.count)


# ---- the threshold from the data ----


def data_threshold(batches: Iterable[Batch], config: AgreementConfig, *, halves: bool = True) -> DataThreshold | None:
    """The threshold that the first rated samples suggest; None without samples.

    Args:
        batches: samples without crowd in the order in which they are chosen; read only until there are enough
        halves: whether to find the thresholds of two halves of the samples, too
    """
    chosen = subsample(batches)
    if chosen is None:
        return None
    # in an order by content, what annotators drew on a sample, so that ids and the order of reading decide nothing
    (n_samples, n), objects, boxes = chosen.assigned.shape, chosen.objects, chosen.geometry.boxes_xyxy()
    places = chosen.geometry.places()["first"] if boxes is None else boxes
    drawn = with_numbers(with_numbers(np.zeros(len(objects), np.uint64), places), chosen.geometry.area)
    of_annotators = mixed(hash_sums(objects.sample * n + objects.annotator, drawn, n_samples * n)).reshape(-1, n)
    content: Hashes = np.where(chosen.assigned, of_annotators, np.uint64(0)).sum(axis=1, dtype=np.uint64)
    order = np.argsort(content, kind="stable")
    chosen, content = chosen.take(order), content[order]
    objects, n, n_compared = chosen.objects, chosen.n_samples, _n_compared(chosen)
    overlaps = chosen.geometry.overlaps(objects)
    observed = best_similarities(objects, overlaps, chosen.assigned, similarity=config.similarity)
    found, of_halves = _threshold(chosen, observed, config), []
    if halves and n >= 2 * MIN_OF_HALF:
        # every other one of samples that are alike
        near = sums_by(np.repeat(np.arange(n), n_compared), observed, n).round(9)
        area = sums_by(objects.sample, np.nan_to_num(chosen.geometry.area), n).round(9)
        n_objects = np.bincount(objects.sample, minlength=n)
        order = np.lexsort((content, area, near, chosen.assigned.sum(axis=1), n_compared, n_objects))
        for first in (0, 1):
            half = order[first::2][:MAX_OF_HALF]
            rows = ranges((np.cumsum(n_compared) - n_compared)[half], n_compared[half])
            of_halves.append(number(_threshold(chosen.take(half), observed[rows], config).threshold))
    return DataThreshold(
        threshold=number(found.threshold),
        ks=number(found.ks),
        n_samples=n,
        n_observed=found.n_observed,
        n_expected=found.n_expected,
        observed=found.observed.tolist(),
        expected=found.expected.tolist(),
        reason=found.reason or None,
        halves=of_halves,
    )


def subsample(batches: Iterable[Batch]) -> Batch | None:
    """The first rated samples: at most 2,000 for boxes, 200 for other shapes, and 2,000,000 best similarities."""
    kept: list[Batch] = []
    n_samples = n_compared = limit = 0
    for batch in batches:
        limit = MAX_SAMPLES if batch.geometry.is_quick else MAX_SAMPLES_OF_SHAPES
        kept.append(batch.take(np.flatnonzero(batch.assigned.sum(axis=1) >= 2)[:limit]))
        n_samples, n_compared = n_samples + kept[-1].n_samples, n_compared + int(_n_compared(kept[-1]).sum())
        if n_samples >= limit or (n_samples >= 2 and n_compared > MAX_OBSERVED):
            break
    if not n_samples:
        return None
    first = np.cumsum([0, *(each.n_samples for each in kept)])
    sample = np.concatenate([each.objects.sample + n for each, n in zip(kept, first, strict=False)])
    objects = Objects(sample, **concatenated([each.objects for each in kept], "annotator", "category"))
    geometry = kept[0].geometry.joined([each.geometry for each in kept[1:]]) if len(kept) > 1 else kept[0].geometry
    joined = Batch(objects, geometry, np.concatenate([each.assigned for each in kept]))
    n = int(np.searchsorted(np.cumsum(_n_compared(joined)[:limit]), MAX_OBSERVED, side="right"))
    return joined.take(np.arange(min(max(2, n), n_samples)))


def _n_compared(batch: Batch) -> IntArray:
    """Best similarities of every sample: one for every object and other annotator assigned to it, shape ``(S,)``."""
    sample, annotator = batch.objects.sample, batch.objects.annotator
    others = batch.assigned.sum(axis=1)[sample] - batch.assigned[sample, annotator]
    return sums_by(sample, others, batch.n_samples).astype(np.int64)


def _threshold(batch: Batch, observed: FloatArray, config: AgreementConfig) -> ThresholdFromData:
    """The threshold; objects of different samples are compared as if all images had the same size."""
    expected = similarities_between_samples(
        batch.objects,
        batch.geometry,
        batch.assigned,
        similarity=config.similarity,
        rng=np.random.default_rng(config.seed),
        max_pairs=MAX_PAIRS if batch.geometry.is_quick else MAX_PAIRS_OF_SHAPES,
    )
    return threshold_from_data(observed, expected, len(batch.objects))


def stored_in_order(records: ObjectRecords, order: IntArray) -> Iterator[Batch]:
    """Rated samples of records with :func:`stored_geometry`, in an order of their rows; at most ``MAX_SAMPLES``."""
    (part,) = records.take(order[records.rated[order]][:MAX_SAMPLES]).parts
    t = Tables(part, records.n_annotators, ANY_OPTIONS)
    yield Batch(t.objects, stored_geometry(part), t.assigned)
