"""Semantic masks: decoded, counted and compared sample by sample, to keep few masks in memory; files of heatmaps.

These files are named ``<sample id>-<run id>.png``, in a folder that the user chose. So deleting a run, even one that
crashed, deletes exactly its own files. The folder itself is not deleted.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from bson import Binary, ObjectId
from fiftyone.core.utils import serialize_numpy_array
from numpy.typing import NDArray

from ... import names
from ...agreement.disputes.costs import pair_costs
from ...agreement.pixels.compute import (
    NUMBERS,
    MaskValues,
    PixelAgreement,
    SampleMasks,
    TooManyValuesError,
    compare_masks,
    mask_columns,
    mask_values,
    measure,
)
from ...agreement.pixels.records import PixelRecords, record_pixels
from ...agreement.settings.arguments import writing_to
from ...agreement.settings.config import AgreementConfig
from ...agreement.settings.errors import AgreementInputError
from ...agreement.statistics.codes import ClassCodes
from ...agreement.statistics.records import Columns, compact, packed
from ...agreement.statistics.report import ReportContext, RunFacts
from ...metrics.numeric.arrays import BoolArray, IntArray
from ...metrics.pixels.joint_counts import ClassMask, disagreement_map
from ..labels.checks import NAMING, document_title
from ..labels.mask_reading import (
    PHOTOGRAPH,
    MaskShape,
    ReadMask,
    UnusableMaskError,
    check_masks,
    check_same_shape,
    mask_shape,
    masks_error,
    read_mask,
)
from ..labels.roles import check_roles
from ..labels.source import Source
from ..labels.stored import StoredSample, id_bytes
from .protocol import LabelFamily, LabelsRead, report_context, values_by_path, where_rated

#: number of labels that a mask counts as in the limit of batches: at least this …
LABELS_OF_A_MASK = 200
#: … and one for this many bytes in the database
BYTES_OF_A_LABEL = 500
#: columns for a value in the masks of a role and of an annotator; the last three: pixels in the annotator's mask, in
#: the role's, and in both
AREAS = ("role", "annotator", "value", "drawn", "wanted", "shared")
#: samples that are decoded at the same time; OpenCV and zlib let other threads work
MAX_WORKERS = 4


@dataclass(frozen=True, slots=True)
class PixelLabels:
    """The counted masks of some samples."""

    masks: list[SampleMasks | None]  #: of ``S`` samples; None where fewer than two annotators are assigned
    assigned: BoolArray  #: shape ``(S, R)``, whether an annotator has a usable mask
    ids: list[ObjectId]  #: ids of the samples
    shown: BoolArray  #: shape ``(S, F)``, whether a field has a label
    maps: list[bytes | None]  #: heatmap of every sample, encoded; None where there is none
    label_ids: NDArray[np.uint8]  #: shape ``(S, R, 12)``, the id of every mask, zeros where there is none
    present: BoolArray  #: shape ``(S, roles)``, samples on which a role has a mask
    areas: IntArray  #: shape ``(V, 6)``, the columns of ``AREAS``, by sample
    n_areas: IntArray  #: shape ``(S,)``, rows of ``areas``


@dataclass(frozen=True, slots=True)
class _Compared:
    """Result for one sample: annotators with a mask, the comparison, the heatmap, and errors."""

    annotators: tuple[int, ...] = ()
    masks: SampleMasks | None = None
    map: bytes | None = None
    n_invalid: int = 0
    error: UnusableMaskError | None = None
    present: Sequence[bool] = ()  #: roles with a mask
    areas: Sequence[IntArray] = ()  #: rows of ``AREAS``


class PixelFamily(LabelFamily[PixelLabels, PixelAgreement]):
    """Segmentations; every annotator has a field of their own.

    If a view filters a label away, its annotator counts as not assigned.
    """

    def __init__(self, source: Source, known: ReportContext | None = None) -> None:
        self.source, self._everybody, self.meaning = source, source.everybody, _meaning(source)
        self.is_rgb: bool | None = None if known is None else bool(known.details["is_rgb"])
        self._key, self.codes = source.config.run_key, ClassCodes()

    # ---- reading ----

    def check(self) -> None:
        """Refuse options and masks that cannot be used."""
        config, width = self.source.config, self.source.config.boundary_width
        if width is not None and (width < 1 or width % 1):
            raise AgreementInputError(f"`boundary_width` must be a whole number of pixels, at least 1, got {width!r}")
        if config.map_folder is not None:
            check_map_folder(config.map_folder)
        check_roles(self.source)
        _meaning(self._everybody)
        paths, fields = self._everybody.label_paths, self._everybody.config.fields
        wanted = {**self.projection(), **(dict.fromkeys(NAMING, True) if self.source.on_frames else {})}
        for field, path in enumerate(paths):
            is_label = {"$eq": [{"$type": f"${path}._cls"}, "string"]}
            wanted[f"id{field}"] = {"$cond": [is_label, [f"${path}._id"], None]}
        labelled = {"$or": [{f"{path}._cls": {"$type": "string"}} for path in paths]}
        rows = self.source.aggregate([{"$match": labelled}, {"$project": wanted}], batchSize=100)
        masks = (
            (document_title(row), {fields[k]: (row[f"mask{k}"], row[f"mask_path{k}"]) for k in self.present(row)})
            for row in rows
        )
        found = check_masks(masks, self.source.config)
        self.is_rgb = self.is_rgb if found is None else found

    def projection(self) -> dict[str, Any]:
        """The arrays and paths of the masks."""
        return {
            f"{name}{field}": {"$ifNull": [f"${path}.{name}", None]}
            for field, path in enumerate(self._everybody.label_paths)
            for name in ("mask", "mask_path")
        }

    def load(self, row: dict[str, Any]) -> int:
        """Masks count by their bytes in the database, with a high minimum."""
        stored = [row[f"mask{field}"] for field in self.present(row)]
        sizes = [len(mask) if isinstance(mask, bytes) else 0 for mask in stored]
        return sum(max(LABELS_OF_A_MASK, size // BYTES_OF_A_LABEL) for size in sizes)

    def present(self, row: dict[str, Any]) -> list[int]:
        """The fields that have a label, also of roles."""
        return [field for field in range(len(self._everybody.kinds)) if row[f"id{field}"] is not None]

    def read(self, rows: list[dict[str, Any]], samples: list[StoredSample]) -> LabelsRead[PixelLabels]:
        """Decode and compare the masks of query results, several samples at a time.

        Raises:
            AgreementInputError: if masks cannot be compared and the config does not say to leave them out
        """
        with ThreadPoolExecutor(n_workers(), "agreement-mask") as workers:
            compared = list(workers.map(self._compare, rows))
        problems = [(sample.title, entry.error) for sample, entry in zip(samples, compared, strict=True) if entry.error]
        if problems and self.source.config.invalid == "error":
            raise masks_error(problems)
        assigned = np.zeros((len(rows), len(self.source.annotators)), np.bool_)
        shown_fields = np.zeros((len(rows), len(self.source.kinds)), np.bool_)
        label_ids = np.zeros((*assigned.shape, 12), np.uint8)
        for field, annotator in enumerate(self.source.field_annotator):
            label_ids[:, annotator] = id_bytes((row[f"id{field}"] or [None])[0] for row in rows)
        for k, (row, entry) in enumerate(zip(rows, compared, strict=True)):
            assigned[k, list(entry.annotators)] = True
            shown_fields[k] = [row[f"id{field}"] is not None for field in range(len(self.source.kinds))]
        no_areas = np.empty((0, len(AREAS)), np.int64)
        labels = PixelLabels(
            masks=[entry.masks for entry in compared],
            assigned=assigned,
            ids=[sample.sample_id for sample in samples],
            shown=shown_fields,
            maps=[entry.map for entry in compared],
            label_ids=label_ids,
            present=np.array([entry.present for entry in compared], np.bool_).reshape(len(rows), -1),
            areas=np.concatenate([no_areas, *(rows for entry in compared for rows in entry.areas)]),
            n_areas=np.array([sum(map(len, entry.areas)) for entry in compared], np.int64),
        )
        none = np.zeros(len(rows), np.int64)
        return LabelsRead(labels, np.array([entry.n_invalid for entry in compared], np.int64), none, none.copy())

    def _compare(self, row: dict[str, Any]) -> _Compared:
        """Decode and compare the masks of one sample; a single mask is only checked."""
        present, fields = self.present(row), range(len(self.source.kinds))
        masks: dict[int, Any] = {}
        error: UnusableMaskError | None = None
        for field in sorted(present, key=lambda field: field in fields):  # roles first: the last error is kept
            stored = row[f"mask{field}"], row[f"mask_path{field}"]
            try:
                masks[field] = read_mask(*stored) if len(present) >= 2 or field not in fields else mask_shape(*stored)
            except UnusableMaskError as problem:
                error = problem
        own = {field: masks[field] for field in fields if field in masks}
        found = self._compare_annotators(own, sum(field in fields for field in present), error)
        if not self.source.roles:
            return found
        # the areas in the masks of roles and of annotators that count
        source, areas, error = self.source, list[IntArray](), found.error
        config = replace(source.config, boundaries=False)
        field_of = dict(sorted(zip(source.field_annotator, fields, strict=True)))
        true_masks: list[Any] = [masks.get(source.number_read(role)) for role in source.roles]
        for number, true in enumerate(true_masks):
            if true is None:
                continue
            for annotator in found.annotators:
                field, role = field_of[annotator], source.roles[number]
                try:
                    check_same_shape({config.fields[field]: own[field].shape, role.name: true.shape}, self.is_rgb)
                    two = self._counted((own[field].values, true.values), config)
                except UnusableMaskError as problem:
                    error = found.error or problem
                else:  # the role's mask is the last of the two
                    who = np.full((2, len(two.values)), [[number], [annotator]])
                    areas.append(np.stack([*who, two.values, *two.areas, *two.shared], axis=1))
        return replace(found, error=error, present=[true is not None for true in true_masks], areas=areas)

    def _counted(self, masks: Sequence[ClassMask], config: AgreementConfig) -> SampleMasks:
        """Compare masks.

        Raises:
            UnusableMaskError: if they hold too many values
        """
        try:
            return compare_masks(masks, self.meaning, config)
        except TooManyValuesError as problem:
            raise UnusableMaskError(str(problem), PHOTOGRAPH) from problem

    def _compare_annotators(
        self, masks: Mapping[int, ReadMask | MaskShape], n_fields: int, error: UnusableMaskError | None
    ) -> _Compared:
        """Compare the readable masks of annotators, out of ``n_fields`` masks."""
        config, n_invalid = self.source.config, n_fields - len(masks)
        read = {self.source.field_annotator[field]: mask for field, mask in masks.items()}
        annotators = tuple(sorted(read))
        values = [mask.values for annotator in annotators if isinstance(mask := read[annotator], ReadMask)]
        shapes = {field: mask.shape if isinstance(mask, ReadMask) else mask for field, mask in masks.items()}
        try:
            check_same_shape({config.fields[field]: shape for field, shape in shapes.items()}, self.is_rgb)
            found = self._counted(values, config) if len(values) >= 2 else None
        except UnusableMaskError as problem:
            return _Compared(n_invalid=n_fields, error=problem)
        if found is None:
            return _Compared(annotators, n_invalid=n_invalid, error=error)
        heatmap = None
        if config.disagreement_map:
            disagreement = disagreement_map(values, self.meaning.ignored)
            in_files = config.map_folder is not None
            in_png = cv2.imencode(".png", disagreement)[1].tobytes() if in_files else None
            heatmap = serialize_numpy_array(disagreement) if in_png is None else in_png
        return _Compared(annotators, found, heatmap, n_invalid, error)

    # ---- comparing ----

    def compute(self, labels: PixelLabels) -> PixelAgreement:
        """The numbers of the samples as columns."""
        config, n = self.source.config, len(self.source.annotators)
        columns = mask_columns(labels.masks, labels.assigned, config, labels.label_ids)
        return measure(columns, n, self.meaning.background, config)

    def record(self, labels: PixelLabels, result: PixelAgreement) -> PixelRecords:
        """The records of a batch."""
        records = record_pixels(result)
        if not self.source.roles:
            return records
        columns: Columns = {"role_present": packed(labels.present), "n_role_areas": compact(labels.n_areas)}
        columns |= {f"area_{name}": compact(column) for name, column in zip(AREAS, labels.areas.T, strict=True)}
        return replace(records, parts=({**records.parts[0], **columns},))

    def context(self, run: RunFacts) -> ReportContext:
        """The context of the report."""
        details = {**self.meaning.to_dict(), "is_rgb": bool(self.is_rgb)}
        return report_context(self.source, run, details=details)

    # ---- writing ----

    def values(self, labels: PixelLabels, agreement: PixelAgreement) -> list[dict[str, Any]]:
        """The values of every sample by path; undefined ones are None on labels and left out on samples. Writes the
        files of heatmaps."""
        written = names.chosen_fields(names.PIXEL_FIELDS, self.source.config).sample
        numbers, rated = agreement.numbers, agreement.rated
        columns = {name: where_rated(rated, numbers[:, k]) for k, name in enumerate(NUMBERS) if f"_{name}" in written}
        columns["cost"] = where_rated(rated, pair_costs(agreement.score, agreement.n_annotators))
        for name in ("alpha", "ignored", "n_units", "n_disputed"):
            columns[name] = where_rated(rated, getattr(agreement, name))
        updates = values_by_path(self._key, {**columns, "n_annotators": agreement.n_annotators.tolist()})
        for k, content in enumerate(labels.maps):
            if content is not None:
                document: dict[str, Any] = {"_id": ObjectId(), "_cls": "Heatmap", "tags": []}
                folder = self.source.config.map_folder
                if folder is None:
                    document["map"] = Binary(content)
                else:
                    document["map_path"] = map_path(folder, labels.ids[k], self.source.run_id)
                    write_map(document["map_path"], content)
                updates[k][f"{self._key}_map"] = {**document, "range": [0.0, float(len(self.source.annotators) - 1)]}
        n_annotators, mask_iou = agreement.n_annotators.tolist(), agreement.mask_iou.tolist()
        for field, (path, annotator) in enumerate(
            zip(self.source.label_paths, self.source.field_annotator, strict=True)
        ):
            of_iou, of_assigned = f"{path}.{self._key}_iou", f"{path}.{self._key}_of"
            for k in np.flatnonzero(labels.shown[:, field]).tolist():
                iou = mask_iou[k][annotator]
                updates[k][of_iou] = iou if iou == iou else None  # nan is not equal to itself
                updates[k][of_assigned] = n_annotators[k] if labels.assigned[k, annotator] else None
        return updates


def _meaning(source: Source) -> MaskValues:
    """What the values of masks mean, by the mask targets of the fields."""
    targets = {name: source.dataset.get_mask_targets(name) for name in source.config.fields}
    return mask_values(source.config, {name: found for name, found in targets.items() if found})


def n_workers() -> int:
    """Samples that are decoded at the same time."""
    return min(MAX_WORKERS, os.cpu_count() or 1)


logger = logging.getLogger(__name__)

_NAME = re.compile(r"[0-9a-f]{24}-([0-9a-f]{24})\.png")


def map_path(folder: str, document_id: object, run_id: str) -> str:
    """Path of the heatmap of a sample, or frame."""
    return os.path.join(folder, f"{document_id}-{run_id}.png")


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
    """Delete the heatmaps of a run; the log names those that cannot be removed, which is no error."""
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
