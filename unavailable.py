"""Find a missing requirement, and make operators that only say what to install, in place of the usual ones.

Imports FiftyOne and the standard library only.
"""

from __future__ import annotations

import functools
import importlib.metadata
from pathlib import Path
from typing import Any

import fiftyone as fo
import fiftyone.operators as foo
import yaml
from fiftyone.operators import types
from packaging.requirements import Requirement

_FOLDER = Path(__file__).parent


@functools.cache  # the App registers plugins for every request
def missing_requirement() -> str | None:
    """One sentence on the first requirement that is missing or too old; None if all are there. Checked once."""
    for line in (_FOLDER / "requirements.txt").read_text(encoding="utf-8").splitlines():
        needed = Requirement(line)
        try:
            found = importlib.metadata.version(needed.name)
        except importlib.metadata.PackageNotFoundError:
            # FiftyOne is imported above, even if it is installed under another name
            found = fo.constants.VERSION if needed.name == "fiftyone" else "none"
        if found == "none" or not needed.specifier.contains(found, prereleases=True):
            todo = (
                "`pip install --upgrade fiftyone`"
                if needed.name == "fiftyone"
                else ("`fiftyone plugins requirements @annotator/agreement --install`")
            )
            return f"Annotator agreement needs {needed}, got {found}; run {todo}, then restart the App"
    return None


def unavailable_operators(reason: str) -> list[type[foo.Operator]]:
    """Operators with the names of the plugin's operators, which only say why these are not available."""
    plugin: dict[str, Any] = yaml.safe_load((_FOLDER / "fiftyone.yml").read_text(encoding="utf-8"))
    return [_operator(name, reason) for name in plugin["operators"]]


def _operator(name: str, reason: str) -> type[foo.Operator]:
    class Unavailable(foo.Operator):
        @property
        def config(self) -> foo.OperatorConfig:
            label = name.replace("_", " ").capitalize()
            return foo.OperatorConfig(name=name, label=label, description=reason, risk_level="low")

        def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
            inputs = types.Object()
            inputs.view("missing", types.Error(label="Not installed", description=reason)).invalid = True
            return types.Property(inputs)

        def execute(self, ctx: foo.ExecutionContext) -> None:
            raise RuntimeError(reason)

        def __call__(self, *arguments: Any, **options: Any) -> None:
            raise RuntimeError(reason)

    return Unavailable
