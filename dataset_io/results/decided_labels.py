"""Export of adjudication: the labels in one of FiftyOne's formats, or the decisions against an annotator."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fiftyone as fo
import fiftyone.core.labels as fol
import fiftyone.types as fot
from bson import ObjectId
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.objects.records import ObjectRecords
from ...agreement.roles.summary import mistakes
from ...agreement.settings.arguments import takes_arrays, text_of, true_or_false, writing_to
from ...agreement.settings.errors import AgreementInputError, shown
from ...agreement.settings.options import OPTIONS
from ...agreement.statistics.records import id_texts
from ...charts.page.page import ListedError, errors_page, errors_table
from ...charts.text.words import counted, file_name
from ..database.fiftyone_private import all_slices, sample_collection
from ..decide.against import errors_of
from ..decide.decide import open_decided
from ..decide.decision_log import label_key
from ..decide.gold import Gold
from ..decide.next_object import files_of
from ..labels.kinds import LabelKind, kind_of
from ..labels.source import whole_samples
from ..record.run import Run
from ..record.run_labels import open_run_labels
from ..run.read import Progress
from ..units.unit_labels import labels_in
from .export import csv_of
from .file_writing import checked_file, replacing, write_file
from .picture import picture_of

_COCO = ("COCO", fot.COCODetectionDataset, ".json")
_CLASSES = ("FiftyOne's classification JSON", fot.FiftyOneImageClassificationDataset, ".json")
#: title, FiftyOne's format and ending of the file, by the labels in the field of decisions
_FORMATS: dict[Any, tuple[str, type[fot.Dataset], str]] = {
    **dict.fromkeys((fol.Detections, fol.Polylines, fol.Keypoints), _COCO),
    **dict.fromkeys((fol.Classification, fol.Classifications), _CLASSES),
    fol.Regression: ("CSV", fot.CSVDataset, ".csv"),
}


@dataclass(frozen=True, slots=True, repr=False)
class ExportedDecisions:
    """Summary of an export by ``run.decisions.export``."""

    field: str  #: the field of decisions
    format: str  #: name of the format
    n_labels: int  #: labels that were decided to be right
    n_images: int  #: images on which something was decided, which are all in the file
    n_empty: int  #: images of these without a label: there is no object, or nothing is right
    n_of: int  #: images that were looked at
    n_left_out: int  #: labels in the field on which nobody decided: of open forms, or not recorded yet
    path: str | None = None  #: the file; None before it is written

    def told(self, what: str) -> str:
        """Summary as a sentence that begins with ``what``."""
        left_out = f"; left out: {counted(self.n_left_out, 'label')} on which nobody decided" if self.n_left_out else ""
        return (
            f"{what} {counted(self.n_labels, 'label')} on {self.n_images:,} of {counted(self.n_of, 'image')}, "
            f"{self.n_empty:,} of them with no {'object' if self.format == 'COCO' else 'label'}{left_out}"
        )

    def __repr__(self) -> str:
        return f"<{self.told('Exported')}; {self.format}: {self.path!r}>"


@takes_arrays
def export_decided(
    samples: SampleCollection,
    path: str | os.PathLike[str],
    *,
    gold: str = names.DEFAULT_GOLD_FIELD,
    overwrite: bool = False,
    progress: Progress = None,
) -> ExportedDecisions:
    """Export the adjudicated labels to a file: the decided labels alone, of the images with decisions.

    Images on which all that was decided is that there is no object are in the file, without labels. FiftyOne writes the
    file: COCO for boxes, polygons, instance masks and keypoints, its classification JSON for classes and tags, CSV for
    numbers. In COCO it gives polygons and masks as outlines with holes filled (a mask of 4 by 4 pixels becomes one of
    10), and cuts coordinates of polygons and keypoints to whole pixels. Images are named from the folder that holds all
    of them.

    Args:
        samples: the dataset, or a view of its samples
        path: output file, in a folder that is there
        gold: the field of decisions
        overwrite: whether an existing file may be replaced
        progress: as in ``compute``

    Returns:
        how many labels and images were written

    Raises:
        AgreementInputError: if there is no such field, nothing was decided, FiftyOne has no format of one file for such
            labels, images have neither a size nor a file, a label has no class and the format is COCO, or the file
            exists or cannot be written
    """
    OPTIONS["progress"].checked(progress)
    exported, write = decided_to_export(samples, path, gold=gold, overwrite=overwrite)
    write(progress)
    return exported


def decided_to_export(
    samples: SampleCollection, path: str | os.PathLike[str], *, gold: str, overwrite: bool
) -> tuple[ExportedDecisions, Callable[[Progress], None]]:
    """Prepare ``run.decisions.export``: its summary, and a function that writes the file."""
    opened = Gold.open(samples, gold)
    title, dataset_type, ending = format_of_decided(opened)
    target = checked_file(path, overwrite=overwrite)
    if target.suffix.lower() != ending:
        raise AgreementInputError(f"`path` must end in {ending} for these labels ({title}), got {str(path)!r}")
    ids = whole_samples(samples).values("id")
    right, images, n_empty, n_left_out = set[ObjectId](), list[str](), 0, 0
    for document_id, (log, _) in opened.decided(list(map(ObjectId, ids))).items():
        made = [each for each in log.decisions if each["choice"] != "skip"]
        of_image = {each["gold_id"] for each in made} & {label["_id"] for label in log.labels}
        right |= of_image
        images += [str(document_id)] if made else []
        n_empty += bool(made) and not of_image
        n_left_out += len(log.labels) - len(of_image)
    exported = ExportedDecisions(
        opened.path, title, len(right), len(images), n_empty, len(ids), n_left_out, str(target)
    )
    if not images:
        raise AgreementInputError(f"`{gold}` must have decisions on the samples to be exported, got none")
    view = all_slices(opened.dataset).select(images).select_fields(opened.path)
    view = view.filter_labels(opened.path, fo.ViewField("_id").is_in(sorted(right)), only_matches=False)
    paths = view.values("filepath")
    if title == "COCO":  # which has no category for labels without a class
        classes = view.values(f"{opened.kind.label_path(opened.path)}.label")
        on = [path for path, found in zip(paths, classes, strict=True) for name in found or () if name is None]
        if on:
            raise AgreementInputError(
                f"All labels in `{opened.path}` must have a class for COCO, got {len(on):,} of "
                f"{counted(exported.n_labels, 'label')} without one (on {shown(sorted(set(on)), 3)}); give them one "
                "with *Edit* in *Decide*, or from Python, or export the samples with fiftyone.types.FiftyOneDataset, "
                "which needs none"
            )
    without = [] if title != "COCO" else view.exists("metadata.width", False).values("filepath")
    missing = [each for each in without if not Path(each).is_file()]
    if missing:
        raise AgreementInputError(
            f"{counted(len(missing), 'image')} must have a size for COCO, and there is no file to read it from "
            f"({shown(missing, 3)}); set `metadata` of these samples"
        )
    given: dict[str, Any] = {"rel_dir": os.path.commonpath([os.path.dirname(each) for each in paths])}
    given |= {"fields": {"filepath": "filepath", f"{opened.path}.value": "value"}} if ending == ".csv" else {}
    given |= {} if ending == ".csv" else {"label_field": opened.path}

    def write(progress: Progress) -> None:
        with writing_to("path", target), replacing(target) as temporary:
            options = {"export_media": False, "overwrite": True, "progress": progress, **given}
            try:
                view.export(labels_path=str(temporary), dataset_type=dataset_type, **options)
            except (TypeError, ValueError) as error:
                raise AgreementInputError(
                    f"`{gold}` must hold labels that FiftyOne can export, got {type(error).__name__}: {error}; "
                    "mend the label, or decide on the object again"
                ) from error

    return exported, write


def format_of_decided(gold: Gold) -> tuple[str, type[fot.Dataset], str]:
    """Title, FiftyOne's format and ending of the file of a field of decisions."""
    found = None if gold.on_frames else _FORMATS.get(gold.kind.stored)
    if found is None:
        what = "labels on frames" if gold.on_frames else gold.kind.title
        raise AgreementInputError(
            f"Decided boxes, polygons, instance masks, keypoints, classes, tags and numbers of images can be exported, "
            f"got {what} in `{gold.path}`; export the samples with fiftyone.types.FiftyOneDataset, which holds any"
        )
    return found


#: entries of a page that have a picture, which takes about 20 kB each
_MOST_PICTURES = 300
#: colours of what an annotator drew, and of what is right
_COLOURS = {"theirs": names.ANNOTATOR_COLORS["orange"], "right": names.ANNOTATOR_COLORS["green"]}


@takes_arrays
def export_decided_against(
    samples: SampleCollection,
    annotator: str,
    run_key: str = names.DEFAULT_RUN_KEY,
    path: str | os.PathLike[str] = "decided_against.html",
    *,
    gold: str = names.DEFAULT_GOLD_FIELD,
    reference: bool = False,
    overwrite: bool = False,
) -> Path:
    """Export the decisions against an annotator, or what the reference says against them, to a file to send to them.

    Every entry has the image, what they said, what is right, who decided, when, and why; on a page the first 300 also
    have a picture of the object. What a rule decided is counted, and not listed.

    Args:
        samples: the dataset, or a view of its samples
        annotator: name of the annotator in the run
        run_key: key of the run
        path: output file: a page if it ends in ``.html``, a table if it ends in ``.csv``
        gold: the field of decisions
        reference: whether the labels that the reference of the run contradicts are listed, and what it has beside them,
            in place of decisions
        overwrite: whether an existing file may be replaced

    Returns:
        the absolute path of the file

    Raises:
        AgreementInputError: as ``run.decisions.report``; if this is no annotator of the run, ``reference`` is true and
            the run has none or is on semantic masks, or the file exists or cannot be written
    """
    path = checked_file(path, overwrite=overwrite)
    ending = path.suffix.lower()
    if ending not in (".html", ".csv"):
        raise AgreementInputError(f"`path` must end in .html or .csv, got {str(path)!r}")
    listed: list[_Listed]
    if true_or_false("reference", reference):
        dataset, unit, listed, kinds, told = _against_reference(samples, run_key, annotator)
    else:
        opened = open_decided(samples, run_key, gold)
        dataset, unit, found = opened.labels.dataset, opened.unit, errors_of(opened, annotator)
        told = {"n_by_rule": len(errors_of(opened, annotator, made_by_rule=True))}
        kinds, listed = {**opened.fields, opened.gold.name: opened.kind}, []
        files = files_of(opened, sorted({each.document_id for each in found}))
        for each in found:
            (sample_id, frame, filepath), decision = files[each.document_id], each.decision
            said = {name: decision[name] for name in ("decided_by", "decided_at", "remark")}
            label_id = None if each.label_id is None else str(each.label_id)
            error = ListedError(
                file_name(filepath) or "", str(sample_id), frame, each.given, each.right, **said, label_id=label_id,
                picture=None,
            )  # fmt: skip
            right = None if each.gold is None else label_key(opened.gold.name, each.gold["_id"], opened.kind)
            listed.append((error, filepath, {"theirs": each.key, "right": right}))
    if ending == ".html":
        listed = _with_pictures(dataset, listed, kinds)
    errors = sorted((error for error, _, _ in listed), key=lambda each: each.order)
    with writing_to("path", path):
        if ending == ".csv":
            write_file(path, csv_of(errors_table(errors)))
        else:
            write_file(path, errors_page(annotator, dataset.name, unit, errors, **told).encode())
    return path


#: an entry of the list, the image, and the names of what the annotator drew and of what is right, as in decisions
_Listed = tuple[ListedError, str | None, dict[str, str | None]]


def _with_pictures(dataset: fo.Dataset, listed: list[_Listed], kinds: Mapping[str, LabelKind]) -> list[_Listed]:
    """The entries, the first ones on samples with pictures; ``kinds`` are the types of the fields of their labels."""
    pictured = [k for k, (error, filepath, _) in enumerate(listed[:_MOST_PICTURES]) if filepath and error.frame is None]
    ids = [ObjectId(listed[k][0].sample_id) for k in pictured]
    found = sample_collection(dataset).find({"_id": {"$in": ids}}, dict.fromkeys(kinds, True))
    documents = {str(row["_id"]): row for row in found}
    for k in pictured:
        error, filepath, keys = listed[k]
        document, drawn = documents.get(error.sample_id, {}), dict[str, Any]()
        for who, key in keys.items():
            field = (key or "").rpartition(" ")[0]
            labels = labels_in(document.get(field), kinds[field]) if key else []
            of_key = {
                label_key(field, each.get("_id"), kinds[field]): each for each in labels if isinstance(each, dict)
            }
            if key in of_key:
                drawn[who] = of_key[key]
        picture = picture_of(str(filepath), drawn, _COLOURS)
        listed[k] = (dataclasses.replace(error, picture=picture), filepath, keys)
    return listed


def _against_reference(
    samples: SampleCollection, run_key: str, annotator: str
) -> tuple[fo.Dataset, str, list[_Listed], dict[str, LabelKind], dict[str, Any]]:
    """What the reference says against an annotator: dataset, what labels are of, entries, types of the fields, name."""
    run = Run(samples, run_key)
    labels, loaded = open_run_labels(samples, run_key), run.records()
    labels.check_annotators("annotator", [text_of("annotator", annotator)])
    records, index, context = loaded.records, loaded.index, loaded.context
    name = context.config.reference
    if name is None or records.of_classes is None:
        got = "none" if name is None else "semantic masks"
        raise AgreementInputError(
            f"`reference` must be False for the run {run_key!r}: it needs a reference and labels that are no semantic "
            f"masks, got {got}; compute it with reference=…, or leave it out to list decisions"
        )
    if not isinstance(samples, fo.Dataset):
        kept = index.among(samples)
        records, index = records.select(kept), index.select(kept)
    found, ids, frames = mistakes(records, context, annotator), index.ids(), index.frame_numbers()
    # values of whole samples are listed without the ids of their labels
    ids_of = ("label_id", "uncounted_label_id") if isinstance(records, ObjectRecords) else ()
    own_ids, other_ids = [id_texts(records.column(each)) for each in ids_of] or ([], [])
    own_field, role_field = labels.field_of(annotator), name if samples.has_field(name) else context.config.fields[0]
    wanted = {"_id": {"$in": [ObjectId(each) for each in sorted({ids[each.sample] for each in found})]}}
    rows = sample_collection(run.dataset).find(wanted, {"filepath": 1})
    paths, listed = {str(row["_id"]): row.get("filepath") for row in rows}, list[_Listed]()
    for each in found:
        own = own_ids[each.drawn] if ids_of and each.drawn >= 0 else None
        right = other_ids[each.wanted] if ids_of and each.wanted >= 0 else None
        sample_id, frame = ids[each.sample], None if frames is None else int(frames[each.sample])
        by, remark, path = f"the reference {name}", each.said.replace("_", " "), paths.get(sample_id)
        error = ListedError(
            file_name(path) or "", sample_id, frame, each.given, each.right, decided_by=by, decided_at=None,
            remark=remark, label_id=own, picture=None,
        )  # fmt: skip
        keys = {"theirs": own and f"{own_field} {own}", "right": right and f"{role_field} {right}"}
        listed.append((error, path, keys))
    fields = {own_field: labels.kind_of(annotator), role_field: kind_of(run.dataset.get_field(role_field))}
    kinds = {field: kind for field, kind in fields.items() if kind is not None}
    unit = {"objects": "object", "tags": "tag"}.get(records.family, "image")
    return run.dataset, unit, listed, kinds, {"reference": name}
