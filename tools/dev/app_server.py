"""The App in a separate process: ``python -m tools.dev.app_server PORT``.

The environment must point to a running private FiftyOne. Prints READY when the App answers.

There is no session: a session that connects late, on a busy machine, would change the dataset of an open page.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import time
import urllib.request
from typing import Any

from .private_fiftyone import PATIENT_SECONDS


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


def main() -> None:
    """Start the App, wait until killed."""
    from fiftyone.core.service import ServerService

    wait_for_server()
    server = ServerService(int(sys.argv[1]), address="127.0.0.1", do_not_track=True)
    address = f"http://127.0.0.1:{server.port}/fiftyone"
    while not _answers(address):
        time.sleep(0.2)
    sys.stdout.write("READY\n")
    sys.stdout.flush()
    while True:
        time.sleep(1)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=10):
            return True
    except OSError:
        return False


if __name__ == "__main__":
    main()
