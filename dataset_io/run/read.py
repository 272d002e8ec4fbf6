"""Read labels in batches straight from the database, and process them: reading, computing and writing overlap."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import queue
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import fiftyone.core.utils as fou
import numpy as np
from bson import ObjectId

from ..families.frames import Videos
from ..families.protocol import LabelReader, Labels
from ..labels.assignment import label_lists
from ..labels.source import Source
from ..labels.stored import StoredSample, label_ids, subsample_keys
from ..record.sample_index import COUNTS, SampleIndex

#: limits of a batch: samples, labels, pairs of annotators over all samples, and pairs of labels of one sample
BATCH_SAMPLES = 400
BATCH_LABELS = 40_000
BATCH_PAIRS = 5_000_000
BATCH_LABEL_PAIRS = 2_000_000

_CURSOR_BATCH = 500


@dataclass(frozen=True, slots=True)
class ReadBatch(Generic[Labels]):
    """Some samples and their labels."""

    samples: list[StoredSample]  #: ``S`` samples
    labels: Labels  #: their labels
    index: SampleIndex  #: the samples, and what was noticed when they were read
    changed: list[ObjectId]  #: ids of samples that changed between two queries


class Reader(Generic[Labels]):
    """Reads the samples of a source, each once."""

    def __init__(self, labels: LabelReader[Labels]) -> None:
        self._labels = labels
        self.source: Source = labels.source
        self.count = self.source.count
        self.n_repeated = 0

    @functools.cached_property
    def videos(self) -> Videos | None:
        """Facts about the videos of frames; None for samples."""
        return Videos(self.source) if self.source.on_frames else None

    def batches(self) -> Iterator[list[dict[str, Any]]]:
        """Query results for all samples, in batches of bounded size; repeated samples are read once."""
        stages = [{"$project": {**_marks(self.source), **self._labels.projection()}}]
        cursor = self.source.aggregate(stages, batchSize=_CURSOR_BATCH)
        with cursor:
            yield from self.batched(cursor)

    def batched(self, rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
        """Query results in batches of bounded size, without repeated ones and frames whose video does not exist."""
        n_pairs = max(1, len(self.source.annotators) * (len(self.source.annotators) - 1) // 2)
        most_samples = max(1, min(BATCH_SAMPLES, BATCH_PAIRS // n_pairs))
        fields = _id_fields(self.source)
        batch: list[dict[str, Any]] = []
        n_labels, n_label_pairs, seen = 0, 0, set[ObjectId]()
        for row in rows:
            if self.source.is_view:
                if row["_id"] in seen:
                    self.n_repeated += 1
                    continue
                seen.add(row["_id"])
            if self.videos is not None and not self.videos.complete(row):
                continue
            batch.append(row)
            n_labels += self._labels.load(row)
            n_label_pairs += sum(len(row[field] or ()) for field in fields) ** 2 // 2
            full = n_labels >= BATCH_LABELS or n_label_pairs >= BATCH_LABEL_PAIRS
            if full or len(batch) >= most_samples:
                yield batch
                batch, n_labels, n_label_pairs = [], 0, 0
        if batch:
            yield batch

    def again(self, sample_ids: Sequence[ObjectId]) -> list[dict[str, Any]]:
        """Current query results for some of the samples."""
        read = {"$project": {**_marks(self.source), **self._labels.projection()}}
        wanted = {"$match": {"_id": {"$in": list(sample_ids)}}}
        first: dict[ObjectId, dict[str, Any]] = {}
        for row in self.source.aggregate([wanted, read]):
            if self.videos is None or self.videos.complete(row):
                first.setdefault(row["_id"], row)
        return list(first.values())

    def columns(self, rows: list[dict[str, Any]]) -> ReadBatch[Labels]:
        """Turn query results into labels.

        Raises:
            AgreementInputError: if labels cannot be compared and the config does not say to leave them out
        """
        samples, changed = samples_of_rows(self.source, rows), list[ObjectId]()
        if self.source.is_view:  # only samples that did not change between the two queries
            in_database = stored_samples(self.source, [row["_id"] for row in rows])
            shown_rows, rows, shown_samples, samples = rows, [], samples, []
            for row, seen in zip(shown_rows, shown_samples, strict=True):
                sample = in_database.get(row["_id"])
                if (
                    sample is None
                    or sample.last_modified_at != row.get("last_modified_at")
                    or not all(
                        not kind.is_label or not shown or list(shown) == stored or set(shown) <= set(stored or ())
                        for kind, shown, stored in zip(
                            self.source.everybody.kinds, seen.label_ids, sample.label_ids, strict=True
                        )
                    )
                ):
                    changed.append(row["_id"])
                else:
                    rows.append(row)
                    samples.append(sample)
        read = self._labels.read(rows, samples)
        counts = {name: getattr(read, name) for name in COUNTS if name != "lists"}
        index = SampleIndex.of(self.source, samples, **counts, lists=label_lists(self.source, samples, read.drew))
        return ReadBatch(samples, read.labels, index, changed)


def _marks(source: Source) -> dict[str, Any]:
    """Projection of the fields by which a change of a document is noticed, and of its group and video."""
    with_ids = zip(_id_fields(source), source.everybody.kinds, source.everybody.label_paths, strict=True)
    ids = {field: label_ids(kind, path) for field, kind, path in with_ids}
    of_frames = {"_sample_id": True, "frame_number": True} if source.on_frames else {}
    group_field = source.dataset.group_field
    of_groups = {} if group_field is None else {"group": f"${group_field}._id"}
    return {"last_modified_at": True, **of_frames, **of_groups, **ids}


def stored_samples(source: Source, ids: Sequence[ObjectId]) -> dict[ObjectId, StoredSample]:
    """Some samples as they are stored now, without the filters of the view."""
    rows = source.collection.aggregate([{"$match": {"_id": {"$in": list(ids)}}}, {"$project": _marks(source)}])
    return {sample.sample_id: sample for sample in samples_of_rows(source, list(rows))}


def samples_of_rows(source: Source, rows: Sequence[dict[str, Any]]) -> list[StoredSample]:
    """The samples of query results."""
    fields, on_frames = _id_fields(source), source.on_frames
    return [
        StoredSample(
            sample_id=row["_id"],
            last_modified_at=row.get("last_modified_at"),
            label_ids=tuple([row[field] for field in fields]),
            group_id=row.get("group"),
            video_id=row["_sample_id"] if on_frames else None,
            frame_number=row["frame_number"] if on_frames else 0,
            video_modified_at=row.get("video_stamp"),
        )
        for row in rows
    ]


def _id_fields(source: Source) -> list[str]:
    """Names of the columns of query results with the ids of the labels of every field."""
    return [f"id{field}" for field in range(len(source.everybody.kinds))]


def some_ids(source: Source, at_most: int) -> list[ObjectId]:
    """Ids of the samples with the smallest hashes, so that order does not matter."""
    ids = list({row["_id"]: None for row in source.aggregate([{"$project": {"_id": True}}])})
    order = np.argsort(subsample_keys(ids), kind="stable")[:at_most]
    return [ids[k] for k in order.tolist()]


T = TypeVar("T")

#: seconds to wait for the thread, which may be waiting for the database, when the caller stops early
_LONGEST_WAIT = 2.0


def read_ahead(items: Iterator[T], depth: int = 2) -> Iterator[T]:
    """The items of an iterator, read by a thread at most ``depth`` items ahead.

    An error of the iterator is raised in place of the next item. The thread ends with the iterator, or soon after the
    caller stops.
    """
    ready: queue.Queue[tuple[str, Any]] = queue.Queue(maxsize=depth)
    stopped = threading.Event()

    def offer(what: str, value: Any = None) -> None:
        while not stopped.is_set():
            with contextlib.suppress(queue.Full):
                ready.put((what, value), timeout=0.1)
                return

    def read() -> None:
        try:
            for value in items:
                offer("item", value)
                if stopped.is_set():
                    return
            offer("end")
        except BaseException as error:  # handed to the caller
            offer("error", error)

    thread = threading.Thread(target=read, name="agreement-read", daemon=True)
    thread.start()
    try:
        while True:
            what, value = ready.get()
            if what == "error":
                raise value
            if what == "end":
                return
            yield value
    finally:
        stopped.set()
        thread.join(_LONGEST_WAIT)


#: maximum number of times that an edited sample is read again
MAX_ATTEMPTS = 3

_WRITERS = 3
_IN_FLIGHT = 3

Rows = list[dict[str, Any]]
#: progress option: whether to show a bar, or a callback
Progress = bool | Callable[[Any], None] | None

#: processes query results, and submits the writing to a pool of threads; the last argument: whether it is repeated.
#: Returns a function that waits for the writing, and returns the ids of the samples that changed after they were read
Process = Callable[[Rows, ThreadPoolExecutor, bool], Callable[[], list[ObjectId]]]


class Batches(Protocol):
    """Reads documents in batches."""

    def count(self) -> int:
        """Number of documents."""

    def batches(self) -> Iterator[Rows]:
        """Query results for all documents."""

    def again(self, sample_ids: Sequence[ObjectId]) -> Rows:
        """Current query results for some documents; those that are gone are missing."""


def work_through(reader: Batches, process: Process, progress: Progress) -> int:
    """Process all samples, each once; samples that are edited meanwhile are processed again.

    Returns:
        number of samples left out because they were deleted or edited repeatedly
    """
    n_left_out = 0
    in_flight: deque[tuple[int, Callable[[], list[ObjectId]]]] = deque()

    def finish() -> None:
        """Wait for the first batch, and process its samples again that were not written, as they changed."""
        nonlocal n_left_out
        n_rows, count = in_flight.popleft()
        refused = count()
        for _ in range(MAX_ATTEMPTS):
            if not refused:
                break
            rows = reader.again(refused)
            n_left_out += len(set(refused) - {row["_id"] for row in rows})
            refused = process(rows, writers, True)() if rows else []
        n_left_out += len(refused)
        bar.update(n_rows)

    with (
        fou.ProgressBar(total=None if progress is False else reader.count(), progress=progress) as bar,
        ThreadPoolExecutor(_WRITERS, "agreement-write") as writers,
    ):
        try:
            for rows in read_ahead(reader.batches()):
                in_flight.append((len(rows), process(rows, writers, False)))
                if len(in_flight) > _IN_FLIGHT:
                    finish()
            while in_flight:
                finish()
        except BaseException:
            writers.shutdown(cancel_futures=True)  # only what is being written now is finished
            raise
    return n_left_out


def return_memory() -> None:
    """Give memory that is no longer used back to the system, which glibc does not do in time after several threads."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # other C libraries have none
        if trim is not None:
            trim(0)


#: new objects between two garbage collections (Python's default is 700)
_COLLECTION_THRESHOLD = 100_000

_collection_lock = threading.Lock()
_n_inside = 0
_before: tuple[int, int, int] = (0, 0, 0)


@contextlib.contextmanager
def rare_collections() -> Iterator[None]:
    """Run the garbage collector less often, in the whole process; several threads may use it at once.

    Query results and updates have no cycles, so reference counts free them at once. With default settings the
    collector visits all of them repeatedly, which takes half of the time of reading the labels.
    """
    global _n_inside, _before
    with _collection_lock:
        if not _n_inside:
            _before = gc.get_threshold()
            if _before[0]:  # 0: somebody switched it off
                gc.set_threshold(max(_COLLECTION_THRESHOLD, _before[0]), *_before[1:])
        _n_inside += 1
    try:
        yield
    finally:
        with _collection_lock:
            _n_inside -= 1
            if not _n_inside:
                gc.set_threshold(*_before)
