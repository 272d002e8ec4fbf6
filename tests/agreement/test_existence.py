"""Existence and localisation in a report on objects, against loops over samples and units."""

from __future__ import annotations

import numpy as np
import pytest

from tests.agreement.agreement_oracle import NAN, Sample, Unit, config_of, report_of
from tests.agreement.found import assigned_pairs, each_case, found, found_in, mean, median, same, share
from tests.agreement.interval_oracle import proportion_of_none

from annotator_agreement.metrics import brennan_prediger, fleiss_kappa, gwet_ac1, krippendorff_alpha, percent_agreement


def sample_f1(sample: Sample, units: list[Unit]) -> tuple[float, int]:
    """F1 over the pairs of annotators of a sample, nan without labels; and how many labels that is about."""
    n_labels = sum(len(sample[a]) + len(sample[b]) for a, b in assigned_pairs(sample))
    matched = sum(len(list(unit.pairs())) for unit in units)
    return share(2 * matched, n_labels), n_labels


@each_case
def test_jaccard_counts_units_that_either_drew(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    both = either = 0
    for unit in case.units:
        for a, b in assigned_pairs(case.samples[unit.sample]):
            both += a in unit.members and b in unit.members
            either += a in unit.members or b in unit.members
    same(case.report.existence.jaccard, both / either)


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
def test_the_worst_samples_have_the_lowest_f1(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    own = [[unit for unit in case.units if unit.sample == s] for s in range(len(case.samples))]
    values = {s: sample_f1(sample, own[s]) for s, sample in enumerate(case.samples)}
    wrong = {s: (f1, -n) for s, (f1, n) in values.items() if f1 < 1}
    listed = case.report.existence.worst_samples
    assert [(entry["value"], -values[int(entry["id"])][1]) for entry in listed] == sorted(wrong.values())[:5]
    for entry in listed:
        same(entry["value"], values[int(entry["id"])][0])


@each_case
def test_localisation_has_the_median_and_histogram_of_all_pairs(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    iou = [unit.iou(a, b) for unit, a, b in case.label_pairs()]
    localisation = case.report.localisation
    same(localisation.median_iou, median(iou))
    assert localisation.iou_histogram == [sum(k <= 20 * value < k + 1 for value in iou) for k in range(20)]


def test_an_iou_on_an_edge_is_in_the_upper_bin_and_one_in_the_last() -> None:
    # this IoU of 1/2 comes out as 0.4999999999999999
    half = [{0: [(1, 1 / 20, 1 / 11, 5 / 20, 4 / 11)], 1: [(1, 1 / 20, 1 / 11, 3 / 20, 4 / 11)]}]
    perfect = [{0: [(1, 0.1, 0.1, 0.3, 0.7)], 1: [(1, 0.1, 0.1, 0.3, 0.7)]}]
    histogram = found_in(half + perfect, 2).report.localisation.iou_histogram
    assert [k for k, n in enumerate(histogram) if n] == [10, 19]
    assert sum(histogram) == 2


@each_case
def test_the_loosest_samples_have_the_lowest_mean_iou(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    of_samples: dict[int, list[float]] = {}
    for unit, a, b in case.label_pairs():
        of_samples.setdefault(unit.sample, []).append(unit.iou(a, b))
    means = {s: mean(values) for s, values in of_samples.items() if mean(values) < 1 - 1e-9}
    listed = case.report.localisation.worst_samples
    assert [entry["value"] for entry in listed] == pytest.approx(sorted(means.values())[:5], abs=1e-12)
    for entry in listed:
        same(entry["value"], means[int(entry["id"])])
