"""Find the annotators assigned to every sample, for fields with lists of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...agreement.options import value_name
from ...metrics.arrays import BoolArray, IntArray
from ..run.stored import StoredSample
from .source import Source


def assigned_annotators(
    source: Source,
    rows: Sequence[dict[str, Any]],
    samples: Sequence[StoredSample],
    of_labels: tuple[IntArray, IntArray],
) -> tuple[BoolArray, IntArray]:
    """Assignments ``(S, R)``, and the number of annotators known only from their labels ``(S,)``.

    Args:
        source: the fields
        rows: query results on the samples
        samples: the samples as stored in the database, without the filters of a view
        of_labels: sample and annotator of every label, shapes ``(N,)``
    """
    none_added = np.zeros(len(samples), np.int64)
    assigned = np.zeros((len(samples), len(source.annotators)), np.bool_)
    if not source.config.attribute_mode:
        for field, annotator in enumerate(source.field_annotator):
            assigned[:, annotator] = [sample.label_ids[field] is not None for sample in samples]
        if source.on_frames:
            _assign_whole_videos(assigned, rows, source.field_annotator)
        return assigned, none_added
    if source.config.assigned_field is None:
        has_list = [sample.label_ids[0] is not None for sample in samples]
        assigned[has_list] = True
        return assigned, none_added
    number_of = source.annotator_numbers
    for k, row in enumerate(rows):
        listed = row.get("assigned")
        for name in listed if isinstance(listed, list) else [listed]:
            number = number_of.get(value_name(name))
            if name is not None and number is not None:
                assigned[k, number] = True
    n_listed = assigned.sum(axis=1)
    assigned[of_labels] = True
    return assigned, assigned.sum(axis=1) - n_listed


def _assign_whole_videos(assigned: BoolArray, rows: Sequence[dict[str, Any]], field_annotator: Sequence[int]) -> None:
    """Assign everybody who labelled a video to all of its frames that have any label list.

    Importers write label lists only on frames with labels, so an empty frame cannot be told apart from a frame that
    the annotator never got.
    """
    looked_at = assigned.any(axis=1)
    for k in np.flatnonzero(looked_at).tolist():
        labelled = rows[k]["labelled"]
        if labelled is not None:
            assigned[k, np.asarray(field_annotator)[labelled]] = True
