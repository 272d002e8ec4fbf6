"""Expected data of the panel's charts, computed from the numbers of a report alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any


def verdicts(report: Any) -> Counter[str]:
    """How many labels were judged as what."""
    return sum((Counter(entry.verdicts) for entry in report.annotators), Counter())


def votes(report: Any) -> dict[str, int]:
    """By how many of how many annotators objects were drawn."""
    return {
        f"{entry['votes']} of {entry['assigned']}": entry["units"]
        for entry in report.existence.votes
        if entry["assigned"] > 1 and entry["votes"] > 0
    }


def histogram(scores: Iterable[float]) -> list[int]:
    """How many scores lie in every twentieth from 0 to 1; what rounding alone moves off an edge counts as on it."""
    counts = [0] * 20
    for score in scores:
        counts[min(19, int(round(score, 9) * 20 + 1e-9))] += 1
    return counts
