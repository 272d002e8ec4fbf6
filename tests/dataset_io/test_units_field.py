"""One label for every unit: against loops over the documents, for every label type, and safe at any moment."""

from __future__ import annotations

import itertools
import logging
import math
import statistics

import fiftyone as fo
import numpy as np
import pytest
from bson import ObjectId

from tests.dataset_io.shaped import HEIGHT, WIDTH, box, cut_out, polygon, rectangle, shapes_dataset
from tests.dataset_io.test_killed import killable  # noqa: F401 - a fixture
from tests.dataset_io.unit_oracle import documents_of, facts_of, median_box, nearest, units_of
from tests.datasets import detections, random_annotators, stored, user_values

from annotator_agreement import (
    AgreementInputError,
    add_units,
    compute_agreement,
    delete_agreement,
    list_agreements,
    load_agreement,
    rename_agreement,
)
from annotator_agreement.dataset_io import made_labels, read, runs

ANNOTATORS = ["alice", "bob", "carol"]
LISTS = dict.fromkeys(ANNOTATORS, "detections")
FACTS = ("label", "tie", "verdict", "votes", "of", "annotators", "classes")


def _compute(dataset, fields=ANNOTATORS, **options):
    return compute_agreement(dataset, fields, resamples=0, sensitivity=False, **options)


def _assert_facts(unit, expected):
    assert {name: unit[name] for name in FACTS} == {name: expected[name] for name in FACTS}
    assert unit["mean_iou"] == pytest.approx(expected["mean_iou"], abs=1e-12)


def _units(document, path="agreement_units", list_name="detections"):
    return {unit["unit"]: unit for unit in (document.get(path) or {}).get(list_name) or []}


# ---- what is written ----


def test_every_unit_of_boxes_has_one_label_with_the_median_box(make_dataset):
    dataset = make_dataset(random_annotators(40, seed=3))
    report = _compute(dataset)
    made = add_units(dataset)
    n_units = 0
    for document in documents_of(dataset):
        expected = units_of(document, LISTS)
        n_assigned = sum(document.get(name) is not None for name in ANNOTATORS)
        found = _units(document)
        assert list(found) == sorted(expected)
        n_units += len(found)
        for unit_id, unit in found.items():
            _assert_facts(unit, facts_of(expected[unit_id], n_assigned))
            assert unit["bounding_box"] == pytest.approx(median_box(expected[unit_id]), abs=1e-12)
    assert made == made_labels.MadeLabels("agreement_units", n_units, 0, 0, 0)
    assert n_units >= report.n_units > 60
    verdicts = dataset.count_values("agreement_units.detections.verdict")
    assert {"agreed", "class_conflict", "missed", "lone", None} <= set(verdicts)
    assert {True, False} == set(dataset.distinct("agreement_units.detections.tie"))


def test_labels_read_with_fiftyone_are_ordinary_labels(make_dataset):
    dataset = make_dataset()
    _compute(dataset, units=True)
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
    assert "agreement_units" in runs.read_config(dataset, "agreement")["fields_written"]


def test_no_unit_depends_on_the_order_of_annotators_samples_or_labels(make_dataset):
    labels = random_annotators(15, seed=8)
    dataset = make_dataset(labels)
    ids = [[[label.id for label in labels.detections] if labels else None for labels in dataset.values(name)]
           for name in ANNOTATORS]  # fmt: skip
    _compute(dataset, units=True)
    turned = make_dataset({name: labels[name][::-1] for name in ANNOTATORS})
    for sample, k in zip(turned, reversed(range(15)), strict=True):
        for name, of_name in zip(ANNOTATORS, ids, strict=True):
            if sample[name] is not None:
                for label, label_id in zip(sample[name].detections, of_name[k], strict=True):
                    label.id = label_id
                sample[name].detections = sample[name].detections[::-1]
        sample.save()
    _compute(turned, ANNOTATORS[::-1], units=True)

    def without_ids(dataset):
        found = [list(_units(document).values()) for document in documents_of(dataset)]
        return [[{**unit, "_id": None} for unit in of] for of in found]

    assert without_ids(turned) == without_ids(dataset)[::-1]


def test_units_of_one_field_with_several_annotators(make_dataset):
    dataset = make_dataset(random_annotators(15, seed=2))
    for sample in dataset.iter_samples(autosave=True):
        every = []
        for name in ANNOTATORS:
            for label in sample[name].detections if sample[name] else []:
                copied = label.copy()
                copied["rater"] = name
                every.append(copied)
        sample["labels"] = fo.Detections(detections=every)
    compute_agreement(dataset, "labels", annotator_attribute="rater", resamples=0, units=True)
    for document in documents_of(dataset):
        members = {}
        for label in document["labels"]["detections"]:
            members.setdefault(label["agreement_id"], {})[label["rater"]] = label
        found = _units(document)
        assert set(found) == set(members)
        for unit_id, unit in found.items():
            _assert_facts(unit, facts_of(dict(sorted(members[unit_id].items())), 3))
            assert unit["bounding_box"] == pytest.approx(median_box(members[unit_id]), abs=1e-12)


def test_names_that_stand_for_others_count_as_one_class(make_dataset):
    place = (0.1, 0.2, 0.4, 0.3)
    dataset = make_dataset({"alice": [[("Car ", place)]], "bob": [[("car", place)]], "carol": [[("bus", place)]]})
    _compute(dataset, aliases={"Car ": "car"}, units=True)
    (unit,) = dataset.first().agreement_units.detections
    assert (unit.label, unit.classes, unit.tie, unit.verdict) == ("car", ["car", "car", "bus"], False, "class_conflict")


def test_a_label_without_a_class_has_a_vote_like_any_other(make_dataset):
    place = (0.1, 0.2, 0.4, 0.3)
    dataset = make_dataset({"alice": [[(None, place)]], "bob": [[(None, place)]], "carol": [[("bus", place)]]})
    _compute(dataset, units=True)
    (unit,) = dataset.first().agreement_units.detections
    assert (unit.label, unit.classes, unit.tie) == (None, ["(no label)", "(no label)", "bus"], False)


def test_crowd_regions_are_no_units(make_dataset):
    crowd = fo.Detections(detections=[fo.Detection(label="cat", bounding_box=[0.1, 0.1, 0.5, 0.5], iscrowd=True)])
    dataset = make_dataset({})
    one = detections([("cat", (0.7, 0.7, 0.2, 0.1))])
    dataset.add_samples([fo.Sample("1.jpg", alice=crowd, bob=one)], dynamic=True)
    _compute(dataset, ["alice", "bob"], units=True)
    assert dataset.values("agreement_units.detections.annotators") == [[["bob"]]]


def test_samples_of_all_group_slices_have_units(make_dataset):
    dataset = make_dataset({})
    dataset.add_group_field("group", default="left")
    group = fo.Group()
    labels = random_annotators(2, seed=4)
    dataset.add_samples(
        [
            fo.Sample(
                f"{side}.jpg", group=group.element(side), **{name: detections(labels[name][k]) for name in labels}
            )
            for k, side in enumerate(("left", "right"))
        ]
    )
    _compute(dataset, units=True)
    for document in documents_of(dataset):
        assert set(_units(document)) == set(units_of(document, LISTS))
    assert sum(len(_units(document)) for document in documents_of(dataset)) > 4


def test_samples_that_the_run_did_not_compare_have_no_units(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset.limit(2), ANNOTATORS, resamples=0)
    before = dataset.values("last_modified_at")
    add_units(dataset)
    assert dataset.values("agreement_units.detections.votes") == [[3, 3], [3, 2], None, None, None]
    assert dataset.values("last_modified_at")[2:] == before[2:]


# ---- other label types ----


def _images():
    """Three masks of one object, one of another, and the box of a third annotator."""
    rng = np.random.default_rng(5)
    images = np.zeros((4, HEIGHT, WIDTH), np.bool_)
    for k, (x, y, w, h) in enumerate([(3, 2, 12, 9), (4, 2, 12, 9), (3, 3, 13, 9), (25, 8, 9, 7)]):
        images[k, y : y + h, x : x + w] = rng.random((h, w)) < 0.95
    return images


def test_units_of_masks_are_the_mask_nearest_to_the_rest(make_dataset):
    images = _images()
    dataset = shapes_dataset(
        make_dataset,
        {"alice": [cut_out(images[0])], "bob": [cut_out(images[1]), cut_out(images[3])], "carol": [cut_out(images[2])]},
    )
    _compute(dataset, units=True)
    (document,) = documents_of(dataset)
    found = _units(document)
    assert len(found) == 2
    for unit_id, members in units_of(document, LISTS).items():
        expected = nearest(members)
        assert (found[unit_id]["bounding_box"], found[unit_id]["mask"]) == (expected["bounding_box"], expected["mask"])
    assert dataset.first().agreement_units.detections[0].mask.dtype == bool


def test_masks_in_files_stay_in_their_files(make_dataset, tmp_path):
    images = _images()
    labels = {name: cut_out(images[k]) for k, name in enumerate(ANNOTATORS)}
    for name, label in labels.items():
        label.export_mask(str(tmp_path / f"{name}.png"), update=True)
    dataset = shapes_dataset(make_dataset, {name: [label] for name, label in labels.items()})
    _compute(dataset, units=True)
    (document,) = documents_of(dataset)
    ((unit_id, members),) = units_of(document, LISTS).items()
    assert _units(document)[unit_id]["mask_path"] == nearest(members)["mask_path"]
    assert "mask" not in _units(document)[unit_id]


def test_a_unit_of_boxes_among_masks_has_the_median_box(make_dataset):
    images = _images()
    places = {"alice": (20, 4, 10, 8), "bob": (21, 5, 10, 8), "carol": (22, 4, 10, 9)}
    masks = dict(zip(ANNOTATORS, images, strict=False))
    dataset = shapes_dataset(make_dataset, {name: [cut_out(masks[name]), box(*places[name])] for name in ANNOTATORS})
    _compute(dataset, units=True)
    (document,) = documents_of(dataset)
    found = _units(document)
    for unit_id, members in units_of(document, LISTS).items():
        if "mask" in members["alice"]:
            assert found[unit_id]["mask"] == nearest(members)["mask"]
        else:
            assert "mask" not in found[unit_id]
            assert found[unit_id]["bounding_box"] == pytest.approx(median_box(members), abs=1e-12)


def test_units_of_polylines_are_the_one_nearest_to_the_rest(make_dataset):
    places = [(3, 2, 12, 9), (4, 2, 12, 9), (4, 2.5, 12, 9)]
    dataset = shapes_dataset(
        make_dataset,
        {name: [polygon(rectangle(*places[k]), filled=k > 0)] for k, name in enumerate(ANNOTATORS)},
    )
    _compute(dataset, units=True)
    (document,) = documents_of(dataset)
    ((unit_id, members),) = units_of(document, dict.fromkeys(ANNOTATORS, "polylines")).items()
    unit = _units(document, list_name="polylines")[unit_id]
    expected = nearest(members)
    assert expected is members["bob"]
    assert [unit[name] for name in ("points", "closed", "filled")] == [
        expected[name] for name in ("points", "closed", "filled")
    ]
    assert dataset.get_field("agreement_units").document_type is fo.Polylines


def test_equally_near_shapes_go_by_the_name_of_the_annotator(make_dataset):
    shape = rectangle(3, 2, 12, 9)
    dataset = shapes_dataset(make_dataset, {"bob": [polygon(shape[1:] + shape[:1])], "alice": [polygon(shape)]})
    _compute(dataset, ["bob", "alice"], units=True)
    assert dataset.first().agreement_units.polylines[0].points == dataset.first().alice.polylines[0].points


def test_boxes_and_polylines_together_have_the_median_of_the_boxes_around_them(make_dataset):
    places = {"alice": (3, 2, 12, 9), "bob": (4, 2, 12, 9), "carol": (4, 3, 13, 9)}
    dataset = shapes_dataset(
        make_dataset,
        {
            "alice": [box(*places["alice"])],
            "bob": [polygon(rectangle(*places["bob"]))],
            "carol": [box(*places["carol"])],
        },
    )
    _compute(dataset, units=True)
    (unit,) = dataset.first().agreement_units.detections
    assert np.multiply(unit.bounding_box, [WIDTH, HEIGHT] * 2) == pytest.approx([4, 2, 12, 9])
    assert unit.annotators == ANNOTATORS


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
    _compute(dataset, iou=0.2, units=True)
    (unit,) = dataset.first().agreement_units.keypoints
    for k in range(3):
        labelled = [of[k] for of in points.values() if of[k][0] == of[k][0]]
        assert unit.points[k] == pytest.approx([statistics.median(axis) for axis in zip(*labelled, strict=True)])
    assert all(map(math.isnan, unit.points[3]))
    assert unit.annotators == ANNOTATORS


def test_units_of_temporal_detections_are_medians_of_their_ends(make_videos):
    dataset = make_videos([{}])
    sample = dataset.first()
    for name, support in {"alice": [3, 20], "bob": [4, 23], "carol": [8, 21]}.items():
        sample[name] = fo.TemporalDetections(detections=[fo.TemporalDetection(label="run", support=support)])
    sample.save()
    _compute(dataset, units=True)
    _compute(dataset, ["alice", "bob"], run_key="two", units=True)
    assert dataset.first().agreement_units.detections[0].support == [4, 21]
    assert dataset.first().two_units.detections[0].support == [3, 21]  # 3.5 and 21.5


def test_units_of_frames_are_written_on_frames(make_videos):
    labels = random_annotators(6, seed=5)
    dataset = make_videos([{name: [detections(entry) for entry in labels[name]] for name in ANNOTATORS}] * 2)
    before = stored(dataset)
    made = _compute(dataset, [f"frames.{name}" for name in ANNOTATORS])
    made = add_units(dataset)
    assert made.field == "frames.agreement_units"
    n_units = 0
    for document in dataset._frame_collection.find({}):
        expected, found = units_of(document, LISTS), _units(document)
        assert set(found) == set(expected)
        n_units += len(found)
        for unit_id, unit in found.items():
            assert unit["bounding_box"] == pytest.approx(median_box(expected[unit_id]), abs=1e-12)
            assert unit["votes"] == len(expected[unit_id])
    assert n_units == made.n_labels > 20
    delete_agreement(dataset)
    assert stored(dataset) == before


# ---- pixels ----


def _painted(label, size=(WIDTH, HEIGHT)):
    """The pixels of a detection on its image, as FiftyOne paints them."""
    return label.to_segmentation(frame_size=size).mask > 0


def test_the_pixels_of_a_unit_are_those_that_half_of_its_masks_have(make_dataset):
    images = _images()
    dataset = shapes_dataset(
        make_dataset,
        {"alice": [cut_out(images[0])], "bob": [cut_out(images[1]), cut_out(images[3])], "carol": [cut_out(images[2])]},
    )
    _compute(dataset)
    add_units(dataset, shapes="vote")
    units = {len(unit.annotators): unit for unit in dataset.first().agreement_units.detections}
    assert (_painted(units[3]) == (images[:3].sum(axis=0) >= 2)).all()
    assert (_painted(units[1]) == images[3]).all()


def test_the_pixels_of_polygons_and_boxes_are_voted_on_too(make_dataset):
    places = [(3, 2, 12, 9), (4, 2, 12, 9), (4, 3, 13, 8)]
    dataset = shapes_dataset(
        make_dataset,
        {
            "alice": [polygon(rectangle(*places[0]))],
            "bob": [box(*places[1])],
            "carol": [polygon(rectangle(*places[2]))],
        },
    )
    _compute(dataset)
    add_units(dataset, shapes="vote")
    expected = np.zeros((HEIGHT, WIDTH), np.int64)
    for x, y, w, h in places:
        expected[y : y + h, x : x + w] += 1
    assert (_painted(dataset.first().agreement_units.detections[0]) == (expected >= 2)).all()
    assert dataset.get_field("agreement_units").document_type is fo.Detections


def test_boxes_have_no_pixels_to_vote_on(make_dataset):
    dataset = make_dataset()
    _compute(dataset)
    add_units(dataset, shapes="vote")
    assert dataset.values("agreement_units.detections.mask", unwind=True) == [None] * 6


def test_lines_have_no_pixels(make_dataset):
    line = [[(0.1, 0.2), (0.6, 0.7)]]
    lines = {name: [fo.Polyline(label="lane", points=line)] for name in ("alice", "bob")}
    dataset = shapes_dataset(make_dataset, lines)
    _compute(dataset, ["alice", "bob"], line_tolerance=1.0)
    with pytest.raises(AgreementInputError, match='`shapes` must be "medoid" for lines'):
        add_units(dataset, shapes="vote")
    add_units(dataset)
    assert dataset.first().agreement_units.polylines[0].points == dataset.first().alice.polylines[0].points


# ---- labels that changed since the run ----


def _set(dataset, update, **options):
    sample_id = dataset.first()._id
    dataset._sample_collection.update_one({"_id": sample_id}, update, **options)


CHANGES = {
    "deleted": {"$pull": {"alice.detections": {"label": "cat"}}},
    "copied": {"$push": {"alice.detections": None}},
    "unusable": {"$set": {"alice.detections.0.bounding_box": [0.1, 0.2, -1, 0.3]}},
    "without a vote": {"$set": {"alice.detections.0.agreement_votes": "three"}},
    "with another verdict": {"$set": {f"{name}.detections.0.agreement": "fine" for name in ANNOTATORS}},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_unit_whose_labels_changed_is_left_out_and_counted(make_dataset, change):
    dataset = make_dataset()
    _compute(dataset)
    update = CHANGES[change]
    if change == "copied":
        label = next(documents_of(dataset))["alice"]["detections"][0]
        update = {"$push": {"alice.detections": {**label, "_id": ObjectId()}}}
    _set(dataset, update)
    made = add_units(dataset)
    assert (made.n_left_out, made.n_labels) == (1, 5)
    assert dataset.values("agreement_units.detections.label")[0] == ["dog"]


def test_a_label_given_to_somebody_else_leaves_its_unit(make_dataset):
    dataset = make_dataset({})
    labels = [fo.Detection(label="cat", bounding_box=[0.1, 0.1, 0.4, 0.3], rater=name) for name in ANNOTATORS]
    dataset.add_samples([fo.Sample("1.jpg", labels=fo.Detections(detections=labels))], dynamic=True)
    compute_agreement(dataset, "labels", annotator_attribute="rater", resamples=0)
    _set(dataset, {"$set": {"labels.detections.0.rater": "dave"}})
    assert add_units(dataset).n_left_out == 1
    _set(dataset, {"$set": {"labels.detections.0.rater": "bob"}})
    assert add_units(dataset, overwrite=True).n_left_out == 1
    _set(dataset, {"$set": {"labels.detections.0.rater": "alice"}})
    assert add_units(dataset, overwrite=True).n_left_out == 0


def test_class_and_extent_are_those_of_now_and_the_rest_is_what_the_run_found(make_dataset):
    dataset = make_dataset()
    _compute(dataset)
    sample = dataset.first()
    for name in ("alice", "bob"):
        sample[name].detections[0].label = "lynx"
        sample[name].detections[0].bounding_box = [0.2, 0.1, 0.2, 0.4]
    sample.carol.detections.append(fo.Detection(label="new", bounding_box=[0.8, 0.8, 0.1, 0.1]))
    sample.save()
    made = add_units(dataset)
    unit = dataset.first().agreement_units.detections[0]
    assert made.n_left_out == 0
    assert (unit.label, unit.verdict, unit.mean_iou) == ("lynx", "agreed", pytest.approx(1.0))
    assert unit.bounding_box == pytest.approx([0.2, 0.1, 0.2, 0.4])


# ---- life ----


def test_units_are_removed_with_the_run(make_dataset):
    dataset = make_dataset(random_annotators(12))
    before = stored(dataset)
    _compute(dataset, units=True)
    assert dataset.count("agreement_units.detections") > 10
    delete_agreement(dataset)
    assert stored(dataset) == before


def test_units_are_removed_after_fiftyone_deleted_the_run(make_dataset):
    dataset = make_dataset()
    before = stored(dataset)
    _compute(dataset, units=True)
    dataset.delete_run("agreement")
    delete_agreement(dataset)
    assert stored(dataset) == before


def test_units_are_renamed_with_the_run(make_dataset):
    dataset = make_dataset()
    before = stored(dataset)
    _compute(dataset, units=True)
    units = [_units(document) for document in documents_of(dataset)]
    rename_agreement(dataset, "agreement", "first")
    assert [_units(document, "first_units") for document in documents_of(dataset)] == units
    assert dataset.get_field("first_units").info == {"annotator_agreement": "first"}
    assert dataset.first().first_units.detections[0].votes == 3
    with pytest.raises(AgreementInputError, match="`first_units` must be new, but it was made before"):
        add_units(dataset, "first")
    add_units(dataset, "first", overwrite=True)
    delete_agreement(dataset, "first")
    assert stored(dataset) == before


def test_units_of_a_run_that_fiftyone_renamed(make_dataset):
    dataset = make_dataset()
    before = stored(dataset)
    _compute(dataset)
    dataset.rename_run("agreement", "other")
    assert add_units(dataset, "other").field == "agreement_units"
    delete_agreement(dataset, "other")
    assert stored(dataset) == before


def test_a_run_that_is_replaced_loses_its_units(make_dataset):
    dataset = make_dataset()
    _compute(dataset, units=True)
    _compute(dataset, overwrite=True)
    assert dataset.get_field("agreement_units") is None
    assert not [document for document in documents_of(dataset) if "agreement_units" in document]


def test_a_view_of_units_cannot_be_the_view_of_a_run_that_replaces_them(make_dataset):
    dataset = make_dataset()
    _compute(dataset, units=True)
    view = dataset.match(fo.ViewField("agreement_units.detections").length() > 0)
    with pytest.raises(AgreementInputError, match="a view that uses `agreement_units`"):
        _compute(view, overwrite=True)


def test_units_are_made_anew_only_on_request(make_dataset):
    dataset = make_dataset()
    _compute(dataset, units=True)
    sample = dataset.first()
    sample.agreement_units.detections[0].tags.append("mine")
    sample.save()
    with pytest.raises(
        AgreementInputError, match="must be new, but it was made before; replace it with overwrite=True"
    ):
        add_units(dataset)
    assert dataset.count_label_tags("agreement_units") == {"mine": 1}
    add_units(dataset, overwrite=True)
    assert dataset.count_label_tags("agreement_units") == {}


def test_units_cannot_be_an_annotator(make_dataset):
    dataset = make_dataset()
    _compute(dataset, units=True)
    with pytest.raises(AgreementInputError, match="'agreement_units', which the run 'agreement' wrote"):
        compute_agreement(dataset, ["alice", "agreement_units"], run_key="other")


def test_a_copy_of_units_belongs_to_the_user(make_dataset):
    dataset = make_dataset()
    _compute(dataset, units=True)
    dataset.clone_sample_field("agreement_units", "kept")
    rename_agreement(dataset, "agreement", "first")
    delete_agreement(dataset, "first")
    assert dataset.count("kept.detections") == 6
    assert "kept" in dataset.get_field_schema()


@pytest.mark.parametrize("state", ["declared", "undeclared"])
def test_a_field_of_that_name_that_is_somebody_elses_is_left_alone(make_dataset, state):
    dataset = make_dataset()
    _compute(dataset)
    if state == "declared":
        dataset.add_sample_field("agreement_units", fo.StringField)
    else:
        dataset._sample_collection.update_one({"_id": dataset.first()._id}, {"$set": {"agreement_units": "mine"}})
    before = stored(dataset)
    with pytest.raises(AgreementInputError, match="`agreement_units` must be free"):
        add_units(dataset)
    assert stored(dataset) == before


def test_labels_that_are_no_objects_have_no_units(make_dataset):
    dataset = make_dataset({})
    dataset.add_samples([fo.Sample("1.jpg", a=fo.Classification(label="x"), b=fo.Classification(label="y"))])
    before = stored(dataset)
    with pytest.raises(AgreementInputError, match="`units` must be False for labels that are no objects, got Classif"):
        compute_agreement(dataset, ["a", "b"], units=True)
    assert stored(dataset) == before
    compute_agreement(dataset, ["a", "b"])
    with pytest.raises(
        AgreementInputError, match="`add_units` needs a run on objects, got the run 'agreement' on Class"
    ):
        add_units(dataset)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"run_key": "nobody"}, "`run_key` must be an agreement run"),
        ({"shapes": "mean"}, "`shapes` must be one of medoid, vote, got 'mean'"),
        ({"overwrite": 1}, "`overwrite` must be True or False, got 1"),
    ],
)
def test_unusable_arguments_are_refused_before_anything_is_written(make_dataset, options, message):
    dataset = make_dataset()
    _compute(dataset)
    before = stored(dataset)
    with pytest.raises(AgreementInputError, match=message):
        add_units(dataset, **options)
    assert stored(dataset) == before
    with pytest.raises(AgreementInputError, match="`units` must be True or False, got 'yes'"):
        compute_agreement(dataset, ANNOTATORS, overwrite=True, units="yes")
    assert stored(dataset) == before


def test_pixels_need_the_sizes_of_images(make_dataset):
    labels = {name: [polygon(rectangle(3, 2, 12, 9))] for name in ("alice", "bob")}
    dataset = shapes_dataset(make_dataset, labels, size=None)
    _compute(dataset, ["alice", "bob"])
    with pytest.raises(AgreementInputError, match="must have an image size"):
        add_units(dataset, shapes="vote")


# ---- while somebody works on the dataset ----


def test_a_sample_edited_meanwhile_is_read_again(make_dataset, before_each_write):
    dataset = make_dataset()
    _compute(dataset)
    edits = []

    def edit_once(batch):
        if not edits:
            edits.append(True)
            sample = fo.load_dataset(dataset.name).first()
            sample.alice.detections[0].label = sample.bob.detections[0].label = "lynx"
            sample.save()

    before_each_write(edit_once)
    assert add_units(dataset).n_changed == 0
    assert dataset.values("agreement_units.detections.label")[0] == ["lynx", "dog"]
    assert dataset.first().alice.detections[0].label == "lynx"


def test_a_sample_that_never_stands_still_is_left_out_and_counted(make_dataset, before_each_write, caplog):
    dataset = make_dataset()
    _compute(dataset)
    restless = dataset.first()

    def touch(batch):
        restless.tags.append("again")
        restless.save()

    before_each_write(touch)
    with caplog.at_level(logging.WARNING):
        made = add_units(dataset)
    assert (made.n_changed, made.n_labels) == (1, 4)
    assert "1 samples were edited" in caplog.text
    assert dataset.values("agreement_units.detections.votes") == [None, [3, 2], [], [1], [1]]
    assert len(restless.tags) == 1 + made_labels._MAX_ATTEMPTS


def test_a_run_deleted_meanwhile_takes_its_units_along(make_dataset, before_each_write, monkeypatch):
    dataset = make_dataset(random_annotators(30))
    before = stored(dataset)
    _compute(dataset)
    monkeypatch.setattr(read, "BATCH_SAMPLES", 4)
    batches = []

    def delete_at_the_third(batch):
        batches.append(batch)
        if len(batches) == 3:
            delete_agreement(fo.load_dataset(dataset.name))

    before_each_write(delete_at_the_third)
    with pytest.raises(AgreementInputError, match="'agreement' was deleted or replaced while it was running"):
        add_units(dataset)
    assert stored(dataset) == before


def test_a_run_replaced_meanwhile_keeps_nothing_of_the_old_units(make_dataset, monkeypatch):
    dataset = make_dataset(random_annotators(30))
    _compute(dataset)
    monkeypatch.setattr(read, "BATCH_SAMPLES", 4)
    replaced = []

    def replace(bar):
        if not replaced:
            replaced.append(_compute(dataset, ["alice", "bob"], overwrite=True))

    with pytest.raises(AgreementInputError, match="was deleted or replaced while it was running"):
        add_units(dataset, progress=replace)
    assert load_agreement(dataset) == replaced[0]
    assert dataset.get_field("agreement_units") is None
    assert not [document for document in documents_of(dataset) if "agreement_units" in document]


def test_units_that_were_not_finished_are_made_again_without_being_asked(make_dataset, before_each_write):
    dataset = make_dataset()
    _compute(dataset)

    def fail(batch):
        raise RuntimeError("no more")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made_labels.Writer, "write", lambda self, batch, updates: fail(batch))
        with pytest.raises(RuntimeError, match="no more"):
            add_units(dataset)
    assert made_labels.made_record(dataset, "agreement", "_units")["status"] == "failed"
    assert add_units(dataset).n_labels == 6
    assert made_labels.made_record(dataset, "agreement", "_units") == {"status": "completed", "shapes": "medoid"}


def test_making_units_killed_before_any_of_its_writes(killable, make_dataset):  # noqa: F811
    dataset = make_dataset(random_annotators(9, seed=5))
    before, values = stored(dataset), user_values(dataset, [])
    for n in itertools.count(1):
        _compute(dataset)
        killed = killable(dataset, "add_units", kill_before=n)
        reopened = fo.load_dataset(dataset.name)
        reopened.reload()
        reopened.first()
        assert list_agreements(reopened) == ["agreement"]
        assert load_agreement(reopened).n_samples == 9
        assert user_values(reopened, ["agreement"]) == values
        if n % 2:  # what a dead process began is made anew, or deleted
            record = made_labels.made_record(reopened, "agreement", "_units") or {}
            add_units(reopened, overwrite=record.get("status") == "completed")
            found = [set(_units(document)) for document in documents_of(reopened)]
            assert found == [set(units_of(document, LISTS)) for document in documents_of(reopened)]
        delete_agreement(reopened)
        assert stored(reopened) == before
        dataset.reload()
        if not killed:
            break
    assert n > 6  # the record, the field, three batches, the record


def test_a_sample_without_room_for_its_units_is_named(make_dataset):
    dataset = make_dataset({})
    noise = np.random.default_rng(0).integers(0, 256, (1100, 1100), np.uint8)  # which no compression makes smaller
    masks = [
        fo.Detection(label="a", bounding_box=[0.1 * k, 0.1, 0.1, 0.5], mask=np.roll(noise, k, axis=0)) for k in range(7)
    ]
    metadata = fo.ImageMetadata(width=100, height=50)
    dataset.add_sample(fo.Sample("1.jpg", alice=fo.Detections(detections=masks), metadata=metadata))
    one = detections([("a", (0.1, 0.1, 0.2, 0.2))])
    dataset.add_sample(fo.Sample("2.jpg", alice=one, bob=one.copy(), metadata=metadata))
    _compute(dataset, ["alice", "bob"])
    with pytest.raises(AgreementInputError, match="must have room for `agreement_units`") as caught:
        add_units(dataset)
    assert dataset.first().id in str(caught.value)
    assert len(str(caught.value)) < 400
    delete_agreement(dataset)
    assert "agreement_units" not in dataset.get_field_schema()


def test_batches_of_any_size_make_the_same_units(make_dataset, monkeypatch):
    dataset = make_dataset(random_annotators(23, seed=6))
    _compute(dataset, units=True)

    def found():
        return [[{**unit, "_id": None} for unit in _units(document).values()] for document in documents_of(dataset)]

    expected = found()
    monkeypatch.setattr(read, "BATCH_SAMPLES", 3)
    made = add_units(dataset, overwrite=True)
    assert found() == expected
    assert made.n_labels == sum(map(len, expected))
