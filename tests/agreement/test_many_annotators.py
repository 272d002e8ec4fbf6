"""Very many annotators, few of whom ever met: nothing is kept for the pairs of the others."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from annotator_agreement.agreement.matching.batch import Batch
from annotator_agreement.agreement.matching.compute import compute_agreement_of
from annotator_agreement.agreement.objects.build import build_object_report
from annotator_agreement.agreement.objects.records import record
from annotator_agreement.agreement.settings.annotators import AnnotatorPairs
from annotator_agreement.agreement.settings.config import make_config
from annotator_agreement.agreement.statistics.report import ReportContext, RunFacts
from annotator_agreement.metrics import Objects
from annotator_agreement.metrics.geometry.boxes import Boxes

N_ANNOTATORS, N_SAMPLES, MOST_MIB = 1_000, 300, 192


def _batch(rng: np.random.Generator) -> Batch:
    """Three annotators on every image, who draw the same two objects."""
    who = np.sort(np.argsort(rng.random((N_SAMPLES, N_ANNOTATORS)), axis=1)[:, :3], axis=1)
    assigned = np.zeros((N_SAMPLES, N_ANNOTATORS), np.bool_)
    assigned[np.arange(N_SAMPLES)[:, None], who] = True
    corner = np.tile(rng.uniform(0.1, 0.6, (N_SAMPLES, 2, 2)), (1, 3, 1)).reshape(-1, 2)
    corner += rng.normal(0.0, 0.01, corner.shape)
    sample, annotator = np.repeat(np.arange(N_SAMPLES), 6), np.repeat(who, 2, axis=1).ravel()
    return Batch(
        Objects(sample, annotator, rng.integers(1, 6, len(sample))), Boxes(np.hstack([corner, corner + 0.2])), assigned
    )


@pytest.mark.long
def test_memory_does_not_grow_with_pairs_of_annotators_who_never_met() -> None:
    names = [f"annotator_{number:04d}" for number in range(N_ANNOTATORS)]
    config, batch = make_config(names, resamples=20), _batch(np.random.default_rng(1))
    context = ReportContext(config, names, ["(missing)", *"abcde"], ["Detections"], RunFacts())
    tracemalloc.start()
    try:
        report = build_object_report(record(compute_agreement_of(batch, config)), context)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()
    met = {(int(a), int(b)) for row in batch.assigned for a, b in _pairs(np.flatnonzero(row))}
    assert len(report.pairs) == len(met)
    assert sum(pair.n_samples for pair in report.pairs) == 3 * N_SAMPLES
    assert peak < MOST_MIB


def _pairs(who: np.ndarray) -> list[tuple[int, int]]:
    return [(a, b) for k, a in enumerate(who.tolist()) for b in who.tolist()[k + 1 :]]


def test_pairs_of_annotators_are_those_who_share_a_sample_in_their_order() -> None:
    assigned = np.array([[1, 0, 1, 1, 0], [1, 0, 0, 1, 0], [0, 0, 0, 0, 1]], np.bool_)
    pairs = AnnotatorPairs.of(assigned)
    assert (pairs.a.tolist(), pairs.b.tolist(), pairs.n_shared.tolist()) == ([0, 0, 2], [2, 3, 3], [1, 2, 1])
    assert pairs.rows(np.array([2, 0]), np.array([3, 2])).tolist() == [2, 0]
    assert pairs.names("vwxyz") == [("v", "x"), ("v", "y"), ("x", "y")]
    assert len(AnnotatorPairs.of(assigned[:0])) == 0
