"""Exporting reports: files from Python and from the operator, at once and delegated."""

from __future__ import annotations

import json
import os
import stat
import zipfile
from pathlib import Path

import fiftyone.operators as foo
import pandas as pd
import pytest

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import compute_agreement, export_agreement, load_agreement

ANNOTATORS = ["alice", "bob", "carol"]


def _made(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset, ANNOTATORS)
    return dataset


@pytest.fixture
def dataset(lend):
    return lend(_made)


@pytest.fixture
def export(operator):
    return operator("export_agreement")


def _execute(operator, dataset, **params):
    return foo.execute_operator(operator.uri, {"dataset": dataset, "params": params}).result


def test_json_is_the_report(dataset, tmp_path):
    path = export_agreement(dataset, "agreement", tmp_path / "report.json")
    assert path == tmp_path / "report.json"
    assert json.loads(path.read_text("utf-8")) == json.loads(json.dumps(load_agreement(dataset).to_dict()))


def test_no_folder_is_made_in_silence(dataset, tmp_path):
    for name in ("new/report.html", "new/deep/tables", "new/report.zip"):
        with pytest.raises(ValueError, match=r"`path` must be in a folder, got '.*new.*': there is no folder '.*new"):
            export_agreement(dataset, path=tmp_path / name, format="csv" if name.endswith("tables") else None)
    assert list(tmp_path.iterdir()) == []


def test_html_is_a_page_of_the_dataset_and_the_day_of_the_run(dataset, tmp_path):
    path = export_agreement(dataset, path=tmp_path / "report.html")
    text = path.read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert f"<h1>Annotator agreement: {dataset.name}</h1>" in text
    made = dataset.get_run_info("agreement").timestamp
    assert f"computed on {made.day} {made:%B %Y}" in text
    assert '"scores": {"data"' in text
    for name in ANNOTATORS:
        assert f"<td>{name}</td>" in text


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


def test_a_folder_that_is_there_needs_no_format(dataset, tmp_path):
    assert (export_agreement(dataset, path=tmp_path) / "pairs.csv").is_file()


@pytest.mark.parametrize(
    ("name", "format"), [("report.html", None), ("report.json", None), ("tables.zip", None), ("tables", "csv")]
)
@pytest.mark.few(1)
def test_nothing_is_replaced_unless_asked(dataset, tmp_path, name, format):
    path = export_agreement(dataset, path=tmp_path / name, format=format)
    files = [path] if path.is_file() else list(path.iterdir())
    for file in files:
        file.write_text("mine")
    with pytest.raises(AgreementInputError, match=r"already; choose another path, or say overwrite=True"):
        export_agreement(dataset, path=path, format=format)
    assert {file.read_text() for file in files} == {"mine"}
    export_agreement(dataset, path=path, format=format, overwrite=True)
    assert "mine" not in {file.read_bytes()[:4].decode("latin1") for file in files}


def test_other_files_of_a_folder_are_left_alone(dataset, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    export_agreement(dataset, path=tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("path", "format", "match"),
    [
        ("report.pdf", None, r"`path` must end in one of .html, .htm, .json, .zip, or `format` must be given"),
        ("report", None, r"`path` must end in one of"),
        ("report.html", "pdf", "`format` must be one of csv, html, json, got 'pdf'"),
        ("report.html", "csv", "`path` must fit the format 'csv', got"),
        ("report.csv", None, r"`path` must be a folder or end in .zip, as there are several tables"),
        ("", None, "`path` must be the path of a file or folder"),
        ("file/report.html", None, r"`path` must be in a folder, got .*'file' is a file|/file' is a file"),
        ("folder.html", None, "`path` must be a file, got .*, which is not"),
        ("pipe.html", None, "`path` must be a file, got .*, which is not"),
        ("file", "csv", "`path` must be a folder, got .*, which is not"),
    ],
)
@pytest.mark.few(3)
def test_paths_that_cannot_be_are_refused(dataset, tmp_path, path, format, match):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder.html").mkdir()
    os.mkfifo(tmp_path / "pipe.html")
    with pytest.raises(AgreementInputError, match=match):
        export_agreement(dataset, path=tmp_path / path if path else "", format=format, overwrite=True)
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


def test_a_device_that_cannot_be_written_is_told_by_its_reason(dataset):
    # files cannot be made there, whoever asks
    with pytest.raises(AgreementInputError, match=r"`path` must be writable, got '/proc/"):
        export_agreement(dataset, path="/proc/report.json")


def test_a_run_that_is_not_there_writes_nothing(dataset, tmp_path):
    with pytest.raises(AgreementInputError, match="`run_key` must be an agreement run"):
        export_agreement(dataset, "other", tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_every_format_of_the_form_is_written(export, dataset, tmp_path):
    for format, suffix in (("html", ".html"), ("csv", ".zip"), ("json", ".json")):
        path = str(tmp_path / f"report{suffix}")
        result = _execute(export, dataset, run_key="agreement", format=format, path=path)
        assert result["path"] == path
        assert Path(path).is_file()
        assert f"`{path}`" in result["summary"]
        assert f"(/media?filepath={path})" in result["summary"]


def test_the_link_leads_to_the_page(export, dataset, tmp_path):
    from fiftyone.server.routes.media import Media
    from starlette.applications import Starlette
    from starlette.routing import Route
    from starlette.testclient import TestClient

    path = str(tmp_path / "a report.html")
    summary = _execute(export, dataset, run_key="agreement", format="html", path=path)["summary"]
    address = summary.split("](")[1].rstrip(")")
    answer = TestClient(Starlette(routes=[Route("/media", Media)])).get(address)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.text == Path(path).read_text("utf-8")


def test_who_changes_the_format_only_means_the_path_to_follow(export, dataset, tmp_path):
    path = str(tmp_path / "report.html")
    result = _execute(export, dataset, run_key="agreement", format="json", path=path)
    assert result["path"] == str(tmp_path / "report.json")


def test_the_form_offers_a_file_and_shows_what_is_wrong(export, dataset, form, tmp_path):
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


def test_parts_and_requirements_are_asked_for(export, dataset, form, tmp_path):
    rules = tmp_path / "requirements.yaml"
    rules.write_text("requirements:\n  all:\n    number: score.mean\n    at_least: 0.99\n")
    dataset.set_values("camera", [("left", "right")[k % 2] for k in range(len(dataset))])
    inputs = form(export, dataset)
    assert inputs["by"]["view"]["choices"][0]["value"] == "tags"
    folded = {"by": ["camera"], "requirements": {"absolute_path": str(rules)}}
    page = tmp_path / "page.html"
    _execute(export, dataset, run_key="agreement", format="html", path=str(page), advanced=folded)
    text = page.read_text("utf-8")
    for said in ("by camera", "left", "right", "score.mean ≥ 0.99"):
        assert said in text
    rules.write_text("requirements:\n  all:\n    numbar: score\n    at_least: 0.99\n")
    told = form(export, dataset, advanced={"requirements": str(rules)})["problem"]["view"]["label"]
    assert told.startswith("requirements.yaml, line 3: there is no key 'numbar'")


def test_a_delegated_export_writes_the_file(export, dataset, tmp_path):
    import fiftyone.operators.delegated as food

    path = str(tmp_path / "report.json")
    context = {"dataset_name": dataset.name, "params": {"run_key": "agreement", "format": "json", "path": path}}
    service = food.DelegatedOperationService()
    service.queue_operation(operator=export.uri, context={"request_params": context})
    service.execute_queued_operations(operator=export.uri)
    assert json.loads(Path(path).read_text("utf-8"))["run_key"] == "agreement"
