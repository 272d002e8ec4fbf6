"""Boxes in pixels, where shares of the image are expected, are refused in every run."""

from __future__ import annotations

import fiftyone as fo
import pytest

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import compute_agreement

INSIDE = ("cat", (0.1, 0.1, 0.5, 0.5))
REACHING_OUT = ("cat", (-0.1, 0.7, 0.9, 0.5))
IN_PIXELS = ("cat", (10, 10, 50, 50))


@pytest.mark.parametrize("invalid", ["error", "skip"])
def test_boxes_of_which_most_are_in_pixels_are_refused(make_dataset, invalid):
    dataset = make_dataset({"alice": [[INSIDE], [INSIDE]], "bob": [[IN_PIXELS, INSIDE], [IN_PIXELS]]})
    before = dataset.get_field_schema(flat=True).keys()
    with pytest.raises(AgreementInputError, match=r"got 2 of 3 in 'bob' outside, such as \[10.*divided by the width"):
        compute_agreement(dataset, ["alice", "bob"], invalid=invalid)
    assert dataset.get_field_schema(flat=True).keys() == before
    assert dataset.list_runs() == []


def test_a_view_without_them_can_be_compared(make_dataset):
    dataset = make_dataset({"alice": [[INSIDE], [INSIDE]], "bob": [[INSIDE], [IN_PIXELS]]})
    assert compute_agreement(dataset.limit(1), ["alice", "bob"]).score.mean == 1.0


def test_some_boxes_outside_are_no_reason_to_refuse(make_dataset):
    dataset = make_dataset({"alice": [[INSIDE, IN_PIXELS], [REACHING_OUT]], "bob": [[INSIDE], [REACHING_OUT]]})
    assert compute_agreement(dataset, ["alice", "bob"]).n_rated == 2


def test_of_every_annotator_with_an_attribute(make_dataset):
    dataset = make_dataset({"labels": [[INSIDE, INSIDE, IN_PIXELS]]})
    dataset.set_values("labels.detections.rater", [["a", "b", "c"]], dynamic=True)
    with pytest.raises(AgreementInputError, match=r"got 1 of 1 of 'c' in 'labels' outside"):
        compute_agreement(dataset, "labels", annotator_attribute="rater")
    report = compute_agreement(dataset, "labels", annotator_attribute="rater", annotators=["a", "b"])
    assert report.score.mean == 1.0


def test_on_frames(make_videos):
    boxes = fo.Detections(detections=[fo.Detection(label="cat", bounding_box=list(IN_PIXELS[1]))])
    dataset = make_videos([{"alice": [boxes, boxes.copy()], "bob": [boxes.copy(), None]}])
    with pytest.raises(AgreementInputError, match=r"in 'frames.alice' outside"):
        compute_agreement(dataset, ["frames.alice", "frames.bob"])
