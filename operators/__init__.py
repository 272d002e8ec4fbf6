"""The list of the plugin's operators, each made from a form, and its metric."""

from __future__ import annotations

from .compute import COMPUTE, options_of
from .export import EXPORT_AGAINST, EXPORT_DECIDED, EXPORT_LABELS, EXPORT_REPORT
from .form import operator_of
from .gold import APPLY, DECIDE, UNDO_APPLIED, UNDO_DECISIONS
from .import_labels import IMPORT
from .inputs import given_options
from .runs import CHECK, COMPARE, CONFIGURE_APP, DELETE, OPEN_PANEL, RENAME, SHOW, UPDATE, LabelConvergence
from .views import ADD_UNITS, PATCHES, RESOLVE, SAVE_VIEWS, VIEW

FORMS = (
    *(IMPORT, COMPUTE, UPDATE, SHOW, OPEN_PANEL, VIEW, SAVE_VIEWS, ADD_UNITS, PATCHES, RESOLVE),
    *(DECIDE, UNDO_DECISIONS, APPLY, UNDO_APPLIED, EXPORT_AGAINST, EXPORT_DECIDED),
    *(CONFIGURE_APP, COMPARE, CHECK, EXPORT_REPORT, EXPORT_LABELS, DELETE, RENAME),
)
#: metrics of FiftyOne's own evaluation
METRICS = (LabelConvergence,)
OPERATORS = [*(operator_of(form) for form in FORMS), *METRICS]
