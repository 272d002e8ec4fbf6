"""Show the options of a run in a form, and read them from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fiftyone.operators import types

from ..agreement.no_labels import AnnotatorLists
from ..agreement.options import OPTIONS, Option
from ..dataset_io.labels.kinds import LabelKind
from .base import add_choice, add_several, add_slider, add_switch

#: switch of the form for the option ``iou="auto"``
_IOU_FROM_DATA = "iou_from_data"
#: value for None in a form
_NONE = "none"
#: fields whose label lists are counted in a form
_MOST_LISTED = 12
#: options that are asked for beside the fields
_ASKED_WITH_FIELDS = ("no_labels",)


def add_option_inputs(inputs: types.Object, params: Mapping[str, Any], kinds: Sequence[LabelKind]) -> None:
    """Add the inputs of the options that have an effect on labels of some types.

    Args:
        inputs: the form
        params: current values of the form
        kinds: the label types
    """
    groups = frozenset[str]().union(*(kind.groups for kind in kinds))
    for option in _shown(params, groups):
        if option.name in _ASKED_WITH_FIELDS:
            continue
        if option.input == "slider":
            _add_threshold(inputs, option, params, kinds[0].measure)
        else:
            _add_input(inputs, option, groups)


def add_list_inputs(inputs: types.Object, lists: Sequence[AnnotatorLists], *, asked: bool) -> None:
    """Show what the fields hold, and ask what null means where there is any.

    Args:
        inputs: the form
        lists: on how many samples every field has labels, an empty list and none
        asked: whether null can mean two things
    """
    with_null = [entry for entry in lists if entry.n_null]
    shown = with_null if len(lists) > _MOST_LISTED else lists
    counts = [
        f"{entry.name} {entry.n_labels:,} / {entry.n_empty:,} / {entry.n_null:,}" for entry in shown[:_MOST_LISTED]
    ]
    if shown:
        inputs.view("lists", types.Notice(label=f"Samples with labels / an empty list / null: {', '.join(counts)}"))
    if with_null and asked:
        option = OPTIONS["no_labels"]
        titles = {str(value): meaning for value, meaning in option.choices.items()}
        add_choice(inputs, option.name, f"{option.title} means: the annotator …", titles, as_radio_buttons=True)


def given_options(params: Mapping[str, Any], kinds: Sequence[LabelKind] | None = None) -> dict[str, Any]:
    """The options from a form or a caller.

    Args:
        params: values from the form or the caller
        kinds: leave out options without effect on labels of these types; None: leave out nothing
    """
    groups = None if kinds is None else frozenset[str]().union(*(kind.groups for kind in kinds))
    given = {option.name: _value(option, params[option.name]) for option in _shown(params, groups)
             if params.get(option.name) not in (None, "", [])}  # fmt: skip
    if params.get(_IOU_FROM_DATA) and OPTIONS["iou"] in _shown(params, groups):
        given["iou"] = "auto"
    return given


def _shown(params: Mapping[str, Any], groups: frozenset[str] | None) -> list[Option]:
    """The options that have an input in the form."""
    # a folder from a caller implies the maps
    params = {**params, "disagreement_map": params.get("disagreement_map", params.get("map_folder"))}
    asked = [option for option in OPTIONS.values() if option.input or option.choices or _is_switch(option)]
    if groups is None:
        return asked
    without = "iou" if params.get("method") == "mutual_best" else None  # this method has no threshold
    return [option for option in asked if option.name != without and groups and option.has_effect(groups, params)]


def _is_switch(option: Option) -> bool:
    return isinstance(option.default, bool) and option.name != "overwrite"  # that input is next to the run key


def _add_threshold(inputs: types.Object, option: Option, params: Mapping[str, Any], measure: str) -> None:
    """Ask for the threshold, or whether to take it from the data."""
    description = "The threshold at which a match is as likely chance as agreement, from up to 2,000 samples"
    add_switch(inputs, _IOU_FROM_DATA, "Threshold from the data", description)
    if not params.get(_IOU_FROM_DATA):
        add_slider(inputs, option.name, option.title, f"Least {measure} of a match")


def _add_input(inputs: types.Object, option: Option, groups: frozenset[str]) -> None:
    text = option.hint or option.sentence.replace("``", "").replace('"', "")
    description = text[0].upper() + text[1:]
    if option.choices:
        offered = {value: text for value, text in option.choices.items() if _is_for(option, value, groups)}
        titles = {str(value or _NONE): f"{value or _NONE}: {text.replace('``', '')}" for value, text in offered.items()}
        add_choice(inputs, option.name, option.title, titles)
    elif _is_switch(option):
        add_switch(inputs, option.name, option.title, description, default=option.default)
    elif option.input == "number":
        inputs.float(option.name, label=option.title, description=description, default=option.default, min=0.0)
    elif option.input == "text":
        inputs.str(option.name, label=option.title, description=description, default=option.default)
    else:
        add_several(inputs, option.name, option.title, description, None, default=[])


def _is_for(option: Option, value: str | None, groups: frozenset[str]) -> bool:
    """Whether a choice applies to labels of these groups."""
    return value is None or option.choices_of.get(value) in (None, *groups)


def _value(option: Option, given: Any) -> Any:
    """The value of an option from the value in a form, or from a caller."""
    can_be_none = option.input == "text" or None in option.choices
    if can_be_none and isinstance(given, str) and given.strip().lower() == _NONE:
        return None
    if option.input == "renamings" and isinstance(given, list | tuple):
        if not all(isinstance(entry, str) and "=" in entry for entry in given):
            return given
        return {name: meant for name, _, meant in (entry.rpartition("=") for entry in given)}
    if option.input == "values" and isinstance(given, list | tuple):
        return [_number_if_one(entry) for entry in given]
    return _number_if_one(given) if option.input == "text" else given


def _number_if_one(value: Any) -> Any:
    text = value.strip() if isinstance(value, str) else value
    return int(text) if isinstance(text, str) and re.fullmatch(r"\d{1,18}", text) else text
