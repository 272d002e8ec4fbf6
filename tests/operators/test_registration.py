"""What is registered is what the YAML lists; where something is not installed, operators say what to run."""

from __future__ import annotations

import importlib.metadata
import re
import sys

import fiftyone.operators as foo
import fiftyone.plugins as fop
import pytest
import yaml

from tools.dev.private_fiftyone import ROOT

from annotator_agreement import register, unavailable
from annotator_agreement.names import SHOW_SIDEBAR_GROUPS


def test_registered_operators_and_panels_are_those_of_the_yaml(private_fiftyone):
    plugin = yaml.safe_load((ROOT / "fiftyone.yml").read_text())
    listed = {*plugin["operators"], *plugin["panels"]}
    registered = {op.name for op in foo.list_operators() if op.uri.startswith("@annotator/agreement/")}
    assert registered == listed
    # an operator of the App itself
    assert f'name: "{SHOW_SIDEBAR_GROUPS}"' in (ROOT / plugin["js_bundle"]).read_text()


def test_the_button_stands_above_the_grid(operator, context, make_dataset):
    compute = operator("compute_agreement")
    placement = compute.resolve_placement(context(compute, make_dataset()))
    assert placement.place.value == "samples-grid-secondary-actions"


def test_in_the_operator_browser_those_that_need_no_run_come_first(private_fiftyone):
    """The App sorts by the first letter of a sentence, the others stay as they are; one cannot hide by the dataset."""
    listed = [op for op in foo.list_operators() if op.uri.startswith("@annotator/agreement/")]
    shown = sorted((op for op in listed if not op.config.unlisted), key=lambda op: ord(op.config.description[0]))
    assert [op.name for op in shown[:2]] == ["import_annotations", "compute_agreement"]


@pytest.mark.skipif(not hasattr(foo.Operator, "risk_level"), reason="this FiftyOne knows no risk of operators")
def test_operators_that_change_nothing_are_of_low_risk_and_what_removes_is_of_high_risk(private_fiftyone):
    risks = {op.name: op.risk_level.value for op in foo.list_operators() if op.uri.startswith("@annotator/agreement/")}
    low = {"show_agreement", "compare_agreement", "view_agreement", "open_agreement_panel"}
    assert {name for name, risk in risks.items() if risk == "low"} >= low
    assert risks["delete_agreement"] == "high"
    assert "dangerous" not in {risks[name] for name in risks if not name.endswith("_panel")}


@pytest.mark.skipif(not hasattr(fop, "list_skills"), reason="this FiftyOne knows no skills")
def test_the_skill_for_assistants_is_found_and_names_operators_that_exist(private_fiftyone):
    (skill,) = fop.list_skills(plugin="@annotator/agreement")
    assert skill.name == "annotator-agreement"
    registered = {op.name for op in foo.list_operators() if op.uri.startswith("@annotator/agreement/")}
    named = set(re.findall(r"`(\w+_\w+)(?:\(.*?\))?`", skill.content))
    assert named - registered <= {"annotator_attribute", "assigned_field", "list_runs", "agreement_gold"}
    assert len(named & registered) >= 8


def test_only_operators_that_show_a_result_tell_the_app_that_they_have_one(private_fiftyone):
    """The App asks the others for nothing; an empty answer would close the form that they open next."""
    ours = [op for op in foo.list_operators() if op.uri.startswith("@annotator/agreement/")]
    overriding = {op.name for op in ours if type(op).resolve_output is not foo.Operator.resolve_output}
    assert {"show_agreement", "compare_agreement"} <= overriding
    assert not overriding & {"import_annotations", "compute_agreement", "delete_agreement"}


class _Context:
    """Takes what a plugin registers."""

    def __init__(self) -> None:
        self.registered: list[type] = []

    def register(self, cls: type) -> None:
        self.registered.append(cls)


@pytest.fixture(autouse=True)
def asked_anew():
    """What is installed is looked up once in a process."""
    unavailable.missing_requirement.cache_clear()
    yield
    unavailable.missing_requirement.cache_clear()


@pytest.fixture
def without_shapely(monkeypatch):
    """Metadata as if shapely had never been installed; importing it again fails, too."""
    version = importlib.metadata.version

    def found(name: str) -> str:
        if name == "shapely":
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(importlib.metadata, "version", found)
    monkeypatch.setitem(sys.modules, "shapely", None)


def test_nothing_is_missing_here(private_fiftyone):
    assert unavailable.missing_requirement() is None


def test_every_operator_says_what_to_install(private_fiftyone, without_shapely):
    context = _Context()
    register(context)
    operators = [cls() for cls in context.registered]
    assert "compute_agreement" in {operator.config.name for operator in operators}
    for operator in operators:
        form = operator.resolve_input(None).to_json()
        shown = form["type"]["properties"]["missing"]
        assert shown["invalid"]
        assert "plugins requirements @annotator/agreement --install" in shown["view"]["description"]
        with pytest.raises(RuntimeError, match=r"needs shapely>=2\.0, got none; run"):
            operator.execute(None)
        with pytest.raises(RuntimeError, match="needs shapely"):
            operator("a dataset", ["alice", "bob"])


def test_a_fiftyone_that_is_too_old_is_named(private_fiftyone, monkeypatch):
    version = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.2.0" if name == "fiftyone" else version(name))
    reason = str(unavailable.missing_requirement())
    assert reason.startswith(
        "Annotator agreement needs fiftyone>=1.14, got 1.2.0; run `pip install --upgrade fiftyone`"
    )
