"""Object labels: read as columns, matched across annotators, written label by label."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from bson import ObjectId
from numpy.typing import NDArray

from ...agreement.matching.compute import MatchedBatch, compute_agreement_of, differs_from, is_named, missed_by
from ...agreement.matching.tables import NO_TRACK, Batch
from ...agreement.matching.verdicts import CROWD, verdict_names
from ...agreement.objects.records import ObjectRecords, record, unit_ids
from ...agreement.roles.role_labels import role_columns
from ...agreement.statistics.codes import NO_LABEL, AttributeCodes, ClassCodes, CodeNames
from ...agreement.statistics.records import compact, uncounted_columns
from ...agreement.statistics.report import ReportContext, RunFacts
from ...metrics.geometry.objects import Geometry, Objects
from ...metrics.geometry.regions import joined as joined_geometry
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ...names import DIFFERS_FROM, MISSED_BY
from ..labels.assignment import NOT_NAMED, UNKNOWN, assigned_annotators, listed_columns, listed_labels, listed_values
from ..labels.checks import (
    LabelFacts,
    check_attributes,
    check_files,
    check_labels,
    check_sizes,
    codes_of,
    is_crowd,
    label_facts,
    unknown_sizes_error,
    unusable_labels_error,
    value_of,
    with_masks,
)
from ..labels.geometry_readers import pixels_or_0
from ..labels.roles import are_sure, check_roles, decisions, undecided_labels
from ..labels.source import Source
from ..labels.stored import StoredSample, id_bytes, of_each_label
from .protocol import (
    LabelFamily,
    LabelsRead,
    WholeRunNeededError,
    WholeRunReason,
    report_context,
    values_by_path,
    where_rated,
)

#: attributes written on a label, by suffix, in the order in which they are collected
OF_LABELS = ("", "_id", "_iou", "_votes", "_of", MISSED_BY, DIFFERS_FROM)
#: number of mask pixels that count as one label when batches are limited
PIXELS_OF_A_LABEL = 2_500


@dataclass(frozen=True, slots=True)
class ObjectLabels:
    """Labels of objects on some samples, and the position of every label in the database."""

    batch: Batch  #: the ``N`` labels of annotators and roles; roles are numbered after the annotators
    own: Batch  #: the labels of annotators alone
    field: IntArray  #: shape ``(N,)``, index of the field of every label
    position: IntArray  #: shape ``(N,)``, index of every label in the label list in the database
    label_ids: list[ObjectId]  #: ids of the labels
    confidence: FloatArray  #: shape ``(N,)``, nan if there is none, or the run has no threshold
    undecided: BoolArray | None  #: shape ``(N, roles)``, see :func:`~..labels.roles.undecided_labels`


class ObjectFamily(LabelFamily[ObjectLabels, MatchedBatch]):
    """Detections and other labels that stand for physical objects."""

    def __init__(self, source: Source, known: ReportContext | None = None) -> None:
        if known is None:
            facts = label_facts(source.everybody)
        else:  # those of all labels of the run, also if the source has only some of them
            facts = LabelFacts(frozenset(known.details["masks"]), bool(known.details["crowd"]))
            if source.shard is None:  # of a shard they were found before the run was divided
                found, everywhere = label_facts(source.everybody), facts
                if facts != LabelFacts(frozenset(), crowd=False):
                    everywhere = label_facts(dataclasses.replace(source.everybody, among=None))
                if facts != LabelFacts(facts.masks | found.masks, facts.crowd or found.crowd) or facts != everywhere:
                    raise WholeRunNeededError(WholeRunReason.OTHER_GEOMETRY)
        self._facts = facts
        self.source = source = with_masks(source, facts)
        self.in_pixels = any(reader.needs_size(source.config) for reader in source.geometry_readers)
        if not self.in_pixels:  # annotators who drew boxes are compared with boxes
            facts = LabelFacts(frozenset(), facts.crowd)
        self._everybody = with_masks(source.everybody, facts)
        self._readers, config = self._everybody.geometry_readers, source.config
        as_boxes = dataclasses.replace(config, geometry="box")
        self._configs = [
            config if self.in_pixels or not each.needs_size(config) else as_boxes for each in self._readers
        ]
        self.codes, of_codes = ClassCodes(config.aliases), {}
        if known is not None:
            names = [None if name == NO_LABEL else name for name in known.names_of_codes]
            self.codes, of_codes = ClassCodes(config.aliases, names), dict(known.attribute_values)
        self.attribute_codes = [AttributeCodes(name, of_codes.get(name, ())) for name in source.config.attributes]
        self._run_key = source.config.run_key
        self._label_paths: list[list[tuple[str, ...]]] = [[] for _ in source.label_paths]
        self._extending = threading.Lock()
        self._crowd_attribute = source.config.crowd_attribute if facts.crowd else None

    # ---- reading ----

    def check(self) -> None:
        """Refuse labels that cannot be compared."""
        check_labels(self._everybody)
        check_attributes(self._everybody, len(self.source.kinds))
        if self.in_pixels:
            check_sizes(self._everybody)
        if self.source.config.invalid == "error":
            check_files(self._everybody)
        check_roles(self.source)

    def projection(self) -> dict[str, Any]:
        """Class, geometry and annotator of every label."""
        config = self.source.config
        projection = decisions(self.source)
        for field, (reader, path) in enumerate(zip(self._readers, self._everybody.label_paths, strict=True)):
            columns = {**listed_columns(self._everybody, field), **reader.columns}
            if self.source.on_frames:
                columns["index"] = "index"
            for name, attribute in columns.items():
                projection[f"{name}{field}"] = of_each_label(path, {"$ifNull": [f"$$this.{attribute}", None]})
            compared = {f"attribute{k}_": name for k, name in enumerate(config.attributes)}
            if self._crowd_attribute is not None:
                compared["crowd"] = self._crowd_attribute
            for name, attribute in compared.items():
                projection[f"{name}{field}"] = of_each_label(path, value_of(attribute))
        projection["size"] = ["$metadata.width", "$metadata.height"]
        if config.assigned_field is not None:
            projection["assigned"] = f"${config.assigned_field}"
        return projection

    def load(self, row: dict[str, Any]) -> int:
        """Number of labels; large masks count as several."""
        n = super().load(row)
        if self.in_pixels and n:
            width, height = map(pixels_or_0, row["size"])
            relative = sum(  # total area of bounding boxes, in image sizes
                reader.painted({name: row[f"{name}{field}"] or [] for name in reader.columns}, self.source.config)
                for field, reader in enumerate(self._readers)
            )
            n += int(relative * width * height / PIXELS_OF_A_LABEL)
        return n

    def read(self, rows: list[dict[str, Any]], samples: list[StoredSample]) -> LabelsRead[ObjectLabels]:
        """The objects of query results.

        Raises:
            AgreementInputError: if geometry cannot be compared and the config does not say to leave it out
        """
        config, ids, geometries, parts = self.source.config, list[ObjectId](), [], []
        for field in range(len(self._readers)):
            of_field, geometry, part = self._field_columns(rows, samples, field)
            ids += of_field
            geometries.append(geometry)
            parts.append(part)
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        sample, annotator, usable = (columns[name] for name in ("sample", "annotator", "usable"))
        n, known = len(self.source.annotators), annotator >= 0
        unknown = sample[annotator == UNKNOWN] if not config.annotators else sample[:0]
        unusable = np.flatnonzero((known | (annotator == NOT_NAMED)) & ~usable)
        if len(unusable) and config.invalid == "error":
            requirements = {self._readers[field].requirement for field in columns["field"][unusable].tolist()}
            titles = sorted({samples[k].title for k in sample[unusable].tolist()})
            raise unusable_labels_error(requirements, len(unusable), titles)
        of_labels = sample[known & usable], annotator[known & usable]
        assignment = assigned_annotators(self.source, rows, samples, of_labels)
        sure = are_sure(self.source, samples, sample, annotator, columns["confidence"])
        chosen, geometry = _in_order(columns, ids, np.flatnonzero(known & usable & sure)), joined_geometry(geometries)
        columns = {name: column[chosen] for name, column in columns.items()}
        batch = Batch(
            Objects(*(columns[name] for name in ("sample", "annotator", "category"))),
            geometry.take(chosen),
            np.column_stack([assignment.assigned, assignment.present]),
            columns["crowd"],
            columns["track"] if self.source.on_frames else None,
            tuple(np.ascontiguousarray(columns["attributes"].T)),
            tuple(codes.numbers() for codes in self.attribute_codes),
            size_px=sizes_px(rows),
            otherwise=assignment.otherwise,
        )
        of_annotators, label_ids = batch, [ids[k] for k in chosen.tolist()]
        if self.source.roles:  # boxes of annotators stay boxes, whatever shapes the roles have
            geometry = joined_geometry(geometries[: len(self.source.kinds)])
            own = chosen[columns["annotator"] < n]
            of_annotators = dataclasses.replace(batch.of_first(n), geometry=geometry.take(own))
        labels = ObjectLabels(
            batch,
            of_annotators,
            field=columns["field"],
            position=columns["position"],
            label_ids=label_ids,
            confidence=columns["confidence"],
            undecided=undecided_labels(self.source, rows, columns["sample"], label_ids),
        )
        of_annotators_alone = sample[unusable[annotator[unusable] < n]]
        n_invalid, n_unknown = (np.bincount(each, minlength=len(rows)) for each in (of_annotators_alone, unknown))
        return LabelsRead(labels, n_invalid, n_unknown, assignment.n_added, assignment.drew)

    def _field_columns(
        self, rows: list[dict[str, Any]], samples: list[StoredSample], field: int
    ) -> tuple[list[ObjectId], Geometry, dict[str, NDArray[Any]]]:
        """Ids and geometry of the labels of a field, and their columns ``(N,)``; ``attributes`` are ``(N, A)``.

        In addition to those of ``listed_labels``: ``category``, ``usable``, ``crowd``, ``track``, and ``attributes``,
        the codes of the compared attributes.
        """
        reader = self._readers[field]
        label_ids, classes, columns = listed_labels(self._everybody, rows, samples, field)
        n, size_px = len(label_ids), None
        if self.in_pixels:  # arbitrary for images without labels
            sizes = sizes_px(rows)
            unknown: BoolArray = np.any(np.isnan(sizes), axis=1)
            without = [samples[k] for k in np.unique(columns["sample"][unknown[columns["sample"]]]).tolist()]
            if without:  # an image was labelled, or added, during the run
                raise unknown_sizes_error(sorted({str(each.video_id or each.sample_id) for each in without}))
            size_px = np.where(unknown[:, None], 1.0, sizes)[columns["sample"]]
        of_reader = {name: listed_values(rows, name, field) for name in reader.columns}
        geometry, usable = reader.read(of_reader, self._configs[field], size_px)
        columns |= {
            "category": codes_of(self.codes, classes),
            "usable": usable & columns.pop("is_label"),
            "crowd": np.zeros(n, np.bool_),
            "track": np.full(n, NO_TRACK),
            "attributes": np.empty((n, len(self.attribute_codes)), np.int64),
        }
        if self._crowd_attribute is not None:
            columns["crowd"] = np.fromiter(map(is_crowd, listed_values(rows, "crowd", field)), np.bool_, n)
        for k, codes in enumerate(self.attribute_codes):
            columns["attributes"][:, k] = codes.of(listed_values(rows, f"attribute{k}_", field))
        if self.source.on_frames:
            indexes = listed_values(rows, "index", field)
            tracks = (k if isinstance(k, int) and not isinstance(k, bool) else NO_TRACK for k in indexes)
            columns["track"] = np.fromiter(tracks, np.int64, n)
        return label_ids, geometry, columns

    # ---- comparing ----

    def compute(self, labels: ObjectLabels) -> MatchedBatch:
        """Match the objects of annotators, and score the samples."""
        found = compute_agreement_of(labels.own, self.source.config)
        found.others = np.flatnonzero(~found.counted)
        if self.source.roles:
            n, counted = found.n_annotators, labels.batch.objects.annotator < found.n_annotators
            counted[counted] = found.counted
            found.counted = counted
            found.others, columns = role_columns(labels.batch, n, counted, self.source.config, labels.undecided)
            found.part = {**found.part, **columns}
        return found

    def record(self, labels: ObjectLabels, result: MatchedBatch) -> ObjectRecords:
        """The records of a batch."""
        label_ids, counted = id_bytes(labels.label_ids), result.counted
        records, rows, batch = record(result, label_ids[counted], labels.field[counted]), result.others, labels.batch
        if not (self._facts.crowd or self.source.roles):
            return records
        more: dict[str, Any] = {"label_id": label_ids[rows]}
        if self.source.roles:
            boxes = batch.geometry.boxes_xyxy()
            more["area"] = batch.geometry.area[rows].astype(np.float32)
            more |= {} if boxes is None else {"boxes": boxes[rows].astype(np.float32)}
            more |= {"attributes": compact(np.column_stack(batch.attributes)[rows])} if batch.attributes else {}
        columns = (batch.objects.sample[rows], batch.objects.annotator[rows], batch.objects.category[rows])
        uncounted = uncounted_columns(*columns, result.n_samples, **more)
        return dataclasses.replace(records, parts=({**records.parts[0], **uncounted},))

    def context(self, run: RunFacts) -> ReportContext:
        """The context of the report."""
        return report_context(
            self.source,
            run,
            self.codes.names(),
            measure=self.source.kinds[0].measure_of(self.source.config),
            attribute_values={codes.name: codes.values_of_codes() for codes in self.attribute_codes},
            details={"in_pixels": self.in_pixels, "masks": sorted(self._facts.masks), "crowd": self._facts.crowd},
        )

    def code_names(self) -> CodeNames:
        """The classes and attribute values that were read so far."""
        values = {codes.name: tuple(codes.values_of_codes()[1:]) for codes in self.attribute_codes}
        return CodeNames(self.codes.looked_up(), values)

    # ---- writing ----

    def values(self, labels: ObjectLabels, agreement: MatchedBatch) -> list[dict[str, Any]]:
        """The values of every sample by path; undefined ones are None on labels and left out on samples."""
        of_samples = {
            "score": agreement.score.tolist(),
            "cost": where_rated(agreement.rated, agreement.cost),
            "alpha": agreement.alpha.tolist(),
            "iou": agreement.iou.tolist(),
            "dice": agreement.dice.tolist(),
            "n_annotators": agreement.n_assigned.tolist(),
            "n_units": agreement.n_units.tolist(),
            "n_disputed": where_rated(agreement.rated, agreement.n_disputed),
        }
        updates = values_by_path(self._run_key, of_samples)
        columns: tuple[list[Any], ...] = (
            verdict_names(agreement.object_verdict).tolist(),
            ids_of_objects(labels, agreement, self.source.annotators),
            agreement.object_iou.tolist(),
            agreement.units.votes[agreement.matching.unit].tolist(),
            agreement.units.assigned[agreement.matching.unit].tolist(),
        )
        if not agreement.counted.all():
            columns = _with_crowd(columns, labels, agreement)
        rows: Iterable[Any] = zip(
            labels.batch.objects.sample.tolist(), labels.field.tolist(), labels.position.tolist(), *columns, strict=True
        )
        if self.source.roles:
            rows = compress(rows, (labels.batch.objects.annotator < len(self.source.annotators)).tolist())
        paths = self._label_paths  # up to the longest list; all samples share these strings
        for number, (path, known) in enumerate(zip(self.source.label_paths, paths, strict=True)):
            longest = int(labels.position[labels.field == number].max(initial=-1)) + 1
            with self._extending:  # several batches are written at once
                for place in range(len(known), longest):
                    known.append(tuple(f"{path}.{place}.{self._run_key}{suffix}" for suffix in OF_LABELS))
        for sample, field, position, verdict, unit_id, iou, votes, assigned in rows:
            values = updates[sample]
            of_verdict, of_id, of_iou, of_votes, of_assigned, *_ = paths[field][position]
            values[of_verdict] = verdict
            values[of_id] = unit_id
            values[of_iou] = iou if iou == iou else None  # nan is not equal to itself
            values[of_votes] = votes
            values[of_assigned] = assigned
        counted, is_counted_named = np.flatnonzero(agreement.counted).tolist(), is_named(agreement)
        for place, relation in ((-2, missed_by(agreement)), (-1, differs_from(agreement))):
            for row, named in relation.where(is_counted_named).names(self.source.annotators).items():
                label = counted[row]
                path = paths[labels.field[label]][labels.position[label]][place]
                updates[labels.batch.objects.sample[label]][path] = named
        return updates


def _in_order(columns: dict[str, NDArray[Any]], label_ids: Sequence[ObjectId], rows: IntArray) -> IntArray:
    """The rows by sample, annotator and label id, which is the order that breaks ties."""
    ids = id_bytes(label_ids).view(">u4").astype(np.int64)[rows]
    high, low = (ids[:, 0] << 32) | ids[:, 1], ids[:, 2]
    sample, annotator, field, position = (columns[name][rows] for name in ("sample", "annotator", "field", "position"))
    block = sample * (int(annotator.max(initial=0)) + 1) + annotator
    order = np.argsort(block, kind="stable")
    before, after = order[:-1], order[1:]
    ascending = (high[before] < high[after]) | ((high[before] == high[after]) & (low[before] <= low[after]))
    if not (ascending | (block[before] != block[after])).all():
        order = np.lexsort((position, field, low, high, block))
    return rows[order]


def sizes_px(rows: list[dict[str, Any]]) -> FloatArray:
    """Width and height of every image, ``(S, 2)``; nan where not known."""
    sizes = np.array([[pixels_or_0(length) for length in row["size"]] for row in rows], np.float64).reshape(-1, 2)
    return np.where((sizes > 0).all(axis=1, keepdims=True), sizes, np.nan)


def _with_crowd(columns: tuple[list[Any], ...], labels: ObjectLabels, agreement: MatchedBatch) -> tuple[list[Any], ...]:
    """Expand columns of the labels that count to all labels."""
    assigned = agreement.n_assigned[labels.batch.objects.sample]
    crowd = [CROWD if n >= 2 else None for n in assigned.tolist()]
    nothing = [None] * len(crowd)
    every = (crowd, nothing, nothing.copy(), nothing.copy(), assigned.tolist())
    rows = np.flatnonzero(agreement.counted).tolist()
    for column, counted in zip(every, columns, strict=True):
        for row, value in zip(rows, counted, strict=True):
            column[row] = value
    return every


def ids_of_objects(labels: ObjectLabels, agreement: MatchedBatch, annotators: Sequence[str]) -> list[str]:
    """The unit id of every label that counts."""
    unit, objects = agreement.matching.unit, agreement.batch.objects
    counted = np.flatnonzero(agreement.counted).tolist()
    first = np.full(agreement.matching.n_units, len(unit))
    np.minimum.at(first, unit, np.arange(len(unit)))
    of_first = [str(labels.label_ids[counted[k]]) for k in first.tolist()]
    ids = unit_ids(of_first, objects.sample[first], objects.annotator[first], annotators)
    return [ids[k] for k in unit.tolist()]
