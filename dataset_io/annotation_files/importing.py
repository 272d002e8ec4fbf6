"""Import annotation files into a dataset: everything is read and checked, then written at once."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
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
from .annotation_set import AnnotationSet, ImageLabels, refuse_repeated
from .crowd_answers import MTURK, WIDE
from .file_format import FILE_PER_IMAGE, TABLE, TITLES, VIA, read_annotations, read_content, read_with_fiftyone
from .file_values import stored_size, whole_characters
from .image_names import Match, Target, match_images
from .label_documents import ANNOTATOR_ATTRIBUTE, KEYPOINTS, POLYLINES, LabelMaker, TargetField, target_fields
from .summaries import AnnotatorInFile, ImportSummary
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
    sizes = _compare_sizes(found, targets)
    maker = LabelMaker(slots, found.left_out, found.every_type, clip, found.most_pixels)
    writer = FieldWriter(dataset, list(dict.fromkeys(targets.values())), overwrite, remove_others)
    n_new = sum(target.sample_id is None for target in writer.targets)
    together = None if into == "fields" else field
    assigned = None if together is None else f"{together.removeprefix(names.FRAMES_PREFIX)}_assigned"
    said, unread = _fill(writer, found, targets, maker, prefix, together, assigned)
    if 2 * maker.n_far_outside > maker.n_drawn:
        raise AgreementInputError(
            f"Labels must lie in their images, got {maker.n_far_outside} of {maker.n_drawn} outside: their coordinates "
            "are in another unit than the format says (pixels, where shares of the image are expected), or the sizes "
            "of the images are wrong"
        )
    changes = writer.check() if preview else writer.write(progress)
    for path, image_path in writer.staying:
        found.left_out.add(
            "images of an annotator on which labels were saved while the import wrote (these stay; "
            "overwrite=True replaces them)",
            f"{path} on {os.path.basename(image_path)}",
        )
    paths_by: dict[str, list[str]] = defaultdict(list)
    for entry in writer.fields.values():
        if entry.slot is not None:
            paths_by[entry.owner].append(entry.path)
    annotators_in, separate = (
        tuple(AnnotatorInFile.of(owner, paths_by.get(owner) or paths_by[""], said[owner]) for owner in sorted(of_each))
        for of_each in (found.pages, found.separate)
    )
    return ImportSummary(
        dataset=dataset.name,
        format=found.title,
        annotators=annotators_in,
        separate=separate,
        n_images=len({(targets[image.name].path, image.frame) for image, _ in found.every_page()}),
        n_new=n_new,
        assigned_field=assigned,
        left_out=tuple(found.left_out.lines()),
        notes=tuple(_notes(found, writer, maker, unread, sizes, assigned)),
        calls=tuple(_calls(found, writer, maker, assigned)),
        changes=tuple(changes),
        is_written=not preview,
    )


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
        n_bytes = int(source.memory_usage().sum())
        found = AnnotationSet(path=Path("a DataFrame"), columns=columns or {}, n_bytes=n_bytes)
        read_content(found, source.copy(deep=False), format)
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


def _compare_sizes(found: AnnotationSet, targets: Mapping[str, Target]) -> Counter[str]:
    """Compare the sizes of images in the files with those of their samples; images without a sample are dropped.

    If only one of the two has a size, both get it. Tools, and this import, take an image turned as its EXIF says, but
    some tools write its size before that. Which it is, labels tell that only one of the two can hold: for all images of
    their annotator, or of annotators whose labels do not tell. If it is the latter, these labels are left out.

    Returns:
        number of images of annotators by what is strange about their sizes

    Raises:
        AgreementInputError: if coordinates are in pixels and the size of the image is unknown, an annotator has several
            sets of labels of one sample, or labels of an image are of a video
    """
    strange, told, turned = Counter[str](), Counter[str](), list[tuple[str, str, ImageLabels, tuple[int, int]]]()
    without: dict[str, None] = {}
    for owner, pages in {**found.pages, **found.separate}.items():
        for image in [image for image in pages if image.name not in targets]:
            del pages[image]
        seen: set[Key] = set()
        for image, page in pages.items():
            target = targets[image.name]
            if (target, image.frame) in seen:
                refuse_repeated(owner, [image])
            seen.add((target, image.frame))
            if target.is_video != (image.frame > 0):
                what = ("a video", "labels of an image") if target.is_video else ("an image", "labels of frames")
                raise AgreementInputError(f"{target.path!r} is {what[0]}, got {what[1]} for it from {image.name!r}")
            is_new = not (target.size_px or page.size_px or target.sample_id or target.is_video)
            if is_new or (not target.size_px and not _fits(page, page.size_px) and os.path.isfile(target.path)):
                metadata = fo.ImageMetadata.build_for(target.path)  # the size of the image as it is shown
                target.size_px = target.new_size = stored_size(metadata.width, metadata.height)
            if target.size_px is None and page.size_px is not None:
                target.size_px = target.new_size = page.size_px
            page.size_px = page.size_px or target.size_px
            if page.size_px is not None and target.size_px is not None and page.size_px != target.size_px:
                (width, height), size = page.size_px, target.size_px
                if (width, height) == size[::-1]:
                    # told: images that only the image before turning can hold, less those of the other
                    told[owner] += _fits(page, page.size_px) - _fits(page, size)
                    turned.append((owner, image.name, page, size))
                elif abs(width * size[1] - height * size[0]) > 0.02 * width * size[1]:
                    strange["proportions in the file are not those of the sample: are they the same?"] += 1
    for owner, name, page, size in turned:
        in_pixels = page.scale in (None, page.size_px)
        is_before = in_pixels and (not _fits(page, size) or (told[owner] or told.total()) > 0)
        if page.labels and (is_before or any(label.mask for label in page.labels)):
            found.left_out.add("images whose labels are of the image before it was turned (EXIF)", name)
            page.n_unread, page.labels = page.n_unread + len(page.labels), []
            continue
        if page.labels:
            strange["size in the file is that before turning (EXIF): coordinates are read as shown"] += 1
        page.scale, page.size_px = (None if in_pixels else page.scale), size
    for image, page in found.every_page():
        if not (page.scale or page.size_px or all(label.question or label.document for label in page.labels)):
            without[targets[image.name].path] = None
    if without:
        raise AgreementInputError(
            f"Samples must have an image size to read coordinates in pixels, got {len(without)} without "
            f"({shown(without, 3)}); run dataset.compute_metadata() first"
        )
    return strange


def _fill(
    writer: FieldWriter,
    found: AnnotationSet,
    targets: Mapping[str, Target],
    maker: LabelMaker,
    prefix: str,
    together: str | None,
    assigned: str | None,
) -> tuple[dict[str, list[tuple[list[str], bool]]], dict[str, set[Key]]]:
    """Make all labels, and the fields that hold them.

    Args:
        prefix: first part of the name of every field of an annotator
        together: name of the one field with the labels of all annotators; None: one field for each annotator and slot
        assigned: name of the field beside that one which lists who was assigned

    Returns:
        by owner, the label types of the labels on every image, and whether some of its labels cannot be read; and the
        images on which some cannot
    """
    slots, rows, owners, schema = maker.slots, writer.rows, writer.owners, field_schema(writer.dataset)
    frames = names.FRAMES_PREFIX if any(image.frame for image, _ in found.every_page()) else ""
    annotators, separate = sorted(found.pages.items()), sorted(found.separate.items())
    answers = [slot.name for slot in slots if slot.list_name is None]
    if together is not None and answers:
        raise AgreementInputError(
            f"One field holds a list of labels, got {shown(map(repr, answers))} with one class or number an image; "
            'say into="fields", or leave them out with `label_types`'
        )

    def path_of(name: str, slot: TargetField) -> str:
        """Path of the field of a slot: one that an earlier import made, perhaps with other slots, or a new one."""
        plain, own = frames + name, f"{frames}{name}_{field_name(slot.name)}"
        is_first = slot is next(other for other in slots if other.stored is slot.stored)
        usual = [own, plain] if len(slots) > 1 else [plain, own]
        for path in usual if is_first else usual[:1]:
            if path in schema and slot.fits(schema[path]):
                return path
        return own if slot.is_answer and plain in schema else usual[0]

    apart = [*annotators, *separate] if together is None else separate
    new: list[NewField] = []
    if together is not None and assigned is not None:
        new = [*(NewField(path_of(together, slot), slot) for slot in slots), NewField(assigned, None)]
    new += [NewField(path_of(prefix + field_name(owner), slot), slot, owner) for owner, _ in apart for slot in slots]
    paths = {(entry.owner, entry.slot): entry.path for entry in new}
    writer.add_fields(new)
    said: dict[str, list[tuple[list[str], bool]]] = defaultdict(list)
    unread: dict[str, set[Key]] = defaultdict(set)
    for owner, pages in [*separate, *annotators]:
        for image, page in pages.items():
            target = targets[image.name]
            key = target, image.frame
            made = maker.documents(page, f"{owner}: {os.path.basename(target.path)}")
            page.labels = []  # would fill the memory
            is_unread = page.n_unread > 0
            said[owner].append(([slot.name for slot, labels in made.items() for _ in labels], is_unread))
            unread[owner] |= {key} if is_unread else set()
            if owner in found.separate or assigned is None:
                for slot, labels in made.items():  # null: nothing could be read, but something was drawn
                    is_null = is_unread and not (labels or slot.is_answer)
                    rows[key][paths[owner, slot]] = None if is_null else slot.value(labels)
                continue
            for slot in slots:
                value = rows[key].setdefault(paths["", slot], slot.value([]))
                value[slot.list_name] += [{**document, ANNOTATOR_ATTRIBUTE: owner} for document in made[slot]]
            listed = rows[target, 0].setdefault(assigned, [])
            listed += [owner] if owner not in listed[-1:] and (not is_unread or any(made.values())) else []
            owners[key][owner] = owners[target, 0][owner] = None
    # a field that lists, for every image, the fields (or names) of annotators some of whose labels are not read
    path = frames + (f"{prefix}{NOT_READ}" if together is None else f"{together}_{NOT_READ}")
    of_all = annotators if together is not None else apart
    if path in schema or any(unread[owner] for owner, _ in of_all):
        writer.add_fields([NewField(path, None, is_unread=True)])
        for owner, pages in of_all:
            own = [owner] if together is not None else [paths[owner, slot] for slot in slots if not slot.is_answer]
            for key in ((targets[image.name], image.frame) for image in pages):
                rows[key].setdefault(path, []).extend(own if key in unread[owner] else [])
                owners[key] |= dict.fromkeys(own if together is None else [])
    return said, unread


def _calls(found: AnnotationSet, writer: FieldWriter, maker: LabelMaker, assigned: str | None) -> Iterator[str]:
    """The calls that compare the annotators, one for each slot."""
    for slot in maker.slots if len(found.pages) > 1 else ():
        owners = {path: entry.owner for path, entry in writer.fields.items()
                  if entry.slot == slot and entry.owner not in found.separate}  # fmt: skip
        if assigned is not None:
            named = found.persons
            arguments = [repr(next(iter(owners))), f"annotator_attribute={ANNOTATOR_ATTRIBUTE!r}"]
            arguments.append(f"assigned_field={assigned!r}")
        else:
            is_named = bool(found.persons) or any("@" in owner for owner in owners.values())
            named = {path: found.persons.get(owner, owner) for path, owner in owners.items()} if is_named else {}
            arguments = [repr(sorted(owners))]
        if named:
            arguments.append(f"annotators={dict(sorted(named.items()))!r}")
        if slot.name == POLYLINES and maker.has_open_lines:
            arguments.append("line_tolerance=5.0")
        if slot.name == KEYPOINTS and maker.has_single_points:
            arguments.append("point_radius=10.0")
        yield f"aa.compute(dataset, {', '.join(arguments)})"


def _notes(
    found: AnnotationSet,
    writer: FieldWriter,
    maker: LabelMaker,
    unread: Mapping[str, set[Key]],
    sizes: Counter[str],
    assigned: str | None,
) -> Iterator[str]:
    yield from found.notes
    if any(unread.values()):
        what = counted(len(set().union(*unread.values())), "image")
        whose = shown(f"{owner} {len(keys):,}" for owner, keys in sorted(unread.items()) if keys)
        yield (
            f"On {what} not all can be read ({whose}): where nothing "
            "can, the annotator counts as not assigned (null), not as one who drew nothing; a run says how many"
        )
    for thing, counts in found.unused.items():
        if counts:
            keys = (f"{whole_characters(key)} ({n:,})" for key, n in counts.most_common())
            yield f"Not used of {thing}: {shown(keys, 12)}"
    for what, n in sorted(maker.converted.items()):
        yield f"{n} {what}; say `label_types` for others"
    if maker.n_reach_out:
        yield f"{maker.n_reach_out} of {maker.n_drawn} labels reach out of their image; clip=True cuts them"
    for what, n in sizes.items():
        yield f"{n} images of an annotator whose {what}"
    n_sizes = sum(target.new_size is not None for target in writer.targets if target.sample_id is not None)
    if n_sizes:
        yield f"{n_sizes} samples had no image size and get that of the file"
    if assigned is None and len(found.pages) >= _MANY:
        yield f'{len(found.pages)} annotators: into="attribute" keeps them in one field'


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
