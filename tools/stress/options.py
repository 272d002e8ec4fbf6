"""Runs on labels of every type with random options."""

from __future__ import annotations

import io
import json
from pathlib import Path
from random import Random
from typing import Any

from .campaign import Campaign, Outcome
from .labelled import TYPES, Labelled, collections
from .parameters import broken_promise, own_folder
from annotator_agreement import dataset_io

KEY = "stressed"


def _without_stamps(documents: list[dict[str, Any]]) -> str:
    return repr([{name: value for name, value in entry.items() if name != "last_modified_at"} for entry in documents])


def _one_round(labelled: Labelled, dataset: Any, random: Random, folder: Path) -> list[str]:
    """Compute, read and delete a run; what is wrong."""
    before = [list(collection.find().sort("_id")) for collection in collections(dataset)]
    given = labelled.arguments(random, folder)

    def call() -> None:
        report = dataset_io.compute_agreement(dataset, run_key=KEY, **given)
        json.dumps(report.to_dict(), allow_nan=False)
        report.print_report(full=True, file=io.StringIO())

    wrong = [broken_promise(call)]
    if KEY in dataset_io.list_agreements(dataset):
        wrong.append(broken_promise(lambda: dataset_io.delete_agreement(dataset, KEY)))
    left = [_without_stamps(list(collection.find().sort("_id"))) for collection in collections(dataset)]
    if left != list(map(_without_stamps, before)):
        wrong.append("values of the user differ, or values of ours are left")
        for collection, documents in zip(collections(dataset), before, strict=True):
            collection.delete_many({})
            if documents:
                collection.insert_many(documents)
    shown = {name: value for name, value in given.items() if name != "fields"}
    return [f"{labelled.name} {shown}: {sentence}" for sentence in wrong if sentence]


#: rounds on one dataset, which is made anew then
_ROUNDS_OF_A_DATASET = 20


def options(seed: int, rounds: int) -> Outcome:
    """Runs with random options, of every label type so many."""
    examples: list[str] = []
    with own_folder() as folder:
        for labelled in TYPES:
            for start in range(0, rounds, _ROUNDS_OF_A_DATASET):
                dataset = labelled.dataset(seed + start, folder)
                try:
                    for number in range(start, min(rounds, start + _ROUNDS_OF_A_DATASET)):
                        random = Random(f"{seed} {labelled.name} {number}")
                        found = _one_round(labelled, dataset, random, folder)
                        examples += [f"round {number}: {sentence}" for sentence in found]
                finally:
                    dataset.delete()
    return Outcome(rounds * len(TYPES), len(examples), examples)


CAMPAIGNS = (Campaign("options", "random options on labels of every type", options, 20),)
