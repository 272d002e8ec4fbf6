"""Heatmap files in a folder chosen by the user.

Files are named ``<sample id>-<run id>.png``, so that deleting a run, even one that crashed, deletes exactly its own
files. The folder itself is not deleted.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ...agreement.settings.arguments import writing_to
from ...agreement.settings.errors import AgreementInputError

logger = logging.getLogger(__name__)

_NAME = re.compile(r"[0-9a-f]{24}-([0-9a-f]{24})\.png")


def map_path(folder: str, document_id: object, run_id: str) -> str:
    """Path of the heatmap of a sample, or frame."""
    return os.path.join(folder, f"{document_id}-{run_id}.png")


def encoded_map(disagreement: NDArray[np.uint8]) -> bytes:
    """Encode a heatmap as grayscale PNG; values are numbers of annotators."""
    done, encoded = cv2.imencode(".png", disagreement)
    if not done:
        raise ValueError(f"`disagreement` must be an image, got the shape {disagreement.shape}")
    return bytes(encoded)


def write_map(path: str, content: bytes) -> None:
    """Write a heatmap; creates the folder if needed.

    Raises:
        AgreementInputError: if it cannot be written
    """
    folder = os.path.dirname(path)
    with writing_to("map_folder", folder):
        os.makedirs(folder, exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)


def check_map_folder(folder: str) -> None:
    """Refuse a folder that is not writable.

    Raises:
        AgreementInputError: with the reason
    """
    existing = folder
    with writing_to("map_folder", folder):
        while True:
            try:  # raises where it cannot be told whether a path exists, because it is too long
                os.lstat(existing)
                break
            except (FileNotFoundError, NotADirectoryError):
                existing = os.path.dirname(existing)
    if not os.path.isdir(existing):
        raise AgreementInputError(f"`map_folder` must be a folder, got {folder!r}; {existing!r} is a file")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise AgreementInputError(
            f"`map_folder` must be a folder in which files can be made, got {folder!r}; {existing!r} is not writable"
        )


def delete_map_files(folder: Any, run_id: str) -> None:
    """Delete the heatmaps of a run; those that cannot be removed are told in the log, and nothing waits for them."""
    if not isinstance(folder, str) or not os.path.isdir(folder):
        return
    errors: list[OSError] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if _run_of(entry.name) == run_id:
                    try:
                        os.remove(entry.path)
                    except FileNotFoundError:
                        pass
                    except OSError as error:
                        errors.append(error)
    except OSError as error:
        errors.append(error)
    if errors:
        logger.warning(
            "Heatmaps of the run could not be removed from %r (%s); remove the files *-%s.png there by hand",
            *(folder, errors[0].strerror, run_id),
        )


def runs_of_files(paths: Iterable[Any]) -> set[tuple[str, str]]:
    """``(folder, run id)`` of all paths that are heatmaps of runs."""
    parts = (os.path.split(str(path)) for path in paths)
    return {(folder, run_id) for folder, name in parts if (run_id := _run_of(name)) is not None}


def _run_of(name: str) -> str | None:
    match = _NAME.fullmatch(name)
    return match.group(1) if match else None
