"""The demo opens in the App with its views, panel and sidebar; deleting a run removes its own."""

from __future__ import annotations

import fiftyone.operators as foo
import pytest

from annotator_agreement.dataset_io import delete_agreement
from annotator_agreement.panels import panel_state_of


@pytest.mark.long
def test_the_demo_has_its_run_workspace_and_sidebar_until_the_run_is_deleted(demo_copy):
    from tools.demo.dataset import IN_ORDER, LABEL_TYPES, compute_run, set_up_app

    reports = {name: compute_run(demo_copy, name) for name in IN_ORDER if name in ("boxes", "class")}
    set_up_app(demo_copy)
    assert panel_state_of(demo_copy, None).run_key == reports["boxes"].run_key == "agreement"

    panels = [child.children[0].type for child in demo_copy.load_workspace("agreement").children]
    assert panels == ["Samples", "agreement_panel"]
    assert foo.get_operator(f"@annotator/agreement/{panels[1]}").config.label == "Annotator agreement"

    groups = {group.name: group.paths for group in demo_copy.app_config.sidebar_groups}
    shown = list(groups)
    assert groups["labels"] == ["alice", "bob", "carol"]
    assert shown.index("agreement") == shown.index("labels") + 1
    assert groups["agreement"][0] == "agreement_score"
    listed = [path for paths in groups.values() for path in paths]
    assert len(listed) == len(set(listed))
    assert {field for entry in LABEL_TYPES.values() for field in entry["fields"]} <= set(listed)

    assert len(demo_copy.list_saved_views()) == 5
    delete_agreement(demo_copy, "agreement")
    assert demo_copy.list_saved_views() == []
    assert "agreement" not in [group.name for group in demo_copy.app_config.sidebar_groups]
    assert not [name for name in demo_copy.get_field_schema() if name.startswith("agreement")]
