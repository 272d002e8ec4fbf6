"""The operators: form, configuration, one call, message."""

from __future__ import annotations

from .compare import CompareAgreement
from .compute import ComputeAgreement
from .delete import DeleteAgreement
from .export import ExportAgreement
from .rename import RenameAgreement
from .show import ShowAgreement

OPERATORS = [ComputeAgreement, ShowAgreement, CompareAgreement, ExportAgreement, DeleteAgreement, RenameAgreement]
