"""The numbers of every annotator and class in a report on objects, against loops over units and pairs of labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from tests.agreement import agreement_oracle as oracle
from tests.agreement.agreement_oracle import CLASS_NAMES, NAN, each_case, found, found_in, listed, mean, same, share
from tests.agreement.agreement_oracle import alpha_of as table_alpha
from tests.chance import seeds

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.objects import Gathered, count_codes, pairs
from annotator_agreement.agreement.objects import annotators as of_annotators
from annotator_agreement.metrics import brennan_prediger, cohen_kappa, fleiss_kappa, gwet_ac1, percent_agreement


def without(case: oracle.Found, annotator: int) -> tuple[list[oracle.Sample], list[oracle.Unit]]:
    """The samples and units without one annotator, as if never assigned."""
    samples = [{r: labels for r, labels in sample.items() if r != annotator} for sample in case.samples]
    members = [(unit.sample, {r: m for r, m in unit.members.items() if r != annotator}) for unit in case.units]
    return samples, [oracle.Unit(sample, left) for sample, left in members if left]


@each_case
def test_annotators_have_the_misses_scores_conflicts_and_bias_of_loops(seed: int, rules: dict) -> None:
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
            oracle.pair_score(sample, own_units[s], a, b, case.config.empty)
            for s, sample in enumerate(case.samples)
            for a, b in oracle.assigned_pairs(sample)
            if r in (a, b)
        ]
        same(entry.score, mean([score for score in scores if not np.isnan(score)]))
        same(entry.mean_iou, mean([unit.iou(a, b) for unit, a, b in case.label_pairs() if r in (a, b)]))
    least = 2 if len(case.report.annotators) > 2 else 1
    for r, entry in enumerate(case.report.annotators):
        met, said = [], []
        for unit in case.units:
            others = [label[0] for other, label in unit.members.items() if other != r]
            if r in unit.members and others:
                met += [(CLASS_NAMES[unit.members[r][0]], CLASS_NAMES[other]) for other in others]
                most, n = Counter(others).most_common(1)[0]
                said += [(CLASS_NAMES[unit.members[r][0]], CLASS_NAMES[most])] * (n >= least and n > len(others) / 2)
        n_other = sum(own != most for own, most in said)
        assert (entry.n_other_class, entry.n_majority) == (n_other, len(said))
        same(entry.other_class, share(n_other, len(said)))
        assert (entry.class_conflicts, entry.other_classes) == (listed(met), listed(said))
    for r, entry in enumerate(case.report.annotators):
        offsets = []
        for unit in case.units:
            if r not in unit.members or len(unit.members) < 2:
                continue
            low_x, low_y, high_x, high_y = np.median([label[1:] for label in unit.members.values()], axis=0)
            _, x_min, y_min, x_max, y_max = unit.members[r]
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


def test_half_of_four_others_are_not_most_and_what_is_undefined_of_annotators_is_none() -> None:
    box = (0.1, 0.2, 0.3, 0.3)
    given, config = ((1, 1, 2, 2, 3), (1, 1, 1, 2, 3)), make_config(list("abcde"), resamples=0)
    report = oracle.report_of([{r: [(code, *box)] for r, code in enumerate(codes)} for codes in given], config)
    assert [(entry.n_other_class, entry.n_majority) for entry in report.annotators] == [(0, 0)] * 3 + [(1, 1)] * 2
    line, box, other = [(1, 0.2, 0.2, 0.2, 0.6)], [(1, 0.1, 0.1, 0.3, 0.3)], [(2, 0.1, 0.1, 0.3, 0.3)]
    assert found_in([{0: line, 1: line}], 2).report.annotators[0].bias is None  # the median box has no width
    two = found_in([{0: box, 1: other}], 2).report.annotators
    assert [(entry.vitality, entry.consensus) for entry in two] == [(None, None)] * 2
    report = found_in([{0: box, 1: []}, {2: []}], 3).report  # nobody shares an object
    for entry in report.annotators:
        assert (entry.n_could_miss, entry.miss_rate, entry.miss_rate_by_size) == (0, None, {})
        assert (entry.mean_iou, entry.bias, entry.class_conflicts, entry.person) == (None, None, [], None)
    assert [entry.score for entry in report.annotators] == [0.0, 0.0, None]
    labels = [(1, 0.1, 0.1, 0.3, 0.3)]
    clusters = found_in([{0: labels, 1: labels}, {2: labels, 3: labels}] * 10).report.clusters
    joins = [(cluster.members, cluster.similarity) for cluster in clusters]
    assert joins == [(["alice", "bob"], 1.0), (["carol", "dave"], 1.0)]
    assert found_in([{0: labels * 2, 1: labels}] * 9 + [{2: labels, 0: []}] * 10).report.clusters == []


@each_case
def test_consensus_is_what_half_of_the_others_drew_and_clusters_join_the_most_similar(seed: int, rules: dict) -> None:
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


@pytest.mark.parametrize("undefined", ["none", "one"])
@each_case
@pytest.mark.few(4)
def test_vitality_is_what_alpha_loses_without_the_annotator(seed: int, rules: dict, undefined: str) -> None:
    case = found(seed, {**rules, "undefined": undefined})
    for r, entry in enumerate(case.report.annotators):
        same(entry.vitality, vitality_of(case, r, undefined))


def vitality_of(case: oracle.Found, annotator: int, undefined: str = "none") -> float:
    """What alpha loses without an annotator, on the samples with two others; nan if the annotator has none of them."""
    enough = [len(sample.keys() - {annotator}) >= 2 for sample in case.samples]
    if not any(annotator in sample for sample, kept in zip(case.samples, enough, strict=True) if kept):
        return NAN
    alphas = []
    for samples, units in ((case.samples, case.units), without(case, annotator)):
        kept = [sample if of_two_others else {} for sample, of_two_others in zip(samples, enough, strict=True)]
        table = oracle.table_of(kept, [unit for unit in units if enough[unit.sample]], 4, case.config)
        alphas.append(table_alpha(table, undefined))
    return alphas[0] - alphas[1]


def test_two_annotators_on_easy_images_and_three_on_hard_ones_do_not_raise_the_alpha_of_the_others() -> None:
    """Alpha of all images minus that of the hard ones alone is no effect of those who did the easy ones."""
    rng = np.random.default_rng(0)
    boxes = [(0.25 * k, 0.1, 0.25 * k + 0.2, 0.4) for k in range(4)]
    samples: list[oracle.Sample] = [{r: [(1 + k % 2, *box) for k, box in enumerate(boxes)] for r in (0, 1)}] * 12
    samples += [
        {r: [(int(rng.integers(1, 3)), *box) for box in boxes] for r in (2, 3, 0)[: 2 + k % 2]} for k in range(24)
    ]
    case = found_in(samples)
    alice, bob, carol, dave = case.report.annotators
    assert bob.vitality is None
    assert "vitality" not in bob.intervals
    for r, entry in ((0, alice), (2, carol), (3, dave)):
        same(entry.vitality, vitality_of(case, r))
        assert entry.intervals["vitality"].n == 12
    # where some have no interval, only sums are kept
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of_annotators, "MAX_COLUMNS", 2 * (1 + len(CLASS_NAMES)))
        few = found_in(samples).report.annotators
    assert ["vitality" in entry.intervals for entry in few] == [True, False, True, False]
    for entry, expected in zip(few, case.report.annotators, strict=True):
        same(entry.vitality, NAN if expected.vitality is None else expected.vitality)


def test_without_the_only_one_who_drew_an_image_counts_as_empty() -> None:
    case = found_in([{0: [(1, 0.1, 0.1, 0.3, 0.3)], 1: [], 2: []}, *[{r: [] for r in range(3)}] * 2], 3, empty="agree")
    # 1 label of 9 ratings; without alice nothing varies
    assert [entry.vitality is None for entry in case.report.annotators] == [True, False, False]
    samples, units = without(case, 1)
    table = oracle.table_of(samples, units, 3, case.config)
    assert table.shape == (3, 3)
    same(case.report.annotators[1].vitality, case.report.alpha.pooled - table_alpha(table, "none"))


def label_classes(case: oracle.Found) -> list[tuple[str, str]]:
    """Classes of all pairs of labels of one unit, in the order of names."""
    pairs = ((CLASS_NAMES[unit.members[a][0]], CLASS_NAMES[unit.members[b][0]]) for unit, a, b in case.label_pairs())
    return [(min(pair), max(pair)) for pair in pairs]


def joint_table(case: oracle.Found) -> np.ndarray:
    """The ratings that alpha counts."""
    return oracle.table_of(case.samples, case.units, 4, case.config)


def rated_twice(table: np.ndarray) -> np.ndarray:
    """Units with two ratings."""
    return table[(~np.isnan(table)).sum(axis=1) >= 2]


@each_case
@pytest.mark.few(2)
def test_coefficients_and_confusions_of_all_and_of_pairs_are_those_of_their_units(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    table = joint_table(case)
    given = np.where(table == 0.0, NAN, table)
    for coefficients, ratings in (
        (case.report.coefficients, table),
        (case.report.class_given_match.coefficients, rated_twice(given)),
    ):
        assert coefficients is not None
        assert coefficients.n_units == len(rated_twice(ratings))
        same(coefficients.alpha, oracle.alpha_of(ratings, case.config.undefined))
        same(coefficients.percent_agreement, percent_agreement(ratings))
        same(coefficients.ac1, gwet_ac1(ratings))
        same(coefficients.brennan_prediger, brennan_prediger(ratings))
        same(coefficients.fleiss_kappa, fleiss_kappa(ratings))
    assert case.report.coefficients is not None
    assert case.report.coefficients.alpha == case.report.alpha.pooled
    given = case.report.class_given_match
    assert (given.confusion, given.n_unlisted) == (listed(label_classes(case)), 0)
    of_samples: dict[int, list[bool]] = {}
    for unit, a, b in case.label_pairs():
        of_samples.setdefault(unit.sample, []).append(unit.members[a][0] != unit.members[b][0])
    shares = {s: share(sum(differ), len(differ)) for s, differ in of_samples.items() if any(differ)}
    assert [entry["value"] for entry in given.worst_samples] == sorted(shares.values(), reverse=True)[:5]
    for entry in given.worst_samples:
        same(entry["value"], shares[int(entry["id"])])
    names = list(case.config.annotators)
    for pair in case.report.pairs:
        a, b = names.index(pair.a), names.index(pair.b)
        both = [unit for unit in case.units if a in unit.members and b in unit.members]
        table = np.array([[unit.members[r][0] for r in (a, b)] for unit in both], dtype=float).reshape(-1, 2)
        same(pair.kappa, cohen_kappa(*table.T))
        same(pair.ac1, gwet_ac1(table))
        same(pair.jaccard, share(len(both), pair.n_a + pair.n_b - len(both)))
        assert pair.confusion == listed((CLASS_NAMES[int(p)], CLASS_NAMES[int(q)]) for p, q in table)
        assert (pair.n_unlisted, pair.intra) == (0, False)


def test_pairs_of_many_annotators_list_fewer_confusions_and_count_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    case = found(0, {})
    before = case.report.pairs
    monkeypatch.setattr(pairs, "MAX_LISTED_IN_ALL", 2 * len(before))
    cut = found_in(case.samples).report.pairs
    assert max(len(pair.confusion) for pair in before) > 2
    for pair, whole in zip(cut, before, strict=True):
        assert pair.confusion == whole.confusion[:2]
        assert pair.n_unlisted == sum(entry["n"] for entry in whole.confusion[2:])


@each_case
def test_classes_and_merges_of_two_have_the_numbers_of_their_units(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    table = joint_table(case)
    labels = Counter(label[0] for unit in case.rated_units for label in unit.members.values())
    pairs = [(unit, unit.members[a][0], unit.members[b][0], unit.iou(a, b)) for unit, a, b in case.label_pairs()]
    assert [entry.name for entry in case.report.classes] == sorted(
        (CLASS_NAMES[code] for code in labels), key=lambda name: (-labels[CLASS_NAMES.index(name)], name)
    )
    assert case.report.n_classes_unlisted == 0
    for entry in case.report.classes:
        code = CLASS_NAMES.index(entry.name)
        own = [unit for unit in case.rated_units if any(label[0] == code for label in unit.members.values())]
        assert (entry.n_objects, entry.n_units) == (labels[code], len(own))
        assert entry.n_lone == sum(len(unit.members) == 1 for unit in own)
        same(entry.prevalence, labels[code] / sum(labels.values()))
        binary = np.where(np.isnan(table), NAN, table == code)
        same(entry.alpha, oracle.alpha_of(binary, case.config.undefined))
        with_it = [(p, q) for _, p, q, _ in pairs if code in (p, q)]
        same(entry.agreement_given_match, share(sum(p == q for p, q in with_it), len(with_it)))
        iou = [value for _, p, q, value in pairs if p == q == code]
        same(entry.mean_iou, mean(iou))
        same(entry.median_iou, oracle.median(iou))
        led = [
            unit
            for unit in own
            if len(unit.members) >= 2
            and sum(label[0] == code for label in unit.members.values()) > len(unit.members) / 2
        ]
        # whether every annotator who was asked drew what two others drew
        drew = [
            r in unit.members for unit in led for r in case.samples[unit.sample] if len(unit.members.keys() - {r}) >= 2
        ]
        same(entry.miss_rate, share(drew.count(False), len(drew)))
        others = listed((entry.name, CLASS_NAMES[p if q == code else q]) for p, q in with_it)
        assert entry.confused_with == [{"class": other["b"], "n": other["n"]} for other in others]
    lacks = dict.fromkeys((entry.name for entry in case.report.classes), 0.0)
    for unit in case.rated_units:
        for own, label in unit.members.items():
            for other in case.samples[unit.sample]:
                if other == own:
                    continue
                met = other in unit.members and unit.members[other][0] == label[0]
                lacks[CLASS_NAMES[label[0]]] += 1.0 - unit.iou(own, other) if met else 1.0
    total = sum(lacks.values())
    for entry in case.report.classes:
        same(entry.share_of_disagreement, lacks[entry.name] / total)
    # together they lack what the pairs of annotators lack to a panoptic quality of 1
    same(total, sum((pair.n_a + pair.n_b) * (1.0 - pair.pq) for pair in case.report.pairs if pair.pq is not None))
    merges = case.report.merges
    confused = listed(label_classes(case))
    assert sorted(merge.classes for merge in merges) == sorted([entry["a"], entry["b"]] for entry in confused)
    effects = []
    for merge in merges:
        a, b = (CLASS_NAMES.index(name) for name in merge.classes)
        same(merge.alpha_before, oracle.alpha_of(table, case.config.undefined))
        same(merge.alpha_after, oracle.alpha_of(np.where(table == b, a, table), case.config.undefined))
        assert {"a": merge.classes[0], "b": merge.classes[1], "n": merge.n_confused} in confused
        if merge.alpha_before is not None and merge.alpha_after is not None:
            effects.append(merge.alpha_after - merge.alpha_before)
    assert effects == sorted(effects, reverse=True)


def missing_a_tenth(asked: Sequence[Sequence[int]]) -> list[oracle.Sample]:
    """Images with four objects; every annotator who is asked misses a tenth of them, whoever drew them."""
    rng = np.random.default_rng(0)
    boxes = [(1 + k % 2, 0.25 * k, 0.1, 0.25 * k + 0.2, 0.4) for k in range(4)]
    return [{r: [box for box in boxes if rng.random() < 0.9] for r in who} for who in asked]


@pytest.mark.parametrize(
    "asked", [[(0, 1)], [(k, (k + d) % 4) for k in range(4) for d in (1, 2)]], ids=["two", "pairs"]
)
def test_nothing_is_missed_where_no_image_has_two_others(asked: list[tuple[int, int]]) -> None:
    """A rate of 0 would say that everything was drawn, and pass a requirement."""
    report = oracle.report_of(missing_a_tenth(asked * (80 // len(asked))), make_config(oracle.NAMES, resamples=100))
    assert sum(entry.n_lone for entry in report.classes) > 30
    for entry in (*report.classes, *report.sizes, *report.annotators):
        assert entry.miss_rate is None
    assert not any("miss_rate" in entry.intervals for entry in report.classes)


def test_merging_the_only_two_classes_leaves_nothing_to_compare() -> None:
    box = (0.1, 0.1, 0.4, 0.4)
    samples: list = [{0: [(1, *box)], 1: [(2, *box)]}, {0: [(1, *box)], 1: [(1, *box)]}]
    (merge,) = found_in(samples, 2).report.merges
    assert (merge.classes, merge.n_confused, merge.alpha_after) == (["bus", "car"], 1, None)
    same(merge.alpha_before, 1 - 3 * 2 / (16 - 9 - 1))
    (merge,) = found_in(samples, 2, undefined="one").report.merges
    assert merge.alpha_after == 1.0


@pytest.mark.parametrize("seed", seeds(3))
def test_every_way_of_counting_the_same_codes_gives_the_same_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for most in (5, 90_000, 1 << 40):  # the last ones cannot be packed into one number
        columns = [rng.integers(0, most, 200) // (most // 5) * (most // 5) for _ in range(3)]
        expected = sorted(Counter(zip(*(column.tolist() for column in columns), strict=True)).items())
        for cut in (0, 1, 77, 200):
            rest = Gathered()
            for rows in (slice(cut), slice(cut, None)):
                rest.add_counts({"codes": count_codes(*(column[rows] for column in columns))})
            assert [(tuple(row), n) for *row, n in rest.counts("codes").T.tolist()] == expected


def test_objects_of_one_annotator_count_in_the_shares_of_classes_where_missing_is_ignored() -> None:
    """As irrCAC 0.4.4, whose values these are, to 5 digits."""
    table = np.array([[0, 0, NAN], [0, 1, NAN], [1, NAN, NAN], [1, NAN, NAN], [NAN, 1, NAN], [2, 2, 2], [0, 0, 1],
                      [NAN, NAN, 2]])  # fmt: skip
    # every unit is an image of one object that annotators draw at the same place; not those with nan
    samples = [{r: [] if np.isnan(code) else [(int(code) + 1, 0.1, 0.2, 0.4, 0.9)] for r, code in enumerate(row)}
               for row in table]  # fmt: skip
    found = oracle.report_of(samples, oracle.config_of(3, resamples=0, missing="ignore", iou=0.5)).coefficients
    values = (found.fleiss_kappa, found.ac1, found.brennan_prediger, found.alpha, found.percent_agreement)
    assert values == pytest.approx((0.34337, 0.3897, 0.375, 0.41935, 0.58333), abs=5e-6)
