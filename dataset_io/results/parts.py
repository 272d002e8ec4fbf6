"""Divide a run by a field, an attribute of labels or saved views, and compute each part's main numbers."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import bson
import fiftyone as fo
import numpy as np
from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView

from ...agreement.families.family import FAMILIES
from ...agreement.parts.compute import NONE, Groups, PartColumns, groups_of_sets, groups_of_values, parts_of
from ...agreement.parts.result import AgreementParts, DataPart
from ...agreement.settings.arguments import text_of, texts_of
from ...agreement.settings.config import AgreementConfig
from ...agreement.settings.errors import AgreementInputError, did_you_mean, shown
from ...agreement.statistics.records import Records
from ...agreement.statistics.report import AgreementReport, ReportContext
from ...metrics.numeric.arrays import BoolArray, IntArray
from ..database.fiftyone_private import is_generated, pipeline_of, root_dataset, sample_collection
from ..labels.source import flattened
from ..labels.stored import is_marked, is_of_frames, labels_have, where_labels_are
from ..record.run import Run, dataset_of
from ..record.sample_index import SampleIndex, ids_of
from .load import records_on

#: the fields with the value of a label
_VALUES = ("label", "value")
_PLAIN = (fo.StringField, fo.BooleanField, fo.IntField, fo.FloatField, fo.DateField, fo.DateTimeField)
#: most fields that are offered
_MOST_OFFERED = 50
#: fields that are never offered
_NOT_OFFERED = ("id", "filepath", "last_modified_at")
#: how many samples are looked at to find a field that divides them
_LOOKED_AT = 2_000
#: if a run has at least this share of the dataset, all samples are read, without a filter by id
_READ_ALL = 0.5


def dividing_fields(dataset: fo.Dataset, compared: Sequence[str]) -> list[str]:
    """Fields that samples can be divided by, apart from those that a run compared and what this plugin wrote."""
    found = []
    for name, field in dataset.get_field_schema().items():
        if name in _NOT_OFFERED or name in compared or is_marked(field):
            continue
        inner = field.field if isinstance(field, fo.ListField) else field
        kind = getattr(field, "document_type", None)
        if isinstance(inner, _PLAIN) or kind in (fo.Classification, fo.Regression):
            found.append(name)
    return found[:_MOST_OFFERED]


class OpenParts:
    """Samples of a run, to be divided into parts; their columns are computed once.

    Args:
        samples: the dataset, or a view of it
        context: context of a report on the samples
        report: the report on the samples, if there is one: it has the intervals of all of them
    """

    def __init__(
        self,
        samples: SampleCollection,
        run_key: str,
        records: Records,
        index: SampleIndex,
        context: ReportContext,
        report: AgreementReport | None = None,
    ) -> None:
        self.samples, self.dataset, self.run_key = samples, root_dataset(samples), run_key
        self.records, self.index, self.report = records, index, report
        self.context = dataclasses.replace(context, clusters=index.clusters())

    @functools.cached_property
    def columns(self) -> PartColumns:
        """The main numbers as columns."""
        return PartColumns.of(self.records, self.context)

    @functools.cached_property
    def whole(self) -> DataPart:
        """The numbers of all samples."""
        config, every = self.context.config, np.arange(len(self.index))
        known = None if self.report is None else self.report.intervals
        whole = self.columns.part("all", every, resamples=0 if known else config.resamples, seed=config.seed)
        return whole if known is None else whole.with_intervals(known)

    def by(self, field: str | None = None, **options: Any) -> AgreementParts:
        """The parts; see ``AgreementRun.by``."""
        by, groups, samples = self._divided(field, **options)
        config, report = self.context.config, FAMILIES[self.records.family].report
        parts, n_tested = parts_of(self.columns, groups, self.whole, resamples=config.resamples, seed=config.seed)
        return AgreementParts(
            by=by,
            run_key=self.run_key,
            family=self.records.family,
            what="images" if self.index.frame_numbers() is None else "frames",
            measure=self.context.measure,
            whole=self.whole,
            parts=parts,
            ordered=groups.ordered,
            n_merged=groups.n_merged,
            n_tested=n_tested,
            main_numbers=report.main_numbers,
            samples=samples,
        )

    def samples_of(self, field: str) -> dict[str, BoolArray]:
        """The samples of every part that a field makes, by its name, as a mask ``(S,)``."""
        _, groups, _ = self._divided(field)
        rows = np.zeros((len(groups.names), len(self.index)), np.bool_)
        for k in range(len(groups.names)):
            rows[k, groups.rows(k)] = True
        return dict(zip(groups.names, rows, strict=True))

    def _divided(
        self, field: str | None, views: Sequence[str | SampleCollection] | None = None
    ) -> tuple[str, Groups, _PartViews]:
        """Name of the divider, the parts, and their views."""
        if (field is None) == (views is None):
            raise AgreementInputError("`field` or `views` must be given, and one of them alone")
        if views is not None:
            dataset = self.dataset
            if isinstance(views, str | SampleCollection) or not isinstance(views, Sequence) or not views:
                raise AgreementInputError(f"`views` must be a list of views, or of names of saved views, got {views!r}")
            others = [each for each in views if not isinstance(each, str) and dataset_of(each).name != dataset.name]
            if others:
                raise AgreementInputError(
                    f"`views` must be views of {dataset.name!r}, got one of {dataset_of(others[0]).name!r}"
                )
            known = dataset.list_saved_views()
            unknown = [name for name in views if isinstance(name, str) and name not in known]
            if unknown:
                texts_of("views", unknown)
                raise AgreementInputError(
                    f"`views` must be saved views, got {shown(map(repr, unknown))}{did_you_mean(unknown[0], known)}"
                )
            found = [
                (each, dataset.load_saved_view(each)) if isinstance(each, str) else (each.name or f"view {k}", each)
                for k, each in enumerate(views, 1)
            ]
            rows = [np.flatnonzero(self.index.among(view)) for _, view in found]
            groups = groups_of_sets([name for name, _ in found], rows, len(self.index))
            return "view", groups, _PartViews(self, groups)
        name = text_of("field", field)
        paths = paths_of_values(self.dataset, self.context.config, name)
        groups = groups_of_values(*self._values(paths, self.index), len(self.index))
        return name, groups, _PartViews(self, groups)

    def _values(self, paths: Sequence[str], index: SampleIndex) -> tuple[IntArray, list[Any]]:
        """The values of some samples by which they are divided: the row of the sample of each value, and the values."""
        collection, keys = sample_collection(self.dataset), index.sample_keys()
        few = len(keys) < _READ_ALL * collection.estimated_document_count()
        names = {f"v{k}": f"${path}" for k, path in enumerate(paths)}
        stages: list[dict[str, Any]] = [
            *([{"$match": {"_id": {"$in": ids_of(keys)}}}] if few else []),
            {"$project": names},
        ]
        pipelines = [stages]
        compared = tuple(f"{field}." for field in self.context.config.fields)
        view = Run(self.dataset, self.run_key).target() if any(p.startswith(compared) for p in paths) else None
        if isinstance(
            view, DatasetView
        ):  # labels as the view of the run shows them; of samples that have left it, as they are stored
            pipelines.append([*pipeline_of(flattened(view, on_frames=False)), *stages])
        found = {
            document["_id"].binary.rstrip(b"\0"): [*_flat(document.get(name) for name in names)]
            for each in pipelines
            for batch in collection.aggregate_raw_batches(each, allowDiskUse=True)
            for document in bson.decode_all(batch, collection.codec_options)
        }
        rows: list[int] = []
        values: list[Any] = []
        for row, key in enumerate(index.columns["sample_id"].tolist()):
            for value in found.get(key, ()):
                rows.append(row)
                values.append(value)
        return np.array(rows, np.int64), values

    def offered(self) -> dict[str, str]:
        """Possible dividers: fields by name, and ``views`` if the dataset has saved views."""
        offered = {name: name for name in dividing_fields(self.dataset, self.context.config.fields)}
        return offered | ({"views": "saved views"} if self.dataset.has_saved_views else {})

    @functools.cached_property
    def first_offered(self) -> str | None:
        """The first offered field that divides the first samples into several parts; if none does, the first one."""
        some = self.index.select(np.arange(min(len(self.index), _LOOKED_AT)))
        offered = self.offered()
        for name in offered:
            if name == "views":
                return name
            paths = paths_of_values(self.dataset, self.context.config, name)
            found = groups_of_values(*self._values(paths, some), len(some))
            if len({*found.names} - {NONE}) > 1 and not found.n_merged:
                return name
        return next(iter(offered), None)

    def by_offered(self, name: str) -> AgreementParts:
        """The parts by something that was :meth:`offered`."""
        return self.by(**self._arguments(name))

    def view(self, name: str, part: str) -> DatasetView:
        """The samples of a part by something that was :meth:`offered`, without any numbers."""
        by, groups, samples = self._divided(**{"field": None, **self._arguments(name)})
        if part not in groups.names:
            raise AgreementInputError(f"There is no part {part!r} by {by} any more; refresh the panel")
        return samples.view(groups.names.index(part))

    def _arguments(self, name: str) -> dict[str, Any]:
        return {"views": self.dataset.list_saved_views()} if name == "views" else {"field": name}


def open_parts(samples: SampleCollection, run_key: str) -> OpenParts:
    """The samples of a run, or those of them in a view."""
    loaded = Run(samples, run_key).records()
    if isinstance(samples, fo.Dataset):
        return OpenParts(samples, run_key, loaded.records, loaded.index, loaded.context, loaded.report)
    return OpenParts(samples, run_key, *records_on(samples, run_key, loaded))


def paths_of_values(dataset: fo.Dataset, config: AgreementConfig, name: str) -> tuple[str, ...]:
    """Where the values by which samples are divided are in their documents, by the name of a field of samples, or of
    an attribute of the labels of a run.

    Raises:
        AgreementInputError: if there is neither, its values cannot divide samples, or a run wrote it
    """
    schema = dataset.get_field_schema(flat=True)
    for path in [name.rsplit(".", k)[0] for k in range(name.count(".") + 1)]:
        if is_marked(schema.get(path)):
            raise AgreementInputError(
                f"`field` must not be written by a run, or by decisions, got {name!r}: the numbers would choose the "
                "parts; divide by what was known before"
            )
    if name in schema:
        return _inner_paths(schema, name, (name,))
    lists = [where_labels_are(schema, field) for field in config.fields if not is_of_frames(field)]
    paths = [name] if name.rpartition(".")[0] in lists else [f"{prefix}.{name}" for prefix in lists]
    declared = tuple(path for path in paths if path in schema)
    others = tuple(path for path in paths if path not in schema)  # attributes need not be declared
    if not declared and labels_have(dataset, paths):
        return others
    if not declared:
        offered = dividing_fields(dataset, config.fields) or ["none"]
        known = [*dataset.get_field_schema(), *(path.removeprefix(f"{prefix}.") for prefix in lists for path in schema
                 if path.startswith(f"{prefix}."))]  # fmt: skip
        raise AgreementInputError(
            f"`field` must be a field of samples, or an attribute of the labels of the run, got {name!r}"
            f"{did_you_mean(name, dict.fromkeys(known)) or f'; there are {shown(offered, limit=20)}'}"
        )
    if any(is_marked(schema[path]) for path in declared):
        return paths_of_values(dataset, config, declared[0])  # this call raises the error
    return (*_inner_paths(schema, name, declared), *others)


def _inner_paths(schema: Mapping[str, fo.Field], title: str, paths: Sequence[str]) -> tuple[str, ...]:
    """The paths of the values in declared fields: the class or number of labels, and plain values."""
    found = []
    for path in paths:
        kind = getattr(schema[path], "document_type", None)
        inner = where_labels_are(schema, path)
        value = next((f"{inner}.{name}" for name in _VALUES if f"{inner}.{name}" in schema), None)
        found.append(value if kind is not None and value is not None else path)
    field = schema[found[0]]
    inner_field = field.field if isinstance(field, fo.ListField) else field
    # a list that was empty when it was declared has no type
    if inner_field is not None and not isinstance(inner_field, _PLAIN):
        raise AgreementInputError(
            f"`field` must hold texts, switches, numbers, dates or classes, got {title!r}, of type "
            f"{type(inner_field).__name__}"
        )
    return tuple(found)


def _flat(values: Iterable[Any]) -> Iterable[Any]:
    """All values in lists of any depth; nothing for null, nan and values of other types."""
    for value in values:
        if isinstance(value, list):
            yield from _flat(value)
        elif isinstance(value, str | bool | int | float | date) and value == value:  # nan is no value
            yield value


@dataclass(frozen=True, slots=True)
class _PartViews:
    """Views of the samples of each part: of those that were counted, selected by their ids."""

    parts: OpenParts
    groups: Groups

    def view(self, part: int) -> DatasetView:
        """A view of the samples of a part."""
        samples = self.parts.dataset if is_generated(self.parts.samples) else self.parts.samples
        index: SampleIndex = self.parts.index.select(self.groups.rows(part))
        return samples.select([str(each) for each in ids_of(index.sample_keys())])
