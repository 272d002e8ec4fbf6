"""``Engine``: have tasks done by processes of this machine, or by any ``Executor``, each in up to three attempts."""

from __future__ import annotations

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
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from typing import Any

import fiftyone as fo

from ...agreement.settings.errors import AgreementInputError, short_message
from ..labels.stored import NoRoomError

#: tasks that are submitted at once to an executor of the user, whose number of processes is not known
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
#: ends a process when the process that started it ends, even before its first task, for which it would wait for ever
_END_WITH_PARENT = """
import multiprocessing, os, threading

def watch():
    multiprocessing.parent_process().join()
    os._exit(1)

threading.Thread(target=watch, daemon=True).start()
"""
_ROOT = Path(__file__).resolve().parents[2]


#: how often a task is tried
MOST_ATTEMPTS = 3
#: keys of the answer of a task, which has one of them
_ANSWERS = {"n_samples", "refused", "failed"}
#: seconds between two checks of whether the work is still wanted
_LOOK = 1.0


class GivenUpError(Exception):
    """A task that cannot be done: it failed in all attempts, or the engine takes no more tasks.

    Attributes:
        number: number of the task
        reason: what happened, as a clause
    """

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(reason)
        self.number = number
        self.reason = reason


class _Context(SpawnContext):
    """Starts new processes, as connections to MongoDB do not survive forks, and remembers them."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[SpawnProcess] = []

    def Process(self, *arguments: Any, **options: Any) -> SpawnProcess:  # type: ignore[override]
        """A process that is about to start."""
        self.started.append(SpawnProcess(*arguments, **options))
        return self.started[-1]


class Engine:
    """Processes that do the work of a run: those of an executor of the user, or of this machine; else this one alone.

    Attributes:
        is_shared: whether other processes work
        hint: what to do when a task cannot be done, as the end of a sentence
    """

    def __init__(self, workers: int = 1, executor: Executor | None = None) -> None:
        """
        Args:
            workers: processes of this machine
            executor: an executor that the user started, and ends; instead of these processes
        """
        self.is_shared = executor is not None or workers > 1
        self.hint = (
            "; in a script, work under `if __name__ == '__main__':`, as its processes read the script, too"
            if executor is None
            else "; an executor that lost a process, or was shut down, takes no more tasks: start another one"
        )
        self._workers, self._executor = workers, executor
        self._pool: ProcessPoolExecutor | None = None
        self._context = _Context()
        self._numbers: dict[Future[dict[str, Any]], int] = {}

    def answers(
        self,
        numbers: Iterable[int],
        task: Mapping[str, Any],
        check: Callable[[], None],
        is_done: Callable[[int], bool],
    ) -> Iterator[dict[str, Any]]:
        """Have tasks done, each in up to three attempts; their answers in the order in which they arrive.

        Args:
            numbers: numbers of the tasks
            task: plain values that all tasks share; each gets its ``number``, and that of the ``attempt``, too
            check: raises an error when the work is no longer wanted
            is_done: whether a task is done, whatever its answer

        Raises:
            AgreementInputError: if a task was refused, or the executor of the user is not one
            GivenUpError: if one failed in all attempts, or cannot be submitted
        """
        waiting, failures = deque(numbers), Counter[int]()
        most = self._workers if self._executor is None else _MOST_AT_ONCE
        while waiting or self._numbers:
            while waiting and len(self._numbers) < most:
                number = waiting.popleft()
                try:
                    future = self._submitted({**task, "number": number, "attempt": failures[number]})
                except Exception as problem:  # executors that ended raise different errors
                    why = short_message(f"{type(problem).__name__}: {problem}")
                    raise GivenUpError(number, f"workers take no more tasks ({why})") from problem
                if not isinstance(future, Future):
                    raise AgreementInputError(
                        "`executor` must have a method `submit` that returns a concurrent.futures.Future, got one of "
                        f"the type {type(future).__module__}.{type(future).__qualname__}"
                    )
                self._numbers[future] = number
            check()
            for future in wait(self._numbers, _LOOK, FIRST_COMPLETED).done:
                number, answer = self._numbers.pop(future), _answer(future)
                if "refused" in answer:
                    kind = NoRoomError if answer["kind"] == NoRoomError.__name__ else AgreementInputError
                    error = kind.__new__(kind)
                    error.args = (answer["refused"],)
                    raise error
                if is_done(number):
                    yield answer
                    continue
                failures[number] += 1
                if failures[number] == MOST_ATTEMPTS:
                    last = f"with {answer['failed']}" if "failed" in answer else "said it was done, and stored nothing"
                    raise GivenUpError(number, f"{MOST_ATTEMPTS} attempts failed, the last one {last}")
                waiting.appendleft(number)

    def _submitted(self, task: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Submit a task as a call that every process can decode: of a builtin function, with plain values."""
        given: dict[str, Any] = {"name": "annotator_agreement", "root": str(_ROOT), "environment": {}}
        call = "(exec(load, given), given['work'](task))[1]"
        known = {"load": _LOAD, "given": given, "task": dict(task)}
        if self._executor is not None:
            return self._executor.submit(eval, call, known)
        chosen = {"FIFTYONE_DATABASE_URI": fo.config.database_uri, "FIFTYONE_DATABASE_NAME": fo.config.database_name}
        port = {"FIFTYONE_PRIVATE_DATABASE_PORT": os.environ.get("FIFTYONE_PRIVATE_DATABASE_PORT")}
        given["environment"] = {name: str(value) for name, value in {**chosen, **port}.items() if value}
        if self._pool is not None:
            try:
                return self._pool.submit(eval, call, known)
            except BrokenExecutor:  # a process died, which ends the pool
                self._end_processes()
        self._pool = ProcessPoolExecutor(self._workers, self._context, exec, (_END_WITH_PARENT, {}))
        return self._pool.submit(eval, call, known)

    def cancel(self) -> None:
        """Cancel the tasks that have not begun."""
        for future in self._numbers:
            future.cancel()

    def stop(self) -> None:
        """Wait until no task is being done any more, and end the processes that were started."""
        wait(self._numbers, _STOPPING)
        self._end_processes()

    def _end_processes(self) -> None:
        # the pool would wait for ever for a process that waits for what a killed one has locked
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        for process in self._context.started:
            process.join(_ENDING)
            if process.is_alive():
                process.kill()
                process.join(_ENDING)  # a killed process is there until it is waited for
        self._pool = None
        self._context.started.clear()


def _answer(future: Future[dict[str, Any]]) -> dict[str, Any]:
    try:
        answer = future.result()
    except (Exception, CancelledError, SystemExit) as error:  # a worker died; executors raise different errors
        return {"failed": short_message(f"{type(error).__name__}: {error}")}
    if isinstance(answer, Mapping) and not answer.keys().isdisjoint(_ANSWERS):
        return answer
    return {"failed": short_message(f"the answer {answer!r}, which is not that of the task")}
