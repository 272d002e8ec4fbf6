"""Work through the samples of a source in batches: read ahead, and written while the next ones are worked on."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import fiftyone.core.utils as fou
from bson import ObjectId

from .read import Reader
from .read_ahead import read_ahead

#: how often a sample that somebody edits is read again
MAX_ATTEMPTS = 3

_WRITERS = 2
_IN_FLIGHT = 3

Rows = list[dict[str, Any]]
#: what users may give to follow the progress: whether to show a bar, or a function that is called with it
Progress = bool | Callable[[Any], None] | None

Sent = TypeVar("Sent")


def work_through(
    reader: Reader[Any],
    send: Callable[[Rows, ThreadPoolExecutor], Sent],
    settle: Callable[[Sent], list[ObjectId]],
    progress: Progress,
) -> int:
    """Work through all samples, each once; those that somebody edits meanwhile are read and worked on again.

    Args:
        reader: reads the samples
        send: works on query results, and has what comes out written by one of the threads it is given
        settle: waits until that is done, and counts it; returns the ids of samples that were not as they were read
        progress: as of :func:`compute_agreement`

    Returns:
        number of samples that were deleted meanwhile, or that somebody kept on editing: they are left out
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
        fou.ProgressBar(total=reader.source.count(), progress=progress) as bar,
        ThreadPoolExecutor(_WRITERS, "agreement-write") as writers,
    ):
        for rows in read_ahead(reader.batches()):
            in_flight.append((len(rows), send(rows, writers)))
            if len(in_flight) > _IN_FLIGHT:
                n_rows, sent = in_flight.popleft()
                finish(sent)
                bar.update(n_rows)
        for n_rows, sent in in_flight:
            finish(sent)
            bar.update(n_rows)
    return n_left_out


#: new objects between two garbage collections, instead of 700
_COLLECTION_THRESHOLD = 100_000

_collection_lock = threading.Lock()
_n_inside = 0
_before: tuple[int, int, int] = (0, 0, 0)


@contextlib.contextmanager
def rare_collections() -> Iterator[None]:
    """Look for cycles less often, in the whole process; several threads can be inside at once.

    Query results and updates have no cycles, so reference counts free them at once. With its usual settings the
    collector walks through all of them again and again, which takes half of the time of a pass over the labels.
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
