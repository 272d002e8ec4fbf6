"""Find the sample that the name of an image in a file means."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import fiftyone as fo
import fiftyone.core.media as fom
from bson import ObjectId

from ...agreement.settings.arguments import one_of
from ...agreement.settings.errors import AgreementInputError, shown
from ..database.fiftyone_private import sample_collection
from .annotation_set import AnnotationSet, stored_size

#: more files are those of a whole disk rather than of a dataset
MOST_FILES = 1_000_000

Match = Literal["filename", "stem", "path"]
MATCHES = ("filename", "stem", "path")


@dataclass(slots=True)
class Target:
    """A sample that gets labels: of the dataset, or a new one."""

    path: str
    sample_id: ObjectId | None = None  #: None: a new sample
    size_px: tuple[int, int] | None = None
    is_video: bool = False
    new_size: tuple[int, int] | None = None  #: a size that files say and the sample does not know


class _Names:
    """Paths by the names under which files may refer to them."""

    def __init__(self, paths: Iterable[str], match: Match) -> None:
        self._match = match
        self._paths: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            self._paths[self._key(path)].append(path)

    def _key(self, name: str) -> str:
        path = PurePosixPath(name.replace("\\", "/"))
        return path.stem if self._match == "stem" else path.name

    def find(self, name: str) -> list[str]:
        """All paths that a name may mean."""
        found = self._paths.get(self._key(name), [])
        if self._match != "path":
            return found
        parts = PurePosixPath(name.replace("\\", "/").lstrip("/")).parts
        return [path for path in found if PurePosixPath(path.replace("\\", "/")).parts[-len(parts) :] == parts]

    def first(self, names: Iterable[str]) -> list[str]:
        """Meaning of the first name that has one."""
        return next((paths for name in names if (paths := self.find(name))), [])


def match_images(
    dataset: fo.Dataset, found: AnnotationSet, match: Match, media_dir: Path | None
) -> tuple[dict[str, Target], list[str]]:
    """The sample of every image name in the files, and the names without one.

    Args:
        found: what the files say
        match: what of a name must be equal
        media_dir: folder with images of which new samples are made; None: no samples are made

    Raises:
        AgreementInputError: if a name may mean several samples, or no name means any
    """
    one_of("match", match, tuple(MATCHES))
    names = sorted({image.name for image, _ in found.every_page()})
    if not names:
        raise AgreementInputError(f"`source` must hold annotations of images, got {found.title} without any")
    samples = {target.path: target for target in _samples(dataset)}
    in_dataset = _Names(samples, match)
    in_folder: _Names | None = None  # names from annotation files are only looked up among the files in the folder
    targets: dict[str, Target] = {}
    unknown, ambiguous = [], []
    for name in names:
        called = (name, *found.other_names.get(name, ()))
        paths = in_dataset.first(called)
        if not paths and media_dir is not None:
            if in_folder is None:
                if not media_dir.is_dir():
                    raise AgreementInputError(f"`media_dir` must be a folder, got {str(media_dir)!r}, which is not")
                in_folder = _Names(files_in(media_dir, "media_dir"), match)
            paths = in_folder.first(called)
        if len(paths) > 1:
            ambiguous.append(f"{name} ({len(paths)} files)")
        elif not paths:
            unknown.append(name)
        else:
            if paths[0] not in samples:
                samples[paths[0]] = Target(paths[0], is_video=fom.get_media_type(paths[0]) == fom.VIDEO)
            targets[name] = samples[paths[0]]
    if ambiguous:
        raise AgreementInputError(
            f"Names of images in the file must mean one sample each, got {shown(ambiguous)}; say match='path' if the "
            "file has their folders too"
        )
    if not targets and not samples and media_dir is None:
        raise AgreementInputError(
            f"The dataset {dataset.name!r} must have samples of the images of the file, got none; say `media_dir=` to "
            "make them of the images in a folder"
        )
    if not targets:
        raise AgreementInputError(
            f"The images of the file must be in the dataset {dataset.name!r} or in `media_dir`, got none of "
            f"{len(names)} ({shown(names, 3)}), for samples such as {shown(samples, 3) or '(no samples)'}; say "
            "match='stem' if only their endings differ, or `media_dir=` to make new samples"
        )
    return targets, unknown


def _samples(dataset: fo.Dataset) -> Iterable[Target]:
    """The samples that have a file, by which names can mean them."""
    wanted = {"filepath": True, "_media_type": True}
    wanted |= {f"metadata.{name}": True for name in ("width", "height", "frame_width", "frame_height")}
    for row in sample_collection(dataset).find({}, wanted):
        if isinstance(row.get("filepath"), str):
            metadata: dict[str, Any] = row["metadata"] if isinstance(row.get("metadata"), dict) else {}
            is_video = row.get("_media_type") == "video"
            prefix = "frame_" if is_video else ""
            size = stored_size(metadata.get(f"{prefix}width"), metadata.get(f"{prefix}height"))
            yield Target(row["filepath"], row["_id"], size, is_video)


def files_in(folder: Path, argument: str) -> Iterator[str]:
    """The paths of all files in a folder and its folders, without following links to folders.

    Args:
        argument: what named it

    Raises:
        AgreementInputError: if there are more than :data:`MOST_FILES`
    """
    n_files = 0
    for place, _, names in os.walk(folder):
        n_files += len(names)
        if n_files > MOST_FILES:
            raise AgreementInputError(
                f"`{argument}` must be a folder with at most {MOST_FILES:,} files, got {str(folder)!r}, which has "
                "more; name the folder of these files alone"
            )
        yield from (os.path.join(place, name) for name in names)
