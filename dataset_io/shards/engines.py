"""Engines for parallel tasks (processes or any ``Executor``), and tasks done by them, each up to three times."""

from __future__ import annotations

import contextlib
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from dataclasses import dataclass
from itertools import islice
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from typing import Any, Generic, TypeVar

import fiftyone as fo

from ...agreement.settings.errors import AgreementInputError, short_message
from ..labels.stored import NoRoomError

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
work = importlib.import_module(f"{name}.dataset_io.shards.share").work
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
    def running(self) -> Iterator[_OfUser | _Processes]:
        """The engine while it runs."""
        engine = _Processes(self.workers) if self.executor is None else _OfUser(self.executor)
        try:
            yield engine
        finally:
            engine.stop(())


def _call(executor: Executor, task: Mapping[str, Any], environment: Mapping[str, str]) -> Future[dict[str, Any]]:
    """Have a task done, by a call that every process can decode: of what Python has itself, with plain values."""
    given = {"name": "annotator_agreement", "root": str(_ROOT), "environment": dict(environment)}
    call = "(exec(load, given), given['work'](task))[1]"
    return executor.submit(eval, call, {"load": _LOAD, "given": given, "task": dict(task)})


class _OfUser:
    """An executor that the user started, and ends."""

    most = _MOST_AT_ONCE  #: tasks at once
    hint = "; an executor that lost a process, or was shut down, takes no more tasks: start another one"

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def submit(self, task: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Have a task done."""
        return _call(self._executor, task, {})

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

    def submit(self, task: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Have a task done."""
        chosen = {"FIFTYONE_DATABASE_URI": fo.config.database_uri, "FIFTYONE_DATABASE_NAME": fo.config.database_name}
        port = {"FIFTYONE_PRIVATE_DATABASE_PORT": os.environ.get("FIFTYONE_PRIVATE_DATABASE_PORT")}
        environment = {name: str(value) for name, value in {**chosen, **port}.items() if value}
        try:
            return _call(self._pool, task, environment)
        except BrokenExecutor:
            self.stop(())
            self._pool = self._start()
            return _call(self._pool, task, environment)

    def stop(self, futures: Iterable[Future[Any]]) -> None:
        """End the processes after their current tasks."""
        wait(list(futures), _STOPPING)
        # the pool would wait for ever for a process that waits for what a killed one has locked
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in self._context.started:
            process.join(_ENDING)
            if process.is_alive():
                process.kill()


#: how often a task is tried
MOST_ATTEMPTS = 3
#: what the answer of a task has one of
_ANSWERS = {"n_samples", "refused", "failed"}
#: seconds between two checks of whether the work is still wanted
_LOOK = 1.0

Item = TypeVar("Item")


class GivenUpError(Exception):
    """A task that cannot be done: it failed in all attempts, or the engine takes none.

    Attributes:
        reason: what happened, as a clause
    """

    def __init__(self, item: Any, reason: str) -> None:
        super().__init__(reason)
        self.item = item
        self.reason = reason


class Tasks(Generic[Item]):
    """Tasks on their way through an engine.

    Attributes:
        attempts: failed attempts of every item
    """

    def __init__(
        self,
        engine: _OfUser | _Processes,
        task_of: Callable[[Item], Mapping[str, Any]],
        check: Callable[[], None],
        is_done: Callable[[Item], bool],
    ) -> None:
        """
        Args:
            engine: does the tasks
            task_of: the task of an item, as plain values
            check: raises an error when the work is no longer wanted
            is_done: True if an item whose task failed needs no other attempt
        """
        self.attempts: Counter[Item] = Counter()
        self._engine, self._task_of = engine, task_of
        self._check, self._is_done = check, is_done
        self._futures: dict[Future[dict[str, Any]], Item] = {}

    def answers(self, items: Iterable[Item]) -> Iterator[dict[str, Any]]:
        """The answers of the tasks of some hashable items, as they come, those of failed attempts too.

        Raises:
            AgreementInputError: if a task was refused, or the executor of the user is none
            GivenUpError: if one failed in all attempts, or cannot be submitted
        """
        fresh, again = iter(items), deque[Item]()
        while True:
            while len(self._futures) < self._engine.most and (found := again or deque(islice(fresh, 1))):
                item = found.popleft()
                task = self._task_of(item)
                try:
                    future = self._engine.submit(task)
                except Exception as problem:  # engines say in their own ways that they ended
                    raise GivenUpError(item, f"workers take no more tasks ({_said(problem)})") from problem
                if not isinstance(future, Future):
                    raise AgreementInputError(
                        "`executor` must have a method `submit` that returns a concurrent.futures.Future, got one of "
                        f"the type {type(future).__module__}.{type(future).__qualname__}"
                    )
                self._futures[future] = item
            if not self._futures:
                return
            self._check()
            for future in wait(self._futures, _LOOK, FIRST_COMPLETED).done:
                item = self._futures.pop(future)
                answer = _answer(future)
                if "refused" in answer:
                    kind = NoRoomError if answer["kind"] == NoRoomError.__name__ else AgreementInputError
                    error = kind.__new__(kind)
                    error.args = (answer["refused"],)
                    raise error
                if "failed" in answer and not self._is_done(item):
                    self.attempts[item] += 1
                    if self.attempts[item] >= MOST_ATTEMPTS:
                        reason = f"{MOST_ATTEMPTS} attempts failed, the last one with {answer['failed']}"
                        raise GivenUpError(item, reason)
                    again.append(item)
                yield answer

    def cancel(self) -> None:
        """Cancel what has not begun."""
        for future in self._futures:
            future.cancel()

    def stop(self) -> None:
        """Wait until nothing is done any more."""
        self._engine.stop(self._futures)


def answered(function: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The answer of a task in the process that does it.

    Returns:
        what the function returned; or ``{"refused"}`` or ``{"failed"}`` with a sentence: errors of ours cannot travel
        to processes that load the plugin under another name
    """
    try:
        return function()
    except AgreementInputError as error:
        return {"refused": str(error), "kind": type(error).__name__}
    except Exception as error:  # tried again
        return {"failed": _said(error)}


def _answer(future: Future[dict[str, Any]]) -> dict[str, Any]:
    try:
        answer = future.result()
    except (Exception, CancelledError, SystemExit) as error:  # a worker died; engines say so in their own ways
        return {"failed": _said(error)}
    if isinstance(answer, Mapping) and not answer.keys().isdisjoint(_ANSWERS):
        return answer
    return {"failed": short_message(f"the answer {answer!r}, which is not that of the task")}


def _said(error: BaseException) -> str:
    return short_message(f"{type(error).__name__}: {error}")
