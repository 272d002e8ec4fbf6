"""Sections of the report on objects: the numbers over the matching threshold."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from ...agreement.evidence.ranking import MIN_IMAGES
from ..text.sections import Section
from ..text.tables import Column, table
from ..text.words import counted, listed, shown_number

if TYPE_CHECKING:
    from ...agreement.objects.report import ObjectReport, ThresholdPoint

#: the hint compares thresholds up to this distance from the run's
_AROUND = 0.1
#: smaller changes of alpha do not count as dependence on the threshold
_STILL = 0.02
#: a larger fall of alpha is mentioned
_FALL = 0.1
#: closer thresholds count as equal
_CLOSE = 0.05
#: fewer similarities suggest nothing
_FEW_VALUES = 30
#: with a smaller separation (Kolmogorov-Smirnov distance), the threshold hardly tells same from different objects
_TOLD_APART = 0.2
#: thresholds of two halves of the images that differ by more confirm none
_ALIKE = 0.1
#: why the data suggest no threshold
_REASONS = {
    "too_few_values": "there are too few objects to compare",
    "no_variation": "all objects are equally similar, either on one image or across images",
    "no_crossing": "no threshold separates labels of the same object from labels of different objects",
}


def alpha_by_threshold(report: ObjectReport) -> list[str]:
    """The dependence of alpha on the threshold."""
    own = float(report.config["iou"])
    near = [
        entry for entry in report.thresholds if entry.alpha is not None and abs(entry.threshold - own) <= _AROUND + 1e-9
    ]
    if len(near) < 2:
        return []
    low, high = near[0], near[-1]
    alphas = [entry.alpha for entry in near if entry.alpha is not None]
    spread = max(alphas) - min(alphas)
    verdict = "hardly depends" if spread < _STILL else "depends"
    return [
        f"Alpha of objects {verdict} on the threshold of {own:g}: at {low.threshold:g} it is "
        f"{shown_number(low.alpha)}, at {high.threshold:g} {shown_number(high.alpha)}{_where_it_falls(report, high)}."
    ]


def _where_it_falls(report: ObjectReport, last: ThresholdPoint) -> str:
    """The first higher threshold at which alpha is clearly lower."""
    if last.alpha is None:
        return ""
    for entry in report.thresholds:
        if entry.threshold > last.threshold and entry.alpha is not None and entry.alpha < last.alpha - _FALL:
            return f", but at {entry.threshold:g} {shown_number(entry.alpha)}"
    return ""


def suggested_threshold(report: ObjectReport) -> list[str]:
    """The threshold that the data suggest, if two halves of the images confirm it; nothing if they are too few."""
    found = report.data_threshold
    if found is None or found.n_observed < _FEW_VALUES or found.n_samples < MIN_IMAGES:
        return []
    if found.threshold is None:
        return [f"The data suggest no threshold: {_REASONS.get(found.reason or '', found.reason)}."]
    if found.ks is None or found.ks < _TOLD_APART:
        reason = f"the best one, {found.threshold:.2f}, hardly tells the same object from different ones"
        return [f"The data suggest no threshold: {reason}."]
    halves = [f"{half:.2f}" if half is not None else "none" for half in found.halves]
    known = [half for half in (found.threshold, *found.halves) if half is not None]
    if len(known) < 3 or max(known) - min(known) > _ALIKE:
        of_halves = f": {listed(halves)} on two halves of the images" if halves else ""
        return [f"The data suggest no threshold: {found.threshold:.2f} is not confirmed{of_halves}."]
    confirmed = f" ({listed(halves)} on two halves of the images)"
    return [f"The data suggest {found.threshold:.2f}{confirmed}{_beside_own(report, found.threshold)}."]


def _beside_own(report: ObjectReport, suggested: float) -> str:
    """The suggested threshold compared with the threshold of the run, if any."""
    own = float(report.config["iou"])
    if report.config["method"] == "mutual_best":
        return "; this run matches without one"
    if report.config.get("iou_from_data"):
        return f", and this run used {own:g}"
    place = "close to" if abs(suggested - own) <= _CLOSE + 1e-9 else "below" if suggested < own else "above"
    return f", {place} the {own:g} of this run"


def threshold_section(report: ObjectReport) -> list[Section]:
    """Section on alpha as a function of the threshold."""
    sentences = alpha_by_threshold(report)
    return [Section("The threshold", sentences, figures=("thresholds",))] if sentences else []


def threshold_details(report: ObjectReport) -> list[Section]:
    """All thresholds, and the histogram behind the suggested one."""
    sections = []
    if report.thresholds:
        own = float(report.config["iou"])
        columns = [
            Column("threshold", "threshold", functools.partial(shown_number, digits=2)),
            Column("alpha", "alpha", shown_number),
            Column("score", "score", shown_number),
            Column("F1", "f1", shown_number),
            *(Column("objects", "n_units"), Column("entangled groups", "n_hard")),
            Column("too large to solve", "n_inexact"),
            Column("", lambda entry: "this run" if abs(entry.threshold - own) < 1e-9 else ""),
        ]
        sections.append(Section("Thresholds side by side", [table(columns, report.thresholds)]))
    found = report.data_threshold
    if found is not None and found.observed:
        n = len(found.observed)
        columns = [
            Column(report.localisation.measure, lambda bin: f"{bin[0] / n:.2f} – {(bin[0] + 1) / n:.2f}"),
            *(Column("same image", lambda bin: bin[1]), Column("other image", lambda bin: bin[2])),
        ]
        bins = zip(range(n), found.observed, found.expected, strict=True)
        text = (
            f"Best similarity of an object with another annotator's objects on {counted(found.n_samples, 'image')}, "
            "and on a different image; at the threshold both are equally likely."
        )
        sections.append(
            Section("The threshold from the data", [*suggested_threshold(report), text, table(columns, bins)])
        )
    return sections
