"""Verdicts and numbers of every sample and label, against loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

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
