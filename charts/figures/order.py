"""In which order annotators stand in a matrix: those who agree side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...agreement.report import AgreementReport


def annotator_order(report: AgreementReport) -> list[str]:
    """The annotators, those who join first in the clustering next to each other; without a clustering by name."""
    names = sorted({name for pair in getattr(report, "pairs", []) for name in (pair.a, pair.b)})
    groups = [[name] for name in names]
    for join in getattr(report, "clusters", []):
        members = set(join.members)
        joined = [group for group in groups if members.issuperset(group)]
        if len(joined) > 1:
            # the larger group first, so that whoever joins last stands at the end
            joined.sort(key=lambda group: (-len(group), group))
            groups = [group for group in groups if group not in joined]
            groups.insert(0, [name for group in joined for name in group])
    return [name for group in groups for name in group]
