"""The App in a process of its own: ``python -m tools.dev.app_server PORT``.

The environment must point to a running private FiftyOne. Prints READY when the App answers.

There is no session: one that connects late, on a busy machine, would bring its dataset into a page that is open.
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
        """FiftyOne waits for a minute, in which a busy machine does not import the server."""

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
