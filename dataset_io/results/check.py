"""Check a run against requirements, and keep the last check with it."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

import fiftyone as fo
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.acceptance.evaluate import AcceptanceCheck, check_requirements
from ...agreement.acceptance.requirements import Requirement, read_requirements
from ...agreement.families.family import build_report
from ...agreement.settings.arguments import takes_arrays
from ...agreement.statistics.report import AgreementReport
from ...metrics.numeric.arrays import BoolArray
from ..record.lease import writing
from ..record.run import Run
from .parts import OpenParts, open_parts

#: most results of a check that are kept with a run
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
        requirements: path of a requirements file (YAML or JSON), or a mapping as in one; the page "Requirements
            files" lists the keys

    Returns:
        the check

    Raises:
        AgreementInputError: with the first mistake in the file and its line; if it names something that the run
            lacks; as ``load``
    """
    wanted, source = read_requirements(requirements)
    return check_with(dataset, run_key, wanted, source)


def check_with(
    dataset: fo.Dataset | SampleCollection, run_key: str, wanted: list[Requirement], source: str
) -> AcceptanceCheck:
    """As :func:`check_agreement`, for requirements that were read already."""
    run, opened = Run(dataset, run_key), open_parts(dataset, run_key)
    report = opened.report or build_report(opened.records, opened.context)
    found = check_requirements(wanted, source, report, functools.cache(lambda by: part_reports(opened, by)))
    if isinstance(dataset, fo.Dataset):
        results_id = run.config["results_id"]
        with writing(run.dataset):
            kept = {"results_id": results_id, "check": found.shortened(MOST_KEPT).to_dict()}
            run.update(only_with={"results_id": results_id}, acceptance=kept)
    return found


def part_reports(opened: OpenParts, by: str) -> dict[str, Callable[[], AgreementReport]]:
    """The reports on the parts that a field makes, by their names; each is built when it is first asked for."""

    def report_on(rows: BoolArray) -> AgreementReport:
        return build_report(opened.records.select(rows), opened.context.of_samples(rows))

    parts = opened.samples_of(by).items()
    return {name: functools.cache(functools.partial(report_on, rows)) for name, rows in parts}


def last_check(config: Mapping[str, Any]) -> AcceptanceCheck | None:
    """The last check of a run, from its record; None if there is none, or the run was computed or updated since."""
    kept = config.get("acceptance")
    if kept is None or kept["results_id"] != config["results_id"]:
        return None
    return AcceptanceCheck.from_dict(kept["check"])
