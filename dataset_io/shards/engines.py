"""Engines for parallel tasks: processes of this machine, or any ``concurrent.futures.Executor``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from typing import Any, Protocol

import fiftyone as fo

#: tasks that an engine of the user's has at once: how many processes it has, it does not say
_MOST_AT_ONCE = 1_000
#: seconds that tasks get to stop, and processes without a task to end
_STOPPING, _ENDING = 60.0, 5.0
#: loads this checkout in a process that cannot import it by the name that it has here: FiftyOne chooses one for plugins
_LOAD = """
import importlib, importlib.util, os, sys
os.environ.update(environment)
if name not in sys.modules and os.path.isfile(os.path.join(root, "__init__.py")):
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(root, "__init__.py"), submodule_search_locations=[root]
    )
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
module, function = done_by.split(":")
work = getattr(importlib.import_module(f"{name}.dataset_io.{module}"), function)
"""
#: ends a process with the one that started it, even before its first task: a pool waits for tasks for ever
_END_WITH_PARENT = """
import multiprocessing, os, threading

def watch():
    multiprocessing.parent_process().join()
    os._exit(1)

threading.Thread(target=watch, daemon=True).start()
"""
_ROOT = Path(__file__).resolve().parents[2]


class Submitted(Protocol):
    """An engine that is running."""

    most: int  #: tasks at once
    hint: str  #: what to do where tasks fail, to end a sentence

    def submit(self, function: str, task: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Have a task done.

        Args:
            function: does it: ``module:function`` within ``dataset_io``
            task: plain values
        """

    def stop(self, futures: Iterable[Future[Any]]) -> None:
        """Wait until nothing is done any more."""


@dataclass(frozen=True, slots=True)
class Engine:
    """Processes that do the work of a run; by default this one alone."""

    workers: int = 1
    executor: Executor | None = None

    @property
    def is_shared(self) -> bool:
        """True if other processes work."""
        return self.executor is not None or self.workers > 1

    @contextlib.contextmanager
    def running(self) -> Iterator[Submitted]:
        """The engine while it runs."""
        engine = _Processes(self.workers) if self.executor is None else _OfUser(self.executor)
        try:
            yield engine
        finally:
            engine.stop(())


def _call(
    executor: Executor, function: str, task: Mapping[str, Any], environment: Mapping[str, str]
) -> Future[dict[str, Any]]:
    """Have a task done, by a call that every process can decode: of what Python has itself, with plain values."""
    given = {"name": "annotator_agreement", "root": str(_ROOT), "done_by": function, "environment": dict(environment)}
    call = "(exec(load, given), given['work'](task))[1]"
    return executor.submit(eval, call, {"load": _LOAD, "given": given, "task": dict(task)})


class _OfUser:
    """An executor that the user started, and ends."""

    most = _MOST_AT_ONCE
    hint = "; an executor that lost a process, or was shut down, takes no more tasks: start another one"

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def submit(self, function: str, task: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Have a task done."""
        return _call(self._executor, function, task, {})

    def stop(self, futures: Iterable[Future[Any]]) -> None:
        """Wait for running tasks; the others were cancelled."""
        wait(list(futures), _STOPPING)


class _Context(SpawnContext):
    """Starts processes, not forks, which connections to MongoDB do not survive, and remembers them."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[SpawnProcess] = []

    def Process(self, *arguments: Any, **options: Any) -> SpawnProcess:  # type: ignore[override]
        """A process that is about to start."""
        self.started.append(SpawnProcess(*arguments, **options))
        return self.started[-1]


class _Processes:
    """Processes of this machine, started anew where one of them died: the pool of the standard library ends then."""

    hint = "; in a script, work under `if __name__ == '__main__':`, as its processes read the script, too"

    def __init__(self, workers: int) -> None:
        self.most = workers
        self._pool = self._start()

    def _start(self) -> ProcessPoolExecutor:
        self._context = _Context()
        return ProcessPoolExecutor(self.most, self._context, exec, (_END_WITH_PARENT, {}))

    def submit(self, function: str, task: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Have a task done."""
        chosen = {"FIFTYONE_DATABASE_URI": fo.config.database_uri, "FIFTYONE_DATABASE_NAME": fo.config.database_name}
        port = {"FIFTYONE_PRIVATE_DATABASE_PORT": os.environ.get("FIFTYONE_PRIVATE_DATABASE_PORT")}
        environment = {name: str(value) for name, value in {**chosen, **port}.items() if value}
        try:
            return _call(self._pool, function, task, environment)
        except BrokenExecutor:
            self.stop(())
            self._pool = self._start()
            return _call(self._pool, function, task, environment)

    def stop(self, futures: Iterable[Future[Any]]) -> None:
        """End the processes after their current tasks."""
        wait(list(futures), _STOPPING)
        # the pool would wait for ever for a process that waits for what a killed one has locked
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in self._context.started:
            process.join(_ENDING)
            if process.is_alive():
                process.kill()
