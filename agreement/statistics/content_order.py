"""Order samples by their content, independent of the order of samples, labels and annotators."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by

#: hashes of content; sums do not depend on the order
Hashes: TypeAlias = NDArray[np.uint64]

#: values are rounded to this number of decimals; smaller differences are rounding errors
_DIGITS = 9


def name_hashes(names: Sequence[str]) -> Hashes:
    """A hash of every name, the same in every process."""
    words = (hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest() for name in names)
    return np.frombuffer(b"".join(words), "<u8").astype(np.uint64)


def mixed(hashes: Hashes) -> Hashes:
    """SplitMix64 finaliser: spread the bits so that summed hashes do not collide.

    References:
        G. L. Steele Jr., D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", 2014 (the finaliser,
        with D. Stafford's constants)
    """
    word = hashes + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def combined(hashes: Hashes, codes: IntArray) -> Hashes:
    """Hashes of (hash, code) pairs."""
    return mixed(hashes + mixed(codes.astype(np.uint64)))


def hash_sums(index: IntArray, hashes: Hashes, n: int) -> Hashes:
    """Sum of the hashes at every index ``0 … n - 1``, modulo 2⁶⁴."""
    total = np.zeros(n, np.uint64)
    np.add.at(total, index, hashes)
    return total


def assignment_hashes(assigned: BoolArray, annotators: Hashes) -> Hashes:
    """A hash of the set of annotators assigned to every sample."""
    sample, annotator = np.nonzero(assigned)
    return hash_sums(sample, mixed(annotators[annotator]), len(assigned))


def content_ranks(hashes: Hashes, values: FloatArray, clusters: IntArray | None = None) -> IntArray:
    """Rank of every sample by its content, shape ``(S,)``; samples of one video or group have one rank.

    Samples of equal content may have any order, because exchanging them changes nothing.

    Args:
        hashes: shape ``(S,)``, hash of the content of every sample
        values: shape ``(S, D)``, further content, rounded to nine digits; nan counts as a value
        clusters: shape ``(S,)``, number of the video or group of every sample
    """
    values = np.nan_to_num(np.round(values, _DIGITS), nan=-1.0)
    number = np.arange(len(hashes))
    if clusters is not None:
        number = np.unique(clusters, return_inverse=True)[1].ravel()
        n = int(number.max(initial=-1)) + 1
        hashes = hash_sums(number, mixed(hashes), n)
        sums = [np.round(sums_by(number, column, n), _DIGITS) for column in values.T]
        values = np.array(sums).reshape(len(sums), n).T
    order = np.lexsort([*values.T, hashes])
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[number]
