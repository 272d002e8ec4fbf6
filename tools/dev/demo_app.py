"""Prepare the demo for the App: runs on every label type, and App settings for the run on boxes."""

from __future__ import annotations

from typing import Any

import fiftyone as fo
from fiftyone.core.odm import SidebarGroupDocument

from tools.demo.dataset import LABEL_TYPES

from .plugin import load_plugin

MAIN_RUN = "agreement"
#: the label types in the order in which their runs are computed: the App opens on the run that was computed last
IN_ORDER = (*(label_type for label_type in LABEL_TYPES if label_type != "boxes"), "boxes")
#: saved view of the disputed objects, in addition to the usual ones
DISPUTED = f"{MAIN_RUN}: disputed objects"
WORST = f"{MAIN_RUN}: lowest score"
#: saved workspace with the panel beside the grid
WORKSPACE = "agreement"


def run_key_of(label_type: str) -> str:
    """The key of the run on a label type."""
    return MAIN_RUN if label_type == "boxes" else f"{label_type}_agreement"


def compute_run(dataset: fo.Dataset, label_type: str) -> Any:
    """Compute agreement on a label type; on boxes with a label for every object."""
    run = load_plugin().compute(dataset, run_key=run_key_of(label_type), progress=False, **LABEL_TYPES[label_type])
    if label_type == "boxes":
        run.objects.write(progress=False)
    return run


def set_up_app(dataset: fo.Dataset) -> None:
    """Save the usual views of the main run, its disputed objects and a workspace with the panel, and order the sidebar.

    The views and the run's group in the sidebar are removed with the run.
    """
    plugin = load_plugin()
    from annotator_agreement.dataset_io.views.agreement_view import marked

    plugin.load(dataset, MAIN_RUN).app(sidebar=True, indexes=True)
    plugin.load(dataset, MAIN_RUN).save_views()
    description = marked("One patch for every object that annotators disagree about, the worst first", MAIN_RUN)
    dataset.save_view(DISPUTED, plugin.load(dataset, MAIN_RUN).objects.patches(), description=description)
    _order_sidebar(dataset)
    dataset.app_config.active_fields = fo.ActiveFields(paths=[*LABEL_TYPES["boxes"]["fields"], f"{MAIN_RUN}_score"])
    dataset.save()
    dataset.save_workspace(WORKSPACE, workspace(), description="The grid, and the panel on agreement beside it")


def _order_sidebar(dataset: fo.Dataset) -> None:
    """Show the boxes and their run; collapse the groups of the other label types and their runs."""
    boxes = set(LABEL_TYPES["boxes"]["fields"])
    labels = [field for entry in LABEL_TYPES.values() for field in entry["fields"] if field not in boxes]
    runs = tuple(f"{run_key_of(label_type)}_" for label_type in LABEL_TYPES if label_type != "boxes")
    found = [path for path in dataset.get_field_schema() if path.startswith(runs)]
    groups = []
    for group in dataset.app_config.sidebar_groups:
        paths = [path for path in group.paths if path not in {*labels, *found}]
        expanded = False if group.name in ("metadata", "other", "primitives") else group.expanded
        groups.append(SidebarGroupDocument(name=group.name, paths=paths, expanded=expanded))
    after = next(k for k, group in enumerate(groups) if group.name == MAIN_RUN) + 1
    others = {"other labels": labels, "agreement on other labels": found}
    groups[after:after] = [SidebarGroupDocument(name=name, paths=paths, expanded=False)
                           for name, paths in others.items()]  # fmt: skip
    dataset.app_config.sidebar_groups = groups


def workspace() -> fo.Space:
    """The grid with the panel beside it."""
    samples, panel = fo.Panel(type="Samples", pinned=True), fo.Panel(type="agreement_panel")
    spaces = [fo.Space(children=[child], active_child=child.component_id) for child in (samples, panel)]
    return fo.Space(children=spaces, orientation="horizontal", sizes=[0.5, 0.5])
