"""The panel that shows a run in the App."""

from __future__ import annotations

from .agreement_panel import AgreementPanel

PANELS = [AgreementPanel]
