"""Seconds and memory of data at the limits, each case in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from bson import ObjectId
from numpy.typing import NDArray
from scipy import sparse

from .memory import peak_mib
from .output import Row, at_most, say

SEED = 51
N_CLASSES = 80

#: boxes ``(R, N, 4)`` as FiftyOne stores them, and their class numbers ``(R, N)``
Drawn = tuple[NDArray[np.float64], NDArray[np.int64]]


def _jittered(true: NDArray[np.float64], n_annotators: int, n_classes: int, rng: np.random.Generator) -> Drawn:
    """Every annotator's version of some boxes ``(x, y, width, height)``."""
    moved = rng.normal(0.0, 0.06, (2, n_annotators, len(true), 2)) * true[:, 2:]
    boxes = np.concatenate([true[:, :2] + moved[0], true[:, 2:] + np.abs(moved[1])], axis=-1)
    classes = rng.integers(0, n_classes, (n_annotators, len(true)))
    same = rng.random(classes.shape) >= 0.06
    return boxes, np.where(same, classes[:1], classes)


def _scattered(n: int, size: tuple[float, float], rng: np.random.Generator) -> NDArray[np.float64]:
    sides = rng.uniform(*size, (n, 2))
    return np.hstack([rng.uniform(0.0, 1.0 - sides), sides])


def _many_annotators(rng: np.random.Generator) -> list[Drawn]:
    return [_jittered(_scattered(10, (0.05, 0.35), rng), 300, N_CLASSES, rng) for _ in range(50)]


def _large_image(rng: np.random.Generator) -> list[Drawn]:
    return [_jittered(_scattered(20_000, (0.002, 0.012), rng), 3, N_CLASSES, rng)]


def _one_spot(rng: np.random.Generator) -> list[Drawn]:
    return [_jittered(np.tile([[0.4, 0.4, 0.2, 0.2]], (3_000, 1)), 5, 3, rng)]


def _many_classes(rng: np.random.Generator) -> list[Drawn]:
    return [_jittered(_scattered(50, (0.05, 0.35), rng), 2, 100_000, rng) for _ in range(1_000)]


#: by name: the data, seconds and GiB that are allowed
CASES: dict[str, tuple[Callable[[np.random.Generator], list[Drawn]], str, float, float]] = {
    "many_annotators": (_many_annotators, "300 annotators x 50 images x 10 boxes", 60, 2),
    "large_image": (_large_image, "one image with 3 x 20,000 boxes", 20, 2),
    "one_spot": (_one_spot, "5 x 3,000 boxes on one spot", 60, 2),
    "many_classes": (_many_classes, "100,000 classes on 1,000 x 100 boxes", 60, 2),
}


def measure() -> list[Row]:
    """Run ``compute()`` on each of them; and repair, or refuse, scribbled polygons."""
    rows = []
    for name, (_, title, most_seconds, most_gib) in CASES.items():
        for part in ("make", "run"):
            command = [sys.executable, "-m", "tools.bench.limits", part, name]
            answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        seconds, mib = json.loads(answer[-1])
        say(f"limits: {title}: {seconds:.1f} s, {mib:.0f} MiB")
        rows.append(Row(f"{title}, s", seconds, None, None, at_most(most_seconds)))
        rows.append(Row(f"{title}, GiB", mib / 1024.0, None, None, at_most(most_gib)))
    rows.append(Row("a scribbled polygon, s", _scribble_seconds(), None, None, at_most(2)))
    rows.append(Row("from an interrupt to the end of a run, s", _interrupted_seconds(), None, None, at_most(5)))
    rows.append(Row("a file of 1,000 requirements, read, s", _requirements_seconds(), None, None, at_most(5)))
    rows.append(Row("50 resamples of sparse rows of 100,000 columns, s", _sparse_seconds(), None, None, at_most(0.5)))
    return rows


def _interrupted_seconds() -> float:
    """Processor seconds that a run on crowded images still takes when the user interrupts it."""
    subprocess.run([sys.executable, "-m", "tools.bench.limits", "make", "one_spot"], check=True, capture_output=True)
    command = [sys.executable, "-m", "tools.bench.limits", "run", "one_spot"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    import fiftyone as fo

    dataset = fo.load_dataset("bench-limits-one_spot")
    while not dataset.list_runs() and process.poll() is None:
        time.sleep(0.05)
        dataset.reload()
    time.sleep(2.0)  # it compares labels
    before = sum(psutil.Process(process.pid).cpu_times()[:2])
    process.send_signal(signal.SIGINT)
    _, _, used = os.wait4(process.pid, 0)
    dataset.delete()
    return used.ru_utime + used.ru_stime - before


def _requirements_seconds() -> float:
    """Seconds until a file with as many requirements as are taken is read and checked."""
    from tools.dev.plugin import load_plugin

    load_plugin()
    from annotator_agreement.dataset_io.results.check import read_requirements

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requirements.yaml"
        lines = [f"  r{k}: {{number: f1, at_least: 0.{k:03}}}\n" for k in range(1_000)]
        path.write_text("requirements:\n" + "".join(lines), encoding="utf-8")
        started = time.perf_counter()
        read_requirements(path)
        return time.perf_counter() - started


def _sparse_seconds() -> float:
    """Row by row, each would fill a table of all columns for every resample: many times as much work."""
    from tools.dev.plugin import load_plugin

    load_plugin()
    from annotator_agreement.metrics.bootstrap import draws
    from annotator_agreement.metrics.bootstrap.confidence import Part

    columns = sparse.csr_array((np.ones(2_000), (np.arange(2_000), np.arange(2_000) * 50)), shape=(2_000, 100_000))
    started = time.perf_counter()
    part = Part(draws.checked_columns(columns, "columns"), lambda sums: sums)
    list(draws.resampled([part], draws.Draws(2_000, 50, SEED)))
    return time.perf_counter() - started


def _scribble_seconds() -> float:
    """Seconds of the slowest of some polygons of random points."""
    from tools.dev.plugin import load_plugin

    load_plugin()
    from annotator_agreement.metrics.geometry.polygons import polygons_from_rings, tangled_shapes

    rng = np.random.default_rng(SEED)
    seconds = []
    for n in (100, 120, 130, 140, 200, 2_000, 20_000):
        ring = (rng.random((n, 2)), np.zeros(n, np.int64), np.zeros(1, np.int64), 1)
        started = time.perf_counter()
        if not tangled_shapes(*ring).any():
            polygons_from_rings(*ring)
        seconds.append(time.perf_counter() - started)
    return max(seconds)


def make(name: str) -> Any:
    """The dataset of a case, and the names of its annotators."""
    import fiftyone as fo

    from tools.dev.plugin import load_plugin

    images = CASES[name][0](np.random.default_rng(SEED))
    annotators = [f"a{k:03d}" for k in range(len(images[0][0]))]
    dataset = fo.Dataset(f"bench-limits-{name}", persistent=True, overwrite=True)
    dataset.add_sample_field(annotators[0], fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    load_plugin()
    from annotator_agreement.dataset_io.record.schema import declare

    # FiftyOne's own declaring of 300 fields takes minutes
    declare(dataset, dict.fromkeys(annotators[1:], dataset.get_field(annotators[0])))
    now = datetime.now(timezone.utc)
    for number, (boxes, classes) in enumerate(images):
        document: dict[str, Any] = {
            "filepath": f"/nowhere/{number:06d}.jpg",
            "tags": [],
            "_media_type": "image",
            "_rand": number / len(images),
            "_dataset_id": dataset._doc.id,
            "created_at": now,
            "last_modified_at": now,
        }
        for annotator, of_boxes, of_classes in zip(annotators, boxes.tolist(), classes.tolist(), strict=True):
            labels = [
                {"_id": ObjectId(), "_cls": "Detection", "tags": [], "label": f"class_{code}", "bounding_box": box}
                for box, code in zip(of_boxes, of_classes, strict=True)
            ]
            document[annotator] = {"_cls": "Detections", "detections": labels}
        dataset._sample_collection.insert_one(document)
    dataset.reload()
    return dataset


def _run(name: str) -> None:
    """Compute the agreement of a case; print seconds and peak memory."""
    import fiftyone as fo

    from tools.dev.plugin import load_plugin

    dataset = fo.load_dataset(f"bench-limits-{name}")
    annotators = sorted(field for field in dataset.get_field_schema(embedded_doc_type=fo.Detections))
    plugin = load_plugin()
    started = time.perf_counter()
    # with the default key, what is written for 60,000 labels would not fit into the 16 MB of one sample
    plugin.compute(dataset, annotators, run_key="r", progress=False)
    seconds = time.perf_counter() - started
    peak = peak_mib()
    dataset.delete()
    say(json.dumps([seconds, peak]))


if __name__ == "__main__":
    make(sys.argv[2]) if sys.argv[1] == "make" else _run(sys.argv[2])
