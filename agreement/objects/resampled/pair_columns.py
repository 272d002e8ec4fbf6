"""What is summed of the samples that two annotators share, and the numbers that follow from the sums."""

from __future__ import annotations

import numpy as np

from ....metrics.alpha.nominal import nominal_alpha_of_sums
from ....metrics.arrays import BoolArray, FloatArray, IntArray, ranges, sums_by
from ....metrics.bootstrap.draws import SparseColumns, sparse
from ....metrics.geometry.objects import dice_from_iou
from ...classes import MISSING
from ...config import AgreementConfig, Undefined
from ...numbers import ratio
from ..findings import Findings

#: quotients of two columns, by the number's name
RATIOS = {
    "score": ("score", "n_scored"),
    "f1": ("twice_matched", "n_a_and_b"),
    "jaccard": ("n_matched", "n_drawn_by_either"),
    "class_agreement": ("n_same_class", "n_matched"),
    "mean_iou": ("iou", "n_matched"),
    "mean_dice": ("dice", "n_matched"),
    "percent_agreement": ("n_agreed", "n_units"),
}
PLAIN = (*dict.fromkeys(column for names in RATIOS.values() for column in names), "n_shared")


def numbers_of(plain: FloatArray) -> dict[str, FloatArray]:
    """The quotients, each of shape ``(...,)``, from sums of the plain columns ``(..., C)``."""
    column = dict(zip(PLAIN, np.moveaxis(plain, -1, 0), strict=True))
    return {name: ratio(column[above], column[below]) for name, (above, below) in RATIOS.items()}


def alpha_of(plain: FloatArray, classes: FloatArray, undefined: Undefined) -> FloatArray:
    """Alpha of units with two ratings, shape ``(...,)``, from sums of the plain columns and of those of the classes."""
    n_units, n_agreed = plain[..., PLAIN.index("n_units")], plain[..., PLAIN.index("n_agreed")]
    alpha = nominal_alpha_of_sums(2.0 * (n_units - n_agreed), classes)
    return np.where(np.isnan(alpha) & (n_units > 0), 1.0, alpha) if undefined == "one" else alpha


def plain_columns(findings: Findings, config: AgreementConfig) -> dict[str, FloatArray | IntArray | BoolArray]:
    """Columns over sample pairs, shape ``(Q,)`` each."""
    objects, pairs, shared = findings.objects, findings.pairs, findings.sample_pairs
    n_rows = len(shared.sample)
    row = shared.row(objects.sample[pairs.i], objects.annotator[pairs.i], objects.annotator[pairs.j])
    n_matched = np.bincount(row, minlength=n_rows)
    n_same_class = np.bincount(row[pairs.same_class], minlength=n_rows)
    score = findings.pair_score()
    n_both = shared.n_a + shared.n_b
    n_units, n_agreed = n_matched, n_same_class
    if config.missing == "category":
        n_empty = _all_empty(findings, config)
        n_units, n_agreed = n_both - n_matched + n_empty, n_same_class + n_empty
    return {
        "score": np.nan_to_num(score),
        "n_scored": ~np.isnan(score),
        "n_matched": n_matched,
        "twice_matched": 2 * n_matched,
        "n_a_and_b": n_both,
        "n_drawn_by_either": n_both - n_matched,
        "n_same_class": n_same_class,
        "iou": sums_by(row, pairs.iou, n_rows),
        "dice": sums_by(row, dice_from_iou(pairs.iou), n_rows),
        "n_agreed": n_agreed,
        "n_units": n_units,
        "n_shared": np.ones(n_rows),
    }


def _all_empty(findings: Findings, config: AgreementConfig) -> IntArray:
    """1 for the sample pairs of images that everybody left empty, if these count, else 0; shape ``(Q,)``."""
    nothing: BoolArray = (findings.n_objects[findings.sample_pairs.sample] == 0) & (config.empty == "agree")
    return nothing.astype(np.int64)


def class_columns(findings: Findings, n_categories: int, config: AgreementConfig) -> SparseColumns:
    """Ratings of every category that the alpha of a pair counts, shape ``(Q, K)``."""
    objects, pairs, shared = findings.objects, findings.pairs, findings.sample_pairs
    n_rows = len(shared.sample)
    matched = shared.row(objects.sample[pairs.i], objects.annotator[pairs.i], objects.annotator[pairs.j])
    if config.missing == "ignore":
        category = np.concatenate([objects.category[pairs.i], objects.category[pairs.j]])
        return sparse(np.tile(matched, 2), category, np.ones(len(category)), (n_rows, n_categories))
    # the objects of one annotator on one sample stand together
    block = objects.sample * findings.n_annotators + objects.annotator
    alone = shared.n_a + shared.n_b - 2 * np.bincount(matched, minlength=n_rows)
    rows, categories = [np.arange(n_rows)], [np.full(n_rows, MISSING)]
    counts = [alone + 2 * _all_empty(findings, config)]
    for annotator, n in ((shared.a, shared.n_a), (shared.b, shared.n_b)):
        first = np.searchsorted(block, shared.sample * findings.n_annotators + annotator)
        rows.append(np.repeat(np.arange(n_rows), n))
        categories.append(objects.category[ranges(first, n)])
        counts.append(np.ones(int(n.sum()), np.int64))
    return sparse(np.concatenate(rows), np.concatenate(categories), np.concatenate(counts), (n_rows, n_categories))
