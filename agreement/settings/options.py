"""The options of a run, each declared once: name, default, check, applicable label types, and texts.

Everything else follows from the table or is checked against it: the signature and docstring of ``compute_agreement``,
``AgreementConfig``, the form in the App, the table in ``docs/reference/options.md``, and the comparison of two runs.
"""

from __future__ import annotations

import dataclasses
import numbers
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from ... import names
from .arguments import is_real, one_of, path_of, repeated, true_or_false, without_numpy, writing_to
from .errors import AgreementInputError, did_you_mean, shown
from .no_labels import DREW_NOTHING, NOT_ASSIGNED, NoLabels
from .no_labels import TITLE as NO_LABELS_TITLE

#: name of an attribute or field that MongoDB can hold
ATTRIBUTE = re.compile(r"[^.$\x00][^.\x00]*")
#: run keys, which are a part of names of fields, indexes, saved views and files
_RUN_KEY = re.compile(r"[a-z][a-z0-9_]{0,99}")
#: most processes on one machine; on Windows ``ProcessPoolExecutor`` takes no more
_MOST_WORKERS = 61 if sys.platform == "win32" else 1_000
#: value of ``confidence_threshold``: each half of the images gets the threshold with the best F1 on the other half
BEST_F1 = "best_f1"
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")


def _check(
    must: str,
    fits: Callable[[Any], Any],
    kept: Callable[[Any], Any] = lambda value: value,
    *,
    also: Sequence[str | None] = (),
    advice: str = "",
) -> Callable[[str, Any], Any]:
    """A check of a value.

    Args:
        must: what it must be, in the message
        fits: whether a value is right
        kept: gives the value to store
        also: values that are right, too, and kept as they are
        advice: end of the message
    """

    def check(option: str, value: Any) -> Any:
        if (value is None or isinstance(value, str)) and value in also:
            return value
        if not fits(value):
            raise AgreementInputError(f"`{option}` must be {must}, got {value!r}{advice}")
        return kept(value)

    return check


def _names(must: str, different: str, fits: Callable[[str], Any]) -> Callable[[str, Any], tuple[str, ...]]:
    """A check of one name or several; see :func:`_check`."""

    def check(option: str, value: Any) -> tuple[str, ...]:
        found = (value,) if isinstance(value, str) else value
        if not isinstance(found, Sequence) or not all(isinstance(name, str) and fits(name) for name in found):
            raise AgreementInputError(f"`{option}` must be {must}, got {value!r}")
        return _different(option, different, found)

    return check


def _different(option: str, what: str, values: Sequence[str]) -> tuple[str, ...]:
    if twice := repeated(values):
        raise AgreementInputError(f"`{option}` must be different {what}, got {shown(twice)} more than once")
    return tuple(values)


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and bool(ATTRIBUTE.fullmatch(value))


@dataclass(frozen=True, slots=True)
class WholeFrom:
    """A check for whole numbers within limits; whole floats pass, because forms return floats."""

    least: int
    most: int

    def __call__(self, option: str, value: Any) -> int:
        if not is_real(value) or value != int(value) or not self.least <= value <= self.most:
            limits = f"{self.least} to {self.most:,}"
            raise AgreementInputError(f"`{option}` must be a whole number from {limits}, got {value!r}")
        return int(value)


def _executor(option: str, value: Any) -> Any:
    is_class, is_client = isinstance(value, type), callable(getattr(value, "get_executor", None))
    if value is None or (callable(getattr(value, "submit", None)) and not is_class and not is_client):
        return value
    got = f"the class {value.__name__}; call it: {value.__name__}()" if is_class else type(value).__name__
    hint = "; a client of Dask gives one with client.get_executor()" if is_client else ""
    raise AgreementInputError(f"`{option}` must be a concurrent.futures.Executor, or None, got {got}{hint}")


def _folder_or_none(option: str, value: Any) -> str | None:
    if value is None:
        return None
    with writing_to(option, value):  # the current folder may be gone
        return os.path.abspath(path_of(option, value))


def _categories(option: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise AgreementInputError(f"`{option}` must be a list of classes in ascending order, got {value!r}")
    if not all(isinstance(entry, str | bool) or is_real(entry) for entry in value):
        raise AgreementInputError(f"`{option}` must be texts or numbers, got {value!r}")
    return _different(option, "classes", [value_name(entry) for entry in value])


def _aliases(option: str, value: Any) -> dict[str, str]:
    """Names and their replacements; a replacement must not be replaced itself."""
    value = {} if value is None else value
    if not isinstance(value, Mapping) or not all(
        isinstance(name, str) and name and "\0" not in name for entry in value.items() for name in entry
    ):
        raise AgreementInputError(f"`{option}` must map class names to class names, got {value!r}")
    aliases = {name: meant for name, meant in sorted(value.items()) if name != meant}
    chained = sorted(name for name, meant in aliases.items() if meant in aliases)
    if chained:
        name = chained[0]
        raise AgreementInputError(
            f"`{option}` must map every name to the final one, got {name!r} for {aliases[name]!r}, which stands for "
            f"{aliases[aliases[name]]!r} itself"
        )
    return aliases


def value_name(value: object) -> str:
    """A value as text; 1 and 1.0 give the same text, as they are equal in the database."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def mask_value(value: Any) -> int | None:
    """A value of a semantic mask: an integer, or a colour ``#rrggbb`` as an integer; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, numbers.Integral) and 0 <= int(value) < 2**63:  # range of masks and of the database
        return int(value)
    if isinstance(value, str) and _COLOR.fullmatch(value):
        return int(value[1:], 16)
    return None


def _mask_values(option: str, value: Any) -> tuple[int, ...]:
    values = [value] if isinstance(value, str) or not isinstance(value, Sequence) else list(value)
    found = [mask_value(entry) for entry in values]
    if None in found:
        raise AgreementInputError(
            f"`{option}` must be mask values (integers of at least 0, or colours like '#ff0000'), got {value!r}"
        )
    return tuple(sorted({number for number in found if number is not None}))


def _no_labels(option: str, value: Any) -> NoLabels:
    """One meaning for all annotators, or a mapping; a mapping that names nobody is the default."""
    meanings = (NOT_ASSIGNED, DREW_NOTHING)
    if isinstance(value, Mapping):
        if all(isinstance(name, str) and name for name in value) and all(meant in meanings for meant in value.values()):
            return dict(sorted(value.items())) or NOT_ASSIGNED
    elif isinstance(value, str) and value in meanings:
        return DREW_NOTHING if value == DREW_NOTHING else NOT_ASSIGNED
    raise AgreementInputError(
        f"`{option}` must be {' or '.join(map(repr, meanings))}, or map annotators to these, got {value!r}"
    )


def _anything(option: str, value: Any) -> Any:
    """No check: the value is checked where it is used."""
    return value


_at_least_0 = _check("a number of at least 0", lambda value: is_real(value) and value >= 0, float)
_positive_or_none = _check("a number above 0, or None", lambda value: is_real(value) and value > 0, float, also=(None,))
_run_key = _check(
    "lower-case letters, digits and underscores, at most 100, beginning with a letter",
    lambda value: isinstance(value, str) and _RUN_KEY.fullmatch(value),
)
_path_or_none = _check("the name of an attribute or field", _is_path, also=(None,))
_name_or_none = _check("the name of an attribute, or None", _is_path, also=(None,))
_field_or_none = _check(
    "the name of a field, or of an annotator, or None", lambda value: isinstance(value, str) and value, also=(None,)
)
_pillow_or_none = _check('"pillow" or None', lambda value: False, also=("pillow", None))
_share_or_auto = _check(
    "in (0, 1]",
    lambda value: is_real(value) and 0 < value <= 1,
    float,
    also=("auto",),
    advice='; "auto" finds it from the data',
)
_confidence = _check(
    f'in [0, 1], "{BEST_F1}" or None', lambda value: is_real(value) and 0 <= value <= 1, float, also=(BEST_F1, None)
)
_sigmas = _check(
    '"coco", a number above 0, or a list of these',
    lambda value: (
        all(is_real(sigma) and sigma > 0 for sigma in value) and value
        if isinstance(value, list | tuple)
        else is_real(value) and value > 0
    ),
    lambda value: float(value) if is_real(value) else tuple(map(float, value)),
    also=("coco", None),
)
_background = _check(
    'a mask value, "auto" or None', lambda value: mask_value(value) is not None, mask_value, also=("auto", None)
)
# FiftyOne's expressions are callable, too: they are refused by their ``to_mongo``
_progress = _check(
    "True, False, None or a function",
    lambda value: (
        isinstance(value, bool) or (callable(value) and not isinstance(value, type) and not hasattr(value, "to_mongo"))
    ),
    also=(None,),
)
_models = _names("names of fields with predictions", "fields", bool)
_attributes = _names("names of attributes", "attributes", ATTRIBUTE.fullmatch)

#: the groups of labels that options apply to, and their names in messages and documentation
GROUPS = {
    "objects": "objects that are matched",
    "shapes": "boxes, masks, polygons and lines",
    "polylines": "polygons and lines",
    "keypoints": "keypoints",
    "classes": "classes of whole images",
    "numbers": "numbers",
    "tags": "tags",
    "pixels": "semantic masks",
}


@dataclass(frozen=True, slots=True)
class Option:
    """An argument of ``compute_agreement``."""

    name: str  #: name of the argument
    default: Any  #: default value
    title: str  #: title in the form and in comparisons of runs
    sentence: str  #: explanation in the docstring, ``docs/reference/options.md`` and the form
    #: function of name and value that returns the checked value
    check: Callable[[str, Any], Any] = _anything
    concerns: tuple[str, ...] = ()  #: the groups of labels that it applies to; all if empty
    #: another option that it needs to have an effect, by group of labels
    needs: Mapping[str, str] = dataclasses.field(default_factory=dict)
    choices: Mapping[str | None, str] = dataclasses.field(default_factory=dict)  #: possible values and their meaning
    #: group of labels, for every choice that only this group has
    choices_of: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: input in the form if it is neither a choice nor a switch: ``number``, ``slider``, ``text``, ``names``, ``values``
    #: or ``renamings``; empty if the form has a special input for it, or none
    input: str = ""
    hint: str = ""  #: explanation in the form, instead of ``sentence``
    changes_numbers: bool = True  #: whether it can change the numbers of a run

    @property
    def documentation(self) -> str:
        """The sentence, and the meaning of every choice."""
        meanings = ((value if value is None else f'"{value}"', text) for value, text in self.choices.items())
        return "; ".join([self.sentence, *(f"``{value}``: {text}" for value, text in meanings)])

    def checked(self, value: Any, argument: str | None = None) -> Any:
        """The value after the check, as stored in the config.

        Args:
            argument: name of the option in messages

        Raises:
            AgreementInputError: if the value is not usable
        """
        value, called = without_numpy(value), argument or self.name
        if self.choices and self.check is _anything:
            return one_of(called, value, tuple(self.choices))
        return self.check(called, value)

    def has_effect(self, groups: AbstractSet[str], given: Mapping[str, Any]) -> bool:
        """True if the option has an effect on labels of these groups, given the other options."""
        concerned = groups & set(self.concerns) if self.concerns else groups
        return any(group not in self.needs or given.get(self.needs[group]) for group in concerned)

    def refusal(self, groups: AbstractSet[str], labels: str) -> AgreementInputError:
        """The error for an option without effect.

        Args:
            groups: the groups of the labels
            labels: description of the labels, for the message
        """
        missing = sorted(self.needs[group] for group in groups & self.needs.keys())
        if missing:
            return AgreementInputError(
                f"`{self.name}` has no effect without `{missing[0]}`; give that too, or leave `{self.name}` out"
            )
        concerned = shown((GROUPS[group] for group in self.concerns), limit=len(GROUPS))
        return AgreementInputError(f"`{self.name}` concerns {concerned}, but {labels}; leave it out")


_OBJECTS = ("objects",)
_PIXELS = ("pixels",)
#: the groups of labels whose models can have a confidence
_WITH_CONFIDENCE = ("objects", "classes", "numbers", "tags")

# fmt: off
_TABLE = (
    Option("run_key", names.DEFAULT_RUN_KEY, "Run key",
        "name of the run; the names of all fields that it writes begin with it",
        _run_key, changes_numbers=False),
    Option("annotator_attribute", None, "Attribute with the annotator",
        "attribute of the labels that names their annotator, if one field holds all labels",
        _path_or_none),
    Option("assigned_field", None, "Field with the assigned annotators",
        "sample field that lists the annotators (or their fields) who were asked: on its samples a null label list of "
        "a listed annotator means that they drew nothing. Without it ``no_labels`` says what null means",
        _path_or_none, ("objects", "tags")),
    Option("no_labels", NOT_ASSIGNED, NO_LABELS_TITLE,
        "what a null (or absent) label list of an annotator means; or a mapping of annotators, or their fields, to "
        "this. With ``annotator_attribute`` all share a field, so that a null list is null for every annotator. An "
        "empty list always means that they drew nothing",
        _no_labels, ("objects", "tags"),
        choices={NOT_ASSIGNED: "was not assigned",
                 DREW_NOTHING: "looked and drew nothing; importers such as FiftyOne's for COCO and CVAT write null for "
                 "that"}),
    Option("annotators", None, "Annotators",
        "a mapping of fields to names of annotators; with ``annotator_attribute``, a list of the annotators to "
        "compare, or a mapping of them to names. Annotators with the same name are sessions of one person: they are "
        "compared like different annotators, and the report on objects shows their agreement separately"),
    Option("reference", None, "Reference",
        "field of the true labels (such as honeypots, or decisions), or the value of ``annotator_attribute`` that "
        "they have; every annotator is compared with it. It is no annotator itself. Images without its label list are "
        "left out",
        _field_or_none),
    Option("models", (), "Models",
        "fields with predictions of models (or values of ``annotator_attribute``), each of which is compared with "
        "every annotator; no annotators themselves",
        _models),
    Option("confidence_threshold", None, "Least confidence of predictions",
        'predictions with a lower confidence are left out; ``"best_f1"``: each half of the images takes the threshold '
        "that gives the best F1 with the annotators on the other half; ``None``: all predictions",
        _confidence, _WITH_CONFIDENCE, dict.fromkeys(_WITH_CONFIDENCE, "models"), input="text"),
    Option("iou", 0.5, "Threshold",
        'least similarity of a match, in (0, 1]; ``"auto"``: the threshold at which a match is as likely chance as '
        "agreement, estimated from at most 2,000 samples before the run",
        _share_or_auto, _OBJECTS, input="slider"),
    Option("geometry", "auto", "What is compared",
        "geometry of an object that is compared",
        concerns=("shapes",),
        choices={"auto": "the shape (mask, polygon) if a label has one, else its box", "box": "always the box",
                 "shape": "always the shape; a label without one is unusable"}),
    Option("rasterize", None, "Area of polygons",
        "how the area of polygons is measured",
        _pillow_or_none, ("polylines",),
        choices={None: "exactly",
                 "pillow": "as the pixels that Pillow fills, for comparison with published numbers and pixel tools"}),
    Option("line_tolerance", None, "Tolerance of open lines (pixels)",
        "distance in pixels within which open lines (neither closed nor filled) agree; without it they are refused",
        _positive_or_none, ("polylines",), input="number"),
    Option("sigmas", None, "Precision of keypoints",
        "precision (σ) of keypoints in OKS: one number, a list with a number for each point, or a name",
        _sigmas, ("keypoints",),
        choices={None: "0.05 for every point", "coco": "COCO's constants for the 17 points of a person"}),
    Option("point_radius", None, "Radius around points",
        "compare points by circles of this radius around them, not by OKS: from 1 on in pixels, below 1 a share of the "
        "longer side of the image; the similarity is the IoU of two circles (of labels with several points the mean "
        "over those that both labelled). Labels of a single point have no size and are refused without it",
        _positive_or_none, ("keypoints",), input="number"),
    Option("classes", "prefer", "Classes",
        "how matching uses classes",
        concerns=_OBJECTS,
        choices={"prefer": "match objects of one class first, then others", "ignore": "match by position alone",
                 "require": "match only objects of one class"}),
    Option("missing", "category", "A missed object, in alpha",
        "how alpha counts a missed object",
        concerns=_OBJECTS,
        choices={"category": "as an extra category, so that missing an object is a disagreement",
                 "ignore": "not at all, so that alpha compares classes only"}),
    Option("level", "auto", "Level of measurement",
        "level of measurement of ratings",
        concerns=("classes", "numbers"),
        choices={"auto": "ordinal if ``categories`` are listed, else nominal for classes and interval for numbers",
                 "nominal": "names without an order",
                 "ordinal": "an order, but no distances; classes must be listed in ``categories``",
                 "interval": "equal steps, no natural zero", "ratio": "equal steps and a natural zero"},
        choices_of={"interval": "numbers", "ratio": "numbers"}),
    Option("categories", (), "Classes in ascending order",
        "all classes, in ascending order if they have one; unused classes count in coefficients too",
        _categories, ("classes", "numbers"), input="values"),
    Option("attributes", (), "Attributes",
        "attributes of labels, such as occluded, to compare between the labels of an object",
        _attributes, _OBJECTS, input="names"),
    Option("tolerance", 0.0, "Tolerance",
        "numbers (ratings, values of ``attributes``) that differ by at most this agree",
        _at_least_0, ("numbers", "objects"), needs={"objects": "attributes"}, input="number"),
    Option("aliases", None, "Class names that stand for others",
        'class names to treat as others, such as ``{"Car ": "car"}``; the labels are not changed',
        _aliases, ("objects", "classes", "tags"), input="renamings",
        hint="Car=car treats the class Car as car; the labels are not changed"),
    Option("set_distance", "masi", "Distance of two sets of tags",
        "distance of two sets of tags in alpha",
        concerns=("tags",),
        choices={"masi": "a subset is closer than a set that only overlaps",
                 "jaccard": "tags that only one set has / tags in either set"}),
    Option("background", "auto", "Background",
        'value of the background; ``"auto"``: 0, unless 0 is a class in the mask targets; ``None``: no background',
        _background, _PIXELS, input="text"),
    Option("ignore_values", (), "Ignored values",
        "pixels to which any annotator gave one of these values are left out for all annotators",
        _mask_values, _PIXELS, input="values"),
    Option("boundaries", False, "Compare boundaries",
        "also compare boundaries (boundary IoU, surface Dice, HD95), which takes several times longer",
        true_or_false, _PIXELS),
    Option("boundary_tolerance", 2.0, "Tolerance (pixels)",
        "distance in pixels within which boundaries agree",
        _at_least_0, _PIXELS, {"pixels": "boundaries"}, input="number"),
    Option("boundary_width", None, "Width of boundaries (pixels)",
        "width in whole pixels of the bands that boundary IoU compares; ``None``: 2 % of the image diagonal",
        _positive_or_none, _PIXELS, {"pixels": "boundaries"}, input="number"),
    Option("disagreement_map", False, "Write a map",
        "write a heatmap on every sample that shows where annotators disagree",
        true_or_false, _PIXELS, changes_numbers=False),
    Option("map_folder", None, "Folder for the maps",
        "folder for the heatmap files; without it, heatmaps are written into the database",
        _folder_or_none, _PIXELS, {"pixels": "disagreement_map"}, input="text", changes_numbers=False),
    Option("empty", "skip", "An image that everybody left empty",
        "how an image counts on which no assigned annotator drew anything",
        concerns=("objects", "pixels"),
        choices={"skip": "left out", "agree": "as agreement (score 1)"}),
    Option("undefined", "none", "Alpha if everybody used one category",
        "alpha if everybody used one and the same category",
        choices={"none": "undefined (no variation)", "one": "1"}),
    Option("method", "optimal", "Matching method",
        "how objects are matched",
        concerns=_OBJECTS,
        choices={"optimal": "greatest total overlap, independent of the order of annotators",
                 "recursive": "one annotator after another; depends on their order",
                 "mutual_best": "mutual best matches, without a threshold; may depend on the order of annotators"}),
    Option("similarity", "iou", "Similarity",
        "similarity of two objects",
        concerns=_OBJECTS,
        choices={"iou": "intersection / union (OKS for keypoints)",
                 "dice": "2 x intersection / sum of both sizes"}),
    Option("crowd_attribute", "iscrowd", "Attribute of crowd regions",
        "attribute of labels that marks crowd regions, which are not matched; ``None``: no crowd regions",
        _name_or_none, _OBJECTS, input="text"),
    Option("invalid", "error", "Labels that cannot be compared",
        "what to do with labels that cannot be compared",
        choices={"error": "stop with a message", "skip": "leave them out and count them"}),
    Option("resamples", 1000, "Resamples",
        "number of bootstrap resamples of samples (videos, groups) for 95 % confidence intervals; 0: no intervals; "
        "more than 20,000 samples have them by the delta method, without resamples",
        WholeFrom(0, 100_000), input="number", changes_numbers=False),
    Option("seed", 51, "Seed",
        "seed of the random numbers of the intervals; the same data and seed give the same report",
        WholeFrom(0, 2**53), input="number", changes_numbers=False),
    Option("overwrite", False, "Overwrite",
        "replace a run with the same key",
        true_or_false),
    Option("workers", 1, "Worker processes",
        "processes of this machine among which the samples are shared out, 5,000 at a time; the results are the same "
        "for any number, at most 1,000 (on Windows 61)",
        WholeFrom(1, _MOST_WORKERS), input="number", changes_numbers=False),
    Option("executor", None, "Executor",
        "a ``concurrent.futures.Executor``, such as Dask's, whose processes compare the samples; instead of "
        "``workers``",
        _executor, changes_numbers=False),
    Option("resume", False, "Continue",
        "continue an unfinished run on several workers with the same key and options; what is done is kept",
        true_or_false, changes_numbers=False),
    Option("progress", None, "Progress",
        "whether to show a progress bar; None: FiftyOne's default; or a callback that gets the progress bar",
        _progress),
)
# fmt: on
#: all options, by name, in the order of the signature and of the form
OPTIONS = {option.name: option for option in _TABLE}
#: options that concern one kind of labels alone, by the argument of ``compute()`` that takes them as a mapping
TOGETHER = {
    argument: [option.name for option in _TABLE if option.concerns == concerned]
    for argument, concerned in {
        "masks": _PIXELS,
        "polylines": ("polylines",),
        "keypoints": ("keypoints",),
        "ratings": ("classes", "numbers"),
        "tags": ("tags",),
    }.items()
}


def flat_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options by name: ``masks=dict(boundaries=True)`` becomes ``boundaries=True``.

    Raises:
        AgreementInputError: if an option is not of that kind, or given twice
    """
    flat = {name: value for name, value in options.items() if name not in TOGETHER}
    for argument in [name for name in TOGETHER if options.get(name) is not None]:
        given, known = options[argument], TOGETHER[argument]
        if not isinstance(given, Mapping):
            raise AgreementInputError(f"`{argument}` must be a mapping, such as dict({known[0]}=…), got {given!r}")
        for name, value in given.items():
            if name not in known:
                hint = did_you_mean(name, known) or f"; they are {', '.join(known)}"
                raise AgreementInputError(f"`{argument}` must be options of {argument}, got {name!r}{hint}")
            if name in flat:
                raise AgreementInputError(f"`{name}` must be given once, got it also in `{argument}`")
            flat[name] = value
    return flat
