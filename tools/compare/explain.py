"""Explain why the units of another program differ from ours: every differing place is assigned to a known kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from .annotations import Annotations
from .differences import TIE, Place

#: value of a pair within a unit for the other program: its IoU, plus this bonus for pairs of one class
SAME_CLASS_BONUS = {"negative_score": 0.0, "category_lenient": 1.0}

_CHAIN = "kalos joins a chain although a pair in it is below the threshold and costs more than the other pairs gain"
_OUTWEIGHED = "ours joins objects although a pair of them is below the threshold, because the other pairs outweigh it"

#: no known kind; a comparison with such a place is not explained
UNKNOWN = "not explained"

#: kind of a place and its explanation, for every method of kalos
_TEXTS: Mapping[str, Mapping[str, str]] = {
    "greedy": {
        "chain": _CHAIN,
        "outweighed": _OUTWEIGHED + ", and kalos took another pair first",
        "not the best": "kalos joins the best pair first and misses a larger sum of IoU",
    },
    "ahc": {
        "outweighed": _OUTWEIGHED + ", which complete linkage never does",
        "not the best": "kalos joins the closest objects first and misses a larger sum of IoU",
    },
    "mgm": {
        "outweighed": _OUTWEIGHED + ", which its multi-graph matching never does",
        "other sum": "kalos maximises the sum of IoU over pairs above the threshold, ours the sum of (IoU - threshold)",
        "classes": "kalos maximises the sum of IoU plus 1 for every pair of one class, ours matches within the classes "
        "first",
    },
}


def kind_of(place: Place, cost: str) -> str:
    """The kind of difference of the two solutions of a place; ``UNKNOWN`` if it is not known."""
    theirs, ours = place.theirs, place.ours
    if place.at_threshold:
        return UNKNOWN
    if theirs.n_below and not ours.n_below and theirs.surplus < ours.surplus - TIE:
        return "chain"
    if ours.n_below and not theirs.n_below and ours.surplus > theirs.surplus + TIE:
        return "outweighed"
    if theirs.n_below or ours.n_below:
        return UNKNOWN
    bonus = SAME_CLASS_BONUS[cost]
    gain = theirs.iou - ours.iou + bonus * ((theirs.n_pairs - theirs.n_mixed) - (ours.n_pairs - ours.n_mixed))
    if gain < -TIE:
        return "not the best"
    if gain > TIE and theirs.surplus < ours.surplus - TIE and not bonus:
        return "other sum"
    if gain > TIE and bonus and theirs.same_class_surplus < ours.same_class_surplus - TIE:
        return "classes"
    return UNKNOWN


def kinds_of(places: Sequence[Place], cost: str) -> dict[str, list[Place]]:
    """The places by kind, the most frequent first."""
    kinds = defaultdict(list)
    for place in places:
        kinds[kind_of(place, cost)].append(place)
    return dict(sorted(kinds.items(), key=lambda entry: (-len(entry[1]), entry[0])))


def why(places: Sequence[Place], method: str, cost: str, annotations: Annotations) -> str:
    """One sentence on all places in which the units differ."""
    if not places:
        return "the same units"
    images = len({int(annotations.sample[place.rows[0]]) for place in places})
    parts = [f"{len(found)} × {_TEXTS[method].get(kind, UNKNOWN)}" for kind, found in kinds_of(places, cost).items()]
    return f"the units differ in {_counted(len(places), 'place')} ({_counted(images, 'image')}): {'; '.join(parts)}"


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def example(place: Place, annotations: Annotations) -> str:
    """A place in words: overlapping pairs of two annotators, and both solutions."""
    letters = {row: chr(ord("A") + k) for k, row in enumerate(place.rows.tolist())}
    annotator = annotations.annotator[place.rows]
    image = annotations.coco["images"][int(annotations.sample[place.rows[0]])]["file_name"]
    pairs = [
        f"{letters[int(place.rows[i])]}{letters[int(place.rows[j])]} {place.iou[i, j]:.3f}"
        for i, j in zip(*np.nonzero(np.triu(place.iou, 1)), strict=True)
        if annotator[i] != annotator[j]
    ]
    return (
        f"{image}, IoU {', '.join(pairs)}: units of kalos {_units(place.theirs.units, letters)}, "
        f"ours {_units(place.ours.units, letters)} (surplus {place.theirs.surplus:.3f} and {place.ours.surplus:.3f})"
    )


def _units(units: Sequence[Sequence[int]], letters: Mapping[int, str]) -> str:
    return " ".join(sorted("".join(letters[row] for row in unit) for unit in units))
