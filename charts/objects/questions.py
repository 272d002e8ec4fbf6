"""Sections of the report on objects: do annotators see, name and draw the same? Classes, confusions, and findings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ...agreement.statistics.codes import NO_LABEL
from ...agreement.statistics.main_numbers import QUESTIONS
from ..text.advice import (
    Phrase,
    against,
    class_conflicts,
    drawn_otherwise,
    loose,
    merge_effect,
    stands_out,
    unclear_conflicts,
)
from ..text.headline import shown_numbers
from ..text.sections import Answer, Cell, Column, Facts, Part, Section, part_of, sample_table, table
from ..text.words import (
    NOT_COMPARED,
    UNDEFINED,
    counted,
    documents,
    listed,
    most_frequent,
    percent,
    shown_at_least,
    shown_interval,
    shown_number,
    shown_share,
    signed,
    the_others,
)

if TYPE_CHECKING:
    from ...agreement.evidence.hypotheses import Finding
    from ...agreement.objects.report import Merge, ObjectReport, SizeSummary
    from ...agreement.statistics.report import Coefficients

#: smaller losses are rounding errors
NOTHING = 1e-9
#: a pair of labels with a lower similarity is loose
LOOSE = 0.7


def losses(report: ObjectReport) -> tuple[float, float, float] | None:
    """What the score of all pairs together loses to 1 by cause: objects that one did not draw, classes, and how
    objects are drawn.

    F1 counts matched objects, F1 with equal classes only those of one class, the score also their IoU. The losses from
    1 to F1 (objects), from F1 to F1 with equal classes, and from that to the score (how they are drawn) add up
    to the total loss, 1 - score. None if no pair has a label.
    """
    n = sum(pair.n_a + pair.n_b for pair in report.pairs)
    if not n:
        return None
    matched = sum(pair.n_matched for pair in report.pairs)
    same = [(pair.class_agreement or 0.0) * pair.n_matched for pair in report.pairs]
    iou = sum(count * (pair.sq or 0.0) for count, pair in zip(same, report.pairs, strict=True))
    f1, rq, pq = 2.0 * matched / n, 2.0 * sum(same) / n, 2.0 * iou / n
    return 1.0 - f1, f1 - rq, rq - pq


def object_outcome(report: ObjectReport) -> str:
    """What annotators have in common: objects, classes and places, in words and numbers."""
    lost, f1, same = losses(report), report.existence.f1, report.class_given_match.percent_agreement
    if lost is None or f1 is None:  # with a score all images are empty, which is agreement in this run
        n_rated = counted(report.n_rated, documents(report)[:-1])
        return NOT_COMPARED if report.score.mean is None else f"Nobody drew anything on {n_rated}."
    meet = {name for pair in report.pairs for name in (pair.a, pair.b)}
    who = "annotators" if len(meet) >= len(report.annotators) else "annotators who share images"
    if sum(lost) < NOTHING:
        has_classes = any(name != NO_LABEL for entry in report.annotators for name in entry.classes)
        drew = f"drew the same objects, in the same places{', with the same classes' if has_classes else ''}"
        if differ := [entry.name for entry in report.attributes if entry.n_conflicts]:
            return f"The {who} {drew}; their attributes differ ({listed(differ)})."
        return f"The {who} agree: they {drew}."
    if same is None:
        return f"No object was drawn by two annotators (F1 {shown_number(f1)})."
    said = [f"Two annotators draw the same object in {shown_share(f1)} of their labels (F1 {shown_number(f1)})"]
    it = "it"
    if f1 > 1.0 - 1e-9:
        said, it = [f"All {who} draw the same objects"], "them"
    if same < 1.0 - 1e-9:
        said.append(f"give {it} the same class in {shown_share(same)} of cases")
    elif len(report.classes) + report.n_classes_unlisted > 1:
        said.append(f"give {it} the same class")
    iou, measure = report.localisation.mean_iou, report.localisation.measure
    if iou is not None and iou > 1.0 - 1e-9:
        said.append(f"draw {it} at exactly the same place")
    elif iou is not None:
        loosely = "loosely, " if iou < LOOSE else ""
        said.append(f"draw {it} {loosely}with a mean {measure} of {shown_number(iou)}")
    return f"{', '.join(said[:-1])}, and {said[-1]}." if len(said) > 2 else f"{' and '.join(said)}."


def cause_sentence(report: ObjectReport) -> str:
    """The share of every cause in what the score loses, as a sentence; empty if it loses nothing."""
    lost = losses(report)
    if lost is None or sum(lost) < NOTHING:
        return ""
    several = len(report.annotators) > 2
    not_all = "objects that not everybody drew" if several else "lone objects (only one of the two drew them)"
    named = dict(zip((not_all, "different classes", "how objects are drawn"), lost, strict=True))
    ordered = sorted(named, key=lambda name: -round(named[name], 9))
    shares = {name: round(100.0 * named[name] / sum(lost)) for name in ordered}
    largest, *others = [name for name in ordered if shares[name]]
    if not others:
        how_much = "All" if sum(lost) - named[largest] < NOTHING else "Nearly all"
        return f"{how_much} that the score loses is about {largest}."
    rest = [f"{shares[name]} % about {name}" for name in others]
    return f"Of what the score loses, {listed([f'{shares[largest]} % is about {largest}', *rest])}."


def object_findings(report: ObjectReport) -> list[str]:
    """Sentences on the main cause of disagreement, then on who and what stands out, the greatest difference first."""
    cause = cause_sentence(report)
    return [cause, *stands_out(report, OBJECT_PHRASES)] if cause else []


def _left_out(finding: Finding, report: ObjectReport) -> str:
    """The share that is missed; of two annotators, the share that is lone."""
    return f"{shown_share(finding.value)} are {'missed' if len(report.annotators) > 2 else 'lone'}"


OBJECT_PHRASES: dict[str, Phrase] = {
    "misses": lambda finding, report: (
        f"misses {shown_share(finding.value)} of what two others drew",
        against(finding),
    ),
    "misses_size": lambda finding, report: (
        f"misses {shown_share(finding.value)} of {finding.size} objects",
        against(finding),
    ),
    "misses_class": lambda finding, report: (
        f"misses {shown_share(finding.value)} of objects {finding.classes[0]!r}",
        against(finding),
    ),
    "lone": lambda finding, report: (
        f"has {shown_share(finding.value)} lone labels",
        against(finding, the_others(report)),
    ),
    "twice": lambda finding, report: (
        f"drew {shown_share(finding.value)} of their labels twice",
        against(finding, the_others(report)),
    ),
    "loose": loose("mean {report.localisation.measure}"),
    "box_size": drawn_otherwise("larger", "smaller"),
    "box_right": drawn_otherwise("further right", "further left"),
    "box_down": drawn_otherwise("lower", "higher"),
    "class_missed": lambda finding, report: (
        f"Of {finding.classes[0]!r} {_left_out(finding, report)}",
        against(finding, "other classes"),
    ),
    "size_missed": lambda finding, report: (
        f"Of {finding.size} objects {_left_out(finding, report)}",
        against(finding, "of other sizes"),
    ),
}


#: small objects are mentioned if they are worse than large ones by this much IoU
_WORSE_IOU = 0.05


def drawn_by(report: ObjectReport) -> list[dict[str, int]]:
    """Numbers of objects by annotators who drew them and annotators assigned (two or more), the most assigned first."""
    votes = [entry for entry in report.existence.votes if entry["assigned"] >= 2 and entry["votes"] >= 1]
    return sorted(votes, key=lambda entry: (-entry["assigned"], -entry["votes"]))


def existence_sentence(report: ObjectReport) -> str:
    """Sentence on the question: do annotators see the same objects?"""
    votes = drawn_by(report)
    n = sum(entry["units"] for entry in votes)
    n_missed = sum(entry["units"] for entry in votes if entry["votes"] < entry["assigned"])
    n_lone = sum(entry["units"] for entry in votes if entry["votes"] == 1)
    if not n:
        return "Nobody drew anything where two annotators were assigned, so there was nothing to miss."
    if not n_missed:
        what = "the only object was" if n == 1 else f"all {n:,} objects were"
        return f"Nothing was missed: {what} drawn by everybody assigned."
    if n == 1:
        return "The only object was not drawn by everybody assigned."
    share = shown_share(1.0 - n_missed / n)
    head = f"{n - n_missed:,} of {counted(n, 'object')} ({share}) were drawn by everybody assigned"
    if n_lone == n_missed:
        return f"{head}, the others by one annotator alone (lone)."
    return f"{head}, {n_lone:,} ({shown_share(n_lone / n)}) by one annotator alone (lone)."


def class_sentence(report: ObjectReport) -> str:
    """Sentences on the question: do annotators name a shared object alike? And on the use of the alpha of objects."""
    given = report.class_given_match
    said = "Whoever drew the same object gave it the same class."
    if not given.n_units or given.percent_agreement is None:
        said = "No object was drawn by two annotators, so there are no classes to compare."
    elif (conflicts := 1.0 - given.percent_agreement) >= 1e-9:
        total = sum(entry["n"] for entry in given.confusion) + given.n_unlisted
        confused = next((finding for finding in report.findings if finding.kind == "confused"), None)
        if not given.confusion:
            said = f"Two labels of one object have different classes in {shown_share(conflicts)} of cases."
        elif confused is None:
            verb = "has" if total == 1 else "have"
            which = unclear_conflicts(report, *class_conflicts(report))
            said = f"{counted(total, 'pair')} of labels of one object {verb} different classes; {which}."
        else:
            first, second = confused.classes
            times = f"{round(confused.value * total):,} of {total:,} times{merge_effect(report, {first, second})}"
            said = f"Confused more often than by chance are {first!r} and {second!r}: {times}."
    return " ".join(filter(None, [said, object_alpha_sentence(report)]))


def object_alpha_sentence(report: ObjectReport) -> str:
    """Sentence on the use of the alpha of objects; empty if missing objects do not count in it."""
    if report.alpha.pooled is None or report.config["missing"] != "category":
        return ""
    given = report.class_given_match.percent_agreement
    if len(report.classes) + report.n_classes_unlisted < 2:
        alone = "With one class"
    elif given is None or given > 1.0 - 1e-9:
        alone = "Without a conflict of classes"
    else:
        return "Compare the alpha of objects only between runs with equal numbers of annotators and similar classes."
    return f"{alone} the alpha of objects depends on who drew what alone, and rises with the number of annotators."


def localisation_sentence(report: ObjectReport) -> str:
    """Sentence on the question: do annotators draw a shared object alike?"""
    local = report.localisation
    if not local.n_pairs or local.mean_iou is None:
        return "No object was drawn by two annotators, so there is no difference in how they draw."
    if local.mean_iou > 1.0 - 1e-9:
        return "Whoever drew the same object drew it at exactly the same place."
    told = []
    if local.median_iou is not None:
        told.append(f"half of the pairs of labels have {shown_at_least(local.median_iou)} or more")
    loose = share_below(local.iou_histogram, LOOSE)
    if loose:
        told.append(f"{shown_share(loose)} have less than {LOOSE:g}")
    sizes = {entry.size: entry for entry in report.sizes}
    small, large = (getattr(sizes.get(name), "mean_iou", None) for name in ("small", "large"))
    if small is not None and large is not None and large - small > _WORSE_IOU:
        told.append(f"small objects do worse ({shown_number(small)}) than large ones ({shown_number(large)})")
    text = "; ".join(told)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def share_below(histogram: list[int], limit: float) -> float | None:
    """The share of values below a limit, which must be an edge of a bin; None without values."""
    n = sum(histogram)
    return sum(histogram[: round(limit * len(histogram))]) / n if n else None


def class_details(report: ObjectReport) -> list[Section]:
    """Tables of all numbers of classes, and of the effect of merging two classes."""
    sections = []
    if report.classes:
        columns = [
            *(Column("class", "name"), Column("labels", "n_objects"), Column("objects", "n_units")),
            Column("share", "prevalence", shown_share),
            Column("alpha", "alpha", shown_number, interval=True),
            Column("same class", "agreement_given_match", shown_share),
            missed_or_lone(report),
            Column(f"mean {report.localisation.measure}", "mean_iou", shown_number),
            Column(
                "confused with",
                lambda one: ", ".join(f"{each['class']} ({each['n']})" for each in one.confused_with[:3]) or UNDEFINED,
            ),
        ]
        parts: list[Part] = [table(columns, report.classes)]
        if report.n_classes_unlisted:
            parts.append(f"{report.n_classes_unlisted} rarer classes are not listed.")
        note = "alpha of the class against all others"
        sections.append(Section("Classes, the most frequent first", parts, note, ("classes",)))
    if report.merges:

        def change(merge: Merge) -> float | None:
            before, after = merge.alpha_before, merge.alpha_after
            return None if before is None or after is None else after - before

        columns = [
            Column("classes", "classes", listed),
            Column("confused", "n_confused"),
            Column("alpha now", "alpha_before", shown_number),
            Column("as one class", "alpha_after", shown_number),
            Column("change", change, signed),
        ]
        text = "Whether to merge similar classes depends on the task; a higher alpha alone is not a reason."
        sections.append(Section("Effect of merging two classes", [table(columns, report.merges), text]))
    return sections


def missed_or_lone(report: ObjectReport) -> Column:
    """Column with the misses of a class or size; with its lone objects where nobody can miss what two others drew."""
    rates = [entry.miss_rate for entry in report.classes] + [entry.miss_rate for entry in report.sizes]
    if any(rate is not None for rate in rates):
        return Column("missed", "miss_rate", shown_share)
    return Column("lone", lambda entry: part_of(entry.n_lone, entry.n_units))


#: sentences that explain the numbers of each question
_SENTENCES: dict[str, Callable[[ObjectReport], str]] = {
    "existence": existence_sentence,
    "class_given_match": class_sentence,
    "localisation": localisation_sentence,
}
_COEFFICIENTS = {
    "percent_agreement": "percent agreement",
    "alpha": "Krippendorff's alpha",
    "ac1": "Gwet's AC1",
    "brennan_prediger": "Brennan-Prediger",
    "fleiss_kappa": "Fleiss' kappa",
}


def questions_section(report: ObjectReport) -> list[Section]:
    """Section on the causes of disagreement: every question, its numbers with intervals, and their meaning."""
    parts: list[Part] = []
    for group, question in QUESTIONS.items():
        numbers = shown_numbers(report, group)
        if numbers:
            sentence = _SENTENCES[group](report) if group in _SENTENCES else ""
            parts.append(Answer(question, numbers, sentence))
    return [Section("Question by question", parts, figures=("votes", "iou"))]


def existence_details(report: ObjectReport) -> list[Section]:
    """Objects by the number of annotators who drew them, Jaccard index, and whether there is anything at all."""
    existence = report.existence
    if not existence.votes:
        return []
    columns = [
        Column("drawn by", lambda entry: f"{entry['votes']} of {entry['assigned']}"),
        Column("objects", "units"),
        Column("share", lambda entry: Cell(entry["units"], percent(entry["units"], report.n_units))),
    ]
    votes = sorted(existence.votes, key=lambda entry: (-entry["assigned"], -entry["votes"]))
    jaccard = shown_interval(existence.jaccard, report.intervals.get("existence.jaccard"))
    facts = [("Jaccard index", f"{jaccard} (objects that both of a pair drew / that either drew)")]
    if existence.presence is not None:
        alpha = shown_number(existence.presence.alpha)
        share = shown_share(existence.share_present)
        text = f"{share} of the annotators' {documents(report)} have an object; alpha {alpha}"
        facts.append(("anything at all?", f"{text}, AC1 {shown_number(existence.presence.ac1)}"))
    return [Section(f"{QUESTIONS['existence']} In detail", [table(columns, votes), Facts(facts)])]


def shared_object_details(report: ObjectReport) -> Iterator[Section]:
    """The confusions; similarity by size; attributes of shared objects."""
    given, local = report.class_given_match, report.localisation
    if given.confusion:
        columns = [Column("class", "a"), Column("class", "b"), Column("pairs of labels", "n")]
        parts: list[Part] = [table(columns, given.confusion, "Confusions, the most frequent first")]
        if given.n_unlisted:
            parts.append(f"{given.n_unlisted:,} more pairs of labels have confusions that are not listed.")
        note = f"{given.n_units:,} objects that two or more drew"
        yield Section(f"{QUESTIONS['class_given_match']} In detail", parts, note)
    parts = []
    if local.median_iou is not None:
        parts.append(Facts([(f"median {local.measure}", shown_number(local.median_iou))]))
    if report.sizes:
        columns = [
            *(Column("size", "size"), Column("area", _area), Column("objects", "n_units")),
            Column(f"mean {local.measure}", "mean_iou", shown_number),
            Column(f"median {local.measure}", "median_iou", shown_number),
            missed_or_lone(report),
            Column("F1", "f1", shown_number),
        ]
        parts.append(table(columns, report.sizes, "By size, the median area of an object's labels"))
    if parts:
        yield Section(f"{QUESTIONS['localisation']} In detail", parts, f"{local.n_pairs:,} pairs of labels")
    if report.attributes:
        columns = [
            *(Column("attribute", "name"), Column("objects", "n_units"), Column("conflicts", "n_conflicts")),
            Column("agree", "percent_agreement", shown_share),
            Column("alpha", "alpha", shown_number),
            Column("level", "level"),
            Column("most frequent conflict", "conflicts", most_frequent),
        ]
        yield Section("Attributes of shared objects", [table(columns, report.attributes)])


def _area(entry: SizeSummary) -> str:
    """A range of areas: ``1024 – 9216 px²``."""
    below, above = (None if value is None else f"{value:.4g}" for value in (entry.area_from, entry.area_to))
    if above is None:
        return f"from {below or 0} {entry.unit}"
    return f"below {above} {entry.unit}" if not entry.area_from else f"{below} – {above} {entry.unit}"


def coefficient_details(report: ObjectReport) -> Iterator[Section]:
    """Coefficients beside alpha, and the samples that are worst by each question."""
    found: dict[str, Coefficients | None] = {
        "objects and classes": report.coefficients,
        "class of shared objects": report.class_given_match.coefficients,
        "anything at all?": report.existence.presence,
    }
    known = [{"of": of, **dataclasses.asdict(each)} for of, each in found.items() if each is not None]
    if known:
        columns = [
            *(Column("of", "of"), Column("n", "n_units")),
            *(Column(title, name, shown_number) for name, title in _COEFFICIENTS.items()),
        ]
        text = "Where one category prevails alpha and kappa fall, AC1 rises, and Brennan-Prediger stays."
        yield Section("Coefficients beside alpha", [table(columns, known), text])
    asked = {
        "Objects that not everybody saw: lowest F1": report.existence.worst_samples,
        "Classes: largest share of conflicts": report.class_given_match.worst_samples,
        f"Drawing: lowest mean {report.localisation.measure}": report.localisation.worst_samples,
        **{f"Attribute {entry.name}: largest share of conflicts": entry.worst_samples for entry in report.attributes},
    }
    value = [Column("value", "value", shown_number)]
    tables = [sample_table(value, samples, title) for title, samples in asked.items() if samples]
    if tables:
        yield Section("Where to look for each question", tables)
