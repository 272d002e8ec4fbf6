"""Confidence intervals in the report on semantic masks: against reports on resampled samples."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tests.agreement.interval_oracle import check_intervals

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.pixels import numbers
from annotator_agreement.agreement.pixels.compute import compare_masks, measure
from annotator_agreement.agreement.pixels.counts import MaskCounts
from annotator_agreement.agreement.pixels.mask_values import MaskValues
from annotator_agreement.agreement.pixels.numbers import sample_contents
from annotator_agreement.agreement.pixels.records import PixelRecords, record_pixels
from annotator_agreement.agreement.pixels.report import PixelReport, build_pixel_report
from annotator_agreement.agreement.statistics.report import ReportContext, RunFacts

NAMES = ("alice", "bob", "carol")
MEANING = MaskValues(0, (9,), {1: "sky", 2: "road (2)", 3: "road (3)"})

#: mask of every annotator who has one
Masks = dict[int, np.ndarray]


def _context(names: tuple[str, ...] = NAMES, clusters: np.ndarray | None = None, **options: Any) -> ReportContext:
    config = make_config(names, **{"resamples": 25, "background": 0, **options})
    details = {**MEANING.to_dict(), "is_rgb": False}
    return ReportContext(
        config, config.annotators, [], ["Segmentation"], RunFacts(), details=details, clusters=clusters
    )


def _masks(seed: int, n: int = 60) -> list[Masks]:
    """Masks that mostly agree; some annotators have none, some images are empty."""
    rng = np.random.default_rng(seed)
    samples: list[Masks] = []
    for _ in range(n):
        shape = (int(rng.integers(4, 8)), int(rng.integers(4, 9)))
        truth = rng.choice(5, shape, p=[0.4, 0.25, 0.2, 0.1, 0.05]) * int(rng.random() < 0.9)
        who = np.flatnonzero(rng.random(3) < 0.85).tolist()
        share = rng.uniform(0.05, 0.4)
        samples.append({r: np.where(rng.random(shape) < share, rng.choice([0, 1, 2, 9], shape), truth) for r in who})
    return samples


def _records(samples: list[Masks], context: ReportContext) -> PixelRecords:
    config = context.config
    compared = [
        compare_masks([masks[r] for r in sorted(masks)], sorted(masks), MEANING, config) if len(masks) > 1 else None
        for masks in samples
    ]
    assigned = np.array([[r in masks for r in range(3)] for masks in samples], np.bool_)
    return record_pixels(measure(MaskCounts.of(compared, assigned), 0, config), config)


def _report(samples: list[Masks], context: ReportContext) -> PixelReport:
    return build_pixel_report(_records(samples, context), context)


@pytest.mark.parametrize("options", [{}, {"empty": "agree", "undefined": "one", "boundaries": True}], ids=str)
def test_intervals_are_those_of_reports_on_resampled_samples(options: dict) -> None:
    context = _context(**options)
    keys = check_intervals(_records(_masks(1), context), context, build_pixel_report, sample_contents)
    n_numbers = 10 if "boundaries" in options else 7
    # of the whole and of the pairs; four of each of five values; of the annotators
    assert len(keys) == (n_numbers + 4) + 3 * (n_numbers + 2) + 5 * 4 + 3


def test_the_order_of_samples_and_annotators_does_not_matter_for_intervals() -> None:
    samples = _masks(2)
    clusters = np.random.default_rng(0).integers(0, 50, len(samples))
    expected = _report(samples, _context(clusters=clusters))
    order = np.random.default_rng(1).permutation(len(samples)).tolist()
    swapped = [{2 - r: mask for r, mask in samples[k].items()} for k in order]
    found = _report(swapped, _context(NAMES[::-1], clusters=99 - clusters[order]))
    assert found.intervals.keys() == expected.intervals.keys()
    assert len(expected.intervals) == 12
    pair = next(entry for entry in found.pairs if {entry.a, entry.b} == {"alice", "bob"})
    for moved, wanted in ((found.intervals, expected.intervals), (pair.intervals, expected.pairs[0].intervals)):
        for name, interval in wanted.items():
            assert dataclasses.astuple(moved[name]) == pytest.approx(dataclasses.astuple(interval), abs=1e-12)


def test_masks_of_very_many_values_have_no_interval_of_alpha(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "MAX_CATEGORIES", 3)
    report = _report(_masks(3), _context())
    assert "score.mean" in report.intervals
    assert "alpha.pooled" not in report.intervals


def test_the_values_with_the_most_pixels_have_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "MAX_VALUES", 2)
    report = _report(_masks(3), _context())
    assert [bool(entry.intervals) for entry in report.classes] == [True, True, False, False, False]
