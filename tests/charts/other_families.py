"""Small reports on ratings, tags and masks, with numbers that were written by hand."""

from __future__ import annotations

from typing import Any

from tests.charts.filled import filled_values, interval

from annotator_agreement.agreement import AgreementReport
from annotator_agreement.agreement.families import report_from_dict

_SHARED = ("run_key", "label_types", "n_samples", "n_rated", "n_units", "n_objects", "score", "run")


def _base(family: str, **config: Any) -> dict[str, Any]:
    values = filled_values()
    return {
        **{name: values[name] for name in _SHARED},
        "family": family,
        "config": {"run_key": "agreement", "undefined": "none", "empty": "skip", **config},
        "alpha": {"pooled": 0.7, "mean": None, "n_defined": 0, "undefined": {}, "percent_agreement": 0.8, "n_units": 9},
        "worst_samples": [],
        "intervals": {"alpha.pooled": interval(0.62, 0.77)},
    }  # fmt: skip


def _rating_pair(a: str, b: str, score: float, kappa: float, n: int, first: str, second: str) -> dict[str, Any]:
    return {
        "a": a, "b": b, "n_samples": 50, "score": score, "alpha": kappa, "kappa": {"identity": kappa},
        "scott_pi": kappa, "mean_distance": None,
        "confusion": [{"a": "cat", "b": "cat", "n": 30}, {"a": first, "b": second, "n": n}], "n_unlisted": 0,
    }  # fmt: skip


def rating_report() -> AgreementReport:
    """Three annotators who rated samples as cat, dog or owl."""
    annotators = [
        {"name": name, "n_assigned": 50, "n_not_assigned": 0, "n_objects": 50, "score": 0.8,
         "verdicts": {"agreed": 40, "class_conflict": disputed}, "classes": {"cat": 30, "dog": 20}, "mean": None,
         "std": None, "n_majority": 50, "n_other_class": other, "other_class": other / 50,
         "other_classes": [{"a": "dog", "b": "cat", "n": other}]}
        for name, disputed, other in (("alice", 10, 3), ("bob", 5, 1), ("carol", 20, 18))
    ]  # fmt: skip
    pairs = [
        _rating_pair("alice", "bob", 0.9, 0.81, 4, "cat", "dog"),
        _rating_pair("alice", "carol", 0.7, 0.55, 9, "dog", "cat"),
        _rating_pair("bob", "carol", 0.8, 0.6, 2, "owl", "dog"),
    ]
    return report_from_dict(
        {
            **_base("ratings", tolerance=0.0), "level": "nominal", "n_disputed": 20, "pairs": pairs,
            "coefficients": {"krippendorff_alpha": {"identity": 0.7}, "fleiss_kappa": {"identity": 0.69}},
            "annotators": annotators, "categories": ["cat", "dog", "owl"],
        }
    )  # fmt: skip


def tag_report() -> AgreementReport:
    """Two annotators who gave tags."""
    return report_from_dict(
        {
            **_base("tags"), "set_distance": "masi", "too_many_sets": False, "n_disputed": 30,
            "tags": [
                {"tag": "rain", "n_samples": 40, "n_agreed": 20, "votes": 60, "share": 0.75, "alpha": 0.5},
                {"tag": "snow & ice", "n_samples": 10, "n_agreed": 9, "votes": 19, "share": 0.95, "alpha": 0.9},
                {"tag": "fog", "n_samples": 1, "n_agreed": 0, "votes": 1, "share": 0.5, "alpha": None},
            ],
            "pairs": [{"a": "alice", "b": "bob", "n_samples": 60, "score": 0.7, "same_tags": 0.5}],
            "annotators": [
                {"name": name, "n_assigned": 60, "n_gave_nothing": 2, "n_not_assigned": 0, "n_objects": 80,
                 "n_missed": 0, "score": 0.7, "verdicts": {"agreed": 60, "missed": 0, "lone": lone},
                 "classes": {"rain": 50}}
                for name, lone in (("alice", 20), ("bob", 12))
            ],
        }
    )  # fmt: skip


def pixel_report() -> AgreementReport:
    """Two annotators who painted masks; the background is no class to agree on."""
    numbers = {"iou": 0.6, "dice": 0.7, "iou_with_background": 0.8, "dice_with_background": 0.85, "accuracy": 0.9,
               "kappa": 0.75, "boundary_iou": None, "surface_dice": None, "hd95": None}  # fmt: skip
    classes = [
        {"value": value, "name": name, "is_background": value == 0, "n_samples": 40, "n_pixels": 1000, "iou": iou,
         "dice": iou + 0.1, "mean_iou": iou, "mean_dice": iou + 0.1}
        for value, name, iou in ((0, "nothing", 0.95), (1, "road", 0.82), (2, "pole", 0.31))
    ]  # fmt: skip
    return report_from_dict(
        {
            **_base("pixels", boundaries=False, ignore_values=[], disagreement_map=False), "n_empty": 0,
            "n_disputed": 7, "background": 0, "is_rgb": False, "n_pixels": 3000, "n_ignored": 0, "ignored": 0.0,
            "kappa": 0.75, "mean": numbers, "n_classes": 3, "classes": classes,
            "pairs": [
                {"a": "alice", "b": "bob", "n_samples": 40, "score": 0.6, "alpha": 0.7, "accuracy": 0.9, "kappa": 0.75,
                 "mean": numbers}
            ],
            "annotators": [
                {"name": name, "n_assigned": 40, "n_not_assigned": 0, "n_pixels": 3000, "score": 0.6,
                 "classes": {"road": 0.5}}
                for name in ("alice", "bob")
            ],
        }
    )  # fmt: skip


OTHERS = {"ratings": rating_report, "tags": tag_report, "pixels": pixel_report}
