"""An annotator's habits of drawing, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...agreement.objects.summaries import Bias

#: differences of less, in per cent, are not worth a word
_SLIGHT = 1.0
#: what positive and negative offsets of an edge mean
_EDGES = {
    "left": ("left edge", "further right", "further left"),
    "top": ("upper edge", "lower", "higher"),
    "right": ("right edge", "further right", "further left"),
    "bottom": ("lower edge", "lower", "higher"),
}


def bias_in_words(bias: Bias | None, at_most: int = 2) -> str:
    """``12 % larger, lower edge 3 % lower``: the size first, then the edges that are furthest off.

    Only what is told from zero is named, if there are intervals.
    """
    if bias is None or not bias.n:
        return "-"
    words = []
    size = _notable(bias, "size")
    if size is not None:
        words.append(f"{abs(size):.0f} % {'larger' if size > 0 else 'smaller'}")
    edges = [(name, value) for name in _EDGES if (value := _notable(bias, name)) is not None]
    for name, value in sorted(edges, key=lambda edge: -abs(edge[1]))[:at_most]:
        title, positive, negative = _EDGES[name]
        words.append(f"{title} {abs(value):.0f} % {positive if value > 0 else negative}")
    return ", ".join(words) if words else "as the others"


def _notable(bias: Bias, name: str) -> float | None:
    """A mean that is neither slight nor perhaps zero."""
    value, interval = bias.mean.get(name), bias.intervals.get(name)
    if value is None or abs(value) < _SLIGHT:
        return None
    if interval is not None and interval.low is not None and interval.high is not None:
        return value if interval.low > 0.0 or interval.high < 0.0 else None
    return value
