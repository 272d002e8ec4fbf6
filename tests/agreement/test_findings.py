"""Findings are tests: planted habits are found in every family, and where nobody has a habit nothing is."""

from __future__ import annotations

import dataclasses
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from tests.agreement.agreement_oracle import object_report
from tests.agreement.families import KINDS, measured_masks
from tests.agreement.habits import CLASSES, Habits, simulate
from tests.agreement.rating_oracle import report_of
from tests.chance import few, seeds, some_seeds
from tools.bench.findings import SIMULATED, forgetful
from tools.bench.generated import GeneratedBoxes, generate, report_on

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.evidence import EffectRows, Finding, by_subject, hypotheses
from annotator_agreement.agreement.objects import ObjectReport
from annotator_agreement.charts.objects import object_findings
from annotator_agreement.charts.reports import family_of
from annotator_agreement.charts.text import all_findings, whom_to_talk_to
from annotator_agreement.metrics.numeric import RateMoments


def _report(habits: list[Habits], n_samples: int, seed: int, clusters: np.ndarray | None = None) -> ObjectReport:
    simulated = simulate(habits, n_samples, np.random.default_rng(seed), jitter=0.03)
    return object_report(simulated.batch(), make_config(simulated.names, resamples=0), CLASSES, clusters=clusters)


NAMES = ("alice", "bob", "carol", "dave")


def _with(name: str, **habit: object) -> list[Habits]:
    return [Habits(each, miss=0.05, **(habit if each == name else {})) for each in NAMES]  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", seeds(8))
def test_nothing_is_found_where_nobody_has_a_habit(seed: int) -> None:
    report = _report([Habits(name, miss=0.08, duplicates=0.02) for name in NAMES], 60, seed)
    assert report.n_tested > 20
    assert report.findings == []
    assert "No annotator, pair or class stands out beyond chance" in " ".join(object_findings(report))
    assert report_on(generate(40, 4, seed)).findings == []


def test_a_planted_habit_is_found_with_its_size_and_what_is_hard_for_everybody() -> None:
    for habit, kind, planted in (
        ({"miss_small": 0.6}, "misses_size", 0.55),
        ({"size": 1.12}, "box_size", 0.12),
        ({"lower": 0.12}, "box_down", 0.12),
        ({"confuses": ("bus", "coach", 0.6)}, "conflicts", 0.15),
        ({"duplicates": 0.15}, "twice", 0.13),
    ):
        report = _report(_with("bob", **habit), 150, 3)
        (found,) = [each for each in report.findings if each.kind == kind and each.annotators == ["bob"]]
        assert found.low - 0.02 <= planted <= found.high + 0.02
        assert (found.n_images >= 10, found.n_labels >= 20) == (True, True)
        # nobody else is said to have it
        assert {tuple(each.annotators) for each in report.findings if each.kind == kind} == {("bob",)}
        (section,) = all_findings(report)
        assert f"of {report.n_tested:,} comparisons, at a false discovery rate of 5 %" in section.title
        assert any("bob" in sentence and "talk to bob" in sentence for sentence in object_findings(report))
    everybody = [Habits(name, miss=0.03, confuses=("bus", "coach", 0.3)) for name in NAMES]
    report = _report(everybody, 200, 4)
    kinds = {each.kind: each for each in report.findings}
    assert kinds["confused"].classes == ["bus", "coach"]
    assert not any(each.annotators for each in report.findings)
    assert "say in the guideline how to tell 'bus' and 'coach' apart" in " ".join(object_findings(report))
    small = _report([Habits(name, miss=0.02, miss_small=0.3) for name in NAMES], 200, 5)
    assert [each.size for each in small.findings if each.kind == "size_missed"] == ["small"]
    assert "Of small objects" in " ".join(object_findings(small))
    habits = [Habits(name, miss=0.15) for name in NAMES]
    habits.append(Habits("erin", copies="dave"))
    report = _report(habits, 60, 6)
    (close,) = [each for each in report.findings if each.kind == "close"]
    assert close.annotators == ["dave", "erin"]
    assert close.value > close.others + 0.1


@pytest.mark.parametrize("clusters", [None, np.arange(200) // 4])
def test_a_size_that_one_annotator_misses_is_said_of_the_annotator_alone(clusters: np.ndarray | None) -> None:
    for others in (0.02, 0.3):
        habits = [dataclasses.replace(each, miss_small=others) for each in _with("bob", miss_small=0.7)]
        habits[1] = Habits("bob", miss_small=0.7)
        found = [(each.kind, each.annotators) for each in _report(habits, 200, 3, clusters).findings if each.size]
        assert ("misses_size", ["bob"]) in found
        assert (("size_missed", []) in found) == (others > 0.1), found


def test_a_class_that_one_annotator_confuses_is_said_of_the_annotator_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[RateMoments] = []
    real = hypotheses._due_to_one
    monkeypatch.setattr(hypotheses, "_due_to_one", lambda moments: seen.append(moments) or real(moments))
    report = _report(_with("carol", confuses=("car", "bus", 0.4)), 200, 4)
    assert ["carol"] in [each.annotators for each in report.findings if each.kind == "conflicts"]
    assert not [each for each in report.findings if each.kind == "class_conflicts"]
    (moments,) = seen  # what annotators add to classes and sizes is all of it
    first, second = hypotheses.group_subjects(moments.group)
    for kind, times in (("class_missed", 1), ("size_missed", 1), ("class_conflicts", 2)):
        kind_mask = hypotheses.kind_mask(moments.group, kind)
        for subject in np.unique(first[kind_mask]):
            rows = kind_mask & (first == subject)
            parts, whole = moments.sums[rows & (second > 0)], moments.sums[rows & (second == 0)]
            np.testing.assert_allclose(parts[:, :2].sum(axis=0), times * whole[0, :2], atol=1e-9)


def _boxes(rows: list[tuple[int, int, float]], n_images: int) -> GeneratedBoxes:
    """A box for every row: image, annotator, left edge."""
    sample, annotator, left = (np.array(column) for column in zip(*rows, strict=True))
    xywh = np.column_stack([left, *(np.full(len(left), size) for size in (0.1, 0.2, 0.2))])
    return GeneratedBoxes(sample, annotator, np.zeros_like(sample), xywh, n_images, 4)


def test_few_labels_and_few_images_are_not_tested_and_an_interval_of_shares_ends_at_100_points() -> None:
    """a and b draw the same box on some of 30 images and nothing on the others; c and d one box each, elsewhere."""
    for n_with_labels, is_named in ((0, False), (9, False), (10, True)):
        boxes = {0: (0.0, n_with_labels), 1: (0.0, n_with_labels), 2: (0.3, 30), 3: (0.6, 30)}
        report = report_on(_boxes(sorted((k, who, left) for who, (left, n) in boxes.items() for k in range(n)), 30))
        close = [(each.annotators, each.n_labels) for each in report.findings if each.kind == "close"]
        assert close == ([(["worker 1", "worker 2"], 20)] if is_named else [])
    report = _report(_with("bob", miss_small=0.9), 9, 1)
    assert (report.findings, report.n_tested) == ([], 0)
    assert "oo few labels to say who or what stands out" in " ".join(object_findings(report))
    two = _report([Habits("alice"), Habits("bob", miss=0.4, size=1.15)], 100, 2)
    found = {(each.kind, *each.annotators) for each in two.findings if each.annotators}
    assert found == {("lone", "alice"), ("box_size", "alice")}
    rows = [(k, who, left) for k in range(12) for who in range(4) if who or not k for left in (0.1, 0.6)]
    (misses,) = [each for each in report_on(_boxes(rows, 12)).findings if each.kind == "misses"]
    assert (misses.value, misses.others) == pytest.approx((11 / 12, 0.0))
    assert 0.6 < misses.low < misses.high == 1.0


def test_frames_of_one_video_are_one_draw() -> None:
    """What is certain over 150 images is not over 9 videos, which are too few, and less so over 30."""
    habits = _with("bob", miss_small=0.6)
    alone, of_videos = _report(habits, 150, 3), _report(habits, 150, 3, np.arange(150) // 5)
    (first, second) = (
        next(each for each in report.findings if each.kind == "misses_size") for report in (alone, of_videos)
    )
    assert first.n_images > 100
    assert second.n_images <= 30
    assert second.value == pytest.approx(first.value)
    assert second.p_value > first.p_value
    assert _report(habits, 150, 3, np.arange(150) // 17).n_tested == 0


def test_intervals_of_findings_have_the_level_of_what_was_selected() -> None:
    """Benjamini and Yekutieli 2005: 1 - 0.05 findings / tests; the standard error follows from the p-value."""
    report = report_on(forgetful(generate(60, 4, 7), np.random.default_rng(7)))
    assert 0 < len(report.findings) < report.n_tested
    misses = next(each for each in report.findings if each.kind == "misses")
    degrees = misses.n_images - 1
    error = (misses.difference - 0.02) / stats.t.isf(misses.p_value / 2, degrees)
    reach = stats.t.isf(0.025 * len(report.findings) / report.n_tested, degrees) * error
    ends = misses.difference - reach, misses.difference + reach
    assert (misses.low, misses.high) == pytest.approx(ends, abs=1e-6)
    assert reach > 1.2 * stats.t.isf(0.025, degrees) * error
    # few images: no interval of a finding contains 0
    for seed in (2, 3, 11):
        found = report_on(forgetful(generate(12, 3, seed), np.random.default_rng(seed))).findings
        assert found
        assert all(each.low > 0.0 for each in found if each.difference > 0.0)


def test_the_order_of_annotators_and_images_changes_no_finding() -> None:
    data = forgetful(generate(60, 4, 7), np.random.default_rng(7))
    order, who = np.random.default_rng(1).permutation(60), np.array([3, 0, 2, 1])
    rows = np.lexsort((who[data.annotator], order[data.sample]))
    columns = (order[data.sample], who[data.annotator], data.label, data.boxes_xywh_rel)
    turned = GeneratedBoxes(*(column[rows] for column in columns), 60, 4)
    first, second = report_on(data), report_on(turned)
    assert first.n_tested == second.n_tested
    assert len(first.findings) == len(second.findings) > 0
    names = [f"worker {k + 1}" for k in range(4)]
    for one, other in zip(first.findings, second.findings, strict=True):
        assert [names[who[names.index(name)]] for name in one.annotators] == other.annotators
        values = (dataclasses.astuple(each)[4:] for each in (one, other))
        assert next(values) == pytest.approx(next(values), rel=1e-9)


def _finding(kind: str, name: str, difference: float, low: float) -> Finding:
    return Finding(kind, [name], [], None, difference, 0.0, difference, low, 1.0, 0.0, 20, 10)


def test_findings_of_one_annotator_stand_together_and_of_many_the_greatest_of_every_kind_comes_first() -> None:
    findings = [_finding("misses_size", "a", 0.6, 0.4), _finding("lone", "b", 0.55, 0.5),
                _finding("misses", "a", 0.5, 0.45), _finding("lone", "a", 0.3, 0.2), _finding("lone", "c", 0.1, 0.05),
                _finding("misses_size", "b", 0.08, 0.07), _finding("misses", "b", 0.05, 0.03)]  # fmt: skip

    def groups(findings: list[Finding], at_most: int) -> list[list[tuple[str, ...]]]:
        return [[(each.kind, *each.annotators) for each in group] for group in by_subject(findings, at_most)]

    together = [[("misses", "a"), ("lone", "a")], [("lone", "b"), ("misses_size", "b")], [("lone", "c")]]
    assert groups(findings, 3) == together
    # of more than are named, every one has one finding
    assert groups(findings, 2) == [[("lone", "b")], [("misses", "a")]]
    # six miss more than anybody else; others confuse classes, or draw otherwise, by smaller differences
    findings = [_finding("misses_size", f"w{k}", 0.9 - 0.01 * k, 0.8) for k in range(6)]
    findings += [_finding("conflicts", "w0", 0.5, 0.4), _finding("conflicts", "w8", 0.4, 0.3),
                 _finding("loose", "w9", 0.3, 0.2), _finding("loose", "w8", 0.2, 0.1)]  # fmt: skip
    # the greatest conflict is that of w0, who is there for what they missed
    expected = [("misses_size", "w0"), ("loose", "w9"), ("misses_size", "w1"), ("misses_size", "w2")]
    assert groups(findings, 4) == [[each] for each in expected]


@pytest.mark.parametrize(("of_one", "is_of_class"), [(1.4, True), (1.6, False)])
def test_a_class_keeps_its_finding_while_the_others_have_half_of_the_difference(of_one, is_of_class) -> None:
    """Of class 1 two of four are missed, of others none; without the annotator, who missed 1.4 or 1.6 of two, the share
    is 0.3 or 0.2."""
    rows, samples = hypotheses.EffectRows(), np.arange(40)
    missed = np.where(samples % 2, 0.5, 1.5)
    for group, own, n, n_others in (
        (hypotheses.effect_groups("class_missed", 1), 2.0 * missed, 4.0, 4.0),
        (hypotheses.part_groups("class_missed", 1, np.int64(0)), of_one * missed, 2.0, 0.0),
    ):
        columns = np.stack([own, np.full(40, n), np.zeros(40), np.full(40, n_others)])
        rows.add([(np.full(40, int(group)), samples, columns)], 0)
    found = hypotheses.findings_of(rows.moments(), ["alice"], ["", "cat"])
    assert found["n_tested"] == 1
    assert [(each.kind, each.classes) for each in found["findings"]] == [("class_missed", ["cat"])] * is_of_class


#: what is said of the planted habit
SAID = {
    "classes": "worker 1 gives 'owl' more often than the others, by ", "numbers": "worker 1 rates ",
    "tags": "worker 1 misses ", "masks": "worker 1 gives ",
}  # fmt: skip


@pytest.mark.random
@pytest.mark.parametrize("family", SIMULATED)
@pytest.mark.few(2)
def test_nothing_is_found_in_any_family_where_nobody_has_a_habit(family: str) -> None:
    """Of 200 runs of each kind at most 5 % have a finding (``make bench ARGS=findings``)."""
    report, _, _ = SIMULATED[family]
    for n_annotators, n_images in ((2, 60), (4, 60)):
        found = [report(n_images, n_annotators, seed) for seed in some_seeds(3)]
        assert [each.findings for each in found] == [[]] * len(found)
        assert all(each.n_tested for each in found)
    assert "No annotator, pair or class stands out beyond chance" in " ".join(family_of(found[0]).findings(found[0]))


@pytest.mark.parametrize(("family", "n_images"), few([("tags", 30), ("classes", 30), ("tags", 100), ("numbers", 60)]))
@pytest.mark.few(2)
def test_of_three_annotators_the_median_one_is_uncertain_too(family: str, n_images: int) -> None:
    """Of many runs at most 1 % have a finding; if the rate of the median annotator counted as known, 6 % to 12 %."""
    report, _, _ = SIMULATED[family]
    assert sum(bool(report(n_images, 3, seed).findings) for seed in range(50, 110)) <= 3


@pytest.mark.parametrize("n_annotators", few([3, 2, 4]))
@pytest.mark.parametrize("family", SIMULATED)
@pytest.mark.few(3)
def test_a_planted_habit_is_found_and_said(family: str, n_annotators: int) -> None:
    simulated, habit, kind = SIMULATED[family]
    report = simulated(120, n_annotators, 1, 1.6 * habit)
    kinds = {each.kind for each in report.findings if each.annotators == ["worker 1"]}
    expected = {kind} if n_annotators > 2 or family != "tags" else {"class_used"}
    assert expected <= kinds
    # of two annotators, who leaves tags out makes the tags of the other lone
    others = {("worker 2",)} if n_annotators == 2 and family == "tags" else set()
    assert {tuple(each.annotators) for each in report.findings if each.annotators} == {("worker 1",)} | others
    said = family_of(report).findings(report)
    whom = "worker 1" if n_annotators > 2 else "both"
    assert any(f"talk to {whom}" in sentence for sentence in said)
    short = whom_to_talk_to(report, family_of(report).phrases)
    assert short.startswith("Talk to worker 1 (") if n_annotators > 2 else not short
    if n_annotators > 2:
        assert SAID[family] in " ".join(said)


def test_shares_of_classes_and_of_tags_left_out_are_those_of_counting() -> None:
    """bob says dog where the majority says cat on 30 of 100 images; nobody deviates otherwise."""
    rows = [("cat", "dog" if k % 10 < 3 else "cat", "cat", "cat") for k in range(100)]
    rows += [("dog", "dog", "dog", "dog")] * 50
    report = report_of(rows, make_config(["alice", "bob", "carol", "dave"], resamples=0))
    found = {(each.kind, *each.annotators, *each.classes): each for each in report.findings}
    # minus the mean of the others on the image, times 3/4, their share: 0.75 of 30 images for bob, -0.25 for each other
    bob = found["class_used", "bob", "dog"]
    assert (bob.value, bob.others, bob.difference) == pytest.approx((22.5 / 150, -7.5 / 150, 30 / 150))
    assert (bob.n_labels, bob.n_images) == (150, 150)
    conflicts = found["conflicts", "bob"]
    # bob differs from three on 30 of 150 images; the others never from each other
    assert (conflicts.value, conflicts.others) == pytest.approx((90 / 450, 0.0))
    assert {key[1] for key in found if key[0] in ("class_used", "conflicts")} == {"bob"}
    (confused,) = report.confused
    assert (confused.classes, confused.n, confused.n_images, confused.share) == (["cat", "dog"], 90, 30, 1.0)
    # of three classes: as often as two ratings with different classes have it, by their shares of all ratings
    report = report_of([*rows, *[("owl",) * 4] * 20], make_config(["alice", "bob", "carol", "dave"], resamples=0))
    found = {(each.kind, *each.classes): each for each in report.findings}
    shares = np.array([370, 230, 80]) / 680
    by_chance = 2 * shares[0] * (1 - shares[0]) / (1 - (shares**2).sum())
    cat = found["class_confused", "cat"]
    assert (cat.value, cat.others) == pytest.approx((1.0, by_chance))
    samples = [{0: [1, 2], 1: [1, 2] if k % 10 >= 3 else [1], 2: [1, 2]} for k in range(100)]
    found = {(each.kind, *each.annotators, *each.classes): each for each in KINDS["tags"].report(samples).findings}
    misses, rain = found["misses", "bob"], found["class_missed", "rain"]
    # what two others gave: all for bob; for the others not what bob left out
    assert (misses.value, misses.others, misses.n_labels) == (30 / 200, 0.0, 200)
    assert (rain.value, rain.others, rain.n_labels) == (30 / 300, 0.0, 300)


def test_moments_are_those_of_videos() -> None:
    rng = np.random.default_rng(3)
    values, given, clusters = rng.random((40, 3)), rng.random((40, 3)) < 0.7, np.arange(40) // 4
    habits = EffectRows(clusters)
    habits.add_deviations("rates", values, given)
    moments = habits.moments()
    for r in range(3):
        of_others = given & (np.arange(3) != r)
        compared = given[:, r] & of_others.any(axis=1)
        own = [values[k, r] - values[k][of_others[k]].mean() if compared[k] else 0.0 for k in range(40)]
        frames = [np.flatnonzero(clusters == v) for v in range(10)]
        by_video = [(sum(own[k] for k in video), compared[video].sum()) for video in frames]
        assert moments.n[r] == sum(n > 0 for _, n in by_video)
        assert moments.sums[r, :2] == pytest.approx([sum(own), compared.sum()])
        products = [sum(x * x for x, _ in by_video), sum(x * n for x, n in by_video), sum(n * n for _, n in by_video)]
        assert moments.products[r, [0, 1, 4]] == pytest.approx(products)


def _asked(n_of_all: int, n_of_two: int, n: int, rng: np.random.Generator, few_asked: int = 2) -> np.ndarray:
    """Who is asked on every image, ``(S, n)``: all on the first ones, two (or so many) on the others."""
    asked = np.zeros((n_of_all + n_of_two, n), bool)
    asked[:n_of_all] = True
    for row in asked[n_of_all:]:
        row[rng.choice(n, few_asked, replace=False)] = True
    return asked


def _slots_report(drew: np.ndarray, category: np.ndarray, asked: np.ndarray, larger: float = 0.0) -> ObjectReport:
    """The report on objects in fixed places: who drew which ``(S, R, places)``, with which class.

    Boxes of every annotator are larger by this than those of the one before.
    """
    sample, annotator, place = np.nonzero(drew)
    size = 0.08 * (1 + larger * annotator)
    xywh = np.column_stack([0.02 + 0.12 * place, 0.02 + 0.12 * place, size, size])
    label = category[sample, annotator, place]
    return report_on(GeneratedBoxes(sample, annotator, label, xywh, *asked.shape, asked))


def _mean_of_others(rows: list[list[tuple[float, float] | None]], who: int) -> tuple[float, float]:
    """Rate of an annotator, and of the mean of the others, from count and denominator by image and annotator."""
    sums = np.zeros(4)
    for row in rows:
        others = [each for number, each in enumerate(row) if number != who and each is not None]
        if row[who] is not None and others:
            sums += [*row[who], *np.mean(others, axis=0)]
    return sums[0] / sums[1], sums[2] / sums[3]


def _rates(moments: RateMoments, kind: str, second: int = 0) -> dict[int, tuple[float, float]]:
    rows = np.flatnonzero(hypotheses.kind_mask(moments.group, kind))
    first, of_rows = hypotheses.group_subjects(moments.group[rows])
    return {
        int(who): (own / whole, others / of_others)
        for who, of, (own, whole, others, of_others) in zip(first, of_rows, moments.sums[rows], strict=True)
        if of == second and of_others
    }


@pytest.fixture
def moments_of(monkeypatch: pytest.MonkeyPatch) -> list[RateMoments]:
    seen: list[RateMoments] = []
    real = hypotheses._due_to_one
    monkeypatch.setattr(hypotheses, "_due_to_one", lambda moments: seen.append(moments) or real(moments))
    return seen


def test_rates_of_the_others_are_means_over_them_on_every_image(moments_of: list[RateMoments]) -> None:
    """Objects, counted by loops: of the annotator and of every other one; pairs with the annotator and without."""
    rng, n = np.random.default_rng(2), 4
    asked = rng.random((60, n)) < 0.7
    drew = (rng.random((60, n, 6)) < 0.7) & asked[..., None]
    category = rng.integers(1, 3, drew.shape)
    _slots_report(drew, category, asked, 0.01)
    (moments,) = moments_of
    lone, missed = [], []
    pairs: dict[str, list[dict[tuple[int, int], tuple[float, float]]]] = {"conflicts": [], "loose": [], "close": []}
    for image, of in enumerate(drew):
        votes = of.sum(axis=0)
        who = np.flatnonzero(asked[image])
        rated = len(who) > 1
        lone.append([((of[r] & (votes == 1)).sum(), of[r].sum()) if rated and r in who else None for r in range(n)])
        by_two = [(votes - of[r] >= 2) for r in range(n)]
        missed.append([((by_two[r] & ~of[r]).sum(), by_two[r].sum()) if rated and r in who else None for r in range(n)])
        for each in pairs.values():
            each.append({})
        for a, b in combinations(who, 2):
            both = np.flatnonzero(of[a] & of[b])
            same = category[image, a, both] == category[image, b, both]
            iou = ((1 + 0.01 * a) / (1 + 0.01 * b)) ** 2
            pairs["conflicts"][-1][a, b] = (~same).sum(), len(both)
            pairs["loose"][-1][a, b] = (1 - iou) * len(both), len(both)
            if of.any():
                n_drawn = of[a].sum() + of[b].sum()
                pairs["close"][-1][a, b] = (2 * iou * same.sum() / n_drawn if n_drawn else 1.0), 1
    for kind, rows in (("lone", lone), ("misses", missed)):
        found = _rates(moments, kind)
        for r in range(n):
            assert found[r] == pytest.approx(_mean_of_others(rows, r), abs=1e-6), kind
    for kind in ("conflicts", "loose"):
        found = _rates(moments, kind)
        for r in range(n):
            assert found[r] == pytest.approx(_against_pairs_of_others(pairs[kind], r), abs=1e-6), kind
    for b in (1, 3):
        own, others = [], []
        for of_image in pairs["close"]:
            beside = [value for ends, (value, _) in of_image.items() if 0 in ends and b not in ends]
            if (0, b) in of_image and beside:
                own.append(of_image[0, b][0])
                others.append(np.mean(beside))
        assert _rates(moments, "close", b)[0] == pytest.approx((np.mean(own), np.mean(others)), abs=1e-6)


def _against_pairs_of_others(images: list[dict[tuple[int, int], tuple[float, float]]], who: int) -> tuple[float, float]:
    """Rate of the pairs of an annotator, and of the mean of pairs without, of images that have both."""
    sums = np.zeros(4)
    for pairs in images:
        own = [each for ends, each in pairs.items() if who in ends]
        others = [each for ends, each in pairs.items() if who not in ends]
        if own and len({r for ends in pairs for r in ends}) > len(own) and others:
            sums += [*np.sum(own, axis=0), *(len(own) * np.mean(others, axis=0))]
    return sums[0] / sums[1], sums[2] / sums[3]


def test_rates_of_the_others_are_means_over_them_of_ratings_tags_and_masks(moments_of: list[RateMoments]) -> None:
    for kind in ("classes", "tags", "masks"):
        samples = [sample for sample in KINDS[kind].samples(3, 60) if len(sample) > 1]
        KINDS[kind].report(samples, resamples=0)
    classes, tags, masks = moments_of
    samples = [sample for sample in KINDS["classes"].samples(3, 60) if len(sample) > 1]
    pairs = [{(a, b): (float(each[a] != each[b]), 1.0) for a, b in combinations(sorted(each), 2)} for each in samples]
    found = _rates(classes, "conflicts")
    for r in range(3):
        assert found[r] == pytest.approx(_against_pairs_of_others(pairs, r))
    samples = [sample for sample in KINDS["tags"].samples(3, 60) if len(sample) > 1]
    rows, missed = [], []
    for sample in samples:
        votes = Counter(tag for tags in sample.values() for tag in set(tags))
        rows.append([(sum(votes[tag] == 1 for tag in set(sample[r])), len(set(sample[r]))) if r in sample else None
                     for r in range(3)])  # fmt: skip
        by_two = [{tag for tag, n in votes.items() if n - (tag in sample.get(r, ())) >= 2} for r in range(3)]
        missed.append([(len(by_two[r] - set(sample[r])), len(by_two[r])) if r in sample else None for r in range(3)])
    for kind, counts in (("lone", rows), ("misses", missed)):
        found = _rates(tags, kind)
        for r in range(3):
            assert found[r] == pytest.approx(_mean_of_others(counts, r)), kind
    samples = [sample for sample in KINDS["masks"].samples(3, 60) if len(sample) > 1]
    agreement = measured_masks(samples, make_config(NAMES[:3]))
    of_images: list[dict[tuple[int, int], tuple[float, float]]] = [{} for _ in samples]
    for image, (a, b), score in zip(
        agreement.pair_sample.tolist(), agreement.pair.tolist(), agreement.pair_numbers[:, 0].tolist(), strict=True
    ):
        if not np.isnan(score):
            of_images[image][a, b] = 1 - score, 1.0
    found = _rates(masks, "loose")
    for r in range(3):
        assert found[r] == pytest.approx(_against_pairs_of_others(of_images, r))


#: who is asked on every image: two of six by chance, all six, and the first with one of the others
DESIGNS = ("two", "all", "first and one")


def _design(design: str, n_samples: int, rng: np.random.Generator) -> np.ndarray:
    if design == "first and one":
        asked = np.zeros((n_samples, 6), bool)
        asked[:, 0] = True
        asked[np.arange(n_samples), rng.integers(1, 6, n_samples)] = True
        return asked
    return _asked(0, n_samples, 6, rng, 6 if design == "all" else 2)


def _to_median_annotator(values: np.ndarray, given: np.ndarray, weights: np.ndarray | None = None) -> list[np.ndarray]:
    """Rates of the annotators and of the median one, by loops: own minus mean of the others, times their share."""
    weights = np.ones(len(values)) if weights is None else weights
    sums = np.zeros((2, values.shape[1]))
    for row, asked, weight in zip(values, given, weights, strict=True):
        who = np.flatnonzero(asked)
        for r in who:
            others = [row[k] for k in who if k != r]
            if others:
                sums[:, r] += row[r] - np.mean(others), weight
    rates, shares = sums[0] / sums[1], 1 - sums[1] / sums[1].sum()
    return [shares * rates, shares * np.median(rates)]


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.few(1)
def test_a_habit_has_its_size_whoever_is_asked_on_an_image(design: str) -> None:
    """The first of six gives a class 20 points more often, rates 10 % of the scale higher, draws 10 % larger."""
    rng = np.random.default_rng(7)
    asked = _design(design, 900, rng)
    truth, rate = rng.random(900) < 0.4, rng.integers(0, 11, 900) / 10.0
    gave = np.tile(truth[:, None], 6)
    gave[:, 0] |= rng.random(900) < 1 / 3
    numbers = rate[:, None] + rng.normal(0, 0.05, asked.shape) + 0.1 * (np.arange(6) == 0)
    names = make_config([f"w{k}" for k in range(6)], resamples=0)
    rows = [["x" if yes else "y" for yes in row] for row in gave]
    size = 0.08 * np.where(np.arange(6) == 0, 1.1, 1.0) * np.exp(rng.normal(0, 0.03, (900, 6)))
    reports = {
        "class_used": report_of(_of_asked(rows, asked), names),
        "rates": report_of(_of_asked(numbers.tolist(), asked), names, numbers=True),
        "box_size": _sized(size[:300], asked[:300]),
    }
    planted = {"class_used": (gave[:, 0] & ~truth).mean(), "rates": 0.1 / np.ptp(numbers[asked]), "box_size": 0.1}
    for kind, report in reports.items():
        found = [each for each in report.findings if each.kind == kind and each.classes in ([], ["x"])]
        assert [each.annotators for each in found if each.difference > 0] == [[report.annotators[0].name]]
        assert len(found) == 1
        assert found[0].difference == pytest.approx(planted[kind], rel=0.12), kind
        # seen from the others, who is 10 % larger makes them 9 % smaller
        assert found[0].low - 0.005 < planted[kind] < found[0].high + 0.005
    shown = [_to_median_annotator(gave, asked), _to_median_annotator(numbers / np.ptp(numbers[asked]), asked)]
    for kind, (own, median) in zip(("class_used", "rates"), shown, strict=True):
        (found,) = [each for each in reports[kind].findings if each.kind == kind and each.classes in ([], ["x"])]
        assert (found.value, found.others) == pytest.approx((own[0], median[0]))


def _of_asked(rows: list[list], asked: np.ndarray) -> list[list]:
    return [[v if ok else None for v, ok in zip(*each, strict=True)] for each in zip(rows, asked, strict=True)]


def _sized(side: np.ndarray, asked: np.ndarray) -> ObjectReport:
    """The report on one object with its centre in the middle of every image, drawn with these sides ``(S, R)``."""
    sample, annotator = np.nonzero(asked)
    size = side[sample, annotator]
    xywh = np.column_stack([0.5 - size / 2, 0.5 - size / 2, size, size])
    return report_on(GeneratedBoxes(sample, annotator, np.zeros_like(sample), xywh, *asked.shape, asked))


def test_boxes_and_areas_are_compared_with_the_mean_of_the_others() -> None:
    rng = np.random.default_rng(4)
    asked = _asked(40, 60, 4, rng)
    side = np.array([0.1, 0.1, 0.1, 0.12]) * rng.uniform(0.95, 1.05, (100, 4))
    (found,) = [each for each in _sized(side, asked).findings if each.kind == "box_size"]
    relative = np.zeros_like(side)
    for image, r in zip(*np.nonzero(asked), strict=True):
        relative[image, r] = side[image, r] / np.mean([side[image, k] for k in np.flatnonzero(asked[image]) if k != r])
    n = asked.sum(axis=0)
    rates, shares = np.where(asked, relative - 1, 0).sum(axis=0) / n, 1 - n / n.sum()
    assert found.annotators == ["worker 4"]
    assert (found.value, found.others) == pytest.approx((shares[3] * rates[3], shares[3] * np.median(rates)))
    rng = np.random.default_rng(5)
    area, given = rng.integers(20, 60, 90)[:, None] + np.zeros((90, 3), int), _asked(0, 90, 3, rng)
    area[:, 0] = np.round(1.2 * area[:, 0])
    area += rng.integers(-1, 2, area.shape)
    samples = [
        {r: (np.arange(100).reshape(10, 10) < area[k, r]).astype(int) for r in np.flatnonzero(given[k]).tolist()}
        for k in range(90)
    ]
    (found,) = [each for each in KINDS["masks"].report(samples).findings if each.kind == "class_area"]
    assert found.annotators == ["alice"]
    mean = np.array([row[asked].mean() for row, asked in zip(area, given, strict=True)])
    own, median = _to_median_annotator(area * 1.0, given, mean)
    assert (found.value, found.others) == pytest.approx((own[0], median[0]))


@pytest.mark.parametrize("seed", seeds(4))
def test_who_errs_alike_does_not_differ_where_images_have_different_numbers_of_annotators(seed: int) -> None:
    """A label is lone more often where fewer could draw the object, and classes differ where images are hard."""
    rng = np.random.default_rng(seed)
    asked = _asked(40, 300, 8, rng)
    drew = rng.random((*asked.shape, 6)) < np.r_[np.full(5, 0.9), 0.3]
    report = _slots_report(drew & asked[..., None], np.ones(drew.shape, int), asked)
    assert report.n_tested > 20
    assert report.findings == []
    asked = _asked(50, 500, 8, rng, 3)
    rows = []
    for number, row in enumerate(asked):
        right, truth = rng.random(8) < (0.96 if number < 50 else 0.8), rng.integers(4)
        given = np.where(right, truth, rng.integers(0, 4, 8))
        rows.append(["cdow"[given[k]] if row[k] else None for k in range(8)])
    report = report_of(rows, make_config([f"w{k}" for k in range(8)], resamples=0))
    assert [each for each in report.findings if each.kind == "conflicts"] == []


@pytest.mark.parametrize("n_annotators", [2, 3])
def test_masks_are_compared_by_area(n_annotators: int) -> None:
    simulated, _, _ = SIMULATED["masks"]
    report = simulated(40, n_annotators, 5, 0.15)
    (grass,) = [each for each in report.findings if (each.kind, each.classes) == ("class_area", ["grass"])]
    areas = np.array([entry.classes["grass"] * entry.n_pixels for entry in report.annotators])
    other = np.median(areas) if n_annotators > 2 else areas[1]
    # all images have one size, so that shares of images are shares of pixels
    assert grass.value - grass.others == pytest.approx((areas[0] - other) / areas.mean())


def test_numbers_are_compared_as_shares_of_the_scale() -> None:
    """bob gives one step more of the four from 1 to 5 on two of five images."""
    rows = [(k % 4 + 1.0, k % 4 + 1.0 + (k // 4 % 5 < 2), k % 4 + 1.0) for k in range(80)]
    report = report_of(rows, make_config(["alice", "bob", "carol"], resamples=0), numbers=True)
    (rates,) = [each for each in report.findings if each.kind == "rates"]
    assert rates.annotators == ["bob"]
    assert rates.difference == pytest.approx(0.4 / 4)
    (said,) = [each for each in family_of(report).findings(report) if "bob" in each]
    assert "rates 10 % of the scale higher [" in said
    assert said.endswith(": talk to bob.")
