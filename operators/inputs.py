"""Inputs that an operator's form can declare: text, number, switch, choice, files; and notices to the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fiftyone.operators import types


@dataclass(frozen=True)
class FormField:
    """A text that is asked for, and what all inputs have in common."""

    name: str  #: name of the parameter
    label: str  #: its title in the form
    hint: str = ""  #: its description
    default: Any = None  #: value when the form opens
    required: bool = False
    view: Any = None  #: how the App draws it; None: as it draws this type
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


@dataclass(frozen=True)
class Slider(FormField):
    """A number in (0, 1]; keep the hint short, because the slider's value covers its middle."""

    default: float = 0.5

    def add(self, inputs: types.Object) -> None:
        view = types.SliderView(componentsProps={"slider": {"min": 0.05, "max": 1.0, "step": 0.05}})
        inputs.float(self.name, min=0.01, max=1.0, **{**self.told, "view": view})


@dataclass(frozen=True)
class Switch(FormField):
    """Yes or no."""

    default: bool = False
    is_box: bool = False  #: whether it is a box to tick

    def add(self, inputs: types.Object) -> None:
        inputs.bool(self.name, **(self.told if self.is_box else {**self.told, "view": types.SwitchView()}))


@dataclass(frozen=True)
class Choice(FormField):
    """One of some values; at first the first one, unless there is a default, or a view that can be empty."""

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
    """A list of texts: some of the values, or free text without values."""

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
    """Something that the form says."""

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
