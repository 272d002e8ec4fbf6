"""Build the reports on a reference and models, compare a model with annotators left out, list annotators' mistakes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, distinct, sums_by
from ...metrics.numeric.rate_tests import alternative_annotator_test
from ..statistics.estimates import Fields, estimates
from ..statistics.numbers import GroupNumbers, Joined, Key, Numbers, ratio
from ..statistics.records import Hashes, Records, content_ranks
from ..statistics.report import ReportContext, mean_defined, number
from ..statistics.role_reports import (
    EPSILON,
    EPSILONS,
    AlternativeTest,
    AttributeComparison,
    LeftOutTest,
    PartComparison,
    PersonComparison,
    RoleComparison,
    RoleReport,
    SideBySide,
)
from .numbers import RoleTable, numbers_against, part_of_labels, role_tables, values_of_images
from .role_labels import (
    EXTRA,
    LOOSELY,
    MISSED,
    RIGHT,
    SAID,
    UNDECIDED,
    WRONG_CLASS,
    Comparison,
    Labels,
    compared_roles,
    role_hashes,
    role_names,
)

#: annotators who are left out, those with most images; all others remain
MAX_LEFT_OUT = 100
#: numbers of every row of the report
NAMES = ("model", "annotators", "difference", "model_pq", "annotators_pq", "difference_pq")


def values_of_sides(sums: FloatArray) -> FloatArray:
    """The numbers in the order of ``NAMES``, from sums of the columns of the model, then of the annotators left out.

    Columns of a side: labels of both, twice the matched labels with equal classes, and twice the sum of their IoU.
    """
    found = []
    for above in (1, 2):
        model, annotators = (ratio(sums[..., side + above], sums[..., side]) for side in (0, 3))
        difference = model - annotators
        found += [model, annotators, np.where(np.abs(difference) <= 1e-12, 0.0, difference)]
    return np.stack(found, axis=-1)


def _values(table: RoleTable) -> FloatArray:
    """The columns of one side, the F1, and 1, of every (group, sample)."""
    n_both, n_right, iou = (table.columns[name] for name in ("n_both", "n_right", "iou_right"))
    f1 = np.nan_to_num(ratio(2.0 * n_right, n_both))
    return np.column_stack([n_both, 2.0 * n_right, 2.0 * iou, f1, np.ones(len(f1))])


def person_comparison(
    model: Comparison, tables: Mapping[str, RoleTable], ranks: IntArray, clusters: IntArray | None = None
) -> PersonComparison | None:
    """The comparison of a model with the annotators left out; None where no two annotators share an image with it.

    Args:
        model: the model, on samples that it shares with an annotator
        tables: sums over its labels, see :func:`~.numbers.role_tables`
        ranks: shape ``(S,)``, rank of every sample, or of its video or group, for resampling
        clusters: shape ``(S,)``, video or group of every sample; None without any
    """
    labels, context, config = model.labels, model.labels.context, model.labels.context.config
    shared: BoolArray = model.both & (model.both.sum(axis=1) >= 2)[:, None]  # the model and another were asked
    n_shared = shared.sum(axis=0)
    chosen = np.argsort(-n_shared, kind="stable")[:MAX_LEFT_OUT]
    chosen = np.sort(chosen[n_shared[chosen] > 0])
    if not len(chosen):
        return None
    # of the model, then of the annotator left out, on every sample: sums over the annotators who remain
    (n_samples, n), assigned = shared.shape, shared[:, chosen]
    columns = np.zeros((n_samples, len(chosen), 2, 5))
    own = np.zeros((n_samples, n, 5))
    own[tables[""].sample, tables[""].group] = _values(tables[""])
    columns[:, :, 0] = np.where(assigned[..., None], own.sum(axis=1)[:, None] - own[:, chosen], 0.0)
    left_out = [role_tables(Comparison.of(labels, k, shared[:, k])) for k in chosen.tolist()]  # against all others
    for k, found in enumerate(left_out):
        values = _values(found[""]).T
        columns[:, k, 1] = np.column_stack([sums_by(found[""].sample, each, n_samples) for each in values])
    sums, of_model = columns[..., :3].reshape(*assigned.shape, 6), labels.sample[model.own]
    names = [context.annotators[k] for k in chosen.tolist()]
    sample, place = np.nonzero(assigned)
    anybody: BoolArray = np.logical_or.reduce(assigned, axis=1)
    every = np.flatnonzero(anybody)
    # keys, number of labels of the model, and part, sample and columns of every (part, sample)
    parts: list[tuple[list[Key], IntArray, IntArray, IntArray, FloatArray]] = [
        ([("total", "")], np.array([anybody[of_model].sum()]), 0 * every, every, sums[every].sum(axis=1)),
        ([("annotators", name) for name in names], assigned[of_model].sum(axis=0), place, sample, sums[sample, place]),
    ]
    for part in sorted(tables.keys() & {"classes", "sizes"}):
        titles, code = tables[part].parts, part_of_labels(model, part)[model.own]
        n_of_part = np.bincount(code[anybody[of_model] & (code >= 0)], minlength=len(titles))
        # a label of the model counts once for every pair of an annotator left out and another one
        annotator, place = tables[part].group // len(titles), tables[part].group % len(titles)
        weight = assigned.sum(axis=1)[tables[part].sample] - np.isin(annotator, chosen)
        weight = np.where(shared[tables[part].sample, annotator], weight, 0)
        sides = [(place * n_samples + tables[part].sample, 0, _values(tables[part]) * weight[:, None])]
        others = [found[part] for found in left_out]
        sides += [((each.group % len(titles)) * n_samples + each.sample, 3, _values(each)) for each in others]
        cells, row = distinct(np.concatenate([key for key, _, _ in sides]), len(titles) * n_samples)
        of_both, start = np.zeros((len(cells), 6)), 0
        for key, side, values in sides:
            for k in range(3):
                of_both[:, side + k] += sums_by(row[start : start + len(key)], values[:, k], len(cells))
            start += len(key)
        parts.append(([(part, title) for title in titles], n_of_part, cells // n_samples, cells % n_samples, of_both))
    keys = [key for of_part, *_ in parts for key in of_part]
    n_labels = np.concatenate([n for _, n, *_ in parts]).tolist()
    n_parts = [len(of_part) for of_part, *_ in parts]
    group = np.concatenate([first + each[2] for first, each in zip(np.cumsum([0, *n_parts]), parts, strict=False)])
    sample, values = (np.concatenate([each[k] for each in parts]) for k in (3, 4))
    counted, some = np.bincount(group, minlength=len(keys)).tolist(), values.any(axis=1)
    used: dict[int, Key] = {k: key for k, key in enumerate(keys) if counted[k]}
    joined = Joined(config.resamples > 0)
    of_parts = GroupNumbers(
        table="",
        keys=used,
        n_groups=len(keys),
        names=NAMES,
        group=group[some],
        sample=sample[some],
        columns={str(k): column for k, column in enumerate(values[some].T)},
        formula=values_of_sides,
        basis=np.array([0, 3, 0, 0, 3, 0]),
        resampled=np.arange(len(keys) if config.resamples else 0),
    )
    joined.add(0, [of_parts], n_samples)
    fields = Fields(estimates(joined.numbers(), ranks, resamples=config.resamples, seed=config.seed))
    shown: dict[str, list[SideBySide]] = {part: [] for part in ("total", "annotators", "classes", "sizes")}
    for k, (part, name) in used.items():
        shown[part].append(SideBySide(name, counted[k], n_labels[k], **fields.of(part, name)))
    classes = sorted(shown["classes"], key=lambda entry: (-entry.n_labels, entry.name))
    # mean F1 with the annotators who remain; two who both drew nothing have no row: their F1 is 1. Nan where they were
    # not assigned, and where neither the model nor anybody drew anything, unless that counts as agreement
    drawn, counts, n_others = labels.who < n, assigned.copy(), np.maximum(shared.sum(axis=1) - 1, 1)[:, None]
    drawn |= labels.who == model.who
    if config.empty != "agree":
        counts[np.bincount(labels.sample[drawn], minlength=n_samples) == 0] = False
    sum_of_f1, n_pairs = np.moveaxis(columns[..., 3:], (-1, -2), (0, 1))
    scores: FloatArray = np.where(counts, (sum_of_f1 + n_others - n_pairs) / n_others, np.nan)
    tests = _tests(scores, names, clusters)
    return PersonComparison(shown["total"][0], shown["annotators"], classes, shown["sizes"], **tests)


def _tests(scores: FloatArray, names: Sequence[str], clusters: IntArray | None) -> dict[str, Any]:
    """The alternative annotator test: fields of the report."""
    tests = [alternative_annotator_test(*scores, epsilon=epsilon, clusters=clusters) for epsilon in EPSILONS]
    result = tests[EPSILONS.index(EPSILON)]
    columns = result.n, result.advantage, result.advantage_of_annotator, result.p_value, result.won
    left_out = [
        LeftOutTest(name, int(n), number(advantage), number(of_annotator), number(p_value), bool(won))
        for name, n, advantage, of_annotator, p_value, won in zip(names, *columns, strict=True)
    ]
    if result.passed is None:
        return {"left_out": left_out}
    return {
        "left_out": left_out,
        "tests": [
            AlternativeTest(epsilon, each.winning_rate, bool(each.passed))
            for epsilon, each in zip(EPSILONS, tests, strict=True)
        ],
        "advantage_probability": number(result.advantage_probability),
    }


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
    for k, every in enumerate(compared_roles(records, context)):
        name, present = role_names(context)[k][0], every.labels.present[:, every.who]
        used, n_present = np.flatnonzero(present & anybody), int(present.sum())
        counts = len(used), records.n_samples - n_present, n_present if every.labels.kind == "masks" else len(every.own)
        if not len(used):
            reports.append(RoleReport(name, *counts, []))
            continue
        some = records.take(used)
        clusters = None if context.clusters is None else context.clusters[used]
        compared = Comparison.of(Labels.of(some, context), every.who)
        ranks = np.empty(0, np.int64)
        if config.resamples:
            hashes, values = contents(some, context)
            ranks = content_ranks(hashes + role_hashes(some, context), values, clusters)
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
                thresholds=list(context.details["roles"][k].get("thresholds", [])),
                person=person_comparison(compared, tables, ranks, clusters)
                if compared.is_model and kind.has_persons
                else None,
                n_undecided=int((compared.pairs.kind == UNDECIDED).sum()),
                n_by_rule=context.details["roles"][k].get("n_by_rule", 0),
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
    """The most frequent of the pairs (code by the role, code by the annotator), and the number of other pairs."""
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
        nan where the reference or the annotator was not asked, and where neither has a label
    """
    if context.config.reference is None:
        return {}
    compared = compared_roles(records, context)[0]
    columns = zip(context.annotators, values_of_images(compared).T, strict=True)
    return {f"{REFERENCE}_{compared.kind.of_image[1]}.{name}": values for name, values in columns}


@dataclass(frozen=True, slots=True)
class Mistake:
    """A label of an annotator that the reference contradicts, or one of the reference that the annotator missed."""

    sample: int  #: row of the sample
    drawn: int  #: row of the annotator's label; -1 where they left it out
    wanted: int  #: row of the label of the reference among those that make no unit; -1 where it has none
    given: str | None  #: class, or value, of the annotator's label
    right: str | None  #: class, or value, of the label of the reference
    said: str  #: ``wrong_class``, ``wrong_attribute``, ``loose``, ``extra`` or ``missed``


def mistakes(records: Records, context: ReportContext, annotator: str) -> list[Mistake]:
    """All mistakes of an annotator against the reference of a run; of all label types but semantic masks."""
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
