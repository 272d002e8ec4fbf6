"""Records of semantic masks: areas, boundaries, coarse grids, and the distances of masks of different images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, ranges, sums_by
from ..image_alpha.expected import Annotations, ExpectedDistances, are_scored
from ..settings.config import AgreementConfig
from ..statistics.content_order import Hashes, combined, hash_sums, mixed
from ..statistics.records import OF_SAMPLE, Columns, Records, compact, ids_of_given, packed, rows_by_column, unpacked
from ..statistics.report import ReportContext
from .compute import PixelAgreement, measure
from .counts import MaskCounts, MaskValues

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


#: a pair of masks takes about as long to compare as the pairs of two lists of so many objects
_AS_OBJECTS = 12
#: masks whose grids are hashed at once
_MASKS_AT_ONCE = 50_000


def mask_distances(records: PixelRecords, context: ReportContext) -> ExpectedDistances:
    """The distances of masks of different images: 1 - mean IoU of the classes that either of the two used.

    Images of any size are laid on one another as if they had the same size. Areas are exact shares of the compared
    pixels; shared areas are estimated from the middles of the cells of a grid. Two masks without classes have the
    distance 0.
    """
    masks = _Masks.of(records, MaskValues.from_dict(context.details).background)
    scored = np.flatnonzero(are_scored(records)[masks.sample])
    content, n_objects = _contents(records, masks)[scored], np.full(len(scored), _AS_OBJECTS)

    def distances(i: IntArray, j: IntArray) -> FloatArray:
        return masks.distances(scored[i], scored[j])

    return ExpectedDistances.of(Annotations(masks.sample[scored], content, n_objects, distances), context.clusters)


@dataclass(frozen=True, slots=True)
class _Masks:
    """The ``M`` masks of rated samples."""

    sample: IntArray  #: shape ``(M,)``
    grid: NDArray[
        Any
    ]  #: shape ``(M, G)``, values at the cells of the grid, by number; see :class:`~..pixels.counts.SampleMasks`
    n_values: IntArray  #: shape ``(M,)``, values of the sample
    first_value: IntArray  #: shape ``(M,)``, row of its first value in ``value``
    first_area: IntArray  #: shape ``(M,)``, row of the mask's first area in ``area``
    value: IntArray  #: shape ``(V,)``, code of every value of every sample
    area: NDArray[Any]  #: pixels of every value of its sample in every mask, mask by mask
    background: int | None  #: code of the background; None if there is none
    n_codes: int

    @classmethod
    def of(cls, records: PixelRecords, background: int | None) -> _Masks:
        """The masks of records."""
        n_values = records.column("n_values").astype(np.int64)
        sample = np.repeat(np.arange(records.n_samples), records.column("n_masks"))
        codes, value = np.unique(records.column("values"), return_inverse=True)
        of_mask = n_values[sample]
        found = np.flatnonzero(codes == background)  # of None: nothing
        return cls(
            sample=sample,
            grid=records.column("grid"),
            n_values=of_mask,
            first_value=(np.cumsum(n_values) - n_values)[sample],
            first_area=np.cumsum(of_mask) - of_mask,
            value=value.ravel(),
            area=records.column("areas"),
            background=int(found[0]) if len(found) else None,
            n_codes=len(codes),
        )

    def distances(self, i: IntArray, j: IntArray) -> FloatArray:
        """The distances of pairs of masks, shape ``(P,)``."""
        n = len(i)
        keys, areas = zip(*(self._areas(masks) for masks in (i, j)), strict=True)
        key, place = np.unique(np.concatenate(keys), return_inverse=True)
        of_i, of_j = (
            sums_by(rows, area, len(key)) for rows, area in zip(np.split(place, [len(keys[0])]), areas, strict=True)
        )
        codes = [self._codes(masks) for masks in (i, j)]
        compared = (codes[0] >= 0) & (codes[1] >= 0)
        row, cell = np.nonzero(compared & (codes[0] == codes[1]))
        rows = np.searchsorted(key, row * self.n_codes + codes[0][row, cell])
        shared = sums_by(rows, 1.0 / compared.sum(axis=1)[row], len(key))
        shared = np.minimum(shared, np.minimum(of_i, of_j))
        pair, code = key // self.n_codes, key % self.n_codes
        is_class = code != (-1 if self.background is None else self.background)
        iou = shared[is_class] / (of_i + of_j - shared)[is_class]
        n_classes = np.bincount(pair[is_class], minlength=n)
        return np.where(n_classes > 0, 1.0 - sums_by(pair[is_class], iou, n) / np.maximum(n_classes, 1), 0.0)

    def _codes(self, masks: IntArray) -> IntArray:
        """Code of the value at every cell of some masks, -1 where pixels are ignored; shape ``(P, G)``."""
        number, n_values = self.grid[masks].astype(np.int64), self.n_values[masks][:, None]
        row = self.first_value[masks][:, None] + np.minimum(number, n_values - 1)
        return np.where(number < n_values, self.value[row], -1)

    def _areas(self, masks: IntArray) -> tuple[IntArray, FloatArray]:
        """Keys (position in ``masks``, code) of the values of some masks, and their shares of the compared pixels."""
        n_values = self.n_values[masks]
        position = np.repeat(np.arange(len(masks)), n_values)
        code = self.value[ranges(self.first_value[masks], n_values)]
        area = self.area[ranges(self.first_area[masks], n_values)].astype(np.float64)
        used = area > 0
        share = area / sums_by(position, area, len(masks))[position]
        return (position * self.n_codes + code)[used], share[used]


def _contents(records: PixelRecords, masks: _Masks) -> Hashes:
    """A hash of the areas and the grid of every mask, shape ``(M,)``."""
    values = records.column("values").astype(np.int64)
    mask = np.repeat(np.arange(len(masks.sample)), masks.n_values)
    value = values[ranges(masks.first_value, masks.n_values)].astype(np.uint64)
    content = hash_sums(mask, combined(mixed(value), masks.area.astype(np.int64)), len(masks.sample))
    for start in range(0, len(content), _MASKS_AT_ONCE):
        some = slice(start, start + _MASKS_AT_ONCE)
        for words in masks.grid[some].astype(np.uint16).view(np.uint64).T:
            content[some] = mixed(content[some] + words)
    return content
