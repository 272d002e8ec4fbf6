"""Compute a run (check, read, compare, write, store), and update it where samples were changed."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Literal

import fiftyone as fo
import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from numpy.typing import NDArray

from ... import names
from ...agreement.settings.arguments import takes_arrays
from ...agreement.settings.config import (
    AgreementConfig,
    Empty,
    GeometryChoice,
    Invalid,
    Level,
    Missing,
    SetDistance,
    Undefined,
    make_config,
)
from ...agreement.settings.errors import AgreementInputError, keeping_first_error, short_message
from ...agreement.settings.no_labels import NoLabels
from ...agreement.settings.options import OPTIONS
from ...agreement.statistics.report import AgreementReport, RunFacts
from ...metrics.geometry.objects import Similarity
from ...metrics.matching import ClassHandling, Method
from ...metrics.numeric.arrays import BoolArray
from ..database.fiftyone_private import (
    dataset_id,
    is_deleted,
    is_generated,
    reload_dataset,
    reload_samples,
    sample_collection,
    stored_dataset,
)
from ..families import open_family
from ..families.pixels import delete_map_files
from ..families.protocol import LabelFamily, WholeRunNeededError, WholeRunReason
from ..labels.annotator_attributes import check_annotator_attribute
from ..labels.checks import check_annotators, check_room
from ..labels.roles import with_roles
from ..labels.source import Source, annotators_found, open_source, refuse_decisions, refuse_read_only
from ..labels.stored import NoRoomError
from ..record.gold_fields import applied_steps
from ..record.lease import unless_deleted, writing
from ..record.run import FAILED, Run, compared_facts, refresh, versions
from ..record.run_keys import check_key_is_free, check_not_in_database, refuse_dependent_view
from ..record.run_labels import open_run_labels
from ..record.sample_index import CHANGES_RECORD, SampleIndex, changes_since, ids_of, new_changes_record, sample_keys
from ..record.schema import declare_fields, fields_marked, unset_undeclared, unset_values
from ..record.stored_records import OpenRecords, delete_files
from ..results.load import with_samples
from ..results.thresholds import source_with_iou_from_data, with_thresholds
from ..run.read import Progress, rare_collections
from ..run.settle import Compared, reported, settle
from ..shards.engines import Engine
from ..shards.share import continued_run, share_out
from .deletion import delete_agreement

logger = logging.getLogger(__name__)

#: arguments of ``compute`` that are not part of the config
_NOT_OF_CONFIG = ("samples", "overwrite", "workers", "executor", "resume", "progress")


@takes_arrays
def compute_agreement(
    samples: SampleCollection,
    fields: str | Sequence[str],
    *,
    run_key: str = names.DEFAULT_RUN_KEY,
    annotator_attribute: str | None = None,
    assigned_field: str | None = None,
    no_labels: NoLabels = "not_assigned",
    annotators: Mapping[str, str] | Sequence[str] | None = None,
    reference: str | None = None,
    models: str | Sequence[str] = (),
    confidence_threshold: float | Literal["best_f1"] | None = None,
    iou: float | Literal["auto"] = 0.5,
    geometry: GeometryChoice = "auto",
    rasterize: str | None = None,
    line_tolerance: float | None = None,
    sigmas: str | float | Sequence[float] | None = None,
    point_radius: float | None = None,
    classes: ClassHandling = "prefer",
    missing: Missing = "category",
    level: Level = "auto",
    categories: Sequence[Any] = (),
    attributes: str | Sequence[str] = (),
    tolerance: float = 0.0,
    aliases: Mapping[str, str] | None = None,
    set_distance: SetDistance = "masi",
    background: int | str | None = "auto",
    ignore_values: Sequence[int | str] = (),
    boundaries: bool = False,
    boundary_tolerance: float = 2.0,
    boundary_width: float | None = None,
    disagreement_map: bool = False,
    map_folder: str | None = None,
    empty: Empty = "skip",
    undefined: Undefined = "none",
    method: Method = "optimal",
    similarity: Similarity = "iou",
    crowd_attribute: str | None = "iscrowd",
    invalid: Invalid = "error",
    resamples: int = 1000,
    seed: int = 51,
    overwrite: bool = False,
    workers: int = 1,
    executor: Executor | None = None,
    resume: bool = False,
    progress: Progress = None,
) -> AgreementReport:
    """Compare the labels of several annotators, and write scores, verdicts and match ids to the dataset.

    An option that has no effect on labels of this type is refused unless it has its default value.

    Args:
        samples: a dataset or view; only labels in the view are compared; for a grouped dataset, the samples of all
            slices
        fields: two or more label fields, one for each annotator; or one field, with ``annotator_attribute``; names of
            frame fields of videos begin with ``frames.``
        run_key: name of the run; the names of all fields that it writes begin with it
        annotator_attribute: attribute of the labels that names their annotator, if one field holds all labels
        assigned_field: sample field that lists the annotators (or their fields) who were asked: on its samples a null
            label list of a listed annotator means that they drew nothing. Without it ``no_labels`` says what null means
        no_labels: what a null (or absent) label list of an annotator means; or a mapping of annotators, or their
            fields, to this. With ``annotator_attribute`` all share a field, so that a null list is null for every
            annotator. An empty list always means that they drew nothing; ``"not_assigned"``: was not assigned;
            ``"drew_nothing"``: looked and drew nothing; importers such as FiftyOne's for COCO and CVAT write null for
            that
        annotators: a mapping of fields to names of annotators; with ``annotator_attribute``, a list of the annotators
            to compare, or a mapping of them to names. Annotators with the same name are sessions of one person: they
            are compared like different annotators, and the report on objects shows their agreement separately
        reference: field of the true labels (such as honeypots, or decisions), or the value of ``annotator_attribute``
            that they have; every annotator is compared with it. It is no annotator itself. Images without its label
            list are left out
        models: fields with predictions of models (or values of ``annotator_attribute``), each of which is compared with
            every annotator; no annotators themselves
        confidence_threshold: predictions with a lower confidence are left out; ``"best_f1"``: each half of the images
            takes the threshold that gives the best F1 with the annotators on the other half; ``None``: all predictions
        iou: least similarity of a match, in (0, 1]; ``"auto"``: the threshold at which a match is as likely chance as
            agreement, estimated from at most 2,000 samples before the run
        geometry: geometry of an object that is compared; ``"auto"``: the shape (mask, polygon) if a label has one, else
            its box; ``"box"``: always the box; ``"shape"``: always the shape; a label without one is unusable
        rasterize: how the area of polygons is measured; ``None``: exactly; ``"pillow"``: as the pixels that Pillow
            fills, for comparison with published numbers and pixel tools
        line_tolerance: distance in pixels within which open lines (neither closed nor filled) agree; without it they
            are refused
        sigmas: precision (σ) of keypoints in OKS: one number, a list with a number for each point, or a name; ``None``:
            0.05 for every point; ``"coco"``: COCO's constants for the 17 points of a person
        point_radius: compare points by circles of this radius around them, not by OKS: from 1 on in pixels, below 1 a
            share of the longer side of the image; the similarity is the IoU of two circles (of labels with several
            points the mean over those that both labelled). Labels of a single point have no size and are refused
            without it
        classes: how matching uses classes; ``"prefer"``: match objects of one class first, then others; ``"ignore"``:
            match by position alone; ``"require"``: match only objects of one class
        missing: how alpha counts a missed object; ``"category"``: as an extra category, so that missing an object is a
            disagreement; ``"ignore"``: not at all, so that alpha compares classes only
        level: level of measurement of ratings; ``"auto"``: ordinal if ``categories`` are listed, else nominal for
            classes and interval for numbers; ``"nominal"``: names without an order; ``"ordinal"``: an order, but no
            distances; classes must be listed in ``categories``; ``"interval"``: equal steps, no natural zero;
            ``"ratio"``: equal steps and a natural zero
        categories: all classes, in ascending order if they have one; unused classes count in coefficients too
        attributes: attributes of labels, such as occluded, to compare between the labels of an object
        tolerance: numbers (ratings, values of ``attributes``) that differ by at most this agree
        aliases: class names to treat as others, such as ``{"Car ": "car"}``; the labels are not changed
        set_distance: distance of two sets of tags in alpha; ``"masi"``: a subset is closer than a set that only
            overlaps; ``"jaccard"``: tags that only one set has / tags in either set
        background: value of the background; ``"auto"``: 0, unless 0 is a class in the mask targets; ``None``: no
            background
        ignore_values: pixels to which any annotator gave one of these values are left out for all annotators
        boundaries: also compare boundaries (boundary IoU, surface Dice, HD95), which takes several times longer
        boundary_tolerance: distance in pixels within which boundaries agree
        boundary_width: width in whole pixels of the bands that boundary IoU compares; ``None``: 2 % of the image
            diagonal
        disagreement_map: write a heatmap on every sample that shows where annotators disagree
        map_folder: folder for the heatmap files; without it, heatmaps are written into the database
        empty: how an image counts on which no assigned annotator drew anything; ``"skip"``: left out; ``"agree"``: as
            agreement (score 1)
        undefined: alpha if everybody used one and the same category; ``"none"``: undefined (no variation); ``"one"``: 1
        method: how objects are matched; ``"optimal"``: greatest total overlap, independent of the order of annotators;
            ``"recursive"``: one annotator after another; depends on their order; ``"mutual_best"``: mutual best
            matches, without a threshold; may depend on the order of annotators
        similarity: similarity of two objects; ``"iou"``: intersection / union (OKS for keypoints); ``"dice"``: 2 x
            intersection / sum of both sizes
        crowd_attribute: attribute of labels that marks crowd regions, which are not matched; ``None``: no crowd regions
        invalid: what to do with labels that cannot be compared; ``"error"``: stop with a message; ``"skip"``: leave
            them out and count them
        resamples: number of bootstrap resamples of samples (videos, groups) for 95 % confidence intervals; 0: no
            intervals; more than 20,000 samples have them by the delta method, without resamples
        seed: seed of the random numbers of the intervals; the same data and seed give the same report
        overwrite: replace a run with the same key
        workers: processes of this machine among which the samples are shared out, 5,000 at a time; the results are the
            same for any number, at most 1,000 (on Windows 61)
        executor: a ``concurrent.futures.Executor``, such as Dask's, whose processes compare the samples; instead of
            ``workers``
        resume: continue an unfinished run on several workers with the same key and options; what is done is kept
        progress: whether to show a progress bar; None: FiftyOne's default; or a callback that gets the progress bar

    Returns:
        the report

    Raises:
        AgreementInputError: if the arguments or the dataset cannot be used; nothing is written then
    """
    options = {name: value for name, value in locals().items() if name not in _NOT_OF_CONFIG}
    config = make_config(**options)
    engine = Engine(OPTIONS["workers"].checked(workers), OPTIONS["executor"].checked(executor))
    return run_agreement(samples, config, overwrite=overwrite, engine=engine, resume=resume, progress=progress)


def run_agreement(
    samples: SampleCollection,
    config: AgreementConfig,
    *,
    overwrite: bool = False,
    engine: Engine | None = None,
    resume: bool = False,
    progress: Progress = None,
) -> AgreementReport:
    """Check, read, compute, write and record a run; arguments as in ``compute``."""
    started, engine = time.perf_counter(), engine or Engine()
    for name, value in (("progress", progress), ("resume", resume), ("overwrite", overwrite)):
        OPTIONS[name].checked(value)
    family = _checked(samples, config, overwrite or resume)
    source, config = family.source, family.source.config
    dataset, run_key = source.dataset, config.run_key
    fields = source.fields_written(run_key)
    with unless_deleted(dataset):
        with writing(dataset):
            if resume:
                run = continued_run(source)
            else:
                check_key_is_free(dataset, run_key, fields, overwrite=overwrite)  # it may have been taken
                if overwrite and (Run(dataset, run_key).exists or fields_marked(dataset, run_key)):
                    delete_agreement(dataset, run_key)
                run = Run.register(source)
        try:
            run.declare(fields)
            with rare_collections():
                if engine.is_shared or resume:
                    compared, noticed = share_out(family, run, engine, progress)
                else:
                    compared, noticed = settle(family, run.require_current, progress)
                if compared is None:
                    raise AgreementInputError(
                        "Agreement needs samples, but all of them were deleted or changed meanwhile"
                    )
                report, store = reported(family, compared, noticed, started=started)
                run.store(report, store, applied_steps(dataset), fields)
        except BaseException as error:
            _after_failure(run, config, fields, error)
            raise
        reload_samples(dataset)
    return with_samples(report, source.samples)


def _checked(samples: SampleCollection, config: AgreementConfig, overwrite: bool) -> LabelFamily[Any, Any]:
    if isinstance(samples, SampleCollection) and not is_generated(samples):
        reload_dataset(stored_dataset(samples))
    source = with_roles(open_source(samples, config))
    refuse_decisions(source)
    check_annotator_attribute(source)
    family = open_family(source)
    paths = source.fields_written(config.run_key)
    check_key_is_free(source.dataset, config.run_key, paths, overwrite=overwrite)
    check_not_in_database(source.dataset, config.run_key, paths)
    if overwrite:
        refuse_dependent_view(source.samples, [*paths, *names.reserved_paths(config.run_key)])
    family.check()
    check_room(source, paths)
    check_annotators(source)
    found = with_thresholds(source_with_iou_from_data(source) if config.iou_from_data else source)
    return family if found is source else open_family(found)


def _after_failure(run: Run, config: AgreementConfig, paths: Collection[str], error: BaseException) -> None:
    """Record why a run failed; if it was deleted or replaced meanwhile, remove everything it wrote since."""
    with keeping_first_error(f"The failure of the run {run.key!r} could not be recorded"):
        if not is_deleted(dataset_id(run.dataset)):
            with writing(run.dataset):
                refresh(run.dataset)
                if run.is_current() and isinstance(error, NoRoomError):
                    delete_agreement(run.dataset, run.key)
                    return
                if run.is_current():
                    run.update(status=FAILED, error=short_message(f"{type(error).__name__}: {error}"))
                    return
                run.remove_remains(paths)
        if run.run_id is not None:
            delete_files(run.run_id)
            if config.map_folder is not None:
                delete_map_files(config.map_folder, run.run_id)


# ---- compute again where samples were changed: only these are read, matched and written; the report covers all ----


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
            report = _update(run, _changed_alone, progress, started)
        except WholeRunNeededError as reason:
            logger.warning("All samples of the run %r are compared again: %s", run_key, reason)
            report = _update(run, _all_again, progress, started)
        reload_samples(run.dataset)
    return with_samples(report, run.dataset)


#: new results of a run: the family that compared the samples, the records, what was noticed, keys of the samples that
#: have no results any more, and what the run compared, where that may be another thing than before
_Updated = tuple[LabelFamily[Any, Any], Compared, Counter[str], NDArray[np.bytes_], Mapping[str, Any] | None]


def _update(run: Run, compare: Callable[..., _Updated | None], progress: Progress, started: float) -> AgreementReport:
    """Compare samples again, and put the new results in the place of the old ones; all else of the run stays."""
    dataset, new_id = run.dataset, str(ObjectId())
    with writing(dataset):
        loaded, record = run.records(), run.config
        run = Run(dataset, run.key, record["results_id"])
        read = new_changes_record(dataset)
        run.require_current()
        left = run.config.get("updating")  # results that an interrupted update left
        run.update(updating=new_id)
        if isinstance(left, str) and ObjectId.is_valid(left):
            delete_files(left)
    try:
        with rare_collections():
            found = compare(run, loaded, progress)
            if found is None:  # no change concerns the run
                run.end_update(new_id, read)
                return loaded.report
            # samples that are still in the dataset, but no longer in the view of the run
            family, compared, noticed, gone, facts = found
            source, query = family.source, {"_id": {"$in": ids_of(gone)}}
            still_there = sample_collection(dataset).find(query, {"_id": True}) if len(gone) else ()
            if left := [row["_id"] for row in still_there]:
                unset_values(dataset, list(source.fields_written(source.config.run_key)), left)
            report, store = reported(family, compared, noticed, started=started)
            run.store(
                report,
                store,
                applied_steps(dataset),
                {},
                new_id=new_id,
                read=read,
                named=source.run_id,
                facts=facts,
            )
            with writing(dataset):  # of fields that somebody deleted or renamed meanwhile
                unset_undeclared(dataset, list(source.fields_written(source.config.run_key)))
    except BaseException:
        if not is_deleted(dataset_id(dataset)):
            with keeping_first_error(f"The update of the run {run.key!r} could not be ended"), writing(dataset):
                run.end_update(new_id)
                if not run.is_current():  # deleted or replaced meanwhile: remove what was written since
                    run.remove_remains(record["fields_written"])
        raise
    return dataclasses.replace(report, run_key=run.key)  # FiftyOne itself may have renamed the run


def _all_again(run: Run, loaded: OpenRecords, progress: Progress) -> _Updated:
    """Compare all samples again, as if the run were new."""
    record = run.config
    family = _checked(run.target(), AgreementConfig.from_dict(record["options"]), overwrite=True)
    family = open_family(dataclasses.replace(family.source, run_id=run.files_id()))
    source = family.source
    with writing(run.dataset):  # what somebody deleted
        run.require_current()
        declare_fields(run.dataset, run.field_key, source.fields_written(source.config.run_key))
    compared, noticed = settle(family, run.require_current, progress, again=True)
    if compared is None:
        raise AgreementInputError("Agreement needs samples, but all of them were deleted or changed meanwhile")
    gone = np.setdiff1d(loaded.index.sample_keys(), SampleIndex.of_records(compared.records).sample_keys())
    return family, compared, noticed, gone, compared_facts(source)


def _changed_alone(run: Run, loaded: OpenRecords, progress: Progress) -> _Updated | None:
    """Compare the samples that were changed since; None if none was.

    Raises:
        WholeRunNeededError: if a change concerns all samples
    """
    dataset, record = run.dataset, run.config
    source = open_run_labels(dataset, run.key).source_of_run()
    source = dataclasses.replace(source, run_id=run.files_id())
    refuse_decisions(source)
    source = with_roles(source)
    with_labels = [path for kind, path in zip(source.kinds, source.schema_paths, strict=True) if kind.is_label]
    refuse_read_only(dataset, [*with_labels, *source.config.fields] if with_labels else [])
    changes = changes_since(dataset, record[CHANGES_RECORD], lambda: loaded.index, on_frames=source.on_frames)
    if changes is None or record.get("versions") != versions():
        raise WholeRunNeededError(WholeRunReason.OTHER_VERSION)
    known = loaded.context.details.get("roles", ())
    if [role.decided for role in source.roles] != [role.get("decided") for role in known]:
        raise WholeRunNeededError(WholeRunReason.OTHER_DECISIONS)
    if source.is_view:
        cursor = source.aggregate_samples([{"$project": {"_id": True}}])
    else:
        cursor = sample_collection(dataset).find({}, {"_id": True}, hint="_id_")
    found = sample_keys(row["_id"] for row in cursor)
    now, rows = np.unique(found), loaded.index.columns["sample_id"]
    if len(now) < len(found) and source.on_frames:
        raise WholeRunNeededError(WholeRunReason.REPEATED_VIDEOS)
    before = np.unique(rows)
    again = np.union1d(np.intersect1d(now, sample_keys(changes[0])), np.setdiff1d(now, before))
    kept = np.isin(rows, np.setdiff1d(now, again))
    if not len(again) and kept.all():
        return None
    family = _family(source, loaded, tuple(ids_of(again)))
    new, noticed = settle(family, run.require_current, progress, again=True)
    noticed["n_repeated"], noticed["n_videos"] = len(found) - len(now), len(now)
    compared = _with_the_others(family, new, loaded, kept)
    return family, compared, noticed, np.setdiff1d(before, now), None


def _family(source: Source, loaded: OpenRecords, again: tuple[ObjectId, ...]) -> LabelFamily[Any, Any]:
    """Open the family for the changed samples, and check them.

    Raises:
        WholeRunNeededError: if they cannot be compared alone
        AgreementInputError: if they cannot be compared at all
    """
    config = source.config
    if len(set(loaded.context.names_of_codes)) < len(loaded.context.names_of_codes):
        raise WholeRunNeededError(WholeRunReason.EQUAL_NAMES)
    changed = dataclasses.replace(source, among=again)
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
        open_family(source).check()  # most of the changed labels may be wrong, but not most of all labels
    check_room(changed, source.fields_written(config.run_key))
    return family


def _with_the_others(
    family: LabelFamily[Any, Any], new: Compared | None, loaded: OpenRecords, kept: BoolArray
) -> Compared:
    """The records of all samples: those that were compared again, and the others as they were.

    Raises:
        WholeRunNeededError: if the others would not be compared as they were
    """
    source, codes = family.source, family.code_names()  # the first codes are those of the run
    compared = None
    if kept.any():
        names = codes.joined() if new is None else new.codes
        compared = Compared(loaded.records.select(kept), codes).with_codes(names)
    if compared is not None and new is not None and compared.records.parts[0].keys() != new.records.parts[0].keys():
        raise WholeRunNeededError(WholeRunReason.OTHER_KIND)
    if new is not None:
        compared = new if compared is None else Compared(compared.records + new.records, new.codes)
    if compared is None:
        none = "the view of the run shows none any more" if source.is_view else "all of them were deleted"
        raise AgreementInputError(f"Agreement needs samples, but {none}; compute it again on others, or delete the run")
    if dict(family.context(RunFacts()).details) != dict(loaded.context.details):
        raise WholeRunNeededError(WholeRunReason.OTHER_KIND)
    if source.config.attribute_mode and not source.config.annotators:
        drew = np.unique(compared.records.column("annotator"))
        everybody = dataclasses.replace(source, among=None)
        if len(drew) < len(source.annotators) and annotators_found(everybody) != tuple(sorted(source.annotator_values)):
            raise WholeRunNeededError(WholeRunReason.ANNOTATOR_GONE)
    return compared.in_order()
