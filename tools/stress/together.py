"""Several processes at once on one dataset: it always opens, and what users have in it stays."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import fiftyone as fo
from fiftyone.core.odm import get_db_conn

from tests.datasets import boxes_dataset, random_annotators, stored, user_values

from .run import Campaign, Outcome, outcome_of
from .workers import Answer, Command, Worker, all_at_once, workers
from annotator_agreement.dataset_io.record.stored_records import delete_orphans

PLUGIN = "annotator_agreement"
OURS = f"{__package__}.on_dataset"
FIELDS = ["alice", "bob", "carol"]
#: what a run leaves out that takes time and has no part in this
QUICKLY: dict[str, Any] = {"resamples": 0}
_N_SAMPLES = 12
_OF_OURS = ("touch", "open_and_list", "delete_everything", "decisions_taken_back", "add_user_field", "edit")
#: what users call a label that they edited
_EDITED = "edited"

_numbers = itertools.count()


@dataclass
class Expected:
    """What a dataset must be like when everything of ours is gone."""

    stored: dict[str, Any]
    values: list[dict[str, Any]]
    fields: set[str] = field(default_factory=set)  #: that the user added

    @classmethod
    def of(cls, dataset: fo.Dataset) -> Expected:
        """The dataset as it is now."""
        delete_orphans()  # files of datasets that were deleted with their runs, which any run deletes
        return cls(stored(dataset), user_values(dataset, []))


def new_dataset(seed: int) -> fo.Dataset:
    """A small dataset of three annotators."""
    return boxes_dataset(f"stress-{os.getpid()}-{next(_numbers)}", random_annotators(_N_SAMPLES, seed=seed))


def calls(dataset: fo.Dataset, function: str, *arguments: Any, **options: Any) -> Command:
    """A call of a function of the plugin, or of :mod:`tools.stress.on_dataset`."""
    module = OURS if function in _OF_OURS else f"{PLUGIN}.dataset_io"
    return Command(f"{module}:{function}", [{"dataset": dataset.name}, *arguments], options)


def compute(dataset: fo.Dataset, key: str, **options: Any) -> Command:
    """A quick run."""
    return calls(dataset, "compute_agreement", FIELDS, run_key=key, **QUICKLY, **options)


def broken_promises(
    dataset: fo.Dataset, expected: Expected, keys: Sequence[str], answers: Sequence[Answer], opener: Worker
) -> list[str]:
    """What is wrong after some processes worked on a dataset; deletes all runs."""
    wrong = [entry.told for entry in answers if not _is_fine(entry)]
    opened = opener.do(calls(dataset, "open_and_list"))
    if opened.error is not None:
        return [*wrong, f"does not open: {opened.told}"]
    deleted = opener.do(calls(dataset, "delete_everything", list(keys)))
    if deleted.error is not None:
        return [*wrong, f"cannot be deleted: {opened.value}: {deleted.told}"]
    left, values = stored(dataset), user_values(dataset, [])
    fields = {entry["name"] for entry in left["dataset"]["sample_fields"]}
    wrong += [f"user's field {name!r} is lost" for name in sorted(expected.fields - fields)]
    for of_dataset in (left["dataset"], expected.stored["dataset"]):
        of_dataset["sample_fields"] = {
            entry["name"]: _without_time(entry) if entry["name"] == "metadata" else entry
            for entry in of_dataset["sample_fields"]
            if entry["name"] not in expected.fields
        }
    n_views = get_db_conn().views.count_documents({"_dataset_id": dataset._doc.id})
    if n_views:
        wrong.append(f"{n_views} saved views are left")
    if values != expected.values:
        wrong.append("values of the user, or values of ours, differ in samples")
    wrong += [_difference(left[name], expected.stored[name], name)
              for name in left if name != "samples" and left[name] != expected.stored[name]]  # fmt: skip
    return wrong


def _without_time(field: dict[str, Any]) -> dict[str, Any]:
    """A field without the time of its making, which FiftyOne renews for ``metadata`` whenever a dataset is opened."""
    inner = [_without_time(entry) for entry in field["fields"] or []]
    return {**field, "created_at": None, "fields": inner}


def _is_fine(answer: Answer) -> bool:
    return answer.error in (None, "AgreementInputError") and len(answer.message) <= 2_000


def _difference(found: Any, wanted: Any, path: str) -> str:
    """Where two values differ first."""
    if isinstance(found, list) and isinstance(wanted, list):
        found, wanted = (dict(enumerate(entries)) for entries in (found, wanted))
    if isinstance(found, dict) and isinstance(wanted, dict):
        for name in {**wanted, **found}:
            if found.get(name) != wanted.get(name):
                return _difference(found.get(name), wanted.get(name), f"{path}.{name}")
    return f"{path} is {str(found)[:150]}, was {str(wanted)[:150]}"


#: what is done in a round: called with its seed, a new dataset, the processes, and one that has not seen the dataset
Round = Callable[[int, fo.Dataset, Sequence[Worker], Worker], list[str]]


def work_at_once(seed: int, rounds: int, n_processes: int, one_round: Round) -> Outcome:
    """Play rounds, each on a dataset of its own; a round returns what is wrong."""

    def play(number: int, team: Sequence[Worker], opener: Worker) -> list[str]:
        dataset = new_dataset(number)
        try:
            return one_round(number, dataset, team, opener)
        finally:
            with contextlib.suppress(Exception):  # a dataset that does not open is to be deleted, too
                dataset.reload()
            dataset.delete()

    with workers(n_processes + 1) as (*team, opener):
        return outcome_of((number, play(number, team, opener)) for number in range(seed, seed + rounds))


def delete_beside_units(seed: int, rounds: int) -> Outcome:
    """Delete one run while units and consensus of another are written."""
    return work_at_once(seed, rounds, 3, _delete_beside_units)


def _delete_beside_units(seed: int, dataset: fo.Dataset, team: Sequence[Worker], opener: Worker) -> list[str]:
    expected = Expected.of(dataset)
    for worker, key in zip(team, ("k0", "k1"), strict=False):
        made = worker.do(compute(dataset, key))
        if made.error is not None:
            return [made.told]
    all_at_once(team, [calls(dataset, "touch")] * 3)
    commands = [
        calls(dataset, "delete_agreement", "k0"),
        calls(dataset, "add_units", "k1"),
        calls(dataset, "resolve_units", "k1"),
    ]
    shift = seed % 3  # so that every process does everything
    answers = all_at_once(team, commands[shift:] + commands[:shift])
    return broken_promises(dataset, expected, ["k0", "k1"], answers, opener)


#: all keys that runs get in rounds of any operations
_KEYS = [f"k{number}" for number in range(6)]


def any_operations(seed: int, rounds: int) -> Outcome:
    """Two to five operations at once, of all that leave the user's values as they are, and of the user."""
    with tempfile.TemporaryDirectory() as folder:
        return work_at_once(seed, rounds, 5, partial(_any_operations, Path(folder)))


def _any_operations(folder: Path, seed: int, dataset: fo.Dataset, team: Sequence[Worker], opener: Worker) -> list[str]:
    expected = Expected.of(dataset)
    made = all_at_once(team[:2], [compute(dataset, key) for key in _KEYS[:2]])
    wrong = [answer.told for answer in made if answer.error is not None]
    rng = random.Random(seed)
    commands = [_any_command(rng, dataset, expected, folder) for _ in range(rng.randint(2, len(team)))]
    working = rng.sample(list(team), len(commands))
    all_at_once(working, [calls(dataset, "touch")] * len(commands))
    answers = all_at_once(working, commands)
    wrong += broken_promises(dataset, expected, _KEYS, answers, opener)
    return [", ".join(command.title for command in commands), *wrong] if wrong else []


def _any_command(rng: random.Random, dataset: fo.Dataset, expected: Expected, folder: Path) -> Command:
    key, overwrite = rng.choice(_KEYS[:3]), rng.random() < 0.5
    switches = {name: rng.random() < 0.5 for name in ("sidebar", "indexes")}
    colors = {"color_by": rng.choice([None, "verdict", "id"])}
    choice, path = rng.choice(["consensus", "none", "skip"]), str(folder / f"{dataset.name}.json")
    possible = {
        "compute": compute(dataset, key, overwrite=overwrite),
        "update": calls(dataset, "update_agreement", key),
        "delete": calls(dataset, "delete_agreement", key),
        "rename": calls(dataset, "rename_agreement", key, rng.choice(_KEYS)),
        "units": calls(dataset, rng.choice(["add_units", "resolve_units"]), key, overwrite=overwrite),
        "views": calls(dataset, "save_agreement_views", key),
        "configure": calls(dataset, "configure_agreement_app", key, **colors, **switches),
        "export": calls(dataset, "export_agreement", key, path, overwrite=True),
        "decide": calls(dataset, "decide", key, choice, all=True, overwrite=overwrite),
        "undo": calls(dataset, "undo_decisions"),
        "undecide": calls(dataset, "delete_decisions"),
        "field": calls(dataset, "add_user_field", "of_user"),
    }
    what = rng.choice([*possible, "compute", "decide", "edit"])
    if what == "edit" or (what == "field" and expected.fields):  # of two that add fields FiftyOne itself loses one
        return _any_edit(rng, dataset, expected)
    expected.fields |= {"of_user"} if what == "field" else set()
    return possible[what]


def _any_edit(rng: random.Random, dataset: fo.Dataset, expected: Expected) -> Command:
    """An edit of a class by the user, on another sample each time."""
    first = [
        (document, *((document.get("alice") or {}).get("detections") or [None])[:1]) for document in expected.values
    ]
    document, label = rng.choice([pair for pair in first if pair[1] is not None and pair[1]["label"] != _EDITED])
    label["label"] = _EDITED
    return calls(dataset, "edit", str(document["_id"]), _EDITED)


# ---- decisions ----

_KEY, _GOLD = "k0", "agreement_gold"
_VERDICTS = ("agreed", "class_conflict", "missed", "lone")
_CHANGES = ("class", "geometry", "delete", "add")
#: seconds within which a process is killed after its call began
_LONGEST = 0.5
#: processes that are forked at once, to be killed
_VICTIMS = 10


def _any_on_decisions(rng: random.Random, dataset: fo.Dataset) -> Command:
    """A call that decides, applies decisions, or takes one of both back."""
    by, again = rng.choice(["mia", "noa"]), rng.random() < 0.5
    choice, verdict = rng.choice(["version", "consensus", "none", "skip"]), rng.sample(_VERDICTS, rng.randint(1, 4))
    who = {"annotator": rng.choice(FIELDS)} if choice == "version" else {}
    changes = rng.sample(_CHANGES, rng.randint(1, 4))
    possible = {
        "decide": calls(dataset, "decide", _KEY, choice, verdict=verdict, by=by, overwrite=again, **who),
        "apply": calls(dataset, "apply_decisions", _KEY, changes=changes, by=by),
        "undo": calls(dataset, "undo_decisions", by=rng.choice([None, by])),
        "undo_applied": calls(dataset, "undo_applied"),
        "record": calls(dataset, "record_own_labels", _KEY, by=by),
        "update": calls(dataset, "update_agreement", _KEY),
    }
    return possible[rng.choice([*possible, "decide", "decide", "apply"])]


def _prepared(dataset: fo.Dataset, worker: Worker) -> list[str]:
    """Compute a run, decide, and apply a part; what went wrong."""
    answers = [
        worker.do(compute(dataset, _KEY)),
        worker.do(calls(dataset, "decide", _KEY, verdict=["agreed", "missed"])),
        worker.do(calls(dataset, "apply_decisions", _KEY, annotators="bob", changes=list(_CHANGES))),
    ]
    return [answer.told for answer in answers if answer.error is not None]


def _not_taken_back(dataset: fo.Dataset, labels: list[object], opener: Worker) -> list[str]:
    """What is wrong with decisions, and with the annotators' labels after everything was taken back."""
    found = opener.do(calls(dataset, "decisions_taken_back"))
    if found.error is not None:
        return [found.told]
    dataset.reload()
    is_same = user_values(dataset, [_KEY, _GOLD]) == labels
    return [*found.value, *([] if is_same else ["labels are not what they were before the decisions"])]


def decisions_at_once(seed: int, rounds: int) -> Outcome:
    """Two to four of all calls about decisions at once."""
    return work_at_once(seed, rounds, 4, _decided_at_once)


def _decided_at_once(seed: int, dataset: fo.Dataset, team: Sequence[Worker], opener: Worker) -> list[str]:
    rng, labels = random.Random(seed), user_values(dataset, [_KEY, _GOLD])
    wrong = _prepared(dataset, team[0])
    told = []
    for _ in range(2):
        commands = [_any_on_decisions(rng, dataset) for _ in range(rng.randint(2, len(team)))]
        told += [command.title for command in commands]
        answers = all_at_once(team[: len(commands)], commands)
        wrong += [each.told for each in answers if each.error not in (None, "AgreementInputError")]
    wrong += _not_taken_back(dataset, labels, opener)
    return [", ".join(told), *wrong] if wrong else []


def decisions_killed(seed: int, rounds: int) -> Outcome:
    """Kill a process in the middle of a call about decisions, twice on each dataset."""

    def played() -> Iterator[tuple[int, list[str]]]:
        for start in range(seed, seed + rounds, _VICTIMS // 2):
            n = min(_VICTIMS // 2, seed + rounds - start)
            with workers(2 * n + 1) as (*victims, opener):
                for number in range(start, start + n):
                    yield number, _killed(number, [victims.pop(), victims.pop()], opener)

    return outcome_of(played())


def _killed(seed: int, victims: Sequence[Worker], opener: Worker) -> list[str]:
    rng, dataset = random.Random(seed), new_dataset(seed)
    try:
        labels = user_values(dataset, [_KEY, _GOLD])
        wrong, told = _prepared(dataset, opener), []
        for victim in victims:
            command = _any_on_decisions(rng, dataset)
            told.append(command.title)
            victim.do(calls(dataset, "touch"))
            victim.kill(command, rng.uniform(0.0, _LONGEST))
        wrong += _not_taken_back(dataset, labels, opener)
    finally:
        dataset.reload()
        dataset.delete()
    return [", ".join(told), *wrong] if wrong else []


CAMPAIGNS = (
    Campaign(
        "schema", "delete a run, add units, resolve units at once; opens in a new process", delete_beside_units, 200
    ),
    Campaign("operations", "2 to 5 of all operations at once; it opens, values and fields stay", any_operations, 200),
    Campaign(
        "decisions", "decide, apply, take back and update at once; labels come back as they were", decisions_at_once, 40
    ),
    Campaign(
        "decisions-killed", "kill processes that decide, apply or take back; decisions stay whole", decisions_killed, 40
    ),
)
