"""The sections of a report on objects, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..sections import Section
from .annotators import annotator_details, annotators_section
from .classes import class_details, confusions_section
from .pairs import pair_details, pairs_section
from .questions import question_details, questions_section
from .rules import other_rules
from .thresholds import threshold_details, threshold_section

if TYPE_CHECKING:
    from ...agreement.objects.report import ObjectReport


def object_sections(report: ObjectReport) -> list[Section]:
    """What everybody should read."""
    return [
        questions_section(report),
        annotators_section(report),
        pairs_section(report),
        *confusions_section(report),
        *threshold_section(report),
    ]


def object_details(report: ObjectReport) -> list[Section]:
    """Everything else."""
    return [
        *question_details(report),
        *class_details(report),
        *annotator_details(report),
        *pair_details(report),
        *threshold_details(report),
        *other_rules(report),
    ]
