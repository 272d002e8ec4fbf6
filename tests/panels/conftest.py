"""Fixtures that call the panel by URI with real execution contexts, and record the requests that it sends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.datasets import random_annotators

from annotator_agreement import compute_agreement

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
                found[name if name in _PLAIN else name.rsplit("_", 1)[0]] = entry
                add(entry["type"].get("properties") or {})

        add(output["output"]["type"]["properties"])
        return found

    @property
    def text(self) -> str:
        """All text of the panel, in one string."""
        (output,) = self.of("show_panel_output")
        return repr(output)

    @property
    def drill_down(self) -> str | None:
        """The panel's text on the open drill-down, empty if none is open; None if the text was not sent again."""
        said = [params["data"]["drill_down.title"] for params in self.of("patch_panel_data")]
        return said[-1] if said else None

    def view(self, dataset: Any) -> Any:
        """The view that the App was told to show."""
        from fiftyone.core.view import DatasetView

        (params,) = self.of("set_view")
        return DatasetView._build(dataset, params["view"])


_PLAIN = {"controls", "charts", "refresh", "compute", "back", "drill_down"}


@pytest.fixture
def event(private_fiftyone) -> Callable[..., Sent]:
    """Send an event to the panel: ``event(method, dataset, state, view=None, **params)``."""
    import fiftyone.operators as foo
    from fiftyone.operators.executor import ExecutionContext, Executor

    panel = foo.get_operator(URI)

    def send(method: str, dataset: Any, state: dict[str, Any] | None = None, view: Any = None, **params: Any) -> Sent:
        request = {
            "dataset_name": dataset if isinstance(dataset, str) else getattr(dataset, "name", None),
            "params": {"panel_id": "p", "panel_state": dict(state or {}), "__method__": method, **params},
        }
        if view is not None:
            request["view"] = view._serialize()
        ctx = ExecutionContext(request, executor=Executor(), operator_uri=URI)
        panel.execute(ctx)
        return Sent(ctx.executor.to_json()["requests"], dict(ctx.panel_state))

    return send


@pytest.fixture
def dataset(make_dataset: Callable[..., Any]) -> Any:
    """A dataset with a run."""
    dataset = make_dataset(random_annotators(40))
    compute_agreement(dataset, ANNOTATORS, progress=False)
    return dataset


@pytest.fixture
def state(event: Callable[..., Sent], dataset: Any) -> dict[str, Any]:
    """The state of a panel that shows the run."""
    return event("on_load", dataset).state
