"""Stored records of every family: records cut down to some samples equal the records of these samples alone."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.agreement.agreement_oracle import batch_of, config_of
from tests.agreement.rating_oracle import score_of
from tests.chance import seeds

from annotator_agreement.agreement.families.family import records_of
from annotator_agreement.agreement.matching.compute import compute_agreement_of
from annotator_agreement.agreement.objects.records import ObjectRecords, record
from annotator_agreement.agreement.pixels.compute import compare_masks, measure
from annotator_agreement.agreement.pixels.counts import MaskCounts
from annotator_agreement.agreement.pixels.mask_values import MaskValues
from annotator_agreement.agreement.pixels.records import PixelRecords, record_pixels
from annotator_agreement.agreement.ratings.compute import RatingRecords, compute_ratings, record_ratings
from annotator_agreement.agreement.settings.config import make_config
from annotator_agreement.agreement.statistics import records
from annotator_agreement.agreement.statistics.records import Records, compact, packed, unpacked
from annotator_agreement.agreement.tags.compute import TagBatch, compute_tags
from annotator_agreement.agreement.tags.records import TagRecords, record_tags

N, N_ANNOTATORS = 24, 3
Sample = dict[int, Any]


def _assigned(samples: Sequence[Sample]) -> np.ndarray:
    return np.array([[r in sample for r in range(N_ANNOTATORS)] for sample in samples], np.bool_).reshape(
        -1, N_ANNOTATORS
    )


def _objects(seed: int) -> list[Sample]:
    rng = np.random.default_rng(seed)
    samples: list[Sample] = []
    for _ in range(N):
        true = rng.uniform(0, 50, (int(rng.integers(5)), 2))
        sample = {}
        for annotator in np.flatnonzero(rng.random(N_ANNOTATORS) < 0.85).tolist():
            corners = true[rng.random(len(true)) < 0.8] + rng.normal(0, 0.5, (1, 2))
            sample[annotator] = [(int(rng.integers(1, 4)), x, y, x + 9, y + 5) for x, y in corners.tolist()]
        samples.append(sample)
    return samples


def _record_objects(samples: Sequence[Sample]) -> ObjectRecords:
    config = config_of(N_ANNOTATORS)
    return record(compute_agreement_of(batch_of(samples, N_ANNOTATORS), config))


def _ratings(seed: int) -> list[Sample]:
    rng = np.random.default_rng(seed)
    return [
        {annotator: int(rng.integers(1, 400)) for annotator in np.flatnonzero(rng.random(N_ANNOTATORS) < 0.8).tolist()}
        for _ in range(N)
    ]


def _record_ratings(samples: Sequence[Sample], numbers: bool = False) -> RatingRecords:
    table = [[float(sample.get(r, np.nan)) for r in range(N_ANNOTATORS)] for sample in samples]
    agreement = compute_ratings(np.array(table).reshape(-1, N_ANNOTATORS))
    return record_ratings(agreement, numbers=numbers)


def _tags(seed: int) -> list[Sample]:
    rng = np.random.default_rng(seed)
    return [
        {
            annotator: (1 + np.flatnonzero(rng.random(5) < 0.4)).tolist()
            for annotator in np.flatnonzero(rng.random(N_ANNOTATORS) < 0.8).tolist()
        }
        for _ in range(N)
    ]


def _record_tags(samples: Sequence[Sample]) -> TagRecords:
    rows = [(s, r, tag) for s, sample in enumerate(samples) for r in sorted(sample) for tag in sample[r]]
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return record_tags(compute_tags(TagBatch(*columns, _assigned(samples))), N_ANNOTATORS)


def _masks(seed: int) -> list[Sample]:
    rng = np.random.default_rng(seed)
    samples: list[Sample] = []
    for _ in range(N):
        true = rng.choice([0, 1, 2, 7, 300], (6, 5))
        who = np.flatnonzero(rng.random(N_ANNOTATORS) < 0.85).tolist()
        samples.append({r: np.where(rng.random(true.shape) < 0.3, rng.integers(0, 3, true.shape), true) for r in who})
    return samples


def _record_masks(samples: Sequence[Sample]) -> PixelRecords:
    config, meaning = make_config(["a", "b", "c"], boundaries=True), MaskValues(0, (), {})
    compared = [
        compare_masks([sample[r] for r in sorted(sample)], sorted(sample), meaning, config) if len(sample) > 1 else None
        for sample in samples
    ]
    return record_pixels(measure(MaskCounts.of(compared, _assigned(samples)), 0, config), config)


CASES = [
    pytest.param(_objects, _record_objects, id="objects"),
    pytest.param(_ratings, _record_ratings, id="ratings"),
    pytest.param(_ratings, functools.partial(_record_ratings, numbers=True), id="numbers"),
    pytest.param(_tags, _record_tags, id="tags"),
    pytest.param(_masks, _record_masks, id="masks"),
]
each_case = pytest.mark.parametrize(("generate", "recorded"), CASES)
Generate = Callable[[int], list[Sample]]
Recorded = Callable[[Sequence[Sample]], Records]


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


@each_case
@pytest.mark.parametrize("ends", [[24], [5, 5, 24], [0, 1, 23, 24]])
def test_records_of_batches_add_up(generate: Generate, recorded: Recorded, ends: list[int]) -> None:
    samples = generate(1)
    parts = [samples[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    assert_same(functools.reduce(operator.add, map(recorded, parts)), recorded(samples))


@each_case
@pytest.mark.parametrize("ends", [[5, 6, 24], [24], [0, 1, 23, 24]])
def test_sums_are_grouped_and_keep_nothing_else_in_memory(
    generate: Generate, recorded: Recorded, ends: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "PART_SAMPLES", 4)
    samples = generate(1)
    parts = [recorded(samples[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
    total = functools.reduce(operator.add, parts, recorded([]))
    assert [len(part["score"]) for part in total.parts] == [4] * 6
    assert_same(total, recorded(samples))
    added = [values for part in parts for each in part.parts for values in each.values()]
    kept = [values for part in total.parts for values in part.values()]
    assert not any(np.shares_memory(a, b) for a in added for b in kept)


@each_case
@pytest.mark.parametrize("seed", seeds(3))
def test_a_selection_is_what_is_recorded_of_these_samples(generate: Generate, recorded: Recorded, seed: int) -> None:
    samples = generate(seed)
    kept = np.random.default_rng(seed).random(N) < 0.4
    parts = recorded(samples[:10]) + recorded(samples[10:])
    expected = recorded([sample for sample, keep in zip(samples, kept, strict=True) if keep])
    assert_same(parts.select(kept), expected)
    assert parts.select(~kept).n_samples == N - expected.n_samples
    assert parts.select(np.zeros(N, np.bool_)).n_samples == 0


@each_case
def test_samples_are_taken_in_the_order_asked_for(generate: Generate, recorded: Recorded) -> None:
    samples = generate(2)
    order = np.random.default_rng(2).permutation(N)[:15]
    parts = recorded(samples[:7]) + recorded(samples[7:])
    assert_same(parts.take(order), recorded([samples[k] for k in order.tolist()]))


@each_case
def test_columns_alone_give_the_records_again(generate: Generate, recorded: Recorded) -> None:
    expected = recorded(generate(3))
    columns = {name: expected.column(name) for name in expected.parts[0]}
    found = records_of(expected.family, columns, N_ANNOTATORS, expected.beside())
    assert type(found) is type(expected)
    assert_same(found, expected)


@each_case
def test_what_is_known_of_every_sample_is_what_the_samples_say(generate: Generate, recorded: Recorded) -> None:
    samples = generate(4)
    values = recorded(samples).sample_values()
    n_annotators = [len(sample) for sample in samples]
    assert values.n_annotators.tolist() == n_annotators
    assert (values.score[np.array(n_annotators) < 2] != values.score[np.array(n_annotators) < 2]).all()
    scored = ~np.isnan(values.score)
    assert ((values.n_disputed > 0) | (values.score > 0.5) | ~scored).all()
    assert (values.n_disputed[scored] <= values.n_units[scored]).all()


def test_values_of_samples_are_those_of_loops() -> None:
    ratings, tags, objects, masks = _ratings(5), _tags(5), _objects(5), _masks(5)
    scores = [score_of(list(sample.values()), int.__eq__) for sample in ratings]
    assert_array_equal(_record_ratings(ratings).sample_values().score, scores)
    of_tags = _record_tags(tags).sample_values()
    assert of_tags.n_objects.tolist() == [sum(map(len, sample.values())) for sample in tags]
    assert of_tags.n_units.tolist() == [len({tag for given in sample.values() for tag in given}) for sample in tags]
    of_objects = _record_objects(objects).sample_values()
    assert of_objects.n_objects.tolist() == [sum(map(len, sample.values())) for sample in objects]
    of_masks = _record_masks(masks).sample_values()
    used = [len({int(v) for mask in sample.values() for v in np.unique(mask)} - {0}) for sample in masks]
    rated = of_masks.n_annotators >= 2
    assert of_masks.n_units[rated].tolist() == [n for n, is_rated in zip(used, rated, strict=True) if is_rated]


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_chunks_of_any_size_are_all_samples_in_their_order(at_once: int) -> None:
    records = _record_tags(_tags(6)[:9]) + _record_tags(_tags(6)[9:])
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
    assert _bytes_per_sample(_record_objects(objects)) < 1_300
    ratings = [{r: int(rng.integers(1, 50)) for r in range(3)} for _ in range(50)]
    assert _bytes_per_sample(_record_ratings(ratings)) < 20
    tags = [{r: sorted(rng.choice(np.arange(1, 51), 4, replace=False).tolist()) for r in range(3)} for _ in range(50)]
    assert _bytes_per_sample(_record_tags(tags)) < 50
    true = np.kron(np.arange(20).reshape(4, 5), np.ones((256, 205), np.int64))[:, :1024]
    shifted = [{0: true, 1: np.roll(true, 3, axis=0), 2: np.roll(true, -2, axis=1)} for _ in range(2)]
    config = make_config(["a", "b", "c"])
    compared = [compare_masks(list(s.values()), [0, 1, 2], MaskValues(0, (), {}), config) for s in shifted]
    masks = record_pixels(measure(MaskCounts.of(compared, np.ones((2, 3), np.bool_)), 0, config), config)
    assert _bytes_per_sample(masks) < 1_100
