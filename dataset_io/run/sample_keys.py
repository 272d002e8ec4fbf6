"""Numbers as if drawn by chance, from the ids of samples, by which some of them are chosen to stand for all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from bson import ObjectId

from ...metrics.arrays import IntArray


def sample_keys(sample_ids: Iterable[ObjectId]) -> IntArray:
    """A number for every sample, the same in every process and whatever the order of the samples."""
    words = (hashlib.blake2b(sample_id.binary, digest_size=8).digest() for sample_id in sample_ids)
    keys: IntArray = (np.frombuffer(b"".join(words), "<u8") >> np.uint64(1)).astype(np.int64)
    return keys
