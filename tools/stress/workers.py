"""Several processes that work on the same datasets; each lives long, as starting one with FiftyOne takes seconds."""

from __future__ import annotations

import contextlib
import json
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

#: seconds after which a process counts as hanging
PATIENCE = 120


@dataclass(frozen=True)
class Command:
    """A function to call in another process; see :mod:`tools.stress.worker`."""

    call: str  #: ``module:function``
    arguments: Sequence[Any] = ()
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The command as it would be written, for examples of failures."""
        given = [*map(repr, self.arguments), *(f"{name}={value!r}" for name, value in self.options.items())]
        return f"{self.call.rpartition(':')[2]}({', '.join(given)})"


class Answer(NamedTuple):
    """What came of a command."""

    value: Any  #: what the function returned, as far as JSON can hold it
    error: str | None  #: class of the error; None if there was none
    message: str  #: its message
    trace: str  #: where it came from


class Worker:
    """A process that answers commands one after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def wait_until_ready(self) -> None:
        """Wait until the process has imported what it needs."""
        self._read()

    def send(self, command: Command) -> None:
        """Start a command."""
        assert self._process.stdin is not None
        request = {"call": command.call, "arguments": list(command.arguments), "options": command.options}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Answer:
        """Wait for the answer to the last command."""
        found = self._read()
        return Answer(found.get("value"), found.get("error"), found.get("message", ""), found.get("trace", ""))

    def do(self, command: Command) -> Answer:
        """Call a function and wait for its answer."""
        self.send(command)
        return self.answer()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], PATIENCE)[0]:
            self._process.kill()
            return {"error": "Hanging", "message": f"no answer within {PATIENCE} seconds"}
        line = self._process.stdout.readline()
        return dict(json.loads(line)) if line else {"error": "Died", "message": f"status {self._process.wait()}"}

    def stop(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        if self._process.poll() is None:
            self._process.kill()


@contextlib.contextmanager
def workers(n: int) -> Iterator[list[Worker]]:
    """Some processes, ready to work, that end with the context."""
    started = [Worker() for _ in range(n)]
    try:
        for worker in started:
            worker.wait_until_ready()
        yield started
    finally:
        for worker in started:
            worker.stop()


def all_at_once(team: Sequence[Worker], commands: Sequence[Command]) -> list[Answer]:
    """Start a command in every process, then wait for all of them."""
    for worker, command in zip(team, commands, strict=True):
        worker.send(command)
    return [worker.answer() for worker in team]
