"""What is registered is what the YAML lists; where something is not installed, operators say what to run."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from types import SimpleNamespace

import fiftyone.operators as foo
import fiftyone.plugins as fop
import pytest
import yaml

from tools.dev.private_fiftyone import ROOT

from annotator_agreement import register, unavailable
from annotator_agreement.names import SHOW_SIDEBAR_GROUPS


@pytest.fixture
def ours(private_fiftyone):
    """The operators that are registered, by name."""
    return {op.name: op for op in foo.list_operators() if op.uri.startswith("@annotator/agreement/")}


def test_registered_operators_and_panels_are_those_of_the_yaml(ours):
    plugin = yaml.safe_load((ROOT / "fiftyone.yml").read_text())
    assert ours.keys() == {*plugin["operators"], *plugin["panels"]}
    # an operator of the App itself
    assert f'name: "{SHOW_SIDEBAR_GROUPS}"' in (ROOT / plugin["js_bundle"]).read_text()


def test_the_button_stands_above_the_grid_and_in_the_operator_browser_those_that_need_no_run_come_first(
    ours, context, make_dataset
):
    """The App sorts by the first letter of a sentence, the others stay as they are; one cannot hide by the dataset."""
    compute = ours["compute_agreement"]
    placement = compute.resolve_placement(context(compute, make_dataset()))
    assert placement.place.value == "samples-grid-secondary-actions"
    listed = [op for op in ours.values() if not op.config.unlisted]
    shown = [op.name for op in sorted(listed, key=lambda op: ord(op.config.description[0]))]
    assert shown[:2] == ["import_annotations", "compute_agreement"]


@pytest.mark.skipif(not hasattr(foo.Operator, "risk_level"), reason="this FiftyOne knows no risk of operators")
def test_operators_that_change_nothing_are_of_low_risk_and_what_removes_is_of_high_risk(ours):
    risks = {name: op.risk_level.value for name, op in ours.items()}
    low = {"show_agreement", "compare_agreement", "view_agreement", "open_agreement_panel"}
    assert {name for name, risk in risks.items() if risk == "low"} >= low
    assert risks["delete_agreement"] == "high"
    assert "dangerous" not in {risks[name] for name in risks if not name.endswith("_panel")}


@pytest.mark.skipif(not hasattr(fop, "list_skills"), reason="this FiftyOne knows no skills")
def test_the_skill_for_assistants_is_found_and_names_operators_that_exist(ours):
    (skill,) = fop.list_skills(plugin="@annotator/agreement")
    assert skill.name == "annotator-agreement"
    named = set(re.findall(r"`(\w+_\w+)(?:\(.*?\))?`", skill.content))
    assert named - ours.keys() <= {"annotator_attribute", "assigned_field", "list_runs", "agreement_gold"}
    assert len(named & ours.keys()) >= 8


def test_only_operators_that_show_a_result_tell_the_app_that_they_have_one(ours):
    """The App asks the others for nothing; an empty answer would close the form that they open next."""
    overriding = {name for name, op in ours.items() if type(op).resolve_output is not foo.Operator.resolve_output}
    assert {"show_agreement", "compare_agreement"} <= overriding
    assert not overriding & {"import_annotations", "compute_agreement", "delete_agreement"}


@pytest.fixture(autouse=True)
def asked_anew():
    """What is installed is looked up once in a process."""
    unavailable.missing_requirement.cache_clear()
    yield
    unavailable.missing_requirement.cache_clear()


def _installed(monkeypatch, name, version):
    """Metadata as if a package had this version, or had never been installed."""
    found = importlib.metadata.version

    def version_of(asked):
        if asked == name and version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version if asked == name else found(asked)

    monkeypatch.setattr(importlib.metadata, "version", version_of)


def test_every_operator_says_what_to_install(private_fiftyone, monkeypatch):
    assert unavailable.missing_requirement() is None
    unavailable.missing_requirement.cache_clear()
    _installed(monkeypatch, "shapely", None)
    monkeypatch.setitem(sys.modules, "shapely", None)  # importing it again fails, too
    registered = []
    register(SimpleNamespace(register=registered.append))
    operators = [cls() for cls in registered]
    assert "compute_agreement" in {operator.config.name for operator in operators}
    for operator in operators:
        shown = operator.resolve_input(None).to_json()["type"]["properties"]["missing"]
        assert shown["invalid"]
        assert "plugins requirements @annotator/agreement --install" in shown["view"]["description"]
        with pytest.raises(RuntimeError, match=r"needs shapely>=2\.0, got none; run"):
            operator.execute(None)
        with pytest.raises(RuntimeError, match="needs shapely"):
            operator("a dataset", ["alice", "bob"])


def test_a_fiftyone_that_is_too_old_is_named(private_fiftyone, monkeypatch):
    _installed(monkeypatch, "fiftyone", "1.2.0")
    said = "Annotator agreement needs fiftyone>=1.14, got 1.2.0; run `pip install --upgrade fiftyone`"
    assert str(unavailable.missing_requirement()).startswith(said)
