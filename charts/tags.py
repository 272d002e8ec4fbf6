"""The sections of a report on tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sections import Section
from .tables import Column, best_and_worst, part_of, table, verdict_column
from .words import documents, percent, shown_number

if TYPE_CHECKING:
    from ..agreement.tags.report import TagReport

#: distances of two sets of tags
SET_DISTANCES = {
    "masi": "MASI: a subset is closer than a set that only overlaps",
    "jaccard": "Jaccard: tags that only one set has / tags in either set",
}
#: maximum number of tags in the table
MOST_TAGS = 30
#: titles of the verdicts of tags
_VERDICTS = {"agreed": "given by all", "missed": "others missed it", "lone": "only theirs"}


def tag_rules(report: TagReport) -> list[tuple[str, str]]:
    """The rules for comparing sets of tags."""
    rules = [
        ("labels", ", ".join(report.label_types)),
        ("distance in alpha", SET_DISTANCES[report.set_distance]),
        ("no tag at all", "is an answer: two annotators who gave no tag agree"),
        ("alpha w/o variation", "1" if report.config["undefined"] == "one" else "undefined"),
    ]
    if report.too_many_sets:
        rules.append(("note", "alpha was left out: there are too many different sets of tags to compare"))
    return rules


def tag_agreement(report: TagReport) -> list[Section]:
    """The number of samples on which all gave the same tags."""
    n_agreed = report.n_rated - report.n_disputed
    note = (
        f"{report.n_samples:,} {documents(report)}, {report.n_rated:,} with at least 2 annotators assigned, "
        f"{report.n_objects:,} tags there"
    )
    sentences = [
        f"All gave the same tags on {n_agreed} ({percent(n_agreed, report.n_rated)}); the share of pairs of "
        f"annotators with the same tags is {shown_number(report.alpha.percent_agreement)}.",
        "Read the score first (how much two annotators' tags have in common), then alpha, which corrects for chance; "
        "the table of tags shows which tags need a better guideline.",
    ]
    return [Section("Agreement", sentences, note)]


def most_disputed_tags(report: TagReport) -> list[Section]:
    """The tags with the most disagreement first; ties by frequency."""
    order = sorted(report.tags, key=lambda entry: (entry.n_agreed - entry.n_samples, -entry.n_samples, entry.tag))
    note = "alpha of given or not given (0: as by chance)"
    if len(report.tags) > MOST_TAGS:
        note += f"; {MOST_TAGS} of {len(report.tags)}"
    columns = [
        Column("tag", "tag"),
        Column("given on", "n_samples"),
        Column("given by all", lambda entry: part_of(entry.n_agreed, entry.n_samples)),
        Column("share of votes", "share", shown_number),
        Column("alpha", "alpha", shown_number),
    ]
    return [Section("Tags, the most disputed first", [table(columns, order[:MOST_TAGS])], note, ("classes",))]


def tag_annotators(report: TagReport) -> list[Section]:
    """Number of tags of each annotator, and their verdicts."""
    columns = [
        *(Column("annotator", "name"), Column("assigned", "n_assigned"), Column("gave none", "n_gave_nothing")),
        *(Column("tags", "n_objects"), Column("agreement", "score", shown_number)),
        *(verdict_column(verdict, title) for verdict, title in _VERDICTS.items()),
        Column("missed by them", "n_missed"),
    ]
    note = "mean Jaccard index with the others, and what became of their tags"
    return [Section("Annotators", [table(columns, report.annotators)], note, ("annotators",))]


def tag_pairs(report: TagReport) -> list[Section]:
    """Agreement of each pair of annotators."""
    shown_pairs, title = best_and_worst(report.pairs)
    columns = [
        *(Column("a", "a"), Column("b", "b"), Column(documents(report), "n_samples")),
        Column("mean Jaccard", "score", shown_number),
        Column("same tags", "same_tags", shown_number),
    ]
    return [Section(title, [table(columns, shown_pairs)], figures=("pairs",))]
