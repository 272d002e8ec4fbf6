"""Coefficients from counts: those of the tables."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.chance import seeds
from tests.metrics.rating_tables import NAN, random_ratings, sparse

from annotator_agreement.metrics import (
    NominalTally,
    brennan_prediger,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
)
from annotator_agreement.metrics.alpha import (
    NominalCoefficients,
    coefficients_by_pair,
    kappas,
    nominal_coefficients_of_sums,
    unit_disagreement,
)


def coefficients_of(table: np.ndarray, n_categories: int | None = None) -> NominalCoefficients:
    """The coefficients from sums over the units; as many categories as were given by default."""
    unit, category, count = sparse(table)
    m, differing = unit_disagreement(unit, count)
    shares = np.zeros(category.max(initial=0) + 1)
    np.add.at(shares, category, count / m[unit])
    given = int((shares > 0).sum())
    several = m >= 2
    total = (differing[several] / (m * (m - 1))[several]).sum()
    return nominal_coefficients_of_sums(total, several.sum(), shares, n_categories or given)


def rated_twice(table: np.ndarray) -> np.ndarray:
    """The units with at least two ratings."""
    return table[(~np.isnan(table)).sum(axis=1) >= 2]


@pytest.mark.parametrize("seed", seeds(8))
def test_coefficients_of_counts_are_those_of_the_table(seed: int) -> None:
    table = random_ratings(seed)
    found = coefficients_of(table)
    expected = [metric(table) for metric in (percent_agreement, gwet_ac1, brennan_prediger, fleiss_kappa)]
    assert_allclose(np.array(found), expected, rtol=0, atol=1e-12)
    assert_allclose(NominalTally.from_counts(*sparse(table)).alpha(), krippendorff_alpha(table), rtol=0, atol=1e-12)


#: ratings, and percent agreement, AC1, Brennan and Prediger's and Fleiss' coefficient
EDGES = [
    ([], (NAN, NAN, NAN, NAN)),
    ([[1.0, NAN]], (NAN, NAN, NAN, NAN)),
    ([[1.0, 1.0], [1.0, 1.0]], (1.0, NAN, NAN, NAN)),
    ([[1.0, 2.0], [1.0, 2.0]], (0.0, -1.0, -1.0, -1.0)),
    ([[1.0, 1.0], [2.0, 2.0]], (1.0, 1.0, 1.0, 1.0)),
]


def test_coefficients_are_undefined_where_they_should_be_and_more_categories_than_were_given_may_be_said() -> None:
    for table, expected in EDGES:
        found = coefficients_of(np.array(table, dtype=float).reshape(-1, 2))
        assert_allclose(np.array(found), expected, rtol=0, atol=1e-12)
    table = rated_twice(random_ratings(1))
    found, every = coefficients_of(table, 7), [1, 2, 3, 4, 5, 6, 7]
    assert found.ac1 == pytest.approx(gwet_ac1(table, categories=every), abs=1e-12)
    assert found.brennan_prediger == pytest.approx(brennan_prediger(table, categories=every), abs=1e-12)
    of_one = coefficients_of(np.ones((4, 3)), 2)  # is perfect agreement beyond chance
    assert (float(of_one.ac1), float(of_one.brennan_prediger)) == (1.0, 1.0)
    assert np.isnan(of_one.fleiss_kappa)


def test_many_sets_of_units_at_once_are_those_one_by_one() -> None:
    shares, differing = np.random.default_rng(0).random((4, 3, 5)), np.random.default_rng(1).random((4, 3))
    shares[2, 1], n_units = 0.0, np.arange(12.0).reshape(4, 3)
    every = nominal_coefficients_of_sums(differing, n_units, shares, 5)
    for place in np.ndindex(4, 3):
        one = nominal_coefficients_of_sums(differing[place], n_units[place], shares[place], 5)
        assert_allclose([value[place] for value in every], one, rtol=0, atol=1e-15)


@pytest.mark.parametrize("seed", seeds(6))
def test_coefficients_of_pairs_are_those_of_their_tables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tables = [rng.integers(0, 4, (int(rng.integers(0, 9)), 2)) for _ in range(5)]
    tables.append(np.full((3, 2), 2))
    pair = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    a, b = np.concatenate(tables).T
    kappa, ac1 = coefficients_by_pair(pair, a, b, np.ones(len(pair), np.int64), len(tables) + 1)
    for k, table in enumerate(tables):
        floats = table.astype(float)
        assert kappa[k] == pytest.approx(cohen_kappa(*floats.T), abs=1e-12, nan_ok=True)
        assert ac1[k] == pytest.approx(gwet_ac1(floats), abs=1e-12, nan_ok=True)
    assert np.isnan([kappa[-1], ac1[-1]]).all()


def test_neither_rows_at_once_nor_their_order_nor_counting_in_parts_change_coefficients_of_pairs(monkeypatch) -> None:
    rng = np.random.default_rng(7)
    pair, count = np.sort(rng.integers(0, 9, 40)), rng.integers(0, 3, 40)
    a, b = rng.integers(0, 4, (2, 40))
    expected = coefficients_by_pair(pair, a, b, count, 11)
    assert np.isfinite(expected).any()
    of_pair = pair == 3
    table = np.repeat(np.column_stack([a, b])[of_pair], count[of_pair], axis=0).astype(float)
    assert_allclose(np.array(expected)[:, 3], [cohen_kappa(*table.T), gwet_ac1(table)], rtol=0, atol=1e-12)
    order = rng.permutation(40)
    for at_once in (1, 3, 7, 1000):
        monkeypatch.setattr(kappas, "_ROWS_AT_ONCE", at_once)
        found = coefficients_by_pair(pair[order], a[order], b[order], count[order], 11)
        np.testing.assert_array_equal(found, expected)
