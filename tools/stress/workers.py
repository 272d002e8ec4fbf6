"""Several processes that work on the same datasets; each lives long, as starting one with FiftyOne takes seconds."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

#: seconds after which a process counts as hanging
PATIENCE = 120
#: seconds within which a process ends that nobody needs any more
_ENDING = 10


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

    @property
    def told(self) -> str:
        """The error, for examples of failures."""
        return f"{self.error}: {self.message[:300]}"


class Worker:
    """A process that answers commands one after the other; it ends when the connection to it is closed."""

    def __init__(self, asked: socket.socket) -> None:
        self._asked = asked
        self._start()

    def _start(self) -> None:
        """Let the process that makes the others make one."""
        self._connection, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._asked, [b"1"], [theirs.fileno()])
        self._lines = self._connection.makefile("rw", encoding="utf-8")

    def wait_until_ready(self) -> None:
        """Wait until the process has imported what it needs."""
        self.pid = int(self._read()["value"])

    def send(self, command: Command) -> None:
        """Start a command."""
        request = {"call": command.call, "arguments": list(command.arguments), "options": command.options}
        self._lines.write(json.dumps(request) + "\n")
        self._lines.flush()

    def is_answered(self) -> bool:
        """Whether there is an answer to read, or the process is gone."""
        return bool(select.select([self._connection], [], [], 0)[0])

    def answer(self, patience: float = PATIENCE) -> Answer:
        """Wait for the answer to the last command; after so many seconds the process hangs, and another one follows."""
        found = self._read(patience)
        return Answer(found.get("value"), found.get("error"), found.get("message", ""), found.get("trace", ""))

    def do(self, command: Command, patience: float = PATIENCE) -> Answer:
        """Call a function and wait for its answer."""
        self.send(command)
        return self.answer(patience)

    def kill(self, command: Command, seconds: float) -> None:
        """Start a command, and kill the process so many seconds later."""
        self.send(command)
        time.sleep(seconds)
        os.kill(self.pid, signal.SIGKILL)
        self.answer()

    def _read(self, patience: float = PATIENCE) -> dict[str, Any]:
        if not select.select([self._connection], [], [], patience)[0]:
            self.stop()  # its late answer would be taken for that to the next command
            self._start()
            self.wait_until_ready()
            return {"error": "Hanging", "message": f"no answer within {patience} seconds"}
        line = self._lines.readline()
        return dict(json.loads(line)) if line else {"error": "Died", "message": "the process is gone"}

    def stop(self) -> None:
        """End the process, also one that hangs, and those that it started."""
        self._connection.shutdown(socket.SHUT_WR)
        select.select([self._connection], [], [], _ENDING)
        self._connection.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


@contextlib.contextmanager
def workers(n: int) -> Iterator[list[Worker]]:
    """Some processes, ready to work, that end with the context; they are forks of one, which imports FiftyOne once."""
    (_, asked), started = _server(os.environ["FIFTYONE_DATABASE_URI"]), list[Worker]()
    try:
        started += [Worker(asked) for _ in range(n)]
        for worker in started:
            worker.wait_until_ready()
        yield started
    finally:
        for worker in started:
            worker.stop()


@functools.lru_cache(maxsize=1)
def _server(database: str) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """The process that makes the others for a database, and the connection to it, with which it ends."""
    ours, theirs = socket.socketpair()
    nowhere = subprocess.DEVNULL
    with theirs:
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("worker.py")), str(theirs.fileno())],
            stdin=nowhere,
            stdout=nowhere,
            stderr=nowhere,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            env={**os.environ, "FIFTYONE_DATABASE_URI": database},
        )
    return process, ours


def all_at_once(team: Sequence[Worker], commands: Sequence[Command]) -> list[Answer]:
    """Start a command in every process, then wait for all of them."""
    for worker, command in zip(team, commands, strict=True):
        worker.send(command)
    return [worker.answer() for worker in team]
