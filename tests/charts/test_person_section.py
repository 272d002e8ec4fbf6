"""The sentences on a model as an annotator."""

from __future__ import annotations

import pytest

from annotator_agreement.agreement.statistics.role_reports import (
    AlternativeTest,
    LeftOutTest,
    PersonComparison,
    RoleReport,
    SideBySide,
)
from annotator_agreement.agreement.statistics.values import Interval
from annotator_agreement.charts.reports.role_sections import person_sentence
from annotator_agreement.charts.reports.role_sections import test_sentences as sentences_of_test


def _person(difference: float, low: float | None, high: float | None) -> PersonComparison:
    interval = {"difference": Interval(low, high, 0.01, 40)} if low is not None else {}
    total = SideBySide("", 40, 300, 0.84 + difference, 0.84, difference, intervals=interval)
    return PersonComparison(total)


@pytest.mark.parametrize(
    ("person", "expected"),
    [
        (
            _person(-0.01, -0.03, 0.01),
            "yolo agrees with the annotators as well as they agree with each other (F1 0.83 against 0.84, difference "
            "-0.01 [-0.03, +0.01]).",
        ),
        (
            _person(0.04, 0.02, 0.06),
            "yolo agrees with the annotators better than they agree with each other (F1 0.88 against 0.84, difference "
            "+0.04 [+0.02, +0.06]).",
        ),
        (
            _person(-0.1, -0.15, -0.05),
            "yolo agrees with the annotators less than they agree with each other (F1 0.74 against 0.84, difference "
            "-0.10 [-0.15, -0.05]).",
        ),
        (
            _person(-0.04, -0.12, 0.04),
            "Not enough evidence whether yolo agrees with the annotators as well as they agree with each other (F1 "
            "0.80 against 0.84, difference -0.04 [-0.12, +0.04]).",
        ),
        (
            _person(0.0, None, None),
            "Not enough evidence whether yolo agrees with the annotators as well as they agree with each other (F1 "
            "0.84 against 0.84, difference 0.00 without an interval).",
        ),
        (
            PersonComparison(SideBySide("", 3, 0)),
            "Not enough evidence whether yolo agrees with the annotators as well as they agree with each other: "
            "there are no labels to compare.",
        ),
    ],
)
def test_the_verdict_has_both_numbers_and_their_difference(person: PersonComparison, expected: str) -> None:
    assert person_sentence(RoleReport("yolo", 3, 0, 0, [], person=person)) == expected


def test_the_test_names_epsilon_and_who_was_not_tested() -> None:
    left_out = [
        LeftOutTest("alice", 90, 0.8, 0.7, 0.001, True),
        LeftOutTest("bob", 80, 0.8, 0.7, 0.2, False),
        LeftOutTest("carol", 70, 0.8, 0.7, 0.01, True),
        LeftOutTest("dave", 12, 0.8, 0.7, None, False),
    ]
    tests = [AlternativeTest(0.1, 2 / 3, True), AlternativeTest(0.15, 1.0, True), AlternativeTest(0.2, 1.0, True)]
    total = SideBySide("", 40, 300)
    person = PersonComparison(total, left_out=left_out, tests=tests, advantage_probability=0.8)
    assert list(sentences_of_test(person, "images")) == [
        "Alternative annotator test: of 3 annotators, it wins against 2 at epsilon 0.1, 3 at epsilon 0.15 and 3 at "
        "epsilon 0.2. It passes, winning against half of them or more, at all of 0.1, 0.15, 0.2. It is at least as "
        "good as an annotator on 80.0 % of the images.",
        "Not tested, with fewer than 30 images: dave 12.",
    ]
    for won, said in (
        (1.0, "at all of 0.1, 0.15, 0.2"),
        (0.5, "at 0.15 and 0.2, not at 0.1"),
        (0.0, "at none of 0.1, 0.15, 0.2"),
    ):
        rates = [0.4 if won < 1 else won, won, won]
        some = [AlternativeTest(each.epsilon, rate, rate >= 0.5) for each, rate in zip(tests, rates, strict=True)]
        (sentence, _) = sentences_of_test(PersonComparison(total, left_out=left_out, tests=some), "images")
        assert f"half of them or more, {said}. It is" in sentence
    few = PersonComparison(total, left_out=left_out[2:])
    assert list(sentences_of_test(few, "images")) == [
        "The alternative annotator test needs at least 3 annotators with 30 images each, on which another one was, "
        "too; there are carol 70 and dave 12."
    ]
