"""The App in a separate process: ``python -m tools.dev.app_server PORT``.

The environment must point to a running private FiftyOne. Prints READY when the App answers.

There is no session: a session that connects late, on a busy machine, would change the dataset of an open page.
"""

from __future__ import annotations

import sys
import time
import urllib.request

_START_SECONDS = 240


def main() -> None:
    """Start the App, wait until killed."""
    from fiftyone.core.service import ServerService

    class PatientService(ServerService):
        """Waits longer than FiftyOne's minute, because a busy machine needs more to import the server."""

        def _wait_for_child_port(self, port: int | None = None, timeout: int = _START_SECONDS) -> int:
            return super()._wait_for_child_port(port, timeout)

    server = PatientService(int(sys.argv[1]), address="127.0.0.1", do_not_track=True)
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
