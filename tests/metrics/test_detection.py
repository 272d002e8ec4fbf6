"""F1 and panoptic quality."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tests.chance import examples

from annotator_agreement.metrics import f1_score, panoptic_quality, segmentation_quality

NAN = float("nan")


@examples(150)
@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8), st.integers(0, 5), st.integers(0, 5))
def test_panoptic_quality_is_segmentation_times_recognition(iou: list, alone_a: int, alone_b: int) -> None:
    n_a, n_b = len(iou) + alone_a, len(iou) + alone_b
    quality = panoptic_quality(sum(iou), n_a, n_b)
    product = segmentation_quality(sum(iou), len(iou)) * f1_score(len(iou), n_a, n_b)
    assert_allclose(quality, product, rtol=1e-12)
    # Kirillov et al., equation 1: sum of IoU / (TP + FP / 2 + FN / 2)
    assert_allclose(quality, sum(iou) / (len(iou) + alone_a / 2 + alone_b / 2), rtol=1e-12)
    assert 0.0 <= quality <= 1.0 + 1e-12


def test_counts_of_many_pairs_are_taken_at_once() -> None:
    n_a, n_b = np.array([2, 0, 3, 0]), np.array([4, 0, 0, 2])
    assert_allclose(f1_score(np.array([1, 0, 0, 0]), n_a, n_b), [1 / 3, NAN, 0.0, 0.0], rtol=0, atol=1e-15)
    assert_allclose(panoptic_quality(np.array([0.6, 0, 0, 0]), n_a, n_b), [0.2, NAN, 0, 0], rtol=0, atol=1e-15)
    assert_allclose(segmentation_quality(np.array([1.5, 0.0]), np.array([2, 0])), [0.75, NAN], rtol=0, atol=1e-15)
