"""The headline numbers of a report on objects as functions of sums over samples."""

from __future__ import annotations

import numpy as np

from ....metrics.arrays import FloatArray, IntArray, sums_by
from ....metrics.bootstrap.draws import SparseColumns, hstack, vstack
from ....metrics.geometry.objects import dice_from_iou
from ...classes import MISSING
from ...config import Undefined
from ...numbers import Numbers, ratio
from ..chunk import Chunk
from ..compute import Ratings
from ..findings import Findings
from .tallies import TallySums, of_used_categories, tally_columns

#: quotients of two of the plain columns, by the number's name
_RATIOS = {
    "score.mean": ("score", "n_scored"),
    "alpha.mean": ("alpha", "n_alpha"),
    "existence.f1": ("twice_matched", "n_a_and_b"),
    "existence.jaccard": ("n_matched", "n_drawn_by_either"),
    "existence.share_present": ("n_drew", "n_assigned"),
    "localisation.mean_iou": ("iou", "n_matched_pairs"),
    "localisation.mean_dice": ("dice", "n_matched_pairs"),
    "localisation.visibility": ("visibility", "n_visible_pairs"),
}
_PLAIN = tuple(dict.fromkeys(column for ratio in _RATIOS.values() for column in ratio))

#: coefficients of the same ratings, as ``TallySums`` names them, by the numbers' names
_OF_JOINT = {
    "alpha.pooled": "alpha",
    "alpha.percent_agreement": "percent_agreement",
    "coefficients.ac1": "ac1",
    "coefficients.brennan_prediger": "brennan_prediger",
    "coefficients.fleiss_kappa": "fleiss_kappa",
}
_OF_GIVEN_MATCH = {
    "class_given_match.alpha": "alpha",
    "class_given_match.percent_agreement": "percent_agreement",
    "class_given_match.coefficients.ac1": "ac1",
    "class_given_match.coefficients.brennan_prediger": "brennan_prediger",
    "class_given_match.coefficients.fleiss_kappa": "fleiss_kappa",
}
_OF_PRESENCE = {
    f"existence.presence.{name}": name
    for name in ("alpha", "percent_agreement", "ac1", "brennan_prediger", "fleiss_kappa")
}

#: names of all headline numbers
HEADLINE = (*_RATIOS, *_OF_JOINT, *_OF_GIVEN_MATCH, *_OF_PRESENCE)


class HeadlineColumns:
    """Collects the columns of the headline numbers."""

    def __init__(self, n_categories: int, undefined: Undefined) -> None:
        self._n_categories = n_categories
        self._undefined = undefined
        self._plain: list[FloatArray] = []
        self._joint: list[SparseColumns] = []
        self._given_match: list[SparseColumns] = []
        self._presence: list[SparseColumns] = []

    def add(self, chunk: Chunk) -> None:
        """Add the findings of the next samples."""
        findings, ratings = chunk.findings, chunk.ratings
        matched = _of_matched(ratings)
        n_samples = findings.n_samples
        self._plain.append(_plain_columns(chunk))
        self._joint.append(tally_columns(ratings, n_samples, self._n_categories))
        self._given_match.append(tally_columns(matched, n_samples, self._n_categories))
        self._presence.append(tally_columns(_presence(findings), n_samples, 2))

    def sums(self) -> list[Numbers]:
        """The headline numbers."""
        blocks = [hstack([np.concatenate(self._plain)])]
        blocks += [of_used_categories(vstack(chunks)) for chunks in (self._joint, self._given_match, self._presence)]
        ends = np.cumsum([block.shape[1] for block in blocks])[:-1]
        undefined = self._undefined

        def statistic(sums: FloatArray) -> FloatArray:
            plain, *tallies = np.split(sums, ends, axis=-1)
            joint, given_match, presence = (TallySums(tally) for tally in tallies)
            column = dict(zip(_PLAIN, np.moveaxis(plain, -1, 0), strict=True))
            values = [ratio(column[above], column[below]) for above, below in _RATIOS.values()]
            for names, found in (
                (_OF_JOINT, joint.coefficients(undefined)),
                (_OF_GIVEN_MATCH, given_match.coefficients(undefined)),
                (_OF_PRESENCE, presence.coefficients(undefined, n_categories=2)),
            ):
                values += [found[name] for name in names.values()]
            return np.stack(values, axis=-1)

        return [Numbers(tuple((name,) for name in HEADLINE), hstack(blocks), statistic)]


def _plain_columns(chunk: Chunk) -> FloatArray:
    """The columns of the quotients, shape ``(S, C)``."""
    findings, of_match = chunk.findings, chunk.match_sample
    n_samples, pairs, shared = findings.n_samples, findings.pairs, findings.sample_pairs
    n_matched = np.bincount(of_match, minlength=n_samples).astype(np.float64)
    n_a_and_b = sums_by(shared.sample, shared.n_a + shared.n_b, n_samples)
    visibility = findings.visibility
    columns = {
        "score": np.nan_to_num(findings.score),
        "n_scored": ~np.isnan(findings.score),
        "alpha": np.nan_to_num(findings.alpha),
        "n_alpha": ~np.isnan(findings.alpha),
        "n_matched": n_matched,
        "twice_matched": 2.0 * n_matched,
        "n_a_and_b": n_a_and_b,
        "n_drawn_by_either": n_a_and_b - n_matched,
        "n_drew": _n_drew(findings),
        "n_assigned": np.where(findings.rated, findings.n_assigned, 0),
        "iou": sums_by(of_match, pairs.iou, n_samples),
        "dice": sums_by(of_match, dice_from_iou(pairs.iou), n_samples),
        "n_matched_pairs": n_matched,
        "visibility": np.zeros(n_samples) if visibility is None else sums_by(of_match, visibility, n_samples),
        "n_visible_pairs": np.zeros(n_samples) if visibility is None else n_matched,
    }
    return np.column_stack([columns[name] for name in _PLAIN]).astype(np.float64)


def _of_matched(ratings: Ratings) -> Ratings:
    """The ratings without missing objects."""
    given = ratings.category != MISSING
    return Ratings(ratings.unit[given], ratings.category[given], ratings.count[given], ratings.sample)


def _presence(findings: Findings) -> Ratings:
    """Every rated sample as a unit, and whether its annotators drew anything as their ratings: 1 or 0."""
    n_drew = _n_drew(findings)
    n_not = np.where(findings.rated, findings.n_assigned - n_drew, 0)
    unit = np.tile(np.arange(findings.n_samples), 2)
    count = np.concatenate([n_not, n_drew])
    given = count > 0
    category = np.repeat([0, 1], findings.n_samples)
    return Ratings(unit[given], category[given], count[given], np.arange(findings.n_samples))


def _n_drew(findings: Findings) -> IntArray:
    """How many annotators drew something on every rated sample, shape ``(S,)``."""
    drew = np.zeros(findings.assigned.shape, np.bool_)
    drew[findings.objects.sample, findings.objects.annotator] = True
    return np.where(findings.rated, drew.sum(axis=1), 0)
