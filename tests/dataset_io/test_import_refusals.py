"""Imports refuse bad input in one sentence before anything is written; and the effect of their options."""

from __future__ import annotations

import io
import re
import unicodedata

import fiftyone as fo
import pandas as pd
import pytest
from fiftyone import ViewField as F

from tests.dataset_io import annotation_samples as samples
from tests.dataset_io.quick_runs import compute_quickly, refused
from tests.datasets import detections

import annotator_agreement as aa
from annotator_agreement.agreement.settings import spelt_alike
from annotator_agreement.dataset_io import import_annotations
from annotator_agreement.dataset_io.annotation_files import image_names, written_fields

pytestmark = pytest.mark.usefixtures("delete_imports")

IMAGE = {"file_name": "1.jpg", "rater_list": ["ann", "bob"]}
BOX = {"bbox": [4, 5, 10, 10], "rater_id": "ann"}


@pytest.fixture(scope="module")
def dataset(private_fiftyone):
    return samples.dataset_of(["1.jpg", "a/2.jpg", "b/2.jpg"])


@pytest.fixture(autouse=True)
def unchanged(dataset):
    """No test writes anything into the dataset."""
    yield
    known = {"id", "filepath", "tags", "metadata", "created_at", "last_modified_at"}
    assert set(dataset.get_field_schema()) == known


FILES = {
    "encoded.xml": ("<?xml version='1.0' encoding='nan'?><annotations/>", r"'encoded.xml' must be in an encoding"),
    "wide.xml": ("<?xml version='1.0' encoding='utf-16'?><annotations/>", r"'wide.xml' must be"),
    "base.xml": ("<?xml version='1.0' encoding='hex'?><annotations/>", r"'base.xml' must be"),
    "many.xml": ("<?xml version='1.0' encoding='shift_jis'?><annotations/>", r"'many.xml' must be"),
    "broken.json": ('{"images": [\n1,,2]}', r"'broken.json' must be JSON, got an error in line 2"),
    "broken.xml": ("<annotations>\n<image></annotations>", r"'broken.xml' must be XML, got an error in line 2"),
    "bomb.xml": ('<!DOCTYPE a [<!ENTITY x "y">]><annotations>&x;</annotations>', r"without entities of its own"),
    "outside.xml": ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><annotations>&x;</annotations>', "entities"),
    "labelme.json": ({"shapes": [], "imagePath": "1.jpg"}, r"LabelMe JSON does not say who drew what: give the folder"),
    "voc.xml": ("<annotation><filename>1.jpg</filename></annotation>", r"Pascal VOC does not say who drew what"),
    "results.json": ([{"image_id": 1, "category_id": 2}], r"looks like COCO results"),
    "odd.json": ({"images": [{"id": 1, "file_name": "1.jpg"}], "annotations": 5, "categories": []},
                 r"as the tool writes it, got content"),
    "frames.xml": ("<annotations><meta><job><mode>interpolation</mode><start_frame>0</start_frame>"
                   "<stop_frame>9999999999</stop_frame></job></meta></annotations>",
                   r"from 0 to 1,000,000, got up to 9,999,999,999"),
    "archive.json": ("PK\x03\x04", r"'archive.json' must be a text, got a ZIP archive or a workbook; unpack it"),
    "all.zip": ("PK\x03\x04", r"'all.zip' must be a text, got a ZIP archive"),
    "text.json": ('"0 1 2 3 4"', r"'text.json' must be of a format .* got what looks like JSON of a tool that we do"),
    "binary.csv": ("image,label\n\x00\x01\x02\x03\x81", r"'binary.csv' must be a table, .*bytes that are no text"),
    "notes.md": ("1 2 3", r"must end in .*got 'notes.md'"),
    "empty.json": ({"images": [], "annotations": [], "categories": []}, r"must name them, by 'rater_id'"),
}  # fmt: skip
COCO_FILES = [
    ([IMAGE, {**IMAGE, "file_name": "1.jpg"}], [BOX], r"more than one of 'ann' for '1.jpg'"),
    ([IMAGE], [{**BOX, "image_id": 7}], r"must refer to its images, got 1 that do not \(ids 0\)"),
    ([IMAGE], [{**BOX, "category_id": 7}], r"must refer to its categories, got category_id 7"),
    ([IMAGE], [{**BOX, "rater_id": None}], r"must name its annotator in 'rater_id', got id 0"),
    ([{**IMAGE, "file_name": "other.jpg"}], [], r"got none of 1 \(other.jpg\), for samples such as /images/1.jpg"),
    ([{**IMAGE, "file_name": "2.jpg"}], [], r"must mean one sample each, got 2.jpg \(2 files\); say match='path'"),
    ([IMAGE], [{**BOX, "bbox": [100, 100, 500, 500]}], r"got 1 of 1 outside: their coordinates are in another unit"),
    ([{**IMAGE, "rater_list": ["a b", "a-b"]}], [], r"a field of their own, got 'a_b' for 'a b', 'a-b'"),
    *(([{**IMAGE, "rater_list": [name, "bob"]}], [], f"names that are free, got '{name}'; choose others with `prefix`")
      for name in ("id", "frames", "to_dict", "get_field", "copy", "sample_id")),
    ([{**IMAGE, "width": None}], [BOX], r"image size to read coordinates in pixels, got 1 without"),
]  # fmt: skip
OPTIONS = [
    ({"format": "yola"}, r"`format` must be 'auto', .* or a type of fiftyone.types, got 'yola'"),
    ({"format": "cvat"}, r"must be CVAT XML .* looks like COCO JSON"),
    ({"format": fo.types.YOLOv5Dataset}, r"must be one path for each annotator"),
    ({"label_types": "boxes"}, r"`label_types` must be among .* got 'boxes'"),
    ({"label_types": "classifications"}, r"must be found in the files"),
    ({"into": "both"}, r"`into` must be one of fields, attribute"),
    ({"match": "name"}, r"`match` must be one of"),
    ({"annotators": {"eve": "x"}}, r"must name annotators of the files \(ann, bob\), got 'eve'"),
    ({"annotators": {"bob": "ann"}}, r"more than one of 'ann' for '1.jpg'"),
    ({"field": "tags", "into": "attribute"}, r"names that are free, got 'tags'"),
    ({"columns": {"image": "x"}}, r"`columns` are those of a table, got COCO JSON"),
]


def test_files_that_cannot_be_read_and_files_and_options_that_do_not_fit(dataset, imported, tmp_path):
    for name, (content, message) in FILES.items():
        imported.refuses(message, samples.written(tmp_path / name, content), dataset)
    for images, drawn, message in COCO_FILES:
        imported.refuses(message, samples.coco(images, drawn), dataset)
    for options, message in OPTIONS:
        imported.refuses(message, samples.coco([IMAGE], [BOX]), dataset, **options)
    message = r"`media_dir` must be a folder, got '/nowhere'"
    imported.refuses(message, samples.coco([{**IMAGE, "file_name": "new.jpg"}], [BOX]), dataset, media_dir="/nowhere")
    imported.refuses(r"must have samples .* got none; say `media_dir=`", samples.coco([IMAGE], [BOX]), [])


def test_sources_that_cannot_be_used_and_folders_of_very_many_files(dataset, imported, tmp_path, monkeypatch):
    path = samples.written(tmp_path / "c.json", samples.coco([IMAGE], [BOX]))
    (tmp_path / "folder").mkdir()
    for source, message in (
        (tmp_path / "none.json", r"which does not exist"),
        ({}, r"must name at least one annotator"),
        (12, r"must be a path, a mapping of annotators to paths, or a DataFrame, got int$"),
        ({"eve": path}, r"must be that annotator's alone, got 'eve' for a file of ann, bob"),
        (tmp_path / "folder", r"annotation files of one format .*, got none"),
    ):
        imported.refuses(message, source, dataset)
    message = r"got list; say who drew what, as {'ann': 'x/ann.json', 'bob': 'x/bob.json'}$"
    refused(message, import_annotations, dataset, ["x/ann.json", "x/bob.json"])
    refused("`dataset` must be a FiftyOne dataset, got DatasetView", import_annotations, dataset.limit(1), path)
    table = pd.DataFrame({"image": ["1.jpg"], "rater": ["a"], "label": ["x"]})
    imported.refuses(r"One field holds a list of labels, got 'classes'", table, dataset, into="attribute")
    monkeypatch.setattr(image_names, "MOST_FILES", 3)
    many = tmp_path / "many"
    path = samples.written(many / "a" / "b" / "c.json", samples.coco([{**IMAGE, "file_name": "new.jpg"}], []))
    for k in range(4):
        (many / f"{k}.txt").touch()
    for source, options in ((many, {}), (path, {"media_dir": many})):
        message = r"must be a folder with at most 3 files, got .*, which has more"
        imported.refuses(message, source, dataset, **options)


def test_coordinates_outside_are_counted_and_clipped_on_request(imported):
    for clip, right in ((False, 1.25), (True, 1.0)):
        dataset, summary = imported(samples.coco([IMAGE], [{**BOX, "bbox": [30, 10, 20, 5]}, BOX]), clip=clip)
        x, _, width, _ = dataset.first().ann.detections[0].bounding_box
        assert x + width == right
        assert any("1 of 2 labels reach out" in note for note in summary.notes)


def test_media_dir_makes_missing_samples_and_nothing_outside_it(imported, tmp_path):
    folder = samples.images_in(tmp_path / "media" / "deep", ["new.png"])
    samples.images_in(tmp_path / "secret", ["other.png"])
    names = ["new.png", "../secret/other.png", str(tmp_path / "secret" / "other.png")]
    images = [{**IMAGE, "file_name": name} for name in names]
    dataset, summary = imported(samples.coco(images, [BOX]), [], media_dir=folder.parent)
    assert dataset.values("filepath") == [str(folder / "new.png")]
    assert (summary.n_images, summary.n_new, dataset.first().metadata.width) == (1, 1, 40)
    (line,) = summary.left_out
    assert line.startswith("images that the dataset does not have: 2 (")
    table = pd.DataFrame({"image": ["new"], "rater": "a", "label": "x", "x": 4, "y": 5, "w": 20, "h": 10})
    other, _ = imported(table, [], media_dir=folder, match="stem")  # the size is read from the image
    assert other.first().a.detections[0].bounding_box == [0.1, 0.25, 0.5, 0.5]


@pytest.mark.parametrize("kind", ["group", "video"])
def test_new_samples_of_another_media_type_than_the_dataset_are_refused(imported, tmp_path, kind):
    folder = samples.images_in(tmp_path / "media", ["new.png"])
    dataset = samples.dataset_of(["1.mp4"] if kind == "video" else [])
    if kind == "group":
        dataset.add_group_field("group", default="left")
    content, fields = samples.coco([{**IMAGE, "file_name": "new.png"}], []), {*dataset.get_field_schema()}
    for preview in (True, False):
        message = f"media type of the dataset, '{kind}', got 1 that .*new.png"
        imported.refuses(message, content, dataset, media_dir=folder, preview=preview)
    assert (len(dataset), {*dataset.get_field_schema()}) == (int(kind == "video"), fields)


def test_an_import_that_fails_leaves_no_new_samples_but_those_that_somebody_edited(imported, tmp_path, monkeypatch):
    def fails(writer, *_):
        sample = fo.load_dataset(writer.dataset.name).match(F("filepath").ends_with("edited.png")).first()
        sample.tags = ["mine"]
        sample.save()
        raise RuntimeError("full")

    folder, dataset = samples.images_in(tmp_path / "media", ["new.png", "edited.png"]), samples.dataset_of(["1.jpg"])
    monkeypatch.setattr(written_fields.FieldWriter, "_write_values", fails)
    content = samples.coco([{**IMAGE, "file_name": name} for name in ("new.png", "edited.png", "1.jpg")], [])
    with pytest.raises(RuntimeError, match="full"):
        imported(content, dataset, media_dir=folder)
    assert dataset.values("filepath") == ["/images/1.jpg", str(folder / "edited.png")]
    assert not {"ann", "bob"} & {*dataset.get_field_schema()}


def test_two_names_of_a_file_are_not_joined_on_one_sample(dataset, imported):
    for match, others in (("filename", "a/1.jpg, b/1.jpg"), ("stem", "a/1.bmp, a/1.jpg")):
        table = _table([[name, who, "cat"] for name, who in zip(others.split(", "), ("ann", "bob"), strict=True)])
        say = f"several names for one: {others} for /images/1.jpg; say match='path'"
        imported.refuses(say, table, dataset, match=match)


def test_annotators_may_have_the_images_in_folders_of_their_own(imported, tmp_path):
    images = {"ann": ["/home/ann/1.jpg", "x/3.jpg"], "bob": ["/home/bob/1.jpg", "data/x/3.jpg"]}
    files = {who: samples.written(tmp_path / f"{who}.json", samples.coco(names, [{"bbox": BOX["bbox"]}]))
             for who, names in images.items()}  # fmt: skip
    dataset, summary = imported(files, ["x/1.jpg", "x/3.jpg"])
    assert [dataset.count(f"{who}.detections") for who in files] == [1, 1]
    assert re.findall(r"\((.*)\); say match='path' if they are not", samples.said_by(summary)) == [
        "1: /home/ann/1.jpg, /home/bob/1.jpg for /images/x/1.jpg"]  # fmt: skip


def test_a_preview_writes_nothing_and_says_the_same(imported):
    tasks = [samples.label_studio_task("1.jpg", samples.by("ann", samples.ls_box(0, 0, 10, 10)))]
    dataset, preview = imported(tasks, preview=True)
    assert "To be imported into" in str(preview)
    assert not dataset.has_field("ann")
    _, summary = imported(tasks, dataset)
    assert {**summary.to_dict(), "is_written": False} == preview.to_dict()
    assert "Imported into" in summary.to_markdown()


# ---- names of annotators and classes that differ only in case, blanks or Unicode form ----


def _table(rows):
    table = pd.DataFrame(rows, columns=["image", "annotator", "label"])
    return table.assign(x=4, y=5, width=10, height=10, image_width=40, image_height=20)


ALIKE = [
    (["Ann", "ann"], "case"), (["ann", "ann "], "blanks"), (["traffic light", "trafficlight"], "blanks"),
    (["Ann", "ann "], "case and blanks"), (["é", unicodedata.normalize("NFD", "é")], "Unicode form"),
    (["ＡＮＮ", "ANN"], "Unicode form"), (["Straße", "STRASSE"], "case"),
]  # fmt: skip


def test_how_names_differ():
    for names, how in ALIKE:
        ((group, question),) = spelt_alike([*names, "bob", "bobby"], "annotators")
        assert group == sorted(names)
        assert f" differ only in {how}: one person? " in question
        aliases = eval(question.split("`aliases=")[1].split("`")[0])
        assert {*aliases, *aliases.values()} == {*names}
    assert list(spelt_alike(["ann", "anne", "a_b", "a-b"], "classes")) == []


def test_an_import_points_out_names_that_are_spelt_alike_and_joins_them(imported):
    rows = [("1.jpg", "Ann", "Car"), ("2.jpg", "ann ", "car"), ("3.jpg", "ann", "car"), ("1.jpg", "bob", "car")]
    dataset, preview = imported(_table(rows), ["1.jpg", "2.jpg", "3.jpg"], into="attribute", preview=True)
    said = "\n".join(preview.notes)
    assert "Annotators 'Ann', 'ann', 'ann ' differ only in case and blanks: one person? Importing with `al" in said
    assert "Classes 'Car', 'car' differ only in case: one class? `aliases={'car': 'Car'}` joins them" in said
    assert len(preview.annotators) == 4
    aliases = {"ann ": "Ann", "ann": "Ann", "car": "Car"}
    _, summary = imported(_table(rows), dataset, aliases=aliases)
    assert [(entry.name, entry.n_images) for entry in summary.annotators] == [("Ann", 3), ("bob", 1)]
    assert dataset.distinct("Ann.detections.label") == ["Car"]
    assert not any("differ only" in note for note in summary.notes)
    message = r"`aliases` must map names of annotators or classes .* got 'eve'"
    imported.refuses(message, _table(rows), dataset, aliases={"eve": "ann"}, prefix="x_")
    twice = _table([*rows, ("1.jpg", "ann", "car")])
    imported.refuses(r"more than one of 'Ann' for '1.jpg'", twice, dataset, aliases=aliases, prefix="x_")


def test_names_in_another_unicode_form_are_the_same(imported):
    zoe, gull = (unicodedata.normalize("NFD", name) for name in ("Zoë", "Möwe"))
    dataset, summary = imported(_table([("1.jpg", "Zoë", "Möwe"), ("2.jpg", zoe, gull)]), ["1.jpg", "2.jpg"])
    assert [(entry.name, entry.n_images) for entry in summary.annotators] == [("Zoë", 2)]
    assert dataset.distinct("Zoë.detections.label") == ["Möwe"]


@pytest.mark.long
@pytest.mark.parametrize("of_one", [True, False])
def test_a_run_points_out_names_that_are_spelt_alike_instead_of_blaming_the_guideline(of_one):
    dataset, people = samples.dataset_of([f"{k}.jpg" for k in range(30)]), ["Ann", "ann", "bob"]
    for name, period in zip(people, (2, 3, 5), strict=True):
        is_small = [name == "bob" if of_one else k % period > 0 for k in range(30)]
        labels = [detections([("car" if small else "Car", (0.1, 0.1, 0.5, 0.5))]) for small in is_small]
        dataset.set_values(name, labels)
    run, printed = aa.compute(dataset, people), io.StringIO()
    run.print_report(file=printed)
    text = " ".join(printed.getvalue().split())
    assert "Annotators 'Ann', 'ann' differ only in case: one person? Importing with `aliases={'ann': 'Ann'}`" in text
    assert "Classes 'Car', 'car' differ only in case: one class? `aliases={'car': 'Car'}` joins them" in text
    assert len([line for line in aa.load(dataset, "agreement").warnings if "differ only in case" in line]) == 2
    assert (": classes 'Car', 'car' differ only in case: one class?" in text) == of_one  # among what stands out
    assert not any(blame in text for blame in ("how to tell", "talk to"))
    joined = compute_quickly(dataset, people, aliases={"car": "Car"}, run_key="joined")
    assert not any("Classes" in warning for warning in joined.warnings)
    assert joined.score.mean == 1.0
