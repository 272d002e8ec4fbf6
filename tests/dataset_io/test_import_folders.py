"""A folder of files for each annotator: YOLO, Pascal VOC, LabelMe and VIA, as the tools write them."""

from __future__ import annotations

import json
import math
import re
import shutil
import unicodedata

import fiftyone as fo
import numpy as np
import pytest

from tests.dataset_io.annotation_samples import dataset_of, images_in, written

import annotator_agreement as aa
from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import import_annotations

pytestmark = pytest.mark.usefixtures("delete_imports")

#: images of the samples are 40 x 20 pixels
SIZE = fo.ImageMetadata(width=40, height=20)


def _sized(names, folder="/images"):
    dataset = dataset_of(names, folder)
    dataset.set_values("metadata", [SIZE] * len(dataset))
    return dataset


def _boxes(dataset, field="alice"):
    return [value and [(box.label, *np.round(box.bounding_box, 9).tolist()) for box in value.detections]
            for value in dataset.values(field)]  # fmt: skip


def _said(summary):
    return "\n".join((*summary.left_out, *summary.notes))


# ----------------------------------------------------------------------------------------------------------------- YOLO


def test_yolo_of_labelimg_has_classes_beside_the_labels(tmp_path):
    # LabelImg: classes.txt among the labels, Windows line ends, six digits
    for name, line in {"alice": "1 0.500000 0.500000 0.500000 0.500000\r\n", "bob": "0 0.25 0.5 0.5 1\r\n"}.items():
        written(tmp_path / name / "classes.txt", "cat\r\ndog\r\n")
        (tmp_path / name / "1.txt").write_bytes(line.encode())
        (tmp_path / name / "2.txt").write_bytes(b"")
    written(tmp_path / "alice" / "3.txt", "\ufeff\n0 0.1 0.2 0.2 0.4 0.75\n")
    dataset = dataset_of(["1.jpg", "2.png", "3.jpg", "4.jpg"])
    summary = import_annotations(dataset, {name: tmp_path / name for name in ("alice", "bob")})
    assert summary.format == "YOLO"
    assert _boxes(dataset) == [[("dog", 0.25, 0.25, 0.5, 0.5)], [], [("cat", 0.0, 0.0, 0.2, 0.4)], None]
    assert _boxes(dataset, "bob") == [[("cat", 0.0, 0.0, 0.5, 1.0)], [], None, None]
    assert dataset.last().alice is None
    assert dataset.skip(2).first().alice.detections[0].confidence == 0.75
    assert "Images without a file of an annotator (bob: 1) count as not looked at" in _said(summary)
    report = eval(summary.calls[0], {"aa": aa, "dataset": dataset})
    # 0.25 of 0.75 is shared on the only image with labels of both; both left the second empty
    assert (report.n_rated, report.score.mean) == (2, 0.0)


def test_yolo_of_ultralytics_and_roboflow(tmp_path):
    # Roboflow: splits, data.yaml with a list, README; Ultralytics: a mapping, segments, the confidence at the end
    yaml = "train: ../train/images\nval: ../valid/images\n\nnc: 2\nnames: ['cat', 'dog']\nroboflow:\n  version: 1\n"
    written(tmp_path / "alice" / "data.yaml", yaml)
    written(tmp_path / "alice" / "README.roboflow.txt", "Provided by a Roboflow user\n")
    written(tmp_path / "alice" / "train" / "labels" / "1_jpg.rf.0a1b.txt", "0 0.1 0.2 0.6 0.2 0.6 0.8\n")
    written(tmp_path / "alice" / "valid" / "labels" / "1.txt", "1 0 0 1 0 1 1 0 1 0.9")
    written(tmp_path / "bob" / "data.yaml", "path: x\ntrain: images/train\nnames:\n  0: cat\n  1: dog\n")
    written(tmp_path / "bob" / "labels" / "train" / "1_jpg.rf.0a1b.txt", "0 0.1 0.2 0.6 0.2 0.6 0.8\n")
    dataset = dataset_of(["1_jpg.rf.0a1b.jpg", "1.jpg"])
    summary = import_annotations(dataset, {"alice": tmp_path / "alice", "bob": tmp_path / "bob"})
    first, second = (sample.alice.polylines[0] for sample in dataset)
    assert (first.label, first.points, first.closed) == ("cat", [[[0.1, 0.2], [0.6, 0.2], [0.6, 0.8]]], True)
    assert (second.label, len(second.points[0]), second.confidence) == ("dog", 4, 0.9)
    assert dataset.first().bob.polylines[0].points == first.points
    assert dataset.last().bob is None
    assert eval(summary.calls[0], {"aa": aa, "dataset": dataset}).score.mean == 1.0


def test_yolo_of_cvat_and_of_label_studio(tmp_path):
    cvat = tmp_path / "alice"
    written(cvat / "obj.names", "cat\ndog\n")
    written(cvat / "obj.data", "classes = 2\nnames = data/obj.names\ntrain = data/train.txt\n")
    written(cvat / "train.txt", "data/obj_train_data/cam/1.jpg\ndata/obj_train_data/2.jpg\n")
    written(cvat / "obj_train_data" / "cam" / "1.txt", "1 0.5 0.5 0.5 0.5")
    written(cvat / "obj_train_data" / "2.txt", "")
    written(tmp_path / "bob" / "notes.json", {"categories": [{"id": 0, "name": "cat"}], "info": {"version": "1.0"}})
    written(tmp_path / "bob" / "classes.txt", "cat\ndog")
    written(tmp_path / "bob" / "labels" / "1.txt", "1 0.5 0.5 0.5 0.5")
    dataset = dataset_of(["cam/1.jpg", "2.jpg"])
    import_annotations(dataset, {"alice": cvat, "bob": tmp_path / "bob"})
    assert _boxes(dataset) == [[("dog", 0.25, 0.25, 0.5, 0.5)], []]
    assert _boxes(dataset, "bob") == [[("dog", 0.25, 0.25, 0.5, 0.5)], None]


def test_yolo_poses_have_a_box_and_keypoints(tmp_path):
    written(tmp_path / "alice" / "data.yaml", "kpt_shape: [2, 3]\nnames: {0: person}\n")
    written(tmp_path / "alice" / "labels" / "1.txt", "0 0.5 0.5 0.5 0.5 0.3 0.4 2 0 0 0\n")
    dataset = dataset_of(["1.jpg"])
    types = ["detections", "keypoints"]
    import_annotations(dataset, {"alice": tmp_path / "alice"}, label_types=types)
    (person,) = dataset.first().alice_keypoints.keypoints
    assert person.points[0] == [0.3, 0.4]
    assert np.isnan(person.points[1]).all()
    assert dataset.first().alice_detections.detections[0].bounding_box == [0.25, 0.25, 0.5, 0.5]


def test_yolo_without_names_has_numbers_as_classes_but_not_beside_names(tmp_path):
    for name in ("alice", "bob"):
        written(tmp_path / name / "1.txt", "3 0.5 0.5 0.5 0.5")
    dataset = dataset_of(["1.jpg"])
    paths = {name: tmp_path / name for name in ("alice", "bob")}
    summary = import_annotations(dataset, paths, preview=True)
    assert "Classes are called by their numbers" in _said(summary)
    written(tmp_path / "bob" / "classes.txt", "a\nb\nc\nd")
    with pytest.raises(AgreementInputError, match=r"must have names, or none, got folders of YOLO with and without"):
        import_annotations(dataset, paths)
    written(tmp_path / "classes.txt", "a\nb\nc\nd")  # beside the folders of both
    (tmp_path / "bob" / "classes.txt").unlink()
    import_annotations(dataset, paths)
    assert _boxes(dataset) == [[("d", 0.25, 0.25, 0.5, 0.5)]]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("0 0.5 0.5 0.5", r"line 2: a box has 4 numbers and a polygon 6 or more, got 3"),
        ("0.5 0.5 0.5 0.5 0.5", r"line 2: the class must be a whole number, got 0.5"),
        ("0 0.5 0.5 -0.5 0.5", r"line 2: width and height must be at least 0"),
        ("0 20 10 5 5", r"line 2: coordinates must be shares of the image"),
        ("0 0.5 0.5 0.5 0.5 7", r"line 2: the last number must be a confidence in \[0, 1\], got 7"),
        ("cat 0.5 0.5 0.5 0.5", r"line 2: could not convert string to float: 'cat'"),
        ("0 nan 0.5 0.5 0.5", r"line 2: coordinates must be shares of the image"),
        ("0 0,5 0,5 0,5 0,5", r"line 2: could not convert"),
    ],
)
@pytest.mark.few(2)
def test_a_line_that_cannot_be_read_is_no_empty_image(tmp_path, line, why):
    written(tmp_path / "alice" / "sub" / "1.txt", f"\n{line}\n")
    written(tmp_path / "alice" / "2.txt", f"0 0.5 0.5 0.5 0.5\n{line}\n")
    written(tmp_path / "alice" / "3.txt", "")
    dataset = dataset_of(["1.jpg", "2.jpg", "3.jpg"])
    paths = {"alice": tmp_path / "alice"}
    for options in ({}, {"no_labels": "drew_nothing", "overwrite": True}):
        summary = import_annotations(dataset, paths, **options)
        assert _boxes(dataset) == [None, [("0", 0.25, 0.25, 0.5, 0.5)], []]
        assert re.search(f"lines that cannot be read: 2 .*sub/1.txt, {why}", _said(summary))


def test_contradictions_of_yolo_are_refused(tmp_path):
    written(tmp_path / "alice" / "labels" / "1.txt", "0 0.5 0.5 0.5 0.5\n2 0.5 0.5 0.5 0.5")
    dataset = dataset_of(["1.jpg", "b/1.jpg"])
    written(tmp_path / "alice" / "classes.txt", "cat\ndog\n")
    with pytest.raises(AgreementInputError, match=r"among the 2 of '.*classes.txt', got 2 in line 2 of 'labels/1.txt'"):
        import_annotations(dataset, {"alice": tmp_path / "alice"})
    written(tmp_path / "alice" / "data.yaml", "names: [dog, cat]")
    with pytest.raises(AgreementInputError, match=r"must have one list of classes, got others in .* than in"):
        import_annotations(dataset, {"alice": tmp_path / "alice"})
    (tmp_path / "alice" / "classes.txt").unlink()
    for text, message in [("names: [a]\nnc: 3", "got 1 names, and nc: 3"), ("names: [a", "must hold the classes"),
                          ("names: [a, b, c]", r"must mean one sample each, got 1.txt \(2 files\)")]:  # fmt: skip
        written(tmp_path / "alice" / "data.yaml", text)
        with pytest.raises(AgreementInputError, match=message):
            import_annotations(dataset, {"alice": tmp_path / "alice"})
    with pytest.raises(AgreementInputError, match=r"YOLO does not say who drew what: .* in which there are labels"):
        import_annotations(dataset, tmp_path / "alice")
    kitti = written(tmp_path / "k" / "1.txt", "Car 0.00 0 -1.57 599 156 629 189 2.8 1.4 1.5 1 1 1 1").parent
    with pytest.raises(AgreementInputError, match=r"annotations of images, got YOLO without any|none of 1|cannot be"):
        import_annotations(dataset_of(["2.jpg"]), {"alice": kitti})


@pytest.mark.parametrize("with_media_dir", [True, False])
def test_images_without_a_file_count_as_looked_at_if_one_says_so(tmp_path, with_media_dir):
    for name in ("alice", "bob"):
        folder = tmp_path / "media" if with_media_dir else tmp_path / name / "images"
        images_in(folder, ["1.png", "2.png", "3.png"])
        written(tmp_path / name / "labels" / "1.txt", "0 0.5 0.5 0.5 0.5")
    written(tmp_path / "bob" / "labels" / "2.txt", "0 0.5 0.5 0.5 0.5")
    paths = {name: tmp_path / name for name in ("alice", "bob")}
    media = {"media_dir": tmp_path / "media"} if with_media_dir else {}
    dataset = dataset_of([])
    summary = import_annotations(dataset, paths, **media)
    assert [value and len(value.detections) for value in dataset.sort_by("filepath").values("alice")] == [1, None]
    assert 'alice: 1) count as not looked at; if nothing was drawn there, say `no_labels="drew_nothing"`' in _said(
        summary
    )
    whole = dataset_of([])
    summary = import_annotations(whole, paths, no_labels="drew_nothing", **media)
    found = [[len(value.detections) for value in whole.sort_by("filepath").values(name)] for name in paths]
    assert found == [[1, 0, 0], [1, 1, 0]]
    assert "(alice: 2, bob: 1) count as looked at, with nothing drawn" in _said(summary)
    assert (whole.first().metadata.width, summary.n_new) == (40, 3)


# ------------------------------------------------------------------------------------------------------------------ VOC


def _voc(name="1.jpg", objects="", folder="images", path="C:\\photos\\1.jpg", size=(40, 20), more=""):
    """As LabelImg writes it, with tabs and Windows line ends."""
    return f"""<annotation>
	<folder>{folder}</folder>
	<filename>{name}</filename>
	<path>{path}</path>
	<source>
		<database>Unknown</database>
	</source>
	<size>
		<width>{size[0]}</width>
		<height>{size[1]}</height>
		<depth>3</depth>
	</size>
	<segmented>0</segmented>{more}
{objects}</annotation>
""".replace("\n", "\r\n")


def _object(box, name="cat", more=""):
    sides = "".join(
        f"<{side}>{value}</{side}>" for side, value in zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True)
    )
    return f"""	<object>
		<name>{name}</name>
		<pose>Unspecified</pose>
		<truncated>0</truncated>
		<difficult>1</difficult>
		<bndbox>{sides}</bndbox>{more}
	</object>
"""


def test_voc_anywhere_below_a_folder(tmp_path):
    written(tmp_path / "alice" / "Annotations" / "deep" / "1.xml", _voc(objects=_object((4, 5, 14, 15))))
    written(tmp_path / "alice" / "2.xml", _voc("2.jpg"))
    written(tmp_path / "alice" / "ImageSets" / "Main" / "train.txt", "1\n2\n")
    written(tmp_path / "alice" / "labelmap.txt", "# label:color_rgb:parts:actions\ncat:128,0,0::\n")
    # CVAT: decimals, attributes, no pose
    more = "<attributes><attribute><name>color</name><value>red</value></attribute></attributes>"
    written(
        tmp_path / "bob" / "1.xml", "\ufeff" + _voc(objects=_object((4.0, 5.0, 14.0, 10.0), "dog", more), size=(0, 0))
    )
    dataset = _sized(["1.jpg", "2.jpg", "3.jpg"])
    summary = import_annotations(dataset, {"alice": tmp_path / "alice", "bob": tmp_path / "bob"})
    assert summary.format == "Pascal VOC"
    assert _boxes(dataset) == [[("cat", 0.1, 0.25, 0.25, 0.5)], [], None]
    assert _boxes(dataset, "bob") == [[("dog", 0.1, 0.25, 0.25, 0.25)], None, None]
    (box,) = dataset.first().bob.detections
    assert (box.color, box.difficult, box.truncated) == ("red", True, False)
    assert summary.left_out == ()


def test_same_file_names_in_folders_of_voc_are_told_apart_by_path(tmp_path):
    for camera, box in {"cam1": (0, 0, 20, 10), "cam2": (20, 10, 40, 20)}.items():
        written(tmp_path / "alice" / "Annotations" / camera / "1.xml", _voc(objects=_object(box), folder=camera))
    dataset = _sized(["cam1/1.jpg", "cam2/1.jpg"])
    with pytest.raises(AgreementInputError, match=r"must mean one sample each, got cam1/1.jpg \(2 files\)"):
        import_annotations(dataset, {"alice": tmp_path / "alice"})
    import_annotations(dataset, {"alice": tmp_path / "alice"}, match="path")
    assert _boxes(dataset) == [[("cat", 0.0, 0.0, 0.5, 0.5)], [("cat", 0.5, 0.5, 0.5, 0.5)]]
    labels = tmp_path / "bob" / "train" / "labels"
    written(labels / "1.txt", "0 0.5 0.5 0.5 0.5")
    images = dataset_of(["train/images/1.jpg", "valid/images/1.jpg"])
    import_annotations(images, {"bob": tmp_path / "bob"}, match="path")
    assert [value and len(value.detections) for value in images.values("bob")] == [1, None]


def test_polygons_and_other_parts_of_voc(tmp_path):
    flat = "<polygon><x1>4</x1><y1>5</y1><x2>14</x2><y2>5</y2><x3>14</x3><y3>15</y3></polygon>"
    corners = "".join(f"<pt><x>{x}</x><y>{y}</y></pt>" for x, y in ((4, 5), (14, 5), (9, 9)))
    points = f"<polygon><username>x</username>{corners}</polygon>"
    person = "<part><name>head</name><bndbox><xmin>5</xmin></bndbox></part>"
    old = f"<object><name>dog</name><deleted>0</deleted>{points}</object><object><deleted>1</deleted></object>"
    written(tmp_path / "alice" / "1.xml", _voc(objects=_object((4, 5, 14, 15), more=flat + person) + old))
    dataset = _sized(["1.jpg"])
    summary = import_annotations(dataset, {"alice": tmp_path / "alice"}, label_types="polylines")
    first, second = dataset.first().alice.polylines
    assert first.points == [[[0.1, 0.25], [0.35, 0.25], [0.35, 0.75]]]
    assert (second.label, second.points[0][2]) == ("dog", [9 / 40, 9 / 20])
    assert "values of `part`, which are not read: 1 (1.xml)" in _said(summary)
    assert "objects that are marked as deleted: 1" in _said(summary)


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        (_object((14, 5, 4, 15)), "object 2: xmax and ymax must not be below xmin and ymin"),
        (_object(("a", 5, 4, 15)), "object 2: could not convert string to float: 'a'"),
        ("<object><name>x</name></object>", "object 2: there must be a `bndbox` or a `polygon`"),
        ("<object><robndbox><cx>3</cx></robndbox></object>", "object 2: there must be"),
    ],
)
@pytest.mark.few(2)
def test_an_object_of_voc_that_cannot_be_read(tmp_path, objects, why):
    written(tmp_path / "alice" / "1.xml", _voc(objects=_object((4, 5, 14, 15)) + objects))
    written(tmp_path / "alice" / "2.xml", _voc("2.jpg"))
    dataset = _sized(["1.jpg", "2.jpg"])
    summary = import_annotations(dataset, {"alice": tmp_path / "alice"})
    assert _boxes(dataset) == [[("cat", 0.1, 0.25, 0.25, 0.5)], []]
    assert why in _said(summary)


def test_two_files_for_one_image_are_refused(tmp_path):
    for name in ("1.xml", "copy of 1.xml"):
        written(tmp_path / "alice" / name, _voc())
    with pytest.raises(AgreementInputError, match=r"got more than one of 'alice' for '1.jpg'"):
        import_annotations(_sized(["1.jpg"]), {"alice": tmp_path / "alice"})
    written(tmp_path / "bob" / "sub" / "1.xml", _voc().replace("</annotation>", ""))
    with pytest.raises(AgreementInputError, match=r"'sub/1.xml' must be XML, got an error in line 1"):
        import_annotations(_sized(["1.jpg"]), {"bob": tmp_path / "bob"})


# -------------------------------------------------------------------------------------------------------------- LabelMe


def _labelme(*shapes, name="..\\photos\\1.jpg", **more):
    return {"version": "5.2.1", "flags": {}, "shapes": list(shapes), "imagePath": name, "imageData": None,
            "imageHeight": 20, "imageWidth": 40, **more}  # fmt: skip


def _shape(kind, *points, label="cat", **more):
    return {"label": label, "points": [list(point) for point in points], "group_id": None, "description": "",
            "shape_type": kind, "flags": {}, "mask": None, **more}  # fmt: skip


def test_every_shape_of_labelme(tmp_path):
    shapes = [
        _shape("rectangle", (14, 15), (4, 5), flags={"blurred": True}),
        _shape("polygon", (4, 5), (14, 5), (14, 15)),
        _shape("circle", (20, 10), (23, 14)),
        _shape("line", (0, 0), (40, 20), label="lane"),
        _shape("linestrip", (0, 0), (20, 20), (40, 0), label="lane"),
        _shape("point", (8, 4), label="eye"),
    ]
    content = _labelme(*shapes, flags={"night": True, "rain": False}, imageData="aGk=")
    written(tmp_path / "alice" / "1.json", content)
    written(tmp_path / "alice" / "2.json", {**_labelme(name="2.jpg"), "flags": None})
    dataset = dataset_of(["1.jpg", "2.jpg"])
    types = ["detections", "polylines", "keypoints"]
    summary = import_annotations(dataset, {"alice": tmp_path / "alice"}, label_types=types)
    sample = dataset.first()
    boxes = sample.alice_detections.detections
    assert boxes[0].bounding_box == [0.1, 0.25, 0.25, 0.5]
    polygon, circle, line, strip = sample.alice_polylines.polylines
    assert [shape.closed for shape in (polygon, circle, line, strip)] == [True, True, False, False]
    distances = [math.dist((x * 40, y * 20), (20, 10)) for x, y in circle.points[0]]
    assert distances == pytest.approx([5.0] * len(distances))
    assert strip.points == [[[0, 0], [0.5, 1], [1, 0]]]
    assert sample.alice_keypoints.keypoints[0].points == [[0.2, 0.2]]
    assert dataset.last().alice_polylines.polylines == []
    assert (sample.metadata.width, sample.metadata.height) == (40, 20)
    for line in ("the flag 'blurred', which is not read: 1 (1.json)", "the flag 'night', which is not read: 1",
                 "copies of the images in the files (`imageData`), which are not read: 1"):  # fmt: skip
        assert line in _said(summary)
    assert "rain" not in _said(summary)


def test_polygons_of_a_group_of_labelme_are_one_label(tmp_path):
    shapes = [_shape("polygon", (0, 0), (10, 0), (10, 10), group_id=1),
              _shape("polygon", (20, 0), (30, 0), (30, 10), group_id=1),
              _shape("polygon", (20, 10), (30, 10), (30, 20), group_id=2),
              _shape("polygon", (0, 10), (10, 10), (10, 20), label="dog", group_id=1)]  # fmt: skip
    written(tmp_path / "alice" / "1.json", _labelme(*shapes))
    dataset = dataset_of(["1.jpg"])
    import_annotations(dataset, {"alice": tmp_path / "alice"})
    assert [(label.label, len(label.points), label.group_id) for label in dataset.first().alice.polylines] == [
        ("cat", 2, 1), ("cat", 1, 2), ("dog", 1, 1)]  # fmt: skip


def test_a_shape_of_labelme_that_cannot_be_read(tmp_path):
    written(
        tmp_path / "alice" / "1.json", _labelme(_shape("rectangle", (0, 0), (5, 5)), _shape("mask", (0, 0), (5, 5)))
    )
    written(tmp_path / "alice" / "2.json", _labelme(_shape("polygon", (0, 0), (5, 5)), name="2.jpg"))
    written(tmp_path / "alice" / "3.json", _labelme(name="3.jpg", checked=True))
    dataset = dataset_of(["1.jpg", "2.jpg", "3.jpg"])
    summary = import_annotations(dataset, {"alice": tmp_path / "alice"})
    assert _boxes(dataset) == [[("cat", 0.0, 0.0, 0.125, 0.25)], None, []]
    assert "shapes that cannot be read: 2 (1.json, shape 2: a shape of the type 'mask' with 2 points" in _said(summary)
    assert "values of `checked`, which are not read: 1 (3.json)" in _said(summary)
    written(tmp_path / "alice" / "4.json", {"shapes": None, "imagePath": "1.jpg"})
    with pytest.raises(AgreementInputError, match=r"'4.json' must be as the tool writes it"):
        import_annotations(dataset, {"alice": tmp_path / "alice"})


# ------------------------------------------------------------------------------------------------------------------ VIA


def _region(shape, **attributes):
    return {"shape_attributes": shape, "region_attributes": attributes}


VIA_SHAPES = [
    _region(
        {"name": "rect", "x": 4, "y": 5, "width": 10, "height": 10}, name="cat", seen={"left": True, "right": True}
    ),
    _region({"name": "polygon", "all_points_x": [4, 14, 14], "all_points_y": [5, 5, 15]}, name="dog"),
    _region({"name": "circle", "cx": 20, "cy": 10, "r": 5}, name="cat"),
    _region({"name": "ellipse", "cx": 20, "cy": 10, "rx": 5, "ry": 2.5, "theta": math.pi / 2}, name="cat"),
    _region({"name": "polyline", "all_points_x": [0, 40], "all_points_y": [0, 20]}, name="lane"),
    _region({"name": "point", "cx": 8, "cy": 4}, name="eye"),
]


def _via(regions=VIA_SHAPES):
    images = [("1.jpg", regions), ("2.jpg", [])]
    said = {"caption": "", "quality": "good"}
    return {
        f"{name}12": {"filename": name, "size": 12, "regions": own, "file_attributes": said} for name, own in images
    }


def _via_csv(entries, first="filename"):
    """As VIA 2 writes it: cells of JSON with doubled quotes."""
    lines = [f"{first},file_size,file_attributes,region_count,region_id,region_shape_attributes,region_attributes"]
    for entry in entries.values():
        for number, region in enumerate(entry["regions"] or [_region({})]):
            cells = [json.dumps(each).replace('"', '""') for each in (
                entry["file_attributes"], region["shape_attributes"], region["region_attributes"])]  # fmt: skip
            lines.append(
                f'{entry["filename"]},12,"{cells[0]}",{len(entry["regions"])},{number},"{cells[1]}","{cells[2]}"'
            )
    return "\r\n".join(lines) + "\r\n"


@pytest.mark.parametrize("variant", ["project", "plain", "first version", "csv", "old csv"])
@pytest.mark.few(2)
def test_via_as_project_plain_and_csv(tmp_path, variant):
    entries = _via()
    if variant == "first version":
        for entry in entries.values():
            entry |= {"fileref": "", "regions": {str(k): region for k, region in enumerate(entry["regions"])}}
    content = (
        {"_via_settings": {}, "_via_img_metadata": entries, "_via_attributes": {"region": {}}}
        if variant == "project"
        else entries
    )
    is_csv = "csv" in variant
    text = _via_csv(entries, "#filename" if variant == "old csv" else "filename") if is_csv else json.dumps(content)
    path = written(tmp_path / f"via.{'csv' if is_csv else 'json'}", text)
    dataset = _sized(["1.jpg", "2.jpg", "3.jpg"])
    types = ["detections", "polylines", "keypoints"]
    summary = import_annotations(dataset, {"alice": path}, label_types=types)
    sample = dataset.first()
    assert sample.alice_detections.detections[0].bounding_box == [0.1, 0.25, 0.25, 0.5]
    assert (sample.alice_detections.detections[0].label, sample.alice_detections.detections[0].seen) == (
        "cat",
        "left, right",
    )
    polygon, _, ellipse, line = sample.alice_polylines.polylines
    assert (polygon.label, polygon.points) == ("dog", [[[0.1, 0.25], [0.35, 0.25], [0.35, 0.75]]])
    low, high = (end(np.array(ellipse.points[0]) * [40, 20], axis=0) for end in (np.min, np.max))
    assert high - low == pytest.approx([5, 10])  # turned by a quarter
    assert (line.closed, sample.alice_keypoints.keypoints[0].points) == (False, [[0.2, 0.2]])
    assert [value and len(value.polylines) for value in dataset.values("alice_polylines")] == [4, 0, None]
    assert "values of `file_attributes: quality`, which are not read: 2 (1.jpg, 2.jpg)" in _said(summary)
    assert "caption" not in _said(summary)
    assert "1 images have no region: they count as looked at" in _said(summary)
    assert "The class of regions is their attribute 'name'" in _said(summary)


def test_the_class_of_via_is_asked_for_where_it_is_not_clear(tmp_path):
    regions = [_region({"name": "rect", "x": 4, "y": 5, "width": 10, "height": 10}, species="cat", colour="red")]
    path = written(tmp_path / "via.json", _via(regions))
    dataset = _sized(["1.jpg", "2.jpg"])
    with pytest.raises(
        AgreementInputError, match=r"must be their class, got 'species', 'colour'; say .*columns=\{\"label\""
    ):
        import_annotations(dataset, {"alice": path})
    with pytest.raises(AgreementInputError, match=r"must be one of their attributes .* got 'kind'"):
        import_annotations(dataset, {"alice": path}, columns={"label": "kind"})
    import_annotations(dataset, {"alice": path}, columns={"label": "species"})
    assert (dataset.first().alice.detections[0].label, dataset.first().alice.detections[0].colour) == ("cat", "red")
    with pytest.raises(AgreementInputError, match=r"VIA\) does not say who drew what: give the folder or file of each"):
        import_annotations(dataset, path)


def test_a_region_of_via_that_cannot_be_read(tmp_path):
    path = written(tmp_path / "via.json", _via([_region({"name": "cube"}, name="cat")]))
    dataset = _sized(["1.jpg", "2.jpg"])
    summary = import_annotations(dataset, {"alice": path})
    assert _boxes(dataset) == [None, []]
    assert "1.jpg, region 1: a shape of the type 'cube'" in _said(summary)


# ------------------------------------------------------------------------------------------------------------- together


def test_what_fiftyone_exports_is_read_as_fiftyone_reads_it(tmp_path):
    names = ["1.png", "2.png"]
    folder = images_in(tmp_path / "images", names)
    source = dataset_of(names, str(folder))
    lists = [
        fo.Detections(detections=[fo.Detection(label="cat", bounding_box=[0.25, 0.25, 0.5, 0.5])]),
        fo.Detections(),
    ]
    source.set_values("gt", lists)
    for kind, name in ((fo.types.YOLOv5Dataset, "yolo"), (fo.types.VOCDetectionDataset, "voc")):
        options = {"classes": ["cat"]} if name == "yolo" else {}
        source.export(str(tmp_path / name), dataset_type=kind, label_field="gt", progress=False, **options)
        own, theirs = dataset_of(names, str(folder)), dataset_of(names, str(folder))
        import_annotations(own, {"alice": tmp_path / name})
        import_annotations(theirs, {"alice": tmp_path / name}, format=kind)
        assert _boxes(own) == _boxes(theirs) == [[("cat", 0.25, 0.25, 0.5, 0.5)], []]


def test_annotators_may_have_files_of_different_tools(tmp_path):
    written(tmp_path / "alice" / "1.xml", _voc(objects=_object((4, 5, 14, 15))))
    written(tmp_path / "bob" / "1.json", _labelme(_shape("rectangle", (4, 5), (14, 15))))
    dataset = _sized(["1.jpg"])
    summary = import_annotations(dataset, {"alice": tmp_path / "alice", "bob": tmp_path / "bob"})
    assert summary.format == "Pascal VOC and LabelMe JSON"
    assert _boxes(dataset) == _boxes(dataset, "bob")
    table = written(tmp_path / "t.csv", "image,annotator,label\n1.jpg,ann,x\n")
    with pytest.raises(AgreementInputError, match=r"`no_labels` concerns formats with a file for each image, got a lo"):
        import_annotations(dataset, table, no_labels="drew_nothing")
    with pytest.raises(AgreementInputError, match=r"`no_labels` must be one of"):
        import_annotations(dataset, {"alice": tmp_path / "alice"}, no_labels="maybe")


def test_a_folder_of_several_formats_is_read_as_the_one_that_is_named(tmp_path):
    folder = tmp_path / "alice"
    written(folder / "1.xml", _voc(objects=_object((4, 5, 14, 15))))
    written(folder / "1.txt", "0 0.5 0.5 0.5 0.5")
    dataset = _sized(["1.jpg"])
    with pytest.raises(AgreementInputError, match=r"files of one format .* got XML, a text .* say which with `format`"):
        import_annotations(dataset, {"alice": folder})
    import_annotations(dataset, {"alice": folder}, format="voc", prefix="voc_")
    import_annotations(dataset, {"alice": folder}, format="yolo", prefix="yolo_")
    assert _boxes(dataset, "voc_alice") == [[("cat", 0.1, 0.25, 0.25, 0.5)]]
    assert _boxes(dataset, "yolo_alice") == [[("0", 0.25, 0.25, 0.5, 0.5)]]
    with pytest.raises(AgreementInputError, match=r"must be LabelMe JSON .* looks like|got none"):
        import_annotations(dataset, {"alice": folder}, format="labelme")


def test_names_of_images_are_compared_in_one_unicode_form(tmp_path):
    name = "größe.jpg"
    folder = tmp_path / "alice"
    written(folder / f"{unicodedata.normalize('NFD', 'größe')}.txt", "0 0.5 0.5 0.5 0.5")
    dataset = dataset_of([unicodedata.normalize("NFC", name)])
    import_annotations(dataset, {"alice": folder})
    assert len(dataset.first().alice.detections) == 1
    shutil.rmtree(folder)
