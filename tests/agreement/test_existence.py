"""Existence, localisation, numbers of objects and full agreement in a report on objects, against loops."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from tests.agreement.agreement_oracle import NAMES, NAN, Sample, Unit, config_of, report_of, verdict_of
from tests.agreement.found import assigned_pairs, each_case, found, found_in, mean, median, same, share
from tests.agreement.interval_oracle import proportion_of_none

from annotator_agreement.agreement.objects import ObjectReport
from annotator_agreement.agreement.ratings import compute_ratings, record_ratings
from annotator_agreement.agreement.statistics import sample_numbers
from annotator_agreement.agreement.tags import compute_tags, record_tags
from annotator_agreement.metrics import brennan_prediger, fleiss_kappa, gwet_ac1, krippendorff_alpha, percent_agreement


def sample_f1(sample: Sample, units: list[Unit]) -> tuple[float, int]:
    """F1 over the pairs of annotators of a sample, nan without labels; and how many labels that is about."""
    n_labels = sum(len(sample[a]) + len(sample[b]) for a, b in assigned_pairs(sample))
    matched = sum(len(list(unit.pairs())) for unit in units)
    return share(2 * matched, n_labels), n_labels


@each_case
def test_jaccard_counts_units_that_either_drew_and_localisation_all_pairs(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    both = either = 0
    for unit in case.units:
        for a, b in assigned_pairs(case.samples[unit.sample]):
            both += a in unit.members and b in unit.members
            either += a in unit.members or b in unit.members
    same(case.report.existence.jaccard, both / either)
    iou = [unit.iou(a, b) for unit, a, b in case.label_pairs()]
    same(case.report.localisation.median_iou, median(iou))
    assert case.report.localisation.iou_histogram == [sum(k <= 20 * v < k + 1 for v in iou) for k in range(20)]


@each_case
def test_presence_is_about_images(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    table = np.array(
        [
            [float(bool(sample[r])) if r in sample else NAN for r in range(4)]
            for sample in (case.samples[s] for s in case.rated)
        ]
    )
    presence = case.report.existence.presence
    assert presence is not None
    assert presence.n_units == len(case.rated)
    same(presence.alpha, krippendorff_alpha(table))
    same(presence.percent_agreement, percent_agreement(table))
    same(presence.ac1, gwet_ac1(table, categories=[0, 1]))
    same(presence.brennan_prediger, brennan_prediger(table, categories=[0, 1]))
    same(presence.fleiss_kappa, fleiss_kappa(table))
    same(case.report.existence.share_present, float(np.nanmean(table)))


def test_presence_has_two_categories_where_everybody_always_drew() -> None:
    samples: list = [{0: [(1, 0.1, 0.1, 0.4, 0.4)], 1: [(1, 0.1, 0.1, 0.4, 0.4)]} for _ in range(3)]
    presence = found_in(samples, 2).report.existence.presence
    assert presence is not None
    assert (presence.alpha, presence.fleiss_kappa) == (None, None)
    assert (presence.percent_agreement, presence.ac1, presence.brennan_prediger) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("n_images", [19, 20])
def test_coefficients_of_presence_have_an_interval_from_20_images_on(n_images: int) -> None:
    box = (1, 0.1, 0.1, 0.4, 0.4)
    samples: list = [{0: [box] * (k % 4 > 0), 1: [box] * (k % 5 > 0)} for k in range(n_images)]
    intervals = report_of(samples, config_of(2, resamples=100)).intervals
    assert ("existence.presence.alpha" in intervals) == ("existence.presence.ac1" in intervals) == (n_images == 20)
    assert "existence.f1" in intervals


def test_means_of_similarities_that_never_vary_have_no_interval_and_shares_do() -> None:
    box = (1, 0.1, 0.1, 0.4, 0.4)
    intervals = report_of([{0: [box], 1: [box]} for _ in range(40)], config_of(2, resamples=100)).intervals
    assert {"score.mean", "localisation.mean_iou", "localisation.mean_dice"}.isdisjoint(intervals)
    low = proportion_of_none(40)
    for name in ("existence.f1", "class_given_match.percent_agreement", "share_full_agreement"):
        assert (intervals[name].low, intervals[name].high) == (pytest.approx(1 - low, abs=1e-9), 1.0)


@each_case
def test_the_worst_samples_have_the_lowest_f1_and_the_loosest_the_lowest_mean_iou(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    own = [[unit for unit in case.units if unit.sample == s] for s in range(len(case.samples))]
    values = {s: sample_f1(sample, own[s]) for s, sample in enumerate(case.samples)}
    wrong = {s: (f1, -n) for s, (f1, n) in values.items() if f1 < 1}
    listed = case.report.existence.worst_samples
    assert [(entry["value"], -values[int(entry["id"])][1]) for entry in listed] == sorted(wrong.values())[:5]
    for entry in listed:
        same(entry["value"], values[int(entry["id"])][0])
    of_samples: dict[int, list[float]] = {}
    for unit, a, b in case.label_pairs():
        of_samples.setdefault(unit.sample, []).append(unit.iou(a, b))
    means = {s: mean(values) for s, values in of_samples.items() if mean(values) < 1 - 1e-9}
    listed = case.report.localisation.worst_samples
    assert [entry["value"] for entry in listed] == pytest.approx(sorted(means.values())[:5], abs=1e-12)
    for entry in listed:
        same(entry["value"], means[int(entry["id"])])


def test_an_iou_on_an_edge_is_in_the_upper_bin_and_one_in_the_last() -> None:
    # this IoU of 1/2 comes out as 0.4999999999999999
    half = [{0: [(1, 1 / 20, 1 / 11, 5 / 20, 4 / 11)], 1: [(1, 1 / 20, 1 / 11, 3 / 20, 4 / 11)]}]
    perfect = [{0: [(1, 0.1, 0.1, 0.3, 0.7)], 1: [(1, 0.1, 0.1, 0.3, 0.7)]}]
    histogram = found_in(half + perfect, 2).report.localisation.iou_histogram
    assert [k for k, n in enumerate(histogram) if n] == [10, 19]
    assert sum(histogram) == 2


#: Shrout and Fleiss, 1979, table 2: six targets and four judges
PUBLISHED = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
FIELDS = ("count_difference", "count_limit_low", "count_limit_high")


def _samples(table: list[list[int]]) -> list[Sample]:
    """Images on which annotators drew so many objects; -1 where they were not assigned."""
    boxes = [(1, 0.05 * k, 0.1, 0.05 * k + 0.04, 0.3) for k in range(12)]
    return [{r: boxes[:n] for r, n in enumerate(row) if n >= 0} for row in table]


def _report(table: list[list[int]], **options: Any) -> ObjectReport:
    return report_of(_samples(table), config_of(len(table[0]), **options))


def _icc(table: np.ndarray) -> float:
    n, k = table.shape
    mean = table.mean()
    rows, columns = table.mean(axis=1, keepdims=True), table.mean(axis=0, keepdims=True)
    msr, msc = k * ((rows - mean) ** 2).sum() / (n - 1), n * ((columns - mean) ** 2).sum() / (k - 1)
    mse = ((table - rows - columns + mean) ** 2).sum() / ((n - 1) * (k - 1))
    return float((msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n))


def test_icc_is_that_of_the_published_table() -> None:
    icc = _report(PUBLISHED).counts.icc
    assert icc == pytest.approx(0.2898, abs=5e-5)
    same(icc, _icc(np.array(PUBLISHED, float)))


@each_case
def test_numbers_are_those_of_tables_of_counts(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    table = np.array([[len(sample[r]) for r in range(4)] for sample in case.samples if len(sample) == 4], float)
    same(case.report.counts.icc, _icc(table))
    pairs = {(pair.a, pair.b): pair for pair in case.report.pairs}
    for a, b in combinations(range(4), 2):
        difference = [len(sample[a]) - len(sample[b]) for sample in case.samples if a in sample and b in sample]
        mean, spread = np.mean(difference), np.std(difference, ddof=1)
        for name, expected in zip(FIELDS, (mean, mean - 1.96 * spread, mean + 1.96 * spread), strict=True):
            same(getattr(pairs[NAMES[a], NAMES[b]], name), float(expected))


def test_icc_needs_images_of_all_and_variation_and_limits_two_shared_images() -> None:
    for table in (
        [[2, 3]], [[2, 2], [2, 2], [2, 2]], [[0, 0], [0, 0]], [[1, -1], [-1, 2]], [[1, 2, -1], [-1, 2, 3]],
    ):  # fmt: skip
        assert _report(table).counts.icc is None
    for table, expected in (([[2, 3], [4, -1]], [-1.0, None, None]), ([[2, 2], [3, 3]], [0.0, 0.0, 0.0])):
        (pair,) = _report(table).pairs
        assert [getattr(pair, name) for name in FIELDS] == expected


KEY = "share_full_agreement"
BOX, OTHER = (1, 0.1, 0.1, 0.4, 0.4), (1, 0.6, 0.6, 0.9, 0.9)
AGREED: dict = {0: [BOX], 1: [BOX]}
MISSED: dict = {0: [BOX, OTHER], 1: [BOX]}
EMPTY: dict = {0: [], 1: []}
ALONE: dict = {0: [BOX]}


@each_case
def test_images_agree_on_which_every_object_is_agreed(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    verdicts: dict[int, list[str | None]] = {s: [] for s in case.rated}
    for unit in case.rated_units:
        verdicts[unit.sample].append(verdict_of(unit, case.samples[unit.sample]))
    same(case.report.share_full_agreement, float(np.mean([set(kinds) <= {"agreed"} for kinds in verdicts.values()])))


def test_empty_images_agree_and_those_of_one_annotator_do_not_count() -> None:
    for samples, expected in (
        ([AGREED, MISSED], 0.5),
        ([AGREED, EMPTY, MISSED, ALONE], 2 / 3),
        ([EMPTY], 1.0),
        ([MISSED], 0.0),
        ([ALONE], None),
        ([], None),
    ):
        found_share = report_of(samples, config_of(2)).share_full_agreement
        assert found_share == (None if expected is None else pytest.approx(expected, abs=1e-12))


def test_ratings_and_tags_have_it_too() -> None:
    table = np.array([[1.0, 1.0], [1.0, 2.0], [2.0, np.nan], [2.0, 2.0]])
    ratings = sample_numbers(record_ratings(compute_ratings(table), numbers=False))
    columns = [np.array(column) for column in ([0, 0, 1], [0, 1, 0], [1, 1, 2])]
    tags = sample_numbers(record_tags(compute_tags(*columns, np.ones((3, 2), np.bool_))))
    for numbers in (ratings, tags):
        assert numbers.values()[numbers.keys.index((KEY,))] == pytest.approx(2 / 3, abs=1e-12)
