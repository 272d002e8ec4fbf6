"""What the text of a report says on ratings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .pairs import best_and_worst
from .sections import Part, Section, Table
from .tables import documents, percent, shown_number

if TYPE_CHECKING:
    from ..agreement.ratings.report import RatingReport

#: what a level of measurement means
LEVELS = {
    "nominal": "names: two different ones disagree, whichever they are",
    "ordinal": "an order: the more classes lie between two, the more they disagree",
    "interval": "numbers on a scale of equal steps: their squared difference counts",
    "ratio": "numbers with a true zero: their difference as a share of their sum counts",
}
#: name and meaning of every coefficient
COEFFICIENTS = {
    "krippendorff_alpha": ("Krippendorff's alpha", "any number of annotators, gaps allowed: the one to report"),
    "fleiss_kappa": ("Fleiss' kappa", "chance: how often all together gave each class; near alpha"),
    "conger_kappa": ("Conger's kappa", "chance: how often each one gave each class; of two: Cohen's kappa"),
    "brennan_prediger": ("Brennan-Prediger", "chance: all classes alike"),
    "gwet_ac1": ("Gwet's AC1", "hardly moved by how common a class is: see it where kappa is low"),
    "gwet_ac2": ("Gwet's AC2", "AC1, with near misses counted in part"),
}
_WEIGHTS = {"identity": "unweighted", "linear": "linear", "quadratic": "quadratic", "ordinal": "ordinal"}
#: levels whose alpha is that of no weights (at the level interval it is that of quadratic ones)
_OWN_DISTANCES = ("ordinal", "ratio")
_MANY = 20


def rating_rules(report: RatingReport) -> list[tuple[str, str]]:
    """What the ratings are, and when two agree."""
    config = report.config
    rules = [
        ("ratings", ", ".join(report.label_types)),
        ("level", f"{report.level}: {LEVELS[report.level]}"),
    ]
    if report.level == "ordinal" and report.categories:
        rules.append(("order", _shortened(report.categories, " < ")))
    if config["tolerance"]:
        rules.append(("tolerance", f"numbers that differ by at most {config['tolerance']:g} agree (score, verdicts)"))
    rules.append(("alpha w/o variation", "1" if config["undefined"] == "one" else "undefined"))
    return rules


def rating_sections(report: RatingReport) -> list[Section]:
    """Coefficients, annotators, classes, pairs and what is confused most."""
    return [
        _agreement(report),
        _coefficients(report),
        _annotators(report),
        *_classes(report),
        _pairs(report),
        *_confusions(report),
    ]


def _shortened(names: list[str], separator: str) -> str:
    shown = names if len(names) <= _MANY else [*names[:3], "...", *names[-3:]]
    return separator.join(shown)


def _agreement(report: RatingReport) -> Section:
    n_agreed = report.n_rated - report.n_disputed
    return Section(
        f"Agreement: {report.n_samples} {documents(report)}, {report.n_rated} rated by at least 2 annotators",
        [
            f"All agree on {n_agreed} ({percent(n_agreed, report.n_rated)}); {report.n_disputed} are disputed",
            "Read the score first (how often two annotators agree), then alpha, which takes out what chance would "
            "give; what is confused most, below, shows which classes need a better guideline.",
        ],
    )


def _coefficients(report: RatingReport) -> Section:
    if not report.coefficients:
        reason = "none, because these are too many different numbers, or too far apart"
        return Section(f"Coefficients of categories: {reason}", [])
    weights = [kind for kind in _WEIGHTS if kind in report.coefficients["krippendorff_alpha"]]
    rows = []
    for name, values in report.coefficients.items():
        title, meaning = COEFFICIENTS[name]
        shown = [shown_number(values[kind]) if kind in values else "" for kind in weights]
        rows.append([title, *shown, meaning])
    title = f"Coefficients over {len(report.categories)} categories (0: as by chance, 1: perfect)"
    plain = f"The plain share of agreeing pairs is {shown_number(report.alpha.percent_agreement)}."
    table = Table(["coefficient", *(_WEIGHTS[kind] for kind in weights), "what it is"], rows)
    parts: list[Part] = [table, plain]
    if len(weights) > 1:
        parts[-1] = f"{plain} Weights count near misses in part: unweighted not at all, quadratic most."
    if report.level in _OWN_DISTANCES and report.alpha.pooled is not None:
        parts.append(
            f"The alpha of {shown_number(report.alpha.pooled)} above measures differences as Krippendorff does at the "
            f"level {report.level}, which is none of these weights."
        )
    return Section(title, parts)


def _annotators(report: RatingReport) -> Section:
    numbers = any(entry.mean is not None for entry in report.annotators)
    rows = []
    for entry in report.annotators:
        judged = sum(entry.verdicts.values())
        verdicts = [f"{count} ({percent(count, judged)})" for count in entry.verdicts.values()]
        spread = [shown_number(entry.mean), shown_number(entry.std)] if numbers else []
        rows.append([entry.name, entry.n_assigned, entry.n_not_assigned, shown_number(entry.score), *verdicts, *spread])
    header = ["annotator", "rated", "not rated", "agreement", "all agree", "disputed", *(["mean", "std"] * numbers)]
    title = "Annotators: share of the others' ratings that agree with theirs"
    return Section(title, [Table(header, rows)], ("annotators",))


def _classes(report: RatingReport) -> list[Section]:
    total: Counter[str] = Counter()
    for entry in report.annotators:
        total.update(entry.classes)
    if not total or len(report.annotators) > _MANY:
        return []
    often = {name for name, _ in sorted(total.items(), key=lambda item: (-item[1], item[0]))[:_MANY]}
    listed = [name for name in report.categories if name in often]
    rows = [[name, *(entry.classes.get(name, 0) for entry in report.annotators)] for name in listed]
    title = "Classes: how often everybody gave them"
    if len(total) > len(listed):
        title += f" (the {len(listed)} most frequent of {len(total)})"
    return [Section(title, [Table(["class", *(entry.name for entry in report.annotators)], rows)])]


def _pairs(report: RatingReport) -> Section:
    shown_pairs, title = best_and_worst(report.pairs)
    weights = [kind for kind in _WEIGHTS if any(kind in pair.kappa for pair in shown_pairs)]
    numbers = any(pair.mean_distance is not None for pair in shown_pairs)
    rows = [
        [
            pair.a,
            pair.b,
            pair.n_samples,
            shown_number(pair.score),
            shown_number(pair.alpha),
            *(shown_number(pair.kappa.get(kind)) for kind in weights),
            *([shown_number(pair.scott_pi)] if weights else []),
            *([shown_number(pair.mean_distance)] if numbers else []),
        ]
        for pair in shown_pairs
    ]
    kappas = ["Cohen's kappa", *(f"{_WEIGHTS[kind]} kappa" for kind in weights[1:]), "Scott's pi"] if weights else []
    header = ["a", "b", documents(report), "agree", "alpha", *kappas, *(["mean distance"] * numbers)]
    return Section(title, [Table(header, rows)], ("pairs",))


def _confusions(report: RatingReport) -> list[Section]:
    rows = most_confused(report)
    title = "What is confused most, over all pairs"
    return [Section(title, [Table(["class", "class", "times"], rows)], ("confusion",))] if rows else []


def most_confused(report: RatingReport, at_most: int = 10) -> list[tuple[str, str, int]]:
    """The classes that two annotators most often gave to one sample, whoever gave which, over all pairs."""
    place = {name: position for position, name in enumerate(report.categories)}
    total: Counter[tuple[str, str]] = Counter()
    for pair in report.pairs:
        for entry in pair.confusion:
            first, second = sorted((entry["a"], entry["b"]), key=place.__getitem__)
            if first != second:
                total[first, second] += entry["n"]
    order = sorted(total.items(), key=lambda item: (-item[1], item[0]))
    return [(first, second, n) for (first, second), n in order[:at_most]]
