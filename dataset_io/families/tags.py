"""Tags: a list of classes by every annotator on every sample, written tag by tag."""

from __future__ import annotations

import dataclasses
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agreement.disputes.costs import pair_costs
from ...agreement.matching.verdicts import MOST_NAMED, verdict_names, who_left_out
from ...agreement.settings.options import value_name
from ...agreement.statistics.codes import NO_LABEL, ClassCodes
from ...agreement.statistics.records import id_texts, packed, uncounted_columns
from ...agreement.statistics.report import ReportContext, RunFacts
from ...agreement.tags.compute import TagAgreement, TagRecords, compute_tags, first_labels, record_tags
from ...metrics.numeric.arrays import BoolArray, IntArray
from ...names import MISSED_BY
from ..labels.assignment import UNKNOWN, assigned_annotators, listed_columns, listed_labels
from ..labels.checks import LABEL_REQUIREMENT, check_labels, codes_of, is_class, unusable_labels_error
from ..labels.roles import are_sure, check_roles, decisions, undecided_labels
from ..labels.source import Source
from ..labels.stored import StoredSample, id_bytes, of_each_label
from .protocol import LabelFamily, LabelsRead, report_context, values_by_path, where_rated


@dataclass(frozen=True, slots=True)
class TagLabels:
    """Tags of some samples, and the position of every label in the database."""

    sample: IntArray  #: shape ``(N,)``, sample of every label
    annotator: IntArray  #: shape ``(N,)``
    tag: IntArray  #: shape ``(N,)``, code of the tag, from 1; an annotator may give it twice
    assigned: BoolArray  #: shape ``(S, R)``, whether an annotator is assigned; includes all who gave a tag
    present: BoolArray  #: shape ``(S, roles)``, whether a role is assigned
    otherwise: BoolArray  #: shape ``(S, R)``, who would be assigned if a null label list had the other meaning
    field: IntArray  #: shape ``(N,)``, index of the field of every tag
    position: IntArray  #: shape ``(N,)``, index of every tag in the label list in the database
    label_ids: NDArray[np.uint8]  #: shape ``(N, 12)``, ids of the labels
    tag_names: Sequence[str]  #: name of every tag code
    own: IntArray  #: rows of the tags of annotators; roles are numbered after them


class TagFamily(LabelFamily[TagLabels, TagAgreement]):
    """Sets of tags; a tag that an annotator gave twice counts once."""

    def __init__(self, source: Source, known: ReportContext | None = None) -> None:
        self.source, self._everybody = source, source.everybody
        self.codes = ClassCodes(source.config.aliases, () if known is None else known.names_of_codes)
        self._tag_names: list[str] = []

    # ---- reading ----

    def check(self) -> None:
        """Refuse labels that cannot be compared."""
        check_labels(self._everybody)
        check_roles(self.source)

    def projection(self) -> dict[str, Any]:
        """Class and annotator of every label."""
        config, projection = self.source.config, decisions(self.source)
        for field, path in enumerate(self._everybody.label_paths):
            for name, attribute in listed_columns(self._everybody, field).items():
                projection[f"{name}{field}"] = of_each_label(path, {"$ifNull": [f"$$this.{attribute}", None]})
        if config.assigned_field is not None:
            projection["assigned"] = f"${config.assigned_field}"
        return projection

    def read(self, rows: list[dict[str, Any]], samples: list[StoredSample]) -> LabelsRead[TagLabels]:
        """The tags of query results."""
        parts = []
        for k in range(len(self._everybody.kinds)):
            ids, given, part = listed_labels(self._everybody, rows, samples, k)
            # a value that is no class stays as it is
            named = [NO_LABEL if name is None else value_name(name) if is_class(name) else name for name in given]
            parts.append({**part, "tag": codes_of(self.codes, named), "label_ids": id_bytes(ids)})
        every = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        is_label, place = every.pop("is_label"), (every["sample"], every["annotator"])
        invalid, unknown = place[0][~is_label], place[0][is_label & (place[1] == UNKNOWN)]
        if len(invalid) and self.source.config.invalid == "error":
            affected = sorted(samples[k].title for k in np.unique(invalid).tolist())
            raise unusable_labels_error([LABEL_REQUIREMENT], len(invalid), affected)
        invalid = place[0][~is_label & (every["field"] < len(self.source.kinds))]
        known = is_label & (place[1] >= 0)
        assignment = assigned_annotators(self.source, rows, samples, (place[0][known], place[1][known]))
        known &= are_sure(self.source, samples, *place, every.pop("confidence"))
        columns: dict[str, Any] = {name: column[known] for name, column in every.items()}
        own, present = columns["annotator"] < len(self.source.annotators), assignment.present
        if len(self._tag_names) != self.codes.n_codes:
            self._tag_names = self.codes.names()  # a new list, because batches that are being written use the old one
        undecided = undecided_labels(self.source, rows, columns["sample"], id_texts(columns["label_ids"]))
        if undecided is not None:  # decisions are no reference where somebody gave a tag that nobody decided
            label, role = np.nonzero(undecided & own[:, None])
            present[columns["sample"][label], role] = False
        more: dict[str, Any] = {"assigned": assignment.assigned, "present": present, "otherwise": assignment.otherwise}
        labels = TagLabels(**columns, **more, own=np.flatnonzero(own), tag_names=self._tag_names)
        of_unknown = unknown[:0] if self.source.config.annotators else unknown
        n_invalid, n_unknown = (np.bincount(each, minlength=len(rows)) for each in (invalid, of_unknown))
        return LabelsRead(labels, n_invalid, n_unknown, assignment.n_added, assignment.drew)

    # ---- comparing ----

    def compute(self, labels: TagLabels) -> TagAgreement:
        """Score the samples, and judge their tags."""
        own = labels.own
        found = compute_tags(labels.sample[own], labels.annotator[own], labels.tag[own], labels.assigned)
        return dataclasses.replace(found, label=own[found.label])

    def record(self, labels: TagLabels, result: TagAgreement) -> TagRecords:
        """The records of a batch."""
        records, rows = record_tags(result, labels.otherwise), other_tags(labels, result)
        columns = (labels.sample[rows], labels.annotator[rows], labels.tag[rows])
        uncounted = uncounted_columns(*columns, len(labels.assigned), label_id=labels.label_ids[rows])
        part = {**records.parts[0], "label_id": labels.label_ids[result.label], **uncounted}
        if self.source.roles:
            part["role_present"] = packed(labels.present)
        return dataclasses.replace(records, parts=(part,))

    def context(self, run: RunFacts) -> ReportContext:
        """The context of the report."""
        return report_context(self.source, run, self.codes.names())

    # ---- writing ----

    def values(self, labels: TagLabels, agreement: TagAgreement) -> list[dict[str, Any]]:
        """The values of every sample by path; undefined ones are None on labels and left out on samples.

        If an annotator gave a tag more than once, the first label has the values; on the others they are None.
        """
        rated, n_annotators = agreement.rated, agreement.n_annotators
        of_majority = np.flatnonzero(2 * agreement.votes > n_annotators[agreement.unit_sample])
        majority: list[list[str]] = [[] for _ in rated]
        for unit in of_majority.tolist():
            insort(majority[agreement.unit_sample[unit]], labels.tag_names[agreement.unit_tag[unit]])
        run_key, paths = self.source.config.run_key, self.source.label_paths
        updates = values_by_path(
            run_key,
            {
                "score": where_rated(rated, agreement.score),
                "cost": where_rated(rated, pair_costs(agreement.score, n_annotators)),
                "disputed": where_rated(rated, agreement.score < 1.0),
                "majority": [tags if is_rated else None for tags, is_rated in zip(majority, rated, strict=True)],
                "n_annotators": n_annotators.tolist(),
            },
        )
        of_label, counts = agreement.of_label, np.zeros(len(labels.tag), np.bool_)
        counts[agreement.label] = True
        counts = counts[labels.own]
        sample, annotator, field, place = (
            column[labels.own] for column in (labels.sample, labels.annotator, labels.field, labels.position)
        )
        verdicts, votes = verdict_names(agreement.verdict[of_label]).tolist(), agreement.votes[of_label].tolist()
        at = [f"{paths[k]}.{position}.{run_key}" for k, position in zip(field.tolist(), place.tolist(), strict=True)]
        for label, (k, is_counted) in enumerate(zip(sample.tolist(), counts.tolist(), strict=True)):
            values = (verdicts[label], votes[label], int(n_annotators[k])) if is_counted else (None, None, None)
            updates[k] |= {
                at[label] + ending: value for ending, value in zip(("", "_votes", "_of"), values, strict=True)
            }
        asked = (labels.assigned & (n_annotators <= MOST_NAMED)[:, None])[agreement.unit_sample]
        missed = who_left_out(asked, of_label, annotator).of_rows(of_label).where(counts)
        for label, named in missed.names(self.source.annotators).items():
            updates[sample[label]][at[label] + MISSED_BY] = named
        return updates


def other_tags(labels: TagLabels, agreement: TagAgreement) -> IntArray:
    """Rows of the tags in no unit: repeated ones of annotators, then every tag of every role once; by sample."""
    n, of_roles = labels.assigned.shape[1], np.setdiff1d(np.arange(len(labels.tag)), labels.own)
    first = first_labels(labels.sample[of_roles], labels.annotator[of_roles], labels.tag[of_roles])
    rows = np.concatenate([np.setdiff1d(labels.own, agreement.label), of_roles[np.sort(first)]])
    return rows[np.lexsort((np.maximum(labels.annotator[rows], n - 1), labels.sample[rows]))]
