"""Medians of many groups, against NumPy's median of every group."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.chance import seeds

from annotator_agreement.metrics.consensus.consensus import medians_by_group


@pytest.mark.parametrize("seed", seeds(5))
def test_every_group_has_the_median_of_its_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    group, values = rng.integers(0, 12, 40), rng.random((40, 3))
    found = medians_by_group(group, values, 14)
    for k in range(14):
        rows = values[group == k]
        assert_array_equal(found[k], np.median(rows, axis=0) if len(rows) else np.full(3, np.nan))


def test_a_group_has_no_median_in_a_column_with_nan() -> None:
    found = medians_by_group(np.array([0, 1, 0]), np.array([[1.0, 2.0], [3.0, 4.0], [np.nan, 6.0]]), 2)
    assert_array_equal(found, [[np.nan, 4.0], [3.0, 4.0]])


def test_no_rows_have_no_medians() -> None:
    assert_array_equal(medians_by_group(np.empty(0, np.int64), np.empty((0, 2)), 2), np.full((2, 2), np.nan))
    assert medians_by_group(np.empty(0, np.int64), np.empty((0, 2)), 0).shape == (0, 2)
