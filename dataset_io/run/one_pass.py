"""One pass over labels: batches are read, computed and written concurrently; their records are added up."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
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
from ..labels.source import Source
from ..record.run import Run, versions
from ..record.run_keys import filtered_annotators, run_behind, unread_images
from ..record.sample_index import SampleIndex
from ..record.stored_records import Store, surely_written, write_records
from .read import ReadBatch, Reader
from .work_list import look_first, worst_samples
from .work_through import Progress, return_memory, work_through
from .write import Writer


@dataclass(frozen=True, slots=True)
class Compared:
    """Records of the compared samples, their ids and what was noticed when they were read."""

    records: Records
    index: SampleIndex
    codes: CodeNames  #: what the codes in the records stand for

    @classmethod
    def concatenate(cls, parts: Iterable[Compared]) -> Compared:
        """The records of all parts, at least one, whose codes are the same; holds one part at a time in addition."""
        records: Records | None = None
        indexes: list[SampleIndex] = []
        for part in parts:
            records, codes = part.records if records is None else records + part.records, part.codes
            indexes.append(part.index)
        assert records is not None
        return cls(records, SampleIndex.concatenate(indexes), codes)

    def with_codes(self, names: CodeNames) -> Compared:
        """The same records with other codes."""
        new = self.codes.translated(names)
        return self if new is None else replace(self, records=self.records.recoded(*new), codes=names)

    def in_order(self) -> Compared:
        """The same whatever the order in which samples were read: by id, with codes of classes by name."""
        order, named = self.index.order(), self.with_codes(self.codes.joined())
        records, index = named.records, named.index
        if order is not None:
            records, index = records.take(order), index.select(order)
        return Compared(records.regrouped(), index, named.codes)

    def report(self, family: LabelFamily[Any, Any], facts: RunFacts) -> tuple[AgreementReport, Store]:
        """Report on the samples, which are in order, and what stores their records."""
        dataset, context = family.source.dataset, family.context(facts)
        if context.class_names:
            context = replace(context, class_names=self.codes.class_names())
        if context.role_class_names:
            context = replace(context, role_class_names=self.codes.role_class_names())
        context = replace(
            context,
            attribute_values=self.codes.attribute_values(),
            worst_samples=worst_samples(self.records.sample_values(), self.index, dataset),
            clusters=self.index.clusters(),
            describe=functools.partial(self.index.list_samples, dataset),
        )
        report = build_report(self.records, context)  # which needs much memory, so before the records are packed
        report = replace(report, look_first=look_first(self.records, self.index, dataset, context))
        return_memory()
        store = functools.partial(write_records, records=self.records, index=self.index, context=context.to_stored())
        return report, store


@dataclass(frozen=True, slots=True)
class Noticed:
    """Counts of a pass, in addition to the facts of each sample."""

    n_changed: int = 0  #: samples that somebody kept on changing, or deleted
    n_repeated: int = 0  #: repetitions of samples in a view
    n_videos: int | None = None  #: videos, if their frames are compared

    def __add__(self, other: Noticed) -> Noticed:
        videos = [n for n in (self.n_videos, other.n_videos) if n is not None]
        return Noticed(
            self.n_changed + other.n_changed, self.n_repeated + other.n_repeated, sum(videos) if videos else None
        )


def run_facts(source: Source, compared: Compared, noticed: Noticed, *, started: float) -> RunFacts:
    """Facts of a run for its report.

    Args:
        compared: what was compared of them
        noticed: what was noticed meanwhile
        started: when it began, by ``time.perf_counter()``
    """
    return RunFacts(
        **compared.index.totals(source.annotators),
        coverage=_coverage(source),
        seconds=round(time.perf_counter() - started, 3),
        chosen_by=run_behind(source.samples),
        filtered=filtered_annotators(source),
        unread=unread_images(source),
        versions=versions(),
        n_changed=noticed.n_changed,
        n_repeated=noticed.n_repeated,
        n_videos=noticed.n_videos,
    )


def _coverage(source: Source) -> str:
    config, has_lists = source.config, source.kinds[0].list_name is not None
    if config.assigned_field is not None:
        return "given"
    if config.no_labels != NOT_ASSIGNED:
        return null_policy(config.no_labels, None)
    if config.attribute_mode:
        return "assumed"
    return "videos" if source.on_frames and has_lists else "fields"


@dataclass(frozen=True, slots=True)
class _Computed:
    read: ReadBatch[Any]
    #: ids of the samples that changed after they were read; and values of every frame to add to its video, including
    #: refused frames, None without videos
    written: Future[tuple[list[ObjectId], FloatArray | None]]
    recorded: Future[Records]


class Pass:
    """One pass over the labels of a source.

    Args:
        family: reads, compares and writes the labels
        run: the run that is written
        again: whether the samples may have values of an earlier pass
    """

    def __init__(self, family: LabelFamily[Any, Any], run: Run, *, again: bool = False) -> None:
        self._family = family
        self._source = source = family.source
        self._run = run
        self._reader = Reader(family)
        fields = source.fields_written(source.config.run_key)
        self._writer = Writer(source, fields, again=again)
        self._records: Records | None = None
        self._index: list[SampleIndex] = []
        videos = self._reader.videos
        self._videos = None if videos is None else VideoScores(source, videos.number, again=again)

    def work(self, progress: Progress) -> tuple[Compared | None, Noticed]:
        """Read, compute and write everything; what was compared (None: nothing), and what was noticed."""
        with surely_written():
            n_left_out = work_through(self._reader, self._compute, self._count, progress)
            return_memory()
            if self._videos is not None:
                self._run.require_current()
                for _ in self._videos.write():
                    self._run.require_current()
        n_videos = None if self._reader.videos is None else len(self._reader.videos.number)
        noticed = Noticed(n_left_out, self._reader.n_repeated, n_videos)
        if self._records is None:
            return None, noticed
        compared = Compared(self._records, SampleIndex.concatenate(self._index), self._family.code_names())
        return compared.in_order(), noticed

    def _compute(self, rows: list[dict[str, Any]], writers: ThreadPoolExecutor) -> _Computed:
        read = self._reader.columns(rows)
        result = self._family.compute(read.labels)
        self._run.require_current()
        written = writers.submit(self._write, read, result)
        return _Computed(read, written, writers.submit(self._family.record, read.labels, result))

    def _write(self, read: ReadBatch[Any], result: Any) -> tuple[list[ObjectId], FloatArray | None]:
        updates = self._family.values(read.labels, result)
        refused = self._writer.write(read, updates)
        return refused, None if self._videos is None else self._videos.values_of(updates)

    def _count(self, computed: _Computed) -> list[ObjectId]:
        """Add the records of the written samples; returns the ids of the others."""
        refused, of_videos = computed.written.result()
        samples, index, records = computed.read.samples, computed.read.index, computed.recorded.result()
        if refused:
            refused_ids = set(refused)
            kept: BoolArray = np.array([sample.sample_id not in refused_ids for sample in samples], np.bool_)
            samples, index, records = list(compress(samples, kept)), index.select(kept), records.select(kept)
            of_videos = None if of_videos is None else of_videos[kept]
        self._records = records if self._records is None else self._records + records
        self._index.append(index)
        if self._videos is not None and of_videos is not None:
            self._videos.add(samples, of_videos)
        return refused
