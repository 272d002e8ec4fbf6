"""What alpha would be without each of the annotators, the objects of the others matched again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...metrics.alpha.nominal import NominalTally
from ...metrics.geometry.objects import Objects
from ...metrics.matching import match_objects
from ..config import AgreementConfig
from .coefficients import alpha_of
from .compute import Agreement, Units, ratings_of
from .verdicts import AGREED, NO_VERDICT

#: two annotators without one of them do not agree or disagree
MIN_ANNOTATORS = 3


@dataclass(frozen=True, slots=True)
class Rematched:
    """What the alpha without each of the annotators counts; nothing where it was not asked for."""

    tallies: tuple[NominalTally, ...] = ()

    def __add__(self, other: Rematched) -> Rematched:
        if not self.tallies or not other.tallies:
            return self if self.tallies else other
        return Rematched(tuple(a + b for a, b in zip(self.tallies, other.tallies, strict=True)))

    def alphas(self, config: AgreementConfig) -> list[float] | None:
        """Alpha without each of the annotators, nan where undefined; None where nothing was matched again."""
        return [alpha_of(tally, config) for tally in self.tallies] or None


def rematched(agreement: Agreement, config: AgreementConfig) -> Rematched:
    """Match the objects of a batch again without each of the annotators, of three or more."""
    n_annotators = agreement.batch.assigned.shape[1]
    if n_annotators < MIN_ANNOTATORS:
        return Rematched()
    return Rematched(tuple(_tally_without(annotator, agreement, config) for annotator in range(n_annotators)))


def _tally_without(annotator: int, agreement: Agreement, config: AgreementConfig) -> NominalTally:
    """The ratings of the units of the others, among the objects that counted with all."""
    batch = agreement.batch
    kept = batch.objects.annotator != annotator
    objects = Objects(batch.objects.sample[kept], batch.objects.annotator[kept], batch.objects.category[kept])
    matching = match_objects(
        objects,
        agreement.overlaps.among(kept),
        threshold=config.iou,
        similarity=config.similarity,
        method=config.method,
        classes=config.classes,
    )
    n_assigned = agreement.n_assigned - batch.assigned[:, annotator]
    sample = np.zeros(matching.n_units, np.int64)
    sample[matching.unit] = objects.sample
    assigned = n_assigned[sample]
    votes = np.bincount(matching.unit, minlength=matching.n_units)
    units = Units(sample, votes, assigned, np.where(assigned >= 2, AGREED, NO_VERDICT))
    n_objects = np.bincount(objects.sample, minlength=batch.n_samples)
    ratings = ratings_of(
        objects, matching.unit, units, n_assigned, n_objects, missing=config.missing, empty=config.empty
    )
    return NominalTally.from_counts(ratings.unit, ratings.category, ratings.count)
