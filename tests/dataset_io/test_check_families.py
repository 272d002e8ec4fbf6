"""Requirements of classes, numbers, tags, masks, videos, and of runs with many annotators or requirements."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tests.dataset_io.masked import masked_dataset, random_masks
from tests.dataset_io.rated import by_annotator, rated_dataset
from tests.datasets import frames_of, random_annotators

import annotator_agreement as aa
from annotator_agreement import AgreementInputError

NAMES = ["alice", "bob", "carol"]


def _one(run, **keys):
    (found,) = run.check({"requirements": {"one": {"at_least": 0, **keys}}}).results
    return found


def _rated(make_dataset, kind, value, names=NAMES):
    rng = np.random.default_rng(5)
    rows = [[None if rng.random() < 0.2 else value(rng) for _ in names] for _ in range(40)]
    return aa.compute(rated_dataset(make_dataset, by_annotator(rows, names), kind), names, resamples=50), rows


def test_images_of_a_class_have_the_numbers_of_a_run_on_them(make_dataset):
    run, rows = _rated(make_dataset, "Classification", lambda rng: str(rng.choice(["a", "b", "c"])))
    ids = [sample_id for sample_id, row in zip(run.dataset.values("id"), rows, strict=True) if "a" in row]
    part = aa.compute(run.dataset.select(ids), NAMES, run_key="part", resamples=50)
    for metric, value in (("score", part.score.mean), ("alpha", part.alpha.pooled)):
        found = _one(run, metric=metric, classes="a")
        assert found.value == pytest.approx(value, abs=1e-12)
        assert found.n_images == part.n_rated
    assert _one(run, metric="alpha", annotators=["bob", "carol"]).value == pytest.approx(
        next(pair.alpha for pair in run.report.pairs if {pair.a, pair.b} == {"bob", "carol"}), abs=1e-12
    )
    assert _one(run, metric="kappa").value == run.report.coefficients["fleiss_kappa"]["identity"]
    assert len(run.view(**_one(run, metric="score", at_least=1).view))
    with pytest.raises(AgreementInputError, match="`size`, `area` and `iou` are of objects, got a run on ratings"):
        _one(run, metric="score", size="small")


def test_numbers_and_one_annotator(make_dataset):
    run, rows = _rated(make_dataset, "FloatField", lambda rng: float(rng.integers(4)))
    assert _one(run, metric="alpha").value == run.report.alpha.pooled
    with_two = _one(run, metric="score", classes="2")
    assert with_two.n_images == sum(2.0 in row and sum(value is not None for value in row) >= 2 for row in rows)
    assert _one(run, metric="score", annotators="bob").value == run.report.annotators[1].score


def test_tags_of_some_names_have_the_numbers_of_a_run_on_these_tags(make_dataset):
    tags = ["night", "rain", "snow"]
    run, rows = _rated(make_dataset, "Classifications", lambda rng: [tag for tag in tags if rng.random() < 0.4])
    assert _one(run, metric="score").value == run.report.score.mean
    jaccard = []
    for row in rows:
        sets = [set(given) & {"night", "rain"} for given in row if given is not None]
        if len(sets) >= 2 and any(sets):
            both = [(a, b) for k, a in enumerate(sets) for b in sets[k + 1 :]]
            jaccard.append(np.mean([len(a & b) / len(a | b) if a | b else 1.0 for a, b in both]))
    found = _one(run, metric="score", classes=["night", "rain"])
    assert found.value == pytest.approx(np.mean(jaccard), abs=1e-12)
    assert found.n_images == len(jaccard)
    pair = next(pair for pair in run.report.pairs if {pair.a, pair.b} == {"alice", "carol"})
    assert _one(run, metric="score", annotators=["alice", "carol"]).value == pytest.approx(pair.score, abs=1e-12)


def test_masks(make_dataset):
    run = aa.compute(masked_dataset(make_dataset, random_masks(30)), NAMES, resamples=50)
    for metric, value in (("iou", run.report.mean.iou), ("accuracy", run.report.mean.accuracy),
                          ("kappa", run.report.mean.kappa), ("alpha", run.report.alpha.pooled)):  # fmt: skip
        assert _one(run, metric=metric).value == value
    entry = run.report.classes[0]
    found = _one(run, metric="iou", classes=entry.name)
    assert (found.value, found.low) == (entry.iou, entry.intervals["iou"].low)
    assert len(run.view(**_one(run, metric="score", at_least=1).view))
    with pytest.raises(AgreementInputError, match="of masks, `classes` must be one class, with the metric iou or dice"):
        _one(run, metric="alpha", classes=entry.name)
    with pytest.raises(AgreementInputError, match=r"of masks, `annotators` must be one annotator, got 2"):
        _one(run, metric="alpha", annotators=["alice", "bob"])


def test_two_and_twenty_annotators(make_dataset):
    names = [f"r{k}" for k in range(20)]
    run, _ = _rated(make_dataset, "Classification", lambda rng: str(rng.choice(["a", "b"])), names)
    each = run.check({"requirements": {"each": {"metric": "score", "at_least": 0.5, "each_annotator": True}}})
    assert [found.annotator for found in each.results] == [entry.name for entry in run.report.annotators]
    assert len(each.results) == 20
    two = make_dataset({name: labels for name, labels in random_annotators(10).items() if name != "carol"})
    small = aa.compute(two, ["alice", "bob"], resamples=0)
    assert _one(small, metric="f1", annotators=["alice", "bob"]).value == pytest.approx(small.existence.f1, abs=1e-12)
    # of two annotators there are no others who agree
    assert _one(small, metric="f1", annotators="alice").reason == "f1 is undefined"


def test_a_thousand_requirements_take_seconds(make_dataset):
    run = aa.compute(make_dataset(random_annotators(30)), NAMES, resamples=50)
    classes = [entry.name for entry in run.report.classes]
    asked = {
        f"r{k}": {"metric": ("f1", "iou", "alpha", "score")[k % 4], "at_least": k / 1000,
                  "classes": classes[k % len(classes)], "size": ("small", "medium", "large")[k % 3]}
        for k in range(1000)
    }  # fmt: skip
    start = time.monotonic()
    found = run.check({"requirements": asked})
    assert time.monotonic() - start < 60
    assert len(found.results) == 1000


def test_frames_of_videos(make_videos):
    box = ("cat", (0.1, 0.1, 0.4, 0.4))
    labels = {name: frames_of([box], [box], [] if name == "bob" else [box]) for name in ("alice", "bob")}
    dataset = make_videos([labels, labels])
    dataset.limit(1).tag_samples("first")
    run = aa.compute(dataset, ["frames.alice", "frames.bob"], resamples=0)
    assert _one(run, metric="f1").value == pytest.approx(run.existence.f1)
    assert _one(run, metric="f1", tags="first").n_images == 3
