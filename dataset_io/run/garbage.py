"""Less work for Python's garbage collector while millions of small objects come and go."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator

#: new objects between two collections, instead of 700
_THRESHOLD = 100_000

_lock = threading.Lock()
_n_inside = 0
_before: tuple[int, int, int] = (0, 0, 0)


@contextlib.contextmanager
def rare_collections() -> Iterator[None]:
    """Look for cycles less often, in the whole process; several threads can be inside at once.

    What is read from the database, and made to be written, has no cycles, and reference counts free it at once. The
    collector would walk through all of it again and again: half of the time that a pass over the labels takes.
    """
    global _n_inside, _before
    with _lock:
        if not _n_inside:
            _before = gc.get_threshold()
            if _before[0]:  # 0: somebody switched it off
                gc.set_threshold(max(_THRESHOLD, _before[0]), *_before[1:])
        _n_inside += 1
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if not _n_inside:
                gc.set_threshold(*_before)
