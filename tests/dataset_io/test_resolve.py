"""The consensus of the annotators, against loops over the documents, one label after the other."""

from __future__ import annotations

import math

import fiftyone as fo
import numpy as np
import pytest

from tests.dataset_io.quick_runs import compute_quickly
from tests.dataset_io.shaped import HEIGHT, WIDTH, box, cut_out, polygon, rectangle, shapes_dataset
from tests.dataset_io.unit_oracle import documents_of, facts_of, median_box, nearest, units_of
from tests.datasets import detections, random_annotators, stored, user_values

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import (
    add_units,
    compute_agreement,
    delete_agreement,
    rename_agreement,
    resolve_units,
    view_agreement,
)
from annotator_agreement.dataset_io.record import run
from annotator_agreement.dataset_io.units import units_field

ANNOTATORS = ["alice", "bob", "carol", "dave"]
LISTS = dict.fromkeys(ANNOTATORS, "detections")


def _made(make_dataset):
    """Four annotators, some of them not assigned to some samples."""
    dataset = make_dataset(random_annotators(40, ANNOTATORS, seed=9))
    compute_quickly(dataset, ANNOTATORS)
    return dataset


@pytest.fixture
def dataset(lend):
    return lend(_made)


def _consensus(document, list_name="detections"):
    return {label["unit"]: label for label in (document.get("agreement_consensus") or {}).get(list_name) or []}


@pytest.mark.parametrize("quorum", [0.01, 1 / 3, 0.5, 0.6, 0.75, 1.0, "majority"])
@pytest.mark.few(2)
def test_a_unit_is_kept_if_enough_of_those_assigned_drew_it(dataset, quorum):
    made = resolve_units(dataset, quorum=quorum, ties="keep")
    n_kept = n_below = 0
    for document in documents_of(dataset):
        n_assigned = sum(document.get(name) is not None for name in ANNOTATORS)
        needed = next((n for n in range(1, 5) if n >= share(quorum, n_assigned) * n_assigned - 1e-9), 1)
        units = units_of(document, LISTS)
        kept = {unit_id: members for unit_id, members in units.items() if len(members) >= needed}
        found = _consensus(document)
        assert list(found) == sorted(kept)
        assert document["agreement_consensus"]["_cls"] == "Detections"
        n_kept += len(kept)
        n_below += len(units) - len(kept)
        for unit_id, members in kept.items():
            label, expected = found[unit_id], facts_of(members, n_assigned)
            for name in ("label", "tie", "votes", "of", "annotators", "classes"):
                assert label[name] == expected[name]
            assert label["bounding_box"] == pytest.approx(median_box(members), abs=1e-12)
            if len(members) == 1:
                assert label["confidence"] is None
            else:
                assert label["confidence"] == pytest.approx(len(members) / n_assigned * expected["mean_iou"], abs=1e-12)
    assert made == units_field.DerivedLabels("agreement_consensus", n_kept, n_below, 0, 0, 0)
    assert n_kept > 30
    assert (n_below > 0) == (share(quorum, 4) > 0.25)  # of four, one vote is a quarter


def share(quorum, n_assigned):
    """The share of the votes that a quorum asks for."""
    return 0.5 + 1 / (2 * max(n_assigned, 1)) if quorum == "majority" else quorum


def test_half_of_four_are_two_and_half_of_three_are_two(make_dataset):
    places = [(0.05, 0.1, 0.1, 0.2), (0.3, 0.1, 0.1, 0.2), (0.6, 0.1, 0.1, 0.2)]
    drawn = [places, places[:2], places[:1], []]
    every = {name: [[("cat", place) for place in of]] * 2 for name, of in zip(ANNOTATORS, drawn, strict=True)}
    every["dave"] = [[], None]
    dataset = make_dataset(every)
    compute_agreement(dataset, ANNOTATORS, resamples=0)
    made = resolve_units(dataset, quorum=0.5)
    assert dataset.values("agreement_consensus.detections.votes") == [[3, 2], [3, 2]]
    assert (made.n_labels, made.n_below_quorum) == (4, 2)
    made = resolve_units(dataset, overwrite=True)  # of four three
    assert dataset.values("agreement_consensus.detections.votes") == [[3], [3, 2]]
    assert (made.n_labels, made.n_below_quorum) == (3, 3)


def test_ties_are_left_out_and_counted_or_kept_with_all_leading_classes(dataset):
    before, share = stored(dataset), r'`quorum` must be "majority" or a share of the annotators in \(0, 1\], got'
    for options, message in (
        ({"ties": "drop"}, "`ties` must be one of leave_out, keep, got 'drop'"),
        *(({"quorum": quorum}, share)
          for quorum in (0, -1, 1.1, math.nan, True, "half", None, fo.ViewField("x") == "y")),
    ):  # fmt: skip
        with pytest.raises(AgreementInputError, match=message):
            resolve_units(dataset, **options)
    assert stored(dataset) == before
    values = user_values(dataset, ["agreement"])
    kept = resolve_units(dataset, quorum=0.01, ties="keep")
    tied = dataset.filter_labels("agreement_consensus", fo.ViewField("tie"))
    labels = [label for labels in tied.values("agreement_consensus.detections") for label in labels]
    assert len(labels) > 3
    assert all(len(set(label.classes)) > 1 and set(label.label.split(" / ")) <= set(label.classes) for label in labels)
    made = resolve_units(dataset, quorum=0.01, overwrite=True)
    assert (made.n_tied, made.n_labels, kept.n_tied) == (len(labels), kept.n_labels - len(labels), 0)
    assert dataset.distinct("agreement_consensus.detections.tie") == [False]
    assert user_values(dataset, ["agreement"]) == values


def test_samples_without_enough_votes_have_an_empty_consensus_and_others_none(make_dataset):
    dataset = make_dataset()
    compute_quickly(dataset.limit(4))
    resolve_units(dataset, quorum=1)
    assert dataset.values("agreement_consensus.detections.votes") == [[3, 3], [3], [], [], None]
    other = make_dataset()
    other.add_sample_field("agreement_consensus", fo.StringField)
    with pytest.raises(AgreementInputError, match="`agreement_consensus` is a field of the dataset"):
        compute_quickly(other)


def test_the_consensus_lives_and_dies_with_its_run(make_dataset):
    dataset = make_dataset(random_annotators(12))
    before = stored(dataset)
    compute_agreement(dataset, ANNOTATORS[:3], resamples=0)
    resolve_units(dataset)
    add_units(dataset)
    with pytest.raises(AgreementInputError, match="`agreement_consensus` must be new"):
        resolve_units(dataset)
    n_labels = dataset.count("agreement_consensus.detections")
    resolve_units(dataset, quorum=1, overwrite=True)
    assert dataset.count("agreement_consensus.detections") < n_labels
    assert units_field.derived_record(run.Run(dataset, "agreement"), "_consensus")["quorum"] == 1.0
    assert dataset.get_field("agreement_consensus").info == {"annotator_agreement": "agreement"}
    rename_agreement(dataset, "agreement", "first")
    assert {"first_units", "first_consensus"} <= set(dataset.get_field_schema())
    assert "agreement_consensus" not in dataset.get_field_schema()
    delete_agreement(dataset, "first")
    assert stored(dataset) == before


@pytest.mark.long
def test_a_copy_of_the_consensus_is_an_annotator_like_any_other(dataset):
    resolve_units(dataset)
    dataset.clone_sample_field("agreement_consensus", "ground_truth")
    compute_agreement(dataset, ["alice", "ground_truth"], overwrite=True, resamples=0)
    view = view_agreement(dataset, annotators="ground_truth")
    assert view.count("ground_truth.detections") == dataset.count("ground_truth.detections") > 10


# ---- shapes ----


def _masks(seed=2):
    rng = np.random.default_rng(seed)
    images = np.zeros((4, HEIGHT, WIDTH), np.bool_)
    for image, (x, y) in zip(images, [(3, 2), (4, 2), (3, 3), (5, 3)], strict=True):
        image[y : y + 12, x : x + 20] = rng.random((12, 20)) < 0.95
    return images


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.few(2)
def test_pixels_are_voted_on(make_dataset, n):
    images = _masks()[:n]
    drawn = {name: [cut_out(image)] for name, image in zip(ANNOTATORS, images, strict=False)}
    dataset = shapes_dataset(make_dataset, drawn)
    for name in ANNOTATORS[n:]:
        dataset.add_sample_field(name, fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
        dataset.set_values(name, [fo.Detections()])
    compute_agreement(dataset, ANNOTATORS, iou=0.3, resamples=0)
    resolve_units(dataset, quorum=0.25, shapes="vote")
    (label,) = dataset.first().agreement_consensus.detections
    painted = label.to_segmentation(frame_size=(WIDTH, HEIGHT)).mask > 0
    expected = np.zeros((HEIGHT, WIDTH), np.bool_)
    for y, x in np.ndindex(expected.shape):
        votes = sum(bool(image[y, x]) for image in images)
        expected[y, x] = votes > 0 and 2 * votes >= n
    assert (painted == expected).all()


def test_pixels_of_a_polygon_are_those_with_the_centre_inside(make_dataset):
    triangle = [(2.2, 1.1), (31.7, 3.4), (11.3, 18.6)]
    dataset = shapes_dataset(make_dataset, {"alice": [polygon(triangle)], "bob": [polygon(triangle)]})
    compute_agreement(dataset, ["alice", "bob"], resamples=0)
    resolve_units(dataset, shapes="vote")
    (label,) = dataset.first().agreement_consensus.detections
    painted = label.to_segmentation(frame_size=(WIDTH, HEIGHT)).mask > 0

    def is_inside(x, y):
        signs = []
        for (xa, ya), (xb, yb) in zip(triangle, triangle[1:] + triangle[:1], strict=True):
            signs.append((xb - xa) * (y - ya) - (yb - ya) * (x - xa) > 0)
        return all(signs) or not any(signs)

    for y, x in np.ndindex(painted.shape):
        assert painted[y, x] == is_inside(x + 0.5, y + 0.5)


def test_shapes_are_those_of_the_member_nearest_to_the_rest(make_dataset):
    places = {"alice": (3, 2, 12, 9), "bob": (5, 2, 12, 9), "carol": (4, 2, 12, 9)}
    dataset = shapes_dataset(make_dataset, {name: [polygon(rectangle(*place))] for name, place in places.items()})
    compute_agreement(dataset, ANNOTATORS[:3], resamples=0)
    resolve_units(dataset)
    (document,) = documents_of(dataset)
    ((unit_id, members),) = units_of(document, dict.fromkeys(ANNOTATORS[:3], "polylines")).items()
    assert nearest(members) is members["carol"]
    assert _consensus(document, "polylines")[unit_id]["points"] == members["carol"]["points"]


def test_a_unit_of_which_no_pixel_has_enough_votes_has_the_pixels_of_the_nearest(make_dataset):
    """With a threshold near 0 a chain of five shapes is one unit, although no three of them overlap anywhere."""
    chain = [*ANNOTATORS, "eve"]
    places = {name: (6 * k, 3, 8, 4) for k, name in enumerate(chain)}
    dataset = shapes_dataset(make_dataset, {name: [polygon(rectangle(*place))] for name, place in places.items()})
    compute_agreement(dataset, chain, iou=0.01, resamples=0)
    resolve_units(dataset, shapes="vote")
    (document,) = documents_of(dataset)
    ((_, members),) = units_of(document, dict.fromkeys(chain, "polylines")).items()
    (label,) = dataset.first().agreement_consensus.detections
    assert label.votes == len(members) == 5
    x, y, width, height = places[next(name for name, member in members.items() if member is nearest(members))]
    assert np.multiply(label.bounding_box, [WIDTH, HEIGHT] * 2) == pytest.approx([x, y, width, height])
    assert label.mask.all()


def test_a_shape_outside_its_image_has_no_pixels_and_is_counted_and_images_need_a_size(make_dataset):
    outside = polygon(rectangle(WIDTH + 2, 2, 5, 5))
    labels = {"alice": [outside, polygon(rectangle(2, 2, 9, 9))], "bob": [outside.copy()]}
    dataset = shapes_dataset(make_dataset, labels)
    compute_quickly(dataset, ["alice", "bob"])
    made = resolve_units(dataset, quorum=0.5, shapes="vote")
    assert (made.n_labels, made.n_left_out) == (1, 1)
    dataset = shapes_dataset(make_dataset, {name: [outside.copy()] for name in labels}, size=None)
    compute_quickly(dataset, ["alice", "bob"])
    for call in (resolve_units, add_units):
        with pytest.raises(AgreementInputError, match="must have an image size"):
            call(dataset, shapes="vote")


def test_boxes_are_medians_also_where_pixels_are_asked_for(make_dataset):
    dataset = shapes_dataset(
        make_dataset, {"alice": [box(2, 2, 10, 8)], "bob": [box(4, 2, 10, 8)], "carol": [box(5, 3, 10, 8)]}
    )
    compute_agreement(dataset, ANNOTATORS[:3], resamples=0, iou=0.3)
    resolve_units(dataset, shapes="vote")
    (label,) = dataset.first().agreement_consensus.detections
    assert np.multiply(label.bounding_box, [WIDTH, HEIGHT] * 2) == pytest.approx([4, 2, 10, 8])


def test_the_consensus_of_frames_is_on_frames(make_videos):
    labels = random_annotators(4, seed=5)
    videos = make_videos([{name: [detections(entry) for entry in labels[name]] for name in ("alice", "bob")}])
    compute_agreement(videos, ["frames.alice", "frames.bob"], resamples=0)
    made = resolve_units(videos, quorum=1)
    assert made.field == "frames.agreement_consensus"
    found = videos.values("frames.agreement_consensus.detections.votes", unwind=True)
    of = videos.values("frames.agreement_consensus.detections.of", unwind=True)
    assert found == of
    assert len(found) == made.n_labels > 3
