"""Annotator agreement for FiftyOne: the names that users call, and the registration of the plugin.

As a FiftyOne plugin this package is loaded under a name that FiftyOne chooses; after ``pip install .`` it is
``annotator_agreement``. Our modules are imported only when used, because FiftyOne executes this file repeatedly.
"""

# ruff: noqa: F403, F405, RUF022  type checkers and editors follow the imports, which are not executed

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import fiftyone.operators as foo

    from . import metrics as metrics
    from .agreement import *
    from .dataset_io import *

    __version__: str

#: what users call, imported when used
__all__ = [
    "compute",
    "load",
    "list_runs",
    "trend",
    "files",
    "metrics",
    "AgreementRun",
    "AgreementReport",
    "AgreementInputError",
]


if not TYPE_CHECKING:  # a type checker would take every name as defined

    def __getattr__(name: str) -> Any:
        if name == "metrics":
            return importlib.import_module(".metrics", __name__)
        if name == "__version__":
            return importlib.import_module(".names", __name__).VERSION
        if name in ("AgreementReport", "AgreementInputError"):
            return getattr(importlib.import_module(".agreement", __name__), name)
        if name in __all__:
            importlib.import_module(".charts", __name__)  # lets results print and draw themselves
            return getattr(importlib.import_module(".dataset_io", __name__), name)
        close = difflib.get_close_matches(name, __all__, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        if not close and not name.startswith("_"):
            hint = f"; there are {', '.join(__all__)}; what is done with a run is a method of load(dataset)"
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted(__all__)


def register(plugin: foo.PluginContext) -> None:
    """Register the plugin's operators and panels; called by FiftyOne.

    If a requirement is missing, operators with the same names are registered, which only say what to install.
    """
    from .unavailable import missing_requirement, unavailable_operators

    reason = missing_requirement()
    if reason is not None:
        for operator in unavailable_operators(reason):
            plugin.register(operator)
        return
    from .operators import OPERATORS
    from .panels import PANELS

    for operator in [*OPERATORS, *PANELS]:
        plugin.register(operator)
