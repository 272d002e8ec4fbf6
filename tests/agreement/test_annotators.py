"""The numbers of every annotator in a report on objects, against loops over units."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from tests.agreement.agreement_oracle import CLASS_NAMES, Sample, Unit, pair_score, report_of, table_of
from tests.agreement.agreement_oracle import alpha_of as table_alpha
from tests.agreement.found import Found, assigned_pairs, each_case, found, found_in, mean, same, share

from annotator_agreement.agreement import make_config


def box_of(unit: Unit, annotator: int) -> np.ndarray:
    """Box of a member."""
    return np.array(unit.members[annotator][1:])


def without(case: Found, annotator: int) -> tuple[list[Sample], list[Unit]]:
    """The samples and units without one annotator, as if never assigned."""
    samples = [{r: labels for r, labels in sample.items() if r != annotator} for sample in case.samples]
    members = [(unit.sample, {r: m for r, m in unit.members.items() if r != annotator}) for unit in case.units]
    return samples, [Unit(sample, left) for sample, left in members if left]


@each_case
def test_an_annotator_misses_a_share_of_what_two_others_drew_and_has_the_mean_score_and_iou_with_all(
    seed: int, rules: dict
) -> None:
    case = found(seed, rules)
    own_units = [[unit for unit in case.units if unit.sample == s] for s in range(len(case.samples))]
    for r, entry in enumerate(case.report.annotators):
        seen = [
            unit for unit in case.rated_units if r in case.samples[unit.sample] and len(unit.members.keys() - {r}) >= 2
        ]
        missed = [unit for unit in seen if r not in unit.members]
        assert (entry.n_missed, entry.n_could_miss) == (len(missed), len(seen))
        same(entry.miss_rate, share(len(missed), len(seen)))
        scores = [
            pair_score(sample, own_units[s], a, b, case.config.empty)
            for s, sample in enumerate(case.samples)
            for a, b in assigned_pairs(sample)
            if r in (a, b)
        ]
        same(entry.score, mean([score for score in scores if not np.isnan(score)]))
        same(entry.mean_iou, mean([unit.iou(a, b) for unit, a, b in case.label_pairs() if r in (a, b)]))


def listed(pairs: list[tuple[int, int]]) -> list[dict]:
    """Pairs of different classes with how often they occur, the most frequent first, then by name."""
    counts = Counter((CLASS_NAMES[a], CLASS_NAMES[b]) for a, b in pairs if a != b)
    return [{"a": a, "b": b, "n": n} for (a, b), n in sorted(counts.items(), key=lambda each: (-each[1], each[0]))]


@each_case
def test_class_conflicts_are_with_every_other_one_and_the_other_class_is_against_most_of_them(
    seed: int, rules: dict
) -> None:
    """At least two others who say the same: where two say different things, nobody can tell who is right."""
    case = found(seed, rules)
    least = 2 if len(case.report.annotators) > 2 else 1
    for r, entry in enumerate(case.report.annotators):
        met, said = [], []
        for unit in case.units:
            others = [label[0] for other, label in unit.members.items() if other != r]
            if r in unit.members and others:
                met += [(unit.members[r][0], other) for other in others]
                most, n = Counter(others).most_common(1)[0]
                said += [(unit.members[r][0], most)] * (n >= least and n > len(others) / 2)
        n_other = sum(own != most for own, most in said)
        assert (entry.n_other_class, entry.n_majority) == (n_other, len(said))
        same(entry.other_class, share(n_other, len(said)))
        assert (entry.class_conflicts, entry.other_classes) == (listed(met), listed(said))


def test_half_of_four_others_are_not_most_of_them() -> None:
    box = (0.1, 0.2, 0.3, 0.3)
    given, config = ((1, 1, 2, 2, 3), (1, 1, 1, 2, 3)), make_config(list("abcde"), resamples=0)
    report = report_of([{r: [(code, *box)] for r, code in enumerate(codes)} for codes in given], config)
    assert [(entry.n_other_class, entry.n_majority) for entry in report.annotators] == [(0, 0)] * 3 + [(1, 1)] * 2


@each_case
def test_bias_is_against_the_median_box_of_the_unit(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    for r, entry in enumerate(case.report.annotators):
        offsets = []
        for unit in case.units:
            if r not in unit.members or len(unit.members) < 2:
                continue
            low_x, low_y, high_x, high_y = np.median([box_of(unit, member) for member in unit.members], axis=0)
            x_min, y_min, x_max, y_max = box_of(unit, r)
            width, height = high_x - low_x, high_y - low_y
            size = ((x_max - x_min) * (y_max - y_min) / (width * height)) ** 0.5 - 1
            edges = (x_min - low_x) / width, (y_min - low_y) / height, (x_max - high_x) / width
            offsets.append([100 * value for value in (size, *edges, (y_max - high_y) / height)])
        assert entry.bias is not None
        assert entry.bias.n == len(offsets)
        for name, values in zip(("size", "left", "top", "right", "bottom"), np.transpose(offsets), strict=True):
            # boxes are kept with seven digits
            same(entry.bias.mean[name], float(np.mean(values)), tolerance=1e-3)
            same(entry.bias.std[name], float(np.std(values)), tolerance=1e-3)


def test_what_is_undefined_of_annotators_is_none() -> None:
    line, box, other = [(1, 0.2, 0.2, 0.2, 0.6)], [(1, 0.1, 0.1, 0.3, 0.3)], [(2, 0.1, 0.1, 0.3, 0.3)]
    assert found_in([{0: line, 1: line}], 2).report.annotators[0].bias is None  # the median box has no width
    two = found_in([{0: box, 1: other}], 2).report.annotators
    assert [(entry.vitality, entry.consensus) for entry in two] == [(None, None)] * 2
    report = found_in([{0: box, 1: []}, {2: []}], 3).report  # nobody shares an object
    for entry in report.annotators:
        assert (entry.n_could_miss, entry.miss_rate, entry.miss_rate_by_size) == (0, None, {})
        assert (entry.mean_iou, entry.bias, entry.class_conflicts, entry.person) == (None, None, [], None)
    assert [entry.score for entry in report.annotators] == [0.0, 0.0, None]


def test_annotators_who_share_no_sample_or_few_images_are_not_joined() -> None:
    labels = [(1, 0.1, 0.1, 0.3, 0.3)]
    clusters = found_in([{0: labels, 1: labels}, {2: labels, 3: labels}] * 10).report.clusters
    joins = [(cluster.members, cluster.similarity) for cluster in clusters]
    assert joins == [(["alice", "bob"], 1.0), (["carol", "dave"], 1.0)]
    assert found_in([{0: labels * 2, 1: labels}] * 9 + [{2: labels, 0: []}] * 10).report.clusters == []


@each_case
def test_consensus_is_what_half_of_the_others_drew(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    for r, entry in enumerate(case.report.annotators):
        samples = {s for s, sample in enumerate(case.samples) if r in sample and len(sample) >= 3}
        n_units = n_both = 0
        alike: list[bool] = []
        iou: list[float] = []
        for unit in case.units:
            others = [label[0] for member, label in unit.members.items() if member != r]
            if unit.sample not in samples or len(others) < (len(case.samples[unit.sample]) - 1) / 2 or not others:
                continue
            n_units += 1
            if r not in unit.members:
                continue
            n_both += 1
            (first, n), *rest = Counter(others).most_common()
            if not rest or rest[0][1] < n:
                alike.append(unit.members[r][0] == first)
            iou += [unit.iou(r, member) for member in unit.members if member != r]
        n_objects = sum(len(case.samples[s][r]) for s in samples)
        agreed = entry.consensus
        assert agreed is not None
        assert (agreed.n_units, agreed.n_objects) == (n_units, n_objects)
        same(agreed.precision, share(n_both, n_objects))
        same(agreed.recall, share(n_both, n_units))
        same(agreed.f1, share(2 * n_both, n_units + n_objects))
        same(agreed.class_agreement, share(sum(alike), len(alike)))
        same(agreed.mean_iou, mean(iou))


@pytest.mark.parametrize("undefined", ["none", "one"])
@each_case
@pytest.mark.few(4)
def test_vitality_is_what_alpha_loses_without_the_annotator(seed: int, rules: dict, undefined: str) -> None:
    case = found(seed, {**rules, "undefined": undefined})
    for r, entry in enumerate(case.report.annotators):
        samples, units = without(case, r)
        alpha = table_alpha(table_of(samples, units, 4, case.config), undefined)
        assert case.report.alpha.pooled is not None
        same(entry.vitality, case.report.alpha.pooled - alpha)


def test_without_the_only_one_who_drew_an_image_counts_as_empty() -> None:
    case = found_in([{0: [(1, 0.1, 0.1, 0.3, 0.3)], 1: [], 2: []}, *[{r: [] for r in range(3)}] * 2], 3, empty="agree")
    # 1 label of 9 ratings; without alice nothing varies
    assert [entry.vitality is None for entry in case.report.annotators] == [True, False, False]
    samples, units = without(case, 1)
    table = table_of(samples, units, 3, case.config)
    assert table.shape == (3, 3)
    same(case.report.annotators[1].vitality, case.report.alpha.pooled - table_alpha(table, "none"))


@each_case
def test_clusters_join_those_whose_mean_score_is_highest(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    scores = {frozenset((pair.a, pair.b)): pair.score for pair in case.report.pairs if pair.score is not None}
    groups = [frozenset([name]) for name in case.config.annotators]
    for cluster in case.report.clusters:
        between = {
            (p, q): mean([scores[frozenset((a, b))] for a in p for b in q if frozenset((a, b)) in scores])
            for p, q in combinations(groups, 2)
        }
        (p, q), best = max(between.items(), key=lambda entry: -1 if np.isnan(entry[1]) else entry[1])
        assert cluster.members == sorted(p | q)
        same(cluster.similarity, best)
        groups = [group for group in groups if group not in (p, q)] + [p | q]
    assert len(groups) == 1
