"""The sentences: true for every value, the undefined ones included."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.agreement.families import KINDS
from tests.charts.filled import DATA_THRESHOLD, around, filled_report, filled_values, interval, unfilled_report
from tests.charts.other_families import OTHERS

from annotator_agreement.agreement import AgreementInputError
from annotator_agreement.agreement.families import report_from_dict
from annotator_agreement.agreement.objects import Bias, DataThreshold, ThresholdPoint
from annotator_agreement.agreement.statistics import (
    AlternativeTest,
    Interval,
    LeftOutTest,
    PersonComparison,
    RoleReport,
    SideBySide,
)
from annotator_agreement.charts import reports
from annotator_agreement.charts.objects import (
    bias_in_words,
    cause_sentence,
    class_sentence,
    existence_sentence,
    f1_by_threshold,
    localisation_sentence,
    losses,
    object_alpha_sentence,
    object_outcome,
    share_below,
    suggested_threshold,
    told_offsets,
)
from annotator_agreement.charts.page import report_page
from annotator_agreement.charts.reports import RATING_PHRASES, finding_sentences, rating_outcome, report_text
from annotator_agreement.charts.reports import test_sentences as sentences_of_test
from annotator_agreement.charts.text import finding_text, grade_of, interval_notes
from annotator_agreement.metrics.matching import NO_CROSSING, NO_VARIATION, TOO_FEW


def _votes(*counts: tuple[int, int, int]) -> dict[str, Any]:
    votes = [{"assigned": of, "votes": k, "units": n} for of, k, n in counts]
    return {"existence": {"f1": None, "votes": votes}, "annotators": [], "sizes": []}


def _given(**changes: Any) -> dict[str, Any]:
    return {"class_given_match": {**filled_values()["class_given_match"], **changes}}


def _local(**changes: Any) -> dict[str, Any]:
    return {"localisation": {**filled_values()["localisation"], **changes}}


def _pairs(*pairs: tuple[int, int, int, float | None, float | None]) -> dict[str, Any]:
    """Labels of the one, of the other, matched, of one class of these, and the mean IoU of these, pair by pair."""
    one = filled_values()["pairs"][0]
    names = ("n_a", "n_b", "n_matched", "class_agreement", "sq")
    return {"pairs": [{**one, **dict(zip(names, pair, strict=True))} for pair in pairs]}


def _found(f1: float | None, same: float | None, iou: float | None, *pairs: Any) -> dict[str, Any]:
    existence = {**filled_values()["existence"], "f1": f1}
    found = _given(percent_agreement=same) | _local(mean_iou=iou)
    two = {"annotators": filled_values()["annotators"][:2], "attributes": []}
    return {"existence": existence, **found, **_pairs(*pairs or [(4, 4, 3, 1.0, 0.6)]), **two}


NO_TWO, NOBODY = "No object was drawn by two annotators", "Nobody drew anything where two annotators were assigned"
MERGE = {"classes": ["coach", "bus"], "n_confused": 57, "alpha_before": 0.6466, "alpha_after": 0.6469}
FOUR = {"annotators": filled_values()["annotators"]}
#: a sentence, what the report has, and how the sentence begins; nothing for no sentence
BEGINNINGS = [
    (existence_sentence, _votes((1, 1, 5)), NOBODY),
    (existence_sentence, _votes(), NOBODY),
    (existence_sentence, _votes((3, 3, 1)), "Nothing was missed: the only object was drawn by everybody assigned."),
    (existence_sentence, _votes((3, 1, 1)), "The only object was not drawn by everybody assigned."),
    (existence_sentence, _votes((3, 3, 5), (2, 2, 1)), "Nothing was missed: all 6 objects were drawn by everybody"),
    (existence_sentence, _votes((2, 1, 1), (2, 2, 19)), "19 of 20 objects (95.0 %) were drawn by everybody assigned, "
     "the others by one annotator alone (lone)."),
    (existence_sentence, _votes((3, 1, 1), (3, 2, 1), (3, 3, 98)), "98 of 100 objects (98.0 %) were drawn by everybody "
     "assigned, 1 (1.0 %) by one annotator alone (lone)."),
    (existence_sentence, _votes((3, 2, 1), (3, 3, 1)), "1 of 2 objects (50.0 %) were drawn by everybody assigned, 0 "
     "(0.0 %)"),
    (cause_sentence, _pairs(), ""),
    (cause_sentence, _pairs((0, 0, 0, None, None)), ""),
    (cause_sentence, _pairs((4, 4, 4, 1.0, 1.0)), ""),
    (cause_sentence, _pairs((4, 0, 0, None, None)), "All that the score loses is about objects that not "
     "everybody drew."),
    (cause_sentence, _pairs((4, 4, 4, 0.25, 1.0)), "All that the score loses is about different classes."),
    (cause_sentence, _pairs((4, 4, 4, 1.0, 0.6)), "All that the score loses is about how objects are drawn."),
    (cause_sentence, _pairs((4, 4, 4, 1.0, 1.0), (900, 900, 899, 0.999, 1.0)), "Of what the score loses, 53 % is about "
     "objects that not everybody drew and 47 % about different classes."),
    (cause_sentence, _pairs((4, 4, 4, 0.25, 1.0), (900, 900, 900, 1.0, 0.99999)), "Nearly all that the score loses is "
     "about different classes."),
    (cause_sentence, _pairs((10, 10, 4, 1.0, 0.5)), "Of what the score loses, 75 % is about objects that not everybody "
     "drew and 25 % about how objects are drawn."),
    (cause_sentence, _pairs((10, 10, 8, 0.75, 2 / 3)), "Of what the score loses, 33 % is about objects that not "
     "everybody drew, 33 % about different classes and 33 % about how objects are drawn."),
    (cause_sentence, {**_pairs((4, 0, 0, None, None)), "annotators": filled_values()["annotators"][:2]},
     "All that the score loses is about lone objects (only one of the two drew them)."),
    (object_outcome, {**_found(None, None, None), "score": {"mean": None, "n": 0}},
     "No two annotators have labels to compare, so nothing can be said"),
    (object_outcome, _found(1.0, 1.0, 1.0, (4, 4, 4, 1.0, 1.0)), "The annotators agree: they drew the same objects"),
    # of 5,000 objects one is lone, and one has two classes
    (object_outcome, _found(0.9999, 0.9998, 1.0, (5000, 4999, 4999, 0.9998, 1.0)), "Two annotators draw the same "
     "object in 100.0 % of their labels (F1 1.000), give it the same class in 100.0 % of cases, and draw it at"),
    (object_outcome, {**_found(1.0, 1.0, 1.0, (4, 4, 4, 1.0, 1.0)), "attributes": filled_values()["attributes"]},
     "The annotators drew the same objects, in the same places, with the same classes; their attributes differ "
     "(occluded)."),
    (object_outcome, {**_found(None, None, None, (0, 0, 0, None, None)), "n_rated": 3, "score": {"mean": 1.0, "n": 3}},
     "Nobody drew anything on 3 samples."),
    (object_outcome, _found(0.0, None, None, (4, 4, 0, None, None)), f"{NO_TWO} (F1 0.000)."),
    (object_outcome, _found(1.0, 1.0, 0.63), "All annotators draw the same objects, give them the same class, and "
     "draw them loosely, with a mean IoU of 0.630."),
    (object_outcome, _found(0.851, 0.848, 0.767), "Two annotators draw the same object in 85.1 % of their labels (F1 "
     "0.851), give it the same class in 84.8 % of cases, and draw it with a mean IoU of 0.767."),
    (object_outcome, _found(0.5, 1.0, 1.0), "Two annotators draw the same object in 50.0 % of their labels (F1 0.500), "
     "give it the same class, and draw it at exactly the same place."),
    # of four annotators only two share images
    (object_outcome, {**_found(1.0, 1.0, 1.0, (4, 4, 4, 1.0, 1.0)), **FOUR}, "The annotators who share images agree: "
     "they drew"),
    (object_outcome, {**_found(1.0, 1.0, 0.63), **FOUR}, "All annotators who share images draw the same objects, "),
    # with one class nothing is said of classes
    (object_outcome, {**_found(1.0, 1.0, 0.8), **FOUR, "classes": filled_values()["classes"][:1],
     "n_classes_unlisted": 0}, "All annotators who share images draw the same objects and draw them with a mean IoU of "
     "0.800."),
]  # fmt: skip
#: the same, with what the sentence has somewhere
PARTS = [
    (class_sentence, _given(n_units=0, percent_agreement=None), f"{NO_TWO}, so there are no classes"),
    (class_sentence, _given(percent_agreement=1.0, confusion=[]), "Whoever drew the same object gave it the same "
     "class."),
    (class_sentence, {}, "Confused more often than by chance are 'bus' and 'coach': 57 of 100 times; as one class they "
     "would raise alpha of objects from 0.647 to 0.689."),
    (class_sentence, {"merges": [{**MERGE, "alpha_after": 0.5}]}, "they would lower alpha of objects from 0.647 to "
     "0.500"),
    (class_sentence, _given(percent_agreement=0.97, confusion=[]), "labels of one object have different classes in "
     "3.0 % of cases."),
    (localisation_sentence, _local(n_pairs=0, mean_iou=None), NO_TWO),
    (localisation_sentence, _local(mean_iou=1.0), "Whoever drew the same object drew it at exactly the same place."),
    (localisation_sentence, {}, "Half of the pairs of labels have 0.872 or more; 8.1 % have less than 0.7; small "
     "objects do worse (0.740) than large ones (0.910)."),
    (localisation_sentence, _local(median_iou=None, iou_histogram=[], measure="OKS"), "Small objects do worse (0.740) "
     "than large ones"),
    (localisation_sentence, _local(iou_histogram=[0] * 10 + [1, 0, 0, 0, 0, 0, 0, 1, 0, 0]), "50.0 % have less than "
     "0.7; small"),
]  # fmt: skip


def test_what_is_missed_confused_and_drawn_and_the_main_cause_are_said_for_all_values() -> None:
    for sentence, changes, expected in BEGINNINGS:
        said = sentence(filled_report(**changes))
        assert said.startswith(expected)
        assert bool(said) == bool(expected)
    for sentence, changes, expected in PARTS:
        assert expected in sentence(filled_report(**changes))
    assert "as one class" not in class_sentence(filled_report(merges=[MERGE]))  # which changes nothing


def test_losses_add_up_to_what_the_score_lacks_and_shares_count_the_bins_below() -> None:
    # 10 and 8 labels, 6 matched, 3 of one class with a mean IoU of 0.8; another pair agrees on 4 fully
    lost = losses(filled_report(**_pairs((10, 8, 6, 0.5, 0.8), (4, 4, 4, 1.0, 1.0))))
    assert lost is not None
    f1, rq, pq = 2 * 10 / 26, 2 * 7 / 26, 2 * (3 * 0.8 + 4) / 26
    assert (lost, sum(lost)) == (pytest.approx((1 - f1, f1 - rq, rq - pq), abs=1e-12), pytest.approx(1 - pq, abs=1e-12))
    # bins of 0.05: 14 of them end at 0.7
    assert (share_below([1] * 20, 0.7), share_below([0] * 14 + [1] * 6, 0.7)) == (14 / 20, 0.0)
    assert share_below([], 0.7) is None


def test_without_labels_nothing_is_said_of_agreement_and_without_tags_nothing_of_tags_in_common() -> None:
    for family in ("ratings", "tags"):
        values = OTHERS[family]().to_dict()
        nothing = {"n_rated": 0, "n_disputed": 0, "score": {**values["score"], "mean": None}}
        text = report_text(report_from_dict({**values, **nothing}))
        assert "No two annotators have labels to compare, so nothing can be said" in text
        assert "gave the same" not in text
    text = report_text(report_from_dict({**values, "tags": []}))
    assert f"Nobody gave a tag on {values['n_rated']} samples." in text
    one = report_from_dict({**OTHERS["ratings"]().to_dict(), "categories": ["cat"]})
    assert "Coefficients over 1 category:" in report_text(one)
    samples = [{0: [], 1: []}] * 90 + [{0: [1], 1: [2]}] * 10
    report = KINDS["tags"].report(samples, resamples=0)
    assert report.score.mean == pytest.approx(0.9)
    assert reports.tag_outcome(report) == (
        "The tags of two annotators have a mean Jaccard index of 0.900 over samples (tags that both gave / tags that "
        "either gave; 1 where neither gave one); all gave the same tags, or none, on 90 of 100 samples (90.0 %)."
    )


@pytest.mark.parametrize("kind", ["tags", "classes"])
def test_no_text_speaks_of_alpha_of_single_samples_where_there_is_none(kind: str) -> None:
    report = KINDS[kind].report(KINDS[kind].samples(1, 30), resamples=0)
    assert report.alpha.undefined["one_annotator"] > 0
    assert "Alpha of single" not in report_text(report, full=True)


def test_numbers_that_agree_by_the_tolerance_are_not_said_to_be_the_same() -> None:
    samples = [{0: float(k % 5), 1: float(k % 5 + (1 if k % 2 else -1))} for k in range(60)]
    report = KINDS["numbers"].report(samples, resamples=0, tolerance=1.0)
    assert rating_outcome(report) == (
        "Two annotators give ratings that differ by at most 1 in 100.0 % of cases; their ratings differ by 1.000 on "
        "average; all gave ratings that differ by at most 1 on 60 of 60 samples (100.0 %)."
    )
    text = report_text(report, full=True)
    assert "They compare the numbers themselves, without the tolerance of 1." in text
    for wrong in ("plain share of agreeing pairs", "Classes that are confused", "conflicts:"):
        assert wrong not in text
    with pytest.raises(AgreementInputError, match="nobody confused two classes"):
        report.plot_confusion()
    exact = KINDS["numbers"].report(samples, resamples=0)
    assert "60 conflicts: those of numbers are not tested" in exact.plot_confusion().layout.title.text.replace(
        "<br>", " "
    )
    assert "The plain share of agreeing pairs is 0.000." in report_text(exact)
    assert "the same rating in 0.0 % of cases" in rating_outcome(KINDS["numbers"].report(samples, resamples=0))
    # the first is two off where the two others agree: every pair with the first differs by more than 1
    samples = [{0: float(k % 5 + 2 * (k % 3 == 0)), 1: float(k % 5), 2: float(k % 5 + k % 2)} for k in range(60)]
    report = KINDS["numbers"].report(samples, resamples=0, tolerance=1.0)
    (found,) = [each for each in report.findings if each.kind == "conflicts"]
    assert "differs in rating by more than 1 in" in finding_text(found, report, RATING_PHRASES)


def test_differences_of_shares_are_said_in_points() -> None:
    """0.62 against 0.5 is 12 points more, and 24 per cent more."""
    numbers = {
        form: next(each for each in filled_report().main_numbers if each.form == form) for form in ("share", "number")
    }
    for form, expected in (
        ("share", "62.0 % against 50.0 % on all other images (+12.0 points [+4.0, +20.0])."),
        ("number", "0.620 against 0.500 on all other images (+0.120 [+0.040, +0.200])."),
    ):
        found = SimpleNamespace(value=0.62, rest=0.5, difference=0.12, low=0.04, high=0.2)
        findings = [(SimpleNamespace(name="night"), numbers[form], found)]
        parts = SimpleNamespace(n_tested=5, findings=findings, what="images", measure="IoU")
        (said,) = finding_sentences(parts)
        assert said == f"night: {numbers[form].name()} {expected}"


def test_the_lower_end_of_the_alpha_of_classes_is_judged_by_krippendorffs_limits() -> None:
    key = "class_given_match.alpha"
    for value, found, expected in (
        (None, None, ("", "")), (None, interval(0.8, 0.9), ("", "")), (0.9, None, ("", "")),
        (0.85, interval(0.8, 0.9), ("good", "reliable")), (0.85, interval(0.79, 0.9), ("fair", "tentative")),
        (0.7, interval(0.65, 0.85), ("poor", "too low to rely on")),
    ):  # fmt: skip
        report = filled_report(**_given(alpha=value), intervals={} if found is None else {key: found})
        assert grade_of(report, next(each for each in report.main_numbers if each.key == key)) == expected


@pytest.mark.parametrize("family", ["objects", *OTHERS])
def test_nothing_but_the_alpha_of_nominal_classes_has_a_grade(family: str) -> None:
    report = filled_report() if family == "objects" else OTHERS[family]()
    judged = {"objects": ["class_given_match.alpha"], "ratings": ["alpha.pooled"]}.get(family, [])
    assert [each.key for each in report.main_numbers if grade_of(report, each)[0]] == judged
    for text in (report_text(report, full=True), reports.report_markdown(report), report_page(report)):
        assert len(re.findall("reliable by|tentative by|to rely on by", text)) == len(judged)
    if family == "ratings":
        values = {**report.to_dict(), "level": "interval"}
        assert not any(grade_of(report_from_dict(values), each)[0] for each in report.main_numbers)


def test_existence_alone_and_intervals_of_few_samples_are_warned_of() -> None:
    values = filled_values()
    for changes, expected in (
        ({}, "Compare the alpha of objects only between runs with equal numbers of annotators and similar classes."),
        ({"classes": [], "n_classes_unlisted": 0}, "With one class the alpha of objects depends on who drew what"),
        (_given(percent_agreement=1.0), "Without a conflict of classes the alpha of objects depends on who drew what"),
        ({"alpha": {**values["alpha"], "pooled": None}}, ""),
        ({"config": {**values["config"], "missing": "ignore"}}, ""),
    ):
        found = object_alpha_sentence(filled_report(**changes))
        assert found.startswith(expected)
        assert bool(found) == bool(expected)
    for n, is_warned in ((19, True), (20, False), (1, True)):
        notes = interval_notes(filled_report(intervals={"alpha.pooled": interval(0.1, 0.9, n=n)}))
        assert [note.is_warning for note in notes] == [False, True][: 1 + is_warned]
        if is_warned:
            assert notes[1].text.startswith(f"Warning: the intervals rest on {n} sample")
    few = {"share_full_agreement": interval(0.1, 0.9, n=200), "score.mean": interval(0.1, 0.9, n=9)}
    assert [note.text for note in interval_notes(filled_report(intervals=few)) if note.is_warning] == [
        "Warning: intervals of numbers that fewer than 20 samples say anything about are rough"
        " (here 1; one rests on 9)."
    ]
    assert interval_notes(unfilled_report()) == interval_notes(filled_report(intervals={})) == []


NOTHING = {"size": 0.0, "left": 0.0, "top": 0.0, "right": 0.0, "bottom": 0.0}
EVENLY = {"size": 12.0, "left": -6.0, "top": -6.4, "right": 5.5, "bottom": 6.0}
BIASES = [
    (EVENLY, {}, "12 % larger"),
    ({**EVENLY, "bottom": 9.2}, {}, "12 % larger, lower edge 9 % lower"),
    ({"size": -12.2, "left": 6.1, "top": 6.1, "right": -6.1, "bottom": -9.1}, {}, "12 % smaller, lower edge 9 % "
     "higher"),
    ({"left": 2.0, "right": -2.5}, {}, "right edge 2 % further left, left edge 2 % further right"),
    ({"top": 5.0, "left": -4.0, "right": 3.0}, {}, "upper edge 5 % lower, left edge 4 % further left"),
    ({"size": 0.9, "top": -0.9}, {}, "no clear difference"),
    ({"size": None}, {}, "no clear difference"),
    ({"size": 3.0, "left": -0.6}, {"size": interval(-0.1, 6.1)}, "no clear difference"),
    ({"size": 1.6}, {"size": interval(0.6, 2.9)}, "2 % larger"),
    ({"size": 1.6}, {"size": interval(0.1, 2.9)}, "no clear difference"),  # of five offsets one is that far by chance
    ({"size": -1.6}, {"size": around(-1.6, 0.5)}, "2 % smaller"),
    ({"top": 1.5}, {"top": interval(-0.1, 3.1)}, "no clear difference"),
]  # fmt: skip


def _drawn(bias: Bias | None) -> str:
    """The words on the only annotator."""
    (told,) = told_offsets([SimpleNamespace(name="alice", bias=bias)]).values()
    return bias_in_words(bias, told)


def test_bias_is_said_in_words_where_it_is_told_from_zero_on_enough_labels_and_images() -> None:
    for mean, intervals, expected in BIASES:
        means = {**NOTHING, **mean}
        ends = {side: around(value, 0.05) for side, value in means.items() if value is not None} | intervals
        found = {side: Interval(**values) for side, values in ends.items()}
        assert _drawn(Bias(20, means, NOTHING, intervals=found)) == expected
    assert _drawn(None) == _drawn(Bias(0, NOTHING, NOTHING)) == "-"  # without boxes

    def words(n_labels: int, n_images: int, *sides: str) -> str:
        found = {side: Interval(**around(EVENLY[side], 0.1, n_images)) for side in sides}
        return _drawn(Bias(n_labels, EVENLY, NOTHING, intervals=found))

    assert words(20, 10, *EVENLY) == "12 % larger"
    assert words(19, 10, *EVENLY) == words(20, 9, *EVENLY) == words(200, 100) == "-"
    assert words(200, 100, "size") == "12 % larger"


def test_the_threshold_hint_looks_nearby_and_that_of_the_data_is_suggested_with_evidence() -> None:
    for points, expected in (
        ([], []),
        ([(0.5, 0.6)], []),
        ([(0.4, None), (0.5, 0.6), (0.6, None)], []),
        ([(0.35, 0.9), (0.4, 0.61), (0.5, 0.6), (0.6, 0.595), (0.7, 0.1)],
         ["F1 hardly depends on the threshold of 0.5: at 0.4 it is 0.610, at 0.6 0.595, but at 0.7 0.100."]),
        ([(0.4, 0.61), (0.6, 0.6), (0.65, 0.51)],
         ["F1 hardly depends on the threshold of 0.5: at 0.4 it is 0.610, at 0.6 0.600."]),
        ([(0.4, 0.7), (0.5, 0.6)], ["F1 depends on the threshold of 0.5: at 0.4 it is 0.700, at 0.5 0.600."]),
    ):  # fmt: skip
        near = [ThresholdPoint(at, 0.5, 0.5, f1=f1, n_units=1, n_hard=0, n_inexact=0) for at, f1 in points]
        assert f1_by_threshold(filled_report(), near) == expected
    # what the data say, what the run used, and what is said of it
    for found, used, expected in (
        ({"threshold": 0.37, "halves": [0.37, 0.37]}, {}, "0.37 (0.37 and 0.37 on two halves of the images), below the "
         "0.5"),
        ({"threshold": 0.45, "halves": [0.45, 0.45]}, {}, "images), close to"),
        ({"threshold": 0.56, "halves": [0.56, 0.56]}, {}, "images), above the"),
        ({}, {"method": "mutual_best"}, "images); this run matches without one."),
        ({}, {"iou_from_data": True, "iou": 0.37}, "images), and this run used 0.37."),
        ({"threshold": None, "reason": TOO_FEW, "halves": [None, None]}, {}, f"{NONE}there are too few objects"),
        ({"threshold": None, "reason": NO_VARIATION}, {}, NONE),
        ({"threshold": None, "reason": NO_CROSSING}, {}, NONE),
        ({"ks": 0.036}, {}, f"{NONE}the best one, 0.37, hardly tells the same object from different ones."),
        ({"halves": [0.3, 0.41]}, {}, f"{NONE}0.37 is not confirmed: 0.30 and 0.41 on two halves of the images."),
        ({"halves": [None, 0.37]}, {}, f"{NONE}0.37 is not confirmed: none and 0.37 on two halves of the images."),
        ({"halves": []}, {}, f"{NONE}0.37 is not confirmed."),
    ):  # fmt: skip
        report = filled_report(config={**filled_values()["config"], **used})
        (sentence,) = suggested_threshold(report, DataThreshold(**{**DATA_THRESHOLD, **found}))
        assert expected in sentence
        if NONE in expected:
            assert sentence.startswith(expected)
            assert "_" not in sentence
            assert "None" not in sentence
    for few in ({"n_observed": 29}, {"n_samples": 9}):
        assert suggested_threshold(filled_report(), DataThreshold(**{**DATA_THRESHOLD, **few})) == []


NONE = "The data suggest no threshold: "


def _person(difference: float, low: float | None = None, high: float | None = None) -> PersonComparison:
    interval = {"difference": Interval(low, high, 0.01, 40)} if low is not None else {}
    return PersonComparison(SideBySide("", 40, 300, 0.84 + difference, 0.84, difference, intervals=interval))


WELL = "yolo agrees with the annotators as well as they agree with each other"
#: a comparison of a model with the annotators, and what is said of it
VERDICTS = [
    (_person(-0.01, -0.03, 0.01), f"{WELL} (F1 0.83 against 0.84, difference -0.01 [-0.03, +0.01])."),
    (_person(0.04, 0.02, 0.06), "yolo agrees with the annotators better than they agree with each other (F1 0.88 "
     "against 0.84, difference +0.04 [+0.02, +0.06])."),
    (_person(-0.1, -0.15, -0.05), "yolo agrees with the annotators less than they agree with each other (F1 0.74 "
     "against 0.84, difference -0.10 [-0.15, -0.05])."),
    (_person(-0.04, -0.12, 0.04), f"Not enough evidence whether {WELL} (F1 0.80 against 0.84, difference -0.04 [-0.12, "
     "+0.04])."),
    (_person(0.0), f"Not enough evidence whether {WELL} (F1 0.84 against 0.84, difference 0.00 without an interval)."),
    (PersonComparison(SideBySide("", 3, 0)), f"Not enough evidence whether {WELL}: there are no labels to compare."),
]  # fmt: skip


def test_a_model_is_judged_with_both_numbers_and_the_test_names_epsilon_and_who_was_not_tested() -> None:
    for person, expected in VERDICTS:
        assert reports.person_sentence(RoleReport("yolo", 3, 0, 0, [], person=person)) == expected
    left_out = [
        LeftOutTest("alice", 90, 0.8, 0.7, 0.001, True), LeftOutTest("bob", 80, 0.8, 0.7, 0.2, False),
        LeftOutTest("carol", 70, 0.8, 0.7, 0.01, True), LeftOutTest("dave", 12, 0.8, 0.7, None, False),
    ]  # fmt: skip
    tests = [AlternativeTest(0.1, 2 / 3, True), AlternativeTest(0.15, 1.0, True), AlternativeTest(0.2, 1.0, True)]
    total = SideBySide("", 40, 300)
    person = PersonComparison(total, left_out=left_out, tests=tests, advantage_probability=0.8)
    assert list(sentences_of_test(person, "images", "images")) == [
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
        (sentence, _) = sentences_of_test(PersonComparison(total, left_out=left_out, tests=some), "images", "images")
        assert f"half of them or more, {said}. It is" in sentence
    few = PersonComparison(total, left_out=left_out[2:])
    assert list(sentences_of_test(few, "images", "images")) == [
        "The alternative annotator test needs at least 3 annotators with 30 images each, on which another one was, "
        "too; there are carol 70 and dave 12."
    ]
    # clusters are counted, the advantage is over frames
    (said,) = sentences_of_test(few, "frames", "videos")
    assert "annotators with 30 videos each" in said
    advantage, left = sentences_of_test(person, "frames", "groups")
    assert advantage.endswith("80.0 % of the frames.")
    assert left == "Not tested, with fewer than 30 groups: dave 12."


@pytest.mark.parametrize(("n_of_group", "what"), [(None, "sample"), (1, "sample"), (4, "group")])
def test_intervals_of_groups_are_said_to_be_of_groups(n_of_group: int | None, what: str) -> None:
    samples = [sample for sample in KINDS["classes"].samples(1, 160) if len(sample) == 3][:60]
    clusters = None if n_of_group is None else np.arange(60) // n_of_group
    report = KINDS["classes"].report(samples, clusters=clusters, resamples=50)
    n = 60 // (n_of_group or 1)
    assert report.run.n_groups == (n if what == "group" else None)
    (said, *_) = [note.text for note in interval_notes(report)]
    assert said.endswith(f"for the population of {what}s, with these annotators ({n} resampled).")
