"""Compare two runs of a dataset on their common samples."""

from __future__ import annotations

import dataclasses

import fiftyone as fo
import numpy as np
from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView

from ... import names
from ...agreement.families.compare import AgreementComparison, AppliedBetween, ComparedRun, compare_runs
from ...agreement.settings.arguments import takes_arrays
from ...agreement.settings.errors import AgreementInputError
from ...agreement.settings.options import OPTIONS
from ..database.fiftyone_private import is_generated
from ..record.gold_fields import labels_of_steps
from ..record.run import Run
from ..record.sample_index import frame_keys, sample_keys


@takes_arrays
def compare_agreement(
    dataset: fo.Dataset | SampleCollection,
    key_a: str = names.DEFAULT_RUN_KEY,
    key_b: str | None = None,
    *,
    resamples: int = 1000,
    seed: int = 51,
) -> AgreementComparison:
    """Compare two runs, such as before and after a new guideline, with two thresholds or two methods.

    Every number of the reports is compared over the samples of both runs, from the stored records; no label is read
    again. The runs may differ in options, annotators and fields; the result lists these differences.

    Labels that decisions set in between (``run.decisions.apply``) agree because they were made to: the result says how
    many there are, and has the numbers of the samples without them (``decided``).

    Args:
        dataset: the dataset, or a view to compare only its samples
        key_a: key of one run
        key_b: key of the second run; differences are second minus first. None: the first run is compared as it was
            before its last update, and as it is now
        resamples: how often the samples (videos, groups) are resampled for the intervals of the differences; 0 for none
        seed: seed of the random numbers

    Raises:
        AgreementInputError: as ``load``, for either run; if the runs are on different families of label
            types, or no sample was compared in both
    """
    resamples = OPTIONS["resamples"].checked(resamples)
    seed = OPTIONS["seed"].checked(seed)
    root = Run(dataset, key_a).dataset
    first, second = Run(root, key_a), Run(root, key_a if key_b is None else key_b)
    a, b = first.records() if key_b is not None else first.previous(), second.records()
    if key_b is None:  # the earlier state has a name of its own
        config = dataclasses.replace(a.context.config, run_key=f"{a.context.config.run_key}, before")
        a = dataclasses.replace(a, context=dataclasses.replace(a.context, config=config))
    steps = first.applied_steps(before=key_b is None) ^ second.applied_steps()
    if key_b is None:
        key_a, key_b = a.context.config.run_key, key_a
    kinds = ["numbers" if run.context.details.get("numbers") else run.report.family for run in (a, b)]
    on_frames = [run.index.frame_numbers() is not None for run in (a, b)]
    kinds = [f"{kind} on frames" if is_on_frames else kind for kind, is_on_frames in zip(kinds, on_frames, strict=True)]
    if kinds[0] != kinds[1]:
        raise AgreementInputError(
            f"The runs {key_a!r} and {key_b!r} must be on labels of one kind, got {kinds[0]} and {kinds[1]}"
        )
    _, rows_a, rows_b = np.intersect1d(a.index.keys(), b.index.keys(), assume_unique=True, return_indices=True)
    if is_generated(dataset) or isinstance(dataset, DatasetView):
        kept = a.index.among(dataset)[rows_a]
        rows_a, rows_b = rows_a[kept], rows_b[kept]
    if not len(rows_a):
        raise AgreementInputError(
            f"The runs {key_a!r} and {key_b!r} must have samples in common, got {len(a.index):,} and "
            f"{len(b.index):,} samples, none in both"
        )
    clusters, applied = a.index.clusters(), None
    if steps:  # labels of the samples that applied decisions set in between
        numbers, found = labels_of_steps(root, steps, [*a.context.config.fields, *b.context.config.fields])
        places = [(each, number or 0) for each, number in numbers]
        keys = frame_keys(places) if on_frames[0] else sample_keys(each for each, _ in places)
        n_labels = dict(zip(keys.tolist(), numbers.values(), strict=True))
        of_rows = [n_labels.get(key, 0) for key in a.index.keys()[rows_a].tolist()]
        applied = AppliedBetween(np.array(of_rows, np.int64), bool(steps - found))
    return compare_runs(
        ComparedRun(a.records, a.context, rows_a),
        ComparedRun(b.records, b.context, rows_b),
        lambda chosen: a.index.list_samples(root, rows_a[chosen].tolist()),
        None if clusters is None else clusters[rows_a],
        resamples=resamples,
        seed=seed,
        on_frames=on_frames[0],
        applied=applied,
    )
