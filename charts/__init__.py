"""Reports and comparisons as text, tables and figures; imported only when used."""

from __future__ import annotations

import importlib
from typing import Any

from ..agreement.statistics.presentation import present_with

_PLOTS = ("pairs", "confusion", "classes", "annotators", "votes", "iou", "scores", "thresholds", "bias", "models")
_PUBLIC = {
    **{f"plot_{name}": ".figures" for name in _PLOTS},
    **{f"ceiling_{name}": ".reports.ceilings" for name in ("frame", "sentence", "text")},
    "ceiling_html": ".page.page",
    "acceptance_frame": ".reports.acceptance",
    "acceptance_html": ".page.page",
    "acceptance_markdown": ".reports.acceptance",
    "acceptance_text": ".reports.acceptance",
    "comparison_frame": ".reports.comparison",
    "comparison_html": ".page.page",
    "comparison_text": ".reports.comparison",
    "decisions_frame": ".reports.dataframes",
    "decisions_html": ".page.page",
    "decisions_text": ".reports.decided",
    "parts_frame": ".reports.parts",
    "parts_html": ".page.page",
    "parts_markdown": ".reports.parts",
    "parts_text": ".reports.parts",
    "plot_parts": ".figures",
    "report_html": ".page.page",
    "report_frame": ".reports.dataframes",
    "report_text": ".reports.document",
}


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


present_with(__getattr__)
