"""Vitality: alpha with all annotators minus alpha without one of them (three or more), with unchanged units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...metrics.alpha import nominal_alpha_of_sums
from ...metrics.alpha.nominal import unit_disagreement
from ...metrics.bootstrap.draws import SparseColumns, column_sums, hstack, sparse
from ...metrics.geometry.objects import Objects
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, ranges, sums_by
from ..matching.tables import Ratings, Tables, ratings_of
from ..settings.config import Undefined
from ..statistics.numbers import Numbers

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


def vitality_numbers(t: Tables, annotators: Sequence[str], resampled: IntArray) -> Iterator[Numbers]:
    """The vitality of all annotators; ``resampled`` are those with an interval."""
    if len(annotators) < MIN_ANNOTATORS:
        return
    n, width, sample, annotator = len(annotators), t.n_categories + 1, t.seats.sample, t.seats.annotator
    full = _alpha_columns(t.ratings, t.n_samples, t.n_categories)
    place = np.full(n, -1)
    place[resampled] = np.arange(len(resampled))
    rows, columns, values = [], [], []
    of_rest = np.zeros((n, width))
    block = np.cumsum(t.n_objects[sample]) // MAX_OBJECTS
    for number in np.unique(block):
        some, who = sample[block == number], annotator[block == number]
        without, kept = _ratings_without(t, some, who), place[who] >= 0
        if not kept.all():
            of_all = sparse(who, some, np.ones(len(who)), (n, t.n_samples)) @ full
            by_annotator = replace(without, sample=who[without.sample])
            of_rest += (_alpha_columns(by_annotator, n, t.n_categories) - of_all).toarray()
        if kept.any():
            changes = (_alpha_columns(without, len(some), t.n_categories)[kept] - full[some[kept]]).tocoo()
            some, first = some[kept], place[who[kept]] * (width + 1)
            rows += [some[changes.row], some]
            columns += [first[changes.row] + changes.col, first + width]
            values += [changes.data, np.ones(len(some))]
    if len(resampled):
        nothing = np.empty(0, np.int64)  # of samples that nobody was asked for
        row, column, value = (np.concatenate([nothing, *entries]) for entries in (rows, columns, values))
        changes = sparse(row, column, value, (t.n_samples, (width + 1) * len(resampled)))
        yield _numbers([annotators[k] for k in resampled.tolist()], hstack([full, changes]), width, t.config.undefined)
    rest = np.flatnonzero(place < 0)
    if len(rest):
        sums = np.concatenate([column_sums(full), np.pad(of_rest[rest], ((0, 0), (0, 1))).ravel()])
        found = _numbers([annotators[k] for k in rest.tolist()], hstack([sums[None, :]]), width, t.config.undefined)
        yield replace(found, by_sample=False)


def _numbers(annotators: Sequence[str], columns: SparseColumns, width: int, undefined: Undefined) -> Numbers:
    """The vitality of some annotators, from the columns of alpha, then of its changes, then of who was asked."""
    n = len(annotators)

    def alpha(sums: FloatArray) -> FloatArray:
        return nominal_alpha_of_sums(sums[..., 0], sums[..., 1:], undefined)

    def formula(sums: FloatArray) -> FloatArray:
        full = sums[..., :width]
        changes = sums[..., width:].reshape(*sums.shape[:-1], n, width + 1)[..., :width]
        # one by one: all together would take n times the memory
        without = [alpha(full + changes[..., k, :]) for k in range(n)]
        vitality: FloatArray = alpha(full)[..., None] - np.stack(without, axis=-1)
        return vitality

    keys = tuple(("annotators", name, "vitality") for name in annotators)
    return Numbers(keys, columns, formula, basis=2 * width + np.arange(n) * (width + 1), table="vitality")


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
