"""Stored records of every family: records cut down to some samples equal the records of these samples alone."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.agreement.families import KINDS, NAMES, Sample, each_kind
from tests.chance import seeds

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.statistics import Records

N = 24


def recorded(kind: str, samples: Sequence[Sample]) -> Records:
    """The records of samples."""
    return KINDS[kind].record(samples, make_config(NAMES, boundaries=True))


def assert_same(found: Records, expected: Records) -> None:
    """Equal columns, whatever the parts that they come in."""
    assert found.n_samples == expected.n_samples
    assert set(found.parts[0]) == set(expected.parts[0])
    for name in expected.parts[0]:
        assert_array_equal(found.column(name), expected.column(name), err_msg=name)
    assert_array_equal(found.assigned, expected.assigned)


@each_kind
@pytest.mark.parametrize("ends", [[24], [5, 5, 24], [0, 1, 23, 24]])
@pytest.mark.few(5)
def test_records_of_batches_add_up(kind: str, ends: list[int]) -> None:
    samples = KINDS[kind].samples(1, N)
    parts = [samples[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    assert_same(functools.reduce(operator.add, (recorded(kind, part) for part in parts)), recorded(kind, samples))


@each_kind
@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.few(3)
def test_a_selection_is_what_is_recorded_of_these_samples(kind: str, seed: int) -> None:
    samples = KINDS[kind].samples(seed, N)
    kept = np.random.default_rng(seed).random(N) < 0.4
    parts = recorded(kind, samples[:10]) + recorded(kind, samples[10:])
    expected = recorded(kind, [sample for sample, keep in zip(samples, kept, strict=True) if keep])
    assert_same(parts.select(kept), expected)
    assert parts.select(~kept).n_samples == N - expected.n_samples
    assert parts.select(np.zeros(N, np.bool_)).n_samples == 0


@each_kind
def test_samples_are_taken_in_the_order_asked_for(kind: str) -> None:
    samples = KINDS[kind].samples(2, N)
    order = np.random.default_rng(2).permutation(N)[:15]
    parts = recorded(kind, samples[:7]) + recorded(kind, samples[7:])
    assert_same(parts.take(order), recorded(kind, [samples[k] for k in order.tolist()]))


def _bytes_per_sample(records: Records) -> float:
    return sum(records.column(name).nbytes for name in records.parts[0]) / records.n_samples


def test_ordinary_samples_take_at_most_2_kilobytes() -> None:
    rng = np.random.default_rng(7)
    objects = [
        {r: [(k % 3 + 1, 9.0 * k, 0.0, 9.0 * k + 8, 5.0) for k in range(7)] for r in range(3)} for _ in range(20)
    ]
    ratings = [{r: int(rng.integers(1, 50)) for r in range(3)} for _ in range(50)]
    tags = [{r: sorted(rng.choice(np.arange(1, 51), 4, replace=False).tolist()) for r in range(3)} for _ in range(50)]
    true = np.kron(np.arange(20).reshape(4, 5), np.ones((256, 205), np.int64))[:, :1024]
    masks = [{0: true, 1: np.roll(true, 3, axis=0), 2: np.roll(true, -2, axis=1)} for _ in range(2)]
    for kind, samples, most in (
        ("objects", objects, 1_300), ("classes", ratings, 20), ("tags", tags, 50), ("masks", masks, 2_048),
    ):  # fmt: skip
        assert _bytes_per_sample(KINDS[kind].record(samples, make_config(NAMES))) < most
