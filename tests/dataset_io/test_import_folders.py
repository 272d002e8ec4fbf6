"""A folder of files for each annotator: YOLO, Pascal VOC, LabelMe and VIA, as the tools write them."""

from __future__ import annotations

import json
import math
import re
import unicodedata

import fiftyone as fo
import numpy as np
import pytest

from tests.dataset_io.annotation_samples import (
    boxes_of,
    dataset_of,
    files_in,
    images_in,
    run_of,
    said_by,
    sized,
    written,
)

pytestmark = pytest.mark.usefixtures("delete_imports")

SHAPES = {"label_types": ["detections", "polylines", "keypoints"]}


def _voc(name="1.jpg", objects="", folder="images", size=(40, 20)):
    """As LabelImg writes it, with tabs and Windows line ends."""
    return f"""<annotation>
	<folder>{folder}</folder>
	<filename>{name}</filename>
	<path>C:\\photos\\1.jpg</path>
	<source><database>Unknown</database></source>
	<size><width>{size[0]}</width><height>{size[1]}</height><depth>3</depth></size>
	<segmented>0</segmented>
{objects}</annotation>
""".replace("\n", "\r\n")


def _object(box, name="cat", more=""):
    names = ("xmin", "ymin", "xmax", "ymax")
    sides = "".join(f"<{side}>{value}</{side}>" for side, value in zip(names, box, strict=True))
    return f"""	<object><name>{name}</name><pose>Unspecified</pose><truncated>0</truncated><difficult>1</difficult>
		<bndbox>{sides}</bndbox>{more}</object>
"""


def _labelme(*shapes, name="..\\photos\\1.jpg", **more):
    return {"version": "5.2.1", "flags": {}, "shapes": list(shapes), "imagePath": name, "imageData": None,
            "imageHeight": 20, "imageWidth": 40, **more}  # fmt: skip


def _shape(kind, *points, label="cat", **more):
    return {"label": label, "points": [list(point) for point in points], "group_id": None, "description": "",
            "shape_type": kind, "flags": {}, "mask": None, **more}  # fmt: skip


def _region(shape, **attributes):
    return {"shape_attributes": shape, "region_attributes": attributes}


RECT = {"name": "rect", "x": 4, "y": 5, "width": 10, "height": 10}


def _via(regions):
    said = {"caption": "", "quality": "good"}
    return {f"{name}12": {"filename": name, "size": 12, "regions": own, "file_attributes": said}
            for name, own in (("1.jpg", regions), ("2.jpg", []))}  # fmt: skip


DOG, WHOLE = ("dog", 0.25, 0.25, 0.5, 0.5), ("cat", 0.1, 0.25, 0.25, 0.5)
COLOR = "<attributes><attribute><name>color</name><value>red</value></attribute></attributes>"
PART = "<part><name>head</name><bndbox><xmin>5</xmin></bndbox></part>"
#: files of alice, the images of the dataset, her boxes on them, and what the summary says (or does not say, with "no ")
FOLDERS = {
    "YOLO of LabelImg: classes.txt among the labels, Windows line ends": (
        {"classes.txt": "cat\r\ndog\r\n", "1.txt": b"1 0.500000 0.500000 0.500000 0.500000\r\n", "2.txt": b"",
         "3.txt": "\ufeff\n0 0.1 0.2 0.2 0.4 0.75\n"},
        ["1.jpg", "2.png", "3.jpg", "4.jpg"], [[DOG], [], [("cat", 0, 0, 0.2, 0.4)], None], []),
    "YOLO of CVAT: obj.names, and lists beside the labels": (
        {"obj.names": "cat\ndog\n", "obj.data": "classes = 2\nnames = data/obj.names\n", "obj_train_data/2.txt": "",
         "train.txt": "data/obj_train_data/cam/1.jpg\n", "obj_train_data/cam/1.txt": "1 0.5 0.5 0.5 0.5"},
        ["cam/1.jpg", "2.jpg"], [[DOG], []], []),
    "YOLO of Label Studio: notes.json": (
        {"notes.json": {"categories": [{"id": 0, "name": "cat"}]}, "classes.txt": "cat\ndog",
         "labels/1.txt": "1 0.5 0.5 0.5 0.5"},
        ["cam/1.jpg", "2.jpg"], [[DOG], None], []),
    "YOLO without names": ({"1.txt": "3 0.5 0.5 0.5 0.5"}, ["1.jpg"], [[("3", *DOG[1:])]],
                           ["Classes are called by their numbers"]),
    "names in another Unicode form": ({unicodedata.normalize("NFD", "größe.txt"): "0 0.5 0.5 0.5 0.5"},
                                      [unicodedata.normalize("NFC", "größe.jpg")], [[("0", *DOG[1:])]], []),
    "VOC anywhere below, with lists beside": (
        {"Annotations/deep/1.xml": _voc(objects=_object((4, 5, 14, 15))), "2.xml": _voc("2.jpg"),
         "ImageSets/Main/train.txt": "1\n2\n", "labelmap.txt": "# label:color_rgb:parts:actions\ncat:128,0,0::\n"},
        ["1.jpg", "2.jpg", "3.jpg"], [[WHOLE], [], None], ["no which are not read", "no Not used"]),
    "VOC of CVAT, with decimals and attributes": (
        {"1.xml": "\ufeff" + _voc(objects=_object((4.0, 5.0, 14.0, 15.0), more=COLOR), size=(0, 0))},
        ["1.jpg"], [[WHOLE]], ["no which are not read", "no Not used"]),
    "VOC with parts, polygons and deleted objects": (
        {"1.xml": _voc(objects=_object((4, 5, 14, 15), more=PART + "<polygon><x1>4</x1></polygon>")
                       + "<object><deleted>1</deleted></object>")},
        ["1.jpg"], [[WHOLE]],
        ["Not used of objects: part (1), polygon (1)", "objects that are marked as deleted: 1 (1.xml)"]),
    "VOC with rotated boxes and polygons alone": (
        {"1.xml": _voc(objects="<object><robndbox><cx>3</cx></robndbox></object>"),
         "2.xml": _voc("2.jpg", "<object><polygon><x1>4</x1></polygon></object>")},
        ["1.jpg", "2.jpg"], [None, None],
        ["rotated boxes (`robndbox`), which are not read: 1 (1.xml, object 1)",
         "polygons without a `bndbox`, which are not read: 1 (2.xml, object 1)"]),
    "LabelMe with shapes that are not read": (
        {"1.json": _labelme(_shape("rectangle", (0, 0), (5, 5)), _shape("mask", (0, 0), (5, 5))),
         "2.json": _labelme(_shape("polygon", (0, 0), (5, 5)), name="2.jpg"),
         "3.json": _labelme(name="3.jpg", checked=True)},
        ["1.jpg", "2.jpg", "3.jpg"], [[("cat", 0, 0, 0.125, 0.25)], None, []],
        ["masks of LabelMe (`mask`), which are not read: 1 (1.json, shape 2)", "Not used of files: checked (1)",
         "shapes that cannot be read: 1 (2.json, shape 1: a shape of the type 'polygon' with 2 points)"]),
    "VIA with a shape that is not read": (
        {"via.json": _via([_region({"name": "cube"}, name="cat")])}, ["1.jpg", "2.jpg"], [None, []],
        ["regions that cannot be read: 1 (1.jpg, region 1: a shape of the type 'cube')"]),
}  # fmt: skip


PIXELS = (40, 20)


def _both(folder):
    return {name: folder / name for name in ("alice", "bob")}


def test_a_folder_of_a_tool(imported, tmp_path):
    for number, (case, (contents, names, expected, lines)) in enumerate(FOLDERS.items()):
        dataset, summary = imported({"alice": files_in(tmp_path / str(number), contents)}, names, size=PIXELS)
        assert boxes_of(dataset) == expected, case
        for line in lines:
            assert (line.removeprefix("no ") in said_by(summary)) == (not line.startswith("no ")), said_by(summary)


def test_who_has_no_file_did_not_look_and_an_empty_file_is_an_empty_list(imported, tmp_path):
    files_in(tmp_path, {"alice/1.txt": "1 0.5 0.5 0.5 0.5", "alice/2.txt": "", "alice/3.txt": "",
                        "bob/1.txt": "0 0.25 0.5 0.5 1", "bob/2.txt": "", "classes.txt": "cat\ndog"})  # fmt: skip
    dataset, summary = imported(_both(tmp_path), ["1.jpg", "2.jpg", "3.jpg"])
    assert "Images without a file of an annotator (bob: 1) count as not looked at" in said_by(summary)
    report = run_of(dataset, summary)
    # 0.25 of 0.75 is shared on the only image with labels of both; both left the second empty
    assert (report.n_rated, report.score.mean) == (2, 0.0)


def test_yolo_of_ultralytics_and_roboflow(imported, tmp_path):
    # Roboflow: splits, data.yaml with a list, README; Ultralytics: a mapping, segments, the confidence at the end
    yaml = "train: ../train/images\nval: ../valid/images\n\nnc: 2\nnames: ['cat', 'dog']\nroboflow:\n  version: 1\n"
    files_in(tmp_path, {
        "alice/data.yaml": yaml, "alice/README.roboflow.txt": "Provided by a Roboflow user\n",
        "alice/train/labels/1_jpg.rf.0a1b.txt": "0 0.1 0.2 0.6 0.2 0.6 0.8\n",
        "alice/valid/labels/1.txt": "1 0 0 1 0 1 1 0 1 0.9",
        "bob/data.yaml": "path: x\ntrain: images/train\nnames:\n  0: cat\n  1: dog\n",
        "bob/labels/train/1_jpg.rf.0a1b.txt": "0 0.1 0.2 0.6 0.2 0.6 0.8\n",
    })  # fmt: skip
    dataset, summary = imported(_both(tmp_path), ["1_jpg.rf.0a1b.jpg", "1.jpg"])
    first, second = (sample.alice.polylines[0] for sample in dataset)
    assert (first.label, first.points, first.closed) == ("cat", [[[0.1, 0.2], [0.6, 0.2], [0.6, 0.8]]], True)
    assert (second.label, len(second.points[0]), second.confidence) == ("dog", 4, 0.9)
    assert (dataset.first().bob.polylines[0].points, dataset.last().bob) == (first.points, None)
    assert run_of(dataset, summary).score.mean == 1.0
    note = "Lines of YOLO with more than a box are read as polygons; if they are poses, give them as COCO"
    assert summary.notes.count(note) == 1


def test_yolo_has_names_of_classes_for_all_annotators_or_for_none(imported, tmp_path):
    files_in(tmp_path, {"alice/1.txt": "3 0.5 0.5 0.5 0.5", "bob/1.txt": "3 0.5 0.5 0.5 0.5"})
    written(tmp_path / "bob" / "classes.txt", "a\nb\nc\nd")
    imported.refuses(r"must have names, or none, got folders of YOLO with and without", _both(tmp_path))
    (tmp_path / "bob" / "classes.txt").rename(tmp_path / "classes.txt")  # beside the folders of both
    dataset, _ = imported(_both(tmp_path))
    assert boxes_of(dataset) == [[("d", *DOG[1:])]]


YOLO_LINES = [("0 0.5 0.5 0.5", r"line 2: a box has 4 numbers and a polygon 6 or more, got 3"),
              ("0.5 0.5 0.5 0.5 0.5", r"line 2: the class must be a whole number, got 0.5"),
              ("0 0.5 0.5 -0.5 0.5", r"line 2: width and height must be at least 0"),
              ("0 20 10 5 5", r"line 2: coordinates must be shares of the image"),
              ("0 0.5 0.5 0.5 0.5 7", r"line 2: the last number must be a confidence in \[0, 1\], got 7"),
              ("cat 0.5 0.5 0.5 0.5", r"line 2: could not convert string to float: 'cat'"),
              ("0 nan 0.5 0.5 0.5", r"line 2: coordinates must be shares of the image"),
              ("0 0,5 0,5 0,5 0,5", r"line 2: could not convert")]  # fmt: skip


VOC_OBJECTS = [(_object((14, 5, 4, 15)), "object 2: the second corner must not be left of the first or above it"),
               (_object(("a", 5, 4, 15)), "object 2: could not convert string to float: 'a'"),
               ("<object><name>x</name></object>", "object 2: there must be a `bndbox`")]  # fmt: skip


def test_a_line_or_an_object_that_cannot_be_read_is_no_empty_image(imported, tmp_path):
    options = [{}, {"no_labels": "drew_nothing"}]
    for k, (line, why) in enumerate(YOLO_LINES):
        files_in(tmp_path / "yolo", {"sub/1.txt": f"\n{line}\n", "2.txt": f"0 0.5 0.5 0.5 0.5\n{line}\n", "3.txt": ""})
        dataset, summary = imported({"alice": tmp_path / "yolo"}, ["1.jpg", "2.jpg", "3.jpg"], **options[k % 2])
        assert boxes_of(dataset) == [None, [("0", *DOG[1:])], []], line
        assert re.search(f"lines that cannot be read: 2 .*sub/1.txt, {why}", said_by(summary))
    for objects, why in VOC_OBJECTS:
        content = {"1.xml": _voc(objects=_object((4, 5, 14, 15)) + objects), "2.xml": _voc("2.jpg")}
        dataset, summary = imported({"alice": files_in(tmp_path / "voc", content)}, ["1.jpg", "2.jpg"], size=PIXELS)
        assert (boxes_of(dataset), why in said_by(summary)) == ([[WHOLE], []], True), objects


#: files of alice, and why they are refused for a dataset of 1.jpg, b/1.jpg and 2.jpg
REFUSED = [
    ({"labels/1.txt": "2 0.5 0.5 0.5 0.5", "classes.txt": "cat\ndog\n"}, r"among the 2 of '.*classes.txt', got 2 in"),
    ({"1.txt": "", "classes.txt": "cat\ndog\n", "data.yaml": "names: [dog, cat]"}, r"one list of classes, got others"),
    ({"1.txt": "", "data.yaml": "names: [a]\nnc: 3"}, r"got 1 names, and nc: 3"),
    ({"1.txt": "", "data.yaml": "names: [a"}, r"must hold the classes"),
    ({"1.txt": "", "data.yaml": "kpt_shape: [2, 3]\nnames: {0: person}"}, r"boxes or polygons, got poses .* as COCO"),
    ({"1.txt": "", "data.yaml": "names: [a, b, c]"}, r"must mean one sample each, got 1.txt \(2 files\)"),
    ({n: _voc("2.jpg") for n in ("2.xml", "copy.xml")}, r"got more than one of 'alice' for 'copy.xml \(2.jpg\)'"),
    ({"sub/1.xml": _voc().replace("</annotation>", "")}, r"'sub/1.xml' must be XML, got an error in line"),
    ({"4.json": {"shapes": None, "imagePath": "1.jpg"}}, r"'4.json' must be as the tool writes it"),
    ({"1.json": _labelme(_shape("polygon", (0, 0), (1, 0), (1, 1), group_id=[1]))}, r"must be as the tool writes it"),
    ({"v.json": _via([_region(RECT, species="cat", colour="red")])}, r"got 'species', 'colour'; say .*=\{\"label\""),
    ({"1.xml": _voc(), "1.txt": "0 0.5 0.5 0.5 0.5"}, r"of one format .* got XML, a text .* say which with `format`"),
]  # fmt: skip


def test_contradictions_in_a_folder_and_files_that_do_not_say_who_drew_are_refused(imported, tmp_path):
    dataset = sized(["1.jpg", "b/1.jpg", "2.jpg"])
    for case, (contents, message) in enumerate(REFUSED):
        imported.refuses(message, {"alice": files_in(tmp_path / str(case), contents)}, dataset)
    files_in(tmp_path, {"a/labels/1.txt": "", "v.json": _via([_region(RECT, species="cat")]),
                        "k/1.txt": "Car 0.00 0 -1.57 599 156 629 189 2.8 1.4 1.5 1 1 1 1"})  # fmt: skip
    message = r"YOLO does not say who drew what: .* in which there are labels"
    imported.refuses(message, tmp_path / "a")
    imported.refuses(r"VIA\) does not say who drew what: give the folder or file of each", tmp_path / "v.json")
    message = r"annotations of images, got YOLO without any|none of 1|cannot be"
    imported.refuses(message, {"alice": tmp_path / "k"}, ["2.jpg"])


@pytest.mark.parametrize("with_media_dir", [True, False])
def test_images_without_a_file_count_as_looked_at_if_one_says_so(imported, tmp_path, with_media_dir):
    for name in ("alice", "bob"):
        folder = tmp_path / "media" if with_media_dir else tmp_path / name / "images"
        images_in(folder, ["1.png", "2.png", "3.png"])
        written(tmp_path / name / "labels" / "1.txt", "0 0.5 0.5 0.5 0.5")
    written(tmp_path / "bob" / "labels" / "2.txt", "0 0.5 0.5 0.5 0.5")
    paths, media = _both(tmp_path), {"media_dir": tmp_path / "media"} if with_media_dir else {}
    dataset, summary = imported(paths, [], **media)
    assert [value and len(value) for value in boxes_of(dataset.sort_by("filepath"))] == [1, None]
    said = 'alice: 1) count as not looked at; if nothing was drawn there, say `no_labels="drew_nothing"`'
    assert said in said_by(summary)
    whole, summary = imported(paths, [], no_labels="drew_nothing", **media)
    assert [list(map(len, boxes_of(whole.sort_by("filepath"), name))) for name in paths] == [[1, 0, 0], [1, 1, 0]]
    assert "(alice: 2, bob: 1) count as looked at, with nothing drawn" in said_by(summary)
    assert (whole.first().metadata.width, summary.n_new) == (40, 3)


def test_same_file_names_in_folders_are_told_apart_by_path(imported, tmp_path):
    boxes = {"cam1": (0, 0, 20, 10), "cam2": (20, 10, 40, 20)}
    files_in(tmp_path, {f"alice/Annotations/{camera}/1.xml": _voc(objects=_object(box), folder=camera)
                        for camera, box in boxes.items()})  # fmt: skip
    written(tmp_path / "bob" / "train" / "labels" / "1.txt", "0 0.5 0.5 0.5 0.5")
    dataset, alice = sized(["cam1/1.jpg", "cam2/1.jpg"]), {"alice": tmp_path / "alice"}
    imported.refuses(r"must mean one sample each, got cam1/1.jpg \(2 files\)", alice, dataset)
    imported(alice, dataset, match="path")
    assert boxes_of(dataset) == [[("cat", 0.0, 0.0, 0.5, 0.5)], [("cat", 0.5, 0.5, 0.5, 0.5)]]
    images, _ = imported({"bob": tmp_path / "bob"}, ["train/images/1.jpg", "valid/images/1.jpg"], match="path")
    assert [value and len(value) for value in boxes_of(images, "bob")] == [1, None]


def test_voc_counts_for_the_image_that_it_is_called_like_and_else_for_the_one_that_it_names(imported, tmp_path):
    boxes = {"1.xml": (0, 0, 20, 10), "2.xml": (20, 10, 40, 20), "a3.xml": (0, 0, 40, 20)}
    called = zip(boxes.items(), ("2.jpg", "1.jpg", "3.jpg"), strict=True)
    files_in(tmp_path, {file: _voc(name, _object(box)) for (file, box), name in called})
    dataset, summary = imported({"alice": tmp_path}, sized(["1.jpg", "2.jpg", "3.jpg"]))
    # FiftyOne's importer goes by the names of the files, too
    assert boxes_of(dataset) == [[("cat", *box)] for box in ((0, 0, 0.5, 0.5), (0.5, 0.5, 0.5, 0.5), (0, 0, 1, 1))]
    assert "the one that they name count for the former: 2 (1.xml (2.jpg), 2.xml (1.jpg))" in said_by(summary)


def test_every_shape_of_labelme(imported, tmp_path):
    shapes = [_shape("rectangle", (14, 15), (4, 5), flags={"blurred": True}),
              _shape("polygon", (4, 5), (14, 5), (14, 15)), _shape("circle", (20, 10), (23, 14)),
              _shape("line", (0, 0), (40, 20), label="lane"),
              _shape("linestrip", (0, 0), (20, 20), (40, 0), label="lane"),
              _shape("point", (8, 4), label="eye")]  # fmt: skip
    content = _labelme(*shapes, flags={"night": True, "rain": False}, imageData="aGk=")
    files_in(tmp_path, {"1.json": content, "2.json": {**_labelme(name="2.jpg"), "flags": None}})
    dataset, summary = imported({"alice": tmp_path}, ["1.jpg", "2.jpg"], **SHAPES)
    sample = dataset.first()
    assert sample.alice_detections.detections[0].bounding_box == [0.1, 0.25, 0.25, 0.5]
    polygon, circle, line, strip = sample.alice_polylines.polylines
    assert [shape.closed for shape in (polygon, circle, line, strip)] == [True, True, False, False]
    distances = [math.dist((x * 40, y * 20), (20, 10)) for x, y in circle.points[0]]
    assert distances == pytest.approx([5.0] * len(distances))
    assert strip.points == [[[0, 0], [0.5, 1], [1, 0]]]
    assert sample.alice_keypoints.keypoints[0].points == [[0.2, 0.2]]
    assert dataset.last().alice_polylines.polylines == []
    assert (sample.metadata.width, sample.metadata.height) == (40, 20)
    assert "Not used of files: imageData (1)\nNot used of flags: night (1), blurred (1)" in said_by(summary)


def test_polygons_of_a_group_of_labelme_are_one_label_and_the_class_of_via_can_be_named(imported, tmp_path):
    shapes = [_shape("polygon", (0, 0), (10, 0), (10, 10), group_id=1),
              _shape("polygon", (20, 0), (30, 0), (30, 10), group_id=1),
              _shape("polygon", (20, 10), (30, 10), (30, 20), group_id=2),
              _shape("polygon", (0, 10), (10, 10), (10, 20), label="dog", group_id=1)]  # fmt: skip
    written(tmp_path / "1.json", _labelme(*shapes))
    dataset, _ = imported({"alice": tmp_path})
    assert [(label.label, len(label.points), label.group_id) for label in dataset.first().alice.polylines] == [
        ("cat", 2, 1), ("cat", 1, 2), ("dog", 1, 1)]  # fmt: skip
    corners = [(0, 0, 10, 10), (5, 0, 15, 10)], [(0, 0, 20, 20), (5, 5, 10, 10)]  # one over another, one in another
    shapes = [_shape("polygon", (a, b), (c, b), (c, d), (a, d), group_id=group) for group, own in enumerate(corners)
              for a, b, c, d in own]  # fmt: skip
    written(tmp_path / "1.json", _labelme(*shapes))
    dataset, _ = imported({"alice": tmp_path}, label_types="segmentations")
    # their union, as in LabelMe's own labelme2coco.py (`masks[instance] |= mask`)
    assert [label.mask.sum() for label in dataset.first().alice.detections] == [15 * 10, 20 * 20]
    path = written(tmp_path / "via.json", _via([_region(RECT, species="cat", colour="red")]))
    dataset, message = sized(["1.jpg", "2.jpg"]), r"must be one of their attributes .* got 'kind'"
    imported.refuses(message, {"alice": path}, dataset, columns={"label": "kind"})
    imported({"alice": path}, dataset, columns={"label": "species"})
    assert (dataset.first().alice.detections[0].label, dataset.first().alice.detections[0].colour) == ("cat", "red")


VIA_SHAPES = [_region(RECT, name="cat", seen={"left": True, "right": True}),
              _region({"name": "polygon", "all_points_x": [4, 14, 14], "all_points_y": [5, 5, 15]}, name="dog"),
              _region({"name": "circle", "cx": 20, "cy": 10, "r": 5}, name="cat"),
              _region({"name": "ellipse", "cx": 20, "cy": 10, "rx": 5, "ry": 2.5, "theta": math.pi / 2}, name="cat"),
              _region({"name": "polyline", "all_points_x": [0, 40], "all_points_y": [0, 20]}, name="lane"),
              _region({"name": "point", "cx": 8, "cy": 4}, name="eye")]  # fmt: skip


def _via_csv(entries, first="filename"):
    """As VIA 2 writes it: cells of JSON with doubled quotes."""
    lines = [f"{first},file_size,file_attributes,region_count,region_id,region_shape_attributes,region_attributes"]
    for entry in entries.values():
        for number, region in enumerate(entry["regions"] or [_region({})]):
            said, shape, own = (json.dumps(each).replace('"', '""') for each in (
                entry["file_attributes"], region["shape_attributes"], region["region_attributes"]))  # fmt: skip
            lines.append(f'{entry["filename"]},12,"{said}",{len(entry["regions"])},{number},"{shape}","{own}"')
    return "\r\n".join(lines) + "\r\n"


@pytest.mark.parametrize("variant", ["project", "plain", "first version", "csv", "old csv"])
@pytest.mark.few(2)
def test_via_as_project_plain_and_csv(imported, tmp_path, variant):
    entries = _via(VIA_SHAPES)
    if variant == "first version":
        for entry in entries.values():
            entry |= {"fileref": "", "regions": {str(k): region for k, region in enumerate(entry["regions"])}}
    project = {"_via_settings": {}, "_via_img_metadata": entries, "_via_attributes": {"region": {}}}
    is_csv = "csv" in variant
    content = _via_csv(entries, "#filename" if variant == "old csv" else "filename") if is_csv else entries
    content = project if variant == "project" else content
    path = written(tmp_path / f"via.{'csv' if is_csv else 'json'}", content)
    dataset, summary = imported({"alice": path}, ["1.jpg", "2.jpg", "3.jpg"], size=PIXELS, **SHAPES)
    sample = dataset.first()
    box = sample.alice_detections.detections[0]
    assert (box.bounding_box, box.label, box.seen) == ([0.1, 0.25, 0.25, 0.5], "cat", "left, right")
    polygon, _, ellipse, line = sample.alice_polylines.polylines
    assert (polygon.label, polygon.points) == ("dog", [[[0.1, 0.25], [0.35, 0.25], [0.35, 0.75]]])
    low, high = (end(np.array(ellipse.points[0]) * [40, 20], axis=0) for end in (np.min, np.max))
    assert high - low == pytest.approx([5, 10])  # turned by a quarter
    assert (line.closed, sample.alice_keypoints.keypoints[0].points) == (False, [[0.2, 0.2]])
    assert [value and len(value.polylines) for value in dataset.values("alice_polylines")] == [4, 0, None]
    for said in ("Not used of images: file_attributes.quality (2)", "The class of regions is their attribute 'name'",
                 "1 images have no region: they count as looked at"):  # fmt: skip
        assert said in said_by(summary)
    assert "caption" not in said_by(summary)


KINDS = [fo.types.YOLOv5Dataset, fo.types.VOCDetectionDataset, fo.types.KITTIDetectionDataset]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.few(2)
def test_what_fiftyone_exports_is_read_with_its_importers_and_by_ours(imported, tmp_path, kind):
    names, is_kitti = ["1.png", "2.png", "3.png"], kind is fo.types.KITTIDetectionDataset
    folder = images_in(tmp_path / "images", names)
    paths = {"ann": tmp_path / "ann", "bob": tmp_path / "bob"}
    for path, box in zip(paths.values(), ([0.25, 0.25, 0.5, 0.5], [0.25, 0.25, 0.5, 0.25]), strict=True):
        source = dataset_of(names[:2], str(folder))  # nobody looked at the third, and nothing is drawn on the second
        lists = [fo.Detections(detections=[fo.Detection(label="cat", bounding_box=box)]), fo.Detections()]
        source.set_values("gt", lists)
        options = {"classes": ["cat"]} if kind is fo.types.YOLOv5Dataset else {}
        source.export(str(path), dataset_type=kind, label_field="gt", progress=False, **options)
    dataset, before = dataset_of(names, str(folder)), fo.list_datasets()
    _, summary = imported(paths, dataset, format=kind, **({"match": "stem"} if is_kitti else {}))
    assert set(fo.list_datasets()) - {dataset.name} == set(before) - {dataset.name}
    assert [(each.name, each.n_images, each.n_empty) for each in summary.annotators] == [("ann", 2, 1), ("bob", 2, 1)]
    report = run_of(dataset, summary)
    assert (report.n_rated, report.score.mean) == (2, pytest.approx(0.5))
    assert boxes_of(dataset, "ann") == [[("cat", 0.25, 0.25, 0.5, 0.5)], [], None]
    if not is_kitti:  # which we do not read
        imported(paths, dataset, prefix="own_")
        assert [boxes_of(dataset, f"own_{name}") for name in paths] == [boxes_of(dataset, name) for name in paths]


def test_annotators_may_have_files_of_different_tools_and_a_folder_of_several_the_one_that_is_named(imported, tmp_path):
    voc, yolo = _voc(objects=_object((4, 5, 14, 15), more=COLOR)), "0 0.5 0.5 0.5 0.5 0.75"
    labelme = _labelme(_shape("rectangle", (4, 5), (14, 15)))
    files_in(tmp_path, {"alice/1.xml": voc, "alice/1.txt": yolo, "bob/1.json": labelme})
    dataset, alice = sized(["1.jpg"]), {"alice": tmp_path / "alice"}
    for format in ("voc", "yolo"):
        imported(alice, dataset, format=format, prefix=f"{format}_")
    box, other = (dataset.first()[f"{format}_alice"].detections[0] for format in ("voc", "yolo"))
    assert (box.color, box.difficult, box.truncated, other.confidence) == ("red", True, False, 0.75)
    assert boxes_of(dataset, "voc_alice") == [[WHOLE]]
    assert boxes_of(dataset, "yolo_alice") == [[("0", *DOG[1:])]]
    (tmp_path / "alice" / "1.txt").unlink()
    _, summary = imported(_both(tmp_path), dataset)
    assert summary.format == "Pascal VOC and LabelMe JSON"
    assert boxes_of(dataset) == boxes_of(dataset, "bob")
    table = written(tmp_path / "t.csv", "image,annotator,label\n1.jpg,ann,x\n")
    imported.refuses(r"must be LabelMe JSON .* looks like|got none", alice, dataset, format="labelme")
    message = r"`no_labels` concerns formats with a file for each image, got a lo"
    imported.refuses(message, table, dataset, no_labels="drew_nothing")
    imported.refuses(r"`no_labels` must be one of", alice, dataset, no_labels="maybe")
