"""What is computed, asked and decided on generated boxes, each against what it may take."""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import statistics
from collections.abc import Callable
from typing import Any

import fiftyone as fo
import numpy as np

from tools.dev.plugin import load_plugin

from .generated import ANNOTATORS, floor_seconds, shared_dataset
from .output import Limit, Row, at_least, at_most, in_turns, say, timed
from .panel import click

N_FEW, N_MANY = 5_000, 50_000
N_EVALUATED, N_EDITED = 1_000, 100
PART_FIELDS = ("camera", "night", "brightness", "taken", "tags")


def run_seconds(samples: fo.Dataset | fo.DatasetView, **options: Any) -> float:
    """Seconds of ``compute()``: read, match, statistics, write, run record."""
    plugin = load_plugin()
    seconds, run = timed(lambda: plugin.compute(samples, list(ANNOTATORS), progress=False, overwrite=True, **options))
    run.delete()
    return seconds


def _run_of(dataset: fo.Dataset, **options: Any) -> Any:
    return load_plugin().compute(dataset, list(ANNOTATORS), progress=False, overwrite=True, **options)


def main_job() -> list[Row]:
    """The run, without and with intervals, against MongoDB's floor and FiftyOne's own evaluation of all pairs."""
    dataset = shared_dataset(N_FEW)
    works: dict[str, Callable[[], float]] = {
        "main job": lambda: run_seconds(dataset, resamples=0),
        "MongoDB's floor": lambda: floor_seconds(dataset),
        "with 1,000 resamples": lambda: run_seconds(dataset),
    }
    own, floor, whole = in_turns(works).values()
    view, pairs = dataset.limit(N_EVALUATED), list(itertools.combinations(ANNOTATORS, 2))
    evaluation, _ = timed(
        lambda: [view.evaluate_detections(a, gt_field=b, eval_key=f"{a}_{b}", progress=False) for a, b in pairs]
    )
    dataset.delete_evaluations()
    return [
        Row("compute(), main job / MongoDB's floor", own, at_most(1.1), floor),
        Row("default run, everything included / MongoDB's floor", whole, at_most(1.5), floor),
        Row("evaluate_detections, 3 pairs / main job", evaluation * N_FEW / N_EVALUATED, at_least(50), own),
        Row("with 1,000 resamples / without", whole, Limit(high=1, of_difference=True), own),
    ]


def sweep() -> list[Row]:
    """The numbers at other thresholds and under other rules, against a run."""
    dataset = shared_dataset(N_FEW)
    compute = in_turns({"run": lambda: run_seconds(dataset)})["run"]
    run = _run_of(dataset, resamples=0)
    asked = {"other thresholds": run.thresholds, "other rules": run.rules}
    asked["threshold from the data"] = run.threshold_from_data
    return [Row(f"{what} / compute()", timed(work, 3)[0], at_most(1), compute) for what, work in asked.items()]


def parts() -> list[Row]:
    """Five breakdowns; and all that a reference, a model, the convergence and breakdowns add to a run."""
    dataset = shared_dataset(N_FEW, (*ANNOTATORS, "gold", "yolo"))
    rng, n = np.random.default_rng(7), len(dataset)
    dataset.set_values("camera", rng.choice([f"camera {k}" for k in range(6)], n).tolist())
    dataset.set_values("night", rng.integers(0, 2, n).astype(bool).tolist())
    dataset.set_values("brightness", rng.random(n).tolist())
    days = rng.integers(0, 360, n).tolist()
    dataset.set_values("taken", [dt.datetime(2026, 1, 1) + dt.timedelta(days=day) for day in days])
    dataset.set_values("tags", [rng.choice(["easy", "hard", "new"], 2, False).tolist() for _ in range(n)])
    load, roles = load_plugin().load, {"reference": "gold", "models": "yolo"}

    def breakdowns() -> float:
        run = load(dataset)
        return timed(lambda: [run.by(field) for field in PART_FIELDS])[0]

    seconds = in_turns({
        "without": lambda: timed(lambda: _run_of(dataset))[0],
        "breakdowns of it": breakdowns,
        "roles": lambda: timed(lambda: _run_of(dataset, **roles))[0],
        "convergence": lambda: timed(lambda: load(dataset).convergence(progress=False))[0],
        "breakdowns": breakdowns,
    })  # fmt: skip
    added = seconds["roles"] - seconds["without"] + seconds["convergence"] + seconds["breakdowns"]
    title = f"roles, convergence and five breakdowns add, s (a run without: {seconds['without']:.1f})"
    few = f"five breakdowns of {N_FEW} samples, s"
    return [Row(few, seconds["breakdowns of it"], at_most(1.5)), Row(title, added, at_most(3))]


def decide() -> list[Row]:
    """Deciding by a rule, its preview, report, applying and undoing; and a click in the panel before and after it."""
    dataset, found = shared_dataset(N_MANY), dict[str, float]()
    decisions = _run_of(dataset, resamples=0).decisions
    rule: dict[str, Any] = {"min_votes": 2, "one_class": True, "min_iou": 0.8, "progress": False}
    found["a click in the panel, to the next object"] = click(dataset)
    found["preview of a rule"], _ = timed(lambda: decisions.decide(**rule, preview=True))
    found["a rule"], done = timed(lambda: decisions.decide(**rule))
    found["a click after the rule"] = click(dataset)
    found["report, without intervals"], _ = timed(lambda: decisions.report(resamples=0))
    found["preview of applying"], _ = timed(lambda: decisions.apply(preview=True, progress=False))
    found["apply to labels"], _ = timed(lambda: decisions.apply(progress=False))
    found["take back what was applied"], _ = timed(decisions.undo_applied)
    found["undo the rule"], _ = timed(lambda: decisions.undo(done.step))
    decisions.delete()
    say(f"decide: {N_MANY:,} samples, {done.n_decided:,} objects by the rule")
    limits = {what: at_most(1) if "click" in what else None for what in found}
    return [Row(f"decide, {N_MANY:,} samples, {what} (s)", each, limits[what]) for what, each in found.items()]


def update() -> list[Row]:
    """Bringing a run up to date after some samples were edited, and asking how many were changed."""
    plugin, dataset = load_plugin(), shared_dataset(N_MANY)
    ids, rng = dataset.values("id"), np.random.default_rng(51)
    found: dict[str, list[float]] = {"changed": []}
    for resamples, repetitions in ((0, 3), (1000, 1)):
        _run_of(dataset, resamples=resamples)
        for _ in range(repetitions):
            for sample in dataset.select(rng.choice(ids, N_EDITED, replace=False).tolist()):
                sample[ANNOTATORS[0]].detections = sample[ANNOTATORS[0]].detections[1:]
                sample.save()
            found["changed"] += [timed(plugin.load(dataset).changed)[0] for _ in range(10)]
            seconds, _ = timed(functools.partial(plugin.load(dataset).update, progress=False))
            found.setdefault(f"{resamples} resamples", []).append(seconds)
    changed, own, intervals = map(statistics.median, found.values())
    return [
        Row(f"run.changed(), {N_MANY:,} samples (s)", changed, at_most(0.05)),
        Row(f"run.update(), {N_MANY:,} samples, {N_EDITED} edited (s)", own, at_most(3)),
        Row("the same with intervals (s)", intervals, at_most(5)),
    ]
