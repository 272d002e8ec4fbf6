"""Label convergence: mean average precision of annotators against each other, and of a model against them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...metrics.detection.average_precision import COCO_THRESHOLDS
from ...metrics.matching.merging import TIE
from ...metrics.numeric.arrays import IntArray
from ..settings.errors import AgreementInputError
from ..statistics.estimates import Fields
from ..statistics.presentation import ShowsItself, shown_as
from ..statistics.report import WithIntervals, number
from .measured import AREAS, N_AREAS, Detections, Precision, intervals

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
    """The numbers as a report.

    Args:
        labels: those of annotators
        of_model: those of a model and the annotators; its number is that after the annotators; None without
        ranks: shape ``(S,)``, rank of every image by its id; images of one video or group have one
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
    fields = intervals(labels, found, ranks, has_areas=has_areas, resamples=resamples, seed=seed)
    n_labels, (_, _, by_class), (_, _, by_class_50) = (
        labels.n_labels(len(class_names)),
        found.means(),
        found.means("map_50"),
    )
    of_class = (
        {} if against is None else dict(zip(against.categories.tolist(), against.means()[2].tolist(), strict=True))
    )
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
        map=number(found.means()[0]),
        map_50=number(found.means("map_50")[0]),
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
            for area in range(1, N_AREAS if has_areas else 1)
        ],
        pairs=_pairs(labels, found, annotators, fields),
        model=None
        if against is None or of_model is None or model is None
        else _model(of_model, against, annotators, model),
        intervals=fields.intervals(),
    )


def _pairs(labels: Detections, found: Precision, names: Sequence[str], fields: Fields) -> list[PairConvergence]:
    """The ordered pairs, by the names of the annotators."""
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


def _model(labels: Detections, found: Precision, annotators: Sequence[str], name: str) -> ModelScore:
    """The numbers of a model against every annotator."""
    pairs = _pairs(labels, found, [*annotators, name], Fields({}))
    own = [pair for pair in pairs if pair.detector == name]
    return ModelScore(name, number(found.means()[0]), number(found.means("map_50")[0]), own)
