"""The form that checks requirements, and what it says while it is filled in."""

from __future__ import annotations

import json

import pytest

import annotator_agreement as aa


@pytest.fixture
def dataset(example):
    return example


@pytest.fixture
def check(operator, context, dataset):
    operator = operator("check_agreement")
    return lambda view=None, **params: operator.execute(context(operator, dataset, view, run_key="agreement", **params))


def test_it_opens_with_a_number_that_can_be_required_at_once(operator, form, dataset, check):
    shown = form(operator("check_agreement"), dataset)
    assert not {"problem", "nothing"} & {*shown}
    assert shown["source"]["default"] == "one"
    titles = {each["value"]: each["label"] for each in shown["number"]["view"]["choices"]}
    assert next(iter(titles.items())) == ("existence.f1", "F1")
    assert titles["localisation.mean_iou"] == "mean IoU"
    assert not any(each.get("invalid") for each in shown.values())
    (found,) = check()["results"]
    value = aa.load(dataset).existence.f1
    assert (found["name"], found["value"], found["condition"]) == ("F1", value, "existence.f1 ≥ 0.8")
    answer = check(source="one", number="score.mean", at_least=0.1, by_interval=True)
    assert (answer["outcome"], answer["results"][0]["reason"]) == ("not enough data", "score.mean has no interval")


def test_requirements_are_written_in_the_form_or_chosen_as_a_file(operator, form, dataset, check, tmp_path):
    asked = operator("check_agreement")
    told = form(asked, dataset, source="written")
    assert not told["written"].get("invalid")
    for source in ("written", "file"):  # nothing can be executed, and nothing is red
        nothing = form(asked, dataset, source=source)["nothing"]
        assert (nothing["invalid"], nothing["view"]["name"]) == (True, "Notice")
    example = told["written"]["view"]["placeholder"]
    assert check(source="written", written=example)["outcome"] in ("passed", "failed")
    wrong = form(asked, dataset, source="written", written=example.replace("0.8", "high"))
    assert wrong["problem"]["view"]["label"] == "requirements, line 4: `at_least` must be a number, got 'high'"
    with pytest.raises(ValueError, match="`requirements` must be given, got none"):
        check(source="written", written=" ")

    path = tmp_path / "requirements.json"
    path.write_text(json.dumps({"requirements": {"all": {"numbar": "f1", "at_least": 1}}}))
    chosen = {"source": "file", "requirements": {"absolute_path": str(path)}}
    said = form(asked, dataset, **chosen)["problem"]["view"]["label"]
    assert said.startswith("requirements.json, line 1: there is no key 'numbar'")
    path.write_text(json.dumps({"requirements": {"all": {"number": "existence.f1", "at_least": 1}}}))
    assert "problem" not in form(asked, dataset, **chosen)
    answer = check(**chosen)
    assert answer["outcome"] == "failed"
    assert "Not accepted by requirements.json" in answer["summary"]
    # the App keeps the file when one number is chosen instead
    answer = check(**{**chosen, "source": "number", "number": "existence.f1", "at_least": 0.0})
    assert "Accepted by requirements:" in answer["summary"]
    # a caller gives only the path, or a mapping
    assert check(dataset.limit(1), requirements=str(path), within_view=True)["results"][0]["n_images"] == 1
    assert check(requirements=json.loads(path.read_text()))["outcome"] == "failed"
