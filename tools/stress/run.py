"""Run the campaigns and print what was tried and what failed: ``make stress``.

Some of them, or fewer rounds: ``make stress ARGS="schema operations --rounds 20 --seed 7"``. A module of this folder
needs nothing but a tuple ``CAMPAIGNS`` of :class:`Campaign`; tests call the same functions with few rounds.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tools.dev.private_fiftyone import ROOT, PrivateFiftyOne

#: modules of the frame itself, and the programs of the processes that it starts
_WITHOUT = {"run", "worker", "workers"}


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


#: examples of failures that are printed for a campaign
_SHOWN = 5


def main() -> None:
    """Run the campaigns that were asked for; ends with status 1 if anything failed."""
    parser = argparse.ArgumentParser(description="Try to break the plugin.")
    parser.add_argument("names", nargs="*", help="campaigns (default: all)")
    parser.add_argument("--seed", type=int, default=51)
    parser.add_argument("--rounds", type=int, help="rounds of every campaign (default: its own)")
    parser.add_argument("--list", action="store_true", help="only list the campaigns")
    options = parser.parse_args()
    os.environ["FIFTYONE_SHOW_PROGRESS_BARS"] = "false"
    # first, as FiftyOne reads its environment when it is imported, which campaigns do
    private = PrivateFiftyOne(ROOT / ".dev" / "stress")
    private.prepare()
    from tools.dev.plugin import load_plugin

    load_plugin()
    known = campaigns()
    unknown = sorted(set(options.names) - set(known))
    if unknown:
        parser.error(f"campaigns are {', '.join(known)}, got {', '.join(unknown)}")
    if options.list:
        for name, campaign in known.items():
            _say(f"{name:<20} {campaign.rounds:>6} rounds   {campaign.what}")
        return
    private.start()
    _say(f"{'campaign':<20} {'tried':>8} {'failed':>8} {'seconds':>8}   what")
    n_failed = 0
    for name in options.names or known:
        campaign = known[name]
        started = time.monotonic()
        outcome = campaign.function(options.seed, options.rounds or campaign.rounds)
        seconds = time.monotonic() - started
        _say(f"{name:<20} {outcome.tried:>8,} {outcome.failed:>8,} {seconds:>8.0f}   {campaign.what}")
        for example in outcome.examples[:_SHOWN]:
            _say(f"    {example}")
        n_failed += outcome.failed
    sys.exit(1 if n_failed else 0)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
