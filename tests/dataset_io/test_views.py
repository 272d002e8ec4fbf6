"""Runs on views: only what the view shows is compared, and values are written on the labels of the dataset."""

from __future__ import annotations

from collections import Counter

import fiftyone as fo
import pytest
from fiftyone import ViewField as F

from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly
from tests.datasets import EXAMPLE, detections, random_annotators, stored

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import (
    add_units,
    agreement_patches,
    configure_agreement_app,
    delete_agreement,
    load_agreement,
    resolve_units,
)


def _of_class(dataset, name):
    view = dataset.view()
    for field in ANNOTATORS:
        view = view.filter_labels(field, F("label") == name, only_matches=False)
    return view


def test_a_filtered_view_is_about_the_labels_it_contains_and_none_and_empty_stay_apart(make_dataset):
    dataset = make_dataset()
    assert compute_quickly(_of_class(dataset, "dog")).n_objects == 7
    assert dataset.values("alice.detections.agreement") == [[None, "agreed"], [None, "missed"], [], ["lone"], [None]]
    assert dataset.values("bob.detections.agreement")[1] == ["lone", "missed"]
    second = dataset.skip(1).first()
    assert second.bob.detections[1].agreement_id == second.alice.detections[1].id
    report = compute_quickly(_of_class(dataset, "nothing"), run_key="nothing")
    assert dataset.values("nothing_n_annotators") == [3, 3, 3, 2, 1]
    assert (report.n_objects, report.n_empty, report.alpha.pooled) == (0, 4, None)
    assert Counter(report.alpha.undefined) == Counter({"no_objects": 4, "one_annotator": 1})


def test_a_sorted_view_gives_the_same_report(make_dataset):
    dataset = make_dataset(random_annotators(30))
    views = {"plain": dataset, "by_path": dataset.sort_by("filepath", reverse=True)}
    plain, by_path = (compute_quickly(view, run_key=key) for key, view in views.items())
    for name in ("score", "alpha", "worst_samples"):
        assert getattr(plain, name) == getattr(by_path, name)
    for path in ("{}_score", "bob.detections.{}_id"):
        assert dataset.values(path.format("plain")) == dataset.values(path.format("by_path"))


def test_samples_that_are_left_out_or_chosen_by_chance_once_or_repeated(make_dataset):
    dataset = make_dataset()
    report = compute_quickly(dataset.concat(dataset.limit(2)), run_key="twice")
    assert (report.n_samples, report.run.n_repeated, report.score.n) == (5, 2, 3)
    assert compute_quickly(dataset.limit(2), run_key="limited").n_samples == 2
    assert [value is None for value in dataset.values("limited_n_annotators")] == [False, False, True, True, True]
    by_chance = dataset.take(3).match({"filepath": {"$ne": "$sample"}})
    assert compute_quickly(by_chance, run_key="by_chance").n_samples == 3
    two = dataset.select_fields(["alice", "bob"])
    assert compute_quickly(two, ["alice", "bob"], run_key="two").n_rated == 4
    assert dataset.values("two_n_annotators") == [2, 2, 2, 2, 1]
    with pytest.raises(AgreementInputError, match="'carol', which does not exist"):
        compute_quickly(two, run_key="other")
    report = compute_quickly(dataset.skip(4), run_key="unrated")  # completes with reasons
    assert (report.n_samples, report.n_rated, report.pairs) == (1, 0, [])
    assert (report.score.mean, report.alpha.pooled, report.alpha.mean) == (None, None, None)
    assert Counter(report.alpha.undefined) == Counter({"one_annotator": 1})
    report.print_report()


def test_classes_mapped_by_a_view_are_the_ones_compared(make_dataset):
    dataset = make_dataset()
    view = dataset.view()
    for name in ANNOTATORS:
        view = view.map_labels(name, {"cat": "dog"})
    report = compute_quickly(view)
    assert dataset.values("alice.detections.agreement")[1] == ["agreed", "missed"]
    assert dataset.values("alice.detections.label")[1] == ["cat", "dog"]
    assert report.class_given_match.percent_agreement == 1.0


@pytest.mark.parametrize("kind", ["frames", "clips"])
def test_a_view_of_parts_of_videos_is_refused(make_dataset, kind):
    dataset = make_dataset({})
    sample = fo.Sample(filepath="/videos/1.mp4", alice=detections([]), bob=detections([]))
    sample.metadata = fo.VideoMetadata(total_frame_count=3, frame_rate=1, frame_width=10, frame_height=10)
    sample.frames[1] = fo.Frame(filepath="/videos/1-1.jpg")
    dataset.add_sample(sample)
    view = dataset.to_frames() if kind == "frames" else dataset.to_clips([[(1, 2)]])
    with pytest.raises(AgreementInputError, match=f"got a {kind} view of '{dataset.name}'; pass that dataset"):
        compute_quickly(view, ["alice", "bob"])
    assert compute_quickly(dataset, ["alice", "bob"]).n_rated == 1


DRAWN = [
    ([{"$sample": {"size": 3}}], "sample"),
    ([{"$match": {"$expr": {"$lt": [{"$rand": {}}, 0.5]}}}], "rand"),
    ([{"$unionWith": {"coll": "none", "pipeline": [{"$sample": {"size": 3}}]}}], "sample"),
]


def test_views_that_cannot_be_compared_are_refused(make_dataset):
    dataset = make_dataset()
    anew = r"a view with \${}, which draws anew .* dataset.take\(300"
    for view, message in (
        (dataset.to_patches("alice"), f"got a patches view of '{dataset.name}'; pass that dataset"),
        (dataset.match(F("filepath") == "nowhere"), "Agreement needs samples, got an empty view"),
        *((dataset.mongo(stages), anew.format(name)) for stages, name in DRAWN),
    ):
        with pytest.raises(AgreementInputError, match=message):
            compute_quickly(view)
    assert not dataset.list_runs()


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
    report = compute_quickly(grouped, ANNOTATORS)
    assert report.n_samples == 6
    assert _values(grouped, "agreement_n_units") == {"left": [2, 2, 0], "right": [0, 2, 2]}
    assert _values(grouped, "bob.detections.agreement") == {
        "left": [["agreed", "agreed"], ["class_conflict", "missed"], []],
        "right": [[], ["class_conflict", "missed"], ["agreed", "agreed"]],
    }
    assert load_agreement(grouped) == report
    assert len(grouped.load_run_view("agreement")) == 6


@pytest.mark.long
def test_slices_can_be_chosen_and_an_active_one_without_samples_hides_nothing(grouped):
    assert compute_quickly(grouped.select_group_slices("right"), ANNOTATORS).n_samples == 3
    assert _values(grouped, "agreement_n_units") == {"left": [None] * 3, "right": [0, 2, 2]}
    grouped.delete_samples(grouped.select_group_slices("left").values("id"))
    assert (grouped.group_slice, len(grouped)) == ("left", 0)
    assert compute_quickly(grouped, ANNOTATORS, overwrite=True).n_samples == 3


@pytest.mark.long
def test_slices_of_different_media_are_refused_with_those_that_have_the_fields(grouped):
    group = fo.Group()
    grouped.add_sample(fo.Sample(filepath="/images/cloud.pcd", group=group.element("cloud")))
    before = stored(grouped)
    message = r"one media type, got cloud \(point-cloud\), left \(image\), right \(image\) of .*choose slices first"
    with pytest.raises(AgreementInputError, match=message):
        compute_quickly(grouped, ANNOTATORS)
    assert stored(grouped) == before
    assert compute_quickly(grouped.select_group_slices(media_type="image"), ANNOTATORS).n_samples == 6
    sample = fo.Sample(filepath="/videos/top.mp4", group=fo.Group().element("top"))
    sample.frames[1] = fo.Frame(alice=detections([]), bob=detections([]))
    grouped.add_sample(sample)
    with pytest.raises(AgreementInputError, match=r"choose slices first: .*\(media_type='video'\)"):
        compute_quickly(grouped, ["frames.alice", "frames.bob"], run_key="frames")


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
    report = compute_quickly(dataset, [f"frames.{name}" for name in ANNOTATORS])
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
    compute_quickly(images, ANNOTATORS)
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
