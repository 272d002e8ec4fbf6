"""The operator that imports annotation files: its form with a preview, and the import."""

from __future__ import annotations

import re

import fiftyone as fo
import fiftyone.operators as foo
import pytest
from PIL import Image

from tests.dataset_io.annotation_samples import by, coco, dataset_of, images_in, label_studio_task, ls_box, written

ROW = {"annotator": "ann", "path": "{}/export.json"}

pytestmark = pytest.mark.usefixtures("delete_imports")


@pytest.fixture
def importer(operator):
    return operator("import_annotations")


def _import(importer, dataset, **chosen):
    result = foo.execute_operator(importer.uri, {"dataset": dataset, "params": chosen}).result
    dataset.reload()
    return result


@pytest.fixture
def export(tmp_path):
    tasks = [label_studio_task("1.jpg", by("ann", ls_box(0, 0, 50, 50)), by("bob"))]
    return written(tmp_path / "export.json", tasks)


def test_the_form_shows_what_would_be_imported_and_then_it_is(importer, form, export):
    dataset = dataset_of(["1.jpg"])
    assert "preview" not in form(importer, dataset)
    chosen = {"file": {"absolute_path": str(export)}, "into": "attribute", "field": "people"}
    preview = str(form(importer, dataset, **chosen)["preview"])
    assert "To be imported" in preview
    assert "ann" in preview
    assert not dataset.has_field("people")
    assert "assigned_field='people_assigned'" in _import(importer, dataset, **chosen)["summary"]
    assert dataset.values("people_assigned") == [["ann", "bob"]]
    assert dataset.values("people.detections.annotator") == [["ann"]]


def test_a_file_for_each_annotator(importer, form, tmp_path):
    path = written(tmp_path / "c.json", coco([{"file_name": "1.jpg"}], [{"image_id": 0, "bbox": [4, 5, 10, 10]}]))
    rows = {f"annotator_{k}": name for k, name in ((1, "ann"), (2, "bob"))}
    rows |= {f"path_{k}": {"absolute_path": str(path)} for k in (1, 2)}
    dataset = dataset_of(["1.jpg"])
    chosen = {"given": "files", **rows, "advanced": {"label_types": ["polylines"], "prefix": "p_"}}
    inputs = form(importer, dataset, **chosen)
    assert {"auto", "coco", "YOLOv5Dataset"} <= set(inputs["format"]["type"]["values"])
    assert {"annotator_3", "path_3"} <= inputs.keys()
    assert "annotator_4" not in inputs
    assert "1 detections" not in str(inputs["preview"])  # polylines
    assert "1 polylines" in str(inputs["preview"])
    _import(importer, dataset, **chosen)
    assert isinstance(dataset.first().p_bob, fo.Polylines)


def test_a_folder_for_each_annotator(importer, form, tmp_path):
    for name in ("ann", "bob"):
        images_in(tmp_path / name / "images", ["1.png", "2.png"])
        written(tmp_path / name / "labels" / "1.txt", "0 0.5 0.5 0.5 0.5")
    written(tmp_path / "ann" / "labels" / "2.txt", "")
    rows = {"annotator_1": "ann", "path_1": {"absolute_path": str(tmp_path / "ann")}}
    rows |= {"annotator_2": "bob", "path_2": {"absolute_path": str(tmp_path / "bob")}}
    dataset = dataset_of([])  # the images lie beside the labels
    preview = str(form(importer, dataset, given="folders", **rows)["preview"])
    assert "YOLO: 2 annotators, 2 images, 2 of them new samples" in preview
    assert "(bob: 1) count as not looked at" in preview
    assert "choose “Images without a file of an annotator”: “were looked at, and nothing was drawn”" in preview
    _import(importer, dataset, given="folders", **rows, advanced={"no_labels": "drew_nothing"})
    assert [len(value.detections) for value in dataset.sort_by("filepath").values("bob")] == [1, 0]


def test_the_class_of_regions_of_via_can_be_named(importer, form, tmp_path):
    region = {"shape_attributes": {"name": "rect", "x": 4, "y": 5, "width": 10, "height": 10},
              "region_attributes": {"species": "cat", "colour": "red"}}  # fmt: skip
    path = written(tmp_path / "v.json", {"1.jpg9": {"filename": "1.jpg", "size": 9, "regions": [region]}})
    dataset = dataset_of(["1.jpg"])
    dataset.set_values("metadata", [fo.ImageMetadata(width=40, height=20)])
    chosen = {"given": "files", "annotator_1": "ann", "path_1": {"absolute_path": str(path)}}
    assert "got 'species', 'colour'" in form(importer, dataset, **chosen)["problem"]["error_message"]
    chosen["advanced"] = {"column_label": "species"}
    assert "1 detections" in str(form(importer, dataset, **chosen)["preview"])


def test_names_that_differ_only_in_case_are_pointed_out_and_joined(importer, form, run, tmp_path):
    path = written(tmp_path / "t.csv", "image,annotator,label\n1.jpg,Ann,cat\n2.jpg,ann,cat\n1.jpg,bob,cat\n")
    dataset = dataset_of(["1.jpg", "2.jpg"])
    preview = str(form(importer, dataset, file=str(path))["preview"])
    assert "Annotators 'Ann', 'ann' differ only in case: one person?" in preview
    assert "Importing with “Names that stand for others”: “ann=Ann” joins their labels" in preview
    chosen = {"file": {"absolute_path": str(path)}}
    _, requests = run(importer, dataset, **chosen, prefix="apart_")
    assert "differ only in case: one person? Importing with “Names that stand" in requests["notify"]["message"]
    chosen["advanced"] = {"aliases": ["ann=Ann"]}
    assert "differ only" not in str(form(importer, dataset, **chosen)["preview"])
    _import(importer, dataset, **chosen)
    assert dataset.values("Ann.label") == ["cat", "cat"]
    chosen["advanced"] = {"aliases": ["ann"]}
    assert "Names that stand for others” must" in form(importer, dataset, **chosen)["problem"]["error_message"]


MISSING = [
    ({}, "Choose the file with the annotations"),
    ({"file": "{}/export.jso"}, "There is no file '{}/export.jso'"),
    ({"file": "{}"}, "'{}' is a folder, not a file"),
    ({"given": "folder", "folder": "{}/export.json"}, "'{}/export.json' is a file, not a folder"),
    ({"file": "{}/export.json", "media_dir": "{}/imag"}, "There is no folder '{}/imag'"),
    ({"given": "files"}, "Name each annotator, and choose the file with their annotations"),
    ({"given": "files", "annotator_1": "ann"}, "Choose the file of 'ann'"),
    ({"given": "files", "path_2": "{}/export.json"}, "Name the annotator of 'export.json'"),
    ({"given": "folders", "annotator_1": "ann", "path_1": "{}/a"}, "There is no folder '{}/a'"),
    ({"given": "files", **{f"{name}_{n}": value for n in (1, 2) for name, value in ROW.items()}},
     "Two annotators are called 'ann'"),
]  # fmt: skip


def test_what_is_missing_is_said_softly_and_paths_may_have_blanks_and_quotes(importer, form, export):
    dataset, folder = dataset_of(["1.jpg"]), str(export.parent)
    for params, said in MISSING:
        inputs = form(importer, dataset, **{name: value.replace("{}", folder) for name, value in params.items()})
        assert inputs["missing"]["view"]["label"] == said.replace("{}", folder)
        assert inputs["missing"]["invalid"]
        assert not {"problem", "preview"} & set(inputs)
    inputs = form(importer, dataset_of([]), file=str(export))
    assert "Choose the folder with the images" in inputs["missing"]["view"]["label"]
    Image.new("RGB", (64, 48)).save(export.parent / "1.jpg")
    inputs = form(importer, dataset_of([]), file=str(export), media_dir={"absolute_path": str(export.parent)})
    assert "1 of them new samples" in str(inputs["preview"])
    for name in ("it's a file.json", 'called "export".json', "Schäden 张.json"):
        export = export.rename(export.parent / name)
        for quotes in ("{}", "'{}'", '"{}" '):
            assert "preview" in form(importer, dataset, file={"absolute_path": quotes.format(export)})


PROBLEMS = [
    ("other.jpg", {}, "got none of 1"),
    ("other.jpg", {}, "choose “Images are matched by”: “File name without its ending”"),
    ("other.jpg", {}, "or “Folder with the images” to make new samples"),
    ("1.jpg", {"format": "coco"}, "formats that FiftyOne reads are given as “Format”, with one path for each"),
    ("1.jpg", {"label_types": ["ellipses"]}, "“Label types” must be among"),
]


def test_what_is_wrong_is_said_in_the_words_of_the_form(importer, form, export):
    datasets = {name: dataset_of([name]) for name in ("1.jpg", "other.jpg")}
    for image, options, said in PROBLEMS:
        problem = form(importer, datasets[image], file=str(export), advanced=options)["problem"]
        assert problem["invalid"]
        assert said in problem["error_message"]
        assert not re.search("`|media_dir|=", problem["error_message"])


def test_what_becomes_of_labels_that_are_there_is_asked_and_counted(importer, form, export):
    dataset = dataset_of(["1.jpg", "2.jpg"])
    labels = fo.Detections(detections=[fo.Detection(label="cat", bounding_box=[0, 0, 0.1, 0.1])] * 3)
    dataset.set_values("ann", [labels, labels.copy()])
    refused = form(importer, dataset, file=str(export))["problem"]["error_message"]
    assert "“If annotators have labels already”: “Replace them on the images of the file”" in refused
    replaced = form(importer, dataset, file=str(export), advanced={"existing": "overwrite"})
    assert "3 labels on images of the file will be replaced" in str(replaced["preview"])
    assert "3 labels on 1 image" in str(replaced["preview"])  # stay
    chosen = {"file": {"absolute_path": str(export)}, "advanced": {"existing": "remove_others"}}
    assert "3 other labels will be removed" in str(form(importer, dataset, **chosen)["preview"])
    _import(importer, dataset, **chosen)
    assert dataset.count("ann.detections") == 1


def test_columns_of_a_table_are_guessed_and_can_be_changed(importer, form, tmp_path):
    path = written(tmp_path / "t.csv", "scan,image_id,reader,label\n1,x,ann,cat\n")
    dataset = dataset_of(["1.jpg"])
    assert form(importer, dataset, file={"absolute_path": str(path)})["column_image"]["default"] == "image_id"
    columns = {"column_image": "scan", "column_annotator": "reader", "column_label": "label"}
    _import(importer, dataset, file={"absolute_path": str(path)}, match="stem", **columns)
    assert dataset.first().ann.label == "cat"


def test_what_was_filled_in_for_another_source_is_not_used(importer, form, tmp_path, export):
    table = written(tmp_path / "table.csv", "image,annotator,class\n1.jpg,ann,cat\n1.jpg,bob,cat\n")
    left = {"no_labels": "drew_nothing", "format": "YOLOv5Dataset", "column_label": "klass"}
    for source in (table, export):
        dataset = dataset_of(["1.jpg"])
        chosen = {"given": "file", "file": {"absolute_path": str(source)}, **left}
        inputs = form(importer, dataset, **chosen)
        assert inputs.keys() & {"preview", "problem", "no_labels"} == {"preview"}
        assert _import(importer, dataset, **chosen)["annotators"]


def test_large_files_are_not_read_until_asked_for(importer, context, form, export):
    dataset = dataset_of(["1.jpg"])
    with export.open("a") as file:
        file.write(" " * (2 << 20) + "no JSON")
    chosen = {"file": str(export)}
    inputs = form(importer, dataset, **chosen)
    assert inputs["unread"]["invalid"]
    assert not {"preview", "problem"} & inputs.keys()
    (switch,) = (name for name in inputs if name.startswith("read_"))
    assert "Reads 2.0 MB" in inputs[switch]["view"]["description"]
    assert "must be JSON" in form(importer, dataset, **chosen, **{switch: True})["problem"]["error_message"]
    # what was asked for holds for what was chosen then
    assert form(importer, dataset, **chosen, **{switch: True}, advanced={"prefix": "p_"})["unread"]["invalid"]
    assert not importer.resolve_execution_options(context(importer, dataset, **chosen)).default_choice_to_delegated
    with export.open("a") as file:
        file.write(" " * (19 << 20))
    assert importer.resolve_execution_options(context(importer, dataset, **chosen)).default_choice_to_delegated
    assert "Too large to be shown now" in str(form(importer, dataset, **chosen)["preview"])


def test_folders_with_many_files_are_not_read_and_those_with_many_images_not_searched(importer, form, export):
    """On the way to any path one types ``/``, a folder with all files of the machine."""
    folder = export.parent / "images"
    folder.mkdir()
    for n in range(10_001):
        (folder / f"{n}.txt").touch()
    Image.new("RGB", (64, 48)).save(folder / "1.jpg")
    given = form(importer, dataset_of(["1.jpg"]), given="folder", folder=str(folder))
    assert "Too large to be shown now" in str(given["preview"])
    chosen = {"file": str(export), "media_dir": {"absolute_path": str(folder)}}
    inputs = form(importer, dataset_of([]), **chosen)
    assert inputs["unread"]["invalid"]
    assert not {"preview", "problem"} & inputs.keys()
    (switch,) = (name for name in inputs if name.startswith("read_"))
    assert "the names of more than 10,000 files" in inputs[switch]["view"]["description"]
    assert "1 of them new samples" in str(form(importer, dataset_of([]), **chosen, **{switch: True})["preview"])
