"""The parts of a report on objects, from the records of the samples: its numbers, and their intervals."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from .generated import ANNOTATORS, N_CLASSES, SEED, GeneratedBoxes, batch_of, context_of, generate
from .output import Row, at_most, say, timed

N_SAMPLES = 5_000
N_MANY = 100_000
#: so many resamples place an end of an interval within 0.5 % of its width (one standard error)
MANY_RESAMPLES = 40_000
REPETITIONS = 3
_BATCH = 1_000


def _records_and_context(n_samples: int) -> tuple[Any, Any]:
    """The records of a run on generated boxes, and the context of its report."""
    context = context_of(len(ANNOTATORS), [f"class_{k:02d}" for k in range(N_CLASSES)], resamples=1000)
    from annotator_agreement.agreement.matching.compute import compute_agreement_of
    from annotator_agreement.agreement.objects.records import record

    data, total = generate(n_samples), None
    columns = (data.sample, data.annotator, data.label, data.boxes_xywh_rel)
    for first in range(0, n_samples, _BATCH):
        rows = slice(*np.searchsorted(data.sample, [first, first + _BATCH]))
        sample, *others = (column[rows] for column in columns)
        of_batch = GeneratedBoxes(sample - first, *others, min(_BATCH, n_samples - first), data.n_annotators)
        records = record(compute_agreement_of(batch_of(of_batch), context.config))
        total = records if total is None else total + records
    return total, context


def _seconds(n_samples: int, repetitions: int) -> tuple[float, float]:
    """Seconds of the report without intervals, and additional seconds for 1,000 resamples."""
    records, context = _records_and_context(n_samples)
    from annotator_agreement.agreement.objects.build import build_object_report

    without = dataclasses.replace(context, config=dataclasses.replace(context.config, resamples=0))
    own, everything = (
        timed(functools.partial(build_object_report, records, each), repetitions)[0] for each in (without, context)
    )
    return own, everything - own


def _apart(n_samples: int) -> float:
    """Largest distance of the ends of both kinds of intervals of the headline, as a share of their widths."""
    records, context = _records_and_context(n_samples)
    from annotator_agreement.agreement.objects.build import headline_numbers_of
    from annotator_agreement.agreement.statistics import estimates as estimation

    def intervals(most_resampled: int) -> dict:
        estimation.MOST_RESAMPLED, before = most_resampled, estimation.MOST_RESAMPLED
        headline = headline_numbers_of(records, context)
        found = estimation.estimates(headline, np.arange(n_samples), resamples=MANY_RESAMPLES, seed=SEED)
        estimation.MOST_RESAMPLED = before
        return {key[-1]: (each.interval.low, each.interval.high) for key, each in found.items() if each.interval}

    resampled, by_delta = intervals(n_samples), intervals(n_samples - 1)
    apart = {
        name: float(np.abs(np.subtract(ends, by_delta[name])).max() / np.ptp(ends)) for name, ends in resampled.items()
    }
    say(f"report: how far ends by the delta method and BCa are apart: {apart}")
    return max(apart.values())


def measure() -> list[Row]:
    """Time the report on some samples, and its intervals on very many; compare both kinds of intervals."""
    say(f"report: {N_SAMPLES} samples, {len(ANNOTATORS)} annotators, {N_CLASSES} classes; then {N_MANY} samples")
    own, intervals = _seconds(N_SAMPLES, REPETITIONS)
    _, of_many = _seconds(N_MANY, 1)
    apart = _apart(N_MANY)
    return [
        Row(f"report of {N_SAMPLES} samples without intervals, s", own, at_most(1.5)),
        Row("1,000 resamples of them, s", intervals, at_most(1)),
        Row(f"intervals of {N_MANY} samples by the delta method, s", of_many, at_most(30)),
        Row(f"delta method / BCa on {N_MANY} samples: ends apart, of the width", apart, at_most(0.02)),
    ]
