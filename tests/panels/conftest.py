"""Fixtures that call the panel by URI with real execution contexts, and record the requests that it sends."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from bson import ObjectId

from tests.datasets import random_annotators

from annotator_agreement.dataset_io import compute_agreement
from annotator_agreement.dataset_io.record import Run
from annotator_agreement.panels import EVENTS, ShownReport

URI = "@annotator/agreement/agreement_panel"
ANNOTATORS = ["alice", "bob", "carol"]


@dataclass
class Sent:
    """What the panel sent after an event."""

    requests: list[dict[str, Any]]
    state: dict[str, Any]

    def of(self, name: str) -> list[dict[str, Any]]:
        """The parameters of the requests of one kind."""
        return [entry["params"] for entry in self.requests if entry["operator_uri"].rsplit("/", 1)[-1] == name]

    @property
    def parts(self) -> dict[str, Any]:
        """The schema of every part of the panel, by its name without the version."""
        (output,) = self.of("show_panel_output")
        found: dict[str, Any] = {}

        def add(properties: dict[str, Any]) -> None:
            for name, entry in properties.items():
                short = name if name in _PLAIN else name.rsplit("_", 1)[0]
                # cards have the same parts
                found[short if short not in found else f"{short} {len(found)}"] = entry
                add(entry["type"].get("properties") or {})

        add(output["output"]["type"]["properties"])
        return found

    @property
    def text(self) -> str:
        """All text of the panel, in one string."""
        return repr(self.of("show_panel_output"))

    @property
    def said(self) -> str:
        """The words of its texts and cards, in order."""
        views = [entry["view"] for entry in self.parts.values()]
        return " ".join(str(view.get("title") or view.get("label") or "") for view in views)

    def table(self, name: str) -> list[list[str]]:
        """The texts of the cells of a table, row by row."""
        rows = self.parts[name]["default"]
        return [[row[f"c{k}"] for k in range(len(row) - 1)] for row in rows]

    def columns(self, name: str) -> list[str]:
        """The headers of a table."""
        return [column["label"] for column in self.parts[name]["view"]["columns"]]

    @property
    def drill_down(self) -> str | None:
        """The panel's text on the open drill-down, empty if none is open; None if the text was not sent again."""
        said = [params["data"]["head.grid_shows.title"] for params in self.of("patch_panel_data")]
        return said[-1] if said else None

    def view(self, dataset: Any) -> Any:
        """The view that the App was told to show."""
        from fiftyone.core.view import DatasetView

        (params,) = self.of("set_view")
        return DatasetView._build(dataset, params["view"])


_PLAIN = {"head", "controls", "refresh", "compute", "compute_again", "back", "cards", "grid_shows", "open"}


@pytest.fixture
def event(private_fiftyone) -> Callable[..., Sent]:
    """Send an event to a panel: ``event(method, dataset, state, view=None, sample=None, uri=URI, **params)``.

    A test has one panel, unless ``panel`` names another one, and may go back to any state that the panel had. With
    ``beside=True`` the state is one that another event was sent with, as the App does before it got an answer.
    """
    from fiftyone.operators.executor import ExecutionContext, Executor

    of_test = str(ObjectId())

    def send(
        method: str,
        dataset: Any,
        state: dict[str, Any] | None = None,
        view: Any = None,
        sample: str | None = None,
        uri: str = URI,
        panel: str | None = None,
        beside: bool = False,
        **params: Any,
    ) -> Sent:
        operator = _operator(uri)
        sent = {name: value for name, value in (state or {}).items() if beside or name != "answer"}
        before = dict(sent)
        request = {
            "current_sample": sample,
            "dataset_name": dataset if isinstance(dataset, str) else getattr(dataset, "name", None),
            "params": {"panel_id": panel or of_test, "panel_state": sent, "__method__": method, **params},
        }
        if view is not None:
            request["view"] = view._serialize()
        ctx = ExecutionContext(request, executor=Executor(), operator_uri=uri)
        operator.execute(ctx)
        named = set(re.findall(r"agreement/\w+_panel#(\w+)", repr(ctx.executor.to_json())))
        assert named <= set(EVENTS), "what is drawn names methods that are no events"
        requests = ctx.executor.to_json()["requests"]
        left = dict(ctx.panel_state) if isinstance(ctx.panel_state, dict) else {}
        sent_back = Sent(requests, left)
        if beside:  # what the App keeps then
            sent_back.state = before
            for patch in sent_back.of("patch_panel_state"):
                before |= patch["state"]
        return sent_back

    return send


@pytest.fixture
def dataset(lend: Callable[[Callable[..., Any]], Any]) -> Any:
    """A dataset with a run."""
    return lend(_with_a_run)


def _with_a_run(make_dataset: Callable[..., Any]) -> Any:
    dataset = make_dataset(random_annotators(40))
    compute_agreement(dataset, ANNOTATORS, resamples=0, progress=False)
    return dataset


@pytest.fixture
def state(event: Callable[..., Sent], dataset: Any) -> dict[str, Any]:
    """The state of a panel that shows the run."""
    return event("on_load", dataset).state


@functools.cache
def _operator(uri: str) -> Any:
    """A panel; FiftyOne would make all operators for every event."""
    import fiftyone.operators as foo

    return foo.get_operator(uri)


def shown_of(dataset: Any) -> ShownReport:
    """What the panel shows of the run."""
    loaded = Run(dataset, "agreement").records()
    return ShownReport(loaded.report, loaded.records, loaded.index, loaded.context)


def of_tab(state: dict[str, Any], tab: str) -> dict[str, Any]:
    """The state of a panel in which a tab is open."""
    return {**state, "tab": tab, "shown": None}
