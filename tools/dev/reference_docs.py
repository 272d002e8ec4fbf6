"""``make format``: write what is declared in one place into the others.

The tables of options, operators, fields and functions are between two comments on their reference pages, the options
also in a docstring; the version of ``pyproject.toml`` is in ``names.py``, ``fiftyone.yml`` and
``CITATION.cff``. A test fails where they differ.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from .plugin import load_plugin
from .private_fiftyone import ROOT

PAGES = ROOT / "docs" / "reference"
COMPUTE = ROOT / "dataset_io" / "jobs" / "compute.py"
_ARGUMENTS = re.compile(r"(?<=begin with ``frames.``\n).*?(?=\n    Returns:\n)", re.DOTALL)
_WIDTH = 120
#: of an operator that is no function
_ONLY_A_BUTTON = "; a button of the App: not in the operator browser"
_A_METRIC = "; a metric of `evaluate_detections`"


def main() -> None:
    """Write all."""
    for path, updated in UPDATES.items():
        text = path.read_text(encoding="utf-8")
        if updated(text) != text:
            path.write_text(updated(text), encoding="utf-8")


def _options_of(text: str) -> str:
    rows = [
        (f"`{option.name}`", f"`{_python(option.default)}`", _concerned(option), _markdown(option.documentation))
        for option in _options()
    ]
    return _replaced(text, "options", _table(("option", "default", "concerns", "what it does"), rows))


def _operators_of(text: str) -> str:
    load_plugin()
    from annotator_agreement.operators import FORMS, METRICS
    from annotator_agreement.panels import PANELS

    rows = [
        (
            f"`{form.name}`",
            form.label,
            _markdown(form.sentence) + (_ONLY_A_BUTTON if form.config.get("unlisted") else ""),
            "yes" if form.delegated else "",
        )
        for form in FORMS
    ]
    metrics = [metric().config for metric in METRICS]
    rows += [(f"`{each.name}`", each.label, f"{_markdown(each.description)}{_A_METRIC}", "") for each in metrics]
    of_panels = [(f"`{panel.config.name}`", panel.config.label) for panel in (entry() for entry in PANELS)]
    operators = _table(("operator", "in the App", "what it does", "delegated"), rows)
    return _replaced(text, "operators", [*operators, "", *_table(("panel", "in the App"), of_panels)])


def _fields_of(text: str) -> str:
    load_plugin()
    from annotator_agreement import names

    of_labels = {
        "Boxes, shapes, keypoints, intervals": names.OBJECT_FIELDS,
        "Classes of whole images": names.RATING_FIELDS,
        "Numbers": names.NUMBER_FIELDS,
        "Tags": names.TAG_FIELDS,
        "Semantic masks": names.PIXEL_FIELDS,
    }
    lines: list[str] = []
    for title, fields in of_labels.items():
        lines += [f"## {title}", ""]
        for where, specs in (("on images", fields.sample), ("on labels", fields.label)):
            lines += [*_field_table(where, {f"agreement{suffix}": spec for suffix, spec in specs.items()}), ""]
    derived = {f"agreement{names.UNITS_SUFFIX}": names.UNIT_ATTRIBUTES}
    derived[f"agreement{names.CONSENSUS_SUFFIX}"] = names.CONSENSUS_ATTRIBUTES
    lines += ["## Objects and consensus, on request", ""]
    for name, specs in derived.items():
        lines += [*_field_table(f"on labels of `{name}`", specs), ""]
    return _replaced(text, "fields", lines[:-1])


def _functions_of(text: str) -> str:
    load_plugin()
    from annotator_agreement import agreement, dataset_io
    from annotator_agreement.dataset_io.run_methods import RUN_PARTS, Method

    owners = {"run": dataset_io.AgreementRun, **{f"run.{name}": part for name, part in RUN_PARTS.items()}}
    called = {"aa.compute": dataset_io.compute_agreement, "aa.load": dataset_io.load, "aa.trend": dataset_io.trend}
    called |= {"aa.list_runs": dataset_io.list_agreements}
    called |= {"aa.files.load": dataset_io.import_annotations, "aa.files.save": dataset_io.export_annotations}
    for place, owner in owners.items():
        called |= {f"{place}.{name}": each.function for name, each in vars(owner).items() if isinstance(each, Method)}
    lines = []
    for place, function in called.items():
        lines += [f"## {place}", "", _directive(function), "    options:", "      show_root_heading: false", ""]
    of_classes = (*owners.values(), agreement.AgreementReport, agreement.AgreementInputError)
    lines += [line for each in of_classes for line in (_directive(each), "")]
    return _replaced(text, "functions", lines[:-1])


def _directive(thing: Any) -> str:
    """The line by which mkdocstrings shows a class or function, by where it is defined."""
    return f"::: annotator_agreement.{thing.__module__.partition('.')[2]}.{thing.__name__}"


def _compute_of(text: str) -> str:
    """The module of ``compute`` with the current docstring."""
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


def _version_of(text: str) -> str:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    version = re.findall(r"^version = \"(.*)\"$", project, re.MULTILINE)[0]
    text = re.sub(r"^version: .*$", f"version: {version}", text, flags=re.MULTILINE)
    return re.sub(r'^VERSION = ".*"$', f'VERSION = "{version}"', text, flags=re.MULTILINE)


def _options() -> Iterable[Any]:
    load_plugin()
    from annotator_agreement.agreement.settings.options import OPTIONS

    return OPTIONS.values()


def _python(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _concerned(option: Any) -> str:
    from annotator_agreement.agreement.settings.options import GROUPS

    return ", ".join(GROUPS[group] for group in option.concerns) or "all"


def _markdown(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|")


def _field_table(where: str, specs: dict[str, Any]) -> list[str]:
    rows = [
        (f"`{name}`", spec.type, _markdown(spec.description) + (f"; with `{spec.option}=True`" if spec.option else ""))
        for name, spec in specs.items()
    ]
    return _table((where, "type", "meaning"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def _replaced(text: str, what: str, lines: Sequence[str]) -> str:
    between = re.compile(rf"(?<=<!-- {what}: ).*?(?=<!-- end of the {what} -->)", re.DOTALL)
    return between.sub(lambda _: "\n".join(["written by `make format` -->", "", *lines, "", ""]), text)


UPDATES: dict[Path, Callable[[str], str]] = {
    PAGES / "options.md": _options_of,
    PAGES / "operators.md": _operators_of,
    PAGES / "fields.md": _fields_of,
    PAGES / "python.md": _functions_of,
    COMPUTE: _compute_of,
    ROOT / "names.py": _version_of,
    ROOT / "fiftyone.yml": _version_of,
    ROOT / "CITATION.cff": _version_of,
}

if __name__ == "__main__":
    main()
