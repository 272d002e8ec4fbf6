"""Parts of the samples: how numbers and dates are divided, and what the tests of parts find and do not find."""

from __future__ import annotations

import dataclasses
import datetime as dt

import numpy as np
import pytest

from tests.agreement.agreement_oracle import context_of, records_of
from tests.agreement.families import KINDS
from tests.agreement.habits import CLASSES, Habits, simulate
from tests.chance import some_seeds
from tests.dataset_io.same_values import assert_same

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.families import build_report
from annotator_agreement.agreement.parts import PartColumns, compute, groups_of_sets, groups_of_values, parts_of
from annotator_agreement.metrics import Resampling, bootstrap

N = 240
ANNOTATORS = [Habits("alice", miss=0.05), Habits("bob", miss=0.15), Habits("carol", miss=0.1, size=1.05)]


def columns_of(annotators=ANNOTATORS, n=N, seed=3, clusters=None):
    """The columns of simulated annotators."""
    config = make_config([each.name for each in annotators])
    made = simulate(annotators, n, np.random.default_rng(seed))
    return PartColumns.of(records_of(made.batch(), config), context_of(config, CLASSES, clusters=clusters))


@pytest.fixture(scope="module")
def columns():
    return columns_of()


def with_tests(columns, groups, resamples=2):
    """The parts; two resamples are enough, as the tests need none."""
    return parts_of(columns, groups, whole_of(columns), resamples=resamples, seed=51)


def whole_of(columns):
    """The numbers of all samples."""
    return columns.part("all", np.arange(len(columns.place)), resamples=0, seed=0)


#: the samples of values, the values, how many samples there are, and the samples of every part
GROUPS = [
    (range(12), [3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.0, 3.5, 7.0, 8.0, 0.5, 6.0], 13,  # many numbers are quartiles
     {"≤ 2": [1, 3, 10], "> 2, ≤ 3.5": [0, 5, 7], "> 3.5, ≤ 6": [2, 6, 11], "> 6": [4, 8, 9], "(none)": [12]}),
    (range(5), [2, 0.5, 2.0, 10, -1], 5, {"-1": [4], "0.5": [1], "2": [0, 2], "10": [3]}),
    (range(4), [np.inf, 1.0, -np.inf, 1e300], 4, {"-inf": [2], "1": [1], "1e+300": [3], "inf": [0]}),
    # values of several types are texts, and no value looks like none
    (range(9), [True, 1, "1", 1.0, 2.5, "(none)", "(others)", " ", dt.date(2026, 1, 2)], 10,
     {"' '": [7], "'(none)'": [5], "'(others)'": [6], "1": [1, 2, 3], "2.5": [4], "2026-01-02": [8], "True": [0],
      "(none)": [9]}),
    ([0, 0, 0, 2], ["x", "y", "x", "y"], 3, {"x": [0], "y": [0, 2], "(none)": [1]}),  # several values of a sample
]  # fmt: skip


def test_values_and_dates_divide_samples_into_parts_in_whatever_order_they_come() -> None:
    for samples, values, n, expected in GROUPS:
        groups = groups_of_values(np.array(samples), values, n)
        assert {name: groups.rows(k).tolist() for k, name in enumerate(groups.names)} == expected
        if n != 10:
            assert groups.names == tuple(expected)
    assert groups_of_values(np.array(GROUPS[0][0]), GROUPS[0][1], 13).ordered
    days = [dt.date(2025, 12, 30) + dt.timedelta(days=k) for k in range(60)] + [dt.datetime(9999, 12, 31, 23)]
    groups = groups_of_values(np.arange(61), days, 61)
    assert groups.names == ("2025-12", "2026-01", "2026-02", "9999-12")
    assert groups.ordered
    for k, name in enumerate(groups.names):
        assert groups.rows(k).tolist() == [row for row, day in enumerate(days) if day.isoformat()[:7] == name]
    values = ["b", "a", "c10", "c2", "a", "b"]
    forth, back = (groups_of_values(np.arange(6), each, 6) for each in (values, values[::-1]))
    assert forth.names == back.names == ("a", "b", "c2", "c10")
    assert (forth.rows(0).tolist(), (5 - back.rows(0)[::-1]).tolist()) == ([1, 4], [1, 4])


def _rows(values):
    """Ratings of two annotators as samples, which differ by less than one."""
    rng = np.random.default_rng(2)
    return [{0: float(value), 1: float(value + rng.random())} for value in values]


#: kind of labels, options, and the samples of two parts, each of which hinders what alpha says of the other
UNLIKE = {
    "numbers far apart": ("numbers", {}, _rows(np.arange(40) % 5), _rows(5e8 + 1e8 * np.arange(40))),
    "too many numbers to resample ratios": ("numbers", {"level": "ratio"}, _rows(np.arange(40)), _rows(np.arange(110))),
    "too many sets to resample": (
        "tags",
        {},
        [{0: [1 + k % 2], 1: [1 + k % 3]} for k in range(40)],
        [{r: [1 + place for place in range(8) if (k + r) >> place & 1] for r in range(2)} for k in range(210)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNLIKE)
def test_a_part_has_the_alpha_of_a_report_on_its_samples(name):
    kind, options, *parts = UNLIKE[name]
    case, samples = KINDS[kind], [sample for part in parts for sample in part]
    context = case.context(**options)
    if kind == "tags":
        context = dataclasses.replace(context, class_names=["-", *"abcdefgh"])
    columns = PartColumns.of(case.record(samples, context.config), context)
    rows = np.split(np.arange(len(samples)), [len(parts[0])])
    found, _ = parts_of(columns, groups_of_sets("ab", rows, len(samples)), whole_of(columns), resamples=20, seed=51)
    for part, of_part in zip(found, parts, strict=True):
        report = build_report(case.record(of_part, context.config), context)
        assert part.numbers["alpha.pooled"].value == report.alpha.pooled
        known = part.numbers.keys() & report.intervals.keys()
        intervals = [{key: dataclasses.asdict(each.intervals[key]) for key in known} for each in (part, report)]
        assert_same(*intervals, relative=0.0, absolute=1e-12)
        assert part.intervals.keys() == known
    assert "alpha.pooled" in found[0].intervals


def test_the_error_of_a_difference_is_that_of_the_bootstrap(columns):
    rng = np.random.default_rng(8)
    inside = rng.random(N) < 0.4
    keys, _, error, _ = compute._differences(columns, [np.flatnonzero(inside)])
    for numbers in columns.numbers:
        table = numbers.columns.toarray()
        n_columns = table.shape[1]
        both = np.hstack([table * inside[:, None], table * ~inside[:, None]])

        def difference(sums, formula=numbers.formula, n=n_columns):
            return formula(sums[..., :n]) - formula(sums[..., n:])

        expected = bootstrap(both, difference, Resampling(resamples=2000)).standard_error
        for place, (key,) in enumerate(numbers.keys):
            if key in keys and expected[place] > 0:
                assert error[0, keys.index(key)] == pytest.approx(expected[place], rel=0.12), key


def test_videos_are_the_draws_where_frames_depend_on_each_other():
    alone = columns_of()
    # every image four times, as frames of one video: nothing is known better by that
    video = np.repeat(np.arange(N), 4)
    four = PartColumns.of(alone.records.take(video), dataclasses.replace(alone.context, clusters=video))
    inside = np.flatnonzero(np.arange(N) % 3 == 0)
    keys, _, once, n_once = compute._differences(alone, [inside])
    _, _, often, n_often = compute._differences(four, [(4 * inside[:, None] + np.arange(4)).ravel()])
    for key in ("score.mean", "existence.f1", "localisation.mean_iou"):
        k = keys.index(key)
        assert (often[0, k], n_often[0, k]) == (pytest.approx(once[0, k], rel=1e-4), n_once[0, k])


@pytest.mark.random
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.05, 0.25, 0.7), tuple([1 / 12] * 12)])
@pytest.mark.few(1)
def test_parts_that_do_not_differ_are_seldom_found(columns, shares):
    """Random parts of the same data: the share of runs with any finding is at most the nominal one."""
    rng, n_runs, n_found, whole = np.random.default_rng(11), len(some_seeds(100)), 0, whole_of(columns)
    for _ in range(n_runs):
        code = rng.choice(len(shares), N, p=shares)
        rows = [np.flatnonzero(code == k) for k in range(len(shares))]
        groups = groups_of_sets(list("abcdefghijkl"[: len(shares)]), rows, N)
        parts, _ = parts_of(columns, groups, whole, resamples=0, seed=51)
        rated = [columns.place[each][columns.place[each] >= 0] for each in rows]
        parts, n_tested = compute._tested(parts, whole, *compute._differences(columns, rated))
        assert n_tested
        n_found += any(each.stands_out for part in parts for each in part.numbers.values())
    # three standard errors above 5 %
    assert n_found / n_runs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_runs)


def test_a_worse_part_is_found_but_few_images_few_labels_or_all_alike_are_no_evidence(columns) -> None:
    groups = groups_of_sets(["nine", "others"], [np.arange(9), np.arange(9, N)], N)
    parts, n_tested = with_tests(columns, groups)
    assert n_tested == 0
    assert all(each.p_value is None for each in parts[0].numbers.values())
    assert parts[0].numbers["score.mean"].difference is not None
    assert parts[0].numbers["score.mean"].low is None
    groups = groups_of_values(np.arange(N), ["a", "b"] * (N // 2), N)
    parts, n_tested = with_tests(columns, groups, resamples=0)
    assert n_tested == 0
    assert all(each.interval is None for part in parts for each in part.numbers.values())
    worse = [dataclasses.replace(each, miss=each.miss + 0.2) for each in ANNOTATORS]
    good, bad = columns_of(n=160), columns_of(worse, n=80, seed=4)
    joined = PartColumns.of(good.records + bad.records, good.context)
    groups = groups_of_values(np.arange(240), ["day"] * 160 + ["night"] * 80, 240)
    parts, _ = with_tests(joined, groups)
    night = parts[1].numbers
    assert night["existence.f1"].stands_out
    assert night["existence.f1"].high < 0
    assert not night["localisation.mean_iou"].stands_out
    assert night["existence.f1"].difference == pytest.approx(-parts[0].numbers["existence.f1"].difference, abs=1e-12)
    key = "share_full_agreement"
    numbers = next(each for each in columns.numbers if (key,) in each.keys)
    agreed = numbers.columns.toarray()[:, 2] > 0
    assert 0.1 < agreed.mean() < 0.6
    chosen = np.flatnonzero(agreed)[:10]
    keys, _, error, _ = compute._differences(columns, [chosen])
    p = agreed.mean()
    assert error[0, keys.index(key)] >= np.sqrt(p * (1 - p) / 10)
