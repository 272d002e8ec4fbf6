"""Operators by URI through FiftyOne's registry, with real execution contexts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.datasets import random_annotators

ANNOTATORS = ["alice", "bob", "carol"]


def _computed(make_dataset: Callable[..., Any], labels: Any) -> Any:
    import fiftyone as fo

    from annotator_agreement.dataset_io import compute_agreement

    dataset = make_dataset(labels)
    dataset.set_values("metadata", [fo.ImageMetadata(width=200, height=100)] * len(dataset))
    compute_agreement(dataset, ANNOTATORS, resamples=0)
    return dataset


def _of_example(make_dataset: Callable[..., Any]) -> Any:
    return _computed(make_dataset, None)


def _of_random_boxes(make_dataset: Callable[..., Any]) -> Any:
    return _computed(make_dataset, random_annotators(20, seed=4))


@pytest.fixture
def example(lend: Callable[..., Any]) -> Any:
    """The five images of the example, with a run."""
    return lend(_of_example)


@pytest.fixture
def twenty(lend: Callable[..., Any]) -> Any:
    """Random boxes on twenty images, with a run."""
    return lend(_of_random_boxes)


@pytest.fixture
def operator(private_fiftyone) -> Callable[[str], Any]:
    """An operator of the plugin as FiftyOne knows it."""
    import fiftyone.operators as foo

    return lambda name: foo.get_operator(f"@annotator/agreement/{name}")


@pytest.fixture
def context(private_fiftyone) -> Callable[..., Any]:
    """A real execution context: ``context(operator, dataset, view=None, **params)``."""
    from fiftyone.operators.executor import ExecutionContext, Executor

    def make(operator: Any, dataset: Any, view: Any = None, **params: Any) -> Any:
        request = {"dataset_name": dataset.name, "params": params}
        if view is not None:
            request |= {"view": view._serialize(), "view_target": "CURRENT_VIEW"}
        return ExecutionContext(request, executor=Executor(), operator_uri=operator.uri)

    return make


@pytest.fixture
def form(context) -> Callable[..., dict[str, Any]]:
    """The inputs of an operator's form, as the App gets them, those that are folded after the others.

    ``prompt_id=None``: as a caller without a form.
    """

    def make(operator: Any, dataset: Any, prompt_id: str | None = "form", **params: Any) -> dict[str, Any]:
        ctx = context(operator, dataset, **params)
        ctx._prompt_id = prompt_id
        inputs = operator.resolve_type(ctx, "inputs").to_json()["type"]["properties"]
        return {**inputs, **inputs.pop("advanced", {"type": {"properties": {}}})["type"]["properties"]}

    return make


@pytest.fixture
def run(context) -> Callable[..., tuple[Any, dict[str, Any]]]:
    """Execute an operator; returns its result and what it asks the App to do, by name.

    ``request``: what the App tells beside the parameters; ``{"spaces": {}}`` is enough to be taken for it.
    """

    def execute(operator, dataset, view=None, request=None, **params):
        ctx = context(operator, dataset, view, **params)
        ctx.request_params |= request or {}
        result = operator.execute(ctx)
        dataset.reload()
        requests = ctx.executor.to_json()["requests"]
        return result, {each["operator_uri"].split("/")[-1]: each["params"] for each in requests}

    return execute


def view_of(dataset: Any, requests: dict[str, Any]) -> Any:
    """The view that the App was told to show."""
    from fiftyone import DatasetView

    return DatasetView._build(dataset, requests["set_view"]["view"])
