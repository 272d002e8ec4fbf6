"""The report of a run on some of its samples, from what the run stored: no label is read again."""

from __future__ import annotations

import dataclasses
import functools

from fiftyone.core.collections import SampleCollection

from .. import names
from ..agreement.errors import AgreementInputError
from ..agreement.objects.build import build_object_report
from ..agreement.objects.records import ObjectRecords
from ..agreement.report import AgreementReport, ReportContext
from .runs import dataset_of, load_results
from .sample_index import SampleIndex
from .source import flattened


def agreement_on(view: SampleCollection, run_key: str = names.DEFAULT_RUN_KEY) -> AgreementReport:
    """The report of a run on the samples of a view, as the run found them.

    Args:
        view: a view of the dataset, or the dataset; samples that the run has not seen are left out
        run_key: key of the run

    Raises:
        AgreementInputError: as :func:`load_agreement`; if the view has no sample of the run
    """
    dataset = dataset_of(view)
    report, stored = load_results(dataset, run_key)
    if stored is None:
        raise AgreementInputError(f"The run {run_key!r} must be one on objects, got {report.family}")
    index = SampleIndex.from_arrays(stored.index)
    context = ReportContext.from_stored(stored.context, report)
    records = ObjectRecords.from_arrays(stored.records, len(context.annotators))
    samples = flattened(view)
    kept = index.among(set(samples.values("sample_id" if view._is_generated else "id")))
    if not kept.any():
        raise AgreementInputError(f"`view` must have samples of the run {run_key!r}, got {len(view)} of which none is")
    index = index.select(kept)
    context = dataclasses.replace(
        context, clusters=index.clusters(), describe=functools.partial(index.described, dataset)
    )
    return build_object_report(records.select(kept), context)
