"""The findings on objects: the main cause of disagreement, who or what stands out by test, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...agreement.statistics.codes import NO_LABEL
from ..text.advice import Phrase, against, against_median_box, loose, stands_out
from ..text.words import NOT_COMPARED, listed, shown_number, shown_share

if TYPE_CHECKING:
    from ...agreement.evidence.hypotheses import Finding
    from ...agreement.objects.report import ObjectReport


#: smaller losses are rounding
NOTHING = 0.0005
#: a pair of labels with a lower similarity is loose
LOOSE = 0.7


def losses(report: ObjectReport) -> tuple[float, float, float] | None:
    """Loss of the score of all pairs together (1: full agreement) by cause: objects, classes, and how they are drawn.

    F1 counts matched objects, F1 with equal classes only those of one class, the score also their IoU. The losses from
    1 to F1 (missed objects), from there to F1 with equal classes, and from there to the score (outlines) add up to the
    total loss, 1 - score. None if no pair has a label.
    """
    n = sum(pair.n_a + pair.n_b for pair in report.pairs)
    if not n:
        return None
    matched = sum(pair.n_matched for pair in report.pairs)
    same = [(pair.class_agreement or 0.0) * pair.n_matched for pair in report.pairs]
    iou = sum(count * (pair.sq or 0.0) for count, pair in zip(same, report.pairs, strict=True))
    f1, rq, pq = 2.0 * matched / n, 2.0 * sum(same) / n, 2.0 * iou / n
    return 1.0 - f1, f1 - rq, rq - pq


def object_outcome(report: ObjectReport) -> str:
    """What annotators have in common: objects, classes and places, in words and numbers."""
    lost, f1, same = losses(report), report.existence.f1, report.class_given_match.percent_agreement
    if lost is None or f1 is None:
        return NOT_COMPARED
    meet = {name for pair in report.pairs for name in (pair.a, pair.b)}
    who = "annotators" if len(meet) >= len(report.annotators) else "annotators who share images"
    if sum(lost) < NOTHING:
        has_classes = any(name != NO_LABEL for entry in report.annotators for name in entry.classes)
        return f"The {who} agree: they drew the same objects, in the same places" + (
            ", with the same classes." if has_classes else "."
        )
    if same is None:
        return f"No object was drawn by two annotators (F1 {shown_number(f1)})."
    said = [f"Two annotators draw the same object in {shown_share(f1)} of their labels (F1 {shown_number(f1)})"]
    if f1 > 1.0 - 1e-9:
        said = [f"All {who} draw the same objects"]
    if same < 1.0 - 1e-9:
        said.append(f"give it the same class in {shown_share(same)} of cases")
    elif len(report.classes) + report.n_classes_unlisted > 1:
        said.append("give it the same class")
    iou, measure = report.localisation.mean_iou, report.localisation.measure
    if iou is not None and iou > 1.0 - 1e-9:
        said.append("draw it at exactly the same place")
    elif iou is not None:
        loosely = "loosely, " if iou < LOOSE else ""
        said.append(f"draw it {loosely}with a mean {measure} of {shown_number(iou)}")
    return f"{', '.join(said[:-1])}, and {said[-1]}." if len(said) > 2 else f"{' and '.join(said)}."


def cause_sentence(report: ObjectReport) -> str:
    """The share of every cause in what the score loses, as a sentence; empty if it loses nothing."""
    lost = losses(report)
    if lost is None or sum(lost) < NOTHING:
        return ""
    missed = "missed objects" if len(report.annotators) > 2 else "lone objects (only one of the two drew them)"
    named = dict(zip((missed, "different classes", "how objects are drawn"), lost, strict=True))
    ordered = sorted(named, key=lambda name: -round(named[name], 9))
    shares = {name: round(100.0 * named[name] / sum(lost)) for name in ordered}
    largest, *others = [name for name in ordered if shares[name]]
    if not others:
        return f"All that the score loses is about {largest}."
    rest = [f"{shares[name]} % about {name}" for name in others]
    return f"Of what the score loses, {listed([f'{shares[largest]} % is about {largest}', *rest])}."


def object_findings(report: ObjectReport) -> list[str]:
    """The main cause; who and what stands out, the greatest difference first."""
    cause = cause_sentence(report)
    return [cause, *stands_out(report, OBJECT_PHRASES)] if cause else []


def _misses(finding: Finding, report: ObjectReport) -> tuple[str, str]:
    what = f"{finding.size} objects" if finding.size else "what two others drew"
    if finding.classes:
        what = f"objects {finding.classes[0]!r}"
    return f"misses {shown_share(finding.value)} of {what}", against(finding)


def _left_out(finding: Finding, report: ObjectReport) -> str:
    """The share that is missed; of two annotators, the share that is lone."""
    return f"{shown_share(finding.value)} are {'missed' if len(report.annotators) > 2 else 'lone'}"


OBJECT_PHRASES: dict[str, Phrase] = {
    **dict.fromkeys(("misses", "misses_size", "misses_class"), _misses),
    "lone": lambda finding, report: (f"has {shown_share(finding.value)} lone labels", against(finding)),
    "twice": lambda finding, report: (f"drew {shown_share(finding.value)} of their labels twice", against(finding)),
    "loose": loose("mean {report.localisation.measure}"),
    "box_size": against_median_box("larger", "smaller"),
    "box_right": against_median_box("further right", "further left"),
    "box_down": against_median_box("lower", "higher"),
    "class_missed": lambda finding, report: (
        f"Of {finding.classes[0]!r} {_left_out(finding, report)}",
        against(finding, "other classes"),
    ),
    "size_missed": lambda finding, report: (
        f"Of {finding.size} objects {_left_out(finding, report)}",
        against(finding, "of other sizes"),
    ),
}
