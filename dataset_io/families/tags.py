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
from ...agreement.matching.relations import MOST_NAMED, who_left_out
from ...agreement.matching.verdicts import verdict_names
from ...agreement.settings.options import value_name
from ...agreement.statistics.codes import NO_LABEL, ClassCodes, CodeNames
from ...agreement.statistics.records import uncounted_columns
from ...agreement.statistics.report import ReportContext, RunFacts
from ...agreement.tags.compute import TagAgreement, TagRecords, compute_tags, record_tags
from ...metrics.numeric.arrays import BoolArray, IntArray
from ...names import MISSED_BY
from ..labels.assignment import UNKNOWN, assigned_annotators, listed_labels
from ..labels.checks import LABEL_REQUIREMENT, check_labels, codes_of, is_class, unusable_labels_error
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
    otherwise: BoolArray  #: shape ``(S, R)``, who would be assigned if a null label list had the other meaning
    field: IntArray  #: shape ``(N,)``, index of the field of every tag
    position: IntArray  #: shape ``(N,)``, index of every tag in the label list in the database
    label_ids: NDArray[np.uint8]  #: shape ``(N, 12)``, ids of the labels
    tag_names: Sequence[str]  #: name of every tag code


class TagFamily(LabelFamily[TagLabels, TagAgreement]):
    """Sets of tags; a tag that an annotator gave twice counts once."""

    def __init__(self, source: Source, known: ReportContext | None = None) -> None:
        self.source = source
        self.codes = ClassCodes(source.config.aliases, () if known is None else known.class_names)
        self._tag_names: list[str] = []

    # ---- reading ----

    def check(self) -> None:
        """Refuse labels that cannot be compared."""
        check_labels(self.source)

    def projection(self) -> dict[str, Any]:
        """Class and annotator of every label."""
        config = self.source.config
        columns = {"label": "label"}
        if config.annotator_attribute is not None:
            columns["annotator"] = config.annotator_attribute
        projection: dict[str, Any] = {
            f"{name}{field}": of_each_label(path, {"$ifNull": [f"$$this.{attribute}", None]})
            for field, path in enumerate(self.source.label_paths)
            for name, attribute in columns.items()
        }
        if config.assigned_field is not None:
            projection["assigned"] = f"${config.assigned_field}"
        return projection

    def load(self, row: dict[str, Any]) -> int:
        """Number of labels."""
        return sum(len(row[f"id{field}"] or ()) for field in range(len(self.source.kinds)))

    def read(self, rows: list[dict[str, Any]], samples: list[StoredSample]) -> LabelsRead[TagLabels]:
        """The tags of query results."""
        parts = []
        for k in range(len(self.source.kinds)):
            ids, given, part = listed_labels(self.source, rows, samples, k)
            # what is no class stays as it is
            named = [NO_LABEL if name is None else value_name(name) if is_class(name) else name for name in given]
            parts.append({**part, "tag": codes_of(self.codes, named), "label_id": id_bytes(ids)})
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        is_label, is_unknown = columns.pop("is_label"), columns["annotator"] == UNKNOWN
        invalid, unknown = columns["sample"][~is_label], columns["sample"][is_label & is_unknown]
        if len(invalid) and self.source.config.invalid == "error":
            affected = sorted(samples[k].title for k in np.unique(invalid).tolist())
            raise unusable_labels_error([LABEL_REQUIREMENT], len(invalid), affected)
        known = is_label & (columns["annotator"] >= 0)
        columns = {name: column[known] for name, column in columns.items()}
        sample, annotator = columns["sample"], columns["annotator"]
        assignment = assigned_annotators(self.source, rows, samples, (sample, annotator))
        drew = np.zeros_like(assignment.assigned)
        drew[sample, annotator] = True
        if len(self._tag_names) != self.codes.n_codes:
            self._tag_names = self.codes.names()  # a new list, because batches that are being written use the old one
        labels = TagLabels(
            sample,
            annotator,
            columns["tag"],
            assignment.assigned,
            assignment.otherwise,
            columns["field"],
            columns["position"],
            columns["label_id"],
            self._tag_names,
        )
        of_unknown = unknown[:0] if self.source.config.annotators else unknown
        n_invalid, n_unknown = (np.bincount(each, minlength=len(rows)) for each in (invalid, of_unknown))
        return LabelsRead(labels, n_invalid, n_unknown, assignment.n_added, drew)

    # ---- comparing ----

    def compute(self, labels: TagLabels) -> TagAgreement:
        """Score the samples, and judge their tags."""
        return compute_tags(labels.sample, labels.annotator, labels.tag, labels.assigned)

    def record(self, labels: TagLabels, result: TagAgreement) -> TagRecords:
        """The records of a batch."""
        records, again = record_tags(result, labels.otherwise), np.setdiff1d(np.arange(len(labels.tag)), result.label)
        again = again[np.argsort(labels.sample[again], kind="stable")]
        columns = (labels.sample[again], labels.annotator[again], labels.tag[again], labels.label_ids[again])
        uncounted = uncounted_columns(*columns, len(labels.assigned))
        part = {**records.parts[0], "label_id": labels.label_ids[result.label], **uncounted}
        return dataclasses.replace(records, parts=(part,))

    def context(self, run: RunFacts) -> ReportContext:
        """The context of the report."""
        return report_context(self.source, run, self.codes.names())

    def code_names(self) -> CodeNames:
        """The classes that were read so far."""
        return CodeNames(self.codes.looked_up())

    # ---- writing ----

    def values(self, labels: TagLabels, agreement: TagAgreement) -> list[dict[str, Any]]:
        """The values of every sample by path; undefined ones are None on labels and left out on samples.

        Of the labels of a tag that an annotator gave more than once the first has them; those of the others are None.
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
        verdicts, votes = verdict_names(agreement.verdict[of_label]).tolist(), agreement.votes[of_label].tolist()
        at = [
            f"{paths[field]}.{position}.{run_key}"
            for field, position in zip(labels.field.tolist(), labels.position.tolist(), strict=True)
        ]
        for label, (sample, is_counted) in enumerate(zip(labels.sample.tolist(), counts.tolist(), strict=True)):
            values = (verdicts[label], votes[label], int(n_annotators[sample])) if is_counted else (None, None, None)
            updates[sample] |= {
                at[label] + ending: value for ending, value in zip(("", "_votes", "_of"), values, strict=True)
            }
        asked = (labels.assigned & (n_annotators <= MOST_NAMED)[:, None])[agreement.unit_sample]
        missed = who_left_out(asked, of_label, labels.annotator).of_rows(of_label).where(counts)
        for label, named in missed.names(self.source.annotators).items():
            updates[labels.sample[label]][at[label] + MISSED_BY] = named
        return updates
