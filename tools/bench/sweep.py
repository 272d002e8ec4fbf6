"""Time of the numbers at other thresholds and under other rules, against the time of a run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from tools.dev.plugin import load_plugin

from .database import make_dataset
from .generated import ANNOTATORS
from .main_job import our_seconds
from .output import Row, at_most

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
    timed = [
        ("other thresholds", run.thresholds, 1),
        ("other rules", run.rules, 1),
        ("threshold from the data", run.threshold_from_data, 1),
    ]
    rows = [_row(what, work, compute, times) for what, work, times in timed]
    dataset.delete()
    return rows


def _row(what: str, work: Callable[[], object], run: float, times: int) -> Row:
    seconds = statistics.median(_seconds(work) for _ in range(REPETITIONS))
    return Row(f"{what} / compute()", seconds, run, seconds / run, at_most(times))


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
