"""What the text of a report says on tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pairs import best_and_worst
from .sections import Section, Table
from .tables import documents, percent, shown_number

if TYPE_CHECKING:
    from ..agreement.tags.report import TagReport, TagSummary

#: distances of two sets of tags
SET_DISTANCES = {
    "masi": "MASI: a set within the other is closer than one that only overlaps",
    "jaccard": "Jaccard: share of the tags of either that not both have",
}
#: tags that a table shows
MOST_TAGS = 30


def tag_rules(report: TagReport) -> list[tuple[str, str]]:
    """How sets of tags were compared."""
    rules = [
        ("labels", ", ".join(report.label_types)),
        ("distance in alpha", SET_DISTANCES[report.set_distance]),
        ("no tag at all", "is an answer: two annotators who gave no tag agree"),
        ("alpha w/o variation", "1" if report.config["undefined"] == "one" else "undefined"),
    ]
    if report.too_many_sets:
        rules.append(("note", "alpha was left out: there are too many different sets of tags to compare"))
    return rules


def tag_sections(report: TagReport) -> list[Section]:
    """Agreement, tags, annotators and pairs."""
    return [_agreement(report), _tags(report), _annotators(report), _pairs(report)]


def _agreement(report: TagReport) -> Section:
    n_agreed = report.n_rated - report.n_disputed
    return Section(
        f"Agreement: {report.n_samples} {documents(report)}, {report.n_rated} with at least 2 annotators assigned, "
        f"{report.n_objects} tags there",
        [
            f"All gave the same tags on {n_agreed} ({percent(n_agreed, report.n_rated)}); the share of pairs of "
            f"annotators with the same tags is {shown_number(report.alpha.percent_agreement)}",
            "Read the score first (how much two annotators' tags have in common), then alpha, which takes out what "
            "chance would give; the table of tags shows which of them need a better guideline.",
        ],
    )


def _tags(report: TagReport) -> Section:
    title = "Tags, the most disputed first (alpha: of given or not given; 0: as by chance)"
    if len(report.tags) > MOST_TAGS:
        title += f"; {MOST_TAGS} of {len(report.tags)}"
    rows = [
        [
            entry.tag,
            entry.n_samples,
            f"{entry.n_agreed} ({percent(entry.n_agreed, entry.n_samples)})",
            shown_number(entry.share),
            shown_number(entry.alpha),
        ]
        for entry in most_disputed(report)
    ]
    return Section(title, [Table(["tag", "given on", "by all on", "share of votes", "alpha"], rows)], ("classes",))


def most_disputed(report: TagReport) -> list[TagSummary]:
    """The tags that most often somebody gave and somebody else did not, the most frequent ones first where equal."""
    order = sorted(report.tags, key=lambda entry: (entry.n_agreed - entry.n_samples, -entry.n_samples, entry.tag))
    return order[:MOST_TAGS]


def _annotators(report: TagReport) -> Section:
    rows = []
    for entry in report.annotators:
        judged = sum(entry.verdicts.values())
        verdicts = [f"{count} ({percent(count, judged)})" for count in entry.verdicts.values()]
        rows.append(
            [
                *(entry.name, entry.n_assigned, entry.n_gave_nothing, entry.n_objects, shown_number(entry.score)),
                *verdicts,
                entry.n_missed,
            ]
        )
    header = [
        *("annotator", "assigned", "gave none", "tags", "agreement"),
        *("given by all", "others missed it", "only theirs", "missed by them"),
    ]
    title = "Annotators: mean Jaccard index with the others, and what became of their tags"
    return Section(title, [Table(header, rows)], ("annotators",))


def _pairs(report: TagReport) -> Section:
    shown_pairs, title = best_and_worst(report.pairs)
    rows = [
        [pair.a, pair.b, pair.n_samples, shown_number(pair.score), shown_number(pair.same_tags)] for pair in shown_pairs
    ]
    return Section(title, [Table(["a", "b", documents(report), "mean Jaccard", "same tags"], rows)], ("pairs",))
