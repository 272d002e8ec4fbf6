"""The report and verdicts against loops over samples, units and pairs, and on data on which most is undefined."""

from __future__ import annotations

import functools
import io
import itertools
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from tests.agreement import agreement_oracle as oracle
from tests.agreement.agreement_oracle import NAN, Found, Sample, batch_of, config_of, drawn, mean, object_verdicts
from tests.chance import FEW, examples, seeds
from tests.dataset_io.same_values import assert_same
from tests.metrics.published import GOLDEN, corners

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.matching import ALPHA_REASONS, NO_VERDICT, VERDICTS, compute_agreement_of
from annotator_agreement.agreement.objects import ObjectReport
from annotator_agreement.agreement.settings import OPTIONS as ALL_OPTIONS
from annotator_agreement.charts.reports import report_markdown
from annotator_agreement.metrics import krippendorff_alpha, percent_agreement
from annotator_agreement.metrics.matching import splits

_same = functools.partial(oracle.same, tolerance=1e-12)


def _check_dataset(case: Found) -> None:
    samples, units, config, report = case.samples, case.units, case.config, case.report
    own = [[unit for unit in units if unit.sample == s] for s in range(len(samples))]
    rated = [s for s, sample in enumerate(samples) if len(sample) >= 2]

    assert (report.n_samples, report.n_rated) == (len(samples), len(rated))
    assert report.n_empty == sum(not drawn(samples[s]) for s in rated)
    assert report.n_units == sum(len(own[s]) for s in rated)
    assert report.n_objects == sum(len(labels) for s in rated for labels in samples[s].values())

    scores = [oracle.score_of(sample, own[s], config.empty) for s, sample in enumerate(samples)]
    _same(report.score.mean, mean(scores))
    assert report.score.n == sum(not math.isnan(score) for score in scores)
    meetings = [
        oracle.pair_score(sample, own[s], a, b, config.empty)
        for s, sample in enumerate(samples)
        for a, b in combinations(sorted(sample), 2)
    ]
    _same(report.score.of_meetings, mean(meetings))

    alphas = [oracle.sample_alpha(sample, own[s], config) for s, sample in enumerate(samples)]
    table = oracle.table_of(samples, units, len(config.fields), config)
    _same(report.alpha.pooled, oracle.alpha_of(table, config.undefined))
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
    pairs = {(oracle.NAMES.index(pair.a), oracle.NAMES.index(pair.b)): pair for pair in report.pairs}
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

        table = oracle.pair_table(samples, units, config, a, b)
        _same(pair.alpha, oracle.alpha_of(table, config.undefined))
        _same(pair.percent_agreement, percent_agreement(table))

        of_sample = {s: [unit for unit in units if unit.sample == s] for s in shared}
        _same(pair.score, mean([oracle.pair_score(samples[s], of_sample[s], a, b, config.empty) for s in shared]))
        _same(pair.f1, 2 * len(matched) / (n_a + n_b) if n_a + n_b else NAN)
        _same(pair.class_agreement, len(alike) / len(matched) if matched else NAN)
        _same(pair.mean_iou, mean(iou))
        _same(pair.mean_dice, mean([2 * value / (1 + value) for value in iou]))
        _same(pair.pq, 2 * sum(alike) / (n_a + n_b) if n_a + n_b else NAN)
        _same(pair.sq, mean(alike))
        _same(pair.rq, 2 * len(alike) / (n_a + n_b) if n_a + n_b else NAN)

        forth, back = ([oracle.best_iou(samples[s], p, q) for s in shared] for p, q in ((a, b), (b, a)))
        both = [
            NAN if math.isnan(f) and math.isnan(k) else (np.nan_to_num(f) + np.nan_to_num(k)) / 2
            for f, k in zip(forth, back, strict=True)
        ]
        for name, values in (("a_to_b", forth), ("b_to_a", back), ("symmetric", both)):
            found = pair.mean_max_iou[name]
            _same(found.mean, mean(values))
            defined = [value for value in values if not math.isnan(value)]
            _same(found.std, float(np.std(defined)) if defined else NAN, tolerance=1e-7)
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
        assert (entry.n_drew_nothing, entry.n_objects) == (sum(not labels for labels in own), sum(map(len, own)))
        assert entry.classes == Counter(oracle.CLASS_NAMES[label[0]] for labels in own for label in labels)
        verdicts = Counter(v for v, annotator in zip(verdict_of_label, drawn_by, strict=True) if annotator == r)
        assert entry.verdicts == {verdict: verdicts[verdict] for verdict in VERDICTS}
        assert entry.n_missed == sum(
            len(unit.members) >= 2 and r in samples[unit.sample] and r not in unit.members for unit in units
        )


def _check_samples(case: Found) -> None:
    samples, units, config = case.samples, case.units, case.config
    agreement = compute_agreement_of(batch_of(samples, len(config.fields)), config)
    own = [[unit for unit in units if unit.sample == s] for s in range(len(samples))]
    iou = [[unit.iou(a, b) for unit in of_sample for a, b in unit.pairs()] for of_sample in own]
    alphas = [oracle.sample_alpha(sample, of_sample, config) for sample, of_sample in zip(samples, own, strict=True)]
    disputed = [[oracle.verdict_of(unit, sample) not in (None, "agreed") for unit in of_sample]
                for sample, of_sample in zip(samples, own, strict=True)]  # fmt: skip
    for found, expected in (
        (agreement.score, [oracle.score_of(sample, own[s], config.empty) for s, sample in enumerate(samples)]),
        (agreement.alpha, [alpha for alpha, _ in alphas]),
        (agreement.iou, [mean(values) for values in iou]),
        (agreement.dice, [mean([2 * v / (1 + v) for v in values]) for values in iou]),
    ):
        assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert [ALPHA_REASONS[code] for code in agreement.part["alpha_reason"]] == [reason for _, reason in alphas]
    assert agreement.n_assigned.tolist() == [len(sample) for sample in samples]
    assert agreement.n_objects.tolist() == [sum(map(len, sample.values())) for sample in samples]
    assert agreement.n_units.tolist() == [len(of_sample) for of_sample in own]
    assert agreement.n_disputed.tolist() == [sum(each) for each in disputed]
    assert agreement.rated.tolist() == [len(sample) >= 2 for sample in samples]
    assert agreement.units.votes.tolist() == [len(unit.members) for unit in units]
    assert agreement.units.assigned.tolist() == [len(samples[unit.sample]) for unit in units]
    verdicts = [None if code == NO_VERDICT else VERDICTS[code] for code in agreement.units.verdict]
    assert verdicts == [oracle.verdict_of(unit, samples[unit.sample]) for unit in units]
    verdicts = [None if code == NO_VERDICT else VERDICTS[code] for code in agreement.object_verdict]
    assert verdicts == object_verdicts(samples, agreement, config.iou)
    object_iou = {
        (number, r): mean([unit.iou(min(r, q), max(r, q)) for q in unit.members if q != r])
        for number, unit in enumerate(units)
        for r in unit.members
    }
    keys = zip(agreement.matching.unit.tolist(), agreement.objects.annotator.tolist(), strict=True)
    assert_allclose(agreement.object_iou, [object_iou[key] for key in keys], rtol=0, atol=1e-12)
    pairs = agreement.sample_pairs
    expected = [(s, a, b) for s, sample in enumerate(samples) for a in sample for b in sample if a < b]
    assert list(zip(pairs.sample.tolist(), pairs.a.tolist(), pairs.b.tolist(), strict=True)) == expected
    scores = [oracle.pair_score(samples[s], own[s], a, b, config.empty) for s, a, b in expected]
    assert_allclose(agreement.pair_score, scores, rtol=0, atol=1e-12)
    for row, (s, a, b) in enumerate(expected):
        assert (pairs.n_a[row], pairs.n_b[row]) == (len(samples[s][a]), len(samples[s][b]))
        assert pairs.row(*(np.array([value]) for value in (s, a, b))).tolist() == [row]


@examples(60)
@given(oracle.sample_lists(), oracle.OPTIONS)
def test_numbers_of_samples_labels_pairs_and_the_report_are_those_of_loops(samples_of: tuple, options: dict) -> None:
    n_annotators, samples = samples_of
    case = oracle.found_in(samples, n_annotators, **options)
    for check in (_check_samples, _check_dataset, _check_pairs, _check_annotators):
        check(case)


def test_batches_without_any_label_are_computed() -> None:
    for samples in ([], [{}], [{0: []}, {0: [], 1: []}]):
        for method in ("optimal", "recursive", "mutual_best"):
            agreement = compute_agreement_of(batch_of(samples, 2), config_of(2, method=method))
            assert agreement.n_units.tolist() == [0] * len(samples)
            assert np.isnan(agreement.score).all()


def test_alignment_and_the_mean_of_the_best_iou_of_a_pair_are_those_by_hand_and_of_the_source_document() -> None:
    samples: list[dict] = [
        {
            0: [(1, 0.0, 0.0, 0.4, 0.1), (1, 0.6, 0.5, 0.7, 0.6)],
            1: [(1, 0.2, 0.0, 0.4, 0.1)],
        },  # recall 1/2, precision 1
        {0: [], 1: [(2, 0.1, 0.1, 0.2, 0.3)]},
    ]
    (pair,) = oracle.report_of(samples, config_of(2, method="mutual_best")).pairs
    assert pair.alignment is not None
    assert pair.alignment["n_aligned"] == 1
    _same(pair.alignment["recall"], 0.5 / 3)
    _same(pair.alignment["precision"], 1 / 3)
    _same(pair.alignment["f_score"], 2 * (0.5 / 3) * (1 / 3) / (1.5 / 3))
    case = GOLDEN["label_studio"]
    sample = {r: [(1, *corners(box)) for box in case[side]] for r, side in enumerate("ab")}
    found = oracle.report_of([sample], config_of(2)).pairs[0].mean_max_iou
    values = [found[name].mean for name in ("a_to_b", "b_to_a", "symmetric")]
    assert values[:2] == pytest.approx([case["avg_a_to_b"], case["avg_b_to_a"]], rel=0, abs=1e-12)
    assert values == pytest.approx([0.8, 0.533333, 0.666667], rel=0, abs=5e-7)
    # the variance is 0, so rounding must not show in its root
    high = 0.4665288295306796
    sample: dict = {0: [(1, 0.1, 0.2, 0.4, high)], 1: [(1, 0.11756138092241464, 0.2, 0.4351227618448293, high)]}
    config = config_of(2)
    whole, batches = (oracle.report_of([sample] * 100, config, size).to_dict() for size in (None, 3))
    assert_same(batches, whole, relative=0.0, absolute=1e-12)


CAR, BUS = 1, 2


def _label(x: float, y: float, width: float, height: float, category: int = CAR) -> tuple:
    """A label in a grid of 40 by 25."""
    return (category, x / 40, y / 25, (x + width) / 40, (y + height) / 25)


def _verdicts(samples: list[Sample], n_annotators: int, **options: str | float) -> list[str | None]:
    found = compute_agreement_of(batch_of(samples, n_annotators), config_of(n_annotators, **options))
    return [None if code == NO_VERDICT else VERDICTS[code] for code in found.object_verdict.tolist()]


WHOLE, LEFT, RIGHT = _label(2, 3, 20, 8), _label(2, 3, 9, 8), _label(12.5, 3, 9.5, 8)
LARGE, SMALL = _label(2, 3, 14, 8), _label(16, 3, 6, 8)


def test_verdicts_are_those_found_by_hand_also_of_attributes() -> None:
    # (id, labels of every assigned annotator, verdict of every label)
    for name, sample, verdicts in (
        ("two parts of a whole", {0: [WHOLE], 1: [LEFT, RIGHT]}, ["split"] * 3),
        (
            "a class conflict stays one",
            {0: [WHOLE], 1: [(BUS, *LARGE[1:]), SMALL]},
            ["class_conflict", "class_conflict", "split"],
        ),
        ("an object within what both drew is none of its parts", {0: [WHOLE], 1: [_label(2, 3, 19, 8), LEFT]},
         ["agreed", "agreed", "lone"]),
        ("nine tenths, a bit less in relative coordinates", {0: [], 1: [WHOLE, _label(2, 3, 20, 7.2)]},
         ["lone", "duplicate"]),
        ("less than nine tenths", {0: [], 1: [WHOLE, _label(2, 3, 20, 7.19)]}, ["lone", "lone"]),
    ):  # fmt: skip
        assert _verdicts([sample], 3) == verdicts, name
    sample = {0: [WHOLE], 1: [_label(2, 3, 6, 8), _label(12, 3, 6, 8)]}  # 12 of 20 columns: the threshold of the run
    assert (_verdicts([sample], 2, iou=0.6), _verdicts([sample], 2, iou=0.61)) == (["split"] * 3, ["lone"] * 3)
    found = compute_agreement_of(batch_of([{0: [WHOLE], 1: [LEFT, RIGHT]}], 2), config_of(2))
    assert [VERDICTS[code] for code in found.units.verdict] == ["lone"] * 3  # a split leaves units and scores alone
    assert (found.n_units.tolist(), found.n_disputed.tolist(), found.score.tolist()) == ([3], [3], [0.0])
    numbers = np.array([np.nan, np.nan, 4.0, 4.5])  # of codes: not given, "left", 4 and 4.5
    # values of two attributes of one object, by annotator; whether they conflict with tolerances of 0 and 0.5
    cases = [
        ([2, 3], [1, 1], (True, False)), ([1, 1], [2, 3], (True, False)), ([2, 2], [0, 1], (False, False)),
        ([1, 2], [1, 1], (True, True)), ([1, 1], [1, 2], (True, True)), ([0, 0], [3, 3], (False, False)),
    ]  # fmt: skip
    batch = batch_of([{0: [WHOLE], 1: [WHOLE]}], 2)
    for one, other, expected in cases:
        given = replace(batch, attributes=(np.array(one), np.array(other)), attribute_numbers=(numbers, numbers))
        for tolerance, conflict in zip((0.0, 0.5), expected, strict=True):
            config = config_of(2, attributes=["a", "b"], tolerance=tolerance)
            (verdict,) = compute_agreement_of(given, config).units.verdict
            assert VERDICTS[verdict] == ("attribute_conflict" if conflict else "agreed"), (one, other, tolerance)


@pytest.mark.parametrize("seed", seeds(3))
def test_verdicts_are_those_of_loops_on_noisy_samples(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = _broken(oracle.random_samples(seed, n_samples=40, n_annotators=4), seed)
    found = compute_agreement_of(batch_of(samples, 4), config_of(4))
    expected = object_verdicts(samples, found, 0.5)
    for at_once in (splits.MAX_PAIRS_AT_ONCE, 1):
        monkeypatch.setattr(splits, "MAX_PAIRS_AT_ONCE", at_once)
        assert _verdicts(samples, 4) == expected
    assert min(expected.count("split"), expected.count("duplicate")) > 10


def _broken(samples: list[Sample], seed: int) -> list[Sample]:
    """The samples with some labels cut in two, and some labels drawn twice."""
    rng = np.random.default_rng(seed)
    changed = []
    for sample in samples:
        entry: Sample = {}
        for annotator, labels in sample.items():
            drawn = []
            for category, x_min, y_min, x_max, y_max in labels:
                cut = x_min + (x_max - x_min) * rng.uniform(0.3, 0.7)
                cuts = [(category, x_min, y_min, cut, y_max), (category, cut, y_min, x_max, y_max)]
                drawn += cuts if rng.random() < 0.2 else [(category, x_min, y_min, x_max, y_max)]
                drawn += [drawn[-1]] if rng.random() < 0.1 else []
            entry[annotator] = drawn
        changed.append(entry)
    return changed


def box(category: int, place: int = 0) -> oracle.Label:
    """A label in one of a hundred places that do not overlap."""
    x, y = 0.1 * (place % 10), 0.1 * (place // 10)
    return (category, x + 0.01, y + 0.02, x + 0.08, y + 0.07)


def report_on(samples: Sequence[Sample], n_annotators: int = 2, n_classes: int = 2, **options: Any) -> ObjectReport:
    """The report, which was printed and survived JSON."""
    names = [f"annotator {k}" for k in range(n_annotators)]
    config = make_config(names, **{"resamples": 20, **options})
    classes = ["(missing)", *(f"class {k}" for k in range(1, n_classes + 1))]
    report = oracle.object_report(batch_of(samples, n_annotators), config, classes)
    values = report.to_dict()
    assert ObjectReport.from_dict(json.loads(json.dumps(values, allow_nan=False))) == report
    for full in (False, True):
        text = io.StringIO()
        report.print_report(full=full, file=text)
        assert not printed_nan(text.getvalue())
    assert not printed_nan(report_markdown(report))
    return report


def printed_nan(text: str) -> list[str]:
    """The words of a text that are no number."""
    return [word for word in text.split() if word.strip("()[],;:%|") in ("nan", "-nan", "None", "inf", "-inf")]


SAMPLES: dict[str, tuple[int, list[Sample]]] = {
    "no samples": (2, []), "nobody assigned": (3, [{}, {}]),
    "one annotator on every sample": (3, [{k % 3: [box(1), box(2, 1)]} for k in range(5)]),
    "all images empty": (3, [{0: [], 1: [], 2: []} for _ in range(4)]),
    "one class, agreed": (2, [{0: [box(1)], 1: [box(1)]} for _ in range(3)]),
    "two classes, agreed": (2, [{0: [box(1), box(2, 1)], 1: [box(1), box(2, 1)]} for _ in range(3)]),
    "one sample": (2, [{0: [box(1), box(2, 1)], 1: [box(2), box(2, 1)]}]), "one object": (2, [{0: [box(1)], 1: []}]),
    "only lone objects": (2, [{0: [box(1)], 1: [box(1, 1)]} for _ in range(3)]),
    "one of the annotators is never assigned": (3, [{0: [box(1)], 1: [box(2)]} for _ in range(3)]),
    "one of the annotators never draws": (3, [{0: [box(1)], 1: [box(1)], 2: []} for _ in range(3)]),
    "pairs that share no sample": (4, [{0: [box(1)], 1: [box(1)]}, {2: [box(1)], 3: [box(1)]}]),
}  # fmt: skip
MATCHINGS = list(itertools.product(ALL_OPTIONS["method"].choices, ALL_OPTIONS["classes"].choices))
RULES = list(itertools.product(*(ALL_OPTIONS[name].choices for name in ("missing", "undefined", "empty"))))


@pytest.mark.random
@pytest.mark.parametrize("case", SAMPLES)
@pytest.mark.few(4)
def test_there_is_a_report_whatever_the_rules(case: str) -> None:
    n_annotators, samples = SAMPLES[case]
    combinations = list(zip(MATCHINGS, itertools.cycle(RULES)))
    if FEW:  # others for every case
        combinations = combinations[list(SAMPLES).index(case) % 3 :: 3]
    for (method, classes), (missing, undefined, empty) in combinations:
        rules = {"missing": missing, "undefined": undefined, "empty": empty}
        report = report_on(samples, n_annotators, method=method, classes=classes, **rules)
        assert report.n_samples == len(samples)


def test_one_miss_in_ten_objects_of_one_class_has_the_alpha_zero() -> None:
    """As measured with other programs."""
    report = report_on([{0: [box(1, k) for k in range(10)], 1: [box(1, k) for k in range(9)]}])
    assert report.alpha.pooled == pytest.approx(0.0, abs=1e-12)
    assert report.existence.f1 == pytest.approx(18 / 19, rel=1e-12)
