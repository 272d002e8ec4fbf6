"""Forms that write a file: the report of a run, all labels, adjudicated labels, an annotator's overruled labels."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .. import names
from ..agreement import AgreementInputError
from ..agreement.acceptance.requirements import read_requirements
from ..agreement.settings.arguments import one_of, path_of
from ..charts.text.sections import plain_markdown
from ..dataset_io import export_agreement, export_annotations, export_decided, export_decided_against
from ..dataset_io.annotation_files.exporting import FORMATS as LABEL_FORMATS
from ..dataset_io.decide.gold import Gold
from ..dataset_io.labels.source import comparable_fields
from ..dataset_io.record.gold_fields import gold_fields
from ..dataset_io.record.run import list_agreements
from ..dataset_io.results.decided_labels import decided_to_export, format_of_decided
from ..dataset_io.results.export import checked_path
from ..dataset_io.results.file_writing import checked_file
from ..dataset_io.results.parts import dividing_fields
from .form import Filled, Form, given_names
from .gold import counted_first
from .inputs import Choice, Folded, FormField, Notice, ServerFile, Several, Switch, unfolded, warning

_PLACE = "A file on the machine of the App's server"
_DOWNLOAD = Switch("download", "Download it with the browser, too", default=True)
_OVERWRITE = Switch("overwrite", "Replace the file if there is one")


def _file_name(name: str) -> str:
    """A name as a part of the name of a file."""
    return re.sub(r"[^\w.-]+", "-", name)[:100]


def _at_home(form: Filled, ending: str) -> str:
    """Path of a file in the home directory of the user who runs the App's server."""
    return str(Path.home() / f"{_file_name(form.dataset.name)}-{ending}")


def _path_with(form: Filled, given: Any, start: str, ending: str, endings: Iterable[str]) -> Any:
    """The path of the form, with the ending of the format: a change of the format alone changes the path too."""
    path, others = given or _at_home(form, f"{start}{ending}"), {*endings} - {ending}
    other = next((other for other in others if isinstance(path, str) and path.endswith(other)), None)
    return path if other is None else path.removesuffix(other) + ending


def _file_message(form: Filled, path: Path) -> dict[str, Any]:
    """Download a file if the form says so; returns its path, and a link to it, as the App's server serves files."""
    address = f"/media?filepath={quote(str(path))}"
    if form.get("download") and path.is_file() and not form.ctx.delegated:
        form.ctx.ops.browser_download(address, path.name)
    shown = plain_markdown(path) if "`" in str(path) else f"`{path}`"
    return {"path": str(path), "summary": f"Written to {shown} · [open it]({address})"}


# ---- the report of a run ----

#: the formats: title in the form, and ending of the path
_REPORT_FORMATS = {
    "html": ("Page with figures (HTML)", ".html"),
    "csv": ("Tables (CSV, in a zip file)", ".zip"),
    "json": ("Everything, for programs (JSON)", ".json"),
}


def _report_format(form: Filled) -> str:
    return one_of("format", form.get("format", "html"), tuple(_REPORT_FORMATS))


def _report_path(form: Filled, given: Any = None) -> Any:
    _, ending = _REPORT_FORMATS[_report_format(form)]
    return _path_with(form, given, form.run_key, ending, (ending for _, ending in _REPORT_FORMATS.values()))


def _report_fields(form: Filled) -> Iterator[FormField]:
    titles = {name: label for name, (label, _) in _REPORT_FORMATS.items()}
    yield Choice("format", "What", values=titles, as_radio_buttons=True, required=True)
    yield FormField("path", "File", _PLACE, default=_report_path(form), required=True)
    yield _DOWNLOAD
    yield dataclasses.replace(_OVERWRITE, is_box=True)
    if "path" in form.params:
        path = _report_path(form, form.params["path"])
        checked_path(path, _report_format(form), overwrite=form.get("overwrite", False))
    hint = "Check the run against this file, and write the outcome, too"
    folded: list[FormField] = [ServerFile("requirements", "Requirements file", hint)]
    if _report_format(form) != "json":
        hint = "The main numbers for each value of these fields, too"
        folded.insert(0, Several("by", "By", hint, values=dividing_fields(form.dataset, form.labels.config.fields)))
    yield Folded(label="Parts, requirements", fields=tuple(folded))
    if requirements := _requirements(form):
        read_requirements(requirements)


def _requirements(form: Filled) -> str | None:
    given = unfolded(form.params).get("requirements")
    path: str | None = given.get("absolute_path") if isinstance(given, Mapping) else given
    return path or None


def _export_report(form: Filled) -> dict[str, Any]:
    path, params = _report_path(form, form.params.get("path")), unfolded(form.params)
    options = {"format": _report_format(form), "overwrite": form.get("overwrite", False)}
    options |= {"requirements": _requirements(form), "by": given_names(params, "by")}
    return _file_message(form, export_agreement(form.dataset, form.run_key, path, **options))


EXPORT_REPORT = Form(
    name=names.EXPORT_AGREEMENT,
    label="Export annotator agreement",
    sentence="Write the report of an agreement run as a page with figures, as tables, or as JSON",
    icon="file_download",
    run="The run whose report is written",
    fields=_report_fields,
    execute=_export_report,
    summary="Export annotator agreement",
    delegated=True,
)

# ---- what was decided against an annotator ----

#: what can be sent to an annotator, by the ending of the path
_LISTS = {"html": "Page with pictures", "csv": "Table (CSV)"}


def _annotator(form: Filled) -> str:
    """The annotator; when the form opens, the first one."""
    annotator: str = form.get("annotator") or form.labels.annotators[0]
    return annotator


def _list_path(form: Filled) -> str:
    """Path of the list of what was decided against an annotator."""
    ending = one_of("format", form.get("format", "html"), tuple(_LISTS))
    folder = path_of("folder", form.get("folder") or str(Path.home()))
    name = f"{_file_name(form.dataset.name)}-{_file_name(str(_annotator(form)))}.{ending}"
    return str(Path(folder) / name)


def _sources(form: Filled) -> dict[str, str]:
    """The possible grounds of the list, with titles: decisions, and the reference."""
    decided = {"decisions": "What was decided"} if gold_fields(form.dataset) else {}
    return {**decided, "reference": f"The reference {form.labels.config.reference}"}


def _list_fields(form: Filled) -> Iterator[FormField]:
    annotators = form.labels.annotators
    has_reference = form.labels.config.reference is not None
    if not gold_fields(form.dataset) and not has_reference:
        yield warning("no_decisions", "Nothing was decided on this dataset yet, and the run has no reference")
        return
    if has_reference:
        yield Choice("against", "By", values=_sources(form), as_radio_buttons=True, required=True)
    yield Choice("annotator", "Annotator", values=annotators, required=True)
    yield Choice("format", "What", values=_LISTS, as_radio_buttons=True, required=True)
    hint = "A folder that is there, on the machine of the App's server"
    yield FormField("folder", "Folder", hint, default=str(Path.home()), required=True)
    yield _DOWNLOAD
    yield _OVERWRITE
    path = checked_file(_list_path(form), overwrite=form.get("overwrite", False))
    yield Notice("file", f"This writes {path}")


def _export_list(form: Filled) -> dict[str, Any]:
    options = {"gold": next(iter(gold_fields(form.dataset)), names.DEFAULT_GOLD_FIELD), **form.given("overwrite")}
    if form.labels.config.reference is not None:
        options["reference"] = form.get("against", next(iter(_sources(form)))) == "reference"
    annotator = _annotator(form)
    path = export_decided_against(form.dataset, annotator, form.run_key, _list_path(form), **options)
    return _file_message(form, path)


EXPORT_AGAINST = Form(
    name=names.EXPORT_DECIDED_AGAINST,
    label="Export what was decided against an annotator",
    sentence="Write a page with pictures, or a table, of what an annotator got wrong by the decisions, or by the "
    "reference, to send to them",
    icon="outgoing_mail",
    run="The run whose annotator gets the list",
    fields=_list_fields,
    execute=_export_list,
    summary="Export what was decided against an annotator",
    delegated=True,
)

# ---- what was decided to be right ----


def _decided_path(form: Filled) -> str:
    """Path of the file; when the form opens, of one in the home directory of the user who runs the App's server."""
    gold = form.gold
    _, _, ending = format_of_decided(Gold.open(form.dataset, gold))
    path: str = form.get("path") or _at_home(form, f"{gold}{ending}")
    return path


def _decided_fields(form: Filled) -> Iterator[FormField]:
    path = _decided_path(form)
    yield FormField("path", "File", _PLACE, default=path, required=True)
    yield from form.within_view()
    yield _DOWNLOAD
    yield _OVERWRITE
    if (yield from counted_first(form, "How many labels this exports")):
        options = {"gold": form.gold, "overwrite": form.get("overwrite", False)}
        found, _ = decided_to_export(form.samples, path, **options)
        yield Notice("preview", found.told("This exports"), found.format)


def _export_decided(form: Filled) -> dict[str, Any]:
    options = {"gold": form.gold, "progress": form.progress, **form.given("overwrite")}
    done = export_decided(form.samples, _decided_path(form), **options)
    told = done.told("Exported")
    form.tell(told, reload=False)
    of_file = _file_message(form, Path(str(done.path)))
    return {**dataclasses.asdict(done), "summary": f"{of_file['summary']}\n\n{told} ({done.format})"}


EXPORT_DECIDED = Form(
    name=names.EXPORT_DECIDED,
    label="Export what was decided",
    sentence="Write the decided labels alone, of the images on which something was decided, in a format of FiftyOne",
    icon="file_download",
    of_gold=True,
    fields=_decided_fields,
    execute=_export_decided,
    summary="Export what was decided",
    delegated=True,
)

# ---- the labels of all annotators ----

_LABELS = {"run": "The labels of a run, with its objects and verdicts", "fields": "Label fields"}


def _is_run(form: Filled) -> bool:
    """True if the labels of a run are exported; else those of fields: there is no run, or the caller names fields."""
    given = form.get("given") or ("fields" if form.get("fields") else "run")
    return given == "run" and bool(list_agreements(form.dataset))


def _labels_path(form: Filled, given: Any = None) -> Any:
    ending = LABEL_FORMATS[one_of("format", form.get("format", "coco"), tuple(LABEL_FORMATS))].suffix
    return _path_with(form, given, "annotations", ending, (kind.suffix for kind in LABEL_FORMATS.values()))


def _label_fields(form: Filled) -> Iterator[FormField]:
    if form.dataset is None:
        raise AgreementInputError("Open a dataset first: its labels are exported")
    runs = list_agreements(form.dataset)
    if runs:
        yield Choice("given", "What", values=_LABELS, as_radio_buttons=True)
    if _is_run(form):
        yield Choice("run_key", "Run", values=runs, required=True)
    else:
        hint = "One for each annotator; or one whose labels name the annotator"
        yield Several("fields", "Label fields", hint, values=comparable_fields(form.dataset), required=True)
        if len(form.names("fields")) == 1:
            yield FormField("annotator_attribute", "Attribute that names the annotator", required=True)
            yield FormField("assigned_field", "Sample field that lists the assigned annotators")
    titles = {name: kind.title for name, kind in LABEL_FORMATS.items()}
    yield Choice("format", "Format", values=titles, as_radio_buttons=True)
    yield FormField("path", "File", _PLACE, default=_labels_path(form), required=True)
    yield from form.within_view()
    yield _OVERWRITE
    yield Switch("download", "Download it too", "If the App runs on another machine")
    if "path" in form.params:
        checked_file(_labels_path(form, form.params["path"]), overwrite=form.get("overwrite", False))


def _export_labels(form: Filled) -> dict[str, Any]:
    options: dict[str, Any] = {}
    labels: str | list[str] = form.run_key if _is_run(form) else form.names("fields")
    if not _is_run(form):
        options = form.given("annotator_attribute", "assigned_field")
        labels = labels[0] if "annotator_attribute" in options and labels else labels
    options |= {"progress": form.progress, **form.given("format", "overwrite")}
    summary = export_annotations(form.samples, labels, _labels_path(form, form.params.get("path")), **options)
    of_file = _file_message(form, Path(summary.path))
    form.tell(f"Exported the labels of {len(summary.annotators)} annotators", reload=False)
    return {"summary": f"{of_file['summary']}\n\n{summary.to_markdown()}", **summary.to_dict()}


EXPORT_LABELS = Form(
    name=names.EXPORT_ANNOTATIONS,
    label="Export annotations of several annotators",
    sentence="Write the labels of all annotators, and who looked at which images, to one file",
    icon="file_download",
    fields=_label_fields,
    execute=_export_labels,
    summary="Export annotations of several annotators",
    delegated=True,
)
