"""Bringing a run of 50,000 generated samples up to date after 100 were edited, and asking how many were changed."""

from __future__ import annotations

import functools
import statistics
from typing import Any

import numpy as np

from tools.dev.plugin import load_plugin

from .database import make_dataset
from .generated import ANNOTATORS
from .output import Row, at_most, say, timed

N_SAMPLES = 50_000
N_EDITED = 100
REPETITIONS = 3
_QUESTIONS = 10


def measure() -> list[Row]:
    """Seconds of an update without and with intervals, and of the question."""
    plugin = load_plugin()
    dataset = make_dataset("bench-update", N_SAMPLES)
    ids, rng = dataset.values("id"), np.random.default_rng(51)
    found: dict[str, list[float]] = {"changed": []}
    try:
        for resamples, repetitions in ((0, REPETITIONS), (1000, 1)):
            plugin.compute(dataset, list(ANNOTATORS), resamples=resamples, overwrite=resamples > 0, progress=False)
            for _ in range(repetitions):
                _edit(dataset, rng.choice(ids, N_EDITED, replace=False).tolist())
                for _ in range(_QUESTIONS):
                    found["changed"].append(timed(plugin.load(dataset).changed)[0])
                seconds, _ = timed(functools.partial(plugin.load(dataset).update, progress=False))
                found.setdefault(f"update, {resamples} resamples", []).append(seconds)
    finally:
        dataset.delete()
    median = {what: statistics.median(seconds) for what, seconds in found.items()}
    for what, seconds in median.items():
        say(f"update: {N_SAMPLES:,} samples, {N_EDITED} edited, {what}: {seconds:.3f} s")
    own, intervals = median["update, 0 resamples"], median["update, 1000 resamples"]
    return [
        Row(f"run.changed(), {N_SAMPLES:,} samples (s)", median["changed"], at_most(0.05)),
        Row(f"run.update(), {N_SAMPLES:,} samples, {N_EDITED} edited (s)", own, at_most(3)),
        Row("the same with intervals (s)", intervals, at_most(5)),
    ]


def _edit(dataset: Any, ids: list[str]) -> None:
    """Remove the first label of an annotator."""
    for sample in dataset.select(ids):
        labels = sample[ANNOTATORS[0]]
        if labels is not None and labels.detections:
            labels.detections = labels.detections[1:]
        sample.save()
