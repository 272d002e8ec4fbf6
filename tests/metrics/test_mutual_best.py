"""The method ``mutual_best`` on small cases by hand, and the quality of an alignment."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.chance import seeds
from tests.metrics.matching_oracle import match, partition_of, similarity_of, sorted_rows

from annotator_agreement.metrics import Alignment


def _bars(*bars: tuple[int, int, float, float]) -> list:
    """Boxes one high: (annotator, class, x_min, x_max)."""
    return [(0, annotator, category, low, 0.0, high, 1.0) for annotator, category, low, high in bars]


# (id, bars, unit with classes ignored, unit with classes required)
CASES = [
    ("any overlap is enough", [(0, 1, 0, 10), (1, 1, 9, 19)], [0, 0], [0, 0]),
    ("touching is no overlap", [(0, 1, 0, 10), (1, 1, 10, 19)], [0, 1], [0, 1]),
    ("apart", [(0, 1, 0, 10), (1, 1, 30, 31)], [0, 1], [0, 1]),
    ("the better of two", [(0, 1, 0, 10), (1, 1, 0, 5), (1, 1, 3, 10)], [0, 1, 0], [0, 1, 0]),
    ("best of one side only", [(0, 1, 0, 10), (0, 1, 4, 14), (1, 1, 6, 16)], [0, 1, 1], [0, 1, 1]),
    ("tie: same class first", [(0, 1, 0, 8), (1, 2, 0, 8), (1, 1, 0, 8)], [0, 1, 0], [0, 1, 0]),
    ("tie: then the first", [(0, 1, 0, 8), (1, 1, 0, 8), (1, 1, 0, 8)], [0, 0, 1], [0, 0, 1]),
    ("tie of left and right: same class first", [(0, 3, 4, 8), (1, 2, 2, 6), (1, 3, 6, 10)], [0, 1, 0], [0, 1, 0]),
    ("tie of two objects of a", [(0, 2, 0, 8), (0, 1, 0, 8), (1, 1, 0, 8)], [0, 1, 1], [0, 1, 1]),
    ("classes differ", [(0, 1, 0, 8), (1, 2, 0, 8)], [0, 0], [0, 1]),
    ("no second best after the class test", [(0, 1, 0, 8), (1, 2, 0, 8), (1, 1, 0, 4)], [0, 0, 1], [0, 1, 2]),
    ("one annotator", [(0, 1, 0, 8), (0, 1, 0, 8)], [0, 1], [0, 1]),
]


def test_cases_by_hand_for_two_annotators() -> None:
    for name, bars, ignored, required in CASES:
        rows = _bars(*bars)
        of_one_class = match(rows, method="mutual_best", classes="require")
        preferred = match(rows, method="mutual_best", classes="prefer")
        assert match(rows, method="mutual_best", classes="ignore").unit.tolist() == ignored, name
        assert of_one_class.unit.tolist() == required, name
        assert preferred.unit.tolist() == ignored, "units show class conflicts"
        assert preferred.aligned.tolist() == of_one_class.aligned.tolist(), "but only pairs of one class are aligned"
    rows = _bars((0, 1, 0, 10), (1, 1, 9, 19))
    assert match(rows, method="mutual_best", threshold=1.0, similarity="iou").n_units == 1  # neither is used
    assert match(rows).aligned is match(rows, method="recursive").aligned is None  # other methods have none


def _aligned_naively(rows: list) -> set[tuple[int, int]]:
    def best(k: int, annotator: int) -> int | None:
        options = [
            (-similarity_of(rows[k][3:], other[3:], "dice"), other[2] != rows[k][2], n)
            for n, other in enumerate(rows)
            if other[0] == rows[k][0] and other[1] == annotator
        ]
        return min(options)[2] if options and min(options)[0] < 0 else None

    pairs = set()
    for i, row in enumerate(rows):
        for annotator in range(row[1] + 1, 4):
            j = best(i, annotator)
            if j is not None and best(j, row[1]) == i:
                pairs.add((i, j))
    return pairs


def _joined_naively(rows: list, pairs: set[tuple[int, int]]) -> frozenset[frozenset[int]]:
    unit = [{k} for k in range(len(rows))]
    for _, i, j in sorted((-similarity_of(rows[i][3:], rows[j][3:], "dice"), i, j) for i, j in pairs):
        joined = unit[i] | unit[j]
        if unit[i] is not unit[j] and len({rows[k][1] for k in joined}) == len(joined):
            for k in joined:
                unit[k] = joined
    return frozenset(map(frozenset, unit))


@pytest.mark.parametrize("seed", seeds(25))
def test_aligned_pairs_and_units_are_those_of_a_naive_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(30):
        x, y, w, h = rng.uniform(0, 20), rng.uniform(0, 6), rng.uniform(2, 9), rng.uniform(1, 4)
        rows.append((int(rng.integers(2)), int(rng.integers(4)), int(rng.integers(1, 3)), x, y, x + w, y + h))
    rows = sorted_rows(rows)
    matching = match(rows, method="mutual_best", classes="prefer")
    aligned = _aligned_naively(rows)
    of_one_class = {(i, j) for i, j in aligned if rows[i][2] == rows[j][2]}
    assert set(map(tuple, matching.aligned.T.tolist())) == of_one_class
    assert partition_of(matching.unit) == _joined_naively(rows, aligned)


def test_recall_precision_and_f_count_what_is_not_aligned_as_zero() -> None:
    for counts, expected in (
        ((0, 0, 0, 0.0, 0.0), (np.nan, np.nan, np.nan)),
        ((3, 0, 0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        ((2, 3, 0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        ((2, 2, 2, 2.0, 2.0), (1.0, 1.0, 1.0)),
        ((1, 1, 1, 0.5, 1.0), (0.5, 1.0, 2 / 3)),
    ):
        alignment = Alignment(*counts)
        assert_allclose((alignment.recall, alignment.precision, alignment.f_score), expected, rtol=0, atol=1e-12)
