"""Breakdowns of a run: the main numbers by five fields of samples, from the stored records."""

from __future__ import annotations

import datetime as dt
import functools
import statistics
import time
from collections.abc import Callable
from typing import Any

import fiftyone as fo
import numpy as np

from tools.dev.plugin import load_plugin

from .database import make_dataset
from .generated import ANNOTATORS
from .output import Row, at_most, say

N_SAMPLES = 5_000
REPETITIONS = 3
FIELDS = ("camera", "night", "brightness", "taken", "tags")


def describe(dataset: fo.Dataset) -> None:
    """Give every sample a camera, a switch, a number, a date and tags."""
    rng, n = np.random.default_rng(7), len(dataset)
    dataset.set_values("camera", rng.choice([f"camera {k}" for k in range(6)], n).tolist())
    dataset.set_values("night", rng.integers(0, 2, n).astype(bool).tolist())
    dataset.set_values("brightness", rng.random(n).tolist())
    days = rng.integers(0, 360, n).tolist()
    dataset.set_values("taken", [dt.datetime(2026, 1, 1) + dt.timedelta(days=day) for day in days])
    dataset.set_values("tags", [rng.choice(["easy", "hard", "new"], 2, False).tolist() for _ in range(n)])


def measure() -> list[Row]:
    """Seconds of five breakdowns, the first of a run; and of all that a reference, a model and parts add."""
    return [*_breakdowns(), _added()]


def _added() -> Row:
    """Seconds that a reference, a model, the convergence and five breakdowns add to a run of three annotators."""
    plugin, names = load_plugin(), (*ANNOTATORS, "gold", "yolo")
    dataset = make_dataset("bench-added", N_SAMPLES, names)
    describe(dataset)
    times: dict[str, list[float]] = {}

    def timed(what: str, call: Callable[[], Any]) -> Any:
        started, used = time.perf_counter(), time.process_time()
        found = call()
        times.setdefault(what, []).append(time.perf_counter() - started)
        say(f"  {what}: {times[what][-1]:.2f} s, {time.process_time() - used:.2f} s of the processor")
        return found

    given: dict[str, Any] = {"progress": False, "overwrite": True}
    plugin.compute(dataset, list(ANNOTATORS), **given)  # warm up
    for _ in range(REPETITIONS):
        timed("without", lambda: plugin.compute(dataset, list(ANNOTATORS), **given))
        run = timed(
            "roles", lambda: plugin.compute(dataset, list(ANNOTATORS), reference="gold", models="yolo", **given)
        )
        timed("convergence", functools.partial(run.convergence, progress=False))
        timed("breakdowns", lambda run=run: [run.by(field) for field in FIELDS])
    dataset.delete()
    seconds = {what: statistics.median(each) for what, each in times.items()}
    added = seconds["roles"] - seconds["without"] + seconds["convergence"] + seconds["breakdowns"]
    title = f"roles, convergence and five breakdowns add, s (a run without: {seconds['without']:.1f})"
    return Row(title, added, at_most(3))


def _breakdowns() -> list[Row]:
    plugin = load_plugin()
    dataset = make_dataset("bench-parts", N_SAMPLES)
    describe(dataset)
    plugin.compute(dataset, list(ANNOTATORS), progress=False)
    seconds = []
    for _ in range(REPETITIONS):
        run, started = plugin.load(dataset), time.perf_counter()
        for field in FIELDS:
            said = time.perf_counter()
            found = run.by(field)
            say(f"  by {field}: {len(found.parts)} parts, {time.perf_counter() - said:.2f} s")
        seconds.append(time.perf_counter() - started)
    dataset.delete()
    return [Row(f"five breakdowns of {N_SAMPLES} samples, s", statistics.median(seconds), at_most(1.5))]
