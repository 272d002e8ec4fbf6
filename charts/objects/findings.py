"""The findings on objects: the main cause of disagreement, who or what stands out by test, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...agreement.main_numbers import MEASURES
from ..advice import Says, against, by_share, loose, stands_out, write_down
from ..words import shown_share
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
    return [*found, *stands_out(report, OBJECT_SAYS, _of_cause(report, lost))]


def _of_cause(report: ObjectReport, lost: Losses) -> str:
    """What the guideline should say about the main cause."""
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


def _class_missed(finding: Finding, report: ObjectReport) -> tuple[str, str]:
    what = "Of {!r} {} is missed" if len(report.annotators) > 2 else "Of {!r} only one drew {}"
    return what.format(finding.classes[0], shown_share(finding.value)), against(finding, "other classes")


def _of_size(finding: Finding, report: ObjectReport) -> tuple[str, str]:
    what = "is missed" if len(report.annotators) > 2 else "only one drew"
    share = shown_share(finding.value)
    said = f"{share} {what}" if len(report.annotators) > 2 else f"{what} {share}"
    return f"Of {finding.size} objects {said}", against(finding, "of other sizes")


OBJECT_SAYS: dict[str, Says] = {
    **dict.fromkeys(("misses", "misses_size", "misses_class"), _misses),
    "lone": lambda finding, report: (f"drew {shown_share(finding.value)} of their labels alone", against(finding)),
    "twice": lambda finding, report: (f"drew {shown_share(finding.value)} of their labels twice", against(finding)),
    "loose": loose("mean {report.localisation.measure}"),
    "box_size": by_share("draws boxes {share} larger", "draws boxes {share} smaller"),
    "box_right": by_share("draws boxes {share} further right", "draws boxes {share} further left"),
    "box_down": by_share("draws boxes {share} lower", "draws boxes {share} higher"),
    "class_missed": _class_missed,
    "size_missed": _of_size,
}
