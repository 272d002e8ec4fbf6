"""How long the panel takes to open, to follow a view and to answer clicks, on 5,000 and 50,000 generated samples."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .output import Row, say

SIZES = (5_000, 50_000)
_REPEATS = 10
_URI = "@annotator/agreement/agreement_panel"
_CLICKS: dict[str, dict[str, Any]] = {
    "pair": {"path": "charts.pairs_1", "x": "alice", "y": "bob"},
    "missed": {"path": "charts.annotators_1", "x": 0.1, "y": "alice", "trace": "missed"},
    "verdict": {"path": "charts.verdicts_1", "x": "lone"},
    "votes": {"path": "charts.votes_1", "x": "2 of 3"},
    "scores": {"path": "charts.scores_1", "x": 0.725},
    "class": {"path": "class_table_1", "row": 0},
}


def measure() -> list[Row]:
    """Seconds of the panel's handlers."""
    from dev.plugin import load_plugin

    from .database import make_dataset

    rows = []
    for n_samples in SIZES:
        dataset = make_dataset(f"bench-panel-{n_samples}", n_samples)
        try:
            load_plugin().compute_agreement(dataset, ["alice", "bob", "carol"], sensitivity=False, progress=False)
            rows += _of(dataset, n_samples)
        finally:
            dataset.delete()
    return rows


def _of(dataset: Any, n_samples: int) -> list[Row]:
    half = dataset.limit(n_samples // 2)
    # every refresh is read anew, as when the panel opens for the first time
    opened = [_seconds("on_load", dataset, {"refreshed": k}) for k in range(_REPEATS)]
    found = {
        "opens": opened,
        "opens again": [_seconds("on_load", dataset, {}) for _ in range(_REPEATS)],
        "half as a view": [_seconds("on_change_view", dataset, {"of_view": True, "refreshed": 0}, half)],
    }
    for name, click in _CLICKS.items():
        found[f"door: {name}"] = [_seconds("open_door", dataset, {}, **click) for _ in range(_REPEATS)]
    rows = []
    for what, seconds in found.items():
        p50, p95 = np.percentile(seconds, [50, 95]).tolist()
        say(f"panel, {n_samples:,} samples, {what}: p50 {p50:.3f} s, p95 {p95:.3f} s")
        rows.append(Row(f"panel {what}, {n_samples:,} samples, p95 (s)", p95, 1.0, p95, "< 1"))
    return rows


def _seconds(method: str, dataset: Any, state: dict[str, Any], view: Any = None, **params: Any) -> float:
    import fiftyone.operators as foo
    from fiftyone.operators.executor import ExecutionContext, Executor

    panel = foo.get_operator(_URI)
    request = {
        "dataset_name": dataset.name,
        "params": {"panel_id": "bench", "panel_state": dict(state), "__method__": method, **params},
    }
    if view is not None:
        request["view"] = view._serialize()
    ctx = ExecutionContext(request, executor=Executor(), operator_uri=_URI)
    started = time.perf_counter()
    panel.execute(ctx)
    return time.perf_counter() - started
