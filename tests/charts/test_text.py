"""The report as text, short and in full, and as Markdown."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pytest

from tests.agreement.families import KINDS
from tests.charts import filled
from tests.charts.filled import ANNOTATORS, filled_report, filled_sensitivity, filled_values, interval, unfilled_report
from tests.charts.other_families import OTHERS

from annotator_agreement.agreement.families import report_from_dict
from annotator_agreement.agreement.objects import ObjectReport
from annotator_agreement.agreement.statistics import MainNumber
from annotator_agreement.charts import reports
from annotator_agreement.charts import text as texts
from annotator_agreement.charts.page import report_page
from annotator_agreement.charts.reports import computation_markdown, report_markdown, report_text, sensitivity_sections
from annotator_agreement.charts.text import Cell, Column, NumberRow, Section, Table, as_markdown, as_text

WORST = {"id": "f" * 24, "filepath": "/data/street_1.jpg", "score": 0.05, "n_units": 9, "n_disputed": 8, "share": 0.2,
         "reason": "5 lone (bob)"}  # fmt: skip
FULL_ONLY = [
    "Alpha of single samples", "Annotators in detail", "Groups of annotators", "Sessions", "Pairs in detail",
    "95 % intervals, by resampling", "Effect of merging two classes", "Attributes of shared objects",
    "Coefficients beside alpha", "By size", "Against the consensus of the others",
]  # fmt: skip
SHORT = ["Question by question", "Annotators", "Where to look first",
         "How it was computed"]  # fmt: skip
#: left out of the short text where it would have more than 60 lines
LAST = ["Pairs of annotators, best first", "Classes that are confused", "What the words mean"]


def test_the_short_text_has_sixty_lines_and_the_full_one_has_everything() -> None:
    short, full = report_text(filled_report()), report_text(filled_report(), full=True)
    assert len(short.splitlines()) <= 60
    assert " ".join(short.split()).endswith(f"More in print_report(full=True): {', '.join(LAST)}")
    assert all(f"\n{title}" in full for title in LAST)
    for title in SHORT:
        assert f"\n{title}" in short
        assert f"\n{title}" in full
    for title in FULL_ONLY:
        assert title not in short
        assert title in full
    for name in (*ANNOTATORS, *(name for name in filled.CLASSES if name != "Car ")):
        assert name in full
    for text in (short, full):
        file = io.StringIO()
        filled_report().print_report(full=text == full, file=file)
        assert file.getvalue() == text + "\n"
    groups = [[f"name {k}", f"Name {k}"] for k in range(12)]  # of many similar names the first are listed
    text = report_text(filled_report(similar_names=groups), full=True).replace("\n  ", " ")
    assert "'name 9' and 'Name 9'; and 2 more groups." in text
    assert "name 10" not in text
    config = {**filled_values()["config"], "iou": 0.37, "iou_from_data": True}
    assert "IoU of at least 0.37 (requested from the data)" in report_text(filled_report(config=config))


def test_other_thresholds_and_rules_have_sections_and_say_of_which_labels_they_are() -> None:
    titles = ["The threshold", "Thresholds side by side", "The threshold from the data",
              "Alpha of objects under other rules"]  # fmt: skip
    report, found = filled_report(), filled_sensitivity()
    assert [section.title for section in sensitivity_sections(report, found)] == titles
    text = as_text(sensitivity_sections(report, found))
    assert "The data suggest 0.37 (0.36 and 0.39 on two halves of the images)" in text
    marked = [line for line in text.splitlines() if line.endswith("this run")]
    assert [line.split()[:2] for line in marked] == [["0.50", "0.804"], ["optimal", "prefer"]]
    note = "2 samples saved or deleted since this run: these are the numbers of the labels as they are now"
    noted = as_text(sensitivity_sections(report, filled_sensitivity(note=note)))
    assert noted.replace("\n  ", " ").index(f"{note}.") < noted.index("Thresholds side by side")
    assert sensitivity_sections(report) == []  # it was not loaded from a dataset


def test_the_alpha_of_an_order_and_of_single_samples_is_told_from_others() -> None:
    weighted = {"krippendorff_alpha": {"identity": 0.3, "linear": 0.5, "quadratic": 0.7, "ordinal": 0.6}}
    values = {**OTHERS["ratings"]().to_dict(), "coefficients": weighted}
    text = report_text(report_from_dict({**values, "level": "ordinal"})).replace("\n  ", " ")
    assert "The alpha of 0.700 above uses Krippendorff's difference at the level ordinal, which is not" in text
    assert "above uses" not in report_text(report_from_dict({**values, "level": "interval"}))
    for family, name in (("tags", "Krippendorff's alpha"), ("pixels", "Alpha of pixels")):
        values = OTHERS[family]().to_dict()
        alpha = {**values["alpha"], "mean": 0.5, "n_defined": 9}
        text = report_text(report_from_dict({**values, "alpha": alpha}), full=True)
        assert f"Alpha of single samples: {name} is of all of them together" in text


def test_of_two_annotators_nobody_can_miss_what_two_others_drew_and_the_other_class_is_that_of_the_other() -> None:
    annotators = [
        {**entry, "verdicts": {**entry["verdicts"], "missed": 0}} for entry in filled_values()["annotators"][:2]
    ]
    for of_two in (filled_report(annotators=annotators, clusters=[]), OTHERS["tags"]()):
        assert "missed by" not in report_text(of_two, full=True)
    text = report_text(filled_report(annotators=annotators, clusters=[]))
    (header,) = [line for line in text.splitlines() if line.startswith("  annotator  ")]
    assert header.split() == ["annotator", "labels", "lone", "other", "class", "draws"]
    text, of_four = (" ".join(each.split()) for each in (text, report_text(filled_report())))
    assert "each annotator shows half of the difference" in text
    assert "Other class: labels that the other annotator named otherwise." in text
    assert "labels that most of the others, at least two, named otherwise" in of_four


def test_the_text_has_outcome_causes_and_words_in_order_and_a_dash_where_undefined() -> None:
    text = report_text(filled_report())
    order = ["Two annotators draw the same object", "Of what the score loses", "talk to dan|d", "200 of 214 samples",
             "F1  ", "Question by question", "Where to look first", "How it was computed"]  # fmt: skip
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    words = report_text(filled_report(), full=True).split("What the words mean")[1]
    assert "alpha of images" in words.lower()
    assert "{" not in words
    assert words.count("ICC of counts") == 1
    for full in (False, True):
        text = report_text(unfilled_report(), full=full)
        assert not re.search(r"\bnan\b|None", text)
        assert "alpha of objects undefined" in text.replace("\n" + " " * 39, " ")
        for title in set(FULL_ONLY) - {"Annotators in detail", "Pairs in detail"}:
            assert title not in text
        assert "[" not in text.split("How it was computed")[0].replace("[…]", "")
    text = report_text(filled_report())
    assert "12 % larger, lower edge 9 % lower" in text
    (row,) = [line for line in text.splitlines() if line.startswith("  dan|d ")]
    assert "150 of 600 (25.0 %)" in row
    assert "raises alpha, against the mean of +0.003" in report_text(filled_report(), full=True)
    assert "-0.084" in report_text(filled_report(), full=True)


def test_the_head_has_few_numbers_in_order_and_says_what_is_disputed() -> None:
    report = filled_report()
    (row,) = [part for part in reports.report_head(report).parts if isinstance(part, NumberRow)]
    assert [entry.title for entry in row.entries] == [
        "F1",
        "Same class",
        "Mean IoU",
        "Score",
        "Full agreement",
        "Alpha of classes",
        "Alpha of images",
    ]
    assert len({number.title.lower() for number in report.main_numbers}) == len(report.main_numbers)
    assert not any(number.title == "alpha" for number in report.main_numbers)
    said = {"ratings": "20 samples", "tags": "30 samples", "pixels": "7 of 1,000 classes of single samples"}
    for family, make in OTHERS.items():
        assert f" · {said[family]} disputed " in " ".join(report_text(make()).split())


def test_numbers_have_three_digits_and_one_image_is_no_plural_on_any_surface() -> None:
    shown = {None: "-", 0.12345: "0.123", -0.0001: "0.000", -0.25: "-0.250", 1.0: "1.000"}
    for value, expected in shown.items():
        assert texts.shown_number(value) == texts.shown_interval(value, None) == expected
    differences = {0.5: "+0.500", -0.5: "-0.500", 0.0001: "0.000", -0.0001: "0.000", None: "-"}
    assert [texts.signed(value) for value in differences] == [*differences.values()]
    names = texts.table([Column("n", "a")], [{"a": "1 images"}])
    said = ["1 images and 11 images, 2.1 labels", names]
    section = Section("1 samples by field", said, "1,001 frames, 1 pairs of labels")
    for text in (as_text([section]), as_markdown([section])):
        for part in ("1 sample by field", "1,001 frames, 1 pair of labels", "1 image and 11 images, 2.1 labels"):
            assert part in text
        assert text.count("1 images") == 2  # of 11 images, and a name
    one = {**filled_values(), "n_samples": 1, "n_rated": 1}
    one |= {"score": {**one["score"], "n": 1}, "run": {**one["run"], "n_invalid": 1}, "n_repaired": 1}
    text = report_text(filled_report(**one), full=True)
    for note in ("labels left out because they cannot be", "polygons repaired because their rings cross themselves"):
        assert re.search(rf"note +{note}[\w ,\n]+: 1\n", text)
    assert "mean of 1 sample\n" in text
    assert "1 of 1 sample rated by two or more" in text
    assert texts.singular("11 samples, 1,001 samples, 0.1 samples, of 1 samples").endswith("0.1 samples, of 1 sample")


def test_the_markdown_has_no_html_and_a_report_is_one_line_and_its_beginning_in_a_notebook() -> None:
    text = report_markdown(filled_report())
    assert "**Score 0.612 [0.581, 0.640]**" in text
    assert "**Alpha of images 0.594 [0.566, 0.622]**" in text
    assert "is about objects that not everybody drew" in text
    assert "590 of 1,000 objects (59.0 %) were drawn by everybody assigned" in text
    assert "12 % larger" in text
    assert r'\<b>carol\</b> "c"' in text
    assert "<b>" not in text.replace(r"\<", "")
    assert "Score -" in report_markdown(unfilled_report())
    report = filled_report()
    numbers = "F1 0.812, Same class 92.1 %, Mean IoU 0.836, Score 0.612, 200 of 214 samples rated"
    expected = f"<ObjectReport 'agreement': {numbers}; print_report() says more>"
    assert repr(report) == expected
    assert "F1 undefined, Same class undefined, Mean IoU undefined" in repr(unfilled_report())
    shown = report._repr_html_()
    assert "give it the same class in 92.1 % of cases" in shown
    assert "Question by question" in shown
    assert "&lt;b&gt;carol&lt;/b&gt;" in filled_report(run_key="<b>carol</b>")._repr_html_()
    assert len(shown) < 10_000
    for make in OTHERS.values():
        assert len(repr(make())) < 200
        assert "annotator-agreement" in make()._repr_html_()


def test_a_number_that_is_declared_is_shown_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A declaration is enough: no renderer, table or figure names the main numbers one by one."""
    new = [
        MainNumber("existence.share_present", "Images with objects", "of {report.n_rated} {documents}", "share"),
        MainNumber("sizes_alike", "sizes alike", "of shared objects", group="localisation", is_optional=True),
    ]
    monkeypatch.setattr(ObjectReport, "main_numbers", (*ObjectReport.main_numbers, new[0]))
    report = filled_report(intervals={"existence.share_present": interval(0.9, 0.95)})
    shown = "93.0 % [90.0 %, 95.0 %]"
    for text in (report_text(report), report_markdown(report), computation_markdown(report)):
        assert f"Images with objects {shown}" in " ".join(text.split())
        assert "of 200 samples" in text
    page = report_page(report)
    assert '<div class="name">Images with objects</div><div class="number">93.0 %</div>' in page
    assert "[90.0 %, 95.0 %]" in page
    frame = report.to_dataframe("summary").set_index("number")
    assert tuple(frame.loc["existence.share_present"]) == (0.93, 0.9, 0.95)
    monkeypatch.setattr(ObjectReport, "main_numbers", (*ObjectReport.main_numbers, new[1]))
    monkeypatch.setattr(MainNumber, "value", lambda number, report: None if number is new[1] else 0.5)
    assert "sizes alike" not in report_text(report)
    monkeypatch.setattr(MainNumber, "value", lambda number, report: 0.5)
    assert "sizes alike 0.500" in report_text(report)


def _shown(header: list[str], rows: list[list[Any]]) -> Section:
    return Section("title", [Table(header, [[Cell(value, str(value)) for value in row] for row in rows])])


def test_ids_are_text_numbers_stand_to_the_right_and_a_name_cannot_break_a_table() -> None:
    lines = as_text([_shown(["id", "n"], [["65f1c0ffee", 7], ["1" * 24, 12]])]).splitlines()
    assert lines[2].startswith("  65f1c0ffee  ")
    assert lines[2].endswith("   7")
    assert len(lines[1]) == len(lines[2]) == len(lines[3])
    assert len(as_text([_shown(["name"], [["two\nlines"]])]).splitlines()) == 3
    section = _shown(["name"], [["a|b\n<c>"]])
    assert as_markdown([section]).splitlines()[-1].strip("| ") == r"a\|b \<c>"


def test_where_to_look_first_is_by_what_fixing_would_change_with_reasons_and_files() -> None:
    first = {**WORST, "share": 0.224, "reason": "7 lone (carol), 3 missed (bob)"}
    alike = [first, {**first, "share": 0.1, "id": "a" * 24, "filepath": "/other/street_1.jpg"}]
    text = report_text(filled_report(look_first=alike))
    assert "Where to look first: these 2 images hold 32.4 % of what the score loses" in text
    assert "8 of 9  " in text
    assert "7 lone (carol), 3 missed (bob)" in text
    assert WORST["id"] in text  # two files have one name
    short = report_text(filled_report(look_first=[first]))
    assert WORST["id"] not in short
    assert "  street_1.jpg" in short
    run = {**filled_values()["run"], "n_videos": 3}  # rows are videos, also where frames are compared
    text = report_text(filled_report(look_first=alike, run=run))
    assert "Where to look first: these 2 videos hold 32.4 %" in text
    # where nothing is disputed there are the lowest scores alone
    assert "Where to look first" not in report_text(filled_report(look_first=[]))


def test_of_many_annotators_those_who_clearly_agree_least_and_most_are_listed() -> None:
    """Ordered by the end of the interval that is nearer to all together; without evidence nobody is named."""
    one, run = filled_values()["annotators"][0], filled_values()["run"]
    names = [f"worker {k}" for k in range(100)]
    annotators = [
        {**one, "name": name, "score": k / 100, "intervals": {"score": interval(k / 100 - 0.01, k / 100 + 0.01)}}
        for k, name in enumerate(names)
    ]
    annotators[0]["n_objects"] = 19
    annotators[1]["intervals"] = {"score": interval(0.0, 0.02, n=9)}
    annotators[2]["intervals"] = {"score": interval(0.01, 0.25)}
    annotators[99]["intervals"] = {"score": interval(0.6, 1.0)}
    lists = [{"name": name, "n_labels": 3, "n_empty": 0, "n_null": k} for k, name in enumerate(names)]
    scores = {"mean": 0.9, "of_meetings": 0.495, "n": 188}
    report = filled_report(annotators=annotators, clusters=[], run={**run, "lists": lists}, score=scores)
    text = report_text(report)
    title = "Annotators: of 100 the 3 who agree least and the 3 who agree most"
    (section,) = [part for part in text.split("\n\n") if part.startswith(title)]
    listed = [line.split()[1] for line in section.splitlines() if line.startswith("  worker")]
    assert listed == ["3", "4", "5", "98", "97", "96"]
    assert "Score of all 100 annotators: 0.10 to 0.89 for the middle 80 %, half have 0.49 or more" in text
    assert "but 2 with fewer than 20 labels or 10 images" in text.replace("\n  ", " ")
    assert len(text.splitlines()) <= 60
    assert "the 12 of 100 who have no list most often" in report_text(report, full=True)
    unranked = filled_report(annotators=[{**entry, "intervals": {}} for entry in annotators], clusters=[])
    assert "Annotators: of 100 none agrees clearly less or more than all" in report_text(unranked)


def test_classes_and_pairs_are_in_the_order_of_the_numbers_that_are_shown() -> None:
    """Not in that of the ends of intervals, which gave 0.59, 0.63, 0.61."""
    values = OTHERS["pixels"]().to_dict()
    numbers = {"road": (0.59, 0.62), "pole": (0.63, 0.64), "sky": (0.61, 0.66)}
    values["classes"] = [
        {**values["classes"][1], "name": name, "mean_iou": number, "intervals": {"mean_iou": interval(0.5, high)}}
        for name, (number, high) in numbers.items()
    ]
    lines = report_text(report_from_dict(values)).split("\nClasses, least agreement first")[1].splitlines()[2:5]
    assert [line.split()[0] for line in lines] == ["road", "sky", "pole"]
    one = OTHERS["pixels"]().to_dict()["pairs"][0]
    numbers = {"b": (0.784, 0.75), "c": (0.781, 0.74), "d": (0.799, 0.7)}
    pairs = [
        {**one, "b": name, "score": score, "intervals": {"score": interval(low, 0.9)}}
        for name, (score, low) in numbers.items()
    ]
    text = report_text(report_from_dict({**OTHERS["pixels"]().to_dict(), "pairs": pairs}))
    rows = text.split("Pairs of annotators, best first\n")[1].splitlines()[1:4]
    assert [row.split()[1] for row in rows] == ["d", "b", "c"]


def test_tags_that_all_gave_are_not_listed_points_have_no_iou_and_equal_areas_name_nobody() -> None:
    values = OTHERS["tags"]().to_dict()
    text = report_text(report_from_dict(values))
    is_disputed = {tag["tag"]: tag["n_agreed"] < tag["n_samples"] for tag in values["tags"]}
    assert any(is_disputed.values())
    for tag, expected in is_disputed.items():
        assert bool(re.search(rf"^  {re.escape(tag)}  ", text, re.MULTILINE)) == expected
    local = {**filled_values()["localisation"], "measure": "OKS"}
    text = " ".join(report_text(filled_report(localisation=local), full=True).split())
    assert "mean OKS of equal classes" in text
    assert "F1 with equal classes times their mean OKS" in text
    assert "mean IoU" not in text
    masks = [np.zeros((4, 5), np.int64) for _ in range(3)]
    for k, mask in enumerate(masks):
        mask[1, k : k + 3] = 1  # three pixels of twenty each, at other places
    context = KINDS["masks"].context()
    (reason,) = reports.reasons(KINDS["masks"].record([dict(enumerate(masks))], context.config), context)
    assert reason == "sky: IoU 0.40 (areas of 15.0 %)"


@pytest.mark.parametrize(
    ("family", "title", "entries", "number"),
    [("tags", "Disputed tags", "tags", "alpha"), ("pixels", "Classes", "classes", "mean_iou")],
)
def test_a_ranking_is_claimed_only_where_there_is_evidence_for_one(family, title, entries, number) -> None:
    values = OTHERS[family]().to_dict()
    assert f"\n{title}: " in report_text(report_from_dict(values))
    assert "first" not in report_text(report_from_dict(values)).split(f"\n{title}")[1].splitlines()[0]
    (*_, last) = values[entries][:2]
    name = last.get("tag") or last["name"]
    last["n_samples"], last["intervals"] = 40, {number: interval(0.1, 0.3)}
    (head, first, *_) = report_text(report_from_dict(values)).split(f"\n{title}")[1].splitlines()[::2]
    assert head.startswith(", least agreement first")
    assert first.split("  ")[1].strip() == name


def test_long_names_are_shortened_in_the_short_text_only() -> None:
    """Eight classes whose names have 1,200 characters, alike but for their ends: one of them is in a finding."""
    names = [f"{'a long name ' * 100}it's {k}" for k in range(8)]
    values = filled_values()
    classes = [{**values["classes"][0], "name": name} for name in names]
    (finding,) = [each for each in values["findings"] if each["kind"] == "confused"]
    confused = [{**values["confused"][0], "classes": names[:2]}]
    report = filled_report(classes=classes, confused=confused, findings=[{**finding, "classes": names[:2]}])
    text = report_text(report)
    assert len(text.splitlines()) <= 60
    assert "it's 0" in text
    assert names[0] not in text.replace("\n", " ")
    assert all(name in " ".join(report_text(report, full=True).split()) for name in names)
    assert names[0] in report_page(report).replace("&#x27;", "'").replace("&#39;", "'")
