"""The sections, figures, tables and reasons of dispute of each family of label types.

This is the only place in ``charts`` that knows the families; everything else calls :func:`family_of` with a report.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...agreement.disputes.costs import disputes_of
from ...agreement.evidence.ranking import natural_key
from ...agreement.pixels.compute import MaskValues
from ..objects.annotators import (
    annotator_details,
    annotators_section,
    closeness_details,
    pair_details,
    pairs_section,
)
from ..objects.questions import (
    OBJECT_PHRASES,
    class_details,
    coefficient_details,
    existence_details,
    object_findings,
    object_outcome,
    questions_section,
    shared_object_details,
)
from ..objects.rules import object_rules, object_words, other_rules, threshold_sections
from ..text.advice import Phrases, all_findings, confusions_section, stands_out
from ..text.sections import Section
from ..text.words import VERDICTS, counted, shortened, shown_number, shown_share
from . import pixels, ratings, tags

if TYPE_CHECKING:
    from ...agreement.objects.records import ObjectRecords
    from ...agreement.pixels.records import PixelRecords
    from ...agreement.ratings.compute import RatingRecords
    from ...agreement.statistics.records import Records
    from ...agreement.statistics.report import AgreementReport, ReportContext
    from ...agreement.tags.compute import TagRecords

#: annotators, conflicts, or classes that are named, at most; characters of a name
_NAMED, _LONGEST = 2, 24
#: reasons that are given for a sample, at most
_SHOWN = 3
#: values in a reason, and annotators after each, at most; more are only counted
_FEW = 3


def object_reasons(records: ObjectRecords, context: ReportContext) -> list[str]:
    """Reasons for the dispute on every sample, the most frequent first."""
    reasons = []
    for found in disputes_of(records, context):
        left_out = (("lone", found.lone, found.lone.total()), ("missed", found.missed, found.n_missed))
        parts = [(n, f"{n:,} {what} ({_who(who, n)})") for what, who, n in left_out if n]
        # class conflicts: ``3 car called van (carol)``; without a majority, ``2 called car or van``
        kinds: dict[str, Counter[str]] = {}
        for (name, own, most), n in found.other_classes.items():
            kinds.setdefault(f"{most} called {own}", Counter())[name] += n
        conflicts = [(who.total(), f"{who.total():,} {what} ({_who(who, who.total())})") for what, who in kinds.items()]
        conflicts += [(n, f"{n:,} called {' or '.join(names)}") for names, n in found.classes.items()]
        conflicts.sort(key=lambda part: (-part[0], part[1]))
        if others := sum(n for n, _ in conflicts[_NAMED:]):
            conflicts[_NAMED:] = [(others, f"{others:,} other class conflicts")]
        parts += conflicts
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
    """The annotators who differ on ``n`` objects, by frequency: ``carol``, or ``carol 5, bob 2, others``."""
    ordered = sorted(names.items(), key=lambda item: (-item[1], natural_key(item[0])))
    if [times for _, times in ordered] == [n]:
        return shortened(ordered[0][0], _LONGEST)
    named = [f"{shortened(name, _LONGEST)} {times:,}" for name, times in ordered[:_NAMED]]
    return ", ".join([*named, *(["others"] if len(ordered) > _NAMED else [])])


def rating_reasons(records: RatingRecords, context: ReportContext) -> list[str]:
    """For every sample its ratings, each with the annotators who gave it."""
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
    """For every sample the tags that not everybody gave, each with the annotators who gave it."""
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
    """For every sample the classes with the least IoU, each with the annotator whose area is farthest off."""
    meaning, is_rgb = MaskValues.from_dict(context.details), bool(context.details["is_rgb"])
    found = []
    for agreement in records.agreements(meaning.background, context.config):
        differs = (agreement.class_iou < 1.0) & (agreement.values != meaning.background)
        for k, n_pixels in enumerate(agreement.n_pixels.tolist()):
            rows = np.flatnonzero((agreement.sample == k) & differs)
            rows = rows[np.argsort(agreement.class_iou[rows], kind="stable")]
            asked = np.flatnonzero(agreement.assigned[k])
            named = []
            for row in rows[:_NAMED].tolist():
                # the area farthest from the median, with its annotator, in per cent of the image; of two both areas
                shares = (agreement.area[row, asked] / max(n_pixels, 1)).tolist()
                areas = [f"{shortened(context.annotators[r], _LONGEST)} {shown_share(share)}"
                         for r, share in zip(asked.tolist(), shares, strict=True)]  # fmt: skip
                area = f"area {', '.join(areas)}"
                if len(areas) > 2:
                    median = float(np.median(shares))
                    farthest = areas[int(np.argmax(np.abs(np.subtract(shares, median)).round(9)))]
                    area = f"area {farthest}, median {shown_share(median)}"
                    if shown_share(min(shares)) == shown_share(max(shares)):
                        area = f"areas of {shown_share(median)}"
                name = shortened(meaning.name(int(agreement.values[row]), is_rgb=is_rgb), _LONGEST)
                named.append(f"{name}: IoU {shown_number(float(agreement.class_iou[row]), 2)} ({area})")
            n_more = len(rows) - len(named)
            found.append("; ".join([*named, *([f"{counted(n_more, 'more class', 'more classes')}"] if n_more else [])]))
    return found


#: builds sections of a report; none if the report has no numbers for them
Sections = Callable[[Any], Iterable[Section]]


@dataclass(frozen=True, slots=True)
class ClassValues:
    """Where a report has its agreement on classes, and the words for it."""

    entries: str  #: name of the list in the report
    name: str  #: attribute with the name of a class
    number: str  #: attribute with the agreement on the class
    title: str  #: title of the number
    kind: str = "class"  #: word for a class
    counted: str = "n_samples"  #: attribute with the number of samples, or objects, of a class
    things: str = "samples"  #: word for what is counted
    agreed: str = ""  #: attribute with the number of samples on which everybody gave a class; empty if there is none
    has_labels: bool = True  #: whether labels have one class each, so that they can be shown; a mask holds all classes


@dataclass(frozen=True, slots=True)
class VerdictShares:
    """Verdicts as shares of the labels of every annotator."""

    titles: Mapping[str, str]  #: titles of the verdicts in the figure
    title: str  #: title of the shares
    worst: str  #: the verdict of the finding, which names the annotator with the largest share
    finding: str  #: text of the finding, with the share for ``{}``
    labels: str  #: word for the labels


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyCharts:
    """Sections, figures and tables of the reports of a family."""

    #: reasons for the disputes on samples, from their records and the context of a report
    reasons: Callable[[Any, Any], list[str]]
    outcome: Callable[[Any], str]  #: sentence on what annotators have in common
    #: sentences on the main cause of disagreement, on who and what stands out, and on what to do
    findings: Callable[[Any], list[str]]
    #: texts of some kinds of findings, in addition to those of all families
    phrases: Phrases
    rules: Callable[[Any], list[tuple[str, str]]]  #: names and texts of the rules of the computation
    words: Callable[[Any], Sequence[tuple[str, str]]]  #: words of its sections, and what they mean
    sections: Sequence[Sections]  #: the most important sections
    details: Sequence[Sections] = ()  #: all other sections
    overview: Sequence[Sections] = ()  #: sections of the panel's overview
    #: sections on other thresholds and rules, if the labels are matched, from the report and a :class:`Sensitivity`
    sensitivity: Sequence[Callable[[Any, Any], list[Section]]] = ()
    #: titles of the numbers that the matrix of pairs can show
    pair_values: Mapping[str, str] = field(default_factory=dict)
    classes: ClassValues | None = None  #: agreement on every class, if any
    verdicts: VerdictShares | None = None  #: shares of verdicts, if labels have verdicts
    has_confusion: bool = False  #: whether pairs have counts of the classes that two annotators gave to one thing
    lost: str = "what two annotators lack to full agreement"  #: words for what fixing samples would change
    disputed: str = ""  #: word for the disputed things in a sample; empty if a sample has only one
    shares_of_classes: bool = False  #: whether annotators have shares of classes instead of counts


def _in_full(*builders: Callable[..., list[Section]]) -> list[Sections]:
    return [functools.partial(build, full=True) for build in builders]


def found_by_test(phrases: Phrases, report: Any) -> list[str]:
    """Sentences on who and what stands out by test; none where nothing is disputed."""
    return stands_out(report, phrases) if report.n_disputed else []


#: verdicts that are drawn; missed objects are drawn for the annotators who missed them
_DRAWN_VERDICTS = ("lone", "class_conflict", "attribute_conflict", "split", "duplicate")

FAMILY_CHARTS = {
    "objects": FamilyCharts(
        reasons=object_reasons,
        outcome=object_outcome,
        findings=object_findings,
        phrases=OBJECT_PHRASES,
        rules=object_rules,
        words=object_words,
        sections=(questions_section, annotators_section, pairs_section, confusions_section),
        details=(
            *(all_findings, existence_details, shared_object_details, coefficient_details),
            *(class_details, annotator_details, closeness_details, pair_details),
        ),
        overview=(questions_section,),
        sensitivity=(threshold_sections, other_rules),
        pair_values={
            "alpha": "alpha",
            "score": "score",
            "kappa": "kappa of classes",
            "f1": "F1",
            "mean_iou": "mean IoU",
        },
        classes=ClassValues(
            "classes", "name", "alpha", "alpha (this class against all others)", counted="n_units", things="objects"
        ),
        verdicts=VerdictShares(
            {name: VERDICTS[name] for name in _DRAWN_VERDICTS} | {"class_conflict": "other class"},
            "share of their labels<br>(missed: of what two others drew)",
            "lone",
            "has most lone labels: {}",
            "labels",
        ),
        has_confusion=True,
        lost="what the score loses",
        disputed="disputed objects",
    ),
    "ratings": FamilyCharts(
        reasons=rating_reasons,
        outcome=ratings.rating_outcome,
        findings=functools.partial(found_by_test, ratings.RATING_PHRASES),
        phrases=ratings.RATING_PHRASES,
        rules=ratings.rating_rules,
        words=lambda report: ratings.RATING_WORDS,
        sections=(
            *(ratings.rating_coefficients, ratings.rating_annotators),
            *(ratings.rating_classes, ratings.rating_pairs, confusions_section),
        ),
        details=(all_findings, *_in_full(ratings.rating_annotators, ratings.rating_pairs)),
        overview=(functools.partial(ratings.rating_coefficients, brief=True),),
        pair_values={"alpha": "alpha", "score": "share of agreement", "kappa": "Cohen's kappa"},
        verdicts=VerdictShares(
            {"class_conflict": "other class"},
            "share of their ratings<br>(of those where most of the others agree)",
            "class_conflict",
            "says most often what most of the others do not: {}",
            "ratings",
        ),
        has_confusion=True,
        lost="the pairs of ratings that disagree",
    ),
    "tags": FamilyCharts(
        reasons=tag_reasons,
        outcome=tags.tag_outcome,
        findings=tags.tag_findings,
        phrases=tags.TAG_PHRASES,
        rules=tags.tag_rules,
        words=lambda report: tags.TAG_WORDS,
        sections=(tags.most_disputed_tags, tags.tag_annotators, tags.tag_pairs),
        details=(all_findings, *_in_full(tags.most_disputed_tags, tags.tag_annotators, tags.tag_pairs)),
        pair_values={"score": "mean Jaccard index", "same_tags": "share of equal tags"},
        classes=ClassValues("tags", "tag", "alpha", "alpha (given or not given)", kind="tag", agreed="n_agreed"),
        verdicts=VerdictShares(
            {name: VERDICTS[name] for name in ("lone", "missed")},
            "share of their tags",
            "lone",
            "has most lone tags: {}",
            "tags",
        ),
        lost="what the score loses on all images",
        disputed="disputed tags",
    ),
    "pixels": FamilyCharts(
        reasons=class_reasons,
        outcome=pixels.pixel_outcome,
        findings=functools.partial(found_by_test, pixels.PIXEL_PHRASES),
        phrases=pixels.PIXEL_PHRASES,
        rules=pixels.pixel_rules,
        words=lambda report: pixels.PIXEL_WORDS,
        sections=(pixels.pixel_means, pixels.pixel_classes, pixels.pixel_annotators, pixels.pixel_pairs),
        details=(all_findings, *_in_full(pixels.pixel_classes, pixels.pixel_annotators, pixels.pixel_pairs)),
        overview=(pixels.pixel_means,),
        pair_values={"alpha": "alpha", "score": "score", "kappa": "Cohen's kappa", "accuracy": "accuracy"},
        classes=ClassValues("classes", "name", "mean_iou", "mean IoU", has_labels=False),
        lost="what the score loses on all images",
        disputed="disputed classes",
        shares_of_classes=True,
    ),
}


def family_of(report: AgreementReport) -> FamilyCharts:
    """The sections, figures and tables for a report."""
    return FAMILY_CHARTS[report.family]


def reasons(records: Records, context: ReportContext) -> list[str]:
    """Why samples are disputed, from their records and the context of a report."""
    return FAMILY_CHARTS[records.family].reasons(records, context)
