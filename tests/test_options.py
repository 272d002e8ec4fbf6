"""What follows from the table of options: signature, docstring, config and reference pages."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing

from tools.dev.reference_docs import UPDATES

from annotator_agreement.agreement import AgreementConfig, AgreementInputError, make_config
from annotator_agreement.agreement.settings import GROUPS, OPTIONS

#: what is no entry of the config under its own name
NOT_KEPT = {"overwrite", "workers", "executor", "resume", "progress"}
NOT_OPTIONS = {"fields", "persons", "iou_from_data"}
#: options whose choices are only some of their values
SOME_CHOICES = {"rasterize", "sigmas", "no_labels"}


def test_the_signature_has_the_options_in_their_order_with_their_defaults(private_fiftyone) -> None:
    from annotator_agreement.dataset_io import compute_agreement

    arguments = inspect.signature(compute_agreement).parameters
    given = {name: entry.default for name, entry in arguments.items() if name not in ("samples", "fields")}
    assert list(given.items()) == [(option.name, option.default) for option in OPTIONS.values()]


def test_the_reference_and_the_docstring_say_what_the_code_says() -> None:
    for path, update in UPDATES.items():
        text = path.read_text(encoding="utf-8")
        assert update(text) == text, f"run `make format` ({path.name})"
        changed = re.sub("of an agreement run|compute_agreement|bjects", "", text)
        changed = changed.replace("version: ", "version: 7").replace('VERSION = "', 'VERSION = "7')
        assert update(changed) != changed, f"the place of what is written is not found ({path.name})"


def test_the_config_keeps_the_options() -> None:
    kept = {field.name for field in dataclasses.fields(AgreementConfig)}
    assert kept - NOT_OPTIONS == OPTIONS.keys() - NOT_KEPT


def test_defaults_are_usable_and_texts_are_there() -> None:
    for name, option in OPTIONS.items():
        option.checked(option.default)
        assert option.title[0].isupper(), name
        assert not option.sentence[0].isupper(), name
        assert not option.sentence.endswith("."), name
        assert set(option.concerns) <= GROUPS.keys(), name
        assert set(option.needs) <= set(option.concerns), name
        assert set(option.needs.values()) <= OPTIONS.keys(), name


def test_choices_are_those_of_the_type_and_begin_with_the_default() -> None:
    types = typing.get_type_hints(AgreementConfig)
    for name, option in OPTIONS.items():
        choices = tuple(option.choices or ())
        assert choices[:1] in ((), (option.default,)), name
        if choices and name not in SOME_CHOICES:
            assert set(choices) == set(typing.get_args(types[name])), name
        for choice in choices:
            option.checked(choice)


#: an option, the labels, others that were given, and whether it has an effect
EFFECTS = [
    ("iou", {"objects", "shapes"}, {}, True), ("iou", {"pixels"}, {}, False), ("seed", {"pixels"}, {}, True),
    ("tolerance", {"numbers"}, {}, True), ("tolerance", {"objects"}, {}, False),
    ("tolerance", {"objects"}, {"attributes": ("age",)}, True),
]  # fmt: skip
#: the labels, options, and the first of them that is superfluous
SUPERFLUOUS = [
    ({"pixels"}, {}, None),
    ({"pixels"}, {"iou": 0.5, "boundaries": True, "boundary_tolerance": 3, "seed": 7}, None),
    ({"pixels"}, {"iou": "auto"}, "iou"),
    ({"pixels"}, {"iou": 0.9, "classes": "ignore"}, "iou"),
    ({"pixels"}, {"boundary_width": 3}, "boundary_width"),
    ({"pixels"}, {"map_folder": "/maps"}, None),
    ({"objects", "shapes", "detections"}, {"sigmas": "coco"}, "sigmas"),
    ({"objects", "shapes", "detections", "polylines"}, {"line_tolerance": 2}, None),
]


def test_an_option_concerns_labels_of_its_groups_alone_and_the_first_superfluous_one_is_found() -> None:
    for name, groups, others, expected in EFFECTS:
        assert OPTIONS[name].has_effect(groups, others) is expected, (name, groups)
    for groups, options, expected in SUPERFLUOUS:
        found = make_config(["alice", "bob"], **options).superfluous(groups)
        assert getattr(found, "name", None) == expected, options
    held = "'masks_a' holds Segmentation"
    for name, said in (
        ("iou", "concerns objects that are matched, but 'masks_a' holds Segmentation; leave it out"),
        ("boundary_width", "has no effect without `boundaries`; give that too, or leave `boundary_width` out"),
    ):
        error = OPTIONS[name].refusal({"pixels"}, held)
        assert (type(error), str(error)) == (AgreementInputError, f"`{name}` {said}")
