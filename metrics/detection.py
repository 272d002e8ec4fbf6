"""Agreement of two annotators on the objects of an image: F1, panoptic quality, mean of the best IoU."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .arrays import FloatArray


def f1_score(n_matched: ArrayLike, n_a: ArrayLike, n_b: ArrayLike) -> FloatArray:
    """F1 of two annotators, ``2 n_matched / (n_a + n_b)``, in [0, 1]; the recognition quality RQ.

    Symmetric. Arrays of one shape, or numbers.

    Args:
        n_matched: pairs of objects that count as matched
        n_a: objects of ``a``
        n_b: objects of ``b``

    Undefined:
        nan where both have no object
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
        n_a: objects of ``a``
        n_b: objects of ``b``

    Undefined:
        nan where both have no object

    References:
        A. Kirillov et al., "Panoptic Segmentation", CVPR 2019, equation 1
    """
    return f1_score(iou_sum, n_a, n_b)


def mean_max_iou(iou: FloatArray) -> tuple[float, float, float]:
    """Mean over one annotator's objects of the best IoU with the other's: ``(a to b, b to a, symmetric)``.

    Several objects may share a best partner, and there is no threshold. The symmetric value is the mean of the two
    directions, 0 where only one annotator has objects.

    Args:
        iou: shape ``(N, M)``, IoU of every object of ``a`` with every object of ``b``

    Undefined:
        a direction is nan where its first annotator has no object (0 where only the other has none); the symmetric
        value where both have none; nan entries (two boxes without area) make the values nan that look at them

    Raises:
        ValueError: if the array does not have two dimensions

    Example:
        >>> mean_max_iou(np.array([[0.6, 0.0, 0.0], [0.0, 1.0, 0.0]]))[0]
        0.8

    References:
        A. Braylan et al., "Measuring Annotator Agreement Generally across Complex Structured, Multi-object, and
        Free-text Annotation Tasks", WWW 2022
    """
    matrix = np.asarray(iou, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"`iou` must have the shape (N, M), got {matrix.shape}")
    n, m = matrix.shape
    a_to_b = float(matrix.max(axis=1, initial=0.0).mean()) if n else float("nan")
    b_to_a = float(matrix.max(axis=0, initial=0.0).mean()) if m else float("nan")
    symmetric = (a_to_b + b_to_a) / 2.0 if n and m else (0.0 if n or m else float("nan"))
    return a_to_b, b_to_a, symmetric
