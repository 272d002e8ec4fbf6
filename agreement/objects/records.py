"""The agreement on objects as compact columns: stored with the run, and read again for any view.

About 1.5 kB for a sample with 21 boxes of three annotators; polygons and masks take 96 bytes each in addition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...metrics.numeric.arrays import IntArray
from ..matching.compute import MatchedBatch
from ..matching.tables import Tables
from ..matching.verdicts import AGREED
from ..settings.config import AgreementConfig
from ..statistics.records import OF_SAMPLE, Records, SampleValues, compact, rows_by_column

#: the options of tables of which nothing is asked that depends on options
ANY_OPTIONS = AgreementConfig(())
#: objects that are unpacked at once
MAX_OBJECTS_AT_ONCE = 100_000

#: the columns with one row per sample, object, unit, pair of matched objects, pair of annotators, and so on, by the
#: column with their number per sample
_ROWS = rows_by_column(
    {
        OF_SAMPLE: (
            *("n_objects", "n_units", "n_matched", "n_pairs", "n_crowd", "n_coordinates"),
            *("assigned", "otherwise", "size_px", "score", "cost", "alpha", "alpha_reason"),
            *("n_hard", "n_inexact", "crowded", "n_repaired", "n_points", "n_in_another_order"),
        ),
        "n_objects": (
            *("label_id", "field", "annotator", "category", "unit", "verdict", "attributes", "track"),
            *("area", "boxes_xyxy", "boxes_rest", "first_frame", "outline"),
        ),
        "n_units": ("unit_verdict",),
        "n_matched": ("iou", "visibility"),
        "n_pairs": ("best_iou", "aligned"),
        "n_crowd": ("crowd_annotator",),
        "n_coordinates": ("coordinates",),
        "n_inexact": ("inexact_surplus",),
    }
)


@dataclass(frozen=True, slots=True)
class ObjectRecords(Records):
    """The agreement on objects of any number of samples."""

    family: ClassVar[str] = "objects"
    rows: ClassVar[Mapping[str, str]] = _ROWS
    of_classes: ClassVar[str | None] = "category"

    def sample_values(self) -> SampleValues:
        # the short form of super() does not work in classes with slots
        found, disputed = super(ObjectRecords, self).sample_values(), self.column("unit_verdict") > AGREED
        of_unit = np.repeat(np.arange(self.n_samples), found.n_units)
        return replace(found, n_disputed=np.bincount(of_unit[disputed], minlength=self.n_samples))

    def tables(self, config: AgreementConfig = ANY_OPTIONS, **known: Any) -> Iterator[Tables]:
        """The tables of all samples, in order and block by block; ``known`` are further fields of these.

        Without options only what does not depend on them may be asked for.
        """
        for part in self.blocks("n_objects", MAX_OBJECTS_AT_ONCE):
            yield Tables(part, self.n_annotators, config, **known)


def record(
    agreement: MatchedBatch, label_ids: NDArray[np.uint8] | None = None, field: IntArray | None = None
) -> ObjectRecords:
    """The records of a batch.

    Args:
        label_ids: id of every object, shape ``(N, 12)``; None where labels have none
        field: index of the field of every object, shape ``(N,)``
    """
    columns = dict(agreement.part)
    if label_ids is not None and field is not None:
        columns |= {"label_id": label_ids, "field": compact(field)}
    return ObjectRecords(agreement.n_annotators, (columns,))


def unit_ids(first: Sequence[str], sample: IntArray, annotator: IntArray, annotators: Sequence[str]) -> list[str]:
    """The id of every object: the id of its first label.

    If another object of the sample already has this id (cloned fields share label ids), the annotator of the first
    label is appended.

    Args:
        first: id of the first label of every object ``(U,)``
        sample: its sample
        annotator: its annotator
    """
    ids = list(first)
    if len(set(ids)) == len(ids):
        return ids
    taken: set[tuple[int, str]] = set()
    for k, (of_sample, of_annotator) in enumerate(zip(sample.tolist(), annotator.tolist(), strict=True)):
        suffixed, repeat = ids[k], 1
        while (of_sample, suffixed) in taken:
            suffixed = f"{first[k]}-{annotators[of_annotator]}" + (f"-{repeat}" if repeat > 1 else "")
            repeat += 1
        taken.add((of_sample, suffixed))
        ids[k] = suffixed
    return ids
