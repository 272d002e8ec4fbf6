"""The numbers of pairs of annotators as functions of sums over the samples that they share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ....metrics.arrays import FloatArray, IntArray
from ....metrics.bootstrap.draws import SparseColumns, hstack, vstack
from ...config import AgreementConfig
from ...numbers import Numbers
from ...pairs import pair_names
from ..chunk import Chunk
from ..persons import persons_of, same_person
from .pair_columns import PLAIN, RATIOS, alpha_of, class_columns, numbers_of, plain_columns
from .sessions import session_sums


class PairColumns:
    """Collects the columns of some pairs of annotators: one row for every sample that a pair shares."""

    def __init__(
        self, annotators: Sequence[str], pairs: IntArray, are_all: bool, n_categories: int, config: AgreementConfig
    ) -> None:
        self._annotators = annotators
        self._chosen = pairs
        self._are_all = are_all
        self._n_categories = n_categories
        self._config = config
        self._pair: list[IntArray] = []
        self._sample: list[IntArray] = []
        self._columns: list[SparseColumns] = []
        self._n_samples = 0

    def add(self, chunk: Chunk) -> None:
        """Add the findings of the next samples."""
        findings, pair = chunk.findings, chunk.shared_pair
        shared = findings.sample_pairs
        kept = np.isin(pair, self._chosen)
        columns = plain_columns(findings, self._config)
        plain = np.column_stack([columns[name][kept] for name in PLAIN]).astype(np.float64)
        classes = class_columns(findings, self._n_categories, self._config)
        self._pair.append(pair[kept])
        self._sample.append(self._n_samples + shared.sample[kept])
        self._columns.append(hstack([plain, classes[kept]]))
        self._n_samples += findings.n_samples

    def sums(self) -> Iterator[Numbers]:
        """The numbers of every pair; if these are all pairs, those of the sessions of one person as well."""
        pair, sample, columns = np.concatenate(self._pair), np.concatenate(self._sample), vstack(self._columns)
        undefined, names = self._config.undefined, self._annotators
        by_pair = np.argsort(pair, kind="stable")
        starts, ends = (np.searchsorted(pair[by_pair], self._chosen, side) for side in ("left", "right"))
        a, b = (index[self._chosen].tolist() for index in pair_names(len(names)))

        def statistic(sums: FloatArray) -> FloatArray:
            plain, classes = sums[..., : len(PLAIN)], sums[..., len(PLAIN) :]
            return np.stack([*numbers_of(plain).values(), alpha_of(plain, classes, undefined)], axis=-1)

        for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
            rows = by_pair[start:end]
            yield Numbers(
                tuple(("pairs", names[a[place]], names[b[place]], name) for name in (*RATIOS, "alpha")),
                _without_unused_classes(columns[rows]),
                statistic,
                sample[rows],
                np.full(len(RATIOS) + 1, PLAIN.index("n_shared")),
            )
        persons = persons_of(self._config)
        intra = np.array([same_person(persons, names[p], names[q]) for p, q in zip(a, b, strict=True)], np.bool_)
        if intra.any() and self._are_all:
            number: IntArray = np.searchsorted(self._chosen, pair)
            yield session_sums(number, sample, columns, intra, self._n_samples, undefined)


def _without_unused_classes(columns: SparseColumns) -> SparseColumns:
    """The columns without those of categories that the pair never gave."""
    used = np.flatnonzero(columns.sum(axis=0)[len(PLAIN) :])
    return columns[:, np.concatenate([np.arange(len(PLAIN)), len(PLAIN) + used])]
