"""Very many samples: minutes and peak memory of a run with two workers, and how fast the panel answers afterwards.

``make bench ARGS=million`` takes an hour or more; ``SAMPLES=200000`` in the environment tries it with fewer samples.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import threading
import time
from typing import Any

from .output import Row, at_most, in_process, say

#: samples of the run, and of the one that the panel is compared with
N_SAMPLES, N_FEW = int(os.environ.get("SAMPLES", 1_000_000)), 50_000
ANNOTATORS = ("alice", "bob")
BOXES = 5.0
WORKERS = 2
#: samples that are generated here; the database copies them
_GENERATED = 10_000
_REPEATS = 5


def measure() -> list[Row]:
    """Make, compute, and open, each in a process of its own."""
    rows = []
    opened = {}
    for n_samples in (N_FEW, N_SAMPLES):
        name = f"bench-million-{n_samples}"
        try:
            say(f"million: {n_samples:,} samples made in {_in_process('make', name, n_samples):.0f} s; {_load()}")
            found = _in_process("compute", name, WORKERS)
            stored = ", ".join(f"{what} {mib:,.0f} MiB" for what, mib in found["stored"].items())
            say(
                f"million: {n_samples:,} samples, {len(ANNOTATORS)} annotators, {found['n_objects']:,} boxes, "
                f"{WORKERS} workers: {found['seconds'] / 60:.1f} min, {found['reduce'] / 60:.1f} min of them after the "
                f"last shard; peaks {found['peak']:.0f} MiB (idle {found['idle']:.0f}), of workers "
                f"{[round(each) for each in found['workers']]} MiB; {stored}; {_load()}"
            )
            of = f"{n_samples:,} samples, {WORKERS} workers"
            rows += [
                Row(f"{of}: minutes", found["seconds"] / 60),
                Row(f"{of}: peak of the reducing process, GiB", found["peak"] / 1024, at_most(3)),
                Row(f"{of}: peak of a worker, GiB", max(found["workers"]) / 1024, at_most(1)),
            ]
            opened[n_samples] = _in_process("open", name)
            say(f"million: panel, {n_samples:,} samples: {opened[n_samples]}; {_load()}")
        finally:
            _in_process("delete", name)
    for what, seconds in opened[N_SAMPLES].items():
        title = f"panel, {what}, s at {N_SAMPLES:,} / at {N_FEW:,}"
        rows.append(Row(title, seconds, at_most(2), opened[N_FEW][what]))
    return rows


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"


_in_process = functools.partial(in_process, "tools.bench.million")


def make(name: str, n_samples: int) -> float:
    """Generate some samples, and have the database copy them; returns the seconds."""
    import fiftyone as fo

    from . import generated
    from .database import make_dataset

    started = time.perf_counter()
    generated.OBJECTS_PER_SAMPLE = (BOXES - generated.EXTRA_PER_ANNOTATOR) / (1 - generated.MISS_RATE)
    base = make_dataset(f"{name}-base", min(_GENERATED, n_samples), ANNOTATORS)
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


def compute(name: str, workers: int) -> dict[str, Any]:
    """Compute a run; its seconds, and the peak memory of every process in MiB."""
    import fiftyone as fo
    import psutil

    from .memory import measured_run, peak_mib

    peaks, last, ended = dict[int, float](), [0.0], threading.Event()

    def watch() -> None:
        idle = psutil.Process().memory_info().rss / 2**20
        while not ended.wait(0.5):
            for child in psutil.Process().children():
                peak = peak_mib(child.pid)
                if peak > idle / 2:  # not the helper of Python's own
                    peaks[child.pid], last[0] = peak, time.perf_counter()

    threading.Thread(target=watch, daemon=True).start()
    found = measured_run(name, ANNOTATORS, workers=workers)
    done = time.perf_counter()
    ended.set()
    collection = fo.load_dataset(name)._sample_collection
    size = collection.database.command("collstats", collection.name)["size"]
    records = collection.database.fs.files.find({"_id": {"$regex": "^annotator_agreement/"}})
    return {
        **found,
        "report": None,
        "reduce": done - last[0],
        "n_objects": found["report"].n_objects,
        "workers": sorted(peaks.values())[-workers:],
        "stored": {"samples": size / 2**20, "records": sum(each["length"] for each in records) / 2**20},
    }


def open_panel(name: str) -> dict[str, float]:
    """Seconds of the panel: the first view in a new process, tabs, and the next object to decide on."""
    import statistics

    import fiftyone as fo

    from tools.dev.plugin import load_plugin

    from .decide import click
    from .panel import TABS, seconds_of, seconds_of_new_process

    load_plugin()
    dataset = fo.load_dataset(name)
    found = {"first view": statistics.median(seconds_of_new_process(name) for _ in range(_REPEATS))}
    seconds_of("on_load", dataset, {})
    for tab in TABS:
        shown = [seconds_of("choose_tab", dataset, {"shown": str(k), "tab": ""}, value=tab) for k in range(_REPEATS)]
        found[f"tab {tab}"] = statistics.median(shown)
    return {**found, "next object": click(dataset)}


def delete(name: str) -> None:
    """Delete the dataset."""
    import fiftyone as fo

    for each in (name, f"{name}-base"):
        if fo.dataset_exists(each):
            fo.load_dataset(each).delete()


if __name__ == "__main__":
    steps = {"make": make, "compute": compute, "open": open_panel, "delete": delete}
    say(json.dumps(steps[sys.argv[1]](sys.argv[2], *map(int, sys.argv[3:]))))
