"""Confidence intervals in a report on semantic masks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...metrics.arrays import FloatArray
from ..content_order import Hashes, assignment_hashes, combined, content_ranks, hash_sums, name_hashes
from ..numbers import Estimate, Key, by_owner, estimates
from ..report import ReportContext
from .records import PixelRecords
from .sample_sums import pixel_sums

if TYPE_CHECKING:
    from .report import PixelReport


def sample_contents(records: PixelRecords, context: ReportContext) -> tuple[Hashes, FloatArray]:
    """What tells samples apart, for :func:`~..content_order.content_ranks`: no order and no id enters.

    Returns:
        hashes of the areas of every value in every mask ``(S,)``, and values ``(S, 2)``
    """
    annotators = name_hashes(context.annotators)
    assigned, n_values = records.assigned, records.column("n_values").astype(np.int64)
    n_masks = np.where(assigned.sum(axis=1) >= 2, assigned.sum(axis=1), 0)
    # the areas of a sample stand mask by mask, each with all values of the sample
    masked, annotator = np.nonzero(assigned & (n_masks > 0)[:, None])
    of_mask = np.repeat(np.arange(len(masked)), n_values[masked])
    sample = masked[of_mask]
    place = np.arange(len(of_mask)) - np.repeat(np.cumsum(n_values[masked]) - n_values[masked], n_values[masked])
    value = records.column("values").astype(np.int64)[(np.cumsum(n_values) - n_values)[sample] + place]
    hashes = combined(combined(annotators[annotator[of_mask]], value), records.column("areas").astype(np.int64))
    total = assignment_hashes(assigned, annotators) + hash_sums(sample, hashes, records.n_samples)
    return total, np.column_stack([records.column("score"), records.column("alpha")])


def pixel_estimates(records: PixelRecords, context: ReportContext) -> dict[Key, Estimate]:
    """All numbers that have intervals, with these."""
    rated = records.assigned.sum(axis=1) >= 2
    records = records.select(rated)
    clusters = None if context.clusters is None else context.clusters[rated]
    ranks = content_ranks(*sample_contents(records, context), clusters)
    config = context.config
    return estimates(pixel_sums(records, context), ranks, resamples=config.resamples, seed=config.seed)


def with_intervals(report: PixelReport, records: PixelRecords, context: ReportContext) -> PixelReport:
    """The report with confidence intervals of its numbers, as many as there are samples for."""
    if not context.config.resamples:
        return report
    of = by_owner(pixel_estimates(records, context))
    return replace(
        report,
        intervals=of[()],
        pairs=[replace(pair, intervals=of["pairs", pair.a, pair.b]) for pair in report.pairs],
        annotators=[replace(entry, intervals=of["annotators", entry.name]) for entry in report.annotators],
        classes=[replace(entry, intervals=of["classes", str(entry.value)]) for entry in report.classes],
    )
