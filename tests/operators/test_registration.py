"""What is registered, what the plugin's YAML lists and what the README documents are the same."""

from __future__ import annotations

import re

import yaml

from tools.dev.private_fiftyone import ROOT


def test_registered_operators_and_panels_are_those_of_the_yaml_and_the_readme(private_fiftyone):
    import fiftyone.operators as foo

    plugin = yaml.safe_load((ROOT / "fiftyone.yml").read_text())
    listed = {*plugin["operators"], *plugin["panels"]}
    registered = {op.name for op in foo.list_operators() if op.uri.startswith("@annotator/agreement/")}
    documented = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert registered == listed
    assert listed <= documented


def test_fields_written_are_documented_in_the_readme():
    from annotator_agreement import names

    readme = (ROOT / "README.md").read_text()
    for fields in names.FIELD_SETS:
        for suffix in (*fields.sample, *fields.label):
            assert f"`agreement{suffix}`" in readme


def test_the_button_stands_above_the_grid(operator, context, make_dataset):
    compute = operator("compute_agreement")
    placement = compute.resolve_placement(context(compute, make_dataset()))
    assert placement.place.value == "samples-grid-secondary-actions"
