"""What labels have beside class and box, by loops: attributes of matched objects, tracks, and crowd regions."""

from __future__ import annotations

import dataclasses
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agreement import agreement_oracle as oracle
from tests.agreement.agreement_oracle import NAMES, Sample, batch_of, config_of, object_report, random_samples, same
from tests.agreement.families import VALUES
from tests.chance import examples, seeds

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.matching import NO_TRACK, Batch, compute_agreement_of
from annotator_agreement.agreement.objects import AttributeSummary, track_consistency
from annotator_agreement.agreement.statistics import AttributeCodes
from annotator_agreement.metrics import Objects, krippendorff_alpha, percent_agreement
from annotator_agreement.metrics.geometry import Boxes

Value = str | float | bool | None


def given_of(samples: list[Sample], seed: int, values: list[Value]) -> list[Value]:
    """A value for every label, in the order of the columns."""
    rng = np.random.default_rng(seed)
    n = sum(len(labels) for sample in samples for labels in sample.values())
    return [values[k] for k in rng.choice(len(values), n, p=[0.2, *[0.8 / (len(values) - 1)] * (len(values) - 1)])]


def summaries_of(samples, given, order=1, others=(), **options) -> dict[str, AttributeSummary]:
    """What the report says; codes are given in the order of the labels, or the other way.

    ``others`` are values that have codes before these.
    """
    config = make_config(NAMES, attributes=list(given), resamples=0, **options)
    codes = {name: AttributeCodes(name) for name in config.attributes}
    for name in config.attributes:
        codes[name]._values.extend(others)  # quicker than to ask for the code of each
        codes[name].of(given[name][::order])
    columns = tuple(codes[name].of(given[name]) for name in config.attributes)
    numbers = tuple(codes[name].numbers() for name in config.attributes)
    batch = dataclasses.replace(batch_of(samples, len(NAMES)), attributes=columns, attribute_numbers=numbers)
    values = {name: codes[name].values_of_codes() for name in config.attributes}
    return {entry.name: entry for entry in object_report(batch, config, attribute_values=values).attributes}


def tables_of(samples: list[Sample], given: list[Value]) -> tuple[list[int], list[dict[int, Value]]]:
    """Sample and values by annotator of every unit."""
    batch = batch_of(samples, len(NAMES))
    config = make_config(NAMES, resamples=0)
    agreement = compute_agreement_of(batch, config)
    units = oracle.units_of(samples, agreement)
    values: list[dict[int, Value]] = [{} for _ in units]
    for row, unit in enumerate(agreement.matching.unit.tolist()):
        if given[row] is not None:
            values[unit][int(batch.objects.annotator[row])] = given[row]
    return [unit.sample for unit in units], values


def key(value: Value) -> tuple[bool, Value]:
    """True is not 1."""
    return isinstance(value, bool), value


def differ(a: Value, b: Value, tolerance: float) -> bool:
    """Whether two values differ."""
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in (a, b)]
    if all(numbers):
        return abs(a - b) > tolerance  # type: ignore[operator]
    return key(a) != key(b)


@pytest.mark.parametrize("tolerance", [0.0, 0.5])
@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.few(2)
def test_an_attribute_has_the_numbers_of_the_units_in_which_two_gave_it(seed: int, tolerance: float) -> None:
    samples = random_samples(seed, n_samples=40, n_annotators=4)
    given = {name: given_of(samples, seed + place, values) for place, (name, values) in enumerate(VALUES.items())}
    # the value of a label that nobody else drew is not compared, however large it is
    alone = next(unit for unit in tables_of(samples, list(range(len(given["age"]))))[1] if len(unit) == 1)
    given["age"][next(iter(alone.values()))] = 10**9
    summaries = summaries_of(samples, given, tolerance=tolerance)
    assert list(summaries) == ["age", "mixed", "occluded", "side"]
    for name, entry in summaries.items():
        of_sample, units = tables_of(samples, given[name])
        several = [values for values in units if len(values) >= 2]
        pairs = [[differ(a, b, tolerance) for a, b in combinations(values.values(), 2)] for values in several]
        assert (entry.n_units, entry.n_conflicts) == (len(several), sum(any(pair) for pair in pairs))
        same(entry.percent_agreement, 1 - float(np.mean([np.mean(pair) for pair in pairs])))
        assert entry.level == ("interval" if name == "age" else "nominal")
        numbers = {key(value): k for k, value in enumerate(VALUES[name])}
        table = np.array(
            [
                [
                    (values[r] if name == "age" else numbers[key(values[r])]) if r in values else oracle.NAN
                    for r in range(len(NAMES))
                ]
                for values in several
            ],
            dtype=float,
        )
        same(entry.alpha, krippendorff_alpha(table, level=entry.level))  # type: ignore[arg-type]
        if tolerance == 0.0 and name != "age":
            same(entry.percent_agreement, percent_agreement(table))

        met = Counter(
            tuple(sorted((numbers[key(a)], numbers[key(b)])))
            for values in several
            for a, b in combinations(values.values(), 2)
            if differ(a, b, tolerance)
        )
        assert sorted(entry["n"] for entry in entry.conflicts) == sorted(met.values())
        assert [row["n"] for row in entry.conflicts] == sorted((row["n"] for row in entry.conflicts), reverse=True)
        for row in entry.conflicts:
            assert met[tuple(sorted((numbers[key(row["a"])], numbers[key(row["b"])])))] == row["n"]

        shares: dict[int, list[bool]] = {}
        for s, values in zip(of_sample, units, strict=True):
            shares.setdefault(s, []).extend(differ(a, b, tolerance) for a, b in combinations(values.values(), 2))
        worst = sorted((float(np.mean(pair)) for pair in shares.values() if any(pair)), reverse=True)[:5]
        assert [row["value"] for row in entry.worst_samples] == pytest.approx(worst)


def test_the_order_of_codes_does_not_matter_and_without_values_or_variation_there_is_no_alpha() -> None:
    samples = random_samples(4, n_samples=30, n_annotators=4)
    given = {name: given_of(samples, place, values) for place, (name, values) in enumerate(VALUES.items())}
    one, other = summaries_of(samples, given), summaries_of(samples, given, -1)
    for name, entry in one.items():
        for field in dataclasses.fields(entry):
            expected = getattr(entry, field.name)
            assert getattr(other[name], field.name) == (
                pytest.approx(expected, abs=1e-12) if isinstance(expected, float) else expected
            )
    samples: list[Sample] = [{r: [(1, 0.1, 0.1, 0.3, 0.3)] for r in range(2)}]
    (entry,) = summaries_of(samples, {"occluded": [None, None]}).values()
    assert (entry.n_units, entry.n_conflicts, entry.percent_agreement, entry.alpha) == (0, 0, None, None)
    assert (entry.level, entry.conflicts, entry.worst_samples) == ("nominal", [], [])
    for value in (3, "left", True):
        for undefined, alpha in (("none", None), ("one", 1.0)):
            (entry,) = summaries_of(samples, {"x": [value, value]}, undefined=undefined).values()
            assert (entry.percent_agreement, entry.alpha) == (1.0, alpha)


@pytest.mark.long
def test_an_attribute_may_have_millions_of_values() -> None:
    samples = random_samples(4, n_samples=20, n_annotators=4)
    given = {"age": given_of(samples, 0, VALUES["age"])}
    assert summaries_of(samples, given) == summaries_of(samples, given, others=range(100, 1_100_100))


N_TRACKED = 3


@st.composite
def matched_frames(draw):
    """Frames as ``(video, assigned, {annotator: [(track or None, unit)]})``; one object a unit and annotator."""
    frames = []
    for _ in range(draw(st.integers(0, 8))):
        assigned = draw(st.sets(st.integers(0, N_TRACKED - 1)))
        objects = {
            annotator: [
                (draw(st.sampled_from([None, 0, 1, -3])), unit)
                for unit in draw(st.lists(st.integers(0, 2), unique=True, max_size=3))
            ]
            for annotator in sorted(assigned)
        }
        frames.append((draw(st.integers(0, 1)), assigned, objects))
    return frames


def _records(frames):
    """The records of the frames, and their videos; objects of one unit have the same box."""
    rows = [
        (frame, annotator, NO_TRACK if track is None else track, unit)
        for frame, (_, _, objects) in enumerate(frames)
        for annotator, labels in objects.items()
        for track, unit in labels
    ]
    sample, annotator, track, unit = np.array(rows, np.int64).reshape(-1, 4).T
    assigned = np.zeros((len(frames), N_TRACKED), np.bool_)
    for frame, (_, who, _) in enumerate(frames):
        assigned[frame, sorted(who)] = True
    left, zero = 2.0 * unit, np.zeros(len(unit))
    boxes = Boxes(np.column_stack([left, zero, left + 1.0, zero + 1.0]))
    batch = Batch(Objects(sample, annotator, np.ones(len(unit), np.int64)), boxes, assigned, track=track)
    return oracle.records_of(batch, config_of(N_TRACKED))


def _consistency_by_loops(frames, a, b):
    """Mean of both directions, in plain Python."""
    directions = []
    for one, other in ((a, b), (b, a)):
        partners: dict[tuple[int, int], Counter] = {}
        for video, assigned, objects in frames:
            if one not in assigned or other not in assigned:
                continue
            for track, unit in objects[one]:
                if track is None:
                    continue
                found = [their for their, their_unit in objects[other] if their_unit == unit]
                partners.setdefault((video, track), Counter())[found[0] if found else None] += 1
        n_frames = sum(sum(counts.values()) for counts in partners.values())
        if not n_frames:
            return None
        kept = sum(max((n for track, n in counts.items() if track is not None), default=0)
                   for counts in partners.values())  # fmt: skip
        directions.append(kept / n_frames)
    return sum(directions) / 2


@examples(100)
@given(matched_frames(), st.integers(1, 4))
def test_consistency_is_that_of_loops_in_batches_of_any_size(frames, size):
    records = _records(frames[:size])
    for start in range(size, len(frames), size):
        records += _records(frames[start : start + size])
    consistency = track_consistency(records, np.array([video for video, _, _ in frames], np.int64))
    assert consistency.shape == (N_TRACKED, N_TRACKED)
    for a in range(N_TRACKED):
        assert np.isnan(consistency[a, a])
        for b in range(N_TRACKED):
            if a != b:
                expected = _consistency_by_loops(frames, a, b)
                value = None if np.isnan(consistency[a, b]) else consistency[a, b]
                assert value == (None if expected is None else pytest.approx(expected, abs=1e-12))


N_ANNOTATORS = 4
CROWD_CLASSES = ("", "cat", "dog", "owl")


def random_case(seed: int, n_samples: int = 25) -> tuple[np.ndarray, np.ndarray]:
    """Rows (sample, annotator, class, box, is a crowd region), sorted, and who was assigned."""
    rng = np.random.default_rng(seed)
    assigned = rng.random((n_samples, N_ANNOTATORS)) < 0.9
    rows = []
    for sample in range(n_samples):
        true = [
            (rng.integers(0, 40, 2), rng.integers(5, 12, 2), int(rng.integers(1, 4))) for _ in range(rng.integers(0, 6))
        ]
        for annotator in np.flatnonzero(assigned[sample]).tolist():
            for corner, size, kind in true:
                given = int(rng.integers(1, 4)) if rng.random() < 0.15 else kind
                if rng.random() < 0.75:
                    low = corner + rng.integers(-1, 2, 2)
                    rows.append((sample, annotator, given, *low, *(low + size), 0))
                elif rng.random() < 0.4:  # a region instead, which may cover its neighbours too
                    low = corner - rng.integers(0, 8, 2)
                    rows.append((sample, annotator, 1, *low, *(low + size + 8), 1))
    return np.array(rows, float).reshape(-1, 8), assigned


def inside(box: np.ndarray, region: np.ndarray) -> float:
    """Intersection over the smaller area."""
    width = min(box[2], region[2]) - max(box[0], region[0])
    height = min(box[3], region[3]) - max(box[1], region[1])
    areas = [(b[2] - b[0]) * (b[3] - b[1]) for b in (box, region)]
    return max(width, 0) * max(height, 0) / min(areas)


def counts(rows: np.ndarray, k: int) -> bool:
    """Whether a label is neither a crowd region nor mostly within one of somebody else."""
    sample, annotator, *_ = rows[k]
    regions = rows[(rows[:, 7] > 0) & (rows[:, 0] == sample) & (rows[:, 1] != annotator)]
    return not rows[k, 7] and all(inside(rows[k, 3:7], region[3:7]) < 0.5 for region in regions)


def crowd_batch(rows: np.ndarray, assigned: np.ndarray, *, crowd: bool) -> Batch:
    objects = Objects(*rows[:, :3].astype(np.int64).T)
    return Batch(objects, Boxes(rows[:, 3:7]), assigned, rows[:, 7] > 0 if crowd else None)


def crowd_report(batch: Batch, options: dict[str, Any]) -> dict[str, Any]:
    return object_report(batch, config_of(N_ANNOTATORS, resamples=30, **options), CROWD_CLASSES).to_dict()


RULES: list[dict[str, Any]] = [
    {}, {"missing": "ignore", "empty": "agree", "classes": "ignore"}, {"method": "recursive", "classes": "ignore"},
    {"method": "mutual_best"}, {"iou": 0.3, "similarity": "dice", "classes": "require", "undefined": "one"},
]  # fmt: skip


@pytest.mark.parametrize("options", RULES, ids=lambda options: " ".join(map(str, options.values())) or "defaults")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.few(4)
def test_the_report_is_that_of_the_labels_that_count_and_the_others_are_counted(seed, options) -> None:
    rows, assigned = random_case(seed)
    counted = np.array([counts(rows, k) for k in range(len(rows))])
    found = crowd_report(crowd_batch(rows, assigned, crowd=True), options)
    expected = crowd_report(crowd_batch(rows[counted], assigned, crowd=False), options)
    left_out = rows[~counted]
    for who, (entry, other) in enumerate(zip(found["annotators"], expected["annotators"], strict=True)):
        assert (entry.pop("n_crowd"), other.pop("n_crowd")) == (int((left_out[:, 1] == who).sum()), 0)
    assert found == expected
