"""Grouped datasets: the samples of all slices are compared, each with its own labels."""

from __future__ import annotations

import fiftyone as fo
import pytest

from tests.datasets import EXAMPLE, detections, stored

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
def test_groups_made_by_a_field_are_refused(make_dataset):
    dataset = make_dataset()
    with pytest.raises(AgreementInputError, match=r"got a view of .* grouped by a field; pass the view that it was"):
        compute_agreement(dataset.group_by("filepath"), ANNOTATORS)


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
