"""What alpha would be without each of the annotators, the units left as they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...metrics.alpha.nominal import nominal_alpha_of_sums
from ...metrics.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..classes import MISSING
from ..config import AgreementConfig
from .additive import Additive
from .chunk import Chunk
from .coefficients import ruled


@dataclass(frozen=True, slots=True)
class VitalitySums(Additive):
    """What alpha needs, without each of the annotators; over the samples that two of the others were assigned to.

    Attributes:
        observed: shape ``(R,)``, sum over units of ``(m² - Σ_c n_uc²) / (m - 1)``
        counts: shape ``(R, K)``, ratings of every category
    """

    observed: FloatArray
    counts: FloatArray

    def alphas(self, config: AgreementConfig) -> list[float]:
        """Alpha without each of the annotators; nan where undefined."""
        alphas = nominal_alpha_of_sums(self.observed, self.counts).tolist()
        return [ruled(alpha, n, config) for alpha, n in zip(alphas, self.counts.sum(axis=1).tolist(), strict=True)]


def vitality_sums(chunk: Chunk) -> VitalitySums:
    """The sums of some samples."""
    return _with_missing(chunk) if chunk.findings.config.missing == "category" else _without_missing(chunk)


def _disagreement(m: IntArray, squares: IntArray) -> FloatArray:
    """``(m² - Σ_c n_uc²) / (m - 1)`` of units with ``m`` ratings; 0 where there are less than two."""
    return np.where(m >= 2, (m * m - squares) / np.maximum(m - 1, 1), 0.0)


def _counts(chunk: Chunk, annotator: IntArray, category: IntArray) -> FloatArray:
    """How often every annotator has every category, shape ``(R, K)``."""
    n, k = chunk.findings.n_annotators, chunk.n_categories
    return np.bincount(annotator * k + category, minlength=n * k).reshape(n, k).astype(np.float64)


def _with_missing(chunk: Chunk) -> VitalitySums:
    findings = chunk.findings
    objects, unit, n_samples = findings.objects, findings.unit, findings.n_samples
    assigned, votes, of_sample = findings.units.assigned, findings.units.votes, findings.units.sample
    n_assigned = findings.n_assigned
    squares = sums_by(unit, chunk.alike, len(votes)).astype(np.int64)  # Σ_c n_uc²
    absent = assigned - votes
    as_it_is = np.where(assigned >= 2, _disagreement(assigned, squares + absent**2), 0.0)
    # one who did not draw it is gone, or one who did, and with the only one the unit
    fewer = assigned - 1
    one_absent_less = _disagreement(fewer, squares + np.maximum(absent - 1, 0) ** 2)
    of_member = fewer[unit]
    one_member_less = _disagreement(of_member, squares[unit] - 2 * chunk.alike + 1 + absent[unit] ** 2)

    total = sums_by(of_sample, as_it_is, n_samples)
    reduced = sums_by(of_sample, one_absent_less, n_samples)
    by_annotator = objects.annotator
    observed = (
        total.sum()
        + (reduced - total) @ findings.assigned
        + sums_by(by_annotator, one_member_less - one_absent_less[unit], findings.n_annotators)
    )

    rated = n_assigned >= 2
    still_rated = n_assigned >= 3
    counts = np.bincount(objects.category[rated[objects.sample]], minlength=chunk.n_categories) - _lost(chunk, rated)
    absent_of_sample = sums_by(of_sample, np.where(assigned >= 2, absent, 0), n_samples)
    absent_reduced = sums_by(of_sample, np.where(fewer >= 2, absent - 1, 0), n_samples)
    more = np.where(fewer[unit] >= 2, np.where(votes[unit] == 1, 1 - absent[unit], 1), 0)
    counts[:, MISSING] = (
        absent_of_sample.sum()
        + (absent_reduced - absent_of_sample) @ findings.assigned
        + sums_by(by_annotator, more, findings.n_annotators)
    )
    if findings.config.empty == "agree":
        counts[:, MISSING] += _empty(chunk, rated, still_rated)
    return VitalitySums(observed, counts)


def _lost(chunk: Chunk, rated: BoolArray) -> FloatArray:
    """Objects that do not count without each of the annotators, by class, shape ``(R, K)``.

    Their own, and those of the only other one on a sample.
    """
    findings = chunk.findings
    objects = findings.objects
    kept = rated[objects.sample]
    of_two = kept & (findings.n_assigned[objects.sample] == 2)
    both = findings.assigned @ np.arange(findings.n_annotators)
    partner = both[objects.sample[of_two]] - objects.annotator[of_two]
    return _counts(
        chunk,
        np.concatenate([objects.annotator[kept], partner]),
        np.concatenate([objects.category[kept], objects.category[of_two]]),
    )


def _empty(chunk: Chunk, rated: BoolArray, still_rated: BoolArray) -> FloatArray:
    """Ratings of images that all others left empty, without each of the annotators, shape ``(R,)``."""
    findings = chunk.findings
    drawn = np.bincount(
        findings.objects.sample * findings.n_annotators + findings.objects.annotator, minlength=findings.assigned.size
    ).reshape(findings.assigned.shape)
    n_assigned = findings.n_assigned[:, None]
    others_drew_nothing = drawn.sum(axis=1, keepdims=True) == drawn
    of_assigned = findings.assigned & still_rated[:, None] & others_drew_nothing
    of_others = ~findings.assigned & rated[:, None] & others_drew_nothing
    ratings: FloatArray = np.where(of_assigned, n_assigned - 1, np.where(of_others, n_assigned, 0)).sum(axis=0)
    return ratings.astype(np.float64)


def _without_missing(chunk: Chunk) -> VitalitySums:
    findings = chunk.findings
    objects, unit, pairs = findings.objects, findings.unit, findings.pairs
    votes = findings.units.votes
    squares = sums_by(unit, chunk.alike, len(votes)).astype(np.int64)
    as_it_is = _disagreement(votes, squares)
    member = votes[unit]
    one_less = _disagreement(member - 1, squares[unit] - 2 * chunk.alike + 1)
    observed = as_it_is.sum() + sums_by(objects.annotator, one_less - as_it_is[unit], findings.n_annotators)

    matched = member >= 2
    of_two = votes[unit[pairs.i]] == 2  # the other rating of the unit has nothing to be compared with
    i, j = pairs.i[of_two], pairs.j[of_two]
    lost = _counts(
        chunk,
        np.concatenate([objects.annotator[matched], objects.annotator[i], objects.annotator[j]]),
        np.concatenate([objects.category[matched], objects.category[j], objects.category[i]]),
    )
    return VitalitySums(observed, np.bincount(objects.category[matched], minlength=chunk.n_categories) - lost)
