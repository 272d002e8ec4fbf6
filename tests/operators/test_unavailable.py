"""Where something is not installed, the plugin registers, and its operators say what to run."""

from __future__ import annotations

import importlib.metadata
import sys

import pytest

from annotator_agreement import register, unavailable


class _Context:
    """Takes what a plugin registers."""

    def __init__(self) -> None:
        self.registered: list[type] = []

    def register(self, cls: type) -> None:
        self.registered.append(cls)


@pytest.fixture(autouse=True)
def asked_anew():
    """What is installed is looked up once in a process."""
    unavailable.missing_requirement.cache_clear()
    yield
    unavailable.missing_requirement.cache_clear()


@pytest.fixture
def without_shapely(monkeypatch):
    """Metadata as if shapely had never been installed; importing it again fails, too."""
    version = importlib.metadata.version

    def found(name: str) -> str:
        if name == "shapely":
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(importlib.metadata, "version", found)
    monkeypatch.setitem(sys.modules, "shapely", None)


def test_nothing_is_missing_here(private_fiftyone):
    assert unavailable.missing_requirement() is None


def test_every_operator_says_what_to_install(private_fiftyone, without_shapely):
    context = _Context()
    register(context)
    operators = [cls() for cls in context.registered]
    assert "compute_agreement" in {operator.config.name for operator in operators}
    for operator in operators:
        form = operator.resolve_input(None).to_json()
        shown = form["type"]["properties"]["missing"]
        assert shown["invalid"]
        assert "plugins requirements @annotator/agreement --install" in shown["view"]["description"]
        with pytest.raises(RuntimeError, match=r"needs shapely>=2\.0, got none; run"):
            operator.execute(None)
        with pytest.raises(RuntimeError, match="needs shapely"):
            operator("a dataset", ["alice", "bob"])


def test_a_fiftyone_that_is_too_old_is_named(private_fiftyone, monkeypatch):
    version = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.2.0" if name == "fiftyone" else version(name))
    reason = str(unavailable.missing_requirement())
    assert reason.startswith(
        "Annotator agreement needs fiftyone>=1.14, got 1.2.0; run `pip install --upgrade fiftyone`"
    )
