"""How many samples were changed since a run: all that somebody changed, and nothing that we wrote."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import fiftyone as fo
import pytest

from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly
from tests.datasets import detections, grouped_dataset, random_annotators

from annotator_agreement import dataset_io
from annotator_agreement.dataset_io import add_units, changed_since, configure_agreement_app, delete_agreement
from annotator_agreement.dataset_io.record import Run

BOXES = [("cat", (0.1, 0.1, 0.2, 0.4)), ("dog", (0.5, 0.5, 0.3, 0.2))]


@pytest.fixture
def dataset(make_dataset):
    return make_dataset(random_annotators(12, seed=3))


def _edit(dataset, *positions):
    ids = dataset.values("id")
    dataset.set_values("alice", {ids[position]: detections(BOXES) for position in positions}, key_field="id")


def _earlier(dataset):
    """Let the dataset be as if everything so far had happened a minute before."""
    before = {"$dateSubtract": {"startDate": "$last_modified_at", "unit": "second", "amount": 60}}
    dataset._sample_collection.update_many({}, [{"$set": {"last_modified_at": before}}])


def _set_stamp(dataset, position, stamp):
    one = {"_id": dataset.values("_id")[position]}
    dataset._sample_collection.update_one(one, {"$set": {"last_modified_at": stamp}})


@pytest.mark.long
def test_edited_added_and_deleted_samples_are_counted_once(dataset):
    for is_new in (True, False):
        if not is_new:
            _earlier(dataset)
        compute_quickly(dataset, overwrite=True)
        assert changed_since(dataset) == 0
        _edit(dataset, 0, 2)
        _edit(dataset, 2)
        assert changed_since(dataset) == 2
        dataset.add_sample(fo.Sample(f"/images/new-{is_new}.jpg", alice=detections(BOXES)))
        assert changed_since(dataset) == 3
        dataset.delete_samples(dataset.values("id")[3:5])
        assert changed_since(dataset) == 5
        dataset.delete_samples(dataset.values("id")[:1])
        assert changed_since(dataset) == 5, "an edited one"


@pytest.mark.long
def test_nothing_that_we_write_counts_and_it_hides_no_change(dataset):
    _earlier(dataset)
    compute_quickly(dataset)
    late = datetime.now(timezone.utc) - timedelta(seconds=5)
    _edit(dataset, 2)
    compute_quickly(dataset, run_key="second")
    assert (changed_since(dataset), changed_since(dataset, "second")) == (1, 0)
    _set_stamp(dataset, 5, late)  # edited by a machine whose clock is slow
    for write in (
        lambda: add_units(dataset),
        lambda: configure_agreement_app(dataset, sidebar=True),
        lambda: configure_agreement_app(dataset),
        lambda: delete_agreement(dataset, "second"),
        lambda: dataset_io.rename_agreement(dataset, "agreement", "other"),
    ):
        write()
        assert changed_since(dataset, "agreement" if Run(dataset, "agreement").exists else "other") == 2
    assert dataset_io.load_agreement(dataset, "other").samples.n_changed() == 2


def test_edits_during_a_run_after_their_sample_was_written_count(dataset, before_each_write, monkeypatch):
    from annotator_agreement.dataset_io.run import read

    monkeypatch.setattr(read, "BATCH_SAMPLES", 4)
    done = []

    def edit_earlier(batch):
        # samples of this batch are read already: they are read again; those of the first are written
        if len(done) == 2:
            _edit(dataset, 0, 11)
        done.append(batch)

    before_each_write(edit_earlier)
    compute_quickly(dataset)
    assert dataset.first().agreement_n_annotators is not None
    assert 1 <= changed_since(dataset) <= 2
    _edit(dataset, 0, 11)
    assert changed_since(dataset) == 2


def test_of_a_view_those_count_that_were_compared_or_are_in_it_now(dataset):
    dataset.set_values("tags", [["ready"]] * 6 + [[]] * 6)
    view = dataset.match_tags("ready")
    compute_quickly(view)
    assert changed_since(dataset) == 0
    _edit(dataset, 8)
    assert changed_since(dataset) == 0, "it is not in the view"
    _edit(dataset, 1)
    assert changed_since(dataset) == 1
    ids = dataset.values("id")
    dataset.set_values("tags", {ids[8]: ["ready"], ids[0]: []}, key_field="id")
    assert changed_since(dataset) == 3, "one came in, and one left"
    dataset.delete_samples(dataset.values("id")[9:])
    assert changed_since(dataset) == 3
    dataset.delete_samples(dataset.values("id")[2:4])
    assert changed_since(dataset) == 5


def test_of_runs_on_frames_the_videos_count(make_videos):
    one = [("a", (0.1, 0.1, 0.2, 0.2))]
    dataset = make_videos([{name: [detections(one)] * 3 for name in ANNOTATORS}] * 4)
    compute_quickly(dataset, [f"frames.{name}" for name in ANNOTATORS])
    assert changed_since(dataset) == 0
    for number in (1, 3):
        sample = dataset.first()
        sample.frames[number]["bob"] = detections([])
        sample.save()
    assert changed_since(dataset) == 1
    assert dataset_io.load_agreement(dataset).samples.n_changed() == 1
    dataset.delete_frames(dataset[dataset.values("id")[1]].frames[2].id)
    assert changed_since(dataset) == 2
    dataset.delete_samples(dataset.values("id")[-1:])
    assert changed_since(dataset) == 3


def test_all_slices_of_groups_count(make_dataset):
    slices = {side: [fo.Sample(f"/images/{side}{k}.jpg", **{name: detections(BOXES) for name in ANNOTATORS})
                     for k in range(4)] for side in ("left", "right")}  # fmt: skip
    dataset = grouped_dataset(make_dataset, slices)
    compute_quickly(dataset)
    assert changed_since(dataset) == 0
    right = next(iter(dataset.select_group_slices("right")))
    right["alice"] = None
    right.save()
    assert changed_since(dataset) == 1


def test_samples_imported_just_before_a_run_are_told_from_those_edited_at_the_same_time(dataset):
    dataset._sample_collection.update_many({}, [{"$set": {"last_modified_at": "$$NOW"}}])  # copies have old stamps
    compute_quickly(dataset)
    stamp = dataset.values("last_modified_at")[3]
    # an edit within the ten seconds by which clocks may differ, on a sample that the run read with a later stamp
    for earlier, n in ((1, 1), (0, 0)):
        _set_stamp(dataset, 3, stamp - timedelta(milliseconds=earlier))
        assert changed_since(dataset) == n


def test_the_printed_report_says_it_when_it_is_printed_and_of_clones_it_is_not_known(dataset, capsys):
    report = compute_quickly(dataset)
    clone = dataset.clone()
    assert changed_since(clone) is None
    assert dataset_io.load_agreement(clone).samples.n_changed() is None
    clone.delete()
    report.print_report()
    assert "since this run" not in capsys.readouterr().out
    _edit(dataset, 1)
    for shown in (report, dataset_io.load_agreement(dataset)):
        shown.print_report()
        assert "\n1 sample saved or deleted since this run" in capsys.readouterr().out
    delete_agreement(dataset)
    report.print_report()
    assert "since this run" not in capsys.readouterr().out


def test_an_edit_in_a_form_of_the_app_that_was_open_during_a_run_is_saved_and_counts(dataset):
    routes = pytest.importorskip("fiftyone.server.routes.sample")
    if not hasattr(routes, "save_sample"):
        pytest.skip("the App of this FiftyOne cannot edit samples")
    sample_id, identity = dataset.first().id, str(dataset._doc.id)
    opened = dataset[sample_id].last_modified_at  # what the App sends with the edit: the state that it shows
    compute_quickly(dataset)
    n_annotators = dataset.values("agreement_n_annotators")[0]
    sample = routes.get_sample(identity, sample_id, opened)
    sample.alice.detections[0].label = "edited"
    routes.save_sample(sample, opened)
    dataset.reload()
    stored = dataset._sample_collection.find_one({"_id": sample._id})
    assert stored["alice"]["detections"][0]["label"] == "edited"
    assert stored["agreement_n_annotators"] == n_annotators
    assert changed_since(dataset) == 1
