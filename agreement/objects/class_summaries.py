"""How hard every class is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...metrics.alpha.nominal import nominal_alpha_of_squares
from ...metrics.arrays import FloatArray, IntArray, sums_by
from ..classes import MISSING
from ..config import AgreementConfig
from ..report import ReportContext, number
from .additive import Additive, SparseCounts
from .chunk import Chunk
from .coefficients import ruled
from .confusions import name_ranks
from .localisation import NO_CLASS, Matches, distribution
from .summaries import ClassSummary

#: classes that a report lists
MAX_CLASSES = 1_000
#: classes that a report lists with which one is confused
MAX_CONFUSED = 20


@dataclass(frozen=True, slots=True)
class EveryClassSums(Additive):
    """Sums over rated samples for every class, of shape ``(K,)``.

    Attributes:
        n_objects: labels
        n_units: units in which anybody gave the class
        n_expected: annotators assigned to units, drawn by two or more, of whose labels more than half have the class
        n_missing: those of them without an object
        counts: ratings that alpha counts
        observed: sum over the units that alpha counts of ``2 n_uc (m - n_uc) / (m - 1)``, the disagreement of this
            class and everything else
    """

    n_objects: IntArray
    n_units: IntArray
    n_expected: IntArray
    n_missing: IntArray
    counts: IntArray
    observed: FloatArray


def every_class_sums(chunk: Chunk) -> EveryClassSums:
    """The sums of some samples."""
    findings, ratings, k = chunk.findings, chunk.ratings, chunk.n_categories
    units = findings.units
    n_ratings = sums_by(ratings.unit, ratings.count, len(ratings.sample))[ratings.unit]
    compared = n_ratings >= 2
    m, n = n_ratings[compared], ratings.count[compared]
    drawn = ratings.category != MISSING
    of_unit, category, count = ratings.unit[drawn], ratings.category[drawn], ratings.count[drawn]
    votes, assigned = units.votes[of_unit], units.assigned[of_unit]
    leads = (votes >= 2) & (2 * count > votes)

    def add(rows: IntArray, values: IntArray) -> IntArray:
        return sums_by(rows, values, k).astype(np.int64)

    return EveryClassSums(
        n_objects=add(category, count),
        n_units=np.bincount(category, minlength=k),
        n_expected=add(category[leads], assigned[leads]),
        n_missing=add(category[leads], (assigned - votes)[leads]),
        counts=add(ratings.category[compared], n),
        observed=sums_by(ratings.category[compared], 2.0 * n * (m - n) / np.maximum(m - 1, 1), k),
    )


def binary_alphas(sums: EveryClassSums, config: AgreementConfig) -> list[float]:
    """Alpha of every class against everything else; nan where undefined."""
    n = float(sums.counts.sum())
    own = sums.counts.astype(np.float64)
    alphas = nominal_alpha_of_squares(sums.observed, np.full(len(own), n), own**2 + (n - own) ** 2)
    return [ruled(alpha, n, config) for alpha in alphas.tolist()]


def most_frequent(sums: EveryClassSums, names: Sequence[str]) -> IntArray:
    """Codes of the classes that occur, the most frequent first, equally frequent ones by name."""
    order = np.lexsort((name_ranks(names), -sums.n_objects))
    codes: IntArray = order[sums.n_objects[order] > 0]
    return codes


def class_summaries(
    sums: EveryClassSums, met: SparseCounts, matches: Matches, context: ReportContext
) -> tuple[list[ClassSummary], int]:
    """The most frequent classes, and how many are not listed.

    Args:
        sums: over all samples
        met: how often two classes met in one unit, over all pairs of labels
        matches: the pairs of matched labels
        context: names of the classes and options
    """
    names, config = context.class_names, context.config
    codes = most_frequent(sums, names)
    alphas = binary_alphas(sums, config)
    n_labels = int(sums.n_objects.sum())
    a, b = met.columns()
    both = sums_by(a[a == b], met.counts[a == b], len(names))
    apart = sums_by(np.r_[a[a != b], b[a != b]], np.tile(met.counts[a != b], 2), len(names))
    confused = _confused(met, names)
    iou, ends = _iou_by_class(matches, len(names))
    summaries = []
    for code in codes[:MAX_CLASSES].tolist():
        n_met, n_expected = both[code] + apart[code], int(sums.n_expected[code])
        summaries.append(
            ClassSummary(
                name=names[code],
                n_objects=int(sums.n_objects[code]),
                n_units=int(sums.n_units[code]),
                prevalence=int(sums.n_objects[code]) / n_labels,
                alpha=number(alphas[code]),
                agreement_given_match=float(both[code] / n_met) if n_met else None,
                miss_rate=int(sums.n_missing[code]) / n_expected if n_expected else None,
                **distribution(iou[ends[code] : ends[code + 1]]),
                confused_with=confused[code],
            )
        )
    return summaries, max(len(codes) - MAX_CLASSES, 0)


def _iou_by_class(matches: Matches, n_categories: int) -> tuple[FloatArray, IntArray]:
    """IoU of the pairs of labels of one class, sorted by class, and where those of every class begin."""
    alike = matches.category != NO_CLASS
    category, iou = matches.category[alike], matches.iou[alike]
    order = np.argsort(category, kind="stable")
    return iou[order], np.searchsorted(category[order], np.arange(n_categories + 1))


def _confused(met: SparseCounts, names: Sequence[str]) -> list[list[dict[str, object]]]:
    """With which others every class met, the most frequent first, equally frequent ones by name."""
    a, b = met.columns()
    differ = a != b
    own, other = np.r_[a[differ], b[differ]], np.r_[b[differ], a[differ]]
    n = np.tile(met.counts[differ], 2)
    order = np.lexsort((name_ranks(names)[other], -n, own))
    ends = np.searchsorted(own[order], np.arange(len(names) + 1))
    lists = []
    for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        rows = order[start : min(end, start + MAX_CONFUSED)]
        lists.append(
            [{"class": names[k], "n": count} for k, count in zip(other[rows].tolist(), n[rows].tolist(), strict=True)]
        )
    return lists
