"""The only code that touches datasets: reading, writing, runs, and the one function that does all of it."""

from __future__ import annotations

from .annotate import annotate_disputed
from .app_settings import configure_agreement_app
from .compare import compare_agreement
from .export import export_agreement
from .label_tags import tag_agreement_labels
from .patches import agreement_patches
from .rename import rename_agreement
from .resolve import resolve_units
from .run import compute_agreement, run_agreement
from .runs import delete_agreement, list_agreements, load_agreement
from .sample_table import agreement_samples
from .saved_views import save_agreement_views
from .units_field import add_units
from .view_report import agreement_on
from .views import view_agreement

__all__ = [
    "add_units",
    "agreement_on",
    "agreement_patches",
    "agreement_samples",
    "annotate_disputed",
    "compare_agreement",
    "compute_agreement",
    "configure_agreement_app",
    "delete_agreement",
    "export_agreement",
    "list_agreements",
    "load_agreement",
    "rename_agreement",
    "resolve_units",
    "run_agreement",
    "save_agreement_views",
    "tag_agreement_labels",
    "view_agreement",
]
