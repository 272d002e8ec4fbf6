"""Effects of annotators and tags: counts on every image, from which findings are tested."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...metrics.numeric.arrays import BoolArray, FloatArray, sums_by
from ..evidence.hypotheses import EffectRows, effect_groups, findings_of, often_given
from ..matching.verdicts import LONE
from ..statistics.report import ReportContext
from .compute import TagAgreement


def tag_effects(agreement: TagAgreement, context: ReportContext) -> dict[str, Any]:
    """The fields of a report: what the tests confirm, and of how many.

    Args:
        agreement: on rated samples
    """
    annotators, effects = context.annotators, EffectRows(context.clusters)
    _annotator_effects(effects, agreement, len(annotators))
    _tag_effects(effects, agreement, len(annotators), len(context.class_names))
    return findings_of(effects.moments(), annotators, context.class_names)


def _annotator_effects(effects: EffectRows, agreement: TagAgreement, n: int) -> None:
    """Annotators' rates of tags left out, and of tags that nobody else gave, against the others'."""
    sets, tags, n_samples = agreement.sets, agreement.tags, len(agreement.score)
    cell = sets.unit * n + agreement.annotator
    votes, of_set = tags.votes[agreement.of_given], cell[sets.row]

    def table(values: FloatArray | BoolArray) -> FloatArray:
        return sums_by(of_set, values.astype(np.float64), n_samples * n).reshape(n_samples, n)

    assigned = np.bincount(cell, minlength=n_samples * n).reshape(n_samples, n) > 0
    given = table(np.ones(len(of_set)))
    _against_others(effects, "lone", table(tags.verdict[agreement.of_given] == LONE), given, assigned)
    if n > 2:
        by_two = np.bincount(tags.sample[tags.votes >= 2], minlength=n_samples)
        missed = np.where(assigned, by_two[:, None] - table(votes >= 2), 0.0)
        _against_others(effects, "misses", missed, missed + table(votes >= 3), assigned)


def _against_others(effects: EffectRows, kind: str, own: FloatArray, whole: FloatArray, assigned: BoolArray) -> None:
    """An annotator against the other annotators on all images of the annotator; shapes ``(S, R)``.

    Images without an own whole count for the others: where the others left a tag out, there may be none that two others
    gave.
    """
    others = [np.where(assigned, column.sum(axis=1, keepdims=True) - column, 0.0) for column in (own, whole)]
    effects.add_table(
        effect_groups(kind, np.arange(own.shape[1])), len(own), functools.partial(_slices, own, whole, *others)
    )


def _tag_effects(effects: EffectRows, agreement: TagAgreement, n: int, n_tags: int) -> None:
    """Annotators' rates of each tag against the others', and tags left out more than other tags."""
    sets, tags, n_samples = agreement.sets, agreement.tags, len(agreement.score)
    n_given = sums_by(tags.tag, tags.votes, n_tags)
    n_images = np.bincount(tags.tag, minlength=n_tags)
    assigned = np.zeros((n_samples, n), np.bool_)
    assigned[sets.unit, agreement.annotator] = True
    # of two annotators nobody leaves out what two others gave: whether only one of them gave it counts
    counted = tags.votes >= 2 if n > 2 else np.ones(len(tags.tag), np.bool_)
    of_all = agreement.n_annotators[tags.sample]
    missing = np.where(counted, of_all - tags.votes if n > 2 else tags.votes == 1, 0)
    could = np.where(counted, of_all if n > 2 else 1, 0)
    totals = [sums_by(tags.sample, column, n_samples) for column in (missing, could)]
    for tag in often_given(n_given, n_images):
        gave = np.zeros((n_samples, n))
        of_tag = sets.row[sets.tag == tag]
        gave[sets.unit[of_tag], agreement.annotator[of_tag]] = 1.0
        effects.add_deviations("class_used", tag, n_samples, functools.partial(_slices, gave, assigned))
        rows = tags.tag == tag
        own, whole = (sums_by(tags.sample[rows], column[rows], n_samples) for column in (missing, could))
        others = [np.where(whole > 0, total - column, 0.0) for total, column in zip(totals, (own, whole), strict=True)]
        group, table = effect_groups("class_missed", np.array([tag])), np.stack([own, whole, *others])[:, :, None]
        effects.add_table(group, n_samples, functools.partial(_slices, *table))


def _slices(*columns_and_slice: Any) -> Any:
    """Some rows of columns, the last argument says which."""
    *columns, some = columns_and_slice
    return tuple(column[some] for column in columns)
