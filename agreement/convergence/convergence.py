"""Label convergence: mean average precision of annotators against each other, and of a model against them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...metrics.detection.average_precision import COCO_THRESHOLDS
from ...metrics.matching.merging import TIE
from ...metrics.numeric.arrays import FloatArray, IntArray, distinct
from ..settings.errors import AgreementInputError
from ..statistics.estimates import Fields
from ..statistics.presentation import ShowsItself, shown_as
from ..statistics.report import WithIntervals, number
from .measured import (
    AREAS,
    N_AREAS,
    Means,
    Ordered,
    PairCounts,
    Scored,
    by_confidence,
    intervals,
    parts_of_key,
    values,
)

if TYPE_CHECKING:
    from pandas import DataFrame

#: reasons for which it is undefined
NO_PAIRS, NO_OBJECTS = "one_annotator", "no_objects"


@dataclass(frozen=True, slots=True)
class ClassConvergence(WithIntervals):
    """The numbers of a class, the mean over the ordered pairs of annotators of whom the first drew it."""

    name: str
    n_labels: int  #: labels that somebody else was to find
    map: float | None
    map_50: float | None
    model: float | None = None  #: mean average precision of the model on the class


@dataclass(frozen=True, slots=True)
class AreaConvergence(WithIntervals):
    """The number of small (below 32² px), medium, or large (from 96² px) objects."""

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
    all have one score, and the order in which they are stored, as in COCO's own program. Undefined numbers are None.

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
    undefined: str | None  #: why there is none: ``one_annotator`` or ``no_objects``
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
        """The same as JSON-serialisable values."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class Measured:
    """Counts and detections read from all images, before any number is computed."""

    annotators: Sequence[str]  #: names, without the model
    class_names: Sequence[str]  #: of every class code
    counts: Sequence[PairCounts]  #: of annotators; ``sample`` is a number over all images
    n_labels: IntArray  #: shape ``(A, n_codes)``, labels of annotators
    ordered: Sequence[Ordered]  #: their detections
    of_model: Sequence[Ordered] | None  #: the detections of a model; its number is that after the annotators
    ranks: IntArray  #: shape ``(S,)``, rank of every image by its id; images of one video or group have one
    n_samples: int  #: images with at least two annotators
    has_areas: bool


def convergence_of(
    measured: Measured, *, run_key: str, measure: str, model: str | None, resamples: int, seed: int
) -> Convergence:
    """The numbers as a report.

    Args:
        measured: what was read
        run_key: key of the run
        measure: name of the similarity
        model: name of the model, if there is one
        resamples: number of resamples for the intervals; 0 for none
        seed: seed of the random numbers

    Raises:
        AgreementInputError: if the model is on no image of an annotator
    """
    n = len(measured.annotators)
    undefined = None if measured.n_samples else NO_PAIRS
    if undefined is None and not any(each.objects[:, 0].any() for each in measured.counts):
        undefined = NO_OBJECTS
    told: dict[str, Any] = {"run_key": run_key, "measure": measure, "n_samples": measured.n_samples}
    if undefined is not None:
        return Convergence(
            **told, map=None, map_50=None, map_75=None, f1=[], undefined=undefined, no_areas=not measured.has_areas
        )
    scored = by_confidence(measured.ordered, n)
    means = Means.of(scored.key, n)
    fields = intervals(
        *(measured.counts, scored, measured.ranks, n), has_areas=measured.has_areas, resamples=resamples, seed=seed
    )
    found = values(scored, means)
    of_model = None if measured.of_model is None else _Model.of(measured.of_model, n)
    if of_model is not None and not len(of_model.scored.key):
        raise AgreementInputError(
            f"`model` must have labels, or empty lists, on images that an annotator labelled, got {model!r} without "
            "any (a null list says that it was not asked)"
        )
    areas = range(1, N_AREAS if measured.has_areas else 1)
    return Convergence(
        **told,
        map=number(float(found["map"][0])),
        map_50=number(float(found["map_50"][0])),
        map_75=number(float(found["map_75"][0])),
        f1=_f1(measured.counts),
        undefined=None,
        no_areas=not measured.has_areas,
        classes=_classes(measured, means, found, fields, of_model),
        areas=[
            AreaConvergence(
                AREAS[area],
                int(measured.n_labels[area].sum()),
                number(float(values(scored, means, area)["map"][0])),
                None if of_model is None else of_model.area_mean(area),
                intervals=fields.intervals("areas", AREAS[area]),
            )
            for area in areas
        ],
        pairs=_pairs(measured.annotators, means, found, _images(measured.counts, means, n), fields),
        model=None if of_model is None or model is None else of_model.score(model, measured.annotators),
        intervals=fields.intervals(),
    )


def _f1(counts: Sequence[PairCounts]) -> list[float | None]:
    """F1 of all ordered pairs together, at every threshold; precision of one is recall of the other."""
    right, wrong, objects = (
        np.concatenate([getattr(each, name)[:, 0] for each in counts]).sum(axis=0)
        for name in ("right", "wrong", "objects")
    )
    return [number(value) for value in (2.0 * right / (right + wrong + objects)).tolist()]


def _images(counts: Sequence[PairCounts], means: Means, n_annotators: int) -> IntArray:
    """Images of every pair on which one of them drew something, ``(D,)``."""
    _, reference, detector = parts_of_key(np.concatenate([each.key for each in counts]), n_annotators)
    pair = np.searchsorted(means.pairs, reference * n_annotators + detector)
    sample = np.concatenate([each.sample for each in counts])
    n_samples = int(sample.max(initial=-1)) + 1
    once, _ = distinct(pair * n_samples + sample, len(means.pairs) * n_samples)
    return np.bincount(once // max(n_samples, 1), minlength=len(means.pairs))


def _classes(
    measured: Measured, means: Means, found: dict[str, Any], fields: Fields, model: _Model | None
) -> list[ClassConvergence]:
    """The classes, those with most labels first."""
    entries = [
        ClassConvergence(
            measured.class_names[code],
            int(measured.n_labels[0, code]),
            number(found["map"][2][k]),
            number(found["map_50"][2][k]),
            None if model is None else model.class_mean(code),
            intervals=fields.intervals("classes", str(code)),
        )
        for k, code in enumerate(means.categories.tolist())
    ]
    return sorted(entries, key=lambda entry: (-entry.n_labels, entry.name))


def _pairs(
    annotators: Sequence[str], means: Means, found: dict[str, Any], n_images: IntArray, fields: Fields
) -> list[PairConvergence]:
    """The ordered pairs of annotators, by name."""
    n = len(annotators)
    return [
        PairConvergence(
            *(annotators[pair // n], annotators[pair % n], int(n_images[k])),
            number(found["map"][1][k]),
            number(found["map_50"][1][k]),
            intervals=fields.intervals("pairs", str(pair)),
        )
        for k, pair in enumerate(means.pairs.tolist())
    ]


@dataclass(frozen=True, slots=True)
class _Model:
    """Average precision of the detections of a model."""

    scored: Scored
    means: Means
    parts: Sequence[Ordered]
    n_annotators: int  #: without the model

    @classmethod
    def of(cls, parts: Sequence[Ordered], n_annotators: int) -> _Model:
        """Measure them."""
        scored = by_confidence(parts, n_annotators + 1)
        return cls(scored, Means.of(scored.key, n_annotators + 1), parts, n_annotators)

    def area_mean(self, area: int) -> float | None:
        return number(float(values(self.scored, self.means, area)["map"][0]))

    def class_mean(self, code: int) -> float | None:
        by_class: FloatArray = values(self.scored, self.means)["map"][2]
        place = np.flatnonzero(self.means.categories == code)
        return number(by_class[place[0]]) if len(place) else None

    def score(self, name: str, annotators: Sequence[str]) -> ModelScore:
        """The numbers against every annotator."""
        found, n = values(self.scored, self.means), self.n_annotators + 1
        pairs = []
        for k, pair in enumerate(self.means.pairs.tolist()):
            if pair % n == self.n_annotators:
                labels = [each.labels for each in self.parts]
                images = sum(len(np.unique(each.sample[(each.annotator == pair // n) | (each.other == pair // n)]))
                             for each in labels)  # fmt: skip
                value, at_half = (number(found[key][1][k]) for key in ("map", "map_50"))
                pairs.append(PairConvergence(annotators[pair // n], name, images, value, at_half))
        value, value_50 = number(float(found["map"][0])), number(float(found["map_50"][0]))
        return ModelScore(name, value, value_50, pairs)
