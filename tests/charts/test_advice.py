"""What the report advises: to talk to who stands apart by test, or to write a rule into the guideline."""

from __future__ import annotations

from typing import Any

import pytest

from tests.charts.filled import filled_report, filled_values
from tests.charts.other_families import OTHERS

from annotator_agreement.charts.objects import OBJECT_PHRASES, object_findings
from annotator_agreement.charts.reports import family_of
from annotator_agreement.charts.text import OF_TWO, whom_to_talk_to


def _finding(kind: str, *annotators: str, classes: tuple[str, ...] = (), **changes: Any) -> dict[str, Any]:
    return {
        "kind": kind, "annotators": list(annotators), "classes": list(classes), "size": None, "value": 0.632,
        "others": 0.045, "difference": 0.587, "low": 0.501, "high": 0.673, "p_value": 1e-6, "n_labels": 90,
        "n_images": 30, **changes,
    }  # fmt: skip


AGAINST = "(the others 4.5 %, +58.7 points [50.1, 67.3])"


#: a finding, and what is said of it
SAID = [
    (_finding("misses", "bob"), f"bob misses 63.2 % of what two others drew {AGAINST}: talk to bob."),
    (_finding("misses_size", "bob", size="small"), f"bob misses 63.2 % of small objects {AGAINST}: talk to bob."),
    (_finding("misses_class", "bob", classes=("bus",)), f"misses 63.2 % of objects 'bus' {AGAINST}: talk to bob."),
    (_finding("lone", "bob"), f"bob has 63.2 % lone labels {AGAINST}: talk to bob."),
    (_finding("twice", "bob"), f"bob drew 63.2 % of their labels twice {AGAINST}: talk to bob."),
    (_finding("conflicts", "alice"), "alice differs in class in 63.2 % of pairs with another annotator (others among "
     "themselves 4.5 %, +58.7"),
    (_finding("loose", "bob", value=0.4, others=0.1, difference=0.3, low=0.2, high=0.4), "draws otherwise: mean IoU of "
     "0.600 with the others, who have 0.900 among each other (-0.300 [-0.400, -0.200]): talk to bob."),
    (_finding("box_size", "bob", value=-0.13, others=-0.01, difference=-0.12, low=-0.15, high=-0.09), "bob draws "
     "12 % smaller than the others [9, 15]: talk to bob."),
    (_finding("box_down", "bob", value=0.05, others=0.0, difference=0.05, low=0.03, high=0.07), "bob draws 5 % "
     "lower than the others [3, 7]: talk to bob."),
    (_finding("close", "alice", "bob", value=0.9, others=0.6, difference=0.3, low=0.2, high=0.4), "alice and bob agree "
     "more with each other (score 0.900) than with the others (0.600, +0.300 [0.200, 0.400]): look at what they "
     "share."),
    (_finding("confused", classes=("bus", "coach")), "'bus' and 'coach' are 63.2 % of the class conflicts (by chance "
     "4.5 %, +58.7 points [50.1, 67.3]); as one class they would raise alpha of objects from 0.647 to 0.689: say in "
     "the guideline how to tell 'bus' and 'coach' apart."),
    (_finding("class_missed", classes=("bus",)), "Of 'bus' 63.2 % are missed (other classes 4.5 %, +58.7 points [50.1, "
     "67.3]): say in the guideline which 'bus' count."),
    (_finding("class_conflicts", classes=("bus",)), "'bus' gets another class in 63.2 % of pairs of labels (other "
     "classes 4.5 %, +58.7 points [50.1, 67.3]): say in the guideline how to tell 'bus' apart from others."),
    (_finding("size_missed", size="small"), "Of small objects 63.2 % are missed (of other sizes 4.5 %, +58.7 points "
     "[50.1, 67.3]): say in the guideline which objects count."),
]  # fmt: skip


def test_findings_are_said_with_numbers_interval_advice_and_clearly_confused_classes() -> None:
    for finding, expected in SAID:
        (_, sentence) = object_findings(filled_report(findings=[finding], n_tested=50))
        assert expected in sentence
    finding, most = _finding("conflicts", "alice"), "most often 'bus' where most others say 'coach' (9 times)"
    (_, said) = object_findings(filled_report(findings=[finding], n_tested=50))
    assert f"[50.1, 67.3]), {most}: talk to alice." in said
    clear = filled_values()["confused"][0]
    for confused in ([], [{**clear, "is_clear": False}], [{**clear, "classes": ["bus", "tram"]}]):
        (_, said) = object_findings(filled_report(findings=[finding], n_tested=50, confused=confused))
        assert said.endswith("[50.1, 67.3]): talk to alice.")
    small = _finding("box_size", "bob", value=-0.05, others=-0.001, difference=-0.049, low=-0.06, high=-0.04)
    said = "draws 5 % smaller than the others [4, 6]"
    found = object_findings(filled_report(findings=[small], n_tested=50))
    assert found[1:] == [f"bob {said}.", "These differences are too small to act on."]
    larger = _finding("misses", "bob", difference=0.05, low=0.04, high=0.06)
    (_, both) = object_findings(filled_report(findings=[larger, small], n_tested=50))
    assert both.endswith(f"; {said}: talk to bob.")


def test_of_many_findings_every_one_is_named_once_and_whom_to_talk_to_is_said_in_short() -> None:
    findings = [
        _finding(kind, f"worker {k}", difference=0.9 - 0.1 * k)
        for k in range(7)
        for kind in ("misses", "lone", "twice")
    ]
    found = object_findings(filled_report(findings=findings, n_tested=500))
    assert len(found) == 7
    for k, sentence in enumerate(found[1:6]):
        assert sentence.startswith(f"worker {k} ")
        assert ";" not in sentence
    assert found[-1] == (
        "2 more annotators, pairs or classes stand out; all are in the table Findings (tab Annotators, "
        "print_report(full=True), to_dataframe('findings'))."
    )
    findings = [_finding("close", "a", "b", difference=0.95), _finding("confused", classes=("bus", "coach"))]
    findings += [_finding("misses", f"worker {k}", difference=0.9 - 0.1 * k) for k in range(7)]
    findings.append(_finding("loose", "worker 0", difference=0.3))
    findings.append(_finding("lone", "worker 9", difference=0.04, low=0.03, high=0.05))
    said = whom_to_talk_to(filled_report(findings=findings, n_tested=500), OBJECT_PHRASES)
    named = ", ".join(f"worker {k} (misses 63.2 % of what two others drew)" for k in range(5))
    assert said == f"Talk to {named} and 2 more."
    assert not whom_to_talk_to(filled_report(findings=findings[:2], n_tested=500), OBJECT_PHRASES)
    two = filled_values()["annotators"][:2]
    assert not whom_to_talk_to(filled_report(findings=findings, annotators=two), OBJECT_PHRASES)


def test_what_only_says_again_that_somebody_stands_out_is_not_said() -> None:
    """Of three, two agree more with each other than with the third, who is named: there is nothing they share."""
    close = _finding("close", "alice", "bob & co", value=0.9, others=0.6, difference=0.3, low=0.2, high=0.4)
    off = _finding("conflicts", "dan|d", difference=0.2)
    three = {"annotators": [*filled_values()["annotators"][:2], filled_values()["annotators"][3]]}
    pair = filled_values()["pairs"][0]
    of_three = [{**pair, "a": a, "b": b, "score": score} for a, b, score in
                (("alice", "bob & co", 0.9), ("alice", "dan|d", 0.6), ("bob & co", "dan|d", 0.6))]  # fmt: skip

    def said(findings: list[dict], pairs: list[dict], **changes: Any) -> str:
        return " ".join(object_findings(filled_report(findings=findings, n_tested=9, pairs=pairs, **changes)))

    assert "what they share" in said([close], of_three, **three)
    assert "what they share" not in said([close, off], of_three, **three)
    # of four, the two agree more with each other than with the fourth, who does not stand out
    name = filled_values()["annotators"][2]["name"]
    for score, is_said in ((0.7, True), (0.88, False)):
        fourth = [{**pair, "a": a, "b": name, "score": score} for a in ("alice", "bob & co")]
        assert ("what they share" in said([close, off], [*of_three, *fourth])) == is_said


def test_where_nobody_stands_out_that_is_no_reason_for_advice() -> None:
    found = object_findings(filled_report(findings=[], n_tested=50))
    assert found[1:] == [
        "No annotator, pair or class stands out beyond chance by any of 50 tests; small differences may be missed."
    ]
    (_, few) = object_findings(filled_report(findings=[], n_tested=0))
    assert few.startswith("There are too few labels to say who or what stands out (20 on 10 images are needed).")
    all_alike = {"n_a": 50, "n_b": 50, "n_matched": 50, "class_agreement": 1.0, "sq": 1.0, "mean_iou": 1.0}
    pairs = [{**pair, **all_alike} for pair in filled_values()["pairs"]]
    assert object_findings(filled_report(pairs=pairs, findings=[], n_tested=5)) == []
    two = filled_values()["annotators"][:2]  # of whom nobody can tell who is right
    assert object_findings(filled_report(annotators=two, findings=[], n_tested=5))[-1] == OF_TWO
    for kind in ("lone", "twice"):
        (_, said, _) = object_findings(filled_report(annotators=two, findings=[_finding(kind, "alice")], n_tested=5))
        assert "(the other 4.5 %, " in said


@pytest.mark.parametrize("family", OTHERS)
def test_every_family_says_what_was_found(family: str) -> None:
    report = OTHERS[family]()
    found = [family_of(report).outcome(report), *family_of(report).findings(report)]
    assert len(found) > 1
    assert all(sentence.endswith(".") for sentence in found)
