"""Tables and CVAT's XML as other tools and spreadsheets write them: coordinates, spellings, encodings, key frames."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import shapely
from PIL import Image
from shapely.affinity import rotate

from tests.dataset_io.annotation_samples import boxes_of, coco, dataset_of, run_of, said_by, sized, written

pytestmark = pytest.mark.usefixtures("delete_imports")

SIZE = WIDTH, HEIGHT = 200, 100


def _table(**columns):
    return pd.DataFrame({"image": ["1.jpg"], "annotator": ["ann"], "label": ["cat"], **columns})


def _pixels(dataset):
    """The boxes of ann on the first image, in pixels."""
    label = dataset.first().ann
    return label and [np.multiply(box.bounding_box, [WIDTH, HEIGHT] * 2).tolist() for box in label.detections]


#: columns of a table, and the one box that they say
BOXES = [
    ({"x_center": [0.5], "y_center": [0.5], "width": [0.25], "height": [0.4]}, [75, 30, 50, 40]),
    ({"xc": ["100,5"], "yc": ["50,0"], "w": [50], "h": [40]}, [75.5, 30, 50, 40]),
    # a comma before three digits is decimal beside one that must be
    ({"x": ["20,125"], "y": ["10,250"], "w": ["50,5"], "h": [40], "confidence": "1,000"}, [20.125, 10.25, 50.5, 40]),
    ({"bbox": ["[150, 20, 20, 40]"]}, [150, 20, 20, 40]),
    ({"bbox": ["[150 20 20 40]"]}, [150, 20, 20, 40]),
    ({"bbox": ["[100, 20, 150, 60]"], "image_width": [WIDTH], "image_height": [HEIGHT]}, [100, 20, 50, 40]),
    ({"xyxy": [[100, 20, 150, 60]]}, [100, 20, 50, 40]),
    ({"bbox_xywh": ["100,20,50,40"]}, [100, 20, 50, 40]),
    ({"box": ["[[150, 60], [100, 20]]"]}, [100, 20, 50, 40]),
    ({"xmin": [10], "ymin": [20], "xmax": [40], "ymax": [60], "width": [30], "height": [40]}, [10, 20, 30, 40]),
    ({"xmin": [20], "ymin": [20], "xmax": [120], "ymax": [90], "width": [200], "height": [100]}, [20, 20, 100, 70]),
    ({"xmin": [0.1], "ymin": [0.2], "xmax": [0.6], "ymax": [0.9], "width": [200]}, [20, 20, 100, 70]),
    ({"x": [20], "y": [20], "w": [100], "h": [70], "image_width": [200], "image_height": 100}, [20, 20, 100, 70]),
]
#: four numbers of which two readings are possible: the meaning of their column, and the box
EITHER = [("boxes_xyxy", [10, 20, 20, 20]), ("boxes_xywh", [10, 20, 30, 40])]
CONTRADICTIONS = [
    ({"bbox": ["[10, 20, 30, 40]"]}, r"two corners or a corner and a size, got some that may be either; say.*xywh"),
    ({"x_min": [1], "y_min": [2]}, r"must be those of a box .* got 'x_min', 'y_min'; name what"),
    ({"x_center": [0.5], "bbox_w": [0.1]}, r"look like coordinates"),
    ({"x": [1], "y": [2], "w": [3], "h": [4], "angle": [30]}, r"must be upright, got other values than 0 in 'angle'"),
    ({"xmin": [10], "ymin": [20], "xmax": [40], "ymax": [60], "width": [20], "height": [20]},
     r"'width' beside corners must be the size of the image, got corners beyond it in 1 of 1 rows"),
    ({"image": "1.jpg", "annotator": ["a", "b"], "label": "cat", "x": [0.1, 20], "y": [0.1, 10], "w": [0.5, 100],
      "h": [0.5, 50]}, r"one unit, got shares of the image of 'a', and pixels of 'b'"),
]  # fmt: skip


def test_boxes_are_read_however_columns_say_them_and_contradictions_are_refused(imported):
    for columns, expected in BOXES:
        dataset, _ = imported(_table(**columns), size=SIZE)
        assert _pixels(dataset) == [pytest.approx(expected)], columns
    for meaning, expected in EITHER:
        dataset, _ = imported(_table(bbox=["[10, 20, 30, 40]"]), size=SIZE, columns={meaning: "bbox"})
        assert _pixels(dataset) == [pytest.approx(expected)], meaning
    for columns, message in CONTRADICTIONS:
        table = pd.DataFrame(columns) if "image" in columns else _table(**columns)
        imported.refuses(message, table, size=SIZE)
    dataset, _ = imported(_table(x=[20], y=[50]), size=SIZE)  # points in columns are keypoints
    assert dataset.first().ann.keypoints[0].points == [[0.1, 0.5]]


POLYGONS = ["10,10 60,10 60,60", "10,10;60,10;60,60", "POLYGON ((10 10, 60 10, 60 60, 10 10))", "10 10 60 10 60 60",
            "10,0 10,0;60,0 10,0;60,0 60,0", "[[10. 10.]\n [60. 10.]\n [60. 60.]]", "10 10, 60 10, 60 60",
            "[{}]".format("10, 10, 60, 10, 60, 60"), "MULTIPOLYGON (((10 10, 60 10, 60 60, 10 10)))"]  # fmt: skip
NO_POLYGONS = ["[1 2 3 4]", "10,10 60,10 60", "10,5 20,5 60,5 20,5", "somewhere", "POINT (1 2)", "{}"]


def test_polygons_are_read_however_they_are_spelt_and_other_rows_are_null_and_counted_once(imported):
    names = [f"{k}.jpg" for k in range(len(POLYGONS))]
    table = pd.DataFrame({"image": names, "annotator": "ann", "label": "cat", "polygon": POLYGONS})
    dataset, _ = imported(table, names, size=SIZE)
    for text, label in zip(POLYGONS, dataset.values("ann"), strict=True):
        assert [each.points for each in label.polylines] == [[[[0.05, 0.1], [0.3, 0.1], [0.3, 0.6]]]], text
    for text in NO_POLYGONS:
        table = pd.concat([_table(polygon=[text]), _table(polygon=[None]).assign(image="2.jpg")])
        dataset, summary = imported(table, ["1.jpg", "2.jpg"], size=SIZE, label_types="polylines")
        assert [label and label.polylines for label in dataset.values("ann")] == [None, []], text
        assert (summary.annotators[0].n_empty, summary.annotators[0].n_unread) == (1, 1)
        assert summary.left_out == ("rows whose coordinates cannot be read: 1 (row 1)",)
        assert any(note.startswith("1 rows say that nothing was found") for note in summary.notes)


def test_columns_that_are_not_used_are_said(imported):
    _, summary = imported(_table(site=["x"]), size=SIZE)
    assert "Not used of rows: site (1)" in summary.notes
    _, summary = imported(_table(xmin=[1], ymin=[2], xmax=[3], ymax=[4], cx=[2]), size=SIZE)
    assert any("look like coordinates, beside those that are read: cx" in note for note in summary.notes)
    dates = _table(x=[1], y=[2], w=[3], h=[4]).assign(seen=pd.Timestamp("2026-01-02"), confidence="high")
    dataset, _ = imported(dates, size=SIZE)
    box = dataset.first().ann.detections[0]
    assert box.seen == "2026-01-02T00:00:00"
    assert (box.get_attribute_value("confidence", None) or box.to_dict().get("attribute_confidence")) == "high"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@pytest.mark.few(3)
def test_spreadsheets_write_tables_in_their_own_way(imported, tmp_path, encoding):
    for separator in (",", ";", "\t", "|"):
        decimal = "," if separator == ";" else "."
        rows = [["image", "annotator", "label", "x", "y", "w", "h"],
                ["1.jpg", "Zoë", "Käfer", f"20{decimal}5", "10", f"50{decimal}0", "40"]]  # fmt: skip
        text = ("sep=;\r\n" if separator == ";" else "") + "".join(separator.join(row) + "\r\n" for row in rows)
        path = tmp_path / "t.csv"
        path.write_bytes(text.encode(encoding))
        dataset, summary = imported(path, size=SIZE)
        box = dataset.first()["Zoë"].detections[0]
        assert (box.label, box.bounding_box) == ("Käfer", pytest.approx([20.5 / 200, 0.1, 0.25, 0.4]))
        is_usual = separator == "," and encoding.startswith("utf-8")
        assert any("The table is read with" in note for note in summary.notes) != is_usual


def test_numbers_with_decimal_commas_are_numbers_and_json_may_be_in_another_encoding(imported, tmp_path):
    table = pd.DataFrame({"image": ["1.jpg", "2.jpg"], "annotator": "ann"})
    for ratings, values in ((["3,5", "4"], [3.5, 4.0]), (["1,250", "2,5"], [1.25, 2.5])):
        dataset, _ = imported(table.assign(rating=ratings), ["1.jpg", "2.jpg"])
        assert dataset.values("ann.value") == values
    _, summary = imported(_table(x=["20,125"], y=[10], w=[50], h=[40]), size=SIZE)  # or 20 thousand?
    assert "cannot be read (a comma before three digits may separate thousands): 1 (row 1)" in said_by(summary)
    content = coco(["1.jpg"], [{"bbox": [0, 0, 10, 10], "rater_id": "Zoë"}])
    (tmp_path / "c.json").write_bytes(json.dumps(content, ensure_ascii=False).encode("utf-16"))
    dataset, _ = imported(tmp_path / "c.json")
    assert len(dataset.first()["Zoë"].detections) == 1


@pytest.mark.parametrize("known", [True, False])
def test_sizes_before_an_image_was_turned_are_noticed(imported, tmp_path, known):
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    Image.new("RGB", (40, 20)).save(tmp_path / "1.jpg", exif=exif)  # shown as 20 x 40
    dataset = dataset_of(["1.jpg"], str(tmp_path))
    if known:
        dataset.compute_metadata()
    entries = [{"bbox": [5, 10, 10, 24], "rater_id": name} for name in ("ann", "bob")]
    _, summary = imported(coco(["1.jpg"], entries), dataset)  # says 40 x 20
    assert dataset.first().ann.detections[0].bounding_box == [0.25, 0.25, 0.5, 0.6]
    assert (dataset.first().metadata.width, dataset.first().metadata.height) == (20, 40)
    assert any("before turning (EXIF)" in note for note in summary.notes)
    if known:  # coordinates that only the image before turning can hold
        entries = [{**entry, "bbox": [25, 5, 10, 10]} for entry in entries]
        _, summary = imported(coco(["1.jpg"], entries), dataset, prefix="b_")
        assert dataset.first().b_ann is None
        assert any("before it was turned" in line for line in summary.left_out)
        # one image tells it of all, of bob, who drew nothing on it, too
        Image.new("RGB", (40, 20)).save(tmp_path / "2.jpg", exif=exif)
        dataset = sized(["1.jpg", "2.jpg"], str(tmp_path), size=(20, 40))
        small = [{"bbox": [5, 10, 10, 8], "rater_id": name, "image_id": 1} for name in ("ann", "bob")]
        imported(coco(["1.jpg", "2.jpg"], [entries[0], *small]), dataset)
        assert (dataset.values("ann"), dataset.values("bob.detections")) == ([None, None], [[], None])


def _video(shapes):
    meta = """<meta><job><mode>interpolation</mode><start_frame>0</start_frame><stop_frame>4</stop_frame><original_size>
<width>200</width><height>100</height></original_size></job><source>v.mp4</source></meta>"""
    return f'<annotations>{meta}<track id="0" label="car">{shapes}</track></annotations>'


def _frames(imported, shape, first, last, name="polylines"):
    """The labels on frames 1 to 5 of a track with key frames 0 and 4."""
    content = _video(shape.format(0, *first) + shape.format(4, *last))
    dataset, summary = imported(content, ["v.mp4"], who="ann", label_types=name)
    return [value and value[name] for value in dataset.values("frames.ann")[0]], summary


def test_a_second_batch_of_tracks_goes_into_the_one_field_of_the_first(imported, tmp_path):
    path = written(tmp_path / "x.xml", _video('<box frame="0" outside="0" xtl="0" ytl="0" xbr="9" ybr="9"/>'))
    dataset, _ = imported({"ann": path, "bob": path}, ["v.mp4"], into="attribute")
    imported({"bob": path, "cid": path}, dataset, into="attribute", overwrite=True)
    assert dataset.values("annotations_assigned") == [["ann", "bob", "cid"]]
    owners = dataset.values("frames.annotations.detections.annotator")
    assert owners == [[["ann", "bob", "cid"], [], [], [], []]]


def test_shapes_move_between_key_frames_boxes_turn_the_shorter_way_and_nothing_is_invented(imported):
    box = '<box frame="{}" outside="0" xtl="80" ytl="40" xbr="120" ybr="60" rotation="{}"/>'
    frames, _ = _frames(imported, box, [350], [10])
    for angle, (label,) in zip((350, 355, 0, 5, 10), frames, strict=True):
        drawn = shapely.Polygon(np.array(label.points[0]) * [200, 100])
        expected = rotate(shapely.box(80, 40, 120, 60), angle, origin="center")
        assert drawn.symmetric_difference(expected).area < 1e-6
    ellipse = '<ellipse frame="{}" outside="0" cx="{}" cy="50" rx="{}" ry="10"/>'
    frames, _ = _frames(imported, ellipse, [50, 10], [90, 30])
    places = [np.array(label.points[0]) * [200, 100] for (label,) in frames]
    assert [float(points.mean(axis=0)[0]) for points in places] == pytest.approx([50, 60, 70, 80, 90])
    assert [float(np.ptp(points[:, 0])) for points in places] == pytest.approx([20, 30, 40, 50, 60])
    skeleton = '<skeleton frame="{}" outside="0"><points label="a" outside="0" points="{},10.0"/></skeleton>'
    frames, _ = _frames(imported, skeleton, [20], [60], "keypoints")
    assert [label.points[0][0] for (label,) in frames] == pytest.approx([0.1, 0.15, 0.2, 0.25, 0.3])
    polygon = '<polygon frame="{}" outside="0" points="{}"/>'
    frames, summary = _frames(imported, polygon, ["0,0;10,0;10,10"], ["0,0;10,0;10,10;0,10"])
    assert [found and len(found) for found in frames] == [1, None, None, None, 1]
    assert any("different numbers of points: 3" in line for line in summary.left_out)


def test_cuboids_of_cvat_alone_are_null_and_what_is_not_used_is_said(imported):
    shapes = ('<cuboid label="car" occluded="0" xtl1="1" z_order="0"/>',
              '<box label="car" xtl="1" ytl="1" xbr="9" ybr="9" z_order="0" source="manual"/>', "")  # fmt: skip
    images = [f'<image id="{k}" name="{k}.jpg" width="200" height="100">{each}</image>'
              for k, each in enumerate(shapes)]  # fmt: skip
    content = f"<annotations>{''.join(images)}</annotations>"
    dataset, summary = imported(content, ["0.jpg", "1.jpg", "2.jpg"], who="ann")
    assert [label and len(label.detections) for label in dataset.values("ann")] == [None, 1, 0]
    assert any(note.startswith("Not used of shapes: ") and "source (1)" in note for note in summary.notes)


OTHER_TOOLS = {
    "labelbox.ndjson": ({"data_row": {"id": 1}, "projects": {}}, r"Labelbox's export; export COCO"),
    "v7.json": ({"version": "2.0", "item": {"name": "1.jpg"}, "annotations": []}, r"V7 Darwin JSON; export COCO"),
    "supervisely.json": ({"description": "", "size": {"height": 1}, "objects": []}, r"Supervisely's JSON; export COCO"),
    "qupath.geojson.json": ({"type": "FeatureCollection", "features": []}, r"GeoJSON \(as of QuPath\); export COCO"),
    "prodigy.jsonl": ({"_input_hash": 1, "spans": [], "image": "1.jpg"}, r"Prodigy's JSON; export COCO"),
    "zooniverse.csv": ('classification_id,user_name,workflow_id,metadata,annotations,subject_data,subject_ids\n'
                       '7,ann,1,{},"[{""task"": ""T0"", ""value"": ""cat""}]",{},9\n',
                       r"Zooniverse's export of classifications; make a long table of it: a row for each answer"),
}  # fmt: skip


def test_files_of_tools_that_are_not_read_say_what_to_give_instead(imported, tmp_path):
    dataset = dataset_of(["1.jpg"])
    for name, (content, message) in OTHER_TOOLS.items():
        imported.refuses(f"got what looks like {message}", written(tmp_path / name, content), dataset)


# ---- answers of crowds: a column for each annotator, results of MTurk, and the files of SageMaker Ground Truth ----


def _answers(dataset, field, of="label"):
    return [value and getattr(value, of) for value in dataset.values(field)]


def test_a_column_for_each_annotator(imported, tmp_path):
    text = "\ufeffimage,alice,bob,carol\r\n1.jpg,cat,cat,dog\r\n2.jpg,dog,,dog\r\n3.jpg,cat,dog,cat\r\n"
    dataset, summary = imported(written(tmp_path / "w.csv", text), ["1.jpg", "2.jpg", "3.jpg"])
    assert summary.format == "a wide table"
    assert [_answers(dataset, name) for name in ("alice", "bob", "carol")] == [
        ["cat", "dog", "cat"], ["cat", None, "dog"], ["dog", "dog", "cat"]]  # fmt: skip
    assert dataset.values("bob")[1] is None  # not assigned
    assert "A column is read as an annotator: alice, bob, carol; an empty cell means not assigned" in said_by(summary)
    # of the 3 + 1 + 3 pairs on the three images 1 + 1 + 1 are equal
    assert run_of(dataset, summary).score.mean == pytest.approx((1 / 3 + 1 + 1 / 3) / 3)
    long = "image,annotator,label\n1.jpg,alice,None\n1.jpg,bob,cat\n2.jpg,alice,cat\n2.jpg,bob,None\n"
    for text in ("image,alice,bob\n1.jpg,None,cat\n2.jpg,cat,None\n3.jpg,cat,cat\n", long):
        dataset, _ = imported(written(tmp_path / "n.csv", text), ["1.jpg", "2.jpg", "3.jpg"])
        assert (_answers(dataset, "alice")[:2], _answers(dataset, "bob")[:2]) == (["None", "cat"], ["cat", "None"])
    for style in ("{}_label", "{}.label", "label_{}", "label {}"):
        one, two = (style.format(who) for who in ("rater1", "rater2"))
        table = pd.DataFrame({"filename": ["1.jpg", "2.jpg"], one: ["x", "y"], two: ["x", None], "note": ["a", "b"]})
        dataset, summary = imported(table, ["1.jpg", "2.jpg"])
        assert [entry.name for entry in summary.annotators] == ["rater1", "rater2"], style
        assert (_answers(dataset, "rater1"), _answers(dataset, "rater2")) == (["x", "y"], ["x", None])


def test_boxes_in_columns_of_each_annotator(imported):
    table = pd.DataFrame({"image": ["1.jpg"], "image_width": [40], "image_height": [20]})
    for who, x in {"a": 4, "b": 8}.items():
        own = {"x": x, "y": 5, "width": 10, "height": 10, "label": "cat"}
        table = table.assign(**{f"{who}_{name}": value for name, value in own.items()})
    dataset, _ = imported(table)
    assert [boxes_of(dataset, who) for who in "ab"] == [[[("cat", x, 0.25, 0.25, 0.5)]] for x in (0.1, 0.2)]


def test_numbers_and_true_and_false_in_columns_and_columns_that_may_be_something_else(imported):
    dataset = dataset_of(["1.jpg", "2.jpg"])
    table = pd.DataFrame({"image": ["1.jpg", "2.jpg"], "ann": [1, 2], "bob": [1, None]})
    _, summary = imported(table, dataset, prefix="n_")
    assert (_answers(dataset, "n_ann", "value"), _answers(dataset, "n_bob", "value")) == ([1.0, 2.0], [1.0, None])
    assert "columns={\"label\": ['ann', 'bob']} reads them as classes" in said_by(summary)
    imported(table, dataset, prefix="c_", columns={"label": ["ann", "bob"]})
    assert (_answers(dataset, "c_ann"), _answers(dataset, "c_bob")) == (["1", "2"], ["1", None])
    imported(table.assign(ann=[True, False], bob=True), dataset, prefix="t_")
    assert _answers(dataset, "t_ann") == ["True", "False"]
    table = table.assign(ann=["x", "y"], bob="x", remark=["dark", "blurred"])
    imported.refuses(r"must have a column for the label, .*or one for each annotator", table, dataset)
    message = r"must name columns of the table .* got 'bop' for the annotators"
    imported.refuses(message, table, dataset, columns={"label": ["ann", "bop"]})
    imported(table, dataset, columns={"label": ["ann", "bob"]})
    assert _answers(dataset, "bob") == ["x", "x"]
    imported.refuses(r"must have a column for the annotator", table.rename(columns={"ann": "label"}), dataset)


def _mturk(folder, *answers, image="Input.image_url", **more):
    """A batch as MTurk's website writes it, of workers, images and what they answered; every cell is quoted."""
    rows = [
        {"HITId": f"H{name}", "AssignmentId": f"A{k}", "WorkerId": who, "AssignmentStatus": "Approved",
         image: f"https://bucket.s3.amazonaws.com/photos/{name}?versionId=3", **answer, "Approve": "", **more}
        for k, (who, name, answer) in enumerate(answers)
    ]  # fmt: skip
    path = folder / "Batch_3998716_batch_results.csv"
    pd.DataFrame(rows).to_csv(path, index=False, quoting=1, lineterminator="\r\n")
    return path


def _boxes_answer(*boxes, **more):
    keys = ("height", "label", "left", "top", "width")
    text = json.dumps([dict(zip(keys, box, strict=True)) for box in boxes], separators=(",", ":"))
    return {"Answer.annotatedResult.boundingBoxes": text, **more}


def test_boxes_of_mturk(imported, tmp_path):
    size = {"Answer.annotatedResult.inputImageProperties.height": 20,
            "Answer.annotatedResult.inputImageProperties.width": 40}  # fmt: skip
    narrow, wide = (_boxes_answer((10, "cat", 4, 5, width), **size) for width in (10, 20))
    path = _mturk(tmp_path, ("A1", "1.jpg", narrow), ("A2", "1.jpg", wide), ("A1", "2.jpg", _boxes_answer(**size)))
    dataset, summary = imported(path, ["1.jpg", "2.jpg"])
    assert summary.format == "MTurk results"
    assert dataset.values("A1.detections.bounding_box") == [[[0.1, 0.25, 0.25, 0.5]], []]
    assert [value and len(value.detections) for value in dataset.values("A2")] == [1, None]
    assert run_of(dataset, summary).score.mean == pytest.approx(0.5)


def test_answers_of_other_forms_of_mturk(imported, tmp_path):
    path = _mturk(
        tmp_path,
        ("A1", "1.jpg", {"Answer.category.label": "cat", "Answer.sure.yes": "true", "Answer.sure.no": "false"}),
        ("A2", "1.jpg", {"Answer.taskAnswers": '[{"category":{"label":"dog"},"sure":{"yes":false,"no":true}}]'}),
        ("A3", "1.jpg", {"Answer.category.label": "cat", "Answer.alive.on": "true"}),
        ("A4", "1.jpg", {"Answer.category.label": "cat", "Answer.alive.on": "false"}),
    )
    dataset, _ = imported(path)
    assert [_answers(dataset, f"{who}_alive") for who in ("A3", "A4")] == [["on"], ["off"]]
    assert [_answers(dataset, f"{who}_category") for who in ("A1", "A2", "A3")] == [["cat"], ["dog"], ["cat"]]
    assert [_answers(dataset, f"{who}_sure") for who in ("A1", "A2")] == [["yes"], ["no"]]
    polygons = json.dumps([{"label": "cat", "vertices": [{"x": 4, "y": 5}, {"x": 14, "y": 5}, {"x": 14, "y": 15}]}])
    answer = {"Answer.annotatedResult.polygons": polygons}
    shapes, _ = imported(_mturk(tmp_path, ("A1", "1.jpg", answer)), size=(40, 20))
    assert shapes.first().A1.polylines[0].points == [[[0.1, 0.25], [0.35, 0.25], [0.35, 0.75]]]


def test_what_of_mturk_is_left_out_or_asked(imported, tmp_path):
    answer, broken = _boxes_answer((10, "cat", 4, 5, 10)), {"Answer.annotatedResult.boundingBoxes": '[{"left": 3'}
    one, two = ("A1", "1.jpg", answer), ("A2", "1.jpg", answer)
    dataset = sized(["1.jpg"])
    _, summary = imported(_mturk(tmp_path, one, ("A2", "1.jpg", broken)), dataset)
    assert dataset.values("A2") == [None]
    assert "boundingBoxes that cannot be read: 1 (row 3" in said_by(summary)
    rejected = _mturk(tmp_path, one, AssignmentStatus="Rejected")
    imported.refuses(r"must hold annotations of images", rejected, dataset)
    path = _mturk(tmp_path, one, image="Input.left", **{"Input.right": "x"})
    message = r"must be the image, got Input.left, Input.right; say which with columns"
    imported.refuses(message, path, dataset, overwrite=True)
    imported(path, dataset, overwrite=True, columns={"image": "Input.left"})
    imported.refuses(r"more than one of 'A1'", _mturk(tmp_path, one, one), dataset, overwrite=True)
    message = r"must be that annotator's alone, got 'eve' for a file of A1, A2"
    imported.refuses(message, _mturk(tmp_path, one, two), dataset, who="eve")


def _answer(*boxes):
    drawn = [{"height": 10, "label": "cat", "left": left, "top": 5, "width": 10} for left in boxes]
    return {"boundingBox": {"boundingBoxes": drawn, "inputImageProperties": {"height": 20, "width": 40}}}


LEFT, RIGHT = ("cat", 0.1, 0.25, 0.25, 0.5), ("cat", 0.2, 0.25, 0.25, 0.5)


def _request(*answers):
    """A request for consolidation: what workers say of every image."""
    return [
        {"datasetObjectId": str(k), "dataObject": {"s3Uri": f"s3://bucket/in/{k}.jpg"}, "annotations": [
            {"workerId": who, "annotationData": {"content": json.dumps(said)}} for who, said in own]}
        for k, own in enumerate(answers, 1)
    ]  # fmt: skip


def test_the_request_for_consolidation_of_sagemaker(imported):
    content = _request([("w1", _answer(4)), ("w2", _answer())], [("w1", _answer(4, 8))])
    dataset, summary = imported(content, ["1.jpg", "2.jpg"])
    assert summary.format == "SageMaker Ground Truth"
    assert (boxes_of(dataset, "w1"), boxes_of(dataset, "w2")) == ([[LEFT], [LEFT, RIGHT]], [[], None])
    content[0]["annotations"][0]["annotationData"]["content"] = "no JSON"
    other, summary = imported(content, ["1.jpg", "2.jpg"])
    assert other.values("w1")[0] is None
    assert "answers without a content that can be read: 1" in said_by(summary)


def test_a_question_with_any_number_of_answers_may_have_none(imported, tmp_path):
    def asked(first, second):
        return _request(*([("w1", {"defects": one}), ("w2", {"defects": two})] for one, two in (first, second)))

    names, none = ["1.jpg", "2.jpg"], {"labels": []}
    dent, scratch = {"labels": ["dent"]}, {"labels": ["scratch"]}
    dataset, summary = imported(asked((scratch, none), (dent, dent)), names)
    assert [None if each is None else len(each.classifications) for each in dataset.values("w2")] == [0, 1]
    assert run_of(dataset, summary).n_rated == 2
    ticked, not_ticked = ({"dent": value, "scratch": False} for value in (True, False))
    for k, entry in enumerate(asked((ticked, ticked), (ticked, not_ticked))):  # of files, only the second has none
        written(tmp_path / "request" / f"{k}.json", [entry])
    dataset, _ = imported(tmp_path / "request", names)
    assert [len(each.classifications) for each in dataset.values("w2")] == [1, 0]
    dataset, _ = imported(asked((none, none), (none, none)), names)
    assert [len(each.classifications) for who in ("w1", "w2") for each in dataset.values(who)] == [0] * 4


def test_responses_of_workers_of_sagemaker_have_their_images_in_the_manifest(imported, tmp_path):
    source = tmp_path / "my-job" / "annotations" / "worker-response"
    for number, answers in enumerate(({"w1": [4], "w2": []}, {"w1": [8]})):
        responses = [{"acceptanceTime": "2020-05-13T19:50:29Z", "answerContent": _answer(*boxes), "workerId": who,
                      "submissionTime": "2020-05-13T19:50:55Z", "timeSpentInSeconds": 2.5}
                     for who, boxes in answers.items()]  # fmt: skip
        written(source / "iteration-1" / str(number) / "2020-05-13_19-51-04.json", {"answers": responses})
    dataset = dataset_of(["1.jpg", "2.jpg"])
    imported.refuses(r"must lie in the folders of their SageMaker job, with its output", source, dataset)
    lines = [json.dumps({"source-ref": f"s3://bucket/{name}"}) for name in ("2.jpg", "1.jpg")]
    manifest = written(tmp_path / "my-job" / "manifests" / "output" / "output.manifest", "\n".join(lines) + "\n")
    imported(source, dataset)
    assert (boxes_of(dataset, "w1"), boxes_of(dataset, "w2")) == ([[RIGHT], [LEFT]], [None, []])
    message = r"those of workers, got .* a manifest .*annotations/worker-resp"
    for path in (manifest, written(tmp_path / "a.ndjson", lines[0]), written(tmp_path / "b.json", "\r\n".join(lines))):
        imported.refuses(message, path, dataset)
