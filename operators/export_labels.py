"""The operator that exports the labels of all annotators to one file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import fiftyone.operators as foo
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementInputError
from ..agreement.settings.arguments import one_of
from ..dataset_io import export_annotations
from ..dataset_io.annotation_files.exporting import FORMATS
from ..dataset_io.labels.source import comparable_fields
from ..dataset_io.record.run import list_agreements
from ..dataset_io.results.export import checked_file
from .base import (
    AgreementOperator,
    add_choice,
    add_several,
    add_switch,
    chosen_run,
    given_names,
    progress_of,
    summary_output,
    tell,
)
from .export import summary_of_file
from .selection import add_within_view, samples_within, shows_part

_LABELS = {"run": "The labels of a run, with its objects and verdicts", "fields": "Label fields"}


class ExportAnnotations(AgreementOperator, function=export_annotations):
    """Writes the labels of all annotators to one file."""

    operator_name = names.EXPORT_ANNOTATIONS
    label = "Export annotations of several annotators"
    description = "Write the labels of all annotators, and who looked at which images, to one file"
    icon = "file_download"
    submit = "Export"
    can_be_delegated = True

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        if ctx.dataset is None:
            raise AgreementInputError("Open a dataset first: its labels are exported")
        runs = list_agreements(ctx.dataset)
        if runs:
            add_choice(inputs, "given", "What", _LABELS, as_radio_buttons=True)
        if _is_run(ctx):
            add_choice(inputs, "run_key", "Run", runs, required=True)
        else:
            description = "One for each annotator; or one whose labels name the annotator"
            add_several(inputs, "fields", "Label fields", description, comparable_fields(ctx.dataset), required=True)
            if len(given_names(ctx.params, "fields")) == 1:
                inputs.str("annotator_attribute", label="Attribute that names the annotator", required=True)
                inputs.str("assigned_field", label="Sample field that lists the assigned annotators")
        add_choice(
            inputs, "format", "Format", {name: kind.title for name, kind in FORMATS.items()}, as_radio_buttons=True
        )
        description = "A file on the machine of the App's server; missing folders are created"
        inputs.str("path", label="File", description=description, default=_default_path(ctx), required=True)
        if shows_part(ctx):
            add_within_view(inputs)
        add_switch(inputs, "overwrite", "Replace the file if there is one")
        add_switch(inputs, "download", "Download it too", "If the App runs on another machine")
        if "path" in ctx.params:
            checked_file(_path(ctx), overwrite=ctx.params.get("overwrite") or False)

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        wanted = () if _is_run(ctx) else ("annotator_attribute", "assigned_field")
        of_fields: dict[str, Any] = {name: ctx.params[name] for name in wanted if ctx.params.get(name)}
        fields = given_names(ctx.params, "fields")
        summary = export_annotations(
            samples_within(ctx),
            chosen_run(ctx) if _is_run(ctx) else fields[0] if "annotator_attribute" in of_fields and fields else fields,
            _path(ctx),
            format=ctx.params.get("format") or "coco",
            overwrite=ctx.params.get("overwrite") or False,
            progress=progress_of(ctx),
            **of_fields,
        )
        path = Path(summary.path)
        if ctx.params.get("download") and not ctx.delegated:
            ctx.ops.browser_download(f"/media?filepath={quote(str(path))}", path.name)
        tell(ctx, f"Exported the labels of {len(summary.annotators)} annotators", reload=False)
        return {"summary": f"{summary_of_file(path)}\n\n{summary.to_markdown()}", **summary.to_dict()}

    def resolve_output(self, ctx: foo.ExecutionContext) -> types.Property:
        return summary_output(self.label)


def _is_run(ctx: foo.ExecutionContext) -> bool:
    """Whether the labels of a run are exported: those of fields if there is no run, or the caller names fields."""
    given = ctx.params.get("given") or ("fields" if ctx.params.get("fields") else "run")
    return given == "run" and bool(list_agreements(ctx.dataset))


def _suffix(ctx: foo.ExecutionContext) -> str:
    return FORMATS[one_of("format", ctx.params.get("format") or "coco", tuple(FORMATS))].suffix


def _default_path(ctx: foo.ExecutionContext) -> str:
    """A file in the home directory of the user who runs the App's server."""
    return str(Path.home() / f"{re.sub(r'[^a-zA-Z0-9_.-]+', '-', ctx.dataset.name)[:100]}-annotations{_suffix(ctx)}")


def _path(ctx: foo.ExecutionContext) -> str:
    """The path of the form, with the ending of the format: a change of the format alone changes the path too."""
    path: str = ctx.params.get("path") or _default_path(ctx)
    others = {kind.suffix for kind in FORMATS.values()} - {_suffix(ctx)}
    ending = next((ending for ending in others if isinstance(path, str) and path.endswith(ending)), None)
    return path if ending is None else path.removesuffix(ending) + _suffix(ctx)
