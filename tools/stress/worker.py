"""A process that does what it is told on datasets of the database, until its standard input is closed.

A command is a line of JSON: ``{"call", "arguments", "options"}``, where ``call`` is ``module:function`` and arguments
that are ``{"dataset": name}`` stand for a dataset. The answer is a line of JSON: ``{"value"}``, as far as JSON can hold
it, or ``{"error", "message", "trace"}``.
"""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def _argument(value: Any) -> Any:
    import fiftyone as fo

    return fo.load_dataset(value["dataset"]) if isinstance(value, dict) and set(value) == {"dataset"} else value


def _answer(command: dict[str, Any]) -> dict[str, Any]:
    module, _, function = command["call"].partition(":")
    try:
        called = getattr(importlib.import_module(module), function)
        value = called(
            *map(_argument, command["arguments"]),
            **{name: _argument(value) for name, value in command["options"].items()},
        )
    except Exception as error:  # what a campaign looks for
        return {"error": type(error).__name__, "message": str(error), "trace": traceback.format_exc()}
    return {"value": value}


def main() -> None:
    """Answer commands."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # what is printed meanwhile is no answer
    from tools.dev.plugin import load_plugin

    load_plugin()
    import fiftyone  # noqa: F401 - takes seconds

    answers.write("{}\n")
    answers.flush()
    for line in sys.stdin:
        answers.write(json.dumps(_answer(json.loads(line)), default=lambda _: None) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
