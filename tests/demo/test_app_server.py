"""``make app`` waits for a slow server, and says in one sentence what is wrong."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tools.dev.app_server import wait_for_server
from tools.dev.private_fiftyone import ROOT, free_port

_SLOW = "import socket, time; time.sleep(3); s = socket.create_server(('127.0.0.1', {port})); time.sleep(600)"


@pytest.fixture
def server_service(private_fiftyone: Any) -> Iterator[type]:
    """FiftyOne's service, with our patience, and as it was afterwards."""
    from fiftyone.core.service import ServerService

    before = ServerService._wait_for_child_port
    wait_for_server()
    yield ServerService
    ServerService._wait_for_child_port = before


@pytest.mark.long
def test_a_slow_server_is_waited_for_and_one_that_never_answers_or_ends_is_said(server_service: type) -> None:
    def service(port: int, code: str) -> Any:
        command = property(lambda self: [sys.executable, "-c", code])
        return type("Service", (server_service,), {"command": command})(port, address="127.0.0.1", do_not_track=True)

    port = free_port()
    slow = service(port, _SLOW.format(port=port))
    with socket.create_connection(("127.0.0.1", port)):
        other = port + 1
        with pytest.raises(RuntimeError, match=f"^FiftyOne's server did not answer on port {other} within 1 seconds$"):
            slow._wait_for_child_port(other, timeout=1)
        slow.stop()
    with pytest.raises(RuntimeError, match=r"^FiftyOne's server ended with exit code \d+ before it answered$"):
        service(free_port(), "raise SystemExit(3)")


def test_a_port_in_use_is_said_in_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        command = [sys.executable, "-m", "tools.dev.show_demo", "app", "--port", str(port)]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.strip() == f"Port {port} is in use; name another one: make app PORT={port + 1}"
