"""A process whose children are killed (SIGKILL) just before a given write to the database.

Several threads write at once. The child is killed when all writes before the given one are answered, and none after it
is sent, so that it is known what was written.

FiftyOne is imported once; every request is served by a forked child. A request is a line of JSON on the standard input:
``{"dataset", "call", "arguments", "options", "kill_before"}``. The answer is a line: ``killed``, or ``done N`` with the
number of writes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from pathlib import Path

import pymongo.monitoring

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

_WRITES = {"insert", "update", "delete", "findAndModify", "create", "createIndexes", "dropIndexes", "drop"}


class _Killer(pymongo.monitoring.CommandListener):
    """Counts the writes of a child process, and kills it just before a given write."""

    n_writes = 0
    n_answered = 0
    kill_before: int | None = None

    def __init__(self) -> None:
        self._counting = threading.Condition()

    def begin(self, kill_before: int | None) -> None:
        """Count from now on."""
        self.n_writes = self.n_answered = 0
        self.kill_before = kill_before

    def started(self, event: pymongo.monitoring.CommandStartedEvent) -> None:
        if event.command_name not in _WRITES:
            return
        with self._counting:
            if self.n_writes + 1 == self.kill_before:  # writes of other threads come here and wait, too
                self._counting.wait_for(lambda: self.n_answered >= self.n_writes)
                os.kill(os.getpid(), signal.SIGKILL)
            self.n_writes += 1

    def _answered(self, event: pymongo.monitoring._CommandEvent) -> None:
        if event.command_name in _WRITES:
            with self._counting:
                self.n_answered += 1
                self._counting.notify_all()

    succeeded = failed = _answered


KILLER = _Killer()
pymongo.monitoring.register(KILLER)  # before FiftyOne makes its client


def _serve(request: dict) -> None:
    import fiftyone as fo

    from tools.dev.plugin import load_plugin

    load_plugin()
    read = __import__("importlib").import_module("annotator_agreement.dataset_io.run.read")
    read.BATCH_SAMPLES = 4
    dataset = fo.load_dataset(request["dataset"])
    KILLER.begin(request["kill_before"])
    called = getattr(sys.modules["annotator_agreement.dataset_io"], request["call"])
    called(dataset, *request["arguments"], **request["options"])
    sys.stdout.write(f"done {KILLER.n_writes}\n")
    sys.stdout.flush()


def main() -> None:
    import fiftyone  # noqa: F401

    from tools.dev.plugin import load_plugin

    load_plugin().compute  # noqa: B018
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                _serve(json.loads(line))
            except BaseException:
                traceback.print_exc()
                sys.stdout.write("error\n")
                sys.stdout.flush()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            sys.stdout.write("killed\n")
            sys.stdout.flush()


main()
