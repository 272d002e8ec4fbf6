"""The operator that exports the labels of all annotators: its form, and the export."""

from __future__ import annotations

import json

import fiftyone as fo
import fiftyone.operators as foo
import pytest

from annotator_agreement.dataset_io import compute_agreement


@pytest.fixture
def exporter(operator):
    return operator("export_annotations")


@pytest.fixture
def sized(make_dataset):
    dataset = make_dataset()
    dataset.set_values("metadata", [fo.ImageMetadata(width=200, height=100)] * len(dataset))
    return dataset


def test_fields_are_exported_where_there_is_no_run(exporter, form, sized, tmp_path):
    inputs = form(exporter, sized)
    assert "run_key" not in inputs
    assert inputs["path"]["default"].endswith("-annotations.json")
    chosen = {"fields": ["alice", "bob"], "format": "csv", "path": str(tmp_path / "x.json")}
    assert "problem" not in form(exporter, sized, **chosen)
    result = foo.execute_operator(exporter.uri, {"dataset": sized, "params": chosen}).result
    assert result["path"] == str(tmp_path / "x.csv")
    assert "Exported to" in result["summary"]
    assert "already" in form(exporter, sized, **chosen)["problem"]["error_message"]  # the file is there now


def test_the_view_of_a_run_is_exported_and_downloaded(exporter, form, sized, tmp_path):
    compute_agreement(sized, ["alice", "bob", "carol"], resamples=0)
    view = sized.match({"agreement_n_disputed": {"$gt": 0}})
    path = tmp_path / "x.json"
    chosen = {"run_key": "agreement", "path": str(path), "within_view": True, "download": True}
    inputs = form(exporter, sized, view=view, **chosen)
    assert {"given", "run_key", "within_view"} <= inputs.keys()
    done = foo.execute_operator(exporter.uri, {"view": view, "dataset": sized, "params": chosen})
    assert len(json.loads(path.read_text())["images"]) == len(view) < len(sized)
    triggered = [str(entry.to_json()) for entry in done.executor._requests]
    assert any("browser_download" in entry and str(path) in entry for entry in triggered)


def test_an_attribute_is_asked_for_where_one_field_is_chosen(exporter, form, sized):
    assert "annotator_attribute" not in form(exporter, sized, fields=["alice", "bob"])
    assert "annotator_attribute" in form(exporter, sized, fields=["alice"])
