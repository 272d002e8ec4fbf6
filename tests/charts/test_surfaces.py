"""Every main number of every family is shown on every surface: text, Markdown, panel, HTML page, tables, comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from markupsafe import escape

from tests.agreement.families import KINDS, each_kind

from annotator_agreement.agreement.families.compare import ComparedRun, compare_runs
from annotator_agreement.agreement.statistics.main_numbers import COMPARED, OBJECT_PAIR_NUMBERS
from annotator_agreement.agreement.statistics.report import Interval
from annotator_agreement.charts.page.page import report_page
from annotator_agreement.charts.reports.comparison import comparison_frame, comparison_text
from annotator_agreement.charts.reports.document import (
    computation_markdown,
    overview_markdown,
    report_markdown,
    report_text,
)
from annotator_agreement.charts.text.words import shown_number, shown_share

#: numbers of pairs that have a table of their own
OF_PAIRS = [number for number in OBJECT_PAIR_NUMBERS if number.key.startswith("count_")]


def _ends(interval: Interval | None) -> tuple[float, float]:
    return (np.nan, np.nan) if interval is None else (interval.low, interval.high)


@each_kind
@pytest.mark.few(2)
def test_every_main_number_is_shown_everywhere_with_its_interval(kind: str) -> None:
    samples = KINDS[kind].samples(1, 40)
    report: Any = KINDS[kind].report(samples)
    written = [report_text(report, full=True), report_markdown(report),
               overview_markdown(report) + computation_markdown(report)]  # fmt: skip
    surfaces = [" ".join(text.replace("**", "").split()).lower() for text in written]
    page, table = report_page(report), report.to_dataframe("summary").set_index("number")
    shown_numbers = [number for number in report.main_numbers if number.value(report) is not None]
    for number in shown_numbers:
        value, interval = number.value(report), report.intervals.get(number.key)
        np.testing.assert_array_equal(table.loc[number.key].to_numpy(float), [value, *_ends(interval)])
        if number.group != COMPARED:
            shown = shown_share if number.form == "share" else shown_number
            ends = f"[{shown(interval.low)}, {shown(interval.high)}]"
            assert all(f"{number.name()} {shown(value)} {ends}".lower() in text for text in surfaces), number.key
            assert all(part.lower() in page.lower() for part in (escape(number.name()), shown(value), ends)), number.key
    pairs = report.to_dataframe("pairs")
    for k, pair in enumerate(report.pairs):
        for number in OF_PAIRS if kind == "objects" else ():
            value, (low, high) = getattr(pair, number.key), _ends(pair.intervals[number.key])
            assert tuple(pairs.loc[k, [number.key, f"{number.key}_low", f"{number.key}_high"]]) == (value, low, high)
            cell = f"{shown_number(value)} [{shown_number(low)}, {shown_number(high)}]"
            assert cell in " ".join(written[0].split())
            assert cell in page
    context = KINDS[kind].context()
    runs = [
        ComparedRun(KINDS[kind].record(each, context.config), context, np.arange(40))
        for each in (samples, samples[::-1])
    ]
    comparison = compare_runs(*runs, lambda rows: [{"id": str(row)} for row in rows], None, resamples=20, seed=0)
    compared = comparison_frame(comparison, "numbers")["number"].tolist()
    assert {number.key for number in shown_numbers if number.key in report.intervals} <= set(compared)
    assert all(number.name() in comparison_text(comparison) for number in shown_numbers if number.group != COMPARED)
    if kind == "objects":
        assert {number.key for number in OF_PAIRS} <= set(comparison_frame(comparison, "pairs")["number"])
