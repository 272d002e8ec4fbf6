"""What people made from a run, and with a clone or by hand, is kept by updates, deletions and undo."""

from __future__ import annotations

import logging
from pathlib import Path

import fiftyone as fo
import numpy as np
import pytest

from tests.dataset_io.masked import masked_dataset
from tests.dataset_io.quick_runs import ANNOTATORS, refused
from tests.datasets import random_annotators

import annotator_agreement as aa
from annotator_agreement.dataset_io.jobs import compute
from annotator_agreement.dataset_io.record import Run


def test_what_was_made_of_a_run_stays_where_all_samples_are_compared_again(make_dataset, monkeypatch, caplog):
    dataset = make_dataset(random_annotators(6, seed=5))
    dataset.set_values("metadata", [fo.ImageMetadata(width=640, height=480)] * 6)  # masks need it
    run = aa.compute(dataset, ANNOTATORS, resamples=0)
    run.objects.consensus()
    run.save_views()
    edited = dataset.last()
    edited["agreement_consensus"] = fo.Detections(detections=[fo.Detection(label="mine", bounding_box=[0, 0, 1, 1])])
    edited.save()
    views, before, n_labels = dataset.list_saved_views(), run.report, dataset.count("agreement_consensus.detections")

    Run(dataset, "agreement").update(versions={"fiftyone": "0.1"})

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(compute, "settle", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run.update()
    assert aa.load(dataset).report == before

    sample = dataset.match(fo.ViewField("bob.detections").length() > 0).first()
    sample["bob"].detections[0].mask = np.ones((5, 5), np.bool_)
    sample.save()
    with caplog.at_level(logging.WARNING):
        updated = aa.load(dataset).update().report
    assert "are compared again: another version computed the run" in caplog.text
    assert (dataset.list_saved_views(), dataset.count("agreement_consensus.detections")) == (views, n_labels)
    assert dataset.last()["agreement_consensus"].detections[0].label == "mine"
    assert aa.load(dataset).compare().a == "agreement, before"
    other = aa.compute(dataset, ANNOTATORS, run_key="new", resamples=0).report
    of_run = dict.fromkeys(("run", "run_key", "config"))
    assert updated.to_dict() | of_run == other.to_dict() | of_run
    assert Run(dataset, "agreement").config["versions"] == Run(dataset, "new").config["versions"]
    aa.load(dataset).delete()
    assert not dataset.has_field("agreement_consensus")


def test_runs_of_a_dataset_and_its_clone_leave_the_heatmaps_of_the_other_one(make_dataset, tmp_path):
    masks = np.zeros((3, 8, 8), np.uint8)
    masks[1, :2], masks[2, :5] = 1, 1
    dataset = masked_dataset(make_dataset, {"a": [masks[1]] * 2, "b": [masks[2]] * 2})
    run = aa.compute(dataset, ["a", "b"], disagreement_map=True, map_folder=str(tmp_path), resamples=0)
    clone = dataset.clone()
    try:

        def pictures(of):
            of.reload()
            return [Path(path).read_bytes() for path in of.values("agreement_map.map_path")]

        before = pictures(clone)
        sample = dataset.first()
        sample["b"].mask = masks[0]
        sample.save()
        run.update()
        updated = pictures(dataset)
        assert (pictures(clone), updated[0] != before[0], updated[1]) == (before, True, before[1])
        aa.load(clone).delete()
        assert pictures(dataset) == updated
        assert aa.load(dataset).on(dataset.limit(1)).report.n_samples == 1
        clone.delete()
        aa.load(dataset).delete()
        assert list(tmp_path.iterdir()) == []
    finally:
        if not clone.deleted:
            clone.delete()


@pytest.mark.long
def test_undo_leaves_a_decision_whose_label_somebody_edited(make_dataset):
    dataset = make_dataset(random_annotators(4, seed=5))
    decisions = aa.compute(dataset, ANNOTATORS, resamples=0).decisions
    made = decisions.decide("version", annotator="bob", all=True)
    sample = dataset.match(fo.ViewField("agreement_gold.detections").length() > 1).first()
    sample["agreement_gold"].detections[0].label = "edited"
    sample.save()
    assert decisions.undo() == made.n_decided - 1
    assert dataset.values("agreement_gold.detections.label", unwind=True) == ["edited"]
    refused(r"somebody edited since: .*delete these labels, or record them", decisions.undo)
    decisions.record_own()
    assert decisions.undo() == 1  # the record
    sample.reload()
    assert [label.label for label in sample["agreement_gold"].detections] == ["edited"]
    sample["agreement_gold"].detections = []
    sample.save()
    assert decisions.undo() == 1
    assert len(decisions.list()) == 0


@pytest.mark.long
def test_who_was_asked_must_still_be_known(make_dataset):
    dataset = make_dataset(random_annotators(4, seed=5))
    dataset.set_values("raters", [list(ANNOTATORS)] * 4)
    run = aa.compute(dataset, ANNOTATORS, assigned_field="raters", resamples=0)
    before = dataset.values("agreement_n_annotators")
    dataset.rename_sample_field("raters", "who")
    sample = dataset.first()
    sample["bob"] = None
    sample.save()
    for call in (run.update, lambda: run.decisions.decide("consensus", all=True)):
        refused(r"got no `raters`; if it was renamed, rename it back", call)
    assert dataset.values("agreement_n_annotators") == before
    assert run.report == aa.load(dataset).report
    dataset.rename_sample_field("who", "raters")
    run.update()
