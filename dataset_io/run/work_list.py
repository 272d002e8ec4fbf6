"""The samples of a run in the order in which fixing them would change most, and those with the lowest scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import fiftyone as fo
import numpy as np

from ...agreement.families.family import FAMILIES
from ...agreement.statistics.presentation import shown_as
from ...agreement.statistics.records import Records, SampleValues
from ...agreement.statistics.report import ReportContext, number
from ...metrics.numeric.arrays import FloatArray, IntArray, sums_by
from ..record.sample_index import SampleIndex

#: samples that a report lists
N_FIRST = 10


@dataclass(frozen=True, slots=True)
class WorkList:
    """The ``W`` samples on which annotators differ, the most costly first; for frames the videos, each with its most
    costly frame.

    ``cost`` is the field ``<key>_cost``: of objects, for every two annotators, 1 for one that one of them drew, 2 for
    one that they named differently, 2 (1 - IoU) for one that they drew differently. Ties go to the lower score, then
    to the lower id.
    """

    row: IntArray  #: shape ``(W,)``, row of the sample, or frame, in the records
    cost: FloatArray  #: shape ``(W,)``
    score: FloatArray  #: shape ``(W,)``, of videos the mean
    n_disputed: IntArray  #: shape ``(W,)``
    n_units: IntArray  #: shape ``(W,)``

    def __len__(self) -> int:
        return len(self.row)

    @property
    def share(self) -> FloatArray:
        """Share of the costs of all samples, shape ``(W,)``; nan if nothing costs anything."""
        total = float(self.cost.sum())
        return self.cost / total if total else np.full(len(self), np.nan)


def look_first(
    records: Records, index: SampleIndex, dataset: fo.Dataset, context: ReportContext
) -> list[dict[str, Any]]:
    """The first entries of the work list, with their files, and why they are disputed, for the report."""
    work = work_list(records, index)
    row = work.row[:N_FIRST]
    reasons = shown_as("reasons", records.take(row), context)
    columns = [column[:N_FIRST].tolist() for column in (work.score, work.n_units, work.n_disputed, work.share)]
    described = zip(index.list_samples(dataset, row.tolist()), *columns, reasons, strict=True)
    return [
        {**sample, "score": number(score), "n_units": n_units, "n_disputed": n_disputed, "share": number(share),
         "reason": reason} for sample, score, n_units, n_disputed, share, reason in described
    ]  # fmt: skip


def work_list(records: Records, index: SampleIndex, *, of_frames: bool = False) -> WorkList:
    """The work list of the samples of records; ``of_frames``: of frames one by one, not of their videos."""
    values, cost = records.sample_values(), FAMILIES[records.family].costs(records)
    row, of_sample = np.arange(len(cost)), np.arange(len(cost))
    # only scored samples are rated
    rated = ~np.isnan(values.score) | (cost > 0)
    disputed = np.where(rated, values.n_disputed, 0)
    if index.frame_numbers() is not None and not of_frames:
        of_sample = index.numbers()
        first = np.lexsort((row, -cost, of_sample))
        row = first[np.unique(of_sample[first], return_index=True)[1]]
    n = len(row)

    def total(column: FloatArray | IntArray) -> FloatArray:
        return sums_by(of_sample, column, n)

    n_scored = total((~np.isnan(values.score)).astype(np.int64))
    score = total(np.nan_to_num(values.score)) / np.where(n_scored > 0, n_scored, np.nan)
    costs = total(cost)
    n_disputed, n_units = (total(column).astype(np.int64) for column in (disputed, values.n_units))
    kept = np.flatnonzero((costs > 0) | (n_disputed > 0))
    order = kept[np.lexsort((index.numbers(row[kept]), score[kept], -costs[kept]))]
    return WorkList(row[order], costs[order], score[order], n_disputed[order], n_units[order])


#: number of listed samples
N_WORST = 10


def worst_samples(values: SampleValues, index: SampleIndex, dataset: fo.Dataset) -> list[dict[str, Any]]:
    """The samples with the lowest scores below 1 and their files, worst first; equal scores by sample id.

    For frames: the videos with the lowest means, each with its worst frame (the first one if several are equal).

    Args:
        values: scores and counts of every sample
    """
    frame_numbers = index.frame_numbers()
    if frame_numbers is not None:
        rows, values = _videos(values, index.numbers(), frame_numbers)
    else:
        rows = np.arange(len(values.score))
    # nan is not below 1; a score of 1 leaves nothing to look at
    scored = np.flatnonzero(values.score < 1.0)
    if len(scored) > N_WORST:
        limit = np.partition(values.score[scored], N_WORST - 1)[N_WORST - 1]
        scored = scored[values.score[scored] <= limit]
    order = np.lexsort((index.numbers(rows[scored]), values.score[scored]))
    lowest = scored[order[:N_WORST]]
    columns = [column[lowest].tolist() for column in (values.score, values.n_units, values.n_disputed)]
    described = zip(index.list_samples(dataset, rows[lowest].tolist()), *columns, strict=True)
    return [
        {**sample, "score": score, "n_units": n_units, "n_disputed": n_disputed}
        for sample, score, n_units, n_disputed in described
    ]


def _videos(values: SampleValues, video: IntArray, frame_number: IntArray) -> tuple[IntArray, SampleValues]:
    """Row of the worst frame of every video with a score, and the values of these videos."""
    n = int(video.max(initial=-1)) + 1
    scored = np.flatnonzero(~np.isnan(values.score))
    # sorted, so that sums do not depend on the order in the database
    scored = scored[np.lexsort((frame_number[scored], video[scored]))]
    n_scored = np.bincount(video[scored], minlength=n)
    order = scored[np.lexsort((frame_number[scored], values.score[scored]))]
    with_score, first = np.unique(video[order], return_index=True)
    mean = sums_by(video[scored], values.score[scored], n)[with_score] / n_scored[with_score]

    def total(column: IntArray) -> IntArray:
        return sums_by(video, column, n)[with_score].astype(np.int64)

    undefined: FloatArray = np.full(len(mean), np.nan)
    counts = (values.n_annotators, values.n_objects, values.n_units, values.n_disputed)
    return order[first], SampleValues(mean, undefined, *map(total, counts))
