"""Krippendorff's alpha at all levels: published tables, an independent package, pair loops, stability, sums, groups."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.chance import examples, seeds
from tests.metrics.golden_cases import GOLDEN, fraction, rating_table
from tests.metrics.rating_tables import NAN, PUBLISHED, published_ratings, random_ratings, sparse, tables

from annotator_agreement.metrics import (
    NominalTally,
    alpha_by_group,
    alpha_of,
    krippendorff_alpha,
    nominal_alpha_of_sums,
)

LEVELS = ("nominal", "ordinal", "interval", "ratio")
few = examples(100)


def test_published_tables_have_the_published_alpha_and_are_not_changed() -> None:
    for name in ("krippendorff_2011", "wikipedia"):
        table, expected = published_ratings(name), PUBLISHED[name]["alpha"]
        found = [krippendorff_alpha(table, level=level) for level in LEVELS]
        assert_allclose(found, [expected[level] for level in LEVELS], rtol=0, atol=5e-7)
        assert_array_equal(table, published_ratings(name))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", seeds(40))
def test_alpha_is_what_the_krippendorff_package_says(seed: int, level: str) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    table = random_ratings(seed)
    if seed % 2:  # real values, the smallest 0
        table = np.round(table * np.random.default_rng(seed).lognormal(0, 0.7, table.shape), 1)
        table -= np.nanmin(table)
    expected = krippendorff.alpha(reliability_data=table.T, level_of_measurement=level)
    assert_allclose(krippendorff_alpha(table, level=level), expected, rtol=0, atol=1e-12)


def _ordinal(c: float, k: float, ratings: list[float], domain: list[float]) -> float:
    low, high = sorted([domain.index(c), domain.index(k)])
    between = sum(ratings.count(g) for g in domain[low : high + 1])
    return (between - (ratings.count(c) + ratings.count(k)) / 2) ** 2


def _by_pairs(table: np.ndarray, level: str, domain: list[float]) -> float:
    """The definition: all ordered pairs of ratings of one unit, and of all units."""
    units = [row[~np.isnan(row)].tolist() for row in table]
    units = [row for row in units if len(row) >= 2]
    ratings = [value for row in units for value in row]
    difference = {
        "nominal": lambda c, k: float(c != k),
        "ordinal": lambda c, k: _ordinal(c, k, ratings, domain),
        "interval": lambda c, k: (c - k) ** 2,
        "ratio": lambda c, k: ((c - k) / (c + k)) ** 2 if c + k else 0.0,
    }[level]
    n = len(ratings)
    observed = sum(sum(difference(*pair) for pair in permutations(row, 2)) / (len(row) - 1) for row in units)
    expected = sum(difference(*pair) for pair in permutations(ratings, 2))
    return 1 - (n - 1) * observed / expected if expected else NAN


@few
@given(tables([0.0, 1.0, 2.5, 6.0]), st.permutations([0.0, 1.0, 2.5, 6.0]))
def test_alpha_is_its_definition_over_all_pairs_of_ratings(table: np.ndarray, domain: list) -> None:
    for level in LEVELS:
        expected = _by_pairs(table, level, [0.0, 1.0, 2.5, 6.0])
        assert_allclose(krippendorff_alpha(table, level=level), expected, rtol=0, atol=1e-11, err_msg=level)
    expected = _by_pairs(table, "ordinal", domain)  # whose order is that of the domain
    assert_allclose(krippendorff_alpha(table, level="ordinal", domain=domain), expected, rtol=0, atol=1e-11)


def test_a_large_mean_costs_no_digits_and_very_small_and_large_values_do_not_overflow() -> None:
    table = random_ratings(3)
    expected = {level: krippendorff_alpha(table, level=level) for level in ("interval", "ratio")}
    for zero in (1e9, -1e9, 2.0**50):
        shifted = table / 4 + zero  # quarters are exact up to 2 ** 51
        assert_allclose(krippendorff_alpha(shifted, level="interval"), expected["interval"], rtol=0, atol=1e-14)
    for unit in (1e-200, 1e200):
        for level, alpha in expected.items():
            assert_allclose(krippendorff_alpha(table * unit, level=level), alpha, rtol=0, atol=1e-12)


# (id, smallest, largest value): ratios near 1, moderate, and beyond what any rating has
RANGES = [
    ("a part in 1e9", 1e9, 1e9 + 1),
    ("one per cent", 1.0, 1.01),
    ("a hundred", 0.1, 10.0),
    ("300 decades", 1e-150, 1e150),
]


@pytest.mark.parametrize("with_zeros", [False, True])
@pytest.mark.parametrize("case", RANGES, ids=lambda case: case[0])
@pytest.mark.few(2)
def test_ratio_alpha_of_many_different_values_is_the_sum_over_their_pairs(case: tuple, with_zeros: bool) -> None:
    _, low, high = case
    rng = np.random.default_rng(5)
    position = np.clip(rng.random((3000, 1)) + rng.normal(0, 0.1, (3000, 3)), 0, 1)
    table = low + position * (high - low) if high / low < 2 else low * (high / low) ** position
    if with_zeros:
        table[rng.random(table.shape) < 0.01] = 0.0
    values = table.ravel()
    total, within = 0.0, 0.0
    with np.errstate(invalid="ignore"):
        for start in range(0, len(values), 500):  # each pair once
            part, others = values[start : start + 500, None], values[start:]
            square = ((part - others) / (part + others)) ** 2
            square[:, : len(part)] /= 2
            total += 2 * float(np.nansum(square))
        for i, j in permutations(range(3), 2):
            within += float(np.nansum(((table[:, i] - table[:, j]) / (table[:, i] + table[:, j])) ** 2))
    expected = 1 - (len(values) - 1) * (within / 2) / total
    assert_allclose(krippendorff_alpha(table, level="ratio"), expected, rtol=0, atol=1e-11)


def test_a_few_ratings_beside_very_many_equal_ones_lose_no_digits() -> None:
    table = np.ones((1_000_000, 2))
    table[-2:] = [[1.001, 1.002], [1.002, 1.003]]
    count = {1.0: 1_999_996, 1.001: 1, 1.002: 2, 1.003: 1}
    exact = {pair: ((pair[0] - pair[1]) / (pair[0] + pair[1])) ** 2 for pair in permutations(count, 2)}
    expected = sum(count[c] * count[k] * difference for (c, k), difference in exact.items())
    observed = 2 * exact[1.001, 1.002] + 2 * exact[1.002, 1.003]
    alpha = 1 - 1_999_999 * observed / expected
    assert_allclose(krippendorff_alpha(table, level="ratio"), alpha, rtol=0, atol=1e-12)


def test_many_different_values_take_no_matrix() -> None:
    """A matrix of all pairs of these values would take 80 GB."""
    rng = np.random.default_rng(0)
    truth = rng.gamma(2, 10, (50_000, 1))
    table = truth * rng.lognormal(0, 0.1, (50_000, 2))
    # levels of one log-normal truth agree in the order of what they forgive
    alpha = {level: krippendorff_alpha(table, level=level) for level in LEVELS}
    assert alpha["nominal"] == 0.0
    spearman = np.corrcoef(*np.argsort(np.argsort(table, axis=0), axis=0).T)[0, 1]
    assert_allclose(alpha["ordinal"], spearman, rtol=0, atol=1e-3)
    assert_allclose(alpha["interval"], np.corrcoef(*table.T)[0, 1], rtol=0, atol=1e-3)
    assert 0.9 < alpha["ratio"] < 1


ONES = np.ones((2, 2))
ERRORS = [
    (ONES, {"level": "metric"}, r"`level` must be one of nominal, .*, got 'metric'"),
    (ONES, {"level": "interval", "domain": [1]}, "`domain` must be None unless `level` is 'ordinal', got the level "
     "'interval'"),
    (np.array([[1, 2], [4, 5.0]]), {"level": "ordinal", "domain": [2, 1]}, r"`domain` must contain every rating, got "
     r"none of \[4.0, 5.0\] \(2\)"),
    (np.array([[1, 2.0]]), {"level": "ordinal", "domain": []}, r"`domain` must contain every rating, got none of "
     r"\[1.0, 2.0\] \(2\)"),
    (ONES, {"level": "ordinal", "domain": [1, 2, 1]}, r"`domain` must be different, got \[1.0\] more than once"),
    (ONES, {"level": "ordinal", "domain": [1, NAN]}, r"`domain` must be a list of finite numbers, got \[1, nan\]"),
    (np.array([[1, -2], [1, 1.0]]), {"level": "ratio"}, "`ratings` must be >= 0 at the level 'ratio', got -2.0"),
    *((np.array([[1, np.inf]]), {"level": level}, "`ratings` must be finite or nan, got inf") for level in LEVELS),
    *((np.ones(3), {"level": level}, r"`ratings` must have the shape \(U, R\), got \(3,\)") for level in LEVELS),
]  # fmt: skip


def test_unusable_arguments_are_an_error_that_names_them() -> None:
    for table, options, message in ERRORS:
        with pytest.raises(ValueError, match=message):
            krippendorff_alpha(table, **options)


def test_cases_of_the_source_documents_have_their_exact_alpha() -> None:
    for case in GOLDEN["alpha"]:
        for missing in ("category", "ignore"):
            alpha = krippendorff_alpha(rating_table(case["table"], missing))
            assert_allclose(alpha, fraction(case[missing]), rtol=0, atol=1e-12, err_msg=case["name"])


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.6])
def test_alpha_of_sums_is_alpha_of_all_units_together(missing: float) -> None:
    tables = [random_ratings(seed, missing) for seed in range(6)]
    observed, counts = np.zeros(6), np.zeros((6, 8))
    for k, table in enumerate(tables):
        for row in table:
            given = row[~np.isnan(row)].astype(int)
            if len(given) >= 2:
                observed[k] += sum(a != b for a in given for b in given) / (len(given) - 1)
                counts[k] += np.bincount(given, minlength=8)
    expected = [krippendorff_alpha(table) for table in tables]
    assert_allclose(nominal_alpha_of_sums(observed, counts), expected, rtol=0, atol=1e-12)
    both = nominal_alpha_of_sums((observed[:, None] + observed), counts[:, None] + counts)
    table = np.full((len(tables[1]) + len(tables[4]), 5), NAN)
    table[: len(tables[1]), : tables[1].shape[1]] = tables[1]
    table[len(tables[1]) :, : tables[4].shape[1]] = tables[4]
    assert both.shape == (6, 6)
    assert_allclose(both[1, 4], krippendorff_alpha(table), rtol=0, atol=1e-12)


#: differences observed and expected and the number of ratings, alpha, and alpha where `one` stands for undefined
FORMULA = [
    ((0.0, 0.0, 0), NAN, NAN),
    ((0.0, 0.0, 7), NAN, 1.0),  # no variation
    ((0.0, 1e-9, 7), NAN, 1.0),  # rounding of no variation
    ((2.0, 2.0, 2), 0.0, 0.0),  # one unit, two categories
    ((0.0, 8.0, 4), 1.0, 1.0),  # two units, both agreed
    ((4.0, 8.0, 4), -0.5, -0.5),  # two units, neither agreed
]


def test_the_closing_formula_says_what_alpha_is_without_variation() -> None:
    for sums, none, one in FORMULA:
        assert_array_equal(alpha_of(*sums, rounding=1e-8), none)
        assert_array_equal(alpha_of(*sums, rounding=1e-8, undefined="one"), one)
        many = (np.tile(value, (3, 2)) for value in sums)
        assert_array_equal(alpha_of(*many, rounding=1e-8, undefined="one"), np.full((3, 2), one))


@pytest.mark.parametrize("seed", seeds(20))
def test_tallies_of_batches_add_up_to_the_last_bit(seed: int) -> None:
    table = random_ratings(seed)
    whole = NominalTally.from_counts(*sparse(table))
    cuts = np.sort(np.random.default_rng(seed + 100).integers(0, len(table), 3))
    total = NominalTally.empty()
    for part in np.split(table, cuts):
        total = total + NominalTally.from_counts(*sparse(part))
    assert_array_equal(total.alpha(), whole.alpha())
    assert_array_equal(total.percent_agreement(), whole.percent_agreement())
    assert (total.n_ratings, total.n_units) == (whole.n_ratings, whole.n_units)
    assert_allclose(whole.alpha(), krippendorff_alpha(table), rtol=0, atol=1e-14)


@pytest.mark.parametrize("seed", seeds(30))
def test_alpha_by_group_is_the_alpha_of_every_group(seed: int) -> None:
    parts = [random_ratings(seed * 10 + k, missing=0.4)[: k * k] for k in range(5)]  # the first group is empty
    unit, category, count, group, expected = [], [], [], [], []
    for k, table in enumerate(parts):
        u, c, n = sparse(table)
        unit.append(u + len(group))
        category.append(c)
        count.append(n)
        group += [k] * len(table)
        expected.append(krippendorff_alpha(table))
    columns = [np.concatenate(column) for column in (unit, category, count)]
    alpha = alpha_by_group(*columns, np.array(group), len(parts) + 1)
    assert_allclose(alpha, [*expected, NAN], rtol=0, atol=1e-12)
