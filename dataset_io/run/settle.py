"""Measure the labels of a run and write what was found: the way of every sample from the query to the table of its run.

``settle`` is the same for a new run, for an update (some ids) and for a shard (a range of ids): batches are read,
compared and written at the same time, and what somebody changed meanwhile again.
"""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
from bson import ObjectId

from ...agreement.families.family import build_report
from ...agreement.settings.no_labels import NOT_ASSIGNED, null_policy
from ...agreement.statistics.codes import CodeNames
from ...agreement.statistics.records import Records
from ...agreement.statistics.report import AgreementReport, RunFacts
from ...metrics.numeric.arrays import BoolArray, FloatArray
from ..families.frames import VideoScores
from ..families.protocol import LabelFamily
from ..record.run import versions
from ..record.run_keys import filtered_annotators, run_behind, unread_images
from ..record.sample_index import SampleIndex
from ..record.stored_records import Store, surely_written, write_records
from .read import Reader
from .work_list import look_first, worst_samples
from .work_through import Progress, Rows, return_memory, work_through
from .write import write


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
        """The same whatever the order in which samples were read: by id, with codes of classes by name."""
        named, order = self.with_codes(self.codes.joined()), SampleIndex.of_records(self.records).order()
        records = named.records if order is None else named.records.take(order)
        return Compared(records.regrouped(), named.codes)


def settle(
    family: LabelFamily[Any, Any], check: Callable[[], None], progress: Progress, *, again: bool = False
) -> tuple[Compared | None, Counter[str]]:
    """Read, compare and write the samples of a source.

    Args:
        family: reads and compares the labels, and says what is written
        check: raises an error when the run may no longer be written; called before everything that is
        progress: as in ``compute``
        again: whether the samples may have values from before

    Returns:
        what was compared, in order, None if nothing was; and how much was noticed meanwhile: ``n_changed``, samples
        that somebody kept on changing, or deleted; ``n_repeated``, repetitions of samples in a view; ``n_videos``,
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

        def write_values() -> tuple[list[ObjectId], FloatArray | None]:
            updates = family.values(read.labels, result)
            refused = write(source, read, updates, before=fields if again or is_second else ())
            return refused, None if scores is None else scores.values_of(updates)

        written = writers.submit(write_values)
        recorded = writers.submit(family.record, read.labels, result)

        def count() -> list[ObjectId]:
            """Add the records of the samples that were written; the ids of the others."""
            nonlocal records
            refused, of_videos = written.result()
            samples, new = read.samples, recorded.result().with_columns(read.index.columns)
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


def reported(
    family: LabelFamily[Any, Any], compared: Compared, noticed: Counter[str], *, started: float
) -> tuple[AgreementReport, Store]:
    """Report on samples, and what stores their records.

    Args:
        family: what was compared
        compared: the records, in order
        noticed: what :func:`settle` noticed
        started: when it began, by ``time.perf_counter()``
    """
    source, records, codes = family.source, compared.records, compared.codes
    index = SampleIndex.of_records(records)
    facts = RunFacts(
        **index.totals(source.annotators),
        coverage=_coverage(family),
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
    context = replace(
        context,
        class_names=codes.class_names() if context.class_names else context.class_names,
        role_class_names=codes.role_class_names() if context.role_class_names else context.role_class_names,
        attribute_values=codes.attribute_values(),
        worst_samples=worst_samples(records.sample_values(), index, dataset),
        clusters=index.clusters(),
        describe=functools.partial(index.list_samples, dataset),
    )
    report = build_report(records, context)  # which needs much memory, so before the records are packed
    report = replace(report, look_first=look_first(records, index, dataset, context))
    return_memory()
    return report, functools.partial(write_records, records=records, context=context.to_stored())


def _coverage(family: LabelFamily[Any, Any]) -> str:
    """How it is known who was asked, as reports say it."""
    source, config = family.source, family.source.config
    if config.assigned_field is not None:
        return "given"
    if config.no_labels != NOT_ASSIGNED:
        return null_policy(config.no_labels, None)
    if config.attribute_mode:
        return "assumed"
    return "videos" if source.on_frames and source.kinds[0].list_name is not None else "fields"
