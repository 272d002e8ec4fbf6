"""One label for every unit of boxes: against loops over the documents of the database."""

from __future__ import annotations

import math
import statistics

import fiftyone as fo
import numpy as np
import pytest

from tests.dataset_io.quick_runs import ANNOTATORS, LISTS, compute_quickly
from tests.dataset_io.shaped import HEIGHT, WIDTH, box, cut_out, polygon, rectangle, shapes_dataset
from tests.dataset_io.unit_oracle import assert_facts, documents_of, facts_of, median_box, nearest, units_in, units_of
from tests.datasets import detections, join_fields, random_annotators, stored

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import add_units, compute_agreement, delete_agreement
from annotator_agreement.dataset_io.record import run
from annotator_agreement.dataset_io.units import units_field


def test_every_unit_of_boxes_has_one_label_with_the_median_box(make_dataset):
    dataset = make_dataset(random_annotators(40, seed=3))
    report = compute_quickly(dataset)
    made = add_units(dataset)
    n_units = 0
    for document in documents_of(dataset):
        expected = units_of(document, LISTS)
        n_assigned = sum(document.get(name) is not None for name in ANNOTATORS)
        found = units_in(document)
        assert list(found) == sorted(expected)
        n_units += len(found)
        for unit_id, unit in found.items():
            assert_facts(unit, facts_of(expected[unit_id], n_assigned))
            assert unit["bounding_box"] == pytest.approx(median_box(expected[unit_id]), abs=1e-12)
    assert made == units_field.DerivedLabels("agreement_units", n_units, 0, 0, 0, 0)
    assert n_units >= report.n_units > 60
    verdicts = dataset.count_values("agreement_units.detections.verdict")
    assert {"agreed", "class_conflict", "missed", "lone", None} <= set(verdicts)
    assert {True, False} == set(dataset.distinct("agreement_units.detections.tie"))


def test_labels_read_with_fiftyone_are_ordinary_labels(make_dataset):
    dataset = make_dataset()
    compute_quickly(dataset)
    add_units(dataset)
    units = dataset.first().agreement_units.detections
    assert [(unit.label, unit.verdict, unit.votes, unit.annotators) for unit in units] == [
        ("cat", "agreed", 3, ANNOTATORS),
        ("dog", "agreed", 3, ANNOTATORS),
    ]
    assert units[0].tags == []
    assert dataset.values("agreement_units.detections.votes") == [[3, 3], [3, 2], [], [1], [1]]
    field = dataset.get_field("agreement_units")
    assert field.document_type is fo.Detections
    assert field.info == {"annotator_agreement": "agreement"}
    assert isinstance(dataset.get_field("agreement_units.detections.mean_iou"), fo.FloatField)
    assert dataset.get_field("agreement_units.detections.verdict").description
    assert "agreement_units" in run.Run(dataset, "agreement").config["fields_written"]


def test_units_of_one_field_with_several_annotators(make_dataset):
    dataset = make_dataset(random_annotators(15, seed=2))
    join_fields(dataset, ANNOTATORS, "labels")
    compute_quickly(dataset, "labels", annotator_attribute="annotator")
    add_units(dataset)
    for document in documents_of(dataset):
        members = {}
        for label in document["labels"]["detections"]:
            members.setdefault(label["agreement_id"], {})[label["annotator"]] = label
        found = units_in(document)
        assert set(found) == set(members)
        for unit_id, unit in found.items():
            assert_facts(unit, facts_of(dict(sorted(members[unit_id].items())), 3))
            assert unit["bounding_box"] == pytest.approx(median_box(members[unit_id]), abs=1e-12)


CLASSES = {
    "names that stand for others": (["Car ", "car", "bus"], "car", ["car", "car", "bus"]),
    "no class": ([None, None, "bus"], None, ["(no label)", "(no label)", "bus"]),
}


@pytest.mark.parametrize(("given", "label", "classes"), CLASSES.values(), ids=CLASSES)
def test_every_label_has_a_vote_for_the_class_that_it_stands_for(make_dataset, given, label, classes):
    place = (0.1, 0.2, 0.4, 0.3)
    dataset = make_dataset({name: [[(own, place)]] for name, own in zip(ANNOTATORS, given, strict=True)})
    compute_quickly(dataset, aliases={"Car ": "car"})
    add_units(dataset)
    (unit,) = dataset.first().agreement_units.detections
    assert (unit.label, unit.classes, unit.tie, unit.verdict) == (label, classes, False, "class_conflict")


def test_crowd_regions_are_no_units(make_dataset):
    crowd = fo.Detections(detections=[fo.Detection(label="cat", bounding_box=[0.1, 0.1, 0.5, 0.5], iscrowd=True)])
    dataset = make_dataset({})
    one = detections([("cat", (0.7, 0.7, 0.2, 0.1))])
    dataset.add_samples([fo.Sample("1.jpg", alice=crowd, bob=one)], dynamic=True)
    compute_quickly(dataset, ["alice", "bob"])
    add_units(dataset)
    assert dataset.values("agreement_units.detections.annotators") == [[["bob"]]]


def test_samples_that_the_run_did_not_compare_have_no_units(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset.limit(2), ANNOTATORS, resamples=0)
    before = dataset.values("last_modified_at")
    add_units(dataset)
    assert dataset.values("agreement_units.detections.votes") == [[3, 3], [3, 2], None, None, None]
    assert dataset.values("last_modified_at")[2:] == before[2:]


# ---- one label for every unit of other label types than boxes: medoids, medians and pixel votes ----


def _images():
    """Three masks of one object, one of another, and the box of a third annotator."""
    rng = np.random.default_rng(5)
    images = np.zeros((4, HEIGHT, WIDTH), np.bool_)
    for k, (x, y, w, h) in enumerate([(3, 2, 12, 9), (4, 2, 12, 9), (3, 3, 13, 9), (25, 8, 9, 7)]):
        images[k, y : y + h, x : x + w] = rng.random((h, w)) < 0.95
    return images


@pytest.mark.parametrize("in_files", [False, True])
@pytest.mark.few(1)
def test_units_of_masks_are_the_mask_nearest_to_the_rest_which_stays_in_its_file(make_dataset, tmp_path, in_files):
    images = _images()
    drawn = {"alice": [0], "bob": [1, 3], "carol": [2]}
    labels = {name: [cut_out(images[k]) for k in of] for name, of in drawn.items()}
    for name, of in labels.items():
        for k, label in enumerate(of if in_files else ()):
            label.export_mask(str(tmp_path / f"{name}{k}.png"), update=True)
    dataset = shapes_dataset(make_dataset, labels)
    compute_quickly(dataset)
    add_units(dataset)
    (document,) = documents_of(dataset)
    found = units_in(document)
    assert len(found) == 2
    for unit_id, members in units_of(document, LISTS).items():
        expected = nearest(members)
        for name in ("bounding_box", "mask", "mask_path"):
            assert found[unit_id].get(name) == expected.get(name)
    assert (dataset.first().agreement_units.detections[0].mask is None) == in_files


@pytest.mark.long
def test_units_of_polylines_are_the_one_nearest_to_the_rest(make_dataset):
    places = [(3, 2, 12, 9), (4, 2, 12, 9), (4, 2.5, 12, 9)]
    dataset = shapes_dataset(
        make_dataset, {name: [polygon(rectangle(*places[k]), filled=k > 0)] for k, name in enumerate(ANNOTATORS)}
    )
    compute_quickly(dataset)
    add_units(dataset)
    (document,) = documents_of(dataset)
    ((unit_id, members),) = units_of(document, dict.fromkeys(ANNOTATORS, "polylines")).items()
    unit = units_in(document, list_name="polylines")[unit_id]
    expected = nearest(members)
    assert expected is members["bob"]
    assert [unit[name] for name in ("points", "closed", "filled")] == [
        expected[name] for name in ("points", "closed", "filled")
    ]
    assert dataset.get_field("agreement_units").document_type is fo.Polylines


@pytest.mark.long
def test_boxes_and_polylines_together_have_the_median_of_the_boxes_around_them(make_dataset):
    alice, bob, carol = box(3, 2, 12, 9), polygon(rectangle(4, 2, 12, 9)), box(4, 3, 13, 9)
    dataset = shapes_dataset(make_dataset, {"alice": [alice], "bob": [bob], "carol": [carol]})
    compute_quickly(dataset)
    add_units(dataset)
    (unit,) = dataset.first().agreement_units.detections
    assert np.multiply(unit.bounding_box, [WIDTH, HEIGHT] * 2) == pytest.approx([4, 2, 12, 9])
    assert unit.annotators == ANNOTATORS


@pytest.mark.long
def test_units_of_keypoints_are_medians_of_every_point(make_dataset):
    nan = math.nan
    points = {
        "alice": [[0.1, 0.2], [0.30, 0.40], [0.5, 0.60], [nan, nan]],
        "bob": [[0.11, 0.2], [0.31, 0.42], [nan, nan], [nan, nan]],
        "carol": [[0.12, 0.21], [0.33, 0.41], [0.52, 0.62], [0.8, 0.8]],
    }
    dataset = make_dataset({})
    dataset.add_samples(
        [
            fo.Sample(
                "1.jpg",
                metadata=fo.ImageMetadata(width=400, height=100),
                **{name: fo.Keypoints(keypoints=[fo.Keypoint(label="p", points=of)]) for name, of in points.items()},
            )
        ]
    )
    compute_quickly(dataset, iou=0.2)
    add_units(dataset)
    (unit,) = dataset.first().agreement_units.keypoints
    for k in range(3):
        labelled = [of[k] for of in points.values() if of[k][0] == of[k][0]]
        assert unit.points[k] == pytest.approx([statistics.median(axis) for axis in zip(*labelled, strict=True)])
    assert all(map(math.isnan, unit.points[3]))
    assert unit.annotators == ANNOTATORS


@pytest.mark.long
def test_units_of_temporal_detections_are_medians_of_their_ends(make_videos):
    dataset = make_videos([{}])
    sample = dataset.first()
    for name, support in {"alice": [3, 20], "bob": [4, 23], "carol": [8, 21]}.items():
        sample[name] = fo.TemporalDetections(detections=[fo.TemporalDetection(label="run", support=support)])
    sample.save()
    compute_quickly(dataset)
    add_units(dataset)
    compute_quickly(dataset, ["alice", "bob"], run_key="two")
    add_units(dataset, "two")
    assert dataset.first().agreement_units.detections[0].support == [4, 21]
    assert dataset.first().two_units.detections[0].support == [3, 21]  # 3.5 and 21.5


@pytest.mark.long
def test_units_of_frames_are_written_on_frames(make_videos):
    labels = random_annotators(6, seed=5)
    dataset = make_videos([{name: [detections(entry) for entry in labels[name]] for name in ANNOTATORS}] * 2)
    before = stored(dataset)
    compute_quickly(dataset, [f"frames.{name}" for name in ANNOTATORS])
    made = add_units(dataset)
    assert made.field == "frames.agreement_units"
    n_units = 0
    for document in dataset._frame_collection.find({}):
        expected, found = units_of(document, LISTS), units_in(document)
        assert set(found) == set(expected)
        n_units += len(found)
        for unit_id, unit in found.items():
            assert unit["bounding_box"] == pytest.approx(median_box(expected[unit_id]), abs=1e-12)
            assert unit["votes"] == len(expected[unit_id])
    assert n_units == made.n_labels > 20
    delete_agreement(dataset)
    assert stored(dataset) == before


def _painted(label, size=(WIDTH, HEIGHT)):
    """The pixels of a detection on its image, as FiftyOne paints them."""
    return label.to_segmentation(frame_size=size).mask > 0


@pytest.mark.long
def test_the_pixels_of_a_unit_are_those_that_half_of_its_masks_have_and_boxes_and_lines_have_none(make_dataset):
    images = _images()
    drawn = {"alice": [0], "bob": [1, 3], "carol": [2]}
    dataset = shapes_dataset(make_dataset, {name: [cut_out(images[k]) for k in of] for name, of in drawn.items()})
    compute_quickly(dataset)
    add_units(dataset, shapes="vote")
    units = {len(unit.annotators): unit for unit in dataset.first().agreement_units.detections}
    assert (_painted(units[3]) == (images[:3].sum(axis=0) >= 2)).all()
    assert (_painted(units[1]) == images[3]).all()
    boxes = make_dataset()
    compute_quickly(boxes)
    add_units(boxes, shapes="vote")
    assert boxes.values("agreement_units.detections.mask", unwind=True) == [None] * 6
    line = [[(0.1, 0.2), (0.6, 0.7)]]
    lines = {name: [fo.Polyline(label="lane", points=line)] for name in ("alice", "bob")}
    dataset = shapes_dataset(make_dataset, lines)
    compute_quickly(dataset, ["alice", "bob"], line_tolerance=1.0)
    with pytest.raises(AgreementInputError, match='`shapes` must be "medoid" for lines'):
        add_units(dataset, shapes="vote")
    add_units(dataset)
    assert dataset.first().agreement_units.polylines[0].points == dataset.first().alice.polylines[0].points
