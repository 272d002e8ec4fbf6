"""Verdicts of labels: cases by hand, loops, and any order of annotators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from tests.agreement.agreement_oracle import (
    OPTIONS,
    Sample,
    batch_of,
    config_of,
    object_verdicts,
    random_samples,
    sample_lists,
)
from tests.chance import examples, seeds

from annotator_agreement.agreement.matching import NO_VERDICT, VERDICTS, compute_agreement_of

SETTINGS = examples(100)
CAR, BUS = 1, 2


def _label(x: float, y: float, width: float, height: float, category: int = CAR) -> tuple:
    """A label in a grid of 40 by 25."""
    return (category, x / 40, y / 25, (x + width) / 40, (y + height) / 25)


def _verdicts(samples: list[Sample], n_annotators: int, **options: str | float) -> list[str | None]:
    found = compute_agreement_of(batch_of(samples, n_annotators), config_of(n_annotators, **options))
    return [None if code == NO_VERDICT else VERDICTS[code] for code in found.object_verdict.tolist()]


WHOLE, LEFT, RIGHT = _label(2, 3, 20, 8), _label(2, 3, 9, 8), _label(12.5, 3, 9.5, 8)
LARGE, SMALL = _label(2, 3, 14, 8), _label(16, 3, 6, 8)
AGAIN, AGAIN_IN_PART = _label(2, 3, 20, 7.5), _label(2, 3, 20, 7)

# (id, labels of every assigned annotator, verdict of every label)
CASES = [
    ("two parts of a whole", {0: [WHOLE], 1: [LEFT, RIGHT]}, ["split"] * 3),
    ("the other annotator drew the whole", {0: [LEFT, RIGHT], 1: [WHOLE]}, ["split"] * 3),
    ("a whole by two, parts by one", {0: [WHOLE], 1: [LEFT, RIGHT], 2: [WHOLE]}, ["split"] * 4),
    ("a whole by one, parts by two", {0: [LEFT, RIGHT], 1: [WHOLE], 2: [LEFT, RIGHT]}, ["split"] * 5),
    ("parts of another class", {0: [WHOLE], 1: [(BUS, *LEFT[1:]), RIGHT]}, ["split"] * 3),
    ("one part only", {0: [WHOLE], 1: [LEFT]}, ["lone"] * 2),
    ("parts by two annotators", {0: [WHOLE], 1: [LEFT], 2: [RIGHT]}, ["lone"] * 3),
    ("parts that cover too little", {0: [WHOLE], 1: [_label(2, 3, 4, 8), _label(7, 3, 4, 8)]}, ["lone"] * 3),
    ("a whole that agrees with its larger part", {0: [WHOLE], 1: [LARGE, SMALL]}, ["agreed", "agreed", "split"]),
    (
        "a class conflict stays one",
        {0: [WHOLE], 1: [(BUS, *LARGE[1:]), SMALL]},
        ["class_conflict", "class_conflict", "split"],
    ),
    ("an object within what both drew is none of its parts", {0: [WHOLE], 1: [_label(2, 3, 19, 8), LEFT]},
     ["agreed", "agreed", "lone"]),
    ("a part drawn twice is one part", {0: [WHOLE], 1: [LEFT, LEFT]}, ["lone", "lone", "duplicate"]),
    ("a part drawn twice beside another", {0: [WHOLE], 1: [LEFT, RIGHT, LEFT]}, ["split"] * 3 + ["duplicate"]),
    ("drawn twice, matched once", {0: [WHOLE], 1: [AGAIN, WHOLE]}, ["agreed", "duplicate", "agreed"]),
    ("drawn twice, matched by none", {0: [], 1: [WHOLE, AGAIN]}, ["lone", "duplicate"]),
    ("drawn three times", {0: [], 1: [WHOLE, AGAIN, WHOLE]}, ["lone", "duplicate", "duplicate"]),
    ("nine tenths, a bit less in relative coordinates", {0: [], 1: [WHOLE, _label(2, 3, 20, 7.2)]},
     ["lone", "duplicate"]),
    ("less than nine tenths", {0: [], 1: [WHOLE, _label(2, 3, 20, 7.19)]}, ["lone", "lone"]),
    ("not near enough to be a duplicate", {0: [], 1: [WHOLE, AGAIN_IN_PART]}, ["lone", "lone"]),
    ("twice with different classes", {0: [], 1: [WHOLE, (BUS, *WHOLE[1:])]}, ["lone", "lone"]),
    ("nobody else was assigned", {1: [WHOLE, WHOLE, LEFT, RIGHT]}, [None] * 4),
]  # fmt: skip


def test_verdicts_are_those_found_by_hand() -> None:
    for name, sample, verdicts in CASES:
        assert _verdicts([sample], 3) == verdicts, name
    sample = {0: [WHOLE], 1: [_label(2, 3, 6, 8), _label(12, 3, 6, 8)]}  # 12 of 20 columns: the threshold of the run
    assert _verdicts([sample], 2, iou=0.6) == ["split"] * 3
    assert _verdicts([sample], 2, iou=0.61) == ["lone"] * 3
    found = compute_agreement_of(batch_of([{0: [WHOLE], 1: [LEFT, RIGHT]}], 2), config_of(2))
    assert [VERDICTS[code] for code in found.units.verdict] == ["lone"] * 3  # a split leaves units and scores alone
    assert (found.n_units.tolist(), found.n_disputed.tolist(), found.score.tolist()) == ([3], [3], [0.0])


def test_attributes_conflict_where_two_values_differ_by_more_than_the_tolerance() -> None:
    numbers = np.array([np.nan, np.nan, 4.0, 4.5])  # of codes: not given, "left", 4 and 4.5
    # values of two attributes of one object, by annotator; whether they conflict with tolerances of 0 and 0.5
    cases = [
        ([2, 3], [1, 1], (True, False)), ([1, 1], [2, 3], (True, False)), ([2, 2], [0, 1], (False, False)),
        ([1, 2], [1, 1], (True, True)), ([1, 1], [1, 2], (True, True)), ([0, 0], [3, 3], (False, False)),
    ]  # fmt: skip
    batch = batch_of([{0: [WHOLE], 1: [WHOLE]}], 2)
    for one, other, expected in cases:
        given = replace(batch, attributes=(np.array(one), np.array(other)), attribute_numbers=(numbers, numbers))
        for tolerance, conflict in zip((0.0, 0.5), expected, strict=True):
            config = config_of(2, attributes=["a", "b"], tolerance=tolerance)
            (verdict,) = compute_agreement_of(given, config).units.verdict
            assert VERDICTS[verdict] == ("attribute_conflict" if conflict else "agreed"), (one, other, tolerance)


@SETTINGS
@given(sample_lists(), OPTIONS)
def test_verdicts_are_those_of_loops_on_small_grids(samples_of: tuple, options: dict) -> None:
    n_annotators, samples = samples_of
    found = compute_agreement_of(batch_of(samples, n_annotators), config_of(n_annotators, **options))
    expected = object_verdicts(samples, found, options["iou"])
    assert _verdicts(samples, n_annotators, **options) == expected


@pytest.mark.parametrize("seed", seeds(3))
def test_verdicts_are_those_of_loops_on_noisy_samples(seed: int) -> None:
    samples = _broken(random_samples(seed, n_samples=40, n_annotators=4), seed)
    found = compute_agreement_of(batch_of(samples, 4), config_of(4))
    expected = object_verdicts(samples, found, 0.5)
    assert _verdicts(samples, 4) == expected
    assert min(expected.count("split"), expected.count("duplicate")) > 10


def _broken(samples: list[Sample], seed: int) -> list[Sample]:
    """The samples with some labels cut in two, and some labels drawn twice."""
    rng = np.random.default_rng(seed)
    changed = []
    for sample in samples:
        entry: Sample = {}
        for annotator, labels in sample.items():
            drawn = []
            for category, x_min, y_min, x_max, y_max in labels:
                cut = x_min + (x_max - x_min) * rng.uniform(0.3, 0.7)
                cuts = [(category, x_min, y_min, cut, y_max), (category, cut, y_min, x_max, y_max)]
                drawn += cuts if rng.random() < 0.2 else [(category, x_min, y_min, x_max, y_max)]
                drawn += [drawn[-1]] if rng.random() < 0.1 else []
            entry[annotator] = drawn
        changed.append(entry)
    return changed
