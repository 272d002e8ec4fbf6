"""The README's code snippets run without changes."""

from __future__ import annotations

import re

from tools.dev.private_fiftyone import ROOT


def test_the_snippets_of_the_readme_run_one_after_the_other(private_fiftyone, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(snippets) == 3
    scope: dict[str, object] = {}
    for snippet in snippets:
        exec(compile(snippet, "README.md", "exec"), scope)
    printed = capsys.readouterr().out
    assert "Krippendorff's alpha" in printed
    assert scope["lone"].count("alice.detections") == 1
    assert len(scope["conflicts"]) == 1
    assert scope["same"].count("bob.detections") == 1
    assert scope["worst"].values("agreement_score") == sorted(scope["dataset"].values("agreement_score"))
    scope["dataset"].delete()
