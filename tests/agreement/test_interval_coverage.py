"""How often the 95 % intervals of a report contain the true number, over many small data sets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.agreement.known_alpha import PREVALENCE, draw, limit_of_alpha

from annotator_agreement.agreement.matching.compute import compute_agreement_of
from annotator_agreement.agreement.objects.build import object_numbers, sample_contents
from annotator_agreement.agreement.objects.records import ObjectRecords, record
from annotator_agreement.agreement.settings.config import make_config
from annotator_agreement.agreement.statistics.content_order import content_ranks
from annotator_agreement.agreement.statistics.estimates import estimates
from annotator_agreement.agreement.statistics.numbers import Numbers
from annotator_agreement.agreement.statistics.report import Interval, ReportContext, RunFacts

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
