"""Stored records of every family: records cut down to some samples equal the records of these samples alone."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.agreement.families import KINDS, NAMES, Sample, each_kind
from tests.agreement.rating_oracle import score_of
from tests.chance import seeds

from annotator_agreement.agreement.families.family import records_of
from annotator_agreement.agreement.settings.config import make_config
from annotator_agreement.agreement.statistics import records
from annotator_agreement.agreement.statistics.records import Records, compact, packed, unpacked

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
    assert set(found.beside()) == set(expected.beside())
    for name, values in expected.beside().items():
        assert_array_equal(found.beside()[name], values, err_msg=name)


@each_kind
@pytest.mark.parametrize("ends", [[24], [5, 5, 24], [0, 1, 23, 24]])
@pytest.mark.few(5)
def test_records_of_batches_add_up(kind: str, ends: list[int]) -> None:
    samples = KINDS[kind].samples(1, N)
    parts = [samples[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    assert_same(functools.reduce(operator.add, (recorded(kind, part) for part in parts)), recorded(kind, samples))


@each_kind
@pytest.mark.parametrize("ends", [[5, 6, 24], [24], [0, 1, 23, 24]])
@pytest.mark.few(5)
def test_sums_are_grouped_and_keep_nothing_else_in_memory(
    kind: str, ends: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "PART_SAMPLES", 4)
    samples = KINDS[kind].samples(1, N)
    parts = [recorded(kind, samples[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
    total = functools.reduce(operator.add, parts, recorded(kind, []))
    assert [len(part["score"]) for part in total.parts] == [4] * 6
    assert_same(total, recorded(kind, samples))
    added = [values for part in parts for each in part.parts for values in each.values()]
    kept = [values for part in total.parts for values in part.values()]
    assert not any(np.shares_memory(a, b) for a in added for b in kept)


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


@each_kind
def test_columns_alone_give_the_records_again(kind: str) -> None:
    expected = recorded(kind, KINDS[kind].samples(3, N))
    columns = {name: expected.column(name) for name in expected.parts[0]}
    found = records_of(expected.family, columns, len(NAMES), expected.beside())
    assert type(found) is type(expected)
    assert_same(found, expected)


@each_kind
def test_what_is_known_of_every_sample_is_what_the_samples_say(kind: str) -> None:
    samples = KINDS[kind].samples(4, N)
    values = recorded(kind, samples).sample_values()
    n_annotators = [len(sample) for sample in samples]
    assert values.n_annotators.tolist() == n_annotators
    assert (values.score[np.array(n_annotators) < 2] != values.score[np.array(n_annotators) < 2]).all()
    scored = ~np.isnan(values.score)
    assert ((values.n_disputed > 0) | (values.score > 0.5) | ~scored).all()
    assert (values.n_disputed[scored] <= values.n_units[scored]).all()


@each_kind
def test_values_of_samples_are_those_of_loops(kind: str) -> None:
    samples = KINDS[kind].samples(5, N)
    values = recorded(kind, samples).sample_values()
    if kind in ("classes", "numbers"):
        assert_array_equal(values.score, [score_of(list(sample.values()), operator.eq) for sample in samples])
    elif kind == "masks":  # of the pixels that nobody ignores
        rated = [np.stack(list(sample.values())).reshape(len(sample), -1) for sample in samples if len(sample) > 1]
        used = [len(set(masks[:, (masks != 9).all(axis=0)].ravel().tolist()) - {0}) for masks in rated]
        assert values.n_units[values.n_annotators >= 2].tolist() == used
    else:
        given = [[set(labels) if kind == "tags" else labels for labels in sample.values()] for sample in samples]
        assert values.n_objects.tolist() == [sum(map(len, lists)) for lists in given]
        if kind == "tags":
            assert values.n_units.tolist() == [len(set().union(*lists)) for lists in given]


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_chunks_of_any_size_are_all_samples_in_their_order(at_once: int) -> None:
    samples = KINDS["tags"].samples(6, N)
    records = recorded("tags", samples[:9]) + recorded("tags", samples[9:])
    chunks = list(records.chunks("n_objects", at_once))
    for name in records.parts[0]:
        assert_array_equal(np.concatenate([chunk[name] for chunk in chunks]), records.column(name), err_msg=name)
    for chunk in chunks:
        assert chunk["n_objects"].sum() <= at_once or len(chunk["n_objects"]) == 1


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], np.uint8),
        ([0, 255], np.uint8),
        ([256], np.uint16),
        ([2**16], np.uint32),
        ([2**32], np.int64),
        ([-1, 127], np.int8),
        ([-1, 128], np.int16),
        ([-1, 2**31], np.int64),
        ([-(2**62), 2**62], np.int64),
    ],
)
def test_whole_numbers_take_the_smallest_type(values: list[int], expected: type) -> None:
    found = compact(np.array(values, np.int64))
    assert found.dtype == expected
    assert found.tolist() == values


def test_compact_columns_of_batches_stay_whole_numbers() -> None:
    columns = [compact(np.array([value])) for value in (-3, 300, 2**31, 2**40)]
    for first in columns:
        for second in columns:
            assert np.concatenate([first, second]).dtype.kind in "iu"


@pytest.mark.parametrize("n_annotators", [1, 8, 9, 60])
def test_assignments_take_a_bit_each(n_annotators: int) -> None:
    assigned = np.random.default_rng(n_annotators).random((7, n_annotators)) < 0.5
    bits = packed(assigned)
    assert bits.nbytes == 7 * -(-n_annotators // 8)
    assert_array_equal(unpacked(bits, n_annotators), assigned)


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
