"""Measure label convergence of a run: its labels are read again, as detections of one annotator by another."""

from __future__ import annotations

import dataclasses

import fiftyone.core.utils as fou
import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.objects.convergence import Convergence, Detections, convergence_of
from ...agreement.settings.arguments import takes_arrays
from ...agreement.settings.errors import AgreementInputError, did_you_mean, shown
from ...agreement.settings.options import OPTIONS
from ..families.objects import ObjectFamily
from ..labels.assignment import EMPTY_LIST, LABELS
from ..labels.source import Source, comparable_fields, values_found
from ..record.run_labels import RunLabels, open_run_labels
from ..record.sample_index import SampleIndex
from ..run.read import Progress, Reader, rare_collections, read_ahead, return_memory

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
    averaged over all ordered pairs of annotators. The labels are read as they are now, in the view of the run if it was
    computed on one.

    Args:
        samples: the dataset, or a view to measure only its samples
        run_key: key of the run
        model: a field with predictions and their ``confidence``, or their value of the annotator attribute, whose
            average precision against every annotator is reported
        resamples: number of resamples for the intervals; None for the number in the run, 0 for no intervals
        progress: whether to show a progress bar, or a callback

    Raises:
        AgreementInputError: if there is no such run, it did not complete, its labels are not of objects, the view has
            no sample of the run, or the model's field has other labels, or none on an image of an annotator
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
    n = len(labels.annotators)
    with rare_collections():
        of_annotators, of_model, index, n_samples, names = _read(source, progress, n_annotators=n)
    return_memory()
    clusters = index.clusters()
    return convergence_of(
        of_annotators,
        of_model,
        np.unique(index.keys() if clusters is None else clusters, return_inverse=True)[1].ravel(),
        annotators=source.annotators[:n],
        class_names=names,
        n_samples=n_samples,
        run_key=run_key,
        measure=labels.kinds[0].measure_of(config),
        model=model,
        resamples=resamples,
        seed=config.seed,
    )


def _source(labels: RunLabels, view: SampleCollection, model: str | None) -> Source:
    """The samples of a view that the run compared, in its own view, with a model as one more annotator.

    Raises:
        AgreementInputError: if the view has none, or the model's field cannot be used
    """
    index = labels.run.index()
    kept = index.select(index.among(view))
    if not len(kept):
        raise AgreementInputError(f"`view` must have samples of the run {labels.run_key!r}, got none among {len(view)}")
    among = tuple(map(ObjectId, dict.fromkeys(kept.ids())))
    of_run = labels.source_of_run()
    source = dataclasses.replace(of_run, among=among)
    if of_run.is_view and not source.count():
        raise AgreementInputError(
            f"The view that the run {labels.run_key!r} compared must still have its samples, got none of "
            f"{len(among):,}; compute the run again"
        )
    if model is None:
        return source
    config = dataclasses.replace(source.config, attributes=(_CONFIDENCE,))
    values = [*values_found(of_run)] if config.attribute_mode else []
    others = [value for value in values if value not in (*source.annotators, *source.annotator_values)]
    source = dataclasses.replace(source, config=config, annotators=(*source.annotators, model))
    if model in others:
        return dataclasses.replace(source, annotator_values=(*source.annotator_values, model))
    fields = {name: each for name, each in comparable_fields(of_run.samples).items()
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


def _read(
    source: Source, progress: Progress, *, n_annotators: int
) -> tuple[Detections, Detections | None, SampleIndex, int, list[str]]:
    """Detections of annotators, and of the model; the images, how many have two annotators, and the class names."""
    family = ObjectFamily(source)
    reader = Reader(family)
    in_pixels = any(each.needs_size(source.config) for each in family.source.geometry_readers)
    with_model = len(source.annotators) > n_annotators
    of_attribute = len(source.annotator_values) > n_annotators  # the model is a value of it
    indexes, n_samples, n_images = list[SampleIndex](), 0, list[int]()
    own, of_model = list[Detections](), list[Detections]()
    with fou.ProgressBar(total=source.count(), progress=progress) as bar:
        for rows in read_ahead(reader.batches()):
            read = reader.columns(rows)
            batch, ids = read.labels.batch, np.array([each.sample_id.binary for each in read.samples], "S12")
            indexes.append(read.index)
            n_images.append(len(read.samples))
            if with_model:
                if not (of_attribute and source.config.assigned_field):  # else the field lists its images
                    least = LABELS if of_attribute else EMPTY_LIST
                    batch.assigned[:, n_annotators] = read.index.columns["lists"][:, n_annotators] >= least
                (codes,), (numbers,) = read.labels.batch.attributes, read.labels.batch.attribute_numbers
                score = np.nan_to_num(numbers[codes], nan=0.0)
                of_model.append(
                    Detections.of(batch, ids, source.config, in_pixels=in_pixels, score=score, model=n_annotators)
                )
                batch = batch.among(batch.objects.annotator < n_annotators)
                batch = dataclasses.replace(batch, assigned=batch.assigned[:, :n_annotators])
            own.append(Detections.of(batch, ids, source.config, in_pixels=in_pixels))
            n_samples += int((batch.assigned.sum(axis=1) >= 2).sum())
            bar.update(len(read.samples))
    joined = [Detections.joined(parts, n_images) if parts else None for parts in (own, of_model)]
    assert joined[0] is not None  # a view without samples was refused
    columns = {name: np.concatenate([each.columns[name] for each in indexes]) for name in indexes[0].columns}
    return joined[0], joined[1], SampleIndex(columns), n_samples, family.codes.names()
