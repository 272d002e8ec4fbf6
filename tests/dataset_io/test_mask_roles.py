"""A reference and models for semantic masks."""

from __future__ import annotations

from typing import Any

import fiftyone as fo
import numpy as np
import pytest
from sklearn.metrics import accuracy_score, cohen_kappa_score, jaccard_score, precision_recall_fscore_support

import annotator_agreement as aa
from annotator_agreement import dataset_io
from annotator_agreement.agreement import AgreementInputError

NAMES, IGNORED = ["alice", "bob", "carol"], 255


@pytest.fixture
def masked(make_dataset: Any) -> fo.Dataset:
    """Masks of three annotators, a reference and a model, with pixels to be ignored; some images lack some."""
    dataset, rng = make_dataset({}), np.random.default_rng(8)
    samples = []
    for k in range(24):
        sample, true = fo.Sample(f"/{k}.jpg"), np.zeros((20, 31), np.uint8)
        for value in (1, 2, 3):
            if rng.random() < 0.6:
                y, x = rng.integers(0, 16, 2)
                true[y : y + 7, x : x + 9] = value
        for name in (*NAMES, "gold", "net"):
            if rng.random() < 0.12:
                continue
            mask = np.roll(true, rng.integers(-2, 3, 2), (0, 1)) if rng.random() < 0.9 else np.zeros_like(true)
            mask[rng.random(mask.shape) < 0.02] = IGNORED
            sample[name] = fo.Segmentation(mask=mask)
        samples.append(sample)
    dataset.add_samples(samples)
    return dataset


def _both(dataset: fo.Dataset, name: str, other: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """The pixels that are not ignored, of the images that both have."""
    pairs = zip(dataset.values(f"{name}.mask"), dataset.values(f"{other}.mask"), strict=True)
    kept = [(own, true, (own != IGNORED) & (true != IGNORED)) for own, true in pairs if own is not None is not true]
    return [(own[used], true[used]) for own, true, used in kept if true is not None]


def _image_iou(own: np.ndarray, true: np.ndarray) -> float | None:
    classes = sorted({*own.tolist(), *true.tolist()} - {0})
    return float(np.mean(jaccard_score(true, own, labels=classes, average=None))) if classes else None


@pytest.mark.parametrize("empty", ["skip", "agree"])
@pytest.mark.few(1)
def test_numbers_are_those_of_scikit_learn(masked: fo.Dataset, empty: str) -> None:
    report = aa.compute(masked, NAMES, reference="gold", models=["net"], ignore_values=[IGNORED], empty=empty).report
    assert report.reference.n_without == sum(mask is None for mask in masked.values("gold.mask"))
    for role, name in ((report.reference, "gold"), (report.models[0], "net")):
        for one in role.annotators:
            images = _both(masked, one.name, name)
            own, true = (np.concatenate(side) for side in zip(*images, strict=True))
            assert (one.n_samples, one.n_labels, one.n_right) == (len(images), len(own), int((own == true).sum()))
            assert one.accuracy == pytest.approx(accuracy_score(true, own), abs=1e-12)
            assert one.kappa == pytest.approx(cohen_kappa_score(true, own), abs=1e-12)
            of_images = [_image_iou(*image) for image in images]
            assert None in of_images
            of_images = [1.0 if iou is None and empty == "agree" else iou for iou in of_images]
            assert one.mean_iou == pytest.approx(np.mean([iou for iou in of_images if iou is not None]), abs=1e-12)
            assert one.intervals["mean_iou"].low < one.mean_iou < one.intervals["mean_iou"].high
            assert {part.name for part in one.classes} == {"1", "2", "3"}
            if name == "net":
                own, true = true, own
            for part in one.classes:
                value = [int(part.name)]
                expected = precision_recall_fscore_support(true, own, labels=value)[:3]
                assert (part.precision, part.recall, part.f1) == pytest.approx(np.ravel(expected), abs=1e-12)
                assert part.iou == pytest.approx(jaccard_score(true, own, labels=value, average=None)[0], abs=1e-12)


@pytest.mark.long
def test_masks_and_images_have_their_iou(masked: fo.Dataset) -> None:
    aa.compute(masked, NAMES, reference="gold", ignore_values=[IGNORED])
    for sample in masked:
        of_image = {}
        for name in NAMES:
            if sample[name] is None:
                continue
            both = sample.gold is not None
            used = (sample[name].mask != IGNORED) & (sample.gold.mask != IGNORED) if both else None
            iou = _image_iou(sample[name].mask[used], sample.gold.mask[used]) if both else None
            assert sample[name].get_attribute_value("agreement_reference_iou", None) == (
                None if iou is None else pytest.approx(iou)
            )
            if iou is not None:
                of_image[name] = iou
        mean = sample["agreement_reference_iou"]
        assert mean == (pytest.approx(np.mean([*of_image.values()])) if of_image else None)
        lowest = min(of_image.values(), default=1)
        worst = [name for name, iou in of_image.items() if iou < 1 and iou == pytest.approx(lowest)]
        assert (sample["agreement_reference_worst"] or []) == worst


@pytest.mark.long
def test_a_single_annotator_is_compared_and_a_bad_mask_is_left_out(masked: fo.Dataset) -> None:
    first, second, third = masked.limit(3)
    for sample in (first, second, third):
        sample["bob"] = sample["carol"] = None
        sample["alice"] = sample["gold"] = fo.Segmentation(mask=np.ones((20, 31), np.uint8))
    first["gold"] = fo.Segmentation(mask=np.ones((9, 9), np.uint8))
    second["gold"] = fo.Segmentation(mask_path="/nowhere.png")
    for sample in (first, second, third):
        sample.save()
    with pytest.raises(AgreementInputError, match=r"Files of masks must exist, got 1 .*/nowhere\.png"):
        aa.compute(masked, NAMES, reference="gold")
    with pytest.raises(AgreementInputError, match=r"alice 31 x 20, gold 9 x 9"):
        aa.compute(masked.limit(1), NAMES, reference="gold")
    aa.compute(masked, NAMES, reference="gold", invalid="skip")
    assert masked.limit(3).values("alice.agreement_reference_iou") == [None, None, 1.0]


@pytest.mark.long
def test_what_cannot_be_is_refused(masked: fo.Dataset) -> None:
    with pytest.raises(AgreementInputError, match=r"`confidence_threshold` concerns objects .* tags, but"):
        aa.compute(masked, NAMES, models="net", confidence_threshold=0.5)
    masked.mask_targets = {"alice": {1: "road"}, "gold": {1: "sky"}}
    masked.save()
    with pytest.raises(AgreementInputError, match=r"must not contradict each other.*'sky' in 'gold'"):
        aa.compute(masked, NAMES, reference="gold")
    masked.mask_targets = {}
    masked.save()
    aa.compute(masked, NAMES, reference="gold")
    with pytest.raises(AgreementInputError, match="`reference` must be None for a run on Segmentation, got 'right'"):
        dataset_io.view_agreement(masked, reference="right")
