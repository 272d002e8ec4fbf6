"""Many small random data sets whose pooled alpha is known exactly in the limit of many samples."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotator_agreement.agreement.matching.batch import Batch
from annotator_agreement.metrics import Objects
from annotator_agreement.metrics.geometry.boxes import Boxes

N_ANNOTATORS = 3
MISSING = 0
#: share of every class among true objects; codes from 1
PREVALENCE = (0.55, 0.3, 0.15)
#: columns and rows of places that do not overlap; the true objects of a sample stand in different ones
_COLUMNS, _ROWS = 8, 6


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of samples: how many there are, how many true objects they have, how often one is missed or misnamed."""

    share: float
    n_objects: tuple[int, int]
    miss: float
    wrong: float


#: easy and difficult samples, so that errors come in clusters
KINDS = (Kind(0.7, (1, 7), 0.02, 0.02), Kind(0.3, (3, 15), 0.20, 0.12))


def draw(n_samples: int, rng: np.random.Generator) -> Batch:
    """Labels of samples of both kinds."""
    kind = rng.choice(len(KINDS), n_samples, p=[entry.share for entry in KINDS])
    low, high = np.array([entry.n_objects for entry in KINDS])[kind].T
    n_objects = rng.integers(low, high, endpoint=True)
    sample = np.repeat(np.arange(n_samples), n_objects)
    place = np.arange(len(sample)) - np.repeat(np.cumsum(n_objects) - n_objects, n_objects)
    true = rng.choice(np.arange(1, len(PREVALENCE) + 1), len(sample), p=PREVALENCE)
    said = np.column_stack([_said(true, kind[sample], rng) for _ in range(N_ANNOTATORS)])
    row, annotator = np.nonzero(said != MISSING)
    order = np.lexsort((annotator, sample[row]))
    row, annotator = row[order], annotator[order]
    objects = Objects(sample[row], annotator, said[row, annotator])
    boxes = Boxes(_boxes(place[row], rng))
    return Batch(objects, boxes, np.ones((n_samples, N_ANNOTATORS), np.bool_))


def _said(true: NDArray[np.int64], kind: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """The class that one annotator gives to every true object; ``MISSING`` if not drawn."""
    miss, wrong = np.array([(entry.miss, entry.wrong) for entry in KINDS])[kind].T
    other = (true - 1 + rng.integers(1, len(PREVALENCE), len(true))) % len(PREVALENCE) + 1
    said = np.where(rng.random(len(true)) < wrong, other, true)
    return np.where(rng.random(len(true)) < miss, MISSING, said)


def _boxes(place: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    corner = np.column_stack([place % _COLUMNS / _COLUMNS, place // _COLUMNS / _ROWS])
    side = np.array([0.8 / _COLUMNS, 0.7 / _ROWS])
    low = corner + 0.1 * side + rng.uniform(-0.04, 0.04, corner.shape) * side
    return np.hstack([low, low + side])


def limit_of_alpha() -> float:
    """The pooled alpha of infinitely many samples: expected disagreement and categories of a sample, by enumeration.

    Every true object is ``N_ANNOTATORS`` independent ratings given the kind of its sample; objects that nobody drew are
    no units.
    """
    categories = range(len(PREVALENCE) + 1)
    observed, counts = 0.0, np.zeros(len(categories))
    for kind in KINDS:
        objects = kind.share * np.mean(np.arange(kind.n_objects[0], kind.n_objects[1] + 1))
        for true, share in enumerate(PREVALENCE, start=1):
            chance = [_chance(kind, true, category) for category in categories]
            for ratings in itertools.product(categories, repeat=N_ANNOTATORS):
                if any(ratings):
                    weight = objects * share * np.prod([chance[rating] for rating in ratings])
                    differing = sum(a != b for a, b in itertools.permutations(ratings, 2))
                    observed += weight * differing / (N_ANNOTATORS - 1)
                    counts += weight * np.bincount(ratings, minlength=len(categories))
    total = counts.sum()
    return float(1.0 - (observed / total) / (1.0 - ((counts / total) ** 2).sum()))


def _chance(kind: Kind, true: int, category: int) -> float:
    if category == MISSING:
        return kind.miss
    named = 1.0 - kind.wrong if category == true else kind.wrong / (len(PREVALENCE) - 1)
    return (1.0 - kind.miss) * named
