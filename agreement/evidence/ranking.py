"""Rank annotators, pairs and classes by intervals, those without enough evidence by name; natural order of names.

One rule for text, page, panel and tables. An annotator, a pair or a class has evidence if its number has an interval
(10 images or more) and rests on 20 labels or more. Rankings go by the conservative end of the interval: who agrees most
by the lower end, who agrees least by the upper end. Hence an entry with few labels, whose interval is wide, is at
neither end. What has no evidence comes last, in the order of names. Of many numbers some lie off by chance: those that
are called least or most, or an offset, are selected at a false discovery rate (:func:`far_from`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from ...metrics.bootstrap.confidence import MIN_SAMPLES
from ...metrics.numeric.arrays import BoolArray
from ...metrics.numeric.rate_tests import ROUNDING, false_discoveries, p_values_of_reach


class Limits(Protocol):
    """The interval of a number."""

    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def n(self) -> int: ...


class Ranked(Protocol):
    """An annotator, a pair, a class or a tag in a report, with the intervals of its numbers by their names."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def n_labels(self) -> int: ...
    @property
    def intervals(self) -> Mapping[str, Limits]: ...


E = TypeVar("E", bound=Ranked)

#: no annotator, pair or class is ranked, or named in a text, on fewer labels, or on fewer images (videos, groups)
MIN_LABELS, MIN_IMAGES = 20, MIN_SAMPLES
_DIGITS = re.compile(r"(\d+)")


def natural_key(name: object) -> tuple[Any, ...]:
    """Sort key of a name by which numbers in it count as numbers: ``worker 2`` is before ``worker 10``."""
    text = str(name)
    parts = enumerate(_DIGITS.split(text))
    key = [(len(digits := part.lstrip("0")), digits) if k % 2 else part.casefold() for k, part in parts]
    return (key, text)


def in_order(names: Iterable[str]) -> list[str]:
    """Names in natural order."""
    return sorted(names, key=natural_key)


def name_of(entry: Ranked) -> tuple[Any, ...]:
    """The sort key of an annotator, a pair, a class or a tag by its name."""
    return tuple(map(natural_key, entry.names))


def supported(entry: Ranked, number: str = "score") -> Limits | None:
    """The interval (``low``, ``high``) of a number, if there is enough evidence to rank or name by it; else None."""
    interval = entry.intervals.get(number)
    if interval is None or interval.n < MIN_IMAGES or entry.n_labels < MIN_LABELS:
        return None
    return interval


def most_first(entries: Sequence[E], number: str = "score") -> list[E]:
    """Entries by the lower end of the interval, the highest first; what has no evidence last, by name."""
    return _ranked(entries, number, "low", -1.0)


def least_first(entries: Sequence[E], number: str = "score") -> list[E]:
    """Entries by the upper end of the interval, the lowest first; what has no evidence last, by name."""
    return _ranked(entries, number, "high", 1.0)


def lowest_first(entries: Sequence[E], number: str) -> list[E]:
    """Entries by the number itself, for lists that show it; what has no evidence last, by name."""
    return _by_number(entries, number, 1.0)


def highest_first(entries: Sequence[E], number: str) -> list[E]:
    """Entries by the number itself, the highest first; what has no evidence last, by name."""
    return _by_number(entries, number, -1.0)


def _by_number(entries: Sequence[E], number: str, sign: float) -> list[E]:
    def key(entry: E) -> tuple[Any, ...]:
        is_known = supported(entry, number) is not None
        return (not is_known, sign * round(getattr(entry, number), 9) if is_known else 0.0, name_of(entry))

    return sorted(entries, key=key)


def _ranked(entries: Sequence[E], number: str, end: str, sign: float) -> list[E]:
    def key(entry: E) -> tuple[Any, ...]:
        interval = supported(entry, number)
        # rounded, so that rounding errors do not decide the order
        return (interval is None, 0.0 if interval is None else sign * round(getattr(interval, end), 9), name_of(entry))

    return sorted(entries, key=key)


@dataclass(frozen=True, slots=True)
class Ends(Generic[E]):
    """The entries that agree least and most, as far as their intervals support it."""

    least: list[E]  #: those that are below the number of all together beyond chance; the clearest first
    most: list[E]  #: those that are above it beyond chance; the clearest first
    n_supported: int  #: entries with enough evidence


def far_from(
    whole: float, values: Sequence[float], intervals: Sequence[Limits], ends: tuple[float, float] | None = None
) -> BoolArray:
    """Which of several numbers are not ``whole``, at a false discovery rate of 5 % among all of them.

    The p-value of a number is the one of Student's t that its 95 % interval stands for: the end nearer to ``whole`` is
    ``t(0.975; n - 1)`` errors from the number. What is found has ``whole`` outside its interval; of many, far outside.

    Of many annotators who seldom err some did not err at all. Their intervals are narrow, as resampling cannot see what
    did not occur. So the error includes what one more sample at the other end of the scale would change.

    Args:
        whole: the number to compare with
        values: ``N`` numbers
        intervals: their intervals
        ends: the smallest and the largest value of one sample, where numbers are means on a scale; None: they are not

    Returns:
        shape ``(N,)``

    References:
        D. G. Altman, J. M. Bland, "How to obtain the P value from a confidence interval", 2011; Y. Benjamini, Y.
        Hochberg, "Controlling the false discovery rate", 1995
    """
    value = np.array(values, np.float64)
    low, high, n = np.array([(each.low, each.high, each.n) for each in intervals], np.float64).reshape(-1, 3).T
    reach = np.where(value < whole, high - value, value - low)
    # a number may lie outside its interval, if few samples are far from the others
    reach = np.maximum(np.where(reach > ROUNDING, reach, high - low), ROUNDING)
    added = 0.0 if ends is None else np.where(value < whole, ends[1] - value, value - ends[0]) / (n + 1.0)
    return false_discoveries(p_values_of_reach(value - whole, reach, n, added))


def ends_of_ranking(entries: Sequence[E], at_most: int, whole: float | None, number: str = "score") -> Ends[E]:
    """The entries that agree clearly less, and clearly more, than all together; see :func:`far_from`.

    Args:
        entries: annotators, pairs, classes or tags
        at_most: maximum number of each
        whole: the number of all together, None where undefined: of scores ``score.of_meetings``, the mean over the
            meetings of which entries have theirs
        number: the number to rank by
    """
    known = [(entry, interval) for entry in entries if (interval := supported(entry, number)) is not None]
    if whole is None:
        return Ends([], [], len(known))
    far = far_from(
        whole, [getattr(entry, number) for entry, _ in known], [interval for _, interval in known], (0.0, 1.0)
    )
    found = [each for each, is_far in zip(known, far.tolist(), strict=True) if is_far]
    below = [entry for entry, interval in found if interval.high < whole]
    above = [entry for entry, interval in found if interval.low > whole]
    return Ends(least_first(below, number)[:at_most], most_first(above, number)[:at_most], len(known))
