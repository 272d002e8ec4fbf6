"""What an import cannot read, or does not use: null instead of an empty list, and sentences with counts."""

from __future__ import annotations

import json

import fiftyone as fo
import pandas as pd
import pytest
import shapely
from pycocotools import mask as coco_masks

from tests.dataset_io.annotation_samples import boxes_of, by, coco, label_studio_task, ls_box, region, run_of, said_by
from tests.dataset_io.quick_runs import compute_quickly

from annotator_agreement.dataset_io import export_annotations

pytestmark = pytest.mark.usefixtures("delete_imports")


def _bitmask(name="m"):
    return region("bitmasklabels", {"imageDataURL": "data:image/png;base64,AA==", "bitmasklabels": ["cat"]}, name)


def _counts(summary):
    return [(entry.name, entry.n_images, entry.n_empty, entry.n_unread) for entry in summary.annotators]


#: what bob draws on five of twelve images, where labels go to, and the sentence on it
UNREADABLE = [
    (_bitmask(), "fields", "regions of the type bitmasklabels, which are not read: 5 (/data/upload/3/0.jpg: m"),
    (ls_box(10, 10, 40, 40, image_rotation=90), "attribute",
     "regions on images that are shown rotated (image_rotation), which are not read: 5 (/data/upload/3/0.jpg: r"),
]  # fmt: skip


@pytest.mark.parametrize(("drawn", "into", "sentence"), UNREADABLE)
def test_what_cannot_be_read_is_not_nothing_drawn_and_the_run_says_on_how_many_images(imported, drawn, into, sentence):
    box = ls_box(10, 10, 40, 40)
    tasks = [label_studio_task(f"{k}.jpg", by("ann", box), by("bob", drawn if k < 5 else box)) for k in range(12)]
    dataset, summary = imported(tasks, [f"{k}.jpg" for k in range(12)], into=into)
    assert _counts(summary) == [("ann", 12, 0, 0), ("bob", 12, 0, 5)]
    assert "On 5 images not all can be read (bob 5)" in said_by(summary)
    assert sentence in said_by(summary)
    if into == "fields":
        assert [label is None for label in dataset.values("bob")] == [True] * 5 + [False] * 7
    else:
        assert dataset.values("annotations_assigned")[4:6] == [["ann"], ["ann", "bob"]]
    assert dataset.values("not_read" if into == "fields" else "annotations_not_read")[4:6] == [["bob"], []]
    run = run_of(dataset, summary)
    assert (run.report.n_rated, run.report.existence.f1, run.report.run.unread) == (7, 1.0, {"bob": 5})
    assert any("Some labels could not be read" in text and "bob 5" in text for text in run.report.warnings)
    if into == "fields":
        part = dataset.limit(6).select_fields(["ann", "bob"])
        assert compute_quickly(part, ["ann", "bob"], run_key="part").run.unread == {"bob": 5}


def test_beside_labels_that_cannot_be_read_others_stay_and_nobody_is_called_not_read(imported):
    people = by("ann", ls_box(0, 0, 10, 10), _bitmask()), by("bob", _bitmask()), by("eve")
    dataset, summary = imported([label_studio_task("1.jpg", *people)])
    sample = dataset.first()
    assert (len(sample.ann.detections), sample.bob, sample.eve.detections) == (1, None, [])
    assert sample.not_read == ["ann", "bob"]
    assert _counts(summary) == [("ann", 1, 0, 1), ("bob", 1, 0, 1), ("eve", 1, 1, 0)]
    task = label_studio_task("1.jpg", by("not read", _bitmask()), by("bob"))
    imported.refuses(r"a field of their own, got 'not_read' for 'not read', ''", [task])


def test_an_import_that_can_read_it_now_takes_the_note_back(imported):
    tasks = [label_studio_task(f"{k}.jpg", by("ann", _bitmask()), by("bob", _bitmask())) for k in (1, 2)]
    dataset, _ = imported(tasks, ["1.jpg", "2.jpg"])
    imported([label_studio_task("1.jpg", by("ann", ls_box(0, 0, 10, 10)))], dataset, overwrite=True)
    assert dataset.values("not_read") == [["bob"], ["ann", "bob"]]
    assert [label and len(label.detections) for label in dataset.values("ann")] == [1, None]
    imported(tasks[:1], dataset, overwrite=True)  # what was there is not kept
    assert dataset.values("ann") == [None, None]


SQUARES = [[10, 10, 110, 10, 110, 110, 10, 110], [60, 10, 160, 10, 160, 110, 60, 110]]
HOLE = [[10, 10, 110, 10, 110, 110, 10, 110], [30, 30, 60, 30, 60, 60, 30, 60]]


def _areas(dataset, field):
    """Area of each polygon, by the even-odd rule of its rings, by shapely."""
    areas = []
    for label in dataset.first()[field].polylines:
        region = shapely.Polygon()
        for ring in label.points:
            region = region.symmetric_difference(shapely.Polygon([(200 * x, 120 * y) for x, y in ring]))
        areas.append(region.area)
    return areas


def test_parts_of_a_coco_polygon_are_a_union_and_a_ring_in_another_is_a_hole(imported, tmp_path):
    shapes = [SQUARES, [SQUARES[0], SQUARES[0]], HOLE, [*SQUARES, [70, 20, 100, 20, 100, 50, 70, 50]],
              [*SQUARES, [150, 0, 170, 0, 170, 120, 150, 120]]]  # fmt: skip
    image = {"file_name": "1.jpg", "width": 200, "height": 120}
    entries = [{"segmentation": shape, "rater_id": "ann"} for shape in shapes]
    dataset, _ = imported(coco([image], entries), label_types="polylines")
    theirs = [int(coco_masks.area(coco_masks.merge(coco_masks.frPyObjects(shape, 120, 200)))) for shape in shapes]
    found = _areas(dataset, "ann")
    for k in (0, 1, 4):  # pycocotools knows no holes
        assert found[k] == pytest.approx(theirs[k], abs=1)
    assert [found[2], found[3]] == pytest.approx([100 * 100 - 30 * 30, 150 * 100 - 30 * 30])
    dataset.set_values("metadata", [fo.ImageMetadata(width=200, height=120)])
    rings = [[(x / 200, y / 120) for x, y in zip(ring[::2], ring[1::2], strict=True)] for ring in SQUARES]
    for name in ("ann", "bob"):
        dataset.set_values(name, [fo.Polylines(polylines=[fo.Polyline(points=rings, closed=True, filled=True)])])
    export_annotations(dataset, ["ann", "bob"], tmp_path / "c.json")
    copy, _ = imported(tmp_path / "c.json", label_types="polylines")
    assert _areas(copy, "ann") == pytest.approx([100 * 100])  # 15,000 without the half that both cover


def test_boxes_of_coco_are_turned_by_their_rotation(imported):
    entries = [{"bbox": [100, 180, 200, 40], "segmentation": [], "rater_id": name,
                "attributes": {"rotation": angle, "occluded": False}}
               for name, angle in (("ann", 0.0), ("bob", 90.0))]  # fmt: skip
    dataset, summary = imported(coco([{"file_name": "1.jpg", "width": 400, "height": 400}], entries))
    run = compute_quickly(dataset, ["ann", "bob"], iou=0.1)
    assert run.pairs[0].sq == pytest.approx(1600 / 14400)  # the mean IoU of what is matched
    assert "1 boxes are turned" in said_by(summary)
    assert dataset.first().bob.polylines[0].get_attribute_value("rotation", None) is None


BOX, FOUND = [0, 0, 10, 10], ("cat", 0, 0, 0.25, 0.5)
#: images and annotations of a COCO file, the boxes of ann and bob on its image, and what the summary says
COCO_FILES = {
    "empty boxes": ([{}], [{"bbox": [0, 0, 0, 0], "segmentation": [], "rater_id": "ann"},
                           {"bbox": [], "segmentation": [], "rater_id": "bob"}], ([], []),
                    ["boxes without a width and height, which hold nothing: 1",
                     "annotations without a box, polygon, mask or points: 1"]),
    "half a point of a polygon": ([{}], [{"bbox": BOX, "segmentation": [[0, 0, 9, 0, 9, 9, 9]], "rater_id": "ann"},
                                         {"bbox": BOX, "rater_id": "bob"}], (None, [FOUND]),
                                  ["id 0: a polygon must be pairs of coordinates, got an odd number of them"]),
    "an entry of a file for each annotator": ([{}, {}], [{"bbox": BOX, "annotator": "ann"}, {"image_id": 1, "bbox": BOX,
                                               "annotator": "bob"}], ([FOUND],) * 2, []),
    "ids as numbers and as texts": ([{"id": "7", "width": "40", "height": 20.0}],
                                    [{"image_id": 7.0, "bbox": ["0", 0, 10, 10], "category_id": "1", "rater_id": "ann"},
                                     {"image_id": 7, "bbox": BOX, "rater_id": "bob"}], ([FOUND],) * 2, []),
    "what is not used": ([{"license": 3}], [{"bbox": BOX, "rater_id": "ann", "rotated_box": [1, 2, 3]}] * 2,
                         ([FOUND] * 2, None),
                         ["Not used of annotations: rotated_box (2)\nNot used of images: license (1)\n"
                          "Not used of categories: supercategory (1)\nNot used of the file: info (1)"]),
}  # fmt: skip
CONTRADICTIONS = [
    ([{}, {"width": 80}], {}, r"must have one size, got \(40, 20\) and \(80, 20\) for '1.jpg'"),
    ([{}], {"bbox": [4, 5, 14, 15], "segmentation": [[4, 5, 14, 5, 14, 15, 4, 15]]}, r"got corners .* on 2 of 2"),
    ([{}], {"bbox": [4, 5, 14, 15], "area": 100}, r"width and height, got corners \(x, y, x, y\) on 2 of 2"),
]


def test_coco_files_as_tools_write_them_and_their_contradictions(imported):
    for case, (images, entries, expected, lines) in COCO_FILES.items():
        content = coco([{"file_name": "1.jpg", **image} for image in images], entries)
        content["info"], content["categories"][0]["supercategory"] = {}, "animal"
        dataset, summary = imported(content)
        assert tuple(boxes_of(dataset, name)[0] for name in ("ann", "bob")) == expected, case
        assert all(line in said_by(summary) for line in lines), said_by(summary)
    for images, more, message in CONTRADICTIONS:
        images = [{"file_name": "1.jpg", **image} for image in images]
        entries = [{"image_id": k % len(images), "bbox": BOX, "rater_id": name, **more} for k, name in enumerate("ab")]
        imported.refuses(message, coco(images, entries))
    # scores may be texts, and annotators numbers
    entries = [{"bbox": BOX, "rater_id": who, "score": "0.5"} for who in (3.0, "3")]
    dataset, _ = imported(coco(["1.jpg"], entries))
    assert [box.confidence for box in dataset.first().annotator_3.detections] == [0.5, 0.5]


def _pair(who, *results, target="https://x.org/im0.png"):
    data = {"image_reference": "https://x.org/ref.png", "image_target": target}
    return {"data": data, "annotations": [by(who, *results)]}


def test_of_several_images_of_a_task_the_one_is_meant_that_to_name_says(imported):
    box = {**ls_box(0, 0, 10, 10), "to_name": "img_target"}
    tasks = [_pair(who, box, target=f"https://x.org/im{k}.png") for k in range(3) for who in ("ann", "bob")]
    dataset, summary = imported(tasks, ["ref.png", "im0.png", "im1.png", "im2.png"])
    assert _counts(summary) == [("ann", 3, 0, 0), ("bob", 3, 0, 0)]
    assert (dataset.first().ann, summary.left_out) == (None, ())
    assert "data.image_reference (6)" in said_by(summary)
    unclear = [_pair("ann", {**box, "to_name": "canvas"})]
    message = r"got images in 'image_reference', 'image_target' and results on 'canvas'.*columns={'image': …}"
    imported.refuses(message, unclear, ["ref.png", "im0.png"])
    other, _ = imported(unclear, ["ref.png", "im0.png"], columns={"image": "image_target"})
    assert [label and len(label.detections) for label in other.values("ann")] == [None, 1]


def test_pages_of_a_task_are_images_of_their_own_a_text_is_none_and_a_video_is_refused(imported):
    results = [{**ls_box(10 * k, 0, 10, 10, name=f"r{k}"), "item_index": k} for k in range(2)]
    task = {"data": {"pages": ["s3://b/p0.png", "s3://b/p1.png"]}, "annotations": [by("ann", *results)]}
    dataset, _ = imported([task], ["p0.png", "p1.png"])
    assert [label.detections[0].bounding_box[0] for label in dataset.values("ann")] == [0.0, 0.1]
    question = {"question": "What is it?"}
    task = {"id": 5, "annotations": [by("ann")]}
    dataset, _ = imported([{**task, "data": {**question, "image": "/data/upload/1.jpg"}}])
    assert dataset.first().ann.detections == []
    message = r"must have the address of an image in their data, got 1 without \(their data has 'question'\)"
    imported.refuses(message, [{**task, "data": question}])
    message = r"must be of images, got 1 of videos \(/data/upload/v.mp4\); .*CVAT"
    imported.refuses(message, [{**task, "data": {"video": "/data/upload/v.mp4"}}])


def test_choices_of_a_region_and_several_classes_are_sets(imported):
    def drawn(*choices):
        value = {"x": 50, "y": 50, "width": 50, "height": 50, "rectanglelabels": list(choices)}
        choice = {"id": "b", "type": "choices", "from_name": "damage", "value": {"choices": list(choices)}}
        return ls_box(0, 0, 50, 50, name="b"), choice, region("rectanglelabels", value, "c")

    people = by("ann", *drawn("rust", "dent")), by("bob", *drawn("dent", "rust"))
    dataset, _ = imported([label_studio_task("1.jpg", *people)])
    compute_quickly(dataset, ["ann", "bob"], attributes=["damage"])
    assert [label.agreement for label in dataset.first().ann.detections] == ["agreed", "agreed"]


RECORDS = [
    {"image": "/data/upload/1.jpg", "note": "x", "id": 1, "label": [
        {"x": 10, "y": 10, "width": 30, "height": 30, "rotation": 0, "rectanglelabels": ["cat"], "original_width": 200,
         "original_height": 100}], "weather": "rain", "annotator": 7, "annotation_id": 3, "lead_time": 2.5},
    {"image": "/data/upload/1.jpg", "note": "x", "id": 1, "weather": {"choices": ["rain", "sun"]}, "annotator": 8,
     "annotation_id": 4, "lead_time": 2.5},
]  # fmt: skip


def test_json_min_and_csv_of_label_studio_are_read(imported, tmp_path):
    cells = [{key: json.dumps(value) if isinstance(value, list | dict) else value for key, value in record.items()}
             for record in RECORDS]  # fmt: skip
    texts = {"json": json.dumps(RECORDS), "ndjson": "\n".join(map(json.dumps, RECORDS)),
             "csv": pd.DataFrame(cells).to_csv(index=False)}  # fmt: skip
    for kind, text in texts.items():
        (tmp_path / f"e.{kind}").write_text(text)
        dataset, summary = imported(tmp_path / f"e.{kind}")
        sample = dataset.first()
        assert boxes_of(dataset, "annotator_7_detections") == [[("cat", 0.1, 0.1, 0.3, 0.3)]], kind
        assert sample.annotator_8_detections.detections == []
        assert [tag.label for tag in sample.annotator_8_weather.classifications] == ["rain", "sun"]
        assert [(entry.name, entry.n_images) for entry in summary.annotators] == [("7", 1), ("8", 1)]


def test_a_table_that_we_export_of_labels_from_label_studio_is_a_table(imported, tmp_path):
    boxes = by("ann", ls_box(0, 0, 10, 10), lead_time=3), by("bob", ls_box(0, 0, 10, 20), lead_time=4)
    dataset, _ = imported([label_studio_task("1.jpg", *boxes)], size=(200, 100))
    summary = export_annotations(dataset, ["ann", "bob"], tmp_path / "x.csv", format="csv")
    assert (summary.left_out, summary.changed) == ((), ())
    copy, _ = imported(tmp_path / "x.csv")
    assert (boxes_of(copy, "ann"), copy.first().bob.detections[0].lead_time) == (boxes_of(dataset, "ann"), 4)
