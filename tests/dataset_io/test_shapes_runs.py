"""Runs on shapes: independent of order and batches, bounded memory, views, and nothing left after deletion."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.dataset_io.same_values import assert_same
from tests.dataset_io.shaped import SIZE, box, polygon, rectangle, shapes_dataset

from annotator_agreement.agreement.settings.config import make_config
from annotator_agreement.dataset_io import compute_agreement
from annotator_agreement.dataset_io.families import open_family
from annotator_agreement.dataset_io.labels.source import open_source
from annotator_agreement.dataset_io.run import read

_assert_same = functools.partial(assert_same, relative=0.0, absolute=1e-12)

WIDTH, HEIGHT = SIZE
PAIR = ["alice", "bob"]
TRIO = ["alice", "bob", "carol"]


# ---- what must not matter ----


def _random_labels(rng, kind):
    labels = []
    for _ in range(int(rng.integers(0, 5))):
        x, y = rng.integers(0, (WIDTH - 12, HEIGHT - 8)).tolist()
        width, height = rng.integers(4, (12, 8)).tolist()
        label = str(rng.choice(["cat", "dog"]))
        if kind == "polygon":
            ring = np.array(rectangle(x, y, width, height)) + rng.normal(0, 0.7, (4, 2))
            labels.append(polygon(ring.tolist(), label=label))
        elif rng.random() < 0.5:
            labels.append(box(x, y, width, height, label, mask=rng.random((5, 6)) < 0.8))
        else:
            labels.append(box(x, y, width, height, label, iscrowd=int(rng.random() < 0.2)))
    return labels


def _random_samples(seed, n=12):
    rng = np.random.default_rng(seed)
    kinds = {"alice": "polygon", "bob": "mask", "carol": "mask"}
    return [
        {name: None if rng.random() < 0.1 else _random_labels(rng, kind) for name, kind in kinds.items()}
        for _ in range(n)
    ]


EACH_OPTION = pytest.mark.parametrize(
    "options",
    [{}, {"rasterize": "pillow"}, {"geometry": "box", "classes": "ignore"}, {"method": "mutual_best"}],
    ids=str,
)


def _values(report):
    values = report.to_dict()
    for name in ("run", "worst_samples", "look_first", "config"):
        values.pop(name)
    for part in ("existence", "class_given_match", "localisation"):  # of another dataset
        values[part]["worst_samples"] = [entry["value"] for entry in values[part]["worst_samples"]]
    values["label_types"].sort()  # in the order of the fields
    return values


@EACH_OPTION
@pytest.mark.parametrize(("n_samples", "n_labels"), [(1, 10**6), (5, 10**6), (10**6, 1), (10**6, 7)])
@pytest.mark.few(1)
def test_batches_of_any_size_give_the_same_report(make_dataset, monkeypatch, options, n_samples, n_labels):
    dataset = shapes_dataset(make_dataset, *_random_samples(3))
    expected = compute_agreement(dataset, TRIO, **options)
    monkeypatch.setattr(read, "BATCH_SAMPLES", n_samples)
    monkeypatch.setattr(read, "BATCH_LABELS", n_labels)
    _assert_same(_values(compute_agreement(dataset, TRIO, overwrite=True, **options)), _values(expected))


@EACH_OPTION
@pytest.mark.long
def test_the_order_of_samples_labels_and_fields_does_not_matter(make_dataset, options):
    samples = _random_samples(4)
    dataset = shapes_dataset(make_dataset, *samples)
    expected = compute_agreement(dataset, TRIO, **options)
    written = {s.filepath: s["agreement_score"] for s in dataset}
    order = np.random.default_rng(4).permutation(len(samples)).tolist()
    turned = [{f: labels and list(reversed(labels)) for f, labels in samples[k].items()} for k in order]
    other = shapes_dataset(make_dataset, *turned)
    found = compute_agreement(other, ["carol", "alice", "bob"], **options)
    _assert_same(_values(found), _values(expected))
    _assert_same(other.values("agreement_score"), [written[f"/images/{k}.jpg"] for k in order])


# ---- batches in memory ----


def _n_batches(dataset, fields, **options):
    family = open_family(open_source(dataset, make_config(fields, **options)))
    return [len(rows) for rows in read.Reader(family).batches()]


@pytest.mark.long
def test_batches_of_large_masks_and_large_painted_polygons_are_cut(make_dataset, monkeypatch):
    monkeypatch.setattr(read, "BATCH_LABELS", 1000)
    size = (1000, 500)
    large = box(0, 0, 1000, 500, size=size, mask=np.ones((4, 4), bool))
    ring = polygon(rectangle(0, 0, 1000, 500), size=size)
    samples = [{"alice": [large.copy()], "bob": [ring.copy()], "carol": [ring.copy()]} for _ in range(12)]
    dataset = shapes_dataset(make_dataset, *samples, size=size)
    # 500,000 pixels count as 200 labels more
    assert _n_batches(dataset, PAIR) == [5, 5, 2]
    assert _n_batches(dataset, ["bob", "carol"]) == [12]
    assert _n_batches(dataset, ["bob", "carol"], rasterize="pillow") == [3, 3, 3, 3]
    assert _n_batches(dataset, PAIR, geometry="box") == [12]


# ---- life of a run, views, attribute mode ----
