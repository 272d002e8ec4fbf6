"""Sessions of one person (intra), apart from different persons (inter)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...metrics.arrays import BoolArray
from ..report import ReportContext, mean_defined, number
from .findings import pair_names
from .pair_sums import PairSums
from .pairs import PairRatings
from .persons import persons_of, same_person
from .summaries import PairSummary, Sessions


def sessions(pairs: Sequence[PairSummary], sums: PairSums, context: ReportContext) -> Sessions | None:
    """Agreement of the sessions of one person, and of different persons; None if nobody labelled several times."""
    persons = persons_of(context.config)
    names = context.annotators
    a, b = pair_names(len(names))
    intra = np.array(
        [same_person(persons, names[p], names[q]) for p, q in zip(a.tolist(), b.tolist(), strict=True)], np.bool_
    )
    if not intra.any():
        return None
    ratings = PairRatings.of(sums, context.config)

    def alpha(kind: BoolArray) -> float | None:
        return number(ratings.pooled_alpha(kind, context.config))

    def mean(is_intra: bool, value: Callable[[PairSummary], float | None]) -> float | None:
        values = [value(pair) for pair in pairs if pair.intra == is_intra]
        return mean_defined([entry for entry in values if entry is not None])[0]

    return Sessions(
        intra_alpha=alpha(intra),
        inter_alpha=alpha(~intra),
        intra_score=mean(True, lambda pair: pair.score),
        inter_score=mean(False, lambda pair: pair.score),
        intra_f1=mean(True, lambda pair: pair.f1),
        inter_f1=mean(False, lambda pair: pair.f1),
        intra_mean_iou=mean(True, lambda pair: pair.mean_iou),
        inter_mean_iou=mean(False, lambda pair: pair.mean_iou),
        n_intra_pairs=sum(pair.intra for pair in pairs),
        n_inter_pairs=sum(not pair.intra for pair in pairs),
    )
