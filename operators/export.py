"""The operators that write the report of a run, and what was decided against an annotator, to a file."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import fiftyone.operators as foo
from fiftyone.operators import types

from .. import names
from ..agreement.settings.arguments import one_of, path_of
from ..charts.text.sections import plain_markdown
from ..dataset_io import export_agreement, export_decided_against
from ..dataset_io.decide.decisions import gold_fields
from ..dataset_io.record.run_labels import open_run_labels
from ..dataset_io.results.export import checked_file, checked_path
from .base import AgreementOperator, add_choice, add_switch, add_warning, chosen_run, summary_output

#: the formats: title in the form, and ending of the path
_FORMATS = {
    "html": ("Page with figures (HTML)", ".html"),
    "csv": ("Tables (CSV, in a zip file)", ".zip"),
    "json": ("Everything, for programs (JSON)", ".json"),
}
#: what can be sent to an annotator, by the ending of the path
_LISTS = {"html": "Page with pictures", "csv": "Table (CSV)"}


class ExportAgreement(AgreementOperator, function=export_agreement):
    """Writes the report of a run to a file."""

    operator_name = names.EXPORT_AGREEMENT
    label = "Export annotator agreement"
    description = "Write the report of an agreement run as a page with figures, as tables, or as JSON"
    icon = "file_download"
    submit = "Export"
    run_text = "The run whose report is written"
    can_be_delegated = True

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        titles = {name: label for name, (label, _) in _FORMATS.items()}
        add_choice(inputs, "format", "What", titles, as_radio_buttons=True, required=True)
        inputs.str(
            "path",
            label="File",
            description="A file on the machine of the App's server; missing folders are created",
            default=_default_path(ctx),
            required=True,
        )
        add_switch(inputs, "download", "Download it with the browser, too", default=True)
        inputs.bool("overwrite", label="Replace the file if there is one", default=False)
        if "path" in ctx.params:
            checked_path(_path(ctx), _format(ctx), overwrite=ctx.params.get("overwrite") or False)

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        path = export_agreement(
            ctx.dataset,
            chosen_run(ctx),
            _path(ctx),
            format=_format(ctx),
            overwrite=ctx.params.get("overwrite") or False,
        )
        return told_of_file(ctx, path)

    def resolve_output(self, ctx: foo.ExecutionContext) -> types.Property:
        return summary_output(self.label)


class ExportDecidedAgainst(AgreementOperator, function=export_decided_against):
    """Writes what was decided against an annotator to a file."""

    operator_name = names.EXPORT_DECIDED_AGAINST
    label = "Export what was decided against an annotator"
    description = (
        "Write a page with pictures, or a table, of what an annotator got wrong by the decisions, to send to them"
    )
    icon = "outgoing_mail"
    submit = "Export"
    run_text = "The run whose annotator gets the list"
    can_be_delegated = True

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        annotators = open_run_labels(ctx.dataset, chosen_run(ctx)).annotators
        if not gold_fields(ctx.dataset):
            add_warning(inputs, "no_decisions", "Nothing was decided on this dataset yet")
            return
        add_choice(inputs, "annotator", "Annotator", annotators, required=True)
        add_choice(inputs, "format", "What", _LISTS, as_radio_buttons=True, required=True)
        described = "A folder on the machine of the App's server; it is created if need be"
        inputs.str("folder", label="Folder", description=described, default=str(Path.home()), required=True)
        add_switch(inputs, "download", "Download it with the browser, too", default=True)
        add_switch(inputs, "overwrite", "Replace the file if there is one")
        path = checked_file(_list_path(ctx), overwrite=ctx.params.get("overwrite") or False)
        inputs.view("file", types.Notice(label=f"This writes {path}"))

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        path = export_decided_against(
            ctx.dataset,
            _annotator(ctx),
            chosen_run(ctx),
            _list_path(ctx),
            gold=next(iter(gold_fields(ctx.dataset)), names.DEFAULT_GOLD_FIELD),
            overwrite=ctx.params.get("overwrite") or False,
        )
        return told_of_file(ctx, path)

    def resolve_output(self, ctx: foo.ExecutionContext) -> types.Property:
        return summary_output(self.label)


def _annotator(ctx: foo.ExecutionContext) -> str:
    """The annotator; when the form opens, the first one."""
    annotator: str = ctx.params.get("annotator") or open_run_labels(ctx.dataset, chosen_run(ctx)).annotators[0]
    return annotator


def _list_path(ctx: foo.ExecutionContext) -> str:
    """The file of an annotator's list."""
    ending = one_of("format", ctx.params.get("format") or "html", tuple(_LISTS))
    folder = path_of("folder", ctx.params.get("folder") or str(Path.home()))
    return str(Path(folder) / f"{file_name_of(ctx.dataset.name)}-{file_name_of(str(_annotator(ctx)))}.{ending}")


def told_of_file(ctx: foo.ExecutionContext, path: Path) -> dict[str, Any]:
    """Download a file if the form says so; the path, and a link."""
    if ctx.params.get("download") and path.is_file() and not ctx.delegated:
        ctx.ops.browser_download(address_of_file(path), path.name)
    return {"path": str(path), "summary": summary_of_file(path)}


def file_name_of(name: str) -> str:
    """A name as a part of the name of a file."""
    return re.sub(r"[^\w.-]+", "-", name)[:100]


def _default_path(ctx: foo.ExecutionContext) -> str:
    """A file in the home directory of the user who runs the App's server."""
    _, suffix = _FORMATS[_format(ctx)]
    return str(Path.home() / f"{file_name_of(ctx.dataset.name)}-{chosen_run(ctx)}{suffix}")


def _format(ctx: foo.ExecutionContext) -> str:
    """The format that is chosen."""
    return one_of("format", ctx.params.get("format") or "html", tuple(_FORMATS))


def _path(ctx: foo.ExecutionContext) -> str:
    """The path of the form, with the ending of the format: a change of the format alone changes the path too."""
    path: str = ctx.params.get("path") or _default_path(ctx)
    _, suffix = _FORMATS[_format(ctx)]
    known = {ending for _, ending in _FORMATS.values()}
    ending = os.path.splitext(path)[1] if isinstance(path, str) else ""
    return path.removesuffix(ending) + suffix if ending in known - {suffix} else path


def summary_of_file(path: Path) -> str:
    """The path, with a link through the App's server, which serves files of its machine."""
    shown = plain_markdown(path) if "`" in str(path) else f"`{path}`"
    return f"Written to {shown} · [open it]({address_of_file(path)})"


def address_of_file(path: Path) -> str:
    """Where the App's server gives a file of its machine to the browser."""
    return f"/media?filepath={quote(str(path))}"
