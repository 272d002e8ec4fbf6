"""Runs in the environment of kalos: times its matching and alpha on the boxes of an ``.npz`` file.

A request is ``[method, cost]``, or with a third entry whether its diagnostics are computed too; an answer ``[seconds,
pooled alpha]``.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from kalos.iaa.core import calculate_iaa

from tools.dev.other_programs import serve


def main() -> None:
    """Build the structures of kalos once, then serve requests."""
    columns = np.load(sys.argv[1])
    n_samples, n_annotators = columns["shape"].tolist()
    names = [f"annotator_{k}" for k in range(n_annotators)]
    images = {
        k: {
            "file_name": f"{k}.jpg",
            "rater_list": [names[r] for r in np.flatnonzero(columns["assigned"][k])],
            "annotations_by_rater": {names[r]: [] for r in np.flatnonzero(columns["assigned"][k])},
        }
        for k in range(n_samples)
    }
    rows = zip(*(columns[name].tolist() for name in ("sample", "annotator", "label", "boxes")), strict=True)
    for number, (sample, annotator, label, box) in enumerate(rows):
        images[sample]["annotations_by_rater"][names[annotator]].append(
            {
                "id": number,
                "image_id": sample,
                "category_id": label,
                "bbox": [1000.0 * value for value in box],
                "rater_id": names[annotator],
            }
        )
    categories = {k: str(k) for k in range(int(columns["label"].max()) + 1)}
    complete = {k: image for k, image in images.items() if all(image["annotations_by_rater"].values())}

    def run(method: str, cost: str, diagnostics: bool = False) -> tuple[float, float]:
        # its multi-graph matching cannot do images in which an annotator drew nothing
        served = images if method != "mgm" else complete
        started = time.perf_counter()
        parts = [diagnostics] * 3
        result = calculate_iaa(served, categories, method, "bbox_iou_similarity", cost, 0.5, *parts, names)
        return time.perf_counter() - started, float(result[1])

    serve(run)


main()
