"""Time of the numbers at other thresholds and under other rules, against the time of a run."""

from __future__ import annotations

import functools
import operator
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tools.dev.plugin import load_plugin

from .database import make_dataset
from .generated import ANNOTATORS, generate
from .main_job import our_seconds
from .output import Row, at_most, say

N_SAMPLES = 5_000
BATCH_SAMPLES = 1_000
REPETITIONS = 3


def measure() -> list[Row]:
    """Time a run, and sweeps and rules on the same labels in batches of the same size."""
    load_plugin()
    from annotator_agreement.agreement import make_config
    from annotator_agreement.agreement.matching.batch import Batch
    from annotator_agreement.agreement.matching.compute import compute_agreement_of
    from annotator_agreement.agreement.objects.records import record
    from annotator_agreement.agreement.objects.sensitivity import Sensitivity
    from annotator_agreement.agreement.objects.threshold_sample import ThresholdSample
    from annotator_agreement.agreement.objects.variants import variant_columns
    from annotator_agreement.metrics import Objects
    from annotator_agreement.metrics.geometry.boxes import Boxes

    data = generate(N_SAMPLES)
    boxes = data.boxes_xywh_rel.copy()
    boxes[:, 2:] += boxes[:, :2]
    assigned = np.ones((data.n_samples, data.n_annotators), np.bool_)
    every = Batch(Objects(data.sample, data.annotator, data.label + 1), Boxes(boxes), assigned)
    config = make_config(list(ANNOTATORS))
    number = np.arange(N_SAMPLES) // BATCH_SAMPLES
    batches = [every.select(number == k) for k in np.unique(number)]
    agreements = [compute_agreement_of(batch, config) for batch in batches]
    say(f"sweep: {len(data.sample)} boxes in {len(agreements)} batches")

    def threshold() -> None:
        sample = ThresholdSample()
        for agreement in agreements:
            sample += ThresholdSample.of(agreement.batch, agreement.overlaps, config.similarity, agreement.covered)
        sample.threshold(config.similarity, config.seed)

    dataset = make_dataset("bench-sweep", N_SAMPLES)
    our_seconds(dataset)  # warm up
    run = statistics.median(our_seconds(dataset) for _ in range(REPETITIONS))
    dataset.delete()
    records = functools.reduce(operator.add, map(record, agreements))
    timed = [
        ("all thresholds and rules, compared", lambda: [variant_columns(each) for each in agreements], 3),
        ("the same, added up for a report", lambda: _all_of(Sensitivity(records, config)), 1),
        ("threshold from the data", threshold, 1),
    ]
    return [_row(what, work, run, times) for what, work, times in timed]


def _all_of(sensitivity: Any) -> None:
    sensitivity.threshold_points()
    sensitivity.rule_alphas(None)


def _row(what: str, work: Callable[[], object], run: float, times: int) -> Row:
    seconds = statistics.median(_seconds(work) for _ in range(REPETITIONS))
    return Row(f"{what} / compute()", seconds, run, seconds / run, at_most(times))


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
