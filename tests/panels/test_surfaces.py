"""Numbers are shown on every surface: text, Markdown, panel, HTML page, tables and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.agreement.agreement_oracle import CLASS_NAMES, Sample, batch_of, config_of, random_samples, report_of

from annotator_agreement.agreement.families.compare import ComparedRun, compare_runs
from annotator_agreement.agreement.families.comparison import AgreementComparison
from annotator_agreement.agreement.matching.compute import compute_agreement_of
from annotator_agreement.agreement.objects.records import record
from annotator_agreement.agreement.objects.report import ObjectReport
from annotator_agreement.agreement.settings.config import AgreementConfig
from annotator_agreement.agreement.statistics.report import AgreementReport, ReportContext, RunFacts
from annotator_agreement.charts.page.page import report_page
from annotator_agreement.charts.reports.comparison import comparison_frame, comparison_text
from annotator_agreement.charts.reports.document import (
    computation_markdown,
    overview_markdown,
    report_markdown,
    report_text,
)
from annotator_agreement.charts.text.words import shown_number, shown_share

SHARE = "share_full_agreement"
OF_PAIRS = ("count_difference", "count_limit_low", "count_limit_high")
BOX = (1, 0.1, 0.1, 0.4, 0.4)
AGREED: Sample = {0: [BOX], 1: [BOX]}


def shown(report: AgreementReport) -> dict[str, str]:
    """What everybody sees of a report, by surface, without line breaks and marks."""
    surfaces = {
        "text": report_text(report, full=True),
        "markdown": report_markdown(report),
        "panel": overview_markdown(report) + computation_markdown(report),
        "page": report_page(report),
    }
    return {name: " ".join(text.replace("**", "").split()) for name, text in surfaces.items()}


def compared(a: Sequence[Sample], b: Sequence[Sample], config: AgreementConfig) -> AgreementComparison:
    """The comparison of two runs on the same samples."""
    n = len(config.fields)
    context = ReportContext(config, config.annotators, CLASS_NAMES, ["Detections"], RunFacts())
    runs = [
        ComparedRun(record(compute_agreement_of(batch_of(samples, n), config)), context, np.arange(len(samples)))
        for samples in (a, b)
    ]
    return compare_runs(*runs, lambda rows: [{"id": str(k)} for k in rows], None, resamples=20, seed=0)


def test_counts_are_shown_everywhere_with_their_intervals() -> None:
    samples = random_samples(1, n_samples=80)
    report = report_of(samples, config_of(3))
    interval = report.intervals["counts.icc"]
    ends = f"[{shown_number(interval.low)}, {shown_number(interval.high)}]"
    surfaces = shown(report)
    page = surfaces.pop("page")
    for text in surfaces.values():
        assert f"ICC of counts {shown_number(report.counts.icc)} {ends}" in text
    assert "ICC of counts" in page
    assert ends in page
    row: Any = report.to_dataframe("summary").set_index("number").loc["counts.icc"]
    assert tuple(row) == (report.counts.icc, interval.low, interval.high)
    pairs, values = report.to_dataframe("pairs"), report.to_dict()
    assert values["counts"] == {"icc": report.counts.icc}
    for k, pair in enumerate(report.pairs):
        for name in OF_PAIRS:
            found_interval, value = pair.intervals[name], getattr(pair, name)
            assert values["pairs"][k][name] == value
            assert tuple(pairs.loc[k, [name, f"{name}_low", f"{name}_high"]]) == (
                value,
                found_interval.low,
                found_interval.high,
            )
            cell = f"{shown_number(value)} [{shown_number(found_interval.low)}, {shown_number(found_interval.high)}]"
            assert cell in surfaces["text"]
            assert cell in page
    assert ObjectReport.from_dict(values) == report
    comparison = compared(samples, samples[::-1], config_of(3))
    assert "ICC of counts" in comparison_text(comparison)
    assert "counts.icc" in comparison_frame(comparison, "numbers")["number"].tolist()
    assert set(OF_PAIRS) <= set(comparison_frame(comparison, "pairs")["number"])


def test_full_agreement_is_shown_everywhere_with_its_interval() -> None:
    samples = random_samples(1, n_samples=40)
    report = report_of(samples, config_of(3))
    value, interval = report.share_full_agreement, report.intervals[SHARE]
    assert value is not None
    assert interval.low is not None
    assert interval.high is not None
    assert interval.low < value < interval.high
    ends = f"[{shown_share(interval.low)}, {shown_share(interval.high)}]"
    surfaces = shown(report)
    page = surfaces.pop("page")
    for text in surfaces.values():
        assert f"Full agreement {shown_share(value)} {ends}" in text
    assert f'<div class="name">Full agreement</div><div class="number">{shown_share(value)}</div>' in page
    assert ends in page
    row: Any = report.to_dataframe("summary").set_index("number").loc[SHARE]
    assert tuple(row) == (value, interval.low, interval.high)
    values = report.to_dict()
    assert (values[SHARE], values["intervals"][SHARE]["low"]) == (value, interval.low)
    comparison = compared(samples, [AGREED] * 40, config_of(3))
    assert "Full agreement" in comparison_text(comparison)
    assert SHARE in comparison_frame(comparison, "numbers")["number"].tolist()
