"""The confusion matrix of two annotators."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.metrics.rating_tables import NAN, PUBLISHED, published_ratings

from annotator_agreement.metrics import confusion_matrix


def test_the_published_table_of_two_annotators_comes_back() -> None:
    a, b = published_ratings("cont3x3abstractors").T
    expected = PUBLISHED["cont3x3abstractors"]["contingency"]
    assert_array_equal(confusion_matrix(a, b, 3), expected)
    assert_array_equal(confusion_matrix(b, a, 3), np.transpose(expected))
    assert_array_equal(confusion_matrix(a.astype(int), b.astype(int), 3), expected)


@pytest.mark.parametrize("seed", range(10))
def test_it_is_what_scikit_learn_counts(seed: int) -> None:
    sklearn_metrics = pytest.importorskip("sklearn.metrics")
    a, b = np.random.default_rng(seed).integers(0, 4, (2, 30))
    assert_array_equal(confusion_matrix(a, b, 6), sklearn_metrics.confusion_matrix(a, b, labels=range(6)))


# (id, a, b, expected)
CASES = [
    ("no units", [], [], [[0, 0], [0, 0]]),
    ("no unit that both rated", [0, NAN], [NAN, 1], [[0, 0], [0, 0]]),
    ("a gap on either side", [0, 1, NAN, 1], [1, NAN, 0, 1], [[0, 1], [0, 1]]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_units_that_one_did_not_rate_are_not_counted(case: tuple) -> None:
    _, a, b, expected = case
    matrix = confusion_matrix(np.array(a, dtype=float), np.array(b, dtype=float), 2)
    assert_array_equal(matrix, expected)
    assert matrix.dtype == np.int64


ERRORS = [
    ("lengths", np.zeros(2), np.zeros(3), r"`a` and `b` must have the same shape \(U,\), got \(2,\) and \(3,\)"),
    ("tables", np.zeros((2, 2)), np.zeros((2, 2)), r"`a` and `b` must have the same shape \(U,\), got \(2, 2\) and"),
    ("too large", np.array([0, 2]), np.array([1, 1]), r"`a` and `b` must be codes from 0 to 1, got \[2.0\]"),
    ("negative", np.array([0, 1]), np.array([1, -1]), r"`a` and `b` must be codes from 0 to 1, got \[-1.0\]"),
    ("no code", np.array([0.5, NAN]), np.array([1, 1]), r"`a` and `b` must be codes from 0 to 1, got \[0.5\]"),
    ("in a unit that one rated", np.array([7, 0]), np.array([NAN, 0]), "`a` and `b` must be codes from 0 to 1, got"),
]


@pytest.mark.parametrize("case", ERRORS, ids=lambda case: case[0])
def test_codes_that_do_not_fit_are_an_error(case: tuple) -> None:
    _, a, b, message = case
    with pytest.raises(ValueError, match=message):
        confusion_matrix(a, b, 2)
