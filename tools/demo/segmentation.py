"""The coins, galaxies and cell nuclei of three photographs, found by thresholds and watershed.

Every function takes a photograph ``(H, W, 3)`` uint8 and returns objects in its pixels. The thresholds are grey
values (0-255), chosen by looking at the boxes on these photographs; they are not meant for others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage import filters, measure, morphology, segmentation

from .outlines import Box, TrueObject, box_area, mask_outline

#: the objects of the Hubble photograph that show the diffraction spikes of a star, (x, y)
STARS_XY = ((253, 166), (147, 217), (753, 578))
#: the core of a galaxy is the part with at least this share of its greatest brightness
CORE_BRIGHTNESS = 0.5
#: ratio of the axes of its core from which a galaxy counts as elongated
ELONGATED_FROM = 1.5
#: an object with this share of its box inside a bigger object's box is a part of it
PART_OF_SHARE = 0.8


def box_from_bbox(bbox: tuple[int, int, int, int]) -> Box:
    """``(x_min, y_min, x_max, y_max)`` of scikit-image's ``(y_min, x_min, y_max, x_max)``."""
    y_min, x_min, y_max, x_max = bbox
    return (float(x_min), float(y_min), float(x_max), float(y_max))


def region_object(label: str, region: Any) -> TrueObject:
    """An object from a region of scikit-image (``RegionProperties``)."""
    box = box_from_bbox(region.bbox)
    return TrueObject(label, box, mask_outline(region.image, box))


def find_coins(image: NDArray[np.uint8]) -> list[TrueObject]:
    """The coins of ``coins.png``: watershed of the edges from dark background and bright metal."""
    grey = image[..., 0].astype(float)
    markers = np.where(grey < 30, 1, np.where(grey > 150, 2, 0))
    metal = segmentation.watershed(filters.sobel(grey), markers) == 2
    regions = measure.regionprops(measure.label(ndimage.binary_fill_holes(metal)))
    return [region_object("coin", r) for r in regions if r.area >= 600]


def find_galaxies(image: NDArray[np.uint8]) -> list[TrueObject]:
    """The brighter galaxies and the stars of ``hubble_deep_field.jpg``, touching ones separated by watershed."""
    brightness = image.max(axis=2).astype(float)
    glow = filters.gaussian(brightness, 2)
    sharp = filters.gaussian(brightness, 1)
    mask = filters.apply_hysteresis_threshold(sharp, 60, 120)
    labels = segmentation.watershed(-glow, measure.label(morphology.h_maxima(glow, 8)), mask=mask)
    found: list[TrueObject] = []
    for region in sorted(measure.regionprops(labels), key=lambda r: -r.area):
        box = box_from_bbox(region.bbox)
        if region.area < 36 or any(share_inside(box, other.box_xyxy) > PART_OF_SHARE for other in found):
            continue
        label = (
            "elongated galaxy"
            if core_axis_ratio(sharp[region.slice], region.image) >= ELONGATED_FROM
            else "round galaxy"
        )
        if any(box[0] < x < box[2] and box[1] < y < box[3] for x, y in STARS_XY):
            label = "star"
        found.append(region_object(label, region))
    return found


def core_axis_ratio(brightness: NDArray[np.float64], mask: NDArray[np.bool_]) -> float:
    """The ratio of the axes (>= 1) of the part of ``mask`` that is at least half as bright as its brightest pixel.

    The core is measured because the halo of a galaxy and faint neighbours inside the mask hide its shape.
    """
    cores = measure.label(mask & (brightness >= CORE_BRIGHTNESS * brightness[mask].max()))
    core = max(measure.regionprops(cores), key=lambda r: r.area)
    return float(core.axis_major_length / max(core.axis_minor_length, 1.0))


def find_nuclei(image: NDArray[np.uint8]) -> list[TrueObject]:
    """The blue-stained nuclei of the connective tissue of ``ihc.png``, outside the brown-stained glands."""
    red, blue = image[..., 0].astype(float), image[..., 2].astype(float)
    stain = filters.gaussian(blue - red, 1)
    darkness = 255 - filters.gaussian(red, 1)
    glands = filters.gaussian(blue - red, 8) < -15
    weak = morphology.opening((stain > 12) & (darkness > 63) & ~glands, morphology.disk(1))
    strong = weak & (stain > 14) & (darkness > 72)
    mask = filters.apply_hysteresis_threshold(weak.astype(int) + strong, 0, 1)
    soft = 255 - filters.gaussian(red, 1.5)
    labels = segmentation.watershed(-soft, measure.label(morphology.h_maxima(soft, 6)), mask=mask)
    return [region_object("nucleus", r) for r in measure.regionprops(labels) if r.area >= 30]


def share_inside(inner: Box, outer: Box) -> float:
    """The share of the area of ``inner`` that lies inside ``outer``, in [0, 1]."""
    width = min(inner[2], outer[2]) - max(inner[0], outer[0])
    height = min(inner[3], outer[3]) - max(inner[1], outer[1])
    return max(width, 0.0) * max(height, 0.0) / box_area(inner)
