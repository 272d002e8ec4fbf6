"""Time of the numbers at other thresholds and under other rules, against the time of a run."""

from __future__ import annotations

import statistics

from tools.dev.plugin import load_plugin

from .database import make_dataset
from .generated import ANNOTATORS
from .main_job import our_seconds
from .output import Row, at_most, timed

N_SAMPLES = 5_000
REPETITIONS = 3


def measure() -> list[Row]:
    """Time a run, and what is computed of it on demand."""
    plugin = load_plugin()
    dataset = make_dataset("bench-sweep", N_SAMPLES)
    our_seconds(dataset)  # warm up
    compute = statistics.median(our_seconds(dataset) for _ in range(REPETITIONS))
    plugin.compute(dataset, list(ANNOTATORS), run_key="sweep", resamples=0, progress=False)
    run = plugin.load(dataset, "sweep")
    asked = {
        "other thresholds": run.thresholds,
        "other rules": run.rules,
        "threshold from the data": run.threshold_from_data,
    }
    seconds = {what: timed(work, REPETITIONS)[0] for what, work in asked.items()}
    dataset.delete()
    return [Row(f"{what} / compute()", own, at_most(1), compute) for what, own in seconds.items()]
