"""The form that imports annotation files: choose them, see what would be imported, import."""

from __future__ import annotations

import ast
import dataclasses
import mimetypes
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import fiftyone.types as fot
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementInputError
from ..agreement.settings.annotators import spelt_alike
from ..agreement.settings.arguments import one_of
from ..agreement.settings.no_labels import DREW_NOTHING, NOT_ASSIGNED
from ..agreement.settings.options import OPTIONS
from ..charts.text.words import counted
from ..dataset_io import import_annotations
from ..dataset_io.annotation_files.file_format import TITLES, type_names
from ..dataset_io.annotation_files.image_names import MATCHES
from ..dataset_io.annotation_files.label_documents import LABEL_TYPES
from ..dataset_io.annotation_files.long_table import MEANINGS, column_choices
from .form import Filled, Form, is_from_app
from .inputs import (
    Choice,
    Folded,
    FormField,
    Notice,
    ServerFile,
    Several,
    Switch,
    Text,
    option_value,
    problem,
    unfolded,
)

#: up to so many bytes of files, samples of the dataset and images of the folder, files are read as soon as they are
#: named
_MOST_PEEKED, _MOST_SAMPLES = 1 << 20, 10_000
#: beyond so many bytes or files nothing is read while the form is open, and a worker is preset
_MOST_PREVIEWED, _MOST_FILES = 20 << 20, 2_000
#: annotators that can be named one by one
_MOST_NAMED = 50
_GIVEN = {
    "file": "One file with the labels of all annotators",
    "folder": "A folder with a file for each annotator or job",
    "files": "A file for each annotator",
    "folders": "A folder for each annotator",
}
_INTO = {"fields": "One field for each annotator", "attribute": "One field, with an attribute that names the annotator"}
_MATCH = {"filename": "File name", "stem": "File name without its ending", "path": "File name with its folders"}
_EXISTING = {
    "add": "Labels are added on other images only",
    "overwrite": "Replace them on the images of the file",
    "remove_others": "Replace them, and remove them on all other images",
}
#: the columns of a table that the form asks for
_COLUMNS = MEANINGS[:4]
#: titles in the form of the import's arguments, to replace their names in messages
_LABELS = {
    "format": "Format",
    "label_types": "Label types",
    "into": "Into",
    "field": "Field",
    "prefix": "Prefix of the fields' names",
    "match": "Images are matched by",
    "media_dir": "Folder with the images",
    "clip": "Clip coordinates outside of the image",
    "overwrite": "If annotators have labels already",
    "remove_others": "If annotators have labels already",
    "columns": "Column",
    "annotators": "Annotator",
    "aliases": "Names that stand for others",
    "no_labels": "Images without a file of an annotator",
}
#: meanings of an image without a file, of formats with a file for each image
_WITHOUT_FILE: dict[str, str] = {
    NOT_ASSIGNED: "were not looked at",
    DREW_NOTHING: "were looked at, and nothing was drawn",
}
_TITLES: dict[str, str] = {
    **_INTO,
    **_MATCH,
    **_WITHOUT_FILE,
    **{name: _EXISTING[name] for name in ("overwrite", "remove_others")},
}
_ARGUMENT = re.compile(r"(say )?(?:`(\w+)=?([^`]*)`|\b(\w+)=('\w*'|\"\w*\"|True|\{[^}]*\}))")
#: part of a message on how a call from Python names the files of annotators, which is left out in the form
_PATHS = re.compile(r"[:;]?(?: say)? \(?\{[^}]*\bpath\b[^}]*\}\)?")


def _fields(form: Filled) -> Iterator[FormField]:
    if form.dataset is None:
        raise AgreementInputError("Open or make a dataset first: labels are imported into the dataset that is open")
    params = unfolded(form.params)
    given = _given(params)
    yield Choice("given", "What do you have?", values=_GIVEN, as_radio_buttons=True)
    # inputs of the annotations, with a row for each annotator if these are named, and of new images
    is_folder = given in ("folder", "folders")
    if given in ("file", "folder"):
        label = f"{given.capitalize()} with the annotations"
        yield ServerFile(given, label, "On the App's server", is_folder=is_folder)
    else:
        what = "Folder" if is_folder else "File"
        for n in range(1, min(max(len(_named(params)) + 1, 2), _MOST_NAMED) + 1):
            yield FormField(f"annotator_{n}", f"Annotator {n}", view=types.View(space=4))
            label = f"{what} of annotator {n}, on the App's server"
            yield ServerFile(f"path_{n}", label, is_folder=is_folder, space=8)
    hint = "New samples are made of the images that the dataset does not have"
    yield ServerFile("media_dir", _LABELS["media_dir"], hint, is_folder=True)
    missing = _missing(params, has_samples=bool(form.dataset))
    if missing:
        yield Notice("missing", missing, blocks=True)
    elif form.ctx.prompt_id is not None:  # when the operator is executed, the import itself checks everything
        yield from _preview(form, params)
    yield Folded(fields=tuple(_folded_fields(given, params)))


def _folded_fields(given: str, params: Mapping[str, Any]) -> Iterator[FormField]:
    formats = {"auto": "What it looks like", **TITLES}
    if given in ("files", "folders"):
        formats |= {name: f"FiftyOne: {name}" for name in type_names()}
    yield Choice("format", _LABELS["format"], values=formats)
    if given in ("files", "folders"):
        yield FormField("column_label", "Column, or attribute of VIA, with the class", default="")
    if given == "folders":
        yield Choice("no_labels", _LABELS["no_labels"], values=_WITHOUT_FILE)
    source = _source(params)
    # meanings of the columns of a table, preset by a guess
    choices, guessed = column_choices(Path(source)) if isinstance(source, str) else ([], {})
    for meaning in _COLUMNS if choices else ():
        titles = {"": "(none)", **{name: name for name in choices}}
        label = f"{_LABELS['columns']}: {meaning}"
        yield Choice(f"column_{meaning}", label, default=guessed.get(meaning), values=titles)
    yield Several("aliases", _LABELS["aliases"], "ann=Ann gives the labels of ann to Ann; of annotators and of classes")
    yield Choice("existing", _LABELS["overwrite"], values=_EXISTING)
    hint = "By default boxes where there are any, else what was drawn"
    yield Several("label_types", _LABELS["label_types"], hint, values=LABEL_TYPES)
    yield Choice("into", _LABELS["into"], values=_INTO)
    if params.get("into") == "attribute":
        yield FormField("field", _LABELS["field"], default="annotations")
    yield FormField("prefix", _LABELS["prefix"], default="")
    yield Choice("match", _LABELS["match"], values={name: _MATCH[name] for name in MATCHES})
    yield Switch("clip", _LABELS["clip"])


def _import(form: Filled) -> dict[str, Any]:
    params, is_waiting = unfolded(form.params), is_from_app(form.ctx) and not form.ctx.delegated
    try:
        summary = import_annotations(form.dataset, _source(params), progress=form.progress, **_options(params))
    except AgreementInputError as error:
        if not is_waiting:
            raise
        form.tell(_in_words_of_the_form(str(error)), "error", reload=False)
        form.ctx.prompt(form.uri, params=form.params)  # open the form again, as it was filled in
        return {}
    new = f", {summary.n_new:,} of them new samples" if summary.n_new else ""
    annotators = counted(len(summary.annotators), "annotator")
    parts = [f"Imported the labels of {annotators} on {counted(summary.n_images, 'image')}{new}"]
    parts += [summary.lost] if summary.lost else []
    alike = spelt_alike((entry.name for entry in summary.annotators), "annotators")
    parts += [_in_words_of_the_form(question) for _, question in alike]
    form.tell(". ".join([*parts, *(f"Left out: {line}" for line in summary.left_out)]))
    if is_waiting and len(summary.annotators) > 1:
        form.ctx.prompt(f"{names.PLUGIN_NAME}/{names.COMPUTE_AGREEMENT}")
    return {"summary": summary.to_markdown(), **summary.to_dict()}


def _path(value: Any) -> str:
    """A path that was typed or chosen; quotes, as file managers copy them, are taken off."""
    text = str((value.get("absolute_path") if isinstance(value, dict) else value) or "").strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    return os.path.expanduser(text)


def _given(params: Mapping[str, Any]) -> str:
    """Kind of the source: a file, a folder, or one for each annotator."""
    return one_of("given", params.get("given") or "file", tuple(_GIVEN))


def _named(params: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The annotators and paths in the rows of the form, without empty ones at the end."""
    rows = [(str(params.get(f"annotator_{n}") or "").strip(), _path(params.get(f"path_{n}")))
            for n in range(1, _MOST_NAMED + 1)]  # fmt: skip
    while rows and not any(rows[-1]):
        rows.pop()
    return rows


def _source(params: Mapping[str, Any]) -> Any:
    """Source as the form names it: a path, or a mapping of annotators to paths; empty until it is complete."""
    given = _given(params)
    if given in ("file", "folder"):
        return _path(params.get(given))
    return {annotator: path for annotator, path in _named(params) if annotator and path}


def _missing(params: Mapping[str, Any], *, has_samples: bool) -> str | None:
    """First missing input before anything can be read; reads no file."""
    given, media_dir, named = _given(params), _path(params.get("media_dir")), _named(params)
    kind = "folder" if given in ("folder", "folders") else "file"
    missing: list[str | None] = []
    if given in ("file", "folder"):
        path = _path(params.get(given))
        missing.append(_not_there(path, kind) if path else f"Choose the {kind} with the annotations")
    elif not named:
        missing.append(f"Name each annotator, and choose the {kind} with their annotations")
    else:
        for annotator, path in named:
            if annotator and not path:
                missing.append(f"Choose the {kind} of '{annotator}'")
            if path and not annotator:
                missing.append(f"Name the annotator of '{os.path.basename(path)}'")
            missing.append(_not_there(path, kind) if path else None)
        repeated = [name for name, n in Counter(annotator for annotator, _ in named).items() if name and n > 1]
        missing += [f"Two annotators are called '{name}'" for name in repeated]
    if media_dir:
        missing.append(_not_there(media_dir, "folder"))
    elif not has_samples and given != "folders":
        missing.append("Choose the folder with the images: the dataset has no samples yet")
    return next(filter(None, missing), None)


def _not_there(path: str, kind: str) -> str | None:
    """Message if there is no such file, or folder (``kind``), at a path; None if there is."""
    if not os.path.exists(path):
        return f"There is no {kind} '{path}'"
    if os.path.isdir(path) != (kind == "folder"):
        return f"'{path}' is a {'file, not a folder' if kind == 'folder' else 'folder, not a file'}"
    return None


def _size_of(source: Any) -> int:
    """Bytes of the named files, without images; if there are too many files, a number beyond ``_MOST_PREVIEWED``."""
    total = 0
    for n, path in enumerate(_files(source.values() if isinstance(source, dict) else [source] if source else [])):
        if n >= _MOST_FILES:
            return _MOST_PREVIEWED + 1
        if not (mimetypes.guess_type(path)[0] or "").startswith(("image/", "video/")):
            total += os.path.getsize(path) if os.path.isfile(path) else 0
    return total


def _files(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        if os.path.isdir(path):
            yield from (os.path.join(place, name) for place, _, found in os.walk(path) for name in found)
        else:
            yield path


def _options(params: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the import from the values of the form."""
    given, source = _given(params), _source(params)
    chosen = {name: params[name] for name in ("into", "prefix", "field", "match", "clip") if params.get(name)}
    format = one_of("format", params.get("format") or "auto", ("auto", *TITLES, *type_names()))
    columns = {meaning: params[f"column_{meaning}"] for meaning in _COLUMNS if params.get(f"column_{meaning}")}
    # the App keeps what was filled in for another source, when the form no longer asks for it
    if given == "folders" and params.get("no_labels"):
        chosen["no_labels"] = params["no_labels"]
    if given in ("files", "folders"):
        columns = {meaning: column for meaning, column in columns.items() if meaning == "label"}
    else:
        format = format if format in ("auto", *TITLES) else "auto"
        choices, _ = column_choices(Path(str(source)))
        columns = {meaning: column for meaning, column in columns.items() if column in choices}
    chosen["format"] = format if format in ("auto", *TITLES) else getattr(fot, format)
    existing = one_of("existing", params.get("existing") or "add", tuple(_EXISTING))
    return {
        **chosen,
        "overwrite": existing != "add",
        "remove_others": existing == "remove_others",
        "label_types": params.get("label_types") or None,
        "media_dir": _path(params.get("media_dir")) or None,
        "columns": columns or None,
        "aliases": option_value(OPTIONS["aliases"], params.get("aliases") or None),
    }


def _preview(form: Filled, params: Mapping[str, Any]) -> Iterator[FormField]:
    """Preview of the import, or its first problem; nothing large is read until the user asks for it."""
    source, options = _source(params), _options(params)
    size = _size_of(source)
    if size > _MOST_PREVIEWED:
        yield Text("preview", "**Too large to be shown now.** The import checks everything before it writes.")
        return
    # while a path is typed, its beginning may be a folder with all files of the machine
    searched = [options["media_dir"]] if options["media_dir"] else []
    has_many = next(islice(_files(searched), _MOST_SAMPLES, None), None) is not None
    if size > _MOST_PEEKED or len(form.dataset) > _MOST_SAMPLES or has_many:
        # the name of the switch depends on the input, so that it is asked again after every change
        name = f"read_{zlib.crc32(repr((source, options)).encode()):08x}"
        names_of_files = f" and the names of more than {_MOST_SAMPLES:,} files" if has_many else ""
        hint = f"Reads {size / 2**20:.1f} MB{names_of_files}; then it can be imported"
        yield Switch(name, "Show what would be imported", hint)
        if not params.get(name):
            yield Notice("unread", "Look at what would be imported first", blocks=True)
            return
    try:
        summary = import_annotations(form.dataset, source, **options, preview=True)
        notes = tuple(map(_in_words_of_the_form, summary.notes))
        yield Text("preview", dataclasses.replace(summary, calls=(), notes=notes).to_markdown())
    except AgreementInputError as error:
        yield problem(AgreementInputError(_in_words_of_the_form(str(error))))


def _in_words_of_the_form(text: str) -> str:
    """Message of the import with the form's names for arguments."""

    def in_form(found: re.Match[str]) -> str:
        say, quoted, with_value, named, value = found.groups()
        name, value = quoted or named, (with_value or value or "").strip("'\"")
        if name == "source":
            return "The annotations"
        if name not in _LABELS:
            return found[0]
        title = _TITLES.get(name if value == "True" else value)
        if name == "aliases" and value:  # in the notation of the form
            title = ", ".join(f"{old}={new}" for old, new in ast.literal_eval(value).items())
        return ("choose " if say else "") + f"“{_LABELS[name]}”" + (f": “{title}”" if title else "")

    return _PATHS.sub("", _ARGUMENT.sub(in_form, text))


IMPORT = Form(
    name=names.IMPORT_ANNOTATIONS,
    label="Import annotations of several annotators",
    # the App lists operators by the first letter of their sentences: import and compute, which need no run, come first
    sentence="Add labels of Label Studio, COCO, CVAT, YOLO, Pascal VOC, LabelMe, VIA, tables, and who saw which images",
    icon="file_upload",
    fields=_fields,
    execute=_import,
    delegated=True,
    # the form itself says what is missing, so that FiftyOne need not check its values
    config={"resolve_execution_options_on_change": True, "disable_schema_validation": True},
    prefers_worker=lambda params: _size_of(_source(params)) > _MOST_PREVIEWED,
)
