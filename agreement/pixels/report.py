"""Report on semantic masks, as dataclasses, and how it is built from records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...metrics.numeric.arrays import FloatArray, IntArray
from ..evidence.hypotheses import EffectRows, findings_of, kind_mask
from ..settings.annotators import AnnotatorPairs
from ..statistics.estimates import Fields, rated_only, report_estimates, report_of
from ..statistics.main_numbers import PIXEL_NUMBERS, MainNumber
from ..statistics.report import AgreementReport, AlphaSummary, OfOne, OfPair, ReportContext, mean_defined
from .compute import ALPHA_REASONS, SCORE, PixelAgreement
from .counts import MaskValues
from .numbers import pixel_effects, pixel_numbers, sample_contents
from .records import PixelRecords, mask_distances

#: number of listed classes; classes with the fewest pixels are left out
MAX_CLASSES = 1_000


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
    """One class.

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
    """One annotator: ``score`` is the mean with the others; ``classes`` are shares of the annotator's pixels."""

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


def build_pixel_report(records: PixelRecords, context: ReportContext) -> PixelReport:
    """The report on samples.

    ``context.details`` has the entries of :meth:`MaskValues.to_dict`, and ``is_rgb`` (whether values are colours).
    """
    is_rgb = bool(context.details["is_rgb"])
    meaning = MaskValues.from_dict(context.details)
    rated, of_rated = rated_only(records, context)
    counts = _Counts.of(rated, len(context.annotators))
    effects, expected, pair_scores = EffectRows(of_rated.clusters), mask_distances(rated, of_rated), list[FloatArray]()

    def look(agreement: PixelAgreement) -> None:
        effects.add(pixel_effects(agreement, counts.values, meaning.background), len(agreement.n_pixels))
        pair_scores.append(agreement.pair_numbers[:, SCORE])

    numbers = pixel_numbers(rated, of_rated, look, expected)
    fields = Fields(report_estimates(numbers, lambda: sample_contents(rated, of_rated), rated, of_rated))
    of_report = fields.of()
    pairs = _pairs(rated, fields, context.annotators)
    classes = _classes(counts, fields, meaning, is_rgb)
    moments, names = effects.moments(), [meaning.name(value, is_rgb=is_rgb) for value in counts.values.tolist()]
    # of two annotators, the difference between them is compared with none
    of_areas = dict.fromkeys(moments.group[kind_mask(moments.group, "class_area")].tolist(), 0.0)
    alpha = rated.column("alpha")
    n_ignored = int(rated.column("n_ignored").sum(dtype=np.int64))
    n_pixels = int(counts.of_samples.sum())
    only_background = (rated.column("n_values") == 1) & (counts.first_value == meaning.background)
    counted = ~only_background | (context.config.empty == "agree")
    undefined = (records.n_samples - rated.n_samples, counts.of_samples == 0, np.isnan(alpha) & (counts.of_samples > 0))
    return report_of(
        PixelReport,
        fields,
        records,
        context,
        n_rated=rated.n_samples,
        n_units=int(rated.column("n_units").sum(dtype=np.int64)),
        n_objects=int(rated.assigned.sum()),
        n_empty=int(only_background.sum()),
        n_disputed=int(rated.column("n_disputed").sum(dtype=np.int64)),
        background=meaning.background,
        is_rgb=is_rgb,
        n_pixels=n_pixels,
        n_ignored=n_ignored,
        ignored=n_ignored / (n_pixels + n_ignored) if n_pixels + n_ignored else None,
        alpha=AlphaSummary(
            pooled=of_report["alpha"]["pooled"],
            mean=of_report["alpha"]["mean"],
            n_defined=int((~np.isnan(alpha)).sum()),
            undefined={
                reason: int(np.sum(samples)) for reason, samples in zip(ALPHA_REASONS[1:], undefined, strict=True)
            },
            percent_agreement=of_report["alpha"]["percent_agreement"],
            n_units=int(counts.of_samples[counted].sum()),
        ),
        image_alpha=expected.summary(of_report["image_alpha"]["value"], rated, np.concatenate(pair_scores)),
        kappa=mean_defined([pair.kappa for pair in pairs if pair.kappa is not None])[0],
        n_classes=len(classes),
        classes=classes[:MAX_CLASSES],
        pairs=pairs,
        annotators=_annotators(records, counts, fields, context.annotators, classes),
        **findings_of(moments, context.annotators, names, expected=of_areas),
    )


@dataclass(frozen=True, slots=True)
class _Counts:
    """Pixels of rated samples."""

    values: IntArray  #: shape ``(K,)``, the values that occur, ascending
    n_samples: IntArray  #: shape ``(K,)``, samples with every value
    areas: IntArray  #: shape ``(K, R)``, pixels with every value from every annotator
    of_samples: IntArray  #: shape ``(S,)``, compared pixels of every sample
    first_value: IntArray  #: shape ``(S,)``, lowest value of every sample

    @classmethod
    def of(cls, rated: PixelRecords, n_annotators: int) -> _Counts:
        """Count the pixels."""
        every, n_values = rated.column("values").astype(np.int64), rated.column("n_values").astype(np.int64)
        values, n_samples = np.unique(every, return_counts=True)
        areas = np.zeros((len(values), n_annotators), np.int64)
        of_samples = np.zeros(rated.n_samples, np.int64)
        for sample, annotator, value, area in rated.areas():
            np.add.at(areas, (np.searchsorted(values, value), annotator), area)
            np.add.at(of_samples, sample, area)
        first_value = np.full(rated.n_samples, -1)
        first_value[n_values > 0] = every[(np.cumsum(n_values) - n_values)[n_values > 0]]
        return cls(values, n_samples, areas, of_samples // np.maximum(rated.assigned.sum(axis=1), 1), first_value)


def _pairs(rated: PixelRecords, fields: Fields, annotators: Sequence[str]) -> list[MaskPairSummary]:
    summaries, pairs = [], AnnotatorPairs.of(rated.assigned)
    for (a, b), n in zip(pairs.names(annotators), pairs.n_shared.tolist(), strict=True):
        numbers = fields.of("pairs", a, b)
        mean = PixelNumbers(**numbers.pop("mean"))
        summaries.append(MaskPairSummary(a=a, b=b, n_samples=n, mean=mean, **numbers))
    return summaries


def _classes(counts: _Counts, fields: Fields, meaning: MaskValues, is_rgb: bool) -> list[MaskClassSummary]:
    """All classes, most pixels first."""
    n_pixels = counts.areas.sum(axis=1)
    order = np.lexsort((counts.values, -n_pixels))
    rows = zip(*(column[order].tolist() for column in (counts.values, counts.n_samples, n_pixels)), strict=True)
    return [
        MaskClassSummary(
            value=value,
            name=meaning.name(value, is_rgb=is_rgb),
            is_background=value == meaning.background,
            n_samples=n_samples,
            n_pixels=n,
            **fields.of("classes", str(value)),
        )
        for value, n_samples, n in rows
    ]


def _annotators(
    records: PixelRecords,
    counts: _Counts,
    fields: Fields,
    annotators: Sequence[str],
    classes: Sequence[MaskClassSummary],
) -> list[MaskAnnotatorSummary]:
    place = {value: k for k, value in enumerate(counts.values.tolist())}
    listed = [(entry.name, place[entry.value]) for entry in classes[:MAX_CLASSES]]
    n_assigned = records.assigned.sum(axis=0).tolist()
    summaries = []
    for r, name in enumerate(annotators):
        pixels = counts.areas[:, r].tolist()
        n_pixels = sum(pixels)
        shares = {title: pixels[k] / n_pixels for title, k in listed if pixels[k]}
        summaries.append(
            MaskAnnotatorSummary(
                name=name,
                n_assigned=n_assigned[r],
                n_not_assigned=records.n_samples - n_assigned[r],
                n_pixels=n_pixels,
                classes=shares,
                **fields.of("annotators", name),
            )
        )
    return summaries
