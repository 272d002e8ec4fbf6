"""A second process that changes, adds and deletes labels until its standard input is closed.

Arguments: name of the dataset. Prints READY, and at the end the number of edits.
"""

from __future__ import annotations

import sys
import threading

import fiftyone as fo
import numpy as np


def main() -> None:
    """Edit random samples of the dataset through FiftyOne's own objects."""
    dataset = fo.load_dataset(sys.argv[1])
    ids = dataset.values("id")
    rng = np.random.default_rng(3)
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    sys.stdout.write("READY\n")
    sys.stdout.flush()
    n_edits = 0
    while not stop.is_set():
        sample = dataset[ids[int(rng.integers(len(ids)))]]
        sample.reload()
        if not sample.alice or not sample.alice.detections:
            continue
        kind = rng.choice(["add", "delete", "change"])
        if kind == "add":
            new = fo.Detection(label="new", bounding_box=[0.9, 0.9, 0.05, 0.05])
            sample.alice.detections.insert(0, new)
        elif kind == "delete":
            del sample.alice.detections[0]
        else:
            sample.alice.detections[0].label = "changed"
        sample.save()
        n_edits += 1
        stop.wait(0.002)
    sys.stdout.write(f"{n_edits}\n")


main()
