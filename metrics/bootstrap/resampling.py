"""Bootstrap confidence intervals: samples are resampled, never their units.

A statistic is a function of sums of additive columns over the samples. A resample therefore costs one row of a matrix
product; nothing is measured or matched again. Units of one sample are correlated (one image, one scene): resampling
them one by one would give intervals that are too narrow.

Axes: ``S`` samples, ``C`` columns, ``B`` resamples, ``V`` values of a statistic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from ..numeric.arrays import FloatArray, IntArray
from .confidence import ConfidenceIntervals, confidence_intervals
from .draws import Columns, Draws, Part, Statistic, checked_columns, left_out_power_sums, resampled, values_of


def _check_draws(resamples: int, seed: int) -> None:
    if resamples < 1:
        raise ValueError(f"`resamples` must be at least 1, got {resamples!r}")
    if seed < 0:
        raise ValueError(f"`seed` must be at least 0, got {seed!r}")


@dataclass(frozen=True, slots=True)
class Resampling:
    """Scheme by which samples are resampled.

    Attributes:
        resamples: number of resamples, ``>= 1``
        seed: seed of the random numbers, ``>= 0``
        level: confidence level, in (0, 1)
        clusters: shape ``(S,)``, cluster (video or group) of every sample; whole clusters are then resampled
    """

    resamples: int = 1000
    seed: int = 51
    level: float = 0.95
    clusters: IntArray | None = None

    def __post_init__(self) -> None:
        _check_draws(self.resamples, self.seed)
        if not 0 < self.level < 1:
            raise ValueError(f"`level` must be in (0, 1), got {self.level!r}")


DEFAULT = Resampling()


def sums_of_clusters(columns: Columns, clusters: IntArray) -> Columns:
    """Add up the rows of every cluster, in ascending order of the clusters' numbers.

    Args:
        columns: shape ``(S, C)``
        clusters: shape ``(S,)``, cluster of every row

    Returns:
        shape ``(G, C)`` for ``G`` clusters; sparse if ``columns`` are

    Undefined:
        never

    Raises:
        ValueError: if there is not one cluster for every row, or the columns are unusable as in :func:`bootstrap`
    """
    rows = checked_columns(columns, "columns")
    if np.shape(clusters) != rows.shape[:1]:
        raise ValueError(f"`clusters` must have shape ({rows.shape[0]},), one for every row, got {np.shape(clusters)}")
    found, number = np.unique(clusters, return_inverse=True)
    n_rows = len(number)
    members = csr_array((np.ones(n_rows), (number, np.arange(n_rows))), shape=(len(found), n_rows))
    return members @ rows


def bootstrap(columns: Columns, statistic: Statistic, resampling: Resampling = DEFAULT) -> ConfidenceIntervals:
    """Confidence intervals of a statistic by resampling samples, or clusters of them.

    Args:
        columns: shape ``(S, C)``, additive columns of every sample, in a reproducible order such as by id
        statistic: function of their sums
        resampling: number of resamples, seed, level and clusters

    Returns:
        percentile and BCa intervals and standard errors; see :func:`~.confidence.confidence_intervals`. If the standard
        errors of bootstrap and jackknife differ much, trust neither

    Undefined:
        all nan with fewer than two samples (clusters), and for an undefined value. All but the estimate are nan where
        more than half of the resamples are undefined, or leaving out one sample makes the value undefined. Fewer
        undefined resamples are left out and counted

    Raises:
        ValueError: if the columns do not have two dimensions or are not finite, there is not one cluster for every
            sample, or the statistic does not keep leading axes

    Example:
        >>> lengths = np.array([[1, 48], [1, 36], [1, 20], [1, 29], [1, 42]], dtype=float)
        >>> mean = bootstrap(lengths, lambda sums: sums[..., 1:] / sums[..., :1])
        >>> mean.estimate, mean.jackknife_error.round(4)
        (array([35.]), array([4.899]))

    References:
        B. Efron, R. J. Tibshirani, "An Introduction to the Bootstrap", 1993; A. C. Davison, D. V. Hinkley, "Bootstrap
        Methods and their Application", 1997, section 3.8, and A. C. Cameron, J. B. Gelbach, D. L. Miller,
        "Bootstrap-based improvements for inference with clustered errors", 2008 (resampling clusters)
    """
    rows = checked_columns(columns, "columns")
    return bootstrap_parts([Part(rows, statistic)], int(rows.shape[0]), resampling)[0]


def bootstrap_parts(
    parts: Sequence[Part], n_samples: int, resampling: Resampling = DEFAULT, draws: Draws | None = None
) -> list[ConfidenceIntervals]:
    """Confidence intervals of several statistics of the same samples; each as :func:`bootstrap` gives.

    The samples are drawn once for all parts. A part costs only its own samples and columns, so that many statistics of
    few columns need no table of all columns.

    Args:
        parts: the statistics
        n_samples: number of samples ``S``
        resampling: as for :func:`bootstrap`
        draws: of these samples (or clusters), resamples and seed, if they are used several times; None: new ones

    Undefined:
        as for :func:`bootstrap`

    Raises:
        ValueError: as for :func:`bootstrap`; if a part does not have one row for each of its samples
    """
    if resampling.clusters is not None and np.shape(resampling.clusters) != (n_samples,):
        raise ValueError(
            f"`clusters` must have shape ({n_samples},), one for every row, got {np.shape(resampling.clusters)}"
        )
    parts = [_cluster_sums(part, n_samples, resampling.clusters) for part in parts]
    if resampling.clusters is not None:
        n_samples = len(np.unique(resampling.clusters))
    totals = [np.asarray(part.columns.sum(axis=0), dtype=np.float64) for part in parts]
    estimates = [values_of(part.statistic, total) for part, total in zip(parts, totals, strict=True)]
    if n_samples < 2:
        return [ConfidenceIntervals.undefined(len(each), resampling.resamples, n_samples) for each in estimates]
    values: list[list[FloatArray]] = [[] for _ in parts]
    for chunk in resampled(parts, draws or Draws(n_samples, resampling.resamples, resampling.seed)):
        for part, sums, found in zip(parts, chunk, values, strict=True):
            found.append(values_of(part.statistic, sums))
    return [
        confidence_intervals(
            estimate,
            np.concatenate(found),
            left_out_power_sums(part, total, estimate),
            n_samples=n_samples,
            level=resampling.level,
            n_used=part.n_used,
        )
        for part, total, estimate, found in zip(parts, totals, estimates, values, strict=True)
    ]


def _cluster_sums(part: Part, n_samples: int, clusters: IntArray | None) -> Part:
    """The part with checked columns; with clusters, with the sums of every cluster."""
    rows = checked_columns(part.columns, "columns")
    samples = part.samples
    if rows.shape[0] != (n_samples if samples is None else len(samples)):
        raise ValueError(f"`columns` must have a row for every sample of the part, got {rows.shape[0]} rows")
    if clusters is None:
        return Part(rows, part.statistic, samples, part.n_used)
    number = np.unique(clusters, return_inverse=True)[1].ravel()
    if samples is None:
        return Part(sums_of_clusters(rows, number), part.statistic, n_used=part.n_used)
    return Part(sums_of_clusters(rows, number[samples]), part.statistic, np.unique(number[samples]), part.n_used)
