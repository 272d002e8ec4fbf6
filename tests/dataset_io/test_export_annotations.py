"""Labels of several annotators in one file: exported and imported again, every label and assignment is the same."""

from __future__ import annotations

import csv
import json
import math

import fiftyone as fo
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from pycocotools.coco import COCO

from tests.chance import few
from tests.dataset_io.annotation_samples import dataset_of, sized
from tests.dataset_io.quick_runs import compute_quickly, refused
from tests.datasets import join_fields

import annotator_agreement as aa
from annotator_agreement.dataset_io import export_annotations

pytestmark = pytest.mark.usefixtures("delete_imports")

WIDTH, HEIGHT = 40, 20
NAMES = ("ann", "bob", "cid")
IMAGES = ("1.jpg", "a/2.jpg", "b/2.jpg")

_share = st.floats(0, 1, width=32)
_classes = st.sampled_from(["cat", "dog", "Ünï", 'a,b\n"c']) | st.none()
_attributes = st.fixed_dictionaries(
    {}, optional={"occluded": st.booleans(), "depth": st.integers(-3, 3), "weight": _share, "iscrowd": st.just(True)}
)
_point = st.tuples(_share, _share)


@st.composite
def _box(draw):
    x, y = draw(_share), draw(_share)
    size = [(1 - x) * draw(_share), (1 - y) * draw(_share)]
    assume(any(size))  # else it is no box
    return fo.Detection(label=draw(_classes), bounding_box=[x, y, *size],
                        confidence=draw(st.none() | _share), **draw(_attributes))  # fmt: skip


@st.composite
def _masked(draw):
    left, top = draw(st.integers(0, WIDTH - 1)), draw(st.integers(0, HEIGHT - 1))
    width, height = draw(st.integers(1, WIDTH - left)), draw(st.integers(1, HEIGHT - top))
    share, rng = draw(st.sampled_from([0.1, 0.5, 1])), np.random.default_rng(draw(st.integers(0, 99)))
    mask = rng.random((height, width)) < share
    mask[0, :] = mask[-1, :] = mask[:, 0] = mask[:, -1] = True  # the box is that of the pixels
    box = [left / WIDTH, top / HEIGHT, width / WIDTH, height / HEIGHT]
    return fo.Detection(label=draw(_classes), bounding_box=box, mask=mask, **draw(_attributes))


@st.composite
def _polygon(draw):
    rings = draw(st.lists(st.lists(_point, min_size=3, max_size=5), min_size=1, max_size=3))
    apart = [[((k + x) / len(rings), y) for x, y in ring] for k, ring in enumerate(rings)]
    return fo.Polyline(label=draw(_classes), points=apart, closed=True, filled=True, **draw(_attributes))


@st.composite
def _pose(draw):
    points = draw(st.lists(_point | st.just((math.nan, math.nan)), min_size=1, max_size=4))
    points[draw(st.integers(0, len(points) - 1))] = (0.5, 0.25)
    return fo.Keypoint(label=draw(_classes), points=points, **draw(_attributes))


KINDS = {"boxes": (fo.Detections, _box()), "masks": (fo.Detections, _masked()),
         "polygons": (fo.Polylines, _polygon()), "keypoints": (fo.Keypoints, _pose())}  # fmt: skip


def _values(kind):
    """What three annotators have on three images: not assigned, nothing drawn, or labels."""
    stored, label = KINDS[kind]
    lists = st.lists(label, max_size=2).map(lambda labels: stored(**{stored._LABEL_LIST_FIELD: labels}))
    return st.lists(st.tuples(*[st.none() | lists] * 3), min_size=3, max_size=3)


def _made(rows):
    dataset = sized(IMAGES, size=(WIDTH, HEIGHT))
    for k, name in enumerate(NAMES):
        values = [row[k] for row in rows]
        if any(value is not None for value in values):
            dataset.set_values(name, values, dynamic=True)
    return dataset


def _again(dataset, summary, images=IMAGES):
    """A dataset with the same images, imported by the call that the summary prints."""
    copy = dataset_of(images)
    (call,) = summary.calls
    eval(call, {"aa": aa, "dataset": copy})
    return copy


def _plain(label):
    """A label without its id; bytes of masks as pixels."""
    if label is None:
        return None
    values = {name: value for name, value in label.to_dict().items() if name not in ("_id", "mask")}
    if isinstance(label, fo.Detection) and label.mask is not None:
        values["mask"] = label.mask.tolist()
    return {name: value for name, value in values.items() if value is not None and value != []}


def _close(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_close(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_close, a, b))
    if isinstance(a, float) or (isinstance(b, float) and type(a) is int):  # whole numbers of a table with gaps
        return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12) or (a != a and b != b)
    return type(a) is type(b) and a == b


def _lists(dataset, field):
    """The labels of every image, None where the annotator was not assigned."""
    if not dataset.has_field(field):
        return [None] * len(dataset)
    return [value if value is None else [_plain(label) for label in value[value._LABEL_LIST_FIELD]]
            for value in dataset.values(field)]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("kind", few(KINDS, 2))
@pytest.mark.parametrize("format", ["coco", "label_studio", "csv"])
# without shrinking, which would make hundreds of datasets
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True,
          phases=[Phase.generate])  # fmt: skip
@given(data=st.data())
def test_exported_and_imported_again_all_is_the_same(tmp_path_factory, kind, format, data):
    dataset = _made(data.draw(_values(kind)))
    fields = [name for name in NAMES if dataset.has_field(name)]
    n_labels = sum(len(labels or ()) for name in fields for labels in _lists(dataset, name))
    if len(fields) < 2 or not n_labels:
        return
    path = tmp_path_factory.mktemp("out") / ("all.csv" if format == "csv" else "all.json")
    if kind == "keypoints" and format == "csv":
        refused(r"keypoints, which a table does not have", export_annotations, dataset, fields, path, format=format)
        return
    summary = export_annotations(dataset, fields, path, format=format)
    assert summary.left_out == ()
    copy = _again(dataset, summary)
    expected = {name: _lists(dataset, name) for name in fields}
    for label in (label for lists in expected.values() for found in lists for label in found or ()):
        if format == "label_studio":  # has no true and false
            flags = {key: label[key] for key in ("occluded", "iscrowd") if isinstance(label.get(key), bool)}
            label.update({key: str(value).lower() for key, value in flags.items()})
        if format == "csv" and kind == "masks":
            del label["mask"]
    found = {name: _lists(copy, name) for name in fields}
    pairs = [pair for name in fields for pair in zip(expected[name], found[name], strict=True)]
    assert not [pair for pair in pairs if not _close(*pair)]
    has = {key for name in fields for labels in _lists(dataset, name) for label in labels or () for key in label}
    lost = {"label_studio": {"occluded", "iscrowd"}, "csv": {"mask"}}.get(format, set())
    assert {line.split("`")[1] for line in summary.changed} == lost & has


def test_pycocotools_reads_holes_labels_without_a_class_and_what_is_no_crowd(tmp_path):
    def square(x, y, side):  # in pixels
        return [(a / WIDTH, b / HEIGHT) for a, b in ((x, y), (x + side, y), (x + side, y + side), (x, y + side))]

    drawn = {"hole": [square(0, 0, 12), square(4, 4, 4)], "parts": [square(14, 0, 3), square(20, 0, 5)],
             "crossing": [[(0.5, 0.5), (0.75, 1), (0.5, 1), (0.75, 0.5)]], None: [square(32, 2, 6)]}  # fmt: skip
    labels = [fo.Polyline(label=name, points=rings, closed=True, filled=True) for name, rings in drawn.items()]
    dataset = _made([(fo.Polylines(polylines=labels), fo.Polylines(), None), (None,) * 3, (None,) * 3])
    summary = export_annotations(dataset, ["ann", "bob"], tmp_path / "x.json")
    coco = COCO(tmp_path / "x.json")
    entries = coco.loadAnns(coco.getAnnIds(iscrowd=0))
    assert [entry["area"] for entry in entries] == [144 - 16, 9 + 25, 50, 36]
    assert [coco.annToMask(entry).sum() for entry in entries[::3] + entries[1:2]] == [144 - 16, 36, 9 + 25]
    assert [coco.cats[entry["category_id"]]["name"] for entry in entries] == ["hole", "parts", "crossing", ""]
    assert (summary.changed, _lists(_again(dataset, summary), "ann")) == ((), _lists(dataset, "ann"))


#: what spreadsheets run, what ends a row, and what stands before an apostrophe that hides it
TEXTS = ("=1+1", "+x", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\n=1", "a\rb", "a\r\nb", "'=1", "''-5", "'x", "'", "-5x",
         "-")  # fmt: skip


@pytest.mark.long
def test_a_table_holds_no_formula_and_gives_every_text_back(tmp_path):
    images = [f"{k}.jpg" for k in range(len(TEXTS))]
    dataset = sized(images, size=(WIDTH, HEIGHT))
    for k, sample in enumerate(dataset):
        labels = []
        for who, shift in ((TEXTS[k], 0.0), (TEXTS[k - 1], 0.01)):
            label = fo.Detection(label=TEXTS[k], bounding_box=[0.1, 0.1, 0.3, 0.3 + shift], rater=who)
            for number, name in enumerate(TEXTS):
                label[name] = TEXTS[k - number]
            labels.append(label)
        sample["both"] = fo.Detections(detections=labels)
        sample.save()
    path = tmp_path / "x.csv"
    summary = export_annotations(dataset, "both", path, format="csv", annotator_attribute="rater")
    assert (summary.left_out, summary.changed) == ((), ())
    with path.open(newline="") as file:
        cells = {cell for row in csv.reader(file) for cell in row}
    assert [cell for cell in cells if cell[:1] in tuple("=+-@\t\r\n")] == []
    copy = _again(dataset, summary, images)
    dataset.rename_sample_field("both.detections.rater", "both.detections.annotator")
    again, before = ([sorted(labels, key=lambda label: label["annotator"]) for labels in _lists(made, "both")]
                     for made in (copy, dataset))  # fmt: skip
    assert _close(again, before)


#: what tables are taken to say where they say nothing, as pandas documents it, and such a text behind an apostrophe
ABSENT = ("NA", "N/A", "null", "NULL", "None", "nan", "NaN", "#N/A", "<NA>", "", "'NA", "'", "none")


@pytest.mark.parametrize("make", [
    lambda text: fo.Classification(label=text),
    lambda text: fo.Detections(detections=[fo.Detection(label=text, bounding_box=[0.1, 0.1, 0.3, 0.3], note=text)]),
], ids=["classes", "boxes"])  # fmt: skip
def test_a_table_gives_texts_back_that_often_stand_for_nothing(tmp_path, make):
    images = [f"{k}.jpg" for k in range(len(ABSENT))]
    dataset = sized(images, size=(WIDTH, HEIGHT))
    for name in ("NA", "bob"):
        dataset.set_values(name, [make(text) for text in ABSENT], dynamic=True)
    summary = export_annotations(dataset, ["NA", "bob"], tmp_path / "x.csv", format="csv")
    assert (summary.left_out, summary.changed) == ((), ())
    copy = _again(dataset, summary, images)
    for name in ("NA", "bob"):
        plain = [value.to_dict() for found in (dataset, copy) for value in found.values(name)]
        texts = [(entry["detections"][0] if "detections" in entry else entry)["label"] for entry in plain]
        assert texts == [*ABSENT, *ABSENT]


def _tags(*texts):
    """Tags of images, a letter each; None for who was not asked."""
    return [None if text is None else fo.Classifications(classifications=[fo.Classification(label=tag) for tag in text])
            for text in texts]  # fmt: skip


VALUES = {
    "classes": [fo.Classification(label="x"), None, fo.Classification(label="y")],
    "numbers": [fo.Regression(value=2.5), fo.Regression(value=3.0), None],
    "tags": _tags("uv", "", None),
}


@pytest.mark.parametrize("format", ["label_studio", "csv"])
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.few(2)
def test_classes_numbers_and_tags(tmp_path, format, values):
    dataset = _made([(a, b, None) for a, b in zip(values, values[::-1], strict=True)])
    path = tmp_path / ("x.csv" if format == "csv" else "x.json")
    summary = export_annotations(dataset, ["ann", "bob"], path, format=format)
    assert (summary.left_out, summary.changed) == ((), ())
    copy = _again(dataset, summary)

    def said(value):
        several = value is not None and hasattr(value, "classifications")
        return [label.label for label in value.classifications] if several else value and _plain(value)

    for name in ("ann", "bob"):
        assert [said(value) for value in copy.values(name)] == [said(value) for value in dataset.values(name)]


def test_one_tag_an_image_comes_back_as_one_class_which_is_said(tmp_path):
    dataset = _made([(tag, tag.copy(), None) for tag in _tags("u", "v", "u")])
    summary = export_annotations(dataset, ["ann", "bob"], tmp_path / "x.csv", format="csv")
    assert summary.changed == ("Classifications that come back as Classification: 2 (ann, bob)",)
    assert [label.label for label in _again(dataset, summary).values("ann")] == ["u", "v", "u"]


def test_what_a_format_cannot_hold_is_said(tmp_path):
    line = fo.Polyline(label="road", points=[[(0.1, 0.1), (0.9, 0.9)]])
    area = fo.Polyline(label="lake", points=[[(0.1, 0.1), (0.9, 0.9), (0.1, 0.9)]], closed=True, tags=["sure"])
    dataset = _made([(fo.Polylines(polylines=[line, area]), fo.Polylines(), None)] * 3)
    summary = export_annotations(dataset, ["ann", "bob"], tmp_path / "x.json")
    said = "open lines, which COCO does not have: 3 (/images/1.jpg, /images/a/2.jpg, /images/b/2.jpg)"
    assert summary.left_out == (said,)
    assert [line.partition(": ")[0] for line in summary.changed] == [
        f"labels with another `{name}`, or without" for name in ("filled", "tags")]  # fmt: skip
    counts = [(entry.name, entry.n_images, entry.n_empty) for entry in summary.annotators]
    assert counts == [("ann", 3, 0), ("bob", 3, 3)]
    assert "Not the same when imported again" in str(summary)
    assert "aa.files.load(dataset, " in summary.to_markdown()
    kept = export_annotations(dataset, ["ann", "bob"], tmp_path / "y.json", format="label_studio")
    assert kept.left_out == ()
    assert [label.closed for label in _again(dataset, kept).first().ann.polylines] == [False, True]


def test_one_field_with_an_attribute(tmp_path):
    box = fo.Detection(label="cat", bounding_box=[0.1, 0.2, 0.3, 0.4])
    dataset = _made([(fo.Detections(detections=[box]), fo.Detections(), None), (None,) * 3, (None,) * 3])
    join_fields(dataset, ["ann", "bob"], "both")
    options = {"annotator_attribute": "annotator", "assigned_field": "both_assigned"}
    copy = _again(dataset, export_annotations(dataset, "both", tmp_path / "x.json", **options))
    assert copy.values("both_assigned") == [["ann", "bob"], None, None]
    assert _lists(copy, "both") == _lists(dataset, "both")


@pytest.mark.parametrize("format", ["coco", "csv", "label_studio"])
@pytest.mark.few(2)
def test_the_call_of_a_summary_reads_annotators_whose_fields_would_have_one_name(tmp_path, format):
    boxes = [fo.Detections(detections=[fo.Detection(label=name, bounding_box=[0.1, 0.2, 0.5, 0.5])]) for name in "xy"]
    dataset = _made([(boxes[0], boxes[1], None), (boxes[1], None, None), (None, None, None)])
    called = {"ann": "a-b", "bob": "a_b"}
    path = tmp_path / f"x.{'csv' if format == 'csv' else 'json'}"
    copy = _again(dataset, export_annotations(dataset, ["ann", "bob"], path, annotators=called, format=format))
    labels = copy.values("annotations.detections")
    assert [sorted((each.annotator, each.label) for each in of_image or ())
            for of_image in labels] == [[("a-b", "x"), ("a_b", "y")], [("a-b", "y")], []]  # fmt: skip


def test_label_studio_gets_the_consensus_as_a_prediction(tmp_path):
    boxes = [[0.1, 0.1, 0.2, 0.2], [0.1, 0.1, 0.2, 0.24], [0.1, 0.1, 0.2, 0.22]]
    values = [fo.Detections(detections=[fo.Detection(label="cat", bounding_box=box)]) for box in boxes]
    values[0].detections.append(fo.Detection(label="dog", bounding_box=[0.6, 0.6, 0.2, 0.2]))
    dataset = _made([tuple(value.copy() for value in values), (None,) * 3, (None,) * 3])
    compute_quickly(dataset, list(NAMES))
    summary = export_annotations(dataset.limit(1), "agreement", tmp_path / "x.json", format="label_studio")
    (task,) = json.loads((tmp_path / "x.json").read_text())
    (prediction,) = task["predictions"]
    (result,) = prediction["result"]
    assert prediction["model_version"] == "agreement_consensus"
    assert (result["value"]["rectanglelabels"], result["value"]["height"]) == (["cat"], pytest.approx(22))
    assert task["data"]["agreement_n_disputed"] == 1
    assert [entry["completed_by"] for entry in task["annotations"]] == [{"email": name} for name in NAMES]
    copy = _again(dataset, summary)
    assert len(copy.first().prediction_agreement_consensus.detections) == 1
    assert _lists(copy, "ann")[0] == _lists(dataset.limit(1), "ann")[0] or len(_lists(copy, "ann")[0]) == 2


def test_refusals(make_dataset, tmp_path):
    dataset = make_dataset()
    path = tmp_path / "x.json"
    for arguments, options, match in [
        (("nothing", path), {}, r"`labels` must be the key of a run, .* got 'nothing'; runs are \(none\)"),
        ((["alice", "bob"], path), {}, r"must have an image size to be exported, got 4 without"),
        ((["alice", "bob"], tmp_path / "x.txt"), {}, r"`path` must end in .json for the format 'coco'"),
        ((["alice", "bob"], path), {"format": "yolo"}, r"`format` must be one of coco, label_studio, csv"),
    ]:
        refused(match, export_annotations, dataset, *arguments, **options)
    assert list(tmp_path.iterdir()) == []
    dataset.set_values("metadata", [fo.ImageMetadata(width=WIDTH, height=HEIGHT)] * len(dataset))
    export_annotations(dataset, ["alice", "bob"], path)
    refused(r"There is a file at .* already", export_annotations, dataset, ["alice", "bob"], path)
    mails = {"alice": "a@x.org", "bob": "b@x.org"}
    export_annotations(dataset, ["alice", "bob"], path, annotators=mails, overwrite=True)
    assert json.loads(path.read_text())["images"][0]["rater_list"] == ["a@x.org", "b@x.org"]
    mails, table = {"alice": "a\0", "bob": "b"}, {"format": "csv"}
    say = r"must have no NUL character, got 'a\\x00'; say format='coco'"
    refused(say, export_annotations, dataset, [*mails], tmp_path / "x.csv", annotators=mails, **table)
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.long
def test_a_replaced_file_keeps_its_mode(tmp_path):
    from annotator_agreement.dataset_io.results import write_file

    path = tmp_path / "labels.json"
    write_file(path, b"1")
    for mode in (0o600, 0o400, 0o664):
        path.chmod(mode)
        write_file(path, b"2")
        assert path.stat().st_mode & 0o777 == mode
