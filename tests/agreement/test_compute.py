"""Verdicts and numbers of every sample and label, against loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from tests.agreement.agreement_oracle import (
    batch_of,
    config_of,
    drawn,
    mean,
    pair_score,
    sample_alpha,
    score_of,
    units_of,
    verdict_of,
)
from tests.agreement.known_alpha import draw, limit_of_alpha
from tests.agreement.strategies import OPTIONS, sample_lists
from tests.chance import examples

from annotator_agreement.agreement.matching.compute import ALPHA_REASONS, compute_agreement_of
from annotator_agreement.agreement.matching.verdicts import NO_VERDICT, VERDICTS
from annotator_agreement.metrics import NominalTally

SETTINGS = examples(100)
NAN = float("nan")
CAR, BUS = 1, 2
HERE, SHIFTED, ELSEWHERE = (0.1, 0.2, 0.5, 0.4), (0.15, 0.2, 0.55, 0.4), (0.7, 0.5, 0.9, 0.95)


def _verdicts(sample: dict, n_annotators: int = 3, **options: str) -> list:
    agreement = compute_agreement_of(batch_of([sample], n_annotators), config_of(n_annotators, **options))
    codes = agreement.units.verdict[agreement.matching.unit].tolist()
    return [None if code == NO_VERDICT else VERDICTS[code] for code in codes]


car, bus = (CAR, *HERE), (BUS, *HERE)
# (id, labels of every assigned annotator, verdict of every label)
VERDICT_CASES = [
    ("all three alike", {0: [car], 1: [car], 2: [car]}, ["agreed"] * 3),
    ("both who were assigned", {0: [car], 2: [(CAR, *SHIFTED)]}, ["agreed"] * 2),
    ("one drew nothing", {0: [car], 1: [car], 2: []}, ["missed"] * 2),
    ("two drew nothing", {0: [], 1: [car], 2: []}, ["lone"]),
    ("alone of two", {0: [car], 1: []}, ["lone"]),
    ("classes differ", {0: [car], 1: [bus], 2: [car]}, ["class_conflict"] * 3),
    ("classes differ and one is missing", {0: [car], 1: [bus], 2: []}, ["class_conflict"] * 2),
    ("different places", {0: [car], 1: [(CAR, *ELSEWHERE)]}, ["lone", "lone"]),
    ("only one assigned", {1: [car, (BUS, *ELSEWHERE)]}, [None, None]),
    ("two of one annotator", {0: [car, (CAR, *SHIFTED)], 1: [car]}, ["agreed", "lone", "agreed"]),
    ("nobody drew", {0: [], 1: []}, []),
]


@pytest.mark.parametrize("case", VERDICT_CASES, ids=lambda case: case[0])
def test_verdicts_say_who_drew_an_object_and_how_it_was_named(case: tuple) -> None:
    _, sample, verdicts = case
    assert _verdicts(sample) == verdicts


def test_required_classes_turn_a_class_conflict_into_misses() -> None:
    assert _verdicts({0: [car], 1: [bus], 2: [car]}, classes="require") == ["missed", "lone", "missed"]


def test_a_missing_annotator_is_not_an_empty_one() -> None:
    config = config_of(3)
    missing = compute_agreement_of(batch_of([{0: [car], 1: [car]}], 3), config)
    empty = compute_agreement_of(batch_of([{0: [car], 1: [car], 2: []}], 3), config)
    assert (missing.score.tolist(), empty.score.tolist()) == ([1.0], [pytest.approx(1 / 3)])
    assert (missing.n_disputed.tolist(), empty.n_disputed.tolist()) == ([0], [1])


def test_a_pair_that_both_drew_nothing_agrees_where_somebody_else_drew() -> None:
    agreement = compute_agreement_of(batch_of([{0: [car], 1: [], 2: []}], 3), config_of(3))
    assert_allclose(agreement.score, [1 / 3], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("empty", "score", "alpha"), [("skip", NAN, NAN), ("agree", 1.0, 1.0)])
def test_an_image_that_all_left_empty_is_skipped_or_agrees(empty: str, score: float, alpha: float) -> None:
    agreement = compute_agreement_of(batch_of([{0: [], 2: []}, {1: []}], 3), config_of(3, empty=empty))
    assert_array_equal(agreement.score, [score, NAN])  # one annotator alone is never rated
    assert_array_equal(agreement.alpha, [alpha, NAN])


ALPHA_CASES = [
    ("one annotator", {0: [car]}, {}, NAN, "one_annotator"),
    ("nobody drew", {0: [], 1: []}, {}, NAN, "no_objects"),
    ("nobody drew, undefined one", {0: [], 1: []}, {"undefined": "one"}, NAN, "no_objects"),
    ("one category", {0: [car], 1: [car]}, {}, NAN, "single_category"),
    ("one category, undefined one", {0: [car], 1: [car]}, {"undefined": "one"}, 1.0, ""),
    ("nothing to compare", {0: [car], 1: []}, {"missing": "ignore", "undefined": "one"}, NAN, "no_pairable_values"),
    ("one missed", {0: [car], 1: []}, {}, 0.0, ""),
    ("conflict", {0: [car], 1: [bus]}, {"missing": "ignore"}, 0.0, ""),
]


@pytest.mark.parametrize("case", ALPHA_CASES, ids=lambda case: case[0])
def test_alpha_of_a_sample_is_undefined_for_a_reason(case: tuple) -> None:
    _, sample, options, alpha, reason = case
    agreement = compute_agreement_of(batch_of([sample], 3), config_of(3, **options))
    assert_allclose(agreement.alpha, [alpha], rtol=0, atol=1e-12)
    assert ALPHA_REASONS[agreement.part["alpha_reason"][0]] == reason


@SETTINGS
@given(sample_lists(), OPTIONS)
def test_numbers_of_samples_are_those_of_loops(samples_of: tuple, options: dict) -> None:
    n_annotators, samples = samples_of
    config = config_of(n_annotators, **options)
    agreement = compute_agreement_of(batch_of(samples, n_annotators), config)
    units = units_of(samples, agreement)
    for s, sample in enumerate(samples):
        own = [unit for unit in units if unit.sample == s]
        assert_allclose(agreement.score[s], score_of(sample, own, config.empty), rtol=0, atol=1e-12)
        alpha, reason = sample_alpha(sample, own, config)
        assert_allclose(agreement.alpha[s], alpha, rtol=0, atol=1e-12)
        assert ALPHA_REASONS[agreement.part["alpha_reason"][s]] == reason
        iou = [unit.iou(a, b) for unit in own for a, b in unit.pairs()]
        assert_allclose(agreement.iou[s], mean(iou), rtol=0, atol=1e-12)
        assert_allclose(agreement.dice[s], mean([2 * v / (1 + v) for v in iou]), rtol=0, atol=1e-12)
        assert agreement.n_assigned[s] == len(sample)
        assert agreement.n_objects[s] == sum(map(len, sample.values()))
        assert agreement.n_units[s] == len(own)
        assert agreement.n_disputed[s] == sum(verdict_of(unit, sample) not in (None, "agreed") for unit in own)
        assert agreement.rated[s] == (len(sample) >= 2)
    assert len(agreement.score) == len(samples)


@SETTINGS
@given(sample_lists(), OPTIONS)
def test_numbers_of_labels_and_pairs_are_those_of_loops(samples_of: tuple, options: dict) -> None:
    n_annotators, samples = samples_of
    config = config_of(n_annotators, **options)
    agreement = compute_agreement_of(batch_of(samples, n_annotators), config)
    units = units_of(samples, agreement)
    verdicts, object_iou = {}, {}
    for number, unit in enumerate(units):
        verdicts[number] = verdict_of(unit, samples[unit.sample])
        assert agreement.units.votes[number] == len(unit.members)
        assert agreement.units.assigned[number] == len(samples[unit.sample])
        for r in unit.members:
            object_iou[number, r] = mean([unit.iou(min(r, q), max(r, q)) for q in unit.members if q != r])
    annotator = [r for sample in samples for r in sorted(sample) for _ in sample[r]]
    for row, (number, r) in enumerate(zip(agreement.matching.unit.tolist(), annotator, strict=True)):
        code = int(agreement.units.verdict[number])
        assert (None if code == NO_VERDICT else VERDICTS[code]) == verdicts[number]
        assert_allclose(agreement.object_iou[row], object_iou[number, r], rtol=0, atol=1e-12)
    pairs = agreement.sample_pairs
    expected = [(s, a, b) for s, sample in enumerate(samples) for a in sample for b in sample if a < b]
    assert list(zip(pairs.sample.tolist(), pairs.a.tolist(), pairs.b.tolist(), strict=True)) == expected
    for row, (s, a, b) in enumerate(expected):
        own = [unit for unit in units if unit.sample == s]
        value = pair_score(samples[s], own, a, b, config.empty)
        assert_allclose(agreement.pair_score[row], value, rtol=0, atol=1e-12)
        assert (pairs.n_a[row], pairs.n_b[row]) == (len(samples[s][a]), len(samples[s][b]))
        assert pairs.row(*(np.array([value]) for value in (s, a, b))).tolist() == [row]


@pytest.mark.parametrize("method", ["optimal", "recursive", "mutual_best"])
@pytest.mark.parametrize("samples", [[], [{}], [{0: []}, {0: [], 1: []}]], ids=str)
def test_batches_without_any_label_are_computed(samples: list, method: str) -> None:
    agreement = compute_agreement_of(batch_of(samples, 2), config_of(2, method=method))
    assert agreement.n_units.tolist() == [0] * len(samples)
    assert not any(map(drawn, samples))
    assert np.isnan(agreement.score).all()


def test_the_alpha_of_many_samples_comes_close_to_its_limit() -> None:
    n = 20_000
    batch = draw(n, np.random.default_rng(3))
    agreement = compute_agreement_of(batch, config_of(3))
    ratings = agreement.ratings
    alpha = NominalTally.from_counts(ratings.unit, ratings.category, ratings.count).alpha()
    assert alpha == pytest.approx(limit_of_alpha(), abs=0.008)
    assert 0.5 < limit_of_alpha() < 0.8
