"""Report on objects, as dataclasses: headline, annotators, pairs, classes, sizes, attributes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

from ..evidence.hypotheses import Confused
from ..statistics.main_numbers import OBJECT_NUMBERS, MainNumber
from ..statistics.report import AgreementReport, Coefficients, OfOne, OfPair, WithIntervals

#: ``{id, filepath, value}``, on videos also ``frame_number``. Lists of worst samples have at most five entries, without
#: perfect samples; ties are broken by the number of labels (or pairs of labels), then by the size of the labels
Sample = dict[str, Any]
#: ``{a, b, n}``: number of pairs of labels of one unit with the values ``a`` and ``b`` (mostly class names)
Confusion = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Existence:
    """Do the annotators see the same objects? ``votes`` lists ``{assigned, votes, units}``.

    F1 is 2 · (units that both drew) / (labels of both), Jaccard (units that both drew) / (units that either drew), both
    summed over all pairs of annotators and all samples. ``presence`` is the agreement on a yes/no question for every
    rated image: did the annotator draw anything (without crowd regions)? ``share_present`` is the share of "yes".
    ``worst_samples`` have the lowest F1.
    """

    f1: float | None
    votes: list[dict[str, int]]
    jaccard: float | None = None
    presence: Coefficients | None = None
    share_present: float | None = None
    worst_samples: list[Sample] = dataclasses.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ClassGivenMatch:
    """Do annotators give the same class to an object that at least two of them drew?

    All numbers are over units with at least two members; missing labels do not count. ``confusion`` lists the 100 most
    frequent pairs of different classes ``{a, b, n}`` (``a`` before ``b`` by name; ``n`` pairs of labels of one unit);
    ``n_unlisted`` is the number of pairs of labels beyond these. ``worst_samples`` have the largest share of pairs of
    matched labels with different classes.
    """

    alpha: float | None
    percent_agreement: float | None
    n_units: int
    coefficients: Coefficients | None = None
    confusion: list[Confusion] = dataclasses.field(default_factory=list)
    n_unlisted: int = 0
    worst_samples: list[Sample] = dataclasses.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Localisation:
    """Do annotators draw the same outline of an object? Over all pairs of matched labels.

    ``measure`` names the similarity behind ``iou`` in the whole report (OKS for keypoints). ``visibility`` is for
    keypoints: points that both labelled / points that either labelled; None for other labels. ``iou_histogram``
    counts pairs in bins of 0.05 from 0 to 1 (an edge belongs to the upper bin, 1 to the last); empty without a pair.
    ``worst_samples`` have the lowest mean IoU.
    """

    mean_iou: float | None
    mean_dice: float | None
    n_pairs: int
    measure: str = "IoU"
    visibility: float | None = None
    median_iou: float | None = None
    iou_histogram: list[int] = dataclasses.field(default_factory=list)
    worst_samples: list[Sample] = dataclasses.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Counts:
    """Do annotators count the same number of objects? ``icc`` is ICC(2,1) over images that all were assigned to."""

    icc: float | None = None


@dataclass(frozen=True, slots=True)
class AttributeSummary:
    """Do annotators give an object the same value of an attribute? Over units with at least two given values.

    Numbers that differ by at most the run's ``tolerance`` agree. ``n_conflicts`` counts units with at least two values
    that do not agree; ``percent_agreement`` is the mean over units of the share of agreeing pairs. ``level`` is the
    level of ``alpha``, which ignores the tolerance: interval if all values are numbers, else nominal. ``conflicts``
    lists the 20 most frequent pairs of different values ``{a, b, n}``; ``worst_samples`` have the largest share of such
    pairs.
    """

    name: str
    level: str
    n_units: int
    n_conflicts: int
    percent_agreement: float | None
    alpha: float | None
    conflicts: list[Confusion] = dataclasses.field(default_factory=list)
    worst_samples: list[Sample] = dataclasses.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SizeSummary:
    """Agreement on the units of one size: ``small``, ``medium`` or ``large``, by the median area of their labels.

    The area of lines and keypoints is the area of their bounding boxes. ``area_from`` (included) and ``area_to``
    (excluded; None: no limit) are in ``unit``: ``px²`` (COCO's limits of 32² and 96², if the sizes of all images are
    known), or ``share of the image`` (terciles of the units of rated samples). ``miss_rate`` is that of
    :class:`AnnotatorSummary`, of all annotators together: the units that two others drew, counted for every annotator
    who was assigned, and the share of them that the annotator did not draw; None where there are none. ``f1`` is as in
    :class:`Existence`. IoU is over the pairs of labels of these units, as in :class:`Localisation`. ``n_lone`` units
    were drawn by one annotator alone.
    """

    size: str
    area_from: float | None
    area_to: float | None
    unit: str
    n_units: int
    n_pairs: int
    mean_iou: float | None
    median_iou: float | None
    miss_rate: float | None
    f1: float | None
    n_lone: int = 0


@dataclass(frozen=True, slots=True)
class SampleMean:
    """Mean and population standard deviation over the ``n`` samples in which a number is defined."""

    mean: float | None
    std: float | None
    n: int


@dataclass(frozen=True, slots=True)
class PairSummary(OfPair):
    """Agreement of two annotators on the samples that both were assigned to.

    ``score`` is the mean over samples; ``pq`` is that of all samples together (``sq`` times ``rq``).
    ``image_alpha`` is ``1 - (1 - score) / expected``, with the expected distance of the whole report for all pairs.
    ``f1`` and ``jaccard`` count matched objects of any class, ``rq`` only matched objects of equal class. ``kappa``
    (Cohen) and ``ac1`` (Gwet) are over the classes of matched objects; ``confusion`` lists the 20 most frequent pairs
    of different classes ``{a, b, n}``, in the order of the annotators (fewer from 101 annotators on, as all pairs
    together list at most 100,000); ``n_unlisted`` counts the pairs of labels that are not listed. ``intra`` marks two
    sessions of one person. ``visibility`` is for keypoints; ``track_consistency`` is the share of frames in which a
    track keeps its partner. The keys of ``intervals`` are the names of the numbers.

    ``count_difference`` is the mean over shared images of (number of objects of ``a`` - number of objects of ``b``),
    with its limits of agreement (mean ± 1.96 standard deviations).
    """

    a: str
    b: str
    n_samples: int
    n_a: int
    n_b: int
    n_matched: int
    score: float | None
    alpha: float | None
    percent_agreement: float | None
    f1: float | None
    class_agreement: float | None
    mean_iou: float | None
    mean_dice: float | None
    pq: float | None
    sq: float | None
    rq: float | None
    mean_max_iou: dict[str, SampleMean]
    alignment: dict[str, float | int | None] | None
    image_alpha: float | None = None
    visibility: float | None = None
    track_consistency: float | None = None
    jaccard: float | None = None
    kappa: float | None = None
    ac1: float | None = None
    count_difference: float | None = None
    count_limit_low: float | None = None
    count_limit_high: float | None = None
    confusion: list[Confusion] = dataclasses.field(default_factory=list)
    n_unlisted: int = 0
    intra: bool = False

    @property
    def n_labels(self) -> int:
        """Number of labels of both."""
        return self.n_a + self.n_b


@dataclass(frozen=True, slots=True)
class Bias(WithIntervals):
    """Bias of one annotator's boxes against the median box of their unit, over ``n`` units with at least two members.

    The median box has the median of every edge of the members' bounding boxes; units whose median box has no width or
    height are left out. Values are in per cent; positive means larger, right or down: ``size`` is the square root of
    (area / area of the median box), minus 1; ``left``, ``top``, ``right`` and ``bottom`` are offsets of the edges
    divided by the median box's width or height. ``mean``, ``std`` and ``intervals`` (of the means) have these keys.

    The median includes the annotator's own box: where two drew the object, each shows half of their difference.
    """

    n: int
    mean: dict[str, float | None]
    std: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class ConsensusAgreement(WithIntervals):
    """One annotator against the consensus of the others, on samples with at least two others.

    A unit is in the consensus if at least half of the other assigned annotators drew it (with two others, one is
    enough); its class is the majority class, undefined for ties. ``n_units`` counts units in the consensus,
    ``n_objects`` the annotator's objects. ``precision`` is the share of the annotator's objects that are in the
    consensus, ``recall`` the share of the consensus that the annotator drew. Of the units in both, ``class_agreement``
    is the share with the same class (if the consensus has one), and ``mean_iou`` the mean IoU with the other members.
    """

    n_units: int
    n_objects: int
    precision: float | None
    recall: float | None
    f1: float | None
    class_agreement: float | None
    mean_iou: float | None


@dataclass(frozen=True, slots=True)
class AnnotatorSummary(OfOne):
    """The labels and the agreement of one annotator.

    ``verdicts`` counts the annotator's labels by verdict; ``verdict_shares`` divides by all labels with a verdict.
    ``n_could_miss`` counts objects that at least two others drew, ``n_missed`` the objects among them that this
    annotator did not draw; ``miss_rate`` is ``n_missed / n_could_miss``, ``miss_rate_by_size`` the same by size (empty
    if objects have no size). Intervals by size or verdict have keys such as ``miss_rate_by_size.small``. ``n_crowd``
    labels are crowd regions or lie mostly within one of another annotator; no other number counts them. ``score`` and
    ``mean_iou`` are means over the pairs with the other annotators: of the scores of samples, and of the IoU of matched
    labels. ``class_conflicts`` lists the 20 most frequent ``{a, b, n}``: this annotator gave ``a``, another one ``b``.

    ``n_majority`` counts the labels to whose objects more than half of the others who drew them, at least two, gave one
    class (with two annotators in all: the other's class); ``n_other_class`` counts the labels among these with another
    class, and ``other_class`` is their share. ``other_classes`` lists the 20 most frequent ``{a, b, n}``: ``n`` labels
    with the class ``a`` where most of the others gave ``b``.

    ``vitality`` is pooled alpha with all annotators minus pooled alpha without this one (positive: this one raises
    agreement), with unchanged matching, both on samples with at least two other assigned annotators; None where the
    annotator was assigned to none of these. ``person`` is set if several sessions belong to one person.
    """

    name: str
    n_assigned: int
    n_drew_nothing: int
    n_not_assigned: int
    n_objects: int
    n_missed: int
    n_crowd: int
    verdicts: dict[str, int]
    classes: dict[str, int]
    verdict_shares: dict[str, float | None] = dataclasses.field(default_factory=dict)
    person: str | None = None
    score: float | None = None
    n_could_miss: int = 0
    miss_rate: float | None = None
    miss_rate_by_size: dict[str, float | None] = dataclasses.field(default_factory=dict)
    mean_iou: float | None = None
    class_conflicts: list[Confusion] = dataclasses.field(default_factory=list)
    n_majority: int = 0
    n_other_class: int = 0
    other_class: float | None = None
    other_classes: list[Confusion] = dataclasses.field(default_factory=list)
    bias: Bias | None = None
    vitality: float | None = None
    consensus: ConsensusAgreement | None = None


@dataclass(frozen=True, slots=True)
class Sessions(WithIntervals):
    """Agreement between sessions of one person (intra) and between different persons (inter).

    All other numbers of the report treat every session as an annotator. Numbers are means over the pairs of annotators
    of each kind; ``alpha`` pools the pairs and counts each unit of a pair as two ratings, so that both are comparable.
    """

    intra_alpha: float | None
    inter_alpha: float | None
    intra_score: float | None
    inter_score: float | None
    intra_f1: float | None
    inter_f1: float | None
    intra_mean_iou: float | None
    inter_mean_iou: float | None
    n_intra_pairs: int
    n_inter_pairs: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """A group of annotators in the hierarchical clustering, and the mean pair score at which it was joined.

    Average linkage over the pairs with a score of 10 images and 20 labels or more; groups without such a pair between
    them are not joined.
    """

    members: list[str]
    similarity: float | None


@dataclass(frozen=True, slots=True)
class ClassSummary(OfOne):
    """One class, on rated samples. ``n_units`` counts units with at least one label of this class.

    ``prevalence`` is the share of all labels with this class; ``alpha`` has two categories, this class and everything
    else (including missing, if it is a category). ``agreement_given_match`` is (pairs of labels that both have this
    class) / (pairs of labels with this class at least once), over pairs of labels of one unit. ``miss_rate`` is as in
    :class:`SizeSummary`, over units in which more than half of the labels have this class. IoU is over the pairs that
    both have this class, as in :class:`Localisation`. ``confused_with`` lists ``{class, n}``, the 20 most frequent
    first; ``n`` is a number of pairs of labels. ``n_lone`` units were drawn by one annotator alone.
    ``share_of_disagreement`` is the share of labels of this class in ``(n_a + n_b) (1 - pq)``, summed over pairs of
    annotators; it adds up to 1 over all classes, and is None without disagreement.
    """

    name: str
    n_objects: int
    n_units: int
    prevalence: float | None
    alpha: float | None
    agreement_given_match: float | None
    miss_rate: float | None
    mean_iou: float | None
    median_iou: float | None
    confused_with: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    n_lone: int = 0
    share_of_disagreement: float | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """Pooled alpha before and after merging two classes, with the matching unchanged.

    ``n_confused`` pairs of labels of one unit have these two classes; the ten most confused pairs of classes are tried.
    """

    classes: list[str]
    n_confused: int
    alpha_before: float | None
    alpha_after: float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ObjectReport(AgreementReport):
    """Report on objects that were matched across annotators."""

    family: ClassVar[str] = "objects"
    has_objects: ClassVar[bool] = True
    main_numbers: ClassVar[tuple[MainNumber, ...]] = OBJECT_NUMBERS

    n_empty: int
    n_hard_components: int
    n_inexact_components: int
    #: how much the sum of (similarity - threshold) of inexact components may fall short of the best, at most, as a
    #: share; None if there are none
    inexact_gap: float | None = None
    #: samples on which so many objects overlap that only the most similar pairs were compared
    n_crowded: int = 0
    n_repaired: int
    #: keypoint objects of a single point, which match only if they are equal
    n_points: int
    #: mean over the pairs of annotators; None without tracks
    track_consistency: float | None
    existence: Existence
    class_given_match: ClassGivenMatch
    localisation: Localisation
    pairs: list[PairSummary]
    annotators: list[AnnotatorSummary]
    #: other coefficients over the same units as alpha
    coefficients: Coefficients | None = None
    counts: Counts = dataclasses.field(default_factory=Counts)
    attributes: list[AttributeSummary] = dataclasses.field(default_factory=list)
    sizes: list[SizeSummary] = dataclasses.field(default_factory=list)
    #: None unless a person labelled several times
    sessions: Sessions | None = None
    #: hierarchical clustering of the annotators by pair score, the closest groups first
    clusters: list[Cluster] = dataclasses.field(default_factory=list)
    #: the most frequent first, at most 1,000
    classes: list[ClassSummary] = dataclasses.field(default_factory=list)
    n_classes_unlisted: int = 0
    #: the most confused pairs of classes, the largest effect first
    merges: list[Merge] = dataclasses.field(default_factory=list)
    #: groups of class names that differ in case, spaces, separators or one letter, and that annotators give to the same
    #: objects; never merged
    similar_names: list[list[str]] = dataclasses.field(default_factory=list)
    #: pairs of classes that met on 10 images or more, the highest lower end of ``share`` first; at most 1,000
    confused: list[Confused] = dataclasses.field(default_factory=list)

    @property
    def measure(self) -> str:
        return self.localisation.measure
