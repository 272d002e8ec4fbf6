"""The App with the demo dataset, in a process of its own: ``python -m dev.app_server PORT DATASET FOLDER``.

The environment must point to a running private FiftyOne. Prints READY when the App answers.

There is no session: one that connects late, on a busy machine, would bring its dataset into a page that is open.
"""

from __future__ import annotations

import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def main() -> None:
    """Build the dataset, start the App, wait until killed."""
    port, name, folder = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    from fiftyone.core.service import ServerService

    from demo.dataset import build_demo_dataset

    # the server takes as long to start as the dataset to build
    with ThreadPoolExecutor() as pool:
        started = pool.submit(ServerService, port, address="127.0.0.1", do_not_track=True)
        build_demo_dataset(folder, name)
        server = started.result()
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
