"""Exporting reports, from Python and from the operator, at once and delegated, and the labels of all annotators."""

from __future__ import annotations

import json
import os
import stat
import zipfile
from pathlib import Path

import fiftyone as fo
import fiftyone.operators as foo
import fiftyone.operators.delegated as food
import pandas as pd
import pytest
from fiftyone.server.routes.media import Media
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from tests.operators.conftest import ANNOTATORS

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import export_agreement, load_agreement


@pytest.fixture
def dataset(example):
    return example


@pytest.fixture
def export(operator):
    return operator("export_agreement")


@pytest.mark.long
def test_tables_are_files_of_a_folder_or_a_zip(dataset, tmp_path):
    folder = export_agreement(dataset, path=tmp_path / "tables", format="csv")
    archive = zipfile.ZipFile(export_agreement(dataset, path=tmp_path / "tables.zip"))
    names = sorted(path.name for path in folder.iterdir())
    assert names == sorted(archive.namelist())
    assert {"pairs.csv", "annotators.csv", "summary.csv", "votes.csv", "samples.csv"} <= set(names)
    for name in names:
        assert archive.read(name) == (folder / name).read_bytes()
    pairs, report = pd.read_csv(folder / "pairs.csv"), load_agreement(dataset)
    assert list(pairs["a"] + pairs["b"]) == [pair.a + pair.b for pair in report.pairs]
    assert pairs["score"].to_numpy() == pytest.approx([pair.score for pair in report.pairs], abs=1e-12)


def test_nothing_is_replaced_unless_asked_and_other_files_of_a_folder_are_left_alone(dataset, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "notes.txt").write_text("mine")
    assert (export_agreement(dataset, path=tmp_path / "there") / "pairs.csv").is_file()  # needs no format
    assert (tmp_path / "there" / "notes.txt").read_text() == "mine"
    assert not [path for path in (tmp_path / "there").iterdir() if path.name.startswith(".")]
    for name, format in (("report.html", None), ("report.json", None), ("tables.zip", None), ("tables", "csv")):
        path = export_agreement(dataset, path=tmp_path / name, format=format)
        files = [path] if path.is_file() else list(path.iterdir())
        for file in files:
            file.write_text("mine")
        with pytest.raises(AgreementInputError, match=r"already; choose another path, or say overwrite=True"):
            export_agreement(dataset, path=path, format=format)
        assert {file.read_text() for file in files} == {"mine"}
        export_agreement(dataset, path=path, format=format, overwrite=True)
        assert "mine" not in {file.read_bytes()[:4].decode("latin1") for file in files}


PATHS = [
    ("report.pdf", None, r"`path` must end in one of .html, .htm, .json, .zip, or `format` must be given"),
    ("report", None, r"`path` must end in one of"),
    ("report.html", "pdf", "`format` must be one of csv, html, json, got 'pdf'"),
    ("report.html", "csv", "`path` must fit the format 'csv', got"),
    ("report.csv", None, r"`path` must be a folder or end in .zip, as there are several tables"),
    ("", None, "`path` must be the path of a file or folder"),
    ("file/report.html", None, r"`path` must be in a folder, got .*'file' is a file|/file' is a file"),
    ("new/report.html", None, r"`path` must be in a folder, got '.*new.*': there is no folder '.*new"),
    ("new/deep/tables", "csv", r"`path` must be in a folder, got '.*new.*': there is no folder '.*new"),
    ("folder.html", None, "`path` must be a file, got .*, which is not"),
    ("pipe.html", None, "`path` must be a file, got .*, which is not"),
    ("file", "csv", "`path` must be a folder, got .*, which is not"),
    ("/proc/report.json", None, r"`path` must be writable, got '/proc/"),  # whoever asks
]


def test_paths_that_cannot_be_are_refused_and_nothing_is_made(dataset, tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder.html").mkdir()
    os.mkfifo(tmp_path / "pipe.html")
    for path, format, match in PATHS:
        with pytest.raises(AgreementInputError, match=match):
            export_agreement(dataset, path=tmp_path / path if path else "", format=format, overwrite=True)
    with pytest.raises(AgreementInputError, match="`run_key` must be an agreement run"):
        export_agreement(dataset, "other", tmp_path / "report.html")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder.html", "pipe.html"]
    assert (tmp_path / "pipe.html").is_fifo()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_refused(dataset, tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(AgreementInputError, match=r"`path` must be writable, got .*: no permission in"):
            export_agreement(dataset, path=tmp_path / "report.html")
    finally:
        tmp_path.chmod(stat.S_IRWXU)


def test_every_format_of_the_form_is_written_where_the_path_follows_the_format_and_the_link_leads_to_it(
    export, dataset, run, tmp_path
):
    media = TestClient(Starlette(routes=[Route("/media", Media)]))
    given = str(tmp_path / "a report.html")
    for format, suffix in (("html", ".html"), ("csv", ".zip"), ("json", ".json")):
        path = tmp_path / f"a report{suffix}"
        result, _ = run(export, dataset, run_key="agreement", format=format, path=given)
        assert result["path"] == str(path)
        assert f"`{path}`" in result["summary"]
        answer = media.get(result["summary"].split("](")[1].rstrip(")"))
        assert (answer.status_code, answer.content) == (200, path.read_bytes())
        assert format != "html" or answer.headers["content-type"].startswith("text/html")
    assert json.loads(path.read_text("utf-8")) == json.loads(json.dumps(load_agreement(dataset).to_dict()))
    text, made = Path(given).read_text("utf-8"), dataset.get_run_info("agreement").timestamp
    assert text.startswith("<!doctype html>")
    for said in (f"<h1>Annotator agreement: {dataset.name}</h1>", f"computed on {made.day} {made:%B %Y}",
                 '"scores": {"data"', *(f"<td>{name}</td>" for name in ANNOTATORS)):  # fmt: skip
        assert said in text


def test_the_form_offers_a_file_parts_and_requirements_and_shows_what_is_wrong(export, dataset, form, run, tmp_path):
    inputs = form(export, dataset, run_key="agreement")
    shown = ["run_key", "format", "path", "download", "overwrite"]
    assert list(inputs) == [*shown, "advanced", "by", "requirements"]
    assert inputs["path"]["default"].endswith(f"{dataset.name}-agreement.html")
    taken = tmp_path / "report.html"
    taken.write_text("mine")
    inputs = form(export, dataset, run_key="agreement", format="html", path=str(taken))
    assert inputs["problem"]["invalid"]
    assert "already" in inputs["problem"]["view"]["label"]
    assert "problem" not in form(export, dataset, run_key="agreement", path=str(taken), overwrite=True)

    rules = tmp_path / "requirements.yaml"
    rules.write_text("requirements:\n  all:\n    number: score.mean\n    at_least: 0.99\n")
    dataset.set_values("camera", [("left", "right")[k % 2] for k in range(len(dataset))])
    assert form(export, dataset)["by"]["view"]["choices"][0]["value"] == "tags"
    folded = {"by": ["camera"], "requirements": {"absolute_path": str(rules)}}
    page = tmp_path / "page.html"
    run(export, dataset, run_key="agreement", format="html", path=str(page), advanced=folded)
    text = page.read_text("utf-8")
    for said in ("by camera", "left", "right", "score.mean ≥ 0.99"):
        assert said in text
    rules.write_text("requirements:\n  all:\n    numbar: score\n    at_least: 0.99\n")
    told = form(export, dataset, advanced={"requirements": str(rules)})["problem"]["view"]["label"]
    assert told.startswith("requirements.yaml, line 3: there is no key 'numbar'")


def test_a_delegated_export_writes_the_file(export, dataset, tmp_path):
    path = str(tmp_path / "report.json")
    context = {"dataset_name": dataset.name, "params": {"run_key": "agreement", "format": "json", "path": path}}
    service = food.DelegatedOperationService()
    service.queue_operation(operator=export.uri, context={"request_params": context})
    service.execute_queued_operations(operator=export.uri)
    assert json.loads(Path(path).read_text("utf-8"))["run_key"] == "agreement"


def test_fields_or_the_view_of_a_run_are_exported_and_downloaded(operator, form, run, dataset, make_dataset, tmp_path):
    exporter, view = operator("export_annotations"), dataset.match({"agreement_n_disputed": {"$gt": 0}})
    chosen = {"run_key": "agreement", "path": str(tmp_path / "x.json"), "within_view": True, "download": True}
    assert {"given", "run_key", "within_view"} <= form(exporter, dataset, view=view, **chosen).keys()
    _, requests = run(exporter, dataset, view, **chosen)
    assert len(json.loads((tmp_path / "x.json").read_text())["images"]) == len(view) < len(dataset)
    assert str(tmp_path / "x.json") in str(requests["browser_download"])

    without = make_dataset()
    without.set_values("metadata", [fo.ImageMetadata(width=200, height=100)] * len(without))
    inputs = form(exporter, without)
    assert "run_key" not in inputs
    assert inputs["path"]["default"].endswith("-annotations.json")
    assert "annotator_attribute" in form(exporter, without, fields=["alice"])
    chosen = {"fields": ["alice", "bob"], "format": "csv", "path": str(tmp_path / "x.json")}
    assert not {"annotator_attribute", "problem"} & form(exporter, without, **chosen).keys()
    result = foo.execute_operator(exporter.uri, {"dataset": without, "params": chosen}).result
    assert result["path"] == str(tmp_path / "x.csv")
    assert "Exported to" in result["summary"]
    assert "already" in form(exporter, without, **chosen)["problem"]["error_message"]  # the file is there now
