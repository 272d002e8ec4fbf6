"""Build the part of a report on a role (a reference or model), and the tables of its labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ...metrics.numeric.arrays import FloatArray, IntArray, sums_by
from ..objects.records import ObjectRecords
from ..objects.sizes import SIZES
from ..statistics.content_order import Hashes, content_ranks
from ..statistics.estimates import Fields, estimates
from ..statistics.numbers import Numbers
from ..statistics.records import Records, id_texts
from ..statistics.report import ReportContext, mean_defined
from ..statistics.role_reports import AttributeComparison, PartComparison, RoleComparison, RoleReport
from .matching import LOOSELY, RIGHT, UNDECIDED, WRONG_CLASS
from .numbers import COLUMNS, Comparison, compared_roles, compared_with
from .person import person_comparison
from .role_labels import EXTRA, MISSED, SAID, Labels, role_names

#: pairs of classes listed for an annotator
MAX_LISTED = 20
#: content of the samples, as :attr:`~..families.family.Family.contents`
Contents: TypeAlias = Callable[[Any, ReportContext], tuple[Hashes, FloatArray]]
#: keys of the numbers of a reference, and of models
REFERENCE, MODELS = "reference", "models"


def _key(compared: Comparison) -> tuple[str, ...]:
    """What the keys of the numbers of a role begin with."""
    name, is_model = role_names(compared.context)[compared.who - compared.n_annotators]
    return (MODELS, name) if is_model else (REFERENCE,)


def role_numbers(records: Records, context: ReportContext) -> Iterator[Numbers]:
    """The numbers of all roles: ``("reference", "alice", "f1")``, ``("models", "yolo", "alice", "f1")``."""
    for compared in compared_roles(records, context):
        yield from compared.numbers(_key(compared), by_sample=context.config.resamples > 0)


def role_reports(records: Records, context: ReportContext, contents: Contents) -> list[RoleReport]:
    """The reports on all roles; empty without roles.

    Args:
        records: of all samples
        context: of the report
        contents: content of samples, for resampling
    """
    config, reports, anybody = context.config, [], records.assigned.any(axis=1)
    for number, every in enumerate(compared_roles(records, context)):
        name, used = role_names(context)[number][0], np.flatnonzero(every.present & anybody)
        n_labels, n_without = len(every.own), records.n_samples - int(every.present.sum())
        if every.labels.kind == "masks":
            n_labels = int(every.present.sum())
        if not len(used):
            reports.append(RoleReport(name, 0, records.n_samples, n_labels, []))
            continue
        some = records.take(used)
        clusters = None if context.clusters is None else context.clusters[used]
        compared, key = compared_with(Labels.of(some, context), every.who), _key(every)
        ranks = content_ranks(*contents(some, context), clusters) if config.resamples else np.empty(0, np.int64)
        numbers = compared.numbers(key, by_sample=config.resamples > 0)
        fields = Fields(estimates(numbers, ranks, resamples=config.resamples, seed=config.seed))
        summaries = _summaries(compared, fields, key)
        mean = {
            each: mean_defined([np.nan if (value := getattr(one, each)) is None else value for one in summaries])[0]
            for each in (*compared.kind.shown, *(["kappa"] if compared.kind.has_kappa else []))
            if "." not in each
        }
        is_person = compared.is_model and compared.kind.has_persons
        reports.append(
            RoleReport(
                *(name, len(used), n_without, n_labels, summaries, mean),
                thresholds=list(context.details["roles"][number].get("thresholds", [])),
                person=person_comparison(compared, ranks, clusters) if is_person else None,
                n_undecided=int((compared.pairs.kind == UNDECIDED).sum()),
            )
        )
    return reports


def _summaries(compared: Comparison, fields: Fields, key: tuple[str, ...]) -> list[RoleComparison]:
    """The comparison of every annotator who shares a sample with the role."""
    counts, n_samples = _totals(compared, ""), compared.both.sum(axis=0).tolist()
    totals = {part: _totals(compared, part) for part in compared.titles}
    value, pairs, names = compared.labels.value, compared.pairs, compared.labels.names
    summaries = []
    for k, name in enumerate(compared.context.annotators):
        if not n_samples[k]:
            continue
        own = dict(zip(COLUMNS, counts[k, 0].astype(np.int64).tolist(), strict=False))
        found = fields.of(*key, name)
        bias = found.pop("bias", {})
        listed: tuple[list[dict[str, Any]], int] = [], 0
        if compared.kind.of_parts:
            wrong = (pairs.kind == WRONG_CLASS) & (compared.annotator == k)
            listed = _listed(names, value[pairs.label[wrong]], value[pairs.drawn[wrong]])
        parts: dict[str, Any] = {
            part: _parts(fields, (f"{key[0]}_{part}", *key[1:], name), titles, totals[part][k])
            for part, titles in compared.titles.items()
        }
        summaries.append(
            RoleComparison(
                name=name,
                n_samples=n_samples[k],
                **{each: own[each] for each in ("n_labels", "n_reference", "n_matched", "n_right", "n_loose")},
                n_wrong_class=own["n_matched"] - own["n_right"],
                n_extra=own["n_labels"] - own["n_matched"] - own["n_loose"],
                n_missed=own["n_reference"] - own["n_matched"],
                n_wrong_attribute=int((compared.annotator[compared.differing] == k).sum()),
                bias=bias if own["n_boxes"] else {},
                confusion=listed[0],
                n_unlisted=listed[1],
                attributes=list(_attributes(compared, k, fields, key)),
                **parts,
                **found,
            )
        )
    return summaries


def _totals(compared: Comparison, part: str) -> FloatArray:
    """Sums of the columns of every annotator and part, shape ``(R, K, C)``."""
    group, _, columns, n_groups = compared.rows(part)
    total = np.column_stack([sums_by(group, column, n_groups) for column in columns.T])
    return total.reshape(compared.n_annotators, -1, columns.shape[1])


def _parts(fields: Fields, key: tuple[str, ...], names: Sequence[str], total: FloatArray) -> list[PartComparison]:
    """The classes, or sizes, that the annotator or the role has, those with most labels first (sizes in order)."""
    column = {name: total[:, k].astype(np.int64) for k, name in enumerate(COLUMNS)}
    order: IntArray = np.flatnonzero(column["n_both"] > 0)
    if names is not SIZES:
        order = order[np.lexsort((np.array(names, object)[order].astype(str), -column["n_both"][order]))]
    counts = np.column_stack([column[name] for name in ("n_labels", "n_reference", "n_matched")])
    return [PartComparison(names[k], *counts[k].tolist(), **fields.of(*key, names[k])) for k in order.tolist()]


def _attributes(
    compared: Comparison, annotator: int, fields: Fields, key: tuple[str, ...]
) -> Iterator[AttributeComparison]:
    """The attributes of the labels of an annotator that are matched."""
    for of in compared.attributes:
        own = compared.annotator[of.rows] == annotator
        numbers = fields.of(f"{key[0]}_attributes", *key[1:], compared.context.annotators[annotator], of.values.name)
        wrong = own & of.differ
        listed = _listed(of.values.values, of.true[wrong], of.own[wrong])
        yield AttributeComparison(of.values.name, int(own.sum()), int((own & ~of.differ).sum()), *listed, **numbers)


def _listed(names: Sequence[Any], wanted: IntArray, drawn: IntArray) -> tuple[list[dict[str, Any]], int]:
    """The most frequent pairs of what the role and what an annotator say, as codes; and the number of other pairs."""
    found, n = np.unique(wanted * len(names) + drawn, return_counts=True)
    each = zip(found.tolist(), n.tolist(), strict=True)
    entries = [(count, names[k // len(names)], names[k % len(names)]) for k, count in each]
    entries.sort(key=lambda entry: (-entry[0], *map(str, entry[1:])))
    listed = [{"reference": a, "annotator": b, "n": count} for count, a, b in entries[:MAX_LISTED]]
    return listed, sum(count for count, *_ in entries[MAX_LISTED:])


def reference_of_samples(records: Records, context: ReportContext) -> dict[str, FloatArray]:
    """F1 of every annotator against the reference on every sample, by ``reference_f1.<annotator>``, shapes ``(S,)``.

    Semantic masks have ``reference_iou``; classes and numbers ``reference_accuracy``, 1 where they are right, else 0.
    Empty without a reference.

    Undefined:
        nan where the reference or the annotator is not there, and where neither has a label
    """
    if context.config.reference is None:
        return {}
    compared = compared_roles(records, context)[0]
    columns = zip(context.annotators, compared.values_of_images().T, strict=True)
    return {f"{REFERENCE}_{compared.kind.of_image[1]}.{name}": values for name, values in columns}


@dataclass(frozen=True, slots=True)
class Mistake:
    """What the reference says against an annotator, on one label of either."""

    sample: int  #: row of the sample
    drawn: int  #: row of the annotator's label; -1 where they left it out
    wanted: int  #: row of the label of the reference among those of all roles; -1 where it has none
    given: str | None  #: class, or value, of the annotator's label
    right: str | None  #: that of the reference
    said: str  #: ``wrong_class``, ``wrong_attribute``, ``loose``, ``extra`` or ``missed``


def mistakes(records: Records, context: ReportContext, annotator: str) -> list[Mistake]:
    """Everything that the reference of a run says against an annotator; of all label types but semantic masks."""
    compared, number = compared_roles(records, context)[0], context.annotators.index(annotator)
    labels, pairs, first = compared.labels, compared.pairs, len(records.labels()[0])

    def shown(row: int) -> str | None:
        value = labels.value[row]
        return None if row < 0 else labels.names[value] if compared.kind.of_parts else f"{value:g}"

    found, of_pair = [], compared.partner[1]
    for row in compared.judged[labels.who[compared.judged] == number].tolist():
        said = compared.said[row]
        if said != SAID[RIGHT]:
            label = -1 if said == EXTRA else int(pairs.label[of_pair[row]])
            wanted = -1 if label < 0 else label - first
            found.append(Mistake(int(labels.sample[row]), row, wanted, shown(row), shown(label), said))
    done = set(pairs.label[(compared.annotator == number) & (pairs.kind <= LOOSELY)].tolist())
    every, asked = compared.wanted
    left = (row for row in every[asked == number].tolist() if row not in done)
    return [*found, *(Mistake(int(labels.sample[row]), -1, row - first, None, shown(row), MISSED) for row in left)]


def role_table(records: Records, context: ReportContext) -> dict[str, Any]:
    """Columns of the labels of roles, with the reference's verdict on every label of annotators.

    Columns: ``row`` (of the sample), ``drawn`` (a label of annotators in the same unit, -1 without one), ``annotator``
    (the name of the role), ``role`` (``reference`` or ``model``), ``field``, ``label``, ``verdict`` (what all
    annotators together say of it, None where nobody should have drawn it), ``label_id`` unless they are plain values,
    of objects ``area``, and ``reference``, which has the rows of the labels of annotators.
    """
    columns: dict[str, list[Any]] = defaultdict(list)
    n, drawn = len(records.labels()[0]), [np.empty(0, np.int64)]
    said, unit = [None] * n, np.arange(n)
    if isinstance(records, ObjectRecords):
        of_part = np.concatenate([part["unit"].astype(np.int64) for part in records.parts])
        n_units = records.column("n_units").astype(np.int64)
        unit = of_part + (np.cumsum(n_units) - n_units)[records.labels()[0]]
    for compared, role in zip(compared_roles(records, context), context.details.get("roles", ()), strict=True):
        labels, own = compared.labels, compared.own
        for column, stored in (("area", "role_area"), ("label_id", "role_label_id")):
            if stored in records.parts[0]:
                found = records.column(stored)[own - n]
                columns[column] += id_texts(found) if column == "label_id" else found.astype(np.float64).tolist()
        columns["row"] += labels.sample[own].tolist()
        drawn.append(compared.most_matched(unit))
        columns["annotator"] += [role["name"]] * len(own)
        verdicts = dict(zip(*compared.matched_by(range(records.n_annotators)), strict=True))
        columns["verdict"] += [verdicts.get(row) for row in own.tolist()]
        columns["role"] += ["model" if compared.is_model else "reference"] * len(own)
        columns["field"] += [context.config.fields[0] if role["of_attribute"] else role["name"]] * len(own)
        values = labels.value[own].tolist()
        columns["label"] += [labels.names[k] for k in values] if compared.kind.of_parts else values
        said = said if compared.is_model else compared.said[:n].tolist()
    return {**columns, "drawn": np.concatenate(drawn), "reference": said}
