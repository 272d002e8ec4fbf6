"""A run checked against requirements: numbers of the report, or of other runs on what the filters keep."""

from __future__ import annotations

import json

import fiftyone as fo
import numpy as np
import pytest

from tests.datasets import detections, random_annotators

import annotator_agreement as aa
from annotator_agreement import AgreementInputError

NAMES = ["alice", "bob", "carol"]


def _file(tmp_path, text, name="requirements.yaml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def _one(run, **keys):
    (found,) = run.check({"requirements": {"one": {"at_least": 0, **keys}}}).results
    return found


@pytest.fixture(scope="module")
def run(make_module_dataset):
    dataset = make_module_dataset(random_annotators(30))
    dataset.set_values("tags", [["night"] if k % 3 == 0 else ["day", "x"] for k in range(len(dataset))])
    return aa.compute(dataset, NAMES, resamples=200)


WHOLE = {
    "score": "score.mean",
    "alpha": "alpha.pooled",
    "f1": "existence.f1",
    "class_agreement": "class_given_match.percent_agreement",
    "iou": "localisation.mean_iou",
    "image_alpha": "image_alpha.value",
    "full_agreement": "share_full_agreement",
}


@pytest.mark.parametrize("metric", WHOLE)
def test_a_requirement_without_filters_is_about_the_number_of_the_report(run, metric):
    found, interval = _one(run, metric=metric), run.report.intervals[WHOLE[metric]]
    value = run.report
    for name in WHOLE[metric].split("."):
        value = getattr(value, name)
    assert (found.value, found.low, found.high) == (value, interval.low, interval.high)


@pytest.mark.parametrize("metric", WHOLE)
def test_a_filter_that_keeps_everything_changes_nothing(run, metric):
    """Object by object, which takes the way through the filtered records."""
    every = {"iou": run.report.config["iou"]}
    whole, found = _one(run, metric=metric), _one(run, metric=metric, **every)
    assert found.value == pytest.approx(whole.value, abs=1e-12)
    assert (found.low, found.high) == pytest.approx((whole.low, whole.high), abs=1e-12)
    assert (found.n_objects, found.n_images) == (whole.n_objects, whole.n_images)


def test_two_annotators_have_the_numbers_of_their_pair(run):
    pair = next(each for each in run.report.pairs if {each.a, each.b} == {"alice", "carol"})
    for metric, value in {"f1": pair.f1, "class_agreement": pair.class_agreement, "iou": pair.mean_iou,
                          "alpha": pair.alpha, "score": pair.score}.items():  # fmt: skip
        assert _one(run, metric=metric, annotators=["carol", "alice"]).value == pytest.approx(value, abs=1e-12), metric


def test_one_annotator_has_the_numbers_of_its_entry(run):
    (bob,) = (each for each in run.report.annotators if each.name == "bob")
    assert _one(run, metric="score", annotators="bob").value == bob.score
    assert _one(run, metric="f1", annotators="bob").value == bob.consensus.f1
    each = run.check({"requirements": {"each": {"metric": "miss_rate", "at_most": 0.5, "each_annotator": True}}})
    assert {found.annotator: found.value for found in each.results} == {
        entry.name: entry.miss_rate for entry in run.report.annotators
    }


def test_the_images_with_a_tag_have_the_numbers_of_their_view(run):
    part = run.on(run.dataset.match_tags("night"))
    found = _one(run, metric="f1", tags="night")
    assert found.value == pytest.approx(part.existence.f1, abs=1e-12)
    assert found.low == pytest.approx(part.intervals["existence.f1"].low, abs=1e-12)
    assert found.n_images == part.n_rated
    assert _one(run, metric="f1", tags="nowhere").reason == "no such object on an image with two annotators"


def test_objects_of_a_class_have_the_f1_that_loops_over_the_units_count(run):
    name = run.report.classes[0].name
    units = [unit for unit in run.units().itertuples() if name in unit.labels and unit.assigned >= 2]
    n_matched = sum(unit.votes * (unit.votes - 1) // 2 for unit in units)
    n_labels = sum(unit.votes * (unit.assigned - 1) for unit in units)
    found = _one(run, metric="f1", classes=name)
    assert found.value == pytest.approx(2 * n_matched / n_labels, abs=1e-12)
    assert (found.n_objects, found.n_images) == (len(units), len({unit.sample_id for unit in units}))


@pytest.mark.parametrize("name", ["small", "medium", "large"])
def test_objects_of_a_size_have_the_numbers_of_that_size(run, name):
    (size,) = (each for each in run.report.sizes if each.size == name)
    assert _one(run, metric="f1", size=name).value == pytest.approx(size.f1, abs=1e-12)
    assert _one(run, metric="iou", size=name).value == pytest.approx(size.mean_iou, abs=1e-12)
    assert _one(run, metric="iou", size=name).n_objects == size.n_units
    low, high = size.area_from, size.area_to
    assert _one(run, metric="iou", area=[low, high]).value == pytest.approx(size.mean_iou, abs=1e-12)


def test_a_higher_iou_unmatches_the_pairs_of_two_annotators_below_it(make_dataset):
    dataset = make_dataset({name: labels for name, labels in random_annotators(30).items() if name != "carol"})
    run = aa.compute(dataset, ["alice", "bob"], resamples=0)
    labels = run.labels()
    labels = labels[labels.verdict.notna()]  # of images that both looked at
    for least in (0.5, 0.6, 0.7, 0.8):
        of_pairs = labels.drop_duplicates(["sample_id", "unit"]).iou.dropna()
        kept = of_pairs[of_pairs >= least - 1e-9]
        assert len(kept)
        found = _one(run, metric="f1", iou=least)
        assert found.value == pytest.approx(2 * len(kept) / len(labels), abs=1e-12)
        assert found.n_objects == len(labels) - len(kept)
        assert _one(run, metric="iou", iou=least).value == pytest.approx(kept.mean(), abs=1e-12)
    needs = _one(run, metric="f1", iou=0.3)
    assert needs.outcome == "not enough data"
    assert needs.reason == "the run matched at 0.5; 0.3 needs another matching, of a run with iou=0.3"


def test_the_iou_of_a_class_holds_for_its_labels_alone(make_dataset):
    box, other = (0.1, 0.1, 0.4, 0.4), (0.1, 0.1, 0.4, 0.3)  # IoU 0.75
    far, farther = (0.6, 0.6, 0.2, 0.2), (0.6, 0.6, 0.2, 0.15)
    dataset = make_dataset({"alice": [[("cat", box), ("dog", far)]], "bob": [[("cat", other), ("dog", farther)]]})
    run = aa.compute(dataset, ["alice", "bob"], resamples=0)
    assert _one(run, metric="f1").value == 1.0
    assert _one(run, metric="f1", iou={"default": 0.5, "dog": 0.8}).value == 0.5
    assert _one(run, metric="f1", iou={"default": 0.8, "dog": 0.75}).value == 0.5


def test_attributes_that_the_run_compared_choose_objects(make_dataset):
    dataset = make_dataset({name: [] for name in NAMES})
    box = (0.1, 0.1, 0.4, 0.4)
    dataset.add_samples([
        fo.Sample(f"{k}.jpg", alice=detections([("cat", box)], occluded=k % 2 == 0),
                  bob=detections([("cat", box)] if k % 2 else [], occluded=False), carol=detections([]))
        for k in range(4)
    ])  # fmt: skip
    run = aa.compute(dataset, NAMES, attributes=["occluded"], resamples=0)
    assert _one(run, metric="f1", attributes={"occluded": True}).value == 0.0
    assert _one(run, metric="f1", attributes={"occluded": False}).value == 0.5
    assert _one(run, metric="f1", attributes={"occluded": 1}).n_objects == 0
    with pytest.raises(
        AgreementInputError, match=r"must be among those that the run compared \(occluded\), got 'pose'"
    ):
        _one(run, metric="f1", attributes={"pose": "left"})


# ---- the outcome ----


def test_the_value_or_the_end_of_its_interval_must_reach_the_limit(run):
    found = _one(run, metric="f1")
    between = (found.low + found.value) / 2
    assert _one(run, metric="f1", at_least=between).outcome == "passed"
    assert _one(run, metric="f1", at_least=between, judge="interval").outcome == "failed"
    above = (found.high + found.value) / 2
    most = {"requirements": {"most": {"metric": "f1", "at_most": above}}}
    assert run.check(most).outcome == "passed"
    most["requirements"]["most"]["judge"] = "interval"
    assert run.check(most).outcome == "failed"
    assert _one(run, metric="f1", at_least=found.value).outcome == "passed"


def test_too_few_objects_or_images_are_not_enough_data(run):
    assert _one(run, metric="f1", least_objects=10**6).reason.endswith("of at least 1,000,000 objects")
    assert _one(run, metric="f1", least_images=29).reason == "28 of at least 29 images"
    assert _one(run, metric="f1", classes="unicorn").outcome == "not enough data"
    hint = _one(run, metric="f1", classes=run.report.classes[0].name + "s").reason
    assert hint.endswith(f"did you mean {run.report.classes[0].name!r}?")
    for iou in ({"default": 0.5, "unicorn": 0.7}, {"default": 0.7, "kat": 0.8}):
        found = _one(run, metric="f1", iou=iou)
        assert (found.outcome, found.reason[:22]) == ("not enough data", "no label has the class")
    assert found.reason.endswith("did you mean 'cat'?")
    assert _one(run, metric="f1", iou={"default": 0.5, "kat": 0.7, "cat": 0.7}).outcome == "passed"
    without = aa.compute(run.dataset, NAMES, run_key="without", resamples=0)
    assert _one(without, metric="f1", judge="interval").reason == "f1 has no interval"


def test_failed_comes_before_not_enough_data_before_passed(run):
    good, bad = {"metric": "f1", "at_least": 0}, {"metric": "f1", "at_least": 1}
    few = {"metric": "f1", "at_least": 0, "least_images": 1000}
    assert run.check({"requirements": {"a": good}}).passed
    assert run.check({"requirements": {"a": good, "b": few}}).outcome == "not enough data"
    assert run.check({"requirements": {"a": few, "b": bad, "c": good}}).outcome == "failed"


def test_a_run_without_reference_says_so(run):
    found = run.check({"requirements": {"gold": {"against": "reference", "metric": "f1", "at_least": 0.8}}})
    assert [each.annotator for each in found.results] == NAMES
    assert {each.reason for each in found.results} == {"the run has no reference"}
    assert found.outcome == "not enough data"


def test_the_last_check_is_kept_with_the_run_until_it_is_computed_again(run, make_dataset):
    from annotator_agreement.dataset_io.record.run import Run
    from annotator_agreement.dataset_io.results.check import last_check

    dataset = make_dataset()
    mine = aa.compute(dataset, NAMES, resamples=0)
    assert last_check(Run(dataset, "agreement").config) is None
    asked = {"requirements": {f"n{k}.$": {"metric": "f1", "at_least": k / 2} for k in (0, 1, 2)}}
    found = mine.check(asked)
    assert last_check(Run(dataset, "agreement").config) == found
    mine.on(dataset.limit(2)).check({"requirements": {"a": {"metric": "f1", "at_least": 0}}})
    assert last_check(Run(dataset, "agreement").config) == found
    mine.rename("renamed")
    assert last_check(Run(dataset, "renamed").config) is not None
    aa.compute(dataset, NAMES, run_key="renamed", resamples=0, overwrite=True)
    assert last_check(Run(dataset, "renamed").config) is None


def test_a_check_is_shown_everywhere(run, tmp_path, capsys):
    asked = {"requirements": {"good": {"metric": "f1", "at_least": 0}, "too *much*": {"metric": "f1", "at_least": 1}}}
    found = run.check(asked)
    assert repr(found) == "<AcceptanceCheck of 'agreement': failed (1 passed, 1 failed); print_report() says more>"
    found.print_report()
    printed = capsys.readouterr().out
    assert "Not accepted by requirements: of 2 requirements 1 failed and 1 passed." in printed
    assert "too \\*much\\*" in found.to_markdown()
    assert "too *much*" in found._repr_html_()
    frame = found.to_dataframe()
    assert list(frame.outcome) == ["passed", "failed"]
    assert type(found).from_dict(json.loads(json.dumps(found.to_dict()))) == found
    page = run.export(tmp_path / "page.html", requirements=asked).read_text(encoding="utf-8")
    assert "Not accepted by requirements" in page
    values = json.loads(run.export(tmp_path / "all.json", requirements=asked).read_text(encoding="utf-8"))
    assert values["acceptance"]["outcome"] == "failed"
    tables = run.export(tmp_path / "tables", format="csv", requirements=asked)
    assert "too *much*" in (tables / "acceptance.csv").read_text(encoding="utf-8")


def test_the_labels_behind_a_failure_are_a_view(run):
    found = _one(run, metric="f1", at_least=1, classes=run.report.classes[0].name)
    assert len(run.view(**found.view))
    assert _one(run, metric="f1").view == {}
    for metric in WHOLE:
        assert len(run.view(**_one(run, metric=metric, at_least=1).view)), metric
    for annotator in NAMES:
        view = _one(run, metric="miss_rate", annotators=annotator, at_least=1).view
        assert view == {"missed_by": annotator}
        assert len(run.view(**view)) or not next(
            each for each in run.report.annotators if each.name == annotator).n_missed  # fmt: skip


def test_a_run_of_other_labels_or_that_did_not_complete_is_refused(run, make_dataset):
    with pytest.raises(
        AgreementInputError, match=r"must have a requirement for Detections, got requirements for polylines"
    ):
        _one(run, metric="f1", labels="polylines")
    with pytest.raises(AgreementInputError, match=r"must be annotators of the run .* got 'carl'; did you mean 'carol'"):
        _one(run, metric="score", annotators="carl")
    with pytest.raises(AgreementInputError, match=r"`metric` must be a number of runs on Detections .*, got 'hd95'"):
        _one(run, metric="hd95")
    with pytest.raises(
        AgreementInputError, match=r"number of runs on Detections against the reference \(precision, .*got 'error'"
    ):
        _one(run, metric="error", against="reference")
    dataset = make_dataset()
    mine = aa.compute(dataset, NAMES, resamples=0)
    from annotator_agreement.dataset_io.record.run import Run

    Run(dataset, "agreement").update(status="running")
    with pytest.raises(AgreementInputError, match="must be completed, got the status 'running'"):
        _one(mine, metric="f1")
    mine.delete()
    with pytest.raises(AgreementInputError, match="must be an agreement run"):
        _one(mine, metric="f1")


def test_the_order_of_requirements_and_their_number_change_nothing(run):
    keys = {f"r{k}": {"metric": metric, "at_least": 0.5, "classes": name.name}
            for k, (metric, name) in enumerate((m, c) for m in WHOLE for c in run.report.classes[:3])}  # fmt: skip
    found = {each.name: each for each in run.check({"requirements": keys}).results}
    backwards = {each.name: each for each in run.check({"requirements": dict(reversed(keys.items()))}).results}
    assert found == backwards
    for name, wanted in list(keys.items())[::5]:
        assert _one(run, **wanted).value == found[name].value
    assert np.isfinite([each.value for each in found.values()]).any()


def test_annotators_are_judged_against_the_reference(run):
    """The numbers of the report, of all objects, a class and a size; carol is the reference."""
    against = aa.compute(run.dataset, ["alice", "bob"], run_key="roles", reference="carol", resamples=50)
    bases = {
        "all": {"metric": "f1", "at_least": 0.5},
        "a class": {"metric": "recall", "at_least": 0.5, "classes": "cat"},
        "a size": {"metric": "iou", "at_least": 0.5, "size": "large"},
        "two": {"metric": "f1", "at_least": 0.5, "classes": ["cat", "dog"]},
    }
    found = against.check({"requirements": {name: {"against": "reference", **each} for name, each in bases.items()}})
    of = {(each.name, each.annotator): each for each in found.results}
    for entry in against.report.reference.annotators:
        assert of["all", entry.name].value == entry.f1
        assert (of["all", entry.name].low, of["all", entry.name].n_objects) == (
            entry.intervals["f1"].low,
            entry.n_reference,
        )
        cat = next(each for each in entry.classes if each.name == "cat")
        assert of["a class", entry.name].value == cat.recall
        sizes = {each.name: each.mean_iou for each in entry.sizes}
        assert of["a size", entry.name].value == sizes.get("large")
        both = [each for each in entry.classes if each.name in ("cat", "dog")]
        n = sum(each.n_labels + each.n_reference for each in both)
        assert of["two", entry.name].value == pytest.approx(2 * sum(each.n_matched for each in both) / n)


def test_requirements_of_cvat_are_judged_as_cvat_counts(run, tmp_path):
    """A label of another class is no true positive, and stands once in the confusion matrix of which accuracy is."""
    against = aa.compute(
        run.dataset, ["alice", "bob"], run_key="cvat", reference="carol", resamples=50, classes="ignore"
    )
    cats = json.dumps({"==": [{"var": "shape.label"}, "cat"]})
    areas = json.dumps({">=": [{"var": "shape.area"}, 0]})
    filters = {"": "", " of cats": cats, " of areas": areas}
    asked = [
        {
            "name": f"{metric}{what}",
            "annotation_type": "rectangle",
            "metric": metric,
            "required_score": 0.5,
            "filter": rule,
        }
        for metric in ("accuracy", "precision", "recall")
        for what, rule in filters.items()
    ]
    found = against.check(_file(tmp_path, json.dumps(asked), "cvat.json")).results
    of = {(each.name, each.annotator): each.value for each in found}
    for entry in against.report.reference.annotators:
        cat = next(each for each in entry.classes if each.name == "cat")
        assert entry.n_wrong_class > 0
        for what, one, n_right in (("", entry, entry.n_right), (" of areas", entry, entry.n_right),
                                   (" of cats", cat, cat.n_matched)):  # fmt: skip
            n_either = one.n_labels + one.n_reference - one.n_matched
            assert of["accuracy" + what, entry.name] == pytest.approx(n_right / n_either)
            assert of["precision" + what, entry.name] == pytest.approx(n_right / one.n_labels)
            assert of["recall" + what, entry.name] == pytest.approx(n_right / one.n_reference)
