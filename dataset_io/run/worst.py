"""The samples with the lowest scores."""

from __future__ import annotations

from typing import Any

import fiftyone as fo
import numpy as np

from ...agreement.statistics.records import SampleValues
from ...metrics.numeric.arrays import FloatArray, IntArray, sums_by
from ..record.sample_index import SampleIndex

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
    columns = (values.score, values.n_units, values.n_disputed)
    of_worst = zip(*(column[lowest].tolist() for column in columns), strict=True)
    return [
        {**described, "score": score, "n_units": n_units, "n_disputed": n_disputed}
        for described, (score, n_units, n_disputed) in zip(
            index.list_samples(dataset, rows[lowest].tolist()), of_worst, strict=True
        )
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
