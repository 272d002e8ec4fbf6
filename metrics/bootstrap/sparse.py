"""Sparse columns: built from entries, put beside and under each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from ..arrays import FloatArray, IntArray

#: shape ``(S, C)``, of which most entries are 0
SparseColumns: TypeAlias = csr_array


def sparse(row: IntArray, column: IntArray, values: FloatArray | IntArray, shape: tuple[int, int]) -> SparseColumns:
    """Sums of the values of every (row, column)."""
    # indices of half the size, where nothing is lost
    return csr_array((values.astype(np.float64), (row.astype(np.int32), column.astype(np.int32))), shape=shape)


def moved(columns: SparseColumns, rows: IntArray, n_rows: int) -> SparseColumns:
    """The sum of the rows that go to each of ``n_rows`` rows; zeros where none does.

    Args:
        columns: shape ``(T, C)``
        rows: shape ``(T,)``, where each goes
        n_rows: how many there are then
    """
    n = len(rows)
    return csr_array((np.ones(n), (rows, np.arange(n))), shape=(n_rows, n)) @ columns


def stacked(chunks: list[SparseColumns]) -> SparseColumns:
    """The rows of all chunks, of which the list is empty then: both would take twice the memory."""
    rows = csr_array(vstack(chunks, format="csr"))
    chunks.clear()
    return rows


def beside(blocks: Sequence[FloatArray | SparseColumns]) -> SparseColumns:
    """The columns of all blocks."""
    return csr_array(hstack([csr_array(block) for block in blocks], format="csr"))
