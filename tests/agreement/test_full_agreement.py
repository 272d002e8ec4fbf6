"""The share of rated samples on which nothing is disputed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.agreement.agreement_oracle import config_of, report_of, verdict_of
from tests.agreement.found import each_case, found, same

from annotator_agreement.agreement.ratings.compute import compute_ratings, record_ratings
from annotator_agreement.agreement.statistics.estimates import sample_numbers
from annotator_agreement.agreement.tags.compute import compute_tags, record_tags

KEY = "share_full_agreement"
BOX, OTHER = (1, 0.1, 0.1, 0.4, 0.4), (1, 0.6, 0.6, 0.9, 0.9)
AGREED: dict = {0: [BOX], 1: [BOX]}
MISSED: dict = {0: [BOX, OTHER], 1: [BOX]}
EMPTY: dict = {0: [], 1: []}
ALONE: dict = {0: [BOX]}


@each_case
def test_images_agree_on_which_every_object_is_agreed(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    verdicts: dict[int, list[str | None]] = {s: [] for s in case.rated}
    for unit in case.rated_units:
        verdicts[unit.sample].append(verdict_of(unit, case.samples[unit.sample]))
    same(case.report.share_full_agreement, float(np.mean([set(kinds) <= {"agreed"} for kinds in verdicts.values()])))


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([AGREED, MISSED], 0.5),
        ([AGREED, EMPTY, MISSED, ALONE], 2 / 3),
        ([EMPTY], 1.0),
        ([MISSED], 0.0),
        ([ALONE], None),
        ([], None),
    ],
)
def test_empty_images_agree_and_those_of_one_annotator_do_not_count(samples: list, expected: float | None) -> None:
    report = report_of(samples, config_of(2))
    assert report.share_full_agreement == (None if expected is None else pytest.approx(expected, abs=1e-12))


def test_ratings_and_tags_have_it_too() -> None:
    table = np.array([[1.0, 1.0], [1.0, 2.0], [2.0, np.nan], [2.0, 2.0]])
    ratings = sample_numbers(record_ratings(compute_ratings(table), numbers=False))
    columns = [np.array(column) for column in ([0, 0, 1], [0, 1, 0], [1, 1, 2])]
    tags = sample_numbers(record_tags(compute_tags(*columns, np.ones((3, 2), np.bool_))))
    for numbers in (ratings, tags):
        assert numbers.values()[numbers.keys.index((KEY,))] == pytest.approx(2 / 3, abs=1e-12)
