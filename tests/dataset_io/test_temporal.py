"""Temporal detections: compared by the frames that their intervals share."""

from __future__ import annotations

import fiftyone as fo
import pytest
from bson import Int64

from tests.dataset_io.quick_runs import compute_quickly, refused_run

from annotator_agreement import load

ANNOTATORS = ["alice", "bob"]


def _spans(*spans):
    return fo.TemporalDetections(detections=[fo.TemporalDetection(label=of, support=list(at)) for of, at in spans])


@pytest.mark.long
def test_intervals_are_matched_by_the_frames_that_they_share_to_which_their_ends_belong(make_videos, capsys):
    dataset = make_videos([{}, {}, {}])
    first, second, third = dataset
    first["alice"] = _spans(("run", (1, 10)), ("jump", (20, 29)))
    first["bob"] = _spans(("run", (6, 15)), ("run", (20, 26)), ("rest", (40, 50)))
    second["alice"], second["bob"] = _spans(), _spans(("run", (3, 3)))
    third["alice"] = _spans(("run", (1, 2)))
    for sample in (first, second, third):
        sample.save()
    of_64_bits = {"alice.detections.0.support": [Int64(1), Int64(10)]}
    dataset._sample_collection.update_one({"_id": first._id}, {"$set": of_64_bits})
    report = compute_quickly(dataset, ANNOTATORS, iou=1 / 3)
    # frames 6 to 10 of 1 to 15; 20 to 26 of 20 to 29; nothing for the rest
    overlaps = [5 / 15, 7 / 10]
    assert dataset.values("bob.detections.agreement_iou")[0] == pytest.approx([*overlaps, None])
    assert dataset.values("bob.detections.agreement") == [["agreed", "class_conflict", "lone"], ["lone"], None]
    assert dataset.values("alice.detections.agreement") == [["agreed", "class_conflict"], [], [None]]
    assert dataset.values("agreement_score") == pytest.approx([2 * overlaps[0] / 5, 0.0, None])
    assert dataset.values("agreement_n_annotators") == [2, 2, 1]
    assert report.localisation.mean_iou == pytest.approx(sum(overlaps) / 2)
    assert report.localisation.measure == "temporal IoU"
    assert (report.run.n_videos, report.localisation.visibility, report.track_consistency) == (None, None, None)
    for iou, second in ((0.71, "lone"), (0.7, "class_conflict")):
        report = compute_quickly(dataset, ANNOTATORS, iou=iou, overwrite=True)
        assert dataset.values("alice.detections.agreement")[0] == ["lone", second]
    assert load(dataset).thresholds().set_index("threshold")["n_units"][0.7] == report.n_units
    report.print_report()
    text = capsys.readouterr().out
    assert "temporal IoU of at least 0.7" in text
    assert "mean temporal IoU" in text


UNUSABLE = [..., None, [], [3], [1, 2, 3], [5, 4], [1.5, 3], ["1", "2"], [None, 3], [True, True]]


def test_unusable_supports_are_refused_before_anything_is_written_or_left_out(make_videos):
    dataset, n, path = make_videos([{}] * len(UNUSABLE)), len(UNUSABLE), "alice.detections.1.support"
    for name in ANNOTATORS:
        dataset.set_values(name, [_spans(("run", (1, 10)), ("jump", (20, 29))) for _ in UNUSABLE])
    for sample_id, support in zip(dataset.values("_id"), UNUSABLE, strict=True):
        change = {"$unset": {path: ""}} if support is ... else {"$set": {path: support}}
        dataset._sample_collection.update_one({"_id": sample_id}, change)
    message = rf"a support \[first, last\] of two integers in this order, got {n} that are not, on samples"
    refused_run(message, dataset, ANNOTATORS)
    assert compute_quickly(dataset, ANNOTATORS, invalid="skip").run.n_invalid == n
    assert dataset.values("alice.detections.agreement") == [["agreed", None]] * n
