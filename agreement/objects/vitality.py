"""Vitality: alpha with all annotators minus alpha without one; units unchanged, or the others matched again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...metrics.alpha import nominal_alpha_of_sums
from ...metrics.alpha.nominal import NominalTally
from ...metrics.bootstrap.draws import SparseColumns, hstack, scatter_rows, sparse
from ...metrics.geometry.objects import Objects
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, ranges
from ..matching.batch import Excuses
from ..matching.compute import Counting, MatchedBatch, Ratings, matching_of, ratings_of
from ..settings.config import AgreementConfig
from ..statistics.numbers import Numbers, Rows
from .headline import alpha_columns
from .sums import Chunk

#: minimum number of annotators for vitality: without one, two are left
MIN_ANNOTATORS = 3
#: maximum number of columns (one per class and annotator) for intervals of vitality
MAX_COLUMNS = 5_000
#: objects (with one annotator left out) that are counted at once
MAX_OBJECTS = 1_000_000


class VitalityNumbers:
    """Vitality: alpha with all annotators minus alpha without one of them (three or more), with unchanged units.

    With very many annotators, only those with the most assigned samples have intervals; see ``MAX_COLUMNS``.

    Args:
        annotators: their names
        assigned: shape ``(S, R)``
        n_categories: number ``K`` of category codes
        config: the options of the run
        by_sample: whether the numbers have intervals
    """

    def __init__(
        self, annotators: Sequence[str], assigned: BoolArray, n_categories: int, config: AgreementConfig, *,
        by_sample: bool,
    ) -> None:  # fmt: skip
        n = len(annotators) if len(annotators) >= MIN_ANNOTATORS else 0
        by_name = np.argsort(np.array(annotators, dtype=object), kind="stable")
        order = by_name[np.argsort(-assigned.sum(axis=0)[by_name], kind="stable")]
        chosen = order[: min(n, MAX_COLUMNS // (n_categories + 1) if by_sample else 0)]
        self._names = annotators
        self._n = n
        self._width = n_categories + 1
        self._undefined = config.undefined
        self._place = np.full(len(annotators), -1)
        self._place[np.sort(chosen)] = np.arange(len(chosen))
        self._rows = Rows(by_sample=by_sample)
        self._sums = np.zeros((len(annotators), self._width))

    def add(self, chunk: Chunk) -> None:
        """Add the next samples."""
        if not self._n:
            return
        agreement, width = chunk.agreement, self._width
        n_samples, sample, annotator = agreement.n_samples, *np.nonzero(agreement.assigned)
        full = alpha_columns(agreement.ratings, n_samples, width - 1)
        rows, columns, values = [], [], []
        block = np.cumsum(agreement.n_objects[sample]) // MAX_OBJECTS
        for number_of_block in np.unique(block):
            of_block = block == number_of_block
            some, who = sample[of_block], annotator[of_block]
            without = alpha_columns(_ratings_without(chunk, some, who), len(some), width - 1)
            place = self._place[who]
            kept = place >= 0
            if not kept.all():
                of_all = sparse(who, some, np.ones(len(who)), (len(self._names), n_samples)) @ full
                self._sums += (scatter_rows(without, who, len(self._names)) - of_all).toarray()
            some, first = some[kept], place[kept] * (width + 1)
            changes = (without[kept] - full[some]).tocoo()
            rows += [some[changes.row], some]
            columns += [first[changes.row] + changes.col, first + width]
            values += [changes.data, np.ones(len(some))]
        n_columns = (width + 1) * int((self._place >= 0).sum())
        nothing = np.empty(0, np.int64)  # for chunks without an assigned annotator
        row, column, value = (np.concatenate([nothing, *entries]) for entries in (rows, columns, values))
        self._rows.add(hstack([full, sparse(row, column, value, (n_samples, n_columns))]))

    def numbers(self) -> Iterator[Numbers]:
        """The vitality of every annotator."""
        if not self._n:
            return
        columns = self._rows.columns()
        chosen = np.flatnonzero(self._place >= 0)
        if len(chosen):
            yield self._numbers(chosen, columns, by_sample=True)
        rest = np.flatnonzero(self._place < 0)
        if len(rest):
            full = np.asarray(columns[:, : self._width].sum(axis=0))
            changes = np.pad(self._sums[rest], ((0, 0), (0, 1)))
            yield self._numbers(rest, hstack([np.concatenate([full, changes.ravel()])[None, :]]), by_sample=False)

    def _numbers(self, annotators: IntArray, columns: SparseColumns, *, by_sample: bool) -> Numbers:
        """The vitality of some annotators, from the columns of alpha, then of its changes, then of assignments."""
        n, width = len(annotators), self._width

        def alpha(sums: FloatArray) -> FloatArray:
            return nominal_alpha_of_sums(sums[..., 0], sums[..., 1:], self._undefined)

        def formula(sums: FloatArray) -> FloatArray:
            full = sums[..., :width]
            changes = sums[..., width:].reshape(*sums.shape[:-1], n, width + 1)[..., :width]
            # one by one: all together would take n times the memory
            without = [alpha(full + changes[..., k, :]) for k in range(n)]
            vitality: FloatArray = alpha(full)[..., None] - np.stack(without, axis=-1)
            return vitality

        keys = tuple(("annotators", self._names[k], "vitality") for k in annotators.tolist())
        basis = 2 * width + np.arange(n) * (width + 1)
        return Numbers(keys, columns, formula, basis=basis, by_sample=by_sample)


def _ratings_without(chunk: Chunk, sample: IntArray, annotator: IntArray) -> Ratings:
    """The ratings for alpha on samples ``(V,)``, each without one of its assigned annotators."""
    agreement, objects = chunk.agreement, chunk.agreement.objects
    n_objects, n_units = agreement.n_objects, agreement.n_units
    rows = ranges((np.cumsum(n_objects) - n_objects)[sample], n_objects[sample])
    case = np.repeat(np.arange(len(sample)), n_objects[sample])
    others = objects.annotator[rows] != annotator[case]
    rows, case = rows[others], case[others]
    n_of_case = n_units[sample]
    # the units of every case get new numbers
    moved_by = np.cumsum(n_of_case) - n_of_case - (np.cumsum(n_units) - n_units)[sample]
    unit = agreement.unit[rows] + moved_by[case]
    case_of_unit = np.repeat(np.arange(len(sample)), n_of_case)
    objects = Objects(case, objects.annotator[rows], objects.category[rows])
    n_assigned = agreement.n_assigned[sample] - 1
    first_unit = np.cumsum(n_units) - n_units
    original = ranges(first_unit[sample], n_of_case)
    n_excused = agreement.n_excused[original] - agreement.excuses.contain(original, annotator[case_of_unit])
    return ratings_of(objects, unit, case_of_unit, n_assigned, Counting.of(agreement.config), n_excused)


@dataclass(frozen=True, slots=True)
class Rematched:
    """Sums for alpha without each of the annotators, matched again; empty if not requested."""

    tallies: tuple[NominalTally, ...] = ()

    def __add__(self, other: Rematched) -> Rematched:
        if not self.tallies or not other.tallies:
            return self if self.tallies else other
        return Rematched(tuple(a + b for a, b in zip(self.tallies, other.tallies, strict=True)))

    def alphas(self, config: AgreementConfig) -> list[float] | None:
        """Alpha without each of the annotators, nan where undefined; None if nothing was matched again."""
        return [tally.alpha(config.undefined) for tally in self.tallies] or None


def rematched(agreement: MatchedBatch) -> Rematched:
    """Match the objects of a batch again without each of the annotators (three or more)."""
    n_annotators = agreement.batch.assigned.shape[1]
    if n_annotators < MIN_ANNOTATORS:
        return Rematched()
    return Rematched(tuple(_tally_without(annotator, agreement) for annotator in range(n_annotators)))


def _tally_without(annotator: int, agreement: MatchedBatch) -> NominalTally:
    """The ratings of the units of the other annotators, matched again without this annotator's objects."""
    batch, config = agreement.batch, agreement.config
    kept = batch.objects.annotator != annotator
    objects = Objects(batch.objects.sample[kept], batch.objects.annotator[kept], batch.objects.category[kept])
    matching = matching_of(objects, agreement.overlaps.among(kept), config)
    n_assigned = agreement.n_assigned - batch.assigned[:, annotator]
    sample = np.zeros(matching.n_units, np.int64)
    sample[matching.unit] = objects.sample
    row, other = agreement.covered
    of_others = kept[row] & (other != annotator)
    covered = (np.cumsum(kept) - 1)[row[of_others]], other[of_others]
    n_excused = Excuses.of(matching.unit, objects.annotator, covered).n_of_units(matching.n_units)
    ratings = ratings_of(objects, matching.unit, sample, n_assigned, Counting.of(config), n_excused)
    return NominalTally.from_counts(ratings.unit, ratings.category, ratings.count)
