"""Agreement of sessions of one person, and of different persons, as functions of sums over samples."""

from __future__ import annotations

import numpy as np

from ....metrics.arrays import BoolArray, FloatArray, IntArray
from ....metrics.bootstrap.draws import SparseColumns, hstack, scatter_rows
from ...config import Undefined
from ...numbers import Numbers, ratio
from .pair_columns import PLAIN, alpha_of, numbers_of

#: numbers of which a report has the mean over the pairs of a kind
_MEANS = ("score", "f1", "mean_iou")


def session_sums(
    pair: IntArray, sample: IntArray, columns: SparseColumns, intra: BoolArray, n_samples: int, undefined: Undefined
) -> Numbers:
    """The numbers of both kinds of pairs, and what those of one person have more (``difference_alpha``).

    Args:
        pair: shape ``(T,)``, pair of every row
        sample: shape ``(T,)``
        columns: shape ``(T, C + K)``, the plain columns of pairs, then those of the classes
        intra: shape ``(P,)``, which pairs are of one person
        n_samples: number of samples
        undefined: what alpha is without variation
    """
    n_pairs, width, n_plain = len(intra), columns.shape[1], len(PLAIN)
    kinds = (intra, ~intra)
    blocks = [scatter_rows(columns[kept], sample[kept], n_samples) for kept in (kind[pair] for kind in kinds)]
    plain = columns[:, :n_plain]
    blocks += [scatter_rows(plain[kept], sample[kept], n_samples) for kept in (pair == k for k in range(n_pairs))]

    def statistic(sums: FloatArray) -> FloatArray:
        of_pairs = numbers_of(sums[..., 2 * width :].reshape(*sums.shape[:-1], n_pairs, n_plain))
        found = []
        for k, kind in enumerate(kinds):
            pooled = sums[..., k * width : (k + 1) * width]
            found.append(alpha_of(pooled[..., :n_plain], pooled[..., n_plain:], undefined))
            found += [_mean_defined(of_pairs[name][..., kind]) for name in _MEANS]
        values = np.stack(found, axis=-1)
        n = values.shape[-1] // 2
        return np.concatenate([values, values[..., :n] - values[..., n:]], axis=-1)

    names = ("alpha", *_MEANS)
    n_shared = PLAIN.index("n_shared")
    return Numbers(
        tuple(("sessions", f"{kind}_{name}") for kind in ("intra", "inter", "difference") for name in names),
        hstack(blocks),
        statistic,
        basis=np.repeat([n_shared, width + n_shared, n_shared], len(names)),
    )


def _mean_defined(values: FloatArray) -> FloatArray:
    """Mean over the last axis of the values that are not nan; nan without any."""
    defined = ~np.isnan(values)
    return ratio(np.where(defined, values, 0.0).sum(axis=-1), defined.sum(axis=-1).astype(np.float64))
