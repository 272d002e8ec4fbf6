"""Events of the panels with any name, any parameters and any state: an answer in time, no foreign error, no change."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from random import Random
from typing import Any

import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.operators.executor import ExecutionContext, Executor

from tests.datasets import boxes_dataset, random_annotators, user_values

from .parameters import json_values
from .run import Campaign, Outcome
from annotator_agreement import dataset_io

_PANELS = [f"@annotator/agreement/{name}" for name in ("agreement_panel", "decide_panel")]
#: seconds after which an event is taken to wait for ever
_WAITS = 60.0
_TABS = ("overview", "annotators", "classes", "images", "objects", "decide", "rules")
_VALUES = ("agreement", "strict", "view", "run", "all", "alice", "cat", "lone", "2", *_TABS)
_OF_EVENTS = (
    *("value", "tab", "item", "page", "path", "row", "column", "number", "x", "y", "id", "labels", "operator"),
    *("run_key", "document", "unit", "choice", "annotator", "name", "by", "event_args"),
)
_OF_STATE = (
    *("run_key", "of_view", "tab", "known", "sort", "page", "decide", "decider", "refreshed", "shown", "answer"),
)
_OF_DECIDE = (
    *("by", "verdict", "annotator", "label", "votes", "skipped", "at", "past", "n", "editing", "watched", "counted"),
    "sample",
)


def _any(random: Random) -> Any:
    return random.choice(_VALUES) if random.random() < 0.4 else json_values(random)


def _some(random: Random, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: _any(random) for name in random.sample(names, random.randrange(4))}


def _event(random: Random, methods: list[str]) -> dict[str, Any]:
    """The parameters of an event; now and then all but one thing of them are right."""
    state: Any = {"tab": random.choice(_TABS), "decide": {"by": "mia"}, **_some(random, _OF_STATE)}
    if isinstance(state["decide"], dict):
        state["decide"].update(_some(random, _OF_DECIDE))
    method = random.choice(methods) if random.random() < 0.9 else _any(random)
    sent = {"panel_id": "stressed", "panel_state": state, **_some(random, _OF_EVENTS), "__method__": method}
    if random.random() < 0.05:
        sent[random.choice(("panel_id", "panel_state"))] = json_values(random)
    return sent


def _answer(uri: str, dataset: fo.Dataset, params: dict[str, Any], sample: str | None) -> list[dict[str, Any]] | str:
    """What a panel asks of the App; or how it failed."""
    answer: list[Any] = []

    def send() -> None:
        request = {"dataset_name": dataset.name, "current_sample": sample, "params": params}
        ctx = ExecutionContext(request, executor=Executor(), operator_uri=uri)
        try:
            foo.get_operator(uri).execute(ctx)
            answer.append(ctx.executor.to_json()["requests"])
        except BaseException as error:
            answer.append(f"{type(error).__name__}: {error}")

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    thread.join(_WAITS)
    found: list[dict[str, Any]] | str = answer[0] if answer else "waits for ever"
    return found


def _foreign(requests: list[dict[str, Any]]) -> Iterator[str]:
    """Messages and panels that show an error of Python."""
    for entry in requests:
        said = str(entry["params"])
        for words in ("This did not work", "This cannot be shown"):
            if words in said:
                yield said[said.index(words) :][:200]


def panel_events(seed: int, rounds: int) -> Outcome:
    """Send events to the panels; the user's values stay, and afterwards the panel opens as before."""
    random, examples = Random(seed), []
    dataset = boxes_dataset(f"stress-panel-{os.getpid()}", random_annotators(12))
    try:
        annotators = ["alice", "bob", "carol"]
        dataset_io.compute_agreement(dataset, annotators, resamples=20, progress=False)
        dataset_io.compute_agreement(dataset, annotators, run_key="strict", iou=0.8, resamples=20, progress=False)
        methods = {uri: [name for name in dir(foo.get_operator(uri)) if not name.startswith("__")] for uri in _PANELS}
        runs = ["agreement", "strict"]  # to show the disputed objects writes a label for each
        before = user_values(dataset, runs)
        samples = [None, "x", *dataset.limit(3).values("id")]
        for number in range(rounds):
            uri = random.choice(_PANELS)
            params, sample = _event(random, methods[uri]), random.choice(samples)
            answer = _answer(uri, dataset, params, sample)
            wrong = [answer] if isinstance(answer, str) else list(_foreign(answer))
            if wrong:
                examples.append(f"{number} {params['__method__']!r:.40}: {wrong[0]} <- {params!r:.300}")
            if wrong == ["waits for ever"]:
                break
        if user_values(dataset, runs) != before:
            examples.append("the values of the user are others")
        opened = _answer(
            _PANELS[0], dataset, {"panel_id": "stressed", "panel_state": {}, "__method__": "on_load"}, None
        )
        if "Score" not in str(opened):
            examples.append(f"the panel does not open afterwards: {opened!r:.200}")
    finally:
        dataset.delete()
    return Outcome(rounds + 2, len(examples), examples)


CAMPAIGNS = (Campaign("panel", "events of the panels with any name, parameters and state", panel_events, 2_000),)
