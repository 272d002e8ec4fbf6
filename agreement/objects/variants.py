"""Variants of a run (other thresholds or rules), as additive columns of the records.

A variant is another threshold, or other rules for matching and for missed objects. All are counted while the labels are
compared, as they need the overlaps; the report adds up the rows of its samples (:mod:`.sensitivity`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np

from ...metrics.matching import ClassHandling, Method
from ...metrics.matching.merging import TIE
from ...metrics.matching.sweep import THRESHOLDS, Sweep, sweep_thresholds
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by, sums_of_keys
from ..matching.batch import SamplePairs
from ..matching.compute import Counting, MatchedBatch, MatchedPairs, matching_of, pair_scores, sample_scores
from ..settings.config import AgreementConfig, Missing
from ..statistics.records import Columns, compact


@dataclass(frozen=True, slots=True)
class Variants:
    """The variants of a run, numbered in this order."""

    thresholds: tuple[float, ...]  #: other thresholds, under the rules of the run
    #: other rules at the threshold of the run: how objects are matched, and whether a missed object is a category
    rules: tuple[tuple[Method, ClassHandling, Missing], ...]

    @classmethod
    def of(cls, config: AgreementConfig) -> Variants:
        """The variants that the options of a run ask for.

        The method ``mutual_best`` has no threshold, so there are no others.
        """
        sweeps = config.sensitivity and config.method != "mutual_best"
        rules = ((*rule, missing) for rule in matching_rules(config) for missing in get_args(Missing))
        return cls(
            thresholds=THRESHOLDS if sweeps else (),
            rules=tuple(rules) if config.sensitivity else (),
        )

    def __len__(self) -> int:
        return len(self.thresholds) + len(self.rules)


def matching_rules(config: AgreementConfig) -> list[tuple[Method, ClassHandling]]:
    """The rules for matching that are compared: all of ``optimal``, ``recursive`` as published, and the run's."""
    own: tuple[Method, ClassHandling] = (config.method, config.classes)
    every: list[tuple[Method, ClassHandling]] = [("optimal", classes) for classes in get_args(ClassHandling)]
    every.append(("recursive", "ignore"))
    return every if config.method == "optimal" else [own, *(rule for rule in every if rule != own)]


def variant_columns(agreement: MatchedBatch) -> Columns:
    """Additive columns of the variants of a run, for the samples of a batch; none without variants.

    What the run left out because of crowd regions is left out of all variants.
    """
    variants = Variants.of(agreement.config)
    if not len(variants):
        return {}
    tallies = _Tallies(agreement.n_samples, len(agreement.objects))
    counter = UnitCounter.of(agreement)
    columns = _swept(agreement, counter, variants.thresholds, tallies) if variants.thresholds else {}
    # squared counts of the classes of every sample under every rule ``(S, V)``
    squares: list[IntArray] = []
    for first in _matchings(agreement):
        units = counter.group(first)
        squares += [counter.tally(units, Counting(missing, "skip"), tallies) for missing in get_args(Missing)]
    return {**columns, "squares": compact(np.column_stack(squares)), **tallies.columns()}


class _Tallies:
    """Collects what alpha counts in every variant: per sample and number of ratings, and which objects are counted."""

    def __init__(self, n_samples: int, n_objects: int) -> None:
        self._n_samples = n_samples
        self._n_objects = n_objects
        self._rows: list[IntArray] = []
        self._counted: list[BoolArray] = []

    def add(self, sample: IntArray, n_ratings: IntArray, differing: IntArray, counted: IntArray) -> None:
        """Add the next variant.

        Args:
            sample: shape ``(U,)``, sample of every unit with at least two ratings
            n_ratings: shape ``(U,)``
            differing: shape ``(U,)``, ordered pairs of ratings that differ
            counted: rows of the objects of these units
        """
        width = int(n_ratings.max(initial=0)) + 1
        n_cells, key = self._n_samples * width, sample * width + n_ratings
        cells, n_units = sums_of_keys(key, None, n_cells)
        _, of_cell = sums_of_keys(key, differing.astype(np.float64), n_cells)
        variant = np.full(len(cells), len(self._counted))
        entries = (cells // width, variant, cells % width, n_units.astype(np.int64), of_cell.astype(np.int64))
        self._rows.append(np.stack(entries))
        mask = np.zeros(self._n_objects, np.bool_)
        mask[counted] = True
        self._counted.append(mask)

    def columns(self) -> Columns:
        """The columns, sorted by sample and variant."""
        rows = np.hstack(self._rows)
        rows = rows[:, np.argsort(rows[0], kind="stable")]
        sample, variant, n_ratings, n_units, differing = rows
        return {
            "n_tallies": compact(np.bincount(sample, minlength=self._n_samples)),
            "tally_variant": compact(variant),
            "tally_ratings": compact(n_ratings),
            "tally_units": compact(n_units),
            "tally_differing": compact(differing),
            "tallied": np.packbits(np.stack(self._counted, axis=1), axis=1),
        }


def _swept(agreement: MatchedBatch, counter: UnitCounter, thresholds: tuple[float, ...], tallies: _Tallies) -> Columns:
    """The main numbers of every sample at several thresholds; at the threshold of the run, its own units are used."""
    sweep, n_samples = _sweep(agreement, thresholds), agreement.n_samples
    shared = agreement.sample_pairs
    of_pair, without_matches = _pair_shares(agreement, counter, shared)
    rules = Counting.of(agreement.config)
    shape = n_samples, len(thresholds)
    score = np.empty(shape)
    n_units, n_matched, n_drawn, n_hard, n_inexact = (np.empty(shape, np.int64) for _ in range(5))
    for at in range(len(thresholds)):
        units = counter.group(sweep.first[at])
        hard, inexact = sweep.samples_at(at)
        together = np.flatnonzero(units.together)
        score[:, at] = without_matches + sums_by(counter.sample[counter.i[together]], of_pair[together], n_samples)
        first = np.flatnonzero(units.votes)
        votes, sample = units.votes[first], counter.sample[first]
        n_units[:, at] = np.bincount(sample, minlength=n_samples)
        n_matched[:, at] = sums_by(sample, votes * (votes - 1) // 2, n_samples)
        n_drawn[:, at] = sums_by(shared.sample, shared.n_a + shared.n_b, n_samples)
        n_hard[:, at] = np.bincount(hard, minlength=n_samples)
        n_inexact[:, at] = np.bincount(inexact, minlength=n_samples)
        counter.tally(units, rules, tallies)
    return {
        "swept_score": score,
        "swept_units": compact(n_units),
        "swept_matched": compact(n_matched),
        "swept_drawn": compact(n_drawn),
        "swept_hard": compact(n_hard),
        "swept_inexact": compact(n_inexact),
    }


def _sweep(agreement: MatchedBatch, thresholds: tuple[float, ...]) -> Sweep:
    """The units at all thresholds; at the run's threshold, the units of the run."""
    config, objects, overlaps = agreement.config, agreement.batch.objects, agreement.overlaps
    first = np.empty((len(thresholds), len(objects)), np.int64)
    hard, inexact = np.empty((2, 0), np.int64), np.empty((2, 0), np.int64)
    if config.method == "optimal":
        swept = sweep_thresholds(
            objects, overlaps, thresholds=thresholds, similarity=config.similarity, classes=config.classes
        )
        first, hard, inexact = swept.first, swept.hard, swept.inexact
    for at, threshold in enumerate(thresholds):
        matching = agreement.matching
        if abs(threshold - config.iou) > TIE:
            if config.method == "optimal":
                continue
            matching = matching_of(objects, overlaps, config, threshold)
        first[at] = first_rows(matching.unit, matching.n_units)
        hard, inexact = (
            np.hstack([found[:, found[0] != at], [np.full(len(own), at), own]])
            for found, own in ((hard, matching.hard), (inexact, matching.inexact))
        )
    return Sweep(thresholds, first, hard, inexact)


def _matchings(agreement: MatchedBatch) -> Iterator[IntArray]:
    """:func:`first_rows` under each of :func:`matching_rules`, at the threshold of the run.

    The rules of the run use its own units. Other units of ``optimal`` come from
    :func:`~...metrics.matching.sweep.sweep_thresholds`, which solves all but very large components exactly.
    """
    config, objects, overlaps = agreement.config, agreement.batch.objects, agreement.overlaps
    for method, classes in matching_rules(config):
        if (method, classes) == (config.method, config.classes):
            yield first_rows(agreement.matching.unit, agreement.matching.n_units)
        elif method == "optimal":
            sweep = sweep_thresholds(
                objects, overlaps, thresholds=(config.iou,), similarity=config.similarity, classes=classes
            )
            yield sweep.first[0]
        else:
            matching = matching_of(objects, overlaps, dataclasses.replace(config, method=method, classes=classes))
            yield first_rows(matching.unit, matching.n_units)


@dataclass(frozen=True, slots=True)
class Grouping:
    """The units of the objects of rated samples."""

    first: IntArray  #: shape ``(N,)``, row of the first object of every object's unit
    votes: IntArray  #: shape ``(N,)``, size of the unit at the row of its first object; 0 in other rows
    together: BoolArray  #: shape ``(P,)``, whether an overlapping pair of one class is in one unit
    n_same_class: IntArray  #: shape ``(N,)``, pairs of objects of one class in the unit, at its first object

    @property
    def n_units(self) -> int:
        """Number of units."""
        return int(np.count_nonzero(self.votes))

    @property
    def n_pairs(self) -> int:
        """Number of pairs of objects in the same unit."""
        return int((self.votes * (self.votes - 1) // 2).sum())


@dataclass(frozen=True, slots=True)
class RatedUnits:
    """Counts for alpha, of the units with at least two ratings."""

    sample: IntArray  #: shape ``(U,)``
    n_ratings: IntArray  #: shape ``(U,)``
    absent: IntArray  #: shape ``(U,)``, number of ratings *missing*
    differing: IntArray  #: shape ``(U,)``, ordered pairs of ratings that differ
    objects: IntArray  #: rows of the objects of these units


@dataclass(frozen=True, slots=True)
class UnitCounter:
    """The objects of rated samples, ready to be grouped into units in different ways."""

    rows: IntArray  #: shape ``(N,)``, row of every object in the batch of ``N'`` objects
    number: IntArray  #: shape ``(N',)``, inverse of ``rows``
    sample: IntArray  #: shape ``(N,)``
    category: IntArray  #: shape ``(N,)``
    assigned: IntArray  #: shape ``(S,)``, assigned annotators
    pairs: IntArray  #: shape ``(P,)``, positions of the overlapping pairs of one class
    i: IntArray  #: shape ``(P,)``, first object of every one of these; ``j``: second one
    j: IntArray  #: shape ``(P,)``
    class_of: IntArray  #: shape ``(N,)``, number of the (sample, class) of every object, in the order of samples
    class_sample: IntArray  #: shape ``(C,)``, sample of every (sample, class)

    @classmethod
    def of(cls, agreement: MatchedBatch) -> UnitCounter:
        """Select the rated samples of a batch."""
        objects, overlaps, n_assigned = agreement.batch.objects, agreement.overlaps, agreement.n_assigned
        rated = n_assigned[objects.sample] >= 2
        number = np.cumsum(rated) - 1
        pairs = np.flatnonzero(rated[overlaps.i] & (objects.category[overlaps.i] == objects.category[overlaps.j]))
        sample, category = objects.sample[rated], objects.category[rated]
        n_categories = int(category.max(initial=0)) + 1
        keys, class_of = np.unique(sample * n_categories + category, return_inverse=True)
        return cls(
            rows=np.flatnonzero(rated),
            number=number,
            sample=sample,
            category=category,
            assigned=n_assigned,
            pairs=pairs,
            i=number[overlaps.i[pairs]],
            j=number[overlaps.j[pairs]],
            class_of=class_of,
            class_sample=keys // n_categories,
        )

    def group(self, first: IntArray) -> Grouping:
        """The units, from the row of the first object of every object's unit ``(N',)``."""
        if len(self.rows) < len(first):
            first = self.number[first[self.rows]]
        n = len(first)
        votes = np.bincount(first, minlength=n)
        together = first[self.i] == first[self.j]
        return Grouping(first, votes, together, self._same_class_pairs(first))

    def _same_class_pairs(self, first: IntArray) -> IntArray:
        """Pairs of objects of one class in every unit, at the row of its first object, shape ``(N,)``."""
        n = len(first)
        class_of_sample = self.class_of - np.searchsorted(self.class_sample, self.sample)
        n_classes = int(class_of_sample.max(initial=0)) + 1
        unit, count = sums_of_keys(first * n_classes + class_of_sample, None, n * n_classes)
        several = count > 1
        unit, count = unit[several] // n_classes, count[several]
        return np.bincount(unit, weights=count * (count - 1.0) / 2.0, minlength=n).astype(np.int64)

    def rated(self, units: Grouping, rules: Counting) -> RatedUnits:
        """The units with at least two ratings."""
        first = np.flatnonzero(units.votes)
        votes, sample = units.votes[first], self.sample[first]
        n_ratings = rules.n_ratings(votes, self.assigned[sample])
        several = n_ratings >= 2
        first, votes, sample, m = first[several], votes[several], sample[several], n_ratings[several]
        is_rated = np.zeros(len(units.first), np.bool_)
        is_rated[first] = True
        absent = m - votes
        # m² - Σ n_c² over the classes (votes + 2 x pairs of objects of one class) and over *missing*
        differing = m * m - votes - 2 * units.n_same_class[first] - absent * absent
        return RatedUnits(sample, m, absent, differing, np.flatnonzero(is_rated[units.first]))

    def tally(self, units: Grouping, rules: Counting, tallies: _Tallies) -> IntArray:
        """Count the ratings of all units; returns the squared counts of the classes of every sample ``(S,)``."""
        rated, n_samples = self.rated(units, rules), len(self.assigned)
        tallies.add(rated.sample, rated.n_ratings, rated.differing, self.rows[rated.objects])
        absent = sums_by(rated.sample, rated.absent, n_samples)
        of_class = np.bincount(self.class_of[rated.objects], minlength=len(self.class_sample))
        squares = sums_by(self.class_sample, of_class * of_class, n_samples) + absent * absent
        return squares.astype(np.int64)


def first_rows(unit: IntArray, n_units: int) -> IntArray:
    """Row of the first object of every object's unit, shape ``(N,)``."""
    first = np.empty(n_units, np.int64)
    first[unit[::-1]] = np.arange(len(unit))[::-1]
    return first[unit]


def _pair_shares(agreement: MatchedBatch, counter: UnitCounter, shared: SamplePairs) -> tuple[FloatArray, FloatArray]:
    """Share of each overlapping pair of one class in the score of its sample if matched; the scores without matches.

    A score is the mean over pairs of annotators of 2 Σ IoU / (n_a + n_b), so matches contribute independently.
    """
    objects = agreement.batch.objects
    nothing = np.empty(0, np.int64)
    matches = MatchedPairs(nothing, nothing, np.empty(0), np.empty(0, np.bool_))
    pair_score = pair_scores(objects, matches, shared, agreement.n_objects, empty=agreement.config.empty)
    n_scored = np.bincount(shared.sample[~np.isnan(pair_score)], minlength=agreement.batch.n_samples)
    i, j = agreement.overlaps.i[counter.pairs], agreement.overlaps.j[counter.pairs]
    row = shared.row(objects.sample[i], objects.annotator[i], objects.annotator[j])
    iou = agreement.overlaps.iou[counter.pairs]
    # objects that do not match may have no object of the other annotator to be compared with
    n_both = np.maximum(shared.n_a[row] + shared.n_b[row], 1)
    share = 2.0 * iou / (n_both * n_scored[objects.sample[i]])
    return share, sample_scores(pair_score, shared, agreement.batch.n_samples)
