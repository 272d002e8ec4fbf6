"""A model compared with a person: its agreement with annotators, beside that of each of them left out in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, distinct, sums_by
from ...metrics.numeric.rate_tests import AlternativeAnnotatorTest, alternative_annotator_test
from ..matching.batch import SamplePairs
from ..matching.compute import MatchedBatch
from ..objects.records import shown_area
from ..objects.sizes import SizeRule
from ..settings.config import AgreementConfig
from ..statistics.estimates import Fields, estimates
from ..statistics.numbers import GroupRows, Key, ratio
from ..statistics.records import Columns, Records, compact
from ..statistics.report import ReportContext, number
from ..statistics.role_reports import EPSILON, EPSILONS, AlternativeTest, LeftOutTest, PersonComparison, SideBySide
from .given_labels import AgainstGiven
from .matching import LOOSELY, RolePairs, StoredRole, match_annotators
from .numbers import COLUMNS, AgainstRole, class_table


def left_out_columns(agreement: MatchedBatch, config: AgreementConfig) -> Columns:
    """The pairs of labels of every two annotators, each two matched alone, as columns of stored records.

    Args:
        agreement: the agreement of the annotators
        config: the options
    """
    batch = agreement.batch
    found, pairs = match_annotators(batch, config), SamplePairs.of(batch.objects, batch.assigned)
    kept = np.flatnonzero(found.kind != LOOSELY)
    kept = kept[np.lexsort((found.drawn[kept], found.label[kept], found.annotator[kept]))]  # pairs are sorted by sample
    of_pair = found.annotator[kept]
    sample = pairs.sample[of_pair]
    first = np.cumsum(agreement.n_objects) - agreement.n_objects

    return {
        "n_left_out": compact(np.bincount(sample, minlength=agreement.n_samples)),
        "left_out_label": compact(found.label[kept] - first[sample]),
        "left_out_drawn": compact(found.drawn[kept] - first[sample]),
        "left_out_a": compact(pairs.a[of_pair]),
        "left_out_b": compact(pairs.b[of_pair]),
        "left_out_kind": found.kind[kept].astype(np.uint8),
        "left_out_iou": found.iou[kept],
    }


@dataclass(frozen=True)
class LeftOutAnnotator(AgainstRole):
    """The labels of the annotator left out in the place of a role, and those of the others."""

    rule: SizeRule = field(kw_only=True)

    @classmethod
    def of_annotator(cls, records: Records, context: ReportContext, annotator: int, rule: SizeRule) -> LeftOutAnnotator:
        """One annotator, on samples that they were assigned to."""
        n_objects, n_pairs = (records.column(name).astype(np.int64) for name in ("n_objects", "n_left_out"))
        of_pair, first = np.repeat(np.arange(len(n_pairs)), n_pairs), np.cumsum(n_objects) - n_objects
        label, drawn, a, b, kind = (
            records.column(f"left_out_{name}").astype(np.int64) for name in ("label", "drawn", "a", "b", "kind")
        )
        own = np.flatnonzero((a == annotator) | (b == annotator))
        second = b[own] == annotator
        start = first[of_pair[own]]
        mine, others = (
            rows + start
            for rows in (np.where(second, drawn[own], label[own]), np.where(second, label[own], drawn[own]))
        )
        row = np.flatnonzero(records.column("annotator") == annotator)
        number = np.full(int(n_objects.sum()) + 1, -1)
        number[row] = np.arange(len(row))
        pairs = RolePairs(
            number[mine],
            others,
            np.where(second, a[own], b[own]),
            kind[own],
            records.column("left_out_iou")[own],
        )
        sample, category = np.repeat(np.arange(len(n_objects)), n_objects)[row], records.column("category")[row]
        stored = StoredRole(records.assigned[:, annotator], row, sample, category.astype(np.int64), pairs)
        return cls(records, context, stored, is_model=False, annotator=annotator, rule=rule)

    @cached_property
    def classes(self) -> tuple[list[str], IntArray, IntArray]:
        """As of a role; both have the codes of annotators."""
        names, of_annotators, _ = class_table(self.context)
        drawn = of_annotators[self.drawn[2]]
        return names, drawn, drawn[self.stored.row]

    @property
    def size_rule(self) -> SizeRule:
        """That of all samples."""
        return self.rule

    @property
    def role_area(self) -> FloatArray:
        """Area of the labels of the annotator."""
        return shown_area({"area": self.records.column("area")})[self.stored.row]

    @property
    def boxes(self) -> tuple[FloatArray, FloatArray]:
        """Boxes of all labels, and of those of the annotator."""
        drawn = self.records.column("boxes_xyxy").astype(np.float64)
        return drawn, drawn[self.stored.row]

    def measured(self) -> Iterator[tuple[str, IntArray, FloatArray | None]]:
        """Nothing: nobody asks for the bias."""
        return iter(())


def left_out_as(model: AgainstRole, records: Records, annotator: int) -> AgainstRole:
    """An annotator left out in the place of a model, on samples that they were assigned to."""
    if isinstance(model, AgainstGiven):
        return type(model).of_annotator(records, model.context, annotator)
    return LeftOutAnnotator.of_annotator(records, model.context, annotator, model.size_rule)


#: annotators who are left out, those with most images; all others remain
MAX_LEFT_OUT = 100
#: numbers of every row of the report
NAMES = ("model", "annotators", "difference", "model_pq", "annotators_pq", "difference_pq")
#: columns of one side: labels of both, twice the matched labels with equal classes, and twice the sum of their IoU
_N_BOTH, _F1, _PQ = range(3)


def values_of_sides(sums: FloatArray) -> FloatArray:
    """The numbers from sums of the columns of the model, then of the annotators; in the order of ``NAMES``."""
    found = []
    for above in (_F1, _PQ):
        model, annotators = (ratio(sums[..., side + above], sums[..., side + _N_BOTH]) for side in (0, 3))
        difference = model - annotators
        found += [model, annotators, np.where(np.abs(difference) <= 1e-12, 0.0, difference)]
    return np.stack(found, axis=-1)


@dataclass(frozen=True)
class _Sides:
    """The model and the annotators left out, on the ``S`` samples of the model."""

    model: AgainstRole

    @cached_property
    def all_assigned(self) -> BoolArray:
        """True where an annotator shares a sample with the model and another annotator, shape ``(S, R)``."""
        assigned: BoolArray = self.model.both.copy()
        assigned[assigned.sum(axis=1) < 2] = False
        return assigned

    @cached_property
    def chosen(self) -> IntArray:
        """The annotators who are left out in turn, ``J``."""
        n_samples = self.all_assigned.sum(axis=0)
        order = np.argsort(-n_samples, kind="stable")[:MAX_LEFT_OUT]
        return np.sort(order[n_samples[order] > 0])

    @cached_property
    def assigned(self) -> BoolArray:
        """The same of these alone, shape ``(S, J)``."""
        return self.all_assigned[:, self.chosen]

    @cached_property
    def left_out(self) -> list[tuple[IntArray, AgainstRole]]:
        """Every one of them against all others, with the rows of their samples."""
        rows = [np.flatnonzero(assigned) for assigned in self.assigned.T]
        return [
            (of_one, left_out_as(self.model, self.model.records.take(of_one), annotator))
            for annotator, of_one in zip(self.chosen.tolist(), rows, strict=True)
        ]

    @cached_property
    def columns(self) -> FloatArray:
        """Of the model, then of the annotator left out: the columns on every sample, sum of F1 and number of pairs.

        The sums are over the annotators who remain. Shape ``(S, J, 2, 5)``; zeros where they were not assigned.
        """
        shape = self.assigned.shape
        found = np.zeros((*shape, 2, 5))
        group, sample, values = _values(self.model, "")
        own = np.zeros((shape[0], self.model.n_annotators, 5))
        own[sample, group] = values
        found[:, :, 0] = np.where(self.assigned[..., None], own.sum(axis=1)[:, None] - own[:, self.chosen], 0.0)
        for place, (rows, compared) in enumerate(self.left_out):
            _, sample, values = _values(compared, "")
            found[rows, place, 1] = np.column_stack([sums_by(sample, column, len(rows)) for column in values.T])
        return found

    @cached_property
    def scores(self) -> FloatArray:
        """Mean F1 with the annotators who remain, of the model and of the one left out: shape ``(2, S, J)``.

        F1 counts labels with equal classes alone. Of two who both drew nothing nothing is stored: they agree. Nan where
        they were not assigned, and where neither the model nor anybody drew anything, unless that counts as agreement.
        """
        n_others = np.maximum(self.all_assigned.sum(axis=1) - 1, 1)[:, None]
        model = self.model
        n_drawn = np.bincount(np.r_[model.drawn_sample, model.stored.sample], minlength=len(n_others))
        counts = self.assigned.copy()
        if model.context.config.empty != "agree":
            counts[n_drawn == 0] = False
        sum_of_f1, n_pairs = np.moveaxis(self.columns[..., 3:], (-1, -2), (0, 1))
        scores: FloatArray = np.where(counts, (sum_of_f1 + n_others - n_pairs) / n_others, np.nan)
        return scores

    def of_parts(self, part: str, n_parts: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Part, sample and columns of every (class, sample), or (size, sample), of both sides.

        A label of the model counts once for every pair of an annotator left out and another one.
        """
        n_samples = len(self.assigned)
        group, sample, values = _values(self.model, part)
        weight = self.assigned.sum(axis=1)[sample] - np.isin(group // n_parts, self.chosen)
        weight = np.where(self.all_assigned[sample, group // n_parts], weight, 0)
        entries = [((group % n_parts) * n_samples + sample, 0, values * weight[:, None])]
        for rows, compared in self.left_out:
            group, sample, values = _values(compared, part)
            entries.append(((group % n_parts) * n_samples + rows[sample], 3, values))
        found, row = distinct(np.concatenate([key for key, _, _ in entries]), n_parts * n_samples)
        columns, start = np.zeros((len(found), 6)), 0
        for key, side, values in entries:
            for k in range(3):
                columns[:, side + k] += sums_by(row[start : start + len(key)], values[:, k], len(found))
            start += len(key)
        return found // n_samples, found % n_samples, columns


def _values(compared: AgainstRole, part: str) -> tuple[IntArray, IntArray, FloatArray]:
    """Group, sample, the columns of one side, the F1, and 1, of every (group, sample)."""
    group, sample, columns, _ = compared.rows_once(part)
    n_both, n_right, iou = (columns[:, COLUMNS.index(name)] for name in ("n_both", "n_right", "iou_right"))
    f1 = np.nan_to_num(ratio(2.0 * n_right, n_both))
    return group, sample, np.column_stack([n_both, 2.0 * n_right, 2.0 * iou, f1, np.ones(len(group))])


def person_comparison(model: AgainstRole, ranks: IntArray, clusters: IntArray | None = None) -> PersonComparison | None:
    """The comparison of a model with the annotators left out; None where no two annotators share an image with it.

    Args:
        model: the model, on samples that it shares with an annotator
        ranks: shape ``(S,)``, rank of every sample, or of its video or group, for resampling
        clusters: shape ``(S,)``, video or group of every sample; None without any
    """
    sides, context, config = _Sides(model), model.context, model.context.config
    if not len(sides.chosen):
        return None
    names = [context.annotators[k] for k in sides.chosen.tolist()]
    sample, place = np.nonzero(sides.assigned)
    of_all = np.flatnonzero(sides.assigned.any(axis=1))
    columns = sides.columns[..., :3].reshape(*sides.assigned.shape, 6)
    parts: list[tuple[list[Key], IntArray, IntArray, FloatArray]] = [
        ([("total", "")], np.zeros(len(of_all), np.int64), of_all, columns[of_all].sum(axis=1)),
        ([("annotators", name) for name in names], place, sample, columns[sample, place]),
    ]
    for part, titles in model.titles().items():
        parts.append(([(part, title) for title in titles], *sides.of_parts(part, len(titles))))
    keys = [key for of_part, *_ in parts for key in of_part]
    rows = GroupRows(len(keys), np.arange(len(keys) if config.resamples else 0))
    first, n_samples = 0, np.zeros(len(keys), np.int64)
    for of_part, group, sample, values in parts:
        group, some = group + first, values.any(axis=1)
        rows.add(group[some], sample[some], values[some], 0)
        n_samples += np.bincount(group, minlength=len(keys))
        first += len(of_part)
    used: dict[int, Key] = {k: key for k, key in enumerate(keys) if n_samples[k]}
    basis = np.array([0, 3, 0, 0, 3, 0])
    fields = Fields(
        estimates(
            rows.numbers(used, NAMES, values_of_sides, basis, 6), ranks, resamples=config.resamples, seed=config.seed
        )
    )
    n_labels = _n_labels(sides)
    found: dict[str, list[SideBySide]] = {part: [] for part in ("total", "annotators", "classes", "sizes")}
    for k, (part, name) in used.items():
        found[part].append(SideBySide(name, int(n_samples[k]), n_labels[part, name], **fields.of(part, name)))
    classes = sorted(found["classes"], key=lambda entry: (-entry.n_labels, entry.name))
    return PersonComparison(
        found["total"][0], found["annotators"], classes, found["sizes"], **_tests(sides.scores, names, clusters)
    )


def _n_labels(sides: _Sides) -> dict[Key, int]:
    """Labels of the model by part and name."""
    model = sides.model
    shared: BoolArray = np.logical_or.reduce(sides.assigned, axis=1)
    own = shared[model.stored.sample]
    found: dict[Key, int] = {("total", ""): int(own.sum())}
    for place, annotator in enumerate(sides.chosen.tolist()):
        found["annotators", model.context.annotators[annotator]] = int(sides.assigned[model.stored.sample, place].sum())
    for part, titles in model.titles().items():
        codes = model.classes[2] if part == "classes" else model.sizes[1]
        counts = np.bincount(codes[own & (codes >= 0)], minlength=len(titles)).tolist()
        found |= {(part, title): n for title, n in zip(titles, counts, strict=True)}
    return found


def _tests(scores: FloatArray, names: Sequence[str], clusters: IntArray | None) -> dict[str, Any]:
    """The alternative annotator test: fields of the report."""

    def test(epsilon: float) -> AlternativeAnnotatorTest:
        return alternative_annotator_test(*scores, epsilon=epsilon, clusters=clusters)

    result = test(EPSILON)
    left_out = [
        LeftOutTest(name, int(n), number(advantage), number(of_annotator), number(p_value), bool(won))
        for name, n, advantage, of_annotator, p_value, won in zip(
            names, result.n, result.advantage, result.advantage_of_annotator, result.p_value, result.won, strict=True
        )
    ]
    if result.passed is None:
        return {"left_out": left_out}
    tests = [(epsilon, test(epsilon)) for epsilon in EPSILONS]
    return {
        "left_out": left_out,
        "tests": [AlternativeTest(epsilon, each.winning_rate, bool(each.passed)) for epsilon, each in tests],
        "advantage_probability": number(result.advantage_probability),
    }
