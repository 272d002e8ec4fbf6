"""Verdicts and numbers of every sample and label, against loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from numpy.testing import assert_allclose

from tests.agreement.agreement_oracle import (
    OPTIONS,
    batch_of,
    config_of,
    mean,
    pair_score,
    sample_alpha,
    sample_lists,
    score_of,
    units_of,
    verdict_of,
)
from tests.chance import examples

from annotator_agreement.agreement.matching import ALPHA_REASONS, NO_VERDICT, VERDICTS, compute_agreement_of

SETTINGS = examples(100)
NAN = float("nan")


@SETTINGS
@given(sample_lists(), OPTIONS)
def test_numbers_of_samples_labels_and_pairs_are_those_of_loops(samples_of: tuple, options: dict) -> None:
    n_annotators, samples = samples_of
    config = config_of(n_annotators, **options)
    agreement = compute_agreement_of(batch_of(samples, n_annotators), config)
    units = units_of(samples, agreement)
    of_sample = [[unit for unit in units if unit.sample == s] for s in range(len(samples))]
    assert len(agreement.score) == len(samples)
    for s, (sample, own) in enumerate(zip(samples, of_sample, strict=True)):
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
    object_iou = {}
    for number, unit in enumerate(units):
        assert agreement.units.votes[number] == len(unit.members)
        assert agreement.units.assigned[number] == len(samples[unit.sample])
        code = int(agreement.units.verdict[number])
        assert (None if code == NO_VERDICT else VERDICTS[code]) == verdict_of(unit, samples[unit.sample])
        for r in unit.members:
            object_iou[number, r] = mean([unit.iou(min(r, q), max(r, q)) for q in unit.members if q != r])
    annotator = [r for sample in samples for r in sorted(sample) for _ in sample[r]]
    for row, key in enumerate(zip(agreement.matching.unit.tolist(), annotator, strict=True)):
        assert_allclose(agreement.object_iou[row], object_iou[key], rtol=0, atol=1e-12)
    pairs = agreement.sample_pairs
    expected = [(s, a, b) for s, sample in enumerate(samples) for a in sample for b in sample if a < b]
    assert list(zip(pairs.sample.tolist(), pairs.a.tolist(), pairs.b.tolist(), strict=True)) == expected
    for row, (s, a, b) in enumerate(expected):
        value = pair_score(samples[s], of_sample[s], a, b, config.empty)
        assert_allclose(agreement.pair_score[row], value, rtol=0, atol=1e-12)
        assert (pairs.n_a[row], pairs.n_b[row]) == (len(samples[s][a]), len(samples[s][b]))
        assert pairs.row(*(np.array([value]) for value in (s, a, b))).tolist() == [row]


def test_batches_without_any_label_are_computed() -> None:
    for samples in ([], [{}], [{0: []}, {0: [], 1: []}]):
        for method in ("optimal", "recursive", "mutual_best"):
            agreement = compute_agreement_of(batch_of(samples, 2), config_of(2, method=method))
            assert agreement.n_units.tolist() == [0] * len(samples)
            assert np.isnan(agreement.score).all()
