"""Compute a run again where samples were changed: only these are read, matched and written; the report covers all."""

from __future__ import annotations

import dataclasses
import logging
import time
from dataclasses import dataclass
from typing import Any

import fiftyone as fo
import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from numpy.typing import NDArray

from ... import names
from ...agreement.settings.arguments import takes_arrays
from ...agreement.settings.config import AgreementConfig
from ...agreement.settings.errors import AgreementInputError, keeping_first_error
from ...agreement.settings.options import OPTIONS
from ...agreement.statistics.report import AgreementReport, RunFacts
from ..database.fiftyone_private import reload_samples, sample_collection
from ..families import open_family
from ..families.protocol import LabelFamily, WholeRunNeededError, WholeRunReason
from ..labels.checks import check_room
from ..labels.roles import with_roles
from ..labels.source import Source, annotators_found, refuse_decisions, refuse_read_only
from ..record.gold_fields import applied_steps
from ..record.lease import unless_deleted, writing
from ..record.run import Run, versions
from ..record.run_labels import open_run_labels
from ..record.sample_index import CHANGES_RECORD, changes_since, ids_of, new_changes_record, sample_keys
from ..record.schema import unset_values
from ..record.stored_records import OpenRecords
from ..results.load import with_samples
from ..results.thresholds import source_with_iou_from_data
from ..run.one_pass import Compared, Noticed, Pass, run_facts
from ..run.role_thresholds import with_thresholds
from ..run.work_through import Progress, rare_collections
from .compute import run_agreement

logger = logging.getLogger(__name__)


@takes_arrays
def update_agreement(
    dataset: fo.Dataset | SampleCollection, run_key: str = names.DEFAULT_RUN_KEY, *, progress: Progress = None
) -> AgreementReport:
    """Compute a run again where samples were edited, added or deleted since, with the options of the run.

    Only these samples are read, matched and written; the report is the same as that of a new run. The state before is
    kept for ``run.compare()``. Where a change concerns all samples (a new annotator, the first
    mask or crowd region, another version of the plugin), everything is computed again, and a warning in the log says
    so. After an interruption the run has its old report, and can be updated again. Objects and consensus labels that
    were written for the run stay as they are.

    Args:
        dataset: the dataset, or a view of it; all samples of the run are brought up to date
        run_key: key of the run
        progress: as in ``compute``

    Returns:
        the report

    Raises:
        AgreementInputError: if there is no such run, it did not complete, or labels cannot be compared
    """
    OPTIONS["progress"].checked(progress)
    started = time.perf_counter()
    run = Run(dataset, run_key)
    with unless_deleted(run.dataset):
        run.require_completed()
        try:
            with rare_collections():
                report = _update(run, progress, started)
        except WholeRunNeededError as reason:
            logger.warning("All samples of the run %r are compared again: %s", run_key, reason)
            config = dataclasses.replace(AgreementConfig.from_dict(run.config["options"]), run_key=run_key)
            return run_agreement(run.target(), config, overwrite=True, progress=progress)
        reload_samples(run.dataset)
    return with_samples(report, run.dataset)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Plan of an update: the samples to compare again, and those to drop."""

    again: NDArray[np.bytes_]  #: keys of the samples (videos) to compare
    left: list[ObjectId]  #: samples that are in the dataset, but no longer in the view of the run
    dropped: NDArray[np.bool_]  #: shape ``(S,)``, rows of the records that are replaced, or go
    n_repeated: int  #: repetitions of samples in the view
    n_samples: int  #: samples (videos) of the run now


def _update(run: Run, progress: Progress, started: float) -> AgreementReport:
    dataset, new_id = run.dataset, str(ObjectId())
    with writing(dataset):
        loaded, record = run.records(), run.config
        run = Run(dataset, run.key, record["results_id"])
        read = new_changes_record(dataset)
        run.begin_update(new_id)
    try:
        source = _source(run, record)
        changes = changes_since(dataset, run.config[CHANGES_RECORD], lambda: loaded.index, on_frames=source.on_frames)
        if changes is None or record.get("versions") != versions():
            raise WholeRunNeededError(WholeRunReason.OTHER_VERSION)
        known = loaded.context.details.get("roles", ())
        if [role.decided for role in source.roles] != [role.get("decided") for role in known]:
            raise WholeRunNeededError(WholeRunReason.OTHER_DECISIONS)
        if source.is_view:
            cursor = source.aggregate_samples([{"$project": {"_id": True}}])
        else:
            cursor = sample_collection(source.dataset).find({}, {"_id": True}, hint="_id_")
        found = sample_keys(row["_id"] for row in cursor)
        now, rows = np.unique(found), loaded.index.columns["sample_id"]
        if len(now) < len(found) and source.on_frames:
            raise WholeRunNeededError(WholeRunReason.REPEATED_VIDEOS)
        before = np.unique(rows)
        changed = np.intersect1d(now, sample_keys(changes.samples))
        again = np.union1d(changed, np.setdiff1d(now, before))
        gone = ids_of(np.setdiff1d(before, now))
        still_there = sample_collection(source.dataset).find({"_id": {"$in": gone}}, {"_id": True}) if gone else ()
        plan = _Plan(
            again,
            [row["_id"] for row in still_there],
            ~np.isin(rows, np.setdiff1d(now, again)),
            len(found) - len(now),
            len(now),
        )
        if not len(plan.again) and not plan.dropped.any():
            run.end_update(new_id, read)
            return loaded.report
        family = _family(source, loaded, plan)
        compared, n_left_out = _compare(run, family, loaded, plan, progress)
        if plan.left:
            unset_values(dataset, list(source.fields_written(source.config.run_key)), plan.left)
        _require_same_kind(family, loaded, compared)
        noticed = Noticed(n_left_out, plan.n_repeated, plan.n_samples if source.on_frames else None)
        report, records = compared.report(family, run_facts(source, compared, noticed, started=started))
        run.require_current()
        run.exchange(report, records, new_id, read, applied_steps(dataset))
    except BaseException:
        with keeping_first_error(f"The update of the run {run.key!r} could not be ended"), writing(dataset):
            run.end_update(new_id)
            if not run.is_current():  # it was deleted or replaced meanwhile: all goes that was written since
                run.remove_remains(record["fields_written"])
        raise
    return dataclasses.replace(report, run_key=run.key)  # FiftyOne itself may have renamed the run


def _source(run: Run, record: dict[str, Any]) -> Source:
    """The labels of the run as they are now."""
    source = open_run_labels(run.dataset, run.key).source_of_run()
    source = dataclasses.replace(source, run_id=str(record.get("files_id") or run.run_id))
    refuse_decisions(source)
    source = with_roles(source)
    with_labels = [path for kind, path in zip(source.kinds, source.schema_paths, strict=True) if kind.is_label]
    refuse_read_only(run.dataset, [*with_labels, *source.config.fields] if with_labels else [])
    return source


def _family(source: Source, loaded: OpenRecords, plan: _Plan) -> LabelFamily[Any, Any]:
    """Open the family for the changed samples, and check them.

    Raises:
        WholeRunNeededError: if they cannot be compared alone
        AgreementInputError: if they cannot be compared at all
    """
    config = source.config
    known_names = (loaded.context.class_names, loaded.context.role_class_names)
    if any(len(set(class_names)) < len(class_names) for class_names in known_names):
        raise WholeRunNeededError(WholeRunReason.EQUAL_NAMES)
    changed = dataclasses.replace(source, among=tuple(ids_of(plan.again)))
    if (
        config.attribute_mode
        and not config.annotators
        and set(annotators_found(changed)) - set(source.annotator_values)
    ):
        raise WholeRunNeededError(WholeRunReason.NEW_ANNOTATOR)
    iou = source_with_iou_from_data(source).config.iou if config.iou_from_data else config.iou
    if iou != config.iou:
        raise WholeRunNeededError(WholeRunReason.OTHER_THRESHOLD, iou)
    roles, known = with_thresholds(source).roles, loaded.context.details.get("roles", ())
    if [list(role.thresholds) for role in roles] != [role["thresholds"] for role in known]:
        raise WholeRunNeededError(WholeRunReason.OTHER_THRESHOLD)
    source, changed = (dataclasses.replace(each, roles=roles) for each in (source, changed))
    family = open_family(changed, loaded.context)
    try:
        family.check()
    except AgreementInputError:
        open_family(source).check()  # what is wrong with most of a few labels need not be wrong with most of all
    check_room(changed, source.fields_written(config.run_key))
    return family


def _compare(
    run: Run, family: LabelFamily[Any, Any], loaded: OpenRecords, plan: _Plan, progress: Progress
) -> tuple[Compared, int]:
    """The records of all samples, and how many were left out, as somebody kept on changing them."""
    one_pass = Pass(family, run, again=True)
    one_pass.work(progress)
    new, kept, codes = one_pass.compared(), ~plan.dropped, family.code_names()  # the first codes are those of the run
    compared = None
    if kept.any():
        compared = Compared(loaded.records.select(kept), loaded.index.select(kept), codes).with_codes(codes.joined())
    if compared is not None and new is not None and compared.records.parts[0].keys() != new.records.parts[0].keys():
        raise WholeRunNeededError(WholeRunReason.OTHER_KIND)
    if new is not None:
        compared = new if compared is None else compared + new
    if compared is None:
        raise AgreementInputError("Agreement needs samples, but all of them were deleted; delete the run")
    return compared.in_order(), one_pass.n_left_out


def _require_same_kind(family: LabelFamily[Any, Any], loaded: OpenRecords, compared: Compared) -> None:
    """Raise :class:`WholeRunNeededError` unless the other samples would be compared as they were."""
    source = family.source
    if dict(family.context(RunFacts()).details) != dict(loaded.context.details):
        raise WholeRunNeededError(WholeRunReason.OTHER_KIND)
    if source.config.attribute_mode and not source.config.annotators:
        drew = np.unique(compared.records.column("annotator"))
        everybody = dataclasses.replace(source, among=None)
        if len(drew) < len(source.annotators) and annotators_found(everybody) != tuple(sorted(source.annotator_values)):
            raise WholeRunNeededError(WholeRunReason.ANNOTATOR_GONE)
