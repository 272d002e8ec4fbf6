"""Runs on labels of every type with random options, and on labels that something else than FiftyOne has damaged."""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from bson import Decimal128, Int64, MaxKey, ObjectId, Regex, Timestamp

from .campaign import Campaign, Outcome
from .labelled import TYPES, Labelled, collections
from .parameters import broken_promise, own_folder
from annotator_agreement import dataset_io

KEY = "stressed"


def _npz() -> bytes:
    file = io.BytesIO()
    np.savez(file, np.zeros((3, 3)))
    return file.getvalue()


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


#: what a driver, or a disk, can leave in place of a value
_GARBAGE: tuple[Callable[[], Any], ...] = (
    *(
        lambda: None,
        lambda: True,
        lambda: 5,
        lambda: Int64(2**62),
        lambda: 1e308,
        lambda: float("nan"),
        lambda: float("inf"),
    ),
    *(lambda: "", lambda: "text", lambda: "a\x00b", lambda: b"", lambda: b"\x93NUMPY", lambda: zlib.compress(b"text")),
    *(
        list,
        lambda: [None],
        lambda: ["x"],
        lambda: [[1, 2]],
        lambda: [[[0.5, 1e200]]],
        dict,
        lambda: {"_cls": "Detection"},
    ),
    *(ObjectId, lambda: datetime.datetime(2026, 1, 1), lambda: Decimal128("0.5"), lambda: Regex("x"), MaxKey),
    *(
        lambda: Timestamp(1, 1),
        lambda: -1,
        lambda: 1e60,
        lambda: [0.1, 0.1, 0.2, 0.2],
        lambda: [9, 1],
        lambda: {"0": 1},
    ),
    *(
        lambda: zlib.compress(_npz()),
        lambda: zlib.compress(_npy(np.zeros((2, 2), "U3"))),
        lambda: _npy(np.zeros((2, 2))),
    ),
    *(lambda: zlib.compress(_npy(np.zeros((2, 2), np.complex128))), lambda: zlib.compress(_npy(np.float64(1)))),
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values within a value."""
    for name, entry in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield (*path, name)
        yield from _places(entry, (*path, name))


def _damage(document: dict[str, Any], roots: list[str], random: Random) -> str:
    """Replace, remove or add something within the labels of a document; says what."""
    places = [place for place in _places(document) if place[0] in roots]
    if not places:
        return "nothing"
    *parents, last = random.choice(places)
    held: Any = document
    for name in parents:
        held = held[name]
    before = held[last]
    if isinstance(before, bytes) and before and random.random() < 0.8:
        held[last] = _flipped(before, random)
    elif random.random() < 0.15:
        del held[last]
    elif isinstance(before, list) and random.random() < 0.3:
        before.insert(random.randrange(len(before) + 1), random.choice(_GARBAGE)())
    else:
        held[last] = random.choice(_GARBAGE)()
    now = "nothing" if isinstance(held, list) or last not in held else repr(held[last])[:60]
    return f"{'.'.join(map(str, (*parents, last)))} = {now}"


def _flipped(content: bytes, random: Random) -> bytes:
    """Bytes with some of them changed: of the compressed content, or of what it holds."""
    inner = bytearray(content)
    if random.random() < 0.7:
        with contextlib.suppress(zlib.error):  # what was damaged before may not be compressed
            inner = bytearray(zlib.decompress(content)) or inner
    for _ in range(random.choice((1, 3, 20))):
        inner[random.randrange(min(len(inner), random.choice((12, 130, len(inner)))))] = random.randrange(256)
    shorter = inner[: random.randrange(len(inner))] if random.random() < 0.2 else inner
    return bytes(shorter) if inner[:1] == content[:1] and random.random() < 0.3 else zlib.compress(bytes(shorter))


def _without_stamps(documents: list[dict[str, Any]]) -> str:
    return repr([{name: value for name, value in entry.items() if name != "last_modified_at"} for entry in documents])


def _one_round(labelled: Labelled, dataset: Any, random: Random, folder: Path, *, damage: bool) -> list[str]:
    """Compute, read and delete a run; what is wrong."""
    before = [list(collection.find().sort("_id")) for collection in collections(dataset)]
    done = []
    if damage:
        roots = ["all", "alice", "bob", "carol", *(["metadata"] if random.random() < 0.1 else [])]
        documents = before[labelled.on_frames]
        chosen = random.choice(documents)
        changed: dict[str, Any] = _copied(chosen)
        done = [_damage(changed, roots, random) for _ in range(random.choice((1, 1, 2, 4)))]
        collections(dataset)[labelled.on_frames].replace_one({"_id": chosen["_id"]}, changed)
    stored = [_without_stamps(list(collection.find().sort("_id"))) for collection in collections(dataset)]
    given = labelled.arguments(random, folder)

    def call() -> None:
        report = dataset_io.compute_agreement(dataset, run_key=KEY, **given)
        json.dumps(report.to_dict(), allow_nan=False)
        report.print_report(full=True, file=io.StringIO())

    wrong = [broken_promise(call)]
    if KEY in dataset_io.list_agreements(dataset):
        wrong.append(broken_promise(lambda: dataset_io.delete_agreement(dataset, KEY)))
    left = [_without_stamps(list(collection.find().sort("_id"))) for collection in collections(dataset)]
    if left != stored:
        wrong.append("values of the user differ, or values of ours are left")
    if damage or left != stored:
        for collection, documents in zip(collections(dataset), before, strict=True):
            collection.delete_many({})
            if documents:
                collection.insert_many(documents)
    shown = {name: value for name, value in given.items() if name != "fields"}
    return [f"{labelled.name} {done} {shown}: {sentence}" for sentence in wrong if sentence]


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copied(entry) for name, entry in value.items()}
    return [_copied(entry) for entry in value] if isinstance(value, list) else value


def _campaign(seed: int, rounds: int, *, damage: bool) -> Outcome:
    examples: list[str] = []
    with own_folder() as folder:
        for labelled in TYPES:
            for start in range(0, rounds, _ROUNDS_OF_A_DATASET):
                dataset = labelled.dataset(seed + start, folder)
                try:
                    for number in range(start, min(rounds, start + _ROUNDS_OF_A_DATASET)):
                        random = Random(f"{seed} {labelled.name} {number}")
                        found = _one_round(labelled, dataset, random, folder, damage=damage)
                        examples += [f"round {number}: {sentence}" for sentence in found]
                finally:
                    dataset.delete()
    return Outcome(rounds * len(TYPES), len(examples), examples)


#: rounds on one dataset, which is made anew then
_ROUNDS_OF_A_DATASET = 20


def options(seed: int, rounds: int) -> Outcome:
    """Runs with random options, of every label type so many."""
    return _campaign(seed, rounds, damage=False)


def damaged(seed: int, rounds: int) -> Outcome:
    """Runs on damaged labels, of every label type so many."""
    return _campaign(seed, rounds, damage=True)


CAMPAIGNS = (
    Campaign("options", "random options on labels of every type", options, 20),
    Campaign("damaged", "labels that something else than FiftyOne has damaged", damaged, 40),
)
