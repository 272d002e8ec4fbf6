"""Runs in the environment of kalphacv: its number and its units for a COCO file.

A request is ``["versions"]`` or ``["alphas", path, threshold]``.
"""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Any

from kalphacv import calculate_iaa_from_annotations
from kalphacv.pre_processing import Preprocess
from kalphacv.reliability_data import EmptyEntry, ReliabilityData

from tools.dev.other_programs import serve

_KEYS = {"images_rater_key": "rater_list", "annotations_rater_key": "rater_id"}


def versions() -> dict[str, str]:
    """Versions of the packages in this environment."""
    return {name: importlib.metadata.version(name) for name in ("kalphacv", "krippendorff", "numpy", "scipy")}


def alphas(path: str, threshold: float) -> dict[str, Any]:
    """The mean of the alphas of the images as kalphacv calculates it, and the units that its matching makes."""
    result = calculate_iaa_from_annotations("bbox", path, iou_thresholds=[threshold], silent=True, **_KEYS)
    data = Preprocess(json.loads(Path(path).read_text(encoding="utf-8")), *_KEYS.values(), silent=True)
    units: list[list[int]] = []
    for image in data.image_names:
        labels = data.annotations_per_image[image]
        table = ReliabilityData(image, labels, data.raters_per_image[image], data.size_per_image[image])
        # its entries are numbered in the order of the image's annotations
        units += (
            [labels[entry.id]["id"] for entry in column if not isinstance(entry, EmptyEntry)]
            for column in zip(*table.run("bbox", threshold), strict=True)
        )
    return {"mean": float(result[threshold]), "pooled": None, "units": units}


serve(versions, alphas)
