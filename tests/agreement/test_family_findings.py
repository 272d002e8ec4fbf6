"""Findings on ratings, tags and masks are tests: planted habits are found, and without habits nothing is."""

from __future__ import annotations

import numpy as np
import pytest

from tests.agreement.families import KINDS
from tests.agreement.rating_oracle import report_of
from tests.chance import few, some_seeds
from tools.bench.habits import SIMULATED

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.evidence import EffectRows
from annotator_agreement.charts.reports import family_of
from annotator_agreement.charts.text import whom_to_talk_to

#: what is said of the planted habit
SAID = {
    "classes": "worker 1 gives 'owl' more often than the others, by ", "numbers": "worker 1 rates ",
    "tags": "worker 1 misses ", "masks": "worker 1 gives ",
}  # fmt: skip


@pytest.mark.random
@pytest.mark.parametrize("family", SIMULATED)
@pytest.mark.few(2)
def test_nothing_is_found_where_nobody_has_a_habit(family: str) -> None:
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


def test_shares_of_classes_are_those_of_counting() -> None:
    """bob says dog where the majority says cat on 30 of 100 images; nobody deviates otherwise."""
    rows = [("cat", "dog" if k % 10 < 3 else "cat", "cat", "cat") for k in range(100)]
    rows += [("dog", "dog", "dog", "dog")] * 50
    report = report_of(rows, make_config(["alice", "bob", "carol", "dave"], resamples=0))
    found = {(each.kind, *each.annotators, *each.classes): each for each in report.findings}
    # minus the mean of all on the image: 0.75 of 30 images for bob, -0.25 for each of the others
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


def test_tags_left_out_are_shares_of_what_two_others_gave() -> None:
    """bob leaves rain out on 30 of 100 images on which everybody else gives day and rain."""
    samples = [{0: [1, 2], 1: [1, 2] if k % 10 >= 3 else [1], 2: [1, 2]} for k in range(100)]
    found = {(each.kind, *each.annotators, *each.classes): each for each in KINDS["tags"].report(samples).findings}
    misses, rain = found["misses", "bob"], found["class_missed", "rain"]
    # what two others gave: all for bob; for the others not what bob left out
    assert (misses.value, misses.others, misses.n_labels) == (30 / 200, 0.0, 200)
    assert (rain.value, rain.others, rain.n_labels) == (30 / 300, 0.0, 300)


@pytest.mark.parametrize("n_annotators", [2, 3])
def test_masks_are_compared_by_area(n_annotators: int) -> None:
    simulated, _, _ = SIMULATED["masks"]
    report = simulated(40, n_annotators, 5, 0.15)
    (grass,) = [each for each in report.findings if (each.kind, each.classes) == ("class_area", ["grass"])]
    areas = np.array([entry.classes["grass"] * entry.n_pixels for entry in report.annotators])
    other = np.median(areas) if n_annotators > 2 else areas[1]
    # all images have one size, so that shares of images are shares of pixels
    assert grass.value - grass.others == pytest.approx((areas[0] - other) / areas.mean())


def test_frames_of_one_video_are_one_draw() -> None:
    rng = np.random.default_rng(3)
    values, given, clusters = rng.random((40, 3)), rng.random((40, 3)) < 0.7, np.arange(40) // 4
    habits = EffectRows(clusters)
    habits.add_deviations("rates", values, given)
    moments = habits.moments()
    for r in range(3):
        own = [values[k, r] - values[k][given[k]].mean() if given[k, r] else 0.0 for k in range(40)]
        frames = [np.flatnonzero(clusters == v) for v in range(10)]
        by_video = [(sum(own[k] for k in video), given[video, r].sum()) for video in frames]
        assert moments.n[r] == sum(n > 0 for _, n in by_video)
        assert moments.sums[r, :2] == pytest.approx([sum(own), given[:, r].sum()])
        products = [sum(x * x for x, _ in by_video), sum(x * n for x, n in by_video), sum(n * n for _, n in by_video)]
        assert moments.products[r, [0, 1, 4]] == pytest.approx(products)
