"""Runs on views: only what the view shows is compared, and values are written on the labels of the dataset."""

from __future__ import annotations

from collections import Counter

import fiftyone as fo
import pytest
from fiftyone import ViewField as F
from fiftyone.core.odm import get_db_conn

from tests.dataset_io.masked import masked_dataset, random_masks
from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, refused, refused_run
from tests.dataset_io.rated import rated_dataset
from tests.datasets import EXAMPLE, detections, grouped_dataset, random_annotators, stored

from annotator_agreement import dataset_io


def _of_class(dataset, name):
    view = dataset.view()
    for field in ANNOTATORS:
        view = view.filter_labels(field, F("label") == name, only_matches=False)
    return view


def test_a_filtered_view_is_about_the_labels_it_contains_and_none_and_empty_stay_apart(make_dataset):
    dataset = make_dataset()
    view = _of_class(dataset, "dog").map_labels("alice", {"dog": "owl"}).sort_by("filepath", reverse=True)
    assert compute_quickly(view, run_key="mapped").class_given_match.percent_agreement < 1.0
    assert dataset.values("alice.detections.label")[1] == ["cat", "dog"]
    assert compute_quickly(_of_class(dataset, "dog")).n_objects == 7
    assert dataset.values("alice.detections.agreement") == [[None, "agreed"], [None, "missed"], [], ["lone"], [None]]
    assert dataset.values("bob.detections.agreement")[1] == ["lone", "missed"]
    second = dataset.skip(1).first()
    assert second.bob.detections[1].agreement_id == second.alice.detections[1].id
    report = compute_quickly(_of_class(dataset, "nothing"), run_key="nothing")
    assert dataset.values("nothing_n_annotators") == [3, 3, 3, 2, 1]
    assert (report.n_objects, report.n_empty, report.alpha.pooled) == (0, 4, None)
    assert Counter(report.alpha.undefined) == Counter({"no_objects": 4, "one_annotator": 1})


@pytest.mark.long
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
    refused("'carol', which does not exist", compute_quickly, two, run_key="other")
    report = compute_quickly(dataset.skip(4), run_key="unrated")  # completes with reasons
    assert (report.n_samples, report.n_rated, report.pairs) == (1, 0, [])
    assert Counter(report.alpha.undefined) == Counter({"one_annotator": 1})
    report.print_report()


def test_a_view_of_parts_of_videos_is_refused(make_dataset):
    dataset = make_dataset({})
    sample = fo.Sample(filepath="/videos/1.mp4", alice=detections([]), bob=detections([]))
    sample.metadata = fo.VideoMetadata(total_frame_count=3, frame_rate=1, frame_width=10, frame_height=10)
    sample.frames[1] = fo.Frame(filepath="/videos/1-1.jpg")
    dataset.add_sample(sample)
    for kind, view in (("frames", dataset.to_frames()), ("clips", dataset.to_clips([[(1, 2)]]))):
        message = f"got a {kind} view of '{dataset.name}'; pass that dataset"
        refused(message, compute_quickly, view, ["alice", "bob"])
    assert compute_quickly(dataset, ["alice", "bob"]).n_rated == 1


DRAWN = [([{"$match": {"$expr": {"$lt": [{"$rand": {}}, 0.5]}}}], "rand"),
         ([{"$unionWith": {"coll": "none", "pipeline": [{"$sample": {"size": 3}}]}}], "sample")]  # fmt: skip


def test_views_that_cannot_be_compared_are_refused(make_dataset):
    dataset = make_dataset()
    anew = r"a view with \${}, which draws anew .* dataset.take\(300"
    for view, message in (
        (dataset.to_patches("alice"), f"got a patches view of '{dataset.name}'; pass that dataset"),
        (dataset.match(F("filepath") == "nowhere"), "Agreement needs samples, got an empty view"),
        *((dataset.mongo(stages), anew.format(name)) for stages, name in DRAWN),
    ):
        refused(message, compute_quickly, view)
    assert not dataset.list_runs()


#: the slice on the right has the samples of the example in the opposite order
ORDER = {"left": [0, 1, 2], "right": [2, 1, 0]}


@pytest.fixture
def grouped(make_dataset):
    slices = {side: [] for side in ORDER}
    for side, order in ORDER.items():
        for k in order:
            labels = {name: detections(EXAMPLE[name][k]) for name in ANNOTATORS}
            slices[side].append(fo.Sample(f"/images/{side}{k}.jpg", **labels))
    return grouped_dataset(make_dataset, slices)


def _values(dataset, path):
    return {side: dataset.select_group_slices(side).values(path) for side in ORDER}


@pytest.mark.long
def test_all_slices_of_a_grouped_dataset_are_compared_or_chosen_and_one_without_samples_hides_nothing(grouped):
    report = compute_quickly(grouped)
    assert report.n_samples == 6
    assert _values(grouped, "agreement_n_units") == {"left": [2, 2, 0], "right": [0, 2, 2]}
    verdicts = [["agreed", "agreed"], ["class_conflict", "missed"], []]
    assert _values(grouped, "bob.detections.agreement") == {"left": verdicts, "right": verdicts[::-1]}
    assert dataset_io.load_agreement(grouped) == report
    assert len(grouped.load_run_view("agreement")) == 6
    assert compute_quickly(grouped.select_group_slices("right"), run_key="right").n_samples == 3
    assert _values(grouped, "right_n_units") == {"left": [None] * 3, "right": [0, 2, 2]}
    grouped.delete_samples(grouped.select_group_slices("left").values("id"))
    assert (grouped.group_slice, len(grouped)) == ("left", 0)
    assert compute_quickly(grouped, overwrite=True).n_samples == 3


@pytest.mark.long
def test_beside_slices_of_other_media_everything_works_on_the_slices_that_are_chosen(grouped):
    grouped.add_sample(fo.Sample(filepath="/images/cloud.pcd", group=fo.Group().element("cloud")))
    before = stored(grouped)
    message = r"one media type, got cloud \(point-cloud\), left \(image\), right \(image\) of .*choose slices first"
    refused_run(message, grouped)
    images = grouped.select_group_slices(media_type="image")
    assert compute_quickly(images).n_samples == 6
    dataset_io.add_units(images)
    n_units = sum(map(sum, _values(grouped, "agreement_n_units").values()))
    for samples in (images, grouped):
        assert dataset_io.add_units(samples, overwrite=True).n_labels == n_units
        assert dataset_io.resolve_units(samples, quorum=0.1, overwrite=True).n_labels == n_units
        patches = dataset_io.agreement_patches(samples)
        assert len(patches) == sum(images.values("agreement_n_disputed"))
        assert set(patches.values("sample_id")) <= set(images.values("id"))
        assert dataset_io.configure_agreement_app(samples, sidebar=True).sidebar
    dataset_io.delete_agreement(grouped)
    assert stored(grouped) == before
    sample = fo.Sample(filepath="/videos/top.mp4", group=fo.Group().element("top"))
    sample.frames[1] = fo.Frame(alice=detections([]), bob=detections([]))
    grouped.add_sample(sample)
    message = r"choose slices first: .*\(media_type='video'\)"
    refused(message, compute_quickly, grouped, ["frames.alice", "frames.bob"], run_key="frames")


USUAL = ["agreement: lowest score", "agreement: class conflicts", "agreement: missed", "agreement: lone"]


def _everything(dataset):
    views = list(get_db_conn().views.find({"_dataset_id": dataset._doc.id}))
    return stored(dataset), sorted((view["name"], view.get("description") or "", view["view_stages"]) for view in views)


def _made_with_a_run(make_dataset):
    dataset = make_dataset(random_annotators(25))
    dataset.save_view("mine", dataset.limit(3), description="of my own")
    compute_quickly(dataset)
    return dataset


@pytest.fixture
def computed(lend):
    """A dataset with a view of the user and a run."""
    return lend(_made_with_a_run)


@pytest.mark.long
def test_the_usual_views_show_as_many_labels_as_the_report_counts(computed):
    dataset, report = computed, dataset_io.load_agreement(computed)
    assert dataset_io.save_agreement_views(dataset) == USUAL
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
        assert dataset_io.save_agreement_views(dataset) == expected
    assert len(classes.load_saved_view("agreement: class conflicts")) == 1


@pytest.mark.long
def test_deleting_the_run_removes_its_views_and_no_others_also_what_fiftyone_leaves_behind(computed):
    dataset = computed
    dataset_io.save_agreement_views(dataset)
    with_views = _everything(dataset)
    compute_quickly(dataset, ["alice", "bob"], run_key="other")
    dataset_io.save_agreement_views(dataset, "other")
    dataset_io.save_agreement_views(dataset, "other")  # replaces the first
    assert len(dataset.list_saved_views()) == 9
    dataset.delete_run("other")
    # a process that died after it wrote a view, before the dataset came to know of it
    orphan = get_db_conn().views.find_one({"_dataset_id": dataset._doc.id, "name": "other: lone"})
    get_db_conn().datasets.update_one({"_id": dataset._doc.id}, {"$pull": {"saved_views": orphan["_id"]}})
    dataset._doc.reload("saved_views")
    dataset_io.delete_agreement(dataset, "other")
    assert _everything(dataset) == with_views
    assert dataset.list_saved_views() == ["mine", *USUAL]


@pytest.mark.long
def test_a_view_of_the_user_is_never_touched(computed):
    computed.save_view("Agreement - MISSED", computed.limit(1))
    before = _everything(computed)
    message = "must have new names, got 'Agreement - MISSED', which the run 'agreement' did not"
    refused(message, dataset_io.save_agreement_views, computed)
    assert _everything(computed) == before
    dataset_io.delete_agreement(computed)
    assert len(computed.load_saved_view("Agreement - MISSED")) == 1


def test_a_view_whose_mark_the_user_removes_or_of_the_new_name_is_the_users(computed):
    dataset_io.save_agreement_views(computed)
    computed.save_view("renamed: lone", computed.limit(1))
    before = _everything(computed)
    message = "got 'renamed: lone', which the run 'agreement' did not save"
    refused(message, dataset_io.rename_agreement, computed, "agreement", "renamed")
    assert _everything(computed) == before
    computed.update_saved_view_info("agreement: lone", {"description": "I keep this"})
    refused("'agreement: lone', which the run 'agreement' did not save", dataset_io.save_agreement_views, computed)
    dataset_io.delete_agreement(computed)
    assert set(computed.list_saved_views()) == {"mine", "agreement: lone", "renamed: lone"}


@pytest.mark.long
def test_a_view_that_the_user_renamed_or_deleted_is_made_again_and_renamed_with_the_run(make_dataset):
    dataset = make_dataset(random_annotators(25))
    before = _everything(dataset)
    report = compute_quickly(dataset)
    dataset_io.save_agreement_views(dataset)
    dataset.update_saved_view_info("agreement: lone", {"name": "alone"})
    dataset.delete_saved_view("agreement: missed")
    assert dataset_io.save_agreement_views(dataset) == USUAL
    assert set(dataset.list_saved_views()) == {"alone", *USUAL}
    dataset.delete_saved_view("agreement: missed")
    dataset_io.rename_agreement(dataset, "agreement", "renamed")
    names = {name.replace("agreement", "renamed") for name in USUAL if "missed" not in name}
    assert set(dataset.list_saved_views()) == {"alone", *names}
    for name in ("renamed: lone", "alone"):
        view = dataset.load_saved_view(name)
        assert view.count("alice.detections") == report.annotators[0].verdicts["lone"]
    dataset_io.rename_agreement(dataset, "renamed", "re_named")
    dataset_io.rename_agreement(
        dataset, "re_named", "re__named"
    )  # names that FiftyOne takes for equal, but they are its own
    dataset_io.rename_agreement(dataset, "re__named", "renamed")
    dataset_io.delete_agreement(dataset, "renamed")
    assert _everything(dataset) == before
