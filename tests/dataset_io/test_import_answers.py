"""Answers of crowds: a column for each annotator, results of MTurk, and the files of SageMaker Ground Truth."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from tests.dataset_io.annotation_samples import boxes_of, dataset_of, said_by, sized, written

import annotator_agreement as aa
from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import import_annotations

pytestmark = pytest.mark.usefixtures("delete_imports")


def _answers(dataset, field, of="label"):
    return [value and getattr(value, of) for value in dataset.values(field)]


# --------------------------------------------------------------------------------------------------------- wide tables


def test_a_column_for_each_annotator(tmp_path):
    text = "\ufeffimage,alice,bob,carol\r\n1.jpg,cat,cat,dog\r\n2.jpg,dog,,dog\r\n3.jpg,cat,dog,cat\r\n"
    dataset = dataset_of(["1.jpg", "2.jpg", "3.jpg"])
    summary = import_annotations(dataset, written(tmp_path / "w.csv", text))
    assert summary.format == "a wide table"
    assert [_answers(dataset, name) for name in ("alice", "bob", "carol")] == [
        ["cat", "dog", "cat"], ["cat", None, "dog"], ["dog", "dog", "cat"]]  # fmt: skip
    assert dataset.values("bob")[1] is None  # not assigned
    assert "A column is read as an annotator: alice, bob, carol; an empty cell means not assigned" in said_by(summary)
    report = eval(summary.calls[0], {"aa": aa, "dataset": dataset})
    # of the 3 + 1 + 3 pairs on the three images 1 + 1 + 1 are equal
    assert report.score.mean == pytest.approx((1 / 3 + 1 + 1 / 3) / 3)


@pytest.mark.parametrize("style", ["{}_label", "{}.label", "label_{}", "label {}"])
@pytest.mark.few(2)
def test_columns_with_the_annotator_in_their_name(style):
    names = [style.format(who) for who in ("rater1", "rater2")]
    table = pd.DataFrame(
        {"filename": ["1.jpg", "2.jpg"], names[0]: ["x", "y"], names[1]: ["x", None], "note": ["a", "b"]}
    )
    dataset = dataset_of(["1.jpg", "2.jpg"])
    summary = import_annotations(dataset, table)
    assert [entry.name for entry in summary.annotators] == ["rater1", "rater2"]
    assert (_answers(dataset, "rater1"), _answers(dataset, "rater2")) == (["x", "y"], ["x", None])


def test_boxes_in_columns_of_each_annotator():
    table = pd.DataFrame({"image": ["1.jpg"], "image_width": [40], "image_height": [20]})
    for who, x in {"a": 4, "b": 8}.items():
        own = {"x": x, "y": 5, "width": 10, "height": 10, "label": "cat"}
        table = table.assign(**{f"{who}_{name}": value for name, value in own.items()})
    dataset = dataset_of(["1.jpg"])
    import_annotations(dataset, table)
    assert [boxes_of(dataset, who) for who in "ab"] == [[[("cat", x, 0.25, 0.25, 0.5)]] for x in (0.1, 0.2)]


def test_numbers_and_true_and_false_in_columns():
    dataset = dataset_of(["1.jpg", "2.jpg"])
    table = pd.DataFrame({"image": ["1.jpg", "2.jpg"], "ann": [1, 2], "bob": [1, None]})
    summary = import_annotations(dataset, table, prefix="n_")
    assert (_answers(dataset, "n_ann", "value"), _answers(dataset, "n_bob", "value")) == ([1.0, 2.0], [1.0, None])
    assert "columns={\"label\": ['ann', 'bob']} reads them as classes" in said_by(summary)
    import_annotations(dataset, table, prefix="c_", columns={"label": ["ann", "bob"]})
    assert (_answers(dataset, "c_ann"), _answers(dataset, "c_bob")) == (["1", "2"], ["1", None])
    truth = pd.DataFrame({"image": ["1.jpg", "2.jpg"], "ann": [True, False], "bob": [True, True]})
    import_annotations(dataset, truth, prefix="t_")
    assert _answers(dataset, "t_ann") == ["True", "False"]


def test_columns_that_may_be_something_else_are_asked_for():
    table = pd.DataFrame(
        {"image": ["1.jpg", "2.jpg"], "ann": ["x", "y"], "bob": ["x", "x"], "remark": ["dark", "blurred"]}
    )
    dataset = dataset_of(["1.jpg", "2.jpg"])
    with pytest.raises(AgreementInputError, match=r"must have a column for the label, .*or one for each annotator"):
        import_annotations(dataset, table)
    with pytest.raises(AgreementInputError, match=r"must name columns of the table .* got 'bop' for the annotators"):
        import_annotations(dataset, table, columns={"label": ["ann", "bop"]})
    import_annotations(dataset, table, columns={"label": ["ann", "bob"]})
    assert _answers(dataset, "bob") == ["x", "x"]
    with pytest.raises(AgreementInputError, match=r"must have a column for the annotator"):
        import_annotations(dataset, table.rename(columns={"ann": "label"}))


# --------------------------------------------------------------------------------------------------------------- MTurk


def _mturk(tmp_path, answers, image="Input.image_url", **more):
    """A batch as MTurk's website writes it; every cell is quoted."""
    rows = [
        {"HITId": f"H{name}", "AssignmentId": f"A{k}", "WorkerId": who, "AssignmentStatus": "Approved",
         image: f"https://bucket.s3.amazonaws.com/photos/{name}?versionId=3", **answer, "Approve": "", **more}
        for k, (who, name, answer) in enumerate(answers)
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(
        tmp_path / "Batch_3998716_batch_results.csv", index=False, quoting=1, lineterminator="\r\n"
    )
    return tmp_path / "Batch_3998716_batch_results.csv"


def _boxes(*boxes):
    keys = ("height", "label", "left", "top", "width")
    return json.dumps([dict(zip(keys, box, strict=True)) for box in boxes], separators=(",", ":"))


def test_boxes_of_mturk(tmp_path):
    size = {"Answer.annotatedResult.inputImageProperties.height": 20,
            "Answer.annotatedResult.inputImageProperties.width": 40}  # fmt: skip
    path = _mturk(tmp_path, [
        ("A1", "1.jpg", {"Answer.annotatedResult.boundingBoxes": _boxes((10, "cat", 4, 5, 10)), **size}),
        ("A2", "1.jpg", {"Answer.annotatedResult.boundingBoxes": _boxes((10, "cat", 4, 5, 20)), **size}),
        ("A1", "2.jpg", {"Answer.annotatedResult.boundingBoxes": "[]", **size}),
    ])  # fmt: skip
    dataset = dataset_of(["1.jpg", "2.jpg"])
    summary = import_annotations(dataset, path)
    assert summary.format == "MTurk results"
    assert dataset.values("A1.detections.bounding_box") == [[[0.1, 0.25, 0.25, 0.5]], []]
    assert [value and len(value.detections) for value in dataset.values("A2")] == [1, None]
    assert eval(summary.calls[0], {"aa": aa, "dataset": dataset}).score.mean == pytest.approx(0.5)


def test_answers_of_other_forms_of_mturk(tmp_path):
    path = _mturk(tmp_path, [
        ("A1", "1.jpg", {"Answer.category.label": "cat", "Answer.sure.yes": "true", "Answer.sure.no": "false"}),
        ("A2", "1.jpg", {"Answer.taskAnswers": '[{"category":{"label":"dog"},"sure":{"yes":false,"no":true}}]'}),
        ("A3", "1.jpg", {"Answer.category.label": "cat"}),
    ])  # fmt: skip
    dataset = dataset_of(["1.jpg"])
    import_annotations(dataset, path)
    assert [_answers(dataset, f"{who}_category") for who in ("A1", "A2", "A3")] == [["cat"], ["dog"], ["cat"]]
    assert [_answers(dataset, f"{who}_sure") for who in ("A1", "A2")] == [["yes"], ["no"]]
    polygons = json.dumps([{"label": "cat", "vertices": [{"x": 4, "y": 5}, {"x": 14, "y": 5}, {"x": 14, "y": 15}]}])
    path = _mturk(tmp_path, [("A1", "1.jpg", {"Answer.annotatedResult.polygons": polygons})])
    shapes = sized(["1.jpg"])
    import_annotations(shapes, path)
    assert shapes.first().A1.polylines[0].points == [[[0.1, 0.25], [0.35, 0.25], [0.35, 0.75]]]


def test_what_of_mturk_is_left_out_or_asked(tmp_path):
    answer = {"Answer.annotatedResult.boundingBoxes": _boxes((10, "cat", 4, 5, 10))}
    broken = {"Answer.annotatedResult.boundingBoxes": '[{"left": 3'}
    dataset = sized(["1.jpg"])
    path = _mturk(tmp_path, [("A1", "1.jpg", answer), ("A2", "1.jpg", broken)])
    summary = import_annotations(dataset, path)
    assert dataset.values("A2") == [None]
    assert "boundingBoxes that cannot be read: 1 (row 3" in said_by(summary)
    path = _mturk(tmp_path, [("A1", "1.jpg", answer)], AssignmentStatus="Rejected")
    with pytest.raises(AgreementInputError, match=r"must hold annotations of images"):
        import_annotations(dataset, path)
    path = _mturk(tmp_path, [("A1", "1.jpg", answer)], image="Input.left", **{"Input.right": "x"})
    with pytest.raises(
        AgreementInputError, match=r"must be the image, got Input.left, Input.right; say which with columns"
    ):
        import_annotations(dataset, path, overwrite=True)
    import_annotations(dataset, path, overwrite=True, columns={"image": "Input.left"})
    path = _mturk(tmp_path, [("A1", "1.jpg", answer), ("A1", "1.jpg", answer)])
    with pytest.raises(AgreementInputError, match=r"more than one of 'A1'"):
        import_annotations(dataset, path, overwrite=True)
    path = _mturk(tmp_path, [("A1", "1.jpg", answer), ("A2", "1.jpg", answer)])
    with pytest.raises(AgreementInputError, match=r"must be that annotator's alone, got 'eve' for a file of A1, A2"):
        import_annotations(dataset, {"eve": path})


# ----------------------------------------------------------------------------------------------------------- SageMaker


def _answer(*boxes):
    drawn = [{"height": 10, "label": "cat", "left": left, "top": 5, "width": 10} for left in boxes]
    return {"boundingBox": {"boundingBoxes": drawn, "inputImageProperties": {"height": 20, "width": 40}}}


LEFT, RIGHT = ("cat", 0.1, 0.25, 0.25, 0.5), ("cat", 0.2, 0.25, 0.25, 0.5)


def test_the_request_for_consolidation_of_sagemaker(tmp_path):
    def said(who, *boxes):
        return {"workerId": who, "annotationData": {"content": json.dumps(_answer(*boxes))}}

    answers = [[said("w1", 4), said("w2")], [said("w1", 4, 8)]]
    content = [{"datasetObjectId": str(k), "dataObject": {"s3Uri": f"s3://bucket/in/{k + 1}.jpg"}, "annotations": own}
               for k, own in enumerate(answers)]  # fmt: skip
    dataset, other = (dataset_of(["1.jpg", "2.jpg"]) for _ in range(2))
    summary = import_annotations(dataset, written(tmp_path / "2019-01-01.json", content))
    assert summary.format == "SageMaker Ground Truth"
    assert (boxes_of(dataset, "w1"), boxes_of(dataset, "w2")) == ([[LEFT], [LEFT, RIGHT]], [[], None])
    answers[0][0]["annotationData"]["content"] = "no JSON"
    summary = import_annotations(other, written(tmp_path / "2019-01-02.json", content))
    assert other.values("w1")[0] is None
    assert "answers without a content that can be read: 1" in said_by(summary)


def test_responses_of_workers_of_sagemaker_have_their_images_in_the_manifest(tmp_path):
    source = tmp_path / "my-job" / "annotations" / "worker-response"
    for number, answers in enumerate(({"w1": [4], "w2": []}, {"w1": [8]})):
        responses = [{"acceptanceTime": "2020-05-13T19:50:29Z", "answerContent": _answer(*boxes), "workerId": who,
                      "submissionTime": "2020-05-13T19:50:55Z", "timeSpentInSeconds": 2.5}
                     for who, boxes in answers.items()]  # fmt: skip
        written(source / "iteration-1" / str(number) / "2020-05-13_19-51-04.json", {"answers": responses})
    dataset = dataset_of(["1.jpg", "2.jpg"])
    with pytest.raises(AgreementInputError, match=r"must lie in the folders of their SageMaker job, with its output"):
        import_annotations(dataset, source)
    lines = [json.dumps({"source-ref": f"s3://bucket/{name}"}) for name in ("2.jpg", "1.jpg")]
    manifest = written(tmp_path / "my-job" / "manifests" / "output" / "output.manifest", "\n".join(lines) + "\n")
    import_annotations(dataset, source)
    assert (boxes_of(dataset, "w1"), boxes_of(dataset, "w2")) == ([[RIGHT], [LEFT]], [None, []])
    for path in (manifest, written(tmp_path / "a.ndjson", lines[0]), written(tmp_path / "b.json", "\r\n".join(lines))):
        with pytest.raises(AgreementInputError, match=r"those of workers, got .* a manifest .*annotations/worker-resp"):
            import_annotations(dataset, path)
