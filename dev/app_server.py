"""The App with the demo dataset, in a process of its own: ``python -m dev.app_server PORT DATASET FOLDER``.

The environment must point to a running private FiftyOne. Prints READY when the App answers.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path


def main() -> None:
    """Build the dataset, launch the App, wait until killed."""
    port, name, folder = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    import fiftyone as fo

    from demo.dataset import build_demo_dataset

    dataset = build_demo_dataset(folder, name)
    fo.launch_app(dataset, remote=True, port=port, address="127.0.0.1")
    sys.stdout.write("READY\n")
    sys.stdout.flush()
    while True:
        time.sleep(1)


if __name__ == "__main__":
    main()
