"""Which classes two annotators gave the same object, as lists for a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...metrics.arrays import IntArray
from .additive import SparseCounts
from .summaries import Confusion


@dataclass(frozen=True, slots=True)
class Listed:
    """The most frequent entries of a list, and how much the others count together."""

    entries: list[Confusion]
    n_unlisted: int


def name_ranks(names: Sequence[str]) -> IntArray:
    """Place of every name in their alphabetical order."""
    ranks = np.empty(len(names), np.int64)
    ranks[np.argsort(np.array(names, dtype=str), kind="stable")] = np.arange(len(names))
    return ranks


def class_pairs(confusion: SparseCounts, names: Sequence[str]) -> SparseCounts:
    """How often two classes met, whoever gave which.

    Args:
        confusion: how often each (pair of annotators, class of the first, class of the second) occurs
        names: of every class code

    Returns:
        counts of (class, class), the first by name, equal ones included
    """
    _, a, b = confusion.columns()
    ranks = name_ranks(names)
    first = ranks[a] <= ranks[b]
    return confusion.regrouped(np.where(first, a, b), np.where(first, b, a))


def listed(counts: SparseCounts, names: Sequence[str], at_most: int) -> Listed:
    """The most frequent pairs of different classes; equally frequent ones by name.

    Args:
        counts: of (class, class)
        names: of every class code
        at_most: length of the list
    """
    a, b = counts.columns()
    differ = a != b
    return listed_by_row(np.zeros(int(differ.sum()), np.int64), a[differ], b[differ], counts.counts[differ], names, 1,
                         at_most)[0]  # fmt: skip


def listed_by_row(
    row: IntArray, a: IntArray, b: IntArray, n: IntArray, names: Sequence[str], n_rows: int, at_most: int
) -> list[Listed]:
    """The most frequent pairs of classes of every row; equally frequent ones by name.

    Args:
        row: shape ``(T,)``, rows ``0 … n_rows - 1``
        a: shape ``(T,)``, class code
        b: shape ``(T,)``, another one
        n: shape ``(T,)``, how often
        names: of every class code
        n_rows: number of rows
        at_most: length of a list
    """
    ranks = name_ranks(names)
    order = np.lexsort((ranks[b], ranks[a], -n, row))
    ends = np.searchsorted(row[order], np.arange(n_rows + 1))
    lists = []
    for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        kept, rest = order[start : min(end, start + at_most)], order[min(end, start + at_most) : end]
        entries = [
            {"a": names[p], "b": names[q], "n": count}
            for p, q, count in zip(a[kept].tolist(), b[kept].tolist(), n[kept].tolist(), strict=True)
        ]
        lists.append(Listed(entries, int(n[rest].sum())))
    return lists
