"""The operators of the plugin."""

from __future__ import annotations

from .app_settings import ConfigureAgreementApp
from .compare import CompareAgreement
from .compute import ComputeAgreement
from .disputed import AgreementPatches, AnnotateDisputed, TagAgreementLabels
from .export import ExportAgreement, ExportDecidedAgainst
from .export_labels import ExportAnnotations
from .gold import ApplyDecisions, Decide, ExportDecided, UndoApplied, UndoDecisions
from .import_labels import ImportAnnotations
from .object_labels import AddAgreementUnits, ResolveUnits
from .runs import DeleteAgreement, OpenAgreementPanel, RenameAgreement, ShowAgreement, UpdateAgreement
from .views import SaveAgreementViews, ViewAgreement

OPERATORS = [
    ImportAnnotations,
    ComputeAgreement,
    UpdateAgreement,
    ShowAgreement,
    OpenAgreementPanel,
    ViewAgreement,
    SaveAgreementViews,
    AddAgreementUnits,
    AgreementPatches,
    ResolveUnits,
    Decide,
    UndoDecisions,
    ApplyDecisions,
    UndoApplied,
    ExportDecidedAgainst,
    ExportDecided,
    TagAgreementLabels,
    AnnotateDisputed,
    ConfigureAgreementApp,
    CompareAgreement,
    ExportAgreement,
    ExportAnnotations,
    DeleteAgreement,
    RenameAgreement,
]
