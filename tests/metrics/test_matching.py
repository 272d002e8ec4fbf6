"""Matching by ``optimal``, at many thresholds, and by ``mutual_best``; average precision, F1 and panoptic quality."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tests.agreement.agreement_oracle import batch_of, random_samples
from tests.chance import examples, seeds
from tests.metrics import matching_oracle as oracle
from tests.metrics.matching_oracle import best_by_enumeration, columns, match, partition_of, similarity_of, sorted_rows

from annotator_agreement import metrics
from annotator_agreement.metrics import THRESHOLDS, Alignment, box_overlaps, f1_score, match_objects, sweep_thresholds
from annotator_agreement.metrics.matching import sweep as sweep_module


@st.composite
def grid_rows(draw: st.DrawFn) -> list:
    """Up to 7 overlapping boxes of whole numbers, so that many similarities and totals are equal."""
    row = st.tuples(
        st.just(0), st.integers(0, 3), st.integers(1, 3),
        *[st.integers(0, 3), st.integers(0, 2), st.integers(1, 5), st.integers(1, 3)],
    )  # fmt: skip
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


thresholds = st.sampled_from([0.25, 1 / 3, 0.5, 0.6, 0.75])
KINDS = st.sampled_from(["iou", "dice"])


def _check_stage(rows: list, nodes: list, unit_of_node: np.ndarray, threshold: float, kind: str) -> None:
    """Compare a stage with all partitions of its nodes."""
    weights = oracle.node_weights(rows, nodes, threshold, kind)
    best = best_by_enumeration(weights)
    found = partition_of(unit_of_node)
    assert (oracle.total_of(weights, found), len(found)) == (pytest.approx(best.total, rel=0, abs=1e-8), best.n_groups)
    if len(best.partitions) == 1 and best.runner_up < best.total - 1e-6:
        assert found == best.partitions[0]


@examples(120)
@given(st.one_of(grid_rows(), jittered_rows()), thresholds, KINDS)
def test_units_are_the_best_of_all_partitions_of_objects_of_classes_and_of_the_units_of_classes(rows, threshold, kind):
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


HALF = [(0, 0, 1, 0, 0, 10, 10), (0, 1, 1, 0, 0, 10, 5)]


def test_a_pair_exactly_at_the_threshold_matches_only_in_the_optimal_method() -> None:
    for scale in (1.0, 1 / 640, 1 / 3, 0.1):
        rows = [(*row[:3], *(value * scale for value in row[3:])) for row in HALF]
        assert match(rows, method="optimal", threshold=0.5).n_units == 1
        assert match(rows, method="recursive", threshold=0.5).n_units == 2
    for method in ("optimal", "recursive"):  # IoU 0.5, Dice 2/3
        assert match(HALF, method=method, threshold=0.6).n_units == 2
        assert match(HALF, method=method, threshold=0.6, similarity="dice").n_units == 1


def test_hard_components_are_counted_and_more_annotators_than_bits_of_a_word_told_apart() -> None:
    certain = [(0, 0, 1, 0, 0, 10, 4), (0, 1, 1, 1, 0, 10, 4)]
    disputed = [(1, 0, 1, 0, 0, 10, 4), (1, 1, 1, 1, 0, 10, 4), (1, 1, 1, 0, 0, 9, 4)]
    assert (match(certain).n_hard, match(certain + disputed).n_hard) == (0, 1)
    for method, classes in product(("optimal", "recursive", "mutual_best"), ("prefer", "ignore", "require")):
        nothing = match([], method=method, classes=classes)
        assert (nothing.unit.shape, nothing.n_units, nothing.n_hard) == ((0,), 0, 0)
    for n_annotators in (63, 64, 130):
        rows = [(0, r, 1 + r % 2, 0.0, 0.0, 7.0, 3.0) for r in range(n_annotators)]
        assert match(rows).n_units == 1
        twice = sorted_rows([*rows, (0, n_annotators - 1, 1, 0.0, 0.0, 7.0, 3.0)])
        assert match(twice).n_units == 2


def test_unknown_options_are_an_error_and_thresholds_ascend() -> None:
    for options, message in (
        ({"threshold": 0.0}, r"`threshold` must be in \(0, 1\], got 0.0"),
        ({"threshold": 1.5}, r"`threshold` must be in \(0, 1\], got 1.5"),
        ({"threshold": float("nan")}, r"`threshold` must be in \(0, 1\], got nan"),
        ({"similarity": "giou"}, r"`similarity` must be one of \('iou', 'dice'\), got 'giou'"),
        ({"method": "greedy"}, r"`method` must be one of \('optimal', 'recursive', 'mutual_best'\), got 'greedy'"),
        ({"classes": "strict"}, r"`classes` must be one of \('prefer', 'ignore', 'require'\), got 'strict'"),
    ):
        with pytest.raises(ValueError, match=message):
            match(HALF, **options)
    assert list(THRESHOLDS) == [round(0.05 * k, 2) for k in range(2, 20)]
    objects, boxes = columns([])
    overlaps = box_overlaps(objects, boxes)
    found = sweep_thresholds(objects, overlaps)
    assert [(len(each.unit), each.n_units, each.n_hard, each.n_inexact) for each in found] == [(0, 0, 0, 0)] * 18
    for thresholds in ((0.0, 0.5), (0.5, 1.5), (0.5, 0.5), (0.6, 0.5), 0.5, (float("nan"),)):
        with pytest.raises(ValueError, match="`thresholds` must be in \\(0, 1\\] and ascending, got"):
            sweep_thresholds(objects, overlaps, thresholds=thresholds)


@pytest.mark.parametrize("classes", ["prefer", "ignore", "require"])
@pytest.mark.parametrize("n_annotators", [2, 3])
def test_every_threshold_gives_what_the_matching_at_that_threshold_gives(classes, n_annotators, monkeypatch) -> None:
    batch = batch_of(random_samples(n_annotators, 300, n_annotators), n_annotators)
    objects = batch.objects
    overlaps = batch.geometry.overlaps(objects)
    sweep = sweep_thresholds(objects, overlaps, classes=classes)
    assert max(found.n_hard for found in sweep) > 10
    assert not any(found.n_inexact for found in sweep)
    monkeypatch.setattr(sweep_module, "_MAX_OBJECTS_AT_ONCE", 200)
    parts = sweep_thresholds(objects, overlaps, classes=classes)
    for found, in_parts, threshold in zip(sweep, parts, THRESHOLDS, strict=True):
        expected = match_objects(objects, overlaps, threshold=threshold, classes=classes)
        for each in (found, in_parts):
            np.testing.assert_array_equal(each.unit, expected.unit)
            assert (each.n_units, each.n_hard) == (expected.n_units, expected.n_hard)


def _bars(*bars: tuple[int, int, float, float]) -> list:
    """Boxes one high: (annotator, class, x_min, x_max)."""
    return [(0, annotator, category, low, 0.0, high, 1.0) for annotator, category, low, high in bars]


def test_cases_by_hand_for_two_annotators() -> None:
    # (id, bars, unit with classes ignored, unit with classes required)
    for name, bars, ignored, required in (
        ("touching is no overlap", [(0, 1, 0, 10), (1, 1, 10, 19)], [0, 1], [0, 1]),
        ("tie: same class first", [(0, 1, 0, 8), (1, 2, 0, 8), (1, 1, 0, 8)], [0, 1, 0], [0, 1, 0]),
        ("tie: then the first", [(0, 1, 0, 8), (1, 1, 0, 8), (1, 1, 0, 8)], [0, 0, 1], [0, 0, 1]),
        ("tie of left and right: same class first", [(0, 3, 4, 8), (1, 2, 2, 6), (1, 3, 6, 10)], [0, 1, 0], [0, 1, 0]),
        ("tie of two objects of a", [(0, 2, 0, 8), (0, 1, 0, 8), (1, 1, 0, 8)], [0, 1, 1], [0, 1, 1]),
    ):
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


def test_recall_precision_f1_and_qualities_of_counts_are_those_by_hand() -> None:
    for counts, expected in (
        ((0, 0, 0, 0.0, 0.0), (np.nan, np.nan, np.nan)),
        ((3, 0, 0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        ((2, 3, 0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        ((2, 2, 2, 2.0, 2.0), (1.0, 1.0, 1.0)),
        ((1, 1, 1, 0.5, 1.0), (0.5, 1.0, 2 / 3)),
    ):
        alignment = Alignment(*counts)
        assert_allclose((alignment.recall, alignment.precision, alignment.f_score), expected, rtol=0, atol=1e-12)
    n_a, n_b = np.array([2, 0, 3, 0]), np.array([4, 0, 0, 2])
    assert_allclose(f1_score(np.array([1, 0, 0, 0]), n_a, n_b), [1 / 3, NAN, 0.0, 0.0], rtol=0, atol=1e-15)
    assert_allclose(metrics.panoptic_quality(np.array([0.6, 0, 0, 0]), n_a, n_b), [0.2, NAN, 0, 0], rtol=0, atol=1e-15)
    assert_allclose(
        metrics.segmentation_quality(np.array([1.5, 0.0]), np.array([2, 0])), [0.75, NAN], rtol=0, atol=1e-15
    )


NAN = float("nan")
