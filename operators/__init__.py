"""The operators: form, configuration, one call, message."""

from __future__ import annotations

from .app_settings import ConfigureAgreementApp
from .compare import CompareAgreement
from .compute import ComputeAgreement
from .delete import DeleteAgreement
from .export import ExportAgreement
from .rename import RenameAgreement
from .show import ShowAgreement
from .views import SaveAgreementViews, ViewAgreement

OPERATORS = [
    ComputeAgreement,
    ShowAgreement,
    ViewAgreement,
    SaveAgreementViews,
    ConfigureAgreementApp,
    CompareAgreement,
    ExportAgreement,
    DeleteAgreement,
    RenameAgreement,
]
