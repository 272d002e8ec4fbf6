"""Do annotators name an object alike that two or more of them drew?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...metrics.alpha.nominal import NominalCounts
from ..classes import MISSING
from ..config import AgreementConfig
from ..report import Describe, number
from .additive import Additive, SparseCounts, Worst
from .chunk import Chunk
from .coefficients import alpha_of, coefficients_of
from .confusions import listed
from .summaries import ClassGivenMatch
from .worst import described

#: pairs of classes that a report lists
MAX_LISTED = 100


@dataclass(frozen=True, slots=True)
class ClassSums(Additive):
    """Sums over samples.

    Attributes:
        counts: ratings of units with at least two members, missing left out
        worst: the samples with the largest share of pairs of labels of different classes, with the opposite sign
    """

    counts: NominalCounts
    worst: Worst


def class_sums(chunk: Chunk) -> ClassSums:
    """The sums of some samples."""
    ratings, n_samples = chunk.ratings, chunk.findings.n_samples
    drawn = ratings.category != MISSING
    n_pairs = np.bincount(chunk.match_sample, minlength=n_samples)
    differ = ~chunk.findings.pairs.same_class
    n_differ = np.bincount(chunk.match_sample[differ], minlength=n_samples)
    share = np.where(n_differ > 0, n_differ / np.maximum(n_pairs, 1), np.nan)
    return ClassSums(
        chunk.counts(ratings.unit[drawn], ratings.category[drawn], ratings.count[drawn]),
        Worst.of(-share, n_pairs, chunk.label_area),
    )


def class_given_match(
    sums: ClassSums, met: SparseCounts, class_names: Sequence[str], config: AgreementConfig, describe: Describe
) -> ClassGivenMatch:
    """The answer of a report.

    Args:
        sums: over all samples
        met: how often two classes met in one unit, over all pairs of labels
        class_names: name of every class code
        config: the options of the run
        describe: says where a sample is
    """
    tally = sums.counts.tally()
    confusion = listed(met, class_names, MAX_LISTED)
    return ClassGivenMatch(
        alpha=number(alpha_of(tally, config)),
        percent_agreement=number(tally.percent_agreement()),
        n_units=tally.n_units,
        coefficients=coefficients_of(sums.counts, config),
        confusion=confusion.entries,
        n_unlisted=confusion.n_unlisted,
        worst_samples=described(sums.worst, describe, largest=True),
    )
