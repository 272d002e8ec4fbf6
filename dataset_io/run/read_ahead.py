"""Iterate in a separate thread, so that waiting for the database overlaps with computing."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

#: seconds to wait for the thread, which may be waiting for the database, when the caller stops early
_LONGEST_WAIT = 2.0


@dataclass(frozen=True, slots=True)
class _Item(Generic[T]):
    value: T | None = None
    error: BaseException | None = None
    is_last: bool = False


def read_ahead(items: Iterator[T], depth: int = 2) -> Iterator[T]:
    """The items of an iterator, read by a thread at most ``depth`` items ahead.

    An error of the iterator is raised in place of the next item. The thread ends with the iterator, or soon after the
    caller stops.
    """
    ready: queue.Queue[_Item[T]] = queue.Queue(maxsize=depth)
    stopped = threading.Event()

    def offer(item: _Item[T]) -> None:
        while not stopped.is_set():
            with contextlib.suppress(queue.Full):
                ready.put(item, timeout=0.1)
                return

    def read() -> None:
        try:
            for value in items:
                offer(_Item(value=value))
                if stopped.is_set():
                    return
            offer(_Item(is_last=True))
        except BaseException as error:  # handed to the caller
            offer(_Item(error=error))

    thread = threading.Thread(target=read, name="agreement-read", daemon=True)
    thread.start()
    try:
        while True:
            item = ready.get()
            if item.error is not None:
                raise item.error
            if item.is_last:
                return
            yield item.value  # type: ignore[misc]
    finally:
        stopped.set()
        thread.join(_LONGEST_WAIT)
