"""``iou="auto"``: the threshold that the labels suggest, found before a run."""

from __future__ import annotations

import logging

import fiftyone as fo
import numpy as np
import pytest

from tests.datasets import detections

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import compute_agreement, load, load_agreement
from annotator_agreement.dataset_io.results import thresholds
from annotator_agreement.dataset_io.run import read

ANNOTATORS = ["alice", "bob", "carol"]


def _noisy_labels(n_samples: int, seed: int = 4) -> dict[str, list]:
    """Boxes that three annotators draw a fifth apart, wider than high; some are missed."""
    rng = np.random.default_rng(seed)
    annotators: dict[str, list] = {name: [] for name in ANNOTATORS}
    for _ in range(n_samples):
        n = int(rng.integers(1, 5))
        size = rng.uniform([0.1, 0.05], [0.3, 0.2], (n, 2))
        low = rng.uniform(0, 0.6, (n, 2))
        for labels in annotators.values():
            drawn = np.flatnonzero(rng.random(n) < 0.85)
            moved = low[drawn] + rng.normal(0, 0.1, (len(drawn), 2)) * size[drawn] + 0.05
            labels.append([("car", box) for box in np.hstack([moved, size[drawn]]).tolist()])
    return annotators


@pytest.fixture
def noisy(make_dataset):
    """60 samples of three annotators."""
    return make_dataset(_noisy_labels(60))


def test_the_run_uses_the_threshold_that_its_labels_suggest(noisy):
    report = compute_agreement(noisy, ANNOTATORS, iou="auto")
    suggested = load(noisy).threshold_from_data()
    assert 0.1 < suggested.threshold < 0.6
    assert report.config["iou"] == round(suggested.threshold, 2) != 0.5
    assert report.config["iou_from_data"] is True
    assert suggested.n_samples == 60
    options = noisy.get_run_info("agreement").config.options
    assert (options["iou"], options["iou_from_data"]) == (report.config["iou"], True)
    assert load_agreement(noisy) == report

    given = compute_agreement(noisy, ANNOTATORS, iou=report.config["iou"], run_key="given")
    assert (given.alpha, given.n_units) == (report.alpha, report.n_units)
    assert load(noisy, "given").threshold_from_data() == suggested
    assert given.config["iou_from_data"] is False


def test_the_order_of_the_samples_changes_nothing(noisy):
    found = compute_agreement(noisy, ANNOTATORS, iou="auto")
    reverse = noisy.sort_by("filepath", reverse=True)
    assert compute_agreement(reverse, ANNOTATORS, iou="auto", run_key="reverse").config["iou"] == found.config["iou"]
    assert load(noisy).threshold_from_data() == load(noisy, "reverse").threshold_from_data()


@pytest.mark.parametrize(
    ("limit", "value"),
    [("BATCH_SAMPLES", 7), ("BATCH_LABELS", 14), ("BATCH_LABEL_PAIRS", 7), ("BATCH_PAIRS", 21)],
)
@pytest.mark.few(1)
def test_labels_are_compared_in_batches_of_bounded_size(noisy, monkeypatch, limit, value):
    together = compute_agreement(noisy, ANNOTATORS, iou="auto").config["iou"]
    sizes = []
    of_batch = thresholds.without_crowd

    def note(batch):
        sizes.append(batch.n_samples)
        return of_batch(batch)

    monkeypatch.setattr(read, limit, value)
    monkeypatch.setattr(thresholds, "without_crowd", note)
    assert compute_agreement(noisy, ANNOTATORS, iou="auto", run_key="apart").config["iou"] == together
    assert max(sizes) <= 7
    assert len(sizes) > len(noisy) // 7


def test_a_view_decides_by_its_own_labels(noisy):
    few = noisy.limit(20)
    report = compute_agreement(few, ANNOTATORS, iou="auto")
    suggested = load(noisy).threshold_from_data()
    assert suggested.n_samples == 20
    assert report.config["iou"] == round(suggested.threshold, 2)


def test_labels_that_suggest_no_threshold_are_matched_at_one_half(make_dataset, caplog):
    dataset = make_dataset({name: [[("car", (0.1, 0.2, 0.3, 0.1))], []] for name in ANNOTATORS})
    with caplog.at_level(logging.WARNING):
        report = compute_agreement(dataset, ANNOTATORS, iou="auto")
    suggested = load(dataset).threshold_from_data()
    assert (report.config["iou"], suggested.threshold, suggested.reason) == (0.5, None, "no_variation")
    assert "suggest no matching threshold (no_variation); 0.5 is used" in caplog.text


@pytest.mark.long
def test_crowd_regions_and_what_lies_in_them_do_not_count(noisy):
    half = 0.5
    for sample in noisy:
        sample.alice.detections.extend(detections([("car", (0.0, 0.0, half, 1.0))], iscrowd=True).detections)
        for name in ("bob", "carol"):  # the same without crowd
            boxes = [label for label in sample[name].detections if not _lies_left(label, half)]
            sample[f"{name}_2"] = fo.Detections(detections=[label.copy() for label in boxes])
        sample["alice_2"] = fo.Detections(detections=[label.copy() for label in sample.alice.detections[:-1]])
        sample.save()
    without = compute_agreement(noisy, [f"{name}_2" for name in ANNOTATORS], iou="auto", run_key="without")
    report = compute_agreement(noisy, ANNOTATORS, iou="auto", run_key="crowd")
    assert report.config["iou"] == without.config["iou"]
    assert 0 < without.n_objects == report.n_objects


def _lies_left(label, end):
    """Whether half of a box, or more, is left of a line."""
    x, _, width, _ = label.bounding_box
    return min(x + width, end) - x >= width / 2


def test_labels_that_are_not_matched_have_no_threshold_to_find(make_dataset):
    dataset = make_dataset({name: [[]] * 3 for name in ANNOTATORS})
    for name, ratings in (("first", ["car", "bus", "car"]), ("second", ["car", "car", "bus"])):
        dataset.set_values(name, [fo.Classification(label=rating) for rating in ratings])
    with pytest.raises(AgreementInputError, match="`iou` concerns objects that are matched, but 'first' holds Classif"):
        compute_agreement(dataset, ["first", "second"], iou="auto")
    assert not dataset.list_runs()
