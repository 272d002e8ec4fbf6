"""Do the annotators see the same objects?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...metrics.alpha.nominal import NominalCounts
from ...metrics.arrays import FloatArray, IntArray, sums_by
from ...metrics.detection import f1_score
from ..config import AgreementConfig
from ..report import Describe, number
from .additive import Additive, Worst
from .chunk import Chunk
from .coefficients import coefficients_of
from .summaries import Existence
from .worst import described


@dataclass(frozen=True, slots=True)
class ExistenceSums(Additive):
    """Sums over samples.

    Attributes:
        votes: shape ``(R + 1, R + 1)``, entry ``[n, k]``: units on samples with ``n`` assigned that ``k`` drew
        presence: per rated sample, who drew nothing (category 0) and anything (1)
        n_matched: units that both of two annotators drew, over the pairs of annotators of every sample
        n_labels: labels of the two
        worst: the samples with the lowest F1
    """

    votes: IntArray
    presence: NominalCounts
    n_matched: int
    n_labels: int
    worst: Worst


def matched_of_samples(chunk: Chunk) -> tuple[FloatArray, FloatArray]:
    """What F1 and Jaccard index count, over the pairs of annotators of every sample.

    Returns:
        units that both drew, shape ``(S,)``, and labels of the two, shape ``(S,)``
    """
    shared, n_samples = chunk.findings.sample_pairs, chunk.findings.n_samples
    n_matched = np.bincount(chunk.match_sample, minlength=n_samples).astype(np.float64)
    return n_matched, sums_by(shared.sample, shared.n_a + shared.n_b, n_samples)


def existence_sums(chunk: Chunk) -> ExistenceSums:
    """The sums of some samples."""
    findings, counted = chunk.findings, chunk.rated_unit
    n = findings.n_annotators + 1
    cells = findings.units.assigned[counted] * n + findings.units.votes[counted]
    n_matched, n_labels = matched_of_samples(chunk)
    f1 = f1_score(n_matched, n_labels, 0)
    return ExistenceSums(
        votes=np.bincount(cells, minlength=n * n).reshape(n, n),
        presence=_presence(chunk),
        n_matched=int(n_matched.sum()),
        n_labels=int(n_labels.sum()),
        worst=Worst.of(np.where(f1 < 1.0, f1, np.nan), n_labels, chunk.label_area),
    )


def _presence(chunk: Chunk) -> NominalCounts:
    findings = chunk.findings
    drew = np.zeros(findings.assigned.shape, np.bool_)
    drew[findings.objects.sample, findings.objects.annotator] = True
    samples = np.flatnonzero(findings.rated)
    something = drew[samples].sum(axis=1)
    nothing = findings.n_assigned[samples] - something
    unit = np.arange(len(samples))
    category = np.repeat([0, 1], len(samples))
    return NominalCounts.of(
        np.r_[unit, unit],
        category,
        np.r_[nothing, something],
        max_ratings=findings.n_annotators,
        n_categories=2,
    )


def existence(sums: ExistenceSums, config: AgreementConfig, describe: Describe) -> Existence:
    """The answer of a report."""
    assigned, votes = np.nonzero(sums.votes)
    nothing, something = sums.presence.counts.sum(axis=0).tolist()
    n_drawn = sums.n_labels - sums.n_matched
    return Existence(
        f1=number(float(f1_score(sums.n_matched, sums.n_labels, 0))),
        votes=[
            {"assigned": n, "votes": k, "units": units}
            for n, k, units in zip(assigned.tolist(), votes.tolist(), sums.votes[assigned, votes].tolist(), strict=True)
        ],
        jaccard=sums.n_matched / n_drawn if n_drawn else None,
        presence=coefficients_of(sums.presence, config, n_categories=2),
        share_present=something / (nothing + something) if nothing + something else None,
        worst_samples=described(sums.worst, describe),
    )
