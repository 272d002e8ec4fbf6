"""The snippets of README and quickstart run as they stand, and print what README shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.dev.private_fiftyone import ROOT


def _run(path: Path) -> dict[str, object]:
    scope: dict[str, object] = {}
    for snippet in re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(snippet, path.name, "exec"), scope)
    return scope


@pytest.fixture(autouse=True)
def _in_a_folder_of_their_own(private_fiftyone, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def test_the_quickstart_of_the_readme_prints_the_report_that_it_shows(capsys):
    scope = _run(ROOT / "README.md")
    shown = re.search(r"```text\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert shown is not None
    assert capsys.readouterr().out.startswith(shown[1])
    assert scope["lone"].count("alice.detections") == 1
    assert len(scope["conflicts"]) == 1
    assert scope["worst"].values("agreement_score") == sorted(scope["dataset"].values("agreement_score"))
    scope["dataset"].delete()


def test_the_quickstart_of_the_documentation_runs():
    scope = _run(ROOT / "docs" / "start" / "quickstart.md")
    assert scope["same"].count("bob.detections") == 1
    scope["dataset"].delete()


def test_the_readme_is_short_and_its_links_lead_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 150
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert target.startswith("https://") or (ROOT / target).is_file(), target
