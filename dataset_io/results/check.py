"""Check a run against requirements, and keep the last check with the run."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

import fiftyone as fo
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.acceptance.evaluate import CheckedRun, check_requirements
from ...agreement.acceptance.outcome import AcceptanceCheck
from ...agreement.families.family import build_report
from ...agreement.settings.arguments import takes_arrays
from ...metrics.numeric.arrays import BoolArray
from ..record.lease import writing
from ..record.run import Run
from ..record.sample_index import keys_of
from .load import records_on
from .requirements_file import read_requirements

#: results that are kept with a run, at most
MOST_KEPT = 1_000


@takes_arrays
def check_agreement(
    dataset: fo.Dataset | SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    requirements: str | os.PathLike[str] | Mapping[str, Any] = "requirements.yaml",
) -> AcceptanceCheck:
    """Check whether a run meets requirements: each passed, failed, or has not enough data.

    The numbers are those of the report, from the stored records; no label is read again. The last check of a whole run
    is kept with it, and the panel shows it.

    Args:
        dataset: the dataset, or a view to check only its samples
        run_key: key of the run
        requirements: path of a requirements file (YAML, or CVAT's JSON), or a mapping as in one; the page
            "Requirements files" lists the keys

    Returns:
        the check

    Raises:
        AgreementInputError: with every mistake in the file and its line; if the file is for other label types, or
            names annotators or attributes that the run has not; as :func:`load_agreement`
    """
    wanted, source = read_requirements(requirements)
    run = Run(dataset, run_key)
    loaded = run.records()
    samples, is_whole = dataset, isinstance(dataset, fo.Dataset)
    records, index, report = loaded.records, loaded.index, loaded.report
    context = dataclasses.replace(loaded.context, clusters=index.clusters())
    if not is_whole:
        records, index, context = records_on(samples, run_key, loaded)
        report = build_report(records, context)
    on_frames = index.frame_numbers() is not None

    def tagged(tags: Sequence[str]) -> BoolArray:
        return index.among(keys_of(samples.match_tags(list(tags)), on_frames=on_frames))

    found = check_requirements(wanted, source, CheckedRun(records, context, report, tagged))
    if is_whole:
        results_id = run.config["results_id"]
        with writing(run.dataset):
            kept = {"results_id": results_id, "check": found.shortened(MOST_KEPT).to_dict()}
            run.update(only_with={"results_id": results_id}, acceptance=kept)
    return found


def last_check(config: Mapping[str, Any]) -> AcceptanceCheck | None:
    """The last check of a run, from its record; None without one, or if the run was computed again or updated since."""
    kept = config.get("acceptance")
    try:
        if kept is None or kept["results_id"] != config["results_id"]:
            return None
        return AcceptanceCheck.from_dict(kept["check"])
    except (TypeError, KeyError, AttributeError):  # damaged, or of another version
        return None
