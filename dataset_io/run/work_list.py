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

    ``cost`` is the field ``<key>_cost``: of objects, for every two annotators, 1 if only one of them drew it, 2 if they
    named it differently, 2 (1 - IoU) if they drew it differently. Ties go to the lower score, then to the lower id.
    """

    row: IntArray  #: shape ``(W,)``, row of the sample, or frame, in the records
    cost: FloatArray  #: shape ``(W,)``
    score: FloatArray  #: shape ``(W,)``, of videos the mean
    n_disputed: IntArray  #: shape ``(W,)``
    n_units: IntArray  #: shape ``(W,)``

    def __len__(self) -> int:
        return len(self.row)

    def take(self, rows: IntArray) -> WorkList:
        """Some of the samples, in the order of the rows."""
        row, cost, score = self.row[rows], self.cost[rows], self.score[rows]
        return WorkList(row, cost, score, self.n_disputed[rows], self.n_units[rows])

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
    # rated samples have a score or a cost
    rated = ~np.isnan(values.score) | (cost > 0)
    found = _by_sample(values, np.where(rated, values.n_disputed, 0), cost, None if of_frames else index, -cost)
    kept = np.flatnonzero((found.cost > 0) | (found.n_disputed > 0))
    order = np.lexsort((index.numbers(found.row[kept]), found.score[kept], -found.cost[kept]))
    return found.take(kept[order])


#: number of listed samples
N_WORST = 10


def worst_samples(values: SampleValues, index: SampleIndex, dataset: fo.Dataset) -> list[dict[str, Any]]:
    """The samples with the lowest scores below 1 and their files, worst first; equal scores by sample id.

    For frames: the videos with the lowest means, each with its worst frame (the first one if several are equal).

    Args:
        values: scores and counts of every sample
        index: the samples
        dataset: their dataset
    """
    found = _by_sample(values, values.n_disputed, np.zeros(len(values.score)), index, values.score)
    # nan is not below 1; a score of 1 leaves nothing to look at
    scored = np.flatnonzero(found.score < 1.0)
    if len(scored) > N_WORST:
        limit = np.partition(found.score[scored], N_WORST - 1)[N_WORST - 1]
        scored = scored[found.score[scored] <= limit]
    order = np.lexsort((index.numbers(found.row[scored]), found.score[scored]))
    lowest = found.take(scored[order[:N_WORST]])
    columns = [column.tolist() for column in (lowest.score, lowest.n_units, lowest.n_disputed)]
    described = zip(index.list_samples(dataset, lowest.row.tolist()), *columns, strict=True)
    return [
        {**sample, "score": score, "n_units": n_units, "n_disputed": n_disputed}
        for sample, score, n_units, n_disputed in described
    ]


def _by_sample(
    values: SampleValues, n_disputed: IntArray, cost: FloatArray, index: SampleIndex | None, preferred: FloatArray
) -> WorkList:
    """All samples in the order of their ids; frames, with an index, as their videos, each with one of its frames.

    Args:
        values: scores and counts of every sample
        n_disputed: shape ``(S,)``, disputed units
        cost: shape ``(S,)``
        index: the samples, in order; None: of frames one by one
        preferred: shape ``(S,)``, the frame with the least stands for its video, the first one if several are equal
    """
    if index is None or index.frame_numbers() is None:
        return WorkList(np.arange(len(cost)), cost, values.score, n_disputed, values.n_units)
    video = index.numbers()
    first = np.lexsort((np.arange(len(video)), preferred, video))
    row = first[np.unique(video[first], return_index=True)[1]]

    def total(column: FloatArray | IntArray) -> FloatArray:
        return sums_by(video, column, len(row))

    n_scored = total((~np.isnan(values.score)).astype(np.int64))
    score = total(np.nan_to_num(values.score)) / np.where(n_scored > 0, n_scored, np.nan)
    return WorkList(row, total(cost), score, *(total(each).astype(np.int64) for each in (n_disputed, values.n_units)))
