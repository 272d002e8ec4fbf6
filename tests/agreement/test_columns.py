"""Columns of objects: codes of classes, and batches cut down to some samples."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

from tests.agreement.agreement_oracle import batch_of, random_samples

from annotator_agreement.agreement.statistics.codes import ClassCodes


def test_class_codes_begin_at_one_in_the_order_in_which_they_are_asked_for() -> None:
    codes = ClassCodes()
    assert [codes[name] for name in ("bus", "car", "bus", None)] == [1, 2, 1, 3]
    assert codes.names() == ["(missing)", "bus", "car", "(no label)"]


def test_an_alias_has_the_code_of_the_name_that_it_stands_for() -> None:
    codes = ClassCodes({"Car ": "car", "auto": "car", "coach": "bus"})
    assert [codes[name] for name in ("Car ", "bus", "car", "auto", "van", None)] == [1, 2, 1, 1, 3, 4]
    assert codes.names() == ["(missing)", "car", "bus", "van", "(no label)"]
    assert codes.n_codes == 5


def test_a_selected_batch_is_the_batch_of_the_selected_samples() -> None:
    samples = random_samples(5, n_samples=9)
    keep = np.array([True, False, True, True, False, False, True, False, True])
    selected = batch_of(samples, 3).select(keep)
    expected = batch_of([sample for sample, kept in zip(samples, keep, strict=True) if kept], 3)
    assert selected.n_samples == 5
    assert_array_equal(selected.assigned, expected.assigned)
    assert_array_equal(selected.geometry.xyxy, expected.geometry.xyxy)
    for column in ("sample", "annotator", "category"):
        assert_array_equal(getattr(selected.objects, column), getattr(expected.objects, column))


def test_a_batch_of_no_selected_sample_is_empty() -> None:
    selected = batch_of(random_samples(5, n_samples=4), 3).select(np.zeros(4, np.bool_))
    assert (selected.n_samples, len(selected.objects), selected.assigned.shape) == (0, 0, (0, 3))
