"""The matching method ``mutual_best``: objects of two annotators that are each other's best match by Dice."""

from __future__ import annotations

import numpy as np

from ..geometry.objects import Objects, Overlaps
from ..numeric.arrays import BoolArray, FloatArray, IntArray, components
from .partition import TIE


def match_mutual_best(objects: Objects, overlaps: Overlaps, classes: str) -> tuple[IntArray, int, IntArray]:
    """Align every pair of annotators, then join the alignments into units.

    Of several best matches (Dice equal within 1e-9) the same class wins, then the first object. Only pairs of one
    class count as aligned, as published, unless ``classes`` is ``ignore``. For two annotators the units are the aligned
    pairs; for more, aligned pairs are joined in descending order of Dice where the joined unit keeps one object per
    annotator. With ``prefer``, mutual best matches of different classes are also joined, so that they become class
    conflicts.

    Args:
        objects: ``N`` objects
        overlaps: the overlapping pairs among them
        classes: ``prefer``, ``ignore`` or ``require``

    Returns:
        unit of every object ``(N,)``, number of units, aligned pairs ``(2, A)``
    """
    dice = overlaps.similarity("dice")
    same_class = objects.category[overlaps.i] == objects.category[overlaps.j]
    forward = _best_partner(objects, overlaps.i, overlaps.j, dice, same_class)
    mutual = forward & _best_partner(objects, overlaps.j, overlaps.i, dice, same_class)
    aligned = mutual if classes == "ignore" else mutual & same_class
    joined = aligned if classes == "require" else mutual
    unit, n_units = _join(objects, overlaps.i[joined], overlaps.j[joined], dice[joined])
    return unit, n_units, np.stack([overlaps.i[aligned], overlaps.j[aligned]])


def _best_partner(
    objects: Objects, own: IntArray, other: IntArray, dice: FloatArray, same_class: BoolArray
) -> BoolArray:
    """Mask of pairs in which ``other`` is the best match of ``own`` among the objects of its annotator."""
    best = np.zeros(len(own), np.bool_)
    if not len(own):
        return best
    n_annotators = int(objects.annotator.max()) + 1
    _, rival = np.unique(own * n_annotators + objects.annotator[other], return_inverse=True)
    greatest = np.zeros(int(rival.max()) + 1)
    np.maximum.at(greatest, rival, dice)
    candidates = np.flatnonzero(dice >= greatest[rival] - TIE)
    order = candidates[np.lexsort((other[candidates], ~same_class[candidates], rival[candidates]))]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = rival[order[1:]] != rival[order[:-1]]
    best[order[is_first]] = True
    return best


def _join(objects: Objects, i: IntArray, j: IntArray, dice: FloatArray) -> tuple[IntArray, int]:
    n = len(objects)
    _, component = components(i, j, n)
    n_members = np.bincount(component, minlength=1)
    keys = np.unique(component * (int(objects.annotator.max(initial=0)) + 1) + objects.annotator)
    n_annotators = np.bincount(keys // (int(objects.annotator.max(initial=0)) + 1), minlength=len(n_members))
    conflict = n_annotators < n_members
    leader = np.arange(n)
    # without two objects of one annotator every aligned pair can be joined
    first = np.full(len(n_members), n)
    np.minimum.at(first, component, np.arange(n))
    easy = ~conflict[component]
    leader[easy] = first[component[easy]]
    disputed = np.flatnonzero(conflict[component[i]])
    disputed = disputed[np.lexsort((j[disputed], i[disputed], -dice[disputed]))]
    members = {k: [k] for k in np.flatnonzero(~easy).tolist()}
    annotator = objects.annotator
    for a, b in zip(i[disputed].tolist(), j[disputed].tolist(), strict=True):
        p, q = sorted((int(leader[a]), int(leader[b])))
        if p == q or set(annotator[members[p]]) & set(annotator[members[q]]):
            continue
        leader[members[q]] = p
        members[p] += members.pop(q)
    _, unit = np.unique(leader, return_inverse=True)  # a leader is the first object of its unit
    return unit, int(unit.max(initial=-1)) + 1
