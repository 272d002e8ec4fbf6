"""Deciding on objects of 50,000 generated samples: by a rule, its report, applied, and one by one in the panel."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from tools.dev.plugin import load_plugin

from .database import make_dataset
from .generated import ANNOTATORS
from .output import Row, at_most, say

N_SAMPLES = 50_000
_CLICKS = 10
_URI = "@annotator/agreement/agreement_panel"


def measure() -> list[Row]:
    """Seconds of a rule, its preview, report, applying and undoing, and of a click in the panel before and after it."""
    plugin = load_plugin()
    dataset = make_dataset("bench-decide", N_SAMPLES)
    found: dict[str, float] = {}
    rule: dict[str, Any] = {"min_votes": 2, "one_class": True, "min_iou": 0.8, "progress": False}
    try:
        plugin.compute(dataset, list(ANNOTATORS), resamples=0, progress=False)
        decisions = plugin.load(dataset).decisions
        found["a click in the panel, to the next object"] = click(dataset)
        found["preview of a rule"] = _seconds(lambda: decisions.decide(**rule, preview=True))
        started = time.perf_counter()
        done = decisions.decide(**rule)
        found["a rule"] = time.perf_counter() - started
        found["a click after the rule"] = click(dataset)
        found["report, without intervals"] = _seconds(lambda: decisions.report(resamples=0))
        found["preview of applying"] = _seconds(lambda: decisions.apply(preview=True, progress=False))
        found["apply to labels"] = _seconds(lambda: decisions.apply(progress=False))
        found["take back what was applied"] = _seconds(lambda: decisions.undo_applied())
        found["undo the rule"] = _seconds(lambda: decisions.undo(done.step))
    finally:
        dataset.delete()
    rows = []
    for what, seconds in found.items():
        say(f"decide: {N_SAMPLES:,} samples, {done.n_decided:,} objects by the rule, {what}: {seconds:.3f} s")
        limit = at_most(1) if "click" in what else ""
        rows.append(Row(f"decide, {N_SAMPLES:,} samples, {what} (s)", seconds, None, None, limit))
    return rows


def _seconds(function: Callable[[], Any]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def click(dataset: Any) -> float:
    """Median seconds of a decision in the panel, with all that it shows next."""
    import fiftyone.operators as foo
    from fiftyone.operators.executor import ExecutionContext, Executor

    panel = foo.get_operator(_URI)
    state: dict[str, Any] = {"tab": "decide", "decide": {"by": "bench"}}
    buttons: dict[str, Any] = {}

    def send(method: str, **params: Any) -> float:
        request = {"panel_id": "p", "panel_state": dict(state), "__method__": method, **params}
        context = ExecutionContext(
            {"dataset_name": dataset.name, "params": request}, executor=Executor(), operator_uri=_URI
        )
        seconds = _seconds(lambda: panel.execute(context))
        state.update(context.panel_state)
        (shown,) = [each["params"] for each in context.executor.to_json()["requests"] if "output" in each["params"]]
        buttons.clear()
        buttons.update(_buttons(shown["output"]["type"]["properties"]))
        return seconds

    send("on_load")
    return statistics.median(send("decide_object", **buttons["No object"]) for _ in range(_CLICKS))


def _buttons(properties: dict[str, Any]) -> dict[str, Any]:
    """The parameters of all buttons by their labels."""
    found: dict[str, Any] = {}
    for entry in properties.values():
        view = entry["view"]
        if view.get("label") and view.get("params"):
            found[view["label"]] = view["params"]
        found |= _buttons(entry["type"].get("properties") or {})
    return found
