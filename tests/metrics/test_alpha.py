"""Krippendorff's alpha and percent agreement: published tables, sums, tallies and groups."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.chance import seeds
from tests.metrics.golden_cases import GOLDEN, fraction, rating_table
from tests.metrics.rating_tables import NAN, random_ratings, sparse

from annotator_agreement.metrics import (
    NominalTally,
    alpha_by_group,
    alpha_of,
    krippendorff_alpha,
    nominal_alpha_of_sums,
)


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
