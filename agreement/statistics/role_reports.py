"""Parts of every report on a reference and on models, as dataclasses."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from ...metrics.numeric.rate_tests import MIN_ANNOTATORS as MIN_ANNOTATORS
from ...metrics.numeric.rate_tests import MIN_ITEMS as MIN_ITEMS
from .values import WithIntervals


@dataclass(frozen=True, slots=True)
class PartComparison(WithIntervals):
    """The labels of one class, or of one size, of an annotator against a reference or model.

    ``precision`` is the share of the annotator's labels of this class that are matched with a label of the reference of
    this class, ``recall`` the share of the labels of the reference. By size any class matches; a matched label has the
    size of the label of the reference, others have their own. ``class_jaccard`` is the share of matches of equal
    classes among the labels of either. ``iou`` is the share of the pixels in either mask of
    this class that are in both (masks only).
    """

    name: str
    n_labels: int
    n_reference: int
    n_matched: int
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    class_jaccard: float | None = None
    mean_iou: float | None = None
    iou: float | None = None


@dataclass(frozen=True, slots=True)
class AttributeComparison(WithIntervals):
    """One attribute of the matched labels of an annotator, over ``n_labels`` pairs in which both have a value of it.

    ``accuracy`` is the share of pairs with equal values (numbers: within the tolerance), ``n_right / n_labels``.
    If all values are numbers, there are ``mean_error`` (annotator - reference) and ``mean_absolute_error``, else
    Cohen's ``kappa``. ``confusion`` lists the 20 most frequent ``{reference, annotator, n}`` of values that differ.
    """

    name: str
    n_labels: int
    n_right: int
    confusion: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    n_unlisted: int = 0
    accuracy: float | None = None
    kappa: float | None = None
    mean_error: float | None = None
    mean_absolute_error: float | None = None


@dataclass(frozen=True, slots=True)
class RoleComparison(WithIntervals):
    """One annotator against a reference or model, on the ``n_samples`` images that both have.

    Labels are matched one to one, as in the run, but separately for every annotator.
    ``n_matched`` pairs reach the threshold, ``n_right`` with equal classes and ``n_wrong_class`` with different ones.
    Unmatched labels are matched once more, one to one, at the similarity 0.1: ``n_loose`` labels of the annotator then
    have a partner, ``n_extra`` have none. ``n_missed`` labels of the reference are not matched. Of the right ones
    ``n_wrong_attribute`` differ in a compared attribute.

    Objects and tags: ``precision`` is ``n_matched / n_labels``, ``recall`` ``n_matched / n_reference``; of a model,
    whose labels ``n_reference`` counts, the other way round. ``f1`` is their harmonic mean; ``pq`` the score of all
    images together, with equal classes alone; ``class_accuracy`` ``n_right / n_matched`` and Cohen's ``kappa`` of the
    classes of matched objects; ``mean_iou`` the mean over matched pairs; ``jaccard`` ``n_matched / (labels of
    either)``; ``class_precision``, ``class_recall`` and ``class_jaccard`` are the same with ``n_right`` above (objects
    only); ``bias`` the mean offset of boxes from those of the reference in per cent of their size, as in
    :class:`~..objects.report.Bias`.
    Classes: ``accuracy`` and Cohen's ``kappa``. Numbers: ``mean_error`` (annotator - reference),
    ``mean_absolute_error`` and ``accuracy`` (within the tolerance). Masks: ``mean_iou`` is the mean class IoU of images
    without background, ``accuracy`` the share of equal pixels. ``confusion`` lists the 20 most frequent
    ``{reference, annotator, n}`` with different classes.
    """

    name: str
    n_samples: int
    n_labels: int = 0
    n_reference: int = 0
    n_matched: int = 0
    n_right: int = 0
    n_wrong_class: int = 0
    n_loose: int = 0
    n_extra: int = 0
    n_missed: int = 0
    n_wrong_attribute: int = 0
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    pq: float | None = None
    class_accuracy: float | None = None
    mean_iou: float | None = None
    jaccard: float | None = None
    class_precision: float | None = None
    class_recall: float | None = None
    class_jaccard: float | None = None
    accuracy: float | None = None
    kappa: float | None = None
    mean_error: float | None = None
    mean_absolute_error: float | None = None
    bias: dict[str, float | None] = dataclasses.field(default_factory=dict)
    confusion: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    n_unlisted: int = 0
    classes: list[PartComparison] = dataclasses.field(default_factory=list)
    sizes: list[PartComparison] = dataclasses.field(default_factory=list)
    attributes: list[AttributeComparison] = dataclasses.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SideBySide(WithIntervals):
    """A model and the annotators left out in turn, each against the same others on the same images.

    ``model`` is the F1 with equal classes of the model and the annotators who remain, ``annotators`` that of those left
    out and the same others, and ``difference`` the first minus the second. ``model_pq``, ``annotators_pq`` and
    ``difference_pq`` are the same of the score of all images together, which also falls with the overlap. ``n_labels``
    are those of the model, ``n_samples`` the images.
    """

    name: str
    n_samples: int
    n_labels: int
    model: float | None = None
    annotators: float | None = None
    difference: float | None = None
    model_pq: float | None = None
    annotators_pq: float | None = None
    difference_pq: float | None = None


@dataclass(frozen=True, slots=True)
class LeftOutTest:
    """The model against one annotator left out, in the alternative annotator test.

    ``advantage`` is the share of images on which the F1 of the model with the others is at least that of the
    annotator, and ``advantage_of_annotator`` the other way round. ``p_value`` is of the hypothesis that the annotator
    is better by :data:`EPSILON` or more, None with too few images (``n`` images, or videos); the model has ``won``
    if it is rejected.
    """

    name: str
    n: int
    advantage: float | None
    advantage_of_annotator: float | None
    p_value: float | None
    won: bool


@dataclass(frozen=True, slots=True)
class AlternativeTest:
    """The alternative annotator test at one epsilon; ``passed`` if the model wins against half of the annotators."""

    epsilon: float
    winning_rate: float
    passed: bool


#: epsilon (the allowed difference) of the test in the report's sentence: that of its authors for crowd workers
EPSILON = 0.1
#: epsilons of the authors for crowd workers, skilled annotators and experts
EPSILONS = (EPSILON, 0.15, 0.2)
#: a model agrees as well as the annotators if it agrees at most this much less
MARGIN = 0.05


@dataclass(frozen=True, slots=True)
class PersonComparison:
    """Is the model as good as a person? Every annotator is left out in turn.

    ``total`` has all images about which the model and two annotators were asked, ``annotators`` those of each left
    out, ``classes`` and ``sizes`` the labels of each. With fewer than three annotators who have enough images,
    ``tests`` are empty, and ``advantage_probability`` is None.
    """

    total: SideBySide
    annotators: list[SideBySide] = dataclasses.field(default_factory=list)
    classes: list[SideBySide] = dataclasses.field(default_factory=list)
    sizes: list[SideBySide] = dataclasses.field(default_factory=list)
    left_out: list[LeftOutTest] = dataclasses.field(default_factory=list)
    tests: list[AlternativeTest] = dataclasses.field(default_factory=list)
    advantage_probability: float | None = None

    @property
    def verdict(self) -> str | None:
        """``better``, ``as_well`` (at most :data:`MARGIN` less) or ``worse``; None without enough evidence."""
        interval = self.total.intervals.get("difference")
        if interval is None:
            return None
        if interval.low > 0:
            return "better"
        if interval.high < 0:
            return "worse"
        return "as_well" if interval.low >= -MARGIN else None


@dataclass(frozen=True, slots=True, repr=False)
class RoleReport(WithIntervals):
    """Every annotator against a reference, or against a model.

    The role and an annotator were asked about ``n_samples`` images; about ``n_without`` images the role was not asked.
    ``n_labels`` are all labels of the role. ``annotators`` are in the order of the report. ``mean`` has the mean over
    annotators of their numbers.
    ``thresholds`` are the least confidences of its labels: one, or those of two halves of the images (the option
    ``confidence_threshold``); empty without any.
    """

    name: str
    n_samples: int
    n_without: int
    n_labels: int
    annotators: list[RoleComparison]
    mean: dict[str, float | None] = dataclasses.field(default_factory=dict)
    thresholds: list[float] = dataclasses.field(default_factory=list)
    #: whether a model is as good as a person; None for a reference, and where no two annotators share an image
    person: PersonComparison | None = None
    n_undecided: int = 0  #: labels of annotators left out, as their objects are not decided in a reference of decisions
    #: decisions of the reference that a rule made from the labels of annotators, also of a report on a part of all
    n_by_rule: int = 0

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.name!r}, annotators: {len(self.annotators)}, images: {self.n_samples}>"
