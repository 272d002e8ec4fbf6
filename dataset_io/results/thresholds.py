"""Numbers of a run at other matching thresholds and rules; thresholds from the data: for matching and for models.

Boxes and temporal intervals are stored with the run; labels with shapes and points are read again. The threshold of a
model is the confidence from which on its labels agree best with those of the annotators.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import fiftyone as fo
import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.matching.compute import matching_of, without_crowd
from ...agreement.matching.tables import Batch
from ...agreement.objects.build import object_reading
from ...agreement.objects.records import ObjectRecords
from ...agreement.objects.sensitivity import (
    MAX_SAMPLES,
    Block,
    DataThreshold,
    RuleNumbers,
    Sensitivity,
    ThresholdNumbers,
    data_threshold,
    has_stored_geometry,
    stored_blocks,
    stored_in_order,
)
from ...agreement.roles.role_labels import Meetings, optimal
from ...agreement.settings.arguments import takes_arrays
from ...agreement.settings.errors import AgreementInputError, shown
from ...agreement.settings.options import BEST_F1
from ...agreement.statistics.numbers import ratio
from ...agreement.statistics.presentation import shown_as
from ...agreement.statistics.records import Records
from ...agreement.statistics.report import ReportContext
from ...metrics.matching.threshold import TOO_FEW
from ..database.fiftyone_private import frame_collection
from ..families.objects import ObjectFamily, ObjectLabels
from ..labels.source import Source
from ..labels.stored import half_of, subsample_keys
from ..record.run import Run
from ..record.run_labels import changed_since, open_run_labels
from ..record.sample_index import SampleIndex, ids_of
from ..run.read import Reader, rare_collections, read_ahead, some_ids

if TYPE_CHECKING:
    from pandas import DataFrame


logger = logging.getLogger(__name__)

#: what can be asked for
THRESHOLDS, RULES, FROM_DATA = EVERYTHING = ("thresholds", "rules", "from_data")
#: threshold used where the data suggest none
WITHOUT_CROSSING = 0.5
#: samples that are read together
_SAMPLES_AT_ONCE = 200


@takes_arrays
def agreement_thresholds(samples: SampleCollection, run_key: str = names.DEFAULT_RUN_KEY) -> DataFrame:
    """The main numbers at other matching thresholds, from 0.1 to 0.95, under the rules of the run; computed now.

    Boxes and temporal intervals are those of the run. Shapes and points are read again, as they are now.

    Args:
        samples: the dataset, or a view to compare only its samples
        run_key: key of the run

    Returns:
        a pandas DataFrame with ``threshold``, ``alpha`` (of objects), ``score``, ``f1``, ``n_units`` (objects),
        ``n_hard`` (entangled groups of labels) and ``n_inexact`` (those too large for an exact solution); no row where
        objects are matched without a threshold

    Raises:
        AgreementInputError: if there is no such run, it did not complete, it is not one of objects, or its labels
            cannot be read again
    """
    found: DataFrame = shown_as("sensitivity_frame", _asked(samples, run_key, THRESHOLDS), THRESHOLDS)
    return found


@takes_arrays
def agreement_rules(samples: SampleCollection, run_key: str = names.DEFAULT_RUN_KEY) -> DataFrame:
    """Alpha of objects under other rules for matching and counting, at the threshold of the run; computed now.

    Boxes and temporal intervals are those of the run. Shapes and points are read again, as they are now.

    Args:
        samples: the dataset, or a view to compare only its samples
        run_key: key of the run

    Returns:
        a pandas DataFrame with the rules ``method``, ``classes``, ``missing``, ``empty``, ``undefined`` and
        ``no_labels``, and ``pooled`` (alpha of all objects together), ``mean`` (over the samples' alphas) and
        ``n_defined`` (samples that have one)

    Raises:
        AgreementInputError: as ``run.thresholds``
    """
    found: DataFrame = shown_as("sensitivity_frame", _asked(samples, run_key, RULES), RULES)
    return found


@takes_arrays
def agreement_threshold_from_data(
    samples: SampleCollection, run_key: str = names.DEFAULT_RUN_KEY
) -> DataThreshold | None:
    """The matching threshold that the labels suggest: where a match is as likely chance as agreement; computed now.

    Estimated from at most 2,000 samples (200 of shapes and points); ``iou="auto"`` uses it, rounded. Boxes and temporal
    intervals are those of the run. Shapes and points are read again, as they are now.

    Args:
        samples: the dataset, or a view to take only its samples
        run_key: key of the run

    Returns:
        the threshold (None if there is none), why there is none, and the thresholds of two halves of the samples: if
        these are not alike, it is no suggestion; None if no sample was assigned to two annotators

    Raises:
        AgreementInputError: as ``run.thresholds``
    """
    return _asked(samples, run_key, FROM_DATA).data_threshold


def _asked(samples: SampleCollection, run_key: str, asked: str) -> Sensitivity:
    found = sensitivity_on(samples, run_key, (asked,))
    if found.note:
        logger.warning("%s", found.note)
    return found


def sensitivity_on(samples: SampleCollection, run_key: str, asked: Collection[str] = EVERYTHING) -> Sensitivity:
    """Thresholds, rules and the threshold from the data, of the samples of a run in a dataset or view.

    Raises:
        AgreementInputError: as ``run.thresholds``
    """
    run = Run(samples, run_key)
    loaded = run.records()
    records, index = loaded.records, loaded.index
    if not isinstance(samples, fo.Dataset):
        kept = index.among(samples)
        records, index = records.select(kept), index.select(kept)
    return sensitivity_of(run, records, index, loaded.context, asked)


def sensitivity_of(
    run: Run, records: Records, index: SampleIndex, context: ReportContext, asked: Collection[str] = EVERYTHING
) -> Sensitivity:
    """As :func:`sensitivity_on`, for samples whose records are loaded."""
    if not isinstance(records, ObjectRecords):
        raise AgreementInputError(
            f"Other thresholds and rules need labels of objects, such as boxes, got {shown(context.label_types)} in "
            f"the run {run.key!r}"
        )
    config, note = context.config, ""
    # the id of every sample; of a frame its own, or that of its video if the frame is gone
    documents, numbers, reader = [ObjectId(each) for each in index.ids()], index.frame_numbers(), None
    if numbers is not None:
        of_frames = {"_sample_id": {"$in": ids_of(index.sample_keys())}}
        rows = frame_collection(run.dataset).find(of_frames, {"_sample_id": True, "frame_number": True})
        of_place = {(row["_sample_id"], row["frame_number"]): row["_id"] for row in rows}
        documents = [of_place.get(each, each[0]) for each in zip(documents, numbers.tolist(), strict=True)]
    if not has_stored_geometry(records):
        family = ObjectFamily(open_run_labels(run.dataset, run.key).source_of_run())
        family.source = dataclasses.replace(family.source, among=tuple(ids_of(index.sample_keys())))
        reader, n = Reader(family), changed_since(run.dataset, run.key) or 0
        what = "sample" if numbers is None else "video"
        if n:
            note = (
                f"{n:,} {what}{'s' if n > 1 else ''} saved or deleted since this run: these are the numbers of the "
                "labels as they are now"
            )
    thresholds, rules = ThresholdNumbers(config), RuleNumbers(config)
    wanted = [each for name, each in ((THRESHOLDS, thresholds), (RULES, rules)) if name in asked]
    found = None
    with rare_collections():
        if wanted:
            for block in stored_blocks(records) if reader is None else _blocks(reader, documents):
                for each in wanted:
                    each.add(block)
        if FROM_DATA in asked:
            order = np.argsort(subsample_keys(documents), kind="stable")
            order = order[records.rated[order]]
            in_order = stored_in_order(records, order)
            if reader is not None:
                in_order = samples_in_order(reader, [documents[k] for k in order.tolist()])
            found = data_threshold(in_order, config)
    return Sensitivity(
        thresholds=thresholds.points() if THRESHOLDS in asked else [],
        rules=rules.alphas(object_reading(records, context)) if RULES in asked else [],
        data_threshold=found,
        note=note,
    )


def _blocks(reader: Reader[ObjectLabels], documents: Sequence[ObjectId]) -> Iterator[Block]:
    """The labels of some documents, in batches."""
    wanted = set(documents)
    for rows in read_ahead(reader.batches()):
        read = reader.columns([row for row in rows if row["_id"] in wanted])
        yield Block.of(read.labels.batch, reader.source.config)


def samples_in_order(reader: Reader[ObjectLabels], ids: Sequence[ObjectId]) -> Iterator[Batch]:
    """The labels of some samples, or frames, in the order of their ids; read when they are asked for."""
    for start in range(0, len(ids), _SAMPLES_AT_ONCE):
        place = {each: k for k, each in enumerate(ids[start : start + _SAMPLES_AT_ONCE])}
        rows = sorted(reader.again([*place]), key=lambda row: place[row["_id"]])
        for batch in reader.batched(rows):
            yield without_crowd(reader.columns(batch).labels.batch)[0]


def source_with_iou_from_data(source: Source) -> Source:
    """The source with the threshold suggested by its labels, rounded to two decimals.

    Reads at most 2,000 samples (or frames), those with the smallest hashes of their ids, so that order does not matter.
    """
    # a separate family, because a family numbers classes in the order in which it reads them
    reader = Reader(ObjectFamily(dataclasses.replace(source, roles=())))
    found = data_threshold(samples_in_order(reader, some_ids(source, MAX_SAMPLES)), source.config, halves=False)
    iou = WITHOUT_CROSSING
    if found is not None and found.threshold is not None:
        iou = round(found.threshold, 2)
    else:
        reason = TOO_FEW if found is None else found.reason
        logger.warning("The labels suggest no matching threshold (%s); %s is used", reason, WITHOUT_CROSSING)
    config = dataclasses.replace(source.config, iou=max(iou, 0.01))
    return dataclasses.replace(source, config=config)


#: confidences that are tried
CANDIDATES = np.arange(20) / 20.0


def with_thresholds(source: Source) -> Source:
    """The source with the thresholds of its models, if the option is ``"best_f1"``.

    Either half of the images gets the candidate with the greatest F1 on the other half (the lowest of equals); all
    annotators together, matched as in the run. Reads at most 2,000 samples, those with the smallest hashes of their
    ids.
    """
    if source.config.confidence_threshold != BEST_F1 or not any(role.is_model for role in source.roles):
        return source
    if not source.family.has_objects:
        raise AgreementInputError(
            f"`confidence_threshold` must be a number for {source.kinds[0].title}, got {BEST_F1!r}: F1 needs objects"
        )
    reader, n = Reader(ObjectFamily(source)), len(source.annotators)
    ids = some_ids(source, MAX_SAMPLES)
    counts = np.zeros((len(source.roles), 2, len(CANDIDATES), 2))
    starts = range(0, len(ids), _SAMPLES_AT_ONCE)
    rows = (row for start in starts for row in reader.again(ids[start : start + _SAMPLES_AT_ONCE]))
    for some in reader.batched(rows):
        read = reader.columns(some)
        labels, half = read.labels, half_of(read.samples)
        counted = labels.batch.objects.annotator < n
        confidence = np.where(counted, np.inf, labels.confidence)
        counted[counted] = without_crowd(labels.own)[2]
        met = Meetings.of(labels.batch, n, counted)
        # F1 of every role on either half of the images
        cell, sure = 2 * (met.party - n) + half[labels.batch.objects.sample[met.row]], confidence[met.row]
        for place, least in enumerate(CANDIDATES.tolist()):
            kept = met.counted & (sure >= least)
            objects, _, overlaps, _ = met.among(kept)
            matching = matching_of(objects, overlaps, optimal(source.config))
            n_labels, first = (
                np.bincount(cell[kept], minlength=2 * len(source.roles)),
                np.unique(matching.unit, return_index=True)[1],
            )
            matched = n_labels - np.bincount(cell[kept][first], minlength=len(n_labels))
            counts[:, :, place] += np.column_stack([matched, n_labels]).reshape(-1, 2, 2)
    best = CANDIDATES[np.argmax(np.nan_to_num(ratio(2.0 * counts[..., 0], counts[..., 1])), axis=-1)]
    roles = [
        dataclasses.replace(role, thresholds=tuple(best[k, ::-1].tolist())) if role.is_model else role
        for k, role in enumerate(source.roles)
    ]
    return dataclasses.replace(source, roles=tuple(roles))
