"""Values of attributes: their codes, and the units in which they differ, by comparing every pair."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tests.chance import examples

from annotator_agreement.agreement.matching.batch import Batch
from annotator_agreement.agreement.matching.verdicts import attribute_conflicts
from annotator_agreement.agreement.settings.errors import AgreementInputError
from annotator_agreement.agreement.statistics.codes import AttributeCodes
from annotator_agreement.metrics import Objects
from annotator_agreement.metrics.geometry.boxes import Boxes

SETTINGS = examples(100)
NAN = float("nan")


def test_values_have_codes_in_the_order_in_which_they_occur() -> None:
    codes = AttributeCodes("state")
    given_values = ["a", None, 1, True, 1.0, NAN, "1", False, 0, "a", 0.5]
    assert codes.of(given_values).tolist() == [1, 0, 2, 3, 2, 0, 4, 5, 6, 1, 7]
    assert codes.of([0.0, "b", True]).tolist() == [6, 8, 3]
    values = codes.values_of_codes()
    assert [(type(value), value) for value in values] == [
        *((type(None), None), (str, "a"), (int, 1), (bool, True), (str, "1"), (bool, False), (int, 0)),
        *((float, 0.5), (str, "b")),
    ]
    assert_array_equal(codes.numbers(), [NAN, NAN, 1, NAN, NAN, NAN, 0, 0.5, NAN])


@pytest.mark.parametrize("value", [[1], {"a": 1}, (1, 2), math.inf, -math.inf, b"a"], ids=repr)
def test_other_values_are_an_error(value: Any) -> None:
    with pytest.raises(AgreementInputError, match="to be compared, got other values in 'state'"):
        AttributeCodes("state").of([1, value])


def _batch(columns: list[list[Any]]) -> Batch:
    n = len(columns[0])
    codes = [AttributeCodes(f"attribute {k}") for k in range(len(columns))]
    objects = Objects(np.zeros(n, np.int64), np.arange(n), np.ones(n, np.int64))
    given_codes = tuple(own.of(values) for own, values in zip(codes, columns, strict=True))
    numbers = tuple(own.numbers() for own in codes)
    assigned = np.ones((1, n), np.bool_)
    return Batch(objects, Boxes(np.zeros((n, 4))), assigned, attributes=given_codes, attribute_numbers=numbers)


def _attributes(batch: Batch) -> Any:
    return zip(batch.attributes, batch.attribute_numbers, strict=True)


values = st.sampled_from([None, NAN, 0, 1, 1.0, 2.5, 4, True, False, "1", "a", "b"])


def _differ(a: Any, b: Any, tolerance: float) -> bool:
    if any(value is None or value != value for value in (a, b)):
        return False
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in (a, b)]
    return abs(a - b) > tolerance if all(numbers) else type(a) is not type(b) or a != b


@SETTINGS
@given(
    rows=st.lists(st.tuples(st.integers(0, 3), values, values), min_size=1, max_size=10),
    tolerance=st.sampled_from([0.0, 1.0, 1.5]),
)
def test_a_unit_has_a_conflict_if_any_two_of_its_values_differ(rows: list, tolerance: float) -> None:
    unit = np.array([row[0] for row in rows])
    batch = _batch([[row[1] for row in rows], [row[2] for row in rows]])
    expected = [
        any(
            _differ(a[k], b[k], tolerance)
            for a, b in combinations([row for row in rows if row[0] == u], 2)
            for k in (1, 2)
        )
        for u in range(4)
    ]
    assert attribute_conflicts(_attributes(batch), unit, 4, tolerance).tolist() == expected


def test_without_attributes_there_are_no_conflicts() -> None:
    batch = Batch(Objects(*np.zeros((3, 2), np.int64)), Boxes(np.zeros((2, 4))), np.ones((1, 1), np.bool_))
    assert attribute_conflicts(_attributes(batch), np.zeros(2, np.int64), 1, 0.0).tolist() == [False]


def test_attributes_stay_with_their_objects() -> None:
    batch = _batch([["a", "b", "c"], [1, 2, 3]])
    kept = batch.among(np.array([True, False, True]))
    assert [codes.tolist() for codes in kept.attributes] == [[1, 3], [1, 3]]
    assert_array_equal(kept.attribute_numbers[1], [NAN, 1, 2, 3])
    nothing = batch.take(np.array([], np.int64))
    assert [codes.tolist() for codes in nothing.attributes] == [[], []]
