"""The operators: form, configuration, one call, message."""

from __future__ import annotations

from .annotate import AnnotateDisputed
from .app_settings import ConfigureAgreementApp
from .compare import CompareAgreement
from .compute import ComputeAgreement
from .delete import DeleteAgreement
from .export import ExportAgreement
from .panel import OpenAgreementPanel
from .patches import AgreementPatches
from .rename import RenameAgreement
from .resolve import ResolveUnits
from .show import ShowAgreement
from .tag import TagAgreementLabels
from .units import AddAgreementUnits
from .views import SaveAgreementViews, ViewAgreement

OPERATORS = [
    ComputeAgreement,
    ShowAgreement,
    OpenAgreementPanel,
    ViewAgreement,
    SaveAgreementViews,
    AddAgreementUnits,
    AgreementPatches,
    ResolveUnits,
    TagAgreementLabels,
    AnnotateDisputed,
    ConfigureAgreementApp,
    CompareAgreement,
    ExportAgreement,
    DeleteAgreement,
    RenameAgreement,
]
