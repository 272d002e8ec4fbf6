"""Tabs of the panel on classes and objects: their costs, confusions and misses, and the disputed objects."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..agreement.evidence.ranking import lowest_first, name_of, natural_key
from ..agreement.families.family import OBJECTS
from ..agreement.settings.errors import AgreementInputError
from ..charts.figures import plot_iou
from ..charts.figures.matrices import class_confusions, confused_first
from ..charts.objects.questions import drawn_by
from ..charts.reports.families import family_of
from ..charts.text.advice import clearly_confused, unclear_conflicts
from ..charts.text.sections import Cell, Column, part_of
from ..charts.text.shortlists import annotators_by_evidence, ranked_title
from ..charts.text.words import VERDICTS, capitalised, shown_share
from ..dataset_io.decide.next_object import MEANT
from ..names import ADD_AGREEMENT_UNITS, RESOLVE_UNITS, VERDICT_COLORS
from .items import (
    Choices,
    Item,
    Link,
    button_item,
    chart_item,
    form_button,
    link,
    matrix_item,
    named,
    table_item,
    two_digits,
)

if TYPE_CHECKING:
    from .panel_state import ShownReport

#: rows of the tables on a page, and of the matrices
PER_PAGE, _FEW = 10, 6
_MATRIX = 10
#: least and most annotators assigned to the samples that the report counts
RATED = (2, None)


def class_items(shown: ShownReport, choices: Choices) -> Iterator[Item]:
    """The tables on classes, or tags."""
    report: Any = shown.report
    classes = family_of(report).classes
    if classes is not None and getattr(report, classes.entries):
        entries = getattr(report, classes.entries)
        if report.has_objects:
            entries = sorted(entries, key=lambda entry: (-(entry.share_of_disagreement or 0.0), name_of(entry)))
            yield _object_classes(report, entries, choices)
        else:
            yield _other_classes(report, entries, choices)
    yield from _confusion(shown, choices)
    # annotators' classes against the majority's, where they differ, the most frequent first
    found = [{"who": who.name, **said} for who in report.annotators for said in getattr(who, "other_classes", [])]
    found.sort(key=lambda row: (-row["n"], natural_key(row["who"]), row["a"], row["b"]))
    if found:
        others_say, title, where = "the other says", "Who says what the other does not", ""
        if len(report.annotators) > 2:
            others_say, title = "most others say", "Who says what most others do not"
            where = "Where more than half of the others, at least two, say the same. "
        note = f"{where}A click shows all with these two."

        def said_link(row: Mapping[str, Any]) -> Link:
            shown = f"Labels of {row['who']}: {row['a']!r} where {others_say} {row['b']!r}"
            return link(shown, confusion=[row["a"], row["b"]], annotators=row["who"])

        columns = [
            *(named("Annotator", "who"), named("Says", "a", link=said_link), named(capitalised(others_say), "b")),
            Column("Times", "n"),
        ]
        yield table_item("other_classes", columns, found, choices, title=title, note=note, per_page=_FEW)
    if family_of(report).shares_of_classes:
        # the share of the pixels that every annotator gives each class
        who = annotators_by_evidence(report)
        drawn = [entry.name for entry in report.classes if not entry.is_background]
        cells = {(name, entry.name): entry.classes.get(name, 0.0) for name in drawn for entry in who}
        if cells:
            options: dict[str, Any] = {"title": "Area by class and annotator", "per_page": PER_PAGE}
            options["note"] = "Shares of an annotator's pixels."
            yield matrix_item("areas", drawn, [each.name for each in who], cells, shown_share, choices, **options)
    if report.has_objects and report.classes:
        yield from _by_annotator(shown, entries, choices)


def classes_link(name: str) -> Link:
    """Link to the objects that somebody gave a class."""
    return link(f"Objects that somebody called {name!r}", classes=name, assigned=RATED)


def _object_classes(report: Any, entries: Sequence[Any], choices: Choices) -> Item:
    most = max(entry.share_of_disagreement or 0.0 for entry in entries)

    def lone(entry: Any) -> Link | None:
        title = f"Lone objects {entry.name!r}"
        return link(title, classes=entry.name, votes=1, assigned=RATED) if entry.n_lone else None

    def confused(entry: Any) -> Cell:
        first = next(iter(entry.confused_with), None)
        return Cell(None, "–") if first is None else Cell(first["n"], f"{first['class']} ({first['n']:,})")

    def confused_link(entry: Any) -> Link | None:
        return _confusion_link(entry.name, entry.confused_with[0]["class"]) if entry.confused_with else None

    def loses(entry: Any) -> float | None:
        return (entry.share_of_disagreement or 0.0) / most if most else None

    columns = [
        named("Class", "name"),
        Column("Of what the score loses", "share_of_disagreement", shown_share, bar=loses),
        Column("Objects", "n_units", link=lambda entry: classes_link(entry.name)),
        Column("Lone", lambda entry: part_of(entry.n_lone, entry.n_units), link=lone),
        *([Column("Missed", "miss_rate", shown_share)] if len(report.annotators) > 2 else []),
        Column("Confused with", confused, link=confused_link, is_number=False),
        Column("α", "alpha", two_digits, interval=True, first_down=False),
    ]
    note = "What costs most first. α is that of the class against all others."
    if report.n_classes_unlisted:
        note += f" {report.n_classes_unlisted:,} rarer classes are not listed."
    return table_item("classes", columns, entries, choices, title="Classes", note=note, per_page=PER_PAGE)


def _other_classes(report: Any, entries: Sequence[Any], choices: Choices) -> Item:
    """Tags, or classes of pixels, those with the least agreement first."""
    classes = family_of(report).classes
    assert classes is not None
    known = [entry for entry in entries if not getattr(entry, "is_background", False)]
    known = lowest_first(known, classes.number)

    def behind(entry: Any) -> Link:
        return classes_link(getattr(entry, classes.name))

    columns = [
        named(classes.kind.capitalize(), classes.name),
        Column("Images", "n_samples", link=behind if classes.has_labels else None),
        *([Column("Given by all", classes.agreed)] if classes.agreed else []),
        Column(classes.title, classes.number, two_digits, interval=True, first_down=False),
    ]
    title = ranked_title("Tags" if classes.kind == "tag" else "Classes", known, classes.number)
    return table_item("classes", columns, known, choices, title=title, per_page=PER_PAGE)


def _confusion(shown: ShownReport, choices: Choices) -> Iterator[Item]:
    """Confusion matrix: meetings of two classes on one object, or image, the most confused classes first."""
    try:
        counts = class_confusions(shown.report)
    except AgreementInputError:
        return
    together = confused_first(shown.report, counts)
    if not together:
        return
    names = list(dict.fromkeys(name for pair in together for name in pair))
    n_classes, names = len(names), names[:_MATRIX]
    # every pair once, above the diagonal
    pairs = {pair: n for pair in itertools.combinations(names, 2) if (n := together.get((min(pair), max(pair))))}
    clear = clearly_confused(shown.report)
    n_unlisted = getattr(getattr(shown.report, "class_given_match", None), "n_unlisted", 0)
    note = f"Of all conflicts, {unclear_conflicts(shown.report, together, n_unlisted)}."
    if clear:
        (a, b), share = clear[0].classes, clear[0]
        note = (
            f"{a} and {b}: {shown_share(share.share)} [{100.0 * share.low:.0f}, {100.0 * share.high:.0f}] of all "
            f"conflicts, {shown_share(share.by_chance)} by chance."
        )
    if n_classes > len(names):
        note += f" {len(names)} of {n_classes:,} classes: those that are confused most surely, then most often."
    rows, columns = ([name for name in names if any(name == pair[k] for pair in pairs)] for k in (0, 1))
    options: dict[str, Any] = {"corner": "", "title": "Classes that met", "note": note}
    yield matrix_item("confusion", rows, columns, pairs, "{:,}".format, choices, _confusion_link, **options)


def _confusion_link(a: str, b: str) -> Link:
    return link(f"Labels on which {a!r} met {b!r}", confusion=sorted((a, b)))


def _by_annotator(shown: ShownReport, entries: Sequence[Any], choices: Choices) -> Iterator[Item]:
    """Matrix of misses by class and annotator; of two annotators, of their lone objects."""
    report: Any = shown.report
    several = len(report.annotators) > 2
    counts = shown.left_out.missed if several else shown.left_out.lone
    place = shown.annotator_codes
    by_class = {entry.name: counts[shown.class_code(entry.name)] for entry in entries[:_MATRIX]}
    rows = [name for name, found in by_class.items() if found.any()]
    names = [entry.name for entry in annotators_by_evidence(report)]
    if not rows or not names:  # of many, those without enough labels are not listed
        return

    cells = {(row, name): int(by_class[row][place[name]]) for row in rows for name in names}

    def behind(row: str, name: str) -> Link | None:
        if not cells[row, name]:
            return None
        if several:
            return link(f"{row!r} that {name} missed", classes=row, missed_by=name)
        return link(f"Lone objects {row!r} of {name}", classes=row, annotators=name, votes=1, assigned=RATED)

    title = f"{'Missed' if several else 'Lone'} objects, by class and annotator"
    note = "Of the objects that two others drew." if several else ""
    yield matrix_item("left_out", rows, names, cells, "{:,}".format, choices, behind, title=title, note=note)


#: rows of the table of classes on a page
CLASSES_PER_PAGE = 6
#: meaning of every verdict on a label
_MEANINGS = {
    "agreed": "everybody drew it and called it the same",
    "class_conflict": "drawn by two or more, who gave it different classes",
    "attribute_conflict": "the same class, but another value of an attribute",
    "missed": "two or more drew it alike, somebody assigned did not",
    "lone": "only one annotator drew it",
    "split": "one drew a whole, another one its parts",
    "duplicate": "the same annotator drew it twice",
    "crowd": "a crowd region, or inside one: not counted",
}


def object_items(shown: ShownReport, choices: Choices) -> Iterator[Item]:
    """The tables on objects, and buttons for what can be done with them."""
    report: Any = shown.report
    yield button_item("object_steps", "Go through the disputed objects, one after the other", [
        ("Decide who is right", "gavel", "go_to_tab", {"tab": "decide"}),
        ("Show disputed objects", "crop", "show_disputed", {}),
        form_button("Write one label per object", "edit_note", ADD_AGREEMENT_UNITS),
        form_button("Make a consensus", "how_to_vote", RESOLVE_UNITS),
    ])  # fmt: skip
    yield from _verdicts(report, choices)
    yield from _votes(report, choices)
    if shown.disputed_by_class:
        columns, title = _DISPUTED_CLASSES, "Disputed objects by class"
        yield table_item("by_class", columns, shown.disputed_by_class, choices, title=title, per_page=CLASSES_PER_PAGE)
    missed = Column("Missed", "miss_rate", lambda share: "–" if share is None else shown_share(share))
    columns = [
        Column("Size", "size", is_number=False),
        Column("Objects", "n_units"),
        Column("Lone", lambda entry: part_of(entry.n_lone, entry.n_units)),
        *([missed] if len(report.annotators) > 2 else []),
        Column(f"Mean {report.localisation.measure}", "mean_iou", two_digits),
    ]
    if any(entry.n_units for entry in report.sizes):
        yield table_item("sizes", columns, report.sizes, choices, title="Objects by size")
    yield from chart_item("iou", lambda: plot_iou(report))


def _verdicts(report: Any, choices: Choices) -> Iterator[Item]:
    counts: Counter[str] = Counter()
    for entry in report.annotators:
        counts.update(entry.verdicts)
    rows = [
        {"verdict": name, "title": VERDICTS.get(name, name), "meaning": _MEANINGS.get(name, ""), "n": counts[name]}
        for name in VERDICT_COLORS
        if counts[name]
    ]
    columns = [
        *(named("Verdict", "title"), named("Meaning", "meaning")),
        Column("Labels", "n", link=lambda row: link(f"Labels: {row['title']}", verdict=row["verdict"])),
        _share_column("n", counts.total()),
        _decide_column(lambda row: {"verdict": row["verdict"]} if row["verdict"] in MEANT else None),
    ]
    if rows:
        yield table_item("verdicts", columns, rows, choices, title="Labels by verdict")


def _share_column(count: str, whole: float | str) -> Column:
    """A count as the share of all, or of another count of the row, with a bar."""

    def share(row: Mapping[str, Any]) -> float:
        return float(row[count] / (row[whole] if isinstance(whole, str) else whole))

    return Column("Share", lambda row: Cell(share(row), shown_share(share(row))), bar=share)


def _decide_column(seek: Callable[[Any], dict[str, Any] | None]) -> Column:
    """A column of links to the tab Decide, with filters (``seek``) for the objects of a row."""
    return Column(
        "",
        lambda entry: "decide" if seek(entry) else "",
        link=lambda entry: {**link("Decide"), "seek": seek(entry)} if seek(entry) else None,
        is_number=False,
    )


def _votes(report: Any, choices: Choices) -> Iterator[Item]:
    def behind(entry: Mapping[str, int]) -> Link:
        votes, assigned = entry["votes"], entry["assigned"]
        return link(f"Objects drawn by {votes} of {assigned}", votes=votes, assigned=(assigned, assigned))

    votes = drawn_by(report)
    total = sum(entry["units"] for entry in votes)
    columns = [
        Column("Drawn by", lambda e: Cell(e["votes"], f"{e['votes']} of {e['assigned']}"), is_number=False),
        Column("Objects", "units", link=behind),
        _share_column("units", total),
        _decide_column(lambda entry: {"votes": entry["votes"]}),
    ]
    if total:
        yield table_item("votes", columns, votes, choices, title="Objects by the annotators who drew them", per_page=12)


#: columns of the table of disputed objects by class; an object with two classes counts for both
_DISPUTED_CLASSES = [
    named("Class", "name"),
    Column(
        "Disputed",
        "n_disputed",
        link=lambda row: link(
            f"Disputed objects that somebody called {row['name']!r}",
            verdict=list(OBJECTS.disputed),
            classes=row["name"],
        ),
    ),
    Column("Objects", "n", link=lambda row: classes_link(row["name"])),
    _share_column("n_disputed", "n"),
    _decide_column(lambda row: {"label": row["name"]}),
]
