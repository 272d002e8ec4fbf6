"""Data on which most numbers are undefined: a report that says so, never a crash, never nan."""

from __future__ import annotations

import io
import itertools
import json
import math
from collections.abc import Sequence
from typing import Any

import pytest

from tests.agreement.agreement_oracle import Label, Sample, batch_of, object_report
from tests.chance import FEW

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.objects import ObjectReport
from annotator_agreement.agreement.settings import OPTIONS
from annotator_agreement.charts.reports import report_markdown


def box(category: int, place: int = 0) -> Label:
    """A label in one of a hundred places that do not overlap."""
    x, y = 0.1 * (place % 10), 0.1 * (place // 10)
    return (category, x + 0.01, y + 0.02, x + 0.08, y + 0.07)


def report_on(samples: Sequence[Sample], n_annotators: int = 2, n_classes: int = 2, **options: Any) -> ObjectReport:
    """The report, which was printed and survived JSON."""
    names = [f"annotator {k}" for k in range(n_annotators)]
    config = make_config(names, **{"resamples": 20, **options})
    classes = ["(missing)", *(f"class {k}" for k in range(1, n_classes + 1))]
    report = object_report(batch_of(samples, n_annotators), config, classes)
    values = report.to_dict()
    assert_no_nan(values)
    assert ObjectReport.from_dict(json.loads(json.dumps(values, allow_nan=False))) == report
    for full in (False, True):
        text = io.StringIO()
        report.print_report(full=full, file=text)
        assert not printed_nan(text.getvalue())
    assert not printed_nan(report_markdown(report))
    return report


def printed_nan(text: str) -> list[str]:
    """The words of a text that are no number."""
    return [word for word in text.split() if word.strip("()[],;:%|") in ("nan", "-nan", "None", "inf", "-inf")]


def assert_no_nan(values: Any) -> None:
    """Undefined is None in reports."""
    if isinstance(values, dict):
        for entry in values.values():
            assert_no_nan(entry)
    elif isinstance(values, list | tuple):
        for entry in values:
            assert_no_nan(entry)
    else:
        assert not isinstance(values, float) or math.isfinite(values)


SAMPLES: dict[str, tuple[int, list[Sample]]] = {
    "no samples": (2, []),
    "nobody assigned": (3, [{}, {}]),
    "one annotator on every sample": (3, [{k % 3: [box(1), box(2, 1)]} for k in range(5)]),
    "all images empty": (3, [{0: [], 1: [], 2: []} for _ in range(4)]),
    "one class, agreed": (2, [{0: [box(1)], 1: [box(1)]} for _ in range(3)]),
    "two classes, agreed": (2, [{0: [box(1), box(2, 1)], 1: [box(1), box(2, 1)]} for _ in range(3)]),
    "one sample": (2, [{0: [box(1), box(2, 1)], 1: [box(2), box(2, 1)]}]),
    "one object": (2, [{0: [box(1)], 1: []}]),
    "only lone objects": (2, [{0: [box(1)], 1: [box(1, 1)]} for _ in range(3)]),
    "one of the annotators is never assigned": (3, [{0: [box(1)], 1: [box(2)]} for _ in range(3)]),
    "one of the annotators never draws": (3, [{0: [box(1)], 1: [box(1)], 2: []} for _ in range(3)]),
    "pairs that share no sample": (4, [{0: [box(1)], 1: [box(1)]}, {2: [box(1)], 3: [box(1)]}]),
}
MATCHINGS = list(itertools.product(OPTIONS["method"].choices, OPTIONS["classes"].choices))
RULES = list(itertools.product(*(OPTIONS[name].choices for name in ("missing", "undefined", "empty"))))


@pytest.mark.random
@pytest.mark.parametrize("case", SAMPLES)
@pytest.mark.few(4)
def test_there_is_a_report_whatever_the_rules(case: str) -> None:
    n_annotators, samples = SAMPLES[case]
    combinations = list(zip(MATCHINGS, itertools.cycle(RULES)))
    if FEW:  # others for every case
        combinations = combinations[list(SAMPLES).index(case) % 3 :: 3]
    for (method, classes), (missing, undefined, empty) in combinations:
        rules = {"missing": missing, "undefined": undefined, "empty": empty}
        report = report_on(samples, n_annotators, method=method, classes=classes, **rules)
        assert report.n_samples == len(samples)


def test_one_class_without_variation_has_no_alpha_and_says_why() -> None:
    report = report_on(SAMPLES["one class, agreed"][1])
    assert (report.alpha.pooled, report.alpha.mean, report.alpha.n_defined) == (None, None, 0)
    assert {name: n for name, n in report.alpha.undefined.items() if n} == {"single_category": 3}
    assert (report.score.mean, report.alpha.percent_agreement, report.existence.f1) == (1.0, 1.0, 1.0)
    one = report_on(SAMPLES["one class, agreed"][1], undefined="one")
    assert (one.alpha.pooled, one.alpha.mean, one.alpha.n_defined) == (1.0, 1.0, 3)


def test_one_miss_in_ten_objects_of_one_class_has_the_alpha_zero() -> None:
    """As measured with other programs."""
    report = report_on([{0: [box(1, k) for k in range(10)], 1: [box(1, k) for k in range(9)]}])
    assert report.alpha.pooled == pytest.approx(0.0, abs=1e-12)
    assert report.existence.f1 == pytest.approx(18 / 19, rel=1e-12)


def test_images_that_all_left_empty_are_skipped_or_agree() -> None:
    """With ``agree`` they are units that everybody missed, which have no variation either."""
    n_annotators, samples = SAMPLES["all images empty"]
    skipped = report_on(samples, n_annotators)
    assert (skipped.score.mean, skipped.alpha.mean, skipped.alpha.pooled, skipped.n_empty) == (None, None, None, 4)
    assert skipped.alpha.undefined["no_objects"] == 4
    agreed = report_on(samples, n_annotators, empty="agree")
    assert (agreed.score.mean, agreed.alpha.mean, agreed.alpha.pooled) == (1.0, 1.0, None)
    assert report_on(samples, n_annotators, empty="agree", undefined="one").alpha.pooled == 1.0
