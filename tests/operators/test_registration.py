"""What is registered is what the plugin's YAML lists."""

from __future__ import annotations

import yaml

from tools.dev.private_fiftyone import ROOT


def test_registered_operators_and_panels_are_those_of_the_yaml(private_fiftyone):
    import fiftyone.operators as foo

    plugin = yaml.safe_load((ROOT / "fiftyone.yml").read_text())
    listed = {*plugin["operators"], *plugin["panels"]}
    registered = {op.name for op in foo.list_operators() if op.uri.startswith("@annotator/agreement/")}
    assert registered == listed


def test_the_button_stands_above_the_grid(operator, context, make_dataset):
    compute = operator("compute_agreement")
    placement = compute.resolve_placement(context(compute, make_dataset()))
    assert placement.place.value == "samples-grid-secondary-actions"
