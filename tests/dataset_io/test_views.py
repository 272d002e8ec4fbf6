"""Runs on views: only what the view shows is compared, and values are written on the labels of the dataset."""

from __future__ import annotations

from collections import Counter

import fiftyone as fo
import pytest
from fiftyone import ViewField as F

from tests.datasets import EXAMPLE, detections, random_annotators, stored

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import (
    add_units,
    agreement_patches,
    compute_agreement,
    configure_agreement_app,
    delete_agreement,
    load_agreement,
    resolve_units,
)

ANNOTATORS = ["alice", "bob", "carol"]


def test_a_filtered_label_view_is_about_the_labels_it_contains(make_dataset):
    dataset = make_dataset()
    view = dataset
    for name in ANNOTATORS:
        view = view.filter_labels(name, F("label") == "dog", only_matches=False)
    report = compute_agreement(view, ANNOTATORS)
    assert report.n_objects == 7
    assert dataset.values("alice.detections.agreement") == [[None, "agreed"], [None, "missed"], [], ["lone"], [None]]
    assert dataset.values("bob.detections.agreement")[1] == ["lone", "missed"]
    second = dataset.skip(1).first()
    assert second.bob.detections[1].agreement_id == second.alice.detections[1].id


def test_none_and_empty_stay_apart_in_a_filtered_view(make_dataset):
    dataset = make_dataset()
    view = dataset
    for name in ANNOTATORS:
        view = view.filter_labels(name, F("label") == "nothing", only_matches=False)
    report = compute_agreement(view, ANNOTATORS)
    assert dataset.values("agreement_n_annotators") == [3, 3, 3, 2, 1]
    assert (report.n_objects, report.n_empty) == (0, 4)
    assert report.alpha.pooled is None
    assert Counter(report.alpha.undefined) == Counter({"no_objects": 4, "one_annotator": 1})


def test_a_limited_view_leaves_the_other_samples_alone(make_dataset):
    dataset = make_dataset()
    report = compute_agreement(dataset.limit(2), ANNOTATORS)
    assert report.n_samples == 2
    assert [value is None for value in dataset.values("agreement_n_annotators")] == [False, False, True, True, True]


def test_a_sorted_view_gives_the_same_report(make_dataset):
    dataset = make_dataset(random_annotators(30))
    plain = compute_agreement(dataset, ANNOTATORS, run_key="plain")
    by_path = compute_agreement(dataset.sort_by("filepath", reverse=True), ANNOTATORS, run_key="by_path")
    assert plain.score.mean == by_path.score.mean
    assert plain.alpha == by_path.alpha
    assert plain.worst_samples == by_path.worst_samples
    assert dataset.values("plain_score") == dataset.values("by_path_score")
    assert dataset.values("bob.detections.plain_id") == dataset.values("bob.detections.by_path_id")


def test_a_repeated_sample_counts_once(make_dataset):
    dataset = make_dataset()
    report = compute_agreement(dataset.concat(dataset.limit(2)), ANNOTATORS)
    assert (report.n_samples, report.run.n_repeated) == (5, 2)
    assert report.score.n == 3


def test_classes_mapped_by_a_view_are_the_ones_compared(make_dataset):
    dataset = make_dataset()
    view = dataset.map_labels("alice", {"cat": "dog"}).map_labels("bob", {"cat": "dog"}).map_labels(
        "carol", {"cat": "dog"}
    )  # fmt: skip
    report = compute_agreement(view, ANNOTATORS)
    assert dataset.values("alice.detections.agreement")[1] == ["agreed", "missed"]
    assert dataset.values("alice.detections.label")[1] == ["cat", "dog"]
    assert report.class_given_match.percent_agreement == 1.0


def test_a_view_of_selected_fields_works(make_dataset):
    dataset = make_dataset()
    report = compute_agreement(dataset.select_fields(["alice", "bob"]), ["alice", "bob"])
    assert report.n_rated == 4
    assert dataset.values("agreement_n_annotators") == [2, 2, 2, 2, 1]
    with pytest.raises(AgreementInputError, match="'carol', which does not exist"):
        compute_agreement(dataset.select_fields(["alice", "bob"]), ANNOTATORS, run_key="other")


def test_a_view_without_a_rated_sample_completes_with_reasons(make_dataset):
    dataset = make_dataset()
    report = compute_agreement(dataset.skip(4), ANNOTATORS)
    assert (report.n_samples, report.n_rated) == (1, 0)
    assert (report.score.mean, report.alpha.pooled, report.alpha.mean) == (None, None, None)
    assert Counter(report.alpha.undefined) == Counter({"one_annotator": 1})
    assert report.pairs == []
    report.print_report()


def test_a_patches_view_is_refused(make_dataset):
    dataset = make_dataset()
    with pytest.raises(AgreementInputError, match=f"got a patches view of '{dataset.name}'; pass that dataset"):
        compute_agreement(dataset.to_patches("alice"), ANNOTATORS)


@pytest.mark.parametrize("kind", ["frames", "clips"])
def test_a_view_of_parts_of_videos_is_refused(make_dataset, kind):
    dataset = make_dataset({})
    sample = fo.Sample(filepath="/videos/1.mp4", alice=detections([]), bob=detections([]))
    sample.metadata = fo.VideoMetadata(total_frame_count=3, frame_rate=1, frame_width=10, frame_height=10)
    sample.frames[1] = fo.Frame(filepath="/videos/1-1.jpg")
    dataset.add_sample(sample)
    view = dataset.to_frames() if kind == "frames" else dataset.to_clips([[(1, 2)]])
    with pytest.raises(AgreementInputError, match=f"got a {kind} view of '{dataset.name}'; pass that dataset"):
        compute_agreement(view, ["alice", "bob"])
    assert compute_agreement(dataset, ["alice", "bob"]).n_rated == 1


def test_an_empty_view_is_refused(make_dataset):
    dataset = make_dataset()
    with pytest.raises(AgreementInputError, match="Agreement needs samples, got an empty view"):
        compute_agreement(dataset.match(F("filepath") == "nowhere"), ANNOTATORS)
    assert not dataset.list_runs()


@pytest.mark.parametrize(
    ("drawn", "name"),
    [
        ([{"$sample": {"size": 3}}], "sample"),
        ([{"$match": {"$expr": {"$lt": [{"$rand": {}}, 0.5]}}}], "rand"),
        ([{"$unionWith": {"coll": "none", "pipeline": [{"$sample": {"size": 3}}]}}], "sample"),
    ],
)
def test_a_view_that_draws_anew_at_every_reading_is_refused(make_dataset, drawn, name):
    dataset = make_dataset()
    with pytest.raises(AgreementInputError, match=rf"a view with \${name}, which draws anew .* dataset.take\(300"):
        compute_agreement(dataset.mongo(drawn), ANNOTATORS)
    assert not dataset.list_runs()


def test_a_view_that_takes_samples_by_chance_once_is_compared(make_dataset):
    dataset = make_dataset().take(3).match({"filepath": {"$ne": "$sample"}})
    assert compute_agreement(dataset, ANNOTATORS).n_samples == 3


# ---- grouped datasets: the samples of all slices are compared, each with its own labels ----


#: the slice on the right has the samples of the example in the opposite order
ORDER = {"left": [0, 1, 2], "right": [2, 1, 0]}


@pytest.fixture
def grouped(make_dataset):
    dataset = make_dataset({})
    dataset.add_group_field("group", default="left")
    samples = []
    for k in range(3):
        group = fo.Group()
        for side, order in ORDER.items():
            labels = {name: detections(EXAMPLE[name][order[k]]) for name in ANNOTATORS}
            samples.append(fo.Sample(filepath=f"/images/{side}{k}.jpg", group=group.element(side), **labels))
    dataset.add_samples(samples)
    return dataset


def _values(dataset, path):
    return {side: dataset.select_group_slices(side).values(path) for side in ORDER}


def test_all_slices_of_a_grouped_dataset_are_compared(grouped):
    report = compute_agreement(grouped, ANNOTATORS)
    assert report.n_samples == 6
    assert _values(grouped, "agreement_n_units") == {"left": [2, 2, 0], "right": [0, 2, 2]}
    assert _values(grouped, "bob.detections.agreement") == {
        "left": [["agreed", "agreed"], ["class_conflict", "missed"], []],
        "right": [[], ["class_conflict", "missed"], ["agreed", "agreed"]],
    }
    assert load_agreement(grouped) == report
    assert len(grouped.load_run_view("agreement")) == 6


@pytest.mark.long
def test_an_active_slice_without_samples_hides_nothing(grouped):
    for sample in grouped.select_group_slices("left"):
        grouped.delete_samples(sample.id)
    assert (grouped.group_slice, len(grouped)) == ("left", 0)
    assert compute_agreement(grouped, ANNOTATORS).n_samples == 3


@pytest.mark.long
def test_slices_can_be_chosen(grouped):
    report = compute_agreement(grouped.select_group_slices("right"), ANNOTATORS)
    assert report.n_samples == 3
    assert _values(grouped, "agreement_n_units") == {"left": [None] * 3, "right": [0, 2, 2]}


@pytest.mark.long
def test_slices_of_different_media_are_refused(grouped):
    group = fo.Group()
    grouped.add_sample(fo.Sample(filepath="/images/cloud.pcd", group=group.element("cloud")))
    before = stored(grouped)
    message = r"one media type, got cloud \(point-cloud\), left \(image\), right \(image\) of .*choose slices first"
    with pytest.raises(AgreementInputError, match=message):
        compute_agreement(grouped, ANNOTATORS)
    assert stored(grouped) == before
    assert compute_agreement(grouped.select_group_slices(media_type="image"), ANNOTATORS).n_samples == 6


@pytest.mark.long
def test_the_slices_to_choose_are_those_that_have_the_fields(grouped):
    group = fo.Group()
    sample = fo.Sample(filepath="/videos/top.mp4", group=group.element("top"))
    sample.frames[1] = fo.Frame(alice=detections([]), bob=detections([]))
    grouped.add_sample(sample)
    with pytest.raises(AgreementInputError, match=r"choose slices first: .*\(media_type='video'\)"):
        compute_agreement(grouped, ["frames.alice", "frames.bob"])


@pytest.mark.long
def test_frames_of_videos_in_groups_are_compared(make_dataset):
    dataset = make_dataset({})
    dataset.add_group_field("group", default="left")
    samples = []
    for k in range(2):
        group = fo.Group()
        for side, order in ORDER.items():
            sample = fo.Sample(filepath=f"/videos/{side}{k}.mp4", group=group.element(side))
            sample.frames[1] = fo.Frame(**{name: detections(EXAMPLE[name][order[k]]) for name in ANNOTATORS})
            samples.append(sample)
    dataset.add_samples(samples)
    before = stored(dataset)
    report = compute_agreement(dataset, [f"frames.{name}" for name in ANNOTATORS])
    assert (report.n_samples, report.run.n_videos) == (4, 4)
    assert _values(dataset, "agreement_n_units") == {"left": [2, 2], "right": [0, 2]}
    assert _values(dataset, "frames.agreement_n_units") == {"left": [[2], [2]], "right": [[0], [2]]}
    delete_agreement(dataset)
    assert stored(dataset) == before


@pytest.mark.long
def test_beside_slices_of_other_media_everything_works_on_the_slices_that_were_compared(grouped):
    group = fo.Group()
    grouped.add_sample(fo.Sample(filepath="/images/cloud.pcd", group=group.element("cloud")))
    before = stored(grouped)
    images = grouped.select_group_slices(media_type="image")
    compute_agreement(images, ANNOTATORS)
    add_units(images)
    n_units = sum(map(sum, _values(grouped, "agreement_n_units").values()))
    for samples in (images, grouped):
        assert add_units(samples, overwrite=True).n_labels == n_units
        assert resolve_units(samples, quorum=0.1, overwrite=True).n_labels == n_units
        patches = agreement_patches(samples)
        assert len(patches) == sum(images.values("agreement_n_disputed"))
        assert set(patches.values("sample_id")) <= set(images.values("id"))
        assert configure_agreement_app(samples, sidebar=True).sidebar
    delete_agreement(grouped)
    assert stored(grouped) == before
