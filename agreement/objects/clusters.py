"""Who sides with whom."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...metrics.clustering import average_linkage
from .summaries import Cluster, PairSummary


def clusters(pairs: Sequence[PairSummary], annotators: Sequence[str]) -> list[Cluster]:
    """The joins of an average-linkage clustering of annotators by the score of their pairs, the closest first.

    Pairs without a score are unknown: the others decide, and groups of which no pair is known are not joined. Of
    equally similar groups those that come first by name are joined first.
    """
    names = sorted(annotators)
    place = {name: k for k, name in enumerate(names)}
    similarity = np.full((len(names), len(names)), np.nan)
    for pair in pairs:
        if pair.score is not None:
            a, b = place[pair.a], place[pair.b]
            similarity[a, b] = similarity[b, a] = pair.score
    return [Cluster([names[k] for k in members], value) for members, value in average_linkage(similarity)]
