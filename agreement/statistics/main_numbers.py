"""The main numbers of every report: key, title and meaning of each.

Text, Markdown, HTML page, the panel with its cards, the table ``summary`` and the comparison of runs all follow from
these declarations. A new number needs an entry here, and its value (and interval) under the same key in the report.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

#: numbers of the headline, and numbers that only a comparison of two runs lists
HEADLINE, COMPARED = "headline", "compared"
#: the questions of a report, by the group of the numbers that answer each
QUESTIONS = {
    "existence": "Do they see the same objects?",
    "class_given_match": "Do they name a shared object alike?",
    "localisation": "Do they draw a shared object alike?",
    "tracks": "Do they follow it through the video?",
    "counts": "Do they draw equally many objects?",
}


@dataclass(frozen=True, slots=True)
class ObjectMeasure:
    """Similarity measure of the extents of two objects, such as IoU or OKS."""

    name: str
    meaning: str  #: meaning for two labels of one object
    of_points: bool = False  #: whether objects are made of points, which may be visible, and have no area


#: the measures of all label types, by name
MEASURES = {
    measure.name: measure
    for measure in (
        ObjectMeasure("IoU", "overlap of two labels of one object: what both cover / what either covers"),
        ObjectMeasure("OKS", "closeness of the points of two labels of one object", of_points=True),
        ObjectMeasure(
            "IoU of circles", "overlap of circles around the points of two labels of one object", of_points=True
        ),
        ObjectMeasure(
            "temporal IoU", "overlap of two labels of one object in time: what both cover / what either covers"
        ),
    )
}


@dataclass(frozen=True, slots=True)
class MainNumber:
    """A main number: its key, title, format and meaning, and where it is shown."""

    key: str  #: path of its value in the report, and the key of its interval
    title: str  #: name; ``{measure}`` is replaced by the name of the similarity
    #: meaning in one sentence; ``{report…}`` and ``{documents}`` (samples or frames) are filled in
    meaning: str = ""
    form: str = "number"  #: format: ``number`` or ``share``
    group: str = HEADLINE  #: place: the headline, one of the questions, or only comparisons
    is_optional: bool = False  #: whether it is left out if undefined
    of_areas: bool = False  #: whether it is left out if objects are made of points
    leads: bool = False  #: whether it is shown in the headline too
    card: str = ""  #: its title on a card of the panel; empty: it has none
    #: text on the card below the value, filled in as the meaning (a card with such a text is left out if the value is
    #: undefined); empty: the interval
    below: str = ""
    hint: str = ""  #: tooltip of the card
    #: whether Krippendorff's limits, which are for nominal classes, say how reliable it is (of ratings: if these are
    #: nominal)
    is_judged: bool = False

    def value(self, report: Any) -> float | None:
        """The value in a report; None where undefined, and in reports of versions without it."""
        found = report
        for name in self.key.split("."):
            found = getattr(found, name, None)
        value: float | None = found
        return value

    def concerns(self, measure: str) -> bool:
        """True if objects that are compared by this measure have the number."""
        return not (self.of_areas and MEASURES[measure].of_points)

    def name(self, measure: str = "IoU") -> str:
        """The title, with the name of the similarity."""
        return self.title.format(measure=measure)

    def full_name(self, measure: str = "IoU") -> str:
        """The title, preceded by the question that the number answers."""
        question = QUESTIONS.get(self.group)
        return f"{question} {self.name(measure)}" if question else self.name(measure)


def score(what: str) -> MainNumber:
    """The mean score of samples; ``what`` explains the score."""
    meaning = f"{what}, mean of {{report.score.n:,}} {{documents}}"
    return MainNumber("score.mean", "Score", meaning, card="Score")


def alpha(what: str, title: str = "Krippendorff's alpha", group: str = HEADLINE) -> MainNumber:
    """The pooled alpha, over units that ``what`` names."""
    meaning = f"agreement beyond chance over {{report.alpha.n_units:,}} {what}: 0 as by chance, 1 perfect"
    return MainNumber("alpha.pooled", title, meaning, group=group)


#: tooltip of the cards of alphas
_HINT = "Krippendorff's alpha: 1 is full agreement, 0 agreement as by chance"
IMAGE_ALPHA = MainNumber(
    "image_alpha.value",
    "Alpha of images",
    "1 - {report.image_alpha.observed:.3f} / {report.image_alpha.expected:.3f}: distance (1 - score) on one image / on "
    "different ones",
    is_optional=True,
)
MEAN_ALPHA = MainNumber("alpha.mean", "Mean alpha of single images", group=COMPARED)
FULL_AGREEMENT = MainNumber(
    "share_full_agreement", "Full agreement", "of {report.n_rated:,} {documents}: nothing on them is disputed", "share"
)
#: the same number with a card, for reports without F1
NOTHING_DISPUTED = dataclasses.replace(FULL_AGREEMENT, card="Nothing disputed", below="of {report.n_rated:,} {things}")
PERCENT_AGREEMENT = MainNumber("alpha.percent_agreement", "percent agreement", form="share", group=COMPARED)
_OF_TWO = "of two labels of one object"

OBJECT_NUMBERS = (
    MainNumber(
        "existence.f1",
        "F1",
        "share of labels whose object the other of two annotators drew too",
        group="existence",
        leads=True,
        card="F1",
    ),
    MainNumber(
        "class_given_match.percent_agreement",
        "same class",
        _OF_TWO,
        "share",
        "class_given_match",
        leads=True,
        card="Same class",
    ),
    MainNumber(
        "localisation.mean_iou", "mean {measure}", _OF_TWO, group="localisation", leads=True, card="Mean {measure}"
    ),
    score("F1 with equal classes, each object counted by its {report.measure}"),
    FULL_AGREEMENT,
    MainNumber(
        "class_given_match.alpha",
        "alpha of classes",
        "on shared objects",
        group="class_given_match",
        leads=True,
        card="α of classes",
        hint=_HINT,
        is_judged=True,
    ),
    IMAGE_ALPHA,
    alpha("objects, missed ones too", "alpha of objects", "class_given_match"),
    MEAN_ALPHA,
    PERCENT_AGREEMENT,
    MainNumber("localisation.mean_dice", "Dice", _OF_TWO, group="localisation", of_areas=True),
    MainNumber(
        "localisation.visibility",
        "visibility",
        "points labelled by both, of those labelled by either",
        group="localisation",
        is_optional=True,
    ),
    MainNumber(
        "track_consistency",
        "tracks kept",
        "share of frames in which a track keeps its partner",
        group="tracks",
        is_optional=True,
    ),
    MainNumber("counts.icc", "ICC of counts", "number of objects of an image", group="counts", is_optional=True),
)
COUNTS = "Objects of an image: number of a minus number of b"
#: numbers of pairs of annotators, in the tables with everything on these; ``group`` is the title of the table
OBJECT_PAIR_NUMBERS = (
    MainNumber("score", "score", group=""),
    MainNumber("image_alpha", "alpha of images", group=""),
    MainNumber("alpha", "alpha of objects", group=""),
    MainNumber("f1", "F1", group=""),
    MainNumber("jaccard", "Jaccard", group=""),
    MainNumber("kappa", "kappa", group=""),
    MainNumber("ac1", "AC1", group=""),
    MainNumber("pq", "score of all objects", group=""),
    MainNumber("sq", "mean {measure} of equal classes", group=""),
    MainNumber("rq", "F1 with equal classes", group=""),
    MainNumber("mean_dice", "mean Dice", group="", of_areas=True),
    MainNumber("count_difference", "mean difference", group=COUNTS),
    MainNumber("count_limit_low", "mean − 1.96 SD", group=COUNTS),
    MainNumber("count_limit_high", "mean + 1.96 SD", group=COUNTS),
)
_ALPHA = dataclasses.replace(alpha("{documents}"), card="α", hint=_HINT)
RATING_NUMBERS = (
    score("share of pairs of annotators who agree"),
    NOTHING_DISPUTED,
    dataclasses.replace(_ALPHA, is_judged=True),
    PERCENT_AGREEMENT,
)
TAG_NUMBERS = (score("Jaccard index of the tags of two annotators"), NOTHING_DISPUTED, _ALPHA, PERCENT_AGREEMENT)
PIXEL_NUMBERS = (
    score("overlap of the classes without background (IoU)"),
    MainNumber(
        "alpha.percent_agreement",
        "same class (pixels)",
        "of a pixel in two masks, background included",
        "share",
        card="Same class (pixels)",
    ),
    NOTHING_DISPUTED,
    IMAGE_ALPHA,
    alpha("pixels", "Alpha of pixels"),
    MEAN_ALPHA,
    MainNumber("mean.iou", "class IoU without background", group=COMPARED),
    MainNumber("mean.dice", "class Dice without background", group=COMPARED),
    MainNumber("mean.iou_with_background", "class IoU with background", group=COMPARED),
    MainNumber("mean.accuracy", "same class (pixels), mean of images", group=COMPARED),
    MainNumber("mean.kappa", "Cohen's kappa (pixels)", group=COMPARED),
)
