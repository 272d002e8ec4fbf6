"""Random stored geometries, valid or not: each is compared, counted as unusable, or refused."""

from __future__ import annotations

import math
import os
import random

import cv2
import numpy as np
import pytest
from bson import Decimal128, Int64, ObjectId
from fiftyone.core.utils import serialize_numpy_array

from tests.dataset_io.shape_checks import assert_refused
from tests.dataset_io.shaped import box, polygon, rectangle, shapes_dataset

from annotator_agreement.agreement.settings.config import make_config
from annotator_agreement.dataset_io import compute_agreement, delete_agreement
from annotator_agreement.dataset_io.labels.geometry_readers import BoxReader
from annotator_agreement.dataset_io.labels.shape_readers import PolylineReader

pytestmark = pytest.mark.long

PAIR = ["alice", "bob"]
TRIO = ["alice", "bob", "carol"]


# ---- anything that may stand in a database ----

ODD = [
    0, 1, 0.5, -0.2, 1.7, 2.5, 1e9, 1.1e9, 1e308, -1e308, 5e-324, math.nan, math.inf, -math.inf, True, False, None,
    "0.5", "a", "", Int64(2**40), [], [0.1], {}, {"a": 1}, Decimal128("0.5"), b"x",
]  # fmt: skip


def _odd_point(rng):
    if rng.random() < 0.8:
        return [rng.uniform(-0.2, 1.2), rng.uniform(-0.2, 1.2)]
    if rng.random() < 0.6:
        return [rng.choice(ODD) for _ in range(rng.choice([2, 2, 2, 1, 3, 0]))]
    return rng.choice(["ab", None, 5, "", {"x": 1, "y": 2}, [[0.1, 0.2], [0.3, 0.4]], b"ab", True])


def _odd_points(rng):
    if rng.random() < 0.1:
        return rng.choice([None, "ab", 5, [], {"a": 1}, [[[]]], [[[0.1, 0.2]]], [0.1, 0.2], [None], ["ab"]])
    return [
        [_odd_point(rng) for _ in range(rng.choice([0, 1, 2, 3, 4, 5]))]
        if rng.random() < 0.9
        else rng.choice([None, "ab", "", 5, {"a": [0.1, 0.2]}, [0.1, 0.2], [[]], True])
        for _ in range(rng.choice([0, 1, 1, 1, 2]))
    ]


def _odd_label(rng):
    label = {
        "bounding_box": [rng.random() for _ in range(4)],
        "points": _odd_points(rng),
        "closed": rng.choice([True, True, False, None, 1, 0]),
        "filled": rng.choice([True, True, False, None, 1, 0]),
    }
    if rng.random() < 0.5:
        label["bounding_box"][rng.randrange(4)] = rng.choice(ODD)
    if rng.random() < 0.1:
        label["bounding_box"] = rng.choice([None, "abcd", [0.1] * 3, [0.1] * 5, {}, ["0.1", "0.1", "0.2", "0.2"]])
    if rng.random() < 0.05:
        del label[rng.choice(["bounding_box", "points"])]
    return label


@pytest.mark.parametrize(
    ("reader", "options"),
    [
        (BoxReader(), {}),
        (PolylineReader(), {}),
        (PolylineReader(), {"line_tolerance": 2.0}),
        (PolylineReader(), {"geometry": "box"}),
        (PolylineReader(), {"rasterize": "pillow"}),
    ],
    ids=str,
)
def test_the_database_the_check_and_the_reader_find_the_same_labels_unusable(private_fiftyone, reader, options):
    from fiftyone.core.odm import get_db_conn

    rng = random.Random(11)
    collection = get_db_conn()[f"odd-{os.getpid()}"]
    config = make_config(PAIR, **options)
    try:
        collection.insert_many([{"_id": k, "labels": [_odd_label(rng)]} for k in range(1500)])
        found = {d["_id"] for d in collection.find({"labels": {"$elemMatch": reader.unusable(config)}}, {"_id": 1})}
        size = np.array([[64.0, 48.0]]) if reader.needs_size(config) else None
        n_usable = 0
        for document in collection.find():
            (label,) = document["labels"]
            usable = reader.is_usable(label, config)
            values = {column: [label.get(attribute)] for column, attribute in reader.columns.items()}
            assert (document["_id"] not in found, reader.read(values, config, size)[1].tolist()) == (
                usable,
                [usable],
            ), label
            n_usable += usable
        assert 50 < n_usable < 1450
    finally:
        collection.drop()


def _messy_number(rng):
    return rng.choice(
        [rng.random(), rng.random(), rng.random(), 0, 1, 0.5, -0.2, 1.7, 1e9, -1e9, 5e-324, -0.0, 3, "0.5"]
    )


def _messy_polyline(rng):
    rings = []
    for _ in range(rng.choice([1, 1, 1, 2, 3, 0])):
        ring = []
        for _ in range(rng.choice([0, 1, 2, 3, 4, 5, 9])):
            ring.append([_messy_number(rng), _messy_number(rng)])
            if rng.random() < 0.3:  # a repeated point, or a spike
                ring.append(ring[-rng.choice([1, 2])] if len(ring) > 1 else ring[-1])
        rings.append(ring)
    return {"_cls": "Polyline", "points": rings, "closed": rng.random() < 0.8, "filled": rng.random() < 0.5}


def _messy_detection(rng, files):
    bounding_box = [_messy_number(rng) for _ in range(4)]
    label = {"_cls": "Detection", "bounding_box": bounding_box, "iscrowd": rng.choice([0, 0, 0, 1, "no", None])}
    if rng.random() < 0.7:
        mask = np.frombuffer(rng.randbytes(35), np.uint8).reshape(5, 7) % 2
        masks = [mask, mask.astype(bool), mask[:0], mask[:, :1], mask * 255, mask[:, :, None], mask[0]]
        label["mask"] = rng.choice([*map(serialize_numpy_array, masks), b"", b"mask", "mask", 5])
    elif rng.random() < 0.5:
        label["mask_path"] = rng.choice(files)
    return label


@pytest.mark.parametrize("seed", range(3))
def test_messy_geometry_has_a_value_is_counted_or_refused(make_dataset, tmp_path, seed):
    rng = random.Random(seed)
    files = [str(tmp_path / name) for name in ("mask.png", "text.png", "gone.png")]
    cv2.imwrite(files[0], np.eye(7, dtype=np.uint8) * 255)
    (tmp_path / "text.png").write_text("no image")
    seeds = {
        "alice": [polygon(rectangle(0, 0, 9, 9))],
        "bob": [box(0, 0, 9, 9)],
        "carol": [polygon(rectangle(0, 0, 9, 9))],
    }
    dataset = shapes_dataset(make_dataset, *[seeds] * 15, size=[(1, 1), (640, 480), (33, 57)] * 5)
    for sample_id in dataset.values("_id"):
        values = {
            f"{field}.{name}": [
                {**make(), "_id": ObjectId(), "label": rng.choice(["cat", "dog"])} for _ in range(rng.randrange(5))
            ]
            for field, name, make in (
                ("alice", "polylines", lambda: _messy_polyline(rng)),
                ("bob", "detections", lambda: _messy_detection(rng, files)),
                ("carol", "polylines", lambda: _messy_polyline(rng)),
            )
        }
        dataset._sample_collection.update_one({"_id": sample_id}, {"$set": values})
    for options in (
        {}, {"geometry": "box"}, {"geometry": "shape"}, {"rasterize": "pillow"}, {"line_tolerance": 3.0},
        {"method": "mutual_best", "similarity": "dice"}, {"rasterize": "pillow", "line_tolerance": 1.0},
    ):  # fmt: skip
        assert_refused(dataset, "must be .*|must have .*", TRIO, **options)
        report = compute_agreement(dataset, TRIO, invalid="skip", **options)
        assert report.n_objects > 5
        n_labels = sum(
            dataset.count(f"{field}.id") for field in ("alice.polylines", "bob.detections", "carol.polylines")
        )
        assert report.run.n_invalid + report.n_objects + sum(entry.n_crowd for entry in report.annotators) == n_labels
        for name in ("agreement_score", "agreement_iou", "agreement_dice"):
            assert all(value is None or 0 <= value <= 1 + 1e-12 for value in dataset.values(name))
        delete_agreement(dataset, "agreement")
