"""Do annotators give a matched object the same attributes?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...metrics.alpha import alpha_of as alpha_of_disagreement
from ...metrics.arrays import BoolArray, FloatArray, IntArray
from ..attribute_values import NOT_GIVEN, is_number
from ..config import AgreementConfig
from ..ratings.compute import agreeing
from ..report import Describe, number
from .additive import Additive, SparseCounts, Worst
from .chunk import Chunk
from .coefficients import ruled
from .summaries import AttributeSummary
from .worst import described

#: pairs of values that a report lists
MAX_LISTED = 20
#: bits for a number of annotators and two codes of values, of which measured ones may have millions
_WIDTHS = (14, 24, 24)


@dataclass(frozen=True, slots=True)
class Values:
    """What the codes of an attribute stand for.

    Attributes:
        name: of the attribute
        values: value of every code, None for *not given*
        numbers: number of every code, nan where it is none
        tolerance: numbers that differ by at most this agree
    """

    name: str
    values: Sequence[Any]
    numbers: FloatArray
    tolerance: float

    @classmethod
    def of(cls, name: str, values: Sequence[Any], tolerance: float) -> Values:
        """The values of an attribute."""
        return cls(name, values, np.array([float(v) if is_number(v) else math.nan for v in values]), tolerance)

    def differ(self, a: IntArray, b: IntArray) -> BoolArray:
        """Whether the values of two columns of codes differ."""
        x, y = self.numbers[a], self.numbers[b]
        both_numbers = ~np.isnan(x) & ~np.isnan(y)
        close = agreeing(np.where(both_numbers, x, 0.0), np.where(both_numbers, y, 0.0), self.tolerance)
        differ: BoolArray = (a != b) & ~(both_numbers & close)
        return differ

    def ranks(self) -> IntArray:
        """Place of every code in the order of the values: numbers first, then by name."""
        keys = [
            (not is_number(value), value if is_number(value) else 0.0, str(value), code)
            for code, value in enumerate(self.values)
        ]
        ranks = np.empty(len(keys), np.int64)
        ranks[[key[-1] for key in sorted(keys)]] = np.arange(len(keys))
        return ranks


@dataclass(frozen=True, slots=True)
class AttributeSums(Additive):
    """Sums over units in which two or more annotators gave a value.

    Attributes:
        n_units: those units
        n_conflicts: those in which two values differ
        counts: counts of (value)
        met: counts of (values given in the unit, value, other value) over pairs of labels of one unit
        worst: the samples with the largest share of pairs of values that differ, with the opposite sign
    """

    n_units: int
    n_conflicts: int
    counts: SparseCounts
    met: SparseCounts
    worst: Worst


@dataclass(frozen=True, slots=True)
class EveryAttribute:
    """The sums of all compared attributes, in their order."""

    parts: tuple[AttributeSums, ...]

    def __add__(self, other: EveryAttribute) -> EveryAttribute:
        return EveryAttribute(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))


def attribute_sums(chunk: Chunk, attributes: Sequence[Values]) -> EveryAttribute:
    """The sums of some samples."""
    found = zip(chunk.findings.attributes, attributes, strict=False)
    return EveryAttribute(tuple(_sums(chunk, codes, values) for codes, values in found))


def _sums(chunk: Chunk, codes: IntArray, values: Values) -> AttributeSums:
    findings = chunk.findings
    pairs, unit, n_samples = findings.pairs, findings.unit, findings.n_samples
    given = codes != NOT_GIVEN
    n_given = np.bincount(unit[given], minlength=len(findings.units.sample))
    compared = given & (n_given[unit] >= 2)
    both = given[pairs.i] & given[pairs.j]
    i, j = pairs.i[both], pairs.j[both]
    differ = values.differ(codes[i], codes[j])
    of_sample = chunk.match_sample[both]
    n_pairs = np.bincount(of_sample, minlength=n_samples)
    n_differ = np.bincount(of_sample[differ], minlength=n_samples)
    share = np.where(n_differ > 0, n_differ / np.maximum(n_pairs, 1), np.nan)
    return AttributeSums(
        n_units=int((n_given >= 2).sum()),
        n_conflicts=len(np.unique(unit[i[differ]])),
        counts=SparseCounts.of(codes[compared]),
        met=SparseCounts.of(n_given[unit[i]], codes[i], codes[j], widths=_WIDTHS),
        worst=Worst.of(-share, n_pairs, chunk.label_area),
    )


def attribute_summaries(
    every: EveryAttribute, attributes: Sequence[Values], config: AgreementConfig, describe: Describe
) -> list[AttributeSummary]:
    """The answers of a report, in the order of the attributes' names."""
    summaries = []
    for sums, values in zip(every.parts, attributes, strict=False):
        m, a, b = sums.met.columns()
        differ = values.differ(a, b)
        n = sums.met.counts
        agreement = None
        if sums.n_units:
            agreement = 1.0 - float((2.0 * n[differ] / (m * (m - 1))[differ]).sum()) / sums.n_units
        codes = sums.counts.column(0)
        level = "interval" if len(codes) and not np.isnan(values.numbers[codes]).any() else "nominal"
        alpha = _alpha(sums, values.numbers if level == "interval" else None)
        summaries.append(
            AttributeSummary(
                name=values.name,
                level=level,
                n_units=sums.n_units,
                n_conflicts=sums.n_conflicts,
                percent_agreement=agreement,
                alpha=number(ruled(alpha, sums.n_units, config)),
                conflicts=_conflicts(a[differ], b[differ], n[differ], values),
                worst_samples=described(sums.worst, describe, largest=True),
            )
        )
    return summaries


def _alpha(sums: AttributeSums, numbers: FloatArray | None) -> float:
    """Alpha of the values: nominal, or for intervals of the numbers that the codes stand for."""
    m, a, b = sums.met.columns()
    codes, counts = sums.counts.column(0), sums.counts.counts.astype(np.float64)
    n = int(counts.sum())
    if numbers is None:
        distance = (a != b).astype(np.float64)
        expected = float(n * n - (counts * counts).sum())
    else:
        own = numbers[codes]
        low = float(own.min(initial=math.inf))
        spread = float(own.max(initial=-math.inf)) - low
        if not n or spread == 0.0:
            return math.nan
        # as a share of the range: neither a large mean nor large numbers cost digits
        scaled = (numbers - low) / spread
        distance = (scaled[a] - scaled[b]) ** 2
        mean = float((counts * scaled[codes]).sum()) / n
        expected = 2.0 * n * float((counts * (scaled[codes] - mean) ** 2).sum())
    observed = float((2.0 * sums.met.counts * distance / np.maximum(m - 1, 1)).sum())
    return float(alpha_of_disagreement(observed, expected, n))


def _conflicts(a: IntArray, b: IntArray, n: IntArray, values: Values) -> list[dict[str, Any]]:
    """The pairs of different values, the most frequent first; equally frequent ones in the order of the values."""
    ranks = values.ranks()
    first = ranks[a] <= ranks[b]
    low, high = np.where(first, a, b), np.where(first, b, a)
    keys, place = np.unique(low * len(values.values) + high, return_inverse=True)
    counts = np.bincount(place, weights=n).astype(np.int64)
    low, high = keys // len(values.values), keys % len(values.values)
    order = np.lexsort((ranks[high], ranks[low], -counts))[:MAX_LISTED]
    return [
        {"a": values.values[p], "b": values.values[q], "n": count}
        for p, q, count in zip(low[order].tolist(), high[order].tolist(), counts[order].tolist(), strict=True)
    ]
