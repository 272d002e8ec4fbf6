"""The requirements file of the guide, and the keys of the reference."""

from __future__ import annotations

import re

from tests.datasets import random_annotators
from tools.dev.private_fiftyone import ROOT

import annotator_agreement as aa
from annotator_agreement.agreement.acceptance.requirements import KEYS, METRICS, OF_ANNOTATOR

GUIDE = (ROOT / "docs" / "guides" / "accept.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference" / "requirements.md").read_text(encoding="utf-8")


def test_the_guide_runs_with_its_requirements_file(make_dataset, tmp_path, monkeypatch, capsys):
    (text,) = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.yaml").write_text(text, encoding="utf-8")
    dataset = make_dataset(random_annotators(30))
    dataset.limit(25).tag_samples("night")
    scope = {"run": aa.compute(dataset, ["alice", "bob", "carol"], resamples=100)}
    exec(compile(code, "accept.md", "exec"), scope)
    check = scope["check"]
    assert check.left_out == ("scene",)
    assert [each.title for each in check.results][-3:] == [f"everybody ({name})" for name in ("alice", "bob", "carol")]
    outcomes = {each.name: each.outcome for each in check.results}
    assert outcomes["boxes"] == "failed"  # random boxes
    assert outcomes["people are drawn closely"] == "not enough data"  # random classes
    assert len(scope["view"])
    assert "Not accepted by requirements.yaml" in capsys.readouterr().out


def test_the_reference_has_all_keys_and_metrics():
    rows = re.findall(r"^\| `(\w+)` \|", REFERENCE, re.MULTILINE)
    assert rows == list(KEYS)
    assert not {name for name in (*METRICS, *OF_ANNOTATOR) if f"`{name}`" not in REFERENCE}
