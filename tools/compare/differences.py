"""The places in which the units of two programs differ, and how."""

from __future__ import annotations

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
    """The units that one program makes of the objects of a place.

    Attributes:
        units: rows of the objects of every unit
        n_pairs: pairs within units
        n_below: pairs with an IoU below the threshold
        n_mixed: pairs of two classes
        iou: sum of the IoU of the pairs
        surplus: sum of (IoU - threshold)
        same_class_surplus: the same over pairs of one class
    """

    units: list[list[int]]
    n_pairs: int
    n_below: int
    n_mixed: int
    iou: float
    surplus: float
    same_class_surplus: float


@dataclass(frozen=True, slots=True)
class Place:
    """A smallest set of objects that both programs split into whole units, differently.

    Attributes:
        rows: the objects
        iou: shape ``(N, N)``, of these objects
        at_threshold: whether a pair of two annotators lies exactly at the threshold
        theirs: the units of the other program
        ours: our units
    """

    rows: NDArray[np.int64]
    iou: NDArray[np.float64]
    at_threshold: bool
    theirs: Solution
    ours: Solution


def differing_places(
    annotations: Annotations, theirs: NDArray[np.int64], ours: NDArray[np.int64], threshold: float
) -> list[Place]:
    """All places in which the units of every annotation differ.

    Args:
        annotations: ``N`` boxes
        theirs: shape ``(N,)``, the units of the other program
        ours: shape ``(N,)``, our units
        threshold: least IoU of a match
    """
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
