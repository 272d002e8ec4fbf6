"""Which pairs of annotators a table shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar


class ScoredPair(Protocol):
    """A pair of annotators with a score."""

    @property
    def a(self) -> str:
        """One annotator."""

    @property
    def b(self) -> str:
        """The other."""

    @property
    def score(self) -> float | None:
        """How far they agree, None where undefined."""


Pair = TypeVar("Pair", bound=ScoredPair)


def best_and_worst(pairs: Sequence[Pair], at_most: int = 30) -> tuple[list[Pair], str]:
    """The pairs by descending score and a title; where there are many, only those at both ends."""
    ordered = sorted(pairs, key=lambda pair: (pair.score is None, -(pair.score or 0.0), pair.a, pair.b))
    if len(ordered) <= at_most:
        return ordered, "Pairs of annotators, best first"
    half = at_most // 2
    return ordered[:half] + ordered[-half:], f"Pairs of annotators: the best {half} and the last {half} of {len(pairs)}"
