"""A run as two tables: a row for every label, and a row for every unit: an object, a tag, a class of a mask, a sample.

Both come from the records of a run, in chunks; no label is read again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...metrics.numeric.arrays import BoolArray, IntArray
from ..disputes.costs import costs_of_units, pair_costs
from ..matching.verdicts import AGREED, CLASS_CONFLICT, CROWD, NO_VERDICT, verdict_names, who_left_out
from ..objects.records import ObjectRecords, unit_ids
from ..pixels.compute import MaskValues, are_classes
from ..pixels.records import PixelRecords
from ..ratings.compute import RatingRecords
from ..roles.role_labels import compared_roles
from ..statistics.records import Records, id_texts
from ..statistics.report import ReportContext
from ..tags.compute import TagRecords

_Texts = NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class RunTables:
    """Columns of both tables for some samples; ``row`` in them is the row of the sample in the records.

    ``labels``: ``unit`` (row in ``units``), ``annotator``, ``label``, ``verdict``, ``label_id`` where labels have ids,
    and further columns of the label type.
    ``units``: ``unit`` (text), ``labels``, ``drawn_by`` and ``missed_by`` (lists), ``votes``, ``assigned``,
    ``verdict``, ``cost``, and further columns of the label type.
    """

    labels: dict[str, Any]
    units: dict[str, Any]

    @classmethod
    def of(
        cls,
        labels: dict[str, Any],
        units: dict[str, Any],
        asked: BoolArray,
        context: ReportContext,
        start: int,
    ) -> RunTables:
        """The tables from their columns, with names of annotators, and the lists and votes of every unit.

        Args:
            labels: columns with codes of annotators, ``(N,)``
            units: columns without lists, ``(U,)``
            asked: who should have drawn every unit, ``(U, R)``
            context: names of the annotators
            start: row of the first sample in the records
        """
        unit, annotator, n = labels["unit"], labels["annotator"], len(units["row"])
        names = np.array([*context.annotators, None], object)[:-1]
        missed = who_left_out(asked, unit, annotator)
        lists = {
            "labels": lists_by_row(unit, labels["label"], n),
            "drawn_by": lists_by_row(unit, names[annotator], n),
            "missed_by": lists_by_row(missed.row, names[missed.annotator], n),
        }
        votes = {"votes": np.bincount(unit, minlength=n), "assigned": asked.sum(axis=1)}
        return cls(
            {**labels, "row": start + units["row"][unit], "annotator": names[annotator]},
            {**units, "row": start + units["row"], **lists, **votes},
        )


def lists_by_row(row: IntArray, values: _Texts, n: int) -> list[list[Any]]:
    """The values of each of ``n`` rows as a list; ``row`` is the row of every value."""
    ends = np.cumsum(np.bincount(row, minlength=n)).tolist()
    ordered = values[np.argsort(row, kind="stable")].tolist()
    return [ordered[first:end] for first, end in zip([0, *ends], ends, strict=False)]


def object_tables(records: ObjectRecords, context: ReportContext) -> Iterator[RunTables]:
    """The tables of objects; labels also have an area, and their mean IoU with other labels of the unit."""
    classes, start = np.array([*context.class_names, None], object), 0
    for found in records.tables(context.config):
        units, objects, label_ids = found.units, found.objects, id_texts(found.part["label_id"])
        first = np.full(len(units.sample), len(label_ids))
        np.minimum.at(first, found.unit, np.arange(len(label_ids)))
        names = unit_ids(
            [str(label_ids[k]) for k in first.tolist()], units.sample, objects.annotator[first], context.annotators
        )
        iou, n_labels = found.object_iou, np.bincount(found.unit, minlength=len(first))
        of_unit = np.bincount(found.unit, np.nan_to_num(iou), len(first)) / n_labels
        labels = {
            "label_id": label_ids,
            "annotator": objects.annotator,
            "label": classes[objects.category],
            "unit": found.unit,
            "verdict": verdict_names(found.object_verdict),
            "iou": iou,
            "area": found.area,
        }
        columns = {
            "row": units.sample,
            "unit": names,
            "verdict": verdict_names(units.verdict),
            "cost": costs_of_units(found).astype(np.float64),
            "iou": np.where(n_labels > 1, of_unit, np.nan),
        }
        yield RunTables.of(labels, columns, found.assigned[units.sample], context, start)
        start += found.n_samples


def tag_tables(records: TagRecords, context: ReportContext) -> Iterator[RunTables]:
    """The tables of tags; a unit is a tag of a sample and costs 1 for every two annotators of whom one gave it."""
    t, classes = records.agreement(), np.array([*context.class_names, None], object)
    verdict = verdict_names(t.verdict)
    labels: dict[str, Any] = {
        "annotator": t.annotator,
        "label": classes[t.tag],
        "unit": t.unit,
        "verdict": verdict[t.unit],
        **_label_ids(records),
    }
    cost = (t.votes * (t.n_annotators[t.unit_sample] - t.votes)).astype(np.float64)
    units = {"row": t.unit_sample, "unit": classes[t.unit_tag], "verdict": verdict, "cost": cost}
    yield RunTables.of(labels, units, t.assigned[t.unit_sample], context, 0)


def rating_tables(records: RatingRecords, context: ReportContext) -> Iterator[RunTables]:
    """The tables of classes, texts or numbers; a sample is a unit; its cost is the sum of 1 - score over pairs."""
    ratings, values = records.ratings, records.sample_values()
    rated = np.flatnonzero(values.n_annotators > 0)
    unit, annotator = np.nonzero(records.assigned[rated])
    said: Any = ratings[rated][unit, annotator]
    if not context.details["numbers"]:
        said = np.array([*context.class_names, None], object)[said.astype(np.int64)]
    verdict = verdict_names(np.where(np.isnan(values.score), NO_VERDICT, values.n_disputed)[rated])
    labels = {"annotator": annotator, "label": said, "unit": unit, "verdict": verdict[unit], **_label_ids(records)}
    cost = costs_of_pairs(records)[rated]
    units = {"row": rated, "unit": np.full(len(rated), None, object), "verdict": verdict, "cost": cost}
    yield RunTables.of(labels, units, records.assigned[rated], context, 0)


def _label_ids(records: Records) -> dict[str, list[str | None]]:
    """The column of label ids; none for plain values."""
    return {"label_id": id_texts(records.column("label_id"))} if "label_id" in records.parts[0] else {}


def other_labels(records: Records, context: ReportContext) -> tuple[dict[str, Any], list[Any] | None]:
    """The labels that are in no unit: those of roles, crowd regions, labels within these, and tags given again.

    Returns:
        columns: ``row`` (of the sample), ``drawn`` (a label of annotators in the same unit, -1 if there is none),
        ``annotator`` (number of the annotator, or role), ``role`` in runs with roles, ``label``, ``verdict`` (of labels
        of roles their outcome against all annotators together, None where nobody was asked; None for tags given again),
        ``label_id`` unless they are plain values, ``area`` of objects of roles (nan of others). And the outcome of
        every label of annotators against the reference; None without roles
    """
    if "n_uncounted" not in records.parts[0]:
        return {}, None
    n, (sample, *_), roles = records.n_annotators, records.labels(), compared_roles(records, context)
    row = np.repeat(np.arange(records.n_samples), records.column("n_uncounted"))
    who, value = records.column("uncounted_annotator").astype(np.int64), records.column("uncounted_category")
    of_objects, unit, first = isinstance(records, ObjectRecords), np.arange(len(sample)), len(sample)
    is_crowd = of_objects & (who < n) & (records.sample_values().n_annotators[row] >= 2)
    verdict, drawn = np.array([None, CROWD], object)[is_crowd.astype(np.int64)], np.full(len(row), -1)
    if of_objects:
        n_units = records.column("n_units").astype(np.int64)
        unit = records.column("unit").astype(np.int64) + (np.cumsum(n_units) - n_units)[sample]
    said = None if not roles else [None] * first
    for compared in roles:
        asked, of_role = compared.matched_by(range(n))
        verdict[asked - first], drawn[compared.own - first] = of_role, compared.most_matched(unit)
        said = said if compared.is_model else compared.said()[:first].tolist()
    columns = {
        "row": row,
        "drawn": drawn,
        "annotator": who,
        "label": value if value.dtype.kind == "f" else np.array([*context.names_of_codes, None], object)[value],
        "verdict": verdict,
    }
    if roles:
        words = ["annotator"] * n + ["model" if each.is_model else "reference" for each in roles]
        columns["role"] = np.array(words, object)[who]
    if "uncounted_label_id" in records.parts[0]:
        columns["label_id"] = np.array([*id_texts(records.column("uncounted_label_id")), None], object)[:-1]
    if "uncounted_area" in records.parts[0]:
        columns["area"] = np.where(who < n, np.nan, records.column("uncounted_area").astype(np.float64))
    order = np.argsort(who < n, kind="stable")
    return {name: column[order] for name, column in columns.items()}, said


def costs_of_pairs(records: Records) -> NDArray[np.float64]:
    """Sum of 1 - score over all pairs of annotators of a sample, shape ``(S,)``; 0 where nothing is disputed."""
    values = records.sample_values()
    return np.where(values.n_disputed > 0, pair_costs(values.score, values.n_annotators), 0.0)


def pixel_tables(records: PixelRecords, context: ReportContext) -> Iterator[RunTables]:
    """The tables of masks; a class of a sample is a unit, with its mean IoU over the pairs of masks that used it, and
    costs 1 - this IoU. Samples with fewer than two masks, and the background, are left out.

    Every class of a mask is a row of the labels, with the id of the mask; its verdict is that of the class, ``agreed``
    where all masks are equal in it.
    """
    meaning, start, n_masks = MaskValues.from_dict(context.details), 0, 0
    assigned, label_ids = records.assigned, np.array([*_label_ids(records).get("label_id", ()), None], object)[:-1]
    for found in records.agreements(meaning.background, context.config):
        n_samples, is_class = len(found.n_pixels), are_classes(found.values, meaning.background)
        sample, areas = found.sample[is_class], found.area[is_class]
        unit, annotator = np.nonzero(areas)
        values, numbered = np.unique(found.values[is_class], return_inverse=True)
        is_rgb = bool(context.details["is_rgb"])
        names = np.array([*(meaning.name(value, is_rgb=is_rgb) for value in values.tolist()), None], object)[numbered]
        iou = found.class_iou[is_class]
        verdict = verdict_names(np.where(iou < 1.0, CLASS_CONFLICT, AGREED))
        area = areas[unit, annotator]
        labels = {"annotator": annotator, "label": names[unit], "unit": unit, "verdict": verdict[unit], "area": area}
        if len(label_ids):
            own = assigned[start : start + n_samples]
            place = n_masks + np.cumsum(own).reshape(own.shape) - 1
            labels["label_id"] = label_ids[place[sample[unit], annotator]]
            n_masks += int(own.sum())
        units = {"row": sample, "unit": names, "verdict": verdict, "cost": 1.0 - iou, "iou": iou}
        yield RunTables.of(labels, units, found.assigned[sample], context, start)
        start += n_samples
