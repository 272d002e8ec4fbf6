"""What a campaign is, and how those of this folder are found.

Any module of this folder can have a tuple ``CAMPAIGNS`` of :class:`Campaign`; nothing else is needed for a campaign to
be run by ``make stress``. A short version for the tests calls the same function with few rounds.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

#: modules of the frame itself, and the programs of the processes that it starts
_WITHOUT = {"campaign", "run", "worker", "workers"}


class Outcome(NamedTuple):
    """What came of a campaign."""

    tried: int  #: how often something was tried
    failed: int  #: how often it broke a promise
    examples: list[str]  #: some of the failures, a line each, with what is needed to see them again


def outcome_of(rounds: Iterable[tuple[int, Sequence[str]]]) -> Outcome:
    """What came of some rounds, each with its seed and sentences on what was wrong in it."""
    played = list(rounds)
    examples = [f"seed {seed}: {sentence}" for seed, wrong in played for sentence in wrong]
    return Outcome(len(played), sum(bool(wrong) for _, wrong in played), examples)


@dataclass(frozen=True, slots=True)
class Campaign:
    """One campaign."""

    name: str  #: one word, by which it can be asked for
    what: str  #: what is tried, for the table
    function: Callable[[int, int], Outcome]  #: called with the seed and the number of rounds
    rounds: int  #: rounds of `make stress`


def campaigns() -> dict[str, Campaign]:
    """The campaigns of all modules of this folder, by name."""
    found: dict[str, Campaign] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules([str(Path(__file__).parent)])):
        if module in _WITHOUT:
            continue
        for campaign in getattr(importlib.import_module(f"{__package__}.{module}"), "CAMPAIGNS", ()):
            if campaign.name in found:
                raise ValueError(f"Names of campaigns must differ, got {campaign.name!r} twice")
            found[campaign.name] = campaign
    return found
