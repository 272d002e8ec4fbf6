"""A reference and models for tags."""

from __future__ import annotations

from typing import Any

import fiftyone as fo
import numpy as np
import pytest
from sklearn.metrics import jaccard_score, precision_recall_fscore_support

import annotator_agreement as aa
from annotator_agreement import dataset_io

NAMES, TAGS = ["alice", "bob", "carol"], list("abcdef")


def _tags(names: list[str], rng: Any) -> fo.Classifications:
    return fo.Classifications(
        classifications=[fo.Classification(label=name, confidence=float(rng.random())) for name in names]
    )


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
            sample[name] = _tags([*given, *given[: int(rng.random() < 0.2)]], rng)
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
def test_numbers_are_those_of_scikit_learn(tagged: fo.Dataset, least: float | None) -> None:
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
    for name in NAMES:
        for sample, of_reference in zip(tagged, true, strict=True):
            for tag in _first_of_equal(sample[name]):
                expected = None if of_reference is None else "right" if tag.label in of_reference else "extra"
                assert tag.get_attribute_value("agreement_reference", None) == expected
    for k, sample in enumerate(tagged):
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
    missed = dataset_io.view_agreement(tagged, reference="missed", annotators="bob")
    assert (
        missed.count("gold.classifications") == tagged.count_values("gold.classifications.agreement_missed_by")["bob"]
    )
    extra = dataset_io.view_agreement(tagged, reference="extra", annotators="bob")
    assert extra.count("bob.classifications") == tagged.count_values("bob.classifications.agreement_reference")["extra"]
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
    complete = [
        sample.agreement_gold is not None
        and all(tag.id in decided for name in NAMES if sample[name] for tag in sample[name].classifications)
        for sample in tagged
    ]
    drawn = [any(sample[name] is not None for name in NAMES) for sample in tagged]
    assert reference.n_samples == np.logical_and(complete, drawn).sum() > 2
    assert reference.n_without == len(tagged) - sum(complete) > 5
    said = tagged.values("vs_reference_f1")
    assert [value is not None for value in said] == np.logical_and(complete, drawn).tolist()
    assert all(one.precision == 1.0 for one in reference.annotators)
