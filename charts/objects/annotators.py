"""What the report says on every annotator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..sections import Section, Table
from ..tables import documents, listed, percent, shown_interval, shown_number, shown_share, signed
from .bias import bias_in_words

if TYPE_CHECKING:
    from ...agreement.objects.report import ObjectReport
    from ...agreement.objects.summaries import AnnotatorSummary, Bias

#: titles of verdicts whose names do not say whose they are
VERDICT_TITLES = {
    "class_conflict": "class conflict",
    "attribute_conflict": "attribute conflict",
    "missed": "others missed it",
    "lone": "only theirs",
}
#: verdicts that are shown only where there are any
_RARE = ("attribute_conflict", "split", "duplicate")
#: a share of missed small objects, and of objects drawn twice, that deserves a sentence
_NOTABLE, _NOTABLE_TWICE = 0.05, 0.01
_SIDES = ("size", "left", "top", "right", "bottom")


def annotators_section(report: ObjectReport) -> Section:
    """The main habits of everybody."""
    has_bias = any(entry.bias is not None for entry in report.annotators)
    has_vitality = any(entry.vitality is not None for entry in report.annotators)
    # of two annotators nobody can miss what two others drew
    has_missed = len(report.annotators) > 2
    header = ["annotator", "labels", *(["missed"] * has_missed), "only theirs", "class conflict"]
    header += ["vitality"] * has_vitality + ["draws"] * has_bias
    rows = []
    for entry in report.annotators:
        judged = sum(entry.verdicts.values())
        row: list[object] = [entry.name, entry.n_objects, *([shown_missed(entry)] * has_missed)]
        row += [f"{n} ({percent(n, judged)})" for n in (entry.verdicts.get(v, 0) for v in ("lone", "class_conflict"))]
        row += [signed(entry.vitality)] * has_vitality + [bias_in_words(entry.bias)] * has_bias
        rows.append(row)
    notes = ["Missed: of the objects that two others drew."] * has_missed + [
        "Only theirs: labels of objects that nobody else drew."
        + " Vitality: how much the annotator raises alpha." * has_vitality
        + " Draws: against the median box of the object." * has_bias
    ]
    if has_bias and len(report.annotators) == 2:
        notes.append("The median of two boxes lies between them: each annotator shows half of their difference.")
    said = [*_habits_in_words(report), *_sides(report)]
    return Section("Annotators", [Table(header, rows), " ".join(notes), *said], ("annotators", "bias"))


def _habits_in_words(report: ObjectReport) -> list[str]:
    """Who misses small objects, and who draws objects twice: habits that the main table does not show."""
    words = []
    for entry in report.annotators:
        small, large = (entry.miss_rate_by_size.get(size) for size in ("small", "large"))
        interval = entry.intervals.get("miss_rate_by_size.small")
        told = interval is None or interval.low is None or (large is not None and interval.low > large)
        if small is not None and large is not None and small >= _NOTABLE and small > 2 * large and told:
            words.append(
                f"{entry.name} misses {shown_share(small)} of small objects, {shown_share(large)} of large ones."
            )
        twice = entry.verdict_shares.get("duplicate")
        if twice is not None and twice >= _NOTABLE_TWICE:
            n = entry.verdicts["duplicate"]
            words.append(f"{entry.name} drew {n} objects twice ({shown_share(twice)} of the labels).")
    return [" ".join(words)] if words else []


def shown_missed(entry: AnnotatorSummary) -> str:
    """How much an annotator missed of what two others drew."""
    if not entry.n_could_miss:
        return str(entry.n_missed)
    return f"{entry.n_missed} of {entry.n_could_miss} ({percent(entry.n_missed, entry.n_could_miss)})"


def _sides(report: ObjectReport) -> list[str]:
    """Who sides with whom, of three annotators or more."""
    joins = [entry for entry in report.clusters if entry.similarity is not None]
    if len(report.annotators) < 3 or not joins:
        return []
    first, last = joins[0], joins[-1]
    closest, furthest = shown_number(first.similarity), shown_number(last.similarity)
    # where several agree as much, nobody sides with anybody
    if any(shown_number(pair.score) == closest and not {pair.a, pair.b} <= set(first.members) for pair in report.pairs):
        return []
    text = f"{listed(first.members)} agree most with each other (score {closest})"
    before = set(joins[-2].members) if len(joins) > 1 else set()
    left = [name for name in last.members if name not in before]
    is_single = bool(before) and before < set(last.members) and len(left) == 1
    if is_single and furthest != shown_number(joins[-2].similarity):
        text += f"; {left[0]} is furthest from the others ({furthest})"
    return [text + "."]


def annotator_details(report: ObjectReport) -> list[Section]:
    """Everything on annotators: coverage, verdicts, sizes, bias, consensus, clusters, sessions."""
    tables = [_coverage(report), _verdicts(report), *_habits(report), *_bias(report), *_consensus(report)]
    sections = [Section("Annotators in detail", tables)]
    if report.clusters:
        rows = [[shown_number(entry.similarity), listed(entry.members)] for entry in report.clusters]
        sections.append(
            Section("Who sides with whom, the closest first", [Table(["mean score at which they join", "who"], rows)])
        )
    return [*sections, *_sessions(report)]


def _coverage(report: ObjectReport) -> Table:
    rows = [
        [entry.name, entry.n_assigned, entry.n_drew_nothing, entry.n_not_assigned, entry.n_objects]
        for entry in report.annotators
    ]
    title = (
        f"Coverage: {report.n_samples} {documents(report)}, {report.n_rated} with at least 2 annotators assigned, of "
        f"which {report.n_empty} nobody drew in; there {report.n_objects} labels are {report.n_units} objects"
    )
    return Table(["annotator", "assigned", "drew nothing", "not assigned", "labels"], rows, title)


def _verdicts(report: ObjectReport) -> Table:
    names = list(report.annotators[0].verdicts) if report.annotators else []
    shown = [name for name in names if name not in _RARE or any(entry.verdicts[name] for entry in report.annotators)]
    rows = []
    for entry in report.annotators:
        judged = sum(entry.verdicts.values())
        counts = (entry.verdicts[name] for name in shown)
        rows.append([entry.name, *(f"{n} ({percent(n, judged)})" for n in counts), entry.n_missed])
    header = ["annotator", *(VERDICT_TITLES.get(name, name) for name in shown), "missed by them"]
    return Table(header, rows, "Verdicts on their labels, and objects of two others that they missed")


def _habits(report: ObjectReport) -> list[Table]:
    if not any(entry.score is not None or entry.n_could_miss for entry in report.annotators):
        return []
    sizes = list(dict.fromkeys(size for entry in report.annotators for size in entry.miss_rate_by_size))
    measure = report.localisation.measure
    rematched = any(entry.vitality_rematched is not None for entry in report.annotators)
    header = ["annotator", "score", "miss rate", *(f"… of {size}" for size in sizes), f"mean {measure}", "vitality"]
    header += ["… re-matched"] * rematched + ["most frequent conflict"]
    rows = []
    for entry in report.annotators:
        conflict = entry.class_conflicts[0] if entry.class_conflicts else None
        rows.append(
            [
                entry.name,
                shown_interval(entry.score, entry.intervals.get("score")),
                shown_interval(entry.miss_rate, entry.intervals.get("miss_rate")),
                *(shown_share(entry.miss_rate_by_size.get(size)) for size in sizes),
                shown_interval(entry.mean_iou, entry.intervals.get("mean_iou")),
                signed(entry.vitality),
                *([signed(entry.vitality_rematched)] * rematched),
                f"{conflict['a']} for {conflict['b']} ({conflict['n']})" if conflict else "-",
            ]
        )
    return [Table(header, rows, "Agreement with the others")]


def _bias(report: ObjectReport) -> list[Table]:
    biased: list[tuple[str, Bias]] = [(entry.name, entry.bias) for entry in report.annotators if entry.bias is not None]
    if not biased:
        return []
    rows: list[list[object]] = []
    for name, bias in biased:
        rows.append([name, "mean", *(_signed_interval(bias, side) for side in _SIDES), bias.n])
        rows.append(["", "std", *(shown_number(bias.std.get(side), 1) for side in _SIDES), ""])
    title = "Bias against the median box of an object, in per cent; positive: larger, further right, lower"
    return [Table(["annotator", "", *_SIDES, "objects"], rows, title)]


def _signed_interval(bias: Bias, side: str) -> str:
    value = bias.mean.get(side)
    shown = shown_interval(value, bias.intervals.get(side), 1)
    return f"+{shown}" if value is not None and value >= 0.05 else shown


def _consensus(report: ObjectReport) -> list[Table]:
    rows = []
    for entry in report.annotators:
        found = entry.consensus
        if found is not None:
            numbers = ("precision", "recall", "f1", "class_agreement", "mean_iou")
            shown = [shown_interval(getattr(found, name), found.intervals.get(name)) for name in numbers]
            rows.append([entry.name, found.n_objects, found.n_units, *shown])
    header = ["annotator", "labels", "objects of the others", "precision", "recall", "F1", "same class"]
    title = "Against the consensus of the others"
    return [Table([*header, f"mean {report.localisation.measure}"], rows, title)] if rows else []


def _sessions(report: ObjectReport) -> list[Section]:
    sessions = report.sessions
    if sessions is None:
        return []
    rows = []
    titles = {"alpha": "alpha", "score": "score", "f1": "F1", "mean_iou": f"mean {report.localisation.measure}"}
    for name, title in titles.items():
        shown = [
            shown_interval(getattr(sessions, f"{kind}_{name}"), sessions.intervals.get(f"{kind}_{name}"))
            for kind in ("intra", "inter")
        ]
        rows.append([title, *shown])
    pairs = f"{sessions.n_intra_pairs} pairs of sessions of one person, {sessions.n_inter_pairs} of different people"
    header = ["number", "one person again", "different people"]
    return [Section(f"Sessions: {pairs}", [Table(header, rows)])]
