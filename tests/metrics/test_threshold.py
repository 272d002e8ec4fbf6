"""The threshold from the data against loops over all objects, SciPy's densities and distances, and shapes by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import gaussian_kde, ks_2samp

from tests.chance import seeds
from tests.metrics.matching_oracle import Row, columns, similarity_of, sorted_rows

from annotator_agreement import metrics
from annotator_agreement.metrics import best_similarities, similarities_between_samples, threshold_from_data
from annotator_agreement.metrics.geometry import Boxes

NAN = float("nan")


def _rows(seed: int, n_samples: int, n_annotators: int = 3) -> tuple[list[Row], np.ndarray]:
    """Boxes wider than high, some annotators not assigned, some who drew nothing, some samples empty."""
    rng = np.random.default_rng(seed)
    assigned = rng.random((n_samples, n_annotators)) < 0.85
    rows: list[Row] = []
    for sample, annotator in zip(*np.nonzero(assigned), strict=True):
        for _ in range(int(rng.integers(0, 4))):
            x, y = rng.uniform(0, [0.6, 0.7])
            w, h = rng.uniform([0.1, 0.05], [0.4, 0.3])
            rows.append((int(sample), int(annotator), 1, x, y, x + w, y + h))
    return sorted_rows(rows), assigned


def _best(row: Row, others: list[Row], kind: str) -> float:
    return max((similarity_of(row[3:], other[3:], kind) for other in others), default=0.0)


def _drawn(rows: list[Row], sample: int, annotator: int) -> list[Row]:
    return [row for row in rows if row[:2] == (sample, annotator)]


@pytest.mark.parametrize("seed", seeds(4))
def test_observed_are_the_best_similarities_with_every_other_annotator_of_the_sample(seed: int) -> None:
    rows, assigned = _rows(seed, n_samples=5)
    objects, boxes = columns(rows)
    for kind in ("iou", "dice"):
        found = best_similarities(objects, metrics.box_overlaps(objects, boxes), assigned, similarity=kind)
        expected = [
            _best(row, _drawn(rows, row[0], other), kind)
            for row in rows
            for other in np.flatnonzero(assigned[row[0]]).tolist()
            if other != row[1]
        ]
        assert_allclose(found, expected, rtol=0, atol=1e-12)
        assert 0.0 in expected


@pytest.mark.parametrize("n_samples", [0, 1, 2, 3, 4, 7])
def test_expected_are_the_best_similarities_with_every_annotator_of_all_other_samples(n_samples: int) -> None:
    rows, assigned = _rows(10 + n_samples, n_samples)
    objects, boxes = columns(rows)
    for kind in ("iou", "dice"):
        rng = np.random.default_rng(51)
        found = similarities_between_samples(objects, Boxes(boxes), assigned, similarity=kind, rng=rng)
        expected = [
            _best(row, _drawn(rows, sample, other), kind)
            for row in rows
            for sample in range(n_samples)
            for other in np.flatnonzero(assigned[sample]).tolist()
            if sample != row[0]
        ]
        assert_allclose(np.sort(found), sorted(expected), rtol=0, atol=1e-12)
    if not n_samples:
        assert len(best_similarities(objects, metrics.box_overlaps(objects, boxes), assigned)) == 0


def test_a_limit_on_pairs_leaves_neighbours_on_a_circle_in_random_order() -> None:
    rows, assigned = _rows(3, n_samples=40)
    objects, boxes = columns(rows)

    def expected(seed: int, max_pairs: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        return similarities_between_samples(objects, Boxes(boxes), assigned, rng=rng, max_pairs=max_pairs)

    few = expected(7, 1)
    assert_array_equal(few, expected(7, 1))
    assert few.sum() != expected(8, 1).sum()
    # every object meets the annotators of two samples
    assert len(rows) <= len(few) <= len(rows) * 2 * 3
    n_objects = np.bincount(objects.sample, minlength=40)
    enough = int(n_objects.sum() ** 2)
    assert len(few) < len(expected(7, 3_000)) < len(expected(7, enough))


def test_keypoints_are_compared_across_samples_by_their_own_similarity() -> None:
    rng = np.random.default_rng(2)
    points = np.array([[0.2, 0.3], [0.4, 0.35], [0.3, 0.8]]) + rng.normal(0, 0.02, (4, 3, 2))
    objects = metrics.Objects(np.arange(4), np.zeros(4, np.int64), np.ones(4, np.int64))
    found = similarities_between_samples(objects, metrics.Keypoints(points, 0.1), np.ones((4, 1), bool), rng=rng)
    p, q = (~np.eye(4, dtype=bool)).nonzero()
    assert_allclose(np.sort(found), np.sort(metrics.oks(points[p], points[q], 0.1)), rtol=0, atol=1e-12)


def _two_humps(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Similarities of annotators who mostly agree, and of strangers who rarely overlap."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(400, 2000))
    observed = np.where(rng.random(n) < 0.85, rng.beta(9, 2, n), rng.beta(1, 3, n))
    expected = np.where(rng.random(3 * n) < 0.5, 0.0, rng.beta(1, 7, 3 * n))
    return observed, expected


@pytest.mark.parametrize("missed", [False, True])  # half of the objects, which is the most frequent distance of all
@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.few(1)
def test_the_threshold_is_where_the_densities_of_scipy_cross_and_the_separation_its_one_sided_distance(seed, missed):
    observed, expected = _two_humps(seed)
    n, x = len(expected) // 3, np.linspace(0.0, 1.0, 8_001)
    if missed:
        observed = np.concatenate([observed, np.zeros(len(observed))])
    own = gaussian_kde(1.0 - observed)(x)
    other = gaussian_kde(1.0 - expected, bw_method=n**-0.2)(x)  # Scott's factor of a third of the values
    assert (own.argmax() > 7_900) == missed
    peak = int(np.where(own > other, own, 0.0).argmax())
    assert x[peak] < 0.3
    crossed = peak + np.flatnonzero(own[peak:] < other[peak:])[0]
    found = threshold_from_data(observed, expected, n)
    assert (found.reason, found.threshold) == ("", pytest.approx(1.0 - x[crossed], rel=0, abs=1.1e-3))
    # "less": the cumulative distribution of the first lies below that of the second
    oracle = ks_2samp(observed, expected, alternative="less", method="asymp")
    assert found.ks == pytest.approx(oracle.statistic, rel=0, abs=1e-12)


def test_the_threshold_between_distributions_that_never_meet_is_the_middle_and_without_a_crossing_none() -> None:
    for name, observed, expected, n_objects, reason, ks in (
        ("nothing observed", [], [0.1, 0.2], 2, "too_few_values", NAN),
        ("nothing expected", [0.1, 0.2], [], 2, "too_few_values", NAN),
        ("one observed", [0.9], [0.1, 0.2], 2, "too_few_values", 1.0),
        ("values of one object", [0.9, 0.8], [0.1, 0.2], 1, "too_few_values", 1.0),
        ("everybody equal", [1.0, 1.0, 1.0], [0.1, 0.2], 2, "no_variation", 1.0),
        ("never near by chance", [0.9, 0.8], [0.0, 0.0, 0.0], 3, "no_variation", 1.0),
        ("agreement is rarer than chance", [0.0, 0.0, 0.05], [0.0, 0.4, 0.9], 3, "no_crossing", 0.0),
    ):
        found = threshold_from_data(np.array(observed, float), np.array(expected, float), n_objects)
        assert found.reason == reason, name
        assert np.isnan(found.threshold)
        assert_array_equal(found.ks, ks)
        assert found.observed.sum() == len(observed)
    # so narrow that both densities vanish between them
    observed, expected = 0.9 + np.linspace(-1e-3, 1e-3, 50), 0.1 + np.linspace(-1e-3, 1e-3, 50)
    found = threshold_from_data(observed, expected, 50)
    assert (found.threshold, found.ks) == (pytest.approx(0.5, rel=0, abs=2e-3), 1.0)
