"""CVAT's XML, long tables, formats that FiftyOne reads, and Label Studio's JSON."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
import shapely
from shapely.affinity import rotate, scale, translate

from tests.dataset_io.annotation_samples import by, dataset_of, label_studio_task, ls_box, region, run_of, written

pytestmark = pytest.mark.usefixtures("delete_imports")

LABELS = """<labels><label><name>car</name><attributes>
<attribute><name>parked</name><input_type>checkbox</input_type></attribute>
<attribute><name>plate</name><input_type>text</input_type></attribute>
<attribute><name>speed</name><input_type>number</input_type></attribute></attributes></label></labels>"""
BOX = '<box label="car" occluded="{}" xtl="4.4" ytl="5" xbr="14.4" ybr="15" z_order="0">{}</box>'


def _cvat(shapes: str, assignee: str = "") -> str:
    meta = f"<task>{LABELS}<assignee><username>{assignee}</username></assignee></task>"
    return f"""<?xml version="1.0" encoding="utf-8"?><annotations><meta>{meta}</meta>
<image id="0" name="cam/1.jpg" width="40" height="20">{shapes}</image>
<image id="1" name="cam/2.jpg" width="40" height="20"></image></annotations>"""


def _counts(summary):
    return [(entry.name, entry.n_images, entry.n_empty) for entry in summary.annotators]


def test_jobs_in_a_folder_are_named_by_assignee_else_by_file(imported, tmp_path):
    plate = '<attribute name="plate">0007</attribute><attribute name="parked">true</attribute>'
    written(tmp_path / "a" / "annotations.xml", _cvat(BOX.format(1, plate), "ann"))
    written(tmp_path / "bob" / "annotations.xml", _cvat(BOX.format(0, '<attribute name="speed">2.5</attribute>')))
    dataset, summary = imported(tmp_path, ["1.jpg", "2.jpg", "3.jpg"])
    assert _counts(summary) == [("ann", 2, 1), ("bob", 2, 1)]
    (box,) = dataset.first().ann.detections
    assert box.bounding_box == pytest.approx([0.11, 0.25, 0.25, 0.5])
    assert (box.plate, box.parked, box.occluded) == ("0007", True, True)
    assert dataset.first().bob.detections[0].speed == 2.5
    assert [label and label.detections for label in dataset.values("bob")][1:] == [[], None]
    report = run_of(dataset, summary, attributes=["occluded"])
    assert (report.n_rated, dataset.first().agreement_n_disputed) == (2, 1)  # an attribute conflict


def test_the_export_of_a_job_on_a_video_does_not_name_it(imported, tmp_path):
    def job(who, name):
        text = f"""<annotations><meta><job><id>7</id><size>3</size><mode>interpolation</mode>
<start_frame>0</start_frame><stop_frame>2</stop_frame><frame_filter></frame_filter><assignee><username>{who}</username></assignee></job>
<original_size><width>40</width><height>20</height></original_size></meta><track id="0" label="car">
<box frame="0" keyframe="1" outside="0" occluded="0" xtl="4" ytl="5" xbr="14" ybr="15"/>
<box frame="1" keyframe="1" outside="1" occluded="0" xtl="4" ytl="5" xbr="14" ybr="15"/></track></annotations>"""
        return written(tmp_path / who / name, text)

    files = {who: job(who, f"job_{who}.xml") for who in ("ann", "bob")}
    dataset, summary = imported(files, ["clip.mp4"])
    assert _counts(summary) == [("ann", 3, 2), ("bob", 3, 2)]
    assert dataset.first().frames[1].bob.detections[0].bounding_box == [0.1, 0.25, 0.25, 0.5]
    several = dataset_of(["clip.mp4", "other.mp4"])
    imported.refuses("must be called as its video, .* got job_ann", files["ann"], several, who="ann")
    imported(job("eve", "other.xml"), several, who="eve")
    assert [len(sample.frames) for sample in several] == [0, 3]


def test_every_shape_of_cvat(imported):
    shapes = """<box label="car" xtl="10" ytl="5" xbr="30" ybr="15" rotation="30"/>
<polygon label="car" points="1,2;3,4;6,5"/><polyline label="lane" points="1.5,2;3,4"/>
<points label="dot" points="1,2;3,4"/><tag label="night"/><tag label="rain"/>
<mask label="car" rle="1, 2, 3" left="5" top="6" width="3" height="2"/><cuboid label="car" xtl1="1"/>
<skeleton label="body"><points label="b" outside="0" points="4,4"/>
<points label="a" outside="1" points="0,0"/></skeleton>
<skeleton label="body"><points label="a" outside="0" points="2,2"/></skeleton>"""
    types = ["segmentations", "polylines", "keypoints", "classifications"]
    dataset, summary = imported(_cvat(shapes), ["1.jpg", "2.jpg"], who="ann", label_types=types)
    sample = dataset.first()
    rotated, polygon, lane = sample.ann_polylines.polylines
    drawn = shapely.Polygon(np.array(rotated.points[0]) * [40, 20])
    assert drawn.symmetric_difference(rotate(shapely.box(10, 5, 30, 15), 30, origin="center")).area < 1e-9
    assert (polygon.closed, lane.closed) == (True, False)
    assert lane.points == [[[1.5 / 40, 0.1], [0.075, 0.2]]]
    (mask,) = sample.ann_segmentations.detections
    assert mask.bounding_box == pytest.approx([6 / 40, 6 / 20, 2 / 40, 1 / 20])
    dots, body, other = sample.ann_keypoints.keypoints
    assert dots.points == [[0.025, 0.1], [0.075, 0.2]]
    assert (np.isnan(body.points[0]).all(), body.points[1], other.points[0]) == (True, [0.1, 0.2], [0.05, 0.1])
    assert [tag.label for tag in sample.ann_tags.classifications] == ["night", "rain"]
    assert any("cuboid" in line for line in summary.left_out)


def test_the_samples_of_cvat(shared_data, imported):
    folder, types = shared_data / "cvat", ["detections", "polylines", "keypoints"]
    dataset, summary = imported(folder / "task_images.xml", ["img0.jpg", "img1.jpg"], who="a", label_types=types)
    assert summary.annotators[0].n_labels == {"detections": 1, "polylines": 2, "keypoints": 1}
    assert dataset.first().a_detections.detections[0].bounding_box == [0.0, 0.25, 0.5, 0.25]
    assert dataset.first().a_detections.detections[0].a3 == "0003"
    names = [f"{subset}/img{k}.jpg" for subset in ("Test", "Train", "Validation") for k in range(2)]
    project, summary = imported(folder / "project_images.xml", names, label_types=types, match="path")
    assert (summary.annotators[0].name, summary.annotators[0].n_images) == ("project_images", 6)
    assert project.count("project_images_detections.detections") == 3
    videos, _ = imported(folder / "video.xml", ["t.mp4"], who="a", label_types=types)
    boxes = videos.values("frames.a_detections.detections.bounding_box")
    assert boxes == [[[[3 / 25, 4 / 20, 7 / 25, 1 / 20]], [], [], []]]  # frames 10, 13, 16, 19 of the task, from 0
    assert videos.values("frames.frame_number") == [[11, 14, 17, 20]]
    assert videos.count("frames.a_polylines.polylines") == videos.count("frames.a_keypoints.keypoints") == 1


def test_boxes_between_key_frames_are_filled_in(imported, tmp_path):
    track = """<track id="3" label="car"><box frame="0" outside="0" xtl="0" ytl="0" xbr="10" ybr="10"/>
<box frame="4" outside="0" xtl="20" ytl="8" xbr="30" ybr="18"/>
<box frame="5" outside="1" xtl="0" ytl="0" xbr="1" ybr="1"/></track>"""
    meta = """<meta><job><mode>interpolation</mode><start_frame>0</start_frame><stop_frame>6</stop_frame><original_size>
<width>40</width><height>20</height></original_size></job><source>v.mp4</source></meta>"""
    path = written(tmp_path / "x.xml", f"<annotations>{meta}{track}</annotations>")
    dataset, summary = imported({"ann": path, "bob": path}, ["v.mp4"])
    lists = dataset.values("frames.ann.detections.bounding_box")[0]
    assert [len(boxes) for boxes in lists] == [1, 1, 1, 1, 1, 0, 0]
    assert lists[2] == [[10 / 40, 4 / 20, 10 / 40, 10 / 20]]
    assert run_of(dataset, summary).score.mean == 1.0


def _vindr():
    rows = [("a", "Nodule", 1, "R1", 100, 50, 300, 250), ("a", "Nodule", 1, "R2", 110, 50, 310, 250),
            ("a", "Mass", 2, "R2", 500, 50, 600, 100), ("b", "No finding", 14, "R1", None, None, None, None),
            ("b", "Nodule", 1, "R2", 0, 0, 100, 100), ("c", "No finding", 14, "R1", None, None, None, None),
            ("c", "No finding", 14, "R2", None, None, None, None)]  # fmt: skip
    columns = ["image_id", "class_name", "class_id", "rad_id", "x_min", "y_min", "x_max", "y_max"]
    return pd.DataFrame(rows, columns=columns), ["a.dicom", "b.dicom", "c.dicom"]


def test_a_table_as_of_vindr(imported, tmp_path):
    table, names = _vindr()
    table.to_csv(tmp_path / "train.csv", index=False)
    message = r"image size to read coordinates in pixels, got 2 without .*compute_metadata"
    imported.refuses(message, tmp_path / "train.csv", names, match="stem")
    dataset, summary = imported(tmp_path / "train.csv", names, size=(1000, 500), match="stem")
    assert _counts(summary) == [("R1", 3, 2), ("R2", 3, 1)]
    assert dataset.first().R1.detections[0].bounding_box == pytest.approx([0.1, 0.1, 0.2, 0.4])
    assert dataset.first().R1.detections[0].class_id == 1
    report = run_of(dataset, summary)
    assert report.n_rated == 3
    # 190 of 210 pixels of width are shared: one of two objects agrees; of b none; of c both say nothing: left out
    assert report.score.mean == pytest.approx((2 * (190 / 210) / 3 + 0.0) / 2)


def test_a_parquet_file_is_a_table(imported, tmp_path):
    pytest.importorskip("pyarrow", reason="needs pyarrow")
    table, names = _vindr()
    table.to_parquet(tmp_path / "t.parquet")
    _, summary = imported(tmp_path / "t.parquet", names, size=(1000, 500), match="stem")
    assert summary.annotators[0].n_images == 3


def test_a_table_with_lists_of_corner_pairs(imported):
    boxes = ["[[(4, 5), (14, 15)], [(0, 0), (20, 10)]]", "[]", "[[(4, 5), (14, 15)]]"]
    table = pd.DataFrame({"uid": [7, 7, 8], "item": ["1.jpg", "2.jpg", "1.jpg"], "annotation": boxes})
    dataset, _ = imported(table, ["1.jpg", "2.jpg"], size=(40, 20))
    assert dataset.values("annotator_7.detections.bounding_box") == [[[0.1, 0.25, 0.25, 0.5], [0, 0, 0.5, 0.5]], []]
    assert [label and len(label.detections) for label in dataset.values("annotator_8")] == [1, None]


def test_tables_of_classes_numbers_and_tags(imported):
    base = pd.DataFrame({"image": ["1.jpg", "1.jpg", "2.jpg", "2.jpg"], "worker": ["a", "b", "a", "b"]})
    classes = base.assign(label=["x", "y", "x", "x"])
    dataset, _ = imported(classes, ["1.jpg", "2.jpg", "3.jpg"], prefix="c_")
    assert dataset.values("c_a.label") == ["x", "x", None]
    _, summary = imported(base.assign(rating=[1, 2, 3, 3.5]), dataset, prefix="n_")
    assert dataset.values("n_b.value") == [2.0, 3.5, None]
    assert run_of(dataset, summary).n_rated == 2
    imported(pd.concat([classes, base.assign(label=["z", "z", "z", None])]), dataset, prefix="t_")
    assert dataset.values("t_b.classifications.label") == [["y", "z"], ["x"], None]


def test_columns_can_be_named(imported):
    table = pd.DataFrame({"scan": ["1.jpg"], "who": ["ann"], "what": ["x"]})
    imported.refuses("must have a column for the label, got the columns scan, who, what", table)
    imported.refuses("`columns` must map meanings .* got 'picture', 'no'", table, columns={"picture": "no"})
    dataset, summary = imported(table, columns={"image": "scan", "annotator": "who", "label": "what"})
    assert any(note.startswith("Columns: ") and "annotator: who" in note for note in summary.notes)
    assert dataset.first().ann.label == "x"


def test_a_summary_is_plain_data_one_line_and_tables_with_the_next_call_in_a_notebook(imported):
    table = pd.DataFrame({"image": ["1.jpg", "1.jpg"], "rater": ["<b>ann</b>", "bob"], "label": ["x", "y"]})
    _, summary = imported(table, preview=True)
    assert json.loads(json.dumps(summary.to_dict()))["annotators"][1]["name"] == "bob"
    assert "a long table: 2 annotators, 1 image" in str(summary)
    assert repr(summary) == "<ImportSummary a long table: 2 annotators, 1 image; print_report() says more>"
    assert "<td>&lt;b&gt;ann&lt;/b&gt;</td>" in summary._repr_html_()
    assert "<pre>aa.compute(dataset, [" in summary._repr_html_()


# ---- label Studio's JSON: who completed which task, and the label that every kind of result becomes ----


def test_the_sample_of_five_images_and_three_annotators(shared_data, imported):
    from fiftyone.utils.labelstudio import import_label_studio_annotation

    path = shared_data / "label_studio" / "boxes_5x3.json"
    tasks = json.loads(path.read_text())
    dataset, summary = imported(path, [task["file_upload"] for task in tasks])
    names = [f"rater{k}@example.com" for k in (1, 2, 3)]
    assert [(entry.name, entry.n_images, entry.n_labels["detections"]) for entry in summary.annotators] == [
        (name, 5, n) for name, n in zip(names, (30, 30, 31), strict=True)]  # fmt: skip
    assert [entry.name for entry in summary.separate] == ["prediction_1"]
    for task in tasks:  # FiftyOne's converter of single results says the same of each
        sample = dataset.match({"filepath": f"/images/{task['file_upload']}"}).first()
        for annotation in task["annotations"]:
            field = annotation["completed_by"]["email"].replace("@", "_").replace(".", "_")
            theirs = [import_label_studio_annotation(result)[1] for result in annotation["result"]]
            assert [label.label for label in sample[field].detections] == [label.label for label in theirs]
            for own, other in zip(sample[field].detections, theirs, strict=True):
                assert list(own.bounding_box) == pytest.approx(other.bounding_box)
    report = run_of(dataset, summary)
    assert (report.n_objects, {entry.name for entry in report.annotators}) == (91, set(names))

    def boxes(task, who):
        (results,) = [entry["result"] for entry in task["annotations"] if entry["completed_by"]["email"] == who]
        values = [result["value"] for result in results]
        return [shapely.box(v["x"], v["y"], v["x"] + v["width"], v["y"] + v["height"]) for v in values]

    for pair in report.pairs:  # the measure of document 002, mean over A of the best IoU in B, by brute force
        means = []
        for task in tasks:
            a, b = boxes(task, pair.a), boxes(task, pair.b)
            means.append(np.mean([max(x.intersection(y).area / x.union(y).area for y in b) for x in a]))
        assert pair.mean_max_iou["a_to_b"].mean == pytest.approx(np.mean(means), abs=1e-9)


def test_skipped_is_not_assigned_an_empty_result_drew_nothing_and_the_latest_annotation_counts(imported):
    skipped = label_studio_task("1.jpg", by(1, ls_box(10, 20, 30, 40)), by(2), by(3, was_cancelled=True))
    twice = label_studio_task("2.jpg", by(1, ls_box(50, 50, 10, 10), id=3, updated_at="2024-02-01T00:00:00Z"),
                              by(1, ls_box(10, 10, 10, 10), id=4, updated_at="2024-01-01T00:00:00Z"))  # fmt: skip
    dataset, summary = imported([skipped, twice], ["1.jpg", "2.jpg"])
    first, second = dataset
    assert [label.bounding_box for label in first.annotator_1.detections] == [pytest.approx([0.1, 0.2, 0.3, 0.4])]
    assert first.annotator_2.detections == []
    assert not dataset.has_field("annotator_3")
    assert any("skipped" in line and "1.jpg" in line for line in summary.left_out)
    assert (first.metadata.width, first.metadata.height) == (200, 100)
    assert second.annotator_1.detections[0].bounding_box[0] == 0.5
    assert any("a later one" in line for line in summary.left_out)


def test_ground_truth_and_predictions_stand_apart_also_in_a_file_for_each_annotator(imported, tmp_path):
    box = ls_box(10, 10, 10, 10)
    predictions = [{"model_version": "yolo v8", "result": [box, box]}, {"model_version": "", "result": []}, 12]
    people = by({"id": 7, "email": "ann@x.org"}, box), by({"id": 8, "email": "bob@x.org"}, box, ground_truth=True)
    task = label_studio_task("1.jpg", *people, predictions=predictions)
    dataset, summary = imported([task], annotators={"ann@x.org": "ann"}, prefix="ls_")
    assert ([entry.name for entry in summary.annotators], summary.calls) == (["ann"], ())
    fields = ("ann", "ground_truth", "prediction", "prediction_yolo_v8")
    assert [len(dataset.first()[f"ls_{name}"].detections) for name in fields] == [1, 1, 0, 2]
    predictions = [{"model_version": "m", "result": [box]}]
    paths = {name: written(tmp_path / f"{name}.json", [label_studio_task("1.jpg", by(k), predictions=predictions)])
             for k, name in enumerate(("ann", "bob"))}  # fmt: skip
    _, summary = imported(paths)
    assert _counts(summary) == [("ann", 1, 1), ("bob", 1, 1)]
    assert [entry.n_labels for entry in summary.separate] == [{"detections": 1}]


@pytest.mark.parametrize("angle", [30.0, 328.3])
def test_rotated_boxes_and_ellipses_become_polygons_and_so_do_the_others(imported, angle):
    value = {"x": 50, "y": 40, "radiusX": 10, "radiusY": 5, "rotation": 30, "ellipselabels": ["cat"]}
    shapes = ls_box(20, 30, 25, 20, rotation=angle), ls_box(0, 0, 10, 10, name="s"), region("ellipselabels", value, "e")
    dataset, _ = imported([label_studio_task("1.jpg", by(1, *shapes))])
    labels = dataset.first().annotator_1.polylines
    rotated, upright, ellipse = (shapely.Polygon(np.array(label.points[0]) * [200, 100]) for label in labels)
    expected = rotate(shapely.box(40, 30, 90, 50), angle, origin=(40, 30))  # y points down: clockwise
    assert rotated.symmetric_difference(expected).area < 1e-6
    assert [(label.label, label.closed) for label in labels] == [("cat", True)] * 3
    assert upright.equals_exact(shapely.Polygon([(0, 0), (20, 0), (20, 10), (0, 10)]), 1e-9)
    circle = shapely.Point(0, 0).buffer(1, quad_segs=64)
    expected = translate(rotate(scale(circle, 20, 5), 30), 100, 40)
    assert ellipse.intersection(expected).area / ellipse.union(expected).area > 0.997


def test_polygons_and_boxes_stand_in_fields_of_their_own_if_asked_for(imported):
    polygon = region("polygonlabels", {"points": [[10, 10], [50, 10], [50, 30]], "polygonlabels": ["dog"]}, "p")
    tasks = [label_studio_task("1.jpg", by(1, polygon, ls_box(0, 0, 10, 10)))]
    dataset, summary = imported(tasks, label_types=["detections", "polylines"])
    sample = dataset.first()
    assert [label.label for label in sample.annotator_1_detections.detections] == ["cat"]
    assert [label.label for label in sample.annotator_1_polylines.polylines] == ["dog"]
    assert summary.annotators[0].fields == ("annotator_1_detections", "annotator_1_polylines")
    boxes, summary = imported(tasks)
    expected = [pytest.approx([0.1, 0.1, 0.4, 0.2]), [0.0, 0.0, 0.1, 0.1]]
    assert [label.bounding_box for label in boxes.first().annotator_1.detections] == expected
    assert any("1 polylines given as detections" in note for note in summary.notes)


def test_keypoints_of_one_parent_are_one_label_in_the_order_of_their_names_then_of_the_file(imported):
    def point(x, label, name, **more):
        return region("keypointlabels", {"x": x, "y": 50, "width": 1, "keypointlabels": [label]}, name, **more)

    person, relation = ls_box(0, 0, 50, 50, "person", name="b"), {"type": "relation", "from_id": "a", "to_id": "b"}
    of_parent = point(10, "nose", "a", parentID="b"), point(20, "ear", "c", parentID="b")
    task = label_studio_task("1.jpg", by(1, *of_parent, person, point(90, "tip", "z")),
                             by(2, point(30, "nose", "a"), person, {**relation, "direction": "right"}))  # fmt: skip
    dataset, summary = imported([task], label_types=["detections", "keypoints"])
    # the tip is a single point
    assert sorted(("keypoints" in call, "point_radius=10.0" in call) for call in summary.calls) == [
        (False, False), (True, True)]  # fmt: skip
    sample = dataset.first()
    tip, person = sorted(sample.annotator_1_keypoints.keypoints, key=lambda label: -label.points[0][0])
    assert (tip.label, tip.points) == ("tip", [[0.9, 0.5]])
    assert (person.label, person.points) == ("person", [[0.2, 0.5], [0.1, 0.5]])  # ear, nose
    (other,) = sample.annotator_2_keypoints.keypoints
    assert (math.isnan(other.points[0][0]), other.points[1]) == (True, [0.3, 0.5])
    assert len(sample.annotator_1_detections.detections) == 1
    alike = [point(x, "tip", f"p{x}", parentID="b") for x in range(10, 70, 10)]
    dataset, _ = imported([label_studio_task("1.jpg", by(1, *alike))], label_types="keypoints")
    (hand,) = dataset.first().annotator_1.keypoints
    assert [x for x, _ in hand.points] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])


def test_answers_about_images_and_about_regions(imported):
    def answer(kind, name, value, **more):
        return {"id": f"{name}-id", "type": kind, "from_name": name, "to_name": "image", "value": value, **more}

    answers = (answer("choices", "weather", {"choices": ["rain"]}), answer("rating", "quality", {"rating": 4}),
               answer("choices", "seen", {"choices": ["a", "b"]}), answer("number", "count", {"number": 2.5}),
               answer("taxonomy", "kind", {"taxonomy": [["animal", "cat"]]}), answer("textarea", "why", {}),
               ls_box(0, 0, 50, 50, name="b"),
               answer("choices", "occlusion", {"choices": ["partly"], "x": 0}, id="b"))  # fmt: skip
    task = label_studio_task("1.jpg", by(1, *answers), by(2, answer("choices", "weather", {"choices": ["sun"]})))
    dataset, summary = imported([task])
    sample = dataset.first()
    assert (sample.annotator_1_weather.label, sample.annotator_2_weather.label) == ("rain", "sun")
    assert (sample.annotator_1_quality.value, sample.annotator_1_count.value) == (4.0, 2.5)
    assert [tag.label for tag in sample.annotator_1_seen.classifications] == ["a", "b"]
    assert sample.annotator_2_seen.classifications == []
    assert sample.annotator_2_quality is None  # looked, but said nothing: no rating
    assert sample.annotator_1_kind.label == "animal/cat"
    assert sample.annotator_1_detections.detections[0].occlusion == "partly"
    assert sample.annotator_2_detections.detections == []
    assert any("textarea" in line for line in summary.left_out)
    assert "aa.compute(dataset, ['annotator_1_weather', 'annotator_2_weather'])" in summary.calls


def _brush(mask):
    """Label Studio's run lengths of a mask: every row of values as one stretch of single values or one run."""
    values = np.repeat(mask.astype(np.uint8).ravel() * 255, 4)
    bits = f"{len(values):032b}{7:05b}" + "".join(f"{size - 1:04b}" for size in (3, 4, 8, 16))
    starts = np.flatnonzero(np.diff(values, prepend=values[0] + 1))
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(values)], strict=True):
        if end - start < 8:  # single values
            bits += "0" + f"{0:02b}" + f"{end - start - 1:03b}" + f"{values[start]:08b}" * (end - start)
        else:
            bits += "1" + f"{3:02b}" + f"{end - start - 1:016b}" + f"{values[start]:08b}"
    bits += "0" * (-len(bits) % 8)
    return [int(bits[k : k + 8], 2) for k in range(0, len(bits), 8)]


def test_brushes_are_instance_masks(imported):
    mask = np.zeros((100, 200), np.bool_)
    mask[10:31, 40:45] = True
    mask[12, 41] = False
    rle = {"format": "rle", "rle": _brush(mask), "brushlabels": ["cat"]}
    broken = {**rle, "rle": _brush(mask)[:9]}
    task = label_studio_task("1.jpg", by(1, region("brushlabels", rle), region("brushlabels", broken, "c")))
    dataset, summary = imported([task])
    (label,) = dataset.first().annotator_1.detections
    assert label.bounding_box == pytest.approx([40 / 200, 10 / 100, 5 / 200, 21 / 100])
    assert np.array_equal(label.mask, mask[10:31, 40:45])
    assert any("end too early" in line for line in summary.left_out)


def test_addresses_of_images_are_read_as_paths(imported):
    data = [{"image": "/data/local-files/?d=scans/y%201.jpg"},
            {"image": "https://bucket.example/z.jpg?X-Amz-Signature=abc"}, {"text": "no image"}]  # fmt: skip
    tasks = [label_studio_task("0a1b2c3d-x.jpg", by(1)), label_studio_task("unknown.jpg", by(1)),
             *({"id": k, "data": each, "annotations": [by(1)]} for k, each in enumerate(data))]  # fmt: skip
    dataset, summary = imported(tasks, ["x.jpg", "y 1.jpg", "z.jpg", "w.jpg"])
    assert [label and label.detections for label in dataset.values("annotator_1")] == [[], [], [], None]
    assert any("unknown.jpg" in line for line in summary.left_out)
