"""Annotator agreement for FiftyOne.

As a FiftyOne plugin this package is loaded under a name that FiftyOne chooses; after ``pip install .`` it is
``annotator_agreement``. Our modules are imported only when used, because FiftyOne executes this file repeatedly.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import fiftyone.operators as foo

_PUBLIC = {
    "import_annotations": ".dataset_io",
    "export_annotations": ".dataset_io",
    "join_annotators": ".dataset_io",
    "split_annotators": ".dataset_io",
    "compute_agreement": ".dataset_io",
    "load_agreement": ".dataset_io",
    "list_agreements": ".dataset_io",
    "delete_agreement": ".dataset_io",
    "export_agreement": ".dataset_io",
    "agreement_on": ".dataset_io",
    "agreement_samples": ".dataset_io",
    "compare_agreement": ".dataset_io",
    "changed_since": ".dataset_io",
    "update_agreement": ".dataset_io",
    "rename_agreement": ".dataset_io",
    "view_agreement": ".dataset_io",
    "save_agreement_views": ".dataset_io",
    "configure_agreement_app": ".dataset_io",
    "add_units": ".dataset_io",
    "resolve_units": ".dataset_io",
    "agreement_patches": ".dataset_io",
    "tag_agreement_labels": ".dataset_io",
    "annotate_disputed": ".dataset_io",
    "decide": ".dataset_io",
    "list_decisions": ".dataset_io",
    "undo_decisions": ".dataset_io",
    "delete_decisions": ".dataset_io",
    "record_own_labels": ".dataset_io",
    "report_decisions": ".dataset_io",
    "decided_against": ".dataset_io",
    "AgreementReport": ".agreement",
    "AgreementInputError": ".agreement",
}

__all__ = ["register", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name == "metrics":
        return importlib.import_module(".metrics", __name__)
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "metrics"])


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
