"""All that the panel shows of a run, as plain values, made once for every run and view."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators.cache import execution_cache

from ..agreement.reports import build_report
from ..dataset_io.fiftyone_private import dataset_id, serialized_stages
from ..dataset_io.record.runs import load_records
from ..dataset_io.record.stored_records import OpenRecords
from ..dataset_io.record.stored_scores import load_scores, stored_bytes
from ..dataset_io.results.view_report import records_on
from .headline import headline_markdown
from .sections import sections_of

Board = dict[str, Any]

#: of more samples the numbers of a view have no intervals, which take a second and more
MOST_RESAMPLED = 2_000
#: records of a run are kept for the next view if its results take no more than this
_MOST_KEPT = 150_000_000


def fingerprint(*parts: Any) -> str:
    """A short name of some values."""
    return hashlib.md5(json.dumps(parts, sort_keys=True, default=str).encode(), usedforsecurity=False).hexdigest()[:10]


def view_print(view: SampleCollection | None) -> str:
    """What tells a view from others of its dataset."""
    stages = [] if view is None else serialized_stages(view, with_ids=False)
    return fingerprint(stages)


def board_of(
    ctx: foo.ExecutionContext, run_key: str, results_id: str, view: SampleCollection | None, refreshed: int
) -> Board:
    """What is shown of a run.

    Args:
        ctx: the execution context
        run_key: key of a completed run
        results_id: what tells it from others of this key
        view: the samples that the numbers are of; None for all
        refreshed: how often the user asked for what is new
    """
    shown = "" if view is None else view_print(view)
    return _board(ctx, str(dataset_id(ctx.dataset)), run_key, results_id, shown, refreshed, _View(view))


class _View:
    """A view that is no part of a key: its print is."""

    def __init__(self, view: SampleCollection | None) -> None:
        self.samples = view


@execution_cache(residency="ephemeral", max_size=32, key_fn=lambda ctx, *values: list(values[:-1]))
def _board(
    ctx: foo.ExecutionContext,
    dataset_id: str,
    run_key: str,
    results_id: str,
    shown: str,
    refreshed: int,
    view: _View,
) -> Board:
    notes = []
    if view.samples is None:
        report, scores = load_scores(ctx.dataset, run_key)
    else:
        kept = stored_bytes(ctx.dataset, run_key) <= _MOST_KEPT
        loaded = (_records if kept else _records.uncached)(ctx, dataset_id, run_key, results_id, refreshed)
        records, context = records_on(view.samples, run_key, loaded)
        if context.config.resamples and records.n_samples > MOST_RESAMPLED:
            context = dataclasses.replace(context, config=dataclasses.replace(context.config, resamples=0))
            notes.append(
                f"Without intervals, which the panel computes for views of up to {MOST_RESAMPLED:,} samples; "
                "“Show annotator agreement” and `agreement_on()` do it for all."
            )
        report, scores = build_report(records, context), records.sample_values().score
    sections = sections_of(report, scores)
    version = fingerprint(dataset_id, run_key, results_id, shown, refreshed)
    return {"version": version, "headline": headline_markdown(report, notes), "sections": sections}


@execution_cache(residency="ephemeral", max_size=2)
def _records(ctx: foo.ExecutionContext, dataset_id: str, run_key: str, results_id: str, refreshed: int) -> OpenRecords:
    """The records of a run, for the numbers of one view after the other."""
    return load_records(ctx.dataset, run_key)
