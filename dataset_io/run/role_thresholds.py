"""Find the confidence from which on the labels of a model agree best with those of the annotators."""

from __future__ import annotations

import dataclasses

import numpy as np

from ...agreement.matching.compute import matching_of, without_crowd
from ...agreement.objects.sensitivity import MAX_SAMPLES
from ...agreement.roles.matching import Meetings, optimal, with_role
from ...agreement.settings.errors import AgreementInputError
from ...agreement.settings.options import BEST_F1
from ...agreement.statistics.numbers import ratio
from ..families import open_family
from ..families.with_roles import FamilyWithRoles
from ..labels.source import Source
from ..labels.stored import half_of
from .read import Reader, some_ids

#: confidences that are tried
CANDIDATES = np.arange(20) / 20.0
_SAMPLES_AT_ONCE = 200


def with_thresholds(source: Source) -> Source:
    """The source with the thresholds of its models, if the option is ``"best_f1"``.

    Either half of the images gets the candidate with the greatest F1 on the other half (the lowest of equals); all
    annotators together, matched as in the run. Reads at most 2,000 samples, those with the smallest hashes of their
    ids.
    """
    if source.config.confidence_threshold != BEST_F1 or not any(role.is_model for role in source.roles):
        return source
    family = open_family(source)
    if not isinstance(family, FamilyWithRoles) or not family.has_objects:
        raise AgreementInputError(
            f"`confidence_threshold` must be a number for {source.kinds[0].title}, got {BEST_F1!r}: F1 needs objects"
        )
    reader = Reader(family)
    ids = some_ids(source, MAX_SAMPLES)
    counts = np.zeros((len(source.roles), 2, len(CANDIDATES), 2))
    starts = range(0, len(ids), _SAMPLES_AT_ONCE)
    rows = (row for start in starts for row in reader.again(ids[start : start + _SAMPLES_AT_ONCE]))
    for some in reader.batched(rows):
        read = reader.columns(some)
        labels, half = read.labels, half_of(read.samples)
        found = np.zeros((len(family.readers), 2, len(CANDIDATES), 2))
        own, (_, _, counted) = labels.own.batch, without_crowd(labels.own.batch)
        for number, of_role in enumerate(labels.roles):
            if not family.readers[number].role.is_model:
                continue
            everyone, chosen, _ = with_role(own, counted, of_role.batch, family.class_codes())
            meetings = Meetings.with_role(everyone, chosen)
            batch, confidence = meetings.batch, np.r_[np.full(len(own.objects), np.inf), of_role.confidence]
            overlaps, sure = batch.geometry.overlaps(batch.objects), confidence[meetings.row]
            of_half = half[meetings.sample[batch.objects.sample]]
            for place, least in enumerate(CANDIDATES.tolist()):
                kept = sure >= least
                matching = matching_of(batch.among(kept).objects, overlaps.among(kept), optimal(family.source.config))
                n = np.bincount(of_half[kept], minlength=2)
                _, first = np.unique(matching.unit, return_index=True)
                found[number, :, place, 0] = n - np.bincount(of_half[kept][first], minlength=2)
                found[number, :, place, 1] = n
        counts += found
    best = CANDIDATES[np.argmax(np.nan_to_num(ratio(2.0 * counts[..., 0], counts[..., 1])), axis=-1)]
    roles = [
        dataclasses.replace(role, thresholds=tuple(best[k, ::-1].tolist())) if role.is_model else role
        for k, role in enumerate(source.roles)
    ]
    return dataclasses.replace(source, roles=tuple(roles))
