"""One sentence for each of the three questions, which explains its numbers and gives advice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...agreement.main_numbers import MEASURES
from ..words import counted, shown_number, shown_share

if TYPE_CHECKING:
    from ...agreement.objects.report import ObjectReport, SizeSummary

#: larger shares of missed objects, class conflicts or loose outlines need a rule in the guideline
_MANY_MISSED = 0.1
_MANY_CONFLICTS = 0.05
_MANY_LOOSE = 0.2
#: a pair of labels with a lower similarity is loose
_LOOSE = 0.7
#: small objects are mentioned if they are worse than large ones by this factor, or by this much IoU
_WORSE_FACTOR = 2.0
_WORSE_IOU = 0.05


def existence_sentence(report: ObjectReport) -> str:
    """Do they see the same objects?"""
    votes = [entry for entry in report.existence.votes if entry["assigned"] >= 2 and entry["votes"] >= 1]
    n = sum(entry["units"] for entry in votes)
    n_missed = sum(entry["units"] for entry in votes if entry["votes"] < entry["assigned"])
    n_lone = sum(entry["units"] for entry in votes if entry["votes"] == 1)
    if not n:
        return "Nobody drew anything where two annotators were assigned, so there was nothing to miss."
    if not n_missed:
        what = "the only object was" if n == 1 else f"all {n:,} objects were"
        return f"Nothing was missed: {what} drawn by everybody assigned."
    head = f"{shown_share(n_missed / n)} of {counted(n, 'object')} were not drawn by everybody assigned"
    if n_lone == n_missed:
        head += ", but by one annotator alone"
    elif n_lone:
        head += f", {shown_share(n_lone / n)} by one annotator alone"
    return f"{head}{_missed_where(report)}{_advice(n_missed / n > _MANY_MISSED, 'which objects count')}."


def _missed_where(report: ObjectReport) -> str:
    """The annotator, or the size, with most of the missed objects, if any stands out."""
    n_missed = sum(entry.n_missed for entry in report.annotators)
    worst = max(report.annotators, key=lambda entry: entry.n_missed, default=None)
    if worst is not None and len(report.annotators) > 2 and 2 * worst.n_missed > n_missed:
        return f"; of {counted(n_missed, 'miss', 'misses')} of objects of two others, {worst.name} has {worst.n_missed}"
    sizes = _sizes(report)
    small, large = (getattr(sizes.get(name), "miss_rate", None) for name in ("small", "large"))
    if small is not None and large is not None and small > _WORSE_FACTOR * large:
        return f"; small ones are missed more often ({shown_share(small)}) than large ones ({shown_share(large)})"
    return ""


def class_sentence(report: ObjectReport) -> str:
    """Do they name a shared object alike?"""
    given = report.class_given_match
    if not given.n_units or given.percent_agreement is None:
        return "No object was drawn by two annotators, so there are no classes to compare."
    conflicts = 1.0 - given.percent_agreement
    if conflicts < 1e-9:
        return "Whoever drew the same object gave it the same class."
    head = f"Two annotators who drew the same object give it different classes in {shown_share(conflicts)} of the cases"
    if given.confusion:
        first = given.confusion[0]
        total = sum(entry["n"] for entry in given.confusion) + given.n_unlisted
        head += f", most often {first['a']!r} and {first['b']!r} ({first['n']:,} of {total:,} times)"
        head += _merge_effect(report, {first["a"], first["b"]})
    return f"{head}{_advice(conflicts > _MANY_CONFLICTS, 'how to tell them apart')}."


def _merge_effect(report: ObjectReport, classes: set[str]) -> str:
    for merge in report.merges:
        before, after = merge.alpha_before, merge.alpha_after
        if set(merge.classes) == classes and before is not None and after is not None:
            verb = "raise" if after > before else "lower"
            if shown_number(before) != shown_number(after):
                return f"; as one class they would {verb} alpha from {shown_number(before)} to {shown_number(after)}"
    return ""


def localisation_sentence(report: ObjectReport) -> str:
    """Do they draw a shared object alike?"""
    local = report.localisation
    if not local.n_pairs or local.mean_iou is None:
        return "No object was drawn by two annotators, so there is no difference in how they draw."
    if local.mean_iou > 1.0 - 1e-9:
        return "Whoever drew the same object drew it at exactly the same place."
    head = f"Two labels of one object have a mean {local.measure} of {shown_number(local.mean_iou)} (1: identical)"
    if local.median_iou is not None:
        head += f", half of them {shown_number(local.median_iou)} or more"
    loose = share_below(local.iou_histogram, _LOOSE)
    if loose:
        head += f"; {shown_share(loose)} are below {_LOOSE:g}"
    sizes = _sizes(report)
    small, large = (getattr(sizes.get(name), "mean_iou", None) for name in ("small", "large"))
    if small is not None and large is not None and large - small > _WORSE_IOU:
        head += f"; small objects do worse ({shown_number(small)}) than large ones ({shown_number(large)})"
    return f"{head}{_advice(loose is not None and loose > _MANY_LOOSE, MEASURES[local.measure].where)}."


def share_below(histogram: list[int], limit: float) -> float | None:
    """The share of values below a limit, which must be an edge of a bin; None without values."""
    n = sum(histogram)
    return sum(histogram[: round(limit * len(histogram))]) / n if n else None


def _sizes(report: ObjectReport) -> Mapping[str, SizeSummary]:
    return {entry.size: entry for entry in report.sizes}


def _advice(needed: bool, what: str) -> str:
    return f" – say in the guideline {what}" if needed else ""
