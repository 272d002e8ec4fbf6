"""Deciding and applying, killed before any write or by two processes at once: decisions and samples stay whole."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections import Counter

import pytest

from tests.dataset_io.quick_runs import compute_quickly
from tests.dataset_io.test_decide import all_units, gold_of
from tests.datasets import random_annotators, stored
from tools.dev.private_fiftyone import ROOT

from annotator_agreement.dataset_io import apply_decisions, decide, delete_decisions, list_decisions, undo_applied

pytestmark = pytest.mark.long


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
    compute_quickly(dataset)
    before, preview = stored(other)["samples"], apply_decisions(other, preview=True)
    command = [sys.executable, "-c", _BOTH, str(ROOT), dataset.name, other.name]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    counts = dict(zip(output[::3], map(int, output[1::3]), strict=True))
    assert set(counts) == {"mia", "noa"}
    dataset.reload()
    assert kept_whole(dataset) > 20
    _, decisions = gold_of(dataset)
    assert Counter(decision["decided_by"] for decision in decisions.values()) == +Counter(counts)
    assert sum(map(int, output[2::3])) == preview.n_applied == sum(each.applied for each in list_decisions(other))
    while undo_applied(other).step is not None:
        pass
    assert stored(other)["samples"] == before
