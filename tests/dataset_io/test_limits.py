"""Data at the limits: an end when the user interrupts, and no polygon that takes minutes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import fiftyone as fo
import numpy as np
import pytest

from tools.dev.private_fiftyone import PATIENT_SECONDS

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import compute_agreement, delete_agreement

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
_RUN = """
import sys, json, signal
# a process that a shell started in the background, as CI's tests are, ignores the interrupt and passes that on
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, sys.argv[1])
import fiftyone as fo
from tools.dev.plugin import load_plugin
plugin = load_plugin()
dataset = fo.load_dataset(sys.argv[2])
print("ready", flush=True)
plugin.compute(dataset, json.loads(sys.argv[3]), progress=False)
"""


def _start(dataset: fo.Dataset, annotators: list[str]) -> subprocess.Popen[str]:
    arguments = [str(ROOT), dataset.name, json.dumps(annotators)]
    return subprocess.Popen([sys.executable, "-c", _RUN, *arguments], stdout=subprocess.PIPE, text=True)


def _add_images(dataset: fo.Dataset, images: list[np.ndarray]) -> list[str]:
    """Add images with boxes ``(R, N, 4)``; returns the names of the annotators."""
    annotators = [f"a{k:03d}" for k in range(len(images[0]))]
    samples = []
    for number, boxes in enumerate(images):
        sample = fo.Sample(filepath=f"/nowhere/{number}.jpg")
        for name, of_annotator in zip(annotators, boxes.tolist(), strict=True):
            labels = [fo.Detection(label=f"c{k % 3}", bounding_box=box) for k, box in enumerate(of_annotator)]
            sample[name] = fo.Detections(detections=labels)
        samples.append(sample)
    dataset.add_samples(samples, progress=False)
    return annotators


def _on_one_spot(n_annotators: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    return np.array([0.4, 0.4, 0.2, 0.2]) + rng.normal(0.0, 0.01, (n_annotators, n, 4))


def test_interrupting_a_run_ends_it_and_it_can_be_deleted(make_dataset) -> None:
    dataset = make_dataset({})
    fields = set(dataset.get_field_schema())
    annotators = _add_images(dataset, [_on_one_spot(4, 700)] * 3)
    fields |= set(annotators)
    process = _start(dataset, annotators)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        while not dataset.list_runs() and process.poll() is None:
            time.sleep(0.05)
            dataset.reload()
        assert process.poll() is None, "the run must still be going on"
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENT_SECONDS) != 0
    finally:
        process.kill()
        process.wait()
    dataset.reload()
    assert dataset.get_run_info("agreement").config.status == "failed"
    delete_agreement(dataset)
    dataset.reload()
    assert set(dataset.get_field_schema()) == fields


def test_scribbled_polygons_are_refused_or_left_out_before_they_take_minutes(make_dataset) -> None:
    rng = np.random.default_rng(3)
    scribble = rng.random((2_000, 2)).tolist()
    square = [(0.1, 0.1), (0.5, 0.1), (0.5, 0.6)]
    dataset = make_dataset({})
    sample = fo.Sample(filepath="/nowhere/scribble.jpg")
    for name in ("alice", "bob"):
        lines = [fo.Polyline(label="x", points=[points], closed=True) for points in (square, scribble)]
        sample[name] = fo.Polylines(polylines=lines)
    dataset.add_sample(sample)
    with pytest.raises(AgreementInputError, match="cross themselves at most 2,000 times"):
        compute_agreement(dataset, ["alice", "bob"], resamples=0)
    report = compute_agreement(dataset, ["alice", "bob"], resamples=0, invalid="skip", overwrite=True)
    assert (report.n_objects, report.n_units) == (2, 1)
