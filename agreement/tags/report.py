"""Report on tags (a set of classes per sample): its dataclasses, its numbers, and how it is built from records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...metrics.alpha import alpha_of
from ...metrics.alpha.sets import TagSets, expected_disagreement_of_sets, set_distance
from ...metrics.bootstrap.draws import hstack, sparse
from ...metrics.numeric.arrays import FloatArray, sums_by
from ..evidence.hypotheses import EffectRows, findings_of, often_given, on_equal_images
from ..matching.verdicts import AGREED, LONE
from ..settings.annotators import AnnotatorPairs
from ..statistics.estimates import Fields, other_reading, rated_only, report_estimates, report_of, sample_numbers
from ..statistics.main_numbers import TAG_NUMBERS, MainNumber
from ..statistics.numbers import GroupNumbers, Joined, Numbers, ratio
from ..statistics.records import Hashes, assignment_hashes, combined, hash_sums, name_hashes
from ..statistics.report import AgreementReport, AlphaSummary, OfOne, OfPair, ReportContext, WithIntervals
from .compute import VERDICTS, TagAgreement, TagRecords, compute_tags, record_tags

#: maximum number of different sets for alpha; its time grows with the pairs of sets that share a tag
MAX_DIFFERENT_SETS = 20_000
#: maximum number of different sets for an interval of alpha
MAX_RESAMPLED_SETS = 200
#: maximum number of tags with intervals (the most frequent ones)
MAX_TAGS = 200


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

    ``votes`` counts how often it was given; ``share`` is ``votes`` / (assigned annotators), on samples where somebody
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


def headline_numbers(records: TagRecords, context: ReportContext, t: TagAgreement | None = None) -> Iterator[Numbers]:
    """Score, equal sets and alpha as functions of sums over any samples.

    With more than ``MAX_DIFFERENT_SETS`` different sets there is no alpha, with more than ``MAX_RESAMPLED_SETS`` no
    interval of it.

    Args:
        t: the agreement on all samples at once, so that equal sets have equal codes; None: it is computed
    """
    t, n_samples = records.agreement() if t is None else t, records.n_samples
    yield sample_numbers(records)
    # the mean over samples of the share of pairs of annotators with equal sets
    equal = sums_by(t.met_on, t.jaccard == 1.0, n_samples) / np.maximum(np.bincount(t.met_on, minlength=n_samples), 1)
    columns = hstack([np.column_stack([equal, np.ones(n_samples)])])
    yield Numbers((("alpha.percent_agreement",),), columns, lambda sums: ratio(sums[..., :1], sums[..., 1:]))

    unit = np.nonzero(t.assigned)[0]
    row = np.cumsum(t.assigned).reshape(t.assigned.shape)[t.sample, t.annotator] - 1
    number, members = TagSets(unit, row, t.tag, n_samples, int(t.tag.max(initial=-1)) + 1).distinct()
    if (n_sets := members.shape[0]) > MAX_DIFFERENT_SETS:
        return
    distance, undefined = context.config.set_distance, context.config.undefined
    of_pairs = (column.astype(np.float64) for column in (t.shared, t.n_a, t.n_b))
    differing = 2.0 * set_distance(distance, *of_pairs) / (t.n_annotators[t.met_on] - 1)
    observed = sums_by(t.met_on, differing, n_samples)

    def formula(sums: FloatArray) -> FloatArray:
        of_set = sums[..., 1:]
        expected = expected_disagreement_of_sets(members, of_set, distance)
        return alpha_of(sums[..., 0], expected, of_set.sum(axis=-1), undefined=undefined)[..., None]

    columns = hstack([observed[:, None], sparse(unit, number, np.ones(len(number)), (n_samples, n_sets))])
    yield Numbers((("alpha.pooled",),), columns, formula, by_sample=n_sets <= MAX_RESAMPLED_SETS)


def tag_numbers(records: TagRecords, context: ReportContext, t: TagAgreement | None = None) -> Iterator[Numbers]:
    """All numbers of rated samples; ``t``: see :func:`headline_numbers`."""
    t = records.agreement() if t is None else t
    names, n, n_samples, tags = context.annotators, len(context.annotators), records.n_samples, context.class_names
    yield from headline_numbers(records, context, t)

    pairs_met, joined = AnnotatorPairs.of(t.assigned), Joined(by_sample=True)
    pairs = GroupNumbers(
        table="pairs",
        keys={pair: ("pairs", *both) for pair, both in enumerate(pairs_met.names(names))},
        n_groups=len(pairs_met),
        names=("score", "same_tags"),
        group=pairs_met.rows(t.a, t.b),
        sample=t.met_on,
        columns={"jaccard": t.jaccard, "same": t.jaccard == 1.0, "n": np.ones(len(t.a))},
        formula=lambda sums: ratio(sums[..., :2], sums[..., 2:]),
        basis=np.array([2, 2]),
        resampled=pairs_met.chosen(names),
    )
    joined.add(0, [pairs], n_samples)
    yield from joined.numbers()

    # the mean Jaccard index of every annotator with the others
    place, shape = (np.tile(t.met_on, 2), np.concatenate([t.a, t.b])), (n_samples, n)
    yield Numbers(
        tuple(("annotators", name, "score") for name in names),
        hstack([sparse(*place, each, shape) for each in (np.tile(t.jaccard, 2), np.ones(2 * len(t.a)))]),
        lambda sums: ratio(sums[..., :n], sums[..., n:]),
        basis=n + np.arange(n),
    )

    # alpha of every tag (given or not), and the share of annotators who gave it on samples with this tag
    def formula(sums: FloatArray) -> FloatArray:
        n_sets, (votes, assigned, differing) = sums[..., :1], np.split(sums[..., 1:], 3, axis=-1)
        return np.concatenate(
            [
                alpha_of(differing, 2 * votes * (n_sets - votes), n_sets, undefined=context.config.undefined),
                ratio(votes, assigned),
            ],
            axis=-1,
        )

    n_given, place_of, m = np.bincount(t.unit_tag, minlength=len(tags)), np.full(len(tags), -1), t.n_annotators
    by_frequency = sorted(np.flatnonzero(n_given).tolist(), key=lambda code: (-n_given[code], tags[code]))
    for chosen, by_sample in ((by_frequency[:MAX_TAGS], True), (by_frequency[MAX_TAGS:], False)):
        if not chosen:
            continue
        place_of[:] = -1
        place_of[chosen] = np.arange(len(chosen))
        kept = place_of[t.unit_tag] >= 0
        sample, column, votes = t.unit_sample[kept], place_of[t.unit_tag[kept]], t.votes[kept]
        of_tags = (votes, m[sample], 2 * votes * (m[sample] - votes) / (m[sample] - 1))
        yield Numbers(
            tuple(("tags", tags[code], name) for name in ("alpha", "share") for code in chosen),
            hstack([m[:, None] * 1.0, *(sparse(sample, column, each, (n_samples, len(chosen))) for each in of_tags)]),
            formula,
            basis=1 + np.tile(np.arange(len(chosen)), 2),
            by_sample=by_sample,
        )


def sample_contents(records: TagRecords, context: ReportContext) -> tuple[Hashes, FloatArray]:
    """Content of the samples for :func:`~..statistics.records.content_ranks`: hashes of the tags ``(S,)``."""
    annotators, tags = name_hashes(context.annotators), name_hashes(context.class_names)
    sample, annotator, tag = records.labels()
    given = combined(tags[tag], annotators[annotator].view(np.int64))
    of_assigned = assignment_hashes(records.assigned, annotators)
    return of_assigned + hash_sums(sample, given, records.n_samples), np.empty((records.n_samples, 0))


def tag_effects(t: TagAgreement, context: ReportContext) -> dict[str, Any]:
    """The fields ``findings`` and ``n_tested`` of a report.

    Args:
        t: agreement on rated samples
    """
    effects, (n_samples, n) = EffectRows(context.clusters), t.assigned.shape
    several, who = n > 2, np.arange(n)

    def count(values: Any) -> FloatArray:
        """Sums over the tags of every annotator on every sample, ``(S, R)``."""
        return sums_by(t.sample * n + t.annotator, values[t.unit], n_samples * n).reshape(n_samples, n)

    # rates of lone and of missed tags of every annotator, against those of the others on all images of the annotator.
    # Images where nothing could be missed by the annotator stay in: others may have missed something there
    rates = {"lone": (count(t.verdict == LONE), count(np.ones(len(t.votes))))}
    if several:
        by_two = np.bincount(t.unit_sample[t.votes >= 2], minlength=n_samples)
        missed = np.where(t.assigned, by_two[:, None] - count(t.votes >= 2), 0.0)
        rates["misses"] = missed, missed + count(t.votes >= 3)
    for kind, both in rates.items():
        others = (np.where(t.assigned, each.sum(axis=1, keepdims=True) - each, 0.0) for each in both)
        effects.add_table(kind, who, on_equal_images((*both, *others), t.n_annotators[:, None] - 1))

    # annotators' rates of each tag against the others', and tags that are missed more than other tags. With two
    # annotators no two others gave a tag: then it is missed if only one of them gave it
    assigned = t.n_annotators[t.unit_sample]
    missing = np.where(t.votes >= 2, assigned - t.votes, 0) if several else t.votes == 1
    could = np.where(t.votes >= 2, assigned, 0) if several else np.ones(len(t.votes))
    of_all = [sums_by(t.unit_sample, each, n_samples) for each in (missing, could)]
    n_tags = len(context.class_names)
    n_given, n_images = np.bincount(t.tag, minlength=n_tags), np.bincount(t.unit_tag, minlength=n_tags)
    for tag in often_given(n_given, n_images):
        gave = np.zeros((n_samples, n))
        gave[t.sample[t.tag == tag], t.annotator[t.tag == tag]] = 1.0
        effects.add_deviations("class_used", gave, t.assigned, tag)
        rows = t.unit_tag == tag
        own, whole = (sums_by(t.unit_sample[rows], each[rows], n_samples) for each in (missing, could))
        others = (np.where(whole > 0, total - each, 0.0) for total, each in zip(of_all, (own, whole), strict=True))
        effects.add_table("class_missed", [tag], [each[:, None] for each in (own, whole, *others)])
    return findings_of(effects.moments(), context.annotators, context.class_names)


def build_tag_report(records: TagRecords, context: ReportContext) -> TagReport:
    """The report on tags, from the records of samples."""
    rated, of_rated = rated_only(records, context)
    t, n_rated = rated.agreement(), rated.n_samples
    numbers = tag_numbers(rated, of_rated, t)
    fields = Fields(report_estimates(numbers, lambda: sample_contents(rated, of_rated), rated, of_rated))
    alpha, pairs_met = fields.of()["alpha"], AnnotatorPairs.of(t.assigned)
    other = None
    if (records.otherwise != records.assigned).any():  # the numbers if null lists meant the opposite
        again = record_tags(compute_tags(*records.labels(), records.otherwise))
        of_again = (dict(zip(each.keys, each.values().tolist(), strict=True))
                    for each in headline_numbers(*rated_only(again, context)))  # fmt: skip
        found = {key[0]: value for each in of_again for key, value in each.items()}
        of_other = {"score": found["score.mean"], "alpha": found.get("alpha.pooled", np.nan)}
        other = other_reading(records, context, of_other)

    # the tags that were given on rated samples, the most frequent first
    names, n = context.class_names, len(context.annotators)
    n_samples, n_agreed, votes = (
        np.bincount(codes, minlength=len(names)) for codes in (t.unit_tag, t.unit_tag[t.verdict == AGREED], t.tag)
    )
    tags = [
        TagSummary(
            tag=names[code],
            n_samples=int(n_samples[code]),
            n_agreed=int(n_agreed[code]),
            votes=int(votes[code]),
            **fields.of("tags", names[code]),
        )
        for code in np.flatnonzero(n_samples).tolist()
    ]

    # annotators: tags on all samples, verdicts on rated samples
    sample, annotator, tag = records.labels()
    given = np.bincount(annotator * len(names) + tag, minlength=n * len(names)).reshape(n, len(names))
    gave_nothing = records.assigned.copy()
    gave_nothing[sample, annotator] = False
    n_assigned, n_nothing = records.assigned.sum(axis=0), gave_nothing.sum(axis=0)
    verdict, by_several = t.verdict[t.unit], t.votes >= 2
    verdicts = [np.bincount(t.annotator[verdict == code], minlength=n) for code in VERDICTS.values()]
    # tags that two others gave, where the annotator is assigned, less those that the annotator gave
    of_sample = np.bincount(t.unit_sample[by_several], minlength=n_rated)
    n_missed = of_sample @ t.assigned - np.bincount(t.annotator[by_several[t.unit]], minlength=n)
    annotators = [
        TaggerSummary(
            name=name,
            n_assigned=int(n_assigned[k]),
            n_gave_nothing=int(n_nothing[k]),
            n_not_assigned=records.n_samples - int(n_assigned[k]),
            n_objects=int(given[k].sum()),
            n_missed=int(n_missed[k]),
            verdicts={verdict: int(found[k]) for verdict, found in zip(VERDICTS, verdicts, strict=True)},
            classes=dict(sorted((names[code], int(given[k, code])) for code in np.flatnonzero(given[k]).tolist())),
            **fields.of("annotators", name),
        )
        for k, name in enumerate(context.annotators)
    ]
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
            pooled=alpha.get("pooled"),
            mean=None,
            n_defined=0,
            undefined={"one_annotator": records.n_samples - n_rated},
            percent_agreement=alpha["percent_agreement"],
            n_units=n_rated,
        ),
        set_distance=context.config.set_distance,
        too_many_sets="pooled" not in alpha,
        tags=sorted(tags, key=lambda entry: (-entry.n_samples, entry.tag)),
        pairs=[
            TagPairSummary(a=a, b=b, n_samples=n_shared, **fields.of("pairs", a, b))
            for (a, b), n_shared in zip(pairs_met.names(context.annotators), pairs_met.n_shared.tolist(), strict=True)
        ],
        annotators=annotators,
        **tag_effects(t, of_rated),
        other_reading=other,
    )
