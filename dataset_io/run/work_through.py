"""Process the samples of a source in batches; reading, computing and writing overlap."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
import threading
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import fiftyone.core.utils as fou
from bson import ObjectId

from .read import Reader, read_ahead

#: maximum number of times that an edited sample is read again
MAX_ATTEMPTS = 3

_WRITERS = 3
_IN_FLIGHT = 3

Rows = list[dict[str, Any]]
#: progress option: whether to show a bar, or a callback
Progress = bool | Callable[[Any], None] | None

Sent = TypeVar("Sent")


def work_through(
    reader: Reader[Any],
    send: Callable[[Rows, ThreadPoolExecutor], Sent],
    settle: Callable[[Sent], list[ObjectId]],
    progress: Progress,
) -> int:
    """Process all samples, each once; samples that are edited meanwhile are processed again.

    Args:
        reader: reads the samples
        send: processes query results and submits the writing to a given thread pool
        settle: waits for the writing and counts it; returns ids of samples that changed after they were read

    Returns:
        number of samples left out because they were deleted or edited repeatedly
    """
    n_left_out = 0

    def finish(sent: Sent) -> None:
        nonlocal n_left_out
        refused = settle(sent)
        for _ in range(MAX_ATTEMPTS):
            if not refused:
                break
            rows = reader.again(refused)
            found = {row["_id"] for row in rows}
            n_left_out += sum(sample_id not in found for sample_id in refused)
            refused = settle(send(rows, writers)) if rows else []
        n_left_out += len(refused)

    in_flight: deque[tuple[int, Sent]] = deque()
    with (
        fou.ProgressBar(total=None if progress is False else reader.source.count(), progress=progress) as bar,
        ThreadPoolExecutor(_WRITERS, "agreement-write") as writers,
    ):
        try:
            for rows in read_ahead(reader.batches()):
                in_flight.append((len(rows), send(rows, writers)))
                if len(in_flight) > _IN_FLIGHT:
                    n_rows, sent = in_flight.popleft()
                    finish(sent)
                    bar.update(n_rows)
            for n_rows, sent in in_flight:
                finish(sent)
                bar.update(n_rows)
        except BaseException:
            writers.shutdown(cancel_futures=True)  # only what is being written now is finished
            raise
    return n_left_out


@dataclass(frozen=True, slots=True)
class SentBatch:
    """A batch of samples that is being written."""

    ids: list[ObjectId]
    counts: list[Counter[Any]]  #: what becomes of the objects and labels of every sample
    written: Future[list[ObjectId]]  #: the samples that somebody changed meanwhile, which are not written


class CountingPass(ABC):
    """A pass over samples that counts what becomes of their objects and labels, once for every sample.

    Attributes:
        reader: reads the samples
        total: the outcomes so far
    """

    def __init__(self, reader: Reader[Any]) -> None:
        self.reader = reader
        self.total: Counter[Any] = Counter()

    @abstractmethod
    def send(self, rows: Rows, writers: ThreadPoolExecutor) -> SentBatch | None:
        """Process a batch, and begin to write it; None if there is nothing to do."""

    def done(self, progress: Progress) -> Counter[Any]:
        """Do the pass; its outcomes, with ``n_meanwhile``: samples that others kept on changing."""
        n_meanwhile = work_through(self.reader, self.send, self._settle, progress)
        return self.total + Counter(n_meanwhile=n_meanwhile)

    def _settle(self, sent: SentBatch | None) -> list[ObjectId]:
        """Wait until a batch is written, and count it; the samples that somebody changed meanwhile."""
        if sent is None:
            return []
        refused = set(sent.written.result())
        for document_id, counts in zip(sent.ids, sent.counts, strict=True):
            if document_id not in refused:
                self.total.update(counts)
        return [each for each in sent.ids if each in refused]


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
