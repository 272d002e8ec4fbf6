"""The demo opens in the App with its views, panel and sidebar; deleting a run removes its own."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def demo(demo_copy):
    from tools.dev.demo_app import IN_ORDER, compute_run, set_up_app

    few = ("boxes", "class")
    reports = {label_type: compute_run(demo_copy, label_type) for label_type in IN_ORDER if label_type in few}
    set_up_app(demo_copy)
    return demo_copy, reports["boxes"]


def test_the_saved_views_hold_what_the_report_counts(demo):
    dataset, report = demo
    lowest = dataset.load_saved_view("agreement: lowest score").values("agreement_score")
    assert lowest == sorted(lowest)
    assert len(lowest) == report.score.n
    for name, verdict in (("class conflicts", "class_conflict"), ("missed", "missed"), ("lone", "lone")):
        view = dataset.load_saved_view(f"agreement: {name}")
        n = sum(entry.verdicts[verdict] for entry in report.annotators)
        assert sum(view.count(f"{entry.name}.detections") for entry in report.annotators) == n > 0


def test_the_panel_opens_on_the_run_whose_report_is_printed(demo):
    from annotator_agreement.panels.panel_state import panel_state_of

    dataset, report = demo
    assert panel_state_of(dataset, None).run_key == report.run_key == "agreement"


def test_disputed_objects_are_one_patch_each(demo):
    dataset, _ = demo
    view = dataset.load_saved_view("agreement: disputed objects")
    assert len(view) == dataset.sum("agreement_n_disputed") > 0
    assert set(view.values("agreement_units.verdict")) <= {"class_conflict", "missed", "lone", "split", "duplicate"}


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
