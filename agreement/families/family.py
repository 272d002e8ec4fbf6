"""``Family``: classes and functions of every family of label types (objects, ratings, tags, masks), in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from ... import names
from ...metrics.numeric.arrays import FloatArray, IntArray
from ..disputes.costs import CostlyUnits, SoughtUnits, costly_objects, costly_samples, costly_tags, object_sample_costs
from ..matching.verdicts import CROWD
from ..matching.verdicts import VERDICTS as OBJECT_VERDICTS
from ..objects.build import build_object_report, object_numbers
from ..objects.build import headline_numbers_of as object_headline
from ..objects.build import sample_contents as object_contents
from ..objects.records import ObjectRecords
from ..objects.report import ObjectReport
from ..pixels import report as pixels
from ..pixels.records import PixelRecords
from ..pixels.records import sample_contents as pixel_contents
from ..ratings import report as ratings
from ..ratings.compute import VERDICTS as RATING_VERDICTS
from ..ratings.compute import RatingRecords
from ..roles.summary import role_numbers, role_reports
from ..statistics.numbers import Numbers
from ..statistics.records import AnyColumns, Hashes, Records
from ..statistics.report import AgreementReport, ReportContext
from ..tags import report as tags
from ..tags.compute import VERDICTS as TAG_VERDICTS
from ..tags.compute import TagRecords
from .unit_tables import RunTables, costs_of_pairs, object_tables, pixel_tables, rating_tables, tag_tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A family of label types: labels that are compared in the same way.

    Everything in ``agreement`` that depends on the family is here; ``charts`` and ``dataset_io`` have tables of their
    own for what depends on it there.
    """

    name: str  #: name in reports and stored runs
    report: type[AgreementReport]  #: class of its reports
    records: type[Records]  #: class of its records
    build: Callable[[Any, ReportContext], AgreementReport]  #: builds the report from records
    numbers: Callable[[Any, ReportContext], Iterable[Numbers]]  #: computes the numbers of a report from records
    #: computes the main numbers that are functions of sums over samples, with a row for every sample
    headline: Callable[[Any, ReportContext], Iterable[Numbers]]
    #: content of the samples, for :func:`~..statistics.records.content_ranks`
    contents: Callable[[Any, ReportContext], tuple[Hashes, FloatArray]]
    #: the disagreement that fixing a sample would remove; shape ``(S,)``, 0 where there is nothing to fix
    costs: Callable[[Any], FloatArray]
    #: the disputed units of a run that somebody can decide on (objects, tags, or whole samples), the costliest first
    costly_units: Callable[[Any, SoughtUnits], CostlyUnits]
    #: number of units of every sample that somebody can decide on, shape ``(S,)``
    units_to_decide: Callable[[Any], IntArray]
    #: the labels and the units of a run as tables, in chunks
    tables: Callable[[Any, ReportContext], Iterator[RunTables]]
    fields: names.FieldSet  #: fields written on samples and labels
    verdicts: tuple[str, ...] = ()  #: possible verdicts of a label
    not_in_views: tuple[str, ...] = ()  #: filters of views that do not apply

    @property
    def has_objects(self) -> bool:
        """True if labels of several annotators are matched into physical objects."""
        return self.report.has_objects

    @property
    def disputed(self) -> tuple[str, ...]:
        """The verdicts of disputed labels."""
        return tuple(verdict for verdict in self.verdicts if verdict not in ("agreed", CROWD))


def _own_units(records: Records) -> IntArray:
    """Number of objects, or tags, of every sample, shape ``(S,)``."""
    return records.sample_values().n_units


def _whole_samples(records: Records) -> IntArray:
    """One unit on every sample to which anybody was assigned, shape ``(S,)``."""
    return (records.sample_values().n_annotators > 0).astype(np.int64)


OBJECTS = Family(
    name="objects",
    report=ObjectReport,
    records=ObjectRecords,
    build=build_object_report,
    numbers=object_numbers,
    headline=object_headline,
    contents=object_contents,
    costs=object_sample_costs,
    costly_units=costly_objects,
    units_to_decide=_own_units,
    tables=object_tables,
    fields=names.OBJECT_FIELDS,
    verdicts=(*OBJECT_VERDICTS, CROWD),
)
RATINGS = Family(
    name="ratings",
    report=ratings.RatingReport,
    records=RatingRecords,
    build=ratings.build_rating_report,
    numbers=ratings.rating_numbers,
    headline=ratings.headline_numbers,
    contents=ratings.sample_contents,
    costs=costs_of_pairs,
    costly_units=costly_samples,
    units_to_decide=_whole_samples,
    tables=rating_tables,
    fields=names.RATING_FIELDS,
    verdicts=RATING_VERDICTS,
    not_in_views=("missed_by",),
)
TAGS = Family(
    name="tags",
    report=tags.TagReport,
    records=TagRecords,
    build=tags.build_tag_report,
    numbers=tags.tag_numbers,
    headline=tags.headline_numbers,
    contents=tags.sample_contents,
    costs=costs_of_pairs,
    costly_units=costly_tags,
    units_to_decide=_own_units,
    tables=tag_tables,
    fields=names.TAG_FIELDS,
    verdicts=tuple(TAG_VERDICTS),
    not_in_views=("confusion",),
)
PIXELS = Family(
    name="pixels",
    report=pixels.PixelReport,
    records=PixelRecords,
    build=pixels.build_pixel_report,
    numbers=pixels.pixel_numbers,
    headline=pixels.headline_numbers,
    contents=pixel_contents,
    costs=costs_of_pairs,
    costly_units=costly_samples,
    units_to_decide=_whole_samples,
    tables=pixel_tables,
    fields=names.PIXEL_FIELDS,
    not_in_views=("verdict", "missed_by", "classes", "confusion", "votes", "reference"),
)

FAMILIES = {family.name: family for family in (OBJECTS, RATINGS, TAGS, PIXELS)}


def report_from_dict(values: Mapping[str, Any]) -> AgreementReport:
    """Rebuild a report of any family from its ``to_dict()``."""
    return FAMILIES[values["family"]].report.from_dict(values)


def records_of(family: str, columns: AnyColumns, n_annotators: int) -> Records:
    """Records of a family from stored columns."""
    return FAMILIES[family].records(n_annotators, (columns,))


def build_report(records: Records, context: ReportContext) -> AgreementReport:
    """The report on the samples of records."""
    family = FAMILIES[records.family]
    report, roles = family.build(records, context), role_reports(records, context, family.contents)
    reference = [role for role in roles if role.name == context.config.reference]
    return replace(report, reference=reference[0] if reference else None, models=roles[len(reference) :])


def numbers_of(records: Records, context: ReportContext) -> Iterable[Numbers]:
    """The numbers of a report on rated samples."""
    return chain(FAMILIES[records.family].numbers(records, context), role_numbers(records, context))
