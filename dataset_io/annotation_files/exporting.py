"""Export the labels of several annotators to one file, and read it again to report what it does not hold."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.settings.arguments import one_of, takes_arrays, writing_to
from ...agreement.settings.config import make_config
from ...agreement.settings.errors import AgreementInputError, shown
from ...agreement.settings.no_labels import NOT_ASSIGNED, NoLabels
from ...agreement.settings.options import OPTIONS
from ..database.fiftyone_private import sample_collection
from ..families.protocol import LabelReader, LabelsRead
from ..labels.assignment import NOT_NAMED, annotators_of, assigned_annotators
from ..labels.kinds import KINDS, LabelKind
from ..labels.source import Source, open_source
from ..labels.stored import StoredSample, attributes_of_runs
from ..record.run import list_agreements
from ..record.run_labels import RunLabels, open_run_labels
from ..results.file_writing import checked_file, replacing
from ..run.read import Progress, Reader, Rows, work_through
from ..units.units_field import consensus_documents, open_units
from .annotation_set import OF_RUN, QUESTION, AnnotationSet, DrawnLabel, ImageKey, ImageLabels, StoredImage, Tally
from .coco_json import coco_content, not_in_coco
from .file_format import COCO, LABEL_STUDIO, TABLE, TITLES, read_annotations
from .file_values import as_number, stored_size
from .label_documents import CLASSES, DETECTIONS, LABEL_TYPES_OF, MASKS, LabelMaker, drawn_label, mask_of, target_fields
from .label_studio import address_of, label_studio_tasks, name_in
from .long_table import not_in_table, table_text
from .summaries import AnnotatorInFile, ExportSummary
from .written_fields import field_name

#: samples whose consensus is made at once
_BATCH = 1_000
#: numbers that differ by less are equal: pixels or percent in the file are rounded
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class _Format:
    """A format that labels are exported in."""

    title: str
    suffix: str
    objection: Callable[[DrawnLabel], str]  #: why it cannot hold a label; empty if it can
    content: Callable[[Sequence[StoredImage], AnnotationSet], Any]  #: a text, or a value for JSON


FORMATS = {
    "coco": _Format(TITLES[COCO], ".json", not_in_coco, coco_content),
    "label_studio": _Format(TITLES[LABEL_STUDIO], ".json", lambda label: "", label_studio_tasks),
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

    ``files.load`` reads the same labels from it. The file is read again as soon as it is written, and the
    summary counts what it does not hold.

    Args:
        samples: a dataset or view
        labels: key of a run on objects, classes or numbers; or the label fields, as in ``compute``
        path: the file, in an existing folder
        format: ``"coco"``: COCO JSON with ``rater_list`` on images and ``rater_id`` on annotations, with a run also
            ``unit_id`` and ``verdict``; ``"label_studio"``: tasks with an annotation for each annotator, with a run
            also its consensus as a prediction; ``"csv"``: a table with a row for each label, in which texts that a
            spreadsheet would run as formulas begin with an apostrophe, which the import removes again
        annotator_attribute: with label fields: attribute that names the annotator of a label
        assigned_field: with label fields: sample field that lists the assigned annotators
        no_labels: with label fields: what it means if an annotator has no label list, as in ``compute``
        annotators: with label fields: names of the annotators, as in ``compute``; Label Studio needs the mail
            addresses of its users
        overwrite: whether an existing file may be replaced
        progress: as in ``compute``

    Returns:
        what was written, what was left out and why, and the call of ``files.load`` that reads it

    Raises:
        AgreementInputError: if the labels cannot be exported, or the file exists or cannot be written
    """
    kind = FORMATS[one_of("format", format, tuple(FORMATS))]
    OPTIONS["progress"].checked(progress)
    target = checked_file(path, overwrite=overwrite)
    if target.suffix.lower() != kind.suffix:
        raise AgreementInputError(f"`path` must end in {kind.suffix} for the format {format!r}, got {str(path)!r}")
    asked = {"annotator_attribute": annotator_attribute, "assigned_field": assigned_field, "no_labels": no_labels}
    source, run = _open(samples, labels, {**asked, "annotators": annotators})
    reader = AnnotationReader(source, run)
    found = reader.found
    batches = Reader(reader)

    def read(rows: Rows, *_: object) -> Callable[[], list[ObjectId]]:
        changed = batches.columns(rows).changed
        return lambda: changed

    n_changed = work_through(batches, read, progress)
    if n_changed:
        found.left_out.add("samples that were edited or deleted meanwhile", n_changed)
    if not any(found.pages.values()):
        raise AgreementInputError(f"There must be labels to be exported, got none in {shown(source.config.fields)}")
    if run is not None and format == "label_studio":
        found.separate[f"{run.run_key}_consensus"] = _consensus(run, reader.paths, reader.images)
    # leave out and count the labels that the format cannot hold
    without_size, n_before = set(), sum(1 for _ in found.labels())
    for key, page in found.every_page():
        drawn, page.labels = page.labels, []
        for label in drawn:
            reason = kind.objection(label)
            try:
                is_empty = not reason and label.mask is not None and not label.mask().pixels().any()
                reason = reason or ("masks without a pixel in their image" if is_empty else "")
            except ValueError:
                reason = "masks that cannot be read"
            if reason:
                found.left_out.add(reason, key.name)
            else:
                page.labels.append(label)
        if reader.images[key.name].size_px is None and not all(label.question for label in page.labels):
            without_size.add(key.name)
    if without_size:
        raise AgreementInputError(
            f"Samples must have an image size to be exported, got {len(without_size)} without "
            f"({shown(sorted(without_size), 3)}); run dataset.compute_metadata() first"
        )
    if n_before and not any(found.labels()):
        raise AgreementInputError(
            f"`format` must be one that can hold the labels, got {kind.title}: {shown(found.left_out.lines(), 3)}"
        )
    called = short_names(list(reader.images))
    if format == "label_studio":
        called = {path: name_in(address_of(path)) for path in reader.images}
    images = [dataclasses.replace(image, name=called[path]) for path, image in reader.images.items()]
    is_shared = source.config.attribute_mode
    kinds = {owner: source.kinds[0 if is_shared else source.field_annotator.index(number)]
             for number, owner in enumerate(source.annotators)}  # fmt: skip
    # the label type with which the labels of every annotator are imported again
    types = {owner: LABEL_TYPES_OF[owned.stored] for owner, owned in kinds.items()}
    if any(label.mask for label in found.labels()):
        types = {owner: MASKS if drawn_as == DETECTIONS else drawn_as for owner, drawn_as in types.items()}
    with writing_to("path", target), replacing(target) as temporary:
        content = kind.content(images, found)
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        temporary.write_bytes(text.encode())
        del content, text  # would fill the memory while the file is read again
        again = read_annotations(temporary, TABLE if format == "csv" else format, None, None)
        changed = _changed(found, again, kinds, types, called)
    read_as = sorted(set(types.values()))
    arguments = [repr(str(target)), f"label_types={read_as if len(read_as) > 1 else read_as[0]!r}"]
    if is_shared or len(set(map(field_name, kinds))) < len(kinds):  # else each has a field of their own
        arguments.append("into='attribute'")
    if is_shared:
        arguments.append(f"field={source.config.fields[0]!r}")
    if len({Path(image.name).name for image in images}) < len(images):
        arguments.append("match='path'")
    annotators_in, separate = (
        tuple(AnnotatorInFile.of(owner, (), [([types.get(owner, DETECTIONS)] * len(page.labels), False)
                                             for page in pages.values()]) for owner, pages in sorted(entries.items()))
        for entries in (found.pages, found.separate)
    )  # fmt: skip
    return ExportSummary(
        path=str(target),
        format=kind.title,
        annotators=annotators_in,
        separate=separate,
        n_images=len(images),
        left_out=tuple(found.left_out.lines()),
        changed=tuple(changed.lines()),
        calls=(f"aa.files.load(dataset, {', '.join(arguments)})",),
    )


class AnnotationReader(LabelReader[None]):
    """Reads the labels of a source into an :class:`AnnotationSet`, as a label reader of :class:`~..run.read.Reader`.

    Attributes:
        source: the labels
        found: labels of every annotator on the assigned images, by path of the image, in shares of the image
        images: the images by path
        paths: path of the image of every sample
    """

    def __init__(self, source: Source, run: RunLabels | None) -> None:
        self.source = source
        self.found = AnnotationSet("a dataset", pages={name: {} for name in source.annotators})
        self.images: dict[str, StoredImage] = {}
        self.paths: dict[ObjectId, str] = {}
        self._run_key = None if run is None else run.field_key
        self._written = attributes_of_runs(source.dataset)
        known = [] if run is None else [f"{run.field_key}{suffix}" for suffix in ("_score", "_alpha", "_n_disputed")]
        self._numbers = [name for name in known if source.dataset.has_sample_field(name)]

    def projection(self) -> dict[str, Any]:
        """The projection of the query: whole labels, the image, and its numbers from the run."""
        wanted: dict[str, Any] = {f"labels{k}": f"${path}" for k, path in enumerate(self.source.label_paths)}
        wanted |= {"path": "$filepath", "size": ["$metadata.width", "$metadata.height"]}
        wanted |= dict.fromkeys(self._numbers, True)
        if self.source.config.assigned_field is not None:
            wanted["assigned"] = f"${self.source.config.assigned_field}"
        return wanted

    def read(self, rows: list[dict[str, Any]], samples: list[StoredSample]) -> LabelsRead[None]:
        """Add the labels of query results; samples without a file are left out, as other tools need its name."""
        found, source, attribute = self.found, self.source, self.source.config.annotator_attribute
        hidden = {*self._written, attribute}
        kept: list[tuple[dict[str, Any], StoredSample]] = []
        for row, sample in zip(rows, samples, strict=True):
            path = row.get("path")
            if not isinstance(path, str):
                found.left_out.add("samples without the path of a file", row["_id"])
                continue
            if path in self.images:
                raise AgreementInputError(f"Samples must have files of their own to be exported, got {path!r} twice")
            numbers = {name: row[name] for name in self._numbers if as_number(row.get(name)) is not None}
            self.paths[row["_id"]] = path
            self.images[path] = StoredImage(path, path, stored_size(*row["size"]), numbers)
            kept.append((row, sample))
        drawn: dict[tuple[int, int], list[DrawnLabel]] = defaultdict(list)  # by row and annotator
        for (field, kind), (k, (row, _)) in itertools.product(enumerate(source.kinds), enumerate(kept)):
            held = row.get(f"labels{field}") if row[f"id{field}"] is not None else None
            entries = (held or []) if kind.list_name else [] if held is None else [held]
            labels = [label for label in entries if isinstance(label, dict) or not kind.is_label]
            for _ in range(len(entries) - len(labels)):
                found.left_out.add("entries of label lists that are no labels", row["path"])
            said = [label.get(attribute) for label in labels] if attribute else []
            owners = annotators_of(source, field, len(labels), {"annotator": said}.__getitem__)
            for label, owner in zip(labels, owners.tolist(), strict=True):
                if owner == NOT_NAMED:
                    found.left_out.add("labels that name no annotator", row["path"])
                if owner < 0:
                    continue
                document = label if kind.is_label else {"value" if kind.is_number else "label": label}
                own = {name: value for name, value in document.items() if name not in hidden}
                by_run = [document.get(f"{self._run_key}_id"), document.get(self._run_key)] if self._run_key else []
                of_run = {name: str(value) for name, value in zip(OF_RUN, by_run, strict=False) if value is not None}
                drawn[k, owner] += []  # also for a label that cannot be used
                try:
                    drawn[k, owner].append(drawn_label(kind, own, self.images[row["path"]].size_px, of_run))
                except (ValueError, TypeError) as error:
                    found.left_out.add(f"labels that cannot be used ({error})", row["path"])
        row_of, owner_of = np.array(list(drawn), np.int64).reshape(-1, 2).T
        if source.kinds[0].list_name is None:
            assigned = np.zeros((len(kept), len(source.annotators)), np.bool_)
            assigned[row_of, owner_of] = True
        else:
            kept_rows, kept_samples = [row for row, _ in kept], [sample for _, sample in kept]
            assigned = assigned_annotators(source, kept_rows, kept_samples, (row_of, owner_of)).assigned
        for k, owner in np.argwhere(assigned).tolist():
            image = self.images[kept[k][0]["path"]]
            page = ImageLabels(drawn.get((k, owner), []), (1.0, 1.0), image.size_px)
            found.pages[source.annotators[owner]][ImageKey(image.path)] = page
        return LabelsRead(None, *np.zeros((3, len(rows)), np.int64))


def _open(samples: SampleCollection, labels: Any, asked: dict[str, Any]) -> tuple[Source, RunLabels | None]:
    """Open the labels to export: those of a run, or those in label fields with the given options."""
    run = None
    if isinstance(labels, str) and asked["annotator_attribute"] is None:
        if labels not in list_agreements(samples):
            raise AgreementInputError(
                f"`labels` must be the key of a run, two or more fields, or one field with `annotator_attribute`, got "
                f"{labels!r}; runs are {shown(list_agreements(samples)) or '(none)'}"
            )
        given = [name for name, value in asked.items() if value not in (None, NOT_ASSIGNED)]
        if given:
            raise AgreementInputError(f"`{given[0]}` has no effect with a run, which knows it; leave it out")
        run = open_run_labels(samples, labels)
        source = dataclasses.replace(run.source(), samples=run.samples)
    else:
        source = open_source(samples, make_config(labels, **asked), writes=False)
    unknown = [kind.title for kind in source.kinds if kind.stored not in LABEL_TYPES_OF]
    if source.on_frames or unknown:
        what = "labels of frames" if source.on_frames else shown(dict.fromkeys(unknown))
        raise AgreementInputError(
            f"Boxes, polygons, instance masks, keypoints, classes and numbers of images can be exported, got {what}; "
            "FiftyOne's own exporters write others, one field at a time"
        )
    return source, run


def _consensus(
    run: RunLabels, paths: Mapping[ObjectId, str], images: Mapping[str, StoredImage]
) -> dict[ImageKey, ImageLabels]:
    """The consensus of a run, by image: that of ``run.objects.consensus``, or the majority or mean."""
    pages: dict[ImageKey, ImageLabels] = {}
    if not run.family.has_objects:
        name = f"{run.field_key}_{'mean' if run.kinds[0].is_number else 'majority'}"
        for row in sample_collection(run.dataset).find({"_id": {"$in": list(paths)}}, {name: True}):
            value = row.get(name)
            labels = [DrawnLabel(None if as_number(entry) is not None else str(entry), value=as_number(entry),
                                 question=QUESTION) for entry in (value if isinstance(value, list) else [value])
                      if entry is not None]  # fmt: skip
            pages[ImageKey(paths[row["_id"]])] = ImageLabels(labels, (1.0, 1.0))
        return pages
    reader, maker = open_units(run, "medoid")
    kind = next(entry for entry in KINDS if entry.stored is maker.stored)
    ids = list(paths)
    for start in range(0, len(ids), _BATCH):
        rows = [row for row in reader.again(ids[start : start + _BATCH]) if row.get("compared") is not None]
        if not rows:
            continue
        units = reader.units(rows)
        made = [pages.setdefault(ImageKey(paths[row["_id"]]), ImageLabels([], (1.0, 1.0))) for row in rows]
        documents, outcomes = consensus_documents(units, maker, reader)
        for sample, document, outcome in zip(units.sample.tolist(), documents, outcomes, strict=True):
            if document is not None and outcome == "n_labels":
                path = paths[rows[sample]["_id"]]
                extent = {name: value for name, value in document.items() if name not in names.UNIT_ATTRIBUTES}
                made[sample].labels.append(drawn_label(kind, extent, images[path].size_px, {}))
    return pages


def _changed(
    found: AnnotationSet,
    again: AnnotationSet,
    kinds: Mapping[str, LabelKind],
    types: Mapping[str, str],
    called: Mapping[str, str],
) -> Tally:
    """Differences between the exported labels and those that an import reads from the file.

    Args:
        again: the labels that an import reads
        kinds: the type of the labels of every annotator
        types: the label type with which they are imported, of every annotator
        called: names of the images in the file, by path
    """
    changed = Tally()
    has_answers = any(label.question for label in again.labels())
    slots = {drawn_as: target_fields(again, drawn_as) if drawn_as != CLASSES or has_answers else []
             for drawn_as in set(types.values())}  # fmt: skip
    for owner, pages in found.pages.items():
        owner_slots = slots[types[owner]]
        maker = LabelMaker(owner_slots, changed, again.every_type, clip=False, most_pixels=math.inf)
        for key, page in pages.items():
            returned = again.pages.get(owner, {}).get(ImageKey(called[key.name]))
            place = f"{owner}: {called[key.name]}"
            if returned is None:
                changed.add("images that nobody is assigned to then", place)
                continue
            by_slot = maker.documents(returned, place) if owner_slots else {}
            made = [document for documents in by_slot.values() for document in documents]
            if len(made) != len(page.labels):
                changed.add(f"labels instead of {len(page.labels)}", place)
                continue
            for label, document in zip(page.labels, made, strict=True):
                a, b = _comparable(label.document or {}), _comparable(document)
                for name in sorted(name for name in a.keys() | b.keys() if not _is_same(a.get(name), b.get(name))):
                    changed.add(f"labels with another `{name}`, or without", place)
        stored = next((slot.stored for slot in owner_slots), kinds[owner].stored)
        if stored is not kinds[owner].stored and any(page.labels for page in pages.values()):
            changed.add(f"{kinds[owner].title} that come back as {stored.__name__}", owner)
    return changed


def _comparable(document: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a label, masks as their pixels; neither ids nor attributes without a value."""
    values = {name: value for name, value in document.items() if name not in ("_id", "_cls")
              and value is not None and value != [] and value != {}}  # fmt: skip
    if "mask" in values or "mask_path" in values:
        mask = mask_of(values)
        values = {**values, "mask": [*mask.shape, mask.tobytes()], "mask_path": None}
    return values


def _is_same(a: Any, b: Any) -> bool:
    """True if two values are the same, numbers within rounding."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_is_same, a, b))
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, int | float) and isinstance(b, int | float):
        return math.isclose(a, b, rel_tol=_ROUNDING, abs_tol=_ROUNDING) or (a != a and b != b)
    return type(a) is type(b) and bool(a == b)


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """A name for every path: its file name, with as many of its folders (after ``/``) as make all names different."""
    parts = [PurePosixPath(path.replace("\\", "/")).parts for path in paths]
    n = 1
    while len({entry[-n:] for entry in parts}) < len(parts) and n < max(map(len, parts)):
        n += 1
    return {path: str(PurePosixPath(*entry[-n:])) for path, entry in zip(paths, parts, strict=True)}
