"""Real annotations, through the operator: LVIS images annotated twice, and the images of the first source document."""

from __future__ import annotations

import json
import os
from collections import Counter

import fiftyone as fo
import pytest

from annotator_agreement.dataset_io import compute_agreement

pytestmark = pytest.mark.long

LVIS = "lvis_double/lvis_v1.0_val_doubly_annos_subset200.json"


@pytest.fixture(scope="module")
def lvis_polygons(private_fiftyone):
    from tests.conftest import SHARED_DATA

    path = SHARED_DATA / LVIS
    if not path.exists():
        pytest.skip(f"needs the test data in {path}")
    coco = json.loads(path.read_text())
    categories = {category["id"]: category["name"] for category in coco["categories"]}
    dataset = fo.Dataset(f"lvis-polygons-{os.getpid()}", persistent=True)
    samples = {image["id"]: fo.Sample(filepath=f"/lvis/{image['file_name']}") for image in coco["images"]}
    labels = {(image["id"], rater): [] for image in coco["images"] for rater in image["rater_list"]}
    sizes = {image["id"]: (image["width"], image["height"]) for image in coco["images"]}
    for entry in coco["annotations"]:
        width, height = sizes[entry["image_id"]]
        rings = [
            [(x / width, y / height) for x, y in zip(part[::2], part[1::2], strict=True)]
            for part in entry["segmentation"]
        ]
        labels[entry["image_id"], entry["rater_id"]].append(
            fo.Polyline(label=categories[entry["category_id"]], points=rings, closed=True, filled=True)
        )
    for (image_id, rater), polylines in labels.items():
        samples[image_id][rater] = fo.Polylines(polylines=polylines)
    dataset.add_samples(list(samples.values()))
    yield dataset, sorted({rater for _, rater in labels})
    dataset.delete()


def test_lvis_polygons_give_the_verified_alphas(operator, lvis_polygons):
    dataset, raters = lvis_polygons
    report = compute_agreement(dataset, raters, classes="ignore", empty="agree", undefined="one")
    assert (report.n_samples, report.n_rated, report.n_objects, report.run.n_invalid) == (200, 200, 3521, 0)
    assert report.alpha.mean == pytest.approx(0.690256, abs=5e-7)
    assert report.alpha.pooled == pytest.approx(0.639900, abs=5e-7)
    assert report.alpha.n_defined == 200
    assert report.n_inexact_components == 0


#: file, image → units as columns of annotation ids (-1: missed), and alpha as a fraction
SOURCE_DOCUMENT = [
    ("fruits", "apple_banana.jpg", [[1, 2, 3, -1], [6, 5, 4, -1], [9, -1, 8, 7]], (1, 45)),
    ("smile_fruits", "Smile_at_a_stranger.jpg", [[1, 2, 3, 4, -1], [5, 6, 7, 8, -1], [9, 10, 11, -1, 12]], (41, 83)),
    ("landscape_annotations", "Landscape.ppm", None, (353, 722)),
]


def _raters_dataset(path, name):
    """The images of one file with one field an annotator, named by the order of the annotators."""
    coco = json.loads(path.read_text())
    categories = {category["id"]: category["name"] for category in coco["categories"]}
    images = sorted((image for image in coco["images"]), key=lambda image: image["id"])
    sample = fo.Sample(filepath=f"/raters/{images[0]['file_name']}")
    for k, image in enumerate(images):
        scale = [image["width"], image["height"]] * 2
        labels = [
            fo.Detection(
                label=categories[annotation["category_id"]],
                bounding_box=[value / size for value, size in zip(annotation["bbox"], scale, strict=True)],
                coco_id=annotation["id"],
            )
            for annotation in sorted(coco["annotations"], key=lambda annotation: annotation["id"])
            if annotation["image_id"] == image["id"]
        ]
        sample[f"annotator_{k + 1}"] = fo.Detections(detections=labels)
    dataset = fo.Dataset(name, persistent=True)
    dataset.add_sample(sample, dynamic=True)
    return dataset, [f"annotator_{k + 1}" for k in range(len(images))]


@pytest.mark.parametrize(("file", "image", "table", "alpha"), SOURCE_DOCUMENT)
def test_the_source_document_is_reproduced(operator, shared_data, private_fiftyone, file, image, table, alpha):
    dataset, fields = _raters_dataset(shared_data / "coco_raters" / f"{file}.json", f"raters-{os.getpid()}-{file}")
    try:
        report = compute_agreement(dataset, fields, method="recursive", classes="ignore")
        assert dataset.first().filepath.endswith(image)
        assert report.alpha.pooled == pytest.approx(alpha[0] / alpha[1], abs=1e-12)
        assert dataset.first().agreement_alpha == report.alpha.pooled
        units: dict[str, list[int]] = {}
        sample = dataset.first()
        for k, field in enumerate(fields):
            for label in sample[field].detections:
                units.setdefault(label.agreement_id, [-1] * len(fields))[k] = label.coco_id
        if table is not None:
            assert Counter(map(tuple, units.values())) == Counter(zip(*table, strict=True))
        else:
            assert len(units) == 14
    finally:
        dataset.delete()
