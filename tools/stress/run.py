"""Run the campaigns and print what was tried and what failed: ``make stress``.

Some of them, or fewer rounds: ``make stress ARGS="schema operations --rounds 20 --seed 7"``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from tools.dev.private_fiftyone import ROOT, PrivateFiftyOne

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
    from .campaign import campaigns

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
