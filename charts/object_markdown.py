"""What the Markdown of a report says on objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .object_text import extra_columns
from .pairs import best_and_worst
from .tables import documents, markdown_table, shown_number

if TYPE_CHECKING:
    from ..agreement.objects.report import ObjectReport


def object_markdown(report: ObjectReport) -> list[str]:
    """The main numbers on objects, as lines."""
    existence = report.existence
    given, local = report.class_given_match, report.localisation
    more = {title.capitalize(): name for title, name in extra_columns(report).items()}
    return [
        f"{report.n_objects} labels of {len(report.annotators)} annotators on {report.n_rated} rated "
        f"{documents(report)} are {report.n_units} objects.",
        "",
        *markdown_table(
            ["Question", "Answer"],
            [
                ["Do they see the same objects?", f"F1 {shown_number(existence.f1)}"],
                ["Do they name a shared object alike?", f"α {shown_number(given.alpha)} over {given.n_units} objects"],
                ["Do they draw a shared object alike?", f"mean {local.measure} {shown_number(local.mean_iou)}"],
                *_more_answers(report),
            ],
        ),
        "",
        *markdown_table(
            ["Annotator", "Labels", "Agreed", "Class conflict", "Others missed it", "Only theirs", "Missed by them"],
            [[entry.name, entry.n_objects, *entry.verdicts.values(), entry.n_missed] for entry in report.annotators],
        ),
        "",
        *markdown_table(
            ["Pair", documents(report).capitalize(), "Score", "α", "F1", f"Mean {local.measure}", *more],
            [
                [
                    f"{pair.a} – {pair.b}",
                    pair.n_samples,
                    *(shown_number(value) for value in (pair.score, pair.alpha, pair.f1, pair.mean_iou)),
                    *(shown_number(getattr(pair, name)) for name in more.values()),
                ]
                for pair in best_and_worst(report.pairs)[0]
            ],
        ),
    ]


def _more_answers(report: ObjectReport) -> list[list[str]]:
    """Answers to what can only be asked of some labels."""
    answers = []
    if report.localisation.measure == "OKS":
        answers.append(
            ["Do they label the same points of it?", f"visibility {shown_number(report.localisation.visibility)}"]
        )
    if report.track_consistency is not None:
        answers.append(["Do they follow it through the video?", f"{shown_number(report.track_consistency)} of frames"])
    return answers
