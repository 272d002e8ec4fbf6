"""A process killed at any moment leaves a dataset that opens, unchanged labels, and nothing that delete misses."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections import Counter

import fiftyone as fo
import pytest

from tests.dataset_io.annotation_samples import coco, written
from tests.dataset_io.app_state import EVERYTHING
from tests.dataset_io.masked import masked_dataset, random_masks
from tests.dataset_io.quick_runs import ANNOTATORS, LISTS, QUICKLY, compute_quickly
from tests.dataset_io.test_decide import all_units, gold_of
from tests.dataset_io.unit_oracle import documents_of, units_in, units_of
from tests.datasets import Kept, random_annotators, random_videos, stored, user_values
from tools.dev.private_fiftyone import ROOT

from annotator_agreement.dataset_io import (
    add_units,
    apply_decisions,
    configure_agreement_app,
    decide,
    delete_agreement,
    delete_decisions,
    import_annotations,
    list_agreements,
    list_decisions,
    load_agreement,
    save_agreement_views,
    undo_applied,
)
from annotator_agreement.dataset_io.record import fields_marked, run, writing
from annotator_agreement.dataset_io.units import units_field

pytestmark = pytest.mark.long


def _check_and_delete(dataset, values, before, keys):
    """Every user value is as it was, and deleting leaves the database as it was."""
    assert len(dataset) == sum("filepath" in document for document in values)
    dataset.first()
    assert user_values(dataset, ["agreement", "renamed"]) == values
    for key in keys:
        if key in list_agreements(dataset) or fields_marked(dataset, key) or run.Run(dataset, key).documents():
            delete_agreement(dataset, key)
    with writing(dataset):  # the next writer takes the lease over, of a process that died before it gave it back
        pass
    assert stored(dataset) == before


def kill_everywhere(killable, dataset, prepare, function, *arguments, keys=("agreement",), first=1, step=1, **options):
    """Kill a call before a first write, a later one, and so on, until it survives; the number of writes.

    What was prepared once is put back before every call, and the check deletes it, too.
    """
    before, values = stored(dataset), user_values(dataset, [])
    if prepare is not None:
        prepare(dataset)
    prepared = Kept(dataset)
    for n in itertools.count(first, step):
        prepared.put_back()
        killed = killable(dataset, function, *arguments, kill_before=n, **options)
        dataset.reload()
        if killed and function == "compute_agreement" and not options.get("overwrite"):
            for key in list_agreements(dataset):
                status = run.Run(dataset, key).config["status"]
                n_frames = sum("frame_number" in document for document in values)
                assert status == "running" or load_agreement(dataset, key).n_samples == (n_frames or len(values))
        _check_and_delete(dataset, values, before, keys)
        if not killed:
            return n
    raise AssertionError


def _set_up(dataset):
    compute_quickly(dataset)
    configure_agreement_app(dataset, **EVERYTHING)
    save_agreement_views(dataset)


RENAME = ("rename_agreement", "agreement", "renamed")
FRAMES = [f"frames.{name}" for name in ANNOTATORS]
#: what is killed of a run on boxes, or on frames: what was there, the call, its options, which writes are tried (first,
#: step), the least number of them
LIFE = {
    "a run": (None, ("compute_agreement", ANNOTATORS), QUICKLY, (1, 1), 10),  # register, declare, batches, results
    "overwriting": (lambda dataset: compute_quickly(dataset, ["alice", "bob"]), ("compute_agreement", ANNOTATORS),
                    {**QUICKLY, "overwrite": True}, (1, 7), 12),
    # the record, the groups, seven indexes, the colours
    "settings": (compute_quickly, ("configure_agreement_app",), EVERYTHING, (1, 6), 10),
    "views": (compute_quickly, ("save_agreement_views",), {}, (2, 3), 8),  # four views, and the dataset for each
    "renaming": (_set_up, RENAME, {}, (2, 11), 30),
    "deleting": (_set_up, ("delete_agreement", "agreement"), {}, (1, 6), 15),
    "a run on frames": (None, ("compute_agreement", FRAMES), QUICKLY, (1, 5), 7),
    "renaming one on frames": (lambda videos: compute_quickly(videos, FRAMES), RENAME, {}, (1, 5), 7),
}  # fmt: skip


@pytest.mark.parametrize("what", LIFE)
def test_a_run_killed_before_some_writes_of_its_life(killable, make_dataset, make_videos, what):
    prepare, call, options, (first, step), least = LIFE[what]  # two batches
    on_frames = "frames" in what
    dataset = make_videos(random_videos([3, 3], seed=5)) if on_frames else make_dataset(random_annotators(6, seed=5))
    keys = ("agreement", "renamed")
    assert kill_everywhere(killable, dataset, prepare, *call, keys=keys, first=first, step=step, **options) > least


@pytest.mark.parametrize("what", ["a run", "a run with maps in files", "deleting"])
def test_a_run_on_masks_killed_before_some_of_its_writes_leaves_no_files(killable, make_dataset, tmp_path, what):
    dataset = masked_dataset(make_dataset, random_masks(5, gaps=False))
    folder = tmp_path / "maps"
    folder.mkdir()
    (folder / f"{'a' * 24}-{'b' * 24}.png").write_text("mine")  # named nearly like a map
    where = {"disagreement_map": True} if what == "a run" else {"map_folder": str(folder)}
    if what == "deleting":  # the files are gone after the first time, which hinders no other one
        prepare, call, where = lambda dataset: compute_quickly(dataset, **where), ("delete_agreement", "agreement"), {}
    else:
        prepare, call = None, ("compute_agreement", ANNOTATORS)
    least = 4 if what == "deleting" else 10
    assert kill_everywhere(killable, dataset, prepare, *call, first=2, step=5, **where) > least
    assert [path.read_text() for path in folder.iterdir()] == ["mine"]


def test_making_units_killed_before_every_third_of_its_writes(killable, make_dataset):
    dataset = make_dataset(random_annotators(6, seed=5))
    before, values = stored(dataset), user_values(dataset, [])
    compute_quickly(dataset)
    computed = Kept(dataset)
    for n in itertools.count(1, 3):
        computed.put_back()
        killed = killable(dataset, "add_units", kill_before=n)
        dataset.reload()
        assert (list_agreements(dataset), load_agreement(dataset).n_samples) == (["agreement"], 6)
        assert user_values(dataset, ["agreement"]) == values
        if n % 2:  # what a dead process began is made anew, or deleted
            record = units_field.derived_record(run.Run(dataset, "agreement"), "_units") or {}
            add_units(dataset, overwrite=record.get("status") == "completed")
            for document in documents_of(dataset):
                assert units_in(document).keys() == units_of(document, LISTS).keys()
        delete_agreement(dataset)
        assert stored(dataset) == before
        if not killed:
            break
    assert n > 6  # the record, the field, two batches, the record


def test_an_import_killed_before_any_of_its_writes_leaves_old_or_new_labels(killable, make_dataset, tmp_path):
    dataset = make_dataset({"ann": [[("dog", (0.5, 0.5, 0.1, 0.1))], [("dog", (0.5, 0.5, 0.2, 0.2))]]})
    dataset.set_values("ann.detections.sure", [[True], [True]], dynamic=True)
    box = {"image_id": 0, "bbox": [4, 5, 10, 10], "rater_id": "ann", "attributes": {"depth": 2}}
    path = written(tmp_path / "c.json", coco([{"file_name": "0.jpg", "rater_list": ["ann"]}], [box]))
    options = {"overwrite": True, "remove_others": True, "label_types": "polylines"}
    old, fields = Kept(dataset), set(dataset.get_field_schema())
    for n in itertools.count(2, 3):
        old.put_back()
        killed = killable(dataset, "import_annotations", str(path), kill_before=n, **options)
        dataset.reload()
        found = [list(map(type, value[value._LABEL_LIST_FIELD])) if value else None for value in dataset.values("ann")]
        assert found in ([[fo.Detection]] * 2, [[fo.Polyline], None]), n
        import_annotations(dataset, path, annotators={"ann": "eve"})  # of whomever: then all samples can be read
        assert [bool(sample.ann) for sample in dataset] == [value is not None for value in found]
        import_annotations(dataset, path, **options)
        assert set(dataset.get_field_schema()) == {*fields, "eve"}
        assert dataset.get_field("ann").document_type is fo.Polylines
        assert dataset.get_field("ann.polylines.depth") is not None
        assert [value and len(value.polylines) for value in dataset.values("ann")] == [1, None]
        if not killed:
            break
    assert n > 8


def kept_whole(dataset):
    """Every decision has its label, every label its decision, and no object has two."""
    labels, decisions = gold_of(dataset)
    assert set(labels) == {unit for unit, decision in decisions.items() if decision["gold_id"] is not None}
    keys = Counter(key for decision in decisions.values() for key in decision["labels"])
    assert set(keys.values()) <= {1}
    return len(decisions)


def test_deciding_and_applying_that_are_killed_leave_whole_decisions_and_samples(killable, make_dataset):
    dataset = make_dataset(random_annotators(9, seed=5))
    compute_quickly(dataset)
    before, counts = stored(dataset), []
    for n in itertools.count(1):
        killed = killable(dataset, "decide", "agreement", "none", all=True, kill_before=n)
        dataset.reload()
        counts.append(kept_whole(dataset))
        if dataset.get_field("agreement_gold_decisions") is not None:
            assert counts[-1] == len(all_units(dataset)) or killed
            delete_decisions(dataset)
            assert stored(dataset)["samples"] == before["samples"]
        if not killed:
            break
    assert len(set(counts)) > 3  # three batches
    decided(dataset)
    before, counts = stored(dataset)["samples"], []
    for n in itertools.count(1):
        killed = killable(dataset, "apply_decisions", kill_before=n)
        decisions = list_decisions(dataset)
        counts.append(sum(each.applied for each in decisions))
        assert not any(each.changed for each in decisions)
        if not killed:
            break
        assert undo_applied(dataset).n_objects == counts[-1]
        assert stored(dataset)["samples"] == before
    assert counts[0] == 0 < counts[-1]
    after = stored(dataset)["samples"]
    assert killable(dataset, "undo_applied", kill_before=1)
    assert stored(dataset)["samples"] == after
    assert undo_applied(dataset).n_objects == counts[-1]
    assert stored(dataset)["samples"] == before


def decided(dataset):
    """The dataset with decisions to apply."""
    decide(dataset, min_votes=2)
    decide(dataset, choice="none", verdict="lone")
    return dataset


_BOTH = """
import os, sys
sys.path.insert(0, sys.argv[1])
import fiftyone as fo
from tools.dev.plugin import load_plugin
load_plugin()
from annotator_agreement import dataset_io
child = os.fork()
name = "noa" if child else "mia"
read = sys.modules["annotator_agreement.dataset_io.run.read"]
read.BATCH_SAMPLES = 3
applied = dataset_io.apply_decisions(fo.load_dataset(sys.argv[3]), by=name).n_applied
dataset = fo.load_dataset(sys.argv[2])
n = 0
for verdict in ("agreed", "class_conflict", "missed", "lone"):
    n += dataset_io.decide(dataset, choice="none", verdict=verdict, by=name).n_decided
    n -= dataset_io.undo_decisions(dataset, by=name) if verdict == "missed" else 0
os.write(1, f"{name} {n} {applied}\\n".encode())
sys.exit(os.waitpid(child, 0)[1] if child else 0)
"""


def test_two_processes_neither_lose_nor_double_a_decision_and_apply_each_once(make_dataset):
    dataset, other = (make_dataset(random_annotators(12, seed=6)) for _ in range(2))
    report, _ = compute_quickly(dataset), compute_quickly(other)
    decided(other)
    # a unit of one label; whoever has decided nothing as missed takes back an earlier step, but none of these
    n_lone = sum(annotator.verdicts["lone"] for annotator in report.annotators)
    before, preview = stored(other)["samples"], apply_decisions(other, preview=True)
    command = [sys.executable, "-c", _BOTH, str(ROOT), dataset.name, other.name]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    counts = dict(zip(output[::3], map(int, output[1::3]), strict=True))
    assert set(counts) == {"mia", "noa"}
    dataset.reload()
    assert kept_whole(dataset) >= n_lone > 5
    _, decisions = gold_of(dataset)
    assert Counter(decision["decided_by"] for decision in decisions.values()) == +Counter(counts)
    assert sum(map(int, output[2::3])) == preview.n_applied == sum(each.applied for each in list_decisions(other))
    while undo_applied(other).step is not None:
        pass
    assert stored(other)["samples"] == before
