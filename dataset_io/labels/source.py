"""The source of a run: its samples, label fields and annotators, checked before anything is read or written."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import fiftyone as fo
import fiftyone.core.media as fom
import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from pymongo.collection import Collection

from ... import names
from ...agreement.families.family import Family
from ...agreement.ratings.compute import level_of
from ...agreement.settings.config import AgreementConfig
from ...agreement.settings.errors import AgreementInputError, did_you_mean, shown
from ...agreement.settings.no_labels import check_named, drew_nothing
from ...agreement.settings.options import value_name
from ...metrics.numeric.arrays import BoolArray
from ..database.fiftyone_private import (
    all_slices,
    default_fields,
    document_fields,
    frame_collection,
    has_frame_fields,
    is_dynamic_groups,
    is_generated,
    pipeline_of,
    root_dataset,
    sample_collection,
    stored_dataset,
    view_kind,
)
from .geometry_readers import GeometryReader
from .kinds import LabelKind, kind_of, titles
from .stored import all_fields, gold_of, is_of_frames, run_of

#: stages and operators of MongoDB with random results
_DRAWS = {"$sample", "$sampleRate", "$rand"}


@dataclass(frozen=True, slots=True)
class Shard:
    """A range of samples, of groups or of videos, by their ids; the shards together contain all samples."""

    key: str  #: path of the id in a sample
    low: ObjectId | None  #: the first id; None: no limit
    high: ObjectId | None  #: the first id of the next shard; None: no limit

    def stages(self, key: str) -> list[dict[str, Any]]:
        """Stages that keep the documents whose id at a path is in the range."""
        # with ``$not``, so that documents without such an id are in the first shard
        below = [] if self.high is None else [{key: {"$not": {"$gte": self.high}}}]
        matched = [*below, *([] if self.low is None else [{key: {"$gte": self.low}}])]
        return [{"$match": {"$and": matched}}] if matched else []


@dataclass(frozen=True, slots=True)
class Role:
    """A reference or a model: annotators are compared with its labels, but it is no annotator itself."""

    name: str  #: its field, or its value of the attribute
    is_model: bool  #: whether it is a model; else the reference
    field: str  #: the field of its labels
    kind: LabelKind  #: type of these labels
    of_attribute: bool  #: whether it is a value of the attribute of the annotators' field
    thresholds: tuple[float, ...] = ()  #: least confidence of its labels on either half of the images; empty for none
    log: str | None = None  #: field with the decisions behind its labels; None if it holds no decisions
    decided: str | None = (
        None  #: state of these decisions: a text that changes with every decision, and when one is taken back
    )
    n_by_rule: int = 0  #: how many of these decisions a rule made


@dataclass(frozen=True)
class Source:
    """The samples, label fields and annotators of a run.

    Documents are samples, or frames where the fields are frame fields.
    """

    samples: SampleCollection  #: the dataset or view
    config: AgreementConfig  #: the options
    kinds: tuple[LabelKind, ...]  #: type of the labels of every field
    annotators: tuple[str, ...]  #: names, sorted
    #: annotator of every field (field mode), as index into ``annotators``; -1 where an attribute names them
    field_annotator: tuple[int, ...]
    annotator_values: tuple[str, ...] = ()  #: attribute value of every annotator (attribute mode)
    #: unique id of the run; never reused, not even for the same key
    run_id: str = dataclasses.field(default_factory=lambda: str(ObjectId()))
    among: tuple[ObjectId, ...] | None = None  #: only these samples; for frames, only the frames of these videos
    shard: Shard | None = None  #: only the samples in this range
    roles: tuple[Role, ...] = ()  #: the reference, if there is one, then the models

    @cached_property
    def dataset(self) -> fo.Dataset:
        """The dataset that holds the samples."""
        return stored_dataset(self.samples)

    @cached_property
    def on_frames(self) -> bool:
        """True if the documents are frames of videos."""
        return is_of_frames(self.config.fields[0])

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields within a document."""
        return tuple(name.removeprefix(names.FRAMES_PREFIX) for name in self.config.fields)

    @property
    def collection(self) -> Collection[dict[str, Any]]:
        """The collection of the documents."""
        return frame_collection(self.dataset) if self.on_frames else sample_collection(self.dataset)

    @cached_property
    def annotator_numbers(self) -> dict[str, int]:
        """Index into ``annotators`` of every value of the attribute (attribute mode)."""
        return {value: k for k, value in enumerate(self.annotator_values)}

    def owner(self, field: int) -> int | None:
        """Index into ``annotators`` of the owner of a field; None if an attribute of its labels names them."""
        number = self.field_annotator[field] if field < len(self.field_annotator) else -1
        return None if number < 0 else number

    def naming(self, field: int) -> str | None:
        """The attribute that names the annotators of the labels of a field; None if the field has one owner."""
        return self.config.annotator_attribute if self.owner(field) is None else None

    @cached_property
    def number_of_name(self) -> dict[str, int]:
        """Index into ``annotators`` of every name that users may give an annotator: its own, and that of its field."""
        if self.config.attribute_mode:
            return {**{name: k for k, name in enumerate(self.annotators)}, **self.annotator_numbers}
        of_fields = dict(zip((*self.config.fields, *self.fields), self.field_annotator * 2, strict=True))
        return {**of_fields, **{name: k for k, name in enumerate(self.annotators)}}

    @cached_property
    def null_means_nothing(self) -> BoolArray:
        """True for annotators whose null label lists mean that they drew nothing, shape ``(R,)``."""
        called: list[list[str]] = [[] for _ in self.annotators]
        for name, number in self.number_of_name.items():
            called[number].append(name)
        return np.array([drew_nothing(self.config.no_labels, names) for names in called], np.bool_)

    @cached_property
    def is_view(self) -> bool:
        """True if the samples are a view, which may filter labels or repeat samples."""
        return isinstance(self.samples, fo.DatasetView)

    @property
    def family(self) -> Family:
        """Family of the label types."""
        return self.kinds[0].family

    @cached_property
    def geometry_readers(self) -> tuple[GeometryReader, ...]:
        """Geometry reader of every field; empty if labels are not objects."""
        return tuple(kind.geometry for kind in self.kinds if kind.geometry is not None)

    @cached_property
    def groups(self) -> frozenset[str]:
        """Names by which options can refer to these labels; see ``LabelKind.groups``."""
        return frozenset[str]().union(*(kind.groups for kind in self.kinds))

    @cached_property
    def label_paths(self) -> tuple[str, ...]:
        """Path in a document of the label, or of the list of labels, of every field."""
        return tuple(kind.label_path(name) for kind, name in zip(self.kinds, self.fields, strict=True))

    @cached_property
    def schema_paths(self) -> tuple[str, ...]:
        """The same paths in the schema of the dataset."""
        return tuple(kind.label_path(name) for kind, name in zip(self.kinds, self.config.fields, strict=True))

    @cached_property
    def _beside(self) -> tuple[Role, ...]:
        """The roles with a field of their own."""
        return tuple(role for role in self.roles if not role.of_attribute)

    def number_read(self, role: Role) -> int:
        """Place of the field of a role among the fields that are read: those of annotators, then those of roles."""
        return 0 if role.of_attribute else len(self.kinds) + self._beside.index(role)

    @cached_property
    def everybody(self) -> Source:
        """The source with its roles as further annotators, after the others; without roles the source itself."""
        if not self.roles:
            return self
        config, every, n = self.config, tuple(role.name for role in self.roles), len(self.annotators)
        config = dataclasses.replace(
            config,
            fields=(*config.fields, *(role.field for role in self._beside)),
            annotators=(*config.annotators, *every) if config.annotators else (),
            reference=None,
            models=(),
        )
        owners = self.field_annotator or (-1,) * len(self.kinds)
        return dataclasses.replace(
            self,
            config=config,
            kinds=(*self.kinds, *(role.kind for role in self._beside)),
            annotators=(*self.annotators, *every),
            field_annotator=(*owners, *(n + self.roles.index(role) for role in self._beside)),
            annotator_values=(*self.annotator_values, *every),
            roles=(),
        )

    def fields_written(self, run_key: str) -> dict[str, names.FieldSpec]:
        """Everything that a run of this key writes, by path in the dataset's schema."""
        of_labels = [path for kind, path in zip(self.kinds, self.schema_paths, strict=True) if kind.is_label]
        of_values = not all(kind.is_label for kind in self.kinds)
        fields = names.chosen_fields(self.kinds[0].fields, self.config, of_values=of_values)
        written = names.written_fields(run_key, fields, tuple(of_labels), on_frames=self.on_frames)
        for role in self._beside:
            of_role = names.fields_of_role(self.kinds[0].fields, is_model=role.is_model) if role.kind.is_label else {}
            path = role.kind.label_path(role.field)
            written |= {f"{path}.{run_key}{suffix}": spec for suffix, spec in of_role.items()}
        return written

    def aggregate(self, stages: Sequence[dict[str, Any]], **options: Any) -> Any:
        """Run aggregation stages on the documents."""
        if not self.is_view:
            return self.aggregate_stored(stages, **options)
        documents = [*pipeline_of(self.samples, frames_only=self.on_frames), *self._only(self.on_frames)]
        return sample_collection(self.dataset).aggregate([*documents, *stages], allowDiskUse=True, **options)

    def aggregate_stored(self, stages: Sequence[dict[str, Any]], **options: Any) -> Any:
        """Run aggregation stages on the documents of the dataset, without the stages of the view."""
        stages = [*self._only(self.on_frames), *stages]
        return self.collection.aggregate(stages, allowDiskUse=True, **options)

    def _only(self, on_frames: bool) -> list[dict[str, Any]]:
        if self.shard is not None:
            return self.shard.stages("_id" if self.on_frames and not on_frames else self.shard.key)
        if self.among is None:
            return []
        return [{"$match": {"_sample_id" if on_frames else "_id": {"$in": list(self.among)}}}]

    def aggregate_samples(self, stages: Sequence[dict[str, Any]], **options: Any) -> Any:
        """Run aggregation stages on the samples (for frames: on their videos)."""
        before = [*(pipeline_of(self.samples) if self.is_view else []), *self._only(False)]
        return sample_collection(self.dataset).aggregate([*before, *stages], allowDiskUse=True, **options)

    def has_any(self, condition: dict[str, Any]) -> bool:
        """True if any document meets a condition."""
        return any(self.aggregate([{"$match": condition}, {"$limit": 1}, {"$project": {"_id": True}}]))

    def count(self) -> int:
        """Number of documents."""
        # counted, as the statistics of a collection are wrong after a crash of the database
        return sum(row["n"] for row in self.aggregate([{"$count": "n"}]))


def open_source(samples: SampleCollection, config: AgreementConfig, *, writes: bool = True) -> Source:
    """Find the labels of a run.

    Args:
        writes: whether something is written on the labels

    Raises:
        AgreementInputError: if the samples, a field or its type cannot be used, ``no_labels`` names somebody else than
            an annotator, or ``assigned_field`` lists none of them
    """
    check_samples(samples)
    samples = flattened(samples, on_frames=is_of_frames(config.fields[0]))
    source = unchecked_source(samples, config)
    # nothing is written on plain fields, which hold no labels
    with_labels = [pair for kind, *pair in zip(source.kinds, source.schema_paths, config.fields, strict=True)
                   if kind.is_label]  # fmt: skip
    if writes:
        refuse_read_only(stored_dataset(samples), sorted({path for pair in with_labels for path in pair}))
    if source.on_frames and not source.count():
        raise AgreementInputError(f"Agreement needs frames, got videos without any in {stored_dataset(samples).name!r}")
    if (assigned := config.assigned_field) is not None:
        field = samples.get_field(assigned)
        if field is None or "." in assigned:
            schema = {
                path: kind for path, kind in samples.get_field_schema().items() if path not in own_fields(samples)
            }
            known = [path for path, kind in schema.items() if isinstance(kind, fo.ListField | fo.StringField)]
            raise AgreementInputError(
                f"`assigned_field` must be a sample field with a list of names, got {assigned!r}, which does not exist"
                f"{did_you_mean(assigned, known)}"
            )
        if not isinstance(field, fo.ListField | fo.StringField):
            raise AgreementInputError(
                f"`assigned_field` must be a sample field with a list of names, got {assigned!r} with "
                f"{_type_name(field)}"
            )
    if config.attribute_mode:
        found = annotators_found(source)
        values = [value for value in found if not config.annotators or value in config.annotators]
        named = sorted(zip(config.annotator_names(values), values, strict=True))
        source = dataclasses.replace(
            source, annotators=tuple(name for name, _ in named), annotator_values=tuple(value for _, value in named)
        )
    else:
        source = recorded_source(samples, config, source.kinds, tuple(sorted(config.annotators)))
    numbers = source.number_of_name
    check_named(config.no_labels, numbers)
    if assigned is not None and not config.attribute_mode:
        listed = _distinct(source.aggregate_samples, assigned)
        if listed and not listed & numbers.keys():
            raise AgreementInputError(
                f"`assigned_field` must list annotators or their fields ({shown(sorted(numbers))}), got {assigned!r} "
                f"with {shown(sorted(listed))}"
            )
    return source


def unchecked_source(samples: SampleCollection, config: AgreementConfig) -> Source:
    """The source as far as the schema tells, without annotators.

    Raises:
        AgreementInputError: if a field or its type cannot be used, or an option has no effect on such labels
    """
    kinds = label_kinds(samples, config.fields)
    if config.attribute_mode and kinds[0].list_name is None:
        raise AgreementInputError(
            "With `annotator_attribute` `fields` must be a field with a list of labels, got "
            f"{config.fields[0]!r} ({kinds[0].title}); give every annotator a field"
        )
    if kinds[0].comparable in ("classes", "numbers"):
        level_of(config, numbers=kinds[0].is_number)
    source = Source(samples, config, kinds, (), ())
    superfluous = config.superfluous(source.groups)
    if superfluous is not None:
        raise superfluous.refusal(source.groups, f"{config.fields[0]!r} holds {kinds[0].title}")
    return source


def recorded_source(
    samples: SampleCollection, config: AgreementConfig, kinds: tuple[LabelKind, ...], annotators: tuple[str, ...]
) -> Source:
    """The source with annotators who are already known, such as those of a run."""
    if config.attribute_mode:
        return Source(samples, config, kinds, annotators, (), tuple(map(config.annotator_value, annotators)))
    return Source(samples, config, kinds, annotators, tuple(map(annotators.index, config.annotators)))


def check_samples(samples: object) -> None:
    """Raise :class:`AgreementInputError` unless agreement can be computed on these samples."""
    if not isinstance(samples, SampleCollection):
        raise AgreementInputError(f"`samples` must be a FiftyOne dataset or view, got {type(samples).__name__}")
    if is_generated(samples):
        kind = view_kind(samples)
        raise AgreementInputError(
            f"Agreement must be computed on samples, got a {kind} view of {root_dataset(samples).name!r}; pass that "
            f"dataset, or the view that the {kind} were made from"
        )
    _refuse_dynamic_groups(samples)
    drawn = sorted(_DRAWS & _operators(pipeline_of(samples))) if isinstance(samples, fo.DatasetView) else []
    if drawn:
        raise AgreementInputError(
            f"Agreement must be computed on samples that are the same at every reading, got a view with {drawn[0]}, "
            "which draws anew each time; choose them with take(), such as dataset.take(300, seed=51)"
        )
    # FiftyOne counts only the samples of the active slice
    of_slices = all_slices(samples)
    if not of_slices.limit(1).count():
        empty = "view" if isinstance(samples, fo.DatasetView) else "dataset"
        raise AgreementInputError(f"Agreement needs samples, got an empty {empty} of {stored_dataset(samples).name!r}")


def _operators(pipeline: object) -> set[str]:
    """Names of all stages and operators of an aggregation pipeline; paths, too, are values that begin with a dollar."""
    if isinstance(pipeline, Mapping):
        return {*pipeline}.union(*map(_operators, pipeline.values()))
    return set[str]().union(*map(_operators, pipeline)) if isinstance(pipeline, list | tuple) else set()


def flattened(samples: SampleCollection, *, on_frames: bool = False) -> SampleCollection:
    """The samples of all slices of a grouped dataset or view; other samples unchanged.

    Args:
        on_frames: whether the fields are frame fields

    Raises:
        AgreementInputError: if the slices have different media types, or samples were grouped by a field
    """
    if samples.media_type != fom.GROUP:
        return samples
    _refuse_dynamic_groups(samples)
    media_types = samples.group_media_types
    if len(set(media_types.values())) > 1:
        slices = shown(f"{name} ({media})" for name, media in sorted(media_types.items()))
        media_type = fom.VIDEO if on_frames else media_types[stored_dataset(samples).group_slice]
        raise AgreementInputError(
            f"Agreement must be computed on group slices of one media type, got {slices} of "
            f"{stored_dataset(samples).name!r}; choose slices first: "
            f"dataset.select_group_slices(media_type={media_type!r})"
        )
    return all_slices(samples)


def whole_samples(samples: SampleCollection) -> SampleCollection:
    """The samples of all slices, also of different media types, of a dataset or a view of samples.

    Raises:
        AgreementInputError: if it is a view of patches, frames or clips, or grouped by a field
    """
    refuse_parts(samples)
    _refuse_dynamic_groups(samples)
    return all_slices(samples)


def refuse_parts(samples: SampleCollection) -> None:
    """Raise :class:`AgreementInputError` if it is a view of patches, frames or clips."""
    if is_generated(samples):
        raise AgreementInputError(
            f"`samples` must be a dataset or a view of its samples, got a view of parts of "
            f"{root_dataset(samples).name!r}; pass the dataset"
        )


def _refuse_dynamic_groups(samples: SampleCollection) -> None:
    if samples.media_type == fom.GROUP and is_dynamic_groups(samples):
        raise AgreementInputError(
            f"`samples` must be a dataset or a view of its samples, got a view of {stored_dataset(samples).name!r} "
            "grouped by a field; pass the view that it was made from, or use group_by(…, flat=True)"
        )


def refuse_read_only(dataset: fo.Dataset, paths: Sequence[str]) -> None:
    """Raise :class:`AgreementInputError` if a field is read-only."""
    declared = all_fields(dataset)
    read_only = [path for path in paths if getattr(declared.get(path), "read_only", False)]
    if read_only:
        raise AgreementInputError(
            f"Fields that hold results must not be read-only, got {shown(read_only)}; "
            "make them writable with field.read_only = False; field.save()"
        )


def label_kinds(samples: SampleCollection, fields: Sequence[str]) -> tuple[LabelKind, ...]:
    """The label type of every field.

    Raises:
        AgreementInputError: if a field does not exist or cannot be compared, or the types cannot be compared with each
            other
    """
    schema = field_schema(samples)
    if len({is_of_frames(name) for name in fields}) > 1:
        raise AgreementInputError(
            f"`fields` must all be fields of samples, or all of frames ({names.FRAMES_PREFIX}…), got {shown(fields)}"
        )
    kinds = []
    for name in fields:
        if name not in schema:
            known = comparable_fields(samples)
            of_labels = [field for field, kind in known.items() if kind.is_label]
            owner, _, last = name.rpartition(".")
            meant = owner if last in {kind.list_name for kind in known.values()} else name
            raise AgreementInputError(
                f"`fields` must be label fields of {stored_dataset(samples).name!r}, got {name!r}, which does not "
                f"exist{did_you_mean(meant, known)}; label fields are {shown(of_labels or known) or '(none)'}"
            )
        written_by = run_of(name, schema[name])
        if written_by is not None:
            raise AgreementInputError(
                f"`fields` must hold what annotators gave, got {name!r}, which the run {written_by!r} wrote"
            )
        kind = kind_of(schema[name]) if name not in own_fields(samples) else None
        if kind is None:
            raise AgreementInputError(
                f"`fields` must hold labels of a type that can be compared ({shown(titles(), limit=20)}), got "
                f"{name!r} with {_type_name(schema[name])}"
            )
        kinds.append(kind)
    if len({kind.comparable for kind in kinds}) > 1:
        raise AgreementInputError(
            "`fields` must hold labels that can be compared with each other, got "
            + shown(f"{name} ({kind.title})" for name, kind in zip(fields, kinds, strict=True))
        )
    return tuple(kinds)


def refuse_decisions(source: Source) -> None:
    """Refuse a field of decisions as the labels of an annotator."""
    schema = field_schema(source.dataset)
    for name in source.config.fields:
        if gold_of(schema.get(name)) == name.removeprefix(names.FRAMES_PREFIX):
            raise AgreementInputError(
                f"`fields` must hold what annotators gave, got {name!r}, which holds what was decided, mostly copies "
                "of their labels: to agree with it is to agree with oneself; run.decisions.report() compares them "
                "with it"
            )


def comparable_fields(samples: SampleCollection) -> dict[str, LabelKind]:
    """The fields with labels that can be compared, and their types; not fields of our runs or of FiftyOne."""
    own = own_fields(samples)
    kinds = {
        name: kind_of(field)
        for name, field in field_schema(samples).items()
        if name not in own and run_of(name, field) is None
    }
    return {name: kind for name, kind in kinds.items() if kind is not None}


def own_fields(samples: SampleCollection) -> set[str]:
    """Names of the fields that FiftyOne itself has on every sample and frame."""
    own = set(default_fields(samples))
    if has_frame_fields(samples):
        own |= {names.FRAMES_PREFIX + name for name in default_fields(samples, of_frames=True)}
    return own


def is_own_name(name: str, owners: Iterable[type] | None = None) -> bool:
    """True if FiftyOne's samples or frames, or labels of a class, have a field or method that a field would hide."""
    of = (fo.Sample, fo.Frame) if owners is None else owners
    is_frames = owners is None and f"{name}." == names.FRAMES_PREFIX
    return is_frames or any(hasattr(owner, name) or name in document_fields(owner) for owner in of)


def field_schema(samples: SampleCollection) -> dict[str, fo.Field]:
    """The fields of samples, and of frames with their prefix."""
    schema = dict(samples.get_field_schema())
    if has_frame_fields(samples):
        of_frames = samples.get_frame_field_schema() or {}
        schema.update({names.FRAMES_PREFIX + name: field for name, field in of_frames.items()})
    return schema


def _type_name(field: fo.Field) -> str:
    document = getattr(field, "document_type", None)
    return document.__name__ if document is not None else type(field).__name__


def annotators_found(source: Source) -> tuple[str, ...]:
    """Names of all annotators on labels and in the assigned lists, sorted; not those of roles."""
    return tuple(name for name in values_found(source) if name not in source.config.roles)


def values_found(source: Source) -> tuple[str, ...]:
    """All values of the attribute on labels and in the assigned lists, sorted."""
    config = source.config
    found = _distinct(source.aggregate, f"{source.label_paths[0]}.{config.annotator_attribute}")
    if config.assigned_field is not None:
        found |= _distinct(source.aggregate_samples, config.assigned_field)
    return tuple(sorted(found))


def _distinct(aggregate: Callable[[list[dict[str, Any]]], Any], path: str) -> set[str]:
    """Names of all values at a path, or in the lists there, of the documents of an aggregation."""
    held = f"${path}"
    as_list = {"$cond": [{"$isArray": held}, held, {"$cond": [{"$gt": [held, None]}, [held], []]}]}
    stages: list[dict[str, Any]] = [
        {"$project": {"names": as_list}},
        {"$unwind": "$names"},
        {"$group": {"_id": "$names"}},
    ]
    return {value_name(entry["_id"]) for entry in aggregate(stages) if entry["_id"] is not None}
