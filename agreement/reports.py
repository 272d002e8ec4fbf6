"""The families of label types: what each keeps of samples, and the report that is built from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .numbers import Numbers
from .objects.build import build_object_report
from .objects.records import ObjectRecords
from .objects.report import ObjectReport
from .objects.sample_sums import object_sums
from .pixels.numbers import pixel_numbers
from .pixels.records import PixelRecords
from .pixels.report import PixelReport, build_pixel_report
from .ratings.numbers import rating_numbers
from .ratings.records import RatingRecords
from .ratings.report import RatingReport, build_rating_report
from .records import AnyColumns, Records
from .report import AgreementReport, ReportContext
from .tags.numbers import tag_numbers
from .tags.records import TagRecords
from .tags.report import TagReport, build_tag_report


@dataclass(frozen=True, slots=True)
class _Family:
    report: type[AgreementReport]
    records: type[Records]
    build: Callable[[Any, ReportContext], AgreementReport]
    numbers: Callable[[Any, ReportContext], Iterable[Numbers]]


_FAMILIES = {
    "objects": _Family(ObjectReport, ObjectRecords, build_object_report, object_sums),
    "pixels": _Family(PixelReport, PixelRecords, build_pixel_report, pixel_numbers),
    "ratings": _Family(RatingReport, RatingRecords, build_rating_report, rating_numbers),
    "tags": _Family(TagReport, TagRecords, build_tag_report, tag_numbers),
}


def report_from_dict(values: Mapping[str, Any]) -> AgreementReport:
    """The report that ``to_dict()`` of any family wrote."""
    return _FAMILIES[values["family"]].report.from_dict(values)


def records_of(family: str, columns: AnyColumns, n_annotators: int) -> Records:
    """The records of a family from their columns, without what is only known of a run as a whole."""
    return _FAMILIES[family].records(n_annotators, (columns,))


def build_report(records: Records, context: ReportContext) -> AgreementReport:
    """The report on the samples of records."""
    return _FAMILIES[records.family].build(records, context)


def numbers_of(records: Records, context: ReportContext) -> Iterable[Numbers]:
    """The numbers of a report on rated samples."""
    return _FAMILIES[records.family].numbers(records, context)
