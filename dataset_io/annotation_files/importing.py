"""Import annotation files into a dataset: everything is read and checked, then written at once."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import fiftyone as fo
import pandas as pd

from ... import names
from ...agreement.settings.annotators import spelt_alike
from ...agreement.settings.arguments import one_of, path_of, takes_arrays, text_of, true_or_false
from ...agreement.settings.errors import AgreementInputError, shown
from ...agreement.settings.no_labels import DREW_NOTHING, NOT_ASSIGNED, NoLabels
from ...agreement.settings.options import OPTIONS
from ...charts.text.words import counted
from ..labels.source import field_schema
from ..run.read import Progress
from .annotation_set import AnnotationFile, AnnotationSet, ImageKey, ImageLabels, refuse_repeated
from .crowd_answers import MTURK, WIDE
from .file_format import FILE_PER_IMAGE, TABLE, TITLES, VIA, read_annotations, read_content, read_with_fiftyone
from .file_values import stored_size, whole_characters
from .image_names import Match, Target, match_images
from .label_documents import ANNOTATOR_ATTRIBUTE, KEYPOINTS, POLYLINES, LabelMaker, TargetField, target_fields
from .summaries import AnnotatorInFile, FieldChange, ImportSummary
from .written_fields import FieldWriter, Key, NewField, field_name

Into = Literal["fields", "attribute"]
Source: TypeAlias = str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]] | pd.DataFrame

#: name, or end of the name, of the field that lists annotators some of whose labels could not be read
NOT_READ = "not_read"
#: from so many annotators on, one field for all is easier to work with than one for each
_MANY = 10
#: between the titles of several formats
_AND = " and "


@takes_arrays
def import_annotations(
    dataset: fo.Dataset,
    source: Source,
    *,
    format: str | type = "auto",
    label_types: str | Sequence[str] | None = None,
    into: Into = "fields",
    prefix: str = "",
    field: str = "annotations",
    match: Match = "filename",
    media_dir: str | os.PathLike[str] | None = None,
    annotators: Mapping[str, str] | None = None,
    overwrite: bool = False,
    remove_others: bool = False,
    progress: Progress = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    clip: bool = False,
    preview: bool = False,
    no_labels: NoLabels = NOT_ASSIGNED,
    aliases: Mapping[str, str] | None = None,
) -> ImportSummary:
    """Import the labels of several annotators, and who looked at which images.

    An image that an annotator looked at and drew nothing on gets an empty list; one that they were not assigned to gets
    nothing. Everything is read and checked before anything is written.

    Args:
        dataset: the dataset
        source: a file or folder with the labels of all; or a mapping of the names of annotators to a file or folder
            each; or a DataFrame with a row for each label
        format: ``"auto"``: recognised in the files; ``"label_studio"``, ``"coco"``, ``"cvat"`` or ``"table"`` (CSV,
            TSV, Parquet); with one path for each annotator ``"yolo"``, ``"voc"``, ``"labelme"``, ``"via"``,
            ``"sagemaker"``, or a type of FiftyOne's, such as ``fo.types.KITTIDetectionDataset``
        label_types: one or several of ``"detections"`` (boxes), ``"segmentations"`` (instance masks), ``"polylines"``,
            ``"keypoints"`` and ``"classifications"`` (classes, tags and numbers of whole images), each in fields of its
            own; by default boxes where a file has any (polygons where some are rotated), else what was drawn; and the
            classes and numbers
        into: ``"fields"``: one field for each annotator; ``"attribute"``: one field, an attribute ``annotator`` on
            every label, and a sample field ``<field>_assigned`` that lists who was assigned
        prefix: first part of the name of every field of an annotator
        field: name of the field with ``into="attribute"``
        match: which part of an image's name in the files must be that of the sample's file: ``"filename"``, ``"stem"``
            (without the ending) or ``"path"`` (the folders that the files name too)
        media_dir: folder with images, of which samples are made where the dataset has none
        annotators: names for the annotators in the files, such as ``{"1": "alice"}``
        overwrite: replace the labels that the fields hold already on the images of the file; without it such labels are
            refused, and labels on other images are added
        remove_others: with `overwrite`: also remove all other labels from these fields, so that they hold what is in
            the file and nothing else; the summary counts them
        progress: a progress bar (True or False), FiftyOne's default (None), or a function that is called with it
        columns: for a table: which column has which meaning (``{"image": "scan", "annotator": "reader"}``), where it
            cannot be guessed; with a column for each annotator ``{"label": ["alice", "bob"]}``, or ``"value"``; for VIA
            ``{"label": "species"}``, the attribute with the class
        clip: whether coordinates outside of the image are moved to its border; they are counted anyway
        preview: whether everything is only read and checked, and nothing written
        no_labels: for formats with a file for each image: what it means that an annotator has no file for an
            image, ``"not_assigned"`` or ``"drew_nothing"``; an empty file always means that they drew nothing
        aliases: names of annotators and of classes in the files that stand for others, such as ``{"ann ": "ann",
            "Car": "car"}``; the summary says which names differ only in case, blanks or Unicode form

    Returns:
        what was, or would be, imported, what was left out and why, and the call of ``compute`` that fits

    Raises:
        AgreementInputError: if something in the files or the request must be changed; then nothing is written
    """
    if not isinstance(dataset, fo.Dataset):
        raise AgreementInputError(f"`dataset` must be a FiftyOne dataset, got {type(dataset).__name__}")
    one_of("into", into, ("fields", "attribute"))
    text_of("field", field)
    text_of("prefix", prefix, may_be_empty=True)
    OPTIONS["progress"].checked(progress)
    clip, preview = true_or_false("clip", clip), true_or_false("preview", preview)
    overwrite, remove_others = true_or_false("overwrite", overwrite), true_or_false("remove_others", remove_others)
    if remove_others and not overwrite:
        raise AgreementInputError("`remove_others` must come with overwrite=True, as it removes labels, got it alone")
    if columns is not None and not isinstance(columns, Mapping):
        raise AgreementInputError(f"`columns` must map meanings to columns, got {columns!r}")
    folder = None if media_dir is None else Path(path_of("media_dir", media_dir)).absolute()
    one_of("no_labels", no_labels, (NOT_ASSIGNED, DREW_NOTHING))
    found = _read(source, format, columns, folder, label_types)
    has_columns = {TITLES[TABLE], TITLES[VIA], WIDE, MTURK} & {*found.title.split(_AND)}
    if columns and not has_columns and not (found.title.startswith("Label Studio") and [*columns] == ["image"]):
        raise AgreementInputError(f"`columns` are those of a table, got {found.title}; leave them out")
    _rename(found, annotators, OPTIONS["aliases"].checked(aliases))
    slots = target_fields(found, label_types)
    has_file_per_image = {*found.title.split(_AND)} <= {TITLES[name] for name in FILE_PER_IMAGE}
    if no_labels != NOT_ASSIGNED and not has_file_per_image:
        raise AgreementInputError(
            f"`no_labels` concerns formats with a file for each image, got {found.title}, which says who looked; leave "
            "it out"
        )
    paths = source.values() if isinstance(source, Mapping) else ()
    beside = [Path(path).absolute() for path in paths if os.path.isdir(path)]
    targets, unknown = match_images(
        dataset, found, match, folder, beside, whole=no_labels == DREW_NOTHING, apart=isinstance(source, Mapping)
    )
    for name in unknown:
        found.left_out.add("images that the dataset does not have", name)
    if has_file_per_image:
        _add_without_file(found, targets, no_labels)
    maker = LabelMaker(slots, found.left_out, found.every_type, clip, found.most_pixels)
    samples = list({id(target): target for target in targets.values()}.values())
    writer = FieldWriter(dataset, samples, overwrite, remove_others)
    plan = _Plan(writer, found, slots, targets, maker)
    plan.add_all(prefix, None if into == "fields" else field)
    if 2 * maker.n_far_outside > maker.n_drawn:
        raise AgreementInputError(
            f"Labels must lie in their images, got {maker.n_far_outside} of {maker.n_drawn} outside: their coordinates "
            "are in another unit than the format says (pixels, where shares of the image are expected), or the sizes "
            "of the images are wrong"
        )
    changes = writer.check() if preview else writer.write(progress)
    for path, image in writer.staying:
        found.left_out.add(
            "images of an annotator on which labels were saved while the import wrote (these stay; "
            "overwrite=True replaces them)",
            f"{path} on {os.path.basename(image)}",
        )
    return plan.summary(changes, is_written=not preview)


def _read(
    source: Source,
    format: str | type,
    columns: Mapping[str, Any] | None,
    media_dir: Path | None,
    label_types: str | Sequence[str] | None,
) -> AnnotationSet:
    """Annotations of the source, in any format."""
    if isinstance(format, str) and format not in ("auto", *TITLES):
        raise AgreementInputError(
            f"`format` must be 'auto', {', '.join(map(repr, TITLES))}, or a type of fiftyone.types, got {format!r}"
        )
    if isinstance(source, pd.DataFrame):
        if format not in ("auto", TABLE):
            raise AgreementInputError(f"A DataFrame is a table, got `format` {format!r}")
        found = AnnotationSet.of_size(int(source.memory_usage().sum()))
        whole = AnnotationFile(Path("a DataFrame"), Path(), False, None, columns or {})
        read_content(found, source.copy(deep=False), whole, format)
        return found
    if not isinstance(source, Mapping | str | os.PathLike):
        several = source if isinstance(source, list | tuple) else ()
        named = [f"{Path(each).stem!r}: {str(each)!r}" for each in several if isinstance(each, str | os.PathLike)]
        raise AgreementInputError(
            f"`source` must be a path, a mapping of annotators to paths, or a DataFrame, got {type(source).__name__}"
            + (f"; say who drew what, as {{{shown(named, 2)}}}" if named else "")
        )
    if isinstance(source, Mapping) and not source:
        raise AgreementInputError("`source` must name at least one annotator, got an empty mapping")
    of_each = source.items() if isinstance(source, Mapping) else ()
    paths = {str(name): Path(path_of("source", path)).absolute() for name, path in of_each}
    if not isinstance(format, str):
        if not paths:
            raise AgreementInputError(
                f"`source` must be one path for each annotator where FiftyOne reads the format, got {str(source)!r}; "
                'say {"alice": path, "bob": path}'
            )
        return read_with_fiftyone(paths, format, media_dir, label_types)
    if not isinstance(source, Mapping):
        return read_annotations(Path(path_of("source", source)).absolute(), format, None, columns)
    first, *others = [read_annotations(path, format, name, columns) for name, path in paths.items()]
    for other in others:
        first.add(other)
        first.title = _AND.join(dict.fromkeys([*first.title.split(_AND), other.title]))
    if len(first.numbered) > 1:
        raise AgreementInputError(
            "The classes of all annotators must have names, or none, got folders of YOLO with and without; put the "
            "`data.yaml` or `classes.txt` into each"
        )
    if first.numbered == {True}:
        first.notes.append("Classes are called by their numbers, as there is no `data.yaml` or `classes.txt`")
    return first


def _add_without_file(found: AnnotationSet, targets: dict[str, Target], no_labels: NoLabels) -> None:
    """Note the images for which an annotator has no file; with ``"drew_nothing"`` add them as reviewed images."""
    by_owner = {}
    for owner, pages in found.pages.items():
        said = {targets[image.name].path for image in pages if image.name in targets}
        missing = {target.path: name for name, target in targets.items() if target.path not in said}
        by_owner[owner] = len(missing)
        for name in missing.values() if no_labels == DREW_NOTHING else ():
            found.page(owner, name).scale = (1.0, 1.0)
    without = shown((f"{owner}: {n}" for owner, n in by_owner.items() if n), 20)
    if without:
        looked = "looked at, with nothing drawn" if no_labels == DREW_NOTHING else (
            'not looked at; if nothing was drawn there, say `no_labels="drew_nothing"`')  # fmt: skip
        found.notes.append(f"Images without a file of an annotator ({without}) count as {looked}")


def _rename(found: AnnotationSet, annotators: Mapping[str, str] | None, aliases: Mapping[str, str]) -> None:
    """Rename annotators, then replace names of annotators and classes by those that they stand for (``aliases``).

    All names get one Unicode form.
    """
    if annotators is not None and not isinstance(annotators, Mapping):
        raise AgreementInputError(
            f"`annotators` must map names in the files to others, got {type(annotators).__name__}"
        )
    renamed = {str(old): str(new) for old, new in (annotators or {}).items()}
    unknown = sorted(renamed.keys() - found.pages.keys())
    if unknown:
        raise AgreementInputError(
            f"`annotators` must name annotators of the files ({shown(sorted(found.pages), 20)}), got "
            f"{shown(map(repr, unknown))}"
        )
    meant = {unicodedata.normalize("NFC", old): unicodedata.normalize("NFC", new) for old, new in aliases.items()}
    used: set[str] = set()

    def name_of(name: str) -> str:
        plain = unicodedata.normalize("NFC", name)
        used.add(plain)
        return meant.get(plain, plain)

    pages, found.pages = found.pages, {}
    for old, annotator_pages in pages.items():
        found.add_pages(name_of(renamed.get(old, old)), annotator_pages)
    found.persons = {name_of(renamed.get(name, name)): name_of(person) for name, person in found.persons.items()}
    classes: dict[str, str] = {}
    for label in found.labels():
        if isinstance(label.label, str):
            if label.label not in classes:
                classes[label.label] = name_of(label.label)
            label.label = classes[label.label]
            if label.document is not None and label.document.get("label") is not None:
                label.document["label"] = label.label
    unknown = sorted(meant.keys() - used)
    if unknown:
        raise AgreementInputError(
            f"`aliases` must map names of annotators or classes in the files, got {shown(map(repr, unknown))}"
        )
    broken = [repr(name) for name in (*found.pages, *found.separate) if whole_characters(name) != name]
    if broken:
        raise AgreementInputError(
            f"Names of annotators must be of whole characters, got {shown(broken)} with halves of a surrogate pair; "
            "give them other names with `annotators`, or correct the file"
        )
    shared = sorted(found.pages.keys() & found.separate.keys())
    if shared:
        raise AgreementInputError(
            f"No annotator may be called {shown(map(repr, shared))}, as labels of nobody are; give them other names "
            "with `annotators`"
        )
    for names_of, of in ((found.pages, "annotators"), (classes.values(), "classes")):
        found.notes += [question for _, question in spelt_alike(names_of, of)]


class _Plan:
    """Makes the fields and values that an import writes, and its summary for the user."""

    def __init__(
        self,
        writer: FieldWriter,
        found: AnnotationSet,
        slots: list[TargetField],
        by_name: Mapping[str, Target],
        maker: LabelMaker,
    ) -> None:
        self._writer, self._found, self._slots, self._maker = writer, found, slots, maker
        self._schema = field_schema(writer.dataset)
        self._n_new = sum(target.sample_id is None for target in writer.targets)
        self._sizes: Counter[str] = Counter()  #: number of images by what is strange about their sizes
        #: by owner, for each image the label types of the labels, and whether some labels cannot be read
        self._said: dict[str, list[tuple[list[str], bool]]] = {}
        self._unread: dict[str, set[Key]] = {}  #: images on which some labels cannot be read
        self._assigned: str | None = None  #: path of the field with the assigned annotators
        number = {id(target): k for k, target in enumerate(writer.targets)}
        self._keys: dict[ImageKey, Key] = {}  #: the sample and frame of every image that has one
        #: annotator, image and labels where the size in the file is that before turning, and the size of the sample
        self._turned: list[tuple[str, ImageKey, ImageLabels, tuple[int, int]]] = []
        for owner, pages in [*found.pages.items(), *found.separate.items()]:
            seen: set[Key] = set()
            for image, page in pages.items():
                if image.name in by_name:
                    target = by_name[image.name]
                    key = self._keys.setdefault(image, (number[id(target)], image.frame))
                    if key in seen:
                        refuse_repeated(owner, [image])
                    seen.add(key)
                    self._compare(owner, page, target, image)
        self._read_turned()
        without = dict.fromkeys(
            by_name[image.name].path for image, page in found.every_page() if image in self._keys
            and not (page.scale or page.size_px or all(label.question or label.document for label in page.labels))
        )  # fmt: skip
        if without:
            raise AgreementInputError(
                f"Samples must have an image size to read coordinates in pixels, got {len(without)} without "
                f"({shown(without, 3)}); run dataset.compute_metadata() first"
            )
        self._frames = names.FRAMES_PREFIX if any(image.frame for image in self._keys) else ""

    def _compare(self, owner: str, page: ImageLabels, target: Target, image: ImageKey) -> None:
        """Compare the image size of a page with that of its sample; if only one of them has a size, both get it."""
        if target.is_video != (image.frame > 0):
            what = ("a video", "labels of an image") if target.is_video else ("an image", "labels of frames")
            raise AgreementInputError(f"{target.path!r} is {what[0]}, got {what[1]} for it from {image.name!r}")
        is_new = not (target.size_px or page.size_px or target.sample_id or target.is_video)
        if is_new or (not target.size_px and not _fits(page, page.size_px) and os.path.isfile(target.path)):
            metadata = fo.ImageMetadata.build_for(target.path)  # the size of the image as it is shown
            target.size_px = target.new_size = stored_size(metadata.width, metadata.height)
        if target.size_px is None and page.size_px is not None:
            target.size_px = target.new_size = page.size_px
        if target.size_px is None or page.size_px is None or page.size_px == target.size_px:
            page.size_px = page.size_px or target.size_px
            return
        (width, height), size = page.size_px, target.size_px
        if (width, height) == size[::-1]:
            self._turned.append((owner, image, page, size))
        elif abs(width * size[1] - height * size[0]) > 0.02 * width * size[1]:
            self._sizes["proportions in the file are not those of the sample: are they the same?"] += 1

    def _read_turned(self) -> None:
        """Read coordinates of images whose size in the file is that before they were turned, or leave their labels out.

        Tools, and this import, take an image turned as its EXIF says, but some tools write its size before that. Which
        it is, labels tell that only one of the two can hold: for all images of their annotator, or of annotators whose
        labels do not tell.
        """
        told: Counter[str] = Counter()  # images that only the image before turning can hold, less those of the other
        for owner, _, page, size in self._turned:
            told[owner] += _fits(page, page.size_px) - _fits(page, size)
        for owner, image, page, size in self._turned:
            in_pixels = page.scale in (None, page.size_px)
            is_before = in_pixels and (not _fits(page, size) or (told[owner] or told.total()) > 0)
            if page.labels and (is_before or any(label.mask for label in page.labels)):
                self._found.left_out.add("images whose labels are of the image before it was turned (EXIF)", image.name)
                page.n_unread += len(page.labels)
                page.labels = []
            else:
                if page.labels:
                    self._sizes["size in the file is that before turning (EXIF): coordinates are read as shown"] += 1
                page.scale, page.size_px = (None if in_pixels else page.scale), size

    def add_all(self, prefix: str, together: str | None) -> None:
        """Make all labels, and the fields that hold them.

        Args:
            prefix: first part of the name of every field of an annotator
            together: name of the one field with the labels of all annotators, beside which another lists who was
                assigned; None: one field for each annotator and slot
        """
        found, slots, rows, owners = self._found, self._slots, self._writer.rows, self._writer.owners
        annotators, separate = sorted(found.pages.items()), sorted(found.separate.items())
        answers = [slot.name for slot in slots if slot.list_name is None]
        if together is not None and answers:
            raise AgreementInputError(
                f"One field holds a list of labels, got {shown(map(repr, answers))} with one class or number an image; "
                'say into="fields", or leave them out with `label_types`'
            )
        apart = [*annotators, *separate] if together is None else separate
        new = [NewField(self._path(prefix + field_name(owner), slot), slot, owner) for owner, _ in apart
               for slot in slots]  # fmt: skip
        if together is not None:
            self._assigned = f"{together.removeprefix(names.FRAMES_PREFIX)}_assigned"
            joined = [NewField(self._path(together, slot), slot) for slot in slots]
            new = [*joined, NewField(self._assigned, None), *new]
        self._declare(new)
        paths = {(entry.owner, entry.slot): entry.path for entry in new}
        for owner, pages in [*separate, *annotators]:
            said = self._said[owner] = []
            unread = self._unread[owner] = set()
            for image, page in pages.items():
                if image not in self._keys:
                    continue
                key = self._keys[image]
                path = self._writer.targets[key[0]].path
                made = self._maker.documents(page, f"{owner}: {os.path.basename(path)}")
                page.labels = []  # would fill the memory
                is_unread = page.n_unread > 0
                said.append(([slot.name for slot, labels in made.items() for _ in labels], is_unread))
                unread |= {key} if is_unread else set()
                if owner in found.separate or self._assigned is None:
                    for slot, labels in made.items():  # null: nothing could be read, but something was drawn
                        is_null = is_unread and not (labels or slot.is_answer)
                        rows[key][paths[owner, slot]] = None if is_null else slot.value(labels)
                    continue
                for slot in slots:
                    value = rows[key].setdefault(paths["", slot], slot.value([]))
                    value[slot.list_name] += [{**document, ANNOTATOR_ATTRIBUTE: owner} for document in made[slot]]
                assigned = rows[key[0], 0].setdefault(self._assigned, [])
                assigned += [owner] if assigned[-1:] != [owner] and (not is_unread or any(made.values())) else []
                for place in {key, (key[0], 0)}:
                    owners[place] += [owner] if owners[place][-1:] != [owner] else []
        # a field that lists, for every image, the fields (or names) of annotators some of whose labels are not read
        path = self._frames + (f"{prefix}{NOT_READ}" if together is None else f"{together}_{NOT_READ}")
        of_all = annotators if together is not None else apart
        if path in self._schema or any(self._unread[owner] for owner, _ in of_all):
            self._declare([*new, NewField(path, None, is_unread=True)])
            for owner, pages in of_all:
                own = [owner] if together is not None else [
                    paths[owner, slot] for slot in slots if not slot.is_answer]  # fmt: skip
                for key in (self._keys[image] for image in pages if image in self._keys):
                    names_there = rows[key].setdefault(path, [])
                    names_there += own if key in self._unread[owner] else []
                    owners[key] += own if together is None else []

    def _path(self, name: str, slot: TargetField) -> str:
        """Path of the field of a slot: one that an earlier import made, perhaps with other slots, or a new one."""
        plain, own = self._frames + name, f"{self._frames}{name}_{field_name(slot.name)}"
        is_first = slot is next(other for other in self._slots if other.stored is slot.stored)
        usual = [own, plain] if len(self._slots) > 1 else [plain, own]
        for path in usual if is_first else usual[:1]:
            if path in self._schema and slot.fits(self._schema[path]):
                return path
        return own if slot.is_answer and plain in self._schema else usual[0]

    def _declare(self, fields: list[NewField]) -> None:
        """Set the fields of the import; every path must be of one annotator alone."""
        self._writer.fields = {entry.path: entry for entry in fields}
        repeated = sorted(path for path, n in Counter(entry.path for entry in fields).items() if n > 1)
        if repeated:
            owners = shown(repr(entry.owner) for entry in fields if entry.path in repeated)
            raise AgreementInputError(
                f"Every annotator must have a field of their own, got {shown(map(repr, repeated))} for {owners}; give "
                "them other names with `annotators`, or import into='attribute'"
            )

    def summary(self, changes: Sequence[FieldChange], *, is_written: bool) -> ImportSummary:
        """Summary of the import."""
        paths_by: dict[str, list[str]] = defaultdict(list)
        for entry in self._writer.fields.values():
            if entry.slot is not None:
                paths_by[entry.owner].append(entry.path)
        annotators, separate = (tuple(AnnotatorInFile.of(owner, paths_by.get(owner) or paths_by[""], self._said[owner])
                                      for owner in sorted(of_each))
                                for of_each in (self._found.pages, self._found.separate))  # fmt: skip
        calls, persons = list[str](), self._found.persons  # the calls that compare the annotators, one for each slot
        for slot in self._slots if len(annotators) > 1 else ():
            owners = {path: entry.owner for path, entry in self._writer.fields.items()
                      if entry.slot == slot and entry.owner not in self._found.separate}  # fmt: skip
            if self._assigned is not None:
                named = dict(persons)
                arguments = [repr(next(iter(owners))), f"annotator_attribute={ANNOTATOR_ATTRIBUTE!r}"]
                arguments.append(f"assigned_field={self._assigned!r}")
            else:
                is_named = bool(persons) or any("@" in owner for owner in owners.values())
                named = {path: persons.get(owner, owner) for path, owner in owners.items()} if is_named else {}
                arguments = [repr(sorted(owners))]
            if named:
                arguments.append(f"annotators={dict(sorted(named.items()))!r}")
            if slot.name == POLYLINES and self._maker.has_open_lines:
                arguments.append("line_tolerance=5.0")
            if slot.name == KEYPOINTS and self._maker.has_single_points:
                arguments.append("point_radius=10.0")
            calls.append(f"aa.compute(dataset, {', '.join(arguments)})")
        return ImportSummary(
            dataset=self._writer.dataset.name,
            format=self._found.title,
            annotators=annotators,
            separate=separate,
            n_images=len({*self._keys.values()}),
            n_new=self._n_new,
            assigned_field=self._assigned,
            left_out=tuple(self._found.left_out.lines()),
            notes=tuple(self._notes(len(annotators))),
            calls=tuple(calls),
            changes=tuple(changes),
            is_written=is_written,
        )

    def _notes(self, n_annotators: int) -> Iterable[str]:
        yield from self._found.notes
        if any(self._unread.values()):
            what = counted(len(set().union(*self._unread.values())), "image")
            whose = shown(f"{owner} {len(keys):,}" for owner, keys in sorted(self._unread.items()) if keys)
            yield (
                f"On {what} not all can be read ({whose}): where nothing "
                "can, the annotator counts as not assigned (null), not as one who drew nothing; a run says how many"
            )
        for thing, counts in self._found.unused.items():
            if counts:
                keys = (f"{whole_characters(key)} ({n:,})" for key, n in counts.most_common())
                yield f"Not used of {thing}: {shown(keys, 12)}"
        for what, n in sorted(self._maker.converted.items()):
            yield f"{n} {what}; say `label_types` for others"
        if self._maker.n_reach_out:
            n_out, n_drawn = self._maker.n_reach_out, self._maker.n_drawn
            yield f"{n_out} of {n_drawn} labels reach out of their image; clip=True cuts them"
        for what, n in self._sizes.items():
            yield f"{n} images of an annotator whose {what}"
        targets = self._writer.targets
        n_sizes = sum(target.new_size is not None for target in targets if target.sample_id is not None)
        if n_sizes:
            yield f"{n_sizes} samples had no image size and get that of the file"
        if self._assigned is None and n_annotators >= _MANY:
            yield f'{n_annotators} annotators: into="attribute" keeps them in one field'


def _fits(page: ImageLabels, size: tuple[int, int] | None) -> bool:
    """True unless boxes, polygons or points in pixels reach beyond an image of the given size."""
    if size is None or page.scale not in (None, page.size_px):
        return True
    for label in page.labels:
        x, y, width, height = label.box or (0.0,) * 4
        points = [(x + width, y + height), *(point for ring in label.rings or () for point in ring)]
        if any(a > size[0] + 1 or b > size[1] + 1 for a, b in (*points, *(label.points or ()))):
            return False
    return True
