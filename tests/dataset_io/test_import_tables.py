"""Tables and CVAT's XML as other tools and spreadsheets write them: coordinates, spellings, encodings, key frames."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import shapely
from PIL import Image
from shapely.affinity import rotate

from tests.dataset_io.annotation_samples import boxes_of, coco, dataset_of, said_by, sized, written

import annotator_agreement as aa
from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import import_annotations

pytestmark = pytest.mark.usefixtures("delete_imports")

WIDTH, HEIGHT = 200, 100


def _dataset(*names):
    return sized(names or ["1.jpg"], size=(WIDTH, HEIGHT))


def _table(**columns):
    return pd.DataFrame({"image": ["1.jpg"], "annotator": ["ann"], "label": ["cat"], **columns})


def _boxes(table, **options):
    """The boxes in pixels, and the summary."""
    dataset = _dataset()
    summary = import_annotations(dataset, table, **options)
    label = dataset.first().ann
    boxes = label and [np.multiply(box.bounding_box, [WIDTH, HEIGHT] * 2).tolist() for box in label.detections]
    return boxes, summary


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"x_center": [0.5], "y_center": [0.5], "width": [0.25], "height": [0.4]}, [75, 30, 50, 40]),
        ({"xc": ["100,5"], "yc": ["50,0"], "w": [50], "h": [40]}, [75.5, 30, 50, 40]),
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
    ],
)
@pytest.mark.few(2)
def test_boxes_are_read_however_columns_say_them(columns, expected):
    boxes, _ = _boxes(_table(**columns))
    assert boxes == [pytest.approx(expected)]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"bbox": ["[10, 20, 30, 40]"]}, r"two corners or a corner and a size, got some that may be either; say.*xywh"),
        ({"x_min": [1], "y_min": [2]}, r"must be those of a box .* got 'x_min', 'y_min'; name what"),
        ({"x_center": [0.5], "bbox_w": [0.1]}, r"look like coordinates"),
        (
            {"x": [1], "y": [2], "w": [3], "h": [4], "angle": [30]},
            r"must be upright, got other values than 0 in 'angle'",
        ),
        (
            {"xmin": [10], "ymin": [20], "xmax": [40], "ymax": [60], "width": [20], "height": [20]},
            r"'width' beside corners must be the size of the image, got corners beyond it in 1 of 1 rows",
        ),
    ],
)
def test_what_contradicts_the_reading_of_a_table_is_refused(columns, message):
    with pytest.raises(AgreementInputError, match=message):
        import_annotations(_dataset(), _table(**columns))


def test_four_numbers_that_may_be_both_are_read_as_one_says():
    table = _table(bbox=["[10, 20, 30, 40]"])
    assert _boxes(table, columns={"boxes_xyxy": "bbox"})[0] == [pytest.approx([10, 20, 20, 20])]
    assert _boxes(table, columns={"boxes_xywh": "bbox"})[0] == [pytest.approx([10, 20, 30, 40])]


def test_shares_of_one_and_pixels_of_another_are_refused():
    table = pd.DataFrame({"image": "1.jpg", "annotator": ["a", "b"], "label": "cat",
                          "x": [0.1, 20], "y": [0.1, 10], "w": [0.5, 100], "h": [0.5, 50]})  # fmt: skip
    with pytest.raises(AgreementInputError, match=r"one unit, got shares of the image of 'a', and pixels of 'b'"):
        import_annotations(_dataset(), table)


POLYGONS = ["10,10 60,10 60,60", "10,10;60,10;60,60", "POLYGON ((10 10, 60 10, 60 60, 10 10))", "10 10 60 10 60 60",
            "10,0 10,0;60,0 10,0;60,0 60,0", "[[10. 10.]\n [60. 10.]\n [60. 60.]]", "10 10, 60 10, 60 60",
            "[{}]".format("10, 10, 60, 10, 60, 60"), "MULTIPOLYGON (((10 10, 60 10, 60 60, 10 10)))"]  # fmt: skip


@pytest.mark.parametrize("text", POLYGONS)
@pytest.mark.few(2)
def test_polygons_are_read_however_they_are_spelt(text):
    dataset = _dataset()
    import_annotations(dataset, _table(polygon=[text]))
    (label,) = dataset.first().ann.polylines
    assert label.points == [[[0.05, 0.1], [0.3, 0.1], [0.3, 0.6]]]


@pytest.mark.parametrize(
    "text", ["[1 2 3 4]", "10,10 60,10 60", "10,5 20,5 60,5 20,5", "somewhere", "POINT (1 2)", "{}"]
)
@pytest.mark.few(2)
def test_a_row_that_cannot_be_read_is_null_and_counted_once(text):
    dataset = _dataset("1.jpg", "2.jpg")
    table = pd.concat([_table(polygon=[text]), _table(polygon=[None]).assign(image="2.jpg")])
    summary = import_annotations(dataset, table, label_types="polylines")
    assert [label and label.polylines for label in dataset.values("ann")] == [None, []]
    assert (summary.annotators[0].n_empty, summary.annotators[0].n_unread) == (1, 1)
    assert summary.left_out == ("rows whose coordinates cannot be read: 1 (row 1)",)
    assert any(note.startswith("1 rows say that nothing was found") for note in summary.notes)


def test_columns_that_are_not_used_are_said(tmp_path):
    summary = import_annotations(_dataset(), _table(site=["x"]))
    assert "Not used of rows: site (1)" in summary.notes
    _, summary = _boxes(_table(xmin=[1], ymin=[2], xmax=[3], ymax=[4], cx=[2]))
    assert any("look like coordinates, beside those that are read: cx" in note for note in summary.notes)
    dates = _table(x=[1], y=[2], w=[3], h=[4]).assign(seen=pd.Timestamp("2026-01-02"), confidence="high")
    dataset = _dataset()
    import_annotations(dataset, dates)
    box = dataset.first().ann.detections[0]
    assert (box.seen, box.get_attribute_value("confidence", None) or box.to_dict().get("attribute_confidence")) == (
        "2026-01-02T00:00:00", "high",
    )  # fmt: skip


def test_points_in_columns_are_keypoints():
    dataset = _dataset()
    import_annotations(dataset, _table(x=[20], y=[50]))
    assert dataset.first().ann.keypoints[0].points == [[0.1, 0.5]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.few(3)
def test_spreadsheets_write_tables_in_their_own_way(tmp_path, encoding, separator):
    decimal = "," if separator == ";" else "."
    rows = [["image", "annotator", "label", "x", "y", "w", "h"],
            ["1.jpg", "Zoë", "Käfer", f"20{decimal}5", "10", f"50{decimal}0", "40"]]  # fmt: skip
    text = "".join(separator.join(row) + "\r\n" for row in rows)
    path = tmp_path / "t.csv"
    path.write_bytes((("sep=;\r\n" if separator == ";" else "") + text).encode(encoding))
    dataset = _dataset()
    summary = import_annotations(dataset, path)
    box = dataset.first()["Zoë"].detections[0]
    assert (box.label, box.bounding_box) == ("Käfer", pytest.approx([20.5 / 200, 0.1, 0.25, 0.4]))
    assert any("The table is read with" in note for note in summary.notes) == (
        separator != "," or not encoding.startswith("utf-8")
    )


def test_numbers_with_decimal_commas_are_numbers():
    dataset = _dataset("1.jpg", "2.jpg")
    table = pd.DataFrame({"image": ["1.jpg", "2.jpg"], "annotator": "ann", "rating": ["3,5", "4"]})
    import_annotations(dataset, table)
    assert dataset.values("ann.value") == [3.5, 4.0]


@pytest.mark.parametrize("known", [True, False])
def test_sizes_before_an_image_was_turned_are_noticed(tmp_path, known):
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    Image.new("RGB", (40, 20)).save(tmp_path / "1.jpg", exif=exif)  # shown as 20 x 40
    dataset = dataset_of(["1.jpg"], str(tmp_path))
    if known:
        dataset.compute_metadata()
    entries = [{"image_id": 0, "bbox": [5, 10, 10, 24], "rater_id": name} for name in ("ann", "bob")]
    path = written(tmp_path / "c.json", coco([{"file_name": "1.jpg"}], entries))  # says 40 x 20
    summary = import_annotations(dataset, path)
    assert dataset.first().ann.detections[0].bounding_box == [0.25, 0.25, 0.5, 0.6]
    assert (dataset.first().metadata.width, dataset.first().metadata.height) == (20, 40)
    assert any("before turning (EXIF)" in note for note in summary.notes)
    if known:  # coordinates that only the image before turning can hold
        entries = [{**entry, "bbox": [25, 5, 10, 10]} for entry in entries]
        path = written(tmp_path / "d.json", coco([{"file_name": "1.jpg"}], entries))
        summary = import_annotations(dataset, path, prefix="b_")
        assert dataset.first().b_ann is None
        assert any("before it was turned" in line for line in summary.left_out)


def _video(tracks):
    meta = """<meta><job><mode>interpolation</mode><start_frame>0</start_frame><stop_frame>4</stop_frame><original_size>
<width>200</width><height>100</height></original_size></job><source>v.mp4</source></meta>"""
    return f"<annotations>{meta}{tracks}</annotations>"


def _shapes(tmp_path, shape, name="polylines"):
    """The labels on frames 1 to 5 of a track with key frames 0 and 4."""
    dataset = dataset_of(["v.mp4"])
    path = written(tmp_path / "x.xml", _video(f'<track id="0" label="car">{shape}</track>'))
    summary = import_annotations(dataset, {"ann": path}, label_types=name)
    return [value and value[name] for value in dataset.values("frames.ann")[0]], summary


def test_a_second_batch_of_tracks_goes_into_the_one_field_of_the_first(tmp_path):
    shape = '<box frame="0" outside="0" xtl="0" ytl="0" xbr="9" ybr="9"/>'
    path = written(tmp_path / "x.xml", _video(f'<track id="0" label="car">{shape}</track>'))
    dataset = dataset_of(["v.mp4"])
    import_annotations(dataset, {"ann": path, "bob": path}, into="attribute")
    import_annotations(dataset, {"bob": path, "cid": path}, into="attribute", overwrite=True)
    assert dataset.values("annotations_assigned") == [["ann", "bob", "cid"]]
    owners = dataset.values("frames.annotations.detections.annotator")
    assert owners == [[["ann", "bob", "cid"], [], [], [], []]]


def test_boxes_turn_the_shorter_way_between_key_frames(tmp_path):
    box = '<box frame="{}" outside="0" xtl="80" ytl="40" xbr="120" ybr="60" rotation="{}"/>'
    frames, _ = _shapes(tmp_path, box.format(0, 350) + box.format(4, 10))
    for angle, (label,) in zip((350, 355, 0, 5, 10), frames, strict=True):
        drawn = shapely.Polygon(np.array(label.points[0]) * [200, 100])
        expected = rotate(shapely.box(80, 40, 120, 60), angle, origin="center")
        assert drawn.symmetric_difference(expected).area < 1e-6


def test_ellipses_and_skeletons_move_between_key_frames(tmp_path):
    ellipse = '<ellipse frame="{}" outside="0" cx="{}" cy="50" rx="{}" ry="10"/>'
    frames, _ = _shapes(tmp_path, ellipse.format(0, 50, 10) + ellipse.format(4, 90, 30))
    places = [np.array(label.points[0]) * [200, 100] for (label,) in frames]
    assert [float(points.mean(axis=0)[0]) for points in places] == pytest.approx([50, 60, 70, 80, 90])
    assert [float(np.ptp(points[:, 0])) for points in places] == pytest.approx([20, 30, 40, 50, 60])
    skeleton = '<skeleton frame="{}" outside="0"><points label="a" outside="0" points="{},10.0"/></skeleton>'
    frames, _ = _shapes(tmp_path, skeleton.format(0, 20) + skeleton.format(4, 60), "keypoints")
    assert [label.points[0][0] for (label,) in frames] == pytest.approx([0.1, 0.15, 0.2, 0.25, 0.3])


def test_between_polygons_of_different_points_nothing_is_invented(tmp_path):
    polygon = '<polygon frame="{}" outside="0" points="{}"/>'
    shapes = polygon.format(0, "0,0;10,0;10,10") + polygon.format(4, "0,0;10,0;10,10;0,10")
    frames, summary = _shapes(tmp_path, shapes)
    assert [found and len(found) for found in frames] == [1, None, None, None, 1]
    assert any("different numbers of points: 3" in line for line in summary.left_out)


def test_cuboids_of_cvat_alone_are_null_and_what_is_not_used_is_said(tmp_path):
    shapes = '<cuboid label="car" occluded="0" xtl1="1" z_order="0"/>'
    box = '<box label="car" xtl="1" ytl="1" xbr="9" ybr="9" z_order="0" source="manual"/>'
    content = "<annotations>" + "".join(
        f'<image id="{k}" name="{k}.jpg" width="200" height="100">{each}</image>'
        for k, each in enumerate((shapes, box, ""))
    ) + "</annotations>"  # fmt: skip
    dataset = dataset_of(["0.jpg", "1.jpg", "2.jpg"])
    summary = import_annotations(dataset, {"ann": written(tmp_path / "x.xml", content)})
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


@pytest.mark.parametrize("name", OTHER_TOOLS)
def test_files_of_tools_that_are_not_read_say_what_to_give_instead(tmp_path, name):
    content, message = OTHER_TOOLS[name]
    with pytest.raises(AgreementInputError, match=f"got what looks like {message}"):
        import_annotations(_dataset(), written(tmp_path / name, content))


def test_json_in_another_encoding_is_read(tmp_path):
    content = json.dumps(coco([{"file_name": "1.jpg"}], [{"image_id": 0, "bbox": [0, 0, 10, 10], "rater_id": "Zoë"}]),
                         ensure_ascii=False)  # fmt: skip
    path = tmp_path / "c.json"
    path.write_bytes(content.encode("utf-16"))
    dataset = _dataset()
    import_annotations(dataset, path)
    assert len(dataset.first()["Zoë"].detections) == 1


# ---- answers of crowds: a column for each annotator, results of MTurk, and the files of SageMaker Ground Truth ----


def _answers(dataset, field, of="label"):
    return [value and getattr(value, of) for value in dataset.values(field)]


def test_a_column_for_each_annotator(tmp_path):
    text = "\ufeffimage,alice,bob,carol\r\n1.jpg,cat,cat,dog\r\n2.jpg,dog,,dog\r\n3.jpg,cat,dog,cat\r\n"
    dataset = dataset_of(["1.jpg", "2.jpg", "3.jpg"])
    summary = import_annotations(dataset, written(tmp_path / "w.csv", text))
    assert summary.format == "a wide table"
    assert [_answers(dataset, name) for name in ("alice", "bob", "carol")] == [
        ["cat", "dog", "cat"], ["cat", None, "dog"], ["dog", "dog", "cat"]]  # fmt: skip
    assert dataset.values("bob")[1] is None  # not assigned
    assert "A column is read as an annotator: alice, bob, carol; an empty cell means not assigned" in said_by(summary)
    report = eval(summary.calls[0], {"aa": aa, "dataset": dataset})
    # of the 3 + 1 + 3 pairs on the three images 1 + 1 + 1 are equal
    assert report.score.mean == pytest.approx((1 / 3 + 1 + 1 / 3) / 3)


@pytest.mark.parametrize("style", ["{}_label", "{}.label", "label_{}", "label {}"])
@pytest.mark.few(2)
def test_columns_with_the_annotator_in_their_name(style):
    names = [style.format(who) for who in ("rater1", "rater2")]
    table = pd.DataFrame(
        {"filename": ["1.jpg", "2.jpg"], names[0]: ["x", "y"], names[1]: ["x", None], "note": ["a", "b"]}
    )
    dataset = dataset_of(["1.jpg", "2.jpg"])
    summary = import_annotations(dataset, table)
    assert [entry.name for entry in summary.annotators] == ["rater1", "rater2"]
    assert (_answers(dataset, "rater1"), _answers(dataset, "rater2")) == (["x", "y"], ["x", None])


def test_boxes_in_columns_of_each_annotator():
    table = pd.DataFrame({"image": ["1.jpg"], "image_width": [40], "image_height": [20]})
    for who, x in {"a": 4, "b": 8}.items():
        own = {"x": x, "y": 5, "width": 10, "height": 10, "label": "cat"}
        table = table.assign(**{f"{who}_{name}": value for name, value in own.items()})
    dataset = dataset_of(["1.jpg"])
    import_annotations(dataset, table)
    assert [boxes_of(dataset, who) for who in "ab"] == [[[("cat", x, 0.25, 0.25, 0.5)]] for x in (0.1, 0.2)]


def test_numbers_and_true_and_false_in_columns():
    dataset = dataset_of(["1.jpg", "2.jpg"])
    table = pd.DataFrame({"image": ["1.jpg", "2.jpg"], "ann": [1, 2], "bob": [1, None]})
    summary = import_annotations(dataset, table, prefix="n_")
    assert (_answers(dataset, "n_ann", "value"), _answers(dataset, "n_bob", "value")) == ([1.0, 2.0], [1.0, None])
    assert "columns={\"label\": ['ann', 'bob']} reads them as classes" in said_by(summary)
    import_annotations(dataset, table, prefix="c_", columns={"label": ["ann", "bob"]})
    assert (_answers(dataset, "c_ann"), _answers(dataset, "c_bob")) == (["1", "2"], ["1", None])
    truth = pd.DataFrame({"image": ["1.jpg", "2.jpg"], "ann": [True, False], "bob": [True, True]})
    import_annotations(dataset, truth, prefix="t_")
    assert _answers(dataset, "t_ann") == ["True", "False"]


def test_columns_that_may_be_something_else_are_asked_for():
    table = pd.DataFrame(
        {"image": ["1.jpg", "2.jpg"], "ann": ["x", "y"], "bob": ["x", "x"], "remark": ["dark", "blurred"]}
    )
    dataset = dataset_of(["1.jpg", "2.jpg"])
    with pytest.raises(AgreementInputError, match=r"must have a column for the label, .*or one for each annotator"):
        import_annotations(dataset, table)
    with pytest.raises(AgreementInputError, match=r"must name columns of the table .* got 'bop' for the annotators"):
        import_annotations(dataset, table, columns={"label": ["ann", "bop"]})
    import_annotations(dataset, table, columns={"label": ["ann", "bob"]})
    assert _answers(dataset, "bob") == ["x", "x"]
    with pytest.raises(AgreementInputError, match=r"must have a column for the annotator"):
        import_annotations(dataset, table.rename(columns={"ann": "label"}))


def _mturk(tmp_path, answers, image="Input.image_url", **more):
    """A batch as MTurk's website writes it; every cell is quoted."""
    rows = [
        {"HITId": f"H{name}", "AssignmentId": f"A{k}", "WorkerId": who, "AssignmentStatus": "Approved",
         image: f"https://bucket.s3.amazonaws.com/photos/{name}?versionId=3", **answer, "Approve": "", **more}
        for k, (who, name, answer) in enumerate(answers)
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(
        tmp_path / "Batch_3998716_batch_results.csv", index=False, quoting=1, lineterminator="\r\n"
    )
    return tmp_path / "Batch_3998716_batch_results.csv"


def _boxes_answers(*boxes):
    keys = ("height", "label", "left", "top", "width")
    return json.dumps([dict(zip(keys, box, strict=True)) for box in boxes], separators=(",", ":"))


def test_boxes_of_mturk(tmp_path):
    size = {"Answer.annotatedResult.inputImageProperties.height": 20,
            "Answer.annotatedResult.inputImageProperties.width": 40}  # fmt: skip
    path = _mturk(tmp_path, [
        ("A1", "1.jpg", {"Answer.annotatedResult.boundingBoxes": _boxes_answers((10, "cat", 4, 5, 10)), **size}),
        ("A2", "1.jpg", {"Answer.annotatedResult.boundingBoxes": _boxes_answers((10, "cat", 4, 5, 20)), **size}),
        ("A1", "2.jpg", {"Answer.annotatedResult.boundingBoxes": "[]", **size}),
    ])  # fmt: skip
    dataset = dataset_of(["1.jpg", "2.jpg"])
    summary = import_annotations(dataset, path)
    assert summary.format == "MTurk results"
    assert dataset.values("A1.detections.bounding_box") == [[[0.1, 0.25, 0.25, 0.5]], []]
    assert [value and len(value.detections) for value in dataset.values("A2")] == [1, None]
    assert eval(summary.calls[0], {"aa": aa, "dataset": dataset}).score.mean == pytest.approx(0.5)


def test_answers_of_other_forms_of_mturk(tmp_path):
    path = _mturk(tmp_path, [
        ("A1", "1.jpg", {"Answer.category.label": "cat", "Answer.sure.yes": "true", "Answer.sure.no": "false"}),
        ("A2", "1.jpg", {"Answer.taskAnswers": '[{"category":{"label":"dog"},"sure":{"yes":false,"no":true}}]'}),
        ("A3", "1.jpg", {"Answer.category.label": "cat"}),
    ])  # fmt: skip
    dataset = dataset_of(["1.jpg"])
    import_annotations(dataset, path)
    assert [_answers(dataset, f"{who}_category") for who in ("A1", "A2", "A3")] == [["cat"], ["dog"], ["cat"]]
    assert [_answers(dataset, f"{who}_sure") for who in ("A1", "A2")] == [["yes"], ["no"]]
    polygons = json.dumps([{"label": "cat", "vertices": [{"x": 4, "y": 5}, {"x": 14, "y": 5}, {"x": 14, "y": 15}]}])
    path = _mturk(tmp_path, [("A1", "1.jpg", {"Answer.annotatedResult.polygons": polygons})])
    shapes = sized(["1.jpg"])
    import_annotations(shapes, path)
    assert shapes.first().A1.polylines[0].points == [[[0.1, 0.25], [0.35, 0.25], [0.35, 0.75]]]


def test_what_of_mturk_is_left_out_or_asked(tmp_path):
    answer = {"Answer.annotatedResult.boundingBoxes": _boxes_answers((10, "cat", 4, 5, 10))}
    broken = {"Answer.annotatedResult.boundingBoxes": '[{"left": 3'}
    dataset = sized(["1.jpg"])
    path = _mturk(tmp_path, [("A1", "1.jpg", answer), ("A2", "1.jpg", broken)])
    summary = import_annotations(dataset, path)
    assert dataset.values("A2") == [None]
    assert "boundingBoxes that cannot be read: 1 (row 3" in said_by(summary)
    path = _mturk(tmp_path, [("A1", "1.jpg", answer)], AssignmentStatus="Rejected")
    with pytest.raises(AgreementInputError, match=r"must hold annotations of images"):
        import_annotations(dataset, path)
    path = _mturk(tmp_path, [("A1", "1.jpg", answer)], image="Input.left", **{"Input.right": "x"})
    with pytest.raises(
        AgreementInputError, match=r"must be the image, got Input.left, Input.right; say which with columns"
    ):
        import_annotations(dataset, path, overwrite=True)
    import_annotations(dataset, path, overwrite=True, columns={"image": "Input.left"})
    path = _mturk(tmp_path, [("A1", "1.jpg", answer), ("A1", "1.jpg", answer)])
    with pytest.raises(AgreementInputError, match=r"more than one of 'A1'"):
        import_annotations(dataset, path, overwrite=True)
    path = _mturk(tmp_path, [("A1", "1.jpg", answer), ("A2", "1.jpg", answer)])
    with pytest.raises(AgreementInputError, match=r"must be that annotator's alone, got 'eve' for a file of A1, A2"):
        import_annotations(dataset, {"eve": path})


def _answer(*boxes):
    drawn = [{"height": 10, "label": "cat", "left": left, "top": 5, "width": 10} for left in boxes]
    return {"boundingBox": {"boundingBoxes": drawn, "inputImageProperties": {"height": 20, "width": 40}}}


LEFT, RIGHT = ("cat", 0.1, 0.25, 0.25, 0.5), ("cat", 0.2, 0.25, 0.25, 0.5)


def test_the_request_for_consolidation_of_sagemaker(tmp_path):
    def said(who, *boxes):
        return {"workerId": who, "annotationData": {"content": json.dumps(_answer(*boxes))}}

    answers = [[said("w1", 4), said("w2")], [said("w1", 4, 8)]]
    content = [{"datasetObjectId": str(k), "dataObject": {"s3Uri": f"s3://bucket/in/{k + 1}.jpg"}, "annotations": own}
               for k, own in enumerate(answers)]  # fmt: skip
    dataset, other = (dataset_of(["1.jpg", "2.jpg"]) for _ in range(2))
    summary = import_annotations(dataset, written(tmp_path / "2019-01-01.json", content))
    assert summary.format == "SageMaker Ground Truth"
    assert (boxes_of(dataset, "w1"), boxes_of(dataset, "w2")) == ([[LEFT], [LEFT, RIGHT]], [[], None])
    answers[0][0]["annotationData"]["content"] = "no JSON"
    summary = import_annotations(other, written(tmp_path / "2019-01-02.json", content))
    assert other.values("w1")[0] is None
    assert "answers without a content that can be read: 1" in said_by(summary)


def test_responses_of_workers_of_sagemaker_have_their_images_in_the_manifest(tmp_path):
    source = tmp_path / "my-job" / "annotations" / "worker-response"
    for number, answers in enumerate(({"w1": [4], "w2": []}, {"w1": [8]})):
        responses = [{"acceptanceTime": "2020-05-13T19:50:29Z", "answerContent": _answer(*boxes), "workerId": who,
                      "submissionTime": "2020-05-13T19:50:55Z", "timeSpentInSeconds": 2.5}
                     for who, boxes in answers.items()]  # fmt: skip
        written(source / "iteration-1" / str(number) / "2020-05-13_19-51-04.json", {"answers": responses})
    dataset = dataset_of(["1.jpg", "2.jpg"])
    with pytest.raises(AgreementInputError, match=r"must lie in the folders of their SageMaker job, with its output"):
        import_annotations(dataset, source)
    lines = [json.dumps({"source-ref": f"s3://bucket/{name}"}) for name in ("2.jpg", "1.jpg")]
    manifest = written(tmp_path / "my-job" / "manifests" / "output" / "output.manifest", "\n".join(lines) + "\n")
    import_annotations(dataset, source)
    assert (boxes_of(dataset, "w1"), boxes_of(dataset, "w2")) == ([[RIGHT], [LEFT]], [None, []])
    for path in (manifest, written(tmp_path / "a.ndjson", lines[0]), written(tmp_path / "b.json", "\r\n".join(lines))):
        with pytest.raises(AgreementInputError, match=r"those of workers, got .* a manifest .*annotations/worker-resp"):
            import_annotations(dataset, path)
