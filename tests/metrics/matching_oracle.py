"""Matching by brute force, in plain Python and from the definition alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from annotator_agreement.metrics import Objects, box_overlaps, match_objects

TIE = 1e-9

#: (sample, annotator, category, x_min, y_min, x_max, y_max)
Row = tuple[int, int, int, float, float, float, float]
Partition = frozenset[frozenset[int]]


def columns(rows: Sequence[Row]) -> tuple[Objects, np.ndarray]:
    """Rows, already sorted by sample and annotator, as the kernels take them."""
    table = np.array(rows, dtype=float).reshape(-1, 7)
    return Objects(*table[:, :3].astype(np.int64).T), table[:, 3:]


def sorted_rows(rows: Sequence[Row]) -> list[Row]:
    """Rows by sample, then annotator, otherwise in the order given."""
    return sorted(rows, key=lambda row: row[:2])


def match(rows: Sequence[Row], **options):
    """The product's matching of rows."""
    objects, boxes = columns(rows)
    return match_objects(objects, box_overlaps(objects, boxes), **options)


def partition_of(unit: np.ndarray) -> Partition:
    """Sets of rows that have the same unit number."""
    return frozenset(frozenset(np.flatnonzero(unit == u).tolist()) for u in np.unique(unit))


def compared_pairs(objects: Objects) -> list[tuple[int, int]]:
    """The pairs of objects of two annotators on one sample, in order."""
    sample, annotator = objects.sample.tolist(), objects.annotator.tolist()
    pairs = combinations(range(len(sample)), 2)
    return [(i, j) for i, j in pairs if sample[i] == sample[j] and annotator[i] != annotator[j]]


def similarity_of(a: Sequence[float], b: Sequence[float], kind: str = "iou") -> float:
    """IoU or Dice of two boxes ``(x_min, y_min, x_max, y_max)``, 0 for two boxes without area."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    shared = width * height if width > 0 and height > 0 else 0.0
    both = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
    if shared == 0.0:
        return 0.0
    return shared / (both - shared) if kind == "iou" else 2.0 * shared / both


@dataclass(frozen=True)
class Best:
    """Greatest total, fewest groups among the totals equal to it, the partitions that have both, the next total."""

    total: float
    n_groups: int
    partitions: list[Partition]
    runner_up: float


def _all(weights: list[list[float | None]], k: int, groups: list[list[int]], total: float) -> Iterator[tuple]:
    if k == len(weights):
        yield total, [list(group) for group in groups]
        return
    for group in groups:
        gains = [weights[k][other] for other in group]
        if None not in gains:
            group.append(k)
            yield from _all(weights, k + 1, groups, total + sum(gains))
            group.pop()
    groups.append([k])
    yield from _all(weights, k + 1, groups, total)
    groups.pop()


def best_by_enumeration(weights: list[list[float | None]]) -> Best:
    """Compare all partitions of a graph; None is a pair that must not share a group."""
    found = list(_all(weights, 0, [], 0.0))
    greatest = max(total for total, _ in found)
    equal = [groups for total, groups in found if total >= greatest - TIE]
    fewest = min(map(len, equal))
    partitions = [frozenset(map(frozenset, groups)) for groups in equal if len(groups) == fewest]
    lower = [total for total, groups in found if frozenset(map(frozenset, groups)) not in partitions]
    return Best(greatest, fewest, partitions, max(lower, default=-np.inf))


def node_weights(
    rows: Sequence[Row], nodes: Sequence[Sequence[int]], threshold: float, kind: str = "iou"
) -> list[list[float | None]]:
    """What two nodes, sets of rows of one sample, gain by being joined; None where they share an annotator."""
    weights: list[list[float | None]] = []
    for u in nodes:
        line: list[float | None] = []
        for v in nodes:
            if {rows[i][1] for i in u} & {rows[j][1] for j in v}:
                line.append(None)
            else:
                line.append(sum(similarity_of(rows[i][3:], rows[j][3:], kind) - threshold for i in u for j in v))
        weights.append(line)
    return weights


def total_of(weights: list[list[float | None]], partition: Partition) -> float:
    """Total of a partition, minus infinity where a group has a forbidden pair."""
    total = 0.0
    for group in partition:
        members = sorted(group)
        for place, p in enumerate(members):
            for q in members[place + 1 :]:
                gain = weights[p][q]
                total += -np.inf if gain is None else gain
    return total


def best_by_subsets(weights: np.ndarray, forbidden: np.ndarray) -> tuple[float, int]:
    """Greatest total and, among those equal to it, the fewest groups, by dynamic programming over sets of nodes.

    Exact where sums of weights are exact (multiples of a power of two).
    """
    n = len(weights)
    value: list[float | None] = [0.0] * (1 << n)
    for mask in range(1, 1 << n):
        top = mask.bit_length() - 1
        rest, total = mask ^ (1 << top), value[mask ^ (1 << top)]
        if total is not None:
            for other in range(top):
                if rest >> other & 1:
                    total = None if forbidden[top, other] else total + float(weights[top, other])
                    if total is None:
                        break
        value[mask] = total
    best: list[tuple[float, int]] = [(0.0, 0)] * (1 << n)
    for mask in range(1, 1 << n):
        low = mask & -mask
        others = subset = mask ^ low
        chosen = (-np.inf, 0)
        while True:
            total = value[subset | low]
            if total is not None:
                rest_total, rest_groups = best[others ^ subset]
                candidate = (total + rest_total, rest_groups - 1)
                if candidate > chosen:
                    chosen = candidate
            if not subset:
                break
            subset = (subset - 1) & others
        best[mask] = chosen
    return best[-1][0], -best[-1][1]
