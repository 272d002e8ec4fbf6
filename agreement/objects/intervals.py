"""Confidence intervals in a report on objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..content_order import content_ranks
from ..numbers import Estimate, Key, by_owner, estimates
from ..report import Interval, ReportContext
from .records import ObjectRecords
from .report import ObjectReport
from .sample_sums import object_sums, sample_contents
from .size_rule import SizeRule
from .summaries import AnnotatorSummary


def object_estimates(records: ObjectRecords, context: ReportContext) -> dict[Key, Estimate]:
    """All numbers that have intervals, with these."""
    sizes = SizeRule.of(records, context.config)
    rated = records.assigned.sum(axis=1) >= 2
    clusters = context.clusters
    if not rated.all():
        records = records.select(rated)
        clusters = None if clusters is None else clusters[rated]
    ranks = content_ranks(*sample_contents(records, context), clusters)
    config = context.config
    sums = object_sums(records, context, sizes=sizes)
    return estimates(sums, ranks, resamples=config.resamples, seed=config.seed)


def with_intervals(report: ObjectReport, records: ObjectRecords, context: ReportContext) -> ObjectReport:
    """The report with confidence intervals of its numbers, as many as there are samples for."""
    if not context.config.resamples:
        return report
    of = by_owner(object_estimates(records, context))
    sessions = report.sessions
    return replace(
        report,
        intervals=of[()],
        pairs=[replace(pair, intervals=of["pairs", pair.a, pair.b]) for pair in report.pairs],
        classes=[replace(entry, intervals=of["classes", entry.name]) for entry in report.classes],
        annotators=[_of_annotator(entry, of) for entry in report.annotators],
        sessions=None if sessions is None else replace(sessions, intervals=of["sessions",]),
    )


def _of_annotator(annotator: AnnotatorSummary, of: Mapping[Key, dict[str, Interval]]) -> AnnotatorSummary:
    key = ("annotators", annotator.name)
    bias, consensus = annotator.bias, annotator.consensus
    return replace(
        annotator,
        intervals=of[key],
        bias=None if bias is None else replace(bias, intervals=of[(*key, "bias")]),
        consensus=None if consensus is None else replace(consensus, intervals=of[(*key, "consensus")]),
    )
