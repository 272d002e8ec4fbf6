"""Memory, very many samples, and data at the limits: each run in a process of its own."""

from __future__ import annotations

import contextlib
import functools
import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import fiftyone as fo
import numpy as np
import psutil
from numpy.typing import NDArray

from tools.dev.plugin import load_plugin

from . import generated
from .generated import ANNOTATORS, GeneratedBoxes, documents, make_dataset, random_boxes
from .output import Limit, Row, at_most, command_of, in_process, say, timed
from .panel import TABS, click, first_opening, seconds_of

SIZES = (10_000, 100_000)
#: samples of ``million``, of which SAMPLES=200000 in the environment tries fewer, and of the run it is compared with
N_MILLION, N_FEW = int(os.environ.get("SAMPLES", 1_000_000)), 50_000
#: samples of it that are generated here; the database copies them
_GENERATED = 10_000
BOXES_OF_MILLION, WORKERS = 5.0, 2
_MIB = 1024.0


def peak_mib(process: int | str = "self") -> float:
    """Peak memory of a process in MiB, without memory of its parent before the fork; 0 where it is gone."""
    status = Path(f"/proc/{process}/status")
    if status.exists():
        with contextlib.suppress(OSError):
            lines = status.read_text(encoding="ascii").splitlines()
            return next((int(line.split()[1]) / _MIB for line in lines if line.startswith("VmHWM")), 0.0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MIB if process == "self" else 0.0


def measured_run(name: str, annotators: Sequence[str], workers: int | None = None) -> dict[str, Any]:
    """A run of a dataset: its seconds, the memory in MiB of this process, idle and at most, and of its workers."""
    dataset, plugin = fo.load_dataset(name), load_plugin()
    plugin.compute(dataset.limit(50), list(annotators), run_key="warm_up", progress=False)
    plugin.load(dataset, "warm_up").delete()
    idle, peaks, last, ended = (
        psutil.Process().memory_info().rss / _MIB**2,
        dict[int, float](),
        [0.0],
        threading.Event(),
    )

    def watch() -> None:
        while not ended.wait(0.5):
            for child in psutil.Process().children():
                peak = peak_mib(child.pid)
                if peak > idle / 2:  # not the helper of Python's own
                    peaks[child.pid], last[0] = peak, time.perf_counter()

    threading.Thread(target=watch, daemon=True).start()
    options = {} if workers is None else {"workers": workers}
    seconds, run = timed(lambda: plugin.compute(dataset, list(annotators), progress=False, **options))
    reduce = time.perf_counter() - last[0]
    ended.set()
    collection = dataset._sample_collection
    size = collection.database.command("collstats", collection.name)["size"]
    records = collection.database.fs.files.find({"_id": {"$regex": "^annotator_agreement/"}})
    return {
        "seconds": seconds,
        "idle": idle,
        "peak": peak_mib(),
        "n_objects": run.report.n_objects,
        "reduce": reduce,
        "workers": sorted(peaks.values())[-(workers or 1) :],
        "stored": {"samples": size / 2**20, "records": sum(each["length"] for each in records) / 2**20},
    }


def memory() -> list[Row]:
    """Peak memory and time per sample as the dataset grows."""
    found = []
    for size in SIZES:
        make_dataset(f"bench-{size}", size)
        found.append(in_process(measured_run, f"bench-{size}", ANNOTATORS))
        fo.delete_dataset(f"bench-{size}")
    peaks = [each["peak"] - each["idle"] for each in found]
    seconds = [1000 * each["seconds"] / size for each, size in zip(found, SIZES, strict=True)]
    more = (peaks[1] - peaks[0]) * _MIB**2 / (SIZES[1] - SIZES[0])
    few, many = (f"at {size} samples" for size in SIZES)
    return [
        Row(f"peak memory above idle {few}, MiB", peaks[0], at_most(300)),
        Row(f"peak memory above idle {many}, MiB", peaks[1], at_most(300)),
        Row("bytes for each additional sample", more, at_most(2_900)),
        Row(f"seconds per 1,000 samples {many} / {few}", seconds[1], Limit(0.8, 1.2), seconds[0]),
    ]


# ---- a million ----


def million() -> list[Row]:
    """Minutes and peak memory of a run with two workers, and how fast the panel answers afterwards; takes an hour."""
    rows, opened = [], {}
    for n_samples in (N_FEW, N_MILLION):
        name = f"bench-million-{n_samples}"
        try:
            seconds = in_process(copied_dataset, name, n_samples)
            say(f"million: {n_samples:,} samples made in {seconds:.0f} s; load {os.getloadavg()[0]:.1f}")
            found = in_process(measured_run, name, ANNOTATORS[:2], WORKERS)
            say(f"million: {n_samples:,} samples, {WORKERS} workers: {found}; load {os.getloadavg()[0]:.1f}")
            of = f"{n_samples:,} samples, {WORKERS} workers"
            rows += [
                Row(f"{of}: minutes", found["seconds"] / 60),
                Row(f"{of}: minutes of them after the last shard", found["reduce"] / 60),
                Row(f"{of}: peak of the reducing process, GiB", found["peak"] / 1024, at_most(3)),
                Row(f"{of}: peak of a worker, GiB", max(found["workers"]) / 1024, at_most(1)),
            ]
            opened[n_samples] = in_process(open_panel, name)
        finally:
            for each in {name, f"{name}-base"} & set(fo.list_datasets()):
                fo.delete_dataset(each)
    for what, seconds in opened[N_MILLION].items():
        title = f"panel, {what}, s at {N_MILLION:,} / at {N_FEW:,}"
        rows.append(Row(title, seconds, at_most(2), opened[N_FEW][what]))
    return rows


def copied_dataset(name: str, n_samples: int) -> float:
    """Generate some samples, and have the database copy them; returns the seconds."""
    started = time.perf_counter()
    generated.OBJECTS_PER_SAMPLE = (BOXES_OF_MILLION - generated.EXTRA_PER_ANNOTATOR) / (1 - generated.MISS_RATE)
    base = make_dataset(f"{name}-base", min(_GENERATED, n_samples), ANNOTATORS[:2])
    dataset = fo.Dataset(name, persistent=True, overwrite=True)
    dataset.merge_samples(base.limit(1))  # for the fields
    dataset.clear()
    for copy in range(0, n_samples, _GENERATED):
        stages = [
            {"$limit": min(_GENERATED, n_samples - copy)},
            {"$unset": "_id"},
            {"$set": {"filepath": {"$concat": [f"/{copy}", "$filepath"]}, "_dataset_id": dataset._doc.id}},
            {"$merge": dataset._sample_collection_name},
        ]
        base._sample_collection.aggregate(stages)
    base.delete()
    return time.perf_counter() - started


def open_panel(name: str) -> dict[str, float]:
    """Seconds of the panel: the first view in a new process, tabs, and the next object to decide on."""
    load_plugin()
    dataset = fo.load_dataset(name)
    found = {"first view": float(np.median([in_process(first_opening, name) for _ in range(5)]))}
    seconds_of("on_load", dataset, {})
    for tab in TABS:
        shown = [seconds_of("choose_tab", dataset, {"shown": str(k), "tab": ""}, value=tab) for k in range(5)]
        found[f"tab {tab}"] = float(np.median(shown))
    return {**found, "next object": click(dataset)}


# ---- limits ----

SEED, N_CLASSES = 51, 80
#: boxes ``(R, N, 4)`` as FiftyOne stores them, and their class numbers ``(R, N)``
Drawn = tuple[NDArray[np.float64], NDArray[np.int64]]


def _jittered(true: NDArray[np.float64], n_annotators: int, n_classes: int, rng: np.random.Generator) -> Drawn:
    """Every annotator's version of some boxes ``(x, y, width, height)``."""
    moved = rng.normal(0.0, 0.06, (2, n_annotators, len(true), 2)) * true[:, 2:]
    boxes = np.concatenate([true[:, :2] + moved[0], true[:, 2:] + np.abs(moved[1])], axis=-1)
    classes = rng.integers(0, n_classes, (n_annotators, len(true)))
    same = rng.random(classes.shape) >= 0.06
    return boxes, np.where(same, classes[:1], classes)


#: by name: what it is, seconds and GiB that are allowed, and how it is drawn
CASES: dict[str, tuple[str, float, float, Callable[[np.random.Generator], list[Drawn]]]] = {
    "many_annotators": (
        *("300 annotators x 50 images x 10 boxes", 60, 2),
        lambda rng: [_jittered(random_boxes(10, rng), 300, N_CLASSES, rng) for _ in range(50)],
    ),
    "large_image": (
        *("one image with 3 x 20,000 boxes", 20, 2),
        lambda rng: [_jittered(random_boxes(20_000, rng, (0.002, 0.012)), 3, N_CLASSES, rng)],
    ),
    "one_spot": (
        *("5 x 3,000 boxes on one spot", 60, 2),
        lambda rng: [_jittered(np.tile([[0.4, 0.4, 0.2, 0.2]], (3_000, 1)), 5, 3, rng)],
    ),
    "many_classes": (
        *("100,000 classes on 1,000 x 100 boxes", 60, 2),
        lambda rng: [_jittered(random_boxes(50, rng), 2, 100_000, rng) for _ in range(1_000)],
    ),
}


def limits() -> list[Row]:
    """Run ``compute()`` on each of the cases, and interrupt one; and repair, or refuse, scribbled polygons."""
    rows = []
    for name, (title, most_seconds, most_gib, _) in CASES.items():
        make_case(name)
        seconds, mib = in_process(run_case, name)
        fo.delete_dataset(f"bench-limits-{name}")
        rows.append(Row(f"{title}, s", seconds, at_most(most_seconds)))
        rows.append(Row(f"{title}, GiB", mib / 1024.0, at_most(most_gib)))
    load_plugin()
    from annotator_agreement.metrics.geometry.polygons import polygons_from_rings, tangled_shapes

    rng = np.random.default_rng(SEED)

    def scribble(n: int) -> None:
        ring = (rng.random((n, 2)), np.zeros(n, np.int64), np.zeros(1, np.int64), 1)
        if not tangled_shapes(*ring).any():
            polygons_from_rings(*ring)

    slowest = max(timed(functools.partial(scribble, n))[0] for n in (100, 120, 130, 140, 200, 2_000, 20_000))
    rows.append(Row("a scribbled polygon, s", slowest, at_most(2)))
    rows.append(Row("from an interrupt to the end of a run, s", _interrupted_seconds(), at_most(5)))
    return rows


def _interrupted_seconds() -> float:
    """Processor seconds that a run on crowded images still takes when the user interrupts it."""
    dataset = make_case("one_spot")
    process = subprocess.Popen(command_of(run_case, "one_spot"), stderr=subprocess.DEVNULL)
    while not dataset.list_runs() and process.poll() is None:
        time.sleep(0.05)
        dataset.reload()
    time.sleep(2.0)  # it compares labels
    before = sum(psutil.Process(process.pid).cpu_times()[:2])
    process.send_signal(signal.SIGINT)
    _, _, used = os.wait4(process.pid, 0)
    dataset.delete()
    return used.ru_utime + used.ru_stime - before


def make_case(name: str) -> fo.Dataset:
    """Make the dataset of a case."""
    boxes, classes = (np.stack(columns) for columns in zip(*CASES[name][-1](np.random.default_rng(SEED)), strict=True))
    annotators = [f"a{k:03d}" for k in range(boxes.shape[1])]
    dataset = fo.Dataset(f"bench-limits-{name}", persistent=True, overwrite=True)
    dataset.add_sample_field(annotators[0], fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    load_plugin()
    from annotator_agreement.dataset_io.record.schema import declare

    # FiftyOne's own declaring of 300 fields takes minutes
    declare(dataset, dict.fromkeys(annotators[1:], dataset.get_field(annotators[0])))
    sample, annotator, _ = (place.ravel() for place in np.indices(classes.shape))
    data = GeneratedBoxes(sample, annotator, classes.ravel(), boxes.reshape(-1, 4), len(classes), len(annotators))
    for document in documents(data, dataset._doc.id, annotators):
        dataset._sample_collection.insert_one(document)
    return dataset


def run_case(name: str) -> tuple[float, float]:
    """Compute the agreement of a case; seconds and peak memory in MiB."""
    dataset, plugin = fo.load_dataset(f"bench-limits-{name}"), load_plugin()
    annotators = sorted(dataset.get_field_schema(embedded_doc_type=fo.Detections))
    # with the default key, what is written for 60,000 labels would not fit into the 16 MB of one sample
    seconds, _ = timed(lambda: plugin.compute(dataset, annotators, run_key="r", progress=False))
    return seconds, peak_mib()
