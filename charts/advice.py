"""Who stands apart from the others, and what to do: talk to one annotator, or write a rule into the guideline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

#: said where two annotators disagree
OF_TWO = "Two annotators cannot tell who of them is right: a third one, or a reference, can."

#: one annotator stands apart who has so much of all conflicts …
_MOST = 0.85
#: … of so many
_ENOUGH = 10
#: or whose pairs all agree less than every other, by at least so much
_CLEARLY_LESS = 0.1


@dataclass(frozen=True, slots=True)
class Apart:
    """An annotator who agrees less with the others than they do among themselves."""

    name: str
    with_them: float  #: mean agreement of their pairs
    without: float  #: mean agreement of all other pairs


def talk_to(name: str) -> str:
    """Advice where one annotator is behind a finding."""
    return f"talk to {name}"


def write_down(what: str) -> str:
    """Advice where a finding concerns everybody."""
    return f"say in the guideline {what}"


def one_behind(counts: Iterable[tuple[str, str, int]]) -> tuple[str, int, int] | None:
    """The one annotator who takes part in nearly all conflicts, how many these are, and all; None if there is none.

    Args:
        counts: conflicts of every pair of annotators, of three annotators or more
    """
    of_pairs = list(counts)
    total = sum(n for *_, n in of_pairs)
    names = sorted({name for a, b, _ in of_pairs for name in (a, b)})
    if len(names) < 3 or total < _ENOUGH:
        return None
    of_names = {name: sum(n for a, b, n in of_pairs if name in (a, b)) for name in names}
    most = max(names, key=lambda name: (of_names[name], name))
    return (most, of_names[most], total) if of_names[most] >= _MOST * total else None


def apart(pairs: Sequence[Any], number: Callable[[Any], float | None], weight: Callable[[Any], float]) -> Apart | None:
    """The one annotator whose pairs all agree clearly less than every other pair; None if there is none.

    Args:
        pairs: pairs with ``a`` and ``b``
        number: agreement of a pair, None where undefined
        weight: how much a pair counts in the means
    """
    known = [(pair.a, pair.b, value, weight(pair)) for pair in pairs if (value := number(pair)) is not None]
    found = []
    for name in sorted({name for a, b, *_ in known for name in (a, b)}):
        theirs = [(value, n) for a, b, value, n in known if name in (a, b) and n]
        others = [(value, n) for a, b, value, n in known if name not in (a, b) and n]
        if theirs and others and min(others)[0] - max(theirs)[0] >= _CLEARLY_LESS:
            found.append(Apart(name, _mean(theirs), _mean(others)))
    return found[0] if len(found) == 1 else None


def _mean(values: Sequence[tuple[float, float]]) -> float:
    return sum(value * n for value, n in values) / sum(n for _, n in values)
