"""The main numbers at many thresholds, against loops over units and against runs at these thresholds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from tests.agreement.agreement_oracle import (
    NAN,
    Sample,
    alpha_of,
    batch_of,
    config_of,
    mean,
    random_samples,
    score_of,
    table_of,
    units_of,
)
from tests.agreement.found import same
from tests.agreement.strategies import OPTIONS, sample_lists
from tests.chance import examples, seeds

from annotator_agreement.agreement.matching.batch import Batch
from annotator_agreement.agreement.matching.compute import compute_agreement_of
from annotator_agreement.agreement.objects import sensitivity
from annotator_agreement.agreement.objects.records import record
from annotator_agreement.agreement.objects.sensitivity import Block, ThresholdNumbers, ThresholdPoint, stored_blocks
from annotator_agreement.agreement.settings.config import AgreementConfig
from annotator_agreement.metrics import THRESHOLDS, krippendorff_alpha

SETTINGS = examples(25)
WITH_THRESHOLD = OPTIONS.filter(lambda options: options["method"] != "mutual_best")


def _points_of(blocks: Iterable[Block], config: AgreementConfig) -> list[ThresholdPoint]:
    numbers = ThresholdNumbers(config)
    for block in blocks:
        numbers.add(block)
    return numbers.points()


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
    points = _points_of(stored_blocks(record(compute_agreement_of(batch, config))), config)
    of_labels = _points_of([Block.of(batch, config)], config)
    _assert_alike(points, of_labels)
    return points


def _points(samples: list[Sample], n_annotators: int, **options) -> list[ThresholdPoint]:
    return _points_of_batch(batch_of(samples, n_annotators), config_of(n_annotators, **options))


def _check(samples: list[Sample], n_annotators: int, **options) -> None:
    """Every point is what loops over the units of a run at its threshold give."""
    for point in _points(samples, n_annotators, **options):
        config = config_of(n_annotators, **{**options, "iou": point.threshold})
        agreement = compute_agreement_of(batch_of(samples, n_annotators), config)
        units = units_of(samples, agreement)
        table = table_of(samples, units, n_annotators, config)
        same(point.alpha, alpha_of(table, config.undefined), 1e-12)
        of_sample = [[unit for unit in units if unit.sample == s] for s in range(len(samples))]
        scores = [score_of(sample, own, config.empty) for sample, own in zip(samples, of_sample, strict=True)]
        same(point.score, mean(scores), 1e-12)
        rated = [s for s, sample in enumerate(samples) if len(sample) >= 2]
        assert point.n_units == sum(len(of_sample[s]) for s in rated)
        matched = sum(len(list(unit.pairs())) for s in rated for unit in of_sample[s])
        drawn = sum(len(samples[s][a]) + len(samples[s][b]) for s in rated for a, b in combinations(samples[s], 2))
        same(point.f1, 2 * matched / drawn if drawn else NAN, 1e-12)
        assert point.n_inexact == 0
        if config.method == "optimal":
            assert point.n_hard == agreement.matching.n_hard


@SETTINGS
@given(sample_lists(), WITH_THRESHOLD)
def test_every_point_is_that_of_loops_over_the_units_at_its_threshold(drawn: tuple, options: dict) -> None:
    _check(drawn[1], drawn[0], **options)


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("classes", ["prefer", "ignore", "require"])
def test_points_of_noisy_labels_are_those_of_loops(seed: int, classes: str) -> None:
    missing = ["category", "ignore"][seed % 2]
    empty = ["skip", "agree"][seed // 2 % 2]
    _check(random_samples(seed, n_annotators=2 + seed % 3), 2 + seed % 3, classes=classes, missing=missing, empty=empty)


@pytest.mark.parametrize("iou", [0.3, 0.5, 0.85])
def test_the_point_at_the_threshold_of_the_run_is_the_run(iou: float) -> None:
    config = config_of(3, iou=iou)
    samples = random_samples(7, n_samples=60)
    agreement = compute_agreement_of(batch_of(samples, 3), config)
    point = next(point for point in _points(samples, 3, iou=iou) if point.threshold == iou)
    score = agreement.score[~np.isnan(agreement.score)]
    assert point.n_units == int(agreement.n_units[agreement.rated].sum())
    assert (point.n_hard, point.n_inexact) == (agreement.matching.n_hard, agreement.matching.n_inexact)
    assert_allclose(point.score, score.mean(), rtol=1e-12, atol=0)


def test_members_of_a_unit_that_do_not_overlap_are_a_pair_too() -> None:
    # three in a row, the outer two apart: at 0.1 the surplus 2 (1/3 - 0.1) - 0.1 joins them
    row = [(1, 0.1 + shift, 0.2, 0.3 + shift, 0.3) for shift in (0.0, 0.1, 0.2)]
    point = _points([{0: [row[0]], 1: [row[1]], 2: [row[2]]}, {0: [], 1: [(2, 0, 0, 1, 1)]}], 3)[0]
    # three pairs of 3 x 2 + 1 labels of two annotators; ratings 1 1 1, and 2 and missing
    assert (point.n_units, point.f1) == (2, pytest.approx(2 * 3 / 7))
    assert point.alpha == pytest.approx(krippendorff_alpha([[1, 1, 1], [2, 0, NAN]]))


def test_a_pair_is_matched_up_to_its_similarity() -> None:
    # IoU 0.6 of one class, IoU 1/3 of two classes
    boxes = [(1, 0.1, 0.2, 0.5, 0.3), (1, 0.2, 0.2, 0.6, 0.3), (2, 0.1, 0.6, 0.3, 0.7), (3, 0.2, 0.6, 0.4, 0.7)]
    points = _points([{0: [boxes[0], boxes[2]], 1: [boxes[1], boxes[3]]}], 2)
    assert [point.n_units for point in points] == [2] * 5 + [3] * 6 + [4] * 7
    assert_allclose([point.f1 for point in points], [1.0] * 5 + [0.5] * 6 + [0.0] * 7)
    assert_allclose([point.score for point in points], [0.3] * 11 + [0.0] * 7, rtol=0, atol=1e-12)


def test_what_a_crowd_region_explains_is_left_out_at_all_thresholds() -> None:
    crowd, inside, elsewhere = (1, 0.0, 0.0, 0.5, 0.6), (1, 0.1, 0.1, 0.2, 0.25), (1, 0.6, 0.7, 0.9, 0.8)
    batch = batch_of([{0: [inside, elsewhere], 1: [crowd, elsewhere]}], 2)
    batch = replace(batch, crowd=np.array([False, False, True, False]))
    config = config_of(2)
    points = _points_of_batch(batch, config)
    assert [(point.n_units, point.f1) for point in points] == [(1, 1.0)] * 18


def test_a_method_without_a_threshold_has_no_sweep() -> None:
    assert _points(random_samples(1), 3, method="mutual_best") == []


def test_no_samples_have_points_without_numbers() -> None:
    points = _points([], 3)
    assert [point.threshold for point in points] == list(THRESHOLDS)
    assert {(point.n_units, point.alpha, point.score, point.f1) for point in points} == {(0, None, None, None)}


def test_blocks_of_any_size_give_the_same_points(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = random_samples(9, n_samples=40)
    whole = _points(samples, 3)
    monkeypatch.setattr(sensitivity, "MAX_OBJECTS_OF_BLOCK", 7)
    _assert_alike(_points(samples, 3), whole)


def test_samples_that_are_not_rated_add_nothing() -> None:
    alone, both = {0: [(1, 0, 0, 0.5, 0.2)]}, {0: [(1, 0, 0, 0.5, 0.2)], 1: [(2, 0, 0, 0.5, 0.2)]}
    for samples in ([alone, both], [both, alone]):
        point = _points(samples, 2)[0]
        # of one unit, which two annotators called differently
        assert (point.n_units, point.f1, point.alpha) == (1, 1.0, 0.0)
