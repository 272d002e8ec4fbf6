"""Sentences that explain the numbers on existence, classes and localisation of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..text.advice import conflict_counts, merge_effect, unclear_conflicts
from ..text.words import counted, shown_number, shown_share

if TYPE_CHECKING:
    from ...agreement.objects.report import ObjectReport

#: a pair of labels with a lower similarity is loose
LOOSE = 0.7
#: small objects are mentioned if they are worse than large ones by this much IoU
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
    share = shown_share(1.0 - n_missed / n)
    head = f"{n - n_missed:,} of {counted(n, 'object')} ({share}) were drawn by everybody assigned"
    if n_lone == n_missed:
        return f"{head}, the others by one annotator alone (lone)."
    return f"{head}, {n_lone:,} ({shown_share(n_lone / n)}) by one annotator alone (lone)."


def class_sentence(report: ObjectReport) -> str:
    """Do they name a shared object alike? And what the alpha of objects says."""
    return " ".join(filter(None, [_conflict_sentence(report), object_alpha_sentence(report)]))


def _conflict_sentence(report: ObjectReport) -> str:
    given = report.class_given_match
    if not given.n_units or given.percent_agreement is None:
        return "No object was drawn by two annotators, so there are no classes to compare."
    conflicts = 1.0 - given.percent_agreement
    if conflicts < 1e-9:
        return "Whoever drew the same object gave it the same class."
    if not given.confusion:
        return f"Two labels of one object have different classes in {shown_share(conflicts)} of cases."
    total = sum(entry["n"] for entry in given.confusion) + given.n_unlisted
    confused = next((finding for finding in report.findings if finding.kind == "confused"), None)
    if confused is None:
        verb = "has" if total == 1 else "have"
        which = unclear_conflicts(report, conflict_counts(given.confusion), given.n_unlisted)
        return f"{counted(total, 'pair')} of labels of one object {verb} different classes; {which}."
    first, second = confused.classes
    effect = merge_effect(report, {first, second})
    n = round(confused.value * total)
    return f"Confused more often than by chance are {first!r} and {second!r}: {n:,} of {total:,} times{effect}."


def object_alpha_sentence(report: ObjectReport) -> str:
    """Sentence on the use of the alpha of objects, or why it is no verdict; empty if missing objects do not count."""
    if report.alpha.pooled is None or report.config["missing"] != "category":
        return ""
    given = report.class_given_match.percent_agreement
    if len(report.classes) + report.n_classes_unlisted < 2:
        alone = "With one class"
    elif given is None or given > 1.0 - 1e-9:
        alone = "Without a conflict of classes"
    else:
        return "Compare the alpha of objects only between runs with equal numbers of annotators and similar classes."
    why = "only says who drew what, and rises with the number of annotators: it is no verdict"
    return f"{alone} the alpha of objects {why}."


def localisation_sentence(report: ObjectReport) -> str:
    """Do they draw a shared object alike?"""
    local = report.localisation
    if not local.n_pairs or local.mean_iou is None:
        return "No object was drawn by two annotators, so there is no difference in how they draw."
    if local.mean_iou > 1.0 - 1e-9:
        return "Whoever drew the same object drew it at exactly the same place."
    told = []
    if local.median_iou is not None:
        told.append(f"half of the pairs of labels have {shown_number(local.median_iou)} or more")
    loose = share_below(local.iou_histogram, LOOSE)
    if loose:
        told.append(f"{shown_share(loose)} have less than {LOOSE:g}")
    sizes = {entry.size: entry for entry in report.sizes}
    small, large = (getattr(sizes.get(name), "mean_iou", None) for name in ("small", "large"))
    if small is not None and large is not None and large - small > _WORSE_IOU:
        told.append(f"small objects do worse ({shown_number(small)}) than large ones ({shown_number(large)})")
    text = "; ".join(told)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def share_below(histogram: list[int], limit: float) -> float | None:
    """The share of values below a limit, which must be an edge of a bin; None without values."""
    n = sum(histogram)
    return sum(histogram[: round(limit * len(histogram))]) / n if n else None
