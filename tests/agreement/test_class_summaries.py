"""The numbers of every class in a report on objects, against loops over units and pairs of labels."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.agreement.agreement_oracle import CLASS_NAMES, NAN, alpha_of, config_of, report_of, table_of
from tests.agreement.found import Found, each_case, found, found_in, mean, median, same, share
from tests.chance import seeds

from annotator_agreement.agreement.objects import Rest, count_codes, pairs
from annotator_agreement.metrics import brennan_prediger, cohen_kappa, fleiss_kappa, gwet_ac1, percent_agreement


def label_classes(case: Found) -> list[tuple[str, str]]:
    """Classes of all pairs of labels of one unit."""
    return [(CLASS_NAMES[unit.members[a][0]], CLASS_NAMES[unit.members[b][0]]) for unit, a, b in case.label_pairs()]


def listed(pairs: list[tuple[str, str]]) -> list[dict]:
    """Pairs of different names with how often they occur, the most frequent first, then by name."""
    counts = Counter(tuple(sorted(pair)) for pair in pairs if pair[0] != pair[1])
    order = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return [{"a": a, "b": b, "n": n} for (a, b), n in order]


def joint_table(case: Found) -> np.ndarray:
    """The ratings that alpha counts."""
    return table_of(case.samples, case.units, 4, case.config)


def rated_twice(table: np.ndarray) -> np.ndarray:
    """Units with two ratings."""
    return table[(~np.isnan(table)).sum(axis=1) >= 2]


@each_case
@pytest.mark.few(2)
def test_coefficients_are_over_the_units_of_alpha(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    table = joint_table(case)
    given = np.where(table == 0.0, NAN, table)
    for coefficients, ratings in (
        (case.report.coefficients, table),
        (case.report.class_given_match.coefficients, rated_twice(given)),
    ):
        assert coefficients is not None
        assert coefficients.n_units == len(rated_twice(ratings))
        same(coefficients.alpha, alpha_of(ratings, case.config.undefined))
        same(coefficients.percent_agreement, percent_agreement(ratings))
        same(coefficients.ac1, gwet_ac1(ratings))
        same(coefficients.brennan_prediger, brennan_prediger(ratings))
        same(coefficients.fleiss_kappa, fleiss_kappa(ratings))
    assert case.report.coefficients is not None
    assert case.report.coefficients.alpha == case.report.alpha.pooled


@each_case
def test_confusion_lists_the_classes_that_met_and_the_samples_with_the_largest_share_of_pairs_that_differ(
    seed: int, rules: dict
) -> None:
    case = found(seed, rules)
    given = case.report.class_given_match
    assert (given.confusion, given.n_unlisted) == (listed(label_classes(case)), 0)
    of_samples: dict[int, list[bool]] = {}
    for unit, a, b in case.label_pairs():
        of_samples.setdefault(unit.sample, []).append(unit.members[a][0] != unit.members[b][0])
    shares = {s: share(sum(differ), len(differ)) for s, differ in of_samples.items() if any(differ)}
    assert [entry["value"] for entry in given.worst_samples] == sorted(shares.values(), reverse=True)[:5]
    for entry in given.worst_samples:
        same(entry["value"], shares[int(entry["id"])])


@each_case
def test_a_pair_has_the_coefficients_of_the_classes_of_matched_objects(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    names = list(case.config.annotators)
    for pair in case.report.pairs:
        a, b = names.index(pair.a), names.index(pair.b)
        both = [unit for unit in case.units if a in unit.members and b in unit.members]
        table = np.array([[unit.members[r][0] for r in (a, b)] for unit in both], dtype=float).reshape(-1, 2)
        same(pair.kappa, cohen_kappa(*table.T))
        same(pair.ac1, gwet_ac1(table))
        same(pair.jaccard, share(len(both), pair.n_a + pair.n_b - len(both)))
        directed = Counter((CLASS_NAMES[int(p)], CLASS_NAMES[int(q)]) for p, q in table if p != q)
        order = sorted(directed.items(), key=lambda entry: (-entry[1], entry[0]))
        assert pair.confusion == [{"a": p, "b": q, "n": n} for (p, q), n in order]
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
def test_the_shares_of_disagreement_of_classes_are_what_their_labels_lack(seed: int, rules: dict) -> None:
    case = found(seed, rules)
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


@each_case
def test_a_class_has_the_numbers_of_its_units(seed: int, rules: dict) -> None:
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
        same(entry.alpha, alpha_of(binary, case.config.undefined))
        with_it = [(p, q) for _, p, q, _ in pairs if code in (p, q)]
        same(entry.agreement_given_match, share(sum(p == q for p, q in with_it), len(with_it)))
        iou = [value for _, p, q, value in pairs if p == q == code]
        same(entry.mean_iou, mean(iou))
        same(entry.median_iou, median(iou))
        led = [
            unit
            for unit in own
            if len(unit.members) >= 2
            and sum(label[0] == code for label in unit.members.values()) > len(unit.members) / 2
        ]
        n_assigned = [len(case.samples[unit.sample]) for unit in led]
        n_missing = [n - len(unit.members) for n, unit in zip(n_assigned, led, strict=True)]
        same(entry.miss_rate, share(sum(n_missing), sum(n_assigned)))
        others = Counter(CLASS_NAMES[p if q == code else q] for p, q in with_it if p != q)
        order = sorted(others.items(), key=lambda other: (-other[1], other[0]))
        assert entry.confused_with == [{"class": name, "n": n} for name, n in order]


@each_case
def test_merging_two_classes_gives_the_alpha_of_labels_that_say_one(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    table = joint_table(case)
    merges = case.report.merges
    confused = listed(label_classes(case))
    assert sorted(merge.classes for merge in merges) == sorted([entry["a"], entry["b"]] for entry in confused)
    effects = []
    for merge in merges:
        a, b = (CLASS_NAMES.index(name) for name in merge.classes)
        same(merge.alpha_before, alpha_of(table, case.config.undefined))
        same(merge.alpha_after, alpha_of(np.where(table == b, a, table), case.config.undefined))
        assert {"a": merge.classes[0], "b": merge.classes[1], "n": merge.n_confused} in confused
        if merge.alpha_before is not None and merge.alpha_after is not None:
            effects.append(merge.alpha_after - merge.alpha_before)
    assert effects == sorted(effects, reverse=True)


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
            rest = Rest()
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
    found = report_of(samples, config_of(3, resamples=0, missing="ignore", iou=0.5)).coefficients
    values = (found.fleiss_kappa, found.ac1, found.brennan_prediger, found.alpha, found.percent_agreement)
    assert values == pytest.approx((0.34337, 0.3897, 0.375, 0.41935, 0.58333), abs=5e-6)
