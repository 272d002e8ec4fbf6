"""``ShowsItself``, base of results with a text and a page; ``shown_as`` calls functions of the charts by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, ClassVar, TextIO

from ..settings.arguments import Public, print_to

_found_by: list[Callable[[str], Callable[..., Any]]] = []


def present_with(find: Callable[[str], Callable[..., Any]]) -> None:
    """Set how the functions that show results are found.

    Args:
        find: gives the function with a name, such as ``"report_text"``, and imports it when needed
    """
    _found_by[:] = [find]


def shown_as(name: str, *arguments: Any, **options: Any) -> Any:
    """Show a result with a function of the charts.

    Args:
        name: name of the function, such as ``"report_text"`` or ``"plot_pairs"``
        *arguments: the result, and further arguments of the function
        **options: its options
    """
    if not _found_by:  # as in a process that reads a pickled result
        importlib.import_module(f"{__package__.rpartition('.agreement')[0]}.charts")
    return _found_by[0](name)(*arguments, **options)


class ShowsItself(Public):
    """A result that prints itself and is a page in notebooks."""

    __slots__ = ()
    shown_by: ClassVar[str]  #: beginning of the names of the functions that show it

    def _repr_html_(self) -> str:
        shown: str = shown_as(f"{self.shown_by}_html", self)
        return shown

    def print_report(self, file: TextIO | None = None) -> None:
        """Print it as aligned text.

        Args:
            file: output file, standard output by default
        """
        print_to(file, shown_as(f"{self.shown_by}_text", self))

    def to_markdown(self) -> str:
        """The same as Markdown."""
        shown: str = shown_as(f"{self.shown_by}_markdown", self)
        return shown
