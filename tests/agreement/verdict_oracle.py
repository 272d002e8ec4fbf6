"""Expected verdict of every label, computed with loops over the labels of a sample and areas from shapely."""

from __future__ import annotations

from collections.abc import Sequence

import shapely

from tests.agreement.agreement_oracle import Sample, units_of, verdict_of

from annotator_agreement.agreement.matching.tables import Tables

TOLERANCE = 1e-9


def object_verdicts(samples: Sequence[Sample], agreement: Tables, threshold: float) -> list[str | None]:
    """The verdicts of all labels by sample, annotator and place in the list."""
    units = units_of(samples, agreement)
    numbers = iter(agreement.matching.unit.tolist())
    found: list[str | None] = []
    for sample in samples:
        labels = [Label(r, label, next(numbers)) for r in sorted(sample) for label in sample[r]]
        for label in labels:
            label.verdict = verdict_of(units[label.unit], sample)
        found += [_verdict(k, labels, threshold) for k in range(len(labels))]
    return found


class Label:
    """A label of a sample."""

    def __init__(self, annotator: int, label: tuple, unit: int) -> None:
        self.annotator, self.category, self.unit = annotator, label[0], unit
        self.box = shapely.box(*label[1:])
        self.verdict: str | None = None

    def includes(self, other: Label) -> bool:
        """Whether another label is smaller, and lies in this one by seven tenths."""
        if other.box.area >= (1 - TOLERANCE) * self.box.area:
            return False
        return self.box.intersection(other.box).area >= (0.7 - TOLERANCE) * other.box.area


def _iou(a: shapely.Geometry, b: shapely.Geometry) -> float:
    return a.intersection(b).area / a.union(b).area


def _verdict(k: int, labels: list[Label], threshold: float) -> str | None:
    own = labels[k]
    if own.verdict == "lone" and any(
        other.annotator == own.annotator
        and other.category == own.category
        and _iou(own.box, other.box) >= 0.9 - TOLERANCE
        and (other.verdict != "lone" or n < k)
        for n, other in enumerate(labels)
        if n != k
    ):
        return "duplicate"
    if own.verdict in ("lone", "missed") and any(
        k in split for whole in range(len(labels)) for split in _splits(whole, labels, threshold)
    ):
        return "split"
    return own.verdict


def _splits(whole: int, labels: list[Label], threshold: float) -> list[list[int]]:
    """Every set of parts of a label, with the label itself."""
    found = []
    for annotator in {label.annotator for label in labels} - {labels[whole].annotator}:
        inside = [k for k, label in enumerate(labels) if label.annotator == annotator and labels[whole].includes(label)]
        parts = [k for k in inside if not any(_repeats(labels, k, n) for n in inside if n != k)]
        union = shapely.union_all([labels[k].box for k in parts])
        if len(parts) >= 2 and _iou(union, labels[whole].box) >= threshold - TOLERANCE:
            found.append([whole, *parts])
    return found


def _repeats(labels: list[Label], k: int, n: int) -> bool:
    """Whether a label lies in a larger one; or in an earlier one of the same area."""
    own, other = labels[k].box, labels[n].box
    if abs(own.area - other.area) <= TOLERANCE * max(own.area, other.area):
        return n < k and own.intersection(other).area >= (0.7 - TOLERANCE) * min(own.area, other.area)
    return labels[n].includes(labels[k])
