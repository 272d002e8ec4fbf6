"""One label for every unit of boxes: against loops over the documents of the database."""

from __future__ import annotations

from datetime import datetime

import fiftyone as fo
import numpy as np
import pytest
from bson import ObjectId

from tests.dataset_io.quick_runs import ANNOTATORS, LISTS, compute_quickly, refused, run_on
from tests.dataset_io.shaped import HEIGHT, WIDTH, cut_out, polygon, rectangle, shapes_dataset
from tests.dataset_io.unit_oracle import assert_facts, documents_of, facts_of, median_box, nearest, units_in, units_of
from tests.datasets import detections, random_annotators, random_videos, stored

from annotator_agreement.dataset_io import add_units, agreement_patches, delete_agreement, resolve_units
from annotator_agreement.dataset_io.record import run, sample_index
from annotator_agreement.dataset_io.run import read
from annotator_agreement.dataset_io.units import changing, units_field


@pytest.mark.long
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
    units = [unit for labels in dataset.values("agreement_units.detections") for unit in labels]
    assert [unit.tags for unit in units] == [[]] * n_units  # read with FiftyOne they are ordinary labels
    assert dataset.get_field("agreement_units").info == {"annotator_agreement": "agreement"}
    assert isinstance(dataset.get_field("agreement_units.detections.mean_iou"), fo.FloatField)
    assert dataset.get_field("agreement_units.detections.verdict").description


#: the classes that three annotators gave; the class of the unit, and those that it lists
CLASSES = {"names that stand for others": (["Car ", "car", "bus"], "car", ["car", "car", "bus"]),
           "no class": ([None, None, "bus"], None, ["(no label)", "(no label)", "bus"])}  # fmt: skip


def test_every_label_has_a_vote_for_the_class_that_it_stands_for(make_dataset):
    rows = zip(*(given for given, *_ in CLASSES.values()), strict=True)
    place = (0.1, 0.2, 0.4, 0.3)
    dataset = make_dataset({name: [[(own, place)] for own in row] for name, row in zip(ANNOTATORS, rows, strict=True)})
    compute_quickly(dataset, aliases={"Car ": "car"})
    add_units(dataset)
    for sample, (what, (_, label, classes)) in zip(dataset, CLASSES.items(), strict=True):
        (unit,) = sample.agreement_units.detections
        assert [sample[name].detections[0].label for name in ANNOTATORS] == CLASSES[what][0]  # stay as they are
        found = unit.label, unit.classes, unit.tie, unit.verdict
        assert found == (label, classes, False, "class_conflict"), what


def test_crowd_regions_are_no_units_and_samples_that_the_run_did_not_compare_have_none(make_dataset):
    crowd = fo.Detections(detections=[fo.Detection(label="cat", bounding_box=[0.1, 0.1, 0.5, 0.5], iscrowd=True)])
    dataset, one = make_dataset({}), detections([("cat", (0.7, 0.7, 0.2, 0.1))])
    samples = [fo.Sample("1.jpg", alice=crowd, bob=one), fo.Sample("2.jpg", alice=one.copy(), bob=one.copy())]
    dataset.add_samples(samples, dynamic=True)
    compute_quickly(dataset.limit(1), ["alice", "bob"])
    before = dataset.values("last_modified_at")
    add_units(dataset)
    assert dataset.values("agreement_units.detections.annotators") == [[["bob"]], None]
    assert dataset.values("last_modified_at")[1] == before[1]


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
    add_units(dataset, shapes="vote", overwrite=True)  # the pixels that half of the masks have
    for unit in dataset.first().agreement_units.detections:
        painted = unit.to_segmentation(frame_size=(WIDTH, HEIGHT)).mask > 0
        assert (painted == (images[3] if unit.votes == 1 else images[:3].sum(axis=0) >= 2)).all()


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
    unit, expected = units_in(document, list_name="polylines")[unit_id], nearest(members)
    assert expected is members["bob"]
    names = ("points", "closed", "filled")
    assert [unit[name] for name in names] == [expected[name] for name in names]
    assert dataset.get_field("agreement_units").document_type is fo.Polylines


@pytest.mark.long
def test_units_of_frames_are_written_on_frames(make_videos):
    dataset = make_videos(random_videos([6, 6], seed=5))
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


@pytest.mark.long
def test_units_of_boxes_and_lines_have_no_pixels(make_dataset):
    boxes = make_dataset()
    compute_quickly(boxes)
    add_units(boxes)
    medians = boxes.values("agreement_units.detections.bounding_box")
    add_units(boxes, shapes="vote", overwrite=True)
    assert boxes.values("agreement_units.detections.bounding_box") == medians
    assert boxes.values("agreement_units.detections.mask", unwind=True) == [None] * 6
    line = [[(0.1, 0.2), (0.6, 0.7)]]
    lines = {name: [fo.Polyline(label="lane", points=line)] for name in ("alice", "bob")}
    dataset = shapes_dataset(make_dataset, lines)
    compute_quickly(dataset, ["alice", "bob"], line_tolerance=1.0)
    refused('`shapes` must be "medoid" for lines', add_units, dataset, shapes="vote")
    add_units(dataset)
    assert dataset.first().agreement_units.polylines[0].points == dataset.first().alice.polylines[0].points


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


@pytest.mark.long
def test_a_unit_whose_labels_changed_is_left_out_and_counted(lend):
    for change, update in CHANGES.items():
        dataset = lend(run_on())
        if change == "copied":
            label = next(documents_of(dataset))["alice"]["detections"][0]
            update = {"$push": {"alice.detections": {**label, "_id": ObjectId()}}}
        _set(dataset, update)
        made = add_units(dataset)
        assert (made.n_left_out, made.n_labels) == (1, 5), change
        assert dataset.values("agreement_units.detections.label")[0] == ["dog"], change


def test_a_label_given_to_somebody_else_leaves_its_unit(make_dataset):
    dataset = make_dataset({})
    labels = [fo.Detection(label="cat", bounding_box=[0.1, 0.1, 0.4, 0.3], rater=name) for name in ANNOTATORS]
    dataset.add_samples([fo.Sample("1.jpg", labels=fo.Detections(detections=labels))], dynamic=True)
    compute_quickly(dataset, "labels", annotator_attribute="rater")
    add_units(dataset)  # one field with several annotators
    assert dataset.values("agreement_units.detections.annotators") == [[ANNOTATORS]]
    for name, n_left_out in (("dave", 1), ("bob", 1), ("alice", 0)):
        _set(dataset, {"$set": {"labels.detections.0.rater": name}})
        assert add_units(dataset, overwrite=True).n_left_out == n_left_out


def test_class_and_extent_are_those_of_now_and_the_rest_is_what_the_run_found(computed):
    sample = computed.first()
    for name in ("alice", "bob"):
        sample[name].detections[0].label = "lynx"
        sample[name].detections[0].bounding_box = [0.2, 0.1, 0.2, 0.4]
    sample.carol.detections.append(fo.Detection(label="new", bounding_box=[0.8, 0.8, 0.1, 0.1]))
    sample.save()
    made = add_units(computed)
    unit = computed.first().agreement_units.detections[0]
    assert made.n_left_out == 0
    assert (unit.label, unit.verdict, unit.mean_iou) == ("lynx", "agreed", pytest.approx(1.0))
    assert unit.bounding_box == pytest.approx([0.2, 0.1, 0.2, 0.4])


def test_units_are_made_anew_only_on_request_and_are_neither_an_annotator_nor_a_view_for_the_run(computed):
    add_units(computed)
    view = computed.match(fo.ViewField("agreement_units.detections").length() > 0)
    refused("a view that uses `agreement_units`", compute_quickly, view, overwrite=True)
    message = "'agreement_units', which the run 'agreement' wrote"
    refused(message, compute_quickly, computed, ["alice", "agreement_units"], run_key="other")
    sample = computed.first()
    sample.agreement_units.detections[0].tags.append("mine")
    sample.save()
    refused("must be new, but it exists already; replace it with overwrite=True", add_units, computed)
    assert computed.count_label_tags("agreement_units") == {"mine": 1}
    add_units(computed, overwrite=True)
    assert computed.count_label_tags("agreement_units") == {}


WRONG = [({"run_key": "nobody"}, "`run_key` must be an agreement run"),
         ({"shapes": "mean"}, "`shapes` must be one of medoid, vote, got 'mean'"),
         ({"overwrite": 1}, "`overwrite` must be True or False, got 1")]  # fmt: skip


def test_arguments_are_checked_and_a_field_of_that_name_that_is_somebody_elses_is_left_alone(lend):
    for field in ("declared", "undeclared", None):
        dataset = lend(run_on())
        if field == "declared":
            dataset.add_sample_field("agreement_units", fo.StringField)
        elif field == "undeclared":
            _set(dataset, {"$set": {"agreement_units": "mine"}})
        before = stored(dataset)
        for options, message in WRONG if field is None else [({}, "`agreement_units` must be free")]:
            refused(message, add_units, dataset, **options)
        assert stored(dataset) == before


def test_labels_that_are_no_objects_have_no_units_no_consensus_and_no_patches(make_dataset):
    dataset = make_dataset({})
    dataset.add_samples([fo.Sample("1.jpg", a=fo.Classification(label="x"), b=fo.Classification(label="y"))])
    compute_quickly(dataset, ["a", "b"])
    refused(r"run.objects.write\(\) needs a run on objects, got the run 'agreement' on Class", add_units, dataset)
    refused(r"run.objects.consensus\(\) needs a run on objects, got the run 'agreement'", resolve_units, dataset)
    message = "The run must be on objects to show them one by one, got 'agreement' on Class"
    refused(message, agreement_patches, dataset)


@pytest.mark.parametrize("at_once", [False, True], ids=["later", "in the millisecond of our own write"])
def test_a_sample_edited_meanwhile_is_read_again(computed, before_each_write, monkeypatch, at_once):
    stamp, batches = datetime(2030, 1, 1), []
    if at_once:
        monkeypatch.setattr(sample_index, "now", lambda: stamp)

    def edit_once(batch):
        if not batches:
            lynx = {f"{name}.detections.0.label": "lynx" for name in ("alice", "bob")}
            when = {"$set": {**lynx, "last_modified_at": stamp}}
            _set(computed, when if at_once else {"$set": lynx, "$currentDate": {"last_modified_at": True}})
        batches.append(batch)

    before_each_write(edit_once)
    assert add_units(computed).n_changed == 0
    assert (len(batches), computed.values("agreement_units.detections.label")[0]) == (2, ["lynx", "dog"])
    assert computed.values("alice.detections.label")[0][0] == "lynx"


def test_a_run_deleted_meanwhile_takes_its_units_along(make_dataset, before_each_write, monkeypatch):
    dataset = make_dataset(random_annotators(12))
    before, batches = stored(dataset), []
    compute_quickly(dataset)
    monkeypatch.setattr(read, "BATCH_SAMPLES", 4)

    def delete_at_the_third(batch):
        batches.append(batch)
        if len(batches) == 3:
            delete_agreement(fo.load_dataset(dataset.name))

    before_each_write(delete_at_the_third)
    refused("'agreement' was deleted or replaced while it was running", add_units, dataset)
    assert stored(dataset) == before


def test_units_that_were_not_finished_are_made_again_without_being_asked(computed):
    def fail(*arguments):
        raise RuntimeError("no more")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(changing, "swap", fail)
        with pytest.raises(RuntimeError, match="no more"):
            add_units(computed)
    assert units_field.derived_record(run.Run(computed, "agreement"), "_units")["status"] == "failed"
    assert add_units(computed).n_labels == 6
    assert units_field.derived_record(run.Run(computed, "agreement"), "_units")["status"] == "completed"
