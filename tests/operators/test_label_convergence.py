"""The metric ``label_convergence`` in FiftyOne's own evaluation of detections."""

from __future__ import annotations

import fiftyone as fo
import pytest

import annotator_agreement as aa

URI = "@annotator/agreement/label_convergence"
CAT, DOG, BIRD = (("cat", (0.1, 0.1, 0.2, 0.4)), ("dog", (0.5, 0.5, 0.3, 0.2)), ("bird", (0.05, 0.6, 0.2, 0.2)))


def _made(make_dataset):
    """alice and bob share 2 of 3 and 3 labels: F1 2/3; yolo has 3 of the 3 labels of ``truth`` and a false one."""
    drawn = {"alice": [[CAT, DOG], [BIRD]], "bob": [[CAT, DOG, BIRD], []]}
    dataset = make_dataset({**drawn, "truth": [[CAT, DOG], [BIRD]], "yolo": [[CAT, DOG, BIRD], [BIRD]]})
    aa.compute(dataset, ["alice", "bob"], run_key="people", resamples=0)
    return dataset


def _metrics(samples, **options):
    metrics = {URI: {"run_key": "people"}}
    given = {"gt_field": "truth", "eval_key": "eval", "custom_metrics": metrics, **options}
    return samples.evaluate_detections("yolo", **given).metrics()


def test_the_f1_of_annotators_stands_beside_that_of_the_model_and_only_the_evaluated_images_count(lend):
    dataset = lend(_made)
    found = _metrics(dataset)
    assert found["fscore"] == pytest.approx(2 * 3 / (3 + 4))
    assert found["label_convergence"] == pytest.approx(2 * 2 / (3 + 3))
    stored = dataset.load_evaluation_results("eval", cache=False).custom_metrics[URI]
    assert (stored["lower_is_better"], stored["value"]) == (False, found["label_convergence"])
    dataset.delete_evaluation("eval")
    assert _metrics(dataset[:1])["label_convergence"] == pytest.approx(2 * 2 / (2 + 3))


def test_where_there_is_no_metric_it_says_why(lend, caplog):
    dataset = lend(_made)
    assert "label_convergence" not in _metrics(dataset, iou=0.52)  # between those of COCO
    assert "`iou` must be one of 0.5, 0.55 … 0.95, got 0.52" in caplog.text
    for name in ("alice", "bob"):
        dataset.set_values(name, [fo.Detections(), fo.Detections()])
    assert "label_convergence" not in _metrics(dataset)
    assert "must have labels of two annotators of the run 'people', got none" in caplog.text


def test_its_form_offers_the_runs(lend, make_dataset, operator, context):
    metric = operator("label_convergence")
    offered = metric.resolve_input(context(metric, lend(_made))).type.properties["run_key"]
    assert offered.default == "people"
    assert "no_runs" in metric.resolve_input(context(metric, make_dataset({}))).type.properties
