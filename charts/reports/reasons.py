"""Reasons for the dispute on a sample in a few words: ``7 lone (carol), 3 dog called cat (bob)``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...agreement.disputes.costs import Disputes, disputes_of
from ...agreement.evidence.ranking import natural_key
from ...agreement.pixels.compute import MaskValues
from ..text.words import counted, shortened, shown_number, shown_share

if TYPE_CHECKING:
    from ...agreement.objects.records import ObjectRecords
    from ...agreement.pixels.records import PixelRecords
    from ...agreement.ratings.compute import RatingRecords
    from ...agreement.statistics.report import ReportContext
    from ...agreement.tags.compute import TagRecords

#: annotators, conflicts, or classes that are named; characters of a name
_NAMED, _LONGEST = 2, 24
#: reasons that are given
_SHOWN = 3
#: names behind a value; more are only counted
_FEW = 3


def object_reasons(records: ObjectRecords, context: ReportContext) -> list[str]:
    """Reasons for the dispute on every sample, the most frequent first."""
    reasons = []
    for found in disputes_of(records, context):
        left_out = (("lone", found.lone, found.lone.total()), ("missed", found.missed, found.n_missed))
        parts = [(n, f"{n:,} {what} ({_who(who, n)})") for what, who, n in left_out if n]
        parts += _conflicts(found)
        if found.n_attributes:
            parts.append((found.n_attributes, f"{found.n_attributes:,} with different attributes"))
        parts.sort(key=lambda part: -part[0])
        mean = shown_number(found.drawn_iou, 2)
        drawn = [] if found.drawn_iou is None else [f"drawn differently (mean {context.measure} {mean})"]
        more = sum(n for n, _ in parts[_SHOWN:])
        texts = [*drawn, *(text for _, text in parts[:_SHOWN]), *([f"{more:,} more"] if more else [])]
        reasons.append(", ".join(texts))
    return reasons


def _who(names: Counter[str], n: int) -> str:
    """Those who are behind ``n`` objects, the most frequent first: ``carol``, or ``carol 5, bob 2, others``."""
    ordered = sorted(names.items(), key=lambda item: (-item[1], natural_key(item[0])))
    if [times for _, times in ordered] == [n]:
        return shortened(ordered[0][0], _LONGEST)
    named = [f"{shortened(name, _LONGEST)} {times:,}" for name, times in ordered[:_NAMED]]
    return ", ".join([*named, *(["others"] if len(ordered) > _NAMED else [])])


def _conflicts(found: Disputes) -> list[tuple[int, str]]:
    """Class conflicts as counted phrases: an own class for the majority's, by annotator; else the classes that met."""
    kinds: dict[str, Counter[str]] = {}
    for (name, own, most), n in found.other_classes.items():
        kinds.setdefault(f"{most} called {own}", Counter())[name] += n
    parts = [(who.total(), f"{who.total():,} {what} ({_who(who, who.total())})") for what, who in kinds.items()]
    parts += [(n, f"{n:,} called {' or '.join(names)}") for names, n in found.classes.items()]
    parts.sort(key=lambda part: (-part[0], part[1]))
    others = sum(n for n, _ in parts[_NAMED:])
    return [*parts[:_NAMED], *([(others, f"{others:,} other class conflicts")] if others else [])]


def rating_reasons(records: RatingRecords, context: ReportContext) -> list[str]:
    """Ratings of every sample, each with those who gave it."""
    of_classes = records.column("ratings").dtype.kind != "f"
    reasons = []
    for row in records.ratings:
        said: dict[str, list[str]] = {}
        for name, value in zip(context.annotators, row.tolist(), strict=True):
            if not np.isnan(value):
                said.setdefault(context.class_names[int(value)] if of_classes else f"{value:g}", []).append(name)
        reasons.append(_values(said.items()))
    return reasons


def tag_reasons(records: TagRecords, context: ReportContext) -> list[str]:
    """The tags of every sample that not everybody gave, and who gave them."""
    given: list[dict[str, list[str]]] = [{} for _ in range(records.n_samples)]
    for sample, annotator, tag in zip(*(column.tolist() for column in records.labels()), strict=True):
        given[sample].setdefault(context.class_names[tag], []).append(context.annotators[annotator])
    asked = records.assigned.sum(axis=1).tolist()
    return [
        _values((tag, who) for tag, who in tags.items() if len(who) < n) for tags, n in zip(given, asked, strict=True)
    ]


def _values(said: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Values, each with who gave it, the most frequent first: ``cat (alice, bob), dog (carol)``."""
    ordered = sorted(said, key=lambda item: (-len(item[1]), item[0]))
    shown = [
        f"{value} ({', '.join(shortened(name, _LONGEST) for name in who) if len(who) <= _FEW else len(who)})"
        for value, who in ordered[:_FEW]
    ]
    return ", ".join([*shown, *([f"{len(ordered) - _FEW} more"] if len(ordered) > _FEW else [])])


def class_reasons(records: PixelRecords, context: ReportContext) -> list[str]:
    """The classes on which the masks of every sample agree least, and whose area is farthest from the others'."""
    meaning, is_rgb = MaskValues.from_dict(context.details), bool(context.details["is_rgb"])
    found = []
    for agreement in records.agreements(meaning.background, context.config):
        differs = (agreement.class_iou < 1.0) & (agreement.values != meaning.background)
        for k, n_pixels in enumerate(agreement.n_pixels.tolist()):
            rows = np.flatnonzero((agreement.sample == k) & differs)
            rows = rows[np.argsort(agreement.class_iou[rows], kind="stable")]
            asked = np.flatnonzero(agreement.assigned[k])
            names = [context.annotators[r] for r in asked.tolist()]
            named = [
                f"{shortened(meaning.name(int(agreement.values[row]), is_rgb=is_rgb), _LONGEST)}: IoU "
                f"{shown_number(float(agreement.class_iou[row]), 2)} "
                f"({_areas((agreement.area[row, asked] / max(n_pixels, 1)).tolist(), names)})"
                for row in rows[:_NAMED].tolist()
            ]
            n_more = len(rows) - len(named)
            found.append("; ".join([*named, *([f"{counted(n_more, 'more class', 'more classes')}"] if n_more else [])]))
    return found


def _areas(shares: Sequence[float], names: Sequence[str]) -> str:
    """Whose area of a class is farthest from the median, in per cent of the image; of two annotators both."""
    named = [f"{shortened(name, _LONGEST)} {shown_share(share)}" for name, share in zip(names, shares, strict=True)]
    if len(names) <= 2:
        return f"area {', '.join(named)}"
    median = float(np.median(shares))
    return f"area {named[int(np.argmax(np.abs(np.subtract(shares, median)).round(9)))]}, median {shown_share(median)}"
