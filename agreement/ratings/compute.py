"""Compute scores and verdicts from the ratings of a batch of samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...metrics.consensus.consensus import majority_of_others, unit_votes
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ..statistics.records import OF_SAMPLE, Records, SampleValues, compact, ids_of_given, rows_by_column
from ..statistics.values import masked_means

VERDICTS = ("agreed", "class_conflict")
AGREED, CLASS_CONFLICT = range(len(VERDICTS))

#: samples that are compared at once
ROWS_AT_ONCE = 4_096

#: relative tolerance for rounding of decimals, so that 0.4 and 0.3 differ by exactly 0.1
ROUNDING = 4 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class RatingAgreement:
    """The agreement on a batch."""

    ratings: FloatArray  #: shape ``(S, R)``, class codes or numbers, nan where an annotator did not rate
    agree: BoolArray  #: shape ``(S, R, R)``, whether two annotators both rated and agree
    n_annotators: IntArray  #: shape ``(S,)``, number of annotators who rated
    score: FloatArray  #: shape ``(S,)``, share of the pairs of annotators who agree; nan with fewer than two ratings
    majority: FloatArray  #: shape ``(S,)``, code or number with the most votes; nan without ratings and in a tie
    entropy: FloatArray  #: shape ``(S,)``, entropy of the votes in bits; nan without ratings

    @property
    def rated(self) -> BoolArray:
        """Samples that at least two annotators rated, shape ``(S,)``."""
        return self.n_annotators >= 2

    @property
    def given(self) -> BoolArray:
        """True where an annotator rated a sample, shape ``(S, R)``."""
        return ~np.isnan(self.ratings)

    @property
    def disputed(self) -> BoolArray:
        """Samples on which two annotators disagree, shape ``(S,)``."""
        return self.score < 1.0

    @property
    def votes(self) -> IntArray:
        """Number of annotators who agree with every rating, including its own, shape ``(S, R)``."""
        votes: IntArray = self.agree.sum(axis=2)
        return votes


def compute_ratings(ratings: FloatArray, tolerance: float = 0.0) -> RatingAgreement:
    """Score the samples of a batch.

    Args:
        ratings: shape ``(S, R)``, class codes or numbers, nan where an annotator did not rate
        tolerance: numbers that differ by at most this agree
    """
    agree = agreeing(ratings[:, :, None], ratings[:, None, :], tolerance)
    votes = unit_votes(ratings)
    n = votes.n_ratings
    # every annotator agrees with itself: n of the ordered pairs are not pairs of annotators
    n_agreeing = agree.sum(axis=(1, 2)) - n
    score = np.full(len(ratings), np.nan)
    rated = n >= 2
    score[rated] = n_agreeing[rated] / (n[rated] * (n[rated] - 1))
    return RatingAgreement(ratings, agree, n, score, votes.majority, votes.entropy_bits)


def agreeing(a: FloatArray, b: FloatArray, tolerance: float) -> BoolArray:
    """True where ratings agree; shapes must broadcast; nan (no rating) agrees with nothing.

    Args:
        tolerance: numbers that differ by at most this agree
    """
    agree: BoolArray = a == b
    if tolerance > 0:
        agree = np.abs(a - b) <= tolerance + ROUNDING * np.maximum(np.abs(a), np.abs(b))
    return agree


def n_agreeing(ratings: FloatArray, tolerance: float) -> IntArray:
    """Number of annotators who agree with every rating, including its own, shape ``(S, R)``; 0 where there is none."""
    columns = [agreeing(ratings, ratings[:, [k]], tolerance).sum(axis=1) for k in range(ratings.shape[1])]
    return np.stack(columns, axis=1) if columns else np.zeros(ratings.shape, np.int64)


def rating_of_others(ratings: FloatArray) -> FloatArray:
    """Majority rating of the others, at least two of them, on every sample, shape ``(S, R)``; nan without.

    With two annotators in all, what the other one said.

    Args:
        ratings: shape ``(S, R)``, nan where an annotator did not rate
    """
    found, least = np.full(ratings.shape, np.nan), 2 if ratings.shape[1] > 2 else 1
    for start in range(0, len(ratings), ROWS_AT_ONCE):
        some = ratings[start : start + ROWS_AT_ONCE]
        given, alike = np.nonzero(~np.isnan(some)), n_agreeing(some, 0.0)
        found[start : start + len(some)][given] = majority_of_others(
            given[0], some[given], alike[given], len(some), least
        )
    return found


def mean_and_spread(numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and population standard deviation of every row (pass the transpose for columns).

    Args:
        numbers: shape ``(S, R)``, nan where there is no number

    Undefined:
        nan in rows without a number
    """
    given = ~np.isnan(numbers)
    mean = masked_means(numbers, given)
    spread: FloatArray = np.sqrt(masked_means((numbers - mean[:, None]) ** 2, given))
    return mean, spread


@dataclass(frozen=True, slots=True)
class RatingRecords(Records):
    """The ratings of any number of samples: class codes (0: not rated) or numbers (nan: not rated).

    With three annotators 11 bytes per sample; 32 bytes for numbers; and 12 for the id of every label.
    """

    family: ClassVar[str] = "ratings"
    scores_are_shares: ClassVar[bool] = True
    rows: ClassVar[Mapping[str, str]] = rows_by_column(
        {OF_SAMPLE: ("ratings", "score", "n_labels"), "n_labels": ("label_id",)}
    )
    of_classes: ClassVar[str | None] = "ratings"

    @property
    def ratings(self) -> FloatArray:
        """All ratings, shape ``(S, R)``, nan where an annotator did not rate."""
        table = self.column("ratings")
        return table if table.dtype.kind == "f" else np.where(table > 0, table, np.nan)

    @property
    def assigned(self) -> BoolArray:
        """True where an annotator rated a sample, shape ``(S, R)``."""
        table = self.column("ratings")
        given: BoolArray = ~np.isnan(table) if table.dtype.kind == "f" else table > 0
        return given

    def sample_values(self) -> SampleValues:
        """The values that all label types have; every sample is one unit."""
        found = super(RatingRecords, self).sample_values()
        n_units, n_disputed = (found.n_annotators >= 2).astype(np.int64), (found.score < 1.0).astype(np.int64)
        return replace(found, n_units=n_units, n_disputed=n_disputed)


def record_ratings(
    agreement: RatingAgreement, label_ids: NDArray[np.uint8] | None = None, *, numbers: bool
) -> RatingRecords:
    """The ratings of a batch.

    Args:
        label_ids: id of every rating, shape ``(S, R, 12)``; None where they are plain values
        numbers: whether the ratings are numbers, not class codes from 1
    """
    table = agreement.ratings if numbers else compact(np.nan_to_num(agreement.ratings, nan=0.0).astype(np.int64))
    columns = {"ratings": table, "score": agreement.score}
    return RatingRecords(table.shape[1], ({**columns, **ids_of_given(label_ids, agreement.given)},))
