"""Everything that touches datasets: reading labels, writing results, runs, views."""

from __future__ import annotations

from .agreement_run import AgreementRun, compute, files, list_runs, load, trend
from .annotation_files.exporting import export_annotations
from .annotation_files.importing import import_annotations
from .app.settings import configure_agreement_app
from .decide.against import decided_against, report_decisions
from .decide.apply import apply_decisions, undo_applied
from .decide.decide import decide
from .decide.gold import delete_decisions, list_decisions, undo_decisions
from .decide.next_object import record_own_labels
from .jobs.compute import compute_agreement, run_agreement, update_agreement
from .jobs.deletion import delete_agreement
from .jobs.lifecycle import rename_agreement
from .record.run import list_agreements
from .record.run_labels import changed_since
from .results.check import check_agreement
from .results.compare import compare_agreement
from .results.decided_labels import export_decided, export_decided_against
from .results.export import export_agreement
from .results.load import agreement_on, agreement_samples, load_agreement
from .run_methods import RunDecisions, RunObjects
from .units.units_field import add_units, agreement_patches, resolve_units
from .views.agreement_view import save_agreement_views, view_agreement

__all__ = [
    "AgreementRun",
    "RunDecisions",
    "RunObjects",
    "add_units",
    "agreement_on",
    "agreement_patches",
    "agreement_samples",
    "apply_decisions",
    "changed_since",
    "check_agreement",
    "compare_agreement",
    "compute",
    "compute_agreement",
    "configure_agreement_app",
    "decide",
    "decided_against",
    "delete_agreement",
    "delete_decisions",
    "export_agreement",
    "export_annotations",
    "export_decided",
    "export_decided_against",
    "files",
    "import_annotations",
    "list_agreements",
    "list_decisions",
    "list_runs",
    "load",
    "load_agreement",
    "record_own_labels",
    "rename_agreement",
    "report_decisions",
    "resolve_units",
    "run_agreement",
    "save_agreement_views",
    "trend",
    "undo_applied",
    "undo_decisions",
    "update_agreement",
    "view_agreement",
]
