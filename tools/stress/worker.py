"""Processes that do what they are told on datasets of the database, until the connections to them are closed.

The argument is the number of an open socket over which sockets are sent: FiftyOne is imported once, and every socket is
served by a fork, which tells its process id first.

A command is a line of JSON: ``{"call", "arguments", "options"}``, where ``call`` is ``module:function`` and arguments
that are ``{"dataset": name}`` stand for a dataset. The answer is a line of JSON: ``{"value"}``, as far as JSON can hold
it, or ``{"error", "message", "trace"}``.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

#: bytes of memory of a process: one that wants more fails, and does not slow down all others
_MOST_MEMORY = 8 << 30

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def _argument(value: Any) -> Any:
    import fiftyone as fo

    return fo.load_dataset(value["dataset"]) if isinstance(value, dict) and set(value) == {"dataset"} else value


def _answer(command: dict[str, Any]) -> dict[str, Any]:
    module, _, function = command["call"].partition(":")
    try:
        called = getattr(importlib.import_module(module), function)
        value = called(
            *map(_argument, command["arguments"]),
            **{name: _argument(value) for name, value in command["options"].items()},
        )
    except Exception as error:  # what a campaign looks for
        return {"error": type(error).__name__, "message": str(error), "trace": traceback.format_exc()}
    return {"value": value}


def _serve(connection: socket.socket) -> None:
    with connection, connection.makefile("rw", encoding="utf-8") as lines:
        lines.write(json.dumps({"value": os.getpid()}) + "\n")
        lines.flush()
        for line in lines:
            lines.write(json.dumps(_answer(json.loads(line)), default=lambda _: None) + "\n")
            lines.flush()


def main() -> None:
    """Serve every socket that is sent in a process of its own."""
    from tools.dev.plugin import load_plugin

    load_plugin()
    import fiftyone  # noqa: F401 - takes seconds

    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that ended
        while sent := socket.recv_fds(asked, 1, 1)[1]:
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.setpgid(0, 0)
                asked.close()
                try:
                    _serve(socket.socket(fileno=sent[0]))
                finally:
                    os._exit(0)
            os.close(sent[0])


if __name__ == "__main__":
    main()
