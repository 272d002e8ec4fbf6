"""What the Markdown of a report says on objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .objects.annotators import VERDICT_TITLES
from .objects.bias import bias_in_words
from .objects.causes import cause_sentence
from .objects.pairs import extra_columns
from .objects.questions import answers
from .pairs import best_and_worst
from .tables import documents, markdown_table, shown_number

if TYPE_CHECKING:
    from ..agreement.objects.report import ObjectReport


def object_markdown(report: ObjectReport) -> list[str]:
    """The main numbers on objects, as lines."""
    local = report.localisation
    has_bias = any(entry.bias is not None for entry in report.annotators)
    more = {title.capitalize(): name for title, name in extra_columns(report).items()}
    return [
        f"{report.n_objects} labels of {len(report.annotators)} annotators on {report.n_rated} rated "
        f"{documents(report)} are {report.n_units} objects. {cause_sentence(report)}",
        "",
        *markdown_table(
            ["Question", "Answer", "What it means"],
            [[answer.question, answer.numbers.replace("alpha", "α"), answer.meaning] for answer in answers(report)],
        ),
        "",
        *markdown_table(
            ["Annotator", "Labels", *_verdicts(report), "Missed by them", *(["Draws"] * has_bias)],
            [
                [
                    *(entry.name, entry.n_objects, *entry.verdicts.values(), entry.n_missed),
                    *([bias_in_words(entry.bias)] * has_bias),
                ]
                for entry in report.annotators
            ],
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


def _verdicts(report: ObjectReport) -> list[str]:
    """Titles of the columns of verdicts."""
    names = report.annotators[0].verdicts if report.annotators else {}
    return [VERDICT_TITLES.get(name, name).capitalize() for name in names]
