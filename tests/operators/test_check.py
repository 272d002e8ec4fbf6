"""The form that checks requirements, and what the panel shows of the last check."""

from __future__ import annotations

import json

import pytest

import annotator_agreement as aa

NAMES = ["alice", "bob", "carol"]


def _made(make_dataset):
    dataset = make_dataset()
    aa.compute(dataset, NAMES, resamples=0)
    return dataset


@pytest.fixture
def dataset(lend):
    return lend(_made)


def test_the_form_checks_a_file_and_says_what_is_wrong_with_it(operator, context, form, dataset, tmp_path):
    check, path = operator("check_agreement"), tmp_path / "requirements.json"
    path.write_text(json.dumps({"requirements": {"all": {"metric": "f2", "at_least": 1}}}))
    shown = form(check, dataset, requirements=str(path))
    assert "`metric` must be one of" in shown["problem"]["view"]["label"]
    path.write_text(json.dumps({"requirements": {"all": {"metric": "f1", "at_least": 1}}}))
    assert "problem" not in form(check, dataset, requirements=str(path))
    answer = check.execute(context(check, dataset, run_key="agreement", requirements=str(path)))
    assert answer["outcome"] == "failed"
    assert "Not accepted by requirements.json" in answer["summary"]
    part = context(check, dataset, dataset.limit(1), run_key="agreement", requirements=str(path), within_view=True)
    assert check.execute(part)["results"][0]["n_images"] == 1
