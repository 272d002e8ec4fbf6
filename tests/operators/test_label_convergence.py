"""The metric ``label_convergence`` in FiftyOne's own evaluation of detections."""

from __future__ import annotations

import fiftyone as fo
import pytest

from tests.datasets import boxes_dataset

import annotator_agreement as aa

URI = "@annotator/agreement/label_convergence"
CAT, DOG, BIRD = (("cat", (0.1, 0.1, 0.2, 0.4)), ("dog", (0.5, 0.5, 0.3, 0.2)), ("bird", (0.05, 0.6, 0.2, 0.2)))


@pytest.fixture
def dataset(private_fiftyone):
    """alice and bob share 2 of 3 and 3 labels: F1 2/3; yolo has 3 of the 3 labels of ``truth`` and a false one."""
    dataset = boxes_dataset(
        "human-convergence",
        {
            "alice": [[CAT, DOG], [BIRD]],
            "bob": [[CAT, DOG, BIRD], []],
            "truth": [[CAT, DOG], [BIRD]],
            "yolo": [[CAT, DOG, BIRD], [BIRD]],
        },
    )
    aa.compute(dataset, ["alice", "bob"], run_key="people", resamples=0)
    yield dataset
    dataset.delete()


def _evaluate(dataset, **options):
    metrics = {URI: {"run_key": "people"}}
    return dataset.evaluate_detections("yolo", gt_field="truth", eval_key="eval", custom_metrics=metrics, **options)


def test_the_f1_of_annotators_stands_beside_that_of_the_model(dataset) -> None:
    results = _evaluate(dataset)
    assert results.metrics()["fscore"] == pytest.approx(2 * 3 / (3 + 4))
    assert results.metrics()["label_convergence"] == pytest.approx(2 * 2 / (3 + 3))
    stored = dataset.load_evaluation_results("eval", cache=False).custom_metrics
    assert stored[URI]["lower_is_better"] is False
    assert stored[URI]["value"] == pytest.approx(2 * 2 / (3 + 3))
    dataset.delete_evaluation("eval")


def test_only_the_evaluated_images_count(dataset) -> None:
    results = _evaluate(dataset[:1])
    assert results.metrics()["label_convergence"] == pytest.approx(2 * 2 / (2 + 3))


@pytest.mark.long
def test_a_threshold_between_those_of_coco_is_no_metric_and_says_why(dataset, caplog) -> None:
    results = _evaluate(dataset, iou=0.52)
    assert "label_convergence" not in results.metrics()
    assert "`iou` must be one of 0.5, 0.55 … 0.95, got 0.52" in caplog.text


def test_samples_without_labels_of_two_annotators_have_no_metric_and_it_says_why(dataset, caplog) -> None:
    dataset.set_values("alice", [fo.Detections(), fo.Detections()])
    dataset.set_values("bob", [fo.Detections(), fo.Detections()])
    assert "label_convergence" not in _evaluate(dataset).metrics()
    assert "must have labels of two annotators of the run 'people', got none" in caplog.text


def test_its_form_offers_the_runs(dataset, operator, context) -> None:
    metric = operator("label_convergence")
    offered = metric.resolve_input(context(metric, dataset)).type.properties["run_key"]
    assert offered.default == "people"
    empty = fo.Dataset()
    assert "no_runs" in metric.resolve_input(context(metric, empty)).type.properties
    empty.delete()
