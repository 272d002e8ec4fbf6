"""How often the 95 % intervals of a report contain the true number, over many small data sets whose alpha is known."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.agreement.agreement_oracle import context_of, records_of

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.matching import Batch
from annotator_agreement.agreement.objects import ObjectRecords, object_distances, object_numbers, sample_contents
from annotator_agreement.agreement.statistics import Interval, Numbers, ReportContext, content_ranks, estimates
from annotator_agreement.metrics import Objects
from annotator_agreement.metrics.geometry import Boxes

pytestmark = pytest.mark.long

N_DATA_SETS = 200
N_SAMPLES = 100
#: share of every class among true objects; codes from 1
PREVALENCE = (0.55, 0.3, 0.15)
NUMBERS = ("alpha.pooled", "image_alpha.value", "score.mean", "existence.f1")
CLASS_NAMES = ("(missing)", *(f"class {k}" for k in range(len(PREVALENCE))))

Intervals = dict[str, list[Interval]]


def _numbers(records: ObjectRecords, context: ReportContext) -> Iterator[Numbers]:
    """The numbers that are looked at."""
    return (each for each in object_numbers(records, context) if {(name,) for name in NUMBERS} & {*each.keys})


@pytest.fixture(scope="module")
def simulated() -> tuple[dict[str, float], Intervals]:
    """The true numbers, and the intervals of every data set."""
    config = make_config(["alice", "bob", "carol"], resamples=400)
    context = context_of(config, CLASS_NAMES)
    records = records_of(draw(N_DATA_SETS * N_SAMPLES, np.random.default_rng(17)), config)
    # all data sets together: their own error is a fourteenth of that of one
    everything = estimates.estimates(_numbers(records, context), np.arange(records.n_samples), resamples=0, seed=0)
    true = {name: everything[(name,)].value for name in NUMBERS} | {"alpha.pooled": limit_of_alpha()}
    found: Intervals = {name: [] for name in NUMBERS}
    number = np.arange(records.n_samples) // N_SAMPLES
    for k in range(N_DATA_SETS):
        data_set = records.select(number == k)
        ranks = content_ranks(*sample_contents(data_set, context))
        of_set = estimates.estimates(_numbers(data_set, context), ranks, resamples=config.resamples, seed=k)
        for name in NUMBERS:
            interval = of_set[(name,)].interval
            assert interval is not None
            found[name].append(interval)
    return true, found


#: of annotations that repeat: probabilities of the true classes, that somebody leaves an image empty, errs in the class
OF_IMAGES, LEFT_EMPTY, WRONG = np.array([0.5, 0.3, 0.2]), 0.3, 0.2


def _repeated(n_samples: int, rng: np.random.Generator) -> Batch:
    """Images of three annotators who give the whole image one of three classes, or nothing."""
    true = rng.choice(3, n_samples, p=OF_IMAGES)[:, None]
    given = np.where(rng.random((n_samples, 3)) < WRONG, (true + rng.integers(1, 3, (n_samples, 3))) % 3, true)
    sample, annotator = np.nonzero(rng.random((n_samples, 3)) >= LEFT_EMPTY)
    objects = Objects(sample, annotator, 1 + given[sample, annotator])
    return Batch(objects, Boxes(np.tile([0.0, 0.0, 1.0, 1.0], (len(sample), 1))), np.ones((n_samples, 3), np.bool_))


def _limit_of_repeated() -> float:
    """The alpha of images in the limit: annotations are equal or have the distance 1."""
    drawn = np.full((3, 3), (1 - LEFT_EMPTY) * WRONG / 2)
    np.fill_diagonal(drawn, (1 - LEFT_EMPTY) * (1 - WRONG))
    given = np.column_stack([drawn, np.full(3, LEFT_EMPTY)])
    observed, expected = 1 - (OF_IMAGES * (given**2).sum(axis=1)).sum(), 1 - ((OF_IMAGES @ given) ** 2).sum()
    return float(1 - observed / expected)


@pytest.mark.parametrize("n_samples", [100, 400])
def test_intervals_of_alpha_of_images_hold_where_annotations_repeat(n_samples: int) -> None:
    config = make_config(["alice", "bob", "carol"], resamples=400)
    context = context_of(config, CLASS_NAMES[:4])
    n_data_sets = 500
    records = records_of(_repeated(n_data_sets * n_samples, np.random.default_rng(19)), config)
    covered = 0
    for k in range(n_data_sets):
        data_set = records.select(np.arange(records.n_samples) // n_samples == k)
        ranks = content_ranks(*sample_contents(data_set, context))
        numbers = object_distances(data_set, context).numbers(data_set)
        interval = estimates.estimates([numbers], ranks, resamples=config.resamples, seed=k)[
            "image_alpha.value",
        ].interval
        assert interval is not None
        covered += interval.low <= _limit_of_repeated() <= interval.high
    assert 0.93 <= covered / n_data_sets <= 0.97


@pytest.mark.parametrize("name", NUMBERS)
def test_intervals_contain_the_true_number_as_often_as_they_say_and_errors_are_the_spread(
    simulated: tuple[dict[str, float], Intervals], name: str
) -> None:
    true, found = simulated
    ends = np.array([(each.low, each.high) for each in found[name]])
    covered = ((ends[:, 0] <= true[name]) & (true[name] <= ends[:, 1])).mean()
    assert 0.92 <= covered <= 0.98
    assert np.mean([each.error for each in found[name]]) == pytest.approx(np.std(ends.mean(axis=1)), rel=0.12)


N_ANNOTATORS = 3
MISSING = 0
#: columns and rows of places that do not overlap; the true objects of a sample stand in different ones
_COLUMNS, _ROWS = 8, 6


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of samples: how many there are, how many true objects they have, how often one is missed or misnamed."""

    share: float
    n_objects: tuple[int, int]
    miss: float
    wrong: float


#: easy and difficult samples, so that errors come in clusters
KINDS = (Kind(0.7, (1, 7), 0.02, 0.02), Kind(0.3, (3, 15), 0.20, 0.12))


def draw(n_samples: int, rng: np.random.Generator) -> Batch:
    """Labels of samples of both kinds."""
    kind = rng.choice(len(KINDS), n_samples, p=[entry.share for entry in KINDS])
    low, high = np.array([entry.n_objects for entry in KINDS])[kind].T
    n_objects = rng.integers(low, high, endpoint=True)
    sample = np.repeat(np.arange(n_samples), n_objects)
    place = np.arange(len(sample)) - np.repeat(np.cumsum(n_objects) - n_objects, n_objects)
    true = rng.choice(np.arange(1, len(PREVALENCE) + 1), len(sample), p=PREVALENCE)
    said = np.column_stack([_said(true, kind[sample], rng) for _ in range(N_ANNOTATORS)])
    row, annotator = np.nonzero(said != MISSING)
    order = np.lexsort((annotator, sample[row]))
    row, annotator = row[order], annotator[order]
    objects = Objects(sample[row], annotator, said[row, annotator])
    boxes = Boxes(_boxes(place[row], rng))
    return Batch(objects, boxes, np.ones((n_samples, N_ANNOTATORS), np.bool_))


def _said(true: NDArray[np.int64], kind: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """The class that one annotator gives to every true object; ``MISSING`` if not drawn."""
    miss, wrong = np.array([(entry.miss, entry.wrong) for entry in KINDS])[kind].T
    other = (true - 1 + rng.integers(1, len(PREVALENCE), len(true))) % len(PREVALENCE) + 1
    said = np.where(rng.random(len(true)) < wrong, other, true)
    return np.where(rng.random(len(true)) < miss, MISSING, said)


def _boxes(place: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    corner = np.column_stack([place % _COLUMNS / _COLUMNS, place // _COLUMNS / _ROWS])
    side = np.array([0.8 / _COLUMNS, 0.7 / _ROWS])
    low = corner + 0.1 * side + rng.uniform(-0.04, 0.04, corner.shape) * side
    return np.hstack([low, low + side])


def limit_of_alpha() -> float:
    """The pooled alpha of infinitely many samples: expected disagreement and categories of a sample, by enumeration.

    Every true object is ``N_ANNOTATORS`` independent ratings given the kind of its sample; objects that nobody drew are
    no units.
    """
    categories = range(len(PREVALENCE) + 1)
    observed, counts = 0.0, np.zeros(len(categories))
    for kind in KINDS:
        objects = kind.share * np.mean(np.arange(kind.n_objects[0], kind.n_objects[1] + 1))
        for true, share in enumerate(PREVALENCE, start=1):
            chance = [_chance(kind, true, category) for category in categories]
            for ratings in itertools.product(categories, repeat=N_ANNOTATORS):
                if any(ratings):
                    weight = objects * share * np.prod([chance[rating] for rating in ratings])
                    differing = sum(a != b for a, b in itertools.permutations(ratings, 2))
                    observed += weight * differing / (N_ANNOTATORS - 1)
                    counts += weight * np.bincount(ratings, minlength=len(categories))
    total = counts.sum()
    return float(1.0 - (observed / total) / (1.0 - ((counts / total) ** 2).sum()))


def _chance(kind: Kind, true: int, category: int) -> float:
    if category == MISSING:
        return kind.miss
    named = 1.0 - kind.wrong if category == true else kind.wrong / (len(PREVALENCE) - 1)
    return (1.0 - kind.miss) * named
