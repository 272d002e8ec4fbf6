"""Pairs of annotators: F1, panoptic quality, alignment quality, and hierarchical clustering of annotators."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..numeric.arrays import FloatArray
from .merging import TIE


def f1_score(n_matched: ArrayLike, n_a: ArrayLike, n_b: ArrayLike) -> FloatArray:
    """F1 of two annotators, ``2 n_matched / (n_a + n_b)``, in [0, 1]; also called recognition quality (RQ).

    Symmetric. Arrays of one shape, or numbers.

    Args:
        n_matched: number of matched pairs
        n_a: number of objects of ``a``
        n_b: number of objects of ``b``

    Undefined:
        nan where neither has an object
    """
    total = np.asarray(n_a, dtype=np.float64) + np.asarray(n_b, dtype=np.float64)
    return np.where(total > 0, 2.0 * np.asarray(n_matched) / np.where(total > 0, total, 1.0), np.nan)


def segmentation_quality(iou_sum: ArrayLike, n_matched: ArrayLike) -> FloatArray:
    """Segmentation quality SQ: mean IoU of the matched pairs, in [0, 1].

    Args:
        iou_sum: sum of the IoU of the matched pairs
        n_matched: number of matched pairs; arrays of one shape, or numbers

    Undefined:
        nan without a matched pair
    """
    matched = np.asarray(n_matched, dtype=np.float64)
    return np.where(matched > 0, np.asarray(iou_sum) / np.where(matched > 0, matched, 1.0), np.nan)


def panoptic_quality(iou_sum: ArrayLike, n_a: ArrayLike, n_b: ArrayLike) -> FloatArray:
    """Panoptic quality of two annotators, ``2 Σ IoU / (n_a + n_b)``, in [0, 1]; equals SQ · RQ.

    Symmetric. Arrays of one shape, or numbers.

    Args:
        iou_sum: sum of the IoU of the matched pairs
        n_a: number of objects of ``a``
        n_b: number of objects of ``b``

    Undefined:
        nan where neither has an object

    References:
        A. Kirillov et al., "Panoptic Segmentation", CVPR 2019, equation 1
    """
    return f1_score(iou_sum, n_a, n_b)


@dataclass(frozen=True, slots=True)
class Alignment:
    """Quality of the alignment (mutual best matches) of two annotators, from sums over any number of samples.

    Undefined:
        recall, precision and F are nan where neither annotator has an object

    References:
        J. Hajič jr. and P. Pecina, "The MUSCIMA++ dataset for handwritten optical music recognition", ICDAR 2017

    Attributes:
        n_a: number of objects of ``a``
        n_b: number of objects of ``b``
        n_aligned: number of aligned pairs
        recall_sum: sum over aligned pairs of (shared area / area of the object of ``a``)
        precision_sum: sum over aligned pairs of (shared area / area of the object of ``b``)
    """

    n_a: int
    n_b: int
    n_aligned: int
    recall_sum: float
    precision_sum: float

    @property
    def _n(self) -> int:
        return self.n_a + self.n_b - self.n_aligned

    @property
    def recall(self) -> float:
        """Mean recall over aligned pairs and unaligned objects (which count 0); nan without objects."""
        return self.recall_sum / self._n if self._n else math.nan

    @property
    def precision(self) -> float:
        """Mean precision over aligned pairs and unaligned objects (which count 0); nan without objects."""
        return self.precision_sum / self._n if self._n else math.nan

    @property
    def f_score(self) -> float:
        """Harmonic mean of recall and precision, 0 where either is 0; nan without objects."""
        total = self.recall + self.precision
        return 2.0 * self.recall * self.precision / total if total else total


def average_linkage(similarity: FloatArray) -> list[tuple[tuple[int, ...], float]]:
    """Hierarchical clustering with average linkage (UPGMA) that allows unknown similarities.

    The similarity of two groups is the mean over the pairs of members whose similarity is known. Groups without a
    known pair are never joined. Ties (within ``TIE``) go to the groups whose members come first.

    Args:
        similarity: shape ``(N, N)``, symmetric, nan where unknown; the diagonal is not used

    Returns:
        the joins in order, each as its members (ascending) and the similarity of the two groups; ``N - 1`` joins, or
        fewer where similarities are unknown

    Undefined:
        never; no joins if nothing is known

    Raises:
        ValueError: if the matrix is not square or not symmetric

    Example:
        >>> average_linkage(np.array([[1, 0.9, 0.5], [0.9, 1, 0.4], [0.5, 0.4, 1]]))
        [((0, 1), 0.9), ((0, 1, 2), 0.45)]

    References:
        R. R. Sokal, C. D. Michener, "A statistical method for evaluating systematic relationships", 1958 (UPGMA)
    """
    matrix = np.asarray(similarity, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"`similarity` must have the shape (N, N), got {matrix.shape}")
    if not np.array_equal(matrix, matrix.T, equal_nan=True):
        raise ValueError("`similarity` must be symmetric")
    known = (~np.isnan(matrix)).astype(np.float64)
    total = np.nan_to_num(matrix)
    groups: list[tuple[int, ...]] = [(k,) for k in range(len(matrix))]
    joins = []
    while len(groups) > 1:
        first, second = np.triu_indices(len(groups), 1)
        n = known[first, second]
        mean = np.where(n > 0, total[first, second] / np.maximum(n, 1.0), -np.inf)
        if not (n > 0).any():
            break
        equal = np.flatnonzero(mean >= mean.max() - TIE)
        chosen = min(equal.tolist(), key=lambda k: (groups[first[k]], groups[second[k]]))
        a, b = int(first[chosen]), int(second[chosen])
        members = tuple(sorted(groups[a] + groups[b]))
        joins.append((members, float(mean[chosen])))
        for sums in (total, known):
            sums[a] += sums[b]
            sums[:, a] += sums[:, b]
        total, known = (np.delete(np.delete(sums, b, axis=0), b, axis=1) for sums in (total, known))
        groups[a] = members
        del groups[b]
    return joins
