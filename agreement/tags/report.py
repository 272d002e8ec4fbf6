"""Report on tags (a set of classes per sample), as dataclasses, and how it is built from records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..matching.verdicts import AGREED
from ..settings.annotators import AnnotatorPairs
from ..settings.no_labels import OtherReading
from ..statistics.estimates import (
    Fields,
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
    rated, of_rated = rated_only(records, context)
    t = rated.agreement()
    numbers = [sample_numbers(rated), *numbers_of_sets(t, of_rated)]
    fields = Fields(report_estimates(numbers, lambda: sample_contents(rated, of_rated), rated, of_rated))
    of_report, n_rated = fields.of(), rated.n_samples
    met = AnnotatorPairs.of(t.assigned)
    return report_of(
        TagReport,
        fields,
        records,
        context,
        n_rated=n_rated,
        n_units=n_rated,
        n_objects=len(t.tag),
        n_disputed=int((t.score < 1.0).sum()),
        alpha=AlphaSummary(
            pooled=of_report["alpha"].get("pooled"),
            mean=None,
            n_defined=0,
            undefined={"one_annotator": records.n_samples - n_rated},
            percent_agreement=of_report["alpha"]["percent_agreement"],
            n_units=n_rated,
        ),
        set_distance=context.config.set_distance,
        too_many_sets="pooled" not in of_report["alpha"],
        tags=_tags(t, fields, context.class_names),
        pairs=[
            TagPairSummary(a=a, b=b, n_samples=n, **fields.of("pairs", a, b))
            for (a, b), n in zip(met.names(context.annotators), met.n_shared.tolist(), strict=True)
        ],
        annotators=_taggers(records, t, fields, context),
        **tag_effects(t, of_rated),
        other_reading=_other_reading(records, context),
    )


def _other_reading(records: TagRecords, context: ReportContext) -> OtherReading | None:
    """The main numbers if null label lists had the other meaning; None where that makes no difference."""
    if (records.otherwise == records.assigned).all():
        return None
    rated, of_rated = rated_only(records.read_otherwise(), context)
    numbers = [sample_numbers(rated), *alpha_of_sets(rated.agreement(), of_rated)]
    found = {key: value for each in numbers for key, value in zip(each.keys, each.values().tolist(), strict=True)}
    numbers_found = {"score": found["score.mean",], "alpha": found.get(("alpha.pooled",), np.nan)}
    return other_reading(records, context, numbers_found)


def _tags(t: TagAgreement, fields: Fields, names: Sequence[str]) -> list[TagSummary]:
    """The tags that were given on rated samples, the most frequent first."""
    n_samples, n_agreed, votes = (
        np.bincount(codes, minlength=len(names)) for codes in (t.unit_tag, t.unit_tag[t.verdict == AGREED], t.tag)
    )
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


def _taggers(records: TagRecords, t: TagAgreement, fields: Fields, context: ReportContext) -> list[TaggerSummary]:
    """The summaries of all annotators: tags on all samples, verdicts on rated samples."""
    assigned, names, n = records.assigned, context.class_names, len(context.annotators)
    sample, annotator, tag = records.labels()
    given = np.bincount(annotator * len(names) + tag, minlength=n * len(names)).reshape(n, len(names))
    gave_nothing = assigned.copy()
    gave_nothing[sample, annotator] = False
    n_assigned, n_nothing = assigned.sum(axis=0), gave_nothing.sum(axis=0)
    verdict, by_several = t.verdict[t.unit], t.votes >= 2
    verdicts = [np.bincount(t.annotator[verdict == code], minlength=n) for code in VERDICTS.values()]
    # tags that two others gave, where the annotator is assigned, less those that the annotator gave
    of_sample = np.bincount(t.unit_sample[by_several], minlength=len(t.score))
    n_missed = of_sample @ t.assigned - np.bincount(t.annotator[by_several[t.unit]], minlength=n)
    return [
        TaggerSummary(
            name=name,
            n_assigned=int(n_assigned[k]),
            n_gave_nothing=int(n_nothing[k]),
            n_not_assigned=len(assigned) - int(n_assigned[k]),
            n_objects=int(given[k].sum()),
            n_missed=int(n_missed[k]),
            verdicts={verdict: int(found[k]) for verdict, found in zip(VERDICTS, verdicts, strict=True)},
            classes=dict(sorted((names[code], int(given[k, code])) for code in np.flatnonzero(given[k]).tolist())),
            **fields.of("annotators", name),
        )
        for k, name in enumerate(context.annotators)
    ]
