"""Attributes of matched objects in a report, against loops over units."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from tests.agreement.agreement_oracle import NAMES, NAN, Sample, batch_of, object_report, random_samples, units_of
from tests.agreement.families import VALUES
from tests.agreement.found import same
from tests.chance import seeds

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.matching import compute_agreement_of
from annotator_agreement.agreement.objects import AttributeSummary
from annotator_agreement.agreement.statistics import AttributeCodes
from annotator_agreement.metrics import krippendorff_alpha, percent_agreement

Value = str | float | bool | None


def given_of(samples: list[Sample], seed: int, values: list[Value]) -> list[Value]:
    """A value for every label, in the order of the columns."""
    rng = np.random.default_rng(seed)
    n = sum(len(labels) for sample in samples for labels in sample.values())
    return [values[k] for k in rng.choice(len(values), n, p=[0.2, *[0.8 / (len(values) - 1)] * (len(values) - 1)])]


def summaries_of(
    samples: list[Sample],
    given: dict[str, list[Value]],
    cuts: int = 1,
    order: int = 1,
    others: Sequence[Value] = (),
    **options: Any,
) -> dict[str, AttributeSummary]:
    """What the report says, from one or more batches; codes are given in the order of the labels, or the other way.

    ``others`` are values that have codes before these.
    """
    config = make_config(NAMES, attributes=list(given), resamples=0, **options)
    codes = {name: AttributeCodes(name) for name in config.attributes}
    for name in config.attributes:
        codes[name]._values.extend(others)  # quicker than to ask for the code of each
        codes[name].of(given[name][::order])
    batches, start = [], 0
    for rows in np.array_split(np.arange(len(samples)), cuts):
        batch = batch_of([samples[k] for k in rows], len(NAMES))
        end = start + len(batch.objects)
        columns = tuple(codes[name].of(given[name][start:end]) for name in config.attributes)
        numbers = tuple(codes[name].numbers() for name in config.attributes)
        batches.append(dataclasses.replace(batch, attributes=columns, attribute_numbers=numbers))
        start = end
    values = {name: codes[name].values_of_codes() for name in config.attributes}
    return {entry.name: entry for entry in object_report(batches, config, attribute_values=values).attributes}


def tables_of(samples: list[Sample], given: list[Value]) -> tuple[list[int], list[dict[int, Value]]]:
    """Sample and values by annotator of every unit."""
    batch = batch_of(samples, len(NAMES))
    config = make_config(NAMES, resamples=0)
    agreement = compute_agreement_of(batch, config)
    units = units_of(samples, agreement)
    values: list[dict[int, Value]] = [{} for _ in units]
    for row, unit in enumerate(agreement.matching.unit.tolist()):
        if given[row] is not None:
            values[unit][int(batch.objects.annotator[row])] = given[row]
    return [unit.sample for unit in units], values


def key(value: Value) -> tuple[bool, Value]:
    """True is not 1."""
    return isinstance(value, bool), value


def differ(a: Value, b: Value, tolerance: float) -> bool:
    """Whether two values differ."""
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in (a, b)]
    if all(numbers):
        return abs(a - b) > tolerance  # type: ignore[operator]
    return key(a) != key(b)


@pytest.mark.parametrize("tolerance", [0.0, 0.5])
@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.few(2)
def test_an_attribute_has_the_numbers_of_the_units_in_which_two_gave_it(seed: int, tolerance: float) -> None:
    samples = random_samples(seed, n_samples=40, n_annotators=4)
    given = {name: given_of(samples, seed + place, values) for place, (name, values) in enumerate(VALUES.items())}
    summaries = summaries_of(samples, given, tolerance=tolerance)
    assert list(summaries) == ["age", "mixed", "occluded", "side"]
    for name, entry in summaries.items():
        of_sample, units = tables_of(samples, given[name])
        several = [values for values in units if len(values) >= 2]
        pairs = [[differ(a, b, tolerance) for a, b in combinations(values.values(), 2)] for values in several]
        assert (entry.n_units, entry.n_conflicts) == (len(several), sum(any(pair) for pair in pairs))
        same(entry.percent_agreement, 1 - float(np.mean([np.mean(pair) for pair in pairs])))
        assert entry.level == ("interval" if name == "age" else "nominal")
        numbers = {key(value): k for k, value in enumerate(VALUES[name])}
        table = np.array(
            [
                [
                    (values[r] if name == "age" else numbers[key(values[r])]) if r in values else NAN
                    for r in range(len(NAMES))
                ]
                for values in several
            ],
            dtype=float,
        )
        same(entry.alpha, krippendorff_alpha(table, level=entry.level))  # type: ignore[arg-type]
        if tolerance == 0.0 and name != "age":
            same(entry.percent_agreement, percent_agreement(table))

        met = Counter(
            tuple(sorted((numbers[key(a)], numbers[key(b)])))
            for values in several
            for a, b in combinations(values.values(), 2)
            if differ(a, b, tolerance)
        )
        assert sorted(entry["n"] for entry in entry.conflicts) == sorted(met.values())
        assert [row["n"] for row in entry.conflicts] == sorted((row["n"] for row in entry.conflicts), reverse=True)
        for row in entry.conflicts:
            assert met[tuple(sorted((numbers[key(row["a"])], numbers[key(row["b"])])))] == row["n"]

        shares: dict[int, list[bool]] = {}
        for s, values in zip(of_sample, units, strict=True):
            shares.setdefault(s, []).extend(differ(a, b, tolerance) for a, b in combinations(values.values(), 2))
        worst = sorted((float(np.mean(pair)) for pair in shares.values() if any(pair)), reverse=True)[:5]
        assert [row["value"] for row in entry.worst_samples] == pytest.approx(worst)


@pytest.mark.parametrize("cuts", [2, 9])
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.few(2)
def test_neither_batches_nor_the_order_of_codes_matter(cuts: int, order: int) -> None:
    samples = random_samples(4, n_samples=30, n_annotators=4)
    given = {name: given_of(samples, place, values) for place, (name, values) in enumerate(VALUES.items())}
    one, other = summaries_of(samples, given), summaries_of(samples, given, cuts, order)
    for name, entry in one.items():
        for field in dataclasses.fields(entry):
            expected = getattr(entry, field.name)
            assert getattr(other[name], field.name) == (
                pytest.approx(expected, abs=1e-12) if isinstance(expected, float) else expected
            )


@pytest.mark.long
def test_an_attribute_may_have_millions_of_values() -> None:
    samples = random_samples(4, n_samples=20, n_annotators=4)
    given = {"age": given_of(samples, 0, VALUES["age"])}
    assert summaries_of(samples, given) == summaries_of(samples, given, others=range(100, 1_100_100))


def test_an_attribute_that_nobody_gave_has_no_numbers_and_one_without_variation_no_alpha_unless_asked_for() -> None:
    samples: list[Sample] = [{r: [(1, 0.1, 0.1, 0.3, 0.3)] for r in range(2)}]
    (entry,) = summaries_of(samples, {"occluded": [None, None]}).values()
    assert (entry.n_units, entry.n_conflicts, entry.percent_agreement, entry.alpha) == (0, 0, None, None)
    assert (entry.level, entry.conflicts, entry.worst_samples) == ("nominal", [], [])
    for value in (3, "left", True):
        for undefined, alpha in (("none", None), ("one", 1.0)):
            (entry,) = summaries_of(samples, {"x": [value, value]}, undefined=undefined).values()
            assert (entry.percent_agreement, entry.alpha) == (1.0, alpha)
