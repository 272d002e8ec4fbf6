"""Agreement on the number of objects of an image: ICC(2,1), and the limits of agreement of every two annotators."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from tests.agreement.agreement_oracle import NAMES, Sample, config_of, report_of
from tests.agreement.found import each_case, found, same

from annotator_agreement.agreement.objects.report import ObjectReport

#: Shrout and Fleiss, 1979, table 2: six targets and four judges
PUBLISHED = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
FIELDS = ("count_difference", "count_limit_low", "count_limit_high")


def _samples(table: list[list[int]]) -> list[Sample]:
    """Images on which annotators drew so many objects; -1 where they were not assigned."""
    boxes = [(1, 0.05 * k, 0.1, 0.05 * k + 0.04, 0.3) for k in range(12)]
    return [{r: boxes[:n] for r, n in enumerate(row) if n >= 0} for row in table]


def _report(table: list[list[int]], **options: Any) -> ObjectReport:
    return report_of(_samples(table), config_of(len(table[0]), **options))


def _icc(table: np.ndarray) -> float:
    n, k = table.shape
    mean = table.mean()
    rows, columns = table.mean(axis=1, keepdims=True), table.mean(axis=0, keepdims=True)
    msr, msc = k * ((rows - mean) ** 2).sum() / (n - 1), n * ((columns - mean) ** 2).sum() / (k - 1)
    mse = ((table - rows - columns + mean) ** 2).sum() / ((n - 1) * (k - 1))
    return float((msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n))


def test_icc_is_that_of_the_published_table() -> None:
    icc = _report(PUBLISHED).counts.icc
    assert icc == pytest.approx(0.2898, abs=5e-5)
    same(icc, _icc(np.array(PUBLISHED, float)))


@each_case
def test_numbers_are_those_of_tables_of_counts(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    table = np.array([[len(sample[r]) for r in range(4)] for sample in case.samples if len(sample) == 4], float)
    same(case.report.counts.icc, _icc(table))
    pairs = {(pair.a, pair.b): pair for pair in case.report.pairs}
    for a, b in combinations(range(4), 2):
        difference = [len(sample[a]) - len(sample[b]) for sample in case.samples if a in sample and b in sample]
        mean, spread = np.mean(difference), np.std(difference, ddof=1)
        for name, expected in zip(FIELDS, (mean, mean - 1.96 * spread, mean + 1.96 * spread), strict=True):
            same(getattr(pairs[NAMES[a], NAMES[b]], name), float(expected))


@pytest.mark.parametrize(
    "table", [[[2, 3]], [[2, 2], [2, 2], [2, 2]], [[0, 0], [0, 0]], [[1, -1], [-1, 2]], [[1, 2, -1], [-1, 2, 3]]]
)
def test_icc_needs_images_of_all_and_variation(table: list[list[int]]) -> None:
    assert _report(table).counts.icc is None


def test_limits_need_two_shared_images() -> None:
    (pair,) = _report([[2, 3], [4, -1]]).pairs
    assert [getattr(pair, name) for name in FIELDS] == [-1.0, None, None]
    (pair,) = _report([[2, 2], [3, 3]]).pairs
    assert [getattr(pair, name) for name in FIELDS] == [0.0, 0.0, 0.0]
