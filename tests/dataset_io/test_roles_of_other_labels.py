"""A reference and models for tags, semantic masks, classes and numbers."""

from __future__ import annotations

from typing import Any

import fiftyone as fo
import numpy as np
import pytest
from scipy.stats import ttest_1samp
from sklearn import metrics
from sklearn.metrics import accuracy_score, cohen_kappa_score, jaccard_score, precision_recall_fscore_support

from tests.dataset_io.quick_runs import ANNOTATORS as NAMES
from tests.dataset_io.quick_runs import refused

import annotator_agreement as aa
from annotator_agreement import dataset_io
from annotator_agreement.charts.reports import person_sentence

TAGS = list("abcdef")


@pytest.fixture
def tagged(make_dataset: Any) -> fo.Dataset:
    """Tags of three annotators, a reference and a model; some images lack some, some tags are given twice."""
    dataset, rng = make_dataset({}), np.random.default_rng(4)
    samples = []
    for k in range(50):
        sample, true = fo.Sample(f"/{k}.jpg"), [tag for tag in TAGS if rng.random() < 0.4]
        for name in (*NAMES, "gold", "net"):
            if rng.random() < 0.12:
                continue
            given = [tag for tag in TAGS if (tag in true) != (rng.random() < 0.15)]
            tags = [fo.Classification(label=tag, confidence=float(rng.random()))
                    for tag in [*given, *given[: int(rng.random() < 0.2)]]]  # fmt: skip
            sample[name] = fo.Classifications(classifications=tags)
        samples.append(sample)
    dataset.add_samples(samples)
    return dataset


def _given(dataset: fo.Dataset, name: str, least: float = 0.0) -> list[set[str] | None]:
    return [None if found is None else {tag.label for tag in found.classifications if tag.confidence >= least}
            for found in dataset.values(name)]  # fmt: skip


def _both(dataset: fo.Dataset, name: str, other: str, least: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Which tags both gave on the images that both have, as tables of images and tags."""
    pairs = zip(_given(dataset, name), _given(dataset, other, least), strict=True)
    kept = [pair for pair in pairs if None not in pair]
    own, true = (np.array([[tag in pair[k] for tag in TAGS] for pair in kept]) for k in (0, 1))
    return own, true


@pytest.mark.parametrize("least", [None, 0.3])
@pytest.mark.few(1)
def test_numbers_of_tags_are_those_of_scikit_learn(tagged: fo.Dataset, least: float | None) -> None:
    report = aa.compute(tagged, NAMES, reference="gold", models=["net"], confidence_threshold=least).report
    found = [(one, *_both(tagged, one.name, "gold")) for one in report.reference.annotators]
    found += [(one, *_both(tagged, one.name, "net", least or 0.0)) for one in report.models[0].annotators]
    for place, (one, own, true) in enumerate(found):
        if place >= len(NAMES):  # precision and recall of a model are its own
            own, true = true, own
        for of_one, average in ((one, "micro"), *((part, None) for part in one.classes)):
            labels = None if average else [TAGS.index(of_one.name)]
            expected = precision_recall_fscore_support(true, own, average=average, labels=labels)[:3]
            numbers = (of_one.precision, of_one.recall, of_one.f1)
            assert numbers == pytest.approx([float(np.ravel(each)[0]) for each in expected], abs=1e-12)
        assert one.jaccard == pytest.approx(jaccard_score(true, own, average="micro"), abs=1e-12)
        assert one.intervals["f1"].low < one.f1 < one.intervals["f1"].high
        assert (one.n_samples, one.n_right) == (len(own), int((own & true).sum()))
        assert one.class_accuracy is None


def _first_of_equal(labels: fo.Classifications | None) -> list[fo.Classification]:
    """The tags, each once; the others say nothing."""
    found: dict[str, fo.Classification] = {}
    for tag in labels.classifications if labels is not None else ():
        if found.setdefault(tag.label, tag) is not tag:
            assert tag.get_attribute_value("agreement_reference", None) is None
            assert tag.get_attribute_value("agreement_missed_by", None) is None
    return [*found.values()]


@pytest.mark.long
def test_labels_and_images_say_what_the_reference_says(tagged: fo.Dataset) -> None:
    run = aa.compute(tagged, NAMES, reference="gold")
    true, given_by = _given(tagged, "gold"), {name: _given(tagged, name) for name in NAMES}
    for k, sample in enumerate(tagged):
        for tag in (tag for name in NAMES for tag in _first_of_equal(sample[name])):
            expected = None if true[k] is None else "right" if tag.label in true[k] else "extra"
            assert tag.get_attribute_value("agreement_reference", None) == expected
        own = {name: given_by[name][k] for name in NAMES}
        for tag in _first_of_equal(sample.gold):
            missed = [name for name in NAMES if own[name] is not None and tag.label not in own[name]]
            assert tag.get_attribute_value("agreement_missed_by", None) == (missed or None)
        both = {name: given for name, given in own.items() if given is not None and true[k] is not None}
        f1 = {name: 2 * len(given & true[k]) / (len(given) + len(true[k])) for name, given in both.items()
              if given or true[k]}  # fmt: skip
        assert sample["agreement_reference_f1"] == (pytest.approx(np.mean([*f1.values()])) if f1 else None)
        worst = [name for name, value in f1.items() if value == min(f1.values()) < 1]
        assert (sample["agreement_reference_worst"] or []) == worst
    for said, field, count in (
        ("missed", "gold", tagged.count_values("gold.classifications.agreement_missed_by")["bob"]),
        ("extra", "bob", tagged.count_values("bob.classifications.agreement_reference")["extra"]),
    ):
        view = dataset_io.view_agreement(tagged, reference=said, annotators="bob")
        assert view.count(f"{field}.classifications") == count
    labels = run.labels()
    of_gold = labels[labels.role == "reference"]
    assert set(of_gold.annotator) == {"gold"}
    assert set(of_gold.label_id) == {tag.id for sample in tagged for tag in _first_of_equal(sample.gold)}
    assert (labels[labels.annotator == "bob"].reference == "right").sum() == run.report.reference.annotators[1].n_right


@pytest.mark.long
def test_images_with_a_tag_that_nobody_decided_have_no_reference(tagged: fo.Dataset) -> None:
    aa.compute(tagged, NAMES).decisions.decide("consensus", min_votes=2)  # not the tags of one alone
    reference = aa.compute(tagged, NAMES, reference="agreement_gold", run_key="vs").report.reference
    logs = tagged.values("agreement_gold_decisions")
    decided = {label.split()[-1] for log in logs for entry in log or () for label in entry["labels"]}
    given = [[sample[name] for name in NAMES if sample[name] is not None] for sample in tagged]
    complete = [gold is not None and all(tag.id in decided for tags in of for tag in tags.classifications)
                for gold, of in zip(tagged.values("agreement_gold"), given, strict=True)]  # fmt: skip
    compared = [bool(of) and each for of, each in zip(given, complete, strict=True)]
    assert reference.n_samples == sum(compared) > 2
    assert reference.n_without == len(tagged) - sum(complete) > 5
    assert [value is not None for value in tagged.values("vs_reference_f1")] == compared
    assert all(one.precision == 1.0 for one in reference.annotators)


IGNORED = 255


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


def _both_roles(dataset: fo.Dataset, name: str, other: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """The pixels that are not ignored, of the images that both have."""
    pairs = zip(dataset.values(f"{name}.mask"), dataset.values(f"{other}.mask"), strict=True)
    kept = [(own, true, (own != IGNORED) & (true != IGNORED)) for own, true in pairs if own is not None is not true]
    return [(own[used], true[used]) for own, true, used in kept if true is not None]


def _image_iou(own: np.ndarray, true: np.ndarray) -> float | None:
    classes = sorted({*own.tolist(), *true.tolist()} - {0})
    return float(np.mean(jaccard_score(true, own, labels=classes, average=None))) if classes else None


@pytest.mark.parametrize("empty", ["skip", "agree"])
@pytest.mark.few(1)
def test_numbers_of_masks_are_those_of_scikit_learn(masked: fo.Dataset, empty: str) -> None:
    report = aa.compute(masked, NAMES, reference="gold", models=["net"], ignore_values=[IGNORED], empty=empty).report
    assert report.reference.n_without == sum(mask is None for mask in masked.values("gold.mask"))
    for role, name in ((report.reference, "gold"), (report.models[0], "net")):
        for one in role.annotators:
            images = _both_roles(masked, one.name, name)
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
            iou = None
            if sample.gold is not None:
                used = (sample[name].mask != IGNORED) & (sample.gold.mask != IGNORED)
                iou = _image_iou(sample[name].mask[used], sample.gold.mask[used])
            found = sample[name].get_attribute_value("agreement_reference_iou", None)
            assert found == (iou and pytest.approx(iou))
            of_image |= {} if iou is None else {name: iou}
        mean = sample["agreement_reference_iou"]
        assert mean == (pytest.approx(np.mean([*of_image.values()])) if of_image else None)
        lowest = min(of_image.values(), default=1)
        worst = [name for name, iou in of_image.items() if iou < 1 and iou == pytest.approx(lowest)]
        assert (sample["agreement_reference_worst"] or []) == worst


@pytest.mark.long
def test_a_bad_mask_is_left_out_and_what_cannot_be_of_masks_refused(masked: fo.Dataset) -> None:
    first, second, third = masked.limit(3)
    for sample in (first, second, third):
        sample["bob"] = sample["carol"] = None
        sample["alice"] = sample["gold"] = fo.Segmentation(mask=np.ones((20, 31), np.uint8))
    first["gold"] = fo.Segmentation(mask=np.ones((9, 9), np.uint8))
    second["gold"] = fo.Segmentation(mask_path="/nowhere.png")
    for sample in (first, second, third):
        sample.save()
    of_gold = {"reference": "gold", "resamples": 0}
    refused(r"Files of masks must exist, got 1 .*/nowhere\.png", aa.compute, masked, NAMES, **of_gold)
    refused(r"alice 31 x 20, gold 9 x 9", aa.compute, masked.limit(1), NAMES, **of_gold)
    message = r"`confidence_threshold` concerns objects .* tags, but"
    refused(message, aa.compute, masked, NAMES, models="net", confidence_threshold=0.5)
    masked.mask_targets = {"alice": {1: "road"}, "gold": {1: "sky"}}
    refused("must not contradict each other.*'sky' in 'gold'", aa.compute, masked.skip(3), NAMES, **of_gold)
    masked.mask_targets = {}
    aa.compute(masked, NAMES, invalid="skip", overwrite=True, **of_gold)
    assert masked.limit(3).values("alice.agreement_reference_iou") == [None, None, 1.0]
    message = "`reference` must be None for a run on Segmentation, got 'right'"
    refused(message, dataset_io.view_agreement, masked, reference="right")


@pytest.fixture
def rated(make_dataset: Any) -> fo.Dataset:
    """Classes and numbers of three annotators, a reference and a model; some images lack some."""
    dataset, rng = make_dataset({}), np.random.default_rng(3)
    samples = []
    for k in range(60):
        sample, true, value = fo.Sample(f"/{k}.jpg"), int(rng.integers(3)), float(rng.normal())
        for name in (*NAMES, "gold", "net"):
            if rng.random() < 0.15:
                continue
            said = true if rng.random() < 0.7 else int(rng.integers(4))
            sample[name] = fo.Classification(label="abcd"[said], confidence=float(rng.random()))
            sample[f"{name}_size"] = fo.Regression(value=round(value + float(rng.normal(0, 0.3)), 2))
        samples.append(sample)
    dataset.add_samples(samples)
    return dataset


def _both_values(dataset: fo.Dataset, name: str, other: str, attribute: str) -> tuple[list[Any], list[Any]]:
    pairs = zip(dataset.values(name), dataset.values(other), strict=True)
    found = [(getattr(a, attribute), getattr(b, attribute)) for a, b in pairs if a is not None and b is not None]
    own, true = zip(*found, strict=True)
    return list(own), list(true)


def test_classes_against_a_reference_are_those_of_scikit_learn(rated: fo.Dataset) -> None:
    report = dataset_io.compute_agreement(rated, NAMES, reference="gold", models=["net"])
    assert report.reference.n_without == sum(value is None for value in rated.values("gold"))
    for one in report.reference.annotators:
        own, true = _both_values(rated, one.name, "gold", "label")
        assert one.n_samples == len(own)
        assert one.accuracy == pytest.approx(accuracy_score(true, own))
        assert one.kappa == pytest.approx(cohen_kappa_score(true, own))
        names = [part.name for part in one.classes]
        expected = precision_recall_fscore_support(true, own, labels=names, zero_division=np.nan)
        for k, part in enumerate(one.classes):
            for value, of_all in zip((part.precision, part.recall, part.f1), expected[:3], strict=True):
                assert (np.nan if value is None else value) == pytest.approx(of_all[k], nan_ok=True)
        assert one.intervals["accuracy"].low < one.accuracy < one.intervals["accuracy"].high
        said = rated.count_values(f"{one.name}.agreement_reference")
        assert (said["right"], said["wrong_class"]) == (one.n_right, one.n_wrong_class)
        view = dataset_io.view_agreement(rated, reference="wrong_class", annotators=one.name)
        assert len(view) == one.n_wrong_class == sum(entry["n"] for entry in one.confusion)
    for one in report.models[0].annotators:
        own, true = _both_values(rated, one.name, "net", "label")
        assert one.accuracy == pytest.approx(accuracy_score(true, own))
    message = "`confidence_threshold` must be a number for Classification"
    refused(message, aa.compute, rated, NAMES, models="net", confidence_threshold="best_f1", run_key="other")
    message = "`reference` must not be 'missed' for a run on Classification"
    refused(message, dataset_io.view_agreement, rated, reference="missed")


@pytest.mark.long
def test_numbers_against_a_reference_have_errors(rated: fo.Dataset) -> None:
    fields = [f"{name}_size" for name in NAMES]
    report = dataset_io.compute_agreement(rated, fields, reference="gold_size", tolerance=0.2)
    for one in report.reference.annotators:
        own, true = _both_values(rated, one.name, "gold_size", "value")
        assert one.mean_absolute_error == pytest.approx(metrics.mean_absolute_error(true, own))
        assert one.mean_error == pytest.approx(np.mean(own) - np.mean(true))
        assert one.accuracy == pytest.approx(np.mean(np.abs(np.subtract(own, true)) <= 0.2 + 1e-12))


@pytest.mark.long
def test_a_model_is_tested_on_classes_as_a_person_is(rated: fo.Dataset) -> None:
    (model,) = aa.compute(rated, NAMES, models=["net"]).report.models
    said = {name: [None if each is None else each.label for each in rated.values(name)] for name in (*NAMES, "net")}
    sums = np.zeros(4)
    for entry, tested in zip(model.person.annotators, model.person.left_out, strict=True):
        others = [name for name in NAMES if name != entry.name]
        differences, n_right = [], np.zeros(4)
        for k in range(len(rated)):
            with_him = [name for name in others if said[name][k] is not None]
            if None in (said["net"][k], said[entry.name][k]) or not with_him:
                continue
            both = ("net", entry.name)
            of_model, of_him = (np.array([said[name][k] == said[who][k] for name in with_him]) for who in both)
            n_right += of_model.sum(), len(of_model), of_him.sum(), len(of_him)
            differences.append(float(of_him.mean() >= of_model.mean()) - float(of_model.mean() >= of_him.mean()))
        assert (entry.n_samples, tested.n) == (len(differences), len(differences))
        assert (entry.model, entry.annotators) == pytest.approx((n_right[0] / n_right[1], n_right[2] / n_right[3]))
        assert tested.p_value == pytest.approx(ttest_1samp(differences, 0.1, alternative="less").pvalue)
        sums += n_right
    total = model.person.total
    assert (total.model, total.annotators) == pytest.approx((sums[0] / sums[1], sums[2] / sums[3]))
    assert total.intervals["difference"].low < total.difference < total.intervals["difference"].high
    assert person_sentence(model).endswith("]).")
    assert "accuracy 0." in person_sentence(model)
