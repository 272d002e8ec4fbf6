"""Kinds of inputs of a form: each adds itself to the form, and reads the option from what the form gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import fiftyone.operators as foo
from fiftyone.operators import types

from ..dataset_io.labels.kinds import LabelKind

Applies = Callable[[LabelKind, Mapping[str, Any]], bool]


class OptionInput(Protocol):
    """An option of :func:`compute_agreement` as an input."""

    name: str
    applies: Applies

    def add(self, inputs: types.Object, ctx: foo.ExecutionContext, kind: LabelKind) -> None:
        """Add the input to a form."""

    def value(self, given: Any) -> Any:
        """The option from what the form, or a caller, gave."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice between named values, each explained by a sentence; the first is the default.

    Attributes:
        name: name of the option
        title: what stands above the input
        values: the values, and what they mean
        applies: whether the option concerns a label type
        nothing: the value of the form that stands for None
    """

    name: str
    title: str
    values: dict[str, str]
    applies: Applies
    nothing: str | None = None

    def add(self, inputs: types.Object, ctx: foo.ExecutionContext, kind: LabelKind) -> None:
        """Add a dropdown."""
        view = types.DropdownView()
        for value, sentence in self.values.items():
            view.add_choice(value, label=sentence)
        inputs.enum(self.name, list(self.values), label=self.title, default=next(iter(self.values)), view=view)

    def value(self, given: Any) -> Any:
        """The value itself; None for the one that stands for it."""
        return None if given == self.nothing else given


@dataclass(frozen=True, slots=True)
class Number:
    """A number."""

    name: str
    title: str
    description: str
    default: float | None
    applies: Applies

    def add(self, inputs: types.Object, ctx: foo.ExecutionContext, kind: LabelKind) -> None:
        """Add a number field."""
        inputs.float(self.name, label=self.title, description=self.description, default=self.default, min=0.0)

    def value(self, given: Any) -> Any:
        """The number."""
        return given


@dataclass(frozen=True, slots=True)
class Share:
    """A number from 0 to 1 on a slider, named after the similarity of the label type."""

    name: str
    applies: Applies

    def add(self, inputs: types.Object, ctx: foo.ExecutionContext, kind: LabelKind) -> None:
        """Add a slider."""
        inputs.float(
            self.name,
            label="Threshold",
            description=f"Least {kind.measure} of a match",  # short, as the slider's value stands above its middle
            default=0.5,
            min=0.01,
            max=1.0,
            view=types.SliderView(componentsProps={"slider": {"min": 0.05, "max": 1.0, "step": 0.05}}),
        )

    def value(self, given: Any) -> Any:
        """The number."""
        return given


@dataclass(frozen=True, slots=True)
class Text:
    """A text, which may stand for None."""

    name: str
    title: str
    description: str
    default: str
    applies: Applies

    def add(self, inputs: types.Object, ctx: foo.ExecutionContext, kind: LabelKind) -> None:
        """Add a text field."""
        inputs.str(self.name, label=self.title, description=self.description, default=self.default or None)

    def value(self, given: Any) -> Any:
        """The text, as a number where it is one; None for ``none``."""
        return None if isinstance(given, str) and given.strip().lower() == "none" else _number_if_one(given)


@dataclass(frozen=True, slots=True)
class Texts:
    """A list of texts, which may be numbers if they are values."""

    name: str
    title: str
    description: str
    applies: Applies
    are_values: bool = True

    def add(self, inputs: types.Object, ctx: foo.ExecutionContext, kind: LabelKind) -> None:
        """Add a list of texts."""
        view = types.AutocompleteView(allow_user_input=True, allow_duplicates=False)
        inputs.list(self.name, types.String(), label=self.title, description=self.description, default=[], view=view)

    def value(self, given: Any) -> Any:
        """The texts; values as numbers where they are."""
        return [_number_if_one(entry) for entry in given] if self.are_values else given


@dataclass(frozen=True, slots=True)
class Renamings:
    """Names and what they stand for, as a list of texts ``name=other name``."""

    name: str
    title: str
    description: str
    applies: Applies

    def add(self, inputs: types.Object, ctx: foo.ExecutionContext, kind: LabelKind) -> None:
        """Add a list of texts."""
        view = types.AutocompleteView(allow_user_input=True, allow_duplicates=False)
        inputs.list(self.name, types.String(), label=self.title, description=self.description, default=[], view=view)

    def value(self, given: Any) -> Any:
        """The names as keys, and what they stand for; what a caller gave in another form is kept for its check."""
        if isinstance(given, list | tuple) and all(isinstance(entry, str) and "=" in entry for entry in given):
            return {name: meant for name, _, meant in (entry.rpartition("=") for entry in given)}
        return given


@dataclass(frozen=True, slots=True)
class Switch:
    """Yes or no."""

    name: str
    title: str
    description: str
    applies: Applies
    default: bool = False

    def add(self, inputs: types.Object, ctx: foo.ExecutionContext, kind: LabelKind) -> None:
        """Add a switch."""
        view = types.SwitchView()
        inputs.bool(self.name, label=self.title, description=self.description, default=self.default, view=view)

    def value(self, given: Any) -> Any:
        """Yes or no."""
        return given


def _number_if_one(value: Any) -> Any:
    text = value.strip() if isinstance(value, str) else value
    return int(text) if isinstance(text, str) and re.fullmatch(r"\d+", text) else text
