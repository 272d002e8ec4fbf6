"""Runs on tags, with one field for each annotator or an attribute that names them: written fields and report."""

from __future__ import annotations

import fiftyone as fo
import pytest

from tests.dataset_io.rated import rated_dataset

from annotator_agreement.dataset_io import (
    compute_agreement,
)

NAMES = ["alice", "bob", "carol"]
#: full agreement; a missed and a lone tag, given twice; nobody any; one not assigned; only one assigned
EXAMPLE = {
    "alice": [["rain", "night"], ["rain", "snow", "snow"], [], ["rain"], ["rain"]],
    "bob": [["night", "rain"], ["rain"], [], [], None],
    "carol": [["rain", "night"], ["crowd"], [], None, None],
}


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
