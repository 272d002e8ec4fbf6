"""The main numbers at many thresholds and alpha under other rules, against loops over units of runs under these."""

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
    OPTIONS,
    Sample,
    alpha_of,
    batch_of,
    config_of,
    mean,
    random_samples,
    records_of,
    sample_alpha,
    sample_lists,
    score_of,
    table_of,
    units_of,
)
from tests.agreement.found import same
from tests.chance import examples, seeds

from annotator_agreement.agreement import AgreementConfig
from annotator_agreement.agreement.matching import Batch, compute_agreement_of
from annotator_agreement.agreement.objects import (
    Block,
    RuleAlpha,
    RuleNumbers,
    ThresholdNumbers,
    ThresholdPoint,
    sensitivity,
    stored_blocks,
)
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
    points = _points_of(stored_blocks(records_of(batch, config)), config)
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


def test_members_of_a_unit_that_do_not_overlap_are_a_pair_too() -> None:
    # three in a row, the outer two apart: at 0.1 the surplus 2 (1/3 - 0.1) - 0.1 joins them
    row = [(1, 0.1 + shift, 0.2, 0.3 + shift, 0.3) for shift in (0.0, 0.1, 0.2)]
    point = _points([{0: [row[0]], 1: [row[1]], 2: [row[2]]}, {0: [], 1: [(2, 0, 0, 1, 1)]}], 3)[0]
    # three pairs of 3 x 2 + 1 labels of two annotators; ratings 1 1 1, and 2 and missing
    assert (point.n_units, point.f1) == (2, pytest.approx(2 * 3 / 7))
    assert point.alpha == pytest.approx(krippendorff_alpha([[1, 1, 1], [2, 0, NAN]]))


@pytest.mark.parametrize("empty", ["skip", "agree"])
def test_pairs_that_both_drew_nothing_count_at_all_thresholds_as_in_a_run(empty: str) -> None:
    drawn = [(1, 0.1, 0.2, 0.3, 0.3)]
    _check([{0: [], 1: [], 2: drawn}, {0: drawn, 1: drawn, 2: []}, {0: [], 1: [], 2: []}], 3, empty=empty)


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


def _alphas(samples: list[Sample], n_annotators: int, **options) -> list[RuleAlpha]:
    config = config_of(n_annotators, **options)
    rules = RuleNumbers(config)
    for block in stored_blocks(records_of(batch_of(samples, n_annotators), config)):
        rules.add(block)
    return rules.alphas()


def _check_rules(rules: RuleAlpha, samples: list[Sample], n_annotators: int, **options) -> None:
    """One set of rules against a run under these, alphas by loops over its units."""
    named = {name: getattr(rules, name) for name in ("method", "classes", "missing", "empty", "undefined")}
    config = config_of(n_annotators, **{**options, **named})
    units = units_of(samples, compute_agreement_of(batch_of(samples, n_annotators), config))
    same(rules.pooled, krippendorff_alpha(table_of(samples, units, n_annotators, config)), 1e-12)
    alphas = [
        sample_alpha(sample, [unit for unit in units if unit.sample == s], config)[0]
        for s, sample in enumerate(samples)
    ]
    assert rules.n_defined == sum(alpha == alpha for alpha in alphas)
    same(rules.mean, mean(alphas), 1e-12)


@SETTINGS
@given(sample_lists(), OPTIONS)
def test_alpha_under_every_combination_of_rules_is_that_of_loops(drawn: tuple, options: dict) -> None:
    n_annotators, samples = drawn
    for rules in _alphas(samples, n_annotators, **options):
        _check_rules(rules, samples, n_annotators, **options)


@pytest.mark.parametrize("seed", seeds(4))
def test_alpha_of_noisy_labels_under_every_combination_of_rules_is_that_of_loops(seed: int) -> None:
    samples = random_samples(seed, n_samples=20, n_annotators=4)
    for rules in _alphas(samples, 4):
        _check_rules(rules, samples, 4)


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
