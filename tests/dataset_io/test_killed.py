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
from tests.dataset_io.quick_runs import QUICKLY, compute_quickly
from tests.dataset_io.test_decide import all_units, gold_of
from tests.datasets import detections, random_annotators, stored, user_values
from tools.dev.private_fiftyone import ROOT

from annotator_agreement.dataset_io import (
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

pytestmark = pytest.mark.long

ANNOTATORS = ["alice", "bob", "carol"]


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
    """Kill a call before a first write, a later one, and so on, until it survives."""
    before, values = stored(dataset), user_values(dataset, [])
    for n in itertools.count(first, step):
        prepare()
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


def _nothing():
    pass


@pytest.fixture
def dataset(make_dataset):
    return make_dataset(random_annotators(9, seed=5))


def test_a_run_killed_before_any_of_its_writes(killable, dataset):
    n = kill_everywhere(killable, dataset, _nothing, "compute_agreement", ANNOTATORS, **QUICKLY)
    assert n > 10  # register, declare, three batches, results, status


def test_an_overwriting_run_killed_before_every_third_of_its_writes(killable, dataset):
    def prepare():
        compute_quickly(dataset, ["alice", "bob"])

    assert (
        kill_everywhere(killable, dataset, prepare, "compute_agreement", ANNOTATORS, **QUICKLY, step=3, overwrite=True)
        > 12
    )


#: what to kill of a run that has views and settings of the App: the call, its arguments, the least number of writes,
#: and which of them are tried
LIFE = {
    "settings": (
        "configure_agreement_app",
        (),
        EVERYTHING,
        10,
        3,
    ),  # the record, the groups, seven indexes, the colours
    "views": ("save_agreement_views", (), {}, 8, 2),  # four views, and the dataset for each
    "rename": ("rename_agreement", ("agreement", "renamed"), {}, 30, 7),
    "delete": ("delete_agreement", ("agreement",), {}, 15, 3),
}


@pytest.mark.parametrize("what", LIFE)
def test_what_happens_to_a_run_killed_before_some_of_its_writes(killable, dataset, what):
    function, arguments, options, least, step = LIFE[what]

    def prepare():
        compute_quickly(dataset, ANNOTATORS)
        if what in ("rename", "delete"):
            configure_agreement_app(dataset, **EVERYTHING)
            save_agreement_views(dataset)

    keys = ("agreement", "renamed")
    assert kill_everywhere(killable, dataset, prepare, function, *arguments, keys=keys, step=step, **options) > least


@pytest.fixture
def videos(make_videos):
    labels = random_annotators(5, seed=5)
    return make_videos([{name: [detections(entry) for entry in labels[name]] for name in ANNOTATORS}] * 2)


FRAME_FIELDS = [f"frames.{name}" for name in ANNOTATORS]


def test_a_run_on_frames_killed_before_every_second_of_its_writes(killable, videos):
    n = kill_everywhere(killable, videos, _nothing, "compute_agreement", FRAME_FIELDS, step=2, **QUICKLY)
    assert n > 11  # register, declare, three batches, the videos, results, status


def test_a_renaming_of_frame_fields_killed_before_every_second_of_its_writes(killable, videos):
    def prepare():
        compute_quickly(videos, FRAME_FIELDS)

    keys = ("agreement", "renamed")
    n = kill_everywhere(killable, videos, prepare, "rename_agreement", "agreement", "renamed", keys=keys, step=2)
    assert n > 7


def test_an_import_killed_before_any_of_its_writes_leaves_old_or_new_labels(killable, make_dataset, tmp_path):
    old = make_dataset({"ann": [[("dog", (0.5, 0.5, 0.1, 0.1))], [("dog", (0.5, 0.5, 0.2, 0.2))]]})
    old.set_values("ann.detections.sure", [[True], [True]], dynamic=True)
    box = {"image_id": 0, "bbox": [4, 5, 10, 10], "rater_id": "ann", "attributes": {"depth": 2}}
    path = written(tmp_path / "c.json", coco([{"file_name": "0.jpg", "rater_list": ["ann"]}], [box]))
    options = {"overwrite": True, "remove_others": True, "label_types": "polylines"}
    for n in itertools.count(2, 2):
        dataset = old.clone(persistent=True)
        killed = killable(dataset, "import_annotations", str(path), kill_before=n, **options)
        reopened = fo.load_dataset(dataset.name)
        reopened.reload()
        found = [list(map(type, value[value._LABEL_LIST_FIELD])) if value else None for value in reopened.values("ann")]
        assert found in ([[fo.Detection]] * 2, [[fo.Polyline], None]), n
        import_annotations(reopened, path, annotators={"ann": "eve"})  # of whomever: then all samples can be read
        assert [bool(sample.ann) for sample in reopened] == [value is not None for value in found]
        import_annotations(reopened, path, **options)
        assert set(reopened.get_field_schema()) == {*old.get_field_schema(), "eve"}
        assert reopened.get_field("ann").document_type is fo.Polylines
        assert reopened.get_field("ann.polylines.depth") is not None
        assert [value and len(value.polylines) for value in reopened.values("ann")] == [1, None]
        dataset.delete()
        if not killed:
            break
    assert n > 8


# ---- deciding and applying, killed before any write or by two processes at once: decisions and samples stay whole ----


def kept_whole(dataset):
    """Every decision has its label, every label its decision, and no object has two."""
    labels, decisions = gold_of(dataset)
    assert set(labels) == {unit for unit, decision in decisions.items() if decision["gold_id"] is not None}
    keys = Counter(key for decision in decisions.values() for key in decision["labels"])
    assert set(keys.values()) <= {1}
    return len(decisions)


def test_a_process_killed_before_any_of_its_writes_leaves_whole_decisions(killable, make_dataset):
    dataset = make_dataset(random_annotators(9, seed=5))
    compute_quickly(dataset)
    before, counts = stored(dataset), []
    for n in itertools.count(1):
        killed = killable(dataset, "decide", "agreement", "none", all=True, kill_before=n)
        dataset.reload()
        counts.append(kept_whole(dataset))
        if not killed:
            break
        if dataset.get_field("agreement_gold_decisions") is not None:
            delete_decisions(dataset)
            assert stored(dataset)["samples"] == before["samples"]
    assert len(set(counts)) > 3  # three batches
    assert counts[-1] == len(all_units(dataset))


def decided(dataset):
    """The dataset with decisions to apply."""
    compute_quickly(dataset)
    decide(dataset, min_votes=2)
    decide(dataset, choice="none", verdict="lone")
    return dataset


def test_applying_decisions_killed_before_any_of_its_writes_leaves_whole_samples(killable, make_dataset):
    dataset = decided(make_dataset(random_annotators(9, seed=5)))
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
    dataset, other = make_dataset(random_annotators(12, seed=6)), decided(make_dataset(random_annotators(12, seed=6)))
    report = compute_quickly(dataset)
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
