"""The panels: what a run found, shown in the App."""

from __future__ import annotations

from .agreement_panel import AgreementPanel

PANELS = [AgreementPanel]
