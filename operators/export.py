"""The operator that writes the report of a run to a file."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import fiftyone.operators as foo
from fiftyone.operators import types

from .. import names
from ..agreement.arguments import one_of
from ..charts.sections import plain_markdown
from ..dataset_io import export_agreement
from ..dataset_io.results.export import checked_path
from .base import AgreementOperator, add_choice, add_switch, chosen_run, summary_output

#: the formats: title in the form, and ending of the path
_FORMATS = {
    "html": ("Page with figures (HTML)", ".html"),
    "csv": ("Tables (CSV, in a zip file)", ".zip"),
    "json": ("Everything, for programs (JSON)", ".json"),
}


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
        if ctx.params.get("download") and path.is_file() and not ctx.delegated:
            ctx.ops.browser_download(address_of_file(path), path.name)
        return {"path": str(path), "summary": summary_of_file(path)}

    def resolve_output(self, ctx: foo.ExecutionContext) -> types.Property:
        return summary_output(self.label)


def _default_path(ctx: foo.ExecutionContext) -> str:
    """A file in the home directory of the user who runs the App's server."""
    _, suffix = _FORMATS[_format(ctx)]
    dataset_name = re.sub(r"[^\w.-]+", "-", ctx.dataset.name)[:100]
    return str(Path.home() / f"{dataset_name}-{chosen_run(ctx)}{suffix}")


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
