"""Disputed labels are sent to FiftyOne's annotation API, with a test backend that writes them to a file."""

from __future__ import annotations

import json

import fiftyone as fo
import numpy as np
import pytest

from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly
from tests.dataset_io.unit_oracle import documents_of
from tests.datasets import detections, random_annotators, stored

from annotator_agreement import (
    AgreementInputError,
    agreement_patches,
    annotate_disputed,
    compute_agreement,
    view_agreement,
)
from annotator_agreement.dataset_io.units.annotate import check_backend, configured_backends, disputed_view
from annotator_agreement.dataset_io.units.patches import DISPUTED


@pytest.fixture
def backends(monkeypatch, tmp_path):
    """FiftyOne's own backends without a login, and one that writes files."""
    config_class = "tests.dataset_io.file_backend.FileBackendConfig"
    own = {name: dict(parameters) for name, parameters in fo.annotation_config.backends.items()}
    backends = {**own, "file": {"config_cls": config_class, "folder": str(tmp_path)}}
    monkeypatch.setattr(fo.annotation_config, "backends", backends)
    return backends


def _made(make_dataset):
    dataset = make_dataset(random_annotators(12, seed=4))
    compute_quickly(dataset, units=True)
    return dataset


@pytest.fixture
def dataset(lend):
    return lend(_made)


def _sent(folder, anno_key="disputed"):
    """``(field, label id)`` of every label that the backend received."""
    labels = json.loads((folder / f"{anno_key}.json").read_text())["labels"]
    return {(field, label_id) for field, of in labels.items() for ids in of.values() for label_id in ids or []}


def _disputed(dataset, fields=ANNOTATORS):
    return {
        (name, str(label["_id"]))
        for document in documents_of(dataset)
        for name in fields
        for label in (document.get(name) or {}).get("detections") or []
        if label["agreement"] in DISPUTED
    }


def test_backends_of_fiftyone_are_configured_once_they_can_log_in(backends):
    assert configured_backends() == ["file"]
    backends["cvat"]["username"] = "ann"
    assert configured_backends() == ["file"]
    backends["cvat"]["password"] = "secret"
    backends["labelstudio"]["api_key"] = "key"
    assert configured_backends() == ["cvat", "file", "labelstudio"]


def test_all_disputed_labels_are_sent(dataset, backends, tmp_path):
    annotate_disputed(dataset)
    assert _sent(tmp_path) == _disputed(dataset)
    assert dataset.list_annotation_runs() == ["disputed"]
    schema = json.loads((tmp_path / "disputed.json").read_text())["schema"]
    assert set(schema) == set(ANNOTATORS)
    assert all(not entry["attributes"] for entry in schema.values())


def test_what_a_view_of_units_shows_is_sent(dataset, backends, tmp_path):
    view = agreement_patches(dataset, max_units=4)
    annotate_disputed(view, anno_key="worst")
    shown = {
        (name, label.id) for patch in view for name in ANNOTATORS if patch[name] for label in patch[name].detections
    }
    assert _sent(tmp_path, "worst") == shown


def test_the_labels_of_one_annotator_are_sent(dataset, backends, tmp_path):
    annotate_disputed(dataset, annotators="bob", backend="file")
    assert _sent(tmp_path) == _disputed(dataset, ["bob"])


def test_of_one_field_the_labels_of_one_annotator_are_sent(make_dataset, backends, tmp_path):
    dataset = make_dataset({})
    place = [0.1, 0.1, 0.4, 0.3]
    labels = [fo.Detection(label=name, bounding_box=place, rater=name) for name in ("ann", "bea", "eva")]
    dataset.add_samples([fo.Sample("1.jpg", labels=fo.Detections(detections=labels))], dynamic=True)
    compute_agreement(dataset, "labels", annotator_attribute="rater", resamples=0)
    annotate_disputed(dataset, annotators="bea")
    assert _sent(tmp_path) == {("labels", labels[1].id)}


def test_a_sample_without_a_disputed_label_of_the_annotator_is_not_sent(make_dataset, backends):
    place, other = (0.1, 0.1, 0.4, 0.3), (0.6, 0.6, 0.2, 0.3)
    dataset = make_dataset(
        {
            "alice": [[("cat", place)], [("cat", place)]],
            "bob": [[("dog", place)], [("cat", place), ("cat", other)]],
        }
    )
    compute_quickly(dataset, ["alice", "bob"])
    view, fields = disputed_view(dataset, "agreement", "alice")
    assert (view.values("id"), fields) == ([dataset.first().id], ["alice"])


def test_fields_that_were_cloned_share_label_ids_and_are_told_apart(make_dataset, backends, tmp_path):
    dataset = make_dataset({"alice": [[("cat", (0.1, 0.1, 0.2, 0.4)), ("dog", (0.5, 0.5, 0.3, 0.2))]]})
    dataset.clone_sample_field("alice", "bob")
    compute_agreement(dataset, ["alice", "bob"], resamples=0)
    label_id = dataset.first().alice.detections[0].id
    annotate_disputed(dataset, selected={"bob": [label_id]})
    assert _sent(tmp_path) == {("bob", label_id)}


def test_labels_of_all_group_slices_are_sent(make_dataset, backends, tmp_path):
    dataset = make_dataset({})
    dataset.add_group_field("group", default="left")
    labels = random_annotators(6, seed=4)
    groups = [fo.Group() for _ in range(3)]
    sides = [(k, side) for k in range(3) for side in ("left", "right")]
    dataset.add_samples(
        [
            fo.Sample(
                f"{side}{k}.jpg",
                group=groups[k].element(side),
                **{name: detections(labels[name][2 * k + (side == "right")]) for name in ANNOTATORS},
            )
            for k, side in sides
        ]
    )
    compute_agreement(dataset, ANNOTATORS, resamples=0, units=True)
    annotate_disputed(dataset)
    annotate_disputed(agreement_patches(dataset), anno_key="patches")
    assert _sent(tmp_path) == _sent(tmp_path, "patches") == _disputed(dataset)
    assert len(_disputed(dataset)) > 10


def test_masks_are_sent_as_masks_and_lines_as_lines(make_dataset, backends, tmp_path):
    dataset = make_dataset({})
    mask = np.ones((4, 5), np.bool_)
    corners = [(0.1, 0.1), (0.4, 0.1), (0.4, 0.3)]
    sample = fo.Sample("1.jpg", metadata=fo.ImageMetadata(width=40, height=20))
    for name, box in (("alice", [0.1, 0.1, 0.4, 0.3]), ("bob", [0.5, 0.5, 0.2, 0.2])):
        sample[f"{name}_masks"] = fo.Detections(detections=[fo.Detection(label="a", bounding_box=box, mask=mask)])
        sample[f"{name}_boxes"] = fo.Detections(detections=[fo.Detection(label="a", bounding_box=box)])
    for name, shift in (("alice", 0), ("bob", 0.5)):
        points = [[(x + shift, y + shift) for x, y in corners]]
        sample[f"{name}_areas"] = fo.Polylines(polylines=[fo.Polyline(label="a", points=points, closed=True)])
        sample[f"{name}_lines"] = fo.Polylines(polylines=[fo.Polyline(label="a", points=points)])
    dataset.add_sample(sample)
    expected = {"masks": "instances", "boxes": "detections", "areas": "polygons", "lines": "polylines"}
    for what, sent_as in expected.items():
        fields = [f"{name}_{what}" for name in ("alice", "bob")]
        compute_agreement(dataset, fields, run_key=what, resamples=0, line_tolerance=2.0 if what == "lines" else None)
        annotate_disputed(dataset, what, what)
        schema = json.loads((tmp_path / f"{what}.json").read_text())["schema"]
        assert {name: entry["type"] for name, entry in schema.items()} == dict.fromkeys(fields, sent_as)


@pytest.mark.parametrize("anno_key", ["taken", "two words", "", None])
def test_the_key_of_the_annotation_run_must_be_new(dataset, backends, anno_key):
    annotate_disputed(dataset, anno_key="taken")
    with pytest.raises(AgreementInputError, match=r"`anno_key` must be a new name .* in use are 'taken'"):
        annotate_disputed(dataset, anno_key=anno_key)


def test_classes_in_dispute_are_sent(make_dataset, backends, tmp_path):
    dataset = make_dataset({})
    given = [("x", "y"), ("x", "x")]
    dataset.add_samples(
        [
            fo.Sample(f"{k}.jpg", a=fo.Classification(label=a), b=fo.Classification(label=b))
            for k, (a, b) in enumerate(given)
        ]
    )
    compute_agreement(dataset, ["a", "b"])
    view = view_agreement(dataset, verdict="class_conflict")
    annotate_disputed(dataset)
    labels = json.loads((tmp_path / "disputed.json").read_text())["labels"]
    assert labels == {name: {view.first().id: view.first()[name].id} for name in ("a", "b")}


def test_without_a_backend_the_message_says_how_to_configure_one(dataset, monkeypatch):
    monkeypatch.setattr(fo.annotation_config, "backends", {"cvat": {"url": "https://app.cvat.ai"}})
    before = stored(dataset)
    with pytest.raises(AgreementInputError, match="FIFTYONE_CVAT_USERNAME and FIFTYONE_CVAT_PASSWORD"):
        annotate_disputed(dataset)
    assert stored(dataset) == before


@pytest.mark.parametrize("backend", ["cvat", None])
def test_a_name_and_a_password_can_be_given(backends, backend):
    assert check_backend(backend, {"username": "ann", "password": "secret"}) == "cvat"
    assert check_backend(None, {"username": "ann"}) == "file"


def test_unusable_requests_are_refused(dataset, backends, make_dataset):
    with pytest.raises(AgreementInputError, match=r"`backend` must be a configured one \(file\), got 'cvat'"):
        annotate_disputed(dataset, backend="cvat")
    with pytest.raises(AgreementInputError, match="`annotators` must name annotators"):
        annotate_disputed(dataset, annotators="eve")
    agreed = make_dataset({name: [[("cat", (0.1, 0.1, 0.4, 0.3))]] for name in ANNOTATORS})
    compute_agreement(agreed, ANNOTATORS, resamples=0)
    with pytest.raises(AgreementInputError, match="There must be disputed labels to send"):
        annotate_disputed(agreed)
    plain = make_dataset({})
    plain.add_samples([fo.Sample("1.jpg", a="x", b="y")])
    compute_agreement(plain, ["a", "b"])
    with pytest.raises(AgreementInputError, match="Disputed labels need verdicts"):
        annotate_disputed(plain)
