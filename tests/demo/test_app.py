"""The demo opens in the App with its views, panel and sidebar; deleting a run removes its own."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def demo(demo_copy):
    from tools.demo.dataset import IN_ORDER, compute_run, set_up_app

    few = ("boxes", "class")
    reports = {label_type: compute_run(demo_copy, label_type) for label_type in IN_ORDER if label_type in few}
    set_up_app(demo_copy)
    return demo_copy, reports["boxes"]


def test_the_panel_opens_on_the_run_whose_report_is_printed(demo):
    from annotator_agreement.panels import panel_state_of

    dataset, report = demo
    assert panel_state_of(dataset, None).run_key == report.run_key == "agreement"


def test_the_workspace_has_the_panel_beside_the_grid(demo):
    import fiftyone.operators as foo

    dataset, _ = demo
    space = dataset.load_workspace("agreement")
    panels = [child.children[0].type for child in space.children]
    assert panels == ["Samples", "agreement_panel"]
    assert foo.get_operator(f"@annotator/agreement/{panels[1]}").config.label == "Annotator agreement"


def test_the_sidebar_shows_the_boxes_and_their_run_first_and_every_label_field_once(demo):
    from tools.demo.dataset import LABEL_TYPES

    dataset, _ = demo
    groups = {group.name: group for group in dataset.app_config.sidebar_groups}
    shown = list(groups)
    assert groups["labels"].paths == ["alice", "bob", "carol"]
    assert shown.index("agreement") == shown.index("labels") + 1
    assert groups["agreement"].paths[0] == "agreement_score"
    listed = [path for group in groups.values() for path in group.paths]
    assert len(listed) == len(set(listed))
    assert {field for entry in LABEL_TYPES.values() for field in entry["fields"]} <= set(listed)


def test_deleting_the_run_removes_its_views_and_its_group(demo):
    from annotator_agreement.dataset_io import delete_agreement

    dataset, _ = demo
    assert len(dataset.list_saved_views()) == 5
    delete_agreement(dataset, "agreement")
    assert dataset.list_saved_views() == []
    assert "agreement" not in [group.name for group in dataset.app_config.sidebar_groups]
    assert not [name for name in dataset.get_field_schema() if name.startswith("agreement")]
