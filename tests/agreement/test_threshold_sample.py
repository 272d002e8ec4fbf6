"""The samples by which the threshold is estimated: the first rated ones, whatever they are read together with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.matching import Batch
from annotator_agreement.agreement.objects import (
    MAX_SAMPLES,
    MAX_SAMPLES_OF_SHAPES,
    data_threshold,
    sensitivity,
    subsample,
)
from annotator_agreement.metrics import MaskCrops, Objects, Polygons, Regions, boxes_as_polygons
from annotator_agreement.metrics.geometry import Boxes, Geometry

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
    return Batch(objects, Boxes(boxes), assigned)


CONFIG = make_config(["a", "b", "c"])


def _parts(batch: Batch, numbers: np.ndarray) -> Iterator[Batch]:
    """The samples of a number together, as they are read."""
    for number in np.unique(numbers):
        yield batch.take(np.flatnonzero(numbers == number))


def _whole(batch: Batch) -> Iterator[Batch]:
    return _parts(batch, np.zeros(batch.n_samples))


def _assert_same(found: Iterator[Batch], expected: Iterator[Batch]) -> None:
    a, b = (asdict(data_threshold(parts, CONFIG)) for parts in (found, expected))
    for name in ("threshold", "ks", "halves"):
        assert a.pop(name) == pytest.approx(b.pop(name), rel=0, abs=1e-12)
    assert a == b


def test_the_first_rated_samples_are_taken() -> None:
    batch = _batch(N_SAMPLES)
    rated = batch.assigned.sum(axis=1) >= 2
    assert rated.sum() > MAX_SAMPLES
    chosen = rated & (np.cumsum(rated) <= MAX_SAMPLES)
    found = subsample(_whole(batch))
    assert len(found.assigned) == MAX_SAMPLES
    _assert_same(_whole(batch), _whole(batch.take(np.flatnonzero(chosen))))
    others = data_threshold(_whole(batch.take(np.flatnonzero(~chosen))), CONFIG)
    assert data_threshold(_whole(batch), CONFIG).observed != others.observed


@pytest.mark.parametrize("size", [1000, 2600])
def test_batches_of_any_size_give_the_same_samples(size: int) -> None:
    batch = _batch(N_SAMPLES)
    _assert_same(_parts(batch, np.arange(N_SAMPLES) // size), _whole(batch))


def test_no_more_is_read_than_needed() -> None:
    batch, read = _batch(N_SAMPLES), []
    for part in _parts(batch, np.arange(N_SAMPLES) // 100):
        read.append(part)
        if len(read) == 25:
            break
    given = iter(read)
    assert len(subsample(given).assigned) == MAX_SAMPLES
    rated = np.cumsum([(part.assigned.sum(axis=1) >= 2).sum() for part in read])
    assert len(list(given)) == len(read) - 1 - np.searchsorted(rated, MAX_SAMPLES)


@pytest.mark.parametrize("most", [0, 1, 40, 300])
def test_no_more_values_are_kept_than_allowed_but_of_two_samples(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    batch = _batch(120)
    every = subsample(_whole(batch))
    monkeypatch.setattr(sensitivity, "MAX_OBSERVED", most)
    n_kept = max(2, int(np.searchsorted(np.cumsum(sensitivity._n_compared(every)), most, side="right")))
    assert n_kept < len(every.assigned)
    for found in (subsample(_whole(batch)), subsample(_parts(batch, np.arange(120) // 7))):
        assert_array_equal(found.assigned, every.assigned[:n_kept])
        assert_array_equal(found.geometry.xyxy, every.geometry.xyxy[: len(found.objects)])


def _as_regions(boxes: np.ndarray) -> tuple[Geometry, Geometry]:
    """The same rectangles as polygons and as masks."""
    crops = [(np.ones((int(y1 - y0), int(x1 - x0)), bool), int(x0), int(y0)) for x0, y0, x1, y1 in boxes.tolist()]
    polygons = Regions.of_polygons(Polygons.from_geometry(boxes_as_polygons(boxes)))
    return polygons, Regions.of_masks(MaskCrops.from_crops(crops))


def test_fewer_samples_of_shapes_are_kept() -> None:
    batch = _batch(MAX_SAMPLES_OF_SHAPES + 150)
    rated = batch.assigned.sum(axis=1) >= 2
    of_boxes = data_threshold(
        _whole(batch.take(np.flatnonzero(rated & (np.cumsum(rated) <= MAX_SAMPLES_OF_SHAPES)))), CONFIG
    )
    for geometry in _as_regions(batch.geometry.xyxy):
        of_shapes = replace(batch, geometry=geometry)
        found = subsample(_parts(of_shapes, np.arange(len(rated)) // 120))
        assert len(found.assigned) == MAX_SAMPLES_OF_SHAPES
        threshold = data_threshold(_parts(of_shapes, np.arange(len(rated)) // 120), CONFIG)
        assert_array_equal(threshold.observed, of_boxes.observed)
        assert threshold.ks == pytest.approx(of_boxes.ks, rel=0, abs=0.02)  # fewer samples are compared


def test_boxes_polygons_masks_and_lines_of_one_field_stay_apart() -> None:
    batch = _batch(60)
    as_polygons, as_masks = _as_regions(batch.geometry.xyxy)
    of_kind = np.arange(len(batch.objects)) % 3
    boxes = Regions.of_boxes(batch.geometry.xyxy)
    mixed = boxes.joined([as_polygons, as_masks]).take(np.arange(len(of_kind)) + of_kind * len(of_kind))
    _assert_same(_parts(replace(batch, geometry=mixed), np.arange(60) // 7), _whole(batch))


def test_without_rated_samples_there_is_no_threshold() -> None:
    nothing = Objects(*np.zeros((3, 0), np.int64))
    alone = Batch(nothing, Boxes(np.zeros((0, 4))), np.eye(3, dtype=bool)[np.zeros(5, np.int64)])
    assert data_threshold(_whole(alone), CONFIG) is None
    nothing_drawn = Batch(nothing, Boxes(np.zeros((0, 4))), np.ones((5, 3), bool))
    assert data_threshold(_whole(nothing_drawn), CONFIG).reason == "too_few_values"
    assert data_threshold(_whole(nothing_drawn), CONFIG).n_samples == 5
