"""Build the part of a report on a role (a reference or model) from records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ...metrics.numeric.arrays import FloatArray, IntArray, sums_by
from ..objects.records import ObjectRecords
from ..objects.sizes import SIZES
from ..pixels.records import PixelRecords
from ..statistics.content_order import Hashes, content_ranks
from ..statistics.estimates import Fields, estimates
from ..statistics.numbers import Numbers
from ..statistics.records import Records, id_texts
from ..statistics.report import ReportContext, mean_defined
from ..statistics.role_reports import AttributeComparison, PartComparison, RoleComparison, RoleReport
from ..tags.compute import TagRecords
from .given_labels import AgainstClasses, AgainstMasks, AgainstNumbers, AgainstTags
from .matching import EXTRA, LOOSELY, RIGHT, SAID, UNDECIDED, WRONG_ATTRIBUTE, WRONG_CLASS, most_matched
from .numbers import COLUMNS, AgainstRole, AttributeValues, role_names
from .person import person_comparison

#: pairs of classes listed for an annotator
MAX_LISTED = 20
#: content of the samples, as :attr:`~..families.family.Family.contents`
Contents: TypeAlias = Callable[[Any, ReportContext], tuple[Hashes, FloatArray]]
#: keys of the numbers of a reference, and of models
REFERENCE, MODELS = "reference", "models"
#: what the reference says of its labels that an annotator did not draw
MISSED = "missed"


_AGAINST: dict[type[Records], type[AgainstRole]] = {
    ObjectRecords: AgainstRole,
    TagRecords: AgainstTags,
    PixelRecords: AgainstMasks,
}


def against_role(records: Records, context: ReportContext, role: int) -> AgainstRole:
    """The labels of annotators against those of one of the roles of a run."""
    return role_kind(records, context).of(records, context, role)


def role_kind(records: Records, context: ReportContext) -> type[AgainstRole]:
    """The kind of comparison with roles that the labels of a run have."""
    of_ratings = AgainstNumbers if context.details.get("numbers") else AgainstClasses
    return _AGAINST.get(type(records), of_ratings)


def compared_roles(records: Records, context: ReportContext) -> Iterator[tuple[tuple[str, ...], AgainstRole]]:
    """Every role with what the keys of its numbers begin with."""
    for number, (name, is_model) in enumerate(role_names(context)):
        yield (MODELS, name) if is_model else (REFERENCE,), against_role(records, context, number)


def role_numbers(records: Records, context: ReportContext) -> Iterator[Numbers]:
    """The numbers of all roles: ``("reference", "alice", "f1")``, ``("models", "yolo", "alice", "f1")``."""
    for key, compared in compared_roles(records, context):
        yield from compared.numbers(key, by_sample=context.config.resamples > 0)


def role_reports(records: Records, context: ReportContext, contents: Contents) -> list[RoleReport]:
    """The reports on all roles; empty without roles.

    Args:
        records: of all samples
        context: of the report
        contents: content of samples, for resampling
    """
    config, reports = context.config, []
    for number, (key, every) in enumerate(compared_roles(records, context)):
        name, stored = role_names(context)[number][0], every.stored
        if not (stored.present & records.assigned.any(axis=1)).any():
            reports.append(RoleReport(name, 0, records.n_samples, len(stored.sample), []))
            continue
        compared, ranks, clusters = on_shared(every, number, contents)
        numbers = compared.numbers(key, by_sample=config.resamples > 0)
        fields = Fields(estimates(numbers, ranks, resamples=config.resamples, seed=config.seed))
        summaries = _summaries(compared, fields, key)
        mean = {
            each: mean_defined([np.nan if (value := getattr(one, each)) is None else value for one in summaries])[0]
            for each in (*compared.shown, *(["kappa"] if compared.has_kappa else []))
            if "." not in each
        }
        thresholds = list(context.details["roles"][number].get("thresholds", []))
        is_person = compared.is_model and compared.has_persons
        n_without = records.n_samples - int(stored.present.sum())
        reports.append(
            RoleReport(
                *(name, compared.records.n_samples, n_without, len(stored.sample), summaries, mean, thresholds),
                person=person_comparison(compared, ranks, clusters) if is_person else None,
                n_undecided=int((compared.stored.pairs.kind == UNDECIDED).sum()),
            )
        )
    return reports


def on_shared(every: AgainstRole, number: int, contents: Contents) -> tuple[AgainstRole, IntArray, IntArray | None]:
    """A role on the samples that it shares with any annotator; for resampling their ranks and clusters."""
    records, context = every.records, every.context
    used = np.flatnonzero(every.stored.present & records.assigned.any(axis=1))
    some, clusters = records.take(used), None if context.clusters is None else context.clusters[used]
    has_ranks = context.config.resamples > 0 and len(used) > 0
    ranks = content_ranks(*contents(some, context), clusters) if has_ranks else np.empty(0, np.int64)
    return against_role(some, context, number), ranks, clusters


def _summaries(compared: AgainstRole, fields: Fields, key: tuple[str, ...]) -> list[RoleComparison]:
    """The comparison of every annotator who shares a sample with the role."""
    counts, n_samples = _totals(compared, ""), compared.both.sum(axis=0).tolist()
    titles = compared.titles() if compared.of_parts else {}
    totals, pairs = {part: _totals(compared, part) for part in titles}, compared.stored.pairs
    summaries = []
    for k, name in enumerate(compared.context.annotators):
        if not n_samples[k]:
            continue
        own = dict(zip(COLUMNS, counts[k, 0].astype(np.int64).tolist(), strict=False))
        found = fields.of(*key, name)
        bias = found.pop("bias", {})
        wrong = pairs.annotator[compared.differing] == k
        confusion, n_unlisted = _confusion(compared, k)
        parts: dict[str, Any] = {
            part: _parts(fields, (f"{key[0]}_{part}", *key[1:], name), names, totals[part][k])
            for part, names in titles.items()
        }
        summaries.append(
            RoleComparison(
                name=name,
                n_samples=n_samples[k],
                **{each: own[each] for each in ("n_labels", "n_reference", "n_matched", "n_right", "n_loose")},
                n_wrong_class=own["n_matched"] - own["n_right"],
                n_extra=own["n_labels"] - own["n_matched"] - own["n_loose"],
                n_missed=own["n_reference"] - own["n_matched"],
                n_wrong_attribute=int(wrong.sum()),
                bias=bias if own["n_boxes"] else {},
                confusion=confusion,
                n_unlisted=n_unlisted,
                attributes=[_attribute(compared, each, k, fields, key) for each in compared.attributes],
                **parts,
                **found,
            )
        )
    return summaries


def _totals(compared: AgainstRole, part: str) -> FloatArray:
    """Sums of the columns of every annotator and part, shape ``(R, K, C)``."""
    group, _, columns, n_groups = compared.rows_once(part)
    total = np.column_stack([sums_by(group, column, n_groups) for column in columns.T])
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
    if not compared.of_parts:
        return [], 0
    rows = np.flatnonzero((pairs.kind == WRONG_CLASS) & (pairs.annotator == annotator))
    names, drawn, wanted = compared.classes
    return _listed(names, wanted[pairs.label[rows]], drawn[pairs.drawn[rows]])


def _attribute(
    compared: AgainstRole, of: AttributeValues, annotator: int, fields: Fields, key: tuple[str, ...]
) -> AttributeComparison:
    """An attribute of the labels of an annotator that are matched."""
    own = compared.stored.pairs.annotator[of.rows] == annotator
    numbers = fields.of(f"{key[0]}_attributes", *key[1:], compared.context.annotators[annotator], of.values.name)
    wrong = own & of.differ
    listed = _listed(of.values.values, of.true[wrong], of.own[wrong])
    return AttributeComparison(of.values.name, int(own.sum()), int((own & ~of.differ).sum()), *listed, **numbers)


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
    _, compared = next(compared_roles(records, context))
    columns = zip(context.annotators, compared.values_of_images().T, strict=True)
    return {f"{REFERENCE}_{compared.of_image[1]}.{name}": values for name, values in columns}


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
    compared = next(each for (kind, *_), each in compared_roles(records, context) if kind == REFERENCE)
    number, stored, pairs = context.annotators.index(annotator), compared.stored, compared.stored.pairs
    names, of_drawn, of_wanted = compared.classes
    kind, pair = compared.partner
    differing = set(compared.differing.tolist())

    def shown(value: Any) -> str:
        return names[value] if compared.of_parts else f"{value:g}"

    found, done = list[Mistake](), set(pairs.label[(pairs.annotator == number) & (pairs.kind <= LOOSELY)].tolist())
    judged = compared.judged
    for row in judged[compared.drawn_annotator[judged] == number].tolist():
        said = WRONG_ATTRIBUTE if pair[row] in differing else SAID.get(int(kind[row]), EXTRA)
        label = -1 if said == EXTRA else int(pairs.label[pair[row]])
        if said != SAID[RIGHT]:
            right = None if label < 0 else shown(of_wanted[label])
            wanted = -1 if label < 0 else int(stored.row[label])
            found.append(Mistake(int(compared.drawn_sample[row]), row, wanted, shown(of_drawn[row]), right, said))
    every, asked = compared.wanted
    for each in every[asked == number].tolist():
        if each not in done:
            right = shown(of_wanted[each])
            found.append(Mistake(int(stored.sample[each]), -1, int(stored.row[each]), None, right, MISSED))
    return found


def role_table(records: Records, context: ReportContext) -> dict[str, Any]:
    """Columns of the labels of roles, with the reference's verdict on every label of annotators.

    Columns: ``row`` (of the sample), ``drawn`` (a label of annotators in the same unit, -1 without one), ``annotator``
    (the name of the role), ``role`` (``reference`` or ``model``), ``field``, ``label``, ``verdict`` (what all
    annotators together say of it, None where nobody should have drawn it), ``label_id`` unless they are plain values,
    of objects ``area``, and ``reference``, which has the rows of the labels of annotators.
    """
    columns: dict[str, list[Any]] = defaultdict(list)
    drawn, said = [np.empty(0, np.int64)], np.full(len(records.labels()[0]), None, object)
    of_attribute = {each["name"] for each in context.details.get("roles", ()) if each["of_attribute"]}
    roles = zip(role_names(context), compared_roles(records, context), strict=True)
    for number, ((name, _), (_, compared)) in enumerate(roles):
        stored = compared.stored
        n, places = len(stored.sample), stored.category.tolist()
        names, _, of_role = compared.classes
        unit = np.arange(len(said))
        if isinstance(records, ObjectRecords):
            of_part = np.concatenate([part["unit"].astype(np.int64) for part in records.parts])
            n_units = records.column("n_units").astype(np.int64)
            unit, places = of_part + (np.cumsum(n_units) - n_units)[compared.drawn_sample], of_role.tolist()
            columns["area"] += records.column("role_area")[stored.row].astype(np.float64).tolist()
        if "role_label_id" in records.parts[0]:
            ids = records.column("role_label_id")[stored.row]  # of classes and numbers, those of all roles
            columns["label_id"] += id_texts(ids[:, number] if ids.ndim == 3 else ids)
        columns["row"] += stored.sample.tolist()
        drawn.append(most_matched(stored.pairs, unit, n))
        columns["annotator"] += [name] * n
        verdicts = dict(zip(*compared.matched_by(range(records.n_annotators)), strict=True))
        columns["verdict"] += [verdicts.get(k) for k in range(n)]
        columns["role"] += ["model" if compared.is_model else "reference"] * n
        columns["field"] += [context.config.fields[0] if name in of_attribute else name] * n
        columns["label"] += [names[k] for k in places] if compared.of_parts else places
        if not compared.is_model:
            judged = compared.judged
            said[judged] = [SAID.get(k, EXTRA) for k in compared.partner[0][judged].tolist()]
            said[stored.pairs.drawn[compared.differing]] = WRONG_ATTRIBUTE
    return {**columns, "drawn": np.concatenate(drawn), "reference": said.tolist()}
