"""Classes and numbers of annotators against those of a reference or model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...metrics.bootstrap.draws import hstack
from ...metrics.numeric.arrays import FloatArray, IntArray
from ..ratings.compute import RatingRecords, agreeing
from ..ratings.numbers import sample_contents
from ..statistics.codes import MISSING
from ..statistics.content_order import content_ranks
from ..statistics.numbers import Fields, Key, Numbers, estimates, ratio
from ..statistics.report import ReportContext
from ..statistics.role_reports import PartComparison, RoleComparison, RoleReport
from .numbers import class_table, role_names

#: classes with numbers of their own, the most frequent; pairs of classes that are listed
MAX_CLASSES, MAX_LISTED = 200, 20


def of_role(records: RatingRecords, role: int) -> FloatArray:
    """The ratings of a role, in its own codes of classes, nan where it has none, shape ``(S,)``."""
    table = records.column("role_ratings")[:, role]
    return table if table.dtype.kind == "f" else np.where(table > 0, table.astype(np.float64), np.nan)


class RatedAgainst:
    """The ratings of one annotator and of a role on the ``S'`` samples that both rated.

    Args:
        records: of all samples
        context: of the report
        role: number of the role
        annotator: number of the annotator
    """

    def __init__(self, records: RatingRecords, context: ReportContext, role: int, annotator: int) -> None:
        own, true = records.ratings[:, annotator], of_role(records, role)
        self.rows = np.flatnonzero(~np.isnan(own) & ~np.isnan(true))
        own, true = own[self.rows], true[self.rows]
        self._is_model = role_names(context)[role][1]
        self.names: list[str] = []
        columns: list[Any] = [np.ones(len(own))]
        if context.details["numbers"]:
            columns += [agreeing(own, true, context.config.tolerance), own - true, np.abs(own - true)]
        else:
            self.names, of_annotators, of_roles = class_table(context)
            self.own, self.true = of_annotators[own.astype(np.int64)], of_roles[true.astype(np.int64)]
            columns.append(self.own == self.true)
            n = np.bincount(np.r_[self.own, self.true], minlength=len(self.names))
            self.codes = np.argsort(-n, kind="stable")[: int((n > 0).sum())]
            for each in (self.own, self.true, np.where(self.own == self.true, self.own, MISSING - 1)):
                columns += list((each[:, None] == self.codes).T)
        self.columns = np.column_stack(columns).astype(np.float64)

    def numbers(self, key: Key, name: str) -> Iterator[Numbers]:
        """Accuracy, kappa or errors, and the numbers of classes."""
        columns, own = hstack([self.columns]), (*key, name)
        basis = np.zeros(2, np.int64)
        if not self.names:
            keys = tuple((*own, number) for number in ("accuracy", "mean_error", "mean_absolute_error"))
            yield Numbers(
                keys, columns, lambda sums: ratio(sums[..., 1:], sums[..., :1]), self.rows, np.zeros(3, np.int64)
            )
            return
        yield Numbers(((*own, "accuracy"), (*own, "kappa")), columns, self._of_all, self.rows, basis)
        classes = [
            (f"{key[0]}_classes", *key[1:], name, self.names[code]) for code in self.codes[:MAX_CLASSES].tolist()
        ]
        keys = tuple((*each, number) for number in ("precision", "recall", "f1") for each in classes)
        k = len(self.codes)
        places = np.arange(len(classes))
        of_classes = np.r_[2 + places, 2 + k + places, 2 + places]
        yield Numbers(keys, columns, self._of_classes, self.rows, of_classes)

    def _of_all(self, sums: FloatArray) -> FloatArray:
        k = len(self.codes)
        n, agreed = sums[..., 0], sums[..., 1]
        chance = (sums[..., 2 : 2 + k] * sums[..., 2 + k : 2 + 2 * k]).sum(axis=-1)
        return np.stack([ratio(agreed, n), ratio(n * agreed - chance, n * n - chance)], axis=-1)

    def _of_classes(self, sums: FloatArray) -> FloatArray:
        k, m = len(self.codes), min(len(self.codes), MAX_CLASSES)
        own, true, both = (sums[..., 2 + part * k : 2 + part * k + m] for part in range(3))
        precision, recall = ratio(both, own), ratio(both, true)
        if self._is_model:
            precision, recall = recall, precision
        return np.concatenate([precision, recall, ratio(2.0 * both, own + true)], axis=-1)

    def comparison(self, fields: Fields, key: Key, name: str) -> RoleComparison:
        """The part of the report."""
        n, n_right = len(self.rows), int(self.columns[:, 1].sum())
        classes: list[PartComparison] = []
        confusion: list[dict[str, Any]] = []
        n_unlisted = 0
        if self.names:
            total, k = self.columns.sum(axis=0).astype(np.int64), len(self.codes)
            for place, code in enumerate(self.codes[:MAX_CLASSES].tolist()):
                found = fields.of(f"{key[0]}_classes", *key[1:], name, self.names[code])
                n_own, n_true, n_both = total[2 + place :: k][:3].tolist()
                classes.append(PartComparison(self.names[code], n_own, n_true, n_both, **found))
            confusion, n_unlisted = self._confusion()
        return RoleComparison(
            name=name, n_samples=n, n_labels=n, n_reference=n, n_matched=n, n_right=n_right, n_wrong_class=n - n_right,
            confusion=confusion, n_unlisted=n_unlisted, classes=classes, **fields.of(*key, name),
        )  # fmt: skip

    def _confusion(self) -> tuple[list[dict[str, Any]], int]:
        differ = np.flatnonzero(self.own != self.true)
        pairs = np.column_stack([self.true, self.own])[differ]
        found, n = np.unique(pairs, axis=0, return_counts=True)
        entries = [
            (-count, self.names[a], self.names[b]) for (a, b), count in zip(found.tolist(), n.tolist(), strict=True)
        ]
        entries.sort()
        listed = [{"reference": a, "annotator": b, "n": -count} for count, a, b in entries[:MAX_LISTED]]
        return listed, -sum(count for count, *_ in entries[MAX_LISTED:])


def rating_role_numbers(records: RatingRecords, context: ReportContext) -> Iterator[Numbers]:
    """The numbers of all roles, over all samples."""
    for role, (name, is_model) in enumerate(role_names(context)):
        key = ("models", name) if is_model else ("reference",)
        for k, annotator in enumerate(context.annotators):
            found = RatedAgainst(records, context, role, k)
            if len(found.rows):
                yield from found.numbers(key, annotator)


def rating_role_reports(records: RatingRecords, context: ReportContext) -> list[RoleReport]:
    """The reports on all roles."""
    config, reports = context.config, []
    if not role_names(context):
        return []
    ranks = np.empty(0, np.int64)
    if config.resamples:
        ranks = content_ranks(*sample_contents(records, context), context.clusters)
    found = estimates(rating_role_numbers(records, context), ranks, resamples=config.resamples, seed=config.seed)
    fields = Fields(found)
    for role, (name, is_model) in enumerate(role_names(context)):
        present: IntArray = ~np.isnan(of_role(records, role))
        key = ("models", name) if is_model else ("reference",)
        compared = [(annotator, RatedAgainst(records, context, role, k))
                    for k, annotator in enumerate(context.annotators)]  # fmt: skip
        rows = [each.comparison(fields, key, annotator) for annotator, each in compared if len(each.rows)]
        n, shared = int(present.sum()), int((present & records.assigned.any(axis=1)).sum())
        reports.append(RoleReport(name, shared, len(present) - n, n, rows))
    return reports
