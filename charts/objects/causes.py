"""Causes of disagreement on objects: missed objects, different classes and loose outlines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..words import listed, shown_number

if TYPE_CHECKING:
    from ...agreement.objects.report import ObjectReport

#: a smaller loss is rounding
_NOTHING = 0.0005


@dataclass(frozen=True, slots=True)
class Losses:
    """How much each cause lowers the panoptic quality of all pairs together, from 1.

    F1 counts objects that both drew, RQ those of one class, PQ adds up their IoU: what is lost from 1 to F1, to RQ and
    to PQ adds up to all that is lost.
    """

    missed: float
    classes: float
    places: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.missed + self.classes + self.places


def losses(report: ObjectReport) -> Losses | None:
    """The loss by cause; None where no pair has a label."""
    n = sum(pair.n_a + pair.n_b for pair in report.pairs)
    if not n:
        return None
    matched = sum(pair.n_matched for pair in report.pairs)
    same = [(pair.class_agreement or 0.0) * pair.n_matched for pair in report.pairs]
    iou = sum(count * (pair.sq or 0.0) for count, pair in zip(same, report.pairs, strict=True))
    f1, rq, pq = 2.0 * matched / n, 2.0 * sum(same) / n, 2.0 * iou / n
    return Losses(1.0 - f1, f1 - rq, rq - pq)


def cause_sentence(report: ObjectReport) -> str:
    """Which cause explains most of the disagreement."""
    lost = losses(report)
    if lost is None:
        return "There is no label of two annotators to compare, so there is no disagreement either."
    if lost.total < _NOTHING:
        return "The annotators agree: they drew the same objects, at the same places, and named them alike."
    named = {
        "missed objects": lost.missed,
        "different classes": lost.classes,
        "differences in how an object is drawn": lost.places,
    }
    ordered = sorted(named, key=lambda name: -round(named[name], 9))
    largest = ordered[0]
    head = "Disagreement has several causes"
    if named[largest] > 0.5 * lost.total:
        head = f"Most disagreement is about {largest}"
    shares = [f"{100.0 * named[name] / lost.total:.0f} % is {name}" for name in ordered]
    return (
        f"{head}: of all disagreement, {listed(shares)}. The panoptic quality of all pairs together is "
        f"{shown_number(1.0 - lost.total)} (1: full agreement)."
    )
