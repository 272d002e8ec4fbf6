"""A run checked against requirements: numbers of its report, of annotators, classes, pairs, parts, and roles."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest

from tests.dataset_io.masked import masked_dataset, random_masks
from tests.dataset_io.quick_runs import refused
from tests.dataset_io.rated import by_annotator, rated_dataset
from tests.datasets import random_annotators

import annotator_agreement as aa
from annotator_agreement.agreement.acceptance import check_requirements, keyed_numbers, read_requirements
from annotator_agreement.dataset_io.record import Run
from annotator_agreement.dataset_io.results import last_check

NAMES = ["alice", "bob", "carol"]


def _all(run, **keys):
    limit = {} if "at_most" in keys else {"at_least": 0}
    return run.check({"requirements": {"one": {"number": "existence.f1", **limit, **keys}}}).results


def _one(run, **keys):
    (found,) = _all(run, **keys)
    return found


@pytest.fixture(scope="module")
def run(make_module_dataset):
    dataset = make_module_dataset(random_annotators(30))
    dataset.set_values("tags", [["night"] if k % 3 == 0 else ["day", "x"] for k in range(len(dataset))])
    return aa.compute(dataset, NAMES, resamples=60)


@pytest.mark.long
def test_every_number_of_the_report_can_be_required(run):
    report, known = run.report.to_dict(), keyed_numbers(run.report)
    assert {"existence.f1", "image_alpha.value", "alpha.pooled", "n_rated", "run.n_invalid"} <= {*known}
    asked = {key: {"number": key, "at_least": 0} for key in known}
    results = {each.title: each for each in run.check({"requirements": asked}).results}
    for key, expected in known.items():
        value = report
        for name in key.split("."):
            value = None if value is None else value[name]
        assert value == expected
        interval = report["intervals"].get(key) or {"low": None, "high": None}
        found = results[key]
        assert (found.value, found.low, found.high) == (value, interval["low"], interval["high"])
        assert (found.n_objects, found.n_images) == (run.report.n_units, run.report.n_rated)
    reached = {key: {"number": key, "at_least": value} for key, value in known.items() if value is not None}
    assert run.check({"requirements": reached}).passed  # also of counts, such as score.n


def test_entries_of_the_report_have_numbers_too(run):
    report = run.report
    of_annotators = {each.of: each.value for each in _all(run, number="miss_rate", annotator="each")}
    assert of_annotators == {entry.name: entry.miss_rate for entry in report.annotators}
    assert _one(run, number="consensus.f1", annotator="bob").value == report.annotators[1].consensus.f1
    of_classes = {each.of: (each.value, each.n_objects) for each in _all(run, number="miss_rate", **{"class": "each"})}
    assert of_classes == {entry.name: (entry.miss_rate, entry.n_units) for entry in report.classes}
    of_pairs = {each.of: each.value for each in _all(run, number="f1", pair="each")}
    assert of_pairs == {f"{entry.a} and {entry.b}": entry.f1 for entry in report.pairs}
    found, entry = _one(run, number="f1", pair=["carol", "alice"]), next(p for p in report.pairs if p.b == "carol")
    assert (found.of, found.value, found.low) == ("alice and carol", entry.f1, entry.intervals["f1"].low)
    missing = _one(run, number="miss_rate", **{"class": "unicorn"})
    assert (missing.outcome, missing.reason) == ("not enough data", "no label is of unicorn")


def test_a_part_has_the_numbers_of_the_report_on_its_images(run):
    part = run.on(run.dataset.match_tags("night"))
    found = _one(run, by="tags", part="night")
    assert (found.value, found.low) == (part.existence.f1, part.intervals["existence.f1"].low)
    assert (found.n_images, found.by, found.part, found.title) == (part.n_rated, "tags", "night", "one (night)")
    each = _all(run, number="miss_rate", annotator="bob", by="tags")
    assert [result.part for result in each] == ["day", "night", "x"]
    assert each[1].value == part.annotators[1].miss_rate
    assert each[1].title == "one (bob, night)"
    missing = _one(run, by="tags", part="nite")
    reason = "no image has 'nite' by tags; did you mean 'night'?"
    assert (missing.outcome, missing.reason) == ("not enough data", reason)


def test_the_value_or_the_end_of_its_interval_must_reach_the_limit(run):
    found = _one(run)
    between, above = (found.low + found.value) / 2, (found.high + found.value) / 2
    for limit, outcome in (
        ({"at_least": between}, "passed"), ({"at_least": between, "judge": "interval"}, "failed"),
        ({"at_least": found.low, "judge": "interval"}, "passed"), ({"at_most": above}, "passed"),
        ({"at_most": above, "judge": "interval"}, "failed"),
        ({"at_most": found.high, "judge": "interval"}, "passed"),
        ({"at_least": found.value + 1e-12}, "passed"),  # rounding
    ):  # fmt: skip
        assert _one(run, **limit).outcome == outcome, limit


def test_undefined_numbers_and_missing_intervals_are_not_enough_data(run, make_dataset):
    small = aa.compute(make_dataset(), ["alice", "bob"], resamples=0)
    assert _one(small, judge="interval").reason == "existence.f1 has no interval"
    assert _one(small, number="consensus.f1", annotator="alice").reason == "consensus.f1 is undefined"
    assert _one(small, number="reference.f1", annotator="each").reason == "the run has no reference"
    good, bad = ({"number": "existence.f1", "at_least": limit} for limit in (0, 1))
    few = {"number": "inexact_gap", "at_most": 0}
    for asked, outcome in (([good], "passed"), ([good, few], "not enough data"), ([few, bad, good], "failed")):
        assert run.check({"requirements": dict(zip("abc", asked, strict=False))}).outcome == outcome


WRONG = [
    ({"number": "f1"}, r"\['one'\]: `number` must be a number that the run has, got 'f1'; did you mean 'e"),
    ({"number": "zzz"}, r"got 'zzz'; there are .*score.mean.*existence.f1"),
    ({"number": "run_key"}, "must be a number that the run has"),
    ({"number": "score"}, r"got 'score'; did you mean 'score\.mean'"),
    ({"number": "alpha"}, r"got 'alpha'; did you mean 'alpha\.pooled'"),
    ({"number": "mis_rate", "annotator": "bob"}, r"number of bob that .* did you mean 'miss_rate'"),
    ({"annotator": "carl"}, r"`annotator` must name annotators of the run \(alice, bob, carol\), got 'ca"),
    ({"pair": ["alice", "b"]}, r"`pair` must name annotators of the run .*, got 'b'"),
    ({"at_least": 80}, r"the limit of 'existence.f1', a share, must be at most 1, got 80; 80 % is 0.8$"),
    ({"number": "miss_rate", "annotator": "bob", "at_most": 10}, "10 % is 0.1$"),
    ({"annotator": "bob", "class": "cat"}, "a run on objects has no numbers of classes there"),
    ({"number": "pq", "pair": ["alice", "bob"], "at_least": 95}, "a share, must be at most 1, got 95; 95 %"),
    ({"by": "cameras"}, r"requirements\['one'\]: `field` must be"),
]


def test_what_the_run_does_not_have_is_a_mistake(run):
    for keys, message in WRONG:
        refused(message, _all, run, **keys)


def test_the_last_check_is_kept_with_the_run_until_it_is_computed_again(make_dataset):
    dataset = make_dataset()
    mine = aa.compute(dataset, NAMES, resamples=0)
    assert last_check(Run(dataset, "agreement").config) is None
    asked = {"requirements": {f"n{k}.$": {"number": "existence.f1", "at_least": k / 2} for k in (0, 1, 2)}}
    found = mine.check(asked)
    assert last_check(Run(dataset, "agreement").config) == found
    _one(mine.on(dataset.limit(2)))
    assert last_check(Run(dataset, "agreement").config) == found
    mine.rename("renamed")
    assert last_check(Run(dataset, "renamed").config) is not None
    aa.compute(dataset, NAMES, run_key="renamed", resamples=0, overwrite=True)
    assert last_check(Run(dataset, "renamed").config) is None


def test_a_check_is_shown_everywhere(run, tmp_path, capsys):
    f1 = {"number": "existence.f1"}
    asked = {"requirements": {"good": {**f1, "at_least": 0}, "too *much*": {**f1, "at_least": 1}}}
    found = run.check(asked)
    assert repr(found) == "<AcceptanceCheck of 'agreement': failed (1 passed, 1 failed); print_report() says more>"
    found.print_report()
    printed = capsys.readouterr().out
    assert "Not accepted by requirements: of 2 requirements 1 failed and 1 passed." in printed
    assert "too \\*much\\*" in found.to_markdown()
    assert "too *much*" in found._repr_html_()
    assert list(found.to_dataframe().outcome) == ["passed", "failed"]
    assert type(found).from_dict(json.loads(json.dumps(found.to_dict()))) == found
    page = run.export(tmp_path / "page.html", requirements=asked).read_text(encoding="utf-8")
    assert "Not accepted by requirements" in page
    values = json.loads(run.export(tmp_path / "all.json", requirements=asked).read_text(encoding="utf-8"))
    assert values["acceptance"]["outcome"] == "failed"
    tables = run.export(tmp_path / "tables", format="csv", requirements=asked)
    assert "too *much*" in (tables / "acceptance.csv").read_text(encoding="utf-8")
    (tables / "tags.csv").write_text("mine")
    run.export(tables, format="csv", overwrite=True)  # without the check, whose table would be that of another run
    assert not (tables / "acceptance.csv").exists()
    assert (tables / "tags.csv").read_text() == "mine"


def test_a_number_that_misses_a_limit_is_not_shown_as_the_limit(run, capsys):
    f1 = run.report.existence.f1
    for limit, digits in ((f1 + 2e-6, r"\d{5,6}"), (f1 + 1e-12, r"\d{3}"), (1.0, r"\d{3}")):
        run.check({"requirements": {"seen": {"number": "existence.f1", "at_least": limit}}}).print_report()
        (shown,) = re.findall(r"(?<=existence\.f1 ≥ )[\d.]+ +(0\.\d+)", capsys.readouterr().out)
        assert re.fullmatch(rf"0\.{digits}", shown)
        assert round(f1, len(shown) - 2) == float(shown)


def test_the_labels_behind_a_failure_are_a_view(run):
    assert _one(run).view == {}
    for number in ("existence.f1", "score.mean", "class_given_match.percent_agreement", "localisation.mean_iou"):
        assert len(run.view(**_one(run, number=number, at_least=1).view)), number
    for annotator in NAMES:
        assert _one(run, number="score", annotator=annotator, at_least=1).view["annotators"] == [annotator]
        assert _one(run, number="miss_rate", annotator=annotator, at_most=-1).view == {"missed_by": annotator}
        assert len(run.view(missed_by=annotator))
    name = run.report.classes[0].name
    assert _one(run, number="miss_rate", at_most=-1, **{"class": name}).view["classes"] == [name]
    assert _one(run, number="f1", at_least=1, pair=["bob", "alice"]).view["annotators"] == ["alice", "bob"]


def test_annotators_are_judged_against_the_reference_and_with_a_model(run):
    options = {"run_key": "roles", "resamples": 50}
    against = aa.compute(run.dataset, ["alice", "bob"], reference="carol", **options)
    of_all = {each.of: each for each in _all(against, number="reference.f1", annotator="each", at_least=1)}
    assert list(of_all) == ["alice", "bob"]
    for entry in against.report.reference.annotators:
        found = of_all[entry.name]
        assert (found.value, found.low) == (entry.f1, entry.intervals["f1"].low)
        assert (found.n_objects, found.n_images) == (entry.n_reference, entry.n_samples)
        assert len(against.view(**found.view))
        for number in ("recall", "precision", "class_accuracy", "class_recall"):
            of_number = _one(against, number=f"reference.{number}", annotator=entry.name, at_least=1.0)
            assert of_number.outcome == "passed" or len(against.view(**of_number.view)), number
        cat = next(each for each in entry.classes if each.name == "cat")
        of_class = _one(against, number="reference.recall", annotator=entry.name, **{"class": "cat"}, at_least=1)
        assert (of_class.value, of_class.of) == (cat.recall, f"{entry.name}, cat")
        assert of_class.view == {"annotators": [entry.name], "classes": ["cat"], "reference": ["missed"]}
    assert _one(against, number="reference.mean.f1").value == against.report.reference.mean["f1"]
    refused(r"got 'reference\.f1'; did you mean 'reference\.mean\.f1'", _one, against, number="reference.f1")
    model = aa.compute(run.dataset, ["alice", "bob"], models="carol", overwrite=True, **options)
    found = _one(model, number="models.carol.f1", annotator="bob", at_least=1)
    assert found.value == model.report.models[0].annotators[1].f1
    assert found.view == {"model": "carol", "verdict": ["loose", "extra", "missed"], "annotators": ["bob"]}
    assert len(model.view(**found.view))
    other = dataclasses.replace(model.report.models[0], name="carol.v2", mean={"f1": 0.25})
    report = dataclasses.replace(model.report, models=(*model.report.models, other))
    wanted, _ = read_requirements({"requirements": {"one": {"number": "models.carol.v2.mean.f1", "at_least": 0}}})
    assert check_requirements(wanted, "", report, lambda field: {}).results[0].value == 0.25


def _rated(make_dataset, kind, rows):
    return aa.compute(rated_dataset(make_dataset, by_annotator(rows, NAMES), kind), NAMES, resamples=0)


@pytest.mark.long
def test_label_types_have_their_numbers(make_dataset):
    ratings = _rated(make_dataset, "Classification", [["a", "a", "b"], ["a", "b", "b"], ["b", "b", None]] * 5)
    key = "coefficients.fleiss_kappa.identity"
    assert _one(ratings, number=key).value == ratings.report.coefficients["fleiss_kappa"]["identity"]
    assert len(ratings.view(**_one(ratings, number="score.mean", at_least=1).view))
    refused("a run on ratings has no numbers of classes there", _one, ratings, number="alpha", **{"class": "a"})
    tags = _rated(make_dataset, "Classifications", [[["a"], ["a", "b"], []], [["b"], ["b"], ["a"]]] * 5)
    shares = {each.of: each.value for each in _all(tags, number="share", **{"class": "each"})}
    assert shares == {entry.tag: entry.share for entry in tags.report.tags}
    masks = aa.compute(masked_dataset(make_dataset, random_masks(30)), NAMES, resamples=0)
    entry = masks.report.classes[0]
    assert _one(masks, number="mean.iou").value == masks.report.mean.iou
    assert _one(masks, number="iou", **{"class": entry.name}).value == entry.iou
    assert len(masks.view(**_one(masks, number="score.mean", at_least=1).view))
