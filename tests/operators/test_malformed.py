"""Malformed calls, numpy's numbers and arrays, and forms on runs that are gone."""

from __future__ import annotations

import pytest
from fiftyone import ViewField as F

from annotator_agreement.dataset_io import decide, list_agreements, resolve_units

#: operators that are asked for a run, and what else they need
_ALONE = "show_agreement update_agreement view_agreement save_agreement_views add_agreement_units agreement_patches"
OF_RUNS = {
    **{name: {} for name in (*_ALONE.split(), "resolve_units", "decide", "delete_agreement")},
    "configure_agreement_app": {"sidebar": True}, "compare_agreement": {"other_run_key": "agreement"},
    "export_agreement": {"path": "/tmp/never-written.html"}, "rename_agreement": {"new_run_key": "other"},
}  # fmt: skip


@pytest.mark.long
def test_forms_of_runs_that_are_gone(operator, context, form, example, make_dataset):
    dataset, without = example, make_dataset()
    for name, given in OF_RUNS.items():
        asked = operator(name)
        for key in ("gone", "", 5, ["agreement"], "a" * 100_000):
            assert form(asked, dataset, run_key=key, **given), (name, key)
            if key:
                with pytest.raises(Exception, match="`run_key` must") as refused:
                    asked.execute(context(asked, dataset, run_key=key, **given))
                assert type(refused.value).__name__ == "AgreementInputError"
                assert len(str(refused.value).encode()) <= 2_000
        assert list_agreements(dataset) == ["agreement"]
        inputs = form(asked, without, **given)
        assert [(key, entry["invalid"]) for key, entry in inputs.items()] == [("no_runs", True)], name
        with pytest.raises(Exception, match="run") as refused:
            asked.execute(context(asked, without, **given))
        assert type(refused.value).__name__ == "AgreementInputError"


def test_an_attribute_that_is_no_text_and_an_unknown_format_are_said_in_the_form(operator, context, form, example):
    dataset, asked = example, operator("export_agreement")
    for given in (["label"], {"a": 1}, 5):
        assert form(operator("compute_agreement"), dataset, fields=["alice"], annotator_attribute=given)
    assert form(asked, dataset, format={}, path="/tmp/x.html")
    for given in ("pdf", 5, ["html"]):
        assert "`format` must be one of" in str(form(asked, dataset, format=given, path="/tmp/x.html"))
        with pytest.raises(Exception, match="`format` must be one of"):
            asked.execute(context(asked, dataset, format=given, path="/tmp/x.html"))


def test_what_only_looks_like_texts_or_a_function_is_refused(operator, context, example, tmp_path):
    dataset = example
    with pytest.raises(ValueError, match="`objects` must be texts, got <Sample"):
        decide(dataset, choice="none", objects=dataset.first(), by="eve")
    with pytest.raises(ValueError, match="`progress` must be True, False, None or a function"):
        resolve_units(dataset, progress=F("x") == "y")
    given = {"given": "fields", "fields": {}, "annotator_attribute": "x", "path": str(tmp_path / "a.json")}
    calls = [("export_annotations", given, "With `annotator_attribute`")]
    for gold in (["+1"], {"a": " "}, 3):  # a field of decisions that is no name
        given = {"gold": gold, "choice": "none", "run_key": "agreement"}
        calls += [(name, given, "`gold` must be a text, got") for name in ("apply_decisions", "decide")]
    for name, given, match in calls:
        with pytest.raises(Exception, match=match):
            operator(name).execute(context(operator(name), dataset, **given))


@pytest.mark.long
def test_a_short_campaign_of_malformed_calls(private_fiftyone):
    from tools.stress.parameters import parameters

    outcome = parameters(seed=7, rounds=6)
    assert outcome.failed == 0, "\n".join(outcome.examples)
