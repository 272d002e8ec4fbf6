"""The report names the habits that were planted in simulated annotators, and their size within its intervals."""

from __future__ import annotations

import numpy as np
import pytest

from tests.agreement.habits import (
    CLASSES,
    COPY_JITTER,
    SMALL_PX2,
    Habits,
    Simulated,
    area,
    expected_miss_rate,
    simulate,
)

from annotator_agreement.agreement.matching.compute import compute_agreement_of
from annotator_agreement.agreement.objects.build import build_object_report
from annotator_agreement.agreement.objects.records import record
from annotator_agreement.agreement.objects.report import AnnotatorSummary, ObjectReport
from annotator_agreement.agreement.settings.config import make_config
from annotator_agreement.agreement.statistics.report import Interval, ReportContext, RunFacts


def report_on(simulated: Simulated) -> ObjectReport:
    """The report with intervals."""
    config = make_config(simulated.names)
    records = record(compute_agreement_of(simulated.batch(), config))
    context = ReportContext(config, simulated.names, CLASSES, ["Detections"], RunFacts())
    return build_object_report(records, context)


def within(value: float, interval: Interval) -> bool:
    """Whether the interval holds a value."""
    return interval.low <= value <= interval.high


# ---- who misses small objects ----

MISSES = [Habits("alice"), Habits("bob", miss_small=0.20), Habits("carol"), Habits("dave"), Habits("erin")]


@pytest.fixture(scope="module")
def misses() -> tuple[Simulated, list[AnnotatorSummary]]:
    simulated = simulate(MISSES, 300, np.random.default_rng(11))
    return simulated, report_on(simulated).annotators


def _could_miss(simulated: Simulated, annotator: int) -> np.ndarray:
    """The true objects that at least two others drew."""
    return np.delete(simulated.drawn(), annotator, axis=1).sum(axis=1) >= 2


def test_who_misses_objects_has_a_higher_miss_rate_than_all_others(misses: tuple) -> None:
    _, (alice, bob, *others) = misses
    assert max(each.intervals["miss_rate"].high for each in (alice, *others)) < bob.intervals["miss_rate"].low


def test_everybody_has_the_planted_miss_rate(misses: tuple) -> None:
    simulated, annotators = misses
    small = area(simulated.true_xyxy_px) < SMALL_PX2
    for k, annotator in enumerate(annotators):
        share = small[_could_miss(simulated, k)].mean()
        rates = [expected_miss_rate(MISSES, k, small=is_small) for is_small in (True, False)]
        assert within(share * rates[0] + (1 - share) * rates[1], annotator.intervals["miss_rate"])


def test_the_report_says_that_the_small_ones_are_missed(misses: tuple) -> None:
    """The rates are those of the true objects, except for a few labels near the size limit of small objects."""
    simulated, annotators = misses
    small, missed = area(simulated.true_xyxy_px) < SMALL_PX2, ~simulated.drawn()
    for k, annotator in enumerate(annotators):
        could_miss = _could_miss(simulated, k) & small
        by_size = annotator.miss_rate_by_size
        assert by_size["small"] == pytest.approx(missed[could_miss, k].mean(), abs=0.005)
        if annotator.name == "bob":
            # samples differ, so that this is less than two standard errors
            error = np.sqrt(0.2 * 0.8 / could_miss.sum())
            assert by_size["small"] == pytest.approx(expected_miss_rate(MISSES, k, small=True), abs=2 * error)
            planted = expected_miss_rate(MISSES, k, small=True)
            assert within(planted, annotator.intervals["miss_rate_by_size.small"])
            assert by_size["small"] > 5 * max(by_size["medium"], by_size["large"])
        else:
            assert by_size["small"] < 0.04


# ---- who draws larger and lower ----


def test_who_draws_larger_and_lower_boxes_is_named_with_the_size_of_it() -> None:
    """10 % larger, the bottom edge 3 % lower.

    The median box of a unit is moved a little by the one who is always beyond it, the more the less the others are
    alike: they are alike here, and the habit itself varies.
    """
    habits = [Habits(name) for name in ("alice", "bob", "dave", "erin")]
    habits.insert(2, Habits("carol", size=1.10, size_spread=0.05, lower=0.03, lower_spread=0.03))
    annotators = report_on(simulate(habits, 200, np.random.default_rng(12), jitter=0.002)).annotators
    planted = {"size": 10.0, "bottom": 3.0, "top": -7.0, "left": -5.0, "right": 5.0}
    for annotator in annotators:
        assert annotator.bias is not None
        if annotator.name == "carol":
            assert [name for name, value in planted.items() if not within(value, annotator.bias.intervals[name])] == []
            assert annotator.bias.std["size"] == pytest.approx(5.0, abs=0.5)
        else:
            assert max(abs(value) for value in annotator.bias.mean.values()) < 0.2


# ---- who confuses classes ----

CONFUSED = 0.25


@pytest.fixture(scope="module")
def confusion() -> tuple[Simulated, ObjectReport]:
    confused = ("bus", "coach", CONFUSED)
    habits = [Habits("alice"), Habits("bob"), Habits("carol", confuses=confused), Habits("dave", confuses=confused)]
    simulated = simulate([*habits, Habits("erin")], 300, np.random.default_rng(13))
    return simulated, report_on(simulated)


def test_the_confused_classes_come_first_and_merging_them_helps(confusion: tuple) -> None:
    _, report = confusion
    assert [(entry["a"], entry["b"]) for entry in report.class_given_match.confusion] == [("bus", "coach")]
    assert report.merges[0].classes == ["bus", "coach"]
    # nothing else is confused: what is left are misses
    assert report.merges[0].alpha_after > report.merges[0].alpha_before + 0.02


def test_who_confuses_them_is_named(confusion: tuple) -> None:
    _, report = confusion
    for annotator in report.annotators:
        first = annotator.class_conflicts[0]
        if annotator.name in ("carol", "dave"):
            assert (first["a"], first["b"]) == ("coach", "bus")
        else:
            assert [(entry["a"], entry["b"]) for entry in annotator.class_conflicts] == [("bus", "coach")]


def test_pairs_agree_on_the_class_as_often_as_planted(confusion: tuple) -> None:
    """Of what both drew a pair disagrees on a quarter of the buses, on 2 · 0.25 · 0.75 if both confuse them."""
    simulated, report = confusion
    drawn, bus = simulated.drawn(), simulated.true_category == CLASSES.index("bus")
    number = {name: k for k, name in enumerate(simulated.names)}
    for pair in report.pairs:
        both = drawn[:, number[pair.a]] & drawn[:, number[pair.b]]
        who = len({pair.a, pair.b} & {"carol", "dave"})
        disagreement = (0.0, CONFUSED, 2 * CONFUSED * (1 - CONFUSED))[who] * bus[both].mean()
        assert within(1 - disagreement, pair.intervals["class_agreement"])


def test_the_class_that_is_confused_has_the_agreement_that_was_planted(confusion: tuple) -> None:
    """Of 10 pairs of five annotators 3 are of two who are right, 6 of one, 1 of two who confuse bus with coach."""
    _, report = confusion
    wrong = CONFUSED
    alike = 3 + 6 * (1 - wrong) + (1 - wrong) ** 2
    met = 10 - wrong**2
    classes = {entry.name: entry for entry in report.classes}
    assert within(alike / met, classes["bus"].intervals["agreement_given_match"])
    assert classes["bus"].confused_with[0]["class"] == "coach"
    assert {classes[name].agreement_given_match for name in ("car", "tram", "bicycle")} == {1.0}


# ---- who copies whom ----


def _iou_of_copies() -> float:
    """Mean IoU of unit squares and their copies."""
    low, high = np.random.default_rng(0).normal(0.0, COPY_JITTER, (2, 1_000_000, 2))
    own = np.prod(1.0 + high - low, axis=1)
    shared = np.prod(1.0 + np.minimum(high, 0.0) - np.maximum(low, 0.0), axis=1)
    return float((shared / (1.0 + own - shared)).mean())


def test_who_copies_is_named_together_with_whom() -> None:
    habits = [Habits(name, miss=0.05) for name in ("alice", "bob", "carol")]
    habits.insert(1, Habits("dave", miss=0.1, confuses=("car", "tram", 0.1)))
    simulated = simulate([*habits, Habits("erin", copies="dave")], 300, np.random.default_rng(14))
    report = report_on(simulated)
    assert report.clusters[0].members == ["dave", "erin"]
    (copied,) = (pair for pair in report.pairs if (pair.a, pair.b) == ("dave", "erin"))
    assert (copied.f1, copied.alpha, copied.class_agreement) == (1.0, 1.0, 1.0)
    assert within(_iou_of_copies(), copied.intervals["mean_iou"])
    others = [pair for pair in report.pairs if pair is not copied]
    assert max(pair.intervals["score"].high for pair in others) < copied.intervals["score"].low


# ---- who draws duplicates ----


def test_who_draws_objects_twice_is_named_with_every_duplicate() -> None:
    habits = [Habits("alice"), Habits("bob", duplicates=0.03), Habits("carol")]
    simulated = simulate(habits, 300, np.random.default_rng(15))
    planted = int(simulated.duplicate.sum())
    assert planted / (simulated.annotator == 1).sum() == pytest.approx(0.03, abs=0.01)
    annotators = report_on(simulated).annotators
    counts = {annotator.name: annotator.verdicts["duplicate"] for annotator in annotators}
    assert counts == {"alice": 0, "bob": planted, "carol": 0}
    # three per cent of the objects are drawn twice
    assert within(0.03 / 1.03, annotators[1].intervals["verdict_shares.duplicate"])
