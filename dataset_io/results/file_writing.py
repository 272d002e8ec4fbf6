"""Write files so that they are there when they are complete, and not before."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path


def write_file(path: Path, content: bytes) -> None:
    """Write a file, which is there when it is complete."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """An empty file beside another, of the same ending, which takes its place, with its mode, when it is complete."""
    temporary = path.with_name(f".{secrets.token_hex(4)}.{path.name}")
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
        # what only its owner may read is so from the beginning
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else 0o600))
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
