"""Runs that are shared out: MongoDB alone, reading and kernels alone, and whole runs, by some processes."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import fiftyone as fo
from bson import ObjectId
from pymongo import UpdateOne
from pymongo.collection import Collection

from tools.dev.plugin import load_plugin

from .generated import ANNOTATORS, shared_dataset
from .output import Row, at_least, say, timed

N_SAMPLES = 20_000
#: samples of a shard of the reading alone
_SHARD = 2_000
_REPETITIONS = 3
#: updates of one request
_BATCH = 1_000


#: what MongoDB does without any work of ours: runs leave the time stamps of samples, decisions move them
_ALONE = ("reading", "writing", "writing time stamps")


def workers() -> list[Row]:
    """MongoDB alone, reading and kernels alone, and whole runs, by some processes; the best of several."""
    load_plugin()
    dataset = shared_dataset(N_SAMPLES)
    collection, n_parts = dataset._sample_collection, len(limits := _limits(dataset))
    found, of_mongodb = dict[str, float](), dict[str, float]()

    def time_it(what: str, work: Callable[[], Any]) -> None:
        before = _processor_seconds(collection)
        found[what] = timed(work, _REPETITIONS, min)[0]
        of_mongodb[what] = (_processor_seconds(collection) - before) / _REPETITIONS
        say(f"  {what}: {found[what]:.2f} s, processor of MongoDB {of_mongodb[what]:.2f} s")

    def run(**engine: Any) -> None:
        load_plugin().compute(dataset, list(ANNOTATORS), progress=False, overwrite=True, **engine)

    run()  # warm up
    own = time.process_time()
    time_it("run", run)
    own = (time.process_time() - own) / _REPETITIONS
    for n in (1, 2, 4):
        with ProcessPoolExecutor(n, get_context("spawn")) as pool:
            list(pool.map(_warm_up, [dataset.name] * (4 * n)))
            for what in _ALONE:
                time_it(f"{what} by {n}", partial(_ask_all, pool, what, dataset.name, limits))
            if n == 1:
                index = [("last_modified_at", 1)]
                collection.drop_index(index)
                time_it("without index", partial(_ask_all, pool, _ALONE[-1], dataset.name, limits))
                collection.create_index(index)
            if n < 4:
                read = partial(pool.map, _read, [dataset.name] * n_parts, limits)
                time_it(f"reading and kernels by {n}", lambda read=read: sum(read()))
                time_it(f"run by {n}", partial(run, executor=pool))
    time_it("run by 2 that are started", partial(run, workers=2))
    alone = [(f"MongoDB alone, {what}: 1 process / {n}, s", f"{what} by 1", f"{what} by {n}")
             for what in _ALONE for n in (2, 4)]  # fmt: skip
    whole = [
        ("whole run: 1 worker / this process, s", "run by 1", "run"),
        ("whole run: this process / 2 workers, s", "run", "run by 2"),
        ("whole run: this process / 2 workers that are started, s", "run", "run by 2 that are started"),
    ]
    stamped, free = of_mongodb[f"{_ALONE[-1]} by 1"], of_mongodb["without index"]
    one, two = found["reading and kernels by 1"], found["reading and kernels by 2"]
    return [
        *(Row(title, found[a], None, found[b]) for title, a, b in (*alone, *whole)),
        Row("MongoDB's processor, time stamps: with / without their index, s", stamped, None, free),
        Row(f"reading and kernels of {N_SAMPLES} samples: 1 process / 2, s", one, at_least(1.7), two),
        Row("whole run: its own processor / that of MongoDB, s", own, None, of_mongodb["run"]),
    ]


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


def _ask_all(pool: ProcessPoolExecutor, what: str, name: str, limits: list[tuple[str | None, str | None]]) -> None:
    assert sum(pool.map(_ask, [what] * len(limits), [name] * len(limits), limits)) == N_SAMPLES


def _limits(dataset: fo.Dataset) -> list[tuple[str | None, str | None]]:
    ids = [row["_id"] for row in dataset._sample_collection.find({}, {"_id": True}).sort("_id")][::_SHARD]
    return list(zip([None, *map(str, ids[1:])], [*map(str, ids[1:]), None], strict=True))


def _warm_up(name: str) -> None:
    _read(name, (None, None), most=1)
    time.sleep(1.0)  # so that every process gets one


def _read(name: str, limits: tuple[str | None, str | None], most: int | None = None) -> int:
    """Read, match and record the samples between two ids, in this process; returns their number."""
    load_plugin()
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
