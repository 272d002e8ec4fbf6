"""Bias of an annotator's boxes in size and position, in words and numbers."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from ...agreement.evidence.ranking import MIN_IMAGES, MIN_LABELS
from ..text.tables import Cell
from ..text.words import UNDEFINED, shown_interval, shown_number

if TYPE_CHECKING:
    from ...agreement.objects.report import Bias
    from ...agreement.statistics.report import Interval

#: what offsets are of, and what they mean
BOX_SIDES = ("size", "left", "top", "right", "bottom")
OFFSETS = "in per cent; positive: larger, further right, lower"
#: smaller differences, in per cent, are not mentioned
_SLIGHT = 1.0
#: name of an edge, words for positive and negative offsets, and the offset for each per cent of size
_EDGES = {
    "left": ("left edge", "further right", "further left", -0.5),
    "top": ("upper edge", "lower", "higher", -0.5),
    "right": ("right edge", "further right", "further left", 0.5),
    "bottom": ("lower edge", "lower", "higher", 0.5),
}


def bias_in_words(bias: Bias | None, at_most: int = 2) -> str:
    """``12 % larger, lower edge 9 % lower``: the size first, then the edges that the size does not explain.

    A box that is 12 % larger on all sides has its edges 6 % further out, which is not mentioned. Only offsets whose
    interval excludes 0 are mentioned, and none without intervals or on fewer than 20 labels.
    """
    if bias is None or not has_evidence(bias):
        return UNDEFINED
    words = []
    size = _told(bias, "size")
    if size is not None and abs(size) >= _SLIGHT:
        words.append(f"{abs(size):.0f} % {'larger' if size > 0 else 'smaller'}")
    for name, value in _odd_edges(bias)[:at_most]:
        title, positive, negative, _ = _EDGES[name]
        words.append(f"{title} {abs(value):.0f} % {positive if value > 0 else negative}")
    return ", ".join(words) if words else "like the others"


def has_evidence(bias: Bias) -> bool:
    """True if enough labels on enough images support a bias."""
    return bias.n >= MIN_LABELS and any(interval.n >= MIN_IMAGES for interval in bias.intervals.values())


def _odd_edges(bias: Bias) -> list[tuple[str, float]]:
    """Edges whose offset the size does not explain, the largest unexplained offset first."""
    size = bias.mean.get("size") or 0.0
    odd = []
    for name, (*_, share) in _EDGES.items():
        value = _told(bias, name)
        if value is not None and min(abs(value), abs(value - share * size)) >= _SLIGHT:
            odd.append((abs(value - share * size), name, value))
    return [(name, value) for _, name, value in sorted(odd, key=lambda edge: -edge[0])]


def _told(bias: Bias, name: str) -> float | None:
    """A mean; None if its interval contains zero, or if it has none."""
    value, interval = bias.mean.get(name), bias.intervals.get(name)
    if value is None or interval is None:
        return None
    return value if interval.low > 0.0 or interval.high < 0.0 else None


def offset_cell(value: float | None, interval: Interval | None) -> Cell:
    """A mean offset in per cent, with its interval: ``+2.1 [0.9, 3.4]``."""
    shown = shown_interval(value, interval, functools.partial(shown_number, digits=1))
    return Cell(value, f"+{shown}" if value is not None and value >= 0.05 else shown)
