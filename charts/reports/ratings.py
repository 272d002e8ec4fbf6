"""Sections of the report on ratings, in words and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..text.advice import Phrase, by_share, conflicts, used
from ..text.sections import Cell, Column, Part, Section, other_class_column, table
from ..text.shortlists import annotator_sections, pair_sections, shortlist_pairs
from ..text.words import NOT_COMPARED, all_agree, capitalised, counted, other_class, shown_number, shown_share

if TYPE_CHECKING:
    from ...agreement.ratings.report import RaterSummary, RatingPairSummary, RatingReport

#: meaning of the levels of measurement
LEVELS = {
    "nominal": "names: any two different classes disagree equally",
    "ordinal": "an order: the more ratings lie between two classes, the more they disagree",
    "interval": "numbers with equal steps: the squared difference counts",
    "ratio": "numbers with a true zero: the difference divided by the sum counts",
}
#: name and meaning of every coefficient
COEFFICIENTS = {
    "krippendorff_alpha": ("Krippendorff's alpha", "any number of annotators, missing ratings allowed: report this"),
    "fleiss_kappa": ("Fleiss' kappa", "chance from the class frequencies of all together; close to alpha"),
    "conger_kappa": ("Conger's kappa", "chance from each one's class frequencies; of two, Cohen's kappa"),
    "brennan_prediger": ("Brennan-Prediger", "chance: all classes equally frequent"),
    "gwet_ac1": ("Gwet's AC1", "chance: the less, the more one class prevails; it rises there, where kappa falls"),
    "gwet_ac2": ("Gwet's AC2", "AC1 with partial credit for near misses"),
}
_WEIGHTS = {"identity": "unweighted", "linear": "linear", "quadratic": "quadratic", "ordinal": "ordinal"}
#: levels whose alpha is not one of the weighted ones (interval is the quadratic one)
_OWN_DISTANCES = ("ordinal", "ratio")
_MANY = 20


def rating_rules(report: RatingReport) -> list[tuple[str, str]]:
    """The type and level of the ratings, and when two ratings agree."""
    config = report.config
    rules = [("ratings", ", ".join(report.label_types)), ("level", f"{report.level}: {LEVELS[report.level]}")]
    if report.level == "ordinal" and report.categories:
        names = report.categories
        rules.append(("order", " < ".join(names if len(names) <= _MANY else [*names[:3], "...", *names[-3:]])))
    if config["tolerance"]:
        rules.append(("tolerance", f"numbers that differ by at most {config['tolerance']:g} agree (score, verdicts)"))
    rules.append(("alpha w/o variation", "1" if config["undefined"] == "one" else "undefined"))
    return rules


def rating_outcome(report: RatingReport) -> str:
    """What annotators have in common, in words and numbers."""
    if report.score.mean is None:
        return NOT_COMPARED
    tolerance = report.config["tolerance"]
    same = f"ratings that differ by at most {tolerance:g}" if tolerance else f"the same {_what(report)}"
    said = [f"two annotators give {same} in {shown_share(report.score.mean)} of cases"]
    apart = [(pair.mean_distance, pair.n_samples) for pair in report.pairs if pair.mean_distance is not None]
    if n := sum(n for _, n in apart):
        said.append(f"their ratings differ by {shown_number(sum(d * n for d, n in apart) / n)} on average")
    said.append(all_agree(report, f"gave {same}"))
    return f"{capitalised('; '.join(said))}."


def _what(report: RatingReport) -> str:
    """Word for what annotators give a sample: ``class`` or ``rating``."""
    return "class" if report.level == "nominal" else "rating"


RATING_PHRASES: dict[str, Phrase] = {
    "conflicts": lambda finding, report: conflicts(finding, report, _what(report)),
    "class_used": used,
    "rates": by_share("rates {share} of the scale higher", "rates {share} of the scale lower"),
}


#: glossary of the sections on ratings
RATING_WORDS = (
    ("score", "share of the pairs of annotators who agree on a sample (numbers: up to the tolerance of the run)"),
    ("disputed", "any two annotators disagree"),
)


def rating_coefficients(report: RatingReport, *, brief: bool = False) -> list[Section]:
    """Chance-corrected agreement, with several definitions of chance; ``brief``: without their meanings."""
    if not report.coefficients:
        reason = "none, because these are too many different numbers, or too far apart"
        return [Section("Coefficients of categories", [], reason)]
    weights = [kind for kind in _WEIGHTS if kind in report.coefficients["krippendorff_alpha"]]

    def weighted(kind: str) -> Column:
        def cell(item: tuple[str, Mapping[str, float | None]]) -> Cell:
            return Cell(item[1].get(kind), shown_number(item[1][kind]) if kind in item[1] else "")

        return Column(_WEIGHTS[kind], cell)

    columns = [
        Column("coefficient", lambda item: COEFFICIENTS[item[0]][0]),
        *map(weighted, weights),
        *([] if brief else [Column("what it is", lambda item: COEFFICIENTS[item[0]][1])]),
    ]
    tolerance = report.config["tolerance"]
    plain = f"The plain share of agreeing pairs is {shown_number(report.alpha.percent_agreement)}."
    if tolerance:
        plain = f"They compare the numbers themselves, without the tolerance of {tolerance:g}."
    if len(weights) > 1:
        plain += " Weights give partial credit for near misses: unweighted none, quadratic most."
    parts: list[Part] = [table(columns, report.coefficients.items()), plain]
    if len(weights) > 1 and report.alpha.pooled is not None:
        # the relation of the main alpha to those with different weights
        quadratic = report.coefficients["krippendorff_alpha"].get("quadratic")
        above = "uses the numbers themselves, not their places in the list of categories"
        if report.level in _OWN_DISTANCES:
            above = f"uses Krippendorff's difference at the level {report.level}, which is not one of these weights"
        elif quadratic is not None and abs(quadratic - report.alpha.pooled) < 1e-9:
            above = "is Krippendorff's alpha with quadratic weights"
        parts.append(f"The alpha of {shown_number(report.alpha.pooled)} above {above}.")
    title = f"Coefficients over {counted(len(report.categories), 'category', 'categories')}"
    return [Section(title, parts, "0: as by chance, 1: perfect")]


def rating_annotators(report: RatingReport, *, full: bool = False) -> list[Section]:
    """Agreement of each annotator with the others."""
    columns = [
        *(Column("annotator", "name"), Column("rated", "n_assigned"), Column("not rated", "n_not_assigned")),
        Column("agreement", "score", shown_number),
        other_class_column(f"other {_what(report)}"),
    ]
    if any(entry.mean is not None for entry in report.annotators):
        columns += [Column("mean", "mean", shown_number), Column("std", "std", shown_number)]
    note = "agreement: share of the others' ratings that agree with theirs"
    return annotator_sections(report, columns, note, [other_class(report)], full=full)


def rating_classes(report: RatingReport) -> list[Section]:
    """Number of times each annotator gave each class."""
    total: Counter[str] = Counter()
    for entry in report.annotators:
        total.update(entry.classes)
    if not total or len(report.annotators) > _MANY:
        return []
    often = {name for name, _ in sorted(total.items(), key=lambda item: (-item[1], item[0]))[:_MANY]}
    listed = [name for name in report.categories if name in often]

    def given_by(rater: RaterSummary) -> Column:
        return Column(rater.name, lambda name: rater.classes.get(name, 0))

    columns = [Column("class", lambda name: name), *map(given_by, report.annotators)]
    note = "how often everybody gave them"
    if len(total) > len(listed):
        note += f" (the {len(listed)} most frequent of {len(total)})"
    return [Section("Classes", [table(columns, listed)], note)]


def rating_pairs(report: RatingReport, *, full: bool = False) -> list[Section]:
    """Agreement of each pair of annotators."""
    pairs: Sequence[RatingPairSummary] = report.pairs if full else shortlist_pairs(report).entries
    weights = [kind for kind in _WEIGHTS if any(kind in pair.kappa for pair in pairs)]
    kappas = {"identity": "Cohen's kappa"}
    columns = [
        *(Column("agree", "score", shown_number), Column("alpha", "alpha", shown_number)),
        *(Column(kappas.get(kind, f"{_WEIGHTS[kind]} kappa"), f"kappa.{kind}", shown_number) for kind in weights),
        *([Column("Scott's pi", "scott_pi", shown_number)] if weights else []),
    ]
    if any(pair.mean_distance is not None for pair in pairs):
        columns.append(Column("mean distance", "mean_distance", shown_number))
    return pair_sections(report, columns, full=full)
