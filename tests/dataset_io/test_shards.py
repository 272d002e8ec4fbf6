"""Runs that are shared out: the same report, values and stored bytes as those of one process."""

from __future__ import annotations

import os
import random
import signal
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import fiftyone as fo
import numpy as np
import psutil
import pymongo
import pytest
from fiftyone.core.odm import get_db_conn
from pymongo.errors import AutoReconnect

from tests.chance import few
from tests.dataset_io.kinds import dataset_of, random_sample
from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, refused
from tests.datasets import grouped_dataset, random_annotators, random_videos
from tools.dev.private_fiftyone import PrivateFiftyOne
from tools.stress.on_dataset import contents as contents_of
from tools.stress.on_dataset import without_runs

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import compute_agreement, delete_agreement, load_agreement
from annotator_agreement.dataset_io.record import FAILED, RUNNING, Run, stored_records
from annotator_agreement.dataset_io.shards import share


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(share, "SHARD_SAMPLES", 4)


class Shuffled(Executor):
    """Does everything later, twice, and in another order: what engines may do that repeat lost work."""

    def __init__(self, seed: int) -> None:
        self._rng, self._waiting, self._lock = random.Random(seed), [], threading.Lock()

    def submit(self, function, /, *arguments, **options):
        future = Future()
        with self._lock:
            self._waiting.append((future, function, arguments))
        threading.Timer(0.05, self._do).start()
        return future

    def _do(self):
        with self._lock:
            future, function, arguments = self._waiting.pop(self._rng.randrange(len(self._waiting)))
        future.set_running_or_notify_cancel()
        function(*arguments)
        future.set_result(function(*arguments))


def contents(samples, fields, key="agreement", **options):
    """The report, what is stored of it, and what is written on samples and labels."""
    dataset = samples._dataset
    before = without_runs(dataset)
    compute_agreement(samples, fields, run_key=key, **options)
    found = contents_of(dataset, key)
    run_id = Run(dataset, key).config["results_id"]
    assert not list(get_db_conn().fs.files.find({"_id": {"$regex": f"^annotator_agreement/{run_id}/"}}))
    delete_agreement(dataset, key)
    assert without_runs(dataset) == before
    return found


def assert_same(samples, fields, *executors, **options):
    alone = contents(samples, fields, **options)
    for executor in executors:
        shared = contents(samples, fields, executor=executor, **options)
        assert {n: v for n, v in shared[0].items() if v != alone[0][n]} == {}
        assert (shared[1], shared[2]) == (alone[1], alone[2])


@pytest.fixture
def boxes(make_dataset):
    return make_dataset(random_annotators(30, seed=5))


@pytest.mark.long
def test_any_order_tasks_done_twice_threads_and_processes_give_the_same(boxes):
    # two processes that never heard of this one
    with ThreadPoolExecutor(3) as threads, ProcessPoolExecutor(2, get_context("spawn")) as processes:
        assert_same(boxes, ANNOTATORS, Shuffled(1), threads, processes, resamples=50)


@pytest.mark.parametrize("kind", few(["masks with roles", "boxes with roles", "numbers", "tags", "plain"], 2))
@pytest.mark.long
def test_masks_a_reference_and_models_ratings_and_tags_are_the_same(make_dataset, kind):
    dataset, fields, options = dataset_of(make_dataset, kind, 30)
    assert_same(dataset, fields, Shuffled(8), **{**options, "resamples": 50})


@pytest.mark.long
def test_frames_and_groups_are_the_same_and_no_video_or_group_is_divided(make_videos, make_dataset):
    videos = random_videos([3, 6, 1, 5, 9, 2, 7, 4, 3], seed=3)
    assert_same(make_videos(videos), [f"frames.{name}" for name in ANNOTATORS], Shuffled(10), resamples=50)
    rng = np.random.default_rng(3)
    slices = {side: [random_sample(rng, "boxes") for _ in range(10)] for side in ("left", "middle", "right")}
    assert_same(grouped_dataset(make_dataset, slices), ANNOTATORS, Shuffled(11), resamples=50)


class Faulty(Executor):
    """Does its tasks at once, but for what a function of their number and of the attempt says of them.

    It may say "before" or "after" for a task that is lost before or after it was done, what is returned instead of a
    future, in a list, an error of the batch system, which is raised, or else the answer, or error, of the task.
    """

    def __init__(self, fault=lambda number, attempt: "done") -> None:
        self._fault, self.asked = fault, []

    def submit(self, function, /, *arguments, **options):
        future, number = Future(), arguments[1]["task"]["number"]
        self.asked.append(number)
        how = self._fault(number, self.asked.count(number))
        if isinstance(how, list):
            return how[0]
        if isinstance(how, OSError):
            raise how
        answer = function(*arguments) if how in ("done", "after") else how
        if how in ("before", "after"):
            answer = RuntimeError("a worker died")
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer)
        return future


def after_two(how):
    """Does two tasks, and then something else."""
    return Faulty(lambda number, attempt: "done" if number < 2 else how)


def test_a_shard_that_is_lost_is_tried_again_and_three_times_fails_the_run_which_can_be_continued(boxes):
    expected = contents(boxes, ANNOTATORS, resamples=0)
    lost = {(2, 1): "before", (2, 2): "before", (3, 1): "after"}
    executor = Faulty(lambda number, attempt: lost.get((number, attempt), "done"))
    assert contents(boxes, ANNOTATORS, resamples=0, executor=executor) == expected
    assert [executor.asked.count(number) for number in (2, 3)] == [3, 1]  # the second was done
    executor = Faulty(lambda number, attempt: "before" if number == 4 else "done")
    message = "Shard 5 of 8 .samples from .* must be compared by a worker, but 3 attempts failed.* resume=True"
    refused(message, compute_quickly, boxes, executor=executor)
    assert Run(boxes, "agreement").status == FAILED
    refused(r"same options, annotators and software .* other options", compute_quickly, boxes, iou=0.6, resume=True)
    again = Faulty()
    compute_quickly(boxes, executor=again, resume=True)
    assert contents_of(boxes) == expected
    assert set(again.asked) < set(range(8))


ODD = {
    "the batch system": (OSError("is down"), r"workers take no more tasks \(OSError: is down\)"),
    "nothing": (None, "3 attempts failed, the last one with the answer None"),
    "empty": ({}, "3 attempts failed, the last one with the answer {}"),
    "exit": (SystemExit(3), "3 attempts failed, the last one with SystemExit: 3"),
    "not done": ({"n_samples": 4}, "3 attempts failed, the last one said it was done, and stored nothing"),
}


@pytest.mark.long
def test_an_executor_that_does_not_do_its_tasks_fails_the_run_which_can_be_continued(boxes):
    for how, what in ODD.values():
        message = f"Shard [3-8] of 8 .* must be compared by a worker, but {what}.*what is done is kept.*resume=True"
        refused(message, compute_quickly, boxes, executor=after_two(how), overwrite=True)
    clone = boxes.clone()
    try:
        refused("got 'agreement', which is a copy", compute_quickly, clone, executor=Faulty(), resume=True)
        compute_quickly(boxes, executor=Faulty(), resume=True)
        compute_quickly(clone, executor=Faulty(), overwrite=True)
    finally:
        clone.delete()
    with ThreadPoolExecutor(1) as shut_down:
        pass
    for executor, message in (
        (Faulty(lambda number, attempt: [object()]), r"returns a concurrent.futures.Future, got .* builtins.object"),
        (shut_down, r"take no more tasks \(RuntimeError: cannot .*start another one"),
    ):
        refused(message, compute_quickly, boxes, executor=executor, overwrite=True)


def test_a_run_of_which_a_part_is_done_says_first_how_to_continue_it_and_a_complete_one_is_not_continued(boxes):
    refused("must be an agreement", compute_quickly, boxes, resume=True)
    with pytest.raises(AgreementInputError):
        compute_quickly(boxes, executor=after_two(None))
    run = Run(boxes, "agreement")
    machine, process, started = run.config["process"].split(" ")
    run.update(status=RUNNING, process=f"{machine} {process} {float(started) - 100}")
    refused("its process is gone; compute it again with resume=True, or anew", load_agreement, boxes, "agreement")
    refused("a run of this dataset; continue it with resume=True, use another", compute_quickly, boxes)
    compute_quickly(boxes, overwrite=True)
    refused("`resume` needs a run that was shared out .* 'completed'", compute_quickly, boxes, resume=True)


@pytest.mark.long
def test_shards_whose_records_a_killed_database_lost_are_done_again(boxes):
    expected, lost = contents(boxes, ANNOTATORS, resamples=0), []

    class Losing(Executor):
        def submit(self, function, /, *arguments, **options):
            future, number = Future(), arguments[1]["task"]["number"]
            future.set_result(function(*arguments))
            if number in (2, 7) and number not in lost:
                lost.append(number)
                done = f"config.shared.shards.{number}"
                lost_entry = get_db_conn().runs.update_one({f"{done}.file": {"$exists": True}}, {"$set": {done: {}}})
                assert lost_entry.modified_count == 1
            return future

    assert contents(boxes, ANNOTATORS, resamples=0, executor=Losing()) == expected
    assert lost == [2, 7]


@pytest.mark.long
def test_a_database_that_is_killed_keeps_what_is_surely_written(tmp_path, monkeypatch):
    private, environment = PrivateFiftyOne(tmp_path), dict(os.environ)
    try:
        private.start()
        found = pymongo.MongoClient(private.environment["FIFTYONE_DATABASE_URI"]).found
        monkeypatch.setattr(stored_records, "database", lambda: found)
        for number in range(3):
            with stored_records.surely_written():
                found.kept.insert_one({"_id": number})
            private.crash()
            private.start()
            assert found.kept.count_documents({}) == number + 1

        def killed():
            with stored_records.surely_written():
                found.kept.insert_one({"_id": "perhaps"})
                private.crash()
                private.start()

        with pytest.raises(AutoReconnect, match="was started again meanwhile, and may have lost what was written"):
            killed()
    finally:
        private.stop()
        os.environ.clear()
        os.environ.update(environment)


def test_a_run_that_is_deleted_meanwhile_leaves_nothing(boxes):
    before = without_runs(boxes)

    def lost(number, attempt):
        if number == 3:
            delete_agreement(boxes, "agreement")
        return "done"

    refused(r"no longer being computed|was deleted or replaced", compute_quickly, boxes, executor=Faulty(lost))
    assert without_runs(boxes) == before
    assert not list(get_db_conn().fs.files.find({"_id": {"$regex": "^annotator_agreement/"}}))


def test_labels_that_cannot_be_compared_are_refused_as_by_one_process(boxes):
    sample = boxes.last()
    sample["alice"] = fo.Detections(detections=[fo.Detection(label="cat", bounding_box=[0.1, 0.1, -1, 0.2])])

    def lost(number, attempt):
        if number == 2:
            sample.save()
        return "done"

    refused(r"must have|must be", compute_quickly, boxes, executor=Faulty(lost))
    assert Run(boxes, "agreement").status == FAILED


class Client(Executor):
    """As Dask's: its futures are others."""

    def get_executor(self):
        return ThreadPoolExecutor(1)


def test_what_is_no_engine_is_refused_with_the_way_to_get_one(boxes):
    before = without_runs(boxes)
    is_one = "`executor` must be a concurrent.futures.Executor, .* got .*"
    for options, message in (
        *(({"workers": value}, "`workers` must be a whole") for value in (0, 1.5, "2", 1_001)),
        ({"executor": 3}, "`executor` must be a concurrent.futures"),
        ({"executor": Client()}, is_one + r"Client; .* client.get_executor\(\)"),
        ({"executor": Client}, is_one + r"the class Client; call it: Client\(\)"),
    ):
        refused(message, compute_agreement, boxes, ANNOTATORS, **options)
    assert without_runs(boxes) == before


@pytest.mark.long
def test_workers_with_other_software_or_of_another_database_refuse(boxes, monkeypatch):
    class Elsewhere:
        datasets = get_db_conn().nothing

    for name, value, message in (
        ("versions", lambda: {"numpy": "1.0"}, r"Workers must have the software .*, got numpy 1.0"),
        ("database", Elsewhere, "Workers must be connected to the database with the dataset"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(share, name, value)
            refused(message, compute_quickly, boxes, executor=Faulty(), overwrite=True)


@pytest.mark.long
def test_workers_of_this_machine_are_started_again_when_one_is_killed(make_dataset):
    dataset = make_dataset(random_annotators(60, seed=5))
    expected = contents(dataset, ANNOTATORS, resamples=0)
    killed, own = [], psutil.Process()
    before = own.children()

    def started():
        return [each for each in own.children() if each not in before and "spawn_main" in " ".join(each.cmdline())]

    def kill(bar):
        children = started()
        if not killed and children:
            killed.append(children[0].pid)
            os.kill(children[0].pid, signal.SIGKILL)

    found = contents(dataset, ANNOTATORS, resamples=0, workers=2, progress=fo.report_progress(kill, n=1))
    assert killed
    assert found == expected
    assert not started()
