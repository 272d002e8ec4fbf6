"""A model compared with a person: its agreement with annotators, beside that of each of them left out in turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, distinct, sums_by
from ...metrics.numeric.rate_tests import alternative_annotator_test
from ..statistics.estimates import Fields, estimates
from ..statistics.numbers import GroupNumbers, Joined, Key, ratio
from ..statistics.report import number
from ..statistics.role_reports import EPSILON, EPSILONS, AlternativeTest, LeftOutTest, PersonComparison, SideBySide
from .numbers import COLUMNS, Comparison
from .role_labels import Labels

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


def _values(compared: Comparison, part: str) -> tuple[IntArray, IntArray, FloatArray]:
    """Group, sample, the columns of one side, the F1, and 1, of every (group, sample)."""
    group, sample, columns, _ = compared.rows(part)
    n_both, n_right, iou = (columns[:, COLUMNS.index(name)] for name in ("n_both", "n_right", "iou_right"))
    f1 = np.nan_to_num(ratio(2.0 * n_right, n_both))
    return group, sample, np.column_stack([n_both, 2.0 * n_right, 2.0 * iou, f1, np.ones(len(group))])


def person_comparison(model: Comparison, ranks: IntArray, clusters: IntArray | None = None) -> PersonComparison | None:
    """The comparison of a model with the annotators left out; None where no two annotators share an image with it.

    Args:
        model: the model, on samples that it shares with an annotator
        ranks: shape ``(S,)``, rank of every sample, or of its video or group, for resampling
        clusters: shape ``(S,)``, video or group of every sample; None without any
    """
    context, config, labels = model.context, model.context.config, model.labels
    shared: BoolArray = model.both & (model.both.sum(axis=1) >= 2)[:, None]  # with the model and another annotator
    n_shared = shared.sum(axis=0)
    chosen = np.argsort(-n_shared, kind="stable")[:MAX_LEFT_OUT]
    chosen = np.sort(chosen[n_shared[chosen] > 0])
    if not len(chosen):
        return None
    left_out = []  # each against all others, with the rows of their samples
    for annotator in chosen.tolist():
        rows = np.flatnonzero(shared[:, annotator])
        rule = labels.size_rule if labels.kind == "objects" else None
        left_out.append((rows, Comparison(Labels.of(labels.records.take(rows), context, rule), annotator)))
    # of the model, then of the annotator left out, on every sample: sums over the annotators who remain
    n_samples, assigned = model.n_samples, shared[:, chosen]
    columns = np.zeros((n_samples, len(chosen), 2, 5))
    group, sample, values = _values(model, "")
    own = np.zeros((n_samples, model.n_annotators, 5))
    own[sample, group] = values
    columns[:, :, 0] = np.where(assigned[..., None], own.sum(axis=1)[:, None] - own[:, chosen], 0.0)
    for number_of, (rows, compared) in enumerate(left_out):
        _, sample, values = _values(compared, "")
        columns[rows, number_of, 1] = np.column_stack([sums_by(sample, column, len(rows)) for column in values.T])
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
    for part, titles in model.titles.items():
        code = model.part(part)[model.own]
        n = np.bincount(code[anybody[of_model] & (code >= 0)], minlength=len(titles))
        parts.append(([(part, title) for title in titles], n, *_of_part(model, left_out, part, shared, chosen)))
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
    found: dict[str, list[SideBySide]] = {part: [] for part in ("total", "annotators", "classes", "sizes")}
    for k, (part, name) in used.items():
        found[part].append(SideBySide(name, counted[k], n_labels[k], **fields.of(part, name)))
    classes = sorted(found["classes"], key=lambda entry: (-entry.n_labels, entry.name))
    scores = _scores(model, columns[..., 3:], assigned, shared.sum(axis=1) - 1)
    tests = _tests(scores, names, clusters)
    return PersonComparison(found["total"][0], found["annotators"], classes, found["sizes"], **tests)


def _of_part(
    model: Comparison, left_out: Sequence[tuple[IntArray, Comparison]], part: str, shared: BoolArray, chosen: IntArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Part, sample and columns of every (class, sample), or (size, sample), of both sides.

    A label of the model counts once for every pair of an annotator left out and another one.
    """
    n_samples, n_parts = model.n_samples, len(model.titles[part])
    group, sample, values = _values(model, part)
    weight = shared[:, chosen].sum(axis=1)[sample] - np.isin(group // n_parts, chosen)
    weight = np.where(shared[sample, group // n_parts], weight, 0)
    entries = [((group % n_parts) * n_samples + sample, 0, values * weight[:, None])]
    for rows, compared in left_out:
        group, sample, values = _values(compared, part)
        entries.append(((group % n_parts) * n_samples + rows[sample], 3, values))
    found, row = distinct(np.concatenate([key for key, _, _ in entries]), n_parts * n_samples)
    columns, start = np.zeros((len(found), 6)), 0
    for key, side, values in entries:
        for k in range(3):
            columns[:, side + k] += sums_by(row[start : start + len(key)], values[:, k], len(found))
        start += len(key)
    return found // n_samples, found % n_samples, columns


def _scores(model: Comparison, columns: FloatArray, assigned: BoolArray, n_others: IntArray) -> FloatArray:
    """Mean F1 with the annotators who remain, of the model and of the one left out: shape ``(2, S, J)``.

    F1 counts labels with equal classes alone. Of two who both drew nothing nothing is stored: they agree. Nan where
    they were not assigned, and where neither the model nor anybody drew anything, unless that counts as agreement.
    """
    who, sample = model.labels.who, model.labels.sample
    drawn = sample[(who < model.n_annotators) | (who == model.who)]
    counts, n_others = assigned.copy(), np.maximum(n_others, 1)[:, None]
    if model.context.config.empty != "agree":
        counts[np.bincount(drawn, minlength=len(n_others)) == 0] = False
    sum_of_f1, n_pairs = np.moveaxis(columns, (-1, -2), (0, 1))
    scores: FloatArray = np.where(counts, (sum_of_f1 + n_others - n_pairs) / n_others, np.nan)
    return scores


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
