"""Reports as files: an HTML page for people, CSV tables and JSON for programs."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fiftyone as fo
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.acceptance.evaluate import AcceptanceCheck
from ...agreement.parts.result import AgreementParts
from ...agreement.settings.arguments import one_of, path_of, takes_arrays, texts_of, true_or_false, writing_to
from ...agreement.settings.errors import AgreementInputError
from ...agreement.statistics.report import AgreementReport
from ..record.run import Run, dataset_of
from .check import check_agreement
from .file_writing import writable, write_file
from .load import agreement_samples, load_agreement
from .parts import open_parts

if TYPE_CHECKING:
    from pandas import DataFrame

#: endings of a path, and the format that each means
FORMATS = {".html": "html", ".htm": "html", ".json": "json", ".zip": "csv"}
_AS_PARQUET = ("labels", "units")
#: with a byte order mark, which spreadsheets need to read UTF-8
_ENCODING = "utf-8-sig"
#: beginnings of texts that a spreadsheet may run as a formula, or split into cells, unless the text is a number; such a
#: text gets an apostrophe in front, also after apostrophes of its own, so that taking one off gives the text back
_FORMULA, _NUMBER = re.compile(r"'*[=+\-@\t\r\n]"), re.compile(r"[+-]?\d+(\.\d+)?")


@takes_arrays
def export_agreement(
    dataset: fo.Dataset | SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    path: str | os.PathLike[str] = "agreement.html",
    *,
    format: str | None = None,
    requirements: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    overwrite: bool = False,
    by: str | Sequence[str] = (),
) -> Path:
    """Write the report of a run to a file.

    Args:
        dataset: the dataset, or a view of it
        run_key: key of the run
        path: output file, in a folder that is there
        format: ``"html"``: one page with figures that needs no other file and no network; ``"json"``: the result of
            ``to_dict()``; ``"csv"``: all tables of ``to_dataframe()`` with rows, those of samples, labels and units
            too, in a zip file if the path ends in ``.zip``, else in a folder; labels and units also as Parquet where
            pyarrow is installed; texts that a spreadsheet would run as formulas begin with an apostrophe. By default,
            the ending of the path decides
        requirements: a requirements file, or a mapping as in one: the check of the run against it is written too
        overwrite: whether existing files may be replaced; tables of a folder that have no rows any more are removed
        by: fields of samples, or attributes of labels, for each of which the page, or the tables, get the main numbers
            by part, as ``run.by(field)``

    Returns:
        the absolute path of the file or folder

    Raises:
        AgreementInputError: if there is no such run, the format is unknown, or the files exist or cannot be written; as
            ``run.check``
    """
    path = checked_path(path, format, overwrite=overwrite)
    kind = format_of(path, format)
    dataset = dataset_of(dataset)
    report = load_agreement(dataset, run_key)
    fields = dict.fromkeys(texts_of("by", by))
    opened = open_parts(dataset, run_key) if fields else None
    parts = [opened.by(field) for field in fields] if opened is not None else []
    check = None if requirements is None else check_agreement(dataset, run_key, requirements)
    with writing_to("path", path):
        if kind == "html":
            from ...charts.page import report_page  # imports Plotly, which a run does not need

            made = Run(dataset, run_key).computed_at
            scores = agreement_samples(dataset, run_key)["score"].to_numpy()
            page = report_page(
                report, dataset_name=dataset.name, computed_at=made, scores=scores, parts=parts, acceptance=check
            )
            write_file(path, page.encode())
        elif kind == "json":
            values = report.to_dict() | ({} if check is None else {"acceptance": check.to_dict()})
            write_file(path, json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False).encode())
        elif path.suffix.lower() == ".zip":
            memory = io.BytesIO()
            with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, text in _tables(report, parts, check).items():
                    archive.writestr(name, text)
            write_file(path, memory.getvalue())
        else:
            path.mkdir(exist_ok=True)
            tables = _tables(report, parts, check)
            for name, text in tables.items():
                write_file(path / name, text)
            if overwrite:  # tables, perhaps of an earlier report, that have no rows any more
                from ...charts.reports.dataframes import ON_DEMAND, STORED, table_names

                known = "|".join((*table_names(report), *STORED, *ON_DEMAND, "acceptance", r"by_\d+"))
                for file in list(path.iterdir()):
                    if file.name not in tables and re.fullmatch(rf"({known})\.(csv|parquet)", file.name):
                        file.unlink()
    return path


def format_of(path: Path, format: str | None) -> str:
    """Format of a file: ``html``, ``json`` or ``csv``.

    Raises:
        AgreementInputError: if neither the format nor the path decides
    """
    kinds = sorted(set(FORMATS.values()))
    if format is not None:
        one_of("format", format, kinds)
    of_path = FORMATS.get(path.suffix.lower())
    if path.suffix.lower() == ".csv":
        raise AgreementInputError(
            f"`path` must be a folder or end in .zip, as there are several tables, got {str(path)!r}"
        )
    found = format or of_path or ("csv" if path.is_dir() else None)
    if found is None:
        ends = ", ".join(FORMATS)
        raise AgreementInputError(f"`path` must end in one of {ends}, or `format` must be given, got {str(path)!r}")
    if of_path is not None and of_path != found:
        raise AgreementInputError(f"`path` must fit the format {found!r}, got {str(path)!r}")
    return found


def checked_path(path: str | os.PathLike[str], format: str | None, *, overwrite: bool) -> Path:
    """The absolute path, if a report can be written there."""
    true_or_false("overwrite", overwrite)
    with writing_to("path", path):
        found = Path(path_of("path", path)).absolute()
        is_folder = format_of(found, format) == "csv" and found.suffix.lower() != ".zip"
        return writable(found, is_folder=is_folder, overwrite=overwrite)


def _tables(
    report: AgreementReport, parts: Sequence[AgreementParts], check: AcceptanceCheck | None
) -> dict[str, bytes]:
    """All tables of a run that have rows, as CSV, and some as Parquet, by file name."""
    from ...charts.reports.dataframes import (  # imports pandas, which a run does not need
        ON_DEMAND,
        STORED,
        report_frame,
        table_names,
    )

    frames = {name: report_frame(report, name) for name in (*table_names(report), *STORED)}
    for name in ON_DEMAND if report.has_objects else ():
        with contextlib.suppress(AgreementInputError):  # the labels have shapes, and can no longer be read
            frames[name] = report_frame(report, name)
    frames |= {f"by_{k}": each.to_dataframe() for k, each in enumerate(parts, 1)}
    if check is not None:
        frames["acceptance"] = check.to_dataframe()
    files = {f"{name}.csv": csv_of(frame) for name, frame in frames.items() if len(frame)}
    with contextlib.suppress(ImportError):  # pyarrow is no requirement
        files |= {f"{name}.parquet": frames[name].to_parquet(index=False) for name in _AS_PARQUET if name in frames}
    return files


def csv_of(frame: DataFrame) -> bytes:
    """A table as CSV, which spreadsheets read as text and numbers alone."""
    # pandas does not quote a carriage return, behind which a spreadsheet begins another row
    cells = frame.map(_cell)
    return cells.to_csv(index=False, lineterminator="\n").encode(_ENCODING)


def _cell(value: Any) -> Any:
    """A cell of a CSV; lists as JSON."""
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    return not_a_formula(value.replace("\r", "\n")) if isinstance(value, str) else value


def not_a_formula(text: str) -> str:
    """A text that no spreadsheet takes for a formula: one that could be one gets an apostrophe in front."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def as_it_was(text: str) -> str:
    """Inverse of :func:`not_a_formula`."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
