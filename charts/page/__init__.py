"""A report as one self-contained HTML page: no network, no other file."""

from __future__ import annotations

from .page import anchor, report_page, sections_html

__all__ = ["report_page", "sections_html"]
