"""Vitality as a function of sums over samples: alpha with all annotators minus alpha without one, units as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ....metrics.alpha.nominal import nominal_alpha_of_sums
from ....metrics.arrays import BoolArray, FloatArray
from ....metrics.bootstrap.draws import SparseColumns, hstack, scatter_rows, vstack
from ....metrics.geometry.objects import Objects
from ...config import AgreementConfig
from ...numbers import Numbers
from ..chunk import Chunk
from ..compute import Ratings, Units, ratings_of
from ..verdicts import AGREED, NO_VERDICT
from .tallies import alpha_columns

#: at most so many columns are kept: one for every class and annotator; the vitality of others has no interval
MAX_COLUMNS = 5_000


class VitalityColumns:
    """Collects what alpha counts, and how that changes without each of the annotators.

    Of very many annotators, those are kept who were assigned to the most samples, see ``MAX_COLUMNS``.
    """

    def __init__(self, annotators: Sequence[str], assigned: BoolArray, n_categories: int, config: AgreementConfig):
        n = len(annotators) if len(annotators) >= 3 else 0
        by_name = np.argsort(np.array(annotators, dtype=object), kind="stable")
        order = by_name[np.argsort(-assigned.sum(axis=0)[by_name], kind="stable")]
        self._chosen = np.sort(order[: min(n, MAX_COLUMNS // (n_categories + 1))]).tolist()
        self._names = annotators
        self._n_categories = n_categories
        self._config = config
        self._columns: list[SparseColumns] = []

    def add(self, chunk: Chunk) -> None:
        """Add the findings of the next samples."""
        if not self._chosen:
            return
        findings, n_categories = chunk.findings, self._n_categories
        n_samples = findings.n_samples
        full = alpha_columns(chunk.ratings, n_samples, n_categories)
        blocks: list[FloatArray | SparseColumns] = [full]
        for annotator in self._chosen:
            asked = findings.assigned[:, annotator]
            without = alpha_columns(_ratings_without(chunk, annotator), n_samples, n_categories)
            samples = np.flatnonzero(asked)
            blocks.append(without - scatter_rows(full[samples], samples, n_samples))
            blocks.append(asked[:, None].astype(np.float64))
        self._columns.append(hstack(blocks))

    def sums(self) -> Iterator[Numbers]:
        """The vitality of every annotator."""
        if not self._chosen:
            return
        width = self._n_categories + 1
        config = self._config

        def alpha(sums: FloatArray) -> FloatArray:
            counts = sums[..., 1:]
            found = nominal_alpha_of_sums(sums[..., 0], counts)
            if config.undefined == "one":
                found = np.where(np.isnan(found) & (counts.sum(axis=-1) > 0), 1.0, found)
            return found

        def statistic(sums: FloatArray) -> FloatArray:
            full = sums[..., :width]
            starts = [width + k * (width + 1) for k in range(len(self._chosen))]
            without = [alpha(full + sums[..., start : start + width]) for start in starts]
            vitality: FloatArray = alpha(full)[..., None] - np.stack(without, axis=-1)
            return vitality

        yield Numbers(
            tuple(("annotators", self._names[annotator], "vitality") for annotator in self._chosen),
            vstack(self._columns),
            statistic,
            basis=np.array([2 * width + k * (width + 1) for k in range(len(self._chosen))]),
        )


def _ratings_without(chunk: Chunk, annotator: int) -> Ratings:
    """What alpha counts without an annotator, on the samples that the annotator was assigned to."""
    findings, config = chunk.findings, chunk.findings.config
    objects, units = findings.objects, findings.units
    asked = findings.assigned[:, annotator]
    kept = asked[objects.sample] & (objects.annotator != annotator)
    others = Objects(objects.sample[kept], objects.annotator[kept], objects.category[kept])
    unit = findings.unit[kept]
    votes = np.bincount(unit, minlength=len(units.votes))
    n_assigned = np.where(asked, findings.n_assigned - 1, 0)
    assigned = n_assigned[units.sample]
    rated = (assigned >= 2) & (votes > 0)
    return ratings_of(
        others,
        unit,
        Units(units.sample, votes, assigned, np.where(rated, AGREED, NO_VERDICT)),
        n_assigned,
        np.bincount(others.sample, minlength=findings.n_samples),
        missing=config.missing,
        empty=config.empty,
    )
