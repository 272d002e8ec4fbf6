"""The findings on objects: the main cause of disagreement, who or what stands out by test, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...agreement.statistics.main_numbers import MEASURES
from ..text.advice import Phrase, against, against_median_box, loose, stands_out, write_down
from ..text.words import shown_share
from .causes import NOTHING, Losses, cause_sentence, losses

if TYPE_CHECKING:
    from ...agreement.evidence.hypotheses import Finding
    from ...agreement.objects.report import ObjectReport


def object_findings(report: ObjectReport) -> list[str]:
    """The main cause; who and what stands out, the greatest difference first; else what the guideline should say."""
    lost = losses(report)
    found = [cause_sentence(report)]
    if lost is None or lost.total < NOTHING:
        return found
    return [*found, *stands_out(report, OBJECT_PHRASES, _cause_advice(report, lost))]


def _cause_advice(report: ObjectReport, lost: Losses) -> str:
    """Advice on what the guideline should say about the main cause."""
    advice = {
        "which objects count": lost.missed,
        "how to tell classes apart": lost.classes,
        MEASURES[report.localisation.measure].where: lost.places,
    }
    return write_down(max(advice, key=lambda text: round(advice[text], 9)))


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
