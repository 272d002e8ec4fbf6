"""The report on objects, and its parts."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

from ..main_numbers import OBJECT_NUMBERS, MainNumber
from ..report import AgreementReport, Coefficients, Each, Interval

#: ``{id, filepath, value}`` and, on videos, ``frame_number``. Lists of the worst samples have five, those in which
#: nothing is wrong left out; of equal ones first that with more labels (pairs of labels), then that with larger labels
Sample = dict[str, Any]
#: ``{a, b, n}``: how often two values, mostly class names, met in one unit
Confusion = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Existence:
    """Do the annotators see the same objects? ``votes`` lists ``{assigned, votes, units}``.

    F1 and Jaccard index are over all pairs of annotators of all samples: twice the units that both drew, of the labels
    of both; and the units that both drew, of those that either drew. ``presence`` is about images: did an annotator
    draw anything at all that counts (crowd regions do not)? Two categories, over rated samples; ``share_present`` is
    the share of "yes" among these answers. ``worst_samples`` have the lowest F1 over their pairs.
    """

    f1: float | None
    votes: list[dict[str, int]]
    jaccard: float | None = None
    presence: Coefficients | None = None
    share_present: float | None = None
    worst_samples: list[Sample] = dataclasses.field(default_factory=list)

    parts: ClassVar[dict[str, Any]] = {"presence": Coefficients}


@dataclass(frozen=True, slots=True)
class ClassGivenMatch:
    """Do they name an object alike that two or more of them drew?

    All numbers are over units with at least two members, missing left out. ``confusion`` lists the pairs of
    different classes ``{a, b, n}``, ``a`` before ``b`` by name: in ``n`` pairs of labels of one unit one annotator said
    ``a`` and the other ``b``; the 100 most frequent first, ``n_unlisted`` pairs are in entries that were left out.
    ``worst_samples`` have the largest share of such pairs among their pairs of matched labels.
    """

    alpha: float | None
    percent_agreement: float | None
    n_units: int
    coefficients: Coefficients | None = None
    confusion: list[Confusion] = dataclasses.field(default_factory=list)
    n_unlisted: int = 0
    worst_samples: list[Sample] = dataclasses.field(default_factory=list)

    parts: ClassVar[dict[str, Any]] = {"coefficients": Coefficients}


@dataclass(frozen=True, slots=True)
class Localisation:
    """Do they draw an object alike that two or more of them drew? Over all pairs of matched labels.

    ``measure`` is what ``iou`` stands for, everywhere in the report: of keypoints it is OKS, and ``visibility`` the
    share of points that both labelled, of those that either did; other labels have none. ``iou_histogram`` and
    ``dice_histogram`` count pairs in bins of 0.05 from 0 to 1 (an edge belongs to the upper bin, 1 to the last), empty
    without a pair. ``worst_samples`` have the lowest mean IoU.
    """

    mean_iou: float | None
    mean_dice: float | None
    n_pairs: int
    measure: str = "IoU"
    visibility: float | None = None
    median_iou: float | None = None
    median_dice: float | None = None
    iou_histogram: list[int] = dataclasses.field(default_factory=list)
    dice_histogram: list[int] = dataclasses.field(default_factory=list)
    worst_samples: list[Sample] = dataclasses.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AttributeSummary:
    """Do they give a matched object the same attribute? Over units in which two or more annotators gave a value.

    Numbers that differ by at most the ``tolerance`` of the run agree; ``n_conflicts`` counts units in which two values
    do not, ``percent_agreement`` is the mean over units of the share of pairs of values that agree. ``level`` is that
    of ``alpha``, which knows no tolerance: interval if all values are numbers, else nominal. ``conflicts`` lists the 20
    most frequent pairs of different values ``{a, b, n}`` of two labels of one unit; ``worst_samples`` have the largest
    share of such pairs.
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

    Areas are those of regions, of lines and keypoints those of their boxes. ``area_from`` (included) and ``area_to``
    (excluded; None: no limit) are in ``unit``: ``px²`` (COCO's limits of 32² and 96², where the sizes of all images are
    known), or ``share of the image`` (thirds of the units of rated samples). ``miss_rate`` is the share of missing
    labels: assigned annotators without an object, of all assigned annotators, over units that two or more drew; ``f1``
    that of existence. IoU and Dice are over the pairs of labels of these units, as in :class:`Localisation`.
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
    mean_dice: float | None = None
    median_dice: float | None = None
    iou_histogram: list[int] = dataclasses.field(default_factory=list)
    dice_histogram: list[int] = dataclasses.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SampleMean:
    """Mean and population standard deviation over the ``n`` samples in which a number is defined."""

    mean: float | None
    std: float | None
    n: int


@dataclass(frozen=True, slots=True)
class PairSummary:
    """Agreement of two annotators on the samples that both were assigned to.

    ``score`` is the mean over samples of the panoptic quality, ``pq`` the pooled one (``sq`` times ``rq``); ``f1`` and
    ``jaccard`` count matched objects whatever their class, ``rq`` those of one class. ``kappa`` is Cohen's and ``ac1``
    Gwet's, over the classes of matched objects, ``confusion`` the 20 most frequent of those classes ``{a, b, n}`` as
    each of the two said, equal ones left out. ``intra`` marks two sessions of one person. ``visibility`` is that of
    keypoints, ``track_consistency`` the share of frames in which a track keeps its partner. ``intervals`` are of the
    numbers of the same name.
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
    visibility: float | None = None
    track_consistency: float | None = None
    jaccard: float | None = None
    kappa: float | None = None
    ac1: float | None = None
    confusion: list[Confusion] = dataclasses.field(default_factory=list)
    n_unlisted: int = 0
    intra: bool = False
    intervals: dict[str, Interval] = dataclasses.field(default_factory=dict)

    parts: ClassVar[dict[str, Any]] = {"mean_max_iou": Each(SampleMean), "intervals": Each(Interval)}


@dataclass(frozen=True, slots=True)
class Bias:
    """How one annotator's boxes differ from the median of their unit, over units of at least two members.

    Boxes are bounding boxes, the median box has the median of every edge; units whose median box has no width or height
    are left out. In per cent, positive is larger, right, down: ``size`` is the ratio of the side of a square of equal
    area to that of the unit's median box, minus 1; ``left``, ``top``, ``right`` and ``bottom`` are offsets of the edges
    as a share of the median box's width or height. ``mean`` and ``std`` are by these names, ``intervals`` those of the
    means.

    The median includes the annotator's own box, so that of two annotators each shows half of their difference;
    ``n`` counts the units.
    """

    n: int
    mean: dict[str, float | None]
    std: dict[str, float | None]
    intervals: dict[str, Interval] = dataclasses.field(default_factory=dict)

    parts: ClassVar[dict[str, Any]] = {"intervals": Each(Interval)}


@dataclass(frozen=True, slots=True)
class ConsensusAgreement:
    """One annotator against the consensus of the others, who must be at least two on a sample.

    A unit is in the consensus if at least half of the others who were assigned drew it (of two others, one); its class
    is the one that most of them gave, undefined where several lead. ``n_units`` counts these units, ``n_objects`` the
    annotator's objects. ``precision`` is the share of the annotator's objects that are in the consensus, ``recall`` the
    share of the consensus that the annotator drew, ``class_agreement`` that of equal classes among those in both whose
    consensus has a class, ``mean_iou`` the mean IoU over all pairs of those in both with another member.
    """

    n_units: int
    n_objects: int
    precision: float | None
    recall: float | None
    f1: float | None
    class_agreement: float | None
    mean_iou: float | None
    intervals: dict[str, Interval] = dataclasses.field(default_factory=dict)

    parts: ClassVar[dict[str, Any]] = {"intervals": Each(Interval)}


@dataclass(frozen=True, slots=True)
class AnnotatorSummary:
    """What one annotator did. ``verdicts`` counts their labels; ``n_missed`` objects that at least two others drew.

    ``verdict_shares`` are shares of all labels with a verdict. Intervals of numbers by size or verdict are named
    ``miss_rate_by_size.small`` and so on.

    ``n_could_miss`` counts those objects, drawn or not (``miss_rate`` is the share that was missed), by size in
    ``miss_rate_by_size`` (empty where objects have no size). ``n_crowd`` labels are crowd regions, or in those of
    others; they are counted nowhere else. ``score`` is the mean over all samples of the scores of the pairs with each
    of the others, ``mean_iou`` that over their matched labels. ``class_conflicts`` lists the 20 most frequent ``{a, b,
    n}``: this annotator said ``a``, another ``b``, of one unit. ``vitality`` is the pooled alpha with all annotators
    minus that without this one (positive: this one raises agreement): the units left as they are, on the samples to
    which two of the others were assigned; ``vitality_rematched`` with the units of the others alone, where ``rematch``
    asks for it. Both are None with fewer than 3 annotators. ``person`` is who labels, where several sessions belong to
    one.
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
    bias: Bias | None = None
    vitality: float | None = None
    vitality_rematched: float | None = None
    consensus: ConsensusAgreement | None = None
    intervals: dict[str, Interval] = dataclasses.field(default_factory=dict)

    parts: ClassVar[dict[str, Any]] = {
        "bias": Bias,
        "consensus": ConsensusAgreement,
        "intervals": Each(Interval),
    }


@dataclass(frozen=True, slots=True)
class Sessions:
    """Agreement of the sessions of one person (intra), apart from that of different persons (inter).

    All other numbers of the report are over all annotators, sessions of one person as well. Means over the pairs of
    annotators of that kind; ``alpha`` is that of all their pairs together, each unit of a pair counted as two ratings,
    so that the two are comparable.
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
    intervals: dict[str, Interval] = dataclasses.field(default_factory=dict)

    parts: ClassVar[dict[str, Any]] = {"intervals": Each(Interval)}


@dataclass(frozen=True, slots=True)
class Cluster:
    """Annotators who agree more with each other than with the rest: the mean pair score at which they join.

    By average linkage, over pairs that have a score: unknown ones are left to the others, and groups of which no pair
    is known do not join.
    """

    members: list[str]
    similarity: float | None


@dataclass(frozen=True, slots=True)
class ClassSummary:
    """One class, on rated samples. ``n_units`` counts units in which anybody gave it.

    ``prevalence`` is its share of all labels, ``alpha`` that of two categories, this class and everything else (missing
    included, if it is a category). ``agreement_given_match``: of the pairs of labels of one unit with this class on one
    side at least, the share with it on both. ``miss_rate``: over the units drawn by two or more, of whose labels more
    than half have this class, the share of assigned annotators without an object. IoU and Dice are over the pairs of
    labels of one unit that both have it, as in :class:`Localisation`. ``confused_with`` lists ``{class, n}``, in how
    many pairs of labels of one unit, the 20 most frequent first.
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
    mean_dice: float | None = None
    median_dice: float | None = None
    iou_histogram: list[int] = dataclasses.field(default_factory=list)
    dice_histogram: list[int] = dataclasses.field(default_factory=list)
    confused_with: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    intervals: dict[str, Interval] = dataclasses.field(default_factory=dict)

    parts: ClassVar[dict[str, Any]] = {"intervals": Each(Interval)}


@dataclass(frozen=True, slots=True)
class Merge:
    """What merging two classes would do to the pooled alpha, the units left as they are.

    ``n_confused`` pairs of labels of one unit have one class and the other; the ten pairs of classes with the most are
    tried.
    """

    classes: list[str]
    n_confused: int
    alpha_before: float | None
    alpha_after: float | None


@dataclass(frozen=True, slots=True)
class ThresholdPoint:
    """The main numbers at another matching threshold.

    Of ``n_hard`` entangled components ``n_inexact`` were too large for an exact solution there; components of more than
    9 objects are solved exactly at the threshold of the run only.
    """

    threshold: float
    alpha: float | None
    score: float | None
    f1: float | None
    n_units: int
    n_hard: int
    n_inexact: int


@dataclass(frozen=True, slots=True)
class RuleAlpha:
    """Alpha under other rules, at the threshold of the run; ``undefined`` concerns ``mean`` alone."""

    method: str
    classes: str
    missing: str
    empty: str
    undefined: str
    pooled: float | None
    mean: float | None
    n_defined: int


@dataclass(frozen=True, slots=True)
class DataThreshold:
    """The matching threshold that the data suggest.

    Best similarities of objects with those of another annotator on the same image (observed), and on another image
    (expected); ``threshold`` is where their densities cross, ``ks`` the largest distance of their cumulative
    distributions (1: told apart by some threshold, 0: not at all). ``observed`` and ``expected`` count similarities in
    bins of 0.05 from 0 to 1. ``reason`` says why there is no threshold.
    """

    threshold: float | None
    ks: float | None
    n_samples: int
    n_observed: int
    n_expected: int
    observed: list[int]
    expected: list[int]
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectReport(AgreementReport):
    """How far annotators agree on objects that were matched across annotators."""

    family: ClassVar[str] = "objects"
    main_numbers: ClassVar[tuple[MainNumber, ...]] = OBJECT_NUMBERS
    parts: ClassVar[dict[str, Any]] = {
        **AgreementReport.parts,
        "existence": Existence,
        "class_given_match": ClassGivenMatch,
        "localisation": Localisation,
        "coefficients": Coefficients,
        "attributes": AttributeSummary,
        "sizes": SizeSummary,
        "pairs": PairSummary,
        "annotators": AnnotatorSummary,
        "sessions": Sessions,
        "clusters": Cluster,
        "classes": ClassSummary,
        "merges": Merge,
        "thresholds": ThresholdPoint,
        "data_threshold": DataThreshold,
        "rules": RuleAlpha,
    }

    n_empty: int
    #: this and the next three are known of a run as a whole only, and None of a part of it
    n_hard_components: int | None
    n_inexact_components: int | None
    n_repaired: int | None
    #: keypoints without an extent, which match only where they are equal
    n_points: int | None
    #: mean over the pairs of annotators
    track_consistency: float | None
    existence: Existence
    class_given_match: ClassGivenMatch
    localisation: Localisation
    pairs: list[PairSummary]
    annotators: list[AnnotatorSummary]
    #: beside alpha, over the same units
    coefficients: Coefficients | None = None
    attributes: list[AttributeSummary] = dataclasses.field(default_factory=list)
    sizes: list[SizeSummary] = dataclasses.field(default_factory=list)
    #: only where a person labelled several times
    sessions: Sessions | None = None
    #: who sides with whom: the joins of a clustering by pair score, the closest first
    clusters: list[Cluster] = dataclasses.field(default_factory=list)
    #: the most frequent first, at most 1,000
    classes: list[ClassSummary] = dataclasses.field(default_factory=list)
    n_classes_unlisted: int = 0
    #: of the most confused pairs of classes, the largest effect first
    merges: list[Merge] = dataclasses.field(default_factory=list)
    #: groups of class names that differ in case, spaces, separators or one letter; never merged
    similar_names: list[list[str]] = dataclasses.field(default_factory=list)
    thresholds: list[ThresholdPoint] = dataclasses.field(default_factory=list)
    data_threshold: DataThreshold | None = None
    rules: list[RuleAlpha] = dataclasses.field(default_factory=list)
