"""What the report advises: to talk to the one annotator who stands apart, or to write a rule into the guideline."""

from __future__ import annotations

from typing import Any

import pytest

from tests.charts.filled import filled_report, filled_values
from tests.charts.other_families import OTHERS

from annotator_agreement.agreement.family import report_from_dict
from annotator_agreement.charts.advice import OF_TWO, Apart, apart, one_behind
from annotator_agreement.charts.families import family_of
from annotator_agreement.charts.objects.findings import object_findings

NAMES = ("ann", "bea", "cyd")


def _pairs(*numbers: tuple[int, int, int, float, float]) -> list[dict[str, Any]]:
    """Pairs of three annotators, each with labels of both, matched ones, share of equal classes and mean IoU."""
    one = filled_values()["pairs"][0]
    members = [("ann", "bea"), ("ann", "cyd"), ("bea", "cyd")]
    return [
        {
            **one,
            "a": a,
            "b": b,
            "n_a": n_a,
            "n_b": n_b,
            "n_matched": n,
            "class_agreement": same,
            "mean_iou": iou,
            "sq": iou,
        }
        for (a, b), (n_a, n_b, n, same, iou) in zip(members, numbers, strict=False)
    ]


def _annotators(*missed: int, **changes: Any) -> list[dict[str, Any]]:
    one = {**filled_values()["annotators"][0], "bias": None, "miss_rate_by_size": {}, **changes}
    return [{**one, "name": name, "n_missed": n} for name, n in zip(NAMES, missed, strict=False)]


def _said(**changes: Any) -> str:
    return " ".join(object_findings(filled_report(**changes)))


def test_who_has_most_misses_is_talked_to_and_else_the_guideline_says_what_counts() -> None:
    missing = _pairs((100, 60, 50, 1.0, 1.0), (100, 100, 98, 1.0, 1.0), (60, 100, 50, 1.0, 1.0))
    sizes = {"miss_rate_by_size": {"small": 0.6, "large": 0.05}}
    assert (
        "bea has 101 of the 109 misses of objects that two others drew, and misses 60.0 % of small objects, 5.0 % of "
        "large ones: talk to bea."
    ) in _said(pairs=missing, annotators=_annotators(1, 101, 7, **sizes))
    even = {"pairs": missing, "annotators": _annotators(30, 31, 32)}
    assert "31.0 % of small objects are missed, 5.0 % of large ones: say in the guideline which objects" in _said(
        **even
    )
    assert "Nobody has most of the 93 misses" in _said(**even, sizes=[])
    assert "talk to" not in _said(**even)
    assert (
        "miss" not in _said(pairs=missing, annotators=_annotators(0, 9, 0)).partition("%")[2].partition(".")[2]
    )  # few


def test_who_takes_part_in_all_conflicts_is_talked_to_and_else_the_guideline_tells_classes_apart() -> None:
    of_one = _pairs((50, 50, 50, 1.0, 1.0), (50, 50, 50, 0.6, 1.0), (50, 50, 50, 0.6, 1.0))
    said = _said(pairs=of_one, annotators=_annotators(0, 0, 0))
    assert (
        "cyd takes part in all 40 class conflicts of two annotators, most often 'bus' against 'coach': talk to cyd"
        in said
    )
    of_all = _pairs(*[(50, 50, 50, 0.6, 1.0)] * 3)
    said = _said(pairs=of_all, annotators=_annotators(0, 0, 0))
    assert (
        "'bus' and 'coach' are 57 of the 100 class conflicts of two annotators; as one class they would raise alpha "
        "from 0.647 to 0.689: say in the guideline how to tell them apart."
    ) in said
    assert "talk to" not in said


def test_who_draws_otherwise_is_talked_to_and_else_the_guideline_says_where_an_object_ends() -> None:
    annotators = _annotators(0, 0, 0)
    annotators[2]["bias"] = filled_values()["annotators"][3]["bias"]
    of_one = _pairs((50, 50, 50, 1.0, 0.9), (50, 50, 50, 1.0, 0.7), (50, 50, 50, 1.0, 0.6))
    assert (
        "Labels of cyd overlap less with the others' (mean IoU 0.650) than these do among themselves (0.900), as cyd "
        "draws 12 % larger, lower edge 9 % lower: talk to cyd."
    ) in _said(pairs=of_one, annotators=annotators)
    local = {**filled_values()["localisation"], "iou_histogram": [0] * 12 + [1, 0, 0, 0, 0, 1, 0, 0]}
    of_all = _pairs(*[(50, 50, 50, 1.0, 0.7)] * 3)
    assert (
        "50.0 % of the pairs of labels of one object overlap by less than 0.7 (IoU): say in the guideline where an "
        "object ends."
    ) in _said(pairs=of_all, annotators=annotators, localisation=local)


def test_small_causes_are_not_explained() -> None:
    drawn = _pairs(*[(50, 50, 50, 0.99, 0.5)] * 3)
    assert "class conflicts" not in _said(pairs=drawn, annotators=_annotators(0, 0, 0))
    agreed = _pairs(*[(50, 50, 50, 1.0, 1.0)] * 3)
    assert len(object_findings(filled_report(pairs=agreed, annotators=_annotators(0, 0, 0)))) == 1


def test_of_two_annotators_nobody_can_tell_who_is_right() -> None:
    annotators = _annotators(0, 0, verdicts={"agreed": 60, "lone": 40})
    said = _said(pairs=_pairs((100, 100, 60, 1.0, 1.0)), annotators=annotators, sizes=[])
    assert (
        "Nobody else drew 40 of the 100 labels of ann (40.0 %) and 40 of the 100 labels of bea (40.0 %): say in" in said
    )
    assert said.endswith(OF_TWO)
    sizes = [
        {**entry, "n_units": 100, "n_lone": n} for entry, n in zip(filled_values()["sizes"], (50, 30, 10), strict=True)
    ]
    said = _said(pairs=_pairs((100, 100, 60, 1.0, 1.0)), annotators=annotators, sizes=sizes)
    assert (
        "; of small objects only one drew 50.0 %, of large ones 10.0 %: say in the guideline which objects count."
        in said
    )


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([("a", "b", 0), ("a", "c", 6), ("b", "c", 6)], ("c", 12, 12)),
        ([("a", "b", 1), ("a", "c", 6), ("b", "c", 6)], ("c", 12, 13)),
        ([("a", "b", 3), ("a", "c", 6), ("b", "c", 6)], None),
        ([("a", "b", 0), ("a", "c", 4), ("b", "c", 5)], None),  # too few
        ([("a", "b", 50)], None),  # one of two cannot be told
        ([], None),
    ],
)
def test_one_is_behind_nearly_all_conflicts_or_nobody_is(counts: list, expected: tuple | None) -> None:
    assert one_behind(counts) == expected
    assert one_behind([(b, a, n) for a, b, n in reversed(counts)]) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0.9, 0.6, 0.7), Apart("c", 0.65, 0.9)),
        ((0.9, 0.85, 0.84), None),
        ((0.9, 0.6, 0.95), None),
        ((0.9, None, 0.6), Apart("c", 0.6, 0.9)),
        ((0.6, None, None), None),
    ],
)
def test_one_stands_apart_if_all_others_agree_clearly_more(values: tuple, expected: Apart | None) -> None:
    pairs = [(a, b, value) for (a, b), value in zip([("a", "b"), ("a", "c"), ("b", "c")], values, strict=True)]

    class Pair:
        def __init__(self, a: str, b: str, value: float | None) -> None:
            self.a, self.b, self.value = a, b, value

    found = apart([Pair(*pair) for pair in pairs], lambda pair: pair.value, lambda pair: 1.0)
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert found.name == expected.name
        assert (found.with_them, found.without) == pytest.approx((expected.with_them, expected.without))


@pytest.mark.parametrize("family", OTHERS)
def test_every_family_says_what_was_found(family: str) -> None:
    report = OTHERS[family]()
    found = family_of(report).findings(report)
    assert found
    assert all(sentence.endswith(".") for sentence in found)


def test_one_rater_behind_the_disagreements_is_talked_to() -> None:
    values = OTHERS["ratings"]().to_dict()
    one = values["pairs"][0]
    scores = {("ann", "bea"): 1.0, ("ann", "cyd"): 0.5, ("bea", "cyd"): 0.5}
    pairs = [{**one, "a": a, "b": b, "n_samples": 20, "score": score} for (a, b), score in scores.items()]
    raters = [{**values["annotators"][0], "name": name} for name in NAMES]
    report = report_from_dict({**values, "pairs": pairs, "annotators": raters})
    assert "cyd takes part in 20 of 20 disagreements of two annotators" in " ".join(family_of(report).findings(report))
