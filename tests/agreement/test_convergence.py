"""Label convergence by COCO's own program, and 200 images of LVIS with numbers that other programs give too."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import io
import json
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from tests.agreement.agreement_oracle import object_report
from tests.chance import few, some_seeds

from annotator_agreement import metrics
from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.matching import Batch
from annotator_agreement.agreement.objects import Detections, Precision, convergence_of
from annotator_agreement.agreement.statistics import ClassCodes
from annotator_agreement.metrics import COCO_SIGMAS, Keypoints, MaskCrops, Objects, Polygons, Regions, best_similarities
from annotator_agreement.metrics.geometry import Boxes

coco_masks = pytest.importorskip("pycocotools.mask")


def _random_labels(seed: int, n_images: int, *, crowd: bool) -> list[list[Label]]:
    """Labels of two annotators who draw alike boxes of all sizes, some twice and some as crowd regions."""
    rng = np.random.default_rng(seed)
    drawn: list[list[Label]] = [[], []]
    for image in range(1, n_images + 1):
        n = int(rng.integers(0, 12))
        side = rng.choice([12.0, 28.0, 60.0, 110.0, 300.0], n)
        place = rng.uniform(0, 400, (n, 2))
        for k in range(n):
            category = int(rng.integers(1, 5))
            for labels in drawn:
                for _ in range(int(rng.choice([0, 1, 1, 1, 2]))):
                    box = np.r_[place[k], side[k], side[k] * 0.8] + rng.normal(0, 0.06 * side[k], 4)
                    marked = crowd and rng.random() < 0.15
                    labels.append(Label(image, category if rng.random() < 0.9 else 1, box.tolist(), marked))
    return drawn


def _batch(drawn: list[list[Label]], n_images: int, geometry=None) -> Batch:
    rows = [(label.image - 1, annotator, label) for annotator, labels in enumerate(drawn) for label in labels]
    rows.sort(key=lambda row: row[:2])
    boxes = np.array([label.box for _, _, label in rows]).reshape(-1, 4)
    boxes = np.hstack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]])
    columns = (np.array([*column], np.int64) for column in ([row[0] for row in rows], [row[1] for row in rows],
                                                            [row[2].category for row in rows]))  # fmt: skip
    crowd = np.array([label.crowd for _, _, label in rows])
    assigned = np.ones((n_images, len(drawn)), np.bool_)
    drawn_as = Boxes(boxes) if geometry is None else geometry([label.shape for *_, label in rows])
    return Batch(Objects(*columns), drawn_as, assigned, crowd=crowd)


def _corner(label: Label) -> Label:
    """A rectangle of whole pixels without its upper right quarter, whose area is exact as polygon and as pixels."""
    left, top, right, bottom = (round(end) for end in (*label.box[:2], *np.add(label.box[:2], label.box[2:])))
    width, height = max(right - left, 2), max(bottom - top, 2)
    pixels = np.ones((height, width), np.bool_)
    pixels[: height // 2, width // 2 :] = False
    box = [left, top, width, height]
    return dataclasses.replace(label, box=box, shape=(pixels, left, top), area=float(pixels.sum()))


def _masks(corners: list) -> Regions:
    return Regions.of_masks(MaskCrops.from_crops(corners))


def _polygons(corners: list) -> Regions:
    rings = []
    for pixels, left, top in corners:
        height, width = pixels.shape
        x, y = left + width // 2, top + height // 2
        rings.append(
            [(left, top), (x, top), (x, y), (left + width, y), (left + width, top + height), (left, top + height)]
        )
    return Regions.of_polygons(Polygons.from_geometry(np.array([shapely.Polygon(ring) for ring in rings], object)))


def _overlap_of_corners(detections: list[Label], truth: list[Label]) -> Any:
    """IoU by COCO's program; of a crowd region the share of the detection."""
    painted = []
    for label in (*detections, *truth):
        pixels, left, top = label.shape
        image = np.zeros((900, 900), np.bool_, order="F")  # and 40 pixels before the first row and column
        image[top + 40 : top + 40 + len(pixels), left + 40 : left + 40 + pixels.shape[1]] = pixels
        painted.append(coco_masks.encode(image.astype(np.uint8)))
    n = len(detections)
    return coco_masks.iou(painted[:n], painted[n:], [int(label.crowd) for label in truth])


def _person(label: Label) -> Label:
    """Seventeen points in the box."""
    rng = np.random.default_rng(label.category)
    points = np.add(label.box[:2], rng.uniform(0, 1, (17, 2)) * label.box[2:])
    sides = np.ptp(points, axis=0)
    return dataclasses.replace(label, box=[*points.min(axis=0), *sides], shape=points, area=float(sides.prod()))


def coco_oks(a: list, b: list, area: float) -> float:
    """Similarity of two persons by pycocotools, with the given area of the object."""
    cocoeval = pytest.importorskip("pycocotools.cocoeval")
    evaluation = cocoeval.COCOeval(iouType="keypoints")

    def flat(points: list) -> list[float]:
        return [value for x, y in points for value in ((0, 0, 0) if math.isnan(x) else (x, y, 2))]

    truth = {"keypoints": flat(a), "area": area, "bbox": [0, 0, 1, 1]}
    evaluation._gts = {(1, 1): [truth]}
    evaluation._dts = {(1, 1): [{"keypoints": flat(b), "score": 1.0}]}
    return float(evaluation.computeOks(1, 1)[0, 0])


def _overlap_of_persons(detections: list[Label], truth: list[Label]) -> Any:
    """OKS by COCO's program, with the mean area of the two."""
    return np.array([[coco_oks(a.shape.tolist(), b.shape.tolist(), (a.area + b.area) / 2) for a in truth]
                     for b in detections])  # fmt: skip


@pytest.mark.parametrize(
    ("drawn_as", "geometry", "overlap", "crowd"),
    [
        (copy.copy, None, None, False),
        (copy.copy, None, None, True),
        (_corner, _masks, _overlap_of_corners, False),
        (_corner, _masks, _overlap_of_corners, True),
        (_corner, _polygons, _overlap_of_corners, False),
        (_corner, _polygons, _overlap_of_corners, True),
        (_person, lambda points: Keypoints(np.array(points), COCO_SIGMAS), _overlap_of_persons, False),
    ],
    ids=["boxes", "crowded boxes", "masks", "crowded masks", "polygons", "crowded polygons", "keypoints"],
)
@pytest.mark.parametrize("seed", few(range(8)))
def test_labels_have_the_precision_of_cocos_program_by_pair_and_size(drawn_as, geometry, overlap, crowd, seed) -> None:
    drawn = [[drawn_as(label) for label in labels] for labels in _random_labels(seed, 12, crowd=crowd)]
    scored = constant(_batch(drawn, 12, geometry))
    for reference, detector in ((0, 1), (1, 0)):
        precision = coco_precision(drawn[reference], drawn[detector], range(1, 13), overlap)
        assert 0.01 < coco_mean(precision[..., 0]) < 0.99
        for area in range(4):
            expected = coco_mean(precision[..., area])
            assert of_pair(scored, 2, reference, detector, area) == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_200_images_of_lvis_have_the_known_precision_by_the_constant_score(lvis) -> None:
    images, batch = json.loads(LVIS.read_text())["images"], lvis[2]
    size = np.array([(image["width"], image["height"]) for image in images], float)
    in_pixels = Boxes(batch.geometry.xyxy * np.tile(size, 2)[batch.objects.sample])
    found = constant(Batch(batch.objects, in_pixels, batch.assigned), [image["id"] for image in images])
    assert mean_of(found, "map_50") == pytest.approx(0.8114, abs=5e-5)


def _report(batch: Batch, resamples: int) -> Any:
    names = {"annotators": ["0", "1"], "class_names": [str(k) for k in range(200)], "run_key": "run", "measure": "IoU"}
    rest = {"n_samples": batch.n_samples, "model": None, "resamples": resamples, "seed": 5}
    return convergence_of(detections_of(batch), None, np.arange(batch.n_samples), **names, **rest)


@pytest.mark.long
def test_intervals_are_those_of_resampled_images() -> None:
    """Beside a bootstrap that draws whole images and measures them anew, by pycocotools' rule."""
    n_images, resamples = 80, 60
    drawn = _random_labels(3, n_images, crowd=False)
    batch = _batch(drawn, n_images)
    scored = constant(batch)
    found = _report(batch, 400)
    rng, values = np.random.default_rng(2), []
    for _ in range(resamples):
        images = np.sort(rng.integers(1, n_images + 1, n_images))
        again = [[dataclasses.replace(label, image=k) for k, image in enumerate(images.tolist(), 1)
                  for label in labels if label.image == image] for labels in drawn]  # fmt: skip
        of = constant(_batch(again, n_images))
        values.append([mean_of(of), mean_of(of, "map_50"), of_pair(of, 2, 0, 1), mean_of(of, area=3)])
    errors = np.std(values, axis=0)
    (pair,) = (each for each in found.pairs if (each.reference, each.detector) == ("0", "1"))
    parts = ((found, "map"), (found, "map_50"), (pair, "map"), (found.areas[-1], "map"))
    for (part, name), error in zip(parts, errors.tolist(), strict=True):
        interval = part.intervals[name]
        assert interval.error == pytest.approx(error, rel=0.3), (part, name)
        assert interval.low < getattr(part, name) < interval.high
    assert (found.map, found.areas[-1].map) == (mean_of(scored), mean_of(scored, area=3))


@pytest.mark.parametrize("n", [1, 2])
def test_classes_on_few_images_vary_as_often_as_their_objects_are_found(n: int) -> None:
    """Each class has n objects, on images of its own, of which bob finds .6; the standard error in closed form.

    With h hits the average precision is the share of the recalls 0, .01 … 1 up to h / n: there is nothing wrong.
    """
    n_classes, share = 120 // n, 0.6
    n_images = n_classes * n
    chances = [math.comb(n, h) * share**h * (1 - share) ** (n - h) for h in range(n + 1)]
    precisions = [np.mean([100 * h >= k * n for k in range(101)]) if h else 0.0 for h in range(n + 1)]
    mean = sum(chance * value for chance, value in zip(chances, precisions, strict=True))
    squares = sum(chance * value**2 for chance, value in zip(chances, precisions, strict=True))
    expected = math.sqrt((squares - mean**2) / n_classes)
    errors, held = [], 0
    for seed in range(4):
        found_by_bob = np.random.default_rng(seed).random(n_images) < share
        boxes = [Label(k + 1, 1 + k // n, [10.0, 10.0, 50.0, 40.0], crowd=False) for k in range(n_images)]
        drawn = [boxes, [box for box, is_found in zip(boxes, found_by_bob.tolist(), strict=True) if is_found]]
        report = _report(_batch(drawn, n_images), 50)
        (pair,) = (each for each in report.pairs if each.reference == "0")
        interval = pair.intervals["map_50"]
        errors.append(interval.error)
        held += interval.low <= mean <= interval.high
    assert np.mean(errors) == pytest.approx(expected, rel=0.15)
    assert held >= 3


CONFIG = make_config(["a", "b"])


@dataclass(frozen=True)
class Label:
    """A box in pixels, ``(x, y, width, height)``."""

    image: int
    category: int
    box: Sequence[float]
    crowd: bool = False
    score: float = 0.99
    shape: Any = None  #: what is drawn in the box, if it is not the box
    area: float | None = None  #: its area


def coco_precision(reference, detector, images, overlap=None) -> np.ndarray:
    """Precision of COCO's program, ``(T, recalls, classes, areas)``; -1 where undefined.

    ``overlap`` gives similarities ``(detections, objects)`` of the labels of one class and image, in place of the IoU.
    """
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    categories = sorted({label.category for label in [*reference, *detector]})
    truth, found = ([_entry(label, k) for k, label in enumerate(labels, 1)] for labels in (reference, detector))
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = {
            "images": [{"id": image} for image in images],
            "categories": [{"id": category} for category in categories],
            "annotations": truth,
        }
        coco.createIndex()
        detections = COCO()
        detections.dataset = {**coco.dataset, "annotations": [entry for entry in found if not entry["iscrowd"]]}
        detections.createIndex()
        evaluation = COCOeval(coco, detections, "bbox")
        evaluation.params.maxDets = [100_000]
        if overlap is not None:
            evaluation.computeIoU = lambda image, category: _similarities(evaluation, image, category, overlap)
        evaluation.evaluate()
        evaluation.accumulate()
    return evaluation.eval["precision"][..., 0]


def _entry(label: Label, number: int) -> dict[str, Any]:
    return {
        "id": number, "image_id": label.image, "category_id": label.category, "bbox": list(label.box),
        "area": label.box[2] * label.box[3] if label.area is None else label.area, "iscrowd": int(label.crowd),
        "score": label.score, "label": label,
    }  # fmt: skip


def _similarities(evaluation: Any, image: int, category: int, overlap: Callable[..., Any]) -> Any:
    truth, found = evaluation._gts[image, category], evaluation._dts[image, category]
    if not truth or not found:
        return []
    found = [found[k] for k in np.argsort([-entry["score"] for entry in found], kind="mergesort")]
    return overlap([entry["label"] for entry in found], [entry["label"] for entry in truth])


def coco_mean(precision: np.ndarray) -> float:
    """Mean of what is defined."""
    defined = precision[precision > -1]
    return float(defined.mean()) if len(defined) else float("nan")


def detections_of(batch: Batch, images: Sequence[int] | None = None, **options: Any) -> Detections:
    """The labels of a batch in pixels, in the order of image ids, by default those of the batch."""
    ids = np.array([f"{k:012}".encode() for k in (images or range(batch.n_samples))], "S12")
    return Detections.of(batch, ids, CONFIG, **{"in_pixels": True, **options})


def constant(batch: Batch, images: Sequence[int] | None = None, **options: Any) -> Precision:
    """Average precision in the order of image ids."""
    return Precision.of(detections_of(batch, images, **options), batch.assigned.shape[1])


def mean_of(found: Precision, name: str = "map", area: int = 0) -> float:
    """Mean over all ordered pairs."""
    return found.means(name, area)[0]


def of_pair(found: Precision, n_annotators: int, reference: int, detector: int, area: int = 0) -> float:
    """Mean average precision of one ordered pair."""
    place = np.flatnonzero(found.pairs == reference * n_annotators + detector)
    return float(found.means(area=area)[1][place[0]]) if len(place) else float("nan")


# ROOT.parent / "shared" / "data"
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
LVIS = DATA / "lvis_double" / "lvis_v1.0_val_doubly_annos_subset200.json"


@pytest.fixture(scope="module")
def lvis() -> tuple[list[str], list[str], Batch]:
    """Annotators, class names and columns."""
    if not LVIS.is_file():
        pytest.skip(f"needs {LVIS}, which is not part of the repository")
    data: dict[str, Any] = json.loads(LVIS.read_text())
    annotators = sorted({rater for image in data["images"] for rater in image["rater_list"]})
    names = {category["id"]: category["name"] for category in data["categories"]}
    codes = ClassCodes()
    labels = defaultdict(list)
    for entry in data["annotations"]:
        labels[entry["image_id"]].append(entry)
    rows = []
    assigned = np.zeros((len(data["images"]), len(annotators)), np.bool_)
    for sample, image in enumerate(data["images"]):
        assigned[sample, [annotators.index(rater) for rater in image["rater_list"]]] = True
        for entry in sorted(labels[image["id"]], key=lambda e: (annotators.index(e["rater_id"]), e["id"])):
            x, y, width, height = entry["bbox"]
            box = np.array([x, y, x + width, y + height]) / np.tile([image["width"], image["height"]], 2)
            rows.append((sample, annotators.index(entry["rater_id"]), codes[names[entry["category_id"]]], *box))
    table = np.array(rows)
    return annotators, codes.names(), Batch(Objects(*table[:, :3].astype(np.int64).T), Boxes(table[:, 3:]), assigned)


# method and classes, missing, empty, undefined, number of units, mean, pooled: as other programs give them
PUBLISHED = [
    ("optimal", "ignore", "category", "agree", "one", 2121, 0.679026, 0.635151),
    ("optimal", "prefer", "category", "skip", "none", 2121, 0.582387, 0.646623),
    ("optimal", "require", "category", "skip", "none", 2123, 0.582046, 0.645886),
    ("optimal", "prefer", "ignore", "skip", "none", 2121, None, 0.9986),
    ("recursive", "ignore", "category", "agree", "one", None, 0.6790, None),
]


@pytest.mark.long
@pytest.mark.parametrize("published", PUBLISHED)
def test_200_images_of_lvis_have_the_published_units_and_alphas(lvis: tuple, published: tuple) -> None:
    annotators, class_names, batch = lvis
    options = dict(zip(("method", "classes", "missing", "empty", "undefined"), published, strict=False))
    report = object_report(batch, make_config(annotators, resamples=0, **options), class_names)
    n_units, *alphas = published[5:]
    assert n_units is None or (report.n_units, report.n_inexact_components) == (n_units, 0)
    for number, value in zip(alphas, (report.alpha.mean, report.alpha.pooled), strict=True):
        if number is not None:  # as far as it is printed
            assert value == pytest.approx(number, rel=0, abs=0.5 * 10 ** -max(len(str(number)) - 2, 4))


@pytest.mark.long
@pytest.mark.random
def test_the_threshold_from_the_data_is_that_of_kalos(lvis: tuple) -> None:
    # kalos 0.8.0, 60 seeds of its draws of other images: threshold 0.3076, standard deviation 0.0220; separation
    # 0.8166, 0.0032; the mean of the observed distances does not depend on the draws
    _, _, batch = lvis
    overlaps = batch.geometry.overlaps(batch.objects)
    observed = best_similarities(batch.objects, overlaps, batch.assigned)
    assert (len(observed), 1.0 - observed.mean()) == (3521, pytest.approx(0.26230440, rel=0, abs=1e-8))
    for seed in some_seeds(3):
        rng = np.random.default_rng(seed)
        expected = metrics.similarities_between_samples(batch.objects, batch.geometry, batch.assigned, rng=rng)
        found = metrics.threshold_from_data(observed, expected, len(batch.objects))
        assert found.threshold == pytest.approx(0.3076, rel=0, abs=0.022)
        assert found.ks == pytest.approx(0.8166, rel=0, abs=0.0032)
