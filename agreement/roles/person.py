"""A model compared with a person: its agreement with annotators, beside that of each of them left out in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, distinct, sums_by
from ...metrics.numeric.rate_tests import alternative_annotator_test
from ..statistics.estimates import Fields, estimates
from ..statistics.numbers import GroupNumbers, Joined, Key, ratio
from ..statistics.report import number
from ..statistics.role_reports import EPSILON, EPSILONS, AlternativeTest, LeftOutTest, PersonComparison, SideBySide
from .numbers import RoleTable, part_of_labels, role_tables
from .role_labels import Comparison

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
        tables: what is summed of it
        ranks: shape ``(S,)``, rank of every sample, or of its video or group, for resampling
        clusters: shape ``(S,)``, video or group of every sample; None without any
    """
    labels, context, config = model.labels, model.labels.context, model.labels.context.config
    shared: BoolArray = model.both & (model.both.sum(axis=1) >= 2)[:, None]  # with the model and another annotator
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
    # mean F1 with the annotators who remain; of two who both drew nothing nothing is stored: they agree. Nan where they
    # were not assigned, and where neither the model nor anybody drew anything, unless that counts as agreement
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
