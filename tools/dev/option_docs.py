"""``make format``: write the table of options into the README, and into the docstring of ``compute_agreement``."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .plugin import load_plugin
from .private_fiftyone import ROOT

README, COMPUTE = ROOT / "README.md", ROOT / "dataset_io" / "compute.py"
_TABLE = re.compile(r"(?<=from agreement/options.py -->\n).*?(?=<!-- end of the options -->)", re.DOTALL)
_ARGUMENTS = re.compile(r"(?<=begin with ``frames.``\n).*?(?=\n    Returns:\n)", re.DOTALL)
_WIDTH = 120


def main() -> None:
    """Write both."""
    for path, updated in UPDATES.items():
        text = path.read_text(encoding="utf-8")
        if updated(text) != text:
            path.write_text(updated(text), encoding="utf-8")


def readme_of(text: str) -> str:
    """The README with the current table of options."""
    rows = [f"| `{option.name}` | `{_python(option.default)}` | {_concerned(option)} | {_markdown(option)} |"
            for option in _options()]  # fmt: skip
    table = "\n".join(
        ["", "| option | default | concerns | what it does |", "| --- | --- | --- | --- |", *rows, "", ""]
    )
    return _TABLE.sub(lambda _: table, text)


def compute_of(text: str) -> str:
    """The module of ``compute_agreement`` with the current docstring."""
    entries = [
        textwrap.fill(
            f"{option.name}: {option.documentation}",
            _WIDTH,
            initial_indent=" " * 8,
            subsequent_indent=" " * 12,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for option in _options()
    ]
    return _ARGUMENTS.sub(lambda _: "\n".join([*entries, ""]), text)


def _options() -> Iterable[Any]:
    load_plugin()
    from annotator_agreement.agreement.options import OPTIONS

    return OPTIONS.values()


def _python(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _concerned(option: Any) -> str:
    from annotator_agreement.agreement.options import GROUPS

    return ", ".join(GROUPS[group] for group in option.concerns) or "all"


def _markdown(option: Any) -> str:
    return str(option.documentation).replace("``", "`").replace("|", "\\|")


UPDATES: dict[Path, Callable[[str], str]] = {README: readme_of, COMPUTE: compute_of}

if __name__ == "__main__":
    main()
