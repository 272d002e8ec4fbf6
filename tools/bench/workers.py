"""Runs that are shared out: MongoDB alone, reading and kernels alone, and whole runs, by some processes."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import fiftyone as fo
from bson import ObjectId
from pymongo import UpdateOne
from pymongo.collection import Collection

from tools.dev.plugin import load_plugin

from .database import make_dataset
from .generated import ANNOTATORS
from .output import Row, at_least, say, timed

N_SAMPLES = 20_000
#: samples of a shard of the reading alone
_SHARD = 2_000
_REPETITIONS = 3
#: updates of one request
_BATCH = 1_000


def measure() -> list[Row]:
    """Time all; the best of several."""
    dataset = make_dataset("bench-workers", N_SAMPLES)
    say(f"workers: {N_SAMPLES} samples, {len(ANNOTATORS)} annotators")
    try:
        load_plugin()
        found = {**_reading(dataset), **_whole(dataset), **database_alone(dataset)}
    finally:
        dataset.delete()
    for what, seconds in found.items():
        say(f"  {what}: {seconds:.1f} s")
    spent = "processor of MongoDB"
    one, two = found["reading and kernels, 1 process"], found["reading and kernels, 2 processes"]
    plain, shared = found["whole run, this process"], found["whole run, 1 worker"]
    own, of_mongodb = found["whole run, its own processor"], found[f"whole run, {spent}"]
    both, started = found["whole run, 2 workers"], found["whole run, 2 workers that are started"]
    alone = [
        Row(f"MongoDB alone, {what}: 1 process / {n}, s", found[f"{what} by 1"], None, found[f"{what} by {n}"])
        for what in _ALONE
        for n in (2, 4)
    ]
    stamped = found[f"writing time stamps by 1, {spent}"]
    free = found[f"writing time stamps by 1, without their index, {spent}"]
    return [
        *alone,
        Row("MongoDB's processor, time stamps: with / without their index, s", stamped, None, free),
        Row(f"reading and kernels of {N_SAMPLES} samples: 1 process / 2, s", one, at_least(1.7), two),
        Row("whole run: its own processor / that of MongoDB, s", own, None, of_mongodb),
        Row("whole run: 1 worker / this process, s", shared, None, plain),
        Row("whole run: this process / 2 workers, s", plain, None, both),
        Row("whole run: this process / 2 workers that are started, s", plain, None, started),
    ]


#: what MongoDB does without any work of ours: runs leave the time stamps of samples, decisions move them
_ALONE = ("reading", "writing", "writing time stamps")


def database_alone(dataset: fo.Dataset) -> dict[str, float]:
    """Seconds of MongoDB for all labels, and for a value on every sample, by processes that do nothing else."""
    limits, collection = _limits(dataset), dataset._sample_collection
    found: dict[str, float] = {}
    for n in (1, 2, 4):
        with ProcessPoolExecutor(n, get_context("spawn")) as pool:
            list(pool.map(_warm_up, [dataset.name] * (4 * n)))

            def ask(what: str, pool: ProcessPoolExecutor = pool) -> None:
                assert sum(pool.map(_ask, [what] * len(limits), [dataset.name] * len(limits), limits)) == N_SAMPLES

            def time_it(what: str, how: str, ask: Callable[[str], None] = ask) -> None:
                before = _processor_seconds(collection)
                found[f"{what} by {how}"] = _best(lambda: ask(what))
                spent = (_processor_seconds(collection) - before) / _REPETITIONS
                found[f"{what} by {how}, processor of MongoDB"] = spent

            for what in _ALONE:
                time_it(what, f"{n}")
            if n == 1:
                index = [("last_modified_at", 1)]
                collection.drop_index(index)
                time_it(_ALONE[-1], "1, without their index")
                collection.create_index(index)
    return found


def _processor_seconds(collection: Collection[dict[str, Any]]) -> float:
    """Seconds of processor time that MongoDB took so far; Linux alone."""
    told = collection.database.command("serverStatus")["extra_info"]
    return float(told["user_time_us"] + told["system_time_us"]) / 1e6


def _ask(what: str, name: str, limits: tuple[str | None, str | None]) -> int:
    """Have MongoDB read or write the samples between two ids, one of which is given; returns their number."""
    collection = fo.load_dataset(name)._sample_collection
    bounds = zip(("$gte", "$lt"), limits, strict=True)
    wanted = {"_id": {operator: ObjectId(limit) for operator, limit in bounds if limit is not None}}
    if what == "reading":
        return sum(batch.count(b"filepath\0") for batch in collection.find_raw_batches(wanted))
    stamp = {"$currentDate": {"last_modified_at": True}} if what == "writing time stamps" else {}
    updates = [UpdateOne(guard, {"$set": {"bench": time.time()}, **stamp})
               for guard in collection.find(wanted, {"last_modified_at": True})]  # fmt: skip
    written = [collection.bulk_write(updates[start : start + _BATCH], ordered=False)
               for start in range(0, len(updates), _BATCH)]  # fmt: skip
    return sum(each.modified_count for each in written)


def _limits(dataset: fo.Dataset) -> list[tuple[str | None, str | None]]:
    ids = [row["_id"] for row in dataset._sample_collection.find({}, {"_id": True}).sort("_id")][::_SHARD]
    return list(zip([None, *map(str, ids[1:])], [*map(str, ids[1:]), None], strict=True))


def _reading(dataset: fo.Dataset) -> dict[str, float]:
    limits, found = _limits(dataset), dict[str, float]()
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
    from annotator_agreement.dataset_io.run.read import Reader, rare_collections, read_ahead

    low, high = (None if limit is None else ObjectId(limit) for limit in limits)
    source = open_source(fo.load_dataset(name), make_config(list(ANNOTATORS)))
    family = open_family(dataclasses.replace(source, shard=Shard("_id", low, high)))
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
        plugin.compute(dataset, list(ANNOTATORS), progress=False, overwrite=True, **engine)

    run()  # warm up
    own, of_mongodb = time.process_time(), _processor_seconds(dataset._sample_collection)
    found = {"whole run, this process": _best(run)}
    found["whole run, its own processor"] = (time.process_time() - own) / _REPETITIONS
    spent = (_processor_seconds(dataset._sample_collection) - of_mongodb) / _REPETITIONS
    found["whole run, processor of MongoDB"] = spent
    for n in (1, 2):
        with ProcessPoolExecutor(n, get_context("spawn")) as pool:
            list(pool.map(_warm_up, [dataset.name] * (4 * n)))
            found[f"whole run, {n} worker{'s' if n > 1 else ''}"] = _best(lambda pool=pool: run(executor=pool))
    found["whole run, 2 workers that are started"] = _best(lambda: run(workers=2))
    plugin.load(dataset).delete()
    return found


def _best(work: Callable[[], None]) -> float:
    return timed(work, _REPETITIONS, min)[0]
