"""Tags: a list of classes by every annotator on every sample, written tag by tag."""

from __future__ import annotations

import dataclasses
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from bson import ObjectId
from numpy.typing import NDArray

from ...agreement.disputes.costs import pair_costs
from ...agreement.matching.relations import MOST_NAMED, who_left_out
from ...agreement.matching.verdicts import verdict_names
from ...agreement.settings.options import value_name
from ...agreement.statistics.codes import NO_LABEL, ClassCodes, CodeNames
from ...agreement.statistics.records import uncounted_columns
from ...agreement.statistics.report import ReportContext, RunFacts
from ...agreement.tags.compute import TagAgreement, TagBatch, TagRecords, compute_tags, first_labels, record_tags
from ...metrics.numeric.arrays import BoolArray, IntArray
from ...names import MISSED_BY
from ..labels.assignment import NOT_NAMED, UNKNOWN, annotators_of, assigned_annotators
from ..labels.checks import LABEL_REQUIREMENT, are_labels, check_labels, codes_of, is_class, unusable_labels_error
from ..labels.object_columns import label_positions
from ..labels.source import Source
from ..labels.stored import StoredSample, id_bytes, of_each_label
from .protocol import LabelFamily, LabelsRead, report_context, values_by_path, where_rated


@dataclass(frozen=True, slots=True)
class TagLabels:
    """Tags of some samples, and the position of every label in the database."""

    batch: TagBatch  #: the ``N`` tags
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
        parts = [self._field_columns(rows, samples, field) for field in range(len(self.source.kinds))]
        columns = (np.concatenate(column) for column in zip(*parts, strict=True))
        sample, annotator, tag, field, position, label_ids = columns
        n_unknown = np.zeros(len(rows), np.int64)
        if (annotator == UNKNOWN).any() and not self.source.config.annotators:
            n_unknown = np.bincount(sample[annotator == UNKNOWN], minlength=len(rows))
        n_invalid = np.bincount(sample[annotator == NOT_NAMED], minlength=len(rows))
        if n_invalid.any() and self.source.config.invalid == "error":
            affected = sorted(samples[k].title for k in np.flatnonzero(n_invalid).tolist())
            raise unusable_labels_error([LABEL_REQUIREMENT], int(n_invalid.sum()), affected)
        known = annotator >= 0
        sample, annotator, tag = sample[known], annotator[known], tag[known]
        assignment = assigned_annotators(self.source, rows, samples, (sample, annotator))
        drew = np.zeros_like(assignment.assigned)
        drew[sample, annotator] = True
        if len(self._tag_names) != self.codes.n_codes:
            self._tag_names = self.codes.names()  # a new list, because batches that are being written use the old one
        batch = TagBatch(sample, annotator, tag, assignment.assigned, assignment.otherwise)
        labels = TagLabels(batch, field[known], position[known], label_ids[known], self._tag_names)
        return LabelsRead(labels, n_invalid, n_unknown, assignment.n_added, drew)

    def _field_columns(
        self, rows: list[dict[str, Any]], samples: list[StoredSample], field: int
    ) -> tuple[NDArray[Any], ...]:
        """Sample, annotator (``NOT_NAMED`` of no label), tag, field, position and id of the labels of a field."""
        ids: list[Sequence[ObjectId]] = [row[f"id{field}"] or () for row in rows]
        counts = np.array([len(entry) for entry in ids], np.int64)
        n = int(counts.sum())

        def values(name: str) -> list[Any]:
            return list(chain.from_iterable(row[f"{name}{field}"] or () for row in rows))

        given = values("label")
        named = [value_name(name) if is_class(name) and name is not None else name for name in given]
        tag = codes_of(self.codes, [NO_LABEL if name is None else name for name in named])
        annotator = annotators_of(self.source, field, n, values)
        label_ids = list(chain.from_iterable(ids))
        annotator = np.where(are_labels(label_ids, given), annotator, NOT_NAMED)
        sample = np.repeat(np.arange(len(rows)), counts)
        position = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
        if self.source.is_view:
            position = label_positions(ids, [stored.label_ids[field] for stored in samples])
        return sample, annotator, tag, np.full(n, field), position, id_bytes(label_ids)

    def without(self, labels: TagLabels, kept: BoolArray) -> TagLabels:
        """The tags of some of the samples."""
        rows = kept[labels.batch.sample]
        columns = (labels.field[rows], labels.position[rows], labels.label_ids[rows])
        return TagLabels(labels.batch.select(kept), *columns, labels.tag_names)

    # ---- comparing ----

    def compute(self, labels: TagLabels) -> TagAgreement:
        """Score the samples, and judge their tags."""
        return compute_tags(labels.batch)

    def record(self, labels: TagLabels, result: TagAgreement) -> TagRecords:
        """The records of a batch."""
        records, batch = record_tags(result, len(self.source.annotators)), labels.batch
        again = np.flatnonzero(~counted_labels(batch))
        again = again[np.argsort(batch.sample[again], kind="stable")]
        columns = (batch.sample[again], batch.annotator[again], batch.tag[again], labels.label_ids[again])
        uncounted = uncounted_columns(*columns, len(batch.assigned))
        part = {**records.parts[0], "label_id": labels.label_ids[first_labels(batch)], **uncounted}
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
        updates = self._sample_values(labels, agreement)
        tags, row, counts = agreement.tags, agreement.of_label, counted_labels(labels.batch)
        columns = zip(
            labels.batch.sample.tolist(),
            labels.field.tolist(),
            labels.position.tolist(),
            verdict_names(tags.verdict[row]).tolist(),
            tags.votes[row].tolist(),
            agreement.n_annotators[labels.batch.sample].tolist(),
            counts.tolist(),
            strict=True,
        )
        paths, run_key = self.source.label_paths, self.source.config.run_key
        for sample, field, position, verdict, votes, assigned, is_counted in columns:
            values, path = updates[sample], f"{paths[field]}.{position}.{run_key}"
            values[path] = verdict if is_counted else None
            values[path + "_votes"] = votes if is_counted else None
            values[path + "_of"] = assigned if is_counted else None
        asked = labels.batch.assigned[tags.sample] & (agreement.n_annotators <= MOST_NAMED)[tags.sample, None]
        missed = who_left_out(asked, row, labels.batch.annotator).of_rows(row).where(counts)
        for label, named in missed.names(self.source.annotators).items():
            path = f"{paths[labels.field[label]]}.{labels.position[label]}.{run_key}{MISSED_BY}"
            updates[labels.batch.sample[label]][path] = named
        return updates

    def _sample_values(self, labels: TagLabels, agreement: TagAgreement) -> list[dict[str, Any]]:
        rated, tags = agreement.rated, agreement.tags
        majority: list[list[str] | None] = [[] if is_rated else None for is_rated in rated.tolist()]
        of_majority = 2 * tags.votes > agreement.n_annotators[tags.sample]
        for sample, tag in zip(tags.sample[of_majority].tolist(), tags.tag[of_majority].tolist(), strict=True):
            of_sample = majority[sample]
            if of_sample is not None:
                insort(of_sample, labels.tag_names[tag])
        columns = {
            "score": where_rated(rated, agreement.score),
            "cost": where_rated(rated, pair_costs(agreement.score, agreement.n_annotators)),
            "disputed": where_rated(rated, agreement.score < 1.0),
            "majority": majority,
            "n_annotators": agreement.n_annotators.tolist(),
        }
        return values_by_path(self.source.config.run_key, columns)


def counted_labels(batch: TagBatch) -> BoolArray:
    """True for labels that count, shape ``(N,)``: the first with its tag by its annotator."""
    counts = np.zeros(len(batch.tag), np.bool_)
    counts[first_labels(batch)] = True
    return counts
