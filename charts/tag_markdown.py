"""What the Markdown of a report says on tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pairs import best_and_worst
from .tables import documents, markdown_table, percent, shown_number
from .tag_text import most_disputed

if TYPE_CHECKING:
    from ..agreement.tags.report import TagReport


def tag_markdown(report: TagReport) -> list[str]:
    """The main numbers on tags, as lines."""
    n_agreed = report.n_rated - report.n_disputed
    note = " There are too many different sets of tags for α." if report.too_many_sets else ""
    return [
        f"{len(report.annotators)} annotators gave {report.n_objects} tags on {report.n_rated} rated "
        f"{documents(report)}: all the same on {n_agreed} ({percent(n_agreed, report.n_rated)}). α is that of whole "
        f"sets, with the distance `{report.set_distance}`.{note}",
        "",
        *markdown_table(
            ["Tag", "Given on", "By all on", "Share of votes", "α"],
            [
                [entry.tag, entry.n_samples, entry.n_agreed, shown_number(entry.share), shown_number(entry.alpha)]
                for entry in most_disputed(report)
            ],
        ),
        "",
        *markdown_table(
            ["Annotator", "Tags", "Agreement", "Given by all", "Others missed it", "Only theirs", "Missed by them"],
            [
                [entry.name, entry.n_objects, shown_number(entry.score), *entry.verdicts.values(), entry.n_missed]
                for entry in report.annotators
            ],
        ),
        "",
        *markdown_table(
            ["Pair", documents(report).capitalize(), "Mean Jaccard", "Same tags"],
            [
                [f"{pair.a} – {pair.b}", pair.n_samples, shown_number(pair.score), shown_number(pair.same_tags)]
                for pair in best_and_worst(report.pairs)[0]
            ],
        ),
    ]
