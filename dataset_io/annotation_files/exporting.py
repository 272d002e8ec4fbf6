"""Export the labels of several annotators to one file, which is read again to see what of them it holds."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bson import ObjectId
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.settings.arguments import one_of, takes_arrays, writing_to
from ...agreement.settings.config import make_config
from ...agreement.settings.errors import AgreementInputError, shown
from ...agreement.settings.no_labels import NOT_ASSIGNED, NoLabels
from ...agreement.settings.options import OPTIONS
from ..database.fiftyone_private import sample_collection
from ..labels.kinds import KINDS, LabelKind
from ..labels.source import Source, open_source
from ..record.run import list_agreements
from ..record.run_labels import RunLabels, open_run_labels
from ..results.export import checked_file, replacing
from ..run.read import Reader
from ..run.work_through import Progress
from ..units.resolve import consensus_documents
from ..units.units_field import open_units
from .annotation_set import QUESTION, AnnotationSet, DrawnLabel, ImageKey, Page, StoredImage, Tally, as_number
from .coco_json import coco_content, not_in_coco
from .file_format import COCO, LABEL_STUDIO, TABLE, TITLES, read_annotations
from .label_documents import (
    CLASSES,
    DETECTIONS,
    LABEL_TYPES_OF,
    MASKS,
    Document,
    LabelMaker,
    drawn_label,
    mask_of,
    slots_of,
)
from .label_studio import address_of, label_studio_tasks, name_in
from .long_table import not_in_table, table_text
from .stored_annotations import AnnotationReader, short_names
from .summaries import AnnotatorInFile, ExportSummary

#: samples whose consensus is made at once
_BATCH = 1_000
#: numbers that are equal after they were written as pixels or percent
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class _Format:
    """A format that labels are exported in."""

    title: str
    suffix: str
    objection: Callable[[DrawnLabel], str]  #: why it cannot hold a label; empty if it can
    text: Callable[[Sequence[StoredImage], AnnotationSet], str]


def _coco(images: Sequence[StoredImage], found: AnnotationSet) -> str:
    return json.dumps(coco_content(images, found), ensure_ascii=False)


def _label_studio(images: Sequence[StoredImage], found: AnnotationSet) -> str:
    return json.dumps(label_studio_tasks(images, found), ensure_ascii=False)


FORMATS = {
    "coco": _Format(TITLES[COCO], ".json", not_in_coco, _coco),
    "label_studio": _Format(TITLES[LABEL_STUDIO], ".json", lambda label: "", _label_studio),
    "csv": _Format(TITLES[TABLE], ".csv", not_in_table, table_text),
}


@takes_arrays
def export_annotations(
    samples: SampleCollection,
    labels: str | Sequence[str],
    path: str | os.PathLike[str],
    *,
    format: str = "coco",
    annotator_attribute: str | None = None,
    assigned_field: str | None = None,
    no_labels: NoLabels = NOT_ASSIGNED,
    annotators: Mapping[str, str] | Sequence[str] | None = None,
    overwrite: bool = False,
    progress: Progress = None,
) -> ExportSummary:
    """Write the labels of all annotators, and who looked at which images, to one file.

    :func:`import_annotations` makes the same labels of it. The file is read again as soon as it is written, and the
    summary counts what it does not hold.

    Args:
        samples: a dataset or view
        labels: key of a run on objects, classes or numbers; or the label fields, as in :func:`compute_agreement`
        path: the file; missing folders are created
        format: ``"coco"``: COCO JSON with ``rater_list`` on images and ``rater_id`` on annotations, with a run also
            ``unit_id`` and ``verdict``; ``"label_studio"``: tasks with an annotation for each annotator, with a run
            also its consensus as a prediction; ``"csv"``: a table with a row for each label, in which texts that a
            spreadsheet would run as formulas begin with an apostrophe, which the import takes off again
        annotator_attribute: of fields: attribute that names the annotator of a label
        assigned_field: of fields: sample field that lists the assigned annotators
        no_labels: of fields: what it means if an annotator has no label list, as in :func:`compute_agreement`
        annotators: of fields: names of the annotators, as in :func:`compute_agreement`; Label Studio wants the mail
            addresses of its users
        overwrite: whether an existing file may be replaced
        progress: as in :func:`compute_agreement`

    Returns:
        what was written, what was left out and why, and the call of :func:`import_annotations` that reads it

    Raises:
        AgreementInputError: if the labels cannot be exported, or the file exists or cannot be written
    """
    kind = FORMATS[one_of("format", format, tuple(FORMATS))]
    OPTIONS["progress"].checked(progress)
    target = checked_file(path, overwrite=overwrite)
    if target.suffix.lower() != kind.suffix:
        raise AgreementInputError(f"`path` must end in {kind.suffix} for the format {format!r}, got {str(path)!r}")
    of_fields = {"annotator_attribute": annotator_attribute, "assigned_field": assigned_field, "no_labels": no_labels}
    source, run = _open(samples, labels, of_fields, annotators)
    reader = AnnotationReader(source, run)
    reader.read_all(progress)
    found = reader.found
    if not any(found.pages.values()):
        raise AgreementInputError(f"There must be labels to be exported, got none in {shown(source.config.fields)}")
    if run is not None and format == "label_studio":
        found.separate[f"{run.run_key}_consensus"] = _consensus(run, reader.paths, reader.images)
    _leave_out(found, kind, reader.images)
    images = _named(reader.images, format)
    kinds = _label_kinds(source)
    types = _label_types(kinds, found)
    with writing_to("path", target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as temporary:
            temporary.write_bytes(kind.text(images, found).encode())
            again = read_annotations(temporary, TABLE if format == "csv" else format, None, None)
            changed = _changed(found, again, types, {image.path: image.name for image in images})
            for owner, of_owner in kinds.items():
                stored = _stored_again(again, types[owner])
                if (
                    stored is not None
                    and stored is not of_owner.stored
                    and any(page.labels for page in found.pages[owner].values())
                ):
                    changed.add(f"{of_owner.title} that come back as {stored.__name__}", owner)
    call = _call(target, source, set(types.values()), images)
    annotators_in, separate = (
        tuple(_in_file(owner, pages, types.get(owner, DETECTIONS)) for owner, pages in sorted(entries.items()))
        for entries in (found.pages, found.separate)
    )
    return ExportSummary(
        path=str(target),
        format=kind.title,
        annotators=annotators_in,
        separate=separate,
        n_images=len(images),
        left_out=tuple(found.left_out.lines()),
        changed=tuple(changed.lines()),
        calls=(call,),
    )


def _open(
    samples: SampleCollection, labels: Any, of_fields: dict[str, Any], annotators: Any
) -> tuple[Source, RunLabels | None]:
    """The labels, of a run or in fields.

    Raises:
        AgreementInputError: if they cannot be exported
    """
    run = None
    if isinstance(labels, str) and of_fields["annotator_attribute"] is None:
        if labels not in list_agreements(samples):
            raise AgreementInputError(
                f"`labels` must be the key of a run, two or more fields, or one field with `annotator_attribute`, got "
                f"{labels!r}; runs are {shown(list_agreements(samples)) or '(none)'}"
            )
        given = [name for name, value in {**of_fields, "annotators": annotators}.items()
                 if value not in (None, NOT_ASSIGNED)]  # fmt: skip
        if given:
            raise AgreementInputError(f"`{given[0]}` has no effect with a run, which knows it; leave it out")
        run = open_run_labels(samples, labels)
        source = dataclasses.replace(run.source(), samples=run.samples)
    else:
        source = open_source(samples, make_config(labels, annotators=annotators, **of_fields), writes=False)
    unknown = [kind.title for kind in source.kinds if kind.stored not in LABEL_TYPES_OF]
    if source.on_frames or unknown:
        what = "labels of frames" if source.on_frames else shown(dict.fromkeys(unknown))
        raise AgreementInputError(
            f"Boxes, polygons, instance masks, keypoints, classes and numbers of images can be exported, got {what}; "
            "FiftyOne's own exporters write others, one field at a time"
        )
    return source, run


def _leave_out(found: AnnotationSet, kind: _Format, images: Mapping[str, StoredImage]) -> None:
    """Leave out and count the labels that the format cannot hold.

    Raises:
        AgreementInputError: if sizes of images are needed that are unknown, or nothing remains
    """
    without_size, n_kept, n_before = set(), 0, 0
    for key, page in found.every_page():
        kept = []
        for label in page.labels:
            reason = kind.objection(label) or _no_pixels(label)
            if reason:
                found.left_out.add(reason, key.name)
            else:
                kept.append(label)
        if images[key.name].size_px is None and not all(label.question for label in kept):
            without_size.add(key.name)
        n_before += len(page.labels)
        n_kept += len(kept)
        page.labels[:] = kept
    if without_size:
        raise AgreementInputError(
            f"Samples must have an image size to be exported, got {len(without_size)} without "
            f"({shown(sorted(without_size), 3)}); run dataset.compute_metadata() first"
        )
    if n_before and not n_kept:
        raise AgreementInputError(
            f"`format` must be one that can hold the labels, got {kind.title}: {shown(found.left_out.lines(), 3)}"
        )


def _no_pixels(label: DrawnLabel) -> str:
    """What is wrong with a mask or keypoints in which nothing is drawn."""
    try:
        return "masks without a pixel in their image" if label.mask and not label.mask().pixels.size else ""
    except ValueError:
        return "masks that cannot be read"


def _named(images: Mapping[str, StoredImage], format: str) -> list[StoredImage]:
    """The images with the names that the file calls them by."""
    if format == "label_studio":
        return [dataclasses.replace(image, name=name_in(address_of(path))) for path, image in images.items()]
    called = short_names(list(images))
    return [dataclasses.replace(image, name=called[path]) for path, image in images.items()]


def _label_kinds(source: Source) -> dict[str, LabelKind]:
    """The type of the labels of every annotator."""
    of_all = source.config.attribute_mode
    return {owner: source.kinds[0 if of_all else source.field_annotator.index(number)]
            for number, owner in enumerate(source.annotators)}  # fmt: skip


def _label_types(kinds: Mapping[str, LabelKind], found: AnnotationSet) -> dict[str, str]:
    """As which label type the labels of every annotator are imported again."""
    boxes = MASKS if any(label.mask for label in found.labels()) else DETECTIONS
    types = {owner: LABEL_TYPES_OF[kind.stored] for owner, kind in kinds.items()}
    return {owner: boxes if drawn == DETECTIONS else drawn for owner, drawn in types.items()}


def _consensus(
    run: RunLabels, paths: Mapping[ObjectId, str], images: Mapping[str, StoredImage]
) -> dict[ImageKey, Page]:
    """The consensus of a run, by image: as :func:`resolve_units` makes it, or the majority."""
    pages: dict[ImageKey, Page] = {}
    if not run.family.has_objects:
        name = f"{run.field_key}_{'mean' if run.kinds[0].is_number else 'majority'}"
        for row in sample_collection(run.dataset).find({"_id": {"$in": list(paths)}}, {name: True}):
            value = row.get(name)
            labels = [DrawnLabel(None if as_number(entry) is not None else str(entry), value=as_number(entry),
                                 question=QUESTION) for entry in (value if isinstance(value, list) else [value])
                      if entry is not None]  # fmt: skip
            pages[ImageKey(paths[row["_id"]])] = Page(labels, (1.0, 1.0))
        return pages
    units, maker = open_units(run, "medoid")
    kind = next(entry for entry in KINDS if entry.stored is maker.stored)
    reader = Reader(units)
    ids = list(paths)
    for start in range(0, len(ids), _BATCH):
        rows = [row for row in reader.again(ids[start : start + _BATCH]) if row.get("compared") is not None]
        if not rows:
            continue
        batch = reader.columns(rows)
        made = [pages.setdefault(ImageKey(paths[sample.sample_id]), Page([], (1.0, 1.0))) for sample in batch.samples]
        documents, outcomes = consensus_documents(batch.labels, maker, units, run.annotators)
        for sample, document, outcome in zip(batch.labels.sample.tolist(), documents, outcomes, strict=True):
            if document is not None and outcome == "n_labels":
                path = paths[batch.samples[sample].sample_id]
                extent = {name: value for name, value in document.items() if name not in names.UNIT_ATTRIBUTES}
                made[sample].labels.append(drawn_label(kind, extent, images[path].size_px, {}))
    return pages


def _changed(found: AnnotationSet, again: AnnotationSet, types: Mapping[str, str], called: Mapping[str, str]) -> Tally:
    """What of the labels is not the same in the file."""
    changed = Tally()
    for owner, pages in found.pages.items():
        documents = _documents(again, types[owner], changed)
        for key, page in pages.items():
            returned = again.pages.get(owner, {}).get(ImageKey(called[key.name]))
            place = f"{owner}: {called[key.name]}"
            if returned is None:
                changed.add("images that nobody is assigned to then", place)
                continue
            made = documents(returned, place)
            if len(made) != len(page.labels):
                changed.add(f"labels instead of {len(page.labels)}", place)
                continue
            for label, document in zip(page.labels, made, strict=True):
                for name in _differing(label.document or {}, document):
                    changed.add(f"labels with another `{name}`, or without", place)
    return changed


def _stored_again(again: AnnotationSet, label_type: str) -> type | None:
    """The type of the field that an import makes; None if it makes none."""
    has_any = label_type != CLASSES or any(label.question for label in again.labels())
    return slots_of(again, label_type)[0].stored if has_any else None


def _documents(again: AnnotationSet, label_type: str, lost: Tally) -> Callable[[Page, str], list[Document]]:
    """What an import makes of a page."""
    if label_type == CLASSES and not any(label.question for label in again.labels()):
        return lambda page, place: []
    slots = slots_of(again, label_type)
    maker = LabelMaker(slots, lost, every_type=again.every_type, clip=False, most_pixels=math.inf)
    return lambda page, place: [document for made in maker.documents(page, place).values() for document in made]


def _differing(a: Document, b: Document) -> Iterable[str]:
    """Names of the attributes in which two stored labels differ; their ids do not count."""
    a, b = _comparable(a), _comparable(b)
    return sorted(name for name in a.keys() | b.keys() if not _is_same(a.get(name), b.get(name)))


def _comparable(document: Document) -> Document:
    """The attributes of a label, masks as their pixels; neither ids nor attributes without a value."""
    values = {name: value for name, value in document.items() if name not in ("_id", "_cls")
              and value is not None and value != [] and value != {}}  # fmt: skip
    if "mask" in values or "mask_path" in values:
        mask = mask_of(values)
        values = {**values, "mask": [*mask.shape, mask.tobytes()], "mask_path": None}
    return values


def _is_same(a: Any, b: Any) -> bool:
    """Whether two values are the same, numbers within rounding."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_is_same, a, b))
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, int | float) and isinstance(b, int | float):
        return math.isclose(a, b, rel_tol=_ROUNDING, abs_tol=_ROUNDING) or (a != a and b != b)
    return type(a) is type(b) and bool(a == b)


def _in_file(owner: str, pages: Mapping[ImageKey, Page], label_type: str) -> AnnotatorInFile:
    counts = [len(page.labels) for page in pages.values()]
    n_labels = {label_type: sum(counts)} if sum(counts) else {}
    return AnnotatorInFile(owner, (), len(counts), counts.count(0), n_labels)


def _call(target: Path, source: Source, types: set[str], images: Sequence[StoredImage]) -> str:
    """The call that imports the file."""
    arguments = [repr(str(target))]
    arguments.append(f"label_types={sorted(types) if len(types) > 1 else next(iter(types))!r}")
    if source.config.attribute_mode:
        arguments += ["into='attribute'", f"field={source.config.fields[0]!r}"]
    if len({Path(image.name).name for image in images}) < len(images):
        arguments.append("match='path'")
    return f"import_annotations(dataset, {', '.join(arguments)})"
