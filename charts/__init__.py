"""Reports and comparisons as text, tables and figures; imported only when used."""

from __future__ import annotations

import importlib
from typing import Any

_PUBLIC = {
    "comparison_frame": ".comparison",
    "comparison_html": ".page.page",
    "comparison_text": ".comparison",
    "decisions_frame": ".dataframes",
    "decisions_html": ".page.page",
    "decisions_text": ".decided",
    "report_html": ".page.page",
    "report_frame": ".dataframes",
    "report_text": ".document",
}


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
