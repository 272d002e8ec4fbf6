"""Semantic masks end to end: real datasets and real files, against scikit-learn and counting by hand."""

from __future__ import annotations

import os
import shutil
from itertools import combinations

import cv2
import fiftyone as fo
import krippendorff
import numpy as np
import pytest
from fiftyone.core.fields import rgb_array_to_int
from fiftyone.core.utils import serialize_numpy_array
from PIL import Image
from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score, jaccard_score

from tests.dataset_io.masked import masked_dataset, random_masks, segmentation
from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, refused, refused_run
from tests.datasets import stored

from annotator_agreement import load
from annotator_agreement.agreement.pixels import compute
from annotator_agreement.charts.reports import report_text
from annotator_agreement.dataset_io import delete_agreement, load_agreement, rename_agreement
from annotator_agreement.dataset_io.database import stored_arrays
from annotator_agreement.dataset_io.families import pixels
from annotator_agreement.dataset_io.labels import mask_reading, read_mask
from annotator_agreement.dataset_io.record import run
from annotator_agreement.dataset_io.run import read
from annotator_agreement.metrics import disagreement_map
from annotator_agreement.metrics.pixels import boundaries


def _kept(masks, ignore):
    """The pixels of all masks that nobody ignored, as columns."""
    flat = [mask.ravel() for mask in masks]
    kept = ~np.any([np.isin(mask, ignore) for mask in flat], axis=0)
    return [mask[kept] for mask in flat]


def _mean_iou(a, b, background):
    """The mean IoU of the classes that either drew; nan where neither drew any."""
    drawn = [value for value in np.union1d(a, b) if value != background]
    return jaccard_score(a, b, average="macro", labels=drawn) if drawn else np.nan


def _by_sklearn(masks, background, ignore):
    """The numbers of a sample: means over pairs; nan where no pair has any."""
    rows = []
    for a, b in combinations(_kept(masks, ignore), 2):
        present = np.union1d(a, b)
        drawn = [value for value in present if value != background]
        rows.append({"iou": _mean_iou(a, b, background),
                     "dice": f1_score(a, b, average="macro", labels=drawn) if drawn else np.nan,
                     "iou_with_background": jaccard_score(a, b, average="macro"),
                     "dice_with_background": f1_score(a, b, average="macro"), "accuracy": accuracy_score(a, b),
                     "kappa": np.nan if len(present) == 1 else cohen_kappa_score(a, b)})  # fmt: skip
    defined = {name: [row[name] for row in rows if not np.isnan(row[name])] for name in rows[0]}
    return {name: np.mean(values) if values else None for name, values in defined.items()}


OF_SAMPLES = [({}, 0, []), ({"background": 5}, 5, []), ({"background": None, "ignore_values": [9, 200]}, None, [9])]


@pytest.mark.parametrize(("options", "background", "ignore"), OF_SAMPLES)
@pytest.mark.few(1)
def test_every_number_of_a_sample_is_that_of_other_packages(make_dataset, tmp_path, options, background, ignore):
    masks = random_masks(25)
    dataset = masked_dataset(make_dataset, masks, tmp_path if background is None else None)
    compute_quickly(dataset, ANNOTATORS, **options)
    n_rated = 0
    for k, sample in enumerate(dataset):
        given = [masks[name][k] for name in ANNOTATORS if masks[name][k] is not None]
        assert sample.agreement_n_annotators == len(given)
        if len(given) < 2 or not len(_kept(given, ignore)[0]):
            assert sample.agreement_score is None
            continue
        n_rated += 1
        for name, expected in _by_sklearn(given, background, ignore).items():
            assert sample[f"agreement_{name}"] == (None if expected is None else pytest.approx(expected, abs=1e-12))
        columns = _kept(given, ignore)
        drew = dict(zip((name for name in ANNOTATORS if masks[name][k] is not None), columns, strict=True))
        for name, mask in drew.items():
            own = [_mean_iou(mask, other, background) for who, other in drew.items() if who != name]
            own = [iou for iou in own if not np.isnan(iou)]
            assert sample[name].agreement_iou == (pytest.approx(np.mean(own), abs=1e-12) if own else None)
            assert sample[name].agreement_of == len(given)
        alpha = len(np.unique(columns)) > 1 and krippendorff.alpha(np.array(columns), level_of_measurement="nominal")
        assert sample.agreement_alpha == (pytest.approx(alpha, abs=1e-12) if alpha is not False else None)
        expected_units = set(np.unique(columns).tolist()) - {background}
        assert sample.agreement_n_units == len(expected_units)
        disputed = {v for v in expected_units if any(((a == v) != (b == v)).any() for a, b in combinations(columns, 2))}
        assert sample.agreement_n_disputed == len(disputed)
        assert sample.agreement_ignored == pytest.approx(1 - len(columns[0]) / given[0].size, abs=1e-12)
    assert n_rated > 15


def test_the_report_pools_the_pixels_of_all_samples(make_dataset, tmp_path):
    masks = random_masks(14, seed=8)
    dataset = masked_dataset(make_dataset, masks, tmp_path)
    report = compute_quickly(dataset, ANNOTATORS, empty="agree")
    scores = dict(zip(dataset.values("id"), dataset.values("agreement_score"), strict=True))
    assert report.score.mean == pytest.approx(np.mean([score for score in scores.values() if score is not None]))
    in_pairs = {}
    for (a, b), pair in zip(combinations(ANNOTATORS, 2), report.pairs, strict=True):
        shared = [k for k in range(14) if masks[a][k] is not None and masks[b][k] is not None]
        first, second = (np.concatenate([masks[name][k].ravel() for k in shared]) for name in (a, b))
        in_pairs[a, b] = first, second
        assert (pair.a, pair.b, pair.n_samples) == (a, b, len(shared))
        assert pair.accuracy == pytest.approx(accuracy_score(first, second), abs=1e-12)
        assert pair.kappa == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)
        expected = krippendorff.alpha(np.array([first, second]), level_of_measurement="nominal")
        assert pair.alpha == pytest.approx(expected, abs=1e-12)
        of_samples = [jaccard_score(masks[a][k].ravel(), masks[b][k].ravel(), average="macro") for k in shared]
        assert pair.mean.iou_with_background == pytest.approx(np.mean(of_samples), abs=1e-12)
    rated = [k for k in range(14) if sum(masks[name][k] is not None for name in ANNOTATORS) >= 2]
    tables = [
        np.array([np.full(size, np.nan) if (mask := masks[name][k]) is None else mask.ravel() for name in ANNOTATORS])
        for k in rated
        for size in [next(of[k].size for of in masks.values() if of[k] is not None)]
    ]
    together = krippendorff.alpha(np.hstack(tables), level_of_measurement="nominal")
    assert report.alpha.pooled == pytest.approx(together, abs=1e-12)
    assert report.alpha.n_units == report.n_pixels == sum(table.shape[1] for table in tables)
    everything = [np.concatenate(column) for column in zip(*in_pairs.values(), strict=True)]
    for entry in report.classes:
        iou = jaccard_score(*everything, labels=[entry.value], average="macro")
        assert entry.iou == pytest.approx(iou, abs=1e-12)
        n_pixels = sum((masks[n][k] == entry.value).sum() for n in ANNOTATORS for k in rated if masks[n][k] is not None)
        assert entry.n_pixels == n_pixels
    assert load_agreement(dataset) == report


def _square(left):
    mask = np.zeros((6, 9), np.uint8)
    mask[1:5, left : left + 4] = 3
    return mask


COLOURS = {0: (0, 0, 0), 1: (255, 0, 0), 2: (0, 128, 7), 5: (3, 0, 200), 9: (250, 250, 250)}


def _coloured(mask):
    return None if mask is None else np.array([COLOURS.get(v, (0, 0, 0)) for v in range(10)], np.uint8)[mask]


def test_colours_are_classes_like_any_other(make_dataset, tmp_path):
    masks = random_masks(8, seed=4)
    coloured = {name: [_coloured(mask) for mask in of] for name, of in masks.items()}
    gray = compute_quickly(masked_dataset(make_dataset, masks), ANNOTATORS, ignore_values=[9])
    for folder in (tmp_path, None):
        dataset = masked_dataset(make_dataset, coloured, folder)
        report = compute_quickly(dataset, ANNOTATORS, ignore_values=["#fafafa"], background="#000000")
        assert (report.mean, report.alpha, report.is_rgb) == (gray.mean, gray.alpha, True)
        assert {entry.name for entry in report.classes} == {"#000000", "#ff0000", "#008007", "#0300c8"}
    assert "#ff0000" in report_text(report)


def test_colours_are_the_integers_that_fiftyone_has_for_them():
    image = np.random.default_rng(1).integers(0, 256, (5, 8, 3)).astype(np.uint8)
    for stored_as in (image, np.dstack([image, image[:, :, :1]]), image.astype(np.int64)):
        np.testing.assert_array_equal(read_mask(serialize_numpy_array(stored_as), None).values, rgb_array_to_int(image))


def test_masks_are_read_as_fiftyone_reads_them_whatever_the_type_of_their_numbers(tmp_path):
    mask = np.array([[0, 1, 1, 3], [3, 300, 300, 0], [0, 0, 60_000, 1]])
    small = (mask % 4).astype(np.uint8)
    Image.fromarray(mask % 2 > 0).save(tmp_path / "one_bit.png")  # white is 255
    cv2.imwrite(str(tmp_path / "deep.png"), mask.astype(np.uint16))
    palette = Image.fromarray(small, "P")
    palette.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255])
    palette.save(tmp_path / "palette.png")
    Image.fromarray(small).save(tmp_path / "mask.tif")
    colours = np.array([0x000000, 0xFF0000, 0x00FF00, 0x0000FF])
    of_files = {"one_bit.png": mask % 2 * 255, "deep.png": mask, "palette.png": colours[small], "mask.tif": small}
    for name, expected in of_files.items():
        read = read_mask(None, str(tmp_path / name))
        assert read.is_rgb == (name == "palette.png")
        np.testing.assert_array_equal(read.values, expected)
    arrays = [small.astype(kind) for kind in (bool, np.int64, np.uint64, np.float16, np.float32, np.int16)]
    for array in (*arrays, np.asfortranarray(small), small[:, :, None]):
        np.testing.assert_array_equal(read_mask(serialize_numpy_array(array), None).values, array.reshape(small.shape))


def test_the_heatmap_shows_where_annotators_disagree(make_dataset, tmp_path):
    masks = random_masks(9, ["a", "b", "c", "d"], seed=12)
    dataset = masked_dataset(make_dataset, masks)
    for where in ({"map_folder": tmp_path / "new" / "maps"}, {"disagreement_map": True}):
        compute_quickly(dataset, list("abcd"), ignore_values=[9], overwrite=True, **where)
        for k, sample in enumerate(dataset):
            given = [masks[name][k] for name in "abcd" if masks[name][k] is not None]
            if len(given) < 2:
                assert sample.agreement_map is None
                continue
            np.testing.assert_array_equal(sample.agreement_map.get_map(), disagreement_map(given, [9]))
            assert sample.agreement_map.range == [0.0, 3.0]
            assert (sample.agreement_map.map is None) == ("map_folder" in where)
    assert dataset.get_field("agreement_map").document_type is fo.Heatmap


def test_only_the_fields_that_were_asked_for_are_written(make_dataset, tmp_path):
    dataset = masked_dataset(make_dataset, random_masks(3), tmp_path)
    fields = set(dataset.get_field_schema())
    compute_quickly(dataset, ANNOTATORS, run_key="plain")
    base = {"score", "cost", "alpha", "iou", "dice", "iou_with_background", "dice_with_background", "accuracy", "kappa",
            "n_annotators", "n_units", "n_disputed", "ignored"}  # fmt: skip
    assert set(dataset.get_field_schema()) - fields == {f"plain_{name}" for name in base}
    compute_quickly(dataset, ANNOTATORS, run_key="full", boundaries=True, disagreement_map=True)
    more = {"boundary_iou", "surface_dice", "hd95", "map"}
    written = {name for name in dataset.get_field_schema() if name.startswith("full_")}
    assert written == {f"full_{name}" for name in base | more}
    labels = {name for name in dataset.get_field_schema(flat=True) if name.startswith("alice.") and "full" in name}
    assert labels == {"alice.full_iou", "alice.full_of"}


def test_large_masks_in_the_database_are_read_in_small_batches(make_dataset, monkeypatch):
    noise = [np.random.default_rng(k).integers(0, 200, (300, 300)).astype(np.uint8) for k in range(6)]
    dataset, sizes = masked_dataset(make_dataset, {"alice": noise, "bob": noise}), []
    read_batch = pixels.PixelFamily.read

    def counted(self, rows, samples):
        sizes.append(len(rows))
        return read_batch(self, rows, samples)

    monkeypatch.setattr(pixels.PixelFamily, "read", counted)
    monkeypatch.setattr(read, "BATCH_LABELS", 600)  # of 500 bytes; a mask has about 90,000
    compute_quickly(dataset, ["alice", "bob"])
    assert (max(sizes), sum(sizes)) == (2, 6)


def test_mask_targets_name_classes_and_tell_the_background(make_dataset):
    dataset = masked_dataset(make_dataset, {"alice": [_square(1)], "bob": [_square(2)]})
    dataset.default_mask_targets = {0: "Background", 3: "lawn"}
    report = compute_quickly(dataset, ["alice", "bob"], run_key="first")
    assert {(entry.name, entry.is_background) for entry in report.classes} == {("Background", True), ("lawn", False)}
    assert "0 (Background)" in report_text(report)
    dataset.default_mask_targets = {0: "road", 3: "lawn"}
    compute_quickly(dataset, ["alice", "bob"], run_key="second")
    assert dataset.first().second_iou == pytest.approx((12 / 20 + 34 / 42) / 2, abs=1e-12)


def test_frames_are_compared_like_samples(make_videos):
    alice, bob = ([segmentation(_square(left)) if left else None for left in of] for of in ((1, 1, 1), (2, 1, None)))
    dataset = make_videos([{"alice": alice, "bob": bob}])
    before = stored(dataset)
    report = compute_quickly(dataset, ["frames.alice", "frames.bob"], disagreement_map=True)
    scores = dataset.values("frames.agreement_score")[0]
    assert scores == [pytest.approx(12 / 20), 1.0, None]
    assert dataset.first().agreement_score == pytest.approx(16 / 20)
    assert dataset.first().frames[1].agreement_map.map.sum() == 8
    assert (report.n_rated, report.run.n_videos) == (2, 1)
    delete_agreement(dataset)
    assert stored(dataset) == before


FIELDS = ["alice", "bob"]
GOOD = np.array([[0, 1, 1, 2], [0, 0, 2, 2], [3, 3, 0, 0]], np.uint8)


def _with(make_dataset, bad, at=1):
    """Three samples; one mask of bob's is replaced."""
    dataset = masked_dataset(make_dataset, {"alice": [GOOD] * 3, "bob": [GOOD] * 3})
    sample = dataset.skip(at).first()
    sample["bob"] = bad
    sample.save()
    return dataset, sample.id


def _broken(folder, how):
    """A label with a file that cannot be read."""
    path = folder / f"{how}-broken.png"
    cv2.imwrite(str(path), GOOD)
    path.write_bytes({"cut off": path.read_bytes()[:-20], "text": b"no image", "empty": b""}[how])
    return fo.Segmentation(mask_path=str(path))


def test_files_that_are_no_images_are_refused_or_left_out_and_counted(make_dataset, tmp_path):
    dataset, sample_id = _with(make_dataset, None)
    for how in ("cut off", "empty", "text"):
        dataset.set_values("bob", {sample_id: _broken(tmp_path, how)}, key_field="id")
        message = rf"must have a mask .*, got 1 that .* \(first: '.*{how}-broken.png' cannot be .* {sample_id};"
        refused_run(message, dataset, FIELDS)
        report = compute_quickly(dataset, FIELDS, invalid="skip", run_key=how.replace(" ", "_"))
        assert (report.run.n_invalid, report.n_rated) == (1, 2)
    assert (dataset.values("text_n_annotators"), dataset.values("bob.text_of")) == ([2, 1, 2], [2, None, 2])
    run = load(dataset, "text")
    assert [run.on(dataset.skip(k).limit(1)).report.run.n_invalid for k in range(3)] == [0, 1, 0]
    assert (run.labels()["label_id"].nunique(), run.changed()) == (4, 0)
    of_both = [run.decisions.decide("version", annotator=name, all=True, preview=True) for name in FIELDS]
    assert [(each.n_decided, each.n_without, each.n_left_out) for each in of_both] == [(3, 0, 0), (2, 1, 0)]
    dataset.set_values("bob", {sample_id: fo.Segmentation(mask=GOOD)}, key_field="id")  # added since
    assert run.decisions.decide("version", annotator="alice", all=True, preview=True).n_left_out == 1


def test_files_that_must_not_be_read_or_are_missing_are_named_with_their_samples(make_dataset, tmp_path, monkeypatch):
    dataset, sample_id = _with(make_dataset, segmentation(GOOD, tmp_path, "locked"))

    def locked(path, *_, **options):
        raise PermissionError(13, "Permission denied", path)

    with monkeypatch.context() as patch:
        patch.setattr(mask_reading, "open", locked, raising=False)
        patch.setattr(stored_arrays, "read_image", locked)
        message = rf"got 1 that do not \(first: '.*locked.png' cannot be read .* {sample_id};"
        refused_run(message, dataset, FIELDS)
    dataset = masked_dataset(make_dataset, {"alice": [GOOD] * 3, "bob": [GOOD] * 3}, tmp_path)
    for k in (0, 2):
        os.remove(tmp_path / f"{k}-bob.png")
    first, _, third = dataset.values("id")
    message = rf"Files of masks must exist, got 2 that do not \(first: '.*0-bob.png'\), on samples {first}, {third}; "
    refused_run(message + r'correct them, or leave these masks out with invalid="skip"', dataset, FIELDS)
    assert compute_quickly(dataset, FIELDS, invalid="skip").n_rated == 1


ARRAYS = {
    "fractions": (GOOD + 0.5, "one has values that are not integers"),
    "64 bits": (np.full((3, 4), 2**63, np.uint64), "one has values that are not integers"),
    "two channels": (np.zeros((3, 4, 2), np.uint8), r"one has the shape \(3, 4, 2\)"),
    "one dimension": (np.zeros(12, np.uint8), r"one has the shape \(12,\)"),
    "no pixels": (np.zeros((0, 4), np.uint8), "one has no pixels"),
    "deep colours": (np.full((3, 4, 3), 300, np.uint16), "one has more bits"),
    "negative colours": (np.full((3, 4, 3), -1, np.int16), "one has more bits"),
    "neither array nor path": (None, "one has neither an array nor a path"),
}


def test_arrays_that_are_no_masks_are_refused_or_left_out_and_counted(make_dataset):
    bad = [fo.Segmentation(mask=mask) for mask, _ in ARRAYS.values()]
    dataset = make_dataset({})
    dataset.add_samples([fo.Sample(f"{k}.jpg", alice=fo.Segmentation(mask=GOOD), bob=label)
                         for k, label in enumerate(bad)])  # fmt: skip
    for sample_id, (_, match) in zip(dataset.values("id"), ARRAYS.values(), strict=True):
        match = rf"must have a mask with an integer .* \(first: {match}\), on samples {sample_id}"
        refused_run(match, dataset.select(sample_id), FIELDS)
    assert compute_quickly(dataset, FIELDS, invalid="skip").run.n_invalid == len(ARRAYS)
    assert dataset.values("agreement_n_annotators") == [1] * len(ARRAYS)


@pytest.mark.parametrize("in_files", [True, False])
def test_masks_of_different_sizes_are_refused(make_dataset, tmp_path, in_files):
    masks = {"alice": [GOOD] * 3, "bob": [GOOD, GOOD.T, np.pad(GOOD, 1)]}
    dataset = masked_dataset(make_dataset, masks, tmp_path if in_files else None)
    ids = dataset.values("id")
    message = r"masks of a sample must have one size, got 2 that do not \(first: alice 4 x 3, bob 3 x 4\), on samples "
    refused_run(f"{message}{ids[1]}, {ids[2]};", dataset, FIELDS)
    report = compute_quickly(dataset, FIELDS, invalid="skip")
    assert dataset.values("agreement_n_annotators") == [2, 0, 0]
    assert (report.run.n_invalid, report.n_rated) == (4, 1)


def test_colours_and_numbers_cannot_be_compared(make_dataset, tmp_path):
    coloured = np.dstack([GOOD] * 3)
    dataset, sample_id = _with(make_dataset, segmentation(coloured, tmp_path))
    message = rf"all in colour .*, got 1 that do not \(first: alice not, bob\), on samples {sample_id}"
    refused_run(message, dataset, FIELDS)
    assert compute_quickly(dataset, FIELDS, invalid="skip").n_rated == 2
    dataset = masked_dataset(make_dataset, {"alice": [GOOD, coloured], "bob": [GOOD, coloured]})
    first, second = dataset.values("id")
    message = f"got colours in 'alice' on sample {second} and none in 'alice' on sample {first}; convert them"
    for options in ({}, {"invalid": "skip"}):
        refused_run(message, dataset, FIELDS, **options)


def test_photographs_are_refused_or_left_out_before_their_boundaries_are_compared(make_dataset, monkeypatch):
    noise = np.random.default_rng(1).integers(0, 256, (80, 90, 3)).astype(np.uint8)
    regions = np.repeat(GOOD[:, :, None], 3, axis=2)
    dataset = masked_dataset(make_dataset, {"alice": [noise, regions], "bob": [noise, regions]})
    message = r"Masks must hold at most 4096 values on a sample .* got 1 that do not \(first: \d+\), on samples .*skip"
    refused(message, compute_quickly, dataset, FIELDS)
    compared = []

    def boundary_agreement(a, b, values, **options):
        compared.append(len(values))
        return boundaries.boundary_agreement(a, b, values, **options)

    monkeypatch.setattr(compute, "boundary_agreement", boundary_agreement)
    report = compute_quickly(dataset, FIELDS, invalid="skip", boundaries=True, overwrite=True)
    assert (compared, dataset.values("agreement_n_annotators")) == ([3], [0, 2])
    assert (report.run.n_invalid, report.n_rated) == (2, 1)


OPTIONS = [
    (
        {"boundaries": True, "boundary_width": 0.5},
        "`boundary_width` must be a whole number of pixels, at least 1, got 0.5",
    ),
    ({"boundary_width": 2}, "`boundary_width` has no effect without `boundaries`; give that too, or leave `bound"),
    ({"iou": 0.9}, "`iou` concerns objects that are matched, but 'alice' holds Segmentation; leave it out"),
    ({"background": "sky"}, "`background` must be a mask value"),
    ({"ignore_values": ["sky"]}, "`ignore_values` must be mask values"),
    ({"background": 2**63}, "`background` must be a mask value.* got 9223372036854775808"),
    ({"fields": ["alice"], "annotator_attribute": "rater"}, "got 'alice' .Segmentation.; give every annotator a field"),
    ({"fields": ["alice", "boxes"]}, r"can be compared with each other, got alice \(Segmentation\), boxes"),
    ({}, "must not contradict each other, got for the value 1: 'cat' in 'alice', 'dog' in 'bob'; give"),
]


def test_options_and_fields_that_cannot_be_used_are_refused(make_dataset, tmp_path):
    dataset = masked_dataset(make_dataset, {"alice": [GOOD], "bob": [GOOD]})
    dataset.add_sample_field("boxes", fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    file = tmp_path / "file"
    file.write_text("mine")
    folders = [({"map_folder": folder}, "`map_folder` must be a folder, got '.*file' is a file")
               for folder in (file, file / "below")]  # fmt: skip
    for options, match in folders + OPTIONS:
        if not options:
            dataset.mask_targets = {"alice": {1: "cat", 2: "dog"}, "bob": {1: "dog"}}
        refused_run(match, dataset, **{"fields": FIELDS, **options})
    assert file.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_writable_is_refused(make_dataset, tmp_path):
    dataset = masked_dataset(make_dataset, {"alice": [GOOD], "bob": [GOOD]})
    tmp_path.chmod(0o500)
    refused_run("in which files can be made", dataset, FIELDS, map_folder=tmp_path / "maps")


@pytest.fixture
def folder(tmp_path):
    """A folder with files of the user, some of them named nearly like heatmaps."""
    maps = tmp_path / "maps"
    maps.mkdir()
    for name in ("mine.png", f"{'a' * 24}-{'b' * 24}.png", f"{'a' * 24}.png"):
        (maps / name).write_text("mine")
    return maps


def _files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.long
def test_deleting_leaves_everything_as_it_was_and_renaming_and_overwriting_take_maps_along(make_dataset, folder):
    dataset = masked_dataset(make_dataset, random_masks(9, gaps=False))
    before, files = stored(dataset), _files(folder)
    report = compute_quickly(dataset, ANNOTATORS, map_folder=folder)
    assert len(_files(folder)) == len(files) + 9
    maps = [sample.agreement_map.get_map() for sample in dataset]
    rename_agreement(dataset, "agreement", "renamed")
    assert not [path for path in dataset.get_field_schema(flat=True) if "agreement" in path]
    for sample, expected in zip(dataset, maps, strict=True):
        np.testing.assert_array_equal(sample.renamed_map.get_map(), expected)
    assert load_agreement(dataset, "renamed").mean == report.mean
    compute_quickly(dataset, ["alice", "bob"], run_key="renamed", overwrite=True)  # a map is not asked for any more
    assert dataset.get_field("renamed_map") is None
    assert _files(folder) == files
    compute_quickly(dataset, ANNOTATORS, map_folder=folder, run_key="renamed", overwrite=True)
    assert len(_files(folder)) == len(files) + 9
    dataset.delete_run("renamed")
    delete_agreement(dataset, "renamed")
    assert (stored(dataset), _files(folder)) == (before, files)
    compute_quickly(dataset, ANNOTATORS, map_folder=folder.parent / "gone")
    shutil.rmtree(folder.parent / "gone")  # does not hinder deleting
    delete_agreement(dataset)
    assert stored(dataset) == before


@pytest.mark.long
def test_a_run_that_is_deleted_while_it_runs_leaves_no_files(make_dataset, folder, monkeypatch):
    dataset = masked_dataset(make_dataset, random_masks(9, gaps=False))
    before, files = stored(dataset), _files(folder)
    values = pixels.PixelFamily.values

    def delete_then_write(self, labels, result):
        delete_agreement(fo.load_dataset(dataset.name))
        return values(self, labels, result)

    monkeypatch.setattr(pixels.PixelFamily, "values", delete_then_write)
    refused("was deleted or replaced while it was running", compute_quickly, dataset, ANNOTATORS, map_folder=folder)
    assert _files(folder) == files
    assert stored(dataset) == before


@pytest.mark.long
def test_a_file_that_breaks_during_the_run_stops_it(make_dataset, tmp_path, monkeypatch):
    dataset = masked_dataset(make_dataset, random_masks(4, gaps=False), tmp_path)
    before = stored(dataset)
    check = pixels.PixelFamily.check

    def check_then_break(self):
        check(self)
        os.remove(tmp_path / "2-bob.png")

    monkeypatch.setattr(pixels.PixelFamily, "check", check_then_break)
    refused(r"Files of masks must exist, got 1 that do not \(first: .*2-bob.png", compute_quickly, dataset, ANNOTATORS)
    assert run.Run(dataset, "agreement").config["status"] == "failed"
    delete_agreement(dataset)
    assert stored(dataset) == before
