"""The samples on which two annotators disagree, sorted by the score of the pair, from the records of a run."""

from __future__ import annotations

import numpy as np

from ...agreement.matching.compute import Agreement
from ...agreement.objects.records import ObjectRecords
from ...agreement.settings.errors import AgreementInputError
from ...metrics.numeric.arrays import FloatArray, IntArray, sums_by
from ..database.fiftyone_private import sample_collection
from ..record.run_labels import RunLabels

#: maximum number of samples that are sorted by pair; more would take seconds
MAX_SAMPLES = 10_000


def ids_by_pair_score(labels: RunLabels, pair: tuple[str, ...]) -> list[str] | None:
    """Ids of the samples on which two annotators disagreed about an object, the lowest score of this pair first.

    Ties are sorted by id; videos by the mean over their frames. Later changes of labels do not matter.

    Args:
        labels: the labels of the run
        pair: the two annotators

    Returns:
        the ids; None if the run has no records of objects, or the dataset has more than ``MAX_SAMPLES``
    """
    dataset = labels.dataset
    n_samples = sample_collection(dataset).count_documents({}, limit=MAX_SAMPLES + 1)
    if not labels.family.has_objects or n_samples > MAX_SAMPLES:
        return None
    try:
        loaded = labels.run.records()
    except AgreementInputError:  # records of an older version
        return None
    if not isinstance(loaded.records, ObjectRecords):
        return None
    a, b = sorted(labels.annotators.index(name) for name in pair)
    parts = [_of_pair(agreement, a, b) for agreement in loaded.records.agreements(loaded.context.config)]
    score, n_disagreeing = (np.concatenate(column) for column in zip(*parts, strict=True))
    number = loaded.index.numbers()
    n = int(number.max(initial=-1)) + 1
    scored = ~np.isnan(score)
    n_scored = np.bincount(number[scored], minlength=n)
    mean = sums_by(number[scored], score[scored], n) / np.maximum(n_scored, 1)
    disagree = np.flatnonzero(sums_by(number, n_disagreeing, n) > 0)
    ids = np.empty(n, object)
    ids[number] = loaded.index.ids()
    chosen: list[str] = ids[disagree[np.argsort(mean[disagree], kind="stable")]].tolist()
    return chosen


def _of_pair(agreement: Agreement, a: int, b: int) -> tuple[FloatArray, IntArray]:
    """Score of two annotators on every sample (nan where undefined), and number of labels on which they disagree."""
    shared, objects, pairs = agreement.sample_pairs, agreement.objects, agreement.pairs
    rows = np.flatnonzero((shared.a == a) & (shared.b == b))
    i, j = pairs.i[pairs.same_class], pairs.j[pairs.same_class]
    of_pair = (objects.annotator[i] == a) & (objects.annotator[j] == b)
    n_agreeing = np.bincount(objects.sample[i[of_pair]], minlength=agreement.n_samples)
    score = np.full(agreement.n_samples, np.nan)
    score[shared.sample[rows]] = agreement.pair_score[rows]
    n_labels = np.zeros(agreement.n_samples, np.int64)
    n_labels[shared.sample[rows]] = shared.n_a[rows] + shared.n_b[rows]
    return score, np.where(n_labels > 0, n_labels - 2 * n_agreeing, 0)
