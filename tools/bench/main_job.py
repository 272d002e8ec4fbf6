"""The main job against MongoDB's floor and against FiftyOne's own evaluation."""

from __future__ import annotations

import itertools
import statistics
import time
from typing import Any

import fiftyone as fo

from tools.dev.plugin import load_plugin

from .database import floor_seconds, make_dataset
from .generated import ANNOTATORS
from .output import Limit, Row, at_least, at_most, say

N_SAMPLES = 5_000
N_EVALUATED = 1_000
REPETITIONS = 3


#: options of the main job alone: scores, verdicts, match ids and the report, without intervals
BARE: dict[str, Any] = {"resamples": 0}


def our_seconds(dataset: fo.Dataset, **options: Any) -> float:
    """Seconds of ``compute()``: read, match, statistics, write, run record."""
    plugin = load_plugin()
    started = time.perf_counter()
    plugin.compute(dataset, list(ANNOTATORS), progress=False, **options)
    seconds = time.perf_counter() - started
    plugin.load(dataset).delete()
    return seconds


def evaluation_seconds(dataset: fo.Dataset) -> float:
    """Seconds of ``evaluate_detections`` with an ``eval_key`` for the three pairs, scaled to all samples."""
    view = dataset.limit(N_EVALUATED)
    started = time.perf_counter()
    for k, (a, b) in enumerate(itertools.combinations(ANNOTATORS, 2)):
        view.evaluate_detections(a, gt_field=b, eval_key=f"pair_{k}", progress=False)
    seconds = time.perf_counter() - started
    dataset.delete_evaluations()
    return seconds * len(dataset) / N_EVALUATED


def measure() -> list[Row]:
    """Time everything on one generated dataset, taking turns."""
    dataset = make_dataset("bench-main-job", N_SAMPLES)
    n_labels = sum(dataset.count(f"{name}.detections") for name in ANNOTATORS)
    say(f"main job: {N_SAMPLES} samples, {len(ANNOTATORS)} annotators, {n_labels} boxes")
    our_seconds(dataset), floor_seconds(dataset)  # warm up
    bare, whole, floors = [], [], []
    for _ in range(REPETITIONS):
        bare.append(our_seconds(dataset, **BARE))
        floors.append(floor_seconds(dataset))
        whole.append(our_seconds(dataset))
    say(f"  main job {_shown(bare)}, MongoDB's floor {_shown(floors)}")
    say(f"  with 1,000 resamples {_shown(whole)}")
    evaluation = evaluation_seconds(dataset)
    dataset.delete()
    own, floor, intervals = map(statistics.median, (bare, floors, whole))
    return [
        Row("compute(), main job / MongoDB's floor", own, floor, own / floor, at_most(1.1)),
        Row("default run, everything included / MongoDB's floor", intervals, floor, intervals / floor, at_most(1.5)),
        Row("evaluate_detections, 3 pairs / main job", evaluation, own, evaluation / own, at_least(50)),
        Row("with 1,000 resamples / without", intervals, own, intervals / own, Limit(high=1, of_difference=True)),
    ]


def _shown(seconds: list[float]) -> str:
    return " ".join(f"{value:.2f}" for value in seconds) + " s"
