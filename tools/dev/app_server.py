"""FiftyOne's server: started for the App, and waited for."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from .private_fiftyone import PATIENT_SECONDS

LOG = "app.log"


def wait_for_server() -> None:
    """Let FiftyOne wait as long for its server as a busy machine takes to import it; it waits for a minute otherwise.

    Where the server ends, or never answers, FiftyOne raises a RuntimeError with a sentence.
    """
    from fiftyone.core.service import ServerService, ServiceListenTimeout

    look = ServerService._wait_for_child_port

    def wait(service: Any, port: int | None = None, timeout: int = PATIENT_SECONDS) -> int:
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            with contextlib.suppress(ServiceListenTimeout):
                return int(look(service, port, timeout=1))
            if service.child.poll() is not None:
                raise RuntimeError(f"FiftyOne's server ended with exit code {service.child.poll()} before it answered")
        raise RuntimeError(f"FiftyOne's server did not answer on port {port} within {timeout} seconds")

    ServerService._wait_for_child_port = wait


def require_free(port: int) -> None:
    """Check that nobody listens on a port: FiftyOne would take another App there, with another database, for ours."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            raise RuntimeError(f"Port {port} is in use; name another one: make app PORT={port + 1}")


def start_server(port: int, folder: Path) -> subprocess.Popen[bytes]:
    """Start the server of the App as a process, with its log and home in a folder; :func:`wait_until_it_answers`.

    The environment must point to a running private FiftyOne. There is no session: a session that connects late, on a
    busy machine, would change the dataset of an open page. Nor a process that supervises it, which takes as long to
    start as the server itself.
    """
    spec = importlib.util.find_spec("fiftyone")
    if spec is None or spec.origin is None:
        raise RuntimeError("There is no FiftyOne; run `make setup` first")
    with (folder / LOG).open("w") as log:
        return subprocess.Popen(
            [sys.executable, "main.py", "--port", str(port), "--address", "127.0.0.1"],
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=Path(spec.origin).parent / "server",
            env=dict(os.environ, PYTHONUNBUFFERED="1", HOME=str(folder), FIFTYONE_DO_NOT_TRACK="1"),
        )


def wait_until_it_answers(process: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    """Wait until the server of the App answers."""
    deadline = time.monotonic() + PATIENT_SECONDS
    while not _answers(f"http://127.0.0.1:{port}/fiftyone"):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"The App did not start:\n{(folder / LOG).read_text()}")
        time.sleep(0.2)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=10):
            return True
    except OSError:
        return False
