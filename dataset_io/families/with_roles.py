"""Families whose annotators are compared with a reference and models, whose labels are read and written beside them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import compress
from typing import Any, Generic

import numpy as np

from ...agreement.families.family import OBJECTS, PIXELS, RATINGS, TAGS
from ...agreement.matching.relations import Relation
from ...agreement.pixels.compute import SampleMasks, TooManyValuesError, compare_masks
from ...agreement.roles.matching import RoleLabels, match_annotators, match_role, role_columns, role_pair_columns
from ...agreement.roles.numbers import values_of_images
from ...agreement.roles.role_labels import Comparison, compared_roles
from ...agreement.statistics.codes import ClassCodes, CodeNames
from ...agreement.statistics.records import Columns, Records, compact, id_texts, packed
from ...agreement.statistics.report import ReportContext, RunFacts
from ...agreement.tags.compute import first_labels
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ...names import MISSED_BY, REFERENCE, REFERENCE_WORST
from ..labels.mask_reading import (
    PHOTOGRAPH,
    StoredMask,
    UnusableMaskError,
    check_same_shape,
    masks_error,
    read_mask,
)
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
_OF_SAMPLES = ("size", "assigned", "_sample_id", "frame_number")


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


#: the mask of every annotator with that of a role, by annotator; None where the role has no mask
_Compared = dict[int, SampleMasks] | None


class RoleReader:
    """Reads the labels of a role from the query results on the samples of a run, as those of a source with it alone."""

    def __init__(self, inner: Any, role: Role, number: int, family: LabelFamily[Any, Any]) -> None:
        self.inner, self.role, self.family, source = inner, role, family, inner.source
        self._field = source.number_read(role)
        columns = {name: value for name, value in family.projection().items() if name not in _OF_SAMPLES}
        if role.thresholds and not source.family.has_objects:
            path = source.paths_read[self._field]
            of_label = of_each_label(path, {"$ifNull": ["$$this.confidence", None]})
            columns[_CONFIDENCE] = f"${path}.confidence" if role.kind.list_name is None else of_label
        self._names = {name: f"role{number}_{name}" for name in columns}
        #: projection of a document, with names of its own
        self.projection = {self._names[name]: value for name, value in columns.items()}
        if role.log is not None:
            self.projection[_DECIDED] = f"${role.log}.labels"

    def rows(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The query results as those of a source with the role alone."""
        found = []
        for row in rows:
            own = {name: row.get(read) for name, read in self._names.items()} | {"id0": row[f"id{self._field}"]}
            if _CONFIDENCE in own:  # without the labels below the threshold, which is the same for all images
                confidence, least = own.pop(_CONFIDENCE), self.role.thresholds[0]
                if self.role.kind.list_name is not None:
                    kept = [(value or 0.0) >= least for value in confidence or ()]
                    own = {
                        name: values if values is None else list(compress(values, kept)) for name, values in own.items()
                    }
                elif (confidence or 0.0) < least:
                    own = dict.fromkeys(own)
            own |= {name: row[name] for name in _OF_SAMPLES if name in row}
            if "labelled" in row:
                own["labelled"] = row["labelled"][self._field : self._field + 1]
            found.append(own)
        return found

    def read(self, rows: Sequence[dict[str, Any]], samples: Sequence[StoredSample]) -> Any:
        """The labels of the role on some samples; of masks those of every sample, see ``_Compared``."""
        if isinstance(self.inner, PixelFamily):
            with ThreadPoolExecutor(n_workers(), "agreement-role") as workers:
                compared = list(workers.map(self._compare, rows, self.rows(rows)))
            problems = [(sample.title, error) for sample, (_, error) in zip(samples, compared, strict=True) if error]
            if problems and self.inner.source.config.invalid == "error":
                raise masks_error(problems)
            return [found for found, _ in compared]
        alone = [dataclasses.replace(sample, label_ids=(sample.label_ids[self._field],)) for sample in samples]
        read = self.family.read(self.rows(rows), alone)
        labels, no_list = read.labels, self.role.of_attribute and self.inner.source.config.assigned_field is None
        if no_list and read.drew is not None:  # nobody says that it is there on other samples
            drew = {"assigned": read.drew}
            more = drew if isinstance(labels, TagLabels) else {"batch": dataclasses.replace(labels.batch, **drew)}
            labels = dataclasses.replace(labels, **more)
        if isinstance(self.family, ObjectFamily) and self.role.thresholds:
            least = np.array(self.role.thresholds)[half_of(samples)][labels.batch.objects.sample]
            return self.family.among(labels, labels.confidence >= least)
        return labels

    def _compare(self, row: dict[str, Any], own: dict[str, Any]) -> tuple[_Compared, UnusableMaskError | None]:
        """Masks of one sample, and the defect of that of the role, if any."""
        inner, config, error = self.inner, self.inner.source.config, None
        if own["id0"] is None:
            return None, None
        try:
            true = read_mask(StoredMask(own["mask0"], own["mask_path0"]))
        except UnusableMaskError as problem:
            return None, problem
        found: dict[int, SampleMasks] = {}
        for field in inner.present(row):
            try:
                drawn = read_mask(StoredMask(row[f"mask{field}"], row[f"mask_path{field}"]))
            except UnusableMaskError:  # it is none of the annotators' masks
                continue
            try:
                check_same_shape({config.fields[field]: drawn.shape, self.role.name: true.shape}, inner.is_rgb)
                pair, areas_alone = (drawn.values, true.values), dataclasses.replace(config, boundaries=False)
                found[inner.source.field_annotator[field]] = compare_masks(pair, inner.meaning, areas_alone)
            except UnusableMaskError as problem:
                error = problem
            except TooManyValuesError as problem:
                error = UnusableMaskError(str(problem), PHOTOGRAPH)
        return found, error


class FamilyWithRoles(LabelFamily[WithRoles[Labels], WithRecords]):
    """A family that reads, compares and writes the labels of roles beside those of annotators.

    What is found, computed and written of annotators is that of a run without roles.

    Args:
        inner: the family of the annotators' labels
        known: the context of an earlier run, where only some samples are read
    """

    def __init__(self, inner: Any, known: ReportContext | None = None) -> None:
        self.source, self.inner, self.has_objects = inner.source, inner, isinstance(inner, ObjectFamily)
        names = () if known is None else known.role_class_names
        self.role_codes = inner.codes_of(names) if self.has_objects else ClassCodes(self.source.config.aliases, names)
        self.readers = []
        for number, role in enumerate(self.source.roles):
            of_role, own = self.source.of_role(role), None
            if known is not None and self.has_objects:
                details = known.details["roles"][number]
                own = dataclasses.replace(known, class_names=known.role_class_names, details=details)
            family = type(inner)(of_role, own)
            if self.has_objects:
                if family.in_pixels and not inner.in_pixels:  # annotators who drew boxes are compared with boxes
                    config = dataclasses.replace(of_role.config, geometry="box")
                    family = ObjectFamily(dataclasses.replace(of_role, config=config), own)
                family.in_pixels, family.attribute_codes = inner.in_pixels, inner.attribute_codes
                family.reads_confidence, family.needs_attributes = role.is_model, False
            family.codes = self.role_codes
            self.readers.append(RoleReader(inner, role, number, family))

    def class_codes(self) -> IntArray:
        """For every code of the classes of roles, the code of the annotators' classes."""
        codes: IntArray = self.role_codes.codes_in(self.inner.codes)
        return codes

    # ---- reading ----

    def check(self) -> None:
        """Refuse labels that cannot be compared; sizes of masks and mask targets must be those of the annotators."""
        if isinstance(self.inner, PixelFamily):
            check_roles(self.source)
            config, n = self.source.config, len(self.source.kinds_read)
            config = dataclasses.replace(config, fields=(*config.fields, *config.roles), reference=None, models=())
            everybody = dataclasses.replace(self.source, config=config, kinds=self.source.kinds_read, roles=(),
                                            annotators=config.fields, field_annotator=tuple(range(n)))  # fmt: skip
            family = PixelFamily(everybody)
            family.check()
            self.inner.is_rgb = family.is_rgb
            return
        self.inner.check()
        check_roles(self.source)
        with ThreadPoolExecutor() as threads:  # each waits for queries
            list(threads.map(lambda reader: reader.family.check(), self.readers))

    def projection(self) -> dict[str, Any]:
        """Projection of the annotators' labels and of the labels of every role."""
        projection: dict[str, Any] = self.inner.projection()
        for reader in self.readers:
            projection |= reader.projection
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

    # ---- comparing ----

    def compute(self, labels: WithRoles[Labels]) -> WithRecords:
        """The agreement of the annotators, and the labels of roles beside theirs."""
        own = self.inner.compute(labels.own)
        columns, positions = _BESIDE[self.source.family.name](self, labels, own)
        records = self.inner.record(labels.own, own)
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
        details = [
            {
                "name": role.name,
                "is_model": role.is_model,
                "of_attribute": role.of_attribute,
                "thresholds": list(role.thresholds),
                **({} if role.decided is None else {"decided": role.decided}),
                **(reader.family.context(RunFacts()).details if self.has_objects else {}),
            }
            for reader in self.readers
            for role in [reader.role]
        ]
        return dataclasses.replace(
            context, details={**context.details, "roles": details}, role_class_names=self.role_codes.names()
        )

    # ---- writing ----

    def values(self, labels: WithRoles[Labels], result: WithRecords) -> list[dict[str, Any]]:
        """The values of every sample by path."""
        own_labels: Any = labels.own
        updates: list[dict[str, Any]] = self.inner.values(own_labels, result.own)
        source, key = self.source, self.source.config.run_key
        compared = compared_roles(result.records, self.context(RunFacts()))
        for role, position, each in zip(source.roles, result.positions, compared, strict=True):
            path, sample = source.paths_read[source.number_read(role)], each.labels.sample.tolist()
            own = each.own.tolist()
            paths = dict(zip(own, (f"{path}.{place}.{key}" for place in position.tolist()), strict=False))
            if self.has_objects:  # their unit
                ids = ids_of_objects(own_labels, result.own, source.annotators)
                for row, of_unit in zip(own, each.most_matched(result.own.unit).tolist(), strict=True):
                    updates[sample[row]][f"{paths[row]}_id"] = ids[of_unit] if of_unit >= 0 else None
            if role.is_model:
                continue
            places = _places(self, own_labels, result.own)
            for of_label, k, said in zip(places, sample, each.said().tolist(), strict=False):
                if of_label is not None and said is not None:
                    updates[k][f"{of_label}.{key}{REFERENCE}"] = said
            missed = each.missed()
            named = Relation(each.wanted[missed], each.wanted_of[missed]).names(source.annotators)
            for row, names in named.items():
                updates[sample[row]][paths[row] + MISSED_BY] = names
            if not isinstance(self.inner, RatingFamily):  # a label says it
                self._add_of_images(each, updates)
        return updates

    def _add_of_images(self, compared: Comparison, updates: list[dict[str, Any]]) -> None:
        """Add the mean over annotators of their numbers on every sample, who has the lowest below 1; masks' own."""
        key, values, source = self.source.config.run_key, values_of_images(compared), self.source
        suffix = f"{REFERENCE}_{compared.kind.of_image[1]}"
        for sample in np.flatnonzero(~np.isnan(values).all(axis=1)).tolist():
            lowest = np.nanmin(values[sample])
            updates[sample][f"{key}{suffix}"] = float(np.nanmean(values[sample]))
            if lowest < 1.0:
                worst = np.flatnonzero(values[sample] <= lowest).tolist()
                updates[sample][f"{key}{REFERENCE_WORST}"] = [source.annotators[k] for k in worst]
        if isinstance(self.inner, PixelFamily):
            for path, annotator in zip(source.label_paths, source.field_annotator, strict=True):
                of_annotator: FloatArray = values[:, annotator]
                for k in np.flatnonzero(~np.isnan(of_annotator)).tolist():
                    updates[k][f"{path}.{key}{suffix}"] = float(of_annotator[k])


def _places(family: FamilyWithRoles[Any], labels: Any, own: Any) -> list[str | None]:
    """The path of every label of annotators in the records; None where there is no label, as of plain values.

    What is written on masks are numbers.
    """
    source = family.source
    if isinstance(labels, PixelLabels):
        return []
    if isinstance(labels, RatingLabels):
        columns = zip(source.field_annotator, source.kinds, source.label_paths, strict=True)
        paths = {annotator: path for annotator, kind, path in columns if kind.is_label}
        return [paths.get(annotator) for annotator in np.nonzero(own.given)[1].tolist()]
    if isinstance(labels, TagLabels):
        counted = first_labels(labels.sample, labels.annotator, labels.tag)
    else:
        counted = np.flatnonzero(own.counted)
    places = zip(labels.field[counted].tolist(), labels.position[counted].tolist(), strict=True)
    return [f"{source.label_paths[field]}.{position}" for field, position in places]


#: columns of the records on roles, and of every role the place of each of its labels in the list in the database
_Beside = tuple[Columns, Sequence[IntArray]]


def _objects(family: FamilyWithRoles[ObjectLabels], labels: WithRoles[ObjectLabels], own: Any) -> _Beside:
    """The labels of roles, and their pairs with those of annotators; and of these where there is a model."""
    source, config, read, codes = family.source, family.source.config, labels.own.batch, family.class_codes()
    undecided = labels.undecided(read.objects.sample, labels.own.label_ids)
    found, pairs, positions = [], [], []
    for role, each in zip(source.roles, labels.roles, strict=True):
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
    of_two, n = match_annotators(own.batch, config) if config.models else None, len(source.annotators)
    return {**role_columns(found), **role_pair_columns(found, pairs, of_two, own.batch.objects, n)}, positions


def _ratings(family: FamilyWithRoles[RatingLabels], labels: WithRoles[RatingLabels], own: Any) -> _Beside:
    """The ratings of roles."""
    found = []
    for each in labels.roles:
        ratings = each.ratings[:, 0]
        sample = np.flatnonzero(~np.isnan(ratings))
        category = ratings[sample] if family.inner.numbers else ratings[sample].astype(np.int64)
        ids = None if each.label_ids is None else each.label_ids[sample, 0]
        found.append(RoleLabels(~np.isnan(ratings), sample, category, ids))
    return role_columns(found), [np.empty(0, np.int64)] * len(found)


def _tags(family: FamilyWithRoles[TagLabels], labels: WithRoles[TagLabels], own: Any) -> _Beside:
    """The tags of roles, each once, in the order of the database.

    Decisions are no reference where somebody gave a tag that nobody decided.
    """
    given, found, positions = labels.own, [], []
    undecided = labels.undecided(given.sample, id_texts(given.label_ids))
    for role, each in zip(family.source.roles, labels.roles, strict=True):
        first, present = np.sort(first_labels(each.sample, each.annotator, each.tag)), each.assigned[:, 0].copy()
        if undecided is not None and role.log is not None:
            present[given.sample[undecided]] = False
        found.append(RoleLabels(present, each.sample[first], each.tag[first], each.label_ids[first]))
        positions.append(each.position[first])
    return role_columns(found), positions


def _masks(family: FamilyWithRoles[PixelLabels], labels: WithRoles[PixelLabels], own: Any) -> _Beside:
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


_BESIDE: dict[str, Callable[[Any, Any, Any], _Beside]] = {
    OBJECTS.name: _objects,
    RATINGS.name: _ratings,
    TAGS.name: _tags,
    PIXELS.name: _masks,
}
