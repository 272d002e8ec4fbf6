"""The operator that writes the report of a run to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..dataset_io import export_agreement
from ..dataset_io.results.export import checked_path
from .base import AgreementOperator, add_choice, chosen_run, summary_output

#: the formats: title in the form, and ending of the path
_FORMATS = {
    "html": ("Page with figures (HTML)", ".html"),
    "csv": ("Tables (CSV, in a zip file)", ".zip"),
    "json": ("Everything, for programs (JSON)", ".json"),
}


class ExportAgreement(AgreementOperator):
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
        inputs.bool("overwrite", label="Replace the file if there is one", default=False)
        if "path" in ctx.params:
            checked_path(_path(ctx), ctx.params.get("format", "html"), overwrite=bool(ctx.params.get("overwrite")))

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        path = export_agreement(
            ctx.dataset,
            chosen_run(ctx),
            _path(ctx),
            format=ctx.params.get("format", "html"),
            overwrite=bool(ctx.params.get("overwrite")),
        )
        return {"path": str(path), "summary": _summary(path)}

    def resolve_output(self, ctx: foo.ExecutionContext) -> types.Property:
        return summary_output(self.label)

    def __call__(
        self,
        samples: SampleCollection,
        run_key: str = names.DEFAULT_RUN_KEY,
        path: str = "agreement.html",
        *,
        format: str | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Export a report, from Python; see :func:`~annotator_agreement.export_agreement`."""
        return export_agreement(samples, run_key, path, format=format, overwrite=overwrite)


def _default_path(ctx: foo.ExecutionContext) -> str:
    """A file in the home directory of the user who runs the App's server."""
    _, suffix = _FORMATS[ctx.params.get("format") or "html"]
    run_key = ctx.params.get("run_key") or names.DEFAULT_RUN_KEY
    return str(Path.home() / f"{ctx.dataset.name.replace('/', '-')}-{run_key}{suffix}")


def _path(ctx: foo.ExecutionContext) -> str:
    """The path from the form, with the ending of the format, so that changing the format changes the path."""
    path = ctx.params.get("path") or _default_path(ctx)
    _, suffix = _FORMATS[ctx.params.get("format") or "html"]
    known = {ending for _, ending in _FORMATS.values()}
    return str(Path(path).with_suffix(suffix)) if Path(path).suffix in known - {suffix} else path


def _summary(path: Path) -> str:
    """The path, with a link through the App's server, which serves files of its machine."""
    return f"Written to `{path}` · [open it](/media?filepath={quote(str(path))})"
