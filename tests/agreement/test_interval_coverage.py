"""How often the 95 % intervals of a report contain the true number, over many small data sets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.agreement.agreement_oracle import context_of, records_of
from tests.agreement.habits import CLASSES, Habits, simulate

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.matching import Batch
from annotator_agreement.agreement.objects import ObjectRecords, object_distances, object_numbers, sample_contents
from annotator_agreement.agreement.statistics import Numbers, content_ranks, estimates
from annotator_agreement.metrics import Objects
from annotator_agreement.metrics.geometry import Boxes

pytestmark = pytest.mark.long

N_DATA_SETS = 120
N_SAMPLES = 100
NUMBERS = ("alpha.pooled", "image_alpha.value", "score.mean", "existence.f1")


CONFIG = make_config(["alice", "bob", "carol"], resamples=400)
CONTEXT = context_of(CONFIG, CLASSES)
#: how they label objects, of which all miss more on difficult images, so that errors come in clusters
HABITS = [Habits("alice", miss=0.1), Habits("bob", miss=0.2, confuses=("car", "bus", 0.2)), Habits("carol", miss=0.05)]
Ends = dict[str, NDArray[np.float64]]


def _numbers(records: ObjectRecords) -> Iterator[Numbers]:
    """The numbers that are looked at."""
    return (each for each in object_numbers(records, CONTEXT) if {(name,) for name in NUMBERS} & {*each.keys})


def _intervals(records, n_samples, numbers=_numbers) -> Ends:
    """Ends and errors of the intervals of data sets of so many samples."""
    found: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for k in range(records.n_samples // n_samples):
        data_set = records.select(np.arange(records.n_samples) // n_samples == k)
        ranks = content_ranks(*sample_contents(data_set, CONTEXT))
        of_set = estimates.estimates(numbers(data_set), ranks, resamples=CONFIG.resamples, seed=k)
        for (name, *_), each in of_set.items():
            if each.interval is not None:
                found[name].append((each.interval.low, each.interval.high, each.interval.error))
    return {name: np.array(ends) for name, ends in found.items()}


@pytest.fixture(scope="module")
def simulated() -> tuple[dict[str, float], Ends]:
    """The numbers of all data sets together, whose own error is an eleventh of that of one, and their intervals."""
    batch = simulate(HABITS, N_DATA_SETS * N_SAMPLES, np.random.default_rng(17), jitter=0.05).batch()
    records = records_of(batch, CONFIG)
    whole = estimates.estimates(_numbers(records), np.arange(records.n_samples), resamples=0, seed=0)
    return {name: whole[(name,)].value for name in NUMBERS}, _intervals(records, N_SAMPLES)


@pytest.mark.parametrize("name", NUMBERS)
def test_intervals_contain_the_true_number_as_often_as_they_say_and_errors_are_the_spread(simulated, name) -> None:
    true, (low, high, error) = simulated[0][name], simulated[1][name].T
    assert len(low) == N_DATA_SETS
    assert 0.91 <= ((low <= true) & (true <= high)).mean() <= 0.985
    assert error.mean() == pytest.approx(np.std((low + high) / 2), rel=0.15)


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
    records = records_of(_repeated(250 * n_samples, np.random.default_rng(19)), CONFIG)
    found = _intervals(records, n_samples, lambda data_set: [object_distances(data_set, CONTEXT).numbers(data_set)])
    low, high, _ = found["image_alpha.value"].T
    assert len(low) == 250
    assert 0.92 <= ((low <= _limit_of_repeated()) & (_limit_of_repeated() <= high)).mean() <= 0.98
