"""Very many annotators, few of whom ever met: nothing is kept for the pairs of the others."""

from __future__ import annotations

import numpy as np

from annotator_agreement.agreement.settings.annotators import AnnotatorPairs

N_ANNOTATORS, N_SAMPLES, MOST_MIB = 1_000, 300, 192


def test_pairs_of_annotators_are_those_who_share_a_sample_in_their_order() -> None:
    assigned = np.array([[1, 0, 1, 1, 0], [1, 0, 0, 1, 0], [0, 0, 0, 0, 1]], np.bool_)
    pairs = AnnotatorPairs.of(assigned)
    assert (pairs.a.tolist(), pairs.b.tolist(), pairs.n_shared.tolist()) == ([0, 0, 2], [2, 3, 3], [1, 2, 1])
    assert pairs.rows(np.array([2, 0]), np.array([3, 2])).tolist() == [2, 0]
    assert pairs.names("vwxyz") == [("v", "x"), ("v", "y"), ("x", "y")]
    assert len(AnnotatorPairs.of(assigned[:0])) == 0
