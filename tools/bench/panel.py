"""Latency of the panel: opening, changing the view and clicks, on 5,000 and 50,000 generated samples."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import fiftyone as fo
import fiftyone.operators as foo
import numpy as np
from fiftyone.operators.executor import ExecutionContext, Executor

from tools.dev.plugin import load_plugin

from .generated import ANNOTATORS, shared_dataset
from .output import Row, at_most, in_process, say, timed

SIZES = (5_000, 50_000)
_REPEATS = 10
_FRESH = 3
_URI = "@annotator/agreement/agreement_panel"


def panel() -> list[Row]:
    """Seconds of the panel's handlers."""
    rows = []
    for n_samples in SIZES:
        dataset = shared_dataset(n_samples)
        load_plugin().compute(dataset, list(ANNOTATORS), progress=False, overwrite=True)
        rows += _of(dataset, n_samples)
    return rows


#: a click on a number of every tab: the tab, the event and its parameters
_CLICKS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "pair": ("annotators", "click_cell", {"path": "pairs_1", "row": 0, "column": 2}),
    "missed": ("annotators", "click_cell", {"path": "annotators_1", "row": 0, "column": 2}),
    "confusion": ("classes", "click_cell", {"path": "confusion_1", "row": 0, "column": 1}),
    "class": ("classes", "click_cell", {"path": "classes_1", "row": 0, "column": 2}),
    "verdict": ("objects", "click_cell", {"path": "verdicts_1", "row": 1, "column": 2}),
    "votes": ("objects", "click_cell", {"path": "votes_1", "row": 1, "column": 1}),
    "scores": ("images", "drill_down", {"path": "scores_1", "x": 0.725}),
    "card": ("overview", "drill_down", {"path": "cards.c5.card_1", "number": 5}),
}
TABS = ("overview", "annotators", "classes", "images", "objects", "rules")


def _of(dataset: Any, n_samples: int) -> list[Row]:
    half = n_samples // 2
    worst = str(dataset.sort_by("agreement_score").first().id)
    opened = _click(dataset, "verdict")[1]
    views = [dataset.limit(half - k) for k in range(_REPEATS + 1)]
    small = [dataset.limit(half // 10 - k) for k in range(_REPEATS)]
    of_view = {"of_view": True}
    # the first view of a run reads what the run stored of its samples, which is kept for the next ones
    first = [seconds_of("on_change_view", dataset, {**of_view, "refreshed": k + 1}, views[0]) for k in range(_FRESH)]
    seconds_of("on_change_view", dataset, of_view, views[-1])
    measured: dict[str, Callable[[int], float]] = {
        # every refresh is read anew, as when the panel opens for the first time
        "opens": lambda k: seconds_of("on_load", dataset, {"refreshed": k + 1}),
        "opens again": lambda k: seconds_of("on_load", dataset, {}),
        f"{half:,} samples as a view": lambda k: seconds_of("on_change_view", dataset, of_view, views[k]),
        f"{half // 10:,} samples as a view": lambda k: seconds_of("on_change_view", dataset, of_view, small[k]),
        **{
            f"tab: {tab}": lambda k, tab=tab: seconds_of("choose_tab", dataset, {"shown": str(k), "tab": ""}, value=tab)
            for tab in TABS
        },
        **{f"drill-down: {name}": lambda k, name=name: _click(dataset, name)[0] for name in _CLICKS},
        "open the worst sample": lambda k: seconds_of("open_sample", dataset, {}, id=worst),
        "back": lambda k: seconds_of("back", dataset, opened),
    }
    found = {"opens in a new process": [in_process(first_opening, dataset.name) for _ in range(_FRESH)]}
    found[f"the first {half:,} samples as a view"] = first
    found |= {what: [once(k) for k in range(_REPEATS)] for what, once in measured.items()}
    rows = []
    for what, seconds in found.items():
        p50, p95 = np.percentile(seconds, [50, 95]).tolist()
        say(f"panel, {n_samples:,} samples, {what}: p50 {p50:.3f} s, p95 {p95:.3f} s")
        rows.append(Row(f"panel, {n_samples:,} samples, {what}, p95 (s)", p95, at_most(1)))
    return rows


def _click(dataset: Any, name: str) -> tuple[float, dict[str, Any]]:
    """Seconds of a click on a number, and the state that it leaves."""
    tab, method, params = _CLICKS[name]
    return sent(method, dataset, {"tab": tab}, **params)[:2]


def seconds_of(method: str, dataset: Any, state: dict[str, Any], view: Any = None, **params: Any) -> float:
    return sent(method, dataset, state, view, **params)[0]


def sent(
    method: str, dataset: Any, state: dict[str, Any], view: Any = None, **params: Any
) -> tuple[float, dict[str, Any], list[dict[str, Any]]]:
    """Seconds of a handler, the state that it leaves, and the parameters of what it asks the App for."""
    panel = foo.get_operator(_URI)
    request = {
        "dataset_name": dataset.name,
        "params": {"panel_id": "bench", "panel_state": dict(state), "__method__": method, **params},
    }
    if view is not None:
        request["view"] = view._serialize()
    ctx = ExecutionContext(request, executor=Executor(), operator_uri=_URI)
    seconds, _ = timed(lambda: panel.execute(ctx))
    asked = ctx.executor.to_json()["requests"]
    told = [entry["params"]["message"] for entry in asked if entry["operator_uri"].endswith("notify")]
    if told:
        raise RuntimeError(f"{method} {params} must lead somewhere, got: {told[0]}")
    return seconds, dict(ctx.panel_state), [entry["params"] for entry in asked]


def first_opening(dataset_name: str) -> float:
    """Seconds to open the panel for the first time in this process, whose plugins the App has loaded before."""
    foo.list_operators()
    return seconds_of("on_load", fo.load_dataset(dataset_name), {})


def click(dataset: Any) -> float:
    """Median seconds of a decision in the panel, with all that it shows next."""
    _, state, shown = sent("on_load", dataset, {"tab": "decide", "decide": {"by": "bench"}})
    seconds = []
    for _ in range(_REPEATS):
        (output,) = [each["output"] for each in shown if "output" in each]
        params = _buttons(output["type"]["properties"])["No object"]
        taken, state, shown = sent("decide_object", dataset, state, **params)
        seconds.append(taken)
    return statistics.median(seconds)


def _buttons(properties: dict[str, Any]) -> dict[str, Any]:
    """The parameters of all buttons by their labels."""
    found: dict[str, Any] = {}
    for entry in properties.values():
        view = entry["view"]
        if view.get("label") and view.get("params"):
            found[view["label"]] = view["params"]
        found |= _buttons(entry["type"].get("properties") or {})
    return found
