"""Atomic writing of files: they appear when they are complete, and not before."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from ...agreement.settings.arguments import path_of, true_or_false, writing_to
from ...agreement.settings.errors import AgreementInputError


def checked_file(path: str | os.PathLike[str], *, overwrite: bool) -> Path:
    """The absolute path, if a file can be written there."""
    true_or_false("overwrite", overwrite)
    with writing_to("path", path):
        return writable(Path(path_of("path", path)).absolute(), is_folder=False, overwrite=overwrite)


def writable(found: Path, *, is_folder: bool, overwrite: bool) -> Path:
    """The path, if a file or folder can be written there; else it raises :class:`AgreementInputError`."""
    # refuse devices, which the written file would replace
    if found.exists() and not (found.is_dir() if is_folder else found.is_file()):
        what = "a folder" if is_folder else "a file"
        raise AgreementInputError(f"`path` must be {what}, got {str(found)!r}, which is not")
    tables = [*found.glob("*.csv"), *found.glob("*.parquet")] if is_folder and found.is_dir() else []
    is_taken = bool(tables) or (found.exists() and not is_folder)
    if is_taken and not overwrite:
        there = "There are tables in" if is_folder else "There is a file at"
        raise AgreementInputError(f"{there} {str(found)!r} already; choose another path, or say overwrite=True")
    folder = found if found.is_dir() else found.parent
    if not folder.is_dir():
        why = f"{str(folder)!r} is a file" if folder.exists() else f"there is no folder {str(folder)!r}"
        raise AgreementInputError(f"`path` must be in a folder, got {str(found)!r}: {why}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise AgreementInputError(f"`path` must be writable, got {str(found)!r}: no permission in {str(folder)!r}")
    return found


def write_file(path: Path, content: bytes) -> None:
    """Write a file that appears only when it is complete."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside a file, with its ending; after the block it replaces the file, and has its mode."""
    temporary = path.with_name(f".{secrets.token_hex(4)}.{path.name}")
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
        # if only the owner may read the file, nobody else may read the temporary one
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else 0o600))
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
