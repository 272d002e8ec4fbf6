"""Simulated annotators with known habits, and records of a run with a model: the last of them takes its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from annotator_agreement.agreement import AgreementConfig
from annotator_agreement.agreement.matching import Batch, compute_agreement_of
from annotator_agreement.agreement.objects import ObjectRecords, record, sample_contents
from annotator_agreement.agreement.roles import role_columns, role_reports
from annotator_agreement.agreement.statistics import PersonComparison, ReportContext, RunFacts, uncounted_columns
from annotator_agreement.metrics import Objects
from annotator_agreement.metrics.geometry import Boxes

WIDTH_PX, HEIGHT_PX = 640, 480
#: areas below are small (COCO)
SMALL_PX2 = 32.0**2
#: names of the category codes; the first stands for a missed object
CLASSES = ("(missing)", "car", "bus", "coach", "tram", "bicycle")
_PREVALENCE = (0.4, 0.25, 0.05, 0.1, 0.2)
OBJECTS_PER_SAMPLE = 7.0
#: sides of true boxes are log-uniform between these
SIDES_PX = (12.0, 220.0)
#: standard deviation of every edge, as a share of the side, if not said otherwise
JITTER = 0.01
#: a copied box differs by this, a duplicate by that
COPY_JITTER, DUPLICATE_JITTER = 0.001, 0.005
#: samples differ: the miss rates of a sample are beta distributed with so little concentration
CONCENTRATION = 30.0


@dataclass(frozen=True, slots=True)
class Habits:
    """How one annotator labels.

    Attributes:
        name: of the annotator
        miss: share of true objects that are not drawn
        miss_small: the same of small ones; None: as others
        size: side of the box relative to the true one, the same for width and height
        lower: how much lower the bottom edge is, as a share of the true height; the top edge follows the size. None:
            the centre stays
        confuses: objects of the first class are called the second with this probability
        copies: the annotator whose labels are taken over, errors included; all else is ignored then
        duplicates: share of drawn objects that are drawn twice
    """

    name: str
    miss: float = 0.02
    miss_small: float | None = None
    size: float = 1.0
    lower: float | None = None
    confuses: tuple[str, str, float] | None = None
    copies: str | None = None
    duplicates: float = 0.0


@dataclass(frozen=True, slots=True)
class Simulated:
    """The labels that annotators made of true objects, sorted by sample and annotator.

    Attributes:
        habits: of every annotator
        n_samples: number of samples
        sample: shape ``(N,)``, of every label
        annotator: shape ``(N,)``
        category: shape ``(N,)``
        xyxy_px: shape ``(N, 4)``
    """

    habits: tuple[Habits, ...]
    n_samples: int
    sample: NDArray[np.int64]
    annotator: NDArray[np.int64]
    category: NDArray[np.int64]
    xyxy_px: NDArray[np.float64]

    @property
    def names(self) -> list[str]:
        """Names of the annotators."""
        return [habits.name for habits in self.habits]

    @property
    def xyxy_rel(self) -> NDArray[np.float64]:
        """Boxes relative to the image, shape ``(N, 4)``."""
        return self.xyxy_px / np.array([WIDTH_PX, HEIGHT_PX] * 2)

    def batch(self) -> Batch:
        """The labels as columns; everybody is assigned everywhere."""
        return Batch(
            Objects(self.sample, self.annotator, self.category),
            Boxes(self.xyxy_rel),
            np.ones((self.n_samples, len(self.habits)), np.bool_),
            size_px=np.tile([WIDTH_PX, HEIGHT_PX], (self.n_samples, 1)).astype(np.float64),
        )


def simulate(habits: Sequence[Habits], n_samples: int, rng: np.random.Generator, jitter: float = JITTER) -> Simulated:
    """Draw true objects, then everybody's labels of them; those who are copied must come before those who copy."""
    sample, category, boxes = _true_objects(n_samples, rng)
    difficulty = rng.random(n_samples)[sample]  # of the sample, the same for everybody
    labels: dict[str, _Labels] = {}
    for habit in habits:
        if habit.copies is None:
            labels[habit.name] = _labels(habit, category, boxes, difficulty, jitter, rng)
        else:
            copied = labels[habit.copies]
            labels[habit.name] = replace(copied, xyxy_px=_jittered(copied.xyxy_px, COPY_JITTER, rng))
    parts = list(labels.values())
    true_object = np.concatenate([part.true_object for part in parts])
    annotator = np.repeat(np.arange(len(parts)), [len(part.true_object) for part in parts])
    duplicate = np.concatenate([part.duplicate for part in parts])
    order = np.lexsort((duplicate, annotator, sample[true_object]))
    return Simulated(
        habits=tuple(habits), n_samples=n_samples, sample=sample[true_object][order], annotator=annotator[order],
        category=np.concatenate([part.category for part in parts])[order],
        xyxy_px=np.concatenate([part.xyxy_px for part in parts])[order],
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Labels:
    true_object: NDArray[np.int64]
    category: NDArray[np.int64]
    xyxy_px: NDArray[np.float64]
    duplicate: NDArray[np.bool_]


def _true_objects(
    n_samples: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    rate = rng.gamma(3.0, OBJECTS_PER_SAMPLE / 3.0, n_samples)  # crowded and empty images
    sample = np.repeat(np.arange(n_samples), rng.poisson(rate))
    n = len(sample)
    sides = np.exp(rng.uniform(*np.log(SIDES_PX), (n, 1)) + rng.normal(0.0, 0.2, (n, 2))).clip(max=300.0)
    room = np.array([WIDTH_PX, HEIGHT_PX]) - 1.3 * sides
    low = rng.uniform(0.15 * sides, 0.15 * sides + room)
    category = rng.choice(np.arange(1, len(CLASSES)), n, p=_PREVALENCE)
    return sample, category, np.hstack([low, low + sides])


def _labels(
    habit: Habits,
    category: NDArray[np.int64],
    boxes: NDArray[np.float64],
    difficulty: NDArray[np.float64],
    jitter: float,
    rng: np.random.Generator,
) -> _Labels:
    miss = _rate_of_sample(habit.miss, difficulty)
    if habit.miss_small is not None:
        miss = np.where(
            (boxes[:, 2:] - boxes[:, :2]).prod(axis=1) < SMALL_PX2, _rate_of_sample(habit.miss_small, difficulty), miss
        )
    seen = np.flatnonzero(rng.random(len(category)) >= miss)
    said = category[seen].copy()
    if habit.confuses is not None:
        first, second, rate = habit.confuses
        wrong = (said == CLASSES.index(first)) & (rng.random(len(said)) < rate)
        said[wrong] = CLASSES.index(second)
    drawn = _jittered(_drawn(habit, boxes[seen]), jitter, rng)
    twice = rng.random(len(seen)) < habit.duplicates
    return _Labels(
        np.concatenate([seen, seen[twice]]),
        np.concatenate([said, said[twice]]),
        np.concatenate([drawn, _jittered(drawn[twice], DUPLICATE_JITTER, rng)]),
        np.repeat([False, True], [len(seen), int(twice.sum())]),
    )


def _rate_of_sample(mean: float, difficulty: NDArray[np.float64]) -> NDArray[np.float64]:
    """A rate that is the higher the more difficult a sample is, with the given mean over samples."""
    rate: NDArray[np.float64] = stats.beta.ppf(difficulty, mean * CONCENTRATION, (1.0 - mean) * CONCENTRATION)
    return rate


def _drawn(habit: Habits, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    center, sides = (boxes[:, :2] + boxes[:, 2:]) / 2.0, boxes[:, 2:] - boxes[:, :2]
    drawn = np.hstack([center - habit.size * sides / 2.0, center + habit.size * sides / 2.0])
    if habit.lower is not None:
        drawn[:, [1, 3]] += (boxes[:, 3] + habit.lower * sides[:, 1] - drawn[:, 3])[:, None]
    return drawn


def _jittered(boxes: NDArray[np.float64], share: float, rng: np.random.Generator) -> NDArray[np.float64]:
    sides = boxes[:, 2:] - boxes[:, :2]
    return boxes + rng.normal(0.0, share, boxes.shape) * np.hstack([sides, sides])


def of_annotators(batch: Batch, annotators: list[int]) -> Batch:
    """The batch of some annotators, with numbers from 0."""
    number = np.full(batch.assigned.shape[1], -1)
    number[annotators] = np.arange(len(annotators))
    objects, annotator = batch.objects, number[batch.objects.annotator]
    rows = np.lexsort((annotator, objects.sample))
    rows = rows[annotator[rows] >= 0]
    kept = Objects(objects.sample[rows], annotator[rows], objects.category[rows])
    assigned = batch.assigned[:, annotators]
    return replace(batch, objects=kept, geometry=batch.geometry.take(rows), assigned=assigned)


def with_model(batch: Batch, config: AgreementConfig) -> ObjectRecords:
    """The records of a batch whose last annotator is the model."""
    n = batch.assigned.shape[1] - 1
    counted = batch.objects.annotator < n
    rows, columns = role_columns(batch, n, counted, config)
    assert len(rows) == (~counted).sum()
    geometry, objects = batch.geometry.take(rows), batch.objects
    more = {"area": geometry.area.astype(np.float32), "boxes": geometry.boxes_xyxy().astype(np.float32)}
    of_model = objects.sample[rows], objects.annotator[rows], objects.category[rows]
    columns |= uncounted_columns(*of_model, batch.n_samples, **more)
    records = record(compute_agreement_of(batch.of_first(n), config))
    return replace(records, parts=({**records.parts[0], **columns},))


def context_of(simulated: Simulated, config: AgreementConfig) -> ReportContext:
    """The context of such a run."""
    return ReportContext(
        config, simulated.names[:-1], CLASSES, ["Detections"], RunFacts(),
        details={"roles": [{"name": simulated.names[-1], "is_model": True}]},
    )  # fmt: skip


def person_of(batch: Batch, context: ReportContext) -> PersonComparison | None:
    """The comparison of the model with the annotators left out."""
    reports = role_reports(with_model(batch, context.config), context, sample_contents)
    return reports[0].person
