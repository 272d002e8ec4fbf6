"""Inputs of an operator's form: text, number, switch, choice, files, the options of a run; notices to the user."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import fiftyone as fo
from fiftyone.operators import types

from ..agreement.settings.errors import AgreementInputError
from ..agreement.settings.options import OPTIONS, Option, WholeFrom
from ..charts.text.sections import Column, Section, as_markdown, table
from ..dataset_io.labels.annotator_attributes import is_likely_reference, is_of_model
from ..dataset_io.labels.assignment import FieldCounts
from ..dataset_io.labels.kinds import LabelKind


@dataclass(frozen=True)
class FormField:
    """A text input, and the base class of all inputs."""

    name: str  #: name of the parameter
    label: str  #: its title in the form
    hint: str = ""  #: its description
    default: Any = None  #: value when the form opens
    required: bool = False
    view: Any = None  #: how the App draws it; None: the default of its type
    blocks: bool = False  #: whether nothing can be executed as long as it is there

    @property
    def told(self) -> dict[str, Any]:
        """Arguments that every input has in FiftyOne."""
        told = {"label": self.label, "description": self.hint or None, "default": self.default, "view": self.view}
        return {name: value for name, value in told.items() if value is not None} | {"required": self.required}

    def add(self, inputs: types.Object) -> None:
        """Add the input to a form."""
        inputs.str(self.name, **self.told)


@dataclass(frozen=True)
class Number(FormField):
    """A number within limits."""

    least: float | None = None
    most: float | None = None
    is_whole: bool = False
    problem: str = ""  #: why its value is refused, shown under it

    def add(self, inputs: types.Object) -> None:
        told = {**self.told, "invalid": bool(self.problem), "error_message": self.problem}
        (inputs.int if self.is_whole else inputs.float)(self.name, min=self.least, max=self.most, **told)


def slider(name: str, label: str, hint: str, default: float = 0.5) -> Number:
    """A number in (0, 1]; keep the hint short, because the slider's value covers its middle."""
    view = types.SliderView(componentsProps={"slider": {"min": 0.05, "max": 1.0, "step": 0.05}})
    return Number(name, label, hint, default, view=view, least=0.01, most=1.0)


@dataclass(frozen=True)
class Switch(FormField):
    """Yes or no."""

    default: bool = False
    is_box: bool = False  #: whether it is a box to tick

    def add(self, inputs: types.Object) -> None:
        inputs.bool(self.name, **(self.told if self.is_box else {**self.told, "view": types.SwitchView()}))


@dataclass(frozen=True)
class Choice(FormField):
    """One of several values; preset is the default or else the first one, but with a ``view`` only the default."""

    values: Mapping[str, str] | Iterable[str] = ()  #: the values with their titles, or only values
    as_radio_buttons: bool = False  #: whether to show radio buttons; else a dropdown

    def add(self, inputs: types.Object) -> None:
        if self.view is not None:
            inputs.enum(self.name, list(self.values), **self.told)
            return
        titles = self.values if isinstance(self.values, Mapping) else {value: value for value in self.values}
        view = types.RadioGroup() if self.as_radio_buttons else types.DropdownView()
        for value, title in titles.items():
            view.add_choice(value, label=title)
        default = self.default or next(iter(titles))
        inputs.enum(self.name, list(titles), **{**self.told, "default": default, "view": view})


@dataclass(frozen=True)
class Several(FormField):
    """A list of texts: some of the values, or any texts if no values are given."""

    values: Iterable[str] | None = None

    def add(self, inputs: types.Object) -> None:
        view = self.view or types.AutocompleteView(allow_user_input=self.values is None, allow_duplicates=False)
        for value in self.values or ():
            view.add_choice(value, label=value)
        inputs.list(self.name, types.String(), **{**self.told, "view": view})


@dataclass(frozen=True)
class ServerFile(FormField):
    """A file, or a folder, on the machine of the App's server."""

    is_folder: bool = False
    space: int | None = None  #: twelfths of the width of the form

    def add(self, inputs: types.Object) -> None:
        width = {} if self.space is None else {"space": self.space}
        view = types.FileExplorerView(choose_dir=self.is_folder, choose_button_label="Choose", **width)
        inputs.file(self.name, **{**self.told, "view": view})


@dataclass(frozen=True)
class Notice(FormField):
    """A notice, warning or error in the form, without an input."""

    kind: type[types.View] = types.Notice

    def add(self, inputs: types.Object) -> None:
        said = inputs.view(self.name, self.kind(label=self.label, description=self.hint or None))
        said.invalid = self.blocks
        if self.kind is types.Error:
            said.error_message = self.label


def warning(name: str, label: str, hint: str = "", *, blocks: bool = True) -> Notice:
    """A warning, usually on why there is nothing to execute."""
    return Notice(name, label, hint, kind=types.Warning, blocks=blocks)


def problem(error: Exception) -> Notice:
    """An error that blocks execution."""
    return Notice("problem", str(error), kind=types.Error, blocks=True)


@dataclass(frozen=True)
class Text(FormField):
    """Markdown; the label is the text."""

    def add(self, inputs: types.Object) -> None:
        inputs.md(self.label, name=self.name)


@dataclass(frozen=True)
class Folded(FormField):
    """A part of a form that is folded until the user opens it."""

    name: str = "advanced"
    label: str = "Advanced"
    fields: tuple[FormField, ...] = ()

    def add(self, inputs: types.Object) -> None:
        folded = types.Object()
        inputs.define_property(self.name, folded, view=types.ObjectView(label=self.label, collapsible=True))
        for field in self.fields:
            field.add(folded)


#: switch of the form for the option ``iou="auto"``
_IOU_FROM_DATA = "iou_from_data"
#: value for None in a form
_NONE = "none"
#: name of the part of a form that is folded until the user opens it
FOLDED = "advanced"
#: fields whose label lists are counted in a form
_MOST_LISTED = 12
#: options that are asked for beside the fields
_ASKED_WITH_FIELDS = ("no_labels",)


def unfolded(params: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a form, those of its folded part beside the others."""
    folded = params.get(FOLDED)
    others = {name: value for name, value in params.items() if name != FOLDED}
    return {**others, **folded} if isinstance(folded, Mapping) else others


def option_fields(
    params: Mapping[str, Any], kinds: Sequence[LabelKind], presets: Mapping[str, Any]
) -> Iterator[FormField]:
    """The inputs of the options that have an effect on labels of some types.

    Args:
        presets: values of options when the form opens, where they differ from the defaults
    """
    groups = frozenset[str]().union(*(kind.groups for kind in kinds))
    for option in _shown(params, groups):
        if option.name in _ASKED_WITH_FIELDS:
            continue
        preset = presets.get(option.name, option.default)
        text = option.hint or option.sentence.replace("``", "").replace('"', "")
        told = (option.name, option.title, text[0].upper() + text[1:])
        if option.input == "slider":
            hint = "The threshold at which a match is as likely chance as agreement, from up to 2,000 samples"
            yield Switch(_IOU_FROM_DATA, "Threshold from the data", hint, default=preset == "auto")
            if not params.get(_IOU_FROM_DATA, preset == "auto"):
                default = preset if isinstance(preset, float) else option.default
                yield slider(option.name, option.title, f"Least {kinds[0].measure} of a match", default)
        elif option.choices:
            offered = {value: text for value, text in option.choices.items()
                       if value is None or option.choices_of.get(value) in (None, *groups)}  # fmt: skip
            titles = {
                str(name or _NONE): f"{name or _NONE}: {text.replace('``', '')}" for name, text in offered.items()
            }
            yield Choice(option.name, option.title, default=str(preset or _NONE), values=titles)
        elif _is_switch(option):
            yield Switch(*told, default=preset)
        elif option.input == "number":
            check, given = option.check, params.get(option.name)
            least, most = (check.least, check.most) if isinstance(check, WholeFrom) else (0.0, None)
            refused = ""
            try:
                option.checked(option.default if given in (None, "") else given, option.title)
            except AgreementInputError as error:
                refused = str(error)
            yield Number(*told, preset, least=least, most=most, is_whole=most is not None, problem=refused)
        elif option.input == "text":
            yield FormField(*told, default=preset if preset is None else str(preset))
        else:  # a mapping is shown as a list of texts: ``["a=b"]``
            pairs = [f"{name}={meant}" for name, meant in preset.items()] if isinstance(preset, Mapping) else []
            yield Several(*told, default=pairs or list(map(str, preset or ())))


def list_fields(found: Sequence[FieldCounts], what: str, *, asked: bool, preset: str) -> Iterator[FormField]:
    """Table of the label lists of the fields, and the choice of what a null list means if there are any.

    Args:
        found: counts of the label lists of every field
        what: word for the samples, in the plural
        asked: whether to ask what a null list means
        preset: meaning that is chosen when the form opens
    """
    without = [entry for entry in found if entry.lists.n_null]
    shown = without if len(found) > _MOST_LISTED else found
    if shown:
        columns = [
            Column("field", "lists.name"),
            Column("labels", "n_labels", "{:,}".format),
            Column(f"{what} with labels", "lists.n_labels", "{:,}".format),
            Column("with an empty list", "lists.n_empty", "{:,}".format),
            Column("without a list", "lists.n_null", "{:,}".format),
        ]
        tables = [table(columns, shown[:_MOST_LISTED])]
        yield Text("lists", as_markdown([Section("What the fields hold", tables)]))
    if without and asked:
        option = OPTIONS["no_labels"]
        titles = {str(value): meaning for value, meaning in option.choices.items()}
        label = f"{what.capitalize()} without a list: the annotator …"
        yield Choice(option.name, label, default=preset, values=titles, as_radio_buttons=True)


def role_fields(
    dataset: fo.Dataset,
    candidates: Mapping[str, LabelKind],
    fields: Sequence[str],
    values: Mapping[str, str],
    presets: Mapping[str, Any],
) -> Iterator[FormField]:
    """Inputs of the reference and the models, of values of the attribute and other fields with labels of that kind.

    Args:
        fields: the chosen fields of annotators
        values: values of the attribute that names the annotators, each with the role it looks like, or an empty text
        presets: values of options when the form opens
    """
    chosen = [candidates[name] for name in fields if name in candidates]
    beside = [name for name, kind in candidates.items()
              if name not in (*fields, *values) and chosen and kind.comparable == chosen[0].comparable]  # fmt: skip
    others = [*values, *beside]
    if not others:
        return
    # values that look like a reference or a model are preset as such only if two others can be annotators
    guessed = values if list(values.values()).count("") > 1 else {}
    models = presets.get("models", [name for name in others if guessed.get(name) == "models"
                                    or (name in beside and is_of_model(dataset, name, candidates[name]))])  # fmt: skip
    likely = [name for name in others if guessed.get(name) == "reference"
              or (name in beside and is_likely_reference(dataset, name) and name not in models)]  # fmt: skip
    preset = presets.get("reference", likely[0] if likely else None)
    # not an enumeration: FiftyOne would refuse what an earlier choice of fields left in the form
    view = types.AutocompleteView(allow_user_input=bool(values), allow_duplicates=False)
    for name in others:
        view.add_choice(name, label=name)
    option = OPTIONS["reference"]
    hint = "Optional: the true labels, such as honeypots or decisions, with which every annotator is compared"
    yield FormField(option.name, option.title, hint, default=preset if preset in others else None, view=view)
    hint = "Optional: predictions, compared with every annotator; nobody's numbers change by them"
    yield Several("models", OPTIONS["models"].title, hint, default=[name for name in models if name in others],
                  view=view)  # fmt: skip


def given_options(params: Mapping[str, Any], kinds: Sequence[LabelKind] | None = None) -> dict[str, Any]:
    """The options from a form or a caller.

    Args:
        params: values from the form or the caller
        kinds: leave out options without effect on labels of these types; None: leave out nothing
    """
    groups = None if kinds is None else frozenset[str]().union(*(kind.groups for kind in kinds))
    given = {option.name: option_value(option, params[option.name]) for option in _shown(params, groups)
             if params.get(option.name) not in (None, "", [])}  # fmt: skip
    if params.get(_IOU_FROM_DATA) and OPTIONS["iou"] in _shown(params, groups):
        given["iou"] = "auto"
    return given


def _shown(params: Mapping[str, Any], groups: frozenset[str] | None) -> list[Option]:
    """The options that have an input in the form."""
    # a ``map_folder`` from a caller implies ``disagreement_map``
    params = {**params, "disagreement_map": params.get("disagreement_map", params.get("map_folder"))}
    asked = [option for option in OPTIONS.values() if option.input or option.choices or _is_switch(option)]
    if groups is None:
        return asked
    without = "iou" if params.get("method") == "mutual_best" else None  # this method has no threshold
    return [option for option in asked if option.name != without and groups and option.has_effect(groups, params)]


def _is_switch(option: Option) -> bool:
    return isinstance(option.default, bool) and option.name != "overwrite"  # that input is next to the run key


def option_value(option: Option, given: Any) -> Any:
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
    if option.input == "text" and isinstance(given, str) and re.fullmatch(r"\s*\d*\.\d+\s*", given):
        return float(given)
    return _number_if_one(given) if option.input == "text" else given


def _number_if_one(value: Any) -> Any:
    text = value.strip() if isinstance(value, str) else value
    return int(text) if isinstance(text, str) and re.fullmatch(r"\d{1,18}", text) else text
