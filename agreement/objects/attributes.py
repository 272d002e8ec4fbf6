"""Agreement on attribute values of matched objects."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...metrics.alpha.rated import MAX_VALUES, interval_alpha_of_sums
from ...metrics.bootstrap.draws import hstack
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..matching.compute import Ratings
from ..ratings.compute import agreeing
from ..settings.config import Undefined
from ..statistics.codes import NOT_GIVEN, is_number
from ..statistics.estimates import Estimate
from ..statistics.numbers import BySample, Key, Numbers, Rows, ratio
from ..statistics.report import Describe, ReportContext, number
from .headline import N_UNITS, TallySums, tally_columns, used_categories
from .records import ObjectRecords
from .report import AttributeSummary
from .sums import Additive, Chunk, SparseCounts, Worst

#: pairs of values listed in a report
MAX_LISTED = 20
#: bits of a value code (measured values may have millions of different values)
_BITS = 31


@dataclass(frozen=True, slots=True)
class Values:
    """The values of the codes of an attribute."""

    name: str  #: name of the attribute
    values: Sequence[Any]  #: value of every code, None for *not given*
    numbers: FloatArray  #: number of every code, nan if its value is not a number
    tolerance: float  #: numbers that differ by at most this agree

    @classmethod
    def of(cls, name: str, values: Sequence[Any], tolerance: float) -> Values:
        """The values of an attribute."""
        return cls(name, values, np.array([float(v) if is_number(v) else math.nan for v in values]), tolerance)

    def differ(self, a: IntArray, b: IntArray) -> BoolArray:
        """True where the values of two columns of codes differ."""
        x, y = self.numbers[a], self.numbers[b]
        both_numbers = ~np.isnan(x) & ~np.isnan(y)
        close = agreeing(np.where(both_numbers, x, 0.0), np.where(both_numbers, y, 0.0), self.tolerance)
        differ: BoolArray = (a != b) & ~(both_numbers & close)
        return differ

    def ranks(self) -> IntArray:
        """Rank of every code in the order of the values: numbers first, then texts by name."""
        keys = [
            (not is_number(value), value if is_number(value) else 0.0, str(value), code)
            for code, value in enumerate(self.values)
        ]
        ranks = np.empty(len(keys), np.int64)
        ranks[[key[-1] for key in sorted(keys)]] = np.arange(len(keys))
        return ranks


@dataclass(frozen=True, slots=True)
class AttributeSums(Additive):
    """Parts of the report on an attribute in addition to its numbers."""

    n_units: int  #: units in which two or more annotators gave a value
    n_conflicts: int  #: units in which two values differ
    pair_counts: SparseCounts  #: counts of (value, other value) over pairs of labels of one unit with different values
    worst: Worst  #: the samples with the largest share of pairs with different values (stored with opposite sign)


class Attribute:
    """The numbers of one attribute, over units in which two or more annotators gave a value.

    Alpha is interval alpha if all values are numbers, else nominal alpha (without a confidence interval if there are
    very many different values).

    Args:
        values: the values of the codes
        used: the codes that occur, each once
        place: position of the attribute among the compared ones
    """

    def __init__(
        self, values: Values, used: IntArray, place: int, undefined: Undefined, *, by_sample: BySample
    ) -> None:
        self._values = values
        self._place = place
        self._undefined = undefined
        self._only_numbers = True
        self._is_given = False
        few = len(used) <= MAX_VALUES["nominal"]
        self._plain, self._numbers = Rows(by_sample=by_sample), Rows(by_sample=by_sample)
        self._classes = Rows(by_sample=few and by_sample)
        self._sums: AttributeSums | None = None
        numbers = values.numbers[used]
        known = numbers[~np.isnan(numbers)]
        self._may_be_names = len(known) < len(used)
        # centred and scaled: neither a large mean nor large numbers cost digits
        middle, spread = (float(known.mean()), float(np.ptp(known))) if len(known) else (0.0, 0.0)
        self._scaled = (values.numbers - middle) / (spread or 1.0)

    @property
    def level(self) -> str:
        """Level of measurement of alpha."""
        return "interval" if self._is_given and self._only_numbers else "nominal"

    def add(self, chunk: Chunk) -> None:
        agreement, codes = chunk.agreement, chunk.agreement.attributes[self._place]
        pairs, unit, sample = agreement.pairs, agreement.unit, agreement.units.sample
        n_samples = agreement.n_samples
        given = codes != NOT_GIVEN
        n_given = np.bincount(unit[given], minlength=len(sample))
        both = given[pairs.i] & given[pairs.j]
        i, j, of_pair = pairs.i[both], pairs.j[both], chunk.match_sample[both]
        m = n_given[unit[i]]
        differ = self._values.differ(codes[i], codes[j])
        share = sums_by(of_pair, 2.0 * differ / (m * (m - 1)), n_samples)
        n_compared = np.bincount(sample[n_given >= 2], minlength=n_samples)
        self._plain.add(hstack([np.column_stack([share, n_compared]).astype(np.float64)]))

        compared = given & (n_given[unit] >= 2)
        numbers = self._scaled[codes]
        self._is_given |= bool(compared.any())
        self._only_numbers &= not np.isnan(numbers[compared]).any()
        observed = np.nan_to_num(2.0 * (numbers[i] - numbers[j]) ** 2 / (m - 1))
        of_object, value = agreement.objects.sample[compared], np.nan_to_num(numbers[compared])
        of_objects = [sums_by(of_object, each, n_samples) for each in (np.ones(len(value)), value, value**2)]
        self._numbers.add(hstack([np.column_stack([*of_objects, sums_by(of_pair, observed, n_samples)])]))
        n_values = len(self._values.values)
        if self._may_be_names:
            cells, count = np.unique(unit[compared] * n_values + codes[compared], return_counts=True)
            ratings = Ratings(cells // n_values, cells % n_values, count, sample)
            self._classes.add(tally_columns(ratings, chunk.rows_of(sample), chunk.n_rows, n_values))

        n_pairs, n_differ = np.bincount(of_pair, minlength=n_samples), np.bincount(of_pair[differ], minlength=n_samples)
        of_sample = np.where(n_differ > 0, n_differ / np.maximum(n_pairs, 1), np.nan)
        sums = AttributeSums(
            n_units=int(n_compared.sum()),
            n_conflicts=len(np.unique(unit[i[differ]])),
            pair_counts=SparseCounts.of(codes[i[differ]], codes[j[differ]], widths=(_BITS, _BITS)),
            worst=Worst.of(-of_sample, n_pairs, chunk.label_area),
        )
        self._sums = sums if self._sums is None else self._sums + sums

    def numbers(self) -> Iterator[Numbers]:
        undefined, first = self._undefined, np.zeros(1, np.int64)
        agreement, alpha = attribute_keys(self._values.name)
        yield self._plain.numbers((agreement,), lambda sums: 1.0 - ratio(sums[..., :1], sums[..., 1:]), first + 1)
        if self._only_numbers:
            yield self._numbers.numbers(
                (alpha,), lambda sums: interval_alpha_of_sums(sums, undefined)[..., None], first
            )
            return
        classes, _ = used_categories(self._classes.columns())
        yield Numbers(
            (alpha,),
            classes,
            lambda sums: TallySums(sums).alpha(undefined)[..., None],
            basis=first + N_UNITS,
            by_sample=self._classes.by_sample,
        )

    def summary(self, found: Mapping[Key, Estimate], describe: Describe) -> AttributeSummary:
        """The attribute in the report."""
        assert self._sums is not None
        agreement, alpha = (number(found[key].value) for key in attribute_keys(self._values.name))
        return AttributeSummary(
            name=self._values.name,
            level=self.level,
            n_units=self._sums.n_units,
            n_conflicts=self._sums.n_conflicts,
            percent_agreement=agreement,
            alpha=alpha,
            conflicts=_conflicts(self._sums.pair_counts, self._values),
            worst_samples=self._sums.worst.described(describe, largest=True),
        )


def attribute_keys(name: str) -> tuple[Key, Key]:
    """Keys of percent agreement and alpha of an attribute."""
    return (f"attributes.{name}.percent_agreement",), (f"attributes.{name}.alpha",)


def attribute_numbers(records: ObjectRecords, context: ReportContext, *, by_sample: BySample) -> list[Attribute]:
    """The compared attributes, in the order of their columns."""
    config, found = context.config, []
    for place, name in enumerate(config.attributes):
        values = Values.of(name, context.attribute_values.get(name, [None]), config.tolerance)
        used = np.unique(records.column("attributes")[:, place])
        found.append(Attribute(values, used[used != NOT_GIVEN], place, config.undefined, by_sample=by_sample))
    return found


def _conflicts(pair_counts: SparseCounts, values: Values) -> list[dict[str, Any]]:
    """The pairs of different values, the most frequent first; ties in the order of the values."""
    a, b = pair_counts.columns()
    ranks = values.ranks()
    first = ranks[a] <= ranks[b]
    low, high = np.where(first, a, b), np.where(first, b, a)
    keys, place = np.unique(low * len(values.values) + high, return_inverse=True)
    counts = np.bincount(place, weights=pair_counts.counts).astype(np.int64)
    low, high = keys // len(values.values), keys % len(values.values)
    order = np.lexsort((ranks[high], ranks[low], -counts))[:MAX_LISTED]
    return [
        {"a": values.values[p], "b": values.values[q], "n": count}
        for p, q, count in zip(low[order].tolist(), high[order].tolist(), counts[order].tolist(), strict=True)
    ]
