"""Measure the human convergence of a run: its labels are read again, batch by batch, as detections of each other."""

from __future__ import annotations

import dataclasses

import fiftyone.core.utils as fou
import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.convergence.convergence import Convergence, Measured, convergence_of
from ...agreement.convergence.measured import N_AREAS, Directed, Ordered, PairCounts
from ...agreement.settings.arguments import takes_arrays
from ...agreement.settings.errors import AgreementInputError, did_you_mean, shown
from ...agreement.settings.options import OPTIONS
from ...metrics.numeric.arrays import FloatArray
from ..families.objects import ObjectFamily, ObjectLabels
from ..labels.assignment import EMPTY_LIST, LABELS
from ..labels.source import Source, comparable_fields, values_found
from ..record.run_labels import RunLabels, open_run_labels
from ..record.sample_index import SampleIndex, keys_of
from ..run.read import ReadBatch, Reader, read_ahead
from ..run.work_through import Progress, rare_collections, return_memory

#: the attribute by which detections of a model are ordered
_CONFIDENCE = "confidence"


@takes_arrays
def agreement_convergence(
    samples: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    model: str | None = None,
    resamples: int | None = None,
    progress: Progress = None,
) -> Convergence:
    """Label convergence: mean average precision of annotators against each other.

    The labels of one annotator are taken as detections of those of another, measured as COCO measures detectors, and
    averaged over all ordered pairs of annotators. The labels are read as they are now.

    Args:
        samples: the dataset, or a view to measure only its samples
        run_key: key of the run
        model: a field with predictions and their ``confidence``, or their value of the annotator attribute, of which
            average precision against every annotator is reported
        resamples: number of resamples for the intervals; None for the number in the run, 0 for no intervals
        progress: whether to show a progress bar, or a callback

    Raises:
        AgreementInputError: if there is no such run, it did not complete, its labels are not of objects, the view has
            no sample of it, or the model's field has other labels, or none on an image of an annotator
    """
    labels = open_run_labels(samples, run_key)
    if labels.kinds[0].geometry is None:
        raise AgreementInputError(
            f"Label convergence needs labels of objects, such as boxes, got {labels.title} in the run {run_key!r}; "
            "its agreement is in the report"
        )
    config = labels.config
    resamples = config.resamples if resamples is None else OPTIONS["resamples"].checked(resamples)
    source = _source(labels, samples, model)
    with rare_collections():
        measured = _measured(source, progress, n_annotators=len(labels.annotators))
    return_memory()
    measure, seed = labels.kinds[0].measure_of(config), config.seed
    return convergence_of(measured, run_key=run_key, measure=measure, model=model, resamples=resamples, seed=seed)


def _source(labels: RunLabels, view: SampleCollection, model: str | None) -> Source:
    """The samples of a view that the run compared, with a model as one more annotator.

    Raises:
        AgreementInputError: if the view has none, or the model's field cannot be used
    """
    index = labels.run.index()
    kept = index.select(index.among(keys_of(view, on_frames=labels.on_frames)))
    if not len(kept):
        raise AgreementInputError(f"`view` must have samples of the run {labels.run_key!r}, got none among {len(view)}")
    among = tuple(map(ObjectId, dict.fromkeys(kept.ids())))
    source = dataclasses.replace(labels.source(), among=among)
    if model is None:
        return source
    config = dataclasses.replace(source.config, attributes=(_CONFIDENCE,))
    values = [*values_found(labels.source())] if config.attribute_mode else []
    others = [value for value in values if value not in (*source.annotators, *source.annotator_values)]
    source = dataclasses.replace(source, config=config, annotators=(*source.annotators, model))
    if model in others:
        return dataclasses.replace(source, annotator_values=(*source.annotator_values, model))
    fields = {name: each for name, each in comparable_fields(labels.dataset).items()
              if each.comparable == labels.kinds[0].comparable and name not in config.fields}  # fmt: skip
    if model not in fields:
        what = f", or a value of {config.annotator_attribute!r}" * config.attribute_mode
        raise AgreementInputError(
            f"`model` must be a field with predictions that can be compared with {labels.title}{what}, got {model!r}"
            f"{did_you_mean(model, [*fields, *others])}; such fields are {shown(fields) or '(none)'}"
            + f"; such values are {shown(others) or '(none)'}"
            * config.attribute_mode
        )
    owners = source.field_annotator or (-1,)
    return dataclasses.replace(
        source,
        config=dataclasses.replace(config, fields=(*config.fields, model)),
        kinds=(*source.kinds, fields[model]),
        field_annotator=(*owners, len(labels.annotators)),
    )


def _measured(source: Source, progress: Progress, *, n_annotators: int) -> Measured:
    """Read and match all labels."""
    family = ObjectFamily(source)
    reader = Reader(family)
    in_pixels = any(each.needs_size(source.config) for each in family.source.geometry_readers)
    with_model = len(source.annotators) > n_annotators
    of_attribute = len(source.annotator_values) > n_annotators  # the model is a value of it
    index, counts, n_samples, has_areas = SampleIndex(), [], 0, True
    ordered: list[Ordered] = []
    of_model: list[Ordered] = []
    n_labels = np.zeros((N_AREAS, 0), np.int64)
    with fou.ProgressBar(total=source.count(), progress=progress) as bar:
        for rows in read_ahead(reader.batches()):
            read = reader.columns(rows)
            batch, start = read.labels.batch, len(index)
            index.add(read.samples)
            if with_model:
                if not (of_attribute and source.config.assigned_field):  # which says where it is, as of a role
                    least = LABELS if of_attribute else EMPTY_LIST
                    batch.assigned[:, n_annotators] = read.lists[:, n_annotators] >= least
                of = Directed.of(
                    *(batch, source.config),
                    in_pixels=in_pixels, score=_confidence(read.labels), model=n_annotators,
                )  # fmt: skip
                of_model.append(_ordered(of, read, _confidence(read.labels), start))
                batch = batch.among(batch.objects.annotator < n_annotators)
                batch = dataclasses.replace(batch, assigned=batch.assigned[:, :n_annotators])
            of = Directed.of(batch, source.config, in_pixels=in_pixels)
            n_samples += int((batch.assigned.sum(axis=1) >= 2).sum())
            has_areas &= of.has_areas
            found = PairCounts.of(of, n_annotators)
            counts.append(dataclasses.replace(found, sample=found.sample + start))
            ordered.append(_ordered(of, read, np.zeros(len(batch.objects)), start))
            more = of.n_labels(family.codes.n_codes)
            n_labels = np.pad(n_labels, ((0, 0), (0, more.shape[1] - n_labels.shape[1]))) + more
            bar.update(len(read.samples))
    clusters = index.clusters()
    return Measured(
        source.annotators[:n_annotators],
        family.codes.names(),
        counts,
        n_labels,
        ordered,
        of_model if with_model else None,
        np.unique(index.keys() if clusters is None else clusters, return_inverse=True)[1].ravel(),
        n_samples,
        has_areas,
    )


def _confidence(labels: ObjectLabels) -> FloatArray:
    """The confidence of every label, 0 where it has none."""
    (codes,), (numbers,) = labels.batch.attributes, labels.batch.attribute_numbers
    return np.nan_to_num(numbers[codes], nan=0.0)


def _ordered(of: Directed, read: ReadBatch[ObjectLabels], score: FloatArray, start: int) -> Ordered:
    ids = np.array([sample.sample_id.binary for sample in read.samples], "S12")
    return Ordered(dataclasses.replace(of, sample=of.sample + start), score[of.label], ids[of.sample])
