"""The panels that show a run in the App: "Annotator agreement", and "Decide" beside an open sample."""

from __future__ import annotations

from .agreement_panel import AgreementPanel, DecidePanel
from .drill_down import link_of, samples_behind
from .items import Choices
from .panel_state import ShownReport, panel_state_of
from .run_panel import EVENTS
from .tab_annotators import annotator_items
from .tab_objects import class_items

PANELS = [AgreementPanel, DecidePanel]
