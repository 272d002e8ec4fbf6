"""Build the part of a report on a role (a reference or model), and the tables of its labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ...metrics.numeric.arrays import FloatArray, IntArray
from ..statistics.content_order import Hashes, content_ranks
from ..statistics.estimates import Fields, estimates
from ..statistics.numbers import Joined, Numbers
from ..statistics.records import Records
from ..statistics.report import ReportContext, mean_defined
from ..statistics.role_reports import AttributeComparison, PartComparison, RoleComparison, RoleReport
from .matching import LOOSELY, RIGHT, UNDECIDED, WRONG_CLASS
from .numbers import RoleTable, numbers_against, role_tables, values_of_images
from .person import person_comparison
from .role_labels import EXTRA, MISSED, SAID, Comparison, Labels, compared_roles, role_names

#: pairs of classes listed for an annotator
MAX_LISTED = 20
#: content of the samples, as :attr:`~..families.family.Family.contents`
Contents: TypeAlias = Callable[[Any, ReportContext], tuple[Hashes, FloatArray]]
#: keys of the numbers of a reference, and of models
REFERENCE, MODELS = "reference", "models"


def _key(compared: Comparison) -> tuple[str, ...]:
    """What the keys of the numbers of a role begin with."""
    name, is_model = role_names(compared.labels.context)[compared.who - compared.both.shape[1]]
    return (MODELS, name) if is_model else (REFERENCE,)


def role_numbers(records: Records, context: ReportContext) -> Iterator[Numbers]:
    """The numbers of all roles: ``("reference", "alice", "f1")``, ``("models", "yolo", "alice", "f1")``."""
    for compared in compared_roles(records, context):
        yield from _numbers(compared, role_tables(compared))


def _numbers(compared: Comparison, tables: Mapping[str, RoleTable]) -> Iterator[Numbers]:
    by_sample = compared.labels.context.config.resamples > 0
    joined = Joined(by_sample)
    joined.add(0, numbers_against(compared, tables, _key(compared), by_sample=by_sample), len(compared.both))
    return joined.numbers()


def role_reports(records: Records, context: ReportContext, contents: Contents) -> list[RoleReport]:
    """The reports on all roles; empty without roles.

    Args:
        records: of all samples
        context: of the report
        contents: content of samples, for resampling
    """
    config, reports, anybody = context.config, [], records.assigned.any(axis=1)
    for number, every in enumerate(compared_roles(records, context)):
        name, present = role_names(context)[number][0], every.labels.present[:, every.who]
        used, n_present = np.flatnonzero(present & anybody), int(present.sum())
        counts = len(used), records.n_samples - n_present, n_present if every.labels.kind == "masks" else len(every.own)
        if not len(used):
            reports.append(RoleReport(name, *counts, []))
            continue
        some = records.take(used)
        clusters = None if context.clusters is None else context.clusters[used]
        compared = Comparison.of(Labels.of(some, context), every.who)
        ranks = content_ranks(*contents(some, context), clusters) if config.resamples else np.empty(0, np.int64)
        tables = role_tables(compared)
        fields = Fields(estimates(_numbers(compared, tables), ranks, resamples=config.resamples, seed=config.seed))
        summaries, kind = list(_summaries(compared, tables, fields)), compared.kind
        mean = {
            each: mean_defined([np.nan if (value := getattr(one, each)) is None else value for one in summaries])[0]
            for each in (*kind.shown, *(["kappa"] if kind.has_kappa else []))
            if "." not in each
        }
        reports.append(
            RoleReport(
                *(name, *counts, summaries, mean),
                thresholds=list(context.details["roles"][number].get("thresholds", [])),
                person=person_comparison(compared, tables, ranks, clusters)
                if compared.is_model and kind.has_persons
                else None,
                n_undecided=int((compared.pairs.kind == UNDECIDED).sum()),
            )
        )
    return reports


def _summaries(compared: Comparison, tables: Mapping[str, RoleTable], fields: Fields) -> Iterator[RoleComparison]:
    """The comparison of every annotator who shares a sample with the role."""
    pairs, labels, (first, *rest) = compared.pairs, compared.labels, _key(compared)
    annotators, n_samples = labels.context.annotators, compared.both.sum(axis=0).tolist()
    names = ("n_labels", "n_reference", "n_matched", "n_right", "n_loose", "n_both", "n_boxes")
    sums = {
        part: {each: table.sums(each, len(annotators)).astype(np.int64) for each in names}
        for part, table in tables.items()
    }
    for k, name in enumerate(annotators):
        if not n_samples[k]:
            continue
        own, found = {each: int(column[k, 0]) for each, column in sums[""].items()}, fields.of(first, *rest, name)
        bias, more = found.pop("bias", {}), {each: own[each] for each in names[:5]} | found
        for part in tables.keys() - {"", "attributes"}:
            titles, of_part = tables[part].parts, {each: column[k] for each, column in sums[part].items()}
            order: IntArray = np.flatnonzero(of_part["n_both"] > 0)
            if part == "classes":  # those with most labels first
                by_name = np.array(titles, object)[order].astype(str)
                order = order[np.lexsort((by_name, -of_part["n_both"][order]))]
            counts = zip(*(of_part[each][order].tolist() for each in names[:3]), strict=True)
            more[part] = [
                PartComparison(titles[code], *n, **fields.of(f"{first}_{part}", *rest, name, titles[code]))
                for code, n in zip(order.tolist(), counts, strict=True)
            ]
        attributes = []
        for each in compared.attributes:
            of_annotator = compared.annotator[each.rows] == k
            wrong = of_annotator & each.differ
            listed = _listed(each.values.values, each.true[wrong], each.own[wrong])
            numbers = fields.of(f"{first}_attributes", *rest, name, each.values.name)
            n = int(of_annotator.sum()), int((of_annotator & ~each.differ).sum())
            attributes.append(AttributeComparison(each.values.name, *n, *listed, **numbers))
        wrong = (pairs.kind == WRONG_CLASS) & (compared.annotator == k) & bool(compared.kind.of_parts)
        confusion, n_unlisted = _listed(
            labels.names, labels.value[pairs.label[wrong]], labels.value[pairs.drawn[wrong]]
        )
        yield RoleComparison(
            name=name,
            n_samples=n_samples[k],
            n_wrong_class=own["n_matched"] - own["n_right"],
            n_extra=own["n_labels"] - own["n_matched"] - own["n_loose"],
            n_missed=own["n_reference"] - own["n_matched"],
            n_wrong_attribute=int((compared.annotator[compared.differing] == k).sum()),
            bias=bias if own["n_boxes"] else {},
            confusion=confusion,
            n_unlisted=n_unlisted,
            attributes=attributes,
            **more,
        )


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
    columns = zip(context.annotators, values_of_images(compared).T, strict=True)
    return {f"{REFERENCE}_{compared.kind.of_image[1]}.{name}": values for name, values in columns}


@dataclass(frozen=True, slots=True)
class Mistake:
    """What the reference says against an annotator, on one label of either."""

    sample: int  #: row of the sample
    drawn: int  #: row of the annotator's label; -1 where they left it out
    wanted: int  #: row of the label of the reference among those that make no unit; -1 where it has none
    given: str | None  #: class, or value, of the annotator's label
    right: str | None  #: that of the reference
    said: str  #: ``wrong_class``, ``wrong_attribute``, ``loose``, ``extra`` or ``missed``


def mistakes(records: Records, context: ReportContext, annotator: str) -> list[Mistake]:
    """Everything that the reference of a run says against an annotator; of all label types but semantic masks."""
    compared, number = compared_roles(records, context)[0], context.annotators.index(annotator)
    labels, pairs, first, said = compared.labels, compared.pairs, len(records.labels()[0]), compared.said()

    def shown(row: int) -> str | None:
        value = labels.value[row]
        return None if row < 0 else labels.names[value] if compared.kind.of_parts else f"{value:g}"

    found = []
    for row in compared.judged[labels.who[compared.judged] == number].tolist():
        if said[row] != SAID[RIGHT]:
            label = -1 if said[row] == EXTRA else int(pairs.label[compared.pair_of[row]])
            wanted = -1 if label < 0 else label - first
            found.append(Mistake(int(labels.sample[row]), row, wanted, shown(row), shown(label), said[row]))
    done = pairs.label[(compared.annotator == number) & (pairs.kind <= LOOSELY)]
    wanted_of_them = compared.wanted[compared.wanted_of == number]
    left = wanted_of_them[~np.isin(wanted_of_them, done)].tolist()
    return [*found, *(Mistake(int(labels.sample[row]), -1, row - first, None, shown(row), MISSED) for row in left)]
