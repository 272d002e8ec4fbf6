"""Requirements of acceptance: keys of their file, inheritance, and every mistake as one sentence with its line."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..objects.sizes import SIZES
from ..settings.errors import AgreementInputError, did_you_mean, shown
from ..statistics.main_numbers import NUMBER_KEYS
from . import given as must_be
from .given import Given

#: requirements of a file, at most
MOST_REQUIREMENTS = 1_000
ANNOTATORS, REFERENCE = "annotators", "reference"
VALUE, INTERVAL = "value", "interval"
#: label types as they are written in files, and kinds of several of them
LABELS = (
    *("detections", "polylines", "keypoints", "temporaldetections", "classification", "classifications"),
    *("segmentation", "regression", "text", "true or false", "integers", "numbers"),
    *("objects", "ratings", "tags", "pixels"),
)
#: short names of numbers among annotators, and where reports have them
METRICS: dict[str, tuple[str, ...]] = {
    "score": ("score.mean",),
    "alpha": ("alpha.pooled",),
    "image_alpha": ("image_alpha.value",),
    "f1": ("existence.f1",),
    "jaccard": ("existence.jaccard",),
    "class_agreement": ("class_given_match.percent_agreement",),
    "class_alpha": ("class_given_match.alpha",),
    "kappa": ("class_given_match.coefficients.fleiss_kappa", "coefficients.fleiss_kappa.identity", "mean.kappa"),
    "ac1": ("class_given_match.coefficients.ac1", "coefficients.gwet_ac1.identity"),
    "iou": ("localisation.mean_iou", "mean.iou"),
    "dice": ("localisation.mean_dice", "mean.dice"),
    "accuracy": ("mean.accuracy",),
    "boundary_iou": ("mean.boundary_iou",),
    "hd95": ("mean.hd95",),
    "percent_agreement": ("alpha.percent_agreement",),
    "full_agreement": ("share_full_agreement",),
    "count_icc": ("counts.icc",),
}
#: numbers of every single annotator, and where their entries in reports have them
OF_ANNOTATOR: dict[str, tuple[str, ...]] = {
    "score": ("score",),
    "iou": ("mean_iou",),
    "f1": ("consensus.f1",),
    "precision": ("consensus.precision",),
    "recall": ("consensus.recall",),
    "miss_rate": ("miss_rate",),
    "other_class": ("other_class",),
}
#: numbers of an annotator against the reference; the reference has what the label type has
OF_REFERENCE = (
    *("precision", "recall", "f1", "class_accuracy", "accuracy", "iou", "mean_iou", "pq", "kappa", "error"),
    *("jaccard", "class_precision", "class_recall", "class_jaccard", "oks"),
)
#: numbers that may be above 1
_UNBOUNDED = ("error", "hd95")
_METRICS = tuple(dict.fromkeys((*METRICS, *OF_ANNOTATOR, *OF_REFERENCE, *NUMBER_KEYS)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A requirement with inherited values; ``KEYS`` explains each."""

    name: str
    place: str  #: where it stands
    labels: tuple[str, ...] = ()
    against: str = ANNOTATORS
    metric: str = "score"
    limit: float = 0.0  #: of ``at_least`` or ``at_most``
    is_most: bool = False  #: whether it is the greatest value
    judge: str = VALUE
    least_objects: int = 0
    least_images: int = 0
    classes: tuple[str, ...] = ()
    attributes: tuple[tuple[str, Any], ...] = ()
    size: tuple[str, ...] = ()
    area: tuple[float | None, float | None] | None = None
    tags: tuple[str, ...] = ()
    annotators: tuple[str, ...] = ()
    each_annotator: bool = False
    iou: tuple[tuple[str, float], ...] = ()  #: by class; ``default`` for the others

    @property
    def has_object_filters(self) -> bool:
        """True if only some objects of images count."""
        return bool(self.classes or self.attributes or self.size or self.area or self.iou)

    @property
    def of_one(self) -> bool:
        """True if it is about single annotators."""
        return self.each_annotator or len(self.annotators) == 1 or self.against == REFERENCE

    @property
    def condition(self) -> str:
        """Condition as text: ``f1 ≥ 0.8, lower end``."""
        sign, end = ("≤", "upper end") if self.is_most else ("≥", "lower end")
        return f"{self.metric} {sign} {self.limit:g}" + f" ({end} of the interval)" * (self.judge == INTERVAL)


def _attributes(name: str, given: Given) -> tuple[tuple[str, Any], ...]:
    return tuple((key, entry.value) for key, entry in given.entries(name).items() if _is_scalar(name, entry))


def _is_scalar(name: str, given: Given) -> bool:
    if not isinstance(given.value, str | int | float | bool):
        raise given.must_be(name, "values by attribute: texts, numbers, true or false")
    return True


def _area(name: str, given: Given) -> tuple[float | None, float | None]:
    ends = given.value if isinstance(given.value, list) else []
    if len(ends) != 2 or all(end.value is None for end in ends):
        raise given.must_be(name, "a list of the least and the greatest area, either may be null")
    low, high = (None if end.value is None else must_be.real(name, end) for end in ends)
    if low is not None and high is not None and low > high:
        raise given.must_be(name, "a list of the least and the greatest area in that order")
    return low, high


def _iou(name: str, given: Given) -> tuple[tuple[str, float], ...]:
    entries = given.value if isinstance(given.value, dict) else {"default": given}
    found = tuple((key, must_be.real(name, entry)) for key, entry in entries.items())
    for (_, value), entry in zip(found, entries.values(), strict=True):
        if not 0 < value <= 1:
            raise entry.must_be(name, "in (0, 1]")
    if "default" not in entries:
        raise given.wrong(f"`{name}` must have an entry `default` for the classes that it does not name")
    return found


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a requirement."""

    check: Callable[[str, Given], Any]
    sentence: str  #: what it means, for the documentation


#: the keys of a requirement
KEYS = {
    "inherits": Key(must_be.text, "name of the requirement whose keys hold here too, unless they are given here"),
    "enabled": Key(must_be.switch, "false: only to be inherited from, not checked itself (this is not inherited)"),
    "labels": Key(must_be.several(*LABELS), "label types that it is for; runs on others leave it out. None: any"),
    "against": Key(must_be.among(ANNOTATORS, REFERENCE), "whom annotators are compared with: each other (default), or "
                   "the reference of the run"),
    "metric": Key(must_be.among(*_METRICS), "the number"),
    "at_least": Key(must_be.real, "least value"),
    "at_most": Key(must_be.real, "greatest value, for numbers of which less is better"),
    "judge": Key(must_be.among(VALUE, INTERVAL), "what must reach it: the value (default), or the interval: its lower "
                 "end for `at_least`, its upper end for `at_most`"),
    "least_objects": Key(must_be.count, "least number of objects (tags, classes of masks); else not enough data"),
    "least_images": Key(must_be.count, "least number of images with two annotators; else not enough data"),
    "classes": Key(must_be.texts, "objects to which anybody gave one of these classes; tags of these names; images to "
                   "which anybody gave one; one class of masks"),
    "attributes": Key(_attributes, "objects to which anybody gave these values of attributes that the run "
                      "compared"),
    "size": Key(must_be.several(*SIZES), "objects of this size, as in the report"),
    "area": Key(_area, "objects of this area, `[least, greatest]`, in the unit of sizes in the report"),
    "tags": Key(must_be.texts, "images with one of these tags"),
    "annotators": Key(must_be.texts, "only these annotators; one: the numbers of this annotator"),
    "each_annotator": Key(must_be.switch, "true: every annotator must reach it"),
    "iou": Key(_iou, "least IoU at which two labels of one object count as matched; a number, or by class with "
               "`default`. Not below the threshold of the run"),
}  # fmt: skip
_NOT_INHERITED = ("inherits", "enabled")


def requirements_of(given: Given) -> tuple[Requirement, ...]:
    """The requirements that are to be checked.

    Raises:
        AgreementInputError: with all mistakes, each with its line
    """
    top = given.entries("the file", ["requirements"])
    if "requirements" not in top:
        raise given.wrong("there must be a key `requirements` with a mapping of names to requirements, got none")
    entries = top["requirements"].entries("`requirements`")
    if not entries:
        raise top["requirements"].wrong("`requirements` must have at least one requirement, got none")
    if len(entries) > MOST_REQUIREMENTS:
        raise given.wrong(f"there must be at most {MOST_REQUIREMENTS:,} requirements, got {len(entries):,}")
    checks = (functools.partial(_checked, name, entry) for name, entry in entries.items())
    own = dict(zip(entries, must_be.all_or_mistakes(checks), strict=True))
    merged: dict[str, dict[str, Any]] = {}
    whole = (functools.partial(_inheriting, name, own, entries, merged) for name in entries)
    found = must_be.all_or_mistakes(whole)
    kept = tuple(each for each in found if each is not None)
    if not kept:
        raise top["requirements"].wrong("at least one requirement must be enabled, got none")
    return kept


def _checked(name: str, given: Given) -> dict[str, Any]:
    """Checked keys of one requirement; None for a key that overrides an inherited one."""
    keys = given.entries(f"the requirement {name!r}", KEYS)
    if all(end in keys and keys[end].value is not None for end in ("at_least", "at_most")):
        raise keys["at_most"].wrong(f"the requirement {name!r} must have one of `at_least` and `at_most`, got both")
    return {key: None if entry.value is None else KEYS[key].check(key, entry) for key, entry in keys.items()}


def _inheriting(
    name: str,
    own: Mapping[str, Mapping[str, Any]],
    entries: Mapping[str, Given],
    merged: dict[str, dict[str, Any]],
) -> Requirement | None:
    """A requirement with inherited values; None if it is not enabled.

    Args:
        name: of the requirement
        own: keys of all requirements
        entries: what was given of all
        merged: keys with those that are inherited, of requirements that are known already; it gets more
    """
    line: dict[str, None] = {}
    at: str | None = name
    while at is not None and at not in merged:
        if at in line:
            ways = " → ".join([*line, at][list(line).index(at) :][-6:])
            raise entries[name].wrong(f"the requirement {name!r} must not inherit from itself, got {ways}")
        line[at] = None
        above = own[at].get("inherits")
        if above is not None and above not in own:
            said = entries[at].entries(at)["inherits"]
            hint = did_you_mean(above, own)
            raise AgreementInputError(f"{said.must_be('inherits', 'the name of a requirement of the file')}{hint}")
        at = above
    values = {} if at is None else merged[at]
    for each in reversed(line):
        values = {key: value for key, value in values.items() if not _replaces(own[each], key)}
        values |= {key: value for key, value in own[each].items() if key not in _NOT_INHERITED}
        merged[each] = values
    values = {key: value for key, value in values.items() if value is not None}
    if own[name].get("enabled") is False:
        return None
    given = entries[name]
    if "at_least" not in values and "at_most" not in values:
        raise given.wrong(f"the requirement {name!r} must have `at_least` or `at_most`, got neither")
    if "metric" not in values:
        raise given.wrong(f"the requirement {name!r} must have a `metric`, got none")
    is_most = "at_most" in values
    limit = values.pop("at_most" if is_most else "at_least")
    if limit > 1 and values["metric"] not in _UNBOUNDED:
        end = "at_most" if is_most else "at_least"
        hint = f"; {limit:g} % is {limit / 100:g}" if limit <= 100 else ""
        said = given.entries(name).get(end, given)
        raise said.wrong(f"`{end}` of {name!r} must be at most 1, got {limit:g}{hint}")
    found = Requirement(name=name, place=given.place, limit=limit, is_most=is_most, **values)
    return _fitting(found, given)


def _replaces(own: Mapping[str, Any], key: str) -> bool:
    """True if a requirement takes the other limit than the one that it inherits."""
    other = {"at_least": "at_most", "at_most": "at_least"}.get(key)
    return other is not None and own.get(other) is not None


def _fitting(found: Requirement, given: Given) -> Requirement:
    """The requirement, if its keys fit together."""
    if found.each_annotator and found.annotators:
        raise given.wrong(f"{found.name!r} must have one of `annotators` and `each_annotator`, got both")
    if found.size and found.area:
        raise given.wrong(f"{found.name!r} must have one of `size` and `area`, got both")
    known = METRICS | {key: (key,) for key in NUMBER_KEYS}
    if found.against == REFERENCE:
        known = dict.fromkeys(OF_REFERENCE, ())
    elif found.of_one:
        known = OF_ANNOTATOR
    if found.metric not in known:
        whom = "an annotator against the reference" if found.against == REFERENCE else (
            "a single annotator" if found.of_one else "annotators among each other"
        )  # fmt: skip
        hint = did_you_mean(found.metric, known)
        names = shown([name for name in known if "." not in name], limit=30)
        raise given.wrong(
            f"`metric` of {found.name!r} must be a number of {whom} ({names}), got {found.metric!r}{hint}"
        )
    return found
