"""Runs that are shared out among processes, of which some are killed: the same bytes, or a sentence, nothing left."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import psutil
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from tools.dev.private_fiftyone import PrivateFiftyOne

from .run import Campaign, Outcome, outcome_of
from .together import FIELDS, OURS
from .workers import Answer, Command, Worker, workers

COMPUTE = "annotator_agreement.dataset_io:compute_agreement"
#: errors by which a run may end whose database is gone
OF_DATABASE = {"AutoReconnect", "ConnectionFailure", "NetworkTimeout", "ServerSelectionTimeoutError", "BulkWriteError"}
_KEY, _EDITED = "k0", "edited"
_SHARDS, _SAMPLES_OF_SHARD = 12, 5
#: what happens once during a run; edits besides
_KILLS = ("worker", "worker", "workers", "main", "main", "database", "database", "nothing")
#: seconds within which something happens after the last part that it waits for, and processes of a killed one end
_LONGEST, _ENDING = 0.2, 30.0
#: seconds that a run may take
_PATIENCE = 120.0
#: processes that are forked at once, to be killed
_VICTIMS = 5


def shared_runs(seed: int, rounds: int) -> Outcome:
    """Kill workers, the main process, or a database of the campaign's own, during runs of two to four workers.

    Every other round is done by Dask where it is installed.
    """
    told = Counter[str]()
    with _own_database() as private, _dask() as cluster:

        def played() -> Iterator[tuple[int, list[str]]]:
            for start in range(seed, seed + rounds, _VICTIMS):
                numbers = range(start, min(start + _VICTIMS, seed + rounds))
                with workers(len(numbers) + 1) as (*runners, opener):
                    for number, runner in zip(numbers, runners, strict=True):
                        by_dask = cluster if number % 2 else None
                        yield number, _Round(number, private, by_dask, runner, opener, told).play()

        outcome = outcome_of(played())
    if cluster is None:
        told["Dask is not installed"] += 1
    happened = ", ".join(f"{what}: {n}" for what, n in sorted(told.items()))
    return outcome._replace(examples=[happened, *outcome.examples])


@contextlib.contextmanager
def _own_database() -> Iterator[PrivateFiftyOne]:
    """A database that may be killed, in the environment of this process for so long."""
    environment = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        private = PrivateFiftyOne(Path(folder)).start()
        try:
            yield private
        finally:
            os.environ.clear()
            os.environ.update(environment)
            private.stop()


@contextlib.contextmanager
def _dask() -> Iterator[Any]:
    """A cluster of Dask with three processes; None where Dask is not installed."""
    if importlib.util.find_spec("distributed") is None:
        yield None
        return
    from distributed import LocalCluster

    with LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        yield cluster


class _Round:
    """One run, and what happens to it."""

    def __init__(
        self, seed: int, private: PrivateFiftyOne, cluster: Any, runner: Worker, opener: Worker, told: Counter[str]
    ) -> None:
        self._rng, self._private, self._cluster = Random(seed), private, cluster
        self._runner, self._opener, self._told = runner, opener, told
        self._name = f"shared-{seed}"
        self._shared: dict[str, Any] = {"scheduler": cluster.scheduler_address} if cluster else {}
        self._options = {"run_key": _KEY, "resamples": 20}
        self._wrong: list[str] = []
        self._edits: list[list[str]] = []
        client: MongoClient[dict[str, Any]] = MongoClient(private.environment["FIFTYONE_DATABASE_URI"])
        self._files = client[os.environ.get("FIFTYONE_DATABASE_NAME", "fiftyone")]["fs.files"]
        self._main = runner.do(Command("os:getpid")).value
        self._started: set[psutil.Process] = set()  # workers that the run started
        self._what_happened: list[str] = []

    def play(self) -> list[str]:
        """Play the round; what is wrong."""
        n_samples = _SHARDS * _SAMPLES_OF_SHARD
        self._do(Command(f"{OURS}:make_boxes", [self._name, n_samples, self._rng.randrange(99)]))
        before = self._ours("without_runs")
        answer = self._run_with_accidents()
        self._check_processes()
        completed = answer.error is None
        if not completed:
            self._told[f"ended with {answer.error}"] += 1
            self._what_happened.append(answer.told)
            if answer.error not in {"AgreementInputError", "Died", *OF_DATABASE}:
                self._wrong.append(f"{answer.told} {answer.trace[-600:]}")
            completed = self._continued()
        if completed:
            self._compare()
        if _KEY in (self._ours("open_and_list") or {}):
            self._ours("delete_everything", [_KEY])
        for sample, label in reversed(self._edits):
            self._ours("edit", sample, label)
        after = self._ours("without_runs")
        self._wrong += [f"{name} are not what they were" for name in before if after[name] != before[name]]
        self._do(Command("fiftyone:delete_dataset", [self._name]))
        return [f"{self._shared} {self._options} {self._what_happened}", *self._wrong] if self._wrong else []

    # ---- the run ----

    def _run_with_accidents(self) -> Answer:
        rng, kill = self._rng, self._rng.choice(_KILLS)
        happens = [(rng.randint(0, _SHARDS), "edit") for _ in range(rng.choice([0, 0, 1, 3]))]
        n_kills = 3 if kill == "workers" else 1
        happens += [(rng.randint(0, _SHARDS), kill.removesuffix("s")) for _ in range(n_kills) if kill != "nothing"]
        self._runner.send(self._compute(n_workers=rng.randint(2, 4)))
        for n_parts, what in sorted(happens):
            if not self._wait_for(n_parts):
                break
            time.sleep(rng.uniform(0.0, _LONGEST if n_parts else 10 * _LONGEST))
            self._happen(what)
            self._what_happened.append(f"{what} after {n_parts}")
        return self._runner.answer()

    def _compute(self, n_workers: int, **options: Any) -> Command:
        by = self._shared or {"workers": n_workers}
        return Command(
            f"{OURS}:compute_shared",
            [{"dataset": self._name}, FIELDS, _SAMPLES_OF_SHARD],
            {**self._options, **by, "progress": False, **options},
        )

    def _wait_for(self, n_parts: int) -> bool:
        """Wait until so many shards are done; False if the run ended before."""
        wanted, deadline = {"_id": {"$regex": r"^annotator_agreement/\w+/\d+-"}}, time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            self._started |= set(_spawned(self._main))
            with contextlib.suppress(PyMongoError):
                if self._files.count_documents(wanted) >= n_parts:
                    return True
            if self._runner.is_answered():
                return False
            time.sleep(0.005)
        return False

    def _happen(self, what: str) -> None:
        match what:
            case "edit":
                edited = self._ours("edit_any", self._rng.randrange(99), _EDITED)
                self._edits += [edited] if edited else []
            case "main":
                os.kill(self._main, signal.SIGKILL)
            case "database":
                self._private.crash()
                self._private.start()
            case _:
                found = _spawned(os.getpid() if self._cluster else self._main)
                if not found:
                    return
                with contextlib.suppress(psutil.NoSuchProcess):
                    self._rng.choice(found).kill()
        self._told[f"{what}{' of Dask' if self._cluster and what == 'worker' else ''}"] += 1

    def _check_processes(self) -> None:
        """Processes that the run started are gone, soon after it."""
        _, alive = psutil.wait_procs([each for each in self._started if each.is_running()], _ENDING)
        self._wrong += [f"{len(alive)} workers are left"] if alive else []

    # ---- afterwards ----

    def _continued(self) -> bool:
        """Continue the run, or compute it anew, or neither; whether it completed."""
        how = self._rng.choice(["resume", "resume", "overwrite", "delete"])
        if how == "delete":
            return False
        answer = self._opener.do(self._compute(2, **{how: True}))
        self._told[f"{how}: {answer.error or 'done'}"] += 1
        if answer.error is None:
            return True
        # nothing to continue: it ended before it was planned
        is_early = how == "resume" and any(
            each in answer.message for each in ("needs a run that was shared out", "must be an agreement run")
        )
        if not is_early:
            self._wrong.append(f"{how}: {answer.told} {answer.trace[-600:]}")
        return False

    def _compare(self) -> None:
        """Compare with a run of one process on the same samples."""
        n_changed = self._do(Command("annotator_agreement.dataset_io:changed_since", [{"dataset": self._name}, _KEY]))
        if n_changed:
            self._told["updated"] += 1
            self._do(Command("annotator_agreement.dataset_io:update_agreement", [{"dataset": self._name}, _KEY]))
        found = self._ours("hashes_of_contents", _KEY)
        self._ours("delete_everything", [_KEY])
        self._do(Command(COMPUTE, [{"dataset": self._name}, FIELDS], self._options))
        alone = self._ours("hashes_of_contents", _KEY)
        if found is None or alone is None:
            return
        compared = ["values"] if n_changed else list(alone)
        self._wrong += [f"other {name} than of one process" for name in compared if found[name] != alone[name]]
        self._told["same as of one process"] += found == alone

    # ---- calls ----

    def _ours(self, function: str, *arguments: Any) -> Any:
        return self._do(Command(f"{OURS}:{function}", [{"dataset": self._name}, *arguments]))

    def _do(self, command: Command) -> Any:
        answer = self._opener.do(command)
        if answer.error is not None:
            self._wrong.append(f"{command.title}: {answer.told} {answer.trace[-600:]}")
        return answer.value


def _spawned(parent: int) -> list[psutil.Process]:
    """The processes that a process, or a child of it that serves it, started to work."""
    found = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(parent).children():
            with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                found += [child] if "spawn_main" in " ".join(child.cmdline()) else []
    return found


def kill_database(seed: int, rounds: int) -> Outcome:
    """Kill a database of the campaign's own during runs; afterwards everything works, and users lost nothing."""
    with _own_database() as private, workers(2) as (runner, opener):
        numbers = range(seed, seed + rounds)
        return outcome_of((number, _crashed_round(number, private, runner, opener)) for number in numbers)


def _crashed_round(seed: int, private: PrivateFiftyOne, runner: Worker, opener: Worker) -> list[str]:
    name, options = f"crash-{seed}", {"run_key": _KEY, "resamples": 0}
    dataset, fields = {"dataset": name}, [f"frames.{each}" for each in FIELDS]
    wrong = []

    def do(function: str, *arguments: Any, **given: Any) -> Any:
        answer = opener.do(Command(function, [dataset, *arguments], given))
        wrong.extend([answer.told] if answer.error is not None else [])
        return answer.value

    opener.do(Command(f"{OURS}:make_videos", [name, seed]))
    before = do(f"{OURS}:values_of_user")
    runner.send(Command(COMPUTE, [dataset, fields], options))
    time.sleep(Random(seed).uniform(0.0, 0.8))
    private.crash()
    private.start()
    first = runner.answer()
    do(COMPUTE, fields, **options, overwrite=True)
    do(f"{OURS}:open_and_list")
    do(f"{OURS}:delete_everything", [_KEY])
    after = do(f"{OURS}:values_of_user")
    if first.error is not None and first.error not in OF_DATABASE:
        wrong.append(first.told)
    if before != after:
        wrong.append("values of the user differ, or values of the run are left")
    return wrong


CAMPAIGNS = (
    Campaign("crash", "kill the database while frames are compared; then all works again", kill_database, 8),
    Campaign(
        "workers", "kill workers, main process or database of shared runs; same bytes, or a sentence", shared_runs, 40
    ),
)
