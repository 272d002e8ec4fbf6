"""What a run found in ratings: the ratings themselves, kept of every sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...metrics.arrays import BoolArray, FloatArray
from ..records import OF_SAMPLE, Records, SampleValues, compact
from .compute import RatingAgreement


@dataclass(frozen=True, slots=True)
class RatingRecords(Records):
    """The ratings of any number of samples: class codes, 0 where one did not rate, or numbers, nan where one did not.

    A sample of three annotators takes 11 bytes; of numbers 32.
    """

    family: ClassVar[str] = "ratings"
    rows: ClassVar[Mapping[str, str]] = {"ratings": OF_SAMPLE, "score": OF_SAMPLE}

    @property
    def ratings(self) -> FloatArray:
        """All ratings, shape ``(S, R)``, nan where one did not rate."""
        table = self.column("ratings")
        return table if table.dtype.kind == "f" else np.where(table > 0, table, np.nan)

    @property
    def assigned(self) -> BoolArray:
        """Who rated, shape ``(S, R)``."""
        table = self.column("ratings")
        given: BoolArray = ~np.isnan(table) if table.dtype.kind == "f" else table > 0
        return given

    def sample_values(self) -> SampleValues:
        """What is known of every sample, which is one unit."""
        score, n = self.column("score"), self.assigned.sum(axis=1)
        return SampleValues(
            score=score,
            alpha=np.full(len(score), np.nan),
            n_annotators=n,
            n_objects=n,
            n_units=(n >= 2).astype(np.int64),
            n_disputed=(score < 1.0).astype(np.int64),
        )


def record_ratings(agreement: RatingAgreement, *, numbers: bool) -> RatingRecords:
    """The ratings of a batch.

    Args:
        agreement: the agreement on the batch
        numbers: whether the ratings are numbers, not class codes from 1
    """
    table = agreement.ratings if numbers else compact(np.nan_to_num(agreement.ratings, nan=0.0).astype(np.int64))
    return RatingRecords(table.shape[1], ({"ratings": table, "score": agreement.score},))
