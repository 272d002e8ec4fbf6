"""Agreement of sets of tags, against NLTK, loops over pairs of Python sets, and cases by hand."""

from __future__ import annotations

import warnings
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.chance import examples, seeds
from tests.metrics.rating_tables import NAN

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.statistics import ReportContext, RunFacts
from annotator_agreement.agreement.tags import compute_tags, record_tags, tag_numbers
from annotator_agreement.metrics import TagSets, krippendorff_alpha
from annotator_agreement.metrics.alpha import sets

few = examples(150)

#: units; each has the set of every annotator, None where one did not rate
Units = list[list[set[int] | None]]
TAGS = ("cat", "dog", "owl", "bee")


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


def _report(units: Units, distance: str = "masi") -> dict[tuple[str, ...], float]:
    """The numbers of a report on these units."""
    names = [f"annotator {r}" for r in range(max(2, *map(len, units)) if units else 2)]
    rated = [row for row in units if sum(tags is not None for tags in row) >= 2]
    rows = [(u, r, tag + 1) for u, row in enumerate(rated) for r, tags in enumerate(row) for tag in sorted(tags or ())]
    assigned = np.zeros((len(rated), len(names)), np.bool_)
    for u, row in enumerate(rated):
        assigned[u, [r for r, tags in enumerate(row) if tags is not None]] = True
    computed = compute_tags(*np.array(rows, np.int64).reshape(-1, 3).T, assigned)
    config = make_config(names, set_distance=distance)
    context = ReportContext(config, names, ("", *TAGS), ["Classifications"], RunFacts())
    found = tag_numbers(record_tags(computed), context)
    return {key: value for each in found for key, value in zip(each.keys, each.values().tolist(), strict=True)}


def _set_alpha(units: Units, distance: str = "masi") -> float:
    return _report(units, distance)[("alpha.pooled",)]


def _tag_alpha(units: Units) -> list[float]:
    """Alpha of every tag, nan for one that nobody gave."""
    found = _report(units)
    return [found.get(("tags", tag, "alpha"), NAN) for tag in TAGS]


def _jaccard(a: set, b: set) -> float:
    return len(a & b) / len(a | b) if a | b else 1.0


def _masi(a: set, b: set) -> float:
    if a == b:
        return 1.0
    if a < b or b < a:
        return _jaccard(a, b) * 2 / 3
    return _jaccard(a, b) / 3


LIKENESS = {"jaccard": _jaccard, "masi": _masi}


def _rated(units: Units) -> list[list[set[int]]]:
    rows = [[tags for tags in row if tags is not None] for row in units]
    return [row for row in rows if len(row) >= 2]


def _alpha_by_pairs(units: Units, distance: str) -> float:
    rated = _rated(units)
    every = [tags for row in rated for tags in row]
    observed = sum(sum(1 - LIKENESS[distance](a, b) for a, b in permutations(row, 2)) / (len(row) - 1) for row in rated)
    expected = sum(1 - LIKENESS[distance](a, b) for a, b in permutations(every, 2))
    return 1 - (len(every) - 1) * observed / expected if expected else NAN


tag_set = st.one_of(st.none(), st.sets(st.integers(0, 3), max_size=4))
many_units = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(tag_set, min_size=n, max_size=n), min_size=1, max_size=7)
)


@few
@given(many_units)
def test_alpha_of_a_tag_is_that_of_given_or_not_given_and_of_sets_its_definition_over_all_pairs(units: Units) -> None:
    expected = [
        krippendorff_alpha(np.array([[NAN if s is None else float(tag in s) for s in row] for row in units]))
        for tag in range(4)
    ]
    assert_allclose(_tag_alpha(units), expected, rtol=0, atol=1e-12)
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
    for distance in LIKENESS:
        task = nltk.agreement.AnnotationTask(data=rows, distance=getattr(nltk, f"{distance}_distance"))
        assert_allclose(_set_alpha(units, distance), task.alpha(), rtol=0, atol=1e-12)


# (id, units, alpha with MASI, alpha with Jaccard), by hand
CASES: list[tuple[str, Units, float, float]] = [
    ("no units", [], NAN, NAN),
    ("nobody rated", [[None, None]], NAN, NAN),
    ("one annotator", [[{0}], [{1}]], NAN, NAN),
    ("no unit with two sets", [[{0}, None], [None, {1}]], NAN, NAN),
    ("all sets equal", [[{0, 1}, {1, 0}], [{0, 1}, {0, 1}]], NAN, NAN),
    ("all sets empty", [[set(), set()], [set(), set()]], NAN, NAN),
    ("equal where it counts", [[{0}, {0}], [{1}, None]], NAN, NAN),
    ("empty against a tag", [[set(), {0}], [{0}, {0}]], 0.0, 0.0),
    ("empty and tag, always the same", [[set(), set()], [{2}, {2}]], 1.0, 1.0),
    # observed 2 (2/3 and 1/2), expected of {0}, {0 1}, {3}, {3}: 2 (2/3 and 1/2) + 2 · 4
    ("one contains the other", [[{0}, {0, 1}], [{3}, {3}]], 1 - 3 * (4 / 3) / (4 / 3 + 8), 1 - 3 / 9),
    # observed 2 (8/9 and 2/3), expected 2 (8/9 and 2/3) + 2 · 4
    ("overlap", [[{0, 1}, {1, 2}], [{3}, {3}]], 1 - 3 * (16 / 9) / (16 / 9 + 8), 1 - 4 / (4 / 3 + 8)),
]


def test_edge_cases_have_the_value_computed_by_hand() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, units, masi_alpha, jaccard_alpha in CASES:
            assert_allclose(_set_alpha(units), masi_alpha, rtol=0, atol=1e-14, err_msg=name)
            assert_allclose(_set_alpha(units, "jaccard"), jaccard_alpha, rtol=0, atol=1e-14, err_msg=name)


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
ERRORS = [
    ((INTEGERS, np.array([0]), INTEGERS), r"`annotator` must have the shape \(2,\), got \(1,\)"),
    ((np.zeros((2, 2), int),) * 3, r"`unit` must have the shape \(4,\), got \(2, 2\)"),
    ((INTEGERS, INTEGERS, np.array([0, 1.0])), "`tag` must be integers >= -1, got float64 from 0.0"),
    ((INTEGERS - 1, INTEGERS, INTEGERS), "`unit` must be integers >= 0, got int64 from -1"),
    ((INTEGERS, INTEGERS, INTEGERS - 2), "`tag` must be integers >= -1, got int64 from -2"),
]


def test_columns_that_do_not_fit_are_an_error() -> None:
    for columns, message in ERRORS:
        with pytest.raises(ValueError, match=message):
            TagSets.from_columns(*columns)
