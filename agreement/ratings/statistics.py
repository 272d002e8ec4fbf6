"""What is counted of ratings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...metrics.arrays import FloatArray, IntArray
from .compute import VERDICTS, agreeing

#: pairs of ratings that are compared at once
_PAIRS_AT_ONCE = 500_000


@dataclass(frozen=True, slots=True)
class RatingStatistics:
    """Counts over all samples.

    Attributes:
        verdicts: shape ``(R, 2)``, ratings of every annotator with every verdict
        n_agreeing: shape ``(R, R)``, samples on which two annotators agree
        n_shared: shape ``(R, R)``, samples that both rated
    """

    verdicts: IntArray
    n_agreeing: IntArray
    n_shared: IntArray


def summarise_ratings(ratings: FloatArray, score: FloatArray, tolerance: float = 0.0) -> RatingStatistics:
    """Count the ratings of all samples.

    Args:
        ratings: shape ``(S, R)``, class codes or numbers, nan where one did not rate
        score: shape ``(S,)``, share of the pairs of annotators who agree; nan where not rated by two
        tolerance: numbers that differ by at most this agree
    """
    n_samples, n_annotators = ratings.shape
    verdicts = np.zeros((n_annotators, len(VERDICTS)), np.int64)
    n_agreeing, n_shared = np.zeros((2, n_annotators, n_annotators), np.int64)
    at_once = max(1, _PAIRS_AT_ONCE // max(n_annotators**2, 1))
    for start in range(0, n_samples, at_once):
        part, scores = ratings[start : start + at_once], score[start : start + at_once]
        given = ~np.isnan(part)
        for verdict, samples in enumerate((scores == 1.0, scores < 1.0)):
            verdicts[:, verdict] += given[samples].sum(axis=0)
        n_agreeing += agreeing(part[:, :, None], part[:, None, :], tolerance).sum(axis=0)
        n_shared += given.astype(np.int64).T @ given.astype(np.int64)
    return RatingStatistics(verdicts, n_agreeing, n_shared)
