"""What can be read: label fields, annotators and views, checked before anything is read or written."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import fiftyone as fo
import fiftyone.core.media as fom
from fiftyone.core.collections import SampleCollection
from pymongo.collection import Collection

from .. import names
from ..agreement.config import AgreementConfig
from ..agreement.errors import AgreementInputError, shown
from ..agreement.option_checks import value_name
from .kinds import LabelKind, kind_of, titles


@dataclass(frozen=True, slots=True)
class Source:
    """The labels of a run, as they are found in a dataset.

    Documents are what is read and written one by one: samples, or, where the fields are those of frames, frames.

    Attributes:
        samples: the dataset or view
        config: the options
        kinds: type of the labels of every field
        annotators: names, sorted
        field_annotator: annotator of every field (field mode), as index into ``annotators``
    """

    samples: SampleCollection
    config: AgreementConfig
    kinds: tuple[LabelKind, ...]
    annotators: tuple[str, ...]
    field_annotator: tuple[int, ...]

    @property
    def dataset(self) -> fo.Dataset:
        """The dataset that holds the samples."""
        return self.samples._dataset

    @property
    def on_frames(self) -> bool:
        """Whether the documents are frames of videos."""
        return is_of_frames(self.config.fields[0])

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields within a document."""
        return tuple(name.removeprefix(names.FRAMES_PREFIX) for name in self.config.fields)

    @property
    def collection(self) -> Collection[dict[str, Any]]:
        """The collection of the documents."""
        return self.dataset._frame_collection if self.on_frames else self.dataset._sample_collection

    @property
    def is_view(self) -> bool:
        """Whether the samples are a view, which may filter labels or repeat samples."""
        return isinstance(self.samples, fo.DatasetView)

    @property
    def family(self) -> str:
        """How the labels are compared."""
        return self.kinds[0].family

    @property
    def label_paths(self) -> tuple[str, ...]:
        """Where in a document the label, or the list of labels, of every field stands."""
        return tuple(kind.label_path(name) for kind, name in zip(self.kinds, self.fields, strict=True))

    @property
    def schema_paths(self) -> tuple[str, ...]:
        """The same, in the schema of the dataset."""
        return tuple(kind.label_path(name) for kind, name in zip(self.kinds, self.config.fields, strict=True))

    def fields_written(self, run_key: str) -> dict[str, names.FieldSpec]:
        """Everything that a run of this key writes, by path in the dataset's schema."""
        of_labels = [path for kind, path in zip(self.kinds, self.label_paths, strict=True) if kind.is_label]
        return names.written_fields(run_key, names.FIELD_SETS[self.family], tuple(of_labels))

    def pipeline(self) -> list[dict[str, Any]]:
        """The aggregation stages that give the documents."""
        return self.samples._pipeline() if self.is_view else []

    def aggregate(self, stages: Sequence[dict[str, Any]], **options: Any) -> Any:
        """Run aggregation stages on the documents."""
        return self.collection.aggregate([*self.pipeline(), *stages], allowDiskUse=True, **options)


def open_source(samples: SampleCollection, config: AgreementConfig) -> Source:
    """Find the labels of a run.

    Raises:
        AgreementInputError: if the samples, a field or its type cannot be used
    """
    check_samples(samples)
    source = unchecked_source(samples, config)
    refuse_read_only(samples._dataset, sorted({*source.label_paths, *config.fields}))
    if config.assigned_field is not None:
        _check_assigned_field(samples, config.assigned_field)
    if not config.attribute_mode:
        annotators = tuple(sorted(config.annotators))
        numbers = tuple(annotators.index(name) for name in config.annotators)
        return dataclasses.replace(source, annotators=annotators, field_annotator=numbers)
    found = annotators_found(source)
    annotators = tuple(name for name in found if name in config.annotators) if config.annotators else found
    return dataclasses.replace(source, annotators=annotators)


def unchecked_source(samples: SampleCollection, config: AgreementConfig) -> Source:
    """The labels of a run, as far as the schema tells, without their annotators.

    Raises:
        AgreementInputError: if a field or its type cannot be used
    """
    return Source(samples, config, label_kinds(samples, config.fields), (), ())


def check_samples(samples: object) -> None:
    """Raise :class:`AgreementInputError` unless agreement can be computed on these samples."""
    if not isinstance(samples, SampleCollection):
        raise AgreementInputError(f"`samples` must be a FiftyOne dataset or view, got {type(samples).__name__}")
    if samples._is_generated:
        kind = "patches" if samples._is_patches else "frames" if samples._is_frames else "clips"
        raise AgreementInputError(
            f"Agreement must be computed on samples, got a {kind} view of {samples._root_dataset.name!r}; pass that "
            f"dataset, or the view that the {kind} were made from"
        )
    if samples.media_type == fom.GROUP:
        name, group_slice = samples._dataset.name, samples._dataset.group_slice
        if group_slice is None:
            raise AgreementInputError(
                f"Agreement must be computed on samples, got a view of {name!r} grouped by a field; pass the view that "
                "it was made from, or use group_by(…, flat=True)"
            )
        raise AgreementInputError(
            f"Agreement must be computed on the samples of group slices, got the grouped dataset {name!r}; choose "
            f"slices first: dataset.select_group_slices({group_slice!r})"
        )
    if not samples.limit(1).count():
        empty = "view" if isinstance(samples, fo.DatasetView) else "dataset"
        raise AgreementInputError(f"Agreement needs samples, got an empty {empty} of {samples._dataset.name!r}")


def refuse_read_only(dataset: fo.Dataset, paths: Sequence[str]) -> None:
    """Raise :class:`AgreementInputError` if one of some fields must not be changed."""
    read_only = [path for path in paths if getattr(dataset.get_field(path), "read_only", False)]
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
    schema = samples.get_field_schema()
    kinds = []
    for name in fields:
        if name not in schema:
            raise AgreementInputError(
                f"`fields` must be label fields of {samples._dataset.name!r}, got {name!r}, which does not exist; "
                f"label fields are {shown(comparable_fields(samples)) or '(none)'}"
            )
        kind = kind_of(schema[name])
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


def comparable_fields(samples: SampleCollection) -> list[str]:
    """Names of the fields that hold labels of a type that can be compared."""
    return [name for name, field in samples.get_field_schema().items() if kind_of(field) is not None]


def _type_name(field: fo.Field) -> str:
    document = getattr(field, "document_type", None)
    return document.__name__ if document is not None else type(field).__name__


def _check_assigned_field(samples: SampleCollection, name: str) -> None:
    field = samples.get_field(name)
    if field is None or "." in name:
        raise AgreementInputError(f"`assigned_field` must be a sample field with a list of names, got {name!r}, which "
                                  "does not exist")  # fmt: skip
    if not isinstance(field, fo.ListField | fo.StringField):
        raise AgreementInputError(
            f"`assigned_field` must be a sample field with a list of names, got {name!r} with {_type_name(field)}"
        )


def annotators_found(source: Source) -> tuple[str, ...]:
    """Names of the annotators of the labels and of the assigned lists, sorted."""
    config = source.config
    arrays = [f"${source.label_paths[0]}.{config.annotator_attribute}"]
    if config.assigned_field is not None:
        arrays.append(f"${config.assigned_field}")
    as_list = [
        {"$cond": [{"$isArray": array}, array, {"$cond": [{"$gt": [array, None]}, [array], []]}]} for array in arrays
    ]
    found = source.aggregate(
        [{"$project": {"names": {"$setUnion": as_list}}}, {"$unwind": "$names"}, {"$group": {"_id": "$names"}}]
    )
    return tuple(sorted({value_name(entry["_id"]) for entry in found if entry["_id"] is not None}))
