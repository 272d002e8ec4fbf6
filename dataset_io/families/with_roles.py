"""Families whose annotators are compared with a reference and models, whose labels are read and written beside them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import compress
from typing import Any, Generic

import numpy as np

from ...agreement.matching.relations import Relation
from ...agreement.pixels.compute import TooManyValuesError, compare_masks
from ...agreement.pixels.counts import SampleMasks
from ...agreement.roles.matching import RoleLabels, match_annotators, match_role, role_columns, role_pair_columns
from ...agreement.roles.numbers import values_of_images
from ...agreement.roles.role_labels import Comparison, compared_roles
from ...agreement.statistics.codes import ClassCodes, CodeNames
from ...agreement.statistics.records import Columns, Records, compact, id_texts, packed
from ...agreement.statistics.report import ReportContext, RunFacts
from ...agreement.tags.compute import first_labels
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ...names import MISSED_BY, REFERENCE, REFERENCE_WORST
from ..labels.mask_reading import PhotographError, UnusableMaskError, check_same_shape, masks_error, read_mask
from ..labels.roles import check_roles
from ..labels.source import Role
from ..labels.stored import StoredSample, half_of, id_bytes, of_each_label
from .objects import ObjectFamily, ObjectLabels, ids_of_objects
from .pixels import PixelFamily, PixelLabels, n_workers
from .protocol import LabelFamily, Labels, LabelsRead
from .ratings import RatingFamily, RatingLabels
from .tags import TagLabels

#: the confidence of labels in a query result
_CONFIDENCE = "confidence"
#: names of the labels in the decisions of the reference, in a query result; they end with the id of the label
_DECIDED, _ID_LENGTH = "decided_labels", 24
#: parts of a query result that all readers of a sample need
_OF_SAMPLES = ("size", "assigned", "video", "_sample_id", "frame_number")


@dataclass(frozen=True, slots=True)
class WithRoles(Generic[Labels]):
    """The labels of annotators and of every role on some samples."""

    own: Labels
    roles: list[Any]
    #: ids of the labels of annotators that were decided on every sample; None if the reference holds no decisions
    decided: list[set[str]] | None

    def undecided(self, sample: IntArray, ids: Sequence[object]) -> BoolArray | None:
        """The labels of annotators ``(N,)`` of which the decisions say nothing; None without decisions."""
        if self.decided is None:
            return None
        of_labels = zip(sample.tolist(), ids, strict=True)
        return np.array([str(label_id) not in self.decided[k] for k, label_id in of_labels], np.bool_)


@dataclass(frozen=True, slots=True)
class WithRecords:
    """The agreement of annotators on some samples, and records with the labels of roles."""

    own: Any
    records: Records
    positions: Sequence[IntArray]  #: of every role, the place of each of its labels in the list in the database


class RoleReader:
    """Reads the labels of a role from the query results on the samples of a run, as those of a source with it alone."""

    def __init__(self, inner: LabelFamily[Any, Any], role: Role, number: int, family: LabelFamily[Any, Any]) -> None:
        self.role, self.number, self.family, source = role, number, family, inner.source
        self._field = source.number_read(role)
        self._projection = {name: value for name, value in family.projection().items() if name not in _OF_SAMPLES}
        if role.thresholds and not source.family.has_objects:
            path = source.paths_read[self._field]
            of_label = of_each_label(path, {"$ifNull": ["$$this.confidence", None]})
            self._projection[_CONFIDENCE] = f"${path}.confidence" if role.kind.list_name is None else of_label
        self._needs_label = role.of_attribute and source.config.assigned_field is None

    def projection(self) -> dict[str, Any]:
        """Projection of a document, with names of its own."""
        return {f"role{self.number}_{name}": value for name, value in self._projection.items()}

    def rows(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The query results as those of a source with the role alone."""
        found = []
        for row in rows:
            own = {name: row.get(f"role{self.number}_{name}") for name in self._projection}
            own["id0"] = row[f"id{self._field}"]
            if _CONFIDENCE in own:
                own = self._sure(own)
            own |= {name: row[name] for name in _OF_SAMPLES if name in row}
            if "labelled" in row:
                own["labelled"] = row["labelled"][self._field : self._field + 1]
            found.append(own)
        return found

    def _sure(self, own: dict[str, Any]) -> dict[str, Any]:
        """A query result without the labels below the threshold, which is the same for all images."""
        confidence, least = own.pop(_CONFIDENCE), self.role.thresholds[0]
        if self.role.kind.list_name is None:
            return own if (confidence or 0.0) >= least else dict.fromkeys(own)
        kept = [(value or 0.0) >= least for value in confidence or ()]
        return {name: None if values is None else list(compress(values, kept)) for name, values in own.items()}

    def read(self, rows: Sequence[dict[str, Any]], samples: Sequence[StoredSample]) -> Any:
        """The labels of the role on some samples."""
        alone = [dataclasses.replace(sample, label_ids=(sample.label_ids[self._field],)) for sample in samples]
        read = self.family.read(self.rows(rows), alone)
        labels = read.labels
        if self._needs_label and read.drew is not None:  # nobody says that it is there on other samples
            drew = {"assigned": read.drew}
            more = drew if isinstance(labels, TagLabels) else {"batch": dataclasses.replace(labels.batch, **drew)}
            labels = dataclasses.replace(labels, **more)
        if isinstance(labels, ObjectLabels) and self.role.thresholds:
            least = np.array(self.role.thresholds)[half_of(samples)][labels.batch.objects.sample]
            return self.family.among(labels, labels.confidence >= least)  # type: ignore[attr-defined]
        return labels

    def without(self, labels: Any, kept: BoolArray) -> Any:
        """The labels of some of the samples."""
        return self.family.without(labels, kept)

    def details(self) -> dict[str, Any]:
        """Entries on the role in the context of a report."""
        role = self.role
        return {
            "name": role.name,
            "is_model": role.is_model,
            "of_attribute": role.of_attribute,
            "thresholds": list(role.thresholds),
            **({} if role.decided is None else {"decided": role.decided}),
            **(self.family.context(RunFacts()).details if isinstance(self.family, ObjectFamily) else {}),
        }


class FamilyWithRoles(LabelFamily[WithRoles[Labels], WithRecords]):
    """A family that reads, compares and writes the labels of roles beside those of annotators.

    What is found, computed and written of annotators is that of a run without roles.

    Args:
        inner: the family of the annotators' labels
        known: the context of an earlier run, where only some samples are read
    """

    def __init__(self, inner: Any, known: ReportContext | None = None) -> None:
        self.source, self.inner = inner.source, inner
        self.role_codes = self._codes(() if known is None else known.role_class_names)
        self.readers = [self._reader(role, number, known) for number, role in enumerate(self.source.roles)]

    def _codes(self, names: Sequence[str]) -> ClassCodes:
        """Codes of the classes of all roles, of which some names are known."""
        return ClassCodes(self.source.config.aliases, names)

    def _reader(self, role: Role, number: int, known: ReportContext | None) -> RoleReader:
        """Reads the labels of a role, by a family of its own."""
        family = type(self.inner)(self.source.of_role(role))
        family.codes = self.role_codes
        return RoleReader(self.inner, role, number, family)

    def role_columns(self, labels: WithRoles[Labels], own: Any) -> tuple[Columns, Sequence[IntArray]]:
        """The columns of the records on roles, and the places of their labels, as of :class:`WithRecords`."""
        raise NotImplementedError

    def places(self, labels: Labels, own: Any) -> list[str | None]:
        """The path of every label of annotators in the records, if there is one to write on."""
        raise NotImplementedError

    # ---- reading ----

    def check(self) -> None:
        """Refuse labels that cannot be compared."""
        self.inner.check()
        check_roles(self.source)
        with ThreadPoolExecutor() as threads:  # each waits for queries
            list(threads.map(lambda reader: reader.family.check(), self.readers))

    def projection(self) -> dict[str, Any]:
        """Projection of the annotators' labels and of the labels of every role."""
        projection: dict[str, Any] = self.inner.projection()
        for reader in self.readers:
            projection |= reader.projection()
            if reader.role.log is not None:
                projection[_DECIDED] = f"${reader.role.log}.labels"
        return projection

    def load(self, row: dict[str, Any]) -> int:
        """Number of labels."""
        return sum([self.inner.load(row), *(reader.family.load(reader.rows([row])[0]) for reader in self.readers)])

    def read(self, rows: list[dict[str, Any]], samples: list[StoredSample]) -> LabelsRead[WithRoles[Labels]]:
        """The labels of query results."""
        read, decided = self.inner.read(rows, samples), None
        if any(reader.role.log is not None for reader in self.readers):
            decided = [{name[-_ID_LENGTH:] for names in row.get(_DECIDED) or () for name in names} for row in rows]
        roles = [reader.read(rows, samples) for reader in self.readers]
        found: LabelsRead[Any] = dataclasses.replace(read, labels=WithRoles(read.labels, roles, decided))
        return found

    def without(self, labels: WithRoles[Labels], kept: BoolArray) -> WithRoles[Labels]:
        """The labels of some of the samples."""
        roles = [reader.without(each, kept) for reader, each in zip(self.readers, labels.roles, strict=True)]
        decided = None if labels.decided is None else list(compress(labels.decided, kept))
        return WithRoles(self.inner.without(labels.own, kept), roles, decided)

    # ---- comparing ----

    def compute(self, labels: WithRoles[Labels]) -> WithRecords:
        """The agreement of the annotators, and the labels of roles beside theirs."""
        own = self.inner.compute(labels.own)
        records, (columns, positions) = self.inner.record(labels.own, own), self.role_columns(labels, own)
        return WithRecords(own, dataclasses.replace(records, parts=({**records.parts[0], **columns},)), positions)

    def record(self, labels: WithRoles[Labels], result: WithRecords) -> Records:
        """The records of a batch."""
        return result.records

    def code_names(self) -> CodeNames:
        """The classes and attribute values that were read so far."""
        return dataclasses.replace(self.inner.code_names(), roles=self.role_codes.looked_up())

    def context(self, run: RunFacts) -> ReportContext:
        """The context of the report."""
        context: ReportContext = self.inner.context(run)
        details = {**context.details, "roles": [reader.details() for reader in self.readers]}
        return dataclasses.replace(context, details=details, role_class_names=self.role_codes.names())

    # ---- writing ----

    def values(self, labels: WithRoles[Labels], result: WithRecords) -> list[dict[str, Any]]:
        """The values of every sample by path."""
        updates: list[dict[str, Any]] = self.inner.values(labels.own, result.own)
        compared = compared_roles(result.records, self.context(RunFacts()))
        for role, position, each in zip(self.source.roles, result.positions, compared, strict=True):
            path, sample = self.source.paths_read[self.source.number_read(role)], each.labels.sample[each.own].tolist()
            paths = [f"{path}.{place}.{self.source.config.run_key}" for place in position.tolist()]
            self._on_role(labels, result, each, sample, paths, updates)
            if not role.is_model:
                self._on_annotators(self.places(labels.own, result.own), each, updates)
                missed = each.missed()
                of_role = np.searchsorted(each.own, each.wanted[missed])
                for label, named in Relation(of_role, each.wanted_of[missed]).names(self.source.annotators).items():
                    updates[sample[label]][paths[label] + MISSED_BY] = named
                self._on_samples(each, updates)
        return updates

    def _on_role(
        self, labels: Any, result: WithRecords, compared: Comparison, sample: list[int], paths: list[str], updates: Any
    ) -> None:
        """Add what is written on the labels of a role: of objects their unit."""

    def _on_annotators(self, paths: list[str | None], compared: Comparison, updates: list[dict[str, Any]]) -> None:
        """Add the reference's verdict on every label of annotators."""
        key, columns = self.source.config.run_key, (compared.labels.sample.tolist(), compared.said().tolist())
        for path, sample, said in zip(paths, *columns, strict=False):
            if path is not None and said is not None:
                updates[sample][f"{path}.{key}{REFERENCE}"] = said

    def _on_samples(self, compared: Comparison, updates: list[dict[str, Any]]) -> None:
        """Add the mean over annotators of their numbers on every sample, and who has the lowest below 1."""
        key, name, values = self.source.config.run_key, compared.kind.of_image[1], values_of_images(compared)
        for sample in np.flatnonzero(~np.isnan(values).all(axis=1)).tolist():
            lowest = np.nanmin(values[sample])
            updates[sample][f"{key}{REFERENCE}_{name}"] = float(np.nanmean(values[sample]))
            if lowest < 1.0:
                worst = np.flatnonzero(values[sample] <= lowest).tolist()
                updates[sample][f"{key}{REFERENCE_WORST}"] = [self.source.annotators[k] for k in worst]


class ObjectsWithRoles(FamilyWithRoles[ObjectLabels]):
    """The objects of annotators, and those of roles beside them."""

    def _codes(self, names: Sequence[str]) -> ClassCodes:
        codes: ClassCodes = self.inner.codes_of(names)
        return codes

    def _reader(self, role: Role, number: int, known: ReportContext | None) -> RoleReader:
        of_role = self.source.of_role(role)
        if known is not None:
            details = known.details["roles"][number]
            known = dataclasses.replace(known, class_names=known.role_class_names, details=details)
        family = ObjectFamily(of_role, known)
        if family.in_pixels and not self.inner.in_pixels:  # annotators who drew boxes are compared with boxes
            of_role = dataclasses.replace(of_role, config=dataclasses.replace(of_role.config, geometry="box"))
            family = ObjectFamily(of_role, known)
        family.in_pixels = self.inner.in_pixels
        family.codes, family.attribute_codes = self.role_codes, self.inner.attribute_codes
        family.reads_confidence, family.needs_attributes = role.is_model, False
        return RoleReader(self.inner, role, number, family)

    def class_codes(self) -> IntArray:
        """For every code of the classes of roles, the code of the annotators' classes."""
        return self.role_codes.codes_in(self.inner.codes)

    def role_columns(self, labels: WithRoles[ObjectLabels], own: Any) -> tuple[Columns, Sequence[IntArray]]:
        """The labels of roles, and their pairs with those of annotators; and of these where there is a model."""
        config, codes, read = self.source.config, self.class_codes(), labels.own.batch
        undecided = labels.undecided(read.objects.sample, labels.own.label_ids)
        found, pairs, positions = [], [], []
        for role, each in zip(self.source.roles, labels.roles, strict=True):
            batch, of_log = each.batch, None if role.log is None else undecided
            kept, matched = match_role(own, read, batch, codes, config, of_log)
            more: Columns = {"area": batch.geometry.area[kept].astype(np.float32)}
            boxes = batch.geometry.boxes_xyxy()
            if boxes is not None:
                more["boxes"] = boxes[kept].astype(np.float32)
            if config.attributes:
                more["attributes"] = compact(np.column_stack(batch.attributes)[kept])
            columns = batch.objects.sample[kept], batch.objects.category[kept], id_bytes(each.label_ids)[kept]
            found.append(RoleLabels(batch.assigned[:, 0], *columns, more))
            pairs.append(matched)
            positions.append(each.position[kept])
        of_two = match_annotators(own.batch, config) if config.models else None
        n = len(self.source.annotators)
        return {**role_columns(found), **role_pair_columns(found, pairs, of_two, own.batch.objects, n)}, positions

    def places(self, labels: ObjectLabels, own: Any) -> list[str | None]:
        """The labels that count."""
        counted, paths = np.flatnonzero(own.counted), self.source.label_paths
        columns = labels.field[counted].tolist(), labels.position[counted].tolist()
        return [f"{paths[field]}.{position}" for field, position in zip(*columns, strict=True)]

    def _on_role(
        self, labels: Any, result: WithRecords, compared: Comparison, sample: list[int], paths: list[str], updates: Any
    ) -> None:
        ids = ids_of_objects(labels.own, result.own, self.source.annotators)
        drawn = compared.most_matched(result.own.unit).tolist()
        for at, path, row in zip(sample, paths, drawn, strict=True):
            updates[at][f"{path}_id"] = ids[row] if row >= 0 else None


class RatingsWithRoles(FamilyWithRoles[RatingLabels]):
    """The ratings of annotators, and those of roles beside them."""

    inner: RatingFamily

    def role_columns(self, labels: WithRoles[RatingLabels], own: Any) -> tuple[Columns, Sequence[IntArray]]:
        """The ratings of roles."""
        found = []
        for each in labels.roles:
            ratings = each.ratings[:, 0]
            sample = np.flatnonzero(~np.isnan(ratings))
            category = ratings[sample] if self.inner.numbers else ratings[sample].astype(np.int64)
            ids = None if each.label_ids is None else each.label_ids[sample, 0]
            found.append(RoleLabels(~np.isnan(ratings), sample, category, ids))
        return role_columns(found), [np.empty(0, np.int64)] * len(found)

    def places(self, labels: RatingLabels, own: Any) -> list[str | None]:
        """The fields of labels; plain values have nothing to write on."""
        columns = zip(self.source.field_annotator, self.source.kinds, self.source.label_paths, strict=True)
        paths = {annotator: path for annotator, kind, path in columns if kind.is_label}
        return [paths.get(annotator) for annotator in np.nonzero(own.given)[1].tolist()]

    def _on_samples(self, compared: Comparison, updates: list[dict[str, Any]]) -> None:
        """Nothing: a label says it."""


class TagsWithRoles(FamilyWithRoles[TagLabels]):
    """The tags of annotators, and those of roles beside them."""

    def role_columns(self, labels: WithRoles[TagLabels], own: Any) -> tuple[Columns, Sequence[IntArray]]:
        """The tags of roles, each once, in the order of the database.

        Decisions are no reference where somebody gave a tag that nobody decided.
        """
        given, found, positions = labels.own, [], []
        undecided = labels.undecided(given.sample, id_texts(given.label_ids))
        for role, each in zip(self.source.roles, labels.roles, strict=True):
            first, present = np.sort(first_labels(each.sample, each.annotator, each.tag)), each.assigned[:, 0].copy()
            if undecided is not None and role.log is not None:
                present[given.sample[undecided]] = False
            found.append(RoleLabels(present, each.sample[first], each.tag[first], each.label_ids[first]))
            positions.append(each.position[first])
        return role_columns(found), positions

    def places(self, labels: TagLabels, own: Any) -> list[str | None]:
        """The labels that count."""
        first, paths = first_labels(labels.sample, labels.annotator, labels.tag), self.source.label_paths
        columns = labels.field[first].tolist(), labels.position[first].tolist()
        return [f"{paths[field]}.{position}" for field, position in zip(*columns, strict=True)]


#: the mask of every annotator with that of a role, by annotator; None where the role has no mask
_Compared = dict[int, SampleMasks] | None


class _MaskReader(RoleReader):
    """Reads the masks of one role, and compares each with those of the annotators."""

    def __init__(self, inner: PixelFamily, role: Role, number: int) -> None:
        self._masks, self._inner = PixelFamily(inner.source.of_role(role)), inner
        super().__init__(inner, role, number, self._masks)

    def read(self, rows: Sequence[dict[str, Any]], samples: Sequence[StoredSample]) -> list[_Compared]:
        """The compared masks of every sample."""
        with ThreadPoolExecutor(n_workers(), "agreement-role") as workers:
            compared = list(workers.map(self._compare, rows, self.rows(rows)))
        problems = [(sample.title, error) for sample, (_, error) in zip(samples, compared, strict=True) if error]
        if problems and self._inner.source.config.invalid == "error":
            raise masks_error(problems)
        return [found for found, _ in compared]

    def _compare(self, row: dict[str, Any], own: dict[str, Any]) -> tuple[_Compared, UnusableMaskError | None]:
        """Masks of one sample, and the defect of that of the role, if any."""
        inner, config = self._inner, self._inner.source.config
        stored, error = self._masks.stored_mask(own, 0), None
        if stored is None:
            return None, None
        try:
            true = read_mask(stored)
        except UnusableMaskError as problem:
            return None, problem
        found: dict[int, SampleMasks] = {}
        for field in inner.present(row):
            mask = inner.stored_mask(row, field)
            try:
                drawn = None if mask is None else read_mask(mask)
            except UnusableMaskError:  # it is none of the annotators' masks
                drawn = None
            if drawn is None:
                continue
            try:
                check_same_shape({config.fields[field]: drawn.shape, self.role.name: true.shape}, inner.is_rgb)
                pair, areas_alone = (drawn.values, true.values), dataclasses.replace(config, boundaries=False)
                found[inner.source.field_annotator[field]] = compare_masks(pair, (0, 1), inner.meaning, areas_alone)
            except UnusableMaskError as problem:
                error = problem
            except TooManyValuesError as problem:
                error = PhotographError(str(problem))
        return found, error

    def without(self, labels: list[_Compared], kept: BoolArray) -> list[_Compared]:
        """The masks of some of the samples."""
        return list(compress(labels, kept))


class MasksWithRoles(FamilyWithRoles[PixelLabels]):
    """The masks of annotators, and those of roles beside them."""

    def _reader(self, role: Role, number: int, known: ReportContext | None) -> RoleReader:
        return _MaskReader(self.inner, role, number)

    def check(self) -> None:
        """Refuse options and masks that cannot be used; sizes and mask targets must be those of the annotators."""
        check_roles(self.source)
        config, n = self.source.config, len(self.source.kinds_read)
        config = dataclasses.replace(config, fields=(*config.fields, *config.roles), reference=None, models=())
        everybody = dataclasses.replace(self.source, config=config, kinds=self.source.kinds_read, roles=(),
                                        annotators=config.fields, field_annotator=tuple(range(n)))  # fmt: skip
        family = PixelFamily(everybody)
        family.check()
        self.inner.is_rgb = family.is_rgb

    def role_columns(self, labels: WithRoles[PixelLabels], own: Any) -> tuple[Columns, Sequence[IntArray]]:
        """The pixels of every value in the masks of roles and of annotators whose masks count."""
        assigned = labels.own.assigned
        found = [
            (sample, role, annotator, masks)
            for sample in range(len(assigned))
            for role, compared in enumerate(labels.roles)
            for annotator, masks in sorted((compared[sample] or {}).items())
            if assigned[sample, annotator]
        ]
        n = [len(masks.values) for *_, masks in found]
        where = np.repeat(np.array([place for *place, _ in found], np.int64).reshape(-1, 3), n, axis=0)
        areas = [np.stack([masks.values, *masks.areas, *masks.shared]) for *_, masks in found]
        # of two masks, the role's last
        columns = np.concatenate([where.T[1:], np.concatenate([np.zeros((4, 0), np.int64), *areas], axis=1)])
        names = ("role", "annotator", "value", "drawn", "wanted", "shared")
        present = np.array([[each is not None for each in role] for role in labels.roles], np.bool_).T
        return {
            "role_present": packed(present.reshape(len(assigned), -1)),
            "n_role_areas": compact(np.bincount(where[:, 0], minlength=len(assigned))),
            **{f"area_{name}": compact(column.astype(np.int64)) for name, column in zip(names, columns, strict=True)},
        }, [np.empty(0, np.int64)] * len(labels.roles)

    def places(self, labels: PixelLabels, own: Any) -> list[str | None]:
        """None: what is written on masks are numbers."""
        return []

    def _on_samples(self, compared: Comparison, updates: list[dict[str, Any]]) -> None:
        """The same of every mask, and the mean on samples."""
        super()._on_samples(compared, updates)
        source, values = self.source, values_of_images(compared)
        suffix = f"{source.config.run_key}{REFERENCE}_{compared.kind.of_image[1]}"
        for path, annotator in zip(source.label_paths, source.field_annotator, strict=True):
            of_annotator: FloatArray = values[:, annotator]
            for k in np.flatnonzero(~np.isnan(of_annotator)).tolist():
                updates[k][f"{path}.{suffix}"] = float(of_annotator[k])
