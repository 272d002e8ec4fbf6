"""The verdicts ``split`` and ``duplicate``: one annotator drew an object in parts, or twice."""

from __future__ import annotations

import fiftyone as fo
import numpy as np
import pytest

from tests.dataset_io.shaped import HEIGHT, WIDTH, box, cut_out, polygon, rectangle, shapes_dataset

from annotator_agreement.dataset_io import compute_agreement, delete_agreement

PAIR = ["alice", "bob"]
PLACES = [(4, 3, 30, 12), (4, 3, 14, 12), (19, 3, 15, 11)]


def _verdicts(dataset, name, run_key="agreement"):
    return [label[run_key] for label in dataset.first()[name][dataset.first()[name]._LABEL_LIST_FIELD]]


def _drawn(kind, place):
    if kind == "box":
        return box(*place)
    if kind == "polygon":
        return polygon(rectangle(*place))
    image = np.zeros((HEIGHT, WIDTH), np.bool_)
    x, y, width, height = place
    image[y : y + height, x : x + width] = True
    return cut_out(image)


@pytest.mark.parametrize(
    "kinds", ["box box", "polygon polygon", "mask mask", "box mask", "polygon box", "mask polygon"]
)
@pytest.mark.few(2)
def test_a_whole_and_its_parts_are_a_split_whatever_their_shape(make_dataset, kinds):
    of_whole, of_parts = kinds.split()
    whole, *parts = PLACES
    dataset = shapes_dataset(
        make_dataset, {"alice": [_drawn(of_whole, whole)], "bob": [_drawn(of_parts, part) for part in parts]}
    )
    report = compute_agreement(dataset, PAIR, iou=0.55)
    assert (_verdicts(dataset, "alice"), _verdicts(dataset, "bob")) == (["split"], ["split"] * 2)
    assert report.n_units == 3
    assert [entry.verdicts["split"] for entry in report.annotators] == [1, 2]


def test_lines_in_parts_are_no_split(make_dataset):
    def lane(x_min, x_max):
        return fo.Polyline(label="lane", points=[[(x_min, 0.5), (x_max, 0.5)]])

    dataset = shapes_dataset(make_dataset, {"alice": [lane(0.1, 0.9)], "bob": [lane(0.1, 0.4), lane(0.5, 0.9)]})
    compute_agreement(dataset, PAIR, line_tolerance=1.0, iou=0.6)
    assert (_verdicts(dataset, "alice"), _verdicts(dataset, "bob")) == (["lone"], ["lone"] * 2)


def test_an_interval_in_parts_is_a_split(make_dataset):
    dataset = make_dataset({})
    spans = {"alice": [(3, 40)], "bob": [(1, 19), (22, 39)]}
    labels = {
        name: fo.TemporalDetections(detections=[fo.TemporalDetection(label="run", support=list(s)) for s in given])
        for name, given in spans.items()
    }
    dataset.add_sample(fo.Sample(filepath="/videos/0.mp4", **labels))
    compute_agreement(dataset, PAIR)
    assert (_verdicts(dataset, "alice"), _verdicts(dataset, "bob")) == (["split"], ["split"] * 2)


def test_the_label_with_the_larger_id_is_the_duplicate_wherever_it_stands_in_the_list(make_dataset):
    first, second = box(4, 3, 20, 10), box(4, 3, 20, 9.5)
    assert first.id < second.id
    dataset = shapes_dataset(make_dataset, {"alice": [second, first], "bob": []})
    compute_agreement(dataset, PAIR)
    assert _verdicts(dataset, "alice") == ["duplicate", "lone"]


def test_a_duplicate_outside_the_view_is_none(make_dataset):
    first, second = box(4, 3, 20, 10, confident=True), box(4, 3, 20, 9.5, confident=False)
    dataset = shapes_dataset(make_dataset, {"alice": [second, first], "bob": [box(30, 3, 5, 5, confident=True)]})
    view = dataset.filter_labels("alice", fo.ViewField("confident") == False)  # noqa: E712
    compute_agreement(view, PAIR)
    assert [getattr(label, "agreement", None) for label in dataset.first().alice.detections] == ["lone", None]


def test_what_a_crowd_region_explains_is_no_duplicate(make_dataset):
    dataset = shapes_dataset(
        make_dataset,
        {"alice": [box(6, 4, 3, 3), box(6, 4, 3, 3)], "bob": [box(2, 2, 20, 12, iscrowd=1)]},
    )
    compute_agreement(dataset, PAIR)
    assert _verdicts(dataset, "alice") == ["crowd", "crowd"]


def test_one_field_with_an_attribute_gives_the_same_verdicts(make_dataset):
    whole, left, right = PLACES
    dataset = shapes_dataset(
        make_dataset,
        {"labels": [box(*left, rater="bea"), box(*whole, rater="ann"), box(*right, rater="bea"),
                    box(*right, rater="bea")]},
    )  # fmt: skip
    compute_agreement(dataset, "labels", annotator_attribute="rater", iou=0.55)
    assert _verdicts(dataset, "labels") == ["split", "split", "split", "duplicate"]
    delete_agreement(dataset)
    assert not dataset.has_field("labels.detections.agreement")
