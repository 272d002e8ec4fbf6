"""What merging two classes would do to alpha."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...metrics.alpha.nominal import NominalTally
from ..config import AgreementConfig
from ..report import number
from .additive import SparseCounts
from .chunk import Chunk
from .coefficients import alpha_of
from .confusions import class_pairs, name_ranks
from .summaries import Merge

#: pairs of classes of which the merger is tried
MAX_MERGES = 10


def met_by_ratings(chunk: Chunk) -> SparseCounts:
    """How often two different classes met in one unit: counts of (ratings of the unit, class, other class)."""
    findings = chunk.findings
    pairs = findings.pairs
    i, j = pairs.i[~pairs.same_class], pairs.j[~pairs.same_class]
    units = findings.units
    of_unit = findings.unit[i]
    n_ratings = (units.assigned if findings.config.missing == "category" else units.votes)[of_unit]
    return SparseCounts.of(n_ratings, findings.objects.category[i], findings.objects.category[j])


def merges(met: SparseCounts, joint: NominalTally, class_names: Sequence[str], config: AgreementConfig) -> list[Merge]:
    """The most confused pairs of classes, the largest effect first; the units are left as they are.

    Args:
        met: counts of (ratings of the unit, class, other class), over all pairs of labels of one unit
        joint: what alpha counts
        class_names: name of every class code
        config: the options of the run
    """
    apart = class_pairs(met, class_names)
    a, b = apart.columns()
    ranks = name_ranks(class_names)
    order = np.lexsort((ranks[b], ranks[a], -apart.counts))[:MAX_MERGES]
    n_ratings, first, second = met.columns()
    before = number(alpha_of(joint, config))
    found = []
    for row in order.tolist():
        p, q = int(a[row]), int(b[row])
        both = ((first == p) & (second == q)) | ((first == q) & (second == p))
        # every such pair of ratings, in either order, no longer differs
        no_longer = np.bincount(n_ratings[both], weights=met.counts[both], minlength=len(joint.disagreement))
        counts = joint.category_counts.copy()
        counts[p] += counts[q]
        counts[q] = 0
        merged = NominalTally(counts, joint.disagreement - 2 * no_longer.astype(np.int64), joint.units)
        after = number(alpha_of(merged, config))
        found.append(Merge([class_names[p], class_names[q]], int(apart.counts[row]), before, after))
    return sorted(found, key=_effect)


def _effect(merge: Merge) -> tuple[bool, float, int, list[str]]:
    """The order of mergers: by what alpha gains; undefined ones last."""
    if merge.alpha_before is None or merge.alpha_after is None:
        return True, 0.0, -merge.n_confused, merge.classes
    return False, merge.alpha_before - merge.alpha_after, -merge.n_confused, merge.classes
