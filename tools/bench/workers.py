"""Runs that are shared out: reading and kernels alone by one and two processes, and whole runs by none, one and two."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import fiftyone as fo

from tools.dev.plugin import load_plugin

from .database import make_dataset
from .generated import ANNOTATORS
from .output import Row, say

N_SAMPLES = 20_000
#: samples of a shard of the reading alone
_SHARD = 2_000
_REPETITIONS = 3


def measure() -> list[Row]:
    """Time both, taking turns; the best of several."""
    dataset = make_dataset("bench-workers", N_SAMPLES)
    say(f"workers: {N_SAMPLES} samples, {len(ANNOTATORS)} annotators")
    try:
        load_plugin()
        found = {**_reading(dataset), **_whole(dataset)}
    finally:
        dataset.delete()
    for what, seconds in found.items():
        say(f"  {what}: {seconds:.1f} s")
    one, two = found["reading and kernels, 1 process"], found["reading and kernels, 2 processes"]
    plain, shared = found["whole run, this process"], found["whole run, 1 worker"]
    both, started = found["whole run, 2 workers"], found["whole run, 2 workers that are started"]
    return [
        Row(f"reading and kernels of {N_SAMPLES} samples: 1 process / 2, s", one, two, one / two, "at least 1.7"),
        Row("whole run: 1 worker / this process, s", shared, plain, shared / plain, ""),
        Row("whole run: this process / 2 workers, s", plain, both, plain / both, ""),
        Row("whole run: this process / 2 workers that are started, s", plain, started, plain / started, ""),
    ]


def _reading(dataset: fo.Dataset) -> dict[str, float]:
    ids = [row["_id"] for row in dataset._sample_collection.find({}, {"_id": True}).sort("_id")][::_SHARD]
    limits = list(zip([None, *map(str, ids[1:])], [*map(str, ids[1:]), None], strict=True))
    found: dict[str, float] = {}
    for n in (1, 2):
        with ProcessPoolExecutor(n, get_context("spawn")) as pool:
            list(pool.map(_warm_up, [dataset.name] * (4 * n)))

            def read(pool: ProcessPoolExecutor = pool) -> None:
                assert sum(pool.map(_read, [dataset.name] * len(limits), limits)) == N_SAMPLES

            found[f"reading and kernels, {n} process{'es' if n > 1 else ''}"] = _best(read)
    return found


def _warm_up(name: str) -> None:
    _read(name, (None, None), most=1)
    time.sleep(1.0)  # so that every process gets one


def _read(name: str, limits: tuple[str | None, str | None], most: int | None = None) -> int:
    """Read, match and record the samples between two ids, in this process; returns their number."""
    load_plugin()
    from bson import ObjectId

    from annotator_agreement.agreement import make_config
    from annotator_agreement.dataset_io.families import open_family
    from annotator_agreement.dataset_io.labels.source import Shard, open_source
    from annotator_agreement.dataset_io.run.read import Reader
    from annotator_agreement.dataset_io.run.read_ahead import read_ahead
    from annotator_agreement.dataset_io.run.work_through import rare_collections

    low, high = (None if limit is None else ObjectId(limit) for limit in limits)
    source = open_source(fo.load_dataset(name), make_config(list(ANNOTATORS)))
    family = open_family(dataclasses.replace(source, shard=Shard(0, "_id", low, high)))
    reader, n_samples = Reader(family), 0
    with rare_collections():
        for number, rows in enumerate(read_ahead(reader.batches())):
            if number == most:
                break
            labels = reader.columns(rows).labels
            family.record(labels, family.compute(labels))
            n_samples += len(rows)
    return n_samples


def _whole(dataset: fo.Dataset) -> dict[str, float]:
    plugin = load_plugin()

    def run(**engine: Any) -> None:
        plugin.compute_agreement(dataset, list(ANNOTATORS), progress=False, overwrite=True, **engine)

    run()  # warm up
    found = {"whole run, this process": _best(run)}
    for n in (1, 2):
        with ProcessPoolExecutor(n, get_context("spawn")) as pool:
            list(pool.map(_warm_up, [dataset.name] * (4 * n)))
            found[f"whole run, {n} worker{'s' if n > 1 else ''}"] = _best(lambda pool=pool: run(executor=pool))
    found["whole run, 2 workers that are started"] = _best(lambda: run(workers=2))
    plugin.delete_agreement(dataset)
    return found


def _best(function: Callable[[], None]) -> float:
    seconds = []
    for _ in range(_REPETITIONS):
        started = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - started)
    return min(seconds)
