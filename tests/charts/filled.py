"""A report on objects in which every entry is filled, with numbers that were written by hand."""

from __future__ import annotations

from typing import Any

from annotator_agreement.agreement.objects import DataThreshold, ObjectReport, RuleAlpha, Sensitivity, ThresholdPoint

#: names that would break a page or a table if they were not escaped
ANNOTATORS = ["alice", "bob & co", '<b>carol</b> "c"', "dan|d"]
CLASSES = ["car", "bus", "coach", "person <far>", "Car ", "traffic light"]
#: pair: score, alpha, F1, mean IoU, kappa; alice and bob are the closest, dan is far from all
PAIR_NUMBERS = {
    (0, 1): (0.81, 0.84, 0.93, 0.88, 0.91), (0, 2): (0.74, 0.77, 0.88, 0.85, 0.86),
    (0, 3): (0.52, 0.47, 0.71, 0.76, 0.62), (1, 2): (0.71, 0.73, 0.86, 0.84, 0.84),
    (1, 3): (0.49, 0.43, 0.69, 0.75, 0.59),
}  # fmt: skip
#: carol and dan share no sample
ALONE = (2, 3)
BIAS = {
    "alice": {"size": 0.4, "left": -0.2, "top": 0.1, "right": 0.2, "bottom": 0.3},
    "bob & co": {"size": 0.1, "left": 0.3, "top": 0.0, "right": -0.2, "bottom": 0.1},
    '<b>carol</b> "c"': {"size": -1.6, "left": 1.2, "top": 0.2, "right": -0.3, "bottom": 0.2},
    "dan|d": {"size": 12.0, "left": -5.9, "top": -6.2, "right": 6.1, "bottom": 9.1},
}
ALPHA_OF_CLASSES = [0.86, 0.61, 0.44, 0.72, None, 0.9]
THRESHOLDS = [round(0.05 * k, 2) for k in range(2, 20)]
IOU_HISTOGRAM = [0] * 10 + [12, 18, 31, 52, 74, 120, 210, 330, 401, 152]
CONFUSION = [("bus", "coach", 57), ("car", "Car ", 21), ("car", "person <far>", 9), ("bus", "car", 4)]


def interval(low: float, high: float, n: int = 200) -> dict[str, Any]:
    """An interval whose ends are given."""
    return {"low": low, "high": high, "error": round((high - low) / 3.92, 6), "n": n}


def around(value: float, half: float = 0.02, n: int = 200) -> dict[str, Any]:
    """An interval around a value."""
    return interval(round(value - half, 6), round(value + half, 6), n)


def coefficients(alpha: float | None) -> dict[str, Any]:
    """Coefficients around an alpha."""
    return {
        "n_units": 880, "percent_agreement": 0.921, "alpha": alpha, "ac1": 0.913, "brennan_prediger": 0.905,
        "fleiss_kappa": 0.851,
    }  # fmt: skip


def worst(*values: float) -> list[dict[str, Any]]:
    """Samples of a list of the worst ones."""
    return [
        {"id": f"{k:024x}", "filepath": f"/data/images/street_{k}.jpg", "value": value}
        for k, value in enumerate(values, 1)
    ]


def _confused(a: str, b: str, n: int, low: float, by_chance: float) -> dict[str, Any]:
    share = n / 100
    ends = {"share": share, "low": low, "high": 2 * share - low, "by_chance": by_chance}
    return {"classes": [a, b], "n": n, "n_images": min(n, 40), **ends, "is_clear": low > by_chance}


def _finding(
    kind: str, annotators: list[str], classes: list[str], size: str | None, value: float, others: float
) -> dict[str, Any]:
    difference = round(value - others, 6)
    return {
        "kind": kind, "annotators": annotators, "classes": classes, "size": size, "value": value, "others": others,
        "difference": difference, "low": round(difference - 0.1, 6), "high": round(difference + 0.1, 6),
        "p_value": 1e-7, "n_labels": 100, "n_images": 40,
    }  # fmt: skip


def filled_values() -> dict[str, Any]:
    """What ``to_dict()`` of the report gives."""
    return {
        "run_key": "agreement",
        "config": {
            "run_key": "agreement", "fields": ["alice", "bob", "carol", "dan"], "iou": 0.5, "similarity": "iou",
            "method": "optimal", "classes": "prefer", "missing": "category", "empty": "skip", "undefined": "none",
        },
        "label_types": ["Detections"], "n_samples": 214, "n_rated": 200, "n_units": 1000, "n_objects": 3100,
        "n_empty": 12, "n_hard_components": 40, "n_inexact_components": 2, "n_repaired": 0, "n_points": 0,
        "track_consistency": None, "score": {"mean": 0.612, "n": 188, "of_meetings": 0.607},
        "image_alpha": {
            "value": 0.594, "observed": 0.388, "expected": 0.956, "sigma": 0.91, "ks": 0.884, "n_images": 200,
            "n_expected": 20_000,
        },
        "alpha": {
            "pooled": 0.6466, "mean": 0.5824, "n_defined": 149,
            "undefined": {"one_annotator": 14, "no_objects": 12, "single_category": 39}, "percent_agreement": 0.741,
            "n_units": 1000,
        },
        "intervals": {
            "alpha.pooled": interval(0.603, 0.691), "image_alpha.value": interval(0.566, 0.622),
            "score.mean": interval(0.581, 0.640), "existence.f1": interval(0.79, 0.83),
            "class_given_match.alpha": interval(0.80, 0.90),
            "class_given_match.percent_agreement": interval(0.90, 0.94),
            "localisation.mean_iou": interval(0.82, 0.85),
        },
        "look_first": [
            {
                "id": "d" * 24, "filepath": "/data/b.jpg", "score": 0.2, "n_units": 9, "n_disputed": 8,
                "share": 0.25, "reason": "8 lone (alice)",
            },
        ],
        "worst_samples": [
            {"id": "f" * 24, "filepath": "/data/a <b>.jpg", "score": 0.05, "n_units": 9, "n_disputed": 8},
            {"id": "e" * 24, "filepath": None, "score": 0.11, "n_units": 4, "n_disputed": 4},
        ],
        "run": {"coverage": "fields", "seconds": 3.25, "versions": {"fiftyone": "1.22.1", "numpy": "2.1.0"}},
        "existence": {
            "f1": 0.812, "jaccard": 0.683,
            "votes": [
                {"assigned": 3, "votes": 1, "units": 150}, {"assigned": 3, "votes": 2, "units": 250},
                {"assigned": 3, "votes": 3, "units": 570}, {"assigned": 2, "votes": 1, "units": 10},
                {"assigned": 2, "votes": 2, "units": 20},
            ],
            "presence": coefficients(0.64), "share_present": 0.93, "worst_samples": worst(0.1, 0.2),
        },
        "class_given_match": {
            "alpha": 0.852, "percent_agreement": 0.921, "n_units": 840, "coefficients": coefficients(0.852),
            "confusion": [{"a": a, "b": b, "n": n} for a, b, n in CONFUSION], "n_unlisted": 9,
            "worst_samples": worst(0.9, 0.7),
        },
        "localisation": {
            "mean_iou": 0.836, "mean_dice": 0.905, "n_pairs": 1400, "measure": "IoU", "median_iou": 0.872,
            "iou_histogram": IOU_HISTOGRAM, "worst_samples": worst(0.51, 0.55),
        },
        "coefficients": coefficients(0.6466),
        "attributes": [
            {
                "name": "occluded", "level": "nominal", "n_units": 700, "n_conflicts": 88,
                "percent_agreement": 0.88, "alpha": 0.71, "conflicts": [{"a": "False", "b": "True", "n": 88}],
                "worst_samples": worst(0.5),
            },
        ],
        "sizes": [
            _size("small", 0.0, 1024.0, 0.31, 0.74), _size("medium", 1024.0, 9216.0, 0.14, 0.85),
            _size("large", 9216.0, None, 0.05, 0.91),
        ],
        "pairs": [_pair(a, b) for a, b in PAIR_NUMBERS], "annotators": [_annotator(k) for k in range(4)],
        "sessions": {
            "intra_alpha": 0.84, "inter_alpha": 0.62, "intra_score": 0.81, "inter_score": 0.58, "intra_f1": 0.93,
            "inter_f1": 0.78, "intra_mean_iou": 0.88, "inter_mean_iou": 0.81, "n_intra_pairs": 1,
            "n_inter_pairs": 4, "intervals": {"intra_alpha": around(0.84)},
        },
        "clusters": [
            {"members": ["alice", "bob & co"], "similarity": 0.81},
            {"members": ['<b>carol</b> "c"', "alice", "bob & co"], "similarity": 0.725},
            {"members": ['<b>carol</b> "c"', "alice", "bob & co", "dan|d"], "similarity": 0.505},
        ],
        "classes": [_class(k) for k in range(len(CLASSES))], "n_classes_unlisted": 3,
        "merges": [
            {"classes": ["bus", "coach"], "n_confused": 57, "alpha_before": 0.6466, "alpha_after": 0.689},
            {"classes": ["Car ", "car"], "n_confused": 21, "alpha_before": 0.6466, "alpha_after": 0.66},
        ],
        "similar_names": [["Car ", "car"]],
        "findings": [
            _finding("misses_size", ["dan|d"], [], "small", 0.63, 0.05),
            _finding("confused", [], ["bus", "coach"], None, 0.57, 0.08),
        ],
        "n_tested": 60,
        "confused": [_confused("bus", "coach", 57, 0.46, 0.08), _confused("Car ", "car", 21, 0.1, 0.19)],
    }  # fmt: skip


def _size(size: str, area_from: float, area_to: float | None, miss_rate: float, mean_iou: float) -> dict[str, Any]:
    return {
        "size": size, "area_from": area_from, "area_to": area_to, "unit": "px²", "n_units": 330, "n_pairs": 460,
        "mean_iou": mean_iou, "median_iou": mean_iou + 0.02, "miss_rate": miss_rate, "f1": 1.0 - miss_rate / 2,
    }  # fmt: skip


def _pair(a: int, b: int) -> dict[str, Any]:
    score, alpha, f1, mean_iou, kappa = PAIR_NUMBERS[a, b]
    n_a, n_b = 500, 460
    n_matched = round(f1 * (n_a + n_b) / 2)
    n_same = round(0.95 * n_matched)
    sq = mean_iou + 0.01
    rq = 2 * n_same / (n_a + n_b)
    mean = {"mean": 0.7, "std": 0.2, "n": 90}
    return {
        "a": ANNOTATORS[a], "b": ANNOTATORS[b], "n_samples": 100 + 10 * a + b, "n_a": n_a, "n_b": n_b,
        "n_matched": n_matched, "score": score, "alpha": alpha,
        "image_alpha": round(1.0 - (1.0 - score) / 0.956, 4), "percent_agreement": 0.8, "f1": f1,
        "class_agreement": n_same / n_matched, "mean_iou": mean_iou, "mean_dice": mean_iou + 0.05, "pq": sq * rq,
        "sq": sq, "rq": rq, "mean_max_iou": {"a_to_b": mean, "b_to_a": mean, "symmetric": mean}, "alignment": None,
        "jaccard": f1 / (2 - f1), "kappa": kappa, "ac1": kappa + 0.03,
        "confusion": [{"a": "bus", "b": "coach", "n": 9 + a}, {"a": "coach", "b": "bus", "n": 4 + b}],
        "n_unlisted": 1, "intra": (a, b) == (0, 1),
        "intervals": {"alpha": around(alpha, 0.05), "score": around(score, 0.04)},
    }  # fmt: skip


def _annotator(k: int) -> dict[str, Any]:
    name, is_far = ANNOTATORS[k], k == 3
    n_could_miss = 600
    n_missed = 150 if is_far else 20 + 10 * k
    return {
        "name": name, "n_assigned": 150 + k, "n_drew_nothing": 12, "n_not_assigned": 64 - k,
        "n_objects": 700 + 50 * k, "n_missed": n_missed, "n_crowd": 5,
        "verdicts": {
            "agreed": 500, "class_conflict": 40 + k, "attribute_conflict": 20, "missed": 100, "lone": 30 + 10 * k,
            "split": 4, "duplicate": 6 if is_far else 0,
        },
        "classes": {"car": 400, "bus": 200, "coach": 100 + 50 * k}, "person": "alice" if k < 2 else name,
        "score": 0.7 - 0.05 * k, "n_could_miss": n_could_miss, "miss_rate": n_missed / n_could_miss,
        "miss_rate_by_size": {"small": 0.3, "medium": 0.1, "large": None}, "mean_iou": 0.85 - 0.02 * k,
        "class_conflicts": [{"a": "bus", "b": "coach", "n": 12 + k}], "n_majority": 500,
        "n_other_class": 10 * k + 5, "other_class": (10 * k + 5) / 500,
        "other_classes": [{"a": "bus", "b": "coach", "n": 9 + k}],
        "bias": {
            "n": 640, "mean": BIAS[name], "std": dict.fromkeys(BIAS[name], 4.0),
            "intervals": {side: around(value, 0.6) for side, value in BIAS[name].items()},
        },
        "vitality": -0.081 if is_far else 0.021 + 0.01 * k,
        "consensus": {
            "n_units": 620, "n_objects": 700, "precision": 0.9, "recall": 0.88, "f1": 0.89, "class_agreement": 0.94,
            "mean_iou": 0.86, "intervals": {"f1": around(0.89)},
        },
        "intervals": {"miss_rate": around(n_missed / n_could_miss), "score": around(0.7 - 0.05 * k)},
    }  # fmt: skip


def _class(k: int) -> dict[str, Any]:
    alpha = ALPHA_OF_CLASSES[k]
    return {
        "name": CLASSES[k], "n_objects": 1200 // (k + 1), "n_units": 400 // (k + 1), "prevalence": 0.4 / (k + 1),
        "alpha": alpha, "agreement_given_match": 0.95 - 0.04 * k, "miss_rate": 0.1 + 0.05 * k,
        "mean_iou": 0.9 - 0.02 * k, "median_iou": 0.92 - 0.02 * k,
        "confused_with": [{"class": "coach", "n": 57}, {"class": "car", "n": 4}] if CLASSES[k] == "bus" else [],
        "intervals": {} if alpha is None else {"alpha": around(alpha, 0.02 + 0.02 * k)},
    }  # fmt: skip


#: the threshold from the data
DATA_THRESHOLD: dict[str, Any] = {
    "halves": [0.36, 0.39], "threshold": 0.37, "ks": 0.91, "n_samples": 200, "n_observed": 2900, "n_expected": 2800,
    "observed": [90, 30, 25, 20, 25, 30, 35, 45, 60, 80, 100, 130, 170, 220, 280, 350, 420, 400, 280, 110],
    "expected": [1900, 420, 200, 110, 70, 40, 25, 15, 10, 5, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0],
}  # fmt: skip


def filled_sensitivity(**changes: Any) -> Sensitivity:
    """Other thresholds and rules, some entries changed."""
    points = [ThresholdPoint(at, round(0.72 - 0.5 * (at - 0.1) ** 2, 4) if at < 0.95 else None,
                             round(0.65 - 0.3 * (at - 0.1) ** 2, 4), round(0.9 - 0.6 * (at - 0.1) ** 2, 4),
                             900 + 40 * k, 60 - 3 * k, max(0, 4 - k)) for k, at in enumerate(THRESHOLDS)]  # fmt: skip
    values: dict[str, Any] = {
        "thresholds": points,
        "rules": [
            RuleAlpha("optimal", "prefer", "category", "skip", "none", 0.6466, 0.5824, 149),
            RuleAlpha("optimal", "ignore", "category", "skip", "none", 0.6334, 0.5692, 149),
            RuleAlpha("optimal", "prefer", "ignore", "agree", "one", 0.9986, None, 0),
        ],
        "data_threshold": DataThreshold(**DATA_THRESHOLD),
    }
    return Sensitivity(**{**values, **changes})


def filled_report(**changes: Any) -> ObjectReport:
    """The filled report, some entries changed."""
    return ObjectReport.from_dict({**filled_values(), **changes})


#: every entry that has a default, at this default: what old reports have, and the smallest ones
UNFILLED: dict[str, Any] = {
    "image_alpha": None, "coefficients": None, "attributes": [], "sizes": [], "sessions": None, "clusters": [],
    "classes": [], "n_classes_unlisted": 0, "merges": [], "similar_names": [], "findings": [], "confused": [],
    "n_tested": 0, "intervals": {},
}  # fmt: skip


def unfilled_report() -> ObjectReport:
    """A report with only the fields of the first version, and all numbers undefined."""
    pair = dict.fromkeys(_pair(0, 1)) | {
        "a": "alice", "b": "bob & co", "n_samples": 1, "n_a": 0, "n_b": 0, "n_matched": 0, "confusion": [],
        "mean_max_iou": {"symmetric": {"mean": None, "std": None, "n": 0}}, "n_unlisted": 0, "intra": False,
        "intervals": {},
    }  # fmt: skip
    annotator = {"name": "alice", "n_assigned": 1, "n_drew_nothing": 1, "n_not_assigned": 0, "n_objects": 0,
                 "n_missed": 0, "n_crowd": 0, "verdicts": {"agreed": 0, "lone": 0}, "classes": {}}  # fmt: skip
    none = {"mean": None, "n": 0}
    alpha = {"pooled": None, "mean": None, "n_defined": 0, "undefined": {}, "percent_agreement": None, "n_units": 0}
    return filled_report(
        **UNFILLED, n_units=0, n_objects=0, score=none, alpha=alpha, worst_samples=[], pairs=[pair],
        existence={"f1": None, "votes": []}, annotators=[annotator],
        class_given_match={"alpha": None, "percent_agreement": None, "n_units": 0},
        localisation={"mean_iou": None, "mean_dice": None, "n_pairs": 0},
    )  # fmt: skip
