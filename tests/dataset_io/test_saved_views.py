"""The usual views of a run, saved with the dataset: made, replaced, renamed and removed with the run."""

from __future__ import annotations

import pytest
from fiftyone.core.odm import get_db_conn

from tests.dataset_io.masked import masked_dataset, random_masks
from tests.dataset_io.quick_runs import compute_quickly
from tests.dataset_io.rated import rated_dataset
from tests.datasets import random_annotators, stored

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import delete_agreement, rename_agreement, save_agreement_views

USUAL = ["agreement: lowest score", "agreement: class conflicts", "agreement: missed", "agreement: lone"]


def _everything(dataset):
    views = list(get_db_conn().views.find({"_dataset_id": dataset._doc.id}))
    return stored(dataset), sorted((view["name"], view.get("description") or "", view["view_stages"]) for view in views)


def _made(make_dataset):
    dataset = make_dataset(random_annotators(25))
    dataset.save_view("mine", dataset.limit(3), description="of my own")
    return dataset


def _made_with_a_run(make_dataset):
    dataset = _made(make_dataset)
    compute_quickly(dataset)
    return dataset


@pytest.fixture
def dataset(lend):
    return lend(_made)


@pytest.fixture
def computed(lend):
    """The dataset with a run."""
    return lend(_made_with_a_run)


def test_the_usual_views_show_as_many_labels_as_the_report_counts(dataset):
    report = compute_quickly(dataset)
    assert save_agreement_views(dataset) == USUAL
    dataset.reload()
    assert dataset.list_saved_views() == ["mine", *USUAL]
    lowest = dataset.load_saved_view("agreement: lowest score")
    scores = lowest.values("agreement_score")
    assert (len(scores), scores) == (report.score.n, sorted(scores))
    for suffix, verdict in (("class conflicts", "class_conflict"), ("missed", "missed"), ("lone", "lone")):
        view = dataset.load_saved_view(f"agreement: {suffix}")
        for annotator in report.annotators:
            assert view.count(f"{annotator.name}.detections") == annotator.verdicts[verdict]
        assert view.values("agreement_score") == sorted(view.values("agreement_score"))


@pytest.mark.long
def test_other_labels_have_the_views_that_concern_them(make_dataset):
    masks = masked_dataset(make_dataset, random_masks(4, ["a", "b"]))
    classes = rated_dataset(make_dataset, {"a": ["x", "y"], "b": ["x", "x"]}, "Classification")
    tags = rated_dataset(make_dataset, {"a": [["x"], ["y"]], "b": [["x"], []]}, "Classifications")
    for dataset, expected in ((masks, USUAL[:1]), (classes, USUAL[:2]), (tags, [USUAL[0], *USUAL[2:]])):
        compute_quickly(dataset, ["a", "b"])
        assert save_agreement_views(dataset) == expected
    assert len(classes.load_saved_view("agreement: class conflicts")) == 1


def test_deleting_the_run_removes_its_views_and_no_others_also_what_fiftyone_leaves_behind(dataset):
    before = _everything(dataset)
    compute_quickly(dataset)
    compute_quickly(dataset, ["alice", "bob"], run_key="other")
    save_agreement_views(dataset, "other")
    with_other = _everything(dataset)
    save_agreement_views(dataset)
    save_agreement_views(dataset)  # replaces the first
    assert len(dataset.list_saved_views()) == 9
    delete_agreement(dataset)
    assert dataset.list_saved_views() == ["mine", *(name.replace("agreement", "other") for name in USUAL)]
    assert _everything(dataset)[1] == with_other[1]
    dataset.delete_run("other")
    # a process that died after it wrote a view, before the dataset came to know of it
    orphan = get_db_conn().views.find_one({"_dataset_id": dataset._doc.id, "name": "other: lone"})
    get_db_conn().datasets.update_one({"_id": dataset._doc.id}, {"$pull": {"saved_views": orphan["_id"]}})
    dataset._doc.reload("saved_views")
    delete_agreement(dataset, "other")
    assert _everything(dataset) == before


def test_a_view_of_the_user_is_never_touched(lend):
    for name in ("agreement: missed", "Agreement - MISSED"):
        computed = lend(_made_with_a_run)
        computed.save_view(name, computed.limit(1))
        before = _everything(computed)
        message = f"must have new names, got '{name}', which the run 'agreement' did not"
        with pytest.raises(AgreementInputError, match=message):
            save_agreement_views(computed)
        assert _everything(computed) == before
        delete_agreement(computed)
        assert len(computed.load_saved_view(name)) == 1


def test_a_view_whose_mark_the_user_removes_or_of_the_new_name_is_the_users(computed):
    save_agreement_views(computed)
    computed.save_view("renamed: lone", computed.limit(1))
    before = _everything(computed)
    with pytest.raises(AgreementInputError, match="got 'renamed: lone', which the run 'renamed' did not save"):
        rename_agreement(computed, "agreement", "renamed")
    assert _everything(computed) == before
    computed.update_saved_view_info("agreement: lone", {"description": "I keep this"})
    with pytest.raises(AgreementInputError, match="'agreement: lone', which the run 'agreement' did not save"):
        save_agreement_views(computed)
    delete_agreement(computed)
    assert set(computed.list_saved_views()) == {"mine", "agreement: lone", "renamed: lone"}


@pytest.mark.long
def test_a_view_that_the_user_renamed_or_deleted_is_made_again_and_renamed_with_the_run(dataset):
    before = _everything(dataset)
    report = compute_quickly(dataset)
    save_agreement_views(dataset)
    dataset.update_saved_view_info("agreement: lone", {"name": "alone"})
    dataset.delete_saved_view("agreement: missed")
    assert save_agreement_views(dataset) == USUAL
    assert set(dataset.list_saved_views()) == {"mine", "alone", *USUAL}
    dataset.delete_saved_view("agreement: missed")
    rename_agreement(dataset, "agreement", "renamed")
    names = {name.replace("agreement", "renamed") for name in USUAL if "missed" not in name}
    assert names <= set(dataset.list_saved_views())
    view = dataset.load_saved_view("renamed: lone")
    assert view.count("alice.detections") == report.annotators[0].verdicts["lone"]
    delete_agreement(dataset, "renamed")
    assert _everything(dataset) == before
