"""What the Markdown of a report says on ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pairs import best_and_worst
from .rating_text import COEFFICIENTS, LEVELS, most_confused
from .tables import documents, markdown_table, percent, shown_number

if TYPE_CHECKING:
    from ..agreement.ratings.report import RatingReport


def rating_markdown(report: RatingReport) -> list[str]:
    """The main numbers on ratings, as lines."""
    n_agreed = report.n_rated - report.n_disputed
    lines = [
        f"{len(report.annotators)} annotators rated {report.n_rated} {documents(report)} at least twice: all agree on "
        f"{n_agreed} ({percent(n_agreed, report.n_rated)}). Level of measurement {report.level}, "
        f"{LEVELS[report.level]}.",
        "",
    ]
    if report.coefficients:
        weighted = "gwet_ac2" in report.coefficients
        rows = [
            [
                COEFFICIENTS[name][0],
                shown_number(values.get("identity")) if "identity" in values else "",
                *([shown_number(values.get("quadratic")) if "quadratic" in values else ""] if weighted else []),
                COEFFICIENTS[name][1],
            ]
            for name, values in report.coefficients.items()
        ]
        header = ["Coefficient", "Unweighted", *(["Quadratic weights"] if weighted else []), "What it is"]
        lines += [*markdown_table(header, rows), ""]
    lines += [
        *markdown_table(
            ["Annotator", "Rated", "Agrees with others", "All agree", "Disputed"],
            [
                [entry.name, entry.n_assigned, shown_number(entry.score), *entry.verdicts.values()]
                for entry in report.annotators
            ],
        ),
        "",
        *markdown_table(
            ["Pair", documents(report).capitalize(), "Agree", "α", "Cohen's κ"],
            [
                [
                    f"{pair.a} – {pair.b}",
                    pair.n_samples,
                    *(shown_number(value) for value in (pair.score, pair.alpha, pair.kappa.get("identity"))),
                ]
                for pair in best_and_worst(report.pairs)[0]
            ],
        ),
    ]
    confused = most_confused(report)
    if confused:
        lines += ["", *markdown_table(["Confused", "with", "Times"], confused)]
    return lines
