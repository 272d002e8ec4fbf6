"""Findings: tests of annotators, pairs, classes and sizes against others on the same images; confused classes.

Findings are selected at a false discovery rate. The share of two confused classes in all class conflicts is compared
with chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ...metrics.numeric.rate_tests import N_COLUMNS, ROUNDING, RateMoments, false_discoveries, rate_tests
from .ranking import MIN_IMAGES, MIN_LABELS, in_order, natural_key

Column: TypeAlias = FloatArray | IntArray
#: of every row the group ``(T,)``, the sample ``(T,)``, and count and denominator, own and of the others ``(4, T)``; or
#: these and the labels of the others ``(5, T)``, see :func:`on_equal_images`
Effects: TypeAlias = tuple[IntArray, IntArray, FloatArray]

#: most classes, or tags, that are tested one by one
_MOST_TESTED = 200
#: expected share of wrong findings among all findings, at most
FALSE_DISCOVERY_RATE = 0.05
#: a smaller difference to the others is no finding: two percentage points; one per cent of the size of a box
MARGIN, MARGIN_OF_BOXES = 0.02, 0.01


@dataclass(frozen=True, slots=True)
class Finding:
    """A rate that differs, by a test, from that of the others on the same images.

    ``kind`` names what was counted, see :data:`KINDS`, for these ``annotators``, ``classes`` and ``size``. ``value`` is
    the rate, ``others`` that of the others, ``difference`` is ``value - others``, with an interval from ``low`` to
    ``high``. At most 5 % of the intervals of findings are expected to miss the true difference, although findings are
    selected (false coverage rate: the level is ``1 - 0.05 findings / n_tested``; Benjamini and Yekutieli 2005).
    ``p_value`` is the two-sided one of the null hypothesis that the difference is at most 2 percentage points (1 % of
    the size of a box), with images as independent draws. Findings are those hypotheses, of all with 20 labels and 10
    images or more, that are rejected at a false discovery rate of 5 % (Benjamini and Hochberg).
    """

    kind: str
    annotators: list[str]
    classes: list[str]
    size: str | None
    value: float
    others: float
    difference: float
    low: float
    high: float
    p_value: float
    n_labels: int
    n_images: int


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of hypothesis: the event that is counted, and the rate that it is compared with."""

    name: str
    meaning: str  #: what is counted, among what, and what it is compared with
    two_sided: bool = False  #: whether a lower rate is a finding too
    margin: float = MARGIN
    of_others: bool = True  #: whether the rate is compared with others; else with an expected rate
    by_image: bool = False  #: whether images are counted, not labels
    of_median: bool = False  #: whether the others are the median annotator
    is_share: bool = True  #: whether the rate is a share (of the scale, of the labels), from 0 to 1
    #: what the first and the second code of a group are: ``annotator``, ``class``, ``size``
    subjects: tuple[str, ...] = ("annotator",)


#: all kinds of findings; the code of a kind is its position
KINDS = (
    Kind("misses", "objects of two others that an annotator missed, against the other annotators"),
    Kind("misses_size", "the same of objects of one size", subjects=("annotator", "size")),
    Kind("misses_class", "the same of objects of one class", subjects=("annotator", "class")),
    Kind("lone", "labels of an annotator that nobody else drew, against the other annotators"),
    Kind("conflicts", "labels of an annotator with another class than the other label of the object, against pairs of "
         "others, on images of three annotators or more"),
    Kind("loose", "1 - IoU of matched labels of an annotator, against pairs of others, on images of three annotators "
         "or more"),
    Kind("twice", "labels of an annotator that draw an object again, against the other annotators"),
    Kind("box_size", "side of the boxes relative to the mean box of the others who drew the object, against the median "
         "annotator (of two, to the median box, against the other)",
         True, MARGIN_OF_BOXES, of_median=True, is_share=False),
    Kind("box_right", "centre of the boxes to the right of that of the mean box of the others, in widths, against the "
         "median annotator (of two, of the median box, against the other)",
         True, MARGIN_OF_BOXES, of_median=True, is_share=False),
    Kind("box_down", "centre of the boxes below that of the mean box of the others, in heights, against the median "
         "annotator (of two, of the median box, against the other)",
         True, MARGIN_OF_BOXES, of_median=True, is_share=False),
    Kind("class_missed", "annotators who missed objects of a class, against the other classes", subjects=("class",)),
    Kind("class_conflicts", "labels of a class that met another class, against the other classes", subjects=("class",)),
    Kind("confused", "share of all conflicts that are between two classes, against the share if conflicts fell on all "
         "other classes evenly, or as often as these occur, whichever is larger", of_others=False,
         subjects=("class", "class")),
    Kind("size_missed", "annotators who missed objects of a size, against the other sizes", subjects=("size",)),
    Kind("close", "score of a pair, against the other pairs of either, whichever is closer, on images of three "
         "annotators or more",
         subjects=("annotator", "annotator")),
    Kind("class_used", "ratings (tagged images) of an annotator with a class (tag), minus the share of the others on "
         "the same image, against the median annotator (of two, the other)", True, of_median=True,
         subjects=("annotator", "class")),
    Kind("rates", "ratings of an annotator as shares of the scale from the lowest to the highest, minus the mean of "
         "the others on the same image, against the median annotator (of two, the other)", True, of_median=True),
    Kind("class_confused", "conflicts in which a class is one of the two among all conflicts, against chance as of two "
         "classes", of_others=False, subjects=("class",)),
    Kind("class_area", "area that an annotator gives a class, minus the mean of the others on the image, as a share of "
         "the mean of all, against the median annotator (of two, the other)", True, by_image=True, of_median=True,
         is_share=False, subjects=("annotator", "class")),
    Kind("class_loose", "1 - IoU of a class, against the other classes on the same images", by_image=True,
         subjects=("class",)),
)  # fmt: skip
CODES = {kind.name: code for code, kind in enumerate(KINDS)}
#: a group is one number: its kind, second code and first code, 20 bits each
_WIDTH = 20
#: kinds on classes and sizes that are split by annotator, to see whether one annotator accounts for the difference
_OF_CLASSES = ("class_missed", "class_conflicts", "size_missed")


def effect_groups(kind: str, first: IntArray | int, second: IntArray | int = 0) -> IntArray:
    """Numbers of the groups of a kind, from the codes of their subjects (annotators, classes, sizes)."""
    packed: IntArray = (np.asarray(CODES[kind], np.int64) << 2 * _WIDTH) | (np.asarray(second, np.int64) << _WIDTH)
    return packed | np.asarray(first, np.int64)


def kind_mask(group: IntArray, kind: str) -> BoolArray:
    """True for groups of a kind."""
    found: BoolArray = group >> 2 * _WIDTH == CODES[kind]
    return found


def group_subjects(group: IntArray) -> tuple[IntArray, IntArray]:
    """The first and the second code of groups."""
    return group & ((1 << _WIDTH) - 1), (group >> _WIDTH) & ((1 << _WIDTH) - 1)


#: the group of all conflicts of classes
ALL_CONFLICTS = int(effect_groups("confused", 0, 0))


def part_groups(kind: str, subject: IntArray | int, annotator: IntArray) -> IntArray:
    """Groups of the counts that an annotator adds to a class, or size; they are not tested, see :func:`findings_of`."""
    return effect_groups(kind, subject, annotator + 1)


def on_equal_images(columns: Sequence[Column], times: Column) -> FloatArray:
    """Columns of annotators against the others, in which an image weighs as much for the others as for the annotator.

    Without this, images of many annotators would weigh more for the others than for any of them, so that all would
    differ from the others where they err alike. Images without a comparison of the others are left out.

    Args:
        columns: own count and denominator, and those of the others, on every image; four of shape ``(...)``
        times: how often the others have the comparisons of one of them: their number; for the ``(n - 1)(n - 2) / 2``
            pairs of others, against ``n - 1`` own ones, ``(n - 2) / 2``

    Returns:
        shape ``(5, ...)``, for :class:`~.hypotheses.EffectRows`
    """
    kept = np.asarray(times) > 0
    table = np.stack([np.where(kept, each, 0.0) for each in (*columns, columns[-1])])
    table[2:4] /= np.where(kept, times, 1.0)
    return table


def minus_others(values: FloatArray | BoolArray, given: BoolArray) -> FloatArray:
    """Values of annotators minus the mean of the others on the image, ``(S, R)``; 0 without a value or without others.

    Args:
        values: shape ``(S, R)``
        given: shape ``(S, R)``, whether there is a value
    """
    kept = np.where(given, values, 0.0)
    n_others = given.sum(axis=1, keepdims=True) - given
    mean = (kept.sum(axis=1, keepdims=True) - kept) / np.maximum(n_others, 1)
    deviations: FloatArray = np.where(given & (n_others > 0), kept - mean, 0.0)
    return deviations


class EffectRows:
    """Sums over images of the counts of all groups.

    Args:
        clusters: shape ``(S,)``, video or group of every sample, which counts as one image; None: every sample is
            an image
    """

    def __init__(self, clusters: IntArray | None = None) -> None:
        self._clusters = None if clusters is None else np.unique(clusters, return_inverse=True)[1]
        self._n_samples = 0
        self._moments: list[RateMoments] = []
        self._rows: list[Effects] = []

    def add(self, effects: Iterable[Effects], n_samples: int) -> None:
        """Add the rows of the next samples.

        Args:
            effects: rows, each (group, sample) at most once
            n_samples: number of new samples
        """
        for group, sample, columns in effects:
            if len(columns) == N_COLUMNS:
                columns = np.concatenate([columns, columns[-1:]])
            kept = np.flatnonzero(columns.any(axis=0))
            group, sample, columns = group[kept], sample[kept], columns[:, kept]
            if self._clusters is None:
                self._moments.append(RateMoments.of(group, columns))
            else:
                self._rows.append((group, self._clusters[self._n_samples + sample], columns))
        if self._clusters is None:
            self._moments = [RateMoments.added(self._moments)]
        elif self._rows:
            self._rows = [_summed(self._rows)]
        self._n_samples += n_samples

    def add_table(
        self,
        kind: str,
        first: Sequence[int] | IntArray,
        columns: FloatArray | Sequence[Column | BoolArray],
        second: int = 0,
    ) -> None:
        """Add groups that have a row for every sample.

        Args:
            kind: see :data:`KINDS`
            first: shape ``(G,)``, first codes of the groups, ascending
            columns: own count and denominator, and those of the others; shape ``(S, G)`` each; or what
                :func:`on_equal_images` gives
            second: second code of the groups
        """
        table = np.stack([np.asarray(column, np.float64) for column in columns])
        group = effect_groups(kind, np.asarray(first, np.int64), second)
        self._moments.append(RateMoments.of_table(group, table, self._clusters))

    def add_deviations(self, kind: str, values: FloatArray | BoolArray, given: BoolArray, second: int = 0) -> None:
        """Add values of annotators minus the mean of the others on the image; of two, the first against the second.

        Args:
            kind: see :data:`KINDS`
            values: shape ``(S, R)``
            given: shape ``(S, R)``, whether there is a value
            second: second code of the groups
        """
        n = given.sum(axis=1, keepdims=True)
        if given.shape[1] == 2:
            first, other = np.split(np.where(n == 2, values, 0.0), 2, axis=1)
            self.add_table(kind, [0], (first, n == 2, other, n == 2), second)
        else:
            own, compared = minus_others(values, given), given & (n > 1)
            self.add_table(kind, range(given.shape[1]), (own, compared, *np.zeros((2, *own.shape))), second)

    def moments(self) -> RateMoments:
        """The sums over all images."""
        found = list(self._moments)
        if self._rows:
            group, cluster, columns = _summed(self._rows)
            # the denominator of a video is all its conflicts, not only those of frames on which the two classes met
            of_all, confused = group == ALL_CONFLICTS, kind_mask(group, "confused")
            n_conflicts = sums_by(cluster[of_all], columns[1, of_all], int(cluster.max(initial=-1)) + 1)
            columns[1, confused] = n_conflicts[cluster[confused]]
            found.append(RateMoments.of(group, columns))
        return RateMoments.added(found)


def _summed(parts: Sequence[Effects]) -> Effects:
    """The rows of every group and cluster, added up."""
    group, cluster = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    order = np.lexsort((cluster, group))
    group, cluster = group[order], cluster[order]
    first = np.flatnonzero(np.r_[True, (np.diff(group) != 0) | (np.diff(cluster) != 0)][: len(group)])
    columns = np.concatenate([part[2] for part in parts], axis=1)[:, order]
    summed = np.add.reduceat(columns, first, axis=1) if len(first) else columns
    return group[first], cluster[first], summed


def often_given(n_labels: FloatArray | IntArray, n_images: IntArray) -> list[int]:
    """Codes of classes with enough labels on enough images, from both numbers ``(K,)``; at most 200, by frequency."""
    enough = np.flatnonzero((n_labels >= MIN_LABELS) & (n_images >= MIN_IMAGES))
    chosen: list[int] = enough[np.argsort(-n_labels[enough], kind="stable")][:_MOST_TESTED].tolist()
    return chosen


def findings_of(
    moments: RateMoments,
    annotators: Sequence[str],
    classes: Sequence[str],
    sizes: Sequence[str] = (),
    *,
    expected: Mapping[int, float] | None = None,
    n_labels: Mapping[int, int] | None = None,
) -> dict[str, Any]:
    """Fields of a report: ``findings``, the greatest difference first, and ``n_tested``, the number of hypotheses.

    A difference of a class or size for which a single annotator accounts is left out: it is found with the annotator.

    Args:
        moments: sums over images of all groups, and of what every annotator adds to some (:func:`part_groups`)
        annotators: their names
        classes: name of every class code
        sizes: names of sizes
        expected: the rate to compare a group with, for groups that are compared with no others
        n_labels: number of labels of the groups of pairs of annotators, whose denominator counts images
    """
    moments, of_one = _due_to_one(moments)
    code = moments.group >> 2 * _WIDTH
    first, second = group_subjects(moments.group)
    known = np.array([(expected or {}).get(group, np.nan) for group in moments.group.tolist()])
    error_of_known = np.zeros(len(known))
    margin, two_sided, of_others, by_image, of_median, is_share = (
        np.array([getattr(kind, name) for kind in KINDS])[code]
        for name in ("margin", "two_sided", "of_others", "by_image", "of_median", "is_share")
    )
    if len(annotators) > 2:
        moments = _compare_with_median_annotator(moments, of_median, known, error_of_known)
    # the smallest and the largest possible difference: of shares -1 and 1, or what an expected share leaves
    chance = np.where(of_others | np.isnan(known), np.nan, known)
    lowest = np.where(is_share, np.where(np.isnan(chance), -1.0, -chance), -np.inf)
    highest = np.where(is_share, np.where(np.isnan(chance), 1.0, 1.0 - chance), np.inf)
    tested = (known, margin, error_of_known, (lowest, highest))
    found = rate_tests(moments, *tested)
    whole = np.where(by_image, moments.n, moments.sums[:, 1])
    if n_labels:
        whole = np.array([n_labels.get(group, n) for group, n in zip(moments.group.tolist(), whole, strict=True)])
    enough = (moments.n >= MIN_IMAGES) & (whole >= MIN_LABELS)
    enough &= (moments.n_others >= MIN_LABELS) | ~np.isnan(known) | by_image
    # also of kinds of which only more is a finding: so their intervals, which are two-sided, lie above the margin
    p_values = np.where(two_sided, found.p_different, np.minimum(1.0, 2.0 * found.p_greater))
    p_values = np.where(enough, np.where(of_one, 1.0, p_values), np.nan)
    # a pair is close only if it is so for both annotators: the larger p-value counts, in the row of the first one
    pairs = np.flatnonzero(code == CODES["close"]).tolist()
    place = {(int(first[row]), int(second[row])): row for row in pairs}
    for (a, b), row in place.items():
        if (b, a) not in place:
            p_values[row] = np.nan
        elif a < b:
            p_values[row] = np.maximum(p_values[row], p_values[place[b, a]])
            p_values[place[b, a]] = np.nan
    rows, n_tested = np.flatnonzero(false_discoveries(p_values, FALSE_DISCOVERY_RATE)), np.sum(~np.isnan(p_values))
    # intervals of findings alone (Benjamini and Yekutieli 2005): 5 % of these, not of all intervals, may be wrong
    level = 1.0 - FALSE_DISCOVERY_RATE * max(len(rows), 1) / max(int(n_tested), 1)
    found = rate_tests(moments, *tested, level)
    names = {"annotator": annotators, "class": classes, "size": sizes}
    entries = []
    for row in rows.tolist():
        kind = KINDS[code[row]]
        subjects: dict[str, list[str]] = {"annotator": [], "class": [], "size": []}
        for of, number in zip(kind.subjects, (first[row], second[row]), strict=False):
            subjects[of] = sorted([*subjects[of], names[of][number]], key=natural_key)
        entries.append(
            Finding(
                kind.name,
                subjects["annotator"],
                subjects["class"],
                subjects["size"][0] if subjects["size"] else None,
                value=float(found.rate[row]),
                others=float(found.others[row]),
                difference=float(found.difference[row]),
                low=float(found.low[row]),
                high=float(found.high[row]),
                p_value=float(p_values[row]),
                n_labels=int(whole[row]),
                n_images=int(moments.n[row]),
            )
        )
    return {"findings": sorted(entries, key=_order), "n_tested": int(n_tested)}


def _due_to_one(moments: RateMoments) -> tuple[RateMoments, BoolArray]:
    """The groups that are tested, and a mask of the classes and sizes among them whose difference to the others is more
    than halved without the labels of one annotator."""
    second = group_subjects(moments.group)[1]
    is_part = np.isin(moments.group >> 2 * _WIDTH, [CODES[name] for name in _OF_CLASSES]) & (second > 0)
    tested = moments.only(~is_part)
    whole = np.searchsorted(tested.group, moments.group[is_part] - (second[is_part] << _WIDTH))
    with np.errstate(divide="ignore", invalid="ignore"):
        without, with_it = (
            own / n - count / n_others
            for own, n, count, n_others in ((tested.sums[whole] - moments.sums[is_part]).T, tested.sums[whole].T)
        )
    due = ~(without >= with_it / 2)
    of_one = np.zeros(len(tested.group), np.bool_)
    of_one[whole[due]] = True
    return tested, of_one


def _compare_with_median_annotator(
    moments: RateMoments, of_median: BoolArray, known: FloatArray, error_of_known: FloatArray
) -> RateMoments:
    """Write the rate of the median annotator, to compare with: one annotator moves it less than the mean.

    Rates are deviations from the mean of the others on the image. Who deviates moves that mean for all others: with a
    share ``s`` of all values, the others deviate to the other side by ``s / (1 - s)`` of it, the median annotator too.
    The difference to the median annotator would be ``1 / (1 - s)`` of the deviation, so both are multiplied by
    ``1 - s``. Where everybody is on every image, this gives deviations from the mean of all.

    The rate of the median annotator is estimated, too. Of ``R`` annotators with equal errors, the difference to it has
    ``R / (R - 1)`` times the error of one annotator. Annotators with larger errors count less.

    Args:
        moments: sums over images of all groups
        of_median: shape ``(G,)``, the groups whose others are the median annotator
        known: shape ``(G,)``, where the rates of the median annotator are written
        error_of_known: shape ``(G,)``, where their standard errors are written

    Returns:
        the moments with these multiplied deviations
    """
    among = np.flatnonzero(of_median)
    _, place = np.unique(moments.group[among] >> _WIDTH, return_inverse=True)
    n_values, share_of_others = moments.sums[among, 1], np.ones(len(known))
    n_of_all = sums_by(place, n_values, int(place.max(initial=-1)) + 1)[place]
    share_of_others[among] = 1.0 - n_values / np.where(n_of_all > 0, n_of_all, 1.0)
    chosen = np.flatnonzero(of_median & (moments.n >= MIN_IMAGES))
    own = rate_tests(moments, np.zeros(len(known)))
    _, place = np.unique(moments.group[chosen] >> _WIDTH, return_inverse=True)
    for k in range(int(place.max(initial=-1)) + 1):
        rows = chosen[place == k]
        known[rows] = share_of_others[rows] * np.median(own.rate[rows])
        weights = 1.0 / np.maximum(own.error[rows], ROUNDING)
        error = np.sqrt(2 * len(rows) - 1) / np.maximum(weights.sum() - weights, ROUNDING)
        error_of_known[rows] = share_of_others[rows] * error
        if len(rows) == 1:
            error_of_known[rows] = 0.0
    return moments.times(share_of_others)


def _order(finding: Finding) -> tuple[object, ...]:
    """The greatest difference first; ties by name."""
    names = [list(map(natural_key, part)) for part in (finding.annotators, finding.classes)]
    return (-round(abs(finding.difference), 9), KINDS[CODES[finding.kind]].name, names, finding.size or "")


def by_subject(findings: Sequence[Finding], at_most: int) -> list[list[Finding]]:
    """Groups of findings of one annotator (pair, class or size), the group with the greatest difference first.

    Of findings on one topic (missed objects in all, of a size, of a class) the first is kept; or the one on all
    objects, if the first is not clearly greater. If there are more than ``at_most`` groups, those with the greatest
    difference on any topic come first, and every group has one finding.
    """
    groups: dict[tuple[str, ...], dict[str, Finding]] = {}
    for finding in findings:
        subject = (*finding.annotators,) or (*finding.classes, finding.size or "")
        topics = groups.setdefault(subject, {})
        first = topics.setdefault(_TOPICS.get(finding.kind, finding.kind), finding)
        if finding.kind == "misses" and finding.difference >= first.low:
            topics["misses"] = finding
    if len(groups) <= at_most:
        return [list(topics.values()) for topics in groups.values()]
    greatest: dict[str, tuple[tuple[str, ...], Finding]] = {}
    for subject, topics in groups.items():
        for topic, finding in topics.items():
            if topic not in greatest or _order(finding) < _order(greatest[topic][1]):
                greatest[topic] = (subject, finding)
    chosen: dict[tuple[str, ...], Finding] = {}
    for subject, finding in sorted(greatest.values(), key=lambda each: _order(each[1])):
        chosen.setdefault(subject, finding)
    for subject, topics in groups.items():
        chosen.setdefault(subject, next(iter(topics.values())))
    return [[finding] for finding in list(chosen.values())[:at_most]]


_TOPICS = {"misses_size": "misses", "misses_class": "misses", "box_right": "box_size", "box_down": "box_size"}


#: pairs of classes listed in a report
MAX_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class Confused:
    """Two classes that annotators gave to the same objects, or images, on 10 images (so 20 labels) or more.

    ``n`` pairs of labels have these classes, on ``n_images`` images. That is a ``share`` of all pairs of labels with
    different classes, with its 95 % interval from ``low`` to ``high``. ``by_chance`` is the share if conflicts fell on
    all other classes evenly, or as often as these occur, whichever is larger. ``is_clear`` if that the two are confused
    is among the findings of the report: of many pairs, some intervals are above chance by chance.
    """

    classes: list[str]
    n: int
    n_images: int
    share: float
    low: float
    high: float
    by_chance: float
    is_clear: bool = False


def conflict_rows(
    a: IntArray, b: IntArray, sample: IntArray, n_samples: int, times: IntArray | None = None
) -> tuple[IntArray, IntArray, FloatArray]:
    """Count the conflicts between every two classes on every image; the denominator is all conflicts there.

    Args:
        a: shape ``(Q,)``, class of one label of every pair with different classes
        b: shape ``(Q,)``, class of the other label
        sample: shape ``(Q,)``
        n_samples: number of samples
        times: shape ``(Q,)``, how many pairs every row stands for; None: one

    Returns:
        group ``(T,)``, sample ``(T,)`` and columns ``(4, T)``, for :class:`~.hypotheses.EffectRows`
    """
    times = np.ones(len(sample), np.int64) if times is None else times
    n_conflicts = sums_by(sample, times, n_samples)
    of_pair = effect_groups("confused", np.minimum(a, b), np.maximum(a, b))
    group, of_row = np.concatenate([of_pair, np.full(len(sample), ALL_CONFLICTS)]), np.tile(sample, 2)
    order = np.lexsort((of_row, group))
    group, of_row = group[order], of_row[order]
    first = np.flatnonzero(np.r_[True, (np.diff(group) != 0) | (np.diff(of_row) != 0)][: len(group)])
    n = np.add.reduceat(np.tile(times, 2)[order], first) if len(first) else first
    zero = np.zeros(len(first))
    return group[first], of_row[first], np.stack([n, n_conflicts[of_row[first]], zero, zero])


def findings_and_confusions(
    moments: RateMoments,
    annotators: Sequence[str],
    classes: Sequence[str],
    sizes: Sequence[str] = (),
    *,
    of_classes: IntArray,
    expected: Mapping[int, float] | None = None,
    n_labels: Mapping[int, int] | None = None,
) -> dict[str, Any]:
    """As :func:`~.hypotheses.findings_of`, and ``confused``: pairs of classes, that with the highest ``low`` first.

    Args:
        of_classes: shape ``(K,)``, labels of every class
    """
    is_all = moments.group == ALL_CONFLICTS
    row = np.flatnonzero(kind_mask(moments.group, "confused") & (moments.n >= MIN_IMAGES) & ~is_all)
    n_images, n = moments.n[row], moments.sums[row, 0].astype(np.int64)
    # the denominator of these pairs is all conflicts, also those of images where the two classes did not meet
    for column, place in ((moments.sums, 1), (moments.products, 4)):
        column[row, place] = column[is_all, place]
    moments.n[row] = moments.n[is_all]
    share = of_classes / max(of_classes.sum(), 1)
    a, b = group_subjects(moments.group[row])
    as_frequent = 2.0 * share[a] * share[b] / max(1.0 - (share**2).sum(), 1e-12)
    by_chance = np.maximum(as_frequent, (share[a] + share[b]) / max(np.count_nonzero(of_classes) - 1, 1))
    chance = dict(zip(moments.group[row].tolist(), by_chance.tolist(), strict=True))
    found = findings_of(moments, annotators, classes, sizes, expected={**(expected or {}), **chance}, n_labels=n_labels)

    tested = rate_tests(moments.only(row), by_chance, limits=(-by_chance, 1.0 - by_chance))
    both = [in_order([classes[first], classes[second]]) for first, second in zip(a.tolist(), b.tolist(), strict=True)]
    clear = [each.classes for each in found["findings"] if each.kind == "confused"]
    is_clear = np.array([each in clear for each in both], np.bool_)
    columns = (n, n_images, tested.rate, by_chance + tested.low, by_chance + tested.high, by_chance, is_clear)
    pairs = [Confused(*values) for values in zip(both, *(each.tolist() for each in columns), strict=True)]
    pairs.sort(key=lambda pair: (-round(pair.low, 9), [natural_key(name) for name in pair.classes]))
    return {**found, "confused": pairs[:MAX_LISTED]}
