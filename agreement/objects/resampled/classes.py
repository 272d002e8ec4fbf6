"""The numbers of classes as functions of sums over samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....metrics.alpha.nominal import nominal_alpha_of_squares
from ....metrics.arrays import FloatArray, sums_by
from ....metrics.bootstrap.draws import SparseColumns, hstack, sparse, vstack
from ...classes import MISSING
from ...config import Undefined
from ...numbers import Numbers, ratio
from ..chunk import Chunk
from ..confusions import name_ranks

#: at most so many classes have intervals, the most frequent ones
MAX_CLASSES = 200

#: columns of every class
_OF_CLASS = ("observed", "n_ratings", "n_alike", "n_met", "iou", "n_missing", "n_expected")
#: quotients of two of them, by the number's name
_RATIOS = {
    "agreement_given_match": ("n_alike", "n_met"),
    "mean_iou": ("iou", "n_alike"),
    "miss_rate": ("n_missing", "n_expected"),
}
#: what a number is about: samples in which this is not 0
_BASIS = {"alpha": "n_ratings"} | {name: below for name, (_, below) in _RATIOS.items()}


class ClassColumns:
    """Collects the columns of classes; those of at most ``MAX_CLASSES`` are kept, the most frequent ones."""

    def __init__(self, class_names: Sequence[str], undefined: Undefined) -> None:
        self._names = class_names
        self._undefined = undefined
        self._n_objects = np.zeros(len(class_names), np.int64)
        self._n_ratings: list[FloatArray] = []
        self._columns: list[SparseColumns] = []

    def add(self, chunk: Chunk) -> None:
        """Add the findings of the next samples."""
        n_categories = len(self._names)
        self._n_objects += np.bincount(chunk.findings.objects.category[chunk.rated_object], minlength=n_categories)
        self._columns.append(_columns(chunk, n_categories))
        ratings = chunk.ratings
        n_ratings = sums_by(ratings.unit, ratings.count, len(ratings.sample))
        compared = n_ratings >= 2
        self._n_ratings.append(sums_by(ratings.sample[compared], n_ratings[compared], chunk.findings.n_samples))

    def sums(self) -> list[Numbers]:
        """The numbers of all classes that have intervals."""
        order = np.lexsort((name_ranks(self._names), -self._n_objects))[:MAX_CLASSES]
        codes = order[self._n_objects[order] > 0]
        if not len(codes):
            return []
        n, n_categories = len(codes), len(self._names)
        kept = np.concatenate([k * n_categories + codes for k in range(len(_OF_CLASS))])
        columns = vstack(self._columns)[:, kept]
        n_ratings = np.concatenate(self._n_ratings)[:, None]
        undefined = self._undefined

        def statistic(sums: FloatArray) -> FloatArray:
            by_class = sums[..., 1:].reshape(*sums.shape[:-1], len(_OF_CLASS), n)
            column = {name: by_class[..., k, :] for k, name in enumerate(_OF_CLASS)}
            own, all_ratings = column["n_ratings"], sums[..., :1]
            squares = own**2 + (all_ratings - own) ** 2
            alpha = nominal_alpha_of_squares(column["observed"], np.broadcast_to(all_ratings, own.shape), squares)
            if undefined == "one":
                alpha = np.where(np.isnan(alpha) & (all_ratings > 0), 1.0, alpha)
            return np.concatenate([alpha, *(ratio(column[a], column[b]) for a, b in _RATIOS.values())], axis=-1)

        found = Numbers(
            tuple(("classes", self._names[code], name) for name in _BASIS for code in codes.tolist()),
            hstack([n_ratings, columns]),
            statistic,
            basis=np.concatenate([1 + _OF_CLASS.index(name) * n + np.arange(n) for name in _BASIS.values()]),
        )
        return [found]


def _columns(chunk: Chunk, n_categories: int) -> SparseColumns:
    """The columns of every sample, shape ``(S, 7 K)``: all classes of the first column, then of the second …"""
    findings, ratings = chunk.findings, chunk.ratings
    units, pairs, category = findings.units, findings.pairs, findings.objects.category
    n_ratings = sums_by(ratings.unit, ratings.count, len(ratings.sample))[ratings.unit]
    compared = n_ratings >= 2
    m, n = n_ratings[compared], ratings.count[compared]
    rated_sample, rated_class = ratings.sample[ratings.unit[compared]], ratings.category[compared]

    alike, apart = pairs.same_class, ~pairs.same_class
    met_sample = np.concatenate([chunk.match_sample, chunk.match_sample[apart]])
    met_class = np.concatenate([category[pairs.i], category[pairs.j[apart]]])

    drawn = ratings.category != MISSING
    of_unit, given, count = ratings.unit[drawn], ratings.category[drawn], ratings.count[drawn]
    votes, assigned = units.votes[of_unit], units.assigned[of_unit]
    leads = (votes >= 2) & (2 * count > votes)
    led_sample, led_class = units.sample[of_unit[leads]], given[leads]
    alike_sample, alike_class = chunk.match_sample[alike], category[pairs.i[alike]]

    entries = {
        "observed": (rated_sample, rated_class, 2.0 * n * (m - n) / np.maximum(m - 1, 1)),
        "n_ratings": (rated_sample, rated_class, n),
        "n_alike": (alike_sample, alike_class, np.ones(len(alike_sample))),
        "n_met": (met_sample, met_class, np.ones(len(met_sample))),
        "iou": (alike_sample, alike_class, pairs.iou[alike]),
        "n_missing": (led_sample, led_class, (assigned - votes)[leads]),
        "n_expected": (led_sample, led_class, assigned[leads]),
    }
    rows, classes, values = zip(*(entries[name] for name in _OF_CLASS), strict=True)
    columns = [k * n_categories + of_class for k, of_class in enumerate(classes)]
    return sparse(
        np.concatenate(rows),
        np.concatenate(columns),
        np.concatenate(values),
        (findings.n_samples, len(_OF_CLASS) * n_categories),
    )
