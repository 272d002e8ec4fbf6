"""Reports and comparisons as text, tables and figures; imported only when used."""

from __future__ import annotations

import importlib
from typing import Any

from ..agreement.statistics.presentation import present_with

_PLOTS = ("pairs", "confusion", "classes", "annotators", "votes", "iou", "scores", "thresholds", "bias", "models")
_PUBLIC = {
    **{f"plot_{name}": ".figures" for name in _PLOTS},
    **{f"convergence_{name}": ".reports.other_results" for name in ("frame", "sections", "sentence")},
    **{f"acceptance_{name}": ".reports.other_results" for name in ("frame", "sections")},
    **{f"comparison_{name}": ".reports.comparison" for name in ("frame", "markdown", "text")},
    "comparison_html": ".page.page",
    "decisions_frame": ".reports.dataframes",
    "decisions_sections": ".reports.decided",
    **{f"parts_{name}": ".reports.other_results" for name in ("frame", "sections")},
    "plot_parts": ".figures",
    "reasons": ".reports.families",
    "report_html": ".page.page",
    "sensitivity_frame": ".reports.dataframes",
    "report_frame": ".reports.dataframes",
    "report_text": ".reports.document",
}
#: by the ending of a name such as ``parts_markdown``: the function that renders the sections of a result
_OF_SECTIONS = {
    "text": (".text.sections", "as_text"),
    "markdown": (".text.sections", "as_markdown"),
    "html": (".page.page", "result_html"),
}


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name], __name__), name)
    result, _, form = name.rpartition("_")
    if form in _OF_SECTIONS and f"{result}_sections" in _PUBLIC:
        module, function = _OF_SECTIONS[form]
        render = getattr(importlib.import_module(module, __name__), function)
        return lambda shown: render(__getattr__(f"{result}_sections")(shown))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


present_with(__getattr__)
