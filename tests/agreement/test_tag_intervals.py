"""Confidence intervals in the report on tags: against reports on resampled samples."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tests.agreement.interval_oracle import check_intervals, proportion_of_none

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.statistics.report import ReportContext, RunFacts
from annotator_agreement.agreement.tags import numbers
from annotator_agreement.agreement.tags.compute import TagBatch, compute_tags
from annotator_agreement.agreement.tags.numbers import sample_contents
from annotator_agreement.agreement.tags.records import TagRecords, record_tags
from annotator_agreement.agreement.tags.report import build_tag_report

NAMES = ("alice", "bob", "carol")
TAGS = ("(missing)", "day", "rain", "snow", "fog", "hail")


def _context(**options: Any) -> ReportContext:
    config = make_config(NAMES, **{"resamples": 30, **options})
    return ReportContext(config, config.annotators, TAGS, ["tags"], RunFacts())


def _given(seed: int, n: int = 70) -> tuple[np.ndarray, np.ndarray]:
    """Tags of every annotator ``(S, R, K)`` and who was assigned ``(S, R)``; nobody ever gave the last tag."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, 1, len(TAGS))) < 0.4
    given = truth ^ (rng.random((n, len(NAMES), len(TAGS))) < 0.15)
    given[..., [0, -1]] = False
    assigned = rng.random((n, len(NAMES))) < 0.8
    return given & assigned[..., None], assigned


def _records(given: np.ndarray, assigned: np.ndarray) -> TagRecords:
    sample, annotator, tag = np.nonzero(given)
    return record_tags(compute_tags(TagBatch(sample, annotator, tag, assigned)), assigned.shape[1])


@pytest.mark.parametrize("options", [{}, {"set_distance": "jaccard", "undefined": "one"}], ids=str)
def test_intervals_are_those_of_reports_on_resampled_samples(options: dict) -> None:
    records = _records(*_given(1))
    keys = check_intervals(records, _context(**options), build_tag_report, sample_contents)
    assert len(keys) == 4 + 3 * 2 + 3 + 4 * 2  # of the whole, of the pairs, of the annotators, of the tags


def test_the_order_of_samples_annotators_and_tags_does_not_matter_for_intervals() -> None:
    given, assigned = _given(2)
    clusters = np.random.default_rng(0).integers(0, 60, len(given))
    expected = build_tag_report(_records(given, assigned), dataclasses.replace(_context(), clusters=clusters))
    order = np.random.default_rng(1).permutation(len(given))
    moved = _records(given[order][:, ::-1][..., [0, 3, 2, 1, 5, 4]], assigned[order][:, ::-1])
    config = make_config(NAMES[::-1], resamples=30)
    names = tuple(TAGS[k] for k in (0, 3, 2, 1, 5, 4))
    context = ReportContext(config, config.annotators, names, ["tags"], RunFacts(), clusters=9 - clusters[order])
    report = build_tag_report(moved, context)
    assert report.intervals.keys() == expected.intervals.keys()
    assert len(expected.intervals) == 4
    by_tag = {entry.tag: entry.intervals for entry in report.tags}
    for found, wanted in (
        (report.intervals, expected.intervals),
        *((by_tag[entry.tag], entry.intervals) for entry in expected.tags),
    ):
        for name, interval in wanted.items():
            assert dataclasses.astuple(found[name]) == pytest.approx(dataclasses.astuple(interval), abs=1e-12)


def test_sets_of_which_very_many_differ_have_no_interval_of_alpha(monkeypatch: pytest.MonkeyPatch) -> None:
    records = _records(*_given(3))
    monkeypatch.setattr(numbers, "MAX_RESAMPLED_SETS", 5)
    assert set(build_tag_report(records, _context()).intervals) == {
        "score.mean",
        "share_full_agreement",
        "alpha.percent_agreement",
    }


def test_no_tags_have_intervals_too() -> None:
    given, assigned = _given(4)
    report = build_tag_report(_records(given & False, assigned), _context())
    low = 1 - proportion_of_none(report.n_rated)
    assert set(report.intervals) == {"score.mean", "share_full_agreement", "alpha.percent_agreement"}
    for each in report.intervals.values():
        assert (each.low, each.high) == pytest.approx((low, 1), abs=1e-12)
