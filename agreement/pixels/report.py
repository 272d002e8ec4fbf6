"""Report on semantic masks: its dataclasses, its numbers, and how it is built from records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...metrics.alpha import alpha_of
from ...metrics.bootstrap.draws import hstack, sparse
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, sums_by
from ..evidence.hypotheses import (
    EffectRows,
    Effects,
    effect_groups,
    findings_of,
    kind_mask,
    minus_others,
    on_equal_images,
)
from ..settings.annotators import AnnotatorPairs
from ..settings.config import Undefined
from ..statistics.estimates import Fields, rated_only, report_estimates, report_of, sample_numbers
from ..statistics.image_alpha import ExpectedDistances, image_distances, pair_alpha
from ..statistics.main_numbers import PIXEL_NUMBERS, MainNumber
from ..statistics.numbers import GroupNumbers, Joined, Numbers, ratio, ratio_formula
from ..statistics.report import AgreementReport, AlphaSummary, OfOne, OfPair, ReportContext, mean_defined
from .compute import NUMBERS, SCORE, MaskValues, PixelAgreement, are_classes, kappa_of_areas
from .records import PixelRecords, mask_distances, sample_contents

#: number of listed classes; classes with the fewest pixels are left out
MAX_CLASSES = 1_000
#: maximum number of values with intervals (those with the most pixels)
MAX_VALUES = 200
#: maximum number of different values for intervals of alpha and of pairs
MAX_CATEGORIES = 5_000

#: numbers of every value, of all pairs together, as quotients of two columns
_OF_CLASSES, _CLASS_FORMULA, _ = ratio_formula(
    {
        "iou": ("shared", "of_either"),
        "dice": ("twice_shared", "of_both"),
        "mean_iou": ("class_iou", "n_samples"),
        "mean_dice": ("class_dice", "n_samples"),
    }
)
#: names of ``NUMBERS`` in the summaries of pairs
_NAMES = tuple("score" if name == "score" else f"mean.{name}" for name in NUMBERS)
#: numbers of pairs as quotients of two columns; the distance is that of the alpha of images
_OF_PAIRS, _PAIR_FORMULA, _ = ratio_formula(
    {name: (name, f"n_{name}") for name in _NAMES}
    | {"accuracy": ("agreed", "n_pixels"), "distance": ("distance", "n_images")}
)


@dataclass(frozen=True, slots=True)
class PixelNumbers:
    """Means over samples of the means over the pairs of annotators; None if undefined on all samples.

    ``iou`` and ``dice`` are means over the classes that at least one of two annotators used, without background;
    ``hd95`` is in pixels; the last three are None unless the run compared boundaries.
    """

    iou: float | None
    dice: float | None
    iou_with_background: float | None
    dice_with_background: float | None
    accuracy: float | None
    kappa: float | None
    boundary_iou: float | None
    surface_dice: float | None
    hd95: float | None


@dataclass(frozen=True, slots=True)
class MaskPairSummary(OfPair):
    """Agreement of two annotators on the samples with masks of both.

    ``score`` is the mean over samples; ``alpha``, ``accuracy`` and ``kappa`` (Cohen's) are over all pixels together.
    ``image_alpha`` is ``1 - (1 - score) / expected``, with the expected distance of the whole report for all pairs.
    """

    a: str
    b: str
    n_samples: int
    score: float | None
    alpha: float | None
    accuracy: float | None
    kappa: float | None
    mean: PixelNumbers
    image_alpha: float | None = None


@dataclass(frozen=True, slots=True)
class MaskClassSummary(OfOne):
    """Agreement on one class.

    ``iou`` and ``dice`` are over all pixels of all pairs of annotators together, ``mean_iou`` and ``mean_dice`` means
    over the ``n_samples`` samples in which anybody used it; ``n_pixels`` adds up the pixels of all annotators.
    """

    value: int
    name: str
    is_background: bool
    n_samples: int
    n_pixels: int
    iou: float | None
    dice: float | None
    mean_iou: float | None
    mean_dice: float | None

    @property
    def n_labels(self) -> int:
        """Number of samples with the class."""
        return self.n_samples


@dataclass(frozen=True, slots=True)
class MaskAnnotatorSummary(OfOne):
    """One annotator: ``score`` is the mean score with others; ``classes`` are shares of the annotator's pixels."""

    name: str
    n_assigned: int
    n_not_assigned: int
    n_pixels: int
    score: float | None
    classes: dict[str, float]

    @property
    def n_labels(self) -> int:
        """Number of samples that the annotator was assigned to."""
        return self.n_assigned


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PixelReport(AgreementReport):
    """Report on semantic masks: agreement on the class of every pixel.

    ``alpha.pooled`` and ``alpha.percent_agreement`` are over all pixels of rated samples; ``kappa`` is the mean of
    Cohen's kappa of the pairs. ``n_pixels`` were compared, ``n_ignored`` left out because somebody gave them an ignored
    value.
    """

    family: ClassVar[str] = "pixels"
    main_numbers: ClassVar[tuple[MainNumber, ...]] = PIXEL_NUMBERS

    n_empty: int
    n_disputed: int
    background: int | None
    is_rgb: bool
    n_pixels: int
    n_ignored: int
    ignored: float | None
    kappa: float | None
    mean: PixelNumbers
    n_classes: int
    classes: list[MaskClassSummary]
    pairs: list[MaskPairSummary]
    annotators: list[MaskAnnotatorSummary]


def pixel_numbers(
    records: PixelRecords,
    context: ReportContext,
    look: Callable[[PixelAgreement], None] | None = None,
    expected: ExpectedDistances | None = None,
) -> Iterator[Numbers]:
    """All numbers of rated samples.

    Args:
        look: is called with the agreement on every block of samples
        expected: distances of masks of different images; None: they are computed
    """
    expected = mask_distances(records, context) if expected is None else expected
    pairs_met, values = AnnotatorPairs.of(records.assigned), np.unique(records.column("values")).astype(np.int64)
    classes = np.arange(len(values))
    if len(values) > MAX_VALUES:
        n_pixels = areas_of_values(records, values)[0].sum(axis=1)
        classes = np.lexsort((values, -n_pixels))[:MAX_VALUES]
    pairs = pairs_met.chosen(context.annotators) if len(values) <= MAX_CATEGORIES else classes[:0]
    if not context.config.resamples:
        classes, pairs = classes[:0], pairs[:0]
    # images that everybody left empty count only in the alpha of images if they have no score
    is_empty = image_distances(records)[0] & np.isnan(records.column("score"))
    empty, joined, start = records.assigned & is_empty[:, None], Joined(context.config.resamples > 0), 0
    for agreement in records.agreements(MaskValues.from_dict(context.details).background, context.config):
        n_samples = len(agreement.n_pixels)
        joined.add(0, _headline(agreement, values, context.config.undefined), n_samples)
        joined.add(1, [_class_numbers(agreement, values, classes)], n_samples)
        own = empty[start : start + n_samples]
        joined.add(2, _pair_numbers(agreement, values, context, pairs_met, pairs, expected.mean, own), n_samples)
        if look is not None:
            look(agreement)
        start += n_samples
    yield sample_numbers(records)
    yield expected.numbers(records)
    yield from joined.numbers()


def headline_numbers(records: PixelRecords, context: ReportContext) -> Iterator[Numbers]:
    """The headline numbers that are functions of sums over any samples; the alpha of images is not."""
    values, joined = np.unique(records.column("values")).astype(np.int64), Joined(by_sample=True)
    for agreement in records.agreements(MaskValues.from_dict(context.details).background, context.config):
        joined.add(0, _headline(agreement, values, context.config.undefined), len(agreement.n_pixels))
    yield sample_numbers(records)
    yield from (each for each in joined.numbers() if each.by_sample)


def areas_of_values(records: PixelRecords, values: IntArray) -> tuple[IntArray, IntArray]:
    """Pixels of ``K`` values from every annotator ``(K, R)``, and compared pixels of every sample ``(S,)``."""
    areas, of_samples = np.zeros((len(values), records.n_annotators), np.int64), np.zeros(records.n_samples, np.int64)
    for sample, annotator, value, area in records.areas():
        np.add.at(areas, (np.searchsorted(values, value), annotator), area)
        np.add.at(of_samples, sample, area)
    return areas, of_samples // np.maximum(records.assigned.sum(axis=1), 1)


def _alpha(observed: FloatArray, counts: FloatArray, undefined: Undefined) -> FloatArray:
    """Alpha over pixels."""
    n = counts.sum(axis=-1)
    # avoids a difference of squares, which would be too large to be exact
    expected = (counts * (n[..., None] - counts)).sum(axis=-1)
    return alpha_of(observed, expected, n, undefined=undefined)


def _headline(agreement: PixelAgreement, values: IntArray, undefined: Undefined) -> Iterator[Numbers]:
    """Means over samples except the score, and pooled alpha over all pixels."""
    m, names = agreement.n_masks, (*_NAMES[1:], "alpha.mean")
    n, found = len(names), np.column_stack([agreement.numbers[:, 1:], agreement.alpha])
    observed = agreement.differing / np.maximum(m - 1, 1)
    differing = np.column_stack([observed / np.maximum(m, 1), agreement.n_pixels])

    def means(sums: FloatArray) -> FloatArray:
        agreed = 1.0 - ratio(sums[..., 2 * n], sums[..., 2 * n + 1])
        return np.concatenate([ratio(sums[..., :n], sums[..., n : 2 * n]), agreed[..., None]], axis=-1)

    keys = tuple((name,) for name in (*names, "alpha.percent_agreement"))
    yield Numbers(keys, hstack([np.hstack([np.nan_to_num(found), ~np.isnan(found), differing])]), means)
    place, n_pixels = np.searchsorted(values, agreement.values), agreement.area.sum(axis=1)
    of_values = sparse(agreement.sample, place, n_pixels, (len(m), len(values)))
    yield Numbers(
        (("alpha.pooled",),),
        hstack([observed[:, None], of_values]),
        lambda sums: _alpha(sums[..., 0], sums[..., 1:], undefined)[..., None],
        by_sample=len(values) <= MAX_CATEGORIES,
    )


def _class_numbers(agreement: PixelAgreement, values: IntArray, resampled: IntArray) -> GroupNumbers:
    """IoU and Dice of every value: over the pixels of all pairs, and means over the samples with it."""
    # every mask is in n - 1 pairs
    of_both = (agreement.n_masks[agreement.sample] - 1) * agreement.area.sum(axis=1)
    shared = agreement.class_shared
    columns = {
        "shared": shared,
        "of_either": of_both - shared,
        "twice_shared": 2 * shared,
        "of_both": of_both,
        "class_iou": agreement.class_iou,
        "class_dice": agreement.class_dice,
        "n_samples": np.ones(len(of_both)),
    }
    return GroupNumbers(
        table="classes",
        keys={k: ("classes", str(value)) for k, value in enumerate(values.tolist())},
        n_groups=len(values),
        names=("iou", "dice", "mean_iou", "mean_dice"),
        group=np.searchsorted(values, agreement.values),
        sample=agreement.sample,
        columns={name: columns[name] for name in _OF_CLASSES},
        formula=_CLASS_FORMULA,
        basis=np.full(4, _OF_CLASSES.index("n_samples")),
        resampled=resampled,
    )


def _pair_numbers(
    agreement: PixelAgreement,
    values: IntArray,
    context: ReportContext,
    pairs_met: AnnotatorPairs,
    resampled: IntArray,
    expected: float,
    empty: BoolArray,
) -> Iterator[Numbers | GroupNumbers]:
    """The numbers of pairs and annotators; one row for every pair and shared sample.

    Args:
        pairs_met: the pairs of annotators
        resampled: those with intervals
        expected: expected distance of masks of different images
        empty: shape ``(S, R)``, masks on images that are left out, as everybody left them empty
    """
    names, found, n_samples, sample = context.annotators, agreement.pair_numbers, len(empty), agreement.pair_sample
    n, undefined, of_value = len(names), context.config.undefined, agreement.shared_value
    place, score = np.searchsorted(values, agreement.values)[of_value], found[:, SCORE]
    columns = dict(zip(_NAMES, np.nan_to_num(found).T, strict=True))
    columns |= {f"n_{name}": column for name, column in zip(_NAMES, ~np.isnan(found).T, strict=True)}
    columns |= {"agreed": agreement.agreed, "n_pixels": agreement.n_pixels[sample], "n_shared": np.ones(len(sample))}
    columns |= {"distance": 1.0 - np.nan_to_num(score, nan=1.0), "n_images": ~np.isnan(score)}
    # images that are left out add only their distance 0
    left_out = np.flatnonzero(empty.any(axis=1))
    of_empty, *ends = np.nonzero(np.triu(empty[left_out, :, None] & empty[left_out, None, :], 1))
    columns = {name: np.r_[column, np.full(len(of_empty), name == "n_images")] for name, column in columns.items()}
    shape = len(sample) + len(of_empty), len(values)
    of_a, of_b = (
        sparse(agreement.shared_by, place, agreement.area[of_value, end[agreement.shared_by]], shape)
        for end in agreement.pair.T
    )
    of_both = of_a + of_b

    def formula(sums: FloatArray) -> FloatArray:
        quotients, of_pixels = _PAIR_FORMULA(sums), sums[..., len(_OF_PAIRS) + 1 :]
        agreed, n_pixels = (sums[..., _OF_PAIRS.index(name)] for name in ("agreed", "n_pixels"))
        alpha = _alpha(2.0 * (n_pixels - agreed), of_pixels, undefined)
        of_images = pair_alpha(quotients[..., -1], expected)
        return np.concatenate([quotients[..., :-1], alpha[..., None], of_images[..., None]], axis=-1)

    def kappa(sums: FloatArray) -> FloatArray:
        first, second, _ = np.split(sums[..., 2:], 3, axis=-1)
        by_chance = (first * (sums[..., :1] - second)).sum(axis=-1)
        return kappa_of_areas(sums[..., 0], sums[..., 1], by_chance)[..., None]

    every = {
        "keys": {pair: ("pairs", *both) for pair, both in enumerate(pairs_met.names(names))},
        "n_groups": len(pairs_met),
        "group": np.r_[pairs_met.rows(*agreement.pair.T), pairs_met.rows(*ends)],
        "sample": np.r_[sample, left_out[of_empty]],
    }
    yield GroupNumbers(
        **every,
        table="pairs",
        names=(*_NAMES, "accuracy", "alpha", "image_alpha"),
        columns={name: columns[name] for name in (*_OF_PAIRS, "n_shared")},
        formula=formula,
        basis=np.array([len(_OF_PAIRS)] * (len(_NAMES) + 2) + [_OF_PAIRS.index("n_images")]),
        resampled=resampled,
        categories=of_both,
    )
    yield GroupNumbers(
        **every,
        table="areas",
        names=("kappa",),
        columns={name: columns[name] for name in ("n_pixels", "agreed")},
        formula=kappa,
        basis=np.zeros(1, np.int64),
        resampled=np.empty(0, np.int64),
        categories=hstack([of_a, of_b, of_both]),
        n_blocks=3,
    )
    scored = np.tile(~np.isnan(score), 2)
    member, of_sample, scores = (
        each[scored] for each in (agreement.pair.T.ravel(), np.tile(sample, 2), np.tile(score, 2))
    )
    yield Numbers(
        tuple(("annotators", name, "score") for name in names),
        hstack([sparse(of_sample, member, each, (n_samples, n)) for each in (scores, np.ones(len(scores)))]),
        lambda sums: ratio(sums[..., :n], sums[..., n:]),
        basis=n + np.arange(n),
    )


def pixel_effects(agreement: PixelAgreement, values: IntArray, background: int | None) -> Iterator[Effects]:
    """Distances and areas on some samples by annotator and class, for tests of findings.

    Args:
        values: shape ``(K,)``, the values that occur, ascending
        background: value of the background; None if there is none
    """
    # annotators' distance from the others, against that of the others among themselves
    (n_samples, n), score = agreement.assigned.shape, agreement.pair_numbers[:, SCORE]
    scored = ~np.isnan(score)
    sample, apart = agreement.pair_sample[scored], 1.0 - score[scored]
    ends = (sample[:, None] * n + agreement.pair[scored]).T.ravel()
    own = sums_by(ends, np.tile(apart, 2), n_samples * n).reshape(n_samples, n)
    whole = np.bincount(ends, minlength=n_samples * n).reshape(n_samples, n)
    others = [sums_by(sample, each, n_samples)[:, None] for each in (apart, np.ones(len(sample)))]
    of_sample, annotator = np.nonzero(whole)
    # an annotator has a score with every other one, or with none
    every = [each[of_sample, annotator] for each in (own, whole, others[0] - own, others[1] - whole)]
    columns = on_equal_images(every, (every[1] - 1) / 2)
    yield effect_groups("loose", annotator), of_sample, columns
    # classes with low agreement
    drawn = are_classes(agreement.values, background)
    code, sample = np.searchsorted(values, agreement.values[drawn]), agreement.sample[drawn]
    apart = 1.0 - agreement.class_iou[drawn]
    one = np.ones(len(sample))
    others = [sums_by(sample, each, n_samples)[sample] - each for each in (apart, one)]
    yield effect_groups("class_loose", code), sample, np.stack([apart, one, *others])
    # area that annotators give to each class, against the others'
    assigned = agreement.assigned[sample]
    share = agreement.area[drawn] / np.maximum(agreement.n_pixels[sample], 1)[:, None]
    mean = np.where(assigned, share, 0.0).sum(axis=1) / np.maximum(assigned.sum(axis=1), 1)
    # of two annotators the difference between them, counted once
    of_annotators = share[:, :1] - share[:, 1:] if n == 2 else minus_others(share, assigned)
    row, annotator = np.nonzero(assigned[:, : of_annotators.shape[1]] & (mean > 0)[:, None])
    areas = np.zeros((4, len(row)))
    areas[:2] = of_annotators[row, annotator], mean[row]
    yield effect_groups("class_area", annotator, code[row]), sample[row], areas


def build_pixel_report(records: PixelRecords, context: ReportContext) -> PixelReport:
    """The report on semantic masks, from the records of samples.

    ``context.details`` has the entries of :meth:`MaskValues.to_dict`, and ``is_rgb`` (whether values are colours).
    """
    is_rgb, meaning = bool(context.details["is_rgb"]), MaskValues.from_dict(context.details)
    rated, of_rated = rated_only(records, context)
    every, n_values = rated.column("values").astype(np.int64), rated.column("n_values").astype(np.int64)
    values, n_of_values = np.unique(every, return_counts=True)
    areas, of_samples = areas_of_values(rated, values)
    names = [meaning.name(value, is_rgb=is_rgb) for value in values.tolist()]
    effects, expected, pair_scores = EffectRows(of_rated.clusters), mask_distances(rated, of_rated), list[FloatArray]()

    def look(agreement: PixelAgreement) -> None:
        effects.add(pixel_effects(agreement, values, meaning.background), len(agreement.n_pixels))
        pair_scores.append(agreement.pair_numbers[:, SCORE])

    numbers = pixel_numbers(rated, of_rated, look, expected)
    fields = Fields(report_estimates(numbers, lambda: sample_contents(rated, of_rated), rated, of_rated))
    of_report, pairs_met, moments = fields.of(), AnnotatorPairs.of(rated.assigned), effects.moments()
    pairs = []
    for (a, b), n in zip(pairs_met.names(context.annotators), pairs_met.n_shared.tolist(), strict=True):
        of_pair = fields.of("pairs", a, b)
        mean = PixelNumbers(**of_pair.pop("mean"))
        pairs.append(MaskPairSummary(a=a, b=b, n_samples=n, mean=mean, **of_pair))
    of_classes = areas.sum(axis=1)
    order = np.lexsort((values, -of_classes))[:MAX_CLASSES].tolist()  # most pixels first
    classes = [
        MaskClassSummary(
            value=int(values[k]),
            name=names[k],
            is_background=int(values[k]) == meaning.background,
            n_samples=int(n_of_values[k]),
            n_pixels=int(of_classes[k]),
            **fields.of("classes", str(values[k])),
        )
        for k in order
    ]
    annotators = []
    for r, (name, n) in enumerate(zip(context.annotators, records.assigned.sum(axis=0).tolist(), strict=True)):
        of_one = int(areas[:, r].sum())
        annotators.append(
            MaskAnnotatorSummary(
                name=name,
                n_assigned=n,
                n_not_assigned=records.n_samples - n,
                n_pixels=of_one,
                classes={names[k]: int(areas[k, r]) / of_one for k in order if areas[k, r]},
                **fields.of("annotators", name),
            )
        )
    # of two annotators, the difference between them is compared with 0
    of_areas = dict.fromkeys(moments.group[kind_mask(moments.group, "class_area")].tolist(), 0.0)
    alpha, n_pixels = rated.column("alpha"), int(of_samples.sum())
    n_ignored, n_units, n_disputed = (
        int(rated.column(name).sum(dtype=np.int64)) for name in ("n_ignored", "n_units", "n_disputed")
    )
    only_background = n_values == 1
    only_background[only_background] = every[(np.cumsum(n_values) - n_values)[only_background]] == meaning.background
    counted = ~only_background | (context.config.empty == "agree")
    undefined = {
        "one_annotator": records.n_samples - rated.n_samples,
        "no_pixels": int((of_samples == 0).sum()),
        "single_category": int((np.isnan(alpha) & (of_samples > 0)).sum()),
    }
    return report_of(
        PixelReport,
        fields,
        records,
        context,
        n_rated=rated.n_samples,
        n_units=n_units,
        n_objects=int(rated.assigned.sum()),
        n_empty=int(only_background.sum()),
        n_disputed=n_disputed,
        background=meaning.background,
        is_rgb=is_rgb,
        n_pixels=n_pixels,
        n_ignored=n_ignored,
        ignored=n_ignored / (n_pixels + n_ignored) if n_pixels + n_ignored else None,
        alpha=AlphaSummary(
            pooled=of_report["alpha"]["pooled"],
            mean=of_report["alpha"]["mean"],
            n_defined=int((~np.isnan(alpha)).sum()),
            undefined=undefined,
            percent_agreement=of_report["alpha"]["percent_agreement"],
            n_units=int(of_samples[counted].sum()),
        ),
        image_alpha=expected.summary(of_report["image_alpha"]["value"], rated, np.concatenate(pair_scores)),
        kappa=mean_defined([pair.kappa for pair in pairs if pair.kappa is not None])[0],
        n_classes=len(values),
        classes=classes,
        pairs=pairs,
        annotators=annotators,
        **findings_of(moments, context.annotators, names, expected=of_areas),
    )
