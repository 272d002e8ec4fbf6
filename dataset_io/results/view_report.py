"""What a run found in some of its samples, from what it stored: no label is read again."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView
from numpy.typing import NDArray

from ... import names
from ...agreement.errors import AgreementInputError
from ...agreement.family import build_report
from ...agreement.options import OPTIONS
from ...agreement.records import Records
from ...agreement.report import AgreementReport, ReportContext
from ..fiftyone_private import frame_collection, is_generated, pipeline_of, sample_collection, stored_dataset
from ..labels.source import flattened
from ..record.runs import dataset_of, load_records
from ..record.sample_index import frame_keys, keys_in, sample_keys
from ..record.stored_records import OpenRecords
from ..run.worst import worst_samples


def agreement_on(
    view: SampleCollection, run_key: str = names.DEFAULT_RUN_KEY, *, resamples: int | None = None
) -> AgreementReport:
    """The report of a run on the samples of a view, as the run found them.

    Labels that were edited, deleted or added since the run, and labels that the view hides, make no difference. What
    is only known of a run as a whole is left out.

    Args:
        view: a view of the dataset, or the dataset; samples that the run has not seen are left out. Of runs on frames
            the frames of the view count, of patches and clips the samples, or frames, that they are of
        run_key: key of the run
        resamples: resamples of the samples for the intervals, which take the most time; None for as many as the run
            made, 0 for no intervals

    Raises:
        AgreementInputError: as :func:`load_agreement`; if the view has no sample of the run
    """
    records, context = records_on(view, run_key)
    if resamples is not None:
        resamples = OPTIONS["resamples"].checked(resamples)
        context = dataclasses.replace(context, config=dataclasses.replace(context.config, resamples=resamples))
    from .sample_table import with_samples  # which finds the samples of a view with what stands here

    return with_samples(build_report(records, context), view)


def records_on(
    view: SampleCollection, run_key: str, loaded: OpenRecords | None = None
) -> tuple[Records, ReportContext]:
    """The records of a run of the samples of a view, and what a report on them needs; as :func:`agreement_on`.

    Args:
        view: the samples
        run_key: key of the run
        loaded: the records of the whole run, if they are at hand
    """
    dataset = dataset_of(view)
    loaded = loaded or load_records(dataset, run_key)
    kept = loaded.index.among(keys_of(view, on_frames=loaded.index.frame_numbers() is not None))
    if not kept.any():
        raise AgreementInputError(f"`view` must have samples of the run {run_key!r}, got {len(view)} of which none is")
    records, index = loaded.records.select(kept), loaded.index.select(kept)
    run = dataclasses.replace(
        loaded.report.run,
        n_of=loaded.report.n_samples,
        n_videos=None if index.frame_numbers() is None else len(np.unique(index.numbers())),
    )
    context = dataclasses.replace(
        loaded.context,
        run=run,
        worst_samples=worst_samples(records.sample_values(), index, dataset),
        clusters=index.clusters(),
        describe=functools.partial(index.described, dataset),
    )
    return records, context


def keys_of(view: SampleCollection, *, on_frames: bool) -> NDArray[np.bytes_]:
    """Keys of the samples, or frames, of a view."""
    if is_generated(view):
        return _keys_of_sources(view, on_frames=on_frames)
    samples, dataset = flattened(view), stored_dataset(view)
    wanted = {"_sample_id": True, "frame_number": True} if on_frames else {"_id": True}
    if isinstance(samples, DatasetView):
        collection, stages = sample_collection(dataset), pipeline_of(samples, frames_only=on_frames)
    else:
        collection, stages = (frame_collection(dataset) if on_frames else sample_collection(dataset)), []
    pipeline = [*stages, {"$project": wanted}]
    if on_frames:
        found = collection.aggregate(pipeline, allowDiskUse=True)
        return frame_keys((row["_sample_id"], row["frame_number"]) for row in found)
    batches = collection.aggregate_raw_batches(pipeline, allowDiskUse=True)
    return np.concatenate([sample_keys([]), *map(keys_in, batches)])


def _keys_of_sources(view: SampleCollection, *, on_frames: bool) -> NDArray[np.bytes_]:
    """Keys of the samples, or frames, that patches, frames or clips are of."""
    ids = [ObjectId(sample_id) for sample_id in view.values("sample_id")]
    if not on_frames:
        return sample_keys(ids)
    if "frame_number" in view.get_field_schema():
        return frame_keys(zip(ids, view.values("frame_number"), strict=True))
    clips = zip(ids, view.values("support"), strict=True)
    return frame_keys((video_id, number) for video_id, (first, last) in clips for number in range(first, last + 1))
