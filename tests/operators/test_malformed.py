"""Malformed calls, numpy's numbers and arrays, and forms on runs that are gone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fiftyone import ViewField as F

from tests.dataset_io.quick_runs import compute_quickly

from annotator_agreement.dataset_io import (
    add_units,
    agreement_on,
    agreement_patches,
    compare_agreement,
    compute_agreement,
    configure_agreement_app,
    decide,
    delete_agreement,
    list_agreements,
    resolve_units,
    view_agreement,
)

#: operators that are asked for a run, and what else they need
OF_RUNS = {
    "show_agreement": {},
    "update_agreement": {},
    "view_agreement": {},
    "save_agreement_views": {},
    "add_agreement_units": {},
    "agreement_patches": {},
    "resolve_units": {},
    "decide": {},
    "configure_agreement_app": {"sidebar": True},
    "compare_agreement": {"other_run_key": "agreement"},
    "export_agreement": {"path": "/tmp/never-written.html"},
    "delete_agreement": {},
    "rename_agreement": {"new_run_key": "other"},
}


def _without_a_run(make_dataset: Any) -> Any:
    return make_dataset()


def _with_a_run(make_dataset: Any) -> Any:
    dataset = make_dataset()
    compute_quickly(dataset)
    return dataset


@pytest.mark.parametrize("name", OF_RUNS)
@pytest.mark.few(1)
def test_forms_of_runs_that_are_gone(operator, context, form, lend, name: str) -> None:
    dataset, asked = lend(_with_a_run), operator(name)
    for key in ("gone", "", 5, ["agreement"], "a" * 100_000):
        assert form(asked, dataset, run_key=key, **OF_RUNS[name])
        if key:
            with pytest.raises(Exception, match="`run_key` must") as refused:
                asked.execute(context(asked, dataset, run_key=key, **OF_RUNS[name]))
            assert type(refused.value).__name__ == "AgreementInputError"
            assert len(str(refused.value).encode()) <= 2_000
        assert list_agreements(dataset) == ["agreement"] or not key


@pytest.mark.parametrize("name", OF_RUNS)
@pytest.mark.few(4)
def test_forms_without_any_run(operator, context, form, lend, name: str) -> None:
    dataset, asked = lend(_without_a_run), operator(name)
    inputs = form(asked, dataset, **OF_RUNS[name])
    assert [entry["invalid"] for entry in inputs.values()] == [True]
    assert list(inputs) == ["no_runs"]
    with pytest.raises(Exception, match="run") as refused:
        asked.execute(context(asked, dataset, **OF_RUNS[name]))
    assert type(refused.value).__name__ == "AgreementInputError"


@pytest.mark.parametrize("given", ["pdf", 5, ["html"], {}], ids=repr)
def test_an_unknown_format_is_said_in_the_form(operator, context, form, lend, given: Any) -> None:
    dataset, asked = lend(_with_a_run), operator("export_agreement")
    shown = form(asked, dataset, format=given, path="/tmp/x.html")
    if given:
        assert "`format` must be one of" in str(shown)
        with pytest.raises(Exception, match="`format` must be one of"):
            asked.execute(context(asked, dataset, format=given, path="/tmp/x.html"))


@pytest.mark.long
def test_numpy_stands_for_numbers_and_lists(make_dataset) -> None:
    dataset = make_dataset()
    fields = np.array(["alice", "bob", "carol"])
    plain = compute_quickly(dataset, iou=0.5)
    options = {
        "iou": np.float32(0.5),
        "resamples": np.int64(0),
        "seed": np.uint8(51),
        "run_key": np.str_("second"),
        "attributes": np.array([], str),
    }
    report = compute_agreement(dataset, fields, **options)
    assert report.score == plain.score
    compute_agreement(dataset, fields[:2], run_key="named", resamples=0, annotators={np.str_("alice"): np.str_("a")})
    assert agreement_on(dataset, np.str_("second"), resamples=np.int16(0)).score == plain.score
    assert compare_agreement(dataset, "agreement", "second", resamples=np.int8(0), seed=np.int8(3)).n_samples
    view = view_agreement(
        dataset, annotators=fields[:2], classes=np.array(["cat"]), votes=np.array([1, 2]), min_score=np.float64(0)
    )
    assert len(view) == len(
        view_agreement(dataset, annotators=["alice", "bob"], classes=["cat"], votes=(1, 2), min_score=0)
    )
    configure_agreement_app(dataset, sidebar=np.bool_(True))
    add_units(dataset, overwrite=np.bool_(False))
    resolve_units(dataset, quorum=np.float16(0.5))
    assert len(agreement_patches(dataset, verdict=np.array(["missed", "lone"]), max_units=np.int32(1))) == 1
    for key in np.array(["agreement", "second", "named"]):
        delete_agreement(dataset, key)
    assert list_agreements(dataset) == []


def test_what_only_looks_like_texts_or_a_function_is_refused(operator, context, lend, tmp_path) -> None:
    dataset = lend(_with_a_run)
    with pytest.raises(ValueError, match="`objects` must be texts, got <Sample"):
        decide(dataset, choice="none", objects=dataset.first(), by="eve")
    with pytest.raises(ValueError, match="`progress` must be True, False, None or a function"):
        resolve_units(dataset, progress=F("x") == "y")
    export = operator("export_annotations")
    with pytest.raises(Exception, match="With `annotator_attribute`"):
        export.execute(
            context(export, dataset, given="fields", fields={}, annotator_attribute="x", path=str(tmp_path / "a.json"))
        )


@pytest.mark.parametrize("gold", [["+1"], {"a": " "}, 3])
def test_a_field_of_decisions_that_is_no_name_is_a_sentence(operator, context, lend, gold) -> None:
    dataset = lend(_with_a_run)
    for name in ("apply_decisions", "decide"):
        asked = operator(name)
        with pytest.raises(ValueError, match="`gold` must be a text, got"):
            asked.execute(context(asked, dataset, gold=gold, choice="none", run_key="agreement"))


@pytest.mark.long
def test_a_short_campaign_of_malformed_calls(private_fiftyone) -> None:
    from tools.stress.parameters import parameters

    outcome = parameters(seed=7, rounds=6)
    assert outcome.failed == 0, "\n".join(outcome.examples)
