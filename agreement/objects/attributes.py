"""Agreement on attribute values of matched objects."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...metrics.alpha.rated import MAX_VALUES, interval_alpha_of_sums
from ...metrics.bootstrap.draws import hstack
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..matching.tables import Ratings, Tables
from ..ratings.compute import agreeing
from ..statistics.codes import NOT_GIVEN, is_number
from ..statistics.estimates import Estimate
from ..statistics.numbers import Key, Numbers, ratio
from ..statistics.report import Describe, ReportContext, number
from .headline import N_HEAD, N_UNITS, tally_coefficients, tally_columns
from .records import Gathered, ObjectRecords, count_codes, described_worst
from .report import AttributeSummary

#: pairs of values listed in a report
MAX_LISTED = 20


@dataclass(frozen=True, slots=True)
class Values:
    """The values of the codes of an attribute."""

    name: str  #: name of the attribute
    values: Sequence[Any]  #: value of every code, None for *not given*
    numbers: FloatArray  #: number of every code, nan if its value is not a number
    tolerance: float  #: numbers that differ by at most this agree
    #: the numbers, centred and scaled: neither a large mean nor large numbers cost digits
    scaled: FloatArray = field(default_factory=lambda: np.empty(0))
    may_be_names: bool = False  #: whether a value that is compared is no number
    are_few: bool = True  #: whether so few different values are compared that nominal alpha has an interval

    @classmethod
    def of(cls, name: str, values: Sequence[Any], tolerance: float, used: IntArray | None = None) -> Values:
        """The values of an attribute; ``used`` are the codes that are compared, each once."""
        numbers = np.array([float(v) if is_number(v) else math.nan for v in values])
        used = np.arange(len(values)) if used is None else used
        known = numbers[used][~np.isnan(numbers[used])]
        middle, spread = (float(known.mean()), float(np.ptp(known))) if len(known) else (0.0, 0.0)
        scaled, are_few = (numbers - middle) / (spread or 1.0), len(used) <= MAX_VALUES["nominal"]
        return cls(name, values, numbers, tolerance, scaled, len(known) < len(used), are_few)

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


def attribute_numbers(t: Tables, attributes: Sequence[Values]) -> Iterator[Numbers]:
    """The numbers of all compared attributes, over units in which two or more annotators gave a value.

    Alpha is interval alpha if all values are numbers, else nominal alpha (without an interval if there are very many
    different values): both are computed, and :func:`unused_tables` names those to drop.
    """
    undefined, first = t.config.undefined, np.zeros(1, np.int64)

    def of_names(sums: FloatArray) -> FloatArray:
        return tally_coefficients(sums, undefined)["alpha"][..., None]

    for place, values in enumerate(attributes):
        (agreement, alpha), codes, sample = attribute_keys(values.name), t.attributes[place], t.units.sample
        i, j, of_pair, n_given = _compared_pairs(t, codes)
        m, differ = n_given[t.unit[i]], values.differ(codes[i], codes[j])
        share = sums_by(of_pair, 2.0 * differ / (m * (m - 1)), t.n_samples)
        n_compared = np.bincount(sample[n_given >= 2], minlength=t.n_samples)
        columns = hstack([np.column_stack([share, n_compared])])
        yield Numbers((agreement,), columns, lambda sums: 1.0 - ratio(sums[..., :1], sums[..., 1:]), basis=first + 1)

        compared = (codes != NOT_GIVEN) & (n_given[t.unit] >= 2)
        numbers = values.scaled[codes]
        observed = np.nan_to_num(2.0 * (numbers[i] - numbers[j]) ** 2 / (m - 1))
        of_label, value = t.objects.sample[compared], np.nan_to_num(numbers[compared])
        of_labels = [sums_by(of_label, each, t.n_samples) for each in (np.ones(len(value)), value, value**2)]
        columns = hstack([np.column_stack([*of_labels, sums_by(of_pair, observed, t.n_samples)])])
        yield Numbers(
            (alpha,),
            columns,
            lambda sums: interval_alpha_of_sums(sums, undefined)[..., None],
            basis=first,
            table=f"{values.name} interval",
        )
        if values.may_be_names:
            n_values = len(values.values)
            cells, count = np.unique(t.unit[compared] * n_values + codes[compared], return_counts=True)
            ratings = Ratings(cells // n_values, cells % n_values, count, sample)
            columns = tally_columns(ratings, sample, t.n_samples, n_values)
            yield Numbers(
                (alpha,),
                columns,
                of_names,
                basis=first + N_UNITS,
                by_sample=values.are_few,
                table=f"{values.name} nominal",
                n_fixed=N_HEAD,
                n_blocks=2,
            )


def _compared_pairs(t: Tables, codes: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The pairs of labels with a value, their sample, and the number of values of every unit ``(U,)``."""
    given, pairs = codes != NOT_GIVEN, t.pairs
    both = given[pairs.i] & given[pairs.j]
    n_given = np.bincount(t.unit[given], minlength=len(t.units.sample))
    return pairs.i[both], pairs.j[both], t.pair_sample[both], n_given


def add_attributes(gathered: Gathered, t: Tables, attributes: Sequence[Values]) -> None:
    """Add to ``gathered`` counts of conflicts of values, rows for the worst samples, numbers of units and values."""
    for place, values in enumerate(attributes):
        codes = t.attributes[place]
        i, j, of_pair, n_given = _compared_pairs(t, codes)
        differ = values.differ(codes[i], codes[j])
        n_pairs, n_differ = (np.bincount(some, minlength=t.n_samples) for some in (of_pair, of_pair[differ]))
        of_sample = np.where(n_differ > 0, -n_differ / np.maximum(n_pairs, 1), np.nan)
        compared = codes[(codes != NOT_GIVEN) & (n_given[t.unit] >= 2)]
        n_names = int(np.isnan(values.numbers[compared]).sum())
        counts = [int((n_given >= 2).sum()), len(np.unique(t.unit[i[differ]])), len(compared), n_names]
        gathered.add(
            {f"{values.name} counts": np.array([counts]), f"{values.name} samples": np.stack([of_sample, n_pairs], 1)}
        )
        gathered.add_counts({f"{values.name} conflicts": count_codes(codes[i[differ]], codes[j[differ]])})


def unused_tables(gathered: Gathered, attributes: Sequence[Values]) -> list[str]:
    """The tables with alpha of the level that is not used; an attribute without values keeps the interval one."""
    is_name = {values.name: gathered.rows(f"{values.name} counts")[:, -1].any() for values in attributes}
    return [f"{name} {'interval' if found else 'nominal'}" for name, found in is_name.items()]


def attribute_summaries(
    gathered: Gathered, attributes: Sequence[Values], found: Mapping[Key, Estimate], describe: Describe
) -> list[AttributeSummary]:
    """The summaries of the attributes in the report."""
    area = gathered.rows("samples")[:, -1] if attributes else np.empty(0)
    summaries = []
    for values in attributes:
        agreement, alpha = (number(found[key].value) for key in attribute_keys(values.name))
        n_units, n_conflicts, n_compared, n_names = gathered.rows(f"{values.name} counts").sum(axis=0).tolist()
        of_sample, n_pairs = gathered.rows(f"{values.name} samples").T
        # the pairs of different values, the most frequent first; ties in the order of the values
        ranks, (a, b, n) = values.ranks(), gathered.counts(f"{values.name} conflicts")
        first = ranks[a] <= ranks[b]
        low, high, n = count_codes(np.where(first, a, b), np.where(first, b, a), times=n)
        order = np.lexsort((ranks[high], ranks[low], -n))[:MAX_LISTED]
        conflicts = zip(low[order].tolist(), high[order].tolist(), n[order].tolist(), strict=True)
        summaries.append(
            AttributeSummary(
                name=values.name,
                level="interval" if n_compared and not n_names else "nominal",
                n_units=n_units,
                n_conflicts=n_conflicts,
                percent_agreement=agreement,
                alpha=alpha,
                conflicts=[{"a": values.values[p], "b": values.values[q], "n": times} for p, q, times in conflicts],
                worst_samples=described_worst(of_sample, n_pairs, area, describe, sign=-1.0),
            )
        )
    return summaries


def attribute_keys(name: str) -> tuple[Key, Key]:
    """Keys of percent agreement and alpha of an attribute."""
    return (f"attributes.{name}.percent_agreement",), (f"attributes.{name}.alpha",)


def compared_attributes(records: ObjectRecords, context: ReportContext) -> list[Values]:
    """The compared attributes, in the order of their columns."""
    config, found, n_units = context.config, [], records.column("n_units").astype(np.int64)
    unit = np.repeat(np.cumsum(n_units) - n_units, records.column("n_objects")) + records.column("unit")
    for place, name in enumerate(config.attributes):
        codes = records.column("attributes")[:, place]
        given = codes != NOT_GIVEN
        compared = given & (np.bincount(unit[given], minlength=int(n_units.sum()))[unit] >= 2)
        values = context.attribute_values.get(name, [None])
        found.append(Values.of(name, values, config.tolerance, np.unique(codes[compared])))
    return found
