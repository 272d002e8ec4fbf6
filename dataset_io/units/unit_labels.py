"""The units of a run as they are now, of any family, with the labels of all annotators as columns.

They are read from the samples' documents, on which the run wrote verdicts, votes and match ids, not from its table: to
decide on a sample nobody waits for the table, and units, labels and decisions are read at the same moment, also while
the run is updated. Units whose labels were deleted, added or given to another annotator since the run are left out and
counted. Class and geometry of a label are current; everything else is as written by the run.

================  =====================  ====================================  =======================
labels            a unit                 its match id                          verdict and votes are
================  =====================  ====================================  =======================
objects           an object              written on the labels by the run      on every label
tags              a tag of a sample      the id of the sample, and the tag     on every label
classes, numbers  a sample               the id of the sample                  on the sample
masks             a sample               the id of the sample                  on the sample
================  =====================  ====================================  =======================

A tag that an annotator gave twice counts once. Masks themselves are large, and not read unless asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, cast

import numpy as np
from bson import ObjectId

from ...agreement.families.family import OBJECTS, PIXELS, TAGS
from ...agreement.matching.verdicts import AGREED, CLASS_CONFLICT, NO_VERDICT, VERDICTS
from ...agreement.settings.options import value_name
from ...agreement.statistics.codes import ClassCodes
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ..families.objects import sizes_px
from ..families.pixels import BYTES_OF_A_LABEL, LABELS_OF_A_MASK
from ..families.ratings import is_comparable
from ..labels.assignment import assigned_annotators
from ..labels.checks import are_labels, is_class
from ..labels.kinds import LabelKind
from ..labels.stored import StoredSample
from ..record.run_labels import RunLabels
from ..run.read import Reader, samples_of_rows

#: a document, or a part of it, as it is stored
Stored = dict[str, Any]

_VERDICT_CODES: dict[str | None, int] = {None: NO_VERDICT, **{name: code for code, name in enumerate(VERDICTS)}}
_UNKNOWN_VERDICT = NO_VERDICT - 1
#: memory of a whole label, in multiples of that of the attributes that runs read
_OF_WHOLE = 4


@dataclass(frozen=True, slots=True)
class UnitLabels:
    """The ``U`` units of ``S`` samples, sorted by sample and id, and their ``N`` labels, by unit and annotator."""

    samples: list[StoredSample]  #: the samples, or frames
    documents: list[Stored]  #: the fields of every sample that were read, as stored
    n_left_out: IntArray  #: shape ``(S,)``, units left out because their labels were deleted or added since the run
    asked: BoolArray  #: shape ``(S, R)``, who was assigned; for values of whole samples: who gave one
    sample: IntArray  #: shape ``(U,)``, sample of every unit
    unit_ids: list[str]  #: match id of every unit
    #: shape ``(U,)``, index into ``VERDICTS``, ``NO_VERDICT`` on samples that are not rated; if the verdicts of labels
    #: differ (``split``), the highest index
    verdict: IntArray
    assigned: IntArray  #: shape ``(U,)``, number of assigned annotators
    size_px: FloatArray  #: shape ``(U, 2)``, width and height of the image, nan where unknown
    unit: IntArray  #: shape ``(N,)``, ascending, unit of every label
    annotator: IntArray  #: shape ``(N,)``
    category: IntArray  #: shape ``(N,)``, class code
    iou: FloatArray  #: shape ``(N,)``, mean IoU with the other labels as written by the run, nan without others
    field: IntArray  #: shape ``(N,)``, number of the label field
    values: list[Any]  #: class, tag or number of every label
    labels: list[Stored]  #: every label as stored; a plain value as if it were a label

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.unit_ids)

    @property
    def votes(self) -> IntArray:
        """Number of labels of every unit, shape ``(U,)``."""
        return np.bincount(self.unit, minlength=self.n_units)

    @property
    def mean_iou(self) -> FloatArray:
        """Mean IoU of the labels of every unit, shape ``(U,)``; nan for a single label."""
        known = ~np.isnan(self.iou)
        n = np.bincount(self.unit[known], minlength=self.n_units)
        total = np.bincount(self.unit[known], weights=self.iou[known], minlength=self.n_units)
        return np.where(n > 0, total / np.maximum(n, 1), np.nan)

    def only(self, kept: BoolArray) -> UnitLabels:
        """The units that a mask ``(U,)`` keeps."""
        rows, number = np.flatnonzero(kept[self.unit]), np.cumsum(kept) - 1
        chosen = rows.tolist()
        columns = {name: getattr(self, name)[kept] for name in ("sample", "verdict", "assigned", "size_px")}
        columns |= {name: getattr(self, name)[rows] for name in ("annotator", "category", "iou", "field")}
        columns |= {name: [getattr(self, name)[k] for k in chosen] for name in ("values", "labels")}
        unit_ids = [self.unit_ids[k] for k in np.flatnonzero(kept).tolist()]
        return replace(self, unit_ids=unit_ids, unit=number[self.unit[rows]], **columns)


class UnitReader(Reader[Any]):
    """Reads the units of a run, and other fields of their documents beside them.

    Attributes:
        is_lean: whether masks of whole samples are left unread
    """

    def __init__(
        self, labels: RunLabels, among: tuple[ObjectId, ...] | None = None, beside: Sequence[str] = ()
    ) -> None:
        self.source = replace(labels.source(), among=among)
        self.codes = ClassCodes(self.source.config.aliases)
        self._key, self._family, self._beside = labels.field_key, labels.family, beside
        self._is_number = labels.kinds[0].is_number
        self.is_lean = labels.family is PIXELS
        self.collection = self.source.collection
        super().__init__(cast(Any, self))  # it says itself what is read of a document

    def load(self, row: Stored) -> int:
        """Size of a query result in labels, to limit batches: labels are read whole, and masks count by bytes."""
        load, least = 0, LABELS_OF_A_MASK if self._family is PIXELS else 1
        for field, (name, kind) in enumerate(zip(self.source.fields, self.source.kinds, strict=True)):
            n_bytes = row.get(f"bytes {name}", 0)
            for label in labels_in(row["document"].get(name), kind) if "mask" in kind.content else ():
                mask = label.get("mask") if isinstance(label, dict) else None
                n_bytes += len(mask) if isinstance(mask, bytes) else 0
            load += max(least * len(row[f"id{field}"] or ()), n_bytes // BYTES_OF_A_LABEL)
        return _OF_WHOLE * load

    def projection(self) -> Stored:
        """Projection of labels, other fields, and what the run wrote on the sample."""
        source, key = self.source, self._key
        document: Stored = {name: f"${name}" for name in ("_id", *source.fields, *self._beside)}
        found: Stored = {"document": document, "compared": f"${key}_n_annotators", "disputed": f"${key}_disputed"}
        if self._family is PIXELS:
            is_nothing = {"$in": [{"$type": f"${key}_n_disputed"}, ["missing", "null"]]}
            found["disputed"] = {"$cond": [is_nothing, None, {"$gt": [f"${key}_n_disputed", 0]}]}
        for name in source.fields if self.is_lean else ():
            is_stored = {"$eq": [{"$type": f"${name}.mask"}, "binData"]}
            found[f"bytes {name}"] = {"$cond": [is_stored, {"$binarySize": f"${name}.mask"}, 0]}
            lean: Stored = {each: f"${name}.{each}" for each in ("_id", "_cls", f"{key}_of", f"{key}_iou")}
            lean["has_mask"] = {"$gt": [{"$ifNull": [f"${name}.mask", f"${name}.mask_path", None]}, None]}
            document[name] = {"$cond": [{"$eq": [{"$type": f"${name}"}, "object"]}, lean, None]}
        found |= {"size": ["$metadata.width", "$metadata.height"]} if not source.on_frames else {}
        assigned = source.config.assigned_field
        return found | ({"assigned": f"${assigned}"} if assigned is not None else {})

    def units(self, rows: Sequence[Stored]) -> UnitLabels:
        """The units of query results."""
        source, key = self.source, self._key
        documents = [row["document"] for row in rows]
        held = [
            [[each for each in labels_in(one.get(name), kind) if isinstance(each, dict)] for one in documents]
            for name, kind in zip(source.fields, source.kinds, strict=True)
        ]
        counts = [[len(entries) for entries in lists] for lists in held]
        labels = [label for lists in held for entries in lists for label in entries]
        of_sample = np.concatenate([np.repeat(np.arange(len(rows)), each) for each in counts])
        field = np.repeat(np.arange(len(held)), [sum(each) for each in counts])
        if (attribute := source.config.annotator_attribute) is None:
            annotator = np.array(source.field_annotator, np.int64)[field]
        else:  # -1 for an annotator that the run did not know
            number = source.annotator_numbers
            named = (number.get(value_name(label.get(attribute)), -1) for label in labels)
            annotator = np.fromiter(named, np.int64, len(labels))
        values, ids = self._named(labels, [str(each["_id"]) for each in documents], of_sample, annotator)
        unit_ids = sorted(each for each in set(ids) if isinstance(each, str))
        code_of = {unit_id: code for code, unit_id in enumerate(unit_ids)}
        code = np.fromiter(map(code_of.get, ids, repeat(-1)), np.int64, len(ids))
        rows_of = np.flatnonzero(code >= 0)
        place, unit = np.unique(of_sample[rows_of] * len(unit_ids) + code[rows_of], return_inverse=True)
        order = np.lexsort((annotator[rows_of], unit))
        rows_of, unit = rows_of[order], unit[order]
        sample, code = np.divmod(place, max(len(unit_ids), 1))
        chosen = rows_of.tolist()
        labels, values, annotator = [labels[k] for k in chosen], [values[k] for k in chosen], annotator[rows_of]
        of_sample = of_sample[rows_of]

        if self._family in (OBJECTS, TAGS):
            said = [_VERDICT_CODES.get(label.get(key), _UNKNOWN_VERDICT) for label in labels]
            n_votes = _counts([label.get(f"{key}_votes") for label in labels])
            first = np.searchsorted(unit, np.arange(len(place))).tolist()
            assigned = _counts([labels[k].get(f"{key}_of") for k in first])
        else:
            disputed, n_compared = [row.get("disputed") for row in rows], _counts([row.get("compared") for row in rows])
            verdicts = {True: CLASS_CONFLICT, False: AGREED}
            of_row = [verdicts[each] if isinstance(each, bool) else NO_VERDICT for each in disputed]
            said = [of_row[k] for k in of_sample.tolist()]
            n_votes, assigned = n_compared[of_sample], n_compared[sample]
        verdict = np.full(len(place), _UNKNOWN_VERDICT)
        np.maximum.at(verdict, unit, np.array(said, np.int64))
        # units that still have the labels that the run found
        bad = (n_votes != np.bincount(unit, minlength=len(place))[unit]) | (annotator < 0)
        bad[1:] |= (unit[1:] == unit[:-1]) & (annotator[1:] == annotator[:-1])
        intact = (np.bincount(unit[bad], minlength=len(place)) == 0) & (verdict != _UNKNOWN_VERDICT) & (assigned > 0)
        samples, given = samples_of_rows(source, rows), (sample[unit][intact[unit]], annotator[intact[unit]])
        if self._family in (OBJECTS, TAGS):
            asked = assigned_annotators(source, rows, samples, given).assigned
        else:
            asked = np.zeros((len(rows), len(source.annotators)), np.bool_)
            asked[given] = True
        ious = [label.get(f"{key}_iou") for label in labels]
        units = UnitLabels(
            samples=samples,
            documents=documents,
            n_left_out=np.bincount(sample[~intact], minlength=len(rows)),
            asked=asked,
            sample=sample,
            unit_ids=[unit_ids[k] for k in code.tolist()],
            verdict=verdict,
            assigned=assigned,
            size_px=sizes_px(list(rows))[sample] if self._family is OBJECTS else np.full((len(place), 2), np.nan),
            unit=unit,
            annotator=annotator,
            category=np.fromiter(map(self.codes.__getitem__, values), np.int64, len(values)),
            iou=np.array([each if isinstance(each, float) else np.nan for each in ious], np.float64),
            field=field[rows_of],
            values=values,
            labels=labels,
        )
        return units if intact.all() else units.only(intact)

    def _named(
        self, labels: list[Stored], sample_ids: Sequence[str], sample: IntArray, annotator: IntArray
    ) -> tuple[list[Any], list[Any]]:
        """Class, tag or number of every label, and match id of its unit; None for a label of no unit."""
        given = [label.get("value" if self._is_number else "label") for label in labels]
        if self._family is OBJECTS:
            return given, [label.get(f"{self._key}_id") for label in labels]
        if self._is_number:
            values, usable = given, [is_comparable(value) for value in given]
        elif self._family is PIXELS:
            # masks that the run left out because they cannot be compared have null in this attribute
            usable = [
                label.get(f"{self._key}_of", 0) is not None
                and (bool(label.get("has_mask")) or any(label.get(name) is not None for name in ("mask", "mask_path")))
                for label in labels
            ]
            values = ["mask" if is_usable else None for is_usable in usable]
        else:
            values = [None if each is None else value_name(each) for each in given]
            usable = [is_class(each) for each in given]
        if self._family is not TAGS:
            return values, [sample_ids[k] if ok else None for k, ok in zip(sample.tolist(), usable, strict=True)]
        usable = are_labels([label.get("_id") for label in labels], given).tolist()
        codes, found, seen = [self.codes[value] for value in values], list[Any](), set[tuple[int, int, int]]()
        of_code = self.codes.names()
        for is_usable, k, who, code in zip(usable, sample.tolist(), annotator.tolist(), codes, strict=True):
            is_first = is_usable and (k, who, code) not in seen
            seen |= {(k, who, code)} if is_usable else set()
            found.append(f"{sample_ids[k]} {of_code[code]}" if is_first else None)
        return values, found


def labels_in(held: Any, kind: LabelKind) -> list[Any]:
    """The labels in a field of a document, as stored; a plain value as if it were a label."""
    if held is None:
        return []
    if kind.is_number and not kind.is_label:
        return [{"value": held}]
    if not kind.is_label:
        return [{"label": value_name(held)}] if is_class(held) else []
    if not isinstance(held, dict):
        return []
    if kind.list_name is None:
        return [held] if held.get("_cls") else []
    entries = held.get(kind.list_name)
    return entries if isinstance(entries, list) else []


def _counts(values: list[Any]) -> IntArray:
    """Values as numbers of annotators; 0 for everything else."""
    return np.array([value if type(value) is int and value < 1 << 31 else 0 for value in values], np.int64)
