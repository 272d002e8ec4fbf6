"""Annotator agreement for FiftyOne.

As a FiftyOne plugin this package is loaded under a name that FiftyOne chooses; after ``pip install .`` it is
``annotator_agreement``. Our modules are imported only when used, because FiftyOne executes this file repeatedly.
"""

# ruff: noqa: F403, F405, RUF022  type checkers and editors follow the imports, which are not executed

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import fiftyone.operators as foo

    from . import metrics as metrics
    from .agreement import *
    from .dataset_io import *

    __version__: str

#: what users call, in the order of the reference; imported when used
__all__ = [
    "metrics",
    "import_annotations",
    "export_annotations",
    "join_annotators",
    "split_annotators",
    "compute_agreement",
    "load_agreement",
    "list_agreements",
    "delete_agreement",
    "export_agreement",
    "agreement_on",
    "agreement_samples",
    "compare_agreement",
    "changed_since",
    "update_agreement",
    "rename_agreement",
    "view_agreement",
    "save_agreement_views",
    "configure_agreement_app",
    "add_units",
    "resolve_units",
    "agreement_patches",
    "tag_agreement_labels",
    "annotate_disputed",
    "decide",
    "list_decisions",
    "undo_decisions",
    "delete_decisions",
    "apply_decisions",
    "undo_applied",
    "record_own_labels",
    "report_decisions",
    "decided_against",
    "export_decided_against",
    "export_decided",
    "AgreementReport",
    "AgreementInputError",
]


if not TYPE_CHECKING:  # for type checkers every name would exist

    def __getattr__(name: str) -> Any:
        if name == "metrics":
            return importlib.import_module(".metrics", __name__)
        if name == "__version__":
            return importlib.import_module(".names", __name__).VERSION
        if name in __all__:
            importlib.import_module(".charts", __name__)  # results are shown by it
            package = ".agreement" if name.startswith("Agreement") else ".dataset_io"
            return getattr(importlib.import_module(package, __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def register(plugin: foo.PluginContext) -> None:
    """Register the plugin's operators and panels; called by FiftyOne.

    Where a requirement is missing, operators of the same names that say what to install.
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
