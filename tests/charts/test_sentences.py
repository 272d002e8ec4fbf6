"""The sentences: true for every value, the undefined ones included."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.charts.filled import DATA_THRESHOLD, around, filled_report, filled_values, interval, unfilled_report
from tests.charts.other_families import OTHERS

from annotator_agreement.agreement.families.family import report_from_dict
from annotator_agreement.agreement.objects.report import Bias, ObjectReport
from annotator_agreement.agreement.objects.sensitivity import DataThreshold, ThresholdPoint
from annotator_agreement.charts.objects.annotators import bias_in_words
from annotator_agreement.charts.objects.findings import cause_sentence, losses, object_outcome
from annotator_agreement.charts.objects.questions import (
    class_sentence,
    existence_sentence,
    localisation_sentence,
    object_alpha_sentence,
    share_below,
)
from annotator_agreement.charts.objects.rules import f1_by_threshold, suggested_threshold
from annotator_agreement.charts.page.page import report_page
from annotator_agreement.charts.reports.document import report_markdown, report_text
from annotator_agreement.charts.text.headline import grade_of, interval_notes
from annotator_agreement.metrics.matching.threshold import NO_CROSSING, NO_VARIATION, TOO_FEW


def _votes(*counts: tuple[int, int, int]) -> dict[str, Any]:
    return {"f1": None, "votes": [{"assigned": of, "votes": k, "units": n} for of, k, n in counts]}


def _pair(n_a: int, n_b: int, n_matched: int, class_agreement: float | None, sq: float | None) -> dict[str, Any]:
    pair = filled_values()["pairs"][0]
    return {**pair, "n_a": n_a, "n_b": n_b, "n_matched": n_matched, "class_agreement": class_agreement, "sq": sq}


EXISTENCE = [
    pytest.param([(1, 1, 5)], "Nobody drew anything where two annotators were assigned", id="nobody twice"),
    pytest.param([], "Nobody drew anything where two annotators were assigned", id="no objects"),
    pytest.param([(3, 3, 1)], "Nothing was missed: the only object was drawn by everybody assigned.", id="one"),
    pytest.param([(3, 3, 5), (2, 2, 1)], "Nothing was missed: all 6 objects were drawn by everybody", id="all"),
    pytest.param([(2, 1, 1), (2, 2, 19)], "19 of 20 objects (95.0 %) were drawn by everybody assigned, the others by "
                 "one annotator alone (lone).", id="2"),
    pytest.param([(3, 1, 1), (3, 2, 1), (3, 3, 98)], "98 of 100 objects (98.0 %) were drawn by everybody assigned, 1 "
                 "(1.0 %) by one annotator alone (lone).", id="some by two"),
    pytest.param([(3, 2, 1), (3, 3, 1)], "1 of 2 objects (50.0 %) were drawn by everybody assigned, 0 (0.0 %)",
                 id="none alone"),
]  # fmt: skip


@pytest.mark.parametrize(("votes", "expected"), EXISTENCE)
def test_what_was_missed_is_said_for_all_votes(votes: list, expected: str) -> None:
    report = filled_report(existence=_votes(*votes), annotators=[], sizes=[])
    assert existence_sentence(report).startswith(expected)


def _given(**changes: Any) -> dict[str, Any]:
    return {**filled_values()["class_given_match"], **changes}


GIVEN = [
    ({"n_units": 0, "percent_agreement": None}, "No object was drawn by two annotators, so there are no classes"),
    ({"percent_agreement": 1.0, "confusion": []}, "Whoever drew the same object gave it the same class."),
    ({}, "Confused more often than by chance are 'bus' and 'coach': 57 of 100 times; as one class they would raise "
         "alpha of objects from 0.647 to 0.689."),
    ({"percent_agreement": 0.97, "confusion": []}, "labels of one object have different classes in 3.0 % of cases."),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), GIVEN)
def test_what_is_confused_is_said_for_all_values(changes: dict, expected: str) -> None:
    assert expected in class_sentence(filled_report(class_given_match=_given(**changes)))


def test_a_merge_that_changes_nothing_is_not_mentioned() -> None:
    merge = {"classes": ["coach", "bus"], "n_confused": 57, "alpha_before": 0.6466, "alpha_after": 0.6469}
    assert "as one class" not in class_sentence(filled_report(merges=[merge]))
    lower = {**merge, "alpha_after": 0.5}
    assert "they would lower alpha of objects from 0.647 to 0.500" in class_sentence(filled_report(merges=[lower]))


def _local(**changes: Any) -> dict[str, Any]:
    return {**filled_values()["localisation"], **changes}


LOCAL = [
    ({"n_pairs": 0, "mean_iou": None}, "No object was drawn by two annotators"),
    ({"mean_iou": 1.0}, "Whoever drew the same object drew it at exactly the same place."),
    ({}, "Half of the pairs of labels have 0.872 or more; 8.1 % have less than 0.7; small objects do worse (0.740) "
         "than large ones (0.910)."),
    ({"median_iou": None, "iou_histogram": [], "measure": "OKS"}, "Small objects do worse (0.740) than large ones"),
    ({"iou_histogram": [0] * 10 + [1, 0, 0, 0, 0, 0, 0, 1, 0, 0]}, "50.0 % have less than 0.7; small"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), LOCAL)
def test_how_objects_are_drawn_is_said_for_all_values(changes: dict, expected: str) -> None:
    assert expected in localisation_sentence(filled_report(localisation=_local(**changes)))


def test_the_share_below_a_limit_counts_the_bins_below_it() -> None:
    # bins of 0.05: 14 of them end at 0.7
    assert share_below([1] * 20, 0.7) == 14 / 20
    assert share_below([0] * 14 + [1] * 6, 0.7) == 0.0
    assert share_below([], 0.7) is None


def test_losses_add_up_to_what_the_pooled_score_lacks() -> None:
    # 10 and 8 labels, 6 matched, 3 of one class with a mean IoU of 0.8; another pair agrees on 4 fully
    report = filled_report(pairs=[_pair(10, 8, 6, 0.5, 0.8), _pair(4, 4, 4, 1.0, 1.0)])
    lost = losses(report)
    assert lost is not None
    f1, rq, pq = 2 * 10 / 26, 2 * 7 / 26, 2 * (3 * 0.8 + 4) / 26
    assert lost == pytest.approx((1 - f1, f1 - rq, rq - pq), abs=1e-12)
    assert sum(lost) == pytest.approx(1 - pq, abs=1e-12)


CAUSES = [
    ([], ""),
    ([_pair(0, 0, 0, None, None)], ""),
    ([_pair(4, 4, 4, 1.0, 1.0)], ""),
    ([_pair(4, 0, 0, None, None)], "All that the score loses is about missed objects."),
    ([_pair(4, 4, 4, 0.25, 1.0)], "All that the score loses is about different classes."),
    ([_pair(4, 4, 4, 1.0, 0.6)], "All that the score loses is about how objects are drawn."),
    ([_pair(10, 10, 4, 1.0, 0.5)], "Of what the score loses, 75 % is about missed objects and 25 % about how "
     "objects are drawn."),
    ([_pair(10, 10, 8, 0.75, 2 / 3)], "Of what the score loses, 33 % is about missed objects, 33 % about different "
     "classes and 33 % about how objects are drawn."),
]  # fmt: skip


@pytest.mark.parametrize(("pairs", "expected"), CAUSES)
def test_the_main_cause_is_named_if_there_is_one(pairs: list, expected: str) -> None:
    said = cause_sentence(filled_report(pairs=pairs))
    assert said.startswith(expected)
    assert bool(said) == bool(expected)


def test_of_two_annotators_nobody_misses_anything() -> None:
    report = filled_report(pairs=[_pair(4, 0, 0, None, None)], annotators=filled_values()["annotators"][:2])
    assert cause_sentence(report) == "All that the score loses is about lone objects (only one of the two drew them)."


def _found(f1: float | None, same: float | None, iou: float | None) -> dict[str, Any]:
    return {
        "existence": {**filled_values()["existence"], "f1": f1},
        "class_given_match": _given(percent_agreement=same),
        "localisation": _local(mean_iou=iou),
    }


SOME = [_pair(4, 4, 3, 1.0, 0.6)]
OUTCOMES = [
    ([], _found(None, None, None), "No two annotators have labels to compare, so nothing can be said"),
    ([_pair(4, 4, 4, 1.0, 1.0)], _found(1.0, 1.0, 1.0), "The annotators agree: they drew the same objects"),
    ([_pair(4, 4, 0, None, None)], _found(0.0, None, None), "No object was drawn by two annotators (F1 0.000)."),
    (SOME, _found(1.0, 1.0, 0.63), "All annotators draw the same objects, give it the same class, and draw it loosely, "
     "with a mean IoU of 0.630."),
    (SOME, _found(0.851, 0.848, 0.767), "Two annotators draw the same object in 85.1 % of their labels (F1 0.851), "
     "give it the same class in 84.8 % of cases, and draw it with a mean IoU of 0.767."),
    (SOME, _found(0.5, 1.0, 1.0), "Two annotators draw the same object in 50.0 % of their labels (F1 0.500), give it "
     "the same class, and draw it at exactly the same place."),
]  # fmt: skip


@pytest.mark.parametrize(("pairs", "found", "expected"), OUTCOMES)
def test_the_outcome_says_what_is_seen_named_and_drawn_alike(pairs: list, found: dict, expected: str) -> None:
    two = filled_values()["annotators"][:2]
    assert object_outcome(filled_report(pairs=pairs, annotators=two, **found)).startswith(expected)


def test_annotators_who_share_no_image_with_others_are_not_said_to_agree() -> None:
    for pairs, found, expected in (
        ([_pair(4, 4, 4, 1.0, 1.0)], _found(1.0, 1.0, 1.0), "The annotators who share images agree: they drew"),
        (SOME, _found(1.0, 1.0, 0.63), "All annotators who share images draw the same objects, "),
    ):
        assert object_outcome(filled_report(pairs=pairs, **found)).startswith(expected)  # of three, two in pairs


@pytest.mark.parametrize("family", ["ratings", "tags"])
def test_without_two_labels_to_compare_nothing_is_said_of_agreement(family: str) -> None:
    values = OTHERS[family]().to_dict()
    unrated = report_from_dict({**values, "n_rated": 0, "n_disputed": 0, "score": {**values["score"], "mean": None}})
    assert "No two annotators have labels to compare, so nothing can be said" in report_text(unrated)
    assert "gave the same" not in report_text(unrated)


def test_where_nobody_gave_a_tag_none_is_in_common_and_one_category_is_no_plural() -> None:
    values = OTHERS["tags"]().to_dict()
    assert "Nobody gave a tag; all gave the same tags on" in report_text(report_from_dict({**values, "tags": []}))
    one = report_from_dict({**OTHERS["ratings"]().to_dict(), "categories": ["cat"]})
    assert "Coefficients over 1 category:" in report_text(one)


def test_with_one_class_nothing_is_said_of_classes() -> None:
    found = {**_found(1.0, 1.0, 0.8), "classes": filled_values()["classes"][:1], "n_classes_unlisted": 0}
    said = "All annotators who share images draw the same objects and draw it with a mean IoU of 0.800."
    assert object_outcome(filled_report(pairs=SOME, **found)) == said


GRADES = [
    (None, None, ("", "")),
    (None, interval(0.8, 0.9), ("", "")),
    (0.9, None, ("", "")),
    (0.85, interval(0.8, 0.9), ("good", "reliable")),
    (0.85, interval(0.79, 0.9), ("fair", "tentative")),
    (0.7, interval(0.65, 0.85), ("poor", "too low to rely on")),
]


@pytest.mark.parametrize(("value", "found", "expected"), GRADES)
def test_the_lower_end_of_the_alpha_of_classes_is_judged_by_krippendorffs_limits(
    value: float | None, found: dict[str, Any] | None, expected: tuple[str, str]
) -> None:
    key = "class_given_match.alpha"
    report = filled_report(class_given_match=_given(alpha=value), intervals={} if found is None else {key: found})
    number = next(each for each in report.main_numbers if each.key == key)
    assert grade_of(report, number) == expected


@pytest.mark.parametrize("family", ["objects", *OTHERS])
def test_nothing_but_the_alpha_of_nominal_classes_has_a_grade(family: str) -> None:
    report = filled_report() if family == "objects" else OTHERS[family]()
    judged = {"objects": ["class_given_match.alpha"], "ratings": ["alpha.pooled"]}.get(family, [])
    assert [each.key for each in report.main_numbers if grade_of(report, each)[0]] == judged
    for text in (report_text(report, full=True), report_markdown(report), report_page(report)):
        assert len(re.findall("reliable by|tentative by|to rely on by", text)) == len(judged)
    if family == "ratings":
        values = {**report.to_dict(), "level": "interval"}
        assert not any(grade_of(report_from_dict(values), each)[0] for each in report.main_numbers)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "Compare the alpha of objects only between runs with equal numbers of annotators and similar classes."),
        ({"classes": []}, "With one class the alpha of objects depends on who drew what alone"),
        (
            {"class_given_match": 1.0},
            "Without a conflict of classes the alpha of objects depends on who drew what alone",
        ),
        ({"alpha": None}, ""),
        ({"missing": "ignore"}, ""),
    ],
)
def test_where_existence_alone_makes_the_alpha_of_objects_it_is_said(changes: dict, expected: str) -> None:
    values = filled_values()
    values["config"] |= {name: value for name, value in changes.items() if name == "missing"}
    values |= {"classes": [], "n_classes_unlisted": 0} if "classes" in changes else {}
    values["alpha"] |= {"pooled": None} if "alpha" in changes else {}
    if "class_given_match" in changes:
        values["class_given_match"] |= {"percent_agreement": 1.0}
    found = object_alpha_sentence(ObjectReport.from_dict(values))
    assert found.startswith(expected)
    assert bool(found) == bool(expected)


@pytest.mark.parametrize(("n", "is_warned"), [(19, True), (20, False), (1, True)])
def test_few_samples_are_warned_of_below_twenty(n: int, is_warned: bool) -> None:
    notes = interval_notes(filled_report(intervals={"alpha.pooled": interval(0.1, 0.9, n=n)}))
    assert [note.is_warning for note in notes] == [False, True][: 1 + is_warned]
    if is_warned:
        assert notes[1].text.startswith(f"Warning: the intervals rest on {n} sample")


def test_numbers_that_few_of_many_samples_say_anything_about_are_warned_of() -> None:
    intervals = {"share_full_agreement": interval(0.1, 0.9, n=200), "score.mean": interval(0.1, 0.9, n=9)}
    warnings = [note.text for note in interval_notes(filled_report(intervals=intervals)) if note.is_warning]
    assert warnings == [
        "Warning: intervals of numbers that fewer than 20 samples say anything about are rough"
        " (here 1; one rests on 9)."
    ]


def test_without_intervals_there_are_no_notes_on_them() -> None:
    assert interval_notes(unfilled_report()) == []
    assert interval_notes(filled_report(intervals={})) == []


NOTHING = {"size": 0.0, "left": 0.0, "top": 0.0, "right": 0.0, "bottom": 0.0}
EVENLY = {"size": 12.0, "left": -6.0, "top": -6.4, "right": 5.5, "bottom": 6.0}
BIASES = [
    (EVENLY, {}, "12 % larger"),
    ({**EVENLY, "bottom": 9.2}, {}, "12 % larger, lower edge 9 % lower"),
    (
        {"size": -12.2, "left": 6.1, "top": 6.1, "right": -6.1, "bottom": -9.1},
        {},
        "12 % smaller, lower edge 9 % higher",
    ),
    ({"left": 2.0, "right": -2.5}, {}, "right edge 2 % further left, left edge 2 % further right"),
    ({"top": 5.0, "left": -4.0, "right": 3.0}, {}, "upper edge 5 % lower, left edge 4 % further left"),
    ({"size": 0.9, "top": -0.9}, {}, "like the others"),
    ({"size": None}, {}, "like the others"),
    ({"size": 3.0, "left": -0.6}, {"size": interval(-0.1, 6.1)}, "like the others"),
    ({"size": 1.6}, {"size": interval(0.1, 2.9)}, "2 % larger"),
    ({"size": -1.6}, {"size": around(-1.6, 0.5)}, "2 % smaller"),
    ({"top": 1.5}, {"top": interval(-0.1, 3.1)}, "like the others"),
]


@pytest.mark.parametrize(("mean", "intervals", "expected"), BIASES)
def test_bias_is_said_in_words_where_it_is_told_from_zero(mean: dict, intervals: dict, expected: str) -> None:
    from annotator_agreement.agreement.statistics.report import Interval

    means = {**NOTHING, **mean}
    ends = {side: around(value, 0.05) for side, value in means.items() if value is not None} | intervals
    found = {side: Interval(**values) for side, values in ends.items()}
    assert bias_in_words(Bias(20, means, NOTHING, intervals=found)) == expected


def test_no_habit_is_named_on_few_labels_or_images() -> None:
    from annotator_agreement.agreement.statistics.report import Interval

    def words(n_labels: int, n_images: int, *sides: str) -> str:
        found = {side: Interval(**around(EVENLY[side], 0.1, n_images)) for side in sides}
        return bias_in_words(Bias(n_labels, EVENLY, NOTHING, intervals=found))

    assert words(20, 10, *EVENLY) == "12 % larger"
    assert words(19, 10, *EVENLY) == words(20, 9, *EVENLY) == words(200, 100) == "-"
    assert words(200, 100, "size") == "12 % larger"


def test_no_bias_without_boxes() -> None:
    assert bias_in_words(None) == bias_in_words(Bias(0, NOTHING, NOTHING)) == "-"


def _point(threshold: float, f1: float | None) -> ThresholdPoint:
    return ThresholdPoint(threshold, alpha=0.5, score=0.5, f1=f1, n_units=1, n_hard=0, n_inexact=0)


THRESHOLDS = [
    ([], []),
    ([(0.5, 0.6)], []),
    ([(0.4, None), (0.5, 0.6), (0.6, None)], []),
    ([(0.35, 0.9), (0.4, 0.61), (0.5, 0.6), (0.6, 0.595), (0.7, 0.1)],
     ["F1 hardly depends on the threshold of 0.5: at 0.4 it is 0.610, at 0.6 0.595, but at 0.7 0.100."]),
    ([(0.4, 0.61), (0.6, 0.6), (0.65, 0.51)],
     ["F1 hardly depends on the threshold of 0.5: at 0.4 it is 0.610, at 0.6 0.600."]),
    ([(0.4, 0.7), (0.5, 0.6)], ["F1 depends on the threshold of 0.5: at 0.4 it is 0.700, at 0.5 0.600."]),
]  # fmt: skip


@pytest.mark.parametrize(("points", "expected"), THRESHOLDS)
def test_the_threshold_hint_looks_at_thresholds_nearby(points: list, expected: list[str]) -> None:
    assert f1_by_threshold(filled_report(), [_point(*point) for point in points]) == expected


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (0.37, "0.37 (0.37 and 0.37 on two halves of the images), below the 0.5"),
        (0.45, "images), close to"),
        (0.56, "images), above the"),
        (None, "no threshold: there are too few objects"),
    ],
)
def test_the_threshold_of_the_data_is_compared_with_that_of_the_run(threshold: float | None, expected: str) -> None:
    halves = {"halves": [threshold, threshold]}
    found = DataThreshold(**{**DATA_THRESHOLD, "threshold": threshold, "reason": "too_few_values", **halves})
    (sentence,) = suggested_threshold(filled_report(), found)
    assert expected in sentence


@pytest.mark.parametrize("reason", [TOO_FEW, NO_VARIATION, NO_CROSSING])
def test_why_there_is_no_threshold_is_said_in_words(reason: str) -> None:
    found = DataThreshold(**{**DATA_THRESHOLD, "threshold": None, "reason": reason})
    (sentence,) = suggested_threshold(filled_report(), found)
    assert sentence.startswith("The data suggest no threshold: ")
    assert "_" not in sentence
    assert "None" not in sentence


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"ks": 0.036}, "the best one, 0.37, hardly tells the same object from different ones."),
        ({"halves": [0.3, 0.41]}, "0.37 is not confirmed: 0.30 and 0.41 on two halves of the images."),
        ({"halves": [None, 0.37]}, "0.37 is not confirmed: none and 0.37 on two halves of the images."),
        ({"halves": []}, "0.37 is not confirmed."),
    ],
)
def test_a_threshold_without_evidence_is_not_suggested(changes: dict, expected: str) -> None:
    found = DataThreshold(**{**DATA_THRESHOLD, **changes})
    (sentence,) = suggested_threshold(filled_report(), found)
    assert sentence == f"The data suggest no threshold: {expected}"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"method": "mutual_best"}, "images); this run matches without one."),
        ({"iou_from_data": True, "iou": 0.37}, "images), and this run used 0.37."),
    ],
)
def test_the_threshold_of_the_data_is_not_compared_with_one_that_the_run_has_not(changes: dict, expected: str) -> None:
    config = {**filled_values()["config"], **changes}
    (sentence,) = suggested_threshold(filled_report(config=config), DataThreshold(**DATA_THRESHOLD))
    assert expected in sentence


def test_a_few_similarities_suggest_no_threshold() -> None:
    for few in ({"n_observed": 29}, {"n_samples": 9}):
        assert suggested_threshold(filled_report(), DataThreshold(**{**DATA_THRESHOLD, **few})) == []
