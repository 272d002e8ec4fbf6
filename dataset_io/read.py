"""Read label columns in batches straight from the database, without label objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any

import numpy as np
from bson import ObjectId

from ..agreement.columns import Batch, ClassCodes
from ..metrics.arrays import BoolArray, FloatArray, IntArray
from ..metrics.objects import Objects
from .checks import is_usable_box, unusable_boxes_error
from .source import Source, annotator_name

#: a batch ends when it has this many samples, this many labels, or this many pairs of annotators over all samples
BATCH_SAMPLES = 1_000
BATCH_LABELS = 40_000
BATCH_PAIRS = 500_000

_CURSOR_BATCH = 500


@dataclass(frozen=True, slots=True)
class StoredSample:
    """A sample as it was when it was read.

    Attributes:
        sample_id: its id
        last_modified_at: its time stamp, None if it has none
        label_ids: for every field the ids of all labels in the database; None where there is no label list
    """

    sample_id: ObjectId
    last_modified_at: datetime | None
    label_ids: tuple[list[ObjectId] | None, ...]


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """Some samples: their labels as columns, and where in the database every label stands.

    Attributes:
        samples: ``S`` samples
        batch: their ``N`` objects
        field: shape ``(N,)``, index of the field of every object
        position: shape ``(N,)``, index of every object in the label list in the database
        label_ids: ids of the objects
        n_invalid: shape ``(S,)``, labels that were left out because their geometry cannot be compared
        n_unknown: shape ``(S,)``, labels that were left out because their annotator appeared during the run
        n_added: shape ``(S,)``, annotators who are not listed but drew something, and count as assigned
        changed: ids of samples that changed between two queries
    """

    samples: list[StoredSample]
    batch: Batch
    field: IntArray
    position: IntArray
    label_ids: list[ObjectId]
    n_invalid: IntArray
    n_unknown: IntArray
    n_added: IntArray
    changed: list[ObjectId]

    def without(self, sample_ids: set[ObjectId]) -> ReadBatch:
        """The batch without some samples."""
        kept = np.array([sample.sample_id not in sample_ids for sample in self.samples], np.bool_)
        rows = kept[self.batch.objects.sample]
        return replace(
            self,
            samples=[sample for sample, keep in zip(self.samples, kept.tolist(), strict=True) if keep],
            batch=self.batch.select(kept),
            field=self.field[rows],
            position=self.position[rows],
            label_ids=[self.label_ids[k] for k in np.flatnonzero(rows).tolist()],
            n_invalid=self.n_invalid[kept],
            n_unknown=self.n_unknown[kept],
            n_added=self.n_added[kept],
            changed=[],
        )


class Reader:
    """Reads the samples of a source, each once."""

    def __init__(self, source: Source, codes: ClassCodes) -> None:
        self.source = source
        self.codes = codes
        self.n_repeated = 0
        self._number = {name: k for k, name in enumerate(source.annotators)}

    def batches(self) -> Iterator[list[dict[str, Any]]]:
        """Query results for all samples, in batches of bounded size; of a repeated sample the first counts."""
        cursor = self.source.aggregate([{"$project": self._projection()}], batchSize=_CURSOR_BATCH)
        seen: set[ObjectId] = set()
        n_pairs = max(1, len(self.source.annotators) * (len(self.source.annotators) - 1) // 2)
        most_samples = max(1, min(BATCH_SAMPLES, BATCH_PAIRS // n_pairs))
        batch: list[dict[str, Any]] = []
        n_labels = 0
        with cursor:
            for row in cursor:
                if self.source.is_view:
                    if row["_id"] in seen:
                        self.n_repeated += 1
                        continue
                    seen.add(row["_id"])
                batch.append(row)
                n_labels += sum(len(ids) for ids in self._fields_of(row, "id") if ids)
                if len(batch) >= most_samples or n_labels >= BATCH_LABELS:
                    yield batch
                    batch, n_labels = [], 0
        if batch:
            yield batch

    def again(self, sample_ids: Sequence[ObjectId]) -> list[dict[str, Any]]:
        """Query results for some of the samples, as they are now."""
        wanted = {"$match": {"_id": {"$in": list(sample_ids)}}}
        rows = self.source.aggregate([wanted, {"$project": self._projection()}])
        first: dict[ObjectId, dict[str, Any]] = {}
        for row in rows:
            first.setdefault(row["_id"], row)
        return list(first.values())

    def columns(self, rows: list[dict[str, Any]]) -> ReadBatch:
        """Turn query results into columns.

        Raises:
            AgreementInputError: if geometry cannot be compared and the config does not say to leave it out
        """
        rows, samples, changed = self._stored(rows)
        parts = [self._field_columns(rows, samples, field, path) for field, path in enumerate(self.source.list_paths)]
        joined = _Columns.concatenate(parts)
        known = joined.annotator >= 0
        n_unknown = np.zeros(len(rows), np.int64)
        if not known.all():
            if not self.source.config.annotators:
                n_unknown = np.bincount(joined.sample[~known], minlength=len(rows))
            joined = joined.rows(known)
        n_invalid = np.bincount(joined.sample[~joined.usable], minlength=len(rows))
        if n_invalid.any():
            self._refuse_unless_skipped(joined, samples)
        joined = joined.sorted()
        assigned, n_added = self._assigned(rows, samples, joined)
        return ReadBatch(
            samples=samples,
            batch=Batch(
                Objects(joined.sample, joined.annotator, joined.category), _to_xyxy(joined.boxes_xywh_rel), assigned
            ),
            field=joined.field,
            position=joined.position,
            label_ids=[joined.label_ids[k] for k in joined.origin.tolist()],
            n_invalid=n_invalid,
            n_unknown=n_unknown,
            n_added=n_added,
            changed=changed,
        )

    # ---- the query ----

    def _projection(self) -> dict[str, Any]:
        columns = {"id": "_id", **self.source.kind.columns}
        if self.source.config.annotator_attribute is not None:
            columns["annotator"] = self.source.config.annotator_attribute
        projection: dict[str, Any] = {"last_modified_at": True}
        for field, path in enumerate(self.source.list_paths):
            for name, attribute in columns.items():
                # a plain "$path.attribute" would leave out labels without the attribute, and shift the rest
                value = {"$ifNull": [f"$$this.{attribute}", None]}
                projection[f"{name}{field}"] = {"$map": {"input": f"${path}", "in": value}}
            projection[f"id{field}"] = _label_ids(path)
        if self.source.config.assigned_field is not None:
            projection["assigned"] = f"${self.source.config.assigned_field}"
        return projection

    def _fields_of(self, row: dict[str, Any], name: str) -> list[Any]:
        return [row[f"{name}{field}"] for field in range(len(self.source.list_paths))]

    # ---- samples ----

    def _stored(self, rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[StoredSample], list[ObjectId]]:
        """The samples as the database has them; of a view, those that did not change between two queries."""
        if not self.source.is_view:
            samples = [
                StoredSample(row["_id"], row.get("last_modified_at"), tuple(self._fields_of(row, "id"))) for row in rows
            ]
            return rows, samples, []
        kept, samples, changed = [], [], []
        in_database = self._unfiltered([row["_id"] for row in rows])
        for row in rows:
            sample = in_database.get(row["_id"])
            if sample is None or not self._is_of(row, sample):
                changed.append(row["_id"])
            else:
                kept.append(row)
                samples.append(sample)
        return kept, samples, changed

    def _is_of(self, row: dict[str, Any], sample: StoredSample) -> bool:
        """Whether what a view shows of a sample is part of what the database has."""
        if sample.last_modified_at != row.get("last_modified_at"):
            return False
        return all(
            not shown or list(shown) == stored or set(shown) <= set(stored or ())
            for shown, stored in zip(self._fields_of(row, "id"), sample.label_ids, strict=True)
        )

    def _unfiltered(self, sample_ids: list[ObjectId]) -> dict[ObjectId, StoredSample]:
        """All labels of some samples, whatever the view shows of them."""
        projection: dict[str, Any] = {"last_modified_at": True}
        for field, path in enumerate(self.source.list_paths):
            projection[f"id{field}"] = _label_ids(path)
        rows = self.source.dataset._sample_collection.aggregate(
            [{"$match": {"_id": {"$in": sample_ids}}}, {"$project": projection}]
        )
        return {
            row["_id"]: StoredSample(row["_id"], row.get("last_modified_at"), tuple(self._fields_of(row, "id")))
            for row in rows
        }

    def _assigned(
        self, rows: list[dict[str, Any]], samples: list[StoredSample], columns: _Columns
    ) -> tuple[BoolArray, IntArray]:
        """Who was assigned to every sample, ``(S, R)``, and of how many of them only their labels tell, ``(S,)``."""
        source = self.source
        none_added = np.zeros(len(samples), np.int64)
        assigned = np.zeros((len(samples), len(source.annotators)), np.bool_)
        if not source.config.attribute_mode:
            for field, annotator in enumerate(source.field_annotator):
                assigned[:, annotator] = [sample.label_ids[field] is not None for sample in samples]
            return assigned, none_added
        if source.config.assigned_field is None:
            has_list = [sample.label_ids[0] is not None for sample in samples]
            assigned[has_list] = True
            return assigned, none_added
        for k, row in enumerate(rows):
            listed = row.get("assigned")
            for name in listed if isinstance(listed, list) else [listed]:
                number = self._number.get(annotator_name(name))
                if name is not None and number is not None:
                    assigned[k, number] = True
        n_listed = assigned.sum(axis=1)
        assigned[columns.sample, columns.annotator] = True
        return assigned, assigned.sum(axis=1) - n_listed

    # ---- labels ----

    def _field_columns(
        self, rows: list[dict[str, Any]], samples: list[StoredSample], field: int, path: str
    ) -> _Columns:
        lists = {name: [row[f"{name}{field}"] or () for row in rows] for name in ("id", "label", "geometry")}
        counts = np.array([len(ids) for ids in lists["id"]], np.int64)
        label_ids = list(chain.from_iterable(lists["id"]))
        sample = np.repeat(np.arange(len(rows)), counts)
        n = len(label_ids)
        boxes, usable = _boxes(list(chain.from_iterable(lists["geometry"])))
        if self.source.config.attribute_mode:
            names = chain.from_iterable(row[f"annotator{field}"] or () for row in rows)
            annotator = np.fromiter((self._number.get(annotator_name(name), -1) for name in names), np.int64, n)
        else:
            annotator = np.full(n, self.source.field_annotator[field])
        return _Columns(
            sample=sample,
            annotator=annotator,
            category=np.fromiter(map(self.codes.__getitem__, chain.from_iterable(lists["label"])), np.int64, n),
            field=np.full(n, field),
            position=self._positions(lists["id"], counts, samples, field),
            boxes_xywh_rel=boxes,
            usable=usable,
            label_ids=label_ids,
            origin=np.arange(n),
        )

    def _positions(
        self, shown: list[Sequence[ObjectId]], counts: IntArray, samples: list[StoredSample], field: int
    ) -> IntArray:
        """Index of every label in the list in the database."""
        if not self.source.is_view:
            starts = np.cumsum(counts) - counts
            return np.arange(int(counts.sum())) - np.repeat(starts, counts)
        positions: list[int] = []
        for ids, sample in zip(shown, samples, strict=True):
            stored = sample.label_ids[field] or []
            if list(ids) == stored:
                positions.extend(range(len(stored)))
            else:
                places: dict[ObjectId, list[int]] = {}
                for k in reversed(range(len(stored))):
                    places.setdefault(stored[k], []).append(k)
                # an id that stands twice in a list is taken in its order
                positions.extend(
                    places[label_id].pop() if len(places[label_id]) > 1 else places[label_id][0] for label_id in ids
                )
        return np.array(positions, np.int64)

    def _refuse_unless_skipped(self, columns: _Columns, samples: list[StoredSample]) -> None:
        if self.source.config.invalid == "error":
            affected = columns.sample[~columns.usable]
            raise unusable_boxes_error(len(affected), sorted({str(samples[k].sample_id) for k in affected.tolist()}))


@dataclass(frozen=True, slots=True)
class _Columns:
    """Labels as columns; ``origin`` says where a row's id stands in ``label_ids``, which is never reordered."""

    sample: IntArray
    annotator: IntArray
    category: IntArray
    field: IntArray
    position: IntArray
    boxes_xywh_rel: FloatArray
    usable: BoolArray
    label_ids: list[ObjectId]
    origin: IntArray

    def rows(self, chosen: IntArray | BoolArray) -> _Columns:
        """The chosen rows."""
        return _Columns(
            self.sample[chosen],
            self.annotator[chosen],
            self.category[chosen],
            self.field[chosen],
            self.position[chosen],
            self.boxes_xywh_rel[chosen],
            self.usable[chosen],
            self.label_ids,
            self.origin[chosen],
        )

    @classmethod
    def concatenate(cls, parts: Sequence[_Columns]) -> _Columns:
        """The rows of all parts."""
        offsets = np.cumsum([0, *(len(part.label_ids) for part in parts)])
        arrays = ("sample", "annotator", "category", "field", "position", "boxes_xywh_rel", "usable")
        return cls(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in arrays),
            label_ids=list(chain.from_iterable(part.label_ids for part in parts)),
            origin=np.concatenate([part.origin + offset for part, offset in zip(parts, offsets, strict=False)]),
        )

    def sorted(self) -> _Columns:
        """The usable rows by sample, annotator and label id, which is the order that breaks ties."""
        usable = self if self.usable.all() else self.rows(self.usable)
        ids = np.frombuffer(b"".join([label_id.binary for label_id in self.label_ids]), dtype=">u4").reshape(-1, 3)
        ids = ids.astype(np.int64)[usable.origin]
        high, low = (ids[:, 0] << 32) | ids[:, 1], ids[:, 2]
        block = usable.sample * (int(usable.annotator.max(initial=0)) + 1) + usable.annotator
        order = np.argsort(block, kind="stable")
        before, after = order[:-1], order[1:]
        ascending = (high[before] < high[after]) | ((high[before] == high[after]) & (low[before] <= low[after]))
        if not (ascending | (block[before] != block[after])).all():
            order = np.lexsort((usable.position, usable.field, low, high, block))
        return usable.rows(order)


def _label_ids(path: str) -> dict[str, Any]:
    """The ids of a label list; None where the annotator was not assigned.

    A list that FiftyOne emptied is not stored at all, so a label field without one is empty, not unassigned.
    """
    emptied = {
        "$and": [
            {"$eq": [{"$type": f"${path}"}, "missing"]},
            {"$eq": [{"$type": f"${path.rsplit('.', 1)[0]}._cls"}, "string"]},
        ]
    }
    ids = {"$map": {"input": f"${path}", "in": {"$ifNull": ["$$this._id", None]}}}
    return {"$ifNull": [ids, {"$cond": [emptied, [], None]}]}


def _boxes(values: list[Any]) -> tuple[FloatArray, BoolArray]:
    """Boxes as an array ``(N, 4)``, and which of them can be compared; the others are zero."""
    try:
        boxes = np.fromiter(chain.from_iterable(values), np.float64, 4 * len(values)).reshape(-1, 4)
        if set(map(len, values)) <= {4}:
            usable = np.isfinite(boxes).all(axis=1) & (boxes[:, 2:] >= 0).all(axis=1)
            return np.where(usable[:, None], boxes, 0.0), usable
    except (TypeError, ValueError):
        pass  # something else than numbers: look at every box
    usable = np.fromiter(map(is_usable_box, values), np.bool_, len(values))
    boxes = np.array([box if ok else (0.0,) * 4 for box, ok in zip(values, usable, strict=True)], np.float64)
    return boxes.reshape(-1, 4), usable


def _to_xyxy(boxes_xywh_rel: FloatArray) -> FloatArray:
    boxes = boxes_xywh_rel.copy()
    boxes[:, 2:] += boxes[:, :2]
    return boxes
