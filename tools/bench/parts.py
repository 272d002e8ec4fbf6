"""Breakdowns of a run: the main numbers by five fields of samples, from the stored records."""

from __future__ import annotations

import datetime as dt
import statistics
import time

import fiftyone as fo
import numpy as np

from tools.dev.plugin import load_plugin

from .database import make_dataset
from .generated import ANNOTATORS
from .output import Row, say

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
    """Seconds of five breakdowns, the first of a run."""
    plugin = load_plugin()
    dataset = make_dataset("bench-parts", N_SAMPLES)
    describe(dataset)
    plugin.compute_agreement(dataset, list(ANNOTATORS), progress=False)
    seconds = []
    for _ in range(REPETITIONS):
        run, started = plugin.load(dataset), time.perf_counter()
        for field in FIELDS:
            said = time.perf_counter()
            found = run.by(field)
            say(f"  by {field}: {len(found.parts)} parts, {time.perf_counter() - said:.2f} s")
        seconds.append(time.perf_counter() - started)
    dataset.delete()
    return [Row(f"five breakdowns of {N_SAMPLES} samples, s", statistics.median(seconds), None, None, "at most 1.5")]
