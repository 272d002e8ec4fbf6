"""The requirements of the guide, and the keys of the reference."""

from __future__ import annotations

import re

from tests.datasets import random_annotators
from tools.dev.private_fiftyone import ROOT

import annotator_agreement as aa
from annotator_agreement.agreement.acceptance.requirements import KEYS

GUIDE = (ROOT / "docs" / "guides" / "accept.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference" / "requirements.md").read_text(encoding="utf-8")


def test_the_guide_runs_with_its_requirements(make_dataset, tmp_path, monkeypatch, capsys):
    short, long = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    assert short.count("\n") <= 5
    monkeypatch.chdir(tmp_path)
    dataset = make_dataset(random_annotators(30))
    dataset.set_values("camera", [("left", "right")[k % 2] for k in range(30)])
    run = aa.compute(dataset, ["alice", "bob", "carol"], resamples=100)
    scope = {"run": run}
    for text in (short, long):
        (tmp_path / "requirements.yaml").write_text(text.replace("person", "cat"), encoding="utf-8")
        exec(compile(code, "accept.md", "exec"), scope)
        assert "Not accepted by requirements.yaml" in capsys.readouterr().out  # random boxes
        assert len(scope["view"])
    results = {each.title: each for each in scope["check"].results}
    assert {f"everybody finds them ({name})" for name in ("alice", "bob", "carol")} < {*results}
    assert {f"with every camera ({name})" for name in ("left", "right")} < {*results}
    assert results["against the reference"].reason == "the run has no reference"


def test_the_reference_has_all_keys():
    assert re.findall(r"^\| `(\w+)` \|", REFERENCE, re.MULTILINE) == list(KEYS)
