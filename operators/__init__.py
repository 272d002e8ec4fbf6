"""The operators of the plugin."""

from __future__ import annotations

from .app_settings import ConfigureAgreementApp
from .compare import CompareAgreement
from .compute import ComputeAgreement
from .disputed import AgreementPatches, AnnotateDisputed, TagAgreementLabels
from .export import ExportAgreement
from .export_labels import ExportAnnotations
from .gold import Decide, UndoDecisions
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
    TagAgreementLabels,
    AnnotateDisputed,
    ConfigureAgreementApp,
    CompareAgreement,
    ExportAgreement,
    ExportAnnotations,
    DeleteAgreement,
    RenameAgreement,
]
