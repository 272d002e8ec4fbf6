"""The options of a run as inputs of a form: which of them concern a label type, and what each choice means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import fiftyone.operators as foo
from fiftyone.operators import types

from ..dataset_io.labels.kinds import LabelKind
from .option_kinds import Choice, Number, OptionInput, Renamings, Share, Switch, Text, Texts


def _objects(kind: LabelKind, params: Mapping[str, Any]) -> bool:
    return kind.family == "objects"


def _matched_at_threshold(kind: LabelKind, params: Mapping[str, Any]) -> bool:
    return kind.family == "objects" and params.get("method") != "mutual_best"


def _at_given_threshold(kind: LabelKind, params: Mapping[str, Any]) -> bool:
    return _matched_at_threshold(kind, params) and not params.get(_IOU_FROM_DATA)


def _shapes(kind: LabelKind, params: Mapping[str, Any]) -> bool:
    return kind.comparable == "shapes"


def _drawn_shapes(kind: LabelKind, params: Mapping[str, Any]) -> bool:
    return kind.title == "Polylines" and params.get("geometry") != "box"


def _keypoints(kind: LabelKind, params: Mapping[str, Any]) -> bool:
    return kind.comparable == "keypoints"


def _classes(kind: LabelKind, params: Mapping[str, Any]) -> bool:
    return kind.comparable in ("classes", "numbers")


def _names(kind: LabelKind, params: Mapping[str, Any]) -> bool:
    return kind.comparable == "classes"


def _numbers(kind: LabelKind, params: Mapping[str, Any]) -> bool:
    return kind.comparable == "numbers"


def _given_numbers(kind: LabelKind, params: Mapping[str, Any]) -> bool:
    return kind.comparable == "numbers" or (kind.family == "objects" and bool(params.get("attributes")))


def _named(kind: LabelKind, params: Mapping[str, Any]) -> bool:
    return kind.family == "objects" or kind.comparable in ("classes", "tags")


def _tags(kind: LabelKind, params: Mapping[str, Any]) -> bool:
    return kind.comparable == "tags"


def _pixels(kind: LabelKind, params: Mapping[str, Any]) -> bool:
    return kind.family == "pixels"


def _boundaries(kind: LabelKind, params: Mapping[str, Any]) -> bool:
    return kind.family == "pixels" and bool(params.get("boundaries"))


def _map(kind: LabelKind, params: Mapping[str, Any]) -> bool:
    return kind.family == "pixels" and bool(params.get("disagreement_map", params.get("map_folder")))


def _can_be_empty(kind: LabelKind, params: Mapping[str, Any]) -> bool:
    return kind.family in ("objects", "pixels")


def _any(kind: LabelKind, params: Mapping[str, Any]) -> bool:
    return True


#: switch of the form that stands for the option ``iou="auto"``
_IOU_FROM_DATA = "iou_from_data"

#: the inputs in the order of the form
OPTION_INPUTS: tuple[OptionInput, ...] = (
    Switch(
        _IOU_FROM_DATA,
        "Threshold from the data",
        "The one at which a match is as likely chance as agreement, found in up to 2,000 samples",
        _matched_at_threshold,
    ),
    Share("iou", _at_given_threshold),
    Choice(
        "geometry",
        "What is compared",
        {
            "auto": "The shape (mask, polygon) where a label has one, else its box",
            "box": "Always the box",
            "shape": "Always the shape; a label without one is unusable",
        },
        _shapes,
    ),
    Choice(
        "rasterize",
        "Area of polygons",
        {
            "exact": "Exact",
            "pillow": "Pixels that Pillow fills, as published with the recursive method",
        },
        _drawn_shapes,
        nothing="exact",
    ),
    Number(
        "line_tolerance",
        "Tolerance of open lines (pixels)",
        "Polylines that are neither closed nor filled agree within this distance; without it they are refused",
        None,
        _drawn_shapes,
    ),
    Choice(
        "sigmas",
        "Precision of keypoints",
        {
            "default": "The same for every point (σ 0.05)",
            "coco": "COCO's constants for the 17 points of a person",
        },
        _keypoints,
        nothing="default",
    ),
    Choice(
        "classes",
        "Classes",
        {
            "prefer": "Prefer: match objects of one class first, then others",
            "ignore": "Ignore: match by position alone",
            "require": "Require: only objects of one class can match",
        },
        _objects,
    ),
    Choice(
        "missing",
        "A missed object, in alpha",
        {
            "category": "is a disagreement (a category of its own)",
            "ignore": "is left out (alpha over classes alone)",
        },
        _objects,
    ),
    Choice(
        "level",
        "Level of measurement",
        {
            "auto": "Ordinal where classes are listed below, else nominal",
            "nominal": "Nominal: names without an order",
            "ordinal": "Ordinal: an order, but no distances; needs the list of classes",
        },
        _names,
    ),
    Choice(
        "level",
        "Level of measurement",
        {
            "auto": "Ordinal where classes are listed below, else interval",
            "nominal": "Nominal: names without an order",
            "ordinal": "Ordinal: an order, but no distances",
            "interval": "Interval: equal steps, no natural zero",
            "ratio": "Ratio: equal steps and a natural zero",
        },
        _numbers,
    ),
    Texts("categories", "Classes in ascending order", "Only for classes that have an order: all of them", _classes),
    Texts(
        "attributes",
        "Attributes",
        "Optional: attributes of labels, such as occluded, that are compared among the labels of one object",
        _objects,
        are_values=False,
    ),
    Number("tolerance", "Tolerance", "Numbers that differ by at most this agree", 0.0, _given_numbers),
    Renamings(
        "aliases",
        "Class names that stand for others",
        "Optional: Car=car reads the class Car as car; the labels stay as they are",
        _named,
    ),
    Choice(
        "set_distance",
        "Distance of two sets of tags",
        {
            "masi": "MASI: a set within the other is closer than one that only overlaps",
            "jaccard": "Jaccard: share of the tags that not both have",
        },
        _tags,
    ),
    Text(
        "background",
        "Background",
        "Value of the background; auto: 0, unless the mask targets name that as a class; none: there is no background",
        "auto",
        _pixels,
    ),
    Texts("ignore_values", "Ignored values", "A pixel to which any annotator gives one of these is left out", _pixels),
    Switch("boundaries", "Compare boundaries", "Boundary IoU, surface Dice, HD95; takes several times longer", _pixels),
    Number("boundary_tolerance", "Tolerance (pixels)", "Distance within which boundaries agree", 2.0, _boundaries),
    Switch("disagreement_map", "Write a map", "A heatmap on every sample shows where annotators disagree", _pixels),
    Text(
        "map_folder",
        "Folder for the maps",
        "Optional: folder for the files of the maps; without it they are written into the database",
        "",
        _map,
    ),
    Choice(
        "empty",
        "An image that everybody left empty",
        {"skip": "is left out", "agree": "counts as agreement (score 1)"},
        _can_be_empty,
    ),
    Choice(
        "undefined",
        "Alpha where everybody used one category",
        {"none": "is undefined (no variation)", "one": "is 1"},
        _objects,
    ),
    Choice(
        "method",
        "Matching method",
        {
            "optimal": "Optimal: greatest total overlap, independent of any order",
            "recursive": "Recursive: one annotator after the other; depends on their order",
            "mutual_best": "Mutual best: each other's best match, no threshold; may depend on the order",
        },
        _objects,
    ),
    Choice(
        "similarity",
        "Similarity",
        {
            "iou": "IoU: shared extent / joint extent (of keypoints OKS)",
            "dice": "Dice: 2 x shared extent / sum of both extents",
        },
        _objects,
    ),
    Text(
        "crowd_attribute",
        "Attribute of crowd regions",
        "Labels on which this attribute is true are crowd regions, which are not matched; none: there are none",
        "iscrowd",
        _objects,
    ),
    Choice(
        "invalid",
        "Labels that cannot be compared",
        {"error": "stop with a message", "skip": "are left out and counted"},
        _any,
    ),
    Switch(
        "rematch",
        "Match again without each annotator",
        "Also for the vitality of the annotators, which then takes longer",
        _objects,
    ),
    Switch(
        "sensitivity",
        "Other thresholds and rules",
        "The report shows the main numbers at other thresholds and under other rules",
        _objects,
        default=True,
    ),
    Switch(
        "units",
        "One label for every object",
        "Also write the objects that the annotators drew, one label for each, to look at disputed ones one by one",
        _objects,
    ),
    Number("resamples", "Resamples", "Of the samples, for confidence intervals; 0: no intervals", 1000, _any),
    Number("seed", "Seed", "Of the random numbers of the intervals", 51, _any),
)


def add_option_inputs(inputs: types.Object, ctx: foo.ExecutionContext, kinds: Sequence[LabelKind]) -> None:
    """Add the inputs of the options that concern any of some label types."""
    for option in OPTION_INPUTS:
        if any(option.applies(kind, ctx.params) for kind in kinds):
            option.add(inputs, ctx, kinds[0])


def given_options(params: Mapping[str, Any], kinds: Sequence[LabelKind]) -> dict[str, Any]:
    """The options that a form or a caller gave, and that concern any of some label types."""
    options = {
        option.name: option.value(params[option.name])
        for option in OPTION_INPUTS
        if params.get(option.name) not in (None, "", []) and any(option.applies(kind, params) for kind in kinds)
    }
    if options.pop(_IOU_FROM_DATA, False):
        options["iou"] = "auto"
    return options
