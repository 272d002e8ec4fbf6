"""Lease of a dataset: one writer at a time for its schema, runs, App settings, saved views and indexes.

The lease stands in the dataset's own document, where FiftyOne ignores what it does not know: it needs no collection,
goes with the dataset, and nothing is left of it when it is given back. A change of the schema is written on condition
that the writer still holds the lease. Times are those of the database, so that clocks of machines do not matter.

A run holds no lease while labels are compared or written: any number of runs of different keys work at once. An import
holds it for as long as it writes, so that no two imports write at once.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fiftyone as fo
import psutil
from bson import ObjectId
from pymongo.errors import PyMongoError

from ... import names
from ...agreement.settings.errors import AgreementInputError
from ..database.fiftyone_private import database, dataset_id, deleted_error, is_deleted, reload_dataset, root_dataset
from .stored_records import delete_orphans, delete_results

#: seconds after which a lease ends that is not renewed, and seconds between two renewals
LEASE_SECONDS, RENEWAL_SECONDS = 30.0, 8.0
#: how long to wait for a lease that others renew
PATIENCE_SECONDS = 300.0
#: shortest and longest pause between two attempts to get a lease that others hold, in seconds
_PAUSES = (0.01, 0.25)


#: owners of the leases that are held, by thread and dataset; a thread may ask again for one that it holds
_held: dict[tuple[int, ObjectId], str] = {}


@contextlib.contextmanager
def writing(samples: fo.Dataset) -> Iterator[fo.Dataset]:
    """Be the only writer of a dataset's schema, runs, settings, saved views and indexes; the dataset is read again.

    A thread that holds the lease may ask for it again. The lease of a process that died is taken over, at once where it
    was a process of this machine.

    Raises:
        AgreementInputError: if others write for longer than :data:`PATIENCE_SECONDS`, or the dataset was deleted
    """
    dataset = root_dataset(samples)
    key = dataset_id(dataset)
    held = (threading.get_ident(), key)
    if held in _held:
        yield dataset
        return
    owner = _acquire(dataset, key)
    _held[held] = owner
    ended = threading.Event()

    def renew() -> None:  # errors are left to the thread that holds the lease
        while not ended.wait(RENEWAL_SECONDS):
            with contextlib.suppress(PyMongoError):
                database().datasets.update_one(_held_by(key, owner), _lease_of(owner))

    threading.Thread(target=renew, name="agreement-lease", daemon=True).start()
    try:
        with unless_deleted(dataset):
            reload_dataset(dataset)
            yield dataset
    finally:
        ended.set()
        del _held[held]
        with contextlib.suppress(PyMongoError):  # after an error the lease ends by itself
            database().datasets.update_one(_held_by(key, owner), {"$unset": {names.LEASE: ""}})


def require_lease(dataset: fo.Dataset) -> dict[str, Any]:
    """A filter for the dataset's document that matches only while this thread holds the lease."""
    key = dataset_id(dataset)
    return _held_by(key, _held[threading.get_ident(), key])


def lost_lease(dataset: fo.Dataset) -> AgreementInputError:
    """Error for a write after :func:`require_lease` no longer matched."""
    return AgreementInputError(
        f"The dataset {dataset.name!r} must be changed by one process at a time, but another one began to change it "
        f"while this one stood still for more than {LEASE_SECONDS:g} seconds; do this again"
    )


@contextlib.contextmanager
def unless_deleted(dataset: fo.Dataset) -> Iterator[None]:
    """Turn any error after the dataset was deleted into one message, and delete all that was stored for its runs."""
    key, name = dataset_id(dataset), dataset.name
    try:
        yield
    except Exception as error:
        if not is_deleted(key):
            raise
        # FiftyOne deletes only what the dataset referred to when it was deleted
        for document in database().runs.find({"_dataset_id": key, "config.method": names.RUN_METHOD}):
            delete_results(document)
        database().views.delete_many({"_dataset_id": key})
        delete_orphans()
        raise AgreementInputError(f"The dataset {name!r} was deleted meanwhile; nothing is left of the run") from error


def _acquire(dataset: fo.Dataset, key: ObjectId) -> str:
    owner = f"{this_process()} {ObjectId()}"
    deadline = time.monotonic() + PATIENCE_SECONDS
    pause = _PAUSES[0]
    while True:
        ended = {"$expr": {"$lt": [f"${names.LEASE}.until", "$$NOW"]}}
        free = {"_id": key, "$or": [{names.LEASE: {"$exists": False}}, ended]}
        if database().datasets.update_one(free, _lease_of(owner)).matched_count:
            return owner
        document = database().datasets.find_one({"_id": key}, {names.LEASE: True})
        if document is None:
            raise deleted_error(dataset)
        holder: str | None = (document.get(names.LEASE) or {}).get("owner")
        if holder is not None and has_died(holder):
            database().datasets.update_one(_held_by(key, holder), {"$unset": {names.LEASE: ""}})
            continue
        if time.monotonic() > deadline:
            machine, process = (holder or "another 0").split(" ")[:2]
            raise AgreementInputError(
                f"The dataset {dataset.name!r} must be changed by one process at a time, but the process {process} on "
                f"{machine.partition('/')[0]} has been changing it for {PATIENCE_SECONDS:g} seconds; try again when "
                "it is done"
            )
        time.sleep(random.uniform(0.5, 1.0) * pause)
        pause = min(2 * pause, _PAUSES[1])


def _held_by(key: ObjectId, owner: str) -> dict[str, Any]:
    return {"_id": key, f"{names.LEASE}.owner": owner}


def _lease_of(owner: str) -> list[dict[str, Any]]:
    until = {"$add": ["$$NOW", int(1_000 * LEASE_SECONDS)]}
    return [{"$set": {names.LEASE: {"owner": {"$literal": owner}, "until": until}}}]


def this_process() -> str:
    """Unique name of this process: its machine, its id, and the time of its start."""
    return f"{_machine()} {os.getpid()} {psutil.Process().create_time()}"


@functools.cache
def _machine() -> str:
    """Name of the machine whose processes this process sees, with ids that tell containers of one name apart."""
    seen = [platform.node().replace(" ", "-") or "localhost"]
    with contextlib.suppress(OSError):
        seen.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        seen.append(str(Path("/proc/self/ns/pid").stat().st_ino))
    return "/".join(seen)


def has_died(holder: str) -> bool:
    """True if a process, by :func:`this_process`, was one of this machine and no longer exists."""
    machine, process, started, *_ = holder.split(" ")
    if machine != _machine():
        return False
    try:
        found = psutil.Process(int(process))
        # the start of a process is known with an error of up to a second, as clocks are set
        is_same = abs(found.create_time() - float(started)) < 2.0
        return not is_same or found.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
