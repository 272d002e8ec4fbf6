"""Decisions that are made, applied and taken back by several processes at once, and by processes that are killed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import fiftyone as fo

from tests.datasets import user_values

from .campaign import Campaign, Outcome, outcome_of
from .together import calls, compute, new_dataset, work_at_once
from .workers import Command, Worker, all_at_once, workers

_KEY, _GOLD = "k0", "agreement_gold"
_VERDICTS = ("agreed", "class_conflict", "missed", "lone")
_CHANGES = ("class", "geometry", "delete", "add")
#: seconds within which a process is killed after its call began
_LONGEST = 0.5
#: processes that are forked at once, to be killed
_VICTIMS = 10


def _any_command(rng: random.Random, dataset: fo.Dataset) -> Command:
    """A call that decides, applies decisions, or takes one of both back."""
    name = rng.choice(["mia", "noa"])
    match rng.choice(["decide", "decide", "decide", "apply", "apply", "undo", "undo_applied", "record", "update"]):
        case "decide":
            choice = rng.choice(["version", "consensus", "none", "skip"])
            options = {"annotator": rng.choice(["alice", "bob", "carol"])} if choice == "version" else {}
            verdict = rng.sample(_VERDICTS, rng.randint(1, 4))
            again = rng.random() < 0.5
            return calls(dataset, "decide", _KEY, choice, verdict=verdict, by=name, overwrite=again, **options)
        case "apply":
            changes = rng.sample(_CHANGES, rng.randint(1, 4))
            return calls(dataset, "apply_decisions", _KEY, changes=changes, by=name)
        case "undo":
            return calls(dataset, "undo_decisions", by=rng.choice([None, name]))
        case "undo_applied":
            return calls(dataset, "undo_applied")
        case "record":
            return calls(dataset, "record_own_labels", _KEY, by=name)
        case _:
            return calls(dataset, "update_agreement", _KEY)


def _prepared(dataset: fo.Dataset, worker: Worker) -> list[str]:
    """Compute a run, decide, and apply a part; what went wrong."""
    answers = [
        worker.do(compute(dataset, _KEY)),
        worker.do(calls(dataset, "decide", _KEY, verdict=["agreed", "missed"])),
        worker.do(calls(dataset, "apply_decisions", _KEY, annotators="bob", changes=list(_CHANGES))),
    ]
    return [answer.told for answer in answers if answer.error is not None]


def _broken_promises(dataset: fo.Dataset, labels: list[object], opener: Worker) -> list[str]:
    """What is wrong with decisions, and with the annotators' labels after everything was taken back."""
    found = opener.do(calls(dataset, "decisions_taken_back"))
    if found.error is not None:
        return [found.told]
    dataset.reload()
    is_same = user_values(dataset, [_KEY, _GOLD]) == labels
    return [*found.value, *([] if is_same else ["labels are not what they were before the decisions"])]


def at_once(seed: int, rounds: int) -> Outcome:
    """Two to four of all calls about decisions at once."""
    return work_at_once(seed, rounds, 4, _at_once)


def _at_once(seed: int, dataset: fo.Dataset, team: Sequence[Worker], opener: Worker) -> list[str]:
    rng, labels = random.Random(seed), user_values(dataset, [_KEY, _GOLD])
    wrong = _prepared(dataset, team[0])
    told = []
    for _ in range(2):
        commands = [_any_command(rng, dataset) for _ in range(rng.randint(2, len(team)))]
        told += [command.title for command in commands]
        answers = all_at_once(team[: len(commands)], commands)
        wrong += [each.told for each in answers if each.error not in (None, "AgreementInputError")]
    wrong += _broken_promises(dataset, labels, opener)
    return [", ".join(told), *wrong] if wrong else []


def killed(seed: int, rounds: int) -> Outcome:
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
            command = _any_command(rng, dataset)
            told.append(command.title)
            victim.do(calls(dataset, "touch"))
            victim.kill(command, rng.uniform(0.0, _LONGEST))
        wrong += _broken_promises(dataset, labels, opener)
    finally:
        dataset.reload()
        dataset.delete()
    return [", ".join(told), *wrong] if wrong else []


CAMPAIGNS = (
    Campaign("decisions", "decide, apply, take back and update at once; labels come back as they were", at_once, 40),
    Campaign("decisions-killed", "kill processes that decide, apply or take back; decisions stay whole", killed, 40),
)
