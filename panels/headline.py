"""What stands first: the main numbers with their intervals, what they mean, and the rules in one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..agreement.report import AgreementReport
from ..charts.headline import alpha_sentence, headline_numbers, interval_notes
from ..charts.objects.sentences import class_sentence, existence_sentence, localisation_sentence
from ..charts.sections import Facts
from ..charts.tables import counted, documents, shown_interval, shown_number
from ..charts.text import rules_section


def headline_markdown(report: AgreementReport, notes: Sequence[str] = ()) -> str:
    """The headline as Markdown, with what is to be said of these numbers."""
    numbers = " · ".join(f"**{name.strip()} {shown}**" for name, shown, _ in headline_numbers(report))
    meaning = " ".join([alpha_sentence(report), *interval_notes(report), *notes])
    lines = [numbers, "", meaning, "", _counts(report), ""]
    if report.family == "objects":
        lines += [*_questions(report), ""]
    lines.append(f"Rules: {_rules(report)}")
    return "\n".join(lines)


def _counts(report: AgreementReport) -> str:
    what = documents(report)
    parts = [f"{report.n_rated:,} of {report.n_samples:,} {what} rated by two or more", f"{report.n_objects:,} labels"]
    if report.family == "objects":
        parts.append(counted(report.n_units, "object"))
    disputed = getattr(report, "n_disputed", None)
    if disputed is not None:
        parts.append(f"{disputed:,} disputed")
    if report.run.n_of is not None:
        parts.insert(0, f"part of the run: {report.n_samples:,} of its {report.run.n_of:,} {what}")
    return " · ".join(parts)


def _questions(report: Any) -> list[str]:
    """The three questions that one alpha mixes."""
    intervals, given, local = report.intervals, report.class_given_match, report.localisation
    f1 = shown_interval(report.existence.f1, intervals.get("existence.f1"))
    alpha = shown_interval(given.alpha, intervals.get("class_given_match.alpha"))
    iou = shown_interval(local.mean_iou, intervals.get("localisation.mean_iou"))
    median = shown_number(local.median_iou)
    return [
        f"- **Same objects?** F1 {f1}. {existence_sentence(report)}",
        f"- **Same classes?** α {alpha}. {class_sentence(report)}",
        f"- **Same outlines?** Mean {local.measure} {iou}, median {median}. {localisation_sentence(report)}",
    ]


def _rules(report: AgreementReport) -> str:
    facts = [part for part in rules_section(report).parts if isinstance(part, Facts)]
    return "; ".join(f"{name}: {text}" for part in facts for name, text in part.rows)
