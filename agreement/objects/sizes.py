"""Small, medium and large objects: definition, and agreement on each size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...metrics.consensus.consensus import medians_by_group
from ...metrics.geometry.boxes import box_area
from ...metrics.numeric.arrays import FloatArray, IntArray
from ..matching.tables import Tables
from ..settings.config import AgreementConfig
from .records import ObjectRecords
from .report import SizeSummary
from .rest import Rest, count_codes, mean, median

SIZES = ("small", "medium", "large")
#: smallest area in px² of medium and large objects, as in COCO
COCO_LIMITS = (32.0**2, 96.0**2)
#: relative coordinates are not much larger than this; pixel coordinates are
_LARGEST_RELATIVE = 2.0
#: areas are compared to about seven digits, so that a box of 32 by 32 px is medium
_SLACK = 1e-6


@dataclass(frozen=True, slots=True)
class SizeRule:
    """Definition of small, medium and large."""

    limits: tuple[float, float] | None  #: smallest areas of medium and large; None if objects have no size
    unit: str  #: unit of these areas
    in_pixels: bool  #: whether the labels' geometry is in pixels

    @classmethod
    def of(cls, records: ObjectRecords, config: AgreementConfig) -> SizeRule:
        """The rule for all samples.

        COCO's rule if the geometry is in pixels or all image sizes are known, else terciles of the units.
        """
        boxes = [part["boxes_xyxy"] for part in records.parts if "boxes_xyxy" in part]
        if not any(len(part) for part in boxes):
            return cls(None, "", False)
        in_pixels = max(float(np.fmax.reduce(part, axis=None, initial=0.0)) for part in boxes) > _LARGEST_RELATIVE
        known = all("size_px" in part for part in records.parts)
        if in_pixels or (known and not np.isnan(records.column("size_px")[records.rated]).any()):
            return cls(COCO_LIMITS, "px²", in_pixels)
        relative = cls(None, "share of the image", False)
        areas = np.concatenate([relative.areas_of_units(t)[t.rated_unit] for t in records.tables(config)])
        areas = areas[~np.isnan(areas)]
        if not len(areas):
            return relative
        low, high = np.quantile(areas, [1 / 3, 2 / 3]).tolist()
        return cls((low, high), relative.unit, False)

    def areas_of_units(self, t: Tables) -> FloatArray:
        """Median area of the labels of every unit, shape ``(U,)``; nan if a label has no area."""
        area = own_areas(t.area, t.boxes_xyxy, t.part.get("visibility"), t.config)
        if self.unit == "px²" and not self.in_pixels:
            area = area * t.part["size_px"].astype(np.float64).prod(axis=1)[t.objects.sample]
        return medians_by_group(t.unit, area[:, None], len(t.units.sample))[:, 0]

    def of_units(self, t: Tables) -> IntArray:
        """Index into ``SIZES`` for every unit, shape ``(U,)``; -1 without a size."""
        return np.full(len(t.units.sample), -1) if self.limits is None else self.of_areas(self.areas_of_units(t))

    def of_areas(self, areas: FloatArray) -> IntArray:
        """Index into ``SIZES`` for areas in ``unit``; -1 for nan."""
        size: IntArray = np.searchsorted(self.limits or (), areas * (1.0 + _SLACK), side="right")
        return np.where(np.isnan(areas), -1, size)


def own_areas(
    area: FloatArray, boxes_xyxy: FloatArray | None, visibility: FloatArray | None, config: AgreementConfig
) -> FloatArray:
    """Areas of objects in label coordinates; for keypoints and lines the area of the bounding box."""
    if boxes_xyxy is not None and (visibility is not None or config.line_tolerance is not None):
        return box_area(boxes_xyxy)
    return area


def add_sizes(rest: Rest, t: Tables) -> None:
    """Add the units of some samples by size, who drew them and who were asked, and the size of every pair of labels."""
    known = (t.size >= 0) & t.rated_unit
    units = t.units
    rest.add_counts({"sizes": count_codes(t.size[known], units.votes[known], units.assigned[known])})
    rest.add({"pair_size": t.size[t.unit[t.pairs.i]].astype(np.int8)})


def size_summaries(rest: Rest, rule: SizeRule, n_annotators: int) -> list[SizeSummary]:
    """Agreement on every size; empty if objects have no size."""
    if rule.limits is None:
        return []
    ends = [None, *rule.limits, None]
    of_pair, pair_iou, units = rest.rows("pair_size"), rest.rows("pair_iou"), rest.counts("sizes")
    summaries = []
    for k, size in enumerate(SIZES):
        iou = pair_iou[of_pair == k]
        _, votes, assigned, n = units[:, units[0] == k]
        # of two annotators none can miss what two others drew
        several = n * ((votes >= 2) & (n_annotators > 2))
        n_expected, n_labels = int((several * assigned).sum()), int((n * votes * (assigned - 1)).sum())
        summaries.append(
            SizeSummary(
                size=size,
                area_from=ends[k],
                area_to=ends[k + 1],
                unit=rule.unit,
                n_units=int(n.sum()),
                n_lone=int(n[votes == 1].sum()),
                n_pairs=len(iou),
                mean_iou=mean(iou),
                median_iou=median(iou),
                miss_rate=int((several * (assigned - votes)).sum()) / n_expected if n_expected else None,
                f1=int((n * votes * (votes - 1)).sum()) / n_labels if n_labels else None,
            )
        )
    return summaries
