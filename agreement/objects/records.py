"""``ObjectRecords``: columns of labels and units stored with a run; ``Gathered``: rows, counts, moments for a report.

Records take about 1.5 kB for a sample with 21 boxes of three annotators; each polygon or mask takes 96 bytes more.
``Gathered`` gathers over blocks of samples what a report needs besides sums: rows, counts of codes, moments.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...metrics.matching.merging import TIE
from ...metrics.numeric.arrays import FloatArray, IntArray, sums_by
from ..matching.compute import MatchedBatch
from ..matching.tables import Tables
from ..matching.verdicts import AGREED
from ..settings.config import AgreementConfig
from ..statistics.records import OF_SAMPLE, Records, SampleValues, compact, rows_by_column
from ..statistics.report import Describe
from .report import Sample

#: options for tables from which nothing is read that depends on options
ANY_OPTIONS = AgreementConfig(())
#: objects that are unpacked at once
MAX_OBJECTS_AT_ONCE = 100_000

#: columns by what a row of them is (sample, label, unit, pair of matched labels …): the key is the column with the
#: number of such rows on each sample. Here an object is a label of an annotator; what is matched is a unit
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
        """The tables of all samples, in order and block by block; ``known`` are fields of :class:`Tables`
        that are computed already.

        Without ``config`` only attributes that do not depend on options may be used.
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
    """The id of every unit: the id of its first label.

    If another unit of the sample already has this id (cloned fields share label ids), the annotator of the first
    label is appended.

    Args:
        first: id of the first label of every unit ``(U,)``
        sample: sample of every unit
        annotator: annotator of its first label
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


#: length of lists of worst samples
N_WORST = 5
#: bins of the histograms, from 0 to 1
N_BINS = 20
#: values that are binned in one step of a histogram
_VALUES_AT_ONCE = 1 << 20


class Gathered:
    """What a report needs besides sums, gathered over consecutive blocks of samples.

    Three kinds of arrays by name: rows, which are joined; counts of codes, and moments, which are added.
    """

    def __init__(self) -> None:
        self._rows: dict[str, list[NDArray[Any]]] = defaultdict(list)
        self._counts: dict[str, list[IntArray]] = defaultdict(list)
        self._moments: dict[str, FloatArray] = {}

    def add(self, found: Mapping[str, NDArray[Any]]) -> None:
        """Add rows of the next samples."""
        for name, rows in found.items():
            self._rows[name].append(rows)

    def add_counts(self, found: Mapping[str, IntArray]) -> None:
        """Add counts, see :func:`count_codes`; parts of similar size are merged, so that a row is sorted few times."""
        for name, counts in found.items():
            parts = self._counts[name]
            parts.append(counts)
            while len(parts) > 1 and parts[-2].shape[1] <= 2 * parts[-1].shape[1]:
                parts[-2:] = [_counts_together(parts[-2:])]

    def add_moments(self, found: Mapping[str, FloatArray]) -> None:
        """Add moments, see :func:`moments`."""
        for name, new in found.items():
            old = self._moments.get(name, np.zeros_like(new))
            n = old[0] + new[0]
            share, distance = new[0] / np.maximum(n, 1), new[1] - old[1]
            spread = old[2] + new[2] + distance**2 * old[0] * share
            self._moments[name] = np.stack([n, old[1] + distance * share, spread])

    def rows(self, name: str) -> NDArray[Any]:
        """Rows of all samples."""
        return np.concatenate(self._rows[name])

    def counts(self, name: str) -> IntArray:
        """Counts over all samples, as :func:`count_codes` gives them."""
        return _counts_together(self._counts[name])

    def moments(self, name: str) -> FloatArray:
        """Moments over all samples, as :func:`moments` gives them."""
        return self._moments[name]


def count_codes(*columns: IntArray, times: IntArray | None = None) -> IntArray:
    """The different rows of ``k`` columns of codes ``>= 0``, ascending, with how often each occurs: ``(k + 1, T)``.

    Args:
        times: shape ``(N,)``, how often every row occurs; None: once
    """
    shape = [int(column.max(initial=0)) + 1 for column in columns]
    if np.prod(shape, dtype=np.float64) >= 2.0**62:  # too many for one integer each, as of attributes with many values
        different, place = np.unique(np.stack(columns), axis=1, return_inverse=True)
        n = np.bincount(place.ravel(), times, minlength=different.shape[1])
        return np.vstack([different, n.astype(np.int64)])
    key = np.ravel_multi_index(columns, shape)
    if times is None:
        cells, n = np.unique(key, return_counts=True)
    else:
        cells, place = np.unique(key, return_inverse=True)
        n = np.bincount(place, times, minlength=len(cells)).astype(np.int64)
    return np.vstack([*np.unravel_index(cells, shape), n])


def _counts_together(parts: list[IntArray]) -> IntArray:
    if len(parts) == 1:
        return parts[0]
    *columns, times = np.hstack(parts)
    return count_codes(*columns, times=times)


def moments(row: IntArray, values: FloatArray, n_rows: int) -> FloatArray:
    """Number, mean and sum of squared deviations of the values of every row, ``(3, n_rows)``; rows without a
    value have the mean 0.

    References:
        T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing sample
        variances", 1979 (how :meth:`Gathered.add_moments` adds them)
    """
    n = np.bincount(row, minlength=n_rows)
    mean = sums_by(row, values, n_rows) / np.maximum(n, 1)
    return np.stack([n, mean, sums_by(row, (values - mean[row]) ** 2, n_rows)])


def described_worst(
    value: FloatArray, weight: FloatArray, area: FloatArray, describe: Describe, sign: float = 1.0
) -> list[Sample]:
    """The samples with the lowest values, without nan; ties go to the larger weight, then to the larger area.

    Args:
        value: shape ``(S,)``
        weight: shape ``(S,)``, number of labels, or pairs of labels, behind the value
        area: shape ``(S,)``, total area of the labels
        sign: -1 if the values were negated, to list the highest: undone in the result
    """
    order = np.lexsort((np.arange(len(value)), -area, -weight, value))[:N_WORST]  # nan comes last
    rows = order[~np.isnan(value[order])]
    found = zip(describe(rows.tolist()), (sign * value[rows]).tolist(), strict=True)
    return [{**entry, "value": number} for entry, number in found]


def mean(values: FloatArray) -> float | None:
    """The mean; None without a value."""
    return float(values.sum()) / len(values) if len(values) else None


def distribution(iou: FloatArray) -> dict[str, Any]:
    """Median and histogram of IoU, by name; None, and no histogram, without pairs of labels."""
    return {"median_iou": median(iou), "iou_histogram": histogram(iou) if len(iou) else []}


def median(values: FloatArray) -> float | None:
    """The median; None without a value."""
    if not len(values):
        return None
    places = [(len(values) - 1) // 2, len(values) // 2]  # the array may be large
    return float(np.partition(values, places)[places].mean())


def histogram(values: FloatArray) -> list[int]:
    """Number of values in [0, 1] in each bin of 0.05; values on an edge (within ``TIE``) are in the upper bin."""
    counts = np.zeros(N_BINS, np.int64)
    for start in range(0, len(values), _VALUES_AT_ONCE):
        some = values[start : start + _VALUES_AT_ONCE]
        place = np.minimum(((some + TIE) * N_BINS).astype(np.int64), N_BINS - 1)
        counts += np.bincount(place, minlength=N_BINS)
    found: list[int] = counts.tolist()
    return found


def rows_by_code(code: IntArray, n: int) -> Iterator[IntArray]:
    """Rows with every code ``0 … n - 1``, in turn."""
    order = np.argsort(code, kind="stable")
    ends = np.searchsorted(code[order], np.arange(n + 1)).tolist()
    for first, last in itertools.pairwise(ends):
        yield order[first:last]
