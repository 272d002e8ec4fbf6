"""Vitality: alpha with all annotators minus alpha without one, with unchanged units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...metrics.alpha import nominal_alpha_of_sums
from ...metrics.bootstrap.draws import hstack, scatter_rows, sparse
from ...metrics.bootstrap.moments import Summable, column_sums
from ...metrics.geometry.objects import Objects
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, ranges
from ..matching.compute import Counting, Ratings, ratings_of
from ..settings.config import AgreementConfig
from ..statistics.numbers import BySample, Numbers, Rows
from .headline import alpha_columns
from .sums import Chunk
from .variants import MIN_ANNOTATORS

#: maximum number of columns (one per class and annotator) for intervals of vitality
MAX_COLUMNS = 5_000
#: objects (with one annotator left out) that are counted at once
MAX_OBJECTS = 1_000_000


class VitalityNumbers:
    """Vitality: alpha with all annotators minus alpha without one of them (three or more), with unchanged units.

    With very many annotators, only those with the most assigned samples have intervals; see ``MAX_COLUMNS``.

    Args:
        assigned: shape ``(S, R)``
        n_categories: number ``K`` of category codes
    """

    def __init__(
        self, annotators: Sequence[str], assigned: BoolArray, n_categories: int, config: AgreementConfig, *,
        by_sample: BySample,
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
        if not self._n:
            return
        columns = self._rows.columns()
        chosen = np.flatnonzero(self._place >= 0)
        if len(chosen):
            yield self._numbers(chosen, columns, by_sample=self._rows.by_sample)
        rest = np.flatnonzero(self._place < 0)
        if len(rest):
            full = column_sums(columns[:, : self._width])
            changes = np.pad(self._sums[rest], ((0, 0), (0, 1)))
            yield self._numbers(rest, hstack([np.concatenate([full, changes.ravel()])[None, :]]), by_sample=False)

    def _numbers(self, annotators: IntArray, columns: Summable, *, by_sample: BySample) -> Numbers:
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
    n_exempt = agreement.n_exempt[original] - agreement.exemptions.contain(original, annotator[case_of_unit])
    return ratings_of(objects, unit, case_of_unit, n_assigned, Counting.of(agreement.config), n_exempt)
