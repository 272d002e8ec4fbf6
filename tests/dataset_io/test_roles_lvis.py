"""200 images of LVIS annotated twice, one annotator as the reference: numbers of COCO's program and of scikit-learn."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections import Counter
from typing import Any

import fiftyone as fo
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import accuracy_score, confusion_matrix, precision_recall_fscore_support

from tests.conftest import SHARED_DATA
from tests.datasets import coco_dataset

import annotator_agreement as aa

LVIS = SHARED_DATA / "lvis_double" / "lvis_v1.0_val_doubly_annos_subset200.json"
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not LVIS.is_file(), reason=f"needs {LVIS}, which is not part of the repository"),
]


@pytest.fixture(scope="module")
def lvis(private_fiftyone: Any) -> Any:
    """The reference r1, the annotator r2, and one who copied the reference."""
    dataset = coco_dataset(f"roles-lvis-{os.getpid()}", LVIS, attribute_mode=False)
    dataset.clone_sample_field("r1", "copy")
    yield dataset
    dataset.delete()


def _against_the_reference(lvis: fo.Dataset, **options: Any) -> Any:
    options |= {"resamples": 0, "overwrite": True}
    copy, one = aa.compute(lvis, ["r2", "copy"], reference="r1", **options).report.reference.annotators
    assert (copy.name, one.name, one.n_samples, one.n_labels, one.n_reference) == ("copy", "r2", 200, 1770, 1751)
    assert {copy.precision, copy.recall, copy.f1, copy.pq, copy.class_accuracy, copy.mean_iou} == {1.0}
    return one


def _by_coco(*, use_categories: bool) -> Any:
    """The evaluation of r2 against r1 by COCO's program at an IoU of 0.5, with the data."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    data = json.loads(LVIS.read_text())
    sides = []
    with contextlib.redirect_stdout(io.StringIO()):
        for rater in ("r1", "r2"):
            side = COCO()
            own = [{**entry, "score": 0.99} for entry in data["annotations"] if entry["rater_id"] == rater]
            side.dataset = {**data, "annotations": own}
            side.createIndex()
            sides.append(side)
        evaluation = COCOeval(*sides, "bbox")
        evaluation.params.useCats, evaluation.params.maxDets = int(use_categories), [100_000]
        evaluation.params.iouThrs = np.array([0.5])
        evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, 1e10]], ["all"]
        evaluation.evaluate()
    return evaluation


def _n_matched(evaluation: Any) -> int:
    return sum(int((image["dtMatches"] > 0).sum()) for image in evaluation.evalImgs if image)


def test_precision_and_recall_are_those_of_cocos_program(lvis: fo.Dataset) -> None:
    n_matched, n_right = (_n_matched(_by_coco(use_categories=each)) for each in (False, True))
    one = _against_the_reference(lvis)
    assert (one.n_matched, one.n_right) == (n_matched, n_right)
    assert one.precision == pytest.approx(n_matched / 1770, abs=1e-12)
    assert one.recall == pytest.approx(n_matched / 1751, abs=1e-12)
    assert one.f1 == pytest.approx(2 * n_matched / (1770 + 1751), abs=1e-12)
    assert one.class_accuracy == pytest.approx(n_right / n_matched, abs=1e-12)
    one = _against_the_reference(lvis, classes="require")
    assert (one.precision, one.recall) == pytest.approx((n_right / 1770, n_right / 1751), abs=1e-12)


def _assigned() -> list[tuple[str, str, float]]:
    """Class of the reference, class of the annotator and IoU, by COCO's program, of the best assignment by image."""
    from pycocotools import mask

    data, found = json.loads(LVIS.read_text()), []
    names = {category["id"]: category["name"] for category in data["categories"]}
    for image in data["images"]:
        drawn = [entry for entry in data["annotations"] if entry["image_id"] == image["id"]]
        true, own = ([entry for entry in drawn if entry["rater_id"] == rater] for rater in ("r1", "r2"))
        if not true or not own:
            continue
        iou = mask.iou([each["bbox"] for each in own], [each["bbox"] for each in true], [0] * len(true))
        for a, b in zip(*linear_sum_assignment(np.maximum(iou - 0.5 + 1e-9, 0.0), maximize=True), strict=True):
            if iou[a, b] >= 0.5 - 1e-9:
                found.append((names[true[b]["category_id"]], names[own[a]["category_id"]], iou[a, b]))
    return found


def test_classes_are_those_of_scikit_learn(lvis: fo.Dataset) -> None:
    one = _against_the_reference(lvis, classes="ignore")
    true, own, iou = zip(*_assigned(), strict=True)
    assert one.class_accuracy == pytest.approx(accuracy_score(true, own), abs=1e-12)
    assert one.mean_iou == pytest.approx(np.mean(iou), abs=1e-9)
    names = sorted({*true, *own})
    matrix = confusion_matrix(true, own, labels=names)
    differ = {(names[a], names[b]): n for (a, b), n in np.ndenumerate(matrix) if n and a != b}
    assert {(entry["reference"], entry["annotator"]): entry["n"] for entry in one.confusion}.items() <= differ.items()
    assert sum(entry["n"] for entry in one.confusion) + one.n_unlisted == sum(differ.values()) == one.n_wrong_class
    # to scikit-learn, a label without a match is one for which the other side said nothing
    drawn, wanted = (Counter(lvis.values(f"{name}.detections.label", unwind=True)) for name in ("r2", "r1"))
    extra, missed = ([*each.elements()] for each in (drawn - Counter(own), wanted - Counter(true)))
    every = [*true, *[""] * len(extra), *missed], [*own, *extra, *[""] * len(missed)]
    expected = precision_recall_fscore_support(*every, labels=names, zero_division=np.nan)
    of_class = {part.name: part for part in one.classes}
    for name, *values in zip(names, *expected[:3], strict=True):
        numbers = [of_class[name].precision, of_class[name].recall, of_class[name].f1]
        assert [np.nan if each is None else each for each in numbers] == pytest.approx(values, abs=1e-12, nan_ok=True)
