"""Records of semantic masks: the areas of every class, and numbers that need the masks (boundaries)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...metrics.numeric.arrays import BoolArray, IntArray, ranges
from ..settings.config import AgreementConfig
from ..statistics.records import OF_SAMPLE, Columns, Records, compact, ids_of_given, packed, rows_by_column, unpacked
from .compute import PixelAgreement, measure
from .counts import MaskCounts

#: number of shared areas that are processed at once
MAX_AREAS_AT_ONCE = 200_000


@dataclass(frozen=True, slots=True)
class PixelRecords(Records):
    """The areas of every class in the masks of any number of samples.

    About 1,300 bytes for a sample with three masks of 20 classes, before they are compressed.
    """

    family: ClassVar[str] = "pixels"
    rows: ClassVar[Mapping[str, str]] = rows_by_column(
        {
            OF_SAMPLE: (
                *("assigned", "score", "alpha", "n_units", "n_disputed", "n_ignored"),
                *("n_values", "n_areas", "n_shared", "n_pairs", "n_masks", "n_labels"),
            ),
            "n_values": ("values",),
            "n_areas": ("areas",),
            "n_shared": ("shared",),
            "n_pairs": ("boundaries",),
            "n_masks": ("grid",),
            "n_labels": ("label_id",),
        }
    )

    def agreements(self, background: int | None, config: AgreementConfig) -> Iterator[PixelAgreement]:
        """The agreement on all samples that count, in chunks and in order; those left out are as without masks.

        Args:
            background: value of the background; None if there is none
        """
        for part in self.chunks("n_shared", MAX_AREAS_AT_ONCE):
            counts = _counts(part, unpacked(part["assigned"], self.n_annotators))
            yield measure(counts.without_empty(background) if config.empty == "skip" else counts, background, config)

    def areas(self) -> Iterator[tuple[IntArray, IntArray, IntArray, IntArray]]:
        """The areas of all compared masks, in chunks: columns sample, annotator, value and pixels."""
        start = 0
        for part in self.chunks("n_areas", MAX_AREAS_AT_ONCE):
            assigned, n_values = unpacked(part["assigned"], self.n_annotators), part["n_values"].astype(np.int64)
            # the areas of a sample are stored mask by mask, each with all values of the sample
            masked, annotator = np.nonzero(assigned & (assigned.sum(axis=1, keepdims=True) >= 2))
            of_mask = np.repeat(np.arange(len(masked)), n_values[masked])
            value = part["values"][ranges((np.cumsum(n_values) - n_values)[masked], n_values[masked])]
            columns = (value.astype(np.int64), part["areas"].astype(np.int64))
            yield start + masked[of_mask], annotator[of_mask], *columns
            start += len(n_values)


def _counts(part: Columns, assigned: BoolArray) -> MaskCounts:
    names = ("n_values", "n_ignored", "values", "areas", "shared")
    columns = {name: part[name].astype(np.int64) for name in names}
    return MaskCounts(assigned, **columns, boundaries=part.get("boundaries"))


def record_pixels(
    agreement: PixelAgreement, config: AgreementConfig, label_ids: NDArray[np.uint8] | None = None
) -> PixelRecords:
    """The records of a batch; ids of its masks have the shape ``(S, R, 12)``."""
    counts = agreement.counts
    columns: Columns = {
        "assigned": packed(counts.assigned),
        "score": agreement.score,
        "alpha": agreement.alpha,
        "n_units": compact(agreement.n_units),
        "n_disputed": compact(agreement.n_disputed),
        "n_ignored": compact(counts.n_ignored),
        "n_values": compact(counts.n_values),
        "n_areas": compact(counts.n_values * counts.n_masks),
        "n_shared": compact(counts.n_values * counts.n_pairs),
        "n_pairs": compact(counts.n_pairs),
        "n_masks": compact(counts.n_masks),
        "values": compact(counts.values),
        "areas": compact(counts.areas),
        "shared": compact(counts.shared),
        **ids_of_given(label_ids, counts.assigned),
    }
    if counts.grid is not None:
        columns["grid"] = compact(counts.grid)
    if config.boundaries:
        columns["boundaries"] = np.empty((0, 3)) if counts.boundaries is None else counts.boundaries
    return PixelRecords(counts.assigned.shape[1], (columns,))
