"""Find the samples of the images that annotation files name, or make new ones from images in a folder."""

from __future__ import annotations

import os
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import fiftyone as fo
import fiftyone.core.media as fom
from bson import ObjectId

from ...agreement.settings.arguments import one_of
from ...agreement.settings.errors import AgreementInputError, shown
from ..database.fiftyone_private import sample_collection
from .annotation_set import AnnotationSet
from .file_values import stored_size

#: endings of annotation files, which are called like their images
_OF_ANNOTATIONS = {".txt", ".xml", ".json", ".csv", ".tsv", ".yaml", ".yml"}
#: most files in a folder of images: with more it is rather a whole disk
MOST_FILES = 1_000_000

Match = Literal["filename", "stem", "path"]
MATCHES = ("filename", "stem", "path")


@dataclass(slots=True, eq=False)
class Target:
    """A sample that gets labels: of the dataset, or a new one."""

    path: str
    sample_id: ObjectId | None = None  #: None: a new sample
    size_px: tuple[int, int] | None = None
    is_video: bool = False
    new_size: tuple[int, int] | None = None  #: a size from the files, if the sample has none


class _Names:
    """Paths by the names under which files may refer to them."""

    def __init__(self, paths: Iterable[str], match: Match) -> None:
        self._match = match
        self._by_name: dict[str, list[str]] = defaultdict(list)
        self._by_stem: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            plain = _plain(path)
            if plain.suffix.lower() not in _OF_ANNOTATIONS:
                self._by_name[plain.name].append(path)
                self._by_stem[plain.stem].append(path)

    def find(self, name: str) -> list[str]:
        """All paths that a name may mean; the name of an annotation file means the image with this name."""
        wanted = _plain(name)
        is_stem = self._match == "stem" or wanted.suffix.lower() in _OF_ANNOTATIONS
        found = self._by_stem.get(wanted.stem, []) if is_stem else self._by_name.get(wanted.name, [])
        folders = [part for part in wanted.parts[:-1] if part != "/"]
        if self._match != "path" or not folders:
            return found
        return [path for path in found if [*_plain(path).parts[:-1]][-len(folders) :] == folders]

    def first(self, names: Iterable[str]) -> tuple[str, list[str]]:
        """The first of the names that is found, and its paths."""
        return next(((name, paths) for name in names if (paths := self.find(name))), ("", []))


def _plain(name: str) -> PurePosixPath:
    """A path with the slashes of any system, and accented letters in one Unicode form (macOS has another)."""
    return PurePosixPath(unicodedata.normalize("NFC", name).replace("\\", "/"))


def match_images(
    dataset: fo.Dataset,
    found: AnnotationSet,
    match: Match,
    media_dir: Path | None,
    beside: Sequence[Path] = (),
    *,
    whole: bool = False,
    apart: bool = False,
) -> tuple[dict[str, Target], list[str]]:
    """The sample of every image name in the files, and the names without one.

    Args:
        found: the content of the files
        match: which part of a name must be equal
        media_dir: folder with images of which new samples are made
        beside: folders with annotations that are used as `media_dir` if there is none and the dataset has no samples
        whole: whether images that the files do not name are returned too, by path
        apart: whether every annotator has files of their own, which may have the images in other folders

    Raises:
        AgreementInputError: if a name may mean several samples, several names mean one, or no name means any
    """
    one_of("match", match, tuple(MATCHES))
    names = sorted({image.name for image, _ in found.every_page()})
    if not names:
        raise AgreementInputError(f"`source` must hold annotations of images, got {found.title} without any")
    samples: dict[str, Target] = {}
    wanted = [f"metadata.{name}" for name in ("width", "height", "frame_width", "frame_height")]
    for row in sample_collection(dataset).find({}, dict.fromkeys(["filepath", "_media_type", *wanted], True)):
        if isinstance(row.get("filepath"), str):  # without a path no name can mean it
            metadata: dict[str, Any] = row["metadata"] if isinstance(row.get("metadata"), dict) else {}
            is_video = row.get("_media_type") == "video"
            sides = (metadata.get(f"{'frame_' if is_video else ''}{side}") for side in ("width", "height"))
            samples[row["filepath"]] = Target(row["filepath"], row["_id"], stored_size(*sides), is_video)
    in_dataset = _Names(samples, match)
    folders = [media_dir] if media_dir is not None else [] if samples else list(beside)
    if folders and not folders[0].is_dir():
        raise AgreementInputError(f"`media_dir` must be a folder, got {str(folders[0])!r}, which is not")
    in_folders: list[_Names] = []  # of the folders, listed when first needed
    targets: dict[str, Target] = {}
    names_of: dict[str, set[PurePosixPath]] = defaultdict(set)  # the names by which a path is found
    unknown, ambiguous, contradicted = [], [], []
    for name in names:
        called = (name, *found.other_names.get(name, ()))
        files = in_dataset
        found_as, paths = files.first(called)
        if not paths and folders:
            in_folders = in_folders or [_Names(files_in(folder, "media_dir"), match) for folder in folders]
            for files in in_folders:
                found_as, paths = files.first(called)
                if paths:
                    break
        if not paths and name in found.unnamed:
            stems = [path for path in samples if Path(path).stem == name]
            paths = stems if stems or len(samples) > 1 else [*samples]
            if len(paths) == 1:
                targets[name] = samples[paths[0]]
                continue
        if len(paths) > 1:
            ambiguous.append(f"{name} ({len(paths)} files)")
        elif not paths:
            unknown.append(name)
        else:
            if paths[0] not in samples:
                samples[paths[0]] = Target(paths[0], is_video=fom.get_media_type(paths[0]) == fom.VIDEO)
            targets[name] = samples[paths[0]]
            names_of[paths[0]].add(_plain(found_as))
            if found_as != name and any(files.find(other) not in ([], paths) for other in called):
                contradicted.append(name)
    joined = [] if match == "path" else [
        f"{shown(sorted(map(str, own)))} for {path}" for path, own in names_of.items() if len(own) > 1 and (
            not apart or any(x != y for a, b in combinations(own, 2)  # folders at the end of one that the other lacks
                             for x, y in zip(a.parts[-2::-1], b.parts[-2::-1], strict=False)))]  # fmt: skip
    if joined and not apart:
        raise AgreementInputError(
            f"Images in the file must have a sample each, got several names for one: {shown(joined, 2)}; say "
            "match='path' if they are different images, or give an image one name in the file"
        )
    if joined:
        found.notes.append(f"Files of different annotators name different folders of images that are taken as one "
                           f"({len(joined)}: {shown(joined, 2)}); say match='path' if they are not")  # fmt: skip
    if contradicted:
        found.notes.append("Files that are called like another image than the one that they name count for the former: "
                           f"{len(contradicted)} ({shown(contradicted, 3)})")  # fmt: skip
    if whole:
        used = {target.path for target in targets.values()}
        known = {os.path.relpath(path, folder) for folder in folders for path in used}
        for folder in folders:  # of copies in several folders the first one counts
            for path in files_in(folder, "media_dir"):
                name = os.path.relpath(path, folder)
                if fom.get_media_type(path) == fom.IMAGE and name not in known and not in_dataset.find(name):
                    known.add(name)
                    samples[path] = Target(path)
        targets |= {path: target for path, target in samples.items() if path not in used}
    if ambiguous:
        raise AgreementInputError(
            f"Names of images in the file must mean one sample each, got {shown(ambiguous)}; say match='path' if the "
            "file has their folders too"
        )
    if not targets and not samples and not folders:
        raise AgreementInputError(
            f"The dataset {dataset.name!r} must have samples of the images of the file, got none; say `media_dir=` to "
            "make them of the images in a folder"
        )
    if not targets and {*names} <= found.unnamed:
        raise AgreementInputError(
            "The file must be called as its video, which the export of a job does not name, got "
            f"{shown(names, 3)}, for samples such as {shown(samples, 3)}"
        )
    if not targets:
        raise AgreementInputError(
            f"The images of the file must be in the dataset {dataset.name!r} or in `media_dir`, got none of "
            f"{len(names)} ({shown(names, 3)}), for samples such as {shown(samples, 3) or '(no samples)'}; say "
            "match='stem' if only their endings differ, or `media_dir=` to make new samples"
        )
    return targets, unknown


def files_in(folder: Path, argument: str) -> Iterator[str]:
    """The paths of all files in a folder and its folders, without following links to folders.

    Args:
        argument: name of the argument that gave the folder, for messages

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
