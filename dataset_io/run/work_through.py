"""Process the samples of a source in batches; reading, computing and writing overlap."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import fiftyone.core.utils as fou
from bson import ObjectId

from .read import read_ahead

#: maximum number of times that an edited sample is read again
MAX_ATTEMPTS = 3

_WRITERS = 3
_IN_FLIGHT = 3

Rows = list[dict[str, Any]]
#: progress option: whether to show a bar, or a callback
Progress = bool | Callable[[Any], None] | None

#: processes query results, and submits the writing to a pool of threads; third, whether they were processed before.
#: Gives a function that waits for the writing and counts it: the ids of the samples that changed after they were read
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
        """Wait for the first batch, and process again what was refused of it."""
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
