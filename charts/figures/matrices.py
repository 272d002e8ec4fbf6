"""Matrices as heatmaps: pairs of annotators, confusions of classes; and the order of annotators in them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from ...agreement.evidence.ranking import ends_of_ranking, in_order, natural_key, supported
from ...agreement.settings.arguments import count_of, one_of, without_numpy
from ...agreement.settings.errors import AgreementInputError
from ..reports.families import family_of
from ..text.advice import class_conflicts, clearly_confused, in_conflict, unclear_conflicts
from ..text.words import counted, documents, shown_number, shown_share
from .theme import SCALE, figure, names_axis, require, safe

if TYPE_CHECKING:
    from ...agreement.statistics.report import AgreementReport

#: larger matrices show no numbers in their cells
_READABLE = 15
#: annotators in the matrix at most: those who share the most samples with each other
_MOST = 30
#: larger matrices have small cells, for one short number
_ROOMY = 6
_CELL = 44


def plot_pairs(report: AgreementReport, value: str | None = None) -> go.Figure:
    """Agreement of each pair of annotators."""
    values = family_of(report).pair_values
    value = next(iter(values)) if value is None else one_of("value", without_numpy(value), tuple(values))
    title = values[value]
    if value == "mean_iou":
        title = f"mean {report.localisation.measure}"  # type: ignore[attr-defined]
    pairs: Sequence[Any] = report.pairs
    found = {(pair.a, pair.b): pair for pair in pairs}
    found |= {(pair.b, pair.a): pair for pair in pairs}
    numbers = {members: _number(pair, value) for members, pair in found.items()}
    require(any(number is not None for number in numbers.values()), f"no two annotators have a defined {title}")
    names = annotator_order(report, _MOST)
    cells = [[numbers.get((a, b)) for b in names] for a in names]
    what = documents(report)
    hover = [["" for _ in names] for _ in names]
    text = [["" for _ in names] for _ in names]
    for (i, a), (j, b) in itertools.product(enumerate(names), repeat=2):
        pair, number = found.get((a, b)), numbers.get((a, b))
        if pair is not None:
            shared = f"{pair.n_samples:,} shared {what}"
            hover[i][j] = f"{safe(a)} – {safe(b)}<br>{title} {shown_number(number)}<br>{shared}"
        if number is not None:
            below = f"<br><sub>n = {pair.n_samples:,}</sub>" if pair is not None and len(names) <= _ROOMY else ""
            text[i][j] = f"{number:.2f}{below}"
    finding = _pairs_finding([pair for pair in pairs if _number(pair, value) is not None], value, title)
    n = len(report.annotators)
    finding += f"; the {_MOST} of {n:,} who share most" if len(names) < n else ""
    lowest = min(0.0, *(number for number in numbers.values() if number is not None))
    return _matrix(names, cells, finding, title=title, ends=(lowest, 1.0), hover=hover, shown="text", text=text)


def _number(pair: Any, value: str) -> float | None:
    """A number of a pair; the unweighted one if there are several kappas."""
    number = getattr(pair, value)
    if isinstance(number, Mapping):
        return number.get("identity")
    return None if number is None else float(number)


def _pairs_finding(pairs: Sequence[Any], value: str, title: str) -> str:
    """Sentence on the pairs that agree least and most, if both are far from the middle of all and no number is beyond
    theirs; else on the range."""
    if len(pairs) == 1:
        return f"{pairs[0].a} and {pairs[0].b}: {title} {_number(pairs[0], value):.2f}"
    numbers = [number for pair in pairs if supported(pair, value) and (number := _number(pair, value)) is not None]
    ends = ends_of_ranking(pairs, 1, float(np.median(numbers)) if numbers else None, value)
    values = [_number(pair, value) or 0.0 for pair in pairs]
    at_ends = [_number(pair, value) for pair in (*ends.least, *ends.most)]
    if at_ends == [min(values), max(values)]:
        (low,), (high,) = ends.least, ends.most
        least, most = (f"({title} {_number(low, value):.2f})", f"({_number(high, value):.2f})")
        return f"{low.a} and {low.b} agree least {least}, {high.a} and {high.b} most {most}"
    first, last = f"{min(values):.2f}", f"{max(values):.2f}"
    if first == last:
        return f"All pairs agree equally ({title} {first})"
    return f"{title[:1].upper()}{title[1:]} of two annotators: {first} to {last}"


def plot_confusion(report: AgreementReport, pair: tuple[str, str] | None = None, top: int = 20) -> go.Figure:
    """Confusion matrix of classes, the largest confusions first."""
    top, pair = count_of("top", without_numpy(top), least=2), without_numpy(pair)
    counts = class_confusions(report, pair)
    require(counts, "nobody confused two classes" if pair is None else "these two annotators confused no two classes")
    symmetric = pair is None
    names = list(dict.fromkeys(name for said in confused_first(report, counts) for name in said))[:top]
    finding = f"Classes that they confused, {counts.total():,} times"
    if symmetric:
        found = confused_first(report, counts)
        conflicts = counted(sum(found.values()), "conflict")
        finding = f"Classes that met; {conflicts}: {unclear_conflicts(report, found)}"
        if clear := clearly_confused(report):
            (first, second), share = clear[0].classes, shown_share(clear[0].share)
            finding = f"{first} and {second} are {share} of the {counts.total():,} confusions, "
            finding += f"{shown_share(clear[0].by_chance)} by chance"
        counts = Counter({(a, b): counts[a, b] + counts[b, a] for a in names for b in names})
    cells = [[(counts[a, b] or None) if a != b else None for b in names] for a in names]
    rows, columns = ("one annotator", "the other") if pair is None else (safe(pair[0]), safe(pair[1]))
    hover = [[f"{rows}: {safe(a)}<br>{columns}: {safe(b)}<br>{counts[a, b]:,} times" for b in names] for a in names]
    most = max(counts[said] for said in itertools.permutations(names, 2))
    drawn = _matrix(names, cells, finding, title="times", ends=(0, most), hover=hover, shown="z")
    if pair is not None:
        drawn.update_layout(xaxis_title=f"as {columns} said", yaxis_title=f"as {rows} said")
    return drawn


def class_confusions(report: AgreementReport, pair: tuple[str, str] | None = None) -> Counter[tuple[str, str]]:
    """Counts of ordered pairs of different classes that two annotators gave to the same object or sample."""
    pairs: Sequence[Any] = report.pairs
    if not family_of(report).has_confusion:
        raise AgreementInputError(f"A report on {report.family} has no confusion of classes to draw")
    counts: Counter[tuple[str, str]] = Counter()
    if pair is not None:
        asked = tuple(pair) if isinstance(pair, list | tuple) else ()
        chosen = [entry for entry in pairs if asked in ((entry.a, entry.b), (entry.b, entry.a))]
        if not chosen:
            known = ", ".join(f"{entry.a!r} and {entry.b!r}" for entry in pairs[:5])
            raise AgreementInputError(f"`pair` must be two annotators with shared samples ({known}), got {pair!r}")
        for entry in chosen[0].confusion:
            said = (entry["a"], entry["b"]) if chosen[0].a == pair[0] else (entry["b"], entry["a"])
            counts[said] += entry["n"]
    else:
        counts, _ = class_conflicts(report)
    return Counter({said: n for said, n in counts.items() if n and in_conflict(report, *said)})


def confused_first(report: AgreementReport, counts: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """Counts of every two classes that met: the tested ones in the order of ``confused``, then the others by number."""
    together: Counter[tuple[str, str]] = Counter()
    for (a, b), n in counts.items():
        together[min(a, b), max(a, b)] += n
    sure = {tuple(sorted(each.classes)): k for k, each in enumerate(getattr(report, "confused", []))}
    order = sorted(together.items(), key=lambda item: (sure.get(item[0], len(sure)), -item[1], item[0]))
    return dict(order)


def _matrix(
    names: Sequence[str],
    cells: Sequence[Sequence[float | None]],
    finding: str,
    *,
    title: str,
    ends: tuple[float, float],
    hover: Sequence[Sequence[str]],
    shown: str,
    **more: object,
) -> go.Figure:
    """A square matrix whose rows and columns are the same names; cells show ``z`` or ``text``."""
    heatmap = go.Heatmap(
        z=cells,
        x=[safe(name) for name in names],
        y=[safe(name) for name in names],
        hovertext=hover,
        customdata=[[[a, b] if a != b else None for b in names] for a in names],
        hovertemplate="%{hovertext}<extra></extra>",
        hoverongaps=False,
        colorscale=SCALE,
        zmin=ends[0],
        zmax=ends[1],
        xgap=2,
        ygap=2,
        colorbar={"title": {"text": title}, "thickness": 12, "outlinewidth": 0},
        showscale=len(names) > _READABLE,
        **({"texttemplate": f"%{{{shown}}}"} if len(names) <= _READABLE else {}),
        **more,
    )
    if len(names) > _ROOMY:
        heatmap.update(xgap=1, ygap=1, textfont={"size": 11})
    drawn = figure([heatmap], finding, height=110 + (_CELL if len(names) <= _ROOMY else 30) * max(3, len(names)))
    drawn.update_xaxes(names_axis(names, showline=False, tickangle=-35 if len(names) > 4 else 0))
    drawn.update_yaxes(names_axis(names, showline=False, autorange="reversed"))
    return drawn


def annotator_order(report: AgreementReport, at_most: int | None = None) -> list[str]:
    """The annotators in the order of the clustering, so that similar ones are neighbours; else by name.

    Args:
        at_most: if there are more, only so many annotators, those who share the most samples with each other
    """
    pairs: Sequence[Any] = report.pairs
    names = in_order({name for pair in pairs for name in (pair.a, pair.b)})
    if at_most is not None and len(names) > at_most:
        # the pair that shares most samples, then always the annotator who shares most with those chosen; ties by name
        shared: dict[str, Counter[str]] = {other: Counter() for other in names}
        for each in pairs:
            shared[each.a][each.b] = shared[each.b][each.a] = each.n_samples
        first = min(pairs, key=lambda pair: (-pair.n_samples, natural_key(pair.a), natural_key(pair.b)))
        chosen, left = [first.a, first.b], [other for other in names if other not in (first.a, first.b)]
        n_shared = {other: shared[other][first.a] + shared[other][first.b] for other in left}
        while left and len(chosen) < at_most:
            # ``left`` is sorted by name, and ``max`` takes the first of equal ones
            best = max(left, key=n_shared.__getitem__)
            left.remove(best)
            chosen.append(best)
            for other in left:
                n_shared[other] += shared[other][best]
        names = in_order(chosen)
    groups = [[name] for name in names]
    for join in getattr(report, "clusters", []):
        members = set(join.members)
        joined = [group for group in groups if members.issuperset(group)]
        if len(joined) > 1:
            # the larger group first, so that the last to join is at the end
            joined.sort(key=lambda group: (-len(group), list(map(natural_key, group))))
            groups = [group for group in groups if group not in joined]
            groups.insert(0, [name for group in joined for name in group])
    return [name for group in groups for name in group]
