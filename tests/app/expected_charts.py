"""Expected data of the panel's charts, computed from the numbers of a report alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any


def pair_alphas(report: Any) -> dict[tuple[str, str], float]:
    """Alpha of every two annotators, both ways."""
    both = [((entry.a, entry.b), entry.alpha) for entry in report.pairs]
    return {names: alpha for (a, b), alpha in both for names in ((a, b), (b, a))}


def confusions(report: Any) -> dict[tuple[str, str], int]:
    """How often two classes met, both ways."""
    counts: Counter[tuple[str, str]] = Counter()
    for pair in report.pairs:
        for entry in pair.confusion:
            if entry["a"] != entry["b"]:
                counts[entry["a"], entry["b"]] += entry["n"]
                counts[entry["b"], entry["a"]] += entry["n"]
    return dict(counts)


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


def shares(report: Any, verdict: str) -> dict[str, float]:
    """The share of everybody's labels with a verdict."""
    return {entry.name: entry.verdicts.get(verdict, 0) / sum(entry.verdicts.values()) for entry in report.annotators}


def class_alphas(report: Any) -> dict[str, tuple[float, float, float]]:
    """Alpha of every class, and how far the ends of its interval are from it, below and above."""
    found = {}
    for entry in report.classes[:30]:
        if entry.alpha is not None:
            end = entry.intervals.get("alpha")
            known = end is not None and end.low is not None and end.high is not None
            found[entry.name] = (
                entry.alpha,
                entry.alpha - end.low if known else 0,
                end.high - entry.alpha if known else 0,
            )
    return found


def histogram(scores: Iterable[float]) -> list[int]:
    """How many scores lie in every twentieth from 0 to 1; what rounding alone moves off an edge counts as on it."""
    counts = [0] * 20
    for score in scores:
        counts[min(19, int(round(score, 9) * 20 + 1e-9))] += 1
    return counts
