"""Seconds and memory of data at the limits, each case in a process of its own."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray
from scipy import sparse

from tools.dev.plugin import load_plugin

from .generated import GeneratedBoxes, documents
from .memory import peak_mib
from .output import Row, at_most, in_process, say, timed

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


_WIDE, _TINY = (0.05, 0.35), (0.002, 0.012)
_MAKE: dict[str, Callable[[np.random.Generator], list[Drawn]]] = {
    "many_annotators": lambda rng: [_jittered(_scattered(10, _WIDE, rng), 300, N_CLASSES, rng) for _ in range(50)],
    "large_image": lambda rng: [_jittered(_scattered(20_000, _TINY, rng), 3, N_CLASSES, rng)],
    "one_spot": lambda rng: [_jittered(np.tile([[0.4, 0.4, 0.2, 0.2]], (3_000, 1)), 5, 3, rng)],
    "many_classes": lambda rng: [_jittered(_scattered(50, _WIDE, rng), 2, 100_000, rng) for _ in range(1_000)],
}
#: by name: what it is, seconds and GiB that are allowed
CASES: dict[str, tuple[str, float, float]] = {
    "many_annotators": ("300 annotators x 50 images x 10 boxes", 60, 2),
    "large_image": ("one image with 3 x 20,000 boxes", 20, 2),
    "one_spot": ("5 x 3,000 boxes on one spot", 60, 2),
    "many_classes": ("100,000 classes on 1,000 x 100 boxes", 60, 2),
}
_in_process = functools.partial(in_process, "tools.bench.limits")


def measure() -> list[Row]:
    """Run ``compute()`` on each of them; and repair, or refuse, scribbled polygons."""
    rows = []
    for name, (title, most_seconds, most_gib) in CASES.items():
        _in_process("make", name)
        seconds, mib = _in_process("run", name)
        say(f"limits: {title}: {seconds:.1f} s, {mib:.0f} MiB")
        rows.append(Row(f"{title}, s", seconds, at_most(most_seconds)))
        rows.append(Row(f"{title}, GiB", mib / 1024.0, at_most(most_gib)))
    load_plugin()
    rows.append(Row("a scribbled polygon, s", _scribble_seconds(), at_most(2)))
    rows.append(Row("from an interrupt to the end of a run, s", _interrupted_seconds(), at_most(5)))
    rows.append(Row("a file of 1,000 requirements, read, s", _requirements_seconds(), at_most(5)))
    rows.append(Row("50 resamples of sparse rows of 100,000 columns, s", _sparse_seconds(), at_most(0.5)))
    return rows


def _interrupted_seconds() -> float:
    """Processor seconds that a run on crowded images still takes when the user interrupts it."""
    _in_process("make", "one_spot")
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
    from annotator_agreement.dataset_io.results.check import read_requirements

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requirements.yaml"
        lines = [f"  r{k}: {{number: f1, at_least: 0.{k:03}}}\n" for k in range(1_000)]
        path.write_text("requirements:\n" + "".join(lines), encoding="utf-8")
        return timed(lambda: read_requirements(path))[0]


def _sparse_seconds() -> float:
    """Row by row, each would fill a table of all columns for every resample: many times as much work."""
    from annotator_agreement.metrics.bootstrap import draws
    from annotator_agreement.metrics.bootstrap.confidence import Part

    columns = sparse.csr_array((np.ones(2_000), (np.arange(2_000), np.arange(2_000) * 50)), shape=(2_000, 100_000))

    def resample() -> None:
        part = Part(draws.checked_columns(columns, "columns"), lambda sums: sums)
        list(draws.resampled([part], draws.Draws(2_000, 50, SEED)))

    return timed(resample)[0]


def _scribble_seconds() -> float:
    """Seconds of the slowest of some polygons of random points."""
    from annotator_agreement.metrics.geometry.polygons import polygons_from_rings, tangled_shapes

    rng = np.random.default_rng(SEED)

    def scribble(n: int) -> None:
        ring = (rng.random((n, 2)), np.zeros(n, np.int64), np.zeros(1, np.int64), 1)
        if not tangled_shapes(*ring).any():
            polygons_from_rings(*ring)

    return max(timed(functools.partial(scribble, n))[0] for n in (100, 120, 130, 140, 200, 2_000, 20_000))


def make(name: str) -> None:
    """Make the dataset of a case."""
    import fiftyone as fo

    boxes, classes = (np.stack(columns) for columns in zip(*_MAKE[name](np.random.default_rng(SEED)), strict=True))
    annotators = [f"a{k:03d}" for k in range(boxes.shape[1])]
    dataset = fo.Dataset(f"bench-limits-{name}", persistent=True, overwrite=True)
    dataset.add_sample_field(annotators[0], fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    load_plugin()
    from annotator_agreement.dataset_io.record.schema import declare

    # FiftyOne's own declaring of 300 fields takes minutes
    declare(dataset, dict.fromkeys(annotators[1:], dataset.get_field(annotators[0])))
    sample, annotator, _ = (place.ravel() for place in np.indices(classes.shape))
    data = GeneratedBoxes(sample, annotator, classes.ravel(), boxes.reshape(-1, 4), len(classes), len(annotators))
    for document in documents(data, dataset._doc.id, tuple(annotators)):
        dataset._sample_collection.insert_one(document)
    say("true")


def _run(name: str) -> None:
    """Compute the agreement of a case; print seconds and peak memory."""
    import fiftyone as fo

    dataset = fo.load_dataset(f"bench-limits-{name}")
    annotators = sorted(dataset.get_field_schema(embedded_doc_type=fo.Detections))
    plugin = load_plugin()
    # with the default key, what is written for 60,000 labels would not fit into the 16 MB of one sample
    seconds, _ = timed(lambda: plugin.compute(dataset, annotators, run_key="r", progress=False))
    peak = peak_mib()
    dataset.delete()
    say(json.dumps([seconds, peak]))


if __name__ == "__main__":
    make(sys.argv[2]) if sys.argv[1] == "make" else _run(sys.argv[2])
