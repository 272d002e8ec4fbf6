"""The sections, figures and tables of each family of label types.

This is the only place in ``charts`` that knows the families; everything else calls :func:`family_of` with a report.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..objects.annotators import annotator_details, annotators_section, pair_details, pairs_section
from ..objects.findings import OBJECT_PHRASES, object_findings, object_outcome
from ..objects.questions import class_details, question_details, questions_section
from ..objects.rules import object_rules, object_words, other_rules, threshold_sections
from ..text.advice import Phrases, all_findings, confusions_section, stands_out
from ..text.sections import Section
from ..text.words import VERDICTS
from . import pixels, ratings, tags
from .reasons import class_reasons, object_reasons, rating_reasons, tag_reasons

if TYPE_CHECKING:
    from ...agreement.statistics.records import Records
    from ...agreement.statistics.report import AgreementReport, ReportContext

#: builds sections of a report; none if the report has no numbers for them
Sections = Callable[[Any], list[Section]]


@dataclass(frozen=True, slots=True)
class ClassValues:
    """Agreement on every class."""

    entries: str  #: name of the list in the report
    name: str  #: attribute with the name of a class
    number: str  #: attribute with the agreement on the class
    title: str  #: title of the number
    kind: str = "class"  #: word for a class
    counted: str = "n_samples"  #: attribute with the number of what a class is given to
    things: str = "samples"  #: word for these
    agreed: str = ""  #: attribute with the number of samples on which everybody gave a class, if that is counted
    has_labels: bool = True  #: whether labels have one class each, so that they can be shown; a mask holds all classes


@dataclass(frozen=True, slots=True)
class VerdictShares:
    """Verdicts as shares of the labels of every annotator."""

    titles: Mapping[str, str]  #: titles of the verdicts in the figure
    title: str  #: title of the shares
    worst: str  #: the verdict in the finding: it names the annotator with the largest share
    finding: str  #: text of the finding, with the share for ``{}``
    labels: str  #: word for the labels


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyCharts:
    """Sections, figures and tables of the reports of a family."""

    #: reasons for the disputes on samples, from their records and the context of a report
    reasons: Callable[[Any, Any], list[str]]
    outcome: Callable[[Any], str]  #: sentence on what annotators have in common
    #: sentences on the main cause of disagreement, its subjects, and what to do
    findings: Callable[[Any], list[str]]
    #: texts of some kinds of findings, in addition to those of all families
    phrases: Phrases
    rules: Callable[[Any], list[tuple[str, str]]]  #: names and texts of the rules of the computation
    words: Callable[[Any], Sequence[tuple[str, str]]]  #: words of its sections, and what they mean
    sections: Sequence[Sections]  #: the most important sections
    details: Sequence[Sections] = ()  #: all other sections
    overview: Sequence[Sections] = ()  #: sections of the panel's overview
    #: sections on other thresholds and rules, if the labels are matched, from the report and these numbers
    sensitivity: Sequence[Callable[[Any, Any], list[Section]]] = ()
    #: titles of the numbers that the matrix of pairs can show
    pair_values: Mapping[str, str] = field(default_factory=dict)
    classes: ClassValues | None = None  #: agreement on every class, if any
    verdicts: VerdictShares | None = None  #: shares of verdicts, if labels have verdicts
    has_confusion: bool = False  #: whether pairs have counts of the classes that two annotators gave to one thing
    lost: str = "what two annotators lack to full agreement"  #: what fixing samples would change
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
        details=(all_findings, question_details, class_details, annotator_details, pair_details),
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
