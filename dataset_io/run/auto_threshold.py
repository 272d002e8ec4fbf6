"""``iou="auto"``: the matching threshold from the data, found in some samples before a run."""

from __future__ import annotations

import dataclasses
import logging
import math

import numpy as np
from bson import ObjectId

from ...agreement.objects.batch import Batch
from ...agreement.objects.threshold_sample import MAX_SAMPLES, ThresholdSample
from ..families.objects import ObjectFamily
from ..labels.source import Source
from .read import Reader
from .stored import sample_keys

logger = logging.getLogger(__name__)

#: the threshold where the data suggest none
WITHOUT_CROSSING = 0.5

_SAMPLES_AT_ONCE = 200


def with_iou_from_data(family: ObjectFamily) -> ObjectFamily:
    """The family with the threshold that its labels suggest, rounded to two decimals.

    At most 2,000 samples (or frames) are read, those whose ids have the smallest hashes: the same ones whatever the
    order of the samples.
    """
    source = family.source
    # a family of its own, because a family numbers the classes in the order in which it reads them
    reader = Reader(ObjectFamily(source))
    sample = ThresholdSample()
    ids = _some_ids(source)
    for start in range(0, len(ids), _SAMPLES_AT_ONCE):
        rows = reader.again(ids[start : start + _SAMPLES_AT_ONCE])
        batch = _without_crowd(reader.columns(rows).labels.batch)
        overlaps = batch.geometry.overlaps(batch.objects)
        sample += ThresholdSample.of(batch, overlaps, source.config.similarity)
        if sample.is_full:
            break
    found = sample.threshold(source.config.similarity, source.config.seed)
    iou = round(found.threshold, 2) if not math.isnan(found.threshold) else WITHOUT_CROSSING
    if found.reason:
        logger.warning("The labels suggest no matching threshold (%s); %s is used", found.reason, WITHOUT_CROSSING)
    config = dataclasses.replace(source.config, iou=max(iou, 0.01))
    return ObjectFamily(dataclasses.replace(source, config=config))


def _some_ids(source: Source) -> list[ObjectId]:
    ids = list({row["_id"]: None for row in source.aggregate([{"$project": {"_id": True}}])})
    order = np.argsort(sample_keys(ids), kind="stable")[:MAX_SAMPLES]
    return [ids[k] for k in order.tolist()]


def _without_crowd(batch: Batch) -> Batch:
    return batch if batch.crowd is None else batch.among(~batch.crowd)
