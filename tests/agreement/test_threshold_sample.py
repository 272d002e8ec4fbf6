"""The subsample for the estimated threshold: always the samples with the smallest keys, whatever the batch size."""

from __future__ import annotations

import functools
import operator
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from annotator_agreement.agreement.matching.batch import Batch
from annotator_agreement.agreement.matching.compute import without_crowd
from annotator_agreement.agreement.objects import threshold_sample
from annotator_agreement.agreement.objects.threshold_sample import MAX_SAMPLES, MAX_SAMPLES_OF_SHAPES, ThresholdSample
from annotator_agreement.metrics import MaskCrops, Objects, Polygons, Regions, boxes_as_polygons
from annotator_agreement.metrics.geometry.boxes import Boxes
from annotator_agreement.metrics.geometry.objects import Geometry

N_SAMPLES = MAX_SAMPLES + 700


def _batch(n_samples: int, seed: int = 3) -> Batch:
    """Up to two boxes an annotator, in pixels, 60 wide and 20 high; some annotators are not assigned."""
    rng = np.random.default_rng(seed)
    assigned = rng.random((n_samples, 3)) < 0.8
    sample, place = np.nonzero(rng.random((n_samples, 2)) < 0.7)
    low = np.floor(rng.uniform(0, [200.0, 100.0], (len(sample), 2)))
    seen = (rng.random((len(sample), 3)) < 0.8) & assigned[sample]
    row, annotator = np.nonzero(seen)
    corner = low[row] + np.floor(rng.uniform(-4, 4, (len(row), 2)))
    order = np.lexsort((place[row], annotator, sample[row]))
    boxes = np.hstack([corner, corner + np.array([60.0, 20.0])])[order]
    objects = Objects(sample[row][order], annotator[order], np.ones(len(row), np.int64))
    keys = rng.permutation(10 * n_samples)[:n_samples]
    return Batch(objects, Boxes(boxes), assigned, sample_keys=keys)


def _sample(batch: Batch) -> ThresholdSample:
    batch, overlaps, _ = without_crowd(batch)
    return ThresholdSample.of(batch, overlaps, "iou")


def _in_batches(batch: Batch, numbers: np.ndarray) -> ThresholdSample:
    """The samples of a number together in a batch."""
    parts = [_sample(batch.select(numbers == number)) for number in np.unique(numbers)]
    return functools.reduce(operator.add, parts, ThresholdSample())


def _assert_same(found: ThresholdSample, expected: ThresholdSample) -> None:
    a, b = found.threshold("iou", 51), expected.threshold("iou", 51)
    assert (found.n_samples, a.n_observed, a.n_expected) == (expected.n_samples, b.n_observed, b.n_expected)
    assert_array_equal(a.observed, b.observed)
    assert_array_equal(a.expected, b.expected)
    assert a.threshold == pytest.approx(b.threshold, rel=0, abs=1e-12)
    assert a.ks == pytest.approx(b.ks, rel=0, abs=1e-12)


def test_rated_samples_with_the_smallest_keys_are_kept() -> None:
    batch = _batch(N_SAMPLES)
    rated = batch.assigned.sum(axis=1) >= 2
    assert rated.sum() > MAX_SAMPLES
    chosen = np.isin(batch.sample_keys, np.sort(batch.sample_keys[rated])[:MAX_SAMPLES]) & rated
    found = _sample(batch)
    assert found.n_samples == MAX_SAMPLES
    _assert_same(found, _sample(batch.select(chosen)))
    others = _sample(batch.select(~chosen)).threshold("iou", 51)
    assert found.threshold("iou", 51).observed.tolist() != others.observed.tolist()


@pytest.mark.parametrize("size", [1000, 2600])
def test_batches_of_any_size_keep_the_same_samples(size: int) -> None:
    batch = _batch(N_SAMPLES)
    _assert_same(_in_batches(batch, np.arange(N_SAMPLES) // size), _sample(batch))


def test_the_order_of_samples_changes_nothing() -> None:
    batch = _batch(N_SAMPLES)
    numbers = np.random.default_rng(1).integers(0, 4, N_SAMPLES)
    _assert_same(_in_batches(batch, numbers), _in_batches(batch, 3 - numbers))


@pytest.mark.parametrize("most", [0, 1, 40, 300])
def test_no_more_values_are_kept_than_allowed_but_of_two_samples(monkeypatch, most: int) -> None:
    batch = _batch(120)
    every = _sample(batch).kept
    assert every is not None
    monkeypatch.setattr(threshold_sample, "MAX_OBSERVED", most)
    n_kept = max(2, int(np.searchsorted(np.cumsum(every.n_observed), most, side="right")))
    assert n_kept < len(every.keys)
    for found in (_sample(batch).kept, _in_batches(batch, np.arange(120) // 7).kept):
        assert found is not None
        assert found.keys.tolist() == every.keys[:n_kept].tolist()
        assert found.observed.tolist() == every.observed[: every.n_observed[:n_kept].sum()].tolist()


def _as_regions(boxes: np.ndarray) -> tuple[Geometry, Geometry]:
    """The same rectangles as polygons and as masks."""
    crops = [(np.ones((int(y1 - y0), int(x1 - x0)), bool), int(x0), int(y0)) for x0, y0, x1, y1 in boxes.tolist()]
    polygons = Regions.of_polygons(Polygons.from_geometry(boxes_as_polygons(boxes)))
    return polygons, Regions.of_masks(MaskCrops.from_crops(crops))


def test_fewer_samples_of_shapes_are_kept_without_the_shapes_of_others() -> None:
    batch = _batch(MAX_SAMPLES_OF_SHAPES + 150)
    rated = batch.assigned.sum(axis=1) >= 2
    kept = np.isin(batch.sample_keys, np.sort(batch.sample_keys[rated])[:MAX_SAMPLES_OF_SHAPES]) & rated
    of_boxes = _sample(batch.select(kept)).threshold("iou", 51)
    for geometry in _as_regions(batch.geometry.xyxy):
        found = _in_batches(replace(batch, geometry=geometry), np.arange(len(rated)) // 120)
        assert found.n_samples == MAX_SAMPLES_OF_SHAPES
        regions = found.kept.geometry
        n_objects = np.isin(batch.objects.sample, np.flatnonzero(kept)).sum()
        assert len(regions) == len(regions.polygons) + len(regions.masks) == n_objects
        assert len(regions.masks.pixels) == 60 * 20 * len(regions.masks)
        threshold = found.threshold("iou", 51)
        assert_array_equal(threshold.observed, of_boxes.observed)
        assert threshold.ks == pytest.approx(of_boxes.ks, rel=0, abs=0.02)  # fewer samples are compared


def test_boxes_polygons_masks_and_lines_of_one_field_stay_apart() -> None:
    batch = _batch(60)
    as_polygons, as_masks = _as_regions(batch.geometry.xyxy)
    of_kind = np.arange(len(batch.objects)) % 3
    boxes = Regions.of_boxes(batch.geometry.xyxy)
    mixed = boxes.joined([as_polygons, as_masks]).take(np.arange(len(of_kind)) + of_kind * len(of_kind))
    found = _in_batches(replace(batch, geometry=mixed), np.arange(60) // 7)
    _assert_same(found, _sample(batch))


def test_without_rated_samples_there_is_no_threshold() -> None:
    batch = _batch(5)
    alone = replace(batch, assigned=np.eye(3, dtype=bool)[np.zeros(5, np.int64)])
    empty = _sample(Batch(Objects(*np.zeros((3, 0), np.int64)), Boxes(np.zeros((0, 4))), alone.assigned))
    assert empty.n_samples == 0
    assert (ThresholdSample() + empty).threshold("iou", 51).reason == "too_few_values"
    nothing_drawn = Batch(Objects(*np.zeros((3, 0), np.int64)), Boxes(np.zeros((0, 4))), np.ones((5, 3), bool))
    assert _sample(nothing_drawn).threshold("iou", 51).reason == "too_few_values"
