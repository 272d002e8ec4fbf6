"""A report as one HTML page that needs nothing else: no network, no other file."""

from __future__ import annotations

from .page import report_page

__all__ = ["report_page"]
