"""The operator that imports annotation files: its form with a preview, and the import."""

from __future__ import annotations

import fiftyone as fo
import fiftyone.operators as foo
import pytest

from tests.dataset_io.annotation_samples import by, coco, dataset_of, label_studio_task, ls_box, written

pytestmark = pytest.mark.usefixtures("delete_imports")


@pytest.fixture
def importer(operator):
    return operator("import_annotations")


@pytest.fixture
def export(tmp_path):
    tasks = [label_studio_task("1.jpg", by("ann", ls_box(0, 0, 50, 50)), by("bob"))]
    return written(tmp_path / "export.json", tasks)


def test_the_form_shows_what_would_be_imported_and_then_it_is(importer, form, export):
    dataset = dataset_of(["1.jpg"])
    assert "preview" not in form(importer, dataset)
    chosen = {"file": {"absolute_path": str(export)}, "into": "attribute", "field": "people"}
    inputs = form(importer, dataset, **chosen)
    assert "To be imported" in str(inputs["preview"])
    assert "ann" in str(inputs["preview"])
    assert not dataset.has_field("people")
    result = foo.execute_operator(importer.uri, {"dataset": dataset, "params": chosen}).result
    assert "assigned_field='people_assigned'" in result["summary"]
    dataset.reload()
    assert dataset.values("people_assigned") == [["ann", "bob"]]
    assert dataset.values("people.detections.annotator") == [["ann"]]


def test_what_is_wrong_stands_in_the_form(importer, form, export):
    dataset = dataset_of(["other.jpg"])
    inputs = form(importer, dataset, file=str(export))
    assert inputs["problem"]["invalid"]
    assert "got none of 1" in inputs["problem"]["error_message"]


def test_a_file_for_each_annotator(importer, form, tmp_path):
    path = written(tmp_path / "c.json", coco([{"file_name": "1.jpg"}], [{"image_id": 0, "bbox": [4, 5, 10, 10]}]))
    sources = [{"annotator": name, "path": str(path)} for name in ("ann", "bob")]
    dataset = dataset_of(["1.jpg"])
    chosen = {"given": "each", "sources": sources, "label_types": ["polylines"], "prefix": "p_"}
    formats = form(importer, dataset, **chosen)["format"]["type"]["values"]
    assert {"auto", "coco", "YOLOv5Dataset"} <= set(formats)
    foo.execute_operator(importer.uri, {"dataset": dataset, "params": chosen})
    dataset.reload()
    assert isinstance(dataset.first().p_bob, fo.Polylines)


def test_columns_of_a_table_are_guessed_and_can_be_changed(importer, form, tmp_path):
    path = written(tmp_path / "t.csv", "scan,image_id,reader,label\n1,x,ann,cat\n")
    dataset = dataset_of(["1.jpg"])
    inputs = form(importer, dataset, file={"absolute_path": str(path)})
    assert inputs["column_image"]["default"] == "image_id"
    columns = {"column_image": "scan", "column_annotator": "reader", "column_label": "label"}
    chosen = {"file": {"absolute_path": str(path)}, "match": "stem", **columns}

    foo.execute_operator(importer.uri, {"dataset": dataset, "params": chosen})
    dataset.reload()
    assert dataset.first().ann.label == "cat"


def test_large_files_are_suggested_for_a_worker(importer, context, form, export, monkeypatch):
    dataset = dataset_of(["1.jpg"])
    ctx = context(importer, dataset, file=str(export))
    assert not importer.resolve_execution_options(ctx).default_choice_to_delegated
    with export.open("a") as file:
        file.write(" " * (21 << 20))
    assert importer.resolve_execution_options(ctx).default_choice_to_delegated
    assert "too large to be shown now" in str(form(importer, dataset, file=str(export))["preview"])


def test_from_python(importer, export):
    dataset = dataset_of(["1.jpg"])
    assert [entry.name for entry in importer(dataset, export).annotators] == ["ann", "bob"]
