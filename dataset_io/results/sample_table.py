"""What a run found in every sample, as a table."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, TypeVar

import fiftyone as fo
import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.report import AgreementReport
from ..fiftyone_private import sample_collection
from ..record.runs import dataset_of, load_records
from .view_report import keys_of

if TYPE_CHECKING:
    from pandas import DataFrame

Report = TypeVar("Report", bound=AgreementReport)


def with_samples(report: Report, samples: SampleCollection) -> Report:
    """The report, with access to the table of the samples of a dataset or view."""
    return dataclasses.replace(report, samples=functools.partial(agreement_samples, samples, report.run_key))


def agreement_samples(dataset: fo.Dataset | SampleCollection, run_key: str = names.DEFAULT_RUN_KEY) -> DataFrame:
    """Every sample of a run, as the run found it: one row each, by id.

    Args:
        dataset: the dataset; or a view, of whose samples the table is
        run_key: key of the run

    Returns:
        a pandas DataFrame with ``id`` and ``filepath`` of the sample (of the video, and ``frame_number``, for frames),
        ``score`` and ``alpha`` (nan where undefined), ``n_annotators``, ``n_objects``, ``n_units`` and ``n_disputed``;
        samples that were deleted since have no ``filepath``

    Raises:
        AgreementInputError: if there is no such run, or it did not complete
    """
    import pandas as pd  # what a run does not need

    samples, dataset = dataset, dataset_of(dataset)
    loaded = load_records(dataset, run_key)
    values, ids = loaded.records.sample_values(), loaded.index.ids()
    found = sample_collection(dataset).find(
        {"_id": {"$in": [ObjectId(sample_id) for sample_id in sorted(set(ids))]}}, {"filepath": True}
    )
    filepaths = {str(row["_id"]): row.get("filepath") for row in found}
    frames = loaded.index.frame_numbers()
    table = pd.DataFrame(
        {
            "id": ids,
            "filepath": [filepaths.get(sample_id) for sample_id in ids],
            **({"frame_number": frames} if frames is not None else {}),
            "score": np.asarray(values.score, np.float64),
            "alpha": np.asarray(values.alpha, np.float64),
            "n_annotators": values.n_annotators,
            "n_objects": values.n_objects,
            "n_units": values.n_units,
            "n_disputed": values.n_disputed,
        }
    )
    if not isinstance(samples, fo.Dataset):
        table = table[loaded.index.among(keys_of(samples, on_frames=frames is not None))]
    return table.sort_values(["id", *(["frame_number"] if frames is not None else [])], ignore_index=True)
