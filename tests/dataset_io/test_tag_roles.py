"""A reference and models for tags."""

from __future__ import annotations

from typing import Any

import fiftyone as fo
import numpy as np
import pytest
from sklearn.metrics import jaccard_score, precision_recall_fscore_support

import annotator_agreement as aa
from annotator_agreement import dataset_io
from annotator_agreement.agreement import AgreementInputError
from annotator_agreement.dataset_io.record.run import Run

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
def test_annotators_fields_and_numbers_are_those_without_roles(tagged: fo.Dataset) -> None:
    without = aa.compute(tagged, NAMES, run_key="r")
    columns = {path: tagged.values(path) for path in Run(tagged, "r").config["fields_written"]}
    with_roles = aa.compute(tagged, NAMES, reference="gold", models=["net"], run_key="r", overwrite=True)
    reports = [run.report.to_dict() for run in (without, with_roles)]
    for report in reports:
        for name in ("reference", "models"):
            del report[name], report["config"][name]
        del report["run"]["seconds"]
    assert reports[0] == reports[1]
    assert {path: tagged.values(path) for path in columns} == columns


@pytest.mark.long
def test_an_update_and_a_view_give_what_a_new_run_gives(tagged: fo.Dataset) -> None:
    options = {"reference": "gold", "models": ["net"], "confidence_threshold": 0.2}
    run = aa.compute(tagged, NAMES, **options)
    rng = np.random.default_rng(1)
    first, second, third = tagged.limit(3)
    first["gold"], second["net"], third["alice"] = _tags(["new", "a"], rng), None, _tags(["f"], rng)
    for sample in (first, second, third):
        sample.save()
    updated, new = run.update().report, aa.compute(tagged, NAMES, run_key="new", **options).report
    assert (updated.reference, updated.models) == (new.reference, new.models)
    view = tagged.limit(20)
    own = aa.compute(view, NAMES, run_key="own", **options).report
    found = run.on(view).report
    assert (found.reference, found.models) == (own.reference, own.models)


@pytest.mark.long
def test_a_copy_of_an_annotator_is_as_good_as_a_person(tagged: fo.Dataset) -> None:
    tagged.clone_sample_field("bob", "copy")
    person = aa.compute(tagged, NAMES, models=["copy"]).report.models[0].person
    without_bob = next(entry for entry in person.annotators if entry.name == "bob")
    both = [(_both(tagged, "bob", name)) for name in ("alice", "carol")]
    above = sum(2 * int((own & true).sum()) for own, true in both)
    assert without_bob.difference == 0.0
    assert without_bob.model == pytest.approx(above / sum(int(own.sum() + true.sum()) for own, true in both))


@pytest.mark.long
def test_roles_can_be_values_of_the_attribute(tagged: fo.Dataset) -> None:
    expected = aa.compute(tagged, NAMES, reference="gold", run_key="fields").report.reference
    tagged.add_sample_field("all", fo.EmbeddedDocumentField, embedded_doc_type=fo.Classifications)
    tagged.add_sample_field("asked", fo.ListField, subfield=fo.StringField)
    for sample in tagged:
        given = {name: sample[name] for name in (*NAMES, "gold") if sample[name] is not None}
        sample["asked"] = [*given]
        sample["all"] = fo.Classifications(classifications=[
            fo.Classification(label=tag.label, who=name) for name, tags in given.items() for tag in tags.classifications
        ])  # fmt: skip
        sample.save()
    options = {"annotator_attribute": "who", "assigned_field": "asked", "run_key": "attribute"}
    found = aa.compute(tagged, "all", reference="gold", **options).report.reference
    assert found.annotators == expected.annotators


@pytest.mark.long
def test_annotators_are_judged_against_the_reference(tagged: fo.Dataset) -> None:
    run = aa.compute(tagged, NAMES, reference="gold", resamples=0)
    wanted = {"number": "reference.recall", "annotator": "alice", "at_least": 0.99}
    found = run.check({"requirements": {"all": wanted, "a": {**wanted, "class": "a"}}}).results
    one = run.report.reference.annotators[0]
    recall = {"all": one.recall, "a": next(part.recall for part in one.classes if part.name == "a")}
    of_alice = {each.name: each for each in found}
    assert {name: each.value for name, each in of_alice.items()} == recall
    for name, each in of_alice.items():
        assert each.view["reference"] == ["missed"]
        n_shown = run.view(**each.view).count("gold.classifications")
        missed = tagged.filter_labels("gold", fo.ViewField("agreement_missed_by").contains("alice"))
        labels = missed.values("gold.classifications.label", unwind=True)
        assert n_shown == len([label for label in labels if name in ("all", label)]) > 0


@pytest.mark.long
def test_best_f1_is_for_objects(tagged: fo.Dataset) -> None:
    with pytest.raises(AgreementInputError, match="`confidence_threshold` must be a number for Classifications"):
        aa.compute(tagged, NAMES, models="net", confidence_threshold="best_f1")


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


@pytest.mark.long
def test_samples_have_the_f1_of_every_annotator(tagged: fo.Dataset) -> None:
    table = aa.compute(tagged, NAMES, reference="gold", resamples=0).samples().set_index("id").loc[tagged.values("id")]
    for name in NAMES:
        expected = [
            2 * len(own & true) / (len(own) + len(true)) if own is not None is not true and own | true else np.nan
            for own, true in zip(_given(tagged, name), _given(tagged, "gold"), strict=True)
        ]
        np.testing.assert_allclose(table[f"reference_f1.{name}"], expected)
