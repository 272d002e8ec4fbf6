"""Cached view models and records, by run and view."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators.cache import execution_cache

from ..agreement.family import build_report
from ..dataset_io.fiftyone_private import dataset_id, serialized_stages
from ..dataset_io.record.run import Run
from ..dataset_io.record.stored_records import OpenRecords
from ..dataset_io.results.load import records_on
from .view_model import ViewModel, view_model

#: views with more samples get no intervals, which would take more than a second
MOST_RESAMPLED = 2_000
#: records of a run up to this size are cached for the next view
_MOST_KEPT = 150_000_000


def hash_of(*parts: Any) -> str:
    """A short hash of some values."""
    return hashlib.md5(json.dumps(parts, sort_keys=True, default=str).encode(), usedforsecurity=False).hexdigest()[:10]


def hash_of_view(view: SampleCollection | None) -> str:
    """A hash of the stages of a view; different views of a dataset have different hashes."""
    stages = [] if view is None else serialized_stages(view, with_ids=False)
    return hash_of(stages)


def cached_view_model(
    ctx: foo.ExecutionContext, run_key: str, results_id: str, view: SampleCollection | None, refreshed: int
) -> ViewModel:
    """The view model of a run, cached.

    Args:
        ctx: the execution context
        run_key: key of a completed run
        results_id: id of its results, different for every run with this key
        view: the samples that the numbers describe; None for all
        refreshed: how often the user refreshed
    """
    shown = "" if view is None else hash_of_view(view)
    model: ViewModel = _view_model(
        ctx, str(dataset_id(ctx.dataset)), run_key, results_id, shown, refreshed, _View(view)
    )
    return model


class _View:
    """Wrapper that keeps a view out of the cache key; the key has its hash."""

    def __init__(self, view: SampleCollection | None) -> None:
        self.samples = view


@execution_cache(residency="ephemeral", max_size=32, key_fn=lambda ctx, *values: list(values[:-1]))
def _view_model(
    ctx: foo.ExecutionContext,
    dataset_id: str,
    run_key: str,
    results_id: str,
    shown: str,
    refreshed: int,
    view: _View,
) -> ViewModel:
    notes = []
    if view.samples is None:
        report, scores = Run(ctx.dataset, run_key).scores()
    else:
        kept = Run(ctx.dataset, run_key).stored_bytes <= _MOST_KEPT
        loaded = (_records if kept else _records.uncached)(ctx, dataset_id, run_key, results_id, refreshed)
        records, context = records_on(view.samples, run_key, loaded)
        if context.config.resamples and records.n_samples > MOST_RESAMPLED:
            context = dataclasses.replace(context, config=dataclasses.replace(context.config, resamples=0))
            notes.append(
                f"Without intervals, which the panel computes for views of up to {MOST_RESAMPLED:,} samples; "
                "“Show the annotator agreement report” and `agreement_on()` do it for all."
            )
        report, scores = build_report(records, context), records.sample_values().score
    return view_model(report, scores, hash_of(dataset_id, run_key, results_id, shown, refreshed), notes)


@execution_cache(residency="ephemeral", max_size=2)
def _records(ctx: foo.ExecutionContext, dataset_id: str, run_key: str, results_id: str, refreshed: int) -> OpenRecords:
    """The records of a run, cached for the numbers of several views."""
    return Run(ctx.dataset, run_key).records()
