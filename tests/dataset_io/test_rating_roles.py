"""A reference and models for classes and numbers."""

from __future__ import annotations

from typing import Any

import fiftyone as fo
import numpy as np
import pytest
from scipy.stats import ttest_1samp
from sklearn.metrics import accuracy_score, cohen_kappa_score, mean_absolute_error, precision_recall_fscore_support

import annotator_agreement as aa
from annotator_agreement import dataset_io
from annotator_agreement.agreement import AgreementInputError
from annotator_agreement.charts.reports.role_sections import person_sentence

NAMES = ("alice", "bob", "carol")


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


def _both(dataset: fo.Dataset, name: str, other: str, attribute: str) -> tuple[list[Any], list[Any]]:
    pairs = zip(dataset.values(name), dataset.values(other), strict=True)
    found = [(getattr(a, attribute), getattr(b, attribute)) for a, b in pairs if a is not None and b is not None]
    own, true = zip(*found, strict=True)
    return list(own), list(true)


def test_classes_against_a_reference_are_those_of_scikit_learn(rated: fo.Dataset) -> None:
    report = dataset_io.compute_agreement(rated, NAMES, reference="gold", models=["net"])
    assert report.reference.n_without == sum(value is None for value in rated.values("gold"))
    for one in report.reference.annotators:
        own, true = _both(rated, one.name, "gold", "label")
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
        own, true = _both(rated, one.name, "net", "label")
        assert one.accuracy == pytest.approx(accuracy_score(true, own))


@pytest.mark.long
def test_numbers_against_a_reference_have_errors(rated: fo.Dataset) -> None:
    fields = [f"{name}_size" for name in NAMES]
    report = dataset_io.compute_agreement(rated, fields, reference="gold_size", tolerance=0.2)
    for one in report.reference.annotators:
        own, true = _both(rated, one.name, "gold_size", "value")
        assert one.mean_absolute_error == pytest.approx(mean_absolute_error(true, own))
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
            of_model, of_him = (
                np.array([said[name][k] == said[who][k] for name in with_him]) for who in ("net", entry.name)
            )
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


@pytest.mark.long
def test_what_roles_cannot_do(rated: fo.Dataset) -> None:
    with pytest.raises(AgreementInputError, match="`confidence_threshold` must be a number for Classification"):
        dataset_io.compute_agreement(rated, NAMES, models="net", confidence_threshold="best_f1")
    dataset_io.compute_agreement(rated, NAMES, reference="gold")
    with pytest.raises(AgreementInputError, match="`reference` must not be 'missed' for a run on Classification"):
        dataset_io.view_agreement(rated, reference="missed")
