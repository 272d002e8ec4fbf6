"""Runs on tags, with one field for each annotator or an attribute that names them: written fields and report."""

from __future__ import annotations

import fiftyone as fo
import numpy as np
import pytest
from fiftyone import ViewField as F

from tests.dataset_io.rated import rated_dataset
from tests.datasets import stored, user_values

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import (
    compute_agreement,
    delete_agreement,
    list_agreements,
    load_agreement,
    rename_agreement,
)
from annotator_agreement.dataset_io.run import write as write_module

NAMES = ["alice", "bob", "carol"]
TAGS = ["night", "rain", "crowd", "snow"]
#: full agreement; a missed and a lone tag, given twice; nobody any; one not assigned; only one assigned
EXAMPLE = {
    "alice": [["rain", "night"], ["rain", "snow", "snow"], [], ["rain"], ["rain"]],
    "bob": [["night", "rain"], ["rain"], [], [], None],
    "carol": [["rain", "night"], ["crowd"], [], None, None],
}


def _random(seed=0, n_samples=25):
    rng = np.random.default_rng(seed)
    columns = {name: [] for name in NAMES}
    for _ in range(n_samples):
        truth = rng.random(len(TAGS)) < 0.4
        for name in NAMES:
            seen = truth ^ (rng.random(len(TAGS)) < 0.15)
            tags = [tag for tag, there in zip(TAGS, seen, strict=True) if there]
            columns[name].append(None if rng.random() < 0.15 else tags + tags[:1] * int(rng.random() < 0.2))
    return columns


def _tags_dataset(make_dataset, annotators=EXAMPLE):
    return rated_dataset(make_dataset, annotators, "Classifications")


def _attribute_dataset(make_dataset, annotators):
    dataset = make_dataset({})
    for k in range(len(annotators["alice"])):
        labels = [fo.Classification(label=tag, rater=name) for name in ("carol", "alice", "bob")
                  for tag in annotators[name][k] or []]  # fmt: skip
        assigned = [name for name in NAMES if annotators[name][k] is not None]
        labels = fo.Classifications(classifications=labels)
        dataset.add_sample(fo.Sample(filepath=f"/images/{k}.jpg", labels=labels, raters=assigned))
    return dataset


def test_values_of_an_example(make_dataset):
    dataset = _tags_dataset(make_dataset)
    report = compute_agreement(dataset, NAMES)
    assert dataset.values("agreement_score") == pytest.approx([1.0, (0.5 + 0 + 0) / 3, 1.0, 0.0, None])
    assert dataset.values("agreement_majority") == [["night", "rain"], ["rain"], [], [], None]
    assert dataset.values("agreement_disputed") == [False, True, False, True, None]
    assert dataset.values("agreement_n_annotators") == [3, 3, 3, 2, 1]
    assert dataset.values("alice.classifications.agreement") == [
        ["agreed", "agreed"], ["missed", "lone", None], [], ["lone"], [None]
    ]  # fmt: skip
    assert dataset.values("alice.classifications.agreement_votes") == [[3, 3], [2, 1, None], [], [1], [1]]
    assert dataset.values("alice.classifications.agreement_of") == [[3, 3], [3, 3, None], [], [2], [1]]
    assert dataset.values("carol.classifications.agreement") == [["agreed", "agreed"], ["lone"], [], None, None]
    assert (report.family, report.set_distance, report.label_types) == ("tags", "masi", ["Classifications"])
    assert (report.n_samples, report.n_rated, report.n_objects, report.n_disputed) == (5, 4, 11, 2)
    coverage = {entry.name: (entry.n_assigned, entry.n_gave_nothing, entry.n_objects, entry.n_missed)
                for entry in report.annotators}  # fmt: skip
    assert coverage == {"alice": (5, 1, 6, 0), "bob": (4, 2, 3, 0), "carol": (3, 1, 3, 1)}
    rain = next(entry for entry in report.tags if entry.tag == "rain")
    assert (rain.n_samples, rain.n_agreed, rain.votes, rain.share) == (3, 1, 6, 6 / 8)
    worst = [(entry["score"], entry["n_disputed"], entry["n_units"]) for entry in report.worst_samples]
    assert worst == [(0.0, 1, 1), (pytest.approx(1 / 6), 3, 3)]


@pytest.mark.long
def test_fields_are_those_documented_and_declared_with_their_origin(make_dataset):
    dataset = _tags_dataset(make_dataset)
    before = set(dataset.get_field_schema(flat=True))
    compute_agreement(dataset, NAMES)
    schema = dataset.get_field_schema(flat=True)
    added = set(schema) - before
    assert added == {f"agreement_{name}" for name in ("score", "cost", "majority", "disputed", "n_annotators")} | {
        f"{name}.classifications.agreement{suffix}" for name in NAMES for suffix in ("", "_votes", "_of", "_missed_by")
    }
    for path in added:
        assert schema[path].info == {"annotator_agreement": "agreement"}
        assert schema[path].description
    assert isinstance(schema["agreement_majority"], fo.ListField)


@pytest.mark.long
def test_runs_are_overwritten_renamed_and_deleted_without_a_trace(make_dataset):
    dataset = _tags_dataset(make_dataset, _random())
    before, values = stored(dataset), user_values(dataset, ["agreement"])
    compute_agreement(dataset, NAMES[:2])
    report = compute_agreement(dataset, NAMES, overwrite=True)
    assert user_values(dataset, ["agreement"]) == values
    assert load_agreement(dataset) == report
    majority, votes = dataset.values("agreement_majority"), dataset.values("bob.classifications.agreement_votes")
    rename_agreement(dataset, "agreement", "round_1")
    assert dataset.values("round_1_majority") == majority
    assert dataset.values("bob.classifications.round_1_votes") == votes
    delete_agreement(dataset, "round_1")
    assert stored(dataset) == before
    assert list_agreements(dataset) == []


@pytest.mark.long
def test_attribute_mode_gives_what_field_mode_gives(make_dataset):
    annotators = _random(1)
    by_field = compute_agreement(_tags_dataset(make_dataset, annotators), NAMES)
    dataset = _attribute_dataset(make_dataset, annotators)
    by_attribute = compute_agreement(dataset, "labels", annotator_attribute="rater", assigned_field="raters")
    assert by_attribute.run.coverage == "given"
    for name in ("alpha", "score", "tags", "pairs", "annotators", "n_rated", "n_objects"):
        assert getattr(by_attribute, name) == getattr(by_field, name)
    before = stored(dataset)
    compute_agreement(dataset, "labels", annotator_attribute="rater", run_key="all")
    assert dataset.values("all_n_annotators") == [3] * 25
    delete_agreement(dataset, "all")
    assert stored(dataset) == before


@pytest.mark.long
def test_an_annotator_who_tags_without_being_listed_counts_as_assigned(make_dataset):
    dataset = _attribute_dataset(make_dataset, EXAMPLE)
    sample = dataset.first()
    sample["raters"] = ["alice"]
    sample.save()
    report = compute_agreement(dataset, "labels", annotator_attribute="rater", assigned_field="raters")
    assert report.run.n_added_assignments == 2
    assert dataset.values("agreement_n_annotators") == [3, 3, 3, 2, 1]
    of_two = compute_agreement(
        dataset, "labels", annotator_attribute="rater", assigned_field="raters", annotators=["bob", "carol"],
        run_key="two",
    )  # fmt: skip
    assert [entry.name for entry in of_two.annotators] == ["bob", "carol"]
    assert dataset.values("labels.classifications.two")[1] == ["lone", None, None, None, "lone"]


@pytest.mark.long
def test_what_a_view_shows_is_compared_and_lands_on_the_labels_of_the_dataset(make_dataset):
    dataset = _tags_dataset(make_dataset)
    view = dataset
    for name in NAMES:
        view = view.filter_labels(name, F("label") == "rain", only_matches=False)
    report = compute_agreement(view, NAMES)
    assert [entry.tag for entry in report.tags] == ["rain"]
    assert dataset.values("agreement_n_annotators") == [3, 3, 3, 2, 1]
    assert dataset.values("bob.classifications.agreement")[0] == [None, "agreed"]
    assert dataset.values("alice.classifications.agreement")[1] == ["missed", None, None]
    assert dataset.values("agreement_score") == pytest.approx([1.0, 1 / 3, 1.0, 0.0, None])
    by_path = compute_agreement(dataset.sort_by("filepath", reverse=True), NAMES, run_key="by_path")
    whole = compute_agreement(dataset, NAMES, run_key="whole")
    assert by_path.alpha == whole.alpha
    assert by_path.tags == whole.tags
    assert dataset.values("by_path_majority") == dataset.values("whole_majority")


@pytest.mark.parametrize("kind", ["add", "delete", "empty", "unassign"])
@pytest.mark.long
def test_tags_that_are_edited_between_reading_and_writing_are_read_again(make_dataset, monkeypatch, kind):
    dataset = _tags_dataset(make_dataset)
    original, edited = write_module.Writer.write, []

    def write(self, batch, updates):
        if not edited:
            edited.append(kind)
            sample = dataset.first()
            labels = sample.alice.classifications
            if kind == "add":
                labels.insert(0, fo.Classification(label="snow"))
            elif kind == "unassign":
                sample.alice = None
            else:
                sample.alice.classifications = labels[1:] if kind == "delete" else []
            sample.save()
        return original(self, batch, updates)

    monkeypatch.setattr(write_module.Writer, "write", write)
    report = compute_agreement(dataset, NAMES)
    expected = {
        "add": (["lone", "agreed", "agreed"], (2 / 3 + 2 / 3 + 1) / 3, 3),
        "delete": (["agreed"], (0.5 + 0.5 + 1) / 3, 3),
        "empty": (None, 1 / 3, 3),
        "unassign": (None, 1.0, 2),
    }[kind]
    assert report.run.n_changed == 0
    assert dataset.values("alice.classifications.agreement")[0] == expected[0]
    assert dataset.values("agreement_score")[0] == pytest.approx(expected[1])
    assert dataset.values("agreement_n_annotators")[0] == expected[2]


@pytest.mark.long
def test_a_tag_without_a_name_and_a_list_that_was_emptied_are_read_as_such(make_dataset):
    dataset = _tags_dataset(make_dataset)
    sample = dataset.first()
    sample.alice.classifications = []
    sample.bob.classifications[0].label = None
    sample.save()
    report = compute_agreement(dataset, NAMES)
    assert "(no label)" in [entry.tag for entry in report.tags]
    assert dataset.values("agreement_n_annotators")[0] == 3
    assert dataset.values("agreement_majority")[0] == ["rain"]


@pytest.mark.long
def test_tags_without_an_annotator_are_counted_and_named(make_dataset):
    dataset = _attribute_dataset(make_dataset, EXAMPLE)
    sample = dataset.first()
    sample.labels.classifications[0]["rater"] = None
    sample.save()
    before = stored(dataset)
    with pytest.raises(AgreementInputError, match="must name its annotator in `rater`, got 1 without"):
        compute_agreement(dataset, "labels", annotator_attribute="rater")
    assert stored(dataset) == before


@pytest.mark.long
def test_tags_and_classes_are_not_compared_with_each_other(make_dataset):
    kinds = {"alice": "Classifications", "bob": "Classification"}
    dataset = rated_dataset(make_dataset, {"alice": [["rain"]], "bob": ["rain"]}, kinds)
    with pytest.raises(AgreementInputError, match=r"got alice \(Classifications\), bob \(Classification\)"):
        compute_agreement(dataset, ["alice", "bob"])


@pytest.mark.long
def test_tags_of_frames_are_compared_frame_by_frame(make_videos):
    def tags(*names):
        return fo.Classifications(classifications=[fo.Classification(label=name) for name in names])

    dataset = make_videos([{"alice": [tags("rain"), tags("rain"), None], "bob": [tags("rain"), None, None]}])
    report = compute_agreement(dataset, ["frames.alice", "frames.bob"])
    # who tagged any frame of a video was assigned to all on which anybody has a list
    assert dataset.values("frames.agreement_score") == [[1.0, 0.0, None]]
    assert dataset.values("frames.alice.classifications.agreement") == [[["agreed"], ["lone"], None]]
    assert dataset.values("frames.agreement_majority") == [[["rain"], [], None]]
    assert dataset.values("agreement_score") == [0.5]
    assert (report.n_samples, report.n_rated, report.run.coverage) == (3, 2, "videos")
