"""Rankings, confused classes and disputes: what they rest on, by counting, and how names are told apart."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from tests.agreement import agreement_oracle as oracle
from tests.agreement.agreement_oracle import CLASS_NAMES, N_ANNOTATORS, NAMES, Found, batch_of, context_of, found
from tests.agreement.habits import CLASSES, Habits, simulate
from tests.agreement.rating_oracle import report_of as rating_report_of
from tests.chance import seeds
from tests.charts.filled import filled_report, filled_values, interval

from annotator_agreement.agreement import disputes as of_disputes
from annotator_agreement.agreement import make_config
from annotator_agreement.agreement import objects as of_objects
from annotator_agreement.agreement.disputes import Disputes, SoughtUnits, costly_objects, disputed_by_class, disputes_of
from annotator_agreement.agreement.evidence import (
    Confused,
    EffectRows,
    conflict_rows,
    ends_of_ranking,
    far_from,
    findings_and_confusions,
    in_order,
    least_first,
    most_first,
    supported,
)
from annotator_agreement.agreement.families import FAMILIES
from annotator_agreement.agreement.matching import Batch, compute_agreement_of
from annotator_agreement.agreement.objects import ObjectRecords, ObjectReport, similar_names, similar_spellings
from annotator_agreement.agreement.statistics import Interval
from annotator_agreement.charts import text
from annotator_agreement.charts.figures import annotator_order
from annotator_agreement.charts.objects import class_sentence
from annotator_agreement.charts.reports import object_reasons
from annotator_agreement.charts.text import clearly_confused, confusions_section, unclear_conflicts
from annotator_agreement.metrics import Objects
from annotator_agreement.metrics.geometry import Boxes


def _annotators(**intervals: tuple[float, float]) -> list:
    one = filled_values()["annotators"][0]
    entries = [
        {**one, "name": name, "score": sum(ends) / 2, "intervals": {"score": interval(*ends)}}
        for name, ends in intervals.items()
    ]
    return filled_report(annotators=entries).annotators


def test_names_go_by_their_numbers_and_rankings_by_the_conservative_end_of_the_interval() -> None:
    names = ["worker 10", "worker 2", "Worker 1", "worker 02b", "anna", "9", "10", "", "worker " + "9" * 5000]
    assert in_order(names) == ["", "9", "10", "anna", "Worker 1", "worker 2", "worker 02b", "worker 10", names[-1]]
    entries = _annotators(wide=(0.1, 0.9), low=(0.2, 0.3), high=(0.7, 0.8), middle=(0.4, 0.6))
    assert [entry.name for entry in least_first(entries)] == ["low", "middle", "high", "wide"]
    assert [entry.name for entry in most_first(entries)] == ["high", "middle", "low", "wide"]
    ends = ends_of_ranking(entries, 4, 0.5)
    assert ([entry.name for entry in ends.least], [entry.name for entry in ends.most]) == (["low"], ["high"])
    assert ends.n_supported == 4
    # an interval that ends at the number of all is not clearly off it
    assert (ends_of_ranking(entries, 4, 0.3).least, ends_of_ranking(entries, 4, 0.7).most) == ([], [])
    one = filled_values()["pairs"][0]
    shared = {("d", "e"): 8, ("a 2", "a 10"): 9, ("a 10", "c"): 5, ("c", "d"): 1}
    pairs = [{**one, "a": a, "b": b, "n_samples": n} for (a, b), n in shared.items()]
    report = filled_report(pairs=pairs, clusters=[])
    assert annotator_order(report, 3) == ["a 2", "a 10", "c"]
    assert annotator_order(report) == ["a 2", "a 10", "c", "d", "e"]


def test_annotators_who_meet_mostly_on_hard_images_are_not_below_all_together() -> None:
    """14 alike rate 40 hard images, two of them each of 300 easy ones; of its meetings 19 of 20 are on hard images."""
    rng, names = np.random.default_rng(3), [f"worker {k}" for k in range(14)]
    rows: list[list[str | None]] = []
    for chance, n_images, n_raters in ((0.7, 40, 14), (0.97, 300, 2)):
        for _ in range(n_images):
            truth, who = rng.integers(4), rng.choice(14, n_raters, replace=False)
            said = np.where(rng.random(14) < chance, truth, rng.integers(4, size=14))
            rows.append(["abcd"[said[k]] if k in who else None for k in range(14)])
    report = rating_report_of(rows, make_config(names, resamples=200))
    n_meetings = [sum(sum(each is not None for each in row) - 1 for row in rows if row[k]) for k in range(14)]
    scores = [entry.score for entry in report.annotators]
    assert report.score.of_meetings == pytest.approx(np.average(scores, weights=n_meetings), abs=1e-12)
    assert report.score.mean > max(entry.intervals["score"].high for entry in report.annotators)
    shown = text.shortlist_annotators(report)
    assert (shown.entries, shown.title) == ([], "Annotators: of 14 none agrees clearly less or more than all")
    assert f"the mean over all meetings of two annotators ({report.score.of_meetings:.2f})" in shown.rest


@pytest.mark.parametrize(
    ("field", "value"), [("n_objects", 19), ("intervals", {}), ("intervals", {"score": interval(0.1, 0.2, n=9)})]
)
def test_nothing_is_ranked_on_fewer_than_20_labels_or_10_images(field: str, value: object) -> None:
    entries = [{**filled_values()["annotators"][0], "name": name} for name in ("x 10", "x 9", "a")]
    for entry, ends in zip(entries, [(0.1, 0.2), (0.3, 0.4), (0.5, 0.6)], strict=True):
        entry |= {"n_objects": 20, "intervals": {"score": interval(*ends, n=10)}}
    entries[0] |= {field: value}
    found = filled_report(annotators=entries).annotators
    assert [supported(entry) is None for entry in found] == [True, False, False]
    assert [entry.name for entry in least_first(found)] == ["x 9", "a", "x 10"]


def test_names_are_similar_by_spelling_or_if_annotators_give_them_to_the_same_objects() -> None:
    """Real confusions of classes that are spelled alike do not count, nor what met a few times."""
    names = ["candle", "handle", "bicycle", "bicicle", "Car", "car", "money", "monkey"]
    n = {name: k for k, name in enumerate(names)}
    met = {("candle", "handle"): 30, ("candle", "candle"): 40, ("handle", "handle"): 40, ("bicycle", "bicycle"): 300,
           ("bicycle", "bicicle"): 12, ("bicicle", "bicicle"): 1, ("Car", "car"): 10, ("money", "monkey"): 9,
           ("bicycle", "car"): 50}  # fmt: skip
    rows = np.repeat([[n[a], n[b]] for a, b in met], list(met.values()), axis=0)
    enough = [
        Confused(sorted(pair), n, n, 0.1, 0.0, 0.2, 0.0) for pair, n in met.items() if pair[0] != pair[1] and n >= 10
    ]
    found = similar_names(names, of_objects.synonyms(of_objects.count_codes(*rows.T), names, enough))
    assert found == [["bicicle", "bicycle"], ["Car", "car"]]
    chain = ["bicycle", "bicycles", "bicyclesx"]
    assert similar_names(chain, [*itertools.pairwise(chain)]) == [chain]
    # names, and groups of those that probably mean the same class
    for names, groups in (
        ([], []),
        (["car", "bus"], []),
        (["car", "Car ", "bus"], [["Car ", "car"]]),
        (["traffic light", "traffic_light", "Traffic-Light", "traffic  light"],
         [["Traffic-Light", "traffic  light", "traffic light", "traffic_light"]]),
        (["trafficlight", "traffic light"], [["traffic light", "trafficlight"]]),
        (["class_01", "class_02", "class_11", "class_1"], []),
        (["class 1 2", "class 12"], []),
        (["STRASSE", "straße"], [["STRASSE", "straße"]]),
        (["_", " "], [[" ", "_"]]),
        (["aabbb", "aabb", "abbbb"], [["aabbb", "abbbb"]]),
    ):  # fmt: skip
        for order in (names, names[::-1]):
            assert similar_spellings(order) == groups


def _one_edit(a: str, b: str) -> bool:
    """Whether one letter makes the one the other, by trying all letters in all places."""
    letters = "abcd"
    edits = {a[:k] + a[k + 1 :] for k in range(len(a))}
    edits |= {a[:k] + letter + a[k:] for k in range(len(a) + 1) for letter in letters}
    edits |= {a[:k] + letter + a[k + 1 :] for k in range(len(a)) for letter in letters}
    return b in edits


@pytest.mark.parametrize("seed", seeds(10))
def test_groups_are_those_of_trying_every_edit(seed: int) -> None:
    rng = random.Random(seed)
    names = sorted({"".join(rng.choices("abcd", k=rng.choice([4, 5, 6]))) for _ in range(60)})
    group = {name: {name} for name in names}
    for a, b in itertools.combinations(names, 2):
        if min(len(a), len(b)) >= 5 and _one_edit(a, b) and group[a] is not group[b]:
            group[a] |= group[b]
            for name in group[a]:
                group[name] = group[a]
    expected = sorted({tuple(sorted(own)) for own in group.values() if len(own) > 1})
    assert [tuple(own) for own in similar_spellings(names)] == expected


def _report(batch: Batch, names: list[str], classes: list[str], clusters: np.ndarray | None = None) -> ObjectReport:
    return oracle.object_report(batch, make_config(names, resamples=0), classes, clusters=clusters)


@pytest.mark.parametrize("n_of_cluster", [1, 3])
def test_shares_and_intervals_are_those_of_counting_by_image(n_of_cluster: int) -> None:
    habits = [Habits("a"), Habits("b", confuses=("bus", "coach", 0.4)), Habits("c", confuses=("tram", "bicycle", 0.2))]
    batch = simulate(habits, 120, np.random.default_rng(4)).batch()
    clusters = np.arange(120) // n_of_cluster
    report = _report(batch, ["a", "b", "c"], list(CLASSES), clusters if n_of_cluster > 1 else None)
    agreement = compute_agreement_of(batch, make_config(["a", "b", "c"]))
    met: dict[tuple[str, ...], Counter[int]] = defaultdict(Counter)
    for i, j in zip(agreement.pairs.i.tolist(), agreement.pairs.j.tolist(), strict=True):
        said = {CLASSES[agreement.objects.category[k]] for k in (i, j)}
        if len(said) == 2:
            met[tuple(sorted(said))][clusters[agreement.objects.sample[i]]] += 1
    in_all = sum(met.values(), Counter())
    n, total = len(in_all), in_all.total()
    assert {tuple(each.classes) for each in report.confused} == {pair for pair, of in met.items() if len(of) >= 10}
    assert len(report.confused) >= 2
    for each in report.confused:
        of_pair = met[tuple(each.classes)]
        share = of_pair.total() / total
        error = np.sqrt(sum((of_pair[k] - share * in_all[k]) ** 2 for k in in_all) * n / (n - 1)) / total
        reach = stats.t.ppf(0.975, n - 1) * error
        assert (each.n, each.n_images) == (of_pair.total(), len(of_pair))
        assert (each.share, each.low, each.high) == pytest.approx((share, share - reach, share + reach))
    assert [each.low for each in report.confused] == sorted((each.low for each in report.confused), reverse=True)
    assert clearly_confused(report)[0].classes == ["bus", "coach"]


def test_classes_that_are_confused_by_chance_are_seldom_listed() -> None:
    """Conflicts fall on all classes alike: of 45 pairs of ten classes one is clearly above chance by its interval."""
    n_listed = n_above = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        sample = np.repeat(np.arange(300), rng.poisson(3, 300))
        a = rng.integers(0, 10, len(sample))
        effects = EffectRows()
        effects.add([conflict_rows(a, (a + rng.integers(1, 10, len(a))) % 10, sample, 300)], 300)
        names = [str(k) for k in range(10)]
        found = findings_and_confusions(effects.moments(), ["x", "y"], names, of_classes=np.full(10, 1000))["confused"]
        n_above += any(each.low > each.by_chance for each in found)
        n_listed += any(each.is_clear for each in found)
    assert n_above > 15
    assert n_listed <= 8  # of 60 at 5 %; 9 or more have a probability of 0.4 %


def test_of_many_numbers_those_are_named_that_are_off_by_the_false_discovery_rate_of_scipy() -> None:
    """90 numbers that are 0.7, but for one that is 0.4: four or five are beyond their 95 % intervals by chance."""
    rng, n_beyond, n_far = np.random.default_rng(8), 0, 0
    for _ in range(50):
        of_images = rng.normal(np.r_[0.4, np.full(89, 0.7)], 0.4, (60, 90))
        mean, error = of_images.mean(axis=0), of_images.std(axis=0, ddof=1) / 60**0.5
        reach = stats.t.ppf(0.975, 59) * error
        ends = [Interval(*each, 60) for each in zip(mean - reach, mean + reach, error, strict=True)]
        far, p_values = far_from(0.7, mean.tolist(), ends), 2 * stats.t.sf(np.abs(mean - 0.7) / error, 59)
        assert far.tolist() == (stats.false_discovery_control(p_values) <= 0.05).tolist()
        n_beyond, n_far = n_beyond + int((np.abs(mean - 0.7) > reach)[1:].sum()), n_far + int(far.sum())
    assert 40 < n_far < 60 < 150 < n_beyond


def test_who_did_not_err_by_chance_is_not_said_to_agree_most() -> None:
    """14 alike err on 1 of 20 images, and so 1 of 22 nowhere on 60 images: their scores vary very little there."""
    n_named, n_beyond, n_found = 0, 0, 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        right = rng.random((60, 14)) < 0.95
        for odd in (False, True):
            if odd:  # the first errs on half of the images
                right[::2, 0] = False
            n_right = right.sum(axis=1, keepdims=True)
            score = np.where(right, n_right - 1, 0) / 13.0  # no two wrong classes are the same
            mean, error = score.mean(axis=0), score.std(axis=0, ddof=1) / 60**0.5
            reach = stats.t.ppf(0.975, 59) * error
            ends = [Interval(*each, 60) for each in zip(mean - reach, mean + reach, error, strict=True)]
            far = far_from(mean.mean(), mean.tolist(), ends, (0.0, 1.0))
            if odd:
                n_found += bool(far[0])
            else:
                n_named += bool(far.any())
                n_beyond += bool(far_from(mean.mean(), mean.tolist(), ends).any())
    assert n_beyond > 50
    assert n_named <= 11  # of 100 at 5 %; 12 or more have a probability of 0.4 %
    assert n_found == 100


def test_a_number_that_is_outside_its_interval_or_does_not_vary_is_compared_too() -> None:
    whole = [Interval(0.4, 0.4, 0.0, 20), Interval(0.5, 0.5, 0.0, 20), Interval(0.3, 0.45, 0.04, 20)]
    assert far_from(0.5, [0.4, 0.5, 0.46], whole).tolist() == [True, False, False]
    assert far_from(0.5, [], []).tolist() == []


def _spelled(n_images: int, of_image: int) -> Batch:
    """Two annotators who spell one class differently: ``of_image`` objects on each of some images, beside cars."""
    sample = np.repeat(np.arange(n_images), 2 * of_image + 2)
    annotator = np.tile(np.r_[np.zeros(of_image + 1, int), np.ones(of_image + 1, int)], n_images)
    category = np.tile(np.r_[[1] * of_image, 3, [2] * of_image, 3], n_images)
    left = np.tile(np.r_[np.arange(of_image + 1), np.arange(of_image + 1)], n_images) / (of_image + 1)
    boxes = np.column_stack([left, np.zeros(len(left)), left + 0.5 / (of_image + 1), np.ones(len(left))])
    return Batch(Objects(sample, annotator, category), Boxes(boxes), np.ones((n_images, 2), np.bool_))


def test_classes_are_confused_only_on_ten_images_and_most_conflicts_are_named_though_no_evidence() -> None:
    classes = ["(missing)", "bicycle", "bicicle", "car"]
    enough, few = (_report(_spelled(n, 30 // n), ["a", "b"], classes) for n in (10, 6))
    assert [entry["n"] for entry in enough.class_given_match.confusion] == [30]
    assert [entry["n"] for entry in few.class_given_match.confusion] == [30]
    assert (enough.similar_names, few.similar_names) == ([["bicicle", "bicycle"]], [])
    assert ([each.classes for each in enough.confused], few.confused) == ([["bicicle", "bicycle"]], [])
    (section,) = confusions_section(few)
    few_images = "all are between 'bicicle' and 'bicycle' (on fewer than 10 images, too few for a test)"
    assert section.parts == [f"30 conflicts: {few_images}."]
    assert f"30 pairs of labels of one object have different classes; {few_images}." in class_sentence(few)
    batch = _spelled(13, 2)
    category = np.r_[batch.objects.category[:-6], 1, 1, 3, 1, 1, 1]  # only the car differs
    objects = dataclasses.replace(batch.objects, category=category)
    report = _report(
        dataclasses.replace(batch, objects=objects), ["a", "b"], ["(missing)", "bicycle", "bicicle", "car"]
    )
    (found,) = report.confused
    assert (found.n, found.share, found.high) == pytest.approx((24, 24 / 25, 1.0))
    report = _report(_spelled(12, 2), ["a", "b"], ["(missing)", "bicycle", "bicicle", "car"])
    even = {("a", "b"): 2, ("a", "c"): 2}
    assert unclear_conflicts(report, even) == "those of no two classes are clearly more than by chance"
    most = unclear_conflicts(report, {("bicicle", "bicycle"): 2, ("a", "c"): 1})
    assert most == "2 of 3 are between 'bicicle' and 'bicycle' (not clearly more than by chance)"
    assert "no two classes" in unclear_conflicts(report, {("bicicle", "bicycle"): 2}, n_unlisted=2)


def _records(case: Found) -> ObjectRecords:
    return oracle.records_of(batch_of(case.samples, N_ANNOTATORS), case.config)


@oracle.each_case
def test_costs_and_disputes_are_those_of_counting_units(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    expected = np.zeros(len(case.samples))
    for unit in case.rated_units:
        for a, b in combinations(case.samples[unit.sample], 2):
            one, other = unit.members.get(a), unit.members.get(b)
            if one and other:
                expected[unit.sample] += 2 * (1 - unit.iou(a, b) if one[0] == other[0] else 1)
            elif one or other:
                expected[unit.sample] += 1
    records = _records(case)
    np.testing.assert_allclose(FAMILIES[records.family].costs(records), expected, atol=1e-9)
    # and so the costs of all samples are what the pairs lack to a score of 1
    lack = sum((pair.n_a + pair.n_b) * (1.0 - pair.pq) for pair in case.report.pairs if pair.pq is not None)
    np.testing.assert_allclose(expected.sum(), lack)
    costs: Counter[tuple[int, int]] = Counter()
    objects, disputed = np.zeros((2, len(CLASS_NAMES)), np.int64)
    missed, lone = np.zeros((2, len(CLASS_NAMES), N_ANNOTATORS), np.int64)
    for unit in case.rated_units:
        pairs = [(unit.members.get(a), unit.members.get(b)) for a, b in combinations(case.samples[unit.sample], 2)]
        cost = sum(2 * (one[0] != other[0]) if one and other else bool(one or other) for one, other in pairs)
        costs[unit.sample, cost] += cost > 0
        classes = list({label[0] for label in unit.members.values()})
        objects[classes] += 1
        disputed[classes] += cost > 0
        absent = [*set(case.samples[unit.sample]) - set(unit.members)]
        if len(unit.members) > 1:
            missed[np.ix_(classes, absent)] += 1
        else:
            lone[classes, [*unit.members]] += 1
    costly = costly_objects(_records(case), SoughtUnits())
    assert dict(zip(zip(costly.row.tolist(), costly.cost.tolist(), strict=True), costly.n, strict=True)) == +costs
    assert costly.cost.tolist() == sorted(costly.cost, reverse=True)
    of_classes = of_disputes.left_out(_records(case), len(CLASS_NAMES), range(N_ANNOTATORS))
    assert (of_classes.missed.tolist(), of_classes.lone.tolist()) == (missed.tolist(), lone.tolist())
    by_class = disputed_by_class(_records(case), len(CLASS_NAMES))
    assert [each.tolist() for each in by_class] == [objects.tolist(), disputed.tolist()]
    for sample, disputes in enumerate(disputes_of(_records(case), context_of(case.config))):
        own = [unit for unit in case.rated_units if unit.sample == sample]
        lone = Counter(NAMES[next(iter(unit.members))] for unit in own if len(unit.members) == 1)
        left = {id(unit): set(case.samples[sample]) - set(unit.members) for unit in own if len(unit.members) > 1}
        assert disputes.lone == lone
        assert disputes.missed == Counter(NAMES[annotator] for who in left.values() for annotator in who)
        assert disputes.n_missed == sum(map(bool, left.values()))
        classes, other = Counter(), Counter()
        for unit in own:
            said = {NAMES[who]: CLASS_NAMES[label[0]] for who, label in unit.members.items()}
            most = [name for name in said.values() if list(said.values()).count(name) > len(said) / 2]
            other.update((who, name, most[0]) for who, name in said.items() if most and name != most[0])
            classes[tuple(sorted(set(said.values())))] += len(set(said.values())) > 1 and not most
        assert (disputes.classes, disputes.other_classes) == (+classes, other)


def test_who_is_behind_disputes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from annotator_agreement.charts.reports import families

    told = [
        Disputes(Counter(carol=7), Counter(bob=2), 2, Counter({("cat", "dog"): 3}), Counter(), 0, 12),
        Disputes(Counter(a=1, b=2, c=1), Counter(a=2, b=2), 3, Counter(), Counter(), 1, 7),
        Disputes(other_classes=Counter({("a", "dog", "cat"): 3, ("b", "dog", "cat"): 1, ("b", "cow", "cat"): 2})),
    ]
    monkeypatch.setattr(families, "disputes_of", lambda *_: told)
    case = found(0, {})
    assert object_reasons(_records(case), context_of(case.config)) == [
        "7 lone (carol), 3 called cat or dog, 2 missed (bob)",
        "4 lone (b 2, a 1, others), 3 missed (a 2, b 2), 1 with different attributes",
        "4 cat called dog (a 3, b 1), 2 cat called cow (b)",
    ]
