"""Statistics of ratings that add up over batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...metrics.arrays import FloatArray, IntArray
from .compute import VERDICTS, RatingAgreement


@dataclass(frozen=True, slots=True)
class RatingStatistics:
    """Sufficient statistics of any number of samples: the ratings themselves, and what is counted of them.

    Attributes:
        tables: ratings of every batch, shapes ``(S, R)``; class codes as small integers, 0 where one did not rate, or
            numbers, nan where one did not rate
        scores: score of the samples of every batch, shapes ``(S,)``; nan where not rated by two
        verdicts: shape ``(R, 2)``, ratings of every annotator with every verdict
        n_agreeing: shape ``(R, R)``, samples on which two annotators agree
        n_shared: shape ``(R, R)``, samples that both rated
    """

    tables: tuple[np.ndarray, ...]
    scores: tuple[FloatArray, ...]
    verdicts: IntArray
    n_agreeing: IntArray
    n_shared: IntArray

    def __add__(self, other: RatingStatistics) -> RatingStatistics:
        return RatingStatistics(
            self.tables + other.tables,
            self.scores + other.scores,
            self.verdicts + other.verdicts,
            self.n_agreeing + other.n_agreeing,
            self.n_shared + other.n_shared,
        )

    @property
    def ratings(self) -> FloatArray:
        """All ratings, shape ``(S, R)``, nan where one did not rate."""
        table = np.concatenate(self.tables)
        if table.dtype.kind == "f":
            return table
        return np.where(table > 0, table, np.nan)

    @property
    def score(self) -> FloatArray:
        """Score of every sample, shape ``(S,)``; nan where not rated by two."""
        return np.concatenate(self.scores)


def summarise_ratings(agreement: RatingAgreement, *, numbers: bool) -> RatingStatistics:
    """The statistics of a batch.

    Args:
        agreement: the agreement on the batch
        numbers: whether the ratings are numbers, not class codes from 1
    """
    table = agreement.ratings if numbers else np.nan_to_num(agreement.ratings, nan=0.0).astype(np.int32)
    given = agreement.given
    verdict = given[agreement.rated], agreement.disputed[agreement.rated]
    verdicts = np.stack([(verdict[0] & (verdict[1] == k)[:, None]).sum(axis=0) for k in range(len(VERDICTS))], axis=1)
    counted = given.astype(np.int64)
    return RatingStatistics(
        tables=(table,),
        scores=(agreement.score,),
        verdicts=verdicts,
        n_agreeing=agreement.agree.sum(axis=0),
        n_shared=counted.T @ counted,
    )
