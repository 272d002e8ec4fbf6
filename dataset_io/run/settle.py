"""``settle``: read, compare and write the samples of a run; ``reported``: build the report from their records.

``settle`` is the same for a new run, for an update (some ids) and for a shard (a range of ids): batches are read,
compared and written at the same time, and samples that somebody changed meanwhile are processed again.
"""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import bson
import numpy as np
import pymongo.collection
from bson import ObjectId
from pymongo import UpdateOne
from pymongo.errors import BulkWriteError, DocumentTooLarge, OperationFailure

from ... import names
from ...agreement.families.family import build_report
from ...agreement.matching.verdicts import Relation
from ...agreement.roles.numbers import values_of_images
from ...agreement.roles.role_labels import compared_roles
from ...agreement.settings.no_labels import NOT_ASSIGNED, null_policy
from ...agreement.statistics.codes import CodeNames
from ...agreement.statistics.records import Records
from ...agreement.statistics.report import AgreementReport, RunFacts
from ...metrics.numeric.arrays import BoolArray, FloatArray
from ...names import MISSED_BY, REFERENCE, REFERENCE_WORST
from ..families.frames import VideoScores
from ..families.objects import ObjectLabels, ids_of_objects
from ..families.pixels import PixelLabels
from ..families.protocol import LabelFamily
from ..families.ratings import RatingLabels
from ..families.tags import TagLabels, other_tags
from ..labels.source import Source
from ..labels.stored import MOST_BYTES, NoRoomError, as_read
from ..record.run import versions
from ..record.run_keys import filtered_annotators, run_behind, unread_images
from ..record.sample_index import SampleIndex
from ..record.stored_records import Store, surely_written, write_records
from .read import Progress, ReadBatch, Reader, Rows, return_memory, stored_samples, work_through
from .work_list import look_first, worst_samples


@dataclass(frozen=True, slots=True)
class Compared:
    """Records of compared samples."""

    records: Records
    codes: CodeNames  #: what the codes in the records stand for

    def with_codes(self, names: CodeNames) -> Compared:
        """The same records with other codes."""
        new = self.codes.translated(names)
        return self if new is None else Compared(self.records.recoded(*new), names)

    def in_order(self) -> Compared:
        """The records by id, with codes of classes by name: the order of reading makes no difference."""
        given = self.records.codes_given() if "role_present" in self.records.parts[0] else None
        named, order = self.with_codes(self.codes.joined(first=given)), SampleIndex.of_records(self.records).order()
        records = named.records if order is None else named.records.take(order)
        return Compared(records.regrouped(), named.codes)


def settle(
    family: LabelFamily[Any, Any], check: Callable[[], None], progress: Progress, *, again: bool = False
) -> tuple[Compared | None, Counter[str]]:
    """Read, compare and write the samples of a source.

    Args:
        family: reads and compares the labels, and gives the values to write
        check: raises an error when the run may no longer be written; called before every write
        progress: as in ``compute``
        again: whether the samples may have values from an earlier computation

    Returns:
        the records, in order, None if nothing was compared; and counts of what was noticed: ``n_changed``, samples that
        somebody kept on changing, or deleted; ``n_repeated``, repetitions of samples in a view; ``n_videos``,
        videos whose frames are compared
    """
    source, reader = family.source, Reader(family)
    fields = source.fields_written(source.config.run_key)
    scores = None if reader.videos is None else VideoScores(source, reader.videos)
    records: Records | None = None

    def process(rows: Rows, writers: ThreadPoolExecutor, is_second: bool) -> Callable[[], list[ObjectId]]:
        read = reader.columns(rows)
        result = family.compute(read.labels)
        check()

        def write_values() -> tuple[list[ObjectId], Records, FloatArray | None]:
            found, updates = family.record(read.labels, result), family.values(read.labels, result)
            if source.roles:
                add_values_of_roles(updates, family, read.labels, result, found)
            refused = write(source, read, updates, before=fields if again or is_second else ())
            return refused, found, None if scores is None else scores.values_of(updates)

        written = writers.submit(write_values)

        def count() -> list[ObjectId]:
            """Add the records of the samples that were written; return the ids of the others."""
            nonlocal records
            refused, found, of_videos = written.result()
            samples, new = read.samples, found.with_columns(read.index.columns)
            if refused:
                others = set(refused)
                kept: BoolArray = np.array([sample.sample_id not in others for sample in samples], np.bool_)
                samples, new = list(compress(samples, kept)), new.select(kept)
                of_videos = None if of_videos is None else of_videos[kept]
            records = new if records is None else records + new
            if scores is not None and of_videos is not None:
                scores.add(samples, of_videos)
            return refused

        return count

    with surely_written():
        n_changed = work_through(reader, process, progress)
        return_memory()
        if scores is not None:
            scores.write(check, again=again)
    noticed = Counter(n_changed=n_changed, n_repeated=reader.n_repeated)
    if reader.videos is not None:
        noticed["n_videos"] = len(reader.videos.number)
    if records is None:
        return None, noticed
    return Compared(records, family.code_names()).in_order(), noticed


def write(
    source: Source, read: ReadBatch[Any], updates: list[dict[str, Any]], *, before: Collection[str] = ()
) -> list[ObjectId]:
    """Write the values of a batch, except to samples that changed since they were read; returns their ids.

    Args:
        source: what was read
        read: the batch
        updates: the values of every sample, by path in its document
        before: fields, by path in the schema of the dataset, of which samples may have earlier values: these are
            removed where there is no new value

    Raises:
        NoRoomError: if a sample would take more than MongoDB can hold
    """
    if not read.samples:
        return list(read.changed)
    prefix = names.FRAMES_PREFIX if source.on_frames else ""
    inner = [path.removeprefix(prefix) for path in before if path.startswith(prefix)]
    of_samples = [path for path in inner if "." not in path]
    kinds, paths_read = source.everybody.kinds, source.everybody.label_paths
    of_labels = {
        path: [name.removeprefix(f"{path}.") for name in inner if name.startswith(f"{path}.")] for path in paths_read
    }
    operations = []
    for sample, new in zip(read.samples, updates, strict=True):
        update: dict[str, Any] = {"$set": new or {"_id": sample.sample_id}}
        if before:
            paths = list(of_samples)
            for kind, path, ids in zip(kinds, paths_read, sample.label_ids, strict=True):
                in_list = kind.list_name is not None
                labels = [f"{path}.{position}" if in_list else path for position in range(len(ids or ()))]
                paths += [f"{label}.{name}" for label in labels for name in of_labels[path]]
            update["$unset"] = {path: "" for path in paths if path not in new}
        operations.append(UpdateOne(as_read(sample, kinds, paths_read), update))
    values = dict(zip((sample.sample_id for sample in read.samples), updates, strict=True))
    titles = ((sample.sample_id, sample.title) for sample in read.samples)
    n_written = update_documents(source.collection, operations, values, titles)
    if n_written == len(operations):
        return list(read.changed)
    ids = [sample.sample_id for sample in read.samples]
    stored = stored_samples(source, ids)
    changed = list[ObjectId]()
    for sample in read.samples:
        now = stored.get(sample.sample_id)  # None: it was deleted
        if now is None or now.last_modified_at != sample.last_modified_at or now.label_ids != sample.label_ids:
            changed.append(sample.sample_id)
    # all samples, if some that did not change were not written either
    return [*read.changed, *(changed if len(ids) - len(changed) <= n_written else ids)]


#: MongoDB's codes for documents that are too large
_TOO_LARGE = {10334, 17419}


def update_documents(
    collection: pymongo.collection.Collection[dict[str, Any]],
    operations: Sequence[UpdateOne],
    values: Mapping[ObjectId, Any],
    titles: Iterable[tuple[ObjectId, str]],
) -> int:
    """Update documents, each on its own; returns the number of those whose condition was met.

    Args:
        collection: the documents
        operations: the updates
        values: what is written, by id
        titles: names of the documents, by id, for messages

    Raises:
        NoRoomError: if one of them would take more than MongoDB can hold
    """
    try:
        return collection.bulk_write(operations, ordered=False).matched_count
    except BulkWriteError as error:
        entries = [entry for entry in error.details["writeErrors"] if entry["code"] in _TOO_LARGE]
        if not entries:
            raise
        too_large = {entry["op"]["q"]["_id"] for entry in entries}
    except (DocumentTooLarge, OperationFailure) as error:  # one update, or with its condition one command
        if isinstance(error, OperationFailure) and error.code not in _TOO_LARGE:
            raise
        size = {each: len(bson.encode(new)) for each, new in values.items()}
        least = min(MOST_BYTES, max(size.values()))  # at least the largest value, whose condition is large, too
        too_large = {each for each, n in size.items() if n >= least}
    # not raised from the error, which quotes all values
    raise NoRoomError([title for each, title in titles if each in too_large])


def reported(
    family: LabelFamily[Any, Any], compared: Compared, noticed: Counter[str], *, started: float
) -> tuple[AgreementReport, Store]:
    """The report on compared samples, and a function that stores their records.

    Args:
        family: the family that compared them
        compared: the records, in order
        noticed: what :func:`settle` noticed
        started: when it began, by ``time.perf_counter()``
    """
    source, records, codes = family.source, compared.records, compared.codes
    index, config = SampleIndex.of_records(records), source.config
    # how the assigned annotators are known
    coverage = "videos" if source.on_frames and source.kinds[0].list_name is not None else "fields"
    if config.assigned_field is not None:
        coverage = "given"
    elif config.no_labels != NOT_ASSIGNED:
        coverage = null_policy(config.no_labels, None)
    elif config.attribute_mode:
        coverage = "assumed"
    facts = RunFacts(
        **index.totals(source.annotators),
        coverage=coverage,
        seconds=round(time.perf_counter() - started, 3),
        chosen_by=run_behind(source.samples),
        filtered=filtered_annotators(source),
        unread=unread_images(source),
        versions=versions(),
        n_changed=noticed["n_changed"],
        n_repeated=noticed["n_repeated"],
        n_videos=noticed["n_videos"] if source.on_frames else None,
    )
    dataset, context = source.dataset, family.context(facts)
    class_names, n = codes.class_names() if context.class_names else list(context.class_names), None
    if "role_present" in records.parts[0]:  # the classes of annotators come first
        n = int(records.codes_given().max(initial=0)) + 1
    context = replace(
        context,
        class_names=class_names[:n],
        role_class_names=[] if n is None else class_names[n:],
        attribute_values=codes.attribute_values(),
        worst_samples=worst_samples(records.sample_values(), index, dataset),
        clusters=index.clusters(),
        describe=functools.partial(index.list_samples, dataset),
    )
    report = build_report(records, context)  # needs much memory, so it is built before the records are packed
    report = replace(report, look_first=look_first(records, index, dataset, context))
    return_memory()
    return report, functools.partial(write_records, records=records, context=context.to_stored())


def add_values_of_roles(
    updates: list[dict[str, Any]], family: LabelFamily[Any, Any], labels: Any, result: Any, records: Records
) -> None:
    """Add the values of roles to those of annotators.

    Args:
        updates: the values of every sample by path
        family: the family
        labels: the labels of a batch
        result: their agreement
        records: their records
    """
    source = family.source
    key, paths_of_units, paths_of_others = source.config.run_key, *_paths(source, labels, result)
    paths = [*paths_of_units, *paths_of_others]  # in the order of all labels
    ids = ids_of_objects(labels, result, source.annotators) if isinstance(labels, ObjectLabels) else []
    for role, each in zip(source.roles, compared_roles(records, family.context(RunFacts())), strict=True):
        sample = each.labels.sample.tolist()
        if isinstance(labels, ObjectLabels):  # the unit of every label of the role
            for row, of_unit in zip(each.own.tolist(), each.most_matched(result.unit).tolist(), strict=True):
                updates[sample[row]][f"{paths[row]}.{key}_id"] = ids[of_unit] if of_unit >= 0 else None
        if role.is_model:
            continue
        for path, k, said in zip(paths_of_units, sample, each.said().tolist(), strict=False):
            if path is not None and said is not None:
                updates[k][f"{path}.{key}{REFERENCE}"] = said
        if isinstance(labels, ObjectLabels | TagLabels):
            missed = each.missed()
            named = Relation(each.wanted[missed], each.wanted_of[missed]).names(source.annotators)
            for row, who in named.items():
                updates[sample[row]][f"{paths[row]}.{key}{MISSED_BY}"] = who
        if not isinstance(labels, RatingLabels):  # ratings have a verdict instead
            # the annotators' mean number on every sample, and who has the lowest one below 1; their own to masks
            values, suffix = values_of_images(each), f"{REFERENCE}_{each.kind.of_image[1]}"
            for k in np.flatnonzero(~np.isnan(values).all(axis=1)).tolist():
                lowest = np.nanmin(values[k])
                updates[k][f"{key}{suffix}"] = float(np.nanmean(values[k]))
                if lowest < 1.0:
                    worst = np.flatnonzero(values[k] <= lowest).tolist()
                    updates[k][f"{key}{REFERENCE_WORST}"] = [source.annotators[number] for number in worst]
            masks = zip(source.label_paths, source.field_annotator, strict=True)
            for path, annotator in masks if isinstance(labels, PixelLabels) else ():
                of_annotator: FloatArray = values[:, annotator]
                for k in np.flatnonzero(~np.isnan(of_annotator)).tolist():
                    updates[k][f"{path}.{key}{suffix}"] = float(of_annotator[k])


def _paths(source: Source, labels: Any, result: Any) -> tuple[Sequence[str | None], Sequence[str]]:
    """The path of every label in a unit, and of every other label in the records; None for plain values.

    Empty for labels on which no verdicts and relations are written, such as masks.
    """
    if isinstance(labels, PixelLabels):
        return (), ()
    if isinstance(labels, RatingLabels):
        columns = zip(source.field_annotator, source.kinds, source.label_paths, strict=True)
        path_of = {annotator: path for annotator, kind, path in columns if kind.is_label}
        return [path_of.get(annotator) for annotator in np.nonzero(result.given)[1].tolist()], ()
    if isinstance(labels, ObjectLabels):
        chosen = np.flatnonzero(result.counted), result.others
    else:
        chosen = result.label, other_tags(labels, result)
    paths = source.everybody.label_paths
    own, others = (
        [f"{paths[field]}.{place}" for field, place in zip(labels.field[rows], labels.position[rows], strict=True)]
        for rows in chosen
    )
    return own, others
