"""Records of semantic masks: areas, boundaries, values at sampled points, distances of masks of different images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...metrics.numeric.arrays import FloatArray, IntArray, pairs_within, ranges, sums_by
from ..settings.config import AgreementConfig
from ..statistics.image_alpha import Annotations, ExpectedDistances, image_distances
from ..statistics.records import (
    OF_SAMPLE,
    Hashes,
    Records,
    assignment_hashes,
    combined,
    compact,
    hash_sums,
    mixed,
    name_hashes,
    rows_by_column,
    unpacked,
    with_numbers,
)
from ..statistics.report import ReportContext
from .compute import MaskValues, PixelAgreement, are_classes, bits_of, measure

#: number of shared areas that are processed at once
MAX_AREAS_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True)
class PixelRecords(Records):
    """The areas of every class in the masks of any number of samples.

    About 2,000 bytes for a sample with three masks of 20 classes, before they are compressed.
    """

    family: ClassVar[str] = "pixels"
    rows: ClassVar[Mapping[str, str]] = rows_by_column(
        {
            OF_SAMPLE: (
                *("assigned", "score", "alpha", "n_units", "n_disputed", "n_ignored"),
                *("n_values", "n_areas", "n_shared", "n_pairs", "n_masks", "n_planes", "n_labels"),
            ),
            "n_values": ("values",),
            "n_areas": ("areas",),
            "n_shared": ("shared",),
            "n_pairs": ("boundaries",),
            "n_planes": ("planes",),
            "n_labels": ("label_id",),
        }
    )

    def agreements(self, background: int | None, config: AgreementConfig) -> Iterator[PixelAgreement]:
        """The agreement on all samples, in chunks and in order; samples left out count as without masks.

        Args:
            background: value of the background; None if there is none
        """
        for part in self.blocks("n_shared", MAX_AREAS_AT_ONCE):
            if config.empty == "skip":  # as if nobody had a mask where all masks are only background
                n_values, n_samples = part["n_values"], len(part["n_values"])
                is_class = are_classes(part["values"], background)
                n_classes = np.bincount(np.repeat(np.arange(n_samples), n_values)[is_class], minlength=n_samples)
                kept = (n_classes > 0) | (n_values == 0)
                rows = ("n_values", "values"), ("n_areas", "areas"), ("n_shared", "shared"), ("n_pairs", "boundaries")
                part |= {name: part[name][np.repeat(kept, part[n])] for n, name in rows if name in part}
                part |= {name: part[name] * kept for name in ("n_values", "n_ignored")}
                part["assigned"] = part["assigned"] * kept[:, None]
            yield measure(part, self.n_annotators, background, config)

    def areas(self) -> Iterator[tuple[IntArray, IntArray, IntArray, IntArray]]:
        """The areas of all compared masks, in chunks: columns sample, annotator, value and pixels."""
        start = 0
        for part in self.blocks("n_areas", MAX_AREAS_AT_ONCE):
            assigned, n_values = unpacked(part["assigned"], self.n_annotators), part["n_values"].astype(np.int64)
            # the areas of a sample are stored mask by mask, each with all values of the sample
            masked, annotator = np.nonzero(assigned & (assigned.sum(axis=1, keepdims=True) >= 2))
            of_mask = np.repeat(np.arange(len(masked)), n_values[masked])
            value = part["values"][ranges((np.cumsum(n_values) - n_values)[masked], n_values[masked])]
            columns = (value.astype(np.int64), part["areas"].astype(np.int64))
            yield start + masked[of_mask], annotator[of_mask], *columns
            start += len(n_values)


def record_pixels(agreement: PixelAgreement) -> PixelRecords:
    """The records of a batch."""
    n_units, n_disputed = compact(agreement.n_units), compact(agreement.n_disputed)
    found = {"score": agreement.score, "alpha": agreement.alpha, "n_units": n_units, "n_disputed": n_disputed}
    return PixelRecords(agreement.assigned.shape[1], ({**agreement.columns, **found},))


#: a pair of masks takes about as long to compare as the pairs of two lists of so many objects
_AS_OBJECTS = 12
#: pairs of masks that are compared at once
_PAIRS_AT_ONCE = 1_000
#: masks whose points are hashed at once
_MASKS_AT_ONCE = 5_000


def mask_distances(records: PixelRecords, context: ReportContext) -> ExpectedDistances:
    """The distances of masks of different images: 1 - mean IoU of the classes that either of the two used.

    Masks are compared at 896 points, as if all images had the same size. Two masks
    without classes have the distance 0.
    """
    masks = _Masks.of(records, MaskValues.from_dict(context.details).background)
    rows = np.flatnonzero(image_distances(records)[0][masks.sample])
    content = _drawn(records, masks)[rows]

    def distances(i: IntArray, j: IntArray) -> FloatArray:
        parts = [np.empty(0)]
        for start in range(0, len(i), _PAIRS_AT_ONCE):
            some = slice(start, start + _PAIRS_AT_ONCE)
            parts.append(masks.distances(rows[i[some]], rows[j[some]]))
        return np.where(content[i] == content[j], 0.0, np.concatenate(parts))

    n_objects, is_empty = np.full(len(rows), _AS_OBJECTS), masks.n_classes[rows] == 0
    annotations = Annotations(masks.sample[rows], content, n_objects, is_empty, distances)
    return ExpectedDistances.of(annotations, records, context.clusters)


def sample_contents(records: PixelRecords, context: ReportContext) -> tuple[Hashes, FloatArray]:
    """Content of the samples for :func:`~..statistics.records.content_ranks`; independent of order and ids.

    Returns:
        hashes of the areas and points of every mask, and of what two masks share ``(S,)``, and values ``(S, D)``:
        score, alpha and the boundary numbers
    """
    masks, n_samples = _Masks.of(records, MaskValues.from_dict(context.details).background), records.n_samples
    annotators, assigned = mixed(name_hashes(context.annotators)), records.assigned
    own = annotators[np.nonzero(assigned & (assigned.sum(axis=1, keepdims=True) >= 2))[1]]
    total = with_numbers(assignment_hashes(assigned, annotators), records.column("n_ignored").astype(np.float64))
    total += hash_sums(masks.sample, mixed(own + _drawn(records, masks)), n_samples)
    i, j = pairs_within(masks.sample)
    pair, value = np.repeat(np.arange(len(i)), masks.n_values[i]), ranges(masks.first_value[i], masks.n_values[i])
    shared = combined((own[i] + own[j])[pair], records.column("values").astype(np.int64)[value])
    total += hash_sums(masks.sample[i][pair], combined(shared, records.column("shared").astype(np.int64)), n_samples)
    values = [records.column("score"), records.column("alpha")]
    if "boundaries" in records.parts[0]:
        numbers = np.nan_to_num(records.column("boundaries"))
        values += [sums_by(masks.sample[i], column, n_samples) for column in numbers.T]
    return total, np.column_stack(values)


def _drawn(records: PixelRecords, masks: _Masks) -> Hashes:
    """A hash of the areas and the points of every mask, shape ``(M,)``."""
    mask = np.repeat(np.arange(len(masks.sample)), masks.n_values)
    value = records.column("values").astype(np.int64)[ranges(masks.first_value, masks.n_values)].astype(np.uint64)
    content = hash_sums(mask, combined(mixed(value), records.column("areas").astype(np.int64)), len(masks.sample))
    for start in range(0, len(content), _MASKS_AT_ONCE):
        some = np.arange(start, min(start + _MASKS_AT_ONCE, len(content)))
        for words in masks.numbers(some).astype(np.uint16).view(np.uint64).T:
            content[some] = mixed(content[some] + words)
    return content


@dataclass(frozen=True, slots=True)
class _Masks:
    """The ``M`` masks of rated samples, and their classes, mask by mask."""

    sample: IntArray  #: shape ``(M,)``
    planes: NDArray[np.uint8]  #: shape ``(B, G / 8)``, bits of the indices at points, mask by mask
    first_plane: IntArray  #: shape ``(M,)``, row of its first bit in ``planes``
    n_values: IntArray  #: shape ``(M,)``, number of values of the sample
    first_value: IntArray  #: shape ``(M,)``, row of its first value in ``value``
    value: IntArray  #: shape ``(V,)``, code of every value of every sample
    n_codes: int
    n_classes: IntArray  #: shape ``(M,)``
    class_number: IntArray  #: shape ``(C,)``, number of every class of every mask among the values of the sample
    class_code: IntArray  #: shape ``(C,)``

    @classmethod
    def of(cls, records: PixelRecords, background: int | None) -> _Masks:
        """The masks of records."""
        n_values = records.column("n_values").astype(np.int64)
        sample = np.repeat(np.arange(records.n_samples), records.column("n_masks"))
        codes, value = np.unique(records.column("values"), return_inverse=True)
        of_mask, first_value = n_values[sample], (np.cumsum(n_values) - n_values)[sample]
        mask, number = np.repeat(np.arange(len(sample)), of_mask), ranges(np.zeros_like(of_mask), of_mask)
        code = value[first_value[mask] + number]
        used = (records.column("areas") > 0) & are_classes(codes, background)[code]
        first_plane, n_classes = (
            np.cumsum(bits_of(of_mask)) - bits_of(of_mask),
            np.bincount(mask[used], minlength=len(sample)),
        )
        columns = (sample, records.column("planes"), first_plane, of_mask, first_value, value)
        return cls(*columns, len(codes), n_classes, number[used], code[used])

    def distances(self, i: IntArray, j: IntArray) -> FloatArray:
        """The distances of pairs of masks, shape ``(P,)``."""
        n, width = len(i), int(max(self.n_values[i].max(initial=0), self.n_values[j].max(initial=0))) + 1
        number_i, number_j = self.numbers(i), self.numbers(j)
        compared = (number_i < self.n_values[i][:, None]) & (number_j < self.n_values[j][:, None])
        pair, point = np.nonzero(compared)
        number_i, number_j = number_i[pair, point], number_j[pair, point]
        same = self.value[self.first_value[i][pair] + number_i] == self.value[self.first_value[j][pair] + number_j]
        cell_i, cell_j = pair * width + number_i, pair * width + number_j
        points = [np.bincount(cells, minlength=n * width) for cells in (cell_i, cell_j, cell_i[same])]
        first = np.cumsum(self.n_classes) - self.n_classes
        pairs = [np.repeat(np.arange(n), self.n_classes[masks]) for masks in (i, j)]
        rows = [ranges(first[masks], self.n_classes[masks]) for masks in (i, j)]
        cells = [pair * width + self.class_number[row] for pair, row in zip(pairs, rows, strict=True)]
        codes = [pair * self.n_codes + self.class_code[row] for pair, row in zip(pairs, rows, strict=True)]
        keys, place = np.unique(np.concatenate(codes), return_inverse=True)
        of_i, of_j = np.split(place, [len(codes[0])])
        in_i, in_j, shared = (
            sums_by(where, points[k][at], len(keys))
            for k, where, at in ((0, of_i, cells[0]), (1, of_j, cells[1]), (2, of_i, cells[0]))
        )
        iou, pair = shared / np.maximum(in_i + in_j - shared, 1.0), keys // max(self.n_codes, 1)
        n_classes = np.bincount(pair, minlength=n)
        return np.where(n_classes > 0, 1.0 - sums_by(pair, iou, n) / np.maximum(n_classes, 1), 0.0)

    def numbers(self, masks: IntArray) -> IntArray:
        """Indices of the values of some masks at points, ``(P, G)``; see :class:`~..pixels.compute.SampleMasks`."""
        n_bits, found = bits_of(self.n_values[masks]), np.zeros((len(masks), 8 * self.planes.shape[1]), np.int64)
        for bit in range(int(n_bits.max(initial=0))):
            rows = np.flatnonzero(n_bits > bit)
            of_bit = np.unpackbits(self.planes[self.first_plane[masks[rows]] + bit], axis=1)
            found[rows] += of_bit.astype(np.int64) << bit
        return found
