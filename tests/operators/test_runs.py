"""The operators that show, rename and delete runs."""

from __future__ import annotations

import fiftyone.operators as foo
import pytest

from annotator_agreement.dataset_io import compare_agreement, compute_agreement, load_agreement

ANNOTATORS = ["alice", "bob", "carol"]


def _made(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset, ANNOTATORS)
    return dataset


@pytest.fixture
def dataset(lend):
    return lend(_made)


def _execute(operator, dataset, **params):
    result = foo.execute_operator(operator.uri, {"dataset": dataset, "params": params}).result
    dataset.reload()
    return result


@pytest.mark.parametrize("name", ["show_agreement", "rename_agreement", "delete_agreement"])
@pytest.mark.few(1)
def test_runs_are_offered_with_their_status(operator, dataset, form, name):
    dead = dataset.init_run(method="annotator_agreement", status="running", fields_written=[], results_id="0" * 24)
    dataset.register_run("died", dead)
    inputs = form(operator(name), dataset)
    assert inputs["run_key"]["type"]["values"] == ["agreement", "died"]
    assert [choice["label"] for choice in inputs["run_key"]["view"]["choices"]] == ["agreement", "died (running)"]


def test_showing_gives_the_stored_report(operator, dataset):
    result = _execute(operator("show_agreement"), dataset, run_key="agreement")
    report = load_agreement(dataset)
    assert result["report"] == report.to_dict()
    assert "| alice | bob | 4 |" in " ".join(result["summary"].split())


def test_deleting_removes_the_run_and_its_fields(operator, dataset):
    _execute(operator("delete_agreement"), dataset, run_key="agreement")
    assert dataset.list_runs() == []
    assert not [path for path in dataset.get_field_schema(flat=True) if "agreement" in path]


def test_renaming_moves_the_run_and_its_fields(operator, dataset, form):
    rename = operator("rename_agreement")
    assert form(rename, dataset, run_key="agreement", new_run_key="agreement")["problem"]["invalid"]
    assert form(rename, dataset, run_key="agreement", new_run_key="No key")["problem"]["invalid"]
    assert "problem" not in form(rename, dataset, run_key="agreement", new_run_key="round_1")
    _execute(rename, dataset, run_key="agreement", new_run_key="round_1")
    assert dataset.list_runs() == ["round_1"]
    assert dataset.values("round_1_n_units") == [2, 2, 0, 1, 1]


@pytest.mark.parametrize("key", ["label", "agreement", "taken", "Not a key"])
@pytest.mark.few(1)
def test_a_new_key_that_is_not_free_is_shown_in_the_form(operator, dataset, form, key):
    import fiftyone as fo

    dataset.add_sample_field("taken_score", fo.FloatField)
    inputs = form(operator("rename_agreement"), dataset, run_key="agreement", new_run_key=key)
    assert inputs["problem"]["invalid"]
    assert key in inputs["problem"]["view"]["label"]


def test_delete_names_what_it_removes_and_asks(operator, dataset, form):
    from annotator_agreement.dataset_io import add_units, save_agreement_views

    add_units(dataset)
    save_agreement_views(dataset)
    delete = operator("delete_agreement")
    inputs = form(delete, dataset)
    removed = inputs["removed_agreement"]["default"].replace("\\", "")
    assert "- fields: agreement_alpha, agreement_cost, agreement_dice" in removed
    assert "- labels that it wrote: agreement_units" in removed
    assert "agreement_of, agreement_votes (in alice.detections, bob.detections, carol.detections)" in removed
    assert "agreement: lowest score" in removed
    assert inputs["asked"]["invalid"] is True
    assert "asked" not in form(delete, dataset, run_key="agreement", delete_agreement=True)
    assert "asked" not in form(delete, dataset, prompt_id=None, run_key="agreement")


def test_forms_preset_the_newest_run_that_is_complete(operator, dataset, form):
    from annotator_agreement.dataset_io import compute_agreement

    compute_agreement(dataset, ["alice", "bob"], run_key="zz")
    dead = dataset.init_run(method="annotator_agreement", status="running", fields_written=[], results_id="0" * 24)
    dataset.register_run("died", dead)
    assert form(operator("show_agreement"), dataset)["run_key"]["default"] == "zz"
    assert form(operator("show_agreement"), dataset)["run_key"]["type"]["values"] == ["zz", "agreement", "died"]


def test_a_run_is_updated_from_its_form_the_newest_comes_first(operator, context, form, make_dataset):
    dataset, update = make_dataset(), operator("update_agreement")
    assert form(update, dataset)["no_runs"]["invalid"]
    for key in ("zebra", "agreement"):
        compute_agreement(dataset, ["alice", "bob", "carol"], run_key=key, resamples=0)
    inputs = form(update, dataset)
    assert inputs["run_key"]["type"]["values"] == ["agreement", "zebra"]
    assert inputs["changed"]["view"]["label"] == "Nothing was saved since the run"
    sample = dataset.first()
    sample["alice"] = None
    sample.save()
    assert form(update, dataset, run_key="zebra")["changed"]["view"]["label"].endswith(": 1 sample")
    result = update.execute(context(update, dataset))
    assert (result["run_key"], result["report"]["score"]) == ("agreement", load_agreement(dataset).to_dict()["score"])
    assert form(update, dataset)["changed"]["view"]["label"] == "Nothing was saved since the run"
    compare = operator("compare_agreement")
    inputs = form(compare, dataset, run_key="agreement")
    assert inputs["other_run_key"]["type"]["values"] == ["(now)", "zebra"]
    shown = compare.execute(context(compare, dataset, run_key="agreement", other_run_key="(now)"))
    assert shown["comparison"] == compare_agreement(dataset, "agreement").to_dict()


@pytest.mark.parametrize("name", ["delete_agreement", "rename_agreement"])
@pytest.mark.few(1)
def test_the_app_leaves_a_view_of_what_goes_away_before_it_does(operator, context, dataset, name):
    def requests(ctx):
        return [(r["operator_uri"].split("/")[-1], r["params"]) for r in ctx.executor.to_json()["requests"]]

    params = {"run_key": "agreement", "new_run_key": "other"}
    ctx = context(operator(name), dataset, dataset.sort_by("agreement_score"), **params)
    ctx.request_params["spaces"] = {}  # as the App
    assert operator(name).execute(ctx) == {}
    (first, _), (again, given) = requests(ctx)
    assert (first, again, given) == ("clear_view", name, {**params, "view_left": True})
    assert "agreement" in dataset.list_runs()
    ctx = context(operator(name), dataset, **given)
    assert operator(name).execute(ctx)["run_key"] in params.values()
    assert [name for name, _ in requests(ctx)] == ["show_sidebar_groups", "reload_dataset", "notify"]
    assert "agreement" not in dataset.list_runs()


def test_a_view_without_fields_of_the_run_stays(operator, context, dataset):
    ctx = context(operator("delete_agreement"), dataset, dataset.sort_by("filepath"), run_key="agreement")
    ctx.request_params["spaces"] = {}  # as the App
    assert operator("delete_agreement").execute(ctx) == {"run_key": "agreement"}
    assert [request["operator_uri"].split("/")[-1] for request in ctx.executor.to_json()["requests"]] == [
        "show_sidebar_groups",
        "reload_dataset",
        "notify",
    ]
