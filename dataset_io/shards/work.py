"""Compare one shard of a run, in any process: read, match, write values, and store the records as a part of the run.

A task and its answer are plain values, and the records go through the database, so any engine can carry them. A task
may be done twice, also at once: every attempt writes the same values, and its records to a file of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import fiftyone as fo
from bson import ObjectId

from ...agreement.settings.config import AgreementConfig
from ...agreement.settings.errors import AgreementInputError
from ...agreement.statistics.report import ReportContext, RunFacts
from ..database.fiftyone_private import database, reload_dataset
from ..families import open_family
from ..labels.paths import is_of_frames
from ..labels.roles import with_roles
from ..labels.source import Shard, flattened, unchecked_source
from ..record.run import RUNNING, Run, versions
from ..record.stored_records import StoredRecords, part_id, write_part
from ..run.one_pass import Pass
from ..run.work_through import rare_collections
from .engines import answered

#: ends the name of the part of a shard without samples
EMPTY = "-empty"


class _SharedRun(Run):
    """A run that others compare too: it must still be running, as late workers may outlive it."""

    def require_current(self) -> None:
        """Raise :class:`AgreementInputError` unless this run is being computed."""
        if not self.is_current(status=RUNNING):
            raise AgreementInputError(
                f"The run {self.key!r} is no longer being computed; its worker has stopped writing"
            )


def work(task: Mapping[str, Any]) -> dict[str, Any]:
    """Do a task.

    Returns:
        ``{"n_samples"}``, or why not, see :func:`~.engines.answered`
    """
    return answered(lambda: {"n_samples": _compare(**task)})


def _compare(
    *,
    dataset_id: str,
    dataset_name: str,
    run_key: str,
    run_id: str,
    shard: tuple[int, str, str | None, str | None],
    details: Mapping[str, Any],
    thresholds: Sequence[Sequence[float]],
    software: Mapping[str, str],
    attempt: int,
) -> int:
    """Compare a shard; its number of samples.

    Args:
        shard: number, key, and both limits
        details: what the family found out about all labels
        thresholds: least confidence of the labels of every role on either half of the images
        software: versions that a worker must have
        attempt: engines that remember results tell attempts apart by it
    """
    run = _SharedRun(opened_dataset(dataset_id, dataset_name, software), run_key, run_id)
    run.require_current()
    record, (number, key, *limits) = run.config, shard
    low, high = (None if limit is None else ObjectId(limit) for limit in limits)
    # the labels of the shard, from what the run recorded
    config, annotators = AgreementConfig.from_dict(record["options"]), tuple(record["annotators"])
    samples = flattened(run.target(), on_frames=is_of_frames(config.fields[0]))
    who: dict[str, Any] = {"field_annotator": tuple(map(annotators.index, config.annotators))}
    if config.attribute_mode:
        who = {"annotator_values": tuple(map(config.annotator_value, annotators))}
    source = unchecked_source(samples, config)
    source = with_roles(
        replace(source, annotators=annotators, run_id=run_id, shard=Shard(number, key, low, high), **who)
    )
    roles = zip(source.roles, thresholds, strict=True)
    source = replace(source, roles=tuple(replace(role, thresholds=tuple(found)) for role, found in roles))
    known = ReportContext(source.config, source.annotators, (), (), RunFacts(), details=details)
    name = f"{number:06d}"
    is_first = write_part(run_id, name, None)
    one_pass = Pass(open_family(source, known), run, again=not is_first)
    with rare_collections():
        one_pass.work(progress=False)
    compared, name = one_pass.compared(), f"{name}-{ObjectId()}"
    noticed = {"noticed": asdict(one_pass.noticed())}
    run.require_current()
    if compared is None:
        write_part(run_id, name + EMPTY, noticed)
        return 0
    names = compared.codes
    codes = {"classes": names.classes, "attributes": names.attributes, "roles": names.roles}
    context = {"annotators": source.annotators, **codes, **noticed}
    StoredRecords.of(compared.records, compared.index, context).write_to(part_id(run_id, name))
    return len(compared.index)


def opened_dataset(dataset_id: str, dataset_name: str, software: Mapping[str, str]) -> fo.Dataset:
    """The dataset of a task.

    Args:
        dataset_id: its id
        software: versions that this process must have

    Raises:
        AgreementInputError: if this process cannot work on it
    """
    if dict(software) != versions():
        raise AgreementInputError(
            f"Workers must have the software of the process that they work for ({_listed(software)}), got "
            f"{_listed(versions())}; install the same versions"
        )
    document = database().datasets.find_one({"_id": ObjectId(dataset_id)}, {"name": True})
    if document is None:
        raise AgreementInputError(
            f"Workers must be connected to the database with the dataset {dataset_name!r}, got another one, or "
            "the dataset was deleted; set FIFTYONE_DATABASE_URI where the workers start"
        )
    dataset = fo.load_dataset(document["name"])
    reload_dataset(dataset)
    return dataset


def _listed(found: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in found.items())
