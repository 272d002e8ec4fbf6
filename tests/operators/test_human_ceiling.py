"""The metric ``human_ceiling`` in FiftyOne's own evaluation of detections."""

from __future__ import annotations

import fiftyone as fo
import pytest

from tests.datasets import boxes_dataset

import annotator_agreement as aa

URI = "@annotator/agreement/human_ceiling"
CAT, DOG, BIRD = (("cat", (0.1, 0.1, 0.2, 0.4)), ("dog", (0.5, 0.5, 0.3, 0.2)), ("bird", (0.05, 0.6, 0.2, 0.2)))


@pytest.fixture
def dataset(private_fiftyone):
    """alice and bob share 2 of 3 and 3 labels: F1 2/3; yolo has 3 of the 3 labels of ``truth`` and a false one."""
    dataset = boxes_dataset(
        "human-ceiling",
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


def test_the_f1_of_a_model_is_a_share_of_that_of_the_annotators(dataset) -> None:
    results = _evaluate(dataset)
    model, people = 2 * 3 / (3 + 4), 2 * 2 / (3 + 3)
    assert results.metrics()["human_ceiling"] == pytest.approx(model / people)
    assert results.metrics()["human_f1"] == pytest.approx(people)
    stored = dataset.load_evaluation_results("eval", cache=False).custom_metrics
    assert stored[URI]["lower_is_better"] is False
    assert stored[URI]["value"] == pytest.approx(model / people)
    dataset.delete_evaluation("eval")


def test_called_from_python_it_is_the_ceiling_of_the_run(dataset, operator) -> None:
    ceiling = operator("human_ceiling")(dataset, "people", resamples=0)
    assert ceiling.to_dict() == aa.load(dataset, "people").ceiling(resamples=0).to_dict()
    with pytest.raises(TypeError, match=r"^human_ceiling\(\) has no option 'run_ky'; did you mean 'run_key'"):
        operator("human_ceiling")(dataset, run_ky="people")


def test_only_the_evaluated_images_count(dataset) -> None:
    results = _evaluate(dataset[:1])
    model = people = 2 * 2 / (2 + 3)
    assert results.metrics()["human_ceiling"] == pytest.approx(model / people)


def test_a_threshold_between_those_of_coco_is_no_metric_and_says_why(dataset, caplog) -> None:
    results = _evaluate(dataset, iou=0.52)
    assert "human_ceiling" not in results.metrics()
    assert "`iou` must be one of 0.5, 0.55 … 0.95, got 0.52" in caplog.text


def test_its_form_offers_the_runs(dataset, operator, context) -> None:
    metric = operator("human_ceiling")
    offered = metric.resolve_input(context(metric, dataset)).type.properties["run_key"]
    assert offered.default == "people"
    empty = fo.Dataset()
    assert "no_runs" in metric.resolve_input(context(metric, empty)).type.properties
    empty.delete()
