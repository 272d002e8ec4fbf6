"""The part of a report on a reference or model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...metrics.numeric.arrays import FloatArray, IntArray
from ..objects.build import sample_contents
from ..objects.records import ObjectRecords
from ..objects.sizes import SIZES
from ..statistics.content_order import content_ranks
from ..statistics.numbers import Fields, Numbers, estimates
from ..statistics.records import Records
from ..statistics.report import ReportContext, mean_defined
from ..statistics.role_reports import PartComparison, RoleComparison, RoleReport
from .columns import StoredRole, most_matched
from .matching import EXTRA, LOOSELY, RIGHT, SAID, WRONG_CLASS
from .numbers import COLUMNS, NUMBERS, AgainstRole, role_names
from .person import person_comparison

#: pairs of classes listed for an annotator
MAX_LISTED = 20
#: keys of the numbers of a reference, and of models
REFERENCE, MODELS = "reference", "models"


def compared_roles(records: Records, context: ReportContext) -> Iterator[tuple[tuple[str, ...], AgainstRole]]:
    """Every role with what the keys of its numbers begin with."""
    if not isinstance(records, ObjectRecords):
        return
    for number, (name, is_model) in enumerate(role_names(context)):
        yield (MODELS, name) if is_model else (REFERENCE,), AgainstRole.of(records, context, number)


def role_numbers(records: Records, context: ReportContext) -> Iterator[Numbers]:
    """The numbers of all roles: ``("reference", "alice", "f1")``, ``("models", "yolo", "alice", "f1")``."""
    for key, compared in compared_roles(records, context):
        yield from compared.numbers(key, by_sample=context.config.resamples > 0)


def role_reports(records: Records, context: ReportContext) -> list[RoleReport]:
    """The reports on all roles; empty without roles."""
    if not isinstance(records, ObjectRecords):
        return []
    everywhere = records.assigned.any(axis=1)
    reports = []
    for number, (name, is_model) in enumerate(role_names(context)):
        present = StoredRole.of(records, number, len(role_names(context))).present
        used = np.flatnonzero(present & everywhere)
        n_labels = _n_labels(records, number, present)
        if not len(used):
            reports.append(RoleReport(name, 0, records.n_samples, n_labels, []))
            continue
        some = records.take(used)
        clusters = None if context.clusters is None else context.clusters[used]
        compared = AgainstRole.of(some, context, number)
        key = (MODELS, name) if is_model else (REFERENCE,)
        config = context.config
        ranks = content_ranks(*sample_contents(some, context), clusters) if config.resamples else np.empty(0, np.int64)
        numbers = compared.numbers(key, by_sample=config.resamples > 0)
        fields = Fields(estimates(numbers, ranks, resamples=config.resamples, seed=config.seed))
        summaries = _summaries(compared, fields, key)
        mean = {
            each: mean_defined([np.nan if (value := getattr(one, each)) is None else value for one in summaries])[0]
            for each in NUMBERS
            if "." not in each
        }
        thresholds = context.details["roles"][number].get("thresholds", [])
        person = person_comparison(compared, ranks, clusters) if is_model else None
        n_without = records.n_samples - int(present.sum())
        reports.append(
            RoleReport(name, len(used), n_without, n_labels, summaries, mean, list(thresholds), person=person)
        )
    return reports


def _n_labels(records: ObjectRecords, role: int, present: Any) -> int:
    return int(np.count_nonzero(records.column("role") == role))


def _summaries(compared: AgainstRole, fields: Fields, key: tuple[str, ...]) -> list[RoleComparison]:
    """The comparison of every annotator who shares a sample with the role."""
    counts, pairs = _totals(compared, ""), compared.stored.pairs
    of_classes, of_sizes = (_totals(compared, part) for part in ("classes", "sizes"))
    n_samples = compared.both.sum(axis=0).tolist()
    summaries = []
    for k, name in enumerate(compared.context.annotators):
        if not n_samples[k]:
            continue
        own = dict(zip(COLUMNS, counts[k, 0].astype(np.int64).tolist(), strict=False))
        kinds = np.bincount(pairs.kind[pairs.annotator == k], minlength=LOOSELY + 1).tolist()
        found = fields.of(*key, name)
        bias = found.pop("bias", {})
        confusion, n_unlisted = _confusion(compared, k)
        summaries.append(
            RoleComparison(
                name=name,
                n_samples=n_samples[k],
                n_labels=own["n_labels"],
                n_reference=own["n_reference"],
                n_matched=own["n_matched"],
                n_right=kinds[RIGHT],
                n_wrong_class=kinds[WRONG_CLASS],
                n_loose=kinds[LOOSELY],
                n_extra=own["n_labels"] - own["n_matched"] - kinds[LOOSELY],
                n_missed=own["n_reference"] - own["n_matched"],
                bias=bias if own["n_boxes"] else {},
                confusion=confusion,
                n_unlisted=n_unlisted,
                classes=_parts(fields, (f"{key[0]}_classes", *key[1:], name), compared.classes[0], of_classes[k]),
                sizes=_parts(fields, (f"{key[0]}_sizes", *key[1:], name), SIZES, of_sizes[k]),
                **found,
            )
        )
    return summaries


def _totals(compared: AgainstRole, part: str) -> FloatArray:
    """Sums of the columns of every annotator and part, shape ``(R, K, C)``."""
    group, _, columns, n_groups = compared.rows(part)
    total = np.zeros((n_groups, columns.shape[1]))
    np.add.at(total, group, columns)
    return total.reshape(compared.n_annotators, -1, columns.shape[1])


def _parts(fields: Fields, key: tuple[str, ...], names: Sequence[str], total: FloatArray) -> list[PartComparison]:
    """The classes, or sizes, that the annotator or the role has, those with most labels first (sizes in order)."""
    column = {name: total[:, k].astype(np.int64) for k, name in enumerate(COLUMNS)}
    order: IntArray = np.flatnonzero(column["n_both"] > 0)
    if names is not SIZES:
        order = order[np.lexsort((np.array(names, object)[order].astype(str), -column["n_both"][order]))]
    found = []
    for place in order.tolist():
        n_labels, n_reference, n_matched = (int(column[name][place]) for name in COLUMNS[:2] + COLUMNS[3:4])
        numbers = fields.of(*key, names[place])
        found.append(PartComparison(names[place], n_labels, n_reference, n_matched, **numbers))
    return found


def _confusion(compared: AgainstRole, annotator: int) -> tuple[list[dict[str, Any]], int]:
    """The most frequent classes of the role and what the annotator said instead; and the number of other pairs."""
    pairs = compared.stored.pairs
    rows = np.flatnonzero((pairs.kind == WRONG_CLASS) & (pairs.annotator == annotator))
    names, drawn, wanted = compared.classes
    key = wanted[pairs.label[rows]] * len(names) + drawn[pairs.drawn[rows]]
    found, n = np.unique(key, return_counts=True)
    each = zip(found.tolist(), n.tolist(), strict=True)
    entries = [(count, names[k // len(names)], names[k % len(names)]) for k, count in each]
    entries.sort(key=lambda entry: (-entry[0], *entry[1:]))
    listed = [{"reference": a, "annotator": b, "n": count} for count, a, b in entries[:MAX_LISTED]]
    return listed, sum(count for count, *_ in entries[MAX_LISTED:])


def role_table(records: Records, context: ReportContext) -> dict[str, Any]:
    """The labels of roles as columns, and what the reference says of every label of annotators.

    Columns: ``row`` (of the sample), ``drawn`` (a label of annotators in the same unit, -1 without one), ``annotator``
    (the name of the role), ``role`` (``reference`` or ``model``), ``field``, ``label_id``, ``label``, ``area``, and
    ``reference``, which has the rows of the labels of annotators.
    """
    names_of_columns = ("row", "drawn", "annotator", "role", "field", "label_id", "label", "area")
    columns: dict[str, list[Any]] = {name: [] for name in names_of_columns}
    said: list[str | None] = []
    for (name, _), (_, compared) in zip(role_names(context), compared_roles(records, context), strict=True):
        stored = compared.stored
        unit = np.concatenate([part["unit"].astype(np.int64) for part in compared.records.parts])
        n_units = compared.records.column("n_units").astype(np.int64)
        unit = unit + (np.cumsum(n_units) - n_units)[compared.drawn_sample]
        n = len(stored.sample)
        ids = compared.records.column("role_label_id")[stored.row].tobytes().hex()
        columns["row"] += stored.sample.tolist()
        columns["drawn"] += most_matched(stored.pairs, unit, n).tolist()
        columns["annotator"] += [name] * n
        columns["role"] += ["model" if compared.is_model else "reference"] * n
        columns["field"] += [_field_of(context, name)] * n
        columns["label_id"] += [ids[24 * k : 24 * (k + 1)] for k in range(n)]
        names, _, of_role = compared.classes
        columns["label"] += [names[k] for k in of_role.tolist()]
        columns["area"] += compared.records.column("role_area")[stored.row].astype(np.float64).tolist()
        if not compared.is_model:
            kind, _ = compared.partner
            judged = np.zeros(len(kind), np.bool_)
            judged[compared.judged] = True
            said = [
                SAID.get(k, EXTRA) if known else None for k, known in zip(kind.tolist(), judged.tolist(), strict=True)
            ]
    return {**columns, "drawn": np.array(columns["drawn"], np.int64), "reference": said or [None] * _n_drawn(records)}


def _n_drawn(records: Records) -> int:
    return len(records.column("annotator")) if isinstance(records, ObjectRecords) else 0


def _field_of(context: ReportContext, role: str) -> str:
    """The field of the labels of a role."""
    of_attribute = {each["name"] for each in context.details["roles"] if each["of_attribute"]}
    return context.config.fields[0] if role in of_attribute else role
