"""The report on tags."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from ..config import AgreementConfig
from ..report import (
    AgreementReport,
    AlphaSummary,
    Each,
    Interval,
    ReportContext,
    ScoreSummary,
    mean_defined,
    number,
)
from .compute import VERDICTS
from .intervals import with_intervals
from .records import TagRecords
from .statistics import TagStatistics, summarise_tags


@dataclass(frozen=True, slots=True)
class TagPairSummary:
    """Agreement of two annotators on the samples that both were assigned to.

    ``score`` is the mean Jaccard index of their tags, ``same_tags`` the share of samples with exactly the same.
    """

    a: str
    b: str
    n_samples: int
    score: float
    same_tags: float
    intervals: dict[str, Interval] = dataclasses.field(default_factory=dict)

    parts: ClassVar[dict[str, Any]] = {"intervals": Each(Interval)}


@dataclass(frozen=True, slots=True)
class TaggerSummary:
    """What one annotator did.

    ``n_objects`` counts tags, ``n_missed`` those of two others that they did not give; ``score`` is the mean Jaccard
    index of their tags with those of another annotator; ``verdicts`` counts their tags on samples that others were
    assigned to.
    """

    name: str
    n_assigned: int
    n_gave_nothing: int
    n_not_assigned: int
    n_objects: int
    n_missed: int
    score: float | None
    verdicts: dict[str, int]
    classes: dict[str, int]
    intervals: dict[str, Interval] = dataclasses.field(default_factory=dict)

    parts: ClassVar[dict[str, Any]] = {"intervals": Each(Interval)}


@dataclass(frozen=True, slots=True)
class TagSummary:
    """Agreement on one tag: on ``n_samples`` rated samples anybody gave it, on ``n_agreed`` everybody.

    ``votes`` counts the annotators who gave it, ``share`` are these of the annotators who could have, on samples on
    which anybody did. ``alpha`` is Krippendorff's (nominal) of given or not given.
    """

    tag: str
    n_samples: int
    n_agreed: int
    votes: int
    share: float
    alpha: float | None
    intervals: dict[str, Interval] = dataclasses.field(default_factory=dict)

    parts: ClassVar[dict[str, Any]] = {"intervals": Each(Interval)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TagReport(AgreementReport):
    """How far annotators agree on sets of tags.

    ``alpha.pooled`` is Krippendorff's alpha of whole sets, with the distance ``set_distance``; None where there are
    more different sets than can be compared (``too_many_sets``). ``alpha.percent_agreement`` is the mean share of
    pairs of annotators with exactly the same tags.
    """

    family: ClassVar[str] = "tags"
    parts: ClassVar[dict[str, Any]] = {
        **AgreementReport.parts,
        "tags": TagSummary,
        "pairs": TagPairSummary,
        "annotators": TaggerSummary,
    }

    set_distance: str
    too_many_sets: bool
    n_disputed: int
    tags: list[TagSummary]
    pairs: list[TagPairSummary]
    annotators: list[TaggerSummary]


def build_tag_report(records: TagRecords, context: ReportContext) -> TagReport:
    """The report on samples."""
    config, annotators, tag_names = context.config, context.annotators, context.class_names
    parts = (summarise_tags(agreement, records.n_annotators, config.set_distance) for agreement in records.agreements())
    statistics = functools.reduce(operator.add, parts)
    score, n_rated = statistics.score, statistics.n_rated
    report = TagReport(
        run_key=config.run_key,
        config=config.to_dict(),
        label_types=list(context.label_types),
        n_samples=len(score),
        n_rated=n_rated,
        n_units=n_rated,
        n_objects=statistics.n_given,
        n_disputed=statistics.n_disputed,
        score=ScoreSummary(*mean_defined(score)),
        alpha=AlphaSummary(
            pooled=number(_alpha(statistics, config)),
            mean=None,
            n_defined=0,
            undefined={"one_annotator": len(score) - n_rated},
            percent_agreement=statistics.equal / n_rated if n_rated else None,
            n_units=n_rated,
        ),
        set_distance=config.set_distance,
        too_many_sets=statistics.sets is None,
        tags=_tags(statistics, tag_names),
        pairs=_pairs(statistics, annotators),
        annotators=[_tagger(statistics, k, name, tag_names) for k, name in enumerate(annotators)],
        worst_samples=context.worst_samples,
        run=context.run,
    )
    return with_intervals(report, records, context)


def _alpha(statistics: TagStatistics, config: AgreementConfig) -> float:
    """Alpha of whole sets; without variation, what the config says."""
    if statistics.sets is None:
        return math.nan
    alpha = statistics.sets.alpha()
    return 1.0 if math.isnan(alpha) and statistics.sets.n_different and config.undefined == "one" else alpha


def _tags(statistics: TagStatistics, tag_names: Sequence[str]) -> list[TagSummary]:
    """The tags that were given on rated samples, the most frequent first."""
    counts, alpha = statistics.tags, statistics.presence.alpha()
    found = [
        TagSummary(
            tag=tag_names[code],
            n_samples=int(counts.samples[code]),
            n_agreed=int(counts.agreed[code]),
            votes=int(counts.votes[code]),
            share=int(counts.votes[code]) / int(counts.assigned[code]),
            alpha=number(alpha[code]),
        )
        for code in np.flatnonzero(counts.samples).tolist()
    ]
    return sorted(found, key=lambda entry: (-entry.n_samples, entry.tag))


def _pairs(statistics: TagStatistics, annotators: Sequence[str]) -> list[TagPairSummary]:
    return [
        TagPairSummary(
            a=annotators[a],
            b=annotators[b],
            n_samples=int(statistics.n_shared[a, b]),
            score=float(statistics.jaccard[a, b]) / int(statistics.n_shared[a, b]),
            same_tags=int(statistics.n_equal[a, b]) / int(statistics.n_shared[a, b]),
        )
        for a, b in combinations(range(len(annotators)), 2)
        if statistics.n_shared[a, b]
    ]


def _tagger(statistics: TagStatistics, k: int, name: str, tag_names: Sequence[str]) -> TaggerSummary:
    n_shared, given = int(statistics.n_shared[k].sum()), statistics.given[k]
    classes = {tag_names[code]: int(given[code]) for code in np.flatnonzero(given).tolist()}
    n_assigned = int(statistics.n_assigned[k])
    return TaggerSummary(
        name=name,
        n_assigned=n_assigned,
        n_gave_nothing=int(statistics.n_empty[k]),
        n_not_assigned=len(statistics.score) - n_assigned,
        n_objects=int(given.sum()),
        n_missed=int(statistics.n_missed[k]),
        score=float(statistics.jaccard[k].sum()) / n_shared if n_shared else None,
        verdicts={verdict: int(statistics.verdicts[k, v]) for v, verdict in enumerate(VERDICTS)},
        classes=dict(sorted(classes.items())),
    )
