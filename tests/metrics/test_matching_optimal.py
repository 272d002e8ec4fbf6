"""The method ``optimal`` against all partitions of up to 7 objects, and cases by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chance import examples, seeds
from tests.metrics.matching_oracle import (
    best_by_enumeration,
    best_by_subsets,
    match,
    node_weights,
    partition_of,
    sorted_rows,
    total_of,
)

SETTINGS = examples(120)


@st.composite
def grid_rows(draw: st.DrawFn) -> list:
    """Up to 7 overlapping boxes of whole numbers, so that many similarities and totals are equal."""
    row = st.tuples(
        st.just(0),
        st.integers(0, 3),
        st.integers(1, 3),
        *[st.integers(0, 3), st.integers(0, 2), st.integers(1, 5), st.integers(1, 3)],
    )
    rows = draw(st.lists(row, min_size=1, max_size=7))
    return sorted_rows([(s, r, c, x, y, x + w, y + h) for s, r, c, x, y, w, h in rows])


@st.composite
def jittered_rows(draw: st.DrawFn) -> list:
    """Up to 7 boxes around one or two places, 20 wide and 8 high give or take a third, without exact ties."""
    shift = st.floats(-6.0, 6.0, allow_subnormal=False)
    low = st.floats(-2.5, 2.5, allow_subnormal=False)
    row = st.tuples(st.integers(0, 3), st.integers(1, 3), st.sampled_from([0.0, 9.0]), shift, low, shift, low)
    rows = draw(st.lists(row, min_size=2, max_size=7))
    return sorted_rows([(0, r, c, at + x, y, at + 20 + w, 8 + h) for r, c, at, x, y, w, h in rows])


THRESHOLDS = st.sampled_from([0.25, 1 / 3, 0.5, 0.6, 0.75])
KINDS = st.sampled_from(["iou", "dice"])


def _check_stage(rows: list, nodes: list, unit_of_node: np.ndarray, threshold: float, kind: str) -> None:
    """Compare a stage with all partitions of its nodes."""
    weights = node_weights(rows, nodes, threshold, kind)
    best = best_by_enumeration(weights)
    found = partition_of(unit_of_node)
    assert total_of(weights, found) == pytest.approx(best.total, rel=0, abs=1e-8)
    assert len(found) == best.n_groups
    if len(best.partitions) == 1 and best.runner_up < best.total - 1e-6:
        assert found == best.partitions[0]


@SETTINGS
@given(st.one_of(grid_rows(), jittered_rows()), THRESHOLDS, KINDS)
def test_units_are_the_best_of_all_partitions_of_objects_of_classes_and_of_the_units_of_classes(
    rows: list, threshold: float, kind: str
) -> None:
    ignored, required, preferred = (
        match(rows, threshold=threshold, similarity=kind, classes=classes)
        for classes in ("ignore", "require", "prefer")
    )
    _check_stage(rows, [[k] for k in range(len(rows))], ignored.unit, threshold, kind)
    assert ignored.n_inexact == 0
    units_of_classes = 0
    for category in {row[2] for row in rows}:
        members = [k for k, row in enumerate(rows) if row[2] == category]
        _check_stage(rows, [[k] for k in members], required.unit[members], threshold, kind)
        units_of_classes += len(set(required.unit[members].tolist()))
    assert required.n_units == units_of_classes  # no unit has two classes
    nodes = [np.flatnonzero(required.unit == u).tolist() for u in range(int(required.unit.max()) + 1)]
    for node in nodes:
        assert len(set(preferred.unit[node].tolist())) == 1  # units of the first stage stay whole
    _check_stage(rows, nodes, preferred.unit[[node[0] for node in nodes]], threshold, kind)


@SETTINGS
@given(
    st.one_of(grid_rows(), jittered_rows()),
    THRESHOLDS,
    st.sampled_from(["optimal", "recursive", "mutual_best"]),
    st.sampled_from(["prefer", "ignore", "require"]),
)
def test_every_object_is_in_one_unit_and_a_unit_has_one_object_of_an_annotator(
    rows: list, threshold: float, method: str, classes: str
) -> None:
    several = [(s, *row[1:]) for s in range(2) for row in rows]
    matching = match(several, threshold=threshold, method=method, classes=classes)
    assert matching.unit.shape == (len(several),)
    first = [np.flatnonzero(matching.unit == u)[0] for u in range(matching.n_units)]
    assert first == sorted(first)  # every number is used, in the order of the first objects
    for unit in partition_of(matching.unit):
        assert len({several[k][0] for k in unit}) == 1
        assert len({several[k][1] for k in unit}) == len(unit)
        if classes == "require" and method != "mutual_best":
            assert len({several[k][2] for k in unit}) == 1
    n = len(rows)
    assert partition_of(matching.unit[:n]) == partition_of(matching.unit[n:])  # samples do not influence each other


@pytest.mark.parametrize("classes", ["ignore", "prefer"])
@pytest.mark.parametrize("seed", seeds(6))
def test_crowds_of_more_objects_than_are_enumerated_are_matched_in_the_best_way(seed: int, classes: str) -> None:
    rng = np.random.default_rng(seed)
    boxes = np.array([3.0, 2.0, 23.0, 10.0]) + rng.normal(0, [2.5, 0.7, 2.5, 0.7], (11, 4))
    rows = sorted_rows([(0, k % 4, int(rng.integers(1, 4)), *box) for k, box in enumerate(boxes.tolist())])
    matching = match(rows, classes=classes)
    nodes = [[k] for k in range(len(rows))]
    if classes == "prefer":
        first = match(rows, classes="require").unit
        nodes = [np.flatnonzero(first == u).tolist() for u in range(int(first.max()) + 1)]
    weights = node_weights(rows, nodes, 0.5)
    table = np.array(weights, dtype=float)  # None becomes nan
    total, n_units = best_by_subsets(np.nan_to_num(table), np.isnan(table))
    found = partition_of(matching.unit[[node[0] for node in nodes]])
    assert total_of(weights, found) == pytest.approx(total, rel=0, abs=1e-8)
    assert (len(found), matching.n_hard > 0, matching.n_inexact) == (n_units, True, 0)


HALF = [(0, 0, 1, 0, 0, 10, 10), (0, 1, 1, 0, 0, 10, 5)]


def test_a_pair_exactly_at_the_threshold_matches_only_in_the_optimal_method() -> None:
    for scale in (1.0, 1 / 640, 1 / 3, 0.1):
        rows = [(*row[:3], *(value * scale for value in row[3:])) for row in HALF]
        assert match(rows, method="optimal", threshold=0.5).n_units == 1
        assert match(rows, method="recursive", threshold=0.5).n_units == 2
    for method in ("optimal", "recursive"):  # IoU 0.5, Dice 2/3
        assert match(HALF, method=method, threshold=0.6).n_units == 2
        assert match(HALF, method=method, threshold=0.6, similarity="dice").n_units == 1


def test_components_that_need_a_decision_are_counted_and_no_objects_give_no_units() -> None:
    certain = [(0, 0, 1, 0, 0, 10, 4), (0, 1, 1, 1, 0, 10, 4)]
    disputed = [(1, 0, 1, 0, 0, 10, 4), (1, 1, 1, 1, 0, 10, 4), (1, 1, 1, 0, 0, 9, 4)]
    assert match(certain).n_hard == 0
    assert match(certain + disputed).n_hard == 1
    for method, classes in product(("optimal", "recursive", "mutual_best"), ("prefer", "ignore", "require")):
        nothing = match([], method=method, classes=classes)
        assert (nothing.unit.shape, nothing.n_units, nothing.n_hard) == ((0,), 0, 0)


def test_more_annotators_than_bits_of_a_word_are_told_apart() -> None:
    for n_annotators in (63, 64, 130):
        rows = [(0, r, 1 + r % 2, 0.0, 0.0, 7.0, 3.0) for r in range(n_annotators)]
        assert match(rows).n_units == 1
        twice = sorted_rows([*rows, (0, n_annotators - 1, 1, 0.0, 0.0, 7.0, 3.0)])
        assert match(twice).n_units == 2


ERRORS = [
    ({"threshold": 0.0}, r"`threshold` must be in \(0, 1\], got 0.0"),
    ({"threshold": 1.5}, r"`threshold` must be in \(0, 1\], got 1.5"),
    ({"threshold": float("nan")}, r"`threshold` must be in \(0, 1\], got nan"),
    ({"similarity": "giou"}, r"`similarity` must be one of \('iou', 'dice'\), got 'giou'"),
    ({"method": "greedy"}, r"`method` must be one of \('optimal', 'recursive', 'mutual_best'\), got 'greedy'"),
    ({"classes": "strict"}, r"`classes` must be one of \('prefer', 'ignore', 'require'\), got 'strict'"),
]


def test_unknown_options_are_an_error_that_names_the_option() -> None:
    for options, message in ERRORS:
        with pytest.raises(ValueError, match=message):
            match(HALF, **options)
