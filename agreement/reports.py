"""The reports of all families of label types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .objects.report import ObjectReport
from .pixels.report import PixelReport
from .ratings.report import RatingReport
from .report import AgreementReport
from .tags.report import TagReport

REPORTS: dict[str, type[AgreementReport]] = {
    report.family: report for report in (ObjectReport, PixelReport, RatingReport, TagReport)
}


def report_from_dict(values: Mapping[str, Any]) -> AgreementReport:
    """The report that ``to_dict()`` of any family wrote."""
    return REPORTS[values["family"]].from_dict(values)
