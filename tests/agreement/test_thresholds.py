"""Numbers at many thresholds and alpha under other rules, by loops; the samples by which a threshold is estimated."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from tests.agreement import agreement_oracle as oracle
from tests.agreement.agreement_oracle import OPTIONS, Sample, batch_of, config_of, mean, random_samples, same
from tests.chance import examples, seeds

from annotator_agreement import metrics
from annotator_agreement.agreement import AgreementConfig, make_config
from annotator_agreement.agreement import objects as of_objects
from annotator_agreement.agreement.matching import Batch, compute_agreement_of
from annotator_agreement.agreement.objects import MAX_SAMPLES, ThresholdPoint, data_threshold, sensitivity, subsample
from annotator_agreement.metrics import THRESHOLDS, MaskCrops, Objects, Polygons, Regions, boxes_as_polygons
from annotator_agreement.metrics.geometry import Boxes, Geometry

SETTINGS = examples(25)
WITH_THRESHOLD = OPTIONS.filter(lambda options: options["method"] != "mutual_best")


def _assert_alike(points: list[ThresholdPoint], expected: list[ThresholdPoint]) -> None:
    """The same counts, and numbers that differ by rounding alone."""
    for point, other in zip(points, expected, strict=True):
        for name in ("alpha", "score", "f1"):
            assert_allclose(*(np.array(getattr(each, name), np.float64) for each in (point, other)), rtol=0, atol=1e-12)
        assert dataclasses.replace(point, alpha=None, score=None, f1=None) == dataclasses.replace(
            other, alpha=None, score=None, f1=None
        )


def _points_of_batch(batch: Batch, config: AgreementConfig) -> list[ThresholdPoint]:
    """From what is stored of a batch, which is also what its labels give."""
    of_stored, of_labels = of_objects.ThresholdNumbers(config), of_objects.ThresholdNumbers(config)
    for block in of_objects.stored_blocks(oracle.records_of(batch, config)):
        of_stored.add(block)
    of_labels.add(of_objects.Block.of(batch, config))
    _assert_alike(of_stored.points(), of_labels.points())
    return of_stored.points()


def _points(samples: list[Sample], n_annotators: int, **options) -> list[ThresholdPoint]:
    return _points_of_batch(batch_of(samples, n_annotators), config_of(n_annotators, **options))


def _check(samples: list[Sample], n_annotators: int, **options) -> None:
    """Every point is what loops over the units of a run at its threshold give."""
    for point in _points(samples, n_annotators, **options):
        config = config_of(n_annotators, **{**options, "iou": point.threshold})
        agreement = compute_agreement_of(batch_of(samples, n_annotators), config)
        units = oracle.units_of(samples, agreement)
        table = oracle.table_of(samples, units, n_annotators, config)
        same(point.alpha, oracle.alpha_of(table, config.undefined), 1e-12)
        of_sample = [[unit for unit in units if unit.sample == s] for s in range(len(samples))]
        scores = [oracle.score_of(sample, own, config.empty) for sample, own in zip(samples, of_sample, strict=True)]
        same(point.score, mean(scores), 1e-12)
        rated = [s for s, sample in enumerate(samples) if len(sample) >= 2]
        assert point.n_units == sum(len(of_sample[s]) for s in rated)
        matched = sum(len(list(unit.pairs())) for s in rated for unit in of_sample[s])
        drawn = sum(len(samples[s][a]) + len(samples[s][b]) for s in rated for a, b in combinations(samples[s], 2))
        same(point.f1, 2 * matched / drawn if drawn else oracle.NAN, 1e-12)
        assert point.n_inexact == 0
        if config.method == "optimal":
            assert point.n_hard == agreement.matching.n_hard


@SETTINGS
@given(oracle.sample_lists(), WITH_THRESHOLD)
def test_every_point_is_that_of_loops_over_the_units_at_its_threshold(drawn: tuple, options: dict) -> None:
    _check(drawn[1], drawn[0], **options)


def test_crowds_are_left_out_blocks_do_not_matter_and_without_a_threshold_or_samples_there_is_no_sweep(monkeypatch):
    crowd, inside, elsewhere = (1, 0.0, 0.0, 0.5, 0.6), (1, 0.1, 0.1, 0.2, 0.25), (1, 0.6, 0.7, 0.9, 0.8)
    batch = batch_of([{0: [inside, elsewhere], 1: [crowd, elsewhere]}], 2)
    batch = replace(batch, crowd=np.array([False, False, True, False]))
    config = config_of(2)
    points = _points_of_batch(batch, config)
    assert [(point.n_units, point.f1) for point in points] == [(1, 1.0)] * 18
    assert _points(random_samples(1), 3, method="mutual_best") == []
    points = _points([], 3)
    assert [point.threshold for point in points] == list(THRESHOLDS)
    assert {(point.n_units, point.alpha, point.score, point.f1) for point in points} == {(0, None, None, None)}
    samples = random_samples(9, n_samples=40)
    whole = _points(samples, 3)
    monkeypatch.setattr(sensitivity, "MAX_OBJECTS_OF_BLOCK", 7)
    _assert_alike(_points(samples, 3), whole)


def _alphas(samples: list[Sample], n_annotators: int, **options) -> list[of_objects.RuleAlpha]:
    config = config_of(n_annotators, **options)
    rules = of_objects.RuleNumbers(config)
    for block in of_objects.stored_blocks(oracle.records_of(batch_of(samples, n_annotators), config)):
        rules.add(block)
    return rules.alphas()


def _check_rules(rules: of_objects.RuleAlpha, samples: list[Sample], n_annotators: int, **options) -> None:
    """One set of rules against a run under these, alphas by loops over its units."""
    named = {name: getattr(rules, name) for name in ("method", "classes", "missing", "empty", "undefined")}
    config = config_of(n_annotators, **{**options, **named})
    units = oracle.units_of(samples, compute_agreement_of(batch_of(samples, n_annotators), config))
    table = oracle.table_of(samples, units, n_annotators, config)
    pooled = metrics.krippendorff_alpha(table)
    if np.isnan(pooled) and config.undefined == "one" and ((~np.isnan(table)).sum(axis=1) >= 2).any():
        pooled = 1.0  # without variation
    same(rules.pooled, pooled, 1e-12)
    alphas = [
        oracle.sample_alpha(sample, [unit for unit in units if unit.sample == s], config)[0]
        for s, sample in enumerate(samples)
    ]
    assert rules.n_defined == sum(alpha == alpha for alpha in alphas)
    same(rules.mean, mean(alphas), 1e-12)


@SETTINGS
@given(oracle.sample_lists(), OPTIONS)
def test_alpha_under_every_combination_of_rules_is_that_of_loops(drawn: tuple, options: dict) -> None:
    n_annotators, samples = drawn
    for rules in _alphas(samples, n_annotators, **options):
        _check_rules(rules, samples, n_annotators, **options)


def test_crowded_labels_are_matched_under_other_rules_as_in_a_run_with_them() -> None:
    """Groups of more than nine objects, which only a run solves exactly."""
    rng, samples = np.random.default_rng(0), list[Sample]()
    for _ in range(2):
        true, drawn = 0.3 * rng.random((5, 1, 2)), rng.normal(0, 0.03, (5, 4, 2))
        boxes = np.concatenate([true + drawn, true + drawn + 0.25], axis=2).tolist()
        samples.append({r: [(int(rng.integers(1, 3)), *each[r]) for each in boxes] for r in range(4)})
    for rules in _alphas(samples, 4, similarity="dice"):
        _check_rules(rules, samples, 4, similarity="dice")


def test_all_class_rules_and_the_published_method_stand_side_by_side_the_method_of_the_run_first() -> None:
    def combinations(**options: str) -> list[tuple[str, str]]:
        rules = _alphas(random_samples(3), 3, **options)
        return list(dict.fromkeys((each.method, each.classes) for each in rules))

    optimal = [("optimal", "prefer"), ("optimal", "ignore"), ("optimal", "require")]
    published = ("recursive", "ignore")
    assert combinations(classes="require") == [*optimal, published]
    assert combinations(method="recursive", classes="ignore") == [published, *optimal]
    assert combinations(method="mutual_best") == [("mutual_best", "prefer"), *optimal, published]
    assert len(_alphas(random_samples(3), 3)) == 4 * 2 * 2 * 2


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


@pytest.mark.long
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
@pytest.mark.few(1)
def test_batches_of_any_size_give_the_same_samples(size: int) -> None:
    batch = _batch(N_SAMPLES)
    _assert_same(_parts(batch, np.arange(N_SAMPLES) // size), _whole(batch))


def test_no_more_is_read_than_needed_and_the_order_of_samples_does_not_matter(monkeypatch) -> None:
    batch, read = _batch(N_SAMPLES), []
    for part in _parts(batch, np.arange(N_SAMPLES) // 100):
        read.append(part)
        if len(read) == 25:
            break
    given = iter(read)
    assert len(subsample(given).assigned) == MAX_SAMPLES
    rated = np.cumsum([(part.assigned.sum(axis=1) >= 2).sum() for part in read])
    assert len(list(given)) == len(read) - 1 - np.searchsorted(rated, MAX_SAMPLES)
    monkeypatch.setattr(sensitivity, "MAX_PAIRS", 3_000)
    batch = _batch(150)
    found = _whole(batch.take(np.random.default_rng(3).permutation(150)))
    assert data_threshold(_whole(batch), CONFIG).n_expected < 150 * 60
    _assert_same(found, _whole(batch))
    nothing = Objects(*np.zeros((3, 0), np.int64))
    alone = Batch(nothing, Boxes(np.zeros((0, 4))), np.eye(3, dtype=bool)[np.zeros(5, np.int64)])
    assert data_threshold(_whole(alone), CONFIG) is None
    nothing_drawn = Batch(nothing, Boxes(np.zeros((0, 4))), np.ones((5, 3), bool))
    assert data_threshold(_whole(nothing_drawn), CONFIG).reason == "too_few_values"
    assert data_threshold(_whole(nothing_drawn), CONFIG).n_samples == 5


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
    batch = _batch(of_objects.MAX_SAMPLES_OF_SHAPES + 150)
    rated = batch.assigned.sum(axis=1) >= 2
    of_boxes = data_threshold(
        _whole(batch.take(np.flatnonzero(rated & (np.cumsum(rated) <= of_objects.MAX_SAMPLES_OF_SHAPES)))), CONFIG
    )
    for geometry in _as_regions(batch.geometry.xyxy):
        of_shapes = replace(batch, geometry=geometry)
        found = subsample(_parts(of_shapes, np.arange(len(rated)) // 120))
        assert len(found.assigned) == of_objects.MAX_SAMPLES_OF_SHAPES
        threshold = data_threshold(_parts(of_shapes, np.arange(len(rated)) // 120), CONFIG)
        assert_array_equal(threshold.observed, of_boxes.observed)
        assert threshold.ks == pytest.approx(of_boxes.ks, rel=0, abs=0.02)  # fewer samples are compared


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds(4))
def test_alpha_of_noisy_labels_under_every_combination_of_rules_is_that_of_loops(seed: int) -> None:
    samples = random_samples(seed, n_samples=20, n_annotators=4)
    for rules in _alphas(samples, 4):
        _check_rules(rules, samples, 4)
