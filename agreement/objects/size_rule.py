"""What is a small, a medium and a large object."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...metrics.arrays import FloatArray, IntArray
from ...metrics.consensus import medians_by_group
from ...metrics.geometry.boxes import box_area
from ..config import AgreementConfig
from ..records import Columns
from .findings import Findings
from .records import MAX_OBJECTS_AT_ONCE, ObjectRecords, units_of_objects
from .verdicts import NO_VERDICT

SIZES = ("small", "medium", "large")
#: areas in px² where medium and large begin, as in COCO
COCO_LIMITS = (32.0**2, 96.0**2)
#: coordinates that are relative to the image do not get much larger, those in pixels do
_LARGEST_RELATIVE = 2.0
#: areas are kept with about seven digits: a box of 32 by 32 px is medium
_SLACK = 1e-6


@dataclass(frozen=True, slots=True)
class SizeRule:
    """What is small, medium and large.

    Attributes:
        limits: areas where medium and large begin; None where objects have no size
        unit: of these areas
        in_pixels: whether the labels' geometry is in pixels
    """

    limits: tuple[float, float] | None
    unit: str
    in_pixels: bool

    @classmethod
    def of(cls, records: ObjectRecords, config: AgreementConfig) -> SizeRule:
        """The rule for all samples.

        COCO's where the geometry is in pixels or every image's size is known, else thirds of the units.
        """
        boxes = [part["boxes_xyxy"] for part in records.parts if "boxes_xyxy" in part]
        if not any(len(part) for part in boxes):
            return cls(None, "", False)
        in_pixels = max(float(np.fmax.reduce(part, axis=None, initial=0.0)) for part in boxes) > _LARGEST_RELATIVE
        if in_pixels or _all_sizes_known(records):
            return cls(COCO_LIMITS, "px²", in_pixels)
        relative = cls(None, "share of the image", False)
        areas = np.concatenate(
            [_rated_areas(part, config) for part in records.chunks("n_objects", MAX_OBJECTS_AT_ONCE)]
        )
        areas = areas[~np.isnan(areas)]
        if not len(areas):
            return relative
        low, high = np.quantile(areas, [1 / 3, 2 / 3]).tolist()
        return cls((low, high), relative.unit, False)

    def areas_of_units(self, findings: Findings) -> FloatArray:
        """Median area of the labels of every unit, shape ``(U,)``; nan where a label has none."""
        return medians_by_group(findings.unit, self._areas(findings)[:, None], len(findings.units.sample))[:, 0]

    def _areas(self, findings: Findings) -> FloatArray:
        """Area of every object."""
        area = _own_areas(findings.area, findings.boxes_xyxy, findings.visibility, findings.config)
        if self.unit == "px²" and not self.in_pixels:
            area = area * findings.size_px.prod(axis=1)[findings.objects.sample]
        return area

    def of_units(self, findings: Findings) -> IntArray:
        """Index into ``SIZES`` for every unit, shape ``(U,)``; -1 where it has no size."""
        if self.limits is None:
            return np.full(len(findings.units.sample), -1)
        areas = self.areas_of_units(findings) * (1.0 + _SLACK)
        size: IntArray = np.searchsorted(self.limits, areas, side="right")
        return np.where(np.isnan(areas), -1, size)


def _own_areas(
    area: FloatArray, boxes_xyxy: FloatArray | None, visibility: FloatArray | None, config: AgreementConfig
) -> FloatArray:
    """Areas of objects in the coordinates of their labels; keypoints and lines have none but that of their boxes."""
    if boxes_xyxy is not None and (visibility is not None or config.line_tolerance is not None):
        return box_area(boxes_xyxy)
    return area


def _rated_areas(part: Columns, config: AgreementConfig) -> FloatArray:
    """Median areas of the units of rated samples, from columns of records, as findings take several times as long."""
    boxes = part["boxes_xyxy"].astype(np.float64) if "boxes_xyxy" in part else None
    area = _own_areas(part["area"].astype(np.float64), boxes, part.get("visibility"), config)
    medians = medians_by_group(units_of_objects(part), area[:, None], len(part["unit_verdict"]))[:, 0]
    of_rated: FloatArray = medians[part["unit_verdict"] != NO_VERDICT]
    return of_rated


def _all_sizes_known(records: ObjectRecords) -> bool:
    """Whether the sizes of all rated images are known."""
    if not all("size_px" in part for part in records.parts):
        return False
    sizes = records.column("size_px")[records.assigned.sum(axis=1) >= 2]
    return not bool(np.isnan(sizes).any())
