"""Sections of the report on tags, in words and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...agreement.evidence.ranking import lowest_first
from ..text.advice import Phrase, against, stands_out, used
from ..text.sections import Column, Section, part_of, table, verdict_column
from ..text.shortlists import annotator_sections, pair_sections, ranked_title
from ..text.words import NOT_COMPARED, all_agree, counted, documents, shown_number, shown_share, the_others

if TYPE_CHECKING:
    from ...agreement.tags.report import TagReport, TagSummary

#: distances of two sets of tags
SET_DISTANCES = {
    "masi": "MASI: a subset is closer than a set that only overlaps",
    "jaccard": "Jaccard: tags that only one set has / tags in either set",
}
#: maximum number of tags in the table
MOST_TAGS = 10
#: titles of the verdicts of tags
_VERDICTS = {"agreed": "given by all", "missed": "missed by others", "lone": "lone"}


def tag_rules(report: TagReport) -> list[tuple[str, str]]:
    """The rules for comparing sets of tags."""
    rules = [
        ("labels", ", ".join(report.label_types)),
        ("distance in alpha", SET_DISTANCES[report.set_distance]),
        ("no tag at all", "is an answer: two annotators who gave no tag agree"),
        ("alpha w/o variation", "1" if report.config["undefined"] == "one" else "undefined"),
    ]
    if report.too_many_sets:
        rules.append(("note", "alpha was left out: there are too many different sets of tags to compare"))
    return rules


def tag_outcome(report: TagReport) -> str:
    """What annotators have in common, in words and numbers."""
    if report.score.mean is None:
        return NOT_COMPARED
    if not report.tags:
        return f"Nobody gave a tag on {counted(report.n_rated, documents(report)[:-1])}."
    # a mean over samples: no share of tags, since samples without a tag count as much as those with many
    mean = f"mean Jaccard index of {shown_number(report.score.mean)} over {documents(report)}"
    meaning = "tags that both gave / tags that either gave; 1 where neither gave one"
    return f"The tags of two annotators have a {mean} ({meaning}); {all_agree(report, 'gave the same tags, or none,')}."


def tag_findings(report: TagReport) -> list[str]:
    """Sentences on the tags that are disputed, and on who and what stands out."""
    disputed = _disputed(report)
    if not disputed:
        return []
    verb = "is" if len(disputed) == 1 else "are"
    found = f"{len(disputed):,} of {counted(len(report.tags), 'tag')} {verb} disputed."
    return [found, *stands_out(report, TAG_PHRASES, {"class_missed": "when to give {}"})]


TAG_PHRASES: dict[str, Phrase] = {
    "class_used": used,
    "class_missed": lambda finding, report: (
        f"Of {finding.classes[0]!r} {shown_share(finding.value)} "
        f"{'is missed where two others gave it' if len(report.annotators) > 2 else 'is lone'}",
        against(finding, "other tags"),
    ),
    "lone": lambda finding, report: (
        f"has {shown_share(finding.value)} lone tags",
        against(finding, the_others(report)),
    ),
    "misses": lambda finding, report: (
        f"misses {shown_share(finding.value)} of the tags that two others gave",
        against(finding),
    ),
}


#: glossary of the sections on tags
TAG_WORDS = (
    ("score", "Jaccard index: tags that both of two annotators gave / tags that either gave; 1 where neither gave one"),
    ("lone", "only one annotator gave the tag"),
    ("missed", "two or more gave the tag, and somebody assigned did not"),
)


def _disputed(report: TagReport) -> list[TagSummary]:
    """The tags that not everybody gave, those with the least agreement first."""
    return lowest_first([entry for entry in report.tags if entry.n_agreed < entry.n_samples], "alpha")


def most_disputed_tags(report: TagReport, *, full: bool = False) -> list[Section]:
    """The tags with the least agreement first; none that everybody gave. ``full``: all, if some are left out."""
    disputed = _disputed(report)
    if full and len(disputed) <= MOST_TAGS:
        return []
    shown = disputed if full else disputed[:MOST_TAGS]
    note = f"{len(disputed):,} of {len(report.tags):,}"
    if len(shown) < len(disputed):
        note += f", the first {MOST_TAGS}"
    columns = [
        Column("tag", "tag"),
        Column("given on", "n_samples"),
        Column("given by all", lambda entry: part_of(entry.n_agreed, entry.n_samples)),
        Column("share of votes", "share", shown_number),
        Column("alpha", "alpha", shown_number),
    ]
    if not disputed:
        return [Section("Disputed tags", [], f"none of {len(report.tags):,}", ("classes",))]
    title = ranked_title("Disputed tags", disputed, "alpha")
    return [Section(title, [table(columns, shown)], note, ("classes",))]


def tag_annotators(report: TagReport, *, full: bool = False) -> list[Section]:
    """Number of tags of each annotator, and their verdicts."""
    several = len(report.annotators) > 2  # of two, nobody can miss what two others gave
    columns = [
        *(Column("annotator", "name"), Column("assigned", "n_assigned"), Column("gave none", "n_gave_nothing")),
        *(Column("tags", "n_objects"), Column("agreement", "score", shown_number)),
        *(verdict_column(verdict, title) for verdict, title in _VERDICTS.items() if several or verdict != "missed"),
        *([Column("missed by them", "n_missed")] if several else []),
    ]
    note = "mean Jaccard index with the others, and what became of their tags"
    return annotator_sections(report, columns, note, full=full)


def tag_pairs(report: TagReport, *, full: bool = False) -> list[Section]:
    """Agreement of each pair of annotators."""
    columns = [Column("mean Jaccard", "score", shown_number), Column("same tags", "same_tags", shown_number)]
    return pair_sections(report, columns, full=full)
