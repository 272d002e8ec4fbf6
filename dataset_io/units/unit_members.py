"""The labels of every unit of a run, read again: of objects as columns, of whole samples as values."""

from __future__ import annotations

import contextlib
import copy
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Any

import numpy as np

from ...agreement.matching.verdicts import NO_VERDICT, VERDICTS
from ...agreement.settings.options import value_name
from ...agreement.statistics.codes import ClassCodes
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ..families.objects import ObjectFamily, sizes_px
from ..families.pixels import BYTES_OF_A_LABEL, LABELS_OF_A_MASK
from ..families.protocol import LabelsRead
from ..families.ratings import is_comparable
from ..labels.checks import are_labels, is_class
from ..labels.geometry_readers import is_finite
from ..labels.source import Source
from ..labels.stored import StoredSample, label_ids

_VERDICT_CODES: dict[str | None, int] = {None: NO_VERDICT, **{name: code for code, name in enumerate(VERDICTS)}}
_UNKNOWN_VERDICT = NO_VERDICT - 1
#: attributes that the run wrote on labels, by their short names in query results
_WRITTEN = {"unit": "_id", "verdict": "", "votes": "_votes", "of": "_of", "iou": "_iou"}


@dataclass(frozen=True, slots=True)
class UnitMembers:
    """The ``U`` units of ``S`` samples, by sample and id, and their ``N`` members, by unit and annotator."""

    n_samples: int  #: number ``S`` of samples
    sample: IntArray  #: shape ``(U,)``, sample of every unit
    unit_ids: list[str]  #: match id of every unit
    #: shape ``(U,)``, index into ``VERDICTS``, ``NO_VERDICT`` on samples that are not rated; if the verdicts of members
    #: differ (``split``), the highest index
    verdict: IntArray
    assigned: IntArray  #: shape ``(U,)``, number of assigned annotators
    size_px: FloatArray  #: shape ``(U, 2)``, width and height of the image, nan where unknown
    unit: IntArray  #: shape ``(N,)``, ascending, unit of every member
    annotator: IntArray  #: shape ``(N,)``
    category: IntArray  #: shape ``(N,)``, class code
    iou: FloatArray  #: shape ``(N,)``, mean IoU with the other members as written by the run, nan without others
    field: IntArray  #: shape ``(N,)``, number of the label field
    label_ids: list[Any]  #: id of every member
    labels: list[Any]  #: stored class of every member
    #: stored geometry of every member, by short name; None where its type has no such attribute
    geometry: dict[str, list[Any]]

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.unit_ids)

    @property
    def votes(self) -> IntArray:
        """Number of members of every unit, shape ``(U,)``."""
        return np.bincount(self.unit, minlength=self.n_units)

    @property
    def mean_iou(self) -> FloatArray:
        """Mean IoU of the members of every unit, shape ``(U,)``; nan for a single member."""
        known = ~np.isnan(self.iou)
        n = np.bincount(self.unit[known], minlength=self.n_units)
        total = np.bincount(self.unit[known], weights=self.iou[known], minlength=self.n_units)
        return np.where(n > 0, total / np.maximum(n, 1), np.nan)

    def only(self, kept: BoolArray) -> UnitMembers:
        """The units that a mask ``(U,)`` keeps."""
        rows = np.flatnonzero(kept[self.unit])
        number = np.cumsum(kept) - 1
        chosen = rows.tolist()
        columns = {name: getattr(self, name)[kept] for name in ("sample", "verdict", "assigned", "size_px")}
        columns |= {name: getattr(self, name)[rows] for name in ("annotator", "category", "iou", "field")}
        return replace(
            self,
            unit_ids=[self.unit_ids[k] for k in np.flatnonzero(kept).tolist()],
            unit=number[self.unit[rows]],
            label_ids=[self.label_ids[k] for k in chosen],
            labels=[self.labels[k] for k in chosen],
            geometry={name: [values[k] for k in chosen] for name, values in self.geometry.items()},
            **columns,
        )


class UnitReader:
    """Reads the units of a run on objects, for :class:`~..run.read.Reader`.

    They are read from the labels, on which the run wrote what its table says of them: a sample is known from its own
    document, so that whoever decides on one does not wait for the table, and units, labels and decisions are of one
    moment, also while the run is updated. Only the attributes that are needed are read, as columns: whole labels take
    about 1.6 times as long. Units whose labels were deleted, added or given to another annotator since the run are left
    out and counted. Class and geometry of a label are current; everything else is as written by the run.
    """

    def __init__(self, source: Source, field_key: str) -> None:
        self.source, self._key = source, field_key
        if source.geometry_readers:
            self._objects = ObjectFamily(source)  # finds out which detections have masks, and their size
            self.source = self._objects.source
        self.codes = ClassCodes(source.config.aliases)
        self._number = source.annotator_numbers

    def projection(self) -> dict[str, Any]:
        """Attributes that the run wrote on every label, and its class, geometry and annotator."""
        config = self.source.config
        projection: dict[str, Any] = {"compared": f"${self._key}_n_annotators"}
        for field, path in enumerate(self.source.label_paths):
            columns = {name: self._key + suffix for name, suffix in _WRITTEN.items()}
            readers = self.source.geometry_readers
            columns.update({"label": "label", **(readers[field].columns if readers else {})})
            if config.annotator_attribute is not None:
                columns["annotator"] = config.annotator_attribute
            for name, attribute in columns.items():
                # a plain "$path.attribute" would skip labels without the attribute and shift the others
                value = {"$ifNull": [f"$$this.{attribute}", None]}
                projection[f"{name}{field}"] = {"$map": {"input": f"${path}", "in": value}}
        if not self.source.on_frames:
            projection["size"] = ["$metadata.width", "$metadata.height"]
        return projection

    def load(self, row: dict[str, Any]) -> int:
        """Size of a query result in labels."""
        return self._objects.load(row)

    def _unit_ids(self, rows: list[dict[str, Any]], columns: LabelColumns) -> list[Any]:
        """The match id of every label; labels without a text are left out."""
        return columns.values("unit")

    def _classes(self, columns: LabelColumns) -> list[Any]:
        """The class of every label."""
        return columns.values("label")

    def read(self, rows: list[dict[str, Any]], samples: list[StoredSample]) -> LabelsRead[UnitMembers]:
        """The units of query results; ``n_invalid`` counts the units left out."""
        columns = LabelColumns(rows, len(self.source.kinds))
        ids = self._unit_ids(rows, columns)
        unit_ids = sorted(unit_id for unit_id in set(ids) if isinstance(unit_id, str))
        code_of = {unit_id: code for code, unit_id in enumerate(unit_ids)}
        code = np.fromiter(map(code_of.get, ids, repeat(-1)), np.int64, len(ids))
        chosen = np.flatnonzero(code >= 0)
        key, unit = np.unique(columns.sample[chosen] * len(unit_ids) + code[chosen], return_inverse=True)
        annotator = self._annotators(columns)[chosen]
        order = np.lexsort((annotator, unit))
        chosen, unit, annotator = chosen[order], unit[order], annotator[order]
        sample, code = np.divmod(key, max(len(unit_ids), 1))
        columns = columns.only(chosen)

        codes = map(_VERDICT_CODES.get, columns.values("verdict"), repeat(_UNKNOWN_VERDICT))
        verdict = np.full(len(key), _UNKNOWN_VERDICT)
        np.maximum.at(verdict, unit, np.fromiter(codes, np.int64, len(chosen)))
        assigned = np.zeros(len(key), np.int64)
        np.maximum.at(assigned, unit, _counts(columns.values("of")))
        labels = self._classes(columns)
        members = UnitMembers(
            n_samples=len(rows),
            sample=sample,
            unit_ids=[unit_ids[k] for k in code.tolist()],
            verdict=verdict,
            assigned=assigned,
            size_px=sizes_px(rows)[sample],
            unit=unit,
            annotator=annotator,
            category=np.fromiter(map(self.codes.__getitem__, labels), np.int64, len(chosen)),
            iou=_numbers(columns.values("iou")),
            field=columns.field,
            label_ids=columns.values("id"),
            labels=labels,
            geometry={name: columns.values(name) for reader in self.source.geometry_readers for name in reader.columns},
        )
        # units that still have the members that the run found
        bad = (_counts(columns.values("votes")) != members.votes[unit]) | (annotator < 0)
        bad[1:] |= (unit[1:] == unit[:-1]) & (annotator[1:] == annotator[:-1])
        intact = (np.bincount(unit[bad], minlength=len(key)) == 0) & (verdict != _UNKNOWN_VERDICT) & (assigned > 0)
        n_left_out = np.bincount(sample[~intact], minlength=len(rows))
        return LabelsRead(
            members if intact.all() else members.only(intact), n_left_out, *np.zeros((2, len(rows)), np.int64)
        )

    def _annotators(self, columns: LabelColumns) -> IntArray:
        """Annotator of every label; -1 for an annotator that the run did not know."""
        if not self.source.config.attribute_mode:
            return np.array(self.source.field_annotator, np.int64)[columns.field]
        values = columns.values("annotator")
        found = (self._number.get(value_name(value), -1) for value in values)
        return np.fromiter(found, np.int64, len(values))


class LabelColumns:
    """Labels of query results as columns, field by field.

    Attributes:
        sample: shape ``(N,)``, row of the sample
        field: shape ``(N,)``, number of the field
    """

    def __init__(self, rows: list[dict[str, Any]], n_fields: int) -> None:
        counts = [[len(row[f"id{field}"] or ()) for row in rows] for field in range(n_fields)]
        self._rows = rows
        self._per_field = [sum(of_rows) for of_rows in counts]
        self._chosen: IntArray | None = None
        self.sample = np.concatenate([np.repeat(np.arange(len(rows)), of_rows) for of_rows in counts])
        self.field = np.repeat(np.arange(n_fields), self._per_field)

    def only(self, chosen: IntArray) -> LabelColumns:
        """The labels with these row numbers."""
        columns = copy.copy(self)
        columns._chosen = chosen
        columns.sample, columns.field = self.sample[chosen], self.field[chosen]
        return columns

    def values(self, name: str) -> list[Any]:
        """An attribute of every label by its short name; None in fields whose type does not have it."""
        values: list[Any] = []
        for field, n in enumerate(self._per_field):
            if n and f"{name}{field}" in self._rows[0]:
                values.extend(chain.from_iterable([row[f"{name}{field}"] or () for row in self._rows]))
            else:
                values.extend([None] * n)
        return values if self._chosen is None else [values[k] for k in self._chosen.tolist()]


def _numbers(values: list[Any]) -> FloatArray:
    """Values as numbers; nan for everything that is not a number."""
    with contextlib.suppress(TypeError, ValueError):
        return np.array(values, np.float64)
    return np.array([value if is_finite(value) else np.nan for value in values], np.float64)


def _counts(values: list[Any]) -> IntArray:
    """Values as numbers of annotators; 0 for everything else."""
    return np.array([value if type(value) is int and value < 1 << 31 else 0 for value in values], np.int64)


class TagReader(UnitReader):
    """Reads tags: every tag of a sample is a unit, whose members are the annotators who gave it.

    A tag that an annotator gave twice counts once. The match id of a tag is the id of its sample and its name.
    """

    def load(self, row: dict[str, Any]) -> int:
        """Number of labels."""
        return sum(len(row[f"id{field}"] or ()) for field in range(len(self.source.kinds)))

    def _classes(self, columns: LabelColumns) -> list[Any]:
        return [None if value is None else value_name(value) for value in columns.values("label")]

    def _unit_ids(self, rows: list[dict[str, Any]], columns: LabelColumns) -> list[Any]:
        compared = are_labels(columns.values("id"), columns.values("label")).tolist()
        codes = [self.codes[name] for name in self._classes(columns)]
        given = list(zip(columns.sample.tolist(), self._annotators(columns).tolist(), codes, strict=True))
        first: dict[Any, int] = {}
        for k, key in enumerate(given):
            if compared[k]:
                first.setdefault(key, k)
        names = self.codes.names()
        return [
            f"{rows[key[0]]['_id']} {names[key[2]]}" if first.get(key) == k else None for k, key in enumerate(given)
        ]  # fmt: skip


class ValueReader(UnitReader):
    """Reads classes and numbers: every sample is a unit, whose members are the annotators who gave a value.

    The match id of a sample is its own id.
    """

    def projection(self) -> dict[str, Any]:
        """The values, and what the run wrote on the sample."""
        key = self._key
        projection: dict[str, Any] = {"size": ["$metadata.width", "$metadata.height"]}
        n_annotators, disputed = f"${key}_n_annotators", self._disputed()
        of_rated = {"$cond": [{"$eq": [disputed, True]}, "class_conflict", "agreed"]}
        verdict: dict[str, Any] = {"$cond": [{"$in": [disputed, [True, False]]}, of_rated, None]}
        for field, (kind, path) in enumerate(zip(self.source.kinds, self.source.label_paths, strict=True)):
            columns: dict[str, Any] = {
                "label": self._value(field),
                "verdict": verdict,
                "votes": n_annotators,
                "of": n_annotators,
            }
            if kind.is_label:
                columns["iou"] = f"${path}.{key}_iou"
            without = {"$eq": [label_ids(kind, path), None]}
            for name, value in columns.items():
                projection[f"{name}{field}"] = {"$cond": [without, None, [{"$ifNull": [value, None]}]]}
        return projection

    def _disputed(self) -> Any:
        """Expression: true for a disputed sample, None if it is not rated."""
        return {"$ifNull": [f"${self._key}_disputed", None]}

    def _value(self, field: int) -> Any:
        """Expression: the value that an annotator gave."""
        return f"${self.source.kinds[field].value_path(self.source.label_paths[field])}"

    def load(self, row: dict[str, Any]) -> int:
        """Number of values."""
        return len(self.source.kinds)

    def _classes(self, columns: LabelColumns) -> list[Any]:
        values = columns.values("label")
        if self.source.kinds[0].is_number:
            return values
        return [None if value is None else value_name(value) for value in values]

    def _unit_ids(self, rows: list[dict[str, Any]], columns: LabelColumns) -> list[Any]:
        is_usable = is_comparable if self.source.kinds[0].is_number else is_class
        values = zip(columns.sample.tolist(), columns.values("label"), strict=True)
        return [str(rows[sample]["_id"]) if is_usable(value) else None for sample, value in values]


class MaskReader(ValueReader):
    """Reads which annotators gave a mask, without the masks."""

    def projection(self) -> dict[str, Any]:
        """The sizes of masks in addition."""
        sizes = {}
        for field, path in enumerate(self.source.label_paths):
            is_stored = {"$eq": [{"$type": f"${path}.mask"}, "binData"]}
            sizes[f"bytes{field}"] = {"$cond": [is_stored, {"$binarySize": f"${path}.mask"}, 0]}
        return {**super().projection(), **sizes}

    def _disputed(self) -> Any:
        n = f"${self._key}_n_disputed"
        return {"$cond": [{"$in": [{"$type": n}, ["missing", "null"]]}, None, {"$gt": [n, 0]}]}

    def _value(self, field: int) -> Any:
        path = self.source.label_paths[field]
        held = {"$ifNull": [f"${path}.mask", f"${path}.mask_path", None]}
        # masks that the run left out, as they cannot be compared, have null; those of others, added since, have nothing
        is_left_out = {"$eq": [{"$type": f"${path}.{self._key}_of"}, "null"]}
        return {"$cond": [{"$or": [{"$eq": [held, None]}, is_left_out]}, None, "mask"]}

    def load(self, row: dict[str, Any]) -> int:
        """Masks count by their bytes in the database, with a high minimum."""
        fields = range(len(self.source.kinds))
        return sum(
            max(LABELS_OF_A_MASK, row[f"bytes{field}"] // BYTES_OF_A_LABEL) for field in fields if row[f"id{field}"]
        )

    def _unit_ids(self, rows: list[dict[str, Any]], columns: LabelColumns) -> list[Any]:
        values = zip(columns.sample.tolist(), columns.values("label"), strict=True)
        return [None if value is None else str(rows[sample]["_id"]) for sample, value in values]
