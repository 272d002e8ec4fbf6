"""The report against loops over samples, units and pairs, and its round trip through JSON."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

from tests.agreement.agreement_oracle import (
    CLASS_NAMES,
    NAMES,
    NAN,
    OPTIONS,
    alpha_of,
    batch_of,
    best_iou,
    config_of,
    drawn,
    mean,
    object_verdicts,
    pair_score,
    report_of,
    sample_alpha,
    sample_lists,
    score_of,
    table_of,
)
from tests.agreement.found import Found, found, found_in
from tests.chance import examples, some_seeds
from tests.dataset_io.same_values import assert_same
from tests.metrics.golden_cases import GOLDEN, corners

from annotator_agreement.agreement.matching import VERDICTS, compute_agreement_of
from annotator_agreement.metrics import krippendorff_alpha, percent_agreement

SETTINGS = examples(60)


def _same(value: float | None, expected: float, tolerance: float = 1e-12) -> None:
    if value is None or math.isnan(expected):
        assert (value is None) == math.isnan(expected), (value, expected)
    else:
        assert value == pytest.approx(expected, rel=0, abs=tolerance)


def _std(values: list[float]) -> float:
    defined = [value for value in values if not math.isnan(value)]
    return float(np.std(defined)) if defined else NAN


def _check_dataset(case: Found) -> None:
    samples, units, config, report = case.samples, case.units, case.config, case.report
    own = [[unit for unit in units if unit.sample == s] for s in range(len(samples))]
    rated = [s for s, sample in enumerate(samples) if len(sample) >= 2]

    assert (report.n_samples, report.n_rated) == (len(samples), len(rated))
    assert report.n_empty == sum(not drawn(samples[s]) for s in rated)
    assert report.n_units == sum(len(own[s]) for s in rated)
    assert report.n_objects == sum(len(labels) for s in rated for labels in samples[s].values())

    scores = [score_of(sample, own[s], config.empty) for s, sample in enumerate(samples)]
    _same(report.score.mean, mean(scores))
    assert report.score.n == sum(not math.isnan(score) for score in scores)

    alphas = [sample_alpha(sample, own[s], config) for s, sample in enumerate(samples)]
    table = table_of(samples, units, len(config.fields), config)
    _same(report.alpha.pooled, alpha_of(table, config.undefined))
    _same(report.alpha.percent_agreement, percent_agreement(table))
    _same(report.alpha.mean, mean([alpha for alpha, _ in alphas]))
    assert report.alpha.n_defined == sum(not math.isnan(alpha) for alpha, _ in alphas)
    assert Counter(report.alpha.undefined) == Counter(reason for _, reason in alphas if reason)
    assert report.alpha.n_units == ((~np.isnan(table)).sum(axis=1) >= 2).sum()

    classes = np.where(table == 0.0, NAN, table)
    if config.undefined == "none":
        _same(report.class_given_match.alpha, krippendorff_alpha(classes))
    _same(report.class_given_match.percent_agreement, percent_agreement(classes))
    assert report.class_given_match.n_units == sum(len(unit.members) >= 2 for unit in units)

    iou = [unit.iou(a, b) for unit in units for a, b in unit.pairs()]
    _same(report.localisation.mean_iou, mean(iou))
    _same(report.localisation.mean_dice, mean([2 * value / (1 + value) for value in iou]))
    assert report.localisation.n_pairs == len(iou)

    votes = Counter((len(samples[unit.sample]), len(unit.members)) for unit in units if unit.sample in rated)
    assert {(v["assigned"], v["votes"]): v["units"] for v in report.existence.votes} == votes
    n_both = sum(len(sample[a]) + len(sample[b]) for sample in samples for a, b in combinations(sorted(sample), 2))
    _same(report.existence.f1, 2 * len(iou) / n_both if n_both else NAN)


def _check_pairs(case: Found) -> None:
    samples, units, config, report = case.samples, case.units, case.config, case.report
    pairs = {(NAMES.index(pair.a), NAMES.index(pair.b)): pair for pair in report.pairs}
    shared_by = {
        (a, b): [s for s, sample in enumerate(samples) if a in sample and b in sample]
        for a, b in combinations(range(len(config.fields)), 2)
    }
    assert sorted(pairs) == sorted(pair for pair, shared in shared_by.items() if shared)
    for (a, b), pair in pairs.items():
        shared = shared_by[a, b]
        n_a, n_b = (sum(len(samples[s][r]) for s in shared) for r in (a, b))
        matched = [unit for unit in units if a in unit.members and b in unit.members]
        iou = [unit.iou(a, b) for unit in matched]
        alike = [unit.iou(a, b) for unit in matched if unit.members[a][0] == unit.members[b][0]]
        assert (pair.n_samples, pair.n_a, pair.n_b, pair.n_matched) == (len(shared), n_a, n_b, len(matched))

        missing = 0.0 if config.missing == "category" else NAN
        rows = [
            [unit.members[r][0] if r in unit.members else missing for r in (a, b)]
            for unit in units
            if unit.sample in shared and (a in unit.members or b in unit.members)
        ]
        if config.empty == "agree":
            rows += [[missing, missing] for s in shared if not drawn(samples[s])]
        table = np.array(rows, dtype=float).reshape(-1, 2)
        _same(pair.alpha, alpha_of(table, config.undefined))
        _same(pair.percent_agreement, percent_agreement(table))

        of_sample = {s: [unit for unit in units if unit.sample == s] for s in shared}
        _same(pair.score, mean([pair_score(samples[s], of_sample[s], a, b, config.empty) for s in shared]))
        _same(pair.f1, 2 * len(matched) / (n_a + n_b) if n_a + n_b else NAN)
        _same(pair.class_agreement, len(alike) / len(matched) if matched else NAN)
        _same(pair.mean_iou, mean(iou))
        _same(pair.mean_dice, mean([2 * value / (1 + value) for value in iou]))
        _same(pair.pq, 2 * sum(alike) / (n_a + n_b) if n_a + n_b else NAN)
        _same(pair.sq, mean(alike))
        _same(pair.rq, 2 * len(alike) / (n_a + n_b) if n_a + n_b else NAN)

        forth, back = ([best_iou(samples[s], p, q) for s in shared] for p, q in ((a, b), (b, a)))
        both = [
            NAN if math.isnan(f) and math.isnan(k) else (np.nan_to_num(f) + np.nan_to_num(k)) / 2
            for f, k in zip(forth, back, strict=True)
        ]
        for name, values in (("a_to_b", forth), ("b_to_a", back), ("symmetric", both)):
            found = pair.mean_max_iou[name]
            _same(found.mean, mean(values))
            _same(found.std, _std(values), tolerance=1e-7)
            assert found.n == sum(not math.isnan(value) for value in values)
        assert (pair.alignment is None) == (config.method != "mutual_best")


def _check_annotators(case: Found) -> None:
    samples, units, config, report = case.samples, case.units, case.config, case.report
    agreement = compute_agreement_of(batch_of(samples, len(config.fields)), config)
    verdict_of_label = object_verdicts(samples, agreement, config.iou)
    drawn_by = [r for sample in samples for r in sorted(sample) for _ in sample[r]]
    assert [entry.name for entry in report.annotators] == list(config.annotators)
    for r, entry in enumerate(report.annotators):
        own = [sample[r] for sample in samples if r in sample]
        assert (entry.n_assigned, entry.n_not_assigned) == (len(own), len(samples) - len(own))
        assert entry.n_drew_nothing == sum(not labels for labels in own)
        assert entry.n_objects == sum(map(len, own))
        assert entry.classes == Counter(CLASS_NAMES[label[0]] for labels in own for label in labels)
        verdicts = Counter(v for v, annotator in zip(verdict_of_label, drawn_by, strict=True) if annotator == r)
        assert entry.verdicts == {verdict: verdicts[verdict] for verdict in VERDICTS}
        assert entry.n_missed == sum(
            len(unit.members) >= 2 and r in samples[unit.sample] and r not in unit.members for unit in units
        )


def _check(case: Found) -> None:
    _check_dataset(case)
    _check_pairs(case)
    _check_annotators(case)


@SETTINGS
@given(sample_lists(), OPTIONS)
def test_numbers_are_those_of_loops_on_small_grids(samples_of: tuple, options: dict) -> None:
    n_annotators, samples = samples_of
    _check(found_in(samples, n_annotators, **options))


@pytest.mark.random
@pytest.mark.parametrize("missing", ["category", "ignore"])
@pytest.mark.parametrize("empty", ["skip", "agree"])
@pytest.mark.parametrize("classes", ["prefer", "require"])
@pytest.mark.few(3)
def test_numbers_are_those_of_loops_on_noisy_samples(missing: str, empty: str, classes: str) -> None:
    for seed in some_seeds(3):
        _check(found(seed, {"missing": missing, "empty": empty, "classes": classes}))


def test_alignment_of_a_pair_counts_shared_area_of_mutual_best_labels() -> None:
    samples: list[dict] = [
        {
            0: [(1, 0.0, 0.0, 0.4, 0.1), (1, 0.6, 0.5, 0.7, 0.6)],
            1: [(1, 0.2, 0.0, 0.4, 0.1)],
        },  # recall 1/2, precision 1
        {0: [], 1: [(2, 0.1, 0.1, 0.2, 0.3)]},
    ]
    (pair,) = report_of(samples, config_of(2, method="mutual_best")).pairs
    assert pair.alignment is not None
    assert pair.alignment["n_aligned"] == 1
    _same(pair.alignment["recall"], 0.5 / 3)
    _same(pair.alignment["precision"], 1 / 3)
    _same(pair.alignment["f_score"], 2 * (0.5 / 3) * (1 / 3) / (1.5 / 3))


def test_the_mean_of_the_best_iou_is_that_of_the_source_document() -> None:
    case = GOLDEN["label_studio"]
    sample = {r: [(1, *corners(box)) for box in case[side]] for r, side in enumerate("ab")}
    found = report_of([sample], config_of(2)).pairs[0].mean_max_iou
    values = [found[name].mean for name in ("a_to_b", "b_to_a", "symmetric")]
    assert values[:2] == pytest.approx([case["avg_a_to_b"], case["avg_b_to_a"]], rel=0, abs=1e-12)
    assert values == pytest.approx([0.8, 0.533333, 0.666667], rel=0, abs=5e-7)


def test_batches_of_identical_samples_give_the_same_spread() -> None:
    # the variance is 0, so rounding must not show in its root
    high = 0.4665288295306796
    sample: dict = {0: [(1, 0.1, 0.2, 0.4, high)], 1: [(1, 0.11756138092241464, 0.2, 0.4351227618448293, high)]}
    config = config_of(2)
    whole, batches = (report_of([sample] * 100, config, size).to_dict() for size in (None, 3))
    assert_same(batches, whole, relative=0.0, absolute=1e-12)


def test_the_sequential_method_is_known_to_depend_on_the_order_of_annotators() -> None:
    chain = [(1, 0.0, 0.0, 0.4, 0.1), (1, 0.1, 0.0, 0.5, 0.1), (1, 0.2, 0.0, 0.6, 0.1)]
    config = config_of(3, method="recursive")
    n_units = {
        order: report_of([{r: [chain[k]] for r, k in enumerate(order)}], config).n_units
        for order in ((0, 1, 2), (0, 2, 1))
    }
    assert n_units == {(0, 1, 2): 1, (0, 2, 1): 2}
