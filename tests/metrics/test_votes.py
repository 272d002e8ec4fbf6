"""Votes on every unit, against counting by hand and by loops."""

from __future__ import annotations

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
