"""Votes on every unit, against counting by hand and by loops."""

from __future__ import annotations

import warnings
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import entropy

from tests.chance import examples
from tests.metrics.rating_tables import NAN, tables

from annotator_agreement.metrics import percent_agreement, unit_votes

# (id, ratings of one unit, number, agreeing pairs, majority, entropy in bits), by hand
CASES = [
    ("all agree", [4, 4, 4], 3, 1.0, 4.0, 0.0),
    ("two against one", [7, 5, 7], 3, 1 / 3, 7.0, np.log2(3) - 2 / 3),
    ("two and a gap", [7, NAN, 7], 2, 1.0, 7.0, 0.0),
    ("two differ", [7, NAN, 5], 2, 0.0, NAN, 1.0),
    ("all differ", [1, 2, 3], 3, 0.0, NAN, np.log2(3)),
    ("one alone", [NAN, 0, NAN], 1, NAN, 0.0, 0.0),
    ("nobody", [NAN, NAN, NAN], 0, NAN, NAN, NAN),
    ("a tie of two pairs", [1, 1, 2, 2], 4, 1 / 3, NAN, 1.0),
    ("a pair leads", [1, 1, 2, 3], 4, 1 / 6, 1.0, 1.5),
    ("a tie at the top, one below", [9, 9, -1, -1, 5], 5, 0.2, NAN, 0.8 * np.log2(2.5) + 0.2 * np.log2(5)),
    ("negative code", [-1, -1, 2, -1], 4, 0.5, -1.0, 0.25 * 2 + 0.75 * np.log2(4 / 3)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_votes_are_those_counted_by_hand(case: tuple) -> None:
    _, row, number, agreement, majority, bits = case
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        votes = unit_votes(np.array([row]))
    assert_array_equal(votes.n_ratings, [number])
    assert_allclose(votes.agreement, [agreement], rtol=0, atol=1e-14)
    assert_array_equal(votes.majority, [majority])
    assert_allclose(votes.entropy_bits, [bits], rtol=0, atol=1e-14)
    assert not np.signbit(votes.entropy_bits).any()


@examples(200)
@given(tables([0.0, 1.0, 4.0]))
def test_votes_of_a_table_are_those_of_each_row(table: np.ndarray) -> None:
    votes = unit_votes(table)
    for u, row in enumerate(table):
        given_ = row[~np.isnan(row)].tolist()
        counts = Counter(given_).most_common()
        pairs = [c == k for c, k in combinations(given_, 2)]
        tied = not counts or (len(counts) > 1 and counts[0][1] == counts[1][1])
        assert votes.n_ratings[u] == len(given_)
        assert_allclose(votes.agreement[u], np.mean(pairs) if pairs else NAN, rtol=0, atol=1e-12)
        assert_array_equal(votes.majority[u], NAN if tied else counts[0][0])
        expected = entropy([count for _, count in counts], base=2) if counts else NAN
        assert_allclose(votes.entropy_bits[u], expected, rtol=0, atol=1e-12)
    if (votes.n_ratings >= 2).any():
        assert_allclose(np.nanmean(votes.agreement), percent_agreement(table), rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_a_table_without_entries_has_no_votes(shape: tuple) -> None:
    votes = unit_votes(np.zeros(shape))
    assert_array_equal(votes.n_ratings, np.zeros(shape[0]))
    for column in (votes.agreement, votes.majority, votes.entropy_bits):
        assert_array_equal(column, np.full(shape[0], NAN))


def test_ratings_that_are_no_table_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"`ratings` must have the shape \(U, R\), got \(3,\)"):
        unit_votes(np.zeros(3))
    with pytest.raises(ValueError, match="`ratings` must be finite or nan, got inf"):
        unit_votes(np.array([[1, np.inf]]))
