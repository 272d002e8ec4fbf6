"""Records of samples: compact columns, stored with a run, to compute the numbers of any view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, ranges

#: columns by name
Columns = dict[str, NDArray[Any]]
AnyColumns = Mapping[str, NDArray[Any]]

#: in ``Records.rows``: the column has one row per sample
OF_SAMPLE = ""

R = TypeVar("R", bound="Records")


@dataclass(frozen=True, slots=True)
class SampleValues:
    """Values of every sample that all label types have."""

    score: FloatArray  #: shape ``(S,)``, nan where not scored
    alpha: FloatArray  #: shape ``(S,)``, nan where undefined or not computed for this label type
    n_annotators: IntArray  #: shape ``(S,)``, assigned annotators
    n_objects: IntArray  #: shape ``(S,)``, compared labels
    n_units: IntArray  #: shape ``(S,)``, compared units (objects, tags, classes of pixels)
    n_disputed: IntArray  #: shape ``(S,)``, units without full agreement


@dataclass(frozen=True, slots=True)
class Records:
    """Columns of any number of samples; ``+`` joins the records of batches."""

    n_annotators: int  #: number of annotators ``R``
    parts: tuple[AnyColumns, ...]  #: columns of every batch, by name

    family: ClassVar[str]  #: the family of label types
    #: for every column ``OF_SAMPLE`` (one row per sample), or the name of the column with its number of rows per sample
    rows: ClassVar[Mapping[str, str]]

    def __add__(self: R, other: R) -> R:
        return replace(self, parts=self.parts + other.parts)

    @property
    def n_samples(self) -> int:
        """Number of samples ``S``."""
        return sum(len(part["score"]) for part in self.parts)

    @property
    def assigned(self) -> BoolArray:
        """Whether an annotator was assigned to a sample, shape ``(S, R)``."""
        return unpacked(self.column("assigned"), self.n_annotators)

    @property
    def otherwise(self) -> BoolArray:
        """Who would have been assigned if a null label list had the other meaning, shape ``(S, R)``."""
        known = "otherwise" in self.parts[0]
        return unpacked(self.column("otherwise"), self.n_annotators) if known else self.assigned

    def column(self, name: str) -> NDArray[Any]:
        """A column of all samples."""
        columns = [part[name] for part in self.parts]
        return columns[0] if len(columns) == 1 else np.concatenate(columns)

    def sample_values(self) -> SampleValues:
        """The values that all label types have."""
        raise NotImplementedError

    def select(self: R, samples: BoolArray) -> R:
        """Records of the samples in a mask ``(S,)``."""
        parts: list[Columns] = []
        start = 0
        for part in self.parts:
            kept = samples[start : start + len(part["score"])]
            start += len(kept)
            parts.append({name: values[self._mask(part, name, kept)] for name, values in part.items()})
        return replace(self, parts=tuple(parts))

    def take(self: R, samples: IntArray) -> R:
        """Records of the samples at the given rows, in that order."""
        taken: Columns = {}
        for name, counted in self.rows.items():
            if name not in self.parts[0]:
                continue
            if counted == OF_SAMPLE:
                taken[name] = self.column(name)[samples]
                continue
            counts = self.column(counted).astype(np.int64)
            taken[name] = self.column(name)[ranges((np.cumsum(counts) - counts)[samples], counts[samples])]
        return replace(self, parts=(taken,))

    def beside(self) -> Columns:
        """Arrays that are stored beside the columns of samples."""
        return {}

    def with_beside(self: R, arrays: AnyColumns) -> R:
        """The same records with what :meth:`beside` gave."""
        return self

    def chunks(self, counted: str, at_once: int) -> Iterator[Columns]:
        """Columns of consecutive samples in chunks of bounded size; a single empty chunk if there is no sample.

        Args:
            counted: name of the column whose sum is limited in a chunk
            at_once: largest sum in a chunk; a single sample may exceed it
        """
        for part in self.parts:
            total = np.cumsum(part[counted], dtype=np.int64)
            start, n_samples = 0, len(total)
            while start < n_samples or (n_samples == 0 and start == 0):
                done = int(total[start - 1]) if start else 0
                end = max(start + 1, int(np.searchsorted(total, done + at_once, side="right")))
                yield self._slice(part, start, end)
                start = end

    def _mask(self, part: AnyColumns, name: str, samples: BoolArray) -> BoolArray:
        """Mask of the rows of a column that belong to the chosen samples."""
        counted = self.rows[name]
        return samples if counted == OF_SAMPLE else np.repeat(samples, part[counted])

    def _slice(self, part: AnyColumns, start: int, end: int) -> Columns:
        """The columns of consecutive samples."""
        cut = {}
        for name, values in part.items():
            counted = self.rows[name]
            if counted == OF_SAMPLE:
                cut[name] = values[start:end]
                continue
            first = int(part[counted][:start].sum(dtype=np.int64))
            cut[name] = values[first : first + int(part[counted][start:end].sum(dtype=np.int64))]
        return cut


def compact(values: IntArray) -> NDArray[Any]:
    """Integers in the smallest type that holds them; never uint64, which numpy combines with int64 to floats."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    types: tuple[type[np.integer[Any]], ...] = (np.uint8, np.uint16, np.uint32) if low >= 0 else (np.int8, np.int16)
    return values.astype(next((kind for kind in types if _fits(kind, low, high)), np.int64))


def _fits(kind: type[np.integer[Any]], low: int, high: int) -> bool:
    limits = np.iinfo(kind)
    return limits.min <= low and high <= limits.max


def packed(assigned: BoolArray) -> NDArray[np.uint8]:
    """Pack assignments into bits, eight annotators per byte."""
    return np.packbits(assigned, axis=1)


def unpacked(bits: NDArray[np.uint8], n_annotators: int) -> BoolArray:
    """Assignments, shape ``(S, R)``, from the bits of :func:`packed`."""
    return np.unpackbits(bits, axis=1, count=n_annotators).astype(np.bool_)
