"""The panels that show a run in the App."""

from __future__ import annotations

from .agreement_panel import AgreementPanel, DecidePanel

PANELS = [AgreementPanel, DecidePanel]
