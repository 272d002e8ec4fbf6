"""Why a sample is disputed, in a few words: ``7 only carol drew, 3 cat/dog``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..agreement.disputes.of_samples import Disputes, disputes_of
from .words import counted

if TYPE_CHECKING:
    from ..agreement.objects.records import ObjectRecords
    from ..agreement.ratings.compute import RatingRecords
    from ..agreement.records import Records
    from ..agreement.report import ReportContext
    from ..agreement.tags.records import TagRecords

#: annotators, or conflicts, that are named
_NAMED = 2
#: reasons that are given
_SHOWN = 3
#: names behind a value; more are only counted
_FEW = 3


def object_reasons(records: ObjectRecords, context: ReportContext) -> list[str]:
    """What the annotators disagree about on every sample, the most frequent first."""
    return [_of_objects(found) for found in disputes_of(records, context)]


def _of_objects(found: Disputes) -> str:
    parts = [*_lone(found.lone), *_missed(found), *_conflicts(found.classes)]
    if found.n_attributes:
        parts.append((found.n_attributes, f"{found.n_attributes:,} with different attributes"))
    parts.sort(key=lambda part: -part[0])
    more = sum(n for n, _ in parts[_SHOWN:])
    return ", ".join([*(text for _, text in parts[:_SHOWN]), *([f"{more:,} more"] if more else [])])


def _lone(lone: Counter[str]) -> list[tuple[int, str]]:
    if len(lone) > _NAMED:
        n = lone.total()
        return [(n, f"{n:,} one annotator alone drew")]
    return [(n, f"{n:,} only {name} drew") for name, n in sorted(lone.items())]


def _missed(found: Disputes) -> list[tuple[int, str]]:
    n = found.n_missed
    if n and len(found.missed) <= _NAMED and found.missed.total() == n:
        return [(k, f"{k:,} missed by {name}") for name, k in sorted(found.missed.items())]
    return [(n, f"{n:,} not drawn by everybody")] if n else []


def _conflicts(classes: Counter[tuple[str, ...]]) -> list[tuple[int, str]]:
    ordered = sorted(classes.items(), key=lambda item: (-item[1], item[0]))
    named = [(n, f"{n:,} {'/'.join(names)}") for names, n in ordered[:_NAMED]]
    others = sum(n for _, n in ordered[_NAMED:])
    return [*named, *([(others, f"{others:,} other class conflicts")] if others else [])]


def rating_reasons(records: RatingRecords, context: ReportContext) -> list[str]:
    """What the annotators said of every sample."""
    of_classes = records.column("ratings").dtype.kind != "f"
    return [_who_said_what(row, context, of_classes=of_classes) for row in records.ratings]


def _who_said_what(ratings: Any, context: ReportContext, *, of_classes: bool) -> str:
    said: dict[str, list[str]] = {}
    for name, value in zip(context.annotators, ratings.tolist(), strict=True):
        if not np.isnan(value):
            said.setdefault(context.class_names[int(value)] if of_classes else f"{value:g}", []).append(name)
    return _values(said.items())


def tag_reasons(records: TagRecords, context: ReportContext) -> list[str]:
    """The tags of every sample that not everybody gave, and who gave them."""
    batch = records.agreement()
    given: list[dict[str, list[str]]] = [{} for _ in range(records.n_samples)]
    sets = batch.sets
    for sample, annotator, tag in zip(
        sets.unit[sets.row].tolist(), batch.annotator[sets.row].tolist(), sets.tag.tolist(), strict=True
    ):
        given[sample].setdefault(context.class_names[tag], []).append(context.annotators[annotator])
    asked = records.assigned.sum(axis=1).tolist()
    return [
        _values((tag, who) for tag, who in tags.items() if len(who) < n) for tags, n in zip(given, asked, strict=True)
    ]


def _values(said: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Values, each with who gave it, the most frequent first: ``cat (alice, bob), dog (carol)``."""
    ordered = sorted(said, key=lambda item: (-len(item[1]), item[0]))
    return ", ".join(f"{value} ({', '.join(who) if len(who) <= _FEW else len(who)})" for value, who in ordered)


def class_reasons(records: Records, context: ReportContext) -> list[str]:
    """How many of the classes on every sample differ."""
    values = records.sample_values()
    counts = zip(values.n_disputed.tolist(), values.n_units.tolist(), strict=True)
    return [f"{n:,} of {counted(n_units, 'class', 'classes')} differ" for n, n_units in counts]
