"""Alpha under other rules against loops over the units of runs under these rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from tests.agreement.agreement_oracle import (
    Sample,
    batch_of,
    config_of,
    mean,
    random_samples,
    sample_alpha,
    table_of,
    units_of,
)
from tests.agreement.found import same
from tests.agreement.strategies import OPTIONS, sample_lists
from tests.chance import examples, seeds

from annotator_agreement.agreement.matching.compute import compute_agreement_of
from annotator_agreement.agreement.objects.records import record
from annotator_agreement.agreement.objects.sensitivity import RuleAlpha, RuleNumbers, stored_blocks
from annotator_agreement.metrics import krippendorff_alpha

SETTINGS = examples(25)


def _alphas(samples: list[Sample], n_annotators: int, **options) -> list[RuleAlpha]:
    config = config_of(n_annotators, **options)
    rules = RuleNumbers(config)
    for block in stored_blocks(record(compute_agreement_of(batch_of(samples, n_annotators), config))):
        rules.add(block)
    return rules.alphas()


def _check(rules: RuleAlpha, samples: list[Sample], n_annotators: int, **options) -> None:
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
        _check(rules, samples, n_annotators, **options)


@pytest.mark.parametrize("seed", seeds(4))
def test_alpha_of_noisy_labels_under_every_combination_of_rules_is_that_of_loops(seed: int) -> None:
    samples = random_samples(seed, n_samples=20, n_annotators=4)
    for rules in _alphas(samples, 4):
        _check(rules, samples, 4)


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


def test_the_rules_of_the_run_give_the_alphas_of_the_run() -> None:
    samples = random_samples(5, n_samples=60)
    config = config_of(3, missing="category", empty="skip", undefined="none")
    agreement = compute_agreement_of(batch_of(samples, 3), config)
    own = _alphas(samples, 3, missing="category", empty="skip", undefined="none")[0]
    assert (own.classes, own.missing, own.empty, own.undefined) == ("prefer", "category", "skip", "none")
    defined = agreement.alpha[~np.isnan(agreement.alpha)]
    assert own.n_defined == len(defined)
    assert_allclose(own.mean, defined.mean(), rtol=1e-12, atol=0)
