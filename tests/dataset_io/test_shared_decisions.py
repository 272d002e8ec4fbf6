"""Decisions by a rule, and their application, shared out: the same as in one process, whoever died."""

from __future__ import annotations

import dataclasses
import re
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from tests.dataset_io.quick_runs import compute_quickly
from tests.dataset_io.rated import rated_dataset
from tests.dataset_io.test_shards import Odd, Shuffled
from tests.datasets import random_annotators, user_values

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import apply_decisions, compute_agreement, decide, undo_applied, undo_decisions
from annotator_agreement.dataset_io.run import read
from annotator_agreement.dataset_io.shards import shared_pass

KEYS = ["agreement", "agreement_gold"]
OF_THE_CALL = {"id", "step", "decided_at", "gold_id", "gold_hash", "replaced_by", "_id", "at", "key"}
RULES = {
    "consensus": {"min_votes": 2, "min_iou": 0.4},
    "version": {"choice": "version", "annotator": "alice", "all": True},
    "none": {"choice": "none", "verdict": "lone"},
    "again": {"choice": "consensus", "min_votes": 2, "overwrite": True},
}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(shared_pass, "TASK_SAMPLES", 4)
    monkeypatch.setattr(read, "BATCH_SAMPLES", 3)


class Dying(Executor):
    """Loses its process after every first attempt: half of the samples are written, or all, and nobody hears of it."""

    def __init__(self):
        self.done = set()
        self.n_lost = 0

    def submit(self, function, /, *arguments, **options):
        future, part = Future(), arguments[1]["task"]["ids"]
        future.set_running_or_notify_cancel()
        if part in self.done:
            future.set_result(function(*arguments))
            return future
        self.done.add(part)
        task = dict(arguments[1]["task"])
        task["ids"] = part if self.n_lost % 2 else part[: len(part) // 2]
        function(arguments[0], {**arguments[1], "task": task})
        self.n_lost += 1
        future.set_exception(RuntimeError("the process is gone"))
        return future


def without_ids(value):
    """What decisions say, without what is another in every call."""
    if isinstance(value, dict):
        return {name: without_ids(each) for name, each in value.items() if name not in OF_THE_CALL}
    return [without_ids(each) for each in value] if isinstance(value, list) else value


def outcome(found):
    return dataclasses.replace(found, step=None)


def decided_documents(dataset):
    """What is decided in every sample; labels that are there again are the last in their list."""
    found = []
    for row in dataset._sample_collection.find().sort("_id"):
        held = row.get("agreement_gold") or {}
        labels = without_ids(held.get("detections") or held.get("classifications") or [])
        found.append((sorted(labels, key=repr), without_ids(row.get("agreement_gold_decisions"))))
    return found


def assert_same_decisions(dataset, executor, **rule):
    before = decided_documents(dataset)
    alone = decide(dataset, **rule, progress=False)
    assert alone.n_decided
    written = decided_documents(dataset)
    undo_decisions(dataset, alone.step)
    preview = decide(dataset, **rule, preview=True, executor=executor)
    assert outcome(preview) == outcome(alone)
    shared = decide(dataset, **rule, executor=executor)
    assert outcome(shared) == outcome(alone)
    assert decided_documents(dataset) == written
    assert undo_decisions(dataset, shared.step) == alone.n_decided
    assert decided_documents(dataset) == before


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("executor", [Shuffled(1), Dying()], ids=["twice", "dying"])
def test_a_rule_decides_the_same(make_dataset, rule, executor):
    dataset = make_dataset(random_annotators(30, seed=5))
    compute_quickly(dataset)
    decide(dataset.limit(8), choice="version", annotator="bob", min_votes=2)
    assert_same_decisions(dataset, executor, **rule)


def test_tags_and_views_are_decided_the_same(make_dataset):
    values = {name: [["a", "b", "c"][k % 3 :] for k in range(n, n + 20)] for n, name in enumerate(("alice", "bob"))}
    dataset = rated_dataset(make_dataset, values, "Classifications")
    compute_agreement(dataset, ["alice", "bob"], resamples=0)
    assert_same_decisions(dataset, Dying(), choice="version", annotator="alice", all=True)
    view, executor = dataset.skip(3).limit(9), Dying()
    alone = decide(view, choice="none", all=True)
    undo_decisions(dataset, alone.step)
    assert outcome(decide(view, choice="none", all=True, executor=executor)) == outcome(alone)
    assert executor.n_lost == 3


@pytest.mark.parametrize("executor", [Shuffled(2), Dying()], ids=["twice", "dying"])
def test_decisions_are_applied_the_same(make_dataset, executor):
    dataset = make_dataset(random_annotators(30, seed=6))
    compute_quickly(dataset)
    decide(dataset.limit(20), min_votes=2)
    decide(dataset.limit(25), choice="none", verdict="lone")
    before, changes = user_values(dataset, KEYS), ["class", "geometry", "delete", "add"]
    alone = apply_decisions(dataset, changes=changes)
    assert alone.n_applied
    assert all(each.n_geometry for each in alone.annotators)
    assert sum(each.n_class + each.n_deleted + each.n_added for each in alone.annotators) > 10
    written = [without_ids(row) for row in user_values(dataset, KEYS)]
    undo_applied(dataset)
    assert outcome(apply_decisions(dataset, changes=changes, preview=True, executor=executor)) == outcome(alone)
    shared = apply_decisions(dataset, changes=changes, executor=executor)
    assert outcome(shared) == outcome(alone)
    assert [without_ids(row) for row in user_values(dataset, KEYS)] == written
    assert undo_applied(dataset, shared.step).n_objects == alone.n_applied
    assert user_values(dataset, KEYS) == before


def test_processes_decide_and_apply(make_dataset, private_fiftyone):
    dataset = make_dataset(random_annotators(12, seed=7))
    compute_quickly(dataset)
    alone = decide(dataset, min_votes=2, preview=True)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        assert outcome(decide(dataset, min_votes=2, executor=pool)) == outcome(alone)
        expected = apply_decisions(dataset, preview=True)
        assert outcome(apply_decisions(dataset, executor=pool)) == outcome(expected)


def test_a_run_that_was_computed_again_ends_it(make_dataset, monkeypatch):
    dataset = make_dataset(random_annotators(12, seed=8))
    compute_quickly(dataset)

    class Late(Dying):
        def submit(self, *arguments, **options):
            compute_quickly(dataset, overwrite=True)
            return super().submit(*arguments, **options)

    with pytest.raises(AgreementInputError, match="The run 'agreement' must stay while decisions are made"):
        decide(dataset, min_votes=2, executor=Late())


def test_a_part_that_fails_three_times_is_named(make_dataset):
    dataset = make_dataset(random_annotators(12, seed=9))
    compute_quickly(dataset)

    class Broken(Dying):
        def submit(self, *arguments, **options):
            self.done.clear()
            return super().submit(*arguments, **options)

    with pytest.raises(
        AgreementInputError, match=r"3 attempts failed.*is gone; what is done is kept: run.decisions"
    ) as error:
        decide(dataset, min_votes=2, executor=Broken())
    step = str(error.value).split("'")[1]
    assert undo_decisions(dataset, step) > 0


@pytest.mark.parametrize("how", [OSError("the batch system is down"), KeyboardInterrupt(), "no future"], ids=repr)
def test_whatever_ends_it_the_step_that_takes_it_back_is_told(make_dataset, how, caplog):
    dataset = make_dataset(random_annotators(12, seed=9))
    compute_quickly(dataset)
    for done, undo in ((decide, undo_decisions), (apply_decisions, undo_applied)):
        options = {"min_votes": 2} if done is decide else {}
        caplog.clear()
        with pytest.raises((AgreementInputError, KeyboardInterrupt)) as ended:
            done(dataset, executor=Odd(how, n_done=2), **options)
        step = re.search(r"what is done is kept: run.decisions.\w+\('(\w+)'\)", f"{ended.value} {caplog.text}")[1]
        assert undo(dataset, step)
        done(dataset, **options)


def test_a_preview_that_fails_has_written_nothing(make_dataset):
    dataset = make_dataset(random_annotators(12, seed=9))
    compute_quickly(dataset)
    with pytest.raises(AgreementInputError, match=r"take no more tasks .*; nothing was written"):
        decide(dataset, min_votes=2, preview=True, executor=Odd(OSError("down")))
