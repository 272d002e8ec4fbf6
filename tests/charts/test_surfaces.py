"""Main numbers of every family are shown on every surface; comparisons are short, without changes that are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from markupsafe import escape

from tests.agreement.families import KINDS, each_kind
from tests.charts.filled import interval

from annotator_agreement.agreement.families import AgreementComparison, ComparedRun, compare_runs
from annotator_agreement.agreement.statistics import COMPARED, OBJECT_PAIR_NUMBERS, Interval
from annotator_agreement.charts import reports
from annotator_agreement.charts.page import report_page
from annotator_agreement.charts.reports import comparison_frame, comparison_markdown, comparison_text
from annotator_agreement.charts.text import shown_number, shown_share

#: numbers of pairs that have a table of their own
OF_PAIRS = [number for number in OBJECT_PAIR_NUMBERS if number.key.startswith("count_")]


def _ends(interval: Interval | None) -> tuple[float, float]:
    return (np.nan, np.nan) if interval is None else (interval.low, interval.high)


@each_kind
@pytest.mark.few(2)
def test_every_main_number_is_shown_everywhere_with_its_interval(kind: str) -> None:
    samples = KINDS[kind].samples(1, 40)
    report: Any = KINDS[kind].report(samples)
    written = [reports.report_text(report, full=True), reports.report_markdown(report),
               reports.overview_markdown(report) + reports.computation_markdown(report)]  # fmt: skip
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


def _change(difference: float) -> dict[str, Any]:
    ends = interval(difference - 0.01, difference + 0.01)
    return {"a": 0.5, "b": 0.5 + difference, "difference": difference, "interval": ends}


def _parts(name: str, n: int, difference: float) -> list[dict[str, Any]]:
    numbers = {number: _change(difference) for number in ("alpha", "score")}
    return [{"names": [f"{name} {k}"], "numbers": numbers} for k in range(n)]


def _comparison(n: int, difference: float, **changes: Any) -> AgreementComparison:
    moved = [
        {"id": f"{k:024d}", "filepath": f"/images/{k}.png", "a": 0.5, "b": 0.6, "difference": 0.1} for k in range(10)
    ]
    return AgreementComparison.from_dict(
        {
            "a": "before", "b": "after", "family": "objects", "n_samples": 200, "n_only_a": 0, "n_only_b": 0,
            "n_unrated": 0, "n_clusters": None, "on_frames": False, "options": [], "annotators_only_a": [],
            "annotators_only_b": [],
            "numbers": {key: _change(difference) for key in ("score.mean", "alpha.pooled", "existence.f1")},
            "changes": {kind: _parts(kind, n, difference) for kind in ("pairs", "classes", "annotators")},
            "samples": {"n_better": 10, "n_worse": 10, "n_equal": 180, "n_undefined": 0, "better": moved,
                        "worse": moved},
            "resamples": 200, "seed": 51, **changes,
        }
    )  # fmt: skip


def test_a_comparison_has_at_most_sixty_lines_and_lists_what_changed_clearly() -> None:
    for n in (3, 10, 120):
        only = [f"annotator {k}" for k in range(n)]
        text = comparison_text(_comparison(n, 0.1, annotators_only_a=only, annotators_only_b=only))
        assert len(text.splitlines()) <= 60
        for kind in ("pairs", "classes", "annotators"):
            assert f"{kind} 0" in text
        assert ("110 more" in text) == (n == 120)
    for show in (comparison_text, comparison_markdown):
        text = show(_comparison(120, 0.0))
        assert text.count("0 of 120 changed clearly") == 3
        assert "classes 0" not in text
    one = _comparison(120, 0.0).to_dict()
    one["changes"]["classes"][7]["numbers"]["score"] = _change(0.1)
    text = comparison_markdown(AgreementComparison.from_dict(one))
    assert "1 of 120 changed clearly (the interval of the difference excludes 0):" in text
    assert "classes 7" in text
    assert "classes 0" not in text
    assert "classes 0" in comparison_text(_comparison(3, 0.0))  # of few, all


def test_only_an_equal_number_stays_the_same_and_alpha_has_the_name_of_the_family() -> None:
    for difference, said in ((0.0, "stays the same"), (1e-12, "stays the same"), (3e-4, "rises by less than 0.001"),
                             (-3e-4, "falls by less than 0.001"), (0.1, "rises by 0.100")):  # fmt: skip
        assert f"F1 {said}" in " ".join(comparison_text(_comparison(3, difference)).split())
    titles = {"objects": "alpha of objects", "pixels": "Alpha of pixels"}
    for family in ("objects", "ratings", "tags", "pixels"):
        text = comparison_text(_comparison(3, 0.1, family=family))
        found = [line for line in text.split("Numbers\n")[1].splitlines() if "lpha" in line]
        assert titles.get(family, "Krippendorff's alpha") in found[0]


def test_with_many_tables_the_text_shortens_none_below_three_rows() -> None:
    kinds = ("pairs", "classes", "annotators", *(f"{role}{part}" for role in ("reference", "models")
             for part in ("", "_classes", "_sizes", "_attributes")))  # fmt: skip
    text = comparison_text(_comparison(3, 0.1, changes={kind: _parts(kind, 5, 0.1) for kind in kinds}))
    assert text.count("5 of 5 changed clearly (the interval of the difference excludes 0), 3 of them:") == len(kinds)
    assert not any(f"{kind.capitalize()}\n" in text for kind in kinds if "_" in kind)
    assert "Models by class\n" in text
    for shown in kinds:
        assert f"{shown} 2" in text
        assert f"{shown} 3" not in text
