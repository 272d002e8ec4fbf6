"""Label convergence: mean average precision of annotators against each other, and of a model against them.

Axes: ``K`` classes of ordered pairs of annotators, ``D`` ordered pairs, ``A`` areas (all, small, medium, large), ``T``
thresholds, ``E`` pairs of a label and another annotator who was asked about the image, ``N`` labels, ``S`` images.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...metrics.bootstrap.draws import column_sums, sparse
from ...metrics.geometry.objects import iou_from_areas
from ...metrics.matching.average_precision import COCO_THRESHOLDS, average_precision, match_detections
from ...metrics.matching.merging import TIE
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..matching.tables import Batch
from ..settings.config import AgreementConfig
from ..settings.errors import AgreementInputError
from ..statistics.estimates import Fields, estimates
from ..statistics.numbers import Key, Numbers
from ..statistics.presentation import ShowsItself, shown_as
from ..statistics.report import WithIntervals, number
from ..statistics.values import masked_means
from .classes import COCO_LIMITS, SIZES, own_areas

if TYPE_CHECKING:
    from pandas import DataFrame

#: what a label is if it is taken as a detection
RIGHT, WRONG, LEFT_OUT = 1, 0, -1
AREAS = ("all", *SIZES)
N_AREAS, N_THRESHOLDS = len(AREAS), len(COCO_THRESHOLDS)
#: the smallest and largest area of each of ``AREAS``, both included
_RANGES = np.array([(0.0, np.inf), *zip((0.0, *COCO_LIMITS), (*COCO_LIMITS, np.inf), strict=True)])
#: areas are compared to about seven digits
_SLACK = 1e-6
#: places of the thresholds over which each number is a mean
_OF_NUMBERS = {"map": slice(None), "map_50": slice(0, 1), "map_75": slice(5, 6)}
#: reasons for which the mean average precision is undefined
NO_PAIRS, NO_OBJECTS = "one_annotator", "no_objects"


@dataclass(frozen=True, slots=True)
class ClassConvergence(WithIntervals):
    """The numbers of a class: means over the ordered pairs of annotators whose reference drew it."""

    name: str
    n_labels: int  #: labels that another annotator was to find
    map: float | None
    map_50: float | None
    model: float | None = None  #: mean average precision of the model on the class


@dataclass(frozen=True, slots=True)
class AreaConvergence(WithIntervals):
    """Mean average precision on small (below 32² px), medium, or large (from 96² px) objects."""

    name: str
    n_labels: int
    map: float | None
    model: float | None = None


@dataclass(frozen=True, slots=True)
class PairConvergence(WithIntervals):
    """The labels of ``detector`` as detections of the objects of ``reference``."""

    reference: str
    detector: str
    n_samples: int  #: images about which both were asked, and on which one of them drew something
    map: float | None  #: None if the reference drew nothing there
    map_50: float | None


@dataclass(frozen=True, slots=True)
class ModelScore:
    """The mean average precision of a model against every annotator."""

    name: str
    map: float | None  #: mean over the annotators
    map_50: float | None
    pairs: list[PairConvergence] = dataclasses.field(default_factory=list)


@dataclass(frozen=True, slots=True, repr=False)
class Convergence(WithIntervals, ShowsItself):
    """Label convergence: mean average precision (mAP) of annotators against each other.

    The labels of one annotator are taken as detections of the objects of another: precision at 101 recall points,
    averaged over the IoU thresholds .50, .55 … .95 and over the classes that the other used, as COCO does; then over
    all ordered pairs of annotators, on the images about which both were asked. Labels of annotators have no confidence:
    all have the same score, and the order of their ids. COCO's own program keeps the order of its file: of labels in
    the order of ids its numbers are equal. Undefined numbers are None.

    References:
        D. Tschirschwitz, V. Rodehorst, "Label Convergence: Defining an Upper Performance Bound in Object Recognition
        through Contradictory Annotations", WACV 2025
    """

    shown_by: ClassVar[str] = "convergence"

    run_key: str
    measure: str  #: similarity of two labels, such as ``IoU`` or ``OKS``
    n_samples: int  #: images with at least two annotators
    map: float | None  #: over the thresholds .50 … .95
    map_50: float | None
    map_75: float | None
    #: F1 with equal classes of two annotators, over all pairs, at each of the thresholds .50, .55 … .95
    f1: list[float | None]
    undefined: str | None  #: why the numbers are None: ``one_annotator`` or ``no_objects``
    no_areas: bool  #: whether sizes in pixels are not known (``compute_metadata()`` finds them)
    classes: list[ClassConvergence] = dataclasses.field(default_factory=list)
    areas: list[AreaConvergence] = dataclasses.field(default_factory=list)
    pairs: list[PairConvergence] = dataclasses.field(default_factory=list)
    model: ModelScore | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.run_key!r}: {self.sentence}>"

    def f1_at(self, iou: float) -> float | None:
        """F1 with equal classes of annotators among each other at a threshold.

        Raises:
            AgreementInputError: if it is none of .50, .55 … .95
        """
        (place,) = np.nonzero(np.abs(COCO_THRESHOLDS - iou) < TIE)
        if not len(place):
            raise AgreementInputError(f"`iou` must be one of 0.5, 0.55 … 0.95, got {iou!r}")
        return self.f1[place[0]] if self.f1 else None

    @property
    def sentence(self) -> str:
        """The numbers in one sentence."""
        said: str = shown_as("convergence_sentence", self)
        return said

    def to_dataframe(self, table: str = "classes") -> DataFrame:
        """A table: ``summary``, ``classes``, ``areas``, ``pairs`` or ``model``; undefined numbers are nan."""
        return shown_as("convergence_frame", self, table)

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON-serialisable values."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class Detections:
    """Labels in pairs of annotators: ``annotator`` drew the label, the objects of ``other`` are to be found."""

    image: NDArray[np.bytes_]  #: shape ``(E,)``, id of the image
    sample: IntArray  #: shape ``(E,)``, its number
    annotator: IntArray  #: shape ``(E,)``
    other: IntArray  #: shape ``(E,)``
    category: IntArray  #: shape ``(E,)``, class code
    label: IntArray  #: shape ``(E,)``, number of the label
    score: FloatArray  #: shape ``(E,)``, its confidence; equal for all where there is none
    #: shape ``(A, T, E)``, the label as detection of the other's objects: ``RIGHT``, ``WRONG`` or ``LEFT_OUT``
    status: NDArray[np.int8]
    counted: BoolArray  #: shape ``(A, E)``, whether the other annotator has to find the label
    has_areas: bool  #: whether sizes in pixels are known; if not, only the first area has results

    @classmethod
    def of(
        cls,
        batch: Batch,
        image_ids: NDArray[np.bytes_],
        config: AgreementConfig,
        *,
        in_pixels: bool,
        score: FloatArray | None = None,
        model: int | None = None,
    ) -> Detections:
        """Match the labels of every two annotators who were asked about the same image.

        Args:
            batch: the labels
            image_ids: shape ``(S,)``
            config: the options of the run
            in_pixels: whether the geometry of the labels is in pixels
            score: shape ``(N,)``, confidence of every label, the highest is matched first; None: the order of the batch
            model: number of the annotator whose labels alone are detections; None: all labels are
        """
        objects, n_annotators = batch.objects, batch.assigned.shape[1]
        asked = batch.assigned[objects.sample]
        asked[np.arange(len(objects)), objects.annotator] = False
        if model is not None:
            asked[objects.annotator != model] &= np.arange(n_annotators) == model
        label, other = np.nonzero(asked)
        crowd = np.zeros(len(objects), np.bool_) if batch.crowd is None else batch.crowd
        within, has_areas = _within(batch, config, in_pixels)
        status = np.where(within[:, None, label] & ~crowd[label], WRONG, LEFT_OUT).astype(np.int8)
        status = np.repeat(status, N_THRESHOLDS, axis=1)
        counted = within & ~crowd
        if model is not None:
            status[..., objects.annotator[label] != model] = LEFT_OUT
            counted &= objects.annotator != model
        found = batch.geometry.overlaps(objects)
        same = np.flatnonzero(objects.category[found.i] == objects.category[found.j])
        i, j = found.i[same], found.j[same]
        detection, gt = np.concatenate([i, j]), np.concatenate([j, i])
        shared = np.tile(found.intersection[same], 2)
        overlap = np.where(
            crowd[gt],
            shared / np.where(found.area[detection] > 0, found.area[detection], 1.0),
            iou_from_areas(shared, found.area[detection], found.area[gt]),
        )
        key = label * n_annotators + other
        kept = (overlap >= COCO_THRESHOLDS[0] - TIE) & ~crowd[detection]
        wanted = detection * n_annotators + objects.annotator[gt]
        place = np.searchsorted(key, wanted)
        if model is not None:
            kept &= objects.annotator[detection] == model
        kept &= key[np.minimum(place, len(key) - 1)] == wanted if len(key) else False
        detection, gt, overlap, place = (each[kept] for each in (detection, gt, overlap, place))
        rank = np.arange(len(objects)) if score is None else np.argsort(np.argsort(-score, kind="stable"))
        number = rank[detection] * n_annotators + objects.annotator[gt]
        of_gt = gt * n_annotators + objects.annotator[detection]
        of_gt = np.where(crowd[gt], len(objects) * n_annotators + np.arange(len(gt)), of_gt)
        for area in range(N_AREAS if has_areas else 1):
            left_out = ~counted[area, gt]
            matched = match_detections(number, of_gt, overlap, left_out)
            threshold, pair = np.nonzero(matched)
            status[area, threshold, place[pair]] = np.where(left_out[pair], LEFT_OUT, RIGHT)
        sample, of_label = objects.sample[label], np.zeros(len(objects)) if score is None else score
        columns = (objects.annotator[label], other, objects.category[label], label, of_label[label], status)
        return cls(image_ids[sample], sample, *columns, counted[:, label], has_areas)

    @classmethod
    def joined(cls, parts: Sequence[Detections], n_images: Sequence[int]) -> Detections:
        """The detections of consecutive batches of ``n_images`` each; their images and labels get new numbers."""
        n_labels = [int(part.label.max(initial=-1)) + 1 for part in parts]
        first = {"sample": np.cumsum([0, *n_images]), "label": np.cumsum([0, *n_labels])}
        columns = {}
        for name in (field.name for field in dataclasses.fields(cls) if field.name != "has_areas"):
            moved = first.get(name, np.zeros(len(parts), np.int64))
            each = [getattr(part, name) for part in parts]
            columns[name] = np.concatenate(
                [old + by if name in first else old for old, by in zip(each, moved.tolist(), strict=False)], axis=-1
            )
        return cls(**columns, has_areas=all(part.has_areas for part in parts))

    def n_labels(self, n_codes: int) -> IntArray:
        """Number of different labels that somebody has to find, by area and class, ``(A, n_codes)``."""
        once = np.unique(self.label, return_index=True)[1]
        return np.stack([np.bincount(self.category[once[within[once]]], minlength=n_codes) for within in self.counted])

    def f1(self) -> FloatArray:
        """F1 of all ordered pairs together, shape ``(T,)``: precision of one is recall of the other."""
        status, n_objects = self.status[0], int(self.counted[0].sum())
        n_right, n_seen = (status == RIGHT).sum(axis=1), (status != LEFT_OUT).sum(axis=1)
        found: FloatArray = 2.0 * n_right / (n_seen + n_objects)
        return found


def _within(batch: Batch, config: AgreementConfig, in_pixels: bool) -> tuple[BoolArray, bool]:
    """True where a label's area is in a range, shape ``(A, N)``, and whether all areas in pixels are known."""
    geometry = batch.geometry
    boxes = geometry.boxes_xyxy()
    nobody = np.empty(0, np.int64)
    area = own_areas(geometry.area, boxes, geometry.visibility(nobody, nobody), config)
    if boxes is None:
        area = np.full(len(geometry), np.nan)
    if not in_pixels:
        size = np.full((batch.n_samples, 2), np.nan) if batch.size_px is None else batch.size_px
        area = area * size.prod(axis=1)[batch.objects.sample]
    within = (area >= _RANGES[:, :1] * (1.0 - _SLACK)) & (area <= _RANGES[:, 1:] * (1.0 + _SLACK))
    within[0] = True
    return within, not bool(np.isnan(area).any())


@dataclass(frozen=True, slots=True)
class Precision:
    """Average precision of every class of every ordered pair of annotators, and what it is averaged over."""

    value: FloatArray  #: shape ``(A, K, T)``; nan where the reference drew no such object
    n_objects: IntArray  #: shape ``(A, K)``, objects to be found
    as_detection: IntArray  #: shape ``(E,)``, place among the ``K`` of every label that is taken as a detection
    as_object: IntArray  #: shape ``(E,)``, place of every label that is to be found
    pairs: IntArray  #: shape ``(D,)``, ``reference * R + detector``
    pair: IntArray  #: shape ``(K,)``, number of the pair
    categories: IntArray  #: class codes that occur
    category: IntArray  #: shape ``(K,)``, number of the class

    @classmethod
    def of(cls, labels: Detections, n_annotators: int) -> Precision:
        """The average precisions; detections of equal confidence are in the order of image ids, then of labels."""
        n = n_annotators
        as_detection = (labels.category * n + labels.other) * n + labels.annotator
        as_object = (labels.category * n + labels.annotator) * n + labels.other
        key = np.unique(np.concatenate([as_detection, as_object]))
        as_detection, as_object = np.searchsorted(key, as_detection), np.searchsorted(key, as_object)
        n_objects = np.stack([np.bincount(as_object[within], minlength=len(key)) for within in labels.counted])
        image = np.unique(labels.image, return_inverse=True)[1]
        order = np.lexsort((labels.label, image, -labels.score, as_detection))
        ends = np.searchsorted(as_detection[order], np.arange(len(key) + 1))
        value = np.full((N_AREAS, len(key), N_THRESHOLDS), np.nan)
        for area in range(N_AREAS):
            for k in np.flatnonzero(n_objects[area]).tolist():
                found = labels.status[area][:, order[ends[k] : ends[k + 1]]].T
                value[area, k] = average_precision(found == RIGHT, int(n_objects[area, k]), found != LEFT_OUT)
        pairs, pair = np.unique(key % n**2, return_inverse=True)
        categories, category = np.unique(key // n**2, return_inverse=True)
        return cls(value, n_objects, as_detection, as_object, pairs, pair, categories, category)

    def means(self, name: str = "map", area: int = 0) -> tuple[float, FloatArray, FloatArray]:
        """Means of a number: over all pairs, by pair over its classes ``(D,)``, and by class over the pairs; nan where
        undefined."""
        value = self.value[area][:, _OF_NUMBERS[name]].mean(axis=-1)
        known = ~np.isnan(value)
        by_pair, by_class = (
            sums_by(group[known], value[known], n)
            / np.where((m := np.bincount(group[known], minlength=n)) > 0, m, np.nan)
            for group, n in ((self.pair, len(self.pairs)), (self.category, len(self.categories)))
        )
        return float(masked_means(by_pair, ~np.isnan(by_pair))), by_pair, by_class


def _numbers(labels: Detections, precision: Precision, ranks: IntArray, area: int) -> Numbers:
    """The numbers of a range of areas, as their values plus what every image adds, less the sum of it over all images.

    Without a range (area 0) also those of pairs and classes. What an image adds is the first-order change of average
    precision, taken as proportional to ``M² / (N G)`` (precision times recall: ``M`` right ones of ``N`` detections,
    ``G`` objects), while the order of the detections stays. Of a class with objects on ``n`` images, the squares of
    what these add are on average ``(n - 1) / n`` of the variance. Where they are on one image nothing would be left:
    the class then adds to a mean over classes what it differs from this mean, as if it dropped out with its image.

    Args:
        ranks: shape ``(S,)``, rank of every image; those of one video or group share a rank
    """
    names = list(_OF_NUMBERS)[: 1 if area else None]
    n_keys, status, value = precision.value.shape[1], labels.status[area].T, precision.value[area]
    detection, counted = precision.as_detection, labels.counted[area]
    with np.errstate(divide="ignore", invalid="ignore"):
        right, seen = (
            each / np.stack([sums_by(detection, column, n_keys) for column in each.T], axis=1)[detection]
            for each in (status == RIGHT, status != LEFT_OUT)
        )
        wanted = counted / precision.n_objects[area][precision.as_object]
    # images (videos, groups) that the objects of every class and pair are on
    n_ranks = int(ranks.max(initial=0)) + 1
    image_of_key = np.unique((precision.as_object * n_ranks + ranks[labels.sample])[counted])
    n_images = np.bincount(image_of_key // n_ranks, minlength=n_keys)
    scaled = value * np.sqrt(n_images / np.maximum(n_images - 1, 1))[:, None]
    # what every label changes as a detection, and then as an object to be found
    change = np.nan_to_num(np.concatenate([
        scaled[detection] * (2.0 * right - seen), -scaled[precision.as_object] * wanted[:, None]
    ]))  # fmt: skip
    place, sample = np.concatenate([detection, precision.as_object]), np.tile(labels.sample, 2)
    pair, category = precision.pair[place], precision.category[place]
    defined = precision.n_objects[area] > 0
    n_of_pair, n_of_class = (
        np.bincount(group[defined], minlength=len(of))
        for group, of in ((precision.pair, precision.pairs), (precision.category, precision.categories))
    )
    # classes that drop out with an image, against the mean over the classes of their pair
    of_pair, alone = precision.pair[defined], np.flatnonzero(n_images[precision.as_object] == 1)
    sums = np.stack([sums_by(of_pair, column[defined], len(n_of_pair)) for column in value.T], axis=1)
    apart = value - (sums / np.maximum(n_of_pair, 1)[:, None])[precision.pair]
    dropped = np.where((n_images[place] == 1)[:, None], 0.0, change)
    dropped[len(detection) + alone] = apart[precision.as_object[alone]] * wanted[alone, None]
    of_all = 1.0 / np.maximum(n_of_pair, 1)[pair] / max(int((n_of_pair > 0).sum()), 1)
    values, columns, parts, keys = [], [], [], list[Key]()
    groups = (
        ("", (), np.zeros(len(place), np.int64), of_all, names),
        ("pairs", precision.pairs.tolist(), pair, 1.0 / np.maximum(n_of_pair, 1)[pair], names[:2]),
        ("classes", precision.categories.tolist(), category, 1.0 / np.maximum(n_of_class, 1)[category], names[:2]),
    )
    for k, (kind, members, group, weight, of_group) in enumerate(groups[: 1 if area else 3]):
        for name in of_group:
            of_name = (change if kind == "classes" else dropped)[:, _OF_NUMBERS[name]].mean(axis=1)
            columns.append(len(keys) + group)
            parts.append(of_name * weight)
            values.append(np.atleast_1d(precision.means(name, area)[k]))
            whole = ("areas", AREAS[area], name) if area else (name,)
            keys += [(kind, str(member), name) for member in members] if kind else [whole]
    total = np.concatenate(values)
    shape = len(ranks), len(total)
    table = sparse(np.tile(sample, len(columns)), np.concatenate(columns), np.concatenate(parts), shape)
    start = total - column_sums(table)
    return Numbers(tuple(keys), table, lambda sums: start + sums)


def convergence_of(
    labels: Detections,
    of_model: Detections | None,
    ranks: IntArray,
    *,
    annotators: Sequence[str],
    class_names: Sequence[str],
    n_samples: int,
    run_key: str,
    measure: str,
    model: str | None,
    resamples: int,
    seed: int,
) -> Convergence:
    """The report on convergence.

    Args:
        labels: detections of the annotators
        of_model: those of a model and the annotators, in which the model has the number ``R``; None without a model
        ranks: shape ``(S,)``, rank of every image by its id; those of one video or group share a rank
        annotators: their names, without the model
        class_names: name of every class code
        n_samples: images with at least two annotators
        run_key: key of the run
        measure: name of the similarity
        model: name of the model, if there is one
        resamples: number of resamples for the intervals; 0 for none
        seed: seed of the random numbers

    Raises:
        AgreementInputError: if the model is on no image of an annotator
    """
    n, has_areas = len(annotators), labels.has_areas
    told: dict[str, Any] = {"run_key": run_key, "measure": measure, "n_samples": n_samples, "no_areas": not has_areas}
    undefined = NO_PAIRS if not n_samples else NO_OBJECTS if not labels.counted[0].any() else None
    if undefined is not None:
        return Convergence(**told, map=None, map_50=None, map_75=None, f1=[], undefined=undefined)
    found, against = Precision.of(labels, n), None
    if of_model is not None:
        against = Precision.of(of_model, n + 1)
        if not len(against.pairs):
            raise AgreementInputError(
                "`model` must have labels, or empty lists, on images that an annotator labelled, got "
                f"{model!r} without any (a null list says that it was not asked)"
            )
    fields, areas = Fields({}), range(N_AREAS if has_areas else 1)
    if resamples:
        numbers = (_numbers(labels, found, ranks, area) for area in areas)
        fields = Fields(estimates(numbers, ranks, resamples=resamples, seed=seed))
    (whole, _, by_class), (whole_50, _, by_class_50) = found.means(), found.means("map_50")
    n_labels, of_class, of_the_model = labels.n_labels(len(class_names)), dict[int, float](), None
    if against is not None and of_model is not None and model is not None:
        mean, _, by_class_of_model = against.means()
        of_class = dict(zip(against.categories.tolist(), by_class_of_model.tolist(), strict=True))
        pairs = _pairs(of_model, against, [*annotators, model], Fields({}))
        own = [pair for pair in pairs if pair.detector == model]
        of_the_model = ModelScore(model, number(mean), number(against.means("map_50")[0]), own)
    classes = [
        ClassConvergence(
            class_names[code],
            int(n_labels[0, code]),
            number(by_class[k]),
            number(by_class_50[k]),
            number(of_class.get(code, np.nan)),
            intervals=fields.intervals("classes", str(code)),
        )
        for k, code in enumerate(found.categories.tolist())
    ]
    return Convergence(
        **told,
        map=number(whole),
        map_50=number(whole_50),
        map_75=number(found.means("map_75")[0]),
        f1=[number(value) for value in labels.f1().tolist()],
        undefined=None,
        classes=sorted(classes, key=lambda entry: (-entry.n_labels, entry.name)),
        areas=[
            AreaConvergence(
                AREAS[area],
                int(n_labels[area].sum()),
                number(found.means(area=area)[0]),
                None if against is None else number(against.means(area=area)[0]),
                intervals=fields.intervals("areas", AREAS[area]),
            )
            for area in areas[1:]
        ],
        pairs=_pairs(labels, found, annotators, fields),
        model=of_the_model,
        intervals=fields.intervals(),
    )


def _pairs(labels: Detections, found: Precision, names: Sequence[str], fields: Fields) -> list[PairConvergence]:
    """The numbers of every ordered pair of annotators."""
    n = len(names)
    by_pair, by_pair_50 = found.means()[1], found.means("map_50")[1]
    ends = np.sort(np.stack([labels.annotator, labels.other]), axis=0)
    once = np.unique(np.vstack([ends, labels.sample]), axis=1)  # images on which one of the two drew something
    n_images = np.bincount(once[0] * n + once[1], minlength=n * n)
    return [
        PairConvergence(
            names[pair // n],
            names[pair % n],
            int(n_images[min(pair // n, pair % n) * n + max(pair // n, pair % n)]),
            number(by_pair[k]),
            number(by_pair_50[k]),
            intervals=fields.intervals("pairs", str(pair)),
        )
        for k, pair in enumerate(found.pairs.tolist())
    ]
