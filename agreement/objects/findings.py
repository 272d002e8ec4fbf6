"""What a run found in samples, as columns: everything that a report on them needs, without their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...metrics.arrays import BoolArray, FloatArray, IntArray
from ...metrics.geometry.objects import Objects
from ..config import AgreementConfig
from ..pairs import pair_names as pair_names
from ..pairs import pair_rows as pair_rows
from .columns import SamplePairs
from .compute import MatchedPairs, Ratings, Units, pair_scores, ratings_of


@dataclass(frozen=True, slots=True)
class Findings:
    """The agreement on some samples.

    Attributes:
        objects: ``N`` objects that count, sorted by sample and annotator; crowd is left out
        assigned: shape ``(S, R)``
        unit: shape ``(N,)``, unit of every object
        units: columns over the ``U`` units
        pairs: pairs of objects of one unit
        sample_pairs: ``Q`` pairs of annotators on samples
        object_verdict: shape ``(N,)``, index into ``VERDICTS``; ``NO_VERDICT`` where the sample is not rated
        area: shape ``(N,)``, in the unit of the geometry
        boxes_xyxy: shape ``(N, 4)``, bounding boxes in that unit; None where objects have none
        size_px: shape ``(S, 2)``, width and height of the images; nan where not known
        attributes: for every compared attribute the codes of its values, shape ``(N,)``; 0 where not given
        visibility: shape ``(P,)``, share of points that both labelled, of every pair of matched keypoints; else None
        best_iou: shape ``(Q, 2)``, mean over the first annotator's objects of the best IoU with those of the second,
            and the other direction; nan where the one has none
        aligned: shape ``(Q, 3)``, of mutual best pairs: how many, sum of recall, sum of precision; else None
        n_crowd: shape ``(S, R)``, objects that do not count
        score: shape ``(S,)``, nan where not scored
        alpha: shape ``(S,)``, nan where undefined
        alpha_reason: shape ``(S,)``, index into ``ALPHA_REASONS``
        config: the options of the run
    """

    objects: Objects
    assigned: BoolArray
    unit: IntArray
    units: Units
    pairs: MatchedPairs
    sample_pairs: SamplePairs
    object_verdict: IntArray
    area: FloatArray
    boxes_xyxy: FloatArray | None
    size_px: FloatArray
    attributes: tuple[IntArray, ...]
    visibility: FloatArray | None
    best_iou: FloatArray
    aligned: FloatArray | None
    n_crowd: IntArray
    score: FloatArray
    alpha: FloatArray
    alpha_reason: IntArray
    config: AgreementConfig

    @property
    def n_samples(self) -> int:
        """Number of samples ``S``."""
        return len(self.assigned)

    @property
    def n_annotators(self) -> int:
        """Number of annotators ``R``."""
        return int(self.assigned.shape[1])

    @property
    def n_assigned(self) -> IntArray:
        """Annotators assigned to every sample, shape ``(S,)``."""
        n: IntArray = self.assigned.sum(axis=1)
        return n

    @property
    def rated(self) -> BoolArray:
        """Samples with at least two assigned annotators, shape ``(S,)``."""
        return self.n_assigned >= 2

    @property
    def n_objects(self) -> IntArray:
        """Objects of every sample, shape ``(S,)``."""
        return np.bincount(self.objects.sample, minlength=self.n_samples)

    @property
    def n_units(self) -> IntArray:
        """Units of every sample, shape ``(S,)``."""
        return np.bincount(self.units.sample, minlength=self.n_samples)

    def pair_score(self) -> FloatArray:
        """Panoptic quality of every sample pair, shape ``(Q,)``; nan where not scored."""
        return pair_scores(self.objects, self.pairs, self.sample_pairs, self.n_objects, empty=self.config.empty)

    def ratings(self, *, missing: str | None = None, empty: str | None = None) -> Ratings:
        """What alpha counts, under the rules of the run or others."""
        return ratings_of(
            self.objects,
            self.unit,
            self.units,
            self.n_assigned,
            self.n_objects,
            missing=missing or self.config.missing,  # type: ignore[arg-type]
            empty=empty or self.config.empty,  # type: ignore[arg-type]
        )


def largest(counts: Sequence[int] | IntArray, n: int) -> list[int]:
    """Positions of the ``n`` largest counts, the largest first, equal ones in their order."""
    order: list[int] = np.argsort(-np.asarray(counts, np.int64), kind="stable")[:n].tolist()
    return order
