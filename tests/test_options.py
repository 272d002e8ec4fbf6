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


def test_an_option_concerns_labels_of_its_groups_alone() -> None:
    assert OPTIONS["iou"].has_effect({"objects", "shapes"}, {})
    assert not OPTIONS["iou"].has_effect({"pixels"}, {})
    assert OPTIONS["seed"].has_effect({"pixels"}, {})
    assert OPTIONS["tolerance"].has_effect({"numbers"}, {})
    assert not OPTIONS["tolerance"].has_effect({"objects"}, {})
    assert OPTIONS["tolerance"].has_effect({"objects"}, {"attributes": ("age",)})


def test_the_first_superfluous_option_of_a_config_is_found() -> None:
    def superfluous(groups: set[str], **options: object) -> str | None:
        found = make_config(["alice", "bob"], **options).superfluous(groups)
        return None if found is None else found.name

    assert superfluous({"pixels"}) is None
    assert superfluous({"pixels"}, iou=0.5, boundaries=True, boundary_tolerance=3, seed=7) is None
    assert superfluous({"pixels"}, iou="auto") == "iou"
    assert superfluous({"pixels"}, iou=0.9, classes="ignore") == "iou"
    assert superfluous({"pixels"}, boundary_width=3) == "boundary_width"
    assert superfluous({"pixels"}, map_folder="/maps") is None
    assert superfluous({"objects", "shapes", "detections"}, sigmas="coco") == "sigmas"
    assert superfluous({"objects", "shapes", "detections", "polylines"}, line_tolerance=2) is None


def test_a_refusal_says_what_the_option_concerns() -> None:
    held = "'masks_a' holds Segmentation"
    assert str(OPTIONS["iou"].refusal({"pixels"}, held)) == (
        "`iou` concerns objects that are matched, but 'masks_a' holds Segmentation; leave it out"
    )
    error = OPTIONS["boundary_width"].refusal({"pixels"}, held)
    assert isinstance(error, AgreementInputError)
    assert str(error) == (
        "`boundary_width` has no effect without `boundaries`; give that too, or leave `boundary_width` out"
    )
