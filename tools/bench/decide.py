"""Deciding on objects of 50,000 generated samples: by a rule, its report, applied, and one by one in the panel."""

from __future__ import annotations

import statistics
from typing import Any

from tools.dev.plugin import load_plugin

from .database import make_dataset
from .generated import ANNOTATORS
from .output import Row, at_most, say, timed
from .panel import sent

N_SAMPLES = 50_000
_CLICKS = 10


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
        found["preview of a rule"], _ = timed(lambda: decisions.decide(**rule, preview=True))
        found["a rule"], done = timed(lambda: decisions.decide(**rule))
        found["a click after the rule"] = click(dataset)
        found["report, without intervals"], _ = timed(lambda: decisions.report(resamples=0))
        found["preview of applying"], _ = timed(lambda: decisions.apply(preview=True, progress=False))
        found["apply to labels"], _ = timed(lambda: decisions.apply(progress=False))
        found["take back what was applied"], _ = timed(decisions.undo_applied)
        found["undo the rule"], _ = timed(lambda: decisions.undo(done.step))
    finally:
        dataset.delete()
    rows = []
    for what, seconds in found.items():
        say(f"decide: {N_SAMPLES:,} samples, {done.n_decided:,} objects by the rule, {what}: {seconds:.3f} s")
        limit = at_most(1) if "click" in what else None
        rows.append(Row(f"decide, {N_SAMPLES:,} samples, {what} (s)", seconds, limit))
    return rows


def click(dataset: Any) -> float:
    """Median seconds of a decision in the panel, with all that it shows next."""
    _, state, shown = sent("on_load", dataset, {"tab": "decide", "decide": {"by": "bench"}})
    seconds = []
    for _ in range(_CLICKS):
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
