"""Report on semantic masks, as dataclasses, and how it is built from records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...metrics.numeric.arrays import FloatArray
from ..evidence.hypotheses import EffectRows, findings_of, kind_mask
from ..settings.annotators import AnnotatorPairs
from ..statistics.estimates import Fields, rated_only, report_estimates, report_of
from ..statistics.main_numbers import PIXEL_NUMBERS, MainNumber
from ..statistics.report import AgreementReport, AlphaSummary, OfOne, OfPair, ReportContext, mean_defined
from .compute import SCORE, PixelAgreement
from .counts import MaskValues
from .numbers import areas_of_values, pixel_effects, pixel_numbers, sample_contents
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
    of_report, met, moments = fields.of(), AnnotatorPairs.of(rated.assigned), effects.moments()
    pairs = []
    for (a, b), n in zip(met.names(context.annotators), met.n_shared.tolist(), strict=True):
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
    # of two annotators, the difference between them is compared with none
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
