"""The places in which the units of two programs differ, and how."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tools.dev.plugin import load_plugin

from .annotations import Annotations

#: similarities that differ by at most this are equal
TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Solution:
    """The units that one program makes of the objects of a place."""

    units: list[list[int]]  #: rows of the objects of every unit
    n_pairs: int  #: pairs within units
    n_below: int  #: pairs with an IoU below the threshold
    n_mixed: int  #: pairs of two classes
    iou: float  #: sum of the IoU of the pairs
    surplus: float  #: sum of (IoU - threshold)
    same_class_surplus: float  #: the same over pairs of one class


@dataclass(frozen=True, slots=True)
class Place:
    """A smallest set of objects that both programs split into whole units, differently."""

    rows: NDArray[np.int64]  #: the objects
    iou: NDArray[np.float64]  #: shape ``(N, N)``, of these objects
    at_threshold: bool  #: whether a pair of two annotators lies exactly at the threshold
    theirs: Solution  #: the units of the other program
    ours: Solution  #: our units


def differing_places(
    annotations: Annotations, theirs: NDArray[np.int64], ours: NDArray[np.int64], threshold: float
) -> list[Place]:
    """All places in which the units of every annotation differ."""
    n = int(theirs.max(initial=-1)) + 1
    n_nodes = n + int(ours.max(initial=-1)) + 1
    edges = coo_array((np.ones(len(ours)), (theirs, n + ours)), shape=(n_nodes, n_nodes))
    component = connected_components(edges, directed=False)[1][theirs]
    # a component of one unit of each program is the same unit
    units = np.unique(np.stack([component, theirs, ours]), axis=1)
    differs = np.bincount(units[0]) > 1
    order = np.argsort(component, kind="stable")
    places = np.split(order, np.flatnonzero(np.diff(component[order])) + 1)
    return [
        _place(annotations, rows, theirs[rows], ours[rows], threshold) for rows in places if differs[component[rows[0]]]
    ]


def _iou_of_rows(boxes_xyxy: NDArray[np.float64], i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
    """IoU of the boxes of two index columns, row by row."""
    from annotator_agreement.metrics.geometry.boxes import Boxes
    from annotator_agreement.metrics.geometry.objects import iou_from_areas

    boxes = Boxes(boxes_xyxy)
    return iou_from_areas(boxes.intersection_of(i, j), boxes.area[i], boxes.area[j])


def pairs_within_units(
    annotations: Annotations, unit: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """IoU of every pair of objects of one unit, and whether they are of one class."""
    iou, same_class = [np.empty(0)], [np.empty(0, np.bool_)]
    order = np.argsort(unit, kind="stable")
    for step in range(1, len(annotations.annotators)):
        i, j = order[:-step], order[step:]
        together = unit[i] == unit[j]
        i, j = i[together], j[together]
        iou.append(_iou_of_rows(annotations.boxes_xyxy, i, j))
        same_class.append(annotations.category[i] == annotations.category[j])
    return np.concatenate(iou), np.concatenate(same_class)


def _place(
    annotations: Annotations,
    rows: NDArray[np.int64],
    theirs: NDArray[np.int64],
    ours: NDArray[np.int64],
    threshold: float,
) -> Place:
    boxes, annotator = annotations.boxes_xyxy[rows], annotations.annotator[rows]
    iou = load_plugin().metrics.box_iou(boxes, boxes)
    different = annotator[:, None] != annotator[None, :]
    same_class = annotations.category[rows][:, None] == annotations.category[rows][None, :]
    at_threshold = bool((different & (np.abs(iou - threshold) <= TIE)).any())

    def solution(unit: NDArray[np.int64]) -> Solution:
        i, j = np.nonzero(np.triu(unit[:, None] == unit[None, :], 1))
        values, same = iou[i, j], same_class[i, j]
        return Solution(
            units=[rows[unit == number].tolist() for number in np.unique(unit)],
            n_pairs=len(i),
            n_below=int((values < threshold - TIE).sum()),
            n_mixed=int((~same).sum()),
            iou=float(values.sum()),
            surplus=float((values - threshold).sum()),
            same_class_surplus=float((values - threshold)[same].sum()),
        )

    return Place(rows, iou, at_threshold, solution(theirs), solution(ours))


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
