"""Records of a run with a model: the last of simulated annotators takes its place."""

from __future__ import annotations

import dataclasses

import numpy as np

from tests.agreement.habits import CLASSES, Simulated

from annotator_agreement.agreement import AgreementConfig
from annotator_agreement.agreement.matching import Batch, compute_agreement_of
from annotator_agreement.agreement.objects import ObjectRecords, record, sample_contents
from annotator_agreement.agreement.roles import role_columns, role_reports
from annotator_agreement.agreement.statistics import PersonComparison, ReportContext, RunFacts, uncounted_columns
from annotator_agreement.metrics import Objects


def of_annotators(batch: Batch, annotators: list[int]) -> Batch:
    """The batch of some annotators, with numbers from 0."""
    number = np.full(batch.assigned.shape[1], -1)
    number[annotators] = np.arange(len(annotators))
    objects, annotator = batch.objects, number[batch.objects.annotator]
    rows = np.lexsort((annotator, objects.sample))
    rows = rows[annotator[rows] >= 0]
    kept = Objects(objects.sample[rows], annotator[rows], objects.category[rows])
    assigned = batch.assigned[:, annotators]
    return dataclasses.replace(batch, objects=kept, geometry=batch.geometry.take(rows), assigned=assigned)


def with_model(batch: Batch, config: AgreementConfig) -> ObjectRecords:
    """The records of a batch whose last annotator is the model."""
    n = batch.assigned.shape[1] - 1
    counted = batch.objects.annotator < n
    rows, columns = role_columns(batch, n, counted, config)
    assert len(rows) == (~counted).sum()
    geometry, objects = batch.geometry.take(rows), batch.objects
    more = {"area": geometry.area.astype(np.float32), "boxes": geometry.boxes_xyxy().astype(np.float32)}
    of_model = objects.sample[rows], objects.annotator[rows], objects.category[rows]
    columns |= uncounted_columns(*of_model, batch.n_samples, **more)
    records = record(compute_agreement_of(batch.of_first(n), config))
    return dataclasses.replace(records, parts=({**records.parts[0], **columns},))


def context_of(simulated: Simulated, config: AgreementConfig) -> ReportContext:
    """The context of such a run."""
    return ReportContext(
        config,
        simulated.names[:-1],
        CLASSES,
        ["Detections"],
        RunFacts(),
        details={"roles": [{"name": simulated.names[-1], "is_model": True}]},
    )


def person_of(batch: Batch, context: ReportContext) -> PersonComparison | None:
    """The comparison of the model with the annotators left out."""
    reports = role_reports(with_model(batch, context.config), context, sample_contents)
    return reports[0].person
