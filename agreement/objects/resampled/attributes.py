"""The numbers of attributes as functions of sums over samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ....metrics.alpha.rated import MAX_VALUES, interval_alpha_of_sums
from ....metrics.arrays import FloatArray, IntArray, sums_by
from ....metrics.bootstrap.draws import SparseColumns, hstack, vstack
from ...attribute_values import NOT_GIVEN
from ...config import Undefined
from ...numbers import Numbers, ratio
from ..attributes import Values
from ..chunk import Chunk
from ..compute import Ratings
from .tallies import TallySums, of_used_categories, tally_columns

#: columns before those of alpha: the share of pairs of values that differ, and units
_HEAD = 2


class AttributeColumns:
    """Collects the columns of all compared attributes, of units in which two or more annotators gave a value."""

    def __init__(self, attributes: Sequence[Values], undefined: Undefined) -> None:
        self._attributes = [_Attribute(values, undefined) for values in attributes]

    def add(self, chunk: Chunk) -> None:
        """Add the findings of the next samples."""
        for attribute, codes in zip(self._attributes, chunk.findings.attributes, strict=False):
            attribute.add(chunk, codes)

    def sums(self) -> Iterator[Numbers]:
        """The numbers of every attribute."""
        for attribute in self._attributes:
            yield from attribute.sums()


class _Attribute:
    def __init__(self, values: Values, undefined: Undefined) -> None:
        self._values = values
        self._undefined = undefined
        self._only_numbers = True
        self._plain: list[FloatArray] = []
        self._numbers: list[FloatArray] = []
        self._classes: list[SparseColumns] = []
        known = values.numbers[~np.isnan(values.numbers)]
        # neither a large mean nor large numbers cost digits
        middle, spread = (float(known.mean()), float(np.ptp(known))) if len(known) else (0.0, 0.0)
        self._scaled = (values.numbers - middle) / (spread or 1.0)

    def add(self, chunk: Chunk, codes: IntArray) -> None:
        findings = chunk.findings
        pairs, unit, sample = findings.pairs, findings.unit, findings.units.sample
        n_samples, n_units = findings.n_samples, len(sample)
        given = codes != NOT_GIVEN
        n_given = np.bincount(unit[given], minlength=n_units)
        both = given[pairs.i] & given[pairs.j]
        i, j = pairs.i[both], pairs.j[both]
        m = n_given[unit[i]]
        differ = self._values.differ(codes[i], codes[j])
        share = sums_by(chunk.match_sample[both], 2.0 * differ / (m * (m - 1)), n_samples)
        n_compared = np.bincount(sample[n_given >= 2], minlength=n_samples)
        self._plain.append(np.column_stack([share, n_compared]).astype(np.float64))

        compared = given & (n_given[unit] >= 2)
        numbers = self._scaled[codes]
        if np.isnan(numbers[compared]).any():
            self._only_numbers = False
        observed = np.nan_to_num(2.0 * (numbers[i] - numbers[j]) ** 2 / (m - 1))
        of_object, value = findings.objects.sample[compared], np.nan_to_num(numbers[compared])
        of_objects = [sums_by(of_object, each, n_samples) for each in (np.ones(len(value)), value, value**2)]
        self._numbers.append(np.column_stack([*of_objects, sums_by(chunk.match_sample[both], observed, n_samples)]))
        if len(self._values.values) <= MAX_VALUES["nominal"]:
            n_values = len(self._values.values)
            cells, count = np.unique(unit[compared] * n_values + codes[compared], return_counts=True)
            ratings = Ratings(cells // n_values, cells % n_values, count, sample)
            self._classes.append(tally_columns(ratings, n_samples, n_values))

    def sums(self) -> Iterator[Numbers]:
        if not self._plain:
            return
        key, undefined = f"attributes.{self._values.name}", self._undefined
        plain = np.concatenate(self._plain)
        keys = ((f"{key}.percent_agreement",), (f"{key}.alpha",))

        def of_numbers(sums: FloatArray) -> FloatArray:
            return np.stack([_agreement(sums), interval_alpha_of_sums(sums[..., _HEAD:], undefined)], axis=-1)

        def of_classes(sums: FloatArray) -> FloatArray:
            return np.stack([_agreement(sums), TallySums(sums[..., _HEAD:]).alpha(undefined)], axis=-1)

        basis = np.ones(2, np.int64)
        if self._only_numbers:
            yield Numbers(keys, hstack([plain, np.concatenate(self._numbers)]), of_numbers, basis=basis)
        elif self._classes:
            classes = of_used_categories(vstack(self._classes))
            yield Numbers(keys, hstack([plain, classes]), of_classes, basis=basis)
        else:
            yield Numbers(keys[:1], hstack([plain]), lambda sums: _agreement(sums)[..., None], basis=basis[:1])


def _agreement(sums: FloatArray) -> FloatArray:
    return 1.0 - ratio(sums[..., 0], sums[..., 1])
