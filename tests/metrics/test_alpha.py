"""Krippendorff's alpha, of sets too, and coefficients of counts: published tables, an independent package, pairs."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.agreement.families import KINDS
from tests.chance import examples, seeds
from tests.metrics.published import (
    GOLDEN,
    NAN,
    PUBLISHED,
    fraction,
    published_ratings,
    random_ratings,
    rating_table,
    sparse,
)

from annotator_agreement.metrics import NominalTally, TagSets, alpha_of, cohen_kappa, gwet_ac1, krippendorff_alpha
from annotator_agreement.metrics.alpha import coefficients_by_pair, kappas, sets

LEVELS = ("nominal", "ordinal", "interval", "ratio")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", seeds(40))
def test_alpha_is_what_the_krippendorff_package_says(seed: int, level: str) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    table = random_ratings(seed)
    if seed % 2:  # real values, the smallest 0
        table = np.round(table * np.random.default_rng(seed).lognormal(0, 0.7, table.shape), 1)
        table -= np.nanmin(table)
    expected = krippendorff.alpha(reliability_data=table.T, level_of_measurement=level)
    kept = table.copy()
    assert_allclose(krippendorff_alpha(table, level=level), expected, rtol=0, atol=1e-12)
    assert_array_equal(table, kept)
    if level == "ordinal":  # whose order is that of the domain
        domain = np.random.default_rng(seed).permutation(np.unique(np.r_[table[~np.isnan(table)], 77.0]))
        place = np.where(np.isnan(table), NAN, (table[..., None] == domain).argmax(axis=-1))
        expected = krippendorff.alpha(reliability_data=place.T, level_of_measurement="ordinal")
        assert_allclose(krippendorff_alpha(table, level="ordinal", domain=domain), expected, rtol=0, atol=1e-12)


def test_neither_a_large_mean_nor_many_equal_ratings_cost_digits_and_small_and_large_values_do_not_overflow() -> None:
    table = random_ratings(3)
    expected = {level: krippendorff_alpha(table, level=level) for level in ("interval", "ratio")}
    for zero in (1e9, -1e9, 2.0**50):
        shifted = table / 4 + zero  # quarters are exact up to 2 ** 51
        assert_allclose(krippendorff_alpha(shifted, level="interval"), expected["interval"], rtol=0, atol=1e-14)
    for unit in (1e-200, 1e200):
        for level, alpha in expected.items():
            assert_allclose(krippendorff_alpha(table * unit, level=level), alpha, rtol=0, atol=1e-12)
    table = np.ones((1_000_000, 2))
    table[-2:] = [[1.001, 1.002], [1.002, 1.003]]
    count = {1.0: 1_999_996, 1.001: 1, 1.002: 2, 1.003: 1}
    exact = {pair: ((pair[0] - pair[1]) / (pair[0] + pair[1])) ** 2 for pair in permutations(count, 2)}
    expected = sum(count[c] * count[k] * difference for (c, k), difference in exact.items())
    observed = 2 * exact[1.001, 1.002] + 2 * exact[1.002, 1.003]
    alpha = 1 - 1_999_999 * observed / expected
    assert_allclose(krippendorff_alpha(table, level="ratio"), alpha, rtol=0, atol=1e-12)


# ratios near 1, moderate, and beyond what any rating has
@pytest.mark.parametrize("with_zeros", [False, True])
@pytest.mark.parametrize(("low", "high"), [(1e9, 1e9 + 1), (1.0, 1.01), (0.1, 10.0), (1e-150, 1e150)])
@pytest.mark.few(2)
def test_ratio_alpha_of_many_different_values_is_the_sum_over_their_pairs(low, high, with_zeros) -> None:
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


@pytest.mark.parametrize("base", [1e9, 1.7e12])
def test_small_differences_of_large_numbers_are_in_the_report(base: float) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    table = base + np.array([[0, 1], [2, 0], [1, 1], [0, 2.0]])
    report = KINDS["numbers"].report([dict(enumerate(row)) for row in table.tolist()], level="ratio")
    expected = krippendorff.alpha(reliability_data=table.T, level_of_measurement="ratio")
    assert_allclose(report.alpha.pooled, expected, rtol=0, atol=1e-9)


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


def test_cases_of_the_source_documents_have_their_exact_alpha() -> None:
    for case in GOLDEN["alpha"]:
        for missing in ("category", "ignore"):
            alpha = krippendorff_alpha(rating_table(case["table"], missing))
            assert_allclose(alpha, fraction(case[missing]), rtol=0, atol=1e-12, err_msg=case["name"])


def test_the_closing_formula_says_what_alpha_is_without_variation() -> None:
    # differences observed and expected and the number of ratings, alpha, and alpha where `one` stands for undefined
    for sums, none, one in (
        ((0.0, 0.0, 0), NAN, NAN),
        ((0.0, 0.0, 7), NAN, 1.0),  # no variation
        ((0.0, 1e-9, 7), NAN, 1.0),  # rounding of no variation
        ((2.0, 2.0, 2), 0.0, 0.0),  # one unit, two categories
        ((0.0, 8.0, 4), 1.0, 1.0),  # two units, both agreed
        ((4.0, 8.0, 4), -0.5, -0.5),  # two units, neither agreed
    ):
        assert_array_equal(alpha_of(*sums, rounding=1e-8), none)
        assert_array_equal(alpha_of(*sums, rounding=1e-8, undefined="one"), one)
        many = (np.tile(value, (3, 2)) for value in sums)
        assert_array_equal(alpha_of(*many, rounding=1e-8, undefined="one"), np.full((3, 2), one))


@pytest.mark.parametrize("seed", seeds(8))
def test_tallies_of_batches_add_up_to_the_last_bit(seed: int) -> None:
    table = random_ratings(seed)
    whole, *parts = (NominalTally.from_counts(*sparse(part)) for part in (table, table[:3], table[3:3], table[3:]))
    total = sum(parts, NominalTally.empty())
    for of in ("alpha", "percent_agreement"):
        assert_array_equal(getattr(total, of)(), getattr(whole, of)())
    assert (total.n_ratings, total.n_units) == (whole.n_ratings, whole.n_units)
    assert_allclose(whole.alpha(), krippendorff_alpha(table), rtol=0, atol=1e-14)


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


#: units; each has the set of every annotator, None where one did not rate
Units = list[list[set[int] | None]]


def _columns(units: Units) -> list[np.ndarray]:
    rows = [
        (u, annotator, tag)
        for u, row in enumerate(units)
        for annotator, tags in enumerate(row)
        if tags is not None
        for tag in (sorted(tags) or [-1])
    ]
    return list(np.array(rows, dtype=np.int64).reshape(-1, 3).T)


def _sets(units: Units) -> TagSets:
    return TagSets.from_columns(*_columns(units), n_units=len(units), n_tags=4)


def _set_alpha(units: Units, distance: str = "masi") -> float:
    """Alpha of a report on these units of at most three annotators."""
    samples = [{r: [tag + 1 for tag in tags] for r, tags in enumerate(row) if tags is not None} for row in units]
    alpha = KINDS["tags"].report(samples, set_distance=distance, resamples=0).alpha.pooled
    return NAN if alpha is None else alpha


def _jaccard(a: set, b: set) -> float:
    return len(a & b) / len(a | b) if a | b else 1.0


def _masi(a: set, b: set) -> float:
    if a == b:
        return 1.0
    if a < b or b < a:
        return _jaccard(a, b) * 2 / 3
    return _jaccard(a, b) / 3


LIKENESS = {"jaccard": _jaccard, "masi": _masi}


def _alpha_by_pairs(units: Units, distance: str) -> float:
    rows = [[tags for tags in row if tags is not None] for row in units]
    rated = [row for row in rows if len(row) >= 2]
    every = [tags for row in rated for tags in row]
    observed = sum(sum(1 - LIKENESS[distance](a, b) for a, b in permutations(row, 2)) / (len(row) - 1) for row in rated)
    expected = sum(1 - LIKENESS[distance](a, b) for a, b in permutations(every, 2))
    return 1 - (len(every) - 1) * observed / expected if expected else NAN


tag_set = st.one_of(st.none(), st.sets(st.integers(0, 3), max_size=4))
many_units = st.integers(1, 3).flatmap(lambda n: st.lists(st.lists(tag_set, min_size=n, max_size=n), max_size=7))


@examples(150)
@given(many_units)
def test_alpha_of_sets_is_its_definition_over_all_pairs(units: Units) -> None:
    for distance in LIKENESS:
        assert_allclose(_set_alpha(units, distance), _alpha_by_pairs(units, distance), rtol=0, atol=1e-11)


def _random_units(seed: int, least: int = 1) -> Units:
    """Sets of at least so many tags by three annotators; some are missing."""
    rng = np.random.default_rng(seed)
    units: Units = []
    for _ in range(25):
        truth = set(rng.choice(4, int(rng.integers(max(least, 1), 4)), replace=False).tolist())
        row = [truth ^ set(np.flatnonzero(rng.random(4) < 0.2).tolist()) for _ in range(3)]
        units.append([None if rng.random() < 0.2 or len(tags) < least else tags for tags in row])
    return units


@pytest.mark.parametrize("seed", seeds(20))
def test_alpha_of_sets_is_what_nltk_says(seed: int) -> None:
    nltk = pytest.importorskip("nltk.metrics")
    units = _random_units(seed)  # without empty sets: NLTK divides by zero
    rows = [(f"annotator {r}", f"unit {u}", frozenset(tags)) for u, row in enumerate(units)
            for r, tags in enumerate(row) if tags is not None]  # fmt: skip
    for distance in ("jaccard", "masi"):
        task = nltk.agreement.AnnotationTask(data=rows, distance=getattr(nltk, f"{distance}_distance"))
        assert_allclose(_set_alpha(units, distance), task.alpha(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", seeds(10))
def test_sets_are_told_apart_by_all_their_tags_and_neither_order_nor_duplicates_matter(seed: int) -> None:
    units = _random_units(seed, least=0)
    number, members = _sets(units).distinct()
    rows = [frozenset(tags) for row in units for tags in row if tags is not None]
    assert members.shape == (len(set(rows)), 4)
    assert [frozenset(np.flatnonzero(members[[k]].toarray()[0]).tolist()) for k in number] == rows
    columns = np.array(_columns(units))
    again = columns[:, np.random.default_rng(0).permutation(np.r_[np.arange(columns.shape[1]), [2, 5, 5]])]
    expected, mixed = _sets(units), TagSets.from_columns(*again, n_units=len(units), n_tags=4)
    for name in ("unit", "row", "tag"):
        assert_array_equal(getattr(mixed, name), getattr(expected, name))


def test_expected_disagreement_is_that_of_all_pairs_of_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    _, members = _sets(_random_units(8, least=0)).distinct()
    every = [set(np.flatnonzero(row).tolist()) for row in members.toarray()]
    counts = np.random.default_rng(1).integers(0, 5, (2, 3, len(every))).astype(float)
    for distance, alike in LIKENESS.items():
        apart = np.array([[1 - alike(a, b) for b in every] for a in every])
        expected = np.einsum("...a,ab,...b", counts, apart, counts)
        for at_once in (1, 7, 10**6):
            monkeypatch.setattr(sets, "MAX_PAIRS_AT_ONCE", at_once)
            found = sets.expected_disagreement_of_sets(members, counts, distance)
            assert_allclose(found, expected, rtol=1e-13, atol=1e-12)


INTEGERS = np.array([0, 1])


def test_unusable_arguments_are_an_error_that_names_them() -> None:
    for table, options, message in ERRORS:
        with pytest.raises(ValueError, match=message):
            krippendorff_alpha(table, **options)
    for columns, message in (
        ((INTEGERS, np.array([0]), INTEGERS), r"`annotator` must have the shape \(2,\), got \(1,\)"),
        ((np.zeros((2, 2), int),) * 3, r"`unit` must have the shape \(4,\), got \(2, 2\)"),
        ((INTEGERS, INTEGERS, np.array([0, 1.0])), "`tag` must be integers >= -1, got float64 from 0.0"),
        ((INTEGERS - 1, INTEGERS, INTEGERS), "`unit` must be integers >= 0, got int64 from -1"),
        ((INTEGERS, INTEGERS, INTEGERS - 2), "`tag` must be integers >= -1, got int64 from -2"),
    ):
        with pytest.raises(ValueError, match=message):
            TagSets.from_columns(*columns)


def test_published_tables_have_the_published_alpha_and_are_not_changed() -> None:
    for name in ("krippendorff_2011", "wikipedia"):
        table, expected = published_ratings(name), PUBLISHED[name]["alpha"]
        found = [krippendorff_alpha(table, level=level) for level in LEVELS]
        assert_allclose(found, [expected[level] for level in LEVELS], rtol=0, atol=5e-7)
        assert_array_equal(table, published_ratings(name))
