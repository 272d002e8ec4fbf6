"""The operator that writes the report of a run to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementInputError
from ..dataset_io import export_agreement
from ..dataset_io.results.export import checked_path
from .run_choice import run_choice

#: choices of the form: what they are called, and what a path of theirs ends in
_FORMATS = {
    "html": ("Page with figures (HTML)", ".html"),
    "csv": ("Tables (CSV, in a zip file)", ".zip"),
    "json": ("Everything, for programs (JSON)", ".json"),
}


class ExportAgreement(foo.Operator):
    """Writes the report of a run to a file that can be sent to somebody."""

    @property
    def config(self) -> foo.OperatorConfig:
        return foo.OperatorConfig(
            name=names.EXPORT_AGREEMENT,
            label="Export annotator agreement",
            description="Write the report of an agreement run as a page with figures, as tables, or as JSON",
            icon="file_download",
            dynamic=True,
            allow_immediate_execution=True,
            allow_delegated_execution=True,
        )

    def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
        inputs = types.Object()
        prompt = types.PromptView(label="Export annotator agreement", submit_button_label="Export")
        if not run_choice(inputs, ctx, description="The run whose report is written"):
            return types.Property(inputs, view=prompt)
        choices = types.RadioGroup()
        for name, (label, _) in _FORMATS.items():
            choices.add_choice(name, label=label)
        inputs.enum("format", choices.values(), label="What", default="html", required=True, view=choices)
        inputs.str(
            "path",
            label="File",
            description="Where the App's server writes it, and replaces nothing unless you say so; folders are made",
            default=_default_path(ctx),
            required=True,
        )
        inputs.bool("overwrite", label="Replace the file if there is one", default=False)
        if "path" in ctx.params:
            try:
                checked_path(_path(ctx), ctx.params.get("format", "html"), overwrite=bool(ctx.params.get("overwrite")))
            except AgreementInputError as error:
                inputs.view("problem", types.Error(label=str(error))).invalid = True
        return types.Property(inputs, view=prompt)

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        path = export_agreement(
            ctx.dataset,
            ctx.params["run_key"],
            _path(ctx),
            format=ctx.params.get("format", "html"),
            overwrite=bool(ctx.params.get("overwrite")),
        )
        return {"path": str(path), "summary": _summary(path)}

    def resolve_output(self, ctx: foo.ExecutionContext) -> types.Property:
        outputs = types.Object()
        outputs.str("summary", view=types.MarkdownView())
        return types.Property(outputs, view=types.View(label="Export annotator agreement"))

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
    """A file in the home of whoever runs the App."""
    _, suffix = _FORMATS[ctx.params.get("format") or "html"]
    run_key = ctx.params.get("run_key") or names.DEFAULT_RUN_KEY
    return str(Path.home() / f"{ctx.dataset.name.replace('/', '-')}-{run_key}{suffix}")


def _path(ctx: foo.ExecutionContext) -> str:
    """The path of the form; who changes the format only, means the path to follow."""
    path = ctx.params.get("path") or _default_path(ctx)
    _, suffix = _FORMATS[ctx.params.get("format") or "html"]
    known = {ending for _, ending in _FORMATS.values()}
    return str(Path(path).with_suffix(suffix)) if Path(path).suffix in known - {suffix} else path


def _summary(path: Path) -> str:
    """Where it was written, with a link through the App's server, which serves files of its machine."""
    return f"Written to `{path}` · [open it](/media?filepath={quote(str(path))})"
