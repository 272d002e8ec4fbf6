"""Kappas, Brennan-Prediger, AC1 and AC2: published values, pair loops, undefined cases."""

from __future__ import annotations

import warnings
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from tests.chance import examples, seeds
from tests.metrics.published import NAN, PUBLISHED, fraction, published_ratings, random_ratings, tables

from annotator_agreement import metrics
from annotator_agreement.metrics import cohen_kappa, krippendorff_alpha, scott_pi
from annotator_agreement.metrics.alpha import rated as ratings_module

WEIGHTS = ("identity", "linear", "quadratic", "ordinal")
LEVELS = ("nominal", "ordinal", "interval", "ratio")
CODES = [1.0, 2.0, 3.0, 5.0]

#: coefficients of a table, by their names in the published data
OF_TABLE = {
    "ac1": metrics.gwet_ac1, "alpha": krippendorff_alpha, "brennan_prediger": metrics.brennan_prediger,
    "conger": metrics.conger_kappa, "fleiss": metrics.fleiss_kappa, "percent": metrics.percent_agreement,
}  # fmt: skip
#: those that take weights
WEIGHTED = {
    "ac2": metrics.gwet_ac2, "alpha": metrics.weighted_alpha, "brennan_prediger": metrics.brennan_prediger,
    "conger": metrics.conger_kappa, "fleiss": metrics.fleiss_kappa,
}  # fmt: skip
OF_COLUMNS = {"cohen": cohen_kappa, "scott": scott_pi}


def test_published_tables_have_the_published_coefficients() -> None:
    for name in ("krippendorff_2011", "wikipedia", "cont3x3abstractors", "fleiss_1971_6raters"):
        ratings, case = published_ratings(name), PUBLISHED[name]
        alpha = case["alpha"]["nominal"] if isinstance(case["alpha"], dict) else case["alpha"]
        numbers = {**case, **case.get("gwet", {}), "alpha": alpha}
        for coefficient in {*OF_TABLE, *OF_COLUMNS} & set(numbers):
            of, expected = {**OF_TABLE, **OF_COLUMNS}[coefficient], numbers[coefficient]
            value = of(*ratings.T) if coefficient in OF_COLUMNS else of(ratings)
            decimals = max(len(str(expected)) - 2, 5)  # that are published
            assert_allclose(
                value, expected, rtol=0, atol=0.5 * 10.0**-decimals + 1e-12, err_msg=f"{name} {coefficient}"
            )
    for coefficient, weights in product(("alpha", "ac2"), ("quadratic", "linear", "ordinal")):
        expected = PUBLISHED["krippendorff_2011"]["weighted"][coefficient][weights]
        value = WEIGHTED[coefficient](published_ratings("krippendorff_2011"), weights=weights)
        assert_allclose(value, expected, rtol=0, atol=5e-4)


def _columns_of_kappa_case(case: dict) -> tuple[np.ndarray, np.ndarray]:
    if "y1" in case:
        return np.array(case["y1"], dtype=float), np.array(case["y2"], dtype=float)
    columns = np.zeros((2, case["n"]))
    columns[0, case["annotator1_positive_indices"]] = 1
    columns[1, case["annotator2_positive_indices"]] = 1
    return columns[0], columns[1]


@pytest.mark.parametrize("case", PUBLISHED["kappa"], ids=lambda case: case["name"])
def test_cases_of_the_source_documents_have_their_exact_kappa(case: dict) -> None:
    a, b = _columns_of_kappa_case(case)
    expected = NAN if case["kappa"] is None else fraction(case.get("kappa_exact", str(case["kappa"])))
    assert_allclose(cohen_kappa(a, b), expected, rtol=0, atol=1e-14)
    assert_allclose(cohen_kappa(b, a), expected, rtol=0, atol=1e-14)
    if "accuracy" in case:
        assert_allclose(metrics.percent_agreement(np.column_stack([a, b])), case["accuracy"], rtol=0, atol=1e-14)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@pytest.mark.parametrize("seed", seeds(30))
def test_cohen_kappa_is_what_scikit_learn_says(seed: int, weights: str | None) -> None:
    sklearn_metrics = pytest.importorskip("sklearn.metrics")
    a, b = random_ratings(seed)[:, :2].T
    both = ~np.isnan(a) & ~np.isnan(b)
    for categories in (None, [5, 1, 4, 0, 3, 2]):  # a category that nobody used, and another order
        expected = sklearn_metrics.cohen_kappa_score(
            a[both].astype(int), b[both].astype(int), weights=weights, labels=categories
        )
        value = cohen_kappa(a, b, weights=weights, categories=categories)
        assert_allclose(value, expected, rtol=0, atol=1e-12)


def _agreement(c: int, k: int, n: int, weights: str) -> float:
    """Weight of two positions among ``n`` categories, as Gwet writes it."""
    if c == k:
        return 1.0
    low, high = sorted([c, k])
    return {
        "identity": 0.0,
        "linear": 1 - (high - low) / (n - 1),
        "quadratic": 1 - (high - low) ** 2 / (n - 1) ** 2,
        # pairs of categories between the two, of all pairs of categories
        "ordinal": 1 - ((high - low + 1) * (high - low) / 2) / (n * (n - 1) / 2),
    }[weights]


def _chance(name: str, units: list[list[int]], raters: list[list[int]], n: int, weights: str) -> float:
    """Agreement expected by chance, by loops over categories or pairs of ratings."""
    rated = [row for row in units if row]
    share = [sum(row.count(c) / len(row) for row in rated) / len(rated) for c in range(n)]
    pairs = [(c, k) for c in range(n) for k in range(n)]
    if name == "fleiss":
        return sum(_agreement(c, k, n, weights) * share[c] * share[k] for c, k in pairs)
    if name == "brennan_prediger":
        return sum(_agreement(c, k, n, weights) for c, k in pairs) / n**2
    if name == "ac2":
        total = sum(_agreement(c, k, n, weights) for c, k in pairs)
        return total * sum(p * (1 - p) for p in share) / (n * (n - 1))
    # Conger: draw one rating of each of two different annotators
    kappas = [
        sum(_agreement(c, k, n, weights) for c in first for k in second) / (len(first) * len(second))
        for first, second in permutations([column for column in raters if column], 2)
    ]
    return sum(kappas) / len(kappas)


def _by_loops(name: str, table: np.ndarray, categories: list[float], weights: str) -> float:
    units = [[categories.index(value) for value in row[~np.isnan(row)].tolist()] for row in table]
    raters = [[categories.index(value) for value in column[~np.isnan(column)].tolist()] for column in table.T]
    n = len(categories)
    shares = [
        sum(_agreement(c, k, n, weights) for c, k in permutations(row, 2)) / (len(row) * (len(row) - 1))
        for row in units
        if len(row) >= 2
    ]
    if not shares:
        return NAN
    if name == "alpha":
        ratings = [value for row in units if len(row) >= 2 for value in row]
        observed = sum(
            sum(1 - _agreement(c, k, n, weights) for c, k in permutations(row, 2)) / (len(row) - 1)
            for row in units
            if len(row) >= 2
        )
        expected = sum(1 - _agreement(c, k, n, weights) for c, k in permutations(ratings, 2))
        return 1 - (len(ratings) - 1) * observed / expected if expected else NAN
    chance = _chance(name, units, raters, n, weights)
    return NAN if chance > 1 - 1e-9 else (sum(shares) / len(shares) - chance) / (1 - chance)


@examples(100)
@given(tables(CODES))
def test_coefficients_are_their_definitions_by_loops(table: np.ndarray) -> None:
    for name, weights in product(WEIGHTED, WEIGHTS):
        used = sorted(set(table[~np.isnan(table)].tolist()))  # by default
        for categories in (CODES, [9.0, 2.0, 5.0, 1.0, 3.0], *([None] if len(used) > 1 else [])):
            expected = _by_loops(name, table, categories or used, weights)
            value = WEIGHTED[name](table, weights=weights, categories=categories)
            assert_allclose(value, expected, rtol=0, atol=1e-10, err_msg=f"{name}, {weights}")


@pytest.mark.parametrize("seed", seeds(10))
def test_ac1_is_ac2_without_weights_and_brennan_and_prediger_take_a_number_of_categories(seed: int) -> None:
    table = random_ratings(seed)
    ac1 = metrics.gwet_ac1(table, categories=range(7))  # AC2 without weights
    assert_allclose(ac1, _by_loops("ac2", table, [*range(7)], "identity"))
    # which takes the number of categories alone, too
    expected = _by_loops("brennan_prediger", table, [*range(1, 9)], "identity")
    assert_allclose(metrics.brennan_prediger(table, 8), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", seeds(10))
def test_scott_and_cohen_use_the_units_that_both_rated(seed: int) -> None:
    table = random_ratings(seed)[:, :2]
    both = table[~np.isnan(table).any(axis=1)]
    used = sorted(set(both.ravel().tolist()))
    for weights in WEIGHTS:
        assert_allclose(scott_pi(*table.T, weights=weights), _by_loops("fleiss", both, used, weights), atol=1e-11)
        # Conger's kappa of two annotators is Cohen's
        assert_allclose(cohen_kappa(*table.T, weights=weights), _by_loops("conger", both, used, weights), atol=1e-11)


def test_coefficients_without_disagreement_by_chance_are_nan_and_silent() -> None:
    names = ("fleiss", "conger", "brennan_prediger", "ac2", "alpha")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # (id, table, value without weights of: Fleiss, Conger, Brennan-Prediger, AC1, alpha, percent agreement)
        for case, table, expected in (
            ("no units", np.zeros((0, 3)), (NAN,) * 6),
            ("no annotators", np.zeros((3, 0)), (NAN,) * 6),
            ("one annotator", np.array([[1.0], [2.0]]), (NAN,) * 6),
            ("nobody rated", np.full((2, 3), NAN), (NAN,) * 6),
            ("no unit with two ratings", np.array([[1, NAN], [NAN, 2.0]]), (NAN,) * 6),
            ("one category", np.array([[3, 3], [3, 3.0]]), (*(NAN,) * 5, 1.0)),
            ("all ratings zero", np.zeros((2, 2)), (*(NAN,) * 5, 1.0)),
            # the single rating of the other category counts for chance, but not for alpha
            ("one category in the units that count", np.array([[1, 1], [2, NAN]]), (1.0, 1.0, 1.0, 1.0, NAN, 1.0)),
            ("an annotator without ratings", np.array([[1, 2, NAN], [2, 2, NAN]]), (-1 / 3, 0.0, 0.0, 0.2, 0.0, 0.5)),
        ):
            values = [WEIGHTED[name](table, weights="identity") for name in names]
            assert_allclose([*values, metrics.percent_agreement(table)], expected, rtol=0, atol=1e-12, err_msg=case)
            for level in LEVELS:
                assert np.isnan(krippendorff_alpha(table, level=level)) == np.isnan(expected[4]), case
            for weights, (name, value) in product(WEIGHTS[1:], zip(names, expected[:5], strict=True)):
                assert np.isnan(WEIGHTED[name](table, weights=weights)) == np.isnan(value), case
        for weights, (case, a, b, kappa, pi) in product(WEIGHTS, UNDEFINED_PAIRS):
            a, b = np.array(a), np.array(b)
            assert_allclose(cohen_kappa(a, b, weights=weights), kappa, rtol=0, atol=1e-14, err_msg=case)
            assert_allclose(scott_pi(a, b, weights=weights), pi, rtol=0, atol=1e-14, err_msg=case)
    for weights, name in product(WEIGHTS, ("brennan_prediger", "ac2")):  # one category of several
        assert WEIGHTED[name](np.ones((4, 2)), weights=weights, categories=[1, 2, 3]) == 1.0


def test_counting_in_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_ratings(5)
    every = sorted({*table[~np.isnan(table)], 99.0})

    def found() -> list[float]:
        return [of(table, **more) for of in WEIGHTED.values() for more in ({}, {"categories": every})]

    expected = found()
    monkeypatch.setattr(ratings_module, "_RATINGS_AT_ONCE", 2 * table.shape[1] + 1)
    assert found() == expected


# (id, a, b, kappa, pi)
UNDEFINED_PAIRS = [
    ("no units", [], [], NAN, NAN),
    ("no unit that both rated", [1, NAN], [NAN, 2], NAN, NAN),
    ("one category", [1, 1], [1, 1], NAN, NAN),
    ("one category each, different", [1, 1], [2, 2], 0.0, -1.0),
    ("one category where both rated", [1, 1, 2], [1, 1, NAN], NAN, NAN),
]


TABLE = np.array([[1, 2], [3, 3.0]])
NO_SHAPE = r"`ratings` must have the shape \(U, R\), got \(3,\)"
UNKNOWN = "`weights` must be one of identity, linear, quadratic, ordinal, got 'cubic'"
TOO_FEW = "`n_categories` must be None with `categories` or `weights`, got 4"
PAIRS = r"`a` and `b` must have the same shape \(U,\), got "


def test_unusable_arguments_are_an_error_that_names_them() -> None:
    # functions, arguments and options, and what is said
    for function, arguments, options, message in (
        *((of, [table], options, message) for of in WEIGHTED.values() for table, options, message in (
            (np.ones(3), {}, NO_SHAPE),
            (np.ones((2, 2, 2)), {}, r"`ratings` must have the shape \(U, R\), got \(2, 2, 2\)"),
            (np.array([[1, -np.inf]]), {}, "`ratings` must be finite or nan, got -inf"),
            (TABLE, {"weights": "cubic"}, UNKNOWN),
            (TABLE[:0], {"weights": "cubic"}, UNKNOWN),
            (TABLE, {"categories": [1, 3]}, r"`categories` must contain every rating, got none of \[2.0\]"),
            (TABLE, {"categories": [1, 2, 3, 3]}, r"`categories` must be different, got \[3.0\] more than"),
            (TABLE, {"categories": [[1, 2]]}, r"`categories` must be a list of finite numbers, got \[\["),
        )),
        *((of, arguments, options, message) for of in OF_COLUMNS.values() for arguments, options, message in (
            ([np.ones(2), np.ones(3)], {}, rf"{PAIRS}\(2,\) and \(3,\)"),
            ([np.ones((2, 2)), np.ones((2, 2))], {}, rf"{PAIRS}\(2, 2\) and \(2, 2\)"),
            ([np.ones(2), np.ones(2)], {"weights": "cubic"}, UNKNOWN),
        )),
        (metrics.percent_agreement, [np.ones(3)], {}, NO_SHAPE),
        (metrics.percent_agreement, [np.array([[1, -np.inf]])], {}, "`ratings` must be finite or nan, got -inf"),
        (metrics.brennan_prediger, [TABLE, 2], {}, "`n_categories` must be at least the 3 that occur, got 2"),
        (metrics.brennan_prediger, [TABLE, 4], {"weights": "linear"}, TOO_FEW),
        (metrics.brennan_prediger, [TABLE, 4], {"categories": [1, 2, 3]}, TOO_FEW),
        (metrics.category_weights, ["linear", -1], {}, "`n_categories` must be >= 0, got -1"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            function(*arguments, **options)


def test_weights_are_those_of_their_formula() -> None:
    for weights, n in product(WEIGHTS, (0, 1, 2, 6)):
        expected = [[_agreement(c, k, n, weights) for k in range(n)] for c in range(n)]
        assert_allclose(metrics.category_weights(weights, n), np.reshape(expected, (n, n)), rtol=0, atol=1e-15)
    # of values: by their distance, as a share of their range
    for weights, row in (("linear", [1, 3 / 4, 0]), ("quadratic", [1, 15 / 16, 0])):
        found = metrics.category_weights(weights, 3, np.array([2.0, 4.0, 10.0]))
        assert_allclose(found[0], row, rtol=0, atol=1e-15)
