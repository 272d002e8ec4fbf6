"""What the Markdown of a report says on objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .object_text import best_and_worst_pairs
from .tables import markdown_table, shown_number

if TYPE_CHECKING:
    from ..agreement.objects.report import ObjectReport


def object_markdown(report: ObjectReport) -> list[str]:
    """The main numbers on objects, as lines."""
    existence = report.existence
    given, local = report.class_given_match, report.localisation
    return [
        f"{report.n_objects} labels of {len(report.annotators)} annotators on {report.n_rated} rated samples are "
        f"{report.n_units} objects.",
        "",
        *markdown_table(
            ["Question", "Answer"],
            [
                ["Do they see the same objects?", f"F1 {shown_number(existence.f1)}"],
                ["Do they name a shared object alike?", f"α {shown_number(given.alpha)} over {given.n_units} objects"],
                ["Do they draw a shared object alike?", f"mean IoU {shown_number(local.mean_iou)}"],
            ],
        ),
        "",
        *markdown_table(
            ["Annotator", "Labels", "Agreed", "Class conflict", "Others missed it", "Only theirs", "Missed by them"],
            [[entry.name, entry.n_objects, *entry.verdicts.values(), entry.n_missed] for entry in report.annotators],
        ),
        "",
        *markdown_table(
            ["Pair", "Samples", "Score", "α", "F1", "Mean IoU"],
            [
                [
                    f"{pair.a} – {pair.b}",
                    pair.n_samples,
                    *(shown_number(value) for value in (pair.score, pair.alpha, pair.f1, pair.mean_iou)),
                ]
                for pair in best_and_worst_pairs(report)[0]
            ],
        ),
    ]
