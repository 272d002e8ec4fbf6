"""Current labels of units that are whole samples: tags, and single classes, numbers and masks."""

from __future__ import annotations

from typing import Any

from ...agreement.settings.options import value_name
from ..families.pixels import BYTES_OF_A_LABEL, LABELS_OF_A_MASK
from ..families.ratings import is_comparable
from ..labels.label_facts import are_labels, is_class
from ..labels.source import Source
from ..labels.stored import label_ids
from .unit_members import LabelColumns, UnitReader


class TagReader(UnitReader):
    """Reads tags: every tag of a sample is a unit, whose members are the annotators who gave it.

    A tag that an annotator gave twice counts once. The match id of a tag is the id of its sample and its name.
    """

    def __init__(self, source: Source, field_key: str) -> None:
        self._open(source, field_key)

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

    def __init__(self, source: Source, field_key: str) -> None:
        self._open(source, field_key)

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
