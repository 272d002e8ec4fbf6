"""The main job against MongoDB's floor and against FiftyOne's own evaluation."""

from __future__ import annotations

import itertools
import statistics
from typing import Any

import fiftyone as fo

from tools.dev.plugin import load_plugin

from .database import floor_seconds, make_dataset
from .generated import ANNOTATORS
from .output import Limit, Row, at_least, at_most, say, timed

N_SAMPLES = 5_000
N_EVALUATED = 1_000
REPETITIONS = 3


#: options of the main job alone: scores, verdicts, match ids and the report, without intervals
BARE: dict[str, Any] = {"resamples": 0}


def our_seconds(samples: fo.Dataset | fo.DatasetView, **options: Any) -> float:
    """Seconds of ``compute()``: read, match, statistics, write, run record."""
    plugin = load_plugin()
    seconds, _ = timed(lambda: plugin.compute(samples, list(ANNOTATORS), progress=False, **options))
    plugin.load(samples).delete()
    return seconds


def evaluation_seconds(dataset: fo.Dataset) -> float:
    """Seconds of ``evaluate_detections`` with an ``eval_key`` for the three pairs, scaled to all samples."""
    view = dataset.limit(N_EVALUATED)
    pairs = list(itertools.combinations(ANNOTATORS, 2))
    seconds, _ = timed(
        lambda: [view.evaluate_detections(a, gt_field=b, eval_key=f"{a}_{b}", progress=False) for a, b in pairs]
    )
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
        Row("compute(), main job / MongoDB's floor", own, at_most(1.1), floor),
        Row("default run, everything included / MongoDB's floor", intervals, at_most(1.5), floor),
        Row("evaluate_detections, 3 pairs / main job", evaluation, at_least(50), own),
        Row("with 1,000 resamples / without", intervals, Limit(high=1, of_difference=True), own),
    ]


def _shown(seconds: list[float]) -> str:
    return " ".join(f"{value:.2f}" for value in seconds) + " s"
