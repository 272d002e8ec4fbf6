"""How often the 95 % intervals of a report contain the true number, over many small data sets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.agreement.known_alpha import PREVALENCE, draw, limit_of_alpha

from annotator_agreement.agreement.matching.batch import Batch
from annotator_agreement.agreement.matching.compute import compute_agreement_of
from annotator_agreement.agreement.objects.build import object_numbers, sample_contents
from annotator_agreement.agreement.objects.object_distances import object_distances
from annotator_agreement.agreement.objects.records import ObjectRecords, record
from annotator_agreement.agreement.settings.config import make_config
from annotator_agreement.agreement.statistics.content_order import content_ranks
from annotator_agreement.agreement.statistics.estimates import estimates
from annotator_agreement.agreement.statistics.numbers import Numbers
from annotator_agreement.agreement.statistics.report import Interval, ReportContext, RunFacts
from annotator_agreement.metrics import Objects
from annotator_agreement.metrics.geometry.boxes import Boxes

pytestmark = pytest.mark.long

N_DATA_SETS = 200
N_SAMPLES = 100
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
    context = ReportContext(config, config.annotators, CLASS_NAMES, ["Detections"], RunFacts())
    records = record(compute_agreement_of(draw(N_DATA_SETS * N_SAMPLES, np.random.default_rng(17)), config))
    # all data sets together: their own error is a fourteenth of that of one
    everything = estimates(_numbers(records, context), np.arange(records.n_samples), resamples=0, seed=0)
    true = {name: everything[(name,)].value for name in NUMBERS} | {"alpha.pooled": limit_of_alpha()}
    found: Intervals = {name: [] for name in NUMBERS}
    number = np.arange(records.n_samples) // N_SAMPLES
    for k in range(N_DATA_SETS):
        data_set = records.select(number == k)
        ranks = content_ranks(*sample_contents(data_set, context))
        of_set = estimates(_numbers(data_set, context), ranks, resamples=config.resamples, seed=k)
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
    context = ReportContext(config, config.annotators, CLASS_NAMES[:4], ["Detections"], RunFacts())
    n_data_sets = 500
    records = record(compute_agreement_of(_repeated(n_data_sets * n_samples, np.random.default_rng(19)), config))
    covered = 0
    for k in range(n_data_sets):
        data_set = records.select(np.arange(records.n_samples) // n_samples == k)
        ranks = content_ranks(*sample_contents(data_set, context))
        numbers = object_distances(data_set, context).numbers(data_set)
        interval = estimates([numbers], ranks, resamples=config.resamples, seed=k)["image_alpha.value",].interval
        assert interval is not None
        covered += interval.low <= _limit_of_repeated() <= interval.high
    assert 0.93 <= covered / n_data_sets <= 0.97


@pytest.mark.parametrize("name", NUMBERS)
def test_intervals_contain_the_true_number_as_often_as_they_say(
    simulated: tuple[dict[str, float], Intervals], name: str
) -> None:
    true, found = simulated
    ends = np.array([(each.low, each.high) for each in found[name]])
    covered = ((ends[:, 0] <= true[name]) & (true[name] <= ends[:, 1])).mean()
    assert 0.92 <= covered <= 0.98


@pytest.mark.parametrize("name", NUMBERS)
def test_the_standard_error_is_the_spread_of_the_data_sets(
    simulated: tuple[dict[str, float], Intervals], name: str
) -> None:
    found = simulated[1][name]
    centres = [(each.low + each.high) / 2 for each in found if each.low is not None and each.high is not None]
    spread = np.std(centres)
    assert np.mean([each.error for each in found]) == pytest.approx(spread, rel=0.12)
