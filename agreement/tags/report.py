"""Report on tags (a set of classes per sample), as dataclasses, and how it is built from records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...metrics.numeric.arrays import IntArray, sums_by
from ..matching.verdicts import AGREED
from ..settings.annotators import AnnotatorPairs
from ..settings.no_labels import OtherReading
from ..statistics.estimates import (
    Fields,
    estimates,
    other_reading,
    rated_only,
    report_estimates,
    report_of,
    sample_numbers,
)
from ..statistics.main_numbers import TAG_NUMBERS, MainNumber
from ..statistics.report import AgreementReport, AlphaSummary, OfOne, OfPair, ReportContext, WithIntervals
from .compute import VERDICTS, TagAgreement, TagRecords
from .numbers import alpha_of_sets, numbers_of_sets, sample_contents, tag_effects


@dataclass(frozen=True, slots=True)
class TagPairSummary(OfPair):
    """Agreement of two annotators on the samples that both were assigned to.

    ``score`` is the mean Jaccard index of their tags, ``same_tags`` the share of samples with identical tags.
    """

    a: str
    b: str
    n_samples: int
    score: float
    same_tags: float


@dataclass(frozen=True, slots=True)
class TaggerSummary(OfOne):
    """The tags and the agreement of one annotator.

    ``n_objects`` counts the annotator's tags, ``n_missed`` tags that at least two others gave and this one did not;
    ``score`` is the mean Jaccard index with the other annotators; ``verdicts`` counts tags on rated samples.
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


@dataclass(frozen=True, slots=True)
class TagSummary(WithIntervals):
    """Agreement on one tag: somebody gave it on ``n_samples`` rated samples, everybody on ``n_agreed``.

    ``votes`` counts how often it was given; ``share`` divides by the assigned annotators, on samples where somebody
    gave it. ``alpha`` is Krippendorff's nominal alpha of given or not given.
    """

    tag: str
    n_samples: int
    n_agreed: int
    votes: int
    share: float
    alpha: float | None

    @property
    def names(self) -> tuple[str, ...]:
        """The tag."""
        return (self.tag,)

    @property
    def n_labels(self) -> int:
        """Number of samples with the tag."""
        return self.n_samples


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TagReport(AgreementReport):
    """Report on tags: agreement on sets of tags.

    ``alpha.pooled`` is Krippendorff's alpha of whole sets, with the distance ``set_distance``; None if there are too
    many different sets to compare (``too_many_sets``). ``alpha.percent_agreement`` is the mean share of pairs of
    annotators with exactly the same tags.
    """

    family: ClassVar[str] = "tags"
    main_numbers: ClassVar[tuple[MainNumber, ...]] = TAG_NUMBERS

    set_distance: str
    too_many_sets: bool
    n_disputed: int
    tags: list[TagSummary]
    pairs: list[TagPairSummary]
    annotators: list[TaggerSummary]


def build_tag_report(records: TagRecords, context: ReportContext) -> TagReport:
    """The report on samples."""
    config = context.config
    rated, of_rated = rated_only(records, context)
    agreement = rated.agreement()
    numbers = [sample_numbers(rated), *numbers_of_sets(agreement, rated.assigned, of_rated)]
    fields = Fields(report_estimates(numbers, lambda: sample_contents(rated, of_rated), rated, of_rated))
    of_report, n_rated = fields.of(), rated.n_samples
    return report_of(
        TagReport,
        fields,
        records,
        context,
        n_rated=n_rated,
        n_units=n_rated,
        n_objects=len(rated.column("tag")),
        n_disputed=int((agreement.score < 1.0).sum()),
        alpha=AlphaSummary(
            pooled=of_report["alpha"].get("pooled"),
            mean=None,
            n_defined=0,
            undefined={"one_annotator": records.n_samples - n_rated},
            percent_agreement=of_report["alpha"]["percent_agreement"],
            n_units=n_rated,
        ),
        set_distance=config.set_distance,
        too_many_sets="pooled" not in of_report["alpha"],
        tags=_tags(agreement, fields, context.class_names),
        pairs=_pairs(rated, fields, context.annotators),
        annotators=_taggers(records, agreement, fields, context),
        **tag_effects(agreement, of_rated),
        other_reading=_other_reading(records, context),
    )


def _other_reading(records: TagRecords, context: ReportContext) -> OtherReading | None:
    """The main numbers if null label lists had the other meaning; None where that makes no difference."""
    if (records.otherwise == records.assigned).all():
        return None
    rated, of_rated = rated_only(records.read_otherwise(), context)
    numbers = [sample_numbers(rated), *alpha_of_sets(rated.agreement(), of_rated)]
    found = {
        key: estimate.value for key, estimate in estimates(numbers, np.empty(0, np.int64), resamples=0, seed=0).items()
    }
    numbers_found = {"score": found["score.mean",], "alpha": found.get(("alpha.pooled",), np.nan)}
    return other_reading(records, context, numbers_found)


def _tags(agreement: TagAgreement, fields: Fields, names: Sequence[str]) -> list[TagSummary]:
    """The tags that were given on rated samples, the most frequent first."""
    tags = agreement.tags
    n_samples, n_agreed = (
        np.bincount(codes, minlength=len(names)) for codes in (tags.tag, tags.tag[tags.verdict == AGREED])
    )
    votes = sums_by(tags.tag, tags.votes, len(names)).astype(np.int64)
    found = [
        TagSummary(
            tag=names[code],
            n_samples=int(n_samples[code]),
            n_agreed=int(n_agreed[code]),
            votes=int(votes[code]),
            **fields.of("tags", names[code]),
        )
        for code in np.flatnonzero(n_samples).tolist()
    ]
    return sorted(found, key=lambda entry: (-entry.n_samples, entry.tag))


def _pairs(rated: TagRecords, fields: Fields, names: Sequence[str]) -> list[TagPairSummary]:
    pairs = AnnotatorPairs.of(rated.assigned)
    return [
        TagPairSummary(a=a, b=b, n_samples=n, **fields.of("pairs", a, b))
        for (a, b), n in zip(pairs.names(names), pairs.n_shared.tolist(), strict=True)
    ]


def _taggers(
    records: TagRecords, agreement: TagAgreement, fields: Fields, context: ReportContext
) -> list[TaggerSummary]:
    """The summaries of all annotators: tags on all samples, verdicts on rated samples."""
    assigned, names = records.assigned, context.class_names
    n, n_tags = len(context.annotators), len(names)
    annotator, tag = (records.column(name).astype(np.int64) for name in ("annotator", "tag"))
    given = np.bincount(annotator * n_tags + tag, minlength=n * n_tags).reshape(n, n_tags)
    sample = np.repeat(np.arange(records.n_samples), records.column("n_objects"))
    gave_nothing = assigned.copy()
    gave_nothing[sample, annotator] = False
    of_tag = agreement.annotator[agreement.sets.row]
    verdict = agreement.tags.verdict[agreement.of_given]
    verdicts = np.stack([np.bincount(of_tag[verdict == code], minlength=n) for code in VERDICTS.values()], axis=1)
    n_missed = _n_missed(agreement, n)
    taggers = []
    for k, name in enumerate(context.annotators):
        classes = {names[code]: int(given[k, code]) for code in np.flatnonzero(given[k]).tolist()}
        n_assigned = int(assigned[:, k].sum())
        taggers.append(
            TaggerSummary(
                name=name,
                n_assigned=n_assigned,
                n_gave_nothing=int(gave_nothing[:, k].sum()),
                n_not_assigned=len(assigned) - n_assigned,
                n_objects=int(given[k].sum()),
                n_missed=int(n_missed[k]),
                verdicts=dict(zip(VERDICTS, verdicts[k].tolist(), strict=True)),
                classes=dict(sorted(classes.items())),
                **fields.of("annotators", name),
            )
        )
    return taggers


def _n_missed(agreement: TagAgreement, n_annotators: int) -> IntArray:
    """Number of tags that at least two others gave and an assigned annotator did not, shape ``(R,)``."""
    tags, sets, annotator = agreement.tags, agreement.sets, agreement.annotator
    by_several = tags.votes >= 2
    of_sample = np.bincount(tags.sample[by_several], minlength=sets.n_units)
    could_give = sums_by(annotator, of_sample[sets.unit], n_annotators).astype(np.int64)
    gave = np.bincount(annotator[sets.row][by_several[agreement.of_given]], minlength=n_annotators)
    missed: IntArray = could_give - gave
    return missed
