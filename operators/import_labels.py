"""The operator that imports annotation files: choose them, see what would be imported, import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fiftyone.operators as foo
import fiftyone.types as fot
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementInputError
from ..agreement.arguments import one_of
from ..dataset_io import import_annotations
from ..dataset_io.annotation_files.fiftyone_formats import type_names
from ..dataset_io.annotation_files.file_format import TITLES
from ..dataset_io.annotation_files.image_names import MATCHES
from ..dataset_io.annotation_files.label_documents import LABEL_TYPES
from ..dataset_io.annotation_files.long_table import MEANINGS, column_choices
from .base import AgreementOperator, add_choice, add_problem, add_several, add_switch, progress_of, summary_output, tell

#: larger files are not read while the form is open, and best imported by a worker
_MOST_PREVIEWED = 20 << 20
_GIVEN = {
    "file": "One file with the labels of all annotators",
    "folder": "A folder with a file for each annotator or job",
    "each": "A file or folder for each annotator, which I name",
}
_INTO = {"fields": "One field for each annotator", "attribute": "One field, with an attribute that names the annotator"}
_MATCH = {"filename": "File name", "stem": "File name without its ending", "path": "File name with its folders"}
#: the columns of a table that the form asks for
_COLUMNS = MEANINGS[:4]


class ImportAnnotations(AgreementOperator, function=import_annotations):
    """Imports annotation files of several annotators into the dataset."""

    operator_name = names.IMPORT_ANNOTATIONS
    label = "Import annotations of several annotators"
    description = "Read Label Studio, COCO, CVAT, tables or FiftyOne's formats, with who looked at which images"
    icon = "file_upload"
    submit = "Import"
    can_be_delegated = True

    @property
    def config(self) -> foo.OperatorConfig:
        """What FiftyOne registers: whether a worker should do it depends on the file that is chosen."""
        config = super().config
        config.resolve_execution_options_on_change = True
        return config

    def resolve_execution_options(self, ctx: foo.ExecutionContext) -> foo.ExecutionOptions:
        """Large files are best imported by a worker."""
        return foo.ExecutionOptions(
            allow_immediate_execution=True,
            allow_delegated_execution=True,
            default_choice_to_delegated=_size_of(_source(ctx)) > _MOST_PREVIEWED,
        )

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        if ctx.dataset is None:
            raise AgreementInputError("Open or make a dataset first: labels are imported into the dataset that is open")
        add_choice(inputs, "given", "What do you have?", _GIVEN, as_radio_buttons=True)
        _add_paths(inputs, _given(ctx))
        formats = {"auto": "What it looks like", **TITLES}
        if _given(ctx) == "each":
            formats |= {name: f"FiftyOne: {name}" for name in type_names()}
        add_choice(inputs, "format", "Format", formats)
        source = _source(ctx)
        _add_columns(inputs, source)
        if source:
            _add_preview(inputs, ctx, source)
        add_several(inputs, "label_types", "Label types", "By default boxes where there are any, else what was drawn",
                    LABEL_TYPES)  # fmt: skip
        add_choice(inputs, "into", "Into", _INTO, as_radio_buttons=True)
        if ctx.params.get("into") == "attribute":
            inputs.str("field", label="Field", default="annotations")
        inputs.str("prefix", label="Prefix of the fields' names", default="")
        add_choice(inputs, "match", "Images are matched by", {name: _MATCH[name] for name in MATCHES})
        explorer = types.FileExplorerView(choose_dir=True, button_label="Choose a folder…")
        inputs.file("media_dir", label="Folder with the images that the dataset does not have", view=explorer)
        add_switch(inputs, "clip", "Clip coordinates outside of the image")
        add_switch(inputs, "overwrite", "Replace fields that exist")

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        summary = import_annotations(ctx.dataset, _source(ctx), progress=progress_of(ctx), **_options(ctx))
        tell(ctx, f"Imported the labels of {len(summary.annotators)} annotators on {summary.n_images} images")
        return {"summary": summary.to_markdown(), **summary.to_dict()}

    def resolve_output(self, ctx: foo.ExecutionContext) -> types.Property:
        return summary_output(self.label)


def _add_paths(inputs: types.Object, given: str) -> None:
    if given == "each":
        entry = types.Object()
        entry.str("annotator", label="Annotator", required=True)
        entry.str("path", label="File or folder on the App's server", required=True)
        inputs.list("sources", entry, label="Annotators", required=True)
        return
    is_folder = given == "folder"
    explorer = types.FileExplorerView(choose_dir=is_folder, button_label=f"Choose a {given}…")
    inputs.file(given, label="Annotations", description="On the App's server", required=True, view=explorer)


def _add_columns(inputs: types.Object, source: Any) -> None:
    """Which column of a table means what: guessed, to be changed."""
    choices, guessed = column_choices(Path(source)) if isinstance(source, str) else ([], {})
    for meaning in _COLUMNS if choices else ():
        titles = {"": "(none)", **{name: name for name in choices}}
        add_choice(inputs, f"column_{meaning}", f"Column: {meaning}", titles, default=guessed.get(meaning, ""))


def _path(value: Any) -> str:
    """A path that was typed or chosen."""
    return str((value.get("absolute_path") if isinstance(value, dict) else value) or "").strip()


def _given(ctx: foo.ExecutionContext) -> str:
    """Whether the form names a file, a folder, or a path for each annotator."""
    return one_of("given", ctx.params.get("given") or "file", tuple(_GIVEN))


def _source(ctx: foo.ExecutionContext) -> Any:
    """What the form names: a path, or a mapping of annotators to paths; empty as long as it is not complete."""
    given = _given(ctx)
    if given != "each":
        return _path(ctx.params.get(given))
    entries = [entry for entry in ctx.params.get("sources") or () if isinstance(entry, dict)]
    return {str(entry["annotator"]): _path(entry["path"]) for entry in entries
            if entry.get("annotator") and entry.get("path")}  # fmt: skip


def _size_of(source: Any) -> int:
    """Bytes of the files that are named; 0 if they cannot be read, which is said where they are."""
    paths = [Path(path) for path in (source.values() if isinstance(source, dict) else [source] if source else [])]
    try:
        files = [file for path in paths for file in (path.rglob("*") if path.is_dir() else [path])]
        return sum(file.stat().st_size for file in files if file.is_file())
    except OSError:
        return 0


def _options(ctx: foo.ExecutionContext) -> dict[str, Any]:
    """The arguments of the import in the form."""
    params = ctx.params
    chosen = {
        name: params[name] for name in ("into", "prefix", "field", "match", "clip", "overwrite") if params.get(name)
    }
    format = params.get("format") or "auto"
    format = one_of("format", format, ("auto", *TITLES, *type_names()))
    chosen["format"] = format if format in ("auto", *TITLES) else getattr(fot, format)
    columns = {meaning: params[f"column_{meaning}"] for meaning in _COLUMNS if params.get(f"column_{meaning}")}
    return {
        **chosen,
        "label_types": params.get("label_types") or None,
        "media_dir": _path(params.get("media_dir")) or None,
        "columns": columns or None,
    }


def _add_preview(inputs: types.Object, ctx: foo.ExecutionContext, source: Any) -> None:
    """Show what would be imported, or what must be changed first; what follows in the form may change it."""
    size = _size_of(source)
    if size > _MOST_PREVIEWED:
        text = f"**{size >> 20} MB**: too large to be shown now. The import checks everything before it writes."
        inputs.md(text, name="preview")
        return
    try:
        inputs.md(import_annotations(ctx.dataset, source, **_options(ctx), preview=True).to_markdown(), name="preview")
    except AgreementInputError as error:
        add_problem(inputs, error)
