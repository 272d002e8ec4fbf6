"""The consensus of the annotators, against loops over the documents, one label after the other."""

from __future__ import annotations

import math

import fiftyone as fo
import numpy as np
import pytest

from tests.dataset_io.quick_runs import compute_quickly, refused, run_on
from tests.dataset_io.shaped import HEIGHT, WIDTH, polygon, rectangle, shapes_dataset
from tests.dataset_io.unit_oracle import documents_of, facts_of, median_box, nearest, units_of
from tests.datasets import random_annotators, stored, user_values

from annotator_agreement.dataset_io import add_units, delete_agreement, rename_agreement, resolve_units
from annotator_agreement.dataset_io.record import run
from annotator_agreement.dataset_io.units import units_field

ANNOTATORS = ["alice", "bob", "carol", "dave"]
LISTS = dict.fromkeys(ANNOTATORS, "detections")


@pytest.fixture
def dataset(lend):
    """Four annotators, some of them not assigned to some samples."""
    return lend(run_on(30, tuple(ANNOTATORS), seed=9))


def _consensus(document, list_name="detections"):
    return {label["unit"]: label for label in (document.get("agreement_consensus") or {}).get(list_name) or []}


@pytest.mark.long
def test_a_unit_is_kept_if_enough_of_those_assigned_drew_it(dataset):
    for quorum in (0.01, 0.5, 0.75, "majority"):
        made = resolve_units(dataset, quorum=quorum, ties="keep", overwrite=True)
        share = [0.5 + 1 / (2 * max(n, 1)) if quorum == "majority" else quorum for n in range(5)]  # of so many
        n_kept = n_below = 0
        for document in documents_of(dataset):
            n_assigned = sum(document.get(name) is not None for name in ANNOTATORS)
            needed = next((n for n in range(1, 5) if n >= share[n_assigned] * n_assigned - 1e-9), 1)
            units = units_of(document, LISTS)
            kept = {unit_id: members for unit_id, members in units.items() if len(members) >= needed}
            found = _consensus(document)
            assert (list(found), document["agreement_consensus"]["_cls"]) == (sorted(kept), "Detections")
            n_kept += len(kept)
            n_below += len(units) - len(kept)
            for unit_id, members in kept.items():
                label, expected = found[unit_id], facts_of(members, n_assigned)
                for name in ("label", "tie", "votes", "of", "annotators", "classes"):
                    assert label[name] == expected[name]
                assert label["bounding_box"] == pytest.approx(median_box(members), abs=1e-12)
                sure = None if len(members) == 1 else len(members) / n_assigned * expected["mean_iou"]
                assert label["confidence"] == (sure and pytest.approx(sure, abs=1e-12))
        assert made == units_field.DerivedLabels("agreement_consensus", n_kept, n_below, 0, 0, 0)
        assert n_kept > 20
        assert (n_below > 0) == (share[4] > 0.25)  # of four, one vote is a quarter


@pytest.mark.long
def test_ties_are_left_out_and_counted_or_kept_with_all_leading_classes(dataset):
    before, wrong = stored(dataset), r'`quorum` must be "majority" or a share of the annotators in \(0, 1\], got'
    for options, message in (
        ({"ties": "drop"}, "`ties` must be one of leave_out, keep, got 'drop'"),
        *(({"quorum": quorum}, wrong)
          for quorum in (0, -1, 1.1, math.nan, True, "half", None, fo.ViewField("x") == "y")),
    ):  # fmt: skip
        refused(message, resolve_units, dataset, **options)
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
    refused("`agreement_consensus` is a field of the dataset", compute_quickly, other)


@pytest.mark.long
def test_the_consensus_lives_and_dies_with_its_run(make_dataset):
    dataset = make_dataset(random_annotators(12))
    before = stored(dataset)
    compute_quickly(dataset, ANNOTATORS[:3])
    resolve_units(dataset)
    add_units(dataset)
    refused("`agreement_consensus` must be new", resolve_units, dataset)
    n_labels = dataset.count("agreement_consensus.detections")
    resolve_units(dataset, quorum=1, overwrite=True)
    assert dataset.count("agreement_consensus.detections") < n_labels
    assert units_field.derived_record(run.Run(dataset, "agreement"), "_consensus")["quorum"] == 1.0
    assert dataset.get_field("agreement_consensus").info == {"annotator_agreement": "agreement"}
    rename_agreement(dataset, "agreement", "first")
    refused("`first_units` must be new, but it exists already", add_units, dataset, "first")
    assert {"first_units", "first_consensus"} <= set(dataset.get_field_schema())
    assert "agreement_consensus" not in dataset.get_field_schema()
    delete_agreement(dataset, "first")
    assert stored(dataset) == before


def test_a_unit_of_which_no_pixel_has_enough_votes_has_the_pixels_of_the_nearest(make_dataset):
    """With a threshold near 0 a chain of five shapes is one unit, although no three of them overlap anywhere."""
    chain = [*ANNOTATORS, "eve"]
    places = {name: (6 * k, 3, 8, 4) for k, name in enumerate(chain)}
    dataset = shapes_dataset(make_dataset, {name: [polygon(rectangle(*place))] for name, place in places.items()})
    compute_quickly(dataset, chain, iou=0.01)
    resolve_units(dataset, shapes="vote")
    (document,) = documents_of(dataset)
    ((_, members),) = units_of(document, dict.fromkeys(chain, "polylines")).items()
    (label,) = dataset.first().agreement_consensus.detections
    assert label.votes == len(members) == 5
    x, y, width, height = places[next(name for name, member in members.items() if member is nearest(members))]
    assert np.multiply(label.bounding_box, [WIDTH, HEIGHT] * 2) == pytest.approx([x, y, width, height])
    assert label.mask.all()


@pytest.mark.long
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
        refused("must have an image size", call, dataset, shapes="vote")
